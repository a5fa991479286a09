// Pointwise code of 1000 elements in blocks: what lies past the end is neither loaded nor stored. A quotient is corrected, not approximate.
// RUN: fuse-opt %s --default-pipeline=planned | FileCheck %s

// CHECK-LABEL: "tt.func"
// CHECK: ^bb0(%[[X:.*]]: !tt.ptr<f32>, %[[Z:.*]]: !tt.ptr<f32>, %[[O:.*]]: !tt.ptr<f32>):
// CHECK: "tt.get_program_id"() {axis = 0 : i32}
// CHECK: %[[IN:.*]] = arith.cmpi slt, %
// CHECK: "tt.addptr"(%[[X]],
// CHECK: %[[V:.*]] = "tt.load"(%{{.*}}, %[[IN]], %{{.*}})
// CHECK: "tt.addptr"(%[[Z]],
// CHECK: %[[W:.*]] = "tt.load"(%{{.*}}, %[[IN]], %{{.*}})
// CHECK: %[[S:.*]] = math.sin %[[V]]
// CHECK: math.absf %[[W]]
// CHECK: %[[OVER:.*]] = arith.mulf %[[S]], %{{.*}}
// CHECK: %[[Q:.*]] = arith.select
// CHECK: "tt.addptr"(%[[O]],
// CHECK: "tt.store"(%{{.*}}, %[[Q]], %[[IN]])
// CHECK-NEXT: "tt.return"() : () -> ()
// CHECK: arg_attrs = [{tt.divisibility = 16 : i32}, {tt.divisibility = 16 : i32}, {tt.divisibility = 16 : i32}]
// CHECK-SAME: sym_name = "k_tt", sym_visibility = "public"
// CHECK: func.func private @k(
// CHECK-SAME: fuse.launch = @k_tt
// CHECK-SAME: num_warps = 4 : i64

module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<1000xf32>, %z: tensor<1000xf32>) -> tensor<1000xf32> {
    %y_o = "fuse.empty"() {syms = []} : () -> tensor<1000xf32>
    %y = call @k(%x, %z, %y_o) : (tensor<1000xf32>, tensor<1000xf32>, tensor<1000xf32>) -> tensor<1000xf32>
    return %y : tensor<1000xf32>
  }
  func.func private @k(%x: tensor<1000xf32>, %z: tensor<1000xf32>, %o: tensor<1000xf32>) -> tensor<1000xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "1000"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<1000xf32>, i1, f32) -> f32
    %w = "fuse.load"(%z, %true, %zero) {at = ["d0"]} : (tensor<1000xf32>, i1, f32) -> f32
    %s = math.sin %v : f32
    %q = arith.divf %s, %w : f32
    %r = "fuse.store"(%o, %q, %true) {at = ["d0"], mode = "set"} : (tensor<1000xf32>, f32, i1) -> tensor<1000xf32>
    return %r : tensor<1000xf32>
  }
}
