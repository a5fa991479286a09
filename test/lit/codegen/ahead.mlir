// RUN: fuse-opt %s --pass-pipeline="builtin.module(apply-tiling)" | FileCheck %s
// RUN: fuse-opt %s --pass-pipeline="builtin.module(apply-tiling,launch-early{hardware=h200})" | FileCheck %s --check-prefix=EARLY
// RUN: sed 's/rule = "kernel"/rule = "call"/' %s | fuse-opt - --pass-pipeline="builtin.module(apply-tiling,launch-early{hardware=h200})" | FileCheck %s --check-prefix=ALONE

// The row and the weights are loaded before the row is reduced, in the order of the kernel.
// CHECK-LABEL: func.func private @product
// CHECK: "tt.load"{{.*}} -> tensor<1x1024xf32>
// CHECK: "tt.load"{{.*}} -> tensor<4x1024xf32>
// CHECK: arith.mulf {{.*}} : tensor<1x1024xf32>
// CHECK: "tt.reduce"
// CHECK: math.rsqrt
// CHECK-NOT: "tt.load"
// CHECK: "tt.reduce"
// CHECK: "tt.store"

// The next launch begins behind each of these loads.
// EARLY-LABEL: func.func private @product
// EARLY: asm_string = "griddepcontrol.wait; mov.b32 $0, $1; // launched early"
// EARLY-NEXT: tt.get_program_id
// EARLY: "tt.load"{{.*}} -> tensor<1x1024xf32>
// EARLY-NEXT: arith.constant
// EARLY-NEXT: asm_string = "griddepcontrol.launch_dependents; mov.b32 $0, $1;"
// EARLY: "tt.load"{{.*}} -> tensor<4x1024xf32>
// EARLY-NEXT: arith.constant
// EARLY-NEXT: asm_string = "griddepcontrol.launch_dependents; mov.b32 $0, $1;"
// EARLY: "tt.reduce"
// EARLY-NOT: griddepcontrol

// So it is where nothing waits: no pass has said that it is a product.
// ALONE-LABEL: func.func private @product
// ALONE-NOT: griddepcontrol.wait
// ALONE: "tt.load"{{.*}} -> tensor<1x1024xf32>
// ALONE-NEXT: arith.constant
// ALONE-NEXT: asm_string = "griddepcontrol.launch_dependents; mov.b32 $0, $1;"
// ALONE-LABEL: func.func private @late
// ALONE-NOT: griddepcontrol
// ALONE: return

// Must not fire: without ``ahead``, the weights are loaded where they are multiplied.
// CHECK-LABEL: func.func private @late
// CHECK: "tt.load"{{.*}} -> tensor<1x1024xf32>
// CHECK: "tt.reduce"
// CHECK: "tt.load"{{.*}} -> tensor<4x1024xf32>
// EARLY-LABEL: func.func private @late
// EARLY: asm_string = "griddepcontrol.launch_dependents; griddepcontrol.wait; mov.b32 $0, $1; // launched early"
// EARLY-NOT: griddepcontrol
// EARLY: return
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<1024xf32>, %w: tensor<4096x1024xf32>) -> (tensor<4096xf32>, tensor<4096xf32>) {
    %o = "fuse.empty"() {syms = []} : () -> tensor<4096xf32>
    %p = "fuse.empty"() {syms = []} : () -> tensor<4096xf32>
    %y = call @product(%x, %w, %o) {fuse.choice = [{nodes = ["mm"], rule = "kernel"}]} : (tensor<1024xf32>, tensor<4096x1024xf32>, tensor<4096xf32>) -> tensor<4096xf32>
    %z = call @late(%x, %w, %p) {fuse.choice = [{nodes = ["mm_1"], rule = "kernel"}]} : (tensor<1024xf32>, tensor<4096x1024xf32>, tensor<4096xf32>) -> tensor<4096xf32>
    return %y, %z : tensor<4096xf32>, tensor<4096xf32>
  }
  func.func private @product(%x: tensor<1024xf32>, %w: tensor<4096x1024xf32>, %o: tensor<4096xf32>) -> tensor<4096xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "4096", d1 = "1024"}, fuse.ties = array<i64: 2>,
                  fuse.tile = {axes = [{dims = ["d0"], block = 4 : i64, kind = "grid"}, {dims = ["d1"], block = 1024 : i64, kind = "resident"}], num_warps = 2 : i64, num_stages = 1 : i64, ahead}} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %a = "fuse.load"(%x, %true, %zero) {at = ["d1"]} : (tensor<1024xf32>, i1, f32) -> f32
    %q = arith.mulf %a, %a : f32
    %t = "fuse.reduce"(%q) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %r = math.rsqrt %t : f32
    %n = arith.mulf %a, %r : f32
    %b = "fuse.load"(%w, %true, %zero) {at = ["d0", "d1"]} : (tensor<4096x1024xf32>, i1, f32) -> f32
    %p = arith.mulf %n, %b : f32
    %s = "fuse.reduce"(%p) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %out = "fuse.store"(%o, %s, %true) {at = ["d0"], mode = "set"} : (tensor<4096xf32>, f32, i1) -> tensor<4096xf32>
    return %out : tensor<4096xf32>
  }
  func.func private @late(%x: tensor<1024xf32>, %w: tensor<4096x1024xf32>, %o: tensor<4096xf32>) -> tensor<4096xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "4096", d1 = "1024"}, fuse.ties = array<i64: 2>,
                  fuse.tile = {axes = [{dims = ["d0"], block = 4 : i64, kind = "grid"}, {dims = ["d1"], block = 1024 : i64, kind = "resident"}], num_warps = 2 : i64, num_stages = 1 : i64}} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %a = "fuse.load"(%x, %true, %zero) {at = ["d1"]} : (tensor<1024xf32>, i1, f32) -> f32
    %q = arith.mulf %a, %a : f32
    %t = "fuse.reduce"(%q) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %r = math.rsqrt %t : f32
    %n = arith.mulf %a, %r : f32
    %b = "fuse.load"(%w, %true, %zero) {at = ["d0", "d1"]} : (tensor<4096x1024xf32>, i1, f32) -> f32
    %p = arith.mulf %n, %b : f32
    %s = "fuse.reduce"(%p) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %out = "fuse.store"(%o, %s, %true) {at = ["d0"], mode = "set"} : (tensor<4096xf32>, f32, i1) -> tensor<4096xf32>
    return %out : tensor<4096xf32>
  }
}
