// RUN: fuse-opt %s --pass-pipeline="builtin.module(apply-tiling)" --split-input-file --verify-diagnostics

// Bad input: tiles that the kernel does not fit.

// expected-error @+1 {{has no fuse.tile}}
func.func private @k(%x: tensor<8xf32>, %o: tensor<8xf32>) -> tensor<8xf32>
    attributes {fuse.kernel, fuse.dims = {d0 = "8"}, fuse.ties = array<i64: 1>} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : f32
  %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<8xf32>, i1, f32) -> f32
  %r = "fuse.store"(%o, %v, %true) {at = ["d0"], mode = "set"} : (tensor<8xf32>, f32, i1) -> tensor<8xf32>
  return %r : tensor<8xf32>
}

// -----

// expected-error @+1 {{fuse.tile has no 'axes'}}
func.func private @k(%x: tensor<8xf32>, %o: tensor<8xf32>) -> tensor<8xf32>
    attributes {fuse.kernel, fuse.dims = {d0 = "8"}, fuse.ties = array<i64: 1>, fuse.tile = {num_warps = 4 : i64, num_stages = 1 : i64}} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : f32
  %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<8xf32>, i1, f32) -> f32
  %r = "fuse.store"(%o, %v, %true) {at = ["d0"], mode = "set"} : (tensor<8xf32>, f32, i1) -> tensor<8xf32>
  return %r : tensor<8xf32>
}

// -----

// expected-error @+1 {{expected every dim in exactly one axis}}
func.func private @k(%x: tensor<8xf32>, %o: tensor<8xf32>) -> tensor<8xf32>
    attributes {fuse.kernel, fuse.dims = {d0 = "8"}, fuse.ties = array<i64: 1>, fuse.tile = {axes = [{dims = ["d1"], block = 8 : i64, kind = "grid"}], num_warps = 4 : i64, num_stages = 1 : i64}} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : f32
  %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<8xf32>, i1, f32) -> f32
  %r = "fuse.store"(%o, %v, %true) {at = ["d0"], mode = "set"} : (tensor<8xf32>, f32, i1) -> tensor<8xf32>
  return %r : tensor<8xf32>
}

// -----

// expected-error @+1 {{expected a block that is a power of two, got 6}}
func.func private @k(%x: tensor<8xf32>, %o: tensor<8xf32>) -> tensor<8xf32>
    attributes {fuse.kernel, fuse.dims = {d0 = "8"}, fuse.ties = array<i64: 1>, fuse.tile = {axes = [{dims = ["d0"], block = 6 : i64, kind = "grid"}], num_warps = 4 : i64, num_stages = 1 : i64}} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : f32
  %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<8xf32>, i1, f32) -> f32
  %r = "fuse.store"(%o, %v, %true) {at = ["d0"], mode = "set"} : (tensor<8xf32>, f32, i1) -> tensor<8xf32>
  return %r : tensor<8xf32>
}

// -----

// expected-error @+1 {{expected an axis kind of grid, resident, looped, got 'outer'}}
func.func private @k(%x: tensor<8xf32>, %o: tensor<8xf32>) -> tensor<8xf32>
    attributes {fuse.kernel, fuse.dims = {d0 = "8"}, fuse.ties = array<i64: 1>, fuse.tile = {axes = [{dims = ["d0"], block = 8 : i64, kind = "outer"}], num_warps = 4 : i64, num_stages = 1 : i64}} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : f32
  %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<8xf32>, i1, f32) -> f32
  %r = "fuse.store"(%o, %v, %true) {at = ["d0"], mode = "set"} : (tensor<8xf32>, f32, i1) -> tensor<8xf32>
  return %r : tensor<8xf32>
}

// -----

// expected-error @+1 {{expected 1, 2, 4, 8, 16 or 32 warps, got 3}}
func.func private @k(%x: tensor<8xf32>, %o: tensor<8xf32>) -> tensor<8xf32>
    attributes {fuse.kernel, fuse.dims = {d0 = "8"}, fuse.ties = array<i64: 1>, fuse.tile = {axes = [{dims = ["d0"], block = 8 : i64, kind = "grid"}], num_warps = 3 : i64, num_stages = 1 : i64}} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : f32
  %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<8xf32>, i1, f32) -> f32
  %r = "fuse.store"(%o, %v, %true) {at = ["d0"], mode = "set"} : (tensor<8xf32>, f32, i1) -> tensor<8xf32>
  return %r : tensor<8xf32>
}

// -----

// expected-error @+1 {{expected 1 to 16 stages, got 1000000000000}}
func.func private @k(%x: tensor<8xf32>, %o: tensor<8xf32>) -> tensor<8xf32>
    attributes {fuse.kernel, fuse.dims = {d0 = "8"}, fuse.ties = array<i64: 1>, fuse.tile = {axes = [{dims = ["d0"], block = 8 : i64, kind = "grid"}], num_warps = 4 : i64, num_stages = 1000000000000 : i64}} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : f32
  %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<8xf32>, i1, f32) -> f32
  %r = "fuse.store"(%o, %v, %true) {at = ["d0"], mode = "set"} : (tensor<8xf32>, f32, i1) -> tensor<8xf32>
  return %r : tensor<8xf32>
}

// -----

// expected-error @+1 {{expected 1 to 16 stages, got 17}}
func.func private @k(%x: tensor<8xf32>, %o: tensor<8xf32>) -> tensor<8xf32>
    attributes {fuse.kernel, fuse.dims = {d0 = "8"}, fuse.ties = array<i64: 1>, fuse.tile = {axes = [{dims = ["d0"], block = 8 : i64, kind = "grid"}], num_warps = 4 : i64, num_stages = 17 : i64}} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : f32
  %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<8xf32>, i1, f32) -> f32
  %r = "fuse.store"(%o, %v, %true) {at = ["d0"], mode = "set"} : (tensor<8xf32>, f32, i1) -> tensor<8xf32>
  return %r : tensor<8xf32>
}

// -----

// expected-error @+1 {{expected 1 to 16 stages, got 0}}
func.func private @k(%x: tensor<8xf32>, %o: tensor<8xf32>) -> tensor<8xf32>
    attributes {fuse.kernel, fuse.dims = {d0 = "8"}, fuse.ties = array<i64: 1>, fuse.tile = {axes = [{dims = ["d0"], block = 8 : i64, kind = "grid"}], num_warps = 4 : i64, num_stages = 0 : i64}} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : f32
  %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<8xf32>, i1, f32) -> f32
  %r = "fuse.store"(%o, %v, %true) {at = ["d0"], mode = "set"} : (tensor<8xf32>, f32, i1) -> tensor<8xf32>
  return %r : tensor<8xf32>
}

// -----

func.func private @k(%x: tensor<8xf32>, %o: tensor<f32>) -> tensor<f32>
    attributes {fuse.kernel, fuse.dims = {d0 = "8"}, fuse.ties = array<i64: 1>, fuse.tile = {axes = [{dims = ["d0"], block = 8 : i64, kind = "grid"}], num_warps = 4 : i64, num_stages = 1 : i64}} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : f32
  %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<8xf32>, i1, f32) -> f32
  // expected-error @+1 {{reduces over d0, which fuse.tile spreads over programs (a grid axis)}}
  %s = "fuse.reduce"(%v) {kind = "sum", over = ["d0"]} : (f32) -> f32
  %r = "fuse.store"(%o, %s, %true) {at = [], mode = "set"} : (tensor<f32>, f32, i1) -> tensor<f32>
  return %r : tensor<f32>
}

// -----

// A product needs a block along both of its sides.
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<64x64xbf16>, %w: tensor<64x64xbf16>) -> tensor<64x64xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<64x64xf32>
    %y = call @k(%x, %w, %o) : (tensor<64x64xbf16>, tensor<64x64xbf16>, tensor<64x64xf32>) -> tensor<64x64xf32>
    return %y : tensor<64x64xf32>
  }
  func.func private @k(%x: tensor<64x64xbf16>, %w: tensor<64x64xbf16>, %o: tensor<64x64xf32>) -> tensor<64x64xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "64", d1 = "64", d2 = "64"}, fuse.ties = array<i64: 2>,
                  fuse.tile = {axes = [{dims = ["d0"], block = 1 : i64, kind = "grid"}, {dims = ["d1"], block = 32 : i64, kind = "grid"}, {dims = ["d2"], block = 16 : i64, kind = "looped"}], num_warps = 4 : i64, num_stages = 1 : i64}} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d2"]} : (tensor<64x64xbf16>, i1, bf16) -> bf16
    %b = "fuse.load"(%w, %true, %zero) {at = ["d2", "d1"]} : (tensor<64x64xbf16>, i1, bf16) -> bf16
    // expected-error @+1 {{apply-tiling: kernel @k: fuse.dot needs a block of several points along one axis of each operand and along the axis that it sums, at most one more that both operands have, and one point along all others}}
    %s = "fuse.dot"(%a, %b) {over = ["d2"]} : (bf16, bf16) -> f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<64x64xf32>, f32, i1) -> tensor<64x64xf32>
    return %r : tensor<64x64xf32>
  }
}

// -----

// Blocks of a product are not small.
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<64x64xbf16>, %w: tensor<64x64xbf16>) -> tensor<64x64xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<64x64xf32>
    %y = call @k(%x, %w, %o) : (tensor<64x64xbf16>, tensor<64x64xbf16>, tensor<64x64xf32>) -> tensor<64x64xf32>
    return %y : tensor<64x64xf32>
  }
  func.func private @k(%x: tensor<64x64xbf16>, %w: tensor<64x64xbf16>, %o: tensor<64x64xf32>) -> tensor<64x64xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "64", d1 = "64", d2 = "64"}, fuse.ties = array<i64: 2>,
                  fuse.tile = {axes = [{dims = ["d0"], block = 8 : i64, kind = "grid"}, {dims = ["d1"], block = 32 : i64, kind = "grid"}, {dims = ["d2"], block = 16 : i64, kind = "looped"}], num_warps = 4 : i64, num_stages = 1 : i64}} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d2"]} : (tensor<64x64xbf16>, i1, bf16) -> bf16
    %b = "fuse.load"(%w, %true, %zero) {at = ["d2", "d1"]} : (tensor<64x64xbf16>, i1, bf16) -> bf16
    // expected-error @+1 {{apply-tiling: kernel @k: expected m of at least 16, n of at least 8 and k of at least 16, got 8, 32 and 16}}
    %s = "fuse.dot"(%a, %b) {over = ["d2"]} : (bf16, bf16) -> f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<64x64xf32>, f32, i1) -> tensor<64x64xf32>
    return %r : tensor<64x64xf32>
  }
}

// -----

// Nor larger than Triton's tiles.
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<64x64xbf16>, %w: tensor<64x64xbf16>) -> tensor<64x64xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<64x64xf32>
    %y = call @k(%x, %w, %o) : (tensor<64x64xbf16>, tensor<64x64xbf16>, tensor<64x64xf32>) -> tensor<64x64xf32>
    return %y : tensor<64x64xf32>
  }
  // expected-error @+1 {{apply-tiling: kernel @k: expected a tile of at most 1048576 elements, got [4096, 512]}}
  func.func private @k(%x: tensor<64x64xbf16>, %w: tensor<64x64xbf16>, %o: tensor<64x64xf32>) -> tensor<64x64xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "64", d1 = "64", d2 = "64"}, fuse.ties = array<i64: 2>,
                  fuse.tile = {axes = [{dims = ["d0"], block = 4096 : i64, kind = "grid"}, {dims = ["d1"], block = 512 : i64, kind = "grid"}, {dims = ["d2"], block = 16 : i64, kind = "looped"}], num_warps = 4 : i64, num_stages = 1 : i64}} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d2"]} : (tensor<64x64xbf16>, i1, bf16) -> bf16
    %b = "fuse.load"(%w, %true, %zero) {at = ["d2", "d1"]} : (tensor<64x64xbf16>, i1, bf16) -> bf16
    %s = "fuse.dot"(%a, %b) {over = ["d2"]} : (bf16, bf16) -> f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<64x64xf32>, f32, i1) -> tensor<64x64xf32>
    return %r : tensor<64x64xf32>
  }
}

// -----

// Programs that go through several blocks copy tiles of 16-bit elements, and this result has 32 bits.
module attributes {fuse.device = "cpu"} {
  // expected-error @+1 {{apply-tiling: kernel @k: programs that go through several blocks and sum in a loop need one product of two matrices of 16-bit elements, whose factors and result lie in rows of a multiple of 16 bytes}}
  func.func private @k(%x: tensor<200x104xbf16>, %w: tensor<104x328xbf16, #fuse.layout<"104,328", "1,104", "0", "">>, %s: tensor<200xbf16>, %o: tensor<200x328xf32>) -> tensor<200x328xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "200", d1 = "328", d2 = "104"}, fuse.ties = array<i64: 3>,
                  fuse.tile = {axes = [{dims = ["d0"], block = 32 : i64, kind = "grid"}, {dims = ["d1"], block = 64 : i64, kind = "grid"}, {dims = ["d2"], block = 32 : i64, kind = "looped"}], group = 2 : i64, num_warps = 4 : i64, num_stages = 2 : i64, programs = 3 : i64}} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d2"]} : (tensor<200x104xbf16>, i1, bf16) -> bf16
    %b = "fuse.load"(%w, %true, %zero) {at = ["d2", "d1"]} : (tensor<104x328xbf16, #fuse.layout<"104,328", "1,104", "0", "">>, i1, bf16) -> bf16
    %c = "fuse.dot"(%a, %b) {over = ["d2"]} : (bf16, bf16) -> f32
    %v = "fuse.load"(%s, %true, %zero) {at = ["d0"]} : (tensor<200xbf16>, i1, bf16) -> bf16
    %e = arith.extf %v : bf16 to f32
    %p = arith.mulf %c, %e : f32
    %r = "fuse.store"(%o, %p, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<200x328xf32>, f32, i1) -> tensor<200x328xf32>
    return %r : tensor<200x328xf32>
  }
}

// -----

// Nor fewer than none of them.
module attributes {fuse.device = "cpu"} {
  // expected-error @+1 {{expected 0 or more programs, got -1}}
  func.func private @k(%x: tensor<200x104xbf16>, %w: tensor<104x328xbf16, #fuse.layout<"104,328", "1,104", "0", "">>, %s: tensor<200xbf16>, %o: tensor<200x328xbf16>) -> tensor<200x328xbf16>
      attributes {fuse.kernel, fuse.dims = {d0 = "200", d1 = "328", d2 = "104"}, fuse.ties = array<i64: 3>,
                  fuse.tile = {axes = [{dims = ["d0"], block = 32 : i64, kind = "grid"}, {dims = ["d1"], block = 64 : i64, kind = "grid"}, {dims = ["d2"], block = 32 : i64, kind = "looped"}], group = 2 : i64, num_warps = 4 : i64, num_stages = 2 : i64, programs = -1 : i64}} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d2"]} : (tensor<200x104xbf16>, i1, bf16) -> bf16
    %b = "fuse.load"(%w, %true, %zero) {at = ["d2", "d1"]} : (tensor<104x328xbf16, #fuse.layout<"104,328", "1,104", "0", "">>, i1, bf16) -> bf16
    %c = "fuse.dot"(%a, %b) {over = ["d2"]} : (bf16, bf16) -> f32
    %v = "fuse.load"(%s, %true, %zero) {at = ["d0"]} : (tensor<200xbf16>, i1, bf16) -> bf16
    %e = arith.extf %v : bf16 to f32
    %p = arith.mulf %c, %e : f32
    %t = arith.truncf %p : f32 to bf16
    %r = "fuse.store"(%o, %t, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<200x328xbf16>, bf16, i1) -> tensor<200x328xbf16>
    return %r : tensor<200x328xbf16>
  }
}

// -----

// Rows are computed again in a loop over rows that are held.
// expected-error @+1 {{expected a looped and a resident axis where rows are computed again}}
func.func private @k(%x: tensor<8x64xf32>, %o: tensor<8xf32>) -> tensor<8xf32>
    attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "64"}, fuse.ties = array<i64: 1>,
                fuse.tile = {again, axes = [{dims = ["d0"], block = 1 : i64, kind = "grid"}, {dims = ["d1"], block = 64 : i64, kind = "resident"}], num_warps = 1 : i64, num_stages = 1 : i64}} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : f32
  %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<8x64xf32>, i1, f32) -> f32
  %s = "fuse.reduce"(%v) {kind = "sum", over = ["d1"]} : (f32) -> f32
  %r = "fuse.store"(%o, %s, %true) {at = ["d0"], mode = "set"} : (tensor<8xf32>, f32, i1) -> tensor<8xf32>
  return %r : tensor<8xf32>
}

// -----

// Factors are copied for each block by programs that go through blocks.
// expected-error @+1 {{expected programs and no looped axis where factors are copied for each block}}
func.func private @k(%x: tensor<8x64xf32>, %o: tensor<8xf32>) -> tensor<8xf32>
    attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "64"}, fuse.ties = array<i64: 1>,
                fuse.tile = {axes = [{dims = ["d0"], block = 1 : i64, kind = "grid"}, {dims = ["d1"], block = 64 : i64, kind = "resident"}], copied, num_warps = 1 : i64, num_stages = 1 : i64}} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : f32
  %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<8x64xf32>, i1, f32) -> f32
  %s = "fuse.reduce"(%v) {kind = "sum", over = ["d1"]} : (f32) -> f32
  %r = "fuse.store"(%o, %s, %true) {at = ["d0"], mode = "set"} : (tensor<8xf32>, f32, i1) -> tensor<8xf32>
  return %r : tensor<8xf32>
}

// -----

// Steps that are written out are of a loop.
// expected-error @+1 {{expected a looped axis in one stage where steps are written out}}
func.func private @k(%x: tensor<8x64xf32>, %o: tensor<8xf32>) -> tensor<8xf32>
    attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "64"}, fuse.ties = array<i64: 1>,
                fuse.tile = {axes = [{dims = ["d0"], block = 1 : i64, kind = "grid"}, {dims = ["d1"], block = 64 : i64, kind = "resident"}], num_warps = 1 : i64, num_stages = 1 : i64, written_out}} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : f32
  %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<8x64xf32>, i1, f32) -> f32
  %s = "fuse.reduce"(%v) {kind = "sum", over = ["d1"]} : (f32) -> f32
  %r = "fuse.store"(%o, %s, %true) {at = ["d0"], mode = "set"} : (tensor<8xf32>, f32, i1) -> tensor<8xf32>
  return %r : tensor<8xf32>
}

// -----

// Steps that are written out are not pipelined.
// expected-error @+1 {{expected a looped axis in one stage where steps are written out}}
func.func private @k(%x: tensor<8x128xf32>, %o: tensor<8xf32>) -> tensor<8xf32>
    attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "128"}, fuse.ties = array<i64: 1>,
                fuse.tile = {axes = [{dims = ["d0"], block = 1 : i64, kind = "grid"}, {dims = ["d1"], block = 64 : i64, kind = "looped"}], num_warps = 1 : i64, num_stages = 2 : i64, written_out}} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : f32
  %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<8x128xf32>, i1, f32) -> f32
  %s = "fuse.reduce"(%v) {kind = "sum", over = ["d1"]} : (f32) -> f32
  %r = "fuse.store"(%o, %s, %true) {at = ["d0"], mode = "set"} : (tensor<8xf32>, f32, i1) -> tensor<8xf32>
  return %r : tensor<8xf32>
}

// -----

// Steps that are written out have a known number.
// expected-error @+1 {{apply-tiling: kernel @k: steps that are written out need a known number of blocks and no scan}}
func.func private @k(%x: tensor<8x?xf32, #fuse.layout<"8,s0", "s0,1", "0", "">>, %o: tensor<8xf32>, %s0: index {fuse.sym = "s0"}) -> tensor<8xf32>
    attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "s0"}, fuse.ties = array<i64: 1>,
                fuse.tile = {axes = [{dims = ["d0"], block = 1 : i64, kind = "grid"}, {dims = ["d1"], block = 64 : i64, kind = "looped"}], num_warps = 1 : i64, num_stages = 1 : i64, written_out}} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : f32
  %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<8x?xf32, #fuse.layout<"8,s0", "s0,1", "0", "">>, i1, f32) -> f32
  %s = "fuse.reduce"(%v) {kind = "sum", over = ["d1"]} : (f32) -> f32
  %r = "fuse.store"(%o, %s, %true) {at = ["d0"], mode = "set"} : (tensor<8xf32>, f32, i1) -> tensor<8xf32>
  return %r : tensor<8xf32>
}

// -----

// Programs go through blocks of products only.
// expected-error @+1 {{apply-tiling: kernel @k: programs that go through several blocks need a product of tiles (fuse.dot)}}
func.func private @k(%x: tensor<8xf32>, %o: tensor<8xf32>) -> tensor<8xf32>
    attributes {fuse.kernel, fuse.dims = {d0 = "8"}, fuse.ties = array<i64: 1>, fuse.tile = {axes = [{dims = ["d0"], block = 4 : i64, kind = "grid"}], num_warps = 4 : i64, num_stages = 1 : i64, programs = 2 : i64}} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : f32
  %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<8xf32>, i1, f32) -> f32
  %r = "fuse.store"(%o, %v, %true) {at = ["d0"], mode = "set"} : (tensor<8xf32>, f32, i1) -> tensor<8xf32>
  return %r : tensor<8xf32>
}

// -----

// And they need blocks to go through.
// expected-error @+1 {{fuse.tile: expected a grid axis, through whose blocks 2 programs go}}
func.func private @k(%x: tensor<8xf32>, %o: tensor<8xf32>) -> tensor<8xf32>
    attributes {fuse.kernel, fuse.dims = {d0 = "8"}, fuse.ties = array<i64: 1>, fuse.tile = {axes = [{dims = ["d0"], block = 8 : i64, kind = "resident"}], num_warps = 4 : i64, num_stages = 1 : i64, programs = 2 : i64}} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : f32
  %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<8xf32>, i1, f32) -> f32
  %r = "fuse.store"(%o, %v, %true) {at = ["d0"], mode = "set"} : (tensor<8xf32>, f32, i1) -> tensor<8xf32>
  return %r : tensor<8xf32>
}

// -----

// An entry that is misspelled.
// expected-error @+1 {{fuse.tile has an unknown entry 'progams'}}
func.func private @k(%x: tensor<8xf32>, %o: tensor<8xf32>) -> tensor<8xf32>
    attributes {fuse.kernel, fuse.dims = {d0 = "8"}, fuse.ties = array<i64: 1>, fuse.tile = {axes = [{dims = ["d0"], block = 8 : i64, kind = "grid"}], num_warps = 4 : i64, num_stages = 1 : i64, progams = 2 : i64}} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : f32
  %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<8xf32>, i1, f32) -> f32
  %r = "fuse.store"(%o, %v, %true) {at = ["d0"], mode = "set"} : (tensor<8xf32>, f32, i1) -> tensor<8xf32>
  return %r : tensor<8xf32>
}

// -----

// One of an axis.
// expected-error @+1 {{an axis of fuse.tile has an unknown entry 'order'}}
func.func private @k(%x: tensor<8xf32>, %o: tensor<8xf32>) -> tensor<8xf32>
    attributes {fuse.kernel, fuse.dims = {d0 = "8"}, fuse.ties = array<i64: 1>, fuse.tile = {axes = [{dims = ["d0"], block = 8 : i64, kind = "grid", order = 1 : i64}], num_warps = 4 : i64, num_stages = 1 : i64}} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : f32
  %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<8xf32>, i1, f32) -> f32
  %r = "fuse.store"(%o, %v, %true) {at = ["d0"], mode = "set"} : (tensor<8xf32>, f32, i1) -> tensor<8xf32>
  return %r : tensor<8xf32>
}

// -----

// A flag is there or not, whatever its value.
// expected-error @+1 {{expected again of fuse.tile to have no value, got false}}
func.func private @k(%x: tensor<8xf32>, %o: tensor<8xf32>) -> tensor<8xf32>
    attributes {fuse.kernel, fuse.dims = {d0 = "8"}, fuse.ties = array<i64: 1>, fuse.tile = {axes = [{dims = ["d0"], block = 8 : i64, kind = "grid"}], num_warps = 4 : i64, num_stages = 1 : i64, again = false}} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : f32
  %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<8xf32>, i1, f32) -> f32
  %r = "fuse.store"(%o, %v, %true) {at = ["d0"], mode = "set"} : (tensor<8xf32>, f32, i1) -> tensor<8xf32>
  return %r : tensor<8xf32>
}

// -----

// Bad input: the rows are in no segments: ends that are less than the row are counted, not those that are at most the row.
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<200x256xbf16>, %w: tensor<4x256x128xbf16>, %ends: tensor<4xi32>) -> tensor<200x128xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<200x128xf32>
    %y = call @others(%x, %w, %ends, %o) : (tensor<200x256xbf16>, tensor<4x256x128xbf16>, tensor<4xi32>, tensor<200x128xf32>) -> tensor<200x128xf32>
    return %y : tensor<200x128xf32>
  }
  // expected-error@+1 {{apply-tiling: kernel @others: blocks of one segment need rows in segments, on an axis of their own}}
  func.func private @others(%x: tensor<200x256xbf16>, %w: tensor<4x256x128xbf16>, %ends: tensor<4xi32>, %o: tensor<200x128xf32>) -> tensor<200x128xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "200", d1 = "128", d2 = "256", d3 = "4"}, fuse.ties = array<i64: 3>,
                  fuse.tile = {axes = [{dims = ["d0"], block = 16 : i64, kind = "grid"}, {dims = ["d1"], block = 64 : i64, kind = "grid"}, {dims = ["d2"], block = 32 : i64, kind = "looped"}, {dims = ["d3"], block = 4 : i64, kind = "resident"}], num_warps = 4 : i64, num_stages = 3 : i64, segmented}} {
    %true = arith.constant true
    %none = arith.constant 0 : i32
    %zero = arith.constant 0.0 : bf16
    %count = arith.constant 4 : i64
    %end = "fuse.load"(%ends, %true, %none) {at = ["d3"]} : (tensor<4xi32>, i1, i32) -> i32
    %wide = arith.extsi %end : i32 to i64
    %row = "fuse.index"() {expr = "d0"} : () -> i64
    %before = arith.cmpi slt, %wide, %row : i64
    %one = arith.extui %before : i1 to i64
    %segment = "fuse.reduce"(%one) {kind = "sum", over = ["d3"]} : (i64) -> i64
    %known = arith.cmpi slt, %segment, %count : i64
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d2"]} : (tensor<200x256xbf16>, i1, bf16) -> bf16
    %b = "fuse.load"(%w, %known, %zero, %segment) {at = ["i0", "d2", "d1"]} : (tensor<4x256x128xbf16>, i1, bf16, i64) -> bf16
    %s = "fuse.dot"(%a, %b) {over = ["d2"]} : (bf16, bf16) -> f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<200x128xf32>, f32, i1) -> tensor<200x128xf32>
    return %r : tensor<200x128xf32>
  }
}
