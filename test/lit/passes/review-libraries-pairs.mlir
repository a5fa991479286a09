// Two products of the same rows in segments were weighed as one kernel, with their rows and their gate.
// RUN: fuse-opt %s --pass-pipeline="builtin.module(choose-libraries{hardware=h200},fold-views,fuse-vertical{hardware=h200},review-libraries{hardware=h200})" --split-input-file --remarks=text 2>&1 >/dev/null | FileCheck %s
// RUN: fuse-opt %s --pass-pipeline="builtin.module(choose-libraries{hardware=h200},fold-views,fuse-vertical{hardware=h200},review-libraries{hardware=h200 spilled=experts,others})" --split-input-file --remarks=text 2>&1 >/dev/null | FileCheck %s --check-prefix=SPILLED

// In one group both stay kernels, whatever each would take alone, unless their kernel spilled.
// CHECK: analysis: review-libraries: chain: @experts_kernel stays a kernel, with another product of its group
// CHECK: analysis: review-libraries: chain: @others_kernel stays a kernel, with another product of its group
// SPILLED: passed: review-libraries: spilled, {{.*}}: @experts_kernel goes back to the library
// SPILLED: passed: review-libraries: spilled, {{.*}}: @others_kernel goes back to the library
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<4096x2048xbf16>, %i: tensor<32768xi64>, %w: tensor<64x2048x768xbf16>, %u: tensor<64x2048x768xbf16>, %e: tensor<64xi32>) -> tensor<32768x768xbf16> {
    %p = "fuse.empty"() {syms = []} : () -> tensor<32768x2048xbf16>
    %t = call @take(%x, %i, %p) : (tensor<4096x2048xbf16>, tensor<32768xi64>, tensor<32768x2048xbf16>) -> tensor<32768x2048xbf16> loc("take"("model.py":8:0))
    %y = call @experts(%t, %w, %e) : (tensor<32768x2048xbf16>, tensor<64x2048x768xbf16>, tensor<64xi32>) -> tensor<32768x768xbf16> loc("experts"("model.py":9:0))
    %z = call @others(%t, %u, %e) : (tensor<32768x2048xbf16>, tensor<64x2048x768xbf16>, tensor<64xi32>) -> tensor<32768x768xbf16> loc("others"("model.py":10:0))
    %q = "fuse.empty"() {syms = []} : () -> tensor<32768x768xbf16>
    %g = call @gate(%y, %z, %q) : (tensor<32768x768xbf16>, tensor<32768x768xbf16>, tensor<32768x768xbf16>) -> tensor<32768x768xbf16> loc("gate"("model.py":11:0))
    return %g : tensor<32768x768xbf16>
  }
  func.func private @take(%x: tensor<4096x2048xbf16>, %i: tensor<32768xi64>, %o: tensor<32768x2048xbf16>) -> tensor<32768x2048xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "32768", d1 = "2048"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %none = arith.constant 0 : i64
    %many = arith.constant 4096 : i64
    %at = "fuse.load"(%i, %true, %none) {at = ["d0"]} : (tensor<32768xi64>, i1, i64) -> i64
    %inside = arith.cmpi ult, %at, %many : i64
    %v = "fuse.load"(%x, %inside, %zero, %at) {at = ["i0", "d1"]} : (tensor<4096x2048xbf16>, i1, bf16, i64) -> bf16
    %r = "fuse.store"(%o, %v, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<32768x2048xbf16>, bf16, i1) -> tensor<32768x2048xbf16>
    return %r : tensor<32768x2048xbf16>
  }
  func.func private @gate(%a: tensor<32768x768xbf16>, %b: tensor<32768x768xbf16>, %o: tensor<32768x768xbf16>) -> tensor<32768x768xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "32768", d1 = "768"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %v = "fuse.load"(%a, %true, %zero) {at = ["d0", "d1"]} : (tensor<32768x768xbf16>, i1, bf16) -> bf16
    %w = "fuse.load"(%b, %true, %zero) {at = ["d0", "d1"]} : (tensor<32768x768xbf16>, i1, bf16) -> bf16
    %m = arith.mulf %v, %w : bf16
    %r = "fuse.store"(%o, %m, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<32768x768xbf16>, bf16, i1) -> tensor<32768x768xbf16>
    return %r : tensor<32768x768xbf16>
  }
  func.func private @others(tensor<32768x2048xbf16>, tensor<64x2048x768xbf16>, tensor<64xi32>) -> tensor<32768x768xbf16> attributes {fuse.extern = "aten._grouped_mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>, #fuse.arg<2 : i64>], fuse.kwargs = {}}
  func.func private @experts(tensor<32768x2048xbf16>, tensor<64x2048x768xbf16>, tensor<64xi32>) -> tensor<32768x768xbf16> attributes {fuse.extern = "aten._grouped_mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>, #fuse.arg<2 : i64>], fuse.kwargs = {}}
}
