// Rows of 4097 elements of 16 bits that are held in registers start anywhere.  511 whole vectors of a row are a tile of 4096 lanes, the 9
// elements in front of them and behind another one of 16.
// RUN: fuse-opt %s --pass-pipeline="builtin.module(choose-tiling,apply-tiling)" --split-input-file | FileCheck %s

// Both are read, folded, computed with and stored; what they fold to is folded once more.
// CHECK-LABEL: @held
// CHECK: arith.constant dense<4088> : tensor<4096xi32>
// CHECK: "tt.load"({{.*}} -> tensor<4096xbf16>
// CHECK: arith.constant dense<9> : tensor<16xi32>
// CHECK: "tt.load"({{.*}} -> tensor<16xbf16>
// CHECK: %[[WHOLE:.*]] = "tt.reduce"
// CHECK: %[[ENDS:.*]] = "tt.reduce"
// CHECK: arith.maximumf %[[WHOLE]], %[[ENDS]] : bf16
// CHECK: "tt.store"({{.*}} tensor<4096xbf16>, tensor<4096xi1>
// CHECK: "tt.store"({{.*}} tensor<16xbf16>, tensor<16xi1>
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

// Weights begin at a multiple of 16 bytes in each row, where x does not: the two vectors that one of x meets are read, and shifted.
// CHECK-LABEL: @held_with_weights
// CHECK: "tt.load"({{.*}} -> tensor<4096xbf16>
// CHECK-COUNT-2: "tt.load"({{.*}} -> tensor<4096xbf16>
// CHECK: arith.select {{.*}} tensor<512xi32>
// CHECK: arith.shrui %{{.*}}, %{{.*}} : tensor<512xi64>
// CHECK: "tt.join"({{.*}} -> tensor<512x2x2x2xi16>
// CHECK: "tt.reshape"({{.*}} -> tensor<4096xi16>
// CHECK: "tt.load"({{.*}} -> tensor<16xbf16>
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

// Where all rows start at even elements accesses of 4 bytes, or 8, cost less than shifting.
// CHECK-LABEL: @held_with_weights_at_even_elements
// CHECK-NOT: tensor<16x
// CHECK: return
func.func private @held_with_weights_at_even_elements(%x: tensor<4096x4098xbf16>, %w: tensor<4098xbf16>, %o: tensor<4096x4098xbf16>) -> tensor<4096x4098xbf16>
    attributes {fuse.kernel, fuse.dims = {d0 = "4096", d1 = "4098"}, fuse.ties = array<i64: 2>} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : bf16
  %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<4096x4098xbf16>, i1, bf16) -> bf16
  %w0 = "fuse.load"(%w, %true, %zero) {at = ["d1"]} : (tensor<4098xbf16>, i1, bf16) -> bf16
  %m = "fuse.reduce"(%v) {kind = "max", over = ["d1"]} : (bf16) -> bf16
  %s = arith.subf %v, %m : bf16
  %p = arith.mulf %s, %w0 : bf16
  %r = "fuse.store"(%o, %p, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<4096x4098xbf16>, bf16, i1) -> tensor<4096x4098xbf16>
  return %r : tensor<4096x4098xbf16>
}

// -----

// Lanes side by side that read 4 bytes each are fast enough.
// CHECK-LABEL: @held_wide
// CHECK-NOT: tensor<16x
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
// CHECK-NOT: tensor<16x
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

// A row of 20485 has three vectors for each of 1024 threads; fewer threads would hold too much.
// CHECK-LABEL: @held_by_many
// CHECK-NOT: tensor<16x
// CHECK: return
func.func private @held_by_many(%x: tensor<4096x20485xbf16>, %o: tensor<4096x20485xbf16>) -> tensor<4096x20485xbf16>
    attributes {fuse.kernel, fuse.dims = {d0 = "4096", d1 = "20485"}, fuse.ties = array<i64: 1>} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : bf16
  %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<4096x20485xbf16>, i1, bf16) -> bf16
  %m = "fuse.reduce"(%v) {kind = "max", over = ["d1"]} : (bf16) -> bf16
  %s = arith.subf %v, %m : bf16
  %r = "fuse.store"(%o, %s, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<4096x20485xbf16>, bf16, i1) -> tensor<4096x20485xbf16>
  return %r : tensor<4096x20485xbf16>
}

// -----

// A row of 577 has less than four vectors for a thread.
// CHECK-LABEL: @held_by_few
// CHECK-NOT: tensor<16x
// CHECK: return
func.func private @held_by_few(%x: tensor<4096x577xbf16>, %o: tensor<4096x577xbf16>) -> tensor<4096x577xbf16>
    attributes {fuse.kernel, fuse.dims = {d0 = "4096", d1 = "577"}, fuse.ties = array<i64: 1>} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : bf16
  %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<4096x577xbf16>, i1, bf16) -> bf16
  %m = "fuse.reduce"(%v) {kind = "max", over = ["d1"]} : (bf16) -> bf16
  %s = arith.subf %v, %m : bf16
  %r = "fuse.store"(%o, %s, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<4096x577xbf16>, bf16, i1) -> tensor<4096x577xbf16>
  return %r : tensor<4096x577xbf16>
}

// -----

// Positions found in two parts would have to be compared once more.
// CHECK-LABEL: @searched
// CHECK-NOT: tensor<16x
// CHECK: return
func.func private @searched(%x: tensor<4096x4097xbf16>, %o: tensor<4096x4097xbf16>) -> tensor<4096x4097xbf16>
    attributes {fuse.kernel, fuse.dims = {d0 = "4096", d1 = "4097"}, fuse.ties = array<i64: 1>} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : bf16
  %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<4096x4097xbf16>, i1, bf16) -> bf16
  %i = "fuse.index"() {expr = "d1"} : () -> i64
  %m, %k = "fuse.argreduce"(%v, %i) {kind = "argmax", over = ["d1"]} : (bf16, i64) -> (bf16, i64)
  %s = arith.subf %v, %m : bf16
  %r = "fuse.store"(%o, %s, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<4096x4097xbf16>, bf16, i1) -> tensor<4096x4097xbf16>
  return %r : tensor<4096x4097xbf16>
}
