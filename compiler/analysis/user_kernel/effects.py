"""What a user's kernel does to memory and beside it.

Data flow: each pointer argument is followed from use to use through arithmetic on addresses, casts, selects,
loops and branches (``flow.py``), to the loads, stores, atomics and descriptors that access it.  A value that
is visited once for an argument is not visited again, which makes loops a fixed point.  Addresses that come
from elsewhere, of integers or of memory, are *unknown memory*: they are followed in the same way, and what is
done to them may be done to every argument.
"""

from collections.abc import Iterator
from dataclasses import field

from ...base.dataclass import dataclass
from ...base.pointer_effects import UNKNOWN, PointerEffects
from ...ir.dialects.tt_types import Descriptor, pointee_of
from ...mlir import ir
from .flow import Flow, has_memory
from .op_kinds import ASSERTS, ATOMIC, FOREIGN, PRINTS, READING, is_known, touches_memory


@dataclass(frozen=True)
class KernelEffects:
    """What a kernel does.

    arguments: for each argument of its function; None for what is no pointer.  asserts, prints: it does.
    elsewhere: what it does to memory that is not known to be an argument's.  why: what makes an argument
    unknown, one phrase; None where none is.
    """

    arguments: tuple[PointerEffects | None, ...]
    asserts: bool = False
    prints: bool = False
    elsewhere: PointerEffects = field(default_factory=PointerEffects)
    why: str | None = None

    @property
    def has_effect(self) -> bool:
        """Whether the kernel does more than read and write its arguments: it must run though nobody reads
        them.
        """
        return self.asserts or self.prints or self.elsewhere.written


def pointer_effects(func: ir.Operation) -> list[PointerEffects | None]:
    """For each argument of a kernel what is done to its memory; None for what is no pointer.  ``func``: a
    ``tt.func``, or a ``func.func`` of tile code, whose tensors are read through ``fuse.base``.
    """
    return list(kernel_effects(func).arguments)


def kernel_effects(func: ir.Operation) -> KernelEffects:
    """What the kernel ``func`` does."""
    func = func.operation
    arguments = list(func.regions[0].blocks[0].arguments)
    places = [n for n, argument in enumerate(arguments) if has_memory(argument.type)]
    ops = list(operations(func))
    names = {op.name for op in ops}
    strange = next((op for op in ops if not is_known(op.name) and not _is_pure(op)), None)
    asserts, prints = ASSERTS in names, any(name.startswith(PRINTS) for name in names)
    if strange is not None:
        found = [UNKNOWN if n in places else None for n in range(len(arguments))]
        why = f"what '{strange.name}' does is not known"
        return KernelEffects(tuple(found), asserts, prints, UNKNOWN, why)

    seen: set[ir.Value] = set()
    of_places: dict[int, PointerEffects] = {}
    for n in places:
        flow = Flow()
        of_places[n] = _effects(flow, arguments[n])
        seen |= flow.values
    elsewhere = PointerEffects()
    flow = Flow()
    for value in _strangers(ops, seen):
        elsewhere |= _effects(flow, value)
    reason = None
    if any(effects.unknown for effects in of_places.values()):
        reason = "an address is given to text that is not analysed"
    if elsewhere.written or elsewhere.read:
        reason = "it accesses addresses that it loads or computes"
        met = UNKNOWN if elsewhere.written else PointerEffects(read=True)
        of_places = {n: effects | met for n, effects in of_places.items()}
    found = [of_places.get(n) for n in range(len(arguments))]
    return KernelEffects(tuple(found), asserts, prints, elsewhere, reason)


def operations(func: ir.Operation) -> Iterator[ir.Operation]:
    """All operations inside ``func``, each before those inside it."""
    for region in func.regions:
        for block in region.blocks:
            for op in block.operations:
                yield op.operation
                yield from operations(op.operation)


def _is_pure(op: ir.Operation) -> bool:
    """Whether foreign text does nothing but compute, as it says and as far as one can see."""
    if op.name not in FOREIGN or "pure" not in op.attributes:
        return False
    text = ir.StringAttr(op.attributes["asm_string"]).value if "asm_string" in op.attributes else ""
    return ir.BoolAttr(op.attributes["pure"]).value and not touches_memory(text)


def _effects(flow: Flow, start: ir.Value) -> PointerEffects:
    """What is done to the memory that the address ``start`` is in."""
    found = PointerEffects()
    for op, operand in flow.uses(start):
        name = op.name
        if name in FOREIGN:
            found |= UNKNOWN
        elif operand != 0:  # a load may give an address where its mask is false, and does not access it
            found |= PointerEffects(escapes=name not in READING)
        elif name in READING:
            found |= PointerEffects(read=True)
        elif name in ATOMIC:
            found |= PointerEffects(read=True, written=True, atomic=True)
        else:
            found |= PointerEffects(written=True)
    return found


def _strangers(ops: list[ir.Operation], seen: set[ir.Value]) -> Iterator[ir.Value]:
    """The addresses that no argument is in: loaded ones, and those of integers."""
    for op in ops:
        for result in op.results:
            address = pointee_of(result.type) is not None or isinstance(result.type, Descriptor)
            if address and (op.name in READING or op.name in ATOMIC or result not in seen):
                yield result
