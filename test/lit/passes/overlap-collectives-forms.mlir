// What a collective may read, write and be waited for through, and which order holds.
// RUN: fuse-opt %s --pass-pipeline="builtin.module(overlap-collectives{hardware=h200 memory=100})" --split-input-file | FileCheck %s
// RUN: fuse-opt %s --pass-pipeline="builtin.module(overlap-collectives{hardware=h200 memory=100},overlap-collectives{hardware=h200 memory=100})" --split-input-file | FileCheck %s
// RUN: fuse-opt %s --pass-pipeline="builtin.module(raise-starts,sink-waits,overlap-collectives{hardware=h200 memory=100})" --split-input-file | FileCheck %s

// In place: what reads the old contents stays before the start, what reads the new ones behind the wait.
// CHECK-LABEL: func.func @main
// CHECK-NEXT: %[[P:.*]] = call @mm(%arg0, %arg0)
// CHECK-NEXT: %[[OLD:.*]] = call @mm(%[[P]], %arg0)
// CHECK-NEXT: %[[S:.*]] = call @start_in_place(%[[P]])
// CHECK-NEXT: %[[Q:.*]] = call @mm(%arg0, %arg1)
// CHECK-NEXT: call @mm(%arg0, %[[Q]])
// CHECK-NEXT: %[[W:.*]] = call @wait_in_place(%[[S]])
// CHECK-NEXT: %[[NEW:.*]] = call @mm(%[[W]], %arg0)
// CHECK-NEXT: call @mm(%[[OLD]], %[[NEW]])
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<4096x4096xf32>, %y: tensor<4096x4096xf32>) -> (tensor<4096x4096xf32>, tensor<4096x4096xf32>) {
    %p = call @mm(%x, %x) : (tensor<4096x4096xf32>, tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
    %o = call @mm(%p, %x) : (tensor<4096x4096xf32>, tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
    %s = call @start_in_place(%p) : (tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
    %w = call @wait_in_place(%s) : (tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
    %n = call @mm(%w, %x) : (tensor<4096x4096xf32>, tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
    %r = call @mm(%o, %n) : (tensor<4096x4096xf32>, tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
    %q = call @mm(%x, %y) : (tensor<4096x4096xf32>, tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
    %v = call @mm(%x, %q) : (tensor<4096x4096xf32>, tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
    return %r, %v : tensor<4096x4096xf32>, tensor<4096x4096xf32>
  }
  func.func private @mm(tensor<4096x4096xf32>, tensor<4096x4096xf32>) -> tensor<4096x4096xf32> attributes {fuse.extern = "aten.mm.default",
      fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
  func.func private @start_in_place(tensor<4096x4096xf32>) -> tensor<4096x4096xf32> attributes {fuse.effect, fuse.ranks = 2 : i64, fuse.mutated = array<i64: 0>, fuse.aliases = {"0" = 0 : i64}, fuse.extern = "_c10d_functional.all_reduce_.default",
      fuse.args = [#fuse.arg<0 : i64>, "sum", "0"], fuse.kwargs = {}}
  func.func private @wait_in_place(tensor<4096x4096xf32>) -> tensor<4096x4096xf32> attributes {fuse.mutated = array<i64: 0>, fuse.aliases = {"0" = 0 : i64}, fuse.extern = "_c10d_functional.wait_tensor.default",
      fuse.args = [#fuse.arg<0 : i64>], fuse.kwargs = {}}
}

// -----

// Into memory that is there, which another call has read.
// CHECK-LABEL: func.func @main
// CHECK-NEXT: %[[P:.*]] = call @mm(%arg0, %arg0)
// CHECK-NEXT: %[[OLD:.*]] = call @mm(%[[P]], %arg0)
// CHECK-NEXT: %[[S:.*]] = call @start_out(%arg1, %[[P]])
// CHECK-NEXT: %[[Q:.*]] = call @mm(%arg0, %arg1)
// CHECK-NEXT: %[[W:.*]] = call @wait(%[[S]], %arg1)
// CHECK-NEXT: call @mm(%[[OLD]], %[[W]])
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<4096x4096xf32>, %y: tensor<4096x4096xf32>) -> (tensor<4096x4096xf32>, tensor<4096x4096xf32>) {
    %p = call @mm(%x, %x) : (tensor<4096x4096xf32>, tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
    %o = call @mm(%p, %x) : (tensor<4096x4096xf32>, tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
    %s = call @start_out(%y, %p) : (tensor<4096x4096xf32>, tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
    %w = call @wait(%s, %y) : (tensor<4096x4096xf32>, tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
    %r = call @mm(%o, %w) : (tensor<4096x4096xf32>, tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
    %q = call @mm(%x, %y) : (tensor<4096x4096xf32>, tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
    return %r, %q : tensor<4096x4096xf32>, tensor<4096x4096xf32>
  }
  func.func private @mm(tensor<4096x4096xf32>, tensor<4096x4096xf32>) -> tensor<4096x4096xf32> attributes {fuse.extern = "aten.mm.default",
      fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
  func.func private @start_out(tensor<4096x4096xf32>, tensor<4096x4096xf32>) -> tensor<4096x4096xf32> attributes {fuse.effect, fuse.ranks = 1 : i64, fuse.mutated = array<i64: 1>, fuse.aliases = {"0" = 1 : i64}, fuse.extern = "_c10d_functional.all_gather_into_tensor_out.default",
      fuse.args = [#fuse.arg<0 : i64>, 1, "0"], fuse.kwargs = {out = #fuse.arg<1 : i64>}}
  func.func private @wait(tensor<4096x4096xf32>, tensor<4096x4096xf32>) -> tensor<4096x4096xf32> attributes {fuse.mutated = array<i64: 0>, fuse.aliases = {"0" = 0 : i64}, fuse.held = array<i64: 1>, fuse.extern = "_c10d_functional.wait_tensor.default",
      fuse.args = [#fuse.arg<0 : i64>], fuse.kwargs = {}}
}

// -----

// The wait takes a view of the result.
// CHECK-LABEL: func.func @main
// CHECK-NEXT: %[[S:.*]] = call @start(%arg0)
// CHECK-NEXT: %[[Q:.*]] = call @mm(%arg1, %arg1)
// CHECK-NEXT: call @mm(%arg1, %[[Q]])
// CHECK-NEXT: %[[V:.*]] = "fuse.view"(%[[S]])
// CHECK-NEXT: %[[W:.*]] = call @wait(%[[V]], %arg0)
// CHECK-NEXT: call @mm(%[[W]], %arg1)
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<4096x4096xf32>, %y: tensor<4096x4096xf32>) -> (tensor<4096x4096xf32>, tensor<4096x4096xf32>) {
    %s = call @start(%x) : (tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
    %v = "fuse.view"(%s) {map = ["v0", "v1"], syms = []} : (tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
    %w = call @wait(%v, %x) : (tensor<4096x4096xf32>, tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
    %r = call @mm(%w, %y) : (tensor<4096x4096xf32>, tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
    %q = call @mm(%y, %y) : (tensor<4096x4096xf32>, tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
    %z = call @mm(%y, %q) : (tensor<4096x4096xf32>, tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
    return %r, %z : tensor<4096x4096xf32>, tensor<4096x4096xf32>
  }
  func.func private @start(tensor<4096x4096xf32>) -> tensor<4096x4096xf32> attributes {fuse.effect, fuse.ranks = 2 : i64, fuse.extern = "_c10d_functional.all_reduce.default",
      fuse.args = [#fuse.arg<0 : i64>, "sum", "0"], fuse.kwargs = {}}
  func.func private @wait(tensor<4096x4096xf32>, tensor<4096x4096xf32>) -> tensor<4096x4096xf32> attributes {fuse.mutated = array<i64: 0>, fuse.aliases = {"0" = 0 : i64}, fuse.held = array<i64: 1>, fuse.extern = "_c10d_functional.wait_tensor.default",
      fuse.args = [#fuse.arg<0 : i64>], fuse.kwargs = {}}
  func.func private @mm(tensor<4096x4096xf32>, tensor<4096x4096xf32>) -> tensor<4096x4096xf32> attributes {fuse.extern = "aten.mm.default",
      fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
}

// -----

// One call starts two; each result is waited for where it is read.
// CHECK-LABEL: func.func @main
// CHECK-NEXT: %[[S:.*]]:2 = call @start_two(%arg0, %arg1)
// CHECK-NEXT: %[[Q:.*]] = call @mm(%arg0, %arg1)
// CHECK-NEXT: %[[Z:.*]] = call @mm(%arg0, %[[Q]])
// CHECK-NEXT: call @mm(%arg0, %[[Z]])
// CHECK-NEXT: %[[W:.*]] = call @wait_two(%[[S]]#0, %arg0, %arg1)
// CHECK-NEXT: %[[R:.*]] = call @mm(%[[W]], %arg0)
// CHECK-NEXT: %[[U:.*]] = call @wait_two(%[[S]]#1, %arg0, %arg1)
// CHECK-NEXT: call @mm(%[[R]], %[[U]])
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<4096x4096xf32>, %y: tensor<4096x4096xf32>) -> (tensor<4096x4096xf32>, tensor<4096x4096xf32>) {
    %s:2 = call @start_two(%x, %y) : (tensor<4096x4096xf32>, tensor<4096x4096xf32>) -> (tensor<4096x4096xf32>, tensor<4096x4096xf32>)
    %w = call @wait_two(%s#0, %x, %y) : (tensor<4096x4096xf32>, tensor<4096x4096xf32>, tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
    %u = call @wait_two(%s#1, %x, %y) : (tensor<4096x4096xf32>, tensor<4096x4096xf32>, tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
    %r = call @mm(%w, %x) : (tensor<4096x4096xf32>, tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
    %t = call @mm(%r, %u) : (tensor<4096x4096xf32>, tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
    %q = call @mm(%x, %y) : (tensor<4096x4096xf32>, tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
    %z = call @mm(%x, %q) : (tensor<4096x4096xf32>, tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
    %m = call @mm(%x, %z) : (tensor<4096x4096xf32>, tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
    return %t, %m : tensor<4096x4096xf32>, tensor<4096x4096xf32>
  }
  func.func private @start_two(tensor<4096x4096xf32>, tensor<4096x4096xf32>) -> (tensor<4096x4096xf32>, tensor<4096x4096xf32>) attributes {fuse.effect, fuse.ranks = 2 : i64, fuse.extern = "_c10d_functional.all_reduce_coalesced.default",
      fuse.args = [[#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], "sum", "0"], fuse.kwargs = {}}
  func.func private @wait_two(tensor<4096x4096xf32>, tensor<4096x4096xf32>, tensor<4096x4096xf32>) -> tensor<4096x4096xf32> attributes {fuse.mutated = array<i64: 0>, fuse.aliases = {"0" = 0 : i64}, fuse.held = array<i64: 1, 2>, fuse.extern = "_c10d_functional.wait_tensor.default",
      fuse.args = [#fuse.arg<0 : i64>], fuse.kwargs = {}}
  func.func private @mm(tensor<4096x4096xf32>, tensor<4096x4096xf32>) -> tensor<4096x4096xf32> attributes {fuse.extern = "aten.mm.default",
      fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
}

// -----

// Calls between a start and its wait run behind the wait, beside the next collective.
// CHECK-LABEL: func.func @main
// CHECK-NEXT: %[[S:.*]] = call @start(%arg0)
// CHECK-NEXT: %[[Q:.*]] = call @mm(%arg1, %arg1)
// CHECK-NEXT: %[[Z:.*]] = call @mm(%arg1, %[[Q]])
// CHECK-NEXT: %[[W:.*]] = call @wait(%[[S]], %arg0)
// CHECK-NEXT: %[[N:.*]] = call @mm(%[[W]], %arg1)
// CHECK-NEXT: %[[A:.*]] = call @start(%[[N]])
// CHECK-NEXT: %[[M:.*]] = call @mm(%arg1, %[[Z]])
// CHECK-NEXT: %[[K:.*]] = call @mm(%arg1, %[[M]])
// CHECK-NEXT: %[[B:.*]] = call @wait(%[[A]], %[[N]])
// CHECK-NEXT: call @mm(%[[B]], %arg1)
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<4096x4096xf32>, %y: tensor<4096x4096xf32>) -> (tensor<4096x4096xf32>, tensor<4096x4096xf32>) {
    %s = call @start(%x) : (tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
    %q = call @mm(%y, %y) : (tensor<4096x4096xf32>, tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
    %z = call @mm(%y, %q) : (tensor<4096x4096xf32>, tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
    %m = call @mm(%y, %z) : (tensor<4096x4096xf32>, tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
    %k = call @mm(%y, %m) : (tensor<4096x4096xf32>, tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
    %w = call @wait(%s, %x) : (tensor<4096x4096xf32>, tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
    %n = call @mm(%w, %y) : (tensor<4096x4096xf32>, tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
    %a = call @start(%n) : (tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
    %b = call @wait(%a, %n) : (tensor<4096x4096xf32>, tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
    %r = call @mm(%b, %y) : (tensor<4096x4096xf32>, tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
    return %r, %k : tensor<4096x4096xf32>, tensor<4096x4096xf32>
  }
  func.func private @start(tensor<4096x4096xf32>) -> tensor<4096x4096xf32> attributes {fuse.effect, fuse.ranks = 2 : i64, fuse.extern = "_c10d_functional.all_reduce.default",
      fuse.args = [#fuse.arg<0 : i64>, "sum", "0"], fuse.kwargs = {}}
  func.func private @mm(tensor<4096x4096xf32>, tensor<4096x4096xf32>) -> tensor<4096x4096xf32> attributes {fuse.extern = "aten.mm.default",
      fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
  func.func private @wait(tensor<4096x4096xf32>, tensor<4096x4096xf32>) -> tensor<4096x4096xf32> attributes {fuse.mutated = array<i64: 0>, fuse.aliases = {"0" = 0 : i64}, fuse.held = array<i64: 1>, fuse.extern = "_c10d_functional.wait_tensor.default",
      fuse.args = [#fuse.arg<0 : i64>], fuse.kwargs = {}}
}

// -----

// Must not fire: a token keeps the wait behind the product, which runs beside the collective already.
// CHECK-LABEL: func.func @main
// CHECK-NEXT: %[[S:.*]] = call @start(%arg0)
// CHECK-NEXT: %[[Q:.*]] = call @mm(%arg1, %arg1)
// CHECK-NEXT: %[[T:.*]] = "fuse.after"(%[[Q]])
// CHECK-NEXT: %[[W:.*]] = call @wait_late(%[[S]], %arg0, %[[T]])
// CHECK-NEXT: call @mm(%[[W]], %arg1)
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<4096x4096xf32>, %y: tensor<4096x4096xf32>) -> (tensor<4096x4096xf32>, tensor<4096x4096xf32>) {
    %s = call @start(%x) : (tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
    %q = call @mm(%y, %y) : (tensor<4096x4096xf32>, tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
    %t_ = "fuse.after"(%q) : (tensor<4096x4096xf32>) -> !fuse.token
    %w = call @wait_late(%s, %x, %t_) : (tensor<4096x4096xf32>, tensor<4096x4096xf32>, !fuse.token) -> tensor<4096x4096xf32>
    %r = call @mm(%w, %y) : (tensor<4096x4096xf32>, tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
    return %r, %q : tensor<4096x4096xf32>, tensor<4096x4096xf32>
  }
  func.func private @start(tensor<4096x4096xf32>) -> tensor<4096x4096xf32> attributes {fuse.effect, fuse.ranks = 2 : i64, fuse.extern = "_c10d_functional.all_reduce.default",
      fuse.args = [#fuse.arg<0 : i64>, "sum", "0"], fuse.kwargs = {}}
  func.func private @mm(tensor<4096x4096xf32>, tensor<4096x4096xf32>) -> tensor<4096x4096xf32> attributes {fuse.extern = "aten.mm.default",
      fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
  func.func private @wait_late(tensor<4096x4096xf32>, tensor<4096x4096xf32>, !fuse.token) -> tensor<4096x4096xf32> attributes {fuse.mutated = array<i64: 0>, fuse.aliases = {"0" = 0 : i64}, fuse.held = array<i64: 1>, fuse.extern = "_c10d_functional.wait_tensor.default",
      fuse.args = [#fuse.arg<0 : i64>], fuse.kwargs = {}}
}
