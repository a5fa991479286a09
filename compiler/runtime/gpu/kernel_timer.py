"""Times several forms of one kernel against each other on the GPU, on memory of its own (``samples.py``)."""

import logging
from collections.abc import Callable, Sequence
from dataclasses import field
from typing import Any

import torch

from ...base.dataclass import dataclass
from ...base.options import Options
from ..kernels.cubin import CompileRequest
from ..kernels.triton_compile import TritonCompileError
from ..torch_types import TORCH_DTYPES
from .device_model import target_of
from .launcher import Launcher
from .load import kernel_cache
from .samples import FLUSH_BYTES, ColdSamples, fastest
from .trial import Argument, Trial

log = logging.getLogger(__name__)

#: How far results may differ from those of the first form, which adds in another order.  Where a few elements
#: of 8 bits round the other way, the norm of the difference is far below this.
_TOLERANCE = {
    torch.float64: 1e-9,
    torch.float32: 1e-3,
    torch.float16: 2e-2,
    torch.bfloat16: 6e-2,
    torch.float8_e4m3fn: 6e-2,
    torch.float8_e5m2: 6e-2,
}


@dataclass
class KernelTimer:
    """Compiles, checks and times trials on CUDA device number ``device``; see ``tiling_search.Measurer``."""

    device: int
    options: Options
    _samples: ColdSamples = field(init=False)

    def __post_init__(self) -> None:
        self._samples = ColdSamples(self.device)

    @property
    def place(self) -> torch.device:
        """The device as torch names it."""
        return torch.device("cuda", self.device)

    def fastest(self, trials: Sequence[Trial], deadline: float) -> int | None:
        with torch.cuda.device(self.device), torch.no_grad():
            launchers = self._launchers(trials)
            memory = self._memory(trials[0].arguments)
            if launchers[0] is None or memory is None:
                return None
            kept = [0, *self._right(trials, launchers, memory)]
            runs = [_bound(launchers[n], trials[n], memory) for n in kept]
            found = fastest(runs, self._samples, deadline)
            torch.cuda.synchronize()
            return None if found is None else kept[found]

    def _launchers(self, trials: Sequence[Trial]) -> list[Any]:
        """A launcher for each trial; None for a trial that Triton or the device rejects, and for one after
        the first that spills registers, or more of them than the first.
        """
        target = target_of(self.device)
        requests = [CompileRequest.of(t.source, target, self.options.fp_fusion) for t in trials]
        found: list[Any] = []
        cubins = self._compiled(requests)
        most = 0 if cubins[0] is None else cubins[0].spilled
        for trial, cubin in zip(trials, cubins, strict=True):
            if cubin is None or cubin.spilled > most:
                found.append(None)
                continue
            try:
                launch = Launcher(cubin, trial.source.signature).on(self.device)
            except Exception as error:  # it may need too much shared memory, for example
                log.debug("autotune: a form cannot be loaded: %s", error)
                launch = None
            found.append(launch)
        return found

    def _compiled(self, requests: Sequence[CompileRequest]) -> list[Any]:
        import os
        from concurrent.futures import ThreadPoolExecutor

        cache = kernel_cache(self.options)

        def compiled(request: CompileRequest) -> Any:
            try:
                return cache.compile(request)
            except TritonCompileError as error:
                log.debug("autotune: a form does not compile: %s", error)
                return None

        with ThreadPoolExecutor(self.options.threads or os.cpu_count() or 1) as pool:
            return list(pool.map(compiled, requests))

    def _memory(self, arguments: Sequence[Argument]) -> list[torch.Tensor | int] | None:
        """Memory for the arguments: normal numbers for floats, and zeros for integers, which are valid
        indices.
        """
        free, _ = torch.cuda.mem_get_info(self.device)
        if 3 * sum(a.bytes for a in arguments) + FLUSH_BYTES > free:
            return None
        generator = torch.Generator(self.place).manual_seed(0)  # torch's own generator must not advance
        made: list[torch.Tensor | int] = []
        for argument in arguments:
            if not argument.element:
                made.append(argument.value)
                continue
            dtype = TORCH_DTYPES[argument.element]
            if dtype in _TOLERANCE:
                values = torch.empty(argument.elements, dtype=_drawn_in(dtype), device=self.place)
                made.append(values.normal_(generator=generator).to(dtype))
            else:
                made.append(torch.zeros(argument.elements, dtype=dtype, device=self.place))
        return made

    def _right(
        self, trials: Sequence[Trial], launchers: Sequence[Any], memory: Sequence[torch.Tensor | int]
    ) -> list[int]:
        """The trials after the first that can be launched and give the results of the first."""
        written = [memory[n] for n in dict.fromkeys(trials[0].written)]
        tensors = [t for t in written if isinstance(t, torch.Tensor)]
        before = [t.clone() for t in tensors]

        def results(number: int) -> list[torch.Tensor]:
            for tensor, old in zip(tensors, before, strict=True):
                tensor.copy_(old)
            _bound(launchers[number], trials[number], memory)()
            torch.cuda.synchronize()
            return [t.clone() for t in tensors]

        expected, kept = results(0), []
        for number in range(1, len(trials)):
            if launchers[number] is None:
                continue
            if all(_close(a, b) for a, b in zip(results(number), expected, strict=True)):
                kept.append(number)
            else:
                source = trials[number].source
                log.warning(
                    "autotune: %s: a tile of %d warps changes the answer and is left out",
                    source.name,
                    source.num_warps,
                )
        return kept


def _drawn_in(dtype: torch.dtype) -> torch.dtype:
    """The type in which torch draws normal numbers for ``dtype``."""
    return torch.float32 if dtype.itemsize == 1 else dtype


def _bound(launch: Any, trial: Trial, memory: Sequence[torch.Tensor | int]) -> Callable[[], None]:
    """A function that launches ``trial`` on the current stream with ``memory``."""
    values = []
    for number, kind in trial.parameters:
        value = memory[number]
        values.append(
            value.data_ptr() if isinstance(value, torch.Tensor) else float(value) if kind[0] == "f" else value
        )
    stream = torch.cuda.current_stream().cuda_stream

    def run() -> None:
        launch(stream, *trial.grid, *values)

    return run


def _close(a: torch.Tensor, b: torch.Tensor) -> bool:
    """Whether two results are equal except for the order of sums, by the norm of their difference."""
    if a.dtype not in _TOLERANCE:
        return torch.equal(a.view(torch.uint8), b.view(torch.uint8))
    wide_a, wide_b = a.double().nan_to_num(0, 1, -1), b.double().nan_to_num(0, 1, -1)
    return bool((wide_a - wide_b).norm() <= _TOLERANCE[a.dtype] * wide_b.norm() + 1e-30)
