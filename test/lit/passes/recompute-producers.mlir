// RUN: fuse-opt %s --pass-pipeline="builtin.module(recompute-producers{hardware=h200})" --split-input-file --verify-diagnostics | FileCheck %s
// RUN: fuse-opt %s --pass-pipeline="builtin.module(recompute-producers{hardware=h200},materialize-fusion,eliminate-dead)" --split-input-file --verify-diagnostics | FileCheck %s --check-prefix=MERGED
// RUN: not fuse-opt %s --pass-pipeline="builtin.module(recompute-producers{hardware=abacus})" --split-input-file 2>&1 | FileCheck %s --check-prefix=BAD
// RUN: fuse-opt %s --pass-pipeline="builtin.module(recompute-producers{hardware=h200})" --split-input-file --verify-diagnostics --remarks=text 2>&1 >/dev/null | FileCheck %s --check-prefix=SAID
// SAID: passed: recompute-producers: recomputed

// BAD: recompute-producers: unknown hardware 'abacus': expected one of a100,

// Sums of rows of 64 and of 8 cannot be one kernel. Each computes the wave: two reads of %x instead of a read, a write and two reads.
// CHECK-LABEL: func.func @main(
// CHECK-SAME: %[[X:[^:]*]]:
// CHECK: %[[A:.*]] = call @wave(%[[X]], %{{.*}}) {fuse.group = 0 : i64}
// CHECK-NEXT: call @rows(%[[A]], %{{.*}}) {fuse.group = 0 : i64}
// CHECK: %[[B:.*]] = call @wave(%[[X]], %{{.*}}) {fuse.group = 1 : i64}
// CHECK-NEXT: call @columns(%[[B]], %{{.*}}) {fuse.group = 1 : i64}
// MERGED-LABEL: func.func @main(
// MERGED-COUNT-2: call @fused_wave
// MERGED-NOT: call @
// MERGED: return
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<4096xf32>) -> (tensor<64xf32>, tensor<512xf32>) {
    %o = "fuse.empty"() {syms = []} : () -> tensor<4096xf32>
    %p = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %q = "fuse.empty"() {syms = []} : () -> tensor<512xf32>
    %s = call @wave(%x, %o) : (tensor<4096xf32>, tensor<4096xf32>) -> tensor<4096xf32>
    %c = call @rows(%s, %p) : (tensor<4096xf32>, tensor<64xf32>) -> tensor<64xf32>
    %d = call @columns(%s, %q) : (tensor<4096xf32>, tensor<512xf32>) -> tensor<512xf32>
    return %c, %d : tensor<64xf32>, tensor<512xf32>
  }
  func.func private @wave(%x: tensor<4096xf32>, %o: tensor<4096xf32>) -> tensor<4096xf32> attributes {fuse.kernel, fuse.dims = {d0 = "4096"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<4096xf32>, i1, f32) -> f32
    %r = math.sin %v : f32
    %out = "fuse.store"(%o, %r, %true) {at = ["d0"], mode = "set"} : (tensor<4096xf32>, f32, i1) -> tensor<4096xf32>
    return %out : tensor<4096xf32>
  }
  func.func private @rows(%x: tensor<4096xf32>, %o: tensor<64xf32>) -> tensor<64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64", d1 = "64"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0*64 + d1"]} : (tensor<4096xf32>, i1, f32) -> f32
    %s = "fuse.reduce"(%v) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %out = "fuse.store"(%o, %s, %true) {at = ["d0"], mode = "set"} : (tensor<64xf32>, f32, i1) -> tensor<64xf32>
    return %out : tensor<64xf32>
  }
  func.func private @columns(%x: tensor<4096xf32>, %o: tensor<512xf32>) -> tensor<512xf32> attributes {fuse.kernel, fuse.dims = {d0 = "512", d1 = "8"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0*8 + d1"]} : (tensor<4096xf32>, i1, f32) -> f32
    %s = "fuse.reduce"(%v) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %out = "fuse.store"(%o, %s, %true) {at = ["d0"], mode = "set"} : (tensor<512xf32>, f32, i1) -> tensor<512xf32>
    return %out : tensor<512xf32>
  }
}

// -----

// A number lives longer, too, beside a tensor in the place of the wave.
// CHECK-LABEL: func.func @main(
// CHECK-COUNT-2: call @wave(
// MERGED-LABEL: func.func @main(
// MERGED-COUNT-2: call @fused_wave
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<4096xf32>, %k: tensor<f32>) -> (tensor<64xf32>, tensor<512xf32>) {
    %o = "fuse.empty"() {syms = []} : () -> tensor<4096xf32>
    %p = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %q = "fuse.empty"() {syms = []} : () -> tensor<512xf32>
    %s = call @wave(%x, %k, %o) : (tensor<4096xf32>, tensor<f32>, tensor<4096xf32>) -> tensor<4096xf32>
    %c = call @rows(%s, %p) : (tensor<4096xf32>, tensor<64xf32>) -> tensor<64xf32>
    %d = call @columns(%s, %q) : (tensor<4096xf32>, tensor<512xf32>) -> tensor<512xf32>
    return %c, %d : tensor<64xf32>, tensor<512xf32>
  }
  func.func private @wave(%x: tensor<4096xf32>, %k: tensor<f32>, %o: tensor<4096xf32>) -> tensor<4096xf32> attributes {fuse.kernel, fuse.dims = {d0 = "4096"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<4096xf32>, i1, f32) -> f32
    %n = "fuse.load"(%k, %true, %zero) {at = []} : (tensor<f32>, i1, f32) -> f32
    %r = arith.mulf %v, %n : f32
    %out = "fuse.store"(%o, %r, %true) {at = ["d0"], mode = "set"} : (tensor<4096xf32>, f32, i1) -> tensor<4096xf32>
    return %out : tensor<4096xf32>
  }
  func.func private @rows(%x: tensor<4096xf32>, %o: tensor<64xf32>) -> tensor<64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64", d1 = "64"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0*64 + d1"]} : (tensor<4096xf32>, i1, f32) -> f32
    %s = "fuse.reduce"(%v) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %out = "fuse.store"(%o, %s, %true) {at = ["d0"], mode = "set"} : (tensor<64xf32>, f32, i1) -> tensor<64xf32>
    return %out : tensor<64xf32>
  }
  func.func private @columns(%x: tensor<4096xf32>, %o: tensor<512xf32>) -> tensor<512xf32> attributes {fuse.kernel, fuse.dims = {d0 = "512", d1 = "8"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0*8 + d1"]} : (tensor<4096xf32>, i1, f32) -> f32
    %s = "fuse.reduce"(%v) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %out = "fuse.store"(%o, %s, %true) {at = ["d0"], mode = "set"} : (tensor<512xf32>, f32, i1) -> tensor<512xf32>
    return %out : tensor<512xf32>
  }
}

// -----

// A kernel stores twice what it reads, and its total. Sums of eight, which cannot be in that kernel, compute the double alone.
// CHECK-LABEL: func.func @main(
// CHECK-SAME: %[[X:[^:]*]]:
// CHECK: call @total(
// CHECK: %[[A:.*]] = call @total_1(%[[X]], %{{.*}}) {fuse.group = 0 : i64}
// CHECK-NEXT: call @eights(%[[A]], %{{.*}}) {fuse.group = 0 : i64}
// CHECK: func.func private @total_1
// CHECK-NOT: fuse.reduce
// CHECK: return
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<4096xf32>) -> (tensor<f32>, tensor<512xf32>) {
    %o = "fuse.empty"() {syms = []} : () -> tensor<4096xf32>
    %p = "fuse.empty"() {syms = []} : () -> tensor<f32>
    %q = "fuse.empty"() {syms = []} : () -> tensor<512xf32>
    %s:2 = call @total(%x, %o, %p) : (tensor<4096xf32>, tensor<4096xf32>, tensor<f32>) -> (tensor<4096xf32>, tensor<f32>)
    %d = call @eights(%s#0, %q) : (tensor<4096xf32>, tensor<512xf32>) -> tensor<512xf32>
    return %s#1, %d : tensor<f32>, tensor<512xf32>
  }
  func.func private @total(%x: tensor<4096xf32>, %o: tensor<4096xf32>, %p: tensor<f32>) -> (tensor<4096xf32>, tensor<f32>) attributes {fuse.kernel, fuse.dims = {d0 = "4096"}, fuse.ties = array<i64: 1, 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<4096xf32>, i1, f32) -> f32
    %r = arith.addf %v, %v : f32
    %out = "fuse.store"(%o, %r, %true) {at = ["d0"], mode = "set"} : (tensor<4096xf32>, f32, i1) -> tensor<4096xf32>
    %t = "fuse.reduce"(%r) {kind = "sum", over = ["d0"]} : (f32) -> f32
    %all = "fuse.store"(%p, %t, %true) {at = [], mode = "set"} : (tensor<f32>, f32, i1) -> tensor<f32>
    return %out, %all : tensor<4096xf32>, tensor<f32>
  }
  func.func private @eights(%x: tensor<4096xf32>, %o: tensor<512xf32>) -> tensor<512xf32> attributes {fuse.kernel, fuse.dims = {d0 = "512", d1 = "8"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0*8 + d1"]} : (tensor<4096xf32>, i1, f32) -> f32
    %s = "fuse.reduce"(%v) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %out = "fuse.store"(%o, %s, %true) {at = ["d0"], mode = "set"} : (tensor<512xf32>, f32, i1) -> tensor<512xf32>
    return %out : tensor<512xf32>
  }
}

// -----

// Must not fire: the sum of two tensors, needed in memory all the same: a reader would read two tensors instead of one.
// CHECK-LABEL: func.func @main(
// CHECK: call @both
// CHECK-NOT: call @both
// CHECK: return
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<4096xf32>, %y: tensor<4096xf32>) -> (tensor<4096xf32>, tensor<64xf32>) {
    %o = "fuse.empty"() {syms = []} : () -> tensor<4096xf32>
    %p = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %s = call @both(%x, %y, %o) : (tensor<4096xf32>, tensor<4096xf32>, tensor<4096xf32>) -> tensor<4096xf32>
    %c = call @rows(%s, %p) : (tensor<4096xf32>, tensor<64xf32>) -> tensor<64xf32>
    return %s, %c : tensor<4096xf32>, tensor<64xf32>
  }
  func.func private @both(%x: tensor<4096xf32>, %y: tensor<4096xf32>, %o: tensor<4096xf32>) -> tensor<4096xf32> attributes {fuse.kernel, fuse.dims = {d0 = "4096"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<4096xf32>, i1, f32) -> f32
    %w = "fuse.load"(%y, %true, %zero) {at = ["d0"]} : (tensor<4096xf32>, i1, f32) -> f32
    %r = arith.addf %v, %w : f32
    %out = "fuse.store"(%o, %r, %true) {at = ["d0"], mode = "set"} : (tensor<4096xf32>, f32, i1) -> tensor<4096xf32>
    return %out : tensor<4096xf32>
  }
  func.func private @rows(%x: tensor<4096xf32>, %o: tensor<64xf32>) -> tensor<64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64", d1 = "64"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0*64 + d1"]} : (tensor<4096xf32>, i1, f32) -> f32
    %s = "fuse.reduce"(%v) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %out = "fuse.store"(%o, %s, %true) {at = ["d0"], mode = "set"} : (tensor<64xf32>, f32, i1) -> tensor<64xf32>
    return %out : tensor<64xf32>
  }
}

// -----

// Must not fire: %x is overwritten between the producer and its readers.
// CHECK-LABEL: func.func @main(
// CHECK: call @wave
// CHECK: call @change
// CHECK-NOT: call @wave
// CHECK: return
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<4096xf32>) -> (tensor<64xf32>, tensor<512xf32>, tensor<4096xf32>) {
    %o = "fuse.empty"() {syms = []} : () -> tensor<4096xf32>
    %p = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %q = "fuse.empty"() {syms = []} : () -> tensor<512xf32>
    %s = call @wave(%x, %o) : (tensor<4096xf32>, tensor<4096xf32>) -> tensor<4096xf32>
    %z = call @change(%x) : (tensor<4096xf32>) -> tensor<4096xf32>
    %c = call @rows(%s, %p) : (tensor<4096xf32>, tensor<64xf32>) -> tensor<64xf32>
    %d = call @columns(%s, %q) : (tensor<4096xf32>, tensor<512xf32>) -> tensor<512xf32>
    return {fuse.mutates = {"2" = 0 : i64}} %c, %d, %z : tensor<64xf32>, tensor<512xf32>, tensor<4096xf32>
  }
  func.func private @wave(%x: tensor<4096xf32>, %o: tensor<4096xf32>) -> tensor<4096xf32> attributes {fuse.kernel, fuse.dims = {d0 = "4096"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<4096xf32>, i1, f32) -> f32
    %r = math.sin %v : f32
    %out = "fuse.store"(%o, %r, %true) {at = ["d0"], mode = "set"} : (tensor<4096xf32>, f32, i1) -> tensor<4096xf32>
    return %out : tensor<4096xf32>
  }
  func.func private @change(%x: tensor<4096xf32>) -> tensor<4096xf32> attributes {fuse.kernel, fuse.dims = {d0 = "4096"}, fuse.ties = array<i64: 0>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<4096xf32>, i1, f32) -> f32
    %r = math.sin %v : f32
    %out = "fuse.store"(%x, %r, %true) {at = ["d0"], mode = "set"} : (tensor<4096xf32>, f32, i1) -> tensor<4096xf32>
    return %out : tensor<4096xf32>
  }
  func.func private @rows(%x: tensor<4096xf32>, %o: tensor<64xf32>) -> tensor<64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64", d1 = "64"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0*64 + d1"]} : (tensor<4096xf32>, i1, f32) -> f32
    %s = "fuse.reduce"(%v) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %out = "fuse.store"(%o, %s, %true) {at = ["d0"], mode = "set"} : (tensor<64xf32>, f32, i1) -> tensor<64xf32>
    return %out : tensor<64xf32>
  }
  func.func private @columns(%x: tensor<4096xf32>, %o: tensor<512xf32>) -> tensor<512xf32> attributes {fuse.kernel, fuse.dims = {d0 = "512", d1 = "8"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0*8 + d1"]} : (tensor<4096xf32>, i1, f32) -> f32
    %s = "fuse.reduce"(%v) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %out = "fuse.store"(%o, %s, %true) {at = ["d0"], mode = "set"} : (tensor<512xf32>, f32, i1) -> tensor<512xf32>
    return %out : tensor<512xf32>
  }
}

// -----

// Must not fire: both summands would live until the last reader, in the place of one sum.
// CHECK-LABEL: func.func @main(
// CHECK: call @both
// CHECK-NOT: call @both
// CHECK: return
module attributes {fuse.device = "cpu"} {
  func.func @main(%a: tensor<4096xf32>, %b: tensor<4096xf32>) -> (tensor<64xf32>, tensor<512xf32>) {
    %o = "fuse.empty"() {syms = []} : () -> tensor<4096xf32>
    %p = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %q = "fuse.empty"() {syms = []} : () -> tensor<512xf32>
    %x = call @torch(%a) : (tensor<4096xf32>) -> tensor<4096xf32>
    %y = call @torch(%b) : (tensor<4096xf32>) -> tensor<4096xf32>
    %s = call @both(%x, %y, %o) : (tensor<4096xf32>, tensor<4096xf32>, tensor<4096xf32>) -> tensor<4096xf32>
    %c = call @rows(%s, %p) : (tensor<4096xf32>, tensor<64xf32>) -> tensor<64xf32>
    %d = call @columns(%s, %q) : (tensor<4096xf32>, tensor<512xf32>) -> tensor<512xf32>
    return %c, %d : tensor<64xf32>, tensor<512xf32>
  }
  func.func private @both(%x: tensor<4096xf32>, %y: tensor<4096xf32>, %o: tensor<4096xf32>) -> tensor<4096xf32> attributes {fuse.kernel, fuse.dims = {d0 = "4096"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<4096xf32>, i1, f32) -> f32
    %w = "fuse.load"(%y, %true, %zero) {at = ["d0"]} : (tensor<4096xf32>, i1, f32) -> f32
    %r = arith.addf %v, %w : f32
    %out = "fuse.store"(%o, %r, %true) {at = ["d0"], mode = "set"} : (tensor<4096xf32>, f32, i1) -> tensor<4096xf32>
    return %out : tensor<4096xf32>
  }
  func.func private @rows(%x: tensor<4096xf32>, %o: tensor<64xf32>) -> tensor<64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64", d1 = "64"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0*64 + d1"]} : (tensor<4096xf32>, i1, f32) -> f32
    %s = "fuse.reduce"(%v) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %out = "fuse.store"(%o, %s, %true) {at = ["d0"], mode = "set"} : (tensor<64xf32>, f32, i1) -> tensor<64xf32>
    return %out : tensor<64xf32>
  }
  func.func private @columns(%x: tensor<4096xf32>, %o: tensor<512xf32>) -> tensor<512xf32> attributes {fuse.kernel, fuse.dims = {d0 = "512", d1 = "8"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0*8 + d1"]} : (tensor<4096xf32>, i1, f32) -> f32
    %s = "fuse.reduce"(%v) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %out = "fuse.store"(%o, %s, %true) {at = ["d0"], mode = "set"} : (tensor<512xf32>, f32, i1) -> tensor<512xf32>
    return %out : tensor<512xf32>
  }
  func.func private @torch(tensor<4096xf32>) -> tensor<4096xf32> attributes {fuse.extern = "aten.neg.default", fuse.args = [#fuse.arg<0 : i64>], fuse.kwargs = {}}
}

// -----

// Must not fire: a view takes the tensor as it lies in memory, and the one kernel would save nothing by itself.
// CHECK-LABEL: func.func @main(
// CHECK: call @wave
// CHECK-NOT: call @wave
// CHECK: return
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<4096xf32>) -> (tensor<64x64xf32>) {
    %o = "fuse.empty"() {syms = []} : () -> tensor<4096xf32>
    %s = call @wave(%x, %o) : (tensor<4096xf32>, tensor<4096xf32>) -> tensor<4096xf32>
    %v = "fuse.view"(%s) {map = ["v0*64 + v1"], syms = []} : (tensor<4096xf32>) -> tensor<64x64xf32>
    %t = call @torch(%v) : (tensor<64x64xf32>) -> tensor<64x64xf32>
    return %t : tensor<64x64xf32>
  }
  func.func private @wave(%x: tensor<4096xf32>, %o: tensor<4096xf32>) -> tensor<4096xf32> attributes {fuse.kernel, fuse.dims = {d0 = "4096"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<4096xf32>, i1, f32) -> f32
    %r = math.sin %v : f32
    %out = "fuse.store"(%o, %r, %true) {at = ["d0"], mode = "set"} : (tensor<4096xf32>, f32, i1) -> tensor<4096xf32>
    return %out : tensor<4096xf32>
  }
  func.func private @torch(tensor<64x64xf32>) -> tensor<64x64xf32> attributes {fuse.extern = "aten.neg.default", fuse.args = [#fuse.arg<0 : i64>], fuse.kwargs = {}}
}

// -----

// Must not fire: an op changes the wave in its place, so that its readers do not read what @wave computes.
// CHECK-LABEL: func.func @main(
// CHECK: call @wave
// CHECK-NEXT: call @add_twice
// CHECK-NOT: call @wave
// CHECK: return
module attributes {fuse.device = "cpu"} {
  func.func @main() -> (tensor<64xf32>, tensor<512xf32>) {
    %o = "fuse.empty"() {syms = []} : () -> tensor<4096xf32>
    %p = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %q = "fuse.empty"() {syms = []} : () -> tensor<512xf32>
    %s = call @wave(%o) : (tensor<4096xf32>) -> tensor<4096xf32>
    call @add_twice(%s) : (tensor<4096xf32>) -> ()
    %c = call @rows(%s, %p) : (tensor<4096xf32>, tensor<64xf32>) -> tensor<64xf32>
    %d = call @columns(%s, %q) : (tensor<4096xf32>, tensor<512xf32>) -> tensor<512xf32>
    return %c, %d : tensor<64xf32>, tensor<512xf32>
  }
  func.func private @add_twice(tensor<4096xf32>) attributes {fuse.extern = "mylib.add_twice_.default", fuse.args = [#fuse.arg<0 : i64>], fuse.mutated = array<i64: 0>, fuse.returns = array<i64>}
  func.func private @wave(%o: tensor<4096xf32>) -> tensor<4096xf32> attributes {fuse.kernel, fuse.dims = {d0 = "4096"}, fuse.ties = array<i64: 0>} {
    %true = arith.constant true
    %i = "fuse.index"() {expr = "d0"} : () -> i64
    %v = arith.sitofp %i : i64 to f32
    %r = math.sin %v : f32
    %out = "fuse.store"(%o, %r, %true) {at = ["d0"], mode = "set"} : (tensor<4096xf32>, f32, i1) -> tensor<4096xf32>
    return %out : tensor<4096xf32>
  }
  func.func private @rows(%x: tensor<4096xf32>, %o: tensor<64xf32>) -> tensor<64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64", d1 = "64"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0*64 + d1"]} : (tensor<4096xf32>, i1, f32) -> f32
    %s = "fuse.reduce"(%v) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %out = "fuse.store"(%o, %s, %true) {at = ["d0"], mode = "set"} : (tensor<64xf32>, f32, i1) -> tensor<64xf32>
    return %out : tensor<64xf32>
  }
  func.func private @columns(%x: tensor<4096xf32>, %o: tensor<512xf32>) -> tensor<512xf32> attributes {fuse.kernel, fuse.dims = {d0 = "512", d1 = "8"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0*8 + d1"]} : (tensor<4096xf32>, i1, f32) -> f32
    %s = "fuse.reduce"(%v) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %out = "fuse.store"(%o, %s, %true) {at = ["d0"], mode = "set"} : (tensor<512xf32>, f32, i1) -> tensor<512xf32>
    return %out : tensor<512xf32>
  }
}

// -----

// Rows of 64 bytes are looked up by both sums, in a table that has fewer bytes. What the kernel stores beside them is no
// new tensor, and stays with it, as does the check of the indices.
// CHECK-LABEL: func.func @main(
// CHECK: call @looked_up(
// CHECK: %[[A:.*]] = call @looked_up_{{[0-9]}}({{.*}}) {fuse.group = 0 : i64}
// CHECK-NEXT: call @rows(%[[A]], %{{.*}}) {fuse.group = 0 : i64}
// CHECK: %[[B:.*]] = call @looked_up_{{[0-9]}}({{.*}}) {fuse.group = 1 : i64}
// CHECK-NEXT: call @columns(%[[B]], %{{.*}}) {fuse.group = 1 : i64}
// MERGED-LABEL: func.func @main(
// MERGED: call @looked_up
module attributes {fuse.device = "cpu"} {
  func.func @main(%t: tensor<64x16xf32>, %i: tensor<640xi64>, %m: tensor<64xf32>) -> (tensor<640xf32>, tensor<16xf32>, tensor<64xf32>) {
    %o = "fuse.empty"() {syms = []} : () -> tensor<640x16xf32>
    %p = "fuse.empty"() {syms = []} : () -> tensor<640xf32>
    %q = "fuse.empty"() {syms = []} : () -> tensor<16xf32>
    %s:2 = call @looked_up(%t, %i, %o, %m) : (tensor<64x16xf32>, tensor<640xi64>, tensor<640x16xf32>, tensor<64xf32>) -> (tensor<640x16xf32>, tensor<64xf32>)
    %c = call @rows(%s#0, %p) : (tensor<640x16xf32>, tensor<640xf32>) -> tensor<640xf32>
    %d = call @columns(%s#0, %q) : (tensor<640x16xf32>, tensor<16xf32>) -> tensor<16xf32>
    return %c, %d, %s#1 : tensor<640xf32>, tensor<16xf32>, tensor<64xf32>
  }
  func.func private @looked_up(%t: tensor<64x16xf32>, %i: tensor<640xi64>, %o: tensor<640x16xf32>, %m: tensor<64xf32>) -> (tensor<640x16xf32>, tensor<64xf32>) attributes {fuse.kernel, fuse.dims = {d0 = "640", d1 = "16"}, fuse.ties = array<i64: 2, 3>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %none = arith.constant 0 : i64
    %many = arith.constant 64 : i64
    %at = "fuse.load"(%i, %true, %none) {at = ["d0"]} : (tensor<640xi64>, i1, i64) -> i64
    %inside = arith.cmpi ult, %at, %many : i64
    cf.assert %inside, "index out of range" {fuse.index_check}
    %v = "fuse.load"(%t, %inside, %zero, %at) {at = ["i0", "d1"]} : (tensor<64x16xf32>, i1, f32, i64) -> f32
    %r = "fuse.store"(%o, %v, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<640x16xf32>, f32, i1) -> tensor<640x16xf32>
    %n = "fuse.store"(%m, %v, %inside, %at) {at = ["i0"], mode = "max"} : (tensor<64xf32>, f32, i1, i64) -> tensor<64xf32>
    return %r, %n : tensor<640x16xf32>, tensor<64xf32>
  }
  func.func private @rows(%x: tensor<640x16xf32>, %o: tensor<640xf32>) -> tensor<640xf32> attributes {fuse.kernel, fuse.dims = {d0 = "640", d1 = "16"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<640x16xf32>, i1, f32) -> f32
    %s = "fuse.reduce"(%v) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %out = "fuse.store"(%o, %s, %true) {at = ["d0"], mode = "set"} : (tensor<640xf32>, f32, i1) -> tensor<640xf32>
    return %out : tensor<640xf32>
  }
  func.func private @columns(%x: tensor<640x16xf32>, %o: tensor<16xf32>) -> tensor<16xf32> attributes {fuse.kernel, fuse.dims = {d0 = "640", d1 = "16"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<640x16xf32>, i1, f32) -> f32
    %s = "fuse.reduce"(%v) {kind = "sum", over = ["d0"]} : (f32) -> f32
    %out = "fuse.store"(%o, %s, %true) {at = ["d1"], mode = "set"} : (tensor<16xf32>, f32, i1) -> tensor<16xf32>
    return %out : tensor<16xf32>
  }
}

// -----

// Must not fire: rows of 8 bytes take 32 of memory each time.
// CHECK-LABEL: func.func @main(
// CHECK-COUNT-1: call @looked_up(
// CHECK-NOT: call @looked_up
// CHECK: return
module attributes {fuse.device = "cpu"} {
  func.func @main(%t: tensor<64x2xf32>, %i: tensor<640xi64>, %m: tensor<64xf32>) -> (tensor<640xf32>, tensor<2xf32>, tensor<64xf32>) {
    %o = "fuse.empty"() {syms = []} : () -> tensor<640x2xf32>
    %p = "fuse.empty"() {syms = []} : () -> tensor<640xf32>
    %q = "fuse.empty"() {syms = []} : () -> tensor<2xf32>
    %s:2 = call @looked_up(%t, %i, %o, %m) : (tensor<64x2xf32>, tensor<640xi64>, tensor<640x2xf32>, tensor<64xf32>) -> (tensor<640x2xf32>, tensor<64xf32>)
    %c = call @rows(%s#0, %p) : (tensor<640x2xf32>, tensor<640xf32>) -> tensor<640xf32>
    %d = call @columns(%s#0, %q) : (tensor<640x2xf32>, tensor<2xf32>) -> tensor<2xf32>
    return %c, %d, %s#1 : tensor<640xf32>, tensor<2xf32>, tensor<64xf32>
  }
  func.func private @looked_up(%t: tensor<64x2xf32>, %i: tensor<640xi64>, %o: tensor<640x2xf32>, %m: tensor<64xf32>) -> (tensor<640x2xf32>, tensor<64xf32>) attributes {fuse.kernel, fuse.dims = {d0 = "640", d1 = "2"}, fuse.ties = array<i64: 2, 3>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %none = arith.constant 0 : i64
    %many = arith.constant 64 : i64
    %at = "fuse.load"(%i, %true, %none) {at = ["d0"]} : (tensor<640xi64>, i1, i64) -> i64
    %inside = arith.cmpi ult, %at, %many : i64
    cf.assert %inside, "index out of range" {fuse.index_check}
    %v = "fuse.load"(%t, %inside, %zero, %at) {at = ["i0", "d1"]} : (tensor<64x2xf32>, i1, f32, i64) -> f32
    %r = "fuse.store"(%o, %v, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<640x2xf32>, f32, i1) -> tensor<640x2xf32>
    %n = "fuse.store"(%m, %v, %inside, %at) {at = ["i0"], mode = "max"} : (tensor<64xf32>, f32, i1, i64) -> tensor<64xf32>
    return %r, %n : tensor<640x2xf32>, tensor<64xf32>
  }
  func.func private @rows(%x: tensor<640x2xf32>, %o: tensor<640xf32>) -> tensor<640xf32> attributes {fuse.kernel, fuse.dims = {d0 = "640", d1 = "2"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<640x2xf32>, i1, f32) -> f32
    %s = "fuse.reduce"(%v) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %out = "fuse.store"(%o, %s, %true) {at = ["d0"], mode = "set"} : (tensor<640xf32>, f32, i1) -> tensor<640xf32>
    return %out : tensor<640xf32>
  }
  func.func private @columns(%x: tensor<640x2xf32>, %o: tensor<2xf32>) -> tensor<2xf32> attributes {fuse.kernel, fuse.dims = {d0 = "640", d1 = "2"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<640x2xf32>, i1, f32) -> f32
    %s = "fuse.reduce"(%v) {kind = "sum", over = ["d0"]} : (f32) -> f32
    %out = "fuse.store"(%o, %s, %true) {at = ["d1"], mode = "set"} : (tensor<2xf32>, f32, i1) -> tensor<2xf32>
    return %out : tensor<2xf32>
  }
}

// -----

// Must not fire: the table has more bytes than the rows.
// CHECK-LABEL: func.func @main(
// CHECK-COUNT-1: call @looked_up(
// CHECK-NOT: call @looked_up
// CHECK: return
module attributes {fuse.device = "cpu"} {
  func.func @main(%t: tensor<6400x16xf32>, %i: tensor<640xi64>, %m: tensor<6400xf32>) -> (tensor<640xf32>, tensor<16xf32>, tensor<6400xf32>) {
    %o = "fuse.empty"() {syms = []} : () -> tensor<640x16xf32>
    %p = "fuse.empty"() {syms = []} : () -> tensor<640xf32>
    %q = "fuse.empty"() {syms = []} : () -> tensor<16xf32>
    %s:2 = call @looked_up(%t, %i, %o, %m) : (tensor<6400x16xf32>, tensor<640xi64>, tensor<640x16xf32>, tensor<6400xf32>) -> (tensor<640x16xf32>, tensor<6400xf32>)
    %c = call @rows(%s#0, %p) : (tensor<640x16xf32>, tensor<640xf32>) -> tensor<640xf32>
    %d = call @columns(%s#0, %q) : (tensor<640x16xf32>, tensor<16xf32>) -> tensor<16xf32>
    return %c, %d, %s#1 : tensor<640xf32>, tensor<16xf32>, tensor<6400xf32>
  }
  func.func private @looked_up(%t: tensor<6400x16xf32>, %i: tensor<640xi64>, %o: tensor<640x16xf32>, %m: tensor<6400xf32>) -> (tensor<640x16xf32>, tensor<6400xf32>) attributes {fuse.kernel, fuse.dims = {d0 = "640", d1 = "16"}, fuse.ties = array<i64: 2, 3>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %none = arith.constant 0 : i64
    %many = arith.constant 6400 : i64
    %at = "fuse.load"(%i, %true, %none) {at = ["d0"]} : (tensor<640xi64>, i1, i64) -> i64
    %inside = arith.cmpi ult, %at, %many : i64
    cf.assert %inside, "index out of range" {fuse.index_check}
    %v = "fuse.load"(%t, %inside, %zero, %at) {at = ["i0", "d1"]} : (tensor<6400x16xf32>, i1, f32, i64) -> f32
    %r = "fuse.store"(%o, %v, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<640x16xf32>, f32, i1) -> tensor<640x16xf32>
    %n = "fuse.store"(%m, %v, %inside, %at) {at = ["i0"], mode = "max"} : (tensor<6400xf32>, f32, i1, i64) -> tensor<6400xf32>
    return %r, %n : tensor<640x16xf32>, tensor<6400xf32>
  }
  func.func private @rows(%x: tensor<640x16xf32>, %o: tensor<640xf32>) -> tensor<640xf32> attributes {fuse.kernel, fuse.dims = {d0 = "640", d1 = "16"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<640x16xf32>, i1, f32) -> f32
    %s = "fuse.reduce"(%v) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %out = "fuse.store"(%o, %s, %true) {at = ["d0"], mode = "set"} : (tensor<640xf32>, f32, i1) -> tensor<640xf32>
    return %out : tensor<640xf32>
  }
  func.func private @columns(%x: tensor<640x16xf32>, %o: tensor<16xf32>) -> tensor<16xf32> attributes {fuse.kernel, fuse.dims = {d0 = "640", d1 = "16"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<640x16xf32>, i1, f32) -> f32
    %s = "fuse.reduce"(%v) {kind = "sum", over = ["d0"]} : (f32) -> f32
    %out = "fuse.store"(%o, %s, %true) {at = ["d1"], mode = "set"} : (tensor<16xf32>, f32, i1) -> tensor<16xf32>
    return %out : tensor<16xf32>
  }
}

// -----

// Must not fire: a copy would look up without what the program asserts.
// CHECK-LABEL: func.func @main(
// CHECK-COUNT-1: call @looked_up(
// CHECK-NOT: call @looked_up
// CHECK: return
module attributes {fuse.device = "cpu"} {
  func.func @main(%t: tensor<64x16xf32>, %i: tensor<640xi64>, %m: tensor<64xf32>) -> (tensor<640xf32>, tensor<16xf32>, tensor<64xf32>) {
    %o = "fuse.empty"() {syms = []} : () -> tensor<640x16xf32>
    %p = "fuse.empty"() {syms = []} : () -> tensor<640xf32>
    %q = "fuse.empty"() {syms = []} : () -> tensor<16xf32>
    %s:2 = call @looked_up(%t, %i, %o, %m) : (tensor<64x16xf32>, tensor<640xi64>, tensor<640x16xf32>, tensor<64xf32>) -> (tensor<640x16xf32>, tensor<64xf32>)
    %c = call @rows(%s#0, %p) : (tensor<640x16xf32>, tensor<640xf32>) -> tensor<640xf32>
    %d = call @columns(%s#0, %q) : (tensor<640x16xf32>, tensor<16xf32>) -> tensor<16xf32>
    return %c, %d, %s#1 : tensor<640xf32>, tensor<16xf32>, tensor<64xf32>
  }
  func.func private @looked_up(%t: tensor<64x16xf32>, %i: tensor<640xi64>, %o: tensor<640x16xf32>, %m: tensor<64xf32>) -> (tensor<640x16xf32>, tensor<64xf32>) attributes {fuse.kernel, fuse.dims = {d0 = "640", d1 = "16"}, fuse.ties = array<i64: 2, 3>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %none = arith.constant 0 : i64
    %many = arith.constant 64 : i64
    %at = "fuse.load"(%i, %true, %none) {at = ["d0"]} : (tensor<640xi64>, i1, i64) -> i64
    %inside = arith.cmpi ult, %at, %many : i64
    cf.assert %inside, "index out of range"
    %v = "fuse.load"(%t, %inside, %zero, %at) {at = ["i0", "d1"]} : (tensor<64x16xf32>, i1, f32, i64) -> f32
    %r = "fuse.store"(%o, %v, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<640x16xf32>, f32, i1) -> tensor<640x16xf32>
    %n = "fuse.store"(%m, %v, %inside, %at) {at = ["i0"], mode = "max"} : (tensor<64xf32>, f32, i1, i64) -> tensor<64xf32>
    return %r, %n : tensor<640x16xf32>, tensor<64xf32>
  }
  func.func private @rows(%x: tensor<640x16xf32>, %o: tensor<640xf32>) -> tensor<640xf32> attributes {fuse.kernel, fuse.dims = {d0 = "640", d1 = "16"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<640x16xf32>, i1, f32) -> f32
    %s = "fuse.reduce"(%v) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %out = "fuse.store"(%o, %s, %true) {at = ["d0"], mode = "set"} : (tensor<640xf32>, f32, i1) -> tensor<640xf32>
    return %out : tensor<640xf32>
  }
  func.func private @columns(%x: tensor<640x16xf32>, %o: tensor<16xf32>) -> tensor<16xf32> attributes {fuse.kernel, fuse.dims = {d0 = "640", d1 = "16"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<640x16xf32>, i1, f32) -> f32
    %s = "fuse.reduce"(%v) {kind = "sum", over = ["d0"]} : (f32) -> f32
    %out = "fuse.store"(%o, %s, %true) {at = ["d1"], mode = "set"} : (tensor<16xf32>, f32, i1) -> tensor<16xf32>
    return %out : tensor<16xf32>
  }
}

// -----

// Bad input: there is nothing to schedule.
// expected-error @+1 {{the module has no function @main}}
module attributes {fuse.device = "cpu"} {
}

// -----

// A kernel that asserts something stores twice what it reads, and its total.  It asserts as before; sums of eight compute the
// double alone.
// CHECK-LABEL: func.func @main(
// CHECK-SAME: %[[X:[^:]*]]:
// CHECK: call @total(
// CHECK: %[[A:.*]] = call @total_1(%[[X]], %{{.*}}) {fuse.group = 0 : i64}
// CHECK-NEXT: call @eights(%[[A]], %{{.*}}) {fuse.group = 0 : i64}
// CHECK: func.func private @total(
// CHECK: fuse.device_assert
// CHECK: func.func private @total_1
// CHECK-NOT: fuse.device_assert
// CHECK: return
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<4096xf32>) -> (tensor<f32>, tensor<512xf32>) {
    %o = "fuse.empty"() {syms = []} : () -> tensor<4096xf32>
    %p = "fuse.empty"() {syms = []} : () -> tensor<f32>
    %q = "fuse.empty"() {syms = []} : () -> tensor<512xf32>
    %s:2 = call @total(%x, %o, %p) : (tensor<4096xf32>, tensor<4096xf32>, tensor<f32>) -> (tensor<4096xf32>, tensor<f32>)
    %d = call @eights(%s#0, %q) : (tensor<4096xf32>, tensor<512xf32>) -> tensor<512xf32>
    return %s#1, %d : tensor<f32>, tensor<512xf32>
  }
  func.func private @total(%x: tensor<4096xf32>, %o: tensor<4096xf32>, %p: tensor<f32>) -> (tensor<4096xf32>, tensor<f32>) attributes {fuse.kernel, fuse.dims = {d0 = "4096"}, fuse.ties = array<i64: 1, 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<4096xf32>, i1, f32) -> f32
    %positive = arith.cmpf ogt, %v, %zero : f32
    "fuse.device_assert"(%positive, %true) {message = "not positive"} : (i1, i1) -> ()
    %r = arith.addf %v, %v : f32
    %out = "fuse.store"(%o, %r, %true) {at = ["d0"], mode = "set"} : (tensor<4096xf32>, f32, i1) -> tensor<4096xf32>
    %t = "fuse.reduce"(%r) {kind = "sum", over = ["d0"]} : (f32) -> f32
    %all = "fuse.store"(%p, %t, %true) {at = [], mode = "set"} : (tensor<f32>, f32, i1) -> tensor<f32>
    return %out, %all : tensor<4096xf32>, tensor<f32>
  }
  func.func private @eights(%x: tensor<4096xf32>, %o: tensor<512xf32>) -> tensor<512xf32> attributes {fuse.kernel, fuse.dims = {d0 = "512", d1 = "8"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0*8 + d1"]} : (tensor<4096xf32>, i1, f32) -> f32
    %s = "fuse.reduce"(%v) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %out = "fuse.store"(%o, %s, %true) {at = ["d0"], mode = "set"} : (tensor<512xf32>, f32, i1) -> tensor<512xf32>
    return %out : tensor<512xf32>
  }
}

// -----

// Must not fire: nothing would assert any more.
// CHECK-LABEL: func.func @main(
// CHECK: call @checked(
// CHECK-NOT: call @checked
// CHECK: return
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<4096xf32>) -> tensor<512xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<4096xf32>
    %q = "fuse.empty"() {syms = []} : () -> tensor<512xf32>
    %s = call @checked(%x, %o) : (tensor<4096xf32>, tensor<4096xf32>) -> tensor<4096xf32>
    %d = call @eights(%s, %q) : (tensor<4096xf32>, tensor<512xf32>) -> tensor<512xf32>
    return %d : tensor<512xf32>
  }
  func.func private @checked(%x: tensor<4096xf32>, %o: tensor<4096xf32>) -> tensor<4096xf32> attributes {fuse.kernel, fuse.dims = {d0 = "4096"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<4096xf32>, i1, f32) -> f32
    %positive = arith.cmpf ogt, %v, %zero : f32
    "fuse.device_assert"(%positive, %true) {message = "not positive"} : (i1, i1) -> ()
    %r = arith.addf %v, %v : f32
    %out = "fuse.store"(%o, %r, %true) {at = ["d0"], mode = "set"} : (tensor<4096xf32>, f32, i1) -> tensor<4096xf32>
    return %out : tensor<4096xf32>
  }
  func.func private @eights(%x: tensor<4096xf32>, %o: tensor<512xf32>) -> tensor<512xf32> attributes {fuse.kernel, fuse.dims = {d0 = "512", d1 = "8"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0*8 + d1"]} : (tensor<4096xf32>, i1, f32) -> f32
    %s = "fuse.reduce"(%v) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %out = "fuse.store"(%o, %s, %true) {at = ["d0"], mode = "set"} : (tensor<512xf32>, f32, i1) -> tensor<512xf32>
    return %out : tensor<512xf32>
  }
}

// -----

// Must not fire: the copy would look up without the check of its index.
// CHECK-LABEL: func.func @main(
// CHECK: call @looked_up(
// CHECK-NOT: call @looked_up
// CHECK: return
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<64xf32>, %n: tensor<512xi64>) -> (tensor<f32>, tensor<512xf32>) {
    %o = "fuse.empty"() {syms = []} : () -> tensor<4096xf32>
    %p = "fuse.empty"() {syms = []} : () -> tensor<f32>
    %q = "fuse.empty"() {syms = []} : () -> tensor<512xf32>
    %s:2 = call @looked_up(%x, %n, %o, %p) : (tensor<64xf32>, tensor<512xi64>, tensor<4096xf32>, tensor<f32>) -> (tensor<4096xf32>, tensor<f32>)
    %d = call @eights(%s#0, %q) : (tensor<4096xf32>, tensor<512xf32>) -> tensor<512xf32>
    return %s#1, %d : tensor<f32>, tensor<512xf32>
  }
  func.func private @looked_up(%x: tensor<64xf32>, %n: tensor<512xi64>, %o: tensor<4096xf32>, %p: tensor<f32>) -> (tensor<4096xf32>, tensor<f32>) attributes {fuse.kernel, fuse.dims = {d0 = "4096"}, fuse.ties = array<i64: 2, 3>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %none = arith.constant 0 : i64
    %rows = arith.constant 64 : i64
    %i = "fuse.load"(%n, %true, %none) {at = ["d0 floordiv 8"]} : (tensor<512xi64>, i1, i64) -> i64
    %inside = arith.cmpi ult, %i, %rows : i64
    "fuse.device_assert"(%inside, %true) {message = "outside"} : (i1, i1) -> ()
    %v = "fuse.load"(%x, %true, %zero, %i) {at = ["i0"]} : (tensor<64xf32>, i1, f32, i64) -> f32
    %r = arith.addf %v, %v : f32
    %out = "fuse.store"(%o, %r, %true) {at = ["d0"], mode = "set"} : (tensor<4096xf32>, f32, i1) -> tensor<4096xf32>
    %t = "fuse.reduce"(%r) {kind = "sum", over = ["d0"]} : (f32) -> f32
    %all = "fuse.store"(%p, %t, %true) {at = [], mode = "set"} : (tensor<f32>, f32, i1) -> tensor<f32>
    return %out, %all : tensor<4096xf32>, tensor<f32>
  }
  func.func private @eights(%x: tensor<4096xf32>, %o: tensor<512xf32>) -> tensor<512xf32> attributes {fuse.kernel, fuse.dims = {d0 = "512", d1 = "8"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0*8 + d1"]} : (tensor<4096xf32>, i1, f32) -> f32
    %s = "fuse.reduce"(%v) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %out = "fuse.store"(%o, %s, %true) {at = ["d0"], mode = "set"} : (tensor<512xf32>, f32, i1) -> tensor<512xf32>
    return %out : tensor<512xf32>
  }
}

// -----

// Of two tensors that the caller keeps: four reads instead of two, a write and two reads of what is made of them.
// CHECK-LABEL: func.func @main(
// CHECK-COUNT-2: call @gate(
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<4096xf32>, %y: tensor<4096xf32>) -> (tensor<64xf32>, tensor<512xf32>) {
    %o = "fuse.empty"() {syms = []} : () -> tensor<4096xf32>
    %p = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %q = "fuse.empty"() {syms = []} : () -> tensor<512xf32>
    %s = call @gate(%x, %y, %o) : (tensor<4096xf32>, tensor<4096xf32>, tensor<4096xf32>) -> tensor<4096xf32>
    %c = call @rows(%s, %p) : (tensor<4096xf32>, tensor<64xf32>) -> tensor<64xf32>
    %d = call @columns(%s, %q) : (tensor<4096xf32>, tensor<512xf32>) -> tensor<512xf32>
    return %c, %d : tensor<64xf32>, tensor<512xf32>
  }
  func.func private @gate(%x: tensor<4096xf32>, %y: tensor<4096xf32>, %o: tensor<4096xf32>) -> tensor<4096xf32> attributes {fuse.kernel, fuse.dims = {d0 = "4096"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<4096xf32>, i1, f32) -> f32
    %w = "fuse.load"(%y, %true, %zero) {at = ["d0"]} : (tensor<4096xf32>, i1, f32) -> f32
    %r = arith.mulf %v, %w : f32
    %out = "fuse.store"(%o, %r, %true) {at = ["d0"], mode = "set"} : (tensor<4096xf32>, f32, i1) -> tensor<4096xf32>
    return %out : tensor<4096xf32>
  }
  func.func private @rows(%x: tensor<4096xf32>, %o: tensor<64xf32>) -> tensor<64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64", d1 = "64"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0*64 + d1"]} : (tensor<4096xf32>, i1, f32) -> f32
    %s = "fuse.reduce"(%v) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %out = "fuse.store"(%o, %s, %true) {at = ["d0"], mode = "set"} : (tensor<64xf32>, f32, i1) -> tensor<64xf32>
    return %out : tensor<64xf32>
  }
  func.func private @columns(%x: tensor<4096xf32>, %o: tensor<512xf32>) -> tensor<512xf32> attributes {fuse.kernel, fuse.dims = {d0 = "512", d1 = "8"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0*8 + d1"]} : (tensor<4096xf32>, i1, f32) -> f32
    %s = "fuse.reduce"(%v) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %out = "fuse.store"(%o, %s, %true) {at = ["d0"], mode = "set"} : (tensor<512xf32>, f32, i1) -> tensor<512xf32>
    return %out : tensor<512xf32>
  }
}

// -----

// Must not fire: the caller gives them up, and two would live longer in place of one.
// CHECK-LABEL: func.func @main(
// CHECK-COUNT-1: call @gate(
// CHECK-NOT: call @gate(
// CHECK: return
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<4096xf32>, %y: tensor<4096xf32>) -> (tensor<64xf32>, tensor<512xf32>) attributes {fuse.given} {
    %o = "fuse.empty"() {syms = []} : () -> tensor<4096xf32>
    %p = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %q = "fuse.empty"() {syms = []} : () -> tensor<512xf32>
    %s = call @gate(%x, %y, %o) : (tensor<4096xf32>, tensor<4096xf32>, tensor<4096xf32>) -> tensor<4096xf32>
    %c = call @rows(%s, %p) : (tensor<4096xf32>, tensor<64xf32>) -> tensor<64xf32>
    %d = call @columns(%s, %q) : (tensor<4096xf32>, tensor<512xf32>) -> tensor<512xf32>
    return %c, %d : tensor<64xf32>, tensor<512xf32>
  }
  func.func private @gate(%x: tensor<4096xf32>, %y: tensor<4096xf32>, %o: tensor<4096xf32>) -> tensor<4096xf32> attributes {fuse.kernel, fuse.dims = {d0 = "4096"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<4096xf32>, i1, f32) -> f32
    %w = "fuse.load"(%y, %true, %zero) {at = ["d0"]} : (tensor<4096xf32>, i1, f32) -> f32
    %r = arith.mulf %v, %w : f32
    %out = "fuse.store"(%o, %r, %true) {at = ["d0"], mode = "set"} : (tensor<4096xf32>, f32, i1) -> tensor<4096xf32>
    return %out : tensor<4096xf32>
  }
  func.func private @rows(%x: tensor<4096xf32>, %o: tensor<64xf32>) -> tensor<64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64", d1 = "64"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0*64 + d1"]} : (tensor<4096xf32>, i1, f32) -> f32
    %s = "fuse.reduce"(%v) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %out = "fuse.store"(%o, %s, %true) {at = ["d0"], mode = "set"} : (tensor<64xf32>, f32, i1) -> tensor<64xf32>
    return %out : tensor<64xf32>
  }
  func.func private @columns(%x: tensor<4096xf32>, %o: tensor<512xf32>) -> tensor<512xf32> attributes {fuse.kernel, fuse.dims = {d0 = "512", d1 = "8"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0*8 + d1"]} : (tensor<4096xf32>, i1, f32) -> f32
    %s = "fuse.reduce"(%v) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %out = "fuse.store"(%o, %s, %true) {at = ["d0"], mode = "set"} : (tensor<512xf32>, f32, i1) -> tensor<512xf32>
    return %out : tensor<512xf32>
  }
}
