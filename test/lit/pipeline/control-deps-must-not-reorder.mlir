// Two kernels that read one tensor would become one; the second waits for the first, so they stay two, in that order.  The
// buffer of the first is taken over by neither and lives no longer than without the ordering.
// RUN: fuse-opt %s --default-pipeline=planned --split-input-file | FileCheck %s

// CHECK-LABEL: func.func @main
// CHECK: %[[A:.*]] = call @sin(%arg0
// CHECK: %[[T:.*]] = "fuse.after"(%[[A]])
// CHECK: %[[B:.*]] = call @[[COS:cos.*]](%arg0, %{{.*}}, %[[T]])
// CHECK: return %[[A]], %[[B]]
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>) {
    %o = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %a = call @sin(%x, %o) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    %t = "fuse.after"(%a) : (tensor<64xf32>) -> !fuse.token
    %b = call @later(%x, %t) : (tensor<64xf32>, !fuse.token) -> tensor<64xf32>
    return %a, %b : tensor<64xf32>, tensor<64xf32>
  }
  func.func private @later(%x: tensor<64xf32>, %t: !fuse.token) -> tensor<64xf32> attributes {fuse.control_deps} {
    %o = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %y = call @cos(%x, %o) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    return %y : tensor<64xf32>
  }
  func.func private @sin(%x0: tensor<64xf32>, %o: tensor<64xf32>) -> tensor<64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v0 = "fuse.load"(%x0, %true, %zero) {at = ["d0"]} : (tensor<64xf32>, i1, f32) -> f32
    %r = math.sin %v0 : f32
    %out = "fuse.store"(%o, %r, %true) {at = ["d0"], mode = "set"} : (tensor<64xf32>, f32, i1) -> tensor<64xf32>
    return %out : tensor<64xf32>
  }
  func.func private @cos(%x0: tensor<64xf32>, %o: tensor<64xf32>) -> tensor<64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v0 = "fuse.load"(%x0, %true, %zero) {at = ["d0"]} : (tensor<64xf32>, i1, f32) -> f32
    %r = math.cos %v0 : f32
    %out = "fuse.store"(%o, %r, %true) {at = ["d0"], mode = "set"} : (tensor<64xf32>, f32, i1) -> tensor<64xf32>
    return %out : tensor<64xf32>
  }
}

// -----

// The time of %a keeps nothing alive: its storage is given back after its last reader, before the op that waited for it is done.
// CHECK-LABEL: func.func @main
// CHECK: %[[A:.*]] = call @sin(%arg0
// CHECK: %[[T:.*]] = "fuse.after"(%[[A]])
// CHECK: call @mm(%[[A]])
// CHECK-NEXT: "fuse.free"(%[[A]])
// CHECK: call @other({{.*}}, %[[T]])
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<64xf32>) -> (tensor<64xf32>, tensor<8xf32>) {
    %o = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %a = call @sin(%x, %o) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    %t = "fuse.after"(%a) : (tensor<64xf32>) -> !fuse.token
    %m = call @mm(%a) : (tensor<64xf32>) -> tensor<64xf32>
    %b = call @other(%x, %t) : (tensor<64xf32>, !fuse.token) -> tensor<8xf32>
    return %m, %b : tensor<64xf32>, tensor<8xf32>
  }
  func.func private @mm(tensor<64xf32>) -> tensor<64xf32> attributes {fuse.extern = "test.mm.default", fuse.args = [#fuse.arg<0 : i64>]}
  func.func private @other(tensor<64xf32>, !fuse.token) -> tensor<8xf32> attributes {fuse.extern = "test.other.default", fuse.args = [#fuse.arg<0 : i64>]}
  func.func private @sin(%x0: tensor<64xf32>, %o: tensor<64xf32>) -> tensor<64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v0 = "fuse.load"(%x0, %true, %zero) {at = ["d0"]} : (tensor<64xf32>, i1, f32) -> f32
    %r = math.sin %v0 : f32
    %out = "fuse.store"(%o, %r, %true) {at = ["d0"], mode = "set"} : (tensor<64xf32>, f32, i1) -> tensor<64xf32>
    return %out : tensor<64xf32>
  }
}
