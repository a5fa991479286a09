"""Factors of products whose rows are scaled, as a norm scales them: ``sum(s[m] * x[m, k] * w[k, n])`` over k
is ``s[m] * sum(x[m, k] * w[k, n])``."""

from collections.abc import Mapping

from ...base.dataclass import dataclass
from ...ir.dialects import fuse
from ...ir.kernel import is_kernel, is_tiled, kernel_dims, string, strings
from ...ir.layout import TensorSpec
from ...ir.storage import callee_name
from ...mlir import arith, func, ir
from ..kernel.plain import FLOAT_CASTS, is_plain, widened


@dataclass(frozen=True)
class ScaledRows:
    """A value is ``scale * factor * columns[0] * ..`` but for roundings.

    factor:  has the elements of the value in the same order.
    scale:   float32; one element for each row of the last dim of what it scales.
    columns: one element for each place in a row.
    """

    factor: ir.Value
    scale: ir.Value
    columns: tuple[ir.Value, ...]


def scaled_rows(value: ir.Value, functions: Mapping[str, ir.Operation]) -> ScaledRows | None:
    """Read of what pointwise kernels make a value, which nothing reads but one operation; None where they do
    not scale its rows once."""
    scales: list[ir.Value] = []
    columns: list[ir.Value] = []
    width = TensorSpec.of(value.type).sizes[-1]
    while len(list(value.uses)) == 1 or scales:
        kernel = _maker(value, functions)
        if kernel is None:
            break
        call = value.owner
        if isinstance(call, fuse.View):
            seen, source = TensorSpec.of(value.type), TensorSpec.of(call.operands[0].type)
            if not (seen.is_contiguous and source.is_contiguous and source.sizes[-1] == width):
                break
            value = call.operands[0]
            continue
        if scales:  # beside the scale, another reader may be what it is computed by
            number = widened(kernel)
            if number is None:
                break
            value = call.operands[number]
            continue
        read = _factors(kernel)
        if read is None:
            break
        full, rows, places = ([call.operands[n] for n in numbers] for numbers in read)
        if len(full) != 1 or TensorSpec.of(full[0].type).sizes[-1] != width:
            break
        scales += rows
        columns += places
        value = full[0]
    elements = [TensorSpec.of(scale.type).element for scale in scales]
    return ScaledRows(value, scales[0], tuple(columns)) if elements == ["f32"] else None


def _maker(value: ir.Value, functions: Mapping[str, ir.Operation]) -> ir.Operation | None:
    """The view, or the scalar kernel with one result, that makes a value."""
    op = value.owner
    if isinstance(op, ir.Block):
        return None
    if isinstance(op, fuse.View):
        return op
    if not isinstance(op, func.CallOp) or len(op.results) != 1:
        return None
    kernel = functions[callee_name(op)]
    return kernel if is_kernel(kernel) and not is_tiled(kernel) else None


def _factors(kernel: ir.Operation) -> tuple[list[int], list[int], list[int]] | None:
    """The arguments whose elements a kernel multiplies: element by element, by rows, and by places in a row;
    None where it does anything else."""
    body = list(kernel.regions[0].blocks[0].operations)
    known = (arith.ConstantOp, arith.MulFOp, fuse.Load, fuse.Store, func.ReturnOp, *FLOAT_CASTS)
    stores = [op for op in body if isinstance(op, fuse.Store)]
    if not all(isinstance(op, known) for op in body) or len(stores) != 1:
        return None
    [store] = stores
    if not is_plain(kernel, store) or string(store.attributes["mode"]) != "set":
        return None
    found: tuple[list[int], list[int], list[int]] = ([], [], [])
    pending = [store.operands[1]]
    while pending:
        op = pending.pop().owner
        if isinstance(op, ir.Block):
            return None
        if isinstance(op, fuse.Load):
            kind = _kind(kernel, op, strings(store.attributes["at"]))
            if kind is None:
                return None
            found[kind].append(ir.BlockArgument(op.operands[0]).arg_number)
        elif isinstance(op, arith.ConstantOp):
            return None
        else:
            pending += list(op.operands)
    return found


def _kind(kernel: ir.Operation, load: ir.Operation, stored: tuple[str, ...]) -> int | None:
    """0 for a load of each element, 1 of an element for each row, 2 for each place in a row."""
    at, dims = strings(load.attributes["at"]), list(kernel_dims(kernel))
    spec = TensorSpec.of(load.operands[0].type)
    if is_plain(kernel, load) and len(at) == len(stored):
        return 0
    if not dims or stored[-1] != dims[-1] or not spec.is_contiguous:
        return None
    if at == (*stored[:-1], "0"):
        return 1
    return 2 if at == (dims[-1],) else None
