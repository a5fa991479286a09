// Rows of 60 in a block of 64: the maximum is taken over axis 1 in registers, in which the padding is -inf, whatever the load's
// own padding is. The rows divide into blocks, so that only the columns are masked and the result is stored without a mask.
// RUN: fuse-opt %s --default-pipeline=planned | FileCheck %s

// CHECK-LABEL: "tt.func"
// CHECK-NOT: scf.for
// CHECK: %[[C:.*]] = "tt.expand_dims"(%{{.*}}) {axis = 0 : i32} : (tensor<64xi32>) -> tensor<1x64xi32>
// CHECK: arith.cmpi slt, %[[C]], %
// CHECK: %[[IN:.*]] = "tt.broadcast"(%{{.*}}) : (tensor<1x64xi1>) -> tensor<[[R:[0-9]+]]x64xi1>
// CHECK: %[[V:.*]] = "tt.load"(%{{.*}}, %[[IN]], %{{.*}})
// CHECK: %[[LOW:.*]] = arith.constant dense<0xFF800000> : tensor<[[R]]x64xf32>
// CHECK: %[[S:.*]] = arith.select %[[IN]], %[[V]], %[[LOW]]
// CHECK: "tt.reduce"(%[[S]])
// CHECK: arith.maximumf
// CHECK: "tt.reduce_return"
// CHECK: {axis = 1 : i32} : (tensor<[[R]]x64xf32>) -> tensor<[[R]]xf32>
// CHECK: "tt.store"(%{{[0-9]+}}, %{{[0-9]+}}) :
// CHECK: "tt.return"
// CHECK: kind = "resident"

module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<1000x60xf32>) -> tensor<1000xf32> {
    %y_o = "fuse.empty"() {syms = []} : () -> tensor<1000xf32>
    %y = call @k(%x, %y_o) : (tensor<1000x60xf32>, tensor<1000xf32>) -> tensor<1000xf32>
    return %y : tensor<1000xf32>
  }
  func.func private @k(%x: tensor<1000x60xf32>, %o: tensor<1000xf32>) -> tensor<1000xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "1000", d1 = "60"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<1000x60xf32>, i1, f32) -> f32
    %s = "fuse.reduce"(%v) {kind = "max", over = ["d1"]} : (f32) -> f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d0"], mode = "set"} : (tensor<1000xf32>, f32, i1) -> tensor<1000xf32>
    return %r : tensor<1000xf32>
  }
}
