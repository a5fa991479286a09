// A pass that refuses its input says so at the op, once, and the exit code is 1.
// RUN: not fuse-opt %s --plan-memory 2>&1 | FileCheck %s

// CHECK-NOT: Traceback
// CHECK: pass-error.mlir:8:8: error: plan-memory: memory is planned already: found fuse.alloc
// CHECK-NOT: Traceback
func.func @main() -> tensor<8xf32> {
  %a = "fuse.alloc"() {syms = []} : () -> tensor<8xf32>
  return %a : tensor<8xf32>
}
