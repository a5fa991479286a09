// Weights that are numbers of a short table, times a scale that the program rounds with them.
// RUN: fuse-opt %s --pass-pipeline="builtin.module(unpack-dots)" --split-input-file | FileCheck %s
// RUN: fuse-opt %s --pass-pipeline="builtin.module(unpack-dots)" --split-input-file --verify-each=numeric | FileCheck %s
// RUN: not fuse-opt %s --pass-pipeline="builtin.module(unpack-dots{table=16})" --split-input-file 2>&1 | FileCheck %s --check-prefix=BAD

// BAD: pass 'unpack-dots' has no option 'table'

// The scale stays at the weights, and is read once for each group, whose products are summed by themselves.
// CHECK-LABEL: func.func private @table
// CHECK-SAME: d2 = "16", d3 = "32"
// CHECK: "fuse.load"(%arg3, %true, %{{.*}}, %{{.*}}) {at = ["i0"]}
// CHECK: arith.mulf
// CHECK: %[[P:.*]] = "fuse.dot"(%{{.*}}) {over = ["d3"]}
// CHECK: %[[Q:.*]] = "fuse.dot"(%{{.*}}) {over = ["d3"]}
// CHECK: %[[T:.*]] = arith.addf %[[P]], %[[Q]] : f32
// CHECK: "fuse.reduce"(%[[T]]) {kind = "sum", over = ["d2"]} : (f32) -> f32
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<4x1024xbf16>, %w: tensor<1024x512xui8>, %s: tensor<1024x16xf32>, %t: tensor<16xf32>) -> tensor<4x1024xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<4x1024xf32>
    %y = call @table(%x, %w, %s, %t, %o) : (tensor<4x1024xbf16>, tensor<1024x512xui8>, tensor<1024x16xf32>, tensor<16xf32>, tensor<4x1024xf32>) -> tensor<4x1024xf32>
    return %y : tensor<4x1024xf32>
  }
  func.func private @table(%x: tensor<4x1024xbf16>, %w: tensor<1024x512xui8>, %s: tensor<1024x16xf32>, %t: tensor<16xf32>, %o: tensor<4x1024xf32>) -> tensor<4x1024xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "4", d1 = "1024", d2 = "16", d3 = "64"}, fuse.ties = array<i64: 4>} {
    %true = arith.constant true
    %none = arith.constant 0 : i8
    %zero = arith.constant 0.0 : bf16
    %wide = arith.constant 0.0 : f32
    %four = arith.constant 4 : i8
    %low = arith.constant 15 : i8
    %b = "fuse.load"(%w, %true, %none) {at = ["d1", "d2*32 + d3 floordiv 2"]} : (tensor<1024x512xui8>, i1, i8) -> i8
    %h = arith.shrui %b, %four : i8
    %l = arith.andi %b, %low : i8
    %i = "fuse.index"() {expr = "d3 mod 2"} : () -> i64
    %nought = arith.constant 0 : i64
    %first = arith.cmpi eq, %i, %nought : i64
    %c = arith.select %first, %h, %l : i8
    %n = arith.extui %c : i8 to i64
    %v = "fuse.load"(%t, %true, %wide, %n) {at = ["i0"]} : (tensor<16xf32>, i1, f32, i64) -> f32
    %g = "fuse.load"(%s, %true, %wide) {at = ["d1", "d2"]} : (tensor<1024x16xf32>, i1, f32) -> f32
    %p = arith.mulf %v, %g : f32
    %q = arith.truncf %p : f32 to bf16
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d2*64 + d3"]} : (tensor<4x1024xbf16>, i1, bf16) -> bf16
    %y = "fuse.dot"(%a, %q) {over = ["d2", "d3"]} : (bf16, bf16) -> f32
    %r = "fuse.store"(%o, %y, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<4x1024xf32>, f32, i1) -> tensor<4x1024xf32>
    return %r : tensor<4x1024xf32>
  }
}

// -----

// Must not fire: a table of more entries than a warp has lanes is looked up in memory.
// CHECK-LABEL: func.func private @long_table
// CHECK: "fuse.dot"(%{{.*}}) {over = ["d2", "d3", "d4"]}
// CHECK-NOT: fuse.reduce
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<4x1024xbf16>, %w: tensor<1024x512xui8>, %s: tensor<1024x16xf32>, %t: tensor<64xf32>) -> tensor<4x1024xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<4x1024xf32>
    %y = call @long_table(%x, %w, %s, %t, %o) : (tensor<4x1024xbf16>, tensor<1024x512xui8>, tensor<1024x16xf32>, tensor<64xf32>, tensor<4x1024xf32>) -> tensor<4x1024xf32>
    return %y : tensor<4x1024xf32>
  }
  func.func private @long_table(%x: tensor<4x1024xbf16>, %w: tensor<1024x512xui8>, %s: tensor<1024x16xf32>, %t: tensor<64xf32>, %o: tensor<4x1024xf32>) -> tensor<4x1024xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "4", d1 = "1024", d2 = "16", d3 = "64"}, fuse.ties = array<i64: 4>} {
    %true = arith.constant true
    %none = arith.constant 0 : i8
    %zero = arith.constant 0.0 : bf16
    %wide = arith.constant 0.0 : f32
    %four = arith.constant 4 : i8
    %low = arith.constant 15 : i8
    %b = "fuse.load"(%w, %true, %none) {at = ["d1", "d2*32 + d3 floordiv 2"]} : (tensor<1024x512xui8>, i1, i8) -> i8
    %h = arith.shrui %b, %four : i8
    %l = arith.andi %b, %low : i8
    %i = "fuse.index"() {expr = "d3 mod 2"} : () -> i64
    %nought = arith.constant 0 : i64
    %first = arith.cmpi eq, %i, %nought : i64
    %c = arith.select %first, %h, %l : i8
    %n = arith.extui %c : i8 to i64
    %v = "fuse.load"(%t, %true, %wide, %n) {at = ["i0"]} : (tensor<64xf32>, i1, f32, i64) -> f32
    %g = "fuse.load"(%s, %true, %wide) {at = ["d1", "d2"]} : (tensor<1024x16xf32>, i1, f32) -> f32
    %p = arith.mulf %v, %g : f32
    %q = arith.truncf %p : f32 to bf16
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d2*64 + d3"]} : (tensor<4x1024xbf16>, i1, bf16) -> bf16
    %y = "fuse.dot"(%a, %q) {over = ["d2", "d3"]} : (bf16, bf16) -> f32
    %r = "fuse.store"(%o, %y, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<4x1024xf32>, f32, i1) -> tensor<4x1024xf32>
    return %r : tensor<4x1024xf32>
  }
}
