// RUN: fuse-opt %s --pass-pipeline="builtin.module(bucket-collectives{hardware=h200 memory=0})" | FileCheck %s
// RUN: fuse-opt %s --pass-pipeline="builtin.module(bucket-collectives{hardware=h200 memory=50})" | FileCheck %s --check-prefix=ROOM

// Must not fire: both results of the bucket would be alive at once, which raises the peak.
// CHECK-LABEL: func.func @main
// CHECK: call @gather(
// CHECK: call @gather(
// ROOM-LABEL: func.func @main
// ROOM: call @all_gather_into_tensor_bucket(
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<8x8xf32>, %w: tensor<1x8xf32>, %v: tensor<1x8xf32>) -> tensor<8x8xf32> {
    %a = call @gather(%w) : (tensor<1x8xf32>) -> tensor<8x8xf32>
    %b = call @wait(%a, %w) : (tensor<8x8xf32>, tensor<1x8xf32>) -> tensor<8x8xf32>
    %c = call @mm(%x, %b) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    %o = "fuse.empty"() {syms = []} : () -> tensor<1x8xf32>
    %t = call @twice(%v, %o) : (tensor<1x8xf32>, tensor<1x8xf32>) -> tensor<1x8xf32>
    %d = call @gather(%t) : (tensor<1x8xf32>) -> tensor<8x8xf32>
    %e = call @wait(%d, %t) : (tensor<8x8xf32>, tensor<1x8xf32>) -> tensor<8x8xf32>
    %f = call @mm(%c, %e) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    return %f : tensor<8x8xf32>
  }
  func.func private @mm(tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32> attributes {fuse.extern = "aten.mm.default",
      fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
  func.func private @twice(%x: tensor<1x8xf32>, %o: tensor<1x8xf32>) -> tensor<1x8xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "8"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %z = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %z) {at = ["0", "d0"]} : (tensor<1x8xf32>, i1, f32) -> f32
    %w = arith.addf %v, %v : f32
    %s = "fuse.store"(%o, %w, %true) {at = ["0", "d0"], mode = "set"} : (tensor<1x8xf32>, f32, i1) -> tensor<1x8xf32>
    return %s : tensor<1x8xf32>
  }
  func.func private @gather(tensor<1x8xf32>) -> tensor<8x8xf32> attributes {fuse.effect, fuse.ranks = 8 : i64,
      fuse.extern = "_c10d_functional.all_gather_into_tensor.default", fuse.args = [#fuse.arg<0 : i64>, 8, "0"], fuse.kwargs = {}}
  func.func private @wait(tensor<8x8xf32>, tensor<1x8xf32>) -> tensor<8x8xf32> attributes {fuse.mutated = array<i64: 0>, fuse.aliases = {"0" = 0 : i64},
      fuse.extern = "_c10d_functional.wait_tensor.default", fuse.args = [#fuse.arg<0 : i64>], fuse.kwargs = {}, fuse.held = array<i64: 1>}
}
