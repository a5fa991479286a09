"""What defines a value: constants, and the ops that values are computed of, or that compute of them."""

import math

from fuse_mlir.compiler.ir.context import make_context
from fuse_mlir.compiler.ir.defining import backward_slice, constant_number, forward_slice
from fuse_mlir.compiler.mlir import arith, ir

TEXT = """
func.func @f(%x: f32, %y: f32) -> (f32, f32) {
  %two = arith.constant 2.0 : f32
  %a = arith.addf %x, %two : f32
  %b = arith.mulf %a, %a : f32
  %c = arith.subf %b, %y : f32
  %d = arith.divf %b, %c : f32
  %unused = arith.negf %y : f32
  return %c, %d : f32, f32
}
"""


def body():
    """The ops of the function, by name."""
    module = ir.Module.parse(TEXT)
    return module, {op.name: op for op in module.body.operations[0].regions[0].blocks[0].operations}


def test_a_backward_slice_has_each_op_once_down_to_arguments():
    with make_context(), ir.Location.unknown():
        _, ops = body()
        found = [op.name for op in backward_slice([ops["arith.divf"].results[0]])]
        assert sorted(found) == ["arith.addf", "arith.constant", "arith.divf", "arith.mulf", "arith.subf"]
        assert backward_slice(ops["arith.addf"].operands[:1]) == []


def test_slices_end_at_ops_that_are_part_of_them():
    with make_context(), ir.Location.unknown():
        _, ops = body()
        back = backward_slice(ops["arith.divf"].results, lambda op: isinstance(op, arith.MulFOp))
        assert sorted(op.name for op in back) == ["arith.divf", "arith.mulf", "arith.subf"]
        ahead = forward_slice(ops["arith.addf"].results, lambda op: isinstance(op, arith.MulFOp))
        assert [op.name for op in ahead] == ["arith.mulf"]


def test_a_forward_slice_has_each_user_once():
    with make_context(), ir.Location.unknown():
        _, ops = body()
        found = [op.name for op in forward_slice(ops["arith.addf"].results)]
        assert sorted(found) == ["arith.divf", "arith.mulf", "arith.subf", "func.return"]
        assert forward_slice(ops["arith.negf"].results) == []


def test_constant_numbers_are_floats_and_whole_numbers():
    with make_context(), ir.Location.unknown():
        module = ir.Module.parse("""
          %0 = arith.constant 0xFF800000 : f32
          %1 = arith.constant -7 : i64
          %2 = arith.constant true
          %3 = arith.negf %0 : f32
        """)
        found = [constant_number(op.results[0]) for op in module.body.operations]
        assert found == [-math.inf, -7, None, None]
