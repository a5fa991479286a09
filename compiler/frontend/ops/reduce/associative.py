"""``associative_scan``: the functions that combine two runs of elements are read from the sub-graph, and each
result becomes a running fold, a ``fuse.scan``.
"""

from collections.abc import Mapping
from typing import Any

import torch
from torch import fx

from ....fx.table import lowers, target_name
from ....ir.reductions import LINEAR, LOG_SUM_EXP
from ...importer.call import Call
from ...importer.subgraphs import subgraph_of
from ...importer.values import Tensor
from .scans import prefix

#: Kinds of scans whose two runs one op combines.
_KINDS = {
    "aten.add.Tensor": "sum",
    "aten.mul.Tensor": "prod",
    "aten.maximum.default": "max",
    "aten.minimum.default": "min",
    "aten.logaddexp.default": LOG_SUM_EXP,
}


@lowers("higher_order.associative_scan")
def associative_scan(call: Call) -> Any:
    """Along the first dim.  Each result is a sum, a product, a maximum, a minimum or a logarithm of a sum of
    exponentials of one input, or a linear recurrence h[t] = a[t] * h[t - 1] + x[t] of two, of which another
    result is the product of all a.  Anything else, integers of 8 bits and bools are refused.

    Values of 16 bits stay float32 along the scan.
    """
    graph, inputs, *others = call.node.args
    sources = list(call.resolve(inputs))
    combine, _ = subgraph_of(call, graph)
    if any(map(call.resolve, others)):
        call.refuse("its function takes more than two runs")
    if not all(
        isinstance(t, Tensor) and (t.dtype.is_floating_point or t.dtype.itemsize > 1) for t in sources
    ):
        call.refuse("it scans something besides floats and integers of 16 bits and more")
    forms = _forms(combine, len(sources))
    if not forms:
        call.refuse("its function is no sum, product, extreme or linear recurrence")
    made = []
    for (kind, gate), source, fake in zip(forms, sources, call.value, strict=True):
        if gate is not None and not source.dtype.is_floating_point:
            call.refuse("a linear recurrence of integers is not generated")
        made.append(_scanned(call, kind, source, None if gate is None else sources[gate], fake))
    return made


def _scanned(call: Call, kind: str, source: Tensor, gate: Tensor | None, fake: torch.Tensor) -> Any:
    """One result.  gate: what a linear recurrence multiplies by."""
    read = [source] if gate is None else [source, gate]
    kernel = call.kernel(read, [call.fresh(fake)])
    at = kernel.iterate(kernel.outputs[0].sizes)
    values = [
        kernel.widen(kernel.cast(kernel.load_raw(t, kernel.broadcast(t, at)), source.dtype)) for t in read
    ]
    scanned = values[0] if at[0].is_constant else prefix(kernel, kind, at[0], *values)
    kernel.store(0, at, scanned)
    return call.finish(kernel, [fake])


def _forms(combine: fx.GraphModule, count: int) -> list[tuple[str, int | None]]:
    """Of each result the kind of its scan and, of a linear recurrence, the input that it multiplies by; none
    for other functions.
    """
    given = [node for node in combine.graph.nodes if node.op == "placeholder"]
    (output,) = combine.graph.find_nodes(op="output")
    made = output.args[0] if isinstance(output.args[0], (tuple, list)) else [output.args[0]]
    if len(given) != 2 * count or len(made) != count:
        return []
    before, after = given[:count], given[count:]
    kinds = [_kind(node, one, two) for node, one, two in zip(made, before, after, strict=True)]
    gates = {after[i]: i for i, kind in enumerate(kinds) if kind == "prod"}
    forms: list[tuple[str, int | None]] = []
    for kind, node, one, two in zip(kinds, made, before, after, strict=True):
        gate = None if kind else _gate(node, one, two, gates)
        if kind is None and gate is None:
            return []
        forms.append((kind or LINEAR, gate))
    return forms


def _kind(node: Any, before: fx.Node, after: fx.Node) -> str | None:
    """The kind of scan that combines two runs by one op."""
    return _KINDS.get(target_name(node.target)) if _operands(node) == {before, after} else None


def _gate(node: Any, before: fx.Node, after: fx.Node, gates: Mapping[fx.Node, int]) -> int | None:
    """The number of the gate in ``gate * before + after``."""
    if after not in _operands(node) or _called(node) != "aten.add.Tensor":
        return None
    for product in _operands(node) - {after}:
        for gate in _operands(product) - {before} if _called(product) == "aten.mul.Tensor" else ():
            if gate in gates and before in product.args:
                return gates[gate]
    return None


def _called(node: fx.Node) -> str:
    return target_name(node.target) if node.op == "call_function" else ""


def _operands(node: Any) -> set[fx.Node]:
    """The two nodes that an op combines, nothing where it takes anything else."""
    if not isinstance(node, fx.Node) or node.op != "call_function" or node.kwargs or len(node.args) != 2:
        return set()
    return set(node.args) if all(isinstance(a, fx.Node) for a in node.args) else set()
