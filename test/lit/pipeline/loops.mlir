// Control flow that loops around sub-graphs, replayed from text: every pass leaves the numbers as they are, and the loops alone.
// RUN: fuse-opt %s --default-pipeline=planned --split-input-file --verify-each=numeric --verify-roundtrip | FileCheck %s

// scf.while: doubles until the host finds the first element above 100.
// CHECK-LABEL: func.func @main
// CHECK: call @until
// CHECK-LABEL: func.func private @until
// CHECK: scf.while
// CHECK: scf.condition
// CHECK-LABEL: module @double
// CHECK: fuse.alloc
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<64xf32>) -> tensor<64xf32> {
    %r = call @until(%x) : (tensor<64xf32>) -> tensor<64xf32>
    return %r : tensor<64xf32>
  }
  func.func private @until(%x: tensor<64xf32>) -> tensor<64xf32> attributes {fuse.control_flow} {
    %r = scf.while (%a = %x) : (tensor<64xf32>) -> tensor<64xf32> {
      %t = func.call @run_small(%a) : (tensor<64xf32>) -> tensor<i1>
      %c = func.call @predicate(%t) : (tensor<i1>) -> i1
      scf.condition(%c) %a : tensor<64xf32>
    } do {
    ^bb0(%a: tensor<64xf32>):
      %b = func.call @run_double(%a) : (tensor<64xf32>) -> tensor<64xf32>
      scf.yield %b : tensor<64xf32>
    }
    return %r : tensor<64xf32>
  }
  func.func private @predicate(tensor<i1>) -> i1 attributes {fuse.extern = "aten._local_scalar_dense.default", fuse.args = [#fuse.arg<0 : i64>]}
  func.func private @run_double(tensor<64xf32>) -> tensor<64xf32> attributes {fuse.graph = @double}
  func.func private @run_small(tensor<64xf32>) -> tensor<i1> attributes {fuse.graph = @small}
  module @double attributes {fuse.device = "cpu"} {
    func.func @main(%x: tensor<64xf32>) -> tensor<64xf32> {
      %o = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
      %a = call @k(%x, %o) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
      return %a : tensor<64xf32>
    }
    func.func private @k(%x: tensor<64xf32>, %o: tensor<64xf32>) -> tensor<64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64"}, fuse.ties = array<i64: 1>} {
      %true = arith.constant true
      %zero = arith.constant 0.0 : f32
      %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<64xf32>, i1, f32) -> f32
      %n = arith.addf %v, %v : f32
      %r = "fuse.store"(%o, %n, %true) {at = ["d0"], mode = "set"} : (tensor<64xf32>, f32, i1) -> tensor<64xf32>
      return %r : tensor<64xf32>
    }
  }
  module @small attributes {fuse.device = "cpu"} {
    func.func @main(%x: tensor<64xf32>) -> tensor<i1> {
      %o = "fuse.empty"() {syms = []} : () -> tensor<i1>
      %a = call @k(%x, %o) : (tensor<64xf32>, tensor<i1>) -> tensor<i1>
      return %a : tensor<i1>
    }
    func.func private @k(%x: tensor<64xf32>, %o: tensor<i1>) -> tensor<i1> attributes {fuse.kernel, fuse.dims = {d0 = "64"}, fuse.ties = array<i64: 1>} {
      %true = arith.constant true
      %zero = arith.constant 0.0 : f32
      %most = arith.constant 100.0 : f32
      %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<64xf32>, i1, f32) -> f32
      %a = math.absf %v : f32
      %m = "fuse.reduce"(%a) {kind = "max", over = ["d0"]} : (f32) -> f32
      %c = arith.cmpf olt, %m, %most : f32
      %r = "fuse.store"(%o, %c, %true) {at = [], mode = "set"} : (tensor<i1>, i1, i1) -> tensor<i1>
      return %r : tensor<i1>
    }
  }
}

// -----

// scf.for: as often as the host says.
// CHECK-LABEL: func.func private @thrice
// CHECK: scf.for
// CHECK: func.call @run_negate
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<64xf32>) -> tensor<64xf32> {
    %r = call @thrice(%x) : (tensor<64xf32>) -> tensor<64xf32>
    return %r : tensor<64xf32>
  }
  func.func private @thrice(%x: tensor<64xf32>) -> tensor<64xf32> attributes {fuse.control_flow} {
    %zero = arith.constant 0 : index
    %one = arith.constant 1 : index
    %three = arith.constant 3 : index
    %r = scf.for %i = %zero to %three step %one iter_args(%a = %x) -> (tensor<64xf32>) {
      %b = func.call @run_negate(%a) : (tensor<64xf32>) -> tensor<64xf32>
      scf.yield %b : tensor<64xf32>
    }
    return %r : tensor<64xf32>
  }
  func.func private @run_negate(tensor<64xf32>) -> tensor<64xf32> attributes {fuse.graph = @negate}
  module @negate attributes {fuse.device = "cpu"} {
    func.func @main(%x: tensor<64xf32>) -> tensor<64xf32> {
      %o = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
      %a = call @k(%x, %o) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
      return %a : tensor<64xf32>
    }
    func.func private @k(%x: tensor<64xf32>, %o: tensor<64xf32>) -> tensor<64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64"}, fuse.ties = array<i64: 1>} {
      %true = arith.constant true
      %zero = arith.constant 0.0 : f32
      %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<64xf32>, i1, f32) -> f32
      %n = arith.negf %v : f32
      %r = "fuse.store"(%o, %n, %true) {at = ["d0"], mode = "set"} : (tensor<64xf32>, f32, i1) -> tensor<64xf32>
      return %r : tensor<64xf32>
    }
  }
}
