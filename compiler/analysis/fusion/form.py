"""What two groups of kernels look like to the rules whose verdicts are kept: a form, and nothing else.

A model repeats its layers, so the same question comes again with other calls.  A form leaves out which
calls these are.  It has the kernels as summaries.  Of the values it has what a rule may ask: their types,
which of them are equal, which share storage, which are needed by others.  A verdict is kept under the form.
The rules that find it are given a ``FusionTrial``, which holds the form but neither the graph nor the
module: what is not part of the key cannot be read.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from ...index import Expr, Facts
from ...ir.layout import TensorSpec
from ...ir.sizes import estimate
from ...mlir import ir
from ..kernel.accesses import Summary
from .plan import FusionPlan, Member, Refusal


@dataclass(frozen=True)
class Limits:
    """Parameters of the rules.

    cheap, loads:   a kernel of so few issue slots and loads per point may always be computed again.
    row, rows:      a reduction of more than ``row`` elements for fewer than ``rows`` results keeps its
                    readers apart.
    cached:         bytes that a GPU's cache keeps: where it holds all that is read, half the ``rows`` do.
    held:           fewest and most elements of a row whose column sums stay in one program's registers.
    walked:         fewest rows for which that pays.
    slices:         fewest and most slices that the rows are cut into (one or two programs each SM).
    slots_per_byte: issue slots that take as long as moving one byte (an H200 has about 7; less is safer).
    """

    accesses: int = 64
    ops: int = 512
    cheap: int = 16
    loads: int = 4
    slots_per_byte: int = 4
    row: int = 32768
    rows: int = 264
    cached: int = 32 << 20
    held: tuple[int, int] = (256, 8192)
    walked: int = 2048
    slices: tuple[int, int] = (132, 264)


@dataclass(frozen=True, eq=False)
class Sizes:
    """What is known of the size symbols of a program: bounds (``facts``), and likely values (``hints``).

    A program has one object, so comparing and hashing it costs nothing.
    """

    facts: Facts
    hints: Mapping[str, int]

    def estimate(self, e: Expr) -> int:
        """The likely value of an expression."""
        return estimate(e, self.hints)


@dataclass(frozen=True, eq=False)
class ValueType:
    """The type of values of a program, as fusion asks about it.

    A program has one object for each different type, so comparing and hashing it costs nothing.  Everything
    but ``type`` raises for values that are no tensors.
    """

    type: ir.Type
    sizes: Sizes

    @cached_property
    def spec(self) -> TensorSpec:
        """Sizes, strides, offset, device."""
        return TensorSpec.of(self.type)

    @cached_property
    def bytes(self) -> int:
        """Bytes of the elements, of a likely size."""
        return self.sizes.estimate(self.spec.numel) * self.spec.element_bytes

    @cached_property
    def device(self) -> str:
        """The device, "" for the module's."""
        return self.spec.device or ""


class FusionForm(NamedTuple):
    """What the rules of forms may read of two groups that might merge.  Equal forms have equal verdicts.

    The kernels are in program order.  Values have numbers, in the order in which they first occur among the
    operands and results of the kernels; storages likewise.

    kernels:  of each kernel its summary, and how many operands and results its call has.
    values:   the numbers of the operands and results of each kernel, one kernel after the other.
    storages: by value, the number of its storage.
    types:    by value.
    escaping: values that the kernels make and others need.
    """

    limits: Limits
    sizes: Sizes
    kernels: tuple[tuple[Summary, int, int], ...]
    values: tuple[int, ...]
    storages: tuple[int, ...]
    types: tuple[ValueType, ...]
    escaping: frozenset[int]

    @property
    def members(self) -> tuple[Member, ...]:
        """The kernels as calls of "{0}", "{1}", .. of the form's values, for planning."""
        found, begin = [], 0
        for number, (summary, operands, results) in enumerate(self.kernels):
            middle, end = begin + operands, begin + operands + results
            taken = self.values[begin:middle]
            roots = tuple([self.storages[v] for v in taken])
            made = self.values[middle:end]
            found.append(Member(number, f"{{{number}}}", summary, taken, made, roots))
            begin = end
        return tuple(found)

    def bytes_of(self, values: Iterable[int]) -> int:
        """Bytes of tensors, of likely sizes."""
        return sum([self.types[v].bytes for v in values])


@dataclass
class FusionTrial:
    """A form that rules are judging, and what a rule found out about it that later rules need.

    walks: the fused kernel reduces rows on its way down the columns; ``reduction_dims`` finds out.
    slots: issue slots that are spent again; ``recompute`` counts them.
    """

    form: FusionForm
    plan: FusionPlan | None = None
    walks: bool = False
    slots: int = 0

    @property
    def planned(self) -> FusionPlan:
        """The plan, which ``index_mismatch`` makes."""
        assert self.plan is not None, "index_mismatch makes the plan and runs first"
        return self.plan

    @property
    def limits(self) -> Limits:
        return self.form.limits

    def estimate(self, e: Expr) -> int:
        """The likely value of an expression."""
        return self.form.sizes.estimate(e)


class Verdict(NamedTuple):
    """Why two groups stay apart, None when they may merge; and the issue slots that merging spends again."""

    refusal: Refusal | None
    slots: int
