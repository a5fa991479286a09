// A collective takes the time of its link; a wait takes none; what is exposed follows from the order.
// RUN: fuse-opt %s --fuse-print-estimates --hardware=h200 -o %t 2>&1 | FileCheck %s
// RUN: fuse-opt %s --sink-waits --fuse-print-estimates --hardware=h200 -o %t 2>&1 | FileCheck %s --check-prefix=SUNK
// 4194304 bytes * 7/8 at 128 GB/s, half of the link's, with a start and 7 steps of NCCL's protocol LL.
// CHECK: 0: @gather: reads 524288, writes 4194304 bytes, 0 slots, 0 flops, all-gather sends 3670016 bytes among 8 ranks, 39.472 us
// CHECK-NEXT: 1: @wait: reads 0, writes 0 bytes, 0 slots, 0 flops, 0.000 us
// CHECK-NEXT: 2: @mm: {{.*}} 4.338 us
// CHECK-NEXT: 3: @reduce: {{.*}} all-reduce sends 7340032 bytes among 8 ranks,
// CHECK-NEXT: 4: @wait_in_place: reads 0, writes 0 bytes
// CHECK-NEXT: 5 calls:
// CHECK-NEXT: with collectives beside the calls: [[ALL:.*]] us, of them {{.*}} us exposed
// SUNK: with collectives beside the calls: {{.*}} us, of them {{.*}} us exposed
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<1024x1024xf32>, %w: tensor<128x1024xf32>) -> (tensor<1024x1024xf32>, tensor<1024x1024xf32>) {
    %y = call @gather(%w) : (tensor<128x1024xf32>) -> tensor<1024x1024xf32>
    %z = call @wait(%y, %w) : (tensor<1024x1024xf32>, tensor<128x1024xf32>) -> tensor<1024x1024xf32>
    %h = call @mm(%x, %x) : (tensor<1024x1024xf32>, tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
    %r = call @reduce(%h) : (tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
    %s = call @wait_in_place(%r) : (tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
    return %z, %s : tensor<1024x1024xf32>, tensor<1024x1024xf32>
  }
  func.func private @mm(tensor<1024x1024xf32>, tensor<1024x1024xf32>) -> tensor<1024x1024xf32> attributes {fuse.extern = "aten.mm.default",
      fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
  func.func private @gather(tensor<128x1024xf32>) -> tensor<1024x1024xf32> attributes {fuse.effect, fuse.ranks = 8 : i64,
      fuse.extern = "_c10d_functional.all_gather_into_tensor.default", fuse.args = [#fuse.arg<0 : i64>, 8, "0"], fuse.kwargs = {}}
  func.func private @wait(tensor<1024x1024xf32>, tensor<128x1024xf32>) -> tensor<1024x1024xf32> attributes {fuse.mutated = array<i64: 0>, fuse.aliases = {"0" = 0 : i64},
      fuse.extern = "_c10d_functional.wait_tensor.default", fuse.args = [#fuse.arg<0 : i64>], fuse.kwargs = {}, fuse.held = array<i64: 1>}
  func.func private @reduce(tensor<1024x1024xf32>) -> tensor<1024x1024xf32> attributes {fuse.effect, fuse.mutated = array<i64: 0>, fuse.aliases = {"0" = 0 : i64},
      fuse.extern = "_c10d_functional.all_reduce_.default", fuse.args = [#fuse.arg<0 : i64>, "sum", "0"], fuse.kwargs = {}}
  func.func private @wait_in_place(tensor<1024x1024xf32>) -> tensor<1024x1024xf32> attributes {fuse.mutated = array<i64: 0>, fuse.aliases = {"0" = 0 : i64},
      fuse.extern = "_c10d_functional.wait_tensor.default", fuse.args = [#fuse.arg<0 : i64>], fuse.kwargs = {}}
}
