// RUN: fuse-opt %s --pass-pipeline="builtin.module(apply-tiling)" --split-input-file | FileCheck %s

// The loop holds the elements that it has loaded.  After each reduction they are widened again, by PTX that is not
// merged with equal PTX, and the weights of all rows are loaded again, in the loop.
// CHECK-LABEL: func.func private @again
// CHECK: scf.for
// CHECK: %[[ROW:.*]] = "tt.load"({{.*}}-> tensor<512xbf16>
// CHECK: "tt.elementwise_inline_asm"(%[[ROW]]){{.*}}pure = false
// CHECK: "tt.load"({{.*}}isVolatile = true
// CHECK: "tt.reduce"
// CHECK: "tt.elementwise_inline_asm"(%[[ROW]]){{.*}}pure = false
// CHECK: "tt.load"({{.*}}isVolatile = true
// CHECK-NOT: isVolatile
// CHECK: scf.yield
// CHECK-NOT: isVolatile
// CHECK: return
func.func private @again(%x: tensor<4224x512xbf16>, %w: tensor<512xbf16>, %o: tensor<4224x512xbf16>, %p: tensor<132x512xf32>) -> (tensor<4224x512xbf16>, tensor<132x512xf32>)
    attributes {fuse.kernel, fuse.dims = {d0 = "32", d1 = "512", d2 = "132"}, fuse.ties = array<i64: 2, 3>, fuse.tile = {axes = [{dims = ["d2"], block = 1 : i64, kind = "grid"}, {dims = ["d0"], block = 1 : i64, kind = "looped"}, {dims = ["d1"], block = 512 : i64, kind = "resident"}], num_warps = 4 : i64, num_stages = 3 : i64, again}} {
  %true = arith.constant true
  %none = arith.constant 0.0 : bf16
  %h = "fuse.load"(%x, %true, %none) {at = ["d0 + d2*32", "d1"]} : (tensor<4224x512xbf16>, i1, bf16) -> bf16
  %g = "fuse.load"(%w, %true, %none) {at = ["d1"]} : (tensor<512xbf16>, i1, bf16) -> bf16
  %v = arith.extf %h : bf16 to f32
  %u = arith.extf %g : bf16 to f32
  %m = arith.mulf %v, %u : f32
  %s = "fuse.reduce"(%m) {kind = "sum", over = ["d1"]} : (f32) -> f32
  %t = "fuse.reduce"(%m) {kind = "sum", over = ["d0"]} : (f32) -> f32
  %y = arith.divf %m, %s : f32
  %z = arith.truncf %y : f32 to bf16
  %r = "fuse.store"(%o, %z, %true) {at = ["d0 + d2*32", "d1"], mode = "set"} : (tensor<4224x512xbf16>, bf16, i1) -> tensor<4224x512xbf16>
  %q = "fuse.store"(%p, %t, %true) {at = ["d2", "d1"], mode = "set"} : (tensor<132x512xf32>, f32, i1) -> tensor<132x512xf32>
  return %r, %q : tensor<4224x512xbf16>, tensor<132x512xf32>
}

// -----

// Must not fire: nothing says that the row is computed again.
// CHECK-LABEL: func.func private @held
// CHECK-NOT: isVolatile
// CHECK-NOT: pure = false
// CHECK: return
func.func private @held(%x: tensor<4224x512xbf16>, %w: tensor<512xbf16>, %o: tensor<4224x512xbf16>, %p: tensor<132x512xf32>) -> (tensor<4224x512xbf16>, tensor<132x512xf32>)
    attributes {fuse.kernel, fuse.dims = {d0 = "32", d1 = "512", d2 = "132"}, fuse.ties = array<i64: 2, 3>, fuse.tile = {axes = [{dims = ["d2"], block = 1 : i64, kind = "grid"}, {dims = ["d0"], block = 1 : i64, kind = "looped"}, {dims = ["d1"], block = 512 : i64, kind = "resident"}], num_warps = 4 : i64, num_stages = 3 : i64}} {
  %true = arith.constant true
  %none = arith.constant 0.0 : bf16
  %h = "fuse.load"(%x, %true, %none) {at = ["d0 + d2*32", "d1"]} : (tensor<4224x512xbf16>, i1, bf16) -> bf16
  %g = "fuse.load"(%w, %true, %none) {at = ["d1"]} : (tensor<512xbf16>, i1, bf16) -> bf16
  %v = arith.extf %h : bf16 to f32
  %u = arith.extf %g : bf16 to f32
  %m = arith.mulf %v, %u : f32
  %s = "fuse.reduce"(%m) {kind = "sum", over = ["d1"]} : (f32) -> f32
  %t = "fuse.reduce"(%m) {kind = "sum", over = ["d0"]} : (f32) -> f32
  %y = arith.divf %m, %s : f32
  %z = arith.truncf %y : f32 to bf16
  %r = "fuse.store"(%o, %z, %true) {at = ["d0 + d2*32", "d1"], mode = "set"} : (tensor<4224x512xbf16>, bf16, i1) -> tensor<4224x512xbf16>
  %q = "fuse.store"(%p, %t, %true) {at = ["d2", "d1"], mode = "set"} : (tensor<132x512xf32>, f32, i1) -> tensor<132x512xf32>
  return %r, %q : tensor<4224x512xbf16>, tensor<132x512xf32>
}
