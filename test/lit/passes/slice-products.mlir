// RUN: fuse-opt %s --pass-pipeline="builtin.module(slice-products{hardware=h200})" --split-input-file | FileCheck %s
// RUN: fuse-opt %s --pass-pipeline="builtin.module(slice-products{hardware=h200},slice-products{hardware=h200})" --split-input-file | FileCheck %s
// RUN: fuse-opt %s --pass-pipeline="builtin.module(slice-products{hardware=h200})" --split-input-file --remarks=text 2>&1 >/dev/null | FileCheck %s --check-prefix=SAID
// RUN: not fuse-opt %s --pass-pipeline="builtin.module(slice-products{hardware=abacus})" --split-input-file 2>&1 | FileCheck %s --check-prefix=BAD

// BAD: slice-products: unknown hardware 'abacus': expected one of a100,

// Four warps sum a slice each.
// SAID: passed: slice-products: sliced, slices=4: @fires sums 4 slices of d2 beside each other [fires]
// CHECK-LABEL: func.func private @fires
// CHECK-SAME: fuse.dims = {d0 = "4", d1 = "1024", d2 = "1", d3 = "4", d4 = "128"}
// CHECK: "fuse.load"(%{{.*}}) {at = ["d0", "d2*512 + d3*128 + d4"]}
// CHECK: "fuse.load"(%{{.*}}) {at = ["d1", "d2*512 + d3*128 + d4"]}
// CHECK: %[[P:.*]] = "fuse.dot"(%{{.*}}) {over = ["d2", "d4"]} : (bf16, bf16) -> f32
// CHECK-NEXT: %[[S:.*]] = "fuse.reduce"(%[[P]]) {kind = "sum", over = ["d3"]} : (f32) -> f32
// CHECK-NEXT: "fuse.store"(%{{.*}}, %[[S]],
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<4x512xbf16>, %w: tensor<1024x512xi8>) -> tensor<4x1024xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<4x1024xf32>
    %y = call @fires(%x, %w, %o) : (tensor<4x512xbf16>, tensor<1024x512xi8>, tensor<4x1024xf32>) -> tensor<4x1024xf32>
    return %y : tensor<4x1024xf32>
  }
  func.func private @fires(%x: tensor<4x512xbf16>, %w: tensor<1024x512xi8>, %o: tensor<4x1024xf32>) -> tensor<4x1024xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "4", d1 = "1024", d2 = "512"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %none = arith.constant 0 : i8
    %zero = arith.constant 0.0 : bf16
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d2"]} : (tensor<4x512xbf16>, i1, bf16) -> bf16
    %b = "fuse.load"(%w, %true, %none) {at = ["d1", "d2"]} : (tensor<1024x512xi8>, i1, i8) -> i8
    %f = arith.sitofp %b : i8 to bf16
    %s = "fuse.dot"(%a, %f) {over = ["d2"]} : (bf16, bf16) -> f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<4x1024xf32>, f32, i1) -> tensor<4x1024xf32>
    return %r : tensor<4x1024xf32>
  }
}

// -----

// Must not fire: 200 points are no whole number of steps.
// CHECK-LABEL: func.func private @uneven
// CHECK-SAME: fuse.dims = {d0 = "4", d1 = "1024", d2 = "200"}
// CHECK-NOT: fuse.reduce
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<4x512xbf16>, %w: tensor<1024x512xi8>) -> tensor<4x1024xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<4x1024xf32>
    %y = call @uneven(%x, %w, %o) : (tensor<4x512xbf16>, tensor<1024x512xi8>, tensor<4x1024xf32>) -> tensor<4x1024xf32>
    return %y : tensor<4x1024xf32>
  }
  func.func private @uneven(%x: tensor<4x512xbf16>, %w: tensor<1024x512xi8>, %o: tensor<4x1024xf32>) -> tensor<4x1024xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "4", d1 = "1024", d2 = "200"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %none = arith.constant 0 : i8
    %zero = arith.constant 0.0 : bf16
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d2"]} : (tensor<4x512xbf16>, i1, bf16) -> bf16
    %b = "fuse.load"(%w, %true, %none) {at = ["d1", "d2"]} : (tensor<1024x512xi8>, i1, i8) -> i8
    %f = arith.sitofp %b : i8 to bf16
    %s = "fuse.dot"(%a, %f) {over = ["d2"]} : (bf16, bf16) -> f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<4x1024xf32>, f32, i1) -> tensor<4x1024xf32>
    return %r : tensor<4x1024xf32>
  }
}

// -----

// Must not fire: something else is reduced, too.
// CHECK-LABEL: func.func private @reduces
// CHECK-SAME: fuse.dims = {d0 = "4", d1 = "1024", d2 = "512"}
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<4x512xbf16>, %w: tensor<1024x512xi8>) -> tensor<4x1024xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<4x1024xf32>
    %y = call @reduces(%x, %w, %o) : (tensor<4x512xbf16>, tensor<1024x512xi8>, tensor<4x1024xf32>) -> tensor<4x1024xf32>
    return %y : tensor<4x1024xf32>
  }
  func.func private @reduces(%x: tensor<4x512xbf16>, %w: tensor<1024x512xi8>, %o: tensor<4x1024xf32>) -> tensor<4x1024xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "4", d1 = "1024", d2 = "512"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %none = arith.constant 0 : i8
    %zero = arith.constant 0.0 : bf16
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d2"]} : (tensor<4x512xbf16>, i1, bf16) -> bf16
    %b = "fuse.load"(%w, %true, %none) {at = ["d1", "d2"]} : (tensor<1024x512xi8>, i1, i8) -> i8
    %f = arith.sitofp %b : i8 to bf16
    %c = "fuse.dot"(%a, %f) {over = ["d2"]} : (bf16, bf16) -> f32
    %m = "fuse.reduce"(%c) {kind = "max", over = ["d1"]} : (f32) -> f32
    %s = arith.subf %c, %m : f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<4x1024xf32>, f32, i1) -> tensor<4x1024xf32>
    return %r : tensor<4x1024xf32>
  }
}

// -----

// Must not fire: the weights are multiplied by two rows, and are not widened.
// CHECK-LABEL: func.func private @half
// CHECK-SAME: fuse.dims = {d0 = "2", d1 = "1024", d2 = "512"}
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<2x512xbf16>, %w: tensor<1024x512xbf16>) -> tensor<2x1024xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<2x1024xf32>
    %y = call @half(%x, %w, %o) : (tensor<2x512xbf16>, tensor<1024x512xbf16>, tensor<2x1024xf32>) -> tensor<2x1024xf32>
    return %y : tensor<2x1024xf32>
  }
  func.func private @half(%x: tensor<2x512xbf16>, %w: tensor<1024x512xbf16>, %o: tensor<2x1024xf32>) -> tensor<2x1024xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "2", d1 = "1024", d2 = "512"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %none = arith.constant 0 : i8
    %zero = arith.constant 0.0 : bf16
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d2"]} : (tensor<2x512xbf16>, i1, bf16) -> bf16
    %b = "fuse.load"(%w, %true, %zero) {at = ["d1", "d2"]} : (tensor<1024x512xbf16>, i1, bf16) -> bf16
    %s = "fuse.dot"(%a, %b) {over = ["d2"]} : (bf16, bf16) -> f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<2x1024xf32>, f32, i1) -> tensor<2x1024xf32>
    return %r : tensor<2x1024xf32>
  }
}

// -----

// Must not fire: the tile is chosen already.
// CHECK-LABEL: func.func private @chosen
// CHECK-SAME: fuse.dims = {d0 = "4", d1 = "1024", d2 = "512"}
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<4x512xbf16>, %w: tensor<1024x512xi8>) -> tensor<4x1024xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<4x1024xf32>
    %y = call @chosen(%x, %w, %o) : (tensor<4x512xbf16>, tensor<1024x512xi8>, tensor<4x1024xf32>) -> tensor<4x1024xf32>
    return %y : tensor<4x1024xf32>
  }
  func.func private @chosen(%x: tensor<4x512xbf16>, %w: tensor<1024x512xi8>, %o: tensor<4x1024xf32>) -> tensor<4x1024xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "4", d1 = "1024", d2 = "512"}, fuse.ties = array<i64: 2>,
                  fuse.tile = {axes = [{dims = ["d1"], block = 16 : i64, kind = "grid"}, {dims = ["d0"], block = 8 : i64, kind = "grid"}, {dims = ["d2"], block = 64 : i64, kind = "looped"}], num_warps = 1 : i64, num_stages = 3 : i64}} {
    %true = arith.constant true
    %none = arith.constant 0 : i8
    %zero = arith.constant 0.0 : bf16
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d2"]} : (tensor<4x512xbf16>, i1, bf16) -> bf16
    %b = "fuse.load"(%w, %true, %none) {at = ["d1", "d2"]} : (tensor<1024x512xi8>, i1, i8) -> i8
    %f = arith.sitofp %b : i8 to bf16
    %s = "fuse.dot"(%a, %f) {over = ["d2"]} : (bf16, bf16) -> f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<4x1024xf32>, f32, i1) -> tensor<4x1024xf32>
    return %r : tensor<4x1024xf32>
  }
}

// -----

// A single row of packed weights' products gets a dim of its own; the groups of weights are slices already.
// CHECK-LABEL: func.func private @one_row
// CHECK-SAME: fuse.dims = {d0 = "1024", d1 = "8", d2 = "64", d3 = "1"}
// CHECK: "fuse.load"(%{{.*}}) {at = ["d3", "d1*128 + d2*2"]}
// CHECK: "fuse.load"(%{{.*}}) {at = ["d3", "d1*128 + d2*2 + 1"]}
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<1x1024xbf16>, %w: tensor<1024x512xui8>, %s: tensor<1024x8xbf16>) -> tensor<1x1024xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<1x1024xf32>
    %y = call @one_row(%x, %w, %s, %o) : (tensor<1x1024xbf16>, tensor<1024x512xui8>, tensor<1024x8xbf16>, tensor<1x1024xf32>) -> tensor<1x1024xf32>
    return %y : tensor<1x1024xf32>
  }
  func.func private @one_row(%x: tensor<1x1024xbf16>, %w: tensor<1024x512xui8>, %s: tensor<1024x8xbf16>, %o: tensor<1x1024xf32>) -> tensor<1x1024xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "1024", d1 = "8", d2 = "64"}, fuse.ties = array<i64: 3>} {
    %true = arith.constant true
    %none = arith.constant 0 : i8
    %zero = arith.constant 0.0 : bf16
    %eight = arith.constant 8.0 : f32
    %four = arith.constant 4 : i8
    %low = arith.constant 15 : i8
    %b = "fuse.load"(%w, %true, %none) {at = ["d0", "d1*64 + d2"]} : (tensor<1024x512xui8>, i1, i8) -> i8
    %l = arith.andi %b, %low : i8
    %h = arith.shrui %b, %four : i8
    %l0 = arith.uitofp %l : i8 to bf16
    %h0 = arith.uitofp %h : i8 to bf16
    %l1 = arith.extf %l0 : bf16 to f32
    %h1 = arith.extf %h0 : bf16 to f32
    %l2 = arith.subf %l1, %eight : f32
    %h2 = arith.subf %h1, %eight : f32
    %l3 = arith.truncf %l2 : f32 to bf16
    %h3 = arith.truncf %h2 : f32 to bf16
    %x0 = "fuse.load"(%x, %true, %zero) {at = ["0", "d1*128 + d2*2"]} : (tensor<1x1024xbf16>, i1, bf16) -> bf16
    %x1 = "fuse.load"(%x, %true, %zero) {at = ["0", "d1*128 + d2*2 + 1"]} : (tensor<1x1024xbf16>, i1, bf16) -> bf16
    %g = "fuse.load"(%s, %true, %zero) {at = ["d0", "d1"]} : (tensor<1024x8xbf16>, i1, bf16) -> bf16
    %gw = arith.extf %g : bf16 to f32
    %p = "fuse.dot"(%x0, %l3) {over = ["d2"]} : (bf16, bf16) -> f32
    %q = "fuse.dot"(%x1, %h3) {over = ["d2"]} : (bf16, bf16) -> f32
    %t = arith.addf %p, %q : f32
    %u = arith.mulf %t, %gw : f32
    %v = "fuse.reduce"(%u) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %r = "fuse.store"(%o, %v, %true) {at = ["0", "d0"], mode = "set"} : (tensor<1x1024xf32>, f32, i1) -> tensor<1x1024xf32>
    return %r : tensor<1x1024xf32>
  }
}
