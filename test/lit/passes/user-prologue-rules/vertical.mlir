// Fusion with a user's Triton kernel is the matter of two passes, and fuse-vertical says nothing of it.
// RUN: fuse-opt %s --pass-pipeline="builtin.module(fold-views,fuse-vertical)" --split-input-file | FileCheck %s
// RUN: fuse-opt %s --pass-pipeline="builtin.module(fold-views,fuse-vertical,fuse-user-epilogues,fuse-user-prologues)" --split-input-file --remarks=text -o %t 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: fuse-opt %s --pass-pipeline="builtin.module(fuse-user-epilogues{user-kernels=apart},fuse-user-prologues{user-kernels=apart})" --split-input-file | FileCheck %s --check-prefix=APART

// REMARK: passed: fuse-user-epilogues: fused
// REMARK-NEXT: passed: fuse-user-prologues: fused, {{.*}}computes the result of exp
// REMARK-NEXT: passed: fuse-vertical: fused

// Must not fire: a kernel feeds a user's Triton kernel, and another one reads what that writes.
// APART: call @exp
// APART: call @copy
// APART: call @neg
// CHECK-LABEL: func.func @main
// CHECK-NOT: fuse.group
// CHECK: return
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<64xf32>) -> tensor<64xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %a = call @exp(%x, %o) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    %p = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %c = call @copy(%a, %p) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    %q = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %b = call @neg(%c, %q) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    return %b : tensor<64xf32>
  }
  func.func private @exp(%x: tensor<64xf32>, %o: tensor<64xf32>) -> tensor<64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<64xf32>, i1, f32) -> f32
    %r = math.exp %v : f32
    %out = "fuse.store"(%o, %r, %true) {at = ["d0"], mode = "set"} : (tensor<64xf32>, f32, i1) -> tensor<64xf32>
    return %out : tensor<64xf32>
  }
  func.func private @neg(%x: tensor<64xf32>, %o: tensor<64xf32>) -> tensor<64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<64xf32>, i1, f32) -> f32
    %r = arith.negf %v : f32
    %out = "fuse.store"(%o, %r, %true) {at = ["d0"], mode = "set"} : (tensor<64xf32>, f32, i1) -> tensor<64xf32>
    return %out : tensor<64xf32>
  }
  func.func private @copy(%x: tensor<64xf32>, %o: tensor<64xf32>) -> tensor<64xf32>
      attributes {fuse.kernel, fuse.dims = {}, fuse.grid = ["64"], fuse.ties = array<i64: 1>,
                  fuse.tile = {axes = [], num_stages = 1 : i64, num_warps = 1 : i64}, fuse.user = "model.py:3 copy"} {
    %px = "fuse.base"(%x) : (tensor<64xf32>) -> !tt.ptr<f32>
    %po = "fuse.base"(%o) : (tensor<64xf32>) -> !tt.ptr<f32>
    %id = "tt.get_program_id"() {axis = 0 : i32} : () -> i32
    %ax = "tt.addptr"(%px, %id) : (!tt.ptr<f32>, i32) -> !tt.ptr<f32>
    %v = "tt.load"(%ax) {operandSegmentSizes = array<i32: 1, 0, 0>} : (!tt.ptr<f32>) -> f32
    %ao = "tt.addptr"(%po, %id) : (!tt.ptr<f32>, i32) -> !tt.ptr<f32>
    "tt.store"(%ao, %v) {operandSegmentSizes = array<i32: 1, 1, 0>} : (!tt.ptr<f32>, f32) -> ()
    return %o : tensor<64xf32>
  }
}

// -----

// Beside a user's kernel two kernels meet.
// CHECK-LABEL: func.func @main
// CHECK-COUNT-2: fuse.group = 0
// CHECK: return
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>) {
    %p = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %c = call @copy(%x, %p) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    %o = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %a = call @exp(%x, %o) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    %q = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %b = call @neg(%a, %q) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    return %c, %b : tensor<64xf32>, tensor<64xf32>
  }
  func.func private @exp(%x: tensor<64xf32>, %o: tensor<64xf32>) -> tensor<64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<64xf32>, i1, f32) -> f32
    %r = math.exp %v : f32
    %out = "fuse.store"(%o, %r, %true) {at = ["d0"], mode = "set"} : (tensor<64xf32>, f32, i1) -> tensor<64xf32>
    return %out : tensor<64xf32>
  }
  func.func private @neg(%x: tensor<64xf32>, %o: tensor<64xf32>) -> tensor<64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<64xf32>, i1, f32) -> f32
    %r = arith.negf %v : f32
    %out = "fuse.store"(%o, %r, %true) {at = ["d0"], mode = "set"} : (tensor<64xf32>, f32, i1) -> tensor<64xf32>
    return %out : tensor<64xf32>
  }
  func.func private @copy(%x: tensor<64xf32>, %o: tensor<64xf32>) -> tensor<64xf32>
      attributes {fuse.kernel, fuse.dims = {}, fuse.grid = ["64"], fuse.ties = array<i64: 1>,
                  fuse.tile = {axes = [], num_stages = 1 : i64, num_warps = 1 : i64}, fuse.user = "model.py:3 copy"} {
    %px = "fuse.base"(%x) : (tensor<64xf32>) -> !tt.ptr<f32>
    %po = "fuse.base"(%o) : (tensor<64xf32>) -> !tt.ptr<f32>
    %id = "tt.get_program_id"() {axis = 0 : i32} : () -> i32
    %ax = "tt.addptr"(%px, %id) : (!tt.ptr<f32>, i32) -> !tt.ptr<f32>
    %v = "tt.load"(%ax) {operandSegmentSizes = array<i32: 1, 0, 0>} : (!tt.ptr<f32>) -> f32
    %ao = "tt.addptr"(%po, %id) : (!tt.ptr<f32>, i32) -> !tt.ptr<f32>
    "tt.store"(%ao, %v) {operandSegmentSizes = array<i32: 1, 1, 0>} : (!tt.ptr<f32>, f32) -> ()
    return %o : tensor<64xf32>
  }
}
