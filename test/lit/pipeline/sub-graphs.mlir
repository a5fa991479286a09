// A sub-graph is a module inside the module: every pass runs on it as on the whole; what calls it is opaque to the others.
// RUN: fuse-opt %s --default-pipeline=scheduled --split-input-file | FileCheck %s --check-prefix=SCHEDULED
// RUN: fuse-opt %s --default-pipeline=planned --split-input-file | FileCheck %s --check-prefix=PLANNED
// RUN: fuse-opt %s --pass-pipeline="builtin.module(eliminate-dead)" --split-input-file | FileCheck %s --check-prefix=DEAD

// Fires: two kernels of the branch become one, and its buffer between them is gone. Must not: @main's kernel is not merged into
// a branch, and the tensor that the call reads stays until the call is done.

// SCHEDULED-LABEL: func.func @main
// SCHEDULED: %[[A:.*]] = call @neg
// SCHEDULED-NEXT: %[[R:.*]] = call @choose(%arg1, %[[A]])
// SCHEDULED-NEXT: return %[[R]]
// SCHEDULED-LABEL: func.func private @choose
// SCHEDULED: scf.if
// SCHEDULED: func.call @run_twice
// SCHEDULED: func.call @run_same
// SCHEDULED-LABEL: module @twice
// SCHEDULED: func.func @main
// SCHEDULED: fuse.empty
// SCHEDULED-NOT: fuse.empty
// SCHEDULED: call @
// SCHEDULED-NOT: call @
// SCHEDULED: return

// PLANNED-LABEL: func.func @main
// PLANNED: %[[M:.*]] = "fuse.alloc"
// PLANNED: %[[A:.*]] = call @neg(%arg0, %[[M]])
// PLANNED-NEXT: %[[R:.*]] = call @choose(%arg1, %[[A]])
// PLANNED-NEXT: "fuse.free"(%[[A]])
// PLANNED-NEXT: return %[[R]]
// PLANNED: module @twice
// PLANNED-NEXT: func.func @main
// PLANNED-NEXT: "fuse.alloc"
// PLANNED-NEXT: call @
// PLANNED-NEXT: return
// PLANNED: fuse.launch

// DEAD-LABEL: func.func @main
// DEAD: call @choose
// DEAD-LABEL: func.func private @choose
// DEAD: scf.if
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<64xf32>, %p: tensor<i1>) -> tensor<64xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %a = call @neg(%x, %o) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    %r = call @choose(%p, %a) : (tensor<i1>, tensor<64xf32>) -> tensor<64xf32>
    return %r : tensor<64xf32>
  }
  func.func private @neg(%x: tensor<64xf32>, %o: tensor<64xf32>) -> tensor<64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0"], operandSegmentSizes = array<i32: 1, 1, 1, 0>} : (tensor<64xf32>, i1, f32) -> f32
    %n = arith.negf %v : f32
    %r = "fuse.store"(%o, %n, %true) {at = ["d0"], mode = "set", operandSegmentSizes = array<i32: 1, 1, 1, 0>} : (tensor<64xf32>, f32, i1) -> tensor<64xf32>
    return %r : tensor<64xf32>
  }
  func.func private @choose(%p: tensor<i1>, %x: tensor<64xf32>) -> tensor<64xf32> attributes {fuse.control_flow} {
    %c = call @predicate(%p) : (tensor<i1>) -> i1
    %r = scf.if %c -> (tensor<64xf32>) {
      %a = func.call @run_twice(%x) : (tensor<64xf32>) -> tensor<64xf32>
      scf.yield %a : tensor<64xf32>
    } else {
      %b = func.call @run_same(%x) : (tensor<64xf32>) -> tensor<64xf32>
      scf.yield %b : tensor<64xf32>
    }
    return %r : tensor<64xf32>
  }
  func.func private @predicate(tensor<i1>) -> i1 attributes {fuse.extern = "aten._local_scalar_dense.default", fuse.args = [#fuse.arg<0 : i64>]}
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

// -----

// A call that nothing needs goes, and the sub-graph with it; one with an effect stays.

// DEAD: module @same
// DEAD: {{^// -----$}}
// DEAD: func.func @main
// DEAD-NEXT: call @run_prints
// DEAD-NEXT: return
// DEAD-NOT: run_quiet
// DEAD: module @prints
// DEAD-NOT: module @quiet
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<64xf32>) -> tensor<64xf32> {
    %a = call @run_quiet(%x) : (tensor<64xf32>) -> tensor<64xf32>
    call @run_prints(%x) : (tensor<64xf32>) -> ()
    return %x : tensor<64xf32>
  }
  func.func private @run_quiet(tensor<64xf32>) -> tensor<64xf32> attributes {fuse.graph = @quiet}
  func.func private @run_prints(tensor<64xf32>) attributes {fuse.graph = @prints, fuse.effect}
  module @quiet {
    func.func @main(%x: tensor<64xf32>) -> tensor<64xf32> {
      %y = call @relu(%x) : (tensor<64xf32>) -> tensor<64xf32>
      return %y : tensor<64xf32>
    }
    func.func private @relu(tensor<64xf32>) -> tensor<64xf32> attributes {fuse.extern = "aten.relu.default", fuse.args = [#fuse.arg<0 : i64>]}
  }
  module @prints {
    func.func @main(%x: tensor<64xf32>) {
      call @show(%x) : (tensor<64xf32>) -> ()
      return
    }
    func.func private @show(tensor<64xf32>) attributes {fuse.extern = "mylib.show.default", fuse.args = [#fuse.arg<0 : i64>], fuse.effect}
  }
}
