"""What becomes of the storage of a planned ``@main``: what kernels address, what is written, what is
returned, and when arguments are used for the last time.
"""

from collections.abc import Iterator, Mapping

from ...analysis.program.dependences import extern_mutated
from ...ir.nesting import graph_of, modules_in
from ...ir.storage import Storage, aliased_operands, callee_name, functions_of
from ...mlir import func, ir


def calls(
    main: ir.Operation, functions: Mapping[str, ir.Operation]
) -> Iterator[tuple[ir.Operation, ir.Operation]]:
    """The calls of ``@main``, each with its declaration."""
    for op in main.regions[0].blocks[0].operations:
        if isinstance(op, func.CallOp):
            yield op.operation, functions[callee_name(op.operation)]


def launches(
    main: ir.Operation, functions: Mapping[str, ir.Operation]
) -> Iterator[tuple[ir.Operation, ir.Operation]]:
    """Those that launch a kernel."""
    return ((op, callee) for op, callee in calls(main, functions) if "fuse.launch" in callee.attributes)


def launched_storage(
    main: ir.Operation, storage: Storage, functions: Mapping[str, ir.Operation]
) -> set[ir.Value]:
    """The roots of what kernels address."""
    return {storage.root(value) for op, _ in launches(main, functions) for value in op.operands}


def written_storage(
    main: ir.Operation, storage: Storage, functions: Mapping[str, ir.Operation]
) -> set[ir.Value]:
    """The roots of what kernels write."""
    return {
        storage.root(op.operands[i])
        for op, callee in launches(main, functions)
        for i in aliased_operands(callee).values()
    }


def mutated_storage(
    main: ir.Operation, storage: Storage, functions: Mapping[str, ir.Operation]
) -> set[ir.Value]:
    """The roots of what torch's ops write."""
    return {
        storage.root(op.operands[i]) for op, callee in calls(main, functions) for i in extern_mutated(callee)
    }


def watched_tensors(
    op: ir.Operation, functions: Mapping[str, ir.Operation]
) -> tuple[list[ir.Value], list[ir.Value]]:
    """The tensors that a call is given, and those that are written behind it: its results, and the operands
    that a torch op writes.
    """
    mutated = (op.operands[i] for i in extern_mutated(functions[callee_name(op)]))
    given, written = (
        [v for v in values if isinstance(v.type, ir.RankedTensorType)]
        for values in (op.operands, [*op.results, *mutated])
    )
    return given, written


def last_uses(main: ir.Operation, storage: Storage) -> dict[int, list[ir.Value]]:
    """Tensor arguments by the position of the last op that uses them: activations saved for backward are
    freed there.  Those that are returned, or that nothing uses, are not among them.
    """
    block = main.regions[0].blocks[0]
    last: dict[ir.Value, int] = {}
    for position, op in enumerate(block.operations):
        if op.operation.name not in ("fuse.after", "fuse.view"):
            last.update((storage.root(value), position) for value in op.operands)
    end = len(block.operations) - 1
    finished: dict[int, list[ir.Value]] = {}
    for argument in block.arguments:
        if isinstance(argument.type, ir.RankedTensorType) and last.get(argument, end) < end:
            finished.setdefault(last[argument], []).append(argument)
    return finished


def returned_storage(main: ir.Operation, storage: Storage) -> set[ir.Value]:
    """The origins of the results that are no arguments."""
    block = main.regions[0].blocks[0]
    given, results = set(block.arguments), list(block.operations)[-1].operands
    return {storage.origin(v) for v in results if isinstance(v.type, ir.RankedTensorType) and v not in given}


def own_results(module: ir.Module, callee: ir.Operation) -> list[ir.Type]:
    """The types of a sub-graph's results, if each is plainly in storage of its own; else none."""
    if "fuse.graph" not in callee.attributes:
        return []
    inner = modules_in(module)[graph_of(callee)]
    block = functions_of(inner)["main"].regions[0].blocks[0]
    storage = Storage(block.owner.operation, inner)
    results = list(block.operations)[-1].operands
    roots = [storage.root(v) for v in results if isinstance(v.type, ir.RankedTensorType)]
    own = len(set(roots)) == len(roots) and not set(roots) & set(block.arguments)
    return [v.type for v in results] if own else []
