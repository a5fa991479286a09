// What makes a factor of a product is computed in the kernel of the product, where no block of columns computes a reduction again.
// RUN: fuse-opt %s --pass-pipeline="builtin.module(choose-libraries{products=generated},fold-views,fuse-vertical,fuse-horizontal,materialize-fusion,eliminate-dead,expand-dots,simplify-dims)" --split-input-file --verify-diagnostics | FileCheck %s
// RUN: fuse-opt %s --pass-pipeline="builtin.module(choose-libraries{products=generated},fold-views,fuse-vertical,fuse-horizontal,materialize-fusion,eliminate-dead,expand-dots,simplify-dims)" --split-input-file --verify-diagnostics --remarks=text -o %t 2>&1 | FileCheck %s --check-prefix=REMARK

// Rows of a table.
// CHECK-LABEL: func.func @main
// CHECK: call @fused_embedding_mm_kernel_0(
// CHECK-NOT: call @
// CHECK: func.func private @fused_embedding_mm_kernel_0(
// CHECK: %[[ROW:.*]] = "fuse.load"(%arg1, %{{.*}}) {at = ["d0"]}
// CHECK: %[[A:.*]] = "fuse.load"(%arg0, %{{.*}}, %[[ROW]]) {at = ["i0", "d2"]}
// CHECK: "fuse.dot"(%[[A]], %{{.*}}) {over = ["d2"]}
// CHECK-NOT: func.func
module attributes {fuse.device = "cpu"} {
  func.func @main(%t: tensor<100x64xbf16>, %i: tensor<32xi64>, %w: tensor<64x48xbf16>) -> tensor<32x48xbf16> {
    %e1 = "fuse.empty"() {syms = []} : () -> tensor<32x64xbf16>
    %x = call @embedding(%t, %i, %e1) : (tensor<100x64xbf16>, tensor<32xi64>, tensor<32x64xbf16>) -> tensor<32x64xbf16>
    %y = call @mm(%x, %w) : (tensor<32x64xbf16>, tensor<64x48xbf16>) -> tensor<32x48xbf16>
    return %y : tensor<32x48xbf16>
  }
  func.func private @embedding(%t: tensor<100x64xbf16>, %i: tensor<32xi64>, %o: tensor<32x64xbf16>) -> tensor<32x64xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "32", d1 = "64"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero_i64 = arith.constant 0 : i64
    %row = "fuse.load"(%i, %true, %zero_i64) {at = ["d0"]} : (tensor<32xi64>, i1, i64) -> i64
    %zero_bf16 = arith.constant 0.0 : bf16
    %v = "fuse.load"(%t, %true, %zero_bf16, %row) {at = ["i0", "d1"]} : (tensor<100x64xbf16>, i1, bf16, i64) -> bf16
    %o_new = "fuse.store"(%o, %v, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<32x64xbf16>, bf16, i1) -> tensor<32x64xbf16>
    return %o_new : tensor<32x64xbf16>
  }
  func.func private @mm(tensor<32x64xbf16>, tensor<64x48xbf16>) -> tensor<32x48xbf16> attributes {fuse.extern = "aten.mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
}

// -----

// Must not fire: each row is a sum of rows of a table, and each block of columns would compute it again.
// CHECK-LABEL: func.func @main
// CHECK: call @embedding(
// CHECK: call @mm_kernel(
// CHECK-NOT: call @
// CHECK: return
// REMARK: missed: fuse-vertical: reduction-dims, {{.*}}: embedding and mm_kernel stay apart: they reduce over different dims
module attributes {fuse.device = "cpu"} {
  func.func @main(%t: tensor<100x64xbf16>, %i: tensor<32x40xi64>, %w: tensor<64x48xbf16>) -> tensor<32x48xbf16> {
    %e1 = "fuse.empty"() {syms = []} : () -> tensor<32x64xbf16>
    %x = call @embedding(%t, %i, %e1) : (tensor<100x64xbf16>, tensor<32x40xi64>, tensor<32x64xbf16>) -> tensor<32x64xbf16>
    %y = call @mm(%x, %w) : (tensor<32x64xbf16>, tensor<64x48xbf16>) -> tensor<32x48xbf16>
    return %y : tensor<32x48xbf16>
  }
  func.func private @embedding(%t: tensor<100x64xbf16>, %i: tensor<32x40xi64>, %o: tensor<32x64xbf16>) -> tensor<32x64xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "32", d1 = "64", d2 = "40"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero_i64 = arith.constant 0 : i64
    %row = "fuse.load"(%i, %true, %zero_i64) {at = ["d0", "d2"]} : (tensor<32x40xi64>, i1, i64) -> i64
    %zero_bf16 = arith.constant 0.0 : bf16
    %v = "fuse.load"(%t, %true, %zero_bf16, %row) {at = ["i0", "d1"]} : (tensor<100x64xbf16>, i1, bf16, i64) -> bf16
    %wide = arith.extf %v : bf16 to f32
    %s = "fuse.reduce"(%wide) {kind = "sum", over = ["d2"]} : (f32) -> f32
    %h = arith.truncf %s : f32 to bf16
    %o_new = "fuse.store"(%o, %h, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<32x64xbf16>, bf16, i1) -> tensor<32x64xbf16>
    return %o_new : tensor<32x64xbf16>
  }
  func.func private @mm(tensor<32x64xbf16>, tensor<64x48xbf16>) -> tensor<32x48xbf16> attributes {fuse.extern = "aten.mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
}

// -----

// The columns of two tensors, the first of which has an odd number.
// CHECK-LABEL: func.func @main
// CHECK: call @fused_cat_mm_kernel_0(
// CHECK-NOT: call @
// CHECK: func.func private @fused_cat_mm_kernel_0(
// CHECK: %[[A:.*]] = "fuse.load"(%arg0, %[[LEFT:.*]], %{{.*}}) {at = ["d0", "d2"]}
// CHECK: %[[B:.*]] = "fuse.load"(%arg1, %{{.*}}) {at = ["d0", "d2 - 25"]}
// CHECK: %[[V:.*]] = arith.select %{{.*}}, %[[A]], %[[B]]
// CHECK: "fuse.dot"(%[[V]], %{{.*}}) {over = ["d2"]}
// CHECK-NOT: func.func
module attributes {fuse.device = "cpu"} {
  func.func @main(%a: tensor<32x25xbf16>, %b: tensor<32x39xbf16>, %w: tensor<64x48xbf16>) -> tensor<32x48xbf16> {
    %e1 = "fuse.empty"() {syms = []} : () -> tensor<32x64xbf16>
    %x = call @cat(%a, %b, %e1) : (tensor<32x25xbf16>, tensor<32x39xbf16>, tensor<32x64xbf16>) -> tensor<32x64xbf16>
    %y = call @mm(%x, %w) : (tensor<32x64xbf16>, tensor<64x48xbf16>) -> tensor<32x48xbf16>
    return %y : tensor<32x48xbf16>
  }
  func.func private @cat(%a: tensor<32x25xbf16>, %b: tensor<32x39xbf16>, %o: tensor<32x64xbf16>) -> tensor<32x64xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "32", d1 = "64"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %c = "fuse.index"() {expr = "d1 - 25"} : () -> i64
    %none = arith.constant 0 : i64
    %left = arith.cmpi slt, %c, %none : i64
    %right = arith.cmpi sge, %c, %none : i64
    %zero_bf16 = arith.constant 0.0 : bf16
    %av = "fuse.load"(%a, %left, %zero_bf16) {at = ["d0", "d1"]} : (tensor<32x25xbf16>, i1, bf16) -> bf16
    %bv = "fuse.load"(%b, %right, %zero_bf16) {at = ["d0", "d1 - 25"]} : (tensor<32x39xbf16>, i1, bf16) -> bf16
    %v = arith.select %left, %av, %bv : bf16
    %o_new = "fuse.store"(%o, %v, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<32x64xbf16>, bf16, i1) -> tensor<32x64xbf16>
    return %o_new : tensor<32x64xbf16>
  }
  func.func private @mm(tensor<32x64xbf16>, tensor<64x48xbf16>) -> tensor<32x48xbf16> attributes {fuse.extern = "aten.mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
}

// -----

// Must not fire: a softmax is computed at the columns of its tensor, and read at those behind the other one.
// CHECK-LABEL: func.func @main
// CHECK: call @softmax(
// CHECK: call @fused_cat_mm_kernel_0(
// CHECK-NOT: call @
// CHECK: return
// REMARK: missed: fuse-vertical: index-mismatch, {{.*}}: softmax and cat stay apart: softmax reduces, and its readers need it at other points than it computes
module attributes {fuse.device = "cpu"} {
  func.func @main(%a: tensor<32x25xbf16>, %b: tensor<32x39xbf16>, %w: tensor<64x48xbf16>) -> tensor<32x48xbf16> {
    %e1 = "fuse.empty"() {syms = []} : () -> tensor<32x39xbf16>
    %s = call @softmax(%b, %e1) : (tensor<32x39xbf16>, tensor<32x39xbf16>) -> tensor<32x39xbf16>
    %e2 = "fuse.empty"() {syms = []} : () -> tensor<32x64xbf16>
    %x = call @cat(%a, %s, %e2) : (tensor<32x25xbf16>, tensor<32x39xbf16>, tensor<32x64xbf16>) -> tensor<32x64xbf16>
    %y = call @mm(%x, %w) : (tensor<32x64xbf16>, tensor<64x48xbf16>) -> tensor<32x48xbf16>
    return %y : tensor<32x48xbf16>
  }
  func.func private @softmax(%b: tensor<32x39xbf16>, %p: tensor<32x39xbf16>) -> tensor<32x39xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "32", d1 = "39"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero_bf16 = arith.constant 0.0 : bf16
    %v = "fuse.load"(%b, %true, %zero_bf16) {at = ["d0", "d1"]} : (tensor<32x39xbf16>, i1, bf16) -> bf16
    %wide = arith.extf %v : bf16 to f32
    %m = "fuse.reduce"(%wide) {kind = "max", over = ["d1"]} : (f32) -> f32
    %c = arith.subf %wide, %m : f32
    %e = math.exp %c : f32
    %s = "fuse.reduce"(%e) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %q = arith.divf %e, %s : f32
    %h = arith.truncf %q : f32 to bf16
    %p_new = "fuse.store"(%p, %h, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<32x39xbf16>, bf16, i1) -> tensor<32x39xbf16>
    return %p_new : tensor<32x39xbf16>
  }
  func.func private @cat(%a: tensor<32x25xbf16>, %b: tensor<32x39xbf16>, %o: tensor<32x64xbf16>) -> tensor<32x64xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "32", d1 = "64"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %c = "fuse.index"() {expr = "d1 - 25"} : () -> i64
    %none = arith.constant 0 : i64
    %left = arith.cmpi slt, %c, %none : i64
    %right = arith.cmpi sge, %c, %none : i64
    %zero_bf16 = arith.constant 0.0 : bf16
    %av = "fuse.load"(%a, %left, %zero_bf16) {at = ["d0", "d1"]} : (tensor<32x25xbf16>, i1, bf16) -> bf16
    %bv = "fuse.load"(%b, %right, %zero_bf16) {at = ["d0", "d1 - 25"]} : (tensor<32x39xbf16>, i1, bf16) -> bf16
    %v = arith.select %left, %av, %bv : bf16
    %o_new = "fuse.store"(%o, %v, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<32x64xbf16>, bf16, i1) -> tensor<32x64xbf16>
    return %o_new : tensor<32x64xbf16>
  }
  func.func private @mm(tensor<32x64xbf16>, tensor<64x48xbf16>) -> tensor<32x48xbf16> attributes {fuse.extern = "aten.mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
}

// -----

// SiLU.
// CHECK-LABEL: func.func @main
// CHECK: call @fused_silu_mm_kernel_0(
// CHECK-NOT: call @
// CHECK: func.func private @fused_silu_mm_kernel_0(
// CHECK: math.exp
// CHECK: %[[Q:.*]] = arith.divf
// CHECK: %[[A:.*]] = arith.truncf %[[Q]]
// CHECK: "fuse.dot"(%[[A]], %{{.*}}) {over = ["d2"]}
// CHECK-NOT: func.func
module attributes {fuse.device = "cpu"} {
  func.func @main(%a: tensor<32x64xbf16>, %w: tensor<64x48xbf16>) -> tensor<32x48xbf16> {
    %e1 = "fuse.empty"() {syms = []} : () -> tensor<32x64xbf16>
    %x = call @silu(%a, %e1) : (tensor<32x64xbf16>, tensor<32x64xbf16>) -> tensor<32x64xbf16>
    %y = call @mm(%x, %w) : (tensor<32x64xbf16>, tensor<64x48xbf16>) -> tensor<32x48xbf16>
    return %y : tensor<32x48xbf16>
  }
  func.func private @silu(%a: tensor<32x64xbf16>, %o: tensor<32x64xbf16>) -> tensor<32x64xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "32", d1 = "64"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero_bf16 = arith.constant 0.0 : bf16
    %v = "fuse.load"(%a, %true, %zero_bf16) {at = ["d0", "d1"]} : (tensor<32x64xbf16>, i1, bf16) -> bf16
    %wide = arith.extf %v : bf16 to f32
    %neg = arith.negf %wide : f32
    %e = math.exp %neg : f32
    %one = arith.constant 1.0 : f32
    %d = arith.addf %e, %one : f32
    %q = arith.divf %wide, %d : f32
    %h = arith.truncf %q : f32 to bf16
    %o_new = "fuse.store"(%o, %h, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<32x64xbf16>, bf16, i1) -> tensor<32x64xbf16>
    return %o_new : tensor<32x64xbf16>
  }
  func.func private @mm(tensor<32x64xbf16>, tensor<64x48xbf16>) -> tensor<32x48xbf16> attributes {fuse.extern = "aten.mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
}

// -----

// Must not fire: SiLU of sums, which each block of columns would compute again.
// CHECK-LABEL: func.func @main
// CHECK: call @silu(
// CHECK: call @mm_kernel(
// CHECK-NOT: call @
// CHECK: return
// REMARK: missed: fuse-vertical: reduction-dims, {{.*}}: silu and mm_kernel stay apart: they reduce over different dims
module attributes {fuse.device = "cpu"} {
  func.func @main(%a: tensor<32x64x40xbf16>, %w: tensor<64x48xbf16>) -> tensor<32x48xbf16> {
    %e1 = "fuse.empty"() {syms = []} : () -> tensor<32x64xbf16>
    %x = call @silu(%a, %e1) : (tensor<32x64x40xbf16>, tensor<32x64xbf16>) -> tensor<32x64xbf16>
    %y = call @mm(%x, %w) : (tensor<32x64xbf16>, tensor<64x48xbf16>) -> tensor<32x48xbf16>
    return %y : tensor<32x48xbf16>
  }
  func.func private @silu(%a: tensor<32x64x40xbf16>, %o: tensor<32x64xbf16>) -> tensor<32x64xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "32", d1 = "64", d2 = "40"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero_bf16 = arith.constant 0.0 : bf16
    %v = "fuse.load"(%a, %true, %zero_bf16) {at = ["d0", "d1", "d2"]} : (tensor<32x64x40xbf16>, i1, bf16) -> bf16
    %wider = arith.extf %v : bf16 to f32
    %wide = "fuse.reduce"(%wider) {kind = "sum", over = ["d2"]} : (f32) -> f32
    %neg = arith.negf %wide : f32
    %e = math.exp %neg : f32
    %one = arith.constant 1.0 : f32
    %d = arith.addf %e, %one : f32
    %q = arith.divf %wide, %d : f32
    %h = arith.truncf %q : f32 to bf16
    %o_new = "fuse.store"(%o, %h, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<32x64xbf16>, bf16, i1) -> tensor<32x64xbf16>
    return %o_new : tensor<32x64xbf16>
  }
  func.func private @mm(tensor<32x64xbf16>, tensor<64x48xbf16>) -> tensor<32x48xbf16> attributes {fuse.extern = "aten.mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
}

// -----

// An RMS norm whose mean squares are there.
// CHECK-LABEL: func.func @main
// CHECK: call @fused_normalize_mm_kernel_0(
// CHECK-NOT: call @
// CHECK: func.func private @fused_normalize_mm_kernel_0(
// CHECK: %[[R:.*]] = math.rsqrt
// CHECK: %[[Q:.*]] = arith.mulf %{{.*}}, %[[R]]
// CHECK: %[[A:.*]] = arith.truncf %[[Q]]
// CHECK: "fuse.dot"(%[[A]], %{{.*}}) {over = ["d2"]}
// CHECK-NOT: func.func
module attributes {fuse.device = "cpu"} {
  func.func @main(%a: tensor<32x64xbf16>, %r: tensor<32xf32>, %w: tensor<64x48xbf16>) -> tensor<32x48xbf16> {
    %e1 = "fuse.empty"() {syms = []} : () -> tensor<32x64xbf16>
    %x = call @normalize(%a, %r, %e1) : (tensor<32x64xbf16>, tensor<32xf32>, tensor<32x64xbf16>) -> tensor<32x64xbf16>
    %y = call @mm(%x, %w) : (tensor<32x64xbf16>, tensor<64x48xbf16>) -> tensor<32x48xbf16>
    return %y : tensor<32x48xbf16>
  }
  func.func private @normalize(%a: tensor<32x64xbf16>, %r: tensor<32xf32>, %o: tensor<32x64xbf16>) -> tensor<32x64xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "32", d1 = "64"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero_bf16 = arith.constant 0.0 : bf16
    %v = "fuse.load"(%a, %true, %zero_bf16) {at = ["d0", "d1"]} : (tensor<32x64xbf16>, i1, bf16) -> bf16
    %wide = arith.extf %v : bf16 to f32
    %zero_f32 = arith.constant 0.0 : f32
    %ms = "fuse.load"(%r, %true, %zero_f32) {at = ["d0"]} : (tensor<32xf32>, i1, f32) -> f32
    %eps = arith.constant 1.0e-05 : f32
    %me = arith.addf %ms, %eps : f32
    %rs = math.rsqrt %me : f32
    %nv = arith.mulf %wide, %rs : f32
    %h = arith.truncf %nv : f32 to bf16
    %o_new = "fuse.store"(%o, %h, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<32x64xbf16>, bf16, i1) -> tensor<32x64xbf16>
    return %o_new : tensor<32x64xbf16>
  }
  func.func private @mm(tensor<32x64xbf16>, tensor<64x48xbf16>) -> tensor<32x48xbf16> attributes {fuse.extern = "aten.mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
}

// -----

// Must not fire: an RMS norm, whose mean squares each block of columns would compute again.
// CHECK-LABEL: func.func @main
// CHECK: call @norm(
// CHECK: call @mm_kernel(
// CHECK-NOT: call @
// CHECK: return
// REMARK: missed: fuse-vertical: lost-parallelism, {{.*}}: norm and mm_kernel stay apart: the reduction of norm would run again at each point of other dims
module attributes {fuse.device = "cpu"} {
  func.func @main(%a: tensor<32x64xbf16>, %w: tensor<64x48xbf16>) -> tensor<32x48xbf16> {
    %e1 = "fuse.empty"() {syms = []} : () -> tensor<32x64xbf16>
    %x = call @norm(%a, %e1) : (tensor<32x64xbf16>, tensor<32x64xbf16>) -> tensor<32x64xbf16>
    %y = call @mm(%x, %w) : (tensor<32x64xbf16>, tensor<64x48xbf16>) -> tensor<32x48xbf16>
    return %y : tensor<32x48xbf16>
  }
  func.func private @norm(%a: tensor<32x64xbf16>, %o: tensor<32x64xbf16>) -> tensor<32x64xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "32", d1 = "64"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero_bf16 = arith.constant 0.0 : bf16
    %v = "fuse.load"(%a, %true, %zero_bf16) {at = ["d0", "d1"]} : (tensor<32x64xbf16>, i1, bf16) -> bf16
    %wide = arith.extf %v : bf16 to f32
    %sq = arith.mulf %wide, %wide : f32
    %s = "fuse.reduce"(%sq) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %n = arith.constant 64.0 : f32
    %mean = arith.divf %s, %n : f32
    %eps = arith.constant 1.0e-05 : f32
    %me = arith.addf %mean, %eps : f32
    %r = math.rsqrt %me : f32
    %nv = arith.mulf %wide, %r : f32
    %h = arith.truncf %nv : f32 to bf16
    %o_new = "fuse.store"(%o, %h, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<32x64xbf16>, bf16, i1) -> tensor<32x64xbf16>
    return %o_new : tensor<32x64xbf16>
  }
  func.func private @mm(tensor<32x64xbf16>, tensor<64x48xbf16>) -> tensor<32x48xbf16> attributes {fuse.extern = "aten.mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
}

// -----

// Bad input: the product sums one column less than the two tensors have.
module attributes {fuse.device = "cpu"} {
  func.func @main(%a: tensor<32x25xbf16>, %b: tensor<32x39xbf16>, %w: tensor<63x48xbf16>) -> tensor<32x48xbf16> {
    %e1 = "fuse.empty"() {syms = []} : () -> tensor<32x64xbf16>
    %x = call @cat(%a, %b, %e1) : (tensor<32x25xbf16>, tensor<32x39xbf16>, tensor<32x64xbf16>) -> tensor<32x64xbf16>
    // expected-error @+1 {{choose-libraries: expected m x k times k x n to be m x n, got 32 x 64 times 63 x 48 to be 32 x 48}}
    %y = call @mm(%x, %w) : (tensor<32x64xbf16>, tensor<63x48xbf16>) -> tensor<32x48xbf16>
    return %y : tensor<32x48xbf16>
  }
  func.func private @cat(%a: tensor<32x25xbf16>, %b: tensor<32x39xbf16>, %o: tensor<32x64xbf16>) -> tensor<32x64xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "32", d1 = "64"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %c = "fuse.index"() {expr = "d1 - 25"} : () -> i64
    %none = arith.constant 0 : i64
    %left = arith.cmpi slt, %c, %none : i64
    %right = arith.cmpi sge, %c, %none : i64
    %zero_bf16 = arith.constant 0.0 : bf16
    %av = "fuse.load"(%a, %left, %zero_bf16) {at = ["d0", "d1"]} : (tensor<32x25xbf16>, i1, bf16) -> bf16
    %bv = "fuse.load"(%b, %right, %zero_bf16) {at = ["d0", "d1 - 25"]} : (tensor<32x39xbf16>, i1, bf16) -> bf16
    %v = arith.select %left, %av, %bv : bf16
    %o_new = "fuse.store"(%o, %v, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<32x64xbf16>, bf16, i1) -> tensor<32x64xbf16>
    return %o_new : tensor<32x64xbf16>
  }
  func.func private @mm(tensor<32x64xbf16>, tensor<63x48xbf16>) -> tensor<32x48xbf16> attributes {fuse.extern = "aten.mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
}
