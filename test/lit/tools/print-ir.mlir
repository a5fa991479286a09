// IR around passes goes to stderr under banners; the result still goes to stdout.
// RUN: fuse-opt %s --cse --canonicalize --mlir-print-ir-after=cse -o %t 2>&1 | FileCheck %s --check-prefix=AFTER
// RUN: fuse-opt %s --cse --canonicalize --mlir-print-ir-before=canonicalize -o %t 2>&1 | FileCheck %s --check-prefix=BEFORE
// RUN: fuse-opt %s --cse --plan-memory --mlir-print-ir-before-all --mlir-print-ir-after-all -o %t 2>&1 | FileCheck %s --check-prefix=ALL
// RUN: not fuse-opt %s --cse --mlir-print-ir-after=plan-memory 2>&1 | FileCheck %s --check-prefix=ABSENT
// RUN: fuse-opt %s --plan-memory -o %t && not fuse-opt %t --plan-memory --mlir-print-ir-after-failure 2>&1 | FileCheck %s --check-prefix=FAILED

// AFTER: // -----// IR Dump After Upstream (cse) //----- //
// AFTER-NEXT: module {
// AFTER-NOT: IR Dump
// BEFORE: // -----// IR Dump Before Upstream (canonicalize) //----- //
// BEFORE-NEXT: module {
// BEFORE-NOT: IR Dump
// ALL: IR Dump Before Upstream (cse)
// ALL-NEXT: module {
// ALL: IR Dump After Upstream (cse)
// ALL: IR Dump Before PlanMemory (plan-memory)
// ALL: "fuse.empty"
// ALL: IR Dump After PlanMemory (plan-memory)
// ALL: "fuse.alloc"
// ABSENT: fuse-opt: error: cannot print IR around 'plan-memory': it is not among the passes to run
// FAILED: IR Dump After PlanMemory Failed (plan-memory)
// FAILED-NEXT: module {
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
