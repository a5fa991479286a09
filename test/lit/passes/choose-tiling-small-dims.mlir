// RUN: fuse-opt %s --pass-pipeline="builtin.module(choose-tiling{hardware=h200})" | FileCheck %s
// RUN: fuse-opt %s --pass-pipeline="builtin.module(choose-tiling{hardware=h200},apply-tiling)" | FileCheck %s --check-prefix=TILED

// The 6 columns of a head do not fill a warp: those of its neighbours lie beside them.
// CHECK-LABEL: func.func private @heads_of_6
// CHECK-SAME: {block = 1 : i64, dims = ["d0"], kind = "grid"}, {block = 16 : i64, dims = ["d1"], kind = "looped"}, {block = 128 : i64, dims = ["d2", "d3"], kind = "grid"}
// TILED-LABEL: func.func private @heads_of_6
// TILED: arith.mulf {{.*}} : tensor<16x128xf32>

// Must not fire: there are gaps between the heads of what is stored.
// CHECK-LABEL: func.func private @gaps
// CHECK-SAME: {block = 1 : i64, dims = ["d0", "d2"], kind = "grid"}, {block = 256 : i64, dims = ["d1"], kind = "resident"}, {block = 8 : i64, dims = ["d3"], kind = "grid"}

// Sixteen small matrices whose rows and columns are reduced share a program.
// CHECK-LABEL: func.func private @many_matrices
// CHECK-SAME: {block = 16 : i64, dims = ["d0"], kind = "grid"}, {block = 16 : i64, dims = ["d1"], kind = "resident"}, {block = 4 : i64, dims = ["d2"], kind = "resident"}
// TILED-LABEL: func.func private @many_matrices
// TILED: tensor<16x16x4xf32>

// Must not fire: there are too few of them for the chip.
// CHECK-LABEL: func.func private @few_matrices
// CHECK-SAME: {block = 1 : i64, dims = ["d0"], kind = "grid"}
module attributes {fuse.device = "cpu"} {
  func.func private @heads_of_6(%x: tensor<512x256x48x6xf32>, %w: tensor<48x512x256xf32>, %o: tensor<512x256x48x6xf32>, %a: tensor<512x48x6xf32>) -> (tensor<512x256x48x6xf32>, tensor<512x48x6xf32>)
      attributes {fuse.kernel, fuse.dims = {d0 = "512", d1 = "256", d2 = "48", d3 = "6"}, fuse.ties = array<i64: 2, 3>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1", "d2", "d3"]} : (tensor<512x256x48x6xf32>, i1, f32) -> f32
    %u = "fuse.load"(%w, %true, %zero) {at = ["d2", "d0", "d1"]} : (tensor<48x512x256xf32>, i1, f32) -> f32
    %p = arith.mulf %v, %u : f32
    %r = "fuse.store"(%o, %p, %true) {at = ["d0", "d1", "d2", "d3"], mode = "set"} : (tensor<512x256x48x6xf32>, f32, i1) -> tensor<512x256x48x6xf32>
    %s = "fuse.reduce"(%p) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %t = "fuse.store"(%a, %s, %true) {at = ["d0", "d2", "d3"], mode = "set"} : (tensor<512x48x6xf32>, f32, i1) -> tensor<512x48x6xf32>
    return %r, %t : tensor<512x256x48x6xf32>, tensor<512x48x6xf32>
  }
  func.func private @gaps(%x: tensor<512x256x48x6xf32>, %w: tensor<48x512x256xf32>, %o: tensor<512x256x48x6xf32, #fuse.layout<"512,256,48,6", "98304,384,8,1", "0", "">>, %a: tensor<512x48x6xf32>) -> (tensor<512x256x48x6xf32, #fuse.layout<"512,256,48,6", "98304,384,8,1", "0", "">>, tensor<512x48x6xf32>)
      attributes {fuse.kernel, fuse.dims = {d0 = "512", d1 = "256", d2 = "48", d3 = "6"}, fuse.ties = array<i64: 2, 3>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1", "d2", "d3"]} : (tensor<512x256x48x6xf32>, i1, f32) -> f32
    %u = "fuse.load"(%w, %true, %zero) {at = ["d2", "d0", "d1"]} : (tensor<48x512x256xf32>, i1, f32) -> f32
    %p = arith.mulf %v, %u : f32
    %r = "fuse.store"(%o, %p, %true) {at = ["d0", "d1", "d2", "d3"], mode = "set"} : (tensor<512x256x48x6xf32, #fuse.layout<"512,256,48,6", "98304,384,8,1", "0", "">>, f32, i1) -> tensor<512x256x48x6xf32, #fuse.layout<"512,256,48,6", "98304,384,8,1", "0", "">>
    %s = "fuse.reduce"(%p) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %t = "fuse.store"(%a, %s, %true) {at = ["d0", "d2", "d3"], mode = "set"} : (tensor<512x48x6xf32>, f32, i1) -> tensor<512x48x6xf32>
    return %r, %t : tensor<512x256x48x6xf32, #fuse.layout<"512,256,48,6", "98304,384,8,1", "0", "">>, tensor<512x48x6xf32>
  }
  func.func private @many_matrices(%x: tensor<200000x16x3xf32>, %r: tensor<200000x16xf32>, %c: tensor<200000x16x3xf32>) -> (tensor<200000x16xf32>, tensor<200000x16x3xf32>)
      attributes {fuse.kernel, fuse.dims = {d0 = "200000", d1 = "16", d2 = "3"}, fuse.ties = array<i64: 1, 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1", "d2"]} : (tensor<200000x16x3xf32>, i1, f32) -> f32
    %s = "fuse.reduce"(%v) {kind = "sum", over = ["d2"]} : (f32) -> f32
    %m = "fuse.reduce"(%v) {kind = "max", over = ["d1"]} : (f32) -> f32
    %d = arith.subf %v, %m : f32
    %a = "fuse.store"(%r, %s, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<200000x16xf32>, f32, i1) -> tensor<200000x16xf32>
    %b = "fuse.store"(%c, %d, %true) {at = ["d0", "d1", "d2"], mode = "set"} : (tensor<200000x16x3xf32>, f32, i1) -> tensor<200000x16x3xf32>
    return %a, %b : tensor<200000x16xf32>, tensor<200000x16x3xf32>
  }
  func.func private @few_matrices(%x: tensor<2000x16x3xf32>, %r: tensor<2000x16xf32>, %c: tensor<2000x16x3xf32>) -> (tensor<2000x16xf32>, tensor<2000x16x3xf32>)
      attributes {fuse.kernel, fuse.dims = {d0 = "2000", d1 = "16", d2 = "3"}, fuse.ties = array<i64: 1, 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1", "d2"]} : (tensor<2000x16x3xf32>, i1, f32) -> f32
    %s = "fuse.reduce"(%v) {kind = "sum", over = ["d2"]} : (f32) -> f32
    %m = "fuse.reduce"(%v) {kind = "max", over = ["d1"]} : (f32) -> f32
    %d = arith.subf %v, %m : f32
    %a = "fuse.store"(%r, %s, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<2000x16xf32>, f32, i1) -> tensor<2000x16xf32>
    %b = "fuse.store"(%c, %d, %true) {at = ["d0", "d1", "d2"], mode = "set"} : (tensor<2000x16x3xf32>, f32, i1) -> tensor<2000x16x3xf32>
    return %a, %b : tensor<2000x16xf32>, tensor<2000x16x3xf32>
  }
}
