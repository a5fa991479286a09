// RUN: fuse-opt %s --pass-pipeline="builtin.module(fuse-components{hardware=h200})" --split-input-file | FileCheck %s
// RUN: fuse-opt %s --pass-pipeline="builtin.module(fuse-components{hardware=h200},materialize-fusion)" --split-input-file | FileCheck %s --check-prefix=MERGED
// RUN: fuse-opt %s --pass-pipeline="builtin.module(fuse-components{hardware=h200 max-points=2})" --split-input-file | FileCheck %s --check-prefix=TWO
// RUN: not fuse-opt %s --pass-pipeline="builtin.module(fuse-components{hardware=abacus})" --split-input-file 2>&1 | FileCheck %s --check-prefix=BAD

// BAD: fuse-components: unknown hardware 'abacus': expected one of a100,

// Three components of a force share the length of a vector, which no kernel stores.
// CHECK-LABEL: func.func @main(
// CHECK: %[[V:.*]] = call @apart({{.*}}) {fuse.group = [[G:.*]]} :
// CHECK: call @energy(%[[V]], {{.*}}) {fuse.group = [[G]]} :
// CHECK: call @force(%[[V]], {{.*}}) {fuse.group = [[G]]} :
// CHECK-LABEL: func.func private @force(
// CHECK-SAME: fuse.dims = {d0 = "64", d1 = "32"}
// CHECK-COUNT-1: math.exp
// CHECK-COUNT-3: "fuse.reduce"
// CHECK-NOT: math.exp
// MERGED-LABEL: func.func @main(
// MERGED-COUNT-1: call @
// MERGED-NOT: call @
// MERGED: return
// MERGED: func.func private
// MERGED-COUNT-1: math.exp
// MERGED-NOT: math.exp
// MERGED: return
// TWO-LABEL: func.func @main(
// TWO-NOT: fuse.group
// TWO: return
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<64x3xf32>, %y: tensor<32x3xf32>) -> (tensor<64xf32>, tensor<64x3xf32>) {
    %o = "fuse.empty"() {syms = []} : () -> tensor<64x32x3xf32>
    %v = call @apart(%x, %y, %o) : (tensor<64x3xf32>, tensor<32x3xf32>, tensor<64x32x3xf32>) -> tensor<64x32x3xf32>
    %p = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %e = call @energy(%v, %p) : (tensor<64x32x3xf32>, tensor<64xf32>) -> tensor<64xf32>
    %q = "fuse.empty"() {syms = []} : () -> tensor<64x3xf32>
    %f = call @force(%v, %q) : (tensor<64x32x3xf32>, tensor<64x3xf32>) -> tensor<64x3xf32>
    return %e, %f : tensor<64xf32>, tensor<64x3xf32>
  }
  func.func private @apart(%x: tensor<64x3xf32>, %y: tensor<32x3xf32>, %o: tensor<64x32x3xf32>) -> tensor<64x32x3xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64", d1 = "32", d2 = "3"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d2"]} : (tensor<64x3xf32>, i1, f32) -> f32
    %b = "fuse.load"(%y, %true, %zero) {at = ["d1", "d2"]} : (tensor<32x3xf32>, i1, f32) -> f32
    %v = arith.subf %a, %b : f32
    %r = "fuse.store"(%o, %v, %true) {at = ["d0", "d1", "d2"], mode = "set"} : (tensor<64x32x3xf32>, f32, i1) -> tensor<64x32x3xf32>
    return %r : tensor<64x32x3xf32>
  }
  func.func private @energy(%v: tensor<64x32x3xf32>, %o: tensor<64xf32>) -> tensor<64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64", d1 = "32"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v0 = "fuse.load"(%v, %true, %zero) {at = ["d0", "d1", "0"]} : (tensor<64x32x3xf32>, i1, f32) -> f32
    %w0 = arith.mulf %v0, %v0 : f32
    %v1 = "fuse.load"(%v, %true, %zero) {at = ["d0", "d1", "1"]} : (tensor<64x32x3xf32>, i1, f32) -> f32
    %w1 = arith.mulf %v1, %v1 : f32
    %v2 = "fuse.load"(%v, %true, %zero) {at = ["d0", "d1", "2"]} : (tensor<64x32x3xf32>, i1, f32) -> f32
    %w2 = arith.mulf %v2, %v2 : f32
    %w01 = arith.addf %w0, %w1 : f32
    %w = arith.addf %w01, %w2 : f32
    %u = math.sqrt %w : f32
    %e = math.exp %u : f32
    %s = "fuse.reduce"(%e) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d0"], mode = "set"} : (tensor<64xf32>, f32, i1) -> tensor<64xf32>
    return %r : tensor<64xf32>
  }
  func.func private @force(%v: tensor<64x32x3xf32>, %o: tensor<64x3xf32>) -> tensor<64x3xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64", d1 = "32", d2 = "3"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v0 = "fuse.load"(%v, %true, %zero) {at = ["d0", "d1", "0"]} : (tensor<64x32x3xf32>, i1, f32) -> f32
    %w0 = arith.mulf %v0, %v0 : f32
    %v1 = "fuse.load"(%v, %true, %zero) {at = ["d0", "d1", "1"]} : (tensor<64x32x3xf32>, i1, f32) -> f32
    %w1 = arith.mulf %v1, %v1 : f32
    %v2 = "fuse.load"(%v, %true, %zero) {at = ["d0", "d1", "2"]} : (tensor<64x32x3xf32>, i1, f32) -> f32
    %w2 = arith.mulf %v2, %v2 : f32
    %w01 = arith.addf %w0, %w1 : f32
    %w = arith.addf %w01, %w2 : f32
    %u = math.sqrt %w : f32
    %e = math.exp %u : f32
    %c = "fuse.load"(%v, %true, %zero) {at = ["d0", "d1", "d2"]} : (tensor<64x32x3xf32>, i1, f32) -> f32
    %f = arith.mulf %e, %c : f32
    %s = "fuse.reduce"(%f) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d0", "d2"], mode = "set"} : (tensor<64x3xf32>, f32, i1) -> tensor<64x3xf32>
    return %r : tensor<64x3xf32>
  }
}

// -----

// Must not fire: what the components share is no more than what each of them has.
// CHECK-LABEL: func.func @main(
// CHECK-NOT: fuse.group
// CHECK: return
// CHECK-LABEL: func.func private @few(
// CHECK-SAME: d2 = "3"
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<64x3xf32>, %y: tensor<32x3xf32>) -> (tensor<64xf32>, tensor<64x3xf32>) {
    %o = "fuse.empty"() {syms = []} : () -> tensor<64x32x3xf32>
    %v = call @apart(%x, %y, %o) : (tensor<64x3xf32>, tensor<32x3xf32>, tensor<64x32x3xf32>) -> tensor<64x32x3xf32>
    %p = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %e = call @energy(%v, %p) : (tensor<64x32x3xf32>, tensor<64xf32>) -> tensor<64xf32>
    %q = "fuse.empty"() {syms = []} : () -> tensor<64x3xf32>
    %f = call @few(%v, %q) : (tensor<64x32x3xf32>, tensor<64x3xf32>) -> tensor<64x3xf32>
    return %e, %f : tensor<64xf32>, tensor<64x3xf32>
  }
  func.func private @apart(%x: tensor<64x3xf32>, %y: tensor<32x3xf32>, %o: tensor<64x32x3xf32>) -> tensor<64x32x3xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64", d1 = "32", d2 = "3"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d2"]} : (tensor<64x3xf32>, i1, f32) -> f32
    %b = "fuse.load"(%y, %true, %zero) {at = ["d1", "d2"]} : (tensor<32x3xf32>, i1, f32) -> f32
    %v = arith.subf %a, %b : f32
    %r = "fuse.store"(%o, %v, %true) {at = ["d0", "d1", "d2"], mode = "set"} : (tensor<64x32x3xf32>, f32, i1) -> tensor<64x32x3xf32>
    return %r : tensor<64x32x3xf32>
  }
  func.func private @energy(%v: tensor<64x32x3xf32>, %o: tensor<64xf32>) -> tensor<64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64", d1 = "32"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v0 = "fuse.load"(%v, %true, %zero) {at = ["d0", "d1", "0"]} : (tensor<64x32x3xf32>, i1, f32) -> f32
    %w0 = arith.mulf %v0, %v0 : f32
    %v1 = "fuse.load"(%v, %true, %zero) {at = ["d0", "d1", "1"]} : (tensor<64x32x3xf32>, i1, f32) -> f32
    %w1 = arith.mulf %v1, %v1 : f32
    %v2 = "fuse.load"(%v, %true, %zero) {at = ["d0", "d1", "2"]} : (tensor<64x32x3xf32>, i1, f32) -> f32
    %w2 = arith.mulf %v2, %v2 : f32
    %w01 = arith.addf %w0, %w1 : f32
    %w = arith.addf %w01, %w2 : f32
    %u = math.sqrt %w : f32
    %e = math.exp %u : f32
    %s = "fuse.reduce"(%e) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d0"], mode = "set"} : (tensor<64xf32>, f32, i1) -> tensor<64xf32>
    return %r : tensor<64xf32>
  }
  func.func private @few(%v: tensor<64x32x3xf32>, %o: tensor<64x3xf32>) -> tensor<64x3xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64", d1 = "32", d2 = "3"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %c = "fuse.load"(%v, %true, %zero) {at = ["d0", "d1", "d2"]} : (tensor<64x32x3xf32>, i1, f32) -> f32
    %f = arith.addf %c, %c : f32
    %s = "fuse.reduce"(%f) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d0", "d2"], mode = "set"} : (tensor<64x3xf32>, f32, i1) -> tensor<64x3xf32>
    return %r : tensor<64x3xf32>
  }
}

// -----

// Must not fire: the vectors are the caller's, so that nothing is stored; unroll-rows unrolls the kernel.
// CHECK-LABEL: func.func @main(
// CHECK-NOT: fuse.group
// CHECK: return
// CHECK-LABEL: func.func private @force(
// CHECK-SAME: d2 = "3"
module attributes {fuse.device = "cpu"} {
  func.func @main(%v: tensor<64x32x3xf32>) -> (tensor<64xf32>, tensor<64x3xf32>) {
    %p = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %e = call @energy(%v, %p) : (tensor<64x32x3xf32>, tensor<64xf32>) -> tensor<64xf32>
    %q = "fuse.empty"() {syms = []} : () -> tensor<64x3xf32>
    %f = call @force(%v, %q) : (tensor<64x32x3xf32>, tensor<64x3xf32>) -> tensor<64x3xf32>
    return %e, %f : tensor<64xf32>, tensor<64x3xf32>
  }
  func.func private @energy(%v: tensor<64x32x3xf32>, %o: tensor<64xf32>) -> tensor<64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64", d1 = "32"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v0 = "fuse.load"(%v, %true, %zero) {at = ["d0", "d1", "0"]} : (tensor<64x32x3xf32>, i1, f32) -> f32
    %w0 = arith.mulf %v0, %v0 : f32
    %v1 = "fuse.load"(%v, %true, %zero) {at = ["d0", "d1", "1"]} : (tensor<64x32x3xf32>, i1, f32) -> f32
    %w1 = arith.mulf %v1, %v1 : f32
    %v2 = "fuse.load"(%v, %true, %zero) {at = ["d0", "d1", "2"]} : (tensor<64x32x3xf32>, i1, f32) -> f32
    %w2 = arith.mulf %v2, %v2 : f32
    %w01 = arith.addf %w0, %w1 : f32
    %w = arith.addf %w01, %w2 : f32
    %u = math.sqrt %w : f32
    %e = math.exp %u : f32
    %s = "fuse.reduce"(%e) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d0"], mode = "set"} : (tensor<64xf32>, f32, i1) -> tensor<64xf32>
    return %r : tensor<64xf32>
  }
  func.func private @force(%v: tensor<64x32x3xf32>, %o: tensor<64x3xf32>) -> tensor<64x3xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64", d1 = "32", d2 = "3"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v0 = "fuse.load"(%v, %true, %zero) {at = ["d0", "d1", "0"]} : (tensor<64x32x3xf32>, i1, f32) -> f32
    %w0 = arith.mulf %v0, %v0 : f32
    %v1 = "fuse.load"(%v, %true, %zero) {at = ["d0", "d1", "1"]} : (tensor<64x32x3xf32>, i1, f32) -> f32
    %w1 = arith.mulf %v1, %v1 : f32
    %v2 = "fuse.load"(%v, %true, %zero) {at = ["d0", "d1", "2"]} : (tensor<64x32x3xf32>, i1, f32) -> f32
    %w2 = arith.mulf %v2, %v2 : f32
    %w01 = arith.addf %w0, %w1 : f32
    %w = arith.addf %w01, %w2 : f32
    %u = math.sqrt %w : f32
    %e = math.exp %u : f32
    %c = "fuse.load"(%v, %true, %zero) {at = ["d0", "d1", "d2"]} : (tensor<64x32x3xf32>, i1, f32) -> f32
    %f = arith.mulf %e, %c : f32
    %s = "fuse.reduce"(%f) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d0", "d2"], mode = "set"} : (tensor<64x3xf32>, f32, i1) -> tensor<64x3xf32>
    return %r : tensor<64x3xf32>
  }
}
