// An integer that is rounded to a float, and that to a narrower one, is rounded twice, as eager does. Triton's
// canonicaliser would convert the integer at once.
// RUN: fuse-opt %s --pass-pipeline="builtin.module(choose-tiling,apply-tiling)" --split-input-file | FileCheck %s

// CHECK-LABEL: @words
// CHECK: arith.truncf %{{.*}} to_nearest_even : tensor<{{.*}}xf32> to tensor<{{.*}}xbf16>
func.func private @words(%x: tensor<4096xi64>, %o: tensor<4096xbf16>) -> tensor<4096xbf16>
    attributes {fuse.kernel, fuse.dims = {d0 = "4096"}, fuse.ties = array<i64: 1>} {
  %true = arith.constant true
  %zero = arith.constant 0 : i64
  %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<4096xi64>, i1, i64) -> i64
  %w = arith.sitofp %v : i64 to f32
  %t = arith.truncf %w : f32 to bf16
  %r = "fuse.store"(%o, %t, %true) {at = ["d0"], mode = "set"} : (tensor<4096xbf16>, bf16, i1) -> tensor<4096xbf16>
  return %r : tensor<4096xbf16>
}

// -----

// CHECK-LABEL: @unsigned_doubles
// CHECK: arith.truncf %{{.*}} to_nearest_even : tensor<{{.*}}xf64> to tensor<{{.*}}xf32>
// CHECK: arith.truncf %{{[a-z0-9]*}} : tensor<{{.*}}xf32> to tensor<{{.*}}xf16>
func.func private @unsigned_doubles(%x: tensor<4096xui64>, %o: tensor<4096xf16>) -> tensor<4096xf16>
    attributes {fuse.kernel, fuse.dims = {d0 = "4096"}, fuse.ties = array<i64: 1>} {
  %true = arith.constant true
  %zero = arith.constant 0 : i64
  %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<4096xui64>, i1, i64) -> i64
  %w = arith.uitofp %v : i64 to f64
  %t = arith.truncf %w : f64 to f16
  %r = "fuse.store"(%o, %t, %true) {at = ["d0"], mode = "set"} : (tensor<4096xf16>, f16, i1) -> tensor<4096xf16>
  return %r : tensor<4096xf16>
}

// -----

// Must not fire: float32 holds 16 bits, so that nothing is rounded before.
// CHECK-LABEL: @halfwords
// CHECK: arith.truncf %{{[a-z0-9]*}} : tensor<{{.*}}xf32> to tensor<{{.*}}xbf16>
func.func private @halfwords(%x: tensor<4096xi16>, %o: tensor<4096xbf16>) -> tensor<4096xbf16>
    attributes {fuse.kernel, fuse.dims = {d0 = "4096"}, fuse.ties = array<i64: 1>} {
  %true = arith.constant true
  %zero = arith.constant 0 : i16
  %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<4096xi16>, i1, i16) -> i16
  %w = arith.sitofp %v : i16 to f32
  %t = arith.truncf %w : f32 to bf16
  %r = "fuse.store"(%o, %t, %true) {at = ["d0"], mode = "set"} : (tensor<4096xbf16>, bf16, i1) -> tensor<4096xbf16>
  return %r : tensor<4096xbf16>
}
