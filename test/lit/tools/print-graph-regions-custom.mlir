// What CUDA graphs hold of a program with a custom op: the command has not registered it, and prints the rest.
// RUN: fuse-opt %s --fuse-print-graph-regions -o %t.mlir 2>&1 | FileCheck %s
// RUN: fuse-opt %s --fuse-print-plan -o %t.mlir 2>&1 | FileCheck %s --check-prefix=PLAN

// Must not be recorded: an op of which nothing is known.
// CHECK: recorded: ops 0 to 0: aten.mm.default
// CHECK-NEXT: between: ops 1 to 1: mine.mystery.default
// CHECK-NEXT: mine.mystery.default: no such op is registered here{{.*}} (model.py:12)
// CHECK-NEXT: recorded: ops 2 to 2: aten.mm.default
// PLAN: extern mystery({{.*}}) from mystery at "model.py":12

!t = tensor<4x4xf32, #fuse.layout<"4,4", "4,1", "0", "cuda:0">>
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: !t, %w: !t) -> !t {
    %1 = call @mm(%x, %w) : (!t, !t) -> !t
    %2 = call @mystery(%1) : (!t) -> !t loc("mystery"("model.py":12:0))
    %3 = call @mm(%2, %w) : (!t, !t) -> !t
    return %3 : !t
  }
  func.func private @mm(!t, !t) -> !t
      attributes {fuse.extern = "aten.mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
  func.func private @mystery(!t) -> !t
      attributes {fuse.extern = "mine.mystery.default", fuse.args = [#fuse.arg<0 : i64>], fuse.kwargs = {}}
}
