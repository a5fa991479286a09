"""Is a compiled model as accurate as eager PyTorch?

`compare` runs one case three ways from the same weights and inputs: eager in float64 (the reference), eager
in the dtype, and compiled in the dtype. It compares forward outputs, gradients of parameters and inputs, and
everything that was mutated: inputs, buffers, parameters. `tolerance.py` states the rule that decides.
"""

import contextlib
import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from types import MappingProxyType
from typing import Any, Literal

import torch
from torch import Tensor, nn

from .dynamo import Backend, backend_name, counted
from .models.case import Inputs, ModelCase, named_tensors
from .reference import float64_reference
from .tolerance import TensorError, judge_all

Dynamic = bool | Literal["marked"] | None


@dataclass(frozen=True)
class Report:
    """The outcome of one comparison.

    rows: one verdict per tensor. notes: failures of the run as a whole; each makes it fail.
    graphs, graph_breaks: what Dynamo counted during the compiled run.
    """

    case: str
    backend: str
    device: str
    dtype: str
    autocast: str | None
    training: bool
    dynamic: Dynamic
    batches: tuple[int, ...]
    graphs: int
    graph_breaks: int
    rows: tuple[TensorError, ...]
    notes: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        """True when there are tensors, each of them passed, and nothing is wrong with the whole."""
        return bool(self.rows) and not self.notes and all(row.passed for row in self.rows)

    @property
    def failures(self) -> tuple[TensorError, ...]:
        return tuple(row for row in self.rows if not row.passed)

    @property
    def worst(self) -> TensorError | None:
        """The tensor nearest to or farthest beyond its limit; None without tensors."""
        return max(self.rows, key=lambda row: row.ratio, default=None)

    @staticmethod
    def header() -> str:
        """Titles of the columns of `str(report)`."""
        return f"{'result':6} {'case':28} {'backend':10} {'dtype':14} {'mode':9} {'graphs':6} worst tensor"

    def __str__(self) -> str:
        dtype = f"{self.autocast} amp" if self.autocast else self.dtype
        mode = ("train" if self.training else "infer") + ("+dyn" if self.dynamic else "")
        graphs = f"{self.graphs}" + (f"+{self.graph_breaks}" if self.graph_breaks else "")
        line = f"{'PASS' if self.passed else 'FAIL':6} {self.case:28} {self.backend:10} {dtype:14} "
        line += f"{mode:9} {graphs:6} "
        if self.worst is not None:
            row = self.worst
            line += f"{row.name}: {row.note or _numbers(row)}"
        return line + "".join(f"; {note}" for note in self.notes)

    def explain(self) -> str:
        """The table row, then a line for every tensor that failed."""
        lines = [str(self)]
        lines += [f"  {row.name} [{row.numel}]: {row.note or _numbers(row)}" for row in self.failures]
        return "\n".join(lines)

    def to_json(self) -> dict[str, Any]:
        """Plain dicts, lists, strings and numbers for strict JSON: a non-finite number becomes a string."""
        rows = [{key: _strict(value) for key, value in asdict(row).items()} for row in self.rows]
        fields = {**asdict(self), "batches": list(self.batches), "notes": list(self.notes), "rows": rows}
        return {"passed": self.passed, **fields}


def compare(
    case: ModelCase,
    backend: Backend,
    dtype: torch.dtype = torch.float32,
    device: torch.device | str = "cpu",
    training: bool = False,
    dynamic: Dynamic = None,
    *,
    autocast: torch.dtype | None = None,
    batches: Sequence[int] = (2,),
    fullgraph: bool = False,
    mode: str | None = None,
    options: Mapping[str, Any] | None = None,
    seed: int = 0,
) -> Report:
    """Compare `torch.compile(model, backend)` with eager on `case`.

    dtype:     of weights and floating inputs. With `autocast` (a lower dtype) weights stay in `dtype`, both
               runs are under `torch.autocast`, and the tolerance follows `autocast`.
    training:  train mode, and gradients of `case.loss`; otherwise eval mode under `torch.no_grad`.
    dynamic:   None, False, True: as for `torch.compile` (True makes every extent a symbol). "marked" marks
               only the case's dynamic dims. With True and "marked" one batch becomes two, and the code
               compiled for the first must serve the others.
    batches:   one call per entry on the same module, in order; state carries over between calls.

    Weights, buffers and inputs of each run are copies, and Dynamo is reset before and after. Errors of the
    compiler are not caught. Raises ValueError when the case lacks the mode, or draws random numbers in
    training (see `randomness.check_random_case`).
    """
    device = torch.device(device)
    wanted = "training" if training else "inference"
    if wanted not in case.modes:
        raise ValueError(f"case {case.name} has no {wanted} mode")
    if training and case.random:
        raise ValueError(f"case {case.name} is random in training: use randomness.check_random_case")
    if dynamic and len(batches) == 1:
        batches = (*batches, batches[0] + 1)

    module = case.new_module(device, dtype, seed)
    calls = [case.inputs(batch, device, dtype) for batch in batches]
    run = _Run(case, training)

    with _exact_matmul(), torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
        with float64_reference():
            reference = run(copy.deepcopy(module).double(), [inputs.map(_double) for inputs in calls])
        with _autocast(device, autocast):
            eager = run(copy.deepcopy(module), calls)
            with counted() as counts:
                compiled = run(
                    copy.deepcopy(module),
                    calls,
                    wrap=lambda m: torch.compile(
                        m,
                        backend=backend,
                        dynamic=None if dynamic == "marked" else dynamic,
                        fullgraph=fullgraph,
                        mode=mode,
                        options=dict(options) if options is not None else None,
                    ),
                    mark=case.dynamic_dims if dynamic == "marked" else {},
                )
    rows = judge_all(reference.tensors, eager.tensors, compiled.tensors, torch.finfo(autocast or dtype).eps)
    notes = [*_layout_notes(eager.layouts, compiled.layouts)]
    if not counts["graphs"]:
        notes.append("nothing was compiled: the backend was never called")
    if dynamic and counts["graphs"] > 1 + counts["breaks"]:
        notes.append(
            f"recompiled for another batch: {counts['graphs']} graphs, {counts['breaks']} graph breaks"
        )
    return Report(
        case.name,
        backend_name(backend),
        device.type,
        _short(dtype),
        _short(autocast) if autocast else None,
        training,
        dynamic,
        tuple(batches),
        counts["graphs"],
        counts["breaks"],
        rows,
        tuple(notes),
    )


@dataclass(frozen=True)
class _Observed:
    """tensors: everything a run produced or changed, by name; layouts: strides of the forward outputs."""

    tensors: Mapping[str, Tensor]
    layouts: Mapping[str, tuple[tuple[int, int], ...]]


@dataclass(frozen=True)
class _Run:
    """Runs the calls of a case on a module that it may change, and collects what can be observed."""

    case: ModelCase
    training: bool

    def __call__(
        self,
        module: nn.Module,
        calls: Sequence[Inputs],
        wrap: Callable[[nn.Module], Callable[..., Any]] = lambda module: module,
        mark: Mapping[str, tuple[int, ...]] = MappingProxyType({}),
    ) -> _Observed:
        module.train(self.training)
        call = wrap(module)
        tensors: dict[str, Tensor] = {}
        layouts: dict[str, tuple[tuple[int, int], ...]] = {}
        for index, given in enumerate(calls):
            prefix = f"call{index}/" if len(calls) > 1 else ""
            inputs = copy.deepcopy(given)
            named = inputs.named()
            for name, dims in mark.items():
                torch._dynamo.maybe_mark_dynamic(named[name], list(dims))
            outputs, gradients = self._call(module, call, inputs, named)
            found = {_joined("output", name): tensor for name, tensor in named_tensors(outputs).items()}
            layouts.update({prefix + name: _layout(tensor) for name, tensor in found.items()})
            found.update(gradients)
            found.update({f"input:{name}": tensor for name, tensor in named.items()})
            tensors.update({prefix + name: tensor.detach().clone() for name, tensor in found.items()})
        for name, tensor in _state(module).items():
            tensors[f"state:{name}"] = tensor.detach().clone()
        return _Observed(tensors, layouts)

    def _call(
        self, module: nn.Module, call: Callable[..., Any], inputs: Inputs, named: Mapping[str, Tensor]
    ) -> tuple[Any, dict[str, Tensor]]:
        """Outputs of one call and, in training, its gradients by name; one that is None is left out."""
        torch.manual_seed(0)  # `compare` restores the generators
        if not self.training:
            with torch.no_grad():
                return call(*inputs.args, **inputs.kwargs), {}
        module.zero_grad(set_to_none=True)
        for name, tensor in named.items():
            tensor.requires_grad_(tensor.is_floating_point() and name not in self.case.frozen)
        outputs = call(*inputs.args, **inputs.kwargs)
        self.case.loss(outputs).backward()
        leaves = {f"grad:{name}": parameter for name, parameter in module.named_parameters()}
        leaves.update({f"grad:input:{name}": tensor for name, tensor in named.items()})
        return outputs, {name: leaf.grad for name, leaf in leaves.items() if leaf.grad is not None}


def _state(module: nn.Module) -> dict[str, Tensor]:
    """Parameters and buffers by name, shared ones once."""
    return {**dict(module.named_parameters()), **dict(module.named_buffers())}


def _double(tensor: Tensor) -> Tensor:
    return tensor.double() if tensor.is_floating_point() else tensor.clone()


def _layout(tensor: Tensor) -> tuple[tuple[int, int], ...]:
    """(extent, stride) of every dim longer than one; empty for a tensor without elements."""
    if not tensor.numel():
        return ()
    return tuple((n, s) for n, s in zip(tensor.shape, tensor.stride(), strict=True) if n > 1)


def _has_padded_rows(eager: Sequence[tuple[int, int]], compiled: Sequence[tuple[int, int]]) -> bool:
    """Whether a layout is a contiguous one but for a gap behind each row, as padded products have it."""
    if len(eager) < 2 or [n for n, _ in eager] != [n for n, _ in compiled]:
        return False
    columns, step = compiled[-1]
    pitch, whole = compiled[-2][1], 1
    for (n, s), (_, dense) in zip(reversed(compiled), reversed(eager), strict=True):
        if s != step or dense != whole:
            return False
        step = pitch if whole == 1 else step * n
        whole *= n
    return compiled[-1][1] == 1 and pitch >= columns


def _layout_notes(eager: Mapping[str, Any], compiled: Mapping[str, Any]) -> Iterator[str]:
    for name, layout in eager.items():
        if name in compiled and compiled[name] != layout and not _has_padded_rows(layout, compiled[name]):
            yield f"{name} has (extent, stride) {compiled[name]}, eager has {layout}"


def _autocast(device: torch.device, dtype: torch.dtype | None) -> contextlib.AbstractContextManager:
    return torch.autocast(device.type, dtype) if dtype is not None else contextlib.nullcontext()


@contextlib.contextmanager
def _exact_matmul() -> Iterator[None]:
    """float32 means float32: no TF32 in matrix products or convolutions, in any of the runs."""
    backends = (torch.backends.cuda.matmul, torch.backends.cudnn.conv, torch.backends.cudnn.rnn)
    before = [backend.fp32_precision for backend in backends]
    for backend in backends:
        backend.fp32_precision = "ieee"
    try:
        yield
    finally:
        for backend, value in zip(backends, before, strict=True):
            backend.fp32_precision = value


def _short(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def _joined(kind: str, name: str) -> str:
    return f"{kind}:{name}" if name else kind


def _strict(value: Any) -> Any:
    if isinstance(value, float) and value - value != 0.0:
        return str(value)
    return value


def _numbers(row: TensorError) -> str:
    norm = f"norm {row.compiled_norm:.1e} (eager {row.eager_norm:.1e}, limit {row.limit_norm:.1e})"
    largest = f"max {row.compiled_largest:.1e} (eager {row.eager_largest:.1e}, limit {row.limit_largest:.1e})"
    return f"{norm} {largest}"
