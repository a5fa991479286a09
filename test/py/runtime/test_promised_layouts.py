"""Custom ops whose fake kernels promise other tensors than the ops give: strides are mended by a copy; all
else is an error with op and line.
"""

from collections.abc import Callable
from unittest import mock

import pytest
import torch
from compiling import Compiled
from nesting import _plan
from torch import Tensor

from fuse_mlir.compiler.driver import compilation
from fuse_mlir.compiler.runtime import nested_results
from fuse_mlir.compiler.runtime.errors import RunError
from fuse_mlir.compiler.runtime.nested_results import fitted

X = torch.arange(24.0).reshape(4, 6)


def turned(x: Tensor) -> Tensor:
    return x.t().contiguous().t() * 1


#: What ops give that promise tensors like their operand.
GIVEN: dict[str, Callable[[Tensor], Tensor]] = {
    "turned": turned,
    "padded": lambda x: torch.empty_strided(x.shape, (x.shape[1] + 2, 1)).copy_(x),
    "expanded": lambda x: x[:1].clone().expand(x.shape),
    "in the middle of a storage": lambda x: torch.cat([x, x])[2 : 2 + x.shape[0]],
    "another size": lambda x: x[:1].clone(),
    "another rank": lambda x: x.flatten().clone(),
    "another dtype": lambda x: x.double(),
}
OPS = {}
for number, (name, given) in enumerate(GIVEN.items()):

    def op(x: Tensor, given: Callable[[Tensor], Tensor] = given) -> Tensor:
        return given(x)

    op.__annotations__ = {"x": Tensor, "return": Tensor}
    torch.library.define(f"fuse_promised::op{number}", "(Tensor x) -> Tensor")
    torch.library.impl(f"fuse_promised::op{number}", "cpu", op)
    torch.library.register_fake(f"fuse_promised::op{number}", lambda x: torch.empty_like(x))
    OPS[name] = getattr(torch.ops.fuse_promised, f"op{number}").default
torch.library.define("fuse_promised::many", "(Tensor x) -> (Tensor, Tensor[])")
torch.library.impl("fuse_promised::many", "cpu", lambda x: (x * 2, [x * 3, turned(x)]))
torch.library.register_fake("fuse_promised::many", lambda x: (x * 2, [x * 3, x * 1]))
#: How a program runs in which torch ops are called: by the interpreter, by a launch plan, as an FX graph.
HOW = ("interpreter", "launch plan", "fx")


def compiled(function: Callable[..., Tensor], how: str, *args: Tensor, dynamic: bool = False) -> Tensor:
    options = {"fx": {"output": "fx"}, "launch plan": {"interpret_level": "planned"}, "interpreter": {}}
    made = Compiled(function, options[how], dynamic)
    with mock.patch.object(
        compilation, "executable", _plan if how == "launch plan" else compilation.executable
    ):
        return made(*args)


@pytest.mark.parametrize("how", HOW)
def test_other_strides_are_copied(how, caplog, monkeypatch):
    """The numbers are eager's, in kernels, views, products and results; the log says it once for an op."""
    monkeypatch.setattr(nested_results, "_TOLD", set())

    def function(x):
        kinds = [op(x.sin()) for name, op in OPS.items() if not name.startswith("another")]
        double, (triple, last) = torch.ops.fuse_promised.many(x.cos())
        used = [k.reshape(-1) * 2 + k.exp().flatten() for k in (*kinds, double, triple, last)]
        return (*used, *kinds, kinds[0] @ last.t())

    for a, b in zip(compiled(function, how, X), function(X), strict=True):
        torch.testing.assert_close(a, b)
    said = [record.getMessage() for record in caplog.records]
    assert len(said) == (0 if how == "interpreter" else 4), said
    assert all("its fake kernel said (4, 6) with strides (6, 1)" in line for line in said)


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("name", [name for name in GIVEN if name.startswith("another")])
def test_anything_else_is_an_error_that_names_op_and_line(how, name):
    def function(x):
        return OPS[name](x.sin()) * 2

    line = function.__code__.co_firstlineno + 1
    with pytest.raises(RunError, match=rf"{OPS[name]}.* at .*{__file__}:{line}"):
        compiled(function, how, X)


def test_a_view_is_not_copied():
    """A write to a copy would not reach what it is a view of."""
    with pytest.raises(RunError, match=r"aten\.t\.default gave .* at m\.py:3"):
        fitted(X.t(), (6, 4), (4, 1), torch.float32, "aten.t.default", "m.py:3", shares=True)


@pytest.mark.parametrize("how", HOW)
def test_sizes_that_are_symbols(how):
    def function(x):
        return OPS["turned"](x.sin()).flatten() * x.shape[0]

    torch.testing.assert_close(compiled(function, how, X, dynamic=True), function(X))
