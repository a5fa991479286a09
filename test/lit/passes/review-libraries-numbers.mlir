// RUN: fuse-opt %s --pass-pipeline="builtin.module(review-libraries{hardware=h200})" --split-input-file --verify-each=numeric --verify-roundtrip | FileCheck %s

// Must not fire: neither kernel computes from views of its tensors, in the layouts that the library took,
// what the library would give.  The third does, and goes back; so does the next, which reads its result.
// Other groups stay.
// CHECK-LABEL: func.func @main
// CHECK: call @read_across({{.*}}) {fuse.group = 0 : i64}
// CHECK: call @stored_across({{.*}}) {fuse.group = 0 : i64}
// CHECK: %[[C:.*]] = call @mm(%arg0, %arg1)
// CHECK-NEXT: call @mm(%[[C]], %arg1)
// CHECK-NOT: fuse.instead
module {
  func.func @main(%x: tensor<64x64xbf16>, %w: tensor<64x64xbf16>) -> (tensor<64x64xbf16>, tensor<64x64xbf16>, tensor<64x64xbf16>) {
    %e = "fuse.empty"() {syms = []} : () -> tensor<64x64xbf16>
    %a = call @read_across(%x, %w, %e) {fuse.group = 3 : i64} : (tensor<64x64xbf16>, tensor<64x64xbf16>, tensor<64x64xbf16>) -> tensor<64x64xbf16>
    %f = "fuse.empty"() {syms = []} : () -> tensor<64x64xbf16>
    %b = call @stored_across(%x, %w, %f) {fuse.group = 3 : i64} : (tensor<64x64xbf16>, tensor<64x64xbf16>, tensor<64x64xbf16>) -> tensor<64x64xbf16>
    %g = "fuse.empty"() {syms = []} : () -> tensor<64x64xbf16>
    %c = call @as_it_was(%x, %w, %g) {fuse.group = 5 : i64} : (tensor<64x64xbf16>, tensor<64x64xbf16>, tensor<64x64xbf16>) -> tensor<64x64xbf16>
    %h = "fuse.empty"() {syms = []} : () -> tensor<64x64xbf16>
    %d = call @as_it_was(%c, %w, %h) : (tensor<64x64xbf16>, tensor<64x64xbf16>, tensor<64x64xbf16>) -> tensor<64x64xbf16>
    return %a, %b, %d : tensor<64x64xbf16>, tensor<64x64xbf16>, tensor<64x64xbf16>
  }
  func.func private @mm(tensor<64x64xbf16>, tensor<64x64xbf16>) -> tensor<64x64xbf16> attributes {fuse.extern = "aten.mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
  func.func private @read_across(%x: tensor<64x64xbf16>, %w: tensor<64x64xbf16>, %o: tensor<64x64xbf16>) -> tensor<64x64xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "64", d1 = "64", d2 = "64"}, fuse.ties = array<i64: 2>, fuse.instead = @mm} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %a = "fuse.load"(%x, %true, %zero) {at = ["d2", "d0"]} : (tensor<64x64xbf16>, i1, bf16) -> bf16
    %b = "fuse.load"(%w, %true, %zero) {at = ["d2", "d1"]} : (tensor<64x64xbf16>, i1, bf16) -> bf16
    %s = "fuse.dot"(%a, %b) {over = ["d2"]} : (bf16, bf16) -> f32
    %t = arith.truncf %s : f32 to bf16
    %r = "fuse.store"(%o, %t, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<64x64xbf16>, bf16, i1) -> tensor<64x64xbf16>
    return %r : tensor<64x64xbf16>
  }
  func.func private @stored_across(%x: tensor<64x64xbf16>, %w: tensor<64x64xbf16>, %o: tensor<64x64xbf16>) -> tensor<64x64xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "64", d1 = "64", d2 = "64"}, fuse.ties = array<i64: 2>, fuse.instead = @mm} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d2"]} : (tensor<64x64xbf16>, i1, bf16) -> bf16
    %b = "fuse.load"(%w, %true, %zero) {at = ["d2", "d1"]} : (tensor<64x64xbf16>, i1, bf16) -> bf16
    %s = "fuse.dot"(%a, %b) {over = ["d2"]} : (bf16, bf16) -> f32
    %t = arith.truncf %s : f32 to bf16
    %r = "fuse.store"(%o, %t, %true) {at = ["d1", "d0"], mode = "set"} : (tensor<64x64xbf16>, bf16, i1) -> tensor<64x64xbf16>
    return %r : tensor<64x64xbf16>
  }
  func.func private @as_it_was(%x: tensor<64x64xbf16>, %w: tensor<64x64xbf16>, %o: tensor<64x64xbf16>) -> tensor<64x64xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "64", d1 = "64", d2 = "64"}, fuse.ties = array<i64: 2>, fuse.instead = @mm} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d2"]} : (tensor<64x64xbf16>, i1, bf16) -> bf16
    %b = "fuse.load"(%w, %true, %zero) {at = ["d2", "d1"]} : (tensor<64x64xbf16>, i1, bf16) -> bf16
    %s = "fuse.dot"(%a, %b) {over = ["d2"]} : (bf16, bf16) -> f32
    %t = arith.truncf %s : f32 to bf16
    %r = "fuse.store"(%o, %t, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<64x64xbf16>, bf16, i1) -> tensor<64x64xbf16>
    return %r : tensor<64x64xbf16>
  }
}

// -----

// Every second row of a tensor, the first columns of another, and a column that is added: each as a view.
// CHECK-LABEL: func.func @main
// CHECK: %[[C:.*]] = "fuse.view"(%arg0) {map = ["v0", "0"], syms = []} : (tensor<6x1xf32>) -> tensor<6x8xf32, #fuse.layout<"6,8", "1,0", "0", "">>
// CHECK: %[[X:.*]] = "fuse.view"(%arg1) {map = ["v0*2 + 1", "v1 + 4"], syms = []} : (tensor<12x26xf32>) -> tensor<6x20xf32, #fuse.layout<"6,20", "52,1", "30", "">>
// CHECK: %[[W:.*]] = "fuse.view"(%arg2) {map = ["v0", "v1"], syms = []} : (tensor<20x12xf32>) -> tensor<20x8xf32, #fuse.layout<"20,8", "12,1", "0", "">>
// CHECK: call @addmm(%[[C]], %[[X]], %[[W]])
func.func @main(%c: tensor<6x1xf32>, %x: tensor<12x26xf32>, %w: tensor<20x12xf32>) -> tensor<6x8xf32> {
  %e = "fuse.empty"() {syms = []} : () -> tensor<6x8xf32>
  %y = call @product(%c, %x, %w, %e) : (tensor<6x1xf32>, tensor<12x26xf32>, tensor<20x12xf32>, tensor<6x8xf32>) -> tensor<6x8xf32>
  return %y : tensor<6x8xf32>
}
func.func private @addmm(tensor<6x8xf32, #fuse.layout<"6,8", "1,0", "0", "">>, tensor<6x20xf32, #fuse.layout<"6,20", "52,1", "30", "">>, tensor<20x8xf32, #fuse.layout<"20,8", "12,1", "0", "">>) -> tensor<6x8xf32> attributes {fuse.extern = "aten.addmm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>, #fuse.arg<2 : i64>], fuse.kwargs = {beta = 3 : i64}}
func.func private @product(%c: tensor<6x1xf32>, %x: tensor<12x26xf32>, %w: tensor<20x12xf32>, %o: tensor<6x8xf32>) -> tensor<6x8xf32> attributes {fuse.kernel, fuse.dims = {d0 = "6", d1 = "8", d2 = "20"}, fuse.ties = array<i64: 3>, fuse.instead = @addmm} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : f32
  %three = arith.constant 3.0 : f32
  %a = "fuse.load"(%x, %true, %zero) {at = ["2*d0 + 1", "d2 + 4"]} : (tensor<12x26xf32>, i1, f32) -> f32
  %b = "fuse.load"(%w, %true, %zero) {at = ["d2", "d1"]} : (tensor<20x12xf32>, i1, f32) -> f32
  %s = "fuse.dot"(%a, %b) {over = ["d2"]} : (f32, f32) -> f32
  %m = "fuse.load"(%c, %true, %zero) {at = ["d0", "0"]} : (tensor<6x1xf32>, i1, f32) -> f32
  %n = arith.mulf %m, %three : f32
  %t = arith.addf %s, %n : f32
  %r = "fuse.store"(%o, %t, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<6x8xf32>, f32, i1) -> tensor<6x8xf32>
  return %r : tensor<6x8xf32>
}
