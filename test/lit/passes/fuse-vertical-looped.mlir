// What stands around a kernel that goes through the columns of a product.
// RUN: fuse-opt %s --pass-pipeline="builtin.module(fuse-vertical,materialize-fusion)" --split-input-file | FileCheck %s

// What follows each of its results is computed in it.
// CHECK-LABEL: func.func @main
// CHECK-COUNT-1: call @fused_flash_gate_0
// CHECK-NOT: call @
// CHECK: return
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%q: tensor<2x512x64xbf16>, %k: tensor<2x512x64xbf16>, %v: tensor<2x512x64xbf16>) -> tensor<2x512x64xbf16> {
    %0 = "fuse.empty"() {syms = []} : () -> tensor<2x512x64xbf16>
    %1 = call @flash(%q, %k, %v, %0) : (tensor<2x512x64xbf16>, tensor<2x512x64xbf16>, tensor<2x512x64xbf16>, tensor<2x512x64xbf16>) -> tensor<2x512x64xbf16>
    %2 = "fuse.empty"() {syms = []} : () -> tensor<2x512x64xbf16>
    %3 = call @gate(%1, %2) : (tensor<2x512x64xbf16>, tensor<2x512x64xbf16>) -> tensor<2x512x64xbf16>
    return %3 : tensor<2x512x64xbf16>
  }
  func.func private @flash(%q: tensor<2x512x64xbf16>, %k: tensor<2x512x64xbf16>, %v: tensor<2x512x64xbf16>, %o: tensor<2x512x64xbf16>) -> tensor<2x512x64xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "2", d1 = "512", d2 = "512", d3 = "64", d4 = "64"}, fuse.ties = array<i64: 3>, fuse.looped} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %x = "fuse.load"(%q, %true, %zero) {at = ["d0", "d1", "d3"]} : (tensor<2x512x64xbf16>, i1, bf16) -> bf16
    %y = "fuse.load"(%k, %true, %zero) {at = ["d0", "d2", "d3"]} : (tensor<2x512x64xbf16>, i1, bf16) -> bf16
    %s = "fuse.dot"(%x, %y) {over = ["d3"]} : (bf16, bf16) -> f32
    %w = "fuse.load"(%v, %true, %zero) {at = ["d0", "d2", "d4"]} : (tensor<2x512x64xbf16>, i1, bf16) -> bf16
    %t:3 = "fuse.online_dot"(%s, %w) {over = ["d2"]} : (f32, bf16) -> (f32, f32, f32)
    %n = arith.divf %t#0, %t#2 : f32
    %h = arith.truncf %n : f32 to bf16
    %r = "fuse.store"(%o, %h, %true) {at = ["d0", "d1", "d4"], mode = "set"} : (tensor<2x512x64xbf16>, bf16, i1) -> tensor<2x512x64xbf16>
    return %r : tensor<2x512x64xbf16>
  }
  func.func private @gate(%a: tensor<2x512x64xbf16>, %o: tensor<2x512x64xbf16>) -> tensor<2x512x64xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "2", d1 = "512", d2 = "64"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %y = "fuse.load"(%a, %true, %zero) {at = ["d0", "d1", "d2"]} : (tensor<2x512x64xbf16>, i1, bf16) -> bf16
    %x = arith.extf %y : bf16 to f32
    %p = math.tanh %x : f32
    %h = arith.truncf %p : f32 to bf16
    %r = "fuse.store"(%o, %h, %true) {at = ["d0", "d1", "d2"], mode = "set"} : (tensor<2x512x64xbf16>, bf16, i1) -> tensor<2x512x64xbf16>
    return %r : tensor<2x512x64xbf16>
  }
}

// -----

// Must not fire: another reduction, of its results, needs columns that no loop goes through.
// CHECK-LABEL: func.func @main
// CHECK: call @flash
// CHECK: call @norm
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%q: tensor<2x512x64xbf16>, %k: tensor<2x512x64xbf16>, %v: tensor<2x512x64xbf16>) -> tensor<2x512x64xbf16> {
    %0 = "fuse.empty"() {syms = []} : () -> tensor<2x512x64xbf16>
    %1 = call @flash(%q, %k, %v, %0) : (tensor<2x512x64xbf16>, tensor<2x512x64xbf16>, tensor<2x512x64xbf16>, tensor<2x512x64xbf16>) -> tensor<2x512x64xbf16>
    %2 = "fuse.empty"() {syms = []} : () -> tensor<2x512x64xbf16>
    %3 = call @norm(%1, %2) : (tensor<2x512x64xbf16>, tensor<2x512x64xbf16>) -> tensor<2x512x64xbf16>
    return %3 : tensor<2x512x64xbf16>
  }
  func.func private @flash(%q: tensor<2x512x64xbf16>, %k: tensor<2x512x64xbf16>, %v: tensor<2x512x64xbf16>, %o: tensor<2x512x64xbf16>) -> tensor<2x512x64xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "2", d1 = "512", d2 = "512", d3 = "64", d4 = "64"}, fuse.ties = array<i64: 3>, fuse.looped} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %x = "fuse.load"(%q, %true, %zero) {at = ["d0", "d1", "d3"]} : (tensor<2x512x64xbf16>, i1, bf16) -> bf16
    %y = "fuse.load"(%k, %true, %zero) {at = ["d0", "d2", "d3"]} : (tensor<2x512x64xbf16>, i1, bf16) -> bf16
    %s = "fuse.dot"(%x, %y) {over = ["d3"]} : (bf16, bf16) -> f32
    %w = "fuse.load"(%v, %true, %zero) {at = ["d0", "d2", "d4"]} : (tensor<2x512x64xbf16>, i1, bf16) -> bf16
    %t:3 = "fuse.online_dot"(%s, %w) {over = ["d2"]} : (f32, bf16) -> (f32, f32, f32)
    %n = arith.divf %t#0, %t#2 : f32
    %h = arith.truncf %n : f32 to bf16
    %r = "fuse.store"(%o, %h, %true) {at = ["d0", "d1", "d4"], mode = "set"} : (tensor<2x512x64xbf16>, bf16, i1) -> tensor<2x512x64xbf16>
    return %r : tensor<2x512x64xbf16>
  }
  func.func private @norm(%a: tensor<2x512x64xbf16>, %o: tensor<2x512x64xbf16>) -> tensor<2x512x64xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "2", d1 = "512", d2 = "64"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %y = "fuse.load"(%a, %true, %zero) {at = ["d0", "d1", "d2"]} : (tensor<2x512x64xbf16>, i1, bf16) -> bf16
    %x = arith.extf %y : bf16 to f32
    %l = "fuse.reduce"(%x) {kind = "sum", over = ["d2"]} : (f32) -> f32
    %p = arith.subf %x, %l : f32
    %h = arith.truncf %p : f32 to bf16
    %r = "fuse.store"(%o, %h, %true) {at = ["d0", "d1", "d2"], mode = "set"} : (tensor<2x512x64xbf16>, bf16, i1) -> tensor<2x512x64xbf16>
    return %r : tensor<2x512x64xbf16>
  }
}
