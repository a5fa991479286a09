// RUN: fuse-opt %s --pass-pipeline="builtin.module(reroll-loops{least-ops=1})" --verify-diagnostics

// Bad input: tile code that does not say how many warps a program has.
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<128xf32>) -> tensor<128xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<128xf32>
    %y = call @untiled(%x, %o) : (tensor<128xf32>, tensor<128xf32>) -> tensor<128xf32>
    return %y : tensor<128xf32>
  }
  // expected-error @below {{reroll-loops: kernel @untiled has no fuse.tile}}
  func.func private @untiled(%x: tensor<128xf32>, %o: tensor<128xf32>) -> tensor<128xf32> attributes {fuse.kernel, fuse.dims = {d0 = "128"}, fuse.grid = ["1"], fuse.ties = array<i64: 1>} {
    %from = "fuse.base"(%x) : (tensor<128xf32>) -> !tt.ptr<f32>
    %to = "fuse.base"(%o) : (tensor<128xf32>) -> !tt.ptr<f32>
    %v = "tt.load"(%from) {operandSegmentSizes = array<i32: 1, 0, 0>} : (!tt.ptr<f32>) -> f32
    "tt.store"(%to, %v) {operandSegmentSizes = array<i32: 1, 1, 0>} : (!tt.ptr<f32>, f32) -> ()
    return %o : tensor<128xf32>
  }
}
