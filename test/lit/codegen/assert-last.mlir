// Where each look-up has a guard, assertions that say the same are one, which comes last: threads of a program meet behind each.
// RUN: fuse-opt %s --default-pipeline=planned --split-input-file | FileCheck %s

// CHECK-LABEL: "tt.func"
// CHECK-COUNT-2: "tt.load"(%{{.*}}) {{.*}}tensor<{{[0-9]+}}xi64>
// CHECK: %[[A:.*]] = arith.ori
// CHECK: %[[B:.*]] = arith.ori
// CHECK: "tt.store"
// CHECK-NEXT: %[[BOTH:.*]] = arith.andi %[[A]], %[[B]]
// CHECK-NEXT: "tt.assert"(%[[BOTH]]) {fuse.index_check, message = "index out of bounds"}
// CHECK-NEXT: "tt.return"
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<50xf32>, %i: tensor<1000xi64>, %j: tensor<1000xi64>) -> tensor<1000xf32> {
    %y_o = "fuse.empty"() {syms = []} : () -> tensor<1000xf32>
    %y = call @k(%x, %i, %j, %y_o) : (tensor<50xf32>, tensor<1000xi64>, tensor<1000xi64>, tensor<1000xf32>) -> tensor<1000xf32>
    return %y : tensor<1000xf32>
  }
  func.func private @k(%x: tensor<50xf32>, %i: tensor<1000xi64>, %j: tensor<1000xi64>, %o: tensor<1000xf32>) -> tensor<1000xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "1000"}, fuse.ties = array<i64: 3>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %z = arith.constant 0 : i64
    %n = arith.constant 50 : i64
    %a = "fuse.load"(%i, %true, %z) {at = ["d0"]} : (tensor<1000xi64>, i1, i64) -> i64
    %b = "fuse.load"(%j, %true, %z) {at = ["d0"]} : (tensor<1000xi64>, i1, i64) -> i64
    %in = arith.cmpi ult, %a, %n : i64
    cf.assert %in, "index out of bounds" {fuse.index_check}
    %v = "fuse.load"(%x, %in, %zero, %a) {at = ["i0"]} : (tensor<50xf32>, i1, f32, i64) -> f32
    %in2 = arith.cmpi ult, %b, %n : i64
    cf.assert %in2, "index out of bounds" {fuse.index_check}
    %w = "fuse.load"(%x, %in2, %zero, %b) {at = ["i0"]} : (tensor<50xf32>, i1, f32, i64) -> f32
    %s = arith.addf %v, %w : f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d0"], mode = "set"} : (tensor<1000xf32>, f32, i1) -> tensor<1000xf32>
    return %r : tensor<1000xf32>
  }
}

// -----

// Must not fire: one look-up has no guard, and would read elsewhere before the assertion fails.
// CHECK-LABEL: "tt.func"
// CHECK: "tt.assert"
// CHECK: "tt.load"
// CHECK: "tt.store"
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<50xf32>, %i: tensor<1000xi64>) -> tensor<1000xf32> {
    %y_o = "fuse.empty"() {syms = []} : () -> tensor<1000xf32>
    %y = call @k(%x, %i, %y_o) : (tensor<50xf32>, tensor<1000xi64>, tensor<1000xf32>) -> tensor<1000xf32>
    return %y : tensor<1000xf32>
  }
  func.func private @k(%x: tensor<50xf32>, %i: tensor<1000xi64>, %o: tensor<1000xf32>) -> tensor<1000xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "1000"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %z = arith.constant 0 : i64
    %n = arith.constant 50 : i64
    %a = "fuse.load"(%i, %true, %z) {at = ["d0"]} : (tensor<1000xi64>, i1, i64) -> i64
    %in = arith.cmpi ult, %a, %n : i64
    cf.assert %in, "index out of bounds" {fuse.index_check}
    %v = "fuse.load"(%x, %true, %zero, %a) {at = ["i0"]} : (tensor<50xf32>, i1, f32, i64) -> f32
    %r = "fuse.store"(%o, %v, %true) {at = ["d0"], mode = "set"} : (tensor<1000xf32>, f32, i1) -> tensor<1000xf32>
    return %r : tensor<1000xf32>
  }
}

// -----

// Must not fire: each says something of its own.
// CHECK-LABEL: "tt.func"
// CHECK: "tt.assert"(%{{.*}}) {fuse.index_check, message = "rows out of bounds"}
// CHECK: "tt.assert"(%{{.*}}) {fuse.index_check, message = "columns out of bounds"}
// CHECK: "tt.store"
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<50x50xf32>, %i: tensor<1000xi64>) -> tensor<1000xf32> {
    %y_o = "fuse.empty"() {syms = []} : () -> tensor<1000xf32>
    %y = call @k(%x, %i, %y_o) : (tensor<50x50xf32>, tensor<1000xi64>, tensor<1000xf32>) -> tensor<1000xf32>
    return %y : tensor<1000xf32>
  }
  func.func private @k(%x: tensor<50x50xf32>, %i: tensor<1000xi64>, %o: tensor<1000xf32>) -> tensor<1000xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "1000"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %z = arith.constant 0 : i64
    %n = arith.constant 50 : i64
    %half = arith.constant 25 : i64
    %a = "fuse.load"(%i, %true, %z) {at = ["d0"]} : (tensor<1000xi64>, i1, i64) -> i64
    %in = arith.cmpi ult, %a, %n : i64
    cf.assert %in, "rows out of bounds" {fuse.index_check}
    %b = arith.subi %a, %half : i64
    %in2 = arith.cmpi ult, %b, %n : i64
    cf.assert %in2, "columns out of bounds" {fuse.index_check}
    %both = arith.andi %in, %in2 : i1
    %v = "fuse.load"(%x, %both, %zero, %a, %b) {at = ["i0", "i1"]} : (tensor<50x50xf32>, i1, f32, i64, i64) -> f32
    %r = "fuse.store"(%o, %v, %true) {at = ["d0"], mode = "set"} : (tensor<1000xf32>, f32, i1) -> tensor<1000xf32>
    return %r : tensor<1000xf32>
  }
}
