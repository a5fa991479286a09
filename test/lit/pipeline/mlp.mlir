// Two matrix products of transposed weights with bias and relu between them. The products stay calls of the library and
// read the weights through views; what is between them becomes one kernel; each buffer is freed after its last reader.
// RUN: fuse-opt %s --default-pipeline=scheduled | FileCheck %s --check-prefix=SCHEDULED
// RUN: fuse-opt %s --default-pipeline=tiled | FileCheck %s --check-prefix=TILED
// RUN: fuse-opt %s --default-pipeline=planned | FileCheck %s --check-prefix=PLANNED

// SCHEDULED-LABEL: func.func @main
// SCHEDULED: %[[U:.*]] = "fuse.view"(%arg1)
// SCHEDULED: %[[H:.*]] = call @mm_up(%arg0, %[[U]])
// SCHEDULED: %[[O:.*]] = "fuse.empty"
// SCHEDULED: %[[A:.*]] = call @[[K:fused[a-z_0-9]*]](%[[H]], %arg2, %[[O]])
// SCHEDULED: %[[D:.*]] = "fuse.view"(%arg3)
// SCHEDULED: %[[Y:.*]] = call @mm_down(%[[A]], %[[D]])
// SCHEDULED: return %[[Y]]
// SCHEDULED: func.func private @mm_up
// SCHEDULED-SAME: fuse.extern = "aten.mm.default"
// SCHEDULED: func.func private @mm_down
// SCHEDULED: func.func private @[[K]]
// SCHEDULED: arith.addf
// SCHEDULED: arith.maximumf
// SCHEDULED-COUNT-1: "fuse.store"
// SCHEDULED-NOT: func.func

// TILED-LABEL: func.func @main
// TILED: func.func private @mm_up
// TILED-NOT: fuse.grid
// TILED: func.func private @fused_add_relu_0
// TILED-SAME: fuse.grid = [
// TILED-SAME: fuse.tile = {
// TILED: "tt.load"({{.*}} {operandSegmentSizes = array<i32: 1, 0, 0>}
// TILED: arith.maximumf {{.*}} : tensor<
// TILED: "tt.store"

// PLANNED-LABEL: func.func @main
// PLANNED: %[[H:.*]] = call @mm_up(
// PLANNED-NEXT: %[[O:.*]] = "fuse.alloc"{{.*}} -> tensor<32x128xf32>
// PLANNED-NEXT: %[[A:.*]] = call @fused_add_relu_0(%[[H]], %arg2, %[[O]])
// PLANNED-NEXT: "fuse.free"(%[[H]])
// PLANNED: %[[Y:.*]] = call @mm_down(%[[A]], %
// PLANNED-NEXT: "fuse.free"(%[[A]])
// PLANNED-NEXT: return %[[Y]]
// PLANNED: "tt.func"
// PLANNED-NOT: fuse.extern
// PLANNED: sym_name = "fused_add_relu_0_tt"
// PLANNED: func.func private @fused_add_relu_0(
// PLANNED-SAME: fuse.launch = @fused_add_relu_0_tt

module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<32x64xf32>, %w1: tensor<128x64xf32>, %b: tensor<128xf32>, %w2: tensor<16x128xf32>) -> tensor<32x16xf32> {
    %u = "fuse.view"(%w1) {map = ["v1", "v0"], syms = []} : (tensor<128x64xf32>) -> tensor<64x128xf32, #fuse.layout<"64,128", "1,64", "0", "">>
    %h = call @mm_up(%x, %u) : (tensor<32x64xf32>, tensor<64x128xf32, #fuse.layout<"64,128", "1,64", "0", "">>) -> tensor<32x128xf32>
    %a_o = "fuse.empty"() {syms = []} : () -> tensor<32x128xf32>
    %a = call @add(%h, %b, %a_o) : (tensor<32x128xf32>, tensor<128xf32>, tensor<32x128xf32>) -> tensor<32x128xf32>
    %c_o = "fuse.empty"() {syms = []} : () -> tensor<32x128xf32>
    %c = call @relu(%a, %c_o) : (tensor<32x128xf32>, tensor<32x128xf32>) -> tensor<32x128xf32>
    %d = "fuse.view"(%w2) {map = ["v1", "v0"], syms = []} : (tensor<16x128xf32>) -> tensor<128x16xf32, #fuse.layout<"128,16", "1,128", "0", "">>
    %y = call @mm_down(%c, %d) : (tensor<32x128xf32>, tensor<128x16xf32, #fuse.layout<"128,16", "1,128", "0", "">>) -> tensor<32x16xf32>
    return %y : tensor<32x16xf32>
  }
  func.func private @mm_up(tensor<32x64xf32>, tensor<64x128xf32, #fuse.layout<"64,128", "1,64", "0", "">>) -> tensor<32x128xf32>
      attributes {fuse.extern = "aten.mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
  func.func private @mm_down(tensor<32x128xf32>, tensor<128x16xf32, #fuse.layout<"128,16", "1,128", "0", "">>) -> tensor<32x16xf32>
      attributes {fuse.extern = "aten.mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
  func.func private @add(%x: tensor<32x128xf32>, %b: tensor<128xf32>, %o: tensor<32x128xf32>) -> tensor<32x128xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "32", d1 = "128"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<32x128xf32>, i1, f32) -> f32
    %w = "fuse.load"(%b, %true, %zero) {at = ["d1"]} : (tensor<128xf32>, i1, f32) -> f32
    %s = arith.addf %v, %w : f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<32x128xf32>, f32, i1) -> tensor<32x128xf32>
    return %r : tensor<32x128xf32>
  }
  func.func private @relu(%x: tensor<32x128xf32>, %o: tensor<32x128xf32>) -> tensor<32x128xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "32", d1 = "128"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<32x128xf32>, i1, f32) -> f32
    %s = arith.maximumf %v, %zero : f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<32x128xf32>, f32, i1) -> tensor<32x128xf32>
    return %r : tensor<32x128xf32>
  }
}
