// RUN: fuse-opt %s --pass-pipeline="builtin.module(recompute-rows{hardware=h200})" --split-input-file | FileCheck %s
// RUN: fuse-opt %s --pass-pipeline="builtin.module(recompute-rows{hardware=h200},materialize-fusion,eliminate-dead)" --split-input-file | FileCheck %s --check-prefix=MERGED
// RUN: fuse-opt %s --pass-pipeline="builtin.module(recompute-rows{hardware=h200})" --split-input-file --remarks=text 2>&1 >/dev/null | FileCheck %s --check-prefix=SAID
// RUN: fuse-opt %s --pass-pipeline="builtin.module(recompute-rows{hardware=a100})" --split-input-file | FileCheck %s --check-prefix=OLDER
// RUN: not fuse-opt %s --pass-pipeline="builtin.module(recompute-rows{hardware=abacus})" --split-input-file 2>&1 | FileCheck %s --check-prefix=BAD
// SAID: passed: recompute-rows: recomputed{{.*}}: the programs of 2 products compute the row of norm
// SAID-NOT: recomputed,

// BAD: recompute-rows: unknown hardware 'abacus': expected one of a100,

// Both products compute the norm of %x, each in all of its programs.  Nothing stores it.
// CHECK-LABEL: func.func @main(
// CHECK-SAME: %[[X:[^:]*]]:
// CHECK: %[[A:.*]] = call @norm(%[[X]], %{{.*}}) {fuse.group = 0 : i64}
// CHECK-NEXT: call @product(%[[A]], %{{.*}}) {fuse.group = 0 : i64}
// CHECK: %[[B:.*]] = call @norm(%[[X]], %{{.*}}) {fuse.group = 1 : i64}
// CHECK-NEXT: call @product(%[[B]], %{{.*}}) {fuse.group = 1 : i64}
// OLDER-LABEL: func.func @main(
// OLDER: call @norm(
// OLDER-NOT: fuse.group
// OLDER: return
// MERGED-LABEL: func.func @main(
// MERGED-COUNT-2: call @fused_norm_product
// MERGED-NOT: call @
// MERGED: return
// MERGED: fuse.reduce
// MERGED: fuse.dot
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<1x2048xf32>, %w0: tensor<4096x2048xf32>, %w1: tensor<4096x2048xf32>) -> (tensor<1x4096xf32>, tensor<1x4096xf32>) {
    %o = "fuse.empty"() {syms = []} : () -> tensor<1x2048xf32>
    %y = call @norm(%x, %o) : (tensor<1x2048xf32>, tensor<1x2048xf32>) -> tensor<1x2048xf32>
    %o0 = "fuse.empty"() {syms = []} : () -> tensor<1x4096xf32>
    %p0 = call @product(%y, %w0, %o0) : (tensor<1x2048xf32>, tensor<4096x2048xf32>, tensor<1x4096xf32>) -> tensor<1x4096xf32>
    %o1 = "fuse.empty"() {syms = []} : () -> tensor<1x4096xf32>
    %p1 = call @product(%y, %w1, %o1) : (tensor<1x2048xf32>, tensor<4096x2048xf32>, tensor<1x4096xf32>) -> tensor<1x4096xf32>
    return %p0, %p1 : tensor<1x4096xf32>, tensor<1x4096xf32>
  }
  func.func private @norm(%x: tensor<1x2048xf32>, %o: tensor<1x2048xf32>) -> tensor<1x2048xf32> attributes {fuse.kernel, fuse.dims = {d0 = "2048"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["0", "d0"]} : (tensor<1x2048xf32>, i1, f32) -> f32
    %q = arith.mulf %v, %v : f32
    %s = "fuse.reduce"(%q) {kind = "sum", over = ["d0"]} : (f32) -> f32
    %r = math.rsqrt %s : f32
    %y = arith.mulf %v, %r : f32
    %out = "fuse.store"(%o, %y, %true) {at = ["0", "d0"], mode = "set"} : (tensor<1x2048xf32>, f32, i1) -> tensor<1x2048xf32>
    return %out : tensor<1x2048xf32>
  }
  func.func private @product(%x: tensor<1x2048xf32>, %w: tensor<4096x2048xf32>, %o: tensor<1x4096xf32>) -> tensor<1x4096xf32> attributes {fuse.kernel, fuse.dims = {d0 = "4096", d1 = "2048"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %a = "fuse.load"(%x, %true, %zero) {at = ["0", "d1"]} : (tensor<1x2048xf32>, i1, f32) -> f32
    %b = "fuse.load"(%w, %true, %zero) {at = ["d0", "d1"]} : (tensor<4096x2048xf32>, i1, f32) -> f32
    %s = "fuse.dot"(%a, %b) {over = ["d1"]} : (f32, f32) -> f32
    %out = "fuse.store"(%o, %s, %true) {at = ["0", "d0"], mode = "set"} : (tensor<1x4096xf32>, f32, i1) -> tensor<1x4096xf32>
    return %out : tensor<1x4096xf32>
  }
}

// -----

// Must not fire: something else needs the row in memory.
// CHECK-LABEL: func.func @main(
// CHECK: call @norm(
// CHECK-NOT: fuse.group
// CHECK: call @product(
// CHECK-NOT: fuse.group
// CHECK: return
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<1x2048xf32>, %w0: tensor<4096x2048xf32>, %w1: tensor<4096x2048xf32>) -> (tensor<1x4096xf32>, tensor<1x4096xf32>, tensor<1x2048xf32>) {
    %o = "fuse.empty"() {syms = []} : () -> tensor<1x2048xf32>
    %y = call @norm(%x, %o) : (tensor<1x2048xf32>, tensor<1x2048xf32>) -> tensor<1x2048xf32>
    %o0 = "fuse.empty"() {syms = []} : () -> tensor<1x4096xf32>
    %p0 = call @product(%y, %w0, %o0) : (tensor<1x2048xf32>, tensor<4096x2048xf32>, tensor<1x4096xf32>) -> tensor<1x4096xf32>
    %o1 = "fuse.empty"() {syms = []} : () -> tensor<1x4096xf32>
    %p1 = call @product(%y, %w1, %o1) : (tensor<1x2048xf32>, tensor<4096x2048xf32>, tensor<1x4096xf32>) -> tensor<1x4096xf32>
    return %p0, %p1, %y : tensor<1x4096xf32>, tensor<1x4096xf32>, tensor<1x2048xf32>
  }
  func.func private @norm(%x: tensor<1x2048xf32>, %o: tensor<1x2048xf32>) -> tensor<1x2048xf32> attributes {fuse.kernel, fuse.dims = {d0 = "2048"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["0", "d0"]} : (tensor<1x2048xf32>, i1, f32) -> f32
    %q = arith.mulf %v, %v : f32
    %s = "fuse.reduce"(%q) {kind = "sum", over = ["d0"]} : (f32) -> f32
    %r = math.rsqrt %s : f32
    %y = arith.mulf %v, %r : f32
    %out = "fuse.store"(%o, %y, %true) {at = ["0", "d0"], mode = "set"} : (tensor<1x2048xf32>, f32, i1) -> tensor<1x2048xf32>
    return %out : tensor<1x2048xf32>
  }
  func.func private @product(%x: tensor<1x2048xf32>, %w: tensor<4096x2048xf32>, %o: tensor<1x4096xf32>) -> tensor<1x4096xf32> attributes {fuse.kernel, fuse.dims = {d0 = "4096", d1 = "2048"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %a = "fuse.load"(%x, %true, %zero) {at = ["0", "d1"]} : (tensor<1x2048xf32>, i1, f32) -> f32
    %b = "fuse.load"(%w, %true, %zero) {at = ["d0", "d1"]} : (tensor<4096x2048xf32>, i1, f32) -> f32
    %s = "fuse.dot"(%a, %b) {over = ["d1"]} : (f32, f32) -> f32
    %out = "fuse.store"(%o, %s, %true) {at = ["0", "d0"], mode = "set"} : (tensor<1x4096xf32>, f32, i1) -> tensor<1x4096xf32>
    return %out : tensor<1x4096xf32>
  }
}

// -----

// Must not fire: the row is stored in pieces.
// CHECK-LABEL: func.func @main(
// CHECK: call @norm(
// CHECK-NOT: fuse.group
// CHECK: call @product(
// CHECK-NOT: fuse.group
// CHECK: return
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<1x2048xf32>, %w0: tensor<4096x2048xf32>, %w1: tensor<4096x2048xf32>) -> (tensor<1x4096xf32>, tensor<1x4096xf32>) {
    %o = "fuse.empty"() {syms = []} : () -> tensor<1x2048xf32>
    %y = call @norm(%x, %o) : (tensor<1x2048xf32>, tensor<1x2048xf32>) -> tensor<1x2048xf32>
    %o0 = "fuse.empty"() {syms = []} : () -> tensor<1x4096xf32>
    %p0 = call @product(%y, %w0, %o0) : (tensor<1x2048xf32>, tensor<4096x2048xf32>, tensor<1x4096xf32>) -> tensor<1x4096xf32>
    %o1 = "fuse.empty"() {syms = []} : () -> tensor<1x4096xf32>
    %p1 = call @product(%y, %w1, %o1) : (tensor<1x2048xf32>, tensor<4096x2048xf32>, tensor<1x4096xf32>) -> tensor<1x4096xf32>
    return %p0, %p1 : tensor<1x4096xf32>, tensor<1x4096xf32>
  }
  func.func private @norm(%x: tensor<1x2048xf32>, %o: tensor<1x2048xf32>) -> tensor<1x2048xf32> attributes {fuse.kernel, fuse.dims = {d0 = "2048"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["0", "d0"]} : (tensor<1x2048xf32>, i1, f32) -> f32
    %q = arith.mulf %v, %v : f32
    %s = "fuse.reduce"(%q) {kind = "sum", over = ["d0"]} : (f32) -> f32
    %r = math.rsqrt %s : f32
    %y = arith.mulf %v, %r : f32
    %first = "fuse.index"() {expr = "d0 - 1024"} : () -> i64
    %none = arith.constant 0 : i64
    %in = arith.cmpi slt, %first, %none : i64
    %half = "fuse.store"(%o, %y, %in) {at = ["0", "d0"], mode = "set"} : (tensor<1x2048xf32>, f32, i1) -> tensor<1x2048xf32>
    %behind = arith.cmpi sge, %first, %none : i64
    %n = arith.negf %y : f32
    %out = "fuse.store"(%half, %n, %behind) {at = ["0", "d0"], mode = "set"} : (tensor<1x2048xf32>, f32, i1) -> tensor<1x2048xf32>
    return %out : tensor<1x2048xf32>
  }
  func.func private @product(%x: tensor<1x2048xf32>, %w: tensor<4096x2048xf32>, %o: tensor<1x4096xf32>) -> tensor<1x4096xf32> attributes {fuse.kernel, fuse.dims = {d0 = "4096", d1 = "2048"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %a = "fuse.load"(%x, %true, %zero) {at = ["0", "d1"]} : (tensor<1x2048xf32>, i1, f32) -> f32
    %b = "fuse.load"(%w, %true, %zero) {at = ["d0", "d1"]} : (tensor<4096x2048xf32>, i1, f32) -> f32
    %s = "fuse.dot"(%a, %b) {over = ["d1"]} : (f32, f32) -> f32
    %out = "fuse.store"(%o, %s, %true) {at = ["0", "d0"], mode = "set"} : (tensor<1x4096xf32>, f32, i1) -> tensor<1x4096xf32>
    return %out : tensor<1x4096xf32>
  }
}

// -----

// Must not fire: eight products would each wait for their own row, which takes longer than a launch.
// CHECK-LABEL: func.func @main(
// CHECK: call @norm(
// CHECK-NOT: fuse.group
// CHECK: call @product(
// CHECK-NOT: fuse.group
// CHECK: return
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<1x2048xf32>, %w0: tensor<64x2048xf32>, %w1: tensor<64x2048xf32>, %w2: tensor<64x2048xf32>, %w3: tensor<64x2048xf32>, %w4: tensor<64x2048xf32>, %w5: tensor<64x2048xf32>, %w6: tensor<64x2048xf32>, %w7: tensor<64x2048xf32>) -> (tensor<1x64xf32>, tensor<1x64xf32>, tensor<1x64xf32>, tensor<1x64xf32>, tensor<1x64xf32>, tensor<1x64xf32>, tensor<1x64xf32>, tensor<1x64xf32>) {
    %o = "fuse.empty"() {syms = []} : () -> tensor<1x2048xf32>
    %y = call @norm(%x, %o) : (tensor<1x2048xf32>, tensor<1x2048xf32>) -> tensor<1x2048xf32>
    %o0 = "fuse.empty"() {syms = []} : () -> tensor<1x64xf32>
    %p0 = call @product(%y, %w0, %o0) : (tensor<1x2048xf32>, tensor<64x2048xf32>, tensor<1x64xf32>) -> tensor<1x64xf32>
    %o1 = "fuse.empty"() {syms = []} : () -> tensor<1x64xf32>
    %p1 = call @product(%y, %w1, %o1) : (tensor<1x2048xf32>, tensor<64x2048xf32>, tensor<1x64xf32>) -> tensor<1x64xf32>
    %o2 = "fuse.empty"() {syms = []} : () -> tensor<1x64xf32>
    %p2 = call @product(%y, %w2, %o2) : (tensor<1x2048xf32>, tensor<64x2048xf32>, tensor<1x64xf32>) -> tensor<1x64xf32>
    %o3 = "fuse.empty"() {syms = []} : () -> tensor<1x64xf32>
    %p3 = call @product(%y, %w3, %o3) : (tensor<1x2048xf32>, tensor<64x2048xf32>, tensor<1x64xf32>) -> tensor<1x64xf32>
    %o4 = "fuse.empty"() {syms = []} : () -> tensor<1x64xf32>
    %p4 = call @product(%y, %w4, %o4) : (tensor<1x2048xf32>, tensor<64x2048xf32>, tensor<1x64xf32>) -> tensor<1x64xf32>
    %o5 = "fuse.empty"() {syms = []} : () -> tensor<1x64xf32>
    %p5 = call @product(%y, %w5, %o5) : (tensor<1x2048xf32>, tensor<64x2048xf32>, tensor<1x64xf32>) -> tensor<1x64xf32>
    %o6 = "fuse.empty"() {syms = []} : () -> tensor<1x64xf32>
    %p6 = call @product(%y, %w6, %o6) : (tensor<1x2048xf32>, tensor<64x2048xf32>, tensor<1x64xf32>) -> tensor<1x64xf32>
    %o7 = "fuse.empty"() {syms = []} : () -> tensor<1x64xf32>
    %p7 = call @product(%y, %w7, %o7) : (tensor<1x2048xf32>, tensor<64x2048xf32>, tensor<1x64xf32>) -> tensor<1x64xf32>
    return %p0, %p1, %p2, %p3, %p4, %p5, %p6, %p7 : tensor<1x64xf32>, tensor<1x64xf32>, tensor<1x64xf32>, tensor<1x64xf32>, tensor<1x64xf32>, tensor<1x64xf32>, tensor<1x64xf32>, tensor<1x64xf32>
  }
  func.func private @norm(%x: tensor<1x2048xf32>, %o: tensor<1x2048xf32>) -> tensor<1x2048xf32> attributes {fuse.kernel, fuse.dims = {d0 = "2048"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["0", "d0"]} : (tensor<1x2048xf32>, i1, f32) -> f32
    %q = arith.mulf %v, %v : f32
    %s = "fuse.reduce"(%q) {kind = "sum", over = ["d0"]} : (f32) -> f32
    %r = math.rsqrt %s : f32
    %y = arith.mulf %v, %r : f32
    %out = "fuse.store"(%o, %y, %true) {at = ["0", "d0"], mode = "set"} : (tensor<1x2048xf32>, f32, i1) -> tensor<1x2048xf32>
    return %out : tensor<1x2048xf32>
  }
  func.func private @product(%x: tensor<1x2048xf32>, %w: tensor<64x2048xf32>, %o: tensor<1x64xf32>) -> tensor<1x64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64", d1 = "2048"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %a = "fuse.load"(%x, %true, %zero) {at = ["0", "d1"]} : (tensor<1x2048xf32>, i1, f32) -> f32
    %b = "fuse.load"(%w, %true, %zero) {at = ["d0", "d1"]} : (tensor<64x2048xf32>, i1, f32) -> f32
    %s = "fuse.dot"(%a, %b) {over = ["d1"]} : (f32, f32) -> f32
    %out = "fuse.store"(%o, %s, %true) {at = ["0", "d0"], mode = "set"} : (tensor<1x64xf32>, f32, i1) -> tensor<1x64xf32>
    return %out : tensor<1x64xf32>
  }
}

// -----

// Must not fire: weights of 8 bits are multiplied by tensor cores, a tile at a time.
// CHECK-LABEL: func.func @main(
// CHECK: call @norm(
// CHECK-NOT: fuse.group
// CHECK: call @product(
// CHECK-NOT: fuse.group
// CHECK: return
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<1x2048xf32>, %w0: tensor<4096x2048xi8>, %w1: tensor<4096x2048xi8>) -> (tensor<1x4096xf32>, tensor<1x4096xf32>) {
    %o = "fuse.empty"() {syms = []} : () -> tensor<1x2048xf32>
    %y = call @norm(%x, %o) : (tensor<1x2048xf32>, tensor<1x2048xf32>) -> tensor<1x2048xf32>
    %o0 = "fuse.empty"() {syms = []} : () -> tensor<1x4096xf32>
    %p0 = call @product(%y, %w0, %o0) : (tensor<1x2048xf32>, tensor<4096x2048xi8>, tensor<1x4096xf32>) -> tensor<1x4096xf32>
    %o1 = "fuse.empty"() {syms = []} : () -> tensor<1x4096xf32>
    %p1 = call @product(%y, %w1, %o1) : (tensor<1x2048xf32>, tensor<4096x2048xi8>, tensor<1x4096xf32>) -> tensor<1x4096xf32>
    return %p0, %p1 : tensor<1x4096xf32>, tensor<1x4096xf32>
  }
  func.func private @norm(%x: tensor<1x2048xf32>, %o: tensor<1x2048xf32>) -> tensor<1x2048xf32> attributes {fuse.kernel, fuse.dims = {d0 = "2048"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["0", "d0"]} : (tensor<1x2048xf32>, i1, f32) -> f32
    %q = arith.mulf %v, %v : f32
    %s = "fuse.reduce"(%q) {kind = "sum", over = ["d0"]} : (f32) -> f32
    %r = math.rsqrt %s : f32
    %y = arith.mulf %v, %r : f32
    %out = "fuse.store"(%o, %y, %true) {at = ["0", "d0"], mode = "set"} : (tensor<1x2048xf32>, f32, i1) -> tensor<1x2048xf32>
    return %out : tensor<1x2048xf32>
  }
  func.func private @product(%x: tensor<1x2048xf32>, %ws: tensor<4096x2048xi8>, %o: tensor<1x4096xf32>) -> tensor<1x4096xf32> attributes {fuse.kernel, fuse.dims = {d0 = "4096", d1 = "2048"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %none = arith.constant 0 : i8
    %a = "fuse.load"(%x, %true, %zero) {at = ["0", "d1"]} : (tensor<1x2048xf32>, i1, f32) -> f32
    %h = "fuse.load"(%ws, %true, %none) {at = ["d0", "d1"]} : (tensor<4096x2048xi8>, i1, i8) -> i8
    %w = arith.sitofp %h : i8 to f32
    %s = "fuse.dot"(%a, %w) {over = ["d1"]} : (f32, f32) -> f32
    %out = "fuse.store"(%o, %s, %true) {at = ["0", "d0"], mode = "set"} : (tensor<1x4096xf32>, f32, i1) -> tensor<1x4096xf32>
    return %out : tensor<1x4096xf32>
  }
}

// -----

// Must not fire: there are two rows.
// CHECK-LABEL: func.func @main(
// CHECK: call @norm(
// CHECK-NOT: fuse.group
// CHECK: call @product(
// CHECK-NOT: fuse.group
// CHECK: return
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<2x2048xf32>, %w0: tensor<4096x2048xf32>, %w1: tensor<4096x2048xf32>) -> (tensor<2x4096xf32>, tensor<2x4096xf32>) {
    %o = "fuse.empty"() {syms = []} : () -> tensor<2x2048xf32>
    %y = call @norm(%x, %o) : (tensor<2x2048xf32>, tensor<2x2048xf32>) -> tensor<2x2048xf32>
    %o0 = "fuse.empty"() {syms = []} : () -> tensor<2x4096xf32>
    %p0 = call @product(%y, %w0, %o0) : (tensor<2x2048xf32>, tensor<4096x2048xf32>, tensor<2x4096xf32>) -> tensor<2x4096xf32>
    %o1 = "fuse.empty"() {syms = []} : () -> tensor<2x4096xf32>
    %p1 = call @product(%y, %w1, %o1) : (tensor<2x2048xf32>, tensor<4096x2048xf32>, tensor<2x4096xf32>) -> tensor<2x4096xf32>
    return %p0, %p1 : tensor<2x4096xf32>, tensor<2x4096xf32>
  }
  func.func private @norm(%x: tensor<2x2048xf32>, %o: tensor<2x2048xf32>) -> tensor<2x2048xf32> attributes {fuse.kernel, fuse.dims = {d0 = "2", d1 = "2048"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<2x2048xf32>, i1, f32) -> f32
    %q = arith.mulf %v, %v : f32
    %s = "fuse.reduce"(%q) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %r = math.rsqrt %s : f32
    %y = arith.mulf %v, %r : f32
    %out = "fuse.store"(%o, %y, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<2x2048xf32>, f32, i1) -> tensor<2x2048xf32>
    return %out : tensor<2x2048xf32>
  }
  func.func private @product(%x: tensor<2x2048xf32>, %w: tensor<4096x2048xf32>, %o: tensor<2x4096xf32>) -> tensor<2x4096xf32> attributes {fuse.kernel, fuse.dims = {d0 = "4096", d1 = "2048", d2 = "2"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %a = "fuse.load"(%x, %true, %zero) {at = ["d2", "d1"]} : (tensor<2x2048xf32>, i1, f32) -> f32
    %b = "fuse.load"(%w, %true, %zero) {at = ["d0", "d1"]} : (tensor<4096x2048xf32>, i1, f32) -> f32
    %s = "fuse.dot"(%a, %b) {over = ["d1"]} : (f32, f32) -> f32
    %out = "fuse.store"(%o, %s, %true) {at = ["d2", "d0"], mode = "set"} : (tensor<2x4096xf32>, f32, i1) -> tensor<2x4096xf32>
    return %out : tensor<2x4096xf32>
  }
}
