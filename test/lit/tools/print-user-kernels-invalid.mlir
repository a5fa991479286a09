// A module without tile code has no such kernels.
// RUN: not fuse-opt %s --fuse-print-user-kernels -o %t 2>&1 | FileCheck %s

// CHECK: error: the module has no function of tile code
func.func @main() {
  return
}
