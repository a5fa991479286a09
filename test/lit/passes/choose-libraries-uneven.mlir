// The library loads factors element by element whose rows do not start at multiples of 16 bytes.
// RUN: fuse-opt %s --pass-pipeline="builtin.module(choose-libraries{hardware=h200})" --split-input-file --remarks=text 2>&1 >/dev/null | FileCheck %s
// RUN: not fuse-opt %s --pass-pipeline="builtin.module(choose-libraries{hardware=abacus})" --split-input-file 2>&1 | FileCheck %s --check-prefix=BAD
// BAD: error: choose-libraries: unknown hardware 'abacus': expected one of

// Fires: a block has all of the small factor, whose rows are odd.
// CHECK: passed: choose-libraries: kernel, kernel_us={{[0-9.]+}}, call_us=13{{[0-9.]+}}: @decays becomes a kernel
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%w: tensor<96x33x33xbf16>, %x: tensor<96x33x8192xbf16>) -> tensor<96x33x8192xbf16> {
    %e = "fuse.empty"() {syms = []} : () -> tensor<96x33x8192xbf16>
    %s = call @doubled(%x, %e) : (tensor<96x33x8192xbf16>, tensor<96x33x8192xbf16>) -> tensor<96x33x8192xbf16>
    %y = call @decays(%w, %s) : (tensor<96x33x33xbf16>, tensor<96x33x8192xbf16>) -> tensor<96x33x8192xbf16>
    return %y : tensor<96x33x8192xbf16>
  }
  func.func private @doubled(%x: tensor<96x33x8192xbf16>, %o: tensor<96x33x8192xbf16>) -> tensor<96x33x8192xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "96", d1 = "33", d2 = "8192"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1", "d2"]} : (tensor<96x33x8192xbf16>, i1, bf16) -> bf16
    %t = arith.addf %v, %v : bf16
    %r = "fuse.store"(%o, %t, %true) {at = ["d0", "d1", "d2"], mode = "set"} : (tensor<96x33x8192xbf16>, bf16, i1) -> tensor<96x33x8192xbf16>
    return %r : tensor<96x33x8192xbf16>
  }
  func.func private @decays(tensor<96x33x33xbf16>, tensor<96x33x8192xbf16>) -> tensor<96x33x8192xbf16> attributes {fuse.extern = "aten.bmm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
}

// -----

// Must not fire: blocks of rows and of the sum read a large factor of odd rows many times, which was not measured.
// CHECK: missed: choose-libraries: strides, {{.*}}@large is the library's: rows of a factor do not start at multiples of 16 bytes
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%w: tensor<4x1001x1001xbf16>, %x: tensor<4x1001x8192xbf16>) -> tensor<4x1001x8192xbf16> {
    %y = call @large(%w, %x) : (tensor<4x1001x1001xbf16>, tensor<4x1001x8192xbf16>) -> tensor<4x1001x8192xbf16>
    return %y : tensor<4x1001x8192xbf16>
  }
  func.func private @large(tensor<4x1001x1001xbf16>, tensor<4x1001x8192xbf16>) -> tensor<4x1001x8192xbf16> attributes {fuse.extern = "aten.bmm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
}

// -----

// Must not fire: the call is not estimated to take twice as long as the kernel.
// CHECK: missed: choose-libraries: strides, {{.*}}@narrow is the library's: rows of a factor do not start at multiples of 16 bytes
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%w: tensor<4x33x33xbf16>, %x: tensor<4x33x24xbf16>) -> tensor<4x33x24xbf16> {
    %e = "fuse.empty"() {syms = []} : () -> tensor<4x33x24xbf16>
    %s = call @doubled(%x, %e) : (tensor<4x33x24xbf16>, tensor<4x33x24xbf16>) -> tensor<4x33x24xbf16>
    %y = call @narrow(%w, %s) : (tensor<4x33x33xbf16>, tensor<4x33x24xbf16>) -> tensor<4x33x24xbf16>
    return %y : tensor<4x33x24xbf16>
  }
  func.func private @doubled(%x: tensor<4x33x24xbf16>, %o: tensor<4x33x24xbf16>) -> tensor<4x33x24xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "4", d1 = "33", d2 = "24"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1", "d2"]} : (tensor<4x33x24xbf16>, i1, bf16) -> bf16
    %t = arith.addf %v, %v : bf16
    %r = "fuse.store"(%o, %t, %true) {at = ["d0", "d1", "d2"], mode = "set"} : (tensor<4x33x24xbf16>, bf16, i1) -> tensor<4x33x24xbf16>
    return %r : tensor<4x33x24xbf16>
  }
  func.func private @narrow(tensor<4x33x33xbf16>, tensor<4x33x24xbf16>) -> tensor<4x33x24xbf16> attributes {fuse.extern = "aten.bmm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
}
