"""The outcome of running a module, and whether two outcomes agree as strictly as a pass promises."""

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from ...base.dataclass import dataclass
from ...fx.views import meets_itself
from ...mlir import ir
from ..interpreter.graph_values import same_strides
from ..interpreter.program import InterpretedProgram
from ..interpreter.scalar.dtypes import CARRIERS, signless
from ..rng import RngState
from .made_inputs import copy_inputs

#: How many roundings of a result's dtype a pass that is not bitwise may add.  Wide dtypes get more, as their
#: sums are long; a narrow one is rounded once.
_ROUNDINGS = {torch.float64: 32, torch.float32: 32}
_FEW_ROUNDINGS = 2


class NumericMismatch(Exception):
    """A pass changed the numbers.

    ``result``: "result 0" or "argument 1" (a mutated one).  ``max_error``: the largest absolute difference,
    NaN where it cannot be computed.  ``first_index``: the first wrong element, () for a scalar or when the
    shape itself is wrong.
    """

    def __init__(
        self, pass_name: str, result: str, what: str, max_error: float, first_index: tuple[int, ...]
    ) -> None:
        self.pass_name, self.result, self.what = pass_name, result, what
        self.max_error, self.first_index = max_error, first_index
        super().__init__(f"pass {pass_name} changed {result}: {what}")

    def where(self, at: str) -> "NumericMismatch":
        """The same error with ``at`` in its text: the sizes of the run that failed, such as " with s0 =
        7".
        """
        return NumericMismatch(
            self.pass_name, f"{self.result}{at}", self.what, self.max_error, self.first_index
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.pass_name, self.result, self.what, self.max_error, self.first_index)


@dataclass
class Outcome:
    """What a run computed: name ("result 0", "argument 1") -> value, in order."""

    values: dict[str, Any]

    @staticmethod
    def of(
        module: ir.Module,
        inputs: Sequence[Any],
        *,
        objects: Mapping[str, Any] | None = None,
        shadow: bool = False,
        seed: int = 0,
    ) -> "Outcome":
        """Runs ``@main`` on copies of ``inputs`` with its own random numbers.  ``shadow``: in float64."""
        program = InterpretedProgram(module, objects=objects, shadow=shadow)
        arguments = copy_inputs(inputs)
        with torch.random.fork_rng(devices=[]):
            # torch.manual_seed would also store a traceback of the whole stack, to seed CUDA later.
            torch.default_generator.manual_seed(seed)
            results, left = program.run(arguments, rng=RngState(seed))
        values = {f"result {i}": _kept(r) for i, r in enumerate(results)}
        values.update({f"argument {i}": _kept(a) for i, a in enumerate(left) if isinstance(a, Tensor)})
        return Outcome(values)

    @property
    def has_numbers(self) -> bool:
        """Whether no float result is all NaN."""
        floats = [
            v for v in self.values.values() if isinstance(v, Tensor) and v.is_floating_point() and v.numel()
        ]
        return not any(v.double().isnan().all() for v in floats)


def _kept(value: Any) -> Any:
    if not isinstance(value, Tensor):
        return value
    if meets_itself(value):
        return value.clone()
    return torch.empty_strided(value.shape, value.stride(), dtype=value.dtype).copy_(value)


def check_equal(
    before: Outcome,
    after: Outcome,
    numerics: str,
    *,
    reference: Outcome | None = None,
    moved: Sequence[Outcome] = (),
    pass_name: str = "?",
) -> None:
    """Compares two outcomes as ``numerics`` demands.  Raises NumericMismatch.

    ``reference``: the float64 outcome of the module before the pass; needed unless ``numerics`` is "bitwise".
    ``moved``: float64 outcomes of that module on inputs perturbed by a rounding error.
    """
    if numerics != "bitwise" and reference is None:
        raise ValueError(f"comparing with {numerics!r} needs a float64 reference")
    results = [[name for name in o.values if name.startswith("result")] for o in (before, after)]
    if results[0] != results[1]:
        raise NumericMismatch(
            pass_name, "the results", f"{len(results[0])} became {len(results[1])}", float("nan"), ()
        )
    for name, old in before.values.items():
        if numerics == "bitwise" or reference is None:
            _check_value(pass_name, name, old, after.values[name], None)
        else:
            near = [m.values[name] for m in moved]
            _check_value(pass_name, name, old, after.values[name], reference.values.get(name), near)


def _check_value(
    pass_name: str, name: str, old: Any, new: Any, truth: Any, moved: Sequence[Any] = ()
) -> None:
    if not isinstance(old, Tensor) or not isinstance(new, Tensor):
        if type(old) is not type(new) or (old != new and old == old):
            raise NumericMismatch(pass_name, name, f"{old} became {new}", float("nan"), ())
        return
    for what in ("shape", "dtype"):
        if getattr(old, what) != getattr(new, what):
            text = f"its {what} {getattr(old, what)} became {getattr(new, what)}"
            raise NumericMismatch(pass_name, name, text, float("nan"), ())
    if not same_strides(old.shape, old.stride(), new.stride()):
        raise NumericMismatch(
            pass_name, name, f"its strides {old.stride()} became {new.stride()}", float("nan"), ()
        )
    exact = not isinstance(truth, Tensor) or not old.is_floating_point()
    wrong = _different_bits(old, new) if exact else _too_far(old, new, truth, moved)
    if wrong.any():
        first = tuple(wrong.nonzero()[0].tolist())
        error = _largest_difference(old, new)
        count = int(wrong.sum())
        change = f"{_number(old[first])} became {_number(new[first])}"
        text = f"{count} of {old.numel()} elements, the first at {list(first)}: {change}"
        raise NumericMismatch(pass_name, name, f"{text}; largest difference {error:g}", error, first)


def _number(element: Tensor) -> str:
    return (
        repr(element.item())
        if element.dtype.is_complex or not element.is_floating_point()
        else f"{element.double().item():.9g}"
    )


def _different_bits(old: Tensor, new: Tensor) -> Tensor:
    if old.dtype.is_complex:
        return _different_bits(torch.view_as_real(old), torch.view_as_real(new)).any(-1)
    old, new = signless(old).contiguous(), signless(new).contiguous()
    wrong = old.view(CARRIERS[old.element_size()]) != new.view(CARRIERS[new.element_size()])
    if old.is_floating_point():
        wrong &= ~(old.double().isnan() & new.double().isnan())
    return wrong


def _too_far(old: Tensor, new: Tensor, truth: Tensor, moved: Sequence[Tensor]) -> Tensor:
    """Where ``new`` is too far from the reference: further than twice the largest error of ``old`` (or of the
    outcomes ``moved``) plus a few roundings."""
    eps = torch.finfo(old.dtype).eps * _ROUNDINGS.get(old.dtype, _FEW_ROUNDINGS)
    old, new = old.double(), new.double()
    finite = old.isfinite() & truth.isfinite()
    same_class = torch.where(old.isnan(), new.isnan(), torch.where(old.isinf(), new == old, new.isfinite()))
    zero = torch.zeros((), dtype=torch.float64)
    size = torch.where(finite, truth.abs(), zero)
    before = torch.where(finite, (old - truth).abs(), zero)
    for other in moved:
        before = torch.maximum(before, torch.where(finite & other.isfinite(), (other - truth).abs(), zero))
    typical = size.sum() / finite.sum().clamp(min=1)
    allowed = 2 * (before.max() if before.numel() else zero) + eps * (size + typical)
    return ~same_class | (finite & ((new - truth).abs() > allowed))


def _largest_difference(old: Tensor, new: Tensor) -> float:
    if old.dtype.is_complex:
        return float((old - new).abs().max())
    difference = (signless(old).double() - signless(new).double()).abs()
    finite = difference[difference.isfinite()]
    return float(finite.max()) if finite.numel() else float("nan")
