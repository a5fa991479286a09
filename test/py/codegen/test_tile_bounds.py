"""Bounds of float tiles: what ``tile_bounds`` says of an expression, and a check that is left out by them."""

import math

import pytest
import torch
from tiling_cases import Case, lowered, run, tensor

from fuse_mlir.compiler.codegen.tile_bounds import at_least, at_most
from fuse_mlir.compiler.ir.context import make_context
from fuse_mlir.compiler.mlir import ir
from fuse_mlir.passes.tiling.apply_tiling import ApplyTiling
from fuse_mlir.passes.tiling.choose_tiling import ChooseTiling

#: Operations on %v and the bounds of their last result.  %v is between -500 and 100.
BOUNDS = {
    "%r = arith.addf %v, %three : f32": (-497.0, 103.0),
    "%r = math.absf %v : f32": (0.0, 500.0),
    "%a = arith.addf %v, %thousand : f32\n%r = math.absf %a : f32": (500.0, 1100.0),
    "%r = arith.mulf %v, %three : f32": (-1500.0, 300.0),
    "%r = arith.divf %v, %three : f32": (-500.0 / 3, 100.0 / 3),
    "%m = arith.constant -3.0 : f32\n%r = arith.mulf %v, %m : f32": (-math.inf, math.inf),
    "%r = arith.mulf %v, %v : f32": (-math.inf, math.inf),
    '%s = "tt.splat"(%three) : (f32) -> tensor<8xf32>\n%w = "tt.splat"(%v) : (f32) -> tensor<8xf32>\n'
    "%r = arith.mulf %w, %s : tensor<8xf32>": (-1500.0, 300.0),
    "%r = math.exp %v : f32": (0.0, math.inf),
    "%e = math.exp2 %v : f32\n%r = arith.addf %e, %three : f32": (3.0, math.inf),
    "%r = arith.maximumf %v, %three : f32": (3.0, 100.0),
    "%r = arith.minimumf %v, %three : f32": (-500.0, 3.0),
    "%r = math.sin %v : f32": (-math.inf, math.inf),
    "%r = arith.addf %v, %x : f32": (-math.inf, math.inf),
}


@pytest.mark.parametrize("text", BOUNDS)
def test_bounds(text: str) -> None:
    with make_context(), ir.Location.unknown():
        module = ir.Module.parse(f"""func.func @f(%x: f32) {{
            %three = arith.constant 3.0 : f32
            %thousand = arith.constant 1000.0 : f32
            %low = arith.constant -500.0 : f32
            %high = arith.constant 100.0 : f32
            %u = arith.maximumf %x, %low : f32
            %v = arith.minimumf %u, %high : f32
            {text}
            return
        }}""")
        [*_, last, _] = module.body.operations[0].regions[0].blocks[0].operations
        assert (at_least(last.result), at_most(last.result)) == BOUNDS[text]


@pytest.mark.parametrize(("low", "high", "checked"), [(-500.0, 100.0, True), (-448.0, 464.0, False)])
def test_numbers_that_may_be_too_small_for_fp8_become_nan(low: float, high: float, checked: bool) -> None:
    """-500 lies beyond what eight bits hold as 500 does."""
    body = f"""load x[d0] -> v
%low = arith.constant {low} : f32
%high = arith.constant {high} : f32
%a = arith.maximumf %v, %low : f32
%b = arith.minimumf %a, %high : f32
%t = arith.truncf %b : f32 to f8E4M3FN
store t -> o[d0]"""
    case = Case({"d0": "128"}, {"x": tensor(128)}, {"o": tensor(128, element="f8E4M3FN")}, body)
    module = lowered(case.text(), ChooseTiling(), ApplyTiling())
    assert ("arith.shrsi" in str(module)) == checked
    x = torch.linspace(-600, 600, 128)
    got = run(module, [x])[0].float()
    assert torch.equal(got.isnan(), x.clamp(low, high).abs() > 464)
