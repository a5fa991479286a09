// RUN: fuse-opt %s --pass-pipeline="builtin.module(store-reductions{hardware=h200})" --split-input-file | FileCheck %s
// RUN: fuse-opt %s --pass-pipeline="builtin.module(store-reductions{hardware=h200},materialize-fusion)" --split-input-file | FileCheck %s --check-prefix=MERGED
// RUN: not fuse-opt %s --pass-pipeline="builtin.module(store-reductions{hardware=abacus})" --split-input-file 2>&1 | FileCheck %s --check-prefix=BAD

// BAD: store-reductions: unknown hardware 'abacus': expected one of a100,

// The mean of each row is stored, and no centred row, which the reader computes of %x.
// CHECK-LABEL: func.func @main(
// CHECK-SAME: %[[X:[^:]*]]: tensor<4096x1024xf32>
// CHECK: %[[M:.*]] = call @[[MEANS:[a-z_0-9]+]](%[[X]], %{{.*}}) : (tensor<4096x1024xf32>, tensor<4096xf32>) -> tensor<4096xf32>
// CHECK: %[[C:.*]] = call @[[REST:[a-z_0-9]+]](%[[X]], %{{.*}}, %[[M]]) {fuse.group = 0 : i64}
// CHECK: call @products(%[[C]], %{{.*}}) {fuse.group = 0 : i64}
// The quotient is stored, not the sum: it is one number for each row as well.
// CHECK: func.func private @[[REST]](
// CHECK-NOT: fuse.reduce
// CHECK: arith.subf
// CHECK: func.func private @[[MEANS]](
// CHECK: %[[S:.*]] = "fuse.reduce"
// CHECK: %[[Q:.*]] = arith.divf %[[S]]
// CHECK: "fuse.store"(%{{.*}}, %[[Q]], %{{.*}}) {at = ["d0"]
// CHECK-NEXT: return
// MERGED-LABEL: func.func @main(
// MERGED-COUNT-2: call @
// MERGED-NOT: call @
// MERGED: return
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<4096x1024xf32>) -> tensor<4096xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<4096x1024xf32>
    %p = "fuse.empty"() {syms = []} : () -> tensor<4096xf32>
    %c = call @centred(%x, %o) : (tensor<4096x1024xf32>, tensor<4096x1024xf32>) -> tensor<4096x1024xf32>
    %r = call @products(%c, %p) : (tensor<4096x1024xf32>, tensor<4096xf32>) -> tensor<4096xf32>
    return %r : tensor<4096xf32>
  }
  func.func private @centred(%x: tensor<4096x1024xf32>, %o: tensor<4096x1024xf32>) -> tensor<4096x1024xf32> attributes {fuse.kernel, fuse.dims = {d0 = "4096", d1 = "1024"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %count = arith.constant 1024.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<4096x1024xf32>, i1, f32) -> f32
    %s = "fuse.reduce"(%v) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %m = arith.divf %s, %count : f32
    %c = arith.subf %v, %m : f32
    %out = "fuse.store"(%o, %c, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<4096x1024xf32>, f32, i1) -> tensor<4096x1024xf32>
    return %out : tensor<4096x1024xf32>
  }
  func.func private @products(%c: tensor<4096x1024xf32>, %o: tensor<4096xf32>) -> tensor<4096xf32> attributes {fuse.kernel, fuse.dims = {d0 = "4096", d1 = "1023"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%c, %true, %zero) {at = ["d0", "d1"]} : (tensor<4096x1024xf32>, i1, f32) -> f32
    %w = "fuse.load"(%c, %true, %zero) {at = ["d0", "d1 + 1"]} : (tensor<4096x1024xf32>, i1, f32) -> f32
    %p = arith.mulf %v, %w : f32
    %s = "fuse.reduce"(%p) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %out = "fuse.store"(%o, %s, %true) {at = ["d0"], mode = "set"} : (tensor<4096xf32>, f32, i1) -> tensor<4096xf32>
    return %out : tensor<4096xf32>
  }
}

// -----

// Two readers, of a kernel that stores something else, too: each computes the centred rows, and the other result stays.
// CHECK-LABEL: func.func @main(
// CHECK: %[[D:.*]]:2 = call @[[BOTH:[a-z_0-9]+]](
// CHECK: call @[[ONE:[a-z_0-9]+]](%{{.*}}, %[[D]]#1) {fuse.group = 0 : i64}
// CHECK: call @[[OTHER:[a-z_0-9]+]](%{{.*}}, %[[D]]#1) {fuse.group = 1 : i64}
// CHECK: return %{{.*}}, %{{.*}}, %[[D]]#0
// MERGED-LABEL: func.func @main(
// MERGED-COUNT-3: call @
// MERGED-NOT: call @
// MERGED: return
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<4096x1024xf32>) -> (tensor<4096xf32>, tensor<4096xf32>, tensor<4096x1024xf32>) {
    %o = "fuse.empty"() {syms = []} : () -> tensor<4096x1024xf32>
    %q = "fuse.empty"() {syms = []} : () -> tensor<4096x1024xf32>
    %p = "fuse.empty"() {syms = []} : () -> tensor<4096xf32>
    %t = "fuse.empty"() {syms = []} : () -> tensor<4096xf32>
    %c:2 = call @centred(%x, %o, %q) : (tensor<4096x1024xf32>, tensor<4096x1024xf32>, tensor<4096x1024xf32>) -> (tensor<4096x1024xf32>, tensor<4096x1024xf32>)
    %r = call @products(%c#0, %p) : (tensor<4096x1024xf32>, tensor<4096xf32>) -> tensor<4096xf32>
    %n = call @next(%c#0, %t) : (tensor<4096x1024xf32>, tensor<4096xf32>) -> tensor<4096xf32>
    return %r, %n, %c#1 : tensor<4096xf32>, tensor<4096xf32>, tensor<4096x1024xf32>
  }
  func.func private @centred(%x: tensor<4096x1024xf32>, %o: tensor<4096x1024xf32>, %q: tensor<4096x1024xf32>) -> (tensor<4096x1024xf32>, tensor<4096x1024xf32>) attributes {fuse.kernel, fuse.dims = {d0 = "4096", d1 = "1024"}, fuse.ties = array<i64: 1, 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %count = arith.constant 1024.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<4096x1024xf32>, i1, f32) -> f32
    %s = "fuse.reduce"(%v) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %m = arith.divf %s, %count : f32
    %c = arith.subf %v, %m : f32
    %out = "fuse.store"(%o, %c, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<4096x1024xf32>, f32, i1) -> tensor<4096x1024xf32>
    %e = math.exp %v : f32
    %too = "fuse.store"(%q, %e, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<4096x1024xf32>, f32, i1) -> tensor<4096x1024xf32>
    return %out, %too : tensor<4096x1024xf32>, tensor<4096x1024xf32>
  }
  func.func private @products(%c: tensor<4096x1024xf32>, %o: tensor<4096xf32>) -> tensor<4096xf32> attributes {fuse.kernel, fuse.dims = {d0 = "4096", d1 = "1023"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%c, %true, %zero) {at = ["d0", "d1"]} : (tensor<4096x1024xf32>, i1, f32) -> f32
    %w = "fuse.load"(%c, %true, %zero) {at = ["d0", "d1 + 1"]} : (tensor<4096x1024xf32>, i1, f32) -> f32
    %p = arith.mulf %v, %w : f32
    %s = "fuse.reduce"(%p) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %out = "fuse.store"(%o, %s, %true) {at = ["d0"], mode = "set"} : (tensor<4096xf32>, f32, i1) -> tensor<4096xf32>
    return %out : tensor<4096xf32>
  }
  func.func private @next(%c: tensor<4096x1024xf32>, %o: tensor<4096xf32>) -> tensor<4096xf32> attributes {fuse.kernel, fuse.dims = {d0 = "4096", d1 = "1022"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%c, %true, %zero) {at = ["d0", "d1"]} : (tensor<4096x1024xf32>, i1, f32) -> f32
    %w = "fuse.load"(%c, %true, %zero) {at = ["d0", "d1 + 2"]} : (tensor<4096x1024xf32>, i1, f32) -> f32
    %p = arith.mulf %v, %w : f32
    %s = "fuse.reduce"(%p) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %out = "fuse.store"(%o, %s, %true) {at = ["d0"], mode = "set"} : (tensor<4096xf32>, f32, i1) -> tensor<4096xf32>
    return %out : tensor<4096xf32>
  }
}

// -----

// Must not fire: the caller gets the centred rows.
// CHECK-LABEL: func.func @main(
// CHECK: %[[C:.*]] = call @centred(
// CHECK: call @products(%[[C]],
// MERGED-LABEL: func.func @main(
// MERGED: call @centred(
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<4096x1024xf32>) -> (tensor<4096xf32>, tensor<4096x1024xf32>) {
    %o = "fuse.empty"() {syms = []} : () -> tensor<4096x1024xf32>
    %p = "fuse.empty"() {syms = []} : () -> tensor<4096xf32>
    %c = call @centred(%x, %o) : (tensor<4096x1024xf32>, tensor<4096x1024xf32>) -> tensor<4096x1024xf32>
    %r = call @products(%c, %p) : (tensor<4096x1024xf32>, tensor<4096xf32>) -> tensor<4096xf32>
    return %r, %c : tensor<4096xf32>, tensor<4096x1024xf32>
  }
  func.func private @centred(%x: tensor<4096x1024xf32>, %o: tensor<4096x1024xf32>) -> tensor<4096x1024xf32> attributes {fuse.kernel, fuse.dims = {d0 = "4096", d1 = "1024"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<4096x1024xf32>, i1, f32) -> f32
    %s = "fuse.reduce"(%v) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %c = arith.subf %v, %s : f32
    %out = "fuse.store"(%o, %c, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<4096x1024xf32>, f32, i1) -> tensor<4096x1024xf32>
    return %out : tensor<4096x1024xf32>
  }
  func.func private @products(%c: tensor<4096x1024xf32>, %o: tensor<4096xf32>) -> tensor<4096xf32> attributes {fuse.kernel, fuse.dims = {d0 = "4096", d1 = "1023"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%c, %true, %zero) {at = ["d0", "d1"]} : (tensor<4096x1024xf32>, i1, f32) -> f32
    %w = "fuse.load"(%c, %true, %zero) {at = ["d0", "d1 + 1"]} : (tensor<4096x1024xf32>, i1, f32) -> f32
    %p = arith.mulf %v, %w : f32
    %s = "fuse.reduce"(%p) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %out = "fuse.store"(%o, %s, %true) {at = ["d0"], mode = "set"} : (tensor<4096xf32>, f32, i1) -> tensor<4096xf32>
    return %out : tensor<4096xf32>
  }
}

// -----

// Must not fire: sums of four elements take a quarter of what is made of them.
// CHECK-LABEL: func.func @main(
// CHECK: call @centred(
// MERGED-LABEL: func.func @main(
// MERGED: call @centred(
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<1048576x4xf32>) -> tensor<1048576xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<1048576x4xf32>
    %p = "fuse.empty"() {syms = []} : () -> tensor<1048576xf32>
    %c = call @centred(%x, %o) : (tensor<1048576x4xf32>, tensor<1048576x4xf32>) -> tensor<1048576x4xf32>
    %r = call @products(%c, %p) : (tensor<1048576x4xf32>, tensor<1048576xf32>) -> tensor<1048576xf32>
    return %r : tensor<1048576xf32>
  }
  func.func private @centred(%x: tensor<1048576x4xf32>, %o: tensor<1048576x4xf32>) -> tensor<1048576x4xf32> attributes {fuse.kernel, fuse.dims = {d0 = "1048576", d1 = "4"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<1048576x4xf32>, i1, f32) -> f32
    %s = "fuse.reduce"(%v) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %c = arith.subf %v, %s : f32
    %out = "fuse.store"(%o, %c, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<1048576x4xf32>, f32, i1) -> tensor<1048576x4xf32>
    return %out : tensor<1048576x4xf32>
  }
  func.func private @products(%c: tensor<1048576x4xf32>, %o: tensor<1048576xf32>) -> tensor<1048576xf32> attributes {fuse.kernel, fuse.dims = {d0 = "1048576", d1 = "3"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%c, %true, %zero) {at = ["d0", "d1"]} : (tensor<1048576x4xf32>, i1, f32) -> f32
    %w = "fuse.load"(%c, %true, %zero) {at = ["d0", "d1 + 1"]} : (tensor<1048576x4xf32>, i1, f32) -> f32
    %p = arith.mulf %v, %w : f32
    %s = "fuse.reduce"(%p) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %out = "fuse.store"(%o, %s, %true) {at = ["d0"], mode = "set"} : (tensor<1048576xf32>, f32, i1) -> tensor<1048576xf32>
    return %out : tensor<1048576xf32>
  }
}

// -----

// Must not fire: a running sum is not computed again.
// CHECK-LABEL: func.func @main(
// CHECK: call @running(
// MERGED-LABEL: func.func @main(
// MERGED: call @running(
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<4096x1024xf32>) -> tensor<4096xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<4096x1024xf32>
    %p = "fuse.empty"() {syms = []} : () -> tensor<4096xf32>
    %c = call @running(%x, %o) : (tensor<4096x1024xf32>, tensor<4096x1024xf32>) -> tensor<4096x1024xf32>
    %r = call @products(%c, %p) : (tensor<4096x1024xf32>, tensor<4096xf32>) -> tensor<4096xf32>
    return %r : tensor<4096xf32>
  }
  func.func private @running(%x: tensor<4096x1024xf32>, %o: tensor<4096x1024xf32>) -> tensor<4096x1024xf32> attributes {fuse.kernel, fuse.dims = {d0 = "4096", d1 = "1024"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<4096x1024xf32>, i1, f32) -> f32
    %s = "fuse.reduce"(%v) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %c = arith.divf %v, %s : f32
    %t = "fuse.scan"(%c) {kind = "sum", over = "d1", reverse = false} : (f32) -> f32
    %out = "fuse.store"(%o, %t, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<4096x1024xf32>, f32, i1) -> tensor<4096x1024xf32>
    return %out : tensor<4096x1024xf32>
  }
  func.func private @products(%c: tensor<4096x1024xf32>, %o: tensor<4096xf32>) -> tensor<4096xf32> attributes {fuse.kernel, fuse.dims = {d0 = "4096", d1 = "1023"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%c, %true, %zero) {at = ["d0", "d1"]} : (tensor<4096x1024xf32>, i1, f32) -> f32
    %w = "fuse.load"(%c, %true, %zero) {at = ["d0", "d1 + 1"]} : (tensor<4096x1024xf32>, i1, f32) -> f32
    %p = arith.mulf %v, %w : f32
    %s = "fuse.reduce"(%p) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %out = "fuse.store"(%o, %s, %true) {at = ["d0"], mode = "set"} : (tensor<4096xf32>, f32, i1) -> tensor<4096xf32>
    return %out : tensor<4096xf32>
  }
}
