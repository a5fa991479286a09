// The fusion spec of a template (fuse.apart on an argument) in fuse-user-prologues.
// RUN: fuse-opt %s --pass-pipeline="builtin.module(fuse-user-prologues{hardware=h200},eliminate-dead)" --split-input-file | FileCheck %s
// RUN: fuse-opt %s --pass-pipeline="builtin.module(fuse-user-prologues{hardware=h200})" --split-input-file --remarks=text 2>&1 >/dev/null | FileCheck %s --check-prefix=SAID

// Must not fire: the template takes no prologue for the tensor.
// CHECK-LABEL: func.func @main(
// CHECK: call @scaled
// CHECK: call @row_kernel
// SAID: missed: fuse-user-prologues: template{{.*}}: scaled and row_kernel stay apart: the template of the op takes no prologue
module attributes {fuse.device = "cpu"} {
  func.func @main(%a: tensor<8x60xf32>, %b: tensor<60xf32>) -> tensor<8x60xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<8x60xf32>
    %p = "fuse.empty"() {syms = []} : () -> tensor<8x60xf32>
    %h = call @scaled(%a, %b, %o) : (tensor<8x60xf32>, tensor<60xf32>, tensor<8x60xf32>) -> tensor<8x60xf32>
    %n = call @row_kernel(%h, %p) : (tensor<8x60xf32>, tensor<8x60xf32>) -> tensor<8x60xf32>
    return %n : tensor<8x60xf32>
  }
  func.func private @scaled(%a: tensor<8x60xf32>, %b: tensor<60xf32>, %o: tensor<8x60xf32>) -> tensor<8x60xf32> attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "60"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %x = "fuse.load"(%a, %true, %zero) {at = ["d0", "d1"]} : (tensor<8x60xf32>, i1, f32) -> f32
    %y = "fuse.load"(%b, %true, %zero) {at = ["d1"]} : (tensor<60xf32>, i1, f32) -> f32
    %r = arith.mulf %x, %y : f32
    %s = "fuse.store"(%o, %r, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<8x60xf32>, f32, i1) -> tensor<8x60xf32>
    return %s : tensor<8x60xf32>
  }
  func.func private @row_kernel(%x: tensor<8x60xf32> {fuse.apart}, %o: tensor<8x60xf32>) -> tensor<8x60xf32> attributes {fuse.kernel, fuse.dims = {}, fuse.grid = ["8"], fuse.ties = array<i64: 1>, fuse.tile = {axes = [], num_stages = 1 : i64, num_warps = 4 : i64}, fuse.user = "model.py:7 row_kernel"} {
    %px = "fuse.base"(%x) : (tensor<8x60xf32>) -> !tt.ptr<f32>
    %po = "fuse.base"(%o) : (tensor<8x60xf32>) -> !tt.ptr<f32>
    %p = "tt.get_program_id"() {axis = 0 : i32} : () -> i32
    %columns = arith.constant 60 : i32
    %at = arith.muli %p, %columns : i32
    %j = "tt.make_range"() {start = 0 : i32, end = 64 : i32} : () -> tensor<64xi32>
    %bounds = "tt.splat"(%columns) : (i32) -> tensor<64xi32>
    %in = arith.cmpi slt, %j, %bounds : tensor<64xi32>
    %axr = "tt.addptr"(%px, %at) : (!tt.ptr<f32>, i32) -> !tt.ptr<f32>
    %axs = "tt.splat"(%axr) : (!tt.ptr<f32>) -> tensor<64x!tt.ptr<f32>>
    %ax = "tt.addptr"(%axs, %j) : (tensor<64x!tt.ptr<f32>>, tensor<64xi32>) -> tensor<64x!tt.ptr<f32>>
    %low = arith.constant dense<0xFF800000> : tensor<64xf32>
    %v = "tt.load"(%ax, %in, %low) {operandSegmentSizes = array<i32: 1, 1, 1>} : (tensor<64x!tt.ptr<f32>>, tensor<64xi1>, tensor<64xf32>) -> tensor<64xf32>
    %aor = "tt.addptr"(%po, %at) : (!tt.ptr<f32>, i32) -> !tt.ptr<f32>
    %aos = "tt.splat"(%aor) : (!tt.ptr<f32>) -> tensor<64x!tt.ptr<f32>>
    %ao = "tt.addptr"(%aos, %j) : (tensor<64x!tt.ptr<f32>>, tensor<64xi32>) -> tensor<64x!tt.ptr<f32>>
    "tt.store"(%ao, %v, %in) {operandSegmentSizes = array<i32: 1, 1, 1>} : (tensor<64x!tt.ptr<f32>>, tensor<64xf32>, tensor<64xi1>) -> ()
    return %o : tensor<8x60xf32>
  }
}

// -----

// Fires: the template takes no epilogue for its output, which says nothing about its input. The output stays so.
// CHECK-LABEL: func.func @main(
// CHECK-NOT: call @scaled
// CHECK: call @fused_scaled_row_kernel
// CHECK: func.func private @fused_scaled_row_kernel(%{{[a-z0-9]*}}: tensor<8x60xf32> {fuse.apart}, %{{[a-z0-9]*}}: tensor<8x60xf32>, %{{[a-z0-9]*}}: tensor<60xf32>)
// SAID: passed: fuse-user-prologues: fused
module attributes {fuse.device = "cpu"} {
  func.func @main(%a: tensor<8x60xf32>, %b: tensor<60xf32>) -> tensor<8x60xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<8x60xf32>
    %p = "fuse.empty"() {syms = []} : () -> tensor<8x60xf32>
    %h = call @scaled(%a, %b, %o) : (tensor<8x60xf32>, tensor<60xf32>, tensor<8x60xf32>) -> tensor<8x60xf32>
    %n = call @row_kernel(%h, %p) : (tensor<8x60xf32>, tensor<8x60xf32>) -> tensor<8x60xf32>
    return %n : tensor<8x60xf32>
  }
  func.func private @scaled(%a: tensor<8x60xf32>, %b: tensor<60xf32>, %o: tensor<8x60xf32>) -> tensor<8x60xf32> attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "60"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %x = "fuse.load"(%a, %true, %zero) {at = ["d0", "d1"]} : (tensor<8x60xf32>, i1, f32) -> f32
    %y = "fuse.load"(%b, %true, %zero) {at = ["d1"]} : (tensor<60xf32>, i1, f32) -> f32
    %r = arith.mulf %x, %y : f32
    %s = "fuse.store"(%o, %r, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<8x60xf32>, f32, i1) -> tensor<8x60xf32>
    return %s : tensor<8x60xf32>
  }
  func.func private @row_kernel(%x: tensor<8x60xf32>, %o: tensor<8x60xf32> {fuse.apart}) -> tensor<8x60xf32> attributes {fuse.kernel, fuse.dims = {}, fuse.grid = ["8"], fuse.ties = array<i64: 1>, fuse.tile = {axes = [], num_stages = 1 : i64, num_warps = 4 : i64}, fuse.user = "model.py:7 row_kernel"} {
    %px = "fuse.base"(%x) : (tensor<8x60xf32>) -> !tt.ptr<f32>
    %po = "fuse.base"(%o) : (tensor<8x60xf32>) -> !tt.ptr<f32>
    %p = "tt.get_program_id"() {axis = 0 : i32} : () -> i32
    %columns = arith.constant 60 : i32
    %at = arith.muli %p, %columns : i32
    %j = "tt.make_range"() {start = 0 : i32, end = 64 : i32} : () -> tensor<64xi32>
    %bounds = "tt.splat"(%columns) : (i32) -> tensor<64xi32>
    %in = arith.cmpi slt, %j, %bounds : tensor<64xi32>
    %axr = "tt.addptr"(%px, %at) : (!tt.ptr<f32>, i32) -> !tt.ptr<f32>
    %axs = "tt.splat"(%axr) : (!tt.ptr<f32>) -> tensor<64x!tt.ptr<f32>>
    %ax = "tt.addptr"(%axs, %j) : (tensor<64x!tt.ptr<f32>>, tensor<64xi32>) -> tensor<64x!tt.ptr<f32>>
    %low = arith.constant dense<0xFF800000> : tensor<64xf32>
    %v = "tt.load"(%ax, %in, %low) {operandSegmentSizes = array<i32: 1, 1, 1>} : (tensor<64x!tt.ptr<f32>>, tensor<64xi1>, tensor<64xf32>) -> tensor<64xf32>
    %aor = "tt.addptr"(%po, %at) : (!tt.ptr<f32>, i32) -> !tt.ptr<f32>
    %aos = "tt.splat"(%aor) : (!tt.ptr<f32>) -> tensor<64x!tt.ptr<f32>>
    %ao = "tt.addptr"(%aos, %j) : (tensor<64x!tt.ptr<f32>>, tensor<64xi32>) -> tensor<64x!tt.ptr<f32>>
    "tt.store"(%ao, %v, %in) {operandSegmentSizes = array<i32: 1, 1, 1>} : (tensor<64x!tt.ptr<f32>>, tensor<64xf32>, tensor<64xi1>) -> ()
    return %o : tensor<8x60xf32>
  }
}
