// RUN: fuse-opt %s --pass-pipeline="builtin.module(choose-libraries{hardware=h100},derive-cascades{hardware=h100},fuse-vertical{hardware=h100},review-libraries{hardware=h100},materialize-fusion)" --split-input-file | FileCheck %s
// RUN: fuse-opt %s --pass-pipeline="builtin.module(choose-libraries{hardware=h100},derive-cascades{hardware=h100},fuse-vertical{hardware=h100},review-libraries{hardware=h100},materialize-fusion)" --split-input-file --remarks=text 2>&1 >/dev/null | FileCheck %s --check-prefix=SAID
// RUN: fuse-opt %s --pass-pipeline="builtin.module(choose-libraries{hardware=h100},derive-cascades{hardware=h100 spilled=bmm_1})" --split-input-file --remarks=text 2>&1 >/dev/null | FileCheck %s --check-prefix=SPILLED
// RUN: not fuse-opt %s --pass-pipeline="builtin.module(derive-cascades{hardware=abacus})" --split-input-file 2>&1 | FileCheck %s --check-prefix=BAD
// BAD: error: {{.*}}abacus

// Two products that the library would compute, each faster than a kernel, are one kernel, since no scores are stored.
// CHECK-LABEL: func.func @main
// CHECK: call @fused_bmm_kernel_tanh_bmm_1_kernel_0(%arg0, %arg1, %arg2,
// CHECK-NOT: call @
// CHECK: return
// CHECK-NOT: fuse.cascade
// SAID: passed: choose-libraries: cascade, kernel_us={{.*}}, call_us={{.*}}: @bmm becomes a kernel
// SAID: passed: choose-libraries: cascade, kernel_us={{.*}}, call_us={{.*}}: @bmm_1 becomes a kernel
// SAID: passed: derive-cascades: cascade: the chain of products that ends with bmm_1_kernel becomes one kernel
// SPILLED: missed: derive-cascades: spilled: {{.*}} no tile of the kernel left it enough registers
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%q: tensor<32x2048x128xbf16>, %k: tensor<32x128x2048xbf16>, %v: tensor<32x2048x128xbf16>) -> tensor<32x2048x128xbf16> {
    %s = call @bmm(%q, %k) : (tensor<32x2048x128xbf16>, tensor<32x128x2048xbf16>) -> tensor<32x2048x2048xbf16>
    %e = "fuse.empty"() {syms = []} : () -> tensor<32x2048x2048xbf16>
    %p = call @tanh(%s, %e) : (tensor<32x2048x2048xbf16>, tensor<32x2048x2048xbf16>) -> tensor<32x2048x2048xbf16>
    %o = call @bmm_1(%p, %v) : (tensor<32x2048x2048xbf16>, tensor<32x2048x128xbf16>) -> tensor<32x2048x128xbf16> loc("bmm_1"("model.py":7:0))
    return %o : tensor<32x2048x128xbf16>
  }
  func.func private @bmm(tensor<32x2048x128xbf16>, tensor<32x128x2048xbf16>) -> tensor<32x2048x2048xbf16> attributes {fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.extern = "aten.bmm.default", fuse.kwargs = {}}
  func.func private @tanh(%x: tensor<32x2048x2048xbf16>, %o: tensor<32x2048x2048xbf16>) -> tensor<32x2048x2048xbf16> attributes {fuse.dims = {d0 = "32", d1 = "2048", d2 = "2048"}, fuse.kernel, fuse.ties = array<i64: 1>} {
    %zero = arith.constant 0.0 : bf16
    %true = arith.constant true
    %l = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1", "d2"]} : (tensor<32x2048x2048xbf16>, i1, bf16) -> bf16
    %w = arith.extf %l : bf16 to f32
    %s = math.tanh %w : f32
    %t = arith.truncf %s {fuse.implicit} : f32 to bf16
    %r = "fuse.store"(%o, %t, %true) {at = ["d0", "d1", "d2"], mode = "set"} : (tensor<32x2048x2048xbf16>, bf16, i1) -> tensor<32x2048x2048xbf16>
    return %r : tensor<32x2048x2048xbf16>
  }
  func.func private @bmm_1(tensor<32x2048x2048xbf16>, tensor<32x2048x128xbf16>) -> tensor<32x2048x128xbf16> attributes {fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.extern = "aten.bmm.default", fuse.kwargs = {}}
}

// -----

// A few rows: bytes bound it, and two kernels take less time than three, as split-reductions cuts its columns.
// CHECK-LABEL: func.func @main
// SAID: passed: choose-libraries: cascade, {{.*}} @bmm becomes a kernel
// SAID: passed: derive-cascades: cascade: {{.*}} bmm_1_kernel becomes one kernel
// CHECK: call @fused_bmm_kernel_between_bmm_1_kernel_0(%arg0, %arg1, %arg2,
// CHECK-NOT: call @
// CHECK: return
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%q: tensor<8x8x64xbf16>, %k: tensor<8x64x2048xbf16>, %v: tensor<8x2048x64xbf16>) -> tensor<8x8x64xbf16> {
    %s = call @bmm(%q, %k) : (tensor<8x8x64xbf16>, tensor<8x64x2048xbf16>) -> tensor<8x8x2048xbf16>
    %e = "fuse.empty"() {syms = []} : () -> tensor<8x8x2048xbf16>
    %p = call @between(%s, %e) : (tensor<8x8x2048xbf16>, tensor<8x8x2048xbf16>) -> tensor<8x8x2048xbf16>
    %o = call @bmm_1(%p, %v) : (tensor<8x8x2048xbf16>, tensor<8x2048x64xbf16>) -> tensor<8x8x64xbf16>
    return %o : tensor<8x8x64xbf16>
  }
  func.func private @bmm(tensor<8x8x64xbf16>, tensor<8x64x2048xbf16>) -> tensor<8x8x2048xbf16> attributes {fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.extern = "aten.bmm.default", fuse.kwargs = {}}
  func.func private @between(%x: tensor<8x8x2048xbf16>, %o: tensor<8x8x2048xbf16>) -> tensor<8x8x2048xbf16> attributes {fuse.dims = {d0 = "8", d1 = "8", d2 = "2048"}, fuse.kernel, fuse.ties = array<i64: 1>} {
    %zero = arith.constant 0.0 : bf16
    %true = arith.constant true
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1", "d2"]} : (tensor<8x8x2048xbf16>, i1, bf16) -> bf16
    %w = arith.extf %a : bf16 to f32
    %m = "fuse.reduce"(%w) {kind = "max", over = ["d2"]} : (f32) -> f32
    %c = arith.subf %w, %m : f32
    %u = math.exp %c : f32
    %l = "fuse.reduce"(%u) {kind = "sum", over = ["d2"]} : (f32) -> f32
    %p = arith.divf %u, %l : f32
    %t = arith.truncf %p {fuse.implicit} : f32 to bf16
    %r = "fuse.store"(%o, %t, %true) {at = ["d0", "d1", "d2"], mode = "set"} : (tensor<8x8x2048xbf16>, bf16, i1) -> tensor<8x8x2048xbf16>
    return %r : tensor<8x8x2048xbf16>
  }
  func.func private @bmm_1(tensor<8x8x2048xbf16>, tensor<8x2048x64xbf16>) -> tensor<8x8x64xbf16> attributes {fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.extern = "aten.bmm.default", fuse.kwargs = {}}
}

// -----

// Must not fire: both calls read the keys and values of so many heads as fast as one kernel would.
// CHECK-LABEL: func.func @main
// CHECK: call @bmm_1(
// SAID: missed: choose-libraries: cascade, kernel_us={{.*}}, call_us={{.*}}: @bmm does not become one kernel with the other
// SAID: missed: choose-libraries: cascade, {{.*}}: @bmm_1 does not become one kernel with the other
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%q: tensor<128x8x128xbf16>, %k: tensor<128x128x4096xbf16>, %v: tensor<128x4096x128xbf16>) -> tensor<128x8x128xbf16> {
    %s = call @bmm(%q, %k) : (tensor<128x8x128xbf16>, tensor<128x128x4096xbf16>) -> tensor<128x8x4096xbf16>
    %e = "fuse.empty"() {syms = []} : () -> tensor<128x8x4096xbf16>
    %p = call @between(%s, %e) : (tensor<128x8x4096xbf16>, tensor<128x8x4096xbf16>) -> tensor<128x8x4096xbf16>
    %o = call @bmm_1(%p, %v) : (tensor<128x8x4096xbf16>, tensor<128x4096x128xbf16>) -> tensor<128x8x128xbf16>
    return %o : tensor<128x8x128xbf16>
  }
  func.func private @bmm(tensor<128x8x128xbf16>, tensor<128x128x4096xbf16>) -> tensor<128x8x4096xbf16> attributes {fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.extern = "aten.bmm.default", fuse.kwargs = {}}
  func.func private @between(%x: tensor<128x8x4096xbf16>, %o: tensor<128x8x4096xbf16>) -> tensor<128x8x4096xbf16> attributes {fuse.dims = {d0 = "128", d1 = "8", d2 = "4096"}, fuse.kernel, fuse.ties = array<i64: 1>} {
    %zero = arith.constant 0.0 : bf16
    %true = arith.constant true
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1", "d2"]} : (tensor<128x8x4096xbf16>, i1, bf16) -> bf16
    %w = arith.extf %a : bf16 to f32
    %m = "fuse.reduce"(%w) {kind = "max", over = ["d2"]} : (f32) -> f32
    %c = arith.subf %w, %m : f32
    %u = math.exp %c : f32
    %l = "fuse.reduce"(%u) {kind = "sum", over = ["d2"]} : (f32) -> f32
    %p = arith.divf %u, %l : f32
    %t = arith.truncf %p {fuse.implicit} : f32 to bf16
    %r = "fuse.store"(%o, %t, %true) {at = ["d0", "d1", "d2"], mode = "set"} : (tensor<128x8x4096xbf16>, bf16, i1) -> tensor<128x8x4096xbf16>
    return %r : tensor<128x8x4096xbf16>
  }
  func.func private @bmm_1(tensor<128x8x4096xbf16>, tensor<128x4096x128xbf16>) -> tensor<128x8x128xbf16> attributes {fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.extern = "aten.bmm.default", fuse.kwargs = {}}
}

// -----

// Must not fire: what is computed of the scores is a result, too.
// CHECK-LABEL: func.func @main
// CHECK-NOT: fused_bmm_kernel_tanh_bmm_1
// CHECK: call @bmm_1(
// SAID-NOT: choose-libraries: cascade
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%q: tensor<32x2048x128xbf16>, %k: tensor<32x128x2048xbf16>, %v: tensor<32x2048x128xbf16>) -> (tensor<32x2048x128xbf16>, tensor<32x2048x2048xbf16>) {
    %s = call @bmm(%q, %k) : (tensor<32x2048x128xbf16>, tensor<32x128x2048xbf16>) -> tensor<32x2048x2048xbf16>
    %e = "fuse.empty"() {syms = []} : () -> tensor<32x2048x2048xbf16>
    %p = call @tanh(%s, %e) : (tensor<32x2048x2048xbf16>, tensor<32x2048x2048xbf16>) -> tensor<32x2048x2048xbf16>
    %o = call @bmm_1(%p, %v) : (tensor<32x2048x2048xbf16>, tensor<32x2048x128xbf16>) -> tensor<32x2048x128xbf16> loc("bmm_1"("model.py":7:0))
    return %o, %p : tensor<32x2048x128xbf16>, tensor<32x2048x2048xbf16>
  }
  func.func private @bmm(tensor<32x2048x128xbf16>, tensor<32x128x2048xbf16>) -> tensor<32x2048x2048xbf16> attributes {fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.extern = "aten.bmm.default", fuse.kwargs = {}}
  func.func private @tanh(%x: tensor<32x2048x2048xbf16>, %o: tensor<32x2048x2048xbf16>) -> tensor<32x2048x2048xbf16> attributes {fuse.dims = {d0 = "32", d1 = "2048", d2 = "2048"}, fuse.kernel, fuse.ties = array<i64: 1>} {
    %zero = arith.constant 0.0 : bf16
    %true = arith.constant true
    %l = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1", "d2"]} : (tensor<32x2048x2048xbf16>, i1, bf16) -> bf16
    %w = arith.extf %l : bf16 to f32
    %s = math.tanh %w : f32
    %t = arith.truncf %s {fuse.implicit} : f32 to bf16
    %r = "fuse.store"(%o, %t, %true) {at = ["d0", "d1", "d2"], mode = "set"} : (tensor<32x2048x2048xbf16>, bf16, i1) -> tensor<32x2048x2048xbf16>
    return %r : tensor<32x2048x2048xbf16>
  }
  func.func private @bmm_1(tensor<32x2048x2048xbf16>, tensor<32x2048x128xbf16>) -> tensor<32x2048x128xbf16> attributes {fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.extern = "aten.bmm.default", fuse.kwargs = {}}
}

// -----

// Must not fire: nothing was measured of products of float32.
// CHECK-LABEL: func.func @main
// CHECK: call @bmm(
// CHECK: call @bmm_1(
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%q: tensor<32x2048x128xf32>, %k: tensor<32x128x2048xf32>, %v: tensor<32x2048x128xf32>) -> tensor<32x2048x128xf32> {
    %s = call @bmm(%q, %k) : (tensor<32x2048x128xf32>, tensor<32x128x2048xf32>) -> tensor<32x2048x2048xf32>
    %e = "fuse.empty"() {syms = []} : () -> tensor<32x2048x2048xf32>
    %p = call @tanh(%s, %e) : (tensor<32x2048x2048xf32>, tensor<32x2048x2048xf32>) -> tensor<32x2048x2048xf32>
    %o = call @bmm_1(%p, %v) : (tensor<32x2048x2048xf32>, tensor<32x2048x128xf32>) -> tensor<32x2048x128xf32> loc("bmm_1"("model.py":7:0))
    return %o : tensor<32x2048x128xf32>
  }
  func.func private @bmm(tensor<32x2048x128xf32>, tensor<32x128x2048xf32>) -> tensor<32x2048x2048xf32> attributes {fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.extern = "aten.bmm.default", fuse.kwargs = {}}
  func.func private @tanh(%x: tensor<32x2048x2048xf32>, %o: tensor<32x2048x2048xf32>) -> tensor<32x2048x2048xf32> attributes {fuse.dims = {d0 = "32", d1 = "2048", d2 = "2048"}, fuse.kernel, fuse.ties = array<i64: 1>} {
    %zero = arith.constant 0.0 : f32
    %true = arith.constant true
    %l = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1", "d2"]} : (tensor<32x2048x2048xf32>, i1, f32) -> f32
    %s = math.tanh %l : f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d0", "d1", "d2"], mode = "set"} : (tensor<32x2048x2048xf32>, f32, i1) -> tensor<32x2048x2048xf32>
    return %r : tensor<32x2048x2048xf32>
  }
  func.func private @bmm_1(tensor<32x2048x2048xf32>, tensor<32x2048x128xf32>) -> tensor<32x2048x128xf32> attributes {fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.extern = "aten.bmm.default", fuse.kwargs = {}}
}

// -----

// Must not fire: of so few keys the scores stay in the cache.
// CHECK-LABEL: func.func @main
// CHECK-NOT: fused_bmm_kernel_tanh_bmm_1
// CHECK: call @bmm_1(
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%q: tensor<32x2048x128xbf16>, %k: tensor<32x128x128xbf16>, %v: tensor<32x128x128xbf16>) -> tensor<32x2048x128xbf16> {
    %s = call @bmm(%q, %k) : (tensor<32x2048x128xbf16>, tensor<32x128x128xbf16>) -> tensor<32x2048x128xbf16>
    %e = "fuse.empty"() {syms = []} : () -> tensor<32x2048x128xbf16>
    %p = call @tanh(%s, %e) : (tensor<32x2048x128xbf16>, tensor<32x2048x128xbf16>) -> tensor<32x2048x128xbf16>
    %o = call @bmm_1(%p, %v) : (tensor<32x2048x128xbf16>, tensor<32x128x128xbf16>) -> tensor<32x2048x128xbf16> loc("bmm_1"("model.py":7:0))
    return %o : tensor<32x2048x128xbf16>
  }
  func.func private @bmm(tensor<32x2048x128xbf16>, tensor<32x128x128xbf16>) -> tensor<32x2048x128xbf16> attributes {fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.extern = "aten.bmm.default", fuse.kwargs = {}}
  func.func private @tanh(%x: tensor<32x2048x128xbf16>, %o: tensor<32x2048x128xbf16>) -> tensor<32x2048x128xbf16> attributes {fuse.dims = {d0 = "32", d1 = "2048", d2 = "128"}, fuse.kernel, fuse.ties = array<i64: 1>} {
    %zero = arith.constant 0.0 : bf16
    %true = arith.constant true
    %l = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1", "d2"]} : (tensor<32x2048x128xbf16>, i1, bf16) -> bf16
    %w = arith.extf %l : bf16 to f32
    %s = math.tanh %w : f32
    %t = arith.truncf %s {fuse.implicit} : f32 to bf16
    %r = "fuse.store"(%o, %t, %true) {at = ["d0", "d1", "d2"], mode = "set"} : (tensor<32x2048x128xbf16>, bf16, i1) -> tensor<32x2048x128xbf16>
    return %r : tensor<32x2048x128xbf16>
  }
  func.func private @bmm_1(tensor<32x2048x128xbf16>, tensor<32x128x128xbf16>) -> tensor<32x2048x128xbf16> attributes {fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.extern = "aten.bmm.default", fuse.kwargs = {}}
}

// -----

// Must not fire: nothing sums what is computed of the product.  Its mark goes.
// CHECK-LABEL: func.func @main
// CHECK: call @mm_kernel(
// CHECK: func.func private @mm_kernel(
// CHECK-NOT: fuse.cascade
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<256x64xbf16>, %w: tensor<64x512xbf16>) -> tensor<256x512xbf16> {
    %e = "fuse.empty"() {syms = []} : () -> tensor<256x512xbf16>
    %y = call @mm_kernel(%x, %w, %e) : (tensor<256x64xbf16>, tensor<64x512xbf16>, tensor<256x512xbf16>) -> tensor<256x512xbf16>
    return %y : tensor<256x512xbf16>
  }
  func.func private @mm_kernel(%x: tensor<256x64xbf16>, %w: tensor<64x512xbf16>, %o: tensor<256x512xbf16>) -> tensor<256x512xbf16> attributes {fuse.cascade, fuse.dims = {d0 = "256", d1 = "512", d2 = "64"}, fuse.kernel, fuse.ties = array<i64: 2>} {
    %zero = arith.constant 0.0 : bf16
    %true = arith.constant true
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d2"]} : (tensor<256x64xbf16>, i1, bf16) -> bf16
    %b = "fuse.load"(%w, %true, %zero) {at = ["d2", "d1"]} : (tensor<64x512xbf16>, i1, bf16) -> bf16
    %s = "fuse.dot"(%a, %b) {over = ["d2"]} : (bf16, bf16) -> f32
    %t = arith.truncf %s : f32 to bf16
    %r = "fuse.store"(%o, %t, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<256x512xbf16>, bf16, i1) -> tensor<256x512xbf16>
    return %r : tensor<256x512xbf16>
  }
}

// -----

// Must not fire: without a softmax nothing cuts the columns of few rows.
// CHECK-LABEL: func.func @main
// CHECK-NOT: fused_bmm_kernel_between_bmm_1
// SAID-NOT: choose-libraries: cascade
// CHECK: call @bmm_1(
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%q: tensor<8x8x64xbf16>, %k: tensor<8x64x2048xbf16>, %v: tensor<8x2048x64xbf16>) -> tensor<8x8x64xbf16> {
    %s = call @bmm(%q, %k) : (tensor<8x8x64xbf16>, tensor<8x64x2048xbf16>) -> tensor<8x8x2048xbf16>
    %e = "fuse.empty"() {syms = []} : () -> tensor<8x8x2048xbf16>
    %p = call @between(%s, %e) : (tensor<8x8x2048xbf16>, tensor<8x8x2048xbf16>) -> tensor<8x8x2048xbf16>
    %o = call @bmm_1(%p, %v) : (tensor<8x8x2048xbf16>, tensor<8x2048x64xbf16>) -> tensor<8x8x64xbf16>
    return %o : tensor<8x8x64xbf16>
  }
  func.func private @bmm(tensor<8x8x64xbf16>, tensor<8x64x2048xbf16>) -> tensor<8x8x2048xbf16> attributes {fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.extern = "aten.bmm.default", fuse.kwargs = {}}
  func.func private @between(%x: tensor<8x8x2048xbf16>, %o: tensor<8x8x2048xbf16>) -> tensor<8x8x2048xbf16> attributes {fuse.dims = {d0 = "8", d1 = "8", d2 = "2048"}, fuse.kernel, fuse.ties = array<i64: 1>} {
    %zero = arith.constant 0.0 : bf16
    %true = arith.constant true
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1", "d2"]} : (tensor<8x8x2048xbf16>, i1, bf16) -> bf16
    %w = arith.extf %a : bf16 to f32
    %p = math.tanh %w : f32
    %t = arith.truncf %p {fuse.implicit} : f32 to bf16
    %r = "fuse.store"(%o, %t, %true) {at = ["d0", "d1", "d2"], mode = "set"} : (tensor<8x8x2048xbf16>, bf16, i1) -> tensor<8x8x2048xbf16>
    return %r : tensor<8x8x2048xbf16>
  }
  func.func private @bmm_1(tensor<8x8x2048xbf16>, tensor<8x2048x64xbf16>) -> tensor<8x8x64xbf16> attributes {fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.extern = "aten.bmm.default", fuse.kwargs = {}}
}
