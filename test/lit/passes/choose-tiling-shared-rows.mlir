// RUN: fuse-opt %s --pass-pipeline="builtin.module(choose-tiling{hardware=h200})" | FileCheck %s
// RUN: fuse-opt %s --pass-pipeline="builtin.module(choose-tiling{hardware=h200},apply-tiling)" | FileCheck %s --check-prefix=TILED

// Eight rows of one part of a batch share what is read along them.
// CHECK-LABEL: func.func private @pairs_of_batch
// CHECK-SAME: {block = 1 : i64, dims = ["d0"], kind = "grid"}, {block = 8 : i64, dims = ["d1"], kind = "grid"}, {block = 256 : i64, dims = ["d2"], kind = "looped"}
// TILED-LABEL: func.func private @pairs_of_batch
// TILED: scf.for
// TILED: arith.subf {{.*}} : tensor<8x256xf32>
// TILED: "tt.reduce"{{.*}}
// TILED: (tensor<8x256xf32>) -> tensor<8xf32>

// Must not fire: a part of the batch has less than eight rows.
// CHECK-LABEL: func.func private @few_rows_each
// CHECK-SAME: {block = 1 : i64, dims = ["d0", "d1"], kind = "grid"}

// Must not fire: what is read along a row is read for that row alone.
// CHECK-LABEL: func.func private @each_its_own
// CHECK-SAME: {block = 1 : i64, dims = ["d0", "d1"], kind = "grid"}

// Must not fire: four rows of six elements, which share weights, would not fill a warp.
// CHECK-LABEL: func.func private @short_rows_share_weights
// CHECK-SAME: {block = 128 : i64, dims = ["d0"], kind = "grid"}, {block = 8 : i64, dims = ["d1"], kind = "resident"}
module attributes {fuse.device = "cpu"} {
  func.func private @pairs_of_batch(%x: tensor<32x1024xf32>, %y: tensor<32x1024xf32>, %o: tensor<32x1024xf32>) -> tensor<32x1024xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "32", d1 = "1024", d2 = "1024"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<32x1024xf32>, i1, f32) -> f32
    %b = "fuse.load"(%y, %true, %zero) {at = ["d0", "d2"]} : (tensor<32x1024xf32>, i1, f32) -> f32
    %d = arith.subf %a, %b : f32
    %s = "fuse.reduce"(%d) {kind = "max", over = ["d2"]} : (f32) -> f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<32x1024xf32>, f32, i1) -> tensor<32x1024xf32>
    return %r : tensor<32x1024xf32>
  }
  func.func private @few_rows_each(%x: tensor<8192x4xf32>, %y: tensor<8192x1024xf32>, %o: tensor<8192x4xf32>) -> tensor<8192x4xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "8192", d1 = "4", d2 = "1024"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<8192x4xf32>, i1, f32) -> f32
    %b = "fuse.load"(%y, %true, %zero) {at = ["d0", "d2"]} : (tensor<8192x1024xf32>, i1, f32) -> f32
    %d = arith.subf %a, %b : f32
    %s = "fuse.reduce"(%d) {kind = "max", over = ["d2"]} : (f32) -> f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<8192x4xf32>, f32, i1) -> tensor<8192x4xf32>
    return %r : tensor<8192x4xf32>
  }
  func.func private @each_its_own(%x: tensor<32x1024xf32>, %y: tensor<32x1024x1024xf32>, %o: tensor<32x1024xf32>) -> tensor<32x1024xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "32", d1 = "1024", d2 = "1024"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<32x1024xf32>, i1, f32) -> f32
    %b = "fuse.load"(%y, %true, %zero) {at = ["d0", "d1", "d2"]} : (tensor<32x1024x1024xf32>, i1, f32) -> f32
    %d = arith.subf %a, %b : f32
    %s = "fuse.reduce"(%d) {kind = "max", over = ["d2"]} : (f32) -> f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<32x1024xf32>, f32, i1) -> tensor<32x1024xf32>
    return %r : tensor<32x1024xf32>
  }
  func.func private @short_rows_share_weights(%x: tensor<262144x6xf32>, %y: tensor<6xf32>, %o: tensor<262144xf32>) -> tensor<262144xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "262144", d1 = "6"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<262144x6xf32>, i1, f32) -> f32
    %b = "fuse.load"(%y, %true, %zero) {at = ["d1"]} : (tensor<6xf32>, i1, f32) -> f32
    %p = arith.mulf %a, %b : f32
    %s = "fuse.reduce"(%p) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d0"], mode = "set"} : (tensor<262144xf32>, f32, i1) -> tensor<262144xf32>
    return %r : tensor<262144xf32>
  }
}
