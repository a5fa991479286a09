// RUN: fuse-opt %s --pass-pipeline="builtin.module(choose-tiling{hardware=h200})" | FileCheck %s

// A thread of a program of sixteen rows would compute sixteen chains of 72 slots: there are half as many rows.  More
// warps would share each row, and meet to sum it.
// CHECK-LABEL: func.func private @fills_a_warp
// CHECK-SAME: {block = 8 : i64, dims = ["d0"], kind = "grid"}, {block = 64 : i64, dims = ["d1"], kind = "resident"}], num_stages = 1 : i64, num_warps = 2 : i64

// Must not fire: a warp holds several of these rows, so that more warps share none.
// CHECK-LABEL: func.func private @shorter_than_a_warp
// CHECK-SAME: {block = 64 : i64, dims = ["d0"], kind = "grid"}, {block = 16 : i64, dims = ["d1"], kind = "resident"}], num_stages = 1 : i64, num_warps = 4 : i64

// Must not fire: the chain is short.
// CHECK-LABEL: func.func private @short_chain
// CHECK-SAME: {block = 16 : i64, dims = ["d0"], kind = "grid"}, {block = 64 : i64, dims = ["d1"], kind = "resident"}], num_stages = 1 : i64, num_warps = 2 : i64

// Must not fire: no two rows are left, so that warps share one.
// CHECK-LABEL: func.func private @one_row
// CHECK-SAME: {block = 1 : i64, dims = ["d0"], kind = "grid"}, {block = 256 : i64, dims = ["d1"], kind = "resident"}], num_stages = 1 : i64, num_warps = 4 : i64
module attributes {fuse.device = "cpu"} {
  func.func private @fills_a_warp(%x: tensor<262144x48xf32>, %o: tensor<262144xf32>) -> tensor<262144xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "262144", d1 = "48"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<262144x48xf32>, i1, f32) -> f32
    %e0 = math.sin %v : f32
    %e1 = math.sin %e0 : f32
    %e2 = math.sin %e1 : f32
    %e3 = math.sin %e2 : f32
    %e4 = math.sin %e3 : f32
    %e5 = math.sin %e4 : f32
    %e6 = math.sin %e5 : f32
    %e7 = math.sin %e6 : f32
    %e8 = math.sin %e7 : f32
    %s = "fuse.reduce"(%e8) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d0"], mode = "set"} : (tensor<262144xf32>, f32, i1) -> tensor<262144xf32>
    return %r : tensor<262144xf32>
  }
  func.func private @shorter_than_a_warp(%x: tensor<262144x16xf32>, %o: tensor<262144xf32>) -> tensor<262144xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "262144", d1 = "16"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<262144x16xf32>, i1, f32) -> f32
    %e0 = math.sin %v : f32
    %e1 = math.sin %e0 : f32
    %e2 = math.sin %e1 : f32
    %e3 = math.sin %e2 : f32
    %e4 = math.sin %e3 : f32
    %e5 = math.sin %e4 : f32
    %e6 = math.sin %e5 : f32
    %e7 = math.sin %e6 : f32
    %e8 = math.sin %e7 : f32
    %s = "fuse.reduce"(%e8) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d0"], mode = "set"} : (tensor<262144xf32>, f32, i1) -> tensor<262144xf32>
    return %r : tensor<262144xf32>
  }
  func.func private @short_chain(%x: tensor<262144x48xf32>, %o: tensor<262144xf32>) -> tensor<262144xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "262144", d1 = "48"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<262144x48xf32>, i1, f32) -> f32
    %e0 = math.sin %v : f32
    %e1 = math.sin %e0 : f32
    %e2 = math.sin %e1 : f32
    %s = "fuse.reduce"(%e2) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d0"], mode = "set"} : (tensor<262144xf32>, f32, i1) -> tensor<262144xf32>
    return %r : tensor<262144xf32>
  }
  func.func private @one_row(%x: tensor<262144x256xf32>, %o: tensor<262144xf32>) -> tensor<262144xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "262144", d1 = "256"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<262144x256xf32>, i1, f32) -> f32
    %e0 = math.sin %v : f32
    %e1 = math.sin %e0 : f32
    %e2 = math.sin %e1 : f32
    %e3 = math.sin %e2 : f32
    %e4 = math.sin %e3 : f32
    %e5 = math.sin %e4 : f32
    %e6 = math.sin %e5 : f32
    %e7 = math.sin %e6 : f32
    %e8 = math.sin %e7 : f32
    %e9 = math.sin %e8 : f32
    %e10 = math.sin %e9 : f32
    %e11 = math.sin %e10 : f32
    %e12 = math.sin %e11 : f32
    %e13 = math.sin %e12 : f32
    %e14 = math.sin %e13 : f32
    %e15 = math.sin %e14 : f32
    %e16 = math.sin %e15 : f32
    %e17 = math.sin %e16 : f32
    %e18 = math.sin %e17 : f32
    %e19 = math.sin %e18 : f32
    %e20 = math.sin %e19 : f32
    %e21 = math.sin %e20 : f32
    %e22 = math.sin %e21 : f32
    %e23 = math.sin %e22 : f32
    %e24 = math.sin %e23 : f32
    %e25 = math.sin %e24 : f32
    %e26 = math.sin %e25 : f32
    %e27 = math.sin %e26 : f32
    %e28 = math.sin %e27 : f32
    %e29 = math.sin %e28 : f32
    %e30 = math.sin %e29 : f32
    %e31 = math.sin %e30 : f32
    %e32 = math.sin %e31 : f32
    %e33 = math.sin %e32 : f32
    %e34 = math.sin %e33 : f32
    %e35 = math.sin %e34 : f32
    %e36 = math.sin %e35 : f32
    %e37 = math.sin %e36 : f32
    %e38 = math.sin %e37 : f32
    %e39 = math.sin %e38 : f32
    %s = "fuse.reduce"(%e39) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d0"], mode = "set"} : (tensor<262144xf32>, f32, i1) -> tensor<262144xf32>
    return %r : tensor<262144xf32>
  }
}
