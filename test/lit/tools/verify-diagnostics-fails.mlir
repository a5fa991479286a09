// What was expected and did not come, and what came unexpected, are errors; so is a comment that cannot be read.
// RUN: not fuse-opt %s --verify-diagnostics 2>&1 | FileCheck %s
// RUN: not fuse-opt %s --verify-diagnostics=only-expected 2>&1 | FileCheck %s --check-prefix=ONLY
// RUN: not fuse-opt %S/Inputs/misspelled-expectation.mlir --verify-diagnostics 2>&1 | FileCheck %s --check-prefix=BAD

// CHECK: verify-diagnostics-fails.mlir:14:3: error: unexpected error: 'func.return' op has 0 operands
// CHECK: verify-diagnostics-fails.mlir:12:1: error: expected error "of something else" was not produced
// ONLY-NOT: unexpected
// ONLY: was not produced
// BAD: misspelled-expectation.mlir:2:1: error: expected `expected-<severity>[@<line>] {{.*}}text{{.*}}`

// expected-error@+1 {{of something else}}
func.func private @f() -> i32 {
  return
}
