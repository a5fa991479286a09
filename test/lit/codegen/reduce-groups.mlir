// A row that is reduced by groups and as a whole: the whole is folded as one axis, so that threads exchange one number each; the
// groups along theirs.
// RUN: fuse-opt %s --pass-pipeline="builtin.module(choose-tiling,apply-tiling)" | FileCheck %s

// CHECK-LABEL: @groups_and_row
// CHECK: "tt.reduce"(%[[V:.*]]) ({
// CHECK: }) {axis = 1 : i32} : (tensor<32x128xf32>) -> tensor<32xf32>
// CHECK: %[[R:.*]] = "tt.reshape"(%[[V]]){{.*}} -> tensor<4096xf32>
// CHECK: "tt.reduce"(%[[R]]) ({
// CHECK: }) {axis = 0 : i32} : (tensor<4096xf32>) -> f32
func.func private @groups_and_row(%x: tensor<16384x4096xf32>, %o: tensor<16384x32xf32>, %p: tensor<16384xf32>) -> (tensor<16384x32xf32>, tensor<16384xf32>)
    attributes {fuse.kernel, fuse.dims = {d0 = "16384", d1 = "32", d2 = "128"}, fuse.ties = array<i64: 1, 2>} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : f32
  %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1*128 + d2"]} : (tensor<16384x4096xf32>, i1, f32) -> f32
  %g = "fuse.reduce"(%v) {kind = "max", over = ["d2"]} : (f32) -> f32
  %s = "fuse.reduce"(%v) {kind = "sum", over = ["d1", "d2"]} : (f32) -> f32
  %q = "fuse.store"(%o, %g, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<16384x32xf32>, f32, i1) -> tensor<16384x32xf32>
  %r = "fuse.store"(%p, %s, %true) {at = ["d0"], mode = "set"} : (tensor<16384xf32>, f32, i1) -> tensor<16384xf32>
  return %q, %r : tensor<16384x32xf32>, tensor<16384xf32>
}
