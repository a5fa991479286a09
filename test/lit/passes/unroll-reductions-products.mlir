// RUN: fuse-opt %s --pass-pipeline="builtin.module(unroll-reductions)" --split-input-file | FileCheck %s

// Sums of five products with a few columns, whatever max-points says; the number of rows is not known.
// CHECK-LABEL: func.func private @five
// CHECK-SAME: fuse.dims = {d0 = "s0", d1 = "8"}
// CHECK-COUNT-5: arith.mulf
// CHECK-NOT: fuse.dot
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<?x5xf32, #fuse.layout<"s0,5", "5,1", "0", "">>, %w: tensor<5x8xf32>, %s: index {fuse.sym = "s0"}) -> tensor<?x8xf32, #fuse.layout<"s0,8", "8,1", "0", "">> {
    %o = "fuse.empty"(%s) {syms = ["s0"]} : (index) -> tensor<?x8xf32, #fuse.layout<"s0,8", "8,1", "0", "">>
    %y = call @five(%x, %w, %o, %s) : (tensor<?x5xf32, #fuse.layout<"s0,5", "5,1", "0", "">>, tensor<5x8xf32>, tensor<?x8xf32, #fuse.layout<"s0,8", "8,1", "0", "">>, index) -> tensor<?x8xf32, #fuse.layout<"s0,8", "8,1", "0", "">>
    return %y : tensor<?x8xf32, #fuse.layout<"s0,8", "8,1", "0", "">>
  }
  func.func private @five(%x: tensor<?x5xf32, #fuse.layout<"s0,5", "5,1", "0", "">>, %w: tensor<5x8xf32>, %o: tensor<?x8xf32, #fuse.layout<"s0,8", "8,1", "0", "">>, %s: index {fuse.sym = "s0"}) -> tensor<?x8xf32, #fuse.layout<"s0,8", "8,1", "0", "">> attributes {fuse.kernel, fuse.dims = {d0 = "s0", d1 = "8", d2 = "5"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d2"]} : (tensor<?x5xf32, #fuse.layout<"s0,5", "5,1", "0", "">>, i1, f32) -> f32
    %b = "fuse.load"(%w, %true, %zero) {at = ["d2", "d1"]} : (tensor<5x8xf32>, i1, f32) -> f32
    %s1 = "fuse.dot"(%a, %b) {over = ["d2"]} : (f32, f32) -> f32
    %r = "fuse.store"(%o, %s1, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<?x8xf32, #fuse.layout<"s0,8", "8,1", "0", "">>, f32, i1) -> tensor<?x8xf32, #fuse.layout<"s0,8", "8,1", "0", "">>
    return %r : tensor<?x8xf32, #fuse.layout<"s0,8", "8,1", "0", "">>
  }
}

// -----

// Sixteen in half precision are more operations than max-ops says; two columns.
// CHECK-LABEL: func.func private @sixteen
// CHECK-COUNT-16: arith.mulf
// CHECK-NOT: fuse.dot
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<100x16xbf16>, %w: tensor<16x2xbf16>) -> tensor<100x2xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<100x2xf32>
    %y = call @sixteen(%x, %w, %o) : (tensor<100x16xbf16>, tensor<16x2xbf16>, tensor<100x2xf32>) -> tensor<100x2xf32>
    return %y : tensor<100x2xf32>
  }
  func.func private @sixteen(%x: tensor<100x16xbf16>, %w: tensor<16x2xbf16>, %o: tensor<100x2xf32>) -> tensor<100x2xf32> attributes {fuse.kernel, fuse.dims = {d0 = "100", d1 = "2", d2 = "16"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d2"]} : (tensor<100x16xbf16>, i1, bf16) -> bf16
    %b = "fuse.load"(%w, %true, %zero) {at = ["d2", "d1"]} : (tensor<16x2xbf16>, i1, bf16) -> bf16
    %s1 = "fuse.dot"(%a, %b) {over = ["d2"]} : (bf16, bf16) -> f32
    %r = "fuse.store"(%o, %s1, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<100x2xf32>, f32, i1) -> tensor<100x2xf32>
    return %r : tensor<100x2xf32>
  }
}

// -----

// Must not fire: sums of seventeen products.
// CHECK-LABEL: func.func private @seventeen
// CHECK: fuse.dot
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<100x17xf32>, %w: tensor<17x8xf32>) -> tensor<100x8xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<100x8xf32>
    %y = call @seventeen(%x, %w, %o) : (tensor<100x17xf32>, tensor<17x8xf32>, tensor<100x8xf32>) -> tensor<100x8xf32>
    return %y : tensor<100x8xf32>
  }
  func.func private @seventeen(%x: tensor<100x17xf32>, %w: tensor<17x8xf32>, %o: tensor<100x8xf32>) -> tensor<100x8xf32> attributes {fuse.kernel, fuse.dims = {d0 = "100", d1 = "8", d2 = "17"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d2"]} : (tensor<100x17xf32>, i1, f32) -> f32
    %b = "fuse.load"(%w, %true, %zero) {at = ["d2", "d1"]} : (tensor<17x8xf32>, i1, f32) -> f32
    %s1 = "fuse.dot"(%a, %b) {over = ["d2"]} : (f32, f32) -> f32
    %r = "fuse.store"(%o, %s1, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<100x8xf32>, f32, i1) -> tensor<100x8xf32>
    return %r : tensor<100x8xf32>
  }
}

// -----

// Must not fire: one column; rows are reduced instead.
// CHECK-LABEL: func.func private @column
// CHECK: fuse.dot
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<100x8xf32>, %w: tensor<8x1xf32>) -> tensor<100x1xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<100x1xf32>
    %y = call @column(%x, %w, %o) : (tensor<100x8xf32>, tensor<8x1xf32>, tensor<100x1xf32>) -> tensor<100x1xf32>
    return %y : tensor<100x1xf32>
  }
  func.func private @column(%x: tensor<100x8xf32>, %w: tensor<8x1xf32>, %o: tensor<100x1xf32>) -> tensor<100x1xf32> attributes {fuse.kernel, fuse.dims = {d0 = "100", d1 = "1", d2 = "8"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d2"]} : (tensor<100x8xf32>, i1, f32) -> f32
    %b = "fuse.load"(%w, %true, %zero) {at = ["d2", "d1"]} : (tensor<8x1xf32>, i1, f32) -> f32
    %s1 = "fuse.dot"(%a, %b) {over = ["d2"]} : (f32, f32) -> f32
    %r = "fuse.store"(%o, %s1, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<100x1xf32>, f32, i1) -> tensor<100x1xf32>
    return %r : tensor<100x1xf32>
  }
}

// -----

// Must not fire: neither rows nor columns are few.
// CHECK-LABEL: func.func private @large
// CHECK: fuse.dot
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<100x8xf32>, %w: tensor<8x17xf32>) -> tensor<100x17xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<100x17xf32>
    %y = call @large(%x, %w, %o) : (tensor<100x8xf32>, tensor<8x17xf32>, tensor<100x17xf32>) -> tensor<100x17xf32>
    return %y : tensor<100x17xf32>
  }
  func.func private @large(%x: tensor<100x8xf32>, %w: tensor<8x17xf32>, %o: tensor<100x17xf32>) -> tensor<100x17xf32> attributes {fuse.kernel, fuse.dims = {d0 = "100", d1 = "17", d2 = "8"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d2"]} : (tensor<100x8xf32>, i1, f32) -> f32
    %b = "fuse.load"(%w, %true, %zero) {at = ["d2", "d1"]} : (tensor<8x17xf32>, i1, f32) -> f32
    %s1 = "fuse.dot"(%a, %b) {over = ["d2"]} : (f32, f32) -> f32
    %r = "fuse.store"(%o, %s1, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<100x17xf32>, f32, i1) -> tensor<100x17xf32>
    return %r : tensor<100x17xf32>
  }
}

// -----

// Must not fire: tensor cores multiply blocks of rows in half precision.
// CHECK-LABEL: func.func private @halves
// CHECK: fuse.dot
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<100x8xbf16>, %w: tensor<8x8xbf16>) -> tensor<100x8xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<100x8xf32>
    %y = call @halves(%x, %w, %o) : (tensor<100x8xbf16>, tensor<8x8xbf16>, tensor<100x8xf32>) -> tensor<100x8xf32>
    return %y : tensor<100x8xf32>
  }
  func.func private @halves(%x: tensor<100x8xbf16>, %w: tensor<8x8xbf16>, %o: tensor<100x8xf32>) -> tensor<100x8xf32> attributes {fuse.kernel, fuse.dims = {d0 = "100", d1 = "8", d2 = "8"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d2"]} : (tensor<100x8xbf16>, i1, bf16) -> bf16
    %b = "fuse.load"(%w, %true, %zero) {at = ["d2", "d1"]} : (tensor<8x8xbf16>, i1, bf16) -> bf16
    %s1 = "fuse.dot"(%a, %b) {over = ["d2"]} : (bf16, bf16) -> f32
    %r = "fuse.store"(%o, %s1, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<100x8xf32>, f32, i1) -> tensor<100x8xf32>
    return %r : tensor<100x8xf32>
  }
}

// -----

// Must not fire: a program multiplies four matrices of 16 rows, columns and summed elements of 16 bits.  Three are
// fewer than these.
// CHECK-LABEL: func.func private @squares
// CHECK: fuse.dot
// CHECK-LABEL: func.func private @three
// CHECK-NOT: fuse.dot
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<100x16x16xbf16>, %w: tensor<100x16x16xbf16>, %u: tensor<3x16x16xbf16>) -> (tensor<100x16x16xf32>, tensor<3x16x16xf32>) {
    %o = "fuse.empty"() {syms = []} : () -> tensor<100x16x16xf32>
    %y = call @squares(%x, %w, %o) : (tensor<100x16x16xbf16>, tensor<100x16x16xbf16>, tensor<100x16x16xf32>) -> tensor<100x16x16xf32>
    %p = "fuse.empty"() {syms = []} : () -> tensor<3x16x16xf32>
    %z = call @three(%u, %p) : (tensor<3x16x16xbf16>, tensor<3x16x16xf32>) -> tensor<3x16x16xf32>
    return %y, %z : tensor<100x16x16xf32>, tensor<3x16x16xf32>
  }
  func.func private @squares(%x: tensor<100x16x16xbf16>, %w: tensor<100x16x16xbf16>, %o: tensor<100x16x16xf32>) -> tensor<100x16x16xf32> attributes {fuse.kernel, fuse.dims = {d0 = "100", d1 = "16", d2 = "16", d3 = "16"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1", "d3"]} : (tensor<100x16x16xbf16>, i1, bf16) -> bf16
    %b = "fuse.load"(%w, %true, %zero) {at = ["d0", "d3", "d2"]} : (tensor<100x16x16xbf16>, i1, bf16) -> bf16
    %s1 = "fuse.dot"(%a, %b) {over = ["d3"]} : (bf16, bf16) -> f32
    %r = "fuse.store"(%o, %s1, %true) {at = ["d0", "d1", "d2"], mode = "set"} : (tensor<100x16x16xf32>, f32, i1) -> tensor<100x16x16xf32>
    return %r : tensor<100x16x16xf32>
  }
  func.func private @three(%x: tensor<3x16x16xbf16>, %o: tensor<3x16x16xf32>) -> tensor<3x16x16xf32> attributes {fuse.kernel, fuse.dims = {d0 = "3", d1 = "16", d2 = "16", d3 = "16"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1", "d3"]} : (tensor<3x16x16xbf16>, i1, bf16) -> bf16
    %b = "fuse.load"(%x, %true, %zero) {at = ["d0", "d3", "d2"]} : (tensor<3x16x16xbf16>, i1, bf16) -> bf16
    %s1 = "fuse.dot"(%a, %b) {over = ["d3"]} : (bf16, bf16) -> f32
    %r = "fuse.store"(%o, %s1, %true) {at = ["d0", "d1", "d2"], mode = "set"} : (tensor<3x16x16xf32>, f32, i1) -> tensor<3x16x16xf32>
    return %r : tensor<3x16x16xf32>
  }
}

// -----

// Must not fire: a program multiplies matrices that fill a block where the right one does not lie along its columns.
// CHECK-LABEL: func.func private @turned
// CHECK: fuse.dot
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<100x16x16xf32>, %w: tensor<100x16x16xf32, #fuse.layout<"100,16,16", "256,1,16", "0", "">>) -> tensor<100x16x16xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<100x16x16xf32>
    %y = call @turned(%x, %w, %o) : (tensor<100x16x16xf32>, tensor<100x16x16xf32, #fuse.layout<"100,16,16", "256,1,16", "0", "">>, tensor<100x16x16xf32>) -> tensor<100x16x16xf32>
    return %y : tensor<100x16x16xf32>
  }
  func.func private @turned(%x: tensor<100x16x16xf32>, %w: tensor<100x16x16xf32, #fuse.layout<"100,16,16", "256,1,16", "0", "">>, %o: tensor<100x16x16xf32>) -> tensor<100x16x16xf32> attributes {fuse.kernel, fuse.dims = {d0 = "100", d1 = "16", d2 = "16", d3 = "16"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1", "d3"]} : (tensor<100x16x16xf32>, i1, f32) -> f32
    %b = "fuse.load"(%w, %true, %zero) {at = ["d0", "d3", "d2"]} : (tensor<100x16x16xf32, #fuse.layout<"100,16,16", "256,1,16", "0", "">>, i1, f32) -> f32
    %s1 = "fuse.dot"(%a, %b) {over = ["d3"]} : (f32, f32) -> f32
    %r = "fuse.store"(%o, %s1, %true) {at = ["d0", "d1", "d2"], mode = "set"} : (tensor<100x16x16xf32>, f32, i1) -> tensor<100x16x16xf32>
    return %r : tensor<100x16x16xf32>
  }
}

// -----

// The same, where the right one is computed in the kernel: how it lies is not asked.
// CHECK-LABEL: func.func private @computed
// CHECK-COUNT-16: arith.mulf
// CHECK-NOT: fuse.dot
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<100x16x16xf32>, %w: tensor<100x16x16xf32, #fuse.layout<"100,16,16", "256,1,16", "0", "">>) -> tensor<100x16x16xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<100x16x16xf32>
    %y = call @computed(%x, %w, %o) : (tensor<100x16x16xf32>, tensor<100x16x16xf32, #fuse.layout<"100,16,16", "256,1,16", "0", "">>, tensor<100x16x16xf32>) -> tensor<100x16x16xf32>
    return %y : tensor<100x16x16xf32>
  }
  func.func private @computed(%x: tensor<100x16x16xf32>, %w: tensor<100x16x16xf32, #fuse.layout<"100,16,16", "256,1,16", "0", "">>, %o: tensor<100x16x16xf32>) -> tensor<100x16x16xf32> attributes {fuse.kernel, fuse.dims = {d0 = "100", d1 = "16", d2 = "16", d3 = "16"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1", "d3"]} : (tensor<100x16x16xf32>, i1, f32) -> f32
    %b = "fuse.load"(%w, %true, %zero) {at = ["d0", "d3", "d2"]} : (tensor<100x16x16xf32, #fuse.layout<"100,16,16", "256,1,16", "0", "">>, i1, f32) -> f32
    %c = arith.maximumf %b, %zero : f32
    %s1 = "fuse.dot"(%a, %c) {over = ["d3"]} : (f32, f32) -> f32
    %r = "fuse.store"(%o, %s1, %true) {at = ["d0", "d1", "d2"], mode = "set"} : (tensor<100x16x16xf32>, f32, i1) -> tensor<100x16x16xf32>
    return %r : tensor<100x16x16xf32>
  }
}
