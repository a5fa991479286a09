"""What is moved around a product: with it in one kernel, and with it as a call of its own."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from ...ir.kernel import REDUCTIONS, is_kernel, is_tiled, kernel_ties
from ...ir.layout import TensorSpec
from ...ir.sizes import hints_of, stored_bytes
from ...ir.storage import callee_name
from ...mlir import ir
from .product import Product
from .slots import slots_of

_FACTORS = ("left", "right")
#: Issue slots of casts.
_CASTS = 2


@dataclass(frozen=True)
class Moved:
    """``fused_bytes``: by one kernel of the product and what is around it.

    ``call_bytes``, ``call_launches``: where the product is a call, and what makes each operand or reads the
    result is a kernel of its own.  ``own_bytes``: of them, by the call; ``front_bytes``, in front of it.
    ``widened``: whether pointwise kernels make a factor from fewer bytes, such as weights of 8 bits.
    ``slots``: by ``left`` and ``right``, issue slots of what they compute of each element of a factor.
    ``reduced``: whether more than casts lies between a reduction and a factor.  ``behind``: what is computed
    of the result.
    """

    fused_bytes: int
    call_bytes: int
    call_launches: int
    own_bytes: int
    widened: bool = False
    slots: Mapping[str, int] = field(default_factory=dict)
    front_bytes: int = 0
    reduced: bool = False
    behind: "Behind | None" = None


@dataclass(frozen=True)
class Behind:
    """The pointwise kernels that read a result, one after the other.

    ``slots``: issue slots of each element.  ``beside``: bytes of further tensors that they read, in units of
    the result's.  ``absorbed``: whether another kernel, such as a reduction, reads what they make, so that
    they are part of it where the product is a call.  ``shared``: whether a call of the library reads what
    they make, or it leaves the graph: it is stored in any case.  ``kept``: whether the product is, too.
    """

    slots: int
    beside: int
    absorbed: bool
    shared: bool
    kept: bool


@dataclass
class Surroundings:
    """Where the values of ``@main`` come from and go to."""

    functions: Mapping[str, ir.Operation]
    hints: Mapping[str, int]

    @staticmethod
    def of(main: ir.Operation, functions: Mapping[str, ir.Operation]) -> "Surroundings":
        return Surroundings(functions, hints_of(main))

    def cost(self, product: Product) -> Moved:
        """Of a product.  Its kernel computes an operand that pointwise kernels make for nothing else."""
        result = self._bytes(product.result)
        fused, call, launches, own, widened = result, result, 1, result, False
        front, reduced, slots = 0, False, dict[str, int]()
        factors = [product.values[role] for role in _FACTORS]
        for operand in product.operands:
            sources: dict[ir.Value, None] = {}
            made = self._sources(operand, sources)
            if made and any(map(self._is_reduced, sources)):
                reduced |= self._made_slots(operand) > _CASTS
                made, sources = False, {_root(operand): None}  # the reduction makes the operand
            read = sum(map(self._bytes, sources))
            fused += read
            own += self._bytes(operand)
            call += self._bytes(operand)
            if made:
                front += read + self._bytes(operand)
                slots.update({r: self._made_slots(operand) for r in _FACTORS if product.values[r] == operand})
            launches += made
            widened |= operand in factors and made and read < self._bytes(operand)
        readers = [self._reads_pointwise(use.owner.operation) for use in product.result.uses]
        behind = self._behind(product.result, not all(readers)) if any(readers) else None
        if behind is not None:
            call += behind.beside * result
            if not behind.absorbed:
                call += 2 * result
                launches += 1
            elif behind.shared and not behind.kept:
                call += result
            if behind.kept:
                fused += result
        return Moved(fused, call + front, launches, own, widened, slots, front, reduced, behind)

    def _behind(self, result: ir.Value, kept: bool) -> Behind:
        value, slots, beside = result, 0, 0
        while True:
            users = list(self._users(value))
            readers = [(op, callee) for op in users if (callee := self._pointwise(op)) is not None]
            if len(readers) != 1 or len(readers[0][0].results) != 1 or (value != result and len(users) > 1):
                break
            op, callee = readers[0]
            slots += self._slots(callee)
            beside += sum(
                self._bytes(v) // max(1, self._bytes(result))
                for v in _read(op, callee)
                if _root(v) != _root(value)
            )
            value = op.results[0]
        own = [self._is_kernel(op) for op in users]
        return Behind(slots, beside, value != result and any(own), not all(own), kept)

    def _users(self, value: ir.Value) -> Iterator[ir.Operation]:
        """The operations that read a value, or a view of it."""
        for use in value.uses:
            op = use.owner.operation
            if op.name == "fuse.view":
                yield from self._users(op.results[0])
            else:
                yield op

    def _is_kernel(self, op: ir.Operation) -> bool:
        return op.name == "func.call" and is_kernel(self.functions[callee_name(op)])

    def _is_reduced(self, value: ir.Value) -> bool:
        """Whether a kernel that is not pointwise makes a value."""
        made = _root(value).owner
        return not isinstance(made, ir.Block) and self._is_kernel(made.operation)

    def _made_slots(self, value: ir.Value) -> int:
        """Issue slots of the pointwise kernels that make each element of a value for nothing else."""
        made = self._in_front(value)
        if made is None:
            return 0
        callee = self.functions[callee_name(made)]
        return self._slots(callee) + sum(map(self._made_slots, _read(made, callee)))

    def _in_front(self, value: ir.Value) -> ir.Operation | None:
        """The call of a pointwise kernel that makes a value for one reader, unless it is computed behind a
        product that is a kernel.
        """
        made = _root(value).owner
        if isinstance(made, ir.Block) or len(list(_root(value).uses)) != 1:
            return None
        callee = self._pointwise(made.operation)
        if callee is None or any(self._of_product(v) for v in _read(made.operation, callee)):
            return None
        return made.operation

    def _of_product(self, value: ir.Value) -> bool:
        """Whether a kernel with a product makes a value, or pointwise kernels behind it do."""
        made = _root(value).owner
        if isinstance(made, ir.Block) or not self._is_kernel(made.operation):
            return False
        callee = self.functions[callee_name(made.operation)]
        body = callee.regions[0].blocks
        if len(body) and any(op.operation.name == "fuse.dot" for op in body[0].operations):
            return True
        alone = self._pointwise(made.operation) is not None and len(list(_root(value).uses)) == 1
        return alone and any(map(self._of_product, _read(made.operation, callee)))

    @staticmethod
    def _slots(kernel: ir.Operation) -> int:
        return sum(slots_of(op.operation) for op in kernel.regions[0].blocks[0].operations)

    def _sources(self, value: ir.Value, found: dict[ir.Value, None]) -> bool:
        """Adds what a kernel reads that computes ``value``; whether pointwise kernels make the value."""
        made = self._in_front(value)
        if made is None:
            found[_root(value)] = None
            return False
        for operand in _read(made, self.functions[callee_name(made)]):
            self._sources(operand, found)
        return True

    def _pointwise(self, op: ir.Operation) -> ir.Operation | None:
        """The scalar kernel that an op calls, if it reduces nothing."""
        if op.name != "func.call":
            return None
        callee = self.functions[callee_name(op)]
        if not is_kernel(callee) or is_tiled(callee):
            return None
        body = callee.regions[0].blocks[0].operations
        crossing = any(o.operation.name in REDUCTIONS or o.operation.name == "fuse.scan" for o in body)
        return None if crossing else callee

    def _reads_pointwise(self, user: ir.Operation) -> bool:
        if user.name == "fuse.view":
            return any(self._reads_pointwise(use.owner.operation) for use in user.results[0].uses)
        return self._pointwise(user) is not None

    def _bytes(self, value: ir.Value) -> int:
        return stored_bytes(TensorSpec.of(value.type), self.hints)


def _root(value: ir.Value) -> ir.Value:
    """What a view is of."""
    while not isinstance(value.owner, ir.Block) and value.owner.operation.name == "fuse.view":
        value = value.owner.operation.operands[0]
    return value


def _read(call: ir.Operation, callee: ir.Operation) -> list[ir.Value]:
    """The tensors that the call of a kernel reads."""
    ties = set(kernel_ties(callee))
    return [
        v for n, v in enumerate(call.operands) if n not in ties and isinstance(v.type, ir.RankedTensorType)
    ]
