// RUN: fuse-opt %s --pass-pipeline="builtin.module(deduplicate-kernels)" --split-input-file --verify-diagnostics | FileCheck %s

// Equal bodies under two names become one; the calls stay two.  @neg differs and stays.
// CHECK-LABEL: func.func @main
// CHECK: call @exp(%arg0,
// CHECK: call @exp(%arg1,
// CHECK: call @neg(
// CHECK: func.func private @exp(
// CHECK-NOT: @exp_1
// CHECK: func.func private @neg(
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<64xf32>, %y: tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>, tensor<64xf32>) {
    %o = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %a = call @exp(%x, %o) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    %p = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %b = call @exp_1(%y, %p) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    %q = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %c = call @neg(%y, %q) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    return %a, %b, %c : tensor<64xf32>, tensor<64xf32>, tensor<64xf32>
  }
  func.func private @exp(%x0: tensor<64xf32>, %o: tensor<64xf32>) -> tensor<64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v0 = "fuse.load"(%x0, %true, %zero) {at = ["d0"]} : (tensor<64xf32>, i1, f32) -> f32
    %r = math.exp %v0 : f32
    %out = "fuse.store"(%o, %r, %true) {at = ["d0"], mode = "set"} : (tensor<64xf32>, f32, i1) -> tensor<64xf32>
    return %out : tensor<64xf32>
  }
  func.func private @exp_1(%x0: tensor<64xf32>, %o: tensor<64xf32>) -> tensor<64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v0 = "fuse.load"(%x0, %true, %zero) {at = ["d0"]} : (tensor<64xf32>, i1, f32) -> f32
    %r = math.exp %v0 : f32
    %out = "fuse.store"(%o, %r, %true) {at = ["d0"], mode = "set"} : (tensor<64xf32>, f32, i1) -> tensor<64xf32>
    return %out : tensor<64xf32>
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

// Must not fire: another extent, another constant.
// CHECK-LABEL: func.func @main
// CHECK: call @one(
// CHECK: call @two(
// CHECK: func.func private @one(
// CHECK: func.func private @two(
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>) {
    %o = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %a = call @one(%x, %o) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    %p = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %b = call @two(%x, %p) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    return %a, %b : tensor<64xf32>, tensor<64xf32>
  }
  func.func private @one(%x0: tensor<64xf32>, %o: tensor<64xf32>) -> tensor<64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v0 = "fuse.load"(%x0, %true, %zero) {at = ["d0"]} : (tensor<64xf32>, i1, f32) -> f32
    %c = arith.constant 1.0 : f32
    %r = arith.addf %v0, %c : f32
    %out = "fuse.store"(%o, %r, %true) {at = ["d0"], mode = "set"} : (tensor<64xf32>, f32, i1) -> tensor<64xf32>
    return %out : tensor<64xf32>
  }
  func.func private @two(%x0: tensor<64xf32>, %o: tensor<64xf32>) -> tensor<64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v0 = "fuse.load"(%x0, %true, %zero) {at = ["d0"]} : (tensor<64xf32>, i1, f32) -> f32
    %c = arith.constant 2.0 : f32
    %r = arith.addf %v0, %c : f32
    %out = "fuse.store"(%o, %r, %true) {at = ["d0"], mode = "set"} : (tensor<64xf32>, f32, i1) -> tensor<64xf32>
    return %out : tensor<64xf32>
  }
}

// -----

// Bad input: there is nothing to schedule.
// expected-error @+1 {{the module has no function @main}}
module attributes {fuse.device = "cpu"} {
}
