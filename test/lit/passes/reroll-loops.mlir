// RUN: fuse-opt %s --pass-pipeline="builtin.module(choose-tiling,apply-tiling,reroll-loops{hardware=generic:bandwidth=1000000000 least-ops=12 unrolled=1})" --split-input-file | FileCheck %s
// RUN: fuse-opt %s --pass-pipeline="builtin.module(choose-tiling,apply-tiling,reroll-loops{hardware=generic:bandwidth=1000000000 least-ops=12 unrolled=2})" --split-input-file | FileCheck %s --check-prefix=TWO
// RUN: fuse-opt %s --pass-pipeline="builtin.module(choose-tiling,apply-tiling,reroll-loops{hardware=generic:bandwidth=1000000000})" --split-input-file | FileCheck %s --check-prefix=SHORT
// RUN: fuse-opt %s --pass-pipeline="builtin.module(choose-tiling,apply-tiling,reroll-loops{hardware=generic:bandwidth=1000000000 least-ops=12 unrolled=1})" --split-input-file --remarks=text 2>&1 >/dev/null | FileCheck %s --check-prefix=SAID
// RUN: fuse-opt %s --pass-pipeline="builtin.module(choose-tiling,apply-tiling,reroll-loops{hardware=h200 least-ops=12 unrolled=1})" --split-input-file | FileCheck %s --check-prefix=BYTES
// Must not fire: few operations, or what takes the time is moving bytes.
// SHORT-NOT: scf.for
// SHORT: func.func private @update
// BYTES-NOT: scf.for
// BYTES: func.func private @update

// A state and what is made of it: the loop carries the state and what is loaded for the next step.
// CHECK-LABEL: func.func private @steps
// CHECK: "tt.store"
// CHECK: %[[LAST:.*]]:3 = scf.for %[[T:.*]] = %c0_i32 to %c3_i32 step %c1_i32 iter_args(%[[H:.*]] = %{{.*}}, %[[A:.*]] = %{{.*}}, %[[X:.*]] = %{{.*}})
// CHECK: arith.muli %[[T]], %c256_i32 : i32
// CHECK: %[[NEXT:.*]] = "tt.load"
// CHECK: %[[M:.*]] = arith.mulf %[[A]], %[[H]]
// CHECK: %[[N:.*]] = arith.addf %[[M]], %[[X]]
// CHECK: "tt.store"(%{{.*}}, %[[N]])
// CHECK: scf.yield %[[N]], %[[NEXT]], %{{.*}}
// CHECK: arith.mulf %[[LAST]]#1, %[[LAST]]#0
// CHECK-COUNT-1: "tt.store"
// CHECK-NEXT: return
// TWO-LABEL: func.func private @steps
// TWO: scf.for %{{.*}} = %c0_i32 to %c2_i32 step %c2_i32
// SAID: passed: reroll-loops: rerolled, steps=4, period=8, unrolled=1: @steps goes through 4 steps in a loop
module attributes {fuse.device = "cpu"} {
  func.func @main(%a: tensor<6x256xf32>, %x: tensor<6x256xf32>) -> tensor<6x256xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<6x256xf32>
    %r = call @steps(%a, %x, %o) : (tensor<6x256xf32>, tensor<6x256xf32>, tensor<6x256xf32>) -> tensor<6x256xf32>
    return %r : tensor<6x256xf32>
  }
  func.func private @steps(%a: tensor<6x256xf32>, %x: tensor<6x256xf32>, %o: tensor<6x256xf32>) -> tensor<6x256xf32> attributes {fuse.kernel, fuse.dims = {d0 = "256"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %a0 = "fuse.load"(%a, %true, %zero) {at = ["0", "d0"]} : (tensor<6x256xf32>, i1, f32) -> f32
    %x0 = "fuse.load"(%x, %true, %zero) {at = ["0", "d0"]} : (tensor<6x256xf32>, i1, f32) -> f32
    %m0 = arith.mulf %a0, %x0 : f32
    %h0 = arith.addf %m0, %x0 : f32
    %a1 = "fuse.load"(%a, %true, %zero) {at = ["1", "d0"]} : (tensor<6x256xf32>, i1, f32) -> f32
    %x1 = "fuse.load"(%x, %true, %zero) {at = ["1", "d0"]} : (tensor<6x256xf32>, i1, f32) -> f32
    %m1 = arith.mulf %a1, %h0 : f32
    %h1 = arith.addf %m1, %x1 : f32
    %a2 = "fuse.load"(%a, %true, %zero) {at = ["2", "d0"]} : (tensor<6x256xf32>, i1, f32) -> f32
    %x2 = "fuse.load"(%x, %true, %zero) {at = ["2", "d0"]} : (tensor<6x256xf32>, i1, f32) -> f32
    %m2 = arith.mulf %a2, %h1 : f32
    %h2 = arith.addf %m2, %x2 : f32
    %a3 = "fuse.load"(%a, %true, %zero) {at = ["3", "d0"]} : (tensor<6x256xf32>, i1, f32) -> f32
    %x3 = "fuse.load"(%x, %true, %zero) {at = ["3", "d0"]} : (tensor<6x256xf32>, i1, f32) -> f32
    %m3 = arith.mulf %a3, %h2 : f32
    %h3 = arith.addf %m3, %x3 : f32
    %a4 = "fuse.load"(%a, %true, %zero) {at = ["4", "d0"]} : (tensor<6x256xf32>, i1, f32) -> f32
    %x4 = "fuse.load"(%x, %true, %zero) {at = ["4", "d0"]} : (tensor<6x256xf32>, i1, f32) -> f32
    %m4 = arith.mulf %a4, %h3 : f32
    %h4 = arith.addf %m4, %x4 : f32
    %a5 = "fuse.load"(%a, %true, %zero) {at = ["5", "d0"]} : (tensor<6x256xf32>, i1, f32) -> f32
    %x5 = "fuse.load"(%x, %true, %zero) {at = ["5", "d0"]} : (tensor<6x256xf32>, i1, f32) -> f32
    %m5 = arith.mulf %a5, %h4 : f32
    %h5 = arith.addf %m5, %x5 : f32
    %so0 = "fuse.store"(%o, %h0, %true) {at = ["0", "d0"], mode = "set"} : (tensor<6x256xf32>, f32, i1) -> tensor<6x256xf32>
    %so1 = "fuse.store"(%so0, %h1, %true) {at = ["1", "d0"], mode = "set"} : (tensor<6x256xf32>, f32, i1) -> tensor<6x256xf32>
    %so2 = "fuse.store"(%so1, %h2, %true) {at = ["2", "d0"], mode = "set"} : (tensor<6x256xf32>, f32, i1) -> tensor<6x256xf32>
    %so3 = "fuse.store"(%so2, %h3, %true) {at = ["3", "d0"], mode = "set"} : (tensor<6x256xf32>, f32, i1) -> tensor<6x256xf32>
    %so4 = "fuse.store"(%so3, %h4, %true) {at = ["4", "d0"], mode = "set"} : (tensor<6x256xf32>, f32, i1) -> tensor<6x256xf32>
    %so5 = "fuse.store"(%so4, %h5, %true) {at = ["5", "d0"], mode = "set"} : (tensor<6x256xf32>, f32, i1) -> tensor<6x256xf32>
    return %so5 : tensor<6x256xf32>
  }
}

// -----

// From the last step to the first: offsets fall.
// CHECK-LABEL: func.func private @backwards
// CHECK: scf.for
// CHECK: %c-256_i32 = arith.constant -256 : i32
// SAID: passed: reroll-loops: rerolled, steps=3
module attributes {fuse.device = "cpu"} {
  func.func @main(%a: tensor<6x256xf32>, %x: tensor<6x256xf32>) -> tensor<6x256xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<6x256xf32>
    %r = call @backwards(%a, %x, %o) : (tensor<6x256xf32>, tensor<6x256xf32>, tensor<6x256xf32>) -> tensor<6x256xf32>
    return %r : tensor<6x256xf32>
  }
  func.func private @backwards(%a: tensor<6x256xf32>, %x: tensor<6x256xf32>, %o: tensor<6x256xf32>) -> tensor<6x256xf32> attributes {fuse.kernel, fuse.dims = {d0 = "256"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %a5 = "fuse.load"(%a, %true, %zero) {at = ["5", "d0"]} : (tensor<6x256xf32>, i1, f32) -> f32
    %x5 = "fuse.load"(%x, %true, %zero) {at = ["5", "d0"]} : (tensor<6x256xf32>, i1, f32) -> f32
    %m5 = arith.mulf %a5, %x5 : f32
    %h5 = arith.addf %m5, %x5 : f32
    %a4 = "fuse.load"(%a, %true, %zero) {at = ["4", "d0"]} : (tensor<6x256xf32>, i1, f32) -> f32
    %x4 = "fuse.load"(%x, %true, %zero) {at = ["4", "d0"]} : (tensor<6x256xf32>, i1, f32) -> f32
    %m4 = arith.mulf %a4, %h5 : f32
    %h4 = arith.addf %m4, %x4 : f32
    %a3 = "fuse.load"(%a, %true, %zero) {at = ["3", "d0"]} : (tensor<6x256xf32>, i1, f32) -> f32
    %x3 = "fuse.load"(%x, %true, %zero) {at = ["3", "d0"]} : (tensor<6x256xf32>, i1, f32) -> f32
    %m3 = arith.mulf %a3, %h4 : f32
    %h3 = arith.addf %m3, %x3 : f32
    %a2 = "fuse.load"(%a, %true, %zero) {at = ["2", "d0"]} : (tensor<6x256xf32>, i1, f32) -> f32
    %x2 = "fuse.load"(%x, %true, %zero) {at = ["2", "d0"]} : (tensor<6x256xf32>, i1, f32) -> f32
    %m2 = arith.mulf %a2, %h3 : f32
    %h2 = arith.addf %m2, %x2 : f32
    %a1 = "fuse.load"(%a, %true, %zero) {at = ["1", "d0"]} : (tensor<6x256xf32>, i1, f32) -> f32
    %x1 = "fuse.load"(%x, %true, %zero) {at = ["1", "d0"]} : (tensor<6x256xf32>, i1, f32) -> f32
    %m1 = arith.mulf %a1, %h2 : f32
    %h1 = arith.addf %m1, %x1 : f32
    %a0 = "fuse.load"(%a, %true, %zero) {at = ["0", "d0"]} : (tensor<6x256xf32>, i1, f32) -> f32
    %x0 = "fuse.load"(%x, %true, %zero) {at = ["0", "d0"]} : (tensor<6x256xf32>, i1, f32) -> f32
    %m0 = arith.mulf %a0, %h1 : f32
    %h0 = arith.addf %m0, %x0 : f32
    %so5 = "fuse.store"(%o, %h5, %true) {at = ["5", "d0"], mode = "set"} : (tensor<6x256xf32>, f32, i1) -> tensor<6x256xf32>
    %so4 = "fuse.store"(%so5, %h4, %true) {at = ["4", "d0"], mode = "set"} : (tensor<6x256xf32>, f32, i1) -> tensor<6x256xf32>
    %so3 = "fuse.store"(%so4, %h3, %true) {at = ["3", "d0"], mode = "set"} : (tensor<6x256xf32>, f32, i1) -> tensor<6x256xf32>
    %so2 = "fuse.store"(%so3, %h2, %true) {at = ["2", "d0"], mode = "set"} : (tensor<6x256xf32>, f32, i1) -> tensor<6x256xf32>
    %so1 = "fuse.store"(%so2, %h1, %true) {at = ["1", "d0"], mode = "set"} : (tensor<6x256xf32>, f32, i1) -> tensor<6x256xf32>
    %so0 = "fuse.store"(%so1, %h0, %true) {at = ["0", "d0"], mode = "set"} : (tensor<6x256xf32>, f32, i1) -> tensor<6x256xf32>
    return %so0 : tensor<6x256xf32>
  }
}

// -----

// The last state alone is stored behind the loop.
// CHECK-LABEL: func.func private @last
// CHECK: scf.for
// CHECK-NOT: "tt.store"
// CHECK: }
// CHECK-COUNT-1: "tt.store"
// SAID: passed: reroll-loops: rerolled
module attributes {fuse.device = "cpu"} {
  func.func @main(%a: tensor<6x256xf32>, %x: tensor<6x256xf32>) -> tensor<256xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<256xf32>
    %r = call @last(%a, %x, %o) : (tensor<6x256xf32>, tensor<6x256xf32>, tensor<256xf32>) -> tensor<256xf32>
    return %r : tensor<256xf32>
  }
  func.func private @last(%a: tensor<6x256xf32>, %x: tensor<6x256xf32>, %o: tensor<256xf32>) -> tensor<256xf32> attributes {fuse.kernel, fuse.dims = {d0 = "256"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %a0 = "fuse.load"(%a, %true, %zero) {at = ["0", "d0"]} : (tensor<6x256xf32>, i1, f32) -> f32
    %x0 = "fuse.load"(%x, %true, %zero) {at = ["0", "d0"]} : (tensor<6x256xf32>, i1, f32) -> f32
    %c0 = arith.constant 0.5 : f32
    %m0 = arith.mulf %a0, %x0 : f32
    %n0 = arith.mulf %m0, %c0 : f32
    %h0 = arith.addf %n0, %x0 : f32
    %a1 = "fuse.load"(%a, %true, %zero) {at = ["1", "d0"]} : (tensor<6x256xf32>, i1, f32) -> f32
    %x1 = "fuse.load"(%x, %true, %zero) {at = ["1", "d0"]} : (tensor<6x256xf32>, i1, f32) -> f32
    %c1 = arith.constant 0.5 : f32
    %m1 = arith.mulf %a1, %h0 : f32
    %n1 = arith.mulf %m1, %c1 : f32
    %h1 = arith.addf %n1, %x1 : f32
    %a2 = "fuse.load"(%a, %true, %zero) {at = ["2", "d0"]} : (tensor<6x256xf32>, i1, f32) -> f32
    %x2 = "fuse.load"(%x, %true, %zero) {at = ["2", "d0"]} : (tensor<6x256xf32>, i1, f32) -> f32
    %c2 = arith.constant 0.5 : f32
    %m2 = arith.mulf %a2, %h1 : f32
    %n2 = arith.mulf %m2, %c2 : f32
    %h2 = arith.addf %n2, %x2 : f32
    %a3 = "fuse.load"(%a, %true, %zero) {at = ["3", "d0"]} : (tensor<6x256xf32>, i1, f32) -> f32
    %x3 = "fuse.load"(%x, %true, %zero) {at = ["3", "d0"]} : (tensor<6x256xf32>, i1, f32) -> f32
    %c3 = arith.constant 0.5 : f32
    %m3 = arith.mulf %a3, %h2 : f32
    %n3 = arith.mulf %m3, %c3 : f32
    %h3 = arith.addf %n3, %x3 : f32
    %a4 = "fuse.load"(%a, %true, %zero) {at = ["4", "d0"]} : (tensor<6x256xf32>, i1, f32) -> f32
    %x4 = "fuse.load"(%x, %true, %zero) {at = ["4", "d0"]} : (tensor<6x256xf32>, i1, f32) -> f32
    %c4 = arith.constant 0.5 : f32
    %m4 = arith.mulf %a4, %h3 : f32
    %n4 = arith.mulf %m4, %c4 : f32
    %h4 = arith.addf %n4, %x4 : f32
    %a5 = "fuse.load"(%a, %true, %zero) {at = ["5", "d0"]} : (tensor<6x256xf32>, i1, f32) -> f32
    %x5 = "fuse.load"(%x, %true, %zero) {at = ["5", "d0"]} : (tensor<6x256xf32>, i1, f32) -> f32
    %c5 = arith.constant 0.5 : f32
    %m5 = arith.mulf %a5, %h4 : f32
    %n5 = arith.mulf %m5, %c5 : f32
    %h5 = arith.addf %n5, %x5 : f32
    %s = "fuse.store"(%o, %h5, %true) {at = ["d0"], mode = "set"} : (tensor<256xf32>, f32, i1) -> tensor<256xf32>
    return %s : tensor<256xf32>
  }
}

// -----

// Must not fire: no point takes a value of the one before.
// CHECK-LABEL: func.func private @points
// CHECK-NOT: scf.for
// CHECK: return
module attributes {fuse.device = "cpu"} {
  func.func @main(%a: tensor<6x256xf32>, %x: tensor<6x256xf32>) -> tensor<6x256xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<6x256xf32>
    %r = call @points(%a, %x, %o) : (tensor<6x256xf32>, tensor<6x256xf32>, tensor<6x256xf32>) -> tensor<6x256xf32>
    return %r : tensor<6x256xf32>
  }
  func.func private @points(%a: tensor<6x256xf32>, %x: tensor<6x256xf32>, %o: tensor<6x256xf32>) -> tensor<6x256xf32> attributes {fuse.kernel, fuse.dims = {d0 = "256"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %a0 = "fuse.load"(%a, %true, %zero) {at = ["0", "d0"]} : (tensor<6x256xf32>, i1, f32) -> f32
    %x0 = "fuse.load"(%x, %true, %zero) {at = ["0", "d0"]} : (tensor<6x256xf32>, i1, f32) -> f32
    %m0 = arith.mulf %a0, %x0 : f32
    %h0 = arith.addf %m0, %x0 : f32
    %a1 = "fuse.load"(%a, %true, %zero) {at = ["1", "d0"]} : (tensor<6x256xf32>, i1, f32) -> f32
    %x1 = "fuse.load"(%x, %true, %zero) {at = ["1", "d0"]} : (tensor<6x256xf32>, i1, f32) -> f32
    %m1 = arith.mulf %a1, %x1 : f32
    %h1 = arith.addf %m1, %x1 : f32
    %a2 = "fuse.load"(%a, %true, %zero) {at = ["2", "d0"]} : (tensor<6x256xf32>, i1, f32) -> f32
    %x2 = "fuse.load"(%x, %true, %zero) {at = ["2", "d0"]} : (tensor<6x256xf32>, i1, f32) -> f32
    %m2 = arith.mulf %a2, %x2 : f32
    %h2 = arith.addf %m2, %x2 : f32
    %a3 = "fuse.load"(%a, %true, %zero) {at = ["3", "d0"]} : (tensor<6x256xf32>, i1, f32) -> f32
    %x3 = "fuse.load"(%x, %true, %zero) {at = ["3", "d0"]} : (tensor<6x256xf32>, i1, f32) -> f32
    %m3 = arith.mulf %a3, %x3 : f32
    %h3 = arith.addf %m3, %x3 : f32
    %a4 = "fuse.load"(%a, %true, %zero) {at = ["4", "d0"]} : (tensor<6x256xf32>, i1, f32) -> f32
    %x4 = "fuse.load"(%x, %true, %zero) {at = ["4", "d0"]} : (tensor<6x256xf32>, i1, f32) -> f32
    %m4 = arith.mulf %a4, %x4 : f32
    %h4 = arith.addf %m4, %x4 : f32
    %a5 = "fuse.load"(%a, %true, %zero) {at = ["5", "d0"]} : (tensor<6x256xf32>, i1, f32) -> f32
    %x5 = "fuse.load"(%x, %true, %zero) {at = ["5", "d0"]} : (tensor<6x256xf32>, i1, f32) -> f32
    %m5 = arith.mulf %a5, %x5 : f32
    %h5 = arith.addf %m5, %x5 : f32
    %so0 = "fuse.store"(%o, %h0, %true) {at = ["0", "d0"], mode = "set"} : (tensor<6x256xf32>, f32, i1) -> tensor<6x256xf32>
    %so1 = "fuse.store"(%so0, %h1, %true) {at = ["1", "d0"], mode = "set"} : (tensor<6x256xf32>, f32, i1) -> tensor<6x256xf32>
    %so2 = "fuse.store"(%so1, %h2, %true) {at = ["2", "d0"], mode = "set"} : (tensor<6x256xf32>, f32, i1) -> tensor<6x256xf32>
    %so3 = "fuse.store"(%so2, %h3, %true) {at = ["3", "d0"], mode = "set"} : (tensor<6x256xf32>, f32, i1) -> tensor<6x256xf32>
    %so4 = "fuse.store"(%so3, %h4, %true) {at = ["4", "d0"], mode = "set"} : (tensor<6x256xf32>, f32, i1) -> tensor<6x256xf32>
    %so5 = "fuse.store"(%so4, %h5, %true) {at = ["5", "d0"], mode = "set"} : (tensor<6x256xf32>, f32, i1) -> tensor<6x256xf32>
    return %so5 : tensor<6x256xf32>
  }
}

// -----

// Must not fire: floats differ between the steps.
// CHECK-LABEL: func.func private @floats
// CHECK-NOT: scf.for
// CHECK: return
module attributes {fuse.device = "cpu"} {
  func.func @main(%a: tensor<6x256xf32>, %x: tensor<6x256xf32>) -> tensor<6x256xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<6x256xf32>
    %r = call @floats(%a, %x, %o) : (tensor<6x256xf32>, tensor<6x256xf32>, tensor<6x256xf32>) -> tensor<6x256xf32>
    return %r : tensor<6x256xf32>
  }
  func.func private @floats(%a: tensor<6x256xf32>, %x: tensor<6x256xf32>, %o: tensor<6x256xf32>) -> tensor<6x256xf32> attributes {fuse.kernel, fuse.dims = {d0 = "256"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %a0 = "fuse.load"(%a, %true, %zero) {at = ["0", "d0"]} : (tensor<6x256xf32>, i1, f32) -> f32
    %x0 = "fuse.load"(%x, %true, %zero) {at = ["0", "d0"]} : (tensor<6x256xf32>, i1, f32) -> f32
    %c0 = arith.constant 0.1 : f32
    %m0 = arith.mulf %a0, %x0 : f32
    %n0 = arith.mulf %m0, %c0 : f32
    %h0 = arith.addf %n0, %x0 : f32
    %a1 = "fuse.load"(%a, %true, %zero) {at = ["1", "d0"]} : (tensor<6x256xf32>, i1, f32) -> f32
    %x1 = "fuse.load"(%x, %true, %zero) {at = ["1", "d0"]} : (tensor<6x256xf32>, i1, f32) -> f32
    %c1 = arith.constant 0.2 : f32
    %m1 = arith.mulf %a1, %h0 : f32
    %n1 = arith.mulf %m1, %c1 : f32
    %h1 = arith.addf %n1, %x1 : f32
    %a2 = "fuse.load"(%a, %true, %zero) {at = ["2", "d0"]} : (tensor<6x256xf32>, i1, f32) -> f32
    %x2 = "fuse.load"(%x, %true, %zero) {at = ["2", "d0"]} : (tensor<6x256xf32>, i1, f32) -> f32
    %c2 = arith.constant 0.3 : f32
    %m2 = arith.mulf %a2, %h1 : f32
    %n2 = arith.mulf %m2, %c2 : f32
    %h2 = arith.addf %n2, %x2 : f32
    %a3 = "fuse.load"(%a, %true, %zero) {at = ["3", "d0"]} : (tensor<6x256xf32>, i1, f32) -> f32
    %x3 = "fuse.load"(%x, %true, %zero) {at = ["3", "d0"]} : (tensor<6x256xf32>, i1, f32) -> f32
    %c3 = arith.constant 0.4 : f32
    %m3 = arith.mulf %a3, %h2 : f32
    %n3 = arith.mulf %m3, %c3 : f32
    %h3 = arith.addf %n3, %x3 : f32
    %a4 = "fuse.load"(%a, %true, %zero) {at = ["4", "d0"]} : (tensor<6x256xf32>, i1, f32) -> f32
    %x4 = "fuse.load"(%x, %true, %zero) {at = ["4", "d0"]} : (tensor<6x256xf32>, i1, f32) -> f32
    %c4 = arith.constant 0.5 : f32
    %m4 = arith.mulf %a4, %h3 : f32
    %n4 = arith.mulf %m4, %c4 : f32
    %h4 = arith.addf %n4, %x4 : f32
    %a5 = "fuse.load"(%a, %true, %zero) {at = ["5", "d0"]} : (tensor<6x256xf32>, i1, f32) -> f32
    %x5 = "fuse.load"(%x, %true, %zero) {at = ["5", "d0"]} : (tensor<6x256xf32>, i1, f32) -> f32
    %c5 = arith.constant 0.6 : f32
    %m5 = arith.mulf %a5, %h4 : f32
    %n5 = arith.mulf %m5, %c5 : f32
    %h5 = arith.addf %n5, %x5 : f32
    %so0 = "fuse.store"(%o, %h0, %true) {at = ["0", "d0"], mode = "set"} : (tensor<6x256xf32>, f32, i1) -> tensor<6x256xf32>
    %so1 = "fuse.store"(%so0, %h1, %true) {at = ["1", "d0"], mode = "set"} : (tensor<6x256xf32>, f32, i1) -> tensor<6x256xf32>
    %so2 = "fuse.store"(%so1, %h2, %true) {at = ["2", "d0"], mode = "set"} : (tensor<6x256xf32>, f32, i1) -> tensor<6x256xf32>
    %so3 = "fuse.store"(%so2, %h3, %true) {at = ["3", "d0"], mode = "set"} : (tensor<6x256xf32>, f32, i1) -> tensor<6x256xf32>
    %so4 = "fuse.store"(%so3, %h4, %true) {at = ["4", "d0"], mode = "set"} : (tensor<6x256xf32>, f32, i1) -> tensor<6x256xf32>
    %so5 = "fuse.store"(%so4, %h5, %true) {at = ["5", "d0"], mode = "set"} : (tensor<6x256xf32>, f32, i1) -> tensor<6x256xf32>
    return %so5 : tensor<6x256xf32>
  }
}

// -----

// Must not fire: the steps do not follow each other evenly.
// CHECK-LABEL: func.func private @uneven
// CHECK-NOT: scf.for
// CHECK: return
module attributes {fuse.device = "cpu"} {
  func.func @main(%a: tensor<6x256xf32>, %x: tensor<6x256xf32>) -> tensor<6x256xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<6x256xf32>
    %r = call @uneven(%a, %x, %o) : (tensor<6x256xf32>, tensor<6x256xf32>, tensor<6x256xf32>) -> tensor<6x256xf32>
    return %r : tensor<6x256xf32>
  }
  func.func private @uneven(%a: tensor<6x256xf32>, %x: tensor<6x256xf32>, %o: tensor<6x256xf32>) -> tensor<6x256xf32> attributes {fuse.kernel, fuse.dims = {d0 = "256"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %a0 = "fuse.load"(%a, %true, %zero) {at = ["0", "d0"]} : (tensor<6x256xf32>, i1, f32) -> f32
    %x0 = "fuse.load"(%x, %true, %zero) {at = ["0", "d0"]} : (tensor<6x256xf32>, i1, f32) -> f32
    %m0 = arith.mulf %a0, %x0 : f32
    %h0 = arith.addf %m0, %x0 : f32
    %a1 = "fuse.load"(%a, %true, %zero) {at = ["1", "d0"]} : (tensor<6x256xf32>, i1, f32) -> f32
    %x1 = "fuse.load"(%x, %true, %zero) {at = ["1", "d0"]} : (tensor<6x256xf32>, i1, f32) -> f32
    %m1 = arith.mulf %a1, %h0 : f32
    %h1 = arith.addf %m1, %x1 : f32
    %a3 = "fuse.load"(%a, %true, %zero) {at = ["3", "d0"]} : (tensor<6x256xf32>, i1, f32) -> f32
    %x3 = "fuse.load"(%x, %true, %zero) {at = ["3", "d0"]} : (tensor<6x256xf32>, i1, f32) -> f32
    %m3 = arith.mulf %a3, %h1 : f32
    %h3 = arith.addf %m3, %x3 : f32
    %a4 = "fuse.load"(%a, %true, %zero) {at = ["4", "d0"]} : (tensor<6x256xf32>, i1, f32) -> f32
    %x4 = "fuse.load"(%x, %true, %zero) {at = ["4", "d0"]} : (tensor<6x256xf32>, i1, f32) -> f32
    %m4 = arith.mulf %a4, %h3 : f32
    %h4 = arith.addf %m4, %x4 : f32
    %a2 = "fuse.load"(%a, %true, %zero) {at = ["2", "d0"]} : (tensor<6x256xf32>, i1, f32) -> f32
    %x2 = "fuse.load"(%x, %true, %zero) {at = ["2", "d0"]} : (tensor<6x256xf32>, i1, f32) -> f32
    %m2 = arith.mulf %a2, %h4 : f32
    %h2 = arith.addf %m2, %x2 : f32
    %a5 = "fuse.load"(%a, %true, %zero) {at = ["5", "d0"]} : (tensor<6x256xf32>, i1, f32) -> f32
    %x5 = "fuse.load"(%x, %true, %zero) {at = ["5", "d0"]} : (tensor<6x256xf32>, i1, f32) -> f32
    %m5 = arith.mulf %a5, %h2 : f32
    %h5 = arith.addf %m5, %x5 : f32
    %so0 = "fuse.store"(%o, %h0, %true) {at = ["0", "d0"], mode = "set"} : (tensor<6x256xf32>, f32, i1) -> tensor<6x256xf32>
    %so1 = "fuse.store"(%so0, %h1, %true) {at = ["1", "d0"], mode = "set"} : (tensor<6x256xf32>, f32, i1) -> tensor<6x256xf32>
    %so3 = "fuse.store"(%so1, %h3, %true) {at = ["3", "d0"], mode = "set"} : (tensor<6x256xf32>, f32, i1) -> tensor<6x256xf32>
    %so4 = "fuse.store"(%so3, %h4, %true) {at = ["4", "d0"], mode = "set"} : (tensor<6x256xf32>, f32, i1) -> tensor<6x256xf32>
    %so2 = "fuse.store"(%so4, %h2, %true) {at = ["2", "d0"], mode = "set"} : (tensor<6x256xf32>, f32, i1) -> tensor<6x256xf32>
    %so5 = "fuse.store"(%so2, %h5, %true) {at = ["5", "d0"], mode = "set"} : (tensor<6x256xf32>, f32, i1) -> tensor<6x256xf32>
    return %so5 : tensor<6x256xf32>
  }
}

// -----

// Must not fire: what is behind the steps takes the states of all of them.
// CHECK-LABEL: func.func private @all
// CHECK-NOT: scf.for
// CHECK: return
// SAID: missed: reroll-loops: kept: @all stays straight-line code: ops behind its steps take values of many of them
module attributes {fuse.device = "cpu"} {
  func.func @main(%a: tensor<6x256xf32>, %x: tensor<6x256xf32>) -> tensor<256xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<256xf32>
    %r = call @all(%a, %x, %o) : (tensor<6x256xf32>, tensor<6x256xf32>, tensor<256xf32>) -> tensor<256xf32>
    return %r : tensor<256xf32>
  }
  func.func private @all(%a: tensor<6x256xf32>, %x: tensor<6x256xf32>, %o: tensor<256xf32>) -> tensor<256xf32> attributes {fuse.kernel, fuse.dims = {d0 = "256"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %a0 = "fuse.load"(%a, %true, %zero) {at = ["0", "d0"]} : (tensor<6x256xf32>, i1, f32) -> f32
    %x0 = "fuse.load"(%x, %true, %zero) {at = ["0", "d0"]} : (tensor<6x256xf32>, i1, f32) -> f32
    %m0 = arith.mulf %a0, %x0 : f32
    %h0 = arith.addf %m0, %x0 : f32
    %a1 = "fuse.load"(%a, %true, %zero) {at = ["1", "d0"]} : (tensor<6x256xf32>, i1, f32) -> f32
    %x1 = "fuse.load"(%x, %true, %zero) {at = ["1", "d0"]} : (tensor<6x256xf32>, i1, f32) -> f32
    %m1 = arith.mulf %a1, %h0 : f32
    %h1 = arith.addf %m1, %x1 : f32
    %a2 = "fuse.load"(%a, %true, %zero) {at = ["2", "d0"]} : (tensor<6x256xf32>, i1, f32) -> f32
    %x2 = "fuse.load"(%x, %true, %zero) {at = ["2", "d0"]} : (tensor<6x256xf32>, i1, f32) -> f32
    %m2 = arith.mulf %a2, %h1 : f32
    %h2 = arith.addf %m2, %x2 : f32
    %a3 = "fuse.load"(%a, %true, %zero) {at = ["3", "d0"]} : (tensor<6x256xf32>, i1, f32) -> f32
    %x3 = "fuse.load"(%x, %true, %zero) {at = ["3", "d0"]} : (tensor<6x256xf32>, i1, f32) -> f32
    %m3 = arith.mulf %a3, %h2 : f32
    %h3 = arith.addf %m3, %x3 : f32
    %a4 = "fuse.load"(%a, %true, %zero) {at = ["4", "d0"]} : (tensor<6x256xf32>, i1, f32) -> f32
    %x4 = "fuse.load"(%x, %true, %zero) {at = ["4", "d0"]} : (tensor<6x256xf32>, i1, f32) -> f32
    %m4 = arith.mulf %a4, %h3 : f32
    %h4 = arith.addf %m4, %x4 : f32
    %a5 = "fuse.load"(%a, %true, %zero) {at = ["5", "d0"]} : (tensor<6x256xf32>, i1, f32) -> f32
    %x5 = "fuse.load"(%x, %true, %zero) {at = ["5", "d0"]} : (tensor<6x256xf32>, i1, f32) -> f32
    %m5 = arith.mulf %a5, %h4 : f32
    %h5 = arith.addf %m5, %x5 : f32
    %p1 = arith.mulf %h0, %h5 : f32
    %p2 = arith.mulf %p1, %h1 : f32
    %p3 = arith.mulf %p2, %h2 : f32
    %p4 = arith.mulf %p3, %h3 : f32
    %p5 = arith.mulf %p4, %h4 : f32
    %s = "fuse.store"(%o, %p5, %true) {at = ["d0"], mode = "set"} : (tensor<256xf32>, f32, i1) -> tensor<256xf32>
    return %s : tensor<256xf32>
  }
}

// -----

// Must not fire: the state is updated where it lies, so the kernel loads what it stores.
// CHECK-LABEL: func.func private @update
// CHECK-NOT: scf.for
// CHECK: return
// SAID: missed: reroll-loops: kept: @update stays straight-line code: it loads what it stores
module attributes {fuse.device = "cpu"} {
  func.func @main(%a: tensor<6x256xf32>, %x: tensor<6x256xf32>) -> tensor<256xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<256xf32>
    %r = call @update(%a, %x, %o) : (tensor<6x256xf32>, tensor<6x256xf32>, tensor<256xf32>) -> tensor<256xf32>
    return %r : tensor<256xf32>
  }
  func.func private @update(%a: tensor<6x256xf32>, %x: tensor<6x256xf32>, %o: tensor<256xf32>) -> tensor<256xf32> attributes {fuse.kernel, fuse.dims = {d0 = "256"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %old = "fuse.load"(%o, %true, %zero) {at = ["d0"]} : (tensor<256xf32>, i1, f32) -> f32
    %a0 = "fuse.load"(%a, %true, %zero) {at = ["0", "d0"]} : (tensor<6x256xf32>, i1, f32) -> f32
    %x0 = "fuse.load"(%x, %true, %zero) {at = ["0", "d0"]} : (tensor<6x256xf32>, i1, f32) -> f32
    %m0 = arith.mulf %a0, %old : f32
    %h0 = arith.addf %m0, %x0 : f32
    %a1 = "fuse.load"(%a, %true, %zero) {at = ["1", "d0"]} : (tensor<6x256xf32>, i1, f32) -> f32
    %x1 = "fuse.load"(%x, %true, %zero) {at = ["1", "d0"]} : (tensor<6x256xf32>, i1, f32) -> f32
    %m1 = arith.mulf %a1, %h0 : f32
    %h1 = arith.addf %m1, %x1 : f32
    %a2 = "fuse.load"(%a, %true, %zero) {at = ["2", "d0"]} : (tensor<6x256xf32>, i1, f32) -> f32
    %x2 = "fuse.load"(%x, %true, %zero) {at = ["2", "d0"]} : (tensor<6x256xf32>, i1, f32) -> f32
    %m2 = arith.mulf %a2, %h1 : f32
    %h2 = arith.addf %m2, %x2 : f32
    %a3 = "fuse.load"(%a, %true, %zero) {at = ["3", "d0"]} : (tensor<6x256xf32>, i1, f32) -> f32
    %x3 = "fuse.load"(%x, %true, %zero) {at = ["3", "d0"]} : (tensor<6x256xf32>, i1, f32) -> f32
    %m3 = arith.mulf %a3, %h2 : f32
    %h3 = arith.addf %m3, %x3 : f32
    %a4 = "fuse.load"(%a, %true, %zero) {at = ["4", "d0"]} : (tensor<6x256xf32>, i1, f32) -> f32
    %x4 = "fuse.load"(%x, %true, %zero) {at = ["4", "d0"]} : (tensor<6x256xf32>, i1, f32) -> f32
    %m4 = arith.mulf %a4, %h3 : f32
    %h4 = arith.addf %m4, %x4 : f32
    %a5 = "fuse.load"(%a, %true, %zero) {at = ["5", "d0"]} : (tensor<6x256xf32>, i1, f32) -> f32
    %x5 = "fuse.load"(%x, %true, %zero) {at = ["5", "d0"]} : (tensor<6x256xf32>, i1, f32) -> f32
    %m5 = arith.mulf %a5, %h4 : f32
    %h5 = arith.addf %m5, %x5 : f32
    %s = "fuse.store"(%o, %h5, %true) {at = ["d0"], mode = "set"} : (tensor<256xf32>, f32, i1) -> tensor<256xf32>
    return %s : tensor<256xf32>
  }
}
