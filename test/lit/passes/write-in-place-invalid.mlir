// RUN: fuse-opt %s --pass-pipeline="builtin.module(write-in-place)" --verify-diagnostics

// Tile code says no more which point reads what.
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<64xf32>) -> tensor<64xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %a = call @tiled(%x, %o) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    return %a : tensor<64xf32>
  }
  // expected-error @+1 {{@tiled is tile code: schedule before tiling}}
  func.func private @tiled(%x: tensor<64xf32>, %o: tensor<64xf32>) -> tensor<64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64"}, fuse.grid = ["1"], fuse.ties = array<i64: 1>} {
    %p = "fuse.base"(%x) : (tensor<64xf32>) -> !tt.ptr<f32>
    return %o : tensor<64xf32>
  }
}
