// Softmaxes whose probabilities are 0 in rows that see no key: the sums are 0 there instead.
// RUN: fuse-opt %s --pass-pipeline="builtin.module(derive-cascades{hardware=h200 products=generated})" --split-input-file | FileCheck %s
// RUN: fuse-opt %s --pass-pipeline="builtin.module(derive-cascades{hardware=h200 products=generated})" --split-input-file --remarks=text 2>&1 >/dev/null | FileCheck %s --check-prefix=SAID

// All scores of a row are -inf where their maximum is.
// SAID: passed: derive-cascades: cascade
// CHECK: %[[S:.*]]:3 = "fuse.online_dot"
// CHECK-NOT: fuse.reduce
// CHECK: %[[EMPTY:.*]] = arith.cmpf oeq, %[[S]]#1, %{{.*}} : f32
// CHECK: arith.select %[[EMPTY]], %{{.*}}, %{{.*}} : f32
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%q: tensor<2x512x64xbf16>, %k: tensor<2x512x64xbf16>, %v: tensor<2x512x64xbf16>) -> tensor<2x512x64xbf16> {
    %0 = "fuse.empty"() {syms = []} : () -> tensor<2x512x512xf32>
    %1 = call @scores(%q, %k, %0) : (tensor<2x512x64xbf16>, tensor<2x512x64xbf16>, tensor<2x512x512xf32>) -> tensor<2x512x512xf32>
    %2 = "fuse.empty"() {syms = []} : () -> tensor<2x512x512xbf16>
    %3 = call @softmax(%1, %2) : (tensor<2x512x512xf32>, tensor<2x512x512xbf16>) -> tensor<2x512x512xbf16>
    %4 = "fuse.empty"() {syms = []} : () -> tensor<2x512x64xbf16>
    %5 = call @values(%3, %v, %4) : (tensor<2x512x512xbf16>, tensor<2x512x64xbf16>, tensor<2x512x64xbf16>) -> tensor<2x512x64xbf16>
    return %5 : tensor<2x512x64xbf16>
  }
  func.func private @scores(%a: tensor<2x512x64xbf16>, %b: tensor<2x512x64xbf16>, %o: tensor<2x512x512xf32>) -> tensor<2x512x512xf32> attributes {fuse.kernel, fuse.dims = {d0 = "2", d1 = "512", d2 = "512", d3 = "64"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %z0 = arith.constant 0.0 : bf16
    %x = "fuse.load"(%a, %true, %z0) {at = ["d0", "d1", "d3"]} : (tensor<2x512x64xbf16>, i1, bf16) -> bf16
    %y = "fuse.load"(%b, %true, %z0) {at = ["d0", "d2", "d3"]} : (tensor<2x512x64xbf16>, i1, bf16) -> bf16
    %s = "fuse.dot"(%x, %y) {over = ["d3"]} : (bf16, bf16) -> f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d0", "d1", "d2"], mode = "set"} : (tensor<2x512x512xf32>, f32, i1) -> tensor<2x512x512xf32>
    return %r : tensor<2x512x512xf32>
  }
  func.func private @softmax(%a: tensor<2x512x512xf32>, %o: tensor<2x512x512xbf16>) -> tensor<2x512x512xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "2", d1 = "512", d2 = "512"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %lowest = arith.constant 0xFF800000 : f32
    %x = "fuse.load"(%a, %true, %zero) {at = ["d0", "d1", "d2"]} : (tensor<2x512x512xf32>, i1, f32) -> f32
    %m = "fuse.reduce"(%x) {kind = "max", over = ["d2"]} : (f32) -> f32
    %c = arith.subf %x, %m : f32
    %e = math.exp %c : f32
    %l = "fuse.reduce"(%e) {kind = "sum", over = ["d2"]} : (f32) -> f32
    %p = arith.divf %e, %l : f32
    %hidden = arith.cmpf oeq, %x, %lowest : f32
    %empty = "fuse.reduce"(%hidden) {kind = "all", over = ["d2"]} : (i1) -> i1
    %chosen = arith.select %empty, %zero, %p : f32
    %t = arith.truncf %chosen : f32 to bf16
    %r = "fuse.store"(%o, %t, %true) {at = ["d0", "d1", "d2"], mode = "set"} : (tensor<2x512x512xbf16>, bf16, i1) -> tensor<2x512x512xbf16>
    return %r : tensor<2x512x512xbf16>
  }
  func.func private @values(%a: tensor<2x512x512xbf16>, %b: tensor<2x512x64xbf16>, %o: tensor<2x512x64xbf16>) -> tensor<2x512x64xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "2", d1 = "512", d2 = "64", d3 = "512"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %z0 = arith.constant 0.0 : bf16
    %x = "fuse.load"(%a, %true, %z0) {at = ["d0", "d1", "d3"]} : (tensor<2x512x512xbf16>, i1, bf16) -> bf16
    %y = "fuse.load"(%b, %true, %z0) {at = ["d0", "d3", "d2"]} : (tensor<2x512x64xbf16>, i1, bf16) -> bf16
    %s = "fuse.dot"(%x, %y) {over = ["d3"]} : (bf16, bf16) -> f32
    %t = arith.truncf %s : f32 to bf16
    %r = "fuse.store"(%o, %t, %true) {at = ["d0", "d1", "d2"], mode = "set"} : (tensor<2x512x64xbf16>, bf16, i1) -> tensor<2x512x64xbf16>
    return %r : tensor<2x512x64xbf16>
  }
}

// -----

// The same, asked the other way round.
// SAID: passed: derive-cascades: cascade
// CHECK: %[[S:.*]]:3 = "fuse.online_dot"
// CHECK-NOT: fuse.reduce
// CHECK: arith.cmpf oeq, %[[S]]#1, %{{.*}} : f32
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%q: tensor<2x512x64xbf16>, %k: tensor<2x512x64xbf16>, %v: tensor<2x512x64xbf16>) -> tensor<2x512x64xbf16> {
    %0 = "fuse.empty"() {syms = []} : () -> tensor<2x512x512xf32>
    %1 = call @scores(%q, %k, %0) : (tensor<2x512x64xbf16>, tensor<2x512x64xbf16>, tensor<2x512x512xf32>) -> tensor<2x512x512xf32>
    %2 = "fuse.empty"() {syms = []} : () -> tensor<2x512x512xbf16>
    %3 = call @softmax(%1, %2) : (tensor<2x512x512xf32>, tensor<2x512x512xbf16>) -> tensor<2x512x512xbf16>
    %4 = "fuse.empty"() {syms = []} : () -> tensor<2x512x64xbf16>
    %5 = call @values(%3, %v, %4) : (tensor<2x512x512xbf16>, tensor<2x512x64xbf16>, tensor<2x512x64xbf16>) -> tensor<2x512x64xbf16>
    return %5 : tensor<2x512x64xbf16>
  }
  func.func private @scores(%a: tensor<2x512x64xbf16>, %b: tensor<2x512x64xbf16>, %o: tensor<2x512x512xf32>) -> tensor<2x512x512xf32> attributes {fuse.kernel, fuse.dims = {d0 = "2", d1 = "512", d2 = "512", d3 = "64"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %z0 = arith.constant 0.0 : bf16
    %x = "fuse.load"(%a, %true, %z0) {at = ["d0", "d1", "d3"]} : (tensor<2x512x64xbf16>, i1, bf16) -> bf16
    %y = "fuse.load"(%b, %true, %z0) {at = ["d0", "d2", "d3"]} : (tensor<2x512x64xbf16>, i1, bf16) -> bf16
    %s = "fuse.dot"(%x, %y) {over = ["d3"]} : (bf16, bf16) -> f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d0", "d1", "d2"], mode = "set"} : (tensor<2x512x512xf32>, f32, i1) -> tensor<2x512x512xf32>
    return %r : tensor<2x512x512xf32>
  }
  func.func private @softmax(%a: tensor<2x512x512xf32>, %o: tensor<2x512x512xbf16>) -> tensor<2x512x512xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "2", d1 = "512", d2 = "512"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %lowest = arith.constant 0xFF800000 : f32
    %x = "fuse.load"(%a, %true, %zero) {at = ["d0", "d1", "d2"]} : (tensor<2x512x512xf32>, i1, f32) -> f32
    %m = "fuse.reduce"(%x) {kind = "max", over = ["d2"]} : (f32) -> f32
    %c = arith.subf %x, %m : f32
    %e = math.exp %c : f32
    %l = "fuse.reduce"(%e) {kind = "sum", over = ["d2"]} : (f32) -> f32
    %p = arith.divf %e, %l : f32
    %hidden = arith.cmpf oeq, %x, %lowest : f32
    %seen = arith.xori %hidden, %true : i1
    %some = "fuse.reduce"(%seen) {kind = "any", over = ["d2"]} : (i1) -> i1
    %empty = arith.xori %some, %true : i1
    %chosen = arith.select %empty, %zero, %p : f32
    %t = arith.truncf %chosen : f32 to bf16
    %r = "fuse.store"(%o, %t, %true) {at = ["d0", "d1", "d2"], mode = "set"} : (tensor<2x512x512xbf16>, bf16, i1) -> tensor<2x512x512xbf16>
    return %r : tensor<2x512x512xbf16>
  }
  func.func private @values(%a: tensor<2x512x512xbf16>, %b: tensor<2x512x64xbf16>, %o: tensor<2x512x64xbf16>) -> tensor<2x512x64xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "2", d1 = "512", d2 = "64", d3 = "512"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %z0 = arith.constant 0.0 : bf16
    %x = "fuse.load"(%a, %true, %z0) {at = ["d0", "d1", "d3"]} : (tensor<2x512x512xbf16>, i1, bf16) -> bf16
    %y = "fuse.load"(%b, %true, %z0) {at = ["d0", "d3", "d2"]} : (tensor<2x512x64xbf16>, i1, bf16) -> bf16
    %s = "fuse.dot"(%x, %y) {over = ["d3"]} : (bf16, bf16) -> f32
    %t = arith.truncf %s : f32 to bf16
    %r = "fuse.store"(%o, %t, %true) {at = ["d0", "d1", "d2"], mode = "set"} : (tensor<2x512x64xbf16>, bf16, i1) -> tensor<2x512x64xbf16>
    return %r : tensor<2x512x64xbf16>
  }
}

// -----

// Must not fire: whether the sum of another thing along the row holds needs a whole row.
// SAID: missed: derive-cascades: whole-row{{.*}}fuse.reduce (all)
// CHECK: call @scores
// CHECK: call @softmax
// CHECK: call @values
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%q: tensor<2x512x64xbf16>, %k: tensor<2x512x64xbf16>, %v: tensor<2x512x64xbf16>) -> tensor<2x512x64xbf16> {
    %0 = "fuse.empty"() {syms = []} : () -> tensor<2x512x512xf32>
    %1 = call @scores(%q, %k, %0) : (tensor<2x512x64xbf16>, tensor<2x512x64xbf16>, tensor<2x512x512xf32>) -> tensor<2x512x512xf32>
    %2 = "fuse.empty"() {syms = []} : () -> tensor<2x512x512xbf16>
    %3 = call @softmax(%1, %2) : (tensor<2x512x512xf32>, tensor<2x512x512xbf16>) -> tensor<2x512x512xbf16>
    %4 = "fuse.empty"() {syms = []} : () -> tensor<2x512x64xbf16>
    %5 = call @values(%3, %v, %4) : (tensor<2x512x512xbf16>, tensor<2x512x64xbf16>, tensor<2x512x64xbf16>) -> tensor<2x512x64xbf16>
    return %5 : tensor<2x512x64xbf16>
  }
  func.func private @scores(%a: tensor<2x512x64xbf16>, %b: tensor<2x512x64xbf16>, %o: tensor<2x512x512xf32>) -> tensor<2x512x512xf32> attributes {fuse.kernel, fuse.dims = {d0 = "2", d1 = "512", d2 = "512", d3 = "64"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %z0 = arith.constant 0.0 : bf16
    %x = "fuse.load"(%a, %true, %z0) {at = ["d0", "d1", "d3"]} : (tensor<2x512x64xbf16>, i1, bf16) -> bf16
    %y = "fuse.load"(%b, %true, %z0) {at = ["d0", "d2", "d3"]} : (tensor<2x512x64xbf16>, i1, bf16) -> bf16
    %s = "fuse.dot"(%x, %y) {over = ["d3"]} : (bf16, bf16) -> f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d0", "d1", "d2"], mode = "set"} : (tensor<2x512x512xf32>, f32, i1) -> tensor<2x512x512xf32>
    return %r : tensor<2x512x512xf32>
  }
  func.func private @softmax(%a: tensor<2x512x512xf32>, %o: tensor<2x512x512xbf16>) -> tensor<2x512x512xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "2", d1 = "512", d2 = "512"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %lowest = arith.constant 0xFF800000 : f32
    %x = "fuse.load"(%a, %true, %zero) {at = ["d0", "d1", "d2"]} : (tensor<2x512x512xf32>, i1, f32) -> f32
    %m = "fuse.reduce"(%x) {kind = "max", over = ["d2"]} : (f32) -> f32
    %c = arith.subf %x, %m : f32
    %e = math.exp %c : f32
    %l = "fuse.reduce"(%e) {kind = "sum", over = ["d2"]} : (f32) -> f32
    %p = arith.divf %e, %l : f32
    %hidden = arith.cmpf oeq, %x, %lowest : f32
    %small = arith.cmpf olt, %x, %zero : f32
    %empty = "fuse.reduce"(%small) {kind = "all", over = ["d2"]} : (i1) -> i1
    %chosen = arith.select %empty, %zero, %p : f32
    %t = arith.truncf %chosen : f32 to bf16
    %r = "fuse.store"(%o, %t, %true) {at = ["d0", "d1", "d2"], mode = "set"} : (tensor<2x512x512xbf16>, bf16, i1) -> tensor<2x512x512xbf16>
    return %r : tensor<2x512x512xbf16>
  }
  func.func private @values(%a: tensor<2x512x512xbf16>, %b: tensor<2x512x64xbf16>, %o: tensor<2x512x64xbf16>) -> tensor<2x512x64xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "2", d1 = "512", d2 = "64", d3 = "512"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %z0 = arith.constant 0.0 : bf16
    %x = "fuse.load"(%a, %true, %z0) {at = ["d0", "d1", "d3"]} : (tensor<2x512x512xbf16>, i1, bf16) -> bf16
    %y = "fuse.load"(%b, %true, %z0) {at = ["d0", "d3", "d2"]} : (tensor<2x512x64xbf16>, i1, bf16) -> bf16
    %s = "fuse.dot"(%x, %y) {over = ["d3"]} : (bf16, bf16) -> f32
    %t = arith.truncf %s : f32 to bf16
    %r = "fuse.store"(%o, %t, %true) {at = ["d0", "d1", "d2"], mode = "set"} : (tensor<2x512x64xbf16>, bf16, i1) -> tensor<2x512x64xbf16>
    return %r : tensor<2x512x64xbf16>
  }
}
