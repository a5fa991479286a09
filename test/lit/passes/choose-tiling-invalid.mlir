// RUN: not fuse-opt %s --pass-pipeline="builtin.module(choose-tiling)" 2>&1 | FileCheck %s
// RUN: not fuse-opt %s --pass-pipeline="builtin.module(choose-tiling{hardware=abacus})" 2>&1 | FileCheck %s --check-prefix=NAME

// CHECK: choose-tiling: kernel @k: reductions over {{.*}} have no static bound, and only one axis can be looped over
// NAME: choose-tiling: unknown hardware 'abacus': expected one of a100,
module attributes {fuse.device = "cpu"} {
  func.func private @k(%x: tensor<?x?xf32, #fuse.layout<"s0,s1", "s1,1", "0", "">>, %o: tensor<?xf32, #fuse.layout<"s0", "1", "0", "">>,
                       %p: tensor<?xf32, #fuse.layout<"s1", "1", "0", "">>, %s0: index {fuse.sym = "s0"}, %s1: index {fuse.sym = "s1"})
      -> (tensor<?xf32, #fuse.layout<"s0", "1", "0", "">>, tensor<?xf32, #fuse.layout<"s1", "1", "0", "">>)
      attributes {fuse.kernel, fuse.dims = {d0 = "s0", d1 = "s1"}, fuse.ties = array<i64: 1, 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<?x?xf32, #fuse.layout<"s0,s1", "s1,1", "0", "">>, i1, f32) -> f32
    %r = "fuse.reduce"(%v) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %c = "fuse.reduce"(%v) {kind = "sum", over = ["d0"]} : (f32) -> f32
    %a = "fuse.store"(%o, %r, %true) {at = ["d0"], mode = "set"} : (tensor<?xf32, #fuse.layout<"s0", "1", "0", "">>, f32, i1) -> tensor<?xf32, #fuse.layout<"s0", "1", "0", "">>
    %b = "fuse.store"(%p, %c, %true) {at = ["d1"], mode = "set"} : (tensor<?xf32, #fuse.layout<"s1", "1", "0", "">>, f32, i1) -> tensor<?xf32, #fuse.layout<"s1", "1", "0", "">>
    return %a, %b : tensor<?xf32, #fuse.layout<"s0", "1", "0", "">>, tensor<?xf32, #fuse.layout<"s1", "1", "0", "">>
  }
}
