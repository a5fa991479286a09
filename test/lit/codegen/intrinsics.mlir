// Functions that are one instruction of the GPU are calls of LLVM's intrinsics, which each version of Triton must know.
// RUN: fuse-opt %s --default-pipeline=planned | FileCheck %s

// CHECK-LABEL: "tt.func"
// CHECK: "tt.extern_elementwise"(%{{.*}}) {{.*}}symbol = "llvm.nvvm.rsqrt.approx.ftz.f"
// CHECK: "tt.extern_elementwise"(%{{.*}}) {{.*}}symbol = "llvm.nvvm.ex2.approx.ftz.f32"
// CHECK: "tt.extern_elementwise"(%{{.*}}) {{.*}}symbol = "llvm.nvvm.rcp.approx.ftz.f"
// CHECK: "tt.extern_elementwise"(%{{.*}}, %{{.*}}) {{.*}}symbol = "llvm.copysign.f32"
// CHECK: "tt.extern_elementwise"(%{{.*}}) {{.*}}symbol = "llvm.floor.f32"
// CHECK: "tt.extern_elementwise"(%{{.*}}) {{.*}}symbol = "llvm.ceil.f32"
// CHECK: "tt.return"

module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<1000xf32>) -> tensor<1000xf32> {
    %y_o = "fuse.empty"() {syms = []} : () -> tensor<1000xf32>
    %y = call @k(%x, %y_o) : (tensor<1000xf32>, tensor<1000xf32>) -> tensor<1000xf32>
    return %y : tensor<1000xf32>
  }
  func.func private @k(%x: tensor<1000xf32>, %o: tensor<1000xf32>) -> tensor<1000xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "1000"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %one = arith.constant 1.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<1000xf32>, i1, f32) -> f32
    %root = math.rsqrt %v : f32
    %e = math.exp %root : f32
    %d = arith.addf %e, %one : f32
    %sigmoid = arith.divf %one, %d : f32
    %signed = math.copysign %sigmoid, %v : f32
    %low = math.floor %signed : f32
    %high = math.ceil %low : f32
    %r = "fuse.store"(%o, %high, %true) {at = ["d0"], mode = "set"} : (tensor<1000xf32>, f32, i1) -> tensor<1000xf32>
    return %r : tensor<1000xf32>
  }
}
