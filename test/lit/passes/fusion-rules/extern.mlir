// RUN: fuse-opt %s --pass-pipeline="builtin.module(fold-views,fuse-vertical)" --split-input-file | FileCheck %s
// RUN: fuse-opt %s --pass-pipeline="builtin.module(fold-views,fuse-vertical)" --split-input-file --remarks=text -o %t 2>&1 | FileCheck %s --check-prefix=REMARK

// REMARK: missed: fuse-vertical: extern, op=aten.mm.default: exp and mm stay apart
// REMARK-NEXT: missed: fuse-vertical: extern, op=aten.mm.default: mm and neg stay apart
// REMARK-NEXT: passed: fuse-vertical: fused
// REMARK: extern, op=faults.gate.default: gate and neg stay apart: faults.gate.default is a custom op, into which
// REMARK: extern, op=_c10d_functional.wait_tensor.default: wait and neg stay apart: a call of torch's libraries

// Must not fire: A kernel feeds a matrix product, through a view, and another one reads the product.
// CHECK-LABEL: func.func @main
// CHECK-NOT: fuse.group
// CHECK: return
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<8x8xf32>
    %a = call @exp(%x, %o) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    %t = "fuse.view"(%a) {map = ["v1", "v0"], syms = []} : (tensor<8x8xf32>) -> tensor<8x8xf32, #fuse.layout<"8,8", "1,8", "0", "">>
    %p = call @mm(%x, %t) : (tensor<8x8xf32>, tensor<8x8xf32, #fuse.layout<"8,8", "1,8", "0", "">>) -> tensor<8x8xf32>
    %q = "fuse.empty"() {syms = []} : () -> tensor<8x8xf32>
    %b = call @neg(%p, %q) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    return %b : tensor<8x8xf32>
  }
  func.func private @exp(%x: tensor<8x8xf32>, %o: tensor<8x8xf32>) -> tensor<8x8xf32> attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "8"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<8x8xf32>, i1, f32) -> f32
    %r = math.exp %v : f32
    %out = "fuse.store"(%o, %r, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<8x8xf32>, f32, i1) -> tensor<8x8xf32>
    return %out : tensor<8x8xf32>
  }
  func.func private @neg(%x: tensor<8x8xf32>, %o: tensor<8x8xf32>) -> tensor<8x8xf32> attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "8"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<8x8xf32>, i1, f32) -> f32
    %r = arith.negf %v : f32
    %out = "fuse.store"(%o, %r, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<8x8xf32>, f32, i1) -> tensor<8x8xf32>
    return %out : tensor<8x8xf32>
  }
  func.func private @mm(tensor<8x8xf32>, tensor<8x8xf32, #fuse.layout<"8,8", "1,8", "0", "">>) -> tensor<8x8xf32> attributes {fuse.extern = "aten.mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
}

// -----

// Beside a matrix product two kernels meet.
// CHECK-LABEL: func.func @main
// CHECK-COUNT-2: fuse.group = 0
// CHECK: return
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<8x8xf32>, %y: tensor<8x8xf32, #fuse.layout<"8,8", "1,8", "0", "">>) -> (tensor<8x8xf32>, tensor<8x8xf32>) {
    %p = call @mm(%x, %y) : (tensor<8x8xf32>, tensor<8x8xf32, #fuse.layout<"8,8", "1,8", "0", "">>) -> tensor<8x8xf32>
    %o = "fuse.empty"() {syms = []} : () -> tensor<8x8xf32>
    %a = call @exp(%x, %o) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    %q = "fuse.empty"() {syms = []} : () -> tensor<8x8xf32>
    %b = call @neg(%a, %q) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    return %p, %b : tensor<8x8xf32>, tensor<8x8xf32>
  }
  func.func private @exp(%x: tensor<8x8xf32>, %o: tensor<8x8xf32>) -> tensor<8x8xf32> attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "8"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<8x8xf32>, i1, f32) -> f32
    %r = math.exp %v : f32
    %out = "fuse.store"(%o, %r, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<8x8xf32>, f32, i1) -> tensor<8x8xf32>
    return %out : tensor<8x8xf32>
  }
  func.func private @neg(%x: tensor<8x8xf32>, %o: tensor<8x8xf32>) -> tensor<8x8xf32> attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "8"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<8x8xf32>, i1, f32) -> f32
    %r = arith.negf %v : f32
    %out = "fuse.store"(%o, %r, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<8x8xf32>, f32, i1) -> tensor<8x8xf32>
    return %out : tensor<8x8xf32>
  }
  func.func private @mm(tensor<8x8xf32>, tensor<8x8xf32, #fuse.layout<"8,8", "1,8", "0", "">>) -> tensor<8x8xf32> attributes {fuse.extern = "aten.mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
}

// -----

// Must not fire: the op is a user's own, and the remark says so.
// CHECK-LABEL: func.func @main
// CHECK-NOT: fuse.group
// CHECK: return
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
    %p = call @gate(%x) : (tensor<8x8xf32>) -> tensor<8x8xf32>
    %q = "fuse.empty"() {syms = []} : () -> tensor<8x8xf32>
    %b = call @neg(%p, %q) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    return %b : tensor<8x8xf32>
  }
  func.func private @neg(%x: tensor<8x8xf32>, %o: tensor<8x8xf32>) -> tensor<8x8xf32> attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "8"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<8x8xf32>, i1, f32) -> f32
    %r = arith.negf %v : f32
    %out = "fuse.store"(%o, %r, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<8x8xf32>, f32, i1) -> tensor<8x8xf32>
    return %out : tensor<8x8xf32>
  }
  func.func private @gate(tensor<8x8xf32>) -> tensor<8x8xf32> attributes {fuse.extern = "faults.gate.default", fuse.args = [#fuse.arg<0 : i64>], fuse.kwargs = {}}
}

// -----

// Must not fire: the op is one of torch's, of a namespace besides aten.
// CHECK-LABEL: func.func @main
// CHECK-NOT: fuse.group
// CHECK: return
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
    %p = call @wait(%x) : (tensor<8x8xf32>) -> tensor<8x8xf32>
    %q = "fuse.empty"() {syms = []} : () -> tensor<8x8xf32>
    %b = call @neg(%p, %q) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    return %b : tensor<8x8xf32>
  }
  func.func private @neg(%x: tensor<8x8xf32>, %o: tensor<8x8xf32>) -> tensor<8x8xf32> attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "8"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<8x8xf32>, i1, f32) -> f32
    %r = arith.negf %v : f32
    %out = "fuse.store"(%o, %r, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<8x8xf32>, f32, i1) -> tensor<8x8xf32>
    return %out : tensor<8x8xf32>
  }
  func.func private @wait(tensor<8x8xf32>) -> tensor<8x8xf32> attributes {fuse.extern = "_c10d_functional.wait_tensor.default", fuse.args = [#fuse.arg<0 : i64>], fuse.kwargs = {}}
}
