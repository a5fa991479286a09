// RUN: fuse-opt %s --pass-pipeline="builtin.module(recompute-producers{hardware=h200 fusions=%S/Inputs/recompute-producers.json})" --split-input-file | FileCheck %s
// RUN: not fuse-opt %s --pass-pipeline="builtin.module(recompute-producers{fusions=%S/Inputs/none.json})" --split-input-file 2>&1 | FileCheck %s --check-prefix=LOST

// LOST: recompute-producers: {{.*}}none.json is no table

// Must not fire: the table says that the wave and the second of its readers are better apart.
// CHECK-LABEL: func.func @main(
// CHECK-NOT: fuse.group
// CHECK: return
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<4096xf32>) -> (tensor<64xf32>, tensor<512xf32>) {
    %o = "fuse.empty"() {syms = []} : () -> tensor<4096xf32>
    %p = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %q = "fuse.empty"() {syms = []} : () -> tensor<512xf32>
    %s = call @wave(%x, %o) : (tensor<4096xf32>, tensor<4096xf32>) -> tensor<4096xf32>
    %c = call @rows(%s, %p) : (tensor<4096xf32>, tensor<64xf32>) -> tensor<64xf32>
    %d = call @columns(%s, %q) : (tensor<4096xf32>, tensor<512xf32>) -> tensor<512xf32>
    return %c, %d : tensor<64xf32>, tensor<512xf32>
  }
  func.func private @wave(%x: tensor<4096xf32>, %o: tensor<4096xf32>) -> tensor<4096xf32> attributes {fuse.kernel, fuse.dims = {d0 = "4096"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<4096xf32>, i1, f32) -> f32
    %r = math.sin %v : f32
    %out = "fuse.store"(%o, %r, %true) {at = ["d0"], mode = "set"} : (tensor<4096xf32>, f32, i1) -> tensor<4096xf32>
    return %out : tensor<4096xf32>
  }
  func.func private @rows(%x: tensor<4096xf32>, %o: tensor<64xf32>) -> tensor<64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64", d1 = "64"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0*64 + d1"]} : (tensor<4096xf32>, i1, f32) -> f32
    %s = "fuse.reduce"(%v) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %out = "fuse.store"(%o, %s, %true) {at = ["d0"], mode = "set"} : (tensor<64xf32>, f32, i1) -> tensor<64xf32>
    return %out : tensor<64xf32>
  }
  func.func private @columns(%x: tensor<4096xf32>, %o: tensor<512xf32>) -> tensor<512xf32> attributes {fuse.kernel, fuse.dims = {d0 = "512", d1 = "8"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0*8 + d1"]} : (tensor<4096xf32>, i1, f32) -> f32
    %s = "fuse.reduce"(%v) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %out = "fuse.store"(%o, %s, %true) {at = ["d0"], mode = "set"} : (tensor<512xf32>, f32, i1) -> tensor<512xf32>
    return %out : tensor<512xf32>
  }
}

// -----

// Of other sizes the table says nothing: each reader computes the wave.
// CHECK-LABEL: func.func @main(
// CHECK-COUNT-2: call @wave({{.*}}) {fuse.group
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<8192xf32>) -> (tensor<128xf32>, tensor<1024xf32>) {
    %o = "fuse.empty"() {syms = []} : () -> tensor<8192xf32>
    %p = "fuse.empty"() {syms = []} : () -> tensor<128xf32>
    %q = "fuse.empty"() {syms = []} : () -> tensor<1024xf32>
    %s = call @wave(%x, %o) : (tensor<8192xf32>, tensor<8192xf32>) -> tensor<8192xf32>
    %c = call @rows(%s, %p) : (tensor<8192xf32>, tensor<128xf32>) -> tensor<128xf32>
    %d = call @columns(%s, %q) : (tensor<8192xf32>, tensor<1024xf32>) -> tensor<1024xf32>
    return %c, %d : tensor<128xf32>, tensor<1024xf32>
  }
  func.func private @wave(%x: tensor<8192xf32>, %o: tensor<8192xf32>) -> tensor<8192xf32> attributes {fuse.kernel, fuse.dims = {d0 = "8192"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<8192xf32>, i1, f32) -> f32
    %r = math.sin %v : f32
    %out = "fuse.store"(%o, %r, %true) {at = ["d0"], mode = "set"} : (tensor<8192xf32>, f32, i1) -> tensor<8192xf32>
    return %out : tensor<8192xf32>
  }
  func.func private @rows(%x: tensor<8192xf32>, %o: tensor<128xf32>) -> tensor<128xf32> attributes {fuse.kernel, fuse.dims = {d0 = "128", d1 = "64"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0*64 + d1"]} : (tensor<8192xf32>, i1, f32) -> f32
    %s = "fuse.reduce"(%v) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %out = "fuse.store"(%o, %s, %true) {at = ["d0"], mode = "set"} : (tensor<128xf32>, f32, i1) -> tensor<128xf32>
    return %out : tensor<128xf32>
  }
  func.func private @columns(%x: tensor<8192xf32>, %o: tensor<1024xf32>) -> tensor<1024xf32> attributes {fuse.kernel, fuse.dims = {d0 = "1024", d1 = "8"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0*8 + d1"]} : (tensor<8192xf32>, i1, f32) -> f32
    %s = "fuse.reduce"(%v) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %out = "fuse.store"(%o, %s, %true) {at = ["d0"], mode = "set"} : (tensor<1024xf32>, f32, i1) -> tensor<1024xf32>
    return %out : tensor<1024xf32>
  }
}
