"""Reductions and scans of tiles in the mirror of Triton's dialect, one op for each number of tiles.

``tt_text.py`` has their names in Triton.
"""

# The bindings read annotations when a class is created, so this file must not defer their evaluation.

from typing import Any

from ...mlir import ext, ir
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


class Reduce2(TT.Operation, name="reduce_2", traits=[ext.Pure]):
    """``tt.reduce`` of two tiles at once."""

    src0: Operand[Any]
    src1: Operand[Any]
    axis: ir.IntegerAttr
    body: ir.Region
    result0: Result[Any]
    result1: Result[Any]
    verify_invariants = verified(reduced)


class Reduce3(TT.Operation, name="reduce_3", traits=[ext.Pure]):
    """``tt.reduce`` of three tiles at once."""

    src0: Operand[Any]
    src1: Operand[Any]
    src2: Operand[Any]
    axis: ir.IntegerAttr
    body: ir.Region
    result0: Result[Any]
    result1: Result[Any]
    result2: Result[Any]
    verify_invariants = verified(reduced)


class Reduce4(TT.Operation, name="reduce_4", traits=[ext.Pure]):
    """``tt.reduce`` of four tiles at once."""

    src0: Operand[Any]
    src1: Operand[Any]
    src2: Operand[Any]
    src3: Operand[Any]
    axis: ir.IntegerAttr
    body: ir.Region
    result0: Result[Any]
    result1: Result[Any]
    result2: Result[Any]
    result3: Result[Any]
    verify_invariants = verified(reduced)


class Reduce5(TT.Operation, name="reduce_5", traits=[ext.Pure]):
    """``tt.reduce`` of five tiles at once."""

    src0: Operand[Any]
    src1: Operand[Any]
    src2: Operand[Any]
    src3: Operand[Any]
    src4: Operand[Any]
    axis: ir.IntegerAttr
    body: ir.Region
    result0: Result[Any]
    result1: Result[Any]
    result2: Result[Any]
    result3: Result[Any]
    result4: Result[Any]
    verify_invariants = verified(reduced)


class ReduceReturn(TT.Operation, name="reduce_return", traits=[ir.IsTerminatorTrait]):
    """Result of a combiner."""

    value: Operand[Any]


class ReduceReturn2(TT.Operation, name="reduce_return_2", traits=[ir.IsTerminatorTrait]):
    """Results of a combiner of two tiles."""

    value0: Operand[Any]
    value1: Operand[Any]


class ReduceReturn3(TT.Operation, name="reduce_return_3", traits=[ir.IsTerminatorTrait]):
    """Results of a combiner of three tiles."""

    value0: Operand[Any]
    value1: Operand[Any]
    value2: Operand[Any]


class ReduceReturn4(TT.Operation, name="reduce_return_4", traits=[ir.IsTerminatorTrait]):
    """Results of a combiner of four tiles."""

    value0: Operand[Any]
    value1: Operand[Any]
    value2: Operand[Any]
    value3: Operand[Any]


class ReduceReturn5(TT.Operation, name="reduce_return_5", traits=[ir.IsTerminatorTrait]):
    """Results of a combiner of five tiles."""

    value0: Operand[Any]
    value1: Operand[Any]
    value2: Operand[Any]
    value3: Operand[Any]
    value4: Operand[Any]


class Scan(TT.Operation, name="scan", traits=[ext.Pure]):
    """Inclusive prefix along ``axis`` with the region's combiner, which ends in ``tt.scan_return``."""

    src: Operand[Any]
    axis: ir.IntegerAttr
    reverse: Any
    body: ir.Region
    result: Result[Any]
    verify_invariants = verified(scanned)


class Scan2(TT.Operation, name="scan_2", traits=[ext.Pure]):
    """``tt.scan`` of two tiles at once."""

    src0: Operand[Any]
    src1: Operand[Any]
    axis: ir.IntegerAttr
    reverse: Any
    body: ir.Region
    result0: Result[Any]
    result1: Result[Any]
    verify_invariants = verified(scanned)


class Scan3(TT.Operation, name="scan_3", traits=[ext.Pure]):
    """``tt.scan`` of three tiles at once."""

    src0: Operand[Any]
    src1: Operand[Any]
    src2: Operand[Any]
    axis: ir.IntegerAttr
    reverse: Any
    body: ir.Region
    result0: Result[Any]
    result1: Result[Any]
    result2: Result[Any]
    verify_invariants = verified(scanned)


class Scan4(TT.Operation, name="scan_4", traits=[ext.Pure]):
    """``tt.scan`` of four tiles at once."""

    src0: Operand[Any]
    src1: Operand[Any]
    src2: Operand[Any]
    src3: Operand[Any]
    axis: ir.IntegerAttr
    reverse: Any
    body: ir.Region
    result0: Result[Any]
    result1: Result[Any]
    result2: Result[Any]
    result3: Result[Any]
    verify_invariants = verified(scanned)


class Scan5(TT.Operation, name="scan_5", traits=[ext.Pure]):
    """``tt.scan`` of five tiles at once."""

    src0: Operand[Any]
    src1: Operand[Any]
    src2: Operand[Any]
    src3: Operand[Any]
    src4: Operand[Any]
    axis: ir.IntegerAttr
    reverse: Any
    body: ir.Region
    result0: Result[Any]
    result1: Result[Any]
    result2: Result[Any]
    result3: Result[Any]
    result4: Result[Any]
    verify_invariants = verified(scanned)


class ScanReturn(TT.Operation, name="scan_return", traits=[ir.IsTerminatorTrait]):
    """Result of a combiner."""

    value: Operand[Any]


class ScanReturn2(TT.Operation, name="scan_return_2", traits=[ir.IsTerminatorTrait]):
    """Results of a combiner of two tiles."""

    value0: Operand[Any]
    value1: Operand[Any]


class ScanReturn3(TT.Operation, name="scan_return_3", traits=[ir.IsTerminatorTrait]):
    """Results of a combiner of three tiles."""

    value0: Operand[Any]
    value1: Operand[Any]
    value2: Operand[Any]


class ScanReturn4(TT.Operation, name="scan_return_4", traits=[ir.IsTerminatorTrait]):
    """Results of a combiner of four tiles."""

    value0: Operand[Any]
    value1: Operand[Any]
    value2: Operand[Any]
    value3: Operand[Any]


class ScanReturn5(TT.Operation, name="scan_return_5", traits=[ir.IsTerminatorTrait]):
    """Results of a combiner of five tiles."""

    value0: Operand[Any]
    value1: Operand[Any]
    value2: Operand[Any]
    value3: Operand[Any]
    value4: Operand[Any]
