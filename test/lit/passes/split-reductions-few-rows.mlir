// RUN: fuse-opt %s --pass-pipeline="builtin.module(split-reductions{hardware=h200})" --split-input-file | FileCheck %s

// 64 rows times 4096 rows of weights of 8 bits: the sum is cut over four programs of 128 rows of weights, which read
// each weight once.
// CHECK-LABEL: func.func private @bytes_slices
// CHECK-SAME: fuse.dims = {d0 = "64", d1 = "4096", d2 = "3584", d3 = "4"}
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<64x14336xbf16>, %w: tensor<4096x14336xi8>) -> tensor<64x4096xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<64x4096xf32>
    %y = call @bytes(%x, %w, %o) : (tensor<64x14336xbf16>, tensor<4096x14336xi8>, tensor<64x4096xf32>) -> tensor<64x4096xf32>
    return %y : tensor<64x4096xf32>
  }
  func.func private @bytes(%x: tensor<64x14336xbf16>, %w: tensor<4096x14336xi8>, %o: tensor<64x4096xf32>) -> tensor<64x4096xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "64", d1 = "4096", d2 = "14336"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %none = arith.constant 0 : i8
    %b = "fuse.load"(%w, %true, %none) {at = ["d1", "d2"]} : (tensor<4096x14336xi8>, i1, i8) -> i8
    %v = arith.sitofp %b : i8 to bf16
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d2"]} : (tensor<64x14336xbf16>, i1, bf16) -> bf16
    %p = "fuse.dot"(%a, %v) {over = ["d2"]} : (bf16, bf16) -> f32
    %r = "fuse.store"(%o, %p, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<64x4096xf32>, f32, i1) -> tensor<64x4096xf32>
    return %r : tensor<64x4096xf32>
  }
}

// -----

// Must not fire: weights that are read as they are multiplied.
// CHECK-LABEL: func.func private @plain(
// CHECK-NOT: d3
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<64x14336xbf16>, %w: tensor<4096x14336xbf16>) -> tensor<64x4096xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<64x4096xf32>
    %y = call @plain(%x, %w, %o) : (tensor<64x14336xbf16>, tensor<4096x14336xbf16>, tensor<64x4096xf32>) -> tensor<64x4096xf32>
    return %y : tensor<64x4096xf32>
  }
  func.func private @plain(%x: tensor<64x14336xbf16>, %w: tensor<4096x14336xbf16>, %o: tensor<64x4096xf32>) -> tensor<64x4096xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "64", d1 = "4096", d2 = "14336"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %v = "fuse.load"(%w, %true, %zero) {at = ["d1", "d2"]} : (tensor<4096x14336xbf16>, i1, bf16) -> bf16
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d2"]} : (tensor<64x14336xbf16>, i1, bf16) -> bf16
    %p = "fuse.dot"(%a, %v) {over = ["d2"]} : (bf16, bf16) -> f32
    %r = "fuse.store"(%o, %p, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<64x4096xf32>, f32, i1) -> tensor<64x4096xf32>
    return %r : tensor<64x4096xf32>
  }
}

// -----

// Must not fire: more rows, of which no block has all.
// CHECK-LABEL: func.func private @more(
// CHECK-NOT: d3
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<128x14336xbf16>, %w: tensor<4096x14336xi8>) -> tensor<128x4096xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<128x4096xf32>
    %y = call @more(%x, %w, %o) : (tensor<128x14336xbf16>, tensor<4096x14336xi8>, tensor<128x4096xf32>) -> tensor<128x4096xf32>
    return %y : tensor<128x4096xf32>
  }
  func.func private @more(%x: tensor<128x14336xbf16>, %w: tensor<4096x14336xi8>, %o: tensor<128x4096xf32>) -> tensor<128x4096xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "128", d1 = "4096", d2 = "14336"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %none = arith.constant 0 : i8
    %b = "fuse.load"(%w, %true, %none) {at = ["d1", "d2"]} : (tensor<4096x14336xi8>, i1, i8) -> i8
    %v = arith.sitofp %b : i8 to bf16
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d2"]} : (tensor<128x14336xbf16>, i1, bf16) -> bf16
    %p = "fuse.dot"(%a, %v) {over = ["d2"]} : (bf16, bf16) -> f32
    %r = "fuse.store"(%o, %p, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<128x4096xf32>, f32, i1) -> tensor<128x4096xf32>
    return %r : tensor<128x4096xf32>
  }
}
