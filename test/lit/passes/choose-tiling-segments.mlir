// Blocks of products of rows in segments: rows of one segment each, and all ends in every program.
// RUN: fuse-opt %s --pass-pipeline="builtin.module(choose-tiling{hardware=h200})" --split-input-file | FileCheck %s

// CHECK-LABEL: func.func private @experts
// CHECK-SAME: dims = ["d0"], kind = "grid"
// CHECK-SAME: {block = 4 : i64, dims = ["d3"], kind = "resident"}
// CHECK-SAME: segmented
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<200x256xbf16>, %w: tensor<4x256x128xbf16>, %ends: tensor<4xi32>) -> tensor<200x128xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<200x128xf32>
    %y = call @experts(%x, %w, %ends, %o) : (tensor<200x256xbf16>, tensor<4x256x128xbf16>, tensor<4xi32>, tensor<200x128xf32>) -> tensor<200x128xf32>
    return %y : tensor<200x128xf32>
  }
  func.func private @experts(%x: tensor<200x256xbf16>, %w: tensor<4x256x128xbf16>, %ends: tensor<4xi32>, %o: tensor<200x128xf32>) -> tensor<200x128xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "200", d1 = "128", d2 = "256", d3 = "4"}, fuse.ties = array<i64: 3>} {
    %true = arith.constant true
    %none = arith.constant 0 : i32
    %zero = arith.constant 0.0 : bf16
    %count = arith.constant 4 : i64
    %end = "fuse.load"(%ends, %true, %none) {at = ["d3"]} : (tensor<4xi32>, i1, i32) -> i32
    %wide = arith.extsi %end : i32 to i64
    %row = "fuse.index"() {expr = "d0"} : () -> i64
    %before = arith.cmpi sle, %wide, %row : i64
    %one = arith.extui %before : i1 to i64
    %segment = "fuse.reduce"(%one) {kind = "sum", over = ["d3"]} : (i64) -> i64
    %known = arith.cmpi slt, %segment, %count : i64
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d2"]} : (tensor<200x256xbf16>, i1, bf16) -> bf16
    %b = "fuse.load"(%w, %known, %zero, %segment) {at = ["i0", "d2", "d1"]} : (tensor<4x256x128xbf16>, i1, bf16, i64) -> bf16
    %s = "fuse.dot"(%a, %b) {over = ["d2"]} : (bf16, bf16) -> f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<200x128xf32>, f32, i1) -> tensor<200x128xf32>
    return %r : tensor<200x128xf32>
  }
}
