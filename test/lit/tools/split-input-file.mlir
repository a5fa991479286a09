// Parts are separate modules whose lines count from the file's start; one that fails does not stop the others.
// RUN: not fuse-opt %s --split-input-file > %t 2> %t.err
// RUN: FileCheck %s < %t
// RUN: FileCheck %s --check-prefix=ERROR < %t.err

// CHECK: func.func private @f(i32)
func.func private @f(i32)
// -----
// ERROR: split-input-file.mlir:10:47: error:
func.func private @f(i32) attributes {fuse.arg
// -----
// CHECK: // -----
// CHECK: func.func private @f(i64)
func.func private @f(i64)
