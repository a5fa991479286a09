// The fusion spec of a template (fuse.apart on an argument) in fuse-user-epilogues.
// RUN: fuse-opt %s --pass-pipeline="builtin.module(fuse-user-epilogues{hardware=h200})" --split-input-file | FileCheck %s
// RUN: fuse-opt %s --pass-pipeline="builtin.module(fuse-user-epilogues{hardware=h200})" --split-input-file --remarks=text -o %t 2>&1 | FileCheck %s --check-prefix=REMARK

// REMARK: missed: fuse-user-epilogues: template
// REMARK-NEXT: passed: fuse-user-epilogues: fused
// REMARK-NOT: fuse-user-epilogues:

// Rule template.
// Must not fire: The template takes no epilogue for its output.
// CHECK-LABEL: func.func @main
// CHECK: call @copy(
// CHECK: call @neg(
// CHECK: return
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<64xf32>) -> tensor<64xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %c = call @copy(%x, %o) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    %q = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %b = call @neg(%c, %q) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    return %b : tensor<64xf32>
  }
  func.func private @copy(%x: tensor<64xf32>, %o: tensor<64xf32> {fuse.apart}) -> tensor<64xf32>
      attributes {fuse.kernel, fuse.dims = {}, fuse.grid = ["4", "1", "1"], fuse.ties = array<i64: 1>,
                  fuse.tile = {axes = [], num_stages = 1 : i64, num_warps = 1 : i64}, fuse.user = "model.py:3 copy"} {
    %px = "fuse.base"(%x) : (tensor<64xf32>) -> !tt.ptr<f32>
    %po = "fuse.base"(%o) : (tensor<64xf32>) -> !tt.ptr<f32>
    %id = "tt.get_program_id"() {axis = 0 : i32} : () -> i32
    %c16 = arith.constant 16 : i32
    %first = arith.muli %id, %c16 : i32
    %range = "tt.make_range"() {start = 0 : i32, end = 16 : i32} : () -> tensor<16xi32>
    %firsts = "tt.splat"(%first) : (i32) -> tensor<16xi32>
    %at = arith.addi %firsts, %range : tensor<16xi32>
    %sax = "tt.splat"(%px) : (!tt.ptr<f32>) -> tensor<16x!tt.ptr<f32>>
    %ax = "tt.addptr"(%sax, %at) : (tensor<16x!tt.ptr<f32>>, tensor<16xi32>) -> tensor<16x!tt.ptr<f32>>
    %v = "tt.load"(%ax) {operandSegmentSizes = array<i32: 1, 0, 0>} : (tensor<16x!tt.ptr<f32>>) -> tensor<16xf32>
    %sao = "tt.splat"(%po) : (!tt.ptr<f32>) -> tensor<16x!tt.ptr<f32>>
    %ao = "tt.addptr"(%sao, %at) : (tensor<16x!tt.ptr<f32>>, tensor<16xi32>) -> tensor<16x!tt.ptr<f32>>
    "tt.store"(%ao, %v) {operandSegmentSizes = array<i32: 1, 1, 0>} : (tensor<16x!tt.ptr<f32>>, tensor<16xf32>) -> ()
    return %o : tensor<64xf32>
  }
  func.func private @neg(%x: tensor<64xf32>, %o: tensor<64xf32>) -> tensor<64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<64xf32>, i1, f32) -> f32
    %n = arith.negf %v : f32
    %r = "fuse.store"(%o, %n, %true) {at = ["d0"], mode = "set"} : (tensor<64xf32>, f32, i1) -> tensor<64xf32>
    return %r : tensor<64xf32>
  }
}

// -----

// Fires: The template takes no prologue for its input, which says nothing about its output. The input stays so.
// CHECK-LABEL: func.func @main
// CHECK: call @copy_neg(
// CHECK-NOT: call
// CHECK: func.func private @copy_neg(%{{.*}}: tensor<64xf32> {fuse.apart}, %{{[a-z0-9]*}}: tensor<64xf32>)
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<64xf32>) -> tensor<64xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %c = call @copy(%x, %o) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    %q = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %b = call @neg(%c, %q) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    return %b : tensor<64xf32>
  }
  func.func private @copy(%x: tensor<64xf32> {fuse.apart}, %o: tensor<64xf32>) -> tensor<64xf32>
      attributes {fuse.kernel, fuse.dims = {}, fuse.grid = ["4", "1", "1"], fuse.ties = array<i64: 1>,
                  fuse.tile = {axes = [], num_stages = 1 : i64, num_warps = 1 : i64}, fuse.user = "model.py:3 copy"} {
    %px = "fuse.base"(%x) : (tensor<64xf32>) -> !tt.ptr<f32>
    %po = "fuse.base"(%o) : (tensor<64xf32>) -> !tt.ptr<f32>
    %id = "tt.get_program_id"() {axis = 0 : i32} : () -> i32
    %c16 = arith.constant 16 : i32
    %first = arith.muli %id, %c16 : i32
    %range = "tt.make_range"() {start = 0 : i32, end = 16 : i32} : () -> tensor<16xi32>
    %firsts = "tt.splat"(%first) : (i32) -> tensor<16xi32>
    %at = arith.addi %firsts, %range : tensor<16xi32>
    %sax = "tt.splat"(%px) : (!tt.ptr<f32>) -> tensor<16x!tt.ptr<f32>>
    %ax = "tt.addptr"(%sax, %at) : (tensor<16x!tt.ptr<f32>>, tensor<16xi32>) -> tensor<16x!tt.ptr<f32>>
    %v = "tt.load"(%ax) {operandSegmentSizes = array<i32: 1, 0, 0>} : (tensor<16x!tt.ptr<f32>>) -> tensor<16xf32>
    %sao = "tt.splat"(%po) : (!tt.ptr<f32>) -> tensor<16x!tt.ptr<f32>>
    %ao = "tt.addptr"(%sao, %at) : (tensor<16x!tt.ptr<f32>>, tensor<16xi32>) -> tensor<16x!tt.ptr<f32>>
    "tt.store"(%ao, %v) {operandSegmentSizes = array<i32: 1, 1, 0>} : (tensor<16x!tt.ptr<f32>>, tensor<16xf32>) -> ()
    return %o : tensor<64xf32>
  }
  func.func private @neg(%x: tensor<64xf32>, %o: tensor<64xf32>) -> tensor<64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<64xf32>, i1, f32) -> f32
    %n = arith.negf %v : f32
    %r = "fuse.store"(%o, %n, %true) {at = ["d0"], mode = "set"} : (tensor<64xf32>, f32, i1) -> tensor<64xf32>
    return %r : tensor<64xf32>
  }
}
