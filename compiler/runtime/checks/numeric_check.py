"""Names the first pass that changed the numbers: ``--verify-each=numeric``.

``NumericVerifier`` watches a pipeline run.  It executes the module before and after every pass on the same
inputs (given, or made by ``InputMaker`` from types and facts) and compares results, mutated arguments and
strides, as strictly as the pass promises:

| ``numerics`` of the pass | rule |
|---|---|
| ``bitwise`` | equal bits; NaN equals NaN, whatever its bits |
| ``reassociates``, ``precision`` | error <= 2 * largest error before + some roundings of the dtype |

Errors are distances from a float64 run of the module before the pass, which is made where bits differ: equal
ones satisfy every rule.  The largest error before may be too small a sample of what rounding does: where the
rule is broken it is asked again, and how far the float64 run moves when its inputs move by a rounding counts
among the errors before.  A module whose text a pass leaves as it was is not run again.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from ...mlir import ir
from ..errors import DeviceAssertError, OutOfBounds, RaceError, RunError
from .made_inputs import InputMaker, copy_inputs, moved_inputs
from .outcomes import NumericMismatch, Outcome, check_equal

#: Runs on moved inputs that tell how ill-conditioned a module is.
_MOVES = 4


class PassLike(Protocol):
    """What the verifier reads of a pass."""

    @property
    def name(self) -> str: ...

    @property
    def numerics(self) -> str: ...


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
        self._text = ""  # of the module that gave `_before`

    def before_pass(self, number: int, p: PassLike, module: ir.Module) -> None:
        """Runs the module as it is, unless the last pass's outcome is known."""
        if self.inputs is None:
            self.inputs, self._before = self._make(module)
        if self._before is None:
            self._before = self._run(module, self.inputs)
        self._text = self._text or _text(module)

    def after_pass(self, number: int, p: PassLike, module: ir.Module) -> None:
        """Runs the module, if the pass changed it, and compares.  Raises NumericMismatch naming the pass,
        RunError if the module no longer runs."""
        assert self._before is not None and self.inputs is not None, "after_pass without before_pass"
        text = _text(module)
        if text == self._text:
            return
        try:
            after = self._run(module, self.inputs)
        except RunError as error:
            error.add_note(f"the module ran before pass {p.name}")
            raise
        try:
            check_equal(self._before, after, "bitwise", pass_name=p.name)
        except NumericMismatch:
            if p.numerics == "bitwise":
                raise
            before = ir.Module.parse(self._text, module.context)
            self._check_errors(self._before, after, p, before)
        self._before, self._text = after, text

    def _check_errors(self, old: Outcome, new: Outcome, p: PassLike, before: ir.Module) -> None:
        """Raises NumericMismatch where the pass may round differently, but not as ``new`` does.

        ``before``: the module before the pass, whose outcome ``old`` is.
        """
        assert self.inputs is not None
        reference = self._run(before, self.inputs, shadow=True)
        try:
            check_equal(old, new, p.numerics, reference=reference, pass_name=p.name)
        except NumericMismatch:
            moved = [
                self._run(before, moved_inputs(self.inputs, len(self._constants), seed), shadow=True)
                for seed in range(_MOVES)
            ]
            check_equal(old, new, p.numerics, reference=reference, moved=moved, pass_name=p.name)

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


def _text(module: ir.Module) -> str:
    """All that a run depends on, and the locations that its errors name."""
    return module.operation.get_asm(enable_debug_info=True)
