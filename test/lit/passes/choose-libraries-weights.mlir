// RUN: fuse-opt %s --pass-pipeline="builtin.module(choose-libraries{hardware=h200})" --split-input-file --remarks=text 2>&1 >/dev/null | FileCheck %s

// 16 rows of 117 MB of weights, with a ReLU behind them: bytes bound both, and the library starts two kernels.
// CHECK: passed: choose-libraries: kernel, kernel_us={{3[12][0-9.]*}}, call_us={{3[34][0-9.]*}}: @sixteen becomes a kernel
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<16x4096xbf16>, %w: tensor<4096x14336xbf16, #fuse.layout<"4096,14336", "1,4096", "0", "">>) -> tensor<16x14336xbf16> {
    %y = call @sixteen(%x, %w) : (tensor<16x4096xbf16>, tensor<4096x14336xbf16, #fuse.layout<"4096,14336", "1,4096", "0", "">>) -> tensor<16x14336xbf16>
    %e = "fuse.empty"() {syms = []} : () -> tensor<16x14336xbf16>
    %z = call @relu(%y, %e) : (tensor<16x14336xbf16>, tensor<16x14336xbf16>) -> tensor<16x14336xbf16>
    return %z : tensor<16x14336xbf16>
  }
  func.func private @relu(%x: tensor<16x14336xbf16>, %o: tensor<16x14336xbf16>) -> tensor<16x14336xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "16", d1 = "14336"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<16x14336xbf16>, i1, bf16) -> bf16
    %w = arith.maximumf %v, %zero : bf16
    %r = "fuse.store"(%o, %w, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<16x14336xbf16>, bf16, i1) -> tensor<16x14336xbf16>
    return %r : tensor<16x14336xbf16>
  }
  func.func private @sixteen(tensor<16x4096xbf16>, tensor<4096x14336xbf16, #fuse.layout<"4096,14336", "1,4096", "0", "">>) -> tensor<16x14336xbf16> attributes {fuse.extern = "aten.mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
}

// -----

// The same of 4096 columns.
// CHECK: passed: choose-libraries: kernel, {{.*}}@down becomes a kernel
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<16x14336xbf16>, %w: tensor<14336x4096xbf16, #fuse.layout<"14336,4096", "1,14336", "0", "">>) -> tensor<16x4096xbf16> {
    %y = call @down(%x, %w) : (tensor<16x14336xbf16>, tensor<14336x4096xbf16, #fuse.layout<"14336,4096", "1,14336", "0", "">>) -> tensor<16x4096xbf16>
    %e = "fuse.empty"() {syms = []} : () -> tensor<16x4096xbf16>
    %z = call @relu(%y, %e) : (tensor<16x4096xbf16>, tensor<16x4096xbf16>) -> tensor<16x4096xbf16>
    return %z : tensor<16x4096xbf16>
  }
  func.func private @relu(%x: tensor<16x4096xbf16>, %o: tensor<16x4096xbf16>) -> tensor<16x4096xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "16", d1 = "4096"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<16x4096xbf16>, i1, bf16) -> bf16
    %w = arith.maximumf %v, %zero : bf16
    %r = "fuse.store"(%o, %w, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<16x4096xbf16>, bf16, i1) -> tensor<16x4096xbf16>
    return %r : tensor<16x4096xbf16>
  }
  func.func private @down(tensor<16x14336xbf16>, tensor<14336x4096xbf16, #fuse.layout<"14336,4096", "1,14336", "0", "">>) -> tensor<16x4096xbf16> attributes {fuse.extern = "aten.mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
}

// -----

// Must not fire: with nothing around the product, a kernel saves no launch.
// CHECK: missed: choose-libraries: library, {{.*}}@alone is the library's: a kernel is estimated to take longer, or at least 0.94 of that time
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<64x4096xbf16>, %w: tensor<4096x14336xbf16, #fuse.layout<"4096,14336", "1,4096", "0", "">>) -> tensor<64x14336xbf16> {
    %y = call @alone(%x, %w) : (tensor<64x4096xbf16>, tensor<4096x14336xbf16, #fuse.layout<"4096,14336", "1,4096", "0", "">>) -> tensor<64x14336xbf16>
    return %y : tensor<64x14336xbf16>
  }
  func.func private @alone(tensor<64x4096xbf16>, tensor<4096x14336xbf16, #fuse.layout<"4096,14336", "1,4096", "0", "">>) -> tensor<64x14336xbf16> attributes {fuse.extern = "aten.mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
}

// -----

// Must not fire: of more than 64 rows, a kernel has to take less of the call's time.
// CHECK: missed: choose-libraries: library, {{.*}}@eighty is the library's: a kernel is estimated to take longer, or at least 0.87 of that time
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<80x4096xbf16>, %w: tensor<4096x14336xbf16, #fuse.layout<"4096,14336", "1,4096", "0", "">>) -> tensor<80x14336xbf16> {
    %y = call @eighty(%x, %w) : (tensor<80x4096xbf16>, tensor<4096x14336xbf16, #fuse.layout<"4096,14336", "1,4096", "0", "">>) -> tensor<80x14336xbf16>
    %e = "fuse.empty"() {syms = []} : () -> tensor<80x14336xbf16>
    %z = call @relu(%y, %e) : (tensor<80x14336xbf16>, tensor<80x14336xbf16>) -> tensor<80x14336xbf16>
    return %z : tensor<80x14336xbf16>
  }
  func.func private @relu(%x: tensor<80x14336xbf16>, %o: tensor<80x14336xbf16>) -> tensor<80x14336xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "80", d1 = "14336"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<80x14336xbf16>, i1, bf16) -> bf16
    %w = arith.maximumf %v, %zero : bf16
    %r = "fuse.store"(%o, %w, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<80x14336xbf16>, bf16, i1) -> tensor<80x14336xbf16>
    return %r : tensor<80x14336xbf16>
  }
  func.func private @eighty(tensor<80x4096xbf16>, tensor<4096x14336xbf16, #fuse.layout<"4096,14336", "1,4096", "0", "">>) -> tensor<80x14336xbf16> attributes {fuse.extern = "aten.mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
}
