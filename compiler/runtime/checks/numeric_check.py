"""Finds the first pass that changed the numbers: ``--verify-each=numeric``.

``NumericVerifier`` watches a pipeline run.  It executes the module before and after every pass on the same
inputs (given, or made by ``InputMaker`` from types and facts) and compares results, mutated arguments and
strides.  Where sizes are symbols it does so twice: with the sizes of the hints, and with others that share no
factor with them (``other_sizes``), since a pass may mistake a hint for the size.  How strict it is depends on
what the pass promises:

| ``numerics`` of the pass | rule |
|---|---|
| ``bitwise`` | equal bits; NaN equals NaN, whatever its bits |
| ``reassociates``, ``precision`` | error <= 2 * largest error before + some roundings of the dtype |

Errors are distances from a float64 run of the module before the pass, which is made only where bits differ,
as equal bits satisfy every rule.  One run may be too small a sample of rounding errors before the pass.  So
where the rule is broken, a second question is asked: how far does the float64 run move when its inputs are
perturbed by a rounding error?  That distance then counts among the errors before the pass.  A module
that a pass leaves unchanged, locations included, is not run again.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any, Protocol

from ...base.dataclass import dataclass
from ...ir.bytecode import bytecode_of
from ...mlir import ir
from ..errors import DeviceAssertError, OutOfBounds, RaceError, RunError
from .made_inputs import InputMaker, copy_inputs, moved_inputs, other_sizes
from .outcomes import NumericMismatch, Outcome, check_equal

log = logging.getLogger(__name__)

#: Number of runs on perturbed inputs, which show how ill-conditioned a module is.
_MOVES = 4


class PassLike(Protocol):
    """What the verifier reads of a pass."""

    @property
    def name(self) -> str: ...

    @property
    def numerics(self) -> str: ...


@dataclass
class _Case:
    """Inputs, and the outcome of the module on them before the pass.  ``sizes``: sizes of symbols that differ
    from the hints.
    """

    inputs: list[Any]
    before: Outcome
    sizes: Mapping[str, int] = field(default_factory=dict)


class NumericVerifier:
    """Watches a pipeline (``passes.manager.Observer``) and raises NumericMismatch after the first pass that
    breaks its promise.

    ``inputs``: captured inputs of ``@main``.  Without them, inputs are made when the first pass starts.  They
    are chosen such that the module's assertions hold, no two points store to one place and, if possible, no
    result is all NaN.  If the module runs with other sizes, inputs are made for these too.  ``constants``:
    values of the last arguments, which are not made.  ``objects``: what ``#fuse.torch<"object:NAME">`` names.
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
        self._cases: list[_Case] = []
        self._constants = tuple(constants)
        self._objects = objects
        self._seed = seed
        self._code = b""  # the bytecode of the module that gave the outcomes in `_cases`

    def before_pass(self, number: int, p: PassLike, module: ir.Module) -> None:
        """Runs the module before a pass, unless its outcome is known from the pass before."""
        if not self._cases and self.inputs is not None:
            self._cases = [_Case(self.inputs, self._run(module, self.inputs))]
        elif not self._cases:
            self._cases = [_Case(*self._make(module)), *self._with_other_sizes(module)]
            self.inputs = self._cases[0].inputs
        self._code = self._code or bytecode_of(module.operation)

    def after_pass(self, number: int, p: PassLike, module: ir.Module) -> None:
        """Runs the module, if the pass changed it, and compares.  Raises NumericMismatch naming the pass,
        RunError if the module no longer runs."""
        assert self._cases, "after_pass without before_pass"
        code = bytecode_of(module.operation)
        if code == self._code:
            return
        for case in self._cases:
            at = "".join(f" with {name} = {size}" for name, size in case.sizes.items())
            try:
                after = self._run(module, case.inputs)
            except RunError as error:
                error.add_note(f"the module ran{at} before pass {p.name}")
                raise
            try:
                self._compare(case, after, p, module)
            except NumericMismatch as wrong:
                raise wrong.where(at) from None
            case.before = after
        self._code = code

    def _compare(self, case: _Case, after: Outcome, p: PassLike, module: ir.Module) -> None:
        try:
            check_equal(case.before, after, "bitwise", pass_name=p.name)
        except NumericMismatch:
            if p.numerics == "bitwise":
                raise
            self._check_errors(case, after, p, ir.Module.parse(self._code, module.context))

    def _check_errors(self, case: _Case, new: Outcome, p: PassLike, before: ir.Module) -> None:
        """Checks a pass that may round differently.  Raises NumericMismatch where ``new`` is not within its
        rule.

        ``before``: the module before the pass, which gave the outcome in ``case``.
        """
        old, reference = case.before, self._run(before, case.inputs, shadow=True)
        try:
            check_equal(old, new, p.numerics, reference=reference, pass_name=p.name)
        except NumericMismatch:
            moved = [
                self._run(before, moved_inputs(case.inputs, len(self._constants), seed), shadow=True)
                for seed in range(_MOVES)
            ]
            check_equal(old, new, p.numerics, reference=reference, moved=moved, pass_name=p.name)

    @property
    def sizes(self) -> list[Mapping[str, int]]:
        """For each case, the sizes that differ from the hints."""
        return [case.sizes for case in self._cases]

    def _with_other_sizes(self, module: ir.Module) -> list[_Case]:
        """Adds a case with other sizes, if the module runs with any.  Several are tried, since the module
        does not say how sizes depend on each other (a guard of torch does).
        """
        for sizes in other_sizes(module):
            try:
                return [_Case(*self._make(module, sizes), sizes)]
            except (RuntimeError, ValueError, IndexError, TypeError) as error:  # torch raises all of these
                log.debug("the module does not run with %s: %s", sizes, error)
        return []

    def failed(self, number: int, p: PassLike, module: ir.Module, error: Exception) -> None:
        """Does nothing: whoever runs the pipeline reports the error."""

    def _run(self, module: ir.Module, inputs: Sequence[Any], shadow: bool = False) -> Outcome:
        return Outcome.of(module, inputs, objects=self._objects, shadow=shadow, seed=self._seed)

    def _make(self, module: ir.Module, sizes: Mapping[str, int] | None = None) -> tuple[list[Any], Outcome]:
        """Inputs on which the module runs, with its outcome.  Inputs for which no result is all NaN are
        preferred."""
        chosen = sizes or {}
        found: tuple[list[Any], Outcome] | None = None
        problem: RunError | None = None
        for maker in (
            InputMaker(self._seed, sizes=chosen),
            InputMaker(self._seed, positive=True, sizes=chosen),
            InputMaker(self._seed, distinct=True, sizes=chosen),
            InputMaker(self._seed, bound=1, sizes=chosen),
            InputMaker(self._seed, bound=1, positive=True, sizes=chosen),
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
