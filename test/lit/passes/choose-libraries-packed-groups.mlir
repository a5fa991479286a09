// RUN: fuse-opt %s --pass-pipeline="builtin.module(choose-libraries{hardware=h200})" --split-input-file --remarks=text 2>&1 >/dev/null | FileCheck %s

// 64 rows times halves of bytes in groups of 64 bytes that share a scale: 33 us by hand.
// CHECK: passed: choose-libraries: kernel, kernel_us=3{{.*}} rows=64: @in_groups becomes a kernel
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<64x4096xbf16>, %q: tensor<14336x2048xui8>, %s: tensor<14336x32xbf16>) -> tensor<64x14336xbf16> {
    %e = "fuse.empty"() {syms = []} : () -> tensor<14336x4096xbf16>
    %w = call @unpack(%q, %s, %e) : (tensor<14336x2048xui8>, tensor<14336x32xbf16>, tensor<14336x4096xbf16>) -> tensor<14336x4096xbf16>
    %t = "fuse.view"(%w) {map = ["v1", "v0"], syms = []} : (tensor<14336x4096xbf16>) -> tensor<4096x14336xbf16, #fuse.layout<"4096,14336", "1,4096", "0", "">>
    %y = call @in_groups(%x, %t) : (tensor<64x4096xbf16>, tensor<4096x14336xbf16, #fuse.layout<"4096,14336", "1,4096", "0", "">>) -> tensor<64x14336xbf16>
    return %y : tensor<64x14336xbf16>
  }
  func.func private @unpack(%q: tensor<14336x2048xui8>, %s: tensor<14336x32xbf16>, %o: tensor<14336x4096xbf16>) -> tensor<14336x4096xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "14336", d1 = "4096"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %none = arith.constant 0 : i8
    %zero = arith.constant 0.0 : bf16
    %four = arith.constant 4 : i8
    %low = arith.constant 15 : i8
    %l = "fuse.load"(%q, %true, %none) {at = ["d0", "d1 floordiv 2"]} : (tensor<14336x2048xui8>, i1, i8) -> i8
    %h = arith.shrui %l, %four : i8
    %m = arith.andi %l, %low : i8
    %i = "fuse.index"() {expr = "d1 mod 2"} : () -> i64
    %nought = arith.constant 0 : i64
    %first = arith.cmpi eq, %i, %nought : i64
    %c = arith.select %first, %m, %h : i8
    %v = arith.uitofp %c : i8 to bf16
    %g = "fuse.load"(%s, %true, %zero) {at = ["d0", "d1 floordiv 128"]} : (tensor<14336x32xbf16>, i1, bf16) -> bf16
    %p = arith.mulf %v, %g : bf16
    %r = "fuse.store"(%o, %p, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<14336x4096xbf16>, bf16, i1) -> tensor<14336x4096xbf16>
    return %r : tensor<14336x4096xbf16>
  }
  func.func private @in_groups(tensor<64x4096xbf16>, tensor<4096x14336xbf16, #fuse.layout<"4096,14336", "1,4096", "0", "">>) -> tensor<64x14336xbf16> attributes {fuse.extern = "aten.mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
}

// -----

// Must not fire: more rows were not measured.
// CHECK-NOT: rows=65
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<65x4096xbf16>, %q: tensor<14336x2048xui8>, %s: tensor<14336x32xbf16>) -> tensor<65x14336xbf16> {
    %e = "fuse.empty"() {syms = []} : () -> tensor<14336x4096xbf16>
    %w = call @unpack(%q, %s, %e) : (tensor<14336x2048xui8>, tensor<14336x32xbf16>, tensor<14336x4096xbf16>) -> tensor<14336x4096xbf16>
    %t = "fuse.view"(%w) {map = ["v1", "v0"], syms = []} : (tensor<14336x4096xbf16>) -> tensor<4096x14336xbf16, #fuse.layout<"4096,14336", "1,4096", "0", "">>
    %y = call @more(%x, %t) : (tensor<65x4096xbf16>, tensor<4096x14336xbf16, #fuse.layout<"4096,14336", "1,4096", "0", "">>) -> tensor<65x14336xbf16>
    return %y : tensor<65x14336xbf16>
  }
  func.func private @unpack(%q: tensor<14336x2048xui8>, %s: tensor<14336x32xbf16>, %o: tensor<14336x4096xbf16>) -> tensor<14336x4096xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "14336", d1 = "4096"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %none = arith.constant 0 : i8
    %zero = arith.constant 0.0 : bf16
    %four = arith.constant 4 : i8
    %low = arith.constant 15 : i8
    %l = "fuse.load"(%q, %true, %none) {at = ["d0", "d1 floordiv 2"]} : (tensor<14336x2048xui8>, i1, i8) -> i8
    %h = arith.shrui %l, %four : i8
    %m = arith.andi %l, %low : i8
    %i = "fuse.index"() {expr = "d1 mod 2"} : () -> i64
    %nought = arith.constant 0 : i64
    %first = arith.cmpi eq, %i, %nought : i64
    %c = arith.select %first, %m, %h : i8
    %v = arith.uitofp %c : i8 to bf16
    %g = "fuse.load"(%s, %true, %zero) {at = ["d0", "d1 floordiv 128"]} : (tensor<14336x32xbf16>, i1, bf16) -> bf16
    %p = arith.mulf %v, %g : bf16
    %r = "fuse.store"(%o, %p, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<14336x4096xbf16>, bf16, i1) -> tensor<14336x4096xbf16>
    return %r : tensor<14336x4096xbf16>
  }
  func.func private @more(tensor<65x4096xbf16>, tensor<4096x14336xbf16, #fuse.layout<"4096,14336", "1,4096", "0", "">>) -> tensor<65x14336xbf16> attributes {fuse.extern = "aten.mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
}

// -----

// Must not fire: groups of 16 bytes, of which no product of 64 rows was measured.
// CHECK-NOT: rows=64
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<64x4096xbf16>, %q: tensor<14336x2048xui8>, %s: tensor<14336x128xbf16>) -> tensor<64x14336xbf16> {
    %e = "fuse.empty"() {syms = []} : () -> tensor<14336x4096xbf16>
    %w = call @unpack(%q, %s, %e) : (tensor<14336x2048xui8>, tensor<14336x128xbf16>, tensor<14336x4096xbf16>) -> tensor<14336x4096xbf16>
    %t = "fuse.view"(%w) {map = ["v1", "v0"], syms = []} : (tensor<14336x4096xbf16>) -> tensor<4096x14336xbf16, #fuse.layout<"4096,14336", "1,4096", "0", "">>
    %y = call @short(%x, %t) : (tensor<64x4096xbf16>, tensor<4096x14336xbf16, #fuse.layout<"4096,14336", "1,4096", "0", "">>) -> tensor<64x14336xbf16>
    return %y : tensor<64x14336xbf16>
  }
  func.func private @unpack(%q: tensor<14336x2048xui8>, %s: tensor<14336x128xbf16>, %o: tensor<14336x4096xbf16>) -> tensor<14336x4096xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "14336", d1 = "4096"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %none = arith.constant 0 : i8
    %zero = arith.constant 0.0 : bf16
    %four = arith.constant 4 : i8
    %low = arith.constant 15 : i8
    %l = "fuse.load"(%q, %true, %none) {at = ["d0", "d1 floordiv 2"]} : (tensor<14336x2048xui8>, i1, i8) -> i8
    %h = arith.shrui %l, %four : i8
    %m = arith.andi %l, %low : i8
    %i = "fuse.index"() {expr = "d1 mod 2"} : () -> i64
    %nought = arith.constant 0 : i64
    %first = arith.cmpi eq, %i, %nought : i64
    %c = arith.select %first, %m, %h : i8
    %v = arith.uitofp %c : i8 to bf16
    %g = "fuse.load"(%s, %true, %zero) {at = ["d0", "d1 floordiv 32"]} : (tensor<14336x128xbf16>, i1, bf16) -> bf16
    %p = arith.mulf %v, %g : bf16
    %r = "fuse.store"(%o, %p, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<14336x4096xbf16>, bf16, i1) -> tensor<14336x4096xbf16>
    return %r : tensor<14336x4096xbf16>
  }
  func.func private @short(tensor<64x4096xbf16>, tensor<4096x14336xbf16, #fuse.layout<"4096,14336", "1,4096", "0", "">>) -> tensor<64x14336xbf16> attributes {fuse.extern = "aten.mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
}

// -----

// Must not fire: numbers with zero points that lie across the sum in their words (AWQ) took 169 us, and the call 99.
// CHECK: missed: choose-libraries: packed, {{.*}}: @zeros_across is the library's: more than 4 rows times numbers with zero points
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<8x4096xbf16>, %q: tensor<4096x1792xi32>, %b: tensor<1792xi32>) -> tensor<8x14336xbf16> {
    %e = "fuse.empty"() {syms = []} : () -> tensor<4096x14336xbf16>
    %w = call @unpack(%q, %b, %e) : (tensor<4096x1792xi32>, tensor<1792xi32>, tensor<4096x14336xbf16>) -> tensor<4096x14336xbf16>
    %y = call @zeros_across(%x, %w) : (tensor<8x4096xbf16>, tensor<4096x14336xbf16>) -> tensor<8x14336xbf16>
    return %y : tensor<8x14336xbf16>
  }
  func.func private @unpack(%q: tensor<4096x1792xi32>, %b: tensor<1792xi32>, %o: tensor<4096x14336xbf16>) -> tensor<4096x14336xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "4096", d1 = "14336"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %none = arith.constant 0 : i32
    %low = arith.constant 15 : i32
    %l = "fuse.load"(%q, %true, %none) {at = ["d0", "d1 floordiv 8"]} : (tensor<4096x1792xi32>, i1, i32) -> i32
    %i = "fuse.index"() {expr = "(d1 mod 8)*4"} : () -> i64
    %by = arith.trunci %i : i64 to i32
    %h = arith.shrsi %l, %by : i32
    %m = arith.andi %h, %low : i32
    %z = "fuse.load"(%b, %true, %none) {at = ["d1 floordiv 8"]} : (tensor<1792xi32>, i1, i32) -> i32
    %y = arith.shrsi %z, %by : i32
    %less = arith.andi %y, %low : i32
    %moved = arith.subi %m, %less : i32
    %v = arith.sitofp %moved : i32 to bf16
    %r = "fuse.store"(%o, %v, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<4096x14336xbf16>, bf16, i1) -> tensor<4096x14336xbf16>
    return %r : tensor<4096x14336xbf16>
  }
  func.func private @zeros_across(tensor<8x4096xbf16>, tensor<4096x14336xbf16>) -> tensor<8x14336xbf16> attributes {fuse.extern = "aten.mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
}
