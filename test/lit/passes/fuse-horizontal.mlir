// RUN: fuse-opt %s --pass-pipeline="builtin.module(fuse-horizontal)" --split-input-file --verify-diagnostics | FileCheck %s
// RUN: not fuse-opt %s --pass-pipeline="builtin.module(fuse-horizontal{hardware=abacus})" --split-input-file 2>&1 | FileCheck %s --check-prefix=HARDWARE

// HARDWARE: fuse-horizontal: unknown hardware 'abacus': expected one of a100,

// Two kernels that read %x at the same points are one group.
// CHECK-LABEL: func.func @main
// CHECK: call @exp({{.*}}) {fuse.group = 0 : i64}
// CHECK: call @neg({{.*}}) {fuse.group = 0 : i64}
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>) {
    %o = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %a = call @exp(%x, %o) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    %p = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %b = call @neg(%x, %p) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    return %a, %b : tensor<64xf32>, tensor<64xf32>
  }
  func.func private @exp(%x0: tensor<64xf32>, %o: tensor<64xf32>) -> tensor<64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v0 = "fuse.load"(%x0, %true, %zero) {at = ["d0"]} : (tensor<64xf32>, i1, f32) -> f32
    %r = math.exp %v0 : f32
    %out = "fuse.store"(%o, %r, %true) {at = ["d0"], mode = "set"} : (tensor<64xf32>, f32, i1) -> tensor<64xf32>
    return %out : tensor<64xf32>
  }
  func.func private @neg(%x0: tensor<64xf32>, %o: tensor<64xf32>) -> tensor<64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v0 = "fuse.load"(%x0, %true, %zero) {at = ["d0"]} : (tensor<64xf32>, i1, f32) -> f32
    %r = arith.negf %v0 : f32
    %out = "fuse.store"(%o, %r, %true) {at = ["d0"], mode = "set"} : (tensor<64xf32>, f32, i1) -> tensor<64xf32>
    return %out : tensor<64xf32>
  }
}

// -----

// Must not fire: nothing is shared; and where something is, an extern op needs the first and feeds the second.
// CHECK-LABEL: func.func @main
// CHECK-NOT: fuse.group
// CHECK: return
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<64xf32>, %y: tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>) {
    %o = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %a = call @exp(%x, %o) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    %p = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %b = call @neg(%y, %p) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    %n = call @extern_neg(%a) : (tensor<64xf32>) -> tensor<64xf32>
    %q = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %c = call @add(%x, %n, %q) : (tensor<64xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    return %b, %c : tensor<64xf32>, tensor<64xf32>
  }
  func.func private @extern_neg(tensor<64xf32>) -> tensor<64xf32> attributes {fuse.extern = "aten.neg.default", fuse.args = [#fuse.arg<0 : i64>], fuse.kwargs = {}}
  func.func private @exp(%x0: tensor<64xf32>, %o: tensor<64xf32>) -> tensor<64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v0 = "fuse.load"(%x0, %true, %zero) {at = ["d0"]} : (tensor<64xf32>, i1, f32) -> f32
    %r = math.exp %v0 : f32
    %out = "fuse.store"(%o, %r, %true) {at = ["d0"], mode = "set"} : (tensor<64xf32>, f32, i1) -> tensor<64xf32>
    return %out : tensor<64xf32>
  }
  func.func private @neg(%x0: tensor<64xf32>, %o: tensor<64xf32>) -> tensor<64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v0 = "fuse.load"(%x0, %true, %zero) {at = ["d0"]} : (tensor<64xf32>, i1, f32) -> f32
    %r = arith.negf %v0 : f32
    %out = "fuse.store"(%o, %r, %true) {at = ["d0"], mode = "set"} : (tensor<64xf32>, f32, i1) -> tensor<64xf32>
    return %out : tensor<64xf32>
  }
  func.func private @add(%x0: tensor<64xf32>, %x1: tensor<64xf32>, %o: tensor<64xf32>) -> tensor<64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v0 = "fuse.load"(%x0, %true, %zero) {at = ["d0"]} : (tensor<64xf32>, i1, f32) -> f32
    %v1 = "fuse.load"(%x1, %true, %zero) {at = ["d0"]} : (tensor<64xf32>, i1, f32) -> f32
    %r = arith.addf %v0, %v1 : f32
    %out = "fuse.store"(%o, %r, %true) {at = ["d0"], mode = "set"} : (tensor<64xf32>, f32, i1) -> tensor<64xf32>
    return %out : tensor<64xf32>
  }
}

// -----

// Bad input: there is nothing to schedule.
// expected-error @+1 {{the module has no function @main}}
module attributes {fuse.device = "cpu"} {
}

// -----

// Row and column sums of one matrix: one walk over its rows gives both.
// CHECK-LABEL: func.func @main
// CHECK: call @row_sum({{.*}}) {fuse.group = 0 : i64}
// CHECK: call @column_sum({{.*}}) {fuse.group = 0 : i64}
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<4096x512xf32>) -> (tensor<4096xf32>, tensor<512xf32>) {
    %o = "fuse.empty"() {syms = []} : () -> tensor<4096xf32>
    %p = "fuse.empty"() {syms = []} : () -> tensor<512xf32>
    %a = call @row_sum(%x, %o) : (tensor<4096x512xf32>, tensor<4096xf32>) -> tensor<4096xf32>
    %b = call @column_sum(%x, %p) : (tensor<4096x512xf32>, tensor<512xf32>) -> tensor<512xf32>
    return %a, %b : tensor<4096xf32>, tensor<512xf32>
  }
  func.func private @row_sum(%x: tensor<4096x512xf32>, %o: tensor<4096xf32>) -> tensor<4096xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "4096", d1 = "512"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<4096x512xf32>, i1, f32) -> f32
    %s = "fuse.reduce"(%v) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d0"], mode = "set"} : (tensor<4096xf32>, f32, i1) -> tensor<4096xf32>
    return %r : tensor<4096xf32>
  }
  func.func private @column_sum(%x: tensor<4096x512xf32>, %o: tensor<512xf32>) -> tensor<512xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "4096", d1 = "512"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<4096x512xf32>, i1, f32) -> f32
    %s = "fuse.reduce"(%v) {kind = "sum", over = ["d0"]} : (f32) -> f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d1"], mode = "set"} : (tensor<512xf32>, f32, i1) -> tensor<512xf32>
    return %r : tensor<512xf32>
  }
}

// -----

// A prime number of rows: the shares of a sum need not be equal.
// CHECK-LABEL: func.func @main
// CHECK: call @row_sum({{.*}}) {fuse.group = 0 : i64}
// CHECK: call @columns({{.*}}) {fuse.group = 0 : i64}
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<8191x512xf32>) -> (tensor<8191xf32>, tensor<512xf32>) {
    %o = "fuse.empty"() {syms = []} : () -> tensor<8191xf32>
    %p = "fuse.empty"() {syms = []} : () -> tensor<512xf32>
    %a = call @row_sum(%x, %o) : (tensor<8191x512xf32>, tensor<8191xf32>) -> tensor<8191xf32>
    %b = call @columns(%x, %p) : (tensor<8191x512xf32>, tensor<512xf32>) -> tensor<512xf32>
    return %a, %b : tensor<8191xf32>, tensor<512xf32>
  }
  func.func private @row_sum(%x: tensor<8191x512xf32>, %o: tensor<8191xf32>) -> tensor<8191xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "8191", d1 = "512"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<8191x512xf32>, i1, f32) -> f32
    %s = "fuse.reduce"(%v) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d0"], mode = "set"} : (tensor<8191xf32>, f32, i1) -> tensor<8191xf32>
    return %r : tensor<8191xf32>
  }
  func.func private @columns(%x: tensor<8191x512xf32>, %o: tensor<512xf32>) -> tensor<512xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "8191", d1 = "512"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<8191x512xf32>, i1, f32) -> f32
    %s = "fuse.reduce"(%v) {kind = "sum", over = ["d0"]} : (f32) -> f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d1"], mode = "set"} : (tensor<512xf32>, f32, i1) -> tensor<512xf32>
    return %r : tensor<512xf32>
  }
}

// -----

// A number of rows of which only a hint is known.
// CHECK-LABEL: func.func @main
// CHECK: call @row_sum({{.*}}) {fuse.group = 0 : i64}
// CHECK: call @columns({{.*}}) {fuse.group = 0 : i64}
module attributes {fuse.device = "cpu"} {
  func.func @main(%s0: index {fuse.sym = "s0", fuse.hint = 8192 : i64}, %x: tensor<?x512xf32, #fuse.layout<"s0,512", "512,1", "0", "">>) -> (tensor<?xf32, #fuse.layout<"s0", "1", "0", "">>, tensor<512xf32>) {
    %o = "fuse.empty"(%s0) {syms = ["s0"]} : (index) -> tensor<?xf32, #fuse.layout<"s0", "1", "0", "">>
    %p = "fuse.empty"() {syms = []} : () -> tensor<512xf32>
    %a = call @row_sum(%x, %o, %s0) : (tensor<?x512xf32, #fuse.layout<"s0,512", "512,1", "0", "">>, tensor<?xf32, #fuse.layout<"s0", "1", "0", "">>, index) -> tensor<?xf32, #fuse.layout<"s0", "1", "0", "">>
    %b = call @columns(%x, %p, %s0) : (tensor<?x512xf32, #fuse.layout<"s0,512", "512,1", "0", "">>, tensor<512xf32>, index) -> tensor<512xf32>
    return %a, %b : tensor<?xf32, #fuse.layout<"s0", "1", "0", "">>, tensor<512xf32>
  }
  func.func private @row_sum(%x: tensor<?x512xf32, #fuse.layout<"s0,512", "512,1", "0", "">>, %o: tensor<?xf32, #fuse.layout<"s0", "1", "0", "">>, %s0: index {fuse.sym = "s0"}) -> tensor<?xf32, #fuse.layout<"s0", "1", "0", "">>
      attributes {fuse.kernel, fuse.dims = {d0 = "s0", d1 = "512"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<?x512xf32, #fuse.layout<"s0,512", "512,1", "0", "">>, i1, f32) -> f32
    %s = "fuse.reduce"(%v) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d0"], mode = "set"} : (tensor<?xf32, #fuse.layout<"s0", "1", "0", "">>, f32, i1) -> tensor<?xf32, #fuse.layout<"s0", "1", "0", "">>
    return %r : tensor<?xf32, #fuse.layout<"s0", "1", "0", "">>
  }
  func.func private @columns(%x: tensor<?x512xf32, #fuse.layout<"s0,512", "512,1", "0", "">>, %o: tensor<512xf32>, %s0: index {fuse.sym = "s0"}) -> tensor<512xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "s0", d1 = "512"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<?x512xf32, #fuse.layout<"s0,512", "512,1", "0", "">>, i1, f32) -> f32
    %s = "fuse.reduce"(%v) {kind = "sum", over = ["d0"]} : (f32) -> f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d1"], mode = "set"} : (tensor<512xf32>, f32, i1) -> tensor<512xf32>
    return %r : tensor<512xf32>
  }
}

// -----

// Means and spreads of a column are combined by the numbers of their rows: 8191 has no divisor near.
// CHECK-LABEL: func.func @main
// CHECK: call @row_sum({{.*}}) {fuse.group = 0 : i64}
// CHECK: call @columns({{.*}}) {fuse.group = 0 : i64}
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<8191x512xf32>) -> (tensor<8191xf32>, tensor<512xf32>) {
    %o = "fuse.empty"() {syms = []} : () -> tensor<8191xf32>
    %p = "fuse.empty"() {syms = []} : () -> tensor<512xf32>
    %a = call @row_sum(%x, %o) : (tensor<8191x512xf32>, tensor<8191xf32>) -> tensor<8191xf32>
    %b = call @columns(%x, %p) : (tensor<8191x512xf32>, tensor<512xf32>) -> tensor<512xf32>
    return %a, %b : tensor<8191xf32>, tensor<512xf32>
  }
  func.func private @row_sum(%x: tensor<8191x512xf32>, %o: tensor<8191xf32>) -> tensor<8191xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "8191", d1 = "512"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<8191x512xf32>, i1, f32) -> f32
    %s = "fuse.reduce"(%v) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d0"], mode = "set"} : (tensor<8191xf32>, f32, i1) -> tensor<8191xf32>
    return %r : tensor<8191xf32>
  }
  func.func private @columns(%x: tensor<8191x512xf32>, %o: tensor<512xf32>) -> tensor<512xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "8191", d1 = "512"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<8191x512xf32>, i1, f32) -> f32
    %s:2 = "fuse.welford"(%v) {over = ["d0"]} : (f32) -> (f32, f32)
    %r = "fuse.store"(%o, %s#1, %true) {at = ["d1"], mode = "set"} : (tensor<512xf32>, f32, i1) -> tensor<512xf32>
    return %r : tensor<512xf32>
  }
}

// -----

// Nor need the shares of an unknown number of rows be equal.
// CHECK-LABEL: func.func @main
// CHECK: call @row_sum({{.*}}) {fuse.group = 0 : i64}
// CHECK: call @columns({{.*}}) {fuse.group = 0 : i64}
module attributes {fuse.device = "cpu"} {
  func.func @main(%s0: index {fuse.sym = "s0", fuse.hint = 8192 : i64}, %x: tensor<?x512xf32, #fuse.layout<"s0,512", "512,1", "0", "">>) -> (tensor<?xf32, #fuse.layout<"s0", "1", "0", "">>, tensor<512xf32>) {
    %o = "fuse.empty"(%s0) {syms = ["s0"]} : (index) -> tensor<?xf32, #fuse.layout<"s0", "1", "0", "">>
    %p = "fuse.empty"() {syms = []} : () -> tensor<512xf32>
    %a = call @row_sum(%x, %o, %s0) : (tensor<?x512xf32, #fuse.layout<"s0,512", "512,1", "0", "">>, tensor<?xf32, #fuse.layout<"s0", "1", "0", "">>, index) -> tensor<?xf32, #fuse.layout<"s0", "1", "0", "">>
    %b = call @columns(%x, %p, %s0) : (tensor<?x512xf32, #fuse.layout<"s0,512", "512,1", "0", "">>, tensor<512xf32>, index) -> tensor<512xf32>
    return %a, %b : tensor<?xf32, #fuse.layout<"s0", "1", "0", "">>, tensor<512xf32>
  }
  func.func private @row_sum(%x: tensor<?x512xf32, #fuse.layout<"s0,512", "512,1", "0", "">>, %o: tensor<?xf32, #fuse.layout<"s0", "1", "0", "">>, %s0: index {fuse.sym = "s0"}) -> tensor<?xf32, #fuse.layout<"s0", "1", "0", "">>
      attributes {fuse.kernel, fuse.dims = {d0 = "s0", d1 = "512"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<?x512xf32, #fuse.layout<"s0,512", "512,1", "0", "">>, i1, f32) -> f32
    %s = "fuse.reduce"(%v) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d0"], mode = "set"} : (tensor<?xf32, #fuse.layout<"s0", "1", "0", "">>, f32, i1) -> tensor<?xf32, #fuse.layout<"s0", "1", "0", "">>
    return %r : tensor<?xf32, #fuse.layout<"s0", "1", "0", "">>
  }
  func.func private @columns(%x: tensor<?x512xf32, #fuse.layout<"s0,512", "512,1", "0", "">>, %o: tensor<512xf32>, %s0: index {fuse.sym = "s0"}) -> tensor<512xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "s0", d1 = "512"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<?x512xf32, #fuse.layout<"s0,512", "512,1", "0", "">>, i1, f32) -> f32
    %s:2 = "fuse.welford"(%v) {over = ["d0"]} : (f32) -> (f32, f32)
    %r = "fuse.store"(%o, %s#1, %true) {at = ["d1"], mode = "set"} : (tensor<512xf32>, f32, i1) -> tensor<512xf32>
    return %r : tensor<512xf32>
  }
}
