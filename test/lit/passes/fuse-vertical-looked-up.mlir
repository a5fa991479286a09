// RUN: fuse-opt %s --pass-pipeline="builtin.module(fuse-vertical{hardware=h200})" --split-input-file --remarks=text 2>&1 >/dev/null | FileCheck %s

// A constant is looked up: nothing is read for it, however often.
// CHECK: passed: fuse-vertical: fused, {{.*}}: 2 kernels become one [made + looked_up]
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%i: tensor<8192xi64>) -> tensor<8192xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %y = call @made(%o) : (tensor<64xf32>) -> tensor<64xf32>
    %p = "fuse.empty"() {syms = []} : () -> tensor<8192xf32>
    %z = call @looked_up(%y, %i, %p) : (tensor<64xf32>, tensor<8192xi64>, tensor<8192xf32>) -> tensor<8192xf32>
    return %z : tensor<8192xf32>
  }
  func.func private @made(%o: tensor<64xf32>) -> tensor<64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64"}, fuse.ties = array<i64: 0>} {
    %true = arith.constant true
    %one = arith.constant 1.0 : f32
    %r = "fuse.store"(%o, %one, %true) {at = ["d0"], mode = "set"} : (tensor<64xf32>, f32, i1) -> tensor<64xf32>
    return %r : tensor<64xf32>
  }
  func.func private @looked_up(%x: tensor<64xf32>, %i: tensor<8192xi64>, %o: tensor<8192xf32>) -> tensor<8192xf32> attributes {fuse.kernel, fuse.dims = {d0 = "8192"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %none = arith.constant 0 : i64
    %many = arith.constant 64 : i64
    %at = "fuse.load"(%i, %true, %none) {at = ["d0"]} : (tensor<8192xi64>, i1, i64) -> i64
    %inside = arith.cmpi ult, %at, %many : i64
    %v = "fuse.load"(%x, %inside, %zero, %at) {at = ["i0"]} : (tensor<64xf32>, i1, f32, i64) -> f32
    %r = "fuse.store"(%o, %v, %true) {at = ["d0"], mode = "set"} : (tensor<8192xf32>, f32, i1) -> tensor<8192xf32>
    return %r : tensor<8192xf32>
  }
}

// -----

// Must not fire: the exponentials of a table of 64 elements would be computed for each of 8192 points.
// CHECK: missed: fuse-vertical: recompute, points_before=64, points_after=8192, slots={{.*}}: made and looked_up stay apart: made is expensive and would be computed at more points: keep its result
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%i: tensor<8192xi64>, %x: tensor<64xf32>) -> tensor<8192xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %y = call @made(%x, %o) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    %p = "fuse.empty"() {syms = []} : () -> tensor<8192xf32>
    %z = call @looked_up(%y, %i, %p) : (tensor<64xf32>, tensor<8192xi64>, tensor<8192xf32>) -> tensor<8192xf32>
    return %z : tensor<8192xf32>
  }
  func.func private @made(%x: tensor<64xf32>, %o: tensor<64xf32>) -> tensor<64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<64xf32>, i1, f32) -> f32
    %e = math.exp %v : f32
    %r = "fuse.store"(%o, %e, %true) {at = ["d0"], mode = "set"} : (tensor<64xf32>, f32, i1) -> tensor<64xf32>
    return %r : tensor<64xf32>
  }
  func.func private @looked_up(%x: tensor<64xf32>, %i: tensor<8192xi64>, %o: tensor<8192xf32>) -> tensor<8192xf32> attributes {fuse.kernel, fuse.dims = {d0 = "8192"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %none = arith.constant 0 : i64
    %many = arith.constant 64 : i64
    %at = "fuse.load"(%i, %true, %none) {at = ["d0"]} : (tensor<8192xi64>, i1, i64) -> i64
    %inside = arith.cmpi ult, %at, %many : i64
    %v = "fuse.load"(%x, %inside, %zero, %at) {at = ["i0"]} : (tensor<64xf32>, i1, f32, i64) -> f32
    %r = "fuse.store"(%o, %v, %true) {at = ["d0"], mode = "set"} : (tensor<8192xf32>, f32, i1) -> tensor<8192xf32>
    return %r : tensor<8192xf32>
  }
}

// -----

// Numbers of 16 bits are looked up in the place of the 32 bits that they become.
// CHECK: passed: fuse-vertical: fused, {{.*}}: 2 kernels become one [made + looked_up]
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%i: tensor<8192xi64>, %x: tensor<4096xbf16>) -> tensor<8192xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<4096xf32>
    %y = call @made(%x, %o) : (tensor<4096xbf16>, tensor<4096xf32>) -> tensor<4096xf32>
    %p = "fuse.empty"() {syms = []} : () -> tensor<8192xf32>
    %z = call @looked_up(%y, %i, %p) : (tensor<4096xf32>, tensor<8192xi64>, tensor<8192xf32>) -> tensor<8192xf32>
    return %z : tensor<8192xf32>
  }
  func.func private @made(%x: tensor<4096xbf16>, %o: tensor<4096xf32>) -> tensor<4096xf32> attributes {fuse.kernel, fuse.dims = {d0 = "4096"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<4096xbf16>, i1, bf16) -> bf16
    %e = arith.extf %v : bf16 to f32
    %r = "fuse.store"(%o, %e, %true) {at = ["d0"], mode = "set"} : (tensor<4096xf32>, f32, i1) -> tensor<4096xf32>
    return %r : tensor<4096xf32>
  }
  func.func private @looked_up(%x: tensor<4096xf32>, %i: tensor<8192xi64>, %o: tensor<8192xf32>) -> tensor<8192xf32> attributes {fuse.kernel, fuse.dims = {d0 = "8192"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %none = arith.constant 0 : i64
    %many = arith.constant 4096 : i64
    %at = "fuse.load"(%i, %true, %none) {at = ["d0"]} : (tensor<8192xi64>, i1, i64) -> i64
    %inside = arith.cmpi ult, %at, %many : i64
    %v = "fuse.load"(%x, %inside, %zero, %at) {at = ["i0"]} : (tensor<4096xf32>, i1, f32, i64) -> f32
    %r = "fuse.store"(%o, %v, %true) {at = ["d0"], mode = "set"} : (tensor<8192xf32>, f32, i1) -> tensor<8192xf32>
    return %r : tensor<8192xf32>
  }
}

// -----

// Must not fire: numbers of 32 bits would be looked up, twice as many bytes as of what they become.
// CHECK: missed: fuse-vertical: recompute, points_before=4096, points_after=8192: made and looked_up stay apart: made is looked up: it would read more often, or in pieces
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%i: tensor<8192xi64>, %x: tensor<4096xf32>) -> tensor<8192xbf16> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<4096xbf16>
    %y = call @made(%x, %o) : (tensor<4096xf32>, tensor<4096xbf16>) -> tensor<4096xbf16>
    %p = "fuse.empty"() {syms = []} : () -> tensor<8192xbf16>
    %z = call @looked_up(%y, %i, %p) : (tensor<4096xbf16>, tensor<8192xi64>, tensor<8192xbf16>) -> tensor<8192xbf16>
    return %z : tensor<8192xbf16>
  }
  func.func private @made(%x: tensor<4096xf32>, %o: tensor<4096xbf16>) -> tensor<4096xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "4096"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<4096xf32>, i1, f32) -> f32
    %e = arith.truncf %v : f32 to bf16
    %r = "fuse.store"(%o, %e, %true) {at = ["d0"], mode = "set"} : (tensor<4096xbf16>, bf16, i1) -> tensor<4096xbf16>
    return %r : tensor<4096xbf16>
  }
  func.func private @looked_up(%x: tensor<4096xbf16>, %i: tensor<8192xi64>, %o: tensor<8192xbf16>) -> tensor<8192xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "8192"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %none = arith.constant 0 : i64
    %many = arith.constant 4096 : i64
    %at = "fuse.load"(%i, %true, %none) {at = ["d0"]} : (tensor<8192xi64>, i1, i64) -> i64
    %inside = arith.cmpi ult, %at, %many : i64
    %v = "fuse.load"(%x, %inside, %zero, %at) {at = ["i0"]} : (tensor<4096xbf16>, i1, bf16, i64) -> bf16
    %r = "fuse.store"(%o, %v, %true) {at = ["d0"], mode = "set"} : (tensor<8192xbf16>, bf16, i1) -> tensor<8192xbf16>
    return %r : tensor<8192xbf16>
  }
}
