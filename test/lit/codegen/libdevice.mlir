// What tiles have no op for is a call of NVIDIA's libdevice, by the name of the function for the element type.
// RUN: fuse-opt %s --default-pipeline=planned | FileCheck %s

// CHECK-LABEL: "tt.func"
// CHECK: %[[S:.*]] = "tt.extern_elementwise"(
// CHECK-SAME: symbol = "__nv_atan2f"
// CHECK: %[[P:.*]] = "tt.extern_elementwise"(%[[S]], %
// CHECK-SAME: symbol = "__nv_powf"
// CHECK: %[[Q:.*]] = "tt.extern_elementwise"(%[[P]])
// CHECK-SAME: symbol = "__nv_lgammaf"
// CHECK: "tt.store"(%{{.*}}, %[[Q]], %
// CHECK: "tt.return"

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
    %s = math.atan2 %v, %w : f32
    %p = math.powf %s, %w : f32
    %q = "fuse.libm"(%p) {fn = "lgamma"} : (f32) -> f32
    %r = "fuse.store"(%o, %q, %true) {at = ["d0"], mode = "set"} : (tensor<1000xf32>, f32, i1) -> tensor<1000xf32>
    return %r : tensor<1000xf32>
  }
}
