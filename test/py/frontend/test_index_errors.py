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
from fuse_mlir.compiler.runtime.errors import DeviceAssertError, IndexAssertError, RunError

X = torch.arange(20.0).reshape(4, 5)


def rows(*numbers: int) -> torch.Tensor:
    return torch.tensor(numbers)


#: Programs with an index out of range.
WRONG = {
    "x[i]": (lambda x, i: x[i] * 2, (X, rows(9))),
    "x[i] = y": (lambda x, i: x.index_put((i,), x[0]), (X, rows(9))),
    "gather": (lambda x, i: x.gather(1, i), (X, rows(9)[None])),
    "scatter": (lambda x, i: x.scatter(1, i, 1.0), (X, rows(9)[None])),
    "scatter_reduce": (lambda x, i: x.scatter_reduce(1, i, x, "amax"), (X, rows(9)[None])),
    "index_select": (lambda x, i: x.index_select(1, i), (X, rows(9))),
    "index_add": (lambda x, i: x.index_add(0, i, x[:1]), (X, rows(9))),
    "index_fill": (lambda x, i: x.index_fill(0, i, 3.0), (X, rows(9))),
    "embedding": (lambda x, i: F.embedding(i, x), (X, rows(9))),
    "take": (lambda x, i: x.take(i), (X, rows(99))),
    "nll_loss": (lambda x, i: F.nll_loss(x, i), (X, rows(0, 1, 2, 9))),
    "cross_entropy": (lambda x, i: F.cross_entropy(x, i), (X, rows(0, 1, 2, -3))),
    "embedding_bag": (lambda x, i: F.embedding_bag(i, x), (X, rows(9)[None])),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_catches_eagers_error_catches_ours(name):
    function, args = WRONG[name]
    with pytest.raises((IndexError, RuntimeError)) as eager:
        function(*args)
    kind = IndexError if isinstance(eager.value, IndexError) else RuntimeError
    compiled = Compiled(function)
    with pytest.raises(kind) as found:
        compiled(*args)
    if isinstance(found.value, RunError):
        assert isinstance(found.value, IndexAssertError)


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
