"""An index out of range: what eager raises is caught by the same ``except`` where the program is compiled."""

import re

import pytest
import torch
import torch.nn.functional as F
from compiling import Compiled
from import_one import imported, outputs
from lowering import lower, trace

from fuse_mlir.compiler.codegen.launches import ttir_text
from fuse_mlir.compiler.ir.kernel import INDEX_CHECK
from fuse_mlir.compiler.runtime.errors import DeviceAssertError

X = torch.arange(20.0).reshape(4, 5)


def rows(*numbers: int) -> torch.Tensor:
    return torch.tensor(numbers)


def written(x, i):
    y = x.clone()
    y[i] = 1.0
    return y


#: Ops that take one index of ``ROWS`` rows.  Some count an index below 0 from the end, and others refuse it.
ROWS = 4
TABLE = {
    "x[i]": lambda x, i: x[i] * 2,
    "x[:, i]": lambda x, i: x.t()[:, i],
    "x[i, i]": lambda x, i: x[i, i],
    "x[i] = 1": written,
    "index_put": lambda x, i: x.index_put((i,), x[0] * 2),
    "index_put, adding": lambda x, i: x.index_put((i,), x[0] * 2, accumulate=True),
    "gather": lambda x, i: x.gather(0, i[:, None]),
    "take_along_dim": lambda x, i: x.take_along_dim(i[:, None], 0),
    "scatter": lambda x, i: x.scatter(0, i[:, None], x * 2),
    "scatter of a number": lambda x, i: x.scatter(0, i[:, None], 1.0),
    "scatter into zeros": lambda x, i: torch.zeros(1, ROWS).scatter(1, i[:, None], 1.0),
    "scatter_add": lambda x, i: x.scatter_add(0, i[:, None], x * 2),
    "scatter_reduce": lambda x, i: x.scatter_reduce(0, i[:, None], x, "amax"),
    "index_select": lambda x, i: x.index_select(0, i),
    "index_add": lambda x, i: x.index_add(0, i, x[:1]),
    "index_copy": lambda x, i: x.index_copy(0, i, x[1:2] * 2),
    "index_copy_": lambda x, i: x.clone().t().index_copy_(-1, i, x[1:2].t() * 2),
    "index_copy of an element": lambda x, i: x[:, 0].contiguous().index_copy(0, i[0], x[1, 1]),
    "index_fill": lambda x, i: x.index_fill(0, i, 3.0),
    "index_reduce": lambda x, i: x.index_reduce(0, i, x[1:2] * 2, "amax"),
    "embedding": lambda x, i: F.embedding(i, x),
    "embedding, shortened": lambda x, i: F.embedding(i, x.clone(), max_norm=1.0),
    "embedding_bag": lambda x, i: F.embedding_bag(i[None], x),
    "embedding_bag, largest": lambda x, i: F.embedding_bag(i[None], x, mode="max"),
    "take": lambda x, i: x[:, 0].take(i),
    "put": lambda x, i: x[:, 0].put(i, x[0, :1] * 2),
    "one_hot": lambda x, i: F.one_hot(i, ROWS),
    "nll_loss": lambda x, i: F.nll_loss(x.t()[:1], i),
    "cross_entropy": lambda x, i: F.cross_entropy(x.t()[:1], i),
    "multi_margin_loss": lambda x, i: F.multi_margin_loss(x.t()[:1], i),
    "max_unpool2d": lambda x, i: F.max_unpool2d(x[None, :3, :1, None], i.expand(3)[None, :, None, None], 2),
    "max_unpool3d": lambda x, i: F.max_unpool3d(
        x[None, :3, :1, None, None], i.expand(3)[None, :, None, None, None], (1, 2, 2)
    ),
}


@pytest.mark.filterwarnings("ignore:index_reduce")
@pytest.mark.parametrize("name", TABLE)
def test_what_eager_refuses_is_refused(name):
    function, line = TABLE[name], TABLE[name].__code__.co_firstlineno
    compiled = Compiled(function)
    for number in (-1, -ROWS, -ROWS - 1, ROWS, ROWS - 1):
        try:
            wanted, refused = function(X, rows(number)), None
        except (IndexError, RuntimeError) as error:
            refused = IndexError if isinstance(error, IndexError) else RuntimeError
        if refused is None:
            torch.testing.assert_close(compiled(X, rows(number)), wanted)
            continue
        with pytest.raises(refused, match=rf" at {re.escape(__file__)}:\d+$") as found:
            compiled(X, rows(number))
        assert isinstance(found.value, DeviceAssertError)
        assert line <= int(str(found.value).rpartition(":")[2]) <= line + 2
    assert not compiled.graphs[0].fallbacks


def test_an_index_of_32_bits_is_not_copied_to():
    """Eager says what is wrong."""
    compiled = Compiled(lambda x, i: x.index_copy(0, i, x[:1]))
    with pytest.raises((IndexError, RuntimeError), match="Expected a long tensor for index"):
        compiled(X, rows(1).int())


def once(error: BaseException, message: str, line: int) -> None:
    """The error says ``message``, then the place of the assertion, once."""
    assert re.fullmatch(rf"{message} at {re.escape(__file__)}:{line}", str(error)), error


@pytest.mark.parametrize("level", ("graph", "planned"))
@pytest.mark.parametrize("is_index", (True, False))
def test_at_every_level_it_is_one_error_with_one_line(level, is_index):
    """Also behind fusion with another assertion, whose kind stays its own."""

    def function(x, i):
        torch._assert_async((x >= 0).all(), "none is negative")
        return x.sum() + x[i]

    first = function.__code__.co_firstlineno
    compiled = Compiled(function, {"interpret_level": level}, dynamic=False)
    args = (X, rows(4)) if is_index else (X - 1, rows(3))
    with pytest.raises(DeviceAssertError) as found:
        compiled(*args)
    assert isinstance(found.value, IndexError) == is_index
    message = "index out of bounds for dimension 0 with size 4" if is_index else "none is negative"
    once(found.value, message, first + (2 if is_index else 1))


def test_an_extreme_of_no_elements_is_an_index_error():
    x = torch.tensor([0, 1, 1])
    graph = lower(trace(lambda x: torch.amax(torch.nonzero(x), (0,)), [x], dynamic=True), strict=False)
    with pytest.raises(IndexError, match="non-zero size"):
        outputs(graph, [x * 0])


def test_triton_does_not_see_the_kind():
    """Kernels are equal with it and without."""
    graph = imported(trace(lambda x, i: x[i], [X, rows(1)]))
    assert INDEX_CHECK in str(graph.module)
    kernel = next(op for op in graph.module.body.operations if INDEX_CHECK in str(op))
    assert INDEX_CHECK not in ttir_text(kernel.operation)
