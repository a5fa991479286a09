"""Stores: plain ones, and atomic ones for modes in which several points may write to one address."""

from ..ir.dialects import tt
from ..mlir import ir
from .tile_builder import TileBuilder, is_float, shape_of

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
