// RUN: fuse-opt %s --pass-pipeline="builtin.module(choose-libraries{hardware=h200})" --split-input-file --remarks=text 2>&1 >/dev/null | FileCheck %s
// RUN: fuse-opt %s --pass-pipeline="builtin.module(choose-libraries{hardware=h200 tensor-cores=none})" --split-input-file --remarks=text 2>&1 >/dev/null | FileCheck %s --check-prefix=FEW

// The library keeps products of which no measurement says what a kernel costs.
// Must not fire: the quotients of a row by its sum would be computed again for each block of columns.
// CHECK: missed: choose-libraries: front, kernel_us={{[0-9.]+}}, call_us={{[0-9.]+}}: @weighted is the library's: more than casts of what another kernel makes is computed in front of the product [weighted]
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<4096x512xf16>, %w: tensor<512x256xf16>) -> tensor<4096x256xf16> {
    %e = "fuse.empty"() {syms = []} : () -> tensor<4096xf32>
    %s = call @sums(%x, %e) : (tensor<4096x512xf16>, tensor<4096xf32>) -> tensor<4096xf32>
    %g = "fuse.empty"() {syms = []} : () -> tensor<4096x512xf16>
    %p = call @divided(%x, %s, %g) : (tensor<4096x512xf16>, tensor<4096xf32>, tensor<4096x512xf16>) -> tensor<4096x512xf16>
    %y = call @weighted(%p, %w) : (tensor<4096x512xf16>, tensor<512x256xf16>) -> tensor<4096x256xf16>
    return %y : tensor<4096x256xf16>
  }
  func.func private @sums(%x: tensor<4096x512xf16>, %o: tensor<4096xf32>) -> tensor<4096xf32> attributes {fuse.kernel, fuse.dims = {d0 = "4096", d1 = "512"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f16
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<4096x512xf16>, i1, f16) -> f16
    %f = arith.extf %v : f16 to f32
    %s = "fuse.reduce"(%f) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d0"], mode = "set"} : (tensor<4096xf32>, f32, i1) -> tensor<4096xf32>
    return %r : tensor<4096xf32>
  }
  func.func private @divided(%x: tensor<4096x512xf16>, %sums: tensor<4096xf32>, %o: tensor<4096x512xf16>) -> tensor<4096x512xf16> attributes {fuse.kernel, fuse.dims = {d0 = "4096", d1 = "512"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f16
    %one = arith.constant 1.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<4096x512xf16>, i1, f16) -> f16
    %s = "fuse.load"(%sums, %true, %one) {at = ["d0"]} : (tensor<4096xf32>, i1, f32) -> f32
    %f = arith.extf %v : f16 to f32
    %q = arith.divf %f, %s : f32
    %h = arith.truncf %q : f32 to f16
    %r = "fuse.store"(%o, %h, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<4096x512xf16>, f16, i1) -> tensor<4096x512xf16>
    return %r : tensor<4096x512xf16>
  }
  func.func private @weighted(tensor<4096x512xf16>, tensor<512x256xf16>) -> tensor<4096x256xf16> attributes {fuse.extern = "aten.mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
}

// -----

// Fires, as a block has a whole matrix of the batch: what lies behind the sums is computed once.
// CHECK: passed: choose-libraries: kernel, {{.*}}: @of_a_batch becomes a kernel
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<3072x128x128xf16>, %w: tensor<3072x128x32xf16>) -> tensor<3072x128x32xf16> {
    %e = "fuse.empty"() {syms = []} : () -> tensor<3072x128xf32>
    %s = call @sums(%x, %e) : (tensor<3072x128x128xf16>, tensor<3072x128xf32>) -> tensor<3072x128xf32>
    %g = "fuse.empty"() {syms = []} : () -> tensor<3072x128x128xf16>
    %p = call @divided(%x, %s, %g) : (tensor<3072x128x128xf16>, tensor<3072x128xf32>, tensor<3072x128x128xf16>) -> tensor<3072x128x128xf16>
    %y = call @of_a_batch(%p, %w) : (tensor<3072x128x128xf16>, tensor<3072x128x32xf16>) -> tensor<3072x128x32xf16>
    %t = "fuse.empty"() {syms = []} : () -> tensor<3072x128x32xf16>
    %z = call @doubled(%y, %t) : (tensor<3072x128x32xf16>, tensor<3072x128x32xf16>) -> tensor<3072x128x32xf16>
    return %z : tensor<3072x128x32xf16>
  }
  func.func private @doubled(%x: tensor<3072x128x32xf16>, %o: tensor<3072x128x32xf16>) -> tensor<3072x128x32xf16> attributes {fuse.kernel, fuse.dims = {d0 = "3072", d1 = "128", d2 = "32"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f16
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1", "d2"]} : (tensor<3072x128x32xf16>, i1, f16) -> f16
    %t = arith.addf %v, %v : f16
    %r = "fuse.store"(%o, %t, %true) {at = ["d0", "d1", "d2"], mode = "set"} : (tensor<3072x128x32xf16>, f16, i1) -> tensor<3072x128x32xf16>
    return %r : tensor<3072x128x32xf16>
  }
  func.func private @sums(%x: tensor<3072x128x128xf16>, %o: tensor<3072x128xf32>) -> tensor<3072x128xf32> attributes {fuse.kernel, fuse.dims = {d0 = "3072", d1 = "128", d2 = "128"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f16
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1", "d2"]} : (tensor<3072x128x128xf16>, i1, f16) -> f16
    %f = arith.extf %v : f16 to f32
    %s = "fuse.reduce"(%f) {kind = "sum", over = ["d2"]} : (f32) -> f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<3072x128xf32>, f32, i1) -> tensor<3072x128xf32>
    return %r : tensor<3072x128xf32>
  }
  func.func private @divided(%x: tensor<3072x128x128xf16>, %sums: tensor<3072x128xf32>, %o: tensor<3072x128x128xf16>) -> tensor<3072x128x128xf16> attributes {fuse.kernel, fuse.dims = {d0 = "3072", d1 = "128", d2 = "128"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f16
    %one = arith.constant 1.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1", "d2"]} : (tensor<3072x128x128xf16>, i1, f16) -> f16
    %s = "fuse.load"(%sums, %true, %one) {at = ["d0", "d1"]} : (tensor<3072x128xf32>, i1, f32) -> f32
    %f = arith.extf %v : f16 to f32
    %q = arith.divf %f, %s : f32
    %h = arith.truncf %q : f32 to f16
    %r = "fuse.store"(%o, %h, %true) {at = ["d0", "d1", "d2"], mode = "set"} : (tensor<3072x128x128xf16>, f16, i1) -> tensor<3072x128x128xf16>
    return %r : tensor<3072x128x128xf16>
  }
  func.func private @of_a_batch(tensor<3072x128x128xf16>, tensor<3072x128x32xf16>) -> tensor<3072x128x32xf16> attributes {fuse.extern = "aten.bmm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
}

// -----

// Must not fire: so few rows are no block, and their sums are too short to multiply them one by one.
// CHECK: missed: choose-libraries: few-rows, {{.*}}: @three_rows is the library's: at most 4 rows or columns: the estimates of blocks are fitted to more [three_rows]
// FEW: missed: choose-libraries: short, {{.*}}: @three_rows is the library's: sums of 128 elements
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<3x128xbf16>, %w: tensor<128x4096xbf16>) -> tensor<3x4096xbf16> {
    %y = call @three_rows(%x, %w) : (tensor<3x128xbf16>, tensor<128x4096xbf16>) -> tensor<3x4096xbf16>
    return %y : tensor<3x4096xbf16>
  }
  func.func private @three_rows(tensor<3x128xbf16>, tensor<128x4096xbf16>) -> tensor<3x4096xbf16> attributes {fuse.extern = "aten.mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
}

// -----

// Must not fire: a symbol says how far rows of weights lie apart.
// CHECK: missed: choose-libraries: sizes, {{.*}}@apart is the library's: sizes that are known when compiling only
// FEW: missed: choose-libraries: strides, {{.*}}@apart is the library's: the distance between rows of weights is not known when compiling
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%s0: index {fuse.sym = "s0", fuse.min = 4096 : i64, fuse.hint = 8192 : i64}, %x: tensor<1x4096xbf16>, %w: tensor<4096x4096xbf16, #fuse.layout<"4096,4096", "1,s0", "0", "">>) -> tensor<1x4096xbf16> {
    %y = call @apart(%x, %w, %s0) : (tensor<1x4096xbf16>, tensor<4096x4096xbf16, #fuse.layout<"4096,4096", "1,s0", "0", "">>, index) -> tensor<1x4096xbf16>
    return %y : tensor<1x4096xbf16>
  }
  func.func private @apart(tensor<1x4096xbf16>, tensor<4096x4096xbf16, #fuse.layout<"4096,4096", "1,s0", "0", "">>, index {fuse.sym = "s0"}) -> tensor<1x4096xbf16> attributes {fuse.extern = "aten.mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}, fuse.held = array<i64: 2>}
}

// -----

// Must not fire: a single matrix times a vector.
// CHECK: missed: choose-libraries: form, {{.*}}@vectors is the library's: kernels of other products than of matrices were not measured
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<4096x1024xbf16>, %w: tensor<1024xbf16>) -> tensor<4096xbf16> {
    %y = call @vectors(%x, %w) : (tensor<4096x1024xbf16>, tensor<1024xbf16>) -> tensor<4096xbf16>
    return %y : tensor<4096xbf16>
  }
  func.func private @vectors(tensor<4096x1024xbf16>, tensor<1024xbf16>) -> tensor<4096xbf16> attributes {fuse.extern = "aten.mv.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
}

// -----

// Must not fire: torch compares sizes that are different expressions when it runs.
// CHECK: missed: choose-libraries: sizes: @halves is the library's: s1 and s0 floordiv 2 are not known to be equal [halves]
// FEW: missed: choose-libraries: sizes: @halves
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%s0: index {fuse.sym = "s0"}, %s1: index {fuse.sym = "s1"}, %x: tensor<16x?xbf16, #fuse.layout<"16,s0 floordiv 2", "s0 floordiv 2,1", "0", "">>, %w: tensor<?x48xbf16, #fuse.layout<"s1,48", "48,1", "0", "">>) -> tensor<16x48xbf16> {
    %y = call @halves(%x, %w) : (tensor<16x?xbf16, #fuse.layout<"16,s0 floordiv 2", "s0 floordiv 2,1", "0", "">>, tensor<?x48xbf16, #fuse.layout<"s1,48", "48,1", "0", "">>) -> tensor<16x48xbf16>
    return %y : tensor<16x48xbf16>
  }
  func.func private @halves(tensor<16x?xbf16, #fuse.layout<"16,s0 floordiv 2", "s0 floordiv 2,1", "0", "">>, tensor<?x48xbf16, #fuse.layout<"s1,48", "48,1", "0", "">>) -> tensor<16x48xbf16> attributes {fuse.extern = "aten.mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
}

// -----

// Must not fire: nor is what is added known to have a row for each of the result.
// CHECK: missed: choose-libraries: sizes: @added is the library's: s1 and s0 are not known to be equal [added]
// FEW: missed: choose-libraries: sizes: @added
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%s0: index {fuse.sym = "s0"}, %s1: index {fuse.sym = "s1"}, %c: tensor<?x48xbf16, #fuse.layout<"s1,48", "48,1", "0", "">>, %x: tensor<?x32xbf16, #fuse.layout<"s0,32", "32,1", "0", "">>, %w: tensor<32x48xbf16>) -> tensor<?x48xbf16, #fuse.layout<"s0,48", "48,1", "0", "">> {
    %y = call @added(%c, %x, %w) : (tensor<?x48xbf16, #fuse.layout<"s1,48", "48,1", "0", "">>, tensor<?x32xbf16, #fuse.layout<"s0,32", "32,1", "0", "">>, tensor<32x48xbf16>) -> tensor<?x48xbf16, #fuse.layout<"s0,48", "48,1", "0", "">>
    return %y : tensor<?x48xbf16, #fuse.layout<"s0,48", "48,1", "0", "">>
  }
  func.func private @added(tensor<?x48xbf16, #fuse.layout<"s1,48", "48,1", "0", "">>, tensor<?x32xbf16, #fuse.layout<"s0,32", "32,1", "0", "">>, tensor<32x48xbf16>) -> tensor<?x48xbf16, #fuse.layout<"s0,48", "48,1", "0", "">> attributes {fuse.extern = "aten.addmm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>, #fuse.arg<2 : i64>], fuse.kwargs = {}}
}

// -----

// Weights of 8 bits that lie across what is summed: the call would have them widened, written and read again, and takes
// more than twice as long as the estimate of the kernel.
// CHECK: passed: choose-libraries: kernel, {{.*}}: @across becomes a kernel [across]
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<2x4096xbf16>, %q: tensor<4096x4096xi8>, %s: tensor<4096xbf16>) -> tensor<2x4096xbf16> {
    %e = "fuse.empty"() {syms = []} : () -> tensor<4096x4096xbf16>
    %w = call @widen(%q, %s, %e) : (tensor<4096x4096xi8>, tensor<4096xbf16>, tensor<4096x4096xbf16>) -> tensor<4096x4096xbf16>
    %y = call @across(%x, %w) : (tensor<2x4096xbf16>, tensor<4096x4096xbf16>) -> tensor<2x4096xbf16>
    return %y : tensor<2x4096xbf16>
  }
  func.func private @widen(%q: tensor<4096x4096xi8>, %s: tensor<4096xbf16>, %o: tensor<4096x4096xbf16>) -> tensor<4096x4096xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "4096", d1 = "4096"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %none = arith.constant 0 : i8
    %zero = arith.constant 0.0 : bf16
    %v = "fuse.load"(%q, %true, %none) {at = ["d0", "d1"]} : (tensor<4096x4096xi8>, i1, i8) -> i8
    %c = "fuse.load"(%s, %true, %zero) {at = ["d1"]} : (tensor<4096xbf16>, i1, bf16) -> bf16
    %f = arith.sitofp %v : i8 to f32
    %g = arith.extf %c : bf16 to f32
    %m = arith.mulf %f, %g : f32
    %h = arith.truncf %m : f32 to bf16
    %r = "fuse.store"(%o, %h, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<4096x4096xbf16>, bf16, i1) -> tensor<4096x4096xbf16>
    return %r : tensor<4096x4096xbf16>
  }
  func.func private @across(tensor<2x4096xbf16>, tensor<4096x4096xbf16>) -> tensor<2x4096xbf16> attributes {fuse.extern = "aten.mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
}

// -----

// Must not fire: so few columns are too few programs for an estimate of bytes.
// CHECK: missed: choose-libraries: few-rows, {{.*}}: @narrow is the library's: at most 4 rows or columns
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<2x4096xbf16>, %q: tensor<4096x512xi8>, %s: tensor<512xbf16>) -> tensor<2x512xbf16> {
    %e = "fuse.empty"() {syms = []} : () -> tensor<4096x512xbf16>
    %w = call @widen(%q, %s, %e) : (tensor<4096x512xi8>, tensor<512xbf16>, tensor<4096x512xbf16>) -> tensor<4096x512xbf16>
    %y = call @narrow(%x, %w) : (tensor<2x4096xbf16>, tensor<4096x512xbf16>) -> tensor<2x512xbf16>
    return %y : tensor<2x512xbf16>
  }
  func.func private @widen(%q: tensor<4096x512xi8>, %s: tensor<512xbf16>, %o: tensor<4096x512xbf16>) -> tensor<4096x512xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "4096", d1 = "512"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %none = arith.constant 0 : i8
    %zero = arith.constant 0.0 : bf16
    %v = "fuse.load"(%q, %true, %none) {at = ["d0", "d1"]} : (tensor<4096x512xi8>, i1, i8) -> i8
    %c = "fuse.load"(%s, %true, %zero) {at = ["d1"]} : (tensor<512xbf16>, i1, bf16) -> bf16
    %f = arith.sitofp %v : i8 to f32
    %g = arith.extf %c : bf16 to f32
    %m = arith.mulf %f, %g : f32
    %h = arith.truncf %m : f32 to bf16
    %r = "fuse.store"(%o, %h, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<4096x512xbf16>, bf16, i1) -> tensor<4096x512xbf16>
    return %r : tensor<4096x512xbf16>
  }
  func.func private @narrow(tensor<2x4096xbf16>, tensor<4096x512xbf16>) -> tensor<2x512xbf16> attributes {fuse.extern = "aten.mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
}
