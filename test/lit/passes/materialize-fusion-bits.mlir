// Bytes of floats that are looked up: the load is behind the guard of the look-up, and gives 0 where it does not hold.
// RUN: fuse-opt %s --pass-pipeline="builtin.module(materialize-fusion)" --split-input-file --verify-each=on | FileCheck %s

// CHECK-LABEL: func.func private @fused_
// CHECK: %[[INSIDE:.*]] = arith.cmpi ult
// CHECK: %[[V:.*]] = "fuse.load"(%arg0, %[[INSIDE]], %{{.*}}, %{{.*}}) {at = ["i0", "d1"]} : (tensor<64x32xf8E4M3FN>
// CHECK-NOT: arith.select
// CHECK: "fuse.store"(%{{.*}}, %[[V]],
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<64x32xf8E4M3FN>, %i: tensor<48xi64>) -> tensor<48x32xf8E4M3FN> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<64x32xui8>
    %a = call @bytes(%x, %o) {fuse.group = 0 : i64} : (tensor<64x32xf8E4M3FN>, tensor<64x32xui8>) -> tensor<64x32xui8>
    %p = "fuse.empty"() {syms = []} : () -> tensor<48x32xf8E4M3FN>
    %b = call @taken(%a, %i, %p) {fuse.group = 0 : i64} : (tensor<64x32xui8>, tensor<48xi64>, tensor<48x32xf8E4M3FN>) -> tensor<48x32xf8E4M3FN>
    return %b : tensor<48x32xf8E4M3FN>
  }
  func.func private @bytes(%x: tensor<64x32xf8E4M3FN>, %o: tensor<64x32xui8>) -> tensor<64x32xui8> attributes {fuse.kernel, fuse.dims = {d0 = "64", d1 = "32"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.000000e+00 : f8E4M3FN
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<64x32xf8E4M3FN>, i1, f8E4M3FN) -> f8E4M3FN
    %bits = arith.bitcast %v : f8E4M3FN to i8
    %out = "fuse.store"(%o, %bits, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<64x32xui8>, i8, i1) -> tensor<64x32xui8>
    return %out : tensor<64x32xui8>
  }
  func.func private @taken(%x: tensor<64x32xui8>, %i: tensor<48xi64>, %o: tensor<48x32xf8E4M3FN>) -> tensor<48x32xf8E4M3FN> attributes {fuse.kernel, fuse.dims = {d0 = "48", d1 = "32"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %none = arith.constant 0 : i64
    %size = arith.constant 64 : i64
    %row = "fuse.load"(%i, %true, %none) {at = ["d0"]} : (tensor<48xi64>, i1, i64) -> i64
    %inside = arith.cmpi ult, %row, %size : i64
    %other = arith.constant 0 : i8
    %bits = "fuse.load"(%x, %inside, %other, %row) {at = ["i0", "d1"]} : (tensor<64x32xui8>, i1, i8, i64) -> i8
    %v = arith.bitcast %bits : i8 to f8E4M3FN
    %out = "fuse.store"(%o, %v, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<48x32xf8E4M3FN>, f8E4M3FN, i1) -> tensor<48x32xf8E4M3FN>
    return %out : tensor<48x32xf8E4M3FN>
  }
}

// -----

// Must not fire: a byte that is not 0 stands where the guard does not hold.
// CHECK-LABEL: func.func private @fused_
// CHECK: arith.select
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<64x32xf8E4M3FN>, %i: tensor<48xi64>) -> tensor<48x32xf8E4M3FN> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<64x32xui8>
    %a = call @bytes(%x, %o) {fuse.group = 0 : i64} : (tensor<64x32xf8E4M3FN>, tensor<64x32xui8>) -> tensor<64x32xui8>
    %p = "fuse.empty"() {syms = []} : () -> tensor<48x32xf8E4M3FN>
    %b = call @taken(%a, %i, %p) {fuse.group = 0 : i64} : (tensor<64x32xui8>, tensor<48xi64>, tensor<48x32xf8E4M3FN>) -> tensor<48x32xf8E4M3FN>
    return %b : tensor<48x32xf8E4M3FN>
  }
  func.func private @bytes(%x: tensor<64x32xf8E4M3FN>, %o: tensor<64x32xui8>) -> tensor<64x32xui8> attributes {fuse.kernel, fuse.dims = {d0 = "64", d1 = "32"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.000000e+00 : f8E4M3FN
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<64x32xf8E4M3FN>, i1, f8E4M3FN) -> f8E4M3FN
    %bits = arith.bitcast %v : f8E4M3FN to i8
    %out = "fuse.store"(%o, %bits, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<64x32xui8>, i8, i1) -> tensor<64x32xui8>
    return %out : tensor<64x32xui8>
  }
  func.func private @taken(%x: tensor<64x32xui8>, %i: tensor<48xi64>, %o: tensor<48x32xf8E4M3FN>) -> tensor<48x32xf8E4M3FN> attributes {fuse.kernel, fuse.dims = {d0 = "48", d1 = "32"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %none = arith.constant 0 : i64
    %size = arith.constant 64 : i64
    %row = "fuse.load"(%i, %true, %none) {at = ["d0"]} : (tensor<48xi64>, i1, i64) -> i64
    %inside = arith.cmpi ult, %row, %size : i64
    %other = arith.constant 7 : i8
    %bits = "fuse.load"(%x, %inside, %other, %row) {at = ["i0", "d1"]} : (tensor<64x32xui8>, i1, i8, i64) -> i8
    %v = arith.bitcast %bits : i8 to f8E4M3FN
    %out = "fuse.store"(%o, %v, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<48x32xf8E4M3FN>, f8E4M3FN, i1) -> tensor<48x32xf8E4M3FN>
    return %out : tensor<48x32xf8E4M3FN>
  }
}

// -----

// Must not fire: minus zero, whose bits are not 0.
// CHECK-LABEL: func.func private @fused_
// CHECK: arith.select
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<64x32xf8E4M3FN>, %i: tensor<48xi64>) -> tensor<48x32xf8E4M3FN> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<64x32xui8>
    %a = call @bytes(%x, %o) {fuse.group = 0 : i64} : (tensor<64x32xf8E4M3FN>, tensor<64x32xui8>) -> tensor<64x32xui8>
    %p = "fuse.empty"() {syms = []} : () -> tensor<48x32xf8E4M3FN>
    %b = call @taken(%a, %i, %p) {fuse.group = 0 : i64} : (tensor<64x32xui8>, tensor<48xi64>, tensor<48x32xf8E4M3FN>) -> tensor<48x32xf8E4M3FN>
    return %b : tensor<48x32xf8E4M3FN>
  }
  func.func private @bytes(%x: tensor<64x32xf8E4M3FN>, %o: tensor<64x32xui8>) -> tensor<64x32xui8> attributes {fuse.kernel, fuse.dims = {d0 = "64", d1 = "32"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant -0.000000e+00 : f8E4M3FN
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<64x32xf8E4M3FN>, i1, f8E4M3FN) -> f8E4M3FN
    %bits = arith.bitcast %v : f8E4M3FN to i8
    %out = "fuse.store"(%o, %bits, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<64x32xui8>, i8, i1) -> tensor<64x32xui8>
    return %out : tensor<64x32xui8>
  }
  func.func private @taken(%x: tensor<64x32xui8>, %i: tensor<48xi64>, %o: tensor<48x32xf8E4M3FN>) -> tensor<48x32xf8E4M3FN> attributes {fuse.kernel, fuse.dims = {d0 = "48", d1 = "32"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %none = arith.constant 0 : i64
    %size = arith.constant 64 : i64
    %row = "fuse.load"(%i, %true, %none) {at = ["d0"]} : (tensor<48xi64>, i1, i64) -> i64
    %inside = arith.cmpi ult, %row, %size : i64
    %other = arith.constant 0 : i8
    %bits = "fuse.load"(%x, %inside, %other, %row) {at = ["i0", "d1"]} : (tensor<64x32xui8>, i1, i8, i64) -> i8
    %v = arith.bitcast %bits : i8 to f8E4M3FN
    %out = "fuse.store"(%o, %v, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<48x32xf8E4M3FN>, f8E4M3FN, i1) -> tensor<48x32xf8E4M3FN>
    return %out : tensor<48x32xf8E4M3FN>
  }
}

// -----

// Must not fire: something is computed of the bytes.
// CHECK-LABEL: func.func private @fused_
// CHECK: arith.select
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<64x32xf8E4M3FN>, %i: tensor<48xi64>) -> tensor<48x32xf8E4M3FN> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<64x32xui8>
    %a = call @bytes(%x, %o) {fuse.group = 0 : i64} : (tensor<64x32xf8E4M3FN>, tensor<64x32xui8>) -> tensor<64x32xui8>
    %p = "fuse.empty"() {syms = []} : () -> tensor<48x32xf8E4M3FN>
    %b = call @taken(%a, %i, %p) {fuse.group = 0 : i64} : (tensor<64x32xui8>, tensor<48xi64>, tensor<48x32xf8E4M3FN>) -> tensor<48x32xf8E4M3FN>
    return %b : tensor<48x32xf8E4M3FN>
  }
  func.func private @bytes(%x: tensor<64x32xf8E4M3FN>, %o: tensor<64x32xui8>) -> tensor<64x32xui8> attributes {fuse.kernel, fuse.dims = {d0 = "64", d1 = "32"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.000000e+00 : f8E4M3FN
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<64x32xf8E4M3FN>, i1, f8E4M3FN) -> f8E4M3FN
    %bits = arith.bitcast %v : f8E4M3FN to i8
    %one = arith.constant 1 : i8
    %made = arith.addi %bits, %one : i8
    %out = "fuse.store"(%o, %made, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<64x32xui8>, i8, i1) -> tensor<64x32xui8>
    return %out : tensor<64x32xui8>
  }
  func.func private @taken(%x: tensor<64x32xui8>, %i: tensor<48xi64>, %o: tensor<48x32xf8E4M3FN>) -> tensor<48x32xf8E4M3FN> attributes {fuse.kernel, fuse.dims = {d0 = "48", d1 = "32"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %none = arith.constant 0 : i64
    %size = arith.constant 64 : i64
    %row = "fuse.load"(%i, %true, %none) {at = ["d0"]} : (tensor<48xi64>, i1, i64) -> i64
    %inside = arith.cmpi ult, %row, %size : i64
    %other = arith.constant 0 : i8
    %bits = "fuse.load"(%x, %inside, %other, %row) {at = ["i0", "d1"]} : (tensor<64x32xui8>, i1, i8, i64) -> i8
    %v = arith.bitcast %bits : i8 to f8E4M3FN
    %out = "fuse.store"(%o, %v, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<48x32xf8E4M3FN>, f8E4M3FN, i1) -> tensor<48x32xf8E4M3FN>
    return %out : tensor<48x32xf8E4M3FN>
  }
}
