// Rows of 50257 elements of 16 bits start anywhere.  A loop that folds them begins at the multiple of 16 bytes in front of a row;
// so does a row in registers.
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

// -----

// A row in registers is stored twice: whole vectors, then the elements of those at its ends.
// CHECK-LABEL: @held
// CHECK: "tt.load"
// CHECK: "tt.reduce"
// CHECK: %[[INNER:.*]] = arith.ori %{{.*}}, %{{.*}} : tensor<8192xi1>
// CHECK: "tt.store"(%[[AT:.*]], %[[VALUE:.*]], %[[INNER]])
// CHECK: %[[ENDS:.*]] = arith.xori %[[INNER]]
// CHECK: %[[MASK:.*]] = arith.andi %{{.*}}, %[[ENDS]] : tensor<8192xi1>
// CHECK: "tt.store"(%[[AT]], %[[VALUE]], %[[MASK]])
func.func private @held(%x: tensor<4096x4097xbf16>, %o: tensor<4096x4097xbf16>) -> tensor<4096x4097xbf16>
    attributes {fuse.kernel, fuse.dims = {d0 = "4096", d1 = "4097"}, fuse.ties = array<i64: 1>} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : bf16
  %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<4096x4097xbf16>, i1, bf16) -> bf16
  %m = "fuse.reduce"(%v) {kind = "max", over = ["d1"]} : (bf16) -> bf16
  %s = arith.subf %v, %m : bf16
  %r = "fuse.store"(%o, %s, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<4096x4097xbf16>, bf16, i1) -> tensor<4096x4097xbf16>
  return %r : tensor<4096x4097xbf16>
}

// -----

// Weights begin at a multiple of 16 bytes in each row, where x does not: one of them would be read in pieces.
// CHECK-LABEL: @held_with_weights
// CHECK-NOT: arith.cmpi ult
// CHECK-COUNT-1: "tt.store"
// CHECK-NOT: "tt.store"
// CHECK: return
func.func private @held_with_weights(%x: tensor<4096x4097xbf16>, %w: tensor<4097xbf16>, %o: tensor<4096x4097xbf16>) -> tensor<4096x4097xbf16>
    attributes {fuse.kernel, fuse.dims = {d0 = "4096", d1 = "4097"}, fuse.ties = array<i64: 2>} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : bf16
  %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<4096x4097xbf16>, i1, bf16) -> bf16
  %w0 = "fuse.load"(%w, %true, %zero) {at = ["d1"]} : (tensor<4097xbf16>, i1, bf16) -> bf16
  %m = "fuse.reduce"(%v) {kind = "max", over = ["d1"]} : (bf16) -> bf16
  %s = arith.subf %v, %m : bf16
  %p = arith.mulf %s, %w0 : bf16
  %r = "fuse.store"(%o, %p, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<4096x4097xbf16>, bf16, i1) -> tensor<4096x4097xbf16>
  return %r : tensor<4096x4097xbf16>
}

// -----

// Lanes side by side that read 4 bytes each are fast enough.
// CHECK-LABEL: @held_wide
// CHECK-NOT: arith.cmpi ult
// CHECK: return
func.func private @held_wide(%x: tensor<4096x4097xf32>, %o: tensor<4096x4097xf32>) -> tensor<4096x4097xf32>
    attributes {fuse.kernel, fuse.dims = {d0 = "4096", d1 = "4097"}, fuse.ties = array<i64: 1>} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : f32
  %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<4096x4097xf32>, i1, f32) -> f32
  %m = "fuse.reduce"(%v) {kind = "max", over = ["d1"]} : (f32) -> f32
  %s = arith.subf %v, %m : f32
  %r = "fuse.store"(%o, %s, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<4096x4097xf32>, f32, i1) -> tensor<4096x4097xf32>
  return %r : tensor<4096x4097xf32>
}

// -----

// The results begin one element later than what is read: their vectors do not meet.
// CHECK-LABEL: @held_moved
// CHECK-NOT: arith.cmpi ult
// CHECK: return
func.func private @held_moved(%x: tensor<4096x4097xbf16>, %o: tensor<4096x4098xbf16>) -> tensor<4096x4098xbf16>
    attributes {fuse.kernel, fuse.dims = {d0 = "4096", d1 = "4097"}, fuse.ties = array<i64: 1>} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : bf16
  %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<4096x4097xbf16>, i1, bf16) -> bf16
  %m = "fuse.reduce"(%v) {kind = "max", over = ["d1"]} : (bf16) -> bf16
  %s = arith.subf %v, %m : bf16
  %r = "fuse.store"(%o, %s, %true) {at = ["d0", "d1 + 1"], mode = "set"} : (tensor<4096x4098xbf16>, bf16, i1) -> tensor<4096x4098xbf16>
  return %r : tensor<4096x4098xbf16>
}

// -----

// A row of 4091 that starts 7 elements behind a vector exceeds 4096 lanes.
// CHECK-LABEL: @held_too_long
// CHECK-NOT: arith.cmpi ult
// CHECK: return
func.func private @held_too_long(%x: tensor<4096x4091xbf16>, %o: tensor<4096x4091xbf16>) -> tensor<4096x4091xbf16>
    attributes {fuse.kernel, fuse.dims = {d0 = "4096", d1 = "4091"}, fuse.ties = array<i64: 1>} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : bf16
  %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<4096x4091xbf16>, i1, bf16) -> bf16
  %m = "fuse.reduce"(%v) {kind = "max", over = ["d1"]} : (bf16) -> bf16
  %s = arith.subf %v, %m : bf16
  %r = "fuse.store"(%o, %s, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<4096x4091xbf16>, bf16, i1) -> tensor<4096x4091xbf16>
  return %r : tensor<4096x4091xbf16>
}

// -----

// A row of 20001 takes three vectors of each of 1024 threads, two of them masked; fewer threads hold too much.
// CHECK-LABEL: @held_by_many
// CHECK-NOT: arith.cmpi ult
// CHECK: return
func.func private @held_by_many(%x: tensor<4096x20001xbf16>, %o: tensor<4096x20001xbf16>) -> tensor<4096x20001xbf16>
    attributes {fuse.kernel, fuse.dims = {d0 = "4096", d1 = "20001"}, fuse.ties = array<i64: 1>} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : bf16
  %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<4096x20001xbf16>, i1, bf16) -> bf16
  %m = "fuse.reduce"(%v) {kind = "max", over = ["d1"]} : (bf16) -> bf16
  %s = arith.subf %v, %m : bf16
  %r = "fuse.store"(%o, %s, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<4096x20001xbf16>, bf16, i1) -> tensor<4096x20001xbf16>
  return %r : tensor<4096x20001xbf16>
}
