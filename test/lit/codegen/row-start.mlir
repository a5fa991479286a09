// Rows of 50257 elements of 16 bits start anywhere.  A loop that folds them begins at the multiple of 16 bytes in front of a row.
// RUN: fuse-opt %s --pass-pipeline="builtin.module(choose-tiling,apply-tiling)" --split-input-file | FileCheck %s

// CHECK-LABEL: @largest
// CHECK: scf.for %[[I:.*]] =
// CHECK: %[[START:.*]] = arith.divsi %{{.*}}, %[[EIGHT:.*]] : i32
// CHECK: arith.muli %[[START]], %[[EIGHT]] : i32
// CHECK: "tt.load"
// CHECK: %[[POINT:.*]] = arith.addi %{{.*}}, %{{.*}} : tensor<2048xi32>
// CHECK: arith.cmpi ult, %[[POINT]]
func.func private @largest(%x: tensor<4096x50257xbf16>, %o: tensor<4096xbf16>) -> tensor<4096xbf16>
    attributes {fuse.kernel, fuse.dims = {d0 = "4096", d1 = "50257"}, fuse.ties = array<i64: 1>} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : bf16
  %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<4096x50257xbf16>, i1, bf16) -> bf16
  %m = "fuse.reduce"(%v) {kind = "max", over = ["d1"]} : (bf16) -> bf16
  %r = "fuse.store"(%o, %m, %true) {at = ["d0"], mode = "set"} : (tensor<4096xbf16>, bf16, i1) -> tensor<4096xbf16>
  return %r : tensor<4096xbf16>
}

// -----

// The last of 4095 rows ends inside a vector, whose rest is nobody's.
// CHECK-LABEL: @ends_inside
// CHECK-NOT: arith.cmpi ult
// CHECK: return
func.func private @ends_inside(%x: tensor<4095x50257xbf16>, %o: tensor<4095xbf16>) -> tensor<4095xbf16>
    attributes {fuse.kernel, fuse.dims = {d0 = "4095", d1 = "50257"}, fuse.ties = array<i64: 1>} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : bf16
  %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<4095x50257xbf16>, i1, bf16) -> bf16
  %m = "fuse.reduce"(%v) {kind = "max", over = ["d1"]} : (bf16) -> bf16
  %r = "fuse.store"(%o, %m, %true) {at = ["d0"], mode = "set"} : (tensor<4095xbf16>, bf16, i1) -> tensor<4095xbf16>
  return %r : tensor<4095xbf16>
}

// -----

// What is stored along the rows would be stored at odd addresses: elements stay where they are.
// CHECK-LABEL: @stored_too
// CHECK-NOT: arith.cmpi ult
// CHECK: return
func.func private @stored_too(%x: tensor<4096x50257xbf16>, %o: tensor<4096xbf16>, %p: tensor<4096x50257xbf16>) -> (tensor<4096xbf16>, tensor<4096x50257xbf16>)
    attributes {fuse.kernel, fuse.dims = {d0 = "4096", d1 = "50257"}, fuse.ties = array<i64: 1, 2>} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : bf16
  %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<4096x50257xbf16>, i1, bf16) -> bf16
  %m = "fuse.reduce"(%v) {kind = "max", over = ["d1"]} : (bf16) -> bf16
  %r = "fuse.store"(%o, %m, %true) {at = ["d0"], mode = "set"} : (tensor<4096xbf16>, bf16, i1) -> tensor<4096xbf16>
  %s = "fuse.store"(%p, %v, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<4096x50257xbf16>, bf16, i1) -> tensor<4096x50257xbf16>
  return %r, %s : tensor<4096xbf16>, tensor<4096x50257xbf16>
}

// -----

// A tensor that starts elsewhere, two elements behind a multiple of 16 bytes.
// CHECK-LABEL: @shifted
// CHECK-NOT: arith.cmpi ult
// CHECK: return
func.func private @shifted(%x: tensor<4096x50257xbf16, #fuse.layout<"4096,50257", "50257,1", "2", "">>, %o: tensor<4096xbf16>) -> tensor<4096xbf16>
    attributes {fuse.kernel, fuse.dims = {d0 = "4096", d1 = "50257"}, fuse.ties = array<i64: 1>} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : bf16
  %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<4096x50257xbf16, #fuse.layout<"4096,50257", "50257,1", "2", "">>, i1, bf16) -> bf16
  %m = "fuse.reduce"(%v) {kind = "max", over = ["d1"]} : (bf16) -> bf16
  %r = "fuse.store"(%o, %m, %true) {at = ["d0"], mode = "set"} : (tensor<4096xbf16>, bf16, i1) -> tensor<4096xbf16>
  return %r : tensor<4096xbf16>
}
