"""What tile code does beside computing.  Stores: plain ones, and atomic ones for modes in which several
points may write to one address.  Assertions that say the same are one, which comes last.

Triton lets all threads of a program meet behind an assertion of a tile: sixteen look-ups of one line met
sixteen times, each in front of its rows.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import field

from ..base.dataclass import dataclass
from ..ir.defining import is_true
from ..ir.dialects import fuse, tt
from ..ir.kernel import ASSERTS
from ..mlir import ir
from .tile_builder import Shape, TileBuilder, is_float, shape_of

_RELAXED, _GPU = tt.SEM["relaxed"], tt.SCOPE["gpu"]


def store_value(
    builder: TileBuilder,
    pointer: ir.Value,
    value: ir.Value,
    mask: ir.Value | None,
    mode: str,
    evict: str = "normal",
) -> None:
    """Writes ``value`` where ``mask`` is true.  ``mode``: set, add, min or max; ``evict`` as in
    ``TileBuilder.load``.  Raises ValueError where the hardware has no such atomic.
    """
    if mode == "set":
        builder.store(pointer, value, mask, evict)
        return
    value = builder.to(value, shape_of(pointer))
    mask = None if mask is None else builder.to(mask, shape_of(pointer))
    element = str(tt.element_of(value.type))
    if mode == "add" and element in ("f16", "bf16", "f32", "f64"):
        _atomic(builder, pointer, value, mask, "fadd")
    elif element in ("i32", "i64") and mode in ("add", "max", "min"):
        _atomic(builder, pointer, value, mask, mode)
    elif element in ("f32", "f64") and mode in ("max", "min"):
        _float_extreme(builder, pointer, value, mask, mode)
    else:
        raise ValueError(f"there is no atomic '{mode}' on {element}")


def _atomic(
    builder: TileBuilder, pointer: ir.Value, value: ir.Value, mask: ir.Value | None, what: str
) -> None:
    a = builder.attribute
    tt.AtomicRmw(pointer, value, mask, a(tt.ATOMIC[what]), a(_RELAXED), a(_GPU), value.type)


def _float_extreme(
    builder: TileBuilder, pointer: ir.Value, value: ir.Value, mask: ir.Value | None, mode: str
) -> None:
    """An atomic min or max of floats by integer atomics.  Floats without the sign bit are ordered as signed
    integers; floats with it are ordered in reverse, as unsigned integers.
    """
    assert is_float(tt.element_of(value.type))
    bits = ir.IntegerType.get_signless(32 if str(tt.element_of(value.type)) == "f32" else 64)
    raw = builder.cast("tt.bitcast", value, bits)
    address = builder.elementwise("tt.bitcast", [pointer], tt.Ptr.get(ir.TypeAttr.get(bits)))
    clear = builder.cmpi("sge", raw, builder.fill(0, raw))
    set_ = builder.cmpi("slt", raw, builder.fill(0, raw))
    _atomic(builder, address, raw, builder.both(mask, clear), mode)
    _atomic(builder, address, raw, builder.both(mask, set_), "umin" if mode == "max" else "umax")


#: Of a load and a store: operands in front of their indices, and which of them is the guard.
_GUARDS = {"fuse.load": (3, 1), "fuse.store": (3, 2)}


def message_of(op: ir.Operation) -> ir.Attribute:
    """What an assertion of a scalar kernel says."""
    return op.attributes["message" if isinstance(op, fuse.DeviceAssert) else "msg"]


@dataclass
class LastChecks:
    """The assertions of a kernel that say what others do, until its code ends."""

    builder: TileBuilder
    shared: frozenset[str]  #: messages of several assertions
    found: dict[tuple[str, Shape], list[tuple[ir.Location, ir.Value, dict[str, ir.Attribute]]]] = field(
        default_factory=dict
    )

    @staticmethod
    def of(ops: Sequence[ir.Operation], builder: TileBuilder) -> "LastChecks | None":
        """None where no two say the same, or some access at computed indices has no guard: it might read or
        write elsewhere before an assertion that comes last fails.
        """
        messages = Counter(str(message_of(op)) for op in ops if op.name in ASSERTS)
        shared = frozenset(message for message, count in messages.items() if count > 1)
        looked_up = [op for op in ops if op.name in _GUARDS and len(op.operands) > _GUARDS[op.name][0]]
        if not shared or any(is_true(op.operands[_GUARDS[op.name][1]]) for op in looked_up):
            return None
        return LastChecks(builder, shared)

    def waits(self, op: ir.Operation) -> bool:
        """Whether an assertion comes last."""
        return str(message_of(op)) in self.shared

    def add(self, condition: ir.Value, attributes: dict[str, ir.Attribute]) -> None:
        """Asserts a condition at the end.  attributes: of ``tt.assert``."""
        key = (str(sorted((name, str(value)) for name, value in attributes.items())), shape_of(condition))
        self.found.setdefault(key, []).append((ir.Location.current, condition, attributes))

    def emit(self) -> None:
        """The end of the code."""
        for (location, condition, attributes), *others in self.found.values():
            with location:
                for _, other, _ in others:
                    condition = self.builder.elementwise("arith.andi", [condition, other])
                self.builder.create("tt.assert", [], [condition], attributes)
        self.found.clear()
