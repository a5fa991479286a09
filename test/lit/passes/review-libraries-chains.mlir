// RUN: fuse-opt %s --pass-pipeline="builtin.module(review-libraries{hardware=h200})" --split-input-file | FileCheck %s
// RUN: fuse-opt %s --pass-pipeline="builtin.module(review-libraries{hardware=h200})" --split-input-file --remarks=text 2>&1 >/dev/null | FileCheck %s --check-prefix=SAID
// RUN: fuse-opt %s --pass-pipeline="builtin.module(review-libraries{hardware=h200 spilled=mm0,mm1})" --split-input-file | FileCheck %s

// Two products of a group, one of which reads what is made of the other, stay kernels, also if that spills.
// CHECK-LABEL: func.func @main
// CHECK: call @product0(
// CHECK: call @product1(
// SAID: analysis: review-libraries: chain: @product0 stays a kernel, with another product of its group
// SAID: analysis: review-libraries: chain: @product1 stays a kernel, with another product of its group
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<65536x64xbf16>, %w0: tensor<64x64xbf16>, %w1: tensor<64x64xbf16>) -> tensor<65536x64xbf16> {
    %e0 = "fuse.empty"() {syms = []} : () -> tensor<65536x64xbf16>
    %y0 = call @product0(%x, %w0, %e0) {fuse.group = 0 : i64} : (tensor<65536x64xbf16>, tensor<64x64xbf16>, tensor<65536x64xbf16>) -> tensor<65536x64xbf16> loc("mm0"("model.py":9:0))
    %f0 = "fuse.empty"() {syms = []} : () -> tensor<65536x64xbf16>
    %z0 = call @relu0(%y0, %f0) {fuse.group = 0 : i64} : (tensor<65536x64xbf16>, tensor<65536x64xbf16>) -> tensor<65536x64xbf16>
    %e1 = "fuse.empty"() {syms = []} : () -> tensor<65536x64xbf16>
    %y1 = call @product1(%z0, %w1, %e1) {fuse.group = 0 : i64} : (tensor<65536x64xbf16>, tensor<64x64xbf16>, tensor<65536x64xbf16>) -> tensor<65536x64xbf16> loc("mm1"("model.py":1:0))
    return %y1 : tensor<65536x64xbf16>
  }
  func.func private @mm0(tensor<65536x64xbf16>, tensor<64x64xbf16>) -> tensor<65536x64xbf16> attributes {fuse.extern = "aten.mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
  func.func private @product0(%x: tensor<65536x64xbf16>, %w: tensor<64x64xbf16>, %o: tensor<65536x64xbf16>) -> tensor<65536x64xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "65536", d1 = "64", d2 = "64"}, fuse.ties = array<i64: 2>, fuse.instead = @mm0} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d2"]} : (tensor<65536x64xbf16>, i1, bf16) -> bf16
    %b = "fuse.load"(%w, %true, %zero) {at = ["d2", "d1"]} : (tensor<64x64xbf16>, i1, bf16) -> bf16
    %s = "fuse.dot"(%a, %b) {over = ["d2"]} : (bf16, bf16) -> f32
    %t = arith.truncf %s : f32 to bf16
    %r = "fuse.store"(%o, %t, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<65536x64xbf16>, bf16, i1) -> tensor<65536x64xbf16>
    return %r : tensor<65536x64xbf16>
  }
  func.func private @relu0(%x: tensor<65536x64xbf16>, %o: tensor<65536x64xbf16>) -> tensor<65536x64xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "65536", d1 = "64"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<65536x64xbf16>, i1, bf16) -> bf16
    %s = arith.maximumf %a, %zero : bf16
    %r = "fuse.store"(%o, %s, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<65536x64xbf16>, bf16, i1) -> tensor<65536x64xbf16>
    return %r : tensor<65536x64xbf16>
  }
  func.func private @mm1(tensor<65536x64xbf16>, tensor<64x64xbf16>) -> tensor<65536x64xbf16> attributes {fuse.extern = "aten.mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
  func.func private @product1(%x: tensor<65536x64xbf16>, %w: tensor<64x64xbf16>, %o: tensor<65536x64xbf16>) -> tensor<65536x64xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "65536", d1 = "64", d2 = "64"}, fuse.ties = array<i64: 2>, fuse.instead = @mm1} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d2"]} : (tensor<65536x64xbf16>, i1, bf16) -> bf16
    %b = "fuse.load"(%w, %true, %zero) {at = ["d2", "d1"]} : (tensor<64x64xbf16>, i1, bf16) -> bf16
    %s = "fuse.dot"(%a, %b) {over = ["d2"]} : (bf16, bf16) -> f32
    %t = arith.truncf %s : f32 to bf16
    %r = "fuse.store"(%o, %t, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<65536x64xbf16>, bf16, i1) -> tensor<65536x64xbf16>
    return %r : tensor<65536x64xbf16>
  }
}

// -----

// Must not fire: they are in different groups, so that each is weighed by itself.
// CHECK-LABEL: func.func @main
// CHECK: call @product0(
// SAID-NOT: review-libraries: chain
// SAID: analysis: review-libraries: kernel, {{.*}}@product0 stays a kernel
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<65536x256xbf16>, %w0: tensor<256x64xbf16>, %w1: tensor<64x64xbf16>) -> tensor<65536x64xbf16> {
    %e0 = "fuse.empty"() {syms = []} : () -> tensor<65536x64xbf16>
    %y0 = call @product0(%x, %w0, %e0) {fuse.group = 0 : i64} : (tensor<65536x256xbf16>, tensor<256x64xbf16>, tensor<65536x64xbf16>) -> tensor<65536x64xbf16>
    %f0 = "fuse.empty"() {syms = []} : () -> tensor<65536x64xbf16>
    %z0 = call @relu0(%y0, %f0) {fuse.group = 0 : i64} : (tensor<65536x64xbf16>, tensor<65536x64xbf16>) -> tensor<65536x64xbf16>
    %e1 = "fuse.empty"() {syms = []} : () -> tensor<65536x64xbf16>
    %y1 = call @product1(%z0, %w1, %e1) {fuse.group = 1 : i64} : (tensor<65536x64xbf16>, tensor<64x64xbf16>, tensor<65536x64xbf16>) -> tensor<65536x64xbf16>
    return %y1 : tensor<65536x64xbf16>
  }
  func.func private @mm0(tensor<65536x256xbf16>, tensor<256x64xbf16>) -> tensor<65536x64xbf16> attributes {fuse.extern = "aten.mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
  func.func private @product0(%x: tensor<65536x256xbf16>, %w: tensor<256x64xbf16>, %o: tensor<65536x64xbf16>) -> tensor<65536x64xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "65536", d1 = "64", d2 = "256"}, fuse.ties = array<i64: 2>, fuse.instead = @mm0} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d2"]} : (tensor<65536x256xbf16>, i1, bf16) -> bf16
    %b = "fuse.load"(%w, %true, %zero) {at = ["d2", "d1"]} : (tensor<256x64xbf16>, i1, bf16) -> bf16
    %s = "fuse.dot"(%a, %b) {over = ["d2"]} : (bf16, bf16) -> f32
    %t = arith.truncf %s : f32 to bf16
    %r = "fuse.store"(%o, %t, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<65536x64xbf16>, bf16, i1) -> tensor<65536x64xbf16>
    return %r : tensor<65536x64xbf16>
  }
  func.func private @relu0(%x: tensor<65536x64xbf16>, %o: tensor<65536x64xbf16>) -> tensor<65536x64xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "65536", d1 = "64"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<65536x64xbf16>, i1, bf16) -> bf16
    %s = arith.maximumf %a, %zero : bf16
    %r = "fuse.store"(%o, %s, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<65536x64xbf16>, bf16, i1) -> tensor<65536x64xbf16>
    return %r : tensor<65536x64xbf16>
  }
  func.func private @mm1(tensor<65536x64xbf16>, tensor<64x64xbf16>) -> tensor<65536x64xbf16> attributes {fuse.extern = "aten.mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
  func.func private @product1(%x: tensor<65536x64xbf16>, %w: tensor<64x64xbf16>, %o: tensor<65536x64xbf16>) -> tensor<65536x64xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "65536", d1 = "64", d2 = "64"}, fuse.ties = array<i64: 2>, fuse.instead = @mm1} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d2"]} : (tensor<65536x64xbf16>, i1, bf16) -> bf16
    %b = "fuse.load"(%w, %true, %zero) {at = ["d2", "d1"]} : (tensor<64x64xbf16>, i1, bf16) -> bf16
    %s = "fuse.dot"(%a, %b) {over = ["d2"]} : (bf16, bf16) -> f32
    %t = arith.truncf %s : f32 to bf16
    %r = "fuse.store"(%o, %t, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<65536x64xbf16>, bf16, i1) -> tensor<65536x64xbf16>
    return %r : tensor<65536x64xbf16>
  }
}
