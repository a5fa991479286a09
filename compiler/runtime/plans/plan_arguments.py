"""What becomes of the arguments of a planned ``@main``, as storage: which kernels address, which are written,
and when each is used for the last time.
"""

from collections.abc import Iterator, Mapping

from ...analysis.program.dependences import extern_mutated
from ...ir.storage import Storage, aliased_operands, callee_name
from ...mlir import ir


def calls(
    main: ir.Operation, functions: Mapping[str, ir.Operation]
) -> Iterator[tuple[ir.Operation, ir.Operation]]:
    """The calls of ``@main``, each with its declaration."""
    for op in main.regions[0].blocks[0].operations:
        if op.operation.name == "func.call":
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
    """The roots of what kernels and torch's ops write."""
    found: set[ir.Value] = set()
    for op, callee in calls(main, functions):
        stored_to = aliased_operands(callee).values() if "fuse.launch" in callee.attributes else ()
        found.update(storage.root(op.operands[i]) for i in (*stored_to, *extern_mutated(callee)))
    return found


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
