// RUN: fuse-opt %s --pass-pipeline="builtin.module(reorder-for-peak)" --split-input-file --verify-diagnostics | FileCheck %s
// RUN: fuse-opt %s --pass-pipeline="builtin.module(reorder-for-peak,reorder-for-peak)" --split-input-file --verify-diagnostics | FileCheck %s
// RUN: fuse-opt %s --pass-pipeline="builtin.module(reorder-for-peak)" --split-input-file --verify-diagnostics --remarks=text 2>&1 >/dev/null | FileCheck %s --check-prefix=SAID
// SAID: passed: reorder-for-peak: reordered

// Each wide tensor is summed before the next one is made. What floats (a destination, a view) goes along.
// CHECK-LABEL: func.func @main
// CHECK-NEXT: %[[E0:.*]] = "fuse.empty"
// CHECK-NEXT: %[[A:.*]] = call @wide(%arg0, %[[E0]])
// CHECK-NEXT: "fuse.empty"
// CHECK-NEXT: %[[V:.*]] = "fuse.view"(%[[A]])
// CHECK-NEXT: call @sum(%[[V]],
// CHECK-NEXT: "fuse.empty"
// CHECK-NEXT: %[[B:.*]] = call @wide(%arg1,
// CHECK-NEXT: "fuse.empty"
// CHECK-NEXT: call @sum(%[[B]],
// CHECK-NEXT: return
module attributes {fuse.device = "cpu"} {
  func.func private @wide(%x: tensor<4xf32>, %o: tensor<4096xf32>) -> tensor<4096xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "4096"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %z = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %z) {at = ["d0 mod 4"]} : (tensor<4xf32>, i1, f32) -> f32
    %s = "fuse.store"(%o, %v, %true) {at = ["d0"], mode = "set"} : (tensor<4096xf32>, f32, i1) -> tensor<4096xf32>
    return %s : tensor<4096xf32>
  }
  func.func private @sum(%x: tensor<4096xf32>, %o: tensor<1xf32>) -> tensor<1xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "4096"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %z = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %z) {at = ["d0"]} : (tensor<4096xf32>, i1, f32) -> f32
    %r = "fuse.reduce"(%v) {kind = "sum", over = ["d0"]} : (f32) -> f32
    %s = "fuse.store"(%o, %r, %true) {at = ["0"], mode = "set"} : (tensor<1xf32>, f32, i1) -> tensor<1xf32>
    return %s : tensor<1xf32>
  }
  func.func @main(%x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<1xf32>, tensor<1xf32>) {
    %e0 = "fuse.empty"() {syms = []} : () -> tensor<4096xf32>
    %e1 = "fuse.empty"() {syms = []} : () -> tensor<4096xf32>
    %e2 = "fuse.empty"() {syms = []} : () -> tensor<1xf32>
    %e3 = "fuse.empty"() {syms = []} : () -> tensor<1xf32>
    %a = call @wide(%x, %e0) : (tensor<4xf32>, tensor<4096xf32>) -> tensor<4096xf32>
    %b = call @wide(%y, %e1) : (tensor<4xf32>, tensor<4096xf32>) -> tensor<4096xf32>
    %v = "fuse.view"(%a) {map = ["v0"], syms = []} : (tensor<4096xf32>) -> tensor<4096xf32>
    %s = call @sum(%v, %e2) : (tensor<4096xf32>, tensor<1xf32>) -> tensor<1xf32>
    %t = call @sum(%b, %e3) : (tensor<4096xf32>, tensor<1xf32>) -> tensor<1xf32>
    return %s, %t : tensor<1xf32>, tensor<1xf32>
  }
}

// -----

// What only takes memory waits for its reader: the order is found from the end.
// CHECK-LABEL: func.func @main
// CHECK: call @wide(%arg1,
// CHECK: call @sum
// CHECK: %[[LATE:.*]] = call @wide(%arg0,
// CHECK: return %[[LATE]]
module attributes {fuse.device = "cpu"} {
  func.func private @wide(%x: tensor<4xf32>, %o: tensor<4096xf32>) -> tensor<4096xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "4096"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %z = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %z) {at = ["d0 mod 4"]} : (tensor<4xf32>, i1, f32) -> f32
    %s = "fuse.store"(%o, %v, %true) {at = ["d0"], mode = "set"} : (tensor<4096xf32>, f32, i1) -> tensor<4096xf32>
    return %s : tensor<4096xf32>
  }
  func.func private @sum(%x: tensor<4096xf32>, %o: tensor<1xf32>) -> tensor<1xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "4096"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %z = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %z) {at = ["d0"]} : (tensor<4096xf32>, i1, f32) -> f32
    %r = "fuse.reduce"(%v) {kind = "sum", over = ["d0"]} : (f32) -> f32
    %s = "fuse.store"(%o, %r, %true) {at = ["0"], mode = "set"} : (tensor<1xf32>, f32, i1) -> tensor<1xf32>
    return %s : tensor<1xf32>
  }
  func.func @main(%x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<4096xf32>, tensor<1xf32>) {
    %e0 = "fuse.empty"() {syms = []} : () -> tensor<4096xf32>
    %e1 = "fuse.empty"() {syms = []} : () -> tensor<4096xf32>
    %e2 = "fuse.empty"() {syms = []} : () -> tensor<1xf32>
    %a = call @wide(%x, %e0) : (tensor<4xf32>, tensor<4096xf32>) -> tensor<4096xf32>
    %b = call @wide(%y, %e1) : (tensor<4xf32>, tensor<4096xf32>) -> tensor<4096xf32>
    %s = call @sum(%b, %e2) : (tensor<4096xf32>, tensor<1xf32>) -> tensor<1xf32>
    return %a, %s : tensor<4096xf32>, tensor<1xf32>
  }
}

// -----

// Must not fire: a token keeps both wide tensors before the sums.
// CHECK-LABEL: func.func @main
// CHECK: call @wide(%arg0,
// CHECK: call @wide(%arg1,
// CHECK: "fuse.after"
// CHECK: call @sum
module attributes {fuse.device = "cpu"} {
  func.func private @wide(%x: tensor<4xf32>, %o: tensor<4096xf32>) -> tensor<4096xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "4096"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %z = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %z) {at = ["d0 mod 4"]} : (tensor<4xf32>, i1, f32) -> f32
    %s = "fuse.store"(%o, %v, %true) {at = ["d0"], mode = "set"} : (tensor<4096xf32>, f32, i1) -> tensor<4096xf32>
    return %s : tensor<4096xf32>
  }
  func.func private @sum(%x: tensor<4096xf32>, %o: tensor<1xf32>, %t: !fuse.token) -> tensor<1xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "4096"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %z = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %z) {at = ["d0"]} : (tensor<4096xf32>, i1, f32) -> f32
    %r = "fuse.reduce"(%v) {kind = "sum", over = ["d0"]} : (f32) -> f32
    %s = "fuse.store"(%o, %r, %true) {at = ["0"], mode = "set"} : (tensor<1xf32>, f32, i1) -> tensor<1xf32>
    return %s : tensor<1xf32>
  }
  func.func @main(%x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<1xf32>, tensor<1xf32>) {
    %e0 = "fuse.empty"() {syms = []} : () -> tensor<4096xf32>
    %e1 = "fuse.empty"() {syms = []} : () -> tensor<4096xf32>
    %e2 = "fuse.empty"() {syms = []} : () -> tensor<1xf32>
    %e3 = "fuse.empty"() {syms = []} : () -> tensor<1xf32>
    %a = call @wide(%x, %e0) : (tensor<4xf32>, tensor<4096xf32>) -> tensor<4096xf32>
    %b = call @wide(%y, %e1) : (tensor<4xf32>, tensor<4096xf32>) -> tensor<4096xf32>
    %made = "fuse.after"(%b) : (tensor<4096xf32>) -> !fuse.token
    %s = call @sum(%a, %e2, %made) : (tensor<4096xf32>, tensor<1xf32>, !fuse.token) -> tensor<1xf32>
    %t = call @sum(%b, %e3, %made) : (tensor<4096xf32>, tensor<1xf32>, !fuse.token) -> tensor<1xf32>
    return %s, %t : tensor<1xf32>, tensor<1xf32>
  }
}

// -----

module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    // expected-error @+1 {{reorder-for-peak: memory is planned already: found fuse.alloc}}
    %a = "fuse.alloc"() {syms = []} : () -> tensor<4xf32>
    return %a : tensor<4xf32>
  }
}
