"""``associative_scan``: the functions that combine two runs of elements are read from the sub-graph, and each
result becomes a running fold, a ``fuse.scan``.
"""

from typing import Any

import torch

from ....fx.table import lowers
from ....rewrites.captured.scan_gradients import scan_forms
from ...importer.call import Call
from ...importer.subgraphs import subgraph_of
from ...importer.values import Tensor
from .scans import prefix


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
    forms = scan_forms(combine, len(sources))
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
