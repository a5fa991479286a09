// Parts are separate modules whose lines count from the file's start; one that fails does not stop the others.
// RUN: not fuse-opt %s --split-input-file -o %t 2>&1 | FileCheck %s --check-prefix=ERROR
// RUN: FileCheck %s < %t

// CHECK: func.func private @f(i32)
func.func private @f(i32)
// -----
// ERROR: split-input-file.mlir:9:47: error:
func.func private @f(i32) attributes {fuse.arg
// -----
// CHECK: // -----
// CHECK: func.func private @f(i64)
func.func private @f(i64)
