// Windows of 16-bit pixels: one address for all, runs of channels that are read in vectors, and no rounding of what is
// a number of 16 bits.
// RUN: fuse-opt %s --pass-pipeline="builtin.module(choose-tiling,apply-tiling)" --split-input-file | FileCheck %s

// Two neighbours share an address; the constant between them comes last.
// CHECK-LABEL: @neighbours
// CHECK: %[[P:.*]] = "tt.addptr"(%{{.*}}, %{{.*}}) : (tensor<256x!tt.ptr<bf16>>, tensor<256xi32>)
// CHECK: "tt.load"(%[[P]])
// CHECK: %[[ONE:.*]] = arith.constant dense<1> : tensor<256xi32>
// CHECK: %[[Q:.*]] = "tt.addptr"(%{{.*}}, %[[ONE]])
// CHECK: "tt.load"(%[[Q]])
// CHECK: %[[L:.*]] = arith.maximumf
// CHECK: %[[T:.*]] = arith.maximumf %[[L]], %{{.*}} : tensor<256xf32>
// CHECK: arith.truncf %[[T]]
func.func private @neighbours(%x: tensor<12582912xbf16>, %o: tensor<4194304xbf16>) -> tensor<4194304xbf16>
    attributes {fuse.kernel, fuse.dims = {d0 = "4194304"}, fuse.ties = array<i64: 1>} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : bf16
  %wide = arith.constant 0.0 : f32
  %a = "fuse.load"(%x, %true, %zero) {at = ["d0*3"]} : (tensor<12582912xbf16>, i1, bf16) -> bf16
  %b = "fuse.load"(%x, %true, %zero) {at = ["d0*3 + 1"]} : (tensor<12582912xbf16>, i1, bf16) -> bf16
  %aw = arith.extf %a : bf16 to f32
  %bw = arith.extf %b : bf16 to f32
  %l = arith.maximumf %aw, %bw : f32
  %ln = arith.truncf %l : f32 to bf16
  %lw = arith.extf %ln : bf16 to f32
  %y = arith.maximumf %lw, %wide : f32
  %yn = arith.truncf %y : f32 to bf16
  %r = "fuse.store"(%o, %yn, %true) {at = ["d0"], mode = "set"} : (tensor<4194304xbf16>, bf16, i1) -> tensor<4194304xbf16>
  return %r : tensor<4194304xbf16>
}

// -----

// A sum of two numbers of 16 bits is none, nor is the larger of a number and a tenth: their rounding stays.
// CHECK-LABEL: @sums
// CHECK: %[[S:.*]] = arith.addf
// CHECK: arith.truncf %[[S]]
// CHECK: arith.extf
// CHECK: %[[M:.*]] = arith.maximumf
// CHECK: arith.truncf %[[M]]
// CHECK: arith.extf
// CHECK: math.exp2
func.func private @sums(%x: tensor<4194304xbf16>, %o: tensor<4194304xbf16>) -> tensor<4194304xbf16>
    attributes {fuse.kernel, fuse.dims = {d0 = "4194304"}, fuse.ties = array<i64: 1>} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : bf16
  %tenth = arith.constant 0.1 : f32
  %a = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<4194304xbf16>, i1, bf16) -> bf16
  %aw = arith.extf %a : bf16 to f32
  %s = arith.addf %aw, %aw : f32
  %sn = arith.truncf %s : f32 to bf16
  %sw = arith.extf %sn : bf16 to f32
  %m = arith.maximumf %sw, %tenth : f32
  %mn = arith.truncf %m : f32 to bf16
  %mw = arith.extf %mn : bf16 to f32
  %y = math.exp2 %mw : f32
  %yn = arith.truncf %y : f32 to bf16
  %r = "fuse.store"(%o, %yn, %true) {at = ["d0"], mode = "set"} : (tensor<4194304xbf16>, bf16, i1) -> tensor<4194304xbf16>
  return %r : tensor<4194304xbf16>
}

// -----

// Every second pixel of 64 channels each: the channel is a term of its own, all else a multiple of 64.
// CHECK-LABEL: @pixels
// CHECK: %[[LANES:.*]] = "tt.make_range"
// CHECK: %[[PIXEL:.*]] = arith.divsi %[[LANES]], %[[N:.*]] : tensor<{{.*}}xi32>
// CHECK: %[[CHANNEL:.*]] = arith.remsi %[[LANES]], %[[N]]
// CHECK: arith.addi %{{.*}}, %[[CHANNEL]]
// CHECK: "tt.load"
func.func private @pixels(%x: tensor<64x112x112x64xbf16>, %o: tensor<64x56x56x64xbf16>) -> tensor<64x56x56x64xbf16>
    attributes {fuse.kernel, fuse.dims = {d0 = "64", d1 = "56", d2 = "56", d3 = "64"}, fuse.ties = array<i64: 1>} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : bf16
  %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1*2", "d2*2", "d3"]} : (tensor<64x112x112x64xbf16>, i1, bf16) -> bf16
  %r = "fuse.store"(%o, %a, %true) {at = ["d0", "d1", "d2", "d3"], mode = "set"} : (tensor<64x56x56x64xbf16>, bf16, i1) -> tensor<64x56x56x64xbf16>
  return %r : tensor<64x56x56x64xbf16>
}

// -----

// The ReLU of a sum is rounded once.
// CHECK-LABEL: @relu
// CHECK: %[[S:.*]] = arith.addf
// CHECK: arith.maximumf %[[S]],
func.func private @relu(%x: tensor<4194304xbf16>, %o: tensor<4194304xbf16>) -> tensor<4194304xbf16>
    attributes {fuse.kernel, fuse.dims = {d0 = "4194304"}, fuse.ties = array<i64: 1>} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : bf16
  %wide = arith.constant 0.0 : f32
  %a = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<4194304xbf16>, i1, bf16) -> bf16
  %aw = arith.extf %a : bf16 to f32
  %s = arith.addf %aw, %aw : f32
  %sn = arith.truncf %s : f32 to bf16
  %sw = arith.extf %sn : bf16 to f32
  %m = arith.maximumf %sw, %wide : f32
  %y = arith.truncf %m : f32 to bf16
  %r = "fuse.store"(%o, %y, %true) {at = ["d0"], mode = "set"} : (tensor<4194304xbf16>, bf16, i1) -> tensor<4194304xbf16>
  return %r : tensor<4194304xbf16>
}

// -----

// A bound that 16 bits do not have may lie between a number and what it is rounded to; a sum would see the difference.
// Two numbers are rounded at once.
// CHECK-LABEL: @bounded
// CHECK: %[[S:.*]] = arith.mulf
// CHECK: %[[W:.*]] = "tt.elementwise_inline_asm"(%[[S]]) {asm_string = "{ .reg .b32 both; cvt.rn.bf16x2.f32 both, $3, $2; {{.*}} packed_element = 2 : i32, pure = true} : (tensor<{{.*}}xf32>) -> tensor<{{.*}}xf32>
// CHECK: arith.maximumf %[[W]],
// CHECK: %[[V:.*]] = "tt.elementwise_inline_asm"
// CHECK: %[[L:.*]] = arith.maximumf %[[V]],
// CHECK: arith.addf %[[L]], %[[L]]
func.func private @bounded(%x: tensor<4194304xbf16>, %o: tensor<4194304xbf16>) -> tensor<4194304xbf16>
    attributes {fuse.kernel, fuse.dims = {d0 = "4194304"}, fuse.ties = array<i64: 1>} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : bf16
  %wide = arith.constant 0.0 : f32
  %tenth = arith.constant 0.1 : f32
  %a = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<4194304xbf16>, i1, bf16) -> bf16
  %aw = arith.extf %a : bf16 to f32
  %s = arith.mulf %aw, %tenth : f32
  %sn = arith.truncf %s : f32 to bf16
  %sw = arith.extf %sn : bf16 to f32
  %m = arith.maximumf %sw, %tenth : f32
  %t = arith.mulf %m, %aw : f32
  %tn = arith.truncf %t : f32 to bf16
  %tw = arith.extf %tn : bf16 to f32
  %l = arith.maximumf %tw, %wide : f32
  %u = arith.addf %l, %l : f32
  %y = arith.truncf %u : f32 to bf16
  %r = "fuse.store"(%o, %y, %true) {at = ["d0"], mode = "set"} : (tensor<4194304xbf16>, bf16, i1) -> tensor<4194304xbf16>
  return %r : tensor<4194304xbf16>
}

// -----

// A product that is rounded again is taken of pairs of 16 bits by the compiler, and what is stored is rounded for that.
// CHECK-LABEL: @rounded_anyway
// CHECK-NOT: "tt.elementwise_inline_asm"
// CHECK: return
func.func private @rounded_anyway(%x: tensor<4194304xbf16>, %o: tensor<4194304xbf16>, %p: tensor<4194304xbf16>) -> (tensor<4194304xbf16>, tensor<4194304xbf16>)
    attributes {fuse.kernel, fuse.dims = {d0 = "4194304"}, fuse.ties = array<i64: 1, 2>} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : bf16
  %a = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<4194304xbf16>, i1, bf16) -> bf16
  %aw = arith.extf %a : bf16 to f32
  %e = math.exp2 %aw : f32
  %en = arith.truncf %e : f32 to bf16
  %ew = arith.extf %en : bf16 to f32
  %y = arith.mulf %ew, %aw : f32
  %yn = arith.truncf %y : f32 to bf16
  %yw = arith.extf %yn : bf16 to f32
  %z = math.exp2 %yw : f32
  %zn = arith.truncf %z : f32 to bf16
  %r = "fuse.store"(%o, %yn, %true) {at = ["d0"], mode = "set"} : (tensor<4194304xbf16>, bf16, i1) -> tensor<4194304xbf16>
  %q = "fuse.store"(%p, %zn, %true) {at = ["d0"], mode = "set"} : (tensor<4194304xbf16>, bf16, i1) -> tensor<4194304xbf16>
  return %r, %q : tensor<4194304xbf16>, tensor<4194304xbf16>
}
