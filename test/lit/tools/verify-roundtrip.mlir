// RUN: fuse-opt %s --verify-roundtrip | FileCheck %s
// CHECK: func.func @main
func.func @main(%o: tensor<8xf32>) -> tensor<8xf32> {
  %y = call @fill(%o) : (tensor<8xf32>) -> tensor<8xf32>
  return {fuse.mutates = {"0" = 0 : i64}} %y : tensor<8xf32>
}
func.func private @fill(%o: tensor<8xf32>) -> tensor<8xf32>
    attributes {fuse.kernel, fuse.dims = {d0 = "8"}, fuse.ties = array<i64: 0>} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : f32
  %r = "fuse.store"(%o, %zero, %true) {at = ["d0"], mode = "set"} : (tensor<8xf32>, f32, i1) -> tensor<8xf32>
  return %r : tensor<8xf32>
}
