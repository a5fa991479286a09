"""Which element of a tensor each lane of an access is: its coordinates, from the offset in memory.

A kernel's pointer arithmetic gives the offset of an element, as ``p0*16*200 + l0*200 + l1``.  The sizes and
strides of the tensor say which coordinates that is: ``(p0*16 + l0, l1)``.  A coordinate is accepted where it
is proven to lie in its dim, by the grid, the extents of the tile and the mask.  Then it is the only one that
the offset can be, as a dense tensor has one element for each offset.  Where that is not proven, the offset
itself is divided by the strides: it lies in the tensor, since a kernel that accesses memory elsewhere has no
meaning.

The symbols of a kernel's integers (``maps.py``) are here followed by ``'``, since sizes may have any name.
An integer argument that is a size has the name of that size.
"""

from collections.abc import Mapping, Sequence

from ...base.dataclass import dataclass
from ...index import Expr, Facts, const, parse, simplify, sym
from ...index.expr import exact_quotient
from ...ir.kernel import kernel_facts, named_sizes, strings
from ...ir.layout import TensorSpec
from ...mlir import ir
from .integers import Comparison
from .maps import PointerAccess

#: What the symbols of the places of elements begin with.
_PLACE = "c"
#: What the symbols of integers begin with that may be negative, see ``maps.py``.
_UNKNOWN = ("x", "a")


@dataclass(frozen=True)
class Coordinates:
    """The element of a tensor that each lane of an access is.

    at: one expression for each dim of the tensor, over ``places`` and sizes.  places: what the symbols of
    ``at`` are, as expressions over the kernel's integers.  extents: of the places, which lie between 0 and
    these in each lane that accesses memory.  mask: the comparisons that hold there.  shape: the extents of
    the lanes.  facts: about all these symbols.
    """

    at: tuple[Expr, ...]
    places: Mapping[str, Expr]
    extents: Mapping[str, Expr]
    mask: tuple[Comparison, ...]
    shape: tuple[int, ...]
    facts: Facts

    def held(self, place: str) -> int | None:
        """The axis of the tile that holds all of a place: lane ``n`` has the place ``n``, and each
        ``n`` below the extent accesses memory if any does.  None where there is none such.
        """
        known, extent = self.places[place], self.extents[place]
        for axis, size in enumerate(self.shape):
            lane = f"l{axis}'"
            if known != sym(lane) or not self.facts.less_equal(extent, const(size)):
                continue
            cut = [c for c in self.mask if lane in c.left.symbols() | c.right.symbols()]
            if all(c == Comparison(known, "<", extent) for c in cut) and all(
                lane not in e.symbols() for name, e in self.places.items() if name != place
            ):
                return axis
        return None


@dataclass(frozen=True)
class KernelSpace:
    """What is known of the integers of one kernel.

    names: by symbol of ``maps.py``, what they are here.  grid: the number of programs along three axes.
    """

    names: Mapping[str, Expr]
    grid: tuple[Expr, ...]
    facts: Facts

    @staticmethod
    def of(func: ir.Operation, facts: Facts) -> "KernelSpace":
        """Reads a tiled kernel of the module: its grid and its sizes; ``facts`` are those of the program."""
        extents = [parse(extent) for extent in strings(func.attributes["fuse.grid"])]
        grid = (*extents, *[const(1)] * (3 - len(extents)))
        names = {f"a{position}": sym(name) for name, position in named_sizes(func).items()}
        facts = Facts((), (*facts.ranges, *kernel_facts(func).ranges), facts.multiples)
        facts = facts.with_extents({f"p{n}'": extent for n, extent in enumerate(grid)})
        return KernelSpace(names, grid, facts)

    def renamed(self, e: Expr) -> Expr:
        """An expression of ``maps.py`` with the names of this module."""
        return e.subs({s: self.names.get(s, sym(f"{s}'")) for s in e.symbols()})

    def compared(self, comparison: Comparison) -> Comparison:
        """The same of a comparison; ``<=`` becomes ``<``, and what is greater stands on the right."""
        left, how, right = self.renamed(comparison.left), comparison.how, self.renamed(comparison.right)
        if how in (">", ">="):
            left, how, right = right, {">": "<", ">=": "<="}[how], left
        return Comparison(left, "<", right + 1) if how == "<=" else Comparison(left, how, right)


def coordinates_of(access: PointerAccess, spec: TensorSpec, space: KernelSpace) -> Coordinates | None:
    """The coordinates of a load or store in the tensor ``spec``.  None where the offset or the mask is not
    known, or where the tensor has gaps.
    """
    order = _dense_order(spec)
    if access.offset is None or access.mask is None or order is None or spec.offset.constant != 0:
        return None
    offset = space.renamed(access.offset)
    mask = tuple(space.compared(c) for c in access.mask)
    facts = _with_lanes(space.facts, access.shape, mask, [offset, *_sides(mask)])
    offset = simplify(offset, facts)
    mask = tuple(_simplified(c, facts) for c in mask)
    digits = _digits(offset, order, spec, mask, facts)
    places: dict[str, Expr] = {}
    extents: dict[str, Expr] = {}
    at = [const(0)] * spec.rank
    if digits is None:
        name = f"{_PLACE}'"
        places[name], extents[name] = offset, spec.numel
        facts = facts.with_extents({name: spec.numel})
        for axis in order:
            digit = sym(name).floordiv(spec.strides[axis])
            at[axis] = digit if axis == order[0] else digit.mod(spec.sizes[axis])
    else:
        for axis, digit in digits.items():
            name = f"{_PLACE}{axis}'"
            places[name], extents[name], at[axis] = digit, spec.sizes[axis], sym(name)
        facts = facts.with_extents(extents)
    return Coordinates(tuple(at), places, extents, mask, access.shape, facts)


def is_computable(found: Coordinates) -> bool:
    """Whether code in front of the access has the integers that coordinates name.  It has no arguments of the
    kernel but sizes.
    """
    names = {s for e in (*found.places.values(), *_sides(found.mask)) for s in e.symbols()}
    return not any(name.startswith("a") and name.endswith("'") for name in names)


def _dense_order(spec: TensorSpec) -> list[int] | None:
    """The dims of a tensor without gaps that have more than one element, that with the longest stride first;
    None for a tensor with gaps.
    """
    left = [axis for axis in range(spec.rank) if spec.sizes[axis].constant != 1]
    order: list[int] = []
    step = const(1)
    while left:
        found = [axis for axis in left if spec.strides[axis] == step]
        if not found:
            return None
        axis = found[-1]
        left.remove(axis)
        order.insert(0, axis)
        step = step * spec.sizes[axis]
    return order


def _simplified(comparison: Comparison, facts: Facts) -> Comparison:
    """The comparison where the lanes have the extents of ``facts``.  These may come from the comparison
    itself: ``l0 < 1`` leaves one lane, number 0, and would be ``0 < 1``, which holds in all lanes.
    """
    left, right = (simplify(side, facts) for side in (comparison.left, comparison.right))
    named, left_over = (
        {s for side in sides for s in side.symbols() if s.startswith("l")}
        for sides in ((comparison.left, comparison.right), (left, right))
    )
    return comparison if named != left_over else Comparison(left, comparison.how, right)


def _sides(mask: Sequence[Comparison]) -> list[Expr]:
    return [side for comparison in mask for side in (comparison.left, comparison.right)]


def _with_lanes(
    facts: Facts, shape: Sequence[int], mask: Sequence[Comparison], used: Sequence[Expr]
) -> Facts:
    """``facts`` with the extents of the lanes that access memory; other integers of the program in ``used``
    may be negative.
    """
    extents: dict[str, Expr | int | str] = {f"l{axis}'": size for axis, size in enumerate(shape)}
    for comparison in mask:
        for axis, size in enumerate(shape):
            lane = f"l{axis}'"
            below = comparison.how == "<" and comparison.left == sym(lane)
            if below and facts.less_equal(comparison.right, const(size)):
                extents[lane] = comparison.right
    others = sorted({s for e in used for s in e.symbols() if s.startswith(_UNKNOWN) and s.endswith("'")})
    ranges = (*facts.ranges, *((name, None, None) for name in others))
    return Facts(facts.extents, ranges, facts.multiples).with_extents(extents)


def _digits(
    offset: Expr, order: Sequence[int], spec: TensorSpec, mask: Sequence[Comparison], facts: Facts
) -> dict[int, Expr] | None:
    """The coordinate along each dim of ``order``, if each is proven to lie in its dim."""
    found: dict[int, Expr] = {}
    rest = offset
    for axis in order:
        size, stride = spec.sizes[axis], spec.strides[axis]
        for comparison in mask:
            less = rest - comparison.left * stride
            if (
                comparison.how == "<"
                and comparison.right == size
                and len(less.terms) < len(rest.terms)
                and facts.nonnegative(comparison.left)
            ):
                found[axis], rest = comparison.left, less
                break
    for axis in order:
        if axis in found:
            continue
        size, stride = spec.sizes[axis], spec.strides[axis]
        digit = const(0)
        for monomial, coefficient in rest.terms:
            part = exact_quotient(Expr({monomial: coefficient}), stride)
            digit = digit if part is None else digit + part
        rest = rest - digit * stride
        if not (facts.nonnegative(digit) and facts.less(digit, size)):
            return None
        found[axis] = digit
    return found if rest.constant == 0 else None
