"""The default pipeline: the compiler's summary.  One line for each pass: what switches it on, and why it runs
there.

``docs/passes.md`` is generated from these tables, as ``docs/rewrites.md`` is from those of the rewrites of FX
graphs (``compiler/rewrites/stages.py``).
"""

from collections.abc import Callable
from dataclasses import replace
from enum import Enum

from ..compiler.base.dataclass import dataclass
from ..compiler.base.options import DEFAULT_ROUNDING, Collectives, Products, Rounding, UserKernels
from .collectives.bucket_collectives import BucketCollectives
from .collectives.overlap_collectives import OverlapCollectives
from .fusion.fuse_components import FuseComponents
from .fusion.fuse_horizontal import FuseHorizontal
from .fusion.fuse_vertical import FuseVertical
from .fusion.materialize_fusion import MaterializeFusion
from .fusion.recompute_producers import RecomputeProducers
from .fusion.recompute_rows import RecomputeRows
from .fusion.store_reductions import StoreReductions
from .graph.deduplicate_calls import DeduplicateCalls
from .graph.deduplicate_checks import DeduplicateChecks
from .graph.deduplicate_kernels import DeduplicateKernels
from .graph.deduplicate_results import DeduplicateResults
from .graph.duplicate_cheap import DuplicateCheap
from .graph.eliminate_dead import EliminateDead
from .graph.fold_views import FoldViews
from .graph.lower_control_deps import LowerControlDeps
from .graph.store_pieces import StorePieces
from .kernels.check_apart import CheckApart
from .kernels.combine_reductions import CombineReductions
from .kernels.fold_factors import FoldFactors
from .kernels.fold_ranges import FoldRanges
from .kernels.keep_float32 import KeepFloat32
from .kernels.lower_device_assert import LowerDeviceAssert
from .kernels.merge_arms import MergeArms
from .kernels.narrow_stores import NarrowStores
from .kernels.simplify_dims import SimplifyDims
from .kernels.split_reductions import SplitReductions
from .kernels.unroll_and_jam import UnrollAndJam
from .kernels.unroll_reductions import UnrollReductions
from .kernels.unroll_rows import UnrollRows
from .memory.plan_memory import PlanMemory
from .memory.reinplace_updates import ReinplaceUpdates
from .memory.reorder_for_peak import ReorderForPeak
from .memory.write_in_place import WriteInPlace
from .pass_base import Pass
from .products.activate_products import ActivateProducts
from .products.add_products_in_place import AddProductsInPlace
from .products.choose_libraries import ChooseLibraries
from .products.concat_products_in_place import ConcatProductsInPlace
from .products.derive_cascades import DeriveCascades
from .products.expand_dots import ExpandDots
from .products.library_products import Where
from .products.review_libraries import ReviewLibraries
from .products.slice_products import SliceProducts
from .products.unpack_dots import UnpackDots
from .tiling.apply_tiling import ApplyTiling
from .tiling.autotune_tiling import AutotuneTiling
from .tiling.choose_tiling import ChooseTiling
from .tiling.combine_launches import CombineLaunches
from .tiling.join_products import JoinProducts
from .tiling.launch_early import LaunchEarly
from .tiling.lower_to_tt import LowerToTt
from .tiling.reroll_loops import RerollLoops
from .user_fusion.fuse_user_epilogues import FuseUserEpilogues
from .user_fusion.fuse_user_prologues import FuseUserPrologues

#: Levels of the IR, in order; a pipeline "to" a level ends with a module of that level.
LEVELS = ("graph", "scheduled", "tiled", "planned")


@dataclass(frozen=True)
class Spills:
    """What took more registers or shared memory than there are, which is known once Triton has compiled it.

    kernels:  the names of kernels, each once for every tile of it that took too much.
    products: FX nodes of products whose kernels did with each tile, which are the library's.
    """

    kernels: tuple[str, ...] = ()
    products: tuple[str, ...] = ()


NO_SPILLS = Spills()


@dataclass(frozen=True)
class Settings:
    """What the passes are told beside the module.

    hardware:       the name of a model of the GPU.
    fusions, tiles: tables of measured pairs of kernels, and of tiles, if any.
    rounding (of 16-bit results between the ops of a kernel), products (who computes them), user_kernels
    (whether they fuse), collectives: the options of these names, see ``Options``.
    activations, sums: the options ``where`` of ``activate-products`` and ``add-products-in-place``.
    spills:         what took too many registers in an earlier lowering.
    """

    hardware: str = "generic"
    fusions: str = ""
    tiles: str = ""
    rounding: Rounding = DEFAULT_ROUNDING
    products: Products = "auto"
    activations: Where = "gpu"
    sums: Where = "gpu"
    user_kernels: UserKernels = "fused"
    collectives: Collectives = "overlap"
    spills: Spills = NO_SPILLS


DEFAULT = Settings()


class PassSwitch(Enum):
    """What a pass that does not always run depends on; the value is what ``docs/passes.md`` says of it."""

    LIBRARIES = "option `products` is not `generated`"
    FLOAT32 = "option `rounding` is `float32`"
    BUCKETS = "option `collectives` is `bucket`"
    OVERLAP = "option `collectives` is not `keep`"
    MEASURED = "where tiles were measured"


def switched_on(settings: Settings) -> frozenset[PassSwitch]:
    """The switches that are on."""
    holds = {
        PassSwitch.LIBRARIES: settings.products != "generated",
        PassSwitch.FLOAT32: settings.rounding == "float32",
        PassSwitch.BUCKETS: settings.collectives == "bucket",
        PassSwitch.OVERLAP: settings.collectives != "keep",
        PassSwitch.MEASURED: bool(settings.tiles),
    }
    return frozenset(switch for switch, on in holds.items() if on)


def _choose_libraries(settings: Settings) -> Pass:
    """Without ``unpack-dots``, weights that are made of bytes are as others."""
    chosen = ChooseLibraries(settings.hardware, settings.products)
    unpacks = PassSwitch.FLOAT32 in switched_on(settings)
    return chosen if unpacks else replace(chosen, packed_rows=chosen.max_rows)


@dataclass(frozen=True)
class PassStep:
    """A pass, or what makes it of the settings; the reason why it runs there; what switches it on, if it does
    not always run.
    """

    runs: Pass | Callable[[Settings], Pass]
    reason: str
    switch: PassSwitch | None = None

    def made(self, settings: Settings) -> Pass:
        """The pass with its options."""
        return self.runs if isinstance(self.runs, Pass) else self.runs(settings)


@dataclass(frozen=True)
class PassStage:
    """Passes in the order in which they run.  reaches: the level that the module has afterwards, if that is
    another one than before.
    """

    name: str
    steps: tuple[PassStep, ...]
    reaches: str | None = None

    def passes(self, settings: Settings) -> list[Pass]:
        """Those whose switch is on."""
        on = switched_on(settings)
        return [step.made(settings) for step in self.steps if step.switch is None or step.switch in on]


#: Calls and kernels as they were imported: which products are kernels, and what is the same.
PREPARE = PassStage(
    "prepare",
    (
        PassStep(LowerControlDeps(), "tokens first: every later pass must see them"),
        PassStep(EliminateDead(), "do not analyse what nobody needs"),
        PassStep(
            lambda s: ActivateProducts(s.activations),
            "the library's functor is free: no kernel saves as much",
        ),
        PassStep(
            ConcatProductsInPlace(),
            "a result in two pieces needs no copy: no kernel saves it",
            PassSwitch.LIBRARIES,
        ),
        PassStep(
            lambda s: AddProductsInPlace(s.sums, "left"),
            "a sum in place costs nothing: no kernel saves it",
            PassSwitch.LIBRARIES,
        ),
        PassStep(_choose_libraries, "a product that is a kernel can fuse"),
        PassStep(lambda s: AddProductsInPlace(s.sums), "a product that stays a call can still save its sum"),
        PassStep(DeduplicateCalls(), "equal work once, before fusion copies it into kernels"),
        PassStep(FoldViews(), "kernels read roots directly, so producers and consumers meet"),
        PassStep(StorePieces(), "a kernel that makes several pieces computes what they share once"),
        PassStep(
            ReinplaceUpdates(), "a cache is written where it lies, before its copies fuse with anything"
        ),
        PassStep(UnrollReductions(), "a sum or a running sum of a few reads fuses like pointwise work"),
        PassStep(DuplicateCheap(), "constants and masks are cheaper to compute again than to read"),
    ),
)
#: Which kernels become one.
FUSION = PassStage(
    "fusion",
    (
        PassStep(
            lambda s: DeriveCascades(s.hardware, s.products, s.spills.products),
            "no pair of them pays",
            PassSwitch.FLOAT32,
        ),
        PassStep(
            lambda s: FuseVertical(hardware=s.hardware, fusions=s.fusions), "keep intermediates out of memory"
        ),
        PassStep(lambda s: FuseHorizontal(hardware=s.hardware, fusions=s.fusions), "read shared inputs once"),
        PassStep(
            lambda s: ReviewLibraries(s.hardware, s.fusions, spilled=s.spills.products),
            "what a product fuses with is known now",
        ),
    ),
)
#: What fusion decided.
MERGING = PassStage(
    "merging",
    (
        PassStep(MaterializeFusion(), "merge each group once"),
        PassStep(DeduplicateResults(), "a value stored into an argument needs no second tensor"),
        PassStep(EliminateDead(), "results that only fused consumers read"),
    ),
)
#: What is cheaper to compute again than to read.
RECOMPUTING = PassStage(
    "recomputing",
    (
        PassStep(
            lambda s: StoreReductions(s.hardware, s.fusions),
            "of what stayed apart, readers may need no more than reductions",
        ),
        PassStep(
            lambda s: RecomputeProducers(s.hardware, s.fusions),
            "what stayed apart may be cheaper to compute again",
        ),
        PassStep(MaterializeFusion(), "merge each copy with its reader"),
        PassStep(FoldRanges(), "what extents decide needs no code, nor an index that is computed a check"),
        PassStep(
            lambda s: RecomputeProducers(s.hardware, s.fusions, computed_indices=True),
            "what checks no index may be computed again",
        ),
        PassStep(MaterializeFusion(), "merge each copy with its reader"),
        PassStep(EliminateDead(), "originals that nobody reads any more"),
        PassStep(
            lambda s: RecomputeRows(s.hardware, s.fusions),
            "what stayed apart for a row that programs of products may compute",
        ),
        PassStep(MaterializeFusion(), "merge each copy with its reader"),
        PassStep(EliminateDead(), "originals that nobody reads any more"),
        PassStep(
            lambda s: FuseComponents(hardware=s.hardware, fusions=s.fusions),
            "what stayed apart for the points of a few components",
        ),
        PassStep(MaterializeFusion(), "merge each group once"),
        PassStep(EliminateDead(), "results that only fused consumers read"),
    ),
)
#: Kernels whose members are settled, each on its own.
KERNELS = PassStage(
    "kernels",
    (
        PassStep(UnpackDots(), "before: these stay products", PassSwitch.FLOAT32),
        PassStep(ExpandDots(), "what holds for sums holds for products"),
        PassStep(KeepFloat32(), "only memory holds 16 bits", PassSwitch.FLOAT32),
        PassStep(FoldFactors(), "behind: roundings between factors are gone", PassSwitch.FLOAT32),
        PassStep(NarrowStores(), "write only the part that changes, once fusion of the whole is over"),
        PassStep(
            ConcatProductsInPlace(),
            "updates that replace all of a tensor are one kernel by now, which concatenates",
            PassSwitch.LIBRARIES,
        ),
        PassStep(lambda s: FuseUserEpilogues(s.hardware, s.user_kernels), "its readers are fused by now"),
        PassStep(lambda s: FuseUserPrologues(s.hardware, s.user_kernels), "behind it: nothing runs again"),
        PassStep(SimplifyDims(), "fewest dims: cheapest indices, widest accesses"),
        PassStep(UnrollRows(), "what is read of weights serves all rows"),
        PassStep(lambda s: UnrollAndJam(s.hardware), "what is read of an image serves several rows"),
        PassStep(LowerDeviceAssert(), "guards become part of the condition"),
    ),
)
#: Launches that are settled, in their order.
ORDER = PassStage(
    "order",
    (
        PassStep(lambda s: BucketCollectives(s.hardware), "one latency for several", PassSwitch.BUCKETS),
        PassStep(ReorderForPeak(), "launches are known now: the order with the lowest peak"),
        PassStep(lambda s: OverlapCollectives(s.hardware), "work runs beside them", PassSwitch.OVERLAP),
    ),
    reaches="scheduled",
)
#: Kernels as tile code.
TILING = PassStage(
    "tiling",
    (
        PassStep(MergeArms(), "one read for the two halves of a row"),
        PassStep(CombineReductions(), "one read for what needs two"),
        PassStep(lambda s: SplitReductions(s.hardware), "few long rows would leave most of the GPU idle"),
        PassStep(WriteInPlace(), "fusion is over: results may overwrite dead operands"),
        PassStep(DeduplicateChecks(), "launches are in order: what was asserted before holds"),
        PassStep(lambda s: CheckApart(s.hardware), "fusion is over: no product calls what a failure calls"),
        PassStep(DeduplicateKernels(), "equal kernels are tiled and compiled once"),
        PassStep(lambda s: SliceProducts(s.hardware), "a sum for each warp: few rows leave few programs"),
        PassStep(
            lambda s: ChooseTiling(s.hardware, spilled=s.spills.kernels),
            "after all fusion: kernels are settled",
        ),
        PassStep(
            lambda s: AutotuneTiling(s.tiles), "measured tiles, where there are any", PassSwitch.MEASURED
        ),
        PassStep(ApplyTiling(), "loops, masks and tiles become explicit"),
        PassStep(JoinProducts(), "tiles say what is taken apart in each step of a loop"),
        PassStep(
            lambda s: RerollLoops(s.hardware),
            "steps that a program spells out are tile code now, with their addresses",
        ),
        PassStep(
            lambda s: CombineLaunches(s.hardware), "small kernels pay for one launch, and run side by side"
        ),
        PassStep(lambda s: LaunchEarly(s.hardware), "launches are settled, and in order"),
    ),
    reaches="tiled",
)
#: What is launched.
MEMORY = PassStage(
    "memory",
    (
        PassStep(PlanMemory(), "lifetimes are known only once the order is fixed"),
        PassStep(LowerToTt(), "exactly what Triton compiles"),
    ),
    reaches="planned",
)

#: In the order in which they run.
STAGES = (PREPARE, FUSION, MERGING, RECOMPUTING, KERNELS, ORDER, TILING, MEMORY)


def stages_to(level: str) -> tuple[PassStage, ...]:
    """Those that bring an imported module to ``level``.  Raises ValueError on an unknown level."""
    if level not in LEVELS:
        raise ValueError(f"unknown level '{level}': expected one of {', '.join(LEVELS)}")
    ends = [LEVELS[0], *(stage.reaches for stage in STAGES)]
    return STAGES[: ends.index(level)]


def default_pipeline(level: str = "planned", settings: Settings = DEFAULT) -> list[Pass]:
    """The passes that bring an imported module to ``level``.  Raises ValueError on an unknown level."""
    return [p for stage in stages_to(level) for p in stage.passes(settings)]


def levels_reached(level: str = "planned", settings: Settings = DEFAULT) -> dict[int, str]:
    """Of the same ``default_pipeline``: by the numbers of passes, the levels that they reach."""
    found, passes = dict[int, str](), 0
    for stage in stages_to(level):
        passes += len(stage.passes(settings))
        if stage.reaches is not None:
            found[passes - 1] = stage.reaches
    return found
