// Products of more than 128 columns, of which a later one sums along the columns.
// RUN: fuse-opt %s --pass-pipeline="builtin.module(fuse-vertical,materialize-fusion)" --split-input-file | FileCheck %s

// They become one kernel where they are marked.
// CHECK-LABEL: func.func @main
// CHECK-COUNT-1: call @
// CHECK-NOT: call @
// CHECK: return
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<65536x64xbf16>, %w: tensor<64x256xbf16>, %v: tensor<256x64xbf16>) -> tensor<65536x64xbf16> {
    %f0 = "fuse.empty"() {syms = []} : () -> tensor<65536x256xbf16>
    %y0 = call @first(%x, %w, %f0) : (tensor<65536x64xbf16>, tensor<64x256xbf16>, tensor<65536x256xbf16>) -> tensor<65536x256xbf16>
    %f1 = "fuse.empty"() {syms = []} : () -> tensor<65536x64xbf16>
    %y1 = call @second(%y0, %v, %f1) : (tensor<65536x256xbf16>, tensor<256x64xbf16>, tensor<65536x64xbf16>) -> tensor<65536x64xbf16>
    return %y1 : tensor<65536x64xbf16>
  }
  func.func private @first(%x: tensor<65536x64xbf16>, %w: tensor<64x256xbf16>, %o: tensor<65536x256xbf16>) -> tensor<65536x256xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "65536", d1 = "256", d2 = "64"}, fuse.ties = array<i64: 2>, fuse.wide} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d2"]} : (tensor<65536x64xbf16>, i1, bf16) -> bf16
    %b = "fuse.load"(%w, %true, %zero) {at = ["d2", "d1"]} : (tensor<64x256xbf16>, i1, bf16) -> bf16
    %s = "fuse.dot"(%a, %b) {over = ["d2"]} : (bf16, bf16) -> f32
    %h = arith.truncf %s : f32 to bf16
    %r = "fuse.store"(%o, %h, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<65536x256xbf16>, bf16, i1) -> tensor<65536x256xbf16>
    return %r : tensor<65536x256xbf16>
  }
  func.func private @second(%x: tensor<65536x256xbf16>, %w: tensor<256x64xbf16>, %o: tensor<65536x64xbf16>) -> tensor<65536x64xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "65536", d1 = "64", d2 = "256"}, fuse.ties = array<i64: 2>, fuse.wide} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d2"]} : (tensor<65536x256xbf16>, i1, bf16) -> bf16
    %b = "fuse.load"(%w, %true, %zero) {at = ["d2", "d1"]} : (tensor<256x64xbf16>, i1, bf16) -> bf16
    %s = "fuse.dot"(%a, %b) {over = ["d2"]} : (bf16, bf16) -> f32
    %h = arith.truncf %s : f32 to bf16
    %r = "fuse.store"(%o, %h, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<65536x64xbf16>, bf16, i1) -> tensor<65536x64xbf16>
    return %r : tensor<65536x64xbf16>
  }
}

// -----

// Must not fire: nothing says that one kernel is faster.
// CHECK-LABEL: func.func @main
// CHECK-COUNT-2: call @
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<65536x64xbf16>, %w: tensor<64x256xbf16>, %v: tensor<256x64xbf16>) -> tensor<65536x64xbf16> {
    %f0 = "fuse.empty"() {syms = []} : () -> tensor<65536x256xbf16>
    %y0 = call @first(%x, %w, %f0) : (tensor<65536x64xbf16>, tensor<64x256xbf16>, tensor<65536x256xbf16>) -> tensor<65536x256xbf16>
    %f1 = "fuse.empty"() {syms = []} : () -> tensor<65536x64xbf16>
    %y1 = call @second(%y0, %v, %f1) : (tensor<65536x256xbf16>, tensor<256x64xbf16>, tensor<65536x64xbf16>) -> tensor<65536x64xbf16>
    return %y1 : tensor<65536x64xbf16>
  }
  func.func private @first(%x: tensor<65536x64xbf16>, %w: tensor<64x256xbf16>, %o: tensor<65536x256xbf16>) -> tensor<65536x256xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "65536", d1 = "256", d2 = "64"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d2"]} : (tensor<65536x64xbf16>, i1, bf16) -> bf16
    %b = "fuse.load"(%w, %true, %zero) {at = ["d2", "d1"]} : (tensor<64x256xbf16>, i1, bf16) -> bf16
    %s = "fuse.dot"(%a, %b) {over = ["d2"]} : (bf16, bf16) -> f32
    %h = arith.truncf %s : f32 to bf16
    %r = "fuse.store"(%o, %h, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<65536x256xbf16>, bf16, i1) -> tensor<65536x256xbf16>
    return %r : tensor<65536x256xbf16>
  }
  func.func private @second(%x: tensor<65536x256xbf16>, %w: tensor<256x64xbf16>, %o: tensor<65536x64xbf16>) -> tensor<65536x64xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "65536", d1 = "64", d2 = "256"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d2"]} : (tensor<65536x256xbf16>, i1, bf16) -> bf16
    %b = "fuse.load"(%w, %true, %zero) {at = ["d2", "d1"]} : (tensor<256x64xbf16>, i1, bf16) -> bf16
    %s = "fuse.dot"(%a, %b) {over = ["d2"]} : (bf16, bf16) -> f32
    %h = arith.truncf %s : f32 to bf16
    %r = "fuse.store"(%o, %h, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<65536x64xbf16>, bf16, i1) -> tensor<65536x64xbf16>
    return %r : tensor<65536x64xbf16>
  }
}
