// RUN: fuse-opt %s --pass-pipeline="builtin.module(unroll-reductions,fuse-vertical{hardware=h200})" --split-input-file --remarks=text 2>&1 >/dev/null | FileCheck %s

// A product of 8 x 8 matrices in front of another: eight copies of 15 operations and 16 loads.
// CHECK: passed: fuse-vertical: fused, {{.*}}: 2 kernels become one [product + again]
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<65536x8x8xf32>, %w: tensor<65536x8x8xf32>) -> tensor<65536x8x8xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<65536x8x8xf32>
    %y = call @product(%x, %w, %o) : (tensor<65536x8x8xf32>, tensor<65536x8x8xf32>, tensor<65536x8x8xf32>) -> tensor<65536x8x8xf32>
    %p = "fuse.empty"() {syms = []} : () -> tensor<65536x8x8xf32>
    %z = call @again(%y, %w, %p) : (tensor<65536x8x8xf32>, tensor<65536x8x8xf32>, tensor<65536x8x8xf32>) -> tensor<65536x8x8xf32>
    return %z : tensor<65536x8x8xf32>
  }
  func.func private @product(%x: tensor<65536x8x8xf32>, %w: tensor<65536x8x8xf32>, %o: tensor<65536x8x8xf32>) -> tensor<65536x8x8xf32> attributes {fuse.kernel, fuse.dims = {d0 = "65536", d1 = "8", d2 = "8", d3 = "8"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1", "d3"]} : (tensor<65536x8x8xf32>, i1, f32) -> f32
    %b = "fuse.load"(%w, %true, %zero) {at = ["d0", "d3", "d2"]} : (tensor<65536x8x8xf32>, i1, f32) -> f32
    %s = "fuse.dot"(%a, %b) {over = ["d3"]} : (f32, f32) -> f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d0", "d1", "d2"], mode = "set"} : (tensor<65536x8x8xf32>, f32, i1) -> tensor<65536x8x8xf32>
    return %r : tensor<65536x8x8xf32>
  }
  func.func private @again(%x: tensor<65536x8x8xf32>, %w: tensor<65536x8x8xf32>, %o: tensor<65536x8x8xf32>) -> tensor<65536x8x8xf32> attributes {fuse.kernel, fuse.dims = {d0 = "65536", d1 = "8", d2 = "8", d3 = "8"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1", "d3"]} : (tensor<65536x8x8xf32>, i1, f32) -> f32
    %b = "fuse.load"(%w, %true, %zero) {at = ["d0", "d3", "d2"]} : (tensor<65536x8x8xf32>, i1, f32) -> f32
    %s = "fuse.dot"(%a, %b) {over = ["d3"]} : (f32, f32) -> f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d0", "d1", "d2"], mode = "set"} : (tensor<65536x8x8xf32>, f32, i1) -> tensor<65536x8x8xf32>
    return %r : tensor<65536x8x8xf32>
  }
}

// -----

// Must not fire: of 16 x 16 matrices it would be sixteen copies of 31 operations and 32 loads.
// CHECK: missed: fuse-vertical: recompute, operations=1071, max_operations=512: product and again stay apart: the kernel would compute the same at too many coordinates: keep a result between
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<65536x16x16xf32>, %w: tensor<65536x16x16xf32>) -> tensor<65536x16x16xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<65536x16x16xf32>
    %y = call @product(%x, %w, %o) : (tensor<65536x16x16xf32>, tensor<65536x16x16xf32>, tensor<65536x16x16xf32>) -> tensor<65536x16x16xf32>
    %p = "fuse.empty"() {syms = []} : () -> tensor<65536x16x16xf32>
    %z = call @again(%y, %w, %p) : (tensor<65536x16x16xf32>, tensor<65536x16x16xf32>, tensor<65536x16x16xf32>) -> tensor<65536x16x16xf32>
    return %z : tensor<65536x16x16xf32>
  }
  func.func private @product(%x: tensor<65536x16x16xf32>, %w: tensor<65536x16x16xf32>, %o: tensor<65536x16x16xf32>) -> tensor<65536x16x16xf32> attributes {fuse.kernel, fuse.dims = {d0 = "65536", d1 = "16", d2 = "16", d3 = "16"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1", "d3"]} : (tensor<65536x16x16xf32>, i1, f32) -> f32
    %b = "fuse.load"(%w, %true, %zero) {at = ["d0", "d3", "d2"]} : (tensor<65536x16x16xf32>, i1, f32) -> f32
    %s = "fuse.dot"(%a, %b) {over = ["d3"]} : (f32, f32) -> f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d0", "d1", "d2"], mode = "set"} : (tensor<65536x16x16xf32>, f32, i1) -> tensor<65536x16x16xf32>
    return %r : tensor<65536x16x16xf32>
  }
  func.func private @again(%x: tensor<65536x16x16xf32>, %w: tensor<65536x16x16xf32>, %o: tensor<65536x16x16xf32>) -> tensor<65536x16x16xf32> attributes {fuse.kernel, fuse.dims = {d0 = "65536", d1 = "16", d2 = "16", d3 = "16"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1", "d3"]} : (tensor<65536x16x16xf32>, i1, f32) -> f32
    %b = "fuse.load"(%w, %true, %zero) {at = ["d0", "d3", "d2"]} : (tensor<65536x16x16xf32>, i1, f32) -> f32
    %s = "fuse.dot"(%a, %b) {over = ["d3"]} : (f32, f32) -> f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d0", "d1", "d2"], mode = "set"} : (tensor<65536x16x16xf32>, f32, i1) -> tensor<65536x16x16xf32>
    return %r : tensor<65536x16x16xf32>
  }
}
