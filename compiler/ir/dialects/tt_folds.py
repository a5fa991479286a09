"""Reductions and scans of tiles in the mirror of Triton's dialect, one op for each number of tiles.

``tt_text.py`` has their names in Triton.
"""

# The bindings read annotations when a class is created, so this file must not defer their evaluation.

from typing import Any

from ...mlir import ext, ir
from .tt_arity import add_arities
from .tt_rules import reduced, scanned, verified
from .tt_types import TT

Operand, Result = ext.Operand, ext.Result


class Reduce(TT.Operation, name="reduce", traits=[ext.Pure]):
    """Folds a tile along ``axis`` with the region's combiner, which ends in ``tt.reduce_return``."""

    src: Operand[Any]
    axis: ir.IntegerAttr
    body: ir.Region
    result: Result[Any]
    verify_invariants = verified(reduced)


add_arities(Reduce, "``tt.reduce`` of {} tiles at once.", "src", "result")


class ReduceReturn(TT.Operation, name="reduce_return", traits=[ir.IsTerminatorTrait]):
    """Result of a combiner."""

    value: Operand[Any]


add_arities(ReduceReturn, "Results of a combiner of {} tiles.", "value")


class Scan(TT.Operation, name="scan", traits=[ext.Pure]):
    """Inclusive prefix along ``axis`` with the region's combiner, which ends in ``tt.scan_return``."""

    src: Operand[Any]
    axis: ir.IntegerAttr
    reverse: Any
    body: ir.Region
    result: Result[Any]
    verify_invariants = verified(scanned)


add_arities(Scan, "``tt.scan`` of {} tiles at once.", "src", "result")


class ScanReturn(TT.Operation, name="scan_return", traits=[ir.IsTerminatorTrait]):
    """Result of a combiner."""

    value: Operand[Any]


add_arities(ScanReturn, "Results of a combiner of {} tiles.", "value")
