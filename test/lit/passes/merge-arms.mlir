// RUN: fuse-opt %s --pass-pipeline="builtin.module(merge-arms)" --split-input-file --verify-diagnostics | FileCheck %s
// RUN: fuse-opt %s --pass-pipeline="builtin.module(merge-arms,merge-arms)" --split-input-file --verify-diagnostics | FileCheck %s
// RUN: fuse-opt %s --pass-pipeline="builtin.module(merge-arms)" --split-input-file --verify-diagnostics --remarks=text 2>&1 >/dev/null | FileCheck %s --check-prefix=SAID
// SAID: passed: merge-arms: one-read

// A rotary embedding reads the other half of each row: the two guarded reads are one of the row, d1 + 64 modulo 128, and
// what follows on both arms is computed once; the sign stands on one arm only.
// CHECK-LABEL: @halves
// CHECK: %[[V:.*]] = "fuse.load"(%arg0, %true, %{{.*}}) {at = ["d0", "(d1 + 64) mod 128"]}
// CHECK-NOT: "fuse.load"(%arg0
// CHECK: %[[P:.*]] = arith.mulf %[[V]], %[[V]]
// CHECK: %[[N:.*]] = arith.negf %[[P]]
// CHECK: arith.select %{{.*}}, %[[N]], %[[P]]
module attributes {fuse.device = "cpu"} {
  func.func private @halves(%x: tensor<64x128xf32>, %w: tensor<256xf32>, %o: tensor<64x128xf32>) -> tensor<64x128xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "64", d1 = "128"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %z = arith.constant 0.0 : f32
    %c0 = arith.constant 0 : i64
    %i = "fuse.index"() {expr = "d1 - 64"} : () -> i64
    %low = arith.cmpi slt, %i, %c0 : i64
    %high = arith.cmpi sge, %i, %c0 : i64
    %a = "fuse.load"(%x, %low, %z) {at = ["d0", "d1 + 64"]} : (tensor<64x128xf32>, i1, f32) -> f32
    %b = "fuse.load"(%x, %high, %z) {at = ["d0", "d1 - 64"]} : (tensor<64x128xf32>, i1, f32) -> f32
    %p = arith.mulf %a, %a : f32
    %q = arith.mulf %b, %b : f32
    %n = arith.negf %p : f32
    %r = arith.select %low, %n, %q : f32
    %s = "fuse.store"(%o, %r, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<64x128xf32>, f32, i1) -> tensor<64x128xf32>
    return %s : tensor<64x128xf32>
  }
}

// -----

// Selections by the condition inside an arm are decided there; the same value on both arms stays as it is. The first arm may
// be the upper one.
// CHECK-LABEL: @decided
// CHECK: %[[W:.*]] = "fuse.load"(%arg1, %true, %{{.*}}) {at = ["5"]}
// CHECK: %[[V:.*]] = "fuse.load"(%arg0, %true, %{{.*}}) {at = ["d0", "(d1 + 64) mod 128"]}
// CHECK: %[[P:.*]] = arith.mulf %[[V]], %[[W]]
// CHECK-NOT: arith.select
// CHECK: "fuse.store"(%arg2, %[[P]]
module attributes {fuse.device = "cpu"} {
  func.func private @decided(%x: tensor<64x128xf32>, %w: tensor<256xf32>, %o: tensor<64x128xf32>) -> tensor<64x128xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "64", d1 = "128"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %z = arith.constant 0.0 : f32
    %c0 = arith.constant 0 : i64
    %i = "fuse.index"() {expr = "d1 - 64"} : () -> i64
    %low = arith.cmpi slt, %i, %c0 : i64
    %high = arith.cmpi sge, %i, %c0 : i64
    %u = "fuse.load"(%w, %true, %z) {at = ["5"]} : (tensor<256xf32>, i1, f32) -> f32
    %a = "fuse.load"(%x, %low, %z) {at = ["d0", "d1 + 64"]} : (tensor<64x128xf32>, i1, f32) -> f32
    %b = "fuse.load"(%x, %high, %z) {at = ["d0", "d1 - 64"]} : (tensor<64x128xf32>, i1, f32) -> f32
    %wl = arith.select %low, %u, %z : f32
    %p = arith.mulf %a, %wl : f32
    %wh = arith.select %low, %z, %u : f32
    %q = arith.mulf %b, %wh : f32
    %r = arith.select %high, %q, %p : f32
    %s = "fuse.store"(%o, %r, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<64x128xf32>, f32, i1) -> tensor<64x128xf32>
    return %s : tensor<64x128xf32>
  }
}

// -----

// A rotation by 32: the cut need not be in the middle.
// CHECK-LABEL: @rotation
// CHECK: "fuse.load"(%arg0, %true, %{{.*}}) {at = ["d0", "(d1 + 32) mod 128"]}
// CHECK-NOT: arith.select
module attributes {fuse.device = "cpu"} {
  func.func private @rotation(%x: tensor<64x128xf32>, %w: tensor<256xf32>, %o: tensor<64x128xf32>) -> tensor<64x128xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "64", d1 = "128"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %z = arith.constant 0.0 : f32
    %c0 = arith.constant 0 : i64
    %i = "fuse.index"() {expr = "d1 - 96"} : () -> i64
    %low = arith.cmpi slt, %i, %c0 : i64
    %high = arith.cmpi sge, %i, %c0 : i64
    %a = "fuse.load"(%x, %low, %z) {at = ["d0", "d1 + 32"]} : (tensor<64x128xf32>, i1, f32) -> f32
    %b = "fuse.load"(%x, %high, %z) {at = ["d0", "d1 - 96"]} : (tensor<64x128xf32>, i1, f32) -> f32
    %r = arith.select %low, %a, %b : f32
    %s = "fuse.store"(%o, %r, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<64x128xf32>, f32, i1) -> tensor<64x128xf32>
    return %s : tensor<64x128xf32>
  }
}

// -----

// Must not fire: two tensors: there is no one read.
// CHECK-LABEL: @other_tensor
// CHECK-COUNT-2: "fuse.load"({{.*}}, %{{[0-9]+|low|high|late}}, %
// CHECK: arith.select
module attributes {fuse.device = "cpu"} {
  func.func private @other_tensor(%x: tensor<64x128xf32>, %w: tensor<256xf32>, %o: tensor<64x128xf32>) -> tensor<64x128xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "64", d1 = "128"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %z = arith.constant 0.0 : f32
    %c0 = arith.constant 0 : i64
    %i = "fuse.index"() {expr = "d1 - 64"} : () -> i64
    %low = arith.cmpi slt, %i, %c0 : i64
    %high = arith.cmpi sge, %i, %c0 : i64
    %a = "fuse.load"(%x, %low, %z) {at = ["d0", "d1 + 64"]} : (tensor<64x128xf32>, i1, f32) -> f32
    %b = "fuse.load"(%w, %high, %z) {at = ["d1 - 64"]} : (tensor<256xf32>, i1, f32) -> f32
    %r = arith.select %low, %a, %b : f32
    %s = "fuse.store"(%o, %r, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<64x128xf32>, f32, i1) -> tensor<64x128xf32>
    return %s : tensor<64x128xf32>
  }
}

// -----

// Must not fire: what the arms read overlaps: neither coordinate is the other one modulo their difference.
// CHECK-LABEL: @no_modulus
// CHECK-COUNT-2: "fuse.load"({{.*}}, %{{[0-9]+|low|high|late}}, %
// CHECK: arith.select
module attributes {fuse.device = "cpu"} {
  func.func private @no_modulus(%x: tensor<64x128xf32>, %w: tensor<256xf32>, %o: tensor<64x128xf32>) -> tensor<64x128xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "64", d1 = "128"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %z = arith.constant 0.0 : f32
    %c0 = arith.constant 0 : i64
    %i = "fuse.index"() {expr = "d1 - 64"} : () -> i64
    %low = arith.cmpi slt, %i, %c0 : i64
    %high = arith.cmpi sge, %i, %c0 : i64
    %a = "fuse.load"(%x, %low, %z) {at = ["d0", "d1 + 32"]} : (tensor<64x128xf32>, i1, f32) -> f32
    %b = "fuse.load"(%x, %high, %z) {at = ["d0", "d1 - 32"]} : (tensor<64x128xf32>, i1, f32) -> f32
    %r = arith.select %low, %a, %b : f32
    %s = "fuse.store"(%o, %r, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<64x128xf32>, f32, i1) -> tensor<64x128xf32>
    return %s : tensor<64x128xf32>
  }
}

// -----

// Must not fire: the arms compute differently after the read.
// CHECK-LABEL: @other_work
// CHECK-COUNT-2: "fuse.load"({{.*}}, %{{[0-9]+|low|high|late}}, %
// CHECK: arith.select
module attributes {fuse.device = "cpu"} {
  func.func private @other_work(%x: tensor<64x128xf32>, %w: tensor<256xf32>, %o: tensor<64x128xf32>) -> tensor<64x128xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "64", d1 = "128"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %z = arith.constant 0.0 : f32
    %c0 = arith.constant 0 : i64
    %i = "fuse.index"() {expr = "d1 - 64"} : () -> i64
    %low = arith.cmpi slt, %i, %c0 : i64
    %high = arith.cmpi sge, %i, %c0 : i64
    %a = "fuse.load"(%x, %low, %z) {at = ["d0", "d1 + 64"]} : (tensor<64x128xf32>, i1, f32) -> f32
    %b = "fuse.load"(%x, %high, %z) {at = ["d0", "d1 - 64"]} : (tensor<64x128xf32>, i1, f32) -> f32
    %p = arith.mulf %a, %a : f32
    %q = arith.addf %b, %b : f32
    %r = arith.select %low, %p, %q : f32
    %s = "fuse.store"(%o, %r, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<64x128xf32>, f32, i1) -> tensor<64x128xf32>
    return %s : tensor<64x128xf32>
  }
}

// -----

// Must not fire: the guards are not the condition and its negation.
// CHECK-LABEL: @other_guard
// CHECK-COUNT-2: "fuse.load"({{.*}}, %{{[0-9]+|low|high|late}}, %
// CHECK: arith.select
module attributes {fuse.device = "cpu"} {
  func.func private @other_guard(%x: tensor<64x128xf32>, %w: tensor<256xf32>, %o: tensor<64x128xf32>) -> tensor<64x128xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "64", d1 = "128"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %z = arith.constant 0.0 : f32
    %c0 = arith.constant 0 : i64
    %i = "fuse.index"() {expr = "d1 - 64"} : () -> i64
    %low = arith.cmpi slt, %i, %c0 : i64
    %high = arith.cmpi sge, %i, %c0 : i64
    %j = "fuse.index"() {expr = "d1 - 80"} : () -> i64
    %late = arith.cmpi sge, %j, %c0 : i64
    %a = "fuse.load"(%x, %low, %z) {at = ["d0", "d1 + 64"]} : (tensor<64x128xf32>, i1, f32) -> f32
    %b = "fuse.load"(%x, %late, %z) {at = ["d0", "d1 - 64"]} : (tensor<64x128xf32>, i1, f32) -> f32
    %r = arith.select %low, %a, %b : f32
    %s = "fuse.store"(%o, %r, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<64x128xf32>, f32, i1) -> tensor<64x128xf32>
    return %s : tensor<64x128xf32>
  }
}

// -----

// Must not fire: the condition is a value, no cut of a dim.
// CHECK-LABEL: @other_condition
// CHECK-COUNT-2: "fuse.load"({{.*}}, %{{[0-9]+|low|high|late}}, %
// CHECK: arith.select
module attributes {fuse.device = "cpu"} {
  func.func private @other_condition(%x: tensor<64x128xf32>, %w: tensor<256xf32>, %o: tensor<64x128xf32>) -> tensor<64x128xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "64", d1 = "128"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %z = arith.constant 0.0 : f32
    %c0 = arith.constant 0 : i64
    %v = "fuse.load"(%x, %true, %z) {at = ["d0", "d1"]} : (tensor<64x128xf32>, i1, f32) -> f32
    %low = arith.cmpf olt, %v, %z : f32
    %high = arith.cmpf uge, %v, %z : f32
    %a = "fuse.load"(%w, %low, %z) {at = ["(d1 + 1) mod 256"]} : (tensor<256xf32>, i1, f32) -> f32
    %b = "fuse.load"(%w, %high, %z) {at = ["d1"]} : (tensor<256xf32>, i1, f32) -> f32
    %r = arith.select %low, %a, %b : f32
    %s = "fuse.store"(%o, %r, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<64x128xf32>, f32, i1) -> tensor<64x128xf32>
    return %s : tensor<64x128xf32>
  }
}

// -----

// Bad input: the two halves would be one read, had the tensor one dim.
module attributes {fuse.device = "cpu"} {
  func.func private @rank(%x: tensor<64x128xf32>, %o: tensor<64x128xf32>) -> tensor<64x128xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "64", d1 = "128"}, fuse.ties = array<i64: 1>} {
    %z = arith.constant 0.0 : f32
    %true = arith.constant true
    %c0 = arith.constant 0 : i64
    %i = "fuse.index"() {expr = "d1 - 64"} : () -> i64
    %low = arith.cmpi slt, %i, %c0 : i64
    %high = arith.cmpi sge, %i, %c0 : i64
    // expected-error @+1 {{expected 2 coordinates, one for each dim of tensor<64x128xf32>, got 1}}
    %a = "fuse.load"(%x, %low, %z) {at = ["d1 + 64"]} : (tensor<64x128xf32>, i1, f32) -> f32
    // expected-error @+1 {{expected 2 coordinates, one for each dim of tensor<64x128xf32>, got 1}}
    %b = "fuse.load"(%x, %high, %z) {at = ["d1 - 64"]} : (tensor<64x128xf32>, i1, f32) -> f32
    %r = arith.select %low, %a, %b : f32
    %s = "fuse.store"(%o, %r, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<64x128xf32>, f32, i1) -> tensor<64x128xf32>
    return %s : tensor<64x128xf32>
  }
}
