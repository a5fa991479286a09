// RUN: fuse-opt %s --pass-pipeline="builtin.module(fold-views,fuse-vertical)" --split-input-file | FileCheck %s
// RUN: fuse-opt %s --pass-pipeline="builtin.module(fold-views,fuse-vertical)" --split-input-file --remarks=text -o %t 2>&1 | FileCheck %s --check-prefix=REMARK

// REMARK: missed: fuse-vertical: cycle, between=extern: exp_0 and add_4 stay apart
// REMARK: passed: fuse-vertical: fused

// Must not fire: The extern op reads what the first kernel makes, and the second reads its result.
// CHECK-LABEL: func.func @main
// CHECK-NOT: fuse.group
// CHECK: return
module attributes {fuse.device = "cpu"} {
  func.func @main(%a0: tensor<64xf32>) -> (tensor<64xf32>) {
    %o2 = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %t1 = call @exp_0(%a0, %o2) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    %e3 = call @extern(%t1) : (tensor<64xf32>) -> tensor<64xf32>
    %o6 = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %t5 = call @add_4(%t1, %e3, %o6) : (tensor<64xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    return %t5 : tensor<64xf32>
  }
  func.func private @exp_0(%x0: tensor<64xf32>, %dest: tensor<64xf32>) -> tensor<64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v0 = "fuse.load"(%x0, %true, %zero) {at = ["d0"]} : (tensor<64xf32>, i1, f32) -> f32
    %h = arith.constant 0.125 : f32
    %s = arith.mulf %v0, %h : f32
    %q = math.sin %s : f32
    %r = math.exp %q : f32
    %out = "fuse.store"(%dest, %r, %true) {at = ["d0"], mode = "set"} : (tensor<64xf32>, f32, i1) -> tensor<64xf32>
    return %out : tensor<64xf32>
  }
  func.func private @add_4(%x0: tensor<64xf32>, %x1: tensor<64xf32>, %dest: tensor<64xf32>) -> tensor<64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v0 = "fuse.load"(%x0, %true, %zero) {at = ["d0"]} : (tensor<64xf32>, i1, f32) -> f32
    %v1 = "fuse.load"(%x1, %true, %zero) {at = ["d0"]} : (tensor<64xf32>, i1, f32) -> f32
    %r = arith.addf %v0, %v1 : f32
    %out = "fuse.store"(%dest, %r, %true) {at = ["d0"], mode = "set"} : (tensor<64xf32>, f32, i1) -> tensor<64xf32>
    return %out : tensor<64xf32>
  }
  func.func private @extern(tensor<64xf32>) -> tensor<64xf32> attributes {fuse.extern = "aten.neg.default", fuse.args = [#fuse.arg<0 : i64>], fuse.kwargs = {}}
}

// -----

// The extern op in between depends on neither.
// CHECK-LABEL: func.func @main
// CHECK-COUNT-2: fuse.group = 0
// CHECK: return
module attributes {fuse.device = "cpu"} {
  func.func @main(%a0: tensor<64xf32>) -> (tensor<64xf32>) {
    %o2 = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %t1 = call @exp_0(%a0, %o2) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    %e3 = call @extern(%a0) : (tensor<64xf32>) -> tensor<64xf32>
    %o6 = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %t5 = call @add_4(%t1, %e3, %o6) : (tensor<64xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    return %t5 : tensor<64xf32>
  }
  func.func private @exp_0(%x0: tensor<64xf32>, %dest: tensor<64xf32>) -> tensor<64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v0 = "fuse.load"(%x0, %true, %zero) {at = ["d0"]} : (tensor<64xf32>, i1, f32) -> f32
    %h = arith.constant 0.125 : f32
    %s = arith.mulf %v0, %h : f32
    %q = math.sin %s : f32
    %r = math.exp %q : f32
    %out = "fuse.store"(%dest, %r, %true) {at = ["d0"], mode = "set"} : (tensor<64xf32>, f32, i1) -> tensor<64xf32>
    return %out : tensor<64xf32>
  }
  func.func private @add_4(%x0: tensor<64xf32>, %x1: tensor<64xf32>, %dest: tensor<64xf32>) -> tensor<64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v0 = "fuse.load"(%x0, %true, %zero) {at = ["d0"]} : (tensor<64xf32>, i1, f32) -> f32
    %v1 = "fuse.load"(%x1, %true, %zero) {at = ["d0"]} : (tensor<64xf32>, i1, f32) -> f32
    %r = arith.addf %v0, %v1 : f32
    %out = "fuse.store"(%dest, %r, %true) {at = ["d0"], mode = "set"} : (tensor<64xf32>, f32, i1) -> tensor<64xf32>
    return %out : tensor<64xf32>
  }
  func.func private @extern(tensor<64xf32>) -> tensor<64xf32> attributes {fuse.extern = "aten.neg.default", fuse.args = [#fuse.arg<0 : i64>], fuse.kwargs = {}}
}
