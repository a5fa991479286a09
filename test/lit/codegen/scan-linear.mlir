// A linear recurrence h[t] = a[t] * h[t - 1] + x[t] down columns of 2000: a scan of pairs (h, product of gates) in a
// loop, which carries h and whether there was a block before.
// RUN: fuse-opt %s --default-pipeline=planned | FileCheck %s

// CHECK-LABEL: "tt.func"
// CHECK: %[[LOOP:.*]]:2 = scf.for {{.*}} iter_args(%[[H:.*]] = {{.*}}, %[[ANY:.*]] = {{.*}})
// CHECK: "tt.load"
// CHECK: "tt.load"
// CHECK: %[[S:.*]]:2 = "tt.scan_2"(%{{.*}}, %{{.*}})
// CHECK: ^bb0(%[[A:.*]]: f32, %[[B:.*]]: f32, %[[C:.*]]: f32, %[[D:.*]]: f32)
// CHECK-DAG: %[[OLD:.*]] = arith.mulf %[[A]], %[[D]] : f32
// CHECK-DAG: %[[GATES:.*]] = arith.mulf %[[B]], %[[D]] : f32
// CHECK: %[[NEW:.*]] = arith.addf %[[OLD]], %[[C]] : f32
// CHECK: "tt.scan_return_2"(%[[NEW]], %[[GATES]]) : (f32, f32) -> ()
// CHECK: arith.select
// CHECK: "tt.make_range"
// CHECK: "tt.reduce"
// CHECK: scf.yield
// CHECK: func.func private @k(
// CHECK-SAME: kind = "looped"

module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<4x2000x64xf32>, %a: tensor<4x2000x64xf32>) -> tensor<4x2000x64xf32> {
    %y_o = "fuse.empty"() {syms = []} : () -> tensor<4x2000x64xf32>
    %y = call @k(%x, %a, %y_o) : (tensor<4x2000x64xf32>, tensor<4x2000x64xf32>, tensor<4x2000x64xf32>) -> tensor<4x2000x64xf32>
    return %y : tensor<4x2000x64xf32>
  }
  func.func private @k(%x: tensor<4x2000x64xf32>, %a: tensor<4x2000x64xf32>, %o: tensor<4x2000x64xf32>) -> tensor<4x2000x64xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "4", d1 = "2000", d2 = "64"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1", "d2"]} : (tensor<4x2000x64xf32>, i1, f32) -> f32
    %g = "fuse.load"(%a, %true, %zero) {at = ["d0", "d1", "d2"]} : (tensor<4x2000x64xf32>, i1, f32) -> f32
    %h = "fuse.scan"(%v, %g) {kind = "linear", over = "d1", reverse = false} : (f32, f32) -> f32
    %r = "fuse.store"(%o, %h, %true) {at = ["d0", "d1", "d2"], mode = "set"} : (tensor<4x2000x64xf32>, f32, i1) -> tensor<4x2000x64xf32>
    return %r : tensor<4x2000x64xf32>
  }
}
