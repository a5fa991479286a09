// Eight numbers of a word are multiplied apart, by parts of a row that are read at once; a zero point is subtracted
// where bits become floats.
// RUN: fuse-opt %s --pass-pipeline="builtin.module(unpack-dots,choose-tiling{hardware=h200},apply-tiling)" --split-input-file | FileCheck %s
// RUN: fuse-opt %s --pass-pipeline="builtin.module(unpack-dots,choose-tiling{hardware=h200},apply-tiling)" --split-input-file --verify-each=numeric | FileCheck %s
// RUN: not fuse-opt %s --pass-pipeline="builtin.module(choose-tiling{hardware=abacus})" --split-input-file 2>&1 | FileCheck %s --check-prefix=BAD

// BAD: abacus

// By how much a lane shifts zero points is a load that reads nothing, so that words are converted where they are
// multiplied.
// CHECK-LABEL: @words
// CHECK: %[[NEVER:.*]] = arith.cmpi slt
// CHECK: %[[MASK:.*]] = "tt.splat"(%[[NEVER]]) : (i1) -> tensor<1x16x1xi1>
// CHECK: "tt.load"(%{{.*}}, %[[MASK]], %{{.*}}) {{.*}} -> tensor<1x16x1xi64>
// CHECK: scf.for
// CHECK: %[[B:.*]] = "tt.load"({{.*}} -> tensor<4x16x16xi32>
// CHECK: "tt.elementwise_inline_asm_2"(%[[B]], %{{.*}}) {asm_string = "{{.*}}prmt.b32 bits, $1, $2, 0x5410; shr.b32 bits, bits, 0; lop3.b32 bits, bits, 0x000F000F, 0x43004300, 0xEA; {{.*}}fma.rn.bf16x2 $0, bits, one, $3; }"
// CHECK: "tt.elementwise_inline_asm_2"(%[[B]], %{{.*}}) {asm_string = "{{.*}}prmt.b32 bits, $1, $2, 0x7632; shr.b32 bits, bits, 12; {{.*}}fma.rn.bf16x2 $0, bits, one, $3; }"
// CHECK: %[[X:.*]] = "tt.load"({{.*}} -> tensor<4x128x8xbf16>
// CHECK: "tt.reshape"(%[[X]]) : (tensor<4x128x8xbf16>) -> tensor<4x16x8x8xbf16>
// CHECK-COUNT-7: "tt.split"
// CHECK-NOT: tensor<4x16x8x!tt.ptr
// CHECK-COUNT-8: "tt.dot"
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<2x512xbf16>, %w: tensor<64x1024xi32>, %s: tensor<4x1024xbf16>, %z: tensor<4x128xi32>) -> tensor<2x1024xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<2x1024xf32>
    %y = call @words(%x, %w, %s, %z, %o) : (tensor<2x512xbf16>, tensor<64x1024xi32>, tensor<4x1024xbf16>, tensor<4x128xi32>, tensor<2x1024xf32>) -> tensor<2x1024xf32>
    return %y : tensor<2x1024xf32>
  }
  func.func private @words(%x: tensor<2x512xbf16>, %w: tensor<64x1024xi32>, %s: tensor<4x1024xbf16>, %z: tensor<4x128xi32>, %o: tensor<2x1024xf32>) -> tensor<2x1024xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "2", d1 = "128", d2 = "8", d3 = "4", d4 = "128"}, fuse.ties = array<i64: 4>} {
    %true = arith.constant true
    %none = arith.constant 0 : i32
    %zero = arith.constant 0.0 : bf16
    %low = arith.constant 15 : i32
    %b = "fuse.load"(%w, %true, %none) {at = ["d3*16 + d4 floordiv 8", "d1*8 + d2"]} : (tensor<64x1024xi32>, i1, i32) -> i32
    %i = "fuse.index"() {expr = "(d4 mod 8)*4"} : () -> i64
    %by = arith.trunci %i : i64 to i32
    %h = arith.shrsi %b, %by : i32
    %n = arith.andi %h, %low : i32
    %c = "fuse.load"(%z, %true, %none) {at = ["d3", "d1"]} : (tensor<4x128xi32>, i1, i32) -> i32
    %j = "fuse.index"() {expr = "d2*4"} : () -> i64
    %of = arith.trunci %j : i64 to i32
    %k = arith.shrsi %c, %of : i32
    %l = arith.andi %k, %low : i32
    %m = arith.subi %n, %l : i32
    %v = arith.sitofp %m : i32 to bf16
    %vw = arith.extf %v : bf16 to f32
    %g = "fuse.load"(%s, %true, %zero) {at = ["d3", "d1*8 + d2"]} : (tensor<4x1024xbf16>, i1, bf16) -> bf16
    %gw = arith.extf %g : bf16 to f32
    %p = arith.mulf %vw, %gw : f32
    %q = arith.truncf %p {fuse.implicit} : f32 to bf16
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d3*128 + d4"]} : (tensor<2x512xbf16>, i1, bf16) -> bf16
    %y = "fuse.dot"(%a, %q) {over = ["d3", "d4"]} : (bf16, bf16) -> f32
    %r = "fuse.store"(%o, %y, %true) {at = ["d0", "d1*8 + d2"], mode = "set"} : (tensor<2x1024xf32>, f32, i1) -> tensor<2x1024xf32>
    return %r : tensor<2x1024xf32>
  }
}

// -----

// Must not fire: bfloat16 does not hold 128 and 15 + 200, so words are subtracted as integers.
// CHECK-LABEL: @large_zero_points
// CHECK-NOT: elementwise_inline_asm_2
// CHECK: arith.subi
// CHECK: arith.sitofp
// CHECK-NOT: elementwise_inline_asm_2
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<2x512xbf16>, %w: tensor<64x1024xi32>, %s: tensor<4x1024xbf16>, %z: tensor<4x128xi32>) -> tensor<2x1024xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<2x1024xf32>
    %y = call @large_zero_points(%x, %w, %s, %z, %o) : (tensor<2x512xbf16>, tensor<64x1024xi32>, tensor<4x1024xbf16>, tensor<4x128xi32>, tensor<2x1024xf32>) -> tensor<2x1024xf32>
    return %y : tensor<2x1024xf32>
  }
  func.func private @large_zero_points(%x: tensor<2x512xbf16>, %w: tensor<64x1024xi32>, %s: tensor<4x1024xbf16>, %z: tensor<4x128xi32>, %o: tensor<2x1024xf32>) -> tensor<2x1024xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "2", d1 = "128", d2 = "8", d3 = "4", d4 = "128"}, fuse.ties = array<i64: 4>} {
    %true = arith.constant true
    %none = arith.constant 0 : i32
    %zero = arith.constant 0.0 : bf16
    %low = arith.constant 15 : i32
    %b = "fuse.load"(%w, %true, %none) {at = ["d3*16 + d4 floordiv 8", "d1*8 + d2"]} : (tensor<64x1024xi32>, i1, i32) -> i32
    %i = "fuse.index"() {expr = "(d4 mod 8)*4"} : () -> i64
    %by = arith.trunci %i : i64 to i32
    %h = arith.shrsi %b, %by : i32
    %n = arith.andi %h, %low : i32
    %c = "fuse.load"(%z, %true, %none) {at = ["d3", "d1"]} : (tensor<4x128xi32>, i1, i32) -> i32
    %j = "fuse.index"() {expr = "d2*4"} : () -> i64
    %of = arith.trunci %j : i64 to i32
    %k = arith.shrsi %c, %of : i32
    %l = arith.andi %k, %low : i32
    %most = arith.constant 200 : i32
    %more = arith.addi %l, %most : i32
    %m = arith.subi %n, %more : i32
    %v = arith.sitofp %m : i32 to bf16
    %vw = arith.extf %v : bf16 to f32
    %g = "fuse.load"(%s, %true, %zero) {at = ["d3", "d1*8 + d2"]} : (tensor<4x1024xbf16>, i1, bf16) -> bf16
    %gw = arith.extf %g : bf16 to f32
    %p = arith.mulf %vw, %gw : f32
    %q = arith.truncf %p {fuse.implicit} : f32 to bf16
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d3*128 + d4"]} : (tensor<2x512xbf16>, i1, bf16) -> bf16
    %y = "fuse.dot"(%a, %q) {over = ["d3", "d4"]} : (bf16, bf16) -> f32
    %r = "fuse.store"(%o, %y, %true) {at = ["d0", "d1*8 + d2"], mode = "set"} : (tensor<2x1024xf32>, f32, i1) -> tensor<2x1024xf32>
    return %r : tensor<2x1024xf32>
  }
}

// -----

// Must not fire: nothing says how large the zero points are.
// CHECK-LABEL: @loaded_zero_points
// CHECK-NOT: elementwise_inline_asm_2
// CHECK: arith.subi
// CHECK-NOT: elementwise_inline_asm_2
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<2x512xbf16>, %w: tensor<64x1024xi32>, %s: tensor<4x1024xbf16>, %z: tensor<4x128xi32>) -> tensor<2x1024xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<2x1024xf32>
    %y = call @loaded_zero_points(%x, %w, %s, %z, %o) : (tensor<2x512xbf16>, tensor<64x1024xi32>, tensor<4x1024xbf16>, tensor<4x128xi32>, tensor<2x1024xf32>) -> tensor<2x1024xf32>
    return %y : tensor<2x1024xf32>
  }
  func.func private @loaded_zero_points(%x: tensor<2x512xbf16>, %w: tensor<64x1024xi32>, %s: tensor<4x1024xbf16>, %z: tensor<4x128xi32>, %o: tensor<2x1024xf32>) -> tensor<2x1024xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "2", d1 = "128", d2 = "8", d3 = "4", d4 = "128"}, fuse.ties = array<i64: 4>} {
    %true = arith.constant true
    %none = arith.constant 0 : i32
    %zero = arith.constant 0.0 : bf16
    %low = arith.constant 15 : i32
    %b = "fuse.load"(%w, %true, %none) {at = ["d3*16 + d4 floordiv 8", "d1*8 + d2"]} : (tensor<64x1024xi32>, i1, i32) -> i32
    %i = "fuse.index"() {expr = "(d4 mod 8)*4"} : () -> i64
    %by = arith.trunci %i : i64 to i32
    %h = arith.shrsi %b, %by : i32
    %n = arith.andi %h, %low : i32
    %c = "fuse.load"(%z, %true, %none) {at = ["d3", "d1"]} : (tensor<4x128xi32>, i1, i32) -> i32
    %j = "fuse.index"() {expr = "d2*4"} : () -> i64
    %of = arith.trunci %j : i64 to i32
    %k = arith.shrsi %c, %of : i32
    %l = arith.andi %k, %low : i32
    %m = arith.subi %n, %c : i32
    %v = arith.sitofp %m : i32 to bf16
    %vw = arith.extf %v : bf16 to f32
    %g = "fuse.load"(%s, %true, %zero) {at = ["d3", "d1*8 + d2"]} : (tensor<4x1024xbf16>, i1, bf16) -> bf16
    %gw = arith.extf %g : bf16 to f32
    %p = arith.mulf %vw, %gw : f32
    %q = arith.truncf %p {fuse.implicit} : f32 to bf16
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d3*128 + d4"]} : (tensor<2x512xbf16>, i1, bf16) -> bf16
    %y = "fuse.dot"(%a, %q) {over = ["d3", "d4"]} : (bf16, bf16) -> f32
    %r = "fuse.store"(%o, %y, %true) {at = ["d0", "d1*8 + d2"], mode = "set"} : (tensor<2x1024xf32>, f32, i1) -> tensor<2x1024xf32>
    return %r : tensor<2x1024xf32>
  }
}

// -----

// Differences that are made float32 first, and then float16.
// CHECK-LABEL: @half
// CHECK: scf.for
// CHECK-COUNT-8: lop3.b32 bits, bits, 0x000F000F, 0x64006400, 0xEA; {{.*}}fma.rn.f16x2 $0, bits, one, $3; }"
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<2x512xf16>, %w: tensor<64x1024xi32>, %s: tensor<4x1024xf16>, %z: tensor<4x128xi32>) -> tensor<2x1024xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<2x1024xf32>
    %y = call @half(%x, %w, %s, %z, %o) : (tensor<2x512xf16>, tensor<64x1024xi32>, tensor<4x1024xf16>, tensor<4x128xi32>, tensor<2x1024xf32>) -> tensor<2x1024xf32>
    return %y : tensor<2x1024xf32>
  }
  func.func private @half(%x: tensor<2x512xf16>, %w: tensor<64x1024xi32>, %s: tensor<4x1024xf16>, %z: tensor<4x128xi32>, %o: tensor<2x1024xf32>) -> tensor<2x1024xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "2", d1 = "128", d2 = "8", d3 = "4", d4 = "128"}, fuse.ties = array<i64: 4>} {
    %true = arith.constant true
    %none = arith.constant 0 : i32
    %zero = arith.constant 0.0 : f16
    %low = arith.constant 15 : i32
    %b = "fuse.load"(%w, %true, %none) {at = ["d3*16 + d4 floordiv 8", "d1*8 + d2"]} : (tensor<64x1024xi32>, i1, i32) -> i32
    %i = "fuse.index"() {expr = "(d4 mod 8)*4"} : () -> i64
    %by = arith.trunci %i : i64 to i32
    %h = arith.shrsi %b, %by : i32
    %n = arith.andi %h, %low : i32
    %c = "fuse.load"(%z, %true, %none) {at = ["d3", "d1"]} : (tensor<4x128xi32>, i1, i32) -> i32
    %j = "fuse.index"() {expr = "d2*4"} : () -> i64
    %of = arith.trunci %j : i64 to i32
    %k = arith.shrsi %c, %of : i32
    %l = arith.andi %k, %low : i32
    %m = arith.subi %n, %l : i32
    %e = arith.sitofp %m : i32 to f32
    %v = arith.truncf %e {fuse.implicit} : f32 to f16
    %vw = arith.extf %v : f16 to f32
    %g = "fuse.load"(%s, %true, %zero) {at = ["d3", "d1*8 + d2"]} : (tensor<4x1024xf16>, i1, f16) -> f16
    %gw = arith.extf %g : f16 to f32
    %p = arith.mulf %vw, %gw : f32
    %q = arith.truncf %p {fuse.implicit} : f32 to f16
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d3*128 + d4"]} : (tensor<2x512xf16>, i1, f16) -> f16
    %y = "fuse.dot"(%a, %q) {over = ["d3", "d4"]} : (f16, f16) -> f32
    %r = "fuse.store"(%o, %y, %true) {at = ["d0", "d1*8 + d2"], mode = "set"} : (tensor<2x1024xf32>, f32, i1) -> tensor<2x1024xf32>
    return %r : tensor<2x1024xf32>
  }
}

// -----

// Groups of 8 words: each word of a step has its own zero point, which its eight numbers share.
// CHECK-LABEL: @own
// CHECK: scf.for
// CHECK-COUNT-8: fma.rn.bf16x2 $0, bits, one, $3; }"
// CHECK-NOT: arith.sitofp{{.*}}xbf16>
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<2x512xbf16>, %w: tensor<64x1024xi32>, %s: tensor<8x1024xbf16>, %z: tensor<8x128xi32>) -> tensor<2x1024xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<2x1024xf32>
    %y = call @own(%x, %w, %s, %z, %o) : (tensor<2x512xbf16>, tensor<64x1024xi32>, tensor<8x1024xbf16>, tensor<8x128xi32>, tensor<2x1024xf32>) -> tensor<2x1024xf32>
    return %y : tensor<2x1024xf32>
  }
  func.func private @own(%x: tensor<2x512xbf16>, %w: tensor<64x1024xi32>, %s: tensor<8x1024xbf16>, %z: tensor<8x128xi32>, %o: tensor<2x1024xf32>) -> tensor<2x1024xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "2", d1 = "128", d2 = "8", d3 = "8", d4 = "64"}, fuse.ties = array<i64: 4>} {
    %true = arith.constant true
    %none = arith.constant 0 : i32
    %zero = arith.constant 0.0 : bf16
    %low = arith.constant 15 : i32
    %b = "fuse.load"(%w, %true, %none) {at = ["d3*8 + d4 floordiv 8", "d1*8 + d2"]} : (tensor<64x1024xi32>, i1, i32) -> i32
    %i = "fuse.index"() {expr = "(d4 mod 8)*4"} : () -> i64
    %by = arith.trunci %i : i64 to i32
    %h = arith.shrsi %b, %by : i32
    %n = arith.andi %h, %low : i32
    %c = "fuse.load"(%z, %true, %none) {at = ["d3", "d1"]} : (tensor<8x128xi32>, i1, i32) -> i32
    %j = "fuse.index"() {expr = "d2*4"} : () -> i64
    %of = arith.trunci %j : i64 to i32
    %k = arith.shrsi %c, %of : i32
    %l = arith.andi %k, %low : i32
    %m = arith.subi %n, %l : i32
    %v = arith.sitofp %m : i32 to bf16
    %vw = arith.extf %v : bf16 to f32
    %g = "fuse.load"(%s, %true, %zero) {at = ["d3", "d1*8 + d2"]} : (tensor<8x1024xbf16>, i1, bf16) -> bf16
    %gw = arith.extf %g : bf16 to f32
    %p = arith.mulf %vw, %gw : f32
    %q = arith.truncf %p {fuse.implicit} : f32 to bf16
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d3*64 + d4"]} : (tensor<2x512xbf16>, i1, bf16) -> bf16
    %y = "fuse.dot"(%a, %q) {over = ["d3", "d4"]} : (bf16, bf16) -> f32
    %r = "fuse.store"(%o, %y, %true) {at = ["d0", "d1*8 + d2"], mode = "set"} : (tensor<2x1024xf32>, f32, i1) -> tensor<2x1024xf32>
    return %r : tensor<2x1024xf32>
  }
}
