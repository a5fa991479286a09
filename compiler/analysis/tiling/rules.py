"""How a kernel is cut into tiles: a table of named rules, each with its reason, over plain numbers.

``choose`` is the entry.  It takes the first family of ``FAMILIES`` that a kernel is of, and of that family's
rules the first that applies.  A remark of ``choose-tiling`` names the rule; the function beside the name says
what the rule gives, when, and why.  "What tiling rules gained" in ``docs/performance/history.md`` has
figures.

Hints of sizes decide which rule applies, and with it the blocks, the warps and the kinds of axes.  They never
decide whether the result is right: a ``resident`` axis has a static bound, all others are cut into blocks.
"""

from typing import Any

from ...cost.hardware import Hardware
from ...ir.tile import Tile
from ..kernel.shape import KernelShape
from . import (
    column_rules,
    computed_row_rules,
    few_row_rules,
    held_rules,
    pointwise_rules,
    product_rules,
    row_rules,
    walk_rules,
)
from .choice import Choice, TilingFamily, TilingRule


def one_point(shape: KernelShape, hardware: Hardware) -> Tile:
    """One program of one warp.  When: the kernel has no dims.  Why: there is nothing to cut."""
    return Tile((), num_warps=1)


FAMILIES: tuple[TilingFamily[Any], ...] = (
    TilingFamily(
        "one point",
        holds=lambda shape: not shape.kernel.dims,
        subject=lambda shape: shape,
        rules=(TilingRule("scalar", one_point),),
    ),
    TilingFamily(
        "products that tensor cores compute",
        holds=lambda shape: bool(shape.kernel.products),
        subject=product_rules.Products,
        rules=(
            TilingRule("groups-in-turn", few_row_rules.groups_in_turn),
            TilingRule("weights-in-slices", few_row_rules.weights_in_slices),
            TilingRule("columns-in-a-loop", held_rules.columns_in_a_loop),
            TilingRule("rows-in-turn", held_rules.rows_in_turn),
            TilingRule("weights-in-turn", held_rules.weights_in_turn),
            TilingRule("held-columns", held_rules.held_columns),
            TilingRule("blocks-of-products", product_rules.blocks_of_products),
        ),
    ),
    TilingFamily(
        "nothing is reduced",
        holds=lambda shape: not shape.reduced,
        subject=lambda shape: shape,
        rules=(
            TilingRule("transposed", pointwise_rules.transposed),
            TilingRule("planes-share-points", pointwise_rules.planes_share_points),
            TilingRule("planes-share-weights", pointwise_rules.planes_share_weights),
            TilingRule("columns-step-over", pointwise_rules.columns_step_over),
            TilingRule("rows-share-reads", pointwise_rules.rows_share_reads),
            TilingRule("rows-and-columns", pointwise_rules.rows_and_columns),
            TilingRule("moved-pieces", pointwise_rules.moved_pieces),
            TilingRule("flat", pointwise_rules.flat),
        ),
    ),
    TilingFamily(
        "reductions over different dims",
        holds=lambda shape: len(shape.reduced_classes) > 1,
        subject=lambda shape: shape,
        rules=(
            TilingRule("warp-walks", walk_rules.warp_walks),
            TilingRule("wide-row-again", walk_rules.wide_row_again),
            TilingRule("several-reductions", walk_rules.several_reductions),
        ),
    ),
    TilingFamily(
        "rows are reduced: memory is contiguous along a reduced dim",
        holds=row_rules.reduces_rows,
        subject=row_rules.ReducedRow.of,
        rules=(
            TilingRule("products-compute-their-row", computed_row_rules.products_compute_their_row),
            TilingRule("products-share-a-row", row_rules.products_share_a_row),
            TilingRule("rows-share-operands", row_rules.rows_share_operands),
            TilingRule("crossed-rows", row_rules.crossed_rows),
            TilingRule("short-rows", row_rules.short_rows),
            TilingRule("row-of-two-warps", row_rules.row_of_two_warps),
            TilingRule("long-row-read-again", row_rules.long_row_read_again),
            TilingRule("long-row-resident", row_rules.long_row_resident),
            TilingRule("searched-row", row_rules.searched_row),
            TilingRule("row-resident", row_rules.row_resident),
            TilingRule("scanned-row", row_rules.scanned),
            TilingRule("few-rows-read-again", row_rules.few_rows_read_again),
            TilingRule("unaligned-row-looped", row_rules.unaligned_row_looped),
            TilingRule("counted-row-looped", row_rules.counted_row_looped),
            TilingRule("row-looped", row_rules.row_looped),
        ),
    ),
    TilingFamily(
        "columns are reduced: memory is contiguous along another dim",
        holds=lambda shape: True,
        subject=column_rules.ReducedColumns.of,
        rules=(
            TilingRule("columns-in-threads", column_rules.columns_in_threads),
            TilingRule("weighed-rows", column_rules.weighed_rows),
            TilingRule("small-matrices", column_rules.small_matrices),
            TilingRule("column-resident", column_rules.column_resident),
            TilingRule("scanned-column", row_rules.scanned),
            TilingRule("scan-looped", column_rules.scan_looped),
            TilingRule("many-sums", column_rules.many_sums),
            TilingRule("columns-read-again", column_rules.columns_read_again),
            TilingRule("column-looped", column_rules.column_looped),
        ),
    ),
)


def choose(shape: KernelShape, hardware: Hardware) -> Choice:
    """The tile of a kernel.  Raises ``NoTiling``."""
    family = next(family for family in FAMILIES if family.holds(shape))
    return family.choice(shape, hardware)
