// RUN: fuse-opt %s --pass-pipeline="builtin.module(choose-tiling{hardware=h200})" --split-input-file | FileCheck %s --check-prefix=TILE
// RUN: fuse-opt %s --pass-pipeline="builtin.module(choose-tiling{hardware=h200},apply-tiling)" --split-input-file | FileCheck %s
// RUN: fuse-opt %s --pass-pipeline="builtin.module(choose-tiling{hardware=h200},apply-tiling)" --split-input-file --verify-each=numeric | FileCheck %s
// RUN: fuse-opt %s --pass-pipeline="builtin.module(choose-tiling{hardware=h200},apply-tiling,lower-to-tt)" --split-input-file | FileCheck %s --check-prefix=PROMISE

// A row of weights is multiplied group by group, by two halves of the row that are read at once.  The groups of a step
// are read as one line of each row.
// Bytes that go through shared memory on their way to a product are promised as much as its bfloat16.
// PROMISE: arg_attrs = [{tt.divisibility = 16 : i32}, {tt.divisibility = 16 : i32}, {tt.divisibility = 16 : i32}, {tt.divisibility = 16 : i32}]
// TILE: {block = 8 : i64, dims = ["d1"], kind = "looped"}, {block = 16 : i64, dims = ["d0"], kind = "grid"}, {block = 8 : i64, dims = ["d3"], kind = "grid"}, {block = 64 : i64, dims = ["d2"], kind = "resident"}], num_stages = 3 : i64, num_warps = 8
// CHECK-LABEL: @groups
// CHECK: scf.for
// CHECK: %[[LINES:.*]] = "tt.load"({{.*}} -> tensor<16x512xi8>
// CHECK: %[[APART:.*]] = "tt.reshape"(%[[LINES]]) : (tensor<16x512xi8>) -> tensor<16x8x64xi8>
// CHECK: %[[B:.*]] = "tt.trans"(%[[APART]]) {order = array<i32: 1, 0, 2>} : (tensor<16x8x64xi8>) -> tensor<8x16x64xi8>
// CHECK: %[[L:.*]] = "tt.elementwise_inline_asm"(%[[B]]) {asm_string = "{ .reg .b32 all, one, less; shr.b32 all, $2, 0; and.b32 all, all, 0x0F0F0F0F; mov.b32 one, 0x3F803F80; mov.b32 less, 0xC308C308; {{.*}}fma.rn.bf16x2{{.*}} -> tensor<8x16x64xbf16>
// CHECK: %[[H:.*]] = "tt.elementwise_inline_asm"(%[[B]]) {asm_string = "{ .reg .b32 all, one, less; shr.b32 all, $2, 4; {{.*}} -> tensor<8x16x64xbf16>
// CHECK: %[[X:.*]] = "tt.load"({{.*}} -> tensor<8x128x8xbf16>
// CHECK: %[[TWO:.*]] = "tt.reshape"(%[[X]]) : (tensor<8x128x8xbf16>) -> tensor<8x64x2x8xbf16>
// CHECK: %[[PAIRS:.*]] = "tt.trans"(%[[TWO]]) {order = array<i32: 0, 1, 3, 2>} : (tensor<8x64x2x8xbf16>) -> tensor<8x64x8x2xbf16>
// CHECK: %[[HALF:.*]]:2 = "tt.split"(%[[PAIRS]])
// CHECK-NOT: tensor<8x64x8x!tt.ptr
// CHECK-DAG: "tt.dot"(%[[L]], %[[HALF]]#0,
// CHECK-DAG: "tt.dot"(%[[H]], %[[HALF]]#1,
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<1x1024xbf16>, %w: tensor<1024x512xui8>, %s: tensor<1024x8xbf16>) -> tensor<1x1024xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<1x1024xf32>
    %y = call @groups(%x, %w, %s, %o) : (tensor<1x1024xbf16>, tensor<1024x512xui8>, tensor<1024x8xbf16>, tensor<1x1024xf32>) -> tensor<1x1024xf32>
    return %y : tensor<1x1024xf32>
  }
  func.func private @groups(%x: tensor<1x1024xbf16>, %w: tensor<1024x512xui8>, %s: tensor<1024x8xbf16>, %o: tensor<1x1024xf32>) -> tensor<1x1024xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "1024", d1 = "8", d2 = "64", d3 = "1"}, fuse.ties = array<i64: 3>} {
    %true = arith.constant true
    %none = arith.constant 0 : i8
    %zero = arith.constant 0.0 : bf16
    %eight = arith.constant 8.0 : f32
    %four = arith.constant 4 : i8
    %low = arith.constant 15 : i8
    %b = "fuse.load"(%w, %true, %none) {at = ["d0", "d1*64 + d2"]} : (tensor<1024x512xui8>, i1, i8) -> i8
    %l = arith.andi %b, %low : i8
    %h = arith.shrui %b, %four : i8
    %l0 = arith.uitofp %l : i8 to bf16
    %h0 = arith.uitofp %h : i8 to bf16
    %l1 = arith.extf %l0 : bf16 to f32
    %h1 = arith.extf %h0 : bf16 to f32
    %l2 = arith.subf %l1, %eight : f32
    %h2 = arith.subf %h1, %eight : f32
    %l3 = arith.truncf %l2 : f32 to bf16
    %h3 = arith.truncf %h2 : f32 to bf16
    %x0 = "fuse.load"(%x, %true, %zero) {at = ["d3", "d1*128 + d2*2"]} : (tensor<1x1024xbf16>, i1, bf16) -> bf16
    %x1 = "fuse.load"(%x, %true, %zero) {at = ["d3", "d1*128 + d2*2 + 1"]} : (tensor<1x1024xbf16>, i1, bf16) -> bf16
    %g = "fuse.load"(%s, %true, %zero) {at = ["d0", "d1"]} : (tensor<1024x8xbf16>, i1, bf16) -> bf16
    %gw = arith.extf %g : bf16 to f32
    %p = "fuse.dot"(%x0, %l3) {over = ["d2"]} : (bf16, bf16) -> f32
    %q = "fuse.dot"(%x1, %h3) {over = ["d2"]} : (bf16, bf16) -> f32
    %t = arith.addf %p, %q : f32
    %u = arith.mulf %t, %gw : f32
    %v = "fuse.reduce"(%u) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %r = "fuse.store"(%o, %v, %true) {at = ["0", "d0"], mode = "set"} : (tensor<1x1024xf32>, f32, i1) -> tensor<1x1024xf32>
    return %r : tensor<1x1024xf32>
  }
}

// -----

// Must not fire: the groups of a row do not lie side by side, so they are read one by one.
// TILE-LABEL: @spread
// CHECK-LABEL: @spread
// CHECK-NOT: "tt.bitcast"
// CHECK: "tt.load"({{.*}} -> tensor<8x16x64xi8>
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<1x1024xbf16>, %w: tensor<1024x1024xui8>, %s: tensor<1024x8xbf16>) -> tensor<1x1024xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<1x1024xf32>
    %y = call @spread(%x, %w, %s, %o) : (tensor<1x1024xbf16>, tensor<1024x1024xui8>, tensor<1024x8xbf16>, tensor<1x1024xf32>) -> tensor<1x1024xf32>
    return %y : tensor<1x1024xf32>
  }
  func.func private @spread(%x: tensor<1x1024xbf16>, %w: tensor<1024x1024xui8>, %s: tensor<1024x8xbf16>, %o: tensor<1x1024xf32>) -> tensor<1x1024xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "1024", d1 = "8", d2 = "64", d3 = "1"}, fuse.ties = array<i64: 3>} {
    %true = arith.constant true
    %none = arith.constant 0 : i8
    %zero = arith.constant 0.0 : bf16
    %eight = arith.constant 8.0 : f32
    %four = arith.constant 4 : i8
    %low = arith.constant 15 : i8
    %b = "fuse.load"(%w, %true, %none) {at = ["d0", "d1*128 + d2"]} : (tensor<1024x1024xui8>, i1, i8) -> i8
    %l = arith.andi %b, %low : i8
    %h = arith.shrui %b, %four : i8
    %l0 = arith.uitofp %l : i8 to bf16
    %h0 = arith.uitofp %h : i8 to bf16
    %l1 = arith.extf %l0 : bf16 to f32
    %h1 = arith.extf %h0 : bf16 to f32
    %l2 = arith.subf %l1, %eight : f32
    %h2 = arith.subf %h1, %eight : f32
    %l3 = arith.truncf %l2 : f32 to bf16
    %h3 = arith.truncf %h2 : f32 to bf16
    %x0 = "fuse.load"(%x, %true, %zero) {at = ["d3", "d1*128 + d2*2"]} : (tensor<1x1024xbf16>, i1, bf16) -> bf16
    %x1 = "fuse.load"(%x, %true, %zero) {at = ["d3", "d1*128 + d2*2 + 1"]} : (tensor<1x1024xbf16>, i1, bf16) -> bf16
    %g = "fuse.load"(%s, %true, %zero) {at = ["d0", "d1"]} : (tensor<1024x8xbf16>, i1, bf16) -> bf16
    %gw = arith.extf %g : bf16 to f32
    %p = "fuse.dot"(%x0, %l3) {over = ["d2"]} : (bf16, bf16) -> f32
    %q = "fuse.dot"(%x1, %h3) {over = ["d2"]} : (bf16, bf16) -> f32
    %t = arith.addf %p, %q : f32
    %u = arith.mulf %t, %gw : f32
    %v = "fuse.reduce"(%u) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %r = "fuse.store"(%o, %v, %true) {at = ["0", "d0"], mode = "set"} : (tensor<1x1024xf32>, f32, i1) -> tensor<1x1024xf32>
    return %r : tensor<1x1024xf32>
  }
}
