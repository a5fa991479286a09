"""The form of two groups of kernels: all that the rules whose verdicts are cached may read of them.

A model repeats its layers, so the same question is asked again about other calls.  A form leaves out which
calls these are.  It has the summaries of the kernels.  Of the values it has what a rule may ask: their types,
which of them are equal, which share storage, which are used elsewhere.  The form is the key of the cached
verdict.  The rules that compute the verdict get a ``Merged``, which holds the form, but neither the graph nor
the module: so they cannot read anything that is not part of the key.
"""

import math
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import NamedTuple

from ...base.dataclass import dataclass
from ...cost.hardware import Hardware
from ...index import Expr, Facts
from ...ir.layout import TensorSpec
from ...ir.sizes import estimate
from ...mlir import ir
from ..contraction.tiles import SPARE_BYTES
from ..kernel.accesses import Summary
from .plan import FusionPlan, Member, Refusal
from .walk import Walk


@dataclass(frozen=True)
class Limits:
    """Parameters of the rules.  Those that depend on the GPU are made by ``of``; their defaults are an
    H200's, to which they were fitted.

    A kernel that sums both the rows and the columns of a matrix *walks*: each program takes a slice of the
    rows, goes through them one by one, and keeps the sums of all columns in registers.

    accesses, stores, ops: most loads and stores of a kernel, stores alone, and scalar operations.
                    ``fuse-vertical`` allows more: a recurrence over time that is spelled out has hundreds of
                    reads and thousands of operations.
    tensors:        most tensors that a kernel reads or stores.  CUDA takes 4 KB of parameters.
    cheap, loads:   a kernel with at most so many issue slots and loads for each point may always be
                    recomputed.
    row, rows:      a reduction of more than ``row`` elements with fewer than ``rows`` results does not merge
                    with kernels that visit the elements again.
    cached:         bytes that a GPU's L2 cache keeps.  If all that is read fits, half the ``rows`` are
                    enough.
    grouped_row:    most elements of a row of which groups are reduced, too.
    walked:         most elements of a row in a kernel that walks.
    numbers:        most numbers that a program of such a kernel holds.  For each element of a row it holds
                    the sums of its column, and one number more.  Where the element is used again once the
                    row is reduced, it holds four more instead; but one where rows stay in registers in the
                    16 bits in which they were loaded (``held_as_loaded``).
    copied:         most operations and loads of a kernel that computes members at several coordinates for
                    each point, every copy counted.  A product of 16 x 16 matrices in front of another has
                    1071; three of them took Triton 49 s.
    block:          points of a dim that a program of a product computes: of one with at most ``block[0]``
                    rows or columns, and of others.
    columns:        most columns of products that a program holds, because something reduces along them.
    chained:        most columns of each product, where another product sums along them.  Each program reads
                    all weights: wider ones would take longer than the traffic that is saved.
    wide:           the same of products that ``choose-libraries`` has found to be a wide chain.
    many, depth:    such a kernel has at least ``many`` rows, or its products sum at most ``depth`` elements.
    shared:         bytes of shared memory that a program of products may take.
    slots_per_byte: issue slots that may be spent to move one byte less.
    row_again:      whether each program of a product of few rows may compute the row that it multiplies, with
                    the reductions of that: ``recompute-rows`` says where it pays.
    """

    accesses: int = 256
    tensors: int = 256
    stores: int = 64
    ops: int = 1024
    cheap: int = 16
    loads: int = 4
    copied: int = 512
    block: tuple[int, int] = (4, 128)
    slots_per_byte: int = 4
    row: int = 32768
    rows: int = 264
    cached: int = 32 << 20
    grouped_row: int = 8192
    walked: int = 16384
    numbers: int = 6 * 8192
    columns: int = 512
    chained: int = 128
    wide: int = 256
    many: int = 4096
    depth: int = 256
    shared: int = 223 << 10
    row_again: bool = False

    @staticmethod
    def of(
        hardware: Hardware,
        *,
        accesses: int = accesses,
        tensors: int = tensors,
        stores: int = stores,
        ops: int = ops,
        row_again: bool = row_again,
    ) -> "Limits":
        """Of a GPU.  Rows that programs hold are parts of the registers of a multiprocessor: half of them for
        a row that is reduced alone, a quarter for one in a walk, an eighth for one of a group.
        """
        registers = hardware.registers
        return Limits(
            slots_per_byte=hardware.slots_per_byte,
            row=registers // 2,
            rows=hardware.full_grid,
            cached=hardware.l2_bytes * 16 // 25,
            grouped_row=registers // 8,
            walked=registers // 4,
            numbers=registers * 3 // 4,
            shared=hardware.shared_bytes - SPARE_BYTES,
            accesses=accesses,
            tensors=tensors,
            stores=stores,
            ops=ops,
            row_again=row_again,
        )


@dataclass(frozen=True, eq=False)
class Sizes:
    """What is known about the size symbols of a program: bounds (``facts``), and likely values (``hints``).

    There is one object for each program, so comparing and hashing it is cheap.
    """

    facts: Facts
    hints: Mapping[str, int]

    def estimate(self, e: Expr) -> int:
        """The likely value of an expression."""
        return estimate(e, self.hints)


@dataclass(frozen=True, eq=False)
class ValueType:
    """The type of a value, with the properties that fusion asks for.

    There is one object for each different type of a program, and ``narrower``, so comparing and hashing it is
    cheap.  For values that are not tensors, all properties except ``type`` raise.

    narrower: of a value that a pointwise kernel makes of one tensor with smaller elements, the bytes of such
    an element; else None.
    """

    type: ir.Type
    sizes: Sizes
    narrower: int | None = None

    @cached_property
    def spec(self) -> TensorSpec:
        """Sizes, strides, offset, device."""
        return TensorSpec.of(self.type)

    @cached_property
    def bytes(self) -> int:
        """Bytes of the elements, with every size at its hint."""
        return self.sizes.estimate(self.spec.numel) * self.spec.element_bytes

    @cached_property
    def loaded(self) -> int:
        """Bytes that are loaded for an element, where the kernel that makes the value fuses with its reader:
        2 of weights of float32 that are cast from bfloat16.
        """
        return self.spec.element_bytes if self.narrower is None else self.narrower

    @cached_property
    def device(self) -> str:
        """The device, "" for the module's."""
        return self.spec.device or ""


class FusionForm(NamedTuple):
    """What the cached rules may read of two groups that might merge.  Equal forms have equal verdicts.

    The kernels are in program order.  Values are numbered in the order in which they first occur among the
    operands and results of the kernels.  Storages are numbered in the same way.

    kernels:  the summary of each kernel, and how many operands and results its call has.
    values:   the numbers of the operands and results of each kernel, one kernel after the other.
    storages: by value, the number of its storage.
    types:    by value.
    escaping: values that the kernels make and that are used outside of both groups.
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
        """The kernels as members for planning; their names are the placeholders "{0}", "{1}", .."""
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
        """Bytes of tensors, with every size at its hint."""
        return sum([self.types[v].bytes for v in values])


@dataclass(frozen=True)
class PlacedForm:
    """A form with the placement of its kernels in one space."""

    form: FusionForm
    plan: FusionPlan

    @property
    def limits(self) -> Limits:
        return self.form.limits

    def estimate(self, e: Expr) -> int:
        """The likely value of an expression."""
        return self.form.sizes.estimate(e)

    def points(self, dims: frozenset[str]) -> int:
        """The likely number of points of some dims of the space."""
        return math.prod([n for name, n in self._extents.items() if name in dims])

    @cached_property
    def _extents(self) -> Mapping[str, int]:
        return {name: self.estimate(e) for name, e in self.plan.extents.items()}


class Verdict(NamedTuple):
    """The refusal, None when two groups may merge; then also ``slots``, ``work`` and ``walk`` of what they
    become, see ``Merged``.
    """

    refusal: Refusal | None
    slots: int = 0
    work: int = 0
    walk: Walk | None = None
