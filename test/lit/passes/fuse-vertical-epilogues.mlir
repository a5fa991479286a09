// What reads a product is computed in its kernel, where a program holds all columns that it needs.
// RUN: fuse-opt %s --pass-pipeline="builtin.module(choose-libraries{products=generated},fold-views,fuse-vertical,fuse-horizontal,materialize-fusion,eliminate-dead,expand-dots,simplify-dims)" --split-input-file --verify-diagnostics | FileCheck %s
// RUN: fuse-opt %s --pass-pipeline="builtin.module(choose-libraries{products=generated},fold-views,fuse-vertical,fuse-horizontal,materialize-fusion,eliminate-dead,expand-dots,simplify-dims)" --split-input-file --verify-diagnostics --remarks=text -o %t 2>&1 | FileCheck %s --check-prefix=REMARK

// Dropout, whose mask is a result, too.
// CHECK-LABEL: func.func @main
// CHECK: call @fused_mm_kernel_dropout_0(
// CHECK-NOT: call @
// CHECK: func.func private @fused_mm_kernel_dropout_0(
// CHECK: %[[S:.*]] = "fuse.dot"
// CHECK: "fuse.rand"
// CHECK: %[[KEPT:.*]] = arith.cmpf olt
// CHECK: arith.select %[[KEPT]]
// CHECK: "fuse.store"(%arg2,
// CHECK: "fuse.store"(%arg3, %[[KEPT]],
// CHECK-NOT: func.func
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<32x64xbf16>, %w: tensor<64x48xbf16>) -> (tensor<32x48xbf16>, tensor<32x48xi1>) {
    %z = call @mm(%x, %w) : (tensor<32x64xbf16>, tensor<64x48xbf16>) -> tensor<32x48xbf16>
    %rng:2 = "fuse.rng"() {count = 1 : i64, device = "cpu"} : () -> (i64, i64)
    %e1 = "fuse.empty"() {syms = []} : () -> tensor<32x48xbf16>
    %e2 = "fuse.empty"() {syms = []} : () -> tensor<32x48xi1>
    %dropout:2 = call @dropout(%z, %rng#0, %rng#1, %e1, %e2) : (tensor<32x48xbf16>, i64, i64, tensor<32x48xbf16>, tensor<32x48xi1>) -> (tensor<32x48xbf16>, tensor<32x48xi1>)
    return %dropout#0, %dropout#1 : tensor<32x48xbf16>, tensor<32x48xi1>
  }
  func.func private @mm(tensor<32x64xbf16>, tensor<64x48xbf16>) -> tensor<32x48xbf16> attributes {fuse.extern = "aten.mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
  func.func private @dropout(%z: tensor<32x48xbf16>, %seed: i64, %offset: i64, %o: tensor<32x48xbf16>, %m: tensor<32x48xi1>) -> (tensor<32x48xbf16>, tensor<32x48xi1>) attributes {fuse.kernel, fuse.dims = {d0 = "32", d1 = "48"}, fuse.ties = array<i64: 3, 4>} {
    %true = arith.constant true
    %zero_bf16 = arith.constant 0.0 : bf16
    %v = "fuse.load"(%z, %true, %zero_bf16) {at = ["d0", "d1"]} : (tensor<32x48xbf16>, i1, bf16) -> bf16
    %wide = arith.extf %v : bf16 to f32
    %n = "fuse.index"() {expr = "d0*48 + d1"} : () -> i64
    %u = "fuse.rand"(%seed, %offset, %n) {dist = "uniform"} : (i64, i64, i64) -> f32
    %half = arith.constant 0.5 : f32
    %kept = arith.cmpf olt, %u, %half : f32
    %none = arith.constant 0.0 : f32
    %two = arith.addf %wide, %wide : f32
    %d = arith.select %kept, %two, %none : f32
    %h = arith.truncf %d : f32 to bf16
    %o_new = "fuse.store"(%o, %h, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<32x48xbf16>, bf16, i1) -> tensor<32x48xbf16>
    %m_new = "fuse.store"(%m, %kept, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<32x48xi1>, i1, i1) -> tensor<32x48xi1>
    return %o_new, %m_new : tensor<32x48xbf16>, tensor<32x48xi1>
  }
}

// -----

// Must not fire: dropout of running sums; these are a kernel behind the product.
// CHECK-LABEL: func.func @main
// CHECK: call @mm_kernel(
// CHECK: call @fused_cumsum_dropout_0(
// CHECK-NOT: call @
// CHECK: return
// REMARK: missed: fuse-vertical: reduction-dims, {{.*}}: mm_kernel and cumsum stay apart: they reduce over different dims
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<32x64xbf16>, %w: tensor<64x48xbf16>) -> (tensor<32x48xbf16>, tensor<32x48xi1>) {
    %z = call @mm(%x, %w) : (tensor<32x64xbf16>, tensor<64x48xbf16>) -> tensor<32x48xbf16>
    %rng:2 = "fuse.rng"() {count = 1 : i64, device = "cpu"} : () -> (i64, i64)
    %e1 = "fuse.empty"() {syms = []} : () -> tensor<32x48xbf16>
    %c = call @cumsum(%z, %e1) : (tensor<32x48xbf16>, tensor<32x48xbf16>) -> tensor<32x48xbf16>
    %e2 = "fuse.empty"() {syms = []} : () -> tensor<32x48xbf16>
    %e3 = "fuse.empty"() {syms = []} : () -> tensor<32x48xi1>
    %dropout:2 = call @dropout(%c, %rng#0, %rng#1, %e2, %e3) : (tensor<32x48xbf16>, i64, i64, tensor<32x48xbf16>, tensor<32x48xi1>) -> (tensor<32x48xbf16>, tensor<32x48xi1>)
    return %dropout#0, %dropout#1 : tensor<32x48xbf16>, tensor<32x48xi1>
  }
  func.func private @mm(tensor<32x64xbf16>, tensor<64x48xbf16>) -> tensor<32x48xbf16> attributes {fuse.extern = "aten.mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
  func.func private @cumsum(%z: tensor<32x48xbf16>, %o: tensor<32x48xbf16>) -> tensor<32x48xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "32", d1 = "48"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero_bf16 = arith.constant 0.0 : bf16
    %v = "fuse.load"(%z, %true, %zero_bf16) {at = ["d0", "d1"]} : (tensor<32x48xbf16>, i1, bf16) -> bf16
    %wide = arith.extf %v : bf16 to f32
    %s = "fuse.scan"(%wide) {kind = "sum", over = "d1", reverse = false} : (f32) -> f32
    %h = arith.truncf %s : f32 to bf16
    %o_new = "fuse.store"(%o, %h, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<32x48xbf16>, bf16, i1) -> tensor<32x48xbf16>
    return %o_new : tensor<32x48xbf16>
  }
  func.func private @dropout(%z: tensor<32x48xbf16>, %seed: i64, %offset: i64, %o: tensor<32x48xbf16>, %m: tensor<32x48xi1>) -> (tensor<32x48xbf16>, tensor<32x48xi1>) attributes {fuse.kernel, fuse.dims = {d0 = "32", d1 = "48"}, fuse.ties = array<i64: 3, 4>} {
    %true = arith.constant true
    %zero_bf16 = arith.constant 0.0 : bf16
    %v = "fuse.load"(%z, %true, %zero_bf16) {at = ["d0", "d1"]} : (tensor<32x48xbf16>, i1, bf16) -> bf16
    %wide = arith.extf %v : bf16 to f32
    %n = "fuse.index"() {expr = "d0*48 + d1"} : () -> i64
    %u = "fuse.rand"(%seed, %offset, %n) {dist = "uniform"} : (i64, i64, i64) -> f32
    %half = arith.constant 0.5 : f32
    %kept = arith.cmpf olt, %u, %half : f32
    %none = arith.constant 0.0 : f32
    %two = arith.addf %wide, %wide : f32
    %d = arith.select %kept, %two, %none : f32
    %h = arith.truncf %d : f32 to bf16
    %o_new = "fuse.store"(%o, %h, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<32x48xbf16>, bf16, i1) -> tensor<32x48xbf16>
    %m_new = "fuse.store"(%m, %kept, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<32x48xi1>, i1, i1) -> tensor<32x48xi1>
    return %o_new, %m_new : tensor<32x48xbf16>, tensor<32x48xi1>
  }
}

// -----

// Rows in 8 bits: their largest elements, and what these scale.
// CHECK-LABEL: func.func @main
// CHECK: call @fused_mm_kernel_by_row_0(
// CHECK-NOT: call @
// CHECK: func.func private @fused_mm_kernel_by_row_0(
// CHECK: "fuse.dot"(%{{.*}}) {over = ["d2"]}
// CHECK: %[[M:.*]] = "fuse.reduce"(%{{.*}}) {kind = "max", over = ["d1"]}
// CHECK: %[[SCALE:.*]] = arith.divf %[[M]]
// CHECK: %[[R:.*]] = math.roundeven
// CHECK: %[[I:.*]] = arith.fptosi %[[R]]
// CHECK: "fuse.store"(%arg2, %[[I]],
// CHECK: "fuse.store"(%arg3, %[[SCALE]],
// CHECK-NOT: func.func
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<32x64xbf16>, %w: tensor<64x48xbf16>) -> (tensor<32x48xi8>, tensor<32xf32>) {
    %z = call @mm(%x, %w) : (tensor<32x64xbf16>, tensor<64x48xbf16>) -> tensor<32x48xbf16>
    %e1 = "fuse.empty"() {syms = []} : () -> tensor<32x48xi8>
    %e2 = "fuse.empty"() {syms = []} : () -> tensor<32xf32>
    %by_row:2 = call @by_row(%z, %e1, %e2) : (tensor<32x48xbf16>, tensor<32x48xi8>, tensor<32xf32>) -> (tensor<32x48xi8>, tensor<32xf32>)
    return %by_row#0, %by_row#1 : tensor<32x48xi8>, tensor<32xf32>
  }
  func.func private @mm(tensor<32x64xbf16>, tensor<64x48xbf16>) -> tensor<32x48xbf16> attributes {fuse.extern = "aten.mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
  func.func private @by_row(%z: tensor<32x48xbf16>, %q: tensor<32x48xi8>, %s: tensor<32xf32>) -> (tensor<32x48xi8>, tensor<32xf32>) attributes {fuse.kernel, fuse.dims = {d0 = "32", d1 = "48"}, fuse.ties = array<i64: 1, 2>} {
    %true = arith.constant true
    %zero_bf16 = arith.constant 0.0 : bf16
    %v = "fuse.load"(%z, %true, %zero_bf16) {at = ["d0", "d1"]} : (tensor<32x48xbf16>, i1, bf16) -> bf16
    %wide = arith.extf %v : bf16 to f32
    %a = math.absf %wide : f32
    %m = "fuse.reduce"(%a) {kind = "max", over = ["d1"]} : (f32) -> f32
    %most = arith.constant 127.0 : f32
    %scale = arith.divf %m, %most : f32
    %u = arith.divf %wide, %scale : f32
    %r = math.roundeven %u : f32
    %i = arith.fptosi %r : f32 to i8
    %q_new = "fuse.store"(%q, %i, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<32x48xi8>, i8, i1) -> tensor<32x48xi8>
    %s_new = "fuse.store"(%s, %scale, %true) {at = ["d0"], mode = "set"} : (tensor<32xf32>, f32, i1) -> tensor<32xf32>
    return %q_new, %s_new : tensor<32x48xi8>, tensor<32xf32>
  }
}

// -----

// Must not fire: a program cannot hold rows of 520 columns.
// CHECK-LABEL: func.func @main
// CHECK: call @mm_kernel(
// CHECK: call @by_row(
// CHECK-NOT: call @
// CHECK: return
// REMARK: missed: fuse-vertical: reduction-dims, {{.*}}: mm_kernel and by_row stay apart: they reduce over different dims
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<32x64xbf16>, %w: tensor<64x520xbf16>) -> (tensor<32x520xi8>, tensor<32xf32>) {
    %z = call @mm(%x, %w) : (tensor<32x64xbf16>, tensor<64x520xbf16>) -> tensor<32x520xbf16>
    %e1 = "fuse.empty"() {syms = []} : () -> tensor<32x520xi8>
    %e2 = "fuse.empty"() {syms = []} : () -> tensor<32xf32>
    %by_row:2 = call @by_row(%z, %e1, %e2) : (tensor<32x520xbf16>, tensor<32x520xi8>, tensor<32xf32>) -> (tensor<32x520xi8>, tensor<32xf32>)
    return %by_row#0, %by_row#1 : tensor<32x520xi8>, tensor<32xf32>
  }
  func.func private @mm(tensor<32x64xbf16>, tensor<64x520xbf16>) -> tensor<32x520xbf16> attributes {fuse.extern = "aten.mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
  func.func private @by_row(%z: tensor<32x520xbf16>, %q: tensor<32x520xi8>, %s: tensor<32xf32>) -> (tensor<32x520xi8>, tensor<32xf32>) attributes {fuse.kernel, fuse.dims = {d0 = "32", d1 = "520"}, fuse.ties = array<i64: 1, 2>} {
    %true = arith.constant true
    %zero_bf16 = arith.constant 0.0 : bf16
    %v = "fuse.load"(%z, %true, %zero_bf16) {at = ["d0", "d1"]} : (tensor<32x520xbf16>, i1, bf16) -> bf16
    %wide = arith.extf %v : bf16 to f32
    %a = math.absf %wide : f32
    %m = "fuse.reduce"(%a) {kind = "max", over = ["d1"]} : (f32) -> f32
    %most = arith.constant 127.0 : f32
    %scale = arith.divf %m, %most : f32
    %u = arith.divf %wide, %scale : f32
    %r = math.roundeven %u : f32
    %i = arith.fptosi %r : f32 to i8
    %q_new = "fuse.store"(%q, %i, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<32x520xi8>, i8, i1) -> tensor<32x520xi8>
    %s_new = "fuse.store"(%s, %scale, %true) {at = ["d0"], mode = "set"} : (tensor<32xf32>, f32, i1) -> tensor<32xf32>
    return %q_new, %s_new : tensor<32x520xi8>, tensor<32xf32>
  }
}

// -----

// Several results: the product, an activation of it, and the sums of its rows.
// CHECK-LABEL: func.func @main
// CHECK: call @fused_mm_kernel_silu_sums_0(
// CHECK-NOT: call @
// CHECK: func.func private @fused_mm_kernel_silu_sums_0(
// CHECK: %[[S:.*]] = "fuse.dot"
// CHECK: %[[Z:.*]] = arith.truncf %[[S]]
// CHECK: "fuse.store"(%arg2, %[[Z]],
// CHECK: math.exp
// CHECK: "fuse.store"(%arg3,
// CHECK: "fuse.reduce"(%{{.*}}) {kind = "sum", over = ["d1"]}
// CHECK: "fuse.store"(%arg4,
// CHECK-NOT: func.func
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<32x64xbf16>, %w: tensor<64x48xbf16>) -> (tensor<32x48xbf16>, tensor<32x48xbf16>, tensor<32xf32>) {
    %z = call @mm(%x, %w) : (tensor<32x64xbf16>, tensor<64x48xbf16>) -> tensor<32x48xbf16>
    %e1 = "fuse.empty"() {syms = []} : () -> tensor<32x48xbf16>
    %a = call @silu(%z, %e1) : (tensor<32x48xbf16>, tensor<32x48xbf16>) -> tensor<32x48xbf16>
    %e2 = "fuse.empty"() {syms = []} : () -> tensor<32xf32>
    %s = call @sums(%z, %e2) : (tensor<32x48xbf16>, tensor<32xf32>) -> tensor<32xf32>
    return %z, %a, %s : tensor<32x48xbf16>, tensor<32x48xbf16>, tensor<32xf32>
  }
  func.func private @mm(tensor<32x64xbf16>, tensor<64x48xbf16>) -> tensor<32x48xbf16> attributes {fuse.extern = "aten.mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
  func.func private @silu(%z: tensor<32x48xbf16>, %o: tensor<32x48xbf16>) -> tensor<32x48xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "32", d1 = "48"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero_bf16 = arith.constant 0.0 : bf16
    %v = "fuse.load"(%z, %true, %zero_bf16) {at = ["d0", "d1"]} : (tensor<32x48xbf16>, i1, bf16) -> bf16
    %wide = arith.extf %v : bf16 to f32
    %neg = arith.negf %wide : f32
    %e = math.exp %neg : f32
    %one = arith.constant 1.0 : f32
    %d = arith.addf %e, %one : f32
    %q = arith.divf %wide, %d : f32
    %h = arith.truncf %q : f32 to bf16
    %o_new = "fuse.store"(%o, %h, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<32x48xbf16>, bf16, i1) -> tensor<32x48xbf16>
    return %o_new : tensor<32x48xbf16>
  }
  func.func private @sums(%z: tensor<32x48xbf16>, %t: tensor<32xf32>) -> tensor<32xf32> attributes {fuse.kernel, fuse.dims = {d0 = "32", d1 = "48"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero_bf16 = arith.constant 0.0 : bf16
    %v = "fuse.load"(%z, %true, %zero_bf16) {at = ["d0", "d1"]} : (tensor<32x48xbf16>, i1, bf16) -> bf16
    %wide = arith.extf %v : bf16 to f32
    %s = "fuse.reduce"(%wide) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %t_new = "fuse.store"(%t, %s, %true) {at = ["d0"], mode = "set"} : (tensor<32xf32>, f32, i1) -> tensor<32xf32>
    return %t_new : tensor<32xf32>
  }
}

// -----

// Must not fire: an activation of the left half of the columns times the right half; a program has one block of columns.
// CHECK-LABEL: func.func @main
// CHECK: call @mm_kernel(
// CHECK: call @gate(
// CHECK-NOT: call @
// CHECK: return
// REMARK: missed: fuse-vertical: index-mismatch, {{.*}}: mm_kernel and gate stay apart: mm_kernel reduces, and its readers need it at other points than it computes
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<32x64xbf16>, %w: tensor<64x96xbf16>) -> (tensor<32x96xbf16>, tensor<32x48xbf16>) {
    %z = call @mm(%x, %w) : (tensor<32x64xbf16>, tensor<64x96xbf16>) -> tensor<32x96xbf16>
    %e1 = "fuse.empty"() {syms = []} : () -> tensor<32x48xbf16>
    %a = call @gate(%z, %e1) : (tensor<32x96xbf16>, tensor<32x48xbf16>) -> tensor<32x48xbf16>
    return %z, %a : tensor<32x96xbf16>, tensor<32x48xbf16>
  }
  func.func private @mm(tensor<32x64xbf16>, tensor<64x96xbf16>) -> tensor<32x96xbf16> attributes {fuse.extern = "aten.mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
  func.func private @gate(%z: tensor<32x96xbf16>, %o: tensor<32x48xbf16>) -> tensor<32x48xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "32", d1 = "48"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero_bf16 = arith.constant 0.0 : bf16
    %v = "fuse.load"(%z, %true, %zero_bf16) {at = ["d0", "d1"]} : (tensor<32x96xbf16>, i1, bf16) -> bf16
    %wide = arith.extf %v : bf16 to f32
    %neg = arith.negf %wide : f32
    %e = math.exp %neg : f32
    %one = arith.constant 1.0 : f32
    %d = arith.addf %e, %one : f32
    %q = arith.divf %wide, %d : f32
    %u = "fuse.load"(%z, %true, %zero_bf16) {at = ["d0", "d1 + 48"]} : (tensor<32x96xbf16>, i1, bf16) -> bf16
    %uw = arith.extf %u : bf16 to f32
    %g = arith.mulf %q, %uw : f32
    %h = arith.truncf %g : f32 to bf16
    %o_new = "fuse.store"(%o, %h, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<32x48xbf16>, bf16, i1) -> tensor<32x48xbf16>
    return %o_new : tensor<32x48xbf16>
  }
}

// -----

// A tensor of another rank, and one whose rows lie backwards, with gaps between their elements.
// CHECK-LABEL: func.func @main
// CHECK: call @fused_mm_kernel_add_0(
// CHECK-NOT: call @
// CHECK: func.func private @fused_mm_kernel_add_0(
// CHECK: %[[S:.*]] = "fuse.dot"
// CHECK: "fuse.load"(%arg2, %{{.*}}) {at = ["d0", "d1", "d2"]}
// CHECK: "fuse.load"(%arg3, %{{.*}}) {at = ["d1", "-d2 + 47"]}
// CHECK: "fuse.store"(%arg4, %{{.*}}) {at = ["d0*16 + d1", "d2"], mode = "set"}
// CHECK-NOT: func.func
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<32x64xbf16>, %w: tensor<64x48xbf16>, %r: tensor<2x16x48xbf16>, %s: tensor<16x48xbf16, #fuse.layout<"16,48", "96,2", "1", "">>) -> tensor<32x48xbf16> {
    %z = call @mm(%x, %w) : (tensor<32x64xbf16>, tensor<64x48xbf16>) -> tensor<32x48xbf16>
    %e1 = "fuse.empty"() {syms = []} : () -> tensor<32x48xbf16>
    %a = call @add(%z, %r, %s, %e1) : (tensor<32x48xbf16>, tensor<2x16x48xbf16>, tensor<16x48xbf16, #fuse.layout<"16,48", "96,2", "1", "">>, tensor<32x48xbf16>) -> tensor<32x48xbf16>
    return %a : tensor<32x48xbf16>
  }
  func.func private @mm(tensor<32x64xbf16>, tensor<64x48xbf16>) -> tensor<32x48xbf16> attributes {fuse.extern = "aten.mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
  func.func private @add(%z: tensor<32x48xbf16>, %r: tensor<2x16x48xbf16>, %s: tensor<16x48xbf16, #fuse.layout<"16,48", "96,2", "1", "">>, %o: tensor<32x48xbf16>) -> tensor<32x48xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "32", d1 = "48"}, fuse.ties = array<i64: 3>} {
    %true = arith.constant true
    %zero_bf16 = arith.constant 0.0 : bf16
    %v = "fuse.load"(%z, %true, %zero_bf16) {at = ["d0", "d1"]} : (tensor<32x48xbf16>, i1, bf16) -> bf16
    %u = "fuse.load"(%r, %true, %zero_bf16) {at = ["d0 floordiv 16", "d0 mod 16", "d1"]} : (tensor<2x16x48xbf16>, i1, bf16) -> bf16
    %k = "fuse.load"(%s, %true, %zero_bf16) {at = ["d0 mod 16", "47 - d1"]} : (tensor<16x48xbf16, #fuse.layout<"16,48", "96,2", "1", "">>, i1, bf16) -> bf16
    %wide = arith.extf %v : bf16 to f32
    %uw = arith.extf %u : bf16 to f32
    %kw = arith.extf %k : bf16 to f32
    %p = arith.mulf %uw, %kw : f32
    %g = arith.addf %wide, %p : f32
    %h = arith.truncf %g : f32 to bf16
    %o_new = "fuse.store"(%o, %h, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<32x48xbf16>, bf16, i1) -> tensor<32x48xbf16>
    return %o_new : tensor<32x48xbf16>
  }
}

// -----

// Must not fire: it is the product that is read backwards, too.
// CHECK-LABEL: func.func @main
// CHECK: call @mm_kernel(
// CHECK: call @rotate(
// CHECK-NOT: call @
// CHECK: return
// REMARK: missed: fuse-vertical: index-mismatch, {{.*}}: mm_kernel and rotate stay apart: mm_kernel reduces, and its readers need it at other points than it computes
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<32x64xbf16>, %w: tensor<64x48xbf16>, %r: tensor<32x48xbf16>) -> tensor<32x48xbf16> {
    %z = call @mm(%x, %w) : (tensor<32x64xbf16>, tensor<64x48xbf16>) -> tensor<32x48xbf16>
    %e1 = "fuse.empty"() {syms = []} : () -> tensor<32x48xbf16>
    %a = call @rotate(%z, %r, %e1) : (tensor<32x48xbf16>, tensor<32x48xbf16>, tensor<32x48xbf16>) -> tensor<32x48xbf16>
    return %a : tensor<32x48xbf16>
  }
  func.func private @mm(tensor<32x64xbf16>, tensor<64x48xbf16>) -> tensor<32x48xbf16> attributes {fuse.extern = "aten.mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
  func.func private @rotate(%z: tensor<32x48xbf16>, %r: tensor<32x48xbf16>, %o: tensor<32x48xbf16>) -> tensor<32x48xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "32", d1 = "48"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero_bf16 = arith.constant 0.0 : bf16
    %v = "fuse.load"(%z, %true, %zero_bf16) {at = ["d0", "d1"]} : (tensor<32x48xbf16>, i1, bf16) -> bf16
    %k = "fuse.load"(%z, %true, %zero_bf16) {at = ["d0", "47 - d1"]} : (tensor<32x48xbf16>, i1, bf16) -> bf16
    %u = "fuse.load"(%r, %true, %zero_bf16) {at = ["d0", "d1"]} : (tensor<32x48xbf16>, i1, bf16) -> bf16
    %wide = arith.extf %v : bf16 to f32
    %uw = arith.extf %u : bf16 to f32
    %kw = arith.extf %k : bf16 to f32
    %p = arith.mulf %uw, %kw : f32
    %g = arith.addf %wide, %p : f32
    %h = arith.truncf %g : f32 to bf16
    %o_new = "fuse.store"(%o, %h, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<32x48xbf16>, bf16, i1) -> tensor<32x48xbf16>
    return %o_new : tensor<32x48xbf16>
  }
}

// -----

// Bad input: a bias of one column less than the product has.
module attributes {fuse.device = "cpu"} {
  func.func @main(%b: tensor<47xbf16>, %x: tensor<32x64xbf16>, %w: tensor<64x48xbf16>) -> tensor<32x48xbf16> {
    // expected-error @+1 {{choose-libraries: expected what is added to broadcast to the result, got 47}}
    %y = call @addmm(%b, %x, %w) : (tensor<47xbf16>, tensor<32x64xbf16>, tensor<64x48xbf16>) -> tensor<32x48xbf16>
    return %y : tensor<32x48xbf16>
  }
  func.func private @addmm(tensor<47xbf16>, tensor<32x64xbf16>, tensor<64x48xbf16>) -> tensor<32x48xbf16> attributes {fuse.extern = "aten.addmm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>, #fuse.arg<2 : i64>], fuse.kwargs = {}}
}
