// A row that is read twice: the second loop runs backwards over what the first one asked the cache to keep, and keeps nothing itself.
// RUN: fuse-opt %s --pass-pipeline="builtin.module(apply-tiling)" --split-input-file | FileCheck %s

// CHECK-LABEL: @twice
// CHECK: scf.for
// CHECK: "tt.load"{{.*}}evict = 3 : i32
// CHECK: scf.for
// CHECK: arith.subi
// CHECK: "tt.load"{{.*}}evict = 2 : i32
// CHECK: "tt.store"{{.*}}evict = 2 : i32
func.func private @twice(%x: tensor<64x4096xf32>, %o: tensor<64x4096xf32>) -> tensor<64x4096xf32>
    attributes {fuse.kernel, fuse.dims = {d0 = "64", d1 = "4096"}, fuse.ties = array<i64: 1>,
                fuse.tile = {axes = [{dims = ["d0"], block = 1 : i64, kind = "grid"}, {dims = ["d1"], block = 1024 : i64, kind = "looped"}], num_warps = 4 : i64, num_stages = 1 : i64}} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : f32
  %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<64x4096xf32>, i1, f32) -> f32
  %s = "fuse.reduce"(%v) {kind = "sum", over = ["d1"]} : (f32) -> f32
  %w = arith.subf %v, %s : f32
  %r = "fuse.store"(%o, %w, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<64x4096xf32>, f32, i1) -> tensor<64x4096xf32>
  return %r : tensor<64x4096xf32>
}

// -----

// Read once: nothing to keep.
// CHECK-LABEL: @once
// CHECK: scf.for
// CHECK-NOT: evict
// CHECK: return
func.func private @once(%x: tensor<64x4096xf32>, %o: tensor<64xf32>) -> tensor<64xf32>
    attributes {fuse.kernel, fuse.dims = {d0 = "64", d1 = "4096"}, fuse.ties = array<i64: 1>,
                fuse.tile = {axes = [{dims = ["d0"], block = 1 : i64, kind = "grid"}, {dims = ["d1"], block = 1024 : i64, kind = "looped"}], num_warps = 4 : i64, num_stages = 1 : i64}} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : f32
  %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<64x4096xf32>, i1, f32) -> f32
  %s = "fuse.reduce"(%v) {kind = "sum", over = ["d1"]} : (f32) -> f32
  %r = "fuse.store"(%o, %s, %true) {at = ["d0"], mode = "set"} : (tensor<64xf32>, f32, i1) -> tensor<64xf32>
  return %r : tensor<64xf32>
}
