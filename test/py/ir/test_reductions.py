"""The table of kinds of reductions has every op and kind; identities are what the interpreter says."""

import pytest
import torch

from fuse_mlir.compiler.ir.context import make_context
from fuse_mlir.compiler.ir.dialects import fuse
from fuse_mlir.compiler.ir.kernel import REDUCTIONS
from fuse_mlir.compiler.ir.reductions import (
    FOLD_KINDS,
    POSITION_KINDS,
    REDUCTION_OPS,
    SCAN_KINDS,
    identity_of,
    reductions,
)
from fuse_mlir.compiler.mlir import ir
from fuse_mlir.compiler.runtime.interpreter.scalar.scalar_kernels import _FOLDS, _SCANS

INTEGERS = {"i1": torch.bool, "i8": torch.int8, "i32": torch.int32, "i64": torch.int64}
FLOATS = {"f32": torch.float32, "f64": torch.float64}


def test_the_tables_have_every_op_that_crosses_dims_and_every_kind() -> None:
    names = {f"fuse.{op.OPERATION_NAME.partition('.')[2]}" for op in vars(fuse).values() if crosses(op)}
    assert set(REDUCTION_OPS) == names
    assert set(REDUCTIONS) == names - {"fuse.scan"}
    assert set(_FOLDS) == set(FOLD_KINDS)
    assert set(_SCANS) == set(SCAN_KINDS)
    assert {kind.name for kind in FOLD_KINDS.values() if kind.scans} == set(SCAN_KINDS) - {
        "logsumexp",
        "linear",
    }
    assert reductions(lambda op: op.counts) == ("fuse.welford",)
    assert all(op.starts in ("", *FOLD_KINDS) for op in REDUCTION_OPS.values())
    assert set(POSITION_KINDS.values()) <= set(FOLD_KINDS)


def crosses(op: object) -> bool:
    return (
        isinstance(op, type)
        and hasattr(op, "OPERATION_NAME")
        and "over" in getattr(op, "__annotations__", {})
    )


@pytest.mark.parametrize("element", [*INTEGERS, *FLOATS])
@pytest.mark.parametrize("kind", FOLD_KINDS)
def test_joining_the_identity_changes_nothing(kind: str, element: str) -> None:
    dtype = (INTEGERS | FLOATS)[element]
    entry = FOLD_KINDS[kind]
    if (entry.truth and element != "i1") or (not entry.floats and element in FLOATS):
        pytest.skip("no fold of this type")
    with make_context():
        identity = identity_of(kind, ir.Type.parse(element))
    low = (
        torch.finfo(dtype).min
        if dtype.is_floating_point
        else 0
        if element == "i1"
        else torch.iinfo(dtype).min
    )
    for value in (0, 1, low):
        pair = torch.tensor([value, identity]).to(dtype)
        assert _FOLDS[kind](pair, [0]).item() == pair[0].item()


@pytest.mark.parametrize(("kind", "fold"), POSITION_KINDS.items())
def test_a_position_is_searched_from_where_its_fold_starts(kind: str, fold: str) -> None:
    with make_context():
        for element in (*INTEGERS, *FLOATS):
            type_ = ir.Type.parse(element)
            assert identity_of(kind, type_) == identity_of(fold, type_)
