"""Test helper: one ATen call as an FX graph with fake values, imported, verified and run by the
interpreter.
"""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from shared_context import shared_context
from torch import fx
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx
from torch.utils import _pytree as pytree

from fuse_mlir.compiler.frontend.autograd.decompositions import decomposition_table
from fuse_mlir.compiler.frontend.importer.importer import ImportedGraph, OutputResult, import_graph
from fuse_mlir.compiler.fx.table import LOWERINGS
from fuse_mlir.compiler.runtime.interpreter.program import run_module


def graph_of(
    op: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any] | None = None
) -> fx.GraphModule:
    """``op(*args, **kwargs)`` as a graph whose placeholders are the tensors among the arguments, in order."""
    mode = FakeTensorMode()
    graph = fx.Graph()
    number = 0

    def placeholder(leaf: Any) -> Any:
        nonlocal number
        if not isinstance(leaf, torch.Tensor):
            return leaf
        node = graph.placeholder(f"x{number}")
        node.meta["val"] = mode.from_tensor(leaf)
        number += 1
        return node

    args, kwargs = pytree.tree_map(placeholder, (tuple(args), kwargs or {}))
    node = graph.call_function(op, args, kwargs)
    with mode:
        fakes = pytree.tree_map(lambda a: a.meta["val"] if isinstance(a, fx.Node) else a, (args, kwargs))
        node.meta["val"] = op(*fakes[0], **fakes[1])
    results: Any = node
    if isinstance(node.meta["val"], (tuple, list)):
        results = []
        for i, value in enumerate(node.meta["val"]):
            import operator

            item = graph.call_function(operator.getitem, (node, i))
            item.meta["val"] = value
            results.append(item)
    graph.output(results)
    return fx.GraphModule(torch.nn.Module(), graph)


def capture(function: Callable[..., Any], *inputs: torch.Tensor, symbolic: bool = False) -> fx.GraphModule:
    """``function`` traced to ATen ops with fake values."""
    return make_fx(function, tracing_mode="symbolic" if symbolic else "fake")(*inputs)


def imported(gm: fx.GraphModule, **options: Any) -> ImportedGraph:
    """Imports for the CPU and verifies."""
    options = {"context": shared_context(), "device": "cpu"} | options
    result = import_graph(gm, (), **options)
    assert result.module.operation.verify()
    return result


def outputs(graph: ImportedGraph, inputs: Sequence[Any]) -> Any:
    """Runs the module on the placeholders' values; the outputs nested as in FX."""
    given = [inputs[i] for i in graph.inputs] + list(graph.constants.values())
    results = run_module(graph.module, given, objects=graph.objects)
    leaves = [results[o.index] if isinstance(o, OutputResult) else o.value for o in graph.output_spec]
    return pytree.tree_unflatten(leaves, graph.output_tree)


def run_one(
    op: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any] | None = None, *, strict: bool = True
) -> Any:
    """Imports and runs one call; ``strict``: it must not fall back."""
    tensors = [a for a in pytree.tree_leaves((tuple(args), kwargs or {})) if isinstance(a, torch.Tensor)]
    return outputs(imported(graph_of(op, args, kwargs), strict=strict), tensors)


def check_way(overload: str, said: str) -> None:
    """``said`` is "lowered" or "decomposed", or the reason why an overload is neither."""
    decomposed = {str(op) for op in decomposition_table()}
    found = "lowered" if overload in LOWERINGS else "decomposed" if overload in decomposed else "neither"
    assert found == (said if said in ("lowered", "decomposed") else "neither"), f"{overload}: {said}"
