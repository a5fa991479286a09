// RUN: fuse-opt %s --pass-pipeline="builtin.module(lower-device-assert)" --split-input-file --verify-diagnostics | FileCheck %s

// The guard becomes part of the condition, the user's line part of the message; a constant guard leaves the condition alone.
// CHECK-LABEL: func.func private @k
// CHECK: %[[C:.*]] = arith.cmpf ogt
// CHECK: %[[T:.*]] = arith.constant true
// CHECK: %[[OFF:.*]] = arith.xori %[[G:.*]], %[[T]]
// CHECK: %[[OK:.*]] = arith.ori %[[C]], %[[OFF]]
// CHECK: cf.assert %[[OK]], "negative (at model.py:12)"
// CHECK: cf.assert %[[C]], "no place{{[^"]*"$}}
// An assertion about an index stays one.
// CHECK: cf.assert %[[C]], "out of bounds{{[^"]*}}" {fuse.index_check}
// CHECK-NOT: fuse.device_assert
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<64xf32>) -> tensor<64xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %y = call @k(%x, %o) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    return %y : tensor<64xf32>
  }
  func.func private @k(%x: tensor<64xf32>, %o: tensor<64xf32>) -> tensor<64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %ten = arith.constant 10 : i64
    %i = "fuse.index"() {expr = "d0"} : () -> i64
    %g = arith.cmpi slt, %i, %ten : i64
    %v = "fuse.load"(%x, %g, %zero) {at = ["d0"]} : (tensor<64xf32>, i1, f32) -> f32
    %c = arith.cmpf ogt, %v, %zero : f32
    "fuse.device_assert"(%c, %g) {message = "negative"} : (i1, i1) -> () loc("gather"("model.py":12:0))
    "fuse.device_assert"(%c, %true) {message = "no place"} : (i1, i1) -> ()
    "fuse.device_assert"(%c, %true) {message = "out of bounds", fuse.index_check} : (i1, i1) -> ()
    %r = "fuse.store"(%o, %v, %true) {at = ["d0"], mode = "set"} : (tensor<64xf32>, f32, i1) -> tensor<64xf32>
    return %r : tensor<64xf32>
  }
}

// -----

// What is asserted twice stays once: of one condition, behind one guard, in one sentence.
// CHECK-LABEL: func.func private @twice
// CHECK-COUNT-2: cf.assert
// CHECK-NOT: cf.assert
// CHECK: return
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<64xf32>) -> tensor<64xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %y = call @twice(%x, %o) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    return %y : tensor<64xf32>
  }
  func.func private @twice(%x: tensor<64xf32>, %o: tensor<64xf32>) -> tensor<64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<64xf32>, i1, f32) -> f32
    %c = arith.cmpf ogt, %v, %zero : f32
    "fuse.device_assert"(%c, %true) {message = "negative"} : (i1, i1) -> () loc("a"("model.py":3:0))
    "fuse.device_assert"(%c, %true) {message = "negative"} : (i1, i1) -> () loc("a"("model.py":3:0))
    "fuse.device_assert"(%c, %true) {message = "another"} : (i1, i1) -> ()
    %r = "fuse.store"(%o, %v, %true) {at = ["d0"], mode = "set"} : (tensor<64xf32>, f32, i1) -> tensor<64xf32>
    return %r : tensor<64xf32>
  }
}

// -----

// Must not fire: there is no assert, and what is there stays.
// CHECK-LABEL: func.func private @plain
// CHECK-NOT: cf.assert
// CHECK: return
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<64xf32>) -> tensor<64xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %y = call @plain(%x, %o) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    return %y : tensor<64xf32>
  }
  func.func private @plain(%x: tensor<64xf32>, %o: tensor<64xf32>) -> tensor<64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<64xf32>, i1, f32) -> f32
    %r = "fuse.store"(%o, %v, %true) {at = ["d0"], mode = "set"} : (tensor<64xf32>, f32, i1) -> tensor<64xf32>
    return %r : tensor<64xf32>
  }
}

// -----

// Bad input: an assert outside a kernel.
module attributes {fuse.device = "cpu"} {
  func.func @main(%c: i1) {
    // expected-error @+1 {{fuse.device_assert}}
    "fuse.device_assert"(%c, %c) {message = "no"} : (i1, i1) -> ()
    return
  }
}
