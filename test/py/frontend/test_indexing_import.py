"""Reads at loaded indices: imported, verified, run by the interpreter, compared with eager."""

import pytest
import torch
from import_one import check_way
from lowering import check, check_training, kernels, lower, run, trace

from fuse_mlir.compiler.base.errors import UnsupportedOp
from fuse_mlir.compiler.frontend.autograd.decompositions import decomposition_table
from fuse_mlir.compiler.runtime.errors import DeviceAssertError

aten = torch.ops.aten
TABLE = decomposition_table()
X = torch.arange(2 * 3 * 4 * 5, dtype=torch.float32).reshape(2, 3, 4, 5)
I, J = torch.tensor([1, -1, 0]), torch.tensor([[2], [0]])

#: Subscripts of X, with None for a full slice.
SUBSCRIPTS = {
    "first": [I],
    "last": [None, None, None, I],
    "middle": [None, I],
    "two neighbours": [None, I, I],
    "broadcast": [None, I, J],
    "apart": [I, None, I],
    "apart and broadcast": [None, J, None, I],
    "ends": [I, None, None, I],
    "all": [I, I, I, I],
    "0-d": [torch.tensor(-1)],
    "0-d apart": [torch.tensor(1), None, torch.tensor(-2)],
    "short integers": [I.int(), J.int()],
    "a matrix": [None, torch.tensor([[0, 1], [2, -3]])],
}


@pytest.mark.parametrize("name", SUBSCRIPTS)
def test_advanced_indexing(name):
    indices = SUBSCRIPTS[name]
    given = [i for i in indices if i is not None]

    def function(x, *tensors):
        left = list(tensors)
        return aten.index.Tensor(x, [None if i is None else left.pop(0) for i in indices])

    check(function, X, *given)
    check(function, X, *given, dynamic=True)
    check(function, X.permute(3, 2, 1, 0).contiguous().permute(3, 2, 1, 0), *given)


@pytest.mark.parametrize("dtype", (torch.bfloat16, torch.int8, torch.bool, torch.float64, torch.uint8))
def test_dtypes(dtype):
    check(lambda x, i: x[i], X.to(dtype), I)
    check(lambda x, i: x.gather(0, i), X.to(dtype)[0, 0], torch.tensor([[1, 2, 0, 1, 3]]))


@pytest.mark.parametrize("name", ("middle", "broadcast", "apart"))
def test_unsafe_index_asserts_nothing(name):
    """Torch says that the indices are in range.  The kernel reads nothing out of range all the same."""
    given = [i for i in SUBSCRIPTS[name] if i is not None]

    def function(x, *tensors):
        left = list(tensors)
        return aten._unsafe_index.Tensor(x, [None if i is None else left.pop(0) for i in SUBSCRIPTS[name]])

    check(function, X, *given)
    check(function, X, *given, dynamic=True)
    imported = lower(trace(function, [X, *given]))
    assert len(kernels(imported)) == 1 and "fuse.device_assert" not in str(imported.module)
    outside = run(function, X, given[0] + 1000, *given[1:])
    assert not outside.any()


def test_interpolation_asserts_nothing():
    function = torch.nn.functional.interpolate
    for how in ({"mode": "nearest"}, {"mode": "bilinear", "align_corners": True}, {"mode": "bicubic"}):
        graph = trace(lambda x, how=how: function(x, size=(7, 3), **how), [X], table=TABLE)
        text = str(lower(graph).module)
        assert "fuse.load" in text and "fuse.device_assert" not in text, how


def test_index_has_one_kernel_and_an_assert():
    imported = lower(trace(lambda x, i: x[i, i], [X, I]))
    text = str(imported.module)
    assert len(kernels(imported)) == 1
    assert text.count('"fuse.device_assert"') == 2
    assert text.count("fuse.load") == 2, "the index is loaded once"


def test_masks_fall_back():
    with pytest.raises(UnsupportedOp, match="depends on the data"):
        lower(trace(lambda x, m: aten.index.Tensor(x, [m]), [X, torch.tensor([True, False])], dynamic=True))
    check(
        lambda x, m: aten.index.Tensor(x, [m]),
        X,
        torch.tensor([True, False]),
        dynamic=True,
        extern=["aten.index.Tensor"],
    )


@pytest.mark.parametrize("dynamic", (False, True))
def test_gather(dynamic):
    x = X[0, :2]
    check(lambda x, i: x.gather(2, i), x, torch.tensor([[[4, 0], [1, 1]], [[2, 3], [0, 0]]]), dynamic=dynamic)
    check(lambda x, i: x.gather(-2, i), x, torch.tensor([[[3, 0, 1]]]), dynamic=dynamic)
    check(lambda x, i: x.gather(0, i), x.transpose(0, 2), torch.tensor([[[3, 0]]]), dynamic=dynamic)
    check(lambda x, i: x.gather(0, i), torch.tensor(3.0), torch.tensor(0), dynamic=dynamic)
    check(lambda x, i: x.gather(0, i), torch.tensor(3.0), torch.tensor([0]), dynamic=dynamic)
    check(lambda x, i: x.gather(0, i), torch.tensor([3.0, 4.0]), torch.tensor(1), dynamic=dynamic)
    check(lambda x, i: x.gather(0, i), torch.ones(3), torch.empty(0, dtype=torch.int64), dynamic=dynamic)


@pytest.mark.parametrize("dynamic", (False, True))
def test_index_select(dynamic):
    for dim in (0, 1, -1):
        check(lambda x, i, d=dim: x.index_select(d, i), X, torch.tensor([1, 0, 1, 1]), dynamic=dynamic)
    check(lambda x, i: x.index_select(0, i), X, torch.tensor(1), dynamic=dynamic)
    check(lambda x, i: x.index_select(1, i), X, torch.tensor([2], dtype=torch.int32), dynamic=dynamic)
    check(lambda x, i: x.index_select(0, i), torch.tensor(2.0), torch.tensor([0]), dynamic=dynamic)
    check(lambda x, i: x.index_select(0, i), X, torch.empty(0, dtype=torch.int64), dynamic=dynamic)


@pytest.mark.parametrize("dynamic", (False, True))
def test_embedding(dynamic):
    weight = X[0, 0]
    for indices in (torch.tensor([[3, 0], [1, 1]]), torch.tensor(2), torch.tensor([0], dtype=torch.int32)):
        check(lambda w, i: torch.embedding(w, i), weight, indices, dynamic=dynamic)
    check(
        lambda w, i: torch.nn.functional.embedding(i, w, padding_idx=1),
        weight,
        torch.tensor([1, 3]),
        dynamic=dynamic,
    )


@pytest.mark.parametrize("dynamic", (False, True))
def test_decomposed(dynamic):
    """take, _unsafe_index, select_backward and upsampling become indices."""
    check_training(
        lambda x, i: x.take(i),
        X,
        torch.tensor([[0, 119], [7, 7]]),
        table=TABLE,
        gradients=False,
        dynamic=dynamic,
    )
    check_training(
        lambda x, i: torch.take_along_dim(x, i, 1),
        X[0, 0],
        torch.tensor([[0], [3], [1], [1]]),
        table=TABLE,
        gradients=False,
        dynamic=dynamic,
    )
    check_training(
        lambda x: torch.nn.functional.interpolate(x, scale_factor=2), X, table=TABLE, gradients=False
    )
    check_training(
        lambda x: torch.nn.functional.interpolate(x, size=(7, 3), mode="bilinear"),
        X,
        table=TABLE,
        gradients=False,
    )


WRONG = {
    "index": (lambda x, i: x[i], "index out of bounds for dimension 0 with size 2"),
    "gather": (lambda x, i: x[0, 0].gather(1, i[None]), "index out of bounds for dimension 1 with size 5"),
    "index_select": (lambda x, i: x.index_select(1, i), "index out of range in self"),
    "embedding": (lambda x, i: torch.embedding(x[0, 0], i), "index out of range in self"),
}


@pytest.mark.parametrize("name", WRONG)
@pytest.mark.parametrize("number", (5, -6))
def test_out_of_range(name, number):
    """The assertion speaks before anything is read."""
    function, message = WRONG[name]
    with pytest.raises((IndexError, RuntimeError)):
        function(X, torch.tensor([0, number]))
    with pytest.raises(DeviceAssertError, match=message):
        run(function, X, torch.tensor([0, number]))


@pytest.mark.parametrize("name", ("gather", "index_select", "embedding"))
def test_only_subscripts_wrap(name):
    with pytest.raises(DeviceAssertError):
        run(WRONG[name][0], X, torch.tensor([-1]))


def test_no_rows():
    """Nothing can be read from a tensor without elements."""
    check(lambda x, i: x[:, i], torch.empty(0, 3), I)
    with pytest.raises(DeviceAssertError):
        run(lambda x, i: x[i], torch.empty(0, 3), I)


#: Reads at indices: lowered, decomposed, or why not.
CORE = {
    "aten.index.Tensor": "lowered",
    "aten.gather.default": "lowered",
    "aten.index_select.default": "lowered",
    "aten.embedding.default": "lowered",
    "aten.take.default": "decomposed",
    "aten._unsafe_index.Tensor": "lowered",
    "aten._unsafe_masked_index.default": "decomposed",
    "aten._embedding_bag.default": "decomposed",
    "aten.masked_select.default": "the size of the result is data",
    "aten.nonzero.default": "the size of the result is data",
    "aten.grid_sampler_2d.default": "lowered",
}


@pytest.mark.parametrize("overload", CORE)
def test_every_indexed_read_is_accounted_for(overload):
    check_way(overload, CORE[overload])
