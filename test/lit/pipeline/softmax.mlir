// Softmax over rows as the importer spells it, four kernels and three buffers between them: one kernel, which reads and
// writes each row once, and one buffer, the result.
// RUN: fuse-opt %s --default-pipeline=scheduled | FileCheck %s --check-prefix=SCHEDULED
// RUN: fuse-opt %s --default-pipeline=tiled | FileCheck %s --check-prefix=TILED
// RUN: fuse-opt %s --default-pipeline=planned | FileCheck %s --check-prefix=PLANNED

// SCHEDULED-LABEL: func.func @main
// SCHEDULED-SAME: %[[X:.*]]: tensor<1000x256xf32>
// SCHEDULED: %[[O:.*]] = "fuse.empty"
// SCHEDULED-NEXT: %[[Y:.*]] = call @[[K:.*]](%[[X]], %[[O]])
// SCHEDULED-NEXT: return %[[Y]]
// SCHEDULED-LABEL: func.func private @
// SCHEDULED-SAME: fuse.kernel
// SCHEDULED: %[[V:.*]] = "fuse.load"
// SCHEDULED-NOT: "fuse.load"
// SCHEDULED: "fuse.reduce"(%[[V]]) {kind = "max", over = ["d1"]}
// SCHEDULED-NOT: "fuse.load"
// SCHEDULED: "fuse.reduce"({{.*}}) {kind = "sum", over = ["d1"]}
// SCHEDULED-NOT: "fuse.load"
// SCHEDULED: arith.divf
// SCHEDULED: "fuse.store"
// SCHEDULED-NOT: func.func

// TILED-LABEL: func.func private @
// TILED-SAME: fuse.dims = {d0 = "1000", d1 = "256"}
// TILED-SAME: fuse.grid = [
// TILED-SAME: fuse.tile = {axes = [{block = {{[0-9]+}} : i64, dims = ["d0"], kind = "grid"}, {block = 256 : i64, dims = ["d1"], kind = "resident"}]
// TILED-SAME: num_warps
// TILED: "fuse.base"
// TILED-NEXT: {{.*}}"fuse.base"
// TILED-NOT: "fuse.reduce"
// TILED: "tt.load"
// TILED: "tt.reduce"
// TILED: arith.maximumf
// TILED: "tt.reduce"
// TILED: arith.addf
// TILED: "tt.store"
// TILED-NOT: func.func

// PLANNED-LABEL: func.func @main
// PLANNED-SAME: %[[X:.*]]: tensor<1000x256xf32>
// PLANNED: %[[O:.*]] = "fuse.alloc"
// PLANNED-NEXT: %[[Y:.*]] = call @{{.*}}(%[[X]], %[[O]])
// PLANNED-NEXT: return %[[Y]]
// PLANNED-LABEL: "tt.func"
// PLANNED: %{{.*}}: !tt.ptr<f32>, %{{.*}}: !tt.ptr<f32>):
// PLANNED: "tt.load"
// PLANNED-NOT: "tt.load"
// PLANNED: "tt.store"
// PLANNED-NOT: "fuse.base"
// PLANNED: "tt.return"
// PLANNED: sym_name = "[[TT:.*]]", sym_visibility = "public"
// PLANNED: func.func private @
// PLANNED-SAME: fuse.launch = @[[TT]],
// PLANNED-SAME: fuse.params = ["0:ptr", "1:ptr"]
// PLANNED-NOT: "tt.func"

module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<1000x256xf32>) -> tensor<1000x256xf32> {
    %max_o = "fuse.empty"() {syms = []} : () -> tensor<1000xf32>
    %max = call @row_max(%x, %max_o) : (tensor<1000x256xf32>, tensor<1000xf32>) -> tensor<1000xf32>
    %e_o = "fuse.empty"() {syms = []} : () -> tensor<1000x256xf32>
    %e = call @exp_sub(%x, %max, %e_o) : (tensor<1000x256xf32>, tensor<1000xf32>, tensor<1000x256xf32>) -> tensor<1000x256xf32>
    %sum_o = "fuse.empty"() {syms = []} : () -> tensor<1000xf32>
    %sum = call @row_sum(%e, %sum_o) : (tensor<1000x256xf32>, tensor<1000xf32>) -> tensor<1000xf32>
    %y_o = "fuse.empty"() {syms = []} : () -> tensor<1000x256xf32>
    %y = call @divide(%e, %sum, %y_o) : (tensor<1000x256xf32>, tensor<1000xf32>, tensor<1000x256xf32>) -> tensor<1000x256xf32>
    return %y : tensor<1000x256xf32>
  }
  func.func private @row_max(%x: tensor<1000x256xf32>, %o: tensor<1000xf32>) -> tensor<1000xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "1000", d1 = "256"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<1000x256xf32>, i1, f32) -> f32
    %m = "fuse.reduce"(%v) {kind = "max", over = ["d1"]} : (f32) -> f32
    %r = "fuse.store"(%o, %m, %true) {at = ["d0"], mode = "set"} : (tensor<1000xf32>, f32, i1) -> tensor<1000xf32>
    return %r : tensor<1000xf32>
  }
  func.func private @exp_sub(%x: tensor<1000x256xf32>, %m: tensor<1000xf32>, %o: tensor<1000x256xf32>) -> tensor<1000x256xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "1000", d1 = "256"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<1000x256xf32>, i1, f32) -> f32
    %w = "fuse.load"(%m, %true, %zero) {at = ["d0"]} : (tensor<1000xf32>, i1, f32) -> f32
    %c = arith.subf %v, %w : f32
    %e = math.exp %c : f32
    %r = "fuse.store"(%o, %e, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<1000x256xf32>, f32, i1) -> tensor<1000x256xf32>
    return %r : tensor<1000x256xf32>
  }
  func.func private @row_sum(%x: tensor<1000x256xf32>, %o: tensor<1000xf32>) -> tensor<1000xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "1000", d1 = "256"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<1000x256xf32>, i1, f32) -> f32
    %s = "fuse.reduce"(%v) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d0"], mode = "set"} : (tensor<1000xf32>, f32, i1) -> tensor<1000xf32>
    return %r : tensor<1000xf32>
  }
  func.func private @divide(%x: tensor<1000x256xf32>, %s: tensor<1000xf32>, %o: tensor<1000x256xf32>) -> tensor<1000x256xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "1000", d1 = "256"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<1000x256xf32>, i1, f32) -> f32
    %w = "fuse.load"(%s, %true, %zero) {at = ["d0"]} : (tensor<1000xf32>, i1, f32) -> f32
    %q = arith.divf %v, %w : f32
    %r = "fuse.store"(%o, %q, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<1000x256xf32>, f32, i1) -> tensor<1000x256xf32>
    return %r : tensor<1000x256xf32>
  }
}
