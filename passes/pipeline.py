"""The default pipeline: the compiler's summary.  One line per pass, each with its reason."""

from collections.abc import Sequence

from ..compiler.base.options import DEFAULT_ROUNDING, Collectives, Products, Rounding, UserKernels
from .activate_products import ActivateProducts
from .add_products_in_place import AddProductsInPlace
from .apply_tiling import ApplyTiling
from .autotune_tiling import AutotuneTiling
from .bucket_collectives import BucketCollectives
from .choose_libraries import ChooseLibraries
from .choose_tiling import ChooseTiling
from .combine_launches import CombineLaunches
from .combine_reductions import CombineReductions
from .concat_products_in_place import ConcatProductsInPlace
from .deduplicate_calls import DeduplicateCalls
from .deduplicate_kernels import DeduplicateKernels
from .deduplicate_results import DeduplicateResults
from .derive_cascades import DeriveCascades
from .duplicate_cheap import DuplicateCheap
from .eliminate_dead import EliminateDead
from .expand_dots import ExpandDots
from .fold_ranges import FoldRanges
from .fold_views import FoldViews
from .fuse_horizontal import FuseHorizontal
from .fuse_user_epilogues import FuseUserEpilogues
from .fuse_user_prologues import FuseUserPrologues
from .fuse_vertical import FuseVertical
from .helpers.library_products import Where
from .keep_float32 import KeepFloat32
from .lower_control_deps import LowerControlDeps
from .lower_device_assert import LowerDeviceAssert
from .lower_to_tt import LowerToTt
from .materialize_fusion import MaterializeFusion
from .merge_arms import MergeArms
from .narrow_stores import NarrowStores
from .overlap_collectives import OverlapCollectives
from .pass_base import Pass
from .plan_memory import PlanMemory
from .recompute_producers import RecomputeProducers
from .reinplace_updates import ReinplaceUpdates
from .reorder_for_peak import ReorderForPeak
from .review_libraries import ReviewLibraries
from .simplify_dims import SimplifyDims
from .slice_products import SliceProducts
from .split_reductions import SplitReductions
from .unroll_reductions import UnrollReductions
from .unroll_rows import UnrollRows
from .write_in_place import WriteInPlace

#: Levels of the IR, in order; a pipeline "to" a level ends with a module of that level.
LEVELS = ("graph", "scheduled", "tiled", "planned")


def level_ends(
    level: str = "planned",
    tiles: str = "",
    rounding: Rounding = DEFAULT_ROUNDING,
    collectives: Collectives = "overlap",
) -> list[int]:
    """The numbers of the passes of the same ``default_pipeline`` after which a level is reached."""
    reached = LEVELS[1 : LEVELS.index(level) + 1]
    return [
        len(default_pipeline(each, tiles=tiles, rounding=rounding, collectives=collectives)) - 1
        for each in reached
    ]


def default_pipeline(
    level: str = "planned",
    hardware: str = "generic",
    *,
    fusions: str = "",
    tiles: str = "",
    rounding: Rounding = DEFAULT_ROUNDING,
    products: Products = "auto",
    activations: Where = "gpu",
    sums: Where = "gpu",
    user_kernels: UserKernels = "fused",
    collectives: Collectives = "overlap",
    spilled: tuple[str, ...] = (),
    back: tuple[str, ...] = (),
) -> list[Pass]:
    """The passes that bring an imported module to ``level``.

    ``fusions`` and ``tiles``: tables of measured pairs of kernels, and of tiles, if any.  ``rounding`` (of
    16-bit results between the ops of a kernel), ``products`` (who computes them), ``user_kernels`` (whether
    they fuse) and ``collectives`` are options, see ``Options``.  ``activations``, ``sums``: the options
    ``where`` of ``activate-products`` and ``add-products-in-place``.  ``spilled``: kernels whose tiles took
    too many registers.  ``back``: FX nodes of kernels all of whose tiles did.

    Raises ValueError on an unknown level.
    """
    if level not in LEVELS:
        raise ValueError(f"unknown level '{level}': expected one of {', '.join(LEVELS)}")
    calls: Where = "nowhere" if products == "generated" else "everywhere"
    early: Where = "nowhere" if products == "generated" else sums
    stages: dict[str, Sequence[Pass]] = {
        "graph": (),
        "scheduled": (
            LowerControlDeps(),  # tokens first: every later pass must see them
            EliminateDead(),  # do not analyse what nobody needs
            ActivateProducts(activations),  # the library's functor is free: no kernel saves as much
            ConcatProductsInPlace(calls),  # a result in two pieces needs no copy: no kernel saves it
            AddProductsInPlace(early, "left"),  # a sum in place costs nothing: no kernel saves it
            ChooseLibraries(hardware=hardware, products=products),  # a product that is a kernel can fuse
            AddProductsInPlace(sums),  # a product that stays a call can still save its sum
            DeduplicateCalls(),  # equal work once, before fusion copies it into kernels
            FoldViews(),  # kernels read roots directly, so producers and consumers meet
            ReinplaceUpdates(),  # a cache is written where it lies, before its copies fuse with anything
            UnrollReductions(),  # a sum or a running sum of a few reads fuses like pointwise work
            DuplicateCheap(),  # constants and masks are cheaper to compute again than to read
            *((DeriveCascades(hardware, products),) if rounding == "float32" else ()),  # no pair of them pays
            FuseVertical(hardware=hardware, fusions=fusions),  # keep intermediates out of memory
            FuseHorizontal(hardware=hardware, fusions=fusions),  # read shared inputs once
            ReviewLibraries(hardware, fusions, spilled=back),  # what a product fuses with is known now
            MaterializeFusion(),  # merge each group once
            DeduplicateResults(),  # a value stored into an argument needs no second tensor
            EliminateDead(),  # results that only fused consumers read
            RecomputeProducers(hardware, fusions),  # what stayed apart may be cheaper to compute again
            MaterializeFusion(),  # merge each copy with its reader
            EliminateDead(),  # originals that nobody reads any more
            ExpandDots(),  # what holds for sums holds for products
            *((KeepFloat32(),) if rounding == "float32" else ()),  # only memory holds 16 bits
            NarrowStores(),  # write only the part that changes, once fusion of the whole is over
            FoldRanges(),  # what extents decide needs no code
            FuseUserEpilogues(hardware=hardware, user_kernels=user_kernels),  # its readers are fused by now
            FuseUserPrologues(hardware=hardware, user_kernels=user_kernels),  # behind it: nothing runs again
            SimplifyDims(),  # fewest dims: cheapest indices, widest accesses
            UnrollRows(),  # what is read of weights serves all rows
            LowerDeviceAssert(),  # guards become part of the condition
            *((BucketCollectives(hardware),) if collectives == "bucket" else ()),  # one latency for several
            ReorderForPeak(),  # launches are known now: the order with the lowest peak
            *((OverlapCollectives(hardware),) if collectives != "keep" else ()),  # work runs beside them
        ),
        "tiled": (
            MergeArms(),  # one read for the two halves of a row
            CombineReductions(),  # one read for what needs two
            SplitReductions(hardware=hardware),  # few long rows would leave most of the GPU idle
            WriteInPlace(),  # fusion is over: results may overwrite dead operands
            DeduplicateKernels(),  # equal kernels are tiled and compiled once
            SliceProducts(hardware=hardware),  # a sum for each warp: few rows leave few programs
            ChooseTiling(hardware=hardware, spilled=spilled),  # after all fusion: kernels are settled
            *((AutotuneTiling(tiles),) if tiles else ()),  # measured tiles, where there are any
            ApplyTiling(),  # loops, masks and tiles become explicit
            CombineLaunches(hardware=hardware),  # small kernels pay for one launch, and run side by side
        ),
        "planned": (
            PlanMemory(),  # lifetimes are known only once the order is fixed
            LowerToTt(),  # exactly what Triton compiles
        ),
    }
    reached = LEVELS[: LEVELS.index(level) + 1]
    return [p for stage in reached for p in stages[stage]]
