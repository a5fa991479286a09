// A transpose is tiled in both dims, so that each side is read and written in runs; both sizes divide, so nothing is masked.
// The stride of the last axis of the tile is 1024 in the load and 1 in the store.
// RUN: fuse-opt %s --default-pipeline=planned | FileCheck %s

// CHECK-LABEL: "tt.func"
// CHECK: "tt.get_program_id"() {axis = 0 : i32}
// CHECK: "tt.get_program_id"() {axis = 1 : i32}
// CHECK-NOT: arith.cmpi
// CHECK: %[[STRIDE:.*]] = arith.constant dense<1024> : tensor<1x[[C:[0-9]+]]xi32>
// CHECK: arith.muli %[[COLUMN:.*]], %[[STRIDE]]
// CHECK: %[[V:.*]] = "tt.load"(%{{[0-9]+}}) {operandSegmentSizes = array<i32: 1, 0, 0>}
// CHECK-NOT: arith.cmpi
// CHECK: arith.constant dense<512> : tensor<[[R:[0-9]+]]x1xi32>
// CHECK: "tt.broadcast"(%[[COLUMN]]) : (tensor<1x[[C]]xi32>) -> tensor<[[R]]x[[C]]xi32>
// CHECK: "tt.store"(%{{[0-9]+}}, %[[V]]) :
// CHECK: "tt.return"
// CHECK: func.func private @k(
// CHECK-SAME: {block = [[R]] : i64, dims = ["d0"], kind = "grid"}, {block = [[C]] : i64, dims = ["d1"], kind = "grid"}

module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<512x1024xf32>) -> tensor<1024x512xf32> {
    %y_o = "fuse.empty"() {syms = []} : () -> tensor<1024x512xf32>
    %y = call @k(%x, %y_o) : (tensor<512x1024xf32>, tensor<1024x512xf32>) -> tensor<1024x512xf32>
    return %y : tensor<1024x512xf32>
  }
  func.func private @k(%x: tensor<512x1024xf32>, %o: tensor<1024x512xf32>) -> tensor<1024x512xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "1024", d1 = "512"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d1", "d0"]} : (tensor<512x1024xf32>, i1, f32) -> f32
    %r = "fuse.store"(%o, %v, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<1024x512xf32>, f32, i1) -> tensor<1024x512xf32>
    return %r : tensor<1024x512xf32>
  }
}
