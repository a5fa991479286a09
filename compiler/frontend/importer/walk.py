"""The walk over the nodes of an FX graph, which imports one after the other.

What becomes of a ``call_function`` node, in the order in which it is asked (``import_node``):

- ``getitem`` is an entry of what its argument has become;
- a number or a size that is known is no op;
- an op that has a template (``fx/templates.py``) becomes the kernel that the template gives;
- the builder that the table of lowerings has for its op makes kernels, a view or an extern call; a result
  without elements is a ``fuse.empty``, and the builder is not asked;
- where the table has no builder, the builder refuses, or it failed in an import before this one, an extern
  call runs the op as itself.

Objects that only the host knows (sub-graphs, Triton kernels) become entries of ``ImportState.objects`` when
an extern call takes them (``extern.py``).

The walk finds a builder in the table of ``fx/table.py`` and imports none, so that the builders of
higher-order ops can import the walk: it takes them through their sub-graphs.
"""

import operator
from collections.abc import Sequence
from typing import Any

import torch
from torch import fx

from ...base.errors import BuilderFailed, CompileError, UnsupportedDtype, UnsupportedSize, UnsupportedValue
from ...fx.frames import describe
from ...fx.graph_text import held
from ...fx.table import BY_KIND, KEPT_WHOLE, LOWERINGS, Refused, draws, target_name
from ...fx.templates import template_of
from .call import Call
from .extern import call_extern
from .locations import location_of
from .main_function import hold_constants, take_placeholders
from .state import ImportState
from .values import HostObject


def import_nodes(state: ImportState, example_inputs: Sequence[Any] = ()) -> tuple[tuple[int, ...], Any]:
    """Imports every node of ``state.gm`` in order.

    Returns the numbers of the placeholders that are arguments of ``@main``, and the argument of the FX node
    ``output``: nodes, nested as the graph returns them.
    """
    inputs = take_placeholders(state, example_inputs)
    hold_constants(state)
    outputs: Any = ()
    for node in state.gm.graph.nodes:
        if node.op == "call_function":
            state.values[node] = import_node(state, node)
        elif node.op == "get_attr" and node not in state.values:
            state.values[node] = HostObject(str(node.target), held(state.gm, str(node.target)))
        elif node.op == "output":
            outputs = node.args[0]
        elif node.op not in ("placeholder", "get_attr"):
            raise UnsupportedValue(name=node.name, kind=f"{node.op} node")
    return inputs, outputs


def import_node(state: ImportState, node: fx.Node) -> Any:
    """Emits the ops of a ``call_function`` node and returns its value (``values.py``).

    Raises BuilderFailed where the node's builder raises anything but a ``Refused`` or a ``CompileError``.
    """
    value = node.meta.get("val")
    if node.target is operator.getitem:
        return state.current(node.args[0])[node.args[1]]
    if isinstance(value, (int, float, bool)) and not _is_mutable(node):
        return value
    if isinstance(value, torch.SymInt) and not node.meta.get("unbacked_bindings"):
        try:
            return state.symbols.expr(value, describe(node))
        except UnsupportedSize:
            pass  # the op computes it when the program runs
    location = location_of(node, state.context)
    name = target_name(node.target)
    if name.startswith(_QUANTIZED):
        raise UnsupportedDtype(name=describe(node), dtype="a quantised type")
    if state.random == "torch" and draws(node.target):
        return call_extern(state, node, name, location)
    lowering = LOWERINGS.get(name) if template_of(node) is None else BY_KIND["template"]
    if node.meta.get("unbacked_bindings") and not (lowering is not None and lowering.sizes):
        lowering = None  # the size of its result is known when it has run
    if lowering is None:
        if name not in KEPT_WHOLE and _is_op(state, node):
            state.fall_back(
                node, "it has no lowering" if name not in LOWERINGS else "its size depends on the data"
            )
        return call_extern(state, node, name, location)
    if name in state.failed:
        state.fall_back(node, state.failed[name])
        return call_extern(state, node, name, location)
    call = Call(state, node, location)
    try:
        if (
            not lowering.view
            and isinstance(value, torch.Tensor)
            and _is_empty(value)
            and not _is_mutable(node)
        ):
            spec = call.result
            return call.made(state.builder.empty(spec, location), value, spec)
        return lowering.build(call)
    except Refused as refusal:
        call.abandon()
        state.fall_back(node, str(refusal))
        return call_extern(state, node, name, location)
    except CompileError:
        raise
    except Exception as error:
        raise BuilderFailed(op=name, error=f"{type(error).__name__}: {error}") from error


def _is_op(state: ImportState, node: fx.Node) -> bool:
    """Whether a node falls back where the table has no builder: an op, or a higher-order one of graphs.
    Functions of Python compute sizes, and other higher-order ops launch what somebody else compiles.
    """
    if isinstance(node.target, torch._ops.OpOverload):
        return True
    given = [v.object for n in node.all_input_nodes if isinstance(v := state.values.get(n), HostObject)]
    is_higher = isinstance(node.target, torch._ops.HigherOrderOperator)
    return is_higher and any(isinstance(v, fx.GraphModule) for v in given)


#: Ops that make quantised tensors; the metadata calls them tensors of floats.
_QUANTIZED = (
    "aten.quantize_per_", "aten._make_per_", "aten._empty_affine_quantized",
    "aten._empty_per_channel_affine_quantized",
)  # fmt: skip


def _is_empty(fake: torch.Tensor) -> bool:
    return any(type(n) is int and n == 0 for n in fake.shape)


def _is_mutable(node: fx.Node) -> bool:
    """Whether the schema of the op says that it writes into an argument."""
    return isinstance(node.target, torch._ops.OpOverload) and node.target._schema.is_mutable
