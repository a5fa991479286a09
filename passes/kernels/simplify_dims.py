"""``simplify-dims``: the fewest dims that keep every address simple."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import accumulate
from typing import ClassVar

from ...compiler.analysis.kernel.segments import segments_of
from ...compiler.base.dataclass import dataclass
from ...compiler.base.remarks import Remarks
from ...compiler.index import Expr, Facts, FloorDiv, Mod, const, offset, parse, simplify, sym
from ...compiler.ir.contractions import ONLINE_DOT, PRODUCTS
from ...compiler.ir.kernel import (
    Kernel,
    is_kernel,
    is_tiled,
    kernel_dims,
    kernel_facts,
    over,
    program_facts,
    rows_of,
    string,
    strings,
)
from ...compiler.ir.layout import TensorSpec
from ...compiler.ir.reductions import reductions
from ...compiler.ir.storage import functions_of
from ...compiler.mlir import ir
from ..base.kernels import dimmed, dims_attribute, forget_tiling, kernel_body, rewrite_dims
from ..pass_base import Numerics, Pass, PassError

#: Crossing operations that are their operands when there is one point to cross.
IDENTITIES = frozenset(reductions(lambda op: op.trivial))


@dataclass(frozen=True)
class SimplifyDims(Pass):
    """Drops, splits and merges the dims of kernels, and names them d0, d1, .. in order.

    Before::

        fuse.dims = {d0 = "8", d1 = "1", d2 = "64"}           // x is 8x1x64, contiguous
        "fuse.load"(%x, ...) {at = ["d0", "d1", "d2"]}

    After::

        fuse.dims = {d0 = "512"}
        "fuse.load"(%x, ...) {at = ["d0 floordiv 64", "0", "d0 mod 64"]}      // the address is x + d0

    The rules, each until it fires no more:

    1. A dim of one point, or that nothing names, is dropped, but for the rows of a ``fuse.online_dot``.
       A reduction or scan over nothing else is replaced by its operand.
    2. A dim d is split into ``d floordiv c`` and ``d mod c``, where c divides its extent, if that removes
       divisions from addresses or index values, and what each reduction over d reads depends on both.
    3. Two dims are merged if that adds no division to any address or index value, each reduction crosses both
       or neither, and each factor of a product has both or neither.

    Does not fire on tile code, nor, but for rule 1, on a dim that a scan crosses, or of rows in segments.

    Raises PassError on a kernel that contradicts itself: ``an access has 1 coordinates, its tensor 2 dims``,
    ``'d7' is no dim of the kernel``, ``a scan over 'd0' would have to cross 2 dims``.
    """

    name: ClassVar[str] = "simplify-dims"
    numerics: ClassVar[Numerics] = "reassociates"

    def run(self, module: ir.Module, remarks: Remarks) -> None:
        functions = functions_of(module)
        symbols = program_facts(functions["main"]) if "main" in functions else Facts()
        for function in functions.values():
            if is_kernel(function) and not is_tiled(function):
                simplify_dims(function, symbols)


def simplify_dims(kernel: ir.Operation, symbols: Facts) -> None:
    """Gives a scalar kernel the fewest dims.  ``symbols``: what is known of the program's sizes.  Raises
    ``PassError``.
    """
    _simplest(_Form.of(kernel, symbols)).apply(kernel)


@dataclass(frozen=True)
class _Form:
    """What decides about the dims of a kernel: kernels of equal forms get the same dims.

    ``addresses``: storage offsets and index values over the dims; ``named``: what coordinates name;
    ``crossings``: of each reduction and scan the name, the dims, and the coordinates and index values that
    its operands are computed from.  The last are left out where no address holds a division.  ``factors``:
    the dims of each factor of a product, also those along which it is broadcast by a stride of 0.  ``rows``:
    the dims of one point that are the rows of a ``fuse.online_dot``.  ``segmented``: the rows that are in
    segments.
    """

    extents: tuple[tuple[str, Expr], ...]
    symbols: Facts
    addresses: tuple[Expr, ...]
    crossings: tuple[tuple[str, frozenset[str], frozenset[Expr]], ...]
    named: frozenset[str]
    factors: tuple[frozenset[str], ...]
    rows: frozenset[str]
    segmented: frozenset[str]

    @staticmethod
    def of(kernel: ir.Operation, symbols: Facts) -> "_Form":
        extents = kernel_dims(kernel)
        facts = kernel_facts(kernel)
        ranges = {name: (name, low, high) for name, low, high in (*facts.ranges, *symbols.ranges)}
        known = Facts((), tuple(ranges[n] for n in sorted(ranges)), symbols.multiples)
        inside = known.with_extents(extents)
        addresses: list[Expr] = []
        crossings: list[ir.Operation] = []
        products: list[ir.Operation] = []
        named: set[str] = set()
        for op in dimmed(kernel):
            attributes = op.attributes
            if "at" in attributes:
                spec = TensorSpec.of(op.operands[0].type)
                at = [parse(t) for t in strings(attributes["at"])]
                if len(at) != spec.rank:
                    raise PassError(
                        f"an access has {len(at)} coordinates, its tensor {spec.rank} dims", op.location
                    )
                addresses.append(offset(at, spec.strides, spec.offset, inside))
                # A coordinate of a dim with stride 0, or of one point, is not in the address.
                named.update(*[e.symbols() for e in at])
            elif "expr" in attributes:
                addresses.append(simplify(parse(string(attributes["expr"])), inside))
            elif "over" in attributes:
                unknown = [d for d in over(op) if d not in extents]
                if unknown:
                    raise PassError(f"'{unknown[0]}' is no dim of the kernel", op.location)
                crossings.append(op)
                if op.name in PRODUCTS:
                    products.append(op)
        divided = any(e.has_divisions for e in addresses)
        sources = _sources(kernel) if divided and crossings else {}
        crossed = tuple((op.name, frozenset(over(op)), _joined(op, sources)) for op in crossings)
        read = Kernel.of(kernel) if products else None
        dims = {} if read is None else read.value_dims
        segments = None if read is None else segments_of(read)
        factors = tuple(dims.get(factor, frozenset()) for op in products for factor in op.operands)
        rows = frozenset().union(*[rows_of(op, dims) for op in products if op.name == ONLINE_DOT])
        rows = frozenset(d for d in rows if extents[d].constant == 1)
        return _Form(
            tuple(extents.items()), known, tuple(addresses), crossed, frozenset(named), factors, rows,
            frozenset() if segments is None else frozenset({segments.rows}),
        )  # fmt: skip


def _sources(kernel: ir.Operation) -> dict[ir.Value, frozenset[Expr]]:
    """For each value of a kernel, the coordinates and index values that it is computed from."""
    found: dict[ir.Value, frozenset[Expr]] = {}
    for op in kernel_body(kernel):
        own = _joined(op, found)
        if "at" in op.attributes:
            own |= {parse(text) for text in strings(op.attributes["at"])}
        elif "expr" in op.attributes:
            own |= {parse(string(op.attributes["expr"]))}
        found.update(dict.fromkeys(op.results, own))
    return found


def _joined(op: ir.Operation, sources: Mapping[ir.Value, frozenset[Expr]]) -> frozenset[Expr]:
    """The sources of all operands of ``op``."""
    return frozenset().union(*[sources.get(operand, ()) for operand in op.operands])


@lru_cache(maxsize=1 << 12)
def _simplest(form: _Form) -> "_Dims":
    dims = _Dims(form, dict(form.extents), {d: sym(d) for d, _ in form.extents})
    dims.drop()
    while dims.split():
        pass
    while dims.merge():
        pass
    return dims


@dataclass
class _Dims:
    """The dims of kernels of a form; ``mapping`` says what becomes of the original dims."""

    form: _Form
    extents: dict[str, Expr]
    mapping: dict[str, Expr]
    count: int = 0

    def fresh(self) -> str:
        self.count += 1
        return f"d{self.count - 1}new"

    def facts(self, extents: Mapping[str, Expr]) -> Facts:
        """What is known of dims, except that rows are one, which would leave nothing of them."""
        return self._facts(extents, self.image(self.form.rows))

    def _facts(self, extents: Mapping[str, Expr], rows: Iterable[str]) -> Facts:
        return self.form.symbols.with_extents({d: e for d, e in extents.items() if d not in rows})

    def drop(self) -> None:
        """Dims of one point, and those that nothing names."""
        named = self.form.named.union(
            *[e.symbols() for e in self.form.addresses], *[crossed for _, crossed, _ in self.form.crossings]
        )
        for d, extent in list(self.extents.items()):
            needed = any(
                d in crossed and not self.others(crossed, d) and name not in IDENTITIES
                for name, crossed, _ in self.form.crossings
            )
            if d not in named or (extent.constant == 1 and not needed and d not in self.form.rows):
                del self.extents[d]
                self.mapping[d] = const(0)

    def others(self, crossed: frozenset[str], d: str) -> bool:
        return any(o != d and o in self.extents for o in crossed)

    def divisions(self, extents: Mapping[str, Expr], mapping: Mapping[str, Expr]) -> Iterator[int]:
        """How many divisions of dims each address holds."""
        facts = self.facts(extents)
        return (_divisions(simplify(e.subs(mapping), facts), extents) for e in self.form.addresses)

    def whole(self, d: str) -> bool:
        """Whether a dim is neither split nor merged."""
        return d in self.image(self.form.segmented) or any(
            name == "fuse.scan" and d in self.image(crossed) for name, crossed, _ in self.form.crossings
        )

    def image(self, crossed: frozenset[str]) -> frozenset[str]:
        return frozenset(s for d in crossed for s in self.mapping[d].symbols() if s in self.extents)

    def split(self) -> bool:
        """Splits one dim, if that removes divisions."""
        before = sum(self.divisions(self.extents, self.mapping))
        if not before:
            return False
        facts = self.facts(self.extents)
        for d, extent in self.extents.items():
            if self.whole(d):
                continue
            for c in self.divisors(d, facts):
                outer = extent.over(c)
                if outer is None or not facts.positive(c) or outer == 1 or c == 1:
                    continue
                high, low = self.fresh(), self.fresh()
                if not self.depends(d, {d: sym(high) * c + sym(low)}, {high: outer, low: c}):
                    continue
                if self.adopt({d: sym(high) * c + sym(low)}, d, {high: outer, low: c}, before):
                    return True
        return False

    def depends(self, d: str, change: Mapping[str, Expr], new: Mapping[str, Expr]) -> bool:
        """Whether what is reduced over ``d`` depends on all dims that take its place.  A sum over ``d`` of
        what depends on ``d mod c`` alone would have to count how often each point occurs.
        """
        facts = self.facts({**self.extents, **new})
        for _, crossed, sources in self.form.crossings:
            if d in self.image(crossed):
                left = [simplify(e.subs(self.mapping).subs(change), facts) for e in sources]
                if not new.keys() <= frozenset().union(*[e.symbols() for e in left]):
                    return False
        return True

    def divisors(self, d: str, facts: Facts) -> list[Expr]:
        """What the addresses divide ``d`` by, the smallest text first."""
        found: set[Expr] = set()
        for e in self.form.addresses:
            _collect(simplify(e.subs(self.mapping), facts), d, found)
        return sorted(
            (c for c in found if c.symbols().isdisjoint(self.extents)), key=lambda c: (len(str(c)), str(c))
        )

    def merge(self) -> bool:
        """Merges one pair of dims, if that adds no division."""
        before = sum(self.divisions(self.extents, self.mapping)) + 1
        # What is summed over one of them, or a factor of a product that has one of them, needs both.
        images = [self.image(crossed) for _, crossed, _ in self.form.crossings]
        images += [self.image(dims) for dims in self.form.factors]
        for a in self.extents:
            for b in self.extents:
                if a == b or self.extents[b].constant == 0 or self.whole(a) or self.whole(b):
                    continue
                if any((a in image) != (b in image) for image in images):
                    continue
                name = self.fresh()
                inner = self.extents[b]
                mapping = {a: sym(name).floordiv(inner), b: sym(name).mod(inner)}
                if self.adopt(mapping, a, {name: self.extents[a] * inner}, before):
                    return True
        return False

    def adopt(self, change: Mapping[str, Expr], place: str, new: Mapping[str, Expr], below: int) -> bool:
        """Replaces dims by others, put where ``place`` was, if the addresses then hold fewer than ``below``
        divisions.
        """
        extents: dict[str, Expr] = {}
        for d, e in self.extents.items():
            if d == place:
                extents.update(new)
            elif d not in change:
                extents[d] = e
        facts = self.facts(extents)
        mapping = {d: simplify(e.subs(change), facts) for d, e in self.mapping.items()}
        if any(found >= below for found in accumulate(self.divisions(extents, mapping))):
            return False
        self.extents, self.mapping = extents, mapping
        return True

    def apply(self, kernel: ir.Operation) -> None:
        """Rewrites a kernel of the form."""
        names = {d: sym(f"d{i}") for i, d in enumerate(self.extents)}
        extents = {f"d{i}": e for i, e in enumerate(self.extents.values())}
        mapping = {d: e.subs(names) for d, e in self.mapping.items()}
        if mapping == {d: sym(d) for d in mapping} and list(extents) == list(mapping):
            return
        facts = self._facts(extents, [str(names[d]) for d in self.image(self.form.rows)])
        known: dict[tuple[str, ir.Attribute], ir.Attribute] = {}

        def image(crossed: Sequence[str]) -> list[str]:
            found = {s for d in crossed for s in mapping[d].symbols()}
            return [d for d in extents if d in found]

        for op in dimmed(kernel):
            if "over" in op.attributes and op.name in IDENTITIES and not image(over(op)):
                for result, operand in zip(op.results, op.operands, strict=True):
                    result.replace_all_uses_with(operand)
                op.erase()
                continue
            rewrite_dims(op, lambda e: simplify(e.subs(mapping), facts), image, known)
        kernel.attributes["fuse.dims"] = dims_attribute(extents)
        forget_tiling(kernel)


def _divisions(e: Expr, dims: Mapping[str, Expr]) -> int:
    """Atoms of ``e``, nested ones too, that divide something with a dim in it."""
    count = 0
    for atom in e.atoms():
        if isinstance(atom, (FloorDiv, Mod)) and not (atom.num.symbols() | atom.den.symbols()).isdisjoint(
            dims
        ):
            count += 1 + _divisions(atom.num, dims)
    return count


def _collect(e: Expr, d: str, found: set[Expr]) -> None:
    for atom in e.atoms():
        if isinstance(atom, (FloorDiv, Mod)):
            if d in atom.num.symbols():
                found.add(atom.den)
            _collect(atom.num, d, found)
