// RUN: fuse-opt %s --pass-pipeline="builtin.module(store-pieces)" --split-input-file | FileCheck %s
// RUN: fuse-opt %s --pass-pipeline="builtin.module(store-pieces)" --split-input-file --remarks=text 2>&1 >/dev/null | FileCheck %s --check-prefix=SAID
// RUN: fuse-opt %s --pass-pipeline="builtin.module(store-pieces,fuse-vertical,materialize-fusion,eliminate-dead)" --split-input-file | FileCheck %s --check-prefix=FUSED
// RUN: fuse-opt %s --pass-pipeline="builtin.module(store-pieces{shortest=0})" --split-input-file | FileCheck %s --check-prefix=ANY
// RUN: not fuse-opt %s --pass-pipeline="builtin.module(store-pieces{shortest=-1})" --split-input-file 2>&1 | FileCheck %s --check-prefix=BAD
// BAD: error: option 'shortest' of pass 'store-pieces' takes int at least 0, got '-1'

// Each piece is stored where it lies, and both makers fuse with the stores: one kernel, of the points of a piece.
// CHECK-LABEL: func.func @main
// CHECK: func.func private @cat({{.*}}fuse.dims = {d0 = "64", d1 = "48"}
// CHECK-DAG: %[[TRUE:.*]] = arith.constant true
// CHECK: %[[A:.*]] = "fuse.load"(%arg0, %[[TRUE]], %{{.*}}) {at = ["d0", "d1"]}
// CHECK: %[[B:.*]] = "fuse.load"(%arg1, %[[TRUE]], %{{.*}}) {at = ["d0", "d1"]}
// CHECK-NOT: arith.select
// CHECK: %[[R:.*]] = "fuse.store"(%arg2, %[[A]], %[[TRUE]]) {at = ["d0", "d1"], mode = "set"}
// CHECK: "fuse.store"(%[[R]], %[[B]], %[[TRUE]]) {at = ["d0", "d1 + 48"], mode = "set"}
// SAID: passed: store-pieces: stored, pieces=2: each piece is stored where it lies in their concatenation [cat]
// FUSED-LABEL: func.func @main
// FUSED: call @fused_sin_neg_cat_0(%arg0, %{{.*}}) : (tensor<64x48xf32>, tensor<64x96xf32>) -> tensor<64x96xf32>
// FUSED-NOT: call
// FUSED: return
module {
  func.func @main(%x: tensor<64x48xf32>) -> tensor<64x96xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<64x48xf32>
    %a = call @sin(%x, %o) : (tensor<64x48xf32>, tensor<64x48xf32>) -> tensor<64x48xf32>
    %p = "fuse.empty"() {syms = []} : () -> tensor<64x48xf32>
    %b = call @neg(%a, %p) : (tensor<64x48xf32>, tensor<64x48xf32>) -> tensor<64x48xf32>
    %q = "fuse.empty"() {syms = []} : () -> tensor<64x96xf32>
    %c = call @cat(%a, %b, %q) : (tensor<64x48xf32>, tensor<64x48xf32>, tensor<64x96xf32>) -> tensor<64x96xf32>
    return %c : tensor<64x96xf32>
  }
  func.func private @sin(%x: tensor<64x48xf32>, %o: tensor<64x48xf32>) -> tensor<64x48xf32> attributes {fuse.dims = {d0 = "64", d1 = "48"}, fuse.kernel, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %cst = arith.constant 0.0 : f32
    %l = "fuse.load"(%x, %true, %cst) {at = ["d0", "d1"]} : (tensor<64x48xf32>, i1, f32) -> f32
    %s = math.sin %l : f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<64x48xf32>, f32, i1) -> tensor<64x48xf32>
    return %r : tensor<64x48xf32>
  }
  func.func private @neg(%x: tensor<64x48xf32>, %o: tensor<64x48xf32>) -> tensor<64x48xf32> attributes {fuse.dims = {d0 = "64", d1 = "48"}, fuse.kernel, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %cst = arith.constant 0.0 : f32
    %l = "fuse.load"(%x, %true, %cst) {at = ["d0", "d1"]} : (tensor<64x48xf32>, i1, f32) -> f32
    %s = arith.negf %l : f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<64x48xf32>, f32, i1) -> tensor<64x48xf32>
    return %r : tensor<64x48xf32>
  }
  func.func private @cat(%x: tensor<64x48xf32>, %y: tensor<64x48xf32>, %o: tensor<64x96xf32>) -> tensor<64x96xf32> attributes {fuse.dims = {d0 = "64", d1 = "96"}, fuse.kernel, fuse.ties = array<i64: 2>} {
    %i = "fuse.index"() {expr = "d1 - 48"} : () -> i64
    %zero = arith.constant 0 : i64
    %below = arith.cmpi slt, %i, %zero : i64
    %cst = arith.constant 0.0 : f32
    %l = "fuse.load"(%x, %below, %cst) {at = ["d0", "d1"]} : (tensor<64x48xf32>, i1, f32) -> f32
    %above = arith.cmpi sge, %i, %zero : i64
    %r = "fuse.load"(%y, %above, %cst) {at = ["d0", "d1 - 48"]} : (tensor<64x48xf32>, i1, f32) -> f32
    %s = arith.select %below, %l, %r : f32
    %true = arith.constant true
    %t = "fuse.store"(%o, %s, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<64x96xf32>, f32, i1) -> tensor<64x96xf32>
    return %t : tensor<64x96xf32>
  }
}

// -----

// Must not fire: a kernel reads the result, and would fuse with the selection of its element.
// CHECK-LABEL: func.func @main
// CHECK: func.func private @cat({{.*}}d1 = "96"
// CHECK: arith.select
module {
  func.func @main(%x: tensor<64x48xf32>) -> tensor<64x96xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<64x48xf32>
    %a = call @sin(%x, %o) : (tensor<64x48xf32>, tensor<64x48xf32>) -> tensor<64x48xf32>
    %p = "fuse.empty"() {syms = []} : () -> tensor<64x48xf32>
    %b = call @sin(%a, %p) : (tensor<64x48xf32>, tensor<64x48xf32>) -> tensor<64x48xf32>
    %q = "fuse.empty"() {syms = []} : () -> tensor<64x96xf32>
    %c = call @cat(%a, %b, %q) : (tensor<64x48xf32>, tensor<64x48xf32>, tensor<64x96xf32>) -> tensor<64x96xf32>
    %e = "fuse.empty"() {syms = []} : () -> tensor<64x96xf32>
    %d = call @wide(%c, %e) : (tensor<64x96xf32>, tensor<64x96xf32>) -> tensor<64x96xf32>
    return %d : tensor<64x96xf32>
  }
  func.func private @sin(%x: tensor<64x48xf32>, %o: tensor<64x48xf32>) -> tensor<64x48xf32> attributes {fuse.dims = {d0 = "64", d1 = "48"}, fuse.kernel, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %cst = arith.constant 0.0 : f32
    %l = "fuse.load"(%x, %true, %cst) {at = ["d0", "d1"]} : (tensor<64x48xf32>, i1, f32) -> f32
    %s = math.sin %l : f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<64x48xf32>, f32, i1) -> tensor<64x48xf32>
    return %r : tensor<64x48xf32>
  }
  func.func private @wide(%x: tensor<64x96xf32>, %o: tensor<64x96xf32>) -> tensor<64x96xf32> attributes {fuse.dims = {d0 = "64", d1 = "96"}, fuse.kernel, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %cst = arith.constant 0.0 : f32
    %l = "fuse.load"(%x, %true, %cst) {at = ["d0", "d1"]} : (tensor<64x96xf32>, i1, f32) -> f32
    %s = math.sin %l : f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<64x96xf32>, f32, i1) -> tensor<64x96xf32>
    return %r : tensor<64x96xf32>
  }
  func.func private @cat(%x: tensor<64x48xf32>, %y: tensor<64x48xf32>, %o: tensor<64x96xf32>) -> tensor<64x96xf32> attributes {fuse.dims = {d0 = "64", d1 = "96"}, fuse.kernel, fuse.ties = array<i64: 2>} {
    %i = "fuse.index"() {expr = "d1 - 48"} : () -> i64
    %zero = arith.constant 0 : i64
    %below = arith.cmpi slt, %i, %zero : i64
    %cst = arith.constant 0.0 : f32
    %l = "fuse.load"(%x, %below, %cst) {at = ["d0", "d1"]} : (tensor<64x48xf32>, i1, f32) -> f32
    %above = arith.cmpi sge, %i, %zero : i64
    %r = "fuse.load"(%y, %above, %cst) {at = ["d0", "d1 - 48"]} : (tensor<64x48xf32>, i1, f32) -> f32
    %s = arith.select %below, %l, %r : f32
    %true = arith.constant true
    %t = "fuse.store"(%o, %s, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<64x96xf32>, f32, i1) -> tensor<64x96xf32>
    return %t : tensor<64x96xf32>
  }
}

// -----

// Must not fire: the pieces have different lengths.
// CHECK-LABEL: func.func @main
// CHECK: func.func private @cat({{.*}}d1 = "96"
// CHECK: arith.select
module {
  func.func @main(%x: tensor<64x32xf32>, %y: tensor<64x64xf32>) -> tensor<64x96xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<64x32xf32>
    %a = call @one(%x, %o) : (tensor<64x32xf32>, tensor<64x32xf32>) -> tensor<64x32xf32>
    %p = "fuse.empty"() {syms = []} : () -> tensor<64x64xf32>
    %b = call @two(%y, %p) : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    %q = "fuse.empty"() {syms = []} : () -> tensor<64x96xf32>
    %c = call @cat(%a, %b, %q) : (tensor<64x32xf32>, tensor<64x64xf32>, tensor<64x96xf32>) -> tensor<64x96xf32>
    return %c : tensor<64x96xf32>
  }
  func.func private @one(%x: tensor<64x32xf32>, %o: tensor<64x32xf32>) -> tensor<64x32xf32> attributes {fuse.dims = {d0 = "64", d1 = "32"}, fuse.kernel, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %cst = arith.constant 0.0 : f32
    %l = "fuse.load"(%x, %true, %cst) {at = ["d0", "d1"]} : (tensor<64x32xf32>, i1, f32) -> f32
    %s = math.sin %l : f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<64x32xf32>, f32, i1) -> tensor<64x32xf32>
    return %r : tensor<64x32xf32>
  }
  func.func private @two(%x: tensor<64x64xf32>, %o: tensor<64x64xf32>) -> tensor<64x64xf32> attributes {fuse.dims = {d0 = "64", d1 = "64"}, fuse.kernel, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %cst = arith.constant 0.0 : f32
    %l = "fuse.load"(%x, %true, %cst) {at = ["d0", "d1"]} : (tensor<64x64xf32>, i1, f32) -> f32
    %s = math.sin %l : f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<64x64xf32>, f32, i1) -> tensor<64x64xf32>
    return %r : tensor<64x64xf32>
  }
  func.func private @cat(%x: tensor<64x32xf32>, %y: tensor<64x64xf32>, %o: tensor<64x96xf32>) -> tensor<64x96xf32> attributes {fuse.dims = {d0 = "64", d1 = "96"}, fuse.kernel, fuse.ties = array<i64: 2>} {
    %i = "fuse.index"() {expr = "d1 - 32"} : () -> i64
    %zero = arith.constant 0 : i64
    %below = arith.cmpi slt, %i, %zero : i64
    %cst = arith.constant 0.0 : f32
    %l = "fuse.load"(%x, %below, %cst) {at = ["d0", "d1"]} : (tensor<64x32xf32>, i1, f32) -> f32
    %above = arith.cmpi sge, %i, %zero : i64
    %r = "fuse.load"(%y, %above, %cst) {at = ["d0", "d1 - 32"]} : (tensor<64x64xf32>, i1, f32) -> f32
    %s = arith.select %below, %l, %r : f32
    %true = arith.constant true
    %t = "fuse.store"(%o, %s, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<64x96xf32>, f32, i1) -> tensor<64x96xf32>
    return %t : tensor<64x96xf32>
  }
}

// -----

// Must not fire: pairs of numbers side by side, stored one by one. Where any run will do, the dim of one point goes.
// CHECK-LABEL: func.func @main
// CHECK: func.func private @cat({{.*}}d1 = "2"
// CHECK: arith.select
// ANY-LABEL: func.func @main
// ANY-LABEL: func.func @main
// ANY-LABEL: func.func @main
// ANY-LABEL: func.func @main
// ANY: func.func private @cat({{.*}}fuse.dims = {d0 = "64"}
// ANY: "fuse.store"(%arg2, %{{.*}}, %{{.*}}) {at = ["d0", "0"], mode = "set"}
// ANY: "fuse.store"(%{{.*}}, %{{.*}}, %{{.*}}) {at = ["d0", "1"], mode = "set"}
module {
  func.func @main(%x: tensor<64xf32>) -> tensor<64x2xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %a = call @sin(%x, %o) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    %p = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %b = call @sin(%a, %p) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    %q = "fuse.empty"() {syms = []} : () -> tensor<64x2xf32>
    %c = call @cat(%a, %b, %q) : (tensor<64xf32>, tensor<64xf32>, tensor<64x2xf32>) -> tensor<64x2xf32>
    return %c : tensor<64x2xf32>
  }
  func.func private @sin(%x: tensor<64xf32>, %o: tensor<64xf32>) -> tensor<64xf32> attributes {fuse.dims = {d0 = "64"}, fuse.kernel, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %cst = arith.constant 0.0 : f32
    %l = "fuse.load"(%x, %true, %cst) {at = ["d0"]} : (tensor<64xf32>, i1, f32) -> f32
    %s = math.sin %l : f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d0"], mode = "set"} : (tensor<64xf32>, f32, i1) -> tensor<64xf32>
    return %r : tensor<64xf32>
  }
  func.func private @cat(%x: tensor<64xf32>, %y: tensor<64xf32>, %o: tensor<64x2xf32>) -> tensor<64x2xf32> attributes {fuse.dims = {d0 = "64", d1 = "2"}, fuse.kernel, fuse.ties = array<i64: 2>} {
    %i = "fuse.index"() {expr = "d1 - 1"} : () -> i64
    %zero = arith.constant 0 : i64
    %below = arith.cmpi slt, %i, %zero : i64
    %cst = arith.constant 0.0 : f32
    %l = "fuse.load"(%x, %below, %cst) {at = ["d0"]} : (tensor<64xf32>, i1, f32) -> f32
    %above = arith.cmpi sge, %i, %zero : i64
    %r = "fuse.load"(%y, %above, %cst) {at = ["d0"]} : (tensor<64xf32>, i1, f32) -> f32
    %s = arith.select %below, %l, %r : f32
    %true = arith.constant true
    %t = "fuse.store"(%o, %s, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<64x2xf32>, f32, i1) -> tensor<64x2xf32>
    return %t : tensor<64x2xf32>
  }
}
