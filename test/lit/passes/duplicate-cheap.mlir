// RUN: fuse-opt %s --pass-pipeline="builtin.module(duplicate-cheap)" --split-input-file --verify-diagnostics | FileCheck %s

// The mask reads nothing: each of the two kernels gets its own, right before it; the extern op keeps the original.
// CHECK-LABEL: func.func @main
// CHECK: %[[M0:.*]] = call @mask(
// CHECK: call @extern_neg(%[[M0]])
// CHECK: %[[M1:.*]] = call @mask(
// CHECK: call @add(%arg0, %[[M1]],
// CHECK: %[[M2:.*]] = call @mask(
// CHECK: call @add(%arg1, %[[M2]],
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<64xf32>, %y: tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>, tensor<64xf32>) {
    %o = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %m = call @mask(%o) : (tensor<64xf32>) -> tensor<64xf32>
    %n = call @extern_neg(%m) : (tensor<64xf32>) -> tensor<64xf32>
    %p = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %a = call @add(%x, %m, %p) : (tensor<64xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    %q = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %b = call @add(%y, %m, %q) : (tensor<64xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    return %n, %a, %b : tensor<64xf32>, tensor<64xf32>, tensor<64xf32>
  }
  func.func private @extern_neg(tensor<64xf32>) -> tensor<64xf32> attributes {fuse.extern = "aten.neg.default", fuse.args = [#fuse.arg<0 : i64>], fuse.kwargs = {}}
  func.func private @mask(%o: tensor<64xf32>) -> tensor<64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64"}, fuse.ties = array<i64: 0>} {
    %true = arith.constant true
    %i = "fuse.index"() {expr = "d0"} : () -> i64
    %r = arith.sitofp %i : i64 to f32
    %out = "fuse.store"(%o, %r, %true) {at = ["d0"], mode = "set"} : (tensor<64xf32>, f32, i1) -> tensor<64xf32>
    return %out : tensor<64xf32>
  }
  func.func private @add(%x0: tensor<64xf32>, %x1: tensor<64xf32>, %o: tensor<64xf32>) -> tensor<64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v0 = "fuse.load"(%x0, %true, %zero) {at = ["d0"]} : (tensor<64xf32>, i1, f32) -> f32
    %v1 = "fuse.load"(%x1, %true, %zero) {at = ["d0"]} : (tensor<64xf32>, i1, f32) -> f32
    %r = arith.addf %v0, %v1 : f32
    %out = "fuse.store"(%o, %r, %true) {at = ["d0"], mode = "set"} : (tensor<64xf32>, f32, i1) -> tensor<64xf32>
    return %out : tensor<64xf32>
  }
}

// -----

// Each of three kernels gets its own of two masks, though the first mask's copies change what two of them read.
// CHECK-LABEL: func.func @main
// CHECK: %[[M:.*]] = call @mask(
// CHECK: %[[N:.*]] = call @mask(
// CHECK: call @add(%[[M]], %[[N]],
// CHECK: %[[M1:.*]] = call @mask(
// CHECK: %[[N1:.*]] = call @mask(
// CHECK: call @add(%[[M1]], %[[N1]],
// CHECK: %[[M2:.*]] = call @mask(
// CHECK: %[[N2:.*]] = call @mask(
// CHECK: call @add(%[[M2]], %[[N2]],
module attributes {fuse.device = "cpu"} {
  func.func @main() -> (tensor<64xf32>, tensor<64xf32>, tensor<64xf32>) {
    %o = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %m = call @mask(%o) : (tensor<64xf32>) -> tensor<64xf32>
    %p = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %n = call @mask(%p) : (tensor<64xf32>) -> tensor<64xf32>
    %q = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %a = call @add(%m, %n, %q) : (tensor<64xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    %r = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %b = call @add(%m, %n, %r) : (tensor<64xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    %s = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %c = call @add(%m, %n, %s) : (tensor<64xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    return %a, %b, %c : tensor<64xf32>, tensor<64xf32>, tensor<64xf32>
  }
  func.func private @mask(%o: tensor<64xf32>) -> tensor<64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64"}, fuse.ties = array<i64: 0>} {
    %true = arith.constant true
    %i = "fuse.index"() {expr = "d0"} : () -> i64
    %r = arith.sitofp %i : i64 to f32
    %out = "fuse.store"(%o, %r, %true) {at = ["d0"], mode = "set"} : (tensor<64xf32>, f32, i1) -> tensor<64xf32>
    return %out : tensor<64xf32>
  }
  func.func private @add(%x0: tensor<64xf32>, %x1: tensor<64xf32>, %o: tensor<64xf32>) -> tensor<64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v0 = "fuse.load"(%x0, %true, %zero) {at = ["d0"]} : (tensor<64xf32>, i1, f32) -> f32
    %v1 = "fuse.load"(%x1, %true, %zero) {at = ["d0"]} : (tensor<64xf32>, i1, f32) -> f32
    %r = arith.addf %v0, %v1 : f32
    %out = "fuse.store"(%o, %r, %true) {at = ["d0"], mode = "set"} : (tensor<64xf32>, f32, i1) -> tensor<64xf32>
    return %out : tensor<64xf32>
  }
}

// -----

// Distances read the positions twice, and are more than these: each kernel gets its own, of its own positions.
// CHECK-LABEL: func.func @main
// CHECK: %[[A:.*]] = call @positions(
// CHECK: %[[D:.*]] = call @distances(%[[A]],
// CHECK: call @float(%[[D]],
// CHECK: %[[A1:.*]] = call @positions(
// CHECK: %[[D1:.*]] = call @distances(%[[A1]],
// CHECK: call @float(%[[D1]],
module attributes {fuse.device = "cpu"} {
  func.func @main() -> (tensor<64x64xf32>, tensor<64x64xf32>) {
    %o = "fuse.empty"() {syms = []} : () -> tensor<64xi64>
    %a = call @positions(%o) : (tensor<64xi64>) -> tensor<64xi64>
    %p = "fuse.empty"() {syms = []} : () -> tensor<64x64xi64>
    %d = call @distances(%a, %p) : (tensor<64xi64>, tensor<64x64xi64>) -> tensor<64x64xi64>
    %q = "fuse.empty"() {syms = []} : () -> tensor<64x64xf32>
    %x = call @float(%d, %q) : (tensor<64x64xi64>, tensor<64x64xf32>) -> tensor<64x64xf32>
    %r = "fuse.empty"() {syms = []} : () -> tensor<64x64xf32>
    %y = call @float(%d, %r) : (tensor<64x64xi64>, tensor<64x64xf32>) -> tensor<64x64xf32>
    return %x, %y : tensor<64x64xf32>, tensor<64x64xf32>
  }
  func.func private @positions(%o: tensor<64xi64>) -> tensor<64xi64> attributes {fuse.kernel, fuse.dims = {d0 = "64"}, fuse.ties = array<i64: 0>} {
    %true = arith.constant true
    %i = "fuse.index"() {expr = "d0"} : () -> i64
    %out = "fuse.store"(%o, %i, %true) {at = ["d0"], mode = "set"} : (tensor<64xi64>, i64, i1) -> tensor<64xi64>
    return %out : tensor<64xi64>
  }
  func.func private @distances(%x: tensor<64xi64>, %o: tensor<64x64xi64>) -> tensor<64x64xi64> attributes {fuse.kernel, fuse.dims = {d0 = "64", d1 = "64"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0 : i64
    %i = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<64xi64>, i1, i64) -> i64
    %j = "fuse.load"(%x, %true, %zero) {at = ["d1"]} : (tensor<64xi64>, i1, i64) -> i64
    %r = arith.subi %i, %j : i64
    %out = "fuse.store"(%o, %r, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<64x64xi64>, i64, i1) -> tensor<64x64xi64>
    return %out : tensor<64x64xi64>
  }
  func.func private @float(%x: tensor<64x64xi64>, %o: tensor<64x64xf32>) -> tensor<64x64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64", d1 = "64"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0 : i64
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<64x64xi64>, i1, i64) -> i64
    %r = arith.sitofp %v : i64 to f32
    %out = "fuse.store"(%o, %r, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<64x64xf32>, f32, i1) -> tensor<64x64xf32>
    return %out : tensor<64x64xf32>
  }
}

// -----

// Must not fire: one consumer, and a producer that reads as many bytes as it writes.
// CHECK-LABEL: func.func @main
// CHECK-COUNT-1: call @mask(
// CHECK-NOT: call @mask(
// CHECK-COUNT-1: call @neg(
// CHECK-NOT: call @neg(
// CHECK: return
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>) {
    %o = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %m = call @mask(%o) : (tensor<64xf32>) -> tensor<64xf32>
    %p = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %n = call @neg(%x, %p) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    %q = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %a = call @add(%m, %n, %q) : (tensor<64xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    %u = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %b = call @add(%n, %n, %u) : (tensor<64xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    return %a, %b : tensor<64xf32>, tensor<64xf32>
  }
  func.func private @mask(%o: tensor<64xf32>) -> tensor<64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64"}, fuse.ties = array<i64: 0>} {
    %true = arith.constant true
    %i = "fuse.index"() {expr = "d0"} : () -> i64
    %r = arith.sitofp %i : i64 to f32
    %out = "fuse.store"(%o, %r, %true) {at = ["d0"], mode = "set"} : (tensor<64xf32>, f32, i1) -> tensor<64xf32>
    return %out : tensor<64xf32>
  }
  func.func private @neg(%x0: tensor<64xf32>, %o: tensor<64xf32>) -> tensor<64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v0 = "fuse.load"(%x0, %true, %zero) {at = ["d0"]} : (tensor<64xf32>, i1, f32) -> f32
    %r = arith.negf %v0 : f32
    %out = "fuse.store"(%o, %r, %true) {at = ["d0"], mode = "set"} : (tensor<64xf32>, f32, i1) -> tensor<64xf32>
    return %out : tensor<64xf32>
  }
  func.func private @add(%x0: tensor<64xf32>, %x1: tensor<64xf32>, %o: tensor<64xf32>) -> tensor<64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v0 = "fuse.load"(%x0, %true, %zero) {at = ["d0"]} : (tensor<64xf32>, i1, f32) -> f32
    %v1 = "fuse.load"(%x1, %true, %zero) {at = ["d0"]} : (tensor<64xf32>, i1, f32) -> f32
    %r = arith.addf %v0, %v1 : f32
    %out = "fuse.store"(%o, %r, %true) {at = ["d0"], mode = "set"} : (tensor<64xf32>, f32, i1) -> tensor<64xf32>
    return %out : tensor<64xf32>
  }
}

// -----

// Must not fire: an op writes to the row that is spread before the second kernel reads what it was.
// CHECK-LABEL: func.func @main
// CHECK-COUNT-1: call @spread(
// CHECK-NOT: call @spread(
// CHECK: return
module attributes {fuse.device = "cpu"} {
  func.func @main(%r: tensor<8xf32>, %x: tensor<64xf32>, %y: tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>) {
    %o = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %m = call @spread(%r, %o) : (tensor<8xf32>, tensor<64xf32>) -> tensor<64xf32>
    %p = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %a = call @add(%x, %m, %p) : (tensor<64xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    call @add_twice(%r) : (tensor<8xf32>) -> ()
    %q = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %b = call @add(%y, %m, %q) : (tensor<64xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    return %a, %b : tensor<64xf32>, tensor<64xf32>
  }
  func.func private @add_twice(tensor<8xf32>) attributes {fuse.extern = "mylib.add_twice_.default", fuse.args = [#fuse.arg<0 : i64>], fuse.mutated = array<i64: 0>, fuse.returns = array<i64>}
  func.func private @spread(%r: tensor<8xf32>, %o: tensor<64xf32>) -> tensor<64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%r, %true, %zero) {at = ["d0 mod 8"]} : (tensor<8xf32>, i1, f32) -> f32
    %out = "fuse.store"(%o, %v, %true) {at = ["d0"], mode = "set"} : (tensor<64xf32>, f32, i1) -> tensor<64xf32>
    return %out : tensor<64xf32>
  }
  func.func private @add(%x0: tensor<64xf32>, %x1: tensor<64xf32>, %o: tensor<64xf32>) -> tensor<64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v0 = "fuse.load"(%x0, %true, %zero) {at = ["d0"]} : (tensor<64xf32>, i1, f32) -> f32
    %v1 = "fuse.load"(%x1, %true, %zero) {at = ["d0"]} : (tensor<64xf32>, i1, f32) -> f32
    %r = arith.addf %v0, %v1 : f32
    %out = "fuse.store"(%o, %r, %true) {at = ["d0"], mode = "set"} : (tensor<64xf32>, f32, i1) -> tensor<64xf32>
    return %out : tensor<64xf32>
  }
}

// -----

// Must not fire: a kernel writes to the row that is spread before the second kernel reads what it was.
// CHECK-LABEL: func.func @main
// CHECK-COUNT-1: call @spread(
// CHECK-NOT: call @spread(
// CHECK: return
module attributes {fuse.device = "cpu"} {
  func.func @main(%r: tensor<8xf32>, %x: tensor<64xf32>, %y: tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>) {
    %o = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %m = call @spread(%r, %o) : (tensor<8xf32>, tensor<64xf32>) -> tensor<64xf32>
    %p = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %a = call @add(%x, %m, %p) : (tensor<64xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    %n = call @negate(%r) : (tensor<8xf32>) -> tensor<8xf32>
    %q = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %b = call @add(%y, %m, %q) : (tensor<64xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    return %a, %b : tensor<64xf32>, tensor<64xf32>
  }
  func.func private @negate(%r: tensor<8xf32>) -> tensor<8xf32> attributes {fuse.kernel, fuse.dims = {d0 = "8"}, fuse.ties = array<i64: 0>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%r, %true, %zero) {at = ["d0"]} : (tensor<8xf32>, i1, f32) -> f32
    %n = arith.negf %v : f32
    %out = "fuse.store"(%r, %n, %true) {at = ["d0"], mode = "set"} : (tensor<8xf32>, f32, i1) -> tensor<8xf32>
    return %out : tensor<8xf32>
  }
  func.func private @spread(%r: tensor<8xf32>, %o: tensor<64xf32>) -> tensor<64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%r, %true, %zero) {at = ["d0 mod 8"]} : (tensor<8xf32>, i1, f32) -> f32
    %out = "fuse.store"(%o, %v, %true) {at = ["d0"], mode = "set"} : (tensor<64xf32>, f32, i1) -> tensor<64xf32>
    return %out : tensor<64xf32>
  }
  func.func private @add(%x0: tensor<64xf32>, %x1: tensor<64xf32>, %o: tensor<64xf32>) -> tensor<64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v0 = "fuse.load"(%x0, %true, %zero) {at = ["d0"]} : (tensor<64xf32>, i1, f32) -> f32
    %v1 = "fuse.load"(%x1, %true, %zero) {at = ["d0"]} : (tensor<64xf32>, i1, f32) -> f32
    %r = arith.addf %v0, %v1 : f32
    %out = "fuse.store"(%o, %r, %true) {at = ["d0"], mode = "set"} : (tensor<64xf32>, f32, i1) -> tensor<64xf32>
    return %out : tensor<64xf32>
  }
}

// -----

// Must not fire: an op writes to a view of the row that is spread.
// CHECK-LABEL: func.func @main
// CHECK-COUNT-1: call @spread(
// CHECK-NOT: call @spread(
// CHECK: return
module attributes {fuse.device = "cpu"} {
  func.func @main(%r: tensor<8xf32>, %x: tensor<64xf32>, %y: tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>) {
    %o = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %m = call @spread(%r, %o) : (tensor<8xf32>, tensor<64xf32>) -> tensor<64xf32>
    %p = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %a = call @add(%x, %m, %p) : (tensor<64xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    %v = "fuse.view"(%r) {map = ["v0*4 + v1"], syms = []} : (tensor<8xf32>) -> tensor<2x4xf32>
    call @add_twice(%v) : (tensor<2x4xf32>) -> ()
    %q = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %b = call @add(%y, %m, %q) : (tensor<64xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    return %a, %b : tensor<64xf32>, tensor<64xf32>
  }
  func.func private @add_twice(tensor<2x4xf32>) attributes {fuse.extern = "mylib.add_twice_.default", fuse.args = [#fuse.arg<0 : i64>], fuse.mutated = array<i64: 0>, fuse.returns = array<i64>}
  func.func private @spread(%r: tensor<8xf32>, %o: tensor<64xf32>) -> tensor<64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%r, %true, %zero) {at = ["d0 mod 8"]} : (tensor<8xf32>, i1, f32) -> f32
    %out = "fuse.store"(%o, %v, %true) {at = ["d0"], mode = "set"} : (tensor<64xf32>, f32, i1) -> tensor<64xf32>
    return %out : tensor<64xf32>
  }
  func.func private @add(%x0: tensor<64xf32>, %x1: tensor<64xf32>, %o: tensor<64xf32>) -> tensor<64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v0 = "fuse.load"(%x0, %true, %zero) {at = ["d0"]} : (tensor<64xf32>, i1, f32) -> f32
    %v1 = "fuse.load"(%x1, %true, %zero) {at = ["d0"]} : (tensor<64xf32>, i1, f32) -> f32
    %r = arith.addf %v0, %v1 : f32
    %out = "fuse.store"(%o, %r, %true) {at = ["d0"], mode = "set"} : (tensor<64xf32>, f32, i1) -> tensor<64xf32>
    return %out : tensor<64xf32>
  }
}

// -----

// Must not fire: an op writes to a view of the mask, and what @mask computes is what it held before.
// CHECK-LABEL: func.func @main
// CHECK-COUNT-1: call @mask(
// CHECK-NOT: call @mask(
// CHECK: return
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<64xf32>, %y: tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>) {
    %o = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %m = call @mask(%o) : (tensor<64xf32>) -> tensor<64xf32>
    %v = "fuse.view"(%m) {map = ["v0*8 + v1"], syms = []} : (tensor<64xf32>) -> tensor<8x8xf32>
    call @add_twice(%v) : (tensor<8x8xf32>) -> ()
    %p = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %a = call @add(%x, %m, %p) : (tensor<64xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    %q = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %b = call @add(%y, %m, %q) : (tensor<64xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    return %a, %b : tensor<64xf32>, tensor<64xf32>
  }
  func.func private @add_twice(tensor<8x8xf32>) attributes {fuse.extern = "mylib.add_twice_.default", fuse.args = [#fuse.arg<0 : i64>], fuse.mutated = array<i64: 0>, fuse.returns = array<i64>}
  func.func private @mask(%o: tensor<64xf32>) -> tensor<64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64"}, fuse.ties = array<i64: 0>} {
    %true = arith.constant true
    %i = "fuse.index"() {expr = "d0"} : () -> i64
    %r = arith.sitofp %i : i64 to f32
    %out = "fuse.store"(%o, %r, %true) {at = ["d0"], mode = "set"} : (tensor<64xf32>, f32, i1) -> tensor<64xf32>
    return %out : tensor<64xf32>
  }
  func.func private @add(%x0: tensor<64xf32>, %x1: tensor<64xf32>, %o: tensor<64xf32>) -> tensor<64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v0 = "fuse.load"(%x0, %true, %zero) {at = ["d0"]} : (tensor<64xf32>, i1, f32) -> f32
    %v1 = "fuse.load"(%x1, %true, %zero) {at = ["d0"]} : (tensor<64xf32>, i1, f32) -> f32
    %r = arith.addf %v0, %v1 : f32
    %out = "fuse.store"(%o, %r, %true) {at = ["d0"], mode = "set"} : (tensor<64xf32>, f32, i1) -> tensor<64xf32>
    return %out : tensor<64xf32>
  }
}

// -----

// Bad input: there is nothing to schedule.
// expected-error @+1 {{the module has no function @main}}
module attributes {fuse.device = "cpu"} {
}
