// RUN: fuse-opt %s --pass-pipeline="builtin.module(choose-tiling{hardware=h200})" | FileCheck %s

// At most 64 rows: one block holds them all, whatever their number is, and the weights are read once.
// CHECK-LABEL: func.func private @at_most_64
// CHECK-SAME: {block = 64 : i64, dims = ["d0"], kind = "grid"}

// Must not fire: blocks for the hint's 16 rows, where there may be more than 64, or any number.
// CHECK-LABEL: func.func private @at_most_65
// CHECK-SAME: {block = 16 : i64, dims = ["d0"], kind = "grid"}
// CHECK-LABEL: func.func private @any_number
// CHECK-SAME: {block = 16 : i64, dims = ["d0"], kind = "grid"}

// 16 rows take narrow blocks of many summed elements, where there are many.
// CHECK-LABEL: func.func private @sixteen
// CHECK-SAME: {block = 16 : i64, dims = ["d0"], kind = "grid"}, {block = 32 : i64, dims = ["d1"], kind = "grid"}, {block = 256 : i64, dims = ["d2"], kind = "looped"}
module attributes {fuse.device = "cpu"} {
  func.func private @at_most_64(%x: tensor<?x4096xbf16, #fuse.layout<"s0,4096", "4096,1", "0", "">>, %w: tensor<14336x4096xbf16>, %o: tensor<?x14336xf32, #fuse.layout<"s0,14336", "14336,1", "0", "">>, %s0: index {fuse.sym = "s0", fuse.min = 2 : i64, fuse.max = 64 : i64, fuse.hint = 16 : i64}) -> tensor<?x14336xf32, #fuse.layout<"s0,14336", "14336,1", "0", "">>
      attributes {fuse.kernel, fuse.dims = {d0 = "s0", d1 = "14336", d2 = "4096"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d2"]} : (tensor<?x4096xbf16, #fuse.layout<"s0,4096", "4096,1", "0", "">>, i1, bf16) -> bf16
    %b = "fuse.load"(%w, %true, %zero) {at = ["d1", "d2"]} : (tensor<14336x4096xbf16>, i1, bf16) -> bf16
    %s = "fuse.dot"(%a, %b) {over = ["d2"]} : (bf16, bf16) -> f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<?x14336xf32, #fuse.layout<"s0,14336", "14336,1", "0", "">>, f32, i1) -> tensor<?x14336xf32, #fuse.layout<"s0,14336", "14336,1", "0", "">>
    return %r : tensor<?x14336xf32, #fuse.layout<"s0,14336", "14336,1", "0", "">>
  }
  func.func private @at_most_65(%x: tensor<?x4096xbf16, #fuse.layout<"s0,4096", "4096,1", "0", "">>, %w: tensor<14336x4096xbf16>, %o: tensor<?x14336xf32, #fuse.layout<"s0,14336", "14336,1", "0", "">>, %s0: index {fuse.sym = "s0", fuse.min = 2 : i64, fuse.max = 65 : i64, fuse.hint = 16 : i64}) -> tensor<?x14336xf32, #fuse.layout<"s0,14336", "14336,1", "0", "">>
      attributes {fuse.kernel, fuse.dims = {d0 = "s0", d1 = "14336", d2 = "4096"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d2"]} : (tensor<?x4096xbf16, #fuse.layout<"s0,4096", "4096,1", "0", "">>, i1, bf16) -> bf16
    %b = "fuse.load"(%w, %true, %zero) {at = ["d1", "d2"]} : (tensor<14336x4096xbf16>, i1, bf16) -> bf16
    %s = "fuse.dot"(%a, %b) {over = ["d2"]} : (bf16, bf16) -> f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<?x14336xf32, #fuse.layout<"s0,14336", "14336,1", "0", "">>, f32, i1) -> tensor<?x14336xf32, #fuse.layout<"s0,14336", "14336,1", "0", "">>
    return %r : tensor<?x14336xf32, #fuse.layout<"s0,14336", "14336,1", "0", "">>
  }
  func.func private @any_number(%x: tensor<?x4096xbf16, #fuse.layout<"s0,4096", "4096,1", "0", "">>, %w: tensor<14336x4096xbf16>, %o: tensor<?x14336xf32, #fuse.layout<"s0,14336", "14336,1", "0", "">>, %s0: index {fuse.sym = "s0", fuse.min = 2 : i64, fuse.hint = 16 : i64}) -> tensor<?x14336xf32, #fuse.layout<"s0,14336", "14336,1", "0", "">>
      attributes {fuse.kernel, fuse.dims = {d0 = "s0", d1 = "14336", d2 = "4096"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d2"]} : (tensor<?x4096xbf16, #fuse.layout<"s0,4096", "4096,1", "0", "">>, i1, bf16) -> bf16
    %b = "fuse.load"(%w, %true, %zero) {at = ["d1", "d2"]} : (tensor<14336x4096xbf16>, i1, bf16) -> bf16
    %s = "fuse.dot"(%a, %b) {over = ["d2"]} : (bf16, bf16) -> f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<?x14336xf32, #fuse.layout<"s0,14336", "14336,1", "0", "">>, f32, i1) -> tensor<?x14336xf32, #fuse.layout<"s0,14336", "14336,1", "0", "">>
    return %r : tensor<?x14336xf32, #fuse.layout<"s0,14336", "14336,1", "0", "">>
  }
  func.func private @sixteen(%x: tensor<16x14336xbf16>, %w: tensor<4096x14336xbf16>, %o: tensor<16x4096xf32>) -> tensor<16x4096xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "16", d1 = "4096", d2 = "14336"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d2"]} : (tensor<16x14336xbf16>, i1, bf16) -> bf16
    %b = "fuse.load"(%w, %true, %zero) {at = ["d1", "d2"]} : (tensor<4096x14336xbf16>, i1, bf16) -> bf16
    %s = "fuse.dot"(%a, %b) {over = ["d2"]} : (bf16, bf16) -> f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<16x4096xf32>, f32, i1) -> tensor<16x4096xf32>
    return %r : tensor<16x4096xf32>
  }
}
