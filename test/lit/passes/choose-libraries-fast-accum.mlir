// RUN: fuse-opt %s --pass-pipeline="builtin.module(choose-libraries{products=generated})" --split-input-file | FileCheck %s
// RUN: fuse-opt %s --pass-pipeline="builtin.module(choose-libraries{products=generated hardware=h200})" --split-input-file --remarks=text 2>&1 >/dev/null | FileCheck %s --check-prefix=SAID
// RUN: fuse-opt %s --pass-pipeline="builtin.module(choose-libraries{products=generated},deduplicate-calls,fuse-vertical{hardware=h200},fuse-horizontal{hardware=h200},materialize-fusion,simplify-dims,split-reductions{hardware=h200})" --split-input-file | FileCheck %s --check-prefix=CARRIED

// torch's switch becomes an attribute of the product, which fusion and the cut of a long sum keep.
// CHECK-LABEL: func.func private @fast_kernel
// CHECK: "fuse.dot"(%{{.*}}, %{{.*}}) {fast_accum, over = ["d2"]} : (f8E4M3FN, f8E4M3FN) -> f32
// CARRIED-LABEL: func.func private @fused_fast_kernel_double_0_slices
// CARRIED: "fuse.dot"(%{{.*}}, %{{.*}}) {fast_accum, over = ["d2"]} : (f8E4M3FN, f8E4M3FN) -> f32
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<64x4096xf8E4M3FN>, %w: tensor<4096x64xf8E4M3FN, #fuse.layout<"4096,64", "1,4096", "0", "">>, %a: tensor<1xf32>, %b: tensor<1xf32>) -> tensor<64x64xbf16> {
    %y = call @fast(%x, %w, %a, %b) : (tensor<64x4096xf8E4M3FN>, tensor<4096x64xf8E4M3FN, #fuse.layout<"4096,64", "1,4096", "0", "">>, tensor<1xf32>, tensor<1xf32>) -> tensor<64x64xbf16>
    %f = "fuse.empty"() {syms = []} : () -> tensor<64x64xbf16>
    %z = call @double(%y, %f) : (tensor<64x64xbf16>, tensor<64x64xbf16>) -> tensor<64x64xbf16>
    return %z : tensor<64x64xbf16>
  }
  func.func private @fast(tensor<64x4096xf8E4M3FN>, tensor<4096x64xf8E4M3FN, #fuse.layout<"4096,64", "1,4096", "0", "">>, tensor<1xf32>, tensor<1xf32>) -> tensor<64x64xbf16> attributes {fuse.extern = "aten._scaled_mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>, #fuse.arg<2 : i64>, #fuse.arg<3 : i64>], fuse.kwargs = {use_fast_accum = true}}
  func.func private @double(%x: tensor<64x64xbf16>, %o: tensor<64x64xbf16>) -> tensor<64x64xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "64", d1 = "64"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<64x64xbf16>, i1, bf16) -> bf16
    %t = arith.addf %v, %v : bf16
    %r = "fuse.store"(%o, %t, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<64x64xbf16>, bf16, i1) -> tensor<64x64xbf16>
    return %r : tensor<64x64xbf16>
  }
}

// -----

// Two calls that differ in the switch alone are two products, also in one kernel.
// CARRIED-LABEL: func.func @main
// CARRIED: "fuse.dot"(%[[A:.*]], %[[B:.*]]) {fast_accum, over = ["d2"]}
// CARRIED: "fuse.dot"(%[[A]], %[[B]]) {over = ["d2"]}
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<64x4096xf8E4M3FN>, %w: tensor<4096x64xf8E4M3FN, #fuse.layout<"4096,64", "1,4096", "0", "">>, %a: tensor<1xf32>, %b: tensor<1xf32>) -> (tensor<64x64xbf16>, tensor<64x64xbf16>) {
    %y = call @fast(%x, %w, %a, %b) : (tensor<64x4096xf8E4M3FN>, tensor<4096x64xf8E4M3FN, #fuse.layout<"4096,64", "1,4096", "0", "">>, tensor<1xf32>, tensor<1xf32>) -> tensor<64x64xbf16>
    %z = call @exact(%x, %w, %a, %b) : (tensor<64x4096xf8E4M3FN>, tensor<4096x64xf8E4M3FN, #fuse.layout<"4096,64", "1,4096", "0", "">>, tensor<1xf32>, tensor<1xf32>) -> tensor<64x64xbf16>
    return %y, %z : tensor<64x64xbf16>, tensor<64x64xbf16>
  }
  func.func private @fast(tensor<64x4096xf8E4M3FN>, tensor<4096x64xf8E4M3FN, #fuse.layout<"4096,64", "1,4096", "0", "">>, tensor<1xf32>, tensor<1xf32>) -> tensor<64x64xbf16> attributes {fuse.extern = "aten._scaled_mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>, #fuse.arg<2 : i64>, #fuse.arg<3 : i64>], fuse.kwargs = {use_fast_accum = true}}
  func.func private @exact(tensor<64x4096xf8E4M3FN>, tensor<4096x64xf8E4M3FN, #fuse.layout<"4096,64", "1,4096", "0", "">>, tensor<1xf32>, tensor<1xf32>) -> tensor<64x64xbf16> attributes {fuse.extern = "aten._scaled_mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>, #fuse.arg<2 : i64>, #fuse.arg<3 : i64>], fuse.kwargs = {use_fast_accum = false}}
}

// -----

// Must not fire: the switch is off, or is not there.
// CHECK-LABEL: func.func private @off_kernel
// CHECK: "fuse.dot"(%{{.*}}, %{{.*}}) {over = ["d2"]} : (f8E4M3FN, f8E4M3FN) -> f32
// CHECK-LABEL: func.func private @missing_kernel
// CHECK: "fuse.dot"(%{{.*}}, %{{.*}}) {over = ["d2"]} : (f8E4M3FN, f8E4M3FN) -> f32
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<64x4096xf8E4M3FN>, %w: tensor<4096x64xf8E4M3FN, #fuse.layout<"4096,64", "1,4096", "0", "">>, %a: tensor<1xf32>, %b: tensor<1xf32>) -> (tensor<64x64xbf16>, tensor<64x64xbf16>) {
    %y = call @off(%x, %w, %a, %b) : (tensor<64x4096xf8E4M3FN>, tensor<4096x64xf8E4M3FN, #fuse.layout<"4096,64", "1,4096", "0", "">>, tensor<1xf32>, tensor<1xf32>) -> tensor<64x64xbf16>
    %z = call @missing(%x, %w, %a, %b) : (tensor<64x4096xf8E4M3FN>, tensor<4096x64xf8E4M3FN, #fuse.layout<"4096,64", "1,4096", "0", "">>, tensor<1xf32>, tensor<1xf32>) -> tensor<64x64xbf16>
    return %y, %z : tensor<64x64xbf16>, tensor<64x64xbf16>
  }
  func.func private @off(tensor<64x4096xf8E4M3FN>, tensor<4096x64xf8E4M3FN, #fuse.layout<"4096,64", "1,4096", "0", "">>, tensor<1xf32>, tensor<1xf32>) -> tensor<64x64xbf16> attributes {fuse.extern = "aten._scaled_mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>, #fuse.arg<2 : i64>, #fuse.arg<3 : i64>], fuse.kwargs = {use_fast_accum = false}}
  func.func private @missing(tensor<64x4096xf8E4M3FN>, tensor<4096x64xf8E4M3FN, #fuse.layout<"4096,64", "1,4096", "0", "">>, tensor<1xf32>, tensor<1xf32>) -> tensor<64x64xbf16> attributes {fuse.extern = "aten._scaled_mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>, #fuse.arg<2 : i64>, #fuse.arg<3 : i64>], fuse.kwargs = {}}
}

// -----

// Must not fire: sums of bf16 have all bits of f32, whatever the switch says.
// CHECK-LABEL: func.func private @wide_kernel
// CHECK: "fuse.dot"(%{{.*}}, %{{.*}}) {over = ["d2"]} : (bf16, bf16) -> f32
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<64x4096xbf16>, %w: tensor<4096x64xbf16, #fuse.layout<"4096,64", "1,4096", "0", "">>, %a: tensor<1xf32>, %b: tensor<1xf32>) -> tensor<64x64xbf16> {
    %y = call @wide(%x, %w, %a, %b) : (tensor<64x4096xbf16>, tensor<4096x64xbf16, #fuse.layout<"4096,64", "1,4096", "0", "">>, tensor<1xf32>, tensor<1xf32>) -> tensor<64x64xbf16>
    return %y : tensor<64x64xbf16>
  }
  func.func private @wide(tensor<64x4096xbf16>, tensor<4096x64xbf16, #fuse.layout<"4096,64", "1,4096", "0", "">>, tensor<1xf32>, tensor<1xf32>) -> tensor<64x64xbf16> attributes {fuse.extern = "aten._scaled_mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>, #fuse.arg<2 : i64>, #fuse.arg<3 : i64>], fuse.kwargs = {use_fast_accum = true}}
}

// -----

// Must not fire: the switch is not known when compiling.
// CHECK-LABEL: func.func @main
// CHECK: call @unknown(
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<64x4096xf8E4M3FN>, %w: tensor<4096x64xf8E4M3FN, #fuse.layout<"4096,64", "1,4096", "0", "">>, %a: tensor<1xf32>, %b: tensor<1xf32>, %c: index) -> tensor<64x64xbf16> {
    %y = call @unknown(%x, %w, %a, %b, %c) : (tensor<64x4096xf8E4M3FN>, tensor<4096x64xf8E4M3FN, #fuse.layout<"4096,64", "1,4096", "0", "">>, tensor<1xf32>, tensor<1xf32>, index) -> tensor<64x64xbf16>
    return %y : tensor<64x64xbf16>
  }
  func.func private @unknown(tensor<64x4096xf8E4M3FN>, tensor<4096x64xf8E4M3FN, #fuse.layout<"4096,64", "1,4096", "0", "">>, tensor<1xf32>, tensor<1xf32>, index) -> tensor<64x64xbf16> attributes {fuse.extern = "aten._scaled_mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>, #fuse.arg<2 : i64>, #fuse.arg<3 : i64>], fuse.kwargs = {use_fast_accum = #fuse.arg<4 : i64>}}
}

// -----

// Sums that exist once leave registers for larger blocks, which the estimate knows.
// SAID: kernel, kernel_us=14{{[0-9.]+}}, {{.*}}@large_fast becomes a kernel
// SAID: kernel, kernel_us=19{{[0-9.]+}}, {{.*}}@large_exact becomes a kernel
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<4096x4096xf8E4M3FN>, %w: tensor<4096x4096xf8E4M3FN, #fuse.layout<"4096,4096", "1,4096", "0", "">>, %a: tensor<1xf32>, %b: tensor<1xf32>) -> (tensor<4096x4096xbf16>, tensor<4096x4096xbf16>) {
    %y = call @large_fast(%x, %w, %a, %b) : (tensor<4096x4096xf8E4M3FN>, tensor<4096x4096xf8E4M3FN, #fuse.layout<"4096,4096", "1,4096", "0", "">>, tensor<1xf32>, tensor<1xf32>) -> tensor<4096x4096xbf16>
    %z = call @large_exact(%x, %w, %a, %b) : (tensor<4096x4096xf8E4M3FN>, tensor<4096x4096xf8E4M3FN, #fuse.layout<"4096,4096", "1,4096", "0", "">>, tensor<1xf32>, tensor<1xf32>) -> tensor<4096x4096xbf16>
    return %y, %z : tensor<4096x4096xbf16>, tensor<4096x4096xbf16>
  }
  func.func private @large_fast(tensor<4096x4096xf8E4M3FN>, tensor<4096x4096xf8E4M3FN, #fuse.layout<"4096,4096", "1,4096", "0", "">>, tensor<1xf32>, tensor<1xf32>) -> tensor<4096x4096xbf16> attributes {fuse.extern = "aten._scaled_mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>, #fuse.arg<2 : i64>, #fuse.arg<3 : i64>], fuse.kwargs = {use_fast_accum = true}}
  func.func private @large_exact(tensor<4096x4096xf8E4M3FN>, tensor<4096x4096xf8E4M3FN, #fuse.layout<"4096,4096", "1,4096", "0", "">>, tensor<1xf32>, tensor<1xf32>) -> tensor<4096x4096xbf16> attributes {fuse.extern = "aten._scaled_mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>, #fuse.arg<2 : i64>, #fuse.arg<3 : i64>], fuse.kwargs = {use_fast_accum = false}}
}
