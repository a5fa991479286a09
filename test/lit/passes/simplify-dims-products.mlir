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
