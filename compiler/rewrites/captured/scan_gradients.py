"""The gradients of sums, products and linear recurrences along time are such recurrences, backwards in time.

Before, in the graph that Dynamo captured, where gradients are asked for, with a function that gives
``[a * b, x * b + y]``::

    p, h = higher_order.associative_scan(combine, [gates, values], ())

After::

    p, h = scan_with_gradients(combine, [gates, values], (("prod", None), ("linear", 0)))

which is the same call, with a backward pass of its own: ``g[t] = dh[t] + gates[t + 1] * g[t + 1]`` is another
``associative_scan``, the gradient of ``values`` is ``g``, and that of ``gates[t]`` is ``g[t] * h[t - 1]``.
torch's own backward pass makes a matrix of T x T for each row of T steps, and multiplies along it.

It does not fire where an input has another shape than the others, on other functions, which keep torch's
gradient, or where no input needs a gradient.

Why not an MLIR pass: AOTAutograd has traced the matrix by then.
"""

import operator
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.fx import Graph, GraphModule, Node

from ...fx.new_node import new_node
from ...ir.reductions import LINEAR, LOG_SUM_EXP
from ..rewriting import rewrite
from .matching import example, rewrite_graphs

#: Of each result of an ``associative_scan`` the kind of its scan and, of a linear recurrence, the number of
#: the input that it multiplies by.
ScanForms = tuple[tuple[str, int | None], ...]

_aten, _higher_order = torch.ops.aten, torch.ops.higher_order
_ADDED = (operator.add, torch.add, "add", _aten.add.Tensor)
_MULTIPLIED = (operator.mul, torch.mul, "mul", _aten.mul.Tensor)
#: What combines two runs -> the kind of the scan.
_KINDS: dict[Any, str] = {
    **dict.fromkeys(_ADDED, "sum"),
    **dict.fromkeys(_MULTIPLIED, "prod"),
    **dict.fromkeys((torch.maximum, "maximum", _aten.maximum.default), "max"),
    **dict.fromkeys((torch.minimum, "minimum", _aten.minimum.default), "min"),
    **dict.fromkeys((torch.logaddexp, "logaddexp", _aten.logaddexp.default), LOG_SUM_EXP),
}


@rewrite("scan-gradients", "the gradient of a recurrence is one backwards in time")
def scan_backwards(gm: GraphModule) -> int:
    """Rewrites every such scan in a captured graph and the graphs inside it, in place; how many."""
    return rewrite_graphs(gm, lambda graph: sum(_rewritten(gm, graph, node) for node in list(graph.nodes)))


def _rewritten(gm: GraphModule, graph: Graph, node: Node) -> bool:
    if node.target is not _higher_order.associative_scan or node.kwargs or node.args[2]:
        return False
    combine, inputs, _ = node.args
    held = (
        getattr(graph.owning_module or gm, str(combine.target), None) if isinstance(combine, Node) else None
    )
    given = [example(x) for x in inputs]
    if not isinstance(held, GraphModule) or any(x is None for x in given):
        return False
    forms = scan_forms(held, len(given))
    plain = len({tuple(map(str, x.shape)) for x in given if x is not None}) == 1
    asked = any(x is not None and x.requires_grad for x in given)
    if not (forms and plain and asked and all(kind in ("sum", "prod", LINEAR) for kind, _ in forms)):
        return False
    with graph.inserting_before(node):
        made = new_node(graph, scan_with_gradients, combine, inputs, forms, like=node)
    made.meta = dict(node.meta)
    node.replace_all_uses_with(made)
    graph.erase_node(node)
    return True


def scan_forms(combine: GraphModule, count: int) -> ScanForms:
    """What the function of an ``associative_scan`` of ``count`` inputs computes, as Dynamo or AOTAutograd
    captured it; () for functions that are no folds and no linear recurrences.
    """
    given = [node for node in combine.graph.nodes if node.op == "placeholder"]
    (output,) = combine.graph.find_nodes(op="output")
    made = output.args[0] if isinstance(output.args[0], (tuple, list)) else [output.args[0]]
    if len(given) != 2 * count or len(made) != count:
        return ()
    before, after = given[:count], given[count:]
    kinds = [_kind(node, one, two) for node, one, two in zip(made, before, after, strict=True)]
    gates = {after[i]: i for i, kind in enumerate(kinds) if kind == "prod"}
    forms: list[tuple[str, int | None]] = []
    for kind, node, one, two in zip(kinds, made, before, after, strict=True):
        gate = None if kind else _gate(node, one, two, gates)
        if kind is None and gate is None:
            return ()
        forms.append((kind or LINEAR, gate))
    return tuple(forms)


def _kind(node: Any, before: Node, after: Node) -> str | None:
    """The kind of scan that combines two runs by one op."""
    return _KINDS.get(node.target) if _operands(node) == {before, after} else None


def _gate(node: Any, before: Node, after: Node, gates: Mapping[Node, int]) -> int | None:
    """The number of the gate in ``gate * before + after``."""
    if after not in _operands(node) or node.target not in _ADDED:
        return None
    for product in _operands(node) - {after}:
        for gate in _operands(product) - {before} if product.target in _MULTIPLIED else ():
            if gate in gates and before in product.args:
                return gates[gate]
    return None


def _operands(node: Any) -> set[Node]:
    """The two nodes that an op combines, nothing where it takes anything else."""
    if not isinstance(node, Node) or node.op not in ("call_function", "call_method"):
        return set()
    if node.kwargs or len(node.args) != 2:
        return set()
    return (
        {a for a in node.args if isinstance(a, Node)}
        if all(isinstance(a, Node) for a in node.args)
        else set()
    )


def scan_with_gradients(
    combine: GraphModule, inputs: Sequence[Tensor], forms: ScanForms
) -> tuple[Tensor, ...]:
    """``associative_scan`` along the first dim, of inputs of one shape, whose gradients are scans as well."""
    made: tuple[Tensor, ...] = _Scan.apply(combine, forms, *inputs)
    return made


class _Scan(torch.autograd.Function):
    """The call, and its gradients."""

    @staticmethod
    def forward(ctx: Any, combine: GraphModule, forms: ScanForms, *inputs: Tensor) -> tuple[Tensor, ...]:
        made = _higher_order.associative_scan(combine, list(inputs), ())
        ctx.forms = forms
        ctx.save_for_backward(*inputs, *made)
        ctx.set_materialize_grads(False)
        return tuple(made)

    @staticmethod
    def backward(ctx: Any, *given: Tensor | None) -> tuple[Tensor | None, ...]:
        saved, count = ctx.saved_tensors, len(ctx.forms)
        inputs, made = saved[:count], saved[count:]
        found: list[Tensor | None] = [None] * count
        for number, ((kind, gate), gradient) in enumerate(zip(ctx.forms, given, strict=True)):
            if gradient is None:
                continue
            if kind == "sum":
                _add(found, number, gradient.flip(0).cumsum(0).flip(0))
                continue
            factor = number if gate is None else gate
            total = _backwards(gradient, inputs[factor])
            first = total[:1] if gate is None else torch.zeros_like(total[:1])
            _add(found, factor, torch.cat([first, total[1:] * made[number][:-1]]))
            if gate is not None:
                _add(found, number, total)
        return None, None, *found


def _add(found: list[Tensor | None], number: int, gradient: Tensor) -> None:
    known = found[number]
    found[number] = gradient if known is None else known + gradient


def _backwards(gradient: Tensor, gates: Tensor) -> Tensor:
    """g[t] = gradient[t] + gates[t + 1] * g[t + 1]."""
    scanned = _higher_order.associative_scan(_advance, [gates.flip(0).roll(1, 0), gradient.flip(0)], ())
    total: Tensor = scanned[1].flip(0)
    return total


def _advance(a: Tensor, x: Tensor, b: Tensor, y: Tensor) -> list[Tensor]:
    return [a * b, x * b + y]


__all__ = ["ScanForms", "scan_backwards", "scan_forms", "scan_with_gradients"]
