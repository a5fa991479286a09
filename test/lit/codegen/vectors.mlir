// What a thread computes of neighbours along memory is read and written as vectors, which are taken apart along an
// axis of their own.
// RUN: fuse-opt %s --pass-pipeline="builtin.module(choose-tiling,apply-tiling)" --split-input-file | FileCheck %s

// Two points of a thread.  In front of each vector one element is read, with the vector that it ends; where
// nothing is in front, the guard of the whole vector fails.
// CHECK-LABEL: @taps
// CHECK: "tt.make_range"() {end = 128 : i32, start = 0 : i32}
// CHECK: %[[INSIDE:.*]] = arith.cmpi sge, %{{.*}} : tensor<128xi64>
// CHECK: %[[MASK:.*]] = "tt.expand_dims"(%[[INSIDE]]) {axis = 1 : i32} : (tensor<128xi1>) -> tensor<128x1xi1>
// CHECK: %[[AT:.*]] = "tt.addptr"({{.*}} -> tensor<128x2x!tt.ptr<f32>>
// CHECK: %[[BEFORE:.*]] = "tt.load"(%[[AT]], {{.*}} -> tensor<128x2xf32>
// CHECK: %[[LEFT:.*]]:2 = "tt.split"(%[[BEFORE]]) : (tensor<128x2xf32>) -> (tensor<128xf32>, tensor<128xf32>)
// CHECK: %[[HERE:.*]] = "tt.load"({{.*}} -> tensor<128x2xf32>
// CHECK: %[[A:.*]]:2 = "tt.split"(%[[HERE]])
// CHECK: %[[S:.*]] = arith.addf %[[LEFT]]#1, %[[A]]#0
// CHECK-NOT: "tt.store"
// CHECK: %[[T:.*]] = arith.addf %[[A]]#0, %[[A]]#1
// CHECK: %[[BOTH:.*]] = "tt.join"(%[[S]], %[[T]]) : (tensor<128xf32>, tensor<128xf32>) -> tensor<128x2xf32>
// CHECK: "tt.store"({{.*}}, %[[BOTH]])
// CHECK-NOT: "tt.store"
func.func private @taps(%x: tensor<16384xf32>, %o: tensor<16384xf32>) -> tensor<16384xf32>
    attributes {fuse.kernel, fuse.dims = {d0 = "8192"}, fuse.ties = array<i64: 1>, fuse.vectors} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1 : i64
  %i = "fuse.index"() {expr = "d0"} : () -> i64
  %inside = arith.cmpi sge, %i, %one : i64
  %l = "fuse.load"(%x, %inside, %zero) {at = ["d0*2 - 1"]} : (tensor<16384xf32>, i1, f32) -> f32
  %a = "fuse.load"(%x, %true, %zero) {at = ["d0*2"]} : (tensor<16384xf32>, i1, f32) -> f32
  %s = arith.addf %l, %a : f32
  %p = "fuse.store"(%o, %s, %true) {at = ["d0*2"], mode = "set"} : (tensor<16384xf32>, f32, i1) -> tensor<16384xf32>
  %b = "fuse.load"(%x, %true, %zero) {at = ["d0*2 + 1"]} : (tensor<16384xf32>, i1, f32) -> f32
  %t = arith.addf %a, %b : f32
  %q = "fuse.store"(%p, %t, %true) {at = ["d0*2 + 1"], mode = "set"} : (tensor<16384xf32>, f32, i1) -> tensor<16384xf32>
  return %q : tensor<16384xf32>
}

// -----

// Must not fire: of each two neighbours one is written.
// CHECK-LABEL: @every_second
// CHECK-NOT: "tt.join"
// CHECK: "tt.store"({{.*}} : (tensor<[[N:[0-9]+]]x!tt.ptr<f32>>, tensor<[[N]]xf32>
// CHECK-NOT: "tt.join"
func.func private @every_second(%x: tensor<16384xf32>, %o: tensor<16384xf32>) -> tensor<16384xf32>
    attributes {fuse.kernel, fuse.dims = {d0 = "8192"}, fuse.ties = array<i64: 1>, fuse.vectors} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : f32
  %a = "fuse.load"(%x, %true, %zero) {at = ["d0*2"]} : (tensor<16384xf32>, i1, f32) -> f32
  %q = "fuse.store"(%o, %a, %true) {at = ["d0*2"], mode = "set"} : (tensor<16384xf32>, f32, i1) -> tensor<16384xf32>
  return %q : tensor<16384xf32>
}

// -----

// Must not fire: nothing says that a point is a vector.  Stores of both halves lie apart.
// CHECK-LABEL: @halves
// CHECK-NOT: "tt.join"
// CHECK: "tt.store"
// CHECK: "tt.store"
func.func private @halves(%x: tensor<16384xf32>, %o: tensor<16384xf32>) -> tensor<16384xf32>
    attributes {fuse.kernel, fuse.dims = {d0 = "8192"}, fuse.ties = array<i64: 1>} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : f32
  %a = "fuse.load"(%x, %true, %zero) {at = ["d0*2"]} : (tensor<16384xf32>, i1, f32) -> f32
  %b = "fuse.load"(%x, %true, %zero) {at = ["d0*2 + 1"]} : (tensor<16384xf32>, i1, f32) -> f32
  %p = "fuse.store"(%o, %b, %true) {at = ["d0*2"], mode = "set"} : (tensor<16384xf32>, f32, i1) -> tensor<16384xf32>
  %q = "fuse.store"(%p, %a, %true) {at = ["d0*2 + 1"], mode = "set"} : (tensor<16384xf32>, f32, i1) -> tensor<16384xf32>
  return %q : tensor<16384xf32>
}

// -----

// Must not fire for the load of the last element alone: its vector would end behind the tensor.
// CHECK-LABEL: @odd
// CHECK: "tt.load"({{.*}} -> tensor<128xf32>
// CHECK: "tt.join"
func.func private @odd(%x: tensor<16385xf32>, %o: tensor<16384xf32>) -> tensor<16384xf32>
    attributes {fuse.kernel, fuse.dims = {d0 = "8192"}, fuse.ties = array<i64: 1>, fuse.vectors} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : f32
  %a = "fuse.load"(%x, %true, %zero) {at = ["d0*2 + 2"]} : (tensor<16385xf32>, i1, f32) -> f32
  %s = arith.addf %a, %a : f32
  %p = "fuse.store"(%o, %a, %true) {at = ["d0*2"], mode = "set"} : (tensor<16384xf32>, f32, i1) -> tensor<16384xf32>
  %q = "fuse.store"(%p, %s, %true) {at = ["d0*2 + 1"], mode = "set"} : (tensor<16384xf32>, f32, i1) -> tensor<16384xf32>
  return %q : tensor<16384xf32>
}
