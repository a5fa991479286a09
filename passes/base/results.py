"""A kernel that gives fewer results.  Helpers of ``eliminate-dead`` and ``recompute-producers``."""

from ...compiler.analysis.program.provenance import node_names
from ...compiler.ir.defining import defining_op
from ...compiler.ir.dialects import fuse
from ...compiler.ir.kernel import ASSERTS, argument_attributes, kernel_ties
from ...compiler.mlir import ir
from .kernels import kernel_body, result_types, set_signature
from .names import bare, listed, nodes_of, without
from .program import Program

#: Ops of a kernel that nothing has to use.
_STAY = ("fuse.store", *ASSERTS)


def drop_results(
    program: Program, call: ir.Operation, kernel: ir.Operation, live: list[bool], *, asserts: bool = True
) -> ir.Operation:
    """Removes unused results of a kernel, with their stores and the arguments that only those needed, and
    unless ``asserts`` what it asserts.

    Returns the new call, which is the only one of its kernel.  An FX node of which nothing is left disappears
    from the names and locations of both.
    """
    lost = [r for r, keep in zip(call.results, live, strict=True) if not keep]
    if any(list(r.uses) for r in lost) and list(call.operands) == []:
        return call
    for result in lost:
        for use in list(result.uses):  # only fuse.after: the time of a kept result is the same
            kept = next(r for r, keep in zip(call.results, live, strict=True) if keep)
            use.owner.operation.operands[0] = kept
    kernel = program.own(call, kernel)
    body = kernel_body(kernel)
    end, stores = body[-1], [v.owner.operation for v in body[-1].operands]
    ties = kernel_ties(kernel)
    types = result_types(kernel)
    kept_values = [v for v, keep in zip(end.operands, live, strict=True) if keep]
    ir.Operation.create("func.return", [], kept_values, loc=end.location, ip=ir.InsertionPoint(end))
    end.erase()
    lost_ops = [op for store, keep in zip(stores, live, strict=True) if not keep for op in _steps(store)]
    lost_ops += [op for op in body[:-1] if not asserts and op.name in ASSERTS]
    nodes = _lost_nodes(body[:-1], lost_ops)
    for op in lost_ops:
        op.erase()
    _name_again(program, call, kernel, nodes)
    types = [t for t, keep in zip(types, live, strict=True) if keep]
    set_signature(kernel, types, argument_attributes(kernel))
    program.clean(kernel)
    return _drop_arguments(
        program, call, kernel, [t for t, keep in zip(ties, live, strict=True) if keep], types, live
    )


def _steps(store: ir.Operation) -> list[ir.Operation]:
    """The stores of one tensor, last to first: a concatenation is stored in several."""
    steps: list[ir.Operation] = []
    step: ir.Operation | None = store
    while step is not None:
        steps.append(step)
        step = defining_op(step.operands[0], fuse.Store)
    return steps


def _lost_nodes(body: list[ir.Operation], stores: list[ir.Operation]) -> frozenset[str]:
    """The nodes of a kernel that go with some of its stores."""
    lost = set(stores)
    for op in reversed(body):
        used = any(use.owner.operation not in lost for result in op.results for use in result.uses)
        if op not in lost and op.name not in _STAY and not used:
            lost.add(op)
    return nodes_of(lost) - nodes_of(op for op in body if op not in lost)


def _name_again(program: Program, call: ir.Operation, kernel: ir.Operation, lost: frozenset[str]) -> None:
    """Takes nodes out of a call's location and its kernel's, and calls the kernel by those that are left."""
    left = without(kernel.location, lost)
    nodes = list(dict.fromkeys(node_names(left)))
    if left == kernel.location or not nodes:
        return
    name = f"fused{listed(nodes)}" if len(nodes) > 1 else bare(nodes[0])
    call.location, kernel.location = without(call.location, lost), left
    program.rename(kernel, call, program.unique_name(name))


def _drop_arguments(
    program: Program,
    call: ir.Operation,
    kernel: ir.Operation,
    ties: list[int],
    types: list[ir.Type],
    live: list[bool],
) -> ir.Operation:
    """Removes unused tensor arguments of a kernel (symbols and tokens stay) and makes the call agree."""
    block = kernel.regions[0].blocks[0]
    attributes = argument_attributes(kernel)
    operands = list(call.operands)
    dead = [
        i
        for i, argument in enumerate(block.arguments)
        if i not in ties and isinstance(argument.type, ir.RankedTensorType) and not list(argument.uses)
    ]
    for i in reversed(dead):
        block.erase_argument(i)
        del attributes[i], operands[i]
    position = {old: old - sum(d < old for d in dead) for old in range(len(call.operands))}
    kernel.attributes["fuse.ties"] = ir.DenseI64ArrayAttr.get([position[t] for t in ties])
    set_signature(kernel, types, attributes)
    new = program.recall(call, kernel, operands, types)
    kept = [r for r, keep in zip(call.results, live, strict=True) if keep]
    for old, result in zip(kept, new.results, strict=True):
        old.replace_all_uses_with(result)
    program.erase_call(call)
    return new
