"""What chains of products compute that several of them need: each chain computes it itself.  A helper of
``derive-cascades``, not a pass.

The gradients of attention are three products that sum what is made of the same scores: of values over rows,
of keys over rows, of queries over columns.  As kernels that never have all scores, each computes them again.
Those that sum over the same side may be one kernel with two results.
"""

from collections.abc import Callable, Collection, Iterator, Sequence

from ...compiler.analysis.fusion.graph import GroupGraph
from ...compiler.ir.kernel import kernel_ties, string
from ...compiler.ir.layout import TensorSpec
from ...compiler.mlir import ir
from ..base.program import Program
from .cascades import product_of, runs_between


def scores_read_outside(graph: GroupGraph, chain: Sequence[int]) -> dict[int, tuple[int, set[int]]]:
    """The values of rows and columns that a chain makes and other calls read, each with the call that makes
    it and those calls.  None is in storage that others see, and none the result of a last product.
    """
    nodes, found = {*chain}, dict[int, tuple[int, set[int]]]()
    first = next(n for n in chain if product_of(graph, n) is not None)
    size = _numel(graph, graph.deps.nodes[first].results[0])
    for n in chain[:-1]:
        node = graph.deps.nodes[n]
        read = {user for result in node.results for user in graph.deps.users[result]}
        if product_of(graph, n) is not None and nodes.isdisjoint(read):
            continue
        for result, destination in zip(node.results, node.destinations, strict=True):
            outside = {*graph.deps.users[result]} - nodes
            if outside and _numel(graph, result) == size and graph.is_fresh(destination):
                found[result] = n, outside
    return found


def reader_of_scores(
    graph: GroupGraph, chain: Sequence[int], chains: Collection[Sequence[int]]
) -> str | None:
    """The name of a call that reads what a chain makes of each row and column, and is in none of ``chains``
    that makes it, too.
    """
    for maker, readers in scores_read_outside(graph, chain).values():
        for reader in sorted(readers):
            if not any(maker in c and reader in c for c in chains):
                return graph.deps.nodes[reader].name
    return None


def joined(
    graph: GroupGraph,
    chains: Sequence[tuple[int, ...]],
    is_kernel: Callable[[tuple[int, ...]], bool],
) -> list[tuple[int, ...]]:
    """``chains``, where two that need the same product are one with two results if that ``is_kernel``: what
    both need is computed once.
    """
    found = list[tuple[int, ...]]()
    for chain in chains:
        for place, other in enumerate(found):
            both = {*chain, *other}
            shares = any(product_of(graph, n) is not None for n in {*chain} & {*other})
            if shares and runs_between(graph, both) is None and is_kernel(tuple(sorted(both))):
                found[place] = tuple(sorted(both))
                break
        else:
            found.append(chain)
    return found


def own_calls(
    program: Program, graph: GroupGraph, chains: Sequence[Sequence[int]]
) -> Iterator[list[ir.Operation]]:
    """The calls of each chain: a copy of each that a later one has, too."""
    for number, chain in enumerate(chains):
        later = set[int]().union(*chains[number + 1 :])
        own, instead = list[ir.Operation](), dict[ir.Value, ir.Value]()
        for n in chain:
            call = graph.deps.nodes[n].op
            own.append(_copy(program, call) if n in later else call)
            instead.update(zip(call.results, own[-1].results, strict=True))
        for call in own:
            for place, value in enumerate(call.operands):
                call.operands[place] = instead.get(value, value)
        yield own


def _copy(program: Program, call: ir.Operation) -> ir.Operation:
    """A call behind this one, of the same kernel into tensors of its own."""
    callee = program.callee(call)
    copy = call.clone(ir.InsertionPoint(call))
    copy.move_after(call)
    for tie in kernel_ties(callee):
        empty = call.operands[tie].owner.operation.clone(ir.InsertionPoint(call))
        copy.operands[tie] = empty.results[0]
    program.callers[string(callee.attributes["sym_name"])] += 1
    return copy


def _numel(graph: GroupGraph, value: int) -> object:
    return TensorSpec.of(graph.deps.values[value].type).numel
