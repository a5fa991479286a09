// RUN: fuse-opt %s --pass-pipeline="builtin.module(materialize-fusion)" --split-input-file --verify-diagnostics | FileCheck %s

// One kernel: the tensor between them is a scalar now, and its destination is gone; the kernel alone in its group keeps its own.
// CHECK-LABEL: func.func @main
// CHECK-NEXT: %[[O:.*]] = "fuse.empty"
// CHECK-NEXT: %[[B:.*]] = call @fused_exp_neg_0(%arg0, %[[O]])
// CHECK: %[[C:.*]] = call @neg(%arg1, %{{[0-9]+}}) :
// CHECK: return %[[B]], %[[C]]
// CHECK-LABEL: func.func private @fused_exp_neg_0
// CHECK-SAME: fuse.ties = array<i64: 1>
// CHECK: %[[V:.*]] = "fuse.load"
// CHECK-NEXT: %[[E:.*]] = math.exp %[[V]]
// CHECK-NEXT: %[[N:.*]] = arith.negf %[[E]]
// CHECK-NEXT: "fuse.store"(%arg1, %[[N]],
// CHECK-NOT: "fuse.store"
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<64xf32>, %y: tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>) {
    %o = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %a = call @exp(%x, %o) {fuse.group = 0 : i64} : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    %p = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %b = call @neg(%a, %p) {fuse.group = 0 : i64} : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    %q = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %c = call @neg(%y, %q) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    return %b, %c : tensor<64xf32>, tensor<64xf32>
  }
  func.func private @exp(%x0: tensor<64xf32>, %o: tensor<64xf32>) -> tensor<64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v0 = "fuse.load"(%x0, %true, %zero) {at = ["d0"]} : (tensor<64xf32>, i1, f32) -> f32
    %r = math.exp %v0 : f32
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
}

// -----

// A result that others need is stored too; equal loads are one.
// CHECK-LABEL: func.func private @fused_exp_add_0
// CHECK-COUNT-1: "fuse.load"
// CHECK-NOT: "fuse.load"
// CHECK-COUNT-2: "fuse.store"
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>) {
    %o = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %a = call @exp(%x, %o) {fuse.group = 0 : i64} : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    %p = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %b = call @add(%a, %x, %p) {fuse.group = 0 : i64} : (tensor<64xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    return %a, %b : tensor<64xf32>, tensor<64xf32>
  }
  func.func private @exp(%x0: tensor<64xf32>, %o: tensor<64xf32>) -> tensor<64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v0 = "fuse.load"(%x0, %true, %zero) {at = ["d0"]} : (tensor<64xf32>, i1, f32) -> f32
    %r = math.exp %v0 : f32
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

// Must not fire: calls without a group stay apart.
// CHECK-LABEL: func.func @main
// CHECK: call @exp(
// CHECK: call @neg(
// CHECK-NOT: @fused
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<64xf32>) -> tensor<64xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %a = call @exp(%x, %o) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    %p = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %b = call @neg(%a, %p) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    return %b : tensor<64xf32>
  }
  func.func private @exp(%x0: tensor<64xf32>, %o: tensor<64xf32>) -> tensor<64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v0 = "fuse.load"(%x0, %true, %zero) {at = ["d0"]} : (tensor<64xf32>, i1, f32) -> f32
    %r = math.exp %v0 : f32
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
}

// -----

// Bad input: a group around an extern op that needs its first kernel and feeds its last.
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<64xf32>) -> tensor<64xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    // expected-error @+1 {{this group must run both before and after another operation}}
    %a = call @exp(%x, %o) {fuse.group = 0 : i64} : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    %n = call @extern_neg(%a) : (tensor<64xf32>) -> tensor<64xf32>
    %p = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %b = call @add(%a, %n, %p) {fuse.group = 0 : i64} : (tensor<64xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    return %b : tensor<64xf32>
  }
  func.func private @extern_neg(tensor<64xf32>) -> tensor<64xf32> attributes {fuse.extern = "aten.neg.default", fuse.args = [#fuse.arg<0 : i64>], fuse.kwargs = {}}
  func.func private @exp(%x0: tensor<64xf32>, %o: tensor<64xf32>) -> tensor<64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v0 = "fuse.load"(%x0, %true, %zero) {at = ["d0"]} : (tensor<64xf32>, i1, f32) -> f32
    %r = math.exp %v0 : f32
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

// Bad input: a group without a common iteration space.
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<64xf32>, %y: tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>) {
    %o = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    // expected-error @+1 {{the calls of this group cannot become one kernel: no tensor that both read is read at points that correspond}}
    %a = call @exp(%x, %o) {fuse.group = 0 : i64} : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    %p = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %b = call @neg(%y, %p) {fuse.group = 0 : i64} : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    return %a, %b : tensor<64xf32>, tensor<64xf32>
  }
  func.func private @exp(%x0: tensor<64xf32>, %o: tensor<64xf32>) -> tensor<64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v0 = "fuse.load"(%x0, %true, %zero) {at = ["d0"]} : (tensor<64xf32>, i1, f32) -> f32
    %r = math.exp %v0 : f32
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
}

// -----

// A group set by hand is merged, though fuse-vertical would refuse it (row maxima, then the sum down their column).
// CHECK-LABEL: func.func @main(%arg0: tensor<5x7xf32>)
// CHECK: call @fused_max_sum_0
// CHECK-LABEL: func.func private @fused_max_sum_0
// CHECK: %[[M:.*]] = "fuse.reduce"(%{{.*}}) {kind = "max", over = ["d1"]}
// CHECK-NEXT: "fuse.reduce"(%[[M]]) {kind = "sum", over = ["d0"]}
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<5x7xf32>) -> tensor<1x1xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<5x1xf32>
    %m = call @max(%x, %o) {fuse.group = 0 : i64} : (tensor<5x7xf32>, tensor<5x1xf32>) -> tensor<5x1xf32>
    %p = "fuse.empty"() {syms = []} : () -> tensor<1x1xf32>
    %s = call @sum(%m, %p) {fuse.group = 0 : i64} : (tensor<5x1xf32>, tensor<1x1xf32>) -> tensor<1x1xf32>
    return %s : tensor<1x1xf32>
  }
  func.func private @max(%x: tensor<5x7xf32>, %o: tensor<5x1xf32>) -> tensor<5x1xf32> attributes {fuse.kernel, fuse.dims = {d0 = "5", d1 = "7"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<5x7xf32>, i1, f32) -> f32
    %r = "fuse.reduce"(%v) {kind = "max", over = ["d1"]} : (f32) -> f32
    %out = "fuse.store"(%o, %r, %true) {at = ["d0", "0"], mode = "set"} : (tensor<5x1xf32>, f32, i1) -> tensor<5x1xf32>
    return %out : tensor<5x1xf32>
  }
  func.func private @sum(%x: tensor<5x1xf32>, %o: tensor<1x1xf32>) -> tensor<1x1xf32> attributes {fuse.kernel, fuse.dims = {d0 = "5", d1 = "1"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<5x1xf32>, i1, f32) -> f32
    %r = "fuse.reduce"(%v) {kind = "sum", over = ["d0"]} : (f32) -> f32
    %out = "fuse.store"(%o, %r, %true) {at = ["0", "d1"], mode = "set"} : (tensor<1x1xf32>, f32, i1) -> tensor<1x1xf32>
    return %out : tensor<1x1xf32>
  }
}

// -----

// A piece of a concatenation asserts something of what it reads: beside the piece nothing is read, nor asserted.
// CHECK-LABEL: func.func private @fused_check_cat_0
// CHECK: %[[IN:.*]] = arith.cmpi sge, %{{.*}}, %{{.*}} : i64
// CHECK: %[[V:.*]] = "fuse.load"(%{{.*}}, %[[IN]], %{{.*}}) {at = ["d0 - 3"]}
// CHECK: %[[OK:.*]] = arith.cmpf ogt, %[[V]], %{{.*}} : f32
// CHECK: "fuse.device_assert"(%[[OK]], %[[IN]]) {message = "not positive"}
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<4xf32>, %y: tensor<3xf32>) -> tensor<7xf32> {
    %e = "fuse.empty"() {syms = []} : () -> tensor<4xf32>
    %a = call @check(%x, %e) {fuse.group = 0 : i64} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %o = "fuse.empty"() {syms = []} : () -> tensor<7xf32>
    %r = call @cat(%y, %a, %o) {fuse.group = 0 : i64} : (tensor<3xf32>, tensor<4xf32>, tensor<7xf32>) -> tensor<7xf32>
    return %r : tensor<7xf32>
  }
  func.func private @check(%x: tensor<4xf32>, %o: tensor<4xf32>) -> tensor<4xf32> attributes {fuse.kernel, fuse.dims = {d0 = "4"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<4xf32>, i1, f32) -> f32
    %c = arith.cmpf ogt, %v, %zero : f32
    "fuse.device_assert"(%c, %true) {message = "not positive"} : (i1, i1) -> ()
    %r = "fuse.store"(%o, %v, %true) {at = ["d0"], mode = "set"} : (tensor<4xf32>, f32, i1) -> tensor<4xf32>
    return %r : tensor<4xf32>
  }
  func.func private @cat(%y: tensor<3xf32>, %x: tensor<4xf32>, %o: tensor<7xf32>) -> tensor<7xf32> attributes {fuse.kernel, fuse.dims = {d0 = "7"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %c0 = arith.constant 0 : i64
    %i = "fuse.index"() {expr = "d0 - 3"} : () -> i64
    %low = arith.cmpi slt, %i, %c0 : i64
    %high = arith.cmpi sge, %i, %c0 : i64
    %v = "fuse.load"(%y, %low, %zero) {at = ["d0"]} : (tensor<3xf32>, i1, f32) -> f32
    %w = "fuse.load"(%x, %high, %zero) {at = ["d0 - 3"]} : (tensor<4xf32>, i1, f32) -> f32
    %s = arith.select %low, %v, %w : f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d0"], mode = "set"} : (tensor<7xf32>, f32, i1) -> tensor<7xf32>
    return %r : tensor<7xf32>
  }
}

// -----

// A piece of a concatenation looks rows up: the index of a row is loaded, and asserted, once for the row.  Only the
// row itself is read behind the guard of the piece.
// CHECK-LABEL: func.func private @fused_look_up_cat_0
// CHECK: %[[TRUE:.*]] = arith.constant true
// CHECK: %[[IN:.*]] = arith.cmpi sge, %{{.*}}, %{{.*}} : i64
// CHECK: %[[INDEX:.*]] = "fuse.load"(%{{.*}}, %[[TRUE]], %{{.*}}) {at = ["d0"]}
// CHECK: %[[OK:.*]] = arith.cmpi ult, %[[INDEX]], %{{.*}} : i64
// CHECK: "fuse.device_assert"(%[[OK]], %[[TRUE]]) {message = "no row"}
// CHECK: %[[BOTH:.*]] = arith.andi %[[OK]], %[[IN]] : i1
// CHECK: "fuse.load"(%{{.*}}, %[[BOTH]], %{{.*}}, %[[INDEX]]) {at = ["i0", "d1 - 3"]}
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<5x2xf32>, %rows: tensor<4xi64>, %y: tensor<4x3xf32>) -> tensor<4x5xf32> {
    %e = "fuse.empty"() {syms = []} : () -> tensor<4x2xf32>
    %a = call @look_up(%x, %rows, %e) {fuse.group = 0 : i64} : (tensor<5x2xf32>, tensor<4xi64>, tensor<4x2xf32>) -> tensor<4x2xf32>
    %o = "fuse.empty"() {syms = []} : () -> tensor<4x5xf32>
    %r = call @cat(%y, %a, %o) {fuse.group = 0 : i64} : (tensor<4x3xf32>, tensor<4x2xf32>, tensor<4x5xf32>) -> tensor<4x5xf32>
    return %r : tensor<4x5xf32>
  }
  func.func private @look_up(%x: tensor<5x2xf32>, %rows: tensor<4xi64>, %o: tensor<4x2xf32>) -> tensor<4x2xf32> attributes {fuse.kernel, fuse.dims = {d0 = "4", d1 = "2"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %none = arith.constant 0 : i64
    %five = arith.constant 5 : i64
    %i = "fuse.load"(%rows, %true, %none) {at = ["d0"]} : (tensor<4xi64>, i1, i64) -> i64
    %c = arith.cmpi ult, %i, %five : i64
    "fuse.device_assert"(%c, %true) {message = "no row"} : (i1, i1) -> ()
    %v = "fuse.load"(%x, %c, %zero, %i) {at = ["i0", "d1"]} : (tensor<5x2xf32>, i1, f32, i64) -> f32
    %r = "fuse.store"(%o, %v, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<4x2xf32>, f32, i1) -> tensor<4x2xf32>
    return %r : tensor<4x2xf32>
  }
  func.func private @cat(%y: tensor<4x3xf32>, %x: tensor<4x2xf32>, %o: tensor<4x5xf32>) -> tensor<4x5xf32> attributes {fuse.kernel, fuse.dims = {d0 = "4", d1 = "5"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %c0 = arith.constant 0 : i64
    %i = "fuse.index"() {expr = "d1 - 3"} : () -> i64
    %low = arith.cmpi slt, %i, %c0 : i64
    %high = arith.cmpi sge, %i, %c0 : i64
    %v = "fuse.load"(%y, %low, %zero) {at = ["d0", "d1"]} : (tensor<4x3xf32>, i1, f32) -> f32
    %w = "fuse.load"(%x, %high, %zero) {at = ["d0", "d1 - 3"]} : (tensor<4x2xf32>, i1, f32) -> f32
    %s = arith.select %low, %v, %w : f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<4x5xf32>, f32, i1) -> tensor<4x5xf32>
    return %r : tensor<4x5xf32>
  }
}

// -----

// A concatenation is looked up at loaded indices: its coordinate is the index.
// CHECK-LABEL: func.func private @fused_cat_look_up_0
// CHECK: %[[ROW:.*]] = "fuse.load"(%{{.*}}, %{{.*}}, %{{.*}}) {at = ["d0"]}
// CHECK: %[[OK:.*]] = arith.cmpi ult, %[[ROW]], %{{.*}} : i64
// CHECK: "fuse.device_assert"(%[[OK]], %{{.*}}) {message = "no row"}
// CHECK: %[[AT:.*]] = "fuse.index"(%[[ROW]]) {expr = "i0 - 3"} : (i64) -> i64
// CHECK: %[[LOW:.*]] = arith.cmpi slt, %[[AT]], %{{.*}} : i64
// CHECK: %[[FIRST:.*]] = arith.andi %[[LOW]], %[[OK]] : i1
// CHECK: "fuse.load"(%{{.*}}, %[[FIRST]], %{{.*}}, %[[ROW]]) {at = ["i0"]}
// CHECK: "fuse.load"(%{{.*}}, %{{.*}}, %{{.*}}, %[[ROW]]) {at = ["i0 - 3"]}
module attributes {fuse.device = "cpu"} {
  func.func @main(%y: tensor<3xf32>, %x: tensor<4xf32>, %rows: tensor<5xi64>) -> tensor<5xf32> {
    %e = "fuse.empty"() {syms = []} : () -> tensor<7xf32>
    %a = call @cat(%y, %x, %e) {fuse.group = 0 : i64} : (tensor<3xf32>, tensor<4xf32>, tensor<7xf32>) -> tensor<7xf32>
    %o = "fuse.empty"() {syms = []} : () -> tensor<5xf32>
    %r = call @look_up(%a, %rows, %o) {fuse.group = 0 : i64} : (tensor<7xf32>, tensor<5xi64>, tensor<5xf32>) -> tensor<5xf32>
    return %r : tensor<5xf32>
  }
  func.func private @cat(%y: tensor<3xf32>, %x: tensor<4xf32>, %o: tensor<7xf32>) -> tensor<7xf32> attributes {fuse.kernel, fuse.dims = {d0 = "7"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %c0 = arith.constant 0 : i64
    %i = "fuse.index"() {expr = "d0 - 3"} : () -> i64
    %low = arith.cmpi slt, %i, %c0 : i64
    %high = arith.cmpi sge, %i, %c0 : i64
    %v = "fuse.load"(%y, %low, %zero) {at = ["d0"]} : (tensor<3xf32>, i1, f32) -> f32
    %w = "fuse.load"(%x, %high, %zero) {at = ["d0 - 3"]} : (tensor<4xf32>, i1, f32) -> f32
    %s = arith.select %low, %v, %w : f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d0"], mode = "set"} : (tensor<7xf32>, f32, i1) -> tensor<7xf32>
    return %r : tensor<7xf32>
  }
  func.func private @look_up(%x: tensor<7xf32>, %rows: tensor<5xi64>, %o: tensor<5xf32>) -> tensor<5xf32> attributes {fuse.kernel, fuse.dims = {d0 = "5"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %none = arith.constant 0 : i64
    %seven = arith.constant 7 : i64
    %i = "fuse.load"(%rows, %true, %none) {at = ["d0"]} : (tensor<5xi64>, i1, i64) -> i64
    %c = arith.cmpi ult, %i, %seven : i64
    "fuse.device_assert"(%c, %true) {message = "no row"} : (i1, i1) -> ()
    %v = "fuse.load"(%x, %c, %zero, %i) {at = ["i0"]} : (tensor<7xf32>, i1, f32, i64) -> f32
    %r = "fuse.store"(%o, %v, %true) {at = ["d0"], mode = "set"} : (tensor<5xf32>, f32, i1) -> tensor<5xf32>
    return %r : tensor<5xf32>
  }
}
