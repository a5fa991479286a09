// What joins a kernel that goes through the columns of a product where a block has all of a chunk: a scan, and a
// product beside its products.
// RUN: fuse-opt %s --pass-pipeline="builtin.module(fuse-vertical{hardware=h200},materialize-fusion)" --split-input-file | FileCheck %s
// RUN: fuse-opt %s --pass-pipeline="builtin.module(fuse-vertical{hardware=h200},materialize-fusion,choose-tiling{hardware=h200})" --split-input-file | FileCheck %s --check-prefix=TILE
// RUN: not fuse-opt %s --pass-pipeline="builtin.module(fuse-vertical{hardware=abacus})" --split-input-file 2>&1 | FileCheck %s --check-prefix=BAD
// BAD: error: fuse-vertical: unknown hardware 'abacus': expected one of

// A scan along 64 rows: a program has all of them.
// CHECK-LABEL: func.func @main
// CHECK-COUNT-1: call @fused_sums_inside_0
// CHECK-NOT: call @
// CHECK: return
// TILE-LABEL: func.func @main
// TILE: fuse.tile = {axes = [{block = 1 : i64, dims = ["d0"], kind = "grid"}, {block = 64 : i64, dims = ["d1"], kind = "resident"}, {block = 64 : i64, dims = ["d2"], kind = "resident"}
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%q: tensor<512x64x128xbf16>, %k: tensor<512x64x128xbf16>, %v: tensor<512x64x64xbf16>, %a: tensor<512x64xf32>) -> tensor<512x64x64xbf16> {
    %m0 = "fuse.empty"() {syms = []} : () -> tensor<512x64x64xbf16>
    %m = call @sums(%a, %m0) : (tensor<512x64xf32>, tensor<512x64x64xbf16>) -> tensor<512x64x64xbf16>
    %0 = "fuse.empty"() {syms = []} : () -> tensor<512x64x64xbf16>
    %1 = call @inside(%q, %k, %m, %v, %0) : (tensor<512x64x128xbf16>, tensor<512x64x128xbf16>, tensor<512x64x64xbf16>, tensor<512x64x64xbf16>, tensor<512x64x64xbf16>) -> tensor<512x64x64xbf16>
    return %1 : tensor<512x64x64xbf16>
  }
  func.func private @sums(%a: tensor<512x64xf32>, %o: tensor<512x64x64xbf16>) -> tensor<512x64x64xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "512", d1 = "64", d2 = "64"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %x = "fuse.load"(%a, %true, %zero) {at = ["d0", "d1"]} : (tensor<512x64xf32>, i1, f32) -> f32
    %i = "fuse.index"() {expr = "d2 - d1"} : () -> i64
    %c0 = arith.constant 0 : i64
    %past = arith.cmpi slt, %i, %c0 : i64
    %y = arith.select %past, %x, %zero : f32
    %t = "fuse.scan"(%y) {kind = "sum", over = "d1", reverse = false} : (f32) -> f32
    %e = math.exp %t : f32
    %h = arith.truncf %e : f32 to bf16
    %r = "fuse.store"(%o, %h, %true) {at = ["d0", "d1", "d2"], mode = "set"} : (tensor<512x64x64xbf16>, bf16, i1) -> tensor<512x64x64xbf16>
    return %r : tensor<512x64x64xbf16>
  }
  func.func private @inside(%q: tensor<512x64x128xbf16>, %k: tensor<512x64x128xbf16>, %m: tensor<512x64x64xbf16>, %v: tensor<512x64x64xbf16>, %o: tensor<512x64x64xbf16>) -> tensor<512x64x64xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "512", d1 = "64", d2 = "64", d3 = "128", d4 = "64"}, fuse.ties = array<i64: 4>, fuse.looped} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %x = "fuse.load"(%q, %true, %zero) {at = ["d0", "d1", "d3"]} : (tensor<512x64x128xbf16>, i1, bf16) -> bf16
    %y = "fuse.load"(%k, %true, %zero) {at = ["d0", "d2", "d3"]} : (tensor<512x64x128xbf16>, i1, bf16) -> bf16
    %s = "fuse.dot"(%x, %y) {over = ["d3"]} : (bf16, bf16) -> f32
    %u = "fuse.load"(%m, %true, %zero) {at = ["d0", "d1", "d2"]} : (tensor<512x64x64xbf16>, i1, bf16) -> bf16
    %f = arith.extf %u : bf16 to f32
    %p = arith.mulf %s, %f : f32
    %b = arith.truncf %p : f32 to bf16
    %w = "fuse.load"(%v, %true, %zero) {at = ["d0", "d2", "d4"]} : (tensor<512x64x64xbf16>, i1, bf16) -> bf16
    %t = "fuse.dot"(%b, %w) {over = ["d2"]} : (bf16, bf16) -> f32
    %h = arith.truncf %t : f32 to bf16
    %r = "fuse.store"(%o, %h, %true) {at = ["d0", "d1", "d4"], mode = "set"} : (tensor<512x64x64xbf16>, bf16, i1) -> tensor<512x64x64xbf16>
    return %r : tensor<512x64x64xbf16>
  }
}

// -----

// Must not fire: 128 rows are in two blocks.
// CHECK-LABEL: func.func @main
// CHECK: call @sums
// CHECK: call @inside
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%q: tensor<512x128x128xbf16>, %k: tensor<512x64x128xbf16>, %v: tensor<512x64x64xbf16>, %a: tensor<512x128xf32>) -> tensor<512x128x64xbf16> {
    %m0 = "fuse.empty"() {syms = []} : () -> tensor<512x128x64xbf16>
    %m = call @sums(%a, %m0) : (tensor<512x128xf32>, tensor<512x128x64xbf16>) -> tensor<512x128x64xbf16>
    %0 = "fuse.empty"() {syms = []} : () -> tensor<512x128x64xbf16>
    %1 = call @inside(%q, %k, %m, %v, %0) : (tensor<512x128x128xbf16>, tensor<512x64x128xbf16>, tensor<512x128x64xbf16>, tensor<512x64x64xbf16>, tensor<512x128x64xbf16>) -> tensor<512x128x64xbf16>
    return %1 : tensor<512x128x64xbf16>
  }
  func.func private @sums(%a: tensor<512x128xf32>, %o: tensor<512x128x64xbf16>) -> tensor<512x128x64xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "512", d1 = "128", d2 = "64"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %x = "fuse.load"(%a, %true, %zero) {at = ["d0", "d1"]} : (tensor<512x128xf32>, i1, f32) -> f32
    %i = "fuse.index"() {expr = "d2 - d1"} : () -> i64
    %c0 = arith.constant 0 : i64
    %past = arith.cmpi slt, %i, %c0 : i64
    %y = arith.select %past, %x, %zero : f32
    %t = "fuse.scan"(%y) {kind = "sum", over = "d1", reverse = false} : (f32) -> f32
    %e = math.exp %t : f32
    %h = arith.truncf %e : f32 to bf16
    %r = "fuse.store"(%o, %h, %true) {at = ["d0", "d1", "d2"], mode = "set"} : (tensor<512x128x64xbf16>, bf16, i1) -> tensor<512x128x64xbf16>
    return %r : tensor<512x128x64xbf16>
  }
  func.func private @inside(%q: tensor<512x128x128xbf16>, %k: tensor<512x64x128xbf16>, %m: tensor<512x128x64xbf16>, %v: tensor<512x64x64xbf16>, %o: tensor<512x128x64xbf16>) -> tensor<512x128x64xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "512", d1 = "128", d2 = "64", d3 = "128", d4 = "64"}, fuse.ties = array<i64: 4>, fuse.looped} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %x = "fuse.load"(%q, %true, %zero) {at = ["d0", "d1", "d3"]} : (tensor<512x128x128xbf16>, i1, bf16) -> bf16
    %y = "fuse.load"(%k, %true, %zero) {at = ["d0", "d2", "d3"]} : (tensor<512x64x128xbf16>, i1, bf16) -> bf16
    %s = "fuse.dot"(%x, %y) {over = ["d3"]} : (bf16, bf16) -> f32
    %u = "fuse.load"(%m, %true, %zero) {at = ["d0", "d1", "d2"]} : (tensor<512x128x64xbf16>, i1, bf16) -> bf16
    %f = arith.extf %u : bf16 to f32
    %p = arith.mulf %s, %f : f32
    %b = arith.truncf %p : f32 to bf16
    %w = "fuse.load"(%v, %true, %zero) {at = ["d0", "d2", "d4"]} : (tensor<512x64x64xbf16>, i1, bf16) -> bf16
    %t = "fuse.dot"(%b, %w) {over = ["d2"]} : (bf16, bf16) -> f32
    %h = arith.truncf %t : f32 to bf16
    %r = "fuse.store"(%o, %h, %true) {at = ["d0", "d1", "d4"], mode = "set"} : (tensor<512x128x64xbf16>, bf16, i1) -> tensor<512x128x64xbf16>
    return %r : tensor<512x128x64xbf16>
  }
}

// -----

// A product of the same rows, and of the columns of the last one; rows may be in blocks.
// CHECK-LABEL: func.func @main
// CHECK-COUNT-1: call @fused_inside_across_add_0
// CHECK-NOT: call @
// CHECK: return
// TILE-LABEL: func.func @main
// TILE: {block = 64 : i64, dims = ["d1"], kind = "grid"}, {block = 64 : i64, dims = ["d2"], kind = "resident"}
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%q: tensor<512x128x128xbf16>, %k: tensor<512x64x128xbf16>, %v: tensor<512x64x64xbf16>, %m: tensor<512x128x64xbf16>, %s: tensor<512x64x128xbf16>) -> tensor<512x128x64xbf16> {
    %0 = "fuse.empty"() {syms = []} : () -> tensor<512x128x64xbf16>
    %1 = call @inside(%q, %k, %m, %v, %0) : (tensor<512x128x128xbf16>, tensor<512x64x128xbf16>, tensor<512x128x64xbf16>, tensor<512x64x64xbf16>, tensor<512x128x64xbf16>) -> tensor<512x128x64xbf16>
    %2 = "fuse.empty"() {syms = []} : () -> tensor<512x128x64xbf16>
    %3 = call @across(%q, %s, %2) : (tensor<512x128x128xbf16>, tensor<512x64x128xbf16>, tensor<512x128x64xbf16>) -> tensor<512x128x64xbf16>
    %4 = "fuse.empty"() {syms = []} : () -> tensor<512x128x64xbf16>
    %5 = call @add(%1, %3, %4) : (tensor<512x128x64xbf16>, tensor<512x128x64xbf16>, tensor<512x128x64xbf16>) -> tensor<512x128x64xbf16>
    return %5 : tensor<512x128x64xbf16>
  }
  func.func private @inside(%q: tensor<512x128x128xbf16>, %k: tensor<512x64x128xbf16>, %m: tensor<512x128x64xbf16>, %v: tensor<512x64x64xbf16>, %o: tensor<512x128x64xbf16>) -> tensor<512x128x64xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "512", d1 = "128", d2 = "64", d3 = "128", d4 = "64"}, fuse.ties = array<i64: 4>, fuse.looped} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %x = "fuse.load"(%q, %true, %zero) {at = ["d0", "d1", "d3"]} : (tensor<512x128x128xbf16>, i1, bf16) -> bf16
    %y = "fuse.load"(%k, %true, %zero) {at = ["d0", "d2", "d3"]} : (tensor<512x64x128xbf16>, i1, bf16) -> bf16
    %s = "fuse.dot"(%x, %y) {over = ["d3"]} : (bf16, bf16) -> f32
    %u = "fuse.load"(%m, %true, %zero) {at = ["d0", "d1", "d2"]} : (tensor<512x128x64xbf16>, i1, bf16) -> bf16
    %f = arith.extf %u : bf16 to f32
    %p = arith.mulf %s, %f : f32
    %b = arith.truncf %p : f32 to bf16
    %w = "fuse.load"(%v, %true, %zero) {at = ["d0", "d2", "d4"]} : (tensor<512x64x64xbf16>, i1, bf16) -> bf16
    %t = "fuse.dot"(%b, %w) {over = ["d2"]} : (bf16, bf16) -> f32
    %h = arith.truncf %t : f32 to bf16
    %r = "fuse.store"(%o, %h, %true) {at = ["d0", "d1", "d4"], mode = "set"} : (tensor<512x128x64xbf16>, bf16, i1) -> tensor<512x128x64xbf16>
    return %r : tensor<512x128x64xbf16>
  }
  func.func private @across(%q: tensor<512x128x128xbf16>, %s: tensor<512x64x128xbf16>, %o: tensor<512x128x64xbf16>) -> tensor<512x128x64xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "512", d1 = "128", d2 = "64", d3 = "128"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %x = "fuse.load"(%q, %true, %zero) {at = ["d0", "d1", "d3"]} : (tensor<512x128x128xbf16>, i1, bf16) -> bf16
    %y = "fuse.load"(%s, %true, %zero) {at = ["d0", "d2", "d3"]} : (tensor<512x64x128xbf16>, i1, bf16) -> bf16
    %t = "fuse.dot"(%x, %y) {over = ["d3"]} : (bf16, bf16) -> f32
    %h = arith.truncf %t : f32 to bf16
    %r = "fuse.store"(%o, %h, %true) {at = ["d0", "d1", "d2"], mode = "set"} : (tensor<512x128x64xbf16>, bf16, i1) -> tensor<512x128x64xbf16>
    return %r : tensor<512x128x64xbf16>
  }
  func.func private @add(%x: tensor<512x128x64xbf16>, %y: tensor<512x128x64xbf16>, %o: tensor<512x128x64xbf16>) -> tensor<512x128x64xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "512", d1 = "128", d2 = "64"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1", "d2"]} : (tensor<512x128x64xbf16>, i1, bf16) -> bf16
    %b = "fuse.load"(%y, %true, %zero) {at = ["d0", "d1", "d2"]} : (tensor<512x128x64xbf16>, i1, bf16) -> bf16
    %c = arith.addf %a, %b : bf16
    %r = "fuse.store"(%o, %c, %true) {at = ["d0", "d1", "d2"], mode = "set"} : (tensor<512x128x64xbf16>, bf16, i1) -> tensor<512x128x64xbf16>
    return %r : tensor<512x128x64xbf16>
  }
}

// -----

// Must not fire: 128 columns are in two blocks, which a loop goes through.
// CHECK-LABEL: func.func @main
// CHECK: call @inside
// CHECK: call @{{.*}}across
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%q: tensor<512x64x128xbf16>, %k: tensor<512x128x128xbf16>, %v: tensor<512x128x64xbf16>, %m: tensor<512x64x128xbf16>, %s: tensor<512x64x128xbf16>) -> tensor<512x64x64xbf16> {
    %0 = "fuse.empty"() {syms = []} : () -> tensor<512x64x64xbf16>
    %1 = call @inside(%q, %k, %m, %v, %0) : (tensor<512x64x128xbf16>, tensor<512x128x128xbf16>, tensor<512x64x128xbf16>, tensor<512x128x64xbf16>, tensor<512x64x64xbf16>) -> tensor<512x64x64xbf16>
    %2 = "fuse.empty"() {syms = []} : () -> tensor<512x64x64xbf16>
    %3 = call @across(%q, %s, %2) : (tensor<512x64x128xbf16>, tensor<512x64x128xbf16>, tensor<512x64x64xbf16>) -> tensor<512x64x64xbf16>
    %4 = "fuse.empty"() {syms = []} : () -> tensor<512x64x64xbf16>
    %5 = call @add(%1, %3, %4) : (tensor<512x64x64xbf16>, tensor<512x64x64xbf16>, tensor<512x64x64xbf16>) -> tensor<512x64x64xbf16>
    return %5 : tensor<512x64x64xbf16>
  }
  func.func private @inside(%q: tensor<512x64x128xbf16>, %k: tensor<512x128x128xbf16>, %m: tensor<512x64x128xbf16>, %v: tensor<512x128x64xbf16>, %o: tensor<512x64x64xbf16>) -> tensor<512x64x64xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "512", d1 = "64", d2 = "128", d3 = "128", d4 = "64"}, fuse.ties = array<i64: 4>, fuse.looped} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %x = "fuse.load"(%q, %true, %zero) {at = ["d0", "d1", "d3"]} : (tensor<512x64x128xbf16>, i1, bf16) -> bf16
    %y = "fuse.load"(%k, %true, %zero) {at = ["d0", "d2", "d3"]} : (tensor<512x128x128xbf16>, i1, bf16) -> bf16
    %s = "fuse.dot"(%x, %y) {over = ["d3"]} : (bf16, bf16) -> f32
    %u = "fuse.load"(%m, %true, %zero) {at = ["d0", "d1", "d2"]} : (tensor<512x64x128xbf16>, i1, bf16) -> bf16
    %f = arith.extf %u : bf16 to f32
    %p = arith.mulf %s, %f : f32
    %b = arith.truncf %p : f32 to bf16
    %w = "fuse.load"(%v, %true, %zero) {at = ["d0", "d2", "d4"]} : (tensor<512x128x64xbf16>, i1, bf16) -> bf16
    %t = "fuse.dot"(%b, %w) {over = ["d2"]} : (bf16, bf16) -> f32
    %h = arith.truncf %t : f32 to bf16
    %r = "fuse.store"(%o, %h, %true) {at = ["d0", "d1", "d4"], mode = "set"} : (tensor<512x64x64xbf16>, bf16, i1) -> tensor<512x64x64xbf16>
    return %r : tensor<512x64x64xbf16>
  }
  func.func private @across(%q: tensor<512x64x128xbf16>, %s: tensor<512x64x128xbf16>, %o: tensor<512x64x64xbf16>) -> tensor<512x64x64xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "512", d1 = "64", d2 = "64", d3 = "128"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %x = "fuse.load"(%q, %true, %zero) {at = ["d0", "d1", "d3"]} : (tensor<512x64x128xbf16>, i1, bf16) -> bf16
    %y = "fuse.load"(%s, %true, %zero) {at = ["d0", "d2", "d3"]} : (tensor<512x64x128xbf16>, i1, bf16) -> bf16
    %t = "fuse.dot"(%x, %y) {over = ["d3"]} : (bf16, bf16) -> f32
    %h = arith.truncf %t : f32 to bf16
    %r = "fuse.store"(%o, %h, %true) {at = ["d0", "d1", "d2"], mode = "set"} : (tensor<512x64x64xbf16>, bf16, i1) -> tensor<512x64x64xbf16>
    return %r : tensor<512x64x64xbf16>
  }
  func.func private @add(%x: tensor<512x64x64xbf16>, %y: tensor<512x64x64xbf16>, %o: tensor<512x64x64xbf16>) -> tensor<512x64x64xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "512", d1 = "64", d2 = "64"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1", "d2"]} : (tensor<512x64x64xbf16>, i1, bf16) -> bf16
    %b = "fuse.load"(%y, %true, %zero) {at = ["d0", "d1", "d2"]} : (tensor<512x64x64xbf16>, i1, bf16) -> bf16
    %c = arith.addf %a, %b : bf16
    %r = "fuse.store"(%o, %c, %true) {at = ["d0", "d1", "d2"], mode = "set"} : (tensor<512x64x64xbf16>, bf16, i1) -> tensor<512x64x64xbf16>
    return %r : tensor<512x64x64xbf16>
  }
}

// -----

// Both at once.
// CHECK-LABEL: func.func @main
// CHECK-COUNT-1: call @fused_sums_inside_across_add_0
// CHECK-NOT: call @
// CHECK: return
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%q: tensor<512x64x128xbf16>, %k: tensor<512x64x128xbf16>, %v: tensor<512x64x64xbf16>, %a: tensor<512x64xf32>, %s: tensor<512x64x128xbf16>) -> tensor<512x64x64xbf16> {
    %m0 = "fuse.empty"() {syms = []} : () -> tensor<512x64x64xbf16>
    %m = call @sums(%a, %m0) : (tensor<512x64xf32>, tensor<512x64x64xbf16>) -> tensor<512x64x64xbf16>
    %0 = "fuse.empty"() {syms = []} : () -> tensor<512x64x64xbf16>
    %1 = call @inside(%q, %k, %m, %v, %0) : (tensor<512x64x128xbf16>, tensor<512x64x128xbf16>, tensor<512x64x64xbf16>, tensor<512x64x64xbf16>, tensor<512x64x64xbf16>) -> tensor<512x64x64xbf16>
    %2 = "fuse.empty"() {syms = []} : () -> tensor<512x64x64xbf16>
    %3 = call @across(%q, %s, %2) : (tensor<512x64x128xbf16>, tensor<512x64x128xbf16>, tensor<512x64x64xbf16>) -> tensor<512x64x64xbf16>
    %4 = "fuse.empty"() {syms = []} : () -> tensor<512x64x64xbf16>
    %5 = call @add(%1, %3, %4) : (tensor<512x64x64xbf16>, tensor<512x64x64xbf16>, tensor<512x64x64xbf16>) -> tensor<512x64x64xbf16>
    return %5 : tensor<512x64x64xbf16>
  }
  func.func private @sums(%a: tensor<512x64xf32>, %o: tensor<512x64x64xbf16>) -> tensor<512x64x64xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "512", d1 = "64", d2 = "64"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %x = "fuse.load"(%a, %true, %zero) {at = ["d0", "d1"]} : (tensor<512x64xf32>, i1, f32) -> f32
    %i = "fuse.index"() {expr = "d2 - d1"} : () -> i64
    %c0 = arith.constant 0 : i64
    %past = arith.cmpi slt, %i, %c0 : i64
    %y = arith.select %past, %x, %zero : f32
    %t = "fuse.scan"(%y) {kind = "sum", over = "d1", reverse = false} : (f32) -> f32
    %e = math.exp %t : f32
    %h = arith.truncf %e : f32 to bf16
    %r = "fuse.store"(%o, %h, %true) {at = ["d0", "d1", "d2"], mode = "set"} : (tensor<512x64x64xbf16>, bf16, i1) -> tensor<512x64x64xbf16>
    return %r : tensor<512x64x64xbf16>
  }
  func.func private @inside(%q: tensor<512x64x128xbf16>, %k: tensor<512x64x128xbf16>, %m: tensor<512x64x64xbf16>, %v: tensor<512x64x64xbf16>, %o: tensor<512x64x64xbf16>) -> tensor<512x64x64xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "512", d1 = "64", d2 = "64", d3 = "128", d4 = "64"}, fuse.ties = array<i64: 4>, fuse.looped} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %x = "fuse.load"(%q, %true, %zero) {at = ["d0", "d1", "d3"]} : (tensor<512x64x128xbf16>, i1, bf16) -> bf16
    %y = "fuse.load"(%k, %true, %zero) {at = ["d0", "d2", "d3"]} : (tensor<512x64x128xbf16>, i1, bf16) -> bf16
    %s = "fuse.dot"(%x, %y) {over = ["d3"]} : (bf16, bf16) -> f32
    %u = "fuse.load"(%m, %true, %zero) {at = ["d0", "d1", "d2"]} : (tensor<512x64x64xbf16>, i1, bf16) -> bf16
    %f = arith.extf %u : bf16 to f32
    %p = arith.mulf %s, %f : f32
    %b = arith.truncf %p : f32 to bf16
    %w = "fuse.load"(%v, %true, %zero) {at = ["d0", "d2", "d4"]} : (tensor<512x64x64xbf16>, i1, bf16) -> bf16
    %t = "fuse.dot"(%b, %w) {over = ["d2"]} : (bf16, bf16) -> f32
    %h = arith.truncf %t : f32 to bf16
    %r = "fuse.store"(%o, %h, %true) {at = ["d0", "d1", "d4"], mode = "set"} : (tensor<512x64x64xbf16>, bf16, i1) -> tensor<512x64x64xbf16>
    return %r : tensor<512x64x64xbf16>
  }
  func.func private @across(%q: tensor<512x64x128xbf16>, %s: tensor<512x64x128xbf16>, %o: tensor<512x64x64xbf16>) -> tensor<512x64x64xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "512", d1 = "64", d2 = "64", d3 = "128"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %x = "fuse.load"(%q, %true, %zero) {at = ["d0", "d1", "d3"]} : (tensor<512x64x128xbf16>, i1, bf16) -> bf16
    %y = "fuse.load"(%s, %true, %zero) {at = ["d0", "d2", "d3"]} : (tensor<512x64x128xbf16>, i1, bf16) -> bf16
    %t = "fuse.dot"(%x, %y) {over = ["d3"]} : (bf16, bf16) -> f32
    %h = arith.truncf %t : f32 to bf16
    %r = "fuse.store"(%o, %h, %true) {at = ["d0", "d1", "d2"], mode = "set"} : (tensor<512x64x64xbf16>, bf16, i1) -> tensor<512x64x64xbf16>
    return %r : tensor<512x64x64xbf16>
  }
  func.func private @add(%x: tensor<512x64x64xbf16>, %y: tensor<512x64x64xbf16>, %o: tensor<512x64x64xbf16>) -> tensor<512x64x64xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "512", d1 = "64", d2 = "64"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1", "d2"]} : (tensor<512x64x64xbf16>, i1, bf16) -> bf16
    %b = "fuse.load"(%y, %true, %zero) {at = ["d0", "d1", "d2"]} : (tensor<512x64x64xbf16>, i1, bf16) -> bf16
    %c = arith.addf %a, %b : bf16
    %r = "fuse.store"(%o, %c, %true) {at = ["d0", "d1", "d2"], mode = "set"} : (tensor<512x64x64xbf16>, bf16, i1) -> tensor<512x64x64xbf16>
    return %r : tensor<512x64x64xbf16>
  }
}
