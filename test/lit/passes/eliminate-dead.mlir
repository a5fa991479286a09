// RUN: fuse-opt %s --pass-pipeline="builtin.module(eliminate-dead)" --split-input-file --verify-diagnostics | FileCheck %s

// Dead calls go with their empties, views and kernels; the unused result of a kernel goes with its store.
// CHECK-LABEL: func.func @main
// CHECK-NEXT: %[[O:.*]] = "fuse.empty"
// CHECK-NEXT: %[[Y:.*]] = call @two(%arg0, %[[O]]) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
// CHECK-NEXT: return %[[Y]]
// CHECK-NOT: @dead
// CHECK-LABEL: func.func private @two
// CHECK-SAME: fuse.ties = array<i64: 1>
// CHECK: "fuse.store"
// CHECK-NOT: "fuse.store"
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<64xf32>) -> tensor<64xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %p = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %y:2 = call @two(%x, %p, %o) : (tensor<64xf32>, tensor<64xf32>, tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>)
    %v = "fuse.view"(%y#1) {map = ["v0 + 1"], syms = []} : (tensor<64xf32>) -> tensor<63xf32, #fuse.layout<"63", "1", "1", "">>
    %q = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %z = call @dead(%y#0, %q) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    return %y#1 : tensor<64xf32>
  }
  func.func private @two(%x: tensor<64xf32>, %p: tensor<64xf32>, %o: tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>)
      attributes {fuse.kernel, fuse.dims = {d0 = "64"}, fuse.ties = array<i64: 1, 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<64xf32>, i1, f32) -> f32
    %e = math.exp %v : f32
    %r = "fuse.store"(%p, %e, %true) {at = ["d0"], mode = "set"} : (tensor<64xf32>, f32, i1) -> tensor<64xf32>
    %n = arith.negf %v : f32
    %s = "fuse.store"(%o, %n, %true) {at = ["d0"], mode = "set"} : (tensor<64xf32>, f32, i1) -> tensor<64xf32>
    return %r, %s : tensor<64xf32>, tensor<64xf32>
  }
  func.func private @dead(%x: tensor<64xf32>, %o: tensor<64xf32>) -> tensor<64xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "64"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<64xf32>, i1, f32) -> f32
    %r = "fuse.store"(%o, %v, %true) {at = ["d0"], mode = "set"} : (tensor<64xf32>, f32, i1) -> tensor<64xf32>
    return %r : tensor<64xf32>
  }
}

// -----

// A result that is stored in several steps goes with all of them, and with its empty.
// CHECK-LABEL: func.func @main
// CHECK-NEXT: %[[O:.*]] = "fuse.empty"
// CHECK-NEXT: call @parts(%arg0, %[[O]]) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
// CHECK-NEXT: return
// CHECK-LABEL: func.func private @parts
// CHECK: "fuse.store"
// CHECK-NOT: "fuse.store"
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<64xf32>) -> tensor<64xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %p = "fuse.empty"() {syms = []} : () -> tensor<128xf32>
    %y:2 = call @parts(%x, %o, %p) : (tensor<64xf32>, tensor<64xf32>, tensor<128xf32>) -> (tensor<64xf32>, tensor<128xf32>)
    return %y#0 : tensor<64xf32>
  }
  func.func private @parts(%x: tensor<64xf32>, %o: tensor<64xf32>, %p: tensor<128xf32>) -> (tensor<64xf32>, tensor<128xf32>)
      attributes {fuse.kernel, fuse.dims = {d0 = "64"}, fuse.ties = array<i64: 1, 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<64xf32>, i1, f32) -> f32
    %r = "fuse.store"(%o, %v, %true) {at = ["d0"], mode = "set"} : (tensor<64xf32>, f32, i1) -> tensor<64xf32>
    %e = math.exp %v : f32
    %s = "fuse.store"(%p, %v, %true) {at = ["d0"], mode = "set"} : (tensor<128xf32>, f32, i1) -> tensor<128xf32>
    %t = "fuse.store"(%s, %e, %true) {at = ["d0 + 64"], mode = "set"} : (tensor<128xf32>, f32, i1) -> tensor<128xf32>
    return %r, %t : tensor<64xf32>, tensor<128xf32>
  }
}

// -----

// The sum goes with its store, and the kernel is named after the product that is left.
// CHECK-LABEL: func.func @main
// CHECK: call @mul(
// CHECK: func.func private @mul(
// CHECK-NOT: fuse.reduce
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<64xf32>) -> tensor<64xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %p = "fuse.empty"() {syms = []} : () -> tensor<f32>
    %y:2 = call @fused_mul_sum_0(%x, %o, %p) : (tensor<64xf32>, tensor<64xf32>, tensor<f32>) -> (tensor<64xf32>, tensor<f32>) loc(fused["mul", "sum_1"])
    return %y#0 : tensor<64xf32>
  }
  func.func private @fused_mul_sum_0(%x: tensor<64xf32>, %o: tensor<64xf32>, %p: tensor<f32>) -> (tensor<64xf32>, tensor<f32>)
      attributes {fuse.kernel, fuse.dims = {d0 = "64"}, fuse.ties = array<i64: 1, 2>} {
    %true = arith.constant true loc("sum_1")
    %zero = arith.constant 0.0 : f32 loc("sum_1")
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<64xf32>, i1, f32) -> f32 loc("sum_1")
    %m = arith.mulf %v, %v : f32 loc("mul")
    %r = "fuse.store"(%o, %m, %true) {at = ["d0"], mode = "set"} : (tensor<64xf32>, f32, i1) -> tensor<64xf32> loc("mul")
    %t = "fuse.reduce"(%m) {kind = "sum", over = ["d0"]} : (f32) -> f32 loc("sum_1")
    %s = "fuse.store"(%p, %t, %true) {at = [], mode = "set"} : (tensor<f32>, f32, i1) -> tensor<f32> loc("sum_1")
    return %r, %s : tensor<64xf32>, tensor<f32> loc(fused["mul", "sum_1"])
  } loc(fused["mul", "sum_1"])
}

// -----

// The product has no store any more, but the sum needs it: the kernel keeps its name.
// CHECK-LABEL: func.func @main
// CHECK: call @fused_mul_sum_0(
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<64xf32>) -> tensor<f32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %p = "fuse.empty"() {syms = []} : () -> tensor<f32>
    %y:2 = call @fused_mul_sum_0(%x, %o, %p) : (tensor<64xf32>, tensor<64xf32>, tensor<f32>) -> (tensor<64xf32>, tensor<f32>) loc(fused["mul", "sum_1"])
    return %y#1 : tensor<f32>
  }
  func.func private @fused_mul_sum_0(%x: tensor<64xf32>, %o: tensor<64xf32>, %p: tensor<f32>) -> (tensor<64xf32>, tensor<f32>)
      attributes {fuse.kernel, fuse.dims = {d0 = "64"}, fuse.ties = array<i64: 1, 2>} {
    %true = arith.constant true loc("mul")
    %zero = arith.constant 0.0 : f32 loc("mul")
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<64xf32>, i1, f32) -> f32 loc("mul")
    %m = arith.mulf %v, %v : f32 loc("mul")
    %r = "fuse.store"(%o, %m, %true) {at = ["d0"], mode = "set"} : (tensor<64xf32>, f32, i1) -> tensor<64xf32> loc("mul")
    %t = "fuse.reduce"(%m) {kind = "sum", over = ["d0"]} : (f32) -> f32 loc("sum_1")
    %s = "fuse.store"(%p, %t, %true) {at = [], mode = "set"} : (tensor<f32>, f32, i1) -> tensor<f32> loc("sum_1")
    return %r, %s : tensor<64xf32>, tensor<f32> loc(fused["mul", "sum_1"])
  } loc(fused["mul", "sum_1"])
}

// -----

// Must not fire: an assert, a store into an argument, a draw, an effect and a mutation, none of whose results is used.
// CHECK-LABEL: func.func @main
// CHECK: call @checked
// CHECK: call @checked(%arg0, %arg0)
// CHECK: "fuse.rng"
// CHECK: call @effect
// CHECK: call @mutates
// CHECK-NOT: call @pure
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<64xf32>, %w: tensor<64xf32>) {
    %o = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %y = call @checked(%x, %o) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    %u = call @checked(%x, %x) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    %s, %f = "fuse.rng"() {device = "cpu", count = 64 : i64} : () -> (i64, i64)
    call @effect() : () -> ()
    call @mutates(%w) : (tensor<64xf32>) -> ()
    %z = call @pure(%w) : (tensor<64xf32>) -> tensor<64xf32>
    return
  }
  func.func private @effect() attributes {fuse.extern = "test.effect.default", fuse.effect, fuse.args = [], fuse.kwargs = {}}
  func.func private @mutates(tensor<64xf32>) attributes {fuse.extern = "test.mutates.default", fuse.mutated = array<i64: 0>, fuse.args = [#fuse.arg<0 : i64>], fuse.kwargs = {}}
  func.func private @pure(tensor<64xf32>) -> tensor<64xf32> attributes {fuse.extern = "aten.neg.default", fuse.args = [#fuse.arg<0 : i64>], fuse.kwargs = {}}
  func.func private @checked(%x: tensor<64xf32>, %o: tensor<64xf32>) -> tensor<64xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "64"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<64xf32>, i1, f32) -> f32
    %c = arith.cmpf ogt, %v, %zero : f32
    "fuse.device_assert"(%c, %true) {message = "negative"} : (i1, i1) -> ()
    %r = "fuse.store"(%o, %v, %true) {at = ["d0"], mode = "set"} : (tensor<64xf32>, f32, i1) -> tensor<64xf32>
    return %r : tensor<64xf32>
  }
}

// -----

// A time does not keep its value alive: the dead op goes, and what waited for it waits for what it waited for.
// CHECK-LABEL: func.func @main
// CHECK: %[[F:.*]] = call @first(%arg0)
// CHECK: %[[T:.*]] = "fuse.after"(%[[F]])
// CHECK-NOT: call @middle
// CHECK: call @last(%arg0, %[[T]])
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>) {
    %a = call @first(%x) : (tensor<64xf32>) -> tensor<64xf32>
    %t = "fuse.after"(%a) : (tensor<64xf32>) -> !fuse.token
    %b = call @middle(%x, %t) : (tensor<64xf32>, !fuse.token) -> tensor<64xf32>
    %u = "fuse.after"(%b) : (tensor<64xf32>) -> !fuse.token
    %c = call @last(%x, %u) : (tensor<64xf32>, !fuse.token) -> tensor<64xf32>
    return %a, %c : tensor<64xf32>, tensor<64xf32>
  }
  func.func private @first(tensor<64xf32>) -> tensor<64xf32> attributes {fuse.extern = "aten.neg.default", fuse.args = [#fuse.arg<0 : i64>], fuse.kwargs = {}}
  func.func private @middle(tensor<64xf32>, !fuse.token) -> tensor<64xf32> attributes {fuse.extern = "aten.neg.default", fuse.args = [#fuse.arg<0 : i64>], fuse.kwargs = {}}
  func.func private @last(tensor<64xf32>, !fuse.token) -> tensor<64xf32> attributes {fuse.extern = "aten.neg.default", fuse.args = [#fuse.arg<0 : i64>], fuse.kwargs = {}}
}

// -----

// Must not fire: the dead op waits for two, and one token cannot stand for both: what follows it would lose an order.
// CHECK-LABEL: func.func @main
// CHECK: %[[A:.*]] = call @first(%arg0)
// CHECK: %[[B:.*]] = call @first(%arg1)
// CHECK: %[[T:.*]] = "fuse.after"(%[[A]])
// CHECK: %[[U:.*]] = "fuse.after"(%[[B]])
// CHECK: %[[M:.*]] = call @middle(%arg0, %[[T]], %[[U]])
// CHECK: %[[V:.*]] = "fuse.after"(%[[M]])
// CHECK: call @last(%arg0, %[[V]])
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<64xf32>, %y: tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>, tensor<64xf32>) {
    %a = call @first(%x) : (tensor<64xf32>) -> tensor<64xf32>
    %b = call @first(%y) : (tensor<64xf32>) -> tensor<64xf32>
    %t = "fuse.after"(%a) : (tensor<64xf32>) -> !fuse.token
    %u = "fuse.after"(%b) : (tensor<64xf32>) -> !fuse.token
    %m = call @middle(%x, %t, %u) : (tensor<64xf32>, !fuse.token, !fuse.token) -> tensor<64xf32>
    %v = "fuse.after"(%m) : (tensor<64xf32>) -> !fuse.token
    %c = call @last(%x, %v) : (tensor<64xf32>, !fuse.token) -> tensor<64xf32>
    return %a, %b, %c : tensor<64xf32>, tensor<64xf32>, tensor<64xf32>
  }
  func.func private @first(tensor<64xf32>) -> tensor<64xf32> attributes {fuse.extern = "aten.neg.default", fuse.args = [#fuse.arg<0 : i64>], fuse.kwargs = {}}
  func.func private @middle(tensor<64xf32>, !fuse.token, !fuse.token) -> tensor<64xf32> attributes {fuse.extern = "aten.neg.default", fuse.args = [#fuse.arg<0 : i64>], fuse.kwargs = {}}
  func.func private @last(tensor<64xf32>, !fuse.token) -> tensor<64xf32> attributes {fuse.extern = "aten.neg.default", fuse.args = [#fuse.arg<0 : i64>], fuse.kwargs = {}}
}

// -----

// A size stays while the type of a value that stays needs its name; it goes with a value that nothing else uses.
// CHECK-LABEL: func.func @main
// CHECK: "fuse.size"(%arg0) {dim = 0 : i64, symbol = "s0"}
// CHECK: %[[U:.*]] = call @whole
// CHECK-NEXT: "fuse.size"(%[[U]]) {dim = 0 : i64, symbol = "u0"}
// CHECK-NOT: "u1"
// CHECK: return %[[U]]
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<?xf32, #fuse.layout<"s0", "1", "0", "">>) -> tensor<?xi64, #fuse.layout<"u0", "1", "0", "">> {
    %s = "fuse.size"(%x) {dim = 0 : i64, symbol = "s0"} : (tensor<?xf32, #fuse.layout<"s0", "1", "0", "">>) -> index
    %u = call @whole(%x) : (tensor<?xf32, #fuse.layout<"s0", "1", "0", "">>) -> tensor<?xi64, #fuse.layout<"u0", "1", "0", "">>
    %n = "fuse.size"(%u) {dim = 0 : i64, symbol = "u0"} : (tensor<?xi64, #fuse.layout<"u0", "1", "0", "">>) -> index
    %v = call @lost(%x) : (tensor<?xf32, #fuse.layout<"s0", "1", "0", "">>) -> tensor<?xi64, #fuse.layout<"u1", "1", "0", "">>
    %m = "fuse.size"(%v) {dim = 0 : i64, symbol = "u1"} : (tensor<?xi64, #fuse.layout<"u1", "1", "0", "">>) -> index
    return %u : tensor<?xi64, #fuse.layout<"u0", "1", "0", "">>
  }
  func.func private @whole(tensor<?xf32, #fuse.layout<"s0", "1", "0", "">>) -> tensor<?xi64, #fuse.layout<"u0", "1", "0", "">> attributes {fuse.extern = "aten._unique.default", fuse.args = [#fuse.arg<0 : i64>]}
  func.func private @lost(tensor<?xf32, #fuse.layout<"s0", "1", "0", "">>) -> tensor<?xi64, #fuse.layout<"u1", "1", "0", "">> attributes {fuse.extern = "aten._unique.default", fuse.args = [#fuse.arg<0 : i64>]}
}

// -----

// Bad input: there is nothing to schedule.
// expected-error @+1 {{the module has no function @main}}
module attributes {fuse.device = "cpu"} {
}

// -----

// Sizes that only the types of arguments name: what defines them stays, whether a call, a fuse.sym or a fuse.size.
// What defines a size that no type names goes.
// CHECK-LABEL: func.func @main
// CHECK: call @ceil
// CHECK-NEXT: "fuse.size"(%arg2) {{.*}}symbol = "p2"
// CHECK-NEXT: "fuse.sym"({{.*}}symbol = "s1"
// CHECK-NOT: p3
// CHECK: return
module attributes {fuse.device = "cpu"} {
  func.func @main(%s: index {fuse.sym = "s0"}, %x: tensor<?xf32, #fuse.layout<"p1*32", "1", "0", "">>,
                  %y: tensor<?xf32, #fuse.layout<"s1*2", "1", "0", "">>) -> tensor<4xf32> {
    %c = call @ceil(%s) : (index) -> index
    %2 = "fuse.size"(%y) {dim = 0 : i64, symbol = "p2"} : (tensor<?xf32, #fuse.layout<"s1*2", "1", "0", "">>) -> index
    %3 = "fuse.sym"(%2) {expr = "p2 floordiv 2", symbol = "s1", syms = ["p2"]} : (index) -> index
    %4 = "fuse.sym"(%2) {expr = "p2 floordiv 3", symbol = "p3", syms = ["p2"]} : (index) -> index
    %o = call @op(%x, %y)
        : (tensor<?xf32, #fuse.layout<"p1*32", "1", "0", "">>, tensor<?xf32, #fuse.layout<"s1*2", "1", "0", "">>)
        -> tensor<4xf32>
    return %o : tensor<4xf32>
  }
  func.func private @ceil(index) -> (index {fuse.min = 1 : i64, fuse.sym = "p1"})
      attributes {fuse.extern = "math.ceil", fuse.args = [#fuse.arg<0 : i64>], fuse.kwargs = {}}
  func.func private @op(tensor<?xf32, #fuse.layout<"p1*32", "1", "0", "">>, tensor<?xf32, #fuse.layout<"s1*2", "1", "0", "">>)
      -> tensor<4xf32>
      attributes {fuse.extern = "m.op.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
}
