// RUN: fuse-opt %s --pass-pipeline="builtin.module(deduplicate-results,eliminate-dead)" --split-input-file --verify-diagnostics | FileCheck %s
// RUN: fuse-opt %s --pass-pipeline="builtin.module(deduplicate-results,eliminate-dead)" --split-input-file --verify-diagnostics --remarks=text 2>&1 >/dev/null | FileCheck %s --check-prefix=SAID
// SAID: passed: deduplicate-results: one-place

// A value that is written into an argument and beside it: the reader takes the argument's, through a view, too.
// CHECK-LABEL: func.func @main
// CHECK-NOT: "fuse.empty"
// CHECK: %[[Y:.*]] = call @exp(%arg0, %arg1)
// CHECK-NEXT: %[[V:.*]] = "fuse.view"(%[[Y]])
// CHECK-NEXT: %[[Z:.*]] = call @neg(%[[V]])
// CHECK-NEXT: return {fuse.mutates = {"1" = 1 : i64}} %[[Z]], %[[Y]]
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<64xf32>, %a: tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>) {
    %e = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %y:2 = call @exp(%x, %a, %e) : (tensor<64xf32>, tensor<64xf32>, tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>)
    %v = "fuse.view"(%y#0) {map = ["v0"], syms = []} : (tensor<64xf32>) -> tensor<64xf32>
    %z = call @neg(%v) : (tensor<64xf32>) -> tensor<64xf32>
    return {fuse.mutates = {"1" = 1 : i64}} %z, %y#1 : tensor<64xf32>, tensor<64xf32>
  }
  func.func private @neg(tensor<64xf32>) -> tensor<64xf32> attributes {fuse.extern = "aten.neg.default", fuse.args = [#fuse.arg<0 : i64>]}
  func.func private @exp(%x: tensor<64xf32>, %o: tensor<64xf32>, %p: tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>)
      attributes {fuse.kernel, fuse.dims = {d0 = "64"}, fuse.ties = array<i64: 2, 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<64xf32>, i1, f32) -> f32
    %e = math.exp %v : f32
    %r = "fuse.store"(%p, %e, %true) {at = ["d0"], mode = "set"} : (tensor<64xf32>, f32, i1) -> tensor<64xf32>
    %s = "fuse.store"(%o, %e, %true) {at = ["d0"], mode = "set"} : (tensor<64xf32>, f32, i1) -> tensor<64xf32>
    return %r, %s : tensor<64xf32>, tensor<64xf32>
  }
}

// -----

// One of them is a result of the program, and read instead of the other; of two that are none, the first is.
// CHECK-LABEL: func.func @main
// CHECK: %[[E:.*]] = "fuse.empty"
// CHECK-NEXT: %[[Y:.*]] = call @exp(%arg0, %[[E]])
// CHECK-NEXT: %[[Z:.*]] = call @neg(%[[Y]])
// CHECK: %[[U:.*]] = call @exp{{.*}}(%arg1, %
// CHECK-NEXT: call @neg(%[[U]])
// CHECK-NEXT: call @neg(%[[U]])
// CHECK-NEXT: return %[[Z]], %[[Y]]
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<64xf32>, %a: tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>) {
    %e = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %f = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %y:2 = call @exp(%x, %f, %e) : (tensor<64xf32>, tensor<64xf32>, tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>)
    %z = call @neg(%y#0) : (tensor<64xf32>) -> tensor<64xf32>
    %g = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %h = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %u:2 = call @exp(%a, %g, %h) : (tensor<64xf32>, tensor<64xf32>, tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>)
    %p = call @neg(%u#0) : (tensor<64xf32>) -> tensor<64xf32>
    %q = call @neg(%u#1) : (tensor<64xf32>) -> tensor<64xf32>
    return %z, %y#1, %p, %q : tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>
  }
  func.func private @neg(tensor<64xf32>) -> tensor<64xf32> attributes {fuse.extern = "aten.neg.default", fuse.args = [#fuse.arg<0 : i64>]}
  func.func private @exp(%x: tensor<64xf32>, %o: tensor<64xf32>, %p: tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>)
      attributes {fuse.kernel, fuse.dims = {d0 = "64"}, fuse.ties = array<i64: 2, 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<64xf32>, i1, f32) -> f32
    %e = math.exp %v : f32
    %r = "fuse.store"(%p, %e, %true) {at = ["d0"], mode = "set"} : (tensor<64xf32>, f32, i1) -> tensor<64xf32>
    %s = "fuse.store"(%o, %e, %true) {at = ["d0"], mode = "set"} : (tensor<64xf32>, f32, i1) -> tensor<64xf32>
    return %r, %s : tensor<64xf32>, tensor<64xf32>
  }
}

// -----

// Must not fire: the caller gets both.
// CHECK-LABEL: func.func @main
// CHECK: %[[Y:.*]]:2 = call @k(
// CHECK: call @neg(%[[Y]]#0)
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<64xf32>, %a: tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>, tensor<64xf32>) {
    %e = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %f = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %y:2 = call @k(%x, %f, %e) : (tensor<64xf32>, tensor<64xf32>, tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>)
    %z = call @neg(%y#0) : (tensor<64xf32>) -> tensor<64xf32>
    return %z, %y#0, %y#1 : tensor<64xf32>, tensor<64xf32>, tensor<64xf32>
  }
  func.func private @neg(tensor<64xf32>) -> tensor<64xf32> attributes {fuse.extern = "aten.neg.default", fuse.args = [#fuse.arg<0 : i64>]}
  func.func private @k(%x: tensor<64xf32>, %o: tensor<64xf32>, %p: tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>)
      attributes {fuse.kernel, fuse.dims = {d0 = "64"}, fuse.ties = array<i64: 2, 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<64xf32>, i1, f32) -> f32
    %e = math.exp %v : f32
    %r = "fuse.store"(%p, %e, %true) {at = ["d0"], mode = "set"} : (tensor<64xf32>, f32, i1) -> tensor<64xf32>
    %s = "fuse.store"(%o, %e, %true) {at = ["d0"], mode = "set"} : (tensor<64xf32>, f32, i1) -> tensor<64xf32>
    return %r, %s : tensor<64xf32>, tensor<64xf32>
  }
}

// -----

// Must not fire: another value.
// CHECK-LABEL: func.func @main
// CHECK: %[[Y:.*]]:2 = call @k(
// CHECK: call @neg(%[[Y]]#0)
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<64xf32>, %a: tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>) {
    %e = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %f = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %y:2 = call @k(%x, %f, %e) : (tensor<64xf32>, tensor<64xf32>, tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>)
    %z = call @neg(%y#0) : (tensor<64xf32>) -> tensor<64xf32>
    return %z, %y#1 : tensor<64xf32>, tensor<64xf32>
  }
  func.func private @neg(tensor<64xf32>) -> tensor<64xf32> attributes {fuse.extern = "aten.neg.default", fuse.args = [#fuse.arg<0 : i64>]}
  func.func private @k(%x: tensor<64xf32>, %o: tensor<64xf32>, %p: tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>)
      attributes {fuse.kernel, fuse.dims = {d0 = "64"}, fuse.ties = array<i64: 2, 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<64xf32>, i1, f32) -> f32
    %e = math.exp %v : f32
    %r = "fuse.store"(%p, %e, %true) {at = ["d0"], mode = "set"} : (tensor<64xf32>, f32, i1) -> tensor<64xf32>
    %s = "fuse.store"(%o, %v, %true) {at = ["d0"], mode = "set"} : (tensor<64xf32>, f32, i1) -> tensor<64xf32>
    return %r, %s : tensor<64xf32>, tensor<64xf32>
  }
}

// -----

// Must not fire: other coordinates.
// CHECK-LABEL: func.func @main
// CHECK: %[[Y:.*]]:2 = call @k(
// CHECK: call @neg(%[[Y]]#0)
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<64xf32>, %a: tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>) {
    %e = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %f = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %y:2 = call @k(%x, %f, %e) : (tensor<64xf32>, tensor<64xf32>, tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>)
    %z = call @neg(%y#0) : (tensor<64xf32>) -> tensor<64xf32>
    return %z, %y#1 : tensor<64xf32>, tensor<64xf32>
  }
  func.func private @neg(tensor<64xf32>) -> tensor<64xf32> attributes {fuse.extern = "aten.neg.default", fuse.args = [#fuse.arg<0 : i64>]}
  func.func private @k(%x: tensor<64xf32>, %o: tensor<64xf32>, %p: tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>)
      attributes {fuse.kernel, fuse.dims = {d0 = "64"}, fuse.ties = array<i64: 2, 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<64xf32>, i1, f32) -> f32
    %e = math.exp %v : f32
    %r = "fuse.store"(%p, %e, %true) {at = ["d0"], mode = "set"} : (tensor<64xf32>, f32, i1) -> tensor<64xf32>
    %s = "fuse.store"(%o, %e, %true) {at = ["-d0 + 63"], mode = "set"} : (tensor<64xf32>, f32, i1) -> tensor<64xf32>
    return %r, %s : tensor<64xf32>, tensor<64xf32>
  }
}

// -----

// Must not fire: another guard.
// CHECK-LABEL: func.func @main
// CHECK: %[[Y:.*]]:2 = call @k(
// CHECK: call @neg(%[[Y]]#0)
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<64xf32>, %a: tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>) {
    %e = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %f = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %y:2 = call @k(%x, %f, %e) : (tensor<64xf32>, tensor<64xf32>, tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>)
    %z = call @neg(%y#0) : (tensor<64xf32>) -> tensor<64xf32>
    return %z, %y#1 : tensor<64xf32>, tensor<64xf32>
  }
  func.func private @neg(tensor<64xf32>) -> tensor<64xf32> attributes {fuse.extern = "aten.neg.default", fuse.args = [#fuse.arg<0 : i64>]}
  func.func private @k(%x: tensor<64xf32>, %o: tensor<64xf32>, %p: tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>)
      attributes {fuse.kernel, fuse.dims = {d0 = "64"}, fuse.ties = array<i64: 2, 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<64xf32>, i1, f32) -> f32
    %e = math.exp %v : f32
    %r = "fuse.store"(%p, %e, %true) {at = ["d0"], mode = "set"} : (tensor<64xf32>, f32, i1) -> tensor<64xf32>
    %d = "fuse.index"() {expr = "d0"} : () -> i64
    %half = arith.constant 32 : i64
    %low = arith.cmpi slt, %d, %half : i64
    %s = "fuse.store"(%o, %e, %low) {at = ["d0"], mode = "set"} : (tensor<64xf32>, f32, i1) -> tensor<64xf32>
    return %r, %s : tensor<64xf32>, tensor<64xf32>
  }
}

// -----

// Must not fire: one is added to.
// CHECK-LABEL: func.func @main
// CHECK: %[[Y:.*]]:2 = call @k(
// CHECK: call @neg(%[[Y]]#0)
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<64xf32>, %a: tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>) {
    %e = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %y:2 = call @k(%x, %a, %e) : (tensor<64xf32>, tensor<64xf32>, tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>)
    %z = call @neg(%y#0) : (tensor<64xf32>) -> tensor<64xf32>
    return {fuse.mutates = {"1" = 1 : i64}} %z, %y#1 : tensor<64xf32>, tensor<64xf32>
  }
  func.func private @neg(tensor<64xf32>) -> tensor<64xf32> attributes {fuse.extern = "aten.neg.default", fuse.args = [#fuse.arg<0 : i64>]}
  func.func private @k(%x: tensor<64xf32>, %o: tensor<64xf32>, %p: tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>)
      attributes {fuse.kernel, fuse.dims = {d0 = "64"}, fuse.ties = array<i64: 2, 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<64xf32>, i1, f32) -> f32
    %e = math.exp %v : f32
    %r = "fuse.store"(%p, %e, %true) {at = ["d0"], mode = "set"} : (tensor<64xf32>, f32, i1) -> tensor<64xf32>
    %s = "fuse.store"(%o, %e, %true) {at = ["d0"], mode = "add"} : (tensor<64xf32>, f32, i1) -> tensor<64xf32>
    return %r, %s : tensor<64xf32>, tensor<64xf32>
  }
}

// -----

// Must not fire: they lie differently in memory.
// CHECK-LABEL: func.func @main
// CHECK: %[[Y:.*]]:2 = call @k(
// CHECK: call @neg(%[[Y]]#0)
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<64xf32>, %a: tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32, #fuse.layout<"64", "2", "0", "">>) {
    %e = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %f = "fuse.empty"() {syms = []} : () -> tensor<64xf32, #fuse.layout<"64", "2", "0", "">>
    %y:2 = call @k(%x, %f, %e) : (tensor<64xf32>, tensor<64xf32, #fuse.layout<"64", "2", "0", "">>, tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32, #fuse.layout<"64", "2", "0", "">>)
    %z = call @neg(%y#0) : (tensor<64xf32>) -> tensor<64xf32>
    return %z, %y#1 : tensor<64xf32>, tensor<64xf32, #fuse.layout<"64", "2", "0", "">>
  }
  func.func private @neg(tensor<64xf32>) -> tensor<64xf32> attributes {fuse.extern = "aten.neg.default", fuse.args = [#fuse.arg<0 : i64>]}
  func.func private @k(%x: tensor<64xf32>, %o: tensor<64xf32, #fuse.layout<"64", "2", "0", "">>, %p: tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32, #fuse.layout<"64", "2", "0", "">>)
      attributes {fuse.kernel, fuse.dims = {d0 = "64"}, fuse.ties = array<i64: 2, 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<64xf32>, i1, f32) -> f32
    %e = math.exp %v : f32
    %r = "fuse.store"(%p, %e, %true) {at = ["d0"], mode = "set"} : (tensor<64xf32>, f32, i1) -> tensor<64xf32>
    %s = "fuse.store"(%o, %e, %true) {at = ["d0"], mode = "set"} : (tensor<64xf32, #fuse.layout<"64", "2", "0", "">>, f32, i1) -> tensor<64xf32, #fuse.layout<"64", "2", "0", "">>
    return %r, %s : tensor<64xf32>, tensor<64xf32, #fuse.layout<"64", "2", "0", "">>
  }
}

// -----

// Must not fire: the other is written again before this one is read.
// CHECK-LABEL: func.func @main
// CHECK: %[[Y:.*]]:2 = call @k(
// CHECK: call @neg(%[[Y]]#0)
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<64xf32>, %a: tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>) {
    %e = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %y:2 = call @k(%x, %a, %e) : (tensor<64xf32>, tensor<64xf32>, tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>)
    %w = call @over(%x, %y#1) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    %z = call @neg(%y#0) : (tensor<64xf32>) -> tensor<64xf32>
    return {fuse.mutates = {"1" = 1 : i64}} %z, %w : tensor<64xf32>, tensor<64xf32>
  }
  func.func private @neg(tensor<64xf32>) -> tensor<64xf32> attributes {fuse.extern = "aten.neg.default", fuse.args = [#fuse.arg<0 : i64>]}
  func.func private @k(%x: tensor<64xf32>, %o: tensor<64xf32>, %p: tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>)
      attributes {fuse.kernel, fuse.dims = {d0 = "64"}, fuse.ties = array<i64: 2, 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<64xf32>, i1, f32) -> f32
    %e = math.exp %v : f32
    %r = "fuse.store"(%p, %e, %true) {at = ["d0"], mode = "set"} : (tensor<64xf32>, f32, i1) -> tensor<64xf32>
    %s = "fuse.store"(%o, %e, %true) {at = ["d0"], mode = "set"} : (tensor<64xf32>, f32, i1) -> tensor<64xf32>
    return %r, %s : tensor<64xf32>, tensor<64xf32>
  }
  func.func private @over(%x: tensor<64xf32>, %o: tensor<64xf32>) -> tensor<64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<64xf32>, i1, f32) -> f32
    %r = "fuse.store"(%o, %v, %true) {at = ["d0"], mode = "set"} : (tensor<64xf32>, f32, i1) -> tensor<64xf32>
    return %r : tensor<64xf32>
  }
}

// -----

// Bad input: there is nothing to schedule.
// expected-error @+1 {{the module has no function @main}}
module attributes {fuse.device = "cpu"} {
}
