// Two products, and what is between them, as one kernel that goes through the columns of the first one.
// RUN: fuse-opt %s --pass-pipeline="builtin.module(derive-cascades{hardware=h200 products=generated})" --split-input-file | FileCheck %s
// RUN: not fuse-opt %s --pass-pipeline="builtin.module(derive-cascades{hardware=h1000 products=generated})" --split-input-file 2>&1 | FileCheck %s --check-prefix=BAD
// BAD: derive-cascades: unknown hardware 'h1000'
// RUN: fuse-opt %s --pass-pipeline="builtin.module(derive-cascades{hardware=h200 products=generated})" --split-input-file --remarks=text 2>&1 >/dev/null | FileCheck %s --check-prefix=SAID

// A softmax: its maximum and its sum are kept current, and the division comes last.
// SAID: passed: derive-cascades: cascade
// CHECK-LABEL: func.func @main
// CHECK-COUNT-1: call @
// CHECK-NOT: call @
// CHECK: return
// CHECK: fuse.looped
// CHECK: %[[X:.*]] = "fuse.dot"({{.*}}) {over = ["d4"]}
// CHECK-NOT: fuse.reduce
// CHECK: %[[O:.*]]:3 = "fuse.online_dot"(%[[X]], %{{.*}}) {over = ["d3"]} : (f32, bf16) -> (f32, f32, f32)
// CHECK: arith.divf %[[O]]#0, %[[O]]#2
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
    %zero = arith.constant 0.0 : bf16
    %x = "fuse.load"(%a, %true, %zero) {at = ["d0", "d1", "d3"]} : (tensor<2x512x64xbf16>, i1, bf16) -> bf16
    %y = "fuse.load"(%b, %true, %zero) {at = ["d0", "d2", "d3"]} : (tensor<2x512x64xbf16>, i1, bf16) -> bf16
    %s = "fuse.dot"(%x, %y) {over = ["d3"]} : (bf16, bf16) -> f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d0", "d1", "d2"], mode = "set"} : (tensor<2x512x512xf32>, f32, i1) -> tensor<2x512x512xf32>
    return %r : tensor<2x512x512xf32>
  }
  func.func private @softmax(%a: tensor<2x512x512xf32>, %o: tensor<2x512x512xbf16>) -> tensor<2x512x512xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "2", d1 = "512", d2 = "512"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %x = "fuse.load"(%a, %true, %zero) {at = ["d0", "d1", "d2"]} : (tensor<2x512x512xf32>, i1, f32) -> f32
    %m = "fuse.reduce"(%x) {kind = "max", over = ["d2"]} : (f32) -> f32
    %c = arith.subf %x, %m : f32
    %e = math.exp %c : f32
    %l = "fuse.reduce"(%e) {kind = "sum", over = ["d2"]} : (f32) -> f32
    %p = arith.divf %e, %l : f32
    %h = arith.truncf %p : f32 to bf16
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

// A sum that a kernel behind the last product makes of the exponentials, as a result.
// SAID: passed: derive-cascades: cascade
// CHECK-LABEL: func.func @main
// CHECK-COUNT-1: call @
// CHECK-NOT: call @
// CHECK: return
// CHECK: %[[O:.*]]:3 = "fuse.online_dot"
// CHECK-DAG: "fuse.store"(%{{.*}}, %[[O]]#2,
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%q: tensor<2x512x64xbf16>, %k: tensor<2x512x64xbf16>, %v: tensor<2x512x64xbf16>) -> (tensor<2x512x64xbf16>, tensor<2x512xf32>) {
    %0 = "fuse.empty"() {syms = []} : () -> tensor<2x512x512xf32>
    %1 = call @scores(%q, %k, %0) : (tensor<2x512x64xbf16>, tensor<2x512x64xbf16>, tensor<2x512x512xf32>) -> tensor<2x512x512xf32>
    %2 = "fuse.empty"() {syms = []} : () -> tensor<2x512x512xbf16>
    %3 = call @softmax(%1, %2) : (tensor<2x512x512xf32>, tensor<2x512x512xbf16>) -> tensor<2x512x512xbf16>
    %4 = "fuse.empty"() {syms = []} : () -> tensor<2x512x64xbf16>
    %5 = call @values(%3, %v, %4) : (tensor<2x512x512xbf16>, tensor<2x512x64xbf16>, tensor<2x512x64xbf16>) -> tensor<2x512x64xbf16>
    %6 = "fuse.empty"() {syms = []} : () -> tensor<2x512xf32>
    %7 = call @total(%3, %6) : (tensor<2x512x512xbf16>, tensor<2x512xf32>) -> tensor<2x512xf32>
    return %5, %7 : tensor<2x512x64xbf16>, tensor<2x512xf32>
  }
  func.func private @total(%p: tensor<2x512x512xbf16>, %o: tensor<2x512xf32>) -> tensor<2x512xf32> attributes {fuse.kernel, fuse.dims = {d0 = "2", d1 = "512", d2 = "512"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %x = "fuse.load"(%p, %true, %zero) {at = ["d0", "d1", "d2"]} : (tensor<2x512x512xbf16>, i1, bf16) -> bf16
    %w = arith.extf %x : bf16 to f32
    %l = "fuse.reduce"(%w) {kind = "sum", over = ["d2"]} : (f32) -> f32
    %r = "fuse.store"(%o, %l, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<2x512xf32>, f32, i1) -> tensor<2x512xf32>
    return %r : tensor<2x512xf32>
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
  func.func private @softmax(%a: tensor<2x512x512xf32>, %o: tensor<2x512x512xbf16>) -> tensor<2x512x512xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "2", d1 = "512", d2 = "512"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %x = "fuse.load"(%a, %true, %zero) {at = ["d0", "d1", "d2"]} : (tensor<2x512x512xf32>, i1, f32) -> f32
    %m = "fuse.reduce"(%x) {kind = "max", over = ["d2"]} : (f32) -> f32
    %c = arith.subf %x, %m : f32
    %e = math.exp %c : f32
    %h = arith.truncf %e {fuse.implicit} : f32 to bf16
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

// A number beside the scores: what is subtracted is at least their maximum, so the sums get a factor of at most 1.
// SAID: passed: derive-cascades: cascade
// CHECK-LABEL: func.func @main
// CHECK-COUNT-1: call @
// CHECK-NOT: call @
// CHECK: return
// CHECK: %[[O:.*]]:3 = "fuse.online_dot"
// CHECK: %[[C:.*]] = arith.maximumf %[[O]]#1, %{{.*}} : f32
// CHECK: arith.subf %[[O]]#1, %[[C]]
// CHECK: arith.subf %[[C]], %[[C]]
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
    %zero = arith.constant 0.0 : bf16
    %x = "fuse.load"(%a, %true, %zero) {at = ["d0", "d1", "d3"]} : (tensor<2x512x64xbf16>, i1, bf16) -> bf16
    %y = "fuse.load"(%b, %true, %zero) {at = ["d0", "d2", "d3"]} : (tensor<2x512x64xbf16>, i1, bf16) -> bf16
    %s = "fuse.dot"(%x, %y) {over = ["d3"]} : (bf16, bf16) -> f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d0", "d1", "d2"], mode = "set"} : (tensor<2x512x512xf32>, f32, i1) -> tensor<2x512x512xf32>
    return %r : tensor<2x512x512xf32>
  }
  func.func private @softmax(%a: tensor<2x512x512xf32>, %o: tensor<2x512x512xbf16>) -> tensor<2x512x512xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "2", d1 = "512", d2 = "512"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %x = "fuse.load"(%a, %true, %zero) {at = ["d0", "d1", "d2"]} : (tensor<2x512x512xf32>, i1, f32) -> f32
    %m = "fuse.reduce"(%x) {kind = "max", over = ["d2"]} : (f32) -> f32
    %s = arith.constant 1.5 : f32
    %t = arith.maximumf %m, %s : f32
    %c = arith.subf %x, %t : f32
    %e = math.exp %c : f32
    %u = "fuse.reduce"(%e) {kind = "sum", over = ["d2"]} : (f32) -> f32
    %b = arith.subf %s, %t : f32
    %z = math.exp %b : f32
    %l = arith.addf %u, %z : f32
    %p = arith.divf %e, %l : f32
    %h = arith.truncf %p : f32 to bf16
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

// Must not fire: what is subtracted is not known to be at least the maximum.
// SAID: missed: derive-cascades: whole-row
// CHECK-LABEL: func.func @main
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
    %zero = arith.constant 0.0 : bf16
    %x = "fuse.load"(%a, %true, %zero) {at = ["d0", "d1", "d3"]} : (tensor<2x512x64xbf16>, i1, bf16) -> bf16
    %y = "fuse.load"(%b, %true, %zero) {at = ["d0", "d2", "d3"]} : (tensor<2x512x64xbf16>, i1, bf16) -> bf16
    %s = "fuse.dot"(%x, %y) {over = ["d3"]} : (bf16, bf16) -> f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d0", "d1", "d2"], mode = "set"} : (tensor<2x512x512xf32>, f32, i1) -> tensor<2x512x512xf32>
    return %r : tensor<2x512x512xf32>
  }
  func.func private @softmax(%a: tensor<2x512x512xf32>, %o: tensor<2x512x512xbf16>) -> tensor<2x512x512xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "2", d1 = "512", d2 = "512"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %x = "fuse.load"(%a, %true, %zero) {at = ["d0", "d1", "d2"]} : (tensor<2x512x512xf32>, i1, f32) -> f32
    %m = "fuse.reduce"(%x) {kind = "max", over = ["d2"]} : (f32) -> f32
    %s = arith.constant 1.5 : f32
    %t = arith.addf %m, %s : f32
    %c = arith.subf %x, %t : f32
    %e = math.exp %c : f32
    %u = "fuse.reduce"(%e) {kind = "sum", over = ["d2"]} : (f32) -> f32
    %b = arith.subf %s, %t : f32
    %z = math.exp %b : f32
    %l = arith.addf %u, %z : f32
    %p = arith.divf %e, %l : f32
    %h = arith.truncf %p : f32 to bf16
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

// What each score becomes by itself needs no fold: both products stay.
// SAID: passed: derive-cascades: cascade
// CHECK-LABEL: func.func @main
// CHECK-COUNT-1: call @
// CHECK-NOT: call @
// CHECK: return
// CHECK: "fuse.dot"({{.*}}) {over = ["d4"]}
// CHECK: math.tanh
// CHECK: "fuse.dot"({{.*}}) {over = ["d3"]}
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%q: tensor<2x512x64xbf16>, %k: tensor<2x512x64xbf16>, %v: tensor<2x512x64xbf16>) -> tensor<2x512x64xbf16> {
    %0 = "fuse.empty"() {syms = []} : () -> tensor<2x512x512xf32>
    %1 = call @scores(%q, %k, %0) : (tensor<2x512x64xbf16>, tensor<2x512x64xbf16>, tensor<2x512x512xf32>) -> tensor<2x512x512xf32>
    %2 = "fuse.empty"() {syms = []} : () -> tensor<2x512x512xbf16>
    %3 = call @tanh(%1, %2) : (tensor<2x512x512xf32>, tensor<2x512x512xbf16>) -> tensor<2x512x512xbf16>
    %4 = "fuse.empty"() {syms = []} : () -> tensor<2x512x64xbf16>
    %5 = call @values(%3, %v, %4) : (tensor<2x512x512xbf16>, tensor<2x512x64xbf16>, tensor<2x512x64xbf16>) -> tensor<2x512x64xbf16>
    return %5 : tensor<2x512x64xbf16>
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
  func.func private @tanh(%a: tensor<2x512x512xf32>, %o: tensor<2x512x512xbf16>) -> tensor<2x512x512xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "2", d1 = "512", d2 = "512"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %x = "fuse.load"(%a, %true, %zero) {at = ["d0", "d1", "d2"]} : (tensor<2x512x512xf32>, i1, f32) -> f32
    %p = math.tanh %x : f32
    %h = arith.truncf %p : f32 to bf16
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

// Must not fire: the probabilities are a result.
// SAID: missed: derive-cascades: stored
// CHECK-LABEL: func.func @main
// CHECK: call @scores
// CHECK: call @softmax
// CHECK: call @values
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%q: tensor<2x512x64xbf16>, %k: tensor<2x512x64xbf16>, %v: tensor<2x512x64xbf16>) -> (tensor<2x512x64xbf16>, tensor<2x512x512xbf16>) {
    %0 = "fuse.empty"() {syms = []} : () -> tensor<2x512x512xf32>
    %1 = call @scores(%q, %k, %0) : (tensor<2x512x64xbf16>, tensor<2x512x64xbf16>, tensor<2x512x512xf32>) -> tensor<2x512x512xf32>
    %2 = "fuse.empty"() {syms = []} : () -> tensor<2x512x512xbf16>
    %3 = call @softmax(%1, %2) : (tensor<2x512x512xf32>, tensor<2x512x512xbf16>) -> tensor<2x512x512xbf16>
    %4 = "fuse.empty"() {syms = []} : () -> tensor<2x512x64xbf16>
    %5 = call @values(%3, %v, %4) : (tensor<2x512x512xbf16>, tensor<2x512x64xbf16>, tensor<2x512x64xbf16>) -> tensor<2x512x64xbf16>
    return %5, %3 : tensor<2x512x64xbf16>, tensor<2x512x512xbf16>
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
  func.func private @softmax(%a: tensor<2x512x512xf32>, %o: tensor<2x512x512xbf16>) -> tensor<2x512x512xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "2", d1 = "512", d2 = "512"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %x = "fuse.load"(%a, %true, %zero) {at = ["d0", "d1", "d2"]} : (tensor<2x512x512xf32>, i1, f32) -> f32
    %m = "fuse.reduce"(%x) {kind = "max", over = ["d2"]} : (f32) -> f32
    %c = arith.subf %x, %m : f32
    %e = math.exp %c : f32
    %l = "fuse.reduce"(%e) {kind = "sum", over = ["d2"]} : (f32) -> f32
    %p = arith.divf %e, %l : f32
    %h = arith.truncf %p : f32 to bf16
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

// Must not fire: the mean of a row is subtracted from each score, so the row is needed first.
// SAID: missed: derive-cascades: whole-row{{.*}}fuse.reduce (sum) over
// CHECK-LABEL: func.func @main
// CHECK: call @scores
// CHECK: call @center
// CHECK: call @values
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%q: tensor<2x512x64xbf16>, %k: tensor<2x512x64xbf16>, %v: tensor<2x512x64xbf16>) -> tensor<2x512x64xbf16> {
    %0 = "fuse.empty"() {syms = []} : () -> tensor<2x512x512xf32>
    %1 = call @scores(%q, %k, %0) : (tensor<2x512x64xbf16>, tensor<2x512x64xbf16>, tensor<2x512x512xf32>) -> tensor<2x512x512xf32>
    %2 = "fuse.empty"() {syms = []} : () -> tensor<2x512x512xbf16>
    %3 = call @center(%1, %2) : (tensor<2x512x512xf32>, tensor<2x512x512xbf16>) -> tensor<2x512x512xbf16>
    %4 = "fuse.empty"() {syms = []} : () -> tensor<2x512x64xbf16>
    %5 = call @values(%3, %v, %4) : (tensor<2x512x512xbf16>, tensor<2x512x64xbf16>, tensor<2x512x64xbf16>) -> tensor<2x512x64xbf16>
    return %5 : tensor<2x512x64xbf16>
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
  func.func private @center(%a: tensor<2x512x512xf32>, %o: tensor<2x512x512xbf16>) -> tensor<2x512x512xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "2", d1 = "512", d2 = "512"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %x = "fuse.load"(%a, %true, %zero) {at = ["d0", "d1", "d2"]} : (tensor<2x512x512xf32>, i1, f32) -> f32
    %l = "fuse.reduce"(%x) {kind = "sum", over = ["d2"]} : (f32) -> f32
    %p = arith.subf %x, %l : f32
    %h = arith.truncf %p : f32 to bf16
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

// Must not fire: the probabilities are multiplied by what varies along the row.
// SAID: missed: derive-cascades: weights
// CHECK-LABEL: func.func @main
// CHECK: call @scores
// CHECK: call @dropped
// CHECK: call @values
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%q: tensor<2x512x64xbf16>, %k: tensor<2x512x64xbf16>, %v: tensor<2x512x64xbf16>) -> tensor<2x512x64xbf16> {
    %0 = "fuse.empty"() {syms = []} : () -> tensor<2x512x512xf32>
    %1 = call @scores(%q, %k, %0) : (tensor<2x512x64xbf16>, tensor<2x512x64xbf16>, tensor<2x512x512xf32>) -> tensor<2x512x512xf32>
    %2 = "fuse.empty"() {syms = []} : () -> tensor<2x512x512xbf16>
    %3 = call @dropped(%1, %2) : (tensor<2x512x512xf32>, tensor<2x512x512xbf16>) -> tensor<2x512x512xbf16>
    %4 = "fuse.empty"() {syms = []} : () -> tensor<2x512x64xbf16>
    %5 = call @values(%3, %v, %4) : (tensor<2x512x512xbf16>, tensor<2x512x64xbf16>, tensor<2x512x64xbf16>) -> tensor<2x512x64xbf16>
    return %5 : tensor<2x512x64xbf16>
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
  func.func private @dropped(%a: tensor<2x512x512xf32>, %o: tensor<2x512x512xbf16>) -> tensor<2x512x512xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "2", d1 = "512", d2 = "512"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %x = "fuse.load"(%a, %true, %zero) {at = ["d0", "d1", "d2"]} : (tensor<2x512x512xf32>, i1, f32) -> f32
    %m = "fuse.reduce"(%x) {kind = "max", over = ["d2"]} : (f32) -> f32
    %c = arith.subf %x, %m : f32
    %e = math.exp %c : f32
    %l = "fuse.reduce"(%e) {kind = "sum", over = ["d2"]} : (f32) -> f32
    %p = arith.divf %e, %l : f32
    %one = arith.constant 1.0 : f32
    %i = "fuse.index"() {expr = "d2 mod 2"} : () -> i64
    %w = arith.sitofp %i : i64 to f32
    %q = arith.mulf %p, %w : f32
    %h = arith.truncf %q : f32 to bf16
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

// A logsumexp beside the softmax is computed of the softmax's sum; where the maximum is infinite, of that.
// SAID: passed: derive-cascades: cascade
// CHECK-LABEL: func.func @main
// CHECK: %[[X:.*]] = "fuse.dot"({{.*}}) {over = ["d4"]}
// CHECK-NOT: fuse.reduce
// CHECK: %[[O:.*]]:3 = "fuse.online_dot"(%[[X]], %{{.*}}) {over = ["d3"]} : (f32, bf16) -> (f32, f32, f32)
// CHECK: %[[M:.*]] = math.exp %[[O]]#1
// CHECK: %[[L:.*]] = arith.select %{{.*}}, %[[M]], %[[O]]#2
// CHECK: math.log %[[L]]
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%q: tensor<2x512x64xbf16>, %k: tensor<2x512x64xbf16>, %v: tensor<2x512x64xbf16>) -> (tensor<2x512x64xbf16>, tensor<2x512xf32>) {
    %0 = "fuse.empty"() {syms = []} : () -> tensor<2x512x512xf32>
    %1 = call @scores(%q, %k, %0) : (tensor<2x512x64xbf16>, tensor<2x512x64xbf16>, tensor<2x512x512xf32>) -> tensor<2x512x512xf32>
    %2 = "fuse.empty"() {syms = []} : () -> tensor<2x512x512xbf16>
    %6 = "fuse.empty"() {syms = []} : () -> tensor<2x512xf32>
    %3:2 = call @softmax(%1, %2, %6) : (tensor<2x512x512xf32>, tensor<2x512x512xbf16>, tensor<2x512xf32>) -> (tensor<2x512x512xbf16>, tensor<2x512xf32>)
    %4 = "fuse.empty"() {syms = []} : () -> tensor<2x512x64xbf16>
    %5 = call @values(%3#0, %v, %4) : (tensor<2x512x512xbf16>, tensor<2x512x64xbf16>, tensor<2x512x64xbf16>) -> tensor<2x512x64xbf16>
    return %5, %3#1 : tensor<2x512x64xbf16>, tensor<2x512xf32>
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
  func.func private @softmax(%a: tensor<2x512x512xf32>, %o: tensor<2x512x512xbf16>, %z: tensor<2x512xf32>) -> (tensor<2x512x512xbf16>, tensor<2x512xf32>) attributes {fuse.kernel, fuse.dims = {d0 = "2", d1 = "512", d2 = "512"}, fuse.ties = array<i64: 1, 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %x = "fuse.load"(%a, %true, %zero) {at = ["d0", "d1", "d2"]} : (tensor<2x512x512xf32>, i1, f32) -> f32
    %m = "fuse.reduce"(%x) {kind = "max", over = ["d2"]} : (f32) -> f32
    %c = arith.subf %x, %m : f32
    %e = math.exp %c : f32
    %l = "fuse.reduce"(%e) {kind = "sum", over = ["d2"]} : (f32) -> f32
    %p = arith.divf %e, %l : f32
    %h = arith.truncf %p : f32 to bf16
    %r = "fuse.store"(%o, %h, %true) {at = ["d0", "d1", "d2"], mode = "set"} : (tensor<2x512x512xbf16>, bf16, i1) -> tensor<2x512x512xbf16>
    %size = math.absf %m : f32
    %inf = arith.constant 0x7F800000 : f32
    %ends = arith.cmpf oeq, %size, %inf : f32
    %nought = arith.constant 0.0 : f32
    %c0 = arith.select %ends, %nought, %m : f32
    %d = arith.subf %x, %c0 : f32
    %u = math.exp %d : f32
    %total = "fuse.reduce"(%u) {kind = "sum", over = ["d2"]} : (f32) -> f32
    %log = math.log %total : f32
    %lse = arith.addf %log, %c0 : f32
    %w = "fuse.store"(%z, %lse, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<2x512xf32>, f32, i1) -> tensor<2x512xf32>
    return %r, %w : tensor<2x512x512xbf16>, tensor<2x512xf32>
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

// Must not fire: another number than 0 is subtracted where the maximum is infinite.
// SAID: missed: derive-cascades: {{.*}}read elsewhere
// CHECK-LABEL: func.func @main
// CHECK: call @scores
// CHECK: call @values
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%q: tensor<2x512x64xbf16>, %k: tensor<2x512x64xbf16>, %v: tensor<2x512x64xbf16>) -> (tensor<2x512x64xbf16>, tensor<2x512xf32>) {
    %0 = "fuse.empty"() {syms = []} : () -> tensor<2x512x512xf32>
    %1 = call @scores(%q, %k, %0) : (tensor<2x512x64xbf16>, tensor<2x512x64xbf16>, tensor<2x512x512xf32>) -> tensor<2x512x512xf32>
    %2 = "fuse.empty"() {syms = []} : () -> tensor<2x512x512xbf16>
    %6 = "fuse.empty"() {syms = []} : () -> tensor<2x512xf32>
    %3:2 = call @softmax(%1, %2, %6) : (tensor<2x512x512xf32>, tensor<2x512x512xbf16>, tensor<2x512xf32>) -> (tensor<2x512x512xbf16>, tensor<2x512xf32>)
    %4 = "fuse.empty"() {syms = []} : () -> tensor<2x512x64xbf16>
    %5 = call @values(%3#0, %v, %4) : (tensor<2x512x512xbf16>, tensor<2x512x64xbf16>, tensor<2x512x64xbf16>) -> tensor<2x512x64xbf16>
    return %5, %3#1 : tensor<2x512x64xbf16>, tensor<2x512xf32>
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
  func.func private @softmax(%a: tensor<2x512x512xf32>, %o: tensor<2x512x512xbf16>, %z: tensor<2x512xf32>) -> (tensor<2x512x512xbf16>, tensor<2x512xf32>) attributes {fuse.kernel, fuse.dims = {d0 = "2", d1 = "512", d2 = "512"}, fuse.ties = array<i64: 1, 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %x = "fuse.load"(%a, %true, %zero) {at = ["d0", "d1", "d2"]} : (tensor<2x512x512xf32>, i1, f32) -> f32
    %m = "fuse.reduce"(%x) {kind = "max", over = ["d2"]} : (f32) -> f32
    %c = arith.subf %x, %m : f32
    %e = math.exp %c : f32
    %l = "fuse.reduce"(%e) {kind = "sum", over = ["d2"]} : (f32) -> f32
    %p = arith.divf %e, %l : f32
    %h = arith.truncf %p : f32 to bf16
    %r = "fuse.store"(%o, %h, %true) {at = ["d0", "d1", "d2"], mode = "set"} : (tensor<2x512x512xbf16>, bf16, i1) -> tensor<2x512x512xbf16>
    %size = math.absf %m : f32
    %inf = arith.constant 0x7F800000 : f32
    %ends = arith.cmpf oeq, %size, %inf : f32
    %nought = arith.constant 1.0 : f32
    %c0 = arith.select %ends, %nought, %m : f32
    %d = arith.subf %x, %c0 : f32
    %u = math.exp %d : f32
    %total = "fuse.reduce"(%u) {kind = "sum", over = ["d2"]} : (f32) -> f32
    %log = math.log %total : f32
    %lse = arith.addf %log, %c0 : f32
    %w = "fuse.store"(%z, %lse, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<2x512xf32>, f32, i1) -> tensor<2x512xf32>
    return %r, %w : tensor<2x512x512xbf16>, tensor<2x512xf32>
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

