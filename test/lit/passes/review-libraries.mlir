// RUN: fuse-opt %s --pass-pipeline="builtin.module(choose-libraries{hardware=h200},fold-views,fuse-vertical{hardware=h200},review-libraries{hardware=h200})" --split-input-file | FileCheck %s
// RUN: fuse-opt %s --pass-pipeline="builtin.module(choose-libraries{hardware=h200},fold-views,fuse-vertical{hardware=h200},review-libraries{hardware=h200})" --split-input-file --remarks=text 2>&1 >/dev/null | FileCheck %s --check-prefix=SAID
// RUN: fuse-opt %s --pass-pipeline="builtin.module(choose-libraries{hardware=h200},fold-views,review-libraries{hardware=h200},review-libraries{hardware=h200})" --split-input-file --verify-each=on | FileCheck %s --check-prefix=ALONE
// RUN: fuse-opt %s --pass-pipeline="builtin.module(choose-libraries{hardware=h200},fold-views,review-libraries{hardware=h200},review-libraries{hardware=h200})" --split-input-file --remarks=text 2>&1 >/dev/null | FileCheck %s --check-prefix=TOLD
// RUN: fuse-opt %s --pass-pipeline="builtin.module(choose-libraries{hardware=h200 products=generated},fold-views,review-libraries{hardware=h200})" --split-input-file | FileCheck %s --check-prefix=GENERATED
// RUN: not fuse-opt %s --pass-pipeline="builtin.module(review-libraries{hardware=mine})" --split-input-file 2>&1 | FileCheck %s --check-prefix=BAD
// BAD: error: review-libraries: unknown hardware 'mine': expected one of

// ALONE is without fusion.  The weights are widened in the kernel of the product: it stays one.
// CHECK-LABEL: func.func @main
// CHECK: call @widen({{.*}}) {fuse.group = 0 : i64}
// CHECK: call @mm_kernel({{.*}}) {fuse.choice = [{call_us = {{.*}}, kernel_us = {{.*}}, nodes = [], revocable, rule = "kernel"}], fuse.group = 0 : i64}
// CHECK-NOT: fuse.instead
// SAID: passed: fuse-vertical: fused
// SAID: analysis: review-libraries: kernel, kernel_us={{[0-9.]+}}, call_us={{[0-9.]+}}: @mm_kernel stays a kernel [mm_kernel]
//
// They are not: the call is made again, with a view of what the kernel read, and what follows it fuses.
// ALONE-LABEL: func.func @main
// ALONE: %[[W:.*]] = call @widen(
// ALONE-NEXT: %[[V:.*]] = "fuse.view"(%[[W]]) {map = ["v1", "v0"], syms = []} : {{.*}} -> tensor<4096x14336xf32, #fuse.layout<"4096,14336", "1,4096", "0", "">>
// ALONE-NEXT: %[[Y:.*]] = call @mm(%{{.*}}, %[[V]])
// ALONE-NEXT: fuse.empty
// ALONE-NEXT: call @double(%[[Y]], %{{.*}}) {fuse.group = 0 : i64}
// ALONE-NEXT: fuse.empty
// ALONE-NEXT: call @square({{.*}}) {fuse.group = 0 : i64}
// ALONE-NOT: @mm_kernel
// ALONE: func.func private @mm({{.*}} fuse.extern = "aten.mm.default"
// TOLD: passed: review-libraries: library, kernel_us={{[0-9.]+}}, call_us={{[0-9.]+}}: @mm_kernel goes back to the library
// TOLD: passed: fuse-vertical: fused, {{.*}} [double + square]
//
// Must not fire: a kernel that no estimate chose does not remember a call.
// GENERATED-LABEL: func.func @main
// GENERATED: call @mm_kernel(
// GENERATED: call @double({{[^{]*}} :
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<4x4096xf32>, %q: tensor<14336x4096xi8>) -> tensor<4x14336xf32> {
    %e = "fuse.empty"() {syms = []} : () -> tensor<14336x4096xf32>
    %w = call @widen(%q, %e) : (tensor<14336x4096xi8>, tensor<14336x4096xf32>) -> tensor<14336x4096xf32>
    %t = "fuse.view"(%w) {map = ["v1", "v0"], syms = []} : (tensor<14336x4096xf32>) -> tensor<4096x14336xf32, #fuse.layout<"4096,14336", "1,4096", "0", "">>
    %y = call @mm(%x, %t) : (tensor<4x4096xf32>, tensor<4096x14336xf32, #fuse.layout<"4096,14336", "1,4096", "0", "">>) -> tensor<4x14336xf32>
    %f = "fuse.empty"() {syms = []} : () -> tensor<4x14336xf32>
    %s = call @double(%y, %f) : (tensor<4x14336xf32>, tensor<4x14336xf32>) -> tensor<4x14336xf32>
    %g = "fuse.empty"() {syms = []} : () -> tensor<4x14336xf32>
    %r = call @square(%s, %g) : (tensor<4x14336xf32>, tensor<4x14336xf32>) -> tensor<4x14336xf32>
    return %r : tensor<4x14336xf32>
  }
  func.func private @widen(%x: tensor<14336x4096xi8>, %o: tensor<14336x4096xf32>) -> tensor<14336x4096xf32> attributes {fuse.kernel, fuse.dims = {d0 = "14336", d1 = "4096"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0 : i8
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<14336x4096xi8>, i1, i8) -> i8
    %w = arith.sitofp %v : i8 to f32
    %r = "fuse.store"(%o, %w, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<14336x4096xf32>, f32, i1) -> tensor<14336x4096xf32>
    return %r : tensor<14336x4096xf32>
  }
  func.func private @double(%x: tensor<4x14336xf32>, %o: tensor<4x14336xf32>) -> tensor<4x14336xf32> attributes {fuse.kernel, fuse.dims = {d0 = "4", d1 = "14336"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<4x14336xf32>, i1, f32) -> f32
    %w = arith.addf %v, %v : f32
    %r = "fuse.store"(%o, %w, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<4x14336xf32>, f32, i1) -> tensor<4x14336xf32>
    return %r : tensor<4x14336xf32>
  }
  func.func private @square(%x: tensor<4x14336xf32>, %o: tensor<4x14336xf32>) -> tensor<4x14336xf32> attributes {fuse.kernel, fuse.dims = {d0 = "4", d1 = "14336"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<4x14336xf32>, i1, f32) -> f32
    %w = arith.mulf %v, %v : f32
    %r = "fuse.store"(%o, %w, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<4x14336xf32>, f32, i1) -> tensor<4x14336xf32>
    return %r : tensor<4x14336xf32>
  }
  func.func private @mm(tensor<4x4096xf32>, tensor<4096x14336xf32, #fuse.layout<"4096,14336", "1,4096", "0", "">>) -> tensor<4x14336xf32> attributes {fuse.extern = "aten.mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
}

// -----

// What is added is a row that a view repeats: the view is made again.
// ALONE-LABEL: func.func @main
// ALONE: %[[R:.*]] = "fuse.view"(%arg0) {map = ["0", "v1"], syms = []} : (tensor<1x14336xf32>) -> tensor<4x14336xf32, #fuse.layout<"4,14336", "0,1", "0", "">>
// ALONE: call @added(%[[R]], %{{.*}}, %{{.*}})
// ALONE: func.func private @added({{.*}} fuse.kwargs = {alpha = 2 : i64}
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%c: tensor<1x14336xf32>, %q: tensor<14336x4096xi8>, %x: tensor<4x4096xf32>) -> tensor<4x14336xf32> {
    %e = "fuse.empty"() {syms = []} : () -> tensor<14336x4096xf32>
    %w = call @widen(%q, %e) : (tensor<14336x4096xi8>, tensor<14336x4096xf32>) -> tensor<14336x4096xf32>
    %t = "fuse.view"(%w) {map = ["v1", "v0"], syms = []} : (tensor<14336x4096xf32>) -> tensor<4096x14336xf32, #fuse.layout<"4096,14336", "1,4096", "0", "">>
    %r = "fuse.view"(%c) {map = ["0", "v1"], syms = []} : (tensor<1x14336xf32>) -> tensor<4x14336xf32, #fuse.layout<"4,14336", "0,1", "0", "">>
    %y = call @added(%r, %x, %t) : (tensor<4x14336xf32, #fuse.layout<"4,14336", "0,1", "0", "">>, tensor<4x4096xf32>, tensor<4096x14336xf32, #fuse.layout<"4096,14336", "1,4096", "0", "">>) -> tensor<4x14336xf32>
    return %y : tensor<4x14336xf32>
  }
  func.func private @widen(%x: tensor<14336x4096xi8>, %o: tensor<14336x4096xf32>) -> tensor<14336x4096xf32> attributes {fuse.kernel, fuse.dims = {d0 = "14336", d1 = "4096"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0 : i8
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<14336x4096xi8>, i1, i8) -> i8
    %w = arith.sitofp %v : i8 to f32
    %r = "fuse.store"(%o, %w, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<14336x4096xf32>, f32, i1) -> tensor<14336x4096xf32>
    return %r : tensor<14336x4096xf32>
  }
  func.func private @added(tensor<4x14336xf32, #fuse.layout<"4,14336", "0,1", "0", "">>, tensor<4x4096xf32>, tensor<4096x14336xf32, #fuse.layout<"4096,14336", "1,4096", "0", "">>) -> tensor<4x14336xf32> attributes {fuse.extern = "aten.addmm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>, #fuse.arg<2 : i64>], fuse.kwargs = {alpha = 2 : i64}}
}
