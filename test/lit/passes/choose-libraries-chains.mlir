// RUN: fuse-opt %s --pass-pipeline="builtin.module(choose-libraries{hardware=h200})" --split-input-file --remarks=text 2>&1 >/dev/null | FileCheck %s
// RUN: fuse-opt %s --pass-pipeline="builtin.module(choose-libraries{hardware=h200 tensor-cores=none})" --split-input-file --remarks=text 2>&1 >/dev/null | FileCheck %s --check-prefix=NONE
// NONE: missed: choose-libraries: rows, {{.*}}@mm0 is the library's
// NONE-NOT: choose-libraries: chain

// Three layers of a network: each would lose against the library by itself, and together they win.
// CHECK-COUNT-3: passed: choose-libraries: chain, {{.*}} becomes a kernel
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<65536x64xbf16>, %w0: tensor<64x64xbf16>, %w1: tensor<64x64xbf16>, %w2: tensor<64x64xbf16>) -> tensor<65536x64xbf16> {
    %y0 = call @mm0(%x, %w0) : (tensor<65536x64xbf16>, tensor<64x64xbf16>) -> tensor<65536x64xbf16>
    %f0 = "fuse.empty"() {syms = []} : () -> tensor<65536x64xbf16>
    %z0 = call @relu0(%y0, %f0) : (tensor<65536x64xbf16>, tensor<65536x64xbf16>) -> tensor<65536x64xbf16>
    %y1 = call @mm1(%z0, %w1) : (tensor<65536x64xbf16>, tensor<64x64xbf16>) -> tensor<65536x64xbf16>
    %f1 = "fuse.empty"() {syms = []} : () -> tensor<65536x64xbf16>
    %z1 = call @relu1(%y1, %f1) : (tensor<65536x64xbf16>, tensor<65536x64xbf16>) -> tensor<65536x64xbf16>
    %y2 = call @mm2(%z1, %w2) : (tensor<65536x64xbf16>, tensor<64x64xbf16>) -> tensor<65536x64xbf16>
    return %y2 : tensor<65536x64xbf16>
  }
  func.func private @mm0(tensor<65536x64xbf16>, tensor<64x64xbf16>) -> tensor<65536x64xbf16> attributes {fuse.extern = "aten.mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
  func.func private @relu0(%x: tensor<65536x64xbf16>, %o: tensor<65536x64xbf16>) -> tensor<65536x64xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "65536", d1 = "64"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<65536x64xbf16>, i1, bf16) -> bf16
    %s = arith.maximumf %a, %zero : bf16
    %r = "fuse.store"(%o, %s, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<65536x64xbf16>, bf16, i1) -> tensor<65536x64xbf16>
    return %r : tensor<65536x64xbf16>
  }
  func.func private @mm1(tensor<65536x64xbf16>, tensor<64x64xbf16>) -> tensor<65536x64xbf16> attributes {fuse.extern = "aten.mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
  func.func private @relu1(%x: tensor<65536x64xbf16>, %o: tensor<65536x64xbf16>) -> tensor<65536x64xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "65536", d1 = "64"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<65536x64xbf16>, i1, bf16) -> bf16
    %s = arith.maximumf %a, %zero : bf16
    %r = "fuse.store"(%o, %s, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<65536x64xbf16>, bf16, i1) -> tensor<65536x64xbf16>
    return %r : tensor<65536x64xbf16>
  }
  func.func private @mm2(tensor<65536x64xbf16>, tensor<64x64xbf16>) -> tensor<65536x64xbf16> attributes {fuse.extern = "aten.mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
}

// -----

// Must not fire: what lies between the products is read elsewhere, so it is stored in any case.
// CHECK-NOT: choose-libraries: chain
// CHECK: choose-libraries: {{kernel|library}}, {{.*}}@mm1
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<65536x64xbf16>, %w0: tensor<64x64xbf16>, %w1: tensor<64x64xbf16>) -> (tensor<65536x64xbf16>, tensor<65536x64xbf16>) {
    %y0 = call @mm0(%x, %w0) : (tensor<65536x64xbf16>, tensor<64x64xbf16>) -> tensor<65536x64xbf16>
    %f0 = "fuse.empty"() {syms = []} : () -> tensor<65536x64xbf16>
    %z0 = call @relu0(%y0, %f0) : (tensor<65536x64xbf16>, tensor<65536x64xbf16>) -> tensor<65536x64xbf16>
    %y1 = call @mm1(%z0, %w1) : (tensor<65536x64xbf16>, tensor<64x64xbf16>) -> tensor<65536x64xbf16>
    return %y1, %z0 : tensor<65536x64xbf16>, tensor<65536x64xbf16>
  }
  func.func private @mm0(tensor<65536x64xbf16>, tensor<64x64xbf16>) -> tensor<65536x64xbf16> attributes {fuse.extern = "aten.mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
  func.func private @relu0(%x: tensor<65536x64xbf16>, %o: tensor<65536x64xbf16>) -> tensor<65536x64xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "65536", d1 = "64"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<65536x64xbf16>, i1, bf16) -> bf16
    %s = arith.maximumf %a, %zero : bf16
    %r = "fuse.store"(%o, %s, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<65536x64xbf16>, bf16, i1) -> tensor<65536x64xbf16>
    return %r : tensor<65536x64xbf16>
  }
  func.func private @mm1(tensor<65536x64xbf16>, tensor<64x64xbf16>) -> tensor<65536x64xbf16> attributes {fuse.extern = "aten.mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
}

// -----

// Must not fire: too many columns between the products.
// CHECK-NOT: choose-libraries: chain
// CHECK: choose-libraries: {{kernel|library}}, {{.*}}@mm1
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<65536x64xbf16>, %w0: tensor<64x264xbf16>, %w1: tensor<264x64xbf16>) -> tensor<65536x64xbf16> {
    %y0 = call @mm0(%x, %w0) : (tensor<65536x64xbf16>, tensor<64x264xbf16>) -> tensor<65536x264xbf16>
    %f0 = "fuse.empty"() {syms = []} : () -> tensor<65536x264xbf16>
    %z0 = call @relu0(%y0, %f0) : (tensor<65536x264xbf16>, tensor<65536x264xbf16>) -> tensor<65536x264xbf16>
    %y1 = call @mm1(%z0, %w1) : (tensor<65536x264xbf16>, tensor<264x64xbf16>) -> tensor<65536x64xbf16>
    return %y1 : tensor<65536x64xbf16>
  }
  func.func private @mm0(tensor<65536x64xbf16>, tensor<64x264xbf16>) -> tensor<65536x264xbf16> attributes {fuse.extern = "aten.mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
  func.func private @relu0(%x: tensor<65536x264xbf16>, %o: tensor<65536x264xbf16>) -> tensor<65536x264xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "65536", d1 = "264"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<65536x264xbf16>, i1, bf16) -> bf16
    %s = arith.maximumf %a, %zero : bf16
    %r = "fuse.store"(%o, %s, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<65536x264xbf16>, bf16, i1) -> tensor<65536x264xbf16>
    return %r : tensor<65536x264xbf16>
  }
  func.func private @mm1(tensor<65536x264xbf16>, tensor<264x64xbf16>) -> tensor<65536x64xbf16> attributes {fuse.extern = "aten.mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
}

// -----

// Must not fire: few rows.
// CHECK-NOT: choose-libraries: chain
// CHECK: choose-libraries: {{kernel|library}}, {{.*}}@mm1
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<2048x64xbf16>, %w0: tensor<64x64xbf16>, %w1: tensor<64x64xbf16>) -> tensor<2048x64xbf16> {
    %y0 = call @mm0(%x, %w0) : (tensor<2048x64xbf16>, tensor<64x64xbf16>) -> tensor<2048x64xbf16>
    %f0 = "fuse.empty"() {syms = []} : () -> tensor<2048x64xbf16>
    %z0 = call @relu0(%y0, %f0) : (tensor<2048x64xbf16>, tensor<2048x64xbf16>) -> tensor<2048x64xbf16>
    %y1 = call @mm1(%z0, %w1) : (tensor<2048x64xbf16>, tensor<64x64xbf16>) -> tensor<2048x64xbf16>
    return %y1 : tensor<2048x64xbf16>
  }
  func.func private @mm0(tensor<2048x64xbf16>, tensor<64x64xbf16>) -> tensor<2048x64xbf16> attributes {fuse.extern = "aten.mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
  func.func private @relu0(%x: tensor<2048x64xbf16>, %o: tensor<2048x64xbf16>) -> tensor<2048x64xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "2048", d1 = "64"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<2048x64xbf16>, i1, bf16) -> bf16
    %s = arith.maximumf %a, %zero : bf16
    %r = "fuse.store"(%o, %s, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<2048x64xbf16>, bf16, i1) -> tensor<2048x64xbf16>
    return %r : tensor<2048x64xbf16>
  }
  func.func private @mm1(tensor<2048x64xbf16>, tensor<64x64xbf16>) -> tensor<2048x64xbf16> attributes {fuse.extern = "aten.mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
}

// -----

// Must not fire: the first product sums so much that little of its time is that of its result.
// CHECK-NOT: choose-libraries: chain
// CHECK: choose-libraries: {{kernel|library}}, {{.*}}@mm1
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<65536x1024xbf16>, %w0: tensor<1024x64xbf16>, %w1: tensor<64x64xbf16>) -> tensor<65536x64xbf16> {
    %y0 = call @mm0(%x, %w0) : (tensor<65536x1024xbf16>, tensor<1024x64xbf16>) -> tensor<65536x64xbf16>
    %f0 = "fuse.empty"() {syms = []} : () -> tensor<65536x64xbf16>
    %z0 = call @relu0(%y0, %f0) : (tensor<65536x64xbf16>, tensor<65536x64xbf16>) -> tensor<65536x64xbf16>
    %y1 = call @mm1(%z0, %w1) : (tensor<65536x64xbf16>, tensor<64x64xbf16>) -> tensor<65536x64xbf16>
    return %y1 : tensor<65536x64xbf16>
  }
  func.func private @mm0(tensor<65536x1024xbf16>, tensor<1024x64xbf16>) -> tensor<65536x64xbf16> attributes {fuse.extern = "aten.mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
  func.func private @relu0(%x: tensor<65536x64xbf16>, %o: tensor<65536x64xbf16>) -> tensor<65536x64xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "65536", d1 = "64"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<65536x64xbf16>, i1, bf16) -> bf16
    %s = arith.maximumf %a, %zero : bf16
    %r = "fuse.store"(%o, %s, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<65536x64xbf16>, bf16, i1) -> tensor<65536x64xbf16>
    return %r : tensor<65536x64xbf16>
  }
  func.func private @mm1(tensor<65536x64xbf16>, tensor<64x64xbf16>) -> tensor<65536x64xbf16> attributes {fuse.extern = "aten.mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
}

// -----

// The last product of a chain may have few columns.
// CHECK-COUNT-3: passed: choose-libraries: chain, {{.*}} becomes a kernel
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<65536x64xbf16>, %w0: tensor<64x64xbf16>, %w1: tensor<64x64xbf16>, %w2: tensor<64x4xbf16>) -> tensor<65536x4xbf16> {
    %y0 = call @mm0(%x, %w0) : (tensor<65536x64xbf16>, tensor<64x64xbf16>) -> tensor<65536x64xbf16>
    %f0 = "fuse.empty"() {syms = []} : () -> tensor<65536x64xbf16>
    %z0 = call @relu0(%y0, %f0) : (tensor<65536x64xbf16>, tensor<65536x64xbf16>) -> tensor<65536x64xbf16>
    %y1 = call @mm1(%z0, %w1) : (tensor<65536x64xbf16>, tensor<64x64xbf16>) -> tensor<65536x64xbf16>
    %f1 = "fuse.empty"() {syms = []} : () -> tensor<65536x64xbf16>
    %z1 = call @relu1(%y1, %f1) : (tensor<65536x64xbf16>, tensor<65536x64xbf16>) -> tensor<65536x64xbf16>
    %y2 = call @mm2(%z1, %w2) : (tensor<65536x64xbf16>, tensor<64x4xbf16>) -> tensor<65536x4xbf16>
    return %y2 : tensor<65536x4xbf16>
  }
  func.func private @mm0(tensor<65536x64xbf16>, tensor<64x64xbf16>) -> tensor<65536x64xbf16> attributes {fuse.extern = "aten.mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
  func.func private @relu0(%x: tensor<65536x64xbf16>, %o: tensor<65536x64xbf16>) -> tensor<65536x64xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "65536", d1 = "64"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<65536x64xbf16>, i1, bf16) -> bf16
    %s = arith.maximumf %a, %zero : bf16
    %r = "fuse.store"(%o, %s, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<65536x64xbf16>, bf16, i1) -> tensor<65536x64xbf16>
    return %r : tensor<65536x64xbf16>
  }
  func.func private @mm1(tensor<65536x64xbf16>, tensor<64x64xbf16>) -> tensor<65536x64xbf16> attributes {fuse.extern = "aten.mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
  func.func private @relu1(%x: tensor<65536x64xbf16>, %o: tensor<65536x64xbf16>) -> tensor<65536x64xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "65536", d1 = "64"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<65536x64xbf16>, i1, bf16) -> bf16
    %s = arith.maximumf %a, %zero : bf16
    %r = "fuse.store"(%o, %s, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<65536x64xbf16>, bf16, i1) -> tensor<65536x64xbf16>
    return %r : tensor<65536x64xbf16>
  }
  func.func private @mm2(tensor<65536x64xbf16>, tensor<64x4xbf16>) -> tensor<65536x4xbf16> attributes {fuse.extern = "aten.mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
}

