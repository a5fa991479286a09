// Locations and the generic form are printed when asked for.
// RUN: fuse-opt %s | FileCheck %s
// RUN: fuse-opt %s --mlir-print-debuginfo | FileCheck %s --check-prefix=DEBUG
// RUN: fuse-opt %s --mlir-print-op-generic | FileCheck %s --check-prefix=GENERIC

// CHECK-NOT: loc(
// CHECK: return %arg0 : i32
// CHECK-NOT: loc(
// DEBUG: func.func @main(%arg0: i32 loc("{{.*}}print-style.mlir":16:17)) -> i32 {
// DEBUG: return %arg0 : i32 loc(#[[RETURN:loc[0-9]+]])
// DEBUG: #[[LINE:loc[0-9]*]] = loc("model.py":12:4)
// DEBUG: #[[RETURN]] = loc("add_3"(#[[LINE]]))
// GENERIC: "func.func"()
// GENERIC: "func.return"(%arg0) : (i32) -> ()

func.func @main(%x: i32) -> i32 {
  return %x : i32 loc("add_3"("model.py":12:4))
}
