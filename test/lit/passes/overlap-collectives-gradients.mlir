// A wait that gives back what a reduce-scatter reads stands where it is surely over, not at the end: there all
// gradients would be alive at once. Without memory above the peak, the last two stay in front of the products.
// RUN: fuse-opt %s --pass-pipeline="builtin.module(overlap-collectives{hardware=h200 memory=60})" | FileCheck %s
// RUN: fuse-opt %s --pass-pipeline="builtin.module(overlap-collectives{hardware=h200 memory=0})" | FileCheck %s --check-prefix=TIGHT
// CHECK-LABEL: func.func @main
// CHECK: call @scatter
// CHECK-NEXT: call @mm
// CHECK-NEXT: call @mm
// CHECK-NEXT: call @wait
// CHECK: call @scatter
// CHECK-NEXT: call @mm
// CHECK-NEXT: call @mm
// CHECK-NEXT: call @wait
// CHECK: call @scatter
// CHECK-NEXT: call @mm
// CHECK-NEXT: call @mm
// CHECK-NEXT: call @wait
// CHECK: call @scatter
// CHECK-NEXT: call @mm
// CHECK-NEXT: call @mm
// CHECK-NEXT: call @wait
// TIGHT-LABEL: func.func @main
// TIGHT: call @scatter
// TIGHT-NEXT: call @mm
// TIGHT-NEXT: call @mm
// TIGHT-NEXT: call @wait
// TIGHT: call @scatter
// TIGHT-NEXT: call @mm
// TIGHT-NEXT: call @mm
// TIGHT-NEXT: call @wait
// TIGHT: call @scatter
// TIGHT-NEXT: call @wait
// TIGHT-NEXT: call @mm
// TIGHT: call @scatter
// TIGHT-NEXT: call @wait
// TIGHT-NEXT: call @mm
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<4096x4096xf32>, %w: tensor<4096x4096xf32>) -> (tensor<2048x4096xf32>, tensor<2048x4096xf32>, tensor<2048x4096xf32>, tensor<2048x4096xf32>, tensor<4096x4096xf32>) {
    %g0 = call @mm(%x, %x) : (tensor<4096x4096xf32>, tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
    %s0 = call @scatter(%g0) : (tensor<4096x4096xf32>) -> tensor<2048x4096xf32>
    %r0 = call @wait(%s0, %g0) : (tensor<2048x4096xf32>, tensor<4096x4096xf32>) -> tensor<2048x4096xf32>
    %x1 = call @mm(%x, %w) : (tensor<4096x4096xf32>, tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
    %y1 = call @mm(%x1, %w) : (tensor<4096x4096xf32>, tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
    %g1 = call @mm(%y1, %y1) : (tensor<4096x4096xf32>, tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
    %s1 = call @scatter(%g1) : (tensor<4096x4096xf32>) -> tensor<2048x4096xf32>
    %r1 = call @wait(%s1, %g1) : (tensor<2048x4096xf32>, tensor<4096x4096xf32>) -> tensor<2048x4096xf32>
    %x2 = call @mm(%y1, %w) : (tensor<4096x4096xf32>, tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
    %y2 = call @mm(%x2, %w) : (tensor<4096x4096xf32>, tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
    %g2 = call @mm(%y2, %y2) : (tensor<4096x4096xf32>, tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
    %s2 = call @scatter(%g2) : (tensor<4096x4096xf32>) -> tensor<2048x4096xf32>
    %r2 = call @wait(%s2, %g2) : (tensor<2048x4096xf32>, tensor<4096x4096xf32>) -> tensor<2048x4096xf32>
    %x3 = call @mm(%y2, %w) : (tensor<4096x4096xf32>, tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
    %y3 = call @mm(%x3, %w) : (tensor<4096x4096xf32>, tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
    %g3 = call @mm(%y3, %y3) : (tensor<4096x4096xf32>, tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
    %s3 = call @scatter(%g3) : (tensor<4096x4096xf32>) -> tensor<2048x4096xf32>
    %r3 = call @wait(%s3, %g3) : (tensor<2048x4096xf32>, tensor<4096x4096xf32>) -> tensor<2048x4096xf32>
    %x4 = call @mm(%y3, %w) : (tensor<4096x4096xf32>, tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
    %y4 = call @mm(%x4, %w) : (tensor<4096x4096xf32>, tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
    return %r0, %r1, %r2, %r3, %y4 : tensor<2048x4096xf32>, tensor<2048x4096xf32>, tensor<2048x4096xf32>, tensor<2048x4096xf32>, tensor<4096x4096xf32>
  }
  func.func private @mm(tensor<4096x4096xf32>, tensor<4096x4096xf32>) -> tensor<4096x4096xf32> attributes {fuse.extern = "aten.mm.default",
      fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
  func.func private @scatter(tensor<4096x4096xf32>) -> tensor<2048x4096xf32> attributes {fuse.effect, fuse.ranks = 2 : i64,
      fuse.extern = "_c10d_functional.reduce_scatter_tensor.default", fuse.args = [#fuse.arg<0 : i64>, "sum", 2, "0"], fuse.kwargs = {}}
  func.func private @wait(tensor<2048x4096xf32>, tensor<4096x4096xf32>) -> tensor<2048x4096xf32> attributes {fuse.mutated = array<i64: 0>, fuse.aliases = {"0" = 0 : i64},
      fuse.extern = "_c10d_functional.wait_tensor.default", fuse.args = [#fuse.arg<0 : i64>], fuse.kwargs = {}, fuse.held = array<i64: 1>}
}
