// RUN: fuse-opt %s --pass-pipeline="builtin.module(fold-views,fuse-vertical{max-ops=3})" --split-input-file | FileCheck %s
// RUN: fuse-opt %s --pass-pipeline="builtin.module(fold-views,fuse-vertical{max-ops=3})" --split-input-file --remarks=text -o %t 2>&1 | FileCheck %s --check-prefix=REMARK

// REMARK: missed: fuse-vertical: size, accesses=2, max_accesses=1024, tensors=2, max_tensors=256, stores=1, max_stores=256, scalar_ops=4, max_ops=3: exp_0 and neg_3 stay apart
// REMARK: passed: fuse-vertical: fused
// REMARK: missed: fuse-vertical: size, accesses=6,{{.*}} first and second stay apart

// Must not fire: Five scalar operations, with at most three allowed.
// CHECK-LABEL: func.func @main
// CHECK-NOT: fuse.group
// CHECK: return
module attributes {fuse.device = "cpu"} {
  func.func @main(%a0: tensor<64xf32>) -> (tensor<64xf32>) {
    %o2 = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %t1 = call @exp_0(%a0, %o2) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    %o5 = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %t4 = call @neg_3(%t1, %o5) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    return %t4 : tensor<64xf32>
  }
  func.func private @exp_0(%x0: tensor<64xf32>, %dest: tensor<64xf32>) -> tensor<64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v0 = "fuse.load"(%x0, %true, %zero) {at = ["d0"]} : (tensor<64xf32>, i1, f32) -> f32
    %h = arith.constant 0.125 : f32
    %s = arith.mulf %v0, %h : f32
    %q = math.sin %s : f32
    %r = math.exp %q : f32
    %out = "fuse.store"(%dest, %r, %true) {at = ["d0"], mode = "set"} : (tensor<64xf32>, f32, i1) -> tensor<64xf32>
    return %out : tensor<64xf32>
  }
  func.func private @neg_3(%x0: tensor<64xf32>, %dest: tensor<64xf32>) -> tensor<64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v0 = "fuse.load"(%x0, %true, %zero) {at = ["d0"]} : (tensor<64xf32>, i1, f32) -> f32
    %r = arith.negf %v0 : f32
    %out = "fuse.store"(%dest, %r, %true) {at = ["d0"], mode = "set"} : (tensor<64xf32>, f32, i1) -> tensor<64xf32>
    return %out : tensor<64xf32>
  }
}

// -----

// Two operations fit.
// CHECK-LABEL: func.func @main
// CHECK-COUNT-2: fuse.group = 0
// CHECK: return
module attributes {fuse.device = "cpu"} {
  func.func @main(%a0: tensor<64xf32>) -> (tensor<64xf32>) {
    %o2 = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %t1 = call @neg_0(%a0, %o2) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    %o5 = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %t4 = call @neg_3(%t1, %o5) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    return %t4 : tensor<64xf32>
  }
  func.func private @neg_0(%x0: tensor<64xf32>, %dest: tensor<64xf32>) -> tensor<64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v0 = "fuse.load"(%x0, %true, %zero) {at = ["d0"]} : (tensor<64xf32>, i1, f32) -> f32
    %r = arith.negf %v0 : f32
    %out = "fuse.store"(%dest, %r, %true) {at = ["d0"], mode = "set"} : (tensor<64xf32>, f32, i1) -> tensor<64xf32>
    return %out : tensor<64xf32>
  }
  func.func private @neg_3(%x0: tensor<64xf32>, %dest: tensor<64xf32>) -> tensor<64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v0 = "fuse.load"(%x0, %true, %zero) {at = ["d0"]} : (tensor<64xf32>, i1, f32) -> f32
    %r = arith.negf %v0 : f32
    %out = "fuse.store"(%dest, %r, %true) {at = ["d0"], mode = "set"} : (tensor<64xf32>, f32, i1) -> tensor<64xf32>
    return %out : tensor<64xf32>
  }
}

// -----

// Must not fire: Four scalar operations. Each of the two kernels reads the table at its own loaded index: six accesses.
// CHECK-LABEL: func.func @main
// CHECK-NOT: fuse.group
// CHECK: return
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<64xf32>, %i: tensor<8xi64>, %j: tensor<8xi64>) -> (tensor<8xf32>, tensor<8xf32>) {
    %o = "fuse.empty"() {syms = []} : () -> tensor<8xf32>
    %y = call @first(%x, %i, %o) : (tensor<64xf32>, tensor<8xi64>, tensor<8xf32>) -> tensor<8xf32>
    %p = "fuse.empty"() {syms = []} : () -> tensor<8xf32>
    %z = call @second(%x, %j, %y, %p) : (tensor<64xf32>, tensor<8xi64>, tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    return %y, %z : tensor<8xf32>, tensor<8xf32>
  }
  func.func private @first(%x: tensor<64xf32>, %i: tensor<8xi64>, %o: tensor<8xf32>) -> tensor<8xf32> attributes {fuse.kernel, fuse.dims = {d0 = "8"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %none = arith.constant 0 : i64
    %at = "fuse.load"(%i, %true, %none) {at = ["d0"]} : (tensor<8xi64>, i1, i64) -> i64
    %v = "fuse.load"(%x, %true, %zero, %at) {at = ["i0"]} : (tensor<64xf32>, i1, f32, i64) -> f32
    %a = math.sin %v : f32
    %b = math.cos %a : f32
    %c = math.exp %b : f32
    %r = "fuse.store"(%o, %c, %true) {at = ["d0"], mode = "set"} : (tensor<8xf32>, f32, i1) -> tensor<8xf32>
    return %r : tensor<8xf32>
  }
  func.func private @second(%x: tensor<64xf32>, %j: tensor<8xi64>, %y: tensor<8xf32>, %o: tensor<8xf32>) -> tensor<8xf32> attributes {fuse.kernel, fuse.dims = {d0 = "8"}, fuse.ties = array<i64: 3>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %none = arith.constant 0 : i64
    %at = "fuse.load"(%j, %true, %none) {at = ["d0"]} : (tensor<8xi64>, i1, i64) -> i64
    %v = "fuse.load"(%x, %true, %zero, %at) {at = ["i0"]} : (tensor<64xf32>, i1, f32, i64) -> f32
    %y0 = "fuse.load"(%y, %true, %zero) {at = ["d0"]} : (tensor<8xf32>, i1, f32) -> f32
    %a = arith.addf %v, %y0 : f32
    %r = "fuse.store"(%o, %a, %true) {at = ["d0"], mode = "set"} : (tensor<8xf32>, f32, i1) -> tensor<8xf32>
    return %r : tensor<8xf32>
  }
}
