// The compiler's own pipeline, up to a level: the dead call is there at the level graph only, tiles from tiled on, and planned
// memory and kernels for Triton at the last.
// RUN: fuse-opt %s --default-pipeline=graph | FileCheck %s --check-prefix=GRAPH
// RUN: fuse-opt %s --default-pipeline=scheduled | FileCheck %s --check-prefix=SCHEDULED
// RUN: fuse-opt %s --default-pipeline=tiled --hardware=h200 | FileCheck %s --check-prefix=TILED
// RUN: fuse-opt %s --default-pipeline | FileCheck %s --check-prefix=PLANNED
// RUN: not fuse-opt %s --default-pipeline=codegen 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// RUN: not fuse-opt --default-pipeline %s 2>&1 | FileCheck %s --check-prefix=FILE

// GRAPH-LABEL: func.func @main
// GRAPH: call @fill
// GRAPH: call @fill
// GRAPH-NOT: fuse.grid
// GRAPH: "fuse.store"
// SCHEDULED-LABEL: func.func @main
// SCHEDULED: call @fill
// SCHEDULED-NOT: call @
// SCHEDULED: return
// SCHEDULED-NOT: fuse.grid
// SCHEDULED: "fuse.store"
// TILED: "fuse.empty"
// TILED: fuse.grid
// TILED: "tt.store"
// PLANNED: "fuse.alloc"
// PLANNED: "tt.func"
// PLANNED: "tt.store"
// PLANNED: fuse.launch = @fill_tt
// UNKNOWN: fuse-opt: error: unknown level 'codegen': expected one of graph, scheduled, tiled, planned
// UNKNOWN-NOT: the file goes
// FILE: unknown level '{{.*}}.mlir': {{.*}}; the file goes before --default-pipeline, or the level follows '='
func.func @main() -> tensor<8xf32> {
  %o = "fuse.empty"() {syms = []} : () -> tensor<8xf32>
  %y = call @fill(%o) : (tensor<8xf32>) -> tensor<8xf32>
  %p = "fuse.empty"() {syms = []} : () -> tensor<8xf32>
  %dead = call @fill(%p) : (tensor<8xf32>) -> tensor<8xf32>
  return %y : tensor<8xf32>
}
func.func private @fill(%o: tensor<8xf32>) -> tensor<8xf32>
    attributes {fuse.kernel, fuse.dims = {d0 = "8"}, fuse.ties = array<i64: 0>} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : f32
  %r = "fuse.store"(%o, %zero, %true) {at = ["d0"], mode = "set"} : (tensor<8xf32>, f32, i1) -> tensor<8xf32>
  return %r : tensor<8xf32>
}
