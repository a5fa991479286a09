// RUN: fuse-opt %s --pass-pipeline="builtin.module(fuse-user-epilogues,fuse-user-prologues)" | FileCheck %s

// Must not fire: the user's kernel does not say (fuse.tile) for how many warps it is.
// CHECK-LABEL: func.func @main
// CHECK: call @exp(
// CHECK: call @copy(
// CHECK: call @neg(
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
                  fuse.user = "model.py:3 copy"} {
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
