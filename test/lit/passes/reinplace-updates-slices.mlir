// RUN: fuse-opt %s --pass-pipeline="builtin.module(reinplace-updates{min-bytes=0})" --split-input-file --verify-diagnostics | FileCheck %s
// RUN: fuse-opt %s --pass-pipeline="builtin.module(reinplace-updates)" --split-input-file --verify-diagnostics | FileCheck %s --check-prefix=SMALL
// A kernel of the whole can fuse with others, which saves more than a short write of a small tensor.
// SMALL-LABEL: func.func @main
// SMALL: call @rows(

// Three rows of an argument, which is read afterwards: a kernel of three rows writes them.
// CHECK-LABEL: func.func @main
// CHECK-NEXT: %[[U:.*]] = call @rows_1(%arg0, %arg1)
// CHECK-NEXT: %[[Z:.*]] = call @neg(%[[U]])
// CHECK-NEXT: return {fuse.mutates = {"1" = 0 : i64}} %[[Z]], %[[U]]
// CHECK: func.func private @rows_1(%arg0: tensor<8x64xf32>, %arg1: tensor<3x64xf32>) -> tensor<8x64xf32>
// CHECK-SAME: fuse.dims = {d0 = "3", d1 = "64"}
// CHECK-SAME: fuse.ties = array<i64: 0>
// CHECK: %[[V:.*]] = "fuse.load"(%arg1, %{{.*}}, %{{.*}}) {at = ["d0", "d1"]}
// CHECK-NEXT: "fuse.store"(%arg0, %[[V]], %{{.*}}) {at = ["d0 + 2", "d1"], mode = "set"}
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<8x64xf32>, %k: tensor<3x64xf32>) -> (tensor<8x64xf32>, tensor<8x64xf32>) {
    %e = "fuse.empty"() {syms = []} : () -> tensor<8x64xf32>
    %u = call @rows(%x, %k, %e) : (tensor<8x64xf32>, tensor<3x64xf32>, tensor<8x64xf32>) -> tensor<8x64xf32>
    %z = call @neg(%u) : (tensor<8x64xf32>) -> tensor<8x64xf32>
    %b = call @copy(%u, %x) : (tensor<8x64xf32>, tensor<8x64xf32>) -> tensor<8x64xf32>
    return {fuse.mutates = {"1" = 0 : i64}} %z, %b : tensor<8x64xf32>, tensor<8x64xf32>
  }
  func.func private @rows(%x: tensor<8x64xf32>, %k: tensor<3x64xf32>, %o: tensor<8x64xf32>) -> tensor<8x64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "64"}, fuse.ties = array<i64: 2>} {
    %i = "fuse.index"() {expr = "d0 - 2"} : () -> i64
    %three = arith.constant 3 : i64
    %none = arith.constant 0 : i64
    %below = arith.cmpi slt, %i, %three : i64
    %above = arith.cmpi sge, %i, %none : i64
    %in = arith.andi %below, %above : i1
    %zero = arith.constant 0.0 : f32
    %new = "fuse.load"(%k, %in, %zero) {at = ["d0 - 2", "d1"]} : (tensor<3x64xf32>, i1, f32) -> f32
    %true = arith.constant true
    %out = arith.xori %in, %true : i1
    %old = "fuse.load"(%x, %out, %zero) {at = ["d0", "d1"]} : (tensor<8x64xf32>, i1, f32) -> f32
    %v = arith.select %in, %new, %old : f32
    %r = "fuse.store"(%o, %v, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<8x64xf32>, f32, i1) -> tensor<8x64xf32>
    return %r : tensor<8x64xf32>
  }
  func.func private @copy(%x: tensor<8x64xf32>, %o: tensor<8x64xf32>) -> tensor<8x64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "64"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<8x64xf32>, i1, f32) -> f32
    %r = "fuse.store"(%o, %v, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<8x64xf32>, f32, i1) -> tensor<8x64xf32>
    return %r : tensor<8x64xf32>
  }
  func.func private @neg(tensor<8x64xf32>) -> tensor<8x64xf32> attributes {fuse.extern = "aten.neg.default", fuse.args = [#fuse.arg<0 : i64>]}
}

// -----

// Rows of what a torch op has made, once their old values are read.
// CHECK-LABEL: func.func @main
// CHECK-NEXT: %[[N:.*]] = call @neg(%arg0)
// CHECK-NEXT: %[[O:.*]] = call @neg(%[[N]])
// CHECK-NEXT: %[[U:.*]] = call @rows_1(%[[N]], %arg1)
// CHECK-NEXT: return %[[O]], %[[U]]
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<8x64xf32>, %k: tensor<3x64xf32>) -> (tensor<8x64xf32>, tensor<8x64xf32>) {
    %n = call @neg(%x) : (tensor<8x64xf32>) -> tensor<8x64xf32>
    %o = call @neg(%n) : (tensor<8x64xf32>) -> tensor<8x64xf32>
    %e = "fuse.empty"() {syms = []} : () -> tensor<8x64xf32>
    %u = call @rows(%n, %k, %e) : (tensor<8x64xf32>, tensor<3x64xf32>, tensor<8x64xf32>) -> tensor<8x64xf32>
    return %o, %u : tensor<8x64xf32>, tensor<8x64xf32>
  }
  func.func private @rows(%x: tensor<8x64xf32>, %k: tensor<3x64xf32>, %o: tensor<8x64xf32>) -> tensor<8x64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "64"}, fuse.ties = array<i64: 2>} {
    %i = "fuse.index"() {expr = "d0 - 2"} : () -> i64
    %three = arith.constant 3 : i64
    %none = arith.constant 0 : i64
    %below = arith.cmpi slt, %i, %three : i64
    %above = arith.cmpi sge, %i, %none : i64
    %in = arith.andi %below, %above : i1
    %zero = arith.constant 0.0 : f32
    %new = "fuse.load"(%k, %in, %zero) {at = ["d0 - 2", "d1"]} : (tensor<3x64xf32>, i1, f32) -> f32
    %true = arith.constant true
    %out = arith.xori %in, %true : i1
    %old = "fuse.load"(%x, %out, %zero) {at = ["d0", "d1"]} : (tensor<8x64xf32>, i1, f32) -> f32
    %v = arith.select %in, %new, %old : f32
    %r = "fuse.store"(%o, %v, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<8x64xf32>, f32, i1) -> tensor<8x64xf32>
    return %r : tensor<8x64xf32>
  }
  func.func private @neg(tensor<8x64xf32>) -> tensor<8x64xf32> attributes {fuse.extern = "aten.neg.default", fuse.args = [#fuse.arg<0 : i64>]}
}

// -----

// Must not fire: the old rows are read later.
// CHECK-LABEL: func.func @main
// CHECK: call @rows(
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<8x64xf32>, %k: tensor<3x64xf32>) -> (tensor<8x64xf32>, tensor<8x64xf32>) {
    %n = call @neg(%x) : (tensor<8x64xf32>) -> tensor<8x64xf32>
    %e = "fuse.empty"() {syms = []} : () -> tensor<8x64xf32>
    %u = call @rows(%n, %k, %e) : (tensor<8x64xf32>, tensor<3x64xf32>, tensor<8x64xf32>) -> tensor<8x64xf32>
    %o = call @neg(%n) : (tensor<8x64xf32>) -> tensor<8x64xf32>
    return %o, %u : tensor<8x64xf32>, tensor<8x64xf32>
  }
  func.func private @rows(%x: tensor<8x64xf32>, %k: tensor<3x64xf32>, %o: tensor<8x64xf32>) -> tensor<8x64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "64"}, fuse.ties = array<i64: 2>} {
    %i = "fuse.index"() {expr = "d0 - 2"} : () -> i64
    %three = arith.constant 3 : i64
    %none = arith.constant 0 : i64
    %below = arith.cmpi slt, %i, %three : i64
    %above = arith.cmpi sge, %i, %none : i64
    %in = arith.andi %below, %above : i1
    %zero = arith.constant 0.0 : f32
    %new = "fuse.load"(%k, %in, %zero) {at = ["d0 - 2", "d1"]} : (tensor<3x64xf32>, i1, f32) -> f32
    %true = arith.constant true
    %out = arith.xori %in, %true : i1
    %old = "fuse.load"(%x, %out, %zero) {at = ["d0", "d1"]} : (tensor<8x64xf32>, i1, f32) -> f32
    %v = arith.select %in, %new, %old : f32
    %r = "fuse.store"(%o, %v, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<8x64xf32>, f32, i1) -> tensor<8x64xf32>
    return %r : tensor<8x64xf32>
  }
  func.func private @neg(tensor<8x64xf32>) -> tensor<8x64xf32> attributes {fuse.extern = "aten.neg.default", fuse.args = [#fuse.arg<0 : i64>]}
}

// -----

// Must not fire: the caller gets the old value, too.
// CHECK-LABEL: func.func @main
// CHECK: call @rows(
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<8x64xf32>, %k: tensor<3x64xf32>) -> (tensor<8x64xf32>, tensor<8x64xf32>) {
    %n = call @neg(%x) : (tensor<8x64xf32>) -> tensor<8x64xf32>
    %e = "fuse.empty"() {syms = []} : () -> tensor<8x64xf32>
    %u = call @rows(%n, %k, %e) : (tensor<8x64xf32>, tensor<3x64xf32>, tensor<8x64xf32>) -> tensor<8x64xf32>
    return %n, %u : tensor<8x64xf32>, tensor<8x64xf32>
  }
  func.func private @rows(%x: tensor<8x64xf32>, %k: tensor<3x64xf32>, %o: tensor<8x64xf32>) -> tensor<8x64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "64"}, fuse.ties = array<i64: 2>} {
    %i = "fuse.index"() {expr = "d0 - 2"} : () -> i64
    %three = arith.constant 3 : i64
    %none = arith.constant 0 : i64
    %below = arith.cmpi slt, %i, %three : i64
    %above = arith.cmpi sge, %i, %none : i64
    %in = arith.andi %below, %above : i1
    %zero = arith.constant 0.0 : f32
    %new = "fuse.load"(%k, %in, %zero) {at = ["d0 - 2", "d1"]} : (tensor<3x64xf32>, i1, f32) -> f32
    %true = arith.constant true
    %out = arith.xori %in, %true : i1
    %old = "fuse.load"(%x, %out, %zero) {at = ["d0", "d1"]} : (tensor<8x64xf32>, i1, f32) -> f32
    %v = arith.select %in, %new, %old : f32
    %r = "fuse.store"(%o, %v, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<8x64xf32>, f32, i1) -> tensor<8x64xf32>
    return %r : tensor<8x64xf32>
  }
  func.func private @neg(tensor<8x64xf32>) -> tensor<8x64xf32> attributes {fuse.extern = "aten.neg.default", fuse.args = [#fuse.arg<0 : i64>]}
}

// -----

// Must not fire: only kernels read the update, which can fuse with them.
// CHECK-LABEL: func.func @main
// CHECK: call @rows(
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<8x64xf32>, %k: tensor<3x64xf32>) -> (tensor<8x64xf32>) {
    %n = call @neg(%x) : (tensor<8x64xf32>) -> tensor<8x64xf32>
    %e = "fuse.empty"() {syms = []} : () -> tensor<8x64xf32>
    %u = call @rows(%n, %k, %e) : (tensor<8x64xf32>, tensor<3x64xf32>, tensor<8x64xf32>) -> tensor<8x64xf32>
    %f = "fuse.empty"() {syms = []} : () -> tensor<8x64xf32>
    %c = call @copy(%u, %f) : (tensor<8x64xf32>, tensor<8x64xf32>) -> tensor<8x64xf32>
    return %c : tensor<8x64xf32>
  }
  func.func private @rows(%x: tensor<8x64xf32>, %k: tensor<3x64xf32>, %o: tensor<8x64xf32>) -> tensor<8x64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "64"}, fuse.ties = array<i64: 2>} {
    %i = "fuse.index"() {expr = "d0 - 2"} : () -> i64
    %three = arith.constant 3 : i64
    %none = arith.constant 0 : i64
    %below = arith.cmpi slt, %i, %three : i64
    %above = arith.cmpi sge, %i, %none : i64
    %in = arith.andi %below, %above : i1
    %zero = arith.constant 0.0 : f32
    %new = "fuse.load"(%k, %in, %zero) {at = ["d0 - 2", "d1"]} : (tensor<3x64xf32>, i1, f32) -> f32
    %true = arith.constant true
    %out = arith.xori %in, %true : i1
    %old = "fuse.load"(%x, %out, %zero) {at = ["d0", "d1"]} : (tensor<8x64xf32>, i1, f32) -> f32
    %v = arith.select %in, %new, %old : f32
    %r = "fuse.store"(%o, %v, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<8x64xf32>, f32, i1) -> tensor<8x64xf32>
    return %r : tensor<8x64xf32>
  }
  func.func private @copy(%x: tensor<8x64xf32>, %o: tensor<8x64xf32>) -> tensor<8x64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "64"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<8x64xf32>, i1, f32) -> f32
    %r = "fuse.store"(%o, %v, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<8x64xf32>, f32, i1) -> tensor<8x64xf32>
    return %r : tensor<8x64xf32>
  }
  func.func private @neg(tensor<8x64xf32>) -> tensor<8x64xf32> attributes {fuse.extern = "aten.neg.default", fuse.args = [#fuse.arg<0 : i64>]}
}

// -----

// Must not fire: the argument is not written.
// CHECK-LABEL: func.func @main
// CHECK: call @rows(
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<8x64xf32>, %k: tensor<3x64xf32>) -> (tensor<8x64xf32>) {
    %e = "fuse.empty"() {syms = []} : () -> tensor<8x64xf32>
    %u = call @rows(%x, %k, %e) : (tensor<8x64xf32>, tensor<3x64xf32>, tensor<8x64xf32>) -> tensor<8x64xf32>
    return %u : tensor<8x64xf32>
  }
  func.func private @rows(%x: tensor<8x64xf32>, %k: tensor<3x64xf32>, %o: tensor<8x64xf32>) -> tensor<8x64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "64"}, fuse.ties = array<i64: 2>} {
    %i = "fuse.index"() {expr = "d0 - 2"} : () -> i64
    %three = arith.constant 3 : i64
    %none = arith.constant 0 : i64
    %below = arith.cmpi slt, %i, %three : i64
    %above = arith.cmpi sge, %i, %none : i64
    %in = arith.andi %below, %above : i1
    %zero = arith.constant 0.0 : f32
    %new = "fuse.load"(%k, %in, %zero) {at = ["d0 - 2", "d1"]} : (tensor<3x64xf32>, i1, f32) -> f32
    %true = arith.constant true
    %out = arith.xori %in, %true : i1
    %old = "fuse.load"(%x, %out, %zero) {at = ["d0", "d1"]} : (tensor<8x64xf32>, i1, f32) -> f32
    %v = arith.select %in, %new, %old : f32
    %r = "fuse.store"(%o, %v, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<8x64xf32>, f32, i1) -> tensor<8x64xf32>
    return %r : tensor<8x64xf32>
  }
}

// -----

// Every second row.
// CHECK-LABEL: func.func @main
// CHECK: call @odd_1(%{{.*}}, %arg1)
// CHECK: fuse.dims = {d0 = "4", d1 = "64"}
// CHECK: {at = ["d0", "d1"]}
// CHECK-NEXT: {at = ["d0*2 + 1", "d1"], mode = "set"}
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<8x64xf32>, %k: tensor<4x64xf32>) -> (tensor<8x64xf32>) {
    %n = call @neg(%x) : (tensor<8x64xf32>) -> tensor<8x64xf32>
    %e = "fuse.empty"() {syms = []} : () -> tensor<8x64xf32>
    %u = call @odd(%n, %k, %e) : (tensor<8x64xf32>, tensor<4x64xf32>, tensor<8x64xf32>) -> tensor<8x64xf32>
    return %u : tensor<8x64xf32>
  }
  func.func private @odd(%x: tensor<8x64xf32>, %k: tensor<4x64xf32>, %o: tensor<8x64xf32>) -> tensor<8x64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "64"}, fuse.ties = array<i64: 2>} {
    %i = "fuse.index"() {expr = "d0 - 1"} : () -> i64
    %three = arith.constant 8 : i64
    %none = arith.constant 0 : i64
    %below = arith.cmpi slt, %i, %three : i64
    %above = arith.cmpi sge, %i, %none : i64
    %some = arith.andi %below, %above : i1
    %m = "fuse.index"() {expr = "(d0 - 1) mod 2"} : () -> i64
    %even = arith.cmpi eq, %m, %none : i64
    %in = arith.andi %some, %even : i1
    %zero = arith.constant 0.0 : f32
    %new = "fuse.load"(%k, %in, %zero) {at = ["(d0 - 1) floordiv 2", "d1"]} : (tensor<4x64xf32>, i1, f32) -> f32
    %true = arith.constant true
    %out = arith.xori %in, %true : i1
    %old = "fuse.load"(%x, %out, %zero) {at = ["d0", "d1"]} : (tensor<8x64xf32>, i1, f32) -> f32
    %v = arith.select %in, %new, %old : f32
    %r = "fuse.store"(%o, %v, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<8x64xf32>, f32, i1) -> tensor<8x64xf32>
    return %r : tensor<8x64xf32>
  }
  func.func private @neg(tensor<8x64xf32>) -> tensor<8x64xf32> attributes {fuse.extern = "aten.neg.default", fuse.args = [#fuse.arg<0 : i64>]}
}

// -----

// Must not fire: every second column is in each piece of memory.
// CHECK-LABEL: func.func @main
// CHECK: call @columns(
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<8x64xf32>, %k: tensor<8x32xf32>) -> (tensor<8x64xf32>) {
    %n = call @neg(%x) : (tensor<8x64xf32>) -> tensor<8x64xf32>
    %e = "fuse.empty"() {syms = []} : () -> tensor<8x64xf32>
    %u = call @columns(%n, %k, %e) : (tensor<8x64xf32>, tensor<8x32xf32>, tensor<8x64xf32>) -> tensor<8x64xf32>
    return %u : tensor<8x64xf32>
  }
  func.func private @columns(%x: tensor<8x64xf32>, %k: tensor<8x32xf32>, %o: tensor<8x64xf32>) -> tensor<8x64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "64"}, fuse.ties = array<i64: 2>} {
    %i = "fuse.index"() {expr = "d1"} : () -> i64
    %end = arith.constant 64 : i64
    %none = arith.constant 0 : i64
    %below = arith.cmpi slt, %i, %end : i64
    %m = "fuse.index"() {expr = "d1 mod 2"} : () -> i64
    %even = arith.cmpi eq, %m, %none : i64
    %in = arith.andi %below, %even : i1
    %zero = arith.constant 0.0 : f32
    %new = "fuse.load"(%k, %in, %zero) {at = ["d0", "d1 floordiv 2"]} : (tensor<8x32xf32>, i1, f32) -> f32
    %true = arith.constant true
    %out = arith.xori %in, %true : i1
    %old = "fuse.load"(%x, %out, %zero) {at = ["d0", "d1"]} : (tensor<8x64xf32>, i1, f32) -> f32
    %v = arith.select %in, %new, %old : f32
    %r = "fuse.store"(%o, %v, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<8x64xf32>, f32, i1) -> tensor<8x64xf32>
    return %r : tensor<8x64xf32>
  }
  func.func private @neg(tensor<8x64xf32>) -> tensor<8x64xf32> attributes {fuse.extern = "aten.neg.default", fuse.args = [#fuse.arg<0 : i64>]}
}

// -----

// Must not fire: the conditions hold in more rows than the new value has.
// CHECK-LABEL: func.func @main
// CHECK: call @rows(
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<8x64xf32>, %k: tensor<1x64xf32>) -> (tensor<8x64xf32>) {
    %n = call @neg(%x) : (tensor<8x64xf32>) -> tensor<8x64xf32>
    %e = "fuse.empty"() {syms = []} : () -> tensor<8x64xf32>
    %u = call @rows(%n, %k, %e) : (tensor<8x64xf32>, tensor<1x64xf32>, tensor<8x64xf32>) -> tensor<8x64xf32>
    return %u : tensor<8x64xf32>
  }
  func.func private @rows(%x: tensor<8x64xf32>, %k: tensor<1x64xf32>, %o: tensor<8x64xf32>) -> tensor<8x64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "64"}, fuse.ties = array<i64: 2>} {
    %i = "fuse.index"() {expr = "d0 - 2"} : () -> i64
    %three = arith.constant 3 : i64
    %none = arith.constant 0 : i64
    %below = arith.cmpi slt, %i, %three : i64
    %above = arith.cmpi sge, %i, %none : i64
    %in = arith.andi %below, %above : i1
    %zero = arith.constant 0.0 : f32
    %new = "fuse.load"(%k, %in, %zero) {at = ["0", "d1"]} : (tensor<1x64xf32>, i1, f32) -> f32
    %true = arith.constant true
    %out = arith.xori %in, %true : i1
    %old = "fuse.load"(%x, %out, %zero) {at = ["d0", "d1"]} : (tensor<8x64xf32>, i1, f32) -> f32
    %v = arith.select %in, %new, %old : f32
    %r = "fuse.store"(%o, %v, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<8x64xf32>, f32, i1) -> tensor<8x64xf32>
    return %r : tensor<8x64xf32>
  }
  func.func private @neg(tensor<8x64xf32>) -> tensor<8x64xf32> attributes {fuse.extern = "aten.neg.default", fuse.args = [#fuse.arg<0 : i64>]}
}

// -----

// Must not fire: the value at one point depends on what is there.
// CHECK-LABEL: func.func @main
// CHECK: call @rows(
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<8x64xf32>, %k: tensor<3x64xf32>) -> (tensor<8x64xf32>) {
    %n = call @neg(%x) : (tensor<8x64xf32>) -> tensor<8x64xf32>
    %e = "fuse.empty"() {syms = []} : () -> tensor<8x64xf32>
    %u = call @rows(%n, %k, %e) : (tensor<8x64xf32>, tensor<3x64xf32>, tensor<8x64xf32>) -> tensor<8x64xf32>
    return %u : tensor<8x64xf32>
  }
  func.func private @rows(%x: tensor<8x64xf32>, %k: tensor<3x64xf32>, %o: tensor<8x64xf32>) -> tensor<8x64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "64"}, fuse.ties = array<i64: 2>} {
    %i = "fuse.index"() {expr = "d0 - 2"} : () -> i64
    %three = arith.constant 3 : i64
    %none = arith.constant 0 : i64
    %below = arith.cmpi slt, %i, %three : i64
    %above = arith.cmpi sge, %i, %none : i64
    %in = arith.andi %below, %above : i1
    %zero = arith.constant 0.0 : f32
    %new = "fuse.load"(%k, %in, %zero) {at = ["d0 - 2", "d1"]} : (tensor<3x64xf32>, i1, f32) -> f32
    %true = arith.constant true
    %out = arith.xori %in, %true : i1
    %old = "fuse.load"(%x, %out, %zero) {at = ["d0", "d1"]} : (tensor<8x64xf32>, i1, f32) -> f32
    %sum = arith.addf %new, %old : f32
    %v = arith.select %in, %sum, %old : f32
    %r = "fuse.store"(%o, %v, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<8x64xf32>, f32, i1) -> tensor<8x64xf32>
    return %r : tensor<8x64xf32>
  }
  func.func private @neg(tensor<8x64xf32>) -> tensor<8x64xf32> attributes {fuse.extern = "aten.neg.default", fuse.args = [#fuse.arg<0 : i64>]}
}

// -----

// Must not fire: a kernel that asserts has no result.
// CHECK-LABEL: func.func @main
// CHECK: call @check(
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
    call @check(%x) : (tensor<8xf32>) -> ()
    return %x : tensor<8xf32>
  }
  func.func private @check(%x: tensor<8xf32>) attributes {fuse.kernel, fuse.dims = {d0 = "8"}, fuse.ties = array<i64>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<8xf32>, i1, f32) -> f32
    %c = arith.cmpf oge, %v, %zero : f32
    "fuse.device_assert"(%c, %true) {message = "below zero"} : (i1, i1) -> ()
    return
  }
}

// -----

// Bad input: there is nothing to schedule.
// expected-error @+1 {{the module has no function @main}}
module {
}
