// RUN: fuse-opt %s --pass-pipeline="builtin.module(split-reductions{hardware=h200})" --split-input-file | FileCheck %s
// RUN: fuse-opt %s --pass-pipeline="builtin.module(split-reductions{hardware=h200})" --split-input-file --remarks=text -o %t 2>&1 | FileCheck %s --check-prefix=REMARK

// Slices of columns may be as short as 4 KB where there are few programs: 16 of 6 KB give 128, 4 of 24 KB gave 32.
// CHECK-LABEL: func.func @main
// CHECK-LABEL: func.func private @columns_slices
// CHECK-SAME: fuse.dims = {d0 = "98", d1 = "256", d2 = "16"}
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<1568x256xbf16>) -> tensor<256xbf16> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<256xbf16>
    %y = call @columns(%x, %o) : (tensor<1568x256xbf16>, tensor<256xbf16>) -> tensor<256xbf16>
    return %y : tensor<256xbf16>
  }
  func.func private @columns(%x: tensor<1568x256xbf16>, %o: tensor<256xbf16>) -> tensor<256xbf16>
      attributes {fuse.kernel, fuse.dims = {d0 = "1568", d1 = "256"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<1568x256xbf16>, i1, bf16) -> bf16
    %s = "fuse.reduce"(%v) {kind = "sum", over = ["d0"]} : (bf16) -> bf16
    %r = "fuse.store"(%o, %s, %true) {at = ["d1"], mode = "set"} : (tensor<256xbf16>, bf16, i1) -> tensor<256xbf16>
    return %r : tensor<256xbf16>
  }
}

// -----

// Where slices also store at each point, three programs for each multiprocessor are few, too: 8 of 12 KB, not 4.
// CHECK-LABEL: func.func @main
// CHECK-LABEL: func.func private @stored_slices
// CHECK-SAME: fuse.dims = {d0 = "196", d1 = "1536", d2 = "8"}
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<1568x1536xbf16>) -> (tensor<1568x1536xbf16>, tensor<1536xbf16>) {
    %p = "fuse.empty"() {syms = []} : () -> tensor<1568x1536xbf16>
    %o = "fuse.empty"() {syms = []} : () -> tensor<1536xbf16>
    %r:2 = call @stored(%x, %p, %o) : (tensor<1568x1536xbf16>, tensor<1568x1536xbf16>, tensor<1536xbf16>) -> (tensor<1568x1536xbf16>, tensor<1536xbf16>)
    return %r#0, %r#1 : tensor<1568x1536xbf16>, tensor<1536xbf16>
  }
  func.func private @stored(%x: tensor<1568x1536xbf16>, %p: tensor<1568x1536xbf16>, %o: tensor<1536xbf16>) -> (tensor<1568x1536xbf16>, tensor<1536xbf16>)
      attributes {fuse.kernel, fuse.dims = {d0 = "1568", d1 = "1536"}, fuse.ties = array<i64: 1, 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<1568x1536xbf16>, i1, bf16) -> bf16
    %w = arith.mulf %v, %v : bf16
    %q = "fuse.store"(%p, %w, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<1568x1536xbf16>, bf16, i1) -> tensor<1568x1536xbf16>
    %s = "fuse.reduce"(%w) {kind = "sum", over = ["d0"]} : (bf16) -> bf16
    %r = "fuse.store"(%o, %s, %true) {at = ["d1"], mode = "set"} : (tensor<1536xbf16>, bf16, i1) -> tensor<1536xbf16>
    return %q, %r : tensor<1568x1536xbf16>, tensor<1536xbf16>
  }
}

// -----

// At most 32 slices are short, so that they are combined at once: 66 would give each multiprocessor a program.
// CHECK-LABEL: func.func @main
// CHECK-LABEL: func.func private @narrow_slices
// CHECK-SAME: fuse.dims = {d0 = "196", d1 = "64", d2 = "32"}
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<6272x64xbf16>) -> tensor<64xbf16> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<64xbf16>
    %y = call @narrow(%x, %o) : (tensor<6272x64xbf16>, tensor<64xbf16>) -> tensor<64xbf16>
    return %y : tensor<64xbf16>
  }
  func.func private @narrow(%x: tensor<6272x64xbf16>, %o: tensor<64xbf16>) -> tensor<64xbf16>
      attributes {fuse.kernel, fuse.dims = {d0 = "6272", d1 = "64"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<6272x64xbf16>, i1, bf16) -> bf16
    %s = "fuse.reduce"(%v) {kind = "sum", over = ["d0"]} : (bf16) -> bf16
    %r = "fuse.store"(%o, %s, %true) {at = ["d1"], mode = "set"} : (tensor<64xbf16>, bf16, i1) -> tensor<64xbf16>
    return %r : tensor<64xbf16>
  }
}

// -----

// Must not fire: 98 slices of 16 KB give 196 programs.
// CHECK-LABEL: func.func @main
// CHECK-LABEL: func.func private @enough_slices
// CHECK-SAME: fuse.dims = {d0 = "256", d1 = "64", d2 = "98"}
// CHECK-NOT: enough_rest_slices
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<25088x64xbf16>) -> tensor<64xbf16> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<64xbf16>
    %y = call @enough(%x, %o) : (tensor<25088x64xbf16>, tensor<64xbf16>) -> tensor<64xbf16>
    return %y : tensor<64xbf16>
  }
  func.func private @enough(%x: tensor<25088x64xbf16>, %o: tensor<64xbf16>) -> tensor<64xbf16>
      attributes {fuse.kernel, fuse.dims = {d0 = "25088", d1 = "64"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<25088x64xbf16>, i1, bf16) -> bf16
    %s = "fuse.reduce"(%v) {kind = "sum", over = ["d0"]} : (bf16) -> bf16
    %r = "fuse.store"(%o, %s, %true) {at = ["d1"], mode = "set"} : (tensor<64xbf16>, bf16, i1) -> tensor<64xbf16>
    return %r : tensor<64xbf16>
  }
}

// -----

// Must not fire: what is too short for slices of 16 KB stays whole.
// CHECK-LABEL: func.func @main
// CHECK: call @scarce(
// CHECK-NOT: _slices
// REMARK: missed: split-reductions: short: @scarce:
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<392x768xbf16>) -> tensor<768xbf16> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<768xbf16>
    %y = call @scarce(%x, %o) : (tensor<392x768xbf16>, tensor<768xbf16>) -> tensor<768xbf16>
    return %y : tensor<768xbf16>
  }
  func.func private @scarce(%x: tensor<392x768xbf16>, %o: tensor<768xbf16>) -> tensor<768xbf16>
      attributes {fuse.kernel, fuse.dims = {d0 = "392", d1 = "768"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<392x768xbf16>, i1, bf16) -> bf16
    %s = "fuse.reduce"(%v) {kind = "sum", over = ["d0"]} : (bf16) -> bf16
    %r = "fuse.store"(%o, %s, %true) {at = ["d1"], mode = "set"} : (tensor<768xbf16>, bf16, i1) -> tensor<768xbf16>
    return %r : tensor<768xbf16>
  }
}

// -----

// Must not fire: shorter slices of 1004 rows would not be equally long, as an expectation needs them.
// CHECK-LABEL: func.func @main
// CHECK-LABEL: func.func private @equal_slices
// CHECK-SAME: fuse.dims = {d0 = "251", d1 = "32", d2 = "4"}
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<1004x32xf32>) -> tensor<32xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<32xf32>
    %y = call @equal(%x, %o) : (tensor<1004x32xf32>, tensor<32xf32>) -> tensor<32xf32>
    return %y : tensor<32xf32>
  }
  func.func private @equal(%x: tensor<1004x32xf32>, %o: tensor<32xf32>) -> tensor<32xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "1004", d1 = "32"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<1004x32xf32>, i1, f32) -> f32
    %e:3 = "fuse.online_expectation"(%v) {over = ["d0"], signs = array<i64: 1>} : (f32) -> (f32, f32, f32)
    %r = "fuse.store"(%o, %e#2, %true) {at = ["d1"], mode = "set"} : (tensor<32xf32>, f32, i1) -> tensor<32xf32>
    return %r : tensor<32xf32>
  }
}

// -----

// Must not fire: 4 slices of 16 KB of each of two rows are read at once; they are no columns.
// CHECK-LABEL: func.func @main
// CHECK-LABEL: func.func private @row_slices
// CHECK-SAME: fuse.dims = {d0 = "2", d1 = "4096", d2 = "4"}
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<2x16384xf32>) -> tensor<2xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<2xf32>
    %y = call @row(%x, %o) : (tensor<2x16384xf32>, tensor<2xf32>) -> tensor<2xf32>
    return %y : tensor<2xf32>
  }
  func.func private @row(%x: tensor<2x16384xf32>, %o: tensor<2xf32>) -> tensor<2xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "2", d1 = "16384"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<2x16384xf32>, i1, f32) -> f32
    %s = "fuse.reduce"(%v) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d0"], mode = "set"} : (tensor<2xf32>, f32, i1) -> tensor<2xf32>
    return %r : tensor<2xf32>
  }
}

// -----

// Slices of 4 KB are the shortest: 784 rows are cut into 8, as 12 would not be equally long.
// CHECK-LABEL: func.func @main
// CHECK-LABEL: func.func private @least_slices
// CHECK-SAME: fuse.dims = {d0 = "98", d1 = "64", d2 = "8"}
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<784x64xbf16>) -> tensor<64xbf16> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<64xbf16>
    %y = call @least(%x, %o) : (tensor<784x64xbf16>, tensor<64xbf16>) -> tensor<64xbf16>
    return %y : tensor<64xbf16>
  }
  func.func private @least(%x: tensor<784x64xbf16>, %o: tensor<64xbf16>) -> tensor<64xbf16>
      attributes {fuse.kernel, fuse.dims = {d0 = "784", d1 = "64"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<784x64xbf16>, i1, bf16) -> bf16
    %s = "fuse.reduce"(%v) {kind = "sum", over = ["d0"]} : (bf16) -> bf16
    %r = "fuse.store"(%o, %s, %true) {at = ["d1"], mode = "set"} : (tensor<64xbf16>, bf16, i1) -> tensor<64xbf16>
    return %r : tensor<64xbf16>
  }
}

// -----

// Must not fire: where nothing is read there are no columns.  A point counts as a byte.
// CHECK-LABEL: func.func @main
// CHECK-LABEL: func.func private @numbers_slices
// CHECK-SAME: fuse.dims = {d0 = "16384", d1 = "4"}
module attributes {fuse.device = "cpu"} {
  func.func @main() -> tensor<i64> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<i64>
    %y = call @numbers(%o) : (tensor<i64>) -> tensor<i64>
    return %y : tensor<i64>
  }
  func.func private @numbers(%o: tensor<i64>) -> tensor<i64>
      attributes {fuse.kernel, fuse.dims = {d0 = "65536"}, fuse.ties = array<i64: 0>} {
    %true = arith.constant true
    %v = "fuse.index"() {expr = "d0"} : () -> i64
    %s = "fuse.reduce"(%v) {kind = "sum", over = ["d0"]} : (i64) -> i64
    %r = "fuse.store"(%o, %s, %true) {at = [], mode = "set"} : (tensor<i64>, i64, i1) -> tensor<i64>
    return %r : tensor<i64>
  }
}

// -----

// Must not fire: columns are read again by a program for each two multiprocessors, from the cache.
// CHECK-LABEL: func.func @main
// CHECK: call @again(
// CHECK-NOT: _slices
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<4096x2048xbf16>) -> tensor<4096x2048xbf16> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<4096x2048xbf16>
    %y = call @again(%x, %o) : (tensor<4096x2048xbf16>, tensor<4096x2048xbf16>) -> tensor<4096x2048xbf16>
    return %y : tensor<4096x2048xbf16>
  }
  func.func private @again(%x: tensor<4096x2048xbf16>, %o: tensor<4096x2048xbf16>) -> tensor<4096x2048xbf16>
      attributes {fuse.kernel, fuse.dims = {d0 = "4096", d1 = "2048"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<4096x2048xbf16>, i1, bf16) -> bf16
    %s = "fuse.reduce"(%v) {kind = "sum", over = ["d0"]} : (bf16) -> bf16
    %c = arith.subf %v, %s : bf16
    %r = "fuse.store"(%o, %c, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<4096x2048xbf16>, bf16, i1) -> tensor<4096x2048xbf16>
    return %r : tensor<4096x2048xbf16>
  }
}

// -----

// Fewer programs are cut, and three kernels do it.
// CHECK-LABEL: func.func @main
// CHECK: call @alone_slices(
// CHECK: call @alone_combine(
// CHECK: call @alone_rest(
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<4096x1024xbf16>) -> tensor<4096x1024xbf16> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<4096x1024xbf16>
    %y = call @alone(%x, %o) : (tensor<4096x1024xbf16>, tensor<4096x1024xbf16>) -> tensor<4096x1024xbf16>
    return %y : tensor<4096x1024xbf16>
  }
  func.func private @alone(%x: tensor<4096x1024xbf16>, %o: tensor<4096x1024xbf16>) -> tensor<4096x1024xbf16>
      attributes {fuse.kernel, fuse.dims = {d0 = "4096", d1 = "1024"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<4096x1024xbf16>, i1, bf16) -> bf16
    %s = "fuse.reduce"(%v) {kind = "sum", over = ["d0"]} : (bf16) -> bf16
    %c = arith.subf %v, %s : bf16
    %r = "fuse.store"(%o, %c, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<4096x1024xbf16>, bf16, i1) -> tensor<4096x1024xbf16>
    return %r : tensor<4096x1024xbf16>
  }
}

// -----

// So is what the cache does not hold.
// CHECK-LABEL: func.func @main
// CHECK: call @large_slices(
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<8192x4096xbf16>) -> tensor<8192x4096xbf16> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<8192x4096xbf16>
    %y = call @large(%x, %o) : (tensor<8192x4096xbf16>, tensor<8192x4096xbf16>) -> tensor<8192x4096xbf16>
    return %y : tensor<8192x4096xbf16>
  }
  func.func private @large(%x: tensor<8192x4096xbf16>, %o: tensor<8192x4096xbf16>) -> tensor<8192x4096xbf16>
      attributes {fuse.kernel, fuse.dims = {d0 = "8192", d1 = "4096"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<8192x4096xbf16>, i1, bf16) -> bf16
    %s = "fuse.reduce"(%v) {kind = "sum", over = ["d0"]} : (bf16) -> bf16
    %c = arith.subf %v, %s : bf16
    %r = "fuse.store"(%o, %c, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<8192x4096xbf16>, bf16, i1) -> tensor<8192x4096xbf16>
    return %r : tensor<8192x4096xbf16>
  }
}
