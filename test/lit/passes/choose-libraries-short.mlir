// RUN: fuse-opt %s --pass-pipeline="builtin.module(choose-libraries{hardware=h200})" --split-input-file --remarks=text 2>&1 >/dev/null | FileCheck %s --check-prefix=SAID
// RUN: fuse-opt %s --pass-pipeline="builtin.module(choose-libraries{hardware=h200},unroll-reductions)" --split-input-file | FileCheck %s
// RUN: fuse-opt %s --pass-pipeline="builtin.module(choose-libraries{hardware=h200 products=library})" --split-input-file | FileCheck %s --check-prefix=LIBRARY

// Points times a matrix, in float32: three multiplications and two additions for each element.
// SAID: passed: choose-libraries: short, summed=3: @turned becomes a kernel
// CHECK: call @turned_kernel(
// CHECK: func.func private @turned_kernel
// CHECK-SAME: fuse.dims = {d0 = "s0", d1 = "3"}
// CHECK-NOT: fuse.instead
// CHECK-COUNT-3: arith.mulf
// CHECK-NOT: fuse.dot
// LIBRARY: call @turned(
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<?x3xf32, #fuse.layout<"s0,3", "3,1", "0", "">>, %w: tensor<3x3xf32>, %s: index {fuse.sym = "s0"}) -> tensor<?x3xf32, #fuse.layout<"s0,3", "3,1", "0", "">> {
    %y = call @turned(%x, %w) : (tensor<?x3xf32, #fuse.layout<"s0,3", "3,1", "0", "">>, tensor<3x3xf32>) -> tensor<?x3xf32, #fuse.layout<"s0,3", "3,1", "0", "">>
    return %y : tensor<?x3xf32, #fuse.layout<"s0,3", "3,1", "0", "">>
  }
  func.func private @turned(tensor<?x3xf32, #fuse.layout<"s0,3", "3,1", "0", "">>, tensor<3x3xf32>) -> tensor<?x3xf32, #fuse.layout<"s0,3", "3,1", "0", "">> attributes {fuse.extern = "aten.mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
}

// -----

// Small matrices in half precision are added up in float32.
// SAID: passed: choose-libraries: short, summed=4: @small becomes a kernel
// CHECK: func.func private @small_kernel
// CHECK-COUNT-2: arith.extf %{{.*}} : f16 to f32
// CHECK-COUNT-3: arith.addf
// CHECK: arith.truncf
// LIBRARY: call @small(
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<1000x4x4xf16>, %w: tensor<1000x4x4xf16>) -> tensor<1000x4x4xf16> {
    %y = call @small(%x, %w) : (tensor<1000x4x4xf16>, tensor<1000x4x4xf16>) -> tensor<1000x4x4xf16>
    return %y : tensor<1000x4x4xf16>
  }
  func.func private @small(tensor<1000x4x4xf16>, tensor<1000x4x4xf16>) -> tensor<1000x4x4xf16> attributes {fuse.extern = "aten.bmm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
}

// -----

// Sums of nothing are no pointwise work.
// SAID: missed: choose-libraries: {{.*}}@nothing is the library's
// CHECK: call @nothing(
// LIBRARY: call @nothing(
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<1000x0xf32>, %w: tensor<0x3xf32>) -> tensor<1000x3xf32> {
    %y = call @nothing(%x, %w) : (tensor<1000x0xf32>, tensor<0x3xf32>) -> tensor<1000x3xf32>
    return %y : tensor<1000x3xf32>
  }
  func.func private @nothing(tensor<1000x0xf32>, tensor<0x3xf32>) -> tensor<1000x3xf32> attributes {fuse.extern = "aten.mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
}
