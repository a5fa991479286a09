// An op whose location names no file is found by its place in the text, also where the verifier refuses it.
// RUN: not fuse-opt %s 2>&1 | FileCheck %s

// CHECK: :14:3: error: 'func.func' op a dynamic size needs a #fuse.layout encoding: tensor<?xf32>
// CHECK: :11:10: error: 'func.call' op a dynamic size needs a #fuse.layout encoding: tensor<?xf32>
// CHECK: :9:3: error: 'func.func' op a dynamic size needs a #fuse.layout encoding: tensor<?xf32>
// CHECK-NOT: error:
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<?xf32>) -> tensor<f32> {
    %p = "fuse.empty"() {syms = []} : () -> tensor<f32>
    %y = call @f(%x, %p) : (tensor<?xf32>, tensor<f32>) -> tensor<f32> loc(fused["mul", "sum_1"])
    return %y : tensor<f32>
  }
  func.func private @f(%x: tensor<?xf32>, %p: tensor<f32>) -> tensor<f32>
      attributes {fuse.kernel, fuse.dims = {d0 = "64"}, fuse.ties = array<i64: 1>} {
    return %p : tensor<f32>
  } loc(fused["mul", "sum_1"])
}
