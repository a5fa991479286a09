// RUN: fuse-opt %s --pass-pipeline="builtin.module(choose-tiling{hardware=h200})" --split-input-file | FileCheck %s

// A program takes 32 rows of weights in groups of 16 bytes where a step reads them as whole lines.
// CHECK-LABEL: func.func private @lines
// CHECK-SAME: {block = 8 : i64, dims = ["d1"], kind = "looped"}, {block = 32 : i64, dims = ["d0"], kind = "grid"}
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<1x1024xbf16>, %w: tensor<14336x512xui8>, %s: tensor<14336x32xbf16>) -> tensor<1x14336xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<1x14336xf32>
    %y = call @lines(%x, %w, %s, %o) : (tensor<1x1024xbf16>, tensor<14336x512xui8>, tensor<14336x32xbf16>, tensor<1x14336xf32>) -> tensor<1x14336xf32>
    return %y : tensor<1x14336xf32>
  }
  func.func private @lines(%x: tensor<1x1024xbf16>, %w: tensor<14336x512xui8>, %s: tensor<14336x32xbf16>, %o: tensor<1x14336xf32>) -> tensor<1x14336xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "14336", d1 = "32", d2 = "16", d3 = "1"}, fuse.ties = array<i64: 3>} {
    %true = arith.constant true
    %none = arith.constant 0 : i8
    %zero = arith.constant 0.0 : bf16
    %eight = arith.constant 8.0 : f32
    %four = arith.constant 4 : i8
    %low = arith.constant 15 : i8
    %b = "fuse.load"(%w, %true, %none) {at = ["d0", "d1*16 + d2"]} : (tensor<14336x512xui8>, i1, i8) -> i8
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
    %x0 = "fuse.load"(%x, %true, %zero) {at = ["d3", "d1*32 + d2*2"]} : (tensor<1x1024xbf16>, i1, bf16) -> bf16
    %x1 = "fuse.load"(%x, %true, %zero) {at = ["d3", "d1*32 + d2*2 + 1"]} : (tensor<1x1024xbf16>, i1, bf16) -> bf16
    %g = "fuse.load"(%s, %true, %zero) {at = ["d0", "d1"]} : (tensor<14336x32xbf16>, i1, bf16) -> bf16
    %gw = arith.extf %g : bf16 to f32
    %p = "fuse.dot"(%x0, %l3) {over = ["d2"]} : (bf16, bf16) -> f32
    %q = "fuse.dot"(%x1, %h3) {over = ["d2"]} : (bf16, bf16) -> f32
    %t = arith.addf %p, %q : f32
    %u = arith.mulf %t, %gw : f32
    %v = "fuse.reduce"(%u) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %r = "fuse.store"(%o, %v, %true) {at = ["0", "d0"], mode = "set"} : (tensor<1x14336xf32>, f32, i1) -> tensor<1x14336xf32>
    return %r : tensor<1x14336xf32>
  }
}

// -----

// Must not fire: other bytes lie between the groups; 32 rows would go through shared memory twice.
// CHECK-LABEL: func.func private @spread
// CHECK-SAME: {block = 8 : i64, dims = ["d1"], kind = "looped"}, {block = 16 : i64, dims = ["d0"], kind = "grid"}
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<1x1024xbf16>, %w: tensor<14336x1024xui8>, %s: tensor<14336x32xbf16>) -> tensor<1x14336xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<1x14336xf32>
    %y = call @spread(%x, %w, %s, %o) : (tensor<1x1024xbf16>, tensor<14336x1024xui8>, tensor<14336x32xbf16>, tensor<1x14336xf32>) -> tensor<1x14336xf32>
    return %y : tensor<1x14336xf32>
  }
  func.func private @spread(%x: tensor<1x1024xbf16>, %w: tensor<14336x1024xui8>, %s: tensor<14336x32xbf16>, %o: tensor<1x14336xf32>) -> tensor<1x14336xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "14336", d1 = "32", d2 = "16", d3 = "1"}, fuse.ties = array<i64: 3>} {
    %true = arith.constant true
    %none = arith.constant 0 : i8
    %zero = arith.constant 0.0 : bf16
    %eight = arith.constant 8.0 : f32
    %four = arith.constant 4 : i8
    %low = arith.constant 15 : i8
    %b = "fuse.load"(%w, %true, %none) {at = ["d0", "d1*32 + d2"]} : (tensor<14336x1024xui8>, i1, i8) -> i8
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
    %x0 = "fuse.load"(%x, %true, %zero) {at = ["d3", "d1*32 + d2*2"]} : (tensor<1x1024xbf16>, i1, bf16) -> bf16
    %x1 = "fuse.load"(%x, %true, %zero) {at = ["d3", "d1*32 + d2*2 + 1"]} : (tensor<1x1024xbf16>, i1, bf16) -> bf16
    %g = "fuse.load"(%s, %true, %zero) {at = ["d0", "d1"]} : (tensor<14336x32xbf16>, i1, bf16) -> bf16
    %gw = arith.extf %g : bf16 to f32
    %p = "fuse.dot"(%x0, %l3) {over = ["d2"]} : (bf16, bf16) -> f32
    %q = "fuse.dot"(%x1, %h3) {over = ["d2"]} : (bf16, bf16) -> f32
    %t = arith.addf %p, %q : f32
    %u = arith.mulf %t, %gw : f32
    %v = "fuse.reduce"(%u) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %r = "fuse.store"(%o, %v, %true) {at = ["0", "d0"], mode = "set"} : (tensor<1x14336xf32>, f32, i1) -> tensor<1x14336xf32>
    return %r : tensor<1x14336xf32>
  }
}
