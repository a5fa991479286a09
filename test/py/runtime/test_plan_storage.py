"""What a plan asks of the storage of ``@main``."""

from fuse_mlir.compiler.ir.context import make_context
from fuse_mlir.compiler.ir.storage import Storage, functions_of
from fuse_mlir.compiler.mlir import ir
from fuse_mlir.compiler.runtime.plans.plan_storage import last_uses

MODULE = """
func.func @main(%x: tensor<4xf32>, %kept: tensor<4xf32>, %unused: tensor<4xf32>)
    -> (tensor<4xf32>, tensor<4xf32>) {
  %y = call @relu(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %z = call @relu(%y) : (tensor<4xf32>) -> tensor<4xf32>
  return %z, %kept : tensor<4xf32>, tensor<4xf32>
}
func.func private @relu(tensor<4xf32>) -> tensor<4xf32> attributes {
    fuse.extern = "aten.relu.default", fuse.args = [#fuse.arg<0 : i64>], fuse.kwargs = {}}
"""


def test_arguments_that_are_returned_or_unused_have_no_last_use() -> None:
    with make_context():
        module = ir.Module.parse(MODULE)
        main = functions_of(module)["main"]
        x = main.regions[0].blocks[0].arguments[0]
        assert last_uses(main, Storage(main, module)) == {0: [x]}
