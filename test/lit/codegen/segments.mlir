// Rows in segments, each of which has a matrix of its own.  A program has rows of one segment, which it finds by comparing its
// number with the first block behind each segment.  Nothing in the loop depends on what the ends are.
// RUN: fuse-opt %s --pass-pipeline="builtin.module(apply-tiling)" | FileCheck %s

// There are 200 floordiv 16 + 4 + 1 blocks of rows, whatever the ends are.
// CHECK-LABEL: func.func private @experts
// CHECK-SAME: fuse.grid = ["2", "17"]
// CHECK: %[[COLUMNS:.*]] = "tt.get_program_id"() {axis = 0 : i32}
// CHECK: %[[PID:.*]] = "tt.get_program_id"() {axis = 1 : i32}
// An end is at least 0 and at most the number of rows, whatever the data says.
// CHECK: "tt.load"(%{{.*}}) {operandSegmentSizes = array<i32: 1, 0, 0>} : (tensor<4x!tt.ptr<i32>>) -> tensor<4xi32>
// CHECK: arith.maxsi
// CHECK: arith.minsi
// CHECK: %[[ENDS:.*]] = arith.trunci %{{.*}} : tensor<4xi64> to tensor<4xi32>
// CHECK: arith.divsi %[[ENDS]]
// CHECK: %[[BEFORE:.*]] = arith.cmpi sle, %{{.*}}, %{{.*}} : tensor<4xi32>
// CHECK: %[[BEGINS:.*]] = "tt.reduce"
// CHECK: arith.maxsi
// CHECK: "tt.reduce"
// CHECK: arith.maxsi
// CHECK: %[[STOP:.*]] = "tt.reduce"
// CHECK: arith.minsi
// CHECK: %[[SEGMENT:.*]] = "tt.reduce"
// CHECK: arith.addi
// CHECK: %[[FIRST:.*]] = arith.minsi %{{.*}}, %[[STOP]] : i32
// CHECK: %[[WIDE:.*]] = arith.extsi %[[SEGMENT]] : i32 to i64
// CHECK: %[[LEFT:.*]] = arith.subi %[[STOP]], %[[FIRST]] : i32
// A block without rows multiplies nothing.
// CHECK: %[[SOME:.*]] = arith.cmpi sgt, %[[LEFT]], %{{.*}} : i32
// CHECK: %[[STEPS:.*]] = arith.select %[[SOME]], %{{.*}}, %{{.*}} : i32
// CHECK: scf.for %{{.*}} to %[[STEPS]]
// The matrix is at a scalar address of 64 bits.
// CHECK: arith.muli %[[WIDE]], %{{.*}} : i64
// CHECK: "tt.dot"
// CHECK: tt.num_stages = 3 : i32
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<200x256xbf16>, %w: tensor<4x256x128xbf16>, %ends: tensor<4xi32>) -> tensor<200x128xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<200x128xf32>
    %y = call @experts(%x, %w, %ends, %o) : (tensor<200x256xbf16>, tensor<4x256x128xbf16>, tensor<4xi32>, tensor<200x128xf32>) -> tensor<200x128xf32>
    return %y : tensor<200x128xf32>
  }
  func.func private @experts(%x: tensor<200x256xbf16>, %w: tensor<4x256x128xbf16>, %ends: tensor<4xi32>, %o: tensor<200x128xf32>) -> tensor<200x128xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "200", d1 = "128", d2 = "256", d3 = "4"}, fuse.ties = array<i64: 3>,
                  fuse.tile = {axes = [{dims = ["d0"], block = 16 : i64, kind = "grid"}, {dims = ["d1"], block = 64 : i64, kind = "grid"}, {dims = ["d2"], block = 32 : i64, kind = "looped"}, {dims = ["d3"], block = 4 : i64, kind = "resident"}], num_warps = 4 : i64, num_stages = 3 : i64, segmented}} {
    %true = arith.constant true
    %none = arith.constant 0 : i32
    %zero = arith.constant 0.0 : bf16
    %count = arith.constant 4 : i64
    %end = "fuse.load"(%ends, %true, %none) {at = ["d3"]} : (tensor<4xi32>, i1, i32) -> i32
    %wide = arith.extsi %end : i32 to i64
    %row = "fuse.index"() {expr = "d0"} : () -> i64
    %before = arith.cmpi sle, %wide, %row : i64
    %one = arith.extui %before : i1 to i64
    %segment = "fuse.reduce"(%one) {kind = "sum", over = ["d3"]} : (i64) -> i64
    %known = arith.cmpi slt, %segment, %count : i64
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d2"]} : (tensor<200x256xbf16>, i1, bf16) -> bf16
    %b = "fuse.load"(%w, %known, %zero, %segment) {at = ["i0", "d2", "d1"]} : (tensor<4x256x128xbf16>, i1, bf16, i64) -> bf16
    %s = "fuse.dot"(%a, %b) {over = ["d2"]} : (bf16, bf16) -> f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<200x128xf32>, f32, i1) -> tensor<200x128xf32>
    return %r : tensor<200x128xf32>
  }
}
