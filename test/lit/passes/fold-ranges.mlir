// RUN: fuse-opt %s --pass-pipeline="builtin.module(fold-ranges)" --split-input-file --verify-diagnostics | FileCheck %s
// RUN: fuse-opt %s --pass-pipeline="builtin.module(fold-ranges,fold-ranges)" --split-input-file --verify-diagnostics | FileCheck %s

// The row is computed and lies inside: its assert and its index go.  The column is loaded: its own stay.
// CHECK-LABEL: func.func private @k
// CHECK: %[[J:.*]] = "fuse.load"(%arg1
// CHECK: %[[L:.*]] = arith.cmpi slt, %[[J]], %{{.*}} : i64
// CHECK: "fuse.device_assert"(%[[L]], %true) {message = "column"}
// CHECK-NOT: device_assert
// CHECK: "fuse.load"(%arg0, %[[L]], %{{.*}}, %[[J]]) {at = ["d0", "i0"]} : (tensor<4x8xf32>, i1, f32, i64) -> f32
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<4x8xf32>, %j: tensor<4xi64>) -> tensor<4xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<4xf32>
    %y = call @k(%x, %j, %o) : (tensor<4x8xf32>, tensor<4xi64>, tensor<4xf32>) -> tensor<4xf32>
    return %y : tensor<4xf32>
  }
  func.func private @k(%x: tensor<4x8xf32>, %j: tensor<4xi64>, %o: tensor<4xf32>) -> tensor<4xf32> attributes {fuse.kernel, fuse.dims = {d0 = "4"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %c0 = arith.constant 0 : i64
    %c4 = arith.constant 4 : i64
    %c8 = arith.constant 8 : i64
    %i = "fuse.index"() {expr = "d0"} : () -> i64
    %negative = arith.cmpi slt, %i, %c0 : i64
    %wrapped = arith.addi %i, %c4 : i64
    %row = arith.select %negative, %wrapped, %i : i64
    %low = arith.cmpi sge, %row, %c0 : i64
    %high = arith.cmpi slt, %row, %c4 : i64
    %inside = arith.andi %low, %high : i1
    "fuse.device_assert"(%inside, %true) {message = "row"} : (i1, i1) -> ()
    %column = "fuse.load"(%j, %true, %c0) {at = ["d0"]} : (tensor<4xi64>, i1, i64) -> i64
    %fits = arith.cmpi slt, %column, %c8 : i64
    "fuse.device_assert"(%fits, %true) {message = "column"} : (i1, i1) -> ()
    %both = arith.andi %inside, %fits : i1
    %v = "fuse.load"(%x, %both, %zero, %row, %column) {at = ["i0", "i1"]} : (tensor<4x8xf32>, i1, f32, i64, i64) -> f32
    %s = "fuse.store"(%o, %v, %true) {at = ["d0"], mode = "set"} : (tensor<4xf32>, f32, i1) -> tensor<4xf32>
    return %s : tensor<4xf32>
  }
}

// -----

// Each predicate, decided both ways; d0 is 0 to 3.
// CHECK-LABEL: func.func private @k
// CHECK-NOT: cmpi
// CHECK: "fuse.load"(%arg0, %true, %{{.*}}) {at = ["d0", "7"]}
// CHECK: return
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<4x8xf32>, %j: tensor<4xi64>) -> tensor<4xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<4xf32>
    %y = call @k(%x, %j, %o) : (tensor<4x8xf32>, tensor<4xi64>, tensor<4xf32>) -> tensor<4xf32>
    return %y : tensor<4xf32>
  }
  func.func private @k(%x: tensor<4x8xf32>, %j: tensor<4xi64>, %o: tensor<4xf32>) -> tensor<4xf32> attributes {fuse.kernel, fuse.dims = {d0 = "4"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %c0 = arith.constant 0 : i64
    %c4 = arith.constant 4 : i64
    %c8 = arith.constant 8 : i64
    %c3 = arith.constant 3 : i64
    %i = "fuse.index"() {expr = "d0"} : () -> i64
    %k = "fuse.index"() {expr = "d0 + 4"} : () -> i64
    %back = arith.subi %i, %k : i64
    %a = arith.cmpi slt, %i, %k : i64
    %b = arith.cmpi sle, %i, %c3 : i64
    %c = arith.cmpi sgt, %c4, %i : i64
    %d = arith.cmpi sge, %i, %c0 : i64
    %e = arith.cmpi slt, %i, %c0 : i64
    %f = arith.cmpi sle, %k, %c3 : i64
    %g = arith.cmpi sgt, %i, %c3 : i64
    %h = arith.cmpi sge, %c3, %k : i64
    %n = arith.cmpi slt, %back, %c0 : i64
    %ab = arith.andi %a, %b : i1
    %cd = arith.andi %c, %d : i1
    %ef = arith.ori %e, %f : i1
    %gh = arith.ori %g, %h : i1
    %yes = arith.andi %ab, %cd : i1
    %no = arith.ori %ef, %gh : i1
    %not = arith.xori %no, %true : i1
    %most = arith.andi %yes, %not : i1
    %all = arith.andi %most, %n : i1
    %v = "fuse.load"(%x, %all, %zero) {at = ["d0", "7"]} : (tensor<4x8xf32>, i1, f32) -> f32
    %s = "fuse.store"(%o, %v, %true) {at = ["d0"], mode = "set"} : (tensor<4xf32>, f32, i1) -> tensor<4xf32>
    return %s : tensor<4xf32>
  }
}

// -----

// Must not fire: each comparison holds for some points only, the index is a sum, or a sum might wrap around.
// CHECK-LABEL: func.func private @k
// CHECK-COUNT-7: arith.cmpi
// CHECK: "fuse.load"(%arg0, %{{.*}}, %{{.*}}, %{{.*}}) {at = ["i0", "0"]}
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<4x8xf32>, %j: tensor<4xi64>) -> tensor<4xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<4xf32>
    %y = call @k(%x, %j, %o) : (tensor<4x8xf32>, tensor<4xi64>, tensor<4xf32>) -> tensor<4xf32>
    return %y : tensor<4xf32>
  }
  func.func private @k(%x: tensor<4x8xf32>, %j: tensor<4xi64>, %o: tensor<4xf32>) -> tensor<4xf32> attributes {fuse.kernel, fuse.dims = {d0 = "4"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %c0 = arith.constant 0 : i64
    %c4 = arith.constant 4 : i64
    %c8 = arith.constant 8 : i64
    %c1 = arith.constant 1 : i64
    %c3 = arith.constant 3 : i64
    %huge = arith.constant 9223372036854775806 : i64
    %i = "fuse.index"() {expr = "d0"} : () -> i64
    %sum = arith.addi %i, %huge : i64
    %a = arith.cmpi slt, %i, %c3 : i64
    %b = arith.cmpi sle, %c1, %i : i64
    %c = arith.cmpi sgt, %i, %c0 : i64
    %d = arith.cmpi sge, %i, %c3 : i64
    %e = arith.cmpi sgt, %sum, %c0 : i64
    %f = arith.cmpi ne, %i, %c1 : i64
    %column = "fuse.load"(%j, %true, %c0) {at = ["d0"]} : (tensor<4xi64>, i1, i64) -> i64
    %picked = arith.select %a, %column, %i : i64
    %g = arith.cmpi sge, %picked, %c0 : i64
    %ab = arith.xori %a, %b : i1
    %cd = arith.xori %c, %d : i1
    %ef = arith.xori %e, %f : i1
    %abcd = arith.xori %ab, %cd : i1
    %efg = arith.xori %ef, %g : i1
    %all = arith.xori %abcd, %efg : i1
    %v = "fuse.load"(%x, %all, %zero, %picked) {at = ["i0", "0"]} : (tensor<4x8xf32>, i1, f32, i64) -> f32
    %s = "fuse.store"(%o, %v, %true) {at = ["d0"], mode = "set"} : (tensor<4xf32>, f32, i1) -> tensor<4xf32>
    return %s : tensor<4xf32>
  }
}

// -----

// Must not change how often a store adds: its guard is decided, and it still runs for each of 8 points.
// CHECK-LABEL: func.func private @k
// CHECK: "fuse.index"() {expr = "d1"}
// CHECK: %[[SAME:.*]] = arith.select
// CHECK: "fuse.store"(%arg1, %[[SAME]], %{{.*}}) {at = ["d0"], mode = "add"}
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<4xf32>, %o: tensor<4xf32>) -> tensor<4xf32> {
    %y = call @k(%x, %o) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    return %y : tensor<4xf32>
  }
  func.func private @k(%x: tensor<4xf32>, %o: tensor<4xf32>) -> tensor<4xf32> attributes {fuse.kernel, fuse.dims = {d0 = "4", d1 = "8"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %c8 = arith.constant 8 : i64
    %i = "fuse.index"() {expr = "d1"} : () -> i64
    %inside = arith.cmpi slt, %i, %c8 : i64
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<4xf32>, i1, f32) -> f32
    %s = "fuse.store"(%o, %v, %inside) {at = ["d0"], mode = "add"} : (tensor<4xf32>, f32, i1) -> tensor<4xf32>
    return %s : tensor<4xf32>
  }
}

// -----

// An index that is chosen where its float lies inside: nothing is left to be asserted.
// CHECK-LABEL: func.func private @k
// CHECK: %[[J:.*]] = arith.select
// CHECK-NOT: arith.cmpi
// CHECK-NOT: fuse.device_assert
// CHECK: "fuse.load"(%{{.*}}, %true, %{{.*}}, %[[J]]) {at = ["i0"]}
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<8xf32>, %f: tensor<4xf32>) -> tensor<4xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<4xf32>
    %y = call @k(%x, %f, %o) : (tensor<8xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    return %y : tensor<4xf32>
  }
  func.func private @k(%x: tensor<8xf32>, %f: tensor<4xf32>, %o: tensor<4xf32>) -> tensor<4xf32> attributes {fuse.kernel, fuse.dims = {d0 = "4"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %eight = arith.constant 8.0 : f32
    %c0 = arith.constant 0 : i64
    %c8 = arith.constant 8 : i64
    %v = "fuse.load"(%f, %true, %zero) {at = ["d0"]} : (tensor<4xf32>, i1, f32) -> f32
    %a = arith.cmpf oge, %v, %zero : f32
    %b = arith.cmpf olt, %v, %eight : f32
    %in = arith.andi %a, %b : i1
    %i = arith.fptosi %v : f32 to i64
    %j = arith.select %in, %i, %c0 : i64
    %low = arith.cmpi sge, %j, %c0 : i64
    %high = arith.cmpi slt, %j, %c8 : i64
    %ok = arith.andi %low, %high : i1
    "fuse.device_assert"(%ok, %true) {message = "outside"} : (i1, i1) -> ()
    %w = "fuse.load"(%x, %ok, %zero, %j) {at = ["i0"]} : (tensor<8xf32>, i1, f32, i64) -> f32
    %s = "fuse.store"(%o, %w, %true) {at = ["d0"], mode = "set"} : (tensor<4xf32>, f32, i1) -> tensor<4xf32>
    return %s : tensor<4xf32>
  }
}

// -----

// Must not fire: one of the bounds is enough here, so that neither holds.
// CHECK-LABEL: func.func private @k
// CHECK: arith.cmpi sge
// CHECK: arith.cmpi slt
// CHECK: fuse.device_assert
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<8xf32>, %f: tensor<4xf32>) -> tensor<4xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<4xf32>
    %y = call @k(%x, %f, %o) : (tensor<8xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    return %y : tensor<4xf32>
  }
  func.func private @k(%x: tensor<8xf32>, %f: tensor<4xf32>, %o: tensor<4xf32>) -> tensor<4xf32> attributes {fuse.kernel, fuse.dims = {d0 = "4"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %eight = arith.constant 8.0 : f32
    %c0 = arith.constant 0 : i64
    %c8 = arith.constant 8 : i64
    %v = "fuse.load"(%f, %true, %zero) {at = ["d0"]} : (tensor<4xf32>, i1, f32) -> f32
    %a = arith.cmpf oge, %v, %zero : f32
    %b = arith.cmpf olt, %v, %eight : f32
    %in = arith.ori %a, %b : i1
    %i = arith.fptosi %v : f32 to i64
    %j = arith.select %in, %i, %c0 : i64
    %low = arith.cmpi sge, %j, %c0 : i64
    %high = arith.cmpi slt, %j, %c8 : i64
    %ok = arith.andi %low, %high : i1
    "fuse.device_assert"(%ok, %true) {message = "outside"} : (i1, i1) -> ()
    %w = "fuse.load"(%x, %ok, %zero, %j) {at = ["i0"]} : (tensor<8xf32>, i1, f32, i64) -> f32
    %s = "fuse.store"(%o, %w, %true) {at = ["d0"], mode = "set"} : (tensor<4xf32>, f32, i1) -> tensor<4xf32>
    return %s : tensor<4xf32>
  }
}

// -----

// Must not fire above: the comparison is true for NaN, whose integer is any.  Below it has the other bound.
// CHECK-LABEL: func.func private @k
// CHECK-NOT: arith.cmpi sge
// CHECK: arith.cmpi slt
// CHECK: fuse.device_assert
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<8xf32>, %f: tensor<4xf32>) -> tensor<4xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<4xf32>
    %y = call @k(%x, %f, %o) : (tensor<8xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    return %y : tensor<4xf32>
  }
  func.func private @k(%x: tensor<8xf32>, %f: tensor<4xf32>, %o: tensor<4xf32>) -> tensor<4xf32> attributes {fuse.kernel, fuse.dims = {d0 = "4"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %eight = arith.constant 8.0 : f32
    %c0 = arith.constant 0 : i64
    %c8 = arith.constant 8 : i64
    %v = "fuse.load"(%f, %true, %zero) {at = ["d0"]} : (tensor<4xf32>, i1, f32) -> f32
    %a = arith.cmpf oge, %v, %zero : f32
    %b = arith.cmpf ult, %v, %eight : f32
    %in = arith.andi %a, %b : i1
    %i = arith.fptosi %v : f32 to i64
    %j = arith.select %in, %i, %c0 : i64
    %low = arith.cmpi sge, %j, %c0 : i64
    %high = arith.cmpi slt, %j, %c8 : i64
    %ok = arith.andi %low, %high : i1
    "fuse.device_assert"(%ok, %true) {message = "outside"} : (i1, i1) -> ()
    %w = "fuse.load"(%x, %ok, %zero, %j) {at = ["i0"]} : (tensor<8xf32>, i1, f32, i64) -> f32
    %s = "fuse.store"(%o, %w, %true) {at = ["d0"], mode = "set"} : (tensor<4xf32>, f32, i1) -> tensor<4xf32>
    return %s : tensor<4xf32>
  }
}

// -----

// The place of each of 8 pixels in a row of 4: a float of dims alone is from 0 to 3.25.
// CHECK-LABEL: func.func private @k
// CHECK: arith.fptosi
// CHECK-NOT: arith.cmpi
// CHECK-NOT: fuse.device_assert
// CHECK: "fuse.load"(%{{.*}}, %true, %{{.*}}) {at = ["i0"]}
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<4xf32>, %f: tensor<8xf32>) -> tensor<8xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<8xf32>
    %y = call @k(%x, %f, %o) : (tensor<4xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    return %y : tensor<8xf32>
  }
  func.func private @k(%x: tensor<4xf32>, %f: tensor<8xf32>, %o: tensor<8xf32>) -> tensor<8xf32> attributes {fuse.kernel, fuse.dims = {d0 = "8"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %half = arith.constant 0.5 : f32
    %c0 = arith.constant 0 : i64
    %c1 = arith.constant 1 : i64
    %c3 = arith.constant 3 : i64
    %c4 = arith.constant 4 : i64
    %i = "fuse.index"() {expr = "d0"} : () -> i64
    %e = arith.sitofp %i : i64 to f32
    %a = arith.addf %e, %half : f32
    %b = arith.mulf %a, %half : f32
    %h = arith.subf %b, %half : f32
    %m = arith.maximumf %h, %zero : f32
    %j = arith.fptosi %m : f32 to i64
    %next = arith.addi %j, %c1 : i64
    %at = arith.minsi %next, %c3 : i64
    %low = arith.cmpi sge, %at, %c0 : i64
    %high = arith.cmpi slt, %j, %c4 : i64
    %ok = arith.andi %low, %high : i1
    "fuse.device_assert"(%ok, %true) {message = "outside"} : (i1, i1) -> ()
    %w = "fuse.load"(%x, %ok, %zero, %at) {at = ["i0"]} : (tensor<4xf32>, i1, f32, i64) -> f32
    %s = "fuse.store"(%o, %w, %true) {at = ["d0"], mode = "set"} : (tensor<8xf32>, f32, i1) -> tensor<8xf32>
    return %s : tensor<8xf32>
  }
}

// -----

// Must not fire above: of 9 pixels the last one lies at 3.75, and one of 10 at 4.25.
// CHECK-LABEL: func.func private @k
// CHECK-NOT: arith.cmpi sge
// CHECK: arith.cmpi slt
// CHECK: fuse.device_assert
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<4xf32>, %f: tensor<10xf32>) -> tensor<10xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<10xf32>
    %y = call @k(%x, %f, %o) : (tensor<4xf32>, tensor<10xf32>, tensor<10xf32>) -> tensor<10xf32>
    return %y : tensor<10xf32>
  }
  func.func private @k(%x: tensor<4xf32>, %f: tensor<10xf32>, %o: tensor<10xf32>) -> tensor<10xf32> attributes {fuse.kernel, fuse.dims = {d0 = "10"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %half = arith.constant 0.5 : f32
    %c0 = arith.constant 0 : i64
    %c1 = arith.constant 1 : i64
    %c3 = arith.constant 3 : i64
    %c4 = arith.constant 4 : i64
    %i = "fuse.index"() {expr = "d0"} : () -> i64
    %e = arith.sitofp %i : i64 to f32
    %a = arith.addf %e, %half : f32
    %b = arith.mulf %a, %half : f32
    %h = arith.subf %b, %half : f32
    %m = arith.maximumf %h, %zero : f32
    %j = arith.fptosi %m : f32 to i64
    %next = arith.addi %j, %c1 : i64
    %at = arith.minsi %next, %c3 : i64
    %low = arith.cmpi sge, %at, %c0 : i64
    %high = arith.cmpi slt, %j, %c4 : i64
    %ok = arith.andi %low, %high : i1
    "fuse.device_assert"(%ok, %true) {message = "outside"} : (i1, i1) -> ()
    %w = "fuse.load"(%x, %ok, %zero, %at) {at = ["i0"]} : (tensor<4xf32>, i1, f32, i64) -> f32
    %s = "fuse.store"(%o, %w, %true) {at = ["d0"], mode = "set"} : (tensor<10xf32>, f32, i1) -> tensor<10xf32>
    return %s : tensor<10xf32>
  }
}

// -----

// Must not fire: what is loaded may be NaN, which a maximum keeps.
// CHECK-LABEL: func.func private @k
// CHECK: arith.cmpi sge
// CHECK: arith.cmpi slt
// CHECK: fuse.device_assert
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<4xf32>, %f: tensor<8xf32>) -> tensor<8xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<8xf32>
    %y = call @k(%x, %f, %o) : (tensor<4xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    return %y : tensor<8xf32>
  }
  func.func private @k(%x: tensor<4xf32>, %f: tensor<8xf32>, %o: tensor<8xf32>) -> tensor<8xf32> attributes {fuse.kernel, fuse.dims = {d0 = "8"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %half = arith.constant 0.5 : f32
    %c0 = arith.constant 0 : i64
    %c1 = arith.constant 1 : i64
    %c3 = arith.constant 3 : i64
    %c4 = arith.constant 4 : i64
    %i = "fuse.index"() {expr = "d0"} : () -> i64
    %e = arith.sitofp %i : i64 to f32
    %a = arith.addf %e, %half : f32
    %b = arith.mulf %a, %half : f32
    %v = "fuse.load"(%f, %true, %zero) {at = ["d0"]} : (tensor<8xf32>, i1, f32) -> f32
    %h = arith.subf %b, %half : f32
    %u = arith.addf %h, %v : f32
    %m = arith.maximumf %u, %zero : f32
    %j = arith.fptosi %m : f32 to i64
    %next = arith.addi %j, %c1 : i64
    %at = arith.minsi %next, %c3 : i64
    %low = arith.cmpi sge, %at, %c0 : i64
    %high = arith.cmpi slt, %j, %c4 : i64
    %ok = arith.andi %low, %high : i1
    "fuse.device_assert"(%ok, %true) {message = "outside"} : (i1, i1) -> ()
    %w = "fuse.load"(%x, %ok, %zero, %at) {at = ["i0"]} : (tensor<4xf32>, i1, f32, i64) -> f32
    %s = "fuse.store"(%o, %w, %true) {at = ["d0"], mode = "set"} : (tensor<8xf32>, f32, i1) -> tensor<8xf32>
    return %s : tensor<8xf32>
  }
}

// -----

// Bad input: a load that names an index which it does not take.
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<4x8xf32>, %j: tensor<4xi64>) -> tensor<4xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<4xf32>
    %y = call @k(%x, %j, %o) : (tensor<4x8xf32>, tensor<4xi64>, tensor<4xf32>) -> tensor<4xf32>
    return %y : tensor<4xf32>
  }
  func.func private @k(%x: tensor<4x8xf32>, %j: tensor<4xi64>, %o: tensor<4xf32>) -> tensor<4xf32> attributes {fuse.kernel, fuse.dims = {d0 = "4"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %c0 = arith.constant 0 : i64
    %c4 = arith.constant 4 : i64
    %c8 = arith.constant 8 : i64
    %i = "fuse.index"() {expr = "d0"} : () -> i64
    // expected-error@+1 {{expected coordinates over the dims d0, the sizes none and 1 indices, got i1}}
    %v = "fuse.load"(%x, %true, %zero, %i) {at = ["d0", "i1"]} : (tensor<4x8xf32>, i1, f32, i64) -> f32
    %s = "fuse.store"(%o, %v, %true) {at = ["d0"], mode = "set"} : (tensor<4xf32>, f32, i1) -> tensor<4xf32>
    return %s : tensor<4xf32>
  }
}

// -----

// A distance fits in 32 bits, whose conversion is faster.  What is loaded may be any integer.
// CHECK-LABEL: func.func private @k
// CHECK: %[[D:.*]] = arith.subi
// CHECK: %[[N:.*]] = arith.trunci %[[D]] : i64 to i32
// CHECK: arith.sitofp %[[N]] : i32 to f32
// CHECK: %[[J:.*]] = "fuse.load"(%arg0
// CHECK: arith.sitofp %[[J]] : i64 to f32
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<8xi64>) -> tensor<4x8xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<4x8xf32>
    %r = call @k(%x, %o) : (tensor<8xi64>, tensor<4x8xf32>) -> tensor<4x8xf32>
    return %r : tensor<4x8xf32>
  }
  func.func private @k(%x: tensor<8xi64>, %o: tensor<4x8xf32>) -> tensor<4x8xf32> attributes {fuse.kernel, fuse.dims = {d0 = "4", d1 = "8"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0 : i64
    %i = "fuse.index"() {expr = "d0"} : () -> i64
    %j = "fuse.index"() {expr = "d1"} : () -> i64
    %d = arith.subi %i, %j : i64
    %f = arith.sitofp %d : i64 to f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d1"]} : (tensor<8xi64>, i1, i64) -> i64
    %g = arith.sitofp %v : i64 to f32
    %s = arith.addf %f, %g : f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<4x8xf32>, f32, i1) -> tensor<4x8xf32>
    return %r : tensor<4x8xf32>
  }
}

// -----

// Frames at another rate: 0, 1.3, 2.6, .. in float64, rounded to float32. The last of eight is 9.1.
// CHECK-LABEL: func.func private @k
// CHECK: arith.truncf
// CHECK-NOT: arith.cmpi
// CHECK-NOT: fuse.device_assert
// CHECK: "fuse.load"(%{{.*}}, %true, %{{.*}}) {at = ["i0"]}

// Must not fire: of twelve it is 14.3.
// CHECK-LABEL: func.func private @l
// CHECK: arith.cmpi slt
// CHECK: fuse.device_assert
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<11xf32>) -> (tensor<8xf32>, tensor<12xf32>) {
    %o = "fuse.empty"() {syms = []} : () -> tensor<8xf32>
    %y = call @k(%x, %o) : (tensor<11xf32>, tensor<8xf32>) -> tensor<8xf32>
    %q = "fuse.empty"() {syms = []} : () -> tensor<12xf32>
    %z = call @l(%x, %q) : (tensor<11xf32>, tensor<12xf32>) -> tensor<12xf32>
    return %y, %z : tensor<8xf32>, tensor<12xf32>
  }
  func.func private @k(%x: tensor<11xf32>, %o: tensor<8xf32>) -> tensor<8xf32> attributes {fuse.kernel, fuse.dims = {d0 = "8"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %rate = arith.constant 1.3 : f64
    %c0 = arith.constant 0 : i64
    %c1 = arith.constant 1 : i64
    %c11 = arith.constant 11 : i64
    %i = "fuse.index"() {expr = "d0"} : () -> i64
    %e = arith.sitofp %i : i64 to f64
    %a = arith.mulf %e, %rate : f64
    %b = arith.truncf %a : f64 to f32
    %j = arith.fptosi %b : f32 to i64
    %next = arith.addi %j, %c1 : i64
    %low = arith.cmpi sge, %j, %c0 : i64
    %high = arith.cmpi slt, %next, %c11 : i64
    %ok = arith.andi %low, %high : i1
    "fuse.device_assert"(%ok, %true) {message = "outside"} : (i1, i1) -> ()
    %w = "fuse.load"(%x, %ok, %zero, %next) {at = ["i0"]} : (tensor<11xf32>, i1, f32, i64) -> f32
    %s = "fuse.store"(%o, %w, %true) {at = ["d0"], mode = "set"} : (tensor<8xf32>, f32, i1) -> tensor<8xf32>
    return %s : tensor<8xf32>
  }
  func.func private @l(%x: tensor<11xf32>, %o: tensor<12xf32>) -> tensor<12xf32> attributes {fuse.kernel, fuse.dims = {d0 = "12"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %rate = arith.constant 1.3 : f64
    %c0 = arith.constant 0 : i64
    %c1 = arith.constant 1 : i64
    %c11 = arith.constant 11 : i64
    %i = "fuse.index"() {expr = "d0"} : () -> i64
    %e = arith.sitofp %i : i64 to f64
    %a = arith.mulf %e, %rate : f64
    %b = arith.truncf %a : f64 to f32
    %j = arith.fptosi %b : f32 to i64
    %next = arith.addi %j, %c1 : i64
    %low = arith.cmpi sge, %j, %c0 : i64
    %high = arith.cmpi slt, %next, %c11 : i64
    %ok = arith.andi %low, %high : i1
    "fuse.device_assert"(%ok, %true) {message = "outside"} : (i1, i1) -> ()
    %w = "fuse.load"(%x, %ok, %zero, %next) {at = ["i0"]} : (tensor<11xf32>, i1, f32, i64) -> f32
    %s = "fuse.store"(%o, %w, %true) {at = ["d0"], mode = "set"} : (tensor<12xf32>, f32, i1) -> tensor<12xf32>
    return %s : tensor<12xf32>
  }
}
