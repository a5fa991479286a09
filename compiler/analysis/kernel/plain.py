"""Scalar kernels that do one thing at each element: copy it, or add two."""

from ...ir.defining import is_true
from ...ir.kernel import kernel_dims, string, strings
from ...mlir import ir

#: Changes of type around the arithmetic of one op of 16 bits: what is loaded is widened, what is stored
#: rounded.
FLOAT_CASTS = ("arith.extf", "arith.truncf")


def copied(kernel: ir.Operation) -> int | None:
    """The argument that a kernel copies, element by element; None where it does anything else."""
    stored = _stored(kernel, arithmetic=0)
    return None if stored is None else _loaded(kernel, stored)


def added(kernel: ir.Operation) -> tuple[int, int] | None:
    """The two arguments whose elements a kernel adds; None where it does anything else."""
    total = _stored(kernel, arithmetic=1)
    if total is None or total.owner.operation.name != "arith.addf":
        return None
    first, second = (_loaded(kernel, _behind_casts(v)) for v in total.owner.operation.operands)
    return None if first is None or second is None else (first, second)


def _stored(kernel: ir.Operation, arithmetic: int) -> ir.Value | None:
    """What a kernel stores at each point, before it is rounded; None unless this is all that it does, with so
    many operations beside loads, constants and casts."""
    body = [op.operation for op in kernel.regions[0].blocks[0].operations]
    others = [
        op for op in body if op.name not in ("fuse.load", "arith.constant", "func.return", *FLOAT_CASTS)
    ]
    stores = [op for op in others if op.name == "fuse.store"]
    if len(stores) != 1 or len(others) != 1 + arithmetic:
        return None
    [store] = stores
    if not is_plain(kernel, store) or string(store.attributes["mode"]) != "set":
        return None
    value = _behind_casts(store.operands[1])
    return None if isinstance(value.owner, ir.Block) else value


def _behind_casts(value: ir.Value) -> ir.Value:
    while not isinstance(value.owner, ir.Block) and value.owner.operation.name in FLOAT_CASTS:
        value = value.owner.operation.operands[0]
    return value


def _loaded(kernel: ir.Operation, value: ir.Value) -> int | None:
    """The argument of which a value is the element at each point."""
    if isinstance(value.owner, ir.Block) or value.owner.operation.name != "fuse.load":
        return None
    load = value.owner.operation
    return ir.BlockArgument(load.operands[0]).arg_number if is_plain(kernel, load) else None


def is_plain(kernel: ir.Operation, access: ir.Operation) -> bool:
    """Whether each point of the kernel has an element of its own, in row-major order."""
    walked = [d for d in strings(access.attributes["at"]) if d != "0"]
    guard = access.operands[1 if access.name == "fuse.load" else 2]
    return walked == list(kernel_dims(kernel)) and is_true(guard) and len(access.operands) == 3
