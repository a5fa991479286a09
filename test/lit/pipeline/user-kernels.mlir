// A user's Triton kernel is tile code at every level: passes over scalar kernels leave it as it is, but for the one
// that computes its readers in it.
// RUN: fuse-opt %s --default-pipeline=scheduled --split-input-file | FileCheck %s --check-prefix=SCHEDULED
// RUN: fuse-opt %s --default-pipeline=planned --split-input-file | FileCheck %s --check-prefix=PLANNED
// RUN: fuse-opt %s --pass-pipeline="builtin.module(eliminate-dead)" --split-input-file | FileCheck %s --check-prefix=DEAD
// RUN: fuse-opt %s --pass-pipeline="builtin.module(choose-tiling,apply-tiling,combine-launches{hardware=h200})" --split-input-file | FileCheck %s --check-prefix=COMBINE

// Fires: what reads its result becomes a part of it, and it becomes a launch with the promises of Triton's own
// launcher. Must not: its other result, which nobody reads, stays, as it writes there anyhow.

// SCHEDULED-LABEL: func.func @main
// SCHEDULED: %[[R:.*]]:2 = call @row_scale_neg(%arg0
// SCHEDULED-NOT: call
// SCHEDULED-LABEL: func.func private @row_scale_neg
// SCHEDULED-SAME: fuse.user = "model.py:3 row_scale"
// SCHEDULED: tt.get_program_id

// PLANNED-LABEL: func.func @main
// PLANNED: call @row_scale_neg
// PLANNED: arg_attrs = [{tt.divisibility = 16 : i32}, {tt.divisibility = 16 : i32}, {tt.divisibility = 16 : i32}]
// PLANNED-SAME: sym_name = "row_scale_neg_tt"
// PLANNED: func.func private @row_scale_neg
// PLANNED-SAME: fuse.grid = ["8", "1", "1"]
// PLANNED-SAME: fuse.launch = @row_scale_neg_tt
// PLANNED-SAME: fuse.params = ["0:ptr", "1:ptr", "2:ptr"]
// PLANNED-SAME: num_stages = 3 : i64, num_warps = 8 : i64
// PLANNED-SAME: fuse.user = "model.py:3 row_scale"

// DEAD-LABEL: func.func @main
// DEAD: %{{.*}}:2 = call @row_scale

// COMBINE-LABEL: func.func @main
// COMBINE: call @row_scale
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<8x64xf32>) -> tensor<8x64xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<8x64xf32>
    %m = "fuse.empty"() {syms = []} : () -> tensor<8xf32>
    %r:2 = call @row_scale(%x, %o, %m) : (tensor<8x64xf32>, tensor<8x64xf32>, tensor<8xf32>) -> (tensor<8x64xf32>, tensor<8xf32>)
    %p = "fuse.empty"() {syms = []} : () -> tensor<8x64xf32>
    %a = call @neg(%r#0, %p) : (tensor<8x64xf32>, tensor<8x64xf32>) -> tensor<8x64xf32>
    %q = "fuse.empty"() {syms = []} : () -> tensor<8x64xf32>
    %b = call @neg(%a, %q) : (tensor<8x64xf32>, tensor<8x64xf32>) -> tensor<8x64xf32>
    return %b : tensor<8x64xf32>
  }
  func.func private @row_scale(%x: tensor<8x64xf32>, %o: tensor<8x64xf32>, %m: tensor<8xf32>) -> (tensor<8x64xf32>, tensor<8xf32>)
      attributes {fuse.kernel, fuse.dims = {}, fuse.grid = ["8", "1", "1"], fuse.ties = array<i64: 1, 2>,
                  fuse.tile = {axes = [], num_stages = 3 : i64, num_warps = 8 : i64}, fuse.user = "model.py:3 row_scale"} {
    %px = "fuse.base"(%x) : (tensor<8x64xf32>) -> !tt.ptr<f32>
    %po = "fuse.base"(%o) : (tensor<8x64xf32>) -> !tt.ptr<f32>
    %pm = "fuse.base"(%m) : (tensor<8xf32>) -> !tt.ptr<f32>
    %id = "tt.get_program_id"() {axis = 0 : i32} : () -> i32
    %c64 = arith.constant 64 : i32
    %at = arith.muli %id, %c64 : i32
    %range = "tt.make_range"() {start = 0 : i32, end = 64 : i32} : () -> tensor<64xi32>
    %rx = "tt.addptr"(%px, %at) : (!tt.ptr<f32>, i32) -> !tt.ptr<f32>
    %sx = "tt.splat"(%rx) : (!tt.ptr<f32>) -> tensor<64x!tt.ptr<f32>>
    %ax = "tt.addptr"(%sx, %range) : (tensor<64x!tt.ptr<f32>>, tensor<64xi32>) -> tensor<64x!tt.ptr<f32>>
    %v = "tt.load"(%ax) {operandSegmentSizes = array<i32: 1, 0, 0>} : (tensor<64x!tt.ptr<f32>>) -> tensor<64xf32>
    %max = "tt.reduce"(%v) ({
    ^bb0(%l: f32, %r: f32):
      %c = arith.maximumf %l, %r : f32
      "tt.reduce_return"(%c) : (f32) -> ()
    }) {axis = 0 : i32} : (tensor<64xf32>) -> f32
    %am = "tt.addptr"(%pm, %id) : (!tt.ptr<f32>, i32) -> !tt.ptr<f32>
    "tt.store"(%am, %max) {operandSegmentSizes = array<i32: 1, 1, 0>} : (!tt.ptr<f32>, f32) -> ()
    %sm = "tt.splat"(%max) : (f32) -> tensor<64xf32>
    %w = arith.mulf %v, %sm : tensor<64xf32>
    %ro = "tt.addptr"(%po, %at) : (!tt.ptr<f32>, i32) -> !tt.ptr<f32>
    %so = "tt.splat"(%ro) : (!tt.ptr<f32>) -> tensor<64x!tt.ptr<f32>>
    %ao = "tt.addptr"(%so, %range) : (tensor<64x!tt.ptr<f32>>, tensor<64xi32>) -> tensor<64x!tt.ptr<f32>>
    "tt.store"(%ao, %w) {operandSegmentSizes = array<i32: 1, 1, 0>} : (tensor<64x!tt.ptr<f32>>, tensor<64xf32>) -> ()
    return %o, %m : tensor<8x64xf32>, tensor<8xf32>
  }
  func.func private @neg(%x: tensor<8x64xf32>, %o: tensor<8x64xf32>) -> tensor<8x64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "64"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<8x64xf32>, i1, f32) -> f32
    %n = arith.negf %v : f32
    %r = "fuse.store"(%o, %n, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<8x64xf32>, f32, i1) -> tensor<8x64xf32>
    return %r : tensor<8x64xf32>
  }
}

// -----

// Fires: a pure kernel whose results nobody reads is dead; one that asserts is not.

// DEAD-LABEL: func.func @main
// DEAD-NOT: call @fill
// DEAD: call @checked
// DEAD-NOT: @fill
// SCHEDULED-LABEL: func.func @main
// SCHEDULED: call @checked
// PLANNED-LABEL: func.func @main
// PLANNED: call @checked
// PLANNED: func.func private @checked
// PLANNED-SAME: fuse.effect
// COMBINE-LABEL: func.func @main
// COMBINE-DAG: call @checked
// COMBINE-DAG: call @fill
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<64xf32>) -> tensor<64xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %a = call @fill(%o) : (tensor<64xf32>) -> tensor<64xf32>
    %p = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %b = call @checked(%p) : (tensor<64xf32>) -> tensor<64xf32>
    return %x : tensor<64xf32>
  }
  func.func private @fill(%o: tensor<64xf32>) -> tensor<64xf32>
      attributes {fuse.kernel, fuse.dims = {}, fuse.grid = ["64"], fuse.ties = array<i64: 0>,
                  fuse.tile = {axes = [], num_stages = 1 : i64, num_warps = 1 : i64}, fuse.user = "model.py:3 fill"} {
    %p = "fuse.base"(%o) : (tensor<64xf32>) -> !tt.ptr<f32>
    %id = "tt.get_program_id"() {axis = 0 : i32} : () -> i32
    %one = arith.constant 1.0 : f32
    %a = "tt.addptr"(%p, %id) : (!tt.ptr<f32>, i32) -> !tt.ptr<f32>
    "tt.store"(%a, %one) {operandSegmentSizes = array<i32: 1, 1, 0>} : (!tt.ptr<f32>, f32) -> ()
    return %o : tensor<64xf32>
  }
  func.func private @checked(%o: tensor<64xf32>) -> tensor<64xf32>
      attributes {fuse.kernel, fuse.dims = {}, fuse.grid = ["64"], fuse.ties = array<i64: 0>, fuse.effect,
                  fuse.tile = {axes = [], num_stages = 1 : i64, num_warps = 1 : i64}, fuse.user = "model.py:9 checked"} {
    %p = "fuse.base"(%o) : (tensor<64xf32>) -> !tt.ptr<f32>
    %id = "tt.get_program_id"() {axis = 0 : i32} : () -> i32
    %n = arith.constant 64 : i32
    %c = arith.cmpi slt, %id, %n : i32
    %t = "tt.splat"(%c) : (i1) -> tensor<1xi1>
    "tt.assert"(%t) {message = "too many programs"} : (tensor<1xi1>) -> ()
    %one = arith.constant 1.0 : f32
    %a = "tt.addptr"(%p, %id) : (!tt.ptr<f32>, i32) -> !tt.ptr<f32>
    "tt.store"(%a, %one) {operandSegmentSizes = array<i32: 1, 1, 0>} : (!tt.ptr<f32>, f32) -> ()
    return %o : tensor<64xf32>
  }
}
