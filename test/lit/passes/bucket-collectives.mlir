// RUN: fuse-opt %s --pass-pipeline="builtin.module(bucket-collectives{hardware=h200 memory=50})" --split-input-file --verify-diagnostics | FileCheck %s
// RUN: fuse-opt %s --pass-pipeline="builtin.module(bucket-collectives{hardware=h200 memory=50},bucket-collectives{hardware=h200 memory=50})" --split-input-file --verify-diagnostics | FileCheck %s

// What the second all-gather reads is computed before the bucket starts; the reader of the first follows it.
// CHECK-LABEL: func.func @main
// CHECK: %[[T:.*]] = call @twice(%arg2,
// CHECK-NEXT: %[[A:.*]]:2 = call @all_gather_into_tensor_bucket(%arg1, %[[T]])
// CHECK-NEXT: %[[B:.*]] = call @wait(%[[A]]#0, %arg1)
// CHECK-NEXT: %[[C:.*]] = call @mm(%arg0, %[[B]])
// CHECK-NEXT: %[[E:.*]] = call @wait(%[[A]]#1, %[[T]])
// CHECK-NEXT: call @mm(%[[C]], %[[E]])
// CHECK: func.func private @all_gather_into_tensor_bucket(tensor<1x8xf32>, tensor<1x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>)
// CHECK-SAME: fuse.args = {{\[\[}}#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], 8, "0"], fuse.effect, fuse.extern = "_c10d_functional.all_gather_into_tensor_coalesced.default"
// CHECK-SAME: fuse.ranks = 8 : i64
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<8x8xf32>, %w: tensor<1x8xf32>, %v: tensor<1x8xf32>) -> tensor<8x8xf32> {
    %a = call @gather(%w) : (tensor<1x8xf32>) -> tensor<8x8xf32>
    %b = call @wait(%a, %w) : (tensor<8x8xf32>, tensor<1x8xf32>) -> tensor<8x8xf32>
    %c = call @mm(%x, %b) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    %o = "fuse.empty"() {syms = []} : () -> tensor<1x8xf32>
    %t = call @twice(%v, %o) : (tensor<1x8xf32>, tensor<1x8xf32>) -> tensor<1x8xf32>
    %d = call @gather(%t) : (tensor<1x8xf32>) -> tensor<8x8xf32>
    %e = call @wait(%d, %t) : (tensor<8x8xf32>, tensor<1x8xf32>) -> tensor<8x8xf32>
    %f = call @mm(%c, %e) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    return %f : tensor<8x8xf32>
  }
  func.func private @mm(tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32> attributes {fuse.extern = "aten.mm.default",
      fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
  func.func private @twice(%x: tensor<1x8xf32>, %o: tensor<1x8xf32>) -> tensor<1x8xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "8"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %z = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %z) {at = ["0", "d0"]} : (tensor<1x8xf32>, i1, f32) -> f32
    %w = arith.addf %v, %v : f32
    %s = "fuse.store"(%o, %w, %true) {at = ["0", "d0"], mode = "set"} : (tensor<1x8xf32>, f32, i1) -> tensor<1x8xf32>
    return %s : tensor<1x8xf32>
  }
  func.func private @gather(tensor<1x8xf32>) -> tensor<8x8xf32> attributes {fuse.effect, fuse.ranks = 8 : i64,
      fuse.extern = "_c10d_functional.all_gather_into_tensor.default", fuse.args = [#fuse.arg<0 : i64>, 8, "0"], fuse.kwargs = {}}
  func.func private @wait(tensor<8x8xf32>, tensor<1x8xf32>) -> tensor<8x8xf32> attributes {fuse.mutated = array<i64: 0>, fuse.aliases = {"0" = 0 : i64},
      fuse.extern = "_c10d_functional.wait_tensor.default", fuse.args = [#fuse.arg<0 : i64>], fuse.kwargs = {}, fuse.held = array<i64: 1>}
}

// -----

// All-reduces of one kind meet across one of another group, which keeps to itself.
// CHECK-LABEL: func.func @main
// CHECK-NEXT: %[[A:.*]]:2 = call @all_reduce_bucket(%arg0, %arg1)
// CHECK-NEXT: %[[C:.*]] = call @other(%arg0)
// CHECK-NEXT: call @wait(%[[A]]#0, %arg0)
// CHECK-NEXT: call @wait(%[[C]], %arg0)
// CHECK-NEXT: call @wait(%[[A]]#1, %arg1)
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<8xf32>, %y: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) {
    %a = call @reduce(%x) : (tensor<8xf32>) -> tensor<8xf32>
    %c = call @other(%x) : (tensor<8xf32>) -> tensor<8xf32>
    %b = call @reduce(%y) : (tensor<8xf32>) -> tensor<8xf32>
    %d = call @wait(%a, %x) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    %f = call @wait(%c, %x) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    %e = call @wait(%b, %y) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    return %d, %e, %f : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
  }
  func.func private @reduce(tensor<8xf32>) -> tensor<8xf32> attributes {fuse.effect, fuse.ranks = 2 : i64,
      fuse.extern = "_c10d_functional.all_reduce.default", fuse.args = [#fuse.arg<0 : i64>, "sum", "0"], fuse.kwargs = {}}
  func.func private @other(tensor<8xf32>) -> tensor<8xf32> attributes {fuse.effect, fuse.ranks = 2 : i64,
      fuse.extern = "_c10d_functional.all_reduce.default", fuse.args = [#fuse.arg<0 : i64>, "sum", "1"], fuse.kwargs = {}}
  func.func private @wait(tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32> attributes {fuse.mutated = array<i64: 0>, fuse.aliases = {"0" = 0 : i64},
      fuse.extern = "_c10d_functional.wait_tensor.default", fuse.args = [#fuse.arg<0 : i64>], fuse.kwargs = {}, fuse.held = array<i64: 1>}
}

// -----

// Must not fire: the second all-reduce reads what the first gives.
// CHECK-LABEL: func.func @main
// CHECK-NEXT: call @reduce
// CHECK-NEXT: call @wait
// CHECK-NEXT: call @reduce
// CHECK-NEXT: call @wait
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
    %a = call @reduce(%x) : (tensor<8xf32>) -> tensor<8xf32>
    %b = call @wait(%a, %x) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    %c = call @reduce(%b) : (tensor<8xf32>) -> tensor<8xf32>
    %d = call @wait(%c, %b) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    return %d : tensor<8xf32>
  }
  func.func private @reduce(tensor<8xf32>) -> tensor<8xf32> attributes {fuse.effect, fuse.ranks = 2 : i64,
      fuse.extern = "_c10d_functional.all_reduce.default", fuse.args = [#fuse.arg<0 : i64>, "sum", "0"], fuse.kwargs = {}}
  func.func private @wait(tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32> attributes {fuse.mutated = array<i64: 0>, fuse.aliases = {"0" = 0 : i64},
      fuse.extern = "_c10d_functional.wait_tensor.default", fuse.args = [#fuse.arg<0 : i64>], fuse.kwargs = {}, fuse.held = array<i64: 1>}
}

// -----

// Must not fire: what the passes of torch have joined, and what takes a token, stays; so does what is large.
// CHECK-LABEL: func.func @main
// CHECK-NEXT: call @joined
// CHECK: "fuse.after"
// CHECK: call @late
// CHECK: call @large
// CHECK: call @large
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<8xf32>, %y: tensor<8xf32>, %l: tensor<33554432xf32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<33554432xf32>, tensor<33554432xf32>) {
    %a:2 = call @joined(%x, %y) : (tensor<8xf32>, tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>)
    %b = call @wait(%a#0, %x) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    %c = call @wait(%a#1, %y) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    %t = "fuse.after"(%b) : (tensor<8xf32>) -> !fuse.token
    %d = call @late(%x, %t) : (tensor<8xf32>, !fuse.token) -> tensor<8xf32>
    %e = call @wait(%d, %x) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    %f = call @large(%l) : (tensor<33554432xf32>) -> tensor<33554432xf32>
    %g = call @wait_large(%f, %l) : (tensor<33554432xf32>, tensor<33554432xf32>) -> tensor<33554432xf32>
    %h = call @large(%l) : (tensor<33554432xf32>) -> tensor<33554432xf32>
    %i = call @wait_large(%h, %l) : (tensor<33554432xf32>, tensor<33554432xf32>) -> tensor<33554432xf32>
    return %b, %c, %e, %g, %i : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<33554432xf32>, tensor<33554432xf32>
  }
  func.func private @joined(tensor<8xf32>, tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) attributes {fuse.effect, fuse.ranks = 2 : i64,
      fuse.extern = "_c10d_functional.all_reduce_coalesced.default", fuse.args = [[#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], "sum", "0"], fuse.kwargs = {}}
  func.func private @late(tensor<8xf32>, !fuse.token) -> tensor<8xf32> attributes {fuse.effect, fuse.ranks = 2 : i64,
      fuse.extern = "_c10d_functional.all_reduce.default", fuse.args = [#fuse.arg<0 : i64>, "sum", "0"], fuse.kwargs = {}}
  func.func private @large(tensor<33554432xf32>) -> tensor<33554432xf32> attributes {fuse.effect, fuse.ranks = 2 : i64,
      fuse.extern = "_c10d_functional.all_reduce.default", fuse.args = [#fuse.arg<0 : i64>, "sum", "0"], fuse.kwargs = {}}
  func.func private @wait(tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32> attributes {fuse.mutated = array<i64: 0>, fuse.aliases = {"0" = 0 : i64},
      fuse.extern = "_c10d_functional.wait_tensor.default", fuse.args = [#fuse.arg<0 : i64>], fuse.kwargs = {}, fuse.held = array<i64: 1>}
  func.func private @wait_large(tensor<33554432xf32>, tensor<33554432xf32>) -> tensor<33554432xf32> attributes {fuse.mutated = array<i64: 0>, fuse.aliases = {"0" = 0 : i64},
      fuse.extern = "_c10d_functional.wait_tensor.default", fuse.args = [#fuse.arg<0 : i64>], fuse.kwargs = {}, fuse.held = array<i64: 1>}
}

// -----

// Must not fire: torch has no op that starts several broadcasts as one.
// CHECK-LABEL: func.func @main
// CHECK-NEXT: call @send
// CHECK-NEXT: call @send
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<8xf32>, %y: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
    %a = call @send(%x) : (tensor<8xf32>) -> tensor<8xf32>
    %b = call @send(%y) : (tensor<8xf32>) -> tensor<8xf32>
    %d = call @wait(%a, %x) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    %e = call @wait(%b, %y) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    return %d, %e : tensor<8xf32>, tensor<8xf32>
  }
  func.func private @send(tensor<8xf32>) -> tensor<8xf32> attributes {fuse.effect, fuse.ranks = 2 : i64,
      fuse.extern = "_c10d_functional.broadcast.default", fuse.args = [#fuse.arg<0 : i64>, 0, "0"], fuse.kwargs = {}}
  func.func private @wait(tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32> attributes {fuse.mutated = array<i64: 0>, fuse.aliases = {"0" = 0 : i64},
      fuse.extern = "_c10d_functional.wait_tensor.default", fuse.args = [#fuse.arg<0 : i64>], fuse.kwargs = {}, fuse.held = array<i64: 1>}
}

// -----

// Must not fire: sizes are symbolic.
// CHECK-LABEL: func.func @main
// CHECK-NEXT: call @reduce
// CHECK-NEXT: call @reduce
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<8xf32>, %y: tensor<8xf32>, %s0: index {fuse.sym = "s0"}) -> (tensor<8xf32>, tensor<8xf32>) {
    %a = call @reduce(%x) : (tensor<8xf32>) -> tensor<8xf32>
    %b = call @reduce(%y) : (tensor<8xf32>) -> tensor<8xf32>
    %d = call @wait(%a, %x) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    %e = call @wait(%b, %y) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    return %d, %e : tensor<8xf32>, tensor<8xf32>
  }
  func.func private @reduce(tensor<8xf32>) -> tensor<8xf32> attributes {fuse.effect, fuse.ranks = 2 : i64,
      fuse.extern = "_c10d_functional.all_reduce.default", fuse.args = [#fuse.arg<0 : i64>, "sum", "0"], fuse.kwargs = {}}
  func.func private @wait(tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32> attributes {fuse.mutated = array<i64: 0>, fuse.aliases = {"0" = 0 : i64},
      fuse.extern = "_c10d_functional.wait_tensor.default", fuse.args = [#fuse.arg<0 : i64>], fuse.kwargs = {}, fuse.held = array<i64: 1>}
}

// -----

// Three calls with a number of their own: two become one bucket, whatever the model says, and one stays.
// CHECK-LABEL: func.func @main
// CHECK-NEXT: call @reduce_scatter_tensor_bucket(%arg0, %arg0)
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<67108864xf32>) -> (tensor<33554432xf32>, tensor<33554432xf32>) {
    %a = call @scatter(%x) {fuse.bucket = 3 : i64} : (tensor<67108864xf32>) -> tensor<33554432xf32>
    %b = call @scatter(%x) {fuse.bucket = 3 : i64} : (tensor<67108864xf32>) -> tensor<33554432xf32>
    %d = call @wait(%a, %x) : (tensor<33554432xf32>, tensor<67108864xf32>) -> tensor<33554432xf32>
    %e = call @wait(%b, %x) : (tensor<33554432xf32>, tensor<67108864xf32>) -> tensor<33554432xf32>
    return %d, %e : tensor<33554432xf32>, tensor<33554432xf32>
  }
  func.func private @scatter(tensor<67108864xf32>) -> tensor<33554432xf32> attributes {fuse.effect, fuse.ranks = 2 : i64,
      fuse.extern = "_c10d_functional.reduce_scatter_tensor.default", fuse.args = [#fuse.arg<0 : i64>, "sum", 2, "0"], fuse.kwargs = {}}
  func.func private @wait(tensor<33554432xf32>, tensor<67108864xf32>) -> tensor<33554432xf32> attributes {fuse.mutated = array<i64: 0>, fuse.aliases = {"0" = 0 : i64},
      fuse.extern = "_c10d_functional.wait_tensor.default", fuse.args = [#fuse.arg<0 : i64>], fuse.kwargs = {}, fuse.held = array<i64: 1>}
}

// -----

module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<8xf32>, %y: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
    %a = call @reduce(%x) {fuse.bucket = 0 : i64} : (tensor<8xf32>) -> tensor<8xf32>
    // expected-error @+1 {{bucket-collectives: bucket 0 is over two groups: "0" and "1"}}
    %b = call @other(%y) {fuse.bucket = 0 : i64} : (tensor<8xf32>) -> tensor<8xf32>
    %d = call @wait(%a, %x) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    %e = call @wait(%b, %y) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    return %d, %e : tensor<8xf32>, tensor<8xf32>
  }
  func.func private @reduce(tensor<8xf32>) -> tensor<8xf32> attributes {fuse.effect, fuse.ranks = 2 : i64,
      fuse.extern = "_c10d_functional.all_reduce.default", fuse.args = [#fuse.arg<0 : i64>, "sum", "0"], fuse.kwargs = {}}
  func.func private @other(tensor<8xf32>) -> tensor<8xf32> attributes {fuse.effect, fuse.ranks = 2 : i64,
      fuse.extern = "_c10d_functional.all_reduce.default", fuse.args = [#fuse.arg<0 : i64>, "sum", "1"], fuse.kwargs = {}}
  func.func private @wait(tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32> attributes {fuse.mutated = array<i64: 0>, fuse.aliases = {"0" = 0 : i64},
      fuse.extern = "_c10d_functional.wait_tensor.default", fuse.args = [#fuse.arg<0 : i64>], fuse.kwargs = {}, fuse.held = array<i64: 1>}
}

// -----

module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
    // expected-error @+1 {{bucket-collectives: a collective of a fuse.bucket depends on another of it}}
    %a = call @reduce(%x) {fuse.bucket = 0 : i64} : (tensor<8xf32>) -> tensor<8xf32>
    %b = call @wait(%a, %x) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    %c = call @reduce(%b) {fuse.bucket = 0 : i64} : (tensor<8xf32>) -> tensor<8xf32>
    %d = call @wait(%c, %b) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    return %d : tensor<8xf32>
  }
  func.func private @reduce(tensor<8xf32>) -> tensor<8xf32> attributes {fuse.effect, fuse.ranks = 2 : i64,
      fuse.extern = "_c10d_functional.all_reduce.default", fuse.args = [#fuse.arg<0 : i64>, "sum", "0"], fuse.kwargs = {}}
  func.func private @wait(tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32> attributes {fuse.mutated = array<i64: 0>, fuse.aliases = {"0" = 0 : i64},
      fuse.extern = "_c10d_functional.wait_tensor.default", fuse.args = [#fuse.arg<0 : i64>], fuse.kwargs = {}, fuse.held = array<i64: 1>}
}

// -----

module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
    // expected-error @+1 {{bucket-collectives: bucket 0 holds @mm, which no bucket may hold}}
    %a = call @mm(%x, %x) {fuse.bucket = 0 : i64} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    return %a : tensor<8x8xf32>
  }
  func.func private @mm(tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32> attributes {fuse.extern = "aten.mm.default",
      fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
  func.func private @reduce(tensor<8xf32>) -> tensor<8xf32> attributes {fuse.effect,
      fuse.extern = "_c10d_functional.all_reduce.default", fuse.args = [#fuse.arg<0 : i64>, "sum", "0"], fuse.kwargs = {}}
}

// -----

module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<8xf32>, %y: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
    %a = call @reduce(%x) {fuse.bucket = 0 : i64} : (tensor<8xf32>) -> tensor<8xf32>
    // expected-error @+1 {{bucket-collectives: bucket 0 holds two kinds of collectives: all_reduce of f32 and all_reduce of f32, or of other arguments}}
    %b = call @other(%y) {fuse.bucket = 0 : i64} : (tensor<8xf32>) -> tensor<8xf32>
    %d = call @wait(%a, %x) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    %e = call @wait(%b, %y) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    return %d, %e : tensor<8xf32>, tensor<8xf32>
  }
  func.func private @reduce(tensor<8xf32>) -> tensor<8xf32> attributes {fuse.effect, fuse.ranks = 2 : i64,
      fuse.extern = "_c10d_functional.all_reduce.default", fuse.args = [#fuse.arg<0 : i64>, "sum", "0"], fuse.kwargs = {}}
  func.func private @other(tensor<8xf32>) -> tensor<8xf32> attributes {fuse.effect, fuse.ranks = 2 : i64,
      fuse.extern = "_c10d_functional.all_reduce.default", fuse.args = [#fuse.arg<0 : i64>, "max", "0"], fuse.kwargs = {}}
  func.func private @wait(tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32> attributes {fuse.mutated = array<i64: 0>, fuse.aliases = {"0" = 0 : i64},
      fuse.extern = "_c10d_functional.wait_tensor.default", fuse.args = [#fuse.arg<0 : i64>], fuse.kwargs = {}, fuse.held = array<i64: 1>}
}
