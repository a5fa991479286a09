// torch.switch: scf.if in scf.if around calls of sub-graphs. The host compares one number, and each branch is scheduled as in a cond.
// RUN: fuse-opt %s --default-pipeline=planned --verify-each=numeric --verify-roundtrip | FileCheck %s
// RUN: fuse-opt %s --default-pipeline -o %t.mlir --fuse-print-plan 2> %t.plan && FileCheck %s --check-prefix=PLAN < %t.plan
// RUN: fuse-run %t.mlir --save %t.pt && fuse-run %t.mlir --plan --compare %t.pt | FileCheck %s --check-prefix=SAME
// RUN: sed "s/cmpi slt/cmpi ult/" %s > %t.unsigned.mlir && not fuse-opt %t.unsigned.mlir --default-pipeline --fuse-print-plan 2>&1 | FileCheck %s --check-prefix=BAD

// CHECK-LABEL: func.func private @choose
// CHECK: %[[N:.*]] = call @index
// CHECK: %[[B:.*]] = arith.cmpi slt, %[[N]]
// CHECK: scf.if %[[B]]
// CHECK: func.call @run_twice
// CHECK: arith.cmpi slt, %[[N]]
// CHECK: scf.if
// CHECK: func.call @run_same
// CHECK: func.call @run_twice
// CHECK-LABEL: module @twice
// CHECK: "fuse.alloc"
// CHECK-NOT: "fuse.alloc"
// CHECK: return

// PLAN: control control_flow_choose
// PLAN: [[N:v[0-9]+]]: i64 = extern index
// PLAN: [[L:v[0-9]+]]: i1 = [[N]] < v
// PLAN: if [[L]] {
// PLAN: } else {
// PLAN: [[M:v[0-9]+]]: i1 = [[N]] < v
// PLAN: if [[M]] {

// SAME: result 0: agrees
// BAD: no launch plan for this arith.cmpi in control flow
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<64xf32>, %p: tensor<i64>) -> tensor<64xf32> {
    %r = call @choose(%p, %x) : (tensor<i64>, tensor<64xf32>) -> tensor<64xf32>
    return %r : tensor<64xf32>
  }
  func.func private @choose(%p: tensor<i64>, %x: tensor<64xf32>) -> tensor<64xf32> attributes {fuse.control_flow} {
    %n = call @index(%p) : (tensor<i64>) -> i64
    %one = arith.constant 1 : i64
    %first = arith.cmpi slt, %n, %one : i64
    %r = scf.if %first -> (tensor<64xf32>) {
      %a = func.call @run_twice(%x) : (tensor<64xf32>) -> tensor<64xf32>
      scf.yield %a : tensor<64xf32>
    } else {
      %two = arith.constant 2 : i64
      %second = arith.cmpi slt, %n, %two : i64
      %b = scf.if %second -> (tensor<64xf32>) {
        %s = func.call @run_same(%x) : (tensor<64xf32>) -> tensor<64xf32>
        scf.yield %s : tensor<64xf32>
      } else {
        %t = func.call @run_twice(%x) : (tensor<64xf32>) -> tensor<64xf32>
        scf.yield %t : tensor<64xf32>
      }
      scf.yield %b : tensor<64xf32>
    }
    return %r : tensor<64xf32>
  }
  func.func private @index(tensor<i64>) -> i64 attributes {fuse.extern = "aten._local_scalar_dense.default", fuse.args = [#fuse.arg<0 : i64>]}
  func.func private @run_twice(tensor<64xf32>) -> tensor<64xf32> attributes {fuse.graph = @twice}
  func.func private @run_same(tensor<64xf32>) -> tensor<64xf32> attributes {fuse.graph = @same}
  module @twice attributes {fuse.device = "cpu"} {
    func.func @main(%x: tensor<64xf32>) -> tensor<64xf32> {
      %o = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
      %u = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
      %a = call @neg(%x, %o) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
      %b = call @neg(%a, %u) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
      return %b : tensor<64xf32>
    }
    func.func private @neg(%x: tensor<64xf32>, %o: tensor<64xf32>) -> tensor<64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64"}, fuse.ties = array<i64: 1>} {
      %true = arith.constant true
      %zero = arith.constant 0.0 : f32
      %v = "fuse.load"(%x, %true, %zero) {at = ["d0"], operandSegmentSizes = array<i32: 1, 1, 1, 0>} : (tensor<64xf32>, i1, f32) -> f32
      %n = arith.negf %v : f32
      %r = "fuse.store"(%o, %n, %true) {at = ["d0"], mode = "set", operandSegmentSizes = array<i32: 1, 1, 1, 0>} : (tensor<64xf32>, f32, i1) -> tensor<64xf32>
      return %r : tensor<64xf32>
    }
  }
  module @same attributes {fuse.device = "cpu"} {
    func.func @main(%x: tensor<64xf32>) -> tensor<64xf32> {
      return %x : tensor<64xf32>
    }
  }
}
