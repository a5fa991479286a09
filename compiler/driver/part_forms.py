"""Parts of a graph as forms that can be timed: lowered by the rest of the pipeline, with their launch plans."""

import logging
from collections.abc import Sequence

from ...passes.manager import PassManager
from ...passes.pass_base import Pass, PassError
from ..analysis.fusion.graph import GroupGraph
from ..codegen.launches import kernel_sources
from ..ir.kernel import argument_attributes, string
from ..ir.layout import TensorSpec
from ..ir.sizes import estimate, hints_of
from ..ir.storage import functions_of
from ..mlir import ir
from ..runtime.gpu.program_form import ProgramForm, TensorArgument
from ..runtime.plans.make_plan import make_plan
from .graph_part import Groups, NoPart, part_of

log = logging.getLogger(__name__)

#: Passes that would fuse what is to stay apart, or read tables of whole graphs.
_LEFT_OUT = ("recompute-producers", "autotune-tiling")


def lowering_of(passes: Sequence[Pass]) -> tuple[Pass, ...]:
    """Of a pipeline, the passes that lower groups: from ``materialize-fusion`` on, without those that fuse."""
    first = next(n for n, p in enumerate(passes) if p.name == "materialize-fusion")
    return tuple(p for p in passes[first:] if p.name not in _LEFT_OUT)


def form_of(
    module: ir.Module, graph: GroupGraph, kernels: Groups, together: bool, lowering: Sequence[Pass]
) -> ProgramForm | None:
    """The calls of ``kernels`` as a program of their own, see ``part_of``.  None where there is none."""
    try:
        part = part_of(module, graph, kernels, together)
        hints = hints_of(functions_of(part)["main"])
        PassManager(lowering, verify_each=False).run(part)
    except (NoPart, PassError, ir.MLIRError) as error:
        log.debug("autotune: %s cannot be compiled alone: %s", ", ".join(kernels), error)
        return None
    main = functions_of(part)["main"]
    arguments: list[TensorArgument | int] = []
    for value, said in zip(main.regions[0].blocks[0].arguments, argument_attributes(main), strict=True):
        if isinstance(value.type, ir.RankedTensorType):
            arguments.append(_tensor(TensorSpec.of(value.type), hints))
        else:
            arguments.append(hints.get(string(said["fuse.sym"]), 0))
    return ProgramForm(make_plan(part), kernel_sources(part), tuple(arguments))


def _tensor(spec: TensorSpec, hints: dict[str, int]) -> TensorArgument:
    """A tensor with every size at its hint."""
    sizes, strides = (tuple(estimate(e, hints) for e in each) for each in (spec.sizes, spec.strides))
    return TensorArgument(spec.element, sizes, strides, estimate(spec.offset, hints))
