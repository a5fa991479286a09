"""How far a tensor may be from its float64 reference: no farther than twice what eager PyTorch is.

Two errors are taken per tensor, with `ref` in float64:

    norm     ||out - ref||_2 / ||ref||_2
    largest  max|out - ref| / max|ref|

and each must satisfy  compiled <= FACTOR * eager + eps,  where eps is `torch.finfo` of the dtype that was
computed in (one unit in the last place of 1.0: a correctly rounded result of the same inputs may differ by
half of it). Two situations would make that rule a lottery and are treated apart:

- *Few elements.* The eager error of a tensor of under `FEW` elements (a loss, a scalar gradient) is a poor
  sample: it may be 0 by luck. There the eager error is the larger of its own and the median over the larger
  tensors of its kind.
- *Vanishing reference.* Some gradients are zero in exact arithmetic (the key bias under softmax, a
  convolution bias before batch norm). Where the root mean square of `ref` is below `VANISHING` times that of
  its kind, both runs hold noise only, and errors are taken relative to the kind's root mean square, with
  `NOISE` units of eps.

NaN never passes, in the output or in the reference. An infinity must be the same infinity in both.
Integers and booleans must be equal.
"""

import math
import statistics
from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

FACTOR = 2.0
FEW = 32
VANISHING = 1e-10
NOISE = 16.0


@dataclass(frozen=True)
class TensorError:
    """The verdict on one tensor; errors and limits as the module's docstring defines them.

    name: "output:0", "grad:mlp.up.weight", "grad:input:0", "state:norm1.running_mean" or "input:2.1";
    several calls are told apart by a prefix "call1/".
    """

    name: str
    numel: int
    eager_norm: float
    compiled_norm: float
    limit_norm: float
    eager_largest: float
    compiled_largest: float
    limit_largest: float
    passed: bool
    note: str = ""

    @property
    def ratio(self) -> float:
        """The larger error / limit: above 1 fails; infinite for a mismatch without a number."""
        if not self.passed and self.note:
            return math.inf
        pairs = ((self.compiled_norm, self.limit_norm), (self.compiled_largest, self.limit_largest))
        return max(error / limit if limit else (math.inf if error else 0.0) for error, limit in pairs)


@dataclass(frozen=True)
class _Pair:
    """Absolute errors of one run: root mean square and maximum; NaN when not comparable."""

    rms: float
    largest: float


def kind_of(name: str) -> str:
    """The part of a tensor's name before the colon, without the call: tensors of one kind share a scale."""
    return name.rsplit("/", 1)[-1].split(":", 1)[0]


def judge_all(
    reference: Mapping[str, Tensor], eager: Mapping[str, Tensor], compiled: Mapping[str, Tensor], eps: float
) -> tuple[TensorError, ...]:
    """Judge every tensor that any of the three runs produced, in the reference's order, then the rest."""
    names = list(dict.fromkeys((*reference, *eager, *compiled)))
    shared = [name for name in names if name in reference and name in eager and name in compiled]
    floating = [name for name in shared if reference[name].is_floating_point() and reference[name].numel()]
    scales = _scales({name: reference[name] for name in floating})
    typical = _typical(reference, eager, floating)
    runs = (("the reference", reference), ("eager", eager), ("the compiled run", compiled))
    rows = []
    for name in names:
        absent = [label for label, run in runs if name not in run]
        if absent:
            rows.append(_mismatch(name, 0, f"missing from {' and '.join(absent)}"))
            continue
        kind = kind_of(name)
        rows.append(
            judge(
                name,
                reference[name],
                eager[name],
                compiled[name],
                eps,
                scale=scales.get(kind, 0.0),
                typical=typical.get(kind, (0.0, 0.0)),
            )
        )
    return tuple(rows)


def judge(
    name: str,
    reference: Tensor,
    eager: Tensor,
    compiled: Tensor,
    eps: float,
    *,
    scale: float = 0.0,
    typical: tuple[float, float] = (0.0, 0.0),
) -> TensorError:
    """Judge one tensor.

    scale: root mean square of its kind; typical: median eager errors (norm, largest) of its kind.
    """
    numel = reference.numel()
    if compiled.shape != eager.shape or eager.shape != reference.shape:
        shapes = (
            f"reference {list(reference.shape)}, eager {list(eager.shape)}, compiled {list(compiled.shape)}"
        )
        return _mismatch(name, numel, f"shapes differ: {shapes}")
    if compiled.dtype != eager.dtype:
        return _mismatch(name, numel, f"dtype is {compiled.dtype}, eager has {eager.dtype}")
    if compiled.device != eager.device:
        return _mismatch(name, numel, f"device is {compiled.device}, eager has {eager.device}")
    if numel == 0:
        return TensorError(name, 0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, True)
    if not eager.is_floating_point():
        return _judge_exact(name, eager, compiled)

    ref = reference.double()
    rms, top, units = _rms(ref), _largest(ref), 1.0
    if rms < VANISHING * scale:
        rms, top, units = scale, scale, NOISE
    by_eager, by_compiled = _absolute(eager, ref), _absolute(compiled, ref)
    eager_norm, eager_largest = _ratio(by_eager.rms, rms), _ratio(by_eager.largest, top)
    norm, largest = _ratio(by_compiled.rms, rms), _ratio(by_compiled.largest, top)
    if not (math.isfinite(eager_norm) and math.isfinite(eager_largest)):
        return _mismatch(
            name, numel, "eager is not finite where the reference is, or the reference holds NaN"
        )
    if not (math.isfinite(norm) and math.isfinite(largest)):
        return _mismatch(name, numel, "the compiled run holds NaN or an infinity that the reference does not")
    few = numel < FEW
    limit_norm = FACTOR * max(eager_norm, typical[0] if few else 0.0) + units * eps
    limit_largest = FACTOR * max(eager_largest, typical[1] if few else 0.0) + units * eps
    passed = norm <= limit_norm and largest <= limit_largest
    return TensorError(
        name, numel, eager_norm, norm, limit_norm, eager_largest, largest, limit_largest, passed
    )


def _judge_exact(name: str, eager: Tensor, compiled: Tensor) -> TensorError:
    wrong = int((eager != compiled).sum())
    if wrong:
        return _mismatch(
            name, eager.numel(), f"{wrong} of {eager.numel()} {eager.dtype} elements differ from eager"
        )
    return TensorError(name, eager.numel(), 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, True)


def _mismatch(name: str, numel: int, note: str) -> TensorError:
    nan = math.nan
    return TensorError(name, numel, nan, nan, nan, nan, nan, nan, False, note)


def _finite(x: Tensor) -> Tensor:
    return x[torch.isfinite(x)]


def _rms(x: Tensor) -> float:
    """Root mean square of the finite elements; 0.0 when there is none."""
    finite = _finite(x)
    return math.sqrt(float(finite.square().mean())) if finite.numel() else 0.0


def _largest(x: Tensor) -> float:
    finite = _finite(x)
    return float(finite.abs().max()) if finite.numel() else 0.0


def _absolute(out: Tensor, ref: Tensor) -> _Pair:
    """Errors over all elements; an equal infinity is no error, any other non-finite element gives NaN."""
    difference = torch.where(out.double() == ref, 0.0, out.double() - ref)
    if not bool(torch.isfinite(difference).all()):
        return _Pair(math.nan, math.nan)
    return _Pair(math.sqrt(float(difference.square().mean())), float(difference.abs().max()))


def _ratio(error: float, scale: float) -> float:
    """error / scale; an error against an all-zero reference of unknown scale stays absolute."""
    return error / scale if scale else error


def _scales(reference: Mapping[str, Tensor]) -> dict[str, float]:
    """Root mean square over all finite elements of each kind."""
    sums: dict[str, list[float]] = {}
    for name, tensor in reference.items():
        finite = _finite(tensor.double())
        total = sums.setdefault(kind_of(name), [0.0, 0.0])
        total[0] += float(finite.square().sum())
        total[1] += finite.numel()
    return {kind: math.sqrt(square / count) if count else 0.0 for kind, (square, count) in sums.items()}


def _typical(
    reference: Mapping[str, Tensor], eager: Mapping[str, Tensor], names: list[str]
) -> dict[str, tuple[float, float]]:
    """Median eager errors (norm, largest) over the tensors of each kind with at least `FEW` elements.

    A kind without such a tensor takes the median over all kinds.
    """
    found: dict[str, list[tuple[float, float]]] = {}
    for name in names:
        ref = reference[name].double()
        if eager[name].shape != ref.shape or not eager[name].is_floating_point():
            continue
        kind = found.setdefault(kind_of(name), [])
        error = _absolute(eager[name], ref)
        if ref.numel() >= FEW and _rms(ref) and math.isfinite(error.rms):
            kind.append((error.rms / _rms(ref), error.largest / _largest(ref)))
    everything = [pair for pairs in found.values() for pair in pairs]

    def median(pairs: list[tuple[float, float]]) -> tuple[float, float]:
        if not pairs:
            return 0.0, 0.0
        return statistics.median(p[0] for p in pairs), statistics.median(p[1] for p in pairs)

    return {kind: median(pairs or everything) for kind, pairs in found.items()}
