// RUN: fuse-opt %s --pass-pipeline="builtin.module(combine-reductions)" --split-input-file --verify-diagnostics | FileCheck %s
// RUN: fuse-opt %s --pass-pipeline="builtin.module(combine-reductions,combine-reductions)" --split-input-file --verify-diagnostics | FileCheck %s

// CHECK-LABEL: @softmax
// CHECK: %[[V:.*]] = "fuse.load"
// CHECK: %[[S:.*]]:2 = "fuse.online_softmax"(%[[V]]) {over = ["d1"]} : (f32) -> (f32, f32)
// CHECK-NOT: fuse.reduce
// CHECK: %[[C:.*]] = arith.subf %[[V]], %[[S]]#0
// CHECK: %[[E:.*]] = math.exp %[[C]]
// CHECK: arith.divf %[[E]], %[[S]]#1
module attributes {fuse.device = "cpu"} {
  func.func private @softmax(%x: tensor<8x64xf32>, %o: tensor<8x64xf32>) -> tensor<8x64xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "64"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<8x64xf32>, i1, f32) -> f32
    %m = "fuse.reduce"(%v) {kind = "max", over = ["d1"]} : (f32) -> f32
    %c = arith.subf %v, %m : f32
    %e = math.exp %c : f32
    %s = "fuse.reduce"(%e) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %q = arith.divf %e, %s : f32
    %r = "fuse.store"(%o, %q, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<8x64xf32>, f32, i1) -> tensor<8x64xf32>
    return %r : tensor<8x64xf32>
  }
}

// -----

// CHECK-LABEL: @variance
// CHECK: %[[V:.*]] = "fuse.load"
// CHECK: %[[W:.*]]:2 = "fuse.welford"(%[[V]]) {over = ["d1", "d2"]} : (f32) -> (f32, f32)
// CHECK-NOT: fuse.reduce
// CHECK-NOT: arith
// CHECK: "fuse.store"(%{{.*}}, %[[W]]#1,
module attributes {fuse.device = "cpu"} {
  func.func private @variance(%x: tensor<8x64x2xf32>, %o: tensor<8xf32>) -> tensor<8xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "64", d2 = "2"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %n = arith.constant 128.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1", "d2"]} : (tensor<8x64x2xf32>, i1, f32) -> f32
    %t = "fuse.reduce"(%v) {kind = "sum", over = ["d1", "d2"]} : (f32) -> f32
    %mean = arith.divf %t, %n : f32
    %d = arith.subf %v, %mean : f32
    %d2 = arith.mulf %d, %d : f32
    %m2 = "fuse.reduce"(%d2) {kind = "sum", over = ["d2", "d1"]} : (f32) -> f32
    %r = "fuse.store"(%o, %m2, %true) {at = ["d0"], mode = "set"} : (tensor<8xf32>, f32, i1) -> tensor<8xf32>
    return %r : tensor<8xf32>
  }
}

// -----

// A size that is not known: the count is the same expression.
// CHECK-LABEL: @symbolic
// CHECK: "fuse.welford"
module attributes {fuse.device = "cpu"} {
  func.func private @symbolic(%x: tensor<?xf32, #fuse.layout<"s0", "1", "0", "">>, %o: tensor<f32>, %s0: index {fuse.sym = "s0"}) -> tensor<f32>
      attributes {fuse.kernel, fuse.dims = {d0 = "s0"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %i = "fuse.index"() {expr = "s0"} : () -> i64
    %n = arith.sitofp %i : i64 to f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<?xf32, #fuse.layout<"s0", "1", "0", "">>, i1, f32) -> f32
    %t = "fuse.reduce"(%v) {kind = "sum", over = ["d0"]} : (f32) -> f32
    %mean = arith.divf %t, %n : f32
    %d = arith.subf %v, %mean : f32
    %d2 = arith.mulf %d, %d : f32
    %m2 = "fuse.reduce"(%d2) {kind = "sum", over = ["d0"]} : (f32) -> f32
    %r = "fuse.store"(%o, %m2, %true) {at = [], mode = "set"} : (tensor<f32>, f32, i1) -> tensor<f32>
    return %r : tensor<f32>
  }
}

// -----

// The mean of what Welford's method folds as well is its mean: the sum that nothing else reads goes.
// CHECK-LABEL: @mean_beside_variance
// CHECK: %[[V:.*]] = "fuse.load"
// CHECK-NEXT: %[[W:.*]]:2 = "fuse.welford"(%[[V]]) {over = ["d1"]} : (f32) -> (f32, f32)
// CHECK-NOT: fuse.reduce
// CHECK: %[[D:.*]] = arith.subf %[[V]], %[[W]]#0
// CHECK-NEXT: arith.mulf %[[D]], %[[W]]#1
// A sum that something else reads stays.
// CHECK-LABEL: @sum_and_mean_beside_variance
// CHECK: %[[V:.*]] = "fuse.load"
// CHECK-NEXT: %[[W:.*]]:2 = "fuse.welford"(%[[V]]) {over = ["d1"]} : (f32) -> (f32, f32)
// CHECK-NEXT: %[[T:.*]] = "fuse.reduce"(%[[V]])
// CHECK-NEXT: arith.addf %[[T]], %[[W]]#0
// One that comes first stays where its readers expect it.
// CHECK-LABEL: @mean_behind_variance
// CHECK: %[[V:.*]] = "fuse.load"
// CHECK-NEXT: %[[W:.*]]:2 = "fuse.welford"(%[[V]]) {over = ["d1"]} : (f32) -> (f32, f32)
// CHECK-NEXT: %[[S:.*]] = math.sqrt %[[W]]#1
// CHECK-NEXT: arith.mulf %[[S]], %[[W]]#0
module attributes {fuse.device = "cpu"} {
  func.func private @mean_beside_variance(%x: tensor<8x64xf32>, %o: tensor<8x64xf32>) -> tensor<8x64xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "64"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %n = arith.constant 64.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<8x64xf32>, i1, f32) -> f32
    %t = "fuse.reduce"(%v) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %mean = arith.divf %t, %n : f32
    %d = arith.subf %v, %mean : f32
    %w:2 = "fuse.welford"(%v) {over = ["d1"]} : (f32) -> (f32, f32)
    %y = arith.mulf %d, %w#1 : f32
    %r = "fuse.store"(%o, %y, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<8x64xf32>, f32, i1) -> tensor<8x64xf32>
    return %r : tensor<8x64xf32>
  }
  func.func private @sum_and_mean_beside_variance(%x: tensor<8x64xf32>, %o: tensor<8xf32>) -> tensor<8xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "64"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %n = arith.constant 64.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<8x64xf32>, i1, f32) -> f32
    %t = "fuse.reduce"(%v) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %mean = arith.divf %t, %n : f32
    %w:2 = "fuse.welford"(%v) {over = ["d1"]} : (f32) -> (f32, f32)
    %d = arith.addf %t, %mean : f32
    %y = arith.mulf %d, %w#1 : f32
    %r = "fuse.store"(%o, %y, %true) {at = ["d0"], mode = "set"} : (tensor<8xf32>, f32, i1) -> tensor<8xf32>
    return %r : tensor<8xf32>
  }
}

// -----

func.func private @mean_behind_variance(%x: tensor<8x64xf32>, %o: tensor<8xf32>) -> tensor<8xf32>
    attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "64"}, fuse.ties = array<i64: 1>} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : f32
  %n = arith.constant 64.0 : f32
  %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<8x64xf32>, i1, f32) -> f32
  %w:2 = "fuse.welford"(%v) {over = ["d1"]} : (f32) -> (f32, f32)
  %s = math.sqrt %w#1 : f32
  %t = "fuse.reduce"(%v) {kind = "sum", over = ["d1"]} : (f32) -> f32
  %mean = arith.divf %t, %n : f32
  %y = arith.mulf %s, %mean : f32
  %r = "fuse.store"(%o, %y, %true) {at = ["d0"], mode = "set"} : (tensor<8xf32>, f32, i1) -> tensor<8xf32>
  return %r : tensor<8xf32>
}

// -----

// Must not fire: the quotient is no mean, for its count, its operands or its dims; the sum is of something else.
// CHECK-LABEL: @no_mean_beside_variance
// CHECK-COUNT-4: arith.divf
module attributes {fuse.device = "cpu"} {
  func.func private @no_mean_beside_variance(%x: tensor<8x64xf32>, %o: tensor<8xf32>) -> tensor<8xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "64"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %m = arith.constant 63.0 : f32
    %n = arith.constant 64.0 : f32
    %k = arith.constant 512.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<8x64xf32>, i1, f32) -> f32
    %w:2 = "fuse.welford"(%v) {over = ["d1"]} : (f32) -> (f32, f32)
    %t = "fuse.reduce"(%v) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %a = arith.divf %t, %m : f32
    %b = arith.divf %n, %t : f32
    %all = "fuse.reduce"(%v) {kind = "sum", over = ["d0", "d1"]} : (f32) -> f32
    %c = arith.divf %all, %k : f32
    %v2 = arith.addf %v, %v : f32
    %t2 = "fuse.reduce"(%v2) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %d = arith.divf %t2, %n : f32
    %ab = arith.addf %a, %b : f32
    %cd = arith.addf %c, %d : f32
    %abcd = arith.addf %ab, %cd : f32
    %y = arith.mulf %abcd, %w#1 : f32
    %r = "fuse.store"(%o, %y, %true) {at = ["d0"], mode = "set"} : (tensor<8xf32>, f32, i1) -> tensor<8xf32>
    return %r : tensor<8xf32>
  }
}

// -----

// Must not fire: another value is subtracted from, the dims differ, the count differs or is no number.
// CHECK-LABEL: @other_value
// CHECK-NOT: fuse.online_softmax
// CHECK-LABEL: @other_dims
// CHECK-NOT: fuse.online_softmax
// CHECK-LABEL: @other_count
// CHECK-NOT: fuse.welford
// CHECK-LABEL: @nan_count
// CHECK-NOT: fuse.welford
// CHECK-LABEL: @infinite_count
// CHECK-NOT: fuse.welford
module attributes {fuse.device = "cpu"} {
  func.func private @other_value(%x: tensor<8x64xf32>, %o: tensor<8xf32>) -> tensor<8xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "64"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<8x64xf32>, i1, f32) -> f32
    %w = arith.addf %v, %v : f32
    %m = "fuse.reduce"(%v) {kind = "max", over = ["d1"]} : (f32) -> f32
    %c = arith.subf %w, %m : f32
    %e = math.exp %c : f32
    %s = "fuse.reduce"(%e) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d0"], mode = "set"} : (tensor<8xf32>, f32, i1) -> tensor<8xf32>
    return %r : tensor<8xf32>
  }
  func.func private @other_dims(%x: tensor<8x64xf32>, %o: tensor<f32>) -> tensor<f32>
      attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "64"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<8x64xf32>, i1, f32) -> f32
    %m = "fuse.reduce"(%v) {kind = "max", over = ["d1"]} : (f32) -> f32
    %c = arith.subf %v, %m : f32
    %e = math.exp %c : f32
    %s = "fuse.reduce"(%e) {kind = "sum", over = ["d0", "d1"]} : (f32) -> f32
    %r = "fuse.store"(%o, %s, %true) {at = [], mode = "set"} : (tensor<f32>, f32, i1) -> tensor<f32>
    return %r : tensor<f32>
  }
  func.func private @other_count(%x: tensor<8x64xf32>, %o: tensor<8xf32>) -> tensor<8xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "64"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %n = arith.constant 63.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<8x64xf32>, i1, f32) -> f32
    %t = "fuse.reduce"(%v) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %mean = arith.divf %t, %n : f32
    %d = arith.subf %v, %mean : f32
    %d2 = arith.mulf %d, %d : f32
    %m2 = "fuse.reduce"(%d2) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %r = "fuse.store"(%o, %m2, %true) {at = ["d0"], mode = "set"} : (tensor<8xf32>, f32, i1) -> tensor<8xf32>
    return %r : tensor<8xf32>
  }
  func.func private @nan_count(%x: tensor<8x64xf32>, %o: tensor<8xf32>) -> tensor<8xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "64"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %n = arith.constant 0x7FC00000 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<8x64xf32>, i1, f32) -> f32
    %t = "fuse.reduce"(%v) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %mean = arith.divf %t, %n : f32
    %d = arith.subf %v, %mean : f32
    %d2 = arith.mulf %d, %d : f32
    %m2 = "fuse.reduce"(%d2) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %r = "fuse.store"(%o, %m2, %true) {at = ["d0"], mode = "set"} : (tensor<8xf32>, f32, i1) -> tensor<8xf32>
    return %r : tensor<8xf32>
  }
  func.func private @infinite_count(%x: tensor<8x64xf32>, %o: tensor<8xf32>) -> tensor<8xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "64"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %n = arith.constant 0x7F800000 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<8x64xf32>, i1, f32) -> f32
    %t = "fuse.reduce"(%v) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %mean = arith.divf %t, %n : f32
    %d = arith.subf %v, %mean : f32
    %d2 = arith.mulf %d, %d : f32
    %m2 = "fuse.reduce"(%d2) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %r = "fuse.store"(%o, %m2, %true) {at = ["d0"], mode = "set"} : (tensor<8xf32>, f32, i1) -> tensor<8xf32>
    return %r : tensor<8xf32>
  }
}

// -----

// Another value weighted by a softmax: divided once, behind the sum.
// CHECK-LABEL: @expectation
// CHECK: %[[F:.*]]:3 = "fuse.online_expectation"(%[[V:.*]], %[[W:.*]]) {over = ["d1"], signs = array<i64: 0>} : (f32, f32) -> (f32, f32, f32)
// CHECK-NOT: math.exp
// CHECK: %[[T:.*]] = arith.divf %[[F]]#0, %[[F]]#2
// CHECK: "fuse.store"(%{{.*}}, %[[T]],
// The divergence of two softmaxes: weights below their maxima, the logarithms behind the sum.
// CHECK-LABEL: @divergence
// CHECK: %[[F:.*]]:5 = "fuse.online_expectation"(%{{.*}}, %{{.*}}) {over = ["d1"], signs = array<i64: 1, -1>}
// CHECK-NOT: fuse.reduce
// CHECK: %[[L:.*]] = math.log %[[F]]#2
// CHECK: %[[K:.*]] = math.log %[[F]]#4
// CHECK: %[[T:.*]] = arith.divf %[[F]]#0, %[[F]]#2
// CHECK: %[[D:.*]] = arith.subf %[[K]], %[[L]]
// CHECK: arith.addf %[[T]], %[[D]]
// Not normalised, and scaled by a number of the row.
// CHECK-LABEL: @scaled
// CHECK: %[[F:.*]]:3 = "fuse.online_expectation"
// CHECK-NOT: arith.divf
// CHECK: arith.mulf %[[F]]#0, %[[F]]#1
module attributes {fuse.device = "cpu"} {
  func.func private @expectation(%x: tensor<8x64xf32>, %y: tensor<8x64xf32>, %o: tensor<8xf32>) -> tensor<8xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "64"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<8x64xf32>, i1, f32) -> f32
    %m = "fuse.reduce"(%v) {kind = "max", over = ["d1"]} : (f32) -> f32
    %c = arith.subf %v, %m : f32
    %e = math.exp %c : f32
    %s = "fuse.reduce"(%e) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %w = "fuse.load"(%y, %true, %zero) {at = ["d0", "d1"]} : (tensor<8x64xf32>, i1, f32) -> f32
    %q = arith.divf %e, %s : f32
    %p = arith.mulf %q, %w : f32
    %t = "fuse.reduce"(%p) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %r = "fuse.store"(%o, %t, %true) {at = ["d0"], mode = "set"} : (tensor<8xf32>, f32, i1) -> tensor<8xf32>
    return %r : tensor<8xf32>
  }
  func.func private @divergence(%x: tensor<8x64xf32>, %y: tensor<8x64xf32>, %o: tensor<8xf32>) -> tensor<8xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "64"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<8x64xf32>, i1, f32) -> f32
    %m = "fuse.reduce"(%v) {kind = "max", over = ["d1"]} : (f32) -> f32
    %c = arith.subf %v, %m : f32
    %e = math.exp %c : f32
    %s = "fuse.reduce"(%e) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %w = "fuse.load"(%y, %true, %zero) {at = ["d0", "d1"]} : (tensor<8x64xf32>, i1, f32) -> f32
    %l = math.log %s : f32
    %q = arith.subf %c, %l : f32
    %wm = "fuse.reduce"(%w) {kind = "max", over = ["d1"]} : (f32) -> f32
    %wc = arith.subf %w, %wm : f32
    %we = math.exp %wc : f32
    %ws = "fuse.reduce"(%we) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %wl = math.log %ws : f32
    %wq = arith.subf %wc, %wl : f32
    %p = math.exp %q : f32
    %d = arith.subf %q, %wq : f32
    %pd = arith.mulf %p, %d : f32
    %t = "fuse.reduce"(%pd) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %r = "fuse.store"(%o, %t, %true) {at = ["d0"], mode = "set"} : (tensor<8xf32>, f32, i1) -> tensor<8xf32>
    return %r : tensor<8xf32>
  }
  func.func private @scaled(%x: tensor<8x64xf32>, %y: tensor<8x64xf32>, %o: tensor<8xf32>) -> tensor<8xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "64"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<8x64xf32>, i1, f32) -> f32
    %m = "fuse.reduce"(%v) {kind = "max", over = ["d1"]} : (f32) -> f32
    %c = arith.subf %v, %m : f32
    %e = math.exp %c : f32
    %s = "fuse.reduce"(%e) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %w = "fuse.load"(%y, %true, %zero) {at = ["d0", "d1"]} : (tensor<8x64xf32>, i1, f32) -> f32
    %em = arith.mulf %e, %m : f32
    %p = arith.mulf %em, %w : f32
    %t = "fuse.reduce"(%p) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %r = "fuse.store"(%o, %t, %true) {at = ["d0"], mode = "set"} : (tensor<8xf32>, f32, i1) -> tensor<8xf32>
    return %r : tensor<8xf32>
  }
}

// -----

// Must not fire: the row is read again anyway, the weight needs another sum over it, two exponentials.
// CHECK-LABEL: @stored
// CHECK-NOT: fuse.online_expectation
// CHECK-LABEL: @of_another_sum
// CHECK-NOT: fuse.online_expectation
// CHECK-LABEL: @squared
// CHECK-NOT: fuse.online_expectation
module attributes {fuse.device = "cpu"} {
  func.func private @stored(%x: tensor<8x64xf32>, %y: tensor<8x64xf32>, %o: tensor<8xf32>, %o2: tensor<8x64xf32>) -> (tensor<8xf32>, tensor<8x64xf32>)
      attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "64"}, fuse.ties = array<i64: 2, 3>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<8x64xf32>, i1, f32) -> f32
    %m = "fuse.reduce"(%v) {kind = "max", over = ["d1"]} : (f32) -> f32
    %c = arith.subf %v, %m : f32
    %e = math.exp %c : f32
    %s = "fuse.reduce"(%e) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %w = "fuse.load"(%y, %true, %zero) {at = ["d0", "d1"]} : (tensor<8x64xf32>, i1, f32) -> f32
    %q = arith.divf %e, %s : f32
    %p = arith.mulf %q, %w : f32
    %t = "fuse.reduce"(%p) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %r = "fuse.store"(%o, %t, %true) {at = ["d0"], mode = "set"} : (tensor<8xf32>, f32, i1) -> tensor<8xf32>
    %r2 = "fuse.store"(%o2, %q, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<8x64xf32>, f32, i1) -> tensor<8x64xf32>
    return %r, %r2 : tensor<8xf32>, tensor<8x64xf32>
  }
  func.func private @of_another_sum(%x: tensor<8x64xf32>, %y: tensor<8x64xf32>, %o: tensor<8xf32>) -> tensor<8xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "64"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<8x64xf32>, i1, f32) -> f32
    %m = "fuse.reduce"(%v) {kind = "max", over = ["d1"]} : (f32) -> f32
    %c = arith.subf %v, %m : f32
    %e = math.exp %c : f32
    %s = "fuse.reduce"(%e) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %w = "fuse.load"(%y, %true, %zero) {at = ["d0", "d1"]} : (tensor<8x64xf32>, i1, f32) -> f32
    %q = arith.divf %e, %s : f32
    %ws = "fuse.reduce"(%w) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %f = arith.mulf %w, %ws : f32
    %g = math.sqrt %f : f32
    %p = arith.mulf %q, %g : f32
    %t = "fuse.reduce"(%p) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %r = "fuse.store"(%o, %t, %true) {at = ["d0"], mode = "set"} : (tensor<8xf32>, f32, i1) -> tensor<8xf32>
    return %r : tensor<8xf32>
  }
  func.func private @squared(%x: tensor<8x64xf32>, %y: tensor<8x64xf32>, %o: tensor<8xf32>) -> tensor<8xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "64"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<8x64xf32>, i1, f32) -> f32
    %m = "fuse.reduce"(%v) {kind = "max", over = ["d1"]} : (f32) -> f32
    %c = arith.subf %v, %m : f32
    %e = math.exp %c : f32
    %s = "fuse.reduce"(%e) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %p = arith.mulf %e, %e : f32
    %t = "fuse.reduce"(%p) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %r = "fuse.store"(%o, %t, %true) {at = ["d0"], mode = "set"} : (tensor<8xf32>, f32, i1) -> tensor<8xf32>
    return %r : tensor<8xf32>
  }
}

// -----

// Bad input: the two sums would be one Welford step, were there a dim d1.
func.func private @no_dim(%x: tensor<8xf32>, %o: tensor<8xf32>) -> tensor<8xf32>
    attributes {fuse.kernel, fuse.dims = {d0 = "8"}, fuse.ties = array<i64: 1>} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : f32
  %n = arith.constant 8.0 : f32
  %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<8xf32>, i1, f32) -> f32
  // expected-error @+1 {{expected over to name dims of the operand (d0), got d1}}
  %t = "fuse.reduce"(%v) {kind = "sum", over = ["d1"]} : (f32) -> f32
  %mean = arith.divf %t, %n : f32
  %d = arith.subf %v, %mean : f32
  %d2 = arith.mulf %d, %d : f32
  // expected-error @+1 {{expected over to name dims of the operand (d0), got d1}}
  %m2 = "fuse.reduce"(%d2) {kind = "sum", over = ["d1"]} : (f32) -> f32
  %r = "fuse.store"(%o, %m2, %true) {at = ["d0"], mode = "set"} : (tensor<8xf32>, f32, i1) -> tensor<8xf32>
  return %r : tensor<8xf32>
}

// -----

// Bad input: the quotient would be a mean beside Welford's, had that the dim d1 too.
func.func private @no_dim_beside_variance(%x: tensor<8xf32>, %o: tensor<8xf32>) -> tensor<8xf32>
    attributes {fuse.kernel, fuse.dims = {d0 = "8"}, fuse.ties = array<i64: 1>} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : f32
  %n = arith.constant 8.0 : f32
  %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<8xf32>, i1, f32) -> f32
  // expected-error @+1 {{expected over to name dims of the operand (d0), got d1}}
  %w:2 = "fuse.welford"(%v) {over = ["d1"]} : (f32) -> (f32, f32)
  %t = "fuse.reduce"(%v) {kind = "sum", over = ["d0"]} : (f32) -> f32
  %mean = arith.divf %t, %n : f32
  %y = arith.mulf %mean, %w#1 : f32
  %r = "fuse.store"(%o, %y, %true) {at = ["d0"], mode = "set"} : (tensor<8xf32>, f32, i1) -> tensor<8xf32>
  return %r : tensor<8xf32>
}

// -----

// Must not fire: the mean of a Welford with weights is another one than that of all points.
// CHECK-LABEL: func.func private @mean_beside_weights
// CHECK: "fuse.welford"
// CHECK: "fuse.reduce"({{.*}}kind = "sum"
func.func private @mean_beside_weights(%x: tensor<8x64xf32>, %o: tensor<8xf32>, %p: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>)
    attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "64"}, fuse.ties = array<i64: 1, 2>} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : f32
  %n = arith.constant 64.0 : f32
  %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<8x64xf32>, i1, f32) -> f32
  %a = math.absf %v : f32
  %w:2 = "fuse.welford"(%v, %a) {over = ["d1"]} : (f32, f32) -> (f32, f32)
  %s = "fuse.reduce"(%v) {kind = "sum", over = ["d1"]} : (f32) -> f32
  %m = arith.divf %s, %n : f32
  %r = "fuse.store"(%o, %m, %true) {at = ["d0"], mode = "set"} : (tensor<8xf32>, f32, i1) -> tensor<8xf32>
  %q = "fuse.store"(%p, %w#1, %true) {at = ["d0"], mode = "set"} : (tensor<8xf32>, f32, i1) -> tensor<8xf32>
  return %r, %q : tensor<8xf32>, tensor<8xf32>
}
