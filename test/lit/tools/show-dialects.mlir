// RUN: fuse-opt %s --show-dialects | FileCheck %s
// CHECK: fuse:
// CHECK-NEXT: ops: fuse.after, fuse.alloc,
// CHECK-NEXT: types: fuse.token
// CHECK-NEXT: attributes: fuse.arg, fuse.layout, fuse.torch
// CHECK: tt:
// CHECK: types: tt.ptr
