// A product of exponentials that a program adds up while it goes through their columns.
// RUN: fuse-opt %s --pass-pipeline="builtin.module(choose-tiling{hardware=h200})" | FileCheck %s --check-prefix=TILE
// RUN: fuse-opt %s --pass-pipeline="builtin.module(choose-tiling{hardware=h200},apply-tiling)" | FileCheck %s
// RUN: not fuse-opt %s --pass-pipeline="builtin.module(choose-tiling{hardware=h200:shared_bytes=8192})" 2>&1 | FileCheck %s --check-prefix=SMALL
// SMALL: kernel @flash: no block of ['d2'] fits beside the sums of its products

// TILE: {block = 1 : i64, dims = ["d0"], kind = "grid"}, {block = 64 : i64, dims = ["d1"], kind = "grid"}
// TILE-SAME: {block = 64 : i64, dims = ["d2"], kind = "looped"}
// TILE-SAME: {block = 64 : i64, dims = ["d3"], kind = "resident"}, {block = 32 : i64, dims = ["d4"], kind = "resident"}
// TILE-SAME: num_stages = 3 : i64, num_warps = 4 : i64

// The rows are loaded once.  Blocks of which all columns are there have a loop of their own, without masks.
// CHECK: %[[Q:.*]] = "tt.load"
// CHECK: %[[WHOLE:.*]]:3 = scf.for
// CHECK-NOT: arith.select
// CHECK: scf.yield
// Columns behind the end have a score of minus infinity.
// CHECK: scf.for {{.*}} iter_args(%[[SUMS:.*]] = %[[WHOLE]]#0, %[[MAX:.*]] = %[[WHOLE]]#1, %[[TOTAL:.*]] = %[[WHOLE]]#2)
// CHECK: "tt.dot"(%[[Q]], {{.*}}) {{.*}} -> tensor<64x64xf32>
// CHECK: %[[FILLED:.*]] = arith.select {{.*}} tensor<64x64xi1>, tensor<64x64xf32>
// CHECK: "tt.reduce"(%[[FILLED]])
// CHECK: %[[HIGHER:.*]] = arith.maximumf %[[MAX]], %{{.*}} : tensor<64x1xf32>
// CHECK: %[[GROWN:.*]] = arith.subf %[[MAX]], %[[HIGHER]]
// CHECK: %[[KEPT:.*]] = arith.mulf %[[SUMS]], %{{.*}} : tensor<64x32xf32>
// CHECK: %[[P:.*]] = arith.truncf %{{.*}} : tensor<64x64xf32> to tensor<64x64xbf16>
// CHECK: %[[NEXT:.*]] = "tt.dot"(%[[P]], %{{.*}}, %[[KEPT]])
// CHECK: scf.yield %[[NEXT]], %[[HIGHER]], %{{.*}}
// CHECK: {tt.num_stages = 3 : i32}
// CHECK: arith.divf
// CHECK: "tt.store"
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%q: tensor<2x100x64xbf16>, %k: tensor<2x200x64xbf16>, %v: tensor<2x200x32xbf16>) -> tensor<2x100x32xbf16> {
    %0 = "fuse.empty"() {syms = []} : () -> tensor<2x100x32xbf16>
    %1 = call @flash(%q, %k, %v, %0) : (tensor<2x100x64xbf16>, tensor<2x200x64xbf16>, tensor<2x200x32xbf16>, tensor<2x100x32xbf16>) -> tensor<2x100x32xbf16>
    return %1 : tensor<2x100x32xbf16>
  }
  func.func private @flash(%arg0: tensor<2x100x64xbf16>, %arg1: tensor<2x200x64xbf16>, %arg2: tensor<2x200x32xbf16>, %out: tensor<2x100x32xbf16>) -> tensor<2x100x32xbf16> attributes {fuse.dims = {d0 = "2", d1 = "100", d2 = "200", d3 = "64", d4 = "32"}, fuse.kernel, fuse.ties = array<i64: 3>} {
    %cst = arith.constant 1.250000e-01 : f32
    %true = arith.constant true
    %cst_0 = arith.constant 0.000000e+00 : bf16
    %0 = "fuse.load"(%arg0, %true, %cst_0) {at = ["d0", "d1", "d3"]} : (tensor<2x100x64xbf16>, i1, bf16) -> bf16
    %1 = "fuse.load"(%arg1, %true, %cst_0) {at = ["d0", "d2", "d3"]} : (tensor<2x200x64xbf16>, i1, bf16) -> bf16
    %2 = "fuse.dot"(%0, %1) {over = ["d3"]} : (bf16, bf16) -> f32
    %5 = arith.mulf %2, %cst : f32
    %6 = "fuse.load"(%arg2, %true, %cst_0) {at = ["d0", "d2", "d4"]} : (tensor<2x200x32xbf16>, i1, bf16) -> bf16
    %7, %8, %9 = "fuse.online_dot"(%5, %6) {over = ["d2"]} : (f32, bf16) -> (f32, f32, f32)
    %10 = arith.divf %7, %9 : f32
    %11 = arith.truncf %10 {fuse.implicit} : f32 to bf16
    %12 = "fuse.store"(%out, %11, %true) {at = ["d0", "d1", "d4"], mode = "set"} : (tensor<2x100x32xbf16>, bf16, i1) -> tensor<2x100x32xbf16>
    return %12 : tensor<2x100x32xbf16>
  }
}
