// A parse error names the file, the line and the column, and nothing is printed to stdout.
// RUN: not fuse-opt %s 2>&1 | FileCheck %s
// RUN: not fuse-opt %s -o %t.out 2> %t.err
// RUN: FileCheck %s < %t.err

// CHECK-NOT: module
// CHECK: parse-error.mlir:10:3: error:
// CHECK-NOT: module
func.func @main() {
  retrun
}
