// RUN: fuse-opt %s --pass-pipeline="builtin.module(fold-views,fuse-horizontal)" --split-input-file | FileCheck %s
// RUN: fuse-opt %s --pass-pipeline="builtin.module(fold-views,fuse-horizontal)" --split-input-file --remarks=text -o %t 2>&1 | FileCheck %s --check-prefix=REMARK

// REMARK: missed: fuse-horizontal: memory, rise_bytes=4092, peak_bytes=8196, saved_bytes=4096, distance=11: exp_0 and neg_13 stay apart
// REMARK: passed: fuse-horizontal: fused

// Must not fire: Far apart: the result of the second would live through all that comes between, beside that of the first.
// CHECK-LABEL: func.func @main
// CHECK-NOT: fuse.group
// CHECK: return
module attributes {fuse.device = "cpu"} {
  func.func @main(%a0: tensor<1024xf32>) -> (tensor<1xf32>, tensor<1xf32>) {
    %o2 = "fuse.empty"() {syms = []} : () -> tensor<1024xf32>
    %t1 = call @exp_0(%a0, %o2) : (tensor<1024xf32>, tensor<1024xf32>) -> tensor<1024xf32>
    %e3 = call @extern(%t1) : (tensor<1024xf32>) -> tensor<1024xf32>
    %o6 = "fuse.empty"() {syms = []} : () -> tensor<1xf32>
    %t5 = call @sum_4(%e3, %o6) : (tensor<1024xf32>, tensor<1xf32>) -> tensor<1xf32>
    %e7 = call @extern_1(%t5) : (tensor<1xf32>) -> tensor<1xf32>
    %e8 = call @extern_1(%e7) : (tensor<1xf32>) -> tensor<1xf32>
    %e9 = call @extern_1(%e8) : (tensor<1xf32>) -> tensor<1xf32>
    %e10 = call @extern_1(%e9) : (tensor<1xf32>) -> tensor<1xf32>
    %e11 = call @extern_1(%e10) : (tensor<1xf32>) -> tensor<1xf32>
    %e12 = call @extern_1(%e11) : (tensor<1xf32>) -> tensor<1xf32>
    %o15 = "fuse.empty"() {syms = []} : () -> tensor<1024xf32>
    %t14 = call @neg_13(%a0, %o15) : (tensor<1024xf32>, tensor<1024xf32>) -> tensor<1024xf32>
    %e16 = call @extern(%t14) : (tensor<1024xf32>) -> tensor<1024xf32>
    %o19 = "fuse.empty"() {syms = []} : () -> tensor<1xf32>
    %t18 = call @sum_17(%e16, %o19) : (tensor<1024xf32>, tensor<1xf32>) -> tensor<1xf32>
    return %e12, %t18 : tensor<1xf32>, tensor<1xf32>
  }
  func.func private @exp_0(%x0: tensor<1024xf32>, %dest: tensor<1024xf32>) -> tensor<1024xf32> attributes {fuse.kernel, fuse.dims = {d0 = "1024"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v0 = "fuse.load"(%x0, %true, %zero) {at = ["d0"]} : (tensor<1024xf32>, i1, f32) -> f32
    %h = arith.constant 0.125 : f32
    %s = arith.mulf %v0, %h : f32
    %q = math.sin %s : f32
    %r = math.exp %q : f32
    %out = "fuse.store"(%dest, %r, %true) {at = ["d0"], mode = "set"} : (tensor<1024xf32>, f32, i1) -> tensor<1024xf32>
    return %out : tensor<1024xf32>
  }
  func.func private @sum_4(%x0: tensor<1024xf32>, %dest: tensor<1xf32>) -> tensor<1xf32> attributes {fuse.kernel, fuse.dims = {d0 = "1024"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v0 = "fuse.load"(%x0, %true, %zero) {at = ["d0"]} : (tensor<1024xf32>, i1, f32) -> f32
    %r = "fuse.reduce"(%v0) {kind = "sum", over = ["d0"]} : (f32) -> f32
    %out = "fuse.store"(%dest, %r, %true) {at = ["0"], mode = "set"} : (tensor<1xf32>, f32, i1) -> tensor<1xf32>
    return %out : tensor<1xf32>
  }
  func.func private @neg_13(%x0: tensor<1024xf32>, %dest: tensor<1024xf32>) -> tensor<1024xf32> attributes {fuse.kernel, fuse.dims = {d0 = "1024"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v0 = "fuse.load"(%x0, %true, %zero) {at = ["d0"]} : (tensor<1024xf32>, i1, f32) -> f32
    %r = arith.negf %v0 : f32
    %out = "fuse.store"(%dest, %r, %true) {at = ["d0"], mode = "set"} : (tensor<1024xf32>, f32, i1) -> tensor<1024xf32>
    return %out : tensor<1024xf32>
  }
  func.func private @sum_17(%x0: tensor<1024xf32>, %dest: tensor<1xf32>) -> tensor<1xf32> attributes {fuse.kernel, fuse.dims = {d0 = "1024"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v0 = "fuse.load"(%x0, %true, %zero) {at = ["d0"]} : (tensor<1024xf32>, i1, f32) -> f32
    %r = "fuse.reduce"(%v0) {kind = "sum", over = ["d0"]} : (f32) -> f32
    %out = "fuse.store"(%dest, %r, %true) {at = ["0"], mode = "set"} : (tensor<1xf32>, f32, i1) -> tensor<1xf32>
    return %out : tensor<1xf32>
  }
  func.func private @extern(tensor<1024xf32>) -> tensor<1024xf32> attributes {fuse.extern = "aten.neg.default", fuse.args = [#fuse.arg<0 : i64>], fuse.kwargs = {}}
  func.func private @extern_1(tensor<1xf32>) -> tensor<1xf32> attributes {fuse.extern = "aten.neg.default", fuse.args = [#fuse.arg<0 : i64>], fuse.kwargs = {}}
}

// -----

// The peak is elsewhere: three tensors live at the end anyway.
// CHECK-LABEL: func.func @main
// CHECK-COUNT-2: fuse.group = 0
// CHECK: return
module attributes {fuse.device = "cpu"} {
  func.func @main(%a0: tensor<1024xf32>) -> (tensor<1xf32>, tensor<1xf32>, tensor<1024xf32>, tensor<1024xf32>, tensor<1024xf32>) {
    %o2 = "fuse.empty"() {syms = []} : () -> tensor<1024xf32>
    %t1 = call @exp_0(%a0, %o2) : (tensor<1024xf32>, tensor<1024xf32>) -> tensor<1024xf32>
    %e3 = call @extern(%t1) : (tensor<1024xf32>) -> tensor<1024xf32>
    %o6 = "fuse.empty"() {syms = []} : () -> tensor<1xf32>
    %t5 = call @sum_4(%e3, %o6) : (tensor<1024xf32>, tensor<1xf32>) -> tensor<1xf32>
    %e7 = call @extern_1(%t5) : (tensor<1xf32>) -> tensor<1xf32>
    %e8 = call @extern_1(%e7) : (tensor<1xf32>) -> tensor<1xf32>
    %e9 = call @extern_1(%e8) : (tensor<1xf32>) -> tensor<1xf32>
    %e10 = call @extern_1(%e9) : (tensor<1xf32>) -> tensor<1xf32>
    %e11 = call @extern_1(%e10) : (tensor<1xf32>) -> tensor<1xf32>
    %e12 = call @extern_1(%e11) : (tensor<1xf32>) -> tensor<1xf32>
    %o15 = "fuse.empty"() {syms = []} : () -> tensor<1024xf32>
    %t14 = call @neg_13(%a0, %o15) : (tensor<1024xf32>, tensor<1024xf32>) -> tensor<1024xf32>
    %e16 = call @extern(%t14) : (tensor<1024xf32>) -> tensor<1024xf32>
    %o19 = "fuse.empty"() {syms = []} : () -> tensor<1xf32>
    %t18 = call @sum_17(%e16, %o19) : (tensor<1024xf32>, tensor<1xf32>) -> tensor<1xf32>
    %e20 = call @extern(%a0) : (tensor<1024xf32>) -> tensor<1024xf32>
    %e21 = call @extern(%a0) : (tensor<1024xf32>) -> tensor<1024xf32>
    %e22 = call @extern(%a0) : (tensor<1024xf32>) -> tensor<1024xf32>
    return %e12, %t18, %e20, %e21, %e22 : tensor<1xf32>, tensor<1xf32>, tensor<1024xf32>, tensor<1024xf32>, tensor<1024xf32>
  }
  func.func private @exp_0(%x0: tensor<1024xf32>, %dest: tensor<1024xf32>) -> tensor<1024xf32> attributes {fuse.kernel, fuse.dims = {d0 = "1024"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v0 = "fuse.load"(%x0, %true, %zero) {at = ["d0"]} : (tensor<1024xf32>, i1, f32) -> f32
    %h = arith.constant 0.125 : f32
    %s = arith.mulf %v0, %h : f32
    %q = math.sin %s : f32
    %r = math.exp %q : f32
    %out = "fuse.store"(%dest, %r, %true) {at = ["d0"], mode = "set"} : (tensor<1024xf32>, f32, i1) -> tensor<1024xf32>
    return %out : tensor<1024xf32>
  }
  func.func private @sum_4(%x0: tensor<1024xf32>, %dest: tensor<1xf32>) -> tensor<1xf32> attributes {fuse.kernel, fuse.dims = {d0 = "1024"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v0 = "fuse.load"(%x0, %true, %zero) {at = ["d0"]} : (tensor<1024xf32>, i1, f32) -> f32
    %r = "fuse.reduce"(%v0) {kind = "sum", over = ["d0"]} : (f32) -> f32
    %out = "fuse.store"(%dest, %r, %true) {at = ["0"], mode = "set"} : (tensor<1xf32>, f32, i1) -> tensor<1xf32>
    return %out : tensor<1xf32>
  }
  func.func private @neg_13(%x0: tensor<1024xf32>, %dest: tensor<1024xf32>) -> tensor<1024xf32> attributes {fuse.kernel, fuse.dims = {d0 = "1024"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v0 = "fuse.load"(%x0, %true, %zero) {at = ["d0"]} : (tensor<1024xf32>, i1, f32) -> f32
    %r = arith.negf %v0 : f32
    %out = "fuse.store"(%dest, %r, %true) {at = ["d0"], mode = "set"} : (tensor<1024xf32>, f32, i1) -> tensor<1024xf32>
    return %out : tensor<1024xf32>
  }
  func.func private @sum_17(%x0: tensor<1024xf32>, %dest: tensor<1xf32>) -> tensor<1xf32> attributes {fuse.kernel, fuse.dims = {d0 = "1024"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v0 = "fuse.load"(%x0, %true, %zero) {at = ["d0"]} : (tensor<1024xf32>, i1, f32) -> f32
    %r = "fuse.reduce"(%v0) {kind = "sum", over = ["d0"]} : (f32) -> f32
    %out = "fuse.store"(%dest, %r, %true) {at = ["0"], mode = "set"} : (tensor<1xf32>, f32, i1) -> tensor<1xf32>
    return %out : tensor<1xf32>
  }
  func.func private @extern(tensor<1024xf32>) -> tensor<1024xf32> attributes {fuse.extern = "aten.neg.default", fuse.args = [#fuse.arg<0 : i64>], fuse.kwargs = {}}
  func.func private @extern_1(tensor<1xf32>) -> tensor<1xf32> attributes {fuse.extern = "aten.neg.default", fuse.args = [#fuse.arg<0 : i64>], fuse.kwargs = {}}
}
