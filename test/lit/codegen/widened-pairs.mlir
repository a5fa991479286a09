// What is read as bfloat16 is widened in pairs, but where the compiler computes with pairs of 16 bits itself: sums and products that are rounded.
// RUN: fuse-opt %s --pass-pipeline="builtin.module(choose-tiling,apply-tiling)" --split-input-file --verify-diagnostics | FileCheck %s

// CHECK-LABEL: @in_pairs
// CHECK: %[[X:.*]] = "tt.load"
// CHECK: "tt.elementwise_inline_asm"(%[[X]]) {asm_string = "{ shl.b32 $0, $2, 16; and.b32 $1, $2, 0xffff0000; }", constraints = "=r,=r,r", packed_element = 2 : i32, pure = true} : (tensor<[[N:.*]]xbf16>) -> tensor<[[N]]xf32>
// CHECK-NOT: arith.extf
// CHECK: arith.truncf
func.func private @in_pairs(%x: tensor<4096xbf16>, %o: tensor<4096xbf16>) -> tensor<4096xbf16>
    attributes {fuse.kernel, fuse.dims = {d0 = "4096"}, fuse.ties = array<i64: 1>} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : bf16
  %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<4096xbf16>, i1, bf16) -> bf16
  %w = arith.extf %v : bf16 to f32
  %p = arith.mulf %w, %w : f32
  %e = math.exp %p : f32
  %t = arith.truncf %e : f32 to bf16
  %r = "fuse.store"(%o, %t, %true) {at = ["d0"], mode = "set"} : (tensor<4096xbf16>, bf16, i1) -> tensor<4096xbf16>
  return %r : tensor<4096xbf16>
}

// -----

// A product that is rounded at once, of a number whose sign changes.
// CHECK-LABEL: @product_of_16_bits
// CHECK-NOT: inline_asm
// CHECK: arith.extf
func.func private @product_of_16_bits(%x: tensor<4096xbf16>, %o: tensor<4096xbf16>) -> tensor<4096xbf16>
    attributes {fuse.kernel, fuse.dims = {d0 = "4096"}, fuse.ties = array<i64: 1>} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : bf16
  %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<4096xbf16>, i1, bf16) -> bf16
  %w = arith.extf %v : bf16 to f32
  %n = arith.negf %w : f32
  %p = arith.mulf %n, %n : f32
  %t = arith.truncf %p : f32 to bf16
  %r = "fuse.store"(%o, %t, %true) {at = ["d0"], mode = "set"} : (tensor<4096xbf16>, bf16, i1) -> tensor<4096xbf16>
  return %r : tensor<4096xbf16>
}

// -----

// float16 has conversions that take one instruction.
// CHECK-LABEL: @float16
// CHECK-NOT: inline_asm
// CHECK: arith.extf
func.func private @float16(%x: tensor<4096xf16>, %o: tensor<4096xf16>) -> tensor<4096xf16>
    attributes {fuse.kernel, fuse.dims = {d0 = "4096"}, fuse.ties = array<i64: 1>} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : f16
  %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<4096xf16>, i1, f16) -> f16
  %w = arith.extf %v : f16 to f32
  %e = math.exp %w : f32
  %t = arith.truncf %e : f32 to f16
  %r = "fuse.store"(%o, %t, %true) {at = ["d0"], mode = "set"} : (tensor<4096xf16>, f16, i1) -> tensor<4096xf16>
  return %r : tensor<4096xf16>
}

// -----

// Bad input: a number of 16 bits is not widened to itself.
func.func private @bad(%x: tensor<4096xbf16>, %o: tensor<4096xbf16>) -> tensor<4096xbf16>
    attributes {fuse.kernel, fuse.dims = {d0 = "4096"}, fuse.ties = array<i64: 1>} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : bf16
  %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<4096xbf16>, i1, bf16) -> bf16
  %w = arith.extf %v : bf16 to f32
  // expected-error@+1 {{are cast incompatible}}
  %n = arith.extf %v : bf16 to bf16
  %e = math.exp %w : f32
  %t = arith.truncf %e : f32 to bf16
  %r = "fuse.store"(%o, %t, %true) {at = ["d0"], mode = "set"} : (tensor<4096xbf16>, bf16, i1) -> tensor<4096xbf16>
  return %r : tensor<4096xbf16>
}
