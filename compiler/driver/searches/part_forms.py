"""Parts of a graph as forms that can be timed: lowered by the rest of the pipeline, with launch plans."""

import logging
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from ....passes.choose_tiling import ChooseTiling
from ....passes.manager import PassManager
from ....passes.pass_base import Pass, PassError
from ....passes.review_libraries import ReviewLibraries
from ...analysis.fusion.graph import GroupGraph
from ...analysis.fusion.measured import PairKeys
from ...base.dataclass import dataclass
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


@dataclass(frozen=True)
class PartLowering:
    """Of a pipeline, the passes that lower groups: the pass that gives products back to the library, all of
    them, those that merge each group, the pass that merges again what stayed apart (``recompute-producers``),
    and the rest.
    """

    back: tuple[Pass, ...]
    merging: tuple[Pass, ...]
    again: tuple[Pass, ...]
    rest: tuple[Pass, ...]

    @staticmethod
    def of(passes: Sequence[Pass]) -> "PartLowering":
        """Without ``autotune-tiling``, whose table is not written yet, and with the first tile of each
        kernel.
        """
        names = [p.name for p in passes]
        first, again = names.index("materialize-fusion"), names.index("recompute-producers")
        kept = [p for p in passes[again + 1 :] if p.name != "autotune-tiling"]
        rest = tuple(replace(p, spilled=()) if isinstance(p, ChooseTiling) else p for p in kept)
        back = tuple(replace(p, back="all") for p in passes[:first] if isinstance(p, ReviewLibraries))
        return PartLowering(back, tuple(passes[first:again]), (passes[again],), rest)

    def passes(self, again: bool, spilled: tuple[str, ...]) -> tuple[Pass, ...]:
        """Those after the merges.  ``spilled``: as in ``choose-tiling``."""
        rest = (replace(p, spilled=spilled) if isinstance(p, ChooseTiling) else p for p in self.rest)
        return (*(self.again if again else ()), *rest)


class GraphPart(NamedTuple):
    """Groups of a graph.  together: they become one kernel; else each becomes one.  again: as in the whole
    graph, ``recompute-producers`` may merge some of these afterwards.  library: kernels of products become
    calls of the library again, if they can.
    """

    kernels: Groups
    together: bool = False
    again: bool = False
    library: bool = False


def form_of(
    module: ir.Module,
    graph: GroupGraph,
    groups: GraphPart,
    lowering: PartLowering,
    spilled: tuple[str, ...] = (),
) -> tuple[ProgramForm, str] | None:
    """A part as a program of its own, see ``part_of``; None where there is none.  And the key of the pair of
    kernels that two groups have become, "" where they became others.  ``spilled``: as in ``choose-tiling``.
    """
    kernels, together, again, library = groups
    try:
        part = part_of(module, graph, kernels, together, library)
        hints = hints_of(functions_of(part)["main"])
        merging = (*(lowering.back if library else ()), *lowering.merging)
        PassManager(merging, verify_each=False).run(part)
        key = "" if together else _pair_key(part, *kernels)
        PassManager(lowering.passes(again, spilled), verify_each=False).run(part)
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
