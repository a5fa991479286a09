// RUN: not fuse-opt %s --pass-pipeline="builtin.module(apply-tiling)" 2>&1 | FileCheck %s

// CHECK: apply-tiling: kernel @k has no fuse.tile
module attributes {fuse.device = "cpu"} {
  func.func private @k(%x: tensor<8xf32>, %o: tensor<8xf32>) -> tensor<8xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "8"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<8xf32>, i1, f32) -> f32
    %r = "fuse.store"(%o, %v, %true) {at = ["d0"], mode = "set"} : (tensor<8xf32>, f32, i1) -> tensor<8xf32>
    return %r : tensor<8xf32>
  }
}
