// Blocks of columns that a mask of index algebra excludes are not computed; those that it fully admits are not
// compared.
// RUN: fuse-opt %s --pass-pipeline="builtin.module(choose-tiling{hardware=h200},apply-tiling)" --split-input-file | FileCheck %s

// A window: the first block, the blocks that all rows admit, and the last one depend on the block of rows.
// CHECK-LABEL: func.func private @flash
// CHECK: %[[FIRST:.*]] = arith.maxsi
// CHECK: %[[STOP:.*]] = arith.minsi
// CHECK: %[[BEGIN:.*]] = arith.minsi %{{.*}}, %[[STOP]]
// CHECK: %[[END:.*]] = arith.maxsi %[[BEGIN]], %{{.*}}
// CHECK: scf.for %{{.*}} = %[[FIRST]] to %[[BEGIN]]
// CHECK: arith.select
// CHECK: scf.for %{{.*}} = %[[BEGIN]] to %[[END]]
// CHECK-NOT: arith.select
// CHECK: scf.yield
// CHECK: scf.for %{{.*}} = %[[END]] to %[[STOP]]
// CHECK: arith.select
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%q: tensor<2x100x64xbf16>, %k: tensor<2x200x64xbf16>, %v: tensor<2x200x32xbf16>) -> tensor<2x100x32xbf16> {
    %0 = "fuse.empty"() {syms = []} : () -> tensor<2x100x32xbf16>
    %1 = call @flash(%q, %k, %v, %0) : (tensor<2x100x64xbf16>, tensor<2x200x64xbf16>, tensor<2x200x32xbf16>, tensor<2x100x32xbf16>) -> tensor<2x100x32xbf16>
    return %1 : tensor<2x100x32xbf16>
  }
  func.func private @flash(%arg0: tensor<2x100x64xbf16>, %arg1: tensor<2x200x64xbf16>, %arg2: tensor<2x200x32xbf16>, %out: tensor<2x100x32xbf16>) -> tensor<2x100x32xbf16> attributes {fuse.dims = {d0 = "2", d1 = "100", d2 = "200", d3 = "64", d4 = "32"}, fuse.kernel, fuse.ties = array<i64: 3>} {
    %cst = arith.constant 1.250000e-01 : f32
    %true = arith.constant true
    %cst_0 = arith.constant 0.000000e+00 : bf16
    %0 = "fuse.load"(%arg0, %true, %cst_0) {at = ["d0", "d1", "d3"]} : (tensor<2x100x64xbf16>, i1, bf16) -> bf16
    %1 = "fuse.load"(%arg1, %true, %cst_0) {at = ["d0", "d2", "d3"]} : (tensor<2x200x64xbf16>, i1, bf16) -> bf16
    %2 = "fuse.dot"(%0, %1) {over = ["d3"]} : (bf16, bf16) -> f32
    %5 = arith.mulf %2, %cst : f32
    %lowest = arith.constant 0xFF800000 : f32
    %i = "fuse.index"() {expr = "d1"} : () -> i64
    %j = "fuse.index"() {expr = "d2"} : () -> i64
    %after = arith.cmpi sge, %i, %j : i64
    %apart = arith.subi %i, %j : i64
    %width = arith.constant 40 : i64
    %near = arith.cmpi slt, %apart, %width : i64
    %seen = arith.andi %after, %near : i1
    %masked = arith.select %seen, %5, %lowest : f32
    %6 = "fuse.load"(%arg2, %true, %cst_0) {at = ["d0", "d2", "d4"]} : (tensor<2x200x32xbf16>, i1, bf16) -> bf16
    %7, %8, %9 = "fuse.online_dot"(%masked, %6) {over = ["d2"]} : (f32, bf16) -> (f32, f32, f32)
    %10 = arith.divf %7, %9 : f32
    %11 = arith.truncf %10 {fuse.implicit} : f32 to bf16
    %12 = "fuse.store"(%out, %11, %true) {at = ["d0", "d1", "d4"], mode = "set"} : (tensor<2x100x32xbf16>, bf16, i1) -> tensor<2x100x32xbf16>
    return %12 : tensor<2x100x32xbf16>
  }
}

// -----

// Must not fire: what is filled in is a number, which counts where a row has no other.
// CHECK-LABEL: func.func private @flash
// CHECK-NOT: arith.maxsi
// CHECK: scf.for
// CHECK: arith.select {{.*}} : tensor<64x64xi1>, tensor<64x64xf32>
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%q: tensor<2x100x64xbf16>, %k: tensor<2x200x64xbf16>, %v: tensor<2x200x32xbf16>) -> tensor<2x100x32xbf16> {
    %0 = "fuse.empty"() {syms = []} : () -> tensor<2x100x32xbf16>
    %1 = call @flash(%q, %k, %v, %0) : (tensor<2x100x64xbf16>, tensor<2x200x64xbf16>, tensor<2x200x32xbf16>, tensor<2x100x32xbf16>) -> tensor<2x100x32xbf16>
    return %1 : tensor<2x100x32xbf16>
  }
  func.func private @flash(%arg0: tensor<2x100x64xbf16>, %arg1: tensor<2x200x64xbf16>, %arg2: tensor<2x200x32xbf16>, %out: tensor<2x100x32xbf16>) -> tensor<2x100x32xbf16> attributes {fuse.dims = {d0 = "2", d1 = "100", d2 = "200", d3 = "64", d4 = "32"}, fuse.kernel, fuse.ties = array<i64: 3>} {
    %cst = arith.constant 1.250000e-01 : f32
    %true = arith.constant true
    %cst_0 = arith.constant 0.000000e+00 : bf16
    %0 = "fuse.load"(%arg0, %true, %cst_0) {at = ["d0", "d1", "d3"]} : (tensor<2x100x64xbf16>, i1, bf16) -> bf16
    %1 = "fuse.load"(%arg1, %true, %cst_0) {at = ["d0", "d2", "d3"]} : (tensor<2x200x64xbf16>, i1, bf16) -> bf16
    %2 = "fuse.dot"(%0, %1) {over = ["d3"]} : (bf16, bf16) -> f32
    %5 = arith.mulf %2, %cst : f32
    %lowest = arith.constant -1.0e4 : f32
    %i = "fuse.index"() {expr = "d1"} : () -> i64
    %j = "fuse.index"() {expr = "d2"} : () -> i64
    %after = arith.cmpi sge, %i, %j : i64
    %apart = arith.subi %i, %j : i64
    %width = arith.constant 40 : i64
    %near = arith.cmpi slt, %apart, %width : i64
    %seen = arith.andi %after, %near : i1
    %masked = arith.select %seen, %5, %lowest : f32
    %6 = "fuse.load"(%arg2, %true, %cst_0) {at = ["d0", "d2", "d4"]} : (tensor<2x200x32xbf16>, i1, bf16) -> bf16
    %7, %8, %9 = "fuse.online_dot"(%masked, %6) {over = ["d2"]} : (f32, bf16) -> (f32, f32, f32)
    %10 = arith.divf %7, %9 : f32
    %11 = arith.truncf %10 {fuse.implicit} : f32 to bf16
    %12 = "fuse.store"(%out, %11, %true) {at = ["d0", "d1", "d4"], mode = "set"} : (tensor<2x100x32xbf16>, bf16, i1) -> tensor<2x100x32xbf16>
    return %12 : tensor<2x100x32xbf16>
  }
}

// -----

// The length of a sequence is data: its load gives the blocks of the loop, as far as there are columns.
// CHECK-LABEL: func.func private @decode
// CHECK: %[[LENGTH:.*]] = "tt.load"({{.*}} : (!tt.ptr<i64>) -> i64
// CHECK: %[[AFTER:.*]] = arith.maxsi %[[LENGTH]], %{{.*}} : i64
// CHECK: arith.minsi %[[AFTER]], %{{.*}} : i64
// CHECK: %[[STOP:.*]] = arith.minsi %{{.*}} : i32
// CHECK: scf.for
// CHECK-NOT: arith.select {{.*}} tensor<16x64xf32>
// CHECK: scf.yield
// CHECK: scf.for %{{.*}} to %[[STOP]]
// CHECK: arith.select {{.*}} tensor<16x64xf32>
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%q: tensor<2x1x64xbf16>, %k: tensor<2x200x64xbf16>, %v: tensor<2x200x32xbf16>, %n: tensor<2xi64>) -> tensor<2x1x32xbf16> {
    %0 = "fuse.empty"() {syms = []} : () -> tensor<2x1x32xbf16>
    %1 = call @decode(%q, %k, %v, %n, %0) : (tensor<2x1x64xbf16>, tensor<2x200x64xbf16>, tensor<2x200x32xbf16>, tensor<2xi64>, tensor<2x1x32xbf16>) -> tensor<2x1x32xbf16>
    return %1 : tensor<2x1x32xbf16>
  }
  func.func private @decode(%arg0: tensor<2x1x64xbf16>, %arg1: tensor<2x200x64xbf16>, %arg2: tensor<2x200x32xbf16>, %lengths: tensor<2xi64>, %out: tensor<2x1x32xbf16>) -> tensor<2x1x32xbf16> attributes {fuse.dims = {d0 = "2", d1 = "1", d2 = "200", d3 = "64", d4 = "32"}, fuse.kernel, fuse.ties = array<i64: 4>} {
    %true = arith.constant true
    %cst_0 = arith.constant 0.000000e+00 : bf16
    %0 = "fuse.load"(%arg0, %true, %cst_0) {at = ["d0", "d1", "d3"]} : (tensor<2x1x64xbf16>, i1, bf16) -> bf16
    %1 = "fuse.load"(%arg1, %true, %cst_0) {at = ["d0", "d2", "d3"]} : (tensor<2x200x64xbf16>, i1, bf16) -> bf16
    %2 = "fuse.dot"(%0, %1) {over = ["d3"]} : (bf16, bf16) -> f32
    %lowest = arith.constant 0xFF800000 : f32
    %none = arith.constant 0 : i64
    %length = "fuse.load"(%lengths, %true, %none) {at = ["d0"]} : (tensor<2xi64>, i1, i64) -> i64
    %j = "fuse.index"() {expr = "d2"} : () -> i64
    %seen = arith.cmpi slt, %j, %length : i64
    %masked = arith.select %seen, %2, %lowest : f32
    %6 = "fuse.load"(%arg2, %true, %cst_0) {at = ["d0", "d2", "d4"]} : (tensor<2x200x32xbf16>, i1, bf16) -> bf16
    %7, %8, %9 = "fuse.online_dot"(%masked, %6) {over = ["d2"]} : (f32, bf16) -> (f32, f32, f32)
    %10 = arith.divf %7, %9 : f32
    %11 = arith.truncf %10 {fuse.implicit} : f32 to bf16
    %12 = "fuse.store"(%out, %11, %true) {at = ["d0", "d1", "d4"], mode = "set"} : (tensor<2x1x32xbf16>, bf16, i1) -> tensor<2x1x32xbf16>
    return %12 : tensor<2x1x32xbf16>
  }
}

// -----

// Must not fire: each column has a number of its own, so nothing is known before the loop.
// CHECK-LABEL: func.func private @decode
// CHECK-NOT: arith.maxsi
// CHECK: scf.for
// CHECK: arith.select {{.*}} tensor<16x64xf32>
// CHECK: return
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%q: tensor<2x1x64xbf16>, %k: tensor<2x200x64xbf16>, %v: tensor<2x200x32xbf16>, %n: tensor<200xi64>) -> tensor<2x1x32xbf16> {
    %0 = "fuse.empty"() {syms = []} : () -> tensor<2x1x32xbf16>
    %1 = call @decode(%q, %k, %v, %n, %0) : (tensor<2x1x64xbf16>, tensor<2x200x64xbf16>, tensor<2x200x32xbf16>, tensor<200xi64>, tensor<2x1x32xbf16>) -> tensor<2x1x32xbf16>
    return %1 : tensor<2x1x32xbf16>
  }
  func.func private @decode(%arg0: tensor<2x1x64xbf16>, %arg1: tensor<2x200x64xbf16>, %arg2: tensor<2x200x32xbf16>, %lengths: tensor<200xi64>, %out: tensor<2x1x32xbf16>) -> tensor<2x1x32xbf16> attributes {fuse.dims = {d0 = "2", d1 = "1", d2 = "200", d3 = "64", d4 = "32"}, fuse.kernel, fuse.ties = array<i64: 4>} {
    %true = arith.constant true
    %cst_0 = arith.constant 0.000000e+00 : bf16
    %0 = "fuse.load"(%arg0, %true, %cst_0) {at = ["d0", "d1", "d3"]} : (tensor<2x1x64xbf16>, i1, bf16) -> bf16
    %1 = "fuse.load"(%arg1, %true, %cst_0) {at = ["d0", "d2", "d3"]} : (tensor<2x200x64xbf16>, i1, bf16) -> bf16
    %2 = "fuse.dot"(%0, %1) {over = ["d3"]} : (bf16, bf16) -> f32
    %lowest = arith.constant 0xFF800000 : f32
    %none = arith.constant 0 : i64
    %length = "fuse.load"(%lengths, %true, %none) {at = ["d2"]} : (tensor<200xi64>, i1, i64) -> i64
    %j = "fuse.index"() {expr = "d2"} : () -> i64
    %seen = arith.cmpi slt, %j, %length : i64
    %masked = arith.select %seen, %2, %lowest : f32
    %6 = "fuse.load"(%arg2, %true, %cst_0) {at = ["d0", "d2", "d4"]} : (tensor<2x200x32xbf16>, i1, bf16) -> bf16
    %7, %8, %9 = "fuse.online_dot"(%masked, %6) {over = ["d2"]} : (f32, bf16) -> (f32, f32, f32)
    %10 = arith.divf %7, %9 : f32
    %11 = arith.truncf %10 {fuse.implicit} : f32 to bf16
    %12 = "fuse.store"(%out, %11, %true) {at = ["d0", "d1", "d4"], mode = "set"} : (tensor<2x1x32xbf16>, bf16, i1) -> tensor<2x1x32xbf16>
    return %12 : tensor<2x1x32xbf16>
  }
}
