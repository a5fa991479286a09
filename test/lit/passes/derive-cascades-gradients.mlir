// Products that sum what is made of the same scores: each becomes a kernel that computes them again.
// RUN: fuse-opt %s --pass-pipeline="builtin.module(derive-cascades{hardware=h200 products=generated})" --split-input-file | FileCheck %s
// RUN: fuse-opt %s --pass-pipeline="builtin.module(derive-cascades{hardware=h200 products=generated})" --split-input-file --remarks=text 2>&1 >/dev/null | FileCheck %s --check-prefix=SAID

// Of values over rows, and of queries over columns.  In the first kernel the scores are multiplied the other way
// round, so that what it sums is a left factor as it is made.
// SAID: passed: derive-cascades: cascade
// SAID: passed: derive-cascades: cascade
// CHECK-LABEL: func.func @main
// CHECK-COUNT-2: call @
// CHECK-NOT: call @
// CHECK: return
// CHECK: fuse.looped
// CHECK: %[[Q:.*]] = "fuse.load"(%arg0
// CHECK: %[[K:.*]] = "fuse.load"(%arg1
// CHECK: %[[S:.*]] = "fuse.dot"(%[[K]], %[[Q]])
// CHECK: %[[P:.*]] = arith.truncf
// CHECK: "fuse.dot"(%[[P]], %{{.*}}) {over = ["d3"]}
// CHECK: fuse.looped
// CHECK: %[[Q:.*]] = "fuse.load"(%arg0
// CHECK: %[[K:.*]] = "fuse.load"(%arg1
// CHECK: %[[S:.*]] = "fuse.dot"(%[[Q]], %[[K]])
// CHECK: %[[P:.*]] = arith.truncf
// CHECK: "fuse.dot"(%[[P]], %{{.*}}) {over = ["d3"]}
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%q: tensor<2x512x64xbf16>, %k: tensor<2x512x64xbf16>, %m: tensor<2x512xf32>, %g: tensor<2x512x64xbf16>) -> (tensor<2x512x64xbf16>, tensor<2x512x64xbf16>) {
    %0 = "fuse.empty"() {syms = []} : () -> tensor<2x512x512xf32>
    %1 = call @scores(%q, %k, %0) : (tensor<2x512x64xbf16>, tensor<2x512x64xbf16>, tensor<2x512x512xf32>) -> tensor<2x512x512xf32>
    %2 = "fuse.empty"() {syms = []} : () -> tensor<2x512x512xbf16>
    %3 = call @weights(%1, %m, %2) : (tensor<2x512x512xf32>, tensor<2x512xf32>, tensor<2x512x512xbf16>) -> tensor<2x512x512xbf16>
    %4 = "fuse.empty"() {syms = []} : () -> tensor<2x512x64xbf16>
    %5 = call @over_rows(%3, %g, %4) : (tensor<2x512x512xbf16>, tensor<2x512x64xbf16>, tensor<2x512x64xbf16>) -> tensor<2x512x64xbf16>
    %6 = "fuse.empty"() {syms = []} : () -> tensor<2x512x64xbf16>
    %7 = call @over_columns(%3, %k, %6) : (tensor<2x512x512xbf16>, tensor<2x512x64xbf16>, tensor<2x512x64xbf16>) -> tensor<2x512x64xbf16>
    return %5, %7 : tensor<2x512x64xbf16>, tensor<2x512x64xbf16>
  }
  func.func private @scores(%a: tensor<2x512x64xbf16>, %b: tensor<2x512x64xbf16>, %o: tensor<2x512x512xf32>) -> tensor<2x512x512xf32> attributes {fuse.kernel, fuse.dims = {d0 = "2", d1 = "512", d2 = "512", d3 = "64"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %x = "fuse.load"(%a, %true, %zero) {at = ["d0", "d1", "d3"]} : (tensor<2x512x64xbf16>, i1, bf16) -> bf16
    %y = "fuse.load"(%b, %true, %zero) {at = ["d0", "d2", "d3"]} : (tensor<2x512x64xbf16>, i1, bf16) -> bf16
    %s = "fuse.dot"(%x, %y) {over = ["d3"]} : (bf16, bf16) -> f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d0", "d1", "d2"], mode = "set"} : (tensor<2x512x512xf32>, f32, i1) -> tensor<2x512x512xf32>
    return %r : tensor<2x512x512xf32>
  }
  func.func private @weights(%a: tensor<2x512x512xf32>, %b: tensor<2x512xf32>, %o: tensor<2x512x512xbf16>) -> tensor<2x512x512xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "2", d1 = "512", d2 = "512"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %x = "fuse.load"(%a, %true, %zero) {at = ["d0", "d1", "d2"]} : (tensor<2x512x512xf32>, i1, f32) -> f32
    %m = "fuse.load"(%b, %true, %zero) {at = ["d0", "d1"]} : (tensor<2x512xf32>, i1, f32) -> f32
    %c = arith.subf %x, %m : f32
    %e = math.exp %c : f32
    %h = arith.truncf %e : f32 to bf16
    %r = "fuse.store"(%o, %h, %true) {at = ["d0", "d1", "d2"], mode = "set"} : (tensor<2x512x512xbf16>, bf16, i1) -> tensor<2x512x512xbf16>
    return %r : tensor<2x512x512xbf16>
  }
  func.func private @over_rows(%a: tensor<2x512x512xbf16>, %b: tensor<2x512x64xbf16>, %o: tensor<2x512x64xbf16>) -> tensor<2x512x64xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "2", d1 = "512", d2 = "64", d3 = "512"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %x = "fuse.load"(%a, %true, %zero) {at = ["d0", "d3", "d1"]} : (tensor<2x512x512xbf16>, i1, bf16) -> bf16
    %y = "fuse.load"(%b, %true, %zero) {at = ["d0", "d3", "d2"]} : (tensor<2x512x64xbf16>, i1, bf16) -> bf16
    %s = "fuse.dot"(%y, %x) {over = ["d3"]} : (bf16, bf16) -> f32
    %h = arith.truncf %s : f32 to bf16
    %r = "fuse.store"(%o, %h, %true) {at = ["d0", "d1", "d2"], mode = "set"} : (tensor<2x512x64xbf16>, bf16, i1) -> tensor<2x512x64xbf16>
    return %r : tensor<2x512x64xbf16>
  }
  func.func private @over_columns(%a: tensor<2x512x512xbf16>, %b: tensor<2x512x64xbf16>, %o: tensor<2x512x64xbf16>) -> tensor<2x512x64xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "2", d1 = "512", d2 = "64", d3 = "512"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %x = "fuse.load"(%a, %true, %zero) {at = ["d0", "d1", "d3"]} : (tensor<2x512x512xbf16>, i1, bf16) -> bf16
    %y = "fuse.load"(%b, %true, %zero) {at = ["d0", "d3", "d2"]} : (tensor<2x512x64xbf16>, i1, bf16) -> bf16
    %s = "fuse.dot"(%x, %y) {over = ["d3"]} : (bf16, bf16) -> f32
    %h = arith.truncf %s : f32 to bf16
    %r = "fuse.store"(%o, %h, %true) {at = ["d0", "d1", "d2"], mode = "set"} : (tensor<2x512x64xbf16>, bf16, i1) -> tensor<2x512x64xbf16>
    return %r : tensor<2x512x64xbf16>
  }
}

// -----

// Two products over rows are one kernel with two results, which has the scores once.
// SAID: passed: derive-cascades: cascade: the chain of products that ends with over_rows becomes one kernel, beside what ends with over_rows
// SAID: passed: derive-cascades: cascade: the chain of products that ends with over_columns becomes one kernel {{\[}}
// CHECK-LABEL: func.func @main
// CHECK-COUNT-2: call @
// CHECK-NOT: call @
// CHECK: return
// CHECK: fuse.looped
// CHECK: %[[S:.*]] = "fuse.dot"
// CHECK: %[[P:.*]] = arith.truncf
// CHECK: "fuse.dot"(%[[P]], %{{.*}}) {over = ["d3"]}
// CHECK: "fuse.dot"(%[[P]], %{{.*}}) {over = ["d3"]}
// CHECK: return %{{.*}}, %{{.*}} :
// CHECK: fuse.looped
// CHECK-COUNT-2: "fuse.dot"
// CHECK-NOT: "fuse.dot"
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%q: tensor<2x512x64xbf16>, %k: tensor<2x512x64xbf16>, %m: tensor<2x512xf32>, %g: tensor<2x512x64xbf16>) -> (tensor<2x512x64xbf16>, tensor<2x512x64xbf16>, tensor<2x512x64xbf16>) {
    %0 = "fuse.empty"() {syms = []} : () -> tensor<2x512x512xf32>
    %1 = call @scores(%q, %k, %0) : (tensor<2x512x64xbf16>, tensor<2x512x64xbf16>, tensor<2x512x512xf32>) -> tensor<2x512x512xf32>
    %2 = "fuse.empty"() {syms = []} : () -> tensor<2x512x512xbf16>
    %3 = call @weights(%1, %m, %2) : (tensor<2x512x512xf32>, tensor<2x512xf32>, tensor<2x512x512xbf16>) -> tensor<2x512x512xbf16>
    %4 = "fuse.empty"() {syms = []} : () -> tensor<2x512x64xbf16>
    %5 = call @over_rows(%3, %g, %4) : (tensor<2x512x512xbf16>, tensor<2x512x64xbf16>, tensor<2x512x64xbf16>) -> tensor<2x512x64xbf16>
    %6 = "fuse.empty"() {syms = []} : () -> tensor<2x512x64xbf16>
    %7 = call @over_columns(%3, %k, %6) : (tensor<2x512x512xbf16>, tensor<2x512x64xbf16>, tensor<2x512x64xbf16>) -> tensor<2x512x64xbf16>
    %8 = "fuse.empty"() {syms = []} : () -> tensor<2x512x64xbf16>
    %9 = call @over_rows(%3, %q, %8) : (tensor<2x512x512xbf16>, tensor<2x512x64xbf16>, tensor<2x512x64xbf16>) -> tensor<2x512x64xbf16>
    return %5, %7, %9 : tensor<2x512x64xbf16>, tensor<2x512x64xbf16>, tensor<2x512x64xbf16>
  }
  func.func private @scores(%a: tensor<2x512x64xbf16>, %b: tensor<2x512x64xbf16>, %o: tensor<2x512x512xf32>) -> tensor<2x512x512xf32> attributes {fuse.kernel, fuse.dims = {d0 = "2", d1 = "512", d2 = "512", d3 = "64"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %x = "fuse.load"(%a, %true, %zero) {at = ["d0", "d1", "d3"]} : (tensor<2x512x64xbf16>, i1, bf16) -> bf16
    %y = "fuse.load"(%b, %true, %zero) {at = ["d0", "d2", "d3"]} : (tensor<2x512x64xbf16>, i1, bf16) -> bf16
    %s = "fuse.dot"(%x, %y) {over = ["d3"]} : (bf16, bf16) -> f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d0", "d1", "d2"], mode = "set"} : (tensor<2x512x512xf32>, f32, i1) -> tensor<2x512x512xf32>
    return %r : tensor<2x512x512xf32>
  }
  func.func private @weights(%a: tensor<2x512x512xf32>, %b: tensor<2x512xf32>, %o: tensor<2x512x512xbf16>) -> tensor<2x512x512xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "2", d1 = "512", d2 = "512"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %x = "fuse.load"(%a, %true, %zero) {at = ["d0", "d1", "d2"]} : (tensor<2x512x512xf32>, i1, f32) -> f32
    %m = "fuse.load"(%b, %true, %zero) {at = ["d0", "d1"]} : (tensor<2x512xf32>, i1, f32) -> f32
    %c = arith.subf %x, %m : f32
    %e = math.exp %c : f32
    %h = arith.truncf %e : f32 to bf16
    %r = "fuse.store"(%o, %h, %true) {at = ["d0", "d1", "d2"], mode = "set"} : (tensor<2x512x512xbf16>, bf16, i1) -> tensor<2x512x512xbf16>
    return %r : tensor<2x512x512xbf16>
  }
  func.func private @over_rows(%a: tensor<2x512x512xbf16>, %b: tensor<2x512x64xbf16>, %o: tensor<2x512x64xbf16>) -> tensor<2x512x64xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "2", d1 = "512", d2 = "64", d3 = "512"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %x = "fuse.load"(%a, %true, %zero) {at = ["d0", "d3", "d1"]} : (tensor<2x512x512xbf16>, i1, bf16) -> bf16
    %y = "fuse.load"(%b, %true, %zero) {at = ["d0", "d3", "d2"]} : (tensor<2x512x64xbf16>, i1, bf16) -> bf16
    %s = "fuse.dot"(%y, %x) {over = ["d3"]} : (bf16, bf16) -> f32
    %h = arith.truncf %s : f32 to bf16
    %r = "fuse.store"(%o, %h, %true) {at = ["d0", "d1", "d2"], mode = "set"} : (tensor<2x512x64xbf16>, bf16, i1) -> tensor<2x512x64xbf16>
    return %r : tensor<2x512x64xbf16>
  }
  func.func private @over_columns(%a: tensor<2x512x512xbf16>, %b: tensor<2x512x64xbf16>, %o: tensor<2x512x64xbf16>) -> tensor<2x512x64xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "2", d1 = "512", d2 = "64", d3 = "512"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %x = "fuse.load"(%a, %true, %zero) {at = ["d0", "d1", "d3"]} : (tensor<2x512x512xbf16>, i1, bf16) -> bf16
    %y = "fuse.load"(%b, %true, %zero) {at = ["d0", "d3", "d2"]} : (tensor<2x512x64xbf16>, i1, bf16) -> bf16
    %s = "fuse.dot"(%x, %y) {over = ["d3"]} : (bf16, bf16) -> f32
    %h = arith.truncf %s : f32 to bf16
    %r = "fuse.store"(%o, %h, %true) {at = ["d0", "d1", "d2"], mode = "set"} : (tensor<2x512x64xbf16>, bf16, i1) -> tensor<2x512x64xbf16>
    return %r : tensor<2x512x64xbf16>
  }
}

// -----

// Must not fire: sums of two results of 256 columns fit in no registers, so that each is a kernel.
// CHECK-LABEL: func.func @main
// CHECK-COUNT-3: call @
// CHECK-NOT: call @
// CHECK: return
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%q: tensor<2x512x256xbf16>, %k: tensor<2x512x256xbf16>, %m: tensor<2x512xf32>, %g: tensor<2x512x256xbf16>) -> (tensor<2x512x256xbf16>, tensor<2x512x256xbf16>, tensor<2x512x256xbf16>) {
    %0 = "fuse.empty"() {syms = []} : () -> tensor<2x512x512xf32>
    %1 = call @scores(%q, %k, %0) : (tensor<2x512x256xbf16>, tensor<2x512x256xbf16>, tensor<2x512x512xf32>) -> tensor<2x512x512xf32>
    %2 = "fuse.empty"() {syms = []} : () -> tensor<2x512x512xbf16>
    %3 = call @weights(%1, %m, %2) : (tensor<2x512x512xf32>, tensor<2x512xf32>, tensor<2x512x512xbf16>) -> tensor<2x512x512xbf16>
    %4 = "fuse.empty"() {syms = []} : () -> tensor<2x512x256xbf16>
    %5 = call @over_rows(%3, %g, %4) : (tensor<2x512x512xbf16>, tensor<2x512x256xbf16>, tensor<2x512x256xbf16>) -> tensor<2x512x256xbf16>
    %6 = "fuse.empty"() {syms = []} : () -> tensor<2x512x256xbf16>
    %7 = call @over_columns(%3, %k, %6) : (tensor<2x512x512xbf16>, tensor<2x512x256xbf16>, tensor<2x512x256xbf16>) -> tensor<2x512x256xbf16>
    %8 = "fuse.empty"() {syms = []} : () -> tensor<2x512x256xbf16>
    %9 = call @over_rows(%3, %q, %8) : (tensor<2x512x512xbf16>, tensor<2x512x256xbf16>, tensor<2x512x256xbf16>) -> tensor<2x512x256xbf16>
    return %5, %7, %9 : tensor<2x512x256xbf16>, tensor<2x512x256xbf16>, tensor<2x512x256xbf16>
  }
  func.func private @scores(%a: tensor<2x512x256xbf16>, %b: tensor<2x512x256xbf16>, %o: tensor<2x512x512xf32>) -> tensor<2x512x512xf32> attributes {fuse.kernel, fuse.dims = {d0 = "2", d1 = "512", d2 = "512", d3 = "256"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %x = "fuse.load"(%a, %true, %zero) {at = ["d0", "d1", "d3"]} : (tensor<2x512x256xbf16>, i1, bf16) -> bf16
    %y = "fuse.load"(%b, %true, %zero) {at = ["d0", "d2", "d3"]} : (tensor<2x512x256xbf16>, i1, bf16) -> bf16
    %s = "fuse.dot"(%x, %y) {over = ["d3"]} : (bf16, bf16) -> f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d0", "d1", "d2"], mode = "set"} : (tensor<2x512x512xf32>, f32, i1) -> tensor<2x512x512xf32>
    return %r : tensor<2x512x512xf32>
  }
  func.func private @weights(%a: tensor<2x512x512xf32>, %b: tensor<2x512xf32>, %o: tensor<2x512x512xbf16>) -> tensor<2x512x512xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "2", d1 = "512", d2 = "512"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %x = "fuse.load"(%a, %true, %zero) {at = ["d0", "d1", "d2"]} : (tensor<2x512x512xf32>, i1, f32) -> f32
    %m = "fuse.load"(%b, %true, %zero) {at = ["d0", "d1"]} : (tensor<2x512xf32>, i1, f32) -> f32
    %c = arith.subf %x, %m : f32
    %e = math.exp %c : f32
    %h = arith.truncf %e : f32 to bf16
    %r = "fuse.store"(%o, %h, %true) {at = ["d0", "d1", "d2"], mode = "set"} : (tensor<2x512x512xbf16>, bf16, i1) -> tensor<2x512x512xbf16>
    return %r : tensor<2x512x512xbf16>
  }
  func.func private @over_rows(%a: tensor<2x512x512xbf16>, %b: tensor<2x512x256xbf16>, %o: tensor<2x512x256xbf16>) -> tensor<2x512x256xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "2", d1 = "512", d2 = "256", d3 = "512"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %x = "fuse.load"(%a, %true, %zero) {at = ["d0", "d3", "d1"]} : (tensor<2x512x512xbf16>, i1, bf16) -> bf16
    %y = "fuse.load"(%b, %true, %zero) {at = ["d0", "d3", "d2"]} : (tensor<2x512x256xbf16>, i1, bf16) -> bf16
    %s = "fuse.dot"(%y, %x) {over = ["d3"]} : (bf16, bf16) -> f32
    %h = arith.truncf %s : f32 to bf16
    %r = "fuse.store"(%o, %h, %true) {at = ["d0", "d1", "d2"], mode = "set"} : (tensor<2x512x256xbf16>, bf16, i1) -> tensor<2x512x256xbf16>
    return %r : tensor<2x512x256xbf16>
  }
  func.func private @over_columns(%a: tensor<2x512x512xbf16>, %b: tensor<2x512x256xbf16>, %o: tensor<2x512x256xbf16>) -> tensor<2x512x256xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "2", d1 = "512", d2 = "256", d3 = "512"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %x = "fuse.load"(%a, %true, %zero) {at = ["d0", "d1", "d3"]} : (tensor<2x512x512xbf16>, i1, bf16) -> bf16
    %y = "fuse.load"(%b, %true, %zero) {at = ["d0", "d3", "d2"]} : (tensor<2x512x256xbf16>, i1, bf16) -> bf16
    %s = "fuse.dot"(%x, %y) {over = ["d3"]} : (bf16, bf16) -> f32
    %h = arith.truncf %s : f32 to bf16
    %r = "fuse.store"(%o, %h, %true) {at = ["d0", "d1", "d2"], mode = "set"} : (tensor<2x512x256xbf16>, bf16, i1) -> tensor<2x512x256xbf16>
    return %r : tensor<2x512x256xbf16>
  }
}

// -----

// Must not fire: the weights are a result as well, so they are stored anyway.
// SAID: missed: derive-cascades: stored{{.*}}by func.return
// CHECK-LABEL: func.func @main
// CHECK: call @scores
// CHECK: call @weights
// CHECK: call @over_columns
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%q: tensor<2x512x64xbf16>, %k: tensor<2x512x64xbf16>, %m: tensor<2x512xf32>) -> (tensor<2x512x64xbf16>, tensor<2x512x512xbf16>) {
    %0 = "fuse.empty"() {syms = []} : () -> tensor<2x512x512xf32>
    %1 = call @scores(%q, %k, %0) : (tensor<2x512x64xbf16>, tensor<2x512x64xbf16>, tensor<2x512x512xf32>) -> tensor<2x512x512xf32>
    %2 = "fuse.empty"() {syms = []} : () -> tensor<2x512x512xbf16>
    %3 = call @weights(%1, %m, %2) : (tensor<2x512x512xf32>, tensor<2x512xf32>, tensor<2x512x512xbf16>) -> tensor<2x512x512xbf16>
    %6 = "fuse.empty"() {syms = []} : () -> tensor<2x512x64xbf16>
    %7 = call @over_columns(%3, %k, %6) : (tensor<2x512x512xbf16>, tensor<2x512x64xbf16>, tensor<2x512x64xbf16>) -> tensor<2x512x64xbf16>
    return %7, %3 : tensor<2x512x64xbf16>, tensor<2x512x512xbf16>
  }
  func.func private @scores(%a: tensor<2x512x64xbf16>, %b: tensor<2x512x64xbf16>, %o: tensor<2x512x512xf32>) -> tensor<2x512x512xf32> attributes {fuse.kernel, fuse.dims = {d0 = "2", d1 = "512", d2 = "512", d3 = "64"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %x = "fuse.load"(%a, %true, %zero) {at = ["d0", "d1", "d3"]} : (tensor<2x512x64xbf16>, i1, bf16) -> bf16
    %y = "fuse.load"(%b, %true, %zero) {at = ["d0", "d2", "d3"]} : (tensor<2x512x64xbf16>, i1, bf16) -> bf16
    %s = "fuse.dot"(%x, %y) {over = ["d3"]} : (bf16, bf16) -> f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d0", "d1", "d2"], mode = "set"} : (tensor<2x512x512xf32>, f32, i1) -> tensor<2x512x512xf32>
    return %r : tensor<2x512x512xf32>
  }
  func.func private @weights(%a: tensor<2x512x512xf32>, %b: tensor<2x512xf32>, %o: tensor<2x512x512xbf16>) -> tensor<2x512x512xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "2", d1 = "512", d2 = "512"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %x = "fuse.load"(%a, %true, %zero) {at = ["d0", "d1", "d2"]} : (tensor<2x512x512xf32>, i1, f32) -> f32
    %m = "fuse.load"(%b, %true, %zero) {at = ["d0", "d1"]} : (tensor<2x512xf32>, i1, f32) -> f32
    %c = arith.subf %x, %m : f32
    %e = math.exp %c : f32
    %h = arith.truncf %e : f32 to bf16
    %r = "fuse.store"(%o, %h, %true) {at = ["d0", "d1", "d2"], mode = "set"} : (tensor<2x512x512xbf16>, bf16, i1) -> tensor<2x512x512xbf16>
    return %r : tensor<2x512x512xbf16>
  }
  func.func private @over_columns(%a: tensor<2x512x512xbf16>, %b: tensor<2x512x64xbf16>, %o: tensor<2x512x64xbf16>) -> tensor<2x512x64xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "2", d1 = "512", d2 = "64", d3 = "512"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %x = "fuse.load"(%a, %true, %zero) {at = ["d0", "d1", "d3"]} : (tensor<2x512x512xbf16>, i1, bf16) -> bf16
    %y = "fuse.load"(%b, %true, %zero) {at = ["d0", "d3", "d2"]} : (tensor<2x512x64xbf16>, i1, bf16) -> bf16
    %s = "fuse.dot"(%x, %y) {over = ["d3"]} : (bf16, bf16) -> f32
    %h = arith.truncf %s : f32 to bf16
    %r = "fuse.store"(%o, %h, %true) {at = ["d0", "d1", "d2"], mode = "set"} : (tensor<2x512x64xbf16>, bf16, i1) -> tensor<2x512x64xbf16>
    return %r : tensor<2x512x64xbf16>
  }
}
