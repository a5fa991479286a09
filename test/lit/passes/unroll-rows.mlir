// RUN: fuse-opt %s --pass-pipeline="builtin.module(unroll-rows)" --split-input-file --verify-diagnostics | FileCheck %s
// RUN: fuse-opt %s --pass-pipeline="builtin.module(unroll-rows{max-points=1})" --split-input-file --verify-diagnostics | FileCheck %s --check-prefix=ONE
// RUN: fuse-opt %s --pass-pipeline="builtin.module(unroll-rows)" --split-input-file --verify-diagnostics --remarks=text 2>&1 >/dev/null | FileCheck %s --check-prefix=SAID
// SAID: passed: unroll-rows: unrolled

// Two rows share what is read of the weights; each is stored where it was.
// CHECK-LABEL: func.func private @rows
// CHECK-SAME: fuse.dims = {d1 = "64", d2 = "256"}
// CHECK-COUNT-1: {at = ["d1", "d2"]}
// CHECK-DAG: {at = ["0", "d2"]}
// CHECK-DAG: {at = ["1", "d2"]}
// CHECK: %[[S:.*]] = "fuse.reduce"
// CHECK-NEXT: %[[T:.*]] = "fuse.reduce"
// CHECK-NEXT: %[[FIRST:.*]] = "fuse.store"(%arg2, %[[S]], %true) {at = ["0", "d1"], mode = "set"}
// CHECK-NEXT: %[[SECOND:.*]] = "fuse.store"(%[[FIRST]], %[[T]], %true) {at = ["1", "d1"], mode = "set"}
// CHECK-NEXT: return %[[SECOND]]
// ONE-LABEL: func.func private @rows
// ONE-SAME: fuse.dims = {d0 = "2", d1 = "64", d2 = "256"}
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<2x256xf32>, %w: tensor<64x256xf32>) -> tensor<2x64xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<2x64xf32>
    %y = call @rows(%x, %w, %o) : (tensor<2x256xf32>, tensor<64x256xf32>, tensor<2x64xf32>) -> tensor<2x64xf32>
    return %y : tensor<2x64xf32>
  }
  func.func private @rows(%x: tensor<2x256xf32>, %w: tensor<64x256xf32>, %o: tensor<2x64xf32>) -> tensor<2x64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "2", d1 = "64", d2 = "256"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %b = "fuse.load"(%w, %true, %zero) {at = ["d1", "d2"]} : (tensor<64x256xf32>, i1, f32) -> f32
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d2"]} : (tensor<2x256xf32>, i1, f32) -> f32
    %p = arith.mulf %a, %b : f32
    %s = "fuse.reduce"(%p) {kind = "sum", over = ["d2"]} : (f32) -> f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<2x64xf32>, f32, i1) -> tensor<2x64xf32>
    return %r : tensor<2x64xf32>
  }
}

// -----

// Two weights in a byte: which one is known in each copy, and their products are added before the sum.
// CHECK-LABEL: func.func private @halves
// CHECK-SAME: fuse.dims = {d0 = "64", d1 = "128"}
// CHECK-NOT: fuse.index
// CHECK-NOT: arith.select
// CHECK: %[[P:.*]] = arith.mulf
// CHECK-NEXT: %[[Q:.*]] = arith.mulf
// CHECK-NEXT: %[[PQ:.*]] = arith.addf %[[P]], %[[Q]]
// CHECK-NEXT: "fuse.reduce"(%[[PQ]]) {kind = "sum", over = ["d1"]}
// ONE-LABEL: func.func private @halves
// ONE: fuse.index
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<256xf32>, %w: tensor<64x128xui8>) -> tensor<64xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %y = call @halves(%x, %w, %o) : (tensor<256xf32>, tensor<64x128xui8>, tensor<64xf32>) -> tensor<64xf32>
    return %y : tensor<64xf32>
  }
  func.func private @halves(%x: tensor<256xf32>, %w: tensor<64x128xui8>, %o: tensor<64xf32>) -> tensor<64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64", d1 = "128", d2 = "2"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %none = arith.constant 0 : i8
    %low = arith.constant 15 : i8
    %four = arith.constant 4 : i8
    %first = arith.constant 0 : i64
    %byte = "fuse.load"(%w, %true, %none) {at = ["d0", "d1"]} : (tensor<64x128xui8>, i1, i8) -> i8
    %l = arith.andi %byte, %low : i8
    %h = arith.shrui %byte, %four : i8
    %which = "fuse.index"() {expr = "d2"} : () -> i64
    %is_low = arith.cmpi eq, %which, %first : i64
    %half = arith.select %is_low, %l, %h : i8
    %b = arith.uitofp %half : i8 to f32
    %a = "fuse.load"(%x, %true, %zero) {at = ["d1*2 + d2"]} : (tensor<256xf32>, i1, f32) -> f32
    %p = arith.mulf %a, %b : f32
    %s = "fuse.reduce"(%p) {kind = "sum", over = ["d1", "d2"]} : (f32) -> f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d0"], mode = "set"} : (tensor<64xf32>, f32, i1) -> tensor<64xf32>
    return %r : tensor<64xf32>
  }
}

// -----

// Must not fire: five rows are more than four.
// CHECK-LABEL: func.func private @five
// CHECK-SAME: d0 = "5"
// ONE-LABEL: func.func private @five
// ONE-SAME: d0 = "5"
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<5x256xf32>, %w: tensor<64x256xf32>) -> tensor<5x64xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<5x64xf32>
    %y = call @five(%x, %w, %o) : (tensor<5x256xf32>, tensor<64x256xf32>, tensor<5x64xf32>) -> tensor<5x64xf32>
    return %y : tensor<5x64xf32>
  }
  func.func private @five(%x: tensor<5x256xf32>, %w: tensor<64x256xf32>, %o: tensor<5x64xf32>) -> tensor<5x64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "5", d1 = "64", d2 = "256"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %b = "fuse.load"(%w, %true, %zero) {at = ["d1", "d2"]} : (tensor<64x256xf32>, i1, f32) -> f32
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d2"]} : (tensor<5x256xf32>, i1, f32) -> f32
    %p = arith.mulf %a, %b : f32
    %s = "fuse.reduce"(%p) {kind = "sum", over = ["d2"]} : (f32) -> f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<5x64xf32>, f32, i1) -> tensor<5x64xf32>
    return %r : tensor<5x64xf32>
  }
}

// -----

// Must not fire: what is largest runs over the dim, or the reduction is another one.
// CHECK-LABEL: func.func private @own_weights
// CHECK-SAME: d0 = "2"
// CHECK-LABEL: func.func private @largest
// CHECK-SAME: d0 = "2"
// ONE-LABEL: func.func private @largest
// ONE-SAME: d0 = "2"
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<2x256xf32>, %w: tensor<2x64x256xf32>, %v: tensor<64x256xf32>) -> (tensor<2x64xf32>, tensor<2x64xf32>) {
    %o = "fuse.empty"() {syms = []} : () -> tensor<2x64xf32>
    %y = call @own_weights(%x, %w, %o) : (tensor<2x256xf32>, tensor<2x64x256xf32>, tensor<2x64xf32>) -> tensor<2x64xf32>
    %q = "fuse.empty"() {syms = []} : () -> tensor<2x64xf32>
    %z = call @largest(%x, %v, %q) : (tensor<2x256xf32>, tensor<64x256xf32>, tensor<2x64xf32>) -> tensor<2x64xf32>
    return %y, %z : tensor<2x64xf32>, tensor<2x64xf32>
  }
  func.func private @own_weights(%x: tensor<2x256xf32>, %w: tensor<2x64x256xf32>, %o: tensor<2x64xf32>) -> tensor<2x64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "2", d1 = "64", d2 = "256"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %b = "fuse.load"(%w, %true, %zero) {at = ["d0", "d1", "d2"]} : (tensor<2x64x256xf32>, i1, f32) -> f32
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d2"]} : (tensor<2x256xf32>, i1, f32) -> f32
    %p = arith.mulf %a, %b : f32
    %s = "fuse.reduce"(%p) {kind = "sum", over = ["d2"]} : (f32) -> f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<2x64xf32>, f32, i1) -> tensor<2x64xf32>
    return %r : tensor<2x64xf32>
  }
  func.func private @largest(%x: tensor<2x256xf32>, %w: tensor<64x256xf32>, %o: tensor<2x64xf32>) -> tensor<2x64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "2", d1 = "64", d2 = "256"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %b = "fuse.load"(%w, %true, %zero) {at = ["d1", "d2"]} : (tensor<64x256xf32>, i1, f32) -> f32
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d2"]} : (tensor<2x256xf32>, i1, f32) -> f32
    %p = arith.mulf %a, %b : f32
    %s = "fuse.reduce"(%p) {kind = "max", over = ["d2"]} : (f32) -> f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<2x64xf32>, f32, i1) -> tensor<2x64xf32>
    return %r : tensor<2x64xf32>
  }
}

// -----

// Must not fire: rows are added to what lies there already, which is read only where the one store writes.
// CHECK-LABEL: func.func private @added
// CHECK-SAME: d0 = "2"
// CHECK-COUNT-1: "fuse.store"
// ONE-LABEL: func.func private @added
// ONE-SAME: d0 = "2"
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<2x256xf32>, %w: tensor<64x256xf32>, %o: tensor<2x64xf32>) -> tensor<2x64xf32> {
    %y = call @added(%x, %w, %o) : (tensor<2x256xf32>, tensor<64x256xf32>, tensor<2x64xf32>) -> tensor<2x64xf32>
    return {fuse.mutates = {"0" = 2 : i64}} %y : tensor<2x64xf32>
  }
  func.func private @added(%x: tensor<2x256xf32>, %w: tensor<64x256xf32>, %o: tensor<2x64xf32>) -> tensor<2x64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "2", d1 = "64", d2 = "256"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %b = "fuse.load"(%w, %true, %zero) {at = ["d1", "d2"]} : (tensor<64x256xf32>, i1, f32) -> f32
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d2"]} : (tensor<2x256xf32>, i1, f32) -> f32
    %p = arith.mulf %a, %b : f32
    %s = "fuse.reduce"(%p) {kind = "sum", over = ["d2"]} : (f32) -> f32
    %old = "fuse.load"(%o, %true, %zero) {at = ["d0", "d1"]} : (tensor<2x64xf32>, i1, f32) -> f32
    %sum = arith.addf %s, %old : f32
    %r = "fuse.store"(%o, %sum, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<2x64xf32>, f32, i1) -> tensor<2x64xf32>
    return %r : tensor<2x64xf32>
  }
}

// -----

// Rows and columns of a matrix times itself: one store becomes two, and these become four. Equal sums are one.
// CHECK-LABEL: func.func private @gram
// CHECK-SAME: fuse.dims = {d2 = "4096"}
// CHECK-COUNT-3: "fuse.reduce"
// CHECK: "fuse.store"(%{{.*}}) {at = ["0", "0"]
// CHECK-NEXT: "fuse.store"(%{{.*}}) {at = ["0", "1"]
// CHECK-NEXT: "fuse.store"(%{{.*}}) {at = ["1", "0"]
// CHECK-NEXT: %[[R:.*]] = "fuse.store"(%{{.*}}) {at = ["1", "1"]
// CHECK-NEXT: return %[[R]]
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<2x1xf32>, %w: tensor<4096xf32>) -> tensor<2x2xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<2x2xf32>
    %y = call @gram(%x, %w, %o) : (tensor<2x1xf32>, tensor<4096xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
    return %y : tensor<2x2xf32>
  }
  func.func private @gram(%x: tensor<2x1xf32>, %w: tensor<4096xf32>, %o: tensor<2x2xf32>) -> tensor<2x2xf32> attributes {fuse.kernel, fuse.dims = {d0 = "2", d1 = "2", d2 = "4096"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %a = "fuse.load"(%x, %true, %zero) {at = ["d1", "0"]} : (tensor<2x1xf32>, i1, f32) -> f32
    %w0 = "fuse.load"(%w, %true, %zero) {at = ["d2"]} : (tensor<4096xf32>, i1, f32) -> f32
    %b = arith.mulf %a, %w0 : f32
    %c = "fuse.load"(%x, %true, %zero) {at = ["d0", "0"]} : (tensor<2x1xf32>, i1, f32) -> f32
    %d = arith.mulf %c, %w0 : f32
    %e = arith.mulf %d, %b : f32
    %s = "fuse.reduce"(%e) {kind = "sum", over = ["d2"]} : (f32) -> f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<2x2xf32>, f32, i1) -> tensor<2x2xf32>
    return %r : tensor<2x2xf32>
  }
}

// -----

// Bad input: a module without a program.
// expected-error@+1 {{the module has no function @main}}
module attributes {fuse.device = "cpu"} {
}

// -----

// The components of a force share what the distance of two bodies takes, which is computed once, and what is loaded for it: of
// the six coordinates two are there. The sum is not one of products.
// CHECK-LABEL: func.func private @bodies
// CHECK-SAME: fuse.dims = {d0 = "64", d1 = "64"}
// CHECK-COUNT-6: "fuse.load"
// CHECK-NOT: "fuse.load"
// CHECK-COUNT-3: "fuse.reduce"
// CHECK-COUNT-3: "fuse.store"
// ONE-LABEL: func.func private @bodies
// ONE-SAME: d2 = "3"

// Must not fire: as many operations run over the components as do without them.
// CHECK-LABEL: func.func private @near
// CHECK-SAME: d2 = "3"
// ONE-LABEL: func.func private @near
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<64x3xf32>) -> (tensor<64x3xf32>, tensor<64x3xf32>) {
    %o = "fuse.empty"() {syms = []} : () -> tensor<64x3xf32>
    %y = call @bodies(%x, %o) : (tensor<64x3xf32>, tensor<64x3xf32>) -> tensor<64x3xf32>
    %q = "fuse.empty"() {syms = []} : () -> tensor<64x3xf32>
    %z = call @near(%x, %q) : (tensor<64x3xf32>, tensor<64x3xf32>) -> tensor<64x3xf32>
    return %y, %z : tensor<64x3xf32>, tensor<64x3xf32>
  }
  func.func private @bodies(%x: tensor<64x3xf32>, %o: tensor<64x3xf32>) -> tensor<64x3xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64", d1 = "64", d2 = "3"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %soft = arith.constant 0.01 : f32
    %y = "fuse.load"(%x, %true, %zero) {at = ["d1", "0"]} : (tensor<64x3xf32>, i1, f32) -> f32
    %z = "fuse.load"(%x, %true, %zero) {at = ["d0", "0"]} : (tensor<64x3xf32>, i1, f32) -> f32
    %d = arith.subf %y, %z : f32
    %d2 = arith.mulf %d, %d : f32
    %e = arith.addf %d2, %soft : f32
    %n = math.rsqrt %e : f32
    %n2 = arith.mulf %n, %n : f32
    %n3 = arith.mulf %n2, %n : f32
    %n4 = arith.mulf %n3, %n : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d1", "d2"]} : (tensor<64x3xf32>, i1, f32) -> f32
    %w = "fuse.load"(%x, %true, %zero) {at = ["d0", "d2"]} : (tensor<64x3xf32>, i1, f32) -> f32
    %a = arith.subf %v, %w : f32
    %p = arith.mulf %a, %n4 : f32
    %m = arith.maximumf %p, %zero : f32
    %s = "fuse.reduce"(%m) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d0", "d2"], mode = "set"} : (tensor<64x3xf32>, f32, i1) -> tensor<64x3xf32>
    return %r : tensor<64x3xf32>
  }
  func.func private @near(%x: tensor<64x3xf32>, %o: tensor<64x3xf32>) -> tensor<64x3xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64", d1 = "64", d2 = "3"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %soft = arith.constant 0.01 : f32
    %y = "fuse.load"(%x, %true, %zero) {at = ["d1", "0"]} : (tensor<64x3xf32>, i1, f32) -> f32
    %z = "fuse.load"(%x, %true, %zero) {at = ["d0", "0"]} : (tensor<64x3xf32>, i1, f32) -> f32
    %d = arith.subf %y, %z : f32
    %d2 = arith.mulf %d, %d : f32
    %e = arith.addf %d2, %soft : f32
    %n4 = arith.addf %e, %soft : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d1", "d2"]} : (tensor<64x3xf32>, i1, f32) -> f32
    %w = "fuse.load"(%x, %true, %zero) {at = ["d0", "d2"]} : (tensor<64x3xf32>, i1, f32) -> f32
    %a = arith.subf %v, %w : f32
    %p = arith.mulf %a, %n4 : f32
    %m = arith.maximumf %p, %zero : f32
    %s = "fuse.reduce"(%m) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d0", "d2"], mode = "set"} : (tensor<64x3xf32>, f32, i1) -> tensor<64x3xf32>
    return %r : tensor<64x3xf32>
  }
}

// -----

// Must not fire: what is computed for weights has tiles of its own in front of a product, not one for each row.
// CHECK-LABEL: func.func private @multiplied
// CHECK-SAME: d0 = "2"
// CHECK-COUNT-1: "fuse.dot"
// ONE-LABEL: func.func private @multiplied
// ONE-SAME: d0 = "2"
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<2x256xbf16>, %w: tensor<64x256xui8>) -> tensor<2x64xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<2x64xf32>
    %y = call @multiplied(%x, %w, %o) : (tensor<2x256xbf16>, tensor<64x256xui8>, tensor<2x64xf32>) -> tensor<2x64xf32>
    return %y : tensor<2x64xf32>
  }
  func.func private @multiplied(%x: tensor<2x256xbf16>, %w: tensor<64x256xui8>, %o: tensor<2x64xf32>) -> tensor<2x64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "2", d1 = "64", d2 = "4", d3 = "64"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %none = arith.constant 0 : i8
    %low = arith.constant 15 : i8
    %eight = arith.constant 8.0 : f32
    %byte = "fuse.load"(%w, %true, %none) {at = ["d1", "d2*64 + d3"]} : (tensor<64x256xui8>, i1, i8) -> i8
    %l = arith.andi %byte, %low : i8
    %f = arith.uitofp %l : i8 to f32
    %m = arith.subf %f, %eight : f32
    %b = arith.truncf %m : f32 to bf16
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d2*64 + d3"]} : (tensor<2x256xbf16>, i1, bf16) -> bf16
    %p = "fuse.dot"(%a, %b) {over = ["d3"]} : (bf16, bf16) -> f32
    %s = "fuse.reduce"(%p) {kind = "sum", over = ["d2"]} : (f32) -> f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<2x64xf32>, f32, i1) -> tensor<2x64xf32>
    return %r : tensor<2x64xf32>
  }
}

// -----

// Must not fire: two steps are stored in pieces of one tensor; the work of a step is that of its rows.
// CHECK-LABEL: func.func private @pieces
// CHECK-SAME: fuse.dims = {d0 = "2", d1 = "64", d2 = "256"}
// ONE-LABEL: func.func private @pieces
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<2x256xf32>, %w: tensor<64x256xf32>) -> tensor<2x128xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<2x128xf32>
    %y = call @pieces(%x, %w, %o) : (tensor<2x256xf32>, tensor<64x256xf32>, tensor<2x128xf32>) -> tensor<2x128xf32>
    return %y : tensor<2x128xf32>
  }
  func.func private @pieces(%x: tensor<2x256xf32>, %w: tensor<64x256xf32>, %o: tensor<2x128xf32>) -> tensor<2x128xf32> attributes {fuse.kernel, fuse.dims = {d0 = "2", d1 = "64", d2 = "256"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %b = "fuse.load"(%w, %true, %zero) {at = ["d1", "d2"]} : (tensor<64x256xf32>, i1, f32) -> f32
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d2"]} : (tensor<2x256xf32>, i1, f32) -> f32
    %p = arith.mulf %a, %b : f32
    %s = "fuse.reduce"(%p) {kind = "sum", over = ["d2"]} : (f32) -> f32
    %q = arith.mulf %p, %a : f32
    %t = "fuse.reduce"(%q) {kind = "sum", over = ["d2"]} : (f32) -> f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<2x128xf32>, f32, i1) -> tensor<2x128xf32>
    %u = "fuse.store"(%r, %t, %true) {at = ["d0", "d1 + 64"], mode = "set"} : (tensor<2x128xf32>, f32, i1) -> tensor<2x128xf32>
    return %u : tensor<2x128xf32>
  }
}
