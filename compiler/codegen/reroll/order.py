"""The tile code of a kernel in the order of its stores: each op stands in front of the first store that needs
it.
"""

from collections.abc import Sequence
from typing import Any, TypeAlias

from ...base.dataclass import dataclass
from ...ir.dialects import fuse, tt
from ...mlir import arith, ir

#: Ops that compute values and do nothing else: by the beginnings of their names, and by their classes.
_PURE = ("arith.", "math.", "tt.reduce")
_PURE_TILES = (
    *(fuse.Base, tt.AddPtr, tt.Bitcast, tt.Broadcast, tt.Clampf, tt.ExpandDims, tt.FpToFp, tt.GetProgramId),
    *(tt.MakeRange, tt.Reshape, tt.Splat, tt.Trans),
)
#: Stores to one tensor that may be those of steps.
_PIECES = 3
#: PTX and functions of libraries, which say themselves whether they are pure.
_TOLD = ("tt.extern_elementwise", "tt.elementwise_inline_asm")

#: What an operand is made by: the number of an op of the order and of its result; else a constant's
#: attribute, or a value from outside.
Source: TypeAlias = tuple[int, int] | ir.Attribute | ir.Value


@dataclass(frozen=True)
class Ordered:
    """Ops in the order of the stores, constants apart.

    ops:     each behind the ops that make its operands; what is computed twice is there once.
    sources: of each op, what its operands are.
    kinds:   equal numbers of ops that do the same with their operands, at addresses of one tensor.
    roots:   of each op that accesses memory, the value that its address begins at; None of any other.
    """

    ops: list[ir.OpView]
    sources: list[tuple[Source, ...]]
    kinds: list[int]
    roots: list[ir.Value | None]

    @staticmethod
    def of(body: Sequence[ir.OpView]) -> "Ordered | str":
        """A block without its terminator.  A string says which op has to stay where it is."""
        found, sources = list[ir.OpView](), list[tuple[Source, ...]]()
        made, kinds = dict[ir.Value, Source](), list[int]()
        numbers, known = dict[Any, int](), dict[Any, int]()
        for op in body:
            if isinstance(op, arith.ConstantOp):
                made[op.results[0]] = op.attributes["value"]
                continue
            if not _moves(op):
                return op.name
            of = tuple(made.get(v, v) for v in op.operands)
            kind = numbers.setdefault(_kind(op), len(numbers))
            number = len(found)
            if not isinstance(op, tt.Load | tt.Store):
                number = known.setdefault((kind, of), number)
            made.update({result: (number, n) for n, result in enumerate(op.results)})
            if number == len(found):
                found.append(op)
                sources.append(of)
                kinds.append(kind)
        roots = _roots(found, sources)
        order = _in_order_of_stores(found, sources, roots)
        place = {old: new for new, old in enumerate(order)}
        kept = [tuple((place[s[0]], s[1]) if isinstance(s, tuple) else s for s in sources[n]) for n in order]
        of_root = dict[Any, int]()
        alike = [of_root.setdefault((kinds[n], roots[n]), len(of_root)) for n in order]
        return Ordered([found[n] for n in order], kept, alike, [roots[n] for n in order])

    def value(self, source: tuple[int, int]) -> ir.Value:
        """What a source is that an op of the order makes."""
        return self.ops[source[0]].results[source[1]]

    def is_access(self, number: int) -> bool:
        """Whether an op loads or stores."""
        return isinstance(self.ops[number], tt.Load | tt.Store)

    def is_store(self, number: int) -> bool:
        """Whether there is an op of this number, and it stores."""
        return number >= 0 and isinstance(self.ops[number], tt.Store)

    def loads_what_it_stores(self) -> bool:
        """Whether a load and a store begin at one value, or one of them at an unknown one."""
        loaded, stored = (
            {root for op, root in zip(self.ops, self.roots, strict=True) if isinstance(op, kind)}
            for kind in (tt.Load, tt.Store)
        )
        return bool(loaded & stored) or None in loaded | stored


def _kind(op: ir.OpView) -> Any:
    """What an op does, its operands apart."""
    types = tuple(v.type for v in (*op.operands, *op.results))
    attributes = tuple((name, op.attributes[name]) for name in op.attributes)
    return op.name, types, attributes, tuple(_region(r) for r in op.regions)


def _region(region: ir.Region) -> Any:
    """What a region does, its names apart."""
    found = list[Any]()
    for block in region.blocks:
        known: dict[ir.Value, Any] = {a: ("argument", n) for n, a in enumerate(block.arguments)}
        for op in block.operations:
            attributes = tuple((name, op.attributes[name]) for name in op.attributes)
            operands = tuple(known.get(v, v) for v in op.operands)
            found.append((op.operation.name, attributes, operands, tuple(r.type for r in op.results)))
            known.update({r: (len(found), n) for n, r in enumerate(op.results)})
    return tuple(found)


def _moves(op: ir.OpView) -> bool:
    """Whether an op may stand elsewhere, as far as its operands and the order of stores allow."""
    attributes = op.attributes
    if isinstance(op, tt.Load):
        return "isVolatile" not in attributes or not ir.BoolAttr(attributes["isVolatile"]).value
    if op.name.startswith(_TOLD):
        return "pure" in attributes and ir.BoolAttr(attributes["pure"]).value
    return isinstance(op, (tt.Store, *_PURE_TILES)) or op.name.startswith(_PURE)


def _in_order_of_stores(
    ops: Sequence[ir.OpView], sources: Sequence[tuple[Source, ...]], roots: Sequence[ir.Value | None]
) -> list[int]:
    """The numbers of the ops that stores need.

    Stores go by the length of the chain that they wait for, but what is stored in few pieces, as the last
    state, comes behind all others.  Stores to one tensor keep their order where they are not known to lie
    apart.  Of what an op waits for, the longest chain comes first: a state before what is read for one step.
    """
    needs = [[s[0] for s in of if isinstance(s, tuple)] for of in sources]
    depth = [0] * len(ops)
    for n, of in enumerate(needs):
        depth[n] = 1 + max((depth[m] for m in of), default=0)
    to = dict[ir.Value | None, list[int]]()
    for n, op in enumerate(ops):
        if isinstance(op, tt.Store):
            to.setdefault(roots[n], []).append(n)
    stores = list[tuple[bool, int, int]]()
    for same in to.values():
        last, ordered = 0, not _apart(same, ops, sources)
        for n in same:
            last = max(depth[n], last) if ordered else depth[n]
            stores.append((len(same) < _PIECES, last, n))
    order, placed = list[int](), [False] * len(ops)
    for _, _, root in sorted(stores):
        waiting = [root]
        while waiting:
            n = waiting[-1]
            missing = [] if placed[n] else [m for m in dict.fromkeys(needs[n]) if not placed[m]]
            if missing:
                waiting += sorted(reversed(missing), key=depth.__getitem__)
                continue
            waiting.pop()
            if not placed[n]:
                placed[n] = True
                order.append(n)
    return order


def _apart(stores: Sequence[int], ops: Sequence[ir.OpView], sources: Sequence[tuple[Source, ...]]) -> bool:
    """Whether stores are at one address but for constants, which differ: they write to elements of their own,
    as no two lanes of a kernel write to one.
    """
    found = list[tuple[Source, int]]()
    for n in stores:
        address, offset = sources[n][0], 0
        if isinstance(address, tuple) and isinstance(ops[address[0]], tt.AddPtr):
            number = integer(sources[address[0]][1])
            if number is not None:
                address, offset = sources[address[0]][0], number
        found.append((address, offset))
    return len({address for address, _ in found}) == 1 and len({offset for _, offset in found}) == len(found)


def integer(source: Source) -> int | None:
    """The number that a constant is, or that it holds in each lane."""
    if isinstance(source, ir.DenseElementsAttr) and source.is_splat:
        source = source.get_splat_value()
    return source.value if isinstance(source, ir.IntegerAttr) else None


def _roots(ops: Sequence[ir.OpView], sources: Sequence[tuple[Source, ...]]) -> list[ir.Value | None]:
    begins = list[ir.Value | None]()
    for op, of in zip(ops, sources, strict=True):
        address = of[0] if of else None
        if isinstance(op, fuse.Base):
            begins.append(op.operands[0])
        elif isinstance(address, tuple):
            begins.append(begins[address[0]])
        else:
            begins.append(address if isinstance(address, ir.Value) else None)
    return [v if isinstance(op, tt.Load | tt.Store) else None for v, op in zip(begins, ops, strict=True)]
