// Two products of chunks of a sequence, which blocks hold whole, and what is between them become one kernel.
// RUN: fuse-opt %s --pass-pipeline="builtin.module(choose-libraries{hardware=h200})" --split-input-file --remarks=text 2>&1 >/dev/null | FileCheck %s
// RUN: fuse-opt %s --pass-pipeline="builtin.module(choose-libraries{hardware=h200},derive-cascades{hardware=h200})" --split-input-file | FileCheck %s --check-prefix=ONE
// RUN: not fuse-opt %s --pass-pipeline="builtin.module(derive-cascades{hardware=abacus products=generated})" --split-input-file 2>&1 | FileCheck %s --check-prefix=BAD
// BAD: error: derive-cascades: unknown hardware 'abacus': expected one of

// CHECK: passed: choose-libraries: cascade, {{.*}}@scores becomes a kernel
// CHECK: passed: choose-libraries: cascade, {{.*}}@inside becomes a kernel
// ONE-LABEL: func.func @main
// ONE-NOT: call @decayed
// ONE: call @fused_scores_kernel_decayed_inside_kernel_0(
// ONE: fuse.looped
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%c: tensor<3072x64x128xbf16>, %b: tensor<3072x128x64xbf16>, %d: tensor<3072x64x64xbf16>, %x: tensor<3072x64x64xbf16>) -> tensor<3072x64x64xbf16> {
    %s = call @scores(%c, %b) : (tensor<3072x64x128xbf16>, tensor<3072x128x64xbf16>) -> tensor<3072x64x64xbf16>
    %e = "fuse.empty"() {syms = []} : () -> tensor<3072x64x64xbf16>
    %p = call @decayed(%s, %d, %e) : (tensor<3072x64x64xbf16>, tensor<3072x64x64xbf16>, tensor<3072x64x64xbf16>) -> tensor<3072x64x64xbf16>
    %y = call @inside(%p, %x) : (tensor<3072x64x64xbf16>, tensor<3072x64x64xbf16>) -> tensor<3072x64x64xbf16>
    return %y : tensor<3072x64x64xbf16>
  }
  func.func private @scores(tensor<3072x64x128xbf16>, tensor<3072x128x64xbf16>) -> tensor<3072x64x64xbf16> attributes {fuse.extern = "aten.bmm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
  func.func private @decayed(%s: tensor<3072x64x64xbf16>, %d: tensor<3072x64x64xbf16>, %o: tensor<3072x64x64xbf16>) -> tensor<3072x64x64xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "3072", d1 = "64", d2 = "64"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %v = "fuse.load"(%s, %true, %zero) {at = ["d0", "d1", "d2"]} : (tensor<3072x64x64xbf16>, i1, bf16) -> bf16
    %w = "fuse.load"(%d, %true, %zero) {at = ["d0", "d1", "d2"]} : (tensor<3072x64x64xbf16>, i1, bf16) -> bf16
    %t = arith.mulf %v, %w : bf16
    %r = "fuse.store"(%o, %t, %true) {at = ["d0", "d1", "d2"], mode = "set"} : (tensor<3072x64x64xbf16>, bf16, i1) -> tensor<3072x64x64xbf16>
    return %r : tensor<3072x64x64xbf16>
  }
  func.func private @inside(tensor<3072x64x64xbf16>, tensor<3072x64x64xbf16>) -> tensor<3072x64x64xbf16> attributes {fuse.extern = "aten.bmm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
}

// -----

// The last product has the scores for its right factor, as einsum may order its operands.
// CHECK: passed: choose-libraries: cascade, {{.*}}@scores becomes a kernel
// CHECK: passed: choose-libraries: cascade, {{.*}}@turned becomes a kernel
// ONE-LABEL: func.func @main
// ONE-NOT: call @decayed
// ONE: call @fused_scores_kernel_decayed_turned_kernel_0(
// ONE: fuse.looped
// ONE: "fuse.dot"(%{{.*}}, %{{.*}}) {over = ["d3"]}
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%c: tensor<3072x64x128xbf16>, %b: tensor<3072x128x64xbf16>, %d: tensor<3072x64x64xbf16>, %x: tensor<3072x64x64xbf16>) -> tensor<3072x64x64xbf16> {
    %s = call @scores(%c, %b) : (tensor<3072x64x128xbf16>, tensor<3072x128x64xbf16>) -> tensor<3072x64x64xbf16>
    %e = "fuse.empty"() {syms = []} : () -> tensor<3072x64x64xbf16>
    %p = call @decayed(%s, %d, %e) : (tensor<3072x64x64xbf16>, tensor<3072x64x64xbf16>, tensor<3072x64x64xbf16>) -> tensor<3072x64x64xbf16>
    %y = call @turned(%x, %p) : (tensor<3072x64x64xbf16>, tensor<3072x64x64xbf16>) -> tensor<3072x64x64xbf16>
    return %y : tensor<3072x64x64xbf16>
  }
  func.func private @scores(tensor<3072x64x128xbf16>, tensor<3072x128x64xbf16>) -> tensor<3072x64x64xbf16> attributes {fuse.extern = "aten.bmm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
  func.func private @decayed(%s: tensor<3072x64x64xbf16>, %d: tensor<3072x64x64xbf16>, %o: tensor<3072x64x64xbf16>) -> tensor<3072x64x64xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "3072", d1 = "64", d2 = "64"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %v = "fuse.load"(%s, %true, %zero) {at = ["d0", "d1", "d2"]} : (tensor<3072x64x64xbf16>, i1, bf16) -> bf16
    %w = "fuse.load"(%d, %true, %zero) {at = ["d0", "d1", "d2"]} : (tensor<3072x64x64xbf16>, i1, bf16) -> bf16
    %t = arith.mulf %v, %w : bf16
    %r = "fuse.store"(%o, %t, %true) {at = ["d0", "d2", "d1"], mode = "set"} : (tensor<3072x64x64xbf16>, bf16, i1) -> tensor<3072x64x64xbf16>
    return %r : tensor<3072x64x64xbf16>
  }
  func.func private @turned(tensor<3072x64x64xbf16>, tensor<3072x64x64xbf16>) -> tensor<3072x64x64xbf16> attributes {fuse.extern = "aten.bmm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
}

// -----

// Must not fire: the scores of few chunks stay in the cache.
// CHECK-NOT: cascade, {{.*}}becomes a kernel
// ONE-LABEL: func.func @main
// ONE: @decayed
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%c: tensor<64x64x128xbf16>, %b: tensor<64x128x64xbf16>, %d: tensor<64x64x64xbf16>, %x: tensor<64x64x64xbf16>) -> tensor<64x64x64xbf16> {
    %s = call @scores(%c, %b) : (tensor<64x64x128xbf16>, tensor<64x128x64xbf16>) -> tensor<64x64x64xbf16>
    %e = "fuse.empty"() {syms = []} : () -> tensor<64x64x64xbf16>
    %p = call @decayed(%s, %d, %e) : (tensor<64x64x64xbf16>, tensor<64x64x64xbf16>, tensor<64x64x64xbf16>) -> tensor<64x64x64xbf16>
    %y = call @inside(%p, %x) : (tensor<64x64x64xbf16>, tensor<64x64x64xbf16>) -> tensor<64x64x64xbf16>
    return %y : tensor<64x64x64xbf16>
  }
  func.func private @scores(tensor<64x64x128xbf16>, tensor<64x128x64xbf16>) -> tensor<64x64x64xbf16> attributes {fuse.extern = "aten.bmm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
  func.func private @decayed(%s: tensor<64x64x64xbf16>, %d: tensor<64x64x64xbf16>, %o: tensor<64x64x64xbf16>) -> tensor<64x64x64xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "64", d1 = "64", d2 = "64"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %v = "fuse.load"(%s, %true, %zero) {at = ["d0", "d1", "d2"]} : (tensor<64x64x64xbf16>, i1, bf16) -> bf16
    %w = "fuse.load"(%d, %true, %zero) {at = ["d0", "d1", "d2"]} : (tensor<64x64x64xbf16>, i1, bf16) -> bf16
    %t = arith.mulf %v, %w : bf16
    %r = "fuse.store"(%o, %t, %true) {at = ["d0", "d1", "d2"], mode = "set"} : (tensor<64x64x64xbf16>, bf16, i1) -> tensor<64x64x64xbf16>
    return %r : tensor<64x64x64xbf16>
  }
  func.func private @inside(tensor<64x64x64xbf16>, tensor<64x64x64xbf16>) -> tensor<64x64x64xbf16> attributes {fuse.extern = "aten.bmm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
}

// -----

// Must not fire: a softmax of scores for a right factor, which nobody has measured.
// CHECK-NOT: cascade, {{.*}}becomes a kernel
// ONE-LABEL: func.func @main
// ONE: @exponentials
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%c: tensor<64x1024x64xbf16>, %b: tensor<64x64x1024xbf16>, %x: tensor<64x64x1024xbf16>) -> tensor<64x64x1024xbf16> {
    %s = call @scores(%c, %b) : (tensor<64x1024x64xbf16>, tensor<64x64x1024xbf16>) -> tensor<64x1024x1024xbf16>
    %e = "fuse.empty"() {syms = []} : () -> tensor<64x1024x1024xbf16>
    %p = call @exponentials(%s, %e) : (tensor<64x1024x1024xbf16>, tensor<64x1024x1024xbf16>) -> tensor<64x1024x1024xbf16>
    %y = call @turned(%x, %p) : (tensor<64x64x1024xbf16>, tensor<64x1024x1024xbf16>) -> tensor<64x64x1024xbf16>
    return %y : tensor<64x64x1024xbf16>
  }
  func.func private @scores(tensor<64x1024x64xbf16>, tensor<64x64x1024xbf16>) -> tensor<64x1024x1024xbf16> attributes {fuse.extern = "aten.bmm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
  func.func private @exponentials(%s: tensor<64x1024x1024xbf16>, %o: tensor<64x1024x1024xbf16>) -> tensor<64x1024x1024xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "64", d1 = "1024", d2 = "1024"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %v = "fuse.load"(%s, %true, %zero) {at = ["d0", "d1", "d2"]} : (tensor<64x1024x1024xbf16>, i1, bf16) -> bf16
    %w = arith.extf %v : bf16 to f32
    %m = "fuse.reduce"(%w) {kind = "max", over = ["d2"]} : (f32) -> f32
    %t = arith.subf %w, %m : f32
    %u = math.exp %t : f32
    %h = arith.truncf %u : f32 to bf16
    %r = "fuse.store"(%o, %h, %true) {at = ["d0", "d2", "d1"], mode = "set"} : (tensor<64x1024x1024xbf16>, bf16, i1) -> tensor<64x1024x1024xbf16>
    return %r : tensor<64x1024x1024xbf16>
  }
  func.func private @turned(tensor<64x64x1024xbf16>, tensor<64x1024x1024xbf16>) -> tensor<64x64x1024xbf16> attributes {fuse.extern = "aten.bmm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
}
