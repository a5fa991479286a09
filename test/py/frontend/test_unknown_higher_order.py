"""Higher-order ops that the importer does not know run as themselves: counted, with a remark, or refused."""

import pytest
import torch
from compiling import Compiled

from fuse_mlir.compiler.base.errors import UnsupportedOp

switch = pytest.importorskip("torch._higher_order_ops.switch", reason="torch has it from 2.14 on")
X = torch.arange(12.0).reshape(3, 4).sin()
BRANCHES = (torch.sin, lambda x: x.cos() * 2, lambda x: x.exp() - 1)


def chosen(index: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    return switch.switch(index, BRANCHES, (x + 1,)) * 2


def test_a_switch_is_counted() -> None:
    compiled = Compiled(chosen)
    for index in (-1, 0, 1, 2, 3):
        given = torch.tensor(index)
        torch.testing.assert_close(compiled(given, X), chosen(given, X))
    (fallback,) = compiled.graphs[0].fallbacks
    assert "higher_order.switch" in str(fallback)
    (remark,) = [r for r in compiled.graphs[0].remarks.items if r.rule == "fallback"]
    assert remark.kind == "missed" and "higher_order.switch runs as itself" in remark.message


def test_strict_refuses_a_switch() -> None:
    with pytest.raises(Exception, match=r"higher_order\.switch") as raised:
        Compiled(chosen, {"strict": True})(torch.tensor(1), X)
    assert isinstance(raised.value, UnsupportedOp) or UnsupportedOp.__name__ in repr(raised.value)
