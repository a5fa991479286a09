"""Layouts of tensors: what is row-major, and what is contiguous."""

import pytest

from fuse_mlir.compiler.index import const, sym
from fuse_mlir.compiler.ir.layout import TensorSpec


@pytest.mark.parametrize(
    ("sizes", "strides", "offset", "row_major", "contiguous"),
    [
        ((4, 6), (6, 1), 0, True, True),
        ((4, 6), (6, 1), 12, True, False),
        ((4, 1, 6), (6, 99, 1), 0, True, True),  # nothing is a stride away in a dim of one point
        ((4, 6), (8, 1), 0, False, False),
        ((4, 6), (1, 4), 0, False, False),
        (("s0", 6), (6, 1), 0, True, True),
        ((4, "s0"), (6, 1), 0, False, False),
        ((), (), 3, True, False),
    ],
)
def test_row_major_and_contiguous(sizes, strides, offset, row_major, contiguous):
    sizes, strides = (tuple(sym(e) if isinstance(e, str) else const(e) for e in v) for v in (sizes, strides))
    spec = TensorSpec(sizes, strides, const(offset), "f32")
    assert (spec.is_row_major, spec.is_contiguous) == (row_major, contiguous)
