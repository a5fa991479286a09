// The missed fusion that would save most comes first, and what was done is left out; without remarks there is
// nothing to sort, and another order is no choice.
// RUN: fuse-opt %s --fuse-vertical --remarks=text --sort=cost -o %t 2>&1 | FileCheck %s --check-prefix=COST
// RUN: fuse-opt %s --fuse-vertical --sort=cost 2>&1 | FileCheck %s
// RUN: not fuse-opt %s --fuse-vertical --remarks=text --sort=size 2>&1 | FileCheck %s --check-prefix=BAD

// COST: {{[0-9.]+}} us, 8388608 bytes: missed: fuse-vertical: reduction-dims, {{.*}} wide_max and wide_sum stay apart
// COST-NEXT: {{[0-9.]+}} us, 40 bytes: missed: fuse-vertical: reduction-dims, {{.*}} max and sum stay apart
// COST-NOT: passed
// CHECK-NOT: missed
// CHECK: call @wide_max
// BAD: argument --sort: invalid choice: 'size'
module attributes {fuse.device = "cpu"} {
  func.func @main(%a: tensor<5x7xf32>, %b: tensor<1048576x7xf32>) -> (tensor<1x1xf32>, tensor<1x1xf32>) {
    %0 = "fuse.empty"() {syms = []} : () -> tensor<5x1xf32>
    %1 = call @max(%a, %0) : (tensor<5x7xf32>, tensor<5x1xf32>) -> tensor<5x1xf32>
    %2 = "fuse.empty"() {syms = []} : () -> tensor<1x1xf32>
    %3 = call @sum(%1, %2) : (tensor<5x1xf32>, tensor<1x1xf32>) -> tensor<1x1xf32>
    %4 = "fuse.empty"() {syms = []} : () -> tensor<1048576x1xf32>
    %5 = call @wide_max(%b, %4) : (tensor<1048576x7xf32>, tensor<1048576x1xf32>) -> tensor<1048576x1xf32>
    %6 = "fuse.empty"() {syms = []} : () -> tensor<1x1xf32>
    %7 = call @wide_sum(%5, %6) : (tensor<1048576x1xf32>, tensor<1x1xf32>) -> tensor<1x1xf32>
    return %3, %7 : tensor<1x1xf32>, tensor<1x1xf32>
  }
  func.func private @max(%x: tensor<5x7xf32>, %o: tensor<5x1xf32>) -> tensor<5x1xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "5", d1 = "7"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<5x7xf32>, i1, f32) -> f32
    %m = "fuse.reduce"(%v) {kind = "max", over = ["d1"]} : (f32) -> f32
    %r = "fuse.store"(%o, %m, %true) {at = ["d0", "0"], mode = "set"} : (tensor<5x1xf32>, f32, i1) -> tensor<5x1xf32>
    return %r : tensor<5x1xf32>
  }
  func.func private @sum(%x: tensor<5x1xf32>, %o: tensor<1x1xf32>) -> tensor<1x1xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "5", d1 = "1"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<5x1xf32>, i1, f32) -> f32
    %m = "fuse.reduce"(%v) {kind = "sum", over = ["d0"]} : (f32) -> f32
    %r = "fuse.store"(%o, %m, %true) {at = ["0", "d1"], mode = "set"} : (tensor<1x1xf32>, f32, i1) -> tensor<1x1xf32>
    return %r : tensor<1x1xf32>
  }
  func.func private @wide_max(%x: tensor<1048576x7xf32>, %o: tensor<1048576x1xf32>) -> tensor<1048576x1xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "1048576", d1 = "7"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<1048576x7xf32>, i1, f32) -> f32
    %m = "fuse.reduce"(%v) {kind = "max", over = ["d1"]} : (f32) -> f32
    %r = "fuse.store"(%o, %m, %true) {at = ["d0", "0"], mode = "set"} : (tensor<1048576x1xf32>, f32, i1) -> tensor<1048576x1xf32>
    return %r : tensor<1048576x1xf32>
  }
  func.func private @wide_sum(%x: tensor<1048576x1xf32>, %o: tensor<1x1xf32>) -> tensor<1x1xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "1048576", d1 = "1"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<1048576x1xf32>, i1, f32) -> f32
    %m = "fuse.reduce"(%v) {kind = "sum", over = ["d0"]} : (f32) -> f32
    %r = "fuse.store"(%o, %m, %true) {at = ["0", "d1"], mode = "set"} : (tensor<1x1xf32>, f32, i1) -> tensor<1x1xf32>
    return %r : tensor<1x1xf32>
  }
}
