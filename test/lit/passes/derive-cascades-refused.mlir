// Chains of products that stay apart, each with the reason that its remark gives.
// RUN: fuse-opt %s --pass-pipeline="builtin.module(derive-cascades{hardware=h200 products=generated spilled=spilling})" --split-input-file | FileCheck %s
// RUN: fuse-opt %s --pass-pipeline="builtin.module(derive-cascades{hardware=h200 products=generated spilled=spilling})" --split-input-file --remarks=text 2>&1 >/dev/null | FileCheck %s --check-prefix=SAID

// Must not fire: exponentials are not multiplied in float32.
// SAID: missed: derive-cascades: types{{.*}}exponentials are not multiplied in f32
// CHECK-LABEL: func.func @main
// CHECK: call @scores
// CHECK: call @softmax
// CHECK: call @values
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%q: tensor<2x512x64xbf16>, %k: tensor<2x512x64xbf16>, %v: tensor<2x512x64xf32>) -> tensor<2x512x64xf32> {
    %0 = "fuse.empty"() {syms = []} : () -> tensor<2x512x512xf32>
    %1 = call @scores(%q, %k, %0) : (tensor<2x512x64xbf16>, tensor<2x512x64xbf16>, tensor<2x512x512xf32>) -> tensor<2x512x512xf32>
    %2 = "fuse.empty"() {syms = []} : () -> tensor<2x512x512xf32>
    %3 = call @softmax(%1, %2) : (tensor<2x512x512xf32>, tensor<2x512x512xf32>) -> tensor<2x512x512xf32>
    %4 = "fuse.empty"() {syms = []} : () -> tensor<2x512x64xf32>
    %5 = call @values(%3, %v, %4) : (tensor<2x512x512xf32>, tensor<2x512x64xf32>, tensor<2x512x64xf32>) -> tensor<2x512x64xf32>
    return %5 : tensor<2x512x64xf32>
  }
  func.func private @scores(%a: tensor<2x512x64xbf16>, %b: tensor<2x512x64xbf16>, %o: tensor<2x512x512xf32>) -> tensor<2x512x512xf32> attributes {fuse.kernel, fuse.dims = {d0 = "2", d1 = "512", d2 = "512", d3 = "64"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %z0 = arith.constant 0.0 : bf16
    %z1 = arith.constant 0.0 : bf16
    %x = "fuse.load"(%a, %true, %z0) {at = ["d0", "d1", "d3"]} : (tensor<2x512x64xbf16>, i1, bf16) -> bf16
    %y = "fuse.load"(%b, %true, %z1) {at = ["d0", "d2", "d3"]} : (tensor<2x512x64xbf16>, i1, bf16) -> bf16
    %s = "fuse.dot"(%x, %y) {over = ["d3"]} : (bf16, bf16) -> f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d0", "d1", "d2"], mode = "set"} : (tensor<2x512x512xf32>, f32, i1) -> tensor<2x512x512xf32>
    return %r : tensor<2x512x512xf32>
  }
  func.func private @softmax(%a: tensor<2x512x512xf32>, %o: tensor<2x512x512xf32>) -> tensor<2x512x512xf32> attributes {fuse.kernel, fuse.dims = {d0 = "2", d1 = "512", d2 = "512"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %x = "fuse.load"(%a, %true, %zero) {at = ["d0", "d1", "d2"]} : (tensor<2x512x512xf32>, i1, f32) -> f32
    %m = "fuse.reduce"(%x) {kind = "max", over = ["d2"]} : (f32) -> f32
    %c = arith.subf %x, %m : f32
    %e = math.exp %c : f32
    %l = "fuse.reduce"(%e) {kind = "sum", over = ["d2"]} : (f32) -> f32
    %p = arith.divf %e, %l : f32
    %r = "fuse.store"(%o, %p, %true) {at = ["d0", "d1", "d2"], mode = "set"} : (tensor<2x512x512xf32>, f32, i1) -> tensor<2x512x512xf32>
    return %r : tensor<2x512x512xf32>
  }
  func.func private @values(%a: tensor<2x512x512xf32>, %b: tensor<2x512x64xf32>, %o: tensor<2x512x64xf32>) -> tensor<2x512x64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "2", d1 = "512", d2 = "64", d3 = "512"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %z0 = arith.constant 0.0 : f32
    %z1 = arith.constant 0.0 : f32
    %x = "fuse.load"(%a, %true, %z0) {at = ["d0", "d1", "d3"]} : (tensor<2x512x512xf32>, i1, f32) -> f32
    %y = "fuse.load"(%b, %true, %z1) {at = ["d0", "d3", "d2"]} : (tensor<2x512x64xf32>, i1, f32) -> f32
    %s = "fuse.dot"(%x, %y) {over = ["d3"]} : (f32, f32) -> f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d0", "d1", "d2"], mode = "set"} : (tensor<2x512x64xf32>, f32, i1) -> tensor<2x512x64xf32>
    return %r : tensor<2x512x64xf32>
  }
}

// -----

// Must not fire: three products are what it sums.
// SAID: missed: derive-cascades: products{{.*}}several products
// CHECK-LABEL: func.func @main
// CHECK: call @scores
// CHECK: call @scores
// CHECK: call @scores
// CHECK: call @summed
// CHECK: call @values
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%q: tensor<2x512x64xbf16>, %k: tensor<2x512x64xbf16>, %l: tensor<2x512x64xbf16>, %m: tensor<2x512x64xbf16>, %v: tensor<2x512x64xbf16>) -> tensor<2x512x64xbf16> {
    %0 = "fuse.empty"() {syms = []} : () -> tensor<2x512x512xf32>
    %1 = call @scores(%q, %k, %0) : (tensor<2x512x64xbf16>, tensor<2x512x64xbf16>, tensor<2x512x512xf32>) -> tensor<2x512x512xf32>
    %2 = "fuse.empty"() {syms = []} : () -> tensor<2x512x512xf32>
    %3 = call @scores(%q, %l, %2) : (tensor<2x512x64xbf16>, tensor<2x512x64xbf16>, tensor<2x512x512xf32>) -> tensor<2x512x512xf32>
    %4 = "fuse.empty"() {syms = []} : () -> tensor<2x512x512xf32>
    %5 = call @scores(%q, %m, %4) : (tensor<2x512x64xbf16>, tensor<2x512x64xbf16>, tensor<2x512x512xf32>) -> tensor<2x512x512xf32>
    %6 = "fuse.empty"() {syms = []} : () -> tensor<2x512x512xbf16>
    %7 = call @summed(%1, %3, %5, %6) : (tensor<2x512x512xf32>, tensor<2x512x512xf32>, tensor<2x512x512xf32>, tensor<2x512x512xbf16>) -> tensor<2x512x512xbf16>
    %8 = "fuse.empty"() {syms = []} : () -> tensor<2x512x64xbf16>
    %9 = call @values(%7, %v, %8) : (tensor<2x512x512xbf16>, tensor<2x512x64xbf16>, tensor<2x512x64xbf16>) -> tensor<2x512x64xbf16>
    return %9 : tensor<2x512x64xbf16>
  }
  func.func private @scores(%a: tensor<2x512x64xbf16>, %b: tensor<2x512x64xbf16>, %o: tensor<2x512x512xf32>) -> tensor<2x512x512xf32> attributes {fuse.kernel, fuse.dims = {d0 = "2", d1 = "512", d2 = "512", d3 = "64"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %z0 = arith.constant 0.0 : bf16
    %z1 = arith.constant 0.0 : bf16
    %x = "fuse.load"(%a, %true, %z0) {at = ["d0", "d1", "d3"]} : (tensor<2x512x64xbf16>, i1, bf16) -> bf16
    %y = "fuse.load"(%b, %true, %z1) {at = ["d0", "d2", "d3"]} : (tensor<2x512x64xbf16>, i1, bf16) -> bf16
    %s = "fuse.dot"(%x, %y) {over = ["d3"]} : (bf16, bf16) -> f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d0", "d1", "d2"], mode = "set"} : (tensor<2x512x512xf32>, f32, i1) -> tensor<2x512x512xf32>
    return %r : tensor<2x512x512xf32>
  }
  func.func private @summed(%a: tensor<2x512x512xf32>, %b: tensor<2x512x512xf32>, %c: tensor<2x512x512xf32>, %o: tensor<2x512x512xbf16>) -> tensor<2x512x512xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "2", d1 = "512", d2 = "512"}, fuse.ties = array<i64: 3>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %x = "fuse.load"(%a, %true, %zero) {at = ["d0", "d1", "d2"]} : (tensor<2x512x512xf32>, i1, f32) -> f32
    %y = "fuse.load"(%b, %true, %zero) {at = ["d0", "d1", "d2"]} : (tensor<2x512x512xf32>, i1, f32) -> f32
    %z = "fuse.load"(%c, %true, %zero) {at = ["d0", "d1", "d2"]} : (tensor<2x512x512xf32>, i1, f32) -> f32
    %s = arith.addf %x, %y : f32
    %t = arith.addf %s, %z : f32
    %h = arith.truncf %t : f32 to bf16
    %r = "fuse.store"(%o, %h, %true) {at = ["d0", "d1", "d2"], mode = "set"} : (tensor<2x512x512xbf16>, bf16, i1) -> tensor<2x512x512xbf16>
    return %r : tensor<2x512x512xbf16>
  }
  func.func private @values(%a: tensor<2x512x512xbf16>, %b: tensor<2x512x64xbf16>, %o: tensor<2x512x64xbf16>) -> tensor<2x512x64xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "2", d1 = "512", d2 = "64", d3 = "512"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %z0 = arith.constant 0.0 : bf16
    %z1 = arith.constant 0.0 : bf16
    %x = "fuse.load"(%a, %true, %z0) {at = ["d0", "d1", "d3"]} : (tensor<2x512x512xbf16>, i1, bf16) -> bf16
    %y = "fuse.load"(%b, %true, %z1) {at = ["d0", "d3", "d2"]} : (tensor<2x512x64xbf16>, i1, bf16) -> bf16
    %s = "fuse.dot"(%x, %y) {over = ["d3"]} : (bf16, bf16) -> f32
    %h = arith.truncf %s : f32 to bf16
    %r = "fuse.store"(%o, %h, %true) {at = ["d0", "d1", "d2"], mode = "set"} : (tensor<2x512x64xbf16>, bf16, i1) -> tensor<2x512x64xbf16>
    return %r : tensor<2x512x64xbf16>
  }
}

// -----

// Must not fire: the probabilities multiply twice, so the first result has to be whole.
// SAID: missed: derive-cascades: stored{{.*}}by values
// SAID: missed: derive-cascades: cycle{{.*}}values has to run between
// CHECK-LABEL: func.func @main
// CHECK: call @scores
// CHECK: call @softmax
// CHECK: call @values
// CHECK: call @values
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%q: tensor<2x512x64xbf16>, %k: tensor<2x512x64xbf16>, %v: tensor<2x512x64xbf16>) -> tensor<2x512x64xbf16> {
    %0 = "fuse.empty"() {syms = []} : () -> tensor<2x512x512xf32>
    %1 = call @scores(%q, %k, %0) : (tensor<2x512x64xbf16>, tensor<2x512x64xbf16>, tensor<2x512x512xf32>) -> tensor<2x512x512xf32>
    %2 = "fuse.empty"() {syms = []} : () -> tensor<2x512x512xbf16>
    %3 = call @softmax(%1, %2) : (tensor<2x512x512xf32>, tensor<2x512x512xbf16>) -> tensor<2x512x512xbf16>
    %4 = "fuse.empty"() {syms = []} : () -> tensor<2x512x64xbf16>
    %5 = call @values(%3, %v, %4) : (tensor<2x512x512xbf16>, tensor<2x512x64xbf16>, tensor<2x512x64xbf16>) -> tensor<2x512x64xbf16>
    %6 = "fuse.empty"() {syms = []} : () -> tensor<2x512x64xbf16>
    %7 = call @values(%3, %5, %6) : (tensor<2x512x512xbf16>, tensor<2x512x64xbf16>, tensor<2x512x64xbf16>) -> tensor<2x512x64xbf16>
    return %7 : tensor<2x512x64xbf16>
  }
  func.func private @scores(%a: tensor<2x512x64xbf16>, %b: tensor<2x512x64xbf16>, %o: tensor<2x512x512xf32>) -> tensor<2x512x512xf32> attributes {fuse.kernel, fuse.dims = {d0 = "2", d1 = "512", d2 = "512", d3 = "64"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %z0 = arith.constant 0.0 : bf16
    %z1 = arith.constant 0.0 : bf16
    %x = "fuse.load"(%a, %true, %z0) {at = ["d0", "d1", "d3"]} : (tensor<2x512x64xbf16>, i1, bf16) -> bf16
    %y = "fuse.load"(%b, %true, %z1) {at = ["d0", "d2", "d3"]} : (tensor<2x512x64xbf16>, i1, bf16) -> bf16
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
    %z0 = arith.constant 0.0 : bf16
    %z1 = arith.constant 0.0 : bf16
    %x = "fuse.load"(%a, %true, %z0) {at = ["d0", "d1", "d3"]} : (tensor<2x512x512xbf16>, i1, bf16) -> bf16
    %y = "fuse.load"(%b, %true, %z1) {at = ["d0", "d3", "d2"]} : (tensor<2x512x64xbf16>, i1, bf16) -> bf16
    %s = "fuse.dot"(%x, %y) {over = ["d3"]} : (bf16, bf16) -> f32
    %h = arith.truncf %s : f32 to bf16
    %r = "fuse.store"(%o, %h, %true) {at = ["d0", "d1", "d2"], mode = "set"} : (tensor<2x512x64xbf16>, bf16, i1) -> tensor<2x512x64xbf16>
    return %r : tensor<2x512x64xbf16>
  }
}

// -----

// Must not fire: the last product sums heads, too.
// SAID: missed: derive-cascades: form{{.*}}does not sum the columns of its first one alone
// CHECK-LABEL: func.func @main
// CHECK: call @scores
// CHECK: call @relu
// CHECK: call @values
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%q: tensor<2x512x64xbf16>, %k: tensor<2x512x64xbf16>, %v: tensor<2x512x64xbf16>) -> tensor<512x64xbf16> {
    %0 = "fuse.empty"() {syms = []} : () -> tensor<2x512x512xf32>
    %1 = call @scores(%q, %k, %0) : (tensor<2x512x64xbf16>, tensor<2x512x64xbf16>, tensor<2x512x512xf32>) -> tensor<2x512x512xf32>
    %2 = "fuse.empty"() {syms = []} : () -> tensor<2x512x512xbf16>
    %3 = call @relu(%1, %2) : (tensor<2x512x512xf32>, tensor<2x512x512xbf16>) -> tensor<2x512x512xbf16>
    %4 = "fuse.empty"() {syms = []} : () -> tensor<512x64xbf16>
    %5 = call @values(%3, %v, %4) : (tensor<2x512x512xbf16>, tensor<2x512x64xbf16>, tensor<512x64xbf16>) -> tensor<512x64xbf16>
    return %5 : tensor<512x64xbf16>
  }
  func.func private @scores(%a: tensor<2x512x64xbf16>, %b: tensor<2x512x64xbf16>, %o: tensor<2x512x512xf32>) -> tensor<2x512x512xf32> attributes {fuse.kernel, fuse.dims = {d0 = "2", d1 = "512", d2 = "512", d3 = "64"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %z0 = arith.constant 0.0 : bf16
    %z1 = arith.constant 0.0 : bf16
    %x = "fuse.load"(%a, %true, %z0) {at = ["d0", "d1", "d3"]} : (tensor<2x512x64xbf16>, i1, bf16) -> bf16
    %y = "fuse.load"(%b, %true, %z1) {at = ["d0", "d2", "d3"]} : (tensor<2x512x64xbf16>, i1, bf16) -> bf16
    %s = "fuse.dot"(%x, %y) {over = ["d3"]} : (bf16, bf16) -> f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d0", "d1", "d2"], mode = "set"} : (tensor<2x512x512xf32>, f32, i1) -> tensor<2x512x512xf32>
    return %r : tensor<2x512x512xf32>
  }
  func.func private @relu(%a: tensor<2x512x512xf32>, %o: tensor<2x512x512xbf16>) -> tensor<2x512x512xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "2", d1 = "512", d2 = "512"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %x = "fuse.load"(%a, %true, %zero) {at = ["d0", "d1", "d2"]} : (tensor<2x512x512xf32>, i1, f32) -> f32
    %y = arith.maximumf %x, %zero : f32
    %h = arith.truncf %y : f32 to bf16
    %r = "fuse.store"(%o, %h, %true) {at = ["d0", "d1", "d2"], mode = "set"} : (tensor<2x512x512xbf16>, bf16, i1) -> tensor<2x512x512xbf16>
    return %r : tensor<2x512x512xbf16>
  }
  func.func private @values(%a: tensor<2x512x512xbf16>, %b: tensor<2x512x64xbf16>, %o: tensor<512x64xbf16>) -> tensor<512x64xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "512", d1 = "64", d2 = "2", d3 = "512"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %z0 = arith.constant 0.0 : bf16
    %z1 = arith.constant 0.0 : bf16
    %x = "fuse.load"(%a, %true, %z0) {at = ["d2", "d0", "d3"]} : (tensor<2x512x512xbf16>, i1, bf16) -> bf16
    %y = "fuse.load"(%b, %true, %z1) {at = ["d2", "d3", "d1"]} : (tensor<2x512x64xbf16>, i1, bf16) -> bf16
    %s = "fuse.dot"(%x, %y) {over = ["d2", "d3"]} : (bf16, bf16) -> f32
    %h = arith.truncf %s : f32 to bf16
    %r = "fuse.store"(%o, %h, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<512x64xbf16>, bf16, i1) -> tensor<512x64xbf16>
    return %r : tensor<512x64xbf16>
  }
}

// -----

// Must not fire: a program holds all columns of a narrow layer.
// SAID: missed: derive-cascades: held{{.*}}a program holds all 64 columns
// CHECK-LABEL: func.func @main
// CHECK: call @first
// CHECK: call @relu
// CHECK: call @second
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<4096x64xbf16>, %a: tensor<64x64xbf16>, %b: tensor<64x64xbf16>) -> tensor<4096x64xbf16> {
    %0 = "fuse.empty"() {syms = []} : () -> tensor<4096x64xf32>
    %1 = call @first(%x, %a, %0) : (tensor<4096x64xbf16>, tensor<64x64xbf16>, tensor<4096x64xf32>) -> tensor<4096x64xf32>
    %2 = "fuse.empty"() {syms = []} : () -> tensor<4096x64xbf16>
    %3 = call @relu(%1, %2) : (tensor<4096x64xf32>, tensor<4096x64xbf16>) -> tensor<4096x64xbf16>
    %4 = "fuse.empty"() {syms = []} : () -> tensor<4096x64xbf16>
    %5 = call @second(%3, %b, %4) : (tensor<4096x64xbf16>, tensor<64x64xbf16>, tensor<4096x64xbf16>) -> tensor<4096x64xbf16>
    return %5 : tensor<4096x64xbf16>
  }
  func.func private @first(%a: tensor<4096x64xbf16>, %b: tensor<64x64xbf16>, %o: tensor<4096x64xf32>) -> tensor<4096x64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "4096", d1 = "64", d2 = "64"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %z0 = arith.constant 0.0 : bf16
    %z1 = arith.constant 0.0 : bf16
    %x = "fuse.load"(%a, %true, %z0) {at = ["d0", "d2"]} : (tensor<4096x64xbf16>, i1, bf16) -> bf16
    %y = "fuse.load"(%b, %true, %z1) {at = ["d2", "d1"]} : (tensor<64x64xbf16>, i1, bf16) -> bf16
    %s = "fuse.dot"(%x, %y) {over = ["d2"]} : (bf16, bf16) -> f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<4096x64xf32>, f32, i1) -> tensor<4096x64xf32>
    return %r : tensor<4096x64xf32>
  }
  func.func private @relu(%a: tensor<4096x64xf32>, %o: tensor<4096x64xbf16>) -> tensor<4096x64xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "4096", d1 = "64"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %x = "fuse.load"(%a, %true, %zero) {at = ["d0", "d1"]} : (tensor<4096x64xf32>, i1, f32) -> f32
    %y = arith.maximumf %x, %zero : f32
    %h = arith.truncf %y : f32 to bf16
    %r = "fuse.store"(%o, %h, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<4096x64xbf16>, bf16, i1) -> tensor<4096x64xbf16>
    return %r : tensor<4096x64xbf16>
  }
  func.func private @second(%a: tensor<4096x64xbf16>, %b: tensor<64x64xbf16>, %o: tensor<4096x64xbf16>) -> tensor<4096x64xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "4096", d1 = "64", d2 = "64"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %z0 = arith.constant 0.0 : bf16
    %z1 = arith.constant 0.0 : bf16
    %x = "fuse.load"(%a, %true, %z0) {at = ["d0", "d2"]} : (tensor<4096x64xbf16>, i1, bf16) -> bf16
    %y = "fuse.load"(%b, %true, %z1) {at = ["d2", "d1"]} : (tensor<64x64xbf16>, i1, bf16) -> bf16
    %s = "fuse.dot"(%x, %y) {over = ["d2"]} : (bf16, bf16) -> f32
    %h = arith.truncf %s : f32 to bf16
    %r = "fuse.store"(%o, %h, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<4096x64xbf16>, bf16, i1) -> tensor<4096x64xbf16>
    return %r : tensor<4096x64xbf16>
  }
}

// -----

// Must not fire: so few rows without a softmax are multiplied and summed.
// SAID: missed: derive-cascades: few
// CHECK-LABEL: func.func @main
// CHECK: call @scores
// CHECK: call @relu
// CHECK: call @values
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%q: tensor<2x2x64xbf16>, %k: tensor<2x512x64xbf16>, %v: tensor<2x512x64xbf16>) -> tensor<2x2x64xbf16> {
    %0 = "fuse.empty"() {syms = []} : () -> tensor<2x2x512xf32>
    %1 = call @scores(%q, %k, %0) : (tensor<2x2x64xbf16>, tensor<2x512x64xbf16>, tensor<2x2x512xf32>) -> tensor<2x2x512xf32>
    %2 = "fuse.empty"() {syms = []} : () -> tensor<2x2x512xbf16>
    %3 = call @relu(%1, %2) : (tensor<2x2x512xf32>, tensor<2x2x512xbf16>) -> tensor<2x2x512xbf16>
    %4 = "fuse.empty"() {syms = []} : () -> tensor<2x2x64xbf16>
    %5 = call @values(%3, %v, %4) : (tensor<2x2x512xbf16>, tensor<2x512x64xbf16>, tensor<2x2x64xbf16>) -> tensor<2x2x64xbf16>
    return %5 : tensor<2x2x64xbf16>
  }
  func.func private @scores(%a: tensor<2x2x64xbf16>, %b: tensor<2x512x64xbf16>, %o: tensor<2x2x512xf32>) -> tensor<2x2x512xf32> attributes {fuse.kernel, fuse.dims = {d0 = "2", d1 = "2", d2 = "512", d3 = "64"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %z0 = arith.constant 0.0 : bf16
    %z1 = arith.constant 0.0 : bf16
    %x = "fuse.load"(%a, %true, %z0) {at = ["d0", "d1", "d3"]} : (tensor<2x2x64xbf16>, i1, bf16) -> bf16
    %y = "fuse.load"(%b, %true, %z1) {at = ["d0", "d2", "d3"]} : (tensor<2x512x64xbf16>, i1, bf16) -> bf16
    %s = "fuse.dot"(%x, %y) {over = ["d3"]} : (bf16, bf16) -> f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d0", "d1", "d2"], mode = "set"} : (tensor<2x2x512xf32>, f32, i1) -> tensor<2x2x512xf32>
    return %r : tensor<2x2x512xf32>
  }
  func.func private @relu(%a: tensor<2x2x512xf32>, %o: tensor<2x2x512xbf16>) -> tensor<2x2x512xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "2", d1 = "2", d2 = "512"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %x = "fuse.load"(%a, %true, %zero) {at = ["d0", "d1", "d2"]} : (tensor<2x2x512xf32>, i1, f32) -> f32
    %y = arith.maximumf %x, %zero : f32
    %h = arith.truncf %y : f32 to bf16
    %r = "fuse.store"(%o, %h, %true) {at = ["d0", "d1", "d2"], mode = "set"} : (tensor<2x2x512xbf16>, bf16, i1) -> tensor<2x2x512xbf16>
    return %r : tensor<2x2x512xbf16>
  }
  func.func private @values(%a: tensor<2x2x512xbf16>, %b: tensor<2x512x64xbf16>, %o: tensor<2x2x64xbf16>) -> tensor<2x2x64xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "2", d1 = "2", d2 = "64", d3 = "512"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %z0 = arith.constant 0.0 : bf16
    %z1 = arith.constant 0.0 : bf16
    %x = "fuse.load"(%a, %true, %z0) {at = ["d0", "d1", "d3"]} : (tensor<2x2x512xbf16>, i1, bf16) -> bf16
    %y = "fuse.load"(%b, %true, %z1) {at = ["d0", "d3", "d2"]} : (tensor<2x512x64xbf16>, i1, bf16) -> bf16
    %s = "fuse.dot"(%x, %y) {over = ["d3"]} : (bf16, bf16) -> f32
    %h = arith.truncf %s : f32 to bf16
    %r = "fuse.store"(%o, %h, %true) {at = ["d0", "d1", "d2"], mode = "set"} : (tensor<2x2x64xbf16>, bf16, i1) -> tensor<2x2x64xbf16>
    return %r : tensor<2x2x64xbf16>
  }
}

// -----

// Must not fire: no block of heads of 4096 numbers fits.
// SAID: missed: derive-cascades: blocks
// CHECK-LABEL: func.func @main
// CHECK: call @scores
// CHECK: call @softmax
// CHECK: call @values
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%q: tensor<2x512x4096xbf16>, %k: tensor<2x512x4096xbf16>, %v: tensor<2x512x4096xbf16>) -> tensor<2x512x4096xbf16> {
    %0 = "fuse.empty"() {syms = []} : () -> tensor<2x512x512xf32>
    %1 = call @scores(%q, %k, %0) : (tensor<2x512x4096xbf16>, tensor<2x512x4096xbf16>, tensor<2x512x512xf32>) -> tensor<2x512x512xf32>
    %2 = "fuse.empty"() {syms = []} : () -> tensor<2x512x512xbf16>
    %3 = call @softmax(%1, %2) : (tensor<2x512x512xf32>, tensor<2x512x512xbf16>) -> tensor<2x512x512xbf16>
    %4 = "fuse.empty"() {syms = []} : () -> tensor<2x512x4096xbf16>
    %5 = call @values(%3, %v, %4) : (tensor<2x512x512xbf16>, tensor<2x512x4096xbf16>, tensor<2x512x4096xbf16>) -> tensor<2x512x4096xbf16>
    return %5 : tensor<2x512x4096xbf16>
  }
  func.func private @scores(%a: tensor<2x512x4096xbf16>, %b: tensor<2x512x4096xbf16>, %o: tensor<2x512x512xf32>) -> tensor<2x512x512xf32> attributes {fuse.kernel, fuse.dims = {d0 = "2", d1 = "512", d2 = "512", d3 = "4096"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %z0 = arith.constant 0.0 : bf16
    %z1 = arith.constant 0.0 : bf16
    %x = "fuse.load"(%a, %true, %z0) {at = ["d0", "d1", "d3"]} : (tensor<2x512x4096xbf16>, i1, bf16) -> bf16
    %y = "fuse.load"(%b, %true, %z1) {at = ["d0", "d2", "d3"]} : (tensor<2x512x4096xbf16>, i1, bf16) -> bf16
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
  func.func private @values(%a: tensor<2x512x512xbf16>, %b: tensor<2x512x4096xbf16>, %o: tensor<2x512x4096xbf16>) -> tensor<2x512x4096xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "2", d1 = "512", d2 = "4096", d3 = "512"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %z0 = arith.constant 0.0 : bf16
    %z1 = arith.constant 0.0 : bf16
    %x = "fuse.load"(%a, %true, %z0) {at = ["d0", "d1", "d3"]} : (tensor<2x512x512xbf16>, i1, bf16) -> bf16
    %y = "fuse.load"(%b, %true, %z1) {at = ["d0", "d3", "d2"]} : (tensor<2x512x4096xbf16>, i1, bf16) -> bf16
    %s = "fuse.dot"(%x, %y) {over = ["d3"]} : (bf16, bf16) -> f32
    %h = arith.truncf %s : f32 to bf16
    %r = "fuse.store"(%o, %h, %true) {at = ["d0", "d1", "d2"], mode = "set"} : (tensor<2x512x4096xbf16>, bf16, i1) -> tensor<2x512x4096xbf16>
    return %r : tensor<2x512x4096xbf16>
  }
}

// -----

// Must not fire: its kernel took too many registers with each tile that was tried.
// SAID: missed: derive-cascades: spilled{{.*}}no tile of the kernel left it enough registers
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
    %5 = call @values(%3, %v, %4) : (tensor<2x512x512xbf16>, tensor<2x512x64xbf16>, tensor<2x512x64xbf16>) -> tensor<2x512x64xbf16> loc("spilling")
    return %5 : tensor<2x512x64xbf16>
  }
  func.func private @scores(%a: tensor<2x512x64xbf16>, %b: tensor<2x512x64xbf16>, %o: tensor<2x512x512xf32>) -> tensor<2x512x512xf32> attributes {fuse.kernel, fuse.dims = {d0 = "2", d1 = "512", d2 = "512", d3 = "64"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %z0 = arith.constant 0.0 : bf16
    %z1 = arith.constant 0.0 : bf16
    %x = "fuse.load"(%a, %true, %z0) {at = ["d0", "d1", "d3"]} : (tensor<2x512x64xbf16>, i1, bf16) -> bf16
    %y = "fuse.load"(%b, %true, %z1) {at = ["d0", "d2", "d3"]} : (tensor<2x512x64xbf16>, i1, bf16) -> bf16
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
    %z0 = arith.constant 0.0 : bf16
    %z1 = arith.constant 0.0 : bf16
    %x = "fuse.load"(%a, %true, %z0) {at = ["d0", "d1", "d3"]} : (tensor<2x512x512xbf16>, i1, bf16) -> bf16
    %y = "fuse.load"(%b, %true, %z1) {at = ["d0", "d3", "d2"]} : (tensor<2x512x64xbf16>, i1, bf16) -> bf16
    %s = "fuse.dot"(%x, %y) {over = ["d3"]} : (bf16, bf16) -> f32
    %h = arith.truncf %s : f32 to bf16
    %r = "fuse.store"(%o, %h, %true) {at = ["d0", "d1", "d2"], mode = "set"} : (tensor<2x512x64xbf16>, bf16, i1) -> tensor<2x512x64xbf16>
    return %r : tensor<2x512x64xbf16>
  }
}
