// A softmax whose maximum and sum have a number of each head beside the scores, a sink: what is multiplied is
// exp(x - m), which runs on line, and both sums are scaled by exp(m - c) behind the loop.
// RUN: fuse-opt %s --pass-pipeline="builtin.module(derive-cascades{hardware=h200 products=generated})" --split-input-file --verify-diagnostics | FileCheck %s

// Probabilities are the exponential of a difference with a logarithm, of which a backward pass reads the parts.
// CHECK-LABEL: func.func @main
// CHECK-COUNT-1: call @
// CHECK-NOT: call @
// CHECK: return
// CHECK: fuse.looped
// CHECK: %[[X:.*]] = "fuse.dot"
// CHECK: %{{.*}}:3 = "fuse.online_dot"(%[[X]], %{{.*}})
// CHECK: math.exp
// CHECK-NOT: fuse.reduce
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%q: tensor<2x512x64xbf16>, %k: tensor<2x512x64xbf16>, %v: tensor<2x512x64xbf16>, %s: tensor<2xf32>) -> (tensor<2x512x64xbf16>, tensor<2x512xf32>, tensor<2x512xf32>) {
    %0 = "fuse.empty"() {syms = []} : () -> tensor<2x512x512xf32>
    %1 = call @scores(%q, %k, %0) : (tensor<2x512x64xbf16>, tensor<2x512x64xbf16>, tensor<2x512x512xf32>) -> tensor<2x512x512xf32>
    %2 = "fuse.empty"() {syms = []} : () -> tensor<2x512xf32>
    %3 = "fuse.empty"() {syms = []} : () -> tensor<2x512xf32>
    %4:2 = call @rows(%1, %s, %2, %3) : (tensor<2x512x512xf32>, tensor<2xf32>, tensor<2x512xf32>, tensor<2x512xf32>) -> (tensor<2x512xf32>, tensor<2x512xf32>)
    %5 = "fuse.empty"() {syms = []} : () -> tensor<2x512x512xbf16>
    %6 = call @weights(%1, %4#0, %4#1, %5) : (tensor<2x512x512xf32>, tensor<2x512xf32>, tensor<2x512xf32>, tensor<2x512x512xbf16>) -> tensor<2x512x512xbf16>
    %7 = "fuse.empty"() {syms = []} : () -> tensor<2x512x64xbf16>
    %8 = call @values(%6, %v, %7) : (tensor<2x512x512xbf16>, tensor<2x512x64xbf16>, tensor<2x512x64xbf16>) -> tensor<2x512x64xbf16>
    return %8, %4#0, %4#1 : tensor<2x512x64xbf16>, tensor<2x512xf32>, tensor<2x512xf32>
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
  func.func private @rows(%a: tensor<2x512x512xf32>, %s: tensor<2xf32>, %c: tensor<2x512xf32>, %o: tensor<2x512xf32>) -> (tensor<2x512xf32>, tensor<2x512xf32>) attributes {fuse.kernel, fuse.dims = {d0 = "2", d1 = "512", d2 = "512"}, fuse.ties = array<i64: 2, 3>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %x = "fuse.load"(%a, %true, %zero) {at = ["d0", "d1", "d2"]} : (tensor<2x512x512xf32>, i1, f32) -> f32
    %sink = "fuse.load"(%s, %true, %zero) {at = ["d0"]} : (tensor<2xf32>, i1, f32) -> f32
    %m = "fuse.reduce"(%x) {kind = "max", over = ["d2"]} : (f32) -> f32
    %top = arith.maximumf %m, %sink : f32
    %less = arith.subf %x, %top : f32
    %e = math.exp %less : f32
    %sum = "fuse.reduce"(%e) {kind = "sum", over = ["d2"]} : (f32) -> f32
    %beside = arith.subf %sink, %top : f32
    %b = math.exp %beside : f32
    %l = arith.addf %sum, %b : f32
    %log = math.log %l : f32
    %r = "fuse.store"(%c, %top, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<2x512xf32>, f32, i1) -> tensor<2x512xf32>
    %t = "fuse.store"(%o, %log, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<2x512xf32>, f32, i1) -> tensor<2x512xf32>
    return %r, %t : tensor<2x512xf32>, tensor<2x512xf32>
  }
  func.func private @weights(%a: tensor<2x512x512xf32>, %c: tensor<2x512xf32>, %g: tensor<2x512xf32>, %o: tensor<2x512x512xbf16>) -> tensor<2x512x512xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "2", d1 = "512", d2 = "512"}, fuse.ties = array<i64: 3>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %x = "fuse.load"(%a, %true, %zero) {at = ["d0", "d1", "d2"]} : (tensor<2x512x512xf32>, i1, f32) -> f32
    %top = "fuse.load"(%c, %true, %zero) {at = ["d0", "d1"]} : (tensor<2x512xf32>, i1, f32) -> f32
    %log = "fuse.load"(%g, %true, %zero) {at = ["d0", "d1"]} : (tensor<2x512xf32>, i1, f32) -> f32
    %less = arith.subf %x, %top : f32
    %rest = arith.subf %less, %log : f32
    %e = math.exp %rest : f32
    %h = arith.truncf %e : f32 to bf16
    %r = "fuse.store"(%o, %h, %true) {at = ["d0", "d1", "d2"], mode = "set"} : (tensor<2x512x512xbf16>, bf16, i1) -> tensor<2x512x512xbf16>
    return %r : tensor<2x512x512xbf16>
  }
  func.func private @values(%a: tensor<2x512x512xbf16>, %b: tensor<2x512x64xbf16>, %o: tensor<2x512x64xbf16>) -> tensor<2x512x64xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "2", d1 = "512", d2 = "64", d3 = "512"}, fuse.ties = array<i64: 2>} {
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

// Must not fire: what is subtracted is less than the maximum, so that exponentials have no bound.
// CHECK-LABEL: func.func @main
// CHECK: call @scores
// CHECK: call @rows
// CHECK: call @weights
// CHECK: call @values
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%q: tensor<2x512x64xbf16>, %k: tensor<2x512x64xbf16>, %v: tensor<2x512x64xbf16>, %s: tensor<2xf32>) -> (tensor<2x512x64xbf16>, tensor<2x512xf32>, tensor<2x512xf32>) {
    %0 = "fuse.empty"() {syms = []} : () -> tensor<2x512x512xf32>
    %1 = call @scores(%q, %k, %0) : (tensor<2x512x64xbf16>, tensor<2x512x64xbf16>, tensor<2x512x512xf32>) -> tensor<2x512x512xf32>
    %2 = "fuse.empty"() {syms = []} : () -> tensor<2x512xf32>
    %3 = "fuse.empty"() {syms = []} : () -> tensor<2x512xf32>
    %4:2 = call @rows(%1, %s, %2, %3) : (tensor<2x512x512xf32>, tensor<2xf32>, tensor<2x512xf32>, tensor<2x512xf32>) -> (tensor<2x512xf32>, tensor<2x512xf32>)
    %5 = "fuse.empty"() {syms = []} : () -> tensor<2x512x512xbf16>
    %6 = call @weights(%1, %4#0, %4#1, %5) : (tensor<2x512x512xf32>, tensor<2x512xf32>, tensor<2x512xf32>, tensor<2x512x512xbf16>) -> tensor<2x512x512xbf16>
    %7 = "fuse.empty"() {syms = []} : () -> tensor<2x512x64xbf16>
    %8 = call @values(%6, %v, %7) : (tensor<2x512x512xbf16>, tensor<2x512x64xbf16>, tensor<2x512x64xbf16>) -> tensor<2x512x64xbf16>
    return %8, %4#0, %4#1 : tensor<2x512x64xbf16>, tensor<2x512xf32>, tensor<2x512xf32>
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
  func.func private @rows(%a: tensor<2x512x512xf32>, %s: tensor<2xf32>, %c: tensor<2x512xf32>, %o: tensor<2x512xf32>) -> (tensor<2x512xf32>, tensor<2x512xf32>) attributes {fuse.kernel, fuse.dims = {d0 = "2", d1 = "512", d2 = "512"}, fuse.ties = array<i64: 2, 3>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %x = "fuse.load"(%a, %true, %zero) {at = ["d0", "d1", "d2"]} : (tensor<2x512x512xf32>, i1, f32) -> f32
    %sink = "fuse.load"(%s, %true, %zero) {at = ["d0"]} : (tensor<2xf32>, i1, f32) -> f32
    %m = "fuse.reduce"(%x) {kind = "max", over = ["d2"]} : (f32) -> f32
    %top = arith.minimumf %m, %sink : f32
    %less = arith.subf %x, %top : f32
    %e = math.exp %less : f32
    %sum = "fuse.reduce"(%e) {kind = "sum", over = ["d2"]} : (f32) -> f32
    %beside = arith.subf %sink, %top : f32
    %b = math.exp %beside : f32
    %l = arith.addf %sum, %b : f32
    %log = math.log %l : f32
    %r = "fuse.store"(%c, %top, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<2x512xf32>, f32, i1) -> tensor<2x512xf32>
    %t = "fuse.store"(%o, %log, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<2x512xf32>, f32, i1) -> tensor<2x512xf32>
    return %r, %t : tensor<2x512xf32>, tensor<2x512xf32>
  }
  func.func private @weights(%a: tensor<2x512x512xf32>, %c: tensor<2x512xf32>, %g: tensor<2x512xf32>, %o: tensor<2x512x512xbf16>) -> tensor<2x512x512xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "2", d1 = "512", d2 = "512"}, fuse.ties = array<i64: 3>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %x = "fuse.load"(%a, %true, %zero) {at = ["d0", "d1", "d2"]} : (tensor<2x512x512xf32>, i1, f32) -> f32
    %top = "fuse.load"(%c, %true, %zero) {at = ["d0", "d1"]} : (tensor<2x512xf32>, i1, f32) -> f32
    %log = "fuse.load"(%g, %true, %zero) {at = ["d0", "d1"]} : (tensor<2x512xf32>, i1, f32) -> f32
    %less = arith.subf %x, %top : f32
    %rest = arith.subf %less, %log : f32
    %e = math.exp %rest : f32
    %h = arith.truncf %e : f32 to bf16
    %r = "fuse.store"(%o, %h, %true) {at = ["d0", "d1", "d2"], mode = "set"} : (tensor<2x512x512xbf16>, bf16, i1) -> tensor<2x512x512xbf16>
    return %r : tensor<2x512x512xbf16>
  }
  func.func private @values(%a: tensor<2x512x512xbf16>, %b: tensor<2x512x64xbf16>, %o: tensor<2x512x64xbf16>) -> tensor<2x512x64xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "2", d1 = "512", d2 = "64", d3 = "512"}, fuse.ties = array<i64: 2>} {
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

// Bad input: there is nothing to schedule.
// expected-error @+1 {{the module has no function @main}}
module attributes {fuse.device = "cuda:0"} {
}

// -----

// Must not fire: the total may be below 0, whose logarithm is NaN, and a quotient by it is not.
// CHECK-LABEL: func.func @main
// CHECK: call @scores
// CHECK: call @rows
// CHECK: call @weights
// CHECK: call @values
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%q: tensor<2x512x64xbf16>, %k: tensor<2x512x64xbf16>, %v: tensor<2x512x64xbf16>, %s: tensor<2xf32>) -> (tensor<2x512x64xbf16>, tensor<2x512xf32>, tensor<2x512xf32>) {
    %0 = "fuse.empty"() {syms = []} : () -> tensor<2x512x512xf32>
    %1 = call @scores(%q, %k, %0) : (tensor<2x512x64xbf16>, tensor<2x512x64xbf16>, tensor<2x512x512xf32>) -> tensor<2x512x512xf32>
    %2 = "fuse.empty"() {syms = []} : () -> tensor<2x512xf32>
    %3 = "fuse.empty"() {syms = []} : () -> tensor<2x512xf32>
    %4:2 = call @rows(%1, %s, %2, %3) : (tensor<2x512x512xf32>, tensor<2xf32>, tensor<2x512xf32>, tensor<2x512xf32>) -> (tensor<2x512xf32>, tensor<2x512xf32>)
    %5 = "fuse.empty"() {syms = []} : () -> tensor<2x512x512xbf16>
    %6 = call @weights(%1, %4#0, %4#1, %5) : (tensor<2x512x512xf32>, tensor<2x512xf32>, tensor<2x512xf32>, tensor<2x512x512xbf16>) -> tensor<2x512x512xbf16>
    %7 = "fuse.empty"() {syms = []} : () -> tensor<2x512x64xbf16>
    %8 = call @values(%6, %v, %7) : (tensor<2x512x512xbf16>, tensor<2x512x64xbf16>, tensor<2x512x64xbf16>) -> tensor<2x512x64xbf16>
    return %8, %4#0, %4#1 : tensor<2x512x64xbf16>, tensor<2x512xf32>, tensor<2x512xf32>
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
  func.func private @rows(%a: tensor<2x512x512xf32>, %s: tensor<2xf32>, %c: tensor<2x512xf32>, %o: tensor<2x512xf32>) -> (tensor<2x512xf32>, tensor<2x512xf32>) attributes {fuse.kernel, fuse.dims = {d0 = "2", d1 = "512", d2 = "512"}, fuse.ties = array<i64: 2, 3>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %x = "fuse.load"(%a, %true, %zero) {at = ["d0", "d1", "d2"]} : (tensor<2x512x512xf32>, i1, f32) -> f32
    %sink = "fuse.load"(%s, %true, %zero) {at = ["d0"]} : (tensor<2xf32>, i1, f32) -> f32
    %m = "fuse.reduce"(%x) {kind = "max", over = ["d2"]} : (f32) -> f32
    %top = arith.maximumf %m, %sink : f32
    %less = arith.subf %x, %top : f32
    %e = math.exp %less : f32
    %sum = "fuse.reduce"(%e) {kind = "sum", over = ["d2"]} : (f32) -> f32
    %beside = arith.subf %sink, %top : f32
    %b = math.exp %beside : f32
    %l = arith.subf %sum, %b : f32
    %log = math.log %l : f32
    %r = "fuse.store"(%c, %top, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<2x512xf32>, f32, i1) -> tensor<2x512xf32>
    %t = "fuse.store"(%o, %log, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<2x512xf32>, f32, i1) -> tensor<2x512xf32>
    return %r, %t : tensor<2x512xf32>, tensor<2x512xf32>
  }
  func.func private @weights(%a: tensor<2x512x512xf32>, %c: tensor<2x512xf32>, %g: tensor<2x512xf32>, %o: tensor<2x512x512xbf16>) -> tensor<2x512x512xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "2", d1 = "512", d2 = "512"}, fuse.ties = array<i64: 3>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %x = "fuse.load"(%a, %true, %zero) {at = ["d0", "d1", "d2"]} : (tensor<2x512x512xf32>, i1, f32) -> f32
    %top = "fuse.load"(%c, %true, %zero) {at = ["d0", "d1"]} : (tensor<2x512xf32>, i1, f32) -> f32
    %log = "fuse.load"(%g, %true, %zero) {at = ["d0", "d1"]} : (tensor<2x512xf32>, i1, f32) -> f32
    %less = arith.subf %x, %top : f32
    %rest = arith.subf %less, %log : f32
    %e = math.exp %rest : f32
    %h = arith.truncf %e : f32 to bf16
    %r = "fuse.store"(%o, %h, %true) {at = ["d0", "d1", "d2"], mode = "set"} : (tensor<2x512x512xbf16>, bf16, i1) -> tensor<2x512x512xbf16>
    return %r : tensor<2x512x512xbf16>
  }
  func.func private @values(%a: tensor<2x512x512xbf16>, %b: tensor<2x512x64xbf16>, %o: tensor<2x512x64xbf16>) -> tensor<2x512x64xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "2", d1 = "512", d2 = "64", d3 = "512"}, fuse.ties = array<i64: 2>} {
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
