"""From a post-AOTAutograd FX graph to a module at the ``graph`` level.

    imported = import_graph(gm, example_inputs, context=make_context(), device="cuda:0")

``state.py`` holds what one import knows, ``walk.py`` takes the nodes in order, ``main_function.py`` opens and
closes ``@main``.  This module fills the table of lowerings, says what the outputs are, and begins again where
a builder failed.
"""

import logging
from collections.abc import Sequence
from typing import Any

import torch
from torch import fx
from torch.utils import _pytree as pytree

from ...base.dataclass import dataclass
from ...base.errors import BuilderFailed
from ...base.options import Random
from ...base.remarks import Remarks
from ...fx.roundings import round_what_decides
from ...fx.template_answers import settle_sizes
from ...index import Expr
from ...mlir import ir
from .. import ops
from .interface import Fallback, Output, OutputArgument, OutputConstant, OutputResult
from .main_function import close_main
from .state import ImportState
from .values import Number, PassedOn, Tensor
from .walk import import_nodes

ops.load()

log = logging.getLogger(__name__)


@dataclass
class ImportedGraph:
    """What ``import_graph`` returns.

    Arguments of ``@main``: the placeholders ``inputs`` (their numbers; a placeholder that is None or a
    number has no argument), then ``constants`` in order.  ``output_spec`` has one entry per leaf of the FX
    output, whose nesting is ``output_tree``.
    """

    module: ir.Module
    objects: dict[str, Any]
    constants: dict[str, torch.Tensor]
    inputs: tuple[int, ...]
    output_spec: tuple[Output, ...]
    output_tree: pytree.TreeSpec
    fallbacks: tuple[Fallback, ...]
    remarks: Remarks


def import_graph(
    gm: fx.GraphModule,
    example_inputs: Sequence[Any] = (),
    *,
    context: ir.Context,
    device: str,
    strict: bool = False,
    recovers: bool = False,
    random: Random = "generated",
    given: bool = False,
) -> ImportedGraph:
    """Imports ``gm``.  Shapes, strides and dtypes come from ``node.meta["val"]``, for placeholders without
    it from ``example_inputs``.

    ``device`` is the module's: ``"cpu"`` or ``"cuda:0"``.  ``random``: as the option.  ``given``: the caller
    gives up the arguments (attribute ``fuse.given``).  Raises ImportGraphError
    (compiler/base/errors.py) for what a module cannot hold, and with ``strict`` UnsupportedOp for whatever
    would fall back.  An exception
    that a builder should not raise is raised, unless the import ``recovers``: it begins again, so that
    nothing half-made is left, and the op runs as itself wherever the graph has it.
    """
    round_what_decides(gm)
    settle_sizes(gm)
    failed: dict[str, str] = {}
    while True:
        try:
            state = ImportState(gm, context, device, strict, failed, random)
            imported = _import(state, example_inputs)
            if given:
                state.builder.main.attributes["fuse.given"] = state.builder.unit
            return imported
        except BuilderFailed as failure:
            assert failure.__cause__ is not None
            op = failure.fields["op"]
            if strict or not recovers or op in failed:
                raise failure.__cause__ from None
            log.warning("%s runs as itself: %s", op, failure, exc_info=failure.__cause__)
            failed[op] = str(failure)


def _import(state: ImportState, example_inputs: Sequence[Any]) -> ImportedGraph:
    """One attempt, which fills ``state``."""
    inputs, outputs = import_nodes(state, example_inputs)
    leaves, tree = pytree.tree_flatten(outputs, is_leaf=lambda x: x is None)
    spec = _return_outputs(state, leaves)
    return ImportedGraph(
        state.builder.module,
        state.objects,
        state.arguments.constants,
        inputs,
        spec,
        tree,
        tuple(state.fallbacks),
        state.remarks,
    )


def _return_outputs(state: ImportState, leaves: Sequence[Any]) -> tuple[Output, ...]:
    """Closes ``@main``: it returns the outputs, each once, then the new values of mutated arguments."""
    builder = state.builder
    results: dict[ir.Value, int] = {}
    spec: list[Output] = []
    for leaf in leaves:
        passed = state.values[leaf] if isinstance(leaf, fx.Node) else None
        if isinstance(passed, PassedOn):
            spec.append(OutputArgument(passed.position))
            continue
        value = state.resolve(leaf)
        if isinstance(value, Expr):
            value = (
                OutputConstant(value.constant)
                if value.is_constant
                else state.symbols.value(value, builder.unknown)
            )
        elif isinstance(value, (Tensor, Number)):
            value = value.value
        if isinstance(value, ir.Value):
            spec.append(OutputResult(results.setdefault(value, len(results))))
        else:
            spec.append(value if isinstance(value, OutputConstant) else OutputConstant(value))
    mutates = {
        str(results.setdefault(v, len(results))): builder.int64(a) for a, v in sorted(state.mutated.items())
    }
    close_main(state, list(results), mutates)
    return tuple(spec)
