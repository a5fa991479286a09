// RUN: fuse-opt %s --pass-pipeline="builtin.module(add-products-in-place{widened=left})" | FileCheck %s
// RUN: fuse-opt %s --pass-pipeline="builtin.module(add-products-in-place{widened=left},add-products-in-place)" | FileCheck %s --check-prefix=ALL
// RUN: not fuse-opt %s --pass-pipeline="builtin.module(add-products-in-place{widened=here})" 2>&1 | FileCheck %s --check-prefix=BAD
// BAD: error: option 'widened' of pass 'add-products-in-place' takes added or left, got 'here'

// The product of weights in bf16 is added in place.
// Must not fire: the product of weights that are widened from 8 bits, which may be faster as a kernel, is left.
// CHECK-LABEL: func.func @main
// CHECK: %[[H:.*]] = call @mm(%arg0, %arg1)
// CHECK: %[[S:.*]] = call @addmm__default(%[[H]], %arg0, %arg2)
// CHECK: %[[P:.*]] = call @mm(
// CHECK: call @add(%[[S]], %[[P]],
// ALL-LABEL: func.func @main
// ALL: call @addmm__default(
// ALL: call @addmm__default_1(
// ALL-NOT: call @add(
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<16x16xbf16>, %v: tensor<16x16xbf16>, %u: tensor<16x16xbf16>, %q: tensor<16x16xi8>) -> tensor<16x16xbf16> {
    %h = call @mm(%x, %v) : (tensor<16x16xbf16>, tensor<16x16xbf16>) -> tensor<16x16xbf16>
    %p = call @mm(%x, %u) : (tensor<16x16xbf16>, tensor<16x16xbf16>) -> tensor<16x16xbf16>
    %e = "fuse.empty"() {syms = []} : () -> tensor<16x16xbf16>
    %s = call @add(%h, %p, %e) : (tensor<16x16xbf16>, tensor<16x16xbf16>, tensor<16x16xbf16>) -> tensor<16x16xbf16>
    %f = "fuse.empty"() {syms = []} : () -> tensor<16x16xbf16>
    %w = call @widen(%q, %f) : (tensor<16x16xi8>, tensor<16x16xbf16>) -> tensor<16x16xbf16>
    %y = call @mm(%x, %w) : (tensor<16x16xbf16>, tensor<16x16xbf16>) -> tensor<16x16xbf16>
    %g = "fuse.empty"() {syms = []} : () -> tensor<16x16xbf16>
    %t = call @add(%s, %y, %g) : (tensor<16x16xbf16>, tensor<16x16xbf16>, tensor<16x16xbf16>) -> tensor<16x16xbf16>
    return %t : tensor<16x16xbf16>
  }
  func.func private @widen(%x: tensor<16x16xi8>, %o: tensor<16x16xbf16>) -> tensor<16x16xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "16", d1 = "16"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0 : i8
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<16x16xi8>, i1, i8) -> i8
    %w = arith.sitofp %v : i8 to bf16
    %r = "fuse.store"(%o, %w, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<16x16xbf16>, bf16, i1) -> tensor<16x16xbf16>
    return %r : tensor<16x16xbf16>
  }
  func.func private @add(%x: tensor<16x16xbf16>, %y: tensor<16x16xbf16>, %o: tensor<16x16xbf16>) -> tensor<16x16xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "16", d1 = "16"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<16x16xbf16>, i1, bf16) -> bf16
    %b = "fuse.load"(%y, %true, %zero) {at = ["d0", "d1"]} : (tensor<16x16xbf16>, i1, bf16) -> bf16
    %c = arith.extf %a : bf16 to f32
    %d = arith.extf %b : bf16 to f32
    %s = arith.addf %c, %d : f32
    %t = arith.truncf %s : f32 to bf16
    %r = "fuse.store"(%o, %t, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<16x16xbf16>, bf16, i1) -> tensor<16x16xbf16>
    return %r : tensor<16x16xbf16>
  }
  func.func private @mm(tensor<16x16xbf16>, tensor<16x16xbf16>) -> tensor<16x16xbf16> attributes {fuse.extern = "aten.mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
}
