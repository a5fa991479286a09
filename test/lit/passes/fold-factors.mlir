// Constant factors between the products of a kernel that goes through columns.
// RUN: fuse-opt %s --pass-pipeline="builtin.module(fold-factors)" --split-input-file | FileCheck %s
// RUN: fuse-opt %s --pass-pipeline="builtin.module(fold-factors,fold-factors)" --split-input-file | FileCheck %s
// RUN: fuse-opt %s --pass-pipeline="builtin.module(fold-factors)" --split-input-file --remarks=text 2>&1 >/dev/null | FileCheck %s --check-prefix=SAID
// RUN: not fuse-opt %s --pass-pipeline="builtin.module(fold-factors{most=2})" --split-input-file 2>&1 | FileCheck %s --check-prefix=BAD
// BAD: fold-factors

// Two constants are one; an exponential is a power of two; what scales a gradient scales the result; 4 / 4 is gone.
// SAID: passed: fold-factors: folded, factors=4: @gradient multiplies by fewer constants for each row and column
// CHECK-LABEL: func.func private @gradient
// CHECK-DAG: %[[ONE:.*]] = arith.constant 3.125000e-02 : f32
// CHECK-DAG: %[[LOG:.*]] = arith.constant 1.44269502 : f32
// CHECK-DAG: %[[SCALE:.*]] = arith.constant 1.250000e-01 : f32
// CHECK: %[[S:.*]] = "fuse.dot"
// CHECK: %[[B:.*]] = arith.mulf %[[S]], %[[ONE]] : f32
// CHECK-NOT: math.exp %
// CHECK: %[[P:.*]] = math.exp2
// CHECK: %[[J:.*]] = arith.mulf %[[P]], %[[B]] : f32
// CHECK-NEXT: %[[W:.*]] = arith.truncf %[[J]] {fuse.implicit}
// CHECK: %[[T:.*]] = "fuse.dot"(%[[W]]
// CHECK-NEXT: %[[U:.*]] = arith.mulf %[[T]], %[[SCALE]] : f32
// CHECK-NEXT: arith.truncf %[[U]]
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%q: tensor<2x256x64xbf16>, %k: tensor<2x256x64xbf16>, %v: tensor<2x256x64xbf16>, %m: tensor<2x256xf32>) -> tensor<2x256x64xbf16> {
    %0 = "fuse.empty"() {syms = []} : () -> tensor<2x256x64xbf16>
    %1 = call @gradient(%q, %k, %v, %m, %0) : (tensor<2x256x64xbf16>, tensor<2x256x64xbf16>, tensor<2x256x64xbf16>, tensor<2x256xf32>, tensor<2x256x64xbf16>) -> tensor<2x256x64xbf16>
    return %1 : tensor<2x256x64xbf16>
  }
  func.func private @gradient(%q: tensor<2x256x64xbf16>, %k: tensor<2x256x64xbf16>, %v: tensor<2x256x64xbf16>, %m: tensor<2x256xf32>, %o: tensor<2x256x64xbf16>) -> tensor<2x256x64xbf16> attributes {fuse.kernel, fuse.looped, fuse.dims = {d0 = "2", d1 = "256", d2 = "64", d3 = "256", d4 = "64"}, fuse.ties = array<i64: 4>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %none = arith.constant 0.0 : f32
    %scale = arith.constant 0.125 : f32
    %cap = arith.constant 4.0 : f32
    %big = arith.constant 3.0e38 : f32
    %x = "fuse.load"(%q, %true, %zero) {at = ["d0", "d1", "d4"]} : (tensor<2x256x64xbf16>, i1, bf16) -> bf16
    %y = "fuse.load"(%k, %true, %zero) {at = ["d0", "d3", "d4"]} : (tensor<2x256x64xbf16>, i1, bf16) -> bf16
    %s = "fuse.dot"(%x, %y) {over = ["d4"]} : (bf16, bf16) -> f32
    %n = "fuse.load"(%m, %true, %none) {at = ["d0", "d1"]} : (tensor<2x256xf32>, i1, f32) -> f32
    %a = arith.mulf %s, %scale : f32
    %b = arith.divf %a, %cap : f32
    %d = arith.subf %b, %n : f32
    %p = math.exp %d : f32
    %g = arith.mulf %p, %cap : f32
    %h = arith.mulf %g, %b : f32
    %i = arith.divf %h, %cap : f32
    %j = arith.mulf %i, %scale : f32
    %w = arith.truncf %j {fuse.implicit} : f32 to bf16
    %z = "fuse.load"(%v, %true, %zero) {at = ["d0", "d3", "d2"]} : (tensor<2x256x64xbf16>, i1, bf16) -> bf16
    %t = "fuse.dot"(%w, %z) {over = ["d3"]} : (bf16, bf16) -> f32
    %u = arith.truncf %t {fuse.implicit} : f32 to bf16
    %r = "fuse.store"(%o, %u, %true) {at = ["d0", "d1", "d2"], mode = "set"} : (tensor<2x256x64xbf16>, bf16, i1) -> tensor<2x256x64xbf16>
    return %r : tensor<2x256x64xbf16>
  }
}

// -----

// Must not fire: the program asks for the rounding, so a factor in front of it stays there; constants are one.
// CHECK-LABEL: func.func private @asked_for
// CHECK: %[[P:.*]] = math.exp2
// CHECK: %[[G:.*]] = arith.mulf %[[P]], %{{.*}} : f32
// CHECK: %[[J:.*]] = arith.mulf %[[G]], %{{.*}} : f32
// CHECK: %[[W:.*]] = arith.truncf %[[J]] : f32 to bf16
// CHECK: %[[T:.*]] = "fuse.dot"(%[[W]]
// CHECK-NEXT: arith.truncf %[[T]]
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%q: tensor<2x256x64xbf16>, %k: tensor<2x256x64xbf16>, %v: tensor<2x256x64xbf16>, %m: tensor<2x256xf32>) -> tensor<2x256x64xbf16> {
    %0 = "fuse.empty"() {syms = []} : () -> tensor<2x256x64xbf16>
    %1 = call @asked_for(%q, %k, %v, %m, %0) : (tensor<2x256x64xbf16>, tensor<2x256x64xbf16>, tensor<2x256x64xbf16>, tensor<2x256xf32>, tensor<2x256x64xbf16>) -> tensor<2x256x64xbf16>
    return %1 : tensor<2x256x64xbf16>
  }
  func.func private @asked_for(%q: tensor<2x256x64xbf16>, %k: tensor<2x256x64xbf16>, %v: tensor<2x256x64xbf16>, %m: tensor<2x256xf32>, %o: tensor<2x256x64xbf16>) -> tensor<2x256x64xbf16> attributes {fuse.kernel, fuse.looped, fuse.dims = {d0 = "2", d1 = "256", d2 = "64", d3 = "256", d4 = "64"}, fuse.ties = array<i64: 4>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %none = arith.constant 0.0 : f32
    %scale = arith.constant 0.125 : f32
    %cap = arith.constant 4.0 : f32
    %big = arith.constant 3.0e38 : f32
    %x = "fuse.load"(%q, %true, %zero) {at = ["d0", "d1", "d4"]} : (tensor<2x256x64xbf16>, i1, bf16) -> bf16
    %y = "fuse.load"(%k, %true, %zero) {at = ["d0", "d3", "d4"]} : (tensor<2x256x64xbf16>, i1, bf16) -> bf16
    %s = "fuse.dot"(%x, %y) {over = ["d4"]} : (bf16, bf16) -> f32
    %n = "fuse.load"(%m, %true, %none) {at = ["d0", "d1"]} : (tensor<2x256xf32>, i1, f32) -> f32
    %a = arith.mulf %s, %scale : f32
    %b = arith.divf %a, %cap : f32
    %d = arith.subf %b, %n : f32
    %p = math.exp %d : f32
    %g = arith.mulf %p, %cap : f32
    %h = arith.mulf %g, %b : f32
    %i = arith.divf %h, %cap : f32
    %j = arith.mulf %i, %scale : f32
    %w = arith.truncf %j : f32 to bf16
    %z = "fuse.load"(%v, %true, %zero) {at = ["d0", "d3", "d2"]} : (tensor<2x256x64xbf16>, i1, bf16) -> bf16
    %t = "fuse.dot"(%w, %z) {over = ["d3"]} : (bf16, bf16) -> f32
    %u = arith.truncf %t {fuse.implicit} : f32 to bf16
    %r = "fuse.store"(%o, %u, %true) {at = ["d0", "d1", "d2"], mode = "set"} : (tensor<2x256x64xbf16>, bf16, i1) -> tensor<2x256x64xbf16>
    return %r : tensor<2x256x64xbf16>
  }
}

// -----

// Must not fire: float16 may not hold what is not scaled.
// CHECK-LABEL: func.func private @of_f16
// CHECK: %[[P:.*]] = math.exp2
// CHECK: %[[G:.*]] = arith.mulf %[[P]], %{{.*}} : f32
// CHECK: %[[J:.*]] = arith.mulf %[[G]], %{{.*}} : f32
// CHECK: %[[W:.*]] = arith.truncf %[[J]] {fuse.implicit} : f32 to f16
// CHECK: %[[T:.*]] = "fuse.dot"(%[[W]]
// CHECK-NEXT: arith.truncf %[[T]]
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%q: tensor<2x256x64xf16>, %k: tensor<2x256x64xf16>, %v: tensor<2x256x64xf16>, %m: tensor<2x256xf32>) -> tensor<2x256x64xf16> {
    %0 = "fuse.empty"() {syms = []} : () -> tensor<2x256x64xf16>
    %1 = call @of_f16(%q, %k, %v, %m, %0) : (tensor<2x256x64xf16>, tensor<2x256x64xf16>, tensor<2x256x64xf16>, tensor<2x256xf32>, tensor<2x256x64xf16>) -> tensor<2x256x64xf16>
    return %1 : tensor<2x256x64xf16>
  }
  func.func private @of_f16(%q: tensor<2x256x64xf16>, %k: tensor<2x256x64xf16>, %v: tensor<2x256x64xf16>, %m: tensor<2x256xf32>, %o: tensor<2x256x64xf16>) -> tensor<2x256x64xf16> attributes {fuse.kernel, fuse.looped, fuse.dims = {d0 = "2", d1 = "256", d2 = "64", d3 = "256", d4 = "64"}, fuse.ties = array<i64: 4>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f16
    %none = arith.constant 0.0 : f32
    %scale = arith.constant 0.125 : f32
    %cap = arith.constant 4.0 : f32
    %big = arith.constant 3.0e38 : f32
    %x = "fuse.load"(%q, %true, %zero) {at = ["d0", "d1", "d4"]} : (tensor<2x256x64xf16>, i1, f16) -> f16
    %y = "fuse.load"(%k, %true, %zero) {at = ["d0", "d3", "d4"]} : (tensor<2x256x64xf16>, i1, f16) -> f16
    %s = "fuse.dot"(%x, %y) {over = ["d4"]} : (f16, f16) -> f32
    %n = "fuse.load"(%m, %true, %none) {at = ["d0", "d1"]} : (tensor<2x256xf32>, i1, f32) -> f32
    %a = arith.mulf %s, %scale : f32
    %b = arith.divf %a, %cap : f32
    %d = arith.subf %b, %n : f32
    %p = math.exp %d : f32
    %g = arith.mulf %p, %cap : f32
    %h = arith.mulf %g, %b : f32
    %i = arith.divf %h, %cap : f32
    %j = arith.mulf %i, %scale : f32
    %w = arith.truncf %j {fuse.implicit} : f32 to f16
    %z = "fuse.load"(%v, %true, %zero) {at = ["d0", "d3", "d2"]} : (tensor<2x256x64xf16>, i1, f16) -> f16
    %t = "fuse.dot"(%w, %z) {over = ["d3"]} : (f16, f16) -> f32
    %u = arith.truncf %t {fuse.implicit} : f32 to f16
    %r = "fuse.store"(%o, %u, %true) {at = ["d0", "d1", "d2"], mode = "set"} : (tensor<2x256x64xf16>, f16, i1) -> tensor<2x256x64xf16>
    return %r : tensor<2x256x64xf16>
  }
}

// -----

// Must not fire: the product of both constants is infinite.
// CHECK-LABEL: func.func private @infinite
// CHECK: "fuse.dot"
// CHECK: %[[A:.*]] = arith.mulf %{{.*}}, %{{.*}} : f32
// CHECK-NEXT: %[[B:.*]] = arith.mulf %[[A]], %{{.*}} : f32
// CHECK-NEXT: arith.truncf %[[B]]
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%q: tensor<2x256x64xbf16>, %k: tensor<2x256x64xbf16>, %v: tensor<2x256x64xbf16>, %m: tensor<2x256xf32>) -> tensor<2x256x64xbf16> {
    %0 = "fuse.empty"() {syms = []} : () -> tensor<2x256x64xbf16>
    %1 = call @infinite(%q, %k, %v, %m, %0) : (tensor<2x256x64xbf16>, tensor<2x256x64xbf16>, tensor<2x256x64xbf16>, tensor<2x256xf32>, tensor<2x256x64xbf16>) -> tensor<2x256x64xbf16>
    return %1 : tensor<2x256x64xbf16>
  }
  func.func private @infinite(%q: tensor<2x256x64xbf16>, %k: tensor<2x256x64xbf16>, %v: tensor<2x256x64xbf16>, %m: tensor<2x256xf32>, %o: tensor<2x256x64xbf16>) -> tensor<2x256x64xbf16> attributes {fuse.kernel, fuse.looped, fuse.dims = {d0 = "2", d1 = "256", d2 = "64", d3 = "256", d4 = "64"}, fuse.ties = array<i64: 4>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %none = arith.constant 0.0 : f32
    %scale = arith.constant 0.125 : f32
    %cap = arith.constant 4.0 : f32
    %big = arith.constant 3.0e38 : f32
    %x = "fuse.load"(%q, %true, %zero) {at = ["d0", "d1", "d4"]} : (tensor<2x256x64xbf16>, i1, bf16) -> bf16
    %y = "fuse.load"(%k, %true, %zero) {at = ["d0", "d3", "d4"]} : (tensor<2x256x64xbf16>, i1, bf16) -> bf16
    %s = "fuse.dot"(%x, %y) {over = ["d4"]} : (bf16, bf16) -> f32
    %n = "fuse.load"(%m, %true, %none) {at = ["d0", "d1"]} : (tensor<2x256xf32>, i1, f32) -> f32
    %a = arith.mulf %s, %big : f32
    %b = arith.mulf %a, %big : f32
    %w = arith.truncf %b {fuse.implicit} : f32 to bf16
    %z = "fuse.load"(%v, %true, %zero) {at = ["d0", "d3", "d2"]} : (tensor<2x256x64xbf16>, i1, bf16) -> bf16
    %t = "fuse.dot"(%w, %z) {over = ["d3"]} : (bf16, bf16) -> f32
    %u = arith.truncf %t {fuse.implicit} : f32 to bf16
    %r = "fuse.store"(%o, %u, %true) {at = ["d0", "d1", "d2"], mode = "set"} : (tensor<2x256x64xbf16>, bf16, i1) -> tensor<2x256x64xbf16>
    return %r : tensor<2x256x64xbf16>
  }
}

// -----

// Must not fire: nothing of a row is subtracted from the scores.
// CHECK-LABEL: func.func private @of_scores
// CHECK: math.exp %
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%q: tensor<2x256x64xbf16>, %k: tensor<2x256x64xbf16>, %v: tensor<2x256x64xbf16>, %m: tensor<2x256xf32>) -> tensor<2x256x64xbf16> {
    %0 = "fuse.empty"() {syms = []} : () -> tensor<2x256x64xbf16>
    %1 = call @of_scores(%q, %k, %v, %m, %0) : (tensor<2x256x64xbf16>, tensor<2x256x64xbf16>, tensor<2x256x64xbf16>, tensor<2x256xf32>, tensor<2x256x64xbf16>) -> tensor<2x256x64xbf16>
    return %1 : tensor<2x256x64xbf16>
  }
  func.func private @of_scores(%q: tensor<2x256x64xbf16>, %k: tensor<2x256x64xbf16>, %v: tensor<2x256x64xbf16>, %m: tensor<2x256xf32>, %o: tensor<2x256x64xbf16>) -> tensor<2x256x64xbf16> attributes {fuse.kernel, fuse.looped, fuse.dims = {d0 = "2", d1 = "256", d2 = "64", d3 = "256", d4 = "64"}, fuse.ties = array<i64: 4>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %none = arith.constant 0.0 : f32
    %scale = arith.constant 0.125 : f32
    %cap = arith.constant 4.0 : f32
    %big = arith.constant 3.0e38 : f32
    %x = "fuse.load"(%q, %true, %zero) {at = ["d0", "d1", "d4"]} : (tensor<2x256x64xbf16>, i1, bf16) -> bf16
    %y = "fuse.load"(%k, %true, %zero) {at = ["d0", "d3", "d4"]} : (tensor<2x256x64xbf16>, i1, bf16) -> bf16
    %s = "fuse.dot"(%x, %y) {over = ["d4"]} : (bf16, bf16) -> f32
    %n = "fuse.load"(%m, %true, %none) {at = ["d0", "d1"]} : (tensor<2x256xf32>, i1, f32) -> f32
    %e = math.exp %s : f32
    %w = arith.truncf %e {fuse.implicit} : f32 to bf16
    %z = "fuse.load"(%v, %true, %zero) {at = ["d0", "d3", "d2"]} : (tensor<2x256x64xbf16>, i1, bf16) -> bf16
    %t = "fuse.dot"(%w, %z) {over = ["d3"]} : (bf16, bf16) -> f32
    %u = arith.truncf %t {fuse.implicit} : f32 to bf16
    %r = "fuse.store"(%o, %u, %true) {at = ["d0", "d1", "d2"], mode = "set"} : (tensor<2x256x64xbf16>, bf16, i1) -> tensor<2x256x64xbf16>
    return %r : tensor<2x256x64xbf16>
  }
}

// -----

// Must not fire: the kernel holds all columns, and other passes know its constants.
// CHECK-LABEL: func.func private @held
// CHECK: arith.divf
// CHECK: math.exp %
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%q: tensor<2x256x64xbf16>, %k: tensor<2x256x64xbf16>, %v: tensor<2x256x64xbf16>, %m: tensor<2x256xf32>) -> tensor<2x256x64xbf16> {
    %0 = "fuse.empty"() {syms = []} : () -> tensor<2x256x64xbf16>
    %1 = call @held(%q, %k, %v, %m, %0) : (tensor<2x256x64xbf16>, tensor<2x256x64xbf16>, tensor<2x256x64xbf16>, tensor<2x256xf32>, tensor<2x256x64xbf16>) -> tensor<2x256x64xbf16>
    return %1 : tensor<2x256x64xbf16>
  }
  func.func private @held(%q: tensor<2x256x64xbf16>, %k: tensor<2x256x64xbf16>, %v: tensor<2x256x64xbf16>, %m: tensor<2x256xf32>, %o: tensor<2x256x64xbf16>) -> tensor<2x256x64xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "2", d1 = "256", d2 = "64", d3 = "256", d4 = "64"}, fuse.ties = array<i64: 4>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %none = arith.constant 0.0 : f32
    %scale = arith.constant 0.125 : f32
    %cap = arith.constant 4.0 : f32
    %big = arith.constant 3.0e38 : f32
    %x = "fuse.load"(%q, %true, %zero) {at = ["d0", "d1", "d4"]} : (tensor<2x256x64xbf16>, i1, bf16) -> bf16
    %y = "fuse.load"(%k, %true, %zero) {at = ["d0", "d3", "d4"]} : (tensor<2x256x64xbf16>, i1, bf16) -> bf16
    %s = "fuse.dot"(%x, %y) {over = ["d4"]} : (bf16, bf16) -> f32
    %n = "fuse.load"(%m, %true, %none) {at = ["d0", "d1"]} : (tensor<2x256xf32>, i1, f32) -> f32
    %a = arith.mulf %s, %scale : f32
    %b = arith.divf %a, %cap : f32
    %d = arith.subf %b, %n : f32
    %p = math.exp %d : f32
    %g = arith.mulf %p, %cap : f32
    %h = arith.mulf %g, %b : f32
    %i = arith.divf %h, %cap : f32
    %j = arith.mulf %i, %scale : f32
    %w = arith.truncf %j {fuse.implicit} : f32 to bf16
    %z = "fuse.load"(%v, %true, %zero) {at = ["d0", "d3", "d2"]} : (tensor<2x256x64xbf16>, i1, bf16) -> bf16
    %t = "fuse.dot"(%w, %z) {over = ["d3"]} : (bf16, bf16) -> f32
    %u = arith.truncf %t {fuse.implicit} : f32 to bf16
    %r = "fuse.store"(%o, %u, %true) {at = ["d0", "d1", "d2"], mode = "set"} : (tensor<2x256x64xbf16>, bf16, i1) -> tensor<2x256x64xbf16>
    return %r : tensor<2x256x64xbf16>
  }
}
