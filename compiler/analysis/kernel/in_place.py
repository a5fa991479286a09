"""Which result of a kernel may be written over a tensor that the kernel reads.

It may if each element of the tensor is read by one point of the kernel only, and that point writes its
result there after the read.  The rules look at one kernel: whether something reads the tensor later is for
the caller to find out.
"""

from ...index import Expr, offset
from ...ir.defining import backward_slice, is_true
from ...ir.dialects import fuse
from ...ir.kernel import REDUCTIONS, Access, Kernel, string
from ...mlir import ir
from .accesses import points

#: What each rule refuses, in one sentence.
REFUSALS = {
    "written-apart": "the result is not written once at each point",
    "gather": "the tensor is read at loaded indices, so another point may read the element",
    "other-map": "the result lies elsewhere in memory than what its point reads",
    "other-points": "points that do not write the element read it",
    "independent": "the result does not depend on the element it would replace, so nothing orders the two",
}


def why_not_in_place(kernel: Kernel, argument: int, result: int) -> str | None:
    """Why result number ``result`` cannot be written over the tensor ``argument`` that the kernel loads: the
    name of a rule; None when it can.  Both have elements of one type.
    """
    loads = [a for a in kernel.loads if a.argument == argument]
    stores = [a for a in kernel.stores if a.argument == kernel.ties[result]]
    if len(stores) != 1 or not _writes_once(kernel, stores[0]):
        return "written-apart"
    store = stores[0]
    if any(a.indirect for a in loads):
        return "gather"
    if any(_place(kernel, a) != _place(kernel, store) for a in loads) or len({a.coords for a in loads}) > 1:
        return "other-map"
    dims = kernel.op_dims[store.op]
    if any(kernel.op_dims[a.op] != dims for a in loads) or not kernel.dims.keys() <= dims | kernel.reduced:
        return "other-points"
    if not all(_reaches(a.op, store.op.operands[1]) for a in loads):
        return "independent"
    return None


def _writes_once(kernel: Kernel, store: Access) -> bool:
    """Whether each point of the store's dims writes an element of its own, and together they write all."""
    if store.indirect or string(store.op.attributes["mode"]) != "set" or not is_true(store.op.operands[2]):
        return False
    return points(kernel.dims, kernel.op_dims[store.op]) == kernel.spec(store.argument).numel


def _place(kernel: Kernel, access: Access) -> Expr:
    """The element of the storage that an access is at, as an expression over the dims."""
    spec = kernel.spec(access.argument)
    return offset(list(access.coords), spec.strides, spec.offset, kernel.facts)


def _reaches(load: ir.Operation, value: ir.Value) -> bool:
    """Whether a value depends on a load at its own point: not through a reduction or a scan."""
    return load in backward_slice([value], lambda op: op.name in REDUCTIONS or isinstance(op, fuse.Scan))
