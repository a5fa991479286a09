// RUN: fuse-opt %s --pass-pipeline="builtin.module(fold-views,fuse-vertical)" --split-input-file | FileCheck %s
// RUN: fuse-opt %s --pass-pipeline="builtin.module(fold-views,fuse-vertical)" --split-input-file --remarks=text -o %t 2>&1 | FileCheck %s --check-prefix=REMARK

// REMARK: missed: fuse-vertical: atomic: scatter and neg stay apart
// REMARK: passed: fuse-vertical: fused

// Must not fire: Every program adds to the tensor; the reader needs all of the sums.
// CHECK-LABEL: func.func @main
// CHECK: call @exp({{.*}}) {fuse.group = 0 : i64}
// CHECK: call @scatter({{.*}}) {fuse.group = 0 : i64}
// CHECK: call @neg(%{{.*}}, %{{.*}}) :
// CHECK: return
module attributes {fuse.device = "cpu"} {
  func.func @main(%base: tensor<4xf32>, %v: tensor<8xf32>, %i: tensor<8xi64>) -> tensor<4xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<8xf32>
    %a = call @exp(%v, %o) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    %p = "fuse.empty"() {syms = []} : () -> tensor<4xf32>
    %b = call @copy(%base, %p) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %s = call @scatter(%a, %i, %b) : (tensor<8xf32>, tensor<8xi64>, tensor<4xf32>) -> tensor<4xf32>
    %q = "fuse.empty"() {syms = []} : () -> tensor<4xf32>
    %r = call @neg(%s, %q) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    return %r : tensor<4xf32>
  }
  func.func private @exp(%x: tensor<8xf32>, %o: tensor<8xf32>) -> tensor<8xf32> attributes {fuse.kernel, fuse.dims = {d0 = "8"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<8xf32>, i1, f32) -> f32
    %r = math.exp %v : f32
    %out = "fuse.store"(%o, %r, %true) {at = ["d0"], mode = "set"} : (tensor<8xf32>, f32, i1) -> tensor<8xf32>
    return %out : tensor<8xf32>
  }
  func.func private @copy(%x: tensor<4xf32>, %o: tensor<4xf32>) -> tensor<4xf32> attributes {fuse.kernel, fuse.dims = {d0 = "4"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<4xf32>, i1, f32) -> f32
    %r = arith.negf %v : f32
    %out = "fuse.store"(%o, %r, %true) {at = ["d0"], mode = "set"} : (tensor<4xf32>, f32, i1) -> tensor<4xf32>
    return %out : tensor<4xf32>
  }
  func.func private @scatter(%x: tensor<8xf32>, %i: tensor<8xi64>, %o: tensor<4xf32>) -> tensor<4xf32> attributes {fuse.kernel, fuse.dims = {d0 = "8"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %none = arith.constant 0 : i64
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<8xf32>, i1, f32) -> f32
    %at = "fuse.load"(%i, %true, %none) {at = ["d0"]} : (tensor<8xi64>, i1, i64) -> i64
    %out = "fuse.store"(%o, %v, %true, %at) {at = ["i0"], mode = "add"} : (tensor<4xf32>, f32, i1, i64) -> tensor<4xf32>
    return %out : tensor<4xf32>
  }
  func.func private @neg(%x: tensor<4xf32>, %o: tensor<4xf32>) -> tensor<4xf32> attributes {fuse.kernel, fuse.dims = {d0 = "4"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<4xf32>, i1, f32) -> f32
    %r = arith.negf %v : f32
    %out = "fuse.store"(%o, %r, %true) {at = ["d0"], mode = "set"} : (tensor<4xf32>, f32, i1) -> tensor<4xf32>
    return %out : tensor<4xf32>
  }
}

// -----

// What is added is computed where it is added.
// CHECK-LABEL: func.func @main
// CHECK-COUNT-2: fuse.group = 0
// CHECK: return
module attributes {fuse.device = "cpu"} {
  func.func @main(%b: tensor<4xf32>, %v: tensor<8xf32>, %i: tensor<8xi64>) -> tensor<4xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<8xf32>
    %a = call @exp(%v, %o) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    %s = call @scatter(%a, %i, %b) : (tensor<8xf32>, tensor<8xi64>, tensor<4xf32>) -> tensor<4xf32>
    "func.return"(%s) {fuse.mutates = {"0" = 0 : i64}} : (tensor<4xf32>) -> ()
  }
  func.func private @exp(%x: tensor<8xf32>, %o: tensor<8xf32>) -> tensor<8xf32> attributes {fuse.kernel, fuse.dims = {d0 = "8"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<8xf32>, i1, f32) -> f32
    %r = math.exp %v : f32
    %out = "fuse.store"(%o, %r, %true) {at = ["d0"], mode = "set"} : (tensor<8xf32>, f32, i1) -> tensor<8xf32>
    return %out : tensor<8xf32>
  }
  func.func private @scatter(%x: tensor<8xf32>, %i: tensor<8xi64>, %o: tensor<4xf32>) -> tensor<4xf32> attributes {fuse.kernel, fuse.dims = {d0 = "8"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %none = arith.constant 0 : i64
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<8xf32>, i1, f32) -> f32
    %at = "fuse.load"(%i, %true, %none) {at = ["d0"]} : (tensor<8xi64>, i1, i64) -> i64
    %out = "fuse.store"(%o, %v, %true, %at) {at = ["i0"], mode = "add"} : (tensor<4xf32>, f32, i1, i64) -> tensor<4xf32>
    return %out : tensor<4xf32>
  }
}
