"""What is moved around a product: with it in one kernel, and with it as a call of its own."""

import math
from collections.abc import Mapping
from dataclasses import field

from ...base.dataclass import dataclass
from ...index import parse, sym
from ...ir.defining import defining_op
from ...ir.dialects import fuse
from ...ir.kernel import REDUCTIONS, Kernel, is_kernel, is_tiled, kernel_ties, strings
from ...ir.layout import TensorSpec
from ...ir.sizes import estimate, stored_bytes
from ...ir.storage import callee_name
from ...ir.views import root_of, users_of
from ...mlir import ir
from ..kernel.concatenation import concatenation
from ..kernel.info import BodyOps, KernelInfo
from ..kernel.windows import read_along_windows
from .packed import MOST_ENTRIES, MOST_PARTS
from .product import Product
from .tiles import LARGEST_BLOCK, MOST_STEPS_OF_WINDOWS

_FACTORS = ("left", "right")
#: Values of a byte: a table of so many is looked up for a scale, where weights take less than a byte.
_BYTES = 256
#: What weights and zero points are.
_INTEGERS = ("i8", "ui8", "i16", "ui16", "i32", "ui32", "i64")
#: Issue slots of casts.
_CASTS = 2


@dataclass(frozen=True)
class Moved:
    """``fused_bytes``: by one kernel of the product and what is around it.

    ``call_bytes``, ``call_launches``: where the product is a call, and what makes each operand or reads the
    result is a kernel of its own.  ``own_bytes``: of them, by the call, with the copies that it makes of
    factors first; ``front_bytes``, in front of it.
    ``widened``: whether pointwise kernels make a factor from fewer bytes, such as weights of 8 bits.
    ``slots``: by ``left`` and ``right``, issue slots of what they compute of each element of a factor.
    ``reduced``: whether more than casts lies between what another kernel makes and a factor.  ``border``:
    tensors that are concatenated to a factor have multiples of so many elements, 0 where none are; 1 where a
    kernel makes one of them, and so selects values instead of addresses.  ``behind``: what is computed of the
    result.  ``packed``: "numbers" where a factor is made of bytes that hold one to four numbers each, or of
    words of up to eight, and of less beside; "moved" where an integer that is loaded is subtracted from
    these, "looked-up" where they are places in a table; else "".  ``across``: whether its rows lie in memory
    across these numbers (GPTQ).  ``group_bytes``: of the neighbours in a row of them that share a scale; 0
    where all of a row do.  ``windows``: "left" or "right" where that factor is read along overlapping windows
    (``kernel/windows.py``) by the kernel that makes it, else "".
    """

    fused_bytes: int
    call_bytes: int
    call_launches: int
    own_bytes: int
    widened: bool = False
    slots: Mapping[str, int] = field(default_factory=dict)
    front_bytes: int = 0
    reduced: bool = False
    border: int = 0
    behind: "Behind | None" = None
    packed: str = ""
    across: bool = False
    group_bytes: int = 0
    windows: str = ""


@dataclass(frozen=True)
class Behind:
    """The pointwise kernels that read a result, one after the other.

    ``slots``: issue slots of each element.  ``beside``: bytes of further tensors that they read, in units of
    the result's.  ``absorbed``: whether another kernel, such as a reduction, reads what they make, so that
    they are part of it where the product is a call.  ``shared``: whether a call of the library reads what
    they make, or it leaves the graph: it is stored in any case.  ``stored``: whether the product is, too.
    """

    slots: int
    beside: int
    absorbed: bool
    shared: bool
    stored: bool


@dataclass
class Surroundings:
    """Where the values of ``@main`` come from and go to.

    This class is about calls: it takes for granted that a kernel of the product is one with the pointwise
    kernels that make its operands for nothing else, and with those that read its result.

    ``functions`` may grow, but those that it has must not change: what they do is remembered by name.
    """

    functions: Mapping[str, ir.Operation]
    hints: Mapping[str, int]
    _bodies: dict[str, BodyOps] = field(default_factory=dict, init=False)

    def of_group(self, group: ir.Attribute | None) -> "GroupSurroundings":
        """The same about the kernel of a group.  What kernels do is remembered for all groups."""
        found = GroupSurroundings(self.functions, self.hints, group)
        found._bodies = self._bodies
        return found

    def joins(self, op: ir.Operation) -> bool:
        """Whether ``op`` calls a kernel that is one with a product whose result it reads."""
        return self._is_pointwise(op)

    def maker(self, value: ir.Value) -> ir.Operation | None:
        """The call of a kernel that makes ``value`` and is one with a product that reads it: a pointwise
        kernel with no other reader, of a view either, unless it is computed behind a product that is a
        kernel; or one that reads nothing and costs little (``duplicate-cheap``).
        """
        root = root_of(value)
        if isinstance(root.owner, ir.Block) or not self._is_pointwise(root.owner):
            return None
        made = root.owner
        read = self.read_by(made)
        alone = len(list(users_of(root))) == 1 or not (read or self.slots(made) > _CASTS)
        return made if alone and not any(map(self._of_product, read)) else None

    def absorbs(self, op: ir.Operation) -> bool:
        """Whether ``op`` calls a kernel that what is computed behind a product is part of, where the product
        is a call.  What a product reads is stored."""
        return self._is_kernel(op) and not self.multiplies(op)

    def keeps(self, value: ir.Value) -> bool:
        """Whether a value that is computed for the product is stored as well."""
        return False

    def cost(self, product: Product) -> Moved:
        """Of a product."""
        result = self._size(product.specs["result"])
        fused, call, launches, own, widened = result, result, 1, result, False
        front, reduced, border, slots, packed, across = 0, False, 0, dict[str, int](), "", False
        group_bytes, windows = 0, ""
        copied = product.copied
        for operand, spec in product.reads:
            size, (made, sources) = self._size(spec), self.made_of(operand)
            again = (operand, spec) in copied
            called = size * (3 if again else 1)
            own += called
            call += called
            launches += again
            made_slots = sum(map(self.slots, made))
            roles = [r for r in _FACTORS if product.values[r] == operand]
            packs = self._packed(operand, made, sources) if made and roles else ""
            if made and not packs and any(map(self._is_reduced, sources)):  # the reduction makes the operand
                reduced |= made_slots > _CASTS
                made = []
            if not made:
                fused += self.bytes_of(root_of(operand))
                continue
            read = sum(map(self.bytes_of, sources))
            fused += read + (size if self.keeps(root_of(operand)) else 0)
            front += read + size
            if roles:
                border = math.gcd(border, *(self._border(m, product, operand) for m in made))
            slots.update(dict.fromkeys(roles, made_slots))
            windows = next((r for r in roles if self._is_along_windows(product, r)), windows)
            launches += 1
            widened |= bool(roles) and read < size
            if packs:
                packed, across = packs, self._is_across(operand, sources)
                group_bytes = self._group_bytes(operand, sources)
        readers = [self.joins(user) for user in users_of(product.result)]
        behind = self._behind(product.result, not all(readers)) if any(readers) else None
        if behind is not None:
            call += behind.beside * result
            if not behind.absorbed:
                call += 2 * result
                launches += 1
            elif behind.shared and not behind.stored:
                call += result
            if behind.stored:
                fused += result
        return Moved(
            fused,
            call + front,
            launches,
            own,
            widened,
            slots,
            front,
            reduced,
            border,
            behind,
            packed,
            across,
            group_bytes,
            windows,
        )

    def _packed(self, factor: ir.Value, made: list[ir.Operation], sources: list[ir.Value]) -> str:
        """How ``made`` compute a factor of bytes or words, as ``Moved`` says."""
        if not sources:
            return ""
        largest = max(sources, key=self.bytes_of)
        beside = sum(map(self.bytes_of, sources)) - self.bytes_of(largest)
        numbers = self.elements_of(factor) / max(1, self.elements_of(largest))
        most = MOST_PARTS.get(TensorSpec.of(largest.type).element.removeprefix("u"), 0)
        fits = 1 <= numbers <= most and 2 * beside <= self.bytes_of(largest)
        entries = [self.elements_of(table) for call in made for table in self._tables(call)]
        if not fits or any(n > MOST_ENTRIES and (n > _BYTES or numbers <= 1) for n in entries):
            return ""
        integers = sum(TensorSpec.of(v.type).element in _INTEGERS for v in sources)
        looked_up = any(n <= MOST_ENTRIES for n in entries)
        return "looked-up" if looked_up else "moved" if integers > 1 else "numbers"

    def _group_bytes(self, factor: ir.Value, sources: list[ir.Value]) -> int:
        """Of a packed factor, as ``Moved`` says."""
        weights, *beside = sorted(sources, key=self.bytes_of, reverse=True)
        scales = max(map(self.elements_of, beside), default=0)
        rows = max(estimate(size, self.hints) for size in TensorSpec.of(root_of(factor).type).sizes)
        return self.bytes_of(weights) // scales if scales > rows else 0

    def _tables(self, call: ir.Operation) -> list[ir.Value]:
        """What the kernel of a call looks up."""
        body = self._body(call)
        return [call.operands[body.loads[number]] for number in sorted(body.lookups)]

    def _is_across(self, factor: ir.Value, sources: list[ir.Value]) -> bool:
        """Whether the words that a factor is made of have a word for each of its elements that are neighbours
        in memory.
        """
        words = TensorSpec.of(max(sources, key=self.bytes_of).type)
        return words.element == "i32" and words.sizes[-1] == TensorSpec.of(root_of(factor).type).sizes[-1]

    def _is_along_windows(self, product: Product, role: str) -> bool:
        """Whether the kernel that makes a factor reads overlapping windows, in which the product sums."""
        operand, summed = product.values[role], product.size("summed").constant
        if summed is None or summed > MOST_STEPS_OF_WINDOWS:
            return False
        maker, view = self.maker(operand), defining_op(operand, fuse.View)
        source = operand if view is None else view.operands[0]
        if maker is None or [source] != list(maker.results):
            return False
        kernel, dims = Kernel.of(self.functions[callee_name(maker)]), self._dims_of(product, role)
        if len(kernel.stores) != 1:
            return False
        places = [sym(f"v{n}") for n in range(len(dims))]
        seen = places if view is None else [parse(c) for c in strings(view.attributes["map"])]
        by_dim = {
            name: dims[places.index(place)]
            for stored, place in zip(kernel.stores[0].coords, seen, strict=False)
            for name in stored.symbols()
            if place in places
        }
        steps = {name for name, d in by_dim.items() if d in product.summed}
        return read_along_windows(
            kernel, {n for n, d in by_dim.items() if d in product.dims["result"]}, steps
        )

    @staticmethod
    def _dims_of(product: Product, role: str) -> str:
        """The dims of a factor in the order in which its value has them: behind fusion, views are part of the
        product's kernel, and sizes tell what they exchange.  A blank where they do not.
        """
        sizes, found = TensorSpec.of(product.values[role].type).sizes, product.specs[role].sizes
        if sizes == found:
            return product.dims[role]
        by_size = {
            size: dim for size, dim in zip(found, product.dims[role], strict=True) if found.count(size) == 1
        }
        return "".join(by_size.get(size, " ") for size in sizes)

    def made_of(self, value: ir.Value) -> tuple[list[ir.Operation], list[ir.Value]]:
        """The calls whose kernels compute ``value`` in the kernel of a product that reads it, and what is
        read of other values."""
        calls: list[ir.Operation] = []
        sources: dict[ir.Value, None] = {}
        pending = [value]
        while pending:
            read = pending.pop()
            made = self.maker(read)
            if made is None:
                sources[root_of(read)] = None
            elif made not in calls:
                calls.append(made)
                pending += self.read_by(made)
        return calls, list(sources)

    def _border(self, call: ir.Operation, product: Product, operand: ir.Value) -> int:
        """Of what a call concatenates, as in ``Moved``; 0 where it concatenates nothing."""
        found = concatenation(self.functions[callee_name(call)])
        if found is None:
            return 0
        parts = [call.operands[n] for n in found.arguments]
        if any(self.maker(part) is not None for part in parts):
            return 1
        sizes = [TensorSpec.of(part.type).sizes[found.dim].constant or 1 for part in parts[:-1]]
        letters = {
            product.dims[r][found.dim : found.dim + 1] for r in _FACTORS if product.values[r] == operand
        }
        along_sum = operand == call.results[0] and letters <= set(product.summed)
        return math.gcd(*sizes) if along_sum or not any(n % LARGEST_BLOCK for n in sizes) else 1

    def _behind(self, result: ir.Value, stored: bool) -> Behind:
        value, slots, beside = result, 0, 0
        while True:
            users = list(users_of(value))
            readers = [op for op in users if self.joins(op)]
            if not readers or (value != result and len(users) > 1):
                break
            slots += sum(map(self.slots, readers))
            inside = {root_of(value), *(made for op in readers for made in op.results)}
            others = {root_of(v): v for op in readers for v in self.read_by(op) if root_of(v) not in inside}
            beside += sum(self.bytes_of(v) // max(1, self.bytes_of(result)) for v in others.values())
            if len(readers) > 1 or len(readers[0].results) != 1:  # what reads their results is not followed
                break
            value = readers[0].results[0]
        own = [self._is_kernel(op) and not self.multiplies(op) for op in users]
        absorbed = value != result and any(map(self.absorbs, users))
        return Behind(slots, beside, absorbed, not all(own), stored)

    def _is_reduced(self, value: ir.Value) -> bool:
        """Whether a kernel that is not one with the product makes a value."""
        made = root_of(value).owner
        return not isinstance(made, ir.Block) and self._is_kernel(made)

    def _of_product(self, value: ir.Value) -> bool:
        """Whether a kernel with a product makes a value, or pointwise kernels behind it do."""
        root = root_of(value)
        if isinstance(root.owner, ir.Block) or not self._is_kernel(root.owner):
            return False
        made = root.owner
        if self.multiplies(made):
            return True
        alone = self._is_pointwise(made) and len(list(users_of(root))) == 1
        return alone and any(map(self._of_product, self.read_by(made)))

    def _is_kernel(self, op: ir.Operation) -> bool:
        return op.name == "func.call" and is_kernel(self.functions[callee_name(op)])

    def _is_pointwise(self, op: ir.Operation) -> bool:
        """Whether an op calls a scalar kernel that reduces nothing."""
        scalar = self._is_kernel(op) and not is_tiled(self.functions[callee_name(op)])
        return scalar and not self.reduces(op) and "fuse.scan" not in self._body(op).names

    def reduces(self, op: ir.Operation) -> bool:
        """Whether the kernel that an op calls reduces something."""
        return any(name in REDUCTIONS for name in self._body(op).names)

    def multiplies(self, op: ir.Operation) -> bool:
        """Whether the kernel that an op calls has a product."""
        return "fuse.dot" in self._body(op).names

    def is_scalar(self, value: ir.Value) -> bool:
        """Whether a kernel makes a value that is not tile code yet."""
        made = value.owner
        if isinstance(made, ir.Block) or not self._is_kernel(made):
            return False
        return not is_tiled(self.functions[callee_name(made)])

    def slots(self, call: ir.Operation) -> int:
        """Issue slots of the kernel that a call runs, for each of its points."""
        return self._body(call).slots

    def _body(self, call: ir.Operation) -> BodyOps:
        """What the kernel that a call runs does."""
        name = callee_name(call)
        if name not in self._bodies:
            self._bodies[name] = KernelInfo.of(self.functions[name]).body
        return self._bodies[name]

    def read_by(self, call: ir.Operation) -> list[ir.Value]:
        """The tensors that the call of a kernel reads."""
        ties = set(kernel_ties(self.functions[callee_name(call)]))
        return [
            v
            for n, v in enumerate(call.operands)
            if n not in ties and isinstance(v.type, ir.RankedTensorType)
        ]

    def elements_of(self, value: ir.Value) -> int:
        """Of a tensor, with every size at its hint."""
        return self.bytes_of(value) // TensorSpec.of(value.type).element_bytes

    def bytes_of(self, value: ir.Value) -> int:
        """Of a tensor, with every size at its hint."""
        return self._size(TensorSpec.of(value.type))

    def _size(self, spec: TensorSpec) -> int:
        return stored_bytes(spec, self.hints)


@dataclass
class GroupSurroundings(Surroundings):
    """About the kernel of a product that ``fuse.group`` makes one with others: ``group``, None for none.

    All that the group holds is one with the product, reductions too.  Another product of the group, and what
    is computed behind it, counts as read from memory on both sides.
    """

    group: ir.Attribute | None
    _products: dict[ir.Value, bool] = field(default_factory=dict, init=False)

    def joins(self, op: ir.Operation) -> bool:
        mine = self.group
        return mine is not None and "fuse.group" in op.attributes and op.attributes["fuse.group"] == mine

    def maker(self, value: ir.Value) -> ir.Operation | None:
        root = root_of(value)
        if isinstance(root.owner, ir.Block) or not self.joins(root.owner):
            return None
        made = root.owner
        return None if self.multiplies(made) or any(map(self._of_product, self.read_by(made))) else made

    def _of_product(self, value: ir.Value) -> bool:
        root = root_of(value)
        if root not in self._products:
            made = None if isinstance(root.owner, ir.Block) else root.owner
            held = made is not None and self.joins(made)
            self._products[root] = held and (
                self.multiplies(made) or any(map(self._of_product, self.read_by(made)))
            )
        return self._products[root]

    def absorbs(self, op: ir.Operation) -> bool:
        return super().absorbs(op) and not self.joins(op)

    def keeps(self, value: ir.Value) -> bool:
        return not all(map(self.joins, users_of(value)))
