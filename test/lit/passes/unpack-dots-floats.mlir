// Weights that are floats of 8 bits, with a scale for each group.
// RUN: fuse-opt %s --pass-pipeline="builtin.module(unpack-dots)" --split-input-file | FileCheck %s
// RUN: fuse-opt %s --pass-pipeline="builtin.module(unpack-dots)" --split-input-file --verify-each=numeric | FileCheck %s
// RUN: not fuse-opt %s --pass-pipeline="builtin.module(unpack-dots{floats=8})" --split-input-file 2>&1 | FileCheck %s --check-prefix=BAD

// BAD: pass 'unpack-dots' has no option 'floats'

// CHECK-LABEL: func.func private @groups
// CHECK: %[[P:.*]] = "fuse.dot"(%{{.*}}) {over = ["d3"]} : (bf16, bf16) -> f32
// CHECK: %[[S:.*]] = arith.mulf %[[P]],
// CHECK: "fuse.reduce"(%[[S]]) {kind = "sum", over = ["d2"]}
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<4x1024xbf16>, %w: tensor<1024x1024xf8E4M3FN>, %s: tensor<1024x8xbf16>) -> tensor<4x1024xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<4x1024xf32>
    %y = call @groups(%x, %w, %s, %o) : (tensor<4x1024xbf16>, tensor<1024x1024xf8E4M3FN>, tensor<1024x8xbf16>, tensor<4x1024xf32>) -> tensor<4x1024xf32>
    return %y : tensor<4x1024xf32>
  }
  func.func private @groups(%x: tensor<4x1024xbf16>, %w: tensor<1024x1024xf8E4M3FN>, %s: tensor<1024x8xbf16>, %o: tensor<4x1024xf32>) -> tensor<4x1024xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "4", d1 = "1024", d2 = "8", d3 = "128"}, fuse.ties = array<i64: 3>} {
    %true = arith.constant true
    %none = arith.constant 0.0 : f8E4M3FN
    %zero = arith.constant 0.0 : bf16
    %b = "fuse.load"(%w, %true, %none) {at = ["d1", "d2*128 + d3"]} : (tensor<1024x1024xf8E4M3FN>, i1, f8E4M3FN) -> f8E4M3FN
    %v = arith.extf %b : f8E4M3FN to bf16
    %vw = arith.extf %v : bf16 to f32
    %g = "fuse.load"(%s, %true, %zero) {at = ["d1", "d2"]} : (tensor<1024x8xbf16>, i1, bf16) -> bf16
    %gw = arith.extf %g : bf16 to f32
    %p = arith.mulf %vw, %gw : f32
    %q = arith.truncf %p {fuse.implicit} : f32 to bf16
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d2*128 + d3"]} : (tensor<4x1024xbf16>, i1, bf16) -> bf16
    %y = "fuse.dot"(%a, %q) {over = ["d2", "d3"]} : (bf16, bf16) -> f32
    %r = "fuse.store"(%o, %y, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<4x1024xf32>, f32, i1) -> tensor<4x1024xf32>
    return %r : tensor<4x1024xf32>
  }
}

// -----

// Must not fire: the weights do not lie along the sum.
// CHECK-LABEL: func.func private @across
// CHECK: "fuse.dot"(%{{.*}}) {over = ["d2", "d3"]}
// CHECK-NOT: fuse.reduce
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<4x1024xbf16>, %w: tensor<1024x1024xf8E4M3FN>, %s: tensor<1024x8xbf16>) -> tensor<4x1024xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<4x1024xf32>
    %y = call @across(%x, %w, %s, %o) : (tensor<4x1024xbf16>, tensor<1024x1024xf8E4M3FN>, tensor<1024x8xbf16>, tensor<4x1024xf32>) -> tensor<4x1024xf32>
    return %y : tensor<4x1024xf32>
  }
  func.func private @across(%x: tensor<4x1024xbf16>, %w: tensor<1024x1024xf8E4M3FN>, %s: tensor<1024x8xbf16>, %o: tensor<4x1024xf32>) -> tensor<4x1024xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "4", d1 = "1024", d2 = "8", d3 = "128"}, fuse.ties = array<i64: 3>} {
    %true = arith.constant true
    %none = arith.constant 0.0 : f8E4M3FN
    %zero = arith.constant 0.0 : bf16
    %b = "fuse.load"(%w, %true, %none) {at = ["d2*128 + d3", "d1"]} : (tensor<1024x1024xf8E4M3FN>, i1, f8E4M3FN) -> f8E4M3FN
    %v = arith.extf %b : f8E4M3FN to bf16
    %vw = arith.extf %v : bf16 to f32
    %g = "fuse.load"(%s, %true, %zero) {at = ["d1", "d2"]} : (tensor<1024x8xbf16>, i1, bf16) -> bf16
    %gw = arith.extf %g : bf16 to f32
    %p = arith.mulf %vw, %gw : f32
    %q = arith.truncf %p {fuse.implicit} : f32 to bf16
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d2*128 + d3"]} : (tensor<4x1024xbf16>, i1, bf16) -> bf16
    %y = "fuse.dot"(%a, %q) {over = ["d2", "d3"]} : (bf16, bf16) -> f32
    %r = "fuse.store"(%o, %y, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<4x1024xf32>, f32, i1) -> tensor<4x1024xf32>
    return %r : tensor<4x1024xf32>
  }
}
