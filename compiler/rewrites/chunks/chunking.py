"""What chunks of rows and of columns share: which products may be heads of losses, and what is in memory."""

from collections.abc import Collection
from math import prod

from torch.fx import Graph, GraphModule, Node

from ...base.dataclass import dataclass
from ...fx.views import storage_root
from ..joint.sides import after_tangents, before_results
from .row_ops import PRODUCTS, Rows, shape_of
from .row_regions import NotByRows, RowRegion, region_of

#: A product of no more rows, or of fewer columns, is no head of a loss.
LEAST_ROWS, LEAST_COLUMNS = 8, 64


@dataclass(frozen=True)
class Limited:
    """A graph, joint or without gradients, and the bytes that it may allocate at a time."""

    gm: GraphModule
    limit: int


def heads(graph: Graph) -> list[Node]:
    """Products that may be computed in chunks."""
    products = [n for n in graph.nodes if n.op == "call_function" and n.target in PRODUCTS]
    shapes = {n: shape_of(n) for n in products}
    return [n for n, shape in shapes.items() if shape and shape[0] > LEAST_ROWS and shape[1] >= LEAST_COLUMNS]


def bytes_of(node: Node) -> int:
    """Of a tensor; 0 where a size is unknown."""
    return prod(shape_of(node) or (0,)) * node.meta["val"].dtype.itemsize


def regions_of(graph: Graph, product: Node) -> list[RowRegion]:
    """That of the forward pass, and that of the backward pass where one reads the product.  Raises
    ``NotByRows``.
    """
    shape = shape_of(product)
    assert shape is not None
    rows, width = Rows(shape[0]), shape[1] // 2
    needed = before_results(graph)
    if product not in needed:
        raise NotByRows("it is part of the backward pass")
    forward = region_of(graph, rows, width, [product], needed)
    others = {n for n in graph.nodes if n.op == "call_function" and n not in needed}
    read = [n for n in forward.wide if any(u in others for u in n.users)]
    regions = [forward]
    if read:
        regions.append(region_of(graph, rows, width, read, others))
    if not any(n not in region.wide for region in regions for n in region.nodes):
        raise NotByRows("nothing reads it")
    return regions


def outputs_of(regions: list[RowRegion]) -> list[list[Node]]:
    """What others read of each region."""
    return [r.outputs(regions[number + 1 :]) for number, r in enumerate(regions)]


def beside(graph: Graph, regions: list[RowRegion]) -> list[int]:
    """Bytes of what is in memory beside a chunk of each region: results, and what the region reads and
    gives.
    """
    backward = after_tangents(graph)
    returned = set(graph.output_node().all_input_nodes)
    results = (returned - backward, returned & backward)
    found = []
    for region, outputs, given in zip(regions, outputs_of(regions), results, strict=False):
        inside = set(region.nodes)
        read = {n for node in region.nodes for n in node.all_input_nodes if n not in inside}
        stored = {storage_root(n) for n in (*outputs, *given, *read)}
        found.append(sum(bytes_of(n) for n in stored if n.op == "call_function"))
    return found


def rows_that_fit(graph: Graph, regions: list[RowRegion], limit: int) -> list[int]:
    """Into the memory that is left, of each region."""
    taken = zip(beside(graph, regions), regions, strict=True)
    return [(limit - bytes_) // max(1, region.row_bytes()) for bytes_, region in taken]


def move_readers(graph: Graph, inside: Collection[Node], last: Node) -> None:
    """What is computed from nodes ``inside`` in front of the last of them goes behind that."""
    after, moved = set(inside), list[Node]()
    for node in graph.nodes:
        if node is last:
            break
        if node not in inside and any(n in after for n in node.all_input_nodes):
            after.add(node)
            moved.append(node)
    for node in reversed(moved):
        last.append(node)


def erase_unread(graph: Graph, left: set[Node]) -> None:
    """Erases nodes that nothing else reads."""
    while dead := [node for node in left if not node.users]:
        for node in dead:
            graph.erase_node(node)
            left.remove(node)
    assert not left, f"{left} are read by others"


__all__ = [
    "LEAST_ROWS",
    "Limited",
    "beside",
    "bytes_of",
    "erase_unread",
    "heads",
    "move_readers",
    "outputs_of",
    "regions_of",
    "rows_that_fit",
]
