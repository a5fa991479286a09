// RUN: fuse-opt %s --pass-pipeline="builtin.module(choose-libraries{hardware=h200})" --split-input-file --remarks=text 2>&1 >/dev/null | FileCheck %s
// RUN: fuse-opt %s --pass-pipeline="builtin.module(choose-libraries{hardware=h200 packed-rows=4})" --split-input-file --remarks=text 2>&1 >/dev/null | FileCheck %s --check-prefix=FOUR
// RUN: not fuse-opt %s --pass-pipeline="builtin.module(choose-libraries{hardware=h200 packed-rows=-1})" --split-input-file 2>&1 | FileCheck %s --check-prefix=BAD

// BAD: packed-rows

// Halves of bytes, times 16 rows: 13 us by hand.
// CHECK: passed: choose-libraries: kernel, kernel_us=13.{{.*}} rows=16: @sixteen becomes a kernel
// FOUR: passed: choose-libraries: kernel, kernel_us=31.{{[0-9]*}}, call_us={{[0-9.]*}}: @sixteen
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<16x4096xbf16>, %q: tensor<14336x2048xui8>, %b: tensor<16xbf16>) -> tensor<16x14336xbf16> {
    %e = "fuse.empty"() {syms = []} : () -> tensor<14336x4096xbf16>
    %w = call @unpack(%q, %b, %e) : (tensor<14336x2048xui8>, tensor<16xbf16>, tensor<14336x4096xbf16>) -> tensor<14336x4096xbf16>
    %t = "fuse.view"(%w) {map = ["v1", "v0"], syms = []} : (tensor<14336x4096xbf16>) -> tensor<4096x14336xbf16, #fuse.layout<"4096,14336", "1,4096", "0", "">>
    %y = call @sixteen(%x, %t) : (tensor<16x4096xbf16>, tensor<4096x14336xbf16, #fuse.layout<"4096,14336", "1,4096", "0", "">>) -> tensor<16x14336xbf16>
    return %y : tensor<16x14336xbf16>
  }
  func.func private @unpack(%q: tensor<14336x2048xui8>, %b: tensor<16xbf16>, %o: tensor<14336x4096xbf16>) -> tensor<14336x4096xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "14336", d1 = "4096"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %none = arith.constant 0 : i8
    %zero = arith.constant 0.0 : bf16
    %four = arith.constant 4 : i8
    %low = arith.constant 15 : i8
    %l = "fuse.load"(%q, %true, %none) {at = ["d0", "d1 floordiv 2"]} : (tensor<14336x2048xui8>, i1, i8) -> i8
    %h = arith.shrui %l, %four : i8
    %m = arith.andi %l, %low : i8
    %i = "fuse.index"() {expr = "d1 mod 2"} : () -> i64
    %nought = arith.constant 0 : i64
    %first = arith.cmpi eq, %i, %nought : i64
    %c = arith.select %first, %m, %h : i8
    %v = arith.uitofp %c : i8 to bf16
    %r = "fuse.store"(%o, %v, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<14336x4096xbf16>, bf16, i1) -> tensor<14336x4096xbf16>
    return %r : tensor<14336x4096xbf16>
  }
  func.func private @sixteen(tensor<16x4096xbf16>, tensor<4096x14336xbf16, #fuse.layout<"4096,14336", "1,4096", "0", "">>) -> tensor<16x14336xbf16> attributes {fuse.extern = "aten.mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
}

// -----

// Must not fire: no more rows are few.
// CHECK: kernel_us=31.{{[0-9]*}}, call_us={{[0-9.]*}}: @seventeen
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<17x4096xbf16>, %q: tensor<14336x2048xui8>, %b: tensor<16xbf16>) -> tensor<17x14336xbf16> {
    %e = "fuse.empty"() {syms = []} : () -> tensor<14336x4096xbf16>
    %w = call @unpack(%q, %b, %e) : (tensor<14336x2048xui8>, tensor<16xbf16>, tensor<14336x4096xbf16>) -> tensor<14336x4096xbf16>
    %t = "fuse.view"(%w) {map = ["v1", "v0"], syms = []} : (tensor<14336x4096xbf16>) -> tensor<4096x14336xbf16, #fuse.layout<"4096,14336", "1,4096", "0", "">>
    %y = call @seventeen(%x, %t) : (tensor<17x4096xbf16>, tensor<4096x14336xbf16, #fuse.layout<"4096,14336", "1,4096", "0", "">>) -> tensor<17x14336xbf16>
    return %y : tensor<17x14336xbf16>
  }
  func.func private @unpack(%q: tensor<14336x2048xui8>, %b: tensor<16xbf16>, %o: tensor<14336x4096xbf16>) -> tensor<14336x4096xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "14336", d1 = "4096"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %none = arith.constant 0 : i8
    %zero = arith.constant 0.0 : bf16
    %four = arith.constant 4 : i8
    %low = arith.constant 15 : i8
    %l = "fuse.load"(%q, %true, %none) {at = ["d0", "d1 floordiv 2"]} : (tensor<14336x2048xui8>, i1, i8) -> i8
    %h = arith.shrui %l, %four : i8
    %m = arith.andi %l, %low : i8
    %i = "fuse.index"() {expr = "d1 mod 2"} : () -> i64
    %nought = arith.constant 0 : i64
    %first = arith.cmpi eq, %i, %nought : i64
    %c = arith.select %first, %m, %h : i8
    %v = arith.uitofp %c : i8 to bf16
    %r = "fuse.store"(%o, %v, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<14336x4096xbf16>, bf16, i1) -> tensor<14336x4096xbf16>
    return %r : tensor<14336x4096xbf16>
  }
  func.func private @seventeen(tensor<17x4096xbf16>, tensor<4096x14336xbf16, #fuse.layout<"4096,14336", "1,4096", "0", "">>) -> tensor<17x14336xbf16> attributes {fuse.extern = "aten.mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
}

// -----

// Weights are looked up in a table that the lanes of a warp hold.
// CHECK: kernel_us=16.{{[0-9]*}}, call_us={{[0-9.]*}}, rows=8: @by_table
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<8x4096xbf16>, %q: tensor<14336x2048xui8>, %b: tensor<16xbf16>) -> tensor<8x14336xbf16> {
    %e = "fuse.empty"() {syms = []} : () -> tensor<14336x4096xbf16>
    %w = call @unpack(%q, %b, %e) : (tensor<14336x2048xui8>, tensor<16xbf16>, tensor<14336x4096xbf16>) -> tensor<14336x4096xbf16>
    %t = "fuse.view"(%w) {map = ["v1", "v0"], syms = []} : (tensor<14336x4096xbf16>) -> tensor<4096x14336xbf16, #fuse.layout<"4096,14336", "1,4096", "0", "">>
    %y = call @by_table(%x, %t) : (tensor<8x4096xbf16>, tensor<4096x14336xbf16, #fuse.layout<"4096,14336", "1,4096", "0", "">>) -> tensor<8x14336xbf16>
    return %y : tensor<8x14336xbf16>
  }
  func.func private @unpack(%q: tensor<14336x2048xui8>, %b: tensor<16xbf16>, %o: tensor<14336x4096xbf16>) -> tensor<14336x4096xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "14336", d1 = "4096"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %none = arith.constant 0 : i8
    %zero = arith.constant 0.0 : bf16
    %four = arith.constant 4 : i8
    %low = arith.constant 15 : i8
    %l = "fuse.load"(%q, %true, %none) {at = ["d0", "d1 floordiv 2"]} : (tensor<14336x2048xui8>, i1, i8) -> i8
    %h = arith.shrui %l, %four : i8
    %m = arith.andi %l, %low : i8
    %i = "fuse.index"() {expr = "d1 mod 2"} : () -> i64
    %nought = arith.constant 0 : i64
    %first = arith.cmpi eq, %i, %nought : i64
    %c = arith.select %first, %m, %h : i8
    %at = arith.extui %c : i8 to i64
    %v = "fuse.load"(%b, %true, %zero, %at) {at = ["i0"]} : (tensor<16xbf16>, i1, bf16, i64) -> bf16
    %r = "fuse.store"(%o, %v, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<14336x4096xbf16>, bf16, i1) -> tensor<14336x4096xbf16>
    return %r : tensor<14336x4096xbf16>
  }
  func.func private @by_table(tensor<8x4096xbf16>, tensor<4096x14336xbf16, #fuse.layout<"4096,14336", "1,4096", "0", "">>) -> tensor<8x14336xbf16> attributes {fuse.extern = "aten.mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
}

// -----

// Must not fire: weights are looked up in a table of more numbers than a byte has values.
// CHECK: kernel_us=31.{{[0-9]*}}, call_us={{[0-9.]*}}: @looked_up
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<8x4096xbf16>, %q: tensor<14336x2048xui8>, %b: tensor<300xbf16>) -> tensor<8x14336xbf16> {
    %e = "fuse.empty"() {syms = []} : () -> tensor<14336x4096xbf16>
    %w = call @unpack(%q, %b, %e) : (tensor<14336x2048xui8>, tensor<300xbf16>, tensor<14336x4096xbf16>) -> tensor<14336x4096xbf16>
    %t = "fuse.view"(%w) {map = ["v1", "v0"], syms = []} : (tensor<14336x4096xbf16>) -> tensor<4096x14336xbf16, #fuse.layout<"4096,14336", "1,4096", "0", "">>
    %y = call @looked_up(%x, %t) : (tensor<8x4096xbf16>, tensor<4096x14336xbf16, #fuse.layout<"4096,14336", "1,4096", "0", "">>) -> tensor<8x14336xbf16>
    return %y : tensor<8x14336xbf16>
  }
  func.func private @unpack(%q: tensor<14336x2048xui8>, %b: tensor<300xbf16>, %o: tensor<14336x4096xbf16>) -> tensor<14336x4096xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "14336", d1 = "4096"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %none = arith.constant 0 : i8
    %zero = arith.constant 0.0 : bf16
    %four = arith.constant 4 : i8
    %low = arith.constant 15 : i8
    %l = "fuse.load"(%q, %true, %none) {at = ["d0", "d1 floordiv 2"]} : (tensor<14336x2048xui8>, i1, i8) -> i8
    %h = arith.shrui %l, %four : i8
    %m = arith.andi %l, %low : i8
    %i = "fuse.index"() {expr = "d1 mod 2"} : () -> i64
    %nought = arith.constant 0 : i64
    %first = arith.cmpi eq, %i, %nought : i64
    %c = arith.select %first, %m, %h : i8
    %at = arith.extui %c : i8 to i64
    %v = "fuse.load"(%b, %true, %zero, %at) {at = ["i0"]} : (tensor<300xbf16>, i1, bf16, i64) -> bf16
    %r = "fuse.store"(%o, %v, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<14336x4096xbf16>, bf16, i1) -> tensor<14336x4096xbf16>
    return %r : tensor<14336x4096xbf16>
  }
  func.func private @looked_up(tensor<8x4096xbf16>, tensor<4096x14336xbf16, #fuse.layout<"4096,14336", "1,4096", "0", "">>) -> tensor<8x14336xbf16> attributes {fuse.extern = "aten.mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
}

// -----

// Must not fire: the numbers of a byte do not lie along the sum.
// CHECK: kernel_us=31.{{[0-9]*}}, call_us={{[0-9.]*}}: @across
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<8x4096xbf16>, %q: tensor<4096x7168xui8>, %b: tensor<16xbf16>) -> tensor<8x14336xbf16> {
    %e = "fuse.empty"() {syms = []} : () -> tensor<4096x14336xbf16>
    %w = call @unpack(%q, %b, %e) : (tensor<4096x7168xui8>, tensor<16xbf16>, tensor<4096x14336xbf16>) -> tensor<4096x14336xbf16>
    %y = call @across(%x, %w) : (tensor<8x4096xbf16>, tensor<4096x14336xbf16>) -> tensor<8x14336xbf16>
    return %y : tensor<8x14336xbf16>
  }
  func.func private @unpack(%q: tensor<4096x7168xui8>, %b: tensor<16xbf16>, %o: tensor<4096x14336xbf16>) -> tensor<4096x14336xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "4096", d1 = "14336"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %none = arith.constant 0 : i8
    %zero = arith.constant 0.0 : bf16
    %four = arith.constant 4 : i8
    %low = arith.constant 15 : i8
    %l = "fuse.load"(%q, %true, %none) {at = ["d0", "d1 floordiv 2"]} : (tensor<4096x7168xui8>, i1, i8) -> i8
    %h = arith.shrui %l, %four : i8
    %m = arith.andi %l, %low : i8
    %i = "fuse.index"() {expr = "d1 mod 2"} : () -> i64
    %nought = arith.constant 0 : i64
    %first = arith.cmpi eq, %i, %nought : i64
    %c = arith.select %first, %m, %h : i8
    %v = arith.uitofp %c : i8 to bf16
    %r = "fuse.store"(%o, %v, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<4096x14336xbf16>, bf16, i1) -> tensor<4096x14336xbf16>
    return %r : tensor<4096x14336xbf16>
  }
  func.func private @across(tensor<8x4096xbf16>, tensor<4096x14336xbf16>) -> tensor<8x14336xbf16> attributes {fuse.extern = "aten.mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
}

// -----

// Words of eight numbers along the sum, of rows that lie across it.
// CHECK: passed: choose-libraries: kernel, kernel_us=13.{{.*}} rows=8: @gptq becomes a kernel
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<8x4096xbf16>, %q: tensor<512x14336xi32>, %b: tensor<16xbf16>) -> tensor<8x14336xbf16> {
    %e = "fuse.empty"() {syms = []} : () -> tensor<4096x14336xbf16>
    %w = call @unpack(%q, %b, %e) : (tensor<512x14336xi32>, tensor<16xbf16>, tensor<4096x14336xbf16>) -> tensor<4096x14336xbf16>
    %y = call @gptq(%x, %w) : (tensor<8x4096xbf16>, tensor<4096x14336xbf16>) -> tensor<8x14336xbf16>
    return %y : tensor<8x14336xbf16>
  }
  func.func private @unpack(%q: tensor<512x14336xi32>, %b: tensor<16xbf16>, %o: tensor<4096x14336xbf16>) -> tensor<4096x14336xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "4096", d1 = "14336"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %none = arith.constant 0 : i32
    %low = arith.constant 15 : i32
    %l = "fuse.load"(%q, %true, %none) {at = ["d0 floordiv 8", "d1"]} : (tensor<512x14336xi32>, i1, i32) -> i32
    %i = "fuse.index"() {expr = "(d0 mod 8)*4"} : () -> i64
    %by = arith.trunci %i : i64 to i32
    %h = arith.shrsi %l, %by : i32
    %m = arith.andi %h, %low : i32
    %v = arith.sitofp %m : i32 to bf16
    %r = "fuse.store"(%o, %v, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<4096x14336xbf16>, bf16, i1) -> tensor<4096x14336xbf16>
    return %r : tensor<4096x14336xbf16>
  }
  func.func private @gptq(tensor<8x4096xbf16>, tensor<4096x14336xbf16>) -> tensor<8x14336xbf16> attributes {fuse.extern = "aten.mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
}

// -----

// A zero point for each row is subtracted from them: 4.0 instructions a weight, not 2.3.
// CHECK: passed: choose-libraries: kernel, kernel_us=14.{{.*}} rows=8: @zeros becomes a kernel
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<8x4096xbf16>, %q: tensor<512x14336xi32>, %b: tensor<14336xi32>) -> tensor<8x14336xbf16> {
    %e = "fuse.empty"() {syms = []} : () -> tensor<4096x14336xbf16>
    %w = call @unpack(%q, %b, %e) : (tensor<512x14336xi32>, tensor<14336xi32>, tensor<4096x14336xbf16>) -> tensor<4096x14336xbf16>
    %y = call @zeros(%x, %w) : (tensor<8x4096xbf16>, tensor<4096x14336xbf16>) -> tensor<8x14336xbf16>
    return %y : tensor<8x14336xbf16>
  }
  func.func private @unpack(%q: tensor<512x14336xi32>, %b: tensor<14336xi32>, %o: tensor<4096x14336xbf16>) -> tensor<4096x14336xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "4096", d1 = "14336"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %none = arith.constant 0 : i32
    %low = arith.constant 15 : i32
    %l = "fuse.load"(%q, %true, %none) {at = ["d0 floordiv 8", "d1"]} : (tensor<512x14336xi32>, i1, i32) -> i32
    %i = "fuse.index"() {expr = "(d0 mod 8)*4"} : () -> i64
    %by = arith.trunci %i : i64 to i32
    %h = arith.shrsi %l, %by : i32
    %m = arith.andi %h, %low : i32
    %z = "fuse.load"(%b, %true, %none) {at = ["d1"]} : (tensor<14336xi32>, i1, i32) -> i32
    %less = arith.subi %m, %z : i32
    %v = arith.sitofp %less : i32 to bf16
    %r = "fuse.store"(%o, %v, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<4096x14336xbf16>, bf16, i1) -> tensor<4096x14336xbf16>
    return %r : tensor<4096x14336xbf16>
  }
  func.func private @zeros(tensor<8x4096xbf16>, tensor<4096x14336xbf16>) -> tensor<8x14336xbf16> attributes {fuse.extern = "aten.mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
}

// -----

// Must not fire: more rows than were measured, where zero points are subtracted.
// CHECK: missed: choose-libraries: packed, {{.*}}: @rows is the library's: more than 16 rows times numbers with zero points
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<64x4096xbf16>, %q: tensor<512x14336xi32>, %b: tensor<14336xi32>) -> tensor<64x14336xbf16> {
    %e = "fuse.empty"() {syms = []} : () -> tensor<4096x14336xbf16>
    %w = call @unpack(%q, %b, %e) : (tensor<512x14336xi32>, tensor<14336xi32>, tensor<4096x14336xbf16>) -> tensor<4096x14336xbf16>
    %y = call @rows(%x, %w) : (tensor<64x4096xbf16>, tensor<4096x14336xbf16>) -> tensor<64x14336xbf16>
    return %y : tensor<64x14336xbf16>
  }
  func.func private @unpack(%q: tensor<512x14336xi32>, %b: tensor<14336xi32>, %o: tensor<4096x14336xbf16>) -> tensor<4096x14336xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "4096", d1 = "14336"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %none = arith.constant 0 : i32
    %low = arith.constant 15 : i32
    %l = "fuse.load"(%q, %true, %none) {at = ["d0 floordiv 8", "d1"]} : (tensor<512x14336xi32>, i1, i32) -> i32
    %i = "fuse.index"() {expr = "(d0 mod 8)*4"} : () -> i64
    %by = arith.trunci %i : i64 to i32
    %h = arith.shrsi %l, %by : i32
    %m = arith.andi %h, %low : i32
    %z = "fuse.load"(%b, %true, %none) {at = ["d1"]} : (tensor<14336xi32>, i1, i32) -> i32
    %less = arith.subi %m, %z : i32
    %v = arith.sitofp %less : i32 to bf16
    %r = "fuse.store"(%o, %v, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<4096x14336xbf16>, bf16, i1) -> tensor<4096x14336xbf16>
    return %r : tensor<4096x14336xbf16>
  }
  func.func private @rows(tensor<64x4096xbf16>, tensor<4096x14336xbf16>) -> tensor<64x14336xbf16> attributes {fuse.extern = "aten.mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
}

// -----

// Must not fire: the numbers of a word do not lie along the sum.
// CHECK: kernel_us=31.{{[0-9]*}}, call_us={{[0-9.]*}}: @awq
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<8x4096xbf16>, %q: tensor<4096x1792xi32>, %b: tensor<16xbf16>) -> tensor<8x14336xbf16> {
    %e = "fuse.empty"() {syms = []} : () -> tensor<4096x14336xbf16>
    %w = call @unpack(%q, %b, %e) : (tensor<4096x1792xi32>, tensor<16xbf16>, tensor<4096x14336xbf16>) -> tensor<4096x14336xbf16>
    %y = call @awq(%x, %w) : (tensor<8x4096xbf16>, tensor<4096x14336xbf16>) -> tensor<8x14336xbf16>
    return %y : tensor<8x14336xbf16>
  }
  func.func private @unpack(%q: tensor<4096x1792xi32>, %b: tensor<16xbf16>, %o: tensor<4096x14336xbf16>) -> tensor<4096x14336xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "4096", d1 = "14336"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %none = arith.constant 0 : i32
    %low = arith.constant 15 : i32
    %l = "fuse.load"(%q, %true, %none) {at = ["d0", "d1 floordiv 8"]} : (tensor<4096x1792xi32>, i1, i32) -> i32
    %i = "fuse.index"() {expr = "(d1 mod 8)*4"} : () -> i64
    %by = arith.trunci %i : i64 to i32
    %h = arith.shrsi %l, %by : i32
    %m = arith.andi %h, %low : i32
    %v = arith.sitofp %m : i32 to bf16
    %r = "fuse.store"(%o, %v, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<4096x14336xbf16>, bf16, i1) -> tensor<4096x14336xbf16>
    return %r : tensor<4096x14336xbf16>
  }
  func.func private @awq(tensor<8x4096xbf16>, tensor<4096x14336xbf16>) -> tensor<8x14336xbf16> attributes {fuse.extern = "aten.mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
}
