"""`reorder-for-peak` on drawn programs: dependences hold, and no account of the memory gets a higher peak."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from fuse_mlir.compiler.analysis.program.dependences import Dependences, check_order
from fuse_mlir.compiler.analysis.program.peak_order import PeakOrder, StorageUses
from fuse_mlir.compiler.base.remarks import Remarks
from fuse_mlir.compiler.ir.context import make_context
from fuse_mlir.compiler.mlir import ir
from fuse_mlir.compiler.runtime.interpreter.program import run_module
from fuse_mlir.compiler.verifier.verifier import verify
from fuse_mlir.passes.memory.reorder_for_peak import ReorderForPeak

SIZES = (4, 64, 1024)

COPY = """
  func.func private @copy{n}_{m}(%x: tensor<{n}xf32>, %o: tensor<{m}xf32>) -> tensor<{m}xf32>
      attributes {{fuse.kernel, fuse.dims = {{d0 = "{m}"}}, fuse.ties = array<i64: 1>}} {{
    %true = arith.constant true
    %z = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %z) {{at = ["d0 mod {n}"]}} : (tensor<{n}xf32>, i1, f32) -> f32
    %s = "fuse.store"(%o, %v, %true) {{at = ["d0"], mode = "set"}}
        : (tensor<{m}xf32>, f32, i1) -> tensor<{m}xf32>
    return %s : tensor<{m}xf32>
  }}"""
DOUBLE = """
  func.func private @double{m}(%o: tensor<{m}xf32>) -> tensor<{m}xf32>
      attributes {{fuse.kernel, fuse.dims = {{d0 = "{m}"}}, fuse.ties = array<i64: 0>}} {{
    %true = arith.constant true
    %z = arith.constant 0.0 : f32
    %v = "fuse.load"(%o, %true, %z) {{at = ["d0"]}} : (tensor<{m}xf32>, i1, f32) -> f32
    %w = arith.addf %v, %v : f32
    %s = "fuse.store"(%o, %w, %true) {{at = ["d0"], mode = "set"}}
        : (tensor<{m}xf32>, f32, i1) -> tensor<{m}xf32>
    return %s : tensor<{m}xf32>
  }}"""


def program(steps: list[tuple[int, int, bool]], returned: list[int]) -> str:
    """A module of copies to tensors of other sizes, and of doublings in place, which end the old value.

    steps: (which earlier value is read, size of the result, whether it is doubled in place).
    """
    values, lines, kernels = [("%x", SIZES[0]), ("%y", SIZES[-1])], [], set()
    dead: set[int] = set()
    for number, (source, size, in_place) in enumerate(steps):
        at = max(i for i in range(len(values)) if i not in dead and (i <= source % len(values) or i < 2))
        (name, n), m = values[at], SIZES[size]
        if in_place and at >= 2:
            dead.add(at)
            m = n
            kernels.add(DOUBLE.format(m=m))
            lines.append(f"%v{number} = call @double{m}({name}) : (tensor<{m}xf32>) -> tensor<{m}xf32>")
        else:
            kernels.add(COPY.format(n=n, m=m))
            types = f"(tensor<{n}xf32>, tensor<{m}xf32>) -> tensor<{m}xf32>"
            lines.append(f'%e{number} = "fuse.empty"() {{syms = []}} : () -> tensor<{m}xf32>')
            lines.append(f"%v{number} = call @copy{n}_{m}({name}, %e{number}) : {types}")
        values.append((f"%v{number}", m))
    kept = sorted({r % len(values) for r in returned} - dead)
    types = ", ".join(f"tensor<{values[i][1]}xf32>" for i in kept)
    lines.append(f"return {', '.join(values[i][0] for i in kept)} : {types}")
    main = f"func.func @main(%x: tensor<4xf32>, %y: tensor<1024xf32>) -> ({types})"
    functions = "\n".join([*sorted(kernels), f"  {main} {{", *(f"    {line}" for line in lines), "  }"])
    return f'module attributes {{fuse.device = "cpu"}} {{{functions}\n}}'


STEPS = st.lists(st.tuples(st.integers(0, 30), st.integers(0, 2), st.booleans()), min_size=1, max_size=20)


@settings(max_examples=50)
@given(steps=STEPS, returned=st.lists(st.integers(0, 30), min_size=1, max_size=3))
def test_dependences_hold_and_no_peak_rises(steps, returned):
    text = program(steps, [*returned, len(steps) + 1])
    with make_context():
        before, after = ir.Module.parse(text), ir.Module.parse(text)
        ReorderForPeak(least=0).run(after, Remarks())
        verify(after)
        assert check_order(after) is None
        old, new = (PeakOrder(StorageUses.of(Dependences.of(m), {})) for m in (before, after))
        pairs = list(zip(new.peaks(new.program), old.peaks(old.program), strict=True))
        assert all(now <= was for now, was in pairs)
        given_ = [torch.arange(4.0), torch.arange(1024.0)]
        results = [run_module(m, [t.clone() for t in given_]) for m in (before, after)]
        assert all(torch.equal(a, b) for a, b in zip(*results, strict=True))


def test_a_saved_activation_is_not_kept_for_the_sake_of_a_gradient():
    """Each product needs an activation of the caller for the last time: putting it off would keep that."""
    steps = [(1, 1, False), (1, 1, False), (2, 0, False), (3, 0, False)]
    with make_context():
        module = ir.Module.parse(program(steps, [4, 5]))
        remarks = Remarks()
        ReorderForPeak().run(module, remarks)
        (remark,) = remarks.items
        numbers = dict(remark.numbers)
        assert numbers["peak_after"] < numbers["peak_before"]
        assert numbers["peak_after_with_arguments"] <= numbers["peak_before_with_arguments"]


@pytest.mark.parametrize("least", [1, 60])
def test_a_small_gain_leaves_the_program_as_it_is(least):
    steps = [(1, 1, False), (1, 1, False), (2, 0, False), (3, 0, False)]
    with make_context():
        module = ir.Module.parse(program(steps, [4, 5]))
        text = str(module)
        ReorderForPeak(least=least).run(module, Remarks())
        assert (str(module) == text) is (least == 60)
