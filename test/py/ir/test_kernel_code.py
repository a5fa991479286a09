"""Equal kernels are known by their code, and those that differ in floats have one summary, read once."""

import pytest

from fuse_mlir.compiler.analysis.fusion import graph as fusion_graph
from fuse_mlir.compiler.analysis.fusion.graph import _read, summarise
from fuse_mlir.compiler.ir.context import make_context
from fuse_mlir.compiler.ir.kernel import code_of
from fuse_mlir.compiler.ir.storage import functions_of
from fuse_mlir.compiler.mlir import ir

MODULES: list[ir.Module] = []  #: an operation does not keep its module alive


def kernel(
    name: str = "k", *, factor: str = "2.0", guard: str = "true", at: str = "d0", location: str = "x"
) -> ir.Operation:
    """A kernel that multiplies 8 elements by a number."""
    text = f"""
    func.func private @{name}(%x: tensor<8xf32>, %o: tensor<8xf32>) -> tensor<8xf32>
        attributes {{fuse.kernel, fuse.dims = {{d0 = "8"}}, fuse.ties = array<i64: 1>}} {{
      %guard = arith.constant {guard}
      %factor = arith.constant {factor} : f32
      %v = "fuse.load"(%x, %guard, %factor) {{at = ["{at}"]}} : (tensor<8xf32>, i1, f32) -> f32
      %w = arith.mulf %v, %factor : f32 loc("{location}")
      %r = "fuse.store"(%o, %w, %guard) {{at = ["d0"], mode = "set"}}
        : (tensor<8xf32>, f32, i1) -> tensor<8xf32>
      return %r : tensor<8xf32>
    }}"""
    MODULES.append(ir.Module.parse(text, make_context()))
    return next(iter(functions_of(MODULES[-1]).values()))


@pytest.mark.parametrize("name", ["k_1", "tensor", '"a name (odd)"'])
def test_a_code_says_nothing_of_name_and_locations(name: str) -> None:
    assert code_of(kernel(name, location="y")) == code_of(kernel())


def test_a_code_says_all_else() -> None:
    others = (kernel(factor="3.0"), kernel(guard="false"), kernel(at="0"))
    assert len({code_of(k) for k in (kernel(), *others)}) == 4


@pytest.mark.parametrize("factor", ["3.0", "-1.5e-30", "0x7F800000"])
def test_kernels_that_differ_in_floats_are_read_once(factor: str, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[ir.Operation] = []
    monkeypatch.setattr(fusion_graph, "_summaries", {})
    monkeypatch.setattr(fusion_graph, "_read", lambda k: (read.append(k), _read(k))[1])
    known = summarise(kernel())
    assert known is not None and summarise(kernel("other", factor=factor)) is known and len(read) == 1
    assert summarise(kernel(guard="false")) is not known
    assert summarise(kernel(at="0")) is not known and len(read) == 3
