// A factor that a kernel gathers along overlapping windows is weighed although rows of it would not start at multiples of 16
// bytes: nothing reads it in memory.
// RUN: fuse-opt %s --pass-pipeline="builtin.module(choose-libraries{hardware=h200})" --split-input-file | FileCheck %s
// RUN: fuse-opt %s --pass-pipeline="builtin.module(choose-libraries{hardware=h200})" --split-input-file --remarks=text 2>&1 >/dev/null | FileCheck %s --check-prefix=SAID

// CHECK: call @bmm_kernel(
// SAID: passed: choose-libraries: kernel, kernel_us={{[0-9.]+}}, call_us={{[0-9.]+}}: @bmm becomes a kernel
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<8x3x224x224xbf16>, %w: tensor<32x27xbf16>) -> tensor<8x32x12321xbf16> {
    %e = "fuse.empty"() {syms = []} : () -> tensor<8x27x12321xbf16>
    %c = call @columns(%x, %e) : (tensor<8x3x224x224xbf16>, tensor<8x27x12321xbf16>) -> tensor<8x27x12321xbf16>
    %v = "fuse.view"(%w) {map = ["v1", "v2"], syms = []} : (tensor<32x27xbf16>) -> tensor<8x32x27xbf16, #fuse.layout<"8,32,27", "0,27,1", "0", "">>
    %y = call @bmm(%v, %c) : (tensor<8x32x27xbf16, #fuse.layout<"8,32,27", "0,27,1", "0", "">>, tensor<8x27x12321xbf16>) -> tensor<8x32x12321xbf16>
    return %y : tensor<8x32x12321xbf16>
  }
  func.func private @columns(%x: tensor<8x3x224x224xbf16>, %o: tensor<8x27x12321xbf16>) -> tensor<8x27x12321xbf16>
      attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "27", d2 = "12321"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1 floordiv 9", "(d1 floordiv 3) mod 3 + (d2 floordiv 111)*2", "d1 mod 3 + (d2 mod 111)*2"]} : (tensor<8x3x224x224xbf16>, i1, bf16) -> bf16
    %r = "fuse.store"(%o, %v, %true) {at = ["d0", "d1", "d2"], mode = "set"} : (tensor<8x27x12321xbf16>, bf16, i1) -> tensor<8x27x12321xbf16>
    return %r : tensor<8x27x12321xbf16>
  }
  func.func private @bmm(tensor<8x32x27xbf16, #fuse.layout<"8,32,27", "0,27,1", "0", "">>, tensor<8x27x12321xbf16>) -> tensor<8x32x12321xbf16> attributes {fuse.extern = "aten.bmm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
}

// -----

// The same with rows and columns exchanged by a view.
// CHECK: call @bmm_kernel(
// SAID: passed: choose-libraries: kernel, kernel_us={{[0-9.]+}}, call_us={{[0-9.]+}}: @bmm becomes a kernel
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<8x3x224x224xbf16>, %w: tensor<32x27xbf16>) -> tensor<8x12321x32xbf16> {
    %e = "fuse.empty"() {syms = []} : () -> tensor<8x27x12321xbf16>
    %c = call @columns(%x, %e) : (tensor<8x3x224x224xbf16>, tensor<8x27x12321xbf16>) -> tensor<8x27x12321xbf16>
    %t = "fuse.view"(%c) {map = ["v0", "v2", "v1"], syms = []} : (tensor<8x27x12321xbf16>) -> tensor<8x12321x27xbf16, #fuse.layout<"8,12321,27", "332667,1,12321", "0", "">>
    %v = "fuse.view"(%w) {map = ["v2", "v1"], syms = []} : (tensor<32x27xbf16>) -> tensor<8x27x32xbf16, #fuse.layout<"8,27,32", "0,1,27", "0", "">>
    %y = call @bmm(%t, %v) : (tensor<8x12321x27xbf16, #fuse.layout<"8,12321,27", "332667,1,12321", "0", "">>, tensor<8x27x32xbf16, #fuse.layout<"8,27,32", "0,1,27", "0", "">>) -> tensor<8x12321x32xbf16>
    return %y : tensor<8x12321x32xbf16>
  }
  func.func private @columns(%x: tensor<8x3x224x224xbf16>, %o: tensor<8x27x12321xbf16>) -> tensor<8x27x12321xbf16>
      attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "27", d2 = "12321"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1 floordiv 9", "(d1 floordiv 3) mod 3 + (d2 floordiv 111)*2", "d1 mod 3 + (d2 mod 111)*2"]} : (tensor<8x3x224x224xbf16>, i1, bf16) -> bf16
    %r = "fuse.store"(%o, %v, %true) {at = ["d0", "d1", "d2"], mode = "set"} : (tensor<8x27x12321xbf16>, bf16, i1) -> tensor<8x27x12321xbf16>
    return %r : tensor<8x27x12321xbf16>
  }
  func.func private @bmm(tensor<8x12321x27xbf16, #fuse.layout<"8,12321,27", "332667,1,12321", "0", "">>, tensor<8x27x32xbf16, #fuse.layout<"8,27,32", "0,1,27", "0", "">>) -> tensor<8x12321x32xbf16> attributes {fuse.extern = "aten.bmm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
}

// -----

// Must not fire: windows beside each other take an image apart, and what is read lies along rows of 147 elements.
// CHECK: call @bmm(
// SAID: missed: choose-libraries: strides,
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<8x3x224x224xbf16>, %w: tensor<32x147xbf16>) -> tensor<8x32x1024xbf16> {
    %e = "fuse.empty"() {syms = []} : () -> tensor<8x147x1024xbf16>
    %c = call @columns(%x, %e) : (tensor<8x3x224x224xbf16>, tensor<8x147x1024xbf16>) -> tensor<8x147x1024xbf16>
    %v = "fuse.view"(%w) {map = ["v1", "v2"], syms = []} : (tensor<32x147xbf16>) -> tensor<8x32x147xbf16, #fuse.layout<"8,32,147", "0,147,1", "0", "">>
    %y = call @bmm(%v, %c) : (tensor<8x32x147xbf16, #fuse.layout<"8,32,147", "0,147,1", "0", "">>, tensor<8x147x1024xbf16>) -> tensor<8x32x1024xbf16>
    return %y : tensor<8x32x1024xbf16>
  }
  func.func private @columns(%x: tensor<8x3x224x224xbf16>, %o: tensor<8x147x1024xbf16>) -> tensor<8x147x1024xbf16>
      attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "147", d2 = "1024"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1 floordiv 49", "(d1 floordiv 7) mod 7 + (d2 floordiv 32)*7", "d1 mod 7 + (d2 mod 32)*7"]} : (tensor<8x3x224x224xbf16>, i1, bf16) -> bf16
    %r = "fuse.store"(%o, %v, %true) {at = ["d0", "d1", "d2"], mode = "set"} : (tensor<8x147x1024xbf16>, bf16, i1) -> tensor<8x147x1024xbf16>
    return %r : tensor<8x147x1024xbf16>
  }
  func.func private @bmm(tensor<8x32x147xbf16, #fuse.layout<"8,32,147", "0,147,1", "0", "">>, tensor<8x147x1024xbf16>) -> tensor<8x32x1024xbf16> attributes {fuse.extern = "aten.bmm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
}
