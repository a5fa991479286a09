"""A launch plan brought to life: its Python compiled, with launchers, extern ops and helpers in scope.

Nothing here knows MLIR: a plan that comes from the cache runs without it.
"""

import threading
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import torch

from ...base.dataclass import dataclass
from ..nested_results import fitted, laid_out, own_storage
from ..profiler_ranges import close_range, open_range
from ..taken_over import take_over_last
from ..torch_types import TORCH_DTYPES
from .plan import MAIN, Plan
from .python_source import Around, python_source
from .python_text import dtype_name, identifier
from .steps import LaunchTuned


def aligned(tensor: torch.Tensor, device: torch.device | None = None) -> torch.Tensor:
    """A copy of ``tensor`` with the same sizes and strides at a 16-byte boundary (what kernels were compiled
    to expect), on its own device unless told.
    """
    sizes, strides = tensor.size(), tensor.stride()
    if any(s == 0 and n > 1 for n, s in zip(sizes, strides, strict=True)):  # torch writes no element twice
        once = [1 if s == 0 else n for n, s in zip(sizes, strides, strict=True)]
        return aligned(tensor.as_strided(once, strides), device).expand(sizes)
    copy = torch.empty_strided(sizes, strides, dtype=tensor.dtype, device=device or tensor.device)
    return copy.copy_(tensor)


def first_form(launch: Callable[..., None]) -> Callable[..., None]:
    """Launches the first form of a kernel with several; ``launch`` is that form."""

    def run(stream: int, key: object, written: object, first: Sequence[Any], *others: object) -> None:
        launch(stream, *first)

    return run


def _zeros(device: str) -> Callable[..., torch.Tensor]:
    def zeros(sizes: Sequence[int], strides: Sequence[int], dtype: torch.dtype) -> torch.Tensor:
        return torch.empty_strided(sizes, strides, dtype=dtype, device=device).zero_()

    return zeros


def _counted(run: Callable[[list[Any]], list[Any]], memory: Any) -> Callable[[list[Any]], list[Any]]:
    """``run``, which tells ``memory`` of each call."""

    def call(args: list[Any]) -> list[Any]:
        memory.start(args)
        return run(args)

    return call


@dataclass
class LaunchPlan:
    """An executable plan.  Call it with the list of ``@main``'s arguments (it is emptied: the plan owns
    them); gives the list of results.
    """

    plan: Plan
    run: Callable[[list[Any]], list[Any]]

    def __post_init__(self) -> None:
        #: AOTAutograd may hand over its list of arguments.  Of the instance: wrappers copy its attributes.
        self._boxed_call = True
        several = torch.cuda.is_initialized() and torch.cuda.device_count() > 1
        #: Gives the current device where there are several; what ``torch.cuda.current_device`` asks after it
        #: made sure that there is one.
        self._current = torch._C._cuda_getDevice if several else None
        self._device = self.plan.device_index  # read here once, since each call compares it

    @staticmethod
    def bind(
        plan: Plan,
        launchers: Mapping[str, Callable[..., None]],
        externs: Mapping[str, Callable[..., Any]],
        draw: Callable[[str, int], tuple[int, int]],
        wraps: Mapping[str, Callable[[Callable[..., Any]], Callable[..., Any]]] = MappingProxyType({}),
        watch: Callable[..., None] | None = None,
        memory: Any = None,
        around: Around | None = None,
        nested: Around | None = None,
        tuned: Mapping[str, Callable[..., None]] = MappingProxyType({}),
    ) -> "LaunchPlan":
        """Binds kernel launchers (by kernel name), extern callables (by declaration name; from the list of
        operands to the list of results) and the RNG.  ``wraps``: what replaces functions of the plan, by
        name.  ``watch``: what a watched plan calls after every launch.  ``around``: lines around its steps:
        those by which a plan that checks its memory tells ``memory`` of it (``memory_check.py``), and those
        of ranges for profilers (``range_lines.py``).  nested: lines around the steps of sub-graphs.
        tuned: what launches kernels with several forms, by name; the first form runs where it has none.
        """
        guards = torch._C._dynamo.guards
        scope: dict[str, Any] = {
            "aligned": aligned,
            "check": guards.assert_size_stride,
            "current_stream": getattr(torch._C, "_cuda_getCurrentRawStream", None),
            "device": plan.device_index,
            "draw": draw,
            "empty_cpu": guards._empty_strided_cpu,
            "empty_cuda": getattr(guards, "_empty_strided_cuda", None),
            "fitted": fitted,
            "laid_out": laid_out,
            "memory": memory,
            "open_range": open_range,
            "close_range": close_range,
            "own_storage": own_storage,
            "reinterpret": guards._reinterpret_tensor,
            "take_over": take_over_last,
        }
        scope.update({dtype_name(element): dtype for element, dtype in TORCH_DTYPES.items()})
        scope.update({f"launch_{identifier(name)}": launcher for name, launcher in launchers.items()})
        for step in plan.steps():
            if isinstance(step, LaunchTuned):
                launch = tuned[step.name] if step.name in tuned else first_form(launchers[step.name])
                scope[f"tune_{identifier(step.name)}"] = launch
        if watch is not None:  # what no launch writes must look harmless
            scope.update(watch=watch, empty_cpu=_zeros("cpu"), empty_cuda=_zeros(f"cuda:{plan.device_index}"))
        scope.update({f"extern_{identifier(name)}": function for name, function in externs.items()})
        exec(compile(python_source(plan, around, nested), "<fuse launch plan>", "exec"), scope)
        scope.update({name: wrap(scope[name]) for name, wrap in wraps.items()})
        run = scope[MAIN]
        return LaunchPlan(plan, run if memory is None else _counted(run, memory))

    @staticmethod
    def at_first_call(plan: Plan, load: Callable[[], Callable[[list[Any]], list[Any]]]) -> "LaunchPlan":
        """A plan that is loaded when it is first called, so that its kernels are compiled meanwhile.

        What ``load`` raises reaches the caller; the next call loads again.
        """
        lock = threading.Lock()

        def first(args: list[Any]) -> list[Any]:
            with lock:
                if made.run is first:
                    loaded = load()
                    made.run = loaded.run if isinstance(loaded, LaunchPlan) else loaded
            return made.run(args)

        made = LaunchPlan(plan, first)
        return made

    def of_arguments(self) -> Callable[..., list[Any]]:
        """The plan as a function of its arguments, with no call between."""
        current, device = self._current, self.plan.device_index
        if current is None:
            return lambda *args: self.run(list(args))

        def call(*args: Any) -> list[Any]:
            return self.run(list(args)) if current() == device else self(list(args))

        return call

    def __call__(self, args: list[Any]) -> list[Any]:
        if self._current is None or self._current() == self._device:
            return self.run(args)
        with torch.cuda.device(self._device):
            return self.run(args)
