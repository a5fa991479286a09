// How chains of products of more than 128 columns are tiled.
// RUN: fuse-opt %s --pass-pipeline="builtin.module(choose-tiling{hardware=h200})" | FileCheck %s
// RUN: fuse-opt %s --pass-pipeline="builtin.module(choose-tiling{hardware=h200})" --remarks=text 2>&1 >/dev/null | FileCheck %s --check-prefix=RULE
// RUN: fuse-opt %s --pass-pipeline="builtin.module(choose-tiling{hardware=a100})" --remarks=text 2>&1 >/dev/null | FileCheck %s --check-prefix=A100
// RUN: fuse-opt %s --pass-pipeline="builtin.module(choose-tiling{hardware=h200 spilled=many})" --remarks=text 2>&1 >/dev/null | FileCheck %s --check-prefix=SPILLED

// Must not fire: the GPU has no descriptors.
// A100: choose-tiling: held-columns
// A100-NOT: weights-in-turn

// No blocks of fewer rows are better: each would copy all weights.
// SPILLED: choose-tiling: weights-in-turn, {{.*}}, last=True: tile of @many

// Many rows: each multiprocessor has a program, which copies weights for each of its blocks.  The few columns of the last
// product, which no descriptor names, have a place of their own.
// RULE: choose-tiling: weights-in-turn, {{.*}}, last=True: tile of @many
// CHECK-LABEL: func.func private @many
// CHECK-SAME: {block = 16 : i64, dims = ["d4"], kind = "resident"}
// CHECK-SAME: copied, num_stages = 1 : i64, num_warps = 8 : i64, programs = 132

// Must not fire: few rows.
// RULE: choose-tiling: held-columns, num_warps=8, elements={{[0-9]+}}: tile of @few
// CHECK-LABEL: func.func private @few
// CHECK-NOT: copied

// Must not fire: 128 columns.
// RULE: choose-tiling: held-columns, {{.*}}@narrow
// CHECK-LABEL: func.func private @narrow
// CHECK-NOT: copied

// Must not fire: tensor cores do not multiply exact float32.
// RULE: choose-tiling: held-columns, {{.*}}@exact
// CHECK-LABEL: func.func private @exact
// CHECK-NOT: copied

// Must not fire: rows of weights do not start at multiples of 16 bytes, and shared memory does not hold all.
// RULE: choose-tiling: held-columns, {{.*}}@strided
// CHECK-LABEL: func.func private @strided
// CHECK-NOT: copied
// CHECK: return
module attributes {fuse.device = "cpu"} {
  func.func @main(%x0: tensor<262144x64xbf16>, %w0: tensor<64x256xbf16>, %v0: tensor<256x256xbf16>, %u0: tensor<256x4xbf16>, %x1: tensor<4096x64xbf16>, %w1: tensor<64x256xbf16>, %v1: tensor<256x256xbf16>, %u1: tensor<256x4xbf16>, %x3: tensor<262144x64xbf16>, %w3: tensor<64x128xbf16>, %v3: tensor<128x128xbf16>, %u3: tensor<128x4xbf16>, %x4: tensor<262144x64xf32>, %w4: tensor<64x256xf32>, %v4: tensor<256x256xf32>, %u4: tensor<256x4xf32>, %x5: tensor<262144x64xbf16>, %w5: tensor<64x256xbf16, #fuse.layout<"64,256", "260,1", "0", "">>, %v5: tensor<256x256xbf16, #fuse.layout<"256,256", "260,1", "0", "">>, %u5: tensor<256x4xbf16>) -> (tensor<262144x4xbf16>, tensor<4096x4xbf16>, tensor<262144x4xbf16>, tensor<262144x4xf32>, tensor<262144x4xbf16>) {
    %o0 = "fuse.empty"() {syms = []} : () -> tensor<262144x4xbf16>
    %y0 = call @many(%x0, %w0, %v0, %u0, %o0) : (tensor<262144x64xbf16>, tensor<64x256xbf16>, tensor<256x256xbf16>, tensor<256x4xbf16>, tensor<262144x4xbf16>) -> tensor<262144x4xbf16>
    %o1 = "fuse.empty"() {syms = []} : () -> tensor<4096x4xbf16>
    %y1 = call @few(%x1, %w1, %v1, %u1, %o1) : (tensor<4096x64xbf16>, tensor<64x256xbf16>, tensor<256x256xbf16>, tensor<256x4xbf16>, tensor<4096x4xbf16>) -> tensor<4096x4xbf16>
    %o3 = "fuse.empty"() {syms = []} : () -> tensor<262144x4xbf16>
    %y3 = call @narrow(%x3, %w3, %v3, %u3, %o3) : (tensor<262144x64xbf16>, tensor<64x128xbf16>, tensor<128x128xbf16>, tensor<128x4xbf16>, tensor<262144x4xbf16>) -> tensor<262144x4xbf16>
    %o4 = "fuse.empty"() {syms = []} : () -> tensor<262144x4xf32>
    %y4 = call @exact(%x4, %w4, %v4, %u4, %o4) : (tensor<262144x64xf32>, tensor<64x256xf32>, tensor<256x256xf32>, tensor<256x4xf32>, tensor<262144x4xf32>) -> tensor<262144x4xf32>
    %o5 = "fuse.empty"() {syms = []} : () -> tensor<262144x4xbf16>
    %y5 = call @strided(%x5, %w5, %v5, %u5, %o5) : (tensor<262144x64xbf16>, tensor<64x256xbf16, #fuse.layout<"64,256", "260,1", "0", "">>, tensor<256x256xbf16, #fuse.layout<"256,256", "260,1", "0", "">>, tensor<256x4xbf16>, tensor<262144x4xbf16>) -> tensor<262144x4xbf16>
    return %y0, %y1, %y3, %y4, %y5 : tensor<262144x4xbf16>, tensor<4096x4xbf16>, tensor<262144x4xbf16>, tensor<262144x4xf32>, tensor<262144x4xbf16>
  }
  func.func private @many(%x: tensor<262144x64xbf16>, %w: tensor<64x256xbf16>, %v: tensor<256x256xbf16>, %u: tensor<256x4xbf16>, %o: tensor<262144x4xbf16>) -> tensor<262144x4xbf16>
      attributes {fuse.kernel, fuse.dims = {d0 = "262144", d1 = "256", d2 = "64", d3 = "256", d4 = "4"}, fuse.ties = array<i64: 4>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d2"]} : (tensor<262144x64xbf16>, i1, bf16) -> bf16
    %b = "fuse.load"(%w, %true, %zero) {at = ["d2", "d1"]} : (tensor<64x256xbf16>, i1, bf16) -> bf16
    %s = "fuse.dot"(%a, %b) {over = ["d2"]} : (bf16, bf16) -> f32
    %h = arith.truncf %s : f32 to bf16
    %p = "fuse.load"(%v, %true, %zero) {at = ["d1", "d3"]} : (tensor<256x256xbf16>, i1, bf16) -> bf16
    %t = "fuse.dot"(%h, %p) {over = ["d1"]} : (bf16, bf16) -> f32
    %g = arith.truncf %t : f32 to bf16
    %q = "fuse.load"(%u, %true, %zero) {at = ["d3", "d4"]} : (tensor<256x4xbf16>, i1, bf16) -> bf16
    %y = "fuse.dot"(%g, %q) {over = ["d3"]} : (bf16, bf16) -> f32
    %z = arith.truncf %y : f32 to bf16
    %r = "fuse.store"(%o, %z, %true) {at = ["d0", "d4"], mode = "set"} : (tensor<262144x4xbf16>, bf16, i1) -> tensor<262144x4xbf16>
    return %r : tensor<262144x4xbf16>
  }
  func.func private @few(%x: tensor<4096x64xbf16>, %w: tensor<64x256xbf16>, %v: tensor<256x256xbf16>, %u: tensor<256x4xbf16>, %o: tensor<4096x4xbf16>) -> tensor<4096x4xbf16>
      attributes {fuse.kernel, fuse.dims = {d0 = "4096", d1 = "256", d2 = "64", d3 = "256", d4 = "4"}, fuse.ties = array<i64: 4>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d2"]} : (tensor<4096x64xbf16>, i1, bf16) -> bf16
    %b = "fuse.load"(%w, %true, %zero) {at = ["d2", "d1"]} : (tensor<64x256xbf16>, i1, bf16) -> bf16
    %s = "fuse.dot"(%a, %b) {over = ["d2"]} : (bf16, bf16) -> f32
    %h = arith.truncf %s : f32 to bf16
    %p = "fuse.load"(%v, %true, %zero) {at = ["d1", "d3"]} : (tensor<256x256xbf16>, i1, bf16) -> bf16
    %t = "fuse.dot"(%h, %p) {over = ["d1"]} : (bf16, bf16) -> f32
    %g = arith.truncf %t : f32 to bf16
    %q = "fuse.load"(%u, %true, %zero) {at = ["d3", "d4"]} : (tensor<256x4xbf16>, i1, bf16) -> bf16
    %y = "fuse.dot"(%g, %q) {over = ["d3"]} : (bf16, bf16) -> f32
    %z = arith.truncf %y : f32 to bf16
    %r = "fuse.store"(%o, %z, %true) {at = ["d0", "d4"], mode = "set"} : (tensor<4096x4xbf16>, bf16, i1) -> tensor<4096x4xbf16>
    return %r : tensor<4096x4xbf16>
  }
  func.func private @narrow(%x: tensor<262144x64xbf16>, %w: tensor<64x128xbf16>, %v: tensor<128x128xbf16>, %u: tensor<128x4xbf16>, %o: tensor<262144x4xbf16>) -> tensor<262144x4xbf16>
      attributes {fuse.kernel, fuse.dims = {d0 = "262144", d1 = "128", d2 = "64", d3 = "128", d4 = "4"}, fuse.ties = array<i64: 4>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d2"]} : (tensor<262144x64xbf16>, i1, bf16) -> bf16
    %b = "fuse.load"(%w, %true, %zero) {at = ["d2", "d1"]} : (tensor<64x128xbf16>, i1, bf16) -> bf16
    %s = "fuse.dot"(%a, %b) {over = ["d2"]} : (bf16, bf16) -> f32
    %h = arith.truncf %s : f32 to bf16
    %p = "fuse.load"(%v, %true, %zero) {at = ["d1", "d3"]} : (tensor<128x128xbf16>, i1, bf16) -> bf16
    %t = "fuse.dot"(%h, %p) {over = ["d1"]} : (bf16, bf16) -> f32
    %g = arith.truncf %t : f32 to bf16
    %q = "fuse.load"(%u, %true, %zero) {at = ["d3", "d4"]} : (tensor<128x4xbf16>, i1, bf16) -> bf16
    %y = "fuse.dot"(%g, %q) {over = ["d3"]} : (bf16, bf16) -> f32
    %z = arith.truncf %y : f32 to bf16
    %r = "fuse.store"(%o, %z, %true) {at = ["d0", "d4"], mode = "set"} : (tensor<262144x4xbf16>, bf16, i1) -> tensor<262144x4xbf16>
    return %r : tensor<262144x4xbf16>
  }
  func.func private @exact(%x: tensor<262144x64xf32>, %w: tensor<64x256xf32>, %v: tensor<256x256xf32>, %u: tensor<256x4xf32>, %o: tensor<262144x4xf32>) -> tensor<262144x4xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "262144", d1 = "256", d2 = "64", d3 = "256", d4 = "4"}, fuse.ties = array<i64: 4>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d2"]} : (tensor<262144x64xf32>, i1, f32) -> f32
    %b = "fuse.load"(%w, %true, %zero) {at = ["d2", "d1"]} : (tensor<64x256xf32>, i1, f32) -> f32
    %s = "fuse.dot"(%a, %b) {over = ["d2"]} : (f32, f32) -> f32
    %p = "fuse.load"(%v, %true, %zero) {at = ["d1", "d3"]} : (tensor<256x256xf32>, i1, f32) -> f32
    %t = "fuse.dot"(%s, %p) {over = ["d1"]} : (f32, f32) -> f32
    %q = "fuse.load"(%u, %true, %zero) {at = ["d3", "d4"]} : (tensor<256x4xf32>, i1, f32) -> f32
    %y = "fuse.dot"(%t, %q) {over = ["d3"]} : (f32, f32) -> f32
    %r = "fuse.store"(%o, %y, %true) {at = ["d0", "d4"], mode = "set"} : (tensor<262144x4xf32>, f32, i1) -> tensor<262144x4xf32>
    return %r : tensor<262144x4xf32>
  }
  func.func private @strided(%x: tensor<262144x64xbf16>, %w: tensor<64x256xbf16, #fuse.layout<"64,256", "260,1", "0", "">>, %v: tensor<256x256xbf16, #fuse.layout<"256,256", "260,1", "0", "">>, %u: tensor<256x4xbf16>, %o: tensor<262144x4xbf16>) -> tensor<262144x4xbf16>
      attributes {fuse.kernel, fuse.dims = {d0 = "262144", d1 = "256", d2 = "64", d3 = "256", d4 = "4"}, fuse.ties = array<i64: 4>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d2"]} : (tensor<262144x64xbf16>, i1, bf16) -> bf16
    %b = "fuse.load"(%w, %true, %zero) {at = ["d2", "d1"]} : (tensor<64x256xbf16, #fuse.layout<"64,256", "260,1", "0", "">>, i1, bf16) -> bf16
    %s = "fuse.dot"(%a, %b) {over = ["d2"]} : (bf16, bf16) -> f32
    %h = arith.truncf %s : f32 to bf16
    %p = "fuse.load"(%v, %true, %zero) {at = ["d1", "d3"]} : (tensor<256x256xbf16, #fuse.layout<"256,256", "260,1", "0", "">>, i1, bf16) -> bf16
    %t = "fuse.dot"(%h, %p) {over = ["d1"]} : (bf16, bf16) -> f32
    %g = arith.truncf %t : f32 to bf16
    %q = "fuse.load"(%u, %true, %zero) {at = ["d3", "d4"]} : (tensor<256x4xbf16>, i1, bf16) -> bf16
    %y = "fuse.dot"(%g, %q) {over = ["d3"]} : (bf16, bf16) -> f32
    %z = arith.truncf %y : f32 to bf16
    %r = "fuse.store"(%o, %z, %true) {at = ["d0", "d4"], mode = "set"} : (tensor<262144x4xbf16>, bf16, i1) -> tensor<262144x4xbf16>
    return %r : tensor<262144x4xbf16>
  }
}
