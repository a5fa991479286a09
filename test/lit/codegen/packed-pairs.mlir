// RUN: fuse-opt %s --pass-pipeline="builtin.module(choose-tiling{hardware=h200},apply-tiling)" --split-input-file | FileCheck %s
// RUN: fuse-opt %s --pass-pipeline="builtin.module(choose-tiling{hardware=h200},apply-tiling)" --split-input-file --verify-each=numeric | FileCheck %s

// Hopper's products take 128 rows of weights from registers, where a thread has two neighbours: two bytes are converted
// at once.
// CHECK-LABEL: @pairs
// CHECK: "tt.elementwise_inline_asm"({{.*}}cvt.u32.u16 all, $1; prmt.b32 all, all, 0, 0x4140; shr.b32 all, all, 0; lop3.b32 all, all, 0x000F000F, 0x43004300, 0x6A; {{.*}}constraints = "=r,h", packed_element = 2 : i32{{.*}} -> tensor<128x64xbf16>
// CHECK: shr.b32 all, all, 4; lop3.b32 {{.*}}packed_element = 2 : i32{{.*}} -> tensor<128x64xbf16>
// CHECK: %[[P:.*]] = "tt.dot"
// CHECK: %[[Q:.*]] = "tt.dot"
// CHECK: arith.addf %[[P]], %[[Q]]
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<64x256xbf16>, %w: tensor<8192x128xui8>, %s: tensor<8192x2xbf16>) -> tensor<64x8192xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<64x8192xf32>
    %y = call @pairs(%x, %w, %s, %o) : (tensor<64x256xbf16>, tensor<8192x128xui8>, tensor<8192x2xbf16>, tensor<64x8192xf32>) -> tensor<64x8192xf32>
    return %y : tensor<64x8192xf32>
  }
  func.func private @pairs(%x: tensor<64x256xbf16>, %w: tensor<8192x128xui8>, %s: tensor<8192x2xbf16>, %o: tensor<64x8192xf32>) -> tensor<64x8192xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "8192", d1 = "2", d2 = "64", d3 = "64"}, fuse.ties = array<i64: 3>} {
    %true = arith.constant true
    %none = arith.constant 0 : i8
    %zero = arith.constant 0.0 : bf16
    %four = arith.constant 4 : i8
    %low = arith.constant 15 : i8
    %b = "fuse.load"(%w, %true, %none) {at = ["d0", "d1*64 + d2"]} : (tensor<8192x128xui8>, i1, i8) -> i8
    %l = arith.andi %b, %low : i8
    %h = arith.shrui %b, %four : i8
    %l0 = arith.uitofp %l : i8 to bf16
    %h0 = arith.uitofp %h : i8 to bf16
    %x0 = "fuse.load"(%x, %true, %zero) {at = ["d3", "d1*128 + d2*2"]} : (tensor<64x256xbf16>, i1, bf16) -> bf16
    %x1 = "fuse.load"(%x, %true, %zero) {at = ["d3", "d1*128 + d2*2 + 1"]} : (tensor<64x256xbf16>, i1, bf16) -> bf16
    %g = "fuse.load"(%s, %true, %zero) {at = ["d0", "d1"]} : (tensor<8192x2xbf16>, i1, bf16) -> bf16
    %gw = arith.extf %g : bf16 to f32
    %p = "fuse.dot"(%x0, %l0) {over = ["d2"]} : (bf16, bf16) -> f32
    %q = "fuse.dot"(%x1, %h0) {over = ["d2"]} : (bf16, bf16) -> f32
    %t = arith.addf %p, %q : f32
    %u = arith.mulf %t, %gw : f32
    %v = "fuse.reduce"(%u) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %r = "fuse.store"(%o, %v, %true) {at = ["d3", "d0"], mode = "set"} : (tensor<64x8192xf32>, f32, i1) -> tensor<64x8192xf32>
    return %r : tensor<64x8192xf32>
  }
}

// -----

// Sums of groups are added one product after the other, by the tensor cores.
// CHECK-LABEL: @chained
// CHECK: %[[P:.*]] = "tt.dot"
// CHECK: %[[Q:.*]] = "tt.dot"
// CHECK: %[[FIRST:.*]] = arith.addf %{{.*}}, %[[P]]
// CHECK: %[[SUM:.*]] = arith.addf %[[FIRST]], %[[Q]]
// CHECK: scf.yield %[[SUM]]
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<64x256xbf16>, %w: tensor<8192x128xui8>, %s: tensor<8192x2xbf16>) -> tensor<64x8192xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<64x8192xf32>
    %y = call @chained(%x, %w, %s, %o) : (tensor<64x256xbf16>, tensor<8192x128xui8>, tensor<8192x2xbf16>, tensor<64x8192xf32>) -> tensor<64x8192xf32>
    return %y : tensor<64x8192xf32>
  }
  func.func private @chained(%x: tensor<64x256xbf16>, %w: tensor<8192x128xui8>, %s: tensor<8192x2xbf16>, %o: tensor<64x8192xf32>) -> tensor<64x8192xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "8192", d1 = "2", d2 = "64", d3 = "64"}, fuse.ties = array<i64: 3>} {
    %true = arith.constant true
    %none = arith.constant 0 : i8
    %zero = arith.constant 0.0 : bf16
    %four = arith.constant 4 : i8
    %low = arith.constant 15 : i8
    %b = "fuse.load"(%w, %true, %none) {at = ["d0", "d1*64 + d2"]} : (tensor<8192x128xui8>, i1, i8) -> i8
    %l = arith.andi %b, %low : i8
    %h = arith.shrui %b, %four : i8
    %l0 = arith.uitofp %l : i8 to bf16
    %h0 = arith.uitofp %h : i8 to bf16
    %x0 = "fuse.load"(%x, %true, %zero) {at = ["d3", "d1*128 + d2*2"]} : (tensor<64x256xbf16>, i1, bf16) -> bf16
    %x1 = "fuse.load"(%x, %true, %zero) {at = ["d3", "d1*128 + d2*2 + 1"]} : (tensor<64x256xbf16>, i1, bf16) -> bf16
    %g = "fuse.load"(%s, %true, %zero) {at = ["d0", "d1"]} : (tensor<8192x2xbf16>, i1, bf16) -> bf16
    %gw = arith.extf %g : bf16 to f32
    %p = "fuse.dot"(%x0, %l0) {over = ["d2"]} : (bf16, bf16) -> f32
    %q = "fuse.dot"(%x1, %h0) {over = ["d2"]} : (bf16, bf16) -> f32
    %t = arith.addf %p, %q : f32
    %v = "fuse.reduce"(%t) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %r = "fuse.store"(%o, %v, %true) {at = ["d3", "d0"], mode = "set"} : (tensor<64x8192xf32>, f32, i1) -> tensor<64x8192xf32>
    return %r : tensor<64x8192xf32>
  }
}

// -----

// Must not fire: a warp multiplies 16 rows of weights by itself, and a thread has four neighbours.
// CHECK-LABEL: @rows
// CHECK-NOT: cvt.u32.u16
// CHECK: 0x4342
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<16x256xbf16>, %w: tensor<8192x128xui8>, %s: tensor<8192x2xbf16>) -> tensor<16x8192xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<16x8192xf32>
    %y = call @rows(%x, %w, %s, %o) : (tensor<16x256xbf16>, tensor<8192x128xui8>, tensor<8192x2xbf16>, tensor<16x8192xf32>) -> tensor<16x8192xf32>
    return %y : tensor<16x8192xf32>
  }
  func.func private @rows(%x: tensor<16x256xbf16>, %w: tensor<8192x128xui8>, %s: tensor<8192x2xbf16>, %o: tensor<16x8192xf32>) -> tensor<16x8192xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "8192", d1 = "2", d2 = "64", d3 = "16"}, fuse.ties = array<i64: 3>} {
    %true = arith.constant true
    %none = arith.constant 0 : i8
    %zero = arith.constant 0.0 : bf16
    %four = arith.constant 4 : i8
    %low = arith.constant 15 : i8
    %b = "fuse.load"(%w, %true, %none) {at = ["d0", "d1*64 + d2"]} : (tensor<8192x128xui8>, i1, i8) -> i8
    %l = arith.andi %b, %low : i8
    %h = arith.shrui %b, %four : i8
    %l0 = arith.uitofp %l : i8 to bf16
    %h0 = arith.uitofp %h : i8 to bf16
    %x0 = "fuse.load"(%x, %true, %zero) {at = ["d3", "d1*128 + d2*2"]} : (tensor<16x256xbf16>, i1, bf16) -> bf16
    %x1 = "fuse.load"(%x, %true, %zero) {at = ["d3", "d1*128 + d2*2 + 1"]} : (tensor<16x256xbf16>, i1, bf16) -> bf16
    %g = "fuse.load"(%s, %true, %zero) {at = ["d0", "d1"]} : (tensor<8192x2xbf16>, i1, bf16) -> bf16
    %gw = arith.extf %g : bf16 to f32
    %p = "fuse.dot"(%x0, %l0) {over = ["d2"]} : (bf16, bf16) -> f32
    %q = "fuse.dot"(%x1, %h0) {over = ["d2"]} : (bf16, bf16) -> f32
    %t = arith.addf %p, %q : f32
    %u = arith.mulf %t, %gw : f32
    %v = "fuse.reduce"(%u) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %r = "fuse.store"(%o, %v, %true) {at = ["d3", "d0"], mode = "set"} : (tensor<16x8192xf32>, f32, i1) -> tensor<16x8192xf32>
    return %r : tensor<16x8192xf32>
  }
}
