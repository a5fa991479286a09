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

// -----

// Weights of 4 bits in groups: each of four programs has a quarter of the groups.
// CHECK-LABEL: func.func private @groups_slices
// CHECK-SAME: fuse.dims = {d0 = "4096", d1 = "28", d2 = "64", d3 = "64", d4 = "4"}
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<64x14336xbf16>, %w: tensor<4096x7168xui8>, %s: tensor<4096x112xbf16>) -> tensor<64x4096xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<64x4096xf32>
    %y = call @groups(%x, %w, %s, %o) : (tensor<64x14336xbf16>, tensor<4096x7168xui8>, tensor<4096x112xbf16>, tensor<64x4096xf32>) -> tensor<64x4096xf32>
    return %y : tensor<64x4096xf32>
  }
  func.func private @groups(%x: tensor<64x14336xbf16>, %w: tensor<4096x7168xui8>, %s: tensor<4096x112xbf16>, %o: tensor<64x4096xf32>) -> tensor<64x4096xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "4096", d1 = "112", d2 = "64", d3 = "64"}, fuse.ties = array<i64: 3>} {
    %true = arith.constant true
    %none = arith.constant 0 : i8
    %zero = arith.constant 0.0 : bf16
    %four = arith.constant 4 : i8
    %low = arith.constant 15 : i8
    %b = "fuse.load"(%w, %true, %none) {at = ["d0", "d1*64 + d2"]} : (tensor<4096x7168xui8>, i1, i8) -> i8
    %l = arith.andi %b, %low : i8
    %h = arith.shrui %b, %four : i8
    %l0 = arith.uitofp %l : i8 to bf16
    %h0 = arith.uitofp %h : i8 to bf16
    %x0 = "fuse.load"(%x, %true, %zero) {at = ["d3", "d1*128 + d2*2"]} : (tensor<64x14336xbf16>, i1, bf16) -> bf16
    %x1 = "fuse.load"(%x, %true, %zero) {at = ["d3", "d1*128 + d2*2 + 1"]} : (tensor<64x14336xbf16>, i1, bf16) -> bf16
    %g = "fuse.load"(%s, %true, %zero) {at = ["d0", "d1"]} : (tensor<4096x112xbf16>, i1, bf16) -> bf16
    %gw = arith.extf %g : bf16 to f32
    %p = "fuse.dot"(%x0, %l0) {over = ["d2"]} : (bf16, bf16) -> f32
    %q = "fuse.dot"(%x1, %h0) {over = ["d2"]} : (bf16, bf16) -> f32
    %t = arith.addf %p, %q : f32
    %u = arith.mulf %t, %gw : f32
    %v = "fuse.reduce"(%u) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %r = "fuse.store"(%o, %v, %true) {at = ["d3", "d0"], mode = "set"} : (tensor<64x4096xf32>, f32, i1) -> tensor<64x4096xf32>
    return %r : tensor<64x4096xf32>
  }
}

// -----

// Must not fire: so few weights are multiplied in other blocks.
// CHECK-LABEL: func.func private @few(
// CHECK-NOT: d4
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<64x14336xbf16>, %w: tensor<2048x7168xui8>, %s: tensor<2048x112xbf16>) -> tensor<64x2048xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<64x2048xf32>
    %y = call @few(%x, %w, %s, %o) : (tensor<64x14336xbf16>, tensor<2048x7168xui8>, tensor<2048x112xbf16>, tensor<64x2048xf32>) -> tensor<64x2048xf32>
    return %y : tensor<64x2048xf32>
  }
  func.func private @few(%x: tensor<64x14336xbf16>, %w: tensor<2048x7168xui8>, %s: tensor<2048x112xbf16>, %o: tensor<64x2048xf32>) -> tensor<64x2048xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "2048", d1 = "112", d2 = "64", d3 = "64"}, fuse.ties = array<i64: 3>} {
    %true = arith.constant true
    %none = arith.constant 0 : i8
    %zero = arith.constant 0.0 : bf16
    %four = arith.constant 4 : i8
    %low = arith.constant 15 : i8
    %b = "fuse.load"(%w, %true, %none) {at = ["d0", "d1*64 + d2"]} : (tensor<2048x7168xui8>, i1, i8) -> i8
    %l = arith.andi %b, %low : i8
    %h = arith.shrui %b, %four : i8
    %l0 = arith.uitofp %l : i8 to bf16
    %h0 = arith.uitofp %h : i8 to bf16
    %x0 = "fuse.load"(%x, %true, %zero) {at = ["d3", "d1*128 + d2*2"]} : (tensor<64x14336xbf16>, i1, bf16) -> bf16
    %x1 = "fuse.load"(%x, %true, %zero) {at = ["d3", "d1*128 + d2*2 + 1"]} : (tensor<64x14336xbf16>, i1, bf16) -> bf16
    %g = "fuse.load"(%s, %true, %zero) {at = ["d0", "d1"]} : (tensor<2048x112xbf16>, i1, bf16) -> bf16
    %gw = arith.extf %g : bf16 to f32
    %p = "fuse.dot"(%x0, %l0) {over = ["d2"]} : (bf16, bf16) -> f32
    %q = "fuse.dot"(%x1, %h0) {over = ["d2"]} : (bf16, bf16) -> f32
    %t = arith.addf %p, %q : f32
    %u = arith.mulf %t, %gw : f32
    %v = "fuse.reduce"(%u) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %r = "fuse.store"(%o, %v, %true) {at = ["d3", "d0"], mode = "set"} : (tensor<64x2048xf32>, f32, i1) -> tensor<64x2048xf32>
    return %r : tensor<64x2048xf32>
  }
}

// -----

// Must not fire: the largest product of a group is no sum.
// CHECK-LABEL: func.func private @largest(
// CHECK-NOT: d4
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<64x14336xbf16>, %w: tensor<4096x7168xui8>, %s: tensor<4096x112xbf16>) -> tensor<64x4096xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<64x4096xf32>
    %y = call @largest(%x, %w, %s, %o) : (tensor<64x14336xbf16>, tensor<4096x7168xui8>, tensor<4096x112xbf16>, tensor<64x4096xf32>) -> tensor<64x4096xf32>
    return %y : tensor<64x4096xf32>
  }
  func.func private @largest(%x: tensor<64x14336xbf16>, %w: tensor<4096x7168xui8>, %s: tensor<4096x112xbf16>, %o: tensor<64x4096xf32>) -> tensor<64x4096xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "4096", d1 = "112", d2 = "64", d3 = "64"}, fuse.ties = array<i64: 3>} {
    %true = arith.constant true
    %none = arith.constant 0 : i8
    %zero = arith.constant 0.0 : bf16
    %four = arith.constant 4 : i8
    %low = arith.constant 15 : i8
    %b = "fuse.load"(%w, %true, %none) {at = ["d0", "d1*64 + d2"]} : (tensor<4096x7168xui8>, i1, i8) -> i8
    %l = arith.andi %b, %low : i8
    %h = arith.shrui %b, %four : i8
    %l0 = arith.uitofp %l : i8 to bf16
    %h0 = arith.uitofp %h : i8 to bf16
    %x0 = "fuse.load"(%x, %true, %zero) {at = ["d3", "d1*128 + d2*2"]} : (tensor<64x14336xbf16>, i1, bf16) -> bf16
    %x1 = "fuse.load"(%x, %true, %zero) {at = ["d3", "d1*128 + d2*2 + 1"]} : (tensor<64x14336xbf16>, i1, bf16) -> bf16
    %g = "fuse.load"(%s, %true, %zero) {at = ["d0", "d1"]} : (tensor<4096x112xbf16>, i1, bf16) -> bf16
    %gw = arith.extf %g : bf16 to f32
    %p = "fuse.dot"(%x0, %l0) {over = ["d2"]} : (bf16, bf16) -> f32
    %q = "fuse.dot"(%x1, %h0) {over = ["d2"]} : (bf16, bf16) -> f32
    %t = arith.addf %p, %q : f32
    %u = arith.mulf %t, %gw : f32
    %v = "fuse.reduce"(%u) {kind = "max", over = ["d1"]} : (f32) -> f32
    %r = "fuse.store"(%o, %v, %true) {at = ["d3", "d0"], mode = "set"} : (tensor<64x4096xf32>, f32, i1) -> tensor<64x4096xf32>
    return %r : tensor<64x4096xf32>
  }
}
