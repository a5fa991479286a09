// Where the maximum of each row is: the maximum, then the smallest index that has it. The padding's index is the largest; the first
// of equal elements wins, a NaN wins over all numbers. Indices are 32 bits wide until they are stored.
// RUN: fuse-opt %s --default-pipeline=planned | FileCheck %s

// CHECK-LABEL: "tt.func"
// CHECK: %[[IN:.*]] = "tt.broadcast"(%{{.*}}) : (tensor<1x64xi1>)
// CHECK: %[[V:.*]] = arith.select %[[IN]], %
// CHECK: arith.constant dense<2147483647>
// CHECK: %[[I:.*]] = arith.select %[[IN]], %
// CHECK: %[[M:.*]] = "tt.reduce"(%[[V]])
// CHECK: arith.maximumf
// CHECK: %[[SAME:.*]] = arith.cmpf oeq, %[[V]], %
// CHECK: %[[NAN:.*]] = arith.cmpf uno, %[[V]], %[[V]]
// CHECK: %[[HAS:.*]] = arith.ori %[[SAME]], %[[NAN]]
// CHECK: %[[C:.*]] = arith.select %[[HAS]], %[[I]], %
// CHECK: %[[R:.*]] = "tt.reduce"(%[[C]])
// CHECK: arith.minsi
// CHECK: %[[W:.*]] = "tt.expand_dims"(%[[R]])
// CHECK: arith.extsi %[[W]] : {{.*}} to tensor<{{.*}}xi64>
// CHECK: "tt.store"
// CHECK: "tt.return"

module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<1000x60xf32>) -> tensor<1000xi64> {
    %y_o = "fuse.empty"() {syms = []} : () -> tensor<1000xi64>
    %y = call @k(%x, %y_o) : (tensor<1000x60xf32>, tensor<1000xi64>) -> tensor<1000xi64>
    return %y : tensor<1000xi64>
  }
  func.func private @k(%x: tensor<1000x60xf32>, %o: tensor<1000xi64>) -> tensor<1000xi64>
      attributes {fuse.kernel, fuse.dims = {d0 = "1000", d1 = "60"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<1000x60xf32>, i1, f32) -> f32
    %i = "fuse.index"() {expr = "d1"} : () -> i64
    %b, %w = "fuse.argreduce"(%v, %i) {kind = "argmax", over = ["d1"]} : (f32, i64) -> (f32, i64)
    %r = "fuse.store"(%o, %w, %true) {at = ["d0"], mode = "set"} : (tensor<1000xi64>, i64, i1) -> tensor<1000xi64>
    return %r : tensor<1000xi64>
  }
}
