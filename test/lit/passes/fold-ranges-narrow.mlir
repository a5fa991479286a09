// RUN: fuse-opt %s --pass-pipeline="builtin.module(fold-ranges)" --split-input-file --verify-diagnostics | FileCheck %s
// RUN: fuse-opt %s --pass-pipeline="builtin.module(fold-ranges,fold-ranges)" --split-input-file --verify-diagnostics --verify-each=numeric | FileCheck %s

// A distance that is cut off is cut off in 32 bits: both of its ends, without a conversion between them.
// CHECK-LABEL: func.func private @k
// CHECK: %[[D:.*]] = arith.subi
// CHECK: %[[N:.*]] = arith.trunci %[[D]] : i64 to i32
// CHECK: %[[A:.*]] = arith.maxsi %[[N]], %{{.*}} : i32
// CHECK: %[[B:.*]] = arith.minsi %[[A]], %{{.*}} : i32
// CHECK: %[[W:.*]] = arith.extsi %[[B]] : i32 to i64
// CHECK: %[[AT:.*]] = arith.addi %[[W]], %{{.*}} : i64
// CHECK-NOT: cmpi
// CHECK: "fuse.load"(%arg0, %true, %{{.*}}, %[[AT]]) {at = ["i0"]}
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<5xf32>) -> tensor<4x8xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<4x8xf32>
    %r = call @k(%x, %o) : (tensor<5xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    return %r : tensor<4x8xf32>
  }
  func.func private @k(%x: tensor<5xf32>, %o: tensor<4x8xf32>) -> tensor<4x8xf32> attributes {fuse.kernel, fuse.dims = {d0 = "4", d1 = "8"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %c0 = arith.constant 0 : i64
    %c2 = arith.constant 2 : i64
    %c5 = arith.constant 5 : i64
    %least = arith.constant -2 : i64
    %i = "fuse.index"() {expr = "d0"} : () -> i64
    %j = "fuse.index"() {expr = "d1"} : () -> i64
    %d = arith.subi %i, %j : i64
    %a = arith.maxsi %d, %least : i64
    %b = arith.minsi %a, %c2 : i64
    %at = arith.addi %b, %c2 : i64
    %low = arith.cmpi sge, %at, %c0 : i64
    %high = arith.cmpi slt, %at, %c5 : i64
    %ok = arith.andi %low, %high : i1
    "fuse.device_assert"(%ok, %true) {message = "outside"} : (i1, i1) -> ()
    %v = "fuse.load"(%x, %ok, %zero, %at) {at = ["i0"]} : (tensor<5xf32>, i1, f32, i64) -> f32
    %r = "fuse.store"(%o, %v, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<4x8xf32>, f32, i1) -> tensor<4x8xf32>
    return %r : tensor<4x8xf32>
  }
}

// -----

// Must not fire: what is loaded may be any integer, and 4294967296 is none of 32 bits.
// CHECK-LABEL: func.func private @k
// CHECK: arith.maxsi %{{.*}}, %{{.*}} : i64
// CHECK: arith.minsi %{{.*}}, %{{.*}} : i64
// CHECK-NOT: trunci
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<8xi64>) -> tensor<8xi64> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<8xi64>
    %r = call @k(%x, %o) : (tensor<8xi64>, tensor<8xi64>) -> tensor<8xi64>
    return %r : tensor<8xi64>
  }
  func.func private @k(%x: tensor<8xi64>, %o: tensor<8xi64>) -> tensor<8xi64> attributes {fuse.kernel, fuse.dims = {d0 = "8"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %c0 = arith.constant 0 : i64
    %wide = arith.constant 4294967296 : i64
    %v = "fuse.load"(%x, %true, %c0) {at = ["d0"]} : (tensor<8xi64>, i1, i64) -> i64
    %a = arith.maxsi %v, %c0 : i64
    %i = "fuse.index"() {expr = "d0"} : () -> i64
    %b = arith.minsi %i, %wide : i64
    %s = arith.addi %a, %b : i64
    %r = "fuse.store"(%o, %s, %true) {at = ["d0"], mode = "set"} : (tensor<8xi64>, i64, i1) -> tensor<8xi64>
    return %r : tensor<8xi64>
  }
}

// -----

// Bad input: the less of two integers of different types.
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<8xi64>) -> tensor<8xi64> {
    return %x : tensor<8xi64>
  }
  func.func private @k(%x: tensor<8xi64>) attributes {fuse.kernel, fuse.dims = {d0 = "8"}} {
    %i = "fuse.index"() {expr = "d0"} : () -> i64
    // expected-note@+1 {{prior use here}}
    %c = arith.constant 1 : i32
    // expected-error@+1 {{use of value '%c' expects different type than prior uses: 'i64' vs 'i32'}}
    %b = arith.minsi %i, %c : i64
    return
  }
}
