// RUN: fuse-opt %s --pass-pipeline="builtin.module(sink-waits)" --split-input-file --verify-diagnostics | FileCheck %s
// RUN: fuse-opt %s --pass-pipeline="builtin.module(sink-waits,sink-waits)" --split-input-file --verify-diagnostics | FileCheck %s

// The wait moves past a call that does not need it, with what floats.
// CHECK-LABEL: func.func @main
// CHECK-NEXT: %[[Y:.*]] = call @start(%arg0)
// CHECK: %[[A:.*]] = call @double(%arg1,
// CHECK: %[[Z:.*]] = call @wait(%[[Y]], %arg0)
// CHECK: %[[V:.*]] = "fuse.view"(%[[Z]])
// CHECK-NEXT: %[[C:.*]] = call @double(%[[V]],
// CHECK-NEXT: return %[[A]], %[[C]]
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<8xf32>, %b: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
    %e0 = "fuse.empty"() {syms = []} : () -> tensor<8xf32>
    %e1 = "fuse.empty"() {syms = []} : () -> tensor<8xf32>
    %y = call @start(%x) : (tensor<8xf32>) -> tensor<8xf32>
    %z = call @wait(%y, %x) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    %v = "fuse.view"(%z) {map = ["v0"], syms = []} : (tensor<8xf32>) -> tensor<8xf32>
    %a = call @double(%b, %e0) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    %c = call @double(%v, %e1) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    return %a, %c : tensor<8xf32>, tensor<8xf32>
  }
  func.func private @double(%x: tensor<8xf32>, %o: tensor<8xf32>) -> tensor<8xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "8"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %z = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %z) {at = ["d0"]} : (tensor<8xf32>, i1, f32) -> f32
    %w = arith.addf %v, %v : f32
    %s = "fuse.store"(%o, %w, %true) {at = ["d0"], mode = "set"} : (tensor<8xf32>, f32, i1) -> tensor<8xf32>
    return %s : tensor<8xf32>
  }
  func.func private @start(tensor<8xf32>) -> tensor<8xf32> attributes {fuse.effect, fuse.ranks = 8 : i64,
      fuse.extern = "_c10d_functional.all_reduce.default", fuse.args = [#fuse.arg<0 : i64>, "sum", "0"], fuse.kwargs = {}}
  func.func private @wait(tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32> attributes {fuse.mutated = array<i64: 0>,
      fuse.aliases = {"0" = 0 : i64}, fuse.extern = "_c10d_functional.wait_tensor.default", fuse.args = [#fuse.arg<0 : i64>],
      fuse.kwargs = {}, fuse.held = array<i64: 1>}
}

// -----

// Each wait moves, past other starts and waits too; what is only returned is waited for at the end.
// CHECK-LABEL: func.func @main
// CHECK-NEXT: %[[Y0:.*]] = call @start(%arg0)
// CHECK-NEXT: %[[Y1:.*]] = call @start(%arg1)
// CHECK: call @double(%arg1,
// CHECK: %[[Z1:.*]] = call @wait(%[[Y1]], %arg1)
// CHECK: call @double(%[[Z1]],
// CHECK: %[[Z0:.*]] = call @wait(%[[Y0]], %arg0)
// CHECK-NEXT: return %[[Z0]]
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<8xf32>, %b: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) {
    %e0 = "fuse.empty"() {syms = []} : () -> tensor<8xf32>
    %e1 = "fuse.empty"() {syms = []} : () -> tensor<8xf32>
    %y0 = call @start(%x) : (tensor<8xf32>) -> tensor<8xf32>
    %z0 = call @wait(%y0, %x) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    %y1 = call @start(%b) : (tensor<8xf32>) -> tensor<8xf32>
    %z1 = call @wait(%y1, %b) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    %a = call @double(%b, %e0) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    %c = call @double(%z1, %e1) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    return %z0, %c, %a : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
  }
  func.func private @double(%x: tensor<8xf32>, %o: tensor<8xf32>) -> tensor<8xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "8"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %z = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %z) {at = ["d0"]} : (tensor<8xf32>, i1, f32) -> f32
    %w = arith.addf %v, %v : f32
    %s = "fuse.store"(%o, %w, %true) {at = ["d0"], mode = "set"} : (tensor<8xf32>, f32, i1) -> tensor<8xf32>
    return %s : tensor<8xf32>
  }
  func.func private @start(tensor<8xf32>) -> tensor<8xf32> attributes {fuse.effect, fuse.ranks = 8 : i64,
      fuse.extern = "_c10d_functional.all_reduce.default", fuse.args = [#fuse.arg<0 : i64>, "sum", "0"], fuse.kwargs = {}}
  func.func private @wait(tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32> attributes {fuse.mutated = array<i64: 0>,
      fuse.aliases = {"0" = 0 : i64}, fuse.extern = "_c10d_functional.wait_tensor.default", fuse.args = [#fuse.arg<0 : i64>],
      fuse.kwargs = {}, fuse.held = array<i64: 1>}
}

// -----

// Must not fire: the call behind the wait overwrites what the collective reads.
// CHECK-LABEL: func.func @main
// CHECK-NEXT: call @start
// CHECK-NEXT: call @wait
// CHECK-NEXT: call @write
// CHECK-NEXT: call @write
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<8xf32>, %b: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) {
    %y = call @start(%x) : (tensor<8xf32>) -> tensor<8xf32>
    %z = call @wait(%y, %x) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    %a = call @write(%x) : (tensor<8xf32>) -> tensor<8xf32>
    %c = call @write(%b) : (tensor<8xf32>) -> tensor<8xf32>
    return %z, %a, %c : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
  }
  func.func private @write(%x: tensor<8xf32>) -> tensor<8xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "8"}, fuse.ties = array<i64: 0>} {
    %true = arith.constant true
    %one = arith.constant 1.0 : f32
    %s = "fuse.store"(%x, %one, %true) {at = ["d0"], mode = "set"} : (tensor<8xf32>, f32, i1) -> tensor<8xf32>
    return %s : tensor<8xf32>
  }
  func.func private @start(tensor<8xf32>) -> tensor<8xf32> attributes {fuse.effect, fuse.ranks = 8 : i64,
      fuse.extern = "_c10d_functional.all_reduce.default", fuse.args = [#fuse.arg<0 : i64>, "sum", "0"], fuse.kwargs = {}}
  func.func private @wait(tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32> attributes {fuse.mutated = array<i64: 0>,
      fuse.aliases = {"0" = 0 : i64}, fuse.extern = "_c10d_functional.wait_tensor.default", fuse.args = [#fuse.arg<0 : i64>],
      fuse.kwargs = {}, fuse.held = array<i64: 1>}
}

// -----

// Must not fire: the collective writes in place what the call behind the wait reads.
// CHECK-LABEL: func.func @main
// CHECK: %[[Y:.*]] = call @start_in_place(%arg0)
// CHECK-NEXT: %[[Z:.*]] = call @wait_in_place(%[[Y]])
// CHECK: call @double(%[[Z]],
// CHECK: call @double(%arg1,
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<8xf32>, %b: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
    %e0 = "fuse.empty"() {syms = []} : () -> tensor<8xf32>
    %e1 = "fuse.empty"() {syms = []} : () -> tensor<8xf32>
    %y = call @start_in_place(%x) : (tensor<8xf32>) -> tensor<8xf32>
    %z = call @wait_in_place(%y) : (tensor<8xf32>) -> tensor<8xf32>
    %a = call @double(%z, %e0) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    %c = call @double(%b, %e1) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    return %a, %c : tensor<8xf32>, tensor<8xf32>
  }
  func.func private @double(%x: tensor<8xf32>, %o: tensor<8xf32>) -> tensor<8xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "8"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %z = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %z) {at = ["d0"]} : (tensor<8xf32>, i1, f32) -> f32
    %w = arith.addf %v, %v : f32
    %s = "fuse.store"(%o, %w, %true) {at = ["d0"], mode = "set"} : (tensor<8xf32>, f32, i1) -> tensor<8xf32>
    return %s : tensor<8xf32>
  }
  func.func private @start_in_place(tensor<8xf32>) -> tensor<8xf32> attributes {fuse.effect, fuse.mutated = array<i64: 0>,
      fuse.aliases = {"0" = 0 : i64}, fuse.ranks = 8 : i64,
      fuse.extern = "_c10d_functional.all_reduce_.default", fuse.args = [#fuse.arg<0 : i64>, "sum", "0"], fuse.kwargs = {}}
  func.func private @wait_in_place(tensor<8xf32>) -> tensor<8xf32> attributes {fuse.mutated = array<i64: 0>,
      fuse.aliases = {"0" = 0 : i64}, fuse.extern = "_c10d_functional.wait_tensor.default", fuse.args = [#fuse.arg<0 : i64>],
      fuse.kwargs = {}}
}

// -----

// Must not fire: the call behind the wait takes a token of it.
// CHECK-LABEL: func.func @main
// CHECK: call @start
// CHECK-NEXT: call @wait
// CHECK-NEXT: "fuse.after"
// CHECK: call @late
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<8xf32>, %b: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
    %e0 = "fuse.empty"() {syms = []} : () -> tensor<8xf32>
    %y = call @start(%x) : (tensor<8xf32>) -> tensor<8xf32>
    %z = call @wait(%y, %x) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    %t = "fuse.after"(%z) : (tensor<8xf32>) -> !fuse.token
    %a = call @late(%b, %e0, %t) : (tensor<8xf32>, tensor<8xf32>, !fuse.token) -> tensor<8xf32>
    return %z, %a : tensor<8xf32>, tensor<8xf32>
  }
  func.func private @late(%x: tensor<8xf32>, %o: tensor<8xf32>, %t: !fuse.token) -> tensor<8xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "8"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %z = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %z) {at = ["d0"]} : (tensor<8xf32>, i1, f32) -> f32
    %s = "fuse.store"(%o, %v, %true) {at = ["d0"], mode = "set"} : (tensor<8xf32>, f32, i1) -> tensor<8xf32>
    return %s : tensor<8xf32>
  }
  func.func private @start(tensor<8xf32>) -> tensor<8xf32> attributes {fuse.effect, fuse.ranks = 8 : i64,
      fuse.extern = "_c10d_functional.all_reduce.default", fuse.args = [#fuse.arg<0 : i64>, "sum", "0"], fuse.kwargs = {}}
  func.func private @wait(tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32> attributes {fuse.mutated = array<i64: 0>,
      fuse.aliases = {"0" = 0 : i64}, fuse.extern = "_c10d_functional.wait_tensor.default", fuse.args = [#fuse.arg<0 : i64>],
      fuse.kwargs = {}, fuse.held = array<i64: 1>}
}

// -----

module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
    // expected-error @+1 {{sink-waits: memory is planned already: found fuse.alloc}}
    %a = "fuse.alloc"() {syms = []} : () -> tensor<8xf32>
    %y = call @start(%x) : (tensor<8xf32>) -> tensor<8xf32>
    %z = call @wait(%y, %x) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    return %a, %z : tensor<8xf32>, tensor<8xf32>
  }
  func.func private @start(tensor<8xf32>) -> tensor<8xf32> attributes {fuse.effect, fuse.ranks = 8 : i64,
      fuse.extern = "_c10d_functional.all_reduce.default", fuse.args = [#fuse.arg<0 : i64>, "sum", "0"], fuse.kwargs = {}}
  func.func private @wait(tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32> attributes {fuse.mutated = array<i64: 0>,
      fuse.aliases = {"0" = 0 : i64}, fuse.extern = "_c10d_functional.wait_tensor.default", fuse.args = [#fuse.arg<0 : i64>],
      fuse.kwargs = {}, fuse.held = array<i64: 1>}
}
