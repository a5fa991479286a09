// What was expected and did not come, and what came unexpected, are errors; so is a comment that cannot be read.
// RUN: not fuse-opt %S/Inputs/wrong-expectations.mlir --verify-diagnostics 2>&1 | FileCheck %s
// RUN: not fuse-opt %S/Inputs/misspelled-expectation.mlir --verify-diagnostics 2>&1 | FileCheck %s --check-prefix=BAD
// RUN: not fuse-opt %S/Inputs/wrong-expectations.mlir --verify-diagnostics=only-expected 2>&1 | FileCheck %s --check-prefix=ONLY

// CHECK: wrong-expectations.mlir:3:3: error: unexpected error: 'func.return' op has 0 operands
// CHECK: wrong-expectations.mlir:1:1: error: expected error "of something else" was not produced
// BAD: misspelled-expectation.mlir:2:1: error: expected `expected-<severity>[@<line>] {{.*}}text{{.*}}`
// ONLY-NOT: unexpected
// ONLY: was not produced
