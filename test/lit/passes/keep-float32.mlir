// RUN: fuse-opt %s --pass-pipeline="builtin.module(keep-float32)" --split-input-file --verify-diagnostics | FileCheck %s
// RUN: fuse-opt %s --pass-pipeline="builtin.module(keep-float32,keep-float32)" --split-input-file --verify-diagnostics | FileCheck %s
// RUN: fuse-opt %s --pass-pipeline="builtin.module(keep-float32)" --split-input-file --verify-diagnostics --remarks=text 2>&1 >/dev/null | FileCheck %s --check-prefix=SAID

// The product is added as it is, and says that eager rounds it; what is stored is rounded.
// CHECK-LABEL: func.func private @between
// CHECK: %[[P:.*]] = arith.mulf %{{.*}}, %{{.*}} {fuse.coarse} : f32
// CHECK-NEXT: %[[S:.*]] = arith.addf %[[P]]
// CHECK-NEXT: %[[R:.*]] = arith.truncf %[[S]] {fuse.implicit} : f32 to bf16
// CHECK-NEXT: "fuse.store"({{.*}}, %[[R]]
// CHECK-NOT: arith.truncf
// SAID: passed: keep-float32: kept, roundings=1: @between keeps results in float32 that eager rounds between ops
// SAID: passed: keep-float32: kept, roundings=3: @in_a_row keeps
// SAID: passed: keep-float32: kept, roundings=1: @select keeps
// SAID: passed: keep-float32: kept, roundings=1: @reduced keeps
// SAID: analysis: keep-float32: asked-for, roundings=1: @asked_for keeps roundings that the program asks for, that decide, or that are saved
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<8xbf16>) -> tensor<8xbf16> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<8xbf16>
    %y = call @between(%x, %o) : (tensor<8xbf16>, tensor<8xbf16>) -> tensor<8xbf16>
    return %y : tensor<8xbf16>
  }
  func.func private @between(%x: tensor<8xbf16>, %o: tensor<8xbf16>) -> tensor<8xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "8"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %n = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<8xbf16>, i1, bf16) -> bf16
    %v = arith.extf %n : bf16 to f32
    %p = arith.mulf %v, %v : f32
    %q = arith.truncf %p {fuse.implicit} : f32 to bf16
    %w = arith.extf %q : bf16 to f32
    %s = arith.addf %w, %v : f32
    %t = arith.truncf %s {fuse.implicit} : f32 to bf16
    %r = "fuse.store"(%o, %t, %true) {at = ["d0"], mode = "set"} : (tensor<8xbf16>, bf16, i1) -> tensor<8xbf16>
    return %r : tensor<8xbf16>
  }
}

// -----

// Each of three roundings in a row marks what it rounded, though what the second one rounds reads another value by then.
// CHECK-LABEL: func.func private @in_a_row
// CHECK: %[[A:.*]] = arith.mulf %{{.*}}, %{{.*}} {fuse.coarse} : f32
// CHECK: %[[B:.*]] = math.tanh %[[A]] {fuse.coarse} : f32
// CHECK: %[[C:.*]] = arith.divf %[[B]], %{{.*}} {fuse.coarse} : f32
// CHECK: arith.addf %[[C]]
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<8xbf16>) -> tensor<8xbf16> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<8xbf16>
    %y = call @in_a_row(%x, %o) : (tensor<8xbf16>, tensor<8xbf16>) -> tensor<8xbf16>
    return %y : tensor<8xbf16>
  }
  func.func private @in_a_row(%x: tensor<8xbf16>, %o: tensor<8xbf16>) -> tensor<8xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "8"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %n = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<8xbf16>, i1, bf16) -> bf16
    %v = arith.extf %n : bf16 to f32
    %a = arith.mulf %v, %v : f32
    %a16 = arith.truncf %a {fuse.implicit} : f32 to bf16
    %a32 = arith.extf %a16 : bf16 to f32
    %b = math.tanh %a32 : f32
    %b16 = arith.truncf %b {fuse.implicit} : f32 to bf16
    %b32 = arith.extf %b16 : bf16 to f32
    %c = arith.divf %b32, %v : f32
    %c16 = arith.truncf %c {fuse.implicit} : f32 to bf16
    %c32 = arith.extf %c16 : bf16 to f32
    %s = arith.addf %c32, %v : f32
    %t = arith.truncf %s {fuse.implicit} : f32 to bf16
    %r = "fuse.store"(%o, %t, %true) {at = ["d0"], mode = "set"} : (tensor<8xbf16>, bf16, i1) -> tensor<8xbf16>
    return %r : tensor<8xbf16>
  }
}

// -----

// A choice is made before the rounding: of the exact number, another one, a number from memory, a constant.
// CHECK-LABEL: func.func private @select
// CHECK: %[[Y:.*]] = arith.extf %{{.*}} : f16 to f32
// CHECK: %[[E:.*]] = math.exp %[[Y]] {fuse.coarse} : f32
// CHECK: %[[A:.*]] = arith.select %{{.*}}, %[[E]], %[[Y]] : f32
// CHECK: %[[B:.*]] = arith.select %{{.*}}, %[[A]], %{{.*}} : f32
// CHECK: math.sin %[[B]] : f32
// CHECK-COUNT-1: arith.truncf
// CHECK-NOT: arith.truncf
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<8xf16>) -> tensor<8xf16> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<8xf16>
    %y = call @select(%x, %o) : (tensor<8xf16>, tensor<8xf16>) -> tensor<8xf16>
    return %y : tensor<8xf16>
  }
  func.func private @select(%x: tensor<8xf16>, %o: tensor<8xf16>) -> tensor<8xf16> attributes {fuse.kernel, fuse.dims = {d0 = "8"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f16
    %low = arith.constant -2.0 : f16
    %three = arith.constant 3 : i64
    %five = arith.constant 5 : i64
    %d = "fuse.index"() {expr = "d0"} : () -> i64
    %c = arith.cmpi slt, %d, %three : i64
    %c2 = arith.cmpi slt, %d, %five : i64
    %n = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<8xf16>, i1, f16) -> f16
    %v = arith.extf %n : f16 to f32
    %p = math.exp %v : f32
    %q = arith.truncf %p {fuse.implicit} : f32 to f16
    %a = arith.select %c, %q, %n : f16
    %b = arith.select %c2, %a, %low : f16
    %w = arith.extf %b : f16 to f32
    %s = math.sin %w : f32
    %t = arith.truncf %s {fuse.implicit} : f32 to f16
    %r = "fuse.store"(%o, %t, %true) {at = ["d0"], mode = "set"} : (tensor<8xf16>, f16, i1) -> tensor<8xf16>
    return %r : tensor<8xf16>
  }
}

// -----

// What a reduction rounds is read as it was; also in float64, which holds it.
// CHECK-LABEL: func.func private @reduced
// CHECK: %[[S:.*]] = "fuse.reduce"
// CHECK-DAG: arith.subf %{{.*}}, %[[S]] : f32
// CHECK-DAG: %[[D:.*]] = arith.extf %[[S]] : f32 to f64
// CHECK-DAG: math.sqrt %[[D]] : f64
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<8x4xf16>) -> (tensor<8x4xf32>, tensor<8xf64>) {
    %o = "fuse.empty"() {syms = []} : () -> tensor<8x4xf32>
    %o2 = "fuse.empty"() {syms = []} : () -> tensor<8xf64>
    %y:2 = call @reduced(%x, %o, %o2) : (tensor<8x4xf16>, tensor<8x4xf32>, tensor<8xf64>) -> (tensor<8x4xf32>, tensor<8xf64>)
    return %y#0, %y#1 : tensor<8x4xf32>, tensor<8xf64>
  }
  func.func private @reduced(%x: tensor<8x4xf16>, %o: tensor<8x4xf32>, %o2: tensor<8xf64>) -> (tensor<8x4xf32>, tensor<8xf64>) attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "4"}, fuse.ties = array<i64: 1, 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f16
    %n = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<8x4xf16>, i1, f16) -> f16
    %v = arith.extf %n : f16 to f32
    %p = "fuse.reduce"(%v) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %q = arith.truncf %p {fuse.implicit} : f32 to f16
    %w = arith.extf %q : f16 to f32
    %s = arith.subf %v, %w : f32
    %d = arith.extf %q : f16 to f64
    %e = math.sqrt %d : f64
    %r = "fuse.store"(%o, %s, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<8x4xf32>, f32, i1) -> tensor<8x4xf32>
    %r2 = "fuse.store"(%o2, %e, %true) {at = ["d0"], mode = "set"} : (tensor<8xf64>, f64, i1) -> tensor<8xf64>
    return %r, %r2 : tensor<8x4xf32>, tensor<8xf64>
  }
}

// -----

// Must not fire: the program asks for the first rounding; the second one is to another type than what is read, by bits.
// CHECK-LABEL: func.func private @asked_for
// CHECK: %[[Q:.*]] = arith.truncf %{{.*}} : f32 to f16
// CHECK: %[[W:.*]] = arith.extf %[[Q]] : f16 to f32
// CHECK: %[[S:.*]] = arith.addf %[[W]]
// CHECK: %[[T:.*]] = arith.truncf %[[S]] {fuse.implicit} : f32 to f16
// CHECK: %[[I:.*]] = arith.bitcast %[[T]] : f16 to i16
// CHECK: "fuse.store"({{.*}}, %[[I]]
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<8xf32>) -> tensor<8xi16> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<8xi16>
    %y = call @asked_for(%x, %o) : (tensor<8xf32>, tensor<8xi16>) -> tensor<8xi16>
    return %y : tensor<8xi16>
  }
  func.func private @asked_for(%x: tensor<8xf32>, %o: tensor<8xi16>) -> tensor<8xi16> attributes {fuse.kernel, fuse.dims = {d0 = "8"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<8xf32>, i1, f32) -> f32
    %q = arith.truncf %v : f32 to f16
    %w = arith.extf %q : f16 to f32
    %s = arith.addf %w, %v : f32
    %t = arith.truncf %s {fuse.implicit} : f32 to f16
    %i = arith.bitcast %t : f16 to i16
    %r = "fuse.store"(%o, %i, %true) {at = ["d0"], mode = "set"} : (tensor<8xi16>, i16, i1) -> tensor<8xi16>
    return %r : tensor<8xi16>
  }
}

// -----

// Must not fire: what is chosen from was rounded because the program asks for it.
// CHECK-LABEL: func.func private @chosen
// CHECK: %[[Q:.*]] = arith.truncf %{{.*}} : f32 to bf16
// CHECK: %[[A:.*]] = arith.select %{{.*}}, %[[Q]], %{{.*}} : bf16
// CHECK: arith.extf %[[A]] : bf16 to f32
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<8xf32>
    %y = call @chosen(%x, %o) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    return %y : tensor<8xf32>
  }
  func.func private @chosen(%x: tensor<8xf32>, %o: tensor<8xf32>) -> tensor<8xf32> attributes {fuse.kernel, fuse.dims = {d0 = "8"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %low = arith.constant -2.0 : bf16
    %three = arith.constant 3 : i64
    %d = "fuse.index"() {expr = "d0"} : () -> i64
    %c = arith.cmpi slt, %d, %three : i64
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<8xf32>, i1, f32) -> f32
    %q = arith.truncf %v : f32 to bf16
    %a = arith.select %c, %q, %low : bf16
    %w = arith.extf %a : bf16 to f32
    %r = "fuse.store"(%o, %w, %true) {at = ["d0"], mode = "set"} : (tensor<8xf32>, f32, i1) -> tensor<8xf32>
    return %r : tensor<8xf32>
  }
}

// -----

// No mark where eager reads the number before it is rounded, too, or a rounding is asked for; nor on what is no op of arith or math.
// CHECK-LABEL: func.func private @read_exactly
// CHECK: "fuse.reduce"(%{{.*}}) {kind = "sum", over = ["d1"]} : (f32) -> f32
// CHECK: arith.mulf %{{.*}}, %{{.*}} : f32
// CHECK: math.exp %{{.*}} : f32
// CHECK-NOT: fuse.coarse
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<8x4xf32>) -> (tensor<8x4xf32>, tensor<8xf32>) {
    %o = "fuse.empty"() {syms = []} : () -> tensor<8x4xf32>
    %o2 = "fuse.empty"() {syms = []} : () -> tensor<8xf32>
    %y:2 = call @read_exactly(%x, %o, %o2) : (tensor<8x4xf32>, tensor<8x4xf32>, tensor<8xf32>) -> (tensor<8x4xf32>, tensor<8xf32>)
    return %y#0, %y#1 : tensor<8x4xf32>, tensor<8xf32>
  }
  func.func private @read_exactly(%x: tensor<8x4xf32>, %o: tensor<8x4xf32>, %o2: tensor<8xf32>) -> (tensor<8x4xf32>, tensor<8xf32>) attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "4"}, fuse.ties = array<i64: 1, 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<8x4xf32>, i1, f32) -> f32
    %s = "fuse.reduce"(%v) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %sq = arith.truncf %s {fuse.implicit} : f32 to f16
    %sw = arith.extf %sq : f16 to f32
    %p = arith.mulf %v, %v : f32
    %q = arith.truncf %p {fuse.implicit} : f32 to f16
    %w = arith.extf %q : f16 to f32
    %d = arith.subf %w, %p : f32
    %e = math.exp %d : f32
    %k = arith.truncf %e : f32 to f16
    %l = arith.extf %k : f16 to f32
    %r = "fuse.store"(%o, %l, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<8x4xf32>, f32, i1) -> tensor<8x4xf32>
    %r2 = "fuse.store"(%o2, %sw, %true) {at = ["d0"], mode = "set"} : (tensor<8xf32>, f32, i1) -> tensor<8xf32>
    return %r, %r2 : tensor<8x4xf32>, tensor<8xf32>
  }
}

// -----

// Bad input: nothing is rounded from float64 to 16 bits at once.
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<8xf64>) -> tensor<8xf16> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<8xf16>
    %y = call @bad(%x, %o) : (tensor<8xf64>, tensor<8xf16>) -> tensor<8xf16>
    return %y : tensor<8xf16>
  }
  func.func private @bad(%x: tensor<8xf64>, %o: tensor<8xf16>) -> tensor<8xf16> attributes {fuse.kernel, fuse.dims = {d0 = "8"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f64
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<8xf64>, i1, f64) -> f64
    // expected-error@+1 {{expected fuse.implicit to round f32 to f16 or bf16, got f64 to f16}}
    %q = arith.truncf %v {fuse.implicit} : f64 to f16
    %r = "fuse.store"(%o, %q, %true) {at = ["d0"], mode = "set"} : (tensor<8xf16>, f16, i1) -> tensor<8xf16>
    return %r : tensor<8xf16>
  }
}

// -----

// Bad input: no error is allowed to float64, nor to a number that is read from memory.
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<8xf32>) -> tensor<8xf64> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<8xf64>
    %y = call @bad(%x, %o) : (tensor<8xf32>, tensor<8xf64>) -> tensor<8xf64>
    return %y : tensor<8xf64>
  }
  func.func private @bad(%x: tensor<8xf32>, %o: tensor<8xf64>) -> tensor<8xf64> attributes {fuse.kernel, fuse.dims = {d0 = "8"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    // expected-error@+1 {{expected fuse.coarse on an arith or math op with one result of f32, got fuse.load with f32}}
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0"], fuse.coarse} : (tensor<8xf32>, i1, f32) -> f32
    // expected-error@+1 {{expected fuse.coarse on an arith or math op with one result of f32, got arith.extf with f64}}
    %w = arith.extf %v {fuse.coarse} : f32 to f64
    // expected-error@+1 {{expected fuse.coarse on an arith or math op with one result of f32, got fuse.store with tensor<8xf64>}}
    %r = "fuse.store"(%o, %w, %true) {at = ["d0"], mode = "set", fuse.coarse} : (tensor<8xf64>, f64, i1) -> tensor<8xf64>
    return %r : tensor<8xf64>
  }
}
