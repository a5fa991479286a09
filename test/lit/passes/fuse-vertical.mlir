// RUN: fuse-opt %s --pass-pipeline="builtin.module(fuse-vertical)" --split-input-file --verify-diagnostics | FileCheck %s
// RUN: fuse-opt %s --pass-pipeline="builtin.module(fuse-vertical,fuse-vertical)" --split-input-file --verify-diagnostics | FileCheck %s
// RUN: not fuse-opt %s --pass-pipeline="builtin.module(fuse-vertical{hardware=abacus})" --split-input-file 2>&1 | FileCheck %s --check-prefix=HARDWARE

// HARDWARE: fuse-vertical: unknown hardware 'abacus': expected one of a100,

// A chain is one group; the independent kernel is in none.
// CHECK-LABEL: func.func @main
// CHECK: call @exp({{.*}}) {fuse.group = 0 : i64}
// CHECK: call @neg({{.*}}) {fuse.group = 0 : i64}
// CHECK: call @neg(%arg1, %{{[0-9]+}}) :
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<64xf32>, %y: tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>) {
    %o = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %a = call @exp(%x, %o) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    %p = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %b = call @neg(%a, %p) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
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

// A row reduction and its reader are one group: the reader's free dim has the reduced extent.
// CHECK-LABEL: func.func @main
// CHECK: call @amax({{.*}}) {fuse.group = 0 : i64}
// CHECK: call @sub({{.*}}) {fuse.group = 0 : i64}
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<8x64xf32>) -> tensor<8x64xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<8x1xf32>
    %m = call @amax(%x, %o) : (tensor<8x64xf32>, tensor<8x1xf32>) -> tensor<8x1xf32>
    %p = "fuse.empty"() {syms = []} : () -> tensor<8x64xf32>
    %y = call @sub(%x, %m, %p) : (tensor<8x64xf32>, tensor<8x1xf32>, tensor<8x64xf32>) -> tensor<8x64xf32>
    return %y : tensor<8x64xf32>
  }
  func.func private @amax(%x: tensor<8x64xf32>, %o: tensor<8x1xf32>) -> tensor<8x1xf32> attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "64"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<8x64xf32>, i1, f32) -> f32
    %m = "fuse.reduce"(%v) {kind = "max", over = ["d1"]} : (f32) -> f32
    %r = "fuse.store"(%o, %m, %true) {at = ["d0", "0"], mode = "set"} : (tensor<8x1xf32>, f32, i1) -> tensor<8x1xf32>
    return %r : tensor<8x1xf32>
  }
  func.func private @sub(%x: tensor<8x64xf32>, %m: tensor<8x1xf32>, %o: tensor<8x64xf32>) -> tensor<8x64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "64"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<8x64xf32>, i1, f32) -> f32
    %w = "fuse.load"(%m, %true, %zero) {at = ["d0", "0"]} : (tensor<8x1xf32>, i1, f32) -> f32
    %c = arith.subf %v, %w : f32
    %r = "fuse.store"(%o, %c, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<8x64xf32>, f32, i1) -> tensor<8x64xf32>
    return %r : tensor<8x64xf32>
  }
}

// -----

// Must not fire: an extern op runs between producer and consumer (rule cycle).
// CHECK-LABEL: func.func @main
// CHECK-NOT: fuse.group
// CHECK: return
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<64xf32>) -> tensor<64xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %a = call @exp(%x, %o) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    %n = call @extern_neg(%a) : (tensor<64xf32>) -> tensor<64xf32>
    %p = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %b = call @add(%a, %n, %p) : (tensor<64xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
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

// Must not fire: the whole tensor is added up, then used at every point (rule lost-parallelism); an order by token (rule cycle).
// CHECK-LABEL: func.func @main
// CHECK-NOT: fuse.group
// CHECK: return
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<64xf32>, %y: tensor<8xf32>) -> (tensor<8xf32>, tensor<64xf32>) {
    %o = "fuse.empty"() {syms = []} : () -> tensor<f32>
    %s = call @total(%x, %o) : (tensor<64xf32>, tensor<f32>) -> tensor<f32>
    %p = "fuse.empty"() {syms = []} : () -> tensor<8xf32>
    %z = call @plus(%y, %s, %p) : (tensor<8xf32>, tensor<f32>, tensor<8xf32>) -> tensor<8xf32>
    %q = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %a = call @exp(%x, %q) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    %t = "fuse.after"(%a) : (tensor<64xf32>) -> !fuse.token
    %u = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %b = call @late(%a, %u, %t) : (tensor<64xf32>, tensor<64xf32>, !fuse.token) -> tensor<64xf32>
    return %z, %b : tensor<8xf32>, tensor<64xf32>
  }
  func.func private @total(%x: tensor<64xf32>, %o: tensor<f32>) -> tensor<f32> attributes {fuse.kernel, fuse.dims = {d0 = "64"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<64xf32>, i1, f32) -> f32
    %m = "fuse.reduce"(%v) {kind = "sum", over = ["d0"]} : (f32) -> f32
    %r = "fuse.store"(%o, %m, %true) {at = [], mode = "set"} : (tensor<f32>, f32, i1) -> tensor<f32>
    return %r : tensor<f32>
  }
  func.func private @plus(%x: tensor<8xf32>, %s: tensor<f32>, %o: tensor<8xf32>) -> tensor<8xf32> attributes {fuse.kernel, fuse.dims = {d0 = "8"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<8xf32>, i1, f32) -> f32
    %w = "fuse.load"(%s, %true, %zero) {at = []} : (tensor<f32>, i1, f32) -> f32
    %c = arith.addf %v, %w : f32
    %r = "fuse.store"(%o, %c, %true) {at = ["d0"], mode = "set"} : (tensor<8xf32>, f32, i1) -> tensor<8xf32>
    return %r : tensor<8xf32>
  }
  func.func private @exp(%x0: tensor<64xf32>, %o: tensor<64xf32>) -> tensor<64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v0 = "fuse.load"(%x0, %true, %zero) {at = ["d0"]} : (tensor<64xf32>, i1, f32) -> f32
    %r = math.exp %v0 : f32
    %out = "fuse.store"(%o, %r, %true) {at = ["d0"], mode = "set"} : (tensor<64xf32>, f32, i1) -> tensor<64xf32>
    return %out : tensor<64xf32>
  }
  func.func private @late(%x0: tensor<64xf32>, %o: tensor<64xf32>, %t: !fuse.token) -> tensor<64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v0 = "fuse.load"(%x0, %true, %zero) {at = ["d0"]} : (tensor<64xf32>, i1, f32) -> f32
    %r = arith.negf %v0 : f32
    %out = "fuse.store"(%o, %r, %true) {at = ["d0"], mode = "set"} : (tensor<64xf32>, f32, i1) -> tensor<64xf32>
    return %out : tensor<64xf32>
  }
}

// -----

// Bad input: there is nothing to schedule.
// expected-error @+1 {{the module has no function @main}}
module attributes {fuse.device = "cpu"} {
}
