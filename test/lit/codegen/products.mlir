// A product of tiles: each operand is loaded in the axes of its side, rows and columns of memory as they are, and tt.dot adds to a
// sum that the loop carries.  Nothing is reshaped or transposed between a load and the product.
// RUN: fuse-opt %s --pass-pipeline="builtin.module(apply-tiling)" --split-input-file | FileCheck %s

// CHECK-LABEL: func.func private @group
// Programs go through two blocks of rows, then the next block of columns.
// CHECK: %[[PID:.*]] = "tt.get_program_id"() {axis = 0 : i32}
// CHECK: arith.divsi %[[PID]]
// CHECK: arith.minsi
// CHECK-NOT: tt.get_program_id
// CHECK: %[[ZERO:.*]] = arith.constant dense<0.000000e+00> : tensor<16x64xf32>
// CHECK: scf.for %{{.*}} iter_args(%[[SUM:.*]] = %[[ZERO]]) -> (tensor<16x64xf32>)
// CHECK: %[[A:.*]] = "tt.load"(%{{.*}}) {operandSegmentSizes = array<i32: 1, 0, 0>} : (tensor<16x32x!tt.ptr<bf16>>) -> tensor<16x32xbf16>
// CHECK: %[[B:.*]] = "tt.load"(%{{.*}}) {operandSegmentSizes = array<i32: 1, 0, 0>} : (tensor<32x64x!tt.ptr<bf16>>) -> tensor<32x64xbf16>
// CHECK-NEXT: %[[NEXT:.*]] = "tt.dot"(%[[A]], %[[B]], %[[SUM]]) {inputPrecision = 2 : i32, maxNumImpreciseAcc = 0 : i32}
// CHECK-NEXT: scf.yield %[[NEXT]]
// CHECK: tt.num_stages = 3 : i32
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<64x256xbf16>, %w: tensor<256x128xbf16>) -> tensor<64x128xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<64x128xf32>
    %y = call @group(%x, %w, %o) : (tensor<64x256xbf16>, tensor<256x128xbf16>, tensor<64x128xf32>) -> tensor<64x128xf32>
    return %y : tensor<64x128xf32>
  }
  func.func private @group(%x: tensor<64x256xbf16>, %w: tensor<256x128xbf16>, %o: tensor<64x128xf32>) -> tensor<64x128xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "64", d1 = "128", d2 = "256"}, fuse.ties = array<i64: 2>,
                  fuse.tile = {axes = [{dims = ["d0"], block = 16 : i64, kind = "grid"}, {dims = ["d1"], block = 64 : i64, kind = "grid"}, {dims = ["d2"], block = 32 : i64, kind = "looped"}], group = 2 : i64, num_warps = 4 : i64, num_stages = 3 : i64}} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d2"]} : (tensor<64x256xbf16>, i1, bf16) -> bf16
    %b = "fuse.load"(%w, %true, %zero) {at = ["d2", "d1"]} : (tensor<256x128xbf16>, i1, bf16) -> bf16
    %s = "fuse.dot"(%a, %b) {over = ["d2"]} : (bf16, bf16) -> f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<64x128xf32>, f32, i1) -> tensor<64x128xf32>
    return %r : tensor<64x128xf32>
  }
}

// -----

// The axes in another order: the tile of the result has the columns first, and so the operands are exchanged.  All of what is
// summed is held: there is no loop.  A block that is cut is read as 0, and what is loaded with 0 is not masked again.
// CHECK-LABEL: func.func private @exchanged
// CHECK-NOT: scf.for
// CHECK: %[[A:.*]] = "tt.load"({{.*}}) {operandSegmentSizes = array<i32: 1, 1, 1>} : (tensor<64x16x!tt.ptr<bf16>>, tensor<64x16xi1>, tensor<64x16xbf16>)
// CHECK: %[[B:.*]] = "tt.load"({{.*}}) {operandSegmentSizes = array<i32: 1, 1, 1>} : (tensor<32x64x!tt.ptr<bf16>>, tensor<32x64xi1>, tensor<32x64xbf16>)
// CHECK-NOT: arith.select
// CHECK: "tt.dot"(%[[B]], %[[A]], %{{.*}}) {{.*}} -> tensor<32x16xf32>
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<10x50xbf16>, %w: tensor<50x70xbf16>) -> tensor<10x70xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<10x70xf32>
    %y = call @exchanged(%x, %w, %o) : (tensor<10x50xbf16>, tensor<50x70xbf16>, tensor<10x70xf32>) -> tensor<10x70xf32>
    return %y : tensor<10x70xf32>
  }
  func.func private @exchanged(%x: tensor<10x50xbf16>, %w: tensor<50x70xbf16>, %o: tensor<10x70xf32>) -> tensor<10x70xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "10", d1 = "70", d2 = "50"}, fuse.ties = array<i64: 2>,
                  fuse.tile = {axes = [{dims = ["d1"], block = 32 : i64, kind = "grid"}, {dims = ["d0"], block = 16 : i64, kind = "grid"}, {dims = ["d2"], block = 64 : i64, kind = "resident"}], num_warps = 4 : i64, num_stages = 1 : i64}} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d2"]} : (tensor<10x50xbf16>, i1, bf16) -> bf16
    %b = "fuse.load"(%w, %true, %zero) {at = ["d2", "d1"]} : (tensor<50x70xbf16>, i1, bf16) -> bf16
    %s = "fuse.dot"(%a, %b) {over = ["d2"]} : (bf16, bf16) -> f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<10x70xf32>, f32, i1) -> tensor<10x70xf32>
    return %r : tensor<10x70xf32>
  }
}

// -----

// A cast keeps the 0 behind the end, and is not masked again.  A sum does not.
// CHECK-LABEL: func.func private @widened
// CHECK: %[[X:.*]] = arith.sitofp %{{.*}} : tensor<16x64xi8> to tensor<16x64xbf16>
// CHECK-NOT: arith.select
// CHECK: %[[Y:.*]] = arith.addf %{{.*}} : tensor<64x32xbf16>
// CHECK: %[[MASKED:.*]] = arith.select %{{.*}}, %[[Y]], %{{.*}} : tensor<64x32xi1>, tensor<64x32xbf16>
// CHECK-NOT: arith.select
// CHECK: "tt.dot"(%[[X]], %[[MASKED]],
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<10x50xi8>, %w: tensor<50x70xbf16>) -> tensor<10x70xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<10x70xf32>
    %y = call @widened(%x, %w, %o) : (tensor<10x50xi8>, tensor<50x70xbf16>, tensor<10x70xf32>) -> tensor<10x70xf32>
    return %y : tensor<10x70xf32>
  }
  func.func private @widened(%x: tensor<10x50xi8>, %w: tensor<50x70xbf16>, %o: tensor<10x70xf32>) -> tensor<10x70xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "10", d1 = "70", d2 = "50"}, fuse.ties = array<i64: 2>,
                  fuse.tile = {axes = [{dims = ["d0"], block = 16 : i64, kind = "grid"}, {dims = ["d1"], block = 32 : i64, kind = "grid"}, {dims = ["d2"], block = 64 : i64, kind = "resident"}], num_warps = 4 : i64, num_stages = 1 : i64}} {
    %true = arith.constant true
    %none = arith.constant 0 : i8
    %zero = arith.constant 0.0 : bf16
    %a = "fuse.load"(%x, %true, %none) {at = ["d0", "d2"]} : (tensor<10x50xi8>, i1, i8) -> i8
    %b = "fuse.load"(%w, %true, %zero) {at = ["d2", "d1"]} : (tensor<50x70xbf16>, i1, bf16) -> bf16
    %f = arith.sitofp %a : i8 to bf16
    %t = arith.addf %b, %b : bf16
    %s = "fuse.dot"(%f, %t) {over = ["d2"]} : (bf16, bf16) -> f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<10x70xf32>, f32, i1) -> tensor<10x70xf32>
    return %r : tensor<10x70xf32>
  }
}

// -----

// An axis of both operands is the batch of the product, and comes first.  What is summed over it then is in the axes of the result.
// CHECK-LABEL: func.func private @slices
// CHECK: scf.for
// CHECK: %[[X:.*]] = "tt.load"{{.*}} -> tensor<4x64x8xbf16>
// CHECK: %[[W:.*]] = arith.sitofp %{{.*}} : tensor<4x16x64xi8> to tensor<4x16x64xbf16>
// CHECK: "tt.dot"(%[[W]], %[[X]], %{{.*}}) {{.*}} -> tensor<4x16x8xf32>
// CHECK: "tt.reduce"
// CHECK: {axis = 0 : i32} : (tensor<4x16x8xf32>) -> tensor<16x8xf32>
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<4x512xbf16>, %w: tensor<64x512xi8>) -> tensor<4x64xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<4x64xf32>
    %y = call @slices(%x, %w, %o) : (tensor<4x512xbf16>, tensor<64x512xi8>, tensor<4x64xf32>) -> tensor<4x64xf32>
    return %y : tensor<4x64xf32>
  }
  func.func private @slices(%x: tensor<4x512xbf16>, %w: tensor<64x512xi8>, %o: tensor<4x64xf32>) -> tensor<4x64xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "4", d1 = "64", d2 = "128", d3 = "4"}, fuse.ties = array<i64: 2>,
                  fuse.tile = {axes = [{dims = ["d3"], block = 4 : i64, kind = "resident"}, {dims = ["d1"], block = 16 : i64, kind = "grid"}, {dims = ["d0"], block = 8 : i64, kind = "grid"}, {dims = ["d2"], block = 64 : i64, kind = "looped"}], num_warps = 4 : i64, num_stages = 3 : i64}} {
    %true = arith.constant true
    %none = arith.constant 0 : i8
    %zero = arith.constant 0.0 : bf16
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d2 + 128*d3"]} : (tensor<4x512xbf16>, i1, bf16) -> bf16
    %b = "fuse.load"(%w, %true, %none) {at = ["d1", "d2 + 128*d3"]} : (tensor<64x512xi8>, i1, i8) -> i8
    %f = arith.sitofp %b : i8 to bf16
    %p = "fuse.dot"(%a, %f) {over = ["d2"]} : (bf16, bf16) -> f32
    %s = "fuse.reduce"(%p) {kind = "sum", over = ["d3"]} : (f32) -> f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<4x64xf32>, f32, i1) -> tensor<4x64xf32>
    return %r : tensor<4x64xf32>
  }
}

// -----

// Without tensor cores each thread adds one by one.  A block is summed from 0 and added to the sum of the blocks before it.  A
// maxNumImpreciseAcc above 0 keeps Triton from making one sum of both again.
// CHECK-LABEL: func.func private @exact
// CHECK: %[[NONE:.*]] = arith.constant dense<0.000000e+00> : tensor<16x64xf32>
// CHECK: scf.for %{{.*}} iter_args(%[[SUM:.*]] = %[[NONE]]) -> (tensor<16x64xf32>)
// CHECK: %[[BLOCK:.*]] = "tt.dot"(%{{.*}}, %{{.*}}, %[[NONE]]) {inputPrecision = 2 : i32, maxNumImpreciseAcc = 1 : i32}
// CHECK-NEXT: %[[NEXT:.*]] = arith.addf %[[SUM]], %[[BLOCK]] : tensor<16x64xf32>
// CHECK-NEXT: scf.yield %[[NEXT]]
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<64x256xf32>, %w: tensor<256x128xf32>) -> tensor<64x128xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<64x128xf32>
    %y = call @exact(%x, %w, %o) : (tensor<64x256xf32>, tensor<256x128xf32>, tensor<64x128xf32>) -> tensor<64x128xf32>
    return %y : tensor<64x128xf32>
  }
  func.func private @exact(%x: tensor<64x256xf32>, %w: tensor<256x128xf32>, %o: tensor<64x128xf32>) -> tensor<64x128xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "64", d1 = "128", d2 = "256"}, fuse.ties = array<i64: 2>,
                  fuse.tile = {axes = [{dims = ["d0"], block = 16 : i64, kind = "grid"}, {dims = ["d1"], block = 64 : i64, kind = "grid"}, {dims = ["d2"], block = 16 : i64, kind = "looped"}], num_warps = 4 : i64, num_stages = 1 : i64}} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d2"]} : (tensor<64x256xf32>, i1, f32) -> f32
    %b = "fuse.load"(%w, %true, %zero) {at = ["d2", "d1"]} : (tensor<256x128xf32>, i1, f32) -> f32
    %s = "fuse.dot"(%a, %b) {over = ["d2"]} : (f32, f32) -> f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<64x128xf32>, f32, i1) -> tensor<64x128xf32>
    return %r : tensor<64x128xf32>
  }
}

// -----

// Must not fire: tensor cores add the products of rounded elements.
// CHECK-LABEL: func.func private @rounded
// CHECK: scf.for %{{.*}} iter_args(%[[SUM:.*]] = %{{.*}}) -> (tensor<16x64xf32>)
// CHECK: %[[NEXT:.*]] = "tt.dot"(%{{.*}}, %{{.*}}, %[[SUM]]) {inputPrecision = 0 : i32, maxNumImpreciseAcc = 0 : i32}
// CHECK-NEXT: scf.yield %[[NEXT]]
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<64x256xf32>, %w: tensor<256x128xf32>) -> tensor<64x128xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<64x128xf32>
    %y = call @rounded(%x, %w, %o) : (tensor<64x256xf32>, tensor<256x128xf32>, tensor<64x128xf32>) -> tensor<64x128xf32>
    return %y : tensor<64x128xf32>
  }
  func.func private @rounded(%x: tensor<64x256xf32>, %w: tensor<256x128xf32>, %o: tensor<64x128xf32>) -> tensor<64x128xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "64", d1 = "128", d2 = "256"}, fuse.ties = array<i64: 2>,
                  fuse.tile = {axes = [{dims = ["d0"], block = 16 : i64, kind = "grid"}, {dims = ["d1"], block = 64 : i64, kind = "grid"}, {dims = ["d2"], block = 16 : i64, kind = "looped"}], num_warps = 4 : i64, num_stages = 1 : i64}} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d2"]} : (tensor<64x256xf32>, i1, f32) -> f32
    %b = "fuse.load"(%w, %true, %zero) {at = ["d2", "d1"]} : (tensor<256x128xf32>, i1, f32) -> f32
    %s = "fuse.dot"(%a, %b) {over = ["d2"], precision = "tf32"} : (f32, f32) -> f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<64x128xf32>, f32, i1) -> tensor<64x128xf32>
    return %r : tensor<64x128xf32>
  }
}

// -----

// Must not fire: a product of few rows is a sum by now, and is reduced.
// CHECK-LABEL: func.func private @summed
// CHECK-NOT: tt.dot
// CHECK: "tt.reduce"
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<64xf32>, %w: tensor<8x64xf32>) -> tensor<8xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<8xf32>
    %y = call @summed(%x, %w, %o) : (tensor<64xf32>, tensor<8x64xf32>, tensor<8xf32>) -> tensor<8xf32>
    return %y : tensor<8xf32>
  }
  func.func private @summed(%x: tensor<64xf32>, %w: tensor<8x64xf32>, %o: tensor<8xf32>) -> tensor<8xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "64"}, fuse.ties = array<i64: 2>,
                  fuse.tile = {axes = [{dims = ["d0"], block = 4 : i64, kind = "grid"}, {dims = ["d1"], block = 64 : i64, kind = "resident"}], num_warps = 4 : i64, num_stages = 1 : i64}} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %a = "fuse.load"(%x, %true, %zero) {at = ["d1"]} : (tensor<64xf32>, i1, f32) -> f32
    %b = "fuse.load"(%w, %true, %zero) {at = ["d0", "d1"]} : (tensor<8x64xf32>, i1, f32) -> f32
    %p = arith.mulf %a, %b : f32
    %s = "fuse.reduce"(%p) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d0"], mode = "set"} : (tensor<8xf32>, f32, i1) -> tensor<8xf32>
    return %r : tensor<8xf32>
  }
}

// -----

// Two tensors side by side: a block of what is summed lies in one of them, and is loaded from its address.
// CHECK-LABEL: func.func private @side_by_side
// CHECK: scf.for %[[BLOCK:[a-z0-9]*]] =
// CHECK: %[[FIRST:.*]] = arith.cmpi slt, %[[BLOCK]], %c2_i32{{.*}} : i32
// CHECK: %[[AT:.*]] = arith.select %[[FIRST]], %{{.*}}, %{{.*}} : tensor<16x64x!tt.ptr<bf16>>
// CHECK-NEXT: %[[A:.*]] = "tt.load"(%[[AT]]) {operandSegmentSizes = array<i32: 1, 0, 0>}
// CHECK: %[[B:.*]] = "tt.load"
// CHECK-NOT: "tt.load"
// CHECK: "tt.dot"(%[[A]], %[[B]],
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<64x128xbf16>, %y: tensor<64x64xbf16>, %w: tensor<192x64xbf16>) -> tensor<64x64xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<64x64xf32>
    %z = call @side_by_side(%x, %y, %w, %o) : (tensor<64x128xbf16>, tensor<64x64xbf16>, tensor<192x64xbf16>, tensor<64x64xf32>) -> tensor<64x64xf32>
    return %z : tensor<64x64xf32>
  }
  func.func private @side_by_side(%x: tensor<64x128xbf16>, %y: tensor<64x64xbf16>, %w: tensor<192x64xbf16>, %o: tensor<64x64xf32>) -> tensor<64x64xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "64", d1 = "64", d2 = "192"}, fuse.ties = array<i64: 3>,
                  fuse.tile = {axes = [{dims = ["d0"], block = 16 : i64, kind = "grid"}, {dims = ["d1"], block = 64 : i64, kind = "grid"}, {dims = ["d2"], block = 64 : i64, kind = "looped"}], num_warps = 4 : i64, num_stages = 3 : i64}} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %c0 = arith.constant 0 : i64
    %i = "fuse.index"() {expr = "d2 - 128"} : () -> i64
    %below = arith.cmpi slt, %i, %c0 : i64
    %above = arith.cmpi sge, %i, %c0 : i64
    %a0 = "fuse.load"(%x, %below, %zero) {at = ["d0", "d2"]} : (tensor<64x128xbf16>, i1, bf16) -> bf16
    %a1 = "fuse.load"(%y, %above, %zero) {at = ["d0", "d2 - 128"]} : (tensor<64x64xbf16>, i1, bf16) -> bf16
    %a = arith.select %below, %a0, %a1 : bf16
    %b = "fuse.load"(%w, %true, %zero) {at = ["d2", "d1"]} : (tensor<192x64xbf16>, i1, bf16) -> bf16
    %s = "fuse.dot"(%a, %b) {over = ["d2"]} : (bf16, bf16) -> f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<64x64xf32>, f32, i1) -> tensor<64x64xf32>
    return %r : tensor<64x64xf32>
  }
}

// -----

// Must not fire: a block has points of both tensors.
// CHECK-LABEL: func.func private @cut_in_a_block
// CHECK-NOT: arith.select {{.*}}!tt.ptr
// CHECK: %[[X:.*]] = "tt.load"({{.*}}) {operandSegmentSizes = array<i32: 1, 1, 1>}
// CHECK: %[[Y:.*]] = "tt.load"({{.*}}) {operandSegmentSizes = array<i32: 1, 1, 1>}
// CHECK: %[[A:.*]] = arith.select %{{.*}}, %[[X]], %[[Y]] : tensor<16x64xi1>, tensor<16x64xbf16>
// CHECK: "tt.dot"(%[[A]],
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<64x96xbf16>, %y: tensor<64x96xbf16>, %w: tensor<192x64xbf16>) -> tensor<64x64xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<64x64xf32>
    %z = call @cut_in_a_block(%x, %y, %w, %o) : (tensor<64x96xbf16>, tensor<64x96xbf16>, tensor<192x64xbf16>, tensor<64x64xf32>) -> tensor<64x64xf32>
    return %z : tensor<64x64xf32>
  }
  func.func private @cut_in_a_block(%x: tensor<64x96xbf16>, %y: tensor<64x96xbf16>, %w: tensor<192x64xbf16>, %o: tensor<64x64xf32>) -> tensor<64x64xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "64", d1 = "64", d2 = "192"}, fuse.ties = array<i64: 3>,
                  fuse.tile = {axes = [{dims = ["d0"], block = 16 : i64, kind = "grid"}, {dims = ["d1"], block = 64 : i64, kind = "grid"}, {dims = ["d2"], block = 64 : i64, kind = "looped"}], num_warps = 4 : i64, num_stages = 3 : i64}} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %c0 = arith.constant 0 : i64
    %i = "fuse.index"() {expr = "d2 - 96"} : () -> i64
    %below = arith.cmpi slt, %i, %c0 : i64
    %above = arith.cmpi sge, %i, %c0 : i64
    %a0 = "fuse.load"(%x, %below, %zero) {at = ["d0", "d2"]} : (tensor<64x96xbf16>, i1, bf16) -> bf16
    %a1 = "fuse.load"(%y, %above, %zero) {at = ["d0", "d2 - 96"]} : (tensor<64x96xbf16>, i1, bf16) -> bf16
    %a = arith.select %below, %a0, %a1 : bf16
    %b = "fuse.load"(%w, %true, %zero) {at = ["d2", "d1"]} : (tensor<192x64xbf16>, i1, bf16) -> bf16
    %s = "fuse.dot"(%a, %b) {over = ["d2"]} : (bf16, bf16) -> f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<64x64xf32>, f32, i1) -> tensor<64x64xf32>
    return %r : tensor<64x64xf32>
  }
}

// -----

// Tensor cores add up all products of 8-bit floats where that may be fast.
// CHECK-LABEL: func.func private @fast
// CHECK: scf.for %{{.*}} iter_args(%[[SUM:.*]] = %{{.*}}) -> (tensor<64x64xf32>)
// CHECK: %[[NEXT:.*]] = "tt.dot"(%{{.*}}, %{{.*}}, %[[SUM]]) {inputPrecision = 2 : i32, maxNumImpreciseAcc = 1073741824 : i32}
// CHECK-NEXT: scf.yield %[[NEXT]]
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<64x256xf8E4M3FN>, %w: tensor<256x128xf8E4M3FN>) -> tensor<64x128xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<64x128xf32>
    %y = call @fast(%x, %w, %o) : (tensor<64x256xf8E4M3FN>, tensor<256x128xf8E4M3FN>, tensor<64x128xf32>) -> tensor<64x128xf32>
    return %y : tensor<64x128xf32>
  }
  func.func private @fast(%x: tensor<64x256xf8E4M3FN>, %w: tensor<256x128xf8E4M3FN>, %o: tensor<64x128xf32>) -> tensor<64x128xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "64", d1 = "128", d2 = "256"}, fuse.ties = array<i64: 2>,
                  fuse.tile = {axes = [{dims = ["d0"], block = 64 : i64, kind = "grid"}, {dims = ["d1"], block = 64 : i64, kind = "grid"}, {dims = ["d2"], block = 128 : i64, kind = "looped"}], num_warps = 4 : i64, num_stages = 3 : i64}} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f8E4M3FN
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d2"]} : (tensor<64x256xf8E4M3FN>, i1, f8E4M3FN) -> f8E4M3FN
    %b = "fuse.load"(%w, %true, %zero) {at = ["d2", "d1"]} : (tensor<256x128xf8E4M3FN>, i1, f8E4M3FN) -> f8E4M3FN
    %s = "fuse.dot"(%a, %b) {fast_accum, over = ["d2"]} : (f8E4M3FN, f8E4M3FN) -> f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<64x128xf32>, f32, i1) -> tensor<64x128xf32>
    return %r : tensor<64x128xf32>
  }
}

// -----

// Must not fire: without the attribute, they add up 128 of them, which are then added to a sum in f32.
// CHECK-LABEL: func.func private @bytes
// CHECK: scf.for %{{.*}} iter_args(%[[SUM:.*]] = %{{.*}}) -> (tensor<64x64xf32>)
// CHECK: %[[NEXT:.*]] = "tt.dot"(%{{.*}}, %{{.*}}, %[[SUM]]) {inputPrecision = 2 : i32, maxNumImpreciseAcc = 128 : i32}
// CHECK-NEXT: scf.yield %[[NEXT]]
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<64x256xf8E5M2>, %w: tensor<256x128xf8E5M2>) -> tensor<64x128xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<64x128xf32>
    %y = call @bytes(%x, %w, %o) : (tensor<64x256xf8E5M2>, tensor<256x128xf8E5M2>, tensor<64x128xf32>) -> tensor<64x128xf32>
    return %y : tensor<64x128xf32>
  }
  func.func private @bytes(%x: tensor<64x256xf8E5M2>, %w: tensor<256x128xf8E5M2>, %o: tensor<64x128xf32>) -> tensor<64x128xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "64", d1 = "128", d2 = "256"}, fuse.ties = array<i64: 2>,
                  fuse.tile = {axes = [{dims = ["d0"], block = 64 : i64, kind = "grid"}, {dims = ["d1"], block = 64 : i64, kind = "grid"}, {dims = ["d2"], block = 128 : i64, kind = "looped"}], num_warps = 4 : i64, num_stages = 3 : i64}} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f8E5M2
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d2"]} : (tensor<64x256xf8E5M2>, i1, f8E5M2) -> f8E5M2
    %b = "fuse.load"(%w, %true, %zero) {at = ["d2", "d1"]} : (tensor<256x128xf8E5M2>, i1, f8E5M2) -> f8E5M2
    %s = "fuse.dot"(%a, %b) {over = ["d2"]} : (f8E5M2, f8E5M2) -> f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<64x128xf32>, f32, i1) -> tensor<64x128xf32>
    return %r : tensor<64x128xf32>
  }
}
