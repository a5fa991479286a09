// RUN: fuse-opt %s --pass-pipeline="builtin.module(write-in-place{min-bytes=0})" --split-input-file | FileCheck %s
// RUN: fuse-opt %s --pass-pipeline="builtin.module(write-in-place{min-bytes=0})" --split-input-file --remarks=text -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: fuse-opt %s --pass-pipeline="builtin.module(write-in-place)" --split-input-file | FileCheck %s --check-prefix=SMALL

// A chain: %b lies where %a does, %c where %b does.  The argument is the caller's.
// CHECK-LABEL: func.func @main(
// CHECK-NEXT: %[[O:.*]] = "fuse.empty"
// CHECK-NEXT: %[[A:.*]] = call @exp(%arg0, %[[O]])
// CHECK-NEXT: %[[B:.*]] = call @exp_1(%[[A]])
// CHECK-NEXT: %[[C:.*]] = call @exp_1(%[[B]])
// CHECK-NEXT: return %[[C]]
// CHECK: func.func private @exp(
// CHECK: func.func private @exp_1(%arg0: tensor<64xf32>) -> tensor<64xf32>
// CHECK-SAME: fuse.ties = array<i64: 0>
// CHECK: %[[V:.*]] = "fuse.load"(%arg0,
// CHECK: %[[R:.*]] = math.exp %[[V]]
// CHECK: %[[S:.*]] = "fuse.store"(%arg0, %[[R]],
// CHECK: return %[[S]]
// REMARK-COUNT-2: passed: write-in-place: in-place, operand=0, result=0, bytes=256: written over what it reads [exp]
// Below the least number of bytes nothing changes.
// SMALL-LABEL: func.func @main(
// SMALL-COUNT-3: "fuse.empty"
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<64xf32>) -> tensor<64xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %a = call @exp(%x, %o) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    %p = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %b = call @exp(%a, %p) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    %q = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %c = call @exp(%b, %q) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    return %c : tensor<64xf32>
  }
  func.func private @exp(%x: tensor<64xf32>, %o: tensor<64xf32>) -> tensor<64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<64xf32>, i1, f32) -> f32
    %r = math.exp %v : f32
    %out = "fuse.store"(%o, %r, %true) {at = ["d0"], mode = "set"} : (tensor<64xf32>, f32, i1) -> tensor<64xf32>
    return %out : tensor<64xf32>
  }
}

// -----

// Over the result of a torch op, in another shape: readers see a view.
// CHECK-LABEL: func.func @main(
// CHECK: %[[M:.*]] = call @mm(
// CHECK-NEXT: %[[Z:.*]] = call @exp_1(%[[M]]) : (tensor<8x16xf32>) -> tensor<8x16xf32>
// CHECK-NEXT: %[[Y:.*]] = "fuse.view"(%[[Z]]) {map = ["v0*4 + v1", "v2"], syms = []} : (tensor<8x16xf32>) -> tensor<2x4x16xf32>
// CHECK-NEXT: return %[[Y]]
// CHECK: func.func private @exp_1(
// CHECK: "fuse.store"(%arg0, %{{.*}}) {at = ["d0 floordiv 16", "d0 mod 16"], mode = "set"}
// REMARK: passed: write-in-place: in-place
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<8x16xf32>, %w: tensor<16x16xf32>) -> tensor<2x4x16xf32> {
    %m = call @mm(%x, %w) : (tensor<8x16xf32>, tensor<16x16xf32>) -> tensor<8x16xf32>
    %o = "fuse.empty"() {syms = []} : () -> tensor<2x4x16xf32>
    %y = call @exp(%m, %o) : (tensor<8x16xf32>, tensor<2x4x16xf32>) -> tensor<2x4x16xf32>
    return %y : tensor<2x4x16xf32>
  }
  func.func private @mm(tensor<8x16xf32>, tensor<16x16xf32>) -> tensor<8x16xf32> attributes {fuse.extern = "aten.mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
  func.func private @exp(%x: tensor<8x16xf32>, %o: tensor<2x4x16xf32>) -> tensor<2x4x16xf32> attributes {fuse.kernel, fuse.dims = {d0 = "128"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0 floordiv 16", "d0 mod 16"]} : (tensor<8x16xf32>, i1, f32) -> f32
    %r = math.exp %v : f32
    %out = "fuse.store"(%o, %r, %true) {at = ["d0 floordiv 64", "d0 floordiv 16 mod 4", "d0 mod 16"], mode = "set"} : (tensor<2x4x16xf32>, f32, i1) -> tensor<2x4x16xf32>
    return %out : tensor<2x4x16xf32>
  }
}

// -----

// A row is read, reduced and written: the same points.  Of two results one goes over the operand.
// CHECK-LABEL: func.func @main(
// CHECK: call @mm(
// CHECK-NEXT: %[[P:.*]] = "fuse.empty"
// CHECK-NEXT: %[[N:.*]]:2 = call @norm_1(%{{.*}}, %[[P]])
// CHECK-NEXT: return %[[N]]#0, %[[N]]#1
// CHECK: func.func private @norm_1(
// CHECK-SAME: fuse.ties = array<i64: 0, 1>
// REMARK: passed: write-in-place: in-place, operand=0, result=0
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<8x16xf32>, %w: tensor<16x16xf32>) -> (tensor<8x16xf32>, tensor<8x16xf32>) {
    %m = call @mm(%x, %w) : (tensor<8x16xf32>, tensor<16x16xf32>) -> tensor<8x16xf32>
    %o = "fuse.empty"() {syms = []} : () -> tensor<8x16xf32>
    %p = "fuse.empty"() {syms = []} : () -> tensor<8x16xf32>
    %y:2 = call @norm(%m, %o, %p) : (tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>) -> (tensor<8x16xf32>, tensor<8x16xf32>)
    return %y#0, %y#1 : tensor<8x16xf32>, tensor<8x16xf32>
  }
  func.func private @mm(tensor<8x16xf32>, tensor<16x16xf32>) -> tensor<8x16xf32> attributes {fuse.extern = "aten.mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
  func.func private @norm(%x: tensor<8x16xf32>, %o: tensor<8x16xf32>, %p: tensor<8x16xf32>) -> (tensor<8x16xf32>, tensor<8x16xf32>) attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "16"}, fuse.ties = array<i64: 1, 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<8x16xf32>, i1, f32) -> f32
    %s = "fuse.reduce"(%v) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %r = arith.divf %v, %s : f32
    %e = math.exp %v : f32
    %q = "fuse.store"(%o, %r, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<8x16xf32>, f32, i1) -> tensor<8x16xf32>
    %t = "fuse.store"(%p, %e, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<8x16xf32>, f32, i1) -> tensor<8x16xf32>
    return %q, %t : tensor<8x16xf32>, tensor<8x16xf32>
  }
}

// -----

// Must not fire: read later, through a view too.
// CHECK-LABEL: func.func @main(
// CHECK-COUNT-2: "fuse.empty"
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<8x16xf32>, %w: tensor<16x16xf32>) -> (tensor<8x16xf32>, tensor<16x8xf32, #fuse.layout<"16,8", "1,16", "0", "">>) {
    %m = call @mm(%x, %w) : (tensor<8x16xf32>, tensor<16x16xf32>) -> tensor<8x16xf32>
    %v = "fuse.view"(%m) {map = ["v1", "v0"], syms = []} : (tensor<8x16xf32>) -> tensor<16x8xf32, #fuse.layout<"16,8", "1,16", "0", "">>
    %o = "fuse.empty"() {syms = []} : () -> tensor<8x16xf32>
    %y = call @exp(%m, %o) : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<8x16xf32>
    %p = "fuse.empty"() {syms = []} : () -> tensor<8x16xf32>
    %z = call @exp(%x, %p) : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<8x16xf32>
    %u = call @add(%z, %y) : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<8x16xf32>
    return %u, %v : tensor<8x16xf32>, tensor<16x8xf32, #fuse.layout<"16,8", "1,16", "0", "">>
  }
  func.func private @mm(tensor<8x16xf32>, tensor<16x16xf32>) -> tensor<8x16xf32> attributes {fuse.extern = "aten.mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
  func.func private @add(tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<8x16xf32> attributes {fuse.extern = "aten.add.Tensor", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
  func.func private @exp(%x: tensor<8x16xf32>, %o: tensor<8x16xf32>) -> tensor<8x16xf32> attributes {fuse.kernel, fuse.dims = {d0 = "128"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0 floordiv 16", "d0 mod 16"]} : (tensor<8x16xf32>, i1, f32) -> f32
    %r = math.exp %v : f32
    %out = "fuse.store"(%o, %r, %true) {at = ["d0 floordiv 16", "d0 mod 16"], mode = "set"} : (tensor<8x16xf32>, f32, i1) -> tensor<8x16xf32>
    return %out : tensor<8x16xf32>
  }
}

// -----

// Must not fire: a transposed read, a gather, a row that others read (its sum is written beside), a result
// that does not depend on what it would replace, a guarded store; nor on a tensor that is an operand twice.
// CHECK-LABEL: func.func @main(
// CHECK-COUNT-7: "fuse.empty"
// REMARK: missed: write-in-place: other-map, operand=0, result=0, bytes=1024: the result lies elsewhere in memory than what its point reads [transposed]
// REMARK: missed: write-in-place: gather, operand=0, result=0, bytes=1024
// REMARK: missed: write-in-place: other-points, operand=0, result=0, bytes=1024
// REMARK: missed: write-in-place: independent, operand=0, result=0, bytes=1024
// REMARK: missed: write-in-place: written-apart, operand=0, result=0, bytes=1024
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<16x16xf32>, %n: tensor<16xi64>) -> (tensor<16x16xf32>, tensor<16xf32>) {
    %m0 = call @mm(%x, %x) : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
    %o0 = "fuse.empty"() {syms = []} : () -> tensor<16x16xf32>
    %m1 = call @transposed(%m0, %o0) : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
    %o1 = "fuse.empty"() {syms = []} : () -> tensor<16x16xf32>
    %m2 = call @gather(%m1, %n, %o1) : (tensor<16x16xf32>, tensor<16xi64>, tensor<16x16xf32>) -> tensor<16x16xf32>
    %o2 = "fuse.empty"() {syms = []} : () -> tensor<16x16xf32>
    %p2 = "fuse.empty"() {syms = []} : () -> tensor<16xf32>
    %m3, %s = call @outer(%m2, %o2, %n, %p2) : (tensor<16x16xf32>, tensor<16x16xf32>, tensor<16xi64>, tensor<16xf32>) -> (tensor<16x16xf32>, tensor<16xf32>)
    %o3 = "fuse.empty"() {syms = []} : () -> tensor<16x16xf32>
    %m4 = call @totals(%m3, %o3) : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
    %o4 = "fuse.empty"() {syms = []} : () -> tensor<16x16xf32>
    %m5 = call @guarded(%m4, %o4) : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
    %o5 = "fuse.empty"() {syms = []} : () -> tensor<16x16xf32>
    %m6 = call @sum(%m5, %m5, %o5) : (tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
    return %m6, %s : tensor<16x16xf32>, tensor<16xf32>
  }
  func.func private @mm(tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32> attributes {fuse.extern = "aten.mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
  func.func private @transposed(%x: tensor<16x16xf32>, %o: tensor<16x16xf32>) -> tensor<16x16xf32> attributes {fuse.kernel, fuse.dims = {d0 = "16", d1 = "16"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d1", "d0"]} : (tensor<16x16xf32>, i1, f32) -> f32
    %out = "fuse.store"(%o, %v, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<16x16xf32>, f32, i1) -> tensor<16x16xf32>
    return %out : tensor<16x16xf32>
  }
  func.func private @gather(%x: tensor<16x16xf32>, %n: tensor<16xi64>, %o: tensor<16x16xf32>) -> tensor<16x16xf32> attributes {fuse.kernel, fuse.dims = {d0 = "16", d1 = "16"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %none = arith.constant 0 : i64
    %i = "fuse.load"(%n, %true, %none) {at = ["d0"]} : (tensor<16xi64>, i1, i64) -> i64
    %v = "fuse.load"(%x, %true, %zero, %i) {at = ["i0", "d1"]} : (tensor<16x16xf32>, i1, f32, i64) -> f32
    %out = "fuse.store"(%o, %v, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<16x16xf32>, f32, i1) -> tensor<16x16xf32>
    return %out : tensor<16x16xf32>
  }
  func.func private @outer(%x: tensor<16x16xf32>, %o: tensor<16x16xf32>, %n: tensor<16xi64>, %p: tensor<16xf32>) -> (tensor<16x16xf32>, tensor<16xf32>) attributes {fuse.kernel, fuse.dims = {d0 = "16", d1 = "16", d2 = "16"}, fuse.ties = array<i64: 1, 3>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %none = arith.constant 0 : i64
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<16x16xf32>, i1, f32) -> f32
    %i = "fuse.load"(%n, %true, %none) {at = ["d2"]} : (tensor<16xi64>, i1, i64) -> i64
    %f = arith.sitofp %i : i64 to f32
    %s = "fuse.reduce"(%v) {kind = "sum", over = ["d0", "d1"]} : (f32) -> f32
    %t = arith.mulf %f, %s : f32
    %e = math.exp %v : f32
    %out = "fuse.store"(%o, %e, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<16x16xf32>, f32, i1) -> tensor<16x16xf32>
    %q = "fuse.store"(%p, %t, %true) {at = ["d2"], mode = "set"} : (tensor<16xf32>, f32, i1) -> tensor<16xf32>
    return %out, %q : tensor<16x16xf32>, tensor<16xf32>
  }
  func.func private @totals(%x: tensor<16x16xf32>, %o: tensor<16x16xf32>) -> tensor<16x16xf32> attributes {fuse.kernel, fuse.dims = {d0 = "16", d1 = "16"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<16x16xf32>, i1, f32) -> f32
    %s = "fuse.reduce"(%v) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %j = "fuse.index"() {expr = "d1"} : () -> i64
    %f = arith.sitofp %j : i64 to f32
    %r = arith.mulf %f, %s : f32
    %out = "fuse.store"(%o, %r, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<16x16xf32>, f32, i1) -> tensor<16x16xf32>
    return %out : tensor<16x16xf32>
  }
  func.func private @guarded(%x: tensor<16x16xf32>, %o: tensor<16x16xf32>) -> tensor<16x16xf32> attributes {fuse.kernel, fuse.dims = {d0 = "16", d1 = "16"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<16x16xf32>, i1, f32) -> f32
    %g = arith.cmpf ogt, %v, %zero : f32
    %out = "fuse.store"(%o, %v, %g) {at = ["d0", "d1"], mode = "set"} : (tensor<16x16xf32>, f32, i1) -> tensor<16x16xf32>
    return %out : tensor<16x16xf32>
  }
  func.func private @sum(%x: tensor<16x16xf32>, %y: tensor<16x16xf32>, %o: tensor<16x16xf32>) -> tensor<16x16xf32> attributes {fuse.kernel, fuse.dims = {d0 = "16", d1 = "16"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<16x16xf32>, i1, f32) -> f32
    %u = "fuse.load"(%y, %true, %zero) {at = ["d1", "d0"]} : (tensor<16x16xf32>, i1, f32) -> f32
    %r = arith.addf %v, %u : f32
    %out = "fuse.store"(%o, %r, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<16x16xf32>, f32, i1) -> tensor<16x16xf32>
    return %out : tensor<16x16xf32>
  }
}

// -----

// A copy in front of an update: nothing else reads what is copied, so the copy is gone, however small it is.
// SMALL-LABEL: func.func @main(%arg0: tensor<64xf32>, %arg1: tensor<8xi64>)
// SMALL-NOT: call @copy
// SMALL: return
// CHECK-LABEL: func.func @main(
// CHECK: %[[A:.*]] = call @exp(%arg0, %{{.*}})
// CHECK-NEXT: %[[U:.*]] = call @add(%arg1, %[[A]])
// CHECK-NEXT: return %[[U]]
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<64xf32>, %i: tensor<8xi64>) -> tensor<64xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %a = call @exp(%x, %o) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    %p = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %c = call @copy(%a, %p) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    %u = call @add(%i, %c) : (tensor<8xi64>, tensor<64xf32>) -> tensor<64xf32>
    return %u : tensor<64xf32>
  }
  func.func private @exp(%x: tensor<64xf32>, %o: tensor<64xf32>) -> tensor<64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<64xf32>, i1, f32) -> f32
    %r = math.exp %v : f32
    %out = "fuse.store"(%o, %r, %true) {at = ["d0"], mode = "set"} : (tensor<64xf32>, f32, i1) -> tensor<64xf32>
    return %out : tensor<64xf32>
  }
  func.func private @copy(%x: tensor<64xf32>, %o: tensor<64xf32>) -> tensor<64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<64xf32>, i1, f32) -> f32
    %out = "fuse.store"(%o, %v, %true) {at = ["d0"], mode = "set"} : (tensor<64xf32>, f32, i1) -> tensor<64xf32>
    return %out : tensor<64xf32>
  }
  func.func private @add(%i: tensor<8xi64>, %o: tensor<64xf32>) -> tensor<64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "8"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0 : i64
    %one = arith.constant 1.0 : f32
    %n = "fuse.load"(%i, %true, %zero) {at = ["d0"]} : (tensor<8xi64>, i1, i64) -> i64
    %out = "fuse.store"(%o, %one, %true, %n) {at = ["i0"], mode = "add"} : (tensor<64xf32>, f32, i1, i64) -> tensor<64xf32>
    return %out : tensor<64xf32>
  }
}
