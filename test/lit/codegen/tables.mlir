// Numbers of a short table that some bits name are taken from the lanes of a warp, which hold the table.
// RUN: fuse-opt %s --pass-pipeline="builtin.module(choose-tiling,apply-tiling)" --split-input-file | FileCheck %s

// CHECK-LABEL: @halves
// CHECK: %[[B:.*]] = "tt.load"({{.*}}xi8>
// CHECK: elementwise_inline_asm_2"(%{{.*}}, %[[B]])
// CHECK-SAME: and.b32 lane, lane, 15
// CHECK-SAME: ld.global.nc.b32 entry
// CHECK-SAME: shr.b32 at, $8, 4; shfl.sync.idx.b32 $0
// CHECK-SAME: packed_element = 4
// CHECK-NOT: tt.load
func.func private @halves(%x: tensor<4096xui8>, %t: tensor<16xf32>, %o: tensor<4096xf32>) -> tensor<4096xf32>
    attributes {fuse.kernel, fuse.dims = {d0 = "4096"}, fuse.ties = array<i64: 2>} {
  %true = arith.constant true
  %none = arith.constant 0 : i8
  %zero = arith.constant 0.0 : f32
  %four = arith.constant 4 : i8
  %b = "fuse.load"(%x, %true, %none) {at = ["d0"]} : (tensor<4096xui8>, i1, i8) -> i8
  %h = arith.shrui %b, %four : i8
  %i = arith.extui %h : i8 to i64
  %v = "fuse.load"(%t, %true, %zero, %i) {at = ["i0"]} : (tensor<16xf32>, i1, f32, i64) -> f32
  %r = "fuse.store"(%o, %v, %true) {at = ["d0"], mode = "set"} : (tensor<4096xf32>, f32, i1) -> tensor<4096xf32>
  return %r : tensor<4096xf32>
}

// -----

// Two numbers of 16 bits share a register.  Two bits name four of them.
// CHECK-LABEL: @narrow
// CHECK: and.b32 lane, lane, 3
// CHECK-SAME: ld.global.nc.b16 half
// CHECK-SAME: prmt.b32 $0, one, two
func.func private @narrow(%x: tensor<4096xui8>, %t: tensor<4xbf16>, %o: tensor<4096xbf16>) -> tensor<4096xbf16>
    attributes {fuse.kernel, fuse.dims = {d0 = "4096"}, fuse.ties = array<i64: 2>} {
  %true = arith.constant true
  %none = arith.constant 0 : i8
  %zero = arith.constant 0.0 : bf16
  %three = arith.constant 3 : i8
  %b = "fuse.load"(%x, %true, %none) {at = ["d0"]} : (tensor<4096xui8>, i1, i8) -> i8
  %h = arith.andi %b, %three : i8
  %i = arith.extui %h : i8 to i64
  %v = "fuse.load"(%t, %true, %zero, %i) {at = ["i0"]} : (tensor<4xbf16>, i1, bf16, i64) -> bf16
  %r = "fuse.store"(%o, %v, %true) {at = ["d0"], mode = "set"} : (tensor<4096xbf16>, bf16, i1) -> tensor<4096xbf16>
  return %r : tensor<4096xbf16>
}

// -----

// Must not fire: a warp has fewer lanes than a byte has values.
// CHECK-LABEL: @bytes
// CHECK-NOT: shfl
// CHECK: return
func.func private @bytes(%x: tensor<4096xui8>, %t: tensor<256xf32>, %o: tensor<4096xf32>) -> tensor<4096xf32>
    attributes {fuse.kernel, fuse.dims = {d0 = "4096"}, fuse.ties = array<i64: 2>} {
  %true = arith.constant true
  %none = arith.constant 0 : i8
  %zero = arith.constant 0.0 : f32
  %b = "fuse.load"(%x, %true, %none) {at = ["d0"]} : (tensor<4096xui8>, i1, i8) -> i8
  %i = arith.extui %b : i8 to i64
  %v = "fuse.load"(%t, %true, %zero, %i) {at = ["i0"]} : (tensor<256xf32>, i1, f32, i64) -> f32
  %r = "fuse.store"(%o, %v, %true) {at = ["d0"], mode = "set"} : (tensor<4096xf32>, f32, i1) -> tensor<4096xf32>
  return %r : tensor<4096xf32>
}

// -----

// Must not fire: the bits name entries that the table does not have, so a guard decides.
// CHECK-LABEL: @guarded
// CHECK-NOT: shfl
// CHECK: return
func.func private @guarded(%x: tensor<4096xui8>, %t: tensor<10xf32>, %o: tensor<4096xf32>) -> tensor<4096xf32>
    attributes {fuse.kernel, fuse.dims = {d0 = "4096"}, fuse.ties = array<i64: 2>} {
  %true = arith.constant true
  %none = arith.constant 0 : i8
  %zero = arith.constant 0.0 : f32
  %four = arith.constant 4 : i8
  %ten = arith.constant 10 : i64
  %b = "fuse.load"(%x, %true, %none) {at = ["d0"]} : (tensor<4096xui8>, i1, i8) -> i8
  %h = arith.shrui %b, %four : i8
  %i = arith.extui %h : i8 to i64
  %inside = arith.cmpi slt, %i, %ten : i64
  %v = "fuse.load"(%t, %inside, %zero, %i) {at = ["i0"]} : (tensor<10xf32>, i1, f32, i64) -> f32
  %r = "fuse.store"(%o, %v, %true) {at = ["d0"], mode = "set"} : (tensor<4096xf32>, f32, i1) -> tensor<4096xf32>
  return %r : tensor<4096xf32>
}
