// RUN: fuse-opt %s --pass-pipeline="builtin.module(narrow-stores)" --split-input-file --verify-diagnostics | FileCheck %s
// RUN: fuse-opt %s --pass-pipeline="builtin.module(narrow-stores)" --split-input-file --verify-diagnostics --remarks=text 2>&1 >/dev/null | FileCheck %s --check-prefix=SAID
// SAID: passed: narrow-stores: narrowed

// Two rows of an argument are written; the others are neither read nor written.
// CHECK-LABEL: func.func private @rows
// CHECK: %[[C:.*]] = arith.andi
// CHECK: %[[V:.*]] = "fuse.load"(%arg0, %[[C]],
// CHECK-NOT: "fuse.load"
// CHECK-NOT: arith.select
// CHECK: "fuse.store"(%arg2, %[[V]], %[[C]])
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<8x64xf32>, %k: tensor<2x64xf32>, %y: tensor<8x64xf32>) -> tensor<8x64xf32> {
    %r = call @rows(%k, %y, %x) : (tensor<2x64xf32>, tensor<8x64xf32>, tensor<8x64xf32>) -> tensor<8x64xf32>
    return {fuse.mutates = {"0" = 0 : i64}} %r : tensor<8x64xf32>
  }
  func.func private @rows(%k: tensor<2x64xf32>, %y: tensor<8x64xf32>, %x: tensor<8x64xf32>) -> tensor<8x64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "64"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %i = "fuse.index"() {expr = "d0 - 3"} : () -> i64
    %none = arith.constant 0 : i64
    %two = arith.constant 2 : i64
    %ge = arith.cmpi sge, %i, %none : i64
    %lt = arith.cmpi slt, %i, %two : i64
    %c = arith.andi %ge, %lt : i1
    %not = arith.xori %c, %true : i1
    %new = "fuse.load"(%k, %c, %zero) {at = ["d0 - 3", "d1"]} : (tensor<2x64xf32>, i1, f32) -> f32
    %old = "fuse.load"(%x, %not, %zero) {at = ["d0", "d1"]} : (tensor<8x64xf32>, i1, f32) -> f32
    %v = arith.select %c, %new, %old : f32
    %r = "fuse.store"(%x, %v, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<8x64xf32>, f32, i1) -> tensor<8x64xf32>
    return %r : tensor<8x64xf32>
  }
}

// -----

// The other way round, the old value is read without a guard and used for the new one, and the store has a guard.
// CHECK-LABEL: func.func private @others
// CHECK: %[[C:.*]] = arith.andi
// CHECK: %[[OLD:.*]] = "fuse.load"(%arg2, %
// CHECK: %[[E:.*]] = math.exp %[[OLD]]
// CHECK-NOT: arith.select
// CHECK: %[[N:.*]] = arith.xori %[[C]], %
// CHECK: %[[G:.*]] = arith.andi %{{.*}}, %[[N]]
// CHECK: "fuse.store"(%arg2, %[[E]], %[[G]])
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<8x64xf32>, %k: tensor<2x64xf32>, %y: tensor<8x64xf32>) -> tensor<8x64xf32> {
    %r = call @others(%k, %y, %x) : (tensor<2x64xf32>, tensor<8x64xf32>, tensor<8x64xf32>) -> tensor<8x64xf32>
    return {fuse.mutates = {"0" = 0 : i64}} %r : tensor<8x64xf32>
  }
  func.func private @others(%k: tensor<2x64xf32>, %y: tensor<8x64xf32>, %x: tensor<8x64xf32>) -> tensor<8x64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "64"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %i = "fuse.index"() {expr = "d0 - 3"} : () -> i64
    %none = arith.constant 0 : i64
    %two = arith.constant 2 : i64
    %ge = arith.cmpi sge, %i, %none : i64
    %lt = arith.cmpi slt, %i, %two : i64
    %c = arith.andi %ge, %lt : i1
    %not = arith.xori %c, %true : i1
    %old = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<8x64xf32>, i1, f32) -> f32
    %e = math.exp %old : f32
    %v = arith.select %c, %old, %e : f32
    %r = "fuse.store"(%x, %v, %lt) {at = ["d0", "d1"], mode = "set"} : (tensor<8x64xf32>, f32, i1) -> tensor<8x64xf32>
    return %r : tensor<8x64xf32>
  }
}

// -----

// A condition on a size is known.
// CHECK-LABEL: func.func private @sized
// CHECK: %[[C:.*]] = arith.cmpi
// CHECK-NOT: arith.select
// CHECK: "fuse.store"(%arg1, %{{.*}}, %[[C]])
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<8x64xf32>, %k: tensor<8x64xf32>, %s0: index {fuse.sym = "s0"}) -> tensor<8x64xf32> {
    %r = call @sized(%k, %x, %s0) : (tensor<8x64xf32>, tensor<8x64xf32>, index) -> tensor<8x64xf32>
    return {fuse.mutates = {"0" = 0 : i64}} %r : tensor<8x64xf32>
  }
  func.func private @sized(%k: tensor<8x64xf32>, %x: tensor<8x64xf32>, %s0: index {fuse.sym = "s0"}) -> tensor<8x64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "64"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %three = arith.constant 3 : index
    %c = arith.cmpi slt, %s0, %three : index
    %new = "fuse.load"(%k, %true, %zero) {at = ["d0", "d1"]} : (tensor<8x64xf32>, i1, f32) -> f32
    %old = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<8x64xf32>, i1, f32) -> f32
    %v = arith.select %c, %new, %old : f32
    %r = "fuse.store"(%x, %v, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<8x64xf32>, f32, i1) -> tensor<8x64xf32>
    return %r : tensor<8x64xf32>
  }
}

// -----

// Must not fire: another tensor is read.
// CHECK-LABEL: func.func private @k
// CHECK: %[[V:.*]] = arith.select
// CHECK: "fuse.store"(%arg2, %[[V]], %true
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<8x64xf32>, %k: tensor<2x64xf32>, %y: tensor<8x64xf32>) -> tensor<8x64xf32> {
    %r = call @k(%k, %y, %x) : (tensor<2x64xf32>, tensor<8x64xf32>, tensor<8x64xf32>) -> tensor<8x64xf32>
    return {fuse.mutates = {"0" = 0 : i64}} %r : tensor<8x64xf32>
  }
  func.func private @k(%k: tensor<2x64xf32>, %y: tensor<8x64xf32>, %x: tensor<8x64xf32>) -> tensor<8x64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "64"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %i = "fuse.index"() {expr = "d0 - 3"} : () -> i64
    %none = arith.constant 0 : i64
    %two = arith.constant 2 : i64
    %ge = arith.cmpi sge, %i, %none : i64
    %lt = arith.cmpi slt, %i, %two : i64
    %c = arith.andi %ge, %lt : i1
    %not = arith.xori %c, %true : i1
    %new = "fuse.load"(%k, %c, %zero) {at = ["d0 - 3", "d1"]} : (tensor<2x64xf32>, i1, f32) -> f32
    %old = "fuse.load"(%y, %not, %zero) {at = ["d0", "d1"]} : (tensor<8x64xf32>, i1, f32) -> f32
    %v = arith.select %c, %new, %old : f32
    %r = "fuse.store"(%x, %v, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<8x64xf32>, f32, i1) -> tensor<8x64xf32>
    return %r : tensor<8x64xf32>
  }
}

// -----

// Must not fire: the old value is read where the condition holds.
// CHECK-LABEL: func.func private @k
// CHECK: %[[V:.*]] = arith.select
// CHECK: "fuse.store"(%arg2, %[[V]], %true
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<8x64xf32>, %k: tensor<2x64xf32>, %y: tensor<8x64xf32>) -> tensor<8x64xf32> {
    %r = call @k(%k, %y, %x) : (tensor<2x64xf32>, tensor<8x64xf32>, tensor<8x64xf32>) -> tensor<8x64xf32>
    return {fuse.mutates = {"0" = 0 : i64}} %r : tensor<8x64xf32>
  }
  func.func private @k(%k: tensor<2x64xf32>, %y: tensor<8x64xf32>, %x: tensor<8x64xf32>) -> tensor<8x64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "64"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %i = "fuse.index"() {expr = "d0 - 3"} : () -> i64
    %none = arith.constant 0 : i64
    %two = arith.constant 2 : i64
    %ge = arith.cmpi sge, %i, %none : i64
    %lt = arith.cmpi slt, %i, %two : i64
    %c = arith.andi %ge, %lt : i1
    %not = arith.xori %c, %true : i1
    %new = "fuse.load"(%k, %c, %zero) {at = ["d0 - 3", "d1"]} : (tensor<2x64xf32>, i1, f32) -> f32
    %old = "fuse.load"(%x, %c, %zero) {at = ["d0", "d1"]} : (tensor<8x64xf32>, i1, f32) -> f32
    %v = arith.select %c, %new, %old : f32
    %r = "fuse.store"(%x, %v, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<8x64xf32>, f32, i1) -> tensor<8x64xf32>
    return %r : tensor<8x64xf32>
  }
}

// -----

// Must not fire: some of the old values are not read.
// CHECK-LABEL: func.func private @k
// CHECK: %[[V:.*]] = arith.select
// CHECK: "fuse.store"(%arg2, %[[V]], %true
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<8x64xf32>, %k: tensor<2x64xf32>, %y: tensor<8x64xf32>) -> tensor<8x64xf32> {
    %r = call @k(%k, %y, %x) : (tensor<2x64xf32>, tensor<8x64xf32>, tensor<8x64xf32>) -> tensor<8x64xf32>
    return {fuse.mutates = {"0" = 0 : i64}} %r : tensor<8x64xf32>
  }
  func.func private @k(%k: tensor<2x64xf32>, %y: tensor<8x64xf32>, %x: tensor<8x64xf32>) -> tensor<8x64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "64"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %i = "fuse.index"() {expr = "d0 - 3"} : () -> i64
    %none = arith.constant 0 : i64
    %two = arith.constant 2 : i64
    %ge = arith.cmpi sge, %i, %none : i64
    %lt = arith.cmpi slt, %i, %two : i64
    %c = arith.andi %ge, %lt : i1
    %not = arith.xori %c, %true : i1
    %new = "fuse.load"(%k, %c, %zero) {at = ["d0 - 3", "d1"]} : (tensor<2x64xf32>, i1, f32) -> f32
    %old = "fuse.load"(%x, %ge, %zero) {at = ["d0", "d1"]} : (tensor<8x64xf32>, i1, f32) -> f32
    %v = arith.select %c, %new, %old : f32
    %r = "fuse.store"(%x, %v, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<8x64xf32>, f32, i1) -> tensor<8x64xf32>
    return %r : tensor<8x64xf32>
  }
}

// -----

// Must not fire: another condition guards it.
// CHECK-LABEL: func.func private @k
// CHECK: %[[V:.*]] = arith.select
// CHECK: "fuse.store"(%arg2, %[[V]], %true
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<8x64xf32>, %k: tensor<2x64xf32>, %y: tensor<8x64xf32>) -> tensor<8x64xf32> {
    %r = call @k(%k, %y, %x) : (tensor<2x64xf32>, tensor<8x64xf32>, tensor<8x64xf32>) -> tensor<8x64xf32>
    return {fuse.mutates = {"0" = 0 : i64}} %r : tensor<8x64xf32>
  }
  func.func private @k(%k: tensor<2x64xf32>, %y: tensor<8x64xf32>, %x: tensor<8x64xf32>) -> tensor<8x64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "64"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %i = "fuse.index"() {expr = "d0 - 3"} : () -> i64
    %none = arith.constant 0 : i64
    %two = arith.constant 2 : i64
    %ge = arith.cmpi sge, %i, %none : i64
    %lt = arith.cmpi slt, %i, %two : i64
    %c = arith.andi %ge, %lt : i1
    %not = arith.xori %c, %true : i1
    %above = arith.xori %ge, %true : i1
    %new = "fuse.load"(%k, %c, %zero) {at = ["d0 - 3", "d1"]} : (tensor<2x64xf32>, i1, f32) -> f32
    %old = "fuse.load"(%x, %above, %zero) {at = ["d0", "d1"]} : (tensor<8x64xf32>, i1, f32) -> f32
    %v = arith.select %c, %new, %old : f32
    %r = "fuse.store"(%x, %v, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<8x64xf32>, f32, i1) -> tensor<8x64xf32>
    return %r : tensor<8x64xf32>
  }
}

// -----

// Must not fire: the same, of the other arm.
// CHECK-LABEL: func.func private @k
// CHECK: %[[V:.*]] = arith.select
// CHECK: "fuse.store"(%arg2, %[[V]], %true
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<8x64xf32>, %k: tensor<2x64xf32>, %y: tensor<8x64xf32>) -> tensor<8x64xf32> {
    %r = call @k(%k, %y, %x) : (tensor<2x64xf32>, tensor<8x64xf32>, tensor<8x64xf32>) -> tensor<8x64xf32>
    return {fuse.mutates = {"0" = 0 : i64}} %r : tensor<8x64xf32>
  }
  func.func private @k(%k: tensor<2x64xf32>, %y: tensor<8x64xf32>, %x: tensor<8x64xf32>) -> tensor<8x64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "64"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %i = "fuse.index"() {expr = "d0 - 3"} : () -> i64
    %none = arith.constant 0 : i64
    %two = arith.constant 2 : i64
    %ge = arith.cmpi sge, %i, %none : i64
    %lt = arith.cmpi slt, %i, %two : i64
    %c = arith.andi %ge, %lt : i1
    %not = arith.xori %c, %true : i1
    %old = "fuse.load"(%x, %ge, %zero) {at = ["d0", "d1"]} : (tensor<8x64xf32>, i1, f32) -> f32
    %e = math.exp %old : f32
    %v = arith.select %c, %old, %e : f32
    %r = "fuse.store"(%x, %v, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<8x64xf32>, f32, i1) -> tensor<8x64xf32>
    return %r : tensor<8x64xf32>
  }
}

// -----

// Must not fire: the store adds.
// CHECK-LABEL: func.func private @k
// CHECK: %[[V:.*]] = arith.select
// CHECK: "fuse.store"(%arg2, %[[V]], %true
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<8x64xf32>, %k: tensor<2x64xf32>, %y: tensor<8x64xf32>) -> tensor<8x64xf32> {
    %r = call @k(%k, %y, %x) : (tensor<2x64xf32>, tensor<8x64xf32>, tensor<8x64xf32>) -> tensor<8x64xf32>
    return {fuse.mutates = {"0" = 0 : i64}} %r : tensor<8x64xf32>
  }
  func.func private @k(%k: tensor<2x64xf32>, %y: tensor<8x64xf32>, %x: tensor<8x64xf32>) -> tensor<8x64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "64"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %i = "fuse.index"() {expr = "d0 - 3"} : () -> i64
    %none = arith.constant 0 : i64
    %two = arith.constant 2 : i64
    %ge = arith.cmpi sge, %i, %none : i64
    %lt = arith.cmpi slt, %i, %two : i64
    %c = arith.andi %ge, %lt : i1
    %not = arith.xori %c, %true : i1
    %new = "fuse.load"(%k, %c, %zero) {at = ["d0 - 3", "d1"]} : (tensor<2x64xf32>, i1, f32) -> f32
    %old = "fuse.load"(%x, %not, %zero) {at = ["d0", "d1"]} : (tensor<8x64xf32>, i1, f32) -> f32
    %v = arith.select %c, %new, %old : f32
    %r = "fuse.store"(%x, %v, %true) {at = ["d0", "d1"], mode = "add"} : (tensor<8x64xf32>, f32, i1) -> tensor<8x64xf32>
    return %r : tensor<8x64xf32>
  }
}

// -----

// Must not fire: data decides what is written.
// CHECK-LABEL: func.func private @k
// CHECK: %[[V:.*]] = arith.select
// CHECK: "fuse.store"(%arg2, %[[V]], %true
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<8x64xf32>, %k: tensor<2x64xf32>, %y: tensor<8x64xf32>) -> tensor<8x64xf32> {
    %r = call @k(%k, %y, %x) : (tensor<2x64xf32>, tensor<8x64xf32>, tensor<8x64xf32>) -> tensor<8x64xf32>
    return {fuse.mutates = {"0" = 0 : i64}} %r : tensor<8x64xf32>
  }
  func.func private @k(%k: tensor<2x64xf32>, %y: tensor<8x64xf32>, %x: tensor<8x64xf32>) -> tensor<8x64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "64"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %i = "fuse.index"() {expr = "d0 - 3"} : () -> i64
    %none = arith.constant 0 : i64
    %two = arith.constant 2 : i64
    %ge = arith.cmpi sge, %i, %none : i64
    %lt = arith.cmpi slt, %i, %two : i64
    %c = arith.andi %ge, %lt : i1
    %not = arith.xori %c, %true : i1
    %m = "fuse.load"(%y, %true, %zero) {at = ["d0", "d1"]} : (tensor<8x64xf32>, i1, f32) -> f32
    %p = arith.cmpf ogt, %m, %zero : f32
    %old = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<8x64xf32>, i1, f32) -> f32
    %v = arith.select %p, %m, %old : f32
    %r = "fuse.store"(%x, %v, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<8x64xf32>, f32, i1) -> tensor<8x64xf32>
    return %r : tensor<8x64xf32>
  }
}

// -----

// Bad input: there is nothing to schedule.
// expected-error @+1 {{the module has no function @main}}
module attributes {fuse.device = "cpu"} {
}
