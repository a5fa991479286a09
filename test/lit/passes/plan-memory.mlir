// RUN: fuse-opt %s --pass-pipeline="builtin.module(plan-memory)" --split-input-file --verify-diagnostics | FileCheck %s
// RUN: fuse-opt %s --pass-pipeline="builtin.module(plan-memory{reuse=false})" --split-input-file --verify-diagnostics | FileCheck %s --check-prefix=KEEP

// Fires: three buffers of one size in a chain need two allocations; the first is taken over once its reader is done.

// CHECK-LABEL: func.func @main
// CHECK: %[[A:.*]] = "fuse.alloc"()
// CHECK: %[[X:.*]] = call @copy(%arg0, %[[A]])
// CHECK: %[[B:.*]] = "fuse.alloc"()
// CHECK: %[[Y:.*]] = call @copy(%[[X]], %[[B]])
// CHECK: %[[C:.*]] = "fuse.reuse"(%[[X]])
// CHECK: %[[R:.*]] = call @copy(%[[Y]], %[[C]])
// CHECK: "fuse.free"(%[[Y]])
// CHECK-NEXT: return %[[R]]
// KEEP-LABEL: func.func @main
// KEEP-COUNT-3: "fuse.alloc"()
// KEEP-NOT: "fuse.reuse"
// KEEP: return
func.func @main(%in: tensor<64xf32>) -> tensor<64xf32> {
  %a = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
  %b = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
  %c = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
  %x = call @copy(%in, %a) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %y = call @copy(%x, %b) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %z = call @copy(%y, %c) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  return %z : tensor<64xf32>
}
func.func private @copy(%x: tensor<64xf32>, %o: tensor<64xf32>) -> tensor<64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64"}, fuse.ties = array<i64: 1>} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : f32
  %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<64xf32>, i1, f32) -> f32
  %r = "fuse.store"(%o, %v, %true) {at = ["d0"], mode = "set"} : (tensor<64xf32>, f32, i1) -> tensor<64xf32>
  return %r : tensor<64xf32>
}

// -----

// Must not fire: buffers of different element types do not take over each other, a view keeps its storage alive until the view's last
// use, a time (fuse.after) keeps nothing alive, and what is returned is never freed.

// CHECK-LABEL: func.func @main
// CHECK: %[[A:.*]] = "fuse.alloc"() {{.*}} -> tensor<8x8xf32>
// CHECK: %[[X:.*]] = call @fill(%[[A]])
// CHECK: %[[V:.*]] = "fuse.view"
// CHECK-NOT: "fuse.reuse"
// CHECK: %[[B:.*]] = "fuse.alloc"() {{.*}} -> tensor<64xi32>
// CHECK: call @fill_i32(%[[B]])
// CHECK: call @torch_relu
// CHECK: "fuse.free"(%[[X]])
// CHECK-NEXT: "fuse.after"
// CHECK-NEXT: return
func.func @main() -> (tensor<64xi32>, tensor<64xf32>) {
  %a = "fuse.empty"() {operandSegmentSizes = array<i32: 0>, syms = []} : () -> tensor<8x8xf32>
  %b = "fuse.empty"() {operandSegmentSizes = array<i32: 0>, syms = []} : () -> tensor<64xi32>
  %x = call @fill(%a) : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %v = "fuse.view"(%x) {map = ["v0 floordiv 8", "v0 mod 8"], syms = []} : (tensor<8x8xf32>) -> tensor<64xf32>
  %i = call @fill_i32(%b) : (tensor<64xi32>) -> tensor<64xi32>
  %y = call @torch_relu(%v) : (tensor<64xf32>) -> tensor<64xf32>
  %t = "fuse.after"(%x) : (tensor<8x8xf32>) -> !fuse.token
  return %i, %y : tensor<64xi32>, tensor<64xf32>
}
func.func private @torch_relu(tensor<64xf32>) -> tensor<64xf32> attributes {fuse.extern = "aten.relu.default", fuse.args = [#fuse.arg<0 : i64>], fuse.kwargs = {}}
func.func private @fill(%o: tensor<8x8xf32>) -> tensor<8x8xf32> attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "8"}, fuse.ties = array<i64: 0>} {
  %true = arith.constant true
  %one = arith.constant 1.0 : f32
  %r = "fuse.store"(%o, %one, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<8x8xf32>, f32, i1) -> tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}
func.func private @fill_i32(%o: tensor<64xi32>) -> tensor<64xi32> attributes {fuse.kernel, fuse.dims = {d0 = "64"}, fuse.ties = array<i64: 0>} {
  %true = arith.constant true
  %one = arith.constant 1 : i32
  %r = "fuse.store"(%o, %one, %true) {at = ["d0"], mode = "set"} : (tensor<64xi32>, i32, i1) -> tensor<64xi32>
  return %r : tensor<64xi32>
}

// -----

// Must not fire: %a could wait for its next owner, %d, but a larger buffer is needed meanwhile, so the peak would rise: it is given
// back, and taken anew.

// CHECK-LABEL: func.func @main
// CHECK: %[[X:.*]] = call @torch_sum
// CHECK-NEXT: "fuse.free"
// CHECK: %[[W:.*]] = call @torch_wide
// CHECK-NOT: "fuse.reuse"
// CHECK: "fuse.free"(%[[W]])
// CHECK: "fuse.alloc"() {{.*}} -> tensor<64xf32>
// CHECK-NOT: "fuse.reuse"
// CHECK: return
func.func @main() -> (tensor<f32>, tensor<f32>, tensor<64xf32>) {
  %a = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
  %d = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
  %x = call @fill(%a) : (tensor<64xf32>) -> tensor<64xf32>
  %s = call @torch_sum(%x) : (tensor<64xf32>) -> tensor<f32>
  %w = call @torch_wide() : () -> tensor<4096xf32>
  %m = call @torch_mean(%w) : (tensor<4096xf32>) -> tensor<f32>
  %y = call @fill(%d) : (tensor<64xf32>) -> tensor<64xf32>
  return %s, %m, %y : tensor<f32>, tensor<f32>, tensor<64xf32>
}
func.func private @torch_wide() -> tensor<4096xf32> attributes {fuse.extern = "aten.rand.default", fuse.args = [[4096]], fuse.kwargs = {}}
func.func private @torch_sum(tensor<64xf32>) -> tensor<f32> attributes {fuse.extern = "aten.sum.default", fuse.args = [#fuse.arg<0 : i64>], fuse.kwargs = {}}
func.func private @torch_mean(tensor<4096xf32>) -> tensor<f32> attributes {fuse.extern = "aten.mean.default", fuse.args = [#fuse.arg<0 : i64>], fuse.kwargs = {}}
func.func private @fill(%o: tensor<64xf32>) -> tensor<64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64"}, fuse.ties = array<i64: 0>} {
  %true = arith.constant true
  %one = arith.constant 1.0 : f32
  %r = "fuse.store"(%o, %one, %true) {at = ["d0"], mode = "set"} : (tensor<64xf32>, f32, i1) -> tensor<64xf32>
  return %r : tensor<64xf32>
}

// -----

// Bad input: memory is planned already.

func.func @main() -> tensor<8xf32> {
  // expected-error @+1 {{plan-memory: memory is planned already: found fuse.alloc}}
  %a = "fuse.alloc"() {syms = []} : () -> tensor<8xf32>
  return %a : tensor<8xf32>
}
