"""Names the first pass that changed the numbers: ``--verify-each=numeric``.

``NumericVerifier`` watches a pipeline run.  It executes the module before and after every pass on the same
inputs (given, or made by ``InputMaker`` from types and facts) and compares results, mutated arguments and
strides, as strictly as the pass promises:

| ``numerics`` of the pass | rule |
|---|---|
| ``bitwise`` | equal bits; NaN equals NaN, whatever its bits |
| ``reassociates``, ``precision`` | error <= 2 * largest error before + some roundings of the dtype |

Errors are distances from a float64 run of the module before the pass.  The largest error before may be too
small a sample of what rounding does: where the rule is broken it is asked again, and how far the float64 run
moves when its inputs move by a rounding counts among the errors before.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import torch
from torch import Tensor

from ..analysis.kernel import attribute_items, string
from ..analysis.layout import TensorSpec
from ..mlir import ir
from .dtypes import CARRIERS, memory_dtype, signless
from .errors import DeviceAssertError, OutOfBounds, RaceError, RunError
from .graph_values import layout_of, same_strides
from .interpreter import Program
from .rng import RngState

#: Roundings of a result's dtype that a pass may add when it is not bitwise; sums are long in wide dtypes,
#: narrow ones round once.
_ROUNDINGS = {torch.float64: 32, torch.float32: 32}
_FEW_ROUNDINGS = 2
#: Runs on moved inputs that tell how ill-conditioned a module is.
_MOVES = 4


class NumericMismatch(Exception):
    """A pass changed the numbers.

    ``result``: "result 0" or "argument 1" (a mutated one).  ``max_error``: largest absolute difference (NaN
    where a difference has no size).  ``first_index``: where the first wrong element is, () for a scalar or
    when the shape itself is wrong.
    """

    def __init__(
        self, pass_name: str, result: str, what: str, max_error: float, first_index: tuple[int, ...]
    ) -> None:
        self.pass_name, self.result, self.what = pass_name, result, what
        self.max_error, self.first_index = max_error, first_index
        super().__init__(f"pass {pass_name} changed {result}: {what}")

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.pass_name, self.result, self.what, self.max_error, self.first_index)


class PassLike(Protocol):
    """What the verifier reads of a pass."""

    @property
    def name(self) -> str: ...

    @property
    def numerics(self) -> str: ...


# --- inputs -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class InputMaker:
    """Makes inputs for ``@main`` from the types and facts of its arguments; the same module and fields give
    the same inputs.

    Size symbols are their ``fuse.hint``, else their ``fuse.min`` (at least 2), unless ``sizes`` says
    otherwise; ``fuse.multiple`` is kept.  Floats are normal (``positive``: their absolute value plus 0.1;
    ``special``: with some NaN, infinities and zeros).  Integers are in [0, ``bound``), by default the
    smallest extent above 1 of any argument, so that they can index; ``distinct``: 0, 1, .. and again from
    ``bound``, so that no two indices of a scatter are equal where they need not be.
    """

    seed: int = 0
    positive: bool = False
    special: bool = False
    bound: int | None = None
    distinct: bool = False
    sizes: Mapping[str, int] = field(default_factory=dict)

    def make(self, module: ir.Module, entry: str = "main") -> list[Any]:
        """One value per argument of ``@entry``.  Raises RunError if there is no such function."""
        func = _function(module, entry)
        types = [a.type for a in func.regions[0].blocks[0].arguments]
        facts = _argument_facts(func, len(types))
        generator = torch.Generator().manual_seed(self.seed)
        environment = {
            string(named["fuse.sym"]): self._size(string(named["fuse.sym"]), named)
            for named in facts
            if "fuse.sym" in named
        }
        specs = [TensorSpec.of(t) if isinstance(t, ir.RankedTensorType) else None for t in types]
        extents = [n for s in specs if s is not None for n in layout_of(s, environment)[0] if n > 1]
        bound = self.bound or min(extents, default=2)
        return [
            self._scalar(type_, named, environment)
            if spec is None
            else self._tensor(spec, environment, bound, generator)
            for type_, spec, named in zip(types, specs, facts, strict=True)
        ]

    def _size(self, name: str, facts: Mapping[str, ir.Attribute]) -> int:
        if name in self.sizes:
            return self.sizes[name]
        numbers = {
            key: ir.IntegerAttr(a).value
            for key, a in facts.items()
            if key != "fuse.sym" and isinstance(a, ir.IntegerAttr)
        }
        value = numbers.get("fuse.hint", max(2, numbers.get("fuse.min", 2)))
        step = numbers.get("fuse.multiple", 1)
        value = -(-value // step) * step
        return min(value, numbers.get("fuse.max", value))

    def _scalar(
        self, type_: ir.Type, facts: Mapping[str, ir.Attribute], environment: Mapping[str, int]
    ) -> Any:
        if "fuse.sym" in facts:
            return environment[string(facts["fuse.sym"])]
        table = {"index": 2, "i64": 2, "i32": 2, "f64": 0.5, "f32": 0.5, "i1": True}
        if str(type_) not in table:
            raise RunError(f"no input can be made for an argument of type {type_}")
        return table[str(type_)]

    def _tensor(
        self, spec: TensorSpec, environment: Mapping[str, int], bound: int, generator: torch.Generator
    ) -> Tensor:
        shape, strides, offset = layout_of(spec, environment)
        extent = (
            offset + 1 + sum((n - 1) * s for n, s in zip(shape, strides, strict=True))
            if 0 not in shape
            else 0
        )
        dtype = memory_dtype(spec.element)
        memory = self._memory(max(extent, 0), dtype, bound, generator)
        return torch.as_strided(memory, shape, strides, offset if extent else 0)

    def _memory(self, count: int, dtype: torch.dtype, bound: int, generator: torch.Generator) -> Tensor:
        if dtype == torch.bool:
            return torch.randint(0, 2, (count,), generator=generator).bool()
        if not (dtype.is_floating_point or dtype.is_complex):
            if self.distinct:
                return (torch.arange(count) % bound).to(dtype)
            return torch.randint(0, bound, (count,), generator=generator).to(dtype)
        numbers = torch.randn(
            count, generator=generator, dtype=torch.complex128 if dtype.is_complex else torch.float64
        )
        if self.positive and not dtype.is_complex:
            numbers = numbers.abs() + 0.1
        if self.special and count:
            values = torch.tensor([float("nan"), float("inf"), -float("inf"), 0.0, -0.0], dtype=numbers.dtype)
            where = torch.randperm(count, generator=generator)[: max(1, count // 8)]
            numbers[where] = values[torch.arange(where.numel()) % values.numel()]
        return numbers.to(dtype)


def _function(module: ir.Module, name: str) -> ir.Operation:
    for op in module.body.operations:
        if op.operation.name == "func.func" and string(op.attributes["sym_name"]) == name:
            return op.operation
    raise RunError(f"the module has no function @{name}")


def _argument_facts(func: ir.Operation, count: int) -> list[dict[str, ir.Attribute]]:
    if "arg_attrs" not in func.attributes:
        return [{} for _ in range(count)]
    return [dict(attribute_items(a)) for a in ir.ArrayAttr(func.attributes["arg_attrs"])]


def copy_inputs(inputs: Sequence[Any]) -> list[Any]:
    """The inputs on fresh storages; tensors that share one still do, and keep strides and offsets."""
    storages: dict[tuple[int, int], Tensor] = {}
    copies: list[Any] = []
    for value in inputs:
        if not isinstance(value, Tensor):
            copies.append(value)
            continue
        storage = value.untyped_storage()
        key = (storage.data_ptr(), storage.nbytes())
        if key not in storages or not storage.nbytes():
            flat = torch.empty(0, dtype=torch.uint8, device=value.device).set_(storage)
            storages[key] = flat.clone()
        fresh = torch.empty(0, dtype=value.dtype, device=value.device)
        copies.append(
            fresh.set_(storages[key].untyped_storage(), value.storage_offset(), value.shape, value.stride())
        )
    return copies


# --- outcomes -----------------------------------------------------------------------------------------------


@dataclass
class Outcome:
    """What a run left behind: name ("result 0", "argument 1") -> value, in order."""

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
        program = Program(module, objects=objects, shadow=shadow)
        arguments = copy_inputs(inputs)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
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
    return (
        torch.empty_strided(value.shape, value.stride(), dtype=value.dtype).copy_(value)
        if _dense(value)
        else value.clone()
    )


def _dense(value: Tensor) -> bool:
    """Whether no two elements share memory (an expanded tensor's do)."""
    return all(s > 0 or n <= 1 for n, s in zip(value.shape, value.stride(), strict=True))


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
    ``moved``: the same on inputs that differ by a rounding.
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
    """Where ``new`` is further from the truth than twice the largest error of ``old`` (or of the truth of
    ``moved`` inputs) and a few roundings allow."""
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


def _moved(inputs: Sequence[Any], constants: Sequence[Any], seed: int) -> list[Any]:
    """The inputs (the constants at their end aside); each float32 and float64 is moved up or down by a
    rounding."""
    generator = torch.Generator().manual_seed(seed)
    moved = copy_inputs(inputs)
    for value in moved[: len(moved) - len(constants)]:
        if isinstance(value, Tensor) and value.dtype in _ROUNDINGS and _dense(value):
            sign = torch.randint(0, 2, value.shape, generator=generator) * 2 - 1
            value.mul_(1 + sign * torch.finfo(value.dtype).eps)
    return moved


# --- the watcher --------------------------------------------------------------------------------------------


class NumericVerifier:
    """Watches a pipeline (``passes.manager.Observer``) and raises NumericMismatch after the first pass that
    breaks its promise.

    ``inputs``: captured inputs of ``@main``; without, they are made when the first pass starts, such that the
    module's assertions hold, no two points store to one place and, if possible, no result is all NaN;
    ``constants``: values of the last arguments, which are not made.  ``objects``: what
    ``#fuse.torch<"object:NAME">`` names.
    """

    def __init__(
        self,
        inputs: Sequence[Any] | None = None,
        *,
        constants: Sequence[Any] = (),
        objects: Mapping[str, Any] | None = None,
        seed: int = 0,
    ) -> None:
        self.inputs = None if inputs is None else copy_inputs(inputs)
        self._constants = tuple(constants)
        self._objects = objects
        self._seed = seed
        self._before: Outcome | None = None
        self._reference: Outcome | None = None
        self._text_before = ""  # of a module whose pass may round differently

    def before_pass(self, number: int, p: PassLike, module: ir.Module) -> None:
        """Runs the module as it is, unless the last pass's outcome is known; in float64 too if the pass is
        not bitwise."""
        if self.inputs is None:
            self.inputs, self._before = self._make(module)
        if self._before is None:
            self._before = self._run(module, self.inputs)
        self._reference = None
        if p.numerics != "bitwise":
            self._reference = self._run(module, self.inputs, shadow=True)
            self._text_before = module.operation.get_asm(enable_debug_info=True)

    def after_run(self, number: int, p: PassLike, module: ir.Module) -> None:
        """Nothing: the module is not verified yet."""

    def after_pass(self, number: int, p: PassLike, module: ir.Module) -> None:
        """Runs the module and compares.  Raises NumericMismatch naming the pass, RunError if the module no
        longer runs."""
        assert self._before is not None and self.inputs is not None, "after_pass without before_pass"
        try:
            after = self._run(module, self.inputs)
        except RunError as error:
            error.add_note(f"the module ran before pass {p.name}")
            raise
        try:
            check_equal(self._before, after, p.numerics, reference=self._reference, pass_name=p.name)
        except NumericMismatch:
            if self._reference is None:
                raise
            before = ir.Module.parse(self._text_before, module.context)
            moved = [
                self._run(before, _moved(self.inputs, self._constants, seed), shadow=True)
                for seed in range(_MOVES)
            ]
            check_equal(
                self._before, after, p.numerics, reference=self._reference, moved=moved, pass_name=p.name
            )
        self._before, self._reference = after, None

    def failed(self, number: int, p: PassLike, module: ir.Module, error: Exception) -> None:
        """Nothing: whoever runs the pipeline reports the error."""

    def _run(self, module: ir.Module, inputs: Sequence[Any], shadow: bool = False) -> Outcome:
        return Outcome.of(module, inputs, objects=self._objects, shadow=shadow, seed=self._seed)

    def _make(self, module: ir.Module) -> tuple[list[Any], Outcome]:
        """Inputs on which the module runs, and what it gave; those that leave numbers in all results are
        preferred."""
        found: tuple[list[Any], Outcome] | None = None
        problem: RunError | None = None
        for maker in (
            InputMaker(self._seed),
            InputMaker(self._seed, positive=True),
            InputMaker(self._seed, distinct=True),
            InputMaker(self._seed, bound=1),
            InputMaker(self._seed, bound=1, positive=True),
        ):
            inputs = maker.make(module)
            inputs = copy_inputs([*inputs[: len(inputs) - len(self._constants)], *self._constants])
            try:
                outcome = self._run(module, inputs)
            except (DeviceAssertError, OutOfBounds, RaceError) as error:
                problem = problem or error
                continue
            if outcome.has_numbers:
                return inputs, outcome
            found = found or (inputs, outcome)
        if found is None:
            assert problem is not None
            raise problem
        return found
