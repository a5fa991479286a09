// RUN: fuse-opt %s --pass-pipeline="builtin.module(deduplicate-calls)" --split-input-file --verify-diagnostics | FileCheck %s

// The second exp is the first, also under another name; so is the repeated view, and the known extern op.
// CHECK-LABEL: func.func @main
// CHECK: %[[A:.*]] = call @exp(%arg0,
// CHECK-NOT: call @exp_1
// CHECK: %[[V:.*]] = "fuse.view"(%[[A]])
// CHECK-NOT: "fuse.view"
// CHECK: %[[M:.*]] = call @mm(%[[V]])
// CHECK-NOT: call @mm
// CHECK: %[[Q:.*]] = call @product(%[[M]], %[[M]])
// CHECK: return %[[A]], %[[Q]]
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<64xf32>) -> (tensor<64xf32>, tensor<8x8xf32>) {
    %o = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %a = call @exp(%x, %o) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    %p = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %b = call @exp_1(%x, %p) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    %v = "fuse.view"(%a) {map = ["v0*8 + v1"], syms = []} : (tensor<64xf32>) -> tensor<8x8xf32>
    %w = "fuse.view"(%b) {map = ["v0*8 + v1"], syms = []} : (tensor<64xf32>) -> tensor<8x8xf32>
    %m = call @mm(%v) : (tensor<8x8xf32>) -> tensor<8x8xf32>
    %n = call @mm(%w) : (tensor<8x8xf32>) -> tensor<8x8xf32>
    %q = call @product(%m, %n) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    return %a, %q : tensor<64xf32>, tensor<8x8xf32>
  }
  func.func private @product(tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32> attributes {fuse.extern = "aten.mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
  func.func private @mm(tensor<8x8xf32>) -> tensor<8x8xf32> attributes {fuse.extern = "aten.mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<0 : i64>], fuse.kwargs = {}}
  func.func private @exp(%x0: tensor<64xf32>, %o: tensor<64xf32>) -> tensor<64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v0 = "fuse.load"(%x0, %true, %zero) {at = ["d0"]} : (tensor<64xf32>, i1, f32) -> f32
    %r = math.exp %v0 : f32
    %out = "fuse.store"(%o, %r, %true) {at = ["d0"], mode = "set"} : (tensor<64xf32>, f32, i1) -> tensor<64xf32>
    return %out : tensor<64xf32>
  }
  func.func private @exp_1(%x0: tensor<64xf32>, %o: tensor<64xf32>) -> tensor<64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v0 = "fuse.load"(%x0, %true, %zero) {at = ["d0"]} : (tensor<64xf32>, i1, f32) -> f32
    %r = math.exp %v0 : f32
    %out = "fuse.store"(%o, %r, %true) {at = ["d0"], mode = "set"} : (tensor<64xf32>, f32, i1) -> tensor<64xf32>
    return %out : tensor<64xf32>
  }
}

// -----

// Must not fire: random numbers, and a call that writes to an argument of the function instead of a fresh buffer.
// CHECK-LABEL: func.func @main
// CHECK: call @rand(
// CHECK: call @rand(
// CHECK: call @exp(
// CHECK: call @exp(
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<64xf32>, %z: tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>) {
    %a = call @rand(%x) : (tensor<64xf32>) -> tensor<64xf32>
    %b = call @rand(%x) : (tensor<64xf32>) -> tensor<64xf32>
    %o = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %c = call @exp(%x, %o) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    %d = call @exp(%x, %z) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    return %a, %b, %c, %d : tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>
  }
  func.func private @rand(tensor<64xf32>) -> tensor<64xf32> attributes {fuse.extern = "aten.rand_like.default", fuse.args = [#fuse.arg<0 : i64>], fuse.kwargs = {}}
  func.func private @exp(%x0: tensor<64xf32>, %o: tensor<64xf32>) -> tensor<64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v0 = "fuse.load"(%x0, %true, %zero) {at = ["d0"]} : (tensor<64xf32>, i1, f32) -> f32
    %r = math.exp %v0 : f32
    %out = "fuse.store"(%o, %r, %true) {at = ["d0"], mode = "set"} : (tensor<64xf32>, f32, i1) -> tensor<64xf32>
    return %out : tensor<64xf32>
  }
}

// -----

// Must not fire: an op changes in place what both products read.
// CHECK-LABEL: func.func @main
// CHECK: call @mm(
// CHECK: call @triple_(
// CHECK: call @mm(
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
    %a = call @mm(%x) : (tensor<8x8xf32>) -> tensor<8x8xf32>
    call @triple_(%x) : (tensor<8x8xf32>) -> ()
    %b = call @mm(%x) : (tensor<8x8xf32>) -> tensor<8x8xf32>
    %c = call @product(%a, %b) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    return %c : tensor<8x8xf32>
  }
  func.func private @triple_(tensor<8x8xf32>) attributes {fuse.extern = "mylib.triple_.default", fuse.args = [#fuse.arg<0 : i64>], fuse.mutated = array<i64: 0>, fuse.returns = array<i64>}
  func.func private @mm(tensor<8x8xf32>) -> tensor<8x8xf32> attributes {fuse.extern = "aten.mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<0 : i64>], fuse.kwargs = {}}
  func.func private @product(tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32> attributes {fuse.extern = "aten.mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
}

// -----

// Bad input: there is nothing to schedule.
// expected-error @+1 {{the module has no function @main}}
module attributes {fuse.device = "cpu"} {
}

// -----

// Must not fire: the caller gets both and may write into one; a third is the first, which it is free to share.
// CHECK-LABEL: func.func @main
// CHECK: %[[A:.*]] = call @neg(%arg0)
// CHECK: %[[B:.*]] = call @neg(%arg0)
// CHECK: %[[M:.*]] = call @mm(%[[A]])
// CHECK: return %[[A]], %[[B]], %[[M]]
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>) {
    %a = call @neg(%x) : (tensor<8x8xf32>) -> tensor<8x8xf32>
    %b = call @neg(%x) : (tensor<8x8xf32>) -> tensor<8x8xf32>
    %c = call @neg(%x) : (tensor<8x8xf32>) -> tensor<8x8xf32>
    %m = call @mm(%c) : (tensor<8x8xf32>) -> tensor<8x8xf32>
    return %a, %b, %m : tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>
  }
  func.func private @neg(tensor<8x8xf32>) -> tensor<8x8xf32> attributes {fuse.extern = "aten.neg.default", fuse.args = [#fuse.arg<0 : i64>], fuse.kwargs = {}}
  func.func private @mm(tensor<8x8xf32>) -> tensor<8x8xf32> attributes {fuse.extern = "aten.mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<0 : i64>], fuse.kwargs = {}}
}

// -----

// Must not fire: a kernel that asserts something runs as often as it is called. What repeats beside it is merged.
// CHECK-LABEL: func.func @main
// CHECK: call @checked(
// CHECK: call @checked(
// CHECK: call @exp(
// CHECK-NOT: call @exp(
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>, tensor<64xf32>) {
    %o = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %a = call @checked(%x, %o) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    %p = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %b = call @checked(%x, %p) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    %q = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %c = call @exp(%a, %q) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    %r = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %d = call @exp(%a, %r) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    %n = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %e = call @neg(%d, %n) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    return %b, %c, %e : tensor<64xf32>, tensor<64xf32>, tensor<64xf32>
  }
  func.func private @neg(%x: tensor<64xf32>, %o: tensor<64xf32>) -> tensor<64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<64xf32>, i1, f32) -> f32
    %e = arith.negf %v : f32
    %r = "fuse.store"(%o, %e, %true) {at = ["d0"], mode = "set"} : (tensor<64xf32>, f32, i1) -> tensor<64xf32>
    return %r : tensor<64xf32>
  }
  func.func private @checked(%x: tensor<64xf32>, %o: tensor<64xf32>) -> tensor<64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<64xf32>, i1, f32) -> f32
    %c = arith.cmpf oge, %v, %zero : f32
    "fuse.device_assert"(%c, %true) {message = "negative"} : (i1, i1) -> ()
    %r = "fuse.store"(%o, %v, %true) {at = ["d0"], mode = "set"} : (tensor<64xf32>, f32, i1) -> tensor<64xf32>
    return %r : tensor<64xf32>
  }
  func.func private @exp(%x: tensor<64xf32>, %o: tensor<64xf32>) -> tensor<64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<64xf32>, i1, f32) -> f32
    %e = math.exp %v : f32
    %r = "fuse.store"(%o, %e, %true) {at = ["d0"], mode = "set"} : (tensor<64xf32>, f32, i1) -> tensor<64xf32>
    return %r : tensor<64xf32>
  }
}
