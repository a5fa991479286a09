// RUN: fuse-opt %s --pass-pipeline="builtin.module(review-libraries{back=all})" --split-input-file --verify-each=on | FileCheck %s

// Both factors are one tensor, which the call takes once.
// CHECK-LABEL: func.func @main(%arg0: tensor<64x64xbf16>)
// CHECK-NEXT: %[[Y:.*]] = call @mm(%arg0) {{{.*}}} : (tensor<64x64xbf16>) -> tensor<64x64xbf16>
// CHECK-NEXT: return %[[Y]]
// CHECK: func.func private @mm({{.*}}fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<0 : i64>]
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<64x64xbf16>) -> tensor<64x64xbf16> {
    %e = "fuse.empty"() {syms = []} : () -> tensor<64x64xbf16>
    %y = call @mm_kernel(%x, %e) : (tensor<64x64xbf16>, tensor<64x64xbf16>) -> tensor<64x64xbf16>
    return %y : tensor<64x64xbf16>
  }
  func.func private @mm(tensor<64x64xbf16>) -> tensor<64x64xbf16> attributes {fuse.extern = "aten.mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<0 : i64>], fuse.kwargs = {}}
  func.func private @mm_kernel(%x: tensor<64x64xbf16>, %o: tensor<64x64xbf16>) -> tensor<64x64xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "64", d1 = "64", d2 = "64"}, fuse.ties = array<i64: 1>,
      fuse.instead = @mm} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d2"]} : (tensor<64x64xbf16>, i1, bf16) -> bf16
    %b = "fuse.load"(%x, %true, %zero) {at = ["d2", "d1"]} : (tensor<64x64xbf16>, i1, bf16) -> bf16
    %s = "fuse.dot"(%a, %b) {over = ["d2"]} : (bf16, bf16) -> f32
    %t = arith.truncf %s : f32 to bf16
    %r = "fuse.store"(%o, %t, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<64x64xbf16>, bf16, i1) -> tensor<64x64xbf16>
    return %r : tensor<64x64xbf16>
  }
}

// -----

// Must not fire: a pass lets one factor read another tensor than the other does.
// CHECK-LABEL: func.func @main(%arg0: tensor<64x64xbf16>, %arg1: tensor<64x64xbf16>)
// CHECK: call @mm_kernel(
// CHECK-NOT: call
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<64x64xbf16>, %z: tensor<64x64xbf16>) -> tensor<64x64xbf16> {
    %e = "fuse.empty"() {syms = []} : () -> tensor<64x64xbf16>
    %y = call @mm_kernel(%x, %z, %e) : (tensor<64x64xbf16>, tensor<64x64xbf16>, tensor<64x64xbf16>) -> tensor<64x64xbf16>
    return %y : tensor<64x64xbf16>
  }
  func.func private @mm(tensor<64x64xbf16>) -> tensor<64x64xbf16> attributes {fuse.extern = "aten.mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<0 : i64>], fuse.kwargs = {}}
  func.func private @mm_kernel(%x: tensor<64x64xbf16>, %z: tensor<64x64xbf16>, %o: tensor<64x64xbf16>) -> tensor<64x64xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "64", d1 = "64", d2 = "64"}, fuse.ties = array<i64: 2>,
      fuse.instead = @mm} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d2"]} : (tensor<64x64xbf16>, i1, bf16) -> bf16
    %b = "fuse.load"(%z, %true, %zero) {at = ["d2", "d1"]} : (tensor<64x64xbf16>, i1, bf16) -> bf16
    %s = "fuse.dot"(%a, %b) {over = ["d2"]} : (bf16, bf16) -> f32
    %t = arith.truncf %s : f32 to bf16
    %r = "fuse.store"(%o, %t, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<64x64xbf16>, bf16, i1) -> tensor<64x64xbf16>
    return %r : tensor<64x64xbf16>
  }
}

// -----

// Must not fire: a pass lets the factors read two views of the tensor.
// CHECK-LABEL: func.func @main(%arg0: tensor<2x64x64xbf16>)
// CHECK: call @mm_kernel(
// CHECK-NOT: call
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<2x64x64xbf16>) -> tensor<64x64xbf16> {
    %e = "fuse.empty"() {syms = []} : () -> tensor<64x64xbf16>
    %y = call @mm_kernel(%x, %e) : (tensor<2x64x64xbf16>, tensor<64x64xbf16>) -> tensor<64x64xbf16>
    return %y : tensor<64x64xbf16>
  }
  func.func private @mm(tensor<64x64xbf16>) -> tensor<64x64xbf16> attributes {fuse.extern = "aten.mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<0 : i64>], fuse.kwargs = {}}
  func.func private @mm_kernel(%x: tensor<2x64x64xbf16>, %o: tensor<64x64xbf16>) -> tensor<64x64xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "64", d1 = "64", d2 = "64"}, fuse.ties = array<i64: 1>,
      fuse.instead = @mm} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %a = "fuse.load"(%x, %true, %zero) {at = ["0", "d0", "d2"]} : (tensor<2x64x64xbf16>, i1, bf16) -> bf16
    %b = "fuse.load"(%x, %true, %zero) {at = ["1", "d2", "d1"]} : (tensor<2x64x64xbf16>, i1, bf16) -> bf16
    %s = "fuse.dot"(%a, %b) {over = ["d2"]} : (bf16, bf16) -> f32
    %t = arith.truncf %s : f32 to bf16
    %r = "fuse.store"(%o, %t, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<64x64xbf16>, bf16, i1) -> tensor<64x64xbf16>
    return %r : tensor<64x64xbf16>
  }
}
