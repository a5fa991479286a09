// When a pass fails, the module before it and the passes from it on are kept, and fail again; without failure nothing is kept.
// RUN: not fuse-opt %s --canonicalize --plan-memory --plan-memory=reuse=false --cse --reproducer=%t 2>&1 | FileCheck %s --check-prefix=ERROR
// RUN: FileCheck %s < %t
// RUN: not fuse-opt %t --run-reproducer 2>&1 | FileCheck %s --check-prefix=ERROR
// RUN: not fuse-opt %s --run-reproducer 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: fuse-opt %s --plan-memory --reproducer=%t.good | FileCheck %s --check-prefix=GOOD
// RUN: not fuse-opt %t.good 2>&1 | FileCheck %s --check-prefix=GONE

// ERROR: reproducer.mlir:20:8: error: plan-memory: memory is planned already: found fuse.alloc
// CHECK: "fuse.alloc"
// CHECK: mlir_reproducer: {
// CHECK-NEXT: pipeline: "builtin.module(plan-memory{reuse=false},cse)",
// CHECK-NEXT: disable_threading: true,
// CHECK-NEXT: verify_each: true
// NONE: reproducer.mlir is no reproducer: it has no mlir_reproducer resource with a pipeline
// GOOD: "fuse.alloc"
// GONE: cannot read

func.func @main() -> tensor<8xf32> {
  %e = "fuse.empty"() {syms = []} : () -> tensor<8xf32>
  %y = call @fill(%e) : (tensor<8xf32>) -> tensor<8xf32>
  return %y : tensor<8xf32>
}
func.func private @fill(%o: tensor<8xf32>) -> tensor<8xf32>
    attributes {fuse.kernel, fuse.dims = {d0 = "8"}, fuse.ties = array<i64: 0>} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : f32
  %r = "fuse.store"(%o, %zero, %true) {at = ["d0"], mode = "set"} : (tensor<8xf32>, f32, i1) -> tensor<8xf32>
  return %r : tensor<8xf32>
}
