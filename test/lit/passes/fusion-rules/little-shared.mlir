// RUN: fuse-opt %s --pass-pipeline="builtin.module(fuse-horizontal)" --split-input-file | FileCheck %s
// RUN: fuse-opt %s --pass-pipeline="builtin.module(fuse-horizontal)" --split-input-file --remarks=text -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

// Must not fire: two updates that share a scalar.  One launch for both is made later, of tile code, and holds less at once.
// CHECK-LABEL: func.func @main
// CHECK-NOT: fuse.group
// CHECK: func.func private @by_scalar
// REMARK: missed: fuse-horizontal: little-shared, shared_bytes=4, moved_bytes=4100: by_scalar and by_scalar stay apart: both read few bytes in common
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<1024xf32>, %y: tensor<1024xf32>, %rate: tensor<f32>) -> (tensor<1024xf32>, tensor<1024xf32>) {
    %a = call @by_scalar(%x, %rate) : (tensor<1024xf32>, tensor<f32>) -> tensor<1024xf32>
    %b = call @by_scalar(%y, %rate) : (tensor<1024xf32>, tensor<f32>) -> tensor<1024xf32>
    return {fuse.mutates = {"0" = 0 : i64, "1" = 1 : i64}} %a, %b : tensor<1024xf32>, tensor<1024xf32>
  }
  func.func private @by_scalar(%x: tensor<1024xf32>, %rate: tensor<f32>) -> tensor<1024xf32> attributes {fuse.kernel, fuse.dims = {d0 = "1024"}, fuse.ties = array<i64: 0>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v0 = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<1024xf32>, i1, f32) -> f32
    %v1 = "fuse.load"(%rate, %true, %zero) {at = []} : (tensor<f32>, i1, f32) -> f32
    %r = arith.mulf %v0, %v1 : f32
    %out = "fuse.store"(%x, %r, %true) {at = ["d0"], mode = "set"} : (tensor<1024xf32>, f32, i1) -> tensor<1024xf32>
    return %out : tensor<1024xf32>
  }
}

// -----

// Fuses: what they share is as large as what they change.
// CHECK-LABEL: func.func @main
// CHECK-COUNT-2: fuse.group = 0
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<1024xf32>, %y: tensor<1024xf32>, %rate: tensor<1024xf32>) -> (tensor<1024xf32>, tensor<1024xf32>) {
    %a = call @by_vector(%x, %rate) : (tensor<1024xf32>, tensor<1024xf32>) -> tensor<1024xf32>
    %b = call @by_vector(%y, %rate) : (tensor<1024xf32>, tensor<1024xf32>) -> tensor<1024xf32>
    return {fuse.mutates = {"0" = 0 : i64, "1" = 1 : i64}} %a, %b : tensor<1024xf32>, tensor<1024xf32>
  }
  func.func private @by_vector(%x: tensor<1024xf32>, %rate: tensor<1024xf32>) -> tensor<1024xf32> attributes {fuse.kernel, fuse.dims = {d0 = "1024"}, fuse.ties = array<i64: 0>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v0 = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<1024xf32>, i1, f32) -> f32
    %v1 = "fuse.load"(%rate, %true, %zero) {at = ["d0"]} : (tensor<1024xf32>, i1, f32) -> f32
    %r = arith.mulf %v0, %v1 : f32
    %out = "fuse.store"(%x, %r, %true) {at = ["d0"], mode = "set"} : (tensor<1024xf32>, f32, i1) -> tensor<1024xf32>
    return %out : tensor<1024xf32>
  }
}
