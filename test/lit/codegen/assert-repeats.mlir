// RUN: fuse-opt %s --pass-pipeline="builtin.module(apply-tiling)" | FileCheck %s

// An assert of rows, where rows and columns share an axis: it holds again at each column, so that no lane is left out.
// The store of a row's number does leave out all columns but the first.
// CHECK-LABEL: func.func private @k
// CHECK: %[[C:.*]] = arith.cmpi slt, %{{.*}}, %{{.*}} : tensor<32xi64>
// CHECK-NEXT: "tt.assert"(%[[C]])
// CHECK: %[[FIRST:.*]] = arith.cmpi eq, %{{.*}}, %{{.*}} : tensor<32xi32>
// CHECK: "tt.store"(%{{.*}}, %{{.*}}, %[[FIRST]])
module attributes {fuse.device = "cpu"} {
  func.func @main(%n: tensor<8xi64>, %o: tensor<8x4xi64>, %p: tensor<8xi64>) -> (tensor<8x4xi64>, tensor<8xi64>) {
    %y:2 = call @k(%n, %o, %p) : (tensor<8xi64>, tensor<8x4xi64>, tensor<8xi64>) -> (tensor<8x4xi64>, tensor<8xi64>)
    return %y#0, %y#1 : tensor<8x4xi64>, tensor<8xi64>
  }
  func.func private @k(%n: tensor<8xi64>, %o: tensor<8x4xi64>, %p: tensor<8xi64>) -> (tensor<8x4xi64>, tensor<8xi64>)
      attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "4"}, fuse.ties = array<i64: 1, 2>,
                  fuse.tile = {axes = [{kind = "grid", dims = ["d0", "d1"], block = 32 : i64}], num_warps = 1 : i64, num_stages = 1 : i64}} {
    %true = arith.constant true
    %c0 = arith.constant 0 : i64
    %c9 = arith.constant 9 : i64
    %v = "fuse.load"(%n, %true, %c0) {at = ["d0"]} : (tensor<8xi64>, i1, i64) -> i64
    %ok = arith.cmpi slt, %v, %c9 : i64
    cf.assert %ok, "too large"
    %i = "fuse.index"() {expr = "d1"} : () -> i64
    %s = arith.addi %v, %i : i64
    %r = "fuse.store"(%o, %s, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<8x4xi64>, i64, i1) -> tensor<8x4xi64>
    %q = "fuse.store"(%p, %v, %true) {at = ["d0"], mode = "set"} : (tensor<8xi64>, i64, i1) -> tensor<8xi64>
    return %r, %q : tensor<8x4xi64>, tensor<8xi64>
  }
}
