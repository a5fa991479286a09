// Neighbours that step over two elements from point to point are read together.
// RUN: fuse-opt %s --pass-pipeline="builtin.module(choose-tiling,apply-tiling)" --split-input-file | FileCheck %s

// The larger of two columns: a tile of 512 elements for 256 points.
// CHECK-LABEL: @columns
// CHECK: %[[BOTH:.*]] = "tt.load"({{.*}} -> tensor<512xbf16>
// CHECK-NOT: "tt.load"
// CHECK: %[[PAIRS:.*]] = "tt.reshape"(%[[BOTH]]) : (tensor<512xbf16>) -> tensor<256x2xbf16>
// CHECK: %[[HALF:.*]]:2 = "tt.split"(%[[PAIRS]])
// CHECK: arith.maximumf %[[HALF]]#0, %[[HALF]]#1 : tensor<256xbf16>
func.func private @columns(%x: tensor<4096x64xbf16>, %o: tensor<4096x32xbf16>) -> tensor<4096x32xbf16>
    attributes {fuse.kernel, fuse.dims = {d0 = "4096", d1 = "32"}, fuse.ties = array<i64: 1>} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : bf16
  %v0 = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1*2"]} : (tensor<4096x64xbf16>, i1, bf16) -> bf16
  %v1 = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1*2 + 1"]} : (tensor<4096x64xbf16>, i1, bf16) -> bf16
  %m = arith.maximumf %v0, %v1 : bf16
  %r = "fuse.store"(%o, %m, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<4096x32xbf16>, bf16, i1) -> tensor<4096x32xbf16>
  return %r : tensor<4096x32xbf16>
}

// -----

// What both are guarded by is computed for twice as many lanes.
// CHECK-LABEL: @guarded
// CHECK: arith.cmpi sgt, %{{.*}}, %{{.*}} : tensor<512xi64>
// CHECK: "tt.load"({{.*}} -> tensor<512xbf16>
// CHECK: "tt.split"
func.func private @guarded(%x: tensor<4096x64xbf16>, %o: tensor<4096x32xbf16>) -> tensor<4096x32xbf16>
    attributes {fuse.kernel, fuse.dims = {d0 = "4096", d1 = "32"}, fuse.ties = array<i64: 1>} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : bf16
  %none = arith.constant 0 : i64
  %i = "fuse.index"() {expr = "d0"} : () -> i64
  %g = arith.cmpi sgt, %i, %none : i64
  %v0 = "fuse.load"(%x, %g, %zero) {at = ["d0", "d1*2"]} : (tensor<4096x64xbf16>, i1, bf16) -> bf16
  %v1 = "fuse.load"(%x, %g, %zero) {at = ["d0", "d1*2 + 1"]} : (tensor<4096x64xbf16>, i1, bf16) -> bf16
  %m = arith.maximumf %v0, %v1 : bf16
  %r = "fuse.store"(%o, %m, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<4096x32xbf16>, bf16, i1) -> tensor<4096x32xbf16>
  return %r : tensor<4096x32xbf16>
}

// -----

// The odd one first.
// CHECK-LABEL: @turned
// CHECK: %[[HALF:.*]]:2 = "tt.split"
// CHECK: arith.maximumf %[[HALF]]#1, %[[HALF]]#0 : tensor<256xbf16>
func.func private @turned(%x: tensor<4096x64xbf16>, %o: tensor<4096x32xbf16>) -> tensor<4096x32xbf16>
    attributes {fuse.kernel, fuse.dims = {d0 = "4096", d1 = "32"}, fuse.ties = array<i64: 1>} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : bf16
  %v0 = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1*2 + 1"]} : (tensor<4096x64xbf16>, i1, bf16) -> bf16
  %v1 = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1*2"]} : (tensor<4096x64xbf16>, i1, bf16) -> bf16
  %m = arith.maximumf %v0, %v1 : bf16
  %r = "fuse.store"(%o, %m, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<4096x32xbf16>, bf16, i1) -> tensor<4096x32xbf16>
  return %r : tensor<4096x32xbf16>
}

// -----

// One is read where the other is not.
// CHECK-LABEL: @one_guarded
// CHECK-NOT: "tt.split"
// CHECK: return
func.func private @one_guarded(%x: tensor<4096x64xbf16>, %o: tensor<4096x32xbf16>) -> tensor<4096x32xbf16>
    attributes {fuse.kernel, fuse.dims = {d0 = "4096", d1 = "32"}, fuse.ties = array<i64: 1>} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : bf16
  %none = arith.constant 0 : i64
  %i = "fuse.index"() {expr = "d0"} : () -> i64
  %g = arith.cmpi sgt, %i, %none : i64
  %v0 = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1*2"]} : (tensor<4096x64xbf16>, i1, bf16) -> bf16
  %v1 = "fuse.load"(%x, %g, %zero) {at = ["d0", "d1*2 + 1"]} : (tensor<4096x64xbf16>, i1, bf16) -> bf16
  %m = arith.maximumf %v0, %v1 : bf16
  %r = "fuse.store"(%o, %m, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<4096x32xbf16>, bf16, i1) -> tensor<4096x32xbf16>
  return %r : tensor<4096x32xbf16>
}

// -----

// Pairs that begin at odd elements would be read one by one.
// CHECK-LABEL: @odd_first
// CHECK-NOT: "tt.split"
// CHECK: return
func.func private @odd_first(%x: tensor<4096x66xbf16>, %o: tensor<4096x32xbf16>) -> tensor<4096x32xbf16>
    attributes {fuse.kernel, fuse.dims = {d0 = "4096", d1 = "32"}, fuse.ties = array<i64: 1>} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : bf16
  %v0 = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1*2 + 1"]} : (tensor<4096x66xbf16>, i1, bf16) -> bf16
  %v1 = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1*2 + 2"]} : (tensor<4096x66xbf16>, i1, bf16) -> bf16
  %m = arith.maximumf %v0, %v1 : bf16
  %r = "fuse.store"(%o, %m, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<4096x32xbf16>, bf16, i1) -> tensor<4096x32xbf16>
  return %r : tensor<4096x32xbf16>
}

// -----

// Neighbours of rows, not of elements.
// CHECK-LABEL: @apart
// CHECK-NOT: "tt.split"
// CHECK: return
func.func private @apart(%x: tensor<4096x68xbf16>, %o: tensor<4096x32xbf16>) -> tensor<4096x32xbf16>
    attributes {fuse.kernel, fuse.dims = {d0 = "4096", d1 = "32"}, fuse.ties = array<i64: 1>} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : bf16
  %v0 = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1*2"]} : (tensor<4096x68xbf16>, i1, bf16) -> bf16
  %v1 = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1*2 + 3"]} : (tensor<4096x68xbf16>, i1, bf16) -> bf16
  %m = arith.maximumf %v0, %v1 : bf16
  %r = "fuse.store"(%o, %m, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<4096x32xbf16>, bf16, i1) -> tensor<4096x32xbf16>
  return %r : tensor<4096x32xbf16>
}

// -----

// Rows of 65: each second one begins at an odd element.
// CHECK-LABEL: @odd_rows
// CHECK-NOT: "tt.split"
// CHECK: return
func.func private @odd_rows(%x: tensor<4096x65xbf16>, %o: tensor<4096x32xbf16>) -> tensor<4096x32xbf16>
    attributes {fuse.kernel, fuse.dims = {d0 = "4096", d1 = "32"}, fuse.ties = array<i64: 1>} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : bf16
  %v0 = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1*2"]} : (tensor<4096x65xbf16>, i1, bf16) -> bf16
  %v1 = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1*2 + 1"]} : (tensor<4096x65xbf16>, i1, bf16) -> bf16
  %m = arith.maximumf %v0, %v1 : bf16
  %r = "fuse.store"(%o, %m, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<4096x32xbf16>, bf16, i1) -> tensor<4096x32xbf16>
  return %r : tensor<4096x32xbf16>
}

// -----

// The last block has lanes that are no points.
// CHECK-LABEL: @last_block
// CHECK-NOT: "tt.split"
// CHECK: return
func.func private @last_block(%x: tensor<4095x66xbf16>, %o: tensor<4095x33xbf16>) -> tensor<4095x33xbf16>
    attributes {fuse.kernel, fuse.dims = {d0 = "4095", d1 = "33"}, fuse.ties = array<i64: 1>} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : bf16
  %v0 = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1*2"]} : (tensor<4095x66xbf16>, i1, bf16) -> bf16
  %v1 = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1*2 + 1"]} : (tensor<4095x66xbf16>, i1, bf16) -> bf16
  %m = arith.maximumf %v0, %v1 : bf16
  %r = "fuse.store"(%o, %m, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<4095x33xbf16>, bf16, i1) -> tensor<4095x33xbf16>
  return %r : tensor<4095x33xbf16>
}

// -----

// In a loop over whole blocks: weights of 4 bits, two in a byte, meet neighbours of a row.
// CHECK-LABEL: @looped
// CHECK: scf.for
// CHECK: %[[BOTH:.*]] = "tt.load"({{.*}} -> tensor<1x1024xbf16>
// CHECK: %[[PAIRS:.*]] = "tt.reshape"(%[[BOTH]]) : (tensor<1x1024xbf16>) -> tensor<1x512x2xbf16>
// CHECK: "tt.split"(%[[PAIRS]])
// CHECK-NOT: -> tensor<1x512xbf16>{{$}}
func.func private @looped(%x: tensor<16384xbf16>, %w: tensor<4096x8192xbf16>, %o: tensor<4096xf32>) -> tensor<4096xf32>
    attributes {fuse.kernel, fuse.dims = {d0 = "4096", d1 = "8192"}, fuse.ties = array<i64: 2>,
                fuse.tile = {axes = [{dims = ["d0"], block = 4 : i64, kind = "grid"}, {dims = ["d1"], block = 512 : i64, kind = "looped"}], num_warps = 2 : i64, num_stages = 3 : i64}} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : bf16
  %v0 = "fuse.load"(%x, %true, %zero) {at = ["d1*2"]} : (tensor<16384xbf16>, i1, bf16) -> bf16
  %v1 = "fuse.load"(%x, %true, %zero) {at = ["d1*2 + 1"]} : (tensor<16384xbf16>, i1, bf16) -> bf16
  %n = "fuse.load"(%w, %true, %zero) {at = ["d0", "d1"]} : (tensor<4096x8192xbf16>, i1, bf16) -> bf16
  %a = arith.mulf %v0, %n : bf16
  %b = arith.mulf %v1, %n : bf16
  %c = arith.addf %a, %b : bf16
  %e = arith.extf %c : bf16 to f32
  %s = "fuse.reduce"(%e) {kind = "sum", over = ["d1"]} : (f32) -> f32
  %r = "fuse.store"(%o, %s, %true) {at = ["d0"], mode = "set"} : (tensor<4096xf32>, f32, i1) -> tensor<4096xf32>
  return %r : tensor<4096xf32>
}

// -----

// Must not fire: a loop computes a guard for its own lanes only.
// CHECK-LABEL: @guarded_loop
// CHECK-NOT: "tt.split"
func.func private @guarded_loop(%x: tensor<16384xbf16>, %w: tensor<4096x8192xbf16>, %o: tensor<4096xf32>) -> tensor<4096xf32>
    attributes {fuse.kernel, fuse.dims = {d0 = "4096", d1 = "8192"}, fuse.ties = array<i64: 2>,
                fuse.tile = {axes = [{dims = ["d0"], block = 4 : i64, kind = "grid"}, {dims = ["d1"], block = 512 : i64, kind = "looped"}], num_warps = 2 : i64, num_stages = 3 : i64}} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : bf16
  %none = arith.constant 0 : i64
  %i = "fuse.index"() {expr = "d1"} : () -> i64
  %g = arith.cmpi sgt, %i, %none : i64
  %v0 = "fuse.load"(%x, %g, %zero) {at = ["d1*2"]} : (tensor<16384xbf16>, i1, bf16) -> bf16
  %v1 = "fuse.load"(%x, %g, %zero) {at = ["d1*2 + 1"]} : (tensor<16384xbf16>, i1, bf16) -> bf16
  %n = "fuse.load"(%w, %true, %zero) {at = ["d0", "d1"]} : (tensor<4096x8192xbf16>, i1, bf16) -> bf16
  %a = arith.mulf %v0, %n : bf16
  %b = arith.mulf %v1, %n : bf16
  %c = arith.addf %a, %b : bf16
  %e = arith.extf %c : bf16 to f32
  %s = "fuse.reduce"(%e) {kind = "sum", over = ["d1"]} : (f32) -> f32
  %r = "fuse.store"(%o, %s, %true) {at = ["d0"], mode = "set"} : (tensor<4096xf32>, f32, i1) -> tensor<4096xf32>
  return %r : tensor<4096xf32>
}
