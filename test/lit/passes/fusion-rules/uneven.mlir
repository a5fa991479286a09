// RUN: fuse-opt %s --pass-pipeline="builtin.module(fold-views,fuse-horizontal)" --split-input-file | FileCheck %s
// RUN: fuse-opt %s --pass-pipeline="builtin.module(fold-views,fuse-horizontal)" --split-input-file --remarks=text -o %t 2>&1 | FileCheck %s --check-prefix=REMARK

// REMARK: missed: fuse-horizontal: uneven, dims=d1: add_0 and neg_3 stay apart
// REMARK: passed: fuse-horizontal: fused

// Must not fire: The second stores five points, the first thirty: six programs would store the same.
// CHECK-LABEL: func.func @main
// CHECK-NOT: fuse.group
// CHECK: return
module attributes {fuse.device = "cpu"} {
  func.func @main(%a0: tensor<6x5xf32>, %a1: tensor<5xf32>) -> (tensor<6x5xf32>, tensor<5xf32>) {
    %o2 = "fuse.empty"() {syms = []} : () -> tensor<6x5xf32>
    %t1 = call @add_0(%a0, %a1, %o2) : (tensor<6x5xf32>, tensor<5xf32>, tensor<6x5xf32>) -> tensor<6x5xf32>
    %o5 = "fuse.empty"() {syms = []} : () -> tensor<5xf32>
    %t4 = call @neg_3(%a1, %o5) : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xf32>
    return %t1, %t4 : tensor<6x5xf32>, tensor<5xf32>
  }
  func.func private @add_0(%x0: tensor<6x5xf32>, %x1: tensor<5xf32>, %dest: tensor<6x5xf32>) -> tensor<6x5xf32> attributes {fuse.kernel, fuse.dims = {d0 = "6", d1 = "5"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v0 = "fuse.load"(%x0, %true, %zero) {at = ["d0", "d1"]} : (tensor<6x5xf32>, i1, f32) -> f32
    %v1 = "fuse.load"(%x1, %true, %zero) {at = ["d1"]} : (tensor<5xf32>, i1, f32) -> f32
    %r = arith.addf %v0, %v1 : f32
    %out = "fuse.store"(%dest, %r, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<6x5xf32>, f32, i1) -> tensor<6x5xf32>
    return %out : tensor<6x5xf32>
  }
  func.func private @neg_3(%x0: tensor<5xf32>, %dest: tensor<5xf32>) -> tensor<5xf32> attributes {fuse.kernel, fuse.dims = {d0 = "5"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v0 = "fuse.load"(%x0, %true, %zero) {at = ["d0"]} : (tensor<5xf32>, i1, f32) -> f32
    %r = arith.negf %v0 : f32
    %out = "fuse.store"(%dest, %r, %true) {at = ["d0"], mode = "set"} : (tensor<5xf32>, f32, i1) -> tensor<5xf32>
    return %out : tensor<5xf32>
  }
}

// -----

// Both store thirty points.
// CHECK-LABEL: func.func @main
// CHECK-COUNT-2: fuse.group = 0
// CHECK: return
module attributes {fuse.device = "cpu"} {
  func.func @main(%a0: tensor<6x5xf32>, %a1: tensor<5xf32>) -> (tensor<6x5xf32>, tensor<6x5xf32>) {
    %o2 = "fuse.empty"() {syms = []} : () -> tensor<6x5xf32>
    %t1 = call @add_0(%a0, %a1, %o2) : (tensor<6x5xf32>, tensor<5xf32>, tensor<6x5xf32>) -> tensor<6x5xf32>
    %o5 = "fuse.empty"() {syms = []} : () -> tensor<6x5xf32>
    %t4 = call @neg_3(%a0, %o5) : (tensor<6x5xf32>, tensor<6x5xf32>) -> tensor<6x5xf32>
    return %t1, %t4 : tensor<6x5xf32>, tensor<6x5xf32>
  }
  func.func private @add_0(%x0: tensor<6x5xf32>, %x1: tensor<5xf32>, %dest: tensor<6x5xf32>) -> tensor<6x5xf32> attributes {fuse.kernel, fuse.dims = {d0 = "6", d1 = "5"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v0 = "fuse.load"(%x0, %true, %zero) {at = ["d0", "d1"]} : (tensor<6x5xf32>, i1, f32) -> f32
    %v1 = "fuse.load"(%x1, %true, %zero) {at = ["d1"]} : (tensor<5xf32>, i1, f32) -> f32
    %r = arith.addf %v0, %v1 : f32
    %out = "fuse.store"(%dest, %r, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<6x5xf32>, f32, i1) -> tensor<6x5xf32>
    return %out : tensor<6x5xf32>
  }
  func.func private @neg_3(%x0: tensor<6x5xf32>, %dest: tensor<6x5xf32>) -> tensor<6x5xf32> attributes {fuse.kernel, fuse.dims = {d0 = "6", d1 = "5"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v0 = "fuse.load"(%x0, %true, %zero) {at = ["d0", "d1"]} : (tensor<6x5xf32>, i1, f32) -> f32
    %r = arith.negf %v0 : f32
    %out = "fuse.store"(%dest, %r, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<6x5xf32>, f32, i1) -> tensor<6x5xf32>
    return %out : tensor<6x5xf32>
  }
}
