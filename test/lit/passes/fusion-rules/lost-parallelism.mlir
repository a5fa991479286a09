// RUN: fuse-opt %s --pass-pipeline="builtin.module(fold-views,fuse-vertical)" --split-input-file | FileCheck %s
// RUN: fuse-opt %s --pass-pipeline="builtin.module(fold-views,fuse-vertical)" --split-input-file --remarks=text -o %t 2>&1 | FileCheck %s --check-prefix=REMARK

// REMARK: missed: fuse-vertical: lost-parallelism, dims=d0, repeats=5: sum_0 and mul_3 stay apart
// REMARK: passed: fuse-vertical: fused

// Must not fire: One sum, needed in each of five rows.
// CHECK-LABEL: func.func @main
// CHECK-NOT: fuse.group
// CHECK: return
module attributes {fuse.device = "cpu"} {
  func.func @main(%a0: tensor<7xf32>, %a1: tensor<5x7xf32>) -> (tensor<5x7xf32>) {
    %o2 = "fuse.empty"() {syms = []} : () -> tensor<1xf32>
    %t1 = call @sum_0(%a0, %o2) : (tensor<7xf32>, tensor<1xf32>) -> tensor<1xf32>
    %o5 = "fuse.empty"() {syms = []} : () -> tensor<5x7xf32>
    %t4 = call @mul_3(%a1, %t1, %o5) : (tensor<5x7xf32>, tensor<1xf32>, tensor<5x7xf32>) -> tensor<5x7xf32>
    return %t4 : tensor<5x7xf32>
  }
  func.func private @sum_0(%x0: tensor<7xf32>, %dest: tensor<1xf32>) -> tensor<1xf32> attributes {fuse.kernel, fuse.dims = {d0 = "7"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v0 = "fuse.load"(%x0, %true, %zero) {at = ["d0"]} : (tensor<7xf32>, i1, f32) -> f32
    %r = "fuse.reduce"(%v0) {kind = "sum", over = ["d0"]} : (f32) -> f32
    %out = "fuse.store"(%dest, %r, %true) {at = ["0"], mode = "set"} : (tensor<1xf32>, f32, i1) -> tensor<1xf32>
    return %out : tensor<1xf32>
  }
  func.func private @mul_3(%x0: tensor<5x7xf32>, %x1: tensor<1xf32>, %dest: tensor<5x7xf32>) -> tensor<5x7xf32> attributes {fuse.kernel, fuse.dims = {d0 = "5", d1 = "7"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v0 = "fuse.load"(%x0, %true, %zero) {at = ["d0", "d1"]} : (tensor<5x7xf32>, i1, f32) -> f32
    %v1 = "fuse.load"(%x1, %true, %zero) {at = ["0"]} : (tensor<1xf32>, i1, f32) -> f32
    %r = arith.mulf %v0, %v1 : f32
    %out = "fuse.store"(%dest, %r, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<5x7xf32>, f32, i1) -> tensor<5x7xf32>
    return %out : tensor<5x7xf32>
  }
}

// -----

// Each row needs its own sum.
// CHECK-LABEL: func.func @main
// CHECK-COUNT-2: fuse.group = 0
// CHECK: return
module attributes {fuse.device = "cpu"} {
  func.func @main(%a0: tensor<5x7xf32>) -> (tensor<5x7xf32>) {
    %o2 = "fuse.empty"() {syms = []} : () -> tensor<5x1xf32>
    %t1 = call @sum_0(%a0, %o2) : (tensor<5x7xf32>, tensor<5x1xf32>) -> tensor<5x1xf32>
    %o5 = "fuse.empty"() {syms = []} : () -> tensor<5x7xf32>
    %t4 = call @mul_3(%a0, %t1, %o5) : (tensor<5x7xf32>, tensor<5x1xf32>, tensor<5x7xf32>) -> tensor<5x7xf32>
    return %t4 : tensor<5x7xf32>
  }
  func.func private @sum_0(%x0: tensor<5x7xf32>, %dest: tensor<5x1xf32>) -> tensor<5x1xf32> attributes {fuse.kernel, fuse.dims = {d0 = "5", d1 = "7"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v0 = "fuse.load"(%x0, %true, %zero) {at = ["d0", "d1"]} : (tensor<5x7xf32>, i1, f32) -> f32
    %r = "fuse.reduce"(%v0) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %out = "fuse.store"(%dest, %r, %true) {at = ["d0", "0"], mode = "set"} : (tensor<5x1xf32>, f32, i1) -> tensor<5x1xf32>
    return %out : tensor<5x1xf32>
  }
  func.func private @mul_3(%x0: tensor<5x7xf32>, %x1: tensor<5x1xf32>, %dest: tensor<5x7xf32>) -> tensor<5x7xf32> attributes {fuse.kernel, fuse.dims = {d0 = "5", d1 = "7"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v0 = "fuse.load"(%x0, %true, %zero) {at = ["d0", "d1"]} : (tensor<5x7xf32>, i1, f32) -> f32
    %v1 = "fuse.load"(%x1, %true, %zero) {at = ["d0", "0"]} : (tensor<5x1xf32>, i1, f32) -> f32
    %r = arith.mulf %v0, %v1 : f32
    %out = "fuse.store"(%dest, %r, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<5x7xf32>, f32, i1) -> tensor<5x7xf32>
    return %out : tensor<5x7xf32>
  }
}

// -----

// A masked mean of columns: a program reads the mask of its tokens once for all of its columns, and adds it up too.
// CHECK-LABEL: func.func @main
// CHECK: call @count({{.*}}) {fuse.group = 0 : i64}
// CHECK: call @mean({{.*}}) {fuse.group = 0 : i64}
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<4x6x8xf32>, %m: tensor<4x6xf32>, %n: tensor<4x6xf32>) -> tensor<4x8xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<4x1xf32>
    %c = call @count(%m, %o) : (tensor<4x6xf32>, tensor<4x1xf32>) -> tensor<4x1xf32>
    %p = "fuse.empty"() {syms = []} : () -> tensor<4x8xf32>
    %s = call @mean(%x, %m, %c, %p) : (tensor<4x6x8xf32>, tensor<4x6xf32>, tensor<4x1xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    return %s : tensor<4x8xf32>
  }
  func.func private @count(%m: tensor<4x6xf32>, %o: tensor<4x1xf32>) -> tensor<4x1xf32> attributes {fuse.kernel, fuse.dims = {d0 = "4", d1 = "6"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%m, %true, %zero) {at = ["d0", "d1"]} : (tensor<4x6xf32>, i1, f32) -> f32
    %s = "fuse.reduce"(%v) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d0", "0"], mode = "set"} : (tensor<4x1xf32>, f32, i1) -> tensor<4x1xf32>
    return %r : tensor<4x1xf32>
  }
  func.func private @mean(%x: tensor<4x6x8xf32>, %m: tensor<4x6xf32>, %c: tensor<4x1xf32>, %o: tensor<4x8xf32>) -> tensor<4x8xf32> attributes {fuse.kernel, fuse.dims = {d0 = "4", d1 = "8", d2 = "6"}, fuse.ties = array<i64: 3>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d2", "d1"]} : (tensor<4x6x8xf32>, i1, f32) -> f32
    %w = "fuse.load"(%m, %true, %zero) {at = ["d0", "d2"]} : (tensor<4x6xf32>, i1, f32) -> f32
    %p = arith.mulf %v, %w : f32
    %s = "fuse.reduce"(%p) {kind = "sum", over = ["d2"]} : (f32) -> f32
    %n = "fuse.load"(%c, %true, %zero) {at = ["d0", "0"]} : (tensor<4x1xf32>, i1, f32) -> f32
    %q = arith.divf %s, %n : f32
    %r = "fuse.store"(%o, %q, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<4x8xf32>, f32, i1) -> tensor<4x8xf32>
    return %r : tensor<4x8xf32>
  }
}

// -----

// Must not fire: what is counted is not what is read along the columns.
// CHECK-LABEL: func.func @main
// CHECK-NOT: fuse.group
// CHECK: return
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<4x6x8xf32>, %m: tensor<4x6xf32>, %n: tensor<4x6xf32>) -> tensor<4x8xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<4x1xf32>
    %c = call @count(%m, %o) : (tensor<4x6xf32>, tensor<4x1xf32>) -> tensor<4x1xf32>
    %p = "fuse.empty"() {syms = []} : () -> tensor<4x8xf32>
    %s = call @mean(%x, %n, %c, %p) : (tensor<4x6x8xf32>, tensor<4x6xf32>, tensor<4x1xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    return %s : tensor<4x8xf32>
  }
  func.func private @count(%m: tensor<4x6xf32>, %o: tensor<4x1xf32>) -> tensor<4x1xf32> attributes {fuse.kernel, fuse.dims = {d0 = "4", d1 = "6"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%m, %true, %zero) {at = ["d0", "d1"]} : (tensor<4x6xf32>, i1, f32) -> f32
    %s = "fuse.reduce"(%v) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d0", "0"], mode = "set"} : (tensor<4x1xf32>, f32, i1) -> tensor<4x1xf32>
    return %r : tensor<4x1xf32>
  }
  func.func private @mean(%x: tensor<4x6x8xf32>, %m: tensor<4x6xf32>, %c: tensor<4x1xf32>, %o: tensor<4x8xf32>) -> tensor<4x8xf32> attributes {fuse.kernel, fuse.dims = {d0 = "4", d1 = "8", d2 = "6"}, fuse.ties = array<i64: 3>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d2", "d1"]} : (tensor<4x6x8xf32>, i1, f32) -> f32
    %w = "fuse.load"(%m, %true, %zero) {at = ["d0", "d2"]} : (tensor<4x6xf32>, i1, f32) -> f32
    %p = arith.mulf %v, %w : f32
    %s = "fuse.reduce"(%p) {kind = "sum", over = ["d2"]} : (f32) -> f32
    %n = "fuse.load"(%c, %true, %zero) {at = ["d0", "0"]} : (tensor<4x1xf32>, i1, f32) -> f32
    %q = arith.divf %s, %n : f32
    %r = "fuse.store"(%o, %q, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<4x8xf32>, f32, i1) -> tensor<4x8xf32>
    return %r : tensor<4x8xf32>
  }
}

// -----

// Must not fire: memory is contiguous along the tokens, so each column has a program that would count again.
// CHECK-LABEL: func.func @main
// CHECK-NOT: fuse.group
// CHECK: return
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<4x8x6xf32>, %m: tensor<4x6xf32>, %n: tensor<4x6xf32>) -> tensor<4x8xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<4x1xf32>
    %c = call @count(%m, %o) : (tensor<4x6xf32>, tensor<4x1xf32>) -> tensor<4x1xf32>
    %p = "fuse.empty"() {syms = []} : () -> tensor<4x8xf32>
    %s = call @mean(%x, %m, %c, %p) : (tensor<4x8x6xf32>, tensor<4x6xf32>, tensor<4x1xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    return %s : tensor<4x8xf32>
  }
  func.func private @count(%m: tensor<4x6xf32>, %o: tensor<4x1xf32>) -> tensor<4x1xf32> attributes {fuse.kernel, fuse.dims = {d0 = "4", d1 = "6"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%m, %true, %zero) {at = ["d0", "d1"]} : (tensor<4x6xf32>, i1, f32) -> f32
    %s = "fuse.reduce"(%v) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d0", "0"], mode = "set"} : (tensor<4x1xf32>, f32, i1) -> tensor<4x1xf32>
    return %r : tensor<4x1xf32>
  }
  func.func private @mean(%x: tensor<4x8x6xf32>, %m: tensor<4x6xf32>, %c: tensor<4x1xf32>, %o: tensor<4x8xf32>) -> tensor<4x8xf32> attributes {fuse.kernel, fuse.dims = {d0 = "4", d1 = "8", d2 = "6"}, fuse.ties = array<i64: 3>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1", "d2"]} : (tensor<4x8x6xf32>, i1, f32) -> f32
    %w = "fuse.load"(%m, %true, %zero) {at = ["d0", "d2"]} : (tensor<4x6xf32>, i1, f32) -> f32
    %p = arith.mulf %v, %w : f32
    %s = "fuse.reduce"(%p) {kind = "sum", over = ["d2"]} : (f32) -> f32
    %n = "fuse.load"(%c, %true, %zero) {at = ["d0", "0"]} : (tensor<4x1xf32>, i1, f32) -> f32
    %q = arith.divf %s, %n : f32
    %r = "fuse.store"(%o, %q, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<4x8xf32>, f32, i1) -> tensor<4x8xf32>
    return %r : tensor<4x8xf32>
  }
}
