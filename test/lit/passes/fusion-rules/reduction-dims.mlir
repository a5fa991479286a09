// RUN: fuse-opt %s --pass-pipeline="builtin.module(fold-views,fuse-vertical)" --split-input-file | FileCheck %s
// RUN: fuse-opt %s --pass-pipeline="builtin.module(fold-views,fuse-vertical)" --split-input-file --remarks=text -o %t 2>&1 | FileCheck %s --check-prefix=REMARK

// REMARK: missed: fuse-vertical: reduction-dims, over=max_0 over d1; sum_3 over d0, no_walk=what is reduced down the rows is a result of each row: max_0 and sum_3 stay apart
// REMARK: passed: fuse-vertical: fused

// Must not fire: Along rows, then down the column of results.
// CHECK-LABEL: func.func @main
// CHECK-NOT: fuse.group
// CHECK: return
module attributes {fuse.device = "cpu"} {
  func.func @main(%a0: tensor<5x7xf32>) -> (tensor<1x1xf32>) {
    %o2 = "fuse.empty"() {syms = []} : () -> tensor<5x1xf32>
    %t1 = call @max_0(%a0, %o2) : (tensor<5x7xf32>, tensor<5x1xf32>) -> tensor<5x1xf32>
    %o5 = "fuse.empty"() {syms = []} : () -> tensor<1x1xf32>
    %t4 = call @sum_3(%t1, %o5) : (tensor<5x1xf32>, tensor<1x1xf32>) -> tensor<1x1xf32>
    return %t4 : tensor<1x1xf32>
  }
  func.func private @max_0(%x0: tensor<5x7xf32>, %dest: tensor<5x1xf32>) -> tensor<5x1xf32> attributes {fuse.kernel, fuse.dims = {d0 = "5", d1 = "7"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v0 = "fuse.load"(%x0, %true, %zero) {at = ["d0", "d1"]} : (tensor<5x7xf32>, i1, f32) -> f32
    %r = "fuse.reduce"(%v0) {kind = "max", over = ["d1"]} : (f32) -> f32
    %out = "fuse.store"(%dest, %r, %true) {at = ["d0", "0"], mode = "set"} : (tensor<5x1xf32>, f32, i1) -> tensor<5x1xf32>
    return %out : tensor<5x1xf32>
  }
  func.func private @sum_3(%x0: tensor<5x1xf32>, %dest: tensor<1x1xf32>) -> tensor<1x1xf32> attributes {fuse.kernel, fuse.dims = {d0 = "5", d1 = "1"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v0 = "fuse.load"(%x0, %true, %zero) {at = ["d0", "d1"]} : (tensor<5x1xf32>, i1, f32) -> f32
    %r = "fuse.reduce"(%v0) {kind = "sum", over = ["d0"]} : (f32) -> f32
    %out = "fuse.store"(%dest, %r, %true) {at = ["0", "d1"], mode = "set"} : (tensor<1x1xf32>, f32, i1) -> tensor<1x1xf32>
    return %out : tensor<1x1xf32>
  }
}

// -----

// Both along rows.
// CHECK-LABEL: func.func @main
// CHECK-COUNT-2: fuse.group = 0
// CHECK: return
module attributes {fuse.device = "cpu"} {
  func.func @main(%a0: tensor<5x7xf32>) -> (tensor<5x1xf32>) {
    %o2 = "fuse.empty"() {syms = []} : () -> tensor<5x1xf32>
    %t1 = call @max_0(%a0, %o2) : (tensor<5x7xf32>, tensor<5x1xf32>) -> tensor<5x1xf32>
    %o5 = "fuse.empty"() {syms = []} : () -> tensor<5x7xf32>
    %t4 = call @sub_3(%a0, %t1, %o5) : (tensor<5x7xf32>, tensor<5x1xf32>, tensor<5x7xf32>) -> tensor<5x7xf32>
    %o8 = "fuse.empty"() {syms = []} : () -> tensor<5x1xf32>
    %t7 = call @sum_6(%t4, %o8) : (tensor<5x7xf32>, tensor<5x1xf32>) -> tensor<5x1xf32>
    return %t7 : tensor<5x1xf32>
  }
  func.func private @max_0(%x0: tensor<5x7xf32>, %dest: tensor<5x1xf32>) -> tensor<5x1xf32> attributes {fuse.kernel, fuse.dims = {d0 = "5", d1 = "7"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v0 = "fuse.load"(%x0, %true, %zero) {at = ["d0", "d1"]} : (tensor<5x7xf32>, i1, f32) -> f32
    %r = "fuse.reduce"(%v0) {kind = "max", over = ["d1"]} : (f32) -> f32
    %out = "fuse.store"(%dest, %r, %true) {at = ["d0", "0"], mode = "set"} : (tensor<5x1xf32>, f32, i1) -> tensor<5x1xf32>
    return %out : tensor<5x1xf32>
  }
  func.func private @sub_3(%x0: tensor<5x7xf32>, %x1: tensor<5x1xf32>, %dest: tensor<5x7xf32>) -> tensor<5x7xf32> attributes {fuse.kernel, fuse.dims = {d0 = "5", d1 = "7"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v0 = "fuse.load"(%x0, %true, %zero) {at = ["d0", "d1"]} : (tensor<5x7xf32>, i1, f32) -> f32
    %v1 = "fuse.load"(%x1, %true, %zero) {at = ["d0", "0"]} : (tensor<5x1xf32>, i1, f32) -> f32
    %r = arith.subf %v0, %v1 : f32
    %out = "fuse.store"(%dest, %r, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<5x7xf32>, f32, i1) -> tensor<5x7xf32>
    return %out : tensor<5x7xf32>
  }
  func.func private @sum_6(%x0: tensor<5x7xf32>, %dest: tensor<5x1xf32>) -> tensor<5x1xf32> attributes {fuse.kernel, fuse.dims = {d0 = "5", d1 = "7"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v0 = "fuse.load"(%x0, %true, %zero) {at = ["d0", "d1"]} : (tensor<5x7xf32>, i1, f32) -> f32
    %r = "fuse.reduce"(%v0) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %out = "fuse.store"(%dest, %r, %true) {at = ["d0", "0"], mode = "set"} : (tensor<5x1xf32>, f32, i1) -> tensor<5x1xf32>
    return %out : tensor<5x1xf32>
  }
}

// -----

// What is reduced along the columns of a product, which a program holds.
// CHECK-LABEL: func.func @main
// CHECK: call @product({{.*}}) {fuse.group = 0 : i64}
// CHECK: call @largest({{.*}}) {fuse.group = 0 : i64}
// REMARK: passed: fuse-vertical: fused, {{.*}}[product + largest]
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<32x16xf16>, %w: tensor<16x64xf16>) -> tensor<32xf32> {
    %e = "fuse.empty"() {syms = []} : () -> tensor<32x64xf32>
    %y = call @product(%x, %w, %e) : (tensor<32x16xf16>, tensor<16x64xf16>, tensor<32x64xf32>) -> tensor<32x64xf32>
    %f = "fuse.empty"() {syms = []} : () -> tensor<32xf32>
    %m = call @largest(%y, %f) : (tensor<32x64xf32>, tensor<32xf32>) -> tensor<32xf32>
    return %m : tensor<32xf32>
  }
  func.func private @product(%x: tensor<32x16xf16>, %w: tensor<16x64xf16>, %o: tensor<32x64xf32>) -> tensor<32x64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "32", d1 = "64", d2 = "16"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f16
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d2"]} : (tensor<32x16xf16>, i1, f16) -> f16
    %b = "fuse.load"(%w, %true, %zero) {at = ["d2", "d1"]} : (tensor<16x64xf16>, i1, f16) -> f16
    %s = "fuse.dot"(%a, %b) {over = ["d2"]} : (f16, f16) -> f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<32x64xf32>, f32, i1) -> tensor<32x64xf32>
    return %r : tensor<32x64xf32>
  }
  func.func private @largest(%x: tensor<32x64xf32>, %o: tensor<32xf32>) -> tensor<32xf32> attributes {fuse.kernel, fuse.dims = {d0 = "32", d1 = "64"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<32x64xf32>, i1, f32) -> f32
    %m = "fuse.reduce"(%v) {kind = "max", over = ["d1"]} : (f32) -> f32
    %r = "fuse.store"(%o, %m, %true) {at = ["d0"], mode = "set"} : (tensor<32xf32>, f32, i1) -> tensor<32xf32>
    return %r : tensor<32xf32>
  }
}

// -----

// Must not fire: More columns than a program holds.
// CHECK-LABEL: func.func @main
// CHECK-NOT: fuse.group
// CHECK: return
// REMARK: missed: fuse-vertical: reduction-dims, over=product over d2; largest over d1, no_walk={{[^:]*}}: product and largest stay apart
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<32x16xf16>, %w: tensor<16x1024xf16>) -> tensor<32xf32> {
    %e = "fuse.empty"() {syms = []} : () -> tensor<32x1024xf32>
    %y = call @product(%x, %w, %e) : (tensor<32x16xf16>, tensor<16x1024xf16>, tensor<32x1024xf32>) -> tensor<32x1024xf32>
    %f = "fuse.empty"() {syms = []} : () -> tensor<32xf32>
    %m = call @largest(%y, %f) : (tensor<32x1024xf32>, tensor<32xf32>) -> tensor<32xf32>
    return %m : tensor<32xf32>
  }
  func.func private @product(%x: tensor<32x16xf16>, %w: tensor<16x1024xf16>, %o: tensor<32x1024xf32>) -> tensor<32x1024xf32> attributes {fuse.kernel, fuse.dims = {d0 = "32", d1 = "1024", d2 = "16"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f16
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d2"]} : (tensor<32x16xf16>, i1, f16) -> f16
    %b = "fuse.load"(%w, %true, %zero) {at = ["d2", "d1"]} : (tensor<16x1024xf16>, i1, f16) -> f16
    %s = "fuse.dot"(%a, %b) {over = ["d2"]} : (f16, f16) -> f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<32x1024xf32>, f32, i1) -> tensor<32x1024xf32>
    return %r : tensor<32x1024xf32>
  }
  func.func private @largest(%x: tensor<32x1024xf32>, %o: tensor<32xf32>) -> tensor<32xf32> attributes {fuse.kernel, fuse.dims = {d0 = "32", d1 = "1024"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<32x1024xf32>, i1, f32) -> f32
    %m = "fuse.reduce"(%v) {kind = "max", over = ["d1"]} : (f32) -> f32
    %r = "fuse.store"(%o, %m, %true) {at = ["d0"], mode = "set"} : (tensor<32xf32>, f32, i1) -> tensor<32xf32>
    return %r : tensor<32xf32>
  }
}

// -----

// Must not fire: The sum goes along the rows of the product and along its batch of matrices, of which a program
// computes one.
// CHECK-LABEL: func.func @main
// CHECK-NOT: fuse.group
// CHECK: return
// REMARK: missed: fuse-vertical: reduction-dims, over=product over d3; total over d0, d1, no_walk={{[^:]*}}: product and total stay apart
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<4x32x16xf16>, %w: tensor<4x16x64xf16>) -> tensor<64xf32> {
    %e = "fuse.empty"() {syms = []} : () -> tensor<4x32x64xf32>
    %y = call @product(%x, %w, %e) : (tensor<4x32x16xf16>, tensor<4x16x64xf16>, tensor<4x32x64xf32>) -> tensor<4x32x64xf32>
    %f = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %m = call @total(%y, %f) : (tensor<4x32x64xf32>, tensor<64xf32>) -> tensor<64xf32>
    return %m : tensor<64xf32>
  }
  func.func private @product(%x: tensor<4x32x16xf16>, %w: tensor<4x16x64xf16>, %o: tensor<4x32x64xf32>) -> tensor<4x32x64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "4", d1 = "32", d2 = "64", d3 = "16"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f16
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1", "d3"]} : (tensor<4x32x16xf16>, i1, f16) -> f16
    %b = "fuse.load"(%w, %true, %zero) {at = ["d0", "d3", "d2"]} : (tensor<4x16x64xf16>, i1, f16) -> f16
    %s = "fuse.dot"(%a, %b) {over = ["d3"]} : (f16, f16) -> f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d0", "d1", "d2"], mode = "set"} : (tensor<4x32x64xf32>, f32, i1) -> tensor<4x32x64xf32>
    return %r : tensor<4x32x64xf32>
  }
  func.func private @total(%x: tensor<4x32x64xf32>, %o: tensor<64xf32>) -> tensor<64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "4", d1 = "32", d2 = "64"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1", "d2"]} : (tensor<4x32x64xf32>, i1, f32) -> f32
    %m = "fuse.reduce"(%v) {kind = "sum", over = ["d0", "d1"]} : (f32) -> f32
    %r = "fuse.store"(%o, %m, %true) {at = ["d2"], mode = "set"} : (tensor<64xf32>, f32, i1) -> tensor<64xf32>
    return %r : tensor<64xf32>
  }
}
