// A running sum along rows of 500: one tt.scan over a block that covers the row, whose padding is zero.
// RUN: fuse-opt %s --default-pipeline=planned | FileCheck %s

// CHECK-LABEL: "tt.func"
// CHECK: %[[IN:.*]] = arith.cmpi slt, %{{.*}} : tensor<[[T:.*]]xi32>
// CHECK: %[[V:.*]] = "tt.load"(%{{.*}}, %[[IN]], %{{.*}})
// CHECK: %[[S:.*]] = arith.select %[[IN]], %[[V]], %
// CHECK: %[[Y:.*]] = "tt.scan"(%[[S]])
// CHECK: arith.addf
// CHECK: "tt.scan_return"
// CHECK: {axis = 0 : i32, reverse = false}
// CHECK: "tt.store"(%{{.*}}, %[[Y]], %[[IN]])
// CHECK: "tt.return"
// CHECK: func.func private @k(
// CHECK-SAME: {block = 512 : i64, dims = ["d1"], kind = "resident"}

module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<100x500xf32>) -> tensor<100x500xf32> {
    %y_o = "fuse.empty"() {syms = []} : () -> tensor<100x500xf32>
    %y = call @k(%x, %y_o) : (tensor<100x500xf32>, tensor<100x500xf32>) -> tensor<100x500xf32>
    return %y : tensor<100x500xf32>
  }
  func.func private @k(%x: tensor<100x500xf32>, %o: tensor<100x500xf32>) -> tensor<100x500xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "100", d1 = "500"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<100x500xf32>, i1, f32) -> f32
    %s = "fuse.scan"(%v) {kind = "sum", over = "d1", reverse = false} : (f32) -> f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<100x500xf32>, f32, i1) -> tensor<100x500xf32>
    return %r : tensor<100x500xf32>
  }
}
