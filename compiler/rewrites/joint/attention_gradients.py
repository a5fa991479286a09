"""The gradients of attention read queries, keys and two numbers of each row instead of saved probabilities.

Before, in the joint graph of attention that a program spells out, with ``f`` computed of each score::

    p = softmax(f(q @ k^T))                         # exp(f - m) / l, m and l of each row
    o = p @ v
    dp = do @ v^T
    d = sum(dp * p, [-1])
    ds = dp * p - p * d

torch's partitioner would save the scores or ``p``: a number for each row and column.

After::

    d = sum(do * o, [-1])

and what has rows and columns, from ``q @ k^T`` to ``p``, is marked as computed again in the backward graph,
which reads ``q``, ``k``, ``v``, ``o``, ``m`` and ``l``.  There ``p`` and ``ds`` are pointwise in two
products: no row is needed as a whole, and ``derive-cascades`` makes of each gradient a kernel that has
neither in memory.

**Why d is that.** With ``dp[i, j] = sum_e do[i, e] * v[j, e]``, the sum over j of ``p[i, j] * dp[i, j]`` is
the sum over e of ``do[i, e] * sum_j p[i, j] * v[j, e]``, and the inner sum is ``o[i, e]``.  Two finite sums
change places, so it is exact up to rounding; ``o`` is rounded to its 16 bits, as ``dp`` is in eager mode.

It fires where a product of batches, in bf16 or f16, sums what pointwise ops and reductions of whole rows make
of one other such product; where each sum along rows in the backward pass is the ``d`` of this product; and
where all other ops of rows and columns there are pointwise, or products.  A sigmoid instead of the softmax
has no ``d``.

The GPU's rates decide (``cost/attention_gradients.py``): these kernels, which compute scores again, against
calls of the library, which pass them on through memory.  They may take a little longer, as they hold less.
A mask of positions counts with the blocks that it admits.  With ``products="generated"`` nothing is weighed.
The products are marked, so that ``choose-libraries`` makes kernels of them.

It does not fire where something else is made of scores or probabilities: a result of the graph, a dropout, a
second softmax, a gradient of a bias, which is a sum over a batch.  Nor where checkpointing says what is
computed again; on sizes that are not known when compiling, as what has rows and columns is told by its number
of elements; nor on fewer than 16 queries, which products multiply as calls do, so that scores that are
computed again are rounded as the saved ones are not; nor, for the same reason, on so much between the
products that no chain of gradients becomes a kernel.  Unless all products are generated, it does not fire on
fewer than 64 queries or 256 keys, nor where distances are multiplied or looked up, which several kernels
would read.

Remarks: both times, also where they are a reason not to (``missed: slower``); what needs scores or their
gradients in memory, sizes that are not known, few queries, too many calls (``missed: stays``).

Why not an MLIR pass: it changes what the forward graph saves for the backward graph, so it must see both.
"""

import math
import operator
from typing import NamedTuple

import torch
from torch.fx import GraphModule, Node
from torch.utils.checkpoint import CheckpointPolicy

from ...analysis.contraction.cascades import MOST_CALLS
from ...analysis.contraction.looped import holds_results
from ...base.dataclass import dataclass
from ...cost.attention_gradients import SpelledGradients
from ...cost.hardware import Hardware
from ...cost.slots import slots
from ...fx.new_node import CASCADE, computed_node
from ..rewriting import Weighed, rewrite
from .admitted_scores import admitted_part
from .log_sums import of_logarithms, softmax_of
from .sides import after_tangents, before_results

_aten = torch.ops.aten
_HALVES = (torch.float16, torch.bfloat16)
_ROW_REDUCTIONS = (_aten.amax.default, _aten.sum.dim_IntList)
#: Pointwise, without torch's tag for it.
_POINTWISE = ("prims.fma.default", "prims.convert_element_type.default", "aten._to_copy.default")
#: Views that keep the order of elements.
_VIEWS = (
    _aten.view.default, _aten._unsafe_view.default, _aten.expand.default, _aten.unsqueeze.default,
    _aten.squeeze.dim, _aten.squeeze.dims,
)  # fmt: skip
#: Functions that take more than one instruction.
_FUNCTIONS = ("exp", "exp2", "log", "tanh", "sigmoid", "erf", "sin", "cos", "sqrt", "rsqrt", "pow", "log1p")
#: The fewest rows and columns, and the fewest and the most numbers of a head, that were measured.
_FEWEST_ROWS, _FEWEST_COLUMNS, _NARROWEST_HEAD, _WIDEST_HEAD = 64, 256, 16, 256
#: The fewest rows of which tensor cores make scores, again as before.
_FEWEST_AGAIN = 16
#: What one product's scores are marked with; torch keeps regions of different numbers apart.
_REGION = "ac_graph_id"


class _Attention(NamedTuple):
    """``last`` sums what is made of ``first``; ``inner``: all of rows and columns from one to the other;
    ``rows``: what is reduced of it along its rows; ``masks``: what is computed of constants beside it.
    """

    first: Node
    last: Node
    inner: set[Node]
    rows: set[Node]
    masks: set[Node]


class _Gradients(NamedTuple):
    """``sums``: the sums along rows, each with the gradient whose product with ``v`` they sum; ``made``: what
    has rows and columns; ``products``: that of ``v``, and those that sum over rows or columns.
    """

    sums: dict[Node, Node]
    made: set[Node]
    products: set[Node]


@dataclass(frozen=True)
class Spelled:
    """A joint graph, and the GPU by which it is weighed: None where kernels are to compute all products."""

    joint: GraphModule
    hardware: Hardware | None = None


@rewrite("attention-gradients", "gradients of attention compute its probabilities again from rows")
def recompute_scores(spelled: Spelled) -> int:
    """Rewrites a joint graph with ``meta["val"]`` in place; for how many products of probabilities."""
    graph = spelled.joint.graph
    products = graph.find_nodes(op="call_function", target=_aten.bmm.default)
    if len(products) < 2:
        return 0
    forward, backward = before_results(graph), after_tangents(graph)
    count = Weighed()
    for last in products:
        found = _attention_of(last) if last in forward else None
        if found is None:
            continue
        if isinstance(found, str):
            count = count.stays(last, found)
            continue
        gradients = _gradients_of(found, forward)
        if isinstance(gradients, Node):
            count = count.stays(last, f"{gradients.name} needs what has rows and columns in memory")
            continue
        times, calls = dict[str, float](), _most_calls(found, gradients)
        if spelled.hardware is not None:
            costs = _costs(found, gradients)
            times = {"kernel_us": round(costs.kernels_us(spelled.hardware), 1)}
            times["call_us"] = round(costs.calls_us(spelled.hardware), 1)
            if not _is_measured(found) or not costs.pays(spelled.hardware):
                count = count.refused(last, times)
                continue
        if calls > MOST_CALLS:
            reason = f"its gradients would be up to {calls} calls each, of which {MOST_CALLS} become a kernel"
            count = count.stays(last, reason)
            continue
        count = count.fired(last, times)
        for product in (found.first, last, *gradients.products):
            product.meta[CASCADE] = True
        for total, gradient in gradients.sums.items():
            total.replace_all_uses_with(_interchanged(total, gradient, last))
        softmax, saved, again = softmax_of(found.inner), found.rows, set[Node]()
        if softmax is not None:
            again, saved = of_logarithms(softmax)
        for node in {found.first, *found.inner, *found.masks, *gradients.made, *again} - backward:
            node.meta["recompute"] = CheckpointPolicy.MUST_RECOMPUTE
            node.meta[_REGION] = 0
        for node in (*saved, last):
            node.meta["recompute"] = CheckpointPolicy.MUST_SAVE
    if count:
        graph.eliminate_dead_code()
    return count


def _most_calls(found: _Attention, gradients: _Gradients) -> int:
    """How many calls the longest chain of the backward graph has at most: what is computed of scores and of
    their gradients, two products that it begins with and the one that it ends with, and two conversions.
    Where a chain is left apart, its scores are rounded as those of the forward kernel were not: gradients
    then err twice as much as eager's.
    """
    made = [n for n in (*found.inner, *gradients.made) if not getattr(n.target, "is_view", False)]
    return len(made) + 5


def _costs(found: _Attention, gradients: _Gradients) -> SpelledGradients:
    """What the rewrite is weighed by."""
    scores, made = _shape(found.first), _shape(found.last)
    batch, rows, columns = scores
    summed = _shape(found.first.args[0])[-1]
    beside = _read_beside(found)
    return SpelledGradients(
        scores=_numel(found.first),
        part=admitted_part(found.inner, found.masks),
        head=(summed + made[-1]) // 2,
        element={torch.bfloat16: "bf16", torch.float16: "f16"}[_dtype(found.last)],
        slots=sum(_slots(n, _dtype(found.last)) for n in (*found.inner, *filter(_is_pointwise, beside))),
        more=sum(_slots(n, _dtype(found.last)) for n in gradients.made),
        moved=2 * batch * (rows + columns) * (summed + made[-1]),
        softmax=bool(found.rows),
        beside=sum(n.meta["val"].dtype.itemsize for n in beside if not _is_pointwise(n)),
        apart=summed != made[-1] or not holds_results((summed, made[-1])),
    )


def _slots(node: Node, dtype: torch.dtype) -> int:
    """Issue slots of a pointwise op for an element; a view or a cast has none.  dtype: of what is multiplied;
    bfloat16 needs no more of tanh than one instruction.
    """
    name = str(node.target).split(".")[1]
    if _origin(node) is not node or name in ("expand", "where", "transpose", "permute"):
        return 0
    short = name not in _FUNCTIONS or (name == "tanh" and dtype == torch.bfloat16)
    return slots(f"arith.{name}" if short else f"math.{name}")


def _read_beside(found: _Attention) -> set[Node]:
    """What has rows and columns and is read beside scores, as it is or by the pointwise ops among them."""
    own, seen = {found.first, *found.inner, *found.masks}, set[Node]()
    pending = [n for node in found.inner for n in node.all_input_nodes]
    while pending:
        node = pending.pop()
        if node not in own and node not in seen and _numel(node) >= math.prod(_shape(found.first)[-2:]):
            seen.add(node)
            pending += node.all_input_nodes if _is_pointwise(node) else []
    return seen


def _is_measured(found: _Attention) -> bool:
    """Whether measurements say something about such sizes, and about what is read beside scores: what is
    looked up is stored, as several kernels read it, and looked up again for the backward pass.
    """
    _, rows, columns = _shape(found.first)
    if any(n.op != "placeholder" and not _is_pointwise(n) for n in _read_beside(found)):
        return False
    heads = _shape(found.first.args[0])[-1], _shape(found.last)[-1]
    return (
        rows >= _FEWEST_ROWS
        and columns >= _FEWEST_COLUMNS
        and min(heads) >= _NARROWEST_HEAD
        and max(heads) <= _WIDEST_HEAD
    )


def _attention_of(last: Node) -> _Attention | str | None:
    """The product whose scores become the left factor of ``last``, and what lies between; None where more
    than pointwise ops and reductions of whole rows do, or more than one product.  A reason where it is left.
    """
    between, firsts, pending = set[Node](), set[Node](), [last.args[0]]
    while pending:
        node = pending.pop()
        if not isinstance(node, Node) or node in between:
            continue
        if node.target is _aten.bmm.default:
            firsts.add(node)
        elif node.op == "call_function" and (_is_pointwise(node) or _reduces_rows(node)):
            between.add(node)
            pending += node.all_input_nodes
    if len(firsts) != 1:
        return None
    [first] = firsts
    if _dtype(first) not in _HALVES or _dtype(last) not in _HALVES:
        return None
    if not all(isinstance(size, int) for n in (first, last) for size in _shape(n)):
        return "its sizes are not known when compiling"
    if _shape(first)[-2] < _FEWEST_AGAIN:
        return f"scores of {_shape(first)[-2]} queries are rounded when they are computed again"
    reached = {first}
    for node in first.graph.nodes:  # in the order in which they run
        if node in between and any(n in reached for n in node.all_input_nodes):
            reached.add(node)
    reached.discard(first)
    columns = _shape(first)[-1]
    rows = {n for n in reached if _numel(n) * columns == _numel(first)}
    inner = {n for n in reached if _numel(n) == _numel(first)}
    untold = all("recompute" not in n.meta for n in (first, last, *reached))
    left = [n for n in reached if n not in rows and n not in inner]
    masks = {n for n in between - reached if _is_constant(n)}
    return _Attention(first, last, inner, rows, masks) if inner and untold and not left else None


def _gradients_of(found: _Attention, forward: set[Node]) -> _Gradients | Node:
    """What the backward pass makes of scores and probabilities; what reads them where that is neither
    pointwise nor a product, such as the gradient of a bias.
    """
    own = {found.first, found.last, *found.inner, *found.rows}
    sums, made, pending = dict[Node, Node](), set[Node](), [found.first, *found.inner]
    products = set[Node]()
    while pending:
        for user in pending.pop().users:
            if user in own or user in made:
                continue
            if user.target is _aten.bmm.default and user not in forward:
                products.add(user)
                continue
            if user in forward or user.op != "call_function":
                return user
            if user.target is _aten.sum.dim_IntList:
                gradient = _gradient_of(user, found)
                if gradient is None:
                    return user
                sums[user] = gradient
            elif _is_pointwise(user) and _numel(user) == _numel(found.first):
                made.add(user)
                pending.append(user)
            else:
                return user
    read = {_origin(n) for node in made for n in node.all_input_nodes}
    return _Gradients(sums, made, products | {n for n in read if n.target is _aten.bmm.default} - own)


def _gradient_of(total: Node, found: _Attention) -> Node | None:
    """``do``, where a node is the sum along rows of ``(do @ v^T) * p`` and ``last`` is ``p @ v``."""
    product = total.args[0]
    if (
        list(total.args[1]) not in ([-1], [len(_shape(product)) - 1])
        or product.target is not _aten.mul.Tensor
    ):
        return None
    if _shape(product)[-1:] != _shape(found.first)[-1:]:
        return None
    p = _origin(found.last.args[0])
    for one, other in (product.args, product.args[::-1]):
        if not isinstance(one, Node) or not isinstance(other, Node) or _origin(one) is not p:
            continue
        made = _origin(other)
        if made.target is _aten.bmm.default and _is_transposed(made.args[1], found.last.args[1]):
            return made.args[0]
    return None


def _interchanged(total: Node, gradient: Node, last: Node) -> Node:
    """The sum along the columns of ``do * o``, in the place and the shape of ``total``."""
    with total.graph.inserting_before(total):
        wide = [
            computed_node(total, _aten._to_copy.default, n, dtype=torch.float32) for n in (gradient, last)
        ]
        product = computed_node(total, _aten.mul.Tensor, *wide)
        made = computed_node(total, _aten.sum.dim_IntList, product, [-1], True)
        return computed_node(total, _aten.view.default, made, _shape(total))


def _origin(node: Node) -> Node:
    """What a node is a cast, or a view of all elements in the same order, of."""
    casts = (_aten._to_copy.default, torch.ops.prims.convert_element_type.default)
    while node.target in casts or _keeps_order(node):
        node = node.args[0]
    return node


def _keeps_order(node: Node) -> bool:
    """Whether it is a view of all elements of a tensor, one after the other as there."""
    if node.target is _aten.permute.default:
        sizes = _shape(node.args[0])
        moved = [d % len(sizes) for d in node.args[1] if sizes[d] != 1]
        return moved == sorted(moved)
    return node.target in _VIEWS and _numel(node) == _numel(node.args[0])


def _is_transposed(one: object, other: object) -> bool:
    """Whether one matrix of each batch is the other's transpose."""
    return (
        isinstance(one, Node)
        and one.target is _aten.transpose.int
        and one.args[0] is other
        and {n % 3 for n in one.args[1:]} == {1, 2}
    )


def _is_constant(node: Node) -> bool:
    """Whether a node is computed of no argument."""
    return node.op == "call_function" and all(map(_is_constant, node.all_input_nodes))


def _is_pointwise(node: Node) -> bool:
    """Whether an op computes each element of one, or has the same elements in another shape."""
    target = node.target
    tags = getattr(target, "tags", ())
    if target is operator.getitem or torch.Tag.nondeterministic_seeded in tags:
        return False
    return torch.Tag.pointwise in tags or str(target) in _POINTWISE or bool(getattr(target, "is_view", False))


def _reduces_rows(node: Node) -> bool:
    if node.target not in _ROW_REDUCTIONS:
        return False
    return list(node.args[1]) in ([-1], [len(_shape(node.args[0])) - 1])


def _numel(node: Node) -> int:
    value = node.meta.get("val")
    return value.numel() if isinstance(value, torch.Tensor) else 0


def _shape(node: Node) -> list[int]:
    return list(node.meta["val"].shape)


def _dtype(node: Node) -> torch.dtype:
    return node.meta["val"].dtype


__all__ = ["Spelled", "recompute_scores"]
