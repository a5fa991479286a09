// Adding at loaded indices: one atomic addition of floats (5) for each element, masked like the loads; 1 and 1 are relaxed and GPU-wide.
// RUN: fuse-opt %s --default-pipeline=planned | FileCheck %s

// CHECK-LABEL: "tt.func"
// CHECK: ^bb0(%{{.*}}: !tt.ptr<f32>, %{{.*}}: !tt.ptr<i64>, %[[O:.*]]: !tt.ptr<f32>):
// CHECK: %[[IN:.*]] = arith.cmpi slt, %
// CHECK: %[[I:.*]] = "tt.load"(%{{.*}}, %[[IN]], %{{.*}}) {{.*}} -> tensor<{{.*}}xi64>
// CHECK: %[[V:.*]] = "tt.load"(%{{.*}}, %[[IN]], %{{.*}})
// CHECK: %[[J:.*]] = arith.trunci %[[I]]
// CHECK: %[[B:.*]] = "tt.splat"(%[[O]])
// CHECK: %[[P:.*]] = "tt.addptr"(%[[B]], %[[J]])
// CHECK: "tt.atomic_rmw"(%[[P]], %[[V]], %[[IN]]) {atomic_rmw_op = 5 : i32, scope = 1 : i32, sem = 1 : i32}
// CHECK-NOT: "tt.store"
// CHECK: "tt.return"

module attributes {fuse.device = "cpu"} {
  func.func @main(%o: tensor<50xf32>, %x: tensor<1000xf32>, %i: tensor<1000xi64>) -> tensor<50xf32> {
    %y = call @k(%x, %i, %o) : (tensor<1000xf32>, tensor<1000xi64>, tensor<50xf32>) -> tensor<50xf32>
    return {fuse.mutates = {"0" = 0 : i64}} %y : tensor<50xf32>
  }
  func.func private @k(%x: tensor<1000xf32>, %i: tensor<1000xi64>, %o: tensor<50xf32>) -> tensor<50xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "1000"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %z = arith.constant 0 : i64
    %j = "fuse.load"(%i, %true, %z) {at = ["d0"]} : (tensor<1000xi64>, i1, i64) -> i64
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<1000xf32>, i1, f32) -> f32
    %r = "fuse.store"(%o, %v, %true, %j) {at = ["i0"], mode = "add"} : (tensor<50xf32>, f32, i1, i64) -> tensor<50xf32>
    return %r : tensor<50xf32>
  }
}
