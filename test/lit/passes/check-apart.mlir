// RUN: fuse-opt %s --pass-pipeline="builtin.module(check-apart{hardware=h200})" --split-input-file | FileCheck %s
// RUN: fuse-opt %s --pass-pipeline="builtin.module(check-apart{hardware=h200})" --split-input-file --remarks=text 2>&1 >/dev/null | FileCheck %s --check-prefix=SAID
// RUN: fuse-opt %s --pass-pipeline="builtin.module(check-apart{hardware=a100})" --split-input-file | FileCheck %s --check-prefix=OLDER
// RUN: not fuse-opt %s --pass-pipeline="builtin.module(check-apart{hardware=h201})" --split-input-file 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// UNKNOWN: unknown hardware 'h201'

// Rows that are looked up are checked in a kernel over the rows alone, which reads the index.
// CHECK-LABEL: func.func @main
// CHECK: call @rows_checks(%{{.*}}) : (tensor<128xi64>) -> ()
// CHECK: call @rows(
// CHECK-LABEL: func.func private @rows_checks(%arg0: tensor<128xi64>)
// CHECK-SAME: fuse.dims = {d0 = "128"}, fuse.kernel, fuse.ties = array<i64>
// CHECK: "fuse.load"(%arg0
// CHECK: cf.assert
// CHECK-LABEL: func.func private @rows(
// CHECK-NOT: cf.assert
// CHECK: "fuse.dot"
// SAID: passed: check-apart: apart: @rows multiplies, and another kernel asserts [rows]
// OLDER-LABEL: func.func private @rows(
// OLDER: cf.assert
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<512x256xbf16>, %index: tensor<128xi64>, %w: tensor<256x128xbf16>) -> tensor<128x128xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<128x128xf32>
    %y = call @rows(%x, %index, %w, %o) : (tensor<512x256xbf16>, tensor<128xi64>, tensor<256x128xbf16>, tensor<128x128xf32>) -> tensor<128x128xf32>
    return %y : tensor<128x128xf32>
  }
  func.func private @rows(%x: tensor<512x256xbf16>, %index: tensor<128xi64>, %w: tensor<256x128xbf16>, %o: tensor<128x128xf32>) -> tensor<128x128xf32> attributes {fuse.kernel, fuse.dims = {d0 = "128", d1 = "128", d2 = "256"}, fuse.ties = array<i64: 3>} {
    %true = arith.constant true
    %none = arith.constant 0 : i64
    %most = arith.constant 512 : i64
    %zero = arith.constant 0.0 : bf16
    %row = "fuse.load"(%index, %true, %none) {at = ["d0"]} : (tensor<128xi64>, i1, i64) -> i64
    %inside = arith.cmpi ult, %row, %most : i64
    cf.assert %inside, "index out of bounds"
    %a = "fuse.load"(%x, %inside, %zero, %row) {at = ["i0", "d2"]} : (tensor<512x256xbf16>, i1, bf16, i64) -> bf16
    %b = "fuse.load"(%w, %true, %zero) {at = ["d2", "d1"]} : (tensor<256x128xbf16>, i1, bf16) -> bf16
    %s = "fuse.dot"(%a, %b) {over = ["d2"]} : (bf16, bf16) -> f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<128x128xf32>, f32, i1) -> tensor<128x128xf32>
    return %r : tensor<128x128xf32>
  }
}

// -----

// Must not fire: a few rows, which are multiplied by instructions that no call holds up.
// CHECK-LABEL: func.func private @few(
// CHECK: cf.assert
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<512x256xbf16>, %index: tensor<16xi64>, %w: tensor<256x128xbf16>) -> tensor<16x128xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<16x128xf32>
    %y = call @few(%x, %index, %w, %o) : (tensor<512x256xbf16>, tensor<16xi64>, tensor<256x128xbf16>, tensor<16x128xf32>) -> tensor<16x128xf32>
    return %y : tensor<16x128xf32>
  }
  func.func private @few(%x: tensor<512x256xbf16>, %index: tensor<16xi64>, %w: tensor<256x128xbf16>, %o: tensor<16x128xf32>) -> tensor<16x128xf32> attributes {fuse.kernel, fuse.dims = {d0 = "16", d1 = "128", d2 = "256"}, fuse.ties = array<i64: 3>} {
    %true = arith.constant true
    %none = arith.constant 0 : i64
    %most = arith.constant 512 : i64
    %zero = arith.constant 0.0 : bf16
    %row = "fuse.load"(%index, %true, %none) {at = ["d0"]} : (tensor<16xi64>, i1, i64) -> i64
    %inside = arith.cmpi ult, %row, %most : i64
    cf.assert %inside, "index out of bounds"
    %a = "fuse.load"(%x, %inside, %zero, %row) {at = ["i0", "d2"]} : (tensor<512x256xbf16>, i1, bf16, i64) -> bf16
    %b = "fuse.load"(%w, %true, %zero) {at = ["d2", "d1"]} : (tensor<256x128xbf16>, i1, bf16) -> bf16
    %s = "fuse.dot"(%a, %b) {over = ["d2"]} : (bf16, bf16) -> f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<16x128xf32>, f32, i1) -> tensor<16x128xf32>
    return %r : tensor<16x128xf32>
  }
}

// -----

// Must not fire: nothing is multiplied on tensor cores.
// CHECK-LABEL: func.func private @summed(
// CHECK: cf.assert
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<512x256xbf16>, %index: tensor<128xi64>, %w: tensor<256x128xbf16>) -> tensor<128x128xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<128x128xf32>
    %y = call @summed(%x, %index, %w, %o) : (tensor<512x256xbf16>, tensor<128xi64>, tensor<256x128xbf16>, tensor<128x128xf32>) -> tensor<128x128xf32>
    return %y : tensor<128x128xf32>
  }
  func.func private @summed(%x: tensor<512x256xbf16>, %index: tensor<128xi64>, %w: tensor<256x128xbf16>, %o: tensor<128x128xf32>) -> tensor<128x128xf32> attributes {fuse.kernel, fuse.dims = {d0 = "128", d1 = "128", d2 = "256"}, fuse.ties = array<i64: 3>} {
    %true = arith.constant true
    %none = arith.constant 0 : i64
    %most = arith.constant 512 : i64
    %zero = arith.constant 0.0 : bf16
    %row = "fuse.load"(%index, %true, %none) {at = ["d0"]} : (tensor<128xi64>, i1, i64) -> i64
    %inside = arith.cmpi ult, %row, %most : i64
    cf.assert %inside, "index out of bounds"
    %a = "fuse.load"(%x, %inside, %zero, %row) {at = ["i0", "d2"]} : (tensor<512x256xbf16>, i1, bf16, i64) -> bf16
    %b = "fuse.load"(%w, %true, %zero) {at = ["d2", "d1"]} : (tensor<256x128xbf16>, i1, bf16) -> bf16
    %wa = arith.extf %a : bf16 to f32
    %wb = arith.extf %b : bf16 to f32
    %p = arith.mulf %wa, %wb : f32
    %s = "fuse.reduce"(%p) {kind = "sum", over = ["d2"]} : (f32) -> f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<128x128xf32>, f32, i1) -> tensor<128x128xf32>
    return %r : tensor<128x128xf32>
  }
}
