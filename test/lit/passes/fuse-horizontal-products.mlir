// Two products of one matrix with others.
// RUN: fuse-opt %s --pass-pipeline="builtin.module(fuse-horizontal{hardware=h200})" --split-input-file | FileCheck %s
// RUN: fuse-opt %s --pass-pipeline="builtin.module(fuse-horizontal{hardware=h200})" --split-input-file --remarks=text 2>&1 >/dev/null | FileCheck %s --check-prefix=SAID

// Each would leave half of the multiprocessors idle.
// SAID: passed: fuse-horizontal: fused
// CHECK: call @first({{.*}}) {fuse.group = 0 : i64}
// CHECK: call @second({{.*}}) {fuse.group = 0 : i64}
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<1024x512xbf16>, %v: tensor<512x1024xbf16>, %w: tensor<512x1024xbf16>) -> (tensor<1024x1024xf32>, tensor<1024x1024xf32>) {
    %o = "fuse.empty"() {syms = []} : () -> tensor<1024x1024xf32>
    %a = call @first(%x, %v, %o) : (tensor<1024x512xbf16>, tensor<512x1024xbf16>, tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
    %p = "fuse.empty"() {syms = []} : () -> tensor<1024x1024xf32>
    %b = call @second(%x, %w, %p) : (tensor<1024x512xbf16>, tensor<512x1024xbf16>, tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
    return %a, %b : tensor<1024x1024xf32>, tensor<1024x1024xf32>
  }
  func.func private @first(%x: tensor<1024x512xbf16>, %w: tensor<512x1024xbf16>, %o: tensor<1024x1024xf32>) -> tensor<1024x1024xf32> attributes {fuse.kernel, fuse.dims = {d0 = "1024", d1 = "1024", d2 = "512"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d2"]} : (tensor<1024x512xbf16>, i1, bf16) -> bf16
    %b = "fuse.load"(%w, %true, %zero) {at = ["d2", "d1"]} : (tensor<512x1024xbf16>, i1, bf16) -> bf16
    %c = "fuse.dot"(%a, %b) {over = ["d2"]} : (bf16, bf16) -> f32
    %out = "fuse.store"(%o, %c, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<1024x1024xf32>, f32, i1) -> tensor<1024x1024xf32>
    return %out : tensor<1024x1024xf32>
  }
  func.func private @second(%x: tensor<1024x512xbf16>, %w: tensor<512x1024xbf16>, %o: tensor<1024x1024xf32>) -> tensor<1024x1024xf32> attributes {fuse.kernel, fuse.dims = {d0 = "1024", d1 = "1024", d2 = "512"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d2"]} : (tensor<1024x512xbf16>, i1, bf16) -> bf16
    %b = "fuse.load"(%w, %true, %zero) {at = ["d2", "d1"]} : (tensor<512x1024xbf16>, i1, bf16) -> bf16
    %c = "fuse.dot"(%a, %b) {over = ["d2"]} : (bf16, bf16) -> f32
    %out = "fuse.store"(%o, %c, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<1024x1024xf32>, f32, i1) -> tensor<1024x1024xf32>
    return %out : tensor<1024x1024xf32>
  }
}

// -----

// Must not fire: each has a block for every multiprocessor, and a kernel of both would have blocks half as large.
// SAID: missed: fuse-horizontal: products, blocks=512, multiprocessors=132: first and second stay apart: each product fills the GPU
// CHECK: call @first
// CHECK-NOT: fuse.group
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<2048x512xbf16>, %v: tensor<512x4096xbf16>, %w: tensor<512x4096xbf16>) -> (tensor<2048x4096xf32>, tensor<2048x4096xf32>) {
    %o = "fuse.empty"() {syms = []} : () -> tensor<2048x4096xf32>
    %a = call @first(%x, %v, %o) : (tensor<2048x512xbf16>, tensor<512x4096xbf16>, tensor<2048x4096xf32>) -> tensor<2048x4096xf32>
    %p = "fuse.empty"() {syms = []} : () -> tensor<2048x4096xf32>
    %b = call @second(%x, %w, %p) : (tensor<2048x512xbf16>, tensor<512x4096xbf16>, tensor<2048x4096xf32>) -> tensor<2048x4096xf32>
    return %a, %b : tensor<2048x4096xf32>, tensor<2048x4096xf32>
  }
  func.func private @first(%x: tensor<2048x512xbf16>, %w: tensor<512x4096xbf16>, %o: tensor<2048x4096xf32>) -> tensor<2048x4096xf32> attributes {fuse.kernel, fuse.dims = {d0 = "2048", d1 = "4096", d2 = "512"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d2"]} : (tensor<2048x512xbf16>, i1, bf16) -> bf16
    %b = "fuse.load"(%w, %true, %zero) {at = ["d2", "d1"]} : (tensor<512x4096xbf16>, i1, bf16) -> bf16
    %c = "fuse.dot"(%a, %b) {over = ["d2"]} : (bf16, bf16) -> f32
    %out = "fuse.store"(%o, %c, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<2048x4096xf32>, f32, i1) -> tensor<2048x4096xf32>
    return %out : tensor<2048x4096xf32>
  }
  func.func private @second(%x: tensor<2048x512xbf16>, %w: tensor<512x4096xbf16>, %o: tensor<2048x4096xf32>) -> tensor<2048x4096xf32> attributes {fuse.kernel, fuse.dims = {d0 = "2048", d1 = "4096", d2 = "512"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d2"]} : (tensor<2048x512xbf16>, i1, bf16) -> bf16
    %b = "fuse.load"(%w, %true, %zero) {at = ["d2", "d1"]} : (tensor<512x4096xbf16>, i1, bf16) -> bf16
    %c = "fuse.dot"(%a, %b) {over = ["d2"]} : (bf16, bf16) -> f32
    %out = "fuse.store"(%o, %c, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<2048x4096xf32>, f32, i1) -> tensor<2048x4096xf32>
    return %out : tensor<2048x4096xf32>
  }
}
