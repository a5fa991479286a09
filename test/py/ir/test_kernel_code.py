"""Equal kernels are known by their code, and those that differ in floats have one summary, read once."""

import pytest

from fuse_mlir.compiler.analysis.kernel import info
from fuse_mlir.compiler.analysis.kernel.info import BodyOps, KernelInfo
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
    of = BodyOps.of
    monkeypatch.setattr(info, "_read", {})
    monkeypatch.setattr(BodyOps, "of", staticmethod(lambda k: (read.append(k), of(k))[1]))
    known = KernelInfo.of(kernel())
    assert KernelInfo.of(kernel("other", factor=factor)) is known and len(read) == 1
    assert KernelInfo.of(kernel(guard="false")) is not known
    assert KernelInfo.of(kernel(at="0")) is not known and len(read) == 3


def test_a_body_says_what_each_result_needs() -> None:
    info = KernelInfo.of(kernel())
    assert info.summary is not None and info.summary.is_pointwise
    assert info.body.names[-2:] == ("fuse.store", "func.return") and info.body.slots == 1
    needed, loaded = info.body.needed(0)
    assert (needed["arith.mulf"], needed["func.return"], loaded) == (1, 0, [0])
    assert not info.body.looks_up and info.body.tables(0) == set()
