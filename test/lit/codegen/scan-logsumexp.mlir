// A running log(sum(exp(x))) down columns of 2000: a scan of pairs (maximum, sum) in a loop that carries the pair of
// the blocks before.  A sum of the same column is scanned one number at a time, in the same loop.
// RUN: fuse-opt %s --default-pipeline=planned | FileCheck %s

// CHECK-LABEL: "tt.func"
// CHECK: %[[LOOP:.*]]:3 = scf.for
// CHECK: %[[V:.*]] = "tt.load"
// CHECK: "tt.scan"(%{{.*}})
// CHECK: "tt.scan_return"(%{{.*}}) : (f32) -> ()
// CHECK: arith.maximumf
// CHECK: arith.minimumf
// CHECK: %[[S:.*]]:2 = "tt.scan_2"(%{{.*}}, %{{.*}})
// CHECK: ^bb0(%[[A:.*]]: f32, %[[B:.*]]: f32, %[[C:.*]]: f32, %[[D:.*]]: f32)
// CHECK: %[[TOP:.*]] = arith.maximumf %[[A]], %[[C]]
// CHECK: arith.subf %[[A]], %[[TOP]]
// CHECK: arith.subf %[[C]], %[[TOP]]
// CHECK: "tt.scan_return_2"(%[[TOP]], %{{.*}})
// CHECK: "tt.reduce_2"
// CHECK: math.log
// CHECK: scf.yield
// CHECK: func.func private @k(
// CHECK-SAME: kind = "looped"

module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<4x2000x64xf32>) -> tensor<4x2000x64xf32> {
    %y_o = "fuse.empty"() {syms = []} : () -> tensor<4x2000x64xf32>
    %y = call @k(%x, %y_o) : (tensor<4x2000x64xf32>, tensor<4x2000x64xf32>) -> tensor<4x2000x64xf32>
    return %y : tensor<4x2000x64xf32>
  }
  func.func private @k(%x: tensor<4x2000x64xf32>, %o: tensor<4x2000x64xf32>) -> tensor<4x2000x64xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "4", d1 = "2000", d2 = "64"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1", "d2"]} : (tensor<4x2000x64xf32>, i1, f32) -> f32
    %sum = "fuse.scan"(%v) {kind = "sum", over = "d1", reverse = false} : (f32) -> f32
    %w = arith.subf %v, %sum : f32
    %l = "fuse.scan"(%w) {kind = "logsumexp", over = "d1", reverse = false} : (f32) -> f32
    %r = "fuse.store"(%o, %l, %true) {at = ["d0", "d1", "d2"], mode = "set"} : (tensor<4x2000x64xf32>, f32, i1) -> tensor<4x2000x64xf32>
    return %r : tensor<4x2000x64xf32>
  }
}
