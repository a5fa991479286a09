// Every dump parses back to the same bytes, and running the rest of the pipeline on it gives the next one.
// RUN: rm -rf %t && fuse-opt %s --canonicalize --plan-memory --cse --dump-dir=%t -o %t.out
// RUN: not fuse-opt %s --cse --dump-dir=%t 2>&1 | FileCheck %s --check-prefix=AGAIN
// AGAIN: fuse-opt: error: cannot write to folder '{{.*}}': it is not empty
// RUN: fuse-opt %t/00-input.mlir --mlir-print-debuginfo -o %t/replayed.mlir && cmp %t/00-input.mlir %t/replayed.mlir
// RUN: fuse-opt %t/00-input.mlir --canonicalize --mlir-print-debuginfo -o %t/replayed.mlir && cmp %t/01-canonicalize.mlir %t/replayed.mlir
// RUN: fuse-opt %t/01-canonicalize.mlir --plan-memory --mlir-print-debuginfo -o %t/replayed.mlir && cmp %t/02-plan-memory.mlir %t/replayed.mlir
// RUN: fuse-opt %t/02-plan-memory.mlir --cse -o %t/replayed.mlir && cmp %t.out %t/replayed.mlir
// RUN: FileCheck %s < %t/02-plan-memory.mlir
// CHECK: fuse.alloc
// CHECK: loc("{{.*}}dump-dir.mlir"
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
