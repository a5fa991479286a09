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
