// RUN: fuse-opt %s --pass-pipeline="builtin.module(fold-ranges)" --split-input-file | FileCheck %s
// RUN: fuse-opt %s --pass-pipeline="builtin.module(fold-ranges)" --split-input-file --verify-each=numeric | FileCheck %s
// RUN: not fuse-opt %s --pass-pipeline="builtin.module(fold-ranges{bits=4})" --split-input-file 2>&1 | FileCheck %s --check-prefix=BAD

// BAD: pass 'fold-ranges' has no option 'bits'

// Half of a byte is below 16, and neither negative nor wrapped.
// CHECK-LABEL: func.func private @halves
// CHECK-NOT: cmpi {{slt|sge}}
// CHECK-NOT: device_assert
// CHECK: "fuse.load"(%arg0, %true, %{{.*}}, %{{.*}}) {at = ["i0"]}
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<16xf32>, %j: tensor<4xui8>) -> tensor<4xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<4xf32>
    %y = call @halves(%x, %j, %o) : (tensor<16xf32>, tensor<4xui8>, tensor<4xf32>) -> tensor<4xf32>
    return %y : tensor<4xf32>
  }
  func.func private @halves(%x: tensor<16xf32>, %j: tensor<4xui8>, %o: tensor<4xf32>) -> tensor<4xf32> attributes {fuse.kernel, fuse.dims = {d0 = "4"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %none = arith.constant 0 : i8
    %four = arith.constant 4 : i8
    %fifteen = arith.constant 15 : i8
    %c0 = arith.constant 0 : i64
    %c16 = arith.constant 16 : i64
    %b = "fuse.load"(%j, %true, %none) {at = ["d0"]} : (tensor<4xui8>, i1, i8) -> i8
    %h = arith.shrui %b, %four : i8
    %l = arith.andi %b, %fifteen : i8
    %first = "fuse.index"() {expr = "d0"} : () -> i64
    %even = arith.cmpi eq, %first, %c0 : i64
    %s = arith.select %even, %h, %l : i8
    %i = arith.extui %s : i8 to i64
    %negative = arith.cmpi slt, %i, %c0 : i64
    %wrapped = arith.addi %i, %c16 : i64
    %row = arith.select %negative, %wrapped, %i : i64
    %low = arith.cmpi sge, %row, %c0 : i64
    %high = arith.cmpi slt, %row, %c16 : i64
    %inside = arith.andi %low, %high : i1
    "fuse.device_assert"(%inside, %true) {message = "index"} : (i1, i1) -> ()
    %v = "fuse.load"(%x, %inside, %zero, %row) {at = ["i0"]} : (tensor<16xf32>, i1, f32, i64) -> f32
    %r = "fuse.store"(%o, %v, %true) {at = ["d0"], mode = "set"} : (tensor<4xf32>, f32, i1) -> tensor<4xf32>
    return %r : tensor<4xf32>
  }
}

// -----

// Must not fire: 5 bits reach 31, and the sum of two bytes below 128 wraps.
// CHECK-LABEL: func.func private @more
// CHECK: arith.cmpi slt
// CHECK: "fuse.device_assert"
// CHECK: arith.cmpi sge
// CHECK: "fuse.device_assert"
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<16xf32>, %j: tensor<4xui8>) -> tensor<4xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<4xf32>
    %y = call @more(%x, %j, %o) : (tensor<16xf32>, tensor<4xui8>, tensor<4xf32>) -> tensor<4xf32>
    return %y : tensor<4xf32>
  }
  func.func private @more(%x: tensor<16xf32>, %j: tensor<4xui8>, %o: tensor<4xf32>) -> tensor<4xf32> attributes {fuse.kernel, fuse.dims = {d0 = "4"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %none = arith.constant 0 : i8
    %three = arith.constant 3 : i8
    %seven = arith.constant 127 : i8
    %c16 = arith.constant 16 : i64
    %b = "fuse.load"(%j, %true, %none) {at = ["d0"]} : (tensor<4xui8>, i1, i8) -> i8
    %h = arith.shrui %b, %three : i8
    %i = arith.extui %h : i8 to i64
    %inside = arith.cmpi slt, %i, %c16 : i64
    "fuse.device_assert"(%inside, %true) {message = "index"} : (i1, i1) -> ()
    %l = arith.andi %b, %seven : i8
    %t = arith.addi %l, %l : i8
    %positive = arith.cmpi sge, %t, %none : i8
    "fuse.device_assert"(%positive, %true) {message = "sign"} : (i1, i1) -> ()
    %v = "fuse.load"(%x, %inside, %zero, %i) {at = ["i0"]} : (tensor<16xf32>, i1, f32, i64) -> f32
    %r = "fuse.store"(%o, %v, %true) {at = ["d0"], mode = "set"} : (tensor<4xf32>, f32, i1) -> tensor<4xf32>
    return %r : tensor<4xf32>
  }
}
