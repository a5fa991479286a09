// RUN: fuse-opt %s --pass-pipeline="builtin.module(reinplace-updates)" --split-input-file --verify-diagnostics | FileCheck %s
// RUN: fuse-opt %s --pass-pipeline="builtin.module(reinplace-updates)" --split-input-file --verify-diagnostics --remarks=text 2>&1 >/dev/null | FileCheck %s --check-prefix=SAID
// SAID: passed: reinplace-updates: updated

// Two updates of a copy that is copied back: they update the argument, whose old value was read before.
// CHECK-LABEL: func.func @main
// CHECK-NEXT: call @neg(%arg0)
// CHECK-NEXT: %[[U:.*]] = call @put(%arg1, %arg2, %arg0)
// CHECK-NEXT: %[[W:.*]] = call @put(%arg1, %arg3, %[[U]])
// CHECK-NEXT: %[[Z:.*]] = call @neg(%[[W]])
// CHECK-NEXT: return {fuse.mutates = {"1" = 0 : i64}} %[[Z]], %[[W]]
// CHECK-NOT: @copy
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<8x64xf32>, %i: tensor<2xi64>, %k: tensor<2x64xf32>, %l: tensor<2x64xf32>) -> (tensor<8x64xf32>, tensor<8x64xf32>) {
    %n = call @neg(%x) : (tensor<8x64xf32>) -> tensor<8x64xf32>
    %e = "fuse.empty"() {syms = []} : () -> tensor<8x64xf32>
    %c = call @copy(%x, %e) : (tensor<8x64xf32>, tensor<8x64xf32>) -> tensor<8x64xf32>
    %u = call @put(%i, %k, %c) : (tensor<2xi64>, tensor<2x64xf32>, tensor<8x64xf32>) -> tensor<8x64xf32>
    %w = call @put(%i, %l, %u) : (tensor<2xi64>, tensor<2x64xf32>, tensor<8x64xf32>) -> tensor<8x64xf32>
    %z = call @neg(%w) : (tensor<8x64xf32>) -> tensor<8x64xf32>
    %b = call @copy(%w, %x) : (tensor<8x64xf32>, tensor<8x64xf32>) -> tensor<8x64xf32>
    return {fuse.mutates = {"1" = 0 : i64}} %z, %b : tensor<8x64xf32>, tensor<8x64xf32>
  }
  func.func private @copy(%x: tensor<8x64xf32>, %o: tensor<8x64xf32>) -> tensor<8x64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "64"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<8x64xf32>, i1, f32) -> f32
    %r = "fuse.store"(%o, %v, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<8x64xf32>, f32, i1) -> tensor<8x64xf32>
    return %r : tensor<8x64xf32>
  }
  func.func private @put(%i: tensor<2xi64>, %k: tensor<2x64xf32>, %c: tensor<8x64xf32>) -> tensor<8x64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "2", d1 = "64"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %none = arith.constant 0 : i64
    %p = "fuse.load"(%i, %true, %none) {at = ["d0"]} : (tensor<2xi64>, i1, i64) -> i64
    %v = "fuse.load"(%k, %true, %zero) {at = ["d0", "d1"]} : (tensor<2x64xf32>, i1, f32) -> f32
    %r = "fuse.store"(%c, %v, %true, %p) {at = ["i0", "d1"], mode = "set"} : (tensor<8x64xf32>, f32, i1, i64) -> tensor<8x64xf32>
    return %r : tensor<8x64xf32>
  }
  func.func private @neg(tensor<8x64xf32>) -> tensor<8x64xf32> attributes {fuse.extern = "aten.neg.default", fuse.args = [#fuse.arg<0 : i64>]}
}

// -----

// Must not fire: the copy is written into what a torch op has made, which has no other place.
// CHECK-LABEL: func.func @main
// CHECK: call @copy
// CHECK: call @put
// CHECK: call @copy
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<8x64xf32>, %i: tensor<2xi64>, %k: tensor<2x64xf32>) -> tensor<8x64xf32> {
    %e = call @neg(%x) : (tensor<8x64xf32>) -> tensor<8x64xf32>
    %c = call @copy(%x, %e) : (tensor<8x64xf32>, tensor<8x64xf32>) -> tensor<8x64xf32>
    %u = call @put(%i, %k, %c) : (tensor<2xi64>, tensor<2x64xf32>, tensor<8x64xf32>) -> tensor<8x64xf32>
    %b = call @copy(%u, %x) : (tensor<8x64xf32>, tensor<8x64xf32>) -> tensor<8x64xf32>
    return {fuse.mutates = {"0" = 0 : i64}} %b : tensor<8x64xf32>
  }
  func.func private @copy(%x: tensor<8x64xf32>, %o: tensor<8x64xf32>) -> tensor<8x64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "64"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<8x64xf32>, i1, f32) -> f32
    %r = "fuse.store"(%o, %v, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<8x64xf32>, f32, i1) -> tensor<8x64xf32>
    return %r : tensor<8x64xf32>
  }
  func.func private @put(%i: tensor<2xi64>, %k: tensor<2x64xf32>, %c: tensor<8x64xf32>) -> tensor<8x64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "2", d1 = "64"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %none = arith.constant 0 : i64
    %p = "fuse.load"(%i, %true, %none) {at = ["d0"]} : (tensor<2xi64>, i1, i64) -> i64
    %v = "fuse.load"(%k, %true, %zero) {at = ["d0", "d1"]} : (tensor<2x64xf32>, i1, f32) -> f32
    %r = "fuse.store"(%c, %v, %true, %p) {at = ["i0", "d1"], mode = "set"} : (tensor<8x64xf32>, f32, i1, i64) -> tensor<8x64xf32>
    return %r : tensor<8x64xf32>
  }
  func.func private @neg(tensor<8x64xf32>) -> tensor<8x64xf32> attributes {fuse.extern = "aten.neg.default", fuse.args = [#fuse.arg<0 : i64>]}
}

// -----

// A second update of a copy of the first one's result, which is read in between.
// CHECK-LABEL: func.func @main
// CHECK-NEXT: %[[U:.*]] = call @put(%arg1, %arg2, %arg0)
// CHECK-NEXT: %[[Z:.*]] = call @neg(%[[U]])
// CHECK-NEXT: %[[W:.*]] = call @put(%arg1, %arg3, %[[U]])
// CHECK-NEXT: return {fuse.mutates = {"1" = 0 : i64}} %[[Z]], %[[W]]
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<8x64xf32>, %i: tensor<2xi64>, %k: tensor<2x64xf32>, %l: tensor<2x64xf32>) -> (tensor<8x64xf32>, tensor<8x64xf32>) {
    %e = "fuse.empty"() {syms = []} : () -> tensor<8x64xf32>
    %c = call @copy(%x, %e) : (tensor<8x64xf32>, tensor<8x64xf32>) -> tensor<8x64xf32>
    %u = call @put(%i, %k, %c) : (tensor<2xi64>, tensor<2x64xf32>, tensor<8x64xf32>) -> tensor<8x64xf32>
    %f = "fuse.empty"() {syms = []} : () -> tensor<8x64xf32>
    %d = call @copy(%u, %f) : (tensor<8x64xf32>, tensor<8x64xf32>) -> tensor<8x64xf32>
    %z = call @neg(%u) : (tensor<8x64xf32>) -> tensor<8x64xf32>
    %w = call @put(%i, %l, %d) : (tensor<2xi64>, tensor<2x64xf32>, tensor<8x64xf32>) -> tensor<8x64xf32>
    %b = call @copy(%w, %x) : (tensor<8x64xf32>, tensor<8x64xf32>) -> tensor<8x64xf32>
    return {fuse.mutates = {"1" = 0 : i64}} %z, %b : tensor<8x64xf32>, tensor<8x64xf32>
  }
  func.func private @copy(%x: tensor<8x64xf32>, %o: tensor<8x64xf32>) -> tensor<8x64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "64"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<8x64xf32>, i1, f32) -> f32
    %r = "fuse.store"(%o, %v, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<8x64xf32>, f32, i1) -> tensor<8x64xf32>
    return %r : tensor<8x64xf32>
  }
  func.func private @put(%i: tensor<2xi64>, %k: tensor<2x64xf32>, %c: tensor<8x64xf32>) -> tensor<8x64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "2", d1 = "64"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %none = arith.constant 0 : i64
    %p = "fuse.load"(%i, %true, %none) {at = ["d0"]} : (tensor<2xi64>, i1, i64) -> i64
    %v = "fuse.load"(%k, %true, %zero) {at = ["d0", "d1"]} : (tensor<2x64xf32>, i1, f32) -> f32
    %r = "fuse.store"(%c, %v, %true, %p) {at = ["i0", "d1"], mode = "set"} : (tensor<8x64xf32>, f32, i1, i64) -> tensor<8x64xf32>
    return %r : tensor<8x64xf32>
  }
  func.func private @neg(tensor<8x64xf32>) -> tensor<8x64xf32> attributes {fuse.extern = "aten.neg.default", fuse.args = [#fuse.arg<0 : i64>]}
}

// -----

// Must not fire: the old value is read after the update.
// CHECK-LABEL: func.func @main
// CHECK: %[[E:.*]] = "fuse.empty"
// CHECK: %[[C:.*]] = call @copy(%arg0, %[[E]])
// CHECK: call @put(%arg1, %arg2, %[[C]])
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<8x64xf32>, %i: tensor<2xi64>, %k: tensor<2x64xf32>, %l: tensor<2x64xf32>) -> (tensor<8x64xf32>, tensor<8x64xf32>) {
    %e = "fuse.empty"() {syms = []} : () -> tensor<8x64xf32>
    %c = call @copy(%x, %e) : (tensor<8x64xf32>, tensor<8x64xf32>) -> tensor<8x64xf32>
    %u = call @put(%i, %k, %c) : (tensor<2xi64>, tensor<2x64xf32>, tensor<8x64xf32>) -> tensor<8x64xf32>
    %z = call @neg(%x) : (tensor<8x64xf32>) -> tensor<8x64xf32>
    %b = call @copy(%u, %x) : (tensor<8x64xf32>, tensor<8x64xf32>) -> tensor<8x64xf32>
    return {fuse.mutates = {"1" = 0 : i64}} %z, %b : tensor<8x64xf32>, tensor<8x64xf32>
  }
  func.func private @copy(%x: tensor<8x64xf32>, %o: tensor<8x64xf32>) -> tensor<8x64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "64"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<8x64xf32>, i1, f32) -> f32
    %r = "fuse.store"(%o, %v, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<8x64xf32>, f32, i1) -> tensor<8x64xf32>
    return %r : tensor<8x64xf32>
  }
  func.func private @put(%i: tensor<2xi64>, %k: tensor<2x64xf32>, %c: tensor<8x64xf32>) -> tensor<8x64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "2", d1 = "64"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %none = arith.constant 0 : i64
    %p = "fuse.load"(%i, %true, %none) {at = ["d0"]} : (tensor<2xi64>, i1, i64) -> i64
    %v = "fuse.load"(%k, %true, %zero) {at = ["d0", "d1"]} : (tensor<2x64xf32>, i1, f32) -> f32
    %r = "fuse.store"(%c, %v, %true, %p) {at = ["i0", "d1"], mode = "set"} : (tensor<8x64xf32>, f32, i1, i64) -> tensor<8x64xf32>
    return %r : tensor<8x64xf32>
  }
  func.func private @neg(tensor<8x64xf32>) -> tensor<8x64xf32> attributes {fuse.extern = "aten.neg.default", fuse.args = [#fuse.arg<0 : i64>]}
}

// -----

// Must not fire: the first of two updates is read after the second.
// CHECK-LABEL: func.func @main
// CHECK: %[[E:.*]] = "fuse.empty"
// CHECK: %[[C:.*]] = call @copy(%arg0, %[[E]])
// CHECK: call @put(%arg1, %arg2, %[[C]])
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<8x64xf32>, %i: tensor<2xi64>, %k: tensor<2x64xf32>, %l: tensor<2x64xf32>) -> (tensor<8x64xf32>, tensor<8x64xf32>) {
    %e = "fuse.empty"() {syms = []} : () -> tensor<8x64xf32>
    %c = call @copy(%x, %e) : (tensor<8x64xf32>, tensor<8x64xf32>) -> tensor<8x64xf32>
    %u = call @put(%i, %k, %c) : (tensor<2xi64>, tensor<2x64xf32>, tensor<8x64xf32>) -> tensor<8x64xf32>
    %f = "fuse.empty"() {syms = []} : () -> tensor<8x64xf32>
    %d = call @copy(%u, %f) : (tensor<8x64xf32>, tensor<8x64xf32>) -> tensor<8x64xf32>
    %w = call @put(%i, %l, %d) : (tensor<2xi64>, tensor<2x64xf32>, tensor<8x64xf32>) -> tensor<8x64xf32>
    %z = call @neg(%u) : (tensor<8x64xf32>) -> tensor<8x64xf32>
    %b = call @copy(%w, %x) : (tensor<8x64xf32>, tensor<8x64xf32>) -> tensor<8x64xf32>
    return {fuse.mutates = {"1" = 0 : i64}} %z, %b : tensor<8x64xf32>, tensor<8x64xf32>
  }
  func.func private @copy(%x: tensor<8x64xf32>, %o: tensor<8x64xf32>) -> tensor<8x64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "64"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<8x64xf32>, i1, f32) -> f32
    %r = "fuse.store"(%o, %v, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<8x64xf32>, f32, i1) -> tensor<8x64xf32>
    return %r : tensor<8x64xf32>
  }
  func.func private @put(%i: tensor<2xi64>, %k: tensor<2x64xf32>, %c: tensor<8x64xf32>) -> tensor<8x64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "2", d1 = "64"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %none = arith.constant 0 : i64
    %p = "fuse.load"(%i, %true, %none) {at = ["d0"]} : (tensor<2xi64>, i1, i64) -> i64
    %v = "fuse.load"(%k, %true, %zero) {at = ["d0", "d1"]} : (tensor<2x64xf32>, i1, f32) -> f32
    %r = "fuse.store"(%c, %v, %true, %p) {at = ["i0", "d1"], mode = "set"} : (tensor<8x64xf32>, f32, i1, i64) -> tensor<8x64xf32>
    return %r : tensor<8x64xf32>
  }
  func.func private @neg(tensor<8x64xf32>) -> tensor<8x64xf32> attributes {fuse.extern = "aten.neg.default", fuse.args = [#fuse.arg<0 : i64>]}
}

// -----

// Must not fire: the caller gets the updated copy, too.
// CHECK-LABEL: func.func @main
// CHECK: %[[E:.*]] = "fuse.empty"
// CHECK: %[[C:.*]] = call @copy(%arg0, %[[E]])
// CHECK: call @put(%arg1, %arg2, %[[C]])
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<8x64xf32>, %i: tensor<2xi64>, %k: tensor<2x64xf32>, %l: tensor<2x64xf32>) -> (tensor<8x64xf32>, tensor<8x64xf32>) {
    %e = "fuse.empty"() {syms = []} : () -> tensor<8x64xf32>
    %c = call @copy(%x, %e) : (tensor<8x64xf32>, tensor<8x64xf32>) -> tensor<8x64xf32>
    %u = call @put(%i, %k, %c) : (tensor<2xi64>, tensor<2x64xf32>, tensor<8x64xf32>) -> tensor<8x64xf32>
    %b = call @copy(%u, %x) : (tensor<8x64xf32>, tensor<8x64xf32>) -> tensor<8x64xf32>
    return {fuse.mutates = {"1" = 0 : i64}} %u, %b : tensor<8x64xf32>, tensor<8x64xf32>
  }
  func.func private @copy(%x: tensor<8x64xf32>, %o: tensor<8x64xf32>) -> tensor<8x64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "64"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<8x64xf32>, i1, f32) -> f32
    %r = "fuse.store"(%o, %v, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<8x64xf32>, f32, i1) -> tensor<8x64xf32>
    return %r : tensor<8x64xf32>
  }
  func.func private @put(%i: tensor<2xi64>, %k: tensor<2x64xf32>, %c: tensor<8x64xf32>) -> tensor<8x64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "2", d1 = "64"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %none = arith.constant 0 : i64
    %p = "fuse.load"(%i, %true, %none) {at = ["d0"]} : (tensor<2xi64>, i1, i64) -> i64
    %v = "fuse.load"(%k, %true, %zero) {at = ["d0", "d1"]} : (tensor<2x64xf32>, i1, f32) -> f32
    %r = "fuse.store"(%c, %v, %true, %p) {at = ["i0", "d1"], mode = "set"} : (tensor<8x64xf32>, f32, i1, i64) -> tensor<8x64xf32>
    return %r : tensor<8x64xf32>
  }
}

// -----

// Must not fire: something else is copied back.
// CHECK-LABEL: func.func @main
// CHECK: %[[E:.*]] = "fuse.empty"
// CHECK: %[[C:.*]] = call @copy(%arg0, %[[E]])
// CHECK: call @put(%arg1, %arg2, %[[C]])
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<8x64xf32>, %i: tensor<2xi64>, %k: tensor<2x64xf32>, %l: tensor<2x64xf32>) -> (tensor<8x64xf32>, tensor<8x64xf32>) {
    %e = "fuse.empty"() {syms = []} : () -> tensor<8x64xf32>
    %c = call @copy(%x, %e) : (tensor<8x64xf32>, tensor<8x64xf32>) -> tensor<8x64xf32>
    %u = call @put(%i, %k, %c) : (tensor<2xi64>, tensor<2x64xf32>, tensor<8x64xf32>) -> tensor<8x64xf32>
    %z = call @neg(%u) : (tensor<8x64xf32>) -> tensor<8x64xf32>
    %b = call @copy(%z, %x) : (tensor<8x64xf32>, tensor<8x64xf32>) -> tensor<8x64xf32>
    return {fuse.mutates = {"1" = 0 : i64}} %z, %b : tensor<8x64xf32>, tensor<8x64xf32>
  }
  func.func private @copy(%x: tensor<8x64xf32>, %o: tensor<8x64xf32>) -> tensor<8x64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "64"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<8x64xf32>, i1, f32) -> f32
    %r = "fuse.store"(%o, %v, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<8x64xf32>, f32, i1) -> tensor<8x64xf32>
    return %r : tensor<8x64xf32>
  }
  func.func private @put(%i: tensor<2xi64>, %k: tensor<2x64xf32>, %c: tensor<8x64xf32>) -> tensor<8x64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "2", d1 = "64"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %none = arith.constant 0 : i64
    %p = "fuse.load"(%i, %true, %none) {at = ["d0"]} : (tensor<2xi64>, i1, i64) -> i64
    %v = "fuse.load"(%k, %true, %zero) {at = ["d0", "d1"]} : (tensor<2x64xf32>, i1, f32) -> f32
    %r = "fuse.store"(%c, %v, %true, %p) {at = ["i0", "d1"], mode = "set"} : (tensor<8x64xf32>, f32, i1, i64) -> tensor<8x64xf32>
    return %r : tensor<8x64xf32>
  }
  func.func private @neg(tensor<8x64xf32>) -> tensor<8x64xf32> attributes {fuse.extern = "aten.neg.default", fuse.args = [#fuse.arg<0 : i64>]}
}

// -----

// Must not fire: half of it is copied.
// CHECK-LABEL: func.func @main
// CHECK: %[[E:.*]] = "fuse.empty"
// CHECK: %[[C:.*]] = call @copy(%arg0, %[[E]])
// CHECK: call @put(%arg1, %arg2, %[[C]])
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<8x64xf32>, %i: tensor<2xi64>, %k: tensor<2x64xf32>, %l: tensor<2x64xf32>) -> (tensor<8x64xf32>, tensor<8x64xf32>) {
    %e = "fuse.empty"() {syms = []} : () -> tensor<8x64xf32>
    %c = call @copy(%x, %e) : (tensor<8x64xf32>, tensor<8x64xf32>) -> tensor<8x64xf32>
    %u = call @put(%i, %k, %c) : (tensor<2xi64>, tensor<2x64xf32>, tensor<8x64xf32>) -> tensor<8x64xf32>
    %z = call @neg(%u) : (tensor<8x64xf32>) -> tensor<8x64xf32>
    %b = call @half(%u, %x) : (tensor<8x64xf32>, tensor<8x64xf32>) -> tensor<8x64xf32>
    return {fuse.mutates = {"1" = 0 : i64}} %z, %b : tensor<8x64xf32>, tensor<8x64xf32>
  }
  func.func private @copy(%x: tensor<8x64xf32>, %o: tensor<8x64xf32>) -> tensor<8x64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "64"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<8x64xf32>, i1, f32) -> f32
    %r = "fuse.store"(%o, %v, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<8x64xf32>, f32, i1) -> tensor<8x64xf32>
    return %r : tensor<8x64xf32>
  }
  func.func private @half(%x: tensor<8x64xf32>, %o: tensor<8x64xf32>) -> tensor<8x64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "4", d1 = "64"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<8x64xf32>, i1, f32) -> f32
    %r = "fuse.store"(%o, %v, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<8x64xf32>, f32, i1) -> tensor<8x64xf32>
    return %r : tensor<8x64xf32>
  }
  func.func private @put(%i: tensor<2xi64>, %k: tensor<2x64xf32>, %c: tensor<8x64xf32>) -> tensor<8x64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "2", d1 = "64"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %none = arith.constant 0 : i64
    %p = "fuse.load"(%i, %true, %none) {at = ["d0"]} : (tensor<2xi64>, i1, i64) -> i64
    %v = "fuse.load"(%k, %true, %zero) {at = ["d0", "d1"]} : (tensor<2x64xf32>, i1, f32) -> f32
    %r = "fuse.store"(%c, %v, %true, %p) {at = ["i0", "d1"], mode = "set"} : (tensor<8x64xf32>, f32, i1, i64) -> tensor<8x64xf32>
    return %r : tensor<8x64xf32>
  }
  func.func private @neg(tensor<8x64xf32>) -> tensor<8x64xf32> attributes {fuse.extern = "aten.neg.default", fuse.args = [#fuse.arg<0 : i64>]}
}

// -----

// Must not fire: one row is copied into all.
// CHECK-LABEL: func.func @main
// CHECK: %[[E:.*]] = "fuse.empty"
// CHECK: %[[C:.*]] = call @copy(%arg0, %[[E]])
// CHECK: call @put(%arg1, %arg2, %[[C]])
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<8x64xf32>, %i: tensor<2xi64>, %k: tensor<2x64xf32>, %l: tensor<2x64xf32>) -> (tensor<8x64xf32>, tensor<8x64xf32>) {
    %e = "fuse.empty"() {syms = []} : () -> tensor<8x64xf32>
    %c = call @copy(%x, %e) : (tensor<8x64xf32>, tensor<8x64xf32>) -> tensor<8x64xf32>
    %u = call @put(%i, %k, %c) : (tensor<2xi64>, tensor<2x64xf32>, tensor<8x64xf32>) -> tensor<8x64xf32>
    %z = call @neg(%u) : (tensor<8x64xf32>) -> tensor<8x64xf32>
    %b = call @spread(%u, %x) : (tensor<8x64xf32>, tensor<8x64xf32>) -> tensor<8x64xf32>
    return {fuse.mutates = {"1" = 0 : i64}} %z, %b : tensor<8x64xf32>, tensor<8x64xf32>
  }
  func.func private @copy(%x: tensor<8x64xf32>, %o: tensor<8x64xf32>) -> tensor<8x64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "64"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<8x64xf32>, i1, f32) -> f32
    %r = "fuse.store"(%o, %v, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<8x64xf32>, f32, i1) -> tensor<8x64xf32>
    return %r : tensor<8x64xf32>
  }
  func.func private @spread(%x: tensor<8x64xf32>, %o: tensor<8x64xf32>) -> tensor<8x64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "64"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["0", "d1"]} : (tensor<8x64xf32>, i1, f32) -> f32
    %r = "fuse.store"(%o, %v, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<8x64xf32>, f32, i1) -> tensor<8x64xf32>
    return %r : tensor<8x64xf32>
  }
  func.func private @put(%i: tensor<2xi64>, %k: tensor<2x64xf32>, %c: tensor<8x64xf32>) -> tensor<8x64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "2", d1 = "64"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %none = arith.constant 0 : i64
    %p = "fuse.load"(%i, %true, %none) {at = ["d0"]} : (tensor<2xi64>, i1, i64) -> i64
    %v = "fuse.load"(%k, %true, %zero) {at = ["d0", "d1"]} : (tensor<2x64xf32>, i1, f32) -> f32
    %r = "fuse.store"(%c, %v, %true, %p) {at = ["i0", "d1"], mode = "set"} : (tensor<8x64xf32>, f32, i1, i64) -> tensor<8x64xf32>
    return %r : tensor<8x64xf32>
  }
  func.func private @neg(tensor<8x64xf32>) -> tensor<8x64xf32> attributes {fuse.extern = "aten.neg.default", fuse.args = [#fuse.arg<0 : i64>]}
}

// -----

// Must not fire: what is copied back is negated.
// CHECK-LABEL: func.func @main
// CHECK: %[[E:.*]] = "fuse.empty"
// CHECK: %[[C:.*]] = call @copy(%arg0, %[[E]])
// CHECK: call @put(%arg1, %arg2, %[[C]])
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<8x64xf32>, %i: tensor<2xi64>, %k: tensor<2x64xf32>, %l: tensor<2x64xf32>) -> (tensor<8x64xf32>, tensor<8x64xf32>) {
    %e = "fuse.empty"() {syms = []} : () -> tensor<8x64xf32>
    %c = call @copy(%x, %e) : (tensor<8x64xf32>, tensor<8x64xf32>) -> tensor<8x64xf32>
    %u = call @put(%i, %k, %c) : (tensor<2xi64>, tensor<2x64xf32>, tensor<8x64xf32>) -> tensor<8x64xf32>
    %z = call @neg(%u) : (tensor<8x64xf32>) -> tensor<8x64xf32>
    %b = call @negate(%u, %x) : (tensor<8x64xf32>, tensor<8x64xf32>) -> tensor<8x64xf32>
    return {fuse.mutates = {"1" = 0 : i64}} %z, %b : tensor<8x64xf32>, tensor<8x64xf32>
  }
  func.func private @copy(%x: tensor<8x64xf32>, %o: tensor<8x64xf32>) -> tensor<8x64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "64"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<8x64xf32>, i1, f32) -> f32
    %r = "fuse.store"(%o, %v, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<8x64xf32>, f32, i1) -> tensor<8x64xf32>
    return %r : tensor<8x64xf32>
  }
  func.func private @negate(%x: tensor<8x64xf32>, %o: tensor<8x64xf32>) -> tensor<8x64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "64"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<8x64xf32>, i1, f32) -> f32
    %n = arith.negf %v : f32
    %r = "fuse.store"(%o, %n, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<8x64xf32>, f32, i1) -> tensor<8x64xf32>
    return %r : tensor<8x64xf32>
  }
  func.func private @put(%i: tensor<2xi64>, %k: tensor<2x64xf32>, %c: tensor<8x64xf32>) -> tensor<8x64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "2", d1 = "64"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %none = arith.constant 0 : i64
    %p = "fuse.load"(%i, %true, %none) {at = ["d0"]} : (tensor<2xi64>, i1, i64) -> i64
    %v = "fuse.load"(%k, %true, %zero) {at = ["d0", "d1"]} : (tensor<2x64xf32>, i1, f32) -> f32
    %r = "fuse.store"(%c, %v, %true, %p) {at = ["i0", "d1"], mode = "set"} : (tensor<8x64xf32>, f32, i1, i64) -> tensor<8x64xf32>
    return %r : tensor<8x64xf32>
  }
  func.func private @neg(tensor<8x64xf32>) -> tensor<8x64xf32> attributes {fuse.extern = "aten.neg.default", fuse.args = [#fuse.arg<0 : i64>]}
}

// -----

// Must not fire: the copy is updated by a torch op, which takes it to be another tensor.
// CHECK-LABEL: func.func @main
// CHECK: %[[E:.*]] = "fuse.empty"
// CHECK: %[[C:.*]] = call @copy(%arg0, %[[E]])
// CHECK: call @put(%arg1, %arg2, %[[C]])
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<8x64xf32>, %i: tensor<2xi64>, %k: tensor<2x64xf32>, %l: tensor<2x64xf32>) -> (tensor<8x64xf32>, tensor<8x64xf32>) {
    %e = "fuse.empty"() {syms = []} : () -> tensor<8x64xf32>
    %c = call @copy(%x, %e) : (tensor<8x64xf32>, tensor<8x64xf32>) -> tensor<8x64xf32>
    %u = call @put(%i, %k, %c) : (tensor<2xi64>, tensor<2x64xf32>, tensor<8x64xf32>) -> tensor<8x64xf32>
    %z = call @neg(%u) : (tensor<8x64xf32>) -> tensor<8x64xf32>
    %s = call @fill(%u) : (tensor<8x64xf32>) -> tensor<8x64xf32>
    %b = call @copy(%s, %x) : (tensor<8x64xf32>, tensor<8x64xf32>) -> tensor<8x64xf32>
    return {fuse.mutates = {"1" = 0 : i64}} %z, %b : tensor<8x64xf32>, tensor<8x64xf32>
  }
  func.func private @copy(%x: tensor<8x64xf32>, %o: tensor<8x64xf32>) -> tensor<8x64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "64"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<8x64xf32>, i1, f32) -> f32
    %r = "fuse.store"(%o, %v, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<8x64xf32>, f32, i1) -> tensor<8x64xf32>
    return %r : tensor<8x64xf32>
  }
  func.func private @put(%i: tensor<2xi64>, %k: tensor<2x64xf32>, %c: tensor<8x64xf32>) -> tensor<8x64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "2", d1 = "64"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %none = arith.constant 0 : i64
    %p = "fuse.load"(%i, %true, %none) {at = ["d0"]} : (tensor<2xi64>, i1, i64) -> i64
    %v = "fuse.load"(%k, %true, %zero) {at = ["d0", "d1"]} : (tensor<2x64xf32>, i1, f32) -> f32
    %r = "fuse.store"(%c, %v, %true, %p) {at = ["i0", "d1"], mode = "set"} : (tensor<8x64xf32>, f32, i1, i64) -> tensor<8x64xf32>
    return %r : tensor<8x64xf32>
  }
  func.func private @neg(tensor<8x64xf32>) -> tensor<8x64xf32> attributes {fuse.extern = "aten.neg.default", fuse.args = [#fuse.arg<0 : i64>]}
  func.func private @fill(tensor<8x64xf32>) -> tensor<8x64xf32> attributes {fuse.extern = "aten.zero_.default", fuse.args = [#fuse.arg<0 : i64>], fuse.mutated = array<i64: 0>, fuse.aliases = {"0" = 0 : i64}}
}

// -----

// Must not fire: a number is copied back.
// CHECK-LABEL: func.func @main
// CHECK: %[[E:.*]] = "fuse.empty"
// CHECK: %[[C:.*]] = call @copy(%arg0, %[[E]])
// CHECK: call @put(%arg1, %arg2, %[[C]])
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<8x64xf32>, %i: tensor<2xi64>, %k: tensor<2x64xf32>, %l: tensor<2x64xf32>) -> (tensor<8x64xf32>, tensor<8x64xf32>) {
    %e = "fuse.empty"() {syms = []} : () -> tensor<8x64xf32>
    %c = call @copy(%x, %e) : (tensor<8x64xf32>, tensor<8x64xf32>) -> tensor<8x64xf32>
    %u = call @put(%i, %k, %c) : (tensor<2xi64>, tensor<2x64xf32>, tensor<8x64xf32>) -> tensor<8x64xf32>
    %z = call @neg(%u) : (tensor<8x64xf32>) -> tensor<8x64xf32>
    %b = call @number(%u, %x) : (tensor<8x64xf32>, tensor<8x64xf32>) -> tensor<8x64xf32>
    return {fuse.mutates = {"1" = 0 : i64}} %z, %b : tensor<8x64xf32>, tensor<8x64xf32>
  }
  func.func private @copy(%x: tensor<8x64xf32>, %o: tensor<8x64xf32>) -> tensor<8x64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "64"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<8x64xf32>, i1, f32) -> f32
    %r = "fuse.store"(%o, %v, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<8x64xf32>, f32, i1) -> tensor<8x64xf32>
    return %r : tensor<8x64xf32>
  }
  func.func private @number(%x: tensor<8x64xf32>, %o: tensor<8x64xf32>) -> tensor<8x64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "64"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<8x64xf32>, i1, f32) -> f32
    %r = "fuse.store"(%o, %zero, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<8x64xf32>, f32, i1) -> tensor<8x64xf32>
    return %r : tensor<8x64xf32>
  }
  func.func private @put(%i: tensor<2xi64>, %k: tensor<2x64xf32>, %c: tensor<8x64xf32>) -> tensor<8x64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "2", d1 = "64"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %none = arith.constant 0 : i64
    %p = "fuse.load"(%i, %true, %none) {at = ["d0"]} : (tensor<2xi64>, i1, i64) -> i64
    %v = "fuse.load"(%k, %true, %zero) {at = ["d0", "d1"]} : (tensor<2x64xf32>, i1, f32) -> f32
    %r = "fuse.store"(%c, %v, %true, %p) {at = ["i0", "d1"], mode = "set"} : (tensor<8x64xf32>, f32, i1, i64) -> tensor<8x64xf32>
    return %r : tensor<8x64xf32>
  }
  func.func private @neg(tensor<8x64xf32>) -> tensor<8x64xf32> attributes {fuse.extern = "aten.neg.default", fuse.args = [#fuse.arg<0 : i64>]}
}

// -----

// Must not fire: a torch op writes to the argument before.
// CHECK-LABEL: func.func @main
// CHECK: %[[E:.*]] = "fuse.empty"
// CHECK: %[[C:.*]] = call @copy(%arg0, %[[E]])
// CHECK: call @put(%arg1, %arg2, %[[C]])
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<8x64xf32>, %i: tensor<2xi64>, %k: tensor<2x64xf32>, %l: tensor<2x64xf32>) -> (tensor<8x64xf32>, tensor<8x64xf32>) {
    %s = call @fill(%x) : (tensor<8x64xf32>) -> tensor<8x64xf32>
    %e = "fuse.empty"() {syms = []} : () -> tensor<8x64xf32>
    %c = call @copy(%x, %e) : (tensor<8x64xf32>, tensor<8x64xf32>) -> tensor<8x64xf32>
    %u = call @put(%i, %k, %c) : (tensor<2xi64>, tensor<2x64xf32>, tensor<8x64xf32>) -> tensor<8x64xf32>
    %z = call @neg(%u) : (tensor<8x64xf32>) -> tensor<8x64xf32>
    %b = call @copy(%u, %x) : (tensor<8x64xf32>, tensor<8x64xf32>) -> tensor<8x64xf32>
    return {fuse.mutates = {"1" = 0 : i64}} %z, %b : tensor<8x64xf32>, tensor<8x64xf32>
  }
  func.func private @copy(%x: tensor<8x64xf32>, %o: tensor<8x64xf32>) -> tensor<8x64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "64"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<8x64xf32>, i1, f32) -> f32
    %r = "fuse.store"(%o, %v, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<8x64xf32>, f32, i1) -> tensor<8x64xf32>
    return %r : tensor<8x64xf32>
  }
  func.func private @put(%i: tensor<2xi64>, %k: tensor<2x64xf32>, %c: tensor<8x64xf32>) -> tensor<8x64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "2", d1 = "64"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %none = arith.constant 0 : i64
    %p = "fuse.load"(%i, %true, %none) {at = ["d0"]} : (tensor<2xi64>, i1, i64) -> i64
    %v = "fuse.load"(%k, %true, %zero) {at = ["d0", "d1"]} : (tensor<2x64xf32>, i1, f32) -> f32
    %r = "fuse.store"(%c, %v, %true, %p) {at = ["i0", "d1"], mode = "set"} : (tensor<8x64xf32>, f32, i1, i64) -> tensor<8x64xf32>
    return %r : tensor<8x64xf32>
  }
  func.func private @neg(tensor<8x64xf32>) -> tensor<8x64xf32> attributes {fuse.extern = "aten.neg.default", fuse.args = [#fuse.arg<0 : i64>]}
  func.func private @fill(tensor<8x64xf32>) -> tensor<8x64xf32> attributes {fuse.extern = "aten.zero_.default", fuse.args = [#fuse.arg<0 : i64>], fuse.mutated = array<i64: 0>, fuse.aliases = {"0" = 0 : i64}}
}

// -----

// What is updated is no copy of the argument but of what a torch op has made, which is updated where it lies.
// CHECK-LABEL: func.func @main
// CHECK: %[[N:.*]] = call @neg(%arg0)
// CHECK-NEXT: %[[U:.*]] = call @put(%arg1, %arg2, %[[N]])
// CHECK: call @copy(%[[U]], %arg0)
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<8x64xf32>, %i: tensor<2xi64>, %k: tensor<2x64xf32>, %l: tensor<2x64xf32>) -> (tensor<8x64xf32>, tensor<8x64xf32>) {
    %n = call @neg(%x) : (tensor<8x64xf32>) -> tensor<8x64xf32>
    %e = "fuse.empty"() {syms = []} : () -> tensor<8x64xf32>
    %c = call @copy(%n, %e) : (tensor<8x64xf32>, tensor<8x64xf32>) -> tensor<8x64xf32>
    %u = call @put(%i, %k, %c) : (tensor<2xi64>, tensor<2x64xf32>, tensor<8x64xf32>) -> tensor<8x64xf32>
    %z = call @neg(%u) : (tensor<8x64xf32>) -> tensor<8x64xf32>
    %b = call @copy(%u, %x) : (tensor<8x64xf32>, tensor<8x64xf32>) -> tensor<8x64xf32>
    return {fuse.mutates = {"1" = 0 : i64}} %z, %b : tensor<8x64xf32>, tensor<8x64xf32>
  }
  func.func private @copy(%x: tensor<8x64xf32>, %o: tensor<8x64xf32>) -> tensor<8x64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "64"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<8x64xf32>, i1, f32) -> f32
    %r = "fuse.store"(%o, %v, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<8x64xf32>, f32, i1) -> tensor<8x64xf32>
    return %r : tensor<8x64xf32>
  }
  func.func private @put(%i: tensor<2xi64>, %k: tensor<2x64xf32>, %c: tensor<8x64xf32>) -> tensor<8x64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "2", d1 = "64"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %none = arith.constant 0 : i64
    %p = "fuse.load"(%i, %true, %none) {at = ["d0"]} : (tensor<2xi64>, i1, i64) -> i64
    %v = "fuse.load"(%k, %true, %zero) {at = ["d0", "d1"]} : (tensor<2x64xf32>, i1, f32) -> f32
    %r = "fuse.store"(%c, %v, %true, %p) {at = ["i0", "d1"], mode = "set"} : (tensor<8x64xf32>, f32, i1, i64) -> tensor<8x64xf32>
    return %r : tensor<8x64xf32>
  }
  func.func private @neg(tensor<8x64xf32>) -> tensor<8x64xf32> attributes {fuse.extern = "aten.neg.default", fuse.args = [#fuse.arg<0 : i64>]}
}

// -----

// Must not fire: nothing is updated between the two copies.
// CHECK-LABEL: func.func @main
// CHECK: call @copy(%arg0
// CHECK: call @copy(%{{.*}}, %arg0)
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<8x64xf32>, %i: tensor<2xi64>, %k: tensor<2x64xf32>, %l: tensor<2x64xf32>) -> (tensor<8x64xf32>, tensor<8x64xf32>) {
    %e = "fuse.empty"() {syms = []} : () -> tensor<8x64xf32>
    %c = call @copy(%x, %e) : (tensor<8x64xf32>, tensor<8x64xf32>) -> tensor<8x64xf32>
    %z = call @neg(%c) : (tensor<8x64xf32>) -> tensor<8x64xf32>
    %b = call @copy(%c, %x) : (tensor<8x64xf32>, tensor<8x64xf32>) -> tensor<8x64xf32>
    return {fuse.mutates = {"1" = 0 : i64}} %z, %b : tensor<8x64xf32>, tensor<8x64xf32>
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

// Bad input: there is nothing to schedule.
// expected-error @+1 {{the module has no function @main}}
module attributes {fuse.device = "cpu"} {
}
