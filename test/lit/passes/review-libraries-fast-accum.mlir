// RUN: fuse-opt %s --pass-pipeline="builtin.module(review-libraries{back=all})" --split-input-file --verify-each=on | FileCheck %s

// The call that is made again has the switch of the one whose place the kernel took.
// CHECK-LABEL: func.func @main
// CHECK-NEXT: %[[Y:.*]] = call @scaled(%arg0, %arg1, %arg2, %arg2)
// CHECK-NEXT: return %[[Y]]
// CHECK: func.func private @scaled({{.*}} fuse.extern = "aten._scaled_mm.default", fuse.kwargs = {use_fast_accum = true}}
// CHECK-NOT: @scaled_kernel
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<64x64xf8E4M3FN>, %w: tensor<64x64xf8E4M3FN, #fuse.layout<"64,64", "1,64", "0", "">>, %a: tensor<1xf32>) -> tensor<64x64xbf16> {
    %e = "fuse.empty"() {syms = []} : () -> tensor<64x64xbf16>
    %y = call @scaled_kernel(%x, %w, %a, %e) : (tensor<64x64xf8E4M3FN>, tensor<64x64xf8E4M3FN, #fuse.layout<"64,64", "1,64", "0", "">>, tensor<1xf32>, tensor<64x64xbf16>) -> tensor<64x64xbf16>
    return %y : tensor<64x64xbf16>
  }
  func.func private @scaled(tensor<64x64xf8E4M3FN>, tensor<64x64xf8E4M3FN, #fuse.layout<"64,64", "1,64", "0", "">>, tensor<1xf32>, tensor<1xf32>) -> tensor<64x64xbf16> attributes {fuse.extern = "aten._scaled_mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>, #fuse.arg<2 : i64>, #fuse.arg<3 : i64>], fuse.kwargs = {use_fast_accum = true}}
  func.func private @scaled_kernel(%x: tensor<64x64xf8E4M3FN>, %w: tensor<64x64xf8E4M3FN, #fuse.layout<"64,64", "1,64", "0", "">>, %a: tensor<1xf32>, %o: tensor<64x64xbf16>) -> tensor<64x64xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "64", d1 = "64", d2 = "64"}, fuse.ties = array<i64: 3>,
      fuse.instead = @scaled} {
    %true = arith.constant true
    %none = arith.constant 0.0 : f32
    %zero = arith.constant 0.0 : f8E4M3FN
    %u = "fuse.load"(%x, %true, %zero) {at = ["d0", "d2"]} : (tensor<64x64xf8E4M3FN>, i1, f8E4M3FN) -> f8E4M3FN
    %v = "fuse.load"(%w, %true, %zero) {at = ["d2", "d1"]} : (tensor<64x64xf8E4M3FN, #fuse.layout<"64,64", "1,64", "0", "">>, i1, f8E4M3FN) -> f8E4M3FN
    %s = "fuse.dot"(%u, %v) {fast_accum, over = ["d2"]} : (f8E4M3FN, f8E4M3FN) -> f32
    %l = "fuse.load"(%a, %true, %none) {at = ["0"]} : (tensor<1xf32>, i1, f32) -> f32
    %m = arith.mulf %s, %l : f32
    %p = "fuse.load"(%a, %true, %none) {at = ["0"]} : (tensor<1xf32>, i1, f32) -> f32
    %n = arith.mulf %m, %p : f32
    %t = arith.truncf %n : f32 to bf16
    %r = "fuse.store"(%o, %t, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<64x64xbf16>, bf16, i1) -> tensor<64x64xbf16>
    return %r : tensor<64x64xbf16>
  }
}

// -----

// Must not fire: a switch that is no truth value is of no call that torch takes.
// CHECK-LABEL: func.func @main
// CHECK: call @scaled_kernel(
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<64x64xf8E4M3FN>, %w: tensor<64x64xf8E4M3FN, #fuse.layout<"64,64", "1,64", "0", "">>, %a: tensor<1xf32>) -> tensor<64x64xbf16> {
    %e = "fuse.empty"() {syms = []} : () -> tensor<64x64xbf16>
    %y = call @scaled_kernel(%x, %w, %a, %e) : (tensor<64x64xf8E4M3FN>, tensor<64x64xf8E4M3FN, #fuse.layout<"64,64", "1,64", "0", "">>, tensor<1xf32>, tensor<64x64xbf16>) -> tensor<64x64xbf16>
    return %y : tensor<64x64xbf16>
  }
  func.func private @scaled(tensor<64x64xf8E4M3FN>, tensor<64x64xf8E4M3FN, #fuse.layout<"64,64", "1,64", "0", "">>, tensor<1xf32>, tensor<1xf32>) -> tensor<64x64xbf16> attributes {fuse.extern = "aten._scaled_mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>, #fuse.arg<2 : i64>, #fuse.arg<3 : i64>], fuse.kwargs = {use_fast_accum = 0.5 : f64}}
  func.func private @scaled_kernel(%x: tensor<64x64xf8E4M3FN>, %w: tensor<64x64xf8E4M3FN, #fuse.layout<"64,64", "1,64", "0", "">>, %a: tensor<1xf32>, %o: tensor<64x64xbf16>) -> tensor<64x64xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "64", d1 = "64", d2 = "64"}, fuse.ties = array<i64: 3>,
      fuse.instead = @scaled} {
    %true = arith.constant true
    %none = arith.constant 0.0 : f32
    %zero = arith.constant 0.0 : f8E4M3FN
    %u = "fuse.load"(%x, %true, %zero) {at = ["d0", "d2"]} : (tensor<64x64xf8E4M3FN>, i1, f8E4M3FN) -> f8E4M3FN
    %v = "fuse.load"(%w, %true, %zero) {at = ["d2", "d1"]} : (tensor<64x64xf8E4M3FN, #fuse.layout<"64,64", "1,64", "0", "">>, i1, f8E4M3FN) -> f8E4M3FN
    %s = "fuse.dot"(%u, %v) {fast_accum, over = ["d2"]} : (f8E4M3FN, f8E4M3FN) -> f32
    %l = "fuse.load"(%a, %true, %none) {at = ["0"]} : (tensor<1xf32>, i1, f32) -> f32
    %m = arith.mulf %s, %l : f32
    %p = "fuse.load"(%a, %true, %none) {at = ["0"]} : (tensor<1xf32>, i1, f32) -> f32
    %n = arith.mulf %m, %p : f32
    %t = arith.truncf %n : f32 to bf16
    %r = "fuse.store"(%o, %t, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<64x64xbf16>, bf16, i1) -> tensor<64x64xbf16>
    return %r : tensor<64x64xbf16>
  }
}
