// A chain of two products whose first sum has an unknown length of at most 64 elements, 10 by its hint.  Programs go through
// blocks of rows, with all that may be summed in one block: they do not sum in a loop.
// RUN: fuse-opt %s --pass-pipeline="builtin.module(choose-tiling{hardware=h200})" | FileCheck %s
// RUN: fuse-opt %s --pass-pipeline="builtin.module(choose-tiling{hardware=h200},apply-tiling)" | FileCheck %s --check-prefix=TILED

// CHECK-LABEL: func.func private @bounded
// CHECK-SAME: {block = 64 : i64, dims = ["d2"], kind = "resident"}
// CHECK-SAME: programs =
// TILED-LABEL: func.func private @bounded
// TILED: "tt.dot"{{.*}} (tensor<64x64xbf16>, tensor<64x64xbf16>, tensor<64x64xf32>)

// Must not fire: without a bound, no block holds all that is summed.
// CHECK-LABEL: func.func private @unbounded
// CHECK-NOT: programs =
// CHECK: return
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<262144x?xbf16, #fuse.layout<"262144,s0", "s0,1", "0", "cpu">>, %w: tensor<?x64xbf16, #fuse.layout<"s0,64", "64,1", "0", "cpu">>, %v: tensor<64x64xbf16>, %s0: index {fuse.sym = "s0", fuse.max = 64 : i64, fuse.hint = 10 : i64}, %x1: tensor<262144x?xbf16, #fuse.layout<"262144,s1", "s1,1", "0", "cpu">>, %w1: tensor<?x64xbf16, #fuse.layout<"s1,64", "64,1", "0", "cpu">>, %s1: index {fuse.sym = "s1", fuse.hint = 10 : i64}) -> (tensor<262144x64xbf16>, tensor<262144x64xbf16>) {
    %o = "fuse.empty"() {syms = []} : () -> tensor<262144x64xbf16>
    %y = call @bounded(%x, %w, %v, %o, %s0) : (tensor<262144x?xbf16, #fuse.layout<"262144,s0", "s0,1", "0", "cpu">>, tensor<?x64xbf16, #fuse.layout<"s0,64", "64,1", "0", "cpu">>, tensor<64x64xbf16>, tensor<262144x64xbf16>, index) -> tensor<262144x64xbf16>
    %o1 = "fuse.empty"() {syms = []} : () -> tensor<262144x64xbf16>
    %y1 = call @unbounded(%x1, %w1, %v, %o1, %s1) : (tensor<262144x?xbf16, #fuse.layout<"262144,s1", "s1,1", "0", "cpu">>, tensor<?x64xbf16, #fuse.layout<"s1,64", "64,1", "0", "cpu">>, tensor<64x64xbf16>, tensor<262144x64xbf16>, index) -> tensor<262144x64xbf16>
    return %y, %y1 : tensor<262144x64xbf16>, tensor<262144x64xbf16>
  }
  func.func private @bounded(%x: tensor<262144x?xbf16, #fuse.layout<"262144,s0", "s0,1", "0", "cpu">>, %w: tensor<?x64xbf16, #fuse.layout<"s0,64", "64,1", "0", "cpu">>, %v: tensor<64x64xbf16>, %o: tensor<262144x64xbf16>, %s0: index {fuse.sym = "s0", fuse.max = 64 : i64}) -> tensor<262144x64xbf16>
      attributes {fuse.kernel, fuse.dims = {d0 = "262144", d1 = "64", d2 = "s0", d3 = "64"}, fuse.ties = array<i64: 3>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d2"]} : (tensor<262144x?xbf16, #fuse.layout<"262144,s0", "s0,1", "0", "cpu">>, i1, bf16) -> bf16
    %b = "fuse.load"(%w, %true, %zero) {at = ["d2", "d1"]} : (tensor<?x64xbf16, #fuse.layout<"s0,64", "64,1", "0", "cpu">>, i1, bf16) -> bf16
    %s = "fuse.dot"(%a, %b) {over = ["d2"]} : (bf16, bf16) -> f32
    %h = arith.truncf %s : f32 to bf16
    %q = "fuse.load"(%v, %true, %zero) {at = ["d1", "d3"]} : (tensor<64x64xbf16>, i1, bf16) -> bf16
    %t = "fuse.dot"(%h, %q) {over = ["d1"]} : (bf16, bf16) -> f32
    %z = arith.truncf %t : f32 to bf16
    %r = "fuse.store"(%o, %z, %true) {at = ["d0", "d3"], mode = "set"} : (tensor<262144x64xbf16>, bf16, i1) -> tensor<262144x64xbf16>
    return %r : tensor<262144x64xbf16>
  }
  func.func private @unbounded(%x: tensor<262144x?xbf16, #fuse.layout<"262144,s1", "s1,1", "0", "cpu">>, %w: tensor<?x64xbf16, #fuse.layout<"s1,64", "64,1", "0", "cpu">>, %v: tensor<64x64xbf16>, %o: tensor<262144x64xbf16>, %s1: index {fuse.sym = "s1"}) -> tensor<262144x64xbf16>
      attributes {fuse.kernel, fuse.dims = {d0 = "262144", d1 = "64", d2 = "s1", d3 = "64"}, fuse.ties = array<i64: 3>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d2"]} : (tensor<262144x?xbf16, #fuse.layout<"262144,s1", "s1,1", "0", "cpu">>, i1, bf16) -> bf16
    %b = "fuse.load"(%w, %true, %zero) {at = ["d2", "d1"]} : (tensor<?x64xbf16, #fuse.layout<"s1,64", "64,1", "0", "cpu">>, i1, bf16) -> bf16
    %s = "fuse.dot"(%a, %b) {over = ["d2"]} : (bf16, bf16) -> f32
    %h = arith.truncf %s : f32 to bf16
    %q = "fuse.load"(%v, %true, %zero) {at = ["d1", "d3"]} : (tensor<64x64xbf16>, i1, bf16) -> bf16
    %t = "fuse.dot"(%h, %q) {over = ["d1"]} : (bf16, bf16) -> f32
    %z = arith.truncf %t : f32 to bf16
    %r = "fuse.store"(%o, %z, %true) {at = ["d0", "d3"], mode = "set"} : (tensor<262144x64xbf16>, bf16, i1) -> tensor<262144x64xbf16>
    return %r : tensor<262144x64xbf16>
  }
}
