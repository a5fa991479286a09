// Rows too long for registers: a loop adds up a tile of partial sums, which start at zero; the last block, of which only a part
// lies inside, is added behind the loop; then one reduction adds up the tile.
// RUN: fuse-opt %s --default-pipeline=planned | FileCheck %s

// CHECK-LABEL: "tt.func"
// CHECK-NOT: "tt.reduce"
// CHECK: %[[ZERO:.*]] = arith.constant dense<0.000000e+00> : tensor<[[B:[0-9]+]]xf32>
// CHECK: %[[T:.*]] = scf.for %[[I:.*]] = %{{.*}} to %{{.*}} step %{{.*}} iter_args(%[[ACC:.*]] = %[[ZERO]]) -> (tensor<[[B]]xf32>)
// CHECK-NOT: arith.cmpi
// CHECK: %[[V:.*]] = "tt.load"(%{{.*}}) {operandSegmentSizes = array<i32: 1, 0, 0>}
// CHECK: %[[P:.*]] = arith.mulf %[[V]], %[[V]]
// CHECK: %[[N:.*]] = arith.addf %[[ACC]], %[[P]]
// CHECK-NEXT: scf.yield %[[N]]
// CHECK: %[[IN:.*]] = arith.cmpi slt, %
// CHECK: %[[LV:.*]] = "tt.load"(%{{.*}}, %[[IN]], %{{.*}})
// CHECK: %[[LP:.*]] = arith.mulf %[[LV]], %[[LV]]
// CHECK: %[[S:.*]] = arith.select %[[IN]], %[[LP]], %[[ZERO]]
// CHECK: %[[L:.*]] = arith.addf %[[T]], %[[S]]
// CHECK: %[[R:.*]] = "tt.reduce"(%[[L]])
// CHECK: {axis = 0 : i32} : (tensor<[[B]]xf32>) -> f32
// CHECK: "tt.store"(%{{.*}}, %[[R]]) : (!tt.ptr<f32>, f32) -> ()
// CHECK: "tt.return"
// CHECK: func.func private @k(
// CHECK-SAME: kind = "looped"
// CHECK-SAME: num_warps = {{[0-9]+}} : i64

module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<1000x50000xf32>) -> tensor<1000xf32> {
    %y_o = "fuse.empty"() {syms = []} : () -> tensor<1000xf32>
    %y = call @k(%x, %y_o) : (tensor<1000x50000xf32>, tensor<1000xf32>) -> tensor<1000xf32>
    return %y : tensor<1000xf32>
  }
  func.func private @k(%x: tensor<1000x50000xf32>, %o: tensor<1000xf32>) -> tensor<1000xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "1000", d1 = "50000"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<1000x50000xf32>, i1, f32) -> f32
    %p = arith.mulf %v, %v : f32
    %s = "fuse.reduce"(%p) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d0"], mode = "set"} : (tensor<1000xf32>, f32, i1) -> tensor<1000xf32>
    return %r : tensor<1000xf32>
  }
}
