// A product along windows whose steps are written out: each step's place in the window is a constant, and the last one, which is
// cut, is masked.
// RUN: fuse-opt %s --pass-pipeline="builtin.module(apply-tiling)" --split-input-file | FileCheck %s

// CHECK-LABEL: func.func private @stem
// CHECK-NOT: scf.for
// CHECK: %[[ZERO:.*]] = arith.constant dense<0.000000e+00> : tensor<64x16xf32>
// CHECK: %[[A:.*]] = "tt.load"({{.*}}) {operandSegmentSizes = array<i32: 1, 1, 1>} : (tensor<64x16x!tt.ptr<bf16>>, tensor<64x16xi1>, tensor<64x16xbf16>)
// CHECK: %[[FIRST:.*]] = "tt.dot"(%[[A]], %{{.*}}, %[[ZERO]])
// CHECK: %[[C:.*]] = "tt.load"({{.*}}) {operandSegmentSizes = array<i32: 1, 1, 1>} : (tensor<64x16x!tt.ptr<bf16>>, tensor<64x16xi1>, tensor<64x16xbf16>)
// CHECK: "tt.dot"(%[[C]], %{{.*}}, %[[FIRST]])
// CHECK-NOT: tt.dot
// CHECK-NOT: scf.for
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<2x3x16x16xbf16>, %w: tensor<16x3x3x3xbf16>) -> tensor<2x16x8x8xbf16> {
    %e = "fuse.empty"() {syms = []} : () -> tensor<2x16x8x8xbf16>
    %y = call @stem(%x, %w, %e) : (tensor<2x3x16x16xbf16>, tensor<16x3x3x3xbf16>, tensor<2x16x8x8xbf16>) -> tensor<2x16x8x8xbf16>
    return %y : tensor<2x16x8x8xbf16>
  }
  func.func private @stem(%x: tensor<2x3x16x16xbf16>, %w: tensor<16x3x3x3xbf16>, %o: tensor<2x16x8x8xbf16>) -> tensor<2x16x8x8xbf16>
      attributes {fuse.kernel, fuse.dims = {d0 = "2", d1 = "16", d2 = "8", d3 = "8", d4 = "3", d5 = "3", d6 = "3"}, fuse.ties = array<i64: 2>, fuse.tile = {axes = [{dims = ["d0", "d2", "d3"], block = 64 : i64, kind = "grid"}, {dims = ["d1"], block = 16 : i64, kind = "grid"}, {dims = ["d4", "d5", "d6"], block = 16 : i64, kind = "looped"}], num_warps = 4 : i64, num_stages = 1 : i64, written_out}} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %none = arith.constant 0 : i64
    %i = "fuse.index"() {expr = "d2*2 + d5 - 1"} : () -> i64
    %u = arith.cmpi sge, %i, %none : i64
    %j = "fuse.index"() {expr = "d3*2 + d6 - 1"} : () -> i64
    %v = arith.cmpi sge, %j, %none : i64
    %in = arith.andi %u, %v : i1
    %a = "fuse.load"(%x, %in, %zero) {at = ["d0", "d4", "d2*2 + d5 - 1", "d3*2 + d6 - 1"]} : (tensor<2x3x16x16xbf16>, i1, bf16) -> bf16
    %b = "fuse.load"(%w, %true, %zero) {at = ["d1", "d4", "d5", "d6"]} : (tensor<16x3x3x3xbf16>, i1, bf16) -> bf16
    %c = "fuse.dot"(%b, %a) {over = ["d4", "d5", "d6"]} : (bf16, bf16) -> f32
    %h = arith.truncf %c : f32 to bf16
    %r = "fuse.store"(%o, %h, %true) {at = ["d0", "d1", "d2", "d3"], mode = "set"} : (tensor<2x16x8x8xbf16>, bf16, i1) -> tensor<2x16x8x8xbf16>
    return %r : tensor<2x16x8x8xbf16>
  }
}

// -----

// Must not fire: not asked for.
// CHECK-LABEL: func.func private @loop
// CHECK: scf.for
// CHECK: tt.dot
// CHECK-NOT: tt.dot
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<2x3x16x16xbf16>, %w: tensor<16x3x3x3xbf16>) -> tensor<2x16x8x8xbf16> {
    %e = "fuse.empty"() {syms = []} : () -> tensor<2x16x8x8xbf16>
    %y = call @loop(%x, %w, %e) : (tensor<2x3x16x16xbf16>, tensor<16x3x3x3xbf16>, tensor<2x16x8x8xbf16>) -> tensor<2x16x8x8xbf16>
    return %y : tensor<2x16x8x8xbf16>
  }
  func.func private @loop(%x: tensor<2x3x16x16xbf16>, %w: tensor<16x3x3x3xbf16>, %o: tensor<2x16x8x8xbf16>) -> tensor<2x16x8x8xbf16>
      attributes {fuse.kernel, fuse.dims = {d0 = "2", d1 = "16", d2 = "8", d3 = "8", d4 = "3", d5 = "3", d6 = "3"}, fuse.ties = array<i64: 2>, fuse.tile = {axes = [{dims = ["d0", "d2", "d3"], block = 64 : i64, kind = "grid"}, {dims = ["d1"], block = 16 : i64, kind = "grid"}, {dims = ["d4", "d5", "d6"], block = 16 : i64, kind = "looped"}], num_warps = 4 : i64, num_stages = 1 : i64}} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %none = arith.constant 0 : i64
    %i = "fuse.index"() {expr = "d2*2 + d5 - 1"} : () -> i64
    %u = arith.cmpi sge, %i, %none : i64
    %j = "fuse.index"() {expr = "d3*2 + d6 - 1"} : () -> i64
    %v = arith.cmpi sge, %j, %none : i64
    %in = arith.andi %u, %v : i1
    %a = "fuse.load"(%x, %in, %zero) {at = ["d0", "d4", "d2*2 + d5 - 1", "d3*2 + d6 - 1"]} : (tensor<2x3x16x16xbf16>, i1, bf16) -> bf16
    %b = "fuse.load"(%w, %true, %zero) {at = ["d1", "d4", "d5", "d6"]} : (tensor<16x3x3x3xbf16>, i1, bf16) -> bf16
    %c = "fuse.dot"(%b, %a) {over = ["d4", "d5", "d6"]} : (bf16, bf16) -> f32
    %h = arith.truncf %c : f32 to bf16
    %r = "fuse.store"(%o, %h, %true) {at = ["d0", "d1", "d2", "d3"], mode = "set"} : (tensor<2x16x8x8xbf16>, bf16, i1) -> tensor<2x16x8x8xbf16>
    return %r : tensor<2x16x8x8xbf16>
  }
}
