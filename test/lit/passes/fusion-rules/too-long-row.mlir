// RUN: fuse-opt %s --pass-pipeline="builtin.module(fold-views,fuse-vertical)" --split-input-file | FileCheck %s
// RUN: fuse-opt %s --pass-pipeline="builtin.module(fold-views,fuse-vertical)" --split-input-file --remarks=text -o %t 2>&1 | FileCheck %s --check-prefix=REMARK

// REMARK: missed: fuse-vertical: too-long-row, row=40000, max_row=32768, rows=2, min_rows=264: sum_0 and div_3 stay apart
// REMARK: passed: fuse-vertical: fused

// Must not fire: Two rows of 40000: two programs would do all the work.
// CHECK-LABEL: func.func @main
// CHECK-NOT: fuse.group
// CHECK: return
module attributes {fuse.device = "cpu"} {
  func.func @main(%a0: tensor<2x40000xf32>) -> (tensor<2x40000xf32>) {
    %o2 = "fuse.empty"() {syms = []} : () -> tensor<2x1xf32>
    %t1 = call @sum_0(%a0, %o2) : (tensor<2x40000xf32>, tensor<2x1xf32>) -> tensor<2x1xf32>
    %o5 = "fuse.empty"() {syms = []} : () -> tensor<2x40000xf32>
    %t4 = call @div_3(%a0, %t1, %o5) : (tensor<2x40000xf32>, tensor<2x1xf32>, tensor<2x40000xf32>) -> tensor<2x40000xf32>
    return %t4 : tensor<2x40000xf32>
  }
  func.func private @sum_0(%x0: tensor<2x40000xf32>, %dest: tensor<2x1xf32>) -> tensor<2x1xf32> attributes {fuse.kernel, fuse.dims = {d0 = "2", d1 = "40000"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v0 = "fuse.load"(%x0, %true, %zero) {at = ["d0", "d1"]} : (tensor<2x40000xf32>, i1, f32) -> f32
    %r = "fuse.reduce"(%v0) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %out = "fuse.store"(%dest, %r, %true) {at = ["d0", "0"], mode = "set"} : (tensor<2x1xf32>, f32, i1) -> tensor<2x1xf32>
    return %out : tensor<2x1xf32>
  }
  func.func private @div_3(%x0: tensor<2x40000xf32>, %x1: tensor<2x1xf32>, %dest: tensor<2x40000xf32>) -> tensor<2x40000xf32> attributes {fuse.kernel, fuse.dims = {d0 = "2", d1 = "40000"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v0 = "fuse.load"(%x0, %true, %zero) {at = ["d0", "d1"]} : (tensor<2x40000xf32>, i1, f32) -> f32
    %v1 = "fuse.load"(%x1, %true, %zero) {at = ["d0", "0"]} : (tensor<2x1xf32>, i1, f32) -> f32
    %r = arith.divf %v0, %v1 : f32
    %out = "fuse.store"(%dest, %r, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<2x40000xf32>, f32, i1) -> tensor<2x40000xf32>
    return %out : tensor<2x40000xf32>
  }
}

// -----

// Two rows of 400.
// CHECK-LABEL: func.func @main
// CHECK-COUNT-2: fuse.group = 0
// CHECK: return
module attributes {fuse.device = "cpu"} {
  func.func @main(%a0: tensor<2x400xf32>) -> (tensor<2x400xf32>) {
    %o2 = "fuse.empty"() {syms = []} : () -> tensor<2x1xf32>
    %t1 = call @sum_0(%a0, %o2) : (tensor<2x400xf32>, tensor<2x1xf32>) -> tensor<2x1xf32>
    %o5 = "fuse.empty"() {syms = []} : () -> tensor<2x400xf32>
    %t4 = call @div_3(%a0, %t1, %o5) : (tensor<2x400xf32>, tensor<2x1xf32>, tensor<2x400xf32>) -> tensor<2x400xf32>
    return %t4 : tensor<2x400xf32>
  }
  func.func private @sum_0(%x0: tensor<2x400xf32>, %dest: tensor<2x1xf32>) -> tensor<2x1xf32> attributes {fuse.kernel, fuse.dims = {d0 = "2", d1 = "400"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v0 = "fuse.load"(%x0, %true, %zero) {at = ["d0", "d1"]} : (tensor<2x400xf32>, i1, f32) -> f32
    %r = "fuse.reduce"(%v0) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %out = "fuse.store"(%dest, %r, %true) {at = ["d0", "0"], mode = "set"} : (tensor<2x1xf32>, f32, i1) -> tensor<2x1xf32>
    return %out : tensor<2x1xf32>
  }
  func.func private @div_3(%x0: tensor<2x400xf32>, %x1: tensor<2x1xf32>, %dest: tensor<2x400xf32>) -> tensor<2x400xf32> attributes {fuse.kernel, fuse.dims = {d0 = "2", d1 = "400"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v0 = "fuse.load"(%x0, %true, %zero) {at = ["d0", "d1"]} : (tensor<2x400xf32>, i1, f32) -> f32
    %v1 = "fuse.load"(%x1, %true, %zero) {at = ["d0", "0"]} : (tensor<2x1xf32>, i1, f32) -> f32
    %r = arith.divf %v0, %v1 : f32
    %out = "fuse.store"(%dest, %r, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<2x400xf32>, f32, i1) -> tensor<2x400xf32>
    return %out : tensor<2x400xf32>
  }
}

// -----

// 160 rows of 40960, a row for each multiprocessor: the second visit finds all 26 MB in the cache.
// CHECK-LABEL: func.func @main
// CHECK-COUNT-2: fuse.group = 0
// CHECK: return
module attributes {fuse.device = "cpu"} {
  func.func @main(%a0: tensor<160x40960xf32>) -> (tensor<160x40960xf32>) {
    %o2 = "fuse.empty"() {syms = []} : () -> tensor<160x1xf32>
    %t1 = call @sum_0(%a0, %o2) : (tensor<160x40960xf32>, tensor<160x1xf32>) -> tensor<160x1xf32>
    %o5 = "fuse.empty"() {syms = []} : () -> tensor<160x40960xf32>
    %t4 = call @div_3(%a0, %t1, %o5) : (tensor<160x40960xf32>, tensor<160x1xf32>, tensor<160x40960xf32>) -> tensor<160x40960xf32>
    return %t4 : tensor<160x40960xf32>
  }
  func.func private @sum_0(%x0: tensor<160x40960xf32>, %dest: tensor<160x1xf32>) -> tensor<160x1xf32> attributes {fuse.kernel, fuse.dims = {d0 = "160", d1 = "40960"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v0 = "fuse.load"(%x0, %true, %zero) {at = ["d0", "d1"]} : (tensor<160x40960xf32>, i1, f32) -> f32
    %r = "fuse.reduce"(%v0) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %out = "fuse.store"(%dest, %r, %true) {at = ["d0", "0"], mode = "set"} : (tensor<160x1xf32>, f32, i1) -> tensor<160x1xf32>
    return %out : tensor<160x1xf32>
  }
  func.func private @div_3(%x0: tensor<160x40960xf32>, %x1: tensor<160x1xf32>, %dest: tensor<160x40960xf32>) -> tensor<160x40960xf32> attributes {fuse.kernel, fuse.dims = {d0 = "160", d1 = "40960"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v0 = "fuse.load"(%x0, %true, %zero) {at = ["d0", "d1"]} : (tensor<160x40960xf32>, i1, f32) -> f32
    %v1 = "fuse.load"(%x1, %true, %zero) {at = ["d0", "0"]} : (tensor<160x1xf32>, i1, f32) -> f32
    %r = arith.divf %v0, %v1 : f32
    %out = "fuse.store"(%dest, %r, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<160x40960xf32>, f32, i1) -> tensor<160x40960xf32>
    return %out : tensor<160x40960xf32>
  }
}

// -----

// Must not fire: 42 MB are not in the cache any more.
// CHECK-LABEL: func.func @main
// CHECK-NOT: fuse.group
// CHECK: return
module attributes {fuse.device = "cpu"} {
  func.func @main(%a0: tensor<160x65536xf32>) -> (tensor<160x65536xf32>) {
    %o2 = "fuse.empty"() {syms = []} : () -> tensor<160x1xf32>
    %t1 = call @sum_0(%a0, %o2) : (tensor<160x65536xf32>, tensor<160x1xf32>) -> tensor<160x1xf32>
    %o5 = "fuse.empty"() {syms = []} : () -> tensor<160x65536xf32>
    %t4 = call @div_3(%a0, %t1, %o5) : (tensor<160x65536xf32>, tensor<160x1xf32>, tensor<160x65536xf32>) -> tensor<160x65536xf32>
    return %t4 : tensor<160x65536xf32>
  }
  func.func private @sum_0(%x0: tensor<160x65536xf32>, %dest: tensor<160x1xf32>) -> tensor<160x1xf32> attributes {fuse.kernel, fuse.dims = {d0 = "160", d1 = "65536"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v0 = "fuse.load"(%x0, %true, %zero) {at = ["d0", "d1"]} : (tensor<160x65536xf32>, i1, f32) -> f32
    %r = "fuse.reduce"(%v0) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %out = "fuse.store"(%dest, %r, %true) {at = ["d0", "0"], mode = "set"} : (tensor<160x1xf32>, f32, i1) -> tensor<160x1xf32>
    return %out : tensor<160x1xf32>
  }
  func.func private @div_3(%x0: tensor<160x65536xf32>, %x1: tensor<160x1xf32>, %dest: tensor<160x65536xf32>) -> tensor<160x65536xf32> attributes {fuse.kernel, fuse.dims = {d0 = "160", d1 = "65536"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v0 = "fuse.load"(%x0, %true, %zero) {at = ["d0", "d1"]} : (tensor<160x65536xf32>, i1, f32) -> f32
    %v1 = "fuse.load"(%x1, %true, %zero) {at = ["d0", "0"]} : (tensor<160x1xf32>, i1, f32) -> f32
    %r = arith.divf %v0, %v1 : f32
    %out = "fuse.store"(%dest, %r, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<160x65536xf32>, f32, i1) -> tensor<160x65536xf32>
    return %out : tensor<160x65536xf32>
  }
}
