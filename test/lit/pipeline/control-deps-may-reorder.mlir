// What nothing orders is as free as ever: @mm waits for @sin, but @exp waits for nobody, stands last, and is fused with @sin,
// which moves it before @mm.
// RUN: fuse-opt %s --default-pipeline=scheduled | FileCheck %s

// CHECK-LABEL: func.func @main
// CHECK: %[[F:.*]]:2 = call @fused
// CHECK: %[[T:.*]] = "fuse.after"(%[[F]]#
// CHECK: call @mm{{.*}}(%arg0, %[[T]])
// CHECK-NOT: call
// CHECK: return
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>, tensor<64xf32>) {
    %o = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %p = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %a = call @sin(%x, %o) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    %t = "fuse.after"(%a) : (tensor<64xf32>) -> !fuse.token
    %b = call @later(%x, %t) : (tensor<64xf32>, !fuse.token) -> tensor<64xf32>
    %c = call @exp(%x, %p) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    return %a, %b, %c : tensor<64xf32>, tensor<64xf32>, tensor<64xf32>
  }
  func.func private @later(%x: tensor<64xf32>, %t: !fuse.token) -> tensor<64xf32> attributes {fuse.control_deps} {
    %y = call @mm(%x) : (tensor<64xf32>) -> tensor<64xf32>
    return %y : tensor<64xf32>
  }
  func.func private @mm(tensor<64xf32>) -> tensor<64xf32> attributes {fuse.extern = "test.mm.default", fuse.args = [#fuse.arg<0 : i64>]}
  func.func private @sin(%x0: tensor<64xf32>, %o: tensor<64xf32>) -> tensor<64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v0 = "fuse.load"(%x0, %true, %zero) {at = ["d0"]} : (tensor<64xf32>, i1, f32) -> f32
    %r = math.sin %v0 : f32
    %out = "fuse.store"(%o, %r, %true) {at = ["d0"], mode = "set"} : (tensor<64xf32>, f32, i1) -> tensor<64xf32>
    return %out : tensor<64xf32>
  }
  func.func private @exp(%x0: tensor<64xf32>, %o: tensor<64xf32>) -> tensor<64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v0 = "fuse.load"(%x0, %true, %zero) {at = ["d0"]} : (tensor<64xf32>, i1, f32) -> f32
    %r = math.exp %v0 : f32
    %out = "fuse.store"(%o, %r, %true) {at = ["d0"], mode = "set"} : (tensor<64xf32>, f32, i1) -> tensor<64xf32>
    return %out : tensor<64xf32>
  }
}
