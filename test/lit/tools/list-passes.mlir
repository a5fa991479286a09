// RUN: fuse-opt %s --list-passes | FileCheck %s
// CHECK: --lower-to-tt
// CHECK-NEXT: Moves tile code into ``tt.func``s
// CHECK: --plan-memory
// CHECK-NEXT: Turns destinations into allocations with lifetimes.
// CHECK-NEXT: reuse: bool = true
