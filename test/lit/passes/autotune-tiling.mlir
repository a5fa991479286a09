// RUN: fuse-opt %s --pass-pipeline="builtin.module(autotune-tiling{table=%S/Inputs/autotune-tiling.json})" --split-input-file | FileCheck %s
// RUN: fuse-opt %s --pass-pipeline="builtin.module(autotune-tiling)" --split-input-file | FileCheck %s --check-prefix=NONE
// RUN: not fuse-opt %s --pass-pipeline="builtin.module(autotune-tiling{table=%S/Inputs/none.json})" --split-input-file 2>&1 | FileCheck %s --check-prefix=LOST

// LOST: is no table

// The table names this kernel: its tile becomes the measured one.
// CHECK-LABEL: @flat
// CHECK-SAME: fuse.tile = {axes = [{block = 512 : i64, dims = ["d0"], kind = "grid"}], num_stages = 1 : i64, num_warps = 8 : i64}
// NONE-LABEL: @flat
// NONE-SAME: block = 1024 : i64
module attributes {fuse.device = "cpu"} {
  func.func private @flat(%x: tensor<1048576xf32>, %o: tensor<1048576xf32>) -> tensor<1048576xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "1048576"}, fuse.ties = array<i64: 1>,
                  fuse.tile = {axes = [{block = 1024 : i64, dims = ["d0"], kind = "grid"}], num_stages = 1 : i64, num_warps = 4 : i64}} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<1048576xf32>, i1, f32) -> f32
    %r = "fuse.store"(%o, %v, %true) {at = ["d0"], mode = "set"} : (tensor<1048576xf32>, f32, i1) -> tensor<1048576xf32>
    return %r : tensor<1048576xf32>
  }
}

// -----

// Must not fire: the same kernel with another default tile is another key: what was measured says nothing about it.
// CHECK-LABEL: @other_default
// CHECK-SAME: block = 256 : i64
// NONE-LABEL: @other_default
module attributes {fuse.device = "cpu"} {
  func.func private @other_default(%x: tensor<1048576xf32>, %o: tensor<1048576xf32>) -> tensor<1048576xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "1048576"}, fuse.ties = array<i64: 1>,
                  fuse.tile = {axes = [{block = 256 : i64, dims = ["d0"], kind = "grid"}], num_stages = 1 : i64, num_warps = 4 : i64}} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<1048576xf32>, i1, f32) -> f32
    %r = "fuse.store"(%o, %v, %true) {at = ["d0"], mode = "set"} : (tensor<1048576xf32>, f32, i1) -> tensor<1048576xf32>
    return %r : tensor<1048576xf32>
  }
}

// -----

// Must not fire: a kernel without a tile is not chosen for here.
// CHECK-LABEL: @untiled
// CHECK-NOT: fuse.tile
// NONE-LABEL: @untiled
module attributes {fuse.device = "cpu"} {
  func.func private @untiled(%x: tensor<1048576xf32>, %o: tensor<1048576xf32>) -> tensor<1048576xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "1048576"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<1048576xf32>, i1, f32) -> f32
    %r = "fuse.store"(%o, %v, %true) {at = ["d0"], mode = "set"} : (tensor<1048576xf32>, f32, i1) -> tensor<1048576xf32>
    return %r : tensor<1048576xf32>
  }
}
