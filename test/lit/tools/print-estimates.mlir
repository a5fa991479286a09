// What each call moves, computes and takes at least; equal at every level.
// RUN: fuse-opt %s --fuse-print-estimates --hardware=h200 -o %t 2>&1 | FileCheck %s
// RUN: fuse-opt %s --choose-tiling --apply-tiling --plan-memory --lower-to-tt --fuse-print-estimates --hardware=h200 -o %t 2>&1 | FileCheck %s
// RUN: fuse-opt %s --choose-tiling --apply-tiling --lower-to-tt | FileCheck %s --check-prefix=KEPT
// RUN: not fuse-opt %s --fuse-print-estimates --hardware=abacus 2>&1 | FileCheck %s --check-prefix=UNKNOWN

// All of the table (128 bytes) is read, whatever the 64 indices are; both halves of a row are one read of it;
// the rows that a stride of 0 repeats are one.
// CHECK: 0: @gather: reads 640, writes 2048 bytes, 0 slots, 0 flops
// CHECK-NEXT: 1: @halves: reads 2048, writes 2048 bytes, 512 slots, 0 flops
// CHECK-NEXT: 2: @mm: reads 3072, writes 512 bytes, 0 slots, 8192 flops
// CHECK-NEXT: 3: @add: reads 544, writes 512 bytes, 0 slots, 0 flops
// CHECK-NEXT: 4: @fill: reads 0, writes 512 bytes, 0 slots, 0 flops
// CHECK-NEXT: 5 calls: 11936 bytes, 0.002 us on h200
// KEPT-DAG: fuse.traffic = {reads = array<i64: 128, 512, 0>, slots = 0 : i64, writes = array<i64: 0, 0, 2048>}
// KEPT-DAG: fuse.traffic = {reads = array<i64: 2048, 0>, slots = 512 : i64, writes = array<i64: 0, 2048>}
// UNKNOWN: fuse-opt: error: unknown hardware 'abacus'
!row = tensor<16x8xf32, #fuse.layout<"16,8", "0,1", "0", "">>
func.func @main(%t: tensor<4x8xf32>, %i: tensor<64xi64>, %x: tensor<16x32xf32>, %w: tensor<32x8xf32>, %b: tensor<8xf32>)
    -> (tensor<64x8xf32>, tensor<16x8xf32>, tensor<16x8xf32>) {
  %g0 = "fuse.empty"() {syms = []} : () -> tensor<64x8xf32>
  %g = call @gather(%t, %i, %g0) : (tensor<4x8xf32>, tensor<64xi64>, tensor<64x8xf32>) -> tensor<64x8xf32>
  %h0 = "fuse.empty"() {syms = []} : () -> tensor<16x32xf32>
  %h = call @halves(%x, %h0) : (tensor<16x32xf32>, tensor<16x32xf32>) -> tensor<16x32xf32>
  %m = call @mm(%h, %w) : (tensor<16x32xf32>, tensor<32x8xf32>) -> tensor<16x8xf32>
  %r = "fuse.view"(%b) {map = ["v1"], syms = []} : (tensor<8xf32>) -> !row
  %s = call @add(%m, %r) : (tensor<16x8xf32>, !row) -> tensor<16x8xf32>
  %f0 = "fuse.empty"() {syms = []} : () -> tensor<16x8xf32>
  %f = call @fill(%f0) : (tensor<16x8xf32>) -> tensor<16x8xf32>
  return %g, %s, %f : tensor<64x8xf32>, tensor<16x8xf32>, tensor<16x8xf32>
}
func.func private @gather(%t: tensor<4x8xf32>, %i: tensor<64xi64>, %o: tensor<64x8xf32>) -> tensor<64x8xf32>
    attributes {fuse.kernel, fuse.dims = {d0 = "64", d1 = "8"}, fuse.ties = array<i64: 2>} {
  %true = arith.constant true
  %none = arith.constant 0 : i64
  %zero = arith.constant 0.0 : f32
  %k = "fuse.load"(%i, %true, %none) {at = ["d0"]} : (tensor<64xi64>, i1, i64) -> i64
  %v = "fuse.load"(%t, %true, %zero, %k) {at = ["i0", "d1"]} : (tensor<4x8xf32>, i1, f32, i64) -> f32
  %r = "fuse.store"(%o, %v, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<64x8xf32>, f32, i1) -> tensor<64x8xf32>
  return %r : tensor<64x8xf32>
}
func.func private @halves(%x: tensor<16x32xf32>, %o: tensor<16x32xf32>) -> tensor<16x32xf32>
    attributes {fuse.kernel, fuse.dims = {d0 = "16", d1 = "32"}, fuse.ties = array<i64: 1>} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : f32
  %u = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<16x32xf32>, i1, f32) -> f32
  %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "(d1 + 16) mod 32"]} : (tensor<16x32xf32>, i1, f32) -> f32
  %s = arith.addf %u, %v : f32
  %r = "fuse.store"(%o, %s, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<16x32xf32>, f32, i1) -> tensor<16x32xf32>
  return %r : tensor<16x32xf32>
}
func.func private @mm(tensor<16x32xf32>, tensor<32x8xf32>) -> tensor<16x8xf32>
    attributes {fuse.extern = "aten.mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
func.func private @add(tensor<16x8xf32>, !row) -> tensor<16x8xf32>
    attributes {fuse.extern = "aten.add.Tensor", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
func.func private @fill(%o: tensor<16x8xf32>) -> tensor<16x8xf32>
    attributes {fuse.kernel, fuse.dims = {d0 = "128"}, fuse.ties = array<i64: 0>} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : f32
  %r = "fuse.store"(%o, %zero, %true) {at = ["d0 floordiv 8", "d0 mod 8"], mode = "set"} : (tensor<16x8xf32>, f32, i1) -> tensor<16x8xf32>
  return %r : tensor<16x8xf32>
}
