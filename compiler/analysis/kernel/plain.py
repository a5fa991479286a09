"""Scalar kernels that do one thing at each element: copy it, or add two."""

from ...ir.defining import defining_op, is_true
from ...ir.dialects import fuse
from ...ir.kernel import kernel_dims, string, strings
from ...mlir import arith, func, ir

#: Changes of type around the arithmetic of one op of 16 bits: what is loaded is widened, what is stored
#: rounded.
FLOAT_CASTS = (arith.ExtFOp, arith.TruncFOp)
#: The types that hold all numbers of a type of floats, besides itself.
_WIDER = {
    "f8E4M3FN": ("f16", "bf16", "f32", "f64"),
    "f8E5M2": ("f16", "bf16", "f32", "f64"),
    "f16": ("f32", "f64"),
    "bf16": ("f32", "f64"),
    "f32": ("f64",),
    "f64": (),
}


def copied(kernel: ir.Operation) -> int | None:
    """The argument that a kernel copies, element by element; None where it does anything else, and where it
    makes numbers of another type of them, or rounds them on the way.
    """
    stored = _stored(kernel, arithmetic=0)
    return None if stored is None else _loaded(kernel, stored, stored.type)


def widened(kernel: ir.Operation) -> int | None:
    """The argument that a kernel copies, element by element, into a type that holds its elements."""
    stored = _stored(kernel, arithmetic=0)
    return None if stored is None else _loaded(kernel, stored)


def added(kernel: ir.Operation) -> tuple[int, int] | None:
    """The two arguments whose elements a kernel adds; None where it does anything else.  They may be widened
    first, and the sum is rounded once at most, when it is stored.
    """
    stored = _stored(kernel, arithmetic=1)
    if stored is None:
        return None
    rounding = defining_op(stored, arith.TruncFOp)
    total = defining_op(stored if rounding is None else rounding.operands[0], arith.AddFOp)
    if total is None:
        return None
    first, second = (_loaded(kernel, v) for v in total.operands)
    return None if first is None or second is None else (first, second)


def holds(wide: ir.Type, narrow: ir.Type) -> bool:
    """Whether each number of one type of floats is a number of another."""
    return wide == narrow or str(wide) in _WIDER.get(str(narrow), ())


def _stored(kernel: ir.Operation, arithmetic: int) -> ir.Value | None:
    """What a kernel stores at each point; None unless this is all that it does, with so many operations
    beside loads, constants and casts."""
    body = list(kernel.regions[0].blocks[0].operations)
    others = [
        op for op in body if not isinstance(op, (fuse.Load, arith.ConstantOp, func.ReturnOp, *FLOAT_CASTS))
    ]
    stores = [op for op in others if isinstance(op, fuse.Store)]
    if len(stores) != 1 or len(others) != 1 + arithmetic:
        return None
    [store] = stores
    if not is_plain(kernel, store) or string(store.attributes["mode"]) != "set":
        return None
    value = store.operands[1]
    return None if isinstance(value.owner, ir.Block) else value


def _loaded(kernel: ir.Operation, value: ir.Value, element: ir.Type | None = None) -> int | None:
    """The argument of which a value is the element at each point, in types on the way that hold it.
    ``element``: the type of its elements; None for any.
    """
    types = [value.type]
    while isinstance(value.owner, FLOAT_CASTS):
        value = value.owner.operands[0]
        types.append(value.type)
    load = defining_op(value, fuse.Load)
    if load is None or not is_plain(kernel, load) or not all(holds(t, value.type) for t in types):
        return None
    if element is not None and value.type != element:
        return None
    return ir.BlockArgument(load.operands[0]).arg_number


def is_plain(kernel: ir.Operation, access: ir.Operation) -> bool:
    """Whether each point of the kernel has an element of its own, in row-major order."""
    walked = [d for d in strings(access.attributes["at"]) if d != "0"]
    guard = access.operands[1 if isinstance(access, fuse.Load) else 2]
    return walked == list(kernel_dims(kernel)) and is_true(guard) and len(access.operands) == 3
