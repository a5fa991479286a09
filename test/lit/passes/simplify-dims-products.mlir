// RUN: fuse-opt %s --pass-pipeline="builtin.module(simplify-dims)" --split-input-file | FileCheck %s

// A batch of rows is rows of one matrix where the other factor has no dim of the batch.
// CHECK-LABEL: func.func private @shared
// CHECK-SAME: fuse.dims = {d0 = "32", d1 = "16", d2 = "64"}
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<4x8x64xf32>, %w: tensor<64x16xf32>) -> tensor<4x8x16xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<4x8x16xf32>
    %y = call @shared(%x, %w, %o) : (tensor<4x8x64xf32>, tensor<64x16xf32>, tensor<4x8x16xf32>) -> tensor<4x8x16xf32>
    return %y : tensor<4x8x16xf32>
  }
  func.func private @shared(%x: tensor<4x8x64xf32>, %w: tensor<64x16xf32>, %o: tensor<4x8x16xf32>) -> tensor<4x8x16xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "4", d1 = "8", d2 = "16", d3 = "64"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1", "d3"]} : (tensor<4x8x64xf32>, i1, f32) -> f32
    %b = "fuse.load"(%w, %true, %zero) {at = ["d3", "d2"]} : (tensor<64x16xf32>, i1, f32) -> f32
    %s = "fuse.dot"(%a, %b) {over = ["d3"]} : (f32, f32) -> f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d0", "d1", "d2"], mode = "set"} : (tensor<4x8x16xf32>, f32, i1) -> tensor<4x8x16xf32>
    return %r : tensor<4x8x16xf32>
  }
}

// -----

// Must not fire: the other factor has the batch, along which its stride is 0, and not the rows.
// CHECK-LABEL: func.func private @expanded
// CHECK-SAME: fuse.dims = {d0 = "4", d1 = "8", d2 = "16", d3 = "64"}
!w = tensor<4x64x16xf32, #fuse.layout<"4,64,16", "0,16,1", "0", "">>
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<4x8x64xf32>, %w: !w) -> tensor<4x8x16xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<4x8x16xf32>
    %y = call @expanded(%x, %w, %o) : (tensor<4x8x64xf32>, !w, tensor<4x8x16xf32>) -> tensor<4x8x16xf32>
    return %y : tensor<4x8x16xf32>
  }
  func.func private @expanded(%x: tensor<4x8x64xf32>, %w: !w, %o: tensor<4x8x16xf32>) -> tensor<4x8x16xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "4", d1 = "8", d2 = "16", d3 = "64"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1", "d3"]} : (tensor<4x8x64xf32>, i1, f32) -> f32
    %b = "fuse.load"(%w, %true, %zero) {at = ["d0", "d3", "d2"]} : (!w, i1, f32) -> f32
    %s = "fuse.dot"(%a, %b) {over = ["d3"]} : (f32, f32) -> f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d0", "d1", "d2"], mode = "set"} : (tensor<4x8x16xf32>, f32, i1) -> tensor<4x8x16xf32>
    return %r : tensor<4x8x16xf32>
  }
}

// -----

// Must not fire: rows are in segments, which rows of two dims would not be; so those that are repeated are divided.
// CHECK-LABEL: func.func private @experts
// CHECK-SAME: fuse.dims = {d0 = "200", d1 = "128", d2 = "64", d3 = "4"}
// CHECK: {at = ["d0 mod 100", "d2"]}
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<100x64xbf16>, %w: tensor<4x64x128xbf16>, %ends: tensor<4xi32>) -> tensor<200x128xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<200x128xf32>
    %y = call @experts(%x, %w, %ends, %o) : (tensor<100x64xbf16>, tensor<4x64x128xbf16>, tensor<4xi32>, tensor<200x128xf32>) -> tensor<200x128xf32>
    return %y : tensor<200x128xf32>
  }
  func.func private @experts(%x: tensor<100x64xbf16>, %w: tensor<4x64x128xbf16>, %ends: tensor<4xi32>, %o: tensor<200x128xf32>) -> tensor<200x128xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "200", d1 = "128", d2 = "64", d3 = "4"}, fuse.ties = array<i64: 3>} {
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
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0 mod 100", "d2"]} : (tensor<100x64xbf16>, i1, bf16) -> bf16
    %b = "fuse.load"(%w, %known, %zero, %segment) {at = ["i0", "d2", "d1"]} : (tensor<4x64x128xbf16>, i1, bf16, i64) -> bf16
    %s = "fuse.dot"(%a, %b) {over = ["d2"]} : (bf16, bf16) -> f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<200x128xf32>, f32, i1) -> tensor<200x128xf32>
    return %r : tensor<200x128xf32>
  }
}
