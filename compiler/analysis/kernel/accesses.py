"""A kernel as scheduling sees it: what it reads and writes where, what it reduces, what it costs.  Plain
data, no IR.

A summary is made once for each kernel function and shared by all its calls, and by those of equal kernels; it
becomes stale when the function changes.
"""

import math
from collections import Counter
from collections.abc import Mapping
from functools import cached_property, lru_cache

from ...base.dataclass import dataclass
from ...cost.slots import FREE, slots
from ...index import Expr, const
from ...ir.contractions import ONLINE_DOT
from ...ir.defining import is_true
from ...ir.kernel import LOOPED, WIDE, Kernel, over, string
from ...mlir import ir
from .conditions import zeros_where
from .segments import in_segments, segments_of


@dataclass(frozen=True)
class Read:
    """A load: coordinates per dim of the argument's type, and the dims over which it runs.

    ``zeros``: expressions over the dims that are 0 where its guard holds.  ``indexed``: the dims of its
    loaded indices.
    """

    argument: int
    coords: tuple[Expr, ...]
    dims: frozenset[str]
    indirect: bool
    guarded: bool
    zeros: tuple[Expr, ...] = ()
    indexed: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Write:
    """A store into a tensor of ``sizes``.

    ``result`` is the kernel result that returns it; ``mode`` is set, add, min or max.  ``alone``: no other
    store of the kernel writes into the tensor.
    """

    argument: int
    result: int
    coords: tuple[Expr, ...]
    dims: frozenset[str]
    indirect: bool
    guarded: bool
    mode: str
    sizes: tuple[Expr, ...]
    alone: bool = True

    @property
    def is_plain(self) -> bool:
        """Whether each point sets the one element of it, without a guard and not at a loaded index."""
        return self.alone and self.mode == "set" and not self.guarded and not self.indirect


@dataclass(frozen=True)
class Crossing:
    """A reduction or scan: the dims it crosses, those of all its operands together, and those of each.
    ``wide``: whether it is the product of a wide chain (``contraction/wide.py``).  ``looped``: whether it is
    of a kernel that goes through the columns of a product (``contraction/looped.py``).
    """

    op: str
    over: tuple[str, ...]
    dims: frozenset[str]
    operands: tuple[frozenset[str], ...]
    wide: bool = False
    looped: bool = False


@dataclass(frozen=True, eq=False)
class Summary:
    """What a kernel reads, writes, reduces and costs.  Equal summaries are the same object.

    ``asserted``: the dims along which what it asserts varies.  ``ops`` counts scalar operations, ``weight``
    the issue slots they take at one point.  ``work`` is the part of it that varies over all dims: a tile
    computes the rest, such as masks of rows, once for a row.
    ``segments``: the dim that numbers the segments of rows, all of which each program has, and that of the
    rows (``segments.py``); None where there are none.
    """

    extents: tuple[tuple[str, Expr], ...]
    symbols: tuple[str, ...]
    ties: tuple[int, ...]
    reads: tuple[Read, ...]
    writes: tuple[Write, ...]
    crossings: tuple[Crossing, ...]
    asserts: int
    asserted: frozenset[str]
    ops: int
    weight: int
    work: int
    segments: tuple[str, str] | None = None

    @staticmethod
    def of(func: ir.Operation) -> "Summary":
        """Reads a kernel function; a product of rows in segments as a program reads it whose rows are of one
        segment.  Raises ValueError where a result is not the value of a store.
        """
        kernel = Kernel.of(func)
        segments = segments_of(kernel)
        kernel = kernel if segments is None else in_segments(kernel)
        body = list(kernel.func.regions[0].blocks[0].operations)
        returned = {value: i for i, value in enumerate(body[-1].operands)}
        made = {a.op.results[0] for a in kernel.stores}
        for a in reversed(kernel.stores):  # what a later store goes on with is returned as that one's result
            if a.op.operands[0] in made and a.op.results[0] in returned:
                returned[a.op.operands[0]] = returned[a.op.results[0]]
        times = Counter(a.argument for a in kernel.stores)
        reads = []
        for a in kernel.loads:
            guard = a.op.operands[1]
            zeros = zeros_where(guard)
            indexed = frozenset().union(*(kernel.value_dims.get(v, frozenset()) for v in a.indices))
            dims = kernel.op_dims[a.op]
            reads.append(Read(a.argument, a.coords, dims, a.indirect, not is_true(guard), zeros, indexed))
        writes = []
        for a in kernel.stores:
            result = returned.pop(a.op.results[0], None)
            if result is None:
                raise ValueError(f"kernel {kernel.name} drops a stored tensor: {a.op}")
            guarded = not is_true(a.op.operands[2])
            mode = string(a.op.attributes["mode"])
            sizes, alone = kernel.spec(a.argument).sizes, times[a.argument] == 1
            dims = kernel.op_dims[a.op]
            writes.append(Write(a.argument, result, a.coords, dims, a.indirect, guarded, mode, sizes, alone))
        if returned:
            raise ValueError(f"result {min(returned.values())} of kernel {kernel.name} is not stored by it")
        crossings = tuple(
            Crossing(
                op.name,
                over(op),
                kernel.op_dims[op],
                _operand_dims(kernel, op),
                WIDE in func.attributes,
                LOOPED in func.attributes or ONLINE_DOT in (o.name for o in kernel.reductions),
            )
            for op in (*kernel.reductions, *kernel.scans)
        )
        names = [op.name for op in body]
        return _summary(
            extents=tuple(kernel.dims.items()),
            symbols=tuple(sorted(kernel.symbols)),
            ties=kernel.ties,
            reads=tuple(reads),
            writes=tuple(sorted(writes, key=lambda w: w.result)),
            crossings=crossings,
            asserts=len(kernel.asserts),
            asserted=frozenset().union(*[kernel.op_dims[op] for op in kernel.asserts]),
            ops=sum(name not in FREE for name in names),
            weight=sum(slots(name) for name in names),
            work=sum(
                slots(op.name)
                for op, dims in kernel.op_dims.items()
                if len(dims) == len(kernel.dims) and not (op.results and str(op.results[0].type) == "i1")
            ),
            segments=None if segments is None else (segments.number, segments.rows),
        )

    @cached_property
    def dims(self) -> Mapping[str, Expr]:
        """The extent of each dim, in natural order."""
        return dict(self.extents)

    @property
    def is_pointwise(self) -> bool:
        """Whether every value belongs to one point: no reduction and no scan."""
        return not self.crossings

    @cached_property
    def crossed(self) -> frozenset[str]:
        """Dims that some reduction or scan crosses."""
        return frozenset(d for c in self.crossings for d in c.over)

    @property
    def accesses(self) -> int:
        return len(self.reads) + len(self.writes)

    @cached_property
    def points(self) -> Expr:
        """Size of the iteration space."""
        return points(self.dims, self.dims)


_summary = lru_cache(maxsize=1 << 12)(Summary)


def _operand_dims(kernel: Kernel, op: ir.Operation) -> tuple[frozenset[str], ...]:
    """The dims of each operand of an op."""
    none: frozenset[str] = frozenset()
    return tuple(kernel.value_dims.get(value, none) for value in op.operands)


def points(extents: Mapping[str, Expr], dims: "frozenset[str] | Mapping[str, Expr]") -> Expr:
    """The product of the extents of ``dims``."""
    return math.prod((extent for name, extent in extents.items() if name in dims), start=const(1))
