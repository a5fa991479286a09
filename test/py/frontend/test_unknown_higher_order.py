"""Higher-order ops that the importer does not know run as themselves: counted, with a remark, or refused."""

import pytest
import torch
from compiling import Compiled

from fuse_mlir.compiler.base.errors import UnsupportedOp

X = torch.arange(12.0).reshape(3, 4).sin()


def by_rows(x: torch.Tensor) -> torch.Tensor:
    return torch._higher_order_ops.map(lambda row: row.cos() * row.sum(), x + 1) * 2  # type: ignore[no-any-return]


def test_a_map_is_counted() -> None:
    compiled = Compiled(by_rows)
    torch.testing.assert_close(compiled(X), by_rows(X))
    (fallback,) = compiled.graphs[0].fallbacks
    assert "higher_order.map_impl" in str(fallback)
    (remark,) = [r for r in compiled.graphs[0].remarks.items if r.rule == "fallback"]
    assert remark.kind == "missed" and "higher_order.map_impl runs as itself" in remark.message


def test_strict_refuses_a_map() -> None:
    with pytest.raises(Exception, match=r"higher_order\.map_impl") as raised:
        Compiled(by_rows, {"strict": True})(X)
    assert isinstance(raised.value, UnsupportedOp) or UnsupportedOp.__name__ in repr(raised.value)
