// Products of rows in segments, each of which has a matrix of its own: the tokens of experts.
// RUN: fuse-opt %s --pass-pipeline="builtin.module(choose-libraries{hardware=h200 products=generated})" --split-input-file | FileCheck %s
// RUN: fuse-opt %s --pass-pipeline="builtin.module(choose-libraries{hardware=h200})" --split-input-file --remarks=text 2>&1 >/dev/null | FileCheck %s --check-prefix=SAID

// The segment of a row is the number of ends that are at most the row.  It looks up the matrix, or 0 behind the last end.
// CHECK-LABEL: func.func private @experts_kernel
// CHECK-SAME: fuse.dims = {d0 = "192", d1 = "96", d2 = "64", d3 = "4"}
// CHECK: %[[A:.*]] = "fuse.load"(%arg0, %true, %{{.*}}) {at = ["d0", "d2"]}
// CHECK: %[[END:.*]] = "fuse.load"(%arg2, %true, %{{.*}}) {at = ["d3"]}
// CHECK: %[[LAST:.*]] = arith.extsi %[[END]] : i32 to i64
// CHECK: "fuse.load"(%arg2, %{{.*}}, %{{.*}}) {at = ["d3 - 1"]}
// CHECK: "fuse.device_assert"(%{{.*}}, %true) {fuse.index_check, message = "the ends of segments decrease, or pass the last row"}
// CHECK: %[[ROW:.*]] = "fuse.index"() {expr = "d0"}
// CHECK: %[[BEFORE:.*]] = arith.cmpi sle, %[[LAST]], %[[ROW]] : i64
// CHECK: %[[ONE:.*]] = arith.extui %[[BEFORE]] : i1 to i64
// CHECK: %[[SEGMENT:.*]] = "fuse.reduce"(%[[ONE]]) {kind = "sum", over = ["d3"]}
// CHECK: %[[KNOWN:.*]] = arith.cmpi slt, %[[SEGMENT]]
// CHECK: %[[B:.*]] = "fuse.load"(%arg1, %[[KNOWN]], %{{.*}}, %[[SEGMENT]]) {at = ["i0", "d2", "d1"]}
// CHECK: "fuse.dot"(%[[A]], %[[B]]) {over = ["d2"]} : (bf16, bf16) -> f32
// SAID: missed: choose-libraries: few-rows, kernel_us={{[0-9.]+}}, call_us={{[0-9.]+}}: @experts is the library's: 48 rows of a segment: the estimates are fitted to more
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<192x64xbf16>, %w: tensor<4x64x96xbf16>, %o: tensor<4xi32>) -> tensor<192x96xbf16> {
    %y = call @experts(%x, %w, %o) : (tensor<192x64xbf16>, tensor<4x64x96xbf16>, tensor<4xi32>) -> tensor<192x96xbf16>
    return %y : tensor<192x96xbf16>
  }
  func.func private @experts(tensor<192x64xbf16>, tensor<4x64x96xbf16>, tensor<4xi32>) -> tensor<192x96xbf16> attributes {fuse.extern = "aten._grouped_mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>, #fuse.arg<2 : i64>], fuse.kwargs = {}}
}

// -----

// What is summed comes in segments, each of which makes a matrix of the result: the gradient of the weights of experts.  Both
// factors are 0 outside of the segment, and not read there.
// CHECK-LABEL: func.func private @summed_kernel
// CHECK-SAME: fuse.dims = {d0 = "4", d1 = "64", d2 = "96", d3 = "192"}
// CHECK: "fuse.load"(%arg2, %true, %{{.*}}) {at = ["d0"]}
// CHECK: "fuse.load"(%arg2, %{{.*}}, %{{.*}}) {at = ["d0 - 1"]}
// CHECK: "fuse.device_assert"
// CHECK: %[[POINT:.*]] = "fuse.index"() {expr = "d3"}
// CHECK: %[[INSIDE:.*]] = arith.andi %{{.*}}, %{{.*}} : i1
// CHECK: %[[A:.*]] = "fuse.load"(%arg0, %[[INSIDE]], %{{.*}}) {at = ["d1", "d3"]}
// CHECK: %[[B:.*]] = "fuse.load"(%arg1, %[[INSIDE]], %{{.*}}) {at = ["d3", "d2"]}
// CHECK: "fuse.dot"(%[[A]], %[[B]]) {over = ["d3"]} : (bf16, bf16) -> f32
// SAID: missed: choose-libraries: segments, kernel_us={{[0-9.]+}}, call_us={{[0-9.]+}}: @summed is the library's: no estimate is fitted to kernels of sums in segments
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<64x192xbf16>, %w: tensor<192x96xbf16>, %o: tensor<4xi32>) -> tensor<4x64x96xbf16> {
    %y = call @summed(%x, %w, %o) : (tensor<64x192xbf16>, tensor<192x96xbf16>, tensor<4xi32>) -> tensor<4x64x96xbf16>
    return %y : tensor<4x64x96xbf16>
  }
  func.func private @summed(tensor<64x192xbf16>, tensor<192x96xbf16>, tensor<4xi32>) -> tensor<4x64x96xbf16> attributes {fuse.extern = "aten._grouped_mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>, #fuse.arg<2 : i64>], fuse.kwargs = {}}
}

// -----

// Must not fire: columns in segments.
// CHECK: call @columns(
// SAID: missed: choose-libraries: form: @columns is the library's: expected 2, 2 and 1 dims of factors and ends, got [3, 2, 1] [columns]
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<4x96x64xbf16>, %w: tensor<64x192xbf16>, %o: tensor<4xi32>) -> tensor<96x192xbf16> {
    %y = call @columns(%x, %w, %o) : (tensor<4x96x64xbf16>, tensor<64x192xbf16>, tensor<4xi32>) -> tensor<96x192xbf16>
    return %y : tensor<96x192xbf16>
  }
  func.func private @columns(tensor<4x96x64xbf16>, tensor<64x192xbf16>, tensor<4xi32>) -> tensor<96x192xbf16> attributes {fuse.extern = "aten._grouped_mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>, #fuse.arg<2 : i64>], fuse.kwargs = {}}
}

// -----

// Must not fire: a batch of matrices has no segments.
// CHECK: call @batch(
// SAID: missed: choose-libraries: form: @batch is the library's: expected segments of rows, got none [batch]
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<4x64x64xbf16>, %w: tensor<4x64x96xbf16>, %o: tensor<4xi32>) -> tensor<4x64x96xbf16> {
    %y = call @batch(%x, %w) : (tensor<4x64x64xbf16>, tensor<4x64x96xbf16>) -> tensor<4x64x96xbf16>
    return %y : tensor<4x64x96xbf16>
  }
  func.func private @batch(tensor<4x64x64xbf16>, tensor<4x64x96xbf16>) -> tensor<4x64x96xbf16> attributes {fuse.extern = "aten._grouped_mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
}

// -----

// Must not fire: one segment is a product of two matrices, of fewer rows.
// CHECK: call @alone(
// SAID: missed: choose-libraries: segments: @alone is the library's: kernels multiply 2 to 1024 segments [alone]
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<192x64xbf16>, %w: tensor<1x64x96xbf16>, %o: tensor<1xi32>) -> tensor<192x96xbf16> {
    %y = call @alone(%x, %w, %o) : (tensor<192x64xbf16>, tensor<1x64x96xbf16>, tensor<1xi32>) -> tensor<192x96xbf16>
    return %y : tensor<192x96xbf16>
  }
  func.func private @alone(tensor<192x64xbf16>, tensor<1x64x96xbf16>, tensor<1xi32>) -> tensor<192x96xbf16> attributes {fuse.extern = "aten._grouped_mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>, #fuse.arg<2 : i64>], fuse.kwargs = {}}
}

// -----

// Floats of 8 bits with a scale for each row, and for each column of the matrix of a segment.
// CHECK-LABEL: func.func private @scaled_kernel
// CHECK: %[[SEGMENT:.*]] = "fuse.reduce"
// CHECK: %[[KNOWN:.*]] = arith.cmpi slt, %[[SEGMENT]]
// CHECK: "fuse.load"(%arg1, %[[KNOWN]], %{{.*}}, %[[SEGMENT]]) {at = ["i0", "d2", "d1"]}
// CHECK: %[[DOT:.*]] = "fuse.dot"
// CHECK: %[[ROW:.*]] = "fuse.load"(%arg2, %true, %{{.*}}) {at = ["d0"]}
// CHECK: %[[HALF:.*]] = arith.mulf %[[DOT]], %[[ROW]]
// CHECK: %[[COLUMN:.*]] = "fuse.load"(%arg3, %[[KNOWN]], %{{.*}}, %[[SEGMENT]]) {at = ["i0", "d1"]}
// CHECK: arith.mulf %[[HALF]], %[[COLUMN]]
// SAID: missed: choose-libraries: few-rows, kernel_us={{[0-9.]+}}, call_us={{[0-9.]+}}: @scaled is the library's: 48 rows of a segment: the estimates are fitted to more
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<192x64xf8E4M3FN>, %w: tensor<4x64x96xf8E4M3FN, #fuse.layout<"4,64,96", "6144,1,64", "0", "">>, %a: tensor<192xf32>, %b: tensor<4x96xf32>, %o: tensor<4xi32>) -> tensor<192x96xbf16> {
    %y = call @scaled(%x, %w, %a, %b, %o) : (tensor<192x64xf8E4M3FN>, tensor<4x64x96xf8E4M3FN, #fuse.layout<"4,64,96", "6144,1,64", "0", "">>, tensor<192xf32>, tensor<4x96xf32>, tensor<4xi32>) -> tensor<192x96xbf16>
    return %y : tensor<192x96xbf16>
  }
  func.func private @scaled(tensor<192x64xf8E4M3FN>, tensor<4x64x96xf8E4M3FN, #fuse.layout<"4,64,96", "6144,1,64", "0", "">>, tensor<192xf32>, tensor<4x96xf32>, tensor<4xi32>) -> tensor<192x96xbf16> attributes {fuse.extern = "aten._scaled_grouped_mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>, #fuse.arg<2 : i64>, #fuse.arg<3 : i64>, #fuse.arg<4 : i64>], fuse.kwargs = {}}
}

// -----

// Must not fire: scales of another shape, as of blocks of 32 elements.
// CHECK: call @blocks(
// SAID: missed: choose-libraries: form: @blocks is the library's: expected scale_b to have an f32 for each row or column of a segment, got 4 x 192 x f32 [blocks]
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<192x64xf8E4M3FN>, %w: tensor<4x64x96xf8E4M3FN>, %a: tensor<192xf32>, %b: tensor<4x192xf32>, %o: tensor<4xi32>) -> tensor<192x96xbf16> {
    %y = call @blocks(%x, %w, %a, %b, %o) : (tensor<192x64xf8E4M3FN>, tensor<4x64x96xf8E4M3FN>, tensor<192xf32>, tensor<4x192xf32>, tensor<4xi32>) -> tensor<192x96xbf16>
    return %y : tensor<192x96xbf16>
  }
  func.func private @blocks(tensor<192x64xf8E4M3FN>, tensor<4x64x96xf8E4M3FN>, tensor<192xf32>, tensor<4x192xf32>, tensor<4xi32>) -> tensor<192x96xbf16> attributes {fuse.extern = "aten._scaled_grouped_mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>, #fuse.arg<2 : i64>, #fuse.arg<3 : i64>, #fuse.arg<4 : i64>], fuse.kwargs = {}}
}
