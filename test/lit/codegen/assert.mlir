// A gather whose indices are asserted before they are used: the message says where the user's program is, and the lanes past
// the end, which hold no index, always pass.
// RUN: fuse-opt %s --default-pipeline=planned | FileCheck %s

// CHECK-LABEL: "tt.func"
// CHECK: %[[IN:.*]] = arith.cmpi slt, %{{.*}} : tensor<[[B:[0-9]+]]xi32>
// CHECK: %[[I:.*]] = "tt.load"(%{{.*}}, %[[IN]], %{{.*}}) {{.*}} -> tensor<[[B]]xi64>
// CHECK: arith.cmpi sge, %[[I]], %
// CHECK: arith.cmpi slt, %[[I]], %
// CHECK: %[[OK:.*]] = arith.andi
// CHECK: %[[OUT:.*]] = arith.xori %[[IN]], %
// CHECK: %[[C:.*]] = arith.ori %[[OK]], %[[OUT]]
// CHECK-NEXT: "tt.assert"(%[[C]]) {message = "index out of bounds (at model.py:12)"}
// CHECK: %[[J:.*]] = arith.trunci %[[I]]
// CHECK: "tt.addptr"(%{{.*}}, %[[J]])
// CHECK: "tt.load"(%{{.*}}, %[[IN]], %{{.*}})
// CHECK: "tt.store"(%{{.*}}, %{{.*}}, %[[IN]])
// CHECK: "tt.return"

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
    %j = "fuse.load"(%i, %true, %z) {at = ["d0"]} : (tensor<1000xi64>, i1, i64) -> i64
    %low = arith.cmpi sge, %j, %z : i64
    %high = arith.cmpi slt, %j, %n : i64
    %in = arith.andi %low, %high : i1
    "fuse.device_assert"(%in, %true) {message = "index out of bounds"} : (i1, i1) -> () loc("gather"("model.py":12:0))
    %v = "fuse.load"(%x, %true, %zero, %j) {at = ["i0"]} : (tensor<50xf32>, i1, f32, i64) -> f32
    %r = "fuse.store"(%o, %v, %true) {at = ["d0"], mode = "set"} : (tensor<1000xf32>, f32, i1) -> tensor<1000xf32>
    return %r : tensor<1000xf32>
  }
}
