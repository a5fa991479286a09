// RUN: fuse-opt %s --pass-pipeline="builtin.module(recompute-producers{hardware=h200 computed-indices=true})" --split-input-file | FileCheck %s
// RUN: not fuse-opt %s --pass-pipeline="builtin.module(recompute-producers{computed-indices=2})" --split-input-file 2>&1 | FileCheck %s --check-prefix=BAD

// BAD: recompute-producers

// Frames at another rate are read where they are added up, in place of 4 MB that are stored and read: neighbours read neighbours.
// CHECK-LABEL: func.func @main(
// CHECK: %[[A:.*]] = call @frames(%{{.*}}, %{{.*}}) {fuse.group = 0 : i64}
// CHECK-NEXT: call @sums(%[[A]], %{{.*}}) {fuse.group = 0 : i64}
// CHECK-NOT: call @sums
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<1024x900xf32>) -> tensor<1024x900xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<1024x900xf32>
    %y = call @frames(%x, %o) : (tensor<1024x900xf32>, tensor<1024x900xf32>) -> tensor<1024x900xf32>
    %p = "fuse.empty"() {syms = []} : () -> tensor<1024x900xf32>
    %z = call @sums(%y, %p) : (tensor<1024x900xf32>, tensor<1024x900xf32>) -> tensor<1024x900xf32>
    return %z : tensor<1024x900xf32>
  }
  func.func private @frames(%x: tensor<1024x900xf32>, %o: tensor<1024x900xf32>) -> tensor<1024x900xf32> attributes {fuse.kernel, fuse.dims = {d0 = "1024", d1 = "900"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %rate = arith.constant 0.9 : f32
    %i = "fuse.index"() {expr = "d1"} : () -> i64
    %e = arith.sitofp %i : i64 to f32
    %a = arith.mulf %e, %rate : f32
    %j = arith.fptosi %a : f32 to i64
    %v = "fuse.load"(%x, %true, %zero, %j) {at = ["d0", "i0"]} : (tensor<1024x900xf32>, i1, f32, i64) -> f32
    %r = "fuse.store"(%o, %v, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<1024x900xf32>, f32, i1) -> tensor<1024x900xf32>
    return %r : tensor<1024x900xf32>
  }
  func.func private @sums(%x: tensor<1024x900xf32>, %o: tensor<1024x900xf32>) -> tensor<1024x900xf32> attributes {fuse.kernel, fuse.dims = {d0 = "1024", d1 = "900"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %first = arith.constant 0 : i64
    %i = "fuse.index"() {expr = "d1 - 1"} : () -> i64
    %in = arith.cmpi sge, %i, %first : i64
    %v = "fuse.load"(%x, %in, %zero) {at = ["d0", "d1 - 1"]} : (tensor<1024x900xf32>, i1, f32) -> f32
    %s = "fuse.scan"(%v) {kind = "sum", over = "d1", reverse = false} : (f32) -> f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<1024x900xf32>, f32, i1) -> tensor<1024x900xf32>
    return %r : tensor<1024x900xf32>
  }
}

// -----

// Must not fire: the indices are loaded, so that each element takes 32 bytes of memory.
// CHECK-LABEL: func.func @main(
// CHECK: call @frames
// CHECK-NOT: fuse.group
// CHECK: return
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<1024x900xf32>, %at: tensor<900xi64>) -> tensor<1024x900xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<1024x900xf32>
    %y = call @frames(%x, %at, %o) : (tensor<1024x900xf32>, tensor<900xi64>, tensor<1024x900xf32>) -> tensor<1024x900xf32>
    %p = "fuse.empty"() {syms = []} : () -> tensor<1024x900xf32>
    %z = call @sums(%y, %p) : (tensor<1024x900xf32>, tensor<1024x900xf32>) -> tensor<1024x900xf32>
    return %z : tensor<1024x900xf32>
  }
  func.func private @frames(%x: tensor<1024x900xf32>, %at: tensor<900xi64>, %o: tensor<1024x900xf32>) -> tensor<1024x900xf32> attributes {fuse.kernel, fuse.dims = {d0 = "1024", d1 = "900"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %none = arith.constant 0 : i64
    %many = arith.constant 900 : i64
    %j = "fuse.load"(%at, %true, %none) {at = ["d1"]} : (tensor<900xi64>, i1, i64) -> i64
    %in = arith.cmpi ult, %j, %many : i64
    %v = "fuse.load"(%x, %in, %zero, %j) {at = ["d0", "i0"]} : (tensor<1024x900xf32>, i1, f32, i64) -> f32
    %r = "fuse.store"(%o, %v, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<1024x900xf32>, f32, i1) -> tensor<1024x900xf32>
    return %r : tensor<1024x900xf32>
  }
  func.func private @sums(%x: tensor<1024x900xf32>, %o: tensor<1024x900xf32>) -> tensor<1024x900xf32> attributes {fuse.kernel, fuse.dims = {d0 = "1024", d1 = "900"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<1024x900xf32>, i1, f32) -> f32
    %s = "fuse.scan"(%v) {kind = "sum", over = "d1", reverse = false} : (f32) -> f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<1024x900xf32>, f32, i1) -> tensor<1024x900xf32>
    return %r : tensor<1024x900xf32>
  }
}
