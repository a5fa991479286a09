// A number that divides all elements of a loop's blocks is inverted once, and each is multiplied by both parts of its inverse.
// RUN: fuse-opt %s --default-pipeline=planned | FileCheck %s

// CHECK-LABEL: "tt.func"
// CHECK: scf.for
// CHECK: %[[D:.*]] = "tt.precise_divf"(%{{.*}}, %{{.*}}) : (f32, f32) -> f32
// CHECK: %[[HIGH:.*]] = arith.mulf %[[D]], %{{.*}} : f32
// CHECK: %[[LEFT:.*]] = math.fma %{{.*}}, %[[HIGH]], %{{.*}} : f32
// CHECK: %[[BY:.*]] = "tt.splat"(%{{.*}}) : (f32) -> tensor<1024xf32>
// CHECK: %[[LOW:.*]] = arith.mulf %{{.*}}, %[[BY]] : tensor<1024xf32>
// CHECK: math.fma %{{.*}}, %{{.*}}, %[[LOW]] : tensor<1024xf32>

// Must not fire: each element of a block has a divisor of its own, whose reciprocal is approximate.
// CHECK: %[[ROUGH:.*]] = "tt.extern_elementwise"(%{{.*}}) {{.*}}"llvm.nvvm.rcp.approx.ftz.f"} : (tensor<1024xf32>)
// CHECK: %[[GUESS:.*]] = arith.mulf %{{.*}}, %[[ROUGH]]
// CHECK: math.fma %{{.*}}, %[[ROUGH]], %[[GUESS]]
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<1000x50000xf32>, %n: tensor<f32>, %m: tensor<50000xf32>) -> (tensor<1000xf32>, tensor<1000xf32>) {
    %y_o = "fuse.empty"() {syms = []} : () -> tensor<1000xf32>
    %y = call @one_divisor(%x, %n, %y_o) : (tensor<1000x50000xf32>, tensor<f32>, tensor<1000xf32>) -> tensor<1000xf32>
    %z_o = "fuse.empty"() {syms = []} : () -> tensor<1000xf32>
    %z = call @own_divisors(%x, %m, %y, %z_o) : (tensor<1000x50000xf32>, tensor<50000xf32>, tensor<1000xf32>, tensor<1000xf32>) -> tensor<1000xf32>
    return %y, %z : tensor<1000xf32>, tensor<1000xf32>
  }
  func.func private @one_divisor(%x: tensor<1000x50000xf32>, %n: tensor<f32>, %o: tensor<1000xf32>) -> tensor<1000xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "1000", d1 = "50000"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<1000x50000xf32>, i1, f32) -> f32
    %d = "fuse.load"(%n, %true, %zero) {at = []} : (tensor<f32>, i1, f32) -> f32
    %q = arith.divf %v, %d : f32
    %s = "fuse.reduce"(%q) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d0"], mode = "set"} : (tensor<1000xf32>, f32, i1) -> tensor<1000xf32>
    return %r : tensor<1000xf32>
  }
  func.func private @own_divisors(%x: tensor<1000x50000xf32>, %m: tensor<50000xf32>, %y: tensor<1000xf32>, %o: tensor<1000xf32>) -> tensor<1000xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "1000", d1 = "50000"}, fuse.ties = array<i64: 3>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<1000x50000xf32>, i1, f32) -> f32
    %d = "fuse.load"(%m, %true, %zero) {at = ["d1"]} : (tensor<50000xf32>, i1, f32) -> f32
    %q = arith.divf %v, %d : f32
    %s = "fuse.reduce"(%q) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d0"], mode = "set"} : (tensor<1000xf32>, f32, i1) -> tensor<1000xf32>
    return %r : tensor<1000xf32>
  }
}
