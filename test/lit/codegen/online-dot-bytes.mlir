// A cache in bytes with scales: bytes with a sign become bf16, and products of bf16 scale them, two at a time.
// RUN: fuse-opt %s --pass-pipeline="builtin.module(choose-tiling{hardware=h200},apply-tiling)" --split-input-file | FileCheck %s
// RUN: not fuse-opt %s --pass-pipeline="builtin.module(choose-tiling{hardware=h200:shared_bytes=8192})" --split-input-file 2>&1 | FileCheck %s --check-prefix=SMALL
// SMALL: kernel @few: no block of

// CHECK-LABEL: func.func private @few
// Nothing is converted to f32 but by widening: Triton multiplies both bf16 of a register at once.
// CHECK: %[[HALF:.*]] = arith.sitofp %{{.*}} : tensor<64x64xi8> to tensor<64x64xbf16>
// CHECK-NEXT: %[[WIDE:.*]] = arith.extf %[[HALF]] : tensor<64x64xbf16> to tensor<64x64xf32>
// CHECK: arith.mulf %[[WIDE]]
// CHECK: %[[V:.*]] = arith.truncf %{{.*}} : tensor<64x64xf32> to tensor<64x64xbf16>
// CHECK: "tt.dot"(%{{.*}}, %[[V]], %{{.*}}) {{.*}} -> tensor<16x64xf32>
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%q: tensor<2x4x64xbf16>, %k: tensor<2x512x64xbf16>, %v: tensor<2x512x64xi8>, %s: tensor<2x512xbf16>) -> tensor<2x4x64xbf16> {
    %0 = "fuse.empty"() {syms = []} : () -> tensor<2x4x64xbf16>
    %1 = call @few(%q, %k, %v, %s, %0) : (tensor<2x4x64xbf16>, tensor<2x512x64xbf16>, tensor<2x512x64xi8>, tensor<2x512xbf16>, tensor<2x4x64xbf16>) -> tensor<2x4x64xbf16>
    return %1 : tensor<2x4x64xbf16>
  }
  func.func private @few(%arg0: tensor<2x4x64xbf16>, %arg1: tensor<2x512x64xbf16>, %arg2: tensor<2x512x64xi8>, %arg3: tensor<2x512xbf16>, %out: tensor<2x4x64xbf16>) -> tensor<2x4x64xbf16> attributes {fuse.dims = {d0 = "2", d1 = "4", d2 = "512", d3 = "64", d4 = "64"}, fuse.kernel, fuse.ties = array<i64: 4>} {
    %cst = arith.constant 1.250000e-01 : f32
    %true = arith.constant true
    %cst_0 = arith.constant 0.000000e+00 : bf16
    %none = arith.constant 0 : i8
    %0 = "fuse.load"(%arg0, %true, %cst_0) {at = ["d0", "d1", "d3"]} : (tensor<2x4x64xbf16>, i1, bf16) -> bf16
    %1 = "fuse.load"(%arg1, %true, %cst_0) {at = ["d0", "d2", "d3"]} : (tensor<2x512x64xbf16>, i1, bf16) -> bf16
    %2 = "fuse.dot"(%0, %1) {over = ["d3"]} : (bf16, bf16) -> f32
    %5 = arith.mulf %2, %cst : f32
    %vb = "fuse.load"(%arg2, %true, %none) {at = ["d0", "d2", "d4"]} : (tensor<2x512x64xi8>, i1, i8) -> i8
    %vh = arith.sitofp %vb : i8 to bf16
    %vf = arith.extf %vh : bf16 to f32
    %s = "fuse.load"(%arg3, %true, %cst_0) {at = ["d0", "d2"]} : (tensor<2x512xbf16>, i1, bf16) -> bf16
    %sf = arith.extf %s : bf16 to f32
    %vs = arith.mulf %vf, %sf : f32
    %6 = arith.truncf %vs : f32 to bf16
    %7, %8, %9 = "fuse.online_dot"(%5, %6) {over = ["d2"]} : (f32, bf16) -> (f32, f32, f32)
    %10 = arith.divf %7, %9 : f32
    %11 = arith.truncf %10 {fuse.implicit} : f32 to bf16
    %12 = "fuse.store"(%out, %11, %true) {at = ["d0", "d1", "d4"], mode = "set"} : (tensor<2x4x64xbf16>, bf16, i1) -> tensor<2x4x64xbf16>
    return %12 : tensor<2x4x64xbf16>
  }
}

// -----

// Must not fire: a scale of float32 is no number of bf16.
// CHECK-LABEL: func.func private @wide
// CHECK: "tt.elementwise_inline_asm"{{.*}} : (tensor<64x64xi8>) -> tensor<64x64xf32>
// CHECK: arith.mulf
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%q: tensor<2x4x64xbf16>, %k: tensor<2x512x64xbf16>, %v: tensor<2x512x64xi8>, %s: tensor<2x512xf32>) -> tensor<2x4x64xbf16> {
    %0 = "fuse.empty"() {syms = []} : () -> tensor<2x4x64xbf16>
    %1 = call @wide(%q, %k, %v, %s, %0) : (tensor<2x4x64xbf16>, tensor<2x512x64xbf16>, tensor<2x512x64xi8>, tensor<2x512xf32>, tensor<2x4x64xbf16>) -> tensor<2x4x64xbf16>
    return %1 : tensor<2x4x64xbf16>
  }
  func.func private @wide(%arg0: tensor<2x4x64xbf16>, %arg1: tensor<2x512x64xbf16>, %arg2: tensor<2x512x64xi8>, %arg3: tensor<2x512xf32>, %out: tensor<2x4x64xbf16>) -> tensor<2x4x64xbf16> attributes {fuse.dims = {d0 = "2", d1 = "4", d2 = "512", d3 = "64", d4 = "64"}, fuse.kernel, fuse.ties = array<i64: 4>} {
    %cst = arith.constant 1.250000e-01 : f32
    %true = arith.constant true
    %cst_0 = arith.constant 0.000000e+00 : bf16
    %cst_1 = arith.constant 0.0 : f32
    %none = arith.constant 0 : i8
    %0 = "fuse.load"(%arg0, %true, %cst_0) {at = ["d0", "d1", "d3"]} : (tensor<2x4x64xbf16>, i1, bf16) -> bf16
    %1 = "fuse.load"(%arg1, %true, %cst_0) {at = ["d0", "d2", "d3"]} : (tensor<2x512x64xbf16>, i1, bf16) -> bf16
    %2 = "fuse.dot"(%0, %1) {over = ["d3"]} : (bf16, bf16) -> f32
    %5 = arith.mulf %2, %cst : f32
    %vb = "fuse.load"(%arg2, %true, %none) {at = ["d0", "d2", "d4"]} : (tensor<2x512x64xi8>, i1, i8) -> i8
    %vh = arith.sitofp %vb : i8 to bf16
    %vf = arith.extf %vh : bf16 to f32
    %sf = "fuse.load"(%arg3, %true, %cst_1) {at = ["d0", "d2"]} : (tensor<2x512xf32>, i1, f32) -> f32
    %vs = arith.mulf %vf, %sf : f32
    %6 = arith.truncf %vs : f32 to bf16
    %7, %8, %9 = "fuse.online_dot"(%5, %6) {over = ["d2"]} : (f32, bf16) -> (f32, f32, f32)
    %10 = arith.divf %7, %9 : f32
    %11 = arith.truncf %10 {fuse.implicit} : f32 to bf16
    %12 = "fuse.store"(%out, %11, %true) {at = ["d0", "d1", "d4"], mode = "set"} : (tensor<2x4x64xbf16>, bf16, i1) -> tensor<2x4x64xbf16>
    return %12 : tensor<2x4x64xbf16>
  }
}

