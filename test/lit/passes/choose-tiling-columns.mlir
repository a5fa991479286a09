// RUN: fuse-opt %s --pass-pipeline="builtin.module(choose-tiling{hardware=h200})" | FileCheck %s

// A program has the columns of a head alone where those of its neighbours would leave 320 programs.
// CHECK-LABEL: func.func private @few_programs
// CHECK-SAME: {block = 1 : i64, dims = ["d0"], kind = "grid"}, {block = 128 : i64, dims = ["d1"], kind = "looped"}, {block = 16 : i64, dims = ["d2"], kind = "grid"}

// Memory order is that of what is read: rows that are looked up say nothing of d2, which counts slices.
// CHECK-LABEL: func.func private @scattered_rows
// CHECK-SAME: {block = 1 : i64, dims = ["d2"], kind = "grid"}, {block = 16 : i64, dims = ["d0"], kind = "looped"}, {block = 128 : i64, dims = ["d1"], kind = "grid"}

// The same where all that has all dims is looked up: what counts its rows lies in front of them.
// CHECK-LABEL: func.func private @looked_up_rows
// CHECK-SAME: {block = 1 : i64, dims = ["d2"], kind = "grid"}, {block = 16 : i64, dims = ["d0"], kind = "looped"}, {block = 128 : i64, dims = ["d1"], kind = "grid"}

// A loop carries all sums of a block: 24 of eight elements would not fit. A thread has a column.
// CHECK-LABEL: func.func private @many_sums
// CHECK-SAME: {block = 1 : i64, dims = ["d1"], kind = "looped"}, {block = 128 : i64, dims = ["d2"], kind = "grid"}], num_stages = 1 : i64, num_warps = 4

// Must not fire: one sum fits.
// CHECK-LABEL: func.func private @one_sum
// CHECK-SAME: {block = 16 : i64, dims = ["d1"], kind = "looped"}, {block = 128 : i64, dims = ["d2"], kind = "grid"}

// Weights of each pair and head are larger than points of heads, which lie together, but say nothing of them. Blocks of 128
// columns would leave 512 programs.
// CHECK-LABEL: func.func private @points_of_heads
// CHECK-SAME: {block = 1 : i64, dims = ["d0", "d1"], kind = "grid"}, {block = 64 : i64, dims = ["d2"], kind = "looped"}, {block = 32 : i64, dims = ["d3", "d4"], kind = "grid"}

// A thread holds 16 bytes of the rows that a token looks up: where to look them up has 8 bytes, but no columns.
// CHECK-LABEL: func.func private @rows_of_tokens
// CHECK-SAME: {block = 1 : i64, dims = ["d0"], kind = "grid"}, {block = 8 : i64, dims = ["d1"], kind = "resident"}, {block = 1024 : i64, dims = ["d2"], kind = "grid"}], num_stages = 1 : i64, num_warps = 4
module attributes {fuse.device = "cpu"} {
  func.func private @few_programs(%x: tensor<1152x1280x16xf32>, %w: tensor<1280x1152xf32>, %o: tensor<1280x16xf32>) -> tensor<1280x16xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "1280", d1 = "1152", d2 = "16"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d1", "d0", "d2"]} : (tensor<1152x1280x16xf32>, i1, f32) -> f32
    %c = "fuse.load"(%w, %true, %zero) {at = ["d0", "d1"]} : (tensor<1280x1152xf32>, i1, f32) -> f32
    %p = arith.mulf %v, %c : f32
    %s = "fuse.reduce"(%p) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d0", "d2"], mode = "set"} : (tensor<1280x16xf32>, f32, i1) -> tensor<1280x16xf32>
    return %r : tensor<1280x16xf32>
  }
  func.func private @scattered_rows(%x: tensor<500000x128xf32>, %i: tensor<500000xi64>, %o: tensor<625x128xf32>, %a: tensor<50000x128xf32>) -> (tensor<625x128xf32>, tensor<50000x128xf32>)
      attributes {fuse.kernel, fuse.dims = {d0 = "800", d1 = "128", d2 = "625"}, fuse.ties = array<i64: 2, 3>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %none = arith.constant 0 : i64
    %many = arith.constant 50000 : i64
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0 + d2*800", "d1"]} : (tensor<500000x128xf32>, i1, f32) -> f32
    %s = "fuse.reduce"(%v) {kind = "sum", over = ["d0"]} : (f32) -> f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d2", "d1"], mode = "set"} : (tensor<625x128xf32>, f32, i1) -> tensor<625x128xf32>
    %at = "fuse.load"(%i, %true, %none) {at = ["d0 + d2*800"]} : (tensor<500000xi64>, i1, i64) -> i64
    %inside = arith.cmpi ult, %at, %many : i64
    %b = "fuse.store"(%a, %v, %inside, %at) {at = ["i0", "d1"], mode = "add"} : (tensor<50000x128xf32>, f32, i1, i64) -> tensor<50000x128xf32>
    return %r, %b : tensor<625x128xf32>, tensor<50000x128xf32>
  }
  func.func private @looked_up_rows(%x: tensor<50000x128xf32>, %i: tensor<500000xi64>, %o: tensor<625x128xf32>) -> tensor<625x128xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "800", d1 = "128", d2 = "625"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %none = arith.constant 0 : i64
    %many = arith.constant 50000 : i64
    %at = "fuse.load"(%i, %true, %none) {at = ["d0 + d2*800"]} : (tensor<500000xi64>, i1, i64) -> i64
    %inside = arith.cmpi ult, %at, %many : i64
    %v = "fuse.load"(%x, %inside, %zero, %at) {at = ["i0", "d1"]} : (tensor<50000x128xf32>, i1, f32, i64) -> f32
    %s = "fuse.reduce"(%v) {kind = "sum", over = ["d0"]} : (f32) -> f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d2", "d1"], mode = "set"} : (tensor<625x128xf32>, f32, i1) -> tensor<625x128xf32>
    return %r : tensor<625x128xf32>
  }
  func.func private @many_sums(%x: tensor<2000x64x128xf32>, %o: tensor<2000x128xf32>) -> tensor<2000x128xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "2000", d1 = "64", d2 = "128"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1", "d2"]} : (tensor<2000x64x128xf32>, i1, f32) -> f32
    %s0 = "fuse.reduce"(%v) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %s1 = "fuse.reduce"(%v) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %s2 = "fuse.reduce"(%v) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %s3 = "fuse.reduce"(%v) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %s4 = "fuse.reduce"(%v) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %s5 = "fuse.reduce"(%v) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %s6 = "fuse.reduce"(%v) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %s7 = "fuse.reduce"(%v) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %s8 = "fuse.reduce"(%v) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %s9 = "fuse.reduce"(%v) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %s10 = "fuse.reduce"(%v) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %s11 = "fuse.reduce"(%v) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %s12 = "fuse.reduce"(%v) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %s13 = "fuse.reduce"(%v) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %s14 = "fuse.reduce"(%v) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %s15 = "fuse.reduce"(%v) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %s16 = "fuse.reduce"(%v) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %s17 = "fuse.reduce"(%v) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %s18 = "fuse.reduce"(%v) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %s19 = "fuse.reduce"(%v) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %s20 = "fuse.reduce"(%v) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %s21 = "fuse.reduce"(%v) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %s22 = "fuse.reduce"(%v) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %s23 = "fuse.reduce"(%v) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %t1 = arith.addf %s0, %s1 : f32
    %t2 = arith.addf %t1, %s2 : f32
    %t3 = arith.addf %t2, %s3 : f32
    %t4 = arith.addf %t3, %s4 : f32
    %t5 = arith.addf %t4, %s5 : f32
    %t6 = arith.addf %t5, %s6 : f32
    %t7 = arith.addf %t6, %s7 : f32
    %t8 = arith.addf %t7, %s8 : f32
    %t9 = arith.addf %t8, %s9 : f32
    %t10 = arith.addf %t9, %s10 : f32
    %t11 = arith.addf %t10, %s11 : f32
    %t12 = arith.addf %t11, %s12 : f32
    %t13 = arith.addf %t12, %s13 : f32
    %t14 = arith.addf %t13, %s14 : f32
    %t15 = arith.addf %t14, %s15 : f32
    %t16 = arith.addf %t15, %s16 : f32
    %t17 = arith.addf %t16, %s17 : f32
    %t18 = arith.addf %t17, %s18 : f32
    %t19 = arith.addf %t18, %s19 : f32
    %t20 = arith.addf %t19, %s20 : f32
    %t21 = arith.addf %t20, %s21 : f32
    %t22 = arith.addf %t21, %s22 : f32
    %t23 = arith.addf %t22, %s23 : f32
    %r = "fuse.store"(%o, %t23, %true) {at = ["d0", "d2"], mode = "set"} : (tensor<2000x128xf32>, f32, i1) -> tensor<2000x128xf32>
    return %r : tensor<2000x128xf32>
  }
  func.func private @one_sum(%x: tensor<2000x64x128xf32>, %o: tensor<2000x128xf32>) -> tensor<2000x128xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "2000", d1 = "64", d2 = "128"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1", "d2"]} : (tensor<2000x64x128xf32>, i1, f32) -> f32
    %s = "fuse.reduce"(%v) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d0", "d2"], mode = "set"} : (tensor<2000x128xf32>, f32, i1) -> tensor<2000x128xf32>
    return %r : tensor<2000x128xf32>
  }
  func.func private @points_of_heads(%w: tensor<2x256x256x12xf32>, %p: tensor<2x256x12x8x2xf32>, %o: tensor<2x256x12x8xf32>) -> tensor<2x256x12x8xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "2", d1 = "256", d2 = "256", d3 = "12", d4 = "8"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%w, %true, %zero) {at = ["d0", "d1", "d2", "d3"]} : (tensor<2x256x256x12xf32>, i1, f32) -> f32
    %x = "fuse.load"(%p, %true, %zero) {at = ["d0", "d2", "d3", "d4", "0"]} : (tensor<2x256x12x8x2xf32>, i1, f32) -> f32
    %y = arith.mulf %v, %x : f32
    %s = "fuse.reduce"(%y) {kind = "sum", over = ["d2"]} : (f32) -> f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d0", "d1", "d3", "d4"], mode = "set"} : (tensor<2x256x12x8xf32>, f32, i1) -> tensor<2x256x12x8xf32>
    return %r : tensor<2x256x12x8xf32>
  }
  func.func private @rows_of_tokens(%x: tensor<32768x2048xbf16>, %i: tensor<4096x8xi64>, %o: tensor<4096x2048xbf16>) -> tensor<4096x2048xbf16>
      attributes {fuse.kernel, fuse.dims = {d0 = "4096", d1 = "8", d2 = "2048"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %none = arith.constant 0 : i64
    %many = arith.constant 32768 : i64
    %at = "fuse.load"(%i, %true, %none) {at = ["d0", "d1"]} : (tensor<4096x8xi64>, i1, i64) -> i64
    %inside = arith.cmpi ult, %at, %many : i64
    %v = "fuse.load"(%x, %inside, %zero, %at) {at = ["i0", "d2"]} : (tensor<32768x2048xbf16>, i1, bf16, i64) -> bf16
    %w = arith.extf %v : bf16 to f32
    %s = "fuse.reduce"(%w) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %h = arith.truncf %s : f32 to bf16
    %r = "fuse.store"(%o, %h, %true) {at = ["d0", "d2"], mode = "set"} : (tensor<4096x2048xbf16>, bf16, i1) -> tensor<4096x2048xbf16>
    return %r : tensor<4096x2048xbf16>
  }
}
