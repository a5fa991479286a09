"""Parts of a graph as forms that can be timed: lowered by the rest of the pipeline, with launch plans."""

import logging
from dataclasses import replace
from typing import NamedTuple

from ....passes.manager import PassManager
from ....passes.pass_base import Pass, PassError
from ....passes.pipeline import MERGING, NO_SPILLS, RECOMPUTING, STAGES, Settings, Spills
from ....passes.products.review_libraries import ReviewLibraries
from ...analysis.fusion.graph import GroupGraph
from ...analysis.fusion.measured import PairKeys
from ...codegen.launches import kernel_sources
from ...ir.kernel import argument_attributes, string
from ...ir.layout import TensorSpec
from ...ir.sizes import estimate, hints_of
from ...ir.storage import functions_of
from ...mlir import ir
from ...runtime.gpu.program_form import ProgramForm, TensorArgument
from ...runtime.plans.make_plan import make_plan
from .graph_part import Groups, NoPart, part_of

log = logging.getLogger(__name__)


def lowering_passes(settings: Settings, recompute: bool, spills: Spills = NO_SPILLS) -> list[Pass]:
    """Those behind the merge of each group, without ``autotune-tiling``, whose table is not written yet.
    ``recompute``: whether ``recompute-producers`` and ``store-reductions`` may merge what stayed apart.
    ``spills``: as in ``Settings``.
    """
    settings = replace(settings, tiles="", spills=spills)
    first = STAGES.index(RECOMPUTING) + (not recompute)
    return [p for stage in STAGES[first:] for p in stage.passes(settings)]


def _merging_passes(settings: Settings, library: bool) -> list[Pass]:
    """Those that merge each group; ``library``: after what makes products the library's again."""
    back = [ReviewLibraries(settings.hardware, settings.fusions, back="all")] if library else []
    return [*back, *MERGING.passes(settings)]


class GraphPart(NamedTuple):
    """Groups of a graph.  together: they become one kernel; else each becomes one.  recompute: as in the
    whole graph, ``recompute-producers`` may merge some of these afterwards.  library: kernels of products
    become calls of the library again, if they can.
    """

    kernels: Groups
    together: bool = False
    recompute: bool = False
    library: bool = False


def form_of(
    module: ir.Module,
    graph: GroupGraph,
    groups: GraphPart,
    settings: Settings,
    spills: Spills = NO_SPILLS,
) -> tuple[ProgramForm, str] | None:
    """A part as a program of its own, see ``part_of``; None where there is none.  And the key of the pair of
    kernels that two groups have become, "" where they became others.  ``spills``: as in ``Settings``.
    """
    kernels, together, recompute, library = groups
    try:
        part = part_of(module, graph, kernels, together, library)
        hints = hints_of(functions_of(part)["main"])
        PassManager(_merging_passes(settings, library), verify_each=False).run(part)
        key = "" if together else _pair_key(part, *kernels)
        PassManager(lowering_passes(settings, recompute, spills), verify_each=False).run(part)
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
    return ProgramForm(make_plan(part), kernel_sources(part), tuple(arguments)), key


def _pair_key(part: ir.Module, *names: str) -> str:
    graph = GroupGraph.of(part)
    nodes = [[n for n in graph.summaries if name in graph.deps.nodes[n].name] for name in names]
    return PairKeys(graph)(*nodes) if [len(found) for found in nodes] == [1, 1] else ""


def _tensor(spec: TensorSpec, hints: dict[str, int]) -> TensorArgument:
    """A tensor with every size at its hint."""
    sizes, strides = (tuple(estimate(e, hints) for e in each) for each in (spec.sizes, spec.strides))
    return TensorArgument(spec.element, sizes, strides, estimate(spec.offset, hints))
