// RUN: fuse-opt %s --pass-pipeline="builtin.module(expand-dots)" --split-input-file | FileCheck %s
// RUN: fuse-opt %s --pass-pipeline="builtin.module(expand-dots)" --split-input-file --remarks=text 2>&1 >/dev/null | FileCheck %s --check-prefix=SAID

// Tensor cores do not take integers of 16 bits.
// SAID: analysis: expand-dots: types: tensor cores do not sum products of i16 and i16 in i32 [words]
// CHECK-LABEL: func.func private @words
// CHECK-NOT: fuse.dot
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<64x64xi16>, %w: tensor<64x64xi16>) -> tensor<64x64xi32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<64x64xi32>
    %y = call @words(%x, %w, %o) : (tensor<64x64xi16>, tensor<64x64xi16>, tensor<64x64xi32>) -> tensor<64x64xi32>
    return %y : tensor<64x64xi32>
  }
  func.func private @words(%x: tensor<64x64xi16>, %w: tensor<64x64xi16>, %o: tensor<64x64xi32>) -> tensor<64x64xi32>
      attributes {fuse.kernel, fuse.dims = {d0 = "64", d1 = "64", d2 = "64"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0 : i16
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d2"]} : (tensor<64x64xi16>, i1, i16) -> i16
    %b = "fuse.load"(%w, %true, %zero) {at = ["d2", "d1"]} : (tensor<64x64xi16>, i1, i16) -> i16
    %s = "fuse.dot"(%a, %b) {over = ["d2"]} : (i16, i16) -> i32
    %r = "fuse.store"(%o, %s, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<64x64xi32>, i32, i1) -> tensor<64x64xi32>
    return %r : tensor<64x64xi32>
  }
}

// -----

// Triton fails at factors in f64 that are made of bytes.
// SAID: analysis: expand-dots: narrow-loads: Triton fails at products of f64 made of elements of 8 bits [of_bytes]
// CHECK-LABEL: func.func private @of_bytes
// CHECK-NOT: fuse.dot
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<64x64xi8>, %w: tensor<64x64xf64>) -> tensor<64x64xf64> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<64x64xf64>
    %y = call @of_bytes(%x, %w, %o) : (tensor<64x64xi8>, tensor<64x64xf64>, tensor<64x64xf64>) -> tensor<64x64xf64>
    return %y : tensor<64x64xf64>
  }
  func.func private @of_bytes(%x: tensor<64x64xi8>, %w: tensor<64x64xf64>, %o: tensor<64x64xf64>) -> tensor<64x64xf64>
      attributes {fuse.kernel, fuse.dims = {d0 = "64", d1 = "64", d2 = "64"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %none = arith.constant 0 : i8
    %zero = arith.constant 0.0 : f64
    %n = "fuse.load"(%x, %true, %none) {at = ["d0", "d2"]} : (tensor<64x64xi8>, i1, i8) -> i8
    %a = arith.sitofp %n : i8 to f64
    %b = "fuse.load"(%w, %true, %zero) {at = ["d2", "d1"]} : (tensor<64x64xf64>, i1, f64) -> f64
    %s = "fuse.dot"(%a, %b) {over = ["d2"]} : (f64, f64) -> f64
    %r = "fuse.store"(%o, %s, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<64x64xf64>, f64, i1) -> tensor<64x64xf64>
    return %r : tensor<64x64xf64>
  }
}

// -----

// Must not fire: elements of 32 bits are wide enough.
// CHECK-LABEL: func.func private @of_floats
// CHECK: fuse.dot
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<64x64xf32>, %w: tensor<64x64xf64>) -> tensor<64x64xf64> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<64x64xf64>
    %y = call @of_floats(%x, %w, %o) : (tensor<64x64xf32>, tensor<64x64xf64>, tensor<64x64xf64>) -> tensor<64x64xf64>
    return %y : tensor<64x64xf64>
  }
  func.func private @of_floats(%x: tensor<64x64xf32>, %w: tensor<64x64xf64>, %o: tensor<64x64xf64>) -> tensor<64x64xf64>
      attributes {fuse.kernel, fuse.dims = {d0 = "64", d1 = "64", d2 = "64"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %none = arith.constant 0.0 : f32
    %zero = arith.constant 0.0 : f64
    %n = "fuse.load"(%x, %true, %none) {at = ["d0", "d2"]} : (tensor<64x64xf32>, i1, f32) -> f32
    %a = arith.extf %n : f32 to f64
    %b = "fuse.load"(%w, %true, %zero) {at = ["d2", "d1"]} : (tensor<64x64xf64>, i1, f64) -> f64
    %s = "fuse.dot"(%a, %b) {over = ["d2"]} : (f64, f64) -> f64
    %r = "fuse.store"(%o, %s, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<64x64xf64>, f64, i1) -> tensor<64x64xf64>
    return %r : tensor<64x64xf64>
  }
}
