// RUN: fuse-opt %s --pass-pipeline="builtin.module(choose-libraries{hardware=h200})" --split-input-file --remarks=text 2>&1 >/dev/null | FileCheck %s

// At most 64 rows, with weights of 8 bits.  The kernel is weighed with 64 of them, and the call with the hint's 16.
// CHECK: passed: choose-libraries: kernel, kernel_us={{3[12][0-9.]*}}, call_us={{7[0-9.]+}}: @batch becomes a kernel
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%s0: index {fuse.sym = "s0", fuse.min = 2 : i64, fuse.max = 64 : i64, fuse.hint = 16 : i64}, %x: tensor<?x4096xbf16, #fuse.layout<"s0,4096", "4096,1", "0", "">>, %q: tensor<14336x4096xi8>) -> tensor<?x14336xbf16, #fuse.layout<"s0,14336", "14336,1", "0", "">> {
    %e = "fuse.empty"() {syms = []} : () -> tensor<14336x4096xbf16>
    %w = call @widen(%q, %e) : (tensor<14336x4096xi8>, tensor<14336x4096xbf16>) -> tensor<14336x4096xbf16>
    %t = "fuse.view"(%w) {map = ["v1", "v0"], syms = []} : (tensor<14336x4096xbf16>) -> tensor<4096x14336xbf16, #fuse.layout<"4096,14336", "1,4096", "0", "">>
    %y = call @batch(%x, %t) : (tensor<?x4096xbf16, #fuse.layout<"s0,4096", "4096,1", "0", "">>, tensor<4096x14336xbf16, #fuse.layout<"4096,14336", "1,4096", "0", "">>) -> tensor<?x14336xbf16, #fuse.layout<"s0,14336", "14336,1", "0", "">>
    return %y : tensor<?x14336xbf16, #fuse.layout<"s0,14336", "14336,1", "0", "">>
  }
  func.func private @widen(%x: tensor<14336x4096xi8>, %o: tensor<14336x4096xbf16>) -> tensor<14336x4096xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "14336", d1 = "4096"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0 : i8
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<14336x4096xi8>, i1, i8) -> i8
    %w = arith.sitofp %v : i8 to bf16
    %r = "fuse.store"(%o, %w, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<14336x4096xbf16>, bf16, i1) -> tensor<14336x4096xbf16>
    return %r : tensor<14336x4096xbf16>
  }
  func.func private @batch(tensor<?x4096xbf16, #fuse.layout<"s0,4096", "4096,1", "0", "">>, tensor<4096x14336xbf16, #fuse.layout<"4096,14336", "1,4096", "0", "">>) -> tensor<?x14336xbf16, #fuse.layout<"s0,14336", "14336,1", "0", "">> attributes {fuse.extern = "aten.mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
}

// -----

// Must not fire: blocks for 16 rows would read the weights again for each 16 of many.
// CHECK: missed: choose-libraries: sizes, {{.*}}@larger is the library's: sizes that are known when compiling only
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%s0: index {fuse.sym = "s0", fuse.min = 2 : i64, fuse.max = 65 : i64, fuse.hint = 16 : i64}, %x: tensor<?x4096xbf16, #fuse.layout<"s0,4096", "4096,1", "0", "">>, %q: tensor<14336x4096xi8>) -> tensor<?x14336xbf16, #fuse.layout<"s0,14336", "14336,1", "0", "">> {
    %e = "fuse.empty"() {syms = []} : () -> tensor<14336x4096xbf16>
    %w = call @widen(%q, %e) : (tensor<14336x4096xi8>, tensor<14336x4096xbf16>) -> tensor<14336x4096xbf16>
    %t = "fuse.view"(%w) {map = ["v1", "v0"], syms = []} : (tensor<14336x4096xbf16>) -> tensor<4096x14336xbf16, #fuse.layout<"4096,14336", "1,4096", "0", "">>
    %y = call @larger(%x, %t) : (tensor<?x4096xbf16, #fuse.layout<"s0,4096", "4096,1", "0", "">>, tensor<4096x14336xbf16, #fuse.layout<"4096,14336", "1,4096", "0", "">>) -> tensor<?x14336xbf16, #fuse.layout<"s0,14336", "14336,1", "0", "">>
    return %y : tensor<?x14336xbf16, #fuse.layout<"s0,14336", "14336,1", "0", "">>
  }
  func.func private @widen(%x: tensor<14336x4096xi8>, %o: tensor<14336x4096xbf16>) -> tensor<14336x4096xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "14336", d1 = "4096"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0 : i8
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<14336x4096xi8>, i1, i8) -> i8
    %w = arith.sitofp %v : i8 to bf16
    %r = "fuse.store"(%o, %w, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<14336x4096xbf16>, bf16, i1) -> tensor<14336x4096xbf16>
    return %r : tensor<14336x4096xbf16>
  }
  func.func private @larger(tensor<?x4096xbf16, #fuse.layout<"s0,4096", "4096,1", "0", "">>, tensor<4096x14336xbf16, #fuse.layout<"4096,14336", "1,4096", "0", "">>) -> tensor<?x14336xbf16, #fuse.layout<"s0,14336", "14336,1", "0", "">> attributes {fuse.extern = "aten.mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
}

// -----

// Must not fire: nothing is known of the number of rows.
// CHECK: missed: choose-libraries: sizes, {{.*}}@unbounded is the library's
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%s0: index {fuse.sym = "s0", fuse.min = 2 : i64, fuse.hint = 16 : i64}, %x: tensor<?x4096xbf16, #fuse.layout<"s0,4096", "4096,1", "0", "">>, %q: tensor<14336x4096xi8>) -> tensor<?x14336xbf16, #fuse.layout<"s0,14336", "14336,1", "0", "">> {
    %e = "fuse.empty"() {syms = []} : () -> tensor<14336x4096xbf16>
    %w = call @widen(%q, %e) : (tensor<14336x4096xi8>, tensor<14336x4096xbf16>) -> tensor<14336x4096xbf16>
    %t = "fuse.view"(%w) {map = ["v1", "v0"], syms = []} : (tensor<14336x4096xbf16>) -> tensor<4096x14336xbf16, #fuse.layout<"4096,14336", "1,4096", "0", "">>
    %y = call @unbounded(%x, %t) : (tensor<?x4096xbf16, #fuse.layout<"s0,4096", "4096,1", "0", "">>, tensor<4096x14336xbf16, #fuse.layout<"4096,14336", "1,4096", "0", "">>) -> tensor<?x14336xbf16, #fuse.layout<"s0,14336", "14336,1", "0", "">>
    return %y : tensor<?x14336xbf16, #fuse.layout<"s0,14336", "14336,1", "0", "">>
  }
  func.func private @widen(%x: tensor<14336x4096xi8>, %o: tensor<14336x4096xbf16>) -> tensor<14336x4096xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "14336", d1 = "4096"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0 : i8
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<14336x4096xi8>, i1, i8) -> i8
    %w = arith.sitofp %v : i8 to bf16
    %r = "fuse.store"(%o, %w, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<14336x4096xbf16>, bf16, i1) -> tensor<14336x4096xbf16>
    return %r : tensor<14336x4096xbf16>
  }
  func.func private @unbounded(tensor<?x4096xbf16, #fuse.layout<"s0,4096", "4096,1", "0", "">>, tensor<4096x14336xbf16, #fuse.layout<"4096,14336", "1,4096", "0", "">>) -> tensor<?x14336xbf16, #fuse.layout<"s0,14336", "14336,1", "0", "">> attributes {fuse.extern = "aten.mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
}

// -----

// Must not fire: with four rows the kernel would multiply and add, which takes long with 64.
// CHECK: missed: choose-libraries: sizes, {{.*}}@hardly_any is the library's
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%s0: index {fuse.sym = "s0", fuse.min = 2 : i64, fuse.max = 64 : i64, fuse.hint = 4 : i64}, %x: tensor<?x4096xbf16, #fuse.layout<"s0,4096", "4096,1", "0", "">>, %q: tensor<14336x4096xi8>) -> tensor<?x14336xbf16, #fuse.layout<"s0,14336", "14336,1", "0", "">> {
    %e = "fuse.empty"() {syms = []} : () -> tensor<14336x4096xbf16>
    %w = call @widen(%q, %e) : (tensor<14336x4096xi8>, tensor<14336x4096xbf16>) -> tensor<14336x4096xbf16>
    %t = "fuse.view"(%w) {map = ["v1", "v0"], syms = []} : (tensor<14336x4096xbf16>) -> tensor<4096x14336xbf16, #fuse.layout<"4096,14336", "1,4096", "0", "">>
    %y = call @hardly_any(%x, %t) : (tensor<?x4096xbf16, #fuse.layout<"s0,4096", "4096,1", "0", "">>, tensor<4096x14336xbf16, #fuse.layout<"4096,14336", "1,4096", "0", "">>) -> tensor<?x14336xbf16, #fuse.layout<"s0,14336", "14336,1", "0", "">>
    return %y : tensor<?x14336xbf16, #fuse.layout<"s0,14336", "14336,1", "0", "">>
  }
  func.func private @widen(%x: tensor<14336x4096xi8>, %o: tensor<14336x4096xbf16>) -> tensor<14336x4096xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "14336", d1 = "4096"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0 : i8
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<14336x4096xi8>, i1, i8) -> i8
    %w = arith.sitofp %v : i8 to bf16
    %r = "fuse.store"(%o, %w, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<14336x4096xbf16>, bf16, i1) -> tensor<14336x4096xbf16>
    return %r : tensor<14336x4096xbf16>
  }
  func.func private @hardly_any(tensor<?x4096xbf16, #fuse.layout<"s0,4096", "4096,1", "0", "">>, tensor<4096x14336xbf16, #fuse.layout<"4096,14336", "1,4096", "0", "">>) -> tensor<?x14336xbf16, #fuse.layout<"s0,14336", "14336,1", "0", "">> attributes {fuse.extern = "aten.mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
}

// -----

// Must not fire: weights of 16 bits gain little, and less with other numbers of rows.
// CHECK: missed: choose-libraries: sizes, {{.*}}@wide_weights is the library's
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%s0: index {fuse.sym = "s0", fuse.min = 2 : i64, fuse.max = 64 : i64, fuse.hint = 16 : i64}, %x: tensor<?x4096xbf16, #fuse.layout<"s0,4096", "4096,1", "0", "">>, %q: tensor<14336x4096xbf16>) -> tensor<?x14336xbf16, #fuse.layout<"s0,14336", "14336,1", "0", "">> {
    %t = "fuse.view"(%q) {map = ["v1", "v0"], syms = []} : (tensor<14336x4096xbf16>) -> tensor<4096x14336xbf16, #fuse.layout<"4096,14336", "1,4096", "0", "">>
    %y = call @wide_weights(%x, %t) : (tensor<?x4096xbf16, #fuse.layout<"s0,4096", "4096,1", "0", "">>, tensor<4096x14336xbf16, #fuse.layout<"4096,14336", "1,4096", "0", "">>) -> tensor<?x14336xbf16, #fuse.layout<"s0,14336", "14336,1", "0", "">>
    return %y : tensor<?x14336xbf16, #fuse.layout<"s0,14336", "14336,1", "0", "">>
  }
  func.func private @wide_weights(tensor<?x4096xbf16, #fuse.layout<"s0,4096", "4096,1", "0", "">>, tensor<4096x14336xbf16, #fuse.layout<"4096,14336", "1,4096", "0", "">>) -> tensor<?x14336xbf16, #fuse.layout<"s0,14336", "14336,1", "0", "">> attributes {fuse.extern = "aten.mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
}

// -----

// Must not fire: the number of columns is a symbol, too.
// CHECK: missed: choose-libraries: sizes, {{.*}}@columns_too is the library's
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%s0: index {fuse.sym = "s0", fuse.min = 2 : i64, fuse.max = 64 : i64, fuse.hint = 16 : i64}, %s1: index {fuse.sym = "s1", fuse.min = 2 : i64, fuse.hint = 14336 : i64}, %x: tensor<?x4096xbf16, #fuse.layout<"s0,4096", "4096,1", "0", "">>, %q: tensor<?x4096xi8, #fuse.layout<"s1,4096", "4096,1", "0", "">>) -> tensor<?x?xbf16, #fuse.layout<"s0,s1", "s1,1", "0", "">> {
    %e = "fuse.empty"(%s1) {syms = ["s1"]} : (index) -> tensor<?x4096xbf16, #fuse.layout<"s1,4096", "4096,1", "0", "">>
    %w = call @widen(%q, %e, %s1) : (tensor<?x4096xi8, #fuse.layout<"s1,4096", "4096,1", "0", "">>, tensor<?x4096xbf16, #fuse.layout<"s1,4096", "4096,1", "0", "">>, index) -> tensor<?x4096xbf16, #fuse.layout<"s1,4096", "4096,1", "0", "">>
    %t = "fuse.view"(%w, %s1) {map = ["v1", "v0"], syms = ["s1"]} : (tensor<?x4096xbf16, #fuse.layout<"s1,4096", "4096,1", "0", "">>, index) -> tensor<4096x?xbf16, #fuse.layout<"4096,s1", "1,4096", "0", "">>
    %y = call @columns_too(%x, %t) : (tensor<?x4096xbf16, #fuse.layout<"s0,4096", "4096,1", "0", "">>, tensor<4096x?xbf16, #fuse.layout<"4096,s1", "1,4096", "0", "">>) -> tensor<?x?xbf16, #fuse.layout<"s0,s1", "s1,1", "0", "">>
    return %y : tensor<?x?xbf16, #fuse.layout<"s0,s1", "s1,1", "0", "">>
  }
  func.func private @widen(%x: tensor<?x4096xi8, #fuse.layout<"s1,4096", "4096,1", "0", "">>, %o: tensor<?x4096xbf16, #fuse.layout<"s1,4096", "4096,1", "0", "">>, %s1: index {fuse.sym = "s1"}) -> tensor<?x4096xbf16, #fuse.layout<"s1,4096", "4096,1", "0", "">> attributes {fuse.kernel, fuse.dims = {d0 = "s1", d1 = "4096"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0 : i8
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<?x4096xi8, #fuse.layout<"s1,4096", "4096,1", "0", "">>, i1, i8) -> i8
    %w = arith.sitofp %v : i8 to bf16
    %r = "fuse.store"(%o, %w, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<?x4096xbf16, #fuse.layout<"s1,4096", "4096,1", "0", "">>, bf16, i1) -> tensor<?x4096xbf16, #fuse.layout<"s1,4096", "4096,1", "0", "">>
    return %r : tensor<?x4096xbf16, #fuse.layout<"s1,4096", "4096,1", "0", "">>
  }
  func.func private @columns_too(tensor<?x4096xbf16, #fuse.layout<"s0,4096", "4096,1", "0", "">>, tensor<4096x?xbf16, #fuse.layout<"4096,s1", "1,4096", "0", "">>) -> tensor<?x?xbf16, #fuse.layout<"s0,s1", "s1,1", "0", "">> attributes {fuse.extern = "aten.mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
}

// -----

// Must not fire: the rows are widened, not the weights.
// CHECK: missed: choose-libraries: sizes, {{.*}}@wide_rows is the library's
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%s0: index {fuse.sym = "s0", fuse.min = 2 : i64, fuse.max = 64 : i64, fuse.hint = 16 : i64}, %q: tensor<?x4096xi8, #fuse.layout<"s0,4096", "4096,1", "0", "">>, %w: tensor<4096x14336xbf16, #fuse.layout<"4096,14336", "1,4096", "0", "">>) -> tensor<?x14336xbf16, #fuse.layout<"s0,14336", "14336,1", "0", "">> {
    %e = "fuse.empty"(%s0) {syms = ["s0"]} : (index) -> tensor<?x4096xbf16, #fuse.layout<"s0,4096", "4096,1", "0", "">>
    %x = call @widen(%q, %e, %s0) : (tensor<?x4096xi8, #fuse.layout<"s0,4096", "4096,1", "0", "">>, tensor<?x4096xbf16, #fuse.layout<"s0,4096", "4096,1", "0", "">>, index) -> tensor<?x4096xbf16, #fuse.layout<"s0,4096", "4096,1", "0", "">>
    %y = call @wide_rows(%x, %w) : (tensor<?x4096xbf16, #fuse.layout<"s0,4096", "4096,1", "0", "">>, tensor<4096x14336xbf16, #fuse.layout<"4096,14336", "1,4096", "0", "">>) -> tensor<?x14336xbf16, #fuse.layout<"s0,14336", "14336,1", "0", "">>
    return %y : tensor<?x14336xbf16, #fuse.layout<"s0,14336", "14336,1", "0", "">>
  }
  func.func private @widen(%x: tensor<?x4096xi8, #fuse.layout<"s0,4096", "4096,1", "0", "">>, %o: tensor<?x4096xbf16, #fuse.layout<"s0,4096", "4096,1", "0", "">>, %s0: index {fuse.sym = "s0"}) -> tensor<?x4096xbf16, #fuse.layout<"s0,4096", "4096,1", "0", "">> attributes {fuse.kernel, fuse.dims = {d0 = "s0", d1 = "4096"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0 : i8
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<?x4096xi8, #fuse.layout<"s0,4096", "4096,1", "0", "">>, i1, i8) -> i8
    %w = arith.sitofp %v : i8 to bf16
    %r = "fuse.store"(%o, %w, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<?x4096xbf16, #fuse.layout<"s0,4096", "4096,1", "0", "">>, bf16, i1) -> tensor<?x4096xbf16, #fuse.layout<"s0,4096", "4096,1", "0", "">>
    return %r : tensor<?x4096xbf16, #fuse.layout<"s0,4096", "4096,1", "0", "">>
  }
  func.func private @wide_rows(tensor<?x4096xbf16, #fuse.layout<"s0,4096", "4096,1", "0", "">>, tensor<4096x14336xbf16, #fuse.layout<"4096,14336", "1,4096", "0", "">>) -> tensor<?x14336xbf16, #fuse.layout<"s0,14336", "14336,1", "0", "">> attributes {fuse.extern = "aten.mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
}

// -----

// Must not fire: weights that are made from as many bytes gain little.
// CHECK: missed: choose-libraries: sizes, {{.*}}@same_bytes is the library's
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%s0: index {fuse.sym = "s0", fuse.min = 2 : i64, fuse.max = 64 : i64, fuse.hint = 16 : i64}, %x: tensor<?x4096xbf16, #fuse.layout<"s0,4096", "4096,1", "0", "">>, %q: tensor<14336x4096xbf16>) -> tensor<?x14336xbf16, #fuse.layout<"s0,14336", "14336,1", "0", "">> {
    %e = "fuse.empty"() {syms = []} : () -> tensor<14336x4096xbf16>
    %w = call @negate(%q, %e) : (tensor<14336x4096xbf16>, tensor<14336x4096xbf16>) -> tensor<14336x4096xbf16>
    %t = "fuse.view"(%w) {map = ["v1", "v0"], syms = []} : (tensor<14336x4096xbf16>) -> tensor<4096x14336xbf16, #fuse.layout<"4096,14336", "1,4096", "0", "">>
    %y = call @same_bytes(%x, %t) : (tensor<?x4096xbf16, #fuse.layout<"s0,4096", "4096,1", "0", "">>, tensor<4096x14336xbf16, #fuse.layout<"4096,14336", "1,4096", "0", "">>) -> tensor<?x14336xbf16, #fuse.layout<"s0,14336", "14336,1", "0", "">>
    return %y : tensor<?x14336xbf16, #fuse.layout<"s0,14336", "14336,1", "0", "">>
  }
  func.func private @negate(%x: tensor<14336x4096xbf16>, %o: tensor<14336x4096xbf16>) -> tensor<14336x4096xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "14336", d1 = "4096"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<14336x4096xbf16>, i1, bf16) -> bf16
    %w = arith.negf %v : bf16
    %r = "fuse.store"(%o, %w, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<14336x4096xbf16>, bf16, i1) -> tensor<14336x4096xbf16>
    return %r : tensor<14336x4096xbf16>
  }
  func.func private @same_bytes(tensor<?x4096xbf16, #fuse.layout<"s0,4096", "4096,1", "0", "">>, tensor<4096x14336xbf16, #fuse.layout<"4096,14336", "1,4096", "0", "">>) -> tensor<?x14336xbf16, #fuse.layout<"s0,14336", "14336,1", "0", "">> attributes {fuse.extern = "aten.mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
}

// -----

// Must not fire: nothing says that the distance between two rows is a multiple of 16 bytes.
// CHECK: missed: choose-libraries: strides, {{.*}}@strided is the library's: rows of a factor do not start at multiples of 16 bytes
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%s0: index {fuse.sym = "s0", fuse.min = 2 : i64, fuse.max = 64 : i64, fuse.hint = 16 : i64}, %s1: index {fuse.sym = "s1", fuse.min = 4096 : i64, fuse.hint = 8192 : i64}, %x: tensor<?x4096xbf16, #fuse.layout<"s0,4096", "s1,1", "0", "">>, %q: tensor<14336x4096xi8>) -> tensor<?x14336xbf16, #fuse.layout<"s0,14336", "14336,1", "0", "">> {
    %e = "fuse.empty"() {syms = []} : () -> tensor<14336x4096xbf16>
    %w = call @widen(%q, %e) : (tensor<14336x4096xi8>, tensor<14336x4096xbf16>) -> tensor<14336x4096xbf16>
    %t = "fuse.view"(%w) {map = ["v1", "v0"], syms = []} : (tensor<14336x4096xbf16>) -> tensor<4096x14336xbf16, #fuse.layout<"4096,14336", "1,4096", "0", "">>
    %y = call @strided(%x, %t) : (tensor<?x4096xbf16, #fuse.layout<"s0,4096", "s1,1", "0", "">>, tensor<4096x14336xbf16, #fuse.layout<"4096,14336", "1,4096", "0", "">>) -> tensor<?x14336xbf16, #fuse.layout<"s0,14336", "14336,1", "0", "">>
    return %y : tensor<?x14336xbf16, #fuse.layout<"s0,14336", "14336,1", "0", "">>
  }
  func.func private @widen(%x: tensor<14336x4096xi8>, %o: tensor<14336x4096xbf16>) -> tensor<14336x4096xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "14336", d1 = "4096"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0 : i8
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<14336x4096xi8>, i1, i8) -> i8
    %w = arith.sitofp %v : i8 to bf16
    %r = "fuse.store"(%o, %w, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<14336x4096xbf16>, bf16, i1) -> tensor<14336x4096xbf16>
    return %r : tensor<14336x4096xbf16>
  }
  func.func private @strided(tensor<?x4096xbf16, #fuse.layout<"s0,4096", "s1,1", "0", "">>, tensor<4096x14336xbf16, #fuse.layout<"4096,14336", "1,4096", "0", "">>) -> tensor<?x14336xbf16, #fuse.layout<"s0,14336", "14336,1", "0", "">> attributes {fuse.extern = "aten.mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
}

// -----

// Two rows, times weights of which nobody knows how many rows they have.
// CHECK: passed: choose-libraries: kernel, {{.*}}rows=2: @any_weights becomes a kernel
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%s0: index {fuse.sym = "s0", fuse.min = 2 : i64, fuse.hint = 14336 : i64}, %x: tensor<2x4096xbf16>, %w: tensor<4096x?xbf16, #fuse.layout<"4096,s0", "1,4096", "0", "">>) -> tensor<2x?xbf16, #fuse.layout<"2,s0", "s0,1", "0", "">> {
    %y = call @any_weights(%x, %w) : (tensor<2x4096xbf16>, tensor<4096x?xbf16, #fuse.layout<"4096,s0", "1,4096", "0", "">>) -> tensor<2x?xbf16, #fuse.layout<"2,s0", "s0,1", "0", "">>
    return %y : tensor<2x?xbf16, #fuse.layout<"2,s0", "s0,1", "0", "">>
  }
  func.func private @any_weights(tensor<2x4096xbf16>, tensor<4096x?xbf16, #fuse.layout<"4096,s0", "1,4096", "0", "">>) -> tensor<2x?xbf16, #fuse.layout<"2,s0", "s0,1", "0", "">> attributes {fuse.extern = "aten.mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
}

// -----

// Must not fire: the distance between rows of such weights is unknown, too, so that no access is wide.
// CHECK: missed: choose-libraries: sizes, {{.*}}@apart is the library's
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%s0: index {fuse.sym = "s0", fuse.min = 2 : i64, fuse.hint = 14336 : i64}, %s1: index {fuse.sym = "s1", fuse.min = 4096 : i64, fuse.hint = 8192 : i64}, %x: tensor<2x4096xbf16>, %w: tensor<4096x?xbf16, #fuse.layout<"4096,s0", "1,s1", "0", "">>) -> tensor<2x?xbf16, #fuse.layout<"2,s0", "s0,1", "0", "">> {
    %y = call @apart(%x, %w) : (tensor<2x4096xbf16>, tensor<4096x?xbf16, #fuse.layout<"4096,s0", "1,s1", "0", "">>) -> tensor<2x?xbf16, #fuse.layout<"2,s0", "s0,1", "0", "">>
    return %y : tensor<2x?xbf16, #fuse.layout<"2,s0", "s0,1", "0", "">>
  }
  func.func private @apart(tensor<2x4096xbf16>, tensor<4096x?xbf16, #fuse.layout<"4096,s0", "1,s1", "0", "">>) -> tensor<2x?xbf16, #fuse.layout<"2,s0", "s0,1", "0", "">> attributes {fuse.extern = "aten.mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
}

// -----

// Must not fire: nobody knows how many elements are summed.
// CHECK: missed: choose-libraries: sizes, {{.*}}@any_sum is the library's
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%s0: index {fuse.sym = "s0", fuse.min = 2 : i64, fuse.hint = 4096 : i64}, %x: tensor<2x?xbf16, #fuse.layout<"2,s0", "s0,1", "0", "">>, %w: tensor<?x14336xbf16, #fuse.layout<"s0,14336", "1,s0", "0", "">>) -> tensor<2x14336xbf16> {
    %y = call @any_sum(%x, %w) : (tensor<2x?xbf16, #fuse.layout<"2,s0", "s0,1", "0", "">>, tensor<?x14336xbf16, #fuse.layout<"s0,14336", "1,s0", "0", "">>) -> tensor<2x14336xbf16>
    return %y : tensor<2x14336xbf16>
  }
  func.func private @any_sum(tensor<2x?xbf16, #fuse.layout<"2,s0", "s0,1", "0", "">>, tensor<?x14336xbf16, #fuse.layout<"s0,14336", "1,s0", "0", "">>) -> tensor<2x14336xbf16> attributes {fuse.extern = "aten.mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
}
