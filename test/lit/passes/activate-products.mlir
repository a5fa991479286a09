// RUN: fuse-opt %s --pass-pipeline="builtin.module(activate-products,activate-products)" --split-input-file | FileCheck %s
// RUN: fuse-opt %s --pass-pipeline="builtin.module(activate-products)" --split-input-file --remarks=text 2>&1 >/dev/null | FileCheck %s --check-prefix=SAID
// RUN: fuse-opt %s --pass-pipeline="builtin.module(activate-products{where=nowhere})" --split-input-file | FileCheck %s --check-prefix=NOWHERE
// RUN: not fuse-opt %s --pass-pipeline="builtin.module(activate-products{where=here})" --split-input-file 2>&1 | FileCheck %s --check-prefix=BAD
// BAD: error: option 'where' of pass 'activate-products' takes gpu or everywhere or nowhere, got 'here'

// ReLU of a view: the product gets a bias of zeros, and the view is one of its result.
// CHECK-LABEL: func.func @main
// CHECK: %[[E:.*]] = "fuse.empty"() {syms = []} : () -> tensor<24xbf16>
// CHECK-NEXT: %[[Z:.*]] = call @zeros(%[[E]])
// CHECK-NEXT: %[[P:.*]] = call @_addmm_activation_default(%[[Z]], %arg0, %arg1)
// CHECK-NEXT: %[[R:.*]] = "fuse.view"(%[[P]]) {map = ["v0*8 + v1", "v2"], syms = []} : (tensor<16x24xbf16>) -> tensor<2x8x24xbf16>
// CHECK-NEXT: return %[[R]]
// CHECK: func.func private @zeros({{.*}}fuse.dims = {d0 = "24"}
// CHECK: func.func private @_addmm_activation_default({{.*}} attributes {fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>, #fuse.arg<2 : i64>], fuse.extern = "aten._addmm_activation.default", fuse.kwargs = {}}
// CHECK-NOT: @relu
// SAID: passed: activate-products: activated: @mm computes the relu behind it [mm]
// NOWHERE-LABEL: func.func @main
// NOWHERE: call @mm(
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<16x8xbf16>, %w: tensor<8x24xbf16>) -> tensor<2x8x24xbf16> {
    %y = call @mm(%x, %w) : (tensor<16x8xbf16>, tensor<8x24xbf16>) -> tensor<16x24xbf16>
    %v = "fuse.view"(%y) {map = ["v0*8 + v1", "v2"], syms = []} : (tensor<16x24xbf16>) -> tensor<2x8x24xbf16>
    %e = "fuse.empty"() {syms = []} : () -> tensor<2x8x24xbf16>
    %z = call @relu(%v, %e) : (tensor<2x8x24xbf16>, tensor<2x8x24xbf16>) -> tensor<2x8x24xbf16>
    return %z : tensor<2x8x24xbf16>
  }
  func.func private @mm(tensor<16x8xbf16>, tensor<8x24xbf16>) -> tensor<16x24xbf16> attributes {fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.extern = "aten.mm.default", fuse.kwargs = {}}
  func.func private @relu(%x: tensor<2x8x24xbf16>, %o: tensor<2x8x24xbf16>) -> tensor<2x8x24xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "2", d1 = "8", d2 = "24"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %cst = arith.constant 0.0 : bf16
    %a = "fuse.load"(%x, %true, %cst) {at = ["d0", "d1", "d2"]} : (tensor<2x8x24xbf16>, i1, bf16) -> bf16
    %b = arith.extf %a : bf16 to f32
    %zero = arith.constant 0.0 : f32
    %c = arith.maximumf %b, %zero : f32
    %d = arith.truncf %c : f32 to bf16
    %r = "fuse.store"(%o, %d, %true) {at = ["d0", "d1", "d2"], mode = "set"} : (tensor<2x8x24xbf16>, bf16, i1) -> tensor<2x8x24xbf16>
    return %r : tensor<2x8x24xbf16>
  }
}

// -----

// GELU by tanh, in two kernels, behind a product with a bias.
// CHECK-LABEL: func.func @main
// CHECK: %[[P:.*]] = call @_addmm_activation_default(%arg0, %arg1, %arg2)
// CHECK-NEXT: return %[[P]]
// CHECK: fuse.kwargs = {use_gelu = true}
// SAID-NEXT: passed: activate-products: activated: @addmm computes the gelu behind it [addmm]
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%b: tensor<24xbf16>, %x: tensor<16x8xbf16>, %w: tensor<8x24xbf16>) -> tensor<16x24xbf16> {
    %y = call @addmm(%b, %x, %w) : (tensor<24xbf16>, tensor<16x8xbf16>, tensor<8x24xbf16>) -> tensor<16x24xbf16>
    %e = "fuse.empty"() {syms = []} : () -> tensor<16x24xf32>
    %t = call @bend(%y, %e) : (tensor<16x24xbf16>, tensor<16x24xf32>) -> tensor<16x24xf32>
    %f = "fuse.empty"() {syms = []} : () -> tensor<16x24xbf16>
    %z = call @gate(%t, %y, %f) : (tensor<16x24xf32>, tensor<16x24xbf16>, tensor<16x24xbf16>) -> tensor<16x24xbf16>
    return %z : tensor<16x24xbf16>
  }
  func.func private @addmm(tensor<24xbf16>, tensor<16x8xbf16>, tensor<8x24xbf16>) -> tensor<16x24xbf16> attributes {fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>, #fuse.arg<2 : i64>], fuse.extern = "aten.addmm.default", fuse.kwargs = {}}
  func.func private @bend(%x: tensor<16x24xbf16>, %o: tensor<16x24xf32>) -> tensor<16x24xf32> attributes {fuse.kernel, fuse.dims = {d0 = "16", d1 = "24"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %cst = arith.constant 0.0 : bf16
    %l = "fuse.load"(%x, %true, %cst) {at = ["d0", "d1"]} : (tensor<16x24xbf16>, i1, bf16) -> bf16
    %a = arith.extf %l : bf16 to f32
    %s = arith.mulf %a, %a : f32
    %c = arith.mulf %s, %a : f32
    %k = arith.constant 0.044715 : f32
    %m = arith.mulf %c, %k : f32
    %p = arith.addf %a, %m : f32
    %n = arith.constant 0.797884583 : f32
    %q = arith.mulf %p, %n : f32
    %t = math.tanh %q : f32
    %r = "fuse.store"(%o, %t, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<16x24xf32>, f32, i1) -> tensor<16x24xf32>
    return %r : tensor<16x24xf32>
  }
  func.func private @gate(%t: tensor<16x24xf32>, %x: tensor<16x24xbf16>, %o: tensor<16x24xbf16>) -> tensor<16x24xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "16", d1 = "24"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %cst = arith.constant 0.0 : bf16
    %zero = arith.constant 0.0 : f32
    %l = "fuse.load"(%x, %true, %cst) {at = ["d0", "d1"]} : (tensor<16x24xbf16>, i1, bf16) -> bf16
    %a = arith.extf %l : bf16 to f32
    %b = "fuse.load"(%t, %true, %zero) {at = ["d0", "d1"]} : (tensor<16x24xf32>, i1, f32) -> f32
    %one = arith.constant 1.0 : f32
    %half = arith.constant 0.5 : f32
    %c = arith.addf %b, %one : f32
    %d = arith.mulf %c, %half : f32
    %g = arith.mulf %a, %d : f32
    %h = arith.truncf %g : f32 to bf16
    %r = "fuse.store"(%o, %h, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<16x24xbf16>, bf16, i1) -> tensor<16x24xbf16>
    return %r : tensor<16x24xbf16>
  }
}

// -----

// Must not fire: @across reads the transpose, @floor takes a maximum of 1, and the graph returns the product too.
// CHECK-LABEL: func.func @main
// CHECK-NOT: _addmm_activation
// SAID-NOT: activate-products: 
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<16x16xbf16>, %w: tensor<16x16xbf16>) -> (tensor<16x16xbf16>, tensor<16x16xbf16>, tensor<16x16xbf16>, tensor<16x16xbf16>) {
    %y = call @mm(%x, %w) : (tensor<16x16xbf16>, tensor<16x16xbf16>) -> tensor<16x16xbf16>
    %e = "fuse.empty"() {syms = []} : () -> tensor<16x16xbf16>
    %z = call @across(%y, %e) : (tensor<16x16xbf16>, tensor<16x16xbf16>) -> tensor<16x16xbf16>
    %i = call @mm(%w, %x) : (tensor<16x16xbf16>, tensor<16x16xbf16>) -> tensor<16x16xbf16>
    %f = "fuse.empty"() {syms = []} : () -> tensor<16x16xbf16>
    %j = call @floor(%i, %f) : (tensor<16x16xbf16>, tensor<16x16xbf16>) -> tensor<16x16xbf16>
    %k = call @mm(%w, %w) : (tensor<16x16xbf16>, tensor<16x16xbf16>) -> tensor<16x16xbf16>
    %g = "fuse.empty"() {syms = []} : () -> tensor<16x16xbf16>
    %l = call @relu(%k, %g) : (tensor<16x16xbf16>, tensor<16x16xbf16>) -> tensor<16x16xbf16>
    return %z, %j, %k, %l : tensor<16x16xbf16>, tensor<16x16xbf16>, tensor<16x16xbf16>, tensor<16x16xbf16>
  }
  func.func private @mm(tensor<16x16xbf16>, tensor<16x16xbf16>) -> tensor<16x16xbf16> attributes {fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.extern = "aten.mm.default", fuse.kwargs = {}}
  func.func private @across(%x: tensor<16x16xbf16>, %o: tensor<16x16xbf16>) -> tensor<16x16xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "16", d1 = "16"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %a = "fuse.load"(%x, %true, %zero) {at = ["d1", "d0"]} : (tensor<16x16xbf16>, i1, bf16) -> bf16
    %c = arith.maximumf %a, %zero : bf16
    %r = "fuse.store"(%o, %c, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<16x16xbf16>, bf16, i1) -> tensor<16x16xbf16>
    return %r : tensor<16x16xbf16>
  }
  func.func private @floor(%x: tensor<16x16xbf16>, %o: tensor<16x16xbf16>) -> tensor<16x16xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "16", d1 = "16"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %one = arith.constant 1.0 : bf16
    %a = "fuse.load"(%x, %true, %one) {at = ["d0", "d1"]} : (tensor<16x16xbf16>, i1, bf16) -> bf16
    %c = arith.maximumf %a, %one : bf16
    %r = "fuse.store"(%o, %c, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<16x16xbf16>, bf16, i1) -> tensor<16x16xbf16>
    return %r : tensor<16x16xbf16>
  }
  func.func private @relu(%x: tensor<16x16xbf16>, %o: tensor<16x16xbf16>) -> tensor<16x16xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "16", d1 = "16"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<16x16xbf16>, i1, bf16) -> bf16
    %c = arith.maximumf %a, %zero : bf16
    %r = "fuse.store"(%o, %c, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<16x16xbf16>, bf16, i1) -> tensor<16x16xbf16>
    return %r : tensor<16x16xbf16>
  }
}
