// RUN: not fuse-opt %s 2>&1 | FileCheck %s --check-prefix=REFUSED
// RUN: fuse-opt %s --allow-unregistered-dialect | FileCheck %s

// REFUSED: allow-unregistered-dialect.mlir:7:13: error: operation being parsed with an unregistered dialect
// CHECK: "other.op"() : () -> ()
func.func private @f() {
  "other.op"() : () -> ()
  return
}
