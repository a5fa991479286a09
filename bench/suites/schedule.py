"""What a model is compiled to: launches, bytes moved, and the peak of memory in a steady call.

Nothing is timed, so shards may run side by side. Launches and bytes are counted from the schedules, by one
rule for every compiler (`schedules.py`); a training step's include what AOTAutograd's two graphs hold and
not the loss of a model that returns none. Peaks are `torch.cuda.max_memory_allocated` over one step after
two others, with the parameters and inputs that all backends share.
"""

import contextlib
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from ..backends import BACKENDS, Spec
from ..models import CASES, ModelCase
from ..models.optimizers import AdamStep
from ..peaks import peak_beyond
from ..schedule_tables import schedule_line, schedule_table
from ..schedules import Schedule, scheduled_by_inductor
from ..session import Task, attempt
from .settings import Settings, short_dtype

line, table = schedule_line, schedule_table

OWN_DTYPES = (torch.bfloat16,)


def tasks(settings: Settings) -> Iterator[Task]:
    """The graphs of the launch table, then every model of the size, training first: the largest first."""
    for name in GRAPHS:
        for dtype in settings.dtypes or OWN_DTYPES:
            yield Task(f"graphs/{name}/{short_dtype(dtype)}", partial(_run_graph, name, dtype, settings))
    size = "tiny" if settings.small else "base"
    for mode in ("training", "inference"):
        for case in CASES.values():
            if case.size == size and mode in case.modes and (settings.small or case.requires):
                for dtype in settings.dtypes or OWN_DTYPES:
                    key = f"{case.name}/{mode}/{short_dtype(dtype)}"
                    yield Task(key, partial(_run_model, case, mode == "training", dtype, settings))


def _run_model(
    case: ModelCase, training: bool, dtype: torch.dtype, settings: Settings, stage: Callable[[str], None]
) -> dict[str, Any]:
    reason = case.unavailable()
    if reason:
        return {"unavailable": reason}
    module = case.new_module(settings.device, dtype).train(training)
    inputs = case.inputs(settings.batch, settings.device, dtype)

    def step(call: Callable[..., Any]) -> None:
        case.step(call, module, inputs, training)

    return _measure(module, step, settings, stage)


def _run_graph(
    name: str, dtype: torch.dtype, settings: Settings, stage: Callable[[str], None]
) -> dict[str, Any]:
    function, args, training = GRAPHS[name](settings.device, dtype, settings.small)
    given = [a for a in args if isinstance(a, Tensor) and a.requires_grad]

    def step(call: Callable[..., Any]) -> None:
        result = call(*args)
        if training:
            torch.autograd.grad(result, given, torch.ones_like(result))

    return _measure(function, step, settings, stage)


def _measure(
    function: Any, step: Callable[[Any], None], settings: Settings, stage: Callable[[str], None]
) -> dict[str, Any]:
    failures: list[str] = []
    backends: dict[str, dict[str, Any]] = {}
    for name in settings.backends:
        stage(name)
        found = attempt(failures, name, partial(_one, BACKENDS[name], function, step, settings.device))
        backends[name] = found or {"error": failures[-1]}
    return {"backends": backends, "failures": failures}


def _one(spec: Spec, function: Any, step: Callable[[Any], None], device: torch.device) -> dict[str, Any]:
    """The schedule and the peak of one backend."""
    torch._dynamo.reset()
    schedule = Schedule()
    call = function
    counting: Any = contextlib.nullcontext(schedule)
    if spec.load is not None:
        if spec.name.startswith("inductor"):
            counting = scheduled_by_inductor()
        options = {"on_compiled": schedule.add_compiled} if spec.reports else None
        call = torch.compile(function, backend=spec.load(), mode=spec.mode, options=options, dynamic=False)
    with counting as schedule:
        step(call)
    step(call)
    found: dict[str, Any] = {"peak": _peak(partial(step, call), device)}
    if schedule.names:
        kept = ("kernels", "externs", "bytes", "own_bytes", "names")
        found.update({field: getattr(schedule, field) for field in kept})
    return found


def _peak(step: Callable[[], None], device: torch.device) -> int | None:
    """Bytes allocated at most during a step, parameters too; None where the device does not say."""
    beyond = peak_beyond(step, device)
    return None if beyond is None else torch.cuda.memory_allocated(device) + beyond


# The launch table

Graph = tuple[Any, tuple[Any, ...], bool]


def _draw(device: torch.device, dtype: torch.dtype, gradient: bool, *shape: int) -> Tensor:
    return torch.randn(shape, device=device, dtype=dtype).requires_grad_(gradient)


def _layer_norm(device: torch.device, dtype: torch.dtype, small: bool) -> Graph:
    rows, columns = (32, 64) if small else (8192, 4096)
    args = tuple(_draw(device, dtype, True, *s) for s in ((rows, columns), (columns,), (columns,)))

    def layer_norm(x: Tensor, w: Tensor, b: Tensor) -> Tensor:
        return F.layer_norm(x, (x.shape[-1],), w, b)

    return layer_norm, args, True


def _cross_entropy(training: bool, device: torch.device, dtype: torch.dtype, small: bool) -> Graph:
    rows, classes = (16, 524) if small else (4096, 50304)

    def cross_entropy(logits: Tensor, target: Tensor) -> Tensor:
        return F.cross_entropy(logits.float(), target)

    target = torch.randint(classes, (rows,), device=device)
    return cross_entropy, (_draw(device, dtype, training, rows, classes), target), training


def _masked_softmax(device: torch.device, dtype: torch.dtype, small: bool) -> Graph:
    """The part of spelled out attention between its products, with a mask of booleans."""
    shape = (2, 3, 16, 16) if small else (8, 12, 512, 512)
    mask = torch.ones(shape[-2:], device=device, dtype=torch.bool).tril()

    def masked_softmax(scores: Tensor, mask: Tensor) -> Tensor:
        scores = (scores * 0.125).masked_fill(~mask, float("-inf"))
        return F.softmax(scores, dim=-1, dtype=torch.float32).to(scores.dtype)

    return masked_softmax, (_draw(device, dtype, True, *shape), mask), True


def _rms_norm_residual(device: torch.device, dtype: torch.dtype, small: bool) -> Graph:
    rows, columns = (32, 64) if small else (8192, 4096)

    def rms_norm_residual(x: Tensor, residual: Tensor, w: Tensor) -> tuple[Tensor, Tensor]:
        h = x + residual
        wide = h.float()
        scale = torch.rsqrt(wide.square().mean(-1, keepdim=True) + 1e-6)
        return h, (wide * scale).to(h.dtype) * w

    args = tuple(_draw(device, dtype, False, *s) for s in ((rows, columns), (rows, columns), (columns,)))
    return rms_norm_residual, args, False


def _adam(device: torch.device, dtype: torch.dtype, small: bool) -> Graph:
    count, side = (4, 8) if small else (64, 1024)
    lists = tuple([_draw(device, dtype, False, side, side).abs() for _ in range(count)] for _ in range(4))
    return AdamStep(foreach=False), (*lists, torch.tensor(3.0, device=device)), False


GRAPHS: dict[str, Callable[[torch.device, torch.dtype, bool], Graph]] = {
    "layer_norm_forward_backward": _layer_norm,
    "cross_entropy_forward": partial(_cross_entropy, False),
    "cross_entropy_forward_backward": partial(_cross_entropy, True),
    "masked_softmax_forward_backward": _masked_softmax,
    "rms_norm_residual": _rms_norm_residual,
    "adam_64_tensors": _adam,
}
