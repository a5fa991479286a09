// RUN: fuse-opt %s --pass-pipeline="builtin.module(choose-tiling{hardware=h200 spilled=product})" | FileCheck %s --check-prefix=ONCE
// RUN: fuse-opt %s --pass-pipeline="builtin.module(choose-tiling{hardware=h200 spilled=product,product})" | FileCheck %s --check-prefix=TWICE
// RUN: fuse-opt %s --pass-pipeline="builtin.module(choose-tiling{hardware=h200 spilled=product,product,product,product,product,product,product})" --remarks=text 2>&1 >/dev/null | FileCheck %s --check-prefix=LAST

// No tile has fewer elements of a thread.
// LAST: choose-tiling: blocks-of-products, num_warps=4, elements=16384, last=True: tile of @product: d0 grid 16, d1 grid 16
// LAST: choose-tiling: blocks-of-products, num_warps=8, elements=2097152: tile of @other

// The driver learns from the module which tile it was, and whether another one is left.
// ONCE: module attributes {{.*}}fuse.tiles = {other = {location = {{.*}}, text = "d0 grid 128, d1 grid 256, d2 looped 64"}, product = {location = {{.*}}, text = "d0 grid 128, d1 grid 128, d2 looped

// A product whose tile has spilled gets the best one of which a thread holds less: 128 x 256 elements in 8 warps are
// 128 of a thread, 128 x 128 are 64, and 64 x 64 in 4 warps are 32.
// ONCE-LABEL: func.func private @product
// ONCE-SAME: fuse.tile = {axes = [{block = 128 : i64, dims = ["d0"], kind = "grid"}, {block = 128 : i64, dims = ["d1"], kind = "grid"}
// ONCE-SAME: num_warps = 8 : i64
// TWICE-LABEL: func.func private @product
// TWICE-SAME: fuse.tile = {axes = [{block = 64 : i64, dims = ["d0"], kind = "grid"}, {block = 64 : i64, dims = ["d1"], kind = "grid"}
// TWICE-SAME: num_warps = 4 : i64

// Must not fire: another kernel keeps the best tile.
// ONCE-LABEL: func.func private @other
// ONCE-SAME: fuse.tile = {axes = [{block = 128 : i64, dims = ["d0"], kind = "grid"}, {block = 256 : i64, dims = ["d1"], kind = "grid"}
// TWICE-LABEL: func.func private @other
// TWICE-SAME: fuse.tile = {axes = [{block = 128 : i64, dims = ["d0"], kind = "grid"}, {block = 256 : i64, dims = ["d1"], kind = "grid"}
module attributes {fuse.device = "cpu"} {
  func.func private @product(%x: tensor<4096x4096xbf16>, %w: tensor<4096x4096xbf16>, %o: tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "4096", d1 = "4096", d2 = "4096"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d2"]} : (tensor<4096x4096xbf16>, i1, bf16) -> bf16
    %b = "fuse.load"(%w, %true, %zero) {at = ["d2", "d1"]} : (tensor<4096x4096xbf16>, i1, bf16) -> bf16
    %s = "fuse.dot"(%a, %b) {over = ["d2"]} : (bf16, bf16) -> f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<4096x4096xf32>, f32, i1) -> tensor<4096x4096xf32>
    return %r : tensor<4096x4096xf32>
  }
  func.func private @other(%x: tensor<4096x4096xbf16>, %w: tensor<4096x4096xbf16>, %o: tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "4096", d1 = "4096", d2 = "4096"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d2"]} : (tensor<4096x4096xbf16>, i1, bf16) -> bf16
    %b = "fuse.load"(%w, %true, %zero) {at = ["d2", "d1"]} : (tensor<4096x4096xbf16>, i1, bf16) -> bf16
    %s = "fuse.dot"(%a, %b) {over = ["d2"]} : (bf16, bf16) -> f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<4096x4096xf32>, f32, i1) -> tensor<4096x4096xf32>
    return %r : tensor<4096x4096xf32>
  }
}
