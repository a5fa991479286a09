// One query beside many keys: the rows of a fuse.online_dot become a dim of one point, which is kept, and its columns are cut.
// RUN: fuse-opt %s --pass-pipeline="builtin.module(expand-dots,simplify-dims)" --split-input-file | FileCheck %s --check-prefix=ROWS
// RUN: fuse-opt %s --pass-pipeline="builtin.module(expand-dots,simplify-dims,split-reductions{hardware=h200})" --split-input-file | FileCheck %s
// RUN: fuse-opt %s --pass-pipeline="builtin.module(expand-dots,simplify-dims,split-reductions{hardware=h200})" --split-input-file --remarks=text 2>&1 >/dev/null | FileCheck %s --check-prefix=SAID
// RUN: not fuse-opt %s --pass-pipeline="builtin.module(split-reductions{hardware=abacus})" --split-input-file 2>&1 | FileCheck %s --check-prefix=BAD
// BAD: error: {{.*}}abacus

// Each slice has its own maximum, sum and sums; a slice of which all scores are -inf has NaN in them, and adds nothing.
// ROWS: func.func private @decode({{.*}}fuse.dims = {d0 = "2", d1 = "64", d2 = "4096", d3 = "64", d4 = "1"}
// ROWS: "fuse.load"(%arg0, {{.*}} {at = ["d0", "d4", "d3"]}
// ROWS: "fuse.load"(%arg1, {{.*}} {at = ["d0", "d2", "d3"]}
// ROWS: "fuse.dot"({{.*}}) {over = ["d3"]} : (bf16, bf16) -> f32
// ROWS: "fuse.online_dot"
// ROWS: "fuse.store"(%arg3, {{.*}} {at = ["d0 + d4", "d1"]
// CHECK-LABEL: func.func @main
// CHECK: call @decode_slices
// CHECK: call @decode_rest
// CHECK: func.func private @decode_slices({{.*}}fuse.dims = {d0 = "2", d1 = "64", d2 = "64", d3 = "64", d4 = "1", d5 = "64"}
// CHECK: "fuse.load"(%arg1, {{.*}} {at = ["d0", "d2 + d5*64", "d3"]}
// CHECK: %[[O:.*]]:3 = "fuse.online_dot"({{.*}}) {over = ["d2"]}
// CHECK: func.func private @decode_rest
// CHECK-DAG: %[[SUMS:.*]] = "fuse.load"(%{{.*}} : (tensor<64x2x64x1xf32>
// CHECK: %[[TOP:.*]] = "fuse.reduce"(%[[M:.*]]) {kind = "max", over = ["d5"]}
// CHECK: %[[EMPTY:.*]] = arith.cmpf oeq, %[[M]]
// CHECK: %[[F:.*]] = math.exp
// CHECK: "fuse.reduce"({{.*}}) {kind = "sum", over = ["d5"]}
// CHECK: %[[KEPT:.*]] = arith.select %[[EMPTY]], %{{.*}}, %[[SUMS]]
// CHECK: arith.mulf %[[KEPT]], %[[F]]
// CHECK: "fuse.reduce"({{.*}}) {kind = "sum", over = ["d5"]}
// SAID: passed: split-reductions: split, slices=64, programs=2: the reductions of @decode over d2 run in slices
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%q: tensor<2x1x64xbf16>, %k: tensor<2x4096x64xbf16>, %v: tensor<2x4096x64xbf16>) -> tensor<2x64xf32> {
    %e = "fuse.empty"() {syms = []} : () -> tensor<2x64xf32>
    %o = call @decode(%q, %k, %v, %e) : (tensor<2x1x64xbf16>, tensor<2x4096x64xbf16>, tensor<2x4096x64xbf16>, tensor<2x64xf32>) -> tensor<2x64xf32>
    return %o : tensor<2x64xf32>
  }
  func.func private @decode(%q: tensor<2x1x64xbf16>, %k: tensor<2x4096x64xbf16>, %v: tensor<2x4096x64xbf16>, %e: tensor<2x64xf32>) -> tensor<2x64xf32> attributes {fuse.kernel, fuse.looped, fuse.dims = {d0 = "2", d1 = "64", d2 = "4096", d3 = "64"}, fuse.ties = array<i64: 3>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %a = "fuse.load"(%q, %true, %zero) {at = ["d0", "0", "d3"]} : (tensor<2x1x64xbf16>, i1, bf16) -> bf16
    %b = "fuse.load"(%k, %true, %zero) {at = ["d0", "d2", "d3"]} : (tensor<2x4096x64xbf16>, i1, bf16) -> bf16
    %s = "fuse.dot"(%a, %b) {over = ["d3"]} : (bf16, bf16) -> f32
    %c = "fuse.load"(%v, %true, %zero) {at = ["d0", "d2", "d1"]} : (tensor<2x4096x64xbf16>, i1, bf16) -> bf16
    %o, %m, %l = "fuse.online_dot"(%s, %c) {over = ["d2"]} : (f32, bf16) -> (f32, f32, f32)
    %p = arith.divf %o, %l : f32
    %r = "fuse.store"(%e, %p, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<2x64xf32>, f32, i1) -> tensor<2x64xf32>
    return %r : tensor<2x64xf32>
  }
}

// -----

// Must not fire: fewer than three slices read four times what each writes for the second kernel.
// CHECK-LABEL: func.func @main
// CHECK: call @short(
// CHECK-NOT: call
// SAID: missed: split-reductions: short: @short: the reduction over ['d2'] has 320 points, too few to share
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%q: tensor<2x16x64xbf16>, %k: tensor<2x320x64xbf16>, %v: tensor<2x320x64xbf16>) -> tensor<2x16x64xf32> {
    %e = "fuse.empty"() {syms = []} : () -> tensor<2x16x64xf32>
    %o = call @short(%q, %k, %v, %e) : (tensor<2x16x64xbf16>, tensor<2x320x64xbf16>, tensor<2x320x64xbf16>, tensor<2x16x64xf32>) -> tensor<2x16x64xf32>
    return %o : tensor<2x16x64xf32>
  }
  func.func private @short(%q: tensor<2x16x64xbf16>, %k: tensor<2x320x64xbf16>, %v: tensor<2x320x64xbf16>, %e: tensor<2x16x64xf32>) -> tensor<2x16x64xf32> attributes {fuse.kernel, fuse.looped, fuse.dims = {d0 = "2", d1 = "16", d2 = "320", d3 = "64", d4 = "64"}, fuse.ties = array<i64: 3>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %a = "fuse.load"(%q, %true, %zero) {at = ["d0", "d1", "d3"]} : (tensor<2x16x64xbf16>, i1, bf16) -> bf16
    %b = "fuse.load"(%k, %true, %zero) {at = ["d0", "d2", "d3"]} : (tensor<2x320x64xbf16>, i1, bf16) -> bf16
    %s = "fuse.dot"(%a, %b) {over = ["d3"]} : (bf16, bf16) -> f32
    %c = "fuse.load"(%v, %true, %zero) {at = ["d0", "d2", "d4"]} : (tensor<2x320x64xbf16>, i1, bf16) -> bf16
    %o, %m, %l = "fuse.online_dot"(%s, %c) {over = ["d2"]} : (f32, bf16) -> (f32, f32, f32)
    %p = arith.divf %o, %l : f32
    %r = "fuse.store"(%e, %p, %true) {at = ["d0", "d1", "d4"], mode = "set"} : (tensor<2x16x64xf32>, f32, i1) -> tensor<2x16x64xf32>
    return %r : tensor<2x16x64xf32>
  }
}

// -----

// Pages that a table names are waited for, so there are twice the programs.  A slice has whole pages.
// SAID: passed: split-reductions: split, slices=16, programs=32: the reductions of @paged over d2 run in slices
// CHECK-LABEL: func.func @main
// CHECK: call @paged_slices(
// CHECK: func.func private @paged_slices({{.*}}fuse.dims = {d0 = "32", d1 = "64", d2 = "4", d3 = "64", d4 = "64", d5 = "1", d6 = "16"}
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%q: tensor<32x1x64xbf16>, %k: tensor<2048x64x64xbf16>, %v: tensor<2048x64x64xbf16>, %t: tensor<32x64xi64>) -> tensor<32x64xf32> {
    %e = "fuse.empty"() {syms = []} : () -> tensor<32x64xf32>
    %o = call @paged(%q, %k, %v, %t, %e) : (tensor<32x1x64xbf16>, tensor<2048x64x64xbf16>, tensor<2048x64x64xbf16>, tensor<32x64xi64>, tensor<32x64xf32>) -> tensor<32x64xf32>
    return %o : tensor<32x64xf32>
  }
  func.func private @paged(%q: tensor<32x1x64xbf16>, %k: tensor<2048x64x64xbf16>, %v: tensor<2048x64x64xbf16>, %t: tensor<32x64xi64>, %e: tensor<32x64xf32>) -> tensor<32x64xf32> attributes {fuse.kernel, fuse.looped, fuse.dims = {d0 = "32", d1 = "64", d2 = "64", d3 = "64", d4 = "64"}, fuse.ties = array<i64: 4>} {
    %true = arith.constant true
    %none = arith.constant 0 : i64
    %zero = arith.constant 0.0 : bf16
    %page = "fuse.load"(%t, %true, %none) {at = ["d0", "d2"]} : (tensor<32x64xi64>, i1, i64) -> i64
    %a = "fuse.load"(%q, %true, %zero) {at = ["d0", "0", "d3"]} : (tensor<32x1x64xbf16>, i1, bf16) -> bf16
    %b = "fuse.load"(%k, %true, %zero, %page) {at = ["i0", "d4", "d3"]} : (tensor<2048x64x64xbf16>, i1, bf16, i64) -> bf16
    %s = "fuse.dot"(%a, %b) {over = ["d3"]} : (bf16, bf16) -> f32
    %c = "fuse.load"(%v, %true, %zero, %page) {at = ["i0", "d4", "d1"]} : (tensor<2048x64x64xbf16>, i1, bf16, i64) -> bf16
    %o, %m, %l = "fuse.online_dot"(%s, %c) {over = ["d2", "d4"]} : (f32, bf16) -> (f32, f32, f32)
    %p = arith.divf %o, %l : f32
    %r = "fuse.store"(%e, %p, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<32x64xf32>, f32, i1) -> tensor<32x64xf32>
    return %r : tensor<32x64xf32>
  }
}
