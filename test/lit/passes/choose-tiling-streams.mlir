// RUN: fuse-opt %s --pass-pipeline="builtin.module(choose-tiling{hardware=h200})" | FileCheck %s
// RUN: fuse-opt %s --pass-pipeline="builtin.module(choose-tiling{hardware=a100})" | FileCheck %s --check-prefix=A100
// RUN: fuse-opt %s --pass-pipeline="builtin.module(choose-tiling{hardware=h200 spilled=large})" | FileCheck %s --check-prefix=SPILLED

// A large product with a scale for each row: a program on each multiprocessor goes through blocks, and descriptors copy tiles.
// CHECK-LABEL: func.func private @large
// CHECK-SAME: num_stages = 3 : i64, num_warps = 8 : i64, programs = 132 : i64
// Must not fire: the GPU has no descriptors, or the tile has spilled.
// A100-LABEL: func.func private @large
// A100-NOT: programs =
// A100: func.func private @unaligned
// SPILLED-LABEL: func.func private @large
// SPILLED-NOT: programs =
// SPILLED: func.func private @unaligned
// Must not fire: rows of the right factor do not start at multiples of 16 bytes.
// CHECK-LABEL: func.func private @unaligned
// CHECK-NOT: programs =
// Must not fire: few blocks for each multiprocessor.
// CHECK: func.func private @small
// CHECK-NOT: programs =
// Must not fire: only torch knows where the left factor begins.
// CHECK: func.func private @anywhere
// CHECK-SAME: fuse.anywhere = array<i64: 0>
// CHECK-NOT: programs =
// CHECK: return
// Must not fire: an earlier run has said so.
// CHECK: func.func private @said
// CHECK-SAME: fuse.anywhere = array<i64: 1>
// CHECK-NOT: programs =
// CHECK: return
  func.func private @large(%x: tensor<8192x512xbf16>, %w: tensor<512x8192xbf16>, %s: tensor<8192xbf16>, %o: tensor<8192x8192xbf16>) -> tensor<8192x8192xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "8192", d1 = "8192", d2 = "512"}, fuse.ties = array<i64: 3>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d2"]} : (tensor<8192x512xbf16>, i1, bf16) -> bf16
    %b = "fuse.load"(%w, %true, %zero) {at = ["d2", "d1"]} : (tensor<512x8192xbf16>, i1, bf16) -> bf16
    %c = "fuse.dot"(%a, %b) {over = ["d2"]} : (bf16, bf16) -> f32
    %v = "fuse.load"(%s, %true, %zero) {at = ["d0"]} : (tensor<8192xbf16>, i1, bf16) -> bf16
    %e = arith.extf %v : bf16 to f32
    %p = arith.mulf %c, %e : f32
    %t = arith.truncf %p : f32 to bf16
    %r = "fuse.store"(%o, %t, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<8192x8192xbf16>, bf16, i1) -> tensor<8192x8192xbf16>
    return %r : tensor<8192x8192xbf16>
  }
  func.func private @unaligned(%x: tensor<8192x512xbf16>, %w: tensor<512x8192xbf16, #fuse.layout<"512,8192", "8196,1", "0", "">>, %s: tensor<8192xbf16>, %o: tensor<8192x8192xbf16>) -> tensor<8192x8192xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "8192", d1 = "8192", d2 = "512"}, fuse.ties = array<i64: 3>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d2"]} : (tensor<8192x512xbf16>, i1, bf16) -> bf16
    %b = "fuse.load"(%w, %true, %zero) {at = ["d2", "d1"]} : (tensor<512x8192xbf16, #fuse.layout<"512,8192", "8196,1", "0", "">>, i1, bf16) -> bf16
    %c = "fuse.dot"(%a, %b) {over = ["d2"]} : (bf16, bf16) -> f32
    %v = "fuse.load"(%s, %true, %zero) {at = ["d0"]} : (tensor<8192xbf16>, i1, bf16) -> bf16
    %e = arith.extf %v : bf16 to f32
    %p = arith.mulf %c, %e : f32
    %t = arith.truncf %p : f32 to bf16
    %r = "fuse.store"(%o, %t, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<8192x8192xbf16>, bf16, i1) -> tensor<8192x8192xbf16>
    return %r : tensor<8192x8192xbf16>
  }
  func.func private @small(%x: tensor<1024x512xbf16>, %w: tensor<512x2048xbf16>, %s: tensor<1024xbf16>, %o: tensor<1024x2048xbf16>) -> tensor<1024x2048xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "1024", d1 = "2048", d2 = "512"}, fuse.ties = array<i64: 3>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d2"]} : (tensor<1024x512xbf16>, i1, bf16) -> bf16
    %b = "fuse.load"(%w, %true, %zero) {at = ["d2", "d1"]} : (tensor<512x2048xbf16>, i1, bf16) -> bf16
    %c = "fuse.dot"(%a, %b) {over = ["d2"]} : (bf16, bf16) -> f32
    %v = "fuse.load"(%s, %true, %zero) {at = ["d0"]} : (tensor<1024xbf16>, i1, bf16) -> bf16
    %e = arith.extf %v : bf16 to f32
    %p = arith.mulf %c, %e : f32
    %t = arith.truncf %p : f32 to bf16
    %r = "fuse.store"(%o, %t, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<1024x2048xbf16>, bf16, i1) -> tensor<1024x2048xbf16>
    return %r : tensor<1024x2048xbf16>
  }
  func.func private @anywhere(%x: tensor<8192x512xbf16>, %w: tensor<512x8192xbf16>, %s: tensor<8192xbf16>, %o: tensor<8192x8192xbf16>) -> tensor<8192x8192xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "8192", d1 = "8192", d2 = "512"}, fuse.ties = array<i64: 3>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d2"]} : (tensor<8192x512xbf16>, i1, bf16) -> bf16
    %b = "fuse.load"(%w, %true, %zero) {at = ["d2", "d1"]} : (tensor<512x8192xbf16>, i1, bf16) -> bf16
    %c = "fuse.dot"(%a, %b) {over = ["d2"]} : (bf16, bf16) -> f32
    %v = "fuse.load"(%s, %true, %zero) {at = ["d0"]} : (tensor<8192xbf16>, i1, bf16) -> bf16
    %e = arith.extf %v : bf16 to f32
    %p = arith.mulf %c, %e : f32
    %t = arith.truncf %p : f32 to bf16
    %r = "fuse.store"(%o, %t, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<8192x8192xbf16>, bf16, i1) -> tensor<8192x8192xbf16>
    return %r : tensor<8192x8192xbf16>
  }
  func.func private @said(%x: tensor<8192x512xbf16>, %w: tensor<512x8192xbf16>, %s: tensor<8192xbf16>, %o: tensor<8192x8192xbf16>) -> tensor<8192x8192xbf16> attributes {fuse.kernel, fuse.anywhere = array<i64: 1>, fuse.dims = {d0 = "8192", d1 = "8192", d2 = "512"}, fuse.ties = array<i64: 3>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d2"]} : (tensor<8192x512xbf16>, i1, bf16) -> bf16
    %b = "fuse.load"(%w, %true, %zero) {at = ["d2", "d1"]} : (tensor<512x8192xbf16>, i1, bf16) -> bf16
    %c = "fuse.dot"(%a, %b) {over = ["d2"]} : (bf16, bf16) -> f32
    %v = "fuse.load"(%s, %true, %zero) {at = ["d0"]} : (tensor<8192xbf16>, i1, bf16) -> bf16
    %e = arith.extf %v : bf16 to f32
    %p = arith.mulf %c, %e : f32
    %t = arith.truncf %p : f32 to bf16
    %r = "fuse.store"(%o, %t, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<8192x8192xbf16>, bf16, i1) -> tensor<8192x8192xbf16>
    return %r : tensor<8192x8192xbf16>
  }
  func.func @main(%s: tensor<8192xbf16>, %w: tensor<512x8192xbf16>, %o: tensor<8192x8192xbf16>) -> tensor<8192x8192xbf16> {
    %x = call @part(%w) : (tensor<512x8192xbf16>) -> tensor<8192x512xbf16>
    %r = call @anywhere(%x, %w, %s, %o) : (tensor<8192x512xbf16>, tensor<512x8192xbf16>, tensor<8192xbf16>, tensor<8192x8192xbf16>) -> tensor<8192x8192xbf16>
    return %r : tensor<8192x8192xbf16>
  }
  func.func private @part(tensor<512x8192xbf16>) -> tensor<8192x512xbf16> attributes {fuse.aliases = {"0" = 0 : i64}, fuse.args = [#fuse.arg<0 : i64>, [8192, 512], [512, 1], 3], fuse.extern = "aten.as_strided.default", fuse.kwargs = {}}
