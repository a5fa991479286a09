// As many all-gathers run ahead as the memory above the program's peak has room for.
// RUN: fuse-opt %s --pass-pipeline="builtin.module(overlap-collectives{hardware=h200 memory=100})" | FileCheck %s --check-prefix=ROOM
// RUN: fuse-opt %s --pass-pipeline="builtin.module(overlap-collectives{hardware=h200 memory=30})" | FileCheck %s --check-prefix=TIGHT
// RUN: fuse-opt %s --pass-pipeline="builtin.module(overlap-collectives{hardware=h200 memory=100})" --remarks=text -o %t 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: fuse-opt %s --pass-pipeline="builtin.module(overlap-collectives{hardware=h200 least=90})" | FileCheck %s --check-prefix=LEAST
// RUN: not fuse-opt %s --pass-pipeline="builtin.module(overlap-collectives{hardware=abacus})" 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// ROOM-LABEL: func.func @main
// ROOM-NEXT: call @gather(%arg1)
// ROOM-NEXT: call @gather(%arg2)
// ROOM-NEXT: call @gather(%arg3)
// ROOM-NEXT: call @gather(%arg4)
// ROOM-NEXT: call @wait
// ROOM-NEXT: call @mm
// TIGHT-LABEL: func.func @main
// TIGHT-NEXT: call @gather(%arg1)
// TIGHT-NEXT: call @gather(%arg2)
// TIGHT-NEXT: call @wait
// TIGHT-NEXT: call @mm
// TIGHT-NEXT: call @wait
// TIGHT-NEXT: call @mm
// TIGHT-NEXT: call @gather(%arg3)
// REMARK: passed: overlap-collectives: overlapped, collectives=4,
// LEAST-LABEL: func.func @main
// LEAST-NEXT: call @gather(%arg1)
// LEAST-NEXT: call @wait
// UNKNOWN: overlap-collectives: unknown hardware 'abacus'
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<1024x1024xf32>, %w0: tensor<128x1024xf32>, %w1: tensor<128x1024xf32>, %w2: tensor<128x1024xf32>, %w3: tensor<128x1024xf32>) -> tensor<1024x1024xf32> {
    %y0 = call @gather(%w0) : (tensor<128x1024xf32>) -> tensor<1024x1024xf32>
    %z0 = call @wait(%y0, %w0) : (tensor<1024x1024xf32>, tensor<128x1024xf32>) -> tensor<1024x1024xf32>
    %h0 = call @mm(%x, %z0) : (tensor<1024x1024xf32>, tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
    %y1 = call @gather(%w1) : (tensor<128x1024xf32>) -> tensor<1024x1024xf32>
    %z1 = call @wait(%y1, %w1) : (tensor<1024x1024xf32>, tensor<128x1024xf32>) -> tensor<1024x1024xf32>
    %h1 = call @mm(%h0, %z1) : (tensor<1024x1024xf32>, tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
    %y2 = call @gather(%w2) : (tensor<128x1024xf32>) -> tensor<1024x1024xf32>
    %z2 = call @wait(%y2, %w2) : (tensor<1024x1024xf32>, tensor<128x1024xf32>) -> tensor<1024x1024xf32>
    %h2 = call @mm(%h1, %z2) : (tensor<1024x1024xf32>, tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
    %y3 = call @gather(%w3) : (tensor<128x1024xf32>) -> tensor<1024x1024xf32>
    %z3 = call @wait(%y3, %w3) : (tensor<1024x1024xf32>, tensor<128x1024xf32>) -> tensor<1024x1024xf32>
    %h3 = call @mm(%h2, %z3) : (tensor<1024x1024xf32>, tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
    return %h3 : tensor<1024x1024xf32>
  }
  func.func private @mm(tensor<1024x1024xf32>, tensor<1024x1024xf32>) -> tensor<1024x1024xf32> attributes {fuse.extern = "aten.mm.default",
      fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
  func.func private @gather(tensor<128x1024xf32>) -> tensor<1024x1024xf32> attributes {fuse.effect, fuse.ranks = 8 : i64,
      fuse.extern = "_c10d_functional.all_gather_into_tensor.default", fuse.args = [#fuse.arg<0 : i64>, 8, "0"], fuse.kwargs = {}}
  func.func private @wait(tensor<1024x1024xf32>, tensor<128x1024xf32>) -> tensor<1024x1024xf32> attributes {fuse.mutated = array<i64: 0>, fuse.aliases = {"0" = 0 : i64},
      fuse.extern = "_c10d_functional.wait_tensor.default", fuse.args = [#fuse.arg<0 : i64>], fuse.kwargs = {}, fuse.held = array<i64: 1>}
}
