// RUN: fuse-opt %s --pass-pipeline="builtin.module(concat-products-in-place,concat-products-in-place)" --split-input-file | FileCheck %s
// RUN: fuse-opt %s --pass-pipeline="builtin.module(concat-products-in-place)" --split-input-file --remarks=text 2>&1 >/dev/null | FileCheck %s --check-prefix=SAID
// RUN: fuse-opt %s --pass-pipeline="builtin.module(concat-products-in-place{where=nowhere})" --split-input-file | FileCheck %s --check-prefix=NOWHERE
// RUN: not fuse-opt %s --pass-pipeline="builtin.module(concat-products-in-place{where=here})" --split-input-file 2>&1 | FileCheck %s --check-prefix=BAD
// BAD: error: option 'where' of pass 'concat-products-in-place' takes gpu or everywhere or nowhere, got 'here'

// Two products beside each other: both run where the second one did, and the result is their buffer.
// CHECK-LABEL: func.func @main
// CHECK: %[[C:.*]] = "fuse.empty"() {syms = []} : () -> tensor<64x96xbf16>
// CHECK-NEXT: %[[P:.*]] = "fuse.view"(%[[C]]) {map = ["v0", "v1"], syms = []} : (tensor<64x96xbf16>) -> tensor<64x32xbf16, #fuse.layout<"64,32", "96,1", "0", "">>
// CHECK-NEXT: call @mm_out(%arg0, %arg1, %[[P]])
// CHECK-NEXT: %[[Q:.*]] = "fuse.view"(%[[C]]) {map = ["v0", "v1 + 32"], syms = []} : (tensor<64x96xbf16>) -> tensor<64x64xbf16, #fuse.layout<"64,64", "96,1", "32", "">>
// CHECK-NEXT: call @mm_out_1(%arg0, %arg2, %[[Q]])
// CHECK-NEXT: return %[[C]]
// CHECK: func.func private @mm_out({{.*}} attributes {fuse.aliases = {"0" = 2 : i64}, fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.extern = "aten.mm.out", fuse.kwargs = {out = #fuse.arg<2 : i64>}, fuse.mutated = array<i64: 2>}
// CHECK-NOT: @cat
// SAID: passed: concat-products-in-place: written: @mm, @mm_1 are written where their concatenation has them [mm + mm_1]
// NOWHERE-LABEL: func.func @main
// NOWHERE: call @cat
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<64x32xbf16>, %v: tensor<32x32xbf16>, %w: tensor<32x64xbf16>) -> tensor<64x96xbf16> {
    %a = call @mm(%x, %v) : (tensor<64x32xbf16>, tensor<32x32xbf16>) -> tensor<64x32xbf16>
    %b = call @mm_1(%x, %w) : (tensor<64x32xbf16>, tensor<32x64xbf16>) -> tensor<64x64xbf16>
    %e = "fuse.empty"() {syms = []} : () -> tensor<64x96xbf16>
    %c = call @cat(%a, %b, %e) : (tensor<64x32xbf16>, tensor<64x64xbf16>, tensor<64x96xbf16>) -> tensor<64x96xbf16>
    return %c : tensor<64x96xbf16>
  }
  func.func private @mm(tensor<64x32xbf16>, tensor<32x32xbf16>) -> tensor<64x32xbf16> attributes {fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.extern = "aten.mm.default", fuse.kwargs = {}}
  func.func private @mm_1(tensor<64x32xbf16>, tensor<32x64xbf16>) -> tensor<64x64xbf16> attributes {fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.extern = "aten.mm.default", fuse.kwargs = {}}
  func.func private @cat(%x: tensor<64x32xbf16>, %y: tensor<64x64xbf16>, %o: tensor<64x96xbf16>) -> tensor<64x96xbf16> attributes {fuse.dims = {d0 = "64", d1 = "96"}, fuse.kernel, fuse.ties = array<i64: 2>} {
    %i = "fuse.index"() {expr = "d1 - 32"} : () -> i64
    %zero = arith.constant 0 : i64
    %below = arith.cmpi slt, %i, %zero : i64
    %cst = arith.constant 0.0 : bf16
    %l = "fuse.load"(%x, %below, %cst) {at = ["d0", "d1"]} : (tensor<64x32xbf16>, i1, bf16) -> bf16
    %above = arith.cmpi sge, %i, %zero : i64
    %r = "fuse.load"(%y, %above, %cst) {at = ["d0", "d1 - 32"]} : (tensor<64x64xbf16>, i1, bf16) -> bf16
    %s = arith.select %below, %l, %r : bf16
    %true = arith.constant true
    %t = "fuse.store"(%o, %s, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<64x96xbf16>, bf16, i1) -> tensor<64x96xbf16>
    return %t : tensor<64x96xbf16>
  }
}

// -----

// Must not fire: the kernel reads the second product one column further on.
// CHECK-LABEL: func.func @main
// CHECK: call @shifted
// CHECK-NOT: aten.mm.out
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<64x32xbf16>, %v: tensor<32x32xbf16>, %w: tensor<32x64xbf16>) -> tensor<64x96xbf16> {
    %a = call @mm(%x, %v) : (tensor<64x32xbf16>, tensor<32x32xbf16>) -> tensor<64x32xbf16>
    %b = call @mm_1(%x, %w) : (tensor<64x32xbf16>, tensor<32x64xbf16>) -> tensor<64x64xbf16>
    %e = "fuse.empty"() {syms = []} : () -> tensor<64x96xbf16>
    %c = call @shifted(%a, %b, %e) : (tensor<64x32xbf16>, tensor<64x64xbf16>, tensor<64x96xbf16>) -> tensor<64x96xbf16>
    return %c : tensor<64x96xbf16>
  }
  func.func private @mm(tensor<64x32xbf16>, tensor<32x32xbf16>) -> tensor<64x32xbf16> attributes {fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.extern = "aten.mm.default", fuse.kwargs = {}}
  func.func private @mm_1(tensor<64x32xbf16>, tensor<32x64xbf16>) -> tensor<64x64xbf16> attributes {fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.extern = "aten.mm.default", fuse.kwargs = {}}
  func.func private @shifted(%x: tensor<64x32xbf16>, %y: tensor<64x64xbf16>, %o: tensor<64x96xbf16>) -> tensor<64x96xbf16> attributes {fuse.dims = {d0 = "64", d1 = "96"}, fuse.kernel, fuse.ties = array<i64: 2>} {
    %i = "fuse.index"() {expr = "d1 - 32"} : () -> i64
    %j = "fuse.index"() {expr = "d1 - 33"} : () -> i64
    %zero = arith.constant 0 : i64
    %below = arith.cmpi slt, %i, %zero : i64
    %cst = arith.constant 0.0 : bf16
    %l = "fuse.load"(%x, %below, %cst) {at = ["d0", "d1"]} : (tensor<64x32xbf16>, i1, bf16) -> bf16
    %above = arith.cmpi sge, %j, %zero : i64
    %r = "fuse.load"(%y, %above, %cst) {at = ["d0", "d1 - 33"]} : (tensor<64x64xbf16>, i1, bf16) -> bf16
    %s = arith.select %below, %l, %r : bf16
    %true = arith.constant true
    %t = "fuse.store"(%o, %s, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<64x96xbf16>, bf16, i1) -> tensor<64x96xbf16>
    return %t : tensor<64x96xbf16>
  }
}

// -----

// Must not fire: the first column of the second product is left out, and 0 in the result.
// CHECK-LABEL: func.func @main
// CHECK: call @guarded
// CHECK-NOT: aten.mm.out
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<64x32xbf16>, %v: tensor<32x32xbf16>, %w: tensor<32x64xbf16>) -> tensor<64x96xbf16> {
    %a = call @mm(%x, %v) : (tensor<64x32xbf16>, tensor<32x32xbf16>) -> tensor<64x32xbf16>
    %b = call @mm_1(%x, %w) : (tensor<64x32xbf16>, tensor<32x64xbf16>) -> tensor<64x64xbf16>
    %e = "fuse.empty"() {syms = []} : () -> tensor<64x96xbf16>
    %c = call @guarded(%a, %b, %e) : (tensor<64x32xbf16>, tensor<64x64xbf16>, tensor<64x96xbf16>) -> tensor<64x96xbf16>
    return %c : tensor<64x96xbf16>
  }
  func.func private @mm(tensor<64x32xbf16>, tensor<32x32xbf16>) -> tensor<64x32xbf16> attributes {fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.extern = "aten.mm.default", fuse.kwargs = {}}
  func.func private @mm_1(tensor<64x32xbf16>, tensor<32x64xbf16>) -> tensor<64x64xbf16> attributes {fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.extern = "aten.mm.default", fuse.kwargs = {}}
  func.func private @guarded(%x: tensor<64x32xbf16>, %y: tensor<64x64xbf16>, %o: tensor<64x96xbf16>) -> tensor<64x96xbf16> attributes {fuse.dims = {d0 = "64", d1 = "96"}, fuse.kernel, fuse.ties = array<i64: 2>} {
    %i = "fuse.index"() {expr = "d1 - 32"} : () -> i64
    %j = "fuse.index"() {expr = "d1 - 33"} : () -> i64
    %zero = arith.constant 0 : i64
    %below = arith.cmpi slt, %i, %zero : i64
    %cst = arith.constant 0.0 : bf16
    %l = "fuse.load"(%x, %below, %cst) {at = ["d0", "d1"]} : (tensor<64x32xbf16>, i1, bf16) -> bf16
    %above = arith.cmpi sge, %j, %zero : i64
    %r = "fuse.load"(%y, %above, %cst) {at = ["d0", "d1 - 32"]} : (tensor<64x64xbf16>, i1, bf16) -> bf16
    %s = arith.select %below, %l, %r : bf16
    %true = arith.constant true
    %t = "fuse.store"(%o, %s, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<64x96xbf16>, bf16, i1) -> tensor<64x96xbf16>
    return %t : tensor<64x96xbf16>
  }
}

// -----

// Must not fire: @fill overwrites what the first product reads, before the second one runs.
// CHECK-LABEL: func.func @main
// CHECK: call @cat
// CHECK-NOT: aten.mm.out
// SAID-NEXT: missed: concat-products-in-place: overwritten: @mm, @mm read what is overwritten before the last of them runs [mm + mm]
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<32x32xbf16>, %v: tensor<32x32xbf16>) -> (tensor<64x32xbf16>, tensor<32x32xbf16>) {
    %a = call @mm(%x, %v) : (tensor<32x32xbf16>, tensor<32x32xbf16>) -> tensor<32x32xbf16>
    %f = call @fill(%x) : (tensor<32x32xbf16>) -> tensor<32x32xbf16>
    %b = call @mm(%f, %v) : (tensor<32x32xbf16>, tensor<32x32xbf16>) -> tensor<32x32xbf16>
    %e = "fuse.empty"() {syms = []} : () -> tensor<64x32xbf16>
    %c = call @cat(%a, %b, %e) : (tensor<32x32xbf16>, tensor<32x32xbf16>, tensor<64x32xbf16>) -> tensor<64x32xbf16>
    return %c, %f : tensor<64x32xbf16>, tensor<32x32xbf16>
  }
  func.func private @fill(%x: tensor<32x32xbf16>) -> tensor<32x32xbf16> attributes {fuse.dims = {d0 = "32", d1 = "32"}, fuse.kernel, fuse.ties = array<i64: 0>} {
    %true = arith.constant true
    %one = arith.constant 1.0 : bf16
    %r = "fuse.store"(%x, %one, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<32x32xbf16>, bf16, i1) -> tensor<32x32xbf16>
    return %r : tensor<32x32xbf16>
  }
  func.func private @mm(tensor<32x32xbf16>, tensor<32x32xbf16>) -> tensor<32x32xbf16> attributes {fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.extern = "aten.mm.default", fuse.kwargs = {}}
  func.func private @cat(%x: tensor<32x32xbf16>, %y: tensor<32x32xbf16>, %o: tensor<64x32xbf16>) -> tensor<64x32xbf16> attributes {fuse.dims = {d0 = "64", d1 = "32"}, fuse.kernel, fuse.ties = array<i64: 2>} {
    %i = "fuse.index"() {expr = "d0 - 32"} : () -> i64
    %zero = arith.constant 0 : i64
    %below = arith.cmpi slt, %i, %zero : i64
    %cst = arith.constant 0.0 : bf16
    %l = "fuse.load"(%x, %below, %cst) {at = ["d0", "d1"]} : (tensor<32x32xbf16>, i1, bf16) -> bf16
    %above = arith.cmpi sge, %i, %zero : i64
    %r = "fuse.load"(%y, %above, %cst) {at = ["d0 - 32", "d1"]} : (tensor<32x32xbf16>, i1, bf16) -> bf16
    %s = arith.select %below, %l, %r : bf16
    %true = arith.constant true
    %t = "fuse.store"(%o, %s, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<64x32xbf16>, bf16, i1) -> tensor<64x32xbf16>
    return %t : tensor<64x32xbf16>
  }
}

// -----

// Two updates that leave nothing of a tensor of zeros: the second one, which is the outer choice, fills the front.
// CHECK-LABEL: func.func @main
// CHECK: %[[C:.*]] = "fuse.empty"() {syms = []} : () -> tensor<96x32xbf16>
// CHECK-NEXT: %[[P:.*]] = "fuse.view"(%[[C]]) {map = ["v0", "v1"], syms = []}
// CHECK-NEXT: call @mm_out(%arg0, %arg1, %[[P]])
// CHECK-NEXT: %[[Q:.*]] = "fuse.view"(%[[C]]) {map = ["v0 + 32", "v1"], syms = []}
// CHECK-NEXT: call @mm_out_1(%arg2, %arg1, %[[Q]])
// CHECK-NEXT: return %[[C]]
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<32x32xbf16>, %v: tensor<32x32xbf16>, %y: tensor<64x32xbf16>) -> tensor<96x32xbf16> {
    %b = call @mm_1(%y, %v) : (tensor<64x32xbf16>, tensor<32x32xbf16>) -> tensor<64x32xbf16>
    %a = call @mm(%x, %v) : (tensor<32x32xbf16>, tensor<32x32xbf16>) -> tensor<32x32xbf16>
    %e = "fuse.empty"() {syms = []} : () -> tensor<96x32xbf16>
    %c = call @filled(%a, %b, %e) : (tensor<32x32xbf16>, tensor<64x32xbf16>, tensor<96x32xbf16>) -> tensor<96x32xbf16>
    return %c : tensor<96x32xbf16>
  }
  func.func private @mm(tensor<32x32xbf16>, tensor<32x32xbf16>) -> tensor<32x32xbf16> attributes {fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.extern = "aten.mm.default", fuse.kwargs = {}}
  func.func private @mm_1(tensor<64x32xbf16>, tensor<32x32xbf16>) -> tensor<64x32xbf16> attributes {fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.extern = "aten.mm.default", fuse.kwargs = {}}
  func.func private @filled(%x: tensor<32x32xbf16>, %y: tensor<64x32xbf16>, %o: tensor<96x32xbf16>) -> tensor<96x32xbf16> attributes {fuse.dims = {d0 = "96", d1 = "32"}, fuse.kernel, fuse.ties = array<i64: 2>} {
    %zeros = arith.constant 0.0 : bf16
    %zero = arith.constant 0 : i64
    %n = arith.constant 32 : i64
    %i = "fuse.index"() {expr = "d0 - 32"} : () -> i64
    %j = "fuse.index"() {expr = "d0"} : () -> i64
    %from = arith.cmpi sge, %i, %zero : i64
    %r = "fuse.load"(%y, %from, %zeros) {at = ["d0 - 32", "d1"]} : (tensor<64x32xbf16>, i1, bf16) -> bf16
    %s = arith.select %from, %r, %zeros : bf16
    %to = arith.cmpi slt, %j, %n : i64
    %start = arith.cmpi sge, %j, %zero : i64
    %in = arith.andi %to, %start : i1
    %l = "fuse.load"(%x, %in, %zeros) {at = ["d0", "d1"]} : (tensor<32x32xbf16>, i1, bf16) -> bf16
    %t = arith.select %in, %l, %s : bf16
    %true = arith.constant true
    %u = "fuse.store"(%o, %t, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<96x32xbf16>, bf16, i1) -> tensor<96x32xbf16>
    return %u : tensor<96x32xbf16>
  }
}

// -----

// Must not fire: row 31 stays zero.
// CHECK-LABEL: func.func @main
// CHECK: call @filled
// CHECK-NOT: aten.mm.out
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<32x32xbf16>, %v: tensor<32x32xbf16>, %y: tensor<64x32xbf16>) -> tensor<96x32xbf16> {
    %b = call @mm_1(%y, %v) : (tensor<64x32xbf16>, tensor<32x32xbf16>) -> tensor<64x32xbf16>
    %a = call @mm(%x, %v) : (tensor<32x32xbf16>, tensor<32x32xbf16>) -> tensor<32x32xbf16>
    %e = "fuse.empty"() {syms = []} : () -> tensor<96x32xbf16>
    %c = call @filled(%a, %b, %e) : (tensor<32x32xbf16>, tensor<64x32xbf16>, tensor<96x32xbf16>) -> tensor<96x32xbf16>
    return %c : tensor<96x32xbf16>
  }
  func.func private @mm(tensor<32x32xbf16>, tensor<32x32xbf16>) -> tensor<32x32xbf16> attributes {fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.extern = "aten.mm.default", fuse.kwargs = {}}
  func.func private @mm_1(tensor<64x32xbf16>, tensor<32x32xbf16>) -> tensor<64x32xbf16> attributes {fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.extern = "aten.mm.default", fuse.kwargs = {}}
  func.func private @filled(%x: tensor<32x32xbf16>, %y: tensor<64x32xbf16>, %o: tensor<96x32xbf16>) -> tensor<96x32xbf16> attributes {fuse.dims = {d0 = "96", d1 = "32"}, fuse.kernel, fuse.ties = array<i64: 2>} {
    %zeros = arith.constant 0.0 : bf16
    %zero = arith.constant 0 : i64
    %n = arith.constant 31 : i64
    %i = "fuse.index"() {expr = "d0 - 32"} : () -> i64
    %j = "fuse.index"() {expr = "d0"} : () -> i64
    %from = arith.cmpi sge, %i, %zero : i64
    %r = "fuse.load"(%y, %from, %zeros) {at = ["d0 - 32", "d1"]} : (tensor<64x32xbf16>, i1, bf16) -> bf16
    %s = arith.select %from, %r, %zeros : bf16
    %to = arith.cmpi slt, %j, %n : i64
    %start = arith.cmpi sge, %j, %zero : i64
    %in = arith.andi %to, %start : i1
    %l = "fuse.load"(%x, %in, %zeros) {at = ["d0", "d1"]} : (tensor<32x32xbf16>, i1, bf16) -> bf16
    %t = arith.select %in, %l, %s : bf16
    %true = arith.constant true
    %u = "fuse.store"(%o, %t, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<96x32xbf16>, bf16, i1) -> tensor<96x32xbf16>
    return %u : tensor<96x32xbf16>
  }
}
