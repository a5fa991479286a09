// What a group computes in front of a product decides, too, whether the product stays a kernel.
// RUN: fuse-opt %s --pass-pipeline="builtin.module(review-libraries{hardware=h200})" --split-input-file | FileCheck %s
// RUN: fuse-opt %s --pass-pipeline="builtin.module(review-libraries{hardware=h200})" --split-input-file --remarks=text 2>&1 >/dev/null | FileCheck %s --check-prefix=SAID
// RUN: not fuse-opt %s --pass-pipeline="builtin.module(review-libraries{hardware=abacus})" --split-input-file 2>&1 | FileCheck %s --check-prefix=BAD
// BAD: error: review-libraries: unknown hardware 'abacus': expected one of

// It computes what another kernel has made, which the estimates leave out: the product goes back.
// CHECK-LABEL: func.func @main
// CHECK: call @double(
// CHECK: call @mix(
// CHECK: call @mm(
// CHECK-NOT: @mm_kernel
// SAID: passed: review-libraries: library, {{.*}}@mm_kernel goes back to the library: a kernel of its group was not measured: more than casts of what another kernel makes is computed in front of the product
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<131072x256xbf16>, %z: tensor<131072x256xbf16>, %w: tensor<256x64xbf16>, %m: tensor<131072x64xbf16>, %n: tensor<131072x64xbf16>) -> (tensor<131072x64xbf16>, tensor<131072x256xbf16>) {
    %f = "fuse.empty"() {syms = []} : () -> tensor<131072x256xbf16>
    %p = call @double(%x, %f) : (tensor<131072x256xbf16>, tensor<131072x256xbf16>) -> tensor<131072x256xbf16>
    %e = "fuse.empty"() {syms = []} : () -> tensor<131072x256xbf16>
    %v = call @mix(%p, %z, %e) {fuse.group = 0 : i64} : (tensor<131072x256xbf16>, tensor<131072x256xbf16>, tensor<131072x256xbf16>) -> tensor<131072x256xbf16>
    %g = "fuse.empty"() {syms = []} : () -> tensor<131072x64xbf16>
    %y = call @mm_kernel(%v, %w, %g) {fuse.group = 0 : i64} : (tensor<131072x256xbf16>, tensor<256x64xbf16>, tensor<131072x64xbf16>) -> tensor<131072x64xbf16>
    %h = "fuse.empty"() {syms = []} : () -> tensor<131072x64xbf16>
    %y2 = call @behind(%y, %m, %n, %h) {fuse.group = 0 : i64} : (tensor<131072x64xbf16>, tensor<131072x64xbf16>, tensor<131072x64xbf16>, tensor<131072x64xbf16>) -> tensor<131072x64xbf16>
    return %y2, %p : tensor<131072x64xbf16>, tensor<131072x256xbf16>
  }
  func.func private @double(%x: tensor<131072x256xbf16>, %o: tensor<131072x256xbf16>) -> tensor<131072x256xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "131072", d1 = "256"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<131072x256xbf16>, i1, bf16) -> bf16
    %w = arith.addf %v, %v : bf16
    %r = "fuse.store"(%o, %w, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<131072x256xbf16>, bf16, i1) -> tensor<131072x256xbf16>
    return %r : tensor<131072x256xbf16>
  }
  func.func private @mix(%a: tensor<131072x256xbf16>, %b: tensor<131072x256xbf16>, %o: tensor<131072x256xbf16>) -> tensor<131072x256xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "131072", d1 = "256"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %u = "fuse.load"(%a, %true, %zero) {at = ["d0", "d1"]} : (tensor<131072x256xbf16>, i1, bf16) -> bf16
    %v = "fuse.load"(%b, %true, %zero) {at = ["d0", "d1"]} : (tensor<131072x256xbf16>, i1, bf16) -> bf16
    %s = arith.mulf %u, %v : bf16
    %t = arith.addf %s, %u : bf16
    %q = arith.addf %t, %v : bf16
    %r = "fuse.store"(%o, %q, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<131072x256xbf16>, bf16, i1) -> tensor<131072x256xbf16>
    return %r : tensor<131072x256xbf16>
  }
  func.func private @mm(tensor<131072x256xbf16>, tensor<256x64xbf16>) -> tensor<131072x64xbf16> attributes {fuse.extern = "aten.mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
  func.func private @mm_kernel(%x: tensor<131072x256xbf16>, %z: tensor<256x64xbf16>, %o: tensor<131072x64xbf16>) -> tensor<131072x64xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "131072", d1 = "64", d2 = "256"}, fuse.ties = array<i64: 2>,
      fuse.instead = @mm} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d2"]} : (tensor<131072x256xbf16>, i1, bf16) -> bf16
    %b = "fuse.load"(%z, %true, %zero) {at = ["d2", "d1"]} : (tensor<256x64xbf16>, i1, bf16) -> bf16
    %s = "fuse.dot"(%a, %b) {over = ["d2"]} : (bf16, bf16) -> f32
    %t = arith.truncf %s : f32 to bf16
    %r = "fuse.store"(%o, %t, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<131072x64xbf16>, bf16, i1) -> tensor<131072x64xbf16>
    return %r : tensor<131072x64xbf16>
  }
  func.func private @behind(%x0: tensor<131072x64xbf16>, %x1: tensor<131072x64xbf16>, %x2: tensor<131072x64xbf16>, %o: tensor<131072x64xbf16>) -> tensor<131072x64xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "131072", d1 = "64"}, fuse.ties = array<i64: 3>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %v0 = "fuse.load"(%x0, %true, %zero) {at = ["d0", "d1"]} : (tensor<131072x64xbf16>, i1, bf16) -> bf16
    %v1 = "fuse.load"(%x1, %true, %zero) {at = ["d0", "d1"]} : (tensor<131072x64xbf16>, i1, bf16) -> bf16
    %v2 = "fuse.load"(%x2, %true, %zero) {at = ["d0", "d1"]} : (tensor<131072x64xbf16>, i1, bf16) -> bf16
    %p = arith.mulf %v0, %v1 : bf16
    %s = arith.addf %p, %v2 : bf16
    %r = "fuse.store"(%o, %s, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<131072x64xbf16>, bf16, i1) -> tensor<131072x64xbf16>
    return %r : tensor<131072x64xbf16>
  }
}

// -----

// Must not fire: it computes what the program was given, which the estimates count.
// CHECK-LABEL: func.func @main
// CHECK: call @mm_kernel({{.*}}) {{{.*}}fuse.group = 0 : i64}
// SAID: analysis: review-libraries: kernel, {{.*}}@mm_kernel stays a kernel
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<131072x256xbf16>, %z: tensor<131072x256xbf16>, %w: tensor<256x64xbf16>, %m: tensor<131072x64xbf16>, %n: tensor<131072x64xbf16>) -> tensor<131072x64xbf16> {
    %e = "fuse.empty"() {syms = []} : () -> tensor<131072x256xbf16>
    %v = call @mix(%x, %z, %e) {fuse.group = 0 : i64} : (tensor<131072x256xbf16>, tensor<131072x256xbf16>, tensor<131072x256xbf16>) -> tensor<131072x256xbf16>
    %g = "fuse.empty"() {syms = []} : () -> tensor<131072x64xbf16>
    %y = call @mm_kernel(%v, %w, %g) {fuse.group = 0 : i64} : (tensor<131072x256xbf16>, tensor<256x64xbf16>, tensor<131072x64xbf16>) -> tensor<131072x64xbf16>
    %h = "fuse.empty"() {syms = []} : () -> tensor<131072x64xbf16>
    %y2 = call @behind(%y, %m, %n, %h) {fuse.group = 0 : i64} : (tensor<131072x64xbf16>, tensor<131072x64xbf16>, tensor<131072x64xbf16>, tensor<131072x64xbf16>) -> tensor<131072x64xbf16>
    return %y2 : tensor<131072x64xbf16>
  }
  func.func private @mix(%a: tensor<131072x256xbf16>, %b: tensor<131072x256xbf16>, %o: tensor<131072x256xbf16>) -> tensor<131072x256xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "131072", d1 = "256"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %u = "fuse.load"(%a, %true, %zero) {at = ["d0", "d1"]} : (tensor<131072x256xbf16>, i1, bf16) -> bf16
    %v = "fuse.load"(%b, %true, %zero) {at = ["d0", "d1"]} : (tensor<131072x256xbf16>, i1, bf16) -> bf16
    %s = arith.mulf %u, %v : bf16
    %t = arith.addf %s, %u : bf16
    %q = arith.addf %t, %v : bf16
    %r = "fuse.store"(%o, %q, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<131072x256xbf16>, bf16, i1) -> tensor<131072x256xbf16>
    return %r : tensor<131072x256xbf16>
  }
  func.func private @mm(tensor<131072x256xbf16>, tensor<256x64xbf16>) -> tensor<131072x64xbf16> attributes {fuse.extern = "aten.mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
  func.func private @mm_kernel(%x: tensor<131072x256xbf16>, %z: tensor<256x64xbf16>, %o: tensor<131072x64xbf16>) -> tensor<131072x64xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "131072", d1 = "64", d2 = "256"}, fuse.ties = array<i64: 2>,
      fuse.instead = @mm} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d2"]} : (tensor<131072x256xbf16>, i1, bf16) -> bf16
    %b = "fuse.load"(%z, %true, %zero) {at = ["d2", "d1"]} : (tensor<256x64xbf16>, i1, bf16) -> bf16
    %s = "fuse.dot"(%a, %b) {over = ["d2"]} : (bf16, bf16) -> f32
    %t = arith.truncf %s : f32 to bf16
    %r = "fuse.store"(%o, %t, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<131072x64xbf16>, bf16, i1) -> tensor<131072x64xbf16>
    return %r : tensor<131072x64xbf16>
  }
  func.func private @behind(%x0: tensor<131072x64xbf16>, %x1: tensor<131072x64xbf16>, %x2: tensor<131072x64xbf16>, %o: tensor<131072x64xbf16>) -> tensor<131072x64xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "131072", d1 = "64"}, fuse.ties = array<i64: 3>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %v0 = "fuse.load"(%x0, %true, %zero) {at = ["d0", "d1"]} : (tensor<131072x64xbf16>, i1, bf16) -> bf16
    %v1 = "fuse.load"(%x1, %true, %zero) {at = ["d0", "d1"]} : (tensor<131072x64xbf16>, i1, bf16) -> bf16
    %v2 = "fuse.load"(%x2, %true, %zero) {at = ["d0", "d1"]} : (tensor<131072x64xbf16>, i1, bf16) -> bf16
    %p = arith.mulf %v0, %v1 : bf16
    %s = arith.addf %p, %v2 : bf16
    %r = "fuse.store"(%o, %s, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<131072x64xbf16>, bf16, i1) -> tensor<131072x64xbf16>
    return %r : tensor<131072x64xbf16>
  }
}
