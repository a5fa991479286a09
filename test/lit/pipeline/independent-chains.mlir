// Three chains that have nothing in common become one launch: two of one kernel and one of another. What nobody
// reads is gone at the first level.
// RUN: fuse-opt %s --default-pipeline=scheduled | FileCheck %s --check-prefix=SCHEDULED
// RUN: fuse-opt %s --default-pipeline=planned | FileCheck %s --check-prefix=PLANNED

// SCHEDULED-LABEL: func.func @main
// SCHEDULED: call @scale(
// SCHEDULED: call @scale(
// SCHEDULED: call @shift(
// SCHEDULED-NOT: call @
// SCHEDULED: return
// SCHEDULED-NOT: fuse.grid

// PLANNED-LABEL: func.func @main
// PLANNED: call @combined_scale(
// PLANNED-NOT: call @
// PLANNED: return
// PLANNED: "tt.func"
// PLANNED: ld.param.b64 $0
// PLANNED: fuse.grid = ["19"]
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<1000xf32>, %a: tensor<1000xf32>, %c: tensor<300xf32>) -> (tensor<1000xf32>, tensor<1000xf32>, tensor<300xf32>) {
    %o = "fuse.empty"() {syms = []} : () -> tensor<1000xf32>
    %y = call @scale(%x, %o) : (tensor<1000xf32>, tensor<1000xf32>) -> tensor<1000xf32>
    %p = "fuse.empty"() {syms = []} : () -> tensor<1000xf32>
    %b = call @scale(%a, %p) : (tensor<1000xf32>, tensor<1000xf32>) -> tensor<1000xf32>
    %q = "fuse.empty"() {syms = []} : () -> tensor<300xf32>
    %d = call @shift(%c, %q) : (tensor<300xf32>, tensor<300xf32>) -> tensor<300xf32>
    %r = "fuse.empty"() {syms = []} : () -> tensor<300xf32>
    %e = call @shift(%d, %r) : (tensor<300xf32>, tensor<300xf32>) -> tensor<300xf32>
    return %y, %b, %d : tensor<1000xf32>, tensor<1000xf32>, tensor<300xf32>
  }
  func.func private @scale(%x: tensor<1000xf32>, %o: tensor<1000xf32>) -> tensor<1000xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "1000"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<1000xf32>, i1, f32) -> f32
    %w = arith.mulf %v, %v : f32
    %r = "fuse.store"(%o, %w, %true) {at = ["d0"], mode = "set"} : (tensor<1000xf32>, f32, i1) -> tensor<1000xf32>
    return %r : tensor<1000xf32>
  }
  func.func private @shift(%x: tensor<300xf32>, %o: tensor<300xf32>) -> tensor<300xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "300"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<300xf32>, i1, f32) -> f32
    %w = arith.addf %v, %v : f32
    %r = "fuse.store"(%o, %w, %true) {at = ["d0"], mode = "set"} : (tensor<300xf32>, f32, i1) -> tensor<300xf32>
    return %r : tensor<300xf32>
  }
}
