// Pipelines of own and upstream passes, with options; each pass also has a flag.
// RUN: fuse-opt %s --pass-pipeline="builtin.module(canonicalize,plan-memory{reuse=false})" | FileCheck %s
// RUN: fuse-opt %s --pass-pipeline="func.func(canonicalize), plan-memory" | FileCheck %s
// RUN: fuse-opt %s --canonicalize --plan-memory=reuse=false | FileCheck %s
// RUN: fuse-opt %s --pass-pipeline= | FileCheck %s --check-prefix=NONE
// RUN: not fuse-opt %s --pass-pipeline="plan-memori" 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// RUN: not fuse-opt %s --canonicalise 2>&1 | FileCheck %s --check-prefix=UPSTREAM
// RUN: not fuse-opt %s --plan-memory=resue=false 2>&1 | FileCheck %s --check-prefix=OPTION
// RUN: not fuse-opt %s --plan-memory=reuse=maybe 2>&1 | FileCheck %s --check-prefix=VALUE
// RUN: not fuse-opt %s --pass-pipeline="builtin.module(plan-memory" 2>&1 | FileCheck %s --check-prefix=UNCLOSED
// RUN: not fuse-opt %s --pass-pipeline="func.func(plan-memory)" 2>&1 | FileCheck %s --check-prefix=NESTED
// RUN: not fuse-opt %s --cse --pass-pipeline=cse 2>&1 | FileCheck %s --check-prefix=BOTH

// CHECK: "fuse.alloc"
// CHECK-NOT: arith.addi
// CHECK: "fuse.free"
// NONE: arith.addi
// UNKNOWN: fuse-opt: error: unknown pass 'plan-memori'; did you mean 'plan-memory'?
// UPSTREAM: fuse-opt: error: unknown pass '--canonicalise'; did you mean '--canonicalize'?
// OPTION: fuse-opt: error: pass 'plan-memory' has no option 'resue'; did you mean 'reuse'?
// VALUE: fuse-opt: error: option 'reuse' of pass 'plan-memory' takes bool, got 'maybe'
// UNCLOSED: fuse-opt: error: the pipeline 'builtin.module(plan-memory' ends before a ')'
// NESTED: fuse-opt: error: pass 'plan-memory' runs on the module: write it outside 'func.func(plan-memory)'
// BOTH: fuse-opt: error: '--pass-pipeline' and '--cse' cannot be used together: both say what to run
func.func @main() {
  %n = arith.constant 1 : i64
  %m = arith.addi %n, %n : i64
  %e = "fuse.empty"() {syms = []} : () -> tensor<8xf32>
  %y = call @fill(%e) : (tensor<8xf32>) -> tensor<8xf32>
  return
}
func.func private @fill(%o: tensor<8xf32>) -> tensor<8xf32>
    attributes {fuse.kernel, fuse.dims = {d0 = "8"}, fuse.ties = array<i64: 0>} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : f32
  %r = "fuse.store"(%o, %zero, %true) {at = ["d0"], mode = "set"} : (tensor<8xf32>, f32, i1) -> tensor<8xf32>
  return %r : tensor<8xf32>
}
