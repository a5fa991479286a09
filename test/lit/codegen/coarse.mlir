// What is rounded to 16 bits next is divided without a branch; one divisor for a row becomes a factor. Elsewhere division is exact.
// RUN: fuse-opt %s --pass-pipeline="builtin.module(choose-tiling,apply-tiling)" --split-input-file | FileCheck %s

// CHECK-LABEL: @sigmoid
// CHECK-NOT: tt.precise_divf
// CHECK: symbol = "__nv_fast_fdividef"
// CHECK: arith.truncf
func.func private @sigmoid(%x: tensor<4096xbf16>, %o: tensor<4096xbf16>) -> tensor<4096xbf16>
    attributes {fuse.kernel, fuse.dims = {d0 = "4096"}, fuse.ties = array<i64: 1>} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : bf16
  %one = arith.constant 1.0 : f32
  %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<4096xbf16>, i1, bf16) -> bf16
  %w = arith.extf %v : bf16 to f32
  %e = math.exp %w : f32
  %d = arith.addf %e, %one : f32
  %q = arith.divf %one, %d : f32
  %t = arith.truncf %q : f32 to bf16
  %r = "fuse.store"(%o, %t, %true) {at = ["d0"], mode = "set"} : (tensor<4096xbf16>, bf16, i1) -> tensor<4096xbf16>
  return %r : tensor<4096xbf16>
}

// -----

// A divisor below 2**-100 is scaled up together with what it divides: its reciprocal must not overflow.
// CHECK-LABEL: @rows
// CHECK: %[[D:.*]] = "tt.reduce"
// CHECK: %[[SMALL:.*]] = arith.cmpf olt, %{{.*}}, %{{.*}} : f32
// CHECK: %[[SCALE:.*]] = arith.select %[[SMALL]]
// CHECK: %[[R:.*]] = arith.divf %{{.*}}, %{{.*}} : f32
// CHECK-NOT: divf
// CHECK: arith.truncf
func.func private @rows(%x: tensor<64x4096xbf16>, %o: tensor<64x4096xbf16>) -> tensor<64x4096xbf16>
    attributes {fuse.kernel, fuse.dims = {d0 = "64", d1 = "4096"}, fuse.ties = array<i64: 1>} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : bf16
  %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<64x4096xbf16>, i1, bf16) -> bf16
  %w = arith.extf %v : bf16 to f32
  %d = "fuse.reduce"(%w) {kind = "sum", over = ["d1"]} : (f32) -> f32
  %q = arith.divf %w, %d : f32
  %t = arith.truncf %q : f32 to bf16
  %r = "fuse.store"(%o, %t, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<64x4096xbf16>, bf16, i1) -> tensor<64x4096xbf16>
  return %r : tensor<64x4096xbf16>
}

// -----

// Exact: the difference may cancel, so that the quotient's error is most of the result.
// CHECK-LABEL: @cancels
// CHECK: symbol = "llvm.nvvm.rcp.approx.ftz.f"
// CHECK-COUNT-2: math.fma
func.func private @cancels(%x: tensor<4096xbf16>, %o: tensor<4096xbf16>) -> tensor<4096xbf16>
    attributes {fuse.kernel, fuse.dims = {d0 = "4096"}, fuse.ties = array<i64: 1>} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : bf16
  %one = arith.constant 1.0 : f32
  %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<4096xbf16>, i1, bf16) -> bf16
  %w = arith.extf %v : bf16 to f32
  %q = arith.divf %one, %w : f32
  %d = arith.subf %q, %one : f32
  %t = arith.truncf %d : f32 to bf16
  %r = "fuse.store"(%o, %t, %true) {at = ["d0"], mode = "set"} : (tensor<4096xbf16>, bf16, i1) -> tensor<4096xbf16>
  return %r : tensor<4096xbf16>
}

// -----

// The divisor is known to be large enough: nothing is scaled.
// CHECK-LABEL: @bounded_rows
// CHECK: tt.reduce_return
// CHECK: %[[D:.*]] = arith.maximumf
// CHECK-NOT: arith.cmpf
// CHECK: arith.divf %{{.*}}, %[[D]] : f32
// CHECK-COUNT-1: arith.mulf
// CHECK-NOT: arith.mulf
// CHECK: arith.truncf
func.func private @bounded_rows(%x: tensor<64x4096xbf16>, %o: tensor<64x4096xbf16>) -> tensor<64x4096xbf16>
    attributes {fuse.kernel, fuse.dims = {d0 = "64", d1 = "4096"}, fuse.ties = array<i64: 1>} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : bf16
  %least = arith.constant 1.0e-12 : f32
  %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<64x4096xbf16>, i1, bf16) -> bf16
  %w = arith.extf %v : bf16 to f32
  %s = "fuse.reduce"(%w) {kind = "max", over = ["d1"]} : (f32) -> f32
  %d = arith.maximumf %s, %least : f32
  %q = arith.divf %w, %d : f32
  %t = arith.truncf %q : f32 to bf16
  %r = "fuse.store"(%o, %t, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<64x4096xbf16>, bf16, i1) -> tensor<64x4096xbf16>
  return %r : tensor<64x4096xbf16>
}

// -----

// Rounded, clamped and converted: the sum with 1.5 * 2**23 has done all of it.
// CHECK-LABEL: @bytes
// CHECK: %[[C:.*]] = arith.minimumf %{{.*}}, %{{.*}} : tensor<4096xf32>
// CHECK: %[[L:.*]] = arith.maximumf
// CHECK: %[[H:.*]] = arith.minimumf %[[L]]
// CHECK: %[[S:.*]] = arith.addf %[[H]]
// CHECK: "tt.bitcast"(%[[S]]) : (tensor<4096xf32>) -> tensor<4096xi32>
// CHECK-NOT: arith.fptosi
// CHECK: arith.trunci
func.func private @bytes(%x: tensor<4096xf32>, %o: tensor<4096xi8>) -> tensor<4096xi8>
    attributes {fuse.kernel, fuse.dims = {d0 = "4096"}, fuse.ties = array<i64: 1>,
                fuse.tile = {axes = [{dims = ["d0"], block = 4096 : i64, kind = "grid"}], num_warps = 8 : i64, num_stages = 1 : i64}} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : f32
  %low = arith.constant -127.0 : f32
  %high = arith.constant 127.0 : f32
  %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<4096xf32>, i1, f32) -> f32
  %n = math.roundeven %v : f32
  %a = arith.maximumf %n, %low : f32
  %b = arith.minimumf %a, %high : f32
  %i = arith.fptosi %b : f32 to i32
  %t = arith.trunci %i : i32 to i8
  %r = "fuse.store"(%o, %t, %true) {at = ["d0"], mode = "set"} : (tensor<4096xi8>, i8, i1) -> tensor<4096xi8>
  return %r : tensor<4096xi8>
}

// -----

// Not rounded to even, or clamped to what the sum cannot hold: converted.
// CHECK-LABEL: @truncated
// CHECK-COUNT-2: arith.fptosi
func.func private @truncated(%x: tensor<4096xf32>, %o: tensor<4096xi32>, %p: tensor<4096xi32>) -> (tensor<4096xi32>, tensor<4096xi32>)
    attributes {fuse.kernel, fuse.dims = {d0 = "4096"}, fuse.ties = array<i64: 1, 2>} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : f32
  %low = arith.constant -127.0 : f32
  %high = arith.constant 127.0 : f32
  %large = arith.constant 8388608.0 : f32
  %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<4096xf32>, i1, f32) -> f32
  %a = arith.maximumf %v, %low : f32
  %b = arith.minimumf %a, %high : f32
  %i = arith.fptosi %b : f32 to i32
  %r = "fuse.store"(%o, %i, %true) {at = ["d0"], mode = "set"} : (tensor<4096xi32>, i32, i1) -> tensor<4096xi32>
  %n = math.roundeven %v : f32
  %c = arith.maximumf %n, %low : f32
  %d = arith.minimumf %c, %large : f32
  %j = arith.fptosi %d : f32 to i32
  %s = "fuse.store"(%p, %j, %true) {at = ["d0"], mode = "set"} : (tensor<4096xi32>, i32, i1) -> tensor<4096xi32>
  return %r, %s : tensor<4096xi32>, tensor<4096xi32>
}

// -----

// NaN above 464, by a sign and not by a comparison; nothing where the value is clamped below that.
// CHECK-LABEL: @fp8
// CHECK: arith.shrsi
// CHECK: "tt.fp_to_fp"
// CHECK-NOT: arith.shrsi
// CHECK: "tt.fp_to_fp"
func.func private @fp8(%x: tensor<4096xf32>, %o: tensor<4096xf8E4M3FN>, %p: tensor<4096xf8E4M3FN>) -> (tensor<4096xf8E4M3FN>, tensor<4096xf8E4M3FN>)
    attributes {fuse.kernel, fuse.dims = {d0 = "4096"}, fuse.ties = array<i64: 1, 2>} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : f32
  %low = arith.constant -448.0 : f32
  %high = arith.constant 448.0 : f32
  %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<4096xf32>, i1, f32) -> f32
  %t = arith.truncf %v : f32 to f8E4M3FN
  %r = "fuse.store"(%o, %t, %true) {at = ["d0"], mode = "set"} : (tensor<4096xf8E4M3FN>, f8E4M3FN, i1) -> tensor<4096xf8E4M3FN>
  %a = arith.maximumf %v, %low : f32
  %b = arith.minimumf %a, %high : f32
  %c = arith.truncf %b : f32 to f8E4M3FN
  %s = "fuse.store"(%p, %c, %true) {at = ["d0"], mode = "set"} : (tensor<4096xf8E4M3FN>, f8E4M3FN, i1) -> tensor<4096xf8E4M3FN>
  return %r, %s : tensor<4096xf8E4M3FN>, tensor<4096xf8E4M3FN>
}

// -----

// Of a divisor for each element nothing is known: its quotient is scaled where it must be.
// CHECK-LABEL: @any_coarse_divisor
// CHECK-NOT: tt.precise_divf
// CHECK: arith.divf
func.func private @any_coarse_divisor(%x: tensor<4096xbf16>, %o: tensor<4096xbf16>) -> tensor<4096xbf16>
    attributes {fuse.kernel, fuse.dims = {d0 = "4096"}, fuse.ties = array<i64: 1>} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : bf16
  %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<4096xbf16>, i1, bf16) -> bf16
  %w = arith.extf %v : bf16 to f32
  %s = math.sin %w : f32
  %q = arith.divf %w, %s : f32
  %t = arith.truncf %q : f32 to bf16
  %r = "fuse.store"(%o, %t, %true) {at = ["d0"], mode = "set"} : (tensor<4096xbf16>, bf16, i1) -> tensor<4096xbf16>
  return %r : tensor<4096xbf16>
}

// -----

// In float32 a divisor of at least 1 needs no branch: an approximate reciprocal, and the quotient corrected by what it leaves.
// The exponential flushes, as 1 is added to it.
// CHECK-LABEL: @ordinary
// CHECK: symbol = "__nv_exp2f"
// CHECK: %[[D:.*]] = arith.minimumf
// CHECK: symbol = "llvm.nvvm.rcp.approx.ftz.f"
// CHECK: math.fma
// CHECK: math.fma
// CHECK-NOT: tt.precise_divf
// CHECK: tt.store
func.func private @ordinary(%x: tensor<64x4096xf32>, %o: tensor<64x4096xf32>) -> tensor<64x4096xf32>
    attributes {fuse.kernel, fuse.dims = {d0 = "64", d1 = "4096"}, fuse.ties = array<i64: 1>} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<64x4096xf32>, i1, f32) -> f32
  %n = arith.negf %v : f32
  %e = math.exp %n : f32
  %d = arith.addf %e, %one : f32
  %y = arith.divf %one, %d : f32
  %r = "fuse.store"(%o, %y, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<64x4096xf32>, f32, i1) -> tensor<64x4096xf32>
  return %r : tensor<64x4096xf32>
}

// -----

// One float32 divisor for a row: its reciprocal once, in two parts of one sign. Each element is multiplied by both.
// CHECK-LABEL: @float32_rows
// CHECK: %[[R:.*]] = "tt.precise_divf"(%{{.*}}, %{{.*}}) : (f32, f32) -> f32
// CHECK: %[[HIGH:.*]] = arith.mulf %[[R]], %{{.*}} : f32
// CHECK: %[[LEFT:.*]] = math.fma %{{.*}}, %[[HIGH]], %{{.*}} : f32
// CHECK: arith.mulf %[[LEFT]], %[[R]] : f32
// CHECK: arith.cmpf ord
// CHECK: %[[LOW:.*]] = arith.mulf
// CHECK: math.fma %{{.*}}, %{{.*}}, %[[LOW]]
// CHECK-NOT: tt.precise_divf
func.func private @float32_rows(%x: tensor<64x4096xf32>, %o: tensor<64x4096xf32>) -> tensor<64x4096xf32>
    attributes {fuse.kernel, fuse.dims = {d0 = "64", d1 = "4096"}, fuse.ties = array<i64: 1>} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<64x4096xf32>, i1, f32) -> f32
  %d = "fuse.reduce"(%v) {kind = "sum", over = ["d1"]} : (f32) -> f32
  %y = arith.divf %v, %d : f32
  %r = "fuse.store"(%o, %y, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<64x4096xf32>, f32, i1) -> tensor<64x4096xf32>
  return %r : tensor<64x4096xf32>
}

// -----

// A divisor for each element, of which nothing is known, is scaled, and the quotient corrected. No element has a branch, as in
// IEEE's own form; what is not finite, or 0, stays as the product.
// CHECK-LABEL: @any_divisor
// CHECK-NOT: tt.precise_divf
// CHECK: %[[SIZE:.*]] = math.absf %[[B:.*]] :
// CHECK: arith.cmpf olt, %[[SIZE]]
// CHECK: arith.cmpf ogt, %[[SIZE]]
// CHECK: arith.select
// CHECK: %[[SCALE:.*]] = arith.select
// CHECK: %[[OVER:.*]] = arith.mulf %{{.*}}, %[[SCALE]]
// CHECK: %[[BY:.*]] = arith.mulf %[[B]], %[[SCALE]]
// CHECK: %[[ROUGH:.*]] = "tt.extern_elementwise"(%[[BY]]) {{.*}}symbol = "llvm.nvvm.rcp.approx.ftz.f"
// CHECK: %[[GUESS:.*]] = arith.mulf %[[OVER]], %[[ROUGH]]
// CHECK: math.fma %[[BY]], %[[GUESS]], %{{.*}}
// CHECK: %[[RIGHT:.*]] = math.fma %{{.*}}, %[[ROUGH]], %[[GUESS]]
// CHECK: %[[KEPT:.*]] = arith.cmpf one, %[[RIGHT]]
// CHECK: arith.select %[[KEPT]], %[[RIGHT]], %[[GUESS]]
func.func private @any_divisor(%x: tensor<64x4096xf32>, %o: tensor<64x4096xf32>) -> tensor<64x4096xf32>
    attributes {fuse.kernel, fuse.dims = {d0 = "64", d1 = "4096"}, fuse.ties = array<i64: 1>} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<64x4096xf32>, i1, f32) -> f32
  %e = math.sin %v : f32
  %y = arith.divf %v, %e : f32
  %r = "fuse.store"(%o, %y, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<64x4096xf32>, f32, i1) -> tensor<64x4096xf32>
  return %r : tensor<64x4096xf32>
}

// -----

// A square root is 0, infinite, or far from the ends of the range, and so is its sum with what is not below 0: its reciprocal
// needs no scale.
// CHECK-LABEL: @moderate_divisor
// CHECK: %[[D:.*]] = arith.addf
// CHECK-NOT: arith.cmpf
// CHECK: %[[ROUGH:.*]] = "tt.extern_elementwise"(%[[D]]) {{.*}}symbol = "llvm.nvvm.rcp.approx.ftz.f"
// CHECK: arith.mulf %{{.*}}, %[[ROUGH]]
// CHECK: arith.cmpf one
func.func private @moderate_divisor(%x: tensor<64x4096xf32>, %z: tensor<64x4096xf32>, %o: tensor<64x4096xf32>) -> tensor<64x4096xf32>
    attributes {fuse.kernel, fuse.dims = {d0 = "64", d1 = "4096"}, fuse.ties = array<i64: 2>} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : f32
  %small = arith.constant 1.0e-12 : f32
  %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<64x4096xf32>, i1, f32) -> f32
  %w = "fuse.load"(%z, %true, %zero) {at = ["d0", "d1"]} : (tensor<64x4096xf32>, i1, f32) -> f32
  %s = math.sqrt %w : f32
  %d = arith.addf %s, %small : f32
  %y = arith.divf %v, %d : f32
  %r = "fuse.store"(%o, %y, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<64x4096xf32>, f32, i1) -> tensor<64x4096xf32>
  return %r : tensor<64x4096xf32>
}

// -----

// Must not fire: what is taken from a square root may leave anything. The divisor is scaled.
// CHECK-LABEL: @immoderate_divisor
// CHECK: arith.cmpf oeq
// CHECK: arith.cmpf oeq
// CHECK: %[[D:.*]] = arith.subf
// CHECK-NEXT: %[[SIZE:.*]] = math.absf %[[D]]
// CHECK: arith.cmpf olt, %[[SIZE]]
func.func private @immoderate_divisor(%x: tensor<64x4096xf32>, %z: tensor<64x4096xf32>, %o: tensor<64x4096xf32>) -> tensor<64x4096xf32>
    attributes {fuse.kernel, fuse.dims = {d0 = "64", d1 = "4096"}, fuse.ties = array<i64: 2>} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : f32
  %small = arith.constant 1.0e-12 : f32
  %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<64x4096xf32>, i1, f32) -> f32
  %w = "fuse.load"(%z, %true, %zero) {at = ["d0", "d1"]} : (tensor<64x4096xf32>, i1, f32) -> f32
  %s = math.sqrt %w : f32
  %d = arith.subf %s, %small : f32
  %y = arith.divf %v, %d : f32
  %r = "fuse.store"(%o, %y, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<64x4096xf32>, f32, i1) -> tensor<64x4096xf32>
  return %r : tensor<64x4096xf32>
}

// -----

// A constant has bits to spare: one comparison chooses the scale of it and of the divisor.
// CHECK-LABEL: @of_constant
// CHECK-COUNT-1: arith.cmpf olt
// CHECK-NOT: arith.cmpf ogt
// CHECK: "tt.extern_elementwise"
// CHECK: arith.cmpf one
func.func private @of_constant(%x: tensor<64x4096xf32>, %o: tensor<64x4096xf32>) -> tensor<64x4096xf32>
    attributes {fuse.kernel, fuse.dims = {d0 = "64", d1 = "4096"}, fuse.ties = array<i64: 1>} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : f32
  %three = arith.constant 3.0 : f32
  %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<64x4096xf32>, i1, f32) -> f32
  %y = arith.divf %three, %v : f32
  %r = "fuse.store"(%o, %y, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<64x4096xf32>, f32, i1) -> tensor<64x4096xf32>
  return %r : tensor<64x4096xf32>
}

// -----

// A hyperbolic tangent that is rounded at once: a rational function.
// CHECK-LABEL: @tanh_rounded
// CHECK: tt.clampf
// CHECK: symbol = "__nv_fast_fdividef"
// CHECK-NOT: __nv_tanhf
// CHECK: arith.truncf
func.func private @tanh_rounded(%x: tensor<64x4096xbf16>, %o: tensor<64x4096xbf16>) -> tensor<64x4096xbf16>
    attributes {fuse.kernel, fuse.dims = {d0 = "64", d1 = "4096"}, fuse.ties = array<i64: 1>} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : bf16
  %one = arith.constant 1.0 : f32
  %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<64x4096xbf16>, i1, bf16) -> bf16
  %w = arith.extf %v : bf16 to f32
  %e = math.tanh %w : f32
  %y = arith.truncf %e : f32 to bf16
  %r = "fuse.store"(%o, %y, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<64x4096xbf16>, bf16, i1) -> tensor<64x4096xbf16>
  return %r : tensor<64x4096xbf16>
}

// -----

// In float32 it is libdevice's.
// CHECK-LABEL: @tanh_exact
// CHECK: symbol = "__nv_tanhf"
func.func private @tanh_exact(%x: tensor<64x4096xf32>, %o: tensor<64x4096xf32>) -> tensor<64x4096xf32>
    attributes {fuse.kernel, fuse.dims = {d0 = "64", d1 = "4096"}, fuse.ties = array<i64: 1>} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<64x4096xf32>, i1, f32) -> f32
  %y = math.tanh %v : f32
  %r = "fuse.store"(%o, %y, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<64x4096xf32>, f32, i1) -> tensor<64x4096xf32>
  return %r : tensor<64x4096xf32>
}

// -----

// Beside 1 an error relative to 1 serves, through sums and products up to the rounding: 1 + t and 1 - t * t.
// CHECK-LABEL: @tanh_beside_one
// CHECK: symbol = "__nv_exp2f"
// CHECK-NOT: tt.clampf
// CHECK-NOT: __nv_tanhf
func.func private @tanh_beside_one(%x: tensor<64x4096xbf16>, %o: tensor<64x4096xbf16>) -> tensor<64x4096xbf16>
    attributes {fuse.kernel, fuse.dims = {d0 = "64", d1 = "4096"}, fuse.ties = array<i64: 1>} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : bf16
  %one = arith.constant 1.0 : f32
  %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<64x4096xbf16>, i1, bf16) -> bf16
  %w = arith.extf %v : bf16 to f32
  %t = math.tanh %w : f32
  %a = arith.addf %t, %one : f32
  %t2 = arith.mulf %t, %t : f32
  %b = arith.subf %one, %t2 : f32
  %c = arith.mulf %b, %w : f32
  %g = arith.addf %a, %c : f32
  %y = arith.truncf %g : f32 to bf16
  %r = "fuse.store"(%o, %y, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<64x4096xbf16>, bf16, i1) -> tensor<64x4096xbf16>
  return %r : tensor<64x4096xbf16>
}

// -----

// An error function that is rounded itself must be as exact for small arguments.
// CHECK-LABEL: @erf_rounded
// CHECK: math.erf
func.func private @erf_rounded(%x: tensor<64x4096xbf16>, %o: tensor<64x4096xbf16>) -> tensor<64x4096xbf16>
    attributes {fuse.kernel, fuse.dims = {d0 = "64", d1 = "4096"}, fuse.ties = array<i64: 1>} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : bf16
  %one = arith.constant 1.0 : f32
  %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<64x4096xbf16>, i1, bf16) -> bf16
  %w = arith.extf %v : bf16 to f32
  %e = math.erf %w : f32
  %y = arith.truncf %e : f32 to bf16
  %r = "fuse.store"(%o, %y, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<64x4096xbf16>, bf16, i1) -> tensor<64x4096xbf16>
  return %r : tensor<64x4096xbf16>
}

// -----

// What is compared shows its error.
// CHECK-LABEL: @erf_compared
// CHECK: math.erf
func.func private @erf_compared(%x: tensor<64x4096xbf16>, %o: tensor<64x4096xbf16>) -> tensor<64x4096xbf16>
    attributes {fuse.kernel, fuse.dims = {d0 = "64", d1 = "4096"}, fuse.ties = array<i64: 1>} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : bf16
  %one = arith.constant 1.0 : f32
  %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<64x4096xbf16>, i1, bf16) -> bf16
  %w = arith.extf %v : bf16 to f32
  %e = math.erf %w : f32
  %p = arith.addf %e, %one : f32
  %c = arith.cmpf olt, %p, %w : f32
  %q = arith.select %c, %p, %w : f32
  %y = arith.truncf %q : f32 to bf16
  %r = "fuse.store"(%o, %y, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<64x4096xbf16>, bf16, i1) -> tensor<64x4096xbf16>
  return %r : tensor<64x4096xbf16>
}

// -----

// Eager rounds the gate, which is read in float32: approximations that serve beside that rounding serve here.
// CHECK-LABEL: @gelu_in_float32
// CHECK-NOT: math.erf
// CHECK: symbol = "__nv_copysignf"
// CHECK-NOT: tt.precise_divf
// CHECK: math.sin
func.func private @gelu_in_float32(%x: tensor<64x4096xf32>, %o: tensor<64x4096xf32>) -> tensor<64x4096xf32>
    attributes {fuse.kernel, fuse.dims = {d0 = "64", d1 = "4096"}, fuse.ties = array<i64: 1>} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<64x4096xf32>, i1, f32) -> f32
  %e = math.erf %v : f32
  %p = arith.addf %e, %one : f32
  %g = arith.mulf %p, %v {fuse.coarse} : f32
  %c = math.cos %g : f32
  %q = arith.divf %g, %c {fuse.coarse} : f32
  %s = math.sin %q : f32
  %r = "fuse.store"(%o, %s, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<64x4096xf32>, f32, i1) -> tensor<64x4096xf32>
  return %r : tensor<64x4096xf32>
}

// -----

// Nothing says so here.
// CHECK-LABEL: @gelu_for_float32
// CHECK: math.erf
// CHECK: symbol = "llvm.nvvm.rcp.approx.ftz.f"
// CHECK-COUNT-2: math.fma
func.func private @gelu_for_float32(%x: tensor<64x4096xf32>, %o: tensor<64x4096xf32>) -> tensor<64x4096xf32>
    attributes {fuse.kernel, fuse.dims = {d0 = "64", d1 = "4096"}, fuse.ties = array<i64: 1>} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<64x4096xf32>, i1, f32) -> f32
  %e = math.erf %v : f32
  %p = arith.addf %e, %one : f32
  %g = arith.mulf %p, %v : f32
  %c = math.cos %g : f32
  %q = arith.divf %g, %c : f32
  %s = math.sin %q : f32
  %r = "fuse.store"(%o, %s, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<64x4096xf32>, f32, i1) -> tensor<64x4096xf32>
  return %r : tensor<64x4096xf32>
}

// -----

// A constant divisor: its reciprocal in two parts, the first rounded towards 0 (1/3 is 0x3EAAAAAA and 2**-24 / 3 more).
// CHECK-LABEL: @by_three
// CHECK: %[[V:.*]] = "tt.load"
// CHECK-DAG: %[[LOW:.*]] = arith.constant dense<1.98682155E-8>
// CHECK: %[[REST:.*]] = arith.mulf %[[V]], %[[LOW]]
// CHECK: %[[HIGH:.*]] = arith.constant dense<0.333333313>
// CHECK: math.fma %[[V]], %[[HIGH]], %[[REST]]
// CHECK-NOT: fma
func.func private @by_three(%x: tensor<4096xf32>, %o: tensor<4096xf32>) -> tensor<4096xf32>
    attributes {fuse.kernel, fuse.dims = {d0 = "4096"}, fuse.ties = array<i64: 1>} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : f32
  %by = arith.constant 3.0 : f32
  %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<4096xf32>, i1, f32) -> f32
  %q = arith.divf %v, %by : f32
  %r = "fuse.store"(%o, %q, %true) {at = ["d0"], mode = "set"} : (tensor<4096xf32>, f32, i1) -> tensor<4096xf32>
  return %r : tensor<4096xf32>
}

// -----

// Must not fire: a power of two has an exact reciprocal.
// CHECK-LABEL: @by_eight
// CHECK: arith.constant dense<1.250000e-01>
// CHECK: arith.mulf
// CHECK-NOT: fma
func.func private @by_eight(%x: tensor<4096xf32>, %o: tensor<4096xf32>) -> tensor<4096xf32>
    attributes {fuse.kernel, fuse.dims = {d0 = "4096"}, fuse.ties = array<i64: 1>} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : f32
  %by = arith.constant 8.0 : f32
  %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<4096xf32>, i1, f32) -> f32
  %q = arith.divf %v, %by : f32
  %r = "fuse.store"(%o, %q, %true) {at = ["d0"], mode = "set"} : (tensor<4096xf32>, f32, i1) -> tensor<4096xf32>
  return %r : tensor<4096xf32>
}

// -----

// Must not fire: the second part would be subnormal.
// CHECK-LABEL: @by_many
// CHECK: tt.precise_divf
func.func private @by_many(%x: tensor<4096xf32>, %o: tensor<4096xf32>) -> tensor<4096xf32>
    attributes {fuse.kernel, fuse.dims = {d0 = "4096"}, fuse.ties = array<i64: 1>} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : f32
  %by = arith.constant -3.0e30 : f32
  %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<4096xf32>, i1, f32) -> f32
  %q = arith.divf %v, %by : f32
  %r = "fuse.store"(%o, %q, %true) {at = ["d0"], mode = "set"} : (tensor<4096xf32>, f32, i1) -> tensor<4096xf32>
  return %r : tensor<4096xf32>
}

// -----

// A square root has no branch either: an approximate reciprocal root, corrected once; 0 and infinity are their own.
// CHECK-LABEL: @root
// CHECK: %[[OVER:.*]] = "tt.extern_elementwise"(%[[X:.*]]) {{.*}}symbol = "__nv_rsqrtf"
// CHECK: %[[GUESS:.*]] = arith.mulf %[[X]], %[[OVER]]
// CHECK: %[[LEFT:.*]] = math.fma %{{.*}}, %[[GUESS]], %[[X]]
// CHECK: math.fma %[[LEFT]], %{{.*}}, %[[GUESS]]
// CHECK: arith.select
// CHECK-NOT: tt.precise_sqrt

// Must not fire: of one number for all, a branch costs nothing.
// CHECK-LABEL: @scalar_root
// CHECK: "tt.precise_sqrt"(%{{.*}}) : (f32) -> f32
func.func private @root(%x: tensor<4096xf32>, %o: tensor<4096xf32>) -> tensor<4096xf32>
    attributes {fuse.kernel, fuse.dims = {d0 = "4096"}, fuse.ties = array<i64: 1>} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : f32
  %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<4096xf32>, i1, f32) -> f32
  %q = math.sqrt %v : f32
  %r = "fuse.store"(%o, %q, %true) {at = ["d0"], mode = "set"} : (tensor<4096xf32>, f32, i1) -> tensor<4096xf32>
  return %r : tensor<4096xf32>
}
func.func private @scalar_root(%x: tensor<4096xf32>, %n: tensor<f32>, %o: tensor<4096xf32>) -> tensor<4096xf32>
    attributes {fuse.kernel, fuse.dims = {d0 = "4096"}, fuse.ties = array<i64: 2>} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : f32
  %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<4096xf32>, i1, f32) -> f32
  %n0 = "fuse.load"(%n, %true, %zero) {at = []} : (tensor<f32>, i1, f32) -> f32
  %q = math.sqrt %n0 : f32
  %m = arith.mulf %v, %q : f32
  %r = "fuse.store"(%o, %m, %true) {at = ["d0"], mode = "set"} : (tensor<4096xf32>, f32, i1) -> tensor<4096xf32>
  return %r : tensor<4096xf32>
}

// -----

// What a division by a power of two leaves: exact without libdevice's loops.
// CHECK-LABEL: @remainder_by_two
// CHECK: arith.mulf
// CHECK: symbol = "__nv_truncf"
// CHECK: math.fma
// CHECK: symbol = "__nv_copysignf"
// CHECK-NOT: symbol = "__nv_fmodf"
func.func private @remainder_by_two(%x: tensor<4096xf32>, %o: tensor<4096xf32>) -> tensor<4096xf32>
    attributes {fuse.kernel, fuse.dims = {d0 = "4096"}, fuse.ties = array<i64: 1>} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : f32
  %two = arith.constant 2.0 : f32
  %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<4096xf32>, i1, f32) -> f32
  %q = arith.remf %v, %two : f32
  %r = "fuse.store"(%o, %q, %true) {at = ["d0"], mode = "set"} : (tensor<4096xf32>, f32, i1) -> tensor<4096xf32>
  return %r : tensor<4096xf32>
}

// -----

// Must not fire: the quotient of the largest numbers by a half is infinite.
// CHECK-LABEL: @remainder_by_half
// CHECK: symbol = "__nv_fmodf"
func.func private @remainder_by_half(%x: tensor<4096xf32>, %o: tensor<4096xf32>) -> tensor<4096xf32>
    attributes {fuse.kernel, fuse.dims = {d0 = "4096"}, fuse.ties = array<i64: 1>} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : f32
  %half = arith.constant 0.5 : f32
  %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<4096xf32>, i1, f32) -> f32
  %q = arith.remf %v, %half : f32
  %r = "fuse.store"(%o, %q, %true) {at = ["d0"], mode = "set"} : (tensor<4096xf32>, f32, i1) -> tensor<4096xf32>
  return %r : tensor<4096xf32>
}
