// Three programs go through the 42 blocks of a product.  Descriptors copy the tiles of both factors and of the result: the
// columns of the right factor are its rows in memory, so its tile is transposed.  What each row is scaled by is loaded by
// addresses.
// RUN: fuse-opt %s --pass-pipeline="builtin.module(apply-tiling)" | FileCheck %s

// CHECK-LABEL: func.func private @k
// CHECK-SAME: fuse.grid = ["3"]
// CHECK: %[[X:.*]] = "tt.make_tensor_descriptor_2"({{.*}} -> !tt.tensordesc<tensor<32x32xbf16>>
// CHECK: %[[W:.*]] = "tt.make_tensor_descriptor_2"({{.*}} -> !tt.tensordesc<tensor<64x32xbf16>>
// CHECK: %[[O:.*]] = "tt.make_tensor_descriptor_2"({{.*}} -> !tt.tensordesc<tensor<32x64xbf16>>
// CHECK: %[[PID:.*]] = "tt.get_program_id"() {axis = 0 : i32}
// CHECK: scf.for %[[BLOCK:.*]] = %[[PID]] to
// CHECK: arith.divsi %[[BLOCK]]
// CHECK: "tt.load"({{.*}} -> tensor<32xbf16>
// CHECK: scf.for
// CHECK: %[[A:.*]] = "tt.descriptor_load"(%[[X]], {{.*}} -> tensor<32x32xbf16>
// CHECK: %[[T:.*]] = "tt.descriptor_load"(%[[W]], {{.*}} -> tensor<64x32xbf16>
// CHECK: %[[B:.*]] = "tt.trans"(%[[T]]) {{.*}} -> tensor<32x64xbf16>
// CHECK: "tt.dot"(%[[A]], %[[B]]
// CHECK: tt.num_stages = 2 : i32
// CHECK: "tt.descriptor_store"(%[[O]],
// CHECK: tt.flatten
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<200x104xbf16>, %w: tensor<104x328xbf16, #fuse.layout<"104,328", "1,104", "0", "">>, %s: tensor<200xbf16>) -> tensor<200x328xbf16> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<200x328xbf16>
    %y = call @k(%x, %w, %s, %o) : (tensor<200x104xbf16>, tensor<104x328xbf16, #fuse.layout<"104,328", "1,104", "0", "">>, tensor<200xbf16>, tensor<200x328xbf16>) -> tensor<200x328xbf16>
    return %y : tensor<200x328xbf16>
  }
  func.func private @k(%x: tensor<200x104xbf16>, %w: tensor<104x328xbf16, #fuse.layout<"104,328", "1,104", "0", "">>, %s: tensor<200xbf16>, %o: tensor<200x328xbf16>) -> tensor<200x328xbf16>
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
    %t = arith.truncf %p : f32 to bf16
    %r = "fuse.store"(%o, %t, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<200x328xbf16>, bf16, i1) -> tensor<200x328xbf16>
    return %r : tensor<200x328xbf16>
  }
}
