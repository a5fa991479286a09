// Chains of products of more than 128 columns.
// RUN: fuse-opt %s --pass-pipeline="builtin.module(choose-libraries{hardware=h200})" --split-input-file | FileCheck %s
// RUN: fuse-opt %s --pass-pipeline="builtin.module(choose-libraries{hardware=a100})" --split-input-file | FileCheck %s --check-prefix=A100
// RUN: fuse-opt %s --pass-pipeline="builtin.module(choose-libraries{hardware=h200},fuse-vertical,materialize-fusion)" --split-input-file | FileCheck %s --check-prefix=FUSED

// Must not fire: the GPU has no descriptors.
// A100: func.func @main
// A100-NOT: fuse.wide

// Many rows: the kernels of a chain are marked, and fusion makes them one.
// CHECK-LABEL: func.func @main
// CHECK-COUNT-4: fuse.wide
// FUSED-LABEL: func.func @main
// FUSED-COUNT-1: call @
// FUSED-NOT: call @
// FUSED: return
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<262144x64xbf16>, %w0: tensor<64x256xbf16>, %w1: tensor<256x256xbf16>, %w2: tensor<256x256xbf16>, %w3: tensor<256x256xbf16>) -> tensor<262144x256xbf16> {
    %y0 = call @mm0(%x, %w0) : (tensor<262144x64xbf16>, tensor<64x256xbf16>) -> tensor<262144x256xbf16>
    %f0 = "fuse.empty"() {syms = []} : () -> tensor<262144x256xbf16>
    %z0 = call @between0(%y0, %f0) : (tensor<262144x256xbf16>, tensor<262144x256xbf16>) -> tensor<262144x256xbf16>
    %y1 = call @mm1(%z0, %w1) : (tensor<262144x256xbf16>, tensor<256x256xbf16>) -> tensor<262144x256xbf16>
    %f1 = "fuse.empty"() {syms = []} : () -> tensor<262144x256xbf16>
    %z1 = call @between1(%y1, %f1) : (tensor<262144x256xbf16>, tensor<262144x256xbf16>) -> tensor<262144x256xbf16>
    %y2 = call @mm2(%z1, %w2) : (tensor<262144x256xbf16>, tensor<256x256xbf16>) -> tensor<262144x256xbf16>
    %f2 = "fuse.empty"() {syms = []} : () -> tensor<262144x256xbf16>
    %z2 = call @between2(%y2, %f2) : (tensor<262144x256xbf16>, tensor<262144x256xbf16>) -> tensor<262144x256xbf16>
    %y3 = call @mm3(%z2, %w3) : (tensor<262144x256xbf16>, tensor<256x256xbf16>) -> tensor<262144x256xbf16>
    return %y3 : tensor<262144x256xbf16>
  }
  func.func private @mm0(tensor<262144x64xbf16>, tensor<64x256xbf16>) -> tensor<262144x256xbf16> attributes {fuse.extern = "aten.mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
  func.func private @between0(%x: tensor<262144x256xbf16>, %o: tensor<262144x256xbf16>) -> tensor<262144x256xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "262144", d1 = "256"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<262144x256xbf16>, i1, bf16) -> bf16
    %s = arith.maximumf %a, %zero : bf16
    %r = "fuse.store"(%o, %s, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<262144x256xbf16>, bf16, i1) -> tensor<262144x256xbf16>
    return %r : tensor<262144x256xbf16>
  }
  func.func private @mm1(tensor<262144x256xbf16>, tensor<256x256xbf16>) -> tensor<262144x256xbf16> attributes {fuse.extern = "aten.mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
  func.func private @between1(%x: tensor<262144x256xbf16>, %o: tensor<262144x256xbf16>) -> tensor<262144x256xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "262144", d1 = "256"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<262144x256xbf16>, i1, bf16) -> bf16
    %s = arith.maximumf %a, %zero : bf16
    %r = "fuse.store"(%o, %s, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<262144x256xbf16>, bf16, i1) -> tensor<262144x256xbf16>
    return %r : tensor<262144x256xbf16>
  }
  func.func private @mm2(tensor<262144x256xbf16>, tensor<256x256xbf16>) -> tensor<262144x256xbf16> attributes {fuse.extern = "aten.mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
  func.func private @between2(%x: tensor<262144x256xbf16>, %o: tensor<262144x256xbf16>) -> tensor<262144x256xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "262144", d1 = "256"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<262144x256xbf16>, i1, bf16) -> bf16
    %s = arith.maximumf %a, %zero : bf16
    %r = "fuse.store"(%o, %s, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<262144x256xbf16>, bf16, i1) -> tensor<262144x256xbf16>
    return %r : tensor<262144x256xbf16>
  }
  func.func private @mm3(tensor<262144x256xbf16>, tensor<256x256xbf16>) -> tensor<262144x256xbf16> attributes {fuse.extern = "aten.mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
}

// -----

// Must not fire: fewer blocks of rows than half the multiprocessors.
// CHECK-LABEL: func.func @main
// CHECK-NOT: fuse.wide
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<8192x64xbf16>, %w0: tensor<64x256xbf16>, %w1: tensor<256x256xbf16>, %w2: tensor<256x256xbf16>, %w3: tensor<256x256xbf16>) -> tensor<8192x256xbf16> {
    %y0 = call @mm0(%x, %w0) : (tensor<8192x64xbf16>, tensor<64x256xbf16>) -> tensor<8192x256xbf16>
    %f0 = "fuse.empty"() {syms = []} : () -> tensor<8192x256xbf16>
    %z0 = call @between0(%y0, %f0) : (tensor<8192x256xbf16>, tensor<8192x256xbf16>) -> tensor<8192x256xbf16>
    %y1 = call @mm1(%z0, %w1) : (tensor<8192x256xbf16>, tensor<256x256xbf16>) -> tensor<8192x256xbf16>
    %f1 = "fuse.empty"() {syms = []} : () -> tensor<8192x256xbf16>
    %z1 = call @between1(%y1, %f1) : (tensor<8192x256xbf16>, tensor<8192x256xbf16>) -> tensor<8192x256xbf16>
    %y2 = call @mm2(%z1, %w2) : (tensor<8192x256xbf16>, tensor<256x256xbf16>) -> tensor<8192x256xbf16>
    %f2 = "fuse.empty"() {syms = []} : () -> tensor<8192x256xbf16>
    %z2 = call @between2(%y2, %f2) : (tensor<8192x256xbf16>, tensor<8192x256xbf16>) -> tensor<8192x256xbf16>
    %y3 = call @mm3(%z2, %w3) : (tensor<8192x256xbf16>, tensor<256x256xbf16>) -> tensor<8192x256xbf16>
    return %y3 : tensor<8192x256xbf16>
  }
  func.func private @mm0(tensor<8192x64xbf16>, tensor<64x256xbf16>) -> tensor<8192x256xbf16> attributes {fuse.extern = "aten.mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
  func.func private @between0(%x: tensor<8192x256xbf16>, %o: tensor<8192x256xbf16>) -> tensor<8192x256xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "8192", d1 = "256"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<8192x256xbf16>, i1, bf16) -> bf16
    %s = arith.maximumf %a, %zero : bf16
    %r = "fuse.store"(%o, %s, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<8192x256xbf16>, bf16, i1) -> tensor<8192x256xbf16>
    return %r : tensor<8192x256xbf16>
  }
  func.func private @mm1(tensor<8192x256xbf16>, tensor<256x256xbf16>) -> tensor<8192x256xbf16> attributes {fuse.extern = "aten.mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
  func.func private @between1(%x: tensor<8192x256xbf16>, %o: tensor<8192x256xbf16>) -> tensor<8192x256xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "8192", d1 = "256"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<8192x256xbf16>, i1, bf16) -> bf16
    %s = arith.maximumf %a, %zero : bf16
    %r = "fuse.store"(%o, %s, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<8192x256xbf16>, bf16, i1) -> tensor<8192x256xbf16>
    return %r : tensor<8192x256xbf16>
  }
  func.func private @mm2(tensor<8192x256xbf16>, tensor<256x256xbf16>) -> tensor<8192x256xbf16> attributes {fuse.extern = "aten.mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
  func.func private @between2(%x: tensor<8192x256xbf16>, %o: tensor<8192x256xbf16>) -> tensor<8192x256xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "8192", d1 = "256"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<8192x256xbf16>, i1, bf16) -> bf16
    %s = arith.maximumf %a, %zero : bf16
    %r = "fuse.store"(%o, %s, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<8192x256xbf16>, bf16, i1) -> tensor<8192x256xbf16>
    return %r : tensor<8192x256xbf16>
  }
  func.func private @mm3(tensor<8192x256xbf16>, tensor<256x256xbf16>) -> tensor<8192x256xbf16> attributes {fuse.extern = "aten.mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
}

// -----

// Must not fire: two products, with nothing between them, save too little.
// CHECK-LABEL: func.func @main
// CHECK-NOT: fuse.wide
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<262144x256xbf16>, %w0: tensor<256x256xbf16>, %w1: tensor<256x256xbf16>) -> tensor<262144x256xbf16> {
    %y0 = call @mm0(%x, %w0) : (tensor<262144x256xbf16>, tensor<256x256xbf16>) -> tensor<262144x256xbf16>
    %y1 = call @mm1(%y0, %w1) : (tensor<262144x256xbf16>, tensor<256x256xbf16>) -> tensor<262144x256xbf16>
    return %y1 : tensor<262144x256xbf16>
  }
  func.func private @mm0(tensor<262144x256xbf16>, tensor<256x256xbf16>) -> tensor<262144x256xbf16> attributes {fuse.extern = "aten.mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
  func.func private @mm1(tensor<262144x256xbf16>, tensor<256x256xbf16>) -> tensor<262144x256xbf16> attributes {fuse.extern = "aten.mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
}

// -----

// Must not fire: more than 256 columns.
// CHECK-LABEL: func.func @main
// CHECK-NOT: fuse.wide
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<262144x64xbf16>, %w0: tensor<64x264xbf16>, %w1: tensor<264x264xbf16>, %w2: tensor<264x264xbf16>, %w3: tensor<264x264xbf16>) -> tensor<262144x264xbf16> {
    %y0 = call @mm0(%x, %w0) : (tensor<262144x64xbf16>, tensor<64x264xbf16>) -> tensor<262144x264xbf16>
    %f0 = "fuse.empty"() {syms = []} : () -> tensor<262144x264xbf16>
    %z0 = call @between0(%y0, %f0) : (tensor<262144x264xbf16>, tensor<262144x264xbf16>) -> tensor<262144x264xbf16>
    %y1 = call @mm1(%z0, %w1) : (tensor<262144x264xbf16>, tensor<264x264xbf16>) -> tensor<262144x264xbf16>
    %f1 = "fuse.empty"() {syms = []} : () -> tensor<262144x264xbf16>
    %z1 = call @between1(%y1, %f1) : (tensor<262144x264xbf16>, tensor<262144x264xbf16>) -> tensor<262144x264xbf16>
    %y2 = call @mm2(%z1, %w2) : (tensor<262144x264xbf16>, tensor<264x264xbf16>) -> tensor<262144x264xbf16>
    %f2 = "fuse.empty"() {syms = []} : () -> tensor<262144x264xbf16>
    %z2 = call @between2(%y2, %f2) : (tensor<262144x264xbf16>, tensor<262144x264xbf16>) -> tensor<262144x264xbf16>
    %y3 = call @mm3(%z2, %w3) : (tensor<262144x264xbf16>, tensor<264x264xbf16>) -> tensor<262144x264xbf16>
    return %y3 : tensor<262144x264xbf16>
  }
  func.func private @mm0(tensor<262144x64xbf16>, tensor<64x264xbf16>) -> tensor<262144x264xbf16> attributes {fuse.extern = "aten.mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
  func.func private @between0(%x: tensor<262144x264xbf16>, %o: tensor<262144x264xbf16>) -> tensor<262144x264xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "262144", d1 = "264"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<262144x264xbf16>, i1, bf16) -> bf16
    %s = arith.maximumf %a, %zero : bf16
    %r = "fuse.store"(%o, %s, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<262144x264xbf16>, bf16, i1) -> tensor<262144x264xbf16>
    return %r : tensor<262144x264xbf16>
  }
  func.func private @mm1(tensor<262144x264xbf16>, tensor<264x264xbf16>) -> tensor<262144x264xbf16> attributes {fuse.extern = "aten.mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
  func.func private @between1(%x: tensor<262144x264xbf16>, %o: tensor<262144x264xbf16>) -> tensor<262144x264xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "262144", d1 = "264"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<262144x264xbf16>, i1, bf16) -> bf16
    %s = arith.maximumf %a, %zero : bf16
    %r = "fuse.store"(%o, %s, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<262144x264xbf16>, bf16, i1) -> tensor<262144x264xbf16>
    return %r : tensor<262144x264xbf16>
  }
  func.func private @mm2(tensor<262144x264xbf16>, tensor<264x264xbf16>) -> tensor<262144x264xbf16> attributes {fuse.extern = "aten.mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
  func.func private @between2(%x: tensor<262144x264xbf16>, %o: tensor<262144x264xbf16>) -> tensor<262144x264xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "262144", d1 = "264"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<262144x264xbf16>, i1, bf16) -> bf16
    %s = arith.maximumf %a, %zero : bf16
    %r = "fuse.store"(%o, %s, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<262144x264xbf16>, bf16, i1) -> tensor<262144x264xbf16>
    return %r : tensor<262144x264xbf16>
  }
  func.func private @mm3(tensor<262144x264xbf16>, tensor<264x264xbf16>) -> tensor<262144x264xbf16> attributes {fuse.extern = "aten.mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
}

// -----

// Must not fire: something is reduced between the products.
// CHECK-LABEL: func.func @main
// CHECK-NOT: fuse.wide
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<262144x64xbf16>, %w0: tensor<64x256xbf16>, %w1: tensor<256x256xbf16>, %w2: tensor<256x256xbf16>, %w3: tensor<256x256xbf16>) -> tensor<262144x256xbf16> {
    %y0 = call @mm0(%x, %w0) : (tensor<262144x64xbf16>, tensor<64x256xbf16>) -> tensor<262144x256xbf16>
    %f0 = "fuse.empty"() {syms = []} : () -> tensor<262144x256xbf16>
    %z0 = call @between0(%y0, %f0) : (tensor<262144x256xbf16>, tensor<262144x256xbf16>) -> tensor<262144x256xbf16>
    %y1 = call @mm1(%z0, %w1) : (tensor<262144x256xbf16>, tensor<256x256xbf16>) -> tensor<262144x256xbf16>
    %f1 = "fuse.empty"() {syms = []} : () -> tensor<262144x256xbf16>
    %z1 = call @between1(%y1, %f1) : (tensor<262144x256xbf16>, tensor<262144x256xbf16>) -> tensor<262144x256xbf16>
    %y2 = call @mm2(%z1, %w2) : (tensor<262144x256xbf16>, tensor<256x256xbf16>) -> tensor<262144x256xbf16>
    %f2 = "fuse.empty"() {syms = []} : () -> tensor<262144x256xbf16>
    %z2 = call @between2(%y2, %f2) : (tensor<262144x256xbf16>, tensor<262144x256xbf16>) -> tensor<262144x256xbf16>
    %y3 = call @mm3(%z2, %w3) : (tensor<262144x256xbf16>, tensor<256x256xbf16>) -> tensor<262144x256xbf16>
    return %y3 : tensor<262144x256xbf16>
  }
  func.func private @mm0(tensor<262144x64xbf16>, tensor<64x256xbf16>) -> tensor<262144x256xbf16> attributes {fuse.extern = "aten.mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
  func.func private @between0(%x: tensor<262144x256xbf16>, %o: tensor<262144x256xbf16>) -> tensor<262144x256xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "262144", d1 = "256"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<262144x256xbf16>, i1, bf16) -> bf16
    %m = "fuse.reduce"(%a) {kind = "max", over = ["d1"]} : (bf16) -> bf16
    %s = arith.subf %a, %m : bf16
    %r = "fuse.store"(%o, %s, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<262144x256xbf16>, bf16, i1) -> tensor<262144x256xbf16>
    return %r : tensor<262144x256xbf16>
  }
  func.func private @mm1(tensor<262144x256xbf16>, tensor<256x256xbf16>) -> tensor<262144x256xbf16> attributes {fuse.extern = "aten.mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
  func.func private @between1(%x: tensor<262144x256xbf16>, %o: tensor<262144x256xbf16>) -> tensor<262144x256xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "262144", d1 = "256"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<262144x256xbf16>, i1, bf16) -> bf16
    %m = "fuse.reduce"(%a) {kind = "max", over = ["d1"]} : (bf16) -> bf16
    %s = arith.subf %a, %m : bf16
    %r = "fuse.store"(%o, %s, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<262144x256xbf16>, bf16, i1) -> tensor<262144x256xbf16>
    return %r : tensor<262144x256xbf16>
  }
  func.func private @mm2(tensor<262144x256xbf16>, tensor<256x256xbf16>) -> tensor<262144x256xbf16> attributes {fuse.extern = "aten.mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
  func.func private @between2(%x: tensor<262144x256xbf16>, %o: tensor<262144x256xbf16>) -> tensor<262144x256xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "262144", d1 = "256"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<262144x256xbf16>, i1, bf16) -> bf16
    %m = "fuse.reduce"(%a) {kind = "max", over = ["d1"]} : (bf16) -> bf16
    %s = arith.subf %a, %m : bf16
    %r = "fuse.store"(%o, %s, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<262144x256xbf16>, bf16, i1) -> tensor<262144x256xbf16>
    return %r : tensor<262144x256xbf16>
  }
  func.func private @mm3(tensor<262144x256xbf16>, tensor<256x256xbf16>) -> tensor<262144x256xbf16> attributes {fuse.extern = "aten.mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
}

// -----

// Must not fire: a kernel makes the weights of one product.
// CHECK-LABEL: func.func @main
// CHECK-NOT: fuse.wide
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<262144x64xbf16>, %w0: tensor<64x256xbf16>, %w1: tensor<256x256xf32>) -> tensor<262144x256xbf16> {
    %y0 = call @mm0(%x, %w0) : (tensor<262144x64xbf16>, tensor<64x256xbf16>) -> tensor<262144x256xbf16>
    %f0 = "fuse.empty"() {syms = []} : () -> tensor<262144x256xbf16>
    %z0 = call @between0(%y0, %f0) : (tensor<262144x256xbf16>, tensor<262144x256xbf16>) -> tensor<262144x256xbf16>
    %f = "fuse.empty"() {syms = []} : () -> tensor<256x256xbf16>
    %c = call @cast(%w1, %f) : (tensor<256x256xf32>, tensor<256x256xbf16>) -> tensor<256x256xbf16>
    %y1 = call @mm1(%z0, %c) : (tensor<262144x256xbf16>, tensor<256x256xbf16>) -> tensor<262144x256xbf16>
    return %y1 : tensor<262144x256xbf16>
  }
  func.func private @mm0(tensor<262144x64xbf16>, tensor<64x256xbf16>) -> tensor<262144x256xbf16> attributes {fuse.extern = "aten.mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
  func.func private @between0(%x: tensor<262144x256xbf16>, %o: tensor<262144x256xbf16>) -> tensor<262144x256xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "262144", d1 = "256"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<262144x256xbf16>, i1, bf16) -> bf16
    %s = arith.maximumf %a, %zero : bf16
    %r = "fuse.store"(%o, %s, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<262144x256xbf16>, bf16, i1) -> tensor<262144x256xbf16>
    return %r : tensor<262144x256xbf16>
  }
  func.func private @mm1(tensor<262144x256xbf16>, tensor<256x256xbf16>) -> tensor<262144x256xbf16> attributes {fuse.extern = "aten.mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
  func.func private @cast(%x: tensor<256x256xf32>, %o: tensor<256x256xbf16>) -> tensor<256x256xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "256", d1 = "256"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<256x256xf32>, i1, f32) -> f32
    %s = arith.truncf %a : f32 to bf16
    %r = "fuse.store"(%o, %s, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<256x256xbf16>, bf16, i1) -> tensor<256x256xbf16>
    return %r : tensor<256x256xbf16>
  }
}

// -----

// The library computes ReLU with each product.
// CHECK-LABEL: func.func @main
// CHECK-COUNT-4: fuse.wide
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%b: tensor<256xbf16>, %x: tensor<262144x256xbf16>, %w0: tensor<256x256xbf16>, %w1: tensor<256x256xbf16>, %w2: tensor<256x256xbf16>, %w3: tensor<256x256xbf16>) -> tensor<262144x256xbf16> {
    %y0 = call @mm0(%b, %x, %w0) : (tensor<256xbf16>, tensor<262144x256xbf16>, tensor<256x256xbf16>) -> tensor<262144x256xbf16>
    %y1 = call @mm1(%b, %y0, %w1) : (tensor<256xbf16>, tensor<262144x256xbf16>, tensor<256x256xbf16>) -> tensor<262144x256xbf16>
    %y2 = call @mm2(%b, %y1, %w2) : (tensor<256xbf16>, tensor<262144x256xbf16>, tensor<256x256xbf16>) -> tensor<262144x256xbf16>
    %y3 = call @mm3(%b, %y2, %w3) : (tensor<256xbf16>, tensor<262144x256xbf16>, tensor<256x256xbf16>) -> tensor<262144x256xbf16>
    return %y3 : tensor<262144x256xbf16>
  }
  func.func private @mm0(tensor<256xbf16>, tensor<262144x256xbf16>, tensor<256x256xbf16>) -> tensor<262144x256xbf16> attributes {fuse.extern = "aten._addmm_activation.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>, #fuse.arg<2 : i64>], fuse.kwargs = {}}
  func.func private @mm1(tensor<256xbf16>, tensor<262144x256xbf16>, tensor<256x256xbf16>) -> tensor<262144x256xbf16> attributes {fuse.extern = "aten._addmm_activation.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>, #fuse.arg<2 : i64>], fuse.kwargs = {}}
  func.func private @mm2(tensor<256xbf16>, tensor<262144x256xbf16>, tensor<256x256xbf16>) -> tensor<262144x256xbf16> attributes {fuse.extern = "aten._addmm_activation.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>, #fuse.arg<2 : i64>], fuse.kwargs = {}}
  func.func private @mm3(tensor<256xbf16>, tensor<262144x256xbf16>, tensor<256x256xbf16>) -> tensor<262144x256xbf16> attributes {fuse.extern = "aten._addmm_activation.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>, #fuse.arg<2 : i64>], fuse.kwargs = {}}
}

// -----

// Must not fire: GELU takes a program longer than its products, which nothing hides; the library hides it.
// CHECK-LABEL: func.func @main
// CHECK-NOT: fuse.wide
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%b: tensor<256xbf16>, %x: tensor<262144x256xbf16>, %w0: tensor<256x256xbf16>, %w1: tensor<256x256xbf16>, %w2: tensor<256x256xbf16>, %w3: tensor<256x256xbf16>) -> tensor<262144x256xbf16> {
    %y0 = call @mm0(%b, %x, %w0) : (tensor<256xbf16>, tensor<262144x256xbf16>, tensor<256x256xbf16>) -> tensor<262144x256xbf16>
    %y1 = call @mm1(%b, %y0, %w1) : (tensor<256xbf16>, tensor<262144x256xbf16>, tensor<256x256xbf16>) -> tensor<262144x256xbf16>
    %y2 = call @mm2(%b, %y1, %w2) : (tensor<256xbf16>, tensor<262144x256xbf16>, tensor<256x256xbf16>) -> tensor<262144x256xbf16>
    %y3 = call @mm3(%b, %y2, %w3) : (tensor<256xbf16>, tensor<262144x256xbf16>, tensor<256x256xbf16>) -> tensor<262144x256xbf16>
    return %y3 : tensor<262144x256xbf16>
  }
  func.func private @mm0(tensor<256xbf16>, tensor<262144x256xbf16>, tensor<256x256xbf16>) -> tensor<262144x256xbf16> attributes {fuse.extern = "aten._addmm_activation.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>, #fuse.arg<2 : i64>], fuse.kwargs = {use_gelu = true}}
  func.func private @mm1(tensor<256xbf16>, tensor<262144x256xbf16>, tensor<256x256xbf16>) -> tensor<262144x256xbf16> attributes {fuse.extern = "aten._addmm_activation.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>, #fuse.arg<2 : i64>], fuse.kwargs = {use_gelu = true}}
  func.func private @mm2(tensor<256xbf16>, tensor<262144x256xbf16>, tensor<256x256xbf16>) -> tensor<262144x256xbf16> attributes {fuse.extern = "aten._addmm_activation.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>, #fuse.arg<2 : i64>], fuse.kwargs = {use_gelu = true}}
  func.func private @mm3(tensor<256xbf16>, tensor<262144x256xbf16>, tensor<256x256xbf16>) -> tensor<262144x256xbf16> attributes {fuse.extern = "aten._addmm_activation.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>, #fuse.arg<2 : i64>], fuse.kwargs = {use_gelu = true}}
}
