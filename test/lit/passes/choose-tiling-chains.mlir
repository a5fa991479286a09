// How chains of two products are tiled.
// RUN: fuse-opt %s --pass-pipeline="builtin.module(choose-tiling{hardware=h200})" | FileCheck %s
// RUN: fuse-opt %s --pass-pipeline="builtin.module(choose-tiling{hardware=h200})" --remarks=text 2>&1 >/dev/null | FileCheck %s --check-prefix=RULE

// Many rows: programs hold the weights, and go through blocks of rows.
// RULE: rows-in-turn
// CHECK-LABEL: func.func private @many
// CHECK-SAME: {block = 64 : i64, dims = ["d3"], kind = "resident"}
// CHECK-SAME: num_stages = 2 : i64, num_warps = 4 : i64, programs =

// Must not fire: there are fewer blocks than programs.
// RULE: held-columns
// CHECK-LABEL: func.func private @few
// CHECK-NOT: programs =

// The tiles of both products take the same place in shared memory, one after the other.  So the 24 columns of the last one
// get 64 places: rows of 128 bytes, as the tiles before have.
// RULE: held-columns
// CHECK-LABEL: func.func private @ends
// CHECK-NOT: programs =
// CHECK-SAME: {block = 64 : i64, dims = ["d3"], kind = "grid"}

// Where programs hold the weights, each tile has its own place.
// RULE: rows-in-turn
// CHECK-LABEL: func.func private @ends_in_turn
// CHECK-SAME: {block = 32 : i64, dims = ["d3"], kind = "resident"}

// No tile has rows of 128 bytes.
// RULE: held-columns
// CHECK-LABEL: func.func private @narrow
// CHECK-SAME: {block = 32 : i64, dims = ["d1"], kind = "resident"}, {block = 16 : i64, dims = ["d3"], kind = "grid"}

// Must not fire: shared memory does not hold the weights of the first product, which is summed in a loop.
// RULE: held-columns
// CHECK-LABEL: func.func private @long
// CHECK-NOT: programs =
// CHECK: return
module attributes {fuse.device = "cpu"} {
  func.func @main(%x0: tensor<262144x64xbf16>, %w0: tensor<64x64xbf16>, %v0: tensor<64x64xbf16>, %x1: tensor<4096x64xbf16>, %w1: tensor<64x64xbf16>, %v1: tensor<64x64xbf16>, %x2: tensor<4096x64xbf16>, %w2: tensor<64x64xbf16>, %v2: tensor<64x24xbf16>, %x3: tensor<262144x64xbf16>, %w3: tensor<64x64xbf16>, %v3: tensor<64x24xbf16>, %x4: tensor<4096x32xbf16>, %w4: tensor<32x32xbf16>, %v4: tensor<32x16xbf16>, %x5: tensor<262144x2048xbf16>, %w5: tensor<2048x64xbf16>, %v5: tensor<64x64xbf16>) -> (tensor<262144x64xbf16>, tensor<4096x64xbf16>, tensor<4096x24xbf16>, tensor<262144x24xbf16>, tensor<4096x16xbf16>, tensor<262144x64xbf16>) {
    %o0 = "fuse.empty"() {syms = []} : () -> tensor<262144x64xbf16>
    %y0 = call @many(%x0, %w0, %v0, %o0) : (tensor<262144x64xbf16>, tensor<64x64xbf16>, tensor<64x64xbf16>, tensor<262144x64xbf16>) -> tensor<262144x64xbf16>
    %o1 = "fuse.empty"() {syms = []} : () -> tensor<4096x64xbf16>
    %y1 = call @few(%x1, %w1, %v1, %o1) : (tensor<4096x64xbf16>, tensor<64x64xbf16>, tensor<64x64xbf16>, tensor<4096x64xbf16>) -> tensor<4096x64xbf16>
    %o2 = "fuse.empty"() {syms = []} : () -> tensor<4096x24xbf16>
    %y2 = call @ends(%x2, %w2, %v2, %o2) : (tensor<4096x64xbf16>, tensor<64x64xbf16>, tensor<64x24xbf16>, tensor<4096x24xbf16>) -> tensor<4096x24xbf16>
    %o3 = "fuse.empty"() {syms = []} : () -> tensor<262144x24xbf16>
    %y3 = call @ends_in_turn(%x3, %w3, %v3, %o3) : (tensor<262144x64xbf16>, tensor<64x64xbf16>, tensor<64x24xbf16>, tensor<262144x24xbf16>) -> tensor<262144x24xbf16>
    %o4 = "fuse.empty"() {syms = []} : () -> tensor<4096x16xbf16>
    %y4 = call @narrow(%x4, %w4, %v4, %o4) : (tensor<4096x32xbf16>, tensor<32x32xbf16>, tensor<32x16xbf16>, tensor<4096x16xbf16>) -> tensor<4096x16xbf16>
    %o5 = "fuse.empty"() {syms = []} : () -> tensor<262144x64xbf16>
    %y5 = call @long(%x5, %w5, %v5, %o5) : (tensor<262144x2048xbf16>, tensor<2048x64xbf16>, tensor<64x64xbf16>, tensor<262144x64xbf16>) -> tensor<262144x64xbf16>
    return %y0, %y1, %y2, %y3, %y4, %y5 : tensor<262144x64xbf16>, tensor<4096x64xbf16>, tensor<4096x24xbf16>, tensor<262144x24xbf16>, tensor<4096x16xbf16>, tensor<262144x64xbf16>
  }
  func.func private @many(%x: tensor<262144x64xbf16>, %w: tensor<64x64xbf16>, %v: tensor<64x64xbf16>, %o: tensor<262144x64xbf16>) -> tensor<262144x64xbf16>
      attributes {fuse.kernel, fuse.dims = {d0 = "262144", d1 = "64", d2 = "64", d3 = "64"}, fuse.ties = array<i64: 3>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d2"]} : (tensor<262144x64xbf16>, i1, bf16) -> bf16
    %b = "fuse.load"(%w, %true, %zero) {at = ["d2", "d1"]} : (tensor<64x64xbf16>, i1, bf16) -> bf16
    %s = "fuse.dot"(%a, %b) {over = ["d2"]} : (bf16, bf16) -> f32
    %h = arith.truncf %s : f32 to bf16
    %q = "fuse.load"(%v, %true, %zero) {at = ["d1", "d3"]} : (tensor<64x64xbf16>, i1, bf16) -> bf16
    %t = "fuse.dot"(%h, %q) {over = ["d1"]} : (bf16, bf16) -> f32
    %z = arith.truncf %t : f32 to bf16
    %r = "fuse.store"(%o, %z, %true) {at = ["d0", "d3"], mode = "set"} : (tensor<262144x64xbf16>, bf16, i1) -> tensor<262144x64xbf16>
    return %r : tensor<262144x64xbf16>
  }
  func.func private @few(%x: tensor<4096x64xbf16>, %w: tensor<64x64xbf16>, %v: tensor<64x64xbf16>, %o: tensor<4096x64xbf16>) -> tensor<4096x64xbf16>
      attributes {fuse.kernel, fuse.dims = {d0 = "4096", d1 = "64", d2 = "64", d3 = "64"}, fuse.ties = array<i64: 3>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d2"]} : (tensor<4096x64xbf16>, i1, bf16) -> bf16
    %b = "fuse.load"(%w, %true, %zero) {at = ["d2", "d1"]} : (tensor<64x64xbf16>, i1, bf16) -> bf16
    %s = "fuse.dot"(%a, %b) {over = ["d2"]} : (bf16, bf16) -> f32
    %h = arith.truncf %s : f32 to bf16
    %q = "fuse.load"(%v, %true, %zero) {at = ["d1", "d3"]} : (tensor<64x64xbf16>, i1, bf16) -> bf16
    %t = "fuse.dot"(%h, %q) {over = ["d1"]} : (bf16, bf16) -> f32
    %z = arith.truncf %t : f32 to bf16
    %r = "fuse.store"(%o, %z, %true) {at = ["d0", "d3"], mode = "set"} : (tensor<4096x64xbf16>, bf16, i1) -> tensor<4096x64xbf16>
    return %r : tensor<4096x64xbf16>
  }
  func.func private @ends(%x: tensor<4096x64xbf16>, %w: tensor<64x64xbf16>, %v: tensor<64x24xbf16>, %o: tensor<4096x24xbf16>) -> tensor<4096x24xbf16>
      attributes {fuse.kernel, fuse.dims = {d0 = "4096", d1 = "64", d2 = "64", d3 = "24"}, fuse.ties = array<i64: 3>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d2"]} : (tensor<4096x64xbf16>, i1, bf16) -> bf16
    %b = "fuse.load"(%w, %true, %zero) {at = ["d2", "d1"]} : (tensor<64x64xbf16>, i1, bf16) -> bf16
    %s = "fuse.dot"(%a, %b) {over = ["d2"]} : (bf16, bf16) -> f32
    %h = arith.truncf %s : f32 to bf16
    %q = "fuse.load"(%v, %true, %zero) {at = ["d1", "d3"]} : (tensor<64x24xbf16>, i1, bf16) -> bf16
    %t = "fuse.dot"(%h, %q) {over = ["d1"]} : (bf16, bf16) -> f32
    %z = arith.truncf %t : f32 to bf16
    %r = "fuse.store"(%o, %z, %true) {at = ["d0", "d3"], mode = "set"} : (tensor<4096x24xbf16>, bf16, i1) -> tensor<4096x24xbf16>
    return %r : tensor<4096x24xbf16>
  }
  func.func private @ends_in_turn(%x: tensor<262144x64xbf16>, %w: tensor<64x64xbf16>, %v: tensor<64x24xbf16>, %o: tensor<262144x24xbf16>) -> tensor<262144x24xbf16>
      attributes {fuse.kernel, fuse.dims = {d0 = "262144", d1 = "64", d2 = "64", d3 = "24"}, fuse.ties = array<i64: 3>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d2"]} : (tensor<262144x64xbf16>, i1, bf16) -> bf16
    %b = "fuse.load"(%w, %true, %zero) {at = ["d2", "d1"]} : (tensor<64x64xbf16>, i1, bf16) -> bf16
    %s = "fuse.dot"(%a, %b) {over = ["d2"]} : (bf16, bf16) -> f32
    %h = arith.truncf %s : f32 to bf16
    %q = "fuse.load"(%v, %true, %zero) {at = ["d1", "d3"]} : (tensor<64x24xbf16>, i1, bf16) -> bf16
    %t = "fuse.dot"(%h, %q) {over = ["d1"]} : (bf16, bf16) -> f32
    %z = arith.truncf %t : f32 to bf16
    %r = "fuse.store"(%o, %z, %true) {at = ["d0", "d3"], mode = "set"} : (tensor<262144x24xbf16>, bf16, i1) -> tensor<262144x24xbf16>
    return %r : tensor<262144x24xbf16>
  }
  func.func private @narrow(%x: tensor<4096x32xbf16>, %w: tensor<32x32xbf16>, %v: tensor<32x16xbf16>, %o: tensor<4096x16xbf16>) -> tensor<4096x16xbf16>
      attributes {fuse.kernel, fuse.dims = {d0 = "4096", d1 = "32", d2 = "32", d3 = "16"}, fuse.ties = array<i64: 3>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d2"]} : (tensor<4096x32xbf16>, i1, bf16) -> bf16
    %b = "fuse.load"(%w, %true, %zero) {at = ["d2", "d1"]} : (tensor<32x32xbf16>, i1, bf16) -> bf16
    %s = "fuse.dot"(%a, %b) {over = ["d2"]} : (bf16, bf16) -> f32
    %h = arith.truncf %s : f32 to bf16
    %q = "fuse.load"(%v, %true, %zero) {at = ["d1", "d3"]} : (tensor<32x16xbf16>, i1, bf16) -> bf16
    %t = "fuse.dot"(%h, %q) {over = ["d1"]} : (bf16, bf16) -> f32
    %z = arith.truncf %t : f32 to bf16
    %r = "fuse.store"(%o, %z, %true) {at = ["d0", "d3"], mode = "set"} : (tensor<4096x16xbf16>, bf16, i1) -> tensor<4096x16xbf16>
    return %r : tensor<4096x16xbf16>
  }
  func.func private @long(%x: tensor<262144x2048xbf16>, %w: tensor<2048x64xbf16>, %v: tensor<64x64xbf16>, %o: tensor<262144x64xbf16>) -> tensor<262144x64xbf16>
      attributes {fuse.kernel, fuse.dims = {d0 = "262144", d1 = "64", d2 = "2048", d3 = "64"}, fuse.ties = array<i64: 3>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d2"]} : (tensor<262144x2048xbf16>, i1, bf16) -> bf16
    %b = "fuse.load"(%w, %true, %zero) {at = ["d2", "d1"]} : (tensor<2048x64xbf16>, i1, bf16) -> bf16
    %s = "fuse.dot"(%a, %b) {over = ["d2"]} : (bf16, bf16) -> f32
    %h = arith.truncf %s : f32 to bf16
    %q = "fuse.load"(%v, %true, %zero) {at = ["d1", "d3"]} : (tensor<64x64xbf16>, i1, bf16) -> bf16
    %t = "fuse.dot"(%h, %q) {over = ["d1"]} : (bf16, bf16) -> f32
    %z = arith.truncf %t : f32 to bf16
    %r = "fuse.store"(%o, %z, %true) {at = ["d0", "d3"], mode = "set"} : (tensor<262144x64xbf16>, bf16, i1) -> tensor<262144x64xbf16>
    return %r : tensor<262144x64xbf16>
  }
}
