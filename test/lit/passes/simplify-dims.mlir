// RUN: fuse-opt %s --pass-pipeline="builtin.module(simplify-dims)" --split-input-file --verify-diagnostics | FileCheck %s

// A dim of one point goes, the others merge: the addresses are x + d0 and o + d0.
// CHECK-LABEL: func.func private @merged
// CHECK-SAME: fuse.dims = {d0 = "512"}
// CHECK: "fuse.load"({{.*}}) {at = ["d0 floordiv 64", "0", "d0 mod 64"]}
// CHECK: "fuse.store"({{.*}}) {at = ["d0 floordiv 64", "0", "d0 mod 64"], mode = "set"}
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<8x1x64xf32>) -> tensor<8x1x64xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<8x1x64xf32>
    %y = call @merged(%x, %o) : (tensor<8x1x64xf32>, tensor<8x1x64xf32>) -> tensor<8x1x64xf32>
    return %y : tensor<8x1x64xf32>
  }
  func.func private @merged(%x: tensor<8x1x64xf32>, %o: tensor<8x1x64xf32>) -> tensor<8x1x64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "1", d2 = "64"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1", "d2"]} : (tensor<8x1x64xf32>, i1, f32) -> f32
    %r = arith.negf %v : f32
    %out = "fuse.store"(%o, %r, %true) {at = ["d0", "d1", "d2"], mode = "set"} : (tensor<8x1x64xf32>, f32, i1) -> tensor<8x1x64xf32>
    return %out : tensor<8x1x64xf32>
  }
}

// -----

// Both outer dims and both reduced dims merge, not one with the other.
// CHECK-LABEL: func.func private @rows
// CHECK-SAME: fuse.dims = {d0 = "12", d1 = "40"}
// CHECK: "fuse.reduce"({{.*}}) {kind = "sum", over = ["d1"]}
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<3x4x5x8xf32>) -> tensor<3x4xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<3x4xf32>
    %y = call @rows(%x, %o) : (tensor<3x4x5x8xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
    return %y : tensor<3x4xf32>
  }
  func.func private @rows(%x: tensor<3x4x5x8xf32>, %o: tensor<3x4xf32>) -> tensor<3x4xf32> attributes {fuse.kernel, fuse.dims = {d0 = "3", d1 = "4", d2 = "5", d3 = "8"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1", "d2", "d3"]} : (tensor<3x4x5x8xf32>, i1, f32) -> f32
    %r = "fuse.reduce"(%v) {kind = "sum", over = ["d2", "d3"]} : (f32) -> f32
    %out = "fuse.store"(%o, %r, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<3x4xf32>, f32, i1) -> tensor<3x4xf32>
    return %out : tensor<3x4xf32>
  }
}

// -----

// A flat dim is split where an address would divide by 64: the rows are 128 apart.
// CHECK-LABEL: func.func private @split
// CHECK-SAME: fuse.dims = {d0 = "8", d1 = "64"}
// CHECK: "fuse.load"({{.*}}) {at = ["d0", "d1"]}
// CHECK: "fuse.store"({{.*}}) {at = ["d0*64 + d1"], mode = "set"}
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<8x64xf32, #fuse.layout<"8,64", "128,1", "0", "">>) -> tensor<512xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<512xf32>
    %y = call @split(%x, %o) : (tensor<8x64xf32, #fuse.layout<"8,64", "128,1", "0", "">>, tensor<512xf32>) -> tensor<512xf32>
    return %y : tensor<512xf32>
  }
  func.func private @split(%x: tensor<8x64xf32, #fuse.layout<"8,64", "128,1", "0", "">>, %o: tensor<512xf32>) -> tensor<512xf32> attributes {fuse.kernel, fuse.dims = {d0 = "512"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0 floordiv 64", "d0 mod 64"]} : (tensor<8x64xf32, #fuse.layout<"8,64", "128,1", "0", "">>, i1, f32) -> f32
    %r = arith.negf %v : f32
    %out = "fuse.store"(%o, %r, %true) {at = ["d0"], mode = "set"} : (tensor<512xf32>, f32, i1) -> tensor<512xf32>
    return %out : tensor<512xf32>
  }
}

// -----

// A reduction over one point is its operand.
// CHECK-LABEL: func.func private @single
// CHECK-SAME: fuse.dims = {d0 = "8"}
// CHECK-NOT: fuse.reduce
// CHECK: return
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<8x1xf32>) -> tensor<8xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<8xf32>
    %y = call @single(%x, %o) : (tensor<8x1xf32>, tensor<8xf32>) -> tensor<8xf32>
    return %y : tensor<8xf32>
  }
  func.func private @single(%x: tensor<8x1xf32>, %o: tensor<8xf32>) -> tensor<8xf32> attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "1"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<8x1xf32>, i1, f32) -> f32
    %r = "fuse.reduce"(%v) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %out = "fuse.store"(%o, %r, %true) {at = ["d0"], mode = "set"} : (tensor<8xf32>, f32, i1) -> tensor<8xf32>
    return %out : tensor<8xf32>
  }
}

// -----

// Must not fire: a transposed store, and a scan along the inner dim.
// CHECK-LABEL: func.func private @transposed
// CHECK-SAME: fuse.dims = {d0 = "8", d1 = "64"}
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<8x64xf32>) -> tensor<64x8xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<64x8xf32>
    %y = call @transposed(%x, %o) : (tensor<8x64xf32>, tensor<64x8xf32>) -> tensor<64x8xf32>
    return %y : tensor<64x8xf32>
  }
  func.func private @transposed(%x: tensor<8x64xf32>, %o: tensor<64x8xf32>) -> tensor<64x8xf32> attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "64"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<8x64xf32>, i1, f32) -> f32
    %r = arith.negf %v : f32
    %out = "fuse.store"(%o, %r, %true) {at = ["d1", "d0"], mode = "set"} : (tensor<64x8xf32>, f32, i1) -> tensor<64x8xf32>
    return %out : tensor<64x8xf32>
  }
}

// -----

// Must not fire: merged, the dims would add one division, of the element that each row of the result repeats.
// CHECK-LABEL: func.func private @repeated
// CHECK-SAME: fuse.dims = {d0 = "8", d1 = "64"}
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<8xf32>) -> tensor<8x64xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<8x64xf32>
    %y = call @repeated(%x, %o) : (tensor<8xf32>, tensor<8x64xf32>) -> tensor<8x64xf32>
    return %y : tensor<8x64xf32>
  }
  func.func private @repeated(%x: tensor<8xf32>, %o: tensor<8x64xf32>) -> tensor<8x64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "64"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<8xf32>, i1, f32) -> f32
    %r = arith.negf %v : f32
    %out = "fuse.store"(%o, %r, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<8x64xf32>, f32, i1) -> tensor<8x64xf32>
    return %out : tensor<8x64xf32>
  }
}

// -----

// CHECK-LABEL: func.func private @scanned
// CHECK-SAME: fuse.dims = {d0 = "8", d1 = "64"}
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<8x64xf32>) -> tensor<8x64xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<8x64xf32>
    %y = call @scanned(%x, %o) : (tensor<8x64xf32>, tensor<8x64xf32>) -> tensor<8x64xf32>
    return %y : tensor<8x64xf32>
  }
  func.func private @scanned(%x: tensor<8x64xf32>, %o: tensor<8x64xf32>) -> tensor<8x64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "64"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<8x64xf32>, i1, f32) -> f32
    %r = "fuse.scan"(%v) {kind = "sum", over = "d1", reverse = false} : (f32) -> f32
    %out = "fuse.store"(%o, %r, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<8x64xf32>, f32, i1) -> tensor<8x64xf32>
    return %out : tensor<8x64xf32>
  }
}

// -----

// Must not fire: a sum of rows that are repeated reads each row twice, so the dim that counts both is not split.
// CHECK-LABEL: func.func private @repeated
// CHECK-SAME: fuse.dims = {d0 = "34", d1 = "2", d2 = "3"}
// CHECK: over = ["d0"]
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<17x3xf32>) -> tensor<6xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<6xf32>
    %y = call @repeated(%x, %o) : (tensor<17x3xf32>, tensor<6xf32>) -> tensor<6xf32>
    return %y : tensor<6xf32>
  }
  func.func private @repeated(%x: tensor<17x3xf32>, %o: tensor<6xf32>) -> tensor<6xf32> attributes {fuse.kernel, fuse.dims = {d0 = "34", d1 = "6"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %i = "fuse.index"() {expr = "-(d0 mod 17) + d1 mod 3"} : () -> i64
    %one = arith.constant 1 : i64
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0 mod 17", "d1 mod 3"]} : (tensor<17x3xf32>, i1, f32) -> f32
    %c = arith.cmpi sle, %i, %one : i64
    %t = arith.select %c, %v, %zero : f32
    %s = "fuse.reduce"(%t) {kind = "sum", over = ["d0"]} : (f32) -> f32
    %out = "fuse.store"(%o, %s, %true) {at = ["d1"], mode = "set"} : (tensor<6xf32>, f32, i1) -> tensor<6xf32>
    return %out : tensor<6xf32>
  }
}

// -----

// Bad input: too few coordinates.
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<8x64xf32>) -> tensor<8x64xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<8x64xf32>
    %y = call @bad(%x, %o) : (tensor<8x64xf32>, tensor<8x64xf32>) -> tensor<8x64xf32>
    return %y : tensor<8x64xf32>
  }
  func.func private @bad(%x: tensor<8x64xf32>, %o: tensor<8x64xf32>) -> tensor<8x64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "64"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    // expected-error @+1 {{expected 2 coordinates}}
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<8x64xf32>, i1, f32) -> f32
    %r = arith.negf %v : f32
    %out = "fuse.store"(%o, %r, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<8x64xf32>, f32, i1) -> tensor<8x64xf32>
    return %out : tensor<8x64xf32>
  }
}

// -----

// A tile names the dims that the kernel had, so it goes with them.
// CHECK-LABEL: func.func private @tiled_by_hand
// CHECK-NOT: fuse.tile
// CHECK: fuse.dims = {d0 = "512"}
// CHECK-NOT: fuse.tile
// CHECK: "fuse.load"
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<8x64xf32>) -> tensor<8x64xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<8x64xf32>
    %y = call @tiled_by_hand(%x, %o) : (tensor<8x64xf32>, tensor<8x64xf32>) -> tensor<8x64xf32>
    return %y : tensor<8x64xf32>
  }
  func.func private @tiled_by_hand(%x: tensor<8x64xf32>, %o: tensor<8x64xf32>) -> tensor<8x64xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "64"}, fuse.ties = array<i64: 1>,
                  fuse.tile = {axes = [{block = 1 : i64, dims = ["d0"], kind = "grid"}, {block = 64 : i64, dims = ["d1"], kind = "grid"}], num_stages = 1 : i64, num_warps = 1 : i64}} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<8x64xf32>, i1, f32) -> f32
    %r = arith.negf %v : f32
    %out = "fuse.store"(%o, %r, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<8x64xf32>, f32, i1) -> tensor<8x64xf32>
    return %out : tensor<8x64xf32>
  }
}
