// RUN: fuse-opt %s --pass-pipeline="builtin.module(write-in-place{min-bytes=0})" --split-input-file | FileCheck %s
// RUN: fuse-opt %s --pass-pipeline="builtin.module(write-in-place{min-bytes=0})" --split-input-file | FileCheck %s --check-prefix=OP
// RUN: not fuse-opt %s --pass-pipeline="builtin.module(write-in-place{min-bytes=few})" --split-input-file 2>&1 | FileCheck %s --check-prefix=BAD

// BAD: write-in-place

// What autograd saved and the graph may write over is taken over, and its last reader writes there.
// OP: func.func private @take_over(tensor<64xf32>) -> tensor<64xf32> attributes {fuse.args = [#fuse.arg<0 : i64>], fuse.extern = "fuse.take_over", fuse.kwargs = {}}
// CHECK-LABEL: func.func @main(
// CHECK-SAME: %[[X:[^:]*]]: tensor<64xf32> {fuse.donated}, %[[K:[^:]*]]:
// CHECK: %[[T:.*]] = call @take_over(%[[X]])
// CHECK: %[[A:.*]] = call @exp(%[[T]], %{{.*}})
// CHECK: %[[B:.*]] = call @exp_1(%[[T]])
// CHECK: return %[[A]], %[[B]]
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<64xf32> {fuse.donated}, %k: tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>) {
    %o = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %a = call @exp(%x, %o) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    %p = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %b = call @exp(%x, %p) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    return %a, %b : tensor<64xf32>, tensor<64xf32>
  }
  func.func private @exp(%x: tensor<64xf32>, %o: tensor<64xf32>) -> tensor<64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<64xf32>, i1, f32) -> f32
    %r = math.exp %v : f32
    %out = "fuse.store"(%o, %r, %true) {at = ["d0"], mode = "set"} : (tensor<64xf32>, f32, i1) -> tensor<64xf32>
    return %out : tensor<64xf32>
  }
}

// -----

// Must not fire: the caller gets it, and the other argument is the caller's.
// CHECK-LABEL: func.func @main(
// CHECK-NOT: take_over
// CHECK: call @exp(%arg1, %{{.*}})
// CHECK: return
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<64xf32> {fuse.donated}, %k: tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>, tensor<64xf32>) {
    %o = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %a = call @exp(%x, %o) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    %p = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %b = call @exp(%k, %p) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    return %a, %b, %x : tensor<64xf32>, tensor<64xf32>, tensor<64xf32>
  }
  func.func private @exp(%x: tensor<64xf32>, %o: tensor<64xf32>) -> tensor<64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<64xf32>, i1, f32) -> f32
    %r = math.exp %v : f32
    %out = "fuse.store"(%o, %r, %true) {at = ["d0"], mode = "set"} : (tensor<64xf32>, f32, i1) -> tensor<64xf32>
    return %out : tensor<64xf32>
  }
}

// -----

// Must not fire: nothing is read of what autograd saved, so that no element of it is at a known place.
// CHECK-LABEL: func.func @main(
// CHECK-NOT: take_over
// CHECK: call @unread(%arg0, %arg1, %{{.*}})
// CHECK: return
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<64xf32> {fuse.donated}, %k: tensor<64xf32>) -> tensor<64xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %a = call @unread(%x, %k, %o) : (tensor<64xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    return %a : tensor<64xf32>
  }
  func.func private @unread(%x: tensor<64xf32>, %k: tensor<64xf32>, %o: tensor<64xf32>) -> tensor<64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%k, %true, %zero) {at = ["d0"]} : (tensor<64xf32>, i1, f32) -> f32
    %r = math.exp %v : f32
    %out = "fuse.store"(%o, %r, %true) {at = ["d0"], mode = "set"} : (tensor<64xf32>, f32, i1) -> tensor<64xf32>
    return %out : tensor<64xf32>
  }
}
