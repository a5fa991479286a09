// RUN: fuse-opt %s --pass-pipeline="builtin.module(materialize-fusion)" --split-input-file --verify-each=on | FileCheck %s

// The call of the one kernel says of each product what the calls said, and once what two of them said.
// CHECK-LABEL: func.func @main
// CHECK: call @fused_exp_neg_exp_0({{.*}} {fuse.choice = [{call_us = 9.250000e+00 : f32, kernel_us = 6.500000e+00 : f32, nodes = ["mm"], revocable, rule = "kernel"}, {nodes = ["mm_1"], rule = "chain"}]} :
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<64xf32>) -> tensor<64xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %a = call @exp(%x, %o) {fuse.choice = [{call_us = 9.25 : f32, kernel_us = 6.5 : f32, nodes = ["mm"], revocable, rule = "kernel"}], fuse.group = 0 : i64} : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    %p = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %b = call @neg(%a, %p) {fuse.choice = [{nodes = ["mm_1"], rule = "chain"}], fuse.group = 0 : i64} : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    %q = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %c = call @exp(%b, %q) {fuse.choice = [{call_us = 9.25 : f32, kernel_us = 6.5 : f32, nodes = ["mm"], revocable, rule = "kernel"}], fuse.group = 0 : i64} : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    return %c : tensor<64xf32>
  }
  func.func private @exp(%x0: tensor<64xf32>, %o: tensor<64xf32>) -> tensor<64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v0 = "fuse.load"(%x0, %true, %zero) {at = ["d0"]} : (tensor<64xf32>, i1, f32) -> f32
    %r = math.exp %v0 : f32
    %out = "fuse.store"(%o, %r, %true) {at = ["d0"], mode = "set"} : (tensor<64xf32>, f32, i1) -> tensor<64xf32>
    return %out : tensor<64xf32>
  }
  func.func private @neg(%x0: tensor<64xf32>, %o: tensor<64xf32>) -> tensor<64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v0 = "fuse.load"(%x0, %true, %zero) {at = ["d0"]} : (tensor<64xf32>, i1, f32) -> f32
    %r = arith.negf %v0 : f32
    %out = "fuse.store"(%o, %r, %true) {at = ["d0"], mode = "set"} : (tensor<64xf32>, f32, i1) -> tensor<64xf32>
    return %out : tensor<64xf32>
  }
}

// -----

// Must not fire: none of them has a product.
// CHECK-LABEL: func.func @main
// CHECK-NOT: fuse.choice
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<64xf32>) -> tensor<64xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %a = call @exp(%x, %o) {fuse.group = 0 : i64} : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    %p = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %b = call @neg(%a, %p) {fuse.group = 0 : i64} : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    %q = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %c = call @exp(%b, %q) {fuse.group = 0 : i64} : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    return %c : tensor<64xf32>
  }
  func.func private @exp(%x0: tensor<64xf32>, %o: tensor<64xf32>) -> tensor<64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v0 = "fuse.load"(%x0, %true, %zero) {at = ["d0"]} : (tensor<64xf32>, i1, f32) -> f32
    %r = math.exp %v0 : f32
    %out = "fuse.store"(%o, %r, %true) {at = ["d0"], mode = "set"} : (tensor<64xf32>, f32, i1) -> tensor<64xf32>
    return %out : tensor<64xf32>
  }
  func.func private @neg(%x0: tensor<64xf32>, %o: tensor<64xf32>) -> tensor<64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v0 = "fuse.load"(%x0, %true, %zero) {at = ["d0"]} : (tensor<64xf32>, i1, f32) -> f32
    %r = arith.negf %v0 : f32
    %out = "fuse.store"(%o, %r, %true) {at = ["d0"], mode = "set"} : (tensor<64xf32>, f32, i1) -> tensor<64xf32>
    return %out : tensor<64xf32>
  }
}
