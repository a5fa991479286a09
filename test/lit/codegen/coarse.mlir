// What is rounded to 16 bits next is divided without a branch; one divisor for a row becomes a factor. Elsewhere division is exact.
// RUN: fuse-opt %s --pass-pipeline="builtin.module(choose-tiling,apply-tiling)" --split-input-file | FileCheck %s

// CHECK-LABEL: @sigmoid
// CHECK-NOT: tt.precise_divf
// CHECK: arith.divf
// CHECK: arith.truncf
func.func private @sigmoid(%x: tensor<4096xbf16>, %o: tensor<4096xbf16>) -> tensor<4096xbf16>
    attributes {fuse.kernel, fuse.dims = {d0 = "4096"}, fuse.ties = array<i64: 1>} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : bf16
  %one = arith.constant 1.0 : f32
  %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<4096xbf16>, i1, bf16) -> bf16
  %w = arith.extf %v : bf16 to f32
  %e = math.exp %w : f32
  %d = arith.addf %e, %one : f32
  %q = arith.divf %one, %d : f32
  %t = arith.truncf %q : f32 to bf16
  %r = "fuse.store"(%o, %t, %true) {at = ["d0"], mode = "set"} : (tensor<4096xbf16>, bf16, i1) -> tensor<4096xbf16>
  return %r : tensor<4096xbf16>
}

// -----

// A divisor below 2**-100 is scaled up together with what it divides: its reciprocal must not overflow.
// CHECK-LABEL: @rows
// CHECK: %[[D:.*]] = "tt.reduce"
// CHECK: %[[SMALL:.*]] = arith.cmpf olt, %{{.*}}, %{{.*}} : f32
// CHECK: %[[SCALE:.*]] = arith.select %[[SMALL]]
// CHECK: %[[R:.*]] = "tt.precise_divf"(%{{.*}}, %{{.*}}) : (f32, f32) -> f32
// CHECK-NOT: divf
// CHECK: arith.truncf
func.func private @rows(%x: tensor<64x4096xbf16>, %o: tensor<64x4096xbf16>) -> tensor<64x4096xbf16>
    attributes {fuse.kernel, fuse.dims = {d0 = "64", d1 = "4096"}, fuse.ties = array<i64: 1>} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : bf16
  %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<64x4096xbf16>, i1, bf16) -> bf16
  %w = arith.extf %v : bf16 to f32
  %d = "fuse.reduce"(%w) {kind = "sum", over = ["d1"]} : (f32) -> f32
  %q = arith.divf %w, %d : f32
  %t = arith.truncf %q : f32 to bf16
  %r = "fuse.store"(%o, %t, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<64x4096xbf16>, bf16, i1) -> tensor<64x4096xbf16>
  return %r : tensor<64x4096xbf16>
}

// -----

// Exact: the difference may cancel, so that the quotient's error is most of the result.
// CHECK-LABEL: @cancels
// CHECK: tt.precise_divf
func.func private @cancels(%x: tensor<4096xbf16>, %o: tensor<4096xbf16>) -> tensor<4096xbf16>
    attributes {fuse.kernel, fuse.dims = {d0 = "4096"}, fuse.ties = array<i64: 1>} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : bf16
  %one = arith.constant 1.0 : f32
  %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<4096xbf16>, i1, bf16) -> bf16
  %w = arith.extf %v : bf16 to f32
  %q = arith.divf %one, %w : f32
  %d = arith.subf %q, %one : f32
  %t = arith.truncf %d : f32 to bf16
  %r = "fuse.store"(%o, %t, %true) {at = ["d0"], mode = "set"} : (tensor<4096xbf16>, bf16, i1) -> tensor<4096xbf16>
  return %r : tensor<4096xbf16>
}
