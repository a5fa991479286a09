// RUN: fuse-opt %s --pass-pipeline="builtin.module(commute-row-scales{hardware=h200},commute-row-scales{hardware=h200})" --split-input-file | FileCheck %s
// RUN: fuse-opt %s --pass-pipeline="builtin.module(commute-row-scales{hardware=h200})" --split-input-file --remarks=text 2>&1 >/dev/null | FileCheck %s --check-prefix=SAID
// RUN: not fuse-opt %s --pass-pipeline="builtin.module(commute-row-scales{hardware=abacus})" --split-input-file 2>&1 | FileCheck %s --check-prefix=BAD
// BAD: error: commute-row-scales: unknown hardware 'abacus'

// The product reads rows that are not scaled, times the gain, and scales its sums.
// CHECK-LABEL: func.func @main
// CHECK: %[[C:.*]] = call @columns(%arg0, %arg2, %{{.*}}) : (tensor<65536x128xbf16>, tensor<128xbf16>, tensor<65536x128xbf16>) -> tensor<65536x128xbf16>
// CHECK: call @mm_kernel(%[[C]], %arg3, %arg1, %{{.*}})
// CHECK-LABEL: func.func private @columns
// CHECK: arith.mulf
// CHECK-LABEL: func.func private @mm_kernel
// CHECK: %[[D:.*]] = "fuse.dot"
// CHECK: %[[S:.*]] = "fuse.load"(%arg2, {{.*}}) {at = ["d0", "0"]} : (tensor<65536x1xf32>
// CHECK: arith.mulf %[[D]], %[[S]]
// CHECK-NOT: @scaled
// SAID: passed: commute-row-scales: kernel, kernel_us={{.*}}: @mm multiplies rows before they are scaled [mm]
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<65536x128xbf16>, %s: tensor<65536x1xf32>, %g: tensor<128xbf16>, %w: tensor<128x16xbf16>) -> tensor<65536x16xbf16> {
    %e = "fuse.empty"() {syms = []} : () -> tensor<65536x128xbf16>
    %a = call @scaled(%x, %s, %g, %e) : (tensor<65536x128xbf16>, tensor<65536x1xf32>, tensor<128xbf16>, tensor<65536x128xbf16>) -> tensor<65536x128xbf16>
    %y = call @mm(%a, %w) : (tensor<65536x128xbf16>, tensor<128x16xbf16>) -> tensor<65536x16xbf16>
    return %y : tensor<65536x16xbf16>
  }
  func.func private @mm(tensor<65536x128xbf16>, tensor<128x16xbf16>) -> tensor<65536x16xbf16> attributes {fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.extern = "aten.mm.default", fuse.kwargs = {}}
  func.func private @scaled(%x: tensor<65536x128xbf16>, %s: tensor<65536x1xf32>, %g: tensor<128xbf16>, %o: tensor<65536x128xbf16>) -> tensor<65536x128xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "65536", d1 = "128"}, fuse.ties = array<i64: 3>} {
    %true = arith.constant true
    %cst = arith.constant 0.0 : bf16
    %zero = arith.constant 0.0 : f32
    %a = "fuse.load"(%x, %true, %cst) {at = ["d0", "d1"]} : (tensor<65536x128xbf16>, i1, bf16) -> bf16
    %b = "fuse.load"(%s, %true, %zero) {at = ["d0", "0"]} : (tensor<65536x1xf32>, i1, f32) -> f32
    %c = "fuse.load"(%g, %true, %cst) {at = ["d1"]} : (tensor<128xbf16>, i1, bf16) -> bf16
    %d = arith.extf %a : bf16 to f32
    %f = arith.extf %c : bf16 to f32
    %h = arith.mulf %d, %b : f32
    %i = arith.mulf %h, %f : f32
    %j = arith.truncf %i : f32 to bf16
    %r = "fuse.store"(%o, %j, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<65536x128xbf16>, bf16, i1) -> tensor<65536x128xbf16>
    return %r : tensor<65536x128xbf16>
  }
}

// -----

// Must not fire: @fill overwrites the rows before the product runs; @added adds the scale; the rows that @mm_wide
// multiplies are short beside its result.
// CHECK-LABEL: func.func @main
// CHECK: call @fill
// CHECK: call @mm(
// CHECK: call @mm(
// CHECK: call @mm_wide(
// SAID-NEXT: missed: commute-row-scales: library, kernel_us={{.*}}: @mm_wide multiplies scaled rows [mm_wide]
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<65536x128xbf16>, %s: tensor<65536x1xf32>, %w: tensor<128x16xbf16>, %v: tensor<128x4096xbf16>, %t: tensor<65536x128xbf16>) -> (tensor<65536x16xbf16>, tensor<65536x16xbf16>, tensor<65536x4096xbf16>, tensor<65536x128xbf16>) {
    %e = "fuse.empty"() {syms = []} : () -> tensor<65536x128xbf16>
    %a = call @scaled(%x, %s, %e) : (tensor<65536x128xbf16>, tensor<65536x1xf32>, tensor<65536x128xbf16>) -> tensor<65536x128xbf16>
    %b = call @fill(%x) : (tensor<65536x128xbf16>) -> tensor<65536x128xbf16>
    %y = call @mm(%a, %w) : (tensor<65536x128xbf16>, tensor<128x16xbf16>) -> tensor<65536x16xbf16>
    %f = "fuse.empty"() {syms = []} : () -> tensor<65536x128xbf16>
    %c = call @added(%b, %s, %f) : (tensor<65536x128xbf16>, tensor<65536x1xf32>, tensor<65536x128xbf16>) -> tensor<65536x128xbf16>
    %z = call @mm(%c, %w) : (tensor<65536x128xbf16>, tensor<128x16xbf16>) -> tensor<65536x16xbf16>
    %g = "fuse.empty"() {syms = []} : () -> tensor<65536x128xbf16>
    %d = call @scaled(%t, %s, %g) : (tensor<65536x128xbf16>, tensor<65536x1xf32>, tensor<65536x128xbf16>) -> tensor<65536x128xbf16>
    %u = call @mm_wide(%d, %v) : (tensor<65536x128xbf16>, tensor<128x4096xbf16>) -> tensor<65536x4096xbf16>
    return %y, %z, %u, %b : tensor<65536x16xbf16>, tensor<65536x16xbf16>, tensor<65536x4096xbf16>, tensor<65536x128xbf16>
  }
  func.func private @mm(tensor<65536x128xbf16>, tensor<128x16xbf16>) -> tensor<65536x16xbf16> attributes {fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.extern = "aten.mm.default", fuse.kwargs = {}}
  func.func private @mm_wide(tensor<65536x128xbf16>, tensor<128x4096xbf16>) -> tensor<65536x4096xbf16> attributes {fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.extern = "aten.mm.default", fuse.kwargs = {}}
  func.func private @fill(%x: tensor<65536x128xbf16>) -> tensor<65536x128xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "65536", d1 = "128"}, fuse.ties = array<i64: 0>} {
    %true = arith.constant true
    %one = arith.constant 1.0 : bf16
    %r = "fuse.store"(%x, %one, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<65536x128xbf16>, bf16, i1) -> tensor<65536x128xbf16>
    return %r : tensor<65536x128xbf16>
  }
  func.func private @scaled(%x: tensor<65536x128xbf16>, %s: tensor<65536x1xf32>, %o: tensor<65536x128xbf16>) -> tensor<65536x128xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "65536", d1 = "128"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %cst = arith.constant 0.0 : bf16
    %zero = arith.constant 0.0 : f32
    %a = "fuse.load"(%x, %true, %cst) {at = ["d0", "d1"]} : (tensor<65536x128xbf16>, i1, bf16) -> bf16
    %b = "fuse.load"(%s, %true, %zero) {at = ["d0", "0"]} : (tensor<65536x1xf32>, i1, f32) -> f32
    %d = arith.extf %a : bf16 to f32
    %h = arith.mulf %d, %b : f32
    %j = arith.truncf %h : f32 to bf16
    %r = "fuse.store"(%o, %j, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<65536x128xbf16>, bf16, i1) -> tensor<65536x128xbf16>
    return %r : tensor<65536x128xbf16>
  }
  func.func private @added(%x: tensor<65536x128xbf16>, %s: tensor<65536x1xf32>, %o: tensor<65536x128xbf16>) -> tensor<65536x128xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "65536", d1 = "128"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %cst = arith.constant 0.0 : bf16
    %zero = arith.constant 0.0 : f32
    %a = "fuse.load"(%x, %true, %cst) {at = ["d0", "d1"]} : (tensor<65536x128xbf16>, i1, bf16) -> bf16
    %b = "fuse.load"(%s, %true, %zero) {at = ["d0", "0"]} : (tensor<65536x1xf32>, i1, f32) -> f32
    %d = arith.extf %a : bf16 to f32
    %h = arith.addf %d, %b : f32
    %j = arith.truncf %h : f32 to bf16
    %r = "fuse.store"(%o, %j, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<65536x128xbf16>, bf16, i1) -> tensor<65536x128xbf16>
    return %r : tensor<65536x128xbf16>
  }
}
