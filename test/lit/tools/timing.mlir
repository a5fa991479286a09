// The report is a tree with the verifier below each pass.
// RUN: fuse-opt %s --cse --plan-memory --timing -o %t 2>&1 | FileCheck %s
// RUN: fuse-opt %s --cse --verify-each=off --timing -o %t 2>&1 | FileCheck %s --check-prefix=OFF

// CHECK: Execution time report
// CHECK: Total Execution Time: {{[0-9.]+}} seconds
// CHECK: ----Wall Time----  ----Name----
// CHECK: Parser
// CHECK: %)  cse
// CHECK-NEXT: %)    verify
// CHECK-NEXT: %)  plan-memory
// CHECK-NEXT: %)    verify
// CHECK: (100.0%)  Total
// OFF: %)  cse
// OFF-NEXT: 0.0000 ({{ *}}0.0%)    verify
func.func @main(%o: tensor<8xf32>) -> tensor<8xf32> {
  %y = call @fill(%o) : (tensor<8xf32>) -> tensor<8xf32>
  return {fuse.mutates = {"0" = 0 : i64}} %y : tensor<8xf32>
}
func.func private @fill(%o: tensor<8xf32>) -> tensor<8xf32>
    attributes {fuse.kernel, fuse.dims = {d0 = "8"}, fuse.ties = array<i64: 0>} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : f32
  %r = "fuse.store"(%o, %zero, %true) {at = ["d0"], mode = "set"} : (tensor<8xf32>, f32, i1) -> tensor<8xf32>
  return %r : tensor<8xf32>
}
