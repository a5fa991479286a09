// What decides whether products of rows in segments are kernels: the rows that are taken in front, and the gate behind two.
// RUN: fuse-opt %s --pass-pipeline="builtin.module(choose-libraries{hardware=h200})" --split-input-file --remarks=text 2>&1 >/dev/null | FileCheck %s

// Each of 4096 tokens is taken for 8 of 64 experts: the call would have its rows written first.
// CHECK: passed: choose-libraries: kernel, kernel_us={{[0-9.]+}}, call_us={{[0-9.]+}}: @experts becomes a kernel
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<4096x2048xbf16>, %i: tensor<32768xi64>, %w: tensor<64x2048x768xbf16>, %e: tensor<64xi32>) -> tensor<32768x768xbf16> {
    %p = "fuse.empty"() {syms = []} : () -> tensor<32768x2048xbf16>
    %t = call @take(%x, %i, %p) : (tensor<4096x2048xbf16>, tensor<32768xi64>, tensor<32768x2048xbf16>) -> tensor<32768x2048xbf16>
    %y = call @experts(%t, %w, %e) : (tensor<32768x2048xbf16>, tensor<64x2048x768xbf16>, tensor<64xi32>) -> tensor<32768x768xbf16>
    return %y : tensor<32768x768xbf16>
  }
  func.func private @take(%x: tensor<4096x2048xbf16>, %i: tensor<32768xi64>, %o: tensor<32768x2048xbf16>) -> tensor<32768x2048xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "32768", d1 = "2048"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %none = arith.constant 0 : i64
    %many = arith.constant 4096 : i64
    %at = "fuse.load"(%i, %true, %none) {at = ["d0"]} : (tensor<32768xi64>, i1, i64) -> i64
    %inside = arith.cmpi ult, %at, %many : i64
    %v = "fuse.load"(%x, %inside, %zero, %at) {at = ["i0", "d1"]} : (tensor<4096x2048xbf16>, i1, bf16, i64) -> bf16
    %r = "fuse.store"(%o, %v, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<32768x2048xbf16>, bf16, i1) -> tensor<32768x2048xbf16>
    return %r : tensor<32768x2048xbf16>
  }
  func.func private @experts(tensor<32768x2048xbf16>, tensor<64x2048x768xbf16>, tensor<64xi32>) -> tensor<32768x768xbf16> attributes {fuse.extern = "aten._grouped_mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>, #fuse.arg<2 : i64>], fuse.kwargs = {}}
}

// -----

// Must not fire: nothing is around the product, and the library takes no longer.
// CHECK: missed: choose-libraries: library, kernel_us={{[0-9.]+}}, call_us={{[0-9.]+}}: @experts is the library's: a kernel is estimated to take longer, or at least 0.96 of that time
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<32768x2048xbf16>, %w: tensor<64x2048x768xbf16>, %e: tensor<64xi32>) -> tensor<32768x768xbf16> {
    %y = call @experts(%x, %w, %e) : (tensor<32768x2048xbf16>, tensor<64x2048x768xbf16>, tensor<64xi32>) -> tensor<32768x768xbf16>
    return %y : tensor<32768x768xbf16>
  }
  func.func private @experts(tensor<32768x2048xbf16>, tensor<64x2048x768xbf16>, tensor<64xi32>) -> tensor<32768x768xbf16> attributes {fuse.extern = "aten._grouped_mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>, #fuse.arg<2 : i64>], fuse.kwargs = {}}
}

// -----

// Must not fire: a row of large matrices costs little beside them.
// CHECK: missed: choose-libraries: library, kernel_us={{[0-9.]+}}, call_us={{[0-9.]+}}: @experts is the library's: a kernel is estimated to take longer, or at least 0.96 of that time
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<4096x4096xbf16>, %i: tensor<8192xi64>, %w: tensor<8x4096x14336xbf16>, %e: tensor<8xi32>) -> tensor<8192x14336xbf16> {
    %p = "fuse.empty"() {syms = []} : () -> tensor<8192x4096xbf16>
    %t = call @take(%x, %i, %p) : (tensor<4096x4096xbf16>, tensor<8192xi64>, tensor<8192x4096xbf16>) -> tensor<8192x4096xbf16>
    %y = call @experts(%t, %w, %e) : (tensor<8192x4096xbf16>, tensor<8x4096x14336xbf16>, tensor<8xi32>) -> tensor<8192x14336xbf16>
    return %y : tensor<8192x14336xbf16>
  }
  func.func private @take(%x: tensor<4096x4096xbf16>, %i: tensor<8192xi64>, %o: tensor<8192x4096xbf16>) -> tensor<8192x4096xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "8192", d1 = "4096"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %none = arith.constant 0 : i64
    %many = arith.constant 4096 : i64
    %at = "fuse.load"(%i, %true, %none) {at = ["d0"]} : (tensor<8192xi64>, i1, i64) -> i64
    %inside = arith.cmpi ult, %at, %many : i64
    %v = "fuse.load"(%x, %inside, %zero, %at) {at = ["i0", "d1"]} : (tensor<4096x4096xbf16>, i1, bf16, i64) -> bf16
    %r = "fuse.store"(%o, %v, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<8192x4096xbf16>, bf16, i1) -> tensor<8192x4096xbf16>
    return %r : tensor<8192x4096xbf16>
  }
  func.func private @experts(tensor<8192x4096xbf16>, tensor<8x4096x14336xbf16>, tensor<8xi32>) -> tensor<8192x14336xbf16> attributes {fuse.extern = "aten._grouped_mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>, #fuse.arg<2 : i64>], fuse.kwargs = {}}
}

// -----

// Two matrices with a gate are weighed together, with the rows that both take.
// CHECK: passed: choose-libraries: pair, kernel_us=[[K:[0-9.]+]], call_us=[[C:[0-9.]+]]: @experts becomes a kernel
// CHECK: passed: choose-libraries: pair, kernel_us=[[K]], call_us=[[C]]: @others becomes a kernel
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<4096x2048xbf16>, %i: tensor<32768xi64>, %w: tensor<64x2048x768xbf16>, %u: tensor<64x2048x768xbf16>, %e: tensor<64xi32>) -> tensor<32768x768xbf16> {
    %p = "fuse.empty"() {syms = []} : () -> tensor<32768x2048xbf16>
    %t = call @take(%x, %i, %p) : (tensor<4096x2048xbf16>, tensor<32768xi64>, tensor<32768x2048xbf16>) -> tensor<32768x2048xbf16>
    %y = call @experts(%t, %w, %e) : (tensor<32768x2048xbf16>, tensor<64x2048x768xbf16>, tensor<64xi32>) -> tensor<32768x768xbf16>
    %z = call @others(%t, %u, %e) : (tensor<32768x2048xbf16>, tensor<64x2048x768xbf16>, tensor<64xi32>) -> tensor<32768x768xbf16>
    %q = "fuse.empty"() {syms = []} : () -> tensor<32768x768xbf16>
    %g = call @gate(%y, %z, %q) : (tensor<32768x768xbf16>, tensor<32768x768xbf16>, tensor<32768x768xbf16>) -> tensor<32768x768xbf16>
    return %g : tensor<32768x768xbf16>
  }
  func.func private @take(%x: tensor<4096x2048xbf16>, %i: tensor<32768xi64>, %o: tensor<32768x2048xbf16>) -> tensor<32768x2048xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "32768", d1 = "2048"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %none = arith.constant 0 : i64
    %many = arith.constant 4096 : i64
    %at = "fuse.load"(%i, %true, %none) {at = ["d0"]} : (tensor<32768xi64>, i1, i64) -> i64
    %inside = arith.cmpi ult, %at, %many : i64
    %v = "fuse.load"(%x, %inside, %zero, %at) {at = ["i0", "d1"]} : (tensor<4096x2048xbf16>, i1, bf16, i64) -> bf16
    %r = "fuse.store"(%o, %v, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<32768x2048xbf16>, bf16, i1) -> tensor<32768x2048xbf16>
    return %r : tensor<32768x2048xbf16>
  }
  func.func private @gate(%a: tensor<32768x768xbf16>, %b: tensor<32768x768xbf16>, %o: tensor<32768x768xbf16>) -> tensor<32768x768xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "32768", d1 = "768"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %v = "fuse.load"(%a, %true, %zero) {at = ["d0", "d1"]} : (tensor<32768x768xbf16>, i1, bf16) -> bf16
    %w = "fuse.load"(%b, %true, %zero) {at = ["d0", "d1"]} : (tensor<32768x768xbf16>, i1, bf16) -> bf16
    %m = arith.mulf %v, %w : bf16
    %r = "fuse.store"(%o, %m, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<32768x768xbf16>, bf16, i1) -> tensor<32768x768xbf16>
    return %r : tensor<32768x768xbf16>
  }
  func.func private @others(tensor<32768x2048xbf16>, tensor<64x2048x768xbf16>, tensor<64xi32>) -> tensor<32768x768xbf16> attributes {fuse.extern = "aten._grouped_mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>, #fuse.arg<2 : i64>], fuse.kwargs = {}}
  func.func private @experts(tensor<32768x2048xbf16>, tensor<64x2048x768xbf16>, tensor<64xi32>) -> tensor<32768x768xbf16> attributes {fuse.extern = "aten._grouped_mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>, #fuse.arg<2 : i64>], fuse.kwargs = {}}
}

// -----

// Must not fire: two large matrices in a kernel have small blocks.
// CHECK: missed: choose-libraries: pair, kernel_us={{[0-9.]+}}, call_us={{[0-9.]+}}: @experts is the library's: a kernel of both products of its rows is estimated to take longer
// CHECK: missed: choose-libraries: pair, kernel_us={{[0-9.]+}}, call_us={{[0-9.]+}}: @others is the library's
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<4096x4096xbf16>, %i: tensor<8192xi64>, %w: tensor<8x4096x14336xbf16>, %u: tensor<8x4096x14336xbf16>, %e: tensor<8xi32>) -> tensor<8192x14336xbf16> {
    %p = "fuse.empty"() {syms = []} : () -> tensor<8192x4096xbf16>
    %t = call @take(%x, %i, %p) : (tensor<4096x4096xbf16>, tensor<8192xi64>, tensor<8192x4096xbf16>) -> tensor<8192x4096xbf16>
    %y = call @experts(%t, %w, %e) : (tensor<8192x4096xbf16>, tensor<8x4096x14336xbf16>, tensor<8xi32>) -> tensor<8192x14336xbf16>
    %z = call @others(%t, %u, %e) : (tensor<8192x4096xbf16>, tensor<8x4096x14336xbf16>, tensor<8xi32>) -> tensor<8192x14336xbf16>
    %q = "fuse.empty"() {syms = []} : () -> tensor<8192x14336xbf16>
    %g = call @gate(%y, %z, %q) : (tensor<8192x14336xbf16>, tensor<8192x14336xbf16>, tensor<8192x14336xbf16>) -> tensor<8192x14336xbf16>
    return %g : tensor<8192x14336xbf16>
  }
  func.func private @take(%x: tensor<4096x4096xbf16>, %i: tensor<8192xi64>, %o: tensor<8192x4096xbf16>) -> tensor<8192x4096xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "8192", d1 = "4096"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %none = arith.constant 0 : i64
    %many = arith.constant 4096 : i64
    %at = "fuse.load"(%i, %true, %none) {at = ["d0"]} : (tensor<8192xi64>, i1, i64) -> i64
    %inside = arith.cmpi ult, %at, %many : i64
    %v = "fuse.load"(%x, %inside, %zero, %at) {at = ["i0", "d1"]} : (tensor<4096x4096xbf16>, i1, bf16, i64) -> bf16
    %r = "fuse.store"(%o, %v, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<8192x4096xbf16>, bf16, i1) -> tensor<8192x4096xbf16>
    return %r : tensor<8192x4096xbf16>
  }
  func.func private @gate(%a: tensor<8192x14336xbf16>, %b: tensor<8192x14336xbf16>, %o: tensor<8192x14336xbf16>) -> tensor<8192x14336xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "8192", d1 = "14336"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %v = "fuse.load"(%a, %true, %zero) {at = ["d0", "d1"]} : (tensor<8192x14336xbf16>, i1, bf16) -> bf16
    %w = "fuse.load"(%b, %true, %zero) {at = ["d0", "d1"]} : (tensor<8192x14336xbf16>, i1, bf16) -> bf16
    %m = arith.mulf %v, %w : bf16
    %r = "fuse.store"(%o, %m, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<8192x14336xbf16>, bf16, i1) -> tensor<8192x14336xbf16>
    return %r : tensor<8192x14336xbf16>
  }
  func.func private @others(tensor<8192x4096xbf16>, tensor<8x4096x14336xbf16>, tensor<8xi32>) -> tensor<8192x14336xbf16> attributes {fuse.extern = "aten._grouped_mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>, #fuse.arg<2 : i64>], fuse.kwargs = {}}
  func.func private @experts(tensor<8192x4096xbf16>, tensor<8x4096x14336xbf16>, tensor<8xi32>) -> tensor<8192x14336xbf16> attributes {fuse.extern = "aten._grouped_mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>, #fuse.arg<2 : i64>], fuse.kwargs = {}}
}

// -----

// Must not fire: rows of two products in other segments are no pair.
// CHECK: missed: choose-libraries: library, {{.*}}: @experts is the library's
// CHECK: missed: choose-libraries: library, {{.*}}: @others is the library's
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<4096x4096xbf16>, %i: tensor<8192xi64>, %w: tensor<8x4096x4096xbf16>, %u: tensor<8x4096x4096xbf16>, %e: tensor<8xi32>, %f: tensor<8xi32>) -> tensor<8192x4096xbf16> {
    %p = "fuse.empty"() {syms = []} : () -> tensor<8192x4096xbf16>
    %t = call @take(%x, %i, %p) : (tensor<4096x4096xbf16>, tensor<8192xi64>, tensor<8192x4096xbf16>) -> tensor<8192x4096xbf16>
    %y = call @experts(%t, %w, %e) : (tensor<8192x4096xbf16>, tensor<8x4096x4096xbf16>, tensor<8xi32>) -> tensor<8192x4096xbf16>
    %z = call @others(%t, %u, %f) : (tensor<8192x4096xbf16>, tensor<8x4096x4096xbf16>, tensor<8xi32>) -> tensor<8192x4096xbf16>
    %q = "fuse.empty"() {syms = []} : () -> tensor<8192x4096xbf16>
    %g = call @gate(%y, %z, %q) : (tensor<8192x4096xbf16>, tensor<8192x4096xbf16>, tensor<8192x4096xbf16>) -> tensor<8192x4096xbf16>
    return %g : tensor<8192x4096xbf16>
  }
  func.func private @take(%x: tensor<4096x4096xbf16>, %i: tensor<8192xi64>, %o: tensor<8192x4096xbf16>) -> tensor<8192x4096xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "8192", d1 = "4096"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %none = arith.constant 0 : i64
    %many = arith.constant 4096 : i64
    %at = "fuse.load"(%i, %true, %none) {at = ["d0"]} : (tensor<8192xi64>, i1, i64) -> i64
    %inside = arith.cmpi ult, %at, %many : i64
    %v = "fuse.load"(%x, %inside, %zero, %at) {at = ["i0", "d1"]} : (tensor<4096x4096xbf16>, i1, bf16, i64) -> bf16
    %r = "fuse.store"(%o, %v, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<8192x4096xbf16>, bf16, i1) -> tensor<8192x4096xbf16>
    return %r : tensor<8192x4096xbf16>
  }
  func.func private @gate(%a: tensor<8192x4096xbf16>, %b: tensor<8192x4096xbf16>, %o: tensor<8192x4096xbf16>) -> tensor<8192x4096xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "8192", d1 = "4096"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %v = "fuse.load"(%a, %true, %zero) {at = ["d0", "d1"]} : (tensor<8192x4096xbf16>, i1, bf16) -> bf16
    %w = "fuse.load"(%b, %true, %zero) {at = ["d0", "d1"]} : (tensor<8192x4096xbf16>, i1, bf16) -> bf16
    %m = arith.mulf %v, %w : bf16
    %r = "fuse.store"(%o, %m, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<8192x4096xbf16>, bf16, i1) -> tensor<8192x4096xbf16>
    return %r : tensor<8192x4096xbf16>
  }
  func.func private @others(tensor<8192x4096xbf16>, tensor<8x4096x4096xbf16>, tensor<8xi32>) -> tensor<8192x4096xbf16> attributes {fuse.extern = "aten._grouped_mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>, #fuse.arg<2 : i64>], fuse.kwargs = {}}
  func.func private @experts(tensor<8192x4096xbf16>, tensor<8x4096x4096xbf16>, tensor<8xi32>) -> tensor<8192x4096xbf16> attributes {fuse.extern = "aten._grouped_mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>, #fuse.arg<2 : i64>], fuse.kwargs = {}}
}

// -----

// Must not fire: 16 rows for each expert.
// CHECK: missed: choose-libraries: few-rows, kernel_us={{[0-9.]+}}, call_us={{[0-9.]+}}: @experts is the library's: 16 rows of a segment: the estimates are fitted to more
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<128x2048xbf16>, %i: tensor<1024xi64>, %w: tensor<64x2048x768xbf16>, %e: tensor<64xi32>) -> tensor<1024x768xbf16> {
    %p = "fuse.empty"() {syms = []} : () -> tensor<1024x2048xbf16>
    %t = call @take(%x, %i, %p) : (tensor<128x2048xbf16>, tensor<1024xi64>, tensor<1024x2048xbf16>) -> tensor<1024x2048xbf16>
    %y = call @experts(%t, %w, %e) : (tensor<1024x2048xbf16>, tensor<64x2048x768xbf16>, tensor<64xi32>) -> tensor<1024x768xbf16>
    return %y : tensor<1024x768xbf16>
  }
  func.func private @take(%x: tensor<128x2048xbf16>, %i: tensor<1024xi64>, %o: tensor<1024x2048xbf16>) -> tensor<1024x2048xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "1024", d1 = "2048"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %none = arith.constant 0 : i64
    %many = arith.constant 128 : i64
    %at = "fuse.load"(%i, %true, %none) {at = ["d0"]} : (tensor<1024xi64>, i1, i64) -> i64
    %inside = arith.cmpi ult, %at, %many : i64
    %v = "fuse.load"(%x, %inside, %zero, %at) {at = ["i0", "d1"]} : (tensor<128x2048xbf16>, i1, bf16, i64) -> bf16
    %r = "fuse.store"(%o, %v, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<1024x2048xbf16>, bf16, i1) -> tensor<1024x2048xbf16>
    return %r : tensor<1024x2048xbf16>
  }
  func.func private @experts(tensor<1024x2048xbf16>, tensor<64x2048x768xbf16>, tensor<64xi32>) -> tensor<1024x768xbf16> attributes {fuse.extern = "aten._grouped_mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>, #fuse.arg<2 : i64>], fuse.kwargs = {}}
}
