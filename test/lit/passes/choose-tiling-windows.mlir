// Products whose factor is read along overlapping windows, as the first convolution of a network: places come first in a tile, as
// Triton gives neighbouring lanes the first dim of a load without neighbours in memory, and the steps of the sum are written out,
// so that the offsets of a step are part of its instructions.
// RUN: fuse-opt %s --pass-pipeline="builtin.module(choose-tiling{hardware=h200})" --split-input-file | FileCheck %s

// Steps of 16, as a load in the shape of the result would get the layout that the result is stored in.
// CHECK-LABEL: func.func private @stem
// CHECK-SAME: {block = 128 : i64, dims = ["d0", "d2", "d3"], kind = "grid"}, {block = 32 : i64, dims = ["d1"], kind = "grid"}, {block = 16 : i64, dims = ["d4", "d5", "d6"], kind = "looped"}
// CHECK-SAME: num_stages = 1 : i64
// CHECK-SAME: written_out
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<8x3x224x224xbf16>, %w: tensor<32x3x3x3xbf16>) -> tensor<8x32x112x112xbf16> {
    %e = "fuse.empty"() {syms = []} : () -> tensor<8x32x112x112xbf16>
    %y = call @stem(%x, %w, %e) : (tensor<8x3x224x224xbf16>, tensor<32x3x3x3xbf16>, tensor<8x32x112x112xbf16>) -> tensor<8x32x112x112xbf16>
    return %y : tensor<8x32x112x112xbf16>
  }
  func.func private @stem(%x: tensor<8x3x224x224xbf16>, %w: tensor<32x3x3x3xbf16>, %o: tensor<8x32x112x112xbf16>) -> tensor<8x32x112x112xbf16>
      attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "32", d2 = "112", d3 = "112", d4 = "3", d5 = "3", d6 = "3"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %none = arith.constant 0 : i64
    %i = "fuse.index"() {expr = "d2*2 + d5 - 1"} : () -> i64
    %u = arith.cmpi sge, %i, %none : i64
    %j = "fuse.index"() {expr = "d3*2 + d6 - 1"} : () -> i64
    %v = arith.cmpi sge, %j, %none : i64
    %in = arith.andi %u, %v : i1
    %a = "fuse.load"(%x, %in, %zero) {at = ["d0", "d4", "d2*2 + d5 - 1", "d3*2 + d6 - 1"]} : (tensor<8x3x224x224xbf16>, i1, bf16) -> bf16
    %b = "fuse.load"(%w, %true, %zero) {at = ["d1", "d4", "d5", "d6"]} : (tensor<32x3x3x3xbf16>, i1, bf16) -> bf16
    %c = "fuse.dot"(%b, %a) {over = ["d4", "d5", "d6"]} : (bf16, bf16) -> f32
    %h = arith.truncf %c : f32 to bf16
    %r = "fuse.store"(%o, %h, %true) {at = ["d0", "d1", "d2", "d3"], mode = "set"} : (tensor<8x32x112x112xbf16>, bf16, i1) -> tensor<8x32x112x112xbf16>
    return %r : tensor<8x32x112x112xbf16>
  }
}

// -----

// CHECK-LABEL: func.func private @wide
// CHECK-SAME: {block = 128 : i64, dims = ["d0", "d2", "d3"], kind = "grid"}, {block = 64 : i64, dims = ["d1"], kind = "grid"}, {block = 32 : i64, dims = ["d4", "d5", "d6"], kind = "looped"}
// CHECK-SAME: written_out
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<8x3x224x224xbf16>, %w: tensor<64x3x7x7xbf16>) -> tensor<8x64x112x112xbf16> {
    %e = "fuse.empty"() {syms = []} : () -> tensor<8x64x112x112xbf16>
    %y = call @wide(%x, %w, %e) : (tensor<8x3x224x224xbf16>, tensor<64x3x7x7xbf16>, tensor<8x64x112x112xbf16>) -> tensor<8x64x112x112xbf16>
    return %y : tensor<8x64x112x112xbf16>
  }
  func.func private @wide(%x: tensor<8x3x224x224xbf16>, %w: tensor<64x3x7x7xbf16>, %o: tensor<8x64x112x112xbf16>) -> tensor<8x64x112x112xbf16>
      attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "64", d2 = "112", d3 = "112", d4 = "3", d5 = "7", d6 = "7"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %none = arith.constant 0 : i64
    %i = "fuse.index"() {expr = "d2*2 + d5 - 3"} : () -> i64
    %u = arith.cmpi sge, %i, %none : i64
    %j = "fuse.index"() {expr = "d3*2 + d6 - 3"} : () -> i64
    %v = arith.cmpi sge, %j, %none : i64
    %in = arith.andi %u, %v : i1
    %a = "fuse.load"(%x, %in, %zero) {at = ["d0", "d4", "d2*2 + d5 - 3", "d3*2 + d6 - 3"]} : (tensor<8x3x224x224xbf16>, i1, bf16) -> bf16
    %b = "fuse.load"(%w, %true, %zero) {at = ["d1", "d4", "d5", "d6"]} : (tensor<64x3x7x7xbf16>, i1, bf16) -> bf16
    %c = "fuse.dot"(%b, %a) {over = ["d4", "d5", "d6"]} : (bf16, bf16) -> f32
    %h = arith.truncf %c : f32 to bf16
    %r = "fuse.store"(%o, %h, %true) {at = ["d0", "d1", "d2", "d3"], mode = "set"} : (tensor<8x64x112x112xbf16>, bf16, i1) -> tensor<8x64x112x112xbf16>
    return %r : tensor<8x64x112x112xbf16>
  }
}

// -----

// Must not fire: windows lie beside each other, so that each number is read once.
// CHECK-LABEL: func.func private @patches
// CHECK-NOT: written_out
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<8x3x224x224xbf16>, %w: tensor<96x3x4x4xbf16>) -> tensor<8x96x56x56xbf16> {
    %e = "fuse.empty"() {syms = []} : () -> tensor<8x96x56x56xbf16>
    %y = call @patches(%x, %w, %e) : (tensor<8x3x224x224xbf16>, tensor<96x3x4x4xbf16>, tensor<8x96x56x56xbf16>) -> tensor<8x96x56x56xbf16>
    return %y : tensor<8x96x56x56xbf16>
  }
  func.func private @patches(%x: tensor<8x3x224x224xbf16>, %w: tensor<96x3x4x4xbf16>, %o: tensor<8x96x56x56xbf16>) -> tensor<8x96x56x56xbf16>
      attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "96", d2 = "56", d3 = "56", d4 = "3", d5 = "4", d6 = "4"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d4", "d2*4 + d5", "d3*4 + d6"]} : (tensor<8x3x224x224xbf16>, i1, bf16) -> bf16
    %b = "fuse.load"(%w, %true, %zero) {at = ["d1", "d4", "d5", "d6"]} : (tensor<96x3x4x4xbf16>, i1, bf16) -> bf16
    %c = "fuse.dot"(%b, %a) {over = ["d4", "d5", "d6"]} : (bf16, bf16) -> f32
    %h = arith.truncf %c : f32 to bf16
    %r = "fuse.store"(%o, %h, %true) {at = ["d0", "d1", "d2", "d3"], mode = "set"} : (tensor<8x96x56x56xbf16>, bf16, i1) -> tensor<8x96x56x56xbf16>
    return %r : tensor<8x96x56x56xbf16>
  }
}

// -----

// Must not fire: a sum of 512 elements would be written out in 16 steps.
// CHECK-LABEL: func.func private @long
// CHECK-NOT: written_out
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<8x32x64x64xbf16>, %w: tensor<64x32x4x4xbf16>) -> tensor<8x64x61x61xbf16> {
    %e = "fuse.empty"() {syms = []} : () -> tensor<8x64x61x61xbf16>
    %y = call @long(%x, %w, %e) : (tensor<8x32x64x64xbf16>, tensor<64x32x4x4xbf16>, tensor<8x64x61x61xbf16>) -> tensor<8x64x61x61xbf16>
    return %y : tensor<8x64x61x61xbf16>
  }
  func.func private @long(%x: tensor<8x32x64x64xbf16>, %w: tensor<64x32x4x4xbf16>, %o: tensor<8x64x61x61xbf16>) -> tensor<8x64x61x61xbf16>
      attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "64", d2 = "61", d3 = "61", d4 = "32", d5 = "4", d6 = "4"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d4", "d2*1 + d5", "d3*1 + d6"]} : (tensor<8x32x64x64xbf16>, i1, bf16) -> bf16
    %b = "fuse.load"(%w, %true, %zero) {at = ["d1", "d4", "d5", "d6"]} : (tensor<64x32x4x4xbf16>, i1, bf16) -> bf16
    %c = "fuse.dot"(%b, %a) {over = ["d4", "d5", "d6"]} : (bf16, bf16) -> f32
    %h = arith.truncf %c : f32 to bf16
    %r = "fuse.store"(%o, %h, %true) {at = ["d0", "d1", "d2", "d3"], mode = "set"} : (tensor<8x64x61x61xbf16>, bf16, i1) -> tensor<8x64x61x61xbf16>
    return %r : tensor<8x64x61x61xbf16>
  }
}
