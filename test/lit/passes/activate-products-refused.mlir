// RUN: fuse-opt %s --pass-pipeline="builtin.module(activate-products)" --split-input-file | FileCheck %s
// RUN: fuse-opt %s --pass-pipeline="builtin.module(activate-products)" --split-input-file --remarks=text 2>&1 >/dev/null | FileCheck %s --check-prefix=SAID

// Must not fire: the sum of the product and twice a vector is no sum that the library activates.
// CHECK-LABEL: func.func @main
// CHECK: call @addmm(
// CHECK-NEXT: "fuse.empty"
// CHECK-NEXT: call @relu
// SAID: missed: activate-products: factors: @addmm is scaled, and stays apart from the activation behind it [addmm]
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%b: tensor<24xbf16>, %x: tensor<16x8xbf16>, %w: tensor<8x24xbf16>) -> tensor<16x24xbf16> {
    %y = call @addmm(%b, %x, %w) : (tensor<24xbf16>, tensor<16x8xbf16>, tensor<8x24xbf16>) -> tensor<16x24xbf16>
    %e = "fuse.empty"() {syms = []} : () -> tensor<16x24xbf16>
    %z = call @relu(%y, %e) : (tensor<16x24xbf16>, tensor<16x24xbf16>) -> tensor<16x24xbf16>
    return %z : tensor<16x24xbf16>
  }
  func.func private @addmm(tensor<24xbf16>, tensor<16x8xbf16>, tensor<8x24xbf16>) -> tensor<16x24xbf16> attributes {fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>, #fuse.arg<2 : i64>], fuse.extern = "aten.addmm.default", fuse.kwargs = {beta = 2 : i64}}
  func.func private @relu(%x: tensor<16x24xbf16>, %o: tensor<16x24xbf16>) -> tensor<16x24xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "16", d1 = "24"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<16x24xbf16>, i1, bf16) -> bf16
    %c = arith.maximumf %a, %zero : bf16
    %r = "fuse.store"(%o, %c, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<16x24xbf16>, bf16, i1) -> tensor<16x24xbf16>
    return %r : tensor<16x24xbf16>
  }
}

// -----

// Must not fire: the library has no activations of float64.
// CHECK-LABEL: func.func @main
// CHECK: call @mm(
// CHECK-NEXT: "fuse.empty"
// CHECK-NEXT: call @relu
// SAID: missed: activate-products: element: @mm multiplies f64, for which the library has no activations [mm]
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<16x8xf64>, %w: tensor<8x24xf64>) -> tensor<16x24xf64> {
    %y = call @mm(%x, %w) : (tensor<16x8xf64>, tensor<8x24xf64>) -> tensor<16x24xf64>
    %e = "fuse.empty"() {syms = []} : () -> tensor<16x24xf64>
    %z = call @relu(%y, %e) : (tensor<16x24xf64>, tensor<16x24xf64>) -> tensor<16x24xf64>
    return %z : tensor<16x24xf64>
  }
  func.func private @mm(tensor<16x8xf64>, tensor<8x24xf64>) -> tensor<16x24xf64> attributes {fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.extern = "aten.mm.default", fuse.kwargs = {}}
  func.func private @relu(%x: tensor<16x24xf64>, %o: tensor<16x24xf64>) -> tensor<16x24xf64> attributes {fuse.kernel, fuse.dims = {d0 = "16", d1 = "24"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f64
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<16x24xf64>, i1, f64) -> f64
    %c = arith.maximumf %a, %zero : f64
    %r = "fuse.store"(%o, %c, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<16x24xf64>, f64, i1) -> tensor<16x24xf64>
    return %r : tensor<16x24xf64>
  }
}

// -----

// Must not fire: nine columns.
// CHECK-LABEL: func.func @main
// CHECK: call @mm(
// CHECK-NEXT: "fuse.empty"
// CHECK-NEXT: call @relu
// SAID: missed: activate-products: sizes: @mm has a size that is 0, unknown or no multiple of 8 [mm]
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<16x8xbf16>, %w: tensor<8x9xbf16>) -> tensor<16x9xbf16> {
    %y = call @mm(%x, %w) : (tensor<16x8xbf16>, tensor<8x9xbf16>) -> tensor<16x9xbf16>
    %e = "fuse.empty"() {syms = []} : () -> tensor<16x9xbf16>
    %z = call @relu(%y, %e) : (tensor<16x9xbf16>, tensor<16x9xbf16>) -> tensor<16x9xbf16>
    return %z : tensor<16x9xbf16>
  }
  func.func private @mm(tensor<16x8xbf16>, tensor<8x9xbf16>) -> tensor<16x9xbf16> attributes {fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.extern = "aten.mm.default", fuse.kwargs = {}}
  func.func private @relu(%x: tensor<16x9xbf16>, %o: tensor<16x9xbf16>) -> tensor<16x9xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "16", d1 = "9"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<16x9xbf16>, i1, bf16) -> bf16
    %c = arith.maximumf %a, %zero : bf16
    %r = "fuse.store"(%o, %c, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<16x9xbf16>, bf16, i1) -> tensor<16x9xbf16>
    return %r : tensor<16x9xbf16>
  }
}

// -----

// Must not fire: of a sum over nothing the library returns the bias without its activation.
// CHECK-LABEL: func.func @main
// CHECK: call @mm(
// CHECK-NEXT: "fuse.empty"
// CHECK-NEXT: call @relu
// SAID: missed: activate-products: sizes: @mm has a size that is 0, unknown or no multiple of 8 [mm]
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<16x0xbf16>, %w: tensor<0x24xbf16>) -> tensor<16x24xbf16> {
    %y = call @mm(%x, %w) : (tensor<16x0xbf16>, tensor<0x24xbf16>) -> tensor<16x24xbf16>
    %e = "fuse.empty"() {syms = []} : () -> tensor<16x24xbf16>
    %z = call @relu(%y, %e) : (tensor<16x24xbf16>, tensor<16x24xbf16>) -> tensor<16x24xbf16>
    return %z : tensor<16x24xbf16>
  }
  func.func private @mm(tensor<16x0xbf16>, tensor<0x24xbf16>) -> tensor<16x24xbf16> attributes {fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.extern = "aten.mm.default", fuse.kwargs = {}}
  func.func private @relu(%x: tensor<16x24xbf16>, %o: tensor<16x24xbf16>) -> tensor<16x24xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "16", d1 = "24"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<16x24xbf16>, i1, bf16) -> bf16
    %c = arith.maximumf %a, %zero : bf16
    %r = "fuse.store"(%o, %c, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<16x24xbf16>, bf16, i1) -> tensor<16x24xbf16>
    return %r : tensor<16x24xbf16>
  }
}

// -----

// Must not fire: a matrix is added.
// CHECK-LABEL: func.func @main
// CHECK: call @addmm(
// CHECK-NEXT: "fuse.empty"
// CHECK-NEXT: call @relu
// SAID: missed: activate-products: bias: @addmm has a bias that is no contiguous vector of its type [addmm]
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%b: tensor<16x24xbf16>, %x: tensor<16x8xbf16>, %w: tensor<8x24xbf16>) -> tensor<16x24xbf16> {
    %y = call @addmm(%b, %x, %w) : (tensor<16x24xbf16>, tensor<16x8xbf16>, tensor<8x24xbf16>) -> tensor<16x24xbf16>
    %e = "fuse.empty"() {syms = []} : () -> tensor<16x24xbf16>
    %z = call @relu(%y, %e) : (tensor<16x24xbf16>, tensor<16x24xbf16>) -> tensor<16x24xbf16>
    return %z : tensor<16x24xbf16>
  }
  func.func private @addmm(tensor<16x24xbf16>, tensor<16x8xbf16>, tensor<8x24xbf16>) -> tensor<16x24xbf16> attributes {fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>, #fuse.arg<2 : i64>], fuse.extern = "aten.addmm.default", fuse.kwargs = {}}
  func.func private @relu(%x: tensor<16x24xbf16>, %o: tensor<16x24xbf16>) -> tensor<16x24xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "16", d1 = "24"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<16x24xbf16>, i1, bf16) -> bf16
    %c = arith.maximumf %a, %zero : bf16
    %r = "fuse.store"(%o, %c, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<16x24xbf16>, bf16, i1) -> tensor<16x24xbf16>
    return %r : tensor<16x24xbf16>
  }
}

// -----

// Must not fire: the activation is stored by columns.
// CHECK-LABEL: func.func @main
// CHECK: call @mm(
// CHECK-NEXT: "fuse.empty"
// CHECK-NEXT: call @relu
// SAID: missed: activate-products: layout: @mm has a result with gaps [mm]
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<16x8xbf16>, %w: tensor<8x24xbf16>) -> tensor<16x24xbf16, #fuse.layout<"16,24", "1,16", "0", "">> {
    %y = call @mm(%x, %w) : (tensor<16x8xbf16>, tensor<8x24xbf16>) -> tensor<16x24xbf16>
    %e = "fuse.empty"() {syms = []} : () -> tensor<16x24xbf16, #fuse.layout<"16,24", "1,16", "0", "">>
    %z = call @relu(%y, %e) : (tensor<16x24xbf16>, tensor<16x24xbf16, #fuse.layout<"16,24", "1,16", "0", "">>) -> tensor<16x24xbf16, #fuse.layout<"16,24", "1,16", "0", "">>
    return %z : tensor<16x24xbf16, #fuse.layout<"16,24", "1,16", "0", "">>
  }
  func.func private @mm(tensor<16x8xbf16>, tensor<8x24xbf16>) -> tensor<16x24xbf16> attributes {fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.extern = "aten.mm.default", fuse.kwargs = {}}
  func.func private @relu(%x: tensor<16x24xbf16>, %o: tensor<16x24xbf16, #fuse.layout<"16,24", "1,16", "0", "">>) -> tensor<16x24xbf16, #fuse.layout<"16,24", "1,16", "0", "">> attributes {fuse.kernel, fuse.dims = {d0 = "16", d1 = "24"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<16x24xbf16>, i1, bf16) -> bf16
    %c = arith.maximumf %a, %zero : bf16
    %r = "fuse.store"(%o, %c, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<16x24xbf16, #fuse.layout<"16,24", "1,16", "0", "">>, bf16, i1) -> tensor<16x24xbf16, #fuse.layout<"16,24", "1,16", "0", "">>
    return %r : tensor<16x24xbf16, #fuse.layout<"16,24", "1,16", "0", "">>
  }
}
