// RUN: fuse-opt %s --pass-pipeline="builtin.module(recompute-producers{hardware=h200})" --split-input-file | FileCheck %s

// How long inputs live, and which of several tensors is computed again.

// A tensor and a number for each of its rows live until the last reader, in the place of their product.
// CHECK-LABEL: func.func @main(
// CHECK: call @scaled({{.*}}) {fuse.group = 0 : i64}
// CHECK-NEXT: call @rows(
// CHECK: call @scaled({{.*}}) {fuse.group = 1 : i64}
// CHECK-NEXT: call @columns(
module attributes {fuse.device = "cpu"} {
  func.func @main(%a: tensor<4096xf32>, %b: tensor<64xf32>) -> (tensor<64xf32>, tensor<512xf32>) {
    %o = "fuse.empty"() {syms = []} : () -> tensor<4096xf32>
    %p = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %q = "fuse.empty"() {syms = []} : () -> tensor<512xf32>
    %x = call @torch_4096(%a) : (tensor<4096xf32>) -> tensor<4096xf32>
    %y = call @torch_64(%b) : (tensor<64xf32>) -> tensor<64xf32>
    %s = call @scaled(%x, %y, %o) : (tensor<4096xf32>, tensor<64xf32>, tensor<4096xf32>) -> tensor<4096xf32>
    %c = call @rows(%s, %p) : (tensor<4096xf32>, tensor<64xf32>) -> tensor<64xf32>
    %d = call @columns(%s, %q) : (tensor<4096xf32>, tensor<512xf32>) -> tensor<512xf32>
    return %c, %d : tensor<64xf32>, tensor<512xf32>
  }
  func.func private @scaled(%x: tensor<4096xf32>, %y: tensor<64xf32>, %o: tensor<4096xf32>) -> tensor<4096xf32> attributes {fuse.kernel, fuse.dims = {d0 = "4096"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<4096xf32>, i1, f32) -> f32
    %w = "fuse.load"(%y, %true, %zero) {at = ["d0 floordiv 64"]} : (tensor<64xf32>, i1, f32) -> f32
    %r = arith.mulf %v, %w : f32
    %out = "fuse.store"(%o, %r, %true) {at = ["d0"], mode = "set"} : (tensor<4096xf32>, f32, i1) -> tensor<4096xf32>
    return %out : tensor<4096xf32>
  }
  func.func private @rows(%x: tensor<4096xf32>, %o: tensor<64xf32>) -> tensor<64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64", d1 = "64"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0*64 + d1"]} : (tensor<4096xf32>, i1, f32) -> f32
    %s = "fuse.reduce"(%v) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %out = "fuse.store"(%o, %s, %true) {at = ["d0"], mode = "set"} : (tensor<64xf32>, f32, i1) -> tensor<64xf32>
    return %out : tensor<64xf32>
  }
  func.func private @columns(%x: tensor<4096xf32>, %o: tensor<512xf32>) -> tensor<512xf32> attributes {fuse.kernel, fuse.dims = {d0 = "512", d1 = "8"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0*8 + d1"]} : (tensor<4096xf32>, i1, f32) -> f32
    %s = "fuse.reduce"(%v) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %out = "fuse.store"(%o, %s, %true) {at = ["d0"], mode = "set"} : (tensor<512xf32>, f32, i1) -> tensor<512xf32>
    return %out : tensor<512xf32>
  }
  func.func private @torch_4096(tensor<4096xf32>) -> tensor<4096xf32> attributes {fuse.extern = "aten.neg.default", fuse.args = [#fuse.arg<0 : i64>], fuse.kwargs = {}}
  func.func private @torch_64(tensor<64xf32>) -> tensor<64xf32> attributes {fuse.extern = "aten.neg.default", fuse.args = [#fuse.arg<0 : i64>], fuse.kwargs = {}}
}

// -----

// Must not fire: the second factor takes a 32nd of the product.
// CHECK-LABEL: func.func @main(
// CHECK: call @scaled
// CHECK-NOT: call @scaled
// CHECK: return
module attributes {fuse.device = "cpu"} {
  func.func @main(%a: tensor<4096xf32>, %b: tensor<128xf32>) -> (tensor<64xf32>, tensor<512xf32>) {
    %o = "fuse.empty"() {syms = []} : () -> tensor<4096xf32>
    %p = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %q = "fuse.empty"() {syms = []} : () -> tensor<512xf32>
    %x = call @torch_4096(%a) : (tensor<4096xf32>) -> tensor<4096xf32>
    %y = call @torch_128(%b) : (tensor<128xf32>) -> tensor<128xf32>
    %s = call @scaled(%x, %y, %o) : (tensor<4096xf32>, tensor<128xf32>, tensor<4096xf32>) -> tensor<4096xf32>
    %c = call @rows(%s, %p) : (tensor<4096xf32>, tensor<64xf32>) -> tensor<64xf32>
    %d = call @columns(%s, %q) : (tensor<4096xf32>, tensor<512xf32>) -> tensor<512xf32>
    return %c, %d : tensor<64xf32>, tensor<512xf32>
  }
  func.func private @scaled(%x: tensor<4096xf32>, %y: tensor<128xf32>, %o: tensor<4096xf32>) -> tensor<4096xf32> attributes {fuse.kernel, fuse.dims = {d0 = "4096"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<4096xf32>, i1, f32) -> f32
    %w = "fuse.load"(%y, %true, %zero) {at = ["d0 floordiv 32"]} : (tensor<128xf32>, i1, f32) -> f32
    %r = arith.mulf %v, %w : f32
    %out = "fuse.store"(%o, %r, %true) {at = ["d0"], mode = "set"} : (tensor<4096xf32>, f32, i1) -> tensor<4096xf32>
    return %out : tensor<4096xf32>
  }
  func.func private @rows(%x: tensor<4096xf32>, %o: tensor<64xf32>) -> tensor<64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64", d1 = "64"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0*64 + d1"]} : (tensor<4096xf32>, i1, f32) -> f32
    %s = "fuse.reduce"(%v) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %out = "fuse.store"(%o, %s, %true) {at = ["d0"], mode = "set"} : (tensor<64xf32>, f32, i1) -> tensor<64xf32>
    return %out : tensor<64xf32>
  }
  func.func private @columns(%x: tensor<4096xf32>, %o: tensor<512xf32>) -> tensor<512xf32> attributes {fuse.kernel, fuse.dims = {d0 = "512", d1 = "8"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0*8 + d1"]} : (tensor<4096xf32>, i1, f32) -> f32
    %s = "fuse.reduce"(%v) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %out = "fuse.store"(%o, %s, %true) {at = ["d0"], mode = "set"} : (tensor<512xf32>, f32, i1) -> tensor<512xf32>
    return %out : tensor<512xf32>
  }
  func.func private @torch_4096(tensor<4096xf32>) -> tensor<4096xf32> attributes {fuse.extern = "aten.neg.default", fuse.args = [#fuse.arg<0 : i64>], fuse.kwargs = {}}
  func.func private @torch_128(tensor<128xf32>) -> tensor<128xf32> attributes {fuse.extern = "aten.neg.default", fuse.args = [#fuse.arg<0 : i64>], fuse.kwargs = {}}
}

// -----

// The large tensor is computed again, and the small one in front of it is stored: a reader of one cannot make the other.
// CHECK-LABEL: func.func @main(
// CHECK: call @twice(
// CHECK-NEXT: call @total(
// CHECK: call @total_1({{.*}}) {fuse.group = 0 : i64}
// CHECK-NEXT: call @eights({{.*}}) {fuse.group = 0 : i64}
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<64xf32>) -> (tensor<f32>, tensor<512xf32>) {
    %m = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %o = "fuse.empty"() {syms = []} : () -> tensor<4096xf32>
    %p = "fuse.empty"() {syms = []} : () -> tensor<f32>
    %q = "fuse.empty"() {syms = []} : () -> tensor<512xf32>
    %w = call @twice(%x, %m) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    %s:2 = call @total(%w, %o, %p) : (tensor<64xf32>, tensor<4096xf32>, tensor<f32>) -> (tensor<4096xf32>, tensor<f32>)
    %d = call @eights(%s#0, %q) : (tensor<4096xf32>, tensor<512xf32>) -> tensor<512xf32>
    return %s#1, %d : tensor<f32>, tensor<512xf32>
  }
  func.func private @twice(%x: tensor<64xf32>, %o: tensor<64xf32>) -> tensor<64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<64xf32>, i1, f32) -> f32
    %r = arith.addf %v, %v : f32
    %out = "fuse.store"(%o, %r, %true) {at = ["d0"], mode = "set"} : (tensor<64xf32>, f32, i1) -> tensor<64xf32>
    return %out : tensor<64xf32>
  }
  func.func private @total(%x: tensor<64xf32>, %o: tensor<4096xf32>, %p: tensor<f32>) -> (tensor<4096xf32>, tensor<f32>) attributes {fuse.kernel, fuse.dims = {d0 = "4096"}, fuse.ties = array<i64: 1, 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0 floordiv 64"]} : (tensor<64xf32>, i1, f32) -> f32
    %r = arith.addf %v, %v : f32
    %out = "fuse.store"(%o, %r, %true) {at = ["d0"], mode = "set"} : (tensor<4096xf32>, f32, i1) -> tensor<4096xf32>
    %t = "fuse.reduce"(%r) {kind = "sum", over = ["d0"]} : (f32) -> f32
    %all = "fuse.store"(%p, %t, %true) {at = [], mode = "set"} : (tensor<f32>, f32, i1) -> tensor<f32>
    return %out, %all : tensor<4096xf32>, tensor<f32>
  }
  func.func private @eights(%x: tensor<4096xf32>, %o: tensor<512xf32>) -> tensor<512xf32> attributes {fuse.kernel, fuse.dims = {d0 = "512", d1 = "8"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0*8 + d1"]} : (tensor<4096xf32>, i1, f32) -> f32
    %s = "fuse.reduce"(%v) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %out = "fuse.store"(%o, %s, %true) {at = ["d0"], mode = "set"} : (tensor<512xf32>, f32, i1) -> tensor<512xf32>
    return %out : tensor<512xf32>
  }
}
