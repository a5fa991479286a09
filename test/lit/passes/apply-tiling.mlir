// RUN: fuse-opt %s --pass-pipeline="builtin.module(apply-tiling)" --split-input-file | FileCheck %s
// RUN: fuse-opt %s --pass-pipeline="builtin.module(apply-tiling,apply-tiling)" --split-input-file | FileCheck %s

// The last block is masked: 1000 is no multiple of 512.
// CHECK-LABEL: @double
// CHECK-SAME: fuse.grid = ["2"]
// CHECK: %[[PID:.*]] = "tt.get_program_id"() {axis = 0 : i32} : () -> i32
// CHECK: %[[X:.*]] = "fuse.base"(%arg0) : (tensor<1000xf32>) -> !tt.ptr<f32>
// CHECK: %[[O:.*]] = "fuse.base"(%arg1) : (tensor<1000xf32>) -> !tt.ptr<f32>
// CHECK: %[[LANES:.*]] = "tt.make_range"() {end = 512 : i32, start = 0 : i32}
// CHECK: %[[MASK:.*]] = arith.cmpi slt, %[[LANES]]
// CHECK: %[[AT:.*]] = arith.muli %[[PID]], %c512_i32
// CHECK: "tt.addptr"(%[[X]], %[[AT]])
// CHECK: %[[V:.*]] = "tt.load"(%{{.*}}, %[[MASK]], %{{.*}})
// CHECK: %[[W:.*]] = arith.addf %[[V]], %[[V]] : tensor<512xf32>
// CHECK: "tt.store"(%{{.*}}, %[[W]], %[[MASK]])
// CHECK: return %arg1
module attributes {fuse.device = "cpu"} {
  func.func private @double(%x: tensor<1000xf32>, %o: tensor<1000xf32>) -> tensor<1000xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "1000"}, fuse.ties = array<i64: 1>,
                  fuse.tile = {axes = [{dims = ["d0"], block = 512 : i64, kind = "grid"}], num_warps = 4 : i64, num_stages = 1 : i64}} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<1000xf32>, i1, f32) -> f32
    %w = arith.addf %v, %v : f32
    %r = "fuse.store"(%o, %w, %true) {at = ["d0"], mode = "set"} : (tensor<1000xf32>, f32, i1) -> tensor<1000xf32>
    return %r : tensor<1000xf32>
  }
}

// -----

// Blocks that divide the extent need no mask, and a block that divides the inner extent needs no division of lanes.
// CHECK-LABEL: @bias
// CHECK-SAME: fuse.grid = ["64"]
// CHECK-NOT: arith.cmpi
// CHECK: arith.remsi %{{.*}}, %{{.*}} : i32
// CHECK-NOT: arith.cmpi
// CHECK-NOT: tensor<{{.*}}> arith.remsi
// CHECK: "tt.store"
module attributes {fuse.device = "cpu"} {
  func.func private @bias(%x: tensor<16x1024xf32>, %b: tensor<1024xf32>, %o: tensor<16x1024xf32>) -> tensor<16x1024xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "16", d1 = "1024"}, fuse.ties = array<i64: 2>,
                  fuse.tile = {axes = [{dims = ["d0", "d1"], block = 256 : i64, kind = "grid"}], num_warps = 4 : i64, num_stages = 1 : i64}} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<16x1024xf32>, i1, f32) -> f32
    %c = "fuse.load"(%b, %true, %zero) {at = ["d1"]} : (tensor<1024xf32>, i1, f32) -> f32
    %w = arith.addf %v, %c : f32
    %r = "fuse.store"(%o, %w, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<16x1024xf32>, f32, i1) -> tensor<16x1024xf32>
    return %r : tensor<16x1024xf32>
  }
}

// -----

// A looped axis: one loop for the sum, one for what needs it.  IEEE division.
// CHECK-LABEL: @normalise
// CHECK: %[[SUM:.*]] = scf.for {{.*}} -> (tensor<256xf32>)
// CHECK: "tt.load"
// CHECK: arith.addf
// CHECK: %[[S:.*]] = "tt.reduce"(%[[SUM]])
// CHECK: scf.for
// CHECK: "tt.load"
// CHECK: "tt.precise_divf"
// CHECK: "tt.store"
module attributes {fuse.device = "cpu"} {
  func.func private @normalise(%x: tensor<8x1000xf32>, %o: tensor<8x1000xf32>) -> tensor<8x1000xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "1000"}, fuse.ties = array<i64: 1>,
                  fuse.tile = {axes = [{dims = ["d0"], block = 1 : i64, kind = "grid"}, {dims = ["d1"], block = 256 : i64, kind = "looped"}], num_warps = 2 : i64, num_stages = 1 : i64}} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<8x1000xf32>, i1, f32) -> f32
    %s = "fuse.reduce"(%v) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %q = arith.divf %v, %s : f32
    %r = "fuse.store"(%o, %q, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<8x1000xf32>, f32, i1) -> tensor<8x1000xf32>
    return %r : tensor<8x1000xf32>
  }
}

// -----

// Must not fire: a function that is no kernel, a kernel that is tiled.
// CHECK-LABEL: @main
// CHECK: return %arg0
// CHECK-LABEL: @tiled
// CHECK-NEXT: return %arg1
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
    return %x : tensor<8xf32>
  }
  func.func private @tiled(%x: tensor<8xf32>, %o: tensor<8xf32>) -> tensor<8xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "8"}, fuse.grid = ["1"], fuse.ties = array<i64: 1>} {
    return %o : tensor<8xf32>
  }
}

// -----

// Program id x is the innermost axis: programs that run together read memory that lies together.
// CHECK-LABEL: @innermost_fastest
// CHECK-SAME: fuse.grid = ["4", "4096"]
// CHECK: %[[X:.*]] = "tt.get_program_id"() {axis = 0 : i32}
// CHECK: %[[Y:.*]] = "tt.get_program_id"() {axis = 1 : i32}
// CHECK-DAG: arith.muli %[[X]], %c64_i32
// CHECK-DAG: arith.muli %[[Y]], %c256_i32
module attributes {fuse.device = "cpu"} {
  func.func private @innermost_fastest(%x: tensor<4096x256xbf16>, %o: tensor<4096x256xbf16>) -> tensor<4096x256xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "4096", d1 = "256"},
      fuse.ties = array<i64: 1>, fuse.tile = {axes = [{dims = ["d0"], block = 1 : i64, kind = "grid"}, {dims = ["d1"], block = 64 : i64, kind = "grid"}], num_warps = 4 : i64, num_stages = 1 : i64}} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<4096x256xbf16>, i1, bf16) -> bf16
    %r = "fuse.store"(%o, %v, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<4096x256xbf16>, bf16, i1) -> tensor<4096x256xbf16>
    return %r : tensor<4096x256xbf16>
  }
}

// -----

// A row of the tile that is too short for 16 bytes a thread is read as a tile: each thread reads what belongs to its points.
// CHECK-LABEL: @short_columns
// CHECK: "tt.load"({{.*}} -> tensor<8x256xbf16>
// CHECK: "tt.load"({{.*}} -> tensor<8x256xbf16>
module attributes {fuse.device = "cpu"} {
  func.func private @short_columns(%x: tensor<4096x256xbf16>, %b: tensor<256xbf16>, %o: tensor<4096x256xbf16>) -> tensor<4096x256xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "4096", d1 = "256"},
      fuse.ties = array<i64: 2>, fuse.tile = {axes = [{dims = ["d0"], block = 8 : i64, kind = "grid"}, {dims = ["d1"], block = 256 : i64, kind = "grid"}], num_warps = 4 : i64, num_stages = 1 : i64}} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %c = "fuse.load"(%b, %true, %zero) {at = ["d1"]} : (tensor<256xbf16>, i1, bf16) -> bf16
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<4096x256xbf16>, i1, bf16) -> bf16
    %y = arith.addf %v, %c : bf16
    %r = "fuse.store"(%o, %y, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<4096x256xbf16>, bf16, i1) -> tensor<4096x256xbf16>
    return %r : tensor<4096x256xbf16>
  }
}

// -----

// A row of 16 bytes for each thread is read once, whatever the rows.
// CHECK-LABEL: @long_columns
// CHECK: "tt.load"({{.*}} -> tensor<1x256xbf16>
// CHECK: "tt.load"({{.*}} -> tensor<8x256xbf16>
module attributes {fuse.device = "cpu"} {
  func.func private @long_columns(%x: tensor<4096x256xbf16>, %b: tensor<256xbf16>, %o: tensor<4096x256xbf16>) -> tensor<4096x256xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "4096", d1 = "256"},
      fuse.ties = array<i64: 2>, fuse.tile = {axes = [{dims = ["d0"], block = 8 : i64, kind = "grid"}, {dims = ["d1"], block = 256 : i64, kind = "grid"}], num_warps = 1 : i64, num_stages = 1 : i64}} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %c = "fuse.load"(%b, %true, %zero) {at = ["d1"]} : (tensor<256xbf16>, i1, bf16) -> bf16
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<4096x256xbf16>, i1, bf16) -> bf16
    %y = arith.addf %v, %c : bf16
    %r = "fuse.store"(%o, %y, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<4096x256xbf16>, bf16, i1) -> tensor<4096x256xbf16>
    return %r : tensor<4096x256xbf16>
  }
}

// -----

// A number for each row is read as a vector and made a tile afterwards, so that a thread reads those of its rows
// at once.  The mask is a vector's, too.
// CHECK-LABEL: @numbers_of_rows
// CHECK: "tt.load"({{.*}}) {{.*}} -> tensor<8x256xbf16>
// CHECK: %[[MASK:.*]] = arith.cmpi slt, %{{.*}}, %{{.*}} : tensor<8xi32>
// CHECK: %[[ROW:.*]] = "tt.load"(%{{.*}}, %[[MASK]], %{{.*}}) {{.*}} -> tensor<8xbf16>
// CHECK: "tt.expand_dims"(%[[ROW]]) {axis = 1 : i32} : (tensor<8xbf16>) -> tensor<8x1xbf16>
module attributes {fuse.device = "cpu"} {
  func.func private @numbers_of_rows(%x: tensor<4x6x256xbf16>, %w: tensor<4x6xbf16>, %o: tensor<4x256xbf16>) -> tensor<4x256xbf16>
      attributes {fuse.kernel, fuse.dims = {d0 = "4", d1 = "6", d2 = "256"}, fuse.ties = array<i64: 2>,
                  fuse.tile = {axes = [{dims = ["d0"], block = 1 : i64, kind = "grid"}, {dims = ["d1"], block = 8 : i64, kind = "resident"}, {dims = ["d2"], block = 256 : i64, kind = "grid"}], num_warps = 1 : i64, num_stages = 1 : i64}} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1", "d2"]} : (tensor<4x6x256xbf16>, i1, bf16) -> bf16
    %b = "fuse.load"(%w, %true, %zero) {at = ["d0", "d1"]} : (tensor<4x6xbf16>, i1, bf16) -> bf16
    %ax = arith.extf %a : bf16 to f32
    %bx = arith.extf %b : bf16 to f32
    %p = arith.mulf %ax, %bx : f32
    %s = "fuse.reduce"(%p) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %t = arith.truncf %s : f32 to bf16
    %r = "fuse.store"(%o, %t, %true) {at = ["d0", "d2"], mode = "set"} : (tensor<4x256xbf16>, bf16, i1) -> tensor<4x256xbf16>
    return %r : tensor<4x256xbf16>
  }
}

// -----

// Must not fire: which of the rows are read depends on their columns, too.
// CHECK-LABEL: @numbers_of_some_points
// CHECK: "tt.load"({{.*}}) {{.*}} -> tensor<8x256xbf16>
// CHECK-NOT: "tt.load"({{.*}}) {{.*}} -> tensor<8xbf16>
// CHECK: return
module attributes {fuse.device = "cpu"} {
  func.func private @numbers_of_some_points(%x: tensor<4x6x256xbf16>, %w: tensor<4x6xbf16>, %o: tensor<4x256xbf16>) -> tensor<4x256xbf16>
      attributes {fuse.kernel, fuse.dims = {d0 = "4", d1 = "6", d2 = "256"}, fuse.ties = array<i64: 2>,
                  fuse.tile = {axes = [{dims = ["d0"], block = 1 : i64, kind = "grid"}, {dims = ["d1"], block = 8 : i64, kind = "resident"}, {dims = ["d2"], block = 256 : i64, kind = "grid"}], num_warps = 1 : i64, num_stages = 1 : i64}} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1", "d2"]} : (tensor<4x6x256xbf16>, i1, bf16) -> bf16
    %c = "fuse.index"() {expr = "d2 mod 7"} : () -> i64
    %three = arith.constant 3 : i64
    %some = arith.cmpi slt, %c, %three : i64
    %b = "fuse.load"(%w, %some, %zero) {at = ["d0", "d1"]} : (tensor<4x6xbf16>, i1, bf16) -> bf16
    %ax = arith.extf %a : bf16 to f32
    %bx = arith.extf %b : bf16 to f32
    %p = arith.mulf %ax, %bx : f32
    %s = "fuse.reduce"(%p) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %t = arith.truncf %s : f32 to bf16
    %r = "fuse.store"(%o, %t, %true) {at = ["d0", "d2"], mode = "set"} : (tensor<4x256xbf16>, bf16, i1) -> tensor<4x256xbf16>
    return %r : tensor<4x256xbf16>
  }
}

// -----

// Mean and squared deviations of a row in registers: the deviations from a first mean are summed beside their squares,
// and correct both.  They are divided by 2^64, before they are squared, where the mean is at least as large.
// CHECK-LABEL: @spread_of_f32
// CHECK: %[[TOTAL:.*]] = "tt.reduce"(%[[X:.*]]) ({
// CHECK: %[[FIRST:.*]] = arith.divf %[[TOTAL]], %{{.*}} : f32
// CHECK: %[[SIZE:.*]] = math.absf %[[FIRST]] : f32
// CHECK: %[[LARGE:.*]] = arith.cmpf oge, %[[SIZE]], %
// CHECK: %[[UNIT:.*]] = arith.select %[[LARGE]], %
// CHECK: %[[INVERSE:.*]] = arith.select %[[LARGE]], %
// CHECK: arith.mulf %{{.*}} : tensor<1024xf32>
// CHECK: arith.mulf %[[FIRST]], %[[INVERSE]] : f32
// CHECK: arith.subf %[[X2:.*]], %{{.*}} : tensor<1024xf32>
// CHECK: %[[D:.*]] = arith.select %
// CHECK-NEXT: %[[SQUARE:.*]] = arith.mulf %[[D]], %[[D]] : tensor<1024xf32>
// CHECK-NEXT: %[[SUMS:.*]]:2 = "tt.reduce_2"(%[[D]], %[[SQUARE]]) ({
// CHECK: arith.cmpf olt, %[[SUMS]]#1, %
// CHECK: %[[REST:.*]] = arith.select %{{.*}}, %[[SUMS]]#0, %
// CHECK: %[[MOVED:.*]] = arith.mulf %[[REST]], %
// CHECK: arith.mulf %[[REST]], %[[MOVED]] : f32
// CHECK: %[[M2:.*]] = arith.subf %[[SUMS]]#1, %
// CHECK: arith.cmpf olt, %[[M2]], %
// CHECK: %[[TO:.*]] = arith.mulf %[[FIRST]], %[[FIRST]] : f32
// CHECK: %[[ALL:.*]] = arith.mulf %[[TO]], %
// CHECK: %[[FAR:.*]] = arith.cmpf oge, %[[ALL]], %[[SUMS]]#1 : f32
// CHECK: %[[REST2:.*]] = arith.select %[[FAR]], %[[MOVED]], %
// CHECK: %[[REST3:.*]] = arith.mulf %[[REST2]], %[[UNIT]] : f32
// CHECK: arith.addf %[[FIRST]], %[[REST3]] : f32
func.func private @spread_of_f32(%x: tensor<8x1000xf32>, %o: tensor<8xf32>, %q: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>)
    attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "1000"}, fuse.ties = array<i64: 1, 2>, fuse.tile = {axes = [{dims = ["d0"], block = 1 : i64, kind = "grid"}, {dims = ["d1"], block = 1024 : i64, kind = "resident"}], num_warps = 4 : i64, num_stages = 1 : i64}} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : f32
  %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<8x1000xf32>, i1, f32) -> f32
  %m, %m2 = "fuse.welford"(%v) {over = ["d1"]} : (f32) -> (f32, f32)
  %r = "fuse.store"(%o, %m, %true) {at = ["d0"], mode = "set"} : (tensor<8xf32>, f32, i1) -> tensor<8xf32>
  %s = "fuse.store"(%q, %m2, %true) {at = ["d0"], mode = "set"} : (tensor<8xf32>, f32, i1) -> tensor<8xf32>
  return %r, %s : tensor<8xf32>, tensor<8xf32>
}

// -----

// x - mean is the difference of the deviation and of what the mean moved; that of another value is not.
// CHECK-LABEL: @moved_deviations
// CHECK: %[[FIRST:.*]] = arith.divf
// CHECK: %[[S:.*]] = arith.subf %{{.*}} : tensor<1024xf32>
// CHECK: "tt.reduce_2"(
// CHECK: %[[MEAN:.*]] = arith.addf %[[FIRST]], %
// CHECK: %[[D:.*]] = arith.mulf %[[S]], %{{.*}} : tensor<1024xf32>
// CHECK: %[[SHIFT:.*]] = arith.subf %[[MEAN]], %[[FIRST]] : f32
// CHECK: %[[SPLAT:.*]] = "tt.splat"(%[[SHIFT]])
// CHECK-NEXT: arith.subf %[[D]], %[[SPLAT]]
// CHECK: %[[SPLAT:.*]] = "tt.splat"(%[[MEAN]])
// CHECK-NEXT: arith.subf %{{.*}}, %[[SPLAT]]
func.func private @moved_deviations(%x: tensor<8x1000xf32>, %y: tensor<8x1000xf32>, %o: tensor<8x1000xf32>, %q: tensor<8x1000xf32>) -> (tensor<8x1000xf32>, tensor<8x1000xf32>)
    attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "1000"}, fuse.ties = array<i64: 2, 3>, fuse.tile = {axes = [{dims = ["d0"], block = 1 : i64, kind = "grid"}, {dims = ["d1"], block = 1024 : i64, kind = "resident"}], num_warps = 4 : i64, num_stages = 1 : i64}} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : f32
  %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<8x1000xf32>, i1, f32) -> f32
  %w = "fuse.load"(%y, %true, %zero) {at = ["d0", "d1"]} : (tensor<8x1000xf32>, i1, f32) -> f32
  %m, %m2 = "fuse.welford"(%v) {over = ["d1"]} : (f32) -> (f32, f32)
  %a = arith.subf %v, %m : f32
  %b = arith.subf %w, %m : f32
  %r = "fuse.store"(%o, %a, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<8x1000xf32>, f32, i1) -> tensor<8x1000xf32>
  %s = "fuse.store"(%q, %b, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<8x1000xf32>, f32, i1) -> tensor<8x1000xf32>
  return %r, %s : tensor<8x1000xf32>, tensor<8x1000xf32>
}

// -----

// Must not fire: f32 holds the sum of 1000 equal elements of f16, so that their mean is exact without a correction.
// CHECK-LABEL: @spread_of_f16
// CHECK-NOT: tt.reduce_2
// CHECK: "tt.reduce"(
// CHECK: math.fma
// CHECK: "tt.reduce"(
// CHECK-NOT: arith.cmpf
func.func private @spread_of_f16(%x: tensor<8x1000xf16>, %o: tensor<8xf32>, %q: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>)
    attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "1000"}, fuse.ties = array<i64: 1, 2>, fuse.tile = {axes = [{dims = ["d0"], block = 1 : i64, kind = "grid"}, {dims = ["d1"], block = 1024 : i64, kind = "resident"}], num_warps = 4 : i64, num_stages = 1 : i64}} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : f16
  %h = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<8x1000xf16>, i1, f16) -> f16
  %v = arith.extf %h : f16 to f32
  %m, %m2 = "fuse.welford"(%v) {over = ["d1"]} : (f32) -> (f32, f32)
  %r = "fuse.store"(%o, %m, %true) {at = ["d0"], mode = "set"} : (tensor<8xf32>, f32, i1) -> tensor<8xf32>
  %s = "fuse.store"(%q, %m2, %true) {at = ["d0"], mode = "set"} : (tensor<8xf32>, f32, i1) -> tensor<8xf32>
  return %r, %s : tensor<8xf32>, tensor<8xf32>
}

// -----

// It does not hold that of 8193.
// CHECK-LABEL: @spread_of_many_f16
// CHECK: "tt.reduce_2"(
func.func private @spread_of_many_f16(%x: tensor<8x8193xf16>, %o: tensor<8xf32>, %q: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>)
    attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "8193"}, fuse.ties = array<i64: 1, 2>, fuse.tile = {axes = [{dims = ["d0"], block = 1 : i64, kind = "grid"}, {dims = ["d1"], block = 16384 : i64, kind = "resident"}], num_warps = 32 : i64, num_stages = 1 : i64}} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : f16
  %h = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<8x8193xf16>, i1, f16) -> f16
  %v = arith.extf %h : f16 to f32
  %m, %m2 = "fuse.welford"(%v) {over = ["d1"]} : (f32) -> (f32, f32)
  %r = "fuse.store"(%o, %m, %true) {at = ["d0"], mode = "set"} : (tensor<8xf32>, f32, i1) -> tensor<8xf32>
  %s = "fuse.store"(%q, %m2, %true) {at = ["d0"], mode = "set"} : (tensor<8xf32>, f32, i1) -> tensor<8xf32>
  return %r, %s : tensor<8xf32>, tensor<8xf32>
}

// -----

// In a loop a thread adds up its four elements one by one; of lanes that hold as many points each, the mean is the
// sum of a tree times a power of two, and is not corrected.
// CHECK-LABEL: @spread_in_a_loop
// CHECK: scf.for
// CHECK: %[[OWN:.*]] = "tt.reshape"(%{{.*}}) : (tensor<512xf32>) -> tensor<128x4xf32>
// CHECK-NOT: tt.reshape
// CHECK: "tt.reduce"(%[[OWN]])
// CHECK: scf.yield
// CHECK-NOT: tt.reduce_2
// CHECK: %[[MEANS:.*]] = "tt.reduce"(%{{.*}}) ({
// CHECK: arith.mulf %[[MEANS]], %
// CHECK-NOT: tt.reduce_2
// CHECK: "tt.reduce"(
// CHECK-NOT: arith.cmpf
// CHECK: "tt.store"(
func.func private @spread_in_a_loop(%x: tensor<8x4096xf32>, %o: tensor<8xf32>, %q: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>)
    attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "4096"}, fuse.ties = array<i64: 1, 2>, fuse.tile = {axes = [{dims = ["d0"], block = 1 : i64, kind = "grid"}, {dims = ["d1"], block = 512 : i64, kind = "looped"}], num_warps = 4 : i64, num_stages = 1 : i64}} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : f32
  %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<8x4096xf32>, i1, f32) -> f32
  %m, %m2 = "fuse.welford"(%v) {over = ["d1"]} : (f32) -> (f32, f32)
  %r = "fuse.store"(%o, %m, %true) {at = ["d0"], mode = "set"} : (tensor<8xf32>, f32, i1) -> tensor<8xf32>
  %s = "fuse.store"(%q, %m2, %true) {at = ["d0"], mode = "set"} : (tensor<8xf32>, f32, i1) -> tensor<8xf32>
  return %r, %s : tensor<8xf32>, tensor<8xf32>
}

// -----

// A thread adds up eight squares as a tree: the sum of eight equal numbers of f32, one by one, is not exact.
// CHECK-LABEL: @spread_of_eight_in_a_loop
// CHECK: scf.for
// CHECK: "tt.reshape"(%{{.*}}) : (tensor<1024xf32>) -> tensor<128x8xf32>
// CHECK: %[[HALVES:.*]] = "tt.reshape"(%{{.*}}) : (tensor<128x8xf32>) -> tensor<128x2x4xf32>
// CHECK-NEXT: "tt.reduce"(%[[HALVES]])
// CHECK: scf.yield
func.func private @spread_of_eight_in_a_loop(%x: tensor<8x4096xf16>, %o: tensor<8xf32>, %q: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>)
    attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "4096"}, fuse.ties = array<i64: 1, 2>, fuse.tile = {axes = [{dims = ["d0"], block = 1 : i64, kind = "grid"}, {dims = ["d1"], block = 1024 : i64, kind = "looped"}], num_warps = 4 : i64, num_stages = 1 : i64}} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : f16
  %h = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<8x4096xf16>, i1, f16) -> f16
  %w = arith.extf %h : f16 to f32
  %v = arith.mulf %w, %w : f32
  %m, %m2 = "fuse.welford"(%v) {over = ["d1"]} : (f32) -> (f32, f32)
  %r = "fuse.store"(%o, %m, %true) {at = ["d0"], mode = "set"} : (tensor<8xf32>, f32, i1) -> tensor<8xf32>
  %s = "fuse.store"(%q, %m2, %true) {at = ["d0"], mode = "set"} : (tensor<8xf32>, f32, i1) -> tensor<8xf32>
  return %r, %s : tensor<8xf32>, tensor<8xf32>
}

// -----

// Must not fire: f32 holds the sum of eight equal elements of f16.
// CHECK-LABEL: @spread_of_f16_in_a_loop
// CHECK: scf.for
// CHECK: %[[OWN:.*]] = "tt.reshape"(%{{.*}}) : (tensor<1024xf32>) -> tensor<128x8xf32>
// CHECK-NOT: tt.reshape
// CHECK: "tt.reduce"(%[[OWN]])
// CHECK: scf.yield
func.func private @spread_of_f16_in_a_loop(%x: tensor<8x4096xf16>, %o: tensor<8xf32>, %q: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>)
    attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "4096"}, fuse.ties = array<i64: 1, 2>, fuse.tile = {axes = [{dims = ["d0"], block = 1 : i64, kind = "grid"}, {dims = ["d1"], block = 1024 : i64, kind = "looped"}], num_warps = 4 : i64, num_stages = 1 : i64}} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : f16
  %h = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<8x4096xf16>, i1, f16) -> f16
  %v = arith.extf %h : f16 to f32
  %m, %m2 = "fuse.welford"(%v) {over = ["d1"]} : (f32) -> (f32, f32)
  %r = "fuse.store"(%o, %m, %true) {at = ["d0"], mode = "set"} : (tensor<8xf32>, f32, i1) -> tensor<8xf32>
  %s = "fuse.store"(%q, %m2, %true) {at = ["d0"], mode = "set"} : (tensor<8xf32>, f32, i1) -> tensor<8xf32>
  return %r, %s : tensor<8xf32>, tensor<8xf32>
}

// -----

// Lanes that hold different numbers of points are corrected.
// CHECK-LABEL: @spread_of_an_uneven_loop
// CHECK: scf.for
// CHECK: scf.yield
// CHECK: "tt.reduce_2"(
func.func private @spread_of_an_uneven_loop(%x: tensor<8x4000xf32>, %o: tensor<8xf32>, %q: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>)
    attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "4000"}, fuse.ties = array<i64: 1, 2>, fuse.tile = {axes = [{dims = ["d0"], block = 1 : i64, kind = "grid"}, {dims = ["d1"], block = 512 : i64, kind = "looped"}], num_warps = 4 : i64, num_stages = 1 : i64}} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : f32
  %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<8x4000xf32>, i1, f32) -> f32
  %m, %m2 = "fuse.welford"(%v) {over = ["d1"]} : (f32) -> (f32, f32)
  %r = "fuse.store"(%o, %m, %true) {at = ["d0"], mode = "set"} : (tensor<8xf32>, f32, i1) -> tensor<8xf32>
  %s = "fuse.store"(%q, %m2, %true) {at = ["d0"], mode = "set"} : (tensor<8xf32>, f32, i1) -> tensor<8xf32>
  return %r, %s : tensor<8xf32>, tensor<8xf32>
}

// -----

// So are those of which a thread holds more than four: it adds them up one by one.
// CHECK-LABEL: @spread_of_many_lanes
// CHECK: scf.for
// CHECK: scf.yield
// CHECK: "tt.reduce_2"(
func.func private @spread_of_many_lanes(%x: tensor<8x16384xf32>, %o: tensor<8xf32>, %q: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>)
    attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "16384"}, fuse.ties = array<i64: 1, 2>, fuse.tile = {axes = [{dims = ["d0"], block = 1 : i64, kind = "grid"}, {dims = ["d1"], block = 8192 : i64, kind = "looped"}], num_warps = 4 : i64, num_stages = 1 : i64}} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : f32
  %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<8x16384xf32>, i1, f32) -> f32
  %m, %m2 = "fuse.welford"(%v) {over = ["d1"]} : (f32) -> (f32, f32)
  %r = "fuse.store"(%o, %m, %true) {at = ["d0"], mode = "set"} : (tensor<8xf32>, f32, i1) -> tensor<8xf32>
  %s = "fuse.store"(%q, %m2, %true) {at = ["d0"], mode = "set"} : (tensor<8xf32>, f32, i1) -> tensor<8xf32>
  return %r, %s : tensor<8xf32>, tensor<8xf32>
}

// -----

// So are columns: which rows of a block a thread holds is the layout's to say.
// CHECK-LABEL: @spread_of_columns
// CHECK: scf.for
// CHECK: scf.yield
// CHECK: "tt.reduce_2"(
func.func private @spread_of_columns(%x: tensor<4096x64xf32>, %o: tensor<64xf32>, %q: tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>)
    attributes {fuse.kernel, fuse.dims = {d0 = "4096", d1 = "64"}, fuse.ties = array<i64: 1, 2>, fuse.tile = {axes = [{dims = ["d0"], block = 8 : i64, kind = "looped"}, {dims = ["d1"], block = 32 : i64, kind = "grid"}], num_warps = 4 : i64, num_stages = 1 : i64}} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : f32
  %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<4096x64xf32>, i1, f32) -> f32
  %m, %m2 = "fuse.welford"(%v) {over = ["d0"]} : (f32) -> (f32, f32)
  %r = "fuse.store"(%o, %m, %true) {at = ["d1"], mode = "set"} : (tensor<64xf32>, f32, i1) -> tensor<64xf32>
  %s = "fuse.store"(%q, %m2, %true) {at = ["d1"], mode = "set"} : (tensor<64xf32>, f32, i1) -> tensor<64xf32>
  return %r, %s : tensor<64xf32>, tensor<64xf32>
}

// -----

// And rows of an unknown number of whole blocks, which may be none.
// CHECK-LABEL: @spread_of_unknown_length
// CHECK: scf.for
// CHECK: scf.yield
// CHECK: "tt.reduce_2"(
func.func private @spread_of_unknown_length(%n: index {fuse.sym = "s0"}, %x: tensor<8x?xf32, #fuse.layout<"8,512*s0", "512*s0,1", "0", "">>, %o: tensor<8xf32>, %q: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>)
    attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "512*s0"}, fuse.ties = array<i64: 2, 3>, fuse.tile = {axes = [{dims = ["d0"], block = 1 : i64, kind = "grid"}, {dims = ["d1"], block = 512 : i64, kind = "looped"}], num_warps = 4 : i64, num_stages = 1 : i64}} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : f32
  %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<8x?xf32, #fuse.layout<"8,512*s0", "512*s0,1", "0", "">>, i1, f32) -> f32
  %m, %m2 = "fuse.welford"(%v) {over = ["d1"]} : (f32) -> (f32, f32)
  %r = "fuse.store"(%o, %m, %true) {at = ["d0"], mode = "set"} : (tensor<8xf32>, f32, i1) -> tensor<8xf32>
  %s = "fuse.store"(%q, %m2, %true) {at = ["d0"], mode = "set"} : (tensor<8xf32>, f32, i1) -> tensor<8xf32>
  return %r, %s : tensor<8xf32>, tensor<8xf32>
}

// -----

// Must not fire: f32 holds the sum of 4000 equal elements of f16, in whichever order.
// CHECK-LABEL: @spread_of_uneven_f16
// CHECK: scf.for
// CHECK: scf.yield
// CHECK-NOT: tt.reduce_2
// CHECK: math.fma
// CHECK-NOT: tt.reduce_2
// CHECK: "tt.store"(
func.func private @spread_of_uneven_f16(%x: tensor<8x4000xf16>, %o: tensor<8xf32>, %q: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>)
    attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "4000"}, fuse.ties = array<i64: 1, 2>, fuse.tile = {axes = [{dims = ["d0"], block = 1 : i64, kind = "grid"}, {dims = ["d1"], block = 1024 : i64, kind = "looped"}], num_warps = 4 : i64, num_stages = 1 : i64}} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : f16
  %h = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<8x4000xf16>, i1, f16) -> f16
  %v = arith.extf %h : f16 to f32
  %m, %m2 = "fuse.welford"(%v) {over = ["d1"]} : (f32) -> (f32, f32)
  %r = "fuse.store"(%o, %m, %true) {at = ["d0"], mode = "set"} : (tensor<8xf32>, f32, i1) -> tensor<8xf32>
  %s = "fuse.store"(%q, %m2, %true) {at = ["d0"], mode = "set"} : (tensor<8xf32>, f32, i1) -> tensor<8xf32>
  return %r, %s : tensor<8xf32>, tensor<8xf32>
}
