// RUN: fuse-opt %s --pass-pipeline="builtin.module(expand-dots)" --split-input-file --verify-diagnostics | FileCheck %s
// RUN: fuse-opt %s --pass-pipeline="builtin.module(expand-dots)" --split-input-file --verify-diagnostics --remarks=text 2>&1 >/dev/null | FileCheck %s --check-prefix=SAID

// A product of two bf16 is exact in f32; the sum is as it was.
// SAID: analysis: expand-dots: few-rows: 1 rows and 8 columns: at most 4 of one of them [product]
// CHECK-LABEL: func.func private @product
// CHECK: %[[A:.*]] = "fuse.load"
// CHECK-NEXT: %[[B:.*]] = "fuse.load"
// CHECK-NEXT: %[[X:.*]] = arith.extf %[[A]] : bf16 to f32
// CHECK-NEXT: %[[Y:.*]] = arith.extf %[[B]] : bf16 to f32
// CHECK-NEXT: %[[P:.*]] = arith.mulf %[[X]], %[[Y]] : f32
// CHECK-NEXT: "fuse.reduce"(%[[P]]) {kind = "sum", over = ["d1"]} : (f32) -> f32
// CHECK-NOT: fuse.dot
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<64xbf16>, %w: tensor<8x64xbf16>) -> tensor<8xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<8xf32>
    %y = call @product(%x, %w, %o) : (tensor<64xbf16>, tensor<8x64xbf16>, tensor<8xf32>) -> tensor<8xf32>
    return %y : tensor<8xf32>
  }
  func.func private @product(%x: tensor<64xbf16>, %w: tensor<8x64xbf16>, %o: tensor<8xf32>) -> tensor<8xf32> attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "64"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %a = "fuse.load"(%x, %true, %zero) {at = ["d1"]} : (tensor<64xbf16>, i1, bf16) -> bf16
    %b = "fuse.load"(%w, %true, %zero) {at = ["d0", "d1"]} : (tensor<8x64xbf16>, i1, bf16) -> bf16
    %s = "fuse.dot"(%a, %b) {over = ["d1"]} : (bf16, bf16) -> f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d0"], mode = "set"} : (tensor<8xf32>, f32, i1) -> tensor<8xf32>
    return %r : tensor<8xf32>
  }
}

// -----

// Integers of 8 bits are summed in 32.
// CHECK-LABEL: func.func private @integers
// CHECK: arith.extsi %{{.*}} : i8 to i32
// CHECK: arith.extsi %{{.*}} : i8 to i32
// CHECK: %[[P:.*]] = arith.muli %{{.*}}, %{{.*}} : i32
// CHECK: "fuse.reduce"(%[[P]]) {kind = "sum", over = ["d1"]} : (i32) -> i32
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<64xi8>, %w: tensor<8x64xi8>) -> tensor<8xi32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<8xi32>
    %y = call @integers(%x, %w, %o) : (tensor<64xi8>, tensor<8x64xi8>, tensor<8xi32>) -> tensor<8xi32>
    return %y : tensor<8xi32>
  }
  func.func private @integers(%x: tensor<64xi8>, %w: tensor<8x64xi8>, %o: tensor<8xi32>) -> tensor<8xi32> attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "64"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0 : i8
    %a = "fuse.load"(%x, %true, %zero) {at = ["d1"]} : (tensor<64xi8>, i1, i8) -> i8
    %b = "fuse.load"(%w, %true, %zero) {at = ["d0", "d1"]} : (tensor<8x64xi8>, i1, i8) -> i8
    %s = "fuse.dot"(%a, %b) {over = ["d1"]} : (i8, i8) -> i32
    %r = "fuse.store"(%o, %s, %true) {at = ["d0"], mode = "set"} : (tensor<8xi32>, i32, i1) -> tensor<8xi32>
    return %r : tensor<8xi32>
  }
}

// -----

// Must not fire: tensor cores multiply five rows.
// SAID-NOT: [rows]
// CHECK-LABEL: func.func private @rows
// CHECK: "fuse.dot"
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<5x64xbf16>, %w: tensor<64x64xbf16>) -> tensor<5x64xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<5x64xf32>
    %y = call @rows(%x, %w, %o) : (tensor<5x64xbf16>, tensor<64x64xbf16>, tensor<5x64xf32>) -> tensor<5x64xf32>
    return %y : tensor<5x64xf32>
  }
  func.func private @rows(%x: tensor<5x64xbf16>, %w: tensor<64x64xbf16>, %o: tensor<5x64xf32>) -> tensor<5x64xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "5", d1 = "64", d2 = "64"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d2"]} : (tensor<5x64xbf16>, i1, bf16) -> bf16
    %b = "fuse.load"(%w, %true, %zero) {at = ["d2", "d1"]} : (tensor<64x64xbf16>, i1, bf16) -> bf16
    %s = "fuse.dot"(%a, %b) {over = ["d2"]} : (bf16, bf16) -> f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<5x64xf32>, f32, i1) -> tensor<5x64xf32>
    return %r : tensor<5x64xf32>
  }
}

// -----

// Must not fire: a sum is no product.
// CHECK-LABEL: func.func private @total
// CHECK: %[[V:.*]] = "fuse.load"
// CHECK-NEXT: "fuse.reduce"(%[[V]])
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<8x64xf32>) -> tensor<8xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<8xf32>
    %y = call @total(%x, %o) : (tensor<8x64xf32>, tensor<8xf32>) -> tensor<8xf32>
    return %y : tensor<8xf32>
  }
  func.func private @total(%x: tensor<8x64xf32>, %o: tensor<8xf32>) -> tensor<8xf32> attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "64"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<8x64xf32>, i1, f32) -> f32
    %s = "fuse.reduce"(%v) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d0"], mode = "set"} : (tensor<8xf32>, f32, i1) -> tensor<8xf32>
    return %r : tensor<8xf32>
  }
}

// -----

// Bad input: a module without a program.
// expected-error@+1 {{the module has no function @main}}
module attributes {fuse.device = "cpu"} {
}

// -----

// Weights of 8 bits that are widened stay a product of tiles, whose cast serves all rows.
// CHECK-LABEL: func.func private @widened
// CHECK: "fuse.dot"
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<4x512xbf16>, %w: tensor<1024x512xi8>) -> tensor<4x1024xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<4x1024xf32>
    %y = call @widened(%x, %w, %o) : (tensor<4x512xbf16>, tensor<1024x512xi8>, tensor<4x1024xf32>) -> tensor<4x1024xf32>
    return %y : tensor<4x1024xf32>
  }
  func.func private @widened(%x: tensor<4x512xbf16>, %w: tensor<1024x512xi8>, %o: tensor<4x1024xf32>) -> tensor<4x1024xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "4", d1 = "1024", d2 = "512"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %none = arith.constant 0 : i8
    %zero = arith.constant 0.0 : bf16
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d2"]} : (tensor<4x512xbf16>, i1, bf16) -> bf16
    %b = "fuse.load"(%w, %true, %none) {at = ["d1", "d2"]} : (tensor<1024x512xi8>, i1, i8) -> i8
    %f = arith.sitofp %b : i8 to bf16
    %s = "fuse.dot"(%a, %f) {over = ["d2"]} : (bf16, bf16) -> f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<4x1024xf32>, f32, i1) -> tensor<4x1024xf32>
    return %r : tensor<4x1024xf32>
  }
}

// -----

// Must not fire: one row has no columns for tensor cores.
// SAID: analysis: expand-dots: few-rows: 1 rows and 1024 columns: at most 4 of one of them [one]
// CHECK-LABEL: func.func private @one
// CHECK-NOT: fuse.dot
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<512xbf16>, %w: tensor<1024x512xi8>) -> tensor<1024xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<1024xf32>
    %y = call @one(%x, %w, %o) : (tensor<512xbf16>, tensor<1024x512xi8>, tensor<1024xf32>) -> tensor<1024xf32>
    return %y : tensor<1024xf32>
  }
  func.func private @one(%x: tensor<512xbf16>, %w: tensor<1024x512xi8>, %o: tensor<1024xf32>) -> tensor<1024xf32>
      attributes {fuse.kernel, fuse.dims = {d1 = "1024", d2 = "512"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %none = arith.constant 0 : i8
    %zero = arith.constant 0.0 : bf16
    %a = "fuse.load"(%x, %true, %zero) {at = ["d2"]} : (tensor<512xbf16>, i1, bf16) -> bf16
    %b = "fuse.load"(%w, %true, %none) {at = ["d1", "d2"]} : (tensor<1024x512xi8>, i1, i8) -> i8
    %f = arith.sitofp %b : i8 to bf16
    %s = "fuse.dot"(%a, %f) {over = ["d2"]} : (bf16, bf16) -> f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d1"], mode = "set"} : (tensor<1024xf32>, f32, i1) -> tensor<1024xf32>
    return %r : tensor<1024xf32>
  }
}

// -----

// Must not fire: such products are two in a kernel at most, and nothing else is reduced beside them.
// SAID: analysis: expand-dots: few-rows: 4 rows and 1024 columns: at most 4 of one of them [maxima]
// CHECK-LABEL: func.func private @maxima
// CHECK-NOT: fuse.dot
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<4x512xbf16>, %w: tensor<1024x512xi8>) -> tensor<4x1024xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<4x1024xf32>
    %y = call @maxima(%x, %w, %o) : (tensor<4x512xbf16>, tensor<1024x512xi8>, tensor<4x1024xf32>) -> tensor<4x1024xf32>
    return %y : tensor<4x1024xf32>
  }
  func.func private @maxima(%x: tensor<4x512xbf16>, %w: tensor<1024x512xi8>, %o: tensor<4x1024xf32>) -> tensor<4x1024xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "4", d1 = "1024", d2 = "512"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %none = arith.constant 0 : i8
    %zero = arith.constant 0.0 : bf16
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d2"]} : (tensor<4x512xbf16>, i1, bf16) -> bf16
    %b = "fuse.load"(%w, %true, %none) {at = ["d1", "d2"]} : (tensor<1024x512xi8>, i1, i8) -> i8
    %f = arith.sitofp %b : i8 to bf16
    %c = "fuse.dot"(%a, %f) {over = ["d2"]} : (bf16, bf16) -> f32
    %m = "fuse.reduce"(%c) {kind = "max", over = ["d1"]} : (f32) -> f32
    %s = arith.subf %c, %m : f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<4x1024xf32>, f32, i1) -> tensor<4x1024xf32>
    return %r : tensor<4x1024xf32>
  }
}

// -----

// Must not fire: rows of weights do not start at multiples of 16 bytes.
// SAID: analysis: expand-dots: few-rows: 4 rows and 1024 columns: at most 4 of one of them [apart]
// CHECK-LABEL: func.func private @apart
// CHECK-NOT: fuse.dot
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<4x500xbf16>, %w: tensor<1024x500xi8>) -> tensor<4x1024xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<4x1024xf32>
    %y = call @apart(%x, %w, %o) : (tensor<4x500xbf16>, tensor<1024x500xi8>, tensor<4x1024xf32>) -> tensor<4x1024xf32>
    return %y : tensor<4x1024xf32>
  }
  func.func private @apart(%x: tensor<4x500xbf16>, %w: tensor<1024x500xi8>, %o: tensor<4x1024xf32>) -> tensor<4x1024xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "4", d1 = "1024", d2 = "500"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %none = arith.constant 0 : i8
    %zero = arith.constant 0.0 : bf16
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d2"]} : (tensor<4x500xbf16>, i1, bf16) -> bf16
    %b = "fuse.load"(%w, %true, %none) {at = ["d1", "d2"]} : (tensor<1024x500xi8>, i1, i8) -> i8
    %f = arith.sitofp %b : i8 to bf16
    %s = "fuse.dot"(%a, %f) {over = ["d2"]} : (bf16, bf16) -> f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<4x1024xf32>, f32, i1) -> tensor<4x1024xf32>
    return %r : tensor<4x1024xf32>
  }
}

// -----

// Must not fire: weights lie along their rows' dim, not along what is summed.
// SAID: analysis: expand-dots: few-rows: 4 rows and 1024 columns: at most 4 of one of them [across]
// CHECK-LABEL: func.func private @across
// CHECK-NOT: fuse.dot
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<4x512xbf16>, %w: tensor<512x1024xi8>) -> tensor<4x1024xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<4x1024xf32>
    %y = call @across(%x, %w, %o) : (tensor<4x512xbf16>, tensor<512x1024xi8>, tensor<4x1024xf32>) -> tensor<4x1024xf32>
    return %y : tensor<4x1024xf32>
  }
  func.func private @across(%x: tensor<4x512xbf16>, %w: tensor<512x1024xi8>, %o: tensor<4x1024xf32>) -> tensor<4x1024xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "4", d1 = "1024", d2 = "512"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %none = arith.constant 0 : i8
    %zero = arith.constant 0.0 : bf16
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d2"]} : (tensor<4x512xbf16>, i1, bf16) -> bf16
    %b = "fuse.load"(%w, %true, %none) {at = ["d2", "d1"]} : (tensor<512x1024xi8>, i1, i8) -> i8
    %f = arith.sitofp %b : i8 to bf16
    %s = "fuse.dot"(%a, %f) {over = ["d2"]} : (bf16, bf16) -> f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<4x1024xf32>, f32, i1) -> tensor<4x1024xf32>
    return %r : tensor<4x1024xf32>
  }
}

// -----

// Must not fire: 1023 rows of weights leave too few programs.
// SAID: analysis: expand-dots: few-rows: 4 rows and 1023 columns: at most 4 of one of them [small]
// CHECK-LABEL: func.func private @small
// CHECK-NOT: fuse.dot
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<4x512xbf16>, %w: tensor<1023x512xi8>) -> tensor<4x1023xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<4x1023xf32>
    %y = call @small(%x, %w, %o) : (tensor<4x512xbf16>, tensor<1023x512xi8>, tensor<4x1023xf32>) -> tensor<4x1023xf32>
    return %y : tensor<4x1023xf32>
  }
  func.func private @small(%x: tensor<4x512xbf16>, %w: tensor<1023x512xi8>, %o: tensor<4x1023xf32>) -> tensor<4x1023xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "4", d1 = "1023", d2 = "512"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %none = arith.constant 0 : i8
    %zero = arith.constant 0.0 : bf16
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d2"]} : (tensor<4x512xbf16>, i1, bf16) -> bf16
    %b = "fuse.load"(%w, %true, %none) {at = ["d1", "d2"]} : (tensor<1023x512xi8>, i1, i8) -> i8
    %f = arith.sitofp %b : i8 to bf16
    %s = "fuse.dot"(%a, %f) {over = ["d2"]} : (bf16, bf16) -> f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<4x1023xf32>, f32, i1) -> tensor<4x1023xf32>
    return %r : tensor<4x1023xf32>
  }
}

// -----

// Must not fire: 112 bytes of each row of weights are no whole step.
// SAID: analysis: expand-dots: few-rows: 4 rows and 1000000 columns: at most 4 of one of them [short]
// CHECK-LABEL: func.func private @short
// CHECK-NOT: fuse.dot
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<4x112xbf16>, %w: tensor<1000000x112xi8>) -> tensor<4x1000000xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<4x1000000xf32>
    %y = call @short(%x, %w, %o) : (tensor<4x112xbf16>, tensor<1000000x112xi8>, tensor<4x1000000xf32>) -> tensor<4x1000000xf32>
    return %y : tensor<4x1000000xf32>
  }
  func.func private @short(%x: tensor<4x112xbf16>, %w: tensor<1000000x112xi8>, %o: tensor<4x1000000xf32>) -> tensor<4x1000000xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "4", d1 = "1000000", d2 = "112"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %none = arith.constant 0 : i8
    %zero = arith.constant 0.0 : bf16
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d2"]} : (tensor<4x112xbf16>, i1, bf16) -> bf16
    %b = "fuse.load"(%w, %true, %none) {at = ["d1", "d2"]} : (tensor<1000000x112xi8>, i1, i8) -> i8
    %f = arith.sitofp %b : i8 to bf16
    %s = "fuse.dot"(%a, %f) {over = ["d2"]} : (bf16, bf16) -> f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<4x1000000xf32>, f32, i1) -> tensor<4x1000000xf32>
    return %r : tensor<4x1000000xf32>
  }
}

// -----

// 128 bytes of each are one.
// CHECK-LABEL: func.func private @one_step
// CHECK: "fuse.dot"
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<4x128xbf16>, %w: tensor<1024x128xi8>) -> tensor<4x1024xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<4x1024xf32>
    %y = call @one_step(%x, %w, %o) : (tensor<4x128xbf16>, tensor<1024x128xi8>, tensor<4x1024xf32>) -> tensor<4x1024xf32>
    return %y : tensor<4x1024xf32>
  }
  func.func private @one_step(%x: tensor<4x128xbf16>, %w: tensor<1024x128xi8>, %o: tensor<4x1024xf32>) -> tensor<4x1024xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "4", d1 = "1024", d2 = "128"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %none = arith.constant 0 : i8
    %zero = arith.constant 0.0 : bf16
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d2"]} : (tensor<4x128xbf16>, i1, bf16) -> bf16
    %b = "fuse.load"(%w, %true, %none) {at = ["d1", "d2"]} : (tensor<1024x128xi8>, i1, i8) -> i8
    %f = arith.sitofp %b : i8 to bf16
    %s = "fuse.dot"(%a, %f) {over = ["d2"]} : (bf16, bf16) -> f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<4x1024xf32>, f32, i1) -> tensor<4x1024xf32>
    return %r : tensor<4x1024xf32>
  }
}

// -----

// Must not fire: two rows times the weights of 16 bits are summed, and a sum and a product of tiles share no tile.
// SAID: analysis: expand-dots: few-rows: 2 rows and 1024 columns: at most 4 of one of them [mixed]
// CHECK-LABEL: func.func private @mixed
// CHECK-NOT: fuse.dot
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<2x512xbf16>, %w: tensor<1024x512xi8>, %u: tensor<1024x512xbf16>) -> tensor<2x1024xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<2x1024xf32>
    %y = call @mixed(%x, %w, %u, %o) : (tensor<2x512xbf16>, tensor<1024x512xi8>, tensor<1024x512xbf16>, tensor<2x1024xf32>) -> tensor<2x1024xf32>
    return %y : tensor<2x1024xf32>
  }
  func.func private @mixed(%x: tensor<2x512xbf16>, %w: tensor<1024x512xi8>, %u: tensor<1024x512xbf16>, %o: tensor<2x1024xf32>) -> tensor<2x1024xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "2", d1 = "1024", d2 = "512"}, fuse.ties = array<i64: 3>} {
    %true = arith.constant true
    %none = arith.constant 0 : i8
    %zero = arith.constant 0.0 : bf16
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d2"]} : (tensor<2x512xbf16>, i1, bf16) -> bf16
    %b = "fuse.load"(%w, %true, %none) {at = ["d1", "d2"]} : (tensor<1024x512xi8>, i1, i8) -> i8
    %c = "fuse.load"(%u, %true, %zero) {at = ["d1", "d2"]} : (tensor<1024x512xbf16>, i1, bf16) -> bf16
    %f = arith.sitofp %b : i8 to bf16
    %s = "fuse.dot"(%a, %f) {over = ["d2"]} : (bf16, bf16) -> f32
    %t = "fuse.dot"(%a, %c) {over = ["d2"]} : (bf16, bf16) -> f32
    %g = arith.mulf %s, %t : f32
    %r = "fuse.store"(%o, %g, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<2x1024xf32>, f32, i1) -> tensor<2x1024xf32>
    return %r : tensor<2x1024xf32>
  }
}

// -----

// Must not fire: the three columns end a chain, so tensor cores compute them of the tile that the first product made.
// CHECK-LABEL: func.func private @ends
// CHECK-COUNT-2: fuse.dot
module attributes {fuse.device = "cpu"} {
  func.func @main(%x0: tensor<4096x64xbf16>, %w0: tensor<64x64xbf16>, %v0: tensor<64x3xbf16>) -> tensor<4096x3xbf16> {
    %o0 = "fuse.empty"() {syms = []} : () -> tensor<4096x3xbf16>
    %y0 = call @ends(%x0, %w0, %v0, %o0) : (tensor<4096x64xbf16>, tensor<64x64xbf16>, tensor<64x3xbf16>, tensor<4096x3xbf16>) -> tensor<4096x3xbf16>
    return %y0 : tensor<4096x3xbf16>
  }
  func.func private @ends(%x: tensor<4096x64xbf16>, %w: tensor<64x64xbf16>, %v: tensor<64x3xbf16>, %o: tensor<4096x3xbf16>) -> tensor<4096x3xbf16>
      attributes {fuse.kernel, fuse.dims = {d0 = "4096", d1 = "64", d2 = "64", d3 = "3"}, fuse.ties = array<i64: 3>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d2"]} : (tensor<4096x64xbf16>, i1, bf16) -> bf16
    %b = "fuse.load"(%w, %true, %zero) {at = ["d2", "d1"]} : (tensor<64x64xbf16>, i1, bf16) -> bf16
    %s = "fuse.dot"(%a, %b) {over = ["d2"]} : (bf16, bf16) -> f32
    %h = arith.truncf %s : f32 to bf16
    %q = "fuse.load"(%v, %true, %zero) {at = ["d1", "d3"]} : (tensor<64x3xbf16>, i1, bf16) -> bf16
    %t = "fuse.dot"(%h, %q) {over = ["d1"]} : (bf16, bf16) -> f32
    %z = arith.truncf %t : f32 to bf16
    %r = "fuse.store"(%o, %z, %true) {at = ["d0", "d3"], mode = "set"} : (tensor<4096x3xbf16>, bf16, i1) -> tensor<4096x3xbf16>
    return %r : tensor<4096x3xbf16>
  }
}

// -----

// Three columns of a product of three columns: no tile is there to read.
// SAID: analysis: expand-dots: few-rows: 4096 rows and 3 columns: at most 4 of one of them [thrice]
// SAID: analysis: expand-dots: few-rows: 4096 rows and 3 columns: at most 4 of one of them [thrice]
// CHECK-LABEL: func.func private @thrice
// CHECK-NOT: fuse.dot
// CHECK: return
module attributes {fuse.device = "cpu"} {
  func.func @main(%x0: tensor<4096x64xbf16>, %w0: tensor<64x3xbf16>, %v0: tensor<3x3xbf16>) -> tensor<4096x3xbf16> {
    %o0 = "fuse.empty"() {syms = []} : () -> tensor<4096x3xbf16>
    %y0 = call @thrice(%x0, %w0, %v0, %o0) : (tensor<4096x64xbf16>, tensor<64x3xbf16>, tensor<3x3xbf16>, tensor<4096x3xbf16>) -> tensor<4096x3xbf16>
    return %y0 : tensor<4096x3xbf16>
  }
  func.func private @thrice(%x: tensor<4096x64xbf16>, %w: tensor<64x3xbf16>, %v: tensor<3x3xbf16>, %o: tensor<4096x3xbf16>) -> tensor<4096x3xbf16>
      attributes {fuse.kernel, fuse.dims = {d0 = "4096", d1 = "3", d2 = "64", d3 = "3"}, fuse.ties = array<i64: 3>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d2"]} : (tensor<4096x64xbf16>, i1, bf16) -> bf16
    %b = "fuse.load"(%w, %true, %zero) {at = ["d2", "d1"]} : (tensor<64x3xbf16>, i1, bf16) -> bf16
    %s = "fuse.dot"(%a, %b) {over = ["d2"]} : (bf16, bf16) -> f32
    %h = arith.truncf %s : f32 to bf16
    %q = "fuse.load"(%v, %true, %zero) {at = ["d1", "d3"]} : (tensor<3x3xbf16>, i1, bf16) -> bf16
    %t = "fuse.dot"(%h, %q) {over = ["d1"]} : (bf16, bf16) -> f32
    %z = arith.truncf %t : f32 to bf16
    %r = "fuse.store"(%o, %z, %true) {at = ["d0", "d3"], mode = "set"} : (tensor<4096x3xbf16>, bf16, i1) -> tensor<4096x3xbf16>
    return %r : tensor<4096x3xbf16>
  }
}

// -----

// A single column is no tile.
// CHECK-LABEL: func.func private @column
// CHECK: fuse.dot
// CHECK-NOT: fuse.dot
// CHECK: return
module attributes {fuse.device = "cpu"} {
  func.func @main(%x0: tensor<4096x64xbf16>, %w0: tensor<64x64xbf16>, %v0: tensor<64x1xbf16>) -> tensor<4096x1xbf16> {
    %o0 = "fuse.empty"() {syms = []} : () -> tensor<4096x1xbf16>
    %y0 = call @column(%x0, %w0, %v0, %o0) : (tensor<4096x64xbf16>, tensor<64x64xbf16>, tensor<64x1xbf16>, tensor<4096x1xbf16>) -> tensor<4096x1xbf16>
    return %y0 : tensor<4096x1xbf16>
  }
  func.func private @column(%x: tensor<4096x64xbf16>, %w: tensor<64x64xbf16>, %v: tensor<64x1xbf16>, %o: tensor<4096x1xbf16>) -> tensor<4096x1xbf16>
      attributes {fuse.kernel, fuse.dims = {d0 = "4096", d1 = "64", d2 = "64", d3 = "1"}, fuse.ties = array<i64: 3>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d2"]} : (tensor<4096x64xbf16>, i1, bf16) -> bf16
    %b = "fuse.load"(%w, %true, %zero) {at = ["d2", "d1"]} : (tensor<64x64xbf16>, i1, bf16) -> bf16
    %s = "fuse.dot"(%a, %b) {over = ["d2"]} : (bf16, bf16) -> f32
    %h = arith.truncf %s : f32 to bf16
    %q = "fuse.load"(%v, %true, %zero) {at = ["d1", "d3"]} : (tensor<64x1xbf16>, i1, bf16) -> bf16
    %t = "fuse.dot"(%h, %q) {over = ["d1"]} : (bf16, bf16) -> f32
    %z = arith.truncf %t : f32 to bf16
    %r = "fuse.store"(%o, %z, %true) {at = ["d0", "d3"], mode = "set"} : (tensor<4096x1xbf16>, bf16, i1) -> tensor<4096x1xbf16>
    return %r : tensor<4096x1xbf16>
  }
}
