// RUN: fuse-opt %s --pass-pipeline="builtin.module(unroll-reductions)" --split-input-file --verify-diagnostics | FileCheck %s
// RUN: fuse-opt %s --pass-pipeline="builtin.module(unroll-reductions{max-points=2})" --split-input-file --verify-diagnostics | FileCheck %s --check-prefix=TWO
// RUN: fuse-opt %s --pass-pipeline="builtin.module(unroll-reductions{max-ops=2})" --split-input-file --verify-diagnostics | FileCheck %s --check-prefix=OPS
// RUN: fuse-opt %s --pass-pipeline="builtin.module(unroll-reductions)" --split-input-file --verify-diagnostics --remarks=text 2>&1 >/dev/null | FileCheck %s --check-prefix=SAID
// SAID: passed: unroll-reductions: unrolled

// Four loads, joined in order of the last dim first; the kernel has one dim left.  The sum begins at 0.0, as
// that of negative zeros is 0.0.
// CHECK-LABEL: func.func private @total
// CHECK-SAME: fuse.dims = {d0 = "8"}
// CHECK: %[[A:.*]] = "fuse.load"({{.*}}at = ["d0", "0", "0"]
// CHECK: %[[A0:.*]] = arith.addf %[[A]], %{{.*}}
// CHECK: %[[B:.*]] = "fuse.load"({{.*}}at = ["d0", "0", "1"]
// CHECK: %[[AB:.*]] = arith.addf %[[A0]], %[[B]]
// CHECK: %[[C:.*]] = "fuse.load"({{.*}}at = ["d0", "1", "0"]
// CHECK: %[[ABC:.*]] = arith.addf %[[AB]], %[[C]]
// CHECK: %[[D:.*]] = "fuse.load"({{.*}}at = ["d0", "1", "1"]
// CHECK: arith.addf %[[ABC]], %[[D]]
// CHECK-NOT: fuse.reduce
// TWO-LABEL: func.func private @total
// TWO: fuse.reduce
// OPS-LABEL: func.func private @total
// OPS: fuse.reduce
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<8x2x2xf32>) -> tensor<8xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<8xf32>
    %y = call @total(%x, %o) : (tensor<8x2x2xf32>, tensor<8xf32>) -> tensor<8xf32>
    return %y : tensor<8xf32>
  }
  func.func private @total(%x: tensor<8x2x2xf32>, %o: tensor<8xf32>) -> tensor<8xf32> attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "2", d2 = "2"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1", "d2"]} : (tensor<8x2x2xf32>, i1, f32) -> f32
    %s = "fuse.reduce"(%v) {kind = "sum", over = ["d1", "d2"]} : (f32) -> f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d0"], mode = "set"} : (tensor<8xf32>, f32, i1) -> tensor<8xf32>
    return %r : tensor<8xf32>
  }
}

// -----

// What does not depend on the dim is shared; indices become numbers.
// CHECK-LABEL: func.func private @weighed
// CHECK-SAME: fuse.dims = {d0 = "8"}
// CHECK-COUNT-1: math.exp
// CHECK-NOT: fuse.index
// CHECK-NOT: fuse.reduce
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<8x3xf32>, %w: tensor<8xf32>) -> tensor<8xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<8xf32>
    %y = call @weighed(%x, %w, %o) : (tensor<8x3xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    return %y : tensor<8xf32>
  }
  func.func private @weighed(%x: tensor<8x3xf32>, %w: tensor<8xf32>, %o: tensor<8xf32>) -> tensor<8xf32> attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "3"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<8x3xf32>, i1, f32) -> f32
    %u = "fuse.load"(%w, %true, %zero) {at = ["d0"]} : (tensor<8xf32>, i1, f32) -> f32
    %e = math.exp %u : f32
    %p = arith.mulf %v, %e : f32
    %s = "fuse.reduce"(%p) {kind = "max", over = ["d1"]} : (f32) -> f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d0"], mode = "set"} : (tensor<8xf32>, f32, i1) -> tensor<8xf32>
    return %r : tensor<8xf32>
  }
}

// -----

// Must not fire: the row is stored too (@centred), the length is no number (@rows), too many elements (@long),
// the largest of integers (@top).
// CHECK-LABEL: func.func private @centred
// CHECK: fuse.reduce
// CHECK-LABEL: func.func private @rows
// CHECK: fuse.reduce
// CHECK-LABEL: func.func private @long
// CHECK: fuse.reduce
// CHECK-LABEL: func.func private @top
// CHECK: fuse.reduce
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<8x2xf32>, %z: tensor<8x?xf32, #fuse.layout<"8,s0", "s0,1", "0", "cpu">>, %l: tensor<8x5xf32>, %i: tensor<8x2xi32>, %s0: index {fuse.sym = "s0", fuse.min = 2 : i64, fuse.max = 3 : i64}) -> (tensor<8x2xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xi32>) {
    %o = "fuse.empty"() {syms = []} : () -> tensor<8x2xf32>
    %y = call @centred(%x, %o) : (tensor<8x2xf32>, tensor<8x2xf32>) -> tensor<8x2xf32>
    %p = "fuse.empty"() {syms = []} : () -> tensor<8xf32>
    %a = call @rows(%z, %p, %s0) : (tensor<8x?xf32, #fuse.layout<"8,s0", "s0,1", "0", "cpu">>, tensor<8xf32>, index) -> tensor<8xf32>
    %q = "fuse.empty"() {syms = []} : () -> tensor<8xf32>
    %b = call @long(%l, %q) : (tensor<8x5xf32>, tensor<8xf32>) -> tensor<8xf32>
    %t = "fuse.empty"() {syms = []} : () -> tensor<8xi32>
    %c = call @top(%i, %t) : (tensor<8x2xi32>, tensor<8xi32>) -> tensor<8xi32>
    return %y, %a, %b, %c : tensor<8x2xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xi32>
  }
  func.func private @centred(%x: tensor<8x2xf32>, %o: tensor<8x2xf32>) -> tensor<8x2xf32> attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "2"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<8x2xf32>, i1, f32) -> f32
    %s = "fuse.reduce"(%v) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %c = arith.subf %v, %s : f32
    %r = "fuse.store"(%o, %c, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<8x2xf32>, f32, i1) -> tensor<8x2xf32>
    return %r : tensor<8x2xf32>
  }
  func.func private @rows(%x: tensor<8x?xf32, #fuse.layout<"8,s0", "s0,1", "0", "cpu">>, %o: tensor<8xf32>, %s0: index {fuse.sym = "s0"}) -> tensor<8xf32> attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "s0"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<8x?xf32, #fuse.layout<"8,s0", "s0,1", "0", "cpu">>, i1, f32) -> f32
    %s = "fuse.reduce"(%v) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d0"], mode = "set"} : (tensor<8xf32>, f32, i1) -> tensor<8xf32>
    return %r : tensor<8xf32>
  }
  func.func private @long(%x: tensor<8x5xf32>, %o: tensor<8xf32>) -> tensor<8xf32> attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "5"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<8x5xf32>, i1, f32) -> f32
    %s = "fuse.reduce"(%v) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d0"], mode = "set"} : (tensor<8xf32>, f32, i1) -> tensor<8xf32>
    return %r : tensor<8xf32>
  }
  func.func private @top(%x: tensor<8x2xi32>, %o: tensor<8xi32>) -> tensor<8xi32> attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "2"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0 : i32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<8x2xi32>, i1, i32) -> i32
    %s = "fuse.reduce"(%v) {kind = "max", over = ["d1"]} : (i32) -> i32
    %r = "fuse.store"(%o, %s, %true) {at = ["d0"], mode = "set"} : (tensor<8xi32>, i32, i1) -> tensor<8xi32>
    return %r : tensor<8xi32>
  }
}

// -----

// Must not fire: one length is no number, though the kernel joins two elements, too, which it does one by one.
// CHECK-LABEL: func.func private @both
// CHECK-SAME: fuse.dims = {d0 = "8", d1 = "s0"}
// CHECK: arith.addf
// CHECK: fuse.reduce{{.*}}over = ["d1"]
// CHECK-NOT: fuse.reduce
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<8x2xf32>, %z: tensor<8x?xf32, #fuse.layout<"8,s0", "s0,1", "0", "cpu">>, %s0: index {fuse.sym = "s0", fuse.min = 2 : i64, fuse.max = 3 : i64}) -> tensor<8xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<8xf32>
    %a = call @both(%x, %z, %o, %s0) : (tensor<8x2xf32>, tensor<8x?xf32, #fuse.layout<"8,s0", "s0,1", "0", "cpu">>, tensor<8xf32>, index) -> tensor<8xf32>
    return %a : tensor<8xf32>
  }
  func.func private @both(%x: tensor<8x2xf32>, %z: tensor<8x?xf32, #fuse.layout<"8,s0", "s0,1", "0", "cpu">>, %o: tensor<8xf32>, %s0: index {fuse.sym = "s0"}) -> tensor<8xf32> attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "s0", d2 = "2"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d2"]} : (tensor<8x2xf32>, i1, f32) -> f32
    %s = "fuse.reduce"(%v) {kind = "sum", over = ["d2"]} : (f32) -> f32
    %w = "fuse.load"(%z, %true, %zero) {at = ["d0", "d1"]} : (tensor<8x?xf32, #fuse.layout<"8,s0", "s0,1", "0", "cpu">>, i1, f32) -> f32
    %t = "fuse.reduce"(%w) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %p = arith.mulf %s, %t : f32
    %r = "fuse.store"(%o, %p, %true) {at = ["d0"], mode = "set"} : (tensor<8xf32>, f32, i1) -> tensor<8xf32>
    return %r : tensor<8xf32>
  }
}

// -----

// Must not fire: it reads an argument into which the centred values are written. A kernel beside it is unrolled.
// CHECK-LABEL: func.func @main
// CHECK-LABEL: func.func private @sum(
// CHECK: "fuse.reduce"
// CHECK-LABEL: func.func private @other(
// CHECK-NOT: "fuse.reduce"
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<8x2xf32>, %w: tensor<8x2xf32>) -> (tensor<8xf32>, tensor<8x2xf32>) {
    %o = "fuse.empty"() {syms = []} : () -> tensor<8xf32>
    %s = call @sum(%x, %o) : (tensor<8x2xf32>, tensor<8xf32>) -> tensor<8xf32>
    %p = "fuse.empty"() {syms = []} : () -> tensor<8xf32>
    %t = call @other(%w, %p) : (tensor<8x2xf32>, tensor<8xf32>) -> tensor<8xf32>
    %y = call @add(%s, %t, %x) : (tensor<8xf32>, tensor<8xf32>, tensor<8x2xf32>) -> tensor<8x2xf32>
    return {fuse.mutates = {"1" = 0 : i64}} %t, %y : tensor<8xf32>, tensor<8x2xf32>
  }
  func.func private @sum(%x: tensor<8x2xf32>, %o: tensor<8xf32>) -> tensor<8xf32> attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "2"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<8x2xf32>, i1, f32) -> f32
    %s = "fuse.reduce"(%v) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d0"], mode = "set"} : (tensor<8xf32>, f32, i1) -> tensor<8xf32>
    return %r : tensor<8xf32>
  }
  func.func private @other(%x: tensor<8x2xf32>, %o: tensor<8xf32>) -> tensor<8xf32> attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "2"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<8x2xf32>, i1, f32) -> f32
    %s = "fuse.reduce"(%v) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d0"], mode = "set"} : (tensor<8xf32>, f32, i1) -> tensor<8xf32>
    return %r : tensor<8xf32>
  }
  func.func private @add(%a: tensor<8xf32>, %b: tensor<8xf32>, %x: tensor<8x2xf32>) -> tensor<8x2xf32> attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "2"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %u = "fuse.load"(%a, %true, %zero) {at = ["d0"]} : (tensor<8xf32>, i1, f32) -> f32
    %v = "fuse.load"(%b, %true, %zero) {at = ["d0"]} : (tensor<8xf32>, i1, f32) -> f32
    %w = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<8x2xf32>, i1, f32) -> f32
    %c = arith.subf %w, %u : f32
    %e = arith.addf %c, %v : f32
    %r = "fuse.store"(%x, %e, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<8x2xf32>, f32, i1) -> tensor<8x2xf32>
    return %r : tensor<8x2xf32>
  }
}

// -----

// Bad input: there is nothing to schedule.
// expected-error @+1 {{the module has no function @main}}
module attributes {fuse.device = "cpu"} {
}

// -----

// A running product of three elements: the second and third join where the point is at them or behind; the dim stays.
// CHECK-LABEL: func.func private @running
// CHECK-SAME: fuse.dims = {d0 = "8", d1 = "3"}
// CHECK: %[[LAST:.*]] = arith.constant 2 : i64
// CHECK: %[[ONE:.*]] = arith.constant 1 : i64
// CHECK: %[[I:.*]] = "fuse.index"() {expr = "d1"}
// CHECK: %[[A:.*]] = "fuse.load"({{.*}}at = ["d0", "0"]
// CHECK: %[[B:.*]] = "fuse.load"({{.*}}at = ["d0", "1"]
// CHECK: %[[AT:.*]] = arith.cmpi sge, %[[I]], %[[ONE]]
// CHECK: %[[AB:.*]] = arith.mulf %[[A]], %[[B]]
// CHECK: %[[P:.*]] = arith.select %[[AT]], %[[AB]], %[[A]]
// CHECK: %[[C:.*]] = "fuse.load"({{.*}}at = ["d0", "2"]
// CHECK: %[[END:.*]] = arith.cmpi sge, %[[I]], %[[LAST]]
// CHECK: %[[ABC:.*]] = arith.mulf %[[P]], %[[C]]
// CHECK: arith.select %[[END]], %[[ABC]], %[[P]]
// CHECK-NOT: fuse.scan
// CHECK-LABEL: func.func private @backwards
// CHECK: "fuse.load"({{.*}}at = ["d0", "1"]
// CHECK: "fuse.load"({{.*}}at = ["d0", "0"]
// CHECK: arith.cmpi sle
// CHECK-NOT: fuse.scan
// TWO-LABEL: func.func private @running
// TWO: fuse.scan
// TWO-LABEL: func.func private @backwards
// TWO-NOT: fuse.scan
// OPS-LABEL: func.func private @running
// OPS: fuse.scan
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<8x3xf32>, %z: tensor<8x2xf32>) -> (tensor<8x3xf32>, tensor<8x2xf32>) {
    %o = "fuse.empty"() {syms = []} : () -> tensor<8x3xf32>
    %y = call @running(%x, %o) : (tensor<8x3xf32>, tensor<8x3xf32>) -> tensor<8x3xf32>
    %p = "fuse.empty"() {syms = []} : () -> tensor<8x2xf32>
    %w = call @backwards(%z, %p) : (tensor<8x2xf32>, tensor<8x2xf32>) -> tensor<8x2xf32>
    return %y, %w : tensor<8x3xf32>, tensor<8x2xf32>
  }
  func.func private @running(%x: tensor<8x3xf32>, %o: tensor<8x3xf32>) -> tensor<8x3xf32> attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "3"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<8x3xf32>, i1, f32) -> f32
    %s = "fuse.scan"(%v) {kind = "prod", over = "d1", reverse = false} : (f32) -> f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<8x3xf32>, f32, i1) -> tensor<8x3xf32>
    return %r : tensor<8x3xf32>
  }
  func.func private @backwards(%x: tensor<8x2xf32>, %o: tensor<8x2xf32>) -> tensor<8x2xf32> attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "2"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<8x2xf32>, i1, f32) -> f32
    %s = "fuse.scan"(%v) {kind = "sum", over = "d1", reverse = true} : (f32) -> f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<8x2xf32>, f32, i1) -> tensor<8x2xf32>
    return %r : tensor<8x2xf32>
  }
}

// -----

// Must not fire: too many elements (@long), the largest of integers (@tops), what is scanned needs a reduction that
// stays (@shares), a sum of exponentials (@logs).
// TWO-LABEL: func.func private @long
// CHECK-LABEL: func.func private @long
// CHECK: fuse.scan
// CHECK-LABEL: func.func private @tops
// CHECK: fuse.scan
// CHECK-LABEL: func.func private @shares
// CHECK: fuse.scan
// CHECK-LABEL: func.func private @logs
// CHECK: fuse.scan
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<8x5xf32>, %i: tensor<8x2xi32>, %y: tensor<8x2xf32>) -> (tensor<8x5xf32>, tensor<8x2xi32>, tensor<8x2xf32>, tensor<8x2xf32>) {
    %o = "fuse.empty"() {syms = []} : () -> tensor<8x5xf32>
    %a = call @long(%x, %o) : (tensor<8x5xf32>, tensor<8x5xf32>) -> tensor<8x5xf32>
    %p = "fuse.empty"() {syms = []} : () -> tensor<8x2xi32>
    %b = call @tops(%i, %p) : (tensor<8x2xi32>, tensor<8x2xi32>) -> tensor<8x2xi32>
    %q = "fuse.empty"() {syms = []} : () -> tensor<8x2xf32>
    %c = call @shares(%y, %q) : (tensor<8x2xf32>, tensor<8x2xf32>) -> tensor<8x2xf32>
    %t = "fuse.empty"() {syms = []} : () -> tensor<8x2xf32>
    %d = call @logs(%y, %t) : (tensor<8x2xf32>, tensor<8x2xf32>) -> tensor<8x2xf32>
    return %a, %b, %c, %d : tensor<8x5xf32>, tensor<8x2xi32>, tensor<8x2xf32>, tensor<8x2xf32>
  }
  func.func private @long(%x: tensor<8x5xf32>, %o: tensor<8x5xf32>) -> tensor<8x5xf32> attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "5"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<8x5xf32>, i1, f32) -> f32
    %s = "fuse.scan"(%v) {kind = "prod", over = "d1", reverse = false} : (f32) -> f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<8x5xf32>, f32, i1) -> tensor<8x5xf32>
    return %r : tensor<8x5xf32>
  }
  func.func private @tops(%x: tensor<8x2xi32>, %o: tensor<8x2xi32>) -> tensor<8x2xi32> attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "2"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0 : i32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<8x2xi32>, i1, i32) -> i32
    %s = "fuse.scan"(%v) {kind = "max", over = "d1", reverse = false} : (i32) -> i32
    %r = "fuse.store"(%o, %s, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<8x2xi32>, i32, i1) -> tensor<8x2xi32>
    return %r : tensor<8x2xi32>
  }
  func.func private @shares(%x: tensor<8x2xf32>, %o: tensor<8x2xf32>) -> tensor<8x2xf32> attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "2", d2 = "8"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<8x2xf32>, i1, f32) -> f32
    %w = "fuse.load"(%x, %true, %zero) {at = ["d2", "d1"]} : (tensor<8x2xf32>, i1, f32) -> f32
    %u = arith.mulf %v, %w : f32
    %t = "fuse.reduce"(%u) {kind = "sum", over = ["d2"]} : (f32) -> f32
    %s = "fuse.scan"(%t) {kind = "sum", over = "d1", reverse = false} : (f32) -> f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<8x2xf32>, f32, i1) -> tensor<8x2xf32>
    return %r : tensor<8x2xf32>
  }
  func.func private @logs(%x: tensor<8x2xf32>, %o: tensor<8x2xf32>) -> tensor<8x2xf32> attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "2"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<8x2xf32>, i1, f32) -> f32
    %s = "fuse.scan"(%v) {kind = "logsumexp", over = "d1", reverse = false} : (f32) -> f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<8x2xf32>, f32, i1) -> tensor<8x2xf32>
    return %r : tensor<8x2xf32>
  }
}

// -----

// A product of two terms: multiplied in the type of the sum.
// CHECK-LABEL: func.func private @both
// CHECK-SAME: fuse.dims = {d0 = "8", d1 = "6"}
// CHECK: %[[A:.*]] = arith.extf %{{.*}} : bf16 to f32
// CHECK: %[[B:.*]] = arith.extf %{{.*}} : bf16 to f32
// CHECK: %[[AB:.*]] = arith.mulf %[[A]], %[[B]] : f32
// CHECK: %[[CD:.*]] = arith.mulf
// CHECK: arith.addf %[[AB]], %[[CD]] : f32
// CHECK-NOT: fuse.dot
// TWO-LABEL: func.func private @both
// TWO-NOT: fuse.dot
// OPS-LABEL: func.func private @both
// OPS: fuse.dot
// CHECK-LABEL: func.func private @kept
// CHECK: fuse.dot
// TWO-LABEL: func.func private @kept
// OPS-LABEL: func.func private @kept
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<8x2xbf16>, %w: tensor<2x6xbf16>, %v: tensor<8x5xbf16>, %u: tensor<5x6xbf16>) -> (tensor<8x6xf32>, tensor<8x6xf32>) {
    %o = "fuse.empty"() {syms = []} : () -> tensor<8x6xf32>
    %y = call @both(%x, %w, %o) : (tensor<8x2xbf16>, tensor<2x6xbf16>, tensor<8x6xf32>) -> tensor<8x6xf32>
    %p = "fuse.empty"() {syms = []} : () -> tensor<8x6xf32>
    %z = call @kept(%v, %u, %p) : (tensor<8x5xbf16>, tensor<5x6xbf16>, tensor<8x6xf32>) -> tensor<8x6xf32>
    return %y, %z : tensor<8x6xf32>, tensor<8x6xf32>
  }
  func.func private @both(%x: tensor<8x2xbf16>, %w: tensor<2x6xbf16>, %o: tensor<8x6xf32>) -> tensor<8x6xf32> attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "6", d2 = "2"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d2"]} : (tensor<8x2xbf16>, i1, bf16) -> bf16
    %b = "fuse.load"(%w, %true, %zero) {at = ["d2", "d1"]} : (tensor<2x6xbf16>, i1, bf16) -> bf16
    %s = "fuse.dot"(%a, %b) {over = ["d2"]} : (bf16, bf16) -> f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<8x6xf32>, f32, i1) -> tensor<8x6xf32>
    return %r : tensor<8x6xf32>
  }
  func.func private @kept(%x: tensor<8x5xbf16>, %w: tensor<5x6xbf16>, %o: tensor<8x6xf32>) -> tensor<8x6xf32> attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "6", d2 = "5"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d2"]} : (tensor<8x5xbf16>, i1, bf16) -> bf16
    %b = "fuse.load"(%w, %true, %zero) {at = ["d2", "d1"]} : (tensor<5x6xbf16>, i1, bf16) -> bf16
    %s = "fuse.dot"(%a, %b) {over = ["d2"]} : (bf16, bf16) -> f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<8x6xf32>, f32, i1) -> tensor<8x6xf32>
    return %r : tensor<8x6xf32>
  }
}
