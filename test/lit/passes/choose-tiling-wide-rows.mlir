// RUN: fuse-opt %s --pass-pipeline="builtin.module(choose-tiling{hardware=h200})" --split-input-file | FileCheck %s

// Rows of bfloat16 that are visited again once they are reduced: 16 warps hold what they have loaded.
// CHECK-LABEL: func.func private @wide
// CHECK-SAME: fuse.tile = {again, axes = [{block = 1 : i64, dims = ["d2"], kind = "grid"}, {block = 1 : i64, dims = ["d0"], kind = "looped"}, {block = 16384 : i64, dims = ["d1"], kind = "resident"}], num_stages = 3 : i64, num_warps = 16 : i64}
func.func private @wide(%x: tensor<4224x12288xbf16>, %w: tensor<12288xbf16>, %o: tensor<4224x12288xbf16>, %p: tensor<132x12288xf32>) -> (tensor<4224x12288xbf16>, tensor<132x12288xf32>)
    attributes {fuse.kernel, fuse.dims = {d0 = "32", d1 = "12288", d2 = "132"}, fuse.ties = array<i64: 2, 3>} {
  %true = arith.constant true
  %none = arith.constant 0.0 : bf16
  %h = "fuse.load"(%x, %true, %none) {at = ["d0 + d2*32", "d1"]} : (tensor<4224x12288xbf16>, i1, bf16) -> bf16
  %g = "fuse.load"(%w, %true, %none) {at = ["d1"]} : (tensor<12288xbf16>, i1, bf16) -> bf16
  %v = arith.extf %h : bf16 to f32
  %u = arith.extf %g : bf16 to f32
  %m = arith.mulf %v, %u : f32
  %s = "fuse.reduce"(%m) {kind = "sum", over = ["d1"]} : (f32) -> f32
  %t = "fuse.reduce"(%m) {kind = "sum", over = ["d0"]} : (f32) -> f32
  %y = arith.divf %m, %s : f32
  %z = arith.truncf %y : f32 to bf16
  %r = "fuse.store"(%o, %z, %true) {at = ["d0 + d2*32", "d1"], mode = "set"} : (tensor<4224x12288xbf16>, bf16, i1) -> tensor<4224x12288xbf16>
  %q = "fuse.store"(%p, %t, %true) {at = ["d2", "d1"], mode = "set"} : (tensor<132x12288xf32>, f32, i1) -> tensor<132x12288xf32>
  return %r, %q : tensor<4224x12288xbf16>, tensor<132x12288xf32>
}

// -----

// Must not fire: registers hold rows of 8192 elements as they are used.
// CHECK-LABEL: func.func private @narrower
// CHECK-SAME: fuse.tile = {axes =
func.func private @narrower(%x: tensor<4224x8192xbf16>, %w: tensor<8192xbf16>, %o: tensor<4224x8192xbf16>, %p: tensor<132x8192xf32>) -> (tensor<4224x8192xbf16>, tensor<132x8192xf32>)
    attributes {fuse.kernel, fuse.dims = {d0 = "32", d1 = "8192", d2 = "132"}, fuse.ties = array<i64: 2, 3>} {
  %true = arith.constant true
  %none = arith.constant 0.0 : bf16
  %h = "fuse.load"(%x, %true, %none) {at = ["d0 + d2*32", "d1"]} : (tensor<4224x8192xbf16>, i1, bf16) -> bf16
  %g = "fuse.load"(%w, %true, %none) {at = ["d1"]} : (tensor<8192xbf16>, i1, bf16) -> bf16
  %v = arith.extf %h : bf16 to f32
  %u = arith.extf %g : bf16 to f32
  %m = arith.mulf %v, %u : f32
  %s = "fuse.reduce"(%m) {kind = "sum", over = ["d1"]} : (f32) -> f32
  %t = "fuse.reduce"(%m) {kind = "sum", over = ["d0"]} : (f32) -> f32
  %y = arith.divf %m, %s : f32
  %z = arith.truncf %y : f32 to bf16
  %r = "fuse.store"(%o, %z, %true) {at = ["d0 + d2*32", "d1"], mode = "set"} : (tensor<4224x8192xbf16>, bf16, i1) -> tensor<4224x8192xbf16>
  %q = "fuse.store"(%p, %t, %true) {at = ["d2", "d1"], mode = "set"} : (tensor<132x8192xf32>, f32, i1) -> tensor<132x8192xf32>
  return %r, %q : tensor<4224x8192xbf16>, tensor<132x8192xf32>
}

// -----

// Must not fire: elements of 32 bits take as many registers before they are computed with as afterwards.
// CHECK-LABEL: func.func private @wide_elements
// CHECK-SAME: fuse.tile = {axes =
func.func private @wide_elements(%x: tensor<4224x12288xf32>, %w: tensor<12288xf32>, %o: tensor<4224x12288xf32>, %p: tensor<132x12288xf32>) -> (tensor<4224x12288xf32>, tensor<132x12288xf32>)
    attributes {fuse.kernel, fuse.dims = {d0 = "32", d1 = "12288", d2 = "132"}, fuse.ties = array<i64: 2, 3>} {
  %true = arith.constant true
  %none = arith.constant 0.0 : f32
  %h = "fuse.load"(%x, %true, %none) {at = ["d0 + d2*32", "d1"]} : (tensor<4224x12288xf32>, i1, f32) -> f32
  %g = "fuse.load"(%w, %true, %none) {at = ["d1"]} : (tensor<12288xf32>, i1, f32) -> f32
  %m = arith.mulf %h, %g : f32
  %s = "fuse.reduce"(%m) {kind = "sum", over = ["d1"]} : (f32) -> f32
  %t = "fuse.reduce"(%m) {kind = "sum", over = ["d0"]} : (f32) -> f32
  %y = arith.divf %m, %s : f32
  %r = "fuse.store"(%o, %y, %true) {at = ["d0 + d2*32", "d1"], mode = "set"} : (tensor<4224x12288xf32>, f32, i1) -> tensor<4224x12288xf32>
  %q = "fuse.store"(%p, %t, %true) {at = ["d2", "d1"], mode = "set"} : (tensor<132x12288xf32>, f32, i1) -> tensor<132x12288xf32>
  return %r, %q : tensor<4224x12288xf32>, tensor<132x12288xf32>
}

// -----

// Must not fire: half precision is widened by an instruction that the compiler merges with an equal one.
// CHECK-LABEL: func.func private @half
// CHECK-SAME: fuse.tile = {axes =
func.func private @half(%x: tensor<4224x12288xf16>, %w: tensor<12288xf16>, %o: tensor<4224x12288xf16>, %p: tensor<132x12288xf32>) -> (tensor<4224x12288xf16>, tensor<132x12288xf32>)
    attributes {fuse.kernel, fuse.dims = {d0 = "32", d1 = "12288", d2 = "132"}, fuse.ties = array<i64: 2, 3>} {
  %true = arith.constant true
  %none = arith.constant 0.0 : f16
  %h = "fuse.load"(%x, %true, %none) {at = ["d0 + d2*32", "d1"]} : (tensor<4224x12288xf16>, i1, f16) -> f16
  %g = "fuse.load"(%w, %true, %none) {at = ["d1"]} : (tensor<12288xf16>, i1, f16) -> f16
  %v = arith.extf %h : f16 to f32
  %u = arith.extf %g : f16 to f32
  %m = arith.mulf %v, %u : f32
  %s = "fuse.reduce"(%m) {kind = "sum", over = ["d1"]} : (f32) -> f32
  %t = "fuse.reduce"(%m) {kind = "sum", over = ["d0"]} : (f32) -> f32
  %y = arith.divf %m, %s : f32
  %z = arith.truncf %y : f32 to f16
  %r = "fuse.store"(%o, %z, %true) {at = ["d0 + d2*32", "d1"], mode = "set"} : (tensor<4224x12288xf16>, f16, i1) -> tensor<4224x12288xf16>
  %q = "fuse.store"(%p, %t, %true) {at = ["d2", "d1"], mode = "set"} : (tensor<132x12288xf32>, f32, i1) -> tensor<132x12288xf32>
  return %r, %q : tensor<4224x12288xf16>, tensor<132x12288xf32>
}

// -----

// Must not fire: nothing needs the row once it is reduced.
// CHECK-LABEL: func.func private @once
// CHECK-SAME: fuse.tile = {axes =
func.func private @once(%x: tensor<4224x12288xbf16>, %w: tensor<12288xbf16>, %o: tensor<4224x12288xbf16>, %p: tensor<132x12288xf32>) -> (tensor<4224x12288xbf16>, tensor<132x12288xf32>)
    attributes {fuse.kernel, fuse.dims = {d0 = "32", d1 = "12288", d2 = "132"}, fuse.ties = array<i64: 2, 3>} {
  %true = arith.constant true
  %none = arith.constant 0.0 : bf16
  %h = "fuse.load"(%x, %true, %none) {at = ["d0 + d2*32", "d1"]} : (tensor<4224x12288xbf16>, i1, bf16) -> bf16
  %g = "fuse.load"(%w, %true, %none) {at = ["d1"]} : (tensor<12288xbf16>, i1, bf16) -> bf16
  %v = arith.extf %h : bf16 to f32
  %u = arith.extf %g : bf16 to f32
  %m = arith.mulf %v, %u : f32
  %s = "fuse.reduce"(%m) {kind = "sum", over = ["d1"]} : (f32) -> f32
  %t = "fuse.reduce"(%m) {kind = "sum", over = ["d0"]} : (f32) -> f32
  %y = arith.addf %m, %m : f32
  %z = arith.truncf %y : f32 to bf16
  %r = "fuse.store"(%o, %z, %true) {at = ["d0 + d2*32", "d1"], mode = "set"} : (tensor<4224x12288xbf16>, bf16, i1) -> tensor<4224x12288xbf16>
  %q = "fuse.store"(%p, %t, %true) {at = ["d2", "d1"], mode = "set"} : (tensor<132x12288xf32>, f32, i1) -> tensor<132x12288xf32>
  return %r, %q : tensor<4224x12288xbf16>, tensor<132x12288xf32>
}

// -----

// Must not fire: weights of float32, which all rows share, do not fit beside the row.
// CHECK-LABEL: func.func private @wide_weights
// CHECK-SAME: fuse.tile = {axes =
func.func private @wide_weights(%x: tensor<4224x12288xbf16>, %w: tensor<12288xf32>, %o: tensor<4224x12288xbf16>, %p: tensor<132x12288xf32>) -> (tensor<4224x12288xbf16>, tensor<132x12288xf32>)
    attributes {fuse.kernel, fuse.dims = {d0 = "32", d1 = "12288", d2 = "132"}, fuse.ties = array<i64: 2, 3>} {
  %true = arith.constant true
  %none = arith.constant 0.0 : bf16
  %zero = arith.constant 0.0 : f32
  %h = "fuse.load"(%x, %true, %none) {at = ["d0 + d2*32", "d1"]} : (tensor<4224x12288xbf16>, i1, bf16) -> bf16
  %u = "fuse.load"(%w, %true, %zero) {at = ["d1"]} : (tensor<12288xf32>, i1, f32) -> f32
  %v = arith.extf %h : bf16 to f32
  %m = arith.mulf %v, %u : f32
  %s = "fuse.reduce"(%m) {kind = "sum", over = ["d1"]} : (f32) -> f32
  %t = "fuse.reduce"(%m) {kind = "sum", over = ["d0"]} : (f32) -> f32
  %y = arith.divf %m, %s : f32
  %z = arith.truncf %y : f32 to bf16
  %r = "fuse.store"(%o, %z, %true) {at = ["d0 + d2*32", "d1"], mode = "set"} : (tensor<4224x12288xbf16>, bf16, i1) -> tensor<4224x12288xbf16>
  %q = "fuse.store"(%p, %t, %true) {at = ["d2", "d1"], mode = "set"} : (tensor<132x12288xf32>, f32, i1) -> tensor<132x12288xf32>
  return %r, %q : tensor<4224x12288xbf16>, tensor<132x12288xf32>
}

// -----

// Must not fire: three tensors of bfloat16 do not fit beside the sums of the columns.
// CHECK-LABEL: func.func private @three_tensors
// CHECK-SAME: fuse.tile = {axes =
func.func private @three_tensors(%x: tensor<4224x12288xbf16>, %w: tensor<4224x12288xbf16>, %b: tensor<4224x12288xbf16>, %o: tensor<4224x12288xbf16>, %p: tensor<132x12288xf32>) -> (tensor<4224x12288xbf16>, tensor<132x12288xf32>)
    attributes {fuse.kernel, fuse.dims = {d0 = "32", d1 = "12288", d2 = "132"}, fuse.ties = array<i64: 3, 4>} {
  %true = arith.constant true
  %none = arith.constant 0.0 : bf16
  %h = "fuse.load"(%x, %true, %none) {at = ["d0 + d2*32", "d1"]} : (tensor<4224x12288xbf16>, i1, bf16) -> bf16
  %g = "fuse.load"(%w, %true, %none) {at = ["d0 + d2*32", "d1"]} : (tensor<4224x12288xbf16>, i1, bf16) -> bf16
  %c = "fuse.load"(%b, %true, %none) {at = ["d0 + d2*32", "d1"]} : (tensor<4224x12288xbf16>, i1, bf16) -> bf16
  %v = arith.extf %h : bf16 to f32
  %u = arith.extf %g : bf16 to f32
  %e = arith.extf %c : bf16 to f32
  %l = arith.mulf %v, %u : f32
  %m = arith.addf %l, %e : f32
  %s = "fuse.reduce"(%m) {kind = "sum", over = ["d1"]} : (f32) -> f32
  %t = "fuse.reduce"(%m) {kind = "sum", over = ["d0"]} : (f32) -> f32
  %y = arith.divf %m, %s : f32
  %z = arith.truncf %y : f32 to bf16
  %r = "fuse.store"(%o, %z, %true) {at = ["d0 + d2*32", "d1"], mode = "set"} : (tensor<4224x12288xbf16>, bf16, i1) -> tensor<4224x12288xbf16>
  %q = "fuse.store"(%p, %t, %true) {at = ["d2", "d1"], mode = "set"} : (tensor<132x12288xf32>, f32, i1) -> tensor<132x12288xf32>
  return %r, %q : tensor<4224x12288xbf16>, tensor<132x12288xf32>
}

// -----

// Must not fire: two numbers of each column do not fit beside the row.
// CHECK-LABEL: func.func private @two_sums
// CHECK-SAME: fuse.tile = {axes =
func.func private @two_sums(%x: tensor<4224x12288xbf16>, %w: tensor<12288xbf16>, %o: tensor<4224x12288xbf16>, %p: tensor<132x12288xf32>, %n: tensor<132x12288xf32>) -> (tensor<4224x12288xbf16>, tensor<132x12288xf32>, tensor<132x12288xf32>)
    attributes {fuse.kernel, fuse.dims = {d0 = "32", d1 = "12288", d2 = "132"}, fuse.ties = array<i64: 2, 3, 4>} {
  %true = arith.constant true
  %none = arith.constant 0.0 : bf16
  %h = "fuse.load"(%x, %true, %none) {at = ["d0 + d2*32", "d1"]} : (tensor<4224x12288xbf16>, i1, bf16) -> bf16
  %g = "fuse.load"(%w, %true, %none) {at = ["d1"]} : (tensor<12288xbf16>, i1, bf16) -> bf16
  %v = arith.extf %h : bf16 to f32
  %u = arith.extf %g : bf16 to f32
  %m = arith.mulf %v, %u : f32
  %s = "fuse.reduce"(%m) {kind = "sum", over = ["d1"]} : (f32) -> f32
  %t:2 = "fuse.welford"(%m) {over = ["d0"]} : (f32) -> (f32, f32)
  %y = arith.divf %m, %s : f32
  %z = arith.truncf %y : f32 to bf16
  %r = "fuse.store"(%o, %z, %true) {at = ["d0 + d2*32", "d1"], mode = "set"} : (tensor<4224x12288xbf16>, bf16, i1) -> tensor<4224x12288xbf16>
  %q = "fuse.store"(%p, %t#0, %true) {at = ["d2", "d1"], mode = "set"} : (tensor<132x12288xf32>, f32, i1) -> tensor<132x12288xf32>
  %a = "fuse.store"(%n, %t#1, %true) {at = ["d2", "d1"], mode = "set"} : (tensor<132x12288xf32>, f32, i1) -> tensor<132x12288xf32>
  return %r, %q, %a : tensor<4224x12288xbf16>, tensor<132x12288xf32>, tensor<132x12288xf32>
}

// -----

// Rows and columns of what takes many instructions: 16 warps, so that a thread has eight elements.
// CHECK-LABEL: @rows_and_columns_of_kernels
// CHECK-SAME: num_warps = 16
func.func private @rows_and_columns_of_kernels(%x: tensor<4096x4096xf32>, %w: tensor<f32>, %o: tensor<4096xf32>, %p: tensor<4096xf32>)
    -> (tensor<4096xf32>, tensor<4096xf32>)
    attributes {fuse.kernel, fuse.dims = {d0 = "4096", d1 = "4096"}, fuse.ties = array<i64: 2, 3>} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : f32
  %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<4096x4096xf32>, i1, f32) -> f32
  %d = "fuse.load"(%w, %true, %zero) {at = []} : (tensor<f32>, i1, f32) -> f32
  %a0 = arith.divf %v, %d : f32
  %e0 = math.exp %a0 : f32
  %a1 = arith.divf %e0, %d : f32
  %e1 = math.exp %a1 : f32
  %a2 = arith.divf %e1, %d : f32
  %e2 = math.exp %a2 : f32
  %a3 = arith.divf %e2, %d : f32
  %e3 = math.exp %a3 : f32
  %a4 = arith.divf %e3, %d : f32
  %e4 = math.exp %a4 : f32
  %a5 = arith.divf %e4, %d : f32
  %e5 = math.exp %a5 : f32
  %a6 = arith.divf %e5, %d : f32
  %e6 = math.exp %a6 : f32
  %a7 = arith.divf %e6, %d : f32
  %e7 = math.exp %a7 : f32
  %a8 = arith.divf %e7, %d : f32
  %e8 = math.exp %a8 : f32
  %s = "fuse.reduce"(%e8) {kind = "sum", over = ["d1"]} : (f32) -> f32
  %r = "fuse.store"(%o, %s, %true) {at = ["d0"], mode = "set"} : (tensor<4096xf32>, f32, i1) -> tensor<4096xf32>
  %t = "fuse.reduce"(%e8) {kind = "sum", over = ["d0"]} : (f32) -> f32
  %q = "fuse.store"(%p, %t, %true) {at = ["d1"], mode = "set"} : (tensor<4096xf32>, f32, i1) -> tensor<4096xf32>
  return %r, %q : tensor<4096xf32>, tensor<4096xf32>
}

// -----

// Rows that are added at loaded indices, of which four numbers are read once: two vectors of a thread.
// CHECK-LABEL: func.func private @added_rows
// CHECK-SAME: axes = [{block = 16 : i64, dims = ["d0"], kind = "grid"}, {block = 64 : i64, dims = ["d1"], kind = "grid"}]
func.func private @added_rows(%x: tensor<1000x64xf32>, %a: tensor<8000xi64>, %b: tensor<8000xi64>, %n: tensor<1000xf32>, %o: tensor<1000x64xf32>) -> tensor<1000x64xf32>
    attributes {fuse.kernel, fuse.dims = {d0 = "8000", d1 = "64"}, fuse.ties = array<i64: 4>} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : f32
  %none = arith.constant 0 : i64
  %many = arith.constant 1000 : i64
  %i = "fuse.load"(%a, %true, %none) {at = ["d0"]} : (tensor<8000xi64>, i1, i64) -> i64
  %in = arith.cmpi ult, %i, %many : i64
  %j = "fuse.load"(%b, %true, %none) {at = ["d0"]} : (tensor<8000xi64>, i1, i64) -> i64
  %jn = arith.cmpi ult, %j, %many : i64
  %v = "fuse.load"(%x, %in, %zero, %i) {at = ["i0", "d1"]} : (tensor<1000x64xf32>, i1, f32, i64) -> f32
  %da = "fuse.load"(%n, %jn, %zero, %j) {at = ["i0"]} : (tensor<1000xf32>, i1, f32, i64) -> f32
  %db = "fuse.load"(%n, %in, %zero, %i) {at = ["i0"]} : (tensor<1000xf32>, i1, f32, i64) -> f32
  %w = arith.mulf %da, %db : f32
  %y = arith.mulf %v, %w : f32
  %r = "fuse.store"(%o, %y, %jn, %j) {at = ["i0", "d1"], mode = "add"} : (tensor<1000x64xf32>, f32, i1, i64) -> tensor<1000x64xf32>
  return %r : tensor<1000x64xf32>
}

// -----

// Must not fire: three are read once.
// CHECK-LABEL: func.func private @added_rows_of_three
// CHECK-SAME: dims = ["d0", "d1"], kind = "grid"}]
func.func private @added_rows_of_three(%x: tensor<1000x64xf32>, %a: tensor<8000xi64>, %b: tensor<8000xi64>, %n: tensor<1000xf32>, %o: tensor<1000x64xf32>) -> tensor<1000x64xf32>
    attributes {fuse.kernel, fuse.dims = {d0 = "8000", d1 = "64"}, fuse.ties = array<i64: 4>} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : f32
  %none = arith.constant 0 : i64
  %many = arith.constant 1000 : i64
  %i = "fuse.load"(%a, %true, %none) {at = ["d0"]} : (tensor<8000xi64>, i1, i64) -> i64
  %in = arith.cmpi ult, %i, %many : i64
  %j = "fuse.load"(%b, %true, %none) {at = ["d0"]} : (tensor<8000xi64>, i1, i64) -> i64
  %jn = arith.cmpi ult, %j, %many : i64
  %v = "fuse.load"(%x, %in, %zero, %i) {at = ["i0", "d1"]} : (tensor<1000x64xf32>, i1, f32, i64) -> f32
  %da = "fuse.load"(%n, %jn, %zero, %j) {at = ["i0"]} : (tensor<1000xf32>, i1, f32, i64) -> f32
  %db = arith.constant 2.0 : f32
  %w = arith.mulf %da, %db : f32
  %y = arith.mulf %v, %w : f32
  %r = "fuse.store"(%o, %y, %jn, %j) {at = ["i0", "d1"], mode = "add"} : (tensor<1000x64xf32>, f32, i1, i64) -> tensor<1000x64xf32>
  return %r : tensor<1000x64xf32>
}
