// Three programs go through the seven blocks of rows of a chain of two products.  Both weights and the bias are loaded once,
// before the loop; the rows of a block, and what is added to its result, in the loop, of which Triton makes two stages.
// RUN: fuse-opt %s --pass-pipeline="builtin.module(apply-tiling)" | FileCheck %s

// CHECK-LABEL: func.func private @k
// CHECK-SAME: fuse.grid = ["3"]
// CHECK-NOT: tensor<32x64x!tt.ptr
// CHECK-COUNT-2: "tt.load"({{.*}}tensor<64x64x!tt.ptr<bf16>>{{.*}} -> tensor<64x64xbf16>
// CHECK: scf.for %[[BLOCK:.*]] = %{{.*}} to
// CHECK-NOT: tensor<64x64x!tt.ptr
// CHECK: "tt.load"({{.*}} -> tensor<32x64xbf16>
// CHECK: "tt.dot"
// CHECK: "tt.dot"
// CHECK: "tt.load"({{.*}} -> tensor<32x64xbf16>
// CHECK: "tt.store"
// CHECK: tt.num_stages = 2 : i32
// CHECK-NOT: tt.flatten
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<200x64xbf16>, %w: tensor<64x64xbf16>, %v: tensor<64x64xbf16>, %b: tensor<64xbf16>) -> tensor<200x64xbf16> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<200x64xbf16>
    %y = call @k(%x, %w, %v, %b, %o) : (tensor<200x64xbf16>, tensor<64x64xbf16>, tensor<64x64xbf16>, tensor<64xbf16>, tensor<200x64xbf16>) -> tensor<200x64xbf16>
    return %y : tensor<200x64xbf16>
  }
  func.func private @k(%x: tensor<200x64xbf16>, %w: tensor<64x64xbf16>, %v: tensor<64x64xbf16>, %b: tensor<64xbf16>, %o: tensor<200x64xbf16>) -> tensor<200x64xbf16>
      attributes {fuse.kernel, fuse.dims = {d0 = "200", d1 = "64", d2 = "64", d3 = "64"}, fuse.ties = array<i64: 4>,
                  fuse.tile = {axes = [{dims = ["d0"], block = 32 : i64, kind = "grid"}, {dims = ["d1"], block = 64 : i64, kind = "resident"}, {dims = ["d3"], block = 64 : i64, kind = "resident"}, {dims = ["d2"], block = 64 : i64, kind = "resident"}], num_warps = 4 : i64, num_stages = 2 : i64, programs = 3 : i64}} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d2"]} : (tensor<200x64xbf16>, i1, bf16) -> bf16
    %p = "fuse.load"(%w, %true, %zero) {at = ["d2", "d1"]} : (tensor<64x64xbf16>, i1, bf16) -> bf16
    %s = "fuse.dot"(%a, %p) {over = ["d2"]} : (bf16, bf16) -> f32
    %c = "fuse.load"(%b, %true, %zero) {at = ["d1"]} : (tensor<64xbf16>, i1, bf16) -> bf16
    %e = arith.extf %c : bf16 to f32
    %f = arith.addf %s, %e : f32
    %h = arith.truncf %f : f32 to bf16
    %q = "fuse.load"(%v, %true, %zero) {at = ["d1", "d3"]} : (tensor<64x64xbf16>, i1, bf16) -> bf16
    %t = "fuse.dot"(%h, %q) {over = ["d1"]} : (bf16, bf16) -> f32
    %u = "fuse.load"(%x, %true, %zero) {at = ["d0", "d3"]} : (tensor<200x64xbf16>, i1, bf16) -> bf16
    %g = arith.extf %u : bf16 to f32
    %z = arith.addf %t, %g : f32
    %n = arith.truncf %z : f32 to bf16
    %r = "fuse.store"(%o, %n, %true) {at = ["d0", "d3"], mode = "set"} : (tensor<200x64xbf16>, bf16, i1) -> tensor<200x64xbf16>
    return %r : tensor<200x64xbf16>
  }
}
