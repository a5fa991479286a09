"""``scatter_reduce`` and ``index_reduce``: by lines and by atomics, against eager and float64."""

import math
from unittest import mock

import pytest
import torch
from compiling import Compiled
from lowering import check, check_training, lower, run, trace
from made_up_gpu import made_up_gpu

from fuse_mlir.compiler.base.errors import UnsupportedOp
from fuse_mlir.compiler.frontend.autograd.decompositions import decomposition_table
from fuse_mlir.compiler.frontend.ops.indexed import reductions
from fuse_mlir.compiler.runtime.errors import DeviceAssertError

aten = torch.ops.aten
KINDS = ("sum", "prod", "mean", "amax", "amin")
DTYPES = (torch.float32, torch.bfloat16, torch.int64, torch.int8, torch.uint8)
#: Two indices of one place, a place without any, and fewer lines than the tensor has.
SCATTERED = torch.tensor([[[3, 0], [1, 0], [1, 2], [1, 1], [0, 0]], [[2, 2], [0, 1], [2, 3], [3, 3], [2, 2]]])
SELECTED = torch.tensor([0, 2, 2, 0, 2])


def given(*sizes, dtype=torch.float32):
    torch.manual_seed(0)
    return (torch.randn(sizes) * 3).to(dtype)


def all_kinds(x, index, selected, source):
    """Each reduction with and without the old values."""
    results = []
    for kind in KINDS:
        for include_self in (True, False):
            results.append(x.scatter_reduce(1, index, source, kind, include_self=include_self))
            if kind != "sum":
                results.append(x.index_reduce(1, selected, source, kind, include_self=include_self))
    return results


@pytest.mark.parametrize(
    ("dtype", "way"),
    [(d, "lines") for d in DTYPES] + [(d, "atomics") for d in DTYPES if d not in (torch.int64, torch.uint8)],
)
def test_dtypes(dtype, way):
    x, source = given(3, 4, 2, dtype=dtype), given(3, 5, 2, dtype=dtype)
    with mock.patch.object(reductions, "FEW", reductions.FEW if way == "lines" else 0):
        check(all_kinds, x, SCATTERED, SELECTED, source, dynamic=dtype == torch.float32)


@pytest.mark.parametrize("way", ("lines", "atomics"))
def test_strides_and_small_shapes(way):
    x, source = given(2, 4, 3).transpose(0, 2), given(3, 5, 2).transpose(0, 2).contiguous().transpose(0, 2)
    with mock.patch.object(reductions, "FEW", reductions.FEW if way == "lines" else 0):
        check(all_kinds, x, SCATTERED, SELECTED, source)
        for kind in ("mean", "prod"):
            number, one = torch.tensor(3.0), torch.tensor(0)
            check(lambda x, i, s, k=kind: x.scatter_reduce(0, i, s, k), number, one, torch.tensor(5.0))
            check(lambda x, i, s, k=kind: x.index_reduce(0, i, s, k), number, one, torch.tensor(5.0))
            check(lambda x, i, s, k=kind: x.scatter_reduce(0, i, s, k), given(1), torch.tensor([0]), given(1))
            check(
                lambda x, i, s, k=kind: x.scatter_reduce(0, i, s, k, include_self=False),
                given(3), torch.empty(0, dtype=torch.int64), torch.empty(0),
            )  # fmt: skip
            check(lambda x, i, s, k=kind: x.index_reduce(0, i, s, k), given(2, 0), SELECTED[:1], given(1, 0))


@pytest.mark.parametrize(("way", "include_self"), [("lines", False), ("atomics", True), ("atomics", False)])
def test_missing_and_infinite_numbers(way, include_self):
    x = torch.tensor([1.0, math.nan, 3.0, -math.inf, 0.0, math.nan])
    source = torch.tensor([math.nan, 5.0, -math.nan, 0.0, math.inf, math.inf, -math.inf])
    index = torch.tensor([0, 1, 2, 3, 3, 4, 4])

    def function(x, index, source):
        kinds = [k for k in KINDS if include_self or k != "sum"]
        return [x.scatter_reduce(0, index, source, k, include_self=include_self) for k in kinds]

    with mock.patch.object(reductions, "FEW", reductions.FEW if way == "lines" else 0):
        compiled = Compiled(function, {"interpret_level": "planned"})
        for found, want in zip(compiled(x, index, source), function(x, index, source), strict=True):
            torch.testing.assert_close(found, want, equal_nan=True)


def test_multiplication_by_scatter():
    index = torch.tensor([[0, 1, 1, 2]])
    check(lambda x, i, s: aten.scatter.reduce(x, 0, i, s, reduce="multiply"), given(3, 4), index, given(1, 4))
    check(lambda x, i: aten.scatter.value_reduce(x, 1, i, 0.5, reduce="multiply"), given(3, 4), index)
    check(lambda x, i: aten.scatter.value_reduce(x, 1, i, 7, reduce="multiply"), SELECTED[None], index)


@pytest.mark.parametrize("kind", KINDS)
def test_gradients(kind):
    """Those of a product count zeros; extremes are shared by equal values."""
    x, source = given(3, 4, 2), given(3, 5, 2)
    source[0, 1] = 0.0
    source[:2, 2] = 4.0

    def function(x, index, selected, source):
        scattered = x.scatter_reduce(1, index, source[:2], kind, include_self=True)
        return scattered if kind == "sum" else (scattered, x.index_reduce(1, selected, source, kind))

    check_training(function, x, SCATTERED, SELECTED, source, table=decomposition_table())


def test_lines_do_not_depend_on_an_order():
    """Where algorithms must be deterministic, lines are read; what needs atomics is torch's."""
    torch.use_deterministic_algorithms(True)
    try:
        args = given(3, 4, 2), SCATTERED, given(3, 5, 2)
        check(lambda x, i, s: x.scatter_reduce(1, i, s, "prod"), *args)
        check(lambda x, i, s: x.scatter_reduce(1, i, s, "sum"), *args)
        with (
            mock.patch.object(reductions, "MOST", 0),
            pytest.raises(UnsupportedOp, match="deterministic"),
        ):
            lower(trace(lambda x, i, s: x.scatter_reduce(1, i, s, "mean"), args))
    finally:
        torch.use_deterministic_algorithms(False)


def test_products_of_long_lines_are_torchs():
    args = given(20000), torch.zeros(20000, dtype=torch.int64), given(20000)
    with pytest.raises(UnsupportedOp, match="no atomic prod"):
        lower(trace(lambda x, i, s: x.scatter_reduce(0, i, s, "prod"), args))


def test_bools_are_torchs():
    args = given(3) > 0, torch.tensor([0, 1]), given(2) > 0
    with pytest.raises(UnsupportedOp, match="reductions of torch"):
        lower(trace(lambda x, i, s: x.scatter_reduce(0, i, s, "amax"), args))


@pytest.mark.parametrize("number", (3, -1))
@pytest.mark.parametrize("way", ("lines", "atomics"))
def test_out_of_range(number, way):
    args = given(3), torch.tensor([0, number]), given(2)
    with mock.patch.object(reductions, "FEW", reductions.FEW if way == "lines" else 0):
        for function in (
            lambda x, i, s: x.scatter_reduce(0, i, s, "mean"),
            lambda x, i, s: x.index_reduce(0, i, s, "amax", include_self=False),
        ):
            with pytest.raises(DeviceAssertError, match="index out of bounds for dimension 0 with size 3"):
                run(function, *args)


@pytest.mark.parametrize("way", ("lines", "atomics"))
def test_kernels_compile_for_a_gpu(way):
    """Without one: only launching is left out."""
    pytest.importorskip("triton")
    with mock.patch.object(reductions, "FEW", reductions.FEW if way == "lines" else 0), made_up_gpu() as ran:
        Compiled(lambda x, i, s: (
            x.scatter_reduce(1, i, s, "mean"), x.index_reduce(1, SELECTED, s, "amin", include_self=False),
            x.scatter_reduce(1, i, s, "prod"),
        ))(given(3, 4, 2, dtype=torch.bfloat16), SCATTERED, given(3, 5, 2, dtype=torch.bfloat16))  # fmt: skip
    assert len(ran) >= 2
