// RUN: fuse-opt %s --pass-pipeline="builtin.module(fold-views,fuse-vertical)" --split-input-file | FileCheck %s
// RUN: fuse-opt %s --pass-pipeline="builtin.module(fold-views,fuse-vertical)" --split-input-file --remarks=text -o %t 2>&1 | FileCheck %s --check-prefix=REMARK

// REMARK: missed: fuse-vertical: index-mismatch, reads=d0 + 1, d1: exp_0 and neg_4 stay apart
// REMARK: passed: fuse-vertical: fused

// Must not fire: The whole tensor is returned, and the reader visits other points than it stores.
// CHECK-LABEL: func.func @main
// CHECK-NOT: fuse.group
// CHECK: return
module attributes {fuse.device = "cpu"} {
  func.func @main(%a0: tensor<9x4xf32>) -> (tensor<9x4xf32>, tensor<8x4xf32>) {
    %o2 = "fuse.empty"() {syms = []} : () -> tensor<9x4xf32>
    %t1 = call @exp_0(%a0, %o2) : (tensor<9x4xf32>, tensor<9x4xf32>) -> tensor<9x4xf32>
    %t3 = "fuse.view"(%t1) {map = ["v0 + 1", "v1"], syms = []} : (tensor<9x4xf32>) -> tensor<8x4xf32, #fuse.layout<"8,4", "4,1", "4", "">>
    %o6 = "fuse.empty"() {syms = []} : () -> tensor<8x4xf32>
    %t5 = call @neg_4(%t3, %o6) : (tensor<8x4xf32, #fuse.layout<"8,4", "4,1", "4", "">>, tensor<8x4xf32>) -> tensor<8x4xf32>
    return %t1, %t5 : tensor<9x4xf32>, tensor<8x4xf32>
  }
  func.func private @exp_0(%x0: tensor<9x4xf32>, %dest: tensor<9x4xf32>) -> tensor<9x4xf32> attributes {fuse.kernel, fuse.dims = {d0 = "9", d1 = "4"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v0 = "fuse.load"(%x0, %true, %zero) {at = ["d0", "d1"]} : (tensor<9x4xf32>, i1, f32) -> f32
    %h = arith.constant 0.125 : f32
    %s = arith.mulf %v0, %h : f32
    %q = math.sin %s : f32
    %r = math.exp %q : f32
    %out = "fuse.store"(%dest, %r, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<9x4xf32>, f32, i1) -> tensor<9x4xf32>
    return %out : tensor<9x4xf32>
  }
  func.func private @neg_4(%x0: tensor<8x4xf32, #fuse.layout<"8,4", "4,1", "4", "">>, %dest: tensor<8x4xf32>) -> tensor<8x4xf32> attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "4"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v0 = "fuse.load"(%x0, %true, %zero) {at = ["d0", "d1"]} : (tensor<8x4xf32, #fuse.layout<"8,4", "4,1", "4", "">>, i1, f32) -> f32
    %r = arith.negf %v0 : f32
    %out = "fuse.store"(%dest, %r, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<8x4xf32>, f32, i1) -> tensor<8x4xf32>
    return %out : tensor<8x4xf32>
  }
}

// -----

// A transposed reader visits the same points in another order.
// CHECK-LABEL: func.func @main
// CHECK-COUNT-2: fuse.group = 0
// CHECK: return
module attributes {fuse.device = "cpu"} {
  func.func @main(%a0: tensor<5x7xf32>) -> (tensor<5x7xf32>, tensor<7x5xf32>) {
    %o2 = "fuse.empty"() {syms = []} : () -> tensor<5x7xf32>
    %t1 = call @exp_0(%a0, %o2) : (tensor<5x7xf32>, tensor<5x7xf32>) -> tensor<5x7xf32>
    %t3 = "fuse.view"(%t1) {map = ["v1", "v0"], syms = []} : (tensor<5x7xf32>) -> tensor<7x5xf32, #fuse.layout<"7,5", "1,7", "0", "">>
    %o6 = "fuse.empty"() {syms = []} : () -> tensor<7x5xf32>
    %t5 = call @neg_4(%t3, %o6) : (tensor<7x5xf32, #fuse.layout<"7,5", "1,7", "0", "">>, tensor<7x5xf32>) -> tensor<7x5xf32>
    return %t1, %t5 : tensor<5x7xf32>, tensor<7x5xf32>
  }
  func.func private @exp_0(%x0: tensor<5x7xf32>, %dest: tensor<5x7xf32>) -> tensor<5x7xf32> attributes {fuse.kernel, fuse.dims = {d0 = "5", d1 = "7"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v0 = "fuse.load"(%x0, %true, %zero) {at = ["d0", "d1"]} : (tensor<5x7xf32>, i1, f32) -> f32
    %h = arith.constant 0.125 : f32
    %s = arith.mulf %v0, %h : f32
    %q = math.sin %s : f32
    %r = math.exp %q : f32
    %out = "fuse.store"(%dest, %r, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<5x7xf32>, f32, i1) -> tensor<5x7xf32>
    return %out : tensor<5x7xf32>
  }
  func.func private @neg_4(%x0: tensor<7x5xf32, #fuse.layout<"7,5", "1,7", "0", "">>, %dest: tensor<7x5xf32>) -> tensor<7x5xf32> attributes {fuse.kernel, fuse.dims = {d0 = "7", d1 = "5"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v0 = "fuse.load"(%x0, %true, %zero) {at = ["d0", "d1"]} : (tensor<7x5xf32, #fuse.layout<"7,5", "1,7", "0", "">>, i1, f32) -> f32
    %r = arith.negf %v0 : f32
    %out = "fuse.store"(%dest, %r, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<7x5xf32>, f32, i1) -> tensor<7x5xf32>
    return %out : tensor<7x5xf32>
  }
}
