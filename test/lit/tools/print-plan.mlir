// The launch plan of a planned module as text, and `fuse-run` executes the plan as it does the module.
// RUN: fuse-opt %s --default-pipeline -o %t.mlir --fuse-print-plan 2> %t.plan && FileCheck %s < %t.plan
// RUN: fuse-run %t.mlir --save %t.pt && fuse-run %t.mlir --plan --compare %t.pt | FileCheck %s --check-prefix=SAME

// CHECK: plan on cpu
// CHECK-NEXT: kernel relu(ptr, ptr, i64)
// CHECK-NEXT: kernel bias(ptr, ptr, i64)
// CHECK-NEXT: extern mm (2) -> 1 = aten.mm.default($0, $1)
// CHECK-EMPTY:
// CHECK-NEXT: graph run(a0: f32[s0, 4], s0: index, a2: f32[4, 4]) {
// CHECK-NEXT:   align a0
// CHECK-NEXT:   t3: f32[s0, 4] = alloc
// CHECK-NEXT:   launch relu grid [(s0 + {{[0-9]+}}) floordiv {{[0-9]+}}, 1, 1] (a0, t3, s0) writes [1] at "{{.*}}print-plan.mlir":{{[0-9]+}}
// CHECK-NEXT:   free a0
// CHECK-NEXT:   t4: f32[s0, 4] = extern mm(t3, a2) at
// CHECK-NEXT:   free a2
// CHECK-NEXT:   t3: f32[s0, 4] = reuse t3
// CHECK-NEXT:   launch bias grid
// CHECK-NEXT:   free t4
// CHECK-NEXT:   return t3
// CHECK-NEXT: }
// CHECK-NEXT: end
// SAME: result 0: agrees

!x = tensor<?x4xf32, #fuse.layout<"s0,4", "4,1", "0", "">>
func.func @main(%x: !x, %s0: index {fuse.sym = "s0", fuse.hint = 5 : i64}, %w: tensor<4x4xf32>) -> !x {
  %o = "fuse.empty"(%s0) {syms = ["s0"]} : (index) -> !x
  %y = call @relu(%x, %o, %s0) : (!x, !x, index) -> !x
  %m = call @mm(%y, %w) : (!x, tensor<4x4xf32>) -> !x
  %p = "fuse.empty"(%s0) {syms = ["s0"]} : (index) -> !x
  %z = call @bias(%m, %p, %s0) : (!x, !x, index) -> !x
  return %z : !x
}
func.func private @mm(!x, tensor<4x4xf32>) -> !x attributes {fuse.extern = "aten.mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
func.func private @relu(%x: !x, %o: !x, %s0: index {fuse.sym = "s0"}) -> !x attributes {fuse.kernel, fuse.dims = {d0 = "s0", d1 = "4"}, fuse.ties = array<i64: 1>} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : f32
  %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (!x, i1, f32) -> f32
  %m = arith.maximumf %v, %zero : f32
  %r = "fuse.store"(%o, %m, %true) {at = ["d0", "d1"], mode = "set"} : (!x, f32, i1) -> !x
  return %r : !x
}
func.func private @bias(%x: !x, %o: !x, %s0: index {fuse.sym = "s0"}) -> !x attributes {fuse.kernel, fuse.dims = {d0 = "s0", d1 = "4"}, fuse.ties = array<i64: 1>} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (!x, i1, f32) -> f32
  %m = arith.addf %v, %one : f32
  %r = "fuse.store"(%o, %m, %true) {at = ["d0", "d1"], mode = "set"} : (!x, f32, i1) -> !x
  return %r : !x
}
