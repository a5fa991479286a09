// RUN: fuse-opt %s --pass-pipeline="builtin.module(fold-views,fuse-vertical)" --split-input-file | FileCheck %s
// RUN: fuse-opt %s --pass-pipeline="builtin.module(fold-views,fuse-vertical)" --split-input-file --remarks=text -o %t 2>&1 | FileCheck %s --check-prefix=REMARK

// REMARK: missed: fuse-vertical: order: neg_1 and square_plus_4 stay apart: {{.*}} [neg_1 + square_plus_4] at {{.*}}order.mlir:15, {{.*}}order.mlir:16
// REMARK: passed: fuse-vertical: fused

// Must not fire: The first reads the argument transposed, the second overwrites it: a write after a read with another index.
// CHECK-LABEL: func.func @main
// CHECK-NOT: fuse.group
// CHECK: return
module attributes {fuse.device = "cpu"} {
  func.func @main(%a0: tensor<6x6xf32>) -> (tensor<6x6xf32>) {
    %t0 = "fuse.view"(%a0) {map = ["v1", "v0"], syms = []} : (tensor<6x6xf32>) -> tensor<6x6xf32, #fuse.layout<"6,6", "1,6", "0", "">>
    %o3 = "fuse.empty"() {syms = []} : () -> tensor<6x6xf32>
    %t2 = call @neg_1(%t0, %o3) : (tensor<6x6xf32, #fuse.layout<"6,6", "1,6", "0", "">>, tensor<6x6xf32>) -> tensor<6x6xf32>
    %t5 = call @square_plus_4(%t2, %a0) : (tensor<6x6xf32>, tensor<6x6xf32>) -> tensor<6x6xf32>
    "func.return"(%t5) {fuse.mutates = {"0" = 0 : i64}} : (tensor<6x6xf32>) -> ()
  }
  func.func private @neg_1(%x0: tensor<6x6xf32, #fuse.layout<"6,6", "1,6", "0", "">>, %dest: tensor<6x6xf32>) -> tensor<6x6xf32> attributes {fuse.kernel, fuse.dims = {d0 = "6", d1 = "6"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v0 = "fuse.load"(%x0, %true, %zero) {at = ["d0", "d1"]} : (tensor<6x6xf32, #fuse.layout<"6,6", "1,6", "0", "">>, i1, f32) -> f32
    %r = arith.negf %v0 : f32
    %out = "fuse.store"(%dest, %r, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<6x6xf32>, f32, i1) -> tensor<6x6xf32>
    return %out : tensor<6x6xf32>
  }
  func.func private @square_plus_4(%x0: tensor<6x6xf32>, %dest: tensor<6x6xf32>) -> tensor<6x6xf32> attributes {fuse.kernel, fuse.dims = {d0 = "6", d1 = "6"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v0 = "fuse.load"(%x0, %true, %zero) {at = ["d0", "d1"]} : (tensor<6x6xf32>, i1, f32) -> f32
    %o = arith.constant 1.0 : f32
    %s = arith.mulf %v0, %v0 : f32
    %r = arith.addf %s, %o : f32
    %out = "fuse.store"(%dest, %r, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<6x6xf32>, f32, i1) -> tensor<6x6xf32>
    return %out : tensor<6x6xf32>
  }
}

// -----

// It is read where it is overwritten.
// CHECK-LABEL: func.func @main
// CHECK-COUNT-2: fuse.group = 0
// CHECK: return
module attributes {fuse.device = "cpu"} {
  func.func @main(%a0: tensor<6x6xf32>) -> (tensor<6x6xf32>) {
    %o2 = "fuse.empty"() {syms = []} : () -> tensor<6x6xf32>
    %t1 = call @neg_0(%a0, %o2) : (tensor<6x6xf32>, tensor<6x6xf32>) -> tensor<6x6xf32>
    %t4 = call @square_plus_3(%t1, %a0) : (tensor<6x6xf32>, tensor<6x6xf32>) -> tensor<6x6xf32>
    "func.return"(%t4) {fuse.mutates = {"0" = 0 : i64}} : (tensor<6x6xf32>) -> ()
  }
  func.func private @neg_0(%x0: tensor<6x6xf32>, %dest: tensor<6x6xf32>) -> tensor<6x6xf32> attributes {fuse.kernel, fuse.dims = {d0 = "6", d1 = "6"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v0 = "fuse.load"(%x0, %true, %zero) {at = ["d0", "d1"]} : (tensor<6x6xf32>, i1, f32) -> f32
    %r = arith.negf %v0 : f32
    %out = "fuse.store"(%dest, %r, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<6x6xf32>, f32, i1) -> tensor<6x6xf32>
    return %out : tensor<6x6xf32>
  }
  func.func private @square_plus_3(%x0: tensor<6x6xf32>, %dest: tensor<6x6xf32>) -> tensor<6x6xf32> attributes {fuse.kernel, fuse.dims = {d0 = "6", d1 = "6"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v0 = "fuse.load"(%x0, %true, %zero) {at = ["d0", "d1"]} : (tensor<6x6xf32>, i1, f32) -> f32
    %o = arith.constant 1.0 : f32
    %s = arith.mulf %v0, %v0 : f32
    %r = arith.addf %s, %o : f32
    %out = "fuse.store"(%dest, %r, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<6x6xf32>, f32, i1) -> tensor<6x6xf32>
    return %out : tensor<6x6xf32>
  }
}

// -----

// Must not fire: The first reads the argument at loaded indices, the second overwrites it at others. Both call theirs i0.
// CHECK-LABEL: func.func @main
// CHECK-NOT: fuse.group
// CHECK: return
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<6x4xf32>, %j: tensor<3xi64>, %i: tensor<3xi64>) -> (tensor<3x4xf32>, tensor<6x4xf32>) {
    %o = "fuse.empty"() {syms = []} : () -> tensor<3x4xf32>
    %y = call @gather(%x, %j, %o) : (tensor<6x4xf32>, tensor<3xi64>, tensor<3x4xf32>) -> tensor<3x4xf32>
    %z = call @scatter(%y, %i, %x) : (tensor<3x4xf32>, tensor<3xi64>, tensor<6x4xf32>) -> tensor<6x4xf32>
    "func.return"(%y, %z) {fuse.mutates = {"1" = 0 : i64}} : (tensor<3x4xf32>, tensor<6x4xf32>) -> ()
  }
  func.func private @gather(%x: tensor<6x4xf32>, %j: tensor<3xi64>, %o: tensor<3x4xf32>) -> tensor<3x4xf32> attributes {fuse.kernel, fuse.dims = {d0 = "3", d1 = "4"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %none = arith.constant 0 : i64
    %at = "fuse.load"(%j, %true, %none) {at = ["d0"]} : (tensor<3xi64>, i1, i64) -> i64
    %v = "fuse.load"(%x, %true, %zero, %at) {at = ["i0", "d1"]} : (tensor<6x4xf32>, i1, f32, i64) -> f32
    %out = "fuse.store"(%o, %v, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<3x4xf32>, f32, i1) -> tensor<3x4xf32>
    return %out : tensor<3x4xf32>
  }
  func.func private @scatter(%v: tensor<3x4xf32>, %i: tensor<3xi64>, %x: tensor<6x4xf32>) -> tensor<6x4xf32> attributes {fuse.kernel, fuse.dims = {d0 = "3", d1 = "4"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %none = arith.constant 0 : i64
    %at = "fuse.load"(%i, %true, %none) {at = ["d0"]} : (tensor<3xi64>, i1, i64) -> i64
    %n = "fuse.load"(%v, %true, %zero) {at = ["d0", "d1"]} : (tensor<3x4xf32>, i1, f32) -> f32
    %out = "fuse.store"(%x, %n, %true, %at) {at = ["i0", "d1"], mode = "set"} : (tensor<6x4xf32>, f32, i1, i64) -> tensor<6x4xf32>
    return %out : tensor<6x4xf32>
  }
}

// -----

// Must not fire: The same indices, of which two may be equal: one point would read what another has stored.
// CHECK-LABEL: func.func @main
// CHECK-NOT: fuse.group
// CHECK: return
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<6x4xf32>, %i: tensor<3xi64>) -> (tensor<3x4xf32>, tensor<6x4xf32>) {
    %o = "fuse.empty"() {syms = []} : () -> tensor<3x4xf32>
    %y = call @gather(%x, %i, %o) : (tensor<6x4xf32>, tensor<3xi64>, tensor<3x4xf32>) -> tensor<3x4xf32>
    %z = call @scatter(%y, %i, %x) : (tensor<3x4xf32>, tensor<3xi64>, tensor<6x4xf32>) -> tensor<6x4xf32>
    "func.return"(%y, %z) {fuse.mutates = {"1" = 0 : i64}} : (tensor<3x4xf32>, tensor<6x4xf32>) -> ()
  }
  func.func private @gather(%x: tensor<6x4xf32>, %j: tensor<3xi64>, %o: tensor<3x4xf32>) -> tensor<3x4xf32> attributes {fuse.kernel, fuse.dims = {d0 = "3", d1 = "4"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %none = arith.constant 0 : i64
    %at = "fuse.load"(%j, %true, %none) {at = ["d0"]} : (tensor<3xi64>, i1, i64) -> i64
    %v = "fuse.load"(%x, %true, %zero, %at) {at = ["i0", "d1"]} : (tensor<6x4xf32>, i1, f32, i64) -> f32
    %out = "fuse.store"(%o, %v, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<3x4xf32>, f32, i1) -> tensor<3x4xf32>
    return %out : tensor<3x4xf32>
  }
  func.func private @scatter(%v: tensor<3x4xf32>, %i: tensor<3xi64>, %x: tensor<6x4xf32>) -> tensor<6x4xf32> attributes {fuse.kernel, fuse.dims = {d0 = "3", d1 = "4"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %none = arith.constant 0 : i64
    %at = "fuse.load"(%i, %true, %none) {at = ["d0"]} : (tensor<3xi64>, i1, i64) -> i64
    %n = "fuse.load"(%v, %true, %zero) {at = ["d0", "d1"]} : (tensor<3x4xf32>, i1, f32) -> f32
    %out = "fuse.store"(%x, %n, %true, %at) {at = ["i0", "d1"], mode = "set"} : (tensor<6x4xf32>, f32, i1, i64) -> tensor<6x4xf32>
    return %out : tensor<6x4xf32>
  }
}
