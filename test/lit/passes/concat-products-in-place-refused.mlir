// RUN: fuse-opt %s --pass-pipeline="builtin.module(concat-products-in-place)" --split-input-file | FileCheck %s
// RUN: fuse-opt %s --pass-pipeline="builtin.module(concat-products-in-place)" --split-input-file --remarks=text 2>&1 >/dev/null | FileCheck %s --check-prefix=SAID

// Must not fire: a row of the concatenation has two rows of each product.
// CHECK-LABEL: func.func @main
// CHECK: call @cat
// CHECK-NOT: .out"
// SAID: missed: concat-products-in-place: views: @mm, @mm are concatenated behind views that do not keep the dim [mm + mm]
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<64x32xbf16>, %v: tensor<32x32xbf16>, %w: tensor<32x32xbf16>) -> tensor<32x128xbf16> {
    %p = call @mm(%x, %v) : (tensor<64x32xbf16>, tensor<32x32xbf16>) -> tensor<64x32xbf16>
    %q = call @mm(%x, %w) : (tensor<64x32xbf16>, tensor<32x32xbf16>) -> tensor<64x32xbf16>
    %s = "fuse.view"(%p) {map = ["v0*2 + v1 floordiv 32", "v1 mod 32"], syms = []} : (tensor<64x32xbf16>) -> tensor<32x64xbf16>
    %t = "fuse.view"(%q) {map = ["v0*2 + v1 floordiv 32", "v1 mod 32"], syms = []} : (tensor<64x32xbf16>) -> tensor<32x64xbf16>
    %e = "fuse.empty"() {syms = []} : () -> tensor<32x128xbf16>
    %c = call @cat(%s, %t, %e) : (tensor<32x64xbf16>, tensor<32x64xbf16>, tensor<32x128xbf16>) -> tensor<32x128xbf16>
    return %c : tensor<32x128xbf16>
  }
  func.func private @mm(tensor<64x32xbf16>, tensor<32x32xbf16>) -> tensor<64x32xbf16> attributes {fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.extern = "aten.mm.default", fuse.kwargs = {}}
  func.func private @cat(%x: tensor<32x64xbf16>, %y: tensor<32x64xbf16>, %o: tensor<32x128xbf16>) -> tensor<32x128xbf16> attributes {fuse.dims = {d0 = "32", d1 = "128"}, fuse.kernel, fuse.ties = array<i64: 2>} {
    %i = "fuse.index"() {expr = "d1 - 64"} : () -> i64
    %zero = arith.constant 0 : i64
    %below = arith.cmpi slt, %i, %zero : i64
    %cst = arith.constant 0.0 : bf16
    %l = "fuse.load"(%x, %below, %cst) {at = ["d0", "d1"]} : (tensor<32x64xbf16>, i1, bf16) -> bf16
    %above = arith.cmpi sge, %i, %zero : i64
    %r = "fuse.load"(%y, %above, %cst) {at = ["d0", "d1 - 64"]} : (tensor<32x64xbf16>, i1, bf16) -> bf16
    %s = arith.select %below, %l, %r : bf16
    %true = arith.constant true
    %t = "fuse.store"(%o, %s, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<32x128xbf16>, bf16, i1) -> tensor<32x128xbf16>
    return %t : tensor<32x128xbf16>
  }
}

// -----

// Must not fire: the library adds a bias in a pass of its own where rows lie apart.
// CHECK-LABEL: func.func @main
// CHECK: call @cat
// CHECK-NOT: .out"
// SAID: missed: concat-products-in-place: bias: @addmm, @addmm would get their bias in a pass of its own, as their rows would lie apart [addmm + addmm]
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%b: tensor<32xbf16>, %x: tensor<64x32xbf16>, %v: tensor<32x32xbf16>, %w: tensor<32x32xbf16>) -> tensor<64x64xbf16> {
    %p = call @addmm(%b, %x, %v) : (tensor<32xbf16>, tensor<64x32xbf16>, tensor<32x32xbf16>) -> tensor<64x32xbf16>
    %q = call @addmm(%b, %x, %w) : (tensor<32xbf16>, tensor<64x32xbf16>, tensor<32x32xbf16>) -> tensor<64x32xbf16>
    %e = "fuse.empty"() {syms = []} : () -> tensor<64x64xbf16>
    %c = call @cat(%p, %q, %e) : (tensor<64x32xbf16>, tensor<64x32xbf16>, tensor<64x64xbf16>) -> tensor<64x64xbf16>
    return %c : tensor<64x64xbf16>
  }
  func.func private @addmm(tensor<32xbf16>, tensor<64x32xbf16>, tensor<32x32xbf16>) -> tensor<64x32xbf16> attributes {fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>, #fuse.arg<2 : i64>], fuse.extern = "aten.addmm.default", fuse.kwargs = {}}
  func.func private @cat(%x: tensor<64x32xbf16>, %y: tensor<64x32xbf16>, %o: tensor<64x64xbf16>) -> tensor<64x64xbf16> attributes {fuse.dims = {d0 = "64", d1 = "64"}, fuse.kernel, fuse.ties = array<i64: 2>} {
    %i = "fuse.index"() {expr = "d1 - 32"} : () -> i64
    %zero = arith.constant 0 : i64
    %below = arith.cmpi slt, %i, %zero : i64
    %cst = arith.constant 0.0 : bf16
    %l = "fuse.load"(%x, %below, %cst) {at = ["d0", "d1"]} : (tensor<64x32xbf16>, i1, bf16) -> bf16
    %above = arith.cmpi sge, %i, %zero : i64
    %r = "fuse.load"(%y, %above, %cst) {at = ["d0", "d1 - 32"]} : (tensor<64x32xbf16>, i1, bf16) -> bf16
    %s = arith.select %below, %l, %r : bf16
    %true = arith.constant true
    %t = "fuse.store"(%o, %s, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<64x64xbf16>, bf16, i1) -> tensor<64x64xbf16>
    return %t : tensor<64x64xbf16>
  }
}

// -----

// Must not fire: the second product would start at column 31.
// CHECK-LABEL: func.func @main
// CHECK: call @cat
// CHECK-NOT: .out"
// SAID: missed: concat-products-in-place: unaligned: @mm, @mm would not start where vectors do in their concatenation [mm + mm]
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<64x32xbf16>, %v: tensor<32x31xbf16>, %w: tensor<32x31xbf16>) -> tensor<64x62xbf16> {
    %p = call @mm(%x, %v) : (tensor<64x32xbf16>, tensor<32x31xbf16>) -> tensor<64x31xbf16>
    %q = call @mm(%x, %w) : (tensor<64x32xbf16>, tensor<32x31xbf16>) -> tensor<64x31xbf16>
    %e = "fuse.empty"() {syms = []} : () -> tensor<64x62xbf16>
    %c = call @cat(%p, %q, %e) : (tensor<64x31xbf16>, tensor<64x31xbf16>, tensor<64x62xbf16>) -> tensor<64x62xbf16>
    return %c : tensor<64x62xbf16>
  }
  func.func private @mm(tensor<64x32xbf16>, tensor<32x31xbf16>) -> tensor<64x31xbf16> attributes {fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.extern = "aten.mm.default", fuse.kwargs = {}}
  func.func private @cat(%x: tensor<64x31xbf16>, %y: tensor<64x31xbf16>, %o: tensor<64x62xbf16>) -> tensor<64x62xbf16> attributes {fuse.dims = {d0 = "64", d1 = "62"}, fuse.kernel, fuse.ties = array<i64: 2>} {
    %i = "fuse.index"() {expr = "d1 - 31"} : () -> i64
    %zero = arith.constant 0 : i64
    %below = arith.cmpi slt, %i, %zero : i64
    %cst = arith.constant 0.0 : bf16
    %l = "fuse.load"(%x, %below, %cst) {at = ["d0", "d1"]} : (tensor<64x31xbf16>, i1, bf16) -> bf16
    %above = arith.cmpi sge, %i, %zero : i64
    %r = "fuse.load"(%y, %above, %cst) {at = ["d0", "d1 - 31"]} : (tensor<64x31xbf16>, i1, bf16) -> bf16
    %s = arith.select %below, %l, %r : bf16
    %true = arith.constant true
    %t = "fuse.store"(%o, %s, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<64x62xbf16>, bf16, i1) -> tensor<64x62xbf16>
    return %t : tensor<64x62xbf16>
  }
}

// -----

// Must not fire: the activation that the first product reads is given back before the second one runs.
// CHECK-LABEL: func.func @main
// CHECK: call @cat
// CHECK-NOT: .out"
// SAID: missed: concat-products-in-place: lifetime: @mm, @mm read what could be given back before the last of them runs [mm + mm]
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<64x32xbf16>, %v: tensor<32x32xbf16>, %w: tensor<32x32xbf16>) -> tensor<64x64xbf16> {
    %f = "fuse.empty"() {syms = []} : () -> tensor<64x32xbf16>
    %h = call @relu(%x, %f) : (tensor<64x32xbf16>, tensor<64x32xbf16>) -> tensor<64x32xbf16>
    %p = call @mm(%h, %v) : (tensor<64x32xbf16>, tensor<32x32xbf16>) -> tensor<64x32xbf16>
    %q = call @mm(%x, %w) : (tensor<64x32xbf16>, tensor<32x32xbf16>) -> tensor<64x32xbf16>
    %e = "fuse.empty"() {syms = []} : () -> tensor<64x64xbf16>
    %c = call @cat(%p, %q, %e) : (tensor<64x32xbf16>, tensor<64x32xbf16>, tensor<64x64xbf16>) -> tensor<64x64xbf16>
    return %c : tensor<64x64xbf16>
  }
  func.func private @relu(%x: tensor<64x32xbf16>, %o: tensor<64x32xbf16>) -> tensor<64x32xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "64", d1 = "32"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<64x32xbf16>, i1, bf16) -> bf16
    %c = arith.maximumf %a, %zero : bf16
    %r = "fuse.store"(%o, %c, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<64x32xbf16>, bf16, i1) -> tensor<64x32xbf16>
    return %r : tensor<64x32xbf16>
  }
  func.func private @mm(tensor<64x32xbf16>, tensor<32x32xbf16>) -> tensor<64x32xbf16> attributes {fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.extern = "aten.mm.default", fuse.kwargs = {}}
  func.func private @cat(%x: tensor<64x32xbf16>, %y: tensor<64x32xbf16>, %o: tensor<64x64xbf16>) -> tensor<64x64xbf16> attributes {fuse.dims = {d0 = "64", d1 = "64"}, fuse.kernel, fuse.ties = array<i64: 2>} {
    %i = "fuse.index"() {expr = "d1 - 32"} : () -> i64
    %zero = arith.constant 0 : i64
    %below = arith.cmpi slt, %i, %zero : i64
    %cst = arith.constant 0.0 : bf16
    %l = "fuse.load"(%x, %below, %cst) {at = ["d0", "d1"]} : (tensor<64x32xbf16>, i1, bf16) -> bf16
    %above = arith.cmpi sge, %i, %zero : i64
    %r = "fuse.load"(%y, %above, %cst) {at = ["d0", "d1 - 32"]} : (tensor<64x32xbf16>, i1, bf16) -> bf16
    %s = arith.select %below, %l, %r : bf16
    %true = arith.constant true
    %t = "fuse.store"(%o, %s, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<64x64xbf16>, bf16, i1) -> tensor<64x64xbf16>
    return %t : tensor<64x64xbf16>
  }
}
