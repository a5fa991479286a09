// RUN: fuse-opt %s --pass-pipeline="builtin.module(review-libraries{hardware=h200})" | FileCheck %s
// RUN: fuse-opt %s --pass-pipeline="builtin.module(review-libraries{hardware=h200})" --remarks=text 2>&1 >/dev/null | FileCheck %s --check-prefix=SAID

// Must not fire: the kernel is estimated to take 0.9 of the call's time.  choose-libraries would ask for 0.87.
// CHECK-LABEL: func.func @main
// CHECK: call @short(
// SAID: analysis: review-libraries: kernel, {{.*}}: @short stays a kernel
//
// The other one is estimated to take longer than the call.
// CHECK: call @mm(
// SAID: passed: review-libraries: library, {{.*}}: @long goes back to the library
//
// Blocks that save a thousandth go back.
// CHECK: call @mm_even(
// SAID: passed: review-libraries: library, {{.*}}: @even goes back to the library
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<25088x64xbf16>, %w: tensor<64x64xbf16>, %y: tensor<768x4096xbf16>, %v: tensor<4096x768xbf16>, %z: tensor<6272x64xbf16>, %u: tensor<64x512xbf16>) -> (tensor<25088x64xbf16>, tensor<768x768xbf16>, tensor<6272x512xbf16>) {
    %e = "fuse.empty"() {syms = []} : () -> tensor<25088x64xbf16>
    %a = call @short(%x, %w, %e) : (tensor<25088x64xbf16>, tensor<64x64xbf16>, tensor<25088x64xbf16>) -> tensor<25088x64xbf16>
    %f = "fuse.empty"() {syms = []} : () -> tensor<768x768xbf16>
    %b = call @long(%y, %v, %f) : (tensor<768x4096xbf16>, tensor<4096x768xbf16>, tensor<768x768xbf16>) -> tensor<768x768xbf16>
    %g = "fuse.empty"() {syms = []} : () -> tensor<6272x512xbf16>
    %c = call @even(%z, %u, %g) : (tensor<6272x64xbf16>, tensor<64x512xbf16>, tensor<6272x512xbf16>) -> tensor<6272x512xbf16>
    return %a, %b, %c : tensor<25088x64xbf16>, tensor<768x768xbf16>, tensor<6272x512xbf16>
  }
  func.func private @mm_short(tensor<25088x64xbf16>, tensor<64x64xbf16>) -> tensor<25088x64xbf16> attributes {fuse.extern = "aten.mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
  func.func private @short(%x: tensor<25088x64xbf16>, %w: tensor<64x64xbf16>, %o: tensor<25088x64xbf16>) -> tensor<25088x64xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "25088", d1 = "64", d2 = "64"}, fuse.ties = array<i64: 2>, fuse.instead = @mm_short} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d2"]} : (tensor<25088x64xbf16>, i1, bf16) -> bf16
    %b = "fuse.load"(%w, %true, %zero) {at = ["d2", "d1"]} : (tensor<64x64xbf16>, i1, bf16) -> bf16
    %s = "fuse.dot"(%a, %b) {over = ["d2"]} : (bf16, bf16) -> f32
    %t = arith.truncf %s : f32 to bf16
    %r = "fuse.store"(%o, %t, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<25088x64xbf16>, bf16, i1) -> tensor<25088x64xbf16>
    return %r : tensor<25088x64xbf16>
  }
  func.func private @mm(tensor<768x4096xbf16>, tensor<4096x768xbf16>) -> tensor<768x768xbf16> attributes {fuse.extern = "aten.mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
  func.func private @long(%x: tensor<768x4096xbf16>, %w: tensor<4096x768xbf16>, %o: tensor<768x768xbf16>) -> tensor<768x768xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "768", d1 = "768", d2 = "4096"}, fuse.ties = array<i64: 2>, fuse.instead = @mm} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d2"]} : (tensor<768x4096xbf16>, i1, bf16) -> bf16
    %b = "fuse.load"(%w, %true, %zero) {at = ["d2", "d1"]} : (tensor<4096x768xbf16>, i1, bf16) -> bf16
    %s = "fuse.dot"(%a, %b) {over = ["d2"]} : (bf16, bf16) -> f32
    %t = arith.truncf %s : f32 to bf16
    %r = "fuse.store"(%o, %t, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<768x768xbf16>, bf16, i1) -> tensor<768x768xbf16>
    return %r : tensor<768x768xbf16>
  }
  func.func private @mm_even(tensor<6272x64xbf16>, tensor<64x512xbf16>) -> tensor<6272x512xbf16> attributes {fuse.extern = "aten.mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
  func.func private @even(%x: tensor<6272x64xbf16>, %w: tensor<64x512xbf16>, %o: tensor<6272x512xbf16>) -> tensor<6272x512xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "6272", d1 = "512", d2 = "64"}, fuse.ties = array<i64: 2>, fuse.instead = @mm_even} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d2"]} : (tensor<6272x64xbf16>, i1, bf16) -> bf16
    %b = "fuse.load"(%w, %true, %zero) {at = ["d2", "d1"]} : (tensor<64x512xbf16>, i1, bf16) -> bf16
    %s = "fuse.dot"(%a, %b) {over = ["d2"]} : (bf16, bf16) -> f32
    %t = arith.truncf %s : f32 to bf16
    %r = "fuse.store"(%o, %t, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<6272x512xbf16>, bf16, i1) -> tensor<6272x512xbf16>
    return %r : tensor<6272x512xbf16>
  }
}
