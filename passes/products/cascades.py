"""Chains of two products that run on line: which calls they are, and the fold that their kernel is.  A
helper of ``derive-cascades``, not a pass.

**When a chain runs on line.**  A product gives x over rows i and columns j.  What follows is computed for
each (i, j), reduced along j, and multiplied again: ``o = sum_j p * v``.  A loop over blocks of j can compute
o without ever having a whole row of x if each reduction along j can be kept current while j grows.

- Nothing but the last product crosses j (a sigmoid instead of a softmax): o is a sum, and the loop adds up.
- p is ``exp(x - m) / l`` with the maximum m and the sum of exponentials l of its row: 1 / l is a factor
  that does not depend on j, so ``o = (sum_j exp(x - m) * v) / l``.  Until the row is complete, m and l are
  those of the columns so far.  A maximum that grows from m to m' turns exp(x - m) into exp(x - m) *
  exp(m - m'), for all columns so far alike, so the loop multiplies its sums by exp(m - m'), at most 1.

- p is ``exp(x - c) / l`` with ``c = max(m, s)``, where a number s beside the scores takes part in the
  softmax: ``sinks.py`` brings it to that form, and ``logarithms.py`` a ``logsumexp`` beside it or in it.
- p is 0 in rows that see nothing: ``empty_rows.py`` makes the sums 0 there.

Anything else that crosses j needs the whole row first, and is refused by its name: a norm of the scores, a
second softmax of what the first one made, the k largest.  So is what is stored for each (i, j).

**Roundings.**  Eager rounds x to 16 bits, as it is stored; here it is not, as of any value that stays in a
kernel (``keep-float32``).  Eager rounds p to the 16 bits of v; here exp(x - m) is rounded, in front of the
division by l instead of behind it.  With ``rounding="eager"`` no chain runs on line.
"""

from collections.abc import Callable, Collection, Mapping
from typing import NamedTuple

from ...compiler.analysis.contraction.cascades import MOST_CALLS
from ...compiler.analysis.fusion.graph import GroupGraph
from ...compiler.analysis.kernel.accesses import Crossing
from ...compiler.analysis.kernel.precision import IMPLICIT
from ...compiler.index import const, parse, sym
from ...compiler.ir.contractions import DOT, ONLINE_DOT, ONLINE_TYPES
from ...compiler.ir.defining import backward_slice, forward_slice
from ...compiler.ir.dialects import fuse
from ...compiler.ir.kernel import Kernel, natural, over, rows_of, string, strings
from ...compiler.ir.layout import TensorSpec
from ...compiler.mlir import arith, ir
from ..base.kernels import dims_attribute, text_list
from ..kernels.expectations import FACTORS, SoftmaxRow, erase_dead, factors_of, joined, move_behind
from .empty_rows import select_behind
from .logarithms import subtract_infinite_maxima
from .sinks import subtract_maxima

#: The most products whose sum may be x.
_MOST_FIRST = 2


class NotOnline(NamedTuple):
    """Why a chain does not run on line: the name of a condition, and a sentence."""

    rule: str
    message: str


def chain_of(graph: GroupGraph, last: int) -> tuple[int, ...] | NotOnline | None:
    """The calls from one product to another one that sums what is computed of it, which is ``last``, in
    program order.  None where ``last`` is no product of one matrix, or of nothing that another one made.
    """
    if product_of(graph, last) is None:
        return None
    made_by = {r: n for n in graph.summaries for r in graph.deps.nodes[n].results}
    before, firsts = _scores(graph, made_by, last)
    firsts = {n for n in firsts if product_of(graph, n) is not None}
    if not firsts:
        return None
    if len(firsts) > _MOST_FIRST:
        names = ", ".join(graph.deps.nodes[n].name for n in sorted(firsts))
        return NotOnline("products", f"several products are what it sums: {names}")
    chain = set(firsts)
    for node in sorted(before):
        if any(made_by.get(v) in chain for v in graph.deps.nodes[node].reads):
            chain.add(node)
    chain |= _readers(graph, chain, last)
    if len(chain) > MOST_CALLS:
        return NotOnline(
            "size", f"{len(chain)} calls are between its products, at most {MOST_CALLS} are fused"
        )
    stranger = runs_between(graph, chain)
    if stranger is not None:
        return NotOnline("cycle", f"{graph.deps.nodes[stranger].name} has to run between its products")
    return tuple(sorted(chain))


def _scores(graph: GroupGraph, made_by: Mapping[int, int], last: int) -> tuple[set[int], set[int]]:
    """The calls in front of a product down to other products, and those products.  Where both factors lead to
    some, as of values that are projected, they are those of the larger factor: it has rows and columns.  A
    factor with more than twice the elements of its products comes last, as a cache of which a projection
    writes one row.  Of these, what has as many elements as the factor is what it is made of, if anything has:
    a product that a number for each row comes from, as the gradient's of a projection, or a bias for all of a
    batch, is not.
    """
    found = []
    for factor in graph.deps.nodes[last].reads:
        before, firsts, pending = {last}, set[int](), [factor]
        while pending:
            node = made_by.get(pending.pop())
            if node is None or node in before or node in firsts:
                continue
            if any(c.op == DOT for c in graph.summaries[node].crossings):
                firsts.add(node)
            else:
                before.add(node)
                pending += graph.deps.nodes[node].reads
        if firsts:
            found.append((graph.sizes.estimate(graph.types[factor].spec.numel), before, firsts))
    if not found:
        return {last}, set()

    def rank(side: tuple[int, set[int], set[int]]) -> tuple[bool, int]:
        size, _, firsts = side
        return any(2 * size_of(graph, n) >= size for n in firsts), size

    size, before, firsts = max(found, key=rank)
    return before, {n for n in firsts if size_of(graph, n) == size} or firsts


def size_of(graph: GroupGraph, node: int) -> int:
    """How many elements the largest result of a call has, by the hints of symbols."""
    return max(graph.sizes.estimate(graph.types[r].spec.numel) for r in graph.deps.nodes[node].results)


def _readers(graph: GroupGraph, chain: set[int], last: int) -> set[int]:
    """The calls, behind the last product too, that read what a chain computes of each row and column: a sum
    that divides the result, a logarithm of it that is stored.  What reads a reduction has rows alone.  What
    leads to another product is no part: that product has a chain of its own, which computes the same.
    """
    found, others, pending = dict[int, set[int]](), list[int](), [n for n in chain if n != last]
    while pending:
        node = pending.pop()
        summary, results = graph.summaries[node], graph.deps.nodes[node].results
        reduced = {d for c in summary.crossings for d in c.over if c.op != DOT}
        for result in (results[w.result] for w in summary.writes if reduced <= w.dims):
            for user in {u for u in graph.deps.users[result] if u in graph.summaries} - chain:
                if user not in found:
                    multiplies = any(c.op == DOT for c in graph.summaries[user].crossings)
                    (others if multiplies else pending).append(user)
                found.setdefault(user, set()).add(node)
    while others:
        others += [n for n in found.pop(others.pop(), ()) if n in found]
    return set(found)


def product_of(graph: GroupGraph, node: int) -> Crossing | None:
    """The product of a call's kernel that reduces nothing else, of rows that are in no segments; None where
    it has none."""
    summary = graph.summaries.get(node)
    crossings = () if summary is None or summary.segments is not None else summary.crossings
    return crossings[0] if len(crossings) == 1 and crossings[0].op == DOT else None


def runs_between(graph: GroupGraph, chain: Collection[int]) -> int | None:
    """A call that has to run behind one of the chain and in front of another one."""
    first, last = min(chain), max(chain)
    behind = set[int]()
    for node in range(first, last + 1):
        if node in chain and node != first and not behind.isdisjoint(_before(graph, node)):
            return next(n for n in _before(graph, node) if n in behind)
        if node not in chain and any(n in behind or n in chain for n in _before(graph, node)):
            behind.add(node)
    return None


def _before(graph: GroupGraph, node: int) -> list[int]:
    return graph.deps.predecessors()[node]


def derive(func: ir.Operation, softmax: Callable[[ir.Operation], object]) -> NotOnline | None:
    """Rewrites the kernel of a chain so that all that crosses the columns of its first product is its last
    one, or the last ones of chains that sum along the same columns.  ``softmax`` makes a
    ``fuse.online_softmax`` of a sum, where it is that of one.  A reason, and the kernel is in no useful
    state, where the chain does not run on line.
    """
    select_behind(func)
    subtract_maxima(func)
    subtract_infinite_maxima(func)
    for op in [o.operation for o in func.regions[0].blocks[0].operations]:
        if op.name == "fuse.reduce" and string(op.attributes["kind"]) == "sum":
            softmax(op)
    kernel = Kernel.of(func)
    columns = {*over(kernel.products[-1])}
    lasts = [op for op in kernel.products if {*over(op)} == columns]
    firsts = [op for op in kernel.products if op not in lasts]
    _turn(kernel, firsts, lasts, columns)
    if not all(_has_columns(kernel, first, columns) for first in firsts):
        return NotOnline("form", "its last product does not sum the columns of its first one alone")
    if len(kernel.reductions) > len(kernel.products):
        reason = _replace(lasts[-1], kernel, columns)
        if reason is not None:
            return reason
        kernel = Kernel.of(func)
    others = [op for op in (*kernel.reductions, *kernel.scans) if op not in kernel.products]
    if others:
        return _needs_rows(others[0])
    if any(columns & kernel.op_dims[access.op] for access in kernel.stores):
        return NotOnline("stored", "what is computed for each row and column is stored, or read elsewhere")
    for use in (use for first in firsts for use in first.results[0].uses):
        if use.owner.operation.name == "arith.truncf":
            use.owner.operation.attributes[IMPLICIT] = ir.UnitAttr.get()
    return None


def give_rows(func: ir.Operation) -> None:
    """Gives a ``fuse.online_dot`` whose scores have no rows a dim of one, which tensor cores fill up: what a
    query is loaded at, and what is stored of the result, gets it.  Nothing happens where no load is of the
    query alone.
    """
    kernel = Kernel.of(func)
    online = next((op for op in kernel.products if op.name == ONLINE_DOT), None)
    if online is None or rows_of(online, kernel.value_dims):
        return
    queries, keys = set[ir.Operation](), set[ir.Operation]()
    for first in (op for op in kernel.products if op != online):
        for factor in first.operands:
            of_keys = kernel.value_dims.get(factor, frozenset()) >= {*over(online)}
            loads = (op for op in backward_slice([factor]) if isinstance(op, fuse.Load))
            (keys if of_keys else queries).update(loads)
    if not queries - keys:
        return
    name = "d" + str(1 + max(natural(d)[1] for d in kernel.dims))
    func.attributes["fuse.dims"] = dims_attribute({**kernel.dims, name: const(1)})
    for load in queries - keys:
        move_along(load, name)
    kernel = Kernel.of(func)
    for access in kernel.stores:
        if name in kernel.op_dims[access.op]:
            move_along(access.op, name)


def move_along(access: ir.Operation, dim: str) -> None:
    """Makes a dim of one point part of where an op reads or writes: of a coordinate that has one point, if
    there is one, else of the first.
    """
    at = [parse(text) for text in strings(access.attributes["at"])]
    sizes = TensorSpec.of(access.operands[0].type).sizes
    place = next((n for n, size in enumerate(sizes) if size.constant == 1), 0)
    at[place] = at[place] + sym(dim)
    access.attributes["at"] = text_list(at)


def _has_columns(kernel: Kernel, first: ir.Operation, columns: set[str]) -> bool:
    """Whether these dims are those of one factor of a product, and neither of the other nor what it sums."""
    left, right = (kernel.value_dims.get(v, frozenset()) for v in first.operands)
    return columns <= left ^ right and not columns & {*over(first)}


def _turn(kernel: Kernel, firsts: list[ir.Operation], lasts: list[ir.Operation], columns: set[str]) -> None:
    """Makes the columns those of the right factors of the first products, and what is computed of these the
    left factor of each last one: a block of it then is a left factor as it is made, and never transposed.
    """
    for first in firsts:
        if columns & kernel.value_dims.get(first.operands[0], frozenset()):
            _swap(first)
    made = {*firsts, *forward_slice(r for op in firsts for r in op.results)}
    for last in lasts:
        owner = last.operands[1].owner
        if not isinstance(owner, ir.Block) and owner.operation in made:
            _swap(last)


def _swap(product: ir.Operation) -> None:
    product.operands[0], product.operands[1] = product.operands[1], product.operands[0]


def _needs_rows(op: ir.Operation) -> NotOnline:
    kind = f" ({string(op.attributes['kind'])})" if "kind" in op.attributes else ""
    return NotOnline(
        "whole-row", f"{op.name}{kind} over {[*over(op)]} needs a whole row of the first product"
    )


def _replace(last: ir.Operation, kernel: Kernel, columns: set[str]) -> NotOnline | None:
    """Makes ``fuse.online_dot`` of the last product and the softmax whose exponentials it sums."""
    row = SoftmaxRow(kernel, last)
    candidates = [row.expectation(factors_of(value)) for value in last.operands]
    found = next((c for c in candidates if c is not None), None)
    if found is None:
        crossing = [op for op in kernel.reductions if op.name != DOT and {*over(op)} & columns]
        return _needs_rows(crossing[0] if crossing else kernel.reductions[0])
    factor = last.operands[1 - candidates.index(found)]
    if found.product or found.terms or found.constants or any(found.signs):
        return NotOnline("weights", "more than the exponentials of its softmax is multiplied")
    if str(factor.type) not in ONLINE_TYPES:
        return NotOnline("types", f"exponentials are not multiplied in {factor.type}")
    [softmax] = found.softmaxes
    if not row.is_last([softmax]):
        return NotOnline("stored", "what is computed for each row and column is stored, or read elsewhere")
    type_ = softmax.results[0].type
    with ir.InsertionPoint(last), last.location:
        fold = ir.Operation.create(
            ONLINE_DOT,
            results=[type_] * 3,
            operands=[softmax.operands[0], factor],
            attributes={"over": last.attributes["over"]},
        )
        value = fold.results[0]
        if found.normalised:
            value = arith.divf(value, fold.results[2])
        scale = joined(found.scale, FACTORS)
        if scale is not None:
            value = arith.mulf(value, scale)
    last.results[0].replace_all_uses_with(value)
    for result, new in zip(softmax.results, list(fold.results)[1:], strict=True):
        result.replace_all_uses_with(new)
    erase_dead(last, softmax)
    move_behind(fold)
    return None
