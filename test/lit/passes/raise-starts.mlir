// RUN: fuse-opt %s --pass-pipeline="builtin.module(raise-starts)" --split-input-file --verify-diagnostics | FileCheck %s
// RUN: fuse-opt %s --pass-pipeline="builtin.module(raise-starts,raise-starts)" --split-input-file --verify-diagnostics | FileCheck %s

// The collective starts before a call that it does not need.
// CHECK-LABEL: func.func @main
// CHECK-NEXT: %[[Y:.*]] = call @start(%arg0)
// CHECK: %[[A:.*]] = call @double(%arg1,
// CHECK: call @wait(%[[Y]], %arg0)
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<8xf32>, %b: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
    %e0 = "fuse.empty"() {syms = []} : () -> tensor<8xf32>
    %a = call @double(%b, %e0) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    %y = call @start(%x) : (tensor<8xf32>) -> tensor<8xf32>
    %z = call @wait(%y, %x) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    return %z, %a : tensor<8xf32>, tensor<8xf32>
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

// The second start moves behind the first, past the wait for it, and behind what makes its operand.
// CHECK-LABEL: func.func @main
// CHECK: %[[M:.*]] = call @double(%arg1,
// CHECK-NEXT: %[[Y1:.*]] = call @start(%[[M]])
// CHECK-NEXT: %[[Z0:.*]] = call @wait(%{{.*}}, %arg0)
// CHECK: call @double(%[[Z0]],
// CHECK: call @wait(%[[Y1]], %[[M]])
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<8xf32>, %b: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
    %e0 = "fuse.empty"() {syms = []} : () -> tensor<8xf32>
    %e1 = "fuse.empty"() {syms = []} : () -> tensor<8xf32>
    %y0 = call @start(%x) : (tensor<8xf32>) -> tensor<8xf32>
    %m = call @double(%b, %e0) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    %z0 = call @wait(%y0, %x) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    %a = call @double(%z0, %e1) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    %y1 = call @start(%m) : (tensor<8xf32>) -> tensor<8xf32>
    %z1 = call @wait(%y1, %m) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    return %a, %z1 : tensor<8xf32>, tensor<8xf32>
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

// Must not fire: a start stays behind the start before it, and behind what reads what it writes in place.
// CHECK-LABEL: func.func @main
// CHECK: call @start(%arg1)
// CHECK: call @double(%arg0,
// CHECK-NEXT: call @start_in_place(%arg0)
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<8xf32>, %b: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) {
    %e0 = "fuse.empty"() {syms = []} : () -> tensor<8xf32>
    %y0 = call @start(%b) : (tensor<8xf32>) -> tensor<8xf32>
    %a = call @double(%x, %e0) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    %y1 = call @start_in_place(%x) : (tensor<8xf32>) -> tensor<8xf32>
    %z0 = call @wait(%y0, %b) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    %z1 = call @wait_in_place(%y1) : (tensor<8xf32>) -> tensor<8xf32>
    return %a, %z0, %z1 : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
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
  func.func private @start_in_place(tensor<8xf32>) -> tensor<8xf32> attributes {fuse.effect, fuse.mutated = array<i64: 0>,
      fuse.aliases = {"0" = 0 : i64}, fuse.ranks = 8 : i64,
      fuse.extern = "_c10d_functional.all_reduce_.default", fuse.args = [#fuse.arg<0 : i64>, "sum", "0"], fuse.kwargs = {}}
  func.func private @wait_in_place(tensor<8xf32>) -> tensor<8xf32> attributes {fuse.mutated = array<i64: 0>,
      fuse.aliases = {"0" = 0 : i64}, fuse.extern = "_c10d_functional.wait_tensor.default", fuse.args = [#fuse.arg<0 : i64>],
      fuse.kwargs = {}}
}

// -----

// Must not fire: what the collective reads is written right before.
// CHECK-LABEL: func.func @main
// CHECK-NEXT: call @write(%arg1)
// CHECK-NEXT: %[[X:.*]] = call @write(%arg0)
// CHECK-NEXT: call @start(%[[X]])
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<8xf32>, %b: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
    %a = call @write(%b) : (tensor<8xf32>) -> tensor<8xf32>
    %w = call @write(%x) : (tensor<8xf32>) -> tensor<8xf32>
    %y = call @start(%w) : (tensor<8xf32>) -> tensor<8xf32>
    %z = call @wait(%y, %w) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    return %a, %z : tensor<8xf32>, tensor<8xf32>
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

module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
    // expected-error @+1 {{raise-starts: memory is planned already: found fuse.alloc}}
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
