// RUN: fuse-opt %s --pass-pipeline="builtin.module(overlap-collectives{hardware=h200 memory=50})" --split-input-file --verify-diagnostics | FileCheck %s
// RUN: fuse-opt %s --pass-pipeline="builtin.module(overlap-collectives{hardware=h200 memory=50},overlap-collectives{hardware=h200 memory=50})" --split-input-file --verify-diagnostics | FileCheck %s

// The second all-gather runs beside the first product, and what it reads is computed before that.
// CHECK-LABEL: func.func @main
// CHECK-NEXT: %[[A:.*]] = call @gather(%arg1)
// CHECK: %[[T:.*]] = call @twice(%arg2,
// CHECK-NEXT: %[[D:.*]] = call @gather(%[[T]])
// CHECK-NEXT: %[[B:.*]] = call @wait(%[[A]], %arg1)
// CHECK-NEXT: %[[C:.*]] = call @mm(%arg0, %[[B]])
// CHECK-NEXT: %[[E:.*]] = call @wait(%[[D]], %[[T]])
// CHECK-NEXT: call @mm(%[[C]], %[[E]])
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<1024x1024xf32>, %w: tensor<128x1024xf32>, %v: tensor<128x1024xf32>) -> tensor<1024x1024xf32> {
    %a = call @gather(%w) : (tensor<128x1024xf32>) -> tensor<1024x1024xf32>
    %b = call @wait(%a, %w) : (tensor<1024x1024xf32>, tensor<128x1024xf32>) -> tensor<1024x1024xf32>
    %c = call @mm(%x, %b) : (tensor<1024x1024xf32>, tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
    %o = "fuse.empty"() {syms = []} : () -> tensor<128x1024xf32>
    %t = call @twice(%v, %o) : (tensor<128x1024xf32>, tensor<128x1024xf32>) -> tensor<128x1024xf32>
    %d = call @gather(%t) : (tensor<128x1024xf32>) -> tensor<1024x1024xf32>
    %e = call @wait(%d, %t) : (tensor<1024x1024xf32>, tensor<128x1024xf32>) -> tensor<1024x1024xf32>
    %f = call @mm(%c, %e) : (tensor<1024x1024xf32>, tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
    return %f : tensor<1024x1024xf32>
  }
  func.func private @mm(tensor<1024x1024xf32>, tensor<1024x1024xf32>) -> tensor<1024x1024xf32> attributes {fuse.extern = "aten.mm.default",
      fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
  func.func private @twice(%x: tensor<128x1024xf32>, %o: tensor<128x1024xf32>) -> tensor<128x1024xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "128", d1 = "1024"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %z = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %z) {at = ["d0", "d1"]} : (tensor<128x1024xf32>, i1, f32) -> f32
    %w = arith.addf %v, %v : f32
    %s = "fuse.store"(%o, %w, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<128x1024xf32>, f32, i1) -> tensor<128x1024xf32>
    return %s : tensor<128x1024xf32>
  }
  func.func private @gather(tensor<128x1024xf32>) -> tensor<1024x1024xf32> attributes {fuse.effect, fuse.ranks = 8 : i64,
      fuse.extern = "_c10d_functional.all_gather_into_tensor.default", fuse.args = [#fuse.arg<0 : i64>, 8, "0"], fuse.kwargs = {}}
  func.func private @wait(tensor<1024x1024xf32>, tensor<128x1024xf32>) -> tensor<1024x1024xf32> attributes {fuse.mutated = array<i64: 0>, fuse.aliases = {"0" = 0 : i64},
      fuse.extern = "_c10d_functional.wait_tensor.default", fuse.args = [#fuse.arg<0 : i64>], fuse.kwargs = {}, fuse.held = array<i64: 1>}
}

// -----

// A product that needs no collective leaves its place and runs beside one.
// CHECK-LABEL: func.func @main
// CHECK-NEXT: %[[A:.*]] = call @gather(%arg1)
// CHECK-NEXT: %[[F:.*]] = call @mm(%arg0, %arg0)
// CHECK-NEXT: %[[B:.*]] = call @wait(%[[A]], %arg1)
// CHECK-NEXT: call @mm(%arg0, %[[B]])
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<1024x1024xf32>, %w: tensor<128x1024xf32>) -> (tensor<1024x1024xf32>, tensor<1024x1024xf32>) {
    %a = call @gather(%w) : (tensor<128x1024xf32>) -> tensor<1024x1024xf32>
    %b = call @wait(%a, %w) : (tensor<1024x1024xf32>, tensor<128x1024xf32>) -> tensor<1024x1024xf32>
    %c = call @mm(%x, %b) : (tensor<1024x1024xf32>, tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
    %f = call @mm(%x, %x) : (tensor<1024x1024xf32>, tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
    return %c, %f : tensor<1024x1024xf32>, tensor<1024x1024xf32>
  }
  func.func private @mm(tensor<1024x1024xf32>, tensor<1024x1024xf32>) -> tensor<1024x1024xf32> attributes {fuse.extern = "aten.mm.default",
      fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
  func.func private @gather(tensor<128x1024xf32>) -> tensor<1024x1024xf32> attributes {fuse.effect, fuse.ranks = 8 : i64,
      fuse.extern = "_c10d_functional.all_gather_into_tensor.default", fuse.args = [#fuse.arg<0 : i64>, 8, "0"], fuse.kwargs = {}}
  func.func private @wait(tensor<1024x1024xf32>, tensor<128x1024xf32>) -> tensor<1024x1024xf32> attributes {fuse.mutated = array<i64: 0>, fuse.aliases = {"0" = 0 : i64},
      fuse.extern = "_c10d_functional.wait_tensor.default", fuse.args = [#fuse.arg<0 : i64>], fuse.kwargs = {}, fuse.held = array<i64: 1>}
}

// -----

// Must not fire: the product reads what is waited for, and nothing else is there to run.
// CHECK-LABEL: func.func @main
// CHECK-NEXT: call @gather
// CHECK-NEXT: call @wait
// CHECK-NEXT: call @mm
// CHECK-NEXT: call @mm
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<1024x1024xf32>, %w: tensor<128x1024xf32>) -> tensor<1024x1024xf32> {
    %a = call @gather(%w) : (tensor<128x1024xf32>) -> tensor<1024x1024xf32>
    %b = call @wait(%a, %w) : (tensor<1024x1024xf32>, tensor<128x1024xf32>) -> tensor<1024x1024xf32>
    %c = call @mm(%x, %b) : (tensor<1024x1024xf32>, tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
    %f = call @mm(%c, %b) : (tensor<1024x1024xf32>, tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
    return %f : tensor<1024x1024xf32>
  }
  func.func private @mm(tensor<1024x1024xf32>, tensor<1024x1024xf32>) -> tensor<1024x1024xf32> attributes {fuse.extern = "aten.mm.default",
      fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
  func.func private @gather(tensor<128x1024xf32>) -> tensor<1024x1024xf32> attributes {fuse.effect, fuse.ranks = 8 : i64,
      fuse.extern = "_c10d_functional.all_gather_into_tensor.default", fuse.args = [#fuse.arg<0 : i64>, 8, "0"], fuse.kwargs = {}}
  func.func private @wait(tensor<1024x1024xf32>, tensor<128x1024xf32>) -> tensor<1024x1024xf32> attributes {fuse.mutated = array<i64: 0>, fuse.aliases = {"0" = 0 : i64},
      fuse.extern = "_c10d_functional.wait_tensor.default", fuse.args = [#fuse.arg<0 : i64>], fuse.kwargs = {}, fuse.held = array<i64: 1>}
}

// -----

// Must not fire: a token keeps the product behind the wait.
// CHECK-LABEL: func.func @main
// CHECK-NEXT: call @gather
// CHECK-NEXT: call @wait
// CHECK-NEXT: "fuse.after"
// CHECK-NEXT: call @mm_late
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<1024x1024xf32>, %w: tensor<128x1024xf32>) -> (tensor<1024x1024xf32>, tensor<1024x1024xf32>) {
    %a = call @gather(%w) : (tensor<128x1024xf32>) -> tensor<1024x1024xf32>
    %b = call @wait(%a, %w) : (tensor<1024x1024xf32>, tensor<128x1024xf32>) -> tensor<1024x1024xf32>
    %t = "fuse.after"(%b) : (tensor<1024x1024xf32>) -> !fuse.token
    %f = call @mm_late(%x, %x, %t) : (tensor<1024x1024xf32>, tensor<1024x1024xf32>, !fuse.token) -> tensor<1024x1024xf32>
    %c = call @mm(%f, %b) : (tensor<1024x1024xf32>, tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
    return %c, %f : tensor<1024x1024xf32>, tensor<1024x1024xf32>
  }
  func.func private @mm(tensor<1024x1024xf32>, tensor<1024x1024xf32>) -> tensor<1024x1024xf32> attributes {fuse.extern = "aten.mm.default",
      fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
  func.func private @mm_late(tensor<1024x1024xf32>, tensor<1024x1024xf32>, !fuse.token) -> tensor<1024x1024xf32> attributes {fuse.extern = "aten.mm.default",
      fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
  func.func private @gather(tensor<128x1024xf32>) -> tensor<1024x1024xf32> attributes {fuse.effect, fuse.ranks = 8 : i64,
      fuse.extern = "_c10d_functional.all_gather_into_tensor.default", fuse.args = [#fuse.arg<0 : i64>, 8, "0"], fuse.kwargs = {}}
  func.func private @wait(tensor<1024x1024xf32>, tensor<128x1024xf32>) -> tensor<1024x1024xf32> attributes {fuse.mutated = array<i64: 0>, fuse.aliases = {"0" = 0 : i64},
      fuse.extern = "_c10d_functional.wait_tensor.default", fuse.args = [#fuse.arg<0 : i64>], fuse.kwargs = {}, fuse.held = array<i64: 1>}
}

// -----

// Must not fire: the collective is declared, and nothing calls it.
// CHECK-LABEL: func.func @main
// CHECK-NEXT: call @mm
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<1024x1024xf32>) -> tensor<1024x1024xf32> {
    %c = call @mm(%x, %x) : (tensor<1024x1024xf32>, tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
    return %c : tensor<1024x1024xf32>
  }
  func.func private @mm(tensor<1024x1024xf32>, tensor<1024x1024xf32>) -> tensor<1024x1024xf32> attributes {fuse.extern = "aten.mm.default",
      fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
  func.func private @gather(tensor<128x1024xf32>) -> tensor<1024x1024xf32> attributes {fuse.effect, fuse.ranks = 8 : i64,
      fuse.extern = "_c10d_functional.all_gather_into_tensor.default", fuse.args = [#fuse.arg<0 : i64>, 8, "0"], fuse.kwargs = {}}
}

// -----

// Must not fire: sizes are symbolic, and processes may have other hints.
// CHECK-LABEL: func.func @main
// CHECK-NEXT: call @gather
// CHECK-NEXT: call @wait
// CHECK-NEXT: call @mm
// CHECK-NEXT: call @mm
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<1024x1024xf32>, %w: tensor<128x1024xf32>, %s0: index {fuse.sym = "s0"}) -> (tensor<1024x1024xf32>, tensor<1024x1024xf32>) {
    %a = call @gather(%w) : (tensor<128x1024xf32>) -> tensor<1024x1024xf32>
    %b = call @wait(%a, %w) : (tensor<1024x1024xf32>, tensor<128x1024xf32>) -> tensor<1024x1024xf32>
    %c = call @mm(%x, %b) : (tensor<1024x1024xf32>, tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
    %f = call @mm(%x, %x) : (tensor<1024x1024xf32>, tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
    return %c, %f : tensor<1024x1024xf32>, tensor<1024x1024xf32>
  }
  func.func private @mm(tensor<1024x1024xf32>, tensor<1024x1024xf32>) -> tensor<1024x1024xf32> attributes {fuse.extern = "aten.mm.default",
      fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
  func.func private @gather(tensor<128x1024xf32>) -> tensor<1024x1024xf32> attributes {fuse.effect, fuse.ranks = 8 : i64,
      fuse.extern = "_c10d_functional.all_gather_into_tensor.default", fuse.args = [#fuse.arg<0 : i64>, 8, "0"], fuse.kwargs = {}}
  func.func private @wait(tensor<1024x1024xf32>, tensor<128x1024xf32>) -> tensor<1024x1024xf32> attributes {fuse.mutated = array<i64: 0>, fuse.aliases = {"0" = 0 : i64},
      fuse.extern = "_c10d_functional.wait_tensor.default", fuse.args = [#fuse.arg<0 : i64>], fuse.kwargs = {}, fuse.held = array<i64: 1>}
}

// -----

module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<1024x1024xf32>, %w: tensor<128x1024xf32>) -> (tensor<1024x1024xf32>, tensor<1024x1024xf32>) {
    // expected-error @+1 {{overlap-collectives: memory is planned already: found fuse.alloc}}
    %m = "fuse.alloc"() {syms = []} : () -> tensor<1024x1024xf32>
    %a = call @gather(%w) : (tensor<128x1024xf32>) -> tensor<1024x1024xf32>
    %b = call @wait(%a, %w) : (tensor<1024x1024xf32>, tensor<128x1024xf32>) -> tensor<1024x1024xf32>
    return %m, %b : tensor<1024x1024xf32>, tensor<1024x1024xf32>
  }
  func.func private @gather(tensor<128x1024xf32>) -> tensor<1024x1024xf32> attributes {fuse.effect, fuse.ranks = 8 : i64,
      fuse.extern = "_c10d_functional.all_gather_into_tensor.default", fuse.args = [#fuse.arg<0 : i64>, 8, "0"], fuse.kwargs = {}}
  func.func private @wait(tensor<1024x1024xf32>, tensor<128x1024xf32>) -> tensor<1024x1024xf32> attributes {fuse.mutated = array<i64: 0>, fuse.aliases = {"0" = 0 : i64},
      fuse.extern = "_c10d_functional.wait_tensor.default", fuse.args = [#fuse.arg<0 : i64>], fuse.kwargs = {}, fuse.held = array<i64: 1>}
}
