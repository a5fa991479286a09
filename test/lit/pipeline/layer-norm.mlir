// Layer norm of f16 rows in f32, with weight and bias: mean, variance and the rest become one kernel, which keeps each row
// in registers: the block of 1024 elements covers the row of 768, and the sums see only what is inside.
// RUN: fuse-opt %s --default-pipeline=scheduled | FileCheck %s --check-prefix=SCHEDULED
// RUN: fuse-opt %s --default-pipeline=tiled | FileCheck %s --check-prefix=TILED
// RUN: fuse-opt %s --default-pipeline=planned | FileCheck %s --check-prefix=PLANNED

// SCHEDULED-LABEL: func.func @main
// SCHEDULED: "fuse.empty"
// SCHEDULED-NOT: "fuse.empty"
// SCHEDULED: call @
// SCHEDULED-NOT: call @
// SCHEDULED: return
// SCHEDULED-LABEL: func.func private @
// SCHEDULED: "fuse.load"({{.*}}) {at = ["d0", "d1"]}
// SCHEDULED-NEXT: {{.*}}arith.extf
// SCHEDULED: "fuse.reduce"
// SCHEDULED-NOT: {at = ["d0", "d1"]}
// SCHEDULED: "fuse.reduce"
// SCHEDULED-NOT: {at = ["d0", "d1"]}
// SCHEDULED: math.rsqrt
// SCHEDULED: arith.truncf {{.*}} : f32 to f16
// SCHEDULED: "fuse.store"({{.*}}) {at = ["d0", "d1"], mode = "set"}
// SCHEDULED-NOT: func.func

// TILED-LABEL: func.func private @
// TILED-SAME: fuse.grid = [
// TILED-SAME: fuse.tile = {axes = [{block = 1 : i64, dims = ["d0"], kind = "grid"}, {block = 1024 : i64, dims = ["d1"], kind = "resident"}]
// TILED: %[[IN:.*]] = arith.cmpi slt, %{{.*}} : tensor<1024xi32>
// TILED: %[[H:.*]] = "tt.load"(%{{.*}}, %[[IN]], %{{.*}}) {{.*}} -> tensor<1024xf16>
// TILED: %[[V:.*]] = arith.extf %[[H]]
// TILED: %[[S:.*]] = arith.select %[[IN]], %[[V]], %
// TILED: "tt.reduce"(%[[S]])
// TILED: %[[D:.*]] = arith.select %[[IN]], %
// TILED: "tt.reduce"(%[[D]])
// TILED: "tt.store"(%{{.*}}, %{{.*}}, %[[IN]])

// PLANNED-LABEL: func.func @main
// PLANNED: %[[O:.*]] = "fuse.alloc"{{.*}} -> tensor<64x768xf16>
// PLANNED-NOT: "fuse.alloc"
// PLANNED: call @{{.*}}, %[[O]])
// PLANNED: return
// PLANNED-LABEL: "tt.func"
// PLANNED: !tt.ptr<f16>, %{{.*}}: !tt.ptr<f32>, %{{.*}}: !tt.ptr<f32>, %{{.*}}: !tt.ptr<f16>):
// PLANNED-COUNT-2: "tt.reduce"(
// PLANNED: "tt.return"
// PLANNED: sym_name = "[[TT:.*]]", sym_visibility
// PLANNED: func.func private @
// PLANNED-SAME: fuse.launch = @[[TT]],
// PLANNED-SAME: fuse.params = ["0:ptr", "1:ptr", "2:ptr", "3:ptr"]
// PLANNED-NOT: "tt.func"

module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<64x768xf16>, %w: tensor<768xf32>, %b: tensor<768xf32>) -> tensor<64x768xf16> {
    %mean_o = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %mean = call @mean(%x, %mean_o) : (tensor<64x768xf16>, tensor<64xf32>) -> tensor<64xf32>
    %var_o = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %var = call @variance(%x, %mean, %var_o) : (tensor<64x768xf16>, tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    %y_o = "fuse.empty"() {syms = []} : () -> tensor<64x768xf16>
    %y = call @normalise(%x, %mean, %var, %w, %b, %y_o) : (tensor<64x768xf16>, tensor<64xf32>, tensor<64xf32>, tensor<768xf32>, tensor<768xf32>, tensor<64x768xf16>) -> tensor<64x768xf16>
    return %y : tensor<64x768xf16>
  }
  func.func private @mean(%x: tensor<64x768xf16>, %o: tensor<64xf32>) -> tensor<64xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "64", d1 = "768"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %hz = arith.constant 0.0 : f16
    %h = "fuse.load"(%x, %true, %hz) {at = ["d0", "d1"]} : (tensor<64x768xf16>, i1, f16) -> f16
    %v = arith.extf %h : f16 to f32
    %n = arith.constant 768.0 : f32
    %s = "fuse.reduce"(%v) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %q = arith.divf %s, %n : f32
    %r = "fuse.store"(%o, %q, %true) {at = ["d0"], mode = "set"} : (tensor<64xf32>, f32, i1) -> tensor<64xf32>
    return %r : tensor<64xf32>
  }
  func.func private @variance(%x: tensor<64x768xf16>, %m: tensor<64xf32>, %o: tensor<64xf32>) -> tensor<64xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "64", d1 = "768"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %hz = arith.constant 0.0 : f16
    %h = "fuse.load"(%x, %true, %hz) {at = ["d0", "d1"]} : (tensor<64x768xf16>, i1, f16) -> f16
    %v = arith.extf %h : f16 to f32
    %n = arith.constant 768.0 : f32
    %a = "fuse.load"(%m, %true, %zero) {at = ["d0"]} : (tensor<64xf32>, i1, f32) -> f32
    %c = arith.subf %v, %a : f32
    %p = arith.mulf %c, %c : f32
    %s = "fuse.reduce"(%p) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %q = arith.divf %s, %n : f32
    %r = "fuse.store"(%o, %q, %true) {at = ["d0"], mode = "set"} : (tensor<64xf32>, f32, i1) -> tensor<64xf32>
    return %r : tensor<64xf32>
  }
  func.func private @normalise(%x: tensor<64x768xf16>, %m: tensor<64xf32>, %q: tensor<64xf32>, %w: tensor<768xf32>, %b: tensor<768xf32>, %o: tensor<64x768xf16>) -> tensor<64x768xf16>
      attributes {fuse.kernel, fuse.dims = {d0 = "64", d1 = "768"}, fuse.ties = array<i64: 5>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %hz = arith.constant 0.0 : f16
    %h = "fuse.load"(%x, %true, %hz) {at = ["d0", "d1"]} : (tensor<64x768xf16>, i1, f16) -> f16
    %v = arith.extf %h : f16 to f32
    %eps = arith.constant 1.0e-05 : f32
    %a = "fuse.load"(%m, %true, %zero) {at = ["d0"]} : (tensor<64xf32>, i1, f32) -> f32
    %c = "fuse.load"(%q, %true, %zero) {at = ["d0"]} : (tensor<64xf32>, i1, f32) -> f32
    %g = "fuse.load"(%w, %true, %zero) {at = ["d1"]} : (tensor<768xf32>, i1, f32) -> f32
    %h0 = "fuse.load"(%b, %true, %zero) {at = ["d1"]} : (tensor<768xf32>, i1, f32) -> f32
    %u = arith.subf %v, %a : f32
    %t = arith.addf %c, %eps : f32
    %i = math.rsqrt %t : f32
    %n = arith.mulf %u, %i : f32
    %k = arith.mulf %n, %g : f32
    %l = arith.addf %k, %h0 : f32
    %z = arith.truncf %l : f32 to f16
    %r = "fuse.store"(%o, %z, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<64x768xf16>, f16, i1) -> tensor<64x768xf16>
    return %r : tensor<64x768xf16>
  }
}
