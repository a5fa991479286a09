// A declaration may leave out arguments by name, where there are none.
// RUN: fuse-opt %s --pass-pipeline="builtin.module(choose-libraries{products=generated})" | FileCheck %s
// RUN: fuse-opt %s --pass-pipeline="builtin.module(activate-products{where=everywhere})" | FileCheck %s --check-prefix=RELU
// RUN: fuse-opt %s --pass-pipeline="builtin.module(concat-products-in-place{where=everywhere})" | FileCheck %s --check-prefix=CAT
// RUN: fuse-opt %s --default-pipeline=scheduled --fuse-print-estimates 2>/dev/null | FileCheck %s --check-prefix=PLAIN

// CHECK-LABEL: func.func @main
// CHECK: call @mm_kernel{{[_0-9]*}}(%arg0, %arg1, %{{.*}})
// CHECK: call @mm_kernel{{[_0-9]*}}(%arg0, %arg1, %{{.*}})
// CHECK: call @mm_kernel{{[_0-9]*}}(%arg0, %arg1, %{{.*}})
// RELU-LABEL: func.func @main
// RELU: call @_addmm_activation_default(
// CAT-LABEL: func.func @main
// CAT: call @mm_out(
// CAT: func.func private @mm_out({{.*}} fuse.kwargs = {out = #fuse.arg<2 : i64>}
// PLAIN-LABEL: func.func @main
// PLAIN: call @mm(
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<16x8xbf16>, %w: tensor<8x24xbf16>) -> (tensor<16x24xbf16>, tensor<32x24xbf16>) {
    %y = call @mm(%x, %w) : (tensor<16x8xbf16>, tensor<8x24xbf16>) -> tensor<16x24xbf16>
    %e = "fuse.empty"() {syms = []} : () -> tensor<16x24xbf16>
    %z = call @relu(%y, %e) : (tensor<16x24xbf16>, tensor<16x24xbf16>) -> tensor<16x24xbf16>
    %a = call @mm(%x, %w) : (tensor<16x8xbf16>, tensor<8x24xbf16>) -> tensor<16x24xbf16>
    %b = call @mm(%x, %w) : (tensor<16x8xbf16>, tensor<8x24xbf16>) -> tensor<16x24xbf16>
    %f = "fuse.empty"() {syms = []} : () -> tensor<32x24xbf16>
    %c = call @cat(%a, %b, %f) : (tensor<16x24xbf16>, tensor<16x24xbf16>, tensor<32x24xbf16>) -> tensor<32x24xbf16>
    return %z, %c : tensor<16x24xbf16>, tensor<32x24xbf16>
  }
  func.func private @mm(tensor<16x8xbf16>, tensor<8x24xbf16>) -> tensor<16x24xbf16> attributes {fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.extern = "aten.mm.default"}
  func.func private @relu(%x: tensor<16x24xbf16>, %o: tensor<16x24xbf16>) -> tensor<16x24xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "16", d1 = "24"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %cst = arith.constant 0.0 : bf16
    %a = "fuse.load"(%x, %true, %cst) {at = ["d0", "d1"]} : (tensor<16x24xbf16>, i1, bf16) -> bf16
    %c = arith.maximumf %a, %cst : bf16
    %r = "fuse.store"(%o, %c, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<16x24xbf16>, bf16, i1) -> tensor<16x24xbf16>
    return %r : tensor<16x24xbf16>
  }
  func.func private @cat(%x: tensor<16x24xbf16>, %y: tensor<16x24xbf16>, %o: tensor<32x24xbf16>) -> tensor<32x24xbf16> attributes {fuse.dims = {d0 = "32", d1 = "24"}, fuse.kernel, fuse.ties = array<i64: 2>} {
    %i = "fuse.index"() {expr = "d0 - 16"} : () -> i64
    %zero = arith.constant 0 : i64
    %below = arith.cmpi slt, %i, %zero : i64
    %cst = arith.constant 0.0 : bf16
    %l = "fuse.load"(%x, %below, %cst) {at = ["d0", "d1"]} : (tensor<16x24xbf16>, i1, bf16) -> bf16
    %above = arith.cmpi sge, %i, %zero : i64
    %r = "fuse.load"(%y, %above, %cst) {at = ["d0 - 16", "d1"]} : (tensor<16x24xbf16>, i1, bf16) -> bf16
    %s = arith.select %below, %l, %r : bf16
    %true = arith.constant true
    %t = "fuse.store"(%o, %s, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<32x24xbf16>, bf16, i1) -> tensor<32x24xbf16>
    return %t : tensor<32x24xbf16>
  }
}
