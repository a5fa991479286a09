"""Sub-graphs of higher-order ops.  Each becomes a ``builtin.module`` inside the module around it, with a
``@main`` and kernels of its own, so that every pass treats it as it treats the whole program.

``import_subgraph`` imports one, with an import state of its own, and returns the ``Subgraph`` through which
the graph around it calls it.  The arguments of its ``@main`` are the sizes that it takes from around it, the
placeholders that have a value when it runs, and the tensors that it holds.
"""

from collections.abc import Sequence
from typing import Any

from torch import fx
from torch.utils import _pytree as pytree

from ...analysis.program.dependences import Dependences
from ...base.dataclass import dataclass
from ...base.errors import ImportGraphError, UnboundSymbol, UnsupportedOp
from ...fx.table import Refused
from ...index import Expr
from ...ir.layout import TensorSpec
from ...mlir import ir
from ...rewrites.graph.gathers import sink_gathers
from ...rewrites.rewriting import Rewriting
from .call import Call
from .main_function import close_main, constant_argument
from .state import ImportState
from .subgraph_calls import Subgraph, constant, laid_out, operand
from .values import HostObject, Number, Tensor
from .walk import import_nodes


@dataclass(frozen=True)
class Wanted:
    """A leaf of a sub-graph's output that it returns, and how it is to be laid out, where that is known."""

    number: int
    layout: TensorSpec | None = None


def subgraph_of(call: Call, argument: Any) -> tuple[fx.GraphModule, str]:
    """The graph that an argument of a higher-order op is, and its path; refuses anything else."""
    held = call.resolve(argument)
    if not isinstance(held, HostObject) or not isinstance(held.object, fx.GraphModule):
        call.refuse("what it runs is no graph")
    return held.object, held.name


def import_subgraph(
    call: Call, gm: fx.GraphModule, path: str, given: Sequence[Any], wanted: Sequence[Wanted] | None = None
) -> Subgraph:
    """Imports ``gm``, which the graph around it holds as ``path``, for the placeholders' values ``given``.

    It returns the leaves of its output that are ``wanted``, all by default.  The same graph is imported once.
    Refuses what cannot be a module.
    """
    state = call.state
    key = (id(gm), None if wanted is None else tuple(wanted))
    if key in state.subgraphs:
        return state.subgraphs[key]
    placeholders = [n for n in gm.graph.nodes if n.op == "placeholder"]
    if len(placeholders) != len(given):
        call.refuse(f"its sub-graph takes {len(placeholders)} arguments and gets {len(given)}")
    Rewriting(gm, state.remarks).run(sink_gathers, gm)
    nested, inputs, results = _import(call, gm, key[1])
    module = nested.builder.module
    state.fallbacks.extend(nested.fallbacks)
    state.remarks.items.extend(nested.remarks.items)
    state.objects.update(nested.objects)
    sizes = tuple(nested.outer_sizes or ())
    types = [argument.type for argument in nested.builder.main_block.arguments]
    subgraph = state.subgraphs[key] = Subgraph(
        state.builder.nest(path.replace(".", "_"), module),
        sizes,
        tuple(zip(inputs, types[len(sizes) :], strict=False)),
        tuple(
            constant_argument(state, f"{path}.{n}", t).value for n, t in nested.arguments.constants.items()
        ),
        results,
        _has_effect(module),
    )
    return subgraph


def _import(
    call: Call, gm: fx.GraphModule, wanted: Sequence[Wanted] | None
) -> tuple[ImportState, tuple[int, ...], tuple[ir.Type, ...]]:
    """The state of the sub-graph once it is imported, the numbers of the placeholders that are arguments, and
    the types of its results.  It is imported once more for each size that only the graph around it has.
    """
    state, outer = call.state, list[str]()
    while True:
        nested = ImportState(
            gm, state.context, state.device, state.strict, state.failed, state.random,
            objects=dict(state.objects),
            outer_sizes={name: state.builder.symbol_attributes[name] for name in outer},
        )  # fmt: skip
        try:
            inputs, outputs = import_nodes(nested)
            leaves = pytree.tree_leaves(outputs, is_leaf=lambda x: x is None)
            results = _results(nested, leaves, wanted)
            close_main(nested, results)
            return nested, inputs, tuple(v.type for v in results)
        except UnboundSymbol as error:
            missing = error.fields["symbol"]
            if missing in outer:
                call.refuse(str(error))
            if missing not in state.builder.symbol_values:
                raise  # perhaps the graph around this one has it
            outer.append(missing)
        except UnsupportedOp:
            raise
        except ImportGraphError as error:
            call.refuse(str(error))


def _results(state: ImportState, leaves: Sequence[Any], wanted: Sequence[Wanted] | None) -> list[ir.Value]:
    """One result of a sub-graph for each wanted leaf of its output, in order."""
    if state.mutated:
        raise Refused("its sub-graph writes to its arguments")
    wanted = [Wanted(i) for i in range(len(leaves))] if wanted is None else wanted
    if any(leaf.number >= len(leaves) for leaf in wanted):
        raise Refused(f"its sub-graph returns {len(leaves)} values, which are not enough")
    return [_returned(state, state.resolve(leaves[w.number]), w.layout) for w in wanted]


def _returned(state: ImportState, value: Any, layout: TensorSpec | None) -> ir.Value:
    builder = state.builder
    if isinstance(value, Tensor) and layout is not None and state.symbols.defines(layout.numel):
        return laid_out(builder, value, layout, builder.unknown)
    if isinstance(value, (Tensor, Number)):
        return value.value
    if isinstance(value, bool):
        return constant(builder, value, builder.element_type("i1"), builder.unknown)
    if isinstance(value, (int, Expr)):
        made: ir.Value = operand(state.symbols, value, builder.index_type, builder.unknown)
        return made
    raise Refused(f"its sub-graph returns {value}")


def _has_effect(module: ir.Module) -> bool:
    """Whether a graph does something besides its results.  Refuses one that writes to its arguments."""
    graph = Dependences.of(module)
    for node in graph.nodes:
        if any(graph.is_argument(v) for v in (*node.mutated, *node.destinations)):
            raise Refused("its sub-graph writes to its arguments")
    return any(node.effect for node in graph.nodes)
