// RUN: fuse-opt %s --pass-pipeline="builtin.module(fold-views,fuse-vertical)" --split-input-file | FileCheck %s
// RUN: fuse-opt %s --pass-pipeline="builtin.module(fold-views,fuse-vertical)" --split-input-file --remarks=text -o %t 2>&1 | FileCheck %s --check-prefix=REMARK

// REMARK: missed: fuse-vertical: recompute, points_before=4, points_after=240, slots=17, saved_bytes=32: exp_0 and mul_3 stay apart
// REMARK: passed: fuse-vertical: fused

// Must not fire: A sine and an exponential for each of 240 points instead of four.
// CHECK-LABEL: func.func @main
// CHECK-NOT: fuse.group
// CHECK: return
module attributes {fuse.device = "cpu"} {
  func.func @main(%a0: tensor<60x4xf32>, %a1: tensor<4xf32>) -> (tensor<60x4xf32>) {
    %o2 = "fuse.empty"() {syms = []} : () -> tensor<4xf32>
    %t1 = call @exp_0(%a1, %o2) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %o5 = "fuse.empty"() {syms = []} : () -> tensor<60x4xf32>
    %t4 = call @mul_3(%a0, %t1, %o5) : (tensor<60x4xf32>, tensor<4xf32>, tensor<60x4xf32>) -> tensor<60x4xf32>
    return %t4 : tensor<60x4xf32>
  }
  func.func private @exp_0(%x0: tensor<4xf32>, %dest: tensor<4xf32>) -> tensor<4xf32> attributes {fuse.kernel, fuse.dims = {d0 = "4"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v0 = "fuse.load"(%x0, %true, %zero) {at = ["d0"]} : (tensor<4xf32>, i1, f32) -> f32
    %h = arith.constant 0.125 : f32
    %s = arith.mulf %v0, %h : f32
    %q = math.sin %s : f32
    %r = math.exp %q : f32
    %out = "fuse.store"(%dest, %r, %true) {at = ["d0"], mode = "set"} : (tensor<4xf32>, f32, i1) -> tensor<4xf32>
    return %out : tensor<4xf32>
  }
  func.func private @mul_3(%x0: tensor<60x4xf32>, %x1: tensor<4xf32>, %dest: tensor<60x4xf32>) -> tensor<60x4xf32> attributes {fuse.kernel, fuse.dims = {d0 = "60", d1 = "4"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v0 = "fuse.load"(%x0, %true, %zero) {at = ["d0", "d1"]} : (tensor<60x4xf32>, i1, f32) -> f32
    %v1 = "fuse.load"(%x1, %true, %zero) {at = ["d1"]} : (tensor<4xf32>, i1, f32) -> f32
    %r = arith.mulf %v0, %v1 : f32
    %out = "fuse.store"(%dest, %r, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<60x4xf32>, f32, i1) -> tensor<60x4xf32>
    return %out : tensor<60x4xf32>
  }
}

// -----

// A product and a sum are computed again.
// CHECK-LABEL: func.func @main
// CHECK-COUNT-2: fuse.group = 0
// CHECK: return
module attributes {fuse.device = "cpu"} {
  func.func @main(%a0: tensor<60x4xf32>, %a1: tensor<4xf32>) -> (tensor<60x4xf32>) {
    %o2 = "fuse.empty"() {syms = []} : () -> tensor<4xf32>
    %t1 = call @square_plus_0(%a1, %o2) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %o5 = "fuse.empty"() {syms = []} : () -> tensor<60x4xf32>
    %t4 = call @mul_3(%a0, %t1, %o5) : (tensor<60x4xf32>, tensor<4xf32>, tensor<60x4xf32>) -> tensor<60x4xf32>
    return %t4 : tensor<60x4xf32>
  }
  func.func private @square_plus_0(%x0: tensor<4xf32>, %dest: tensor<4xf32>) -> tensor<4xf32> attributes {fuse.kernel, fuse.dims = {d0 = "4"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v0 = "fuse.load"(%x0, %true, %zero) {at = ["d0"]} : (tensor<4xf32>, i1, f32) -> f32
    %o = arith.constant 1.0 : f32
    %s = arith.mulf %v0, %v0 : f32
    %r = arith.addf %s, %o : f32
    %out = "fuse.store"(%dest, %r, %true) {at = ["d0"], mode = "set"} : (tensor<4xf32>, f32, i1) -> tensor<4xf32>
    return %out : tensor<4xf32>
  }
  func.func private @mul_3(%x0: tensor<60x4xf32>, %x1: tensor<4xf32>, %dest: tensor<60x4xf32>) -> tensor<60x4xf32> attributes {fuse.kernel, fuse.dims = {d0 = "60", d1 = "4"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v0 = "fuse.load"(%x0, %true, %zero) {at = ["d0", "d1"]} : (tensor<60x4xf32>, i1, f32) -> f32
    %v1 = "fuse.load"(%x1, %true, %zero) {at = ["d1"]} : (tensor<4xf32>, i1, f32) -> f32
    %r = arith.mulf %v0, %v1 : f32
    %out = "fuse.store"(%dest, %r, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<60x4xf32>, f32, i1) -> tensor<60x4xf32>
    return %out : tensor<60x4xf32>
  }
}
