// RUN: fuse-opt %s --pass-pipeline="builtin.module(choose-tiling{hardware=h200},apply-tiling,combine-launches{hardware=h200})" --split-input-file | FileCheck %s

// Two calls of one kernel with a product share a launch: both use the same shared memory.
// CHECK-LABEL: func.func @main
// CHECK: call @combined_product(
// CHECK-NOT: call
// CHECK: @combined_product({{.*}}fuse.part = "product"
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<256x256xbf16>, %w: tensor<256x256xbf16>, %v: tensor<256x256xbf16>) -> (tensor<256x256xbf16>, tensor<256x256xbf16>) {
    %e = "fuse.empty"() {syms = []} : () -> tensor<256x256xbf16>
    %y = call @product(%x, %w, %e) : (tensor<256x256xbf16>, tensor<256x256xbf16>, tensor<256x256xbf16>) -> tensor<256x256xbf16>
    %f = "fuse.empty"() {syms = []} : () -> tensor<256x256xbf16>
    %z = call @product(%x, %v, %f) : (tensor<256x256xbf16>, tensor<256x256xbf16>, tensor<256x256xbf16>) -> tensor<256x256xbf16>
    return %y, %z : tensor<256x256xbf16>, tensor<256x256xbf16>
  }
  func.func private @product(%x: tensor<256x256xbf16>, %w: tensor<256x256xbf16>, %o: tensor<256x256xbf16>) -> tensor<256x256xbf16>
      attributes {fuse.kernel, fuse.dims = {d0 = "256", d1 = "256", d2 = "256"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d2"]} : (tensor<256x256xbf16>, i1, bf16) -> bf16
    %b = "fuse.load"(%w, %true, %zero) {at = ["d2", "d1"]} : (tensor<256x256xbf16>, i1, bf16) -> bf16
    %s = "fuse.dot"(%a, %b) {over = ["d2"]} : (bf16, bf16) -> f32
    %h = arith.truncf %s : f32 to bf16
    %r = "fuse.store"(%o, %h, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<256x256xbf16>, bf16, i1) -> tensor<256x256xbf16>
    return %r : tensor<256x256xbf16>
  }
}

// -----

// Must not fire: the launch of two different products would need the shared memory of both.
// CHECK-LABEL: func.func @main
// CHECK: call @product(
// CHECK: call @clamped(
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<256x256xbf16>, %w: tensor<256x256xbf16>, %v: tensor<256x256xbf16>) -> (tensor<256x256xbf16>, tensor<256x256xbf16>) {
    %e = "fuse.empty"() {syms = []} : () -> tensor<256x256xbf16>
    %y = call @product(%x, %w, %e) : (tensor<256x256xbf16>, tensor<256x256xbf16>, tensor<256x256xbf16>) -> tensor<256x256xbf16>
    %f = "fuse.empty"() {syms = []} : () -> tensor<256x256xbf16>
    %z = call @clamped(%x, %v, %f) : (tensor<256x256xbf16>, tensor<256x256xbf16>, tensor<256x256xbf16>) -> tensor<256x256xbf16>
    return %y, %z : tensor<256x256xbf16>, tensor<256x256xbf16>
  }
  func.func private @product(%x: tensor<256x256xbf16>, %w: tensor<256x256xbf16>, %o: tensor<256x256xbf16>) -> tensor<256x256xbf16>
      attributes {fuse.kernel, fuse.dims = {d0 = "256", d1 = "256", d2 = "256"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d2"]} : (tensor<256x256xbf16>, i1, bf16) -> bf16
    %b = "fuse.load"(%w, %true, %zero) {at = ["d2", "d1"]} : (tensor<256x256xbf16>, i1, bf16) -> bf16
    %s = "fuse.dot"(%a, %b) {over = ["d2"]} : (bf16, bf16) -> f32
    %h = arith.truncf %s : f32 to bf16
    %r = "fuse.store"(%o, %h, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<256x256xbf16>, bf16, i1) -> tensor<256x256xbf16>
    return %r : tensor<256x256xbf16>
  }
  func.func private @clamped(%x: tensor<256x256xbf16>, %w: tensor<256x256xbf16>, %o: tensor<256x256xbf16>) -> tensor<256x256xbf16>
      attributes {fuse.kernel, fuse.dims = {d0 = "256", d1 = "256", d2 = "256"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d2"]} : (tensor<256x256xbf16>, i1, bf16) -> bf16
    %b = "fuse.load"(%w, %true, %zero) {at = ["d2", "d1"]} : (tensor<256x256xbf16>, i1, bf16) -> bf16
    %s = "fuse.dot"(%a, %b) {over = ["d2"]} : (bf16, bf16) -> f32
    %h = arith.truncf %s : f32 to bf16
    %q = arith.maximumf %h, %zero : bf16
    %r = "fuse.store"(%o, %q, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<256x256xbf16>, bf16, i1) -> tensor<256x256xbf16>
    return %r : tensor<256x256xbf16>
  }
}
