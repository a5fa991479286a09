// RUN: fuse-opt %s --pass-pipeline="builtin.module(choose-libraries{hardware=h200},fold-views,fuse-vertical{hardware=h200},review-libraries{hardware=h200 fusions=%S/Inputs/review-libraries.json})" --remarks=text -o %t 2>&1 | FileCheck %s --check-prefix=SAID
// RUN: fuse-opt %s --pass-pipeline="builtin.module(choose-libraries{hardware=h200},fold-views,fuse-vertical{hardware=h200},review-libraries{hardware=h200 fusions=%S/Inputs/review-libraries.json})" | FileCheck %s
// RUN: fuse-opt %s --pass-pipeline="builtin.module(choose-libraries{hardware=h200},fold-views,review-libraries{hardware=h200 fusions=%S/Inputs/review-libraries.json})" --remarks=text 2>&1 | FileCheck %s --check-prefix=ALONE
// RUN: fuse-opt %s --pass-pipeline="builtin.module(choose-libraries{hardware=h200},fold-views,fuse-vertical{hardware=h200},review-libraries{hardware=h200 back=all})" | FileCheck %s --check-prefix=ALL
// RUN: fuse-opt %s --pass-pipeline="builtin.module(choose-libraries{hardware=h200},fold-views,fuse-vertical{hardware=h200},review-libraries{hardware=h200 spilled=add,mm})" | FileCheck %s --check-prefix=ALL
// RUN: fuse-opt %s --pass-pipeline="builtin.module(choose-libraries{hardware=h200},fold-views,fuse-vertical{hardware=h200},review-libraries{hardware=h200 spilled=add,mm})" --remarks=text -o %t 2>&1 | FileCheck %s --check-prefix=SPILLED
// RUN: fuse-opt %s --pass-pipeline="builtin.module(choose-libraries{hardware=h200},fold-views,fuse-vertical{hardware=h200},review-libraries{hardware=h200 spilled=add})" --remarks=text 2>&1 | FileCheck %s --check-prefix=OTHER
// RUN: fuse-opt %s --pass-pipeline="builtin.module(choose-libraries{hardware=h200},fold-views,review-libraries{hardware=h200 fusions=%S/Inputs/review-libraries.json spilled=mm})" --remarks=text 2>&1 | FileCheck %s --check-prefix=ALONE
// RUN: not fuse-opt %s --pass-pipeline="builtin.module(review-libraries{back=none})" 2>&1 | FileCheck %s --check-prefix=BAD

// BAD: error: option 'back' of pass 'review-libraries' takes slower or all, got 'none'

// The estimate says that the kernel is faster with what fuses with it; measured, the library and the kernels around it are.
// SAID: passed: review-libraries: measured, kernel_us=61.5, call_us=58.25: @mm_kernel goes back to the library: a kernel of its group was measured to take longer
// CHECK-LABEL: func.func @main
// CHECK: call @mm({{.*}} {fuse.choice = [{call_us = 5.825000e+01 : f32, kernel_us = 6.150000e+01 : f32, nodes = ["mm"], rule = "measured"}]}
// CHECK-NOT: call @mm_kernel(
// CHECK: return
//
// Must not fire: alone, the kernel is estimated to take longer; measured, it does not, although it spills.
// ALONE: analysis: review-libraries: measured, kernel_us=40.5, call_us=45.75: @mm_kernel stays a kernel
// ALONE-LABEL: func.func @main
// ALONE: call @mm_kernel(
//
// All go back, whatever the estimate says; and so do those whose kernel spills.
// SPILLED: passed: review-libraries: spilled, kernel_us={{.*}}: @mm_kernel goes back to the library: a kernel of its group takes more registers or shared memory than there are
//
// Must not fire: another kernel spills.
// OTHER: analysis: review-libraries: kernel, kernel_us={{.*}}: @mm_kernel stays a kernel
// OTHER: call @mm_kernel({{.*}} {fuse.choice = [{call_us = {{.*}}, kernel_us = {{.*}}, nodes = ["mm"], revocable, rule = "kernel"}]
// ALL-LABEL: func.func @main
// ALL: call @mm(
// ALL-NOT: call @mm_kernel(
// ALL: return
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<4x4096xbf16>, %q: tensor<14336x4096xi8>) -> tensor<4x14336xbf16> {
    %e = "fuse.empty"() {syms = []} : () -> tensor<14336x4096xbf16>
    %w = call @widen(%q, %e) : (tensor<14336x4096xi8>, tensor<14336x4096xbf16>) -> tensor<14336x4096xbf16>
    %t = "fuse.view"(%w) {map = ["v1", "v0"], syms = []} : (tensor<14336x4096xbf16>) -> tensor<4096x14336xbf16, #fuse.layout<"4096,14336", "1,4096", "0", "">>
    %y = call @mm(%x, %t) : (tensor<4x4096xbf16>, tensor<4096x14336xbf16, #fuse.layout<"4096,14336", "1,4096", "0", "">>) -> tensor<4x14336xbf16> loc("mm"("model.py":1:0))
    %f = "fuse.empty"() {syms = []} : () -> tensor<4x14336xbf16>
    %s = call @double(%y, %f) : (tensor<4x14336xbf16>, tensor<4x14336xbf16>) -> tensor<4x14336xbf16>
    %g = "fuse.empty"() {syms = []} : () -> tensor<4x14336xbf16>
    %r = call @square(%s, %g) : (tensor<4x14336xbf16>, tensor<4x14336xbf16>) -> tensor<4x14336xbf16>
    return %r : tensor<4x14336xbf16>
  }
  func.func private @widen(%x: tensor<14336x4096xi8>, %o: tensor<14336x4096xbf16>) -> tensor<14336x4096xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "14336", d1 = "4096"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0 : i8
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<14336x4096xi8>, i1, i8) -> i8
    %w = arith.sitofp %v : i8 to bf16
    %r = "fuse.store"(%o, %w, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<14336x4096xbf16>, bf16, i1) -> tensor<14336x4096xbf16>
    return %r : tensor<14336x4096xbf16>
  }
  func.func private @double(%x: tensor<4x14336xbf16>, %o: tensor<4x14336xbf16>) -> tensor<4x14336xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "4", d1 = "14336"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<4x14336xbf16>, i1, bf16) -> bf16
    %w = arith.addf %v, %v : bf16
    %r = "fuse.store"(%o, %w, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<4x14336xbf16>, bf16, i1) -> tensor<4x14336xbf16>
    return %r : tensor<4x14336xbf16>
  }
  func.func private @square(%x: tensor<4x14336xbf16>, %o: tensor<4x14336xbf16>) -> tensor<4x14336xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "4", d1 = "14336"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<4x14336xbf16>, i1, bf16) -> bf16
    %w = arith.mulf %v, %v : bf16
    %r = "fuse.store"(%o, %w, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<4x14336xbf16>, bf16, i1) -> tensor<4x14336xbf16>
    return %r : tensor<4x14336xbf16>
  }
  func.func private @mm(tensor<4x4096xbf16>, tensor<4096x14336xbf16, #fuse.layout<"4096,14336", "1,4096", "0", "">>) -> tensor<4x14336xbf16> attributes {fuse.extern = "aten.mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
}
