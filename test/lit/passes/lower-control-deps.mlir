// RUN: fuse-opt %s --pass-pipeline="builtin.module(lower-control-deps)" --split-input-file --verify-diagnostics | FileCheck %s

// The group dissolves; its kernel and its extern op, which has no effect, take the token.  The other call of @neg keeps its kernel.
// CHECK-LABEL: func.func @main
// CHECK: %[[A:.*]] = call @neg(%arg0, %{{.*}}) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
// CHECK: %[[T:.*]] = "fuse.after"(%[[A]])
// CHECK: %[[O:.*]] = "fuse.empty"
// CHECK: %[[B:.*]] = call @neg_1(%arg0, %[[O]], %[[T]])
// CHECK: %[[C:.*]] = call @extern_abs_1(%[[B]], %[[T]])
// CHECK: return %[[A]], %[[C]]
// CHECK-DAG: func.func private @neg_1(%arg0: tensor<64xf32>, %arg1: tensor<64xf32>, %arg2: !fuse.token)
// CHECK-DAG: func.func private @extern_abs_1(tensor<64xf32>, !fuse.token)
// CHECK-NOT: fuse.control_deps
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>) {
    %o = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %a = call @neg(%x, %o) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    %t = "fuse.after"(%a) : (tensor<64xf32>) -> !fuse.token
    %y = call @ordered(%x, %t) : (tensor<64xf32>, !fuse.token) -> tensor<64xf32>
    return %a, %y : tensor<64xf32>, tensor<64xf32>
  }
  func.func private @ordered(%x: tensor<64xf32>, %t: !fuse.token) -> tensor<64xf32> attributes {fuse.control_deps} {
    %o = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %b = call @neg(%x, %o) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    %c = call @extern_abs(%b) : (tensor<64xf32>) -> tensor<64xf32>
    return %c : tensor<64xf32>
  }
  func.func private @extern_abs(tensor<64xf32>) -> tensor<64xf32> attributes {fuse.extern = "aten.abs.default", fuse.args = [#fuse.arg<0 : i64>], fuse.kwargs = {}}
  func.func private @neg(%x0: tensor<64xf32>, %o: tensor<64xf32>) -> tensor<64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v0 = "fuse.load"(%x0, %true, %zero) {at = ["d0"]} : (tensor<64xf32>, i1, f32) -> f32
    %r = arith.negf %v0 : f32
    %out = "fuse.store"(%o, %r, %true) {at = ["d0"], mode = "set"} : (tensor<64xf32>, f32, i1) -> tensor<64xf32>
    return %out : tensor<64xf32>
  }
}

// -----

// Must not fire: plain calls stay as they are.
// CHECK-LABEL: func.func @main
// CHECK: call @neg(%arg0, %{{.*}}) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
// CHECK-NOT: !fuse.token
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<64xf32>) -> tensor<64xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %a = call @neg(%x, %o) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    return %a : tensor<64xf32>
  }
  func.func private @neg(%x0: tensor<64xf32>, %o: tensor<64xf32>) -> tensor<64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v0 = "fuse.load"(%x0, %true, %zero) {at = ["d0"]} : (tensor<64xf32>, i1, f32) -> f32
    %r = arith.negf %v0 : f32
    %out = "fuse.store"(%o, %r, %true) {at = ["d0"], mode = "set"} : (tensor<64xf32>, f32, i1) -> tensor<64xf32>
    return %out : tensor<64xf32>
  }
}

// -----

// Bad input: a random draw takes no token.
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<64xf32>) -> (tensor<64xf32>, i64) {
    %o = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %a = call @neg(%x, %o) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    %t = "fuse.after"(%a) : (tensor<64xf32>) -> !fuse.token
    %y = call @ordered(%t) : (!fuse.token) -> i64
    return %a, %y : tensor<64xf32>, i64
  }
  func.func private @ordered(%t: !fuse.token) -> i64 attributes {fuse.control_deps} {
    // expected-error @+1 {{fuse.rng cannot be ordered after other operations: it takes no token}}
    %s, %f = "fuse.rng"() {device = "cpu", count = 4 : i64} : () -> (i64, i64)
    return %s : i64
  }
  func.func private @neg(%x0: tensor<64xf32>, %o: tensor<64xf32>) -> tensor<64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v0 = "fuse.load"(%x0, %true, %zero) {at = ["d0"]} : (tensor<64xf32>, i1, f32) -> f32
    %r = arith.negf %v0 : f32
    %out = "fuse.store"(%o, %r, %true) {at = ["d0"], mode = "set"} : (tensor<64xf32>, f32, i1) -> tensor<64xf32>
    return %out : tensor<64xf32>
  }
}
