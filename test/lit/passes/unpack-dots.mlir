// RUN: fuse-opt %s --pass-pipeline="builtin.module(unpack-dots)" --split-input-file | FileCheck %s
// RUN: fuse-opt %s --pass-pipeline="builtin.module(unpack-dots,unpack-dots)" --split-input-file | FileCheck %s
// RUN: fuse-opt %s --pass-pipeline="builtin.module(unpack-dots)" --split-input-file --verify-each=numeric | FileCheck %s
// RUN: fuse-opt %s --pass-pipeline="builtin.module(unpack-dots)" --split-input-file --remarks=text 2>&1 >/dev/null | FileCheck %s --check-prefix=SAID
// RUN: not fuse-opt %s --pass-pipeline="builtin.module(unpack-dots{most=3})" --split-input-file 2>&1 | FileCheck %s --check-prefix=BAD

// BAD: pass 'unpack-dots' has no option 'most'

// Both halves of a byte, and a scale for each 64 bytes: the scale is multiplied to the products of a group.
// SAID: passed: unpack-dots: unpacked: @groups multiplies weights as they are in bytes [groups]
// CHECK-LABEL: func.func private @groups
// CHECK-SAME: fuse.dims = {d0 = "4", d1 = "1024", d2 = "8", d3 = "64"}
// CHECK: %[[B:.*]] = "fuse.load"(%{{.*}}) {at = ["d1", "d2*64 + d3"]}
// CHECK-DAG: %[[H:.*]] = arith.shrui %[[B]],
// CHECK-DAG: %[[L:.*]] = arith.andi %[[B]],
// CHECK: %[[G:.*]] = "fuse.load"(%{{.*}}) {at = ["d1", "d2"]}
// CHECK: %[[S:.*]] = arith.extf %[[G]]
// CHECK-DAG: "fuse.load"(%{{.*}}) {at = ["d0", "d2*128 + d3*2"]}
// CHECK-DAG: "fuse.load"(%{{.*}}) {at = ["d0", "d2*128 + d3*2 + 1"]}
// CHECK: %[[P:.*]] = "fuse.dot"(%{{.*}}) {over = ["d3"]} : (bf16, bf16) -> f32
// CHECK: %[[Q:.*]] = "fuse.dot"(%{{.*}}) {over = ["d3"]} : (bf16, bf16) -> f32
// CHECK: %[[T:.*]] = arith.addf %[[P]], %[[Q]] : f32
// CHECK: %[[U:.*]] = arith.mulf %[[T]], %[[S]] : f32
// CHECK: %[[R:.*]] = "fuse.reduce"(%[[U]]) {kind = "sum", over = ["d2"]} : (f32) -> f32
// CHECK: "fuse.store"(%{{.*}}, %[[R]],
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<4x1024xbf16>, %w: tensor<1024x512xui8>, %s: tensor<1024x8xbf16>, %t: tensor<16xbf16>) -> tensor<4x1024xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<4x1024xf32>
    %y = call @groups(%x, %w, %s, %t, %o) : (tensor<4x1024xbf16>, tensor<1024x512xui8>, tensor<1024x8xbf16>, tensor<16xbf16>, tensor<4x1024xf32>) -> tensor<4x1024xf32>
    return %y : tensor<4x1024xf32>
  }
  func.func private @groups(%x: tensor<4x1024xbf16>, %w: tensor<1024x512xui8>, %s: tensor<1024x8xbf16>, %t: tensor<16xbf16>, %o: tensor<4x1024xf32>) -> tensor<4x1024xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "4", d1 = "1024", d2 = "8", d3 = "128"}, fuse.ties = array<i64: 4>} {
    %true = arith.constant true
    %none = arith.constant 0 : i8
    %zero = arith.constant 0.0 : bf16
    %eight = arith.constant 8.0 : f32
    %four = arith.constant 4 : i8
    %low = arith.constant 15 : i8
    %b = "fuse.load"(%w, %true, %none) {at = ["d1", "d2*64 + d3 floordiv 2"]} : (tensor<1024x512xui8>, i1, i8) -> i8
    %h = arith.shrui %b, %four : i8
    %l = arith.andi %b, %low : i8
    %i = "fuse.index"() {expr = "d3 mod 2"} : () -> i64
    %nought = arith.constant 0 : i64
    %first = arith.cmpi eq, %i, %nought : i64
    %c = arith.select %first, %l, %h : i8
    %u = arith.uitofp %c : i8 to bf16
    %uw = arith.extf %u : bf16 to f32
    %m = arith.subf %uw, %eight : f32
    %v = arith.truncf %m {fuse.implicit} : f32 to bf16
    %vw = arith.extf %v : bf16 to f32
    %g = "fuse.load"(%s, %true, %zero) {at = ["d1", "d2"]} : (tensor<1024x8xbf16>, i1, bf16) -> bf16
    %gw = arith.extf %g : bf16 to f32
    %p = arith.mulf %vw, %gw : f32
    %q = arith.truncf %p {fuse.implicit} : f32 to bf16
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d2*128 + d3"]} : (tensor<4x1024xbf16>, i1, bf16) -> bf16
    %y = "fuse.dot"(%a, %q) {over = ["d2", "d3"]} : (bf16, bf16) -> f32
    %r = "fuse.store"(%o, %y, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<4x1024xf32>, f32, i1) -> tensor<4x1024xf32>
    return %r : tensor<4x1024xf32>
  }
}

// -----

// A scale for each row of weights: nothing is left to sum.
// CHECK-LABEL: func.func private @row
// CHECK: "fuse.dot"(%{{.*}}) {over = ["d2"]} : (bf16, bf16) -> f32
// CHECK: "fuse.dot"(%{{.*}}) {over = ["d2"]} : (bf16, bf16) -> f32
// CHECK: %[[T:.*]] = arith.addf
// CHECK: arith.mulf %[[T]],
// CHECK-NOT: fuse.reduce
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<2x512xbf16>, %w: tensor<1024x256xui8>, %s: tensor<1024xbf16>, %t: tensor<16xbf16>) -> tensor<2x1024xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<2x1024xf32>
    %y = call @row(%x, %w, %s, %t, %o) : (tensor<2x512xbf16>, tensor<1024x256xui8>, tensor<1024xbf16>, tensor<16xbf16>, tensor<2x1024xf32>) -> tensor<2x1024xf32>
    return %y : tensor<2x1024xf32>
  }
  func.func private @row(%x: tensor<2x512xbf16>, %w: tensor<1024x256xui8>, %s: tensor<1024xbf16>, %t: tensor<16xbf16>, %o: tensor<2x1024xf32>) -> tensor<2x1024xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "2", d1 = "1024", d2 = "4", d3 = "128"}, fuse.ties = array<i64: 4>} {
    %true = arith.constant true
    %none = arith.constant 0 : i8
    %zero = arith.constant 0.0 : bf16
    %eight = arith.constant 8.0 : f32
    %four = arith.constant 4 : i8
    %low = arith.constant 15 : i8
    %b = "fuse.load"(%w, %true, %none) {at = ["d1", "d2*64 + d3 floordiv 2"]} : (tensor<1024x256xui8>, i1, i8) -> i8
    %h = arith.shrui %b, %four : i8
    %l = arith.andi %b, %low : i8
    %i = "fuse.index"() {expr = "d3 mod 2"} : () -> i64
    %nought = arith.constant 0 : i64
    %first = arith.cmpi eq, %i, %nought : i64
    %c = arith.select %first, %l, %h : i8
    %u = arith.uitofp %c : i8 to bf16
    %uw = arith.extf %u : bf16 to f32
    %m = arith.subf %uw, %eight : f32
    %v = arith.truncf %m {fuse.implicit} : f32 to bf16
    %vw = arith.extf %v : bf16 to f32
    %g = "fuse.load"(%s, %true, %zero) {at = ["d1"]} : (tensor<1024xbf16>, i1, bf16) -> bf16
    %gw = arith.extf %g : bf16 to f32
    %p = arith.mulf %vw, %gw : f32
    %q = arith.truncf %p {fuse.implicit} : f32 to bf16
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d2*128 + d3"]} : (tensor<2x512xbf16>, i1, bf16) -> bf16
    %y = "fuse.dot"(%a, %q) {over = ["d2", "d3"]} : (bf16, bf16) -> f32
    %r = "fuse.store"(%o, %y, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<2x1024xf32>, f32, i1) -> tensor<2x1024xf32>
    return %r : tensor<2x1024xf32>
  }
}

// -----

// Groups of 8 bytes suit no tiles: the halves are apart, and each weight is scaled.
// CHECK-LABEL: func.func private @few_bytes
// CHECK: "fuse.dot"(%{{.*}}) {over = ["d2", "d3"]} : (bf16, bf16) -> f32
// CHECK: "fuse.dot"(%{{.*}}) {over = ["d2", "d3"]} : (bf16, bf16) -> f32
// CHECK-NOT: fuse.reduce
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<4x512xbf16>, %w: tensor<1024x256xui8>, %s: tensor<1024x32xbf16>, %t: tensor<16xbf16>) -> tensor<4x1024xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<4x1024xf32>
    %y = call @few_bytes(%x, %w, %s, %t, %o) : (tensor<4x512xbf16>, tensor<1024x256xui8>, tensor<1024x32xbf16>, tensor<16xbf16>, tensor<4x1024xf32>) -> tensor<4x1024xf32>
    return %y : tensor<4x1024xf32>
  }
  func.func private @few_bytes(%x: tensor<4x512xbf16>, %w: tensor<1024x256xui8>, %s: tensor<1024x32xbf16>, %t: tensor<16xbf16>, %o: tensor<4x1024xf32>) -> tensor<4x1024xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "4", d1 = "1024", d2 = "32", d3 = "16"}, fuse.ties = array<i64: 4>} {
    %true = arith.constant true
    %none = arith.constant 0 : i8
    %zero = arith.constant 0.0 : bf16
    %eight = arith.constant 8.0 : f32
    %four = arith.constant 4 : i8
    %low = arith.constant 15 : i8
    %b = "fuse.load"(%w, %true, %none) {at = ["d1", "d2*8 + d3 floordiv 2"]} : (tensor<1024x256xui8>, i1, i8) -> i8
    %h = arith.shrui %b, %four : i8
    %l = arith.andi %b, %low : i8
    %i = "fuse.index"() {expr = "d3 mod 2"} : () -> i64
    %nought = arith.constant 0 : i64
    %first = arith.cmpi eq, %i, %nought : i64
    %c = arith.select %first, %l, %h : i8
    %u = arith.uitofp %c : i8 to bf16
    %uw = arith.extf %u : bf16 to f32
    %m = arith.subf %uw, %eight : f32
    %v = arith.truncf %m {fuse.implicit} : f32 to bf16
    %vw = arith.extf %v : bf16 to f32
    %g = "fuse.load"(%s, %true, %zero) {at = ["d1", "d2"]} : (tensor<1024x32xbf16>, i1, bf16) -> bf16
    %gw = arith.extf %g : bf16 to f32
    %p = arith.mulf %vw, %gw : f32
    %q = arith.truncf %p {fuse.implicit} : f32 to bf16
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d2*16 + d3"]} : (tensor<4x512xbf16>, i1, bf16) -> bf16
    %y = "fuse.dot"(%a, %q) {over = ["d2", "d3"]} : (bf16, bf16) -> f32
    %r = "fuse.store"(%o, %y, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<4x1024xf32>, f32, i1) -> tensor<4x1024xf32>
    return %r : tensor<4x1024xf32>
  }
}

// -----

// The program asks for the rounding of the scaled weights.  Their scales stay where they are,
// and each is read once for the products of a group.
// CHECK-LABEL: func.func private @asked_for
// CHECK: arith.mulf
// CHECK: arith.truncf %{{.*}} : f32 to bf16
// CHECK-COUNT-2: "fuse.dot"(%{{.*}}) {over = ["d3"]} : (bf16, bf16) -> f32
// CHECK: %[[T:.*]] = arith.addf
// CHECK-NEXT: "fuse.reduce"(%[[T]]) {kind = "sum", over = ["d2"]} : (f32) -> f32
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<4x1024xbf16>, %w: tensor<1024x512xui8>, %s: tensor<1024x8xbf16>, %t: tensor<16xbf16>) -> tensor<4x1024xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<4x1024xf32>
    %y = call @asked_for(%x, %w, %s, %t, %o) : (tensor<4x1024xbf16>, tensor<1024x512xui8>, tensor<1024x8xbf16>, tensor<16xbf16>, tensor<4x1024xf32>) -> tensor<4x1024xf32>
    return %y : tensor<4x1024xf32>
  }
  func.func private @asked_for(%x: tensor<4x1024xbf16>, %w: tensor<1024x512xui8>, %s: tensor<1024x8xbf16>, %t: tensor<16xbf16>, %o: tensor<4x1024xf32>) -> tensor<4x1024xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "4", d1 = "1024", d2 = "8", d3 = "128"}, fuse.ties = array<i64: 4>} {
    %true = arith.constant true
    %none = arith.constant 0 : i8
    %zero = arith.constant 0.0 : bf16
    %eight = arith.constant 8.0 : f32
    %four = arith.constant 4 : i8
    %low = arith.constant 15 : i8
    %b = "fuse.load"(%w, %true, %none) {at = ["d1", "d2*64 + d3 floordiv 2"]} : (tensor<1024x512xui8>, i1, i8) -> i8
    %h = arith.shrui %b, %four : i8
    %l = arith.andi %b, %low : i8
    %i = "fuse.index"() {expr = "d3 mod 2"} : () -> i64
    %nought = arith.constant 0 : i64
    %first = arith.cmpi eq, %i, %nought : i64
    %c = arith.select %first, %l, %h : i8
    %u = arith.uitofp %c : i8 to bf16
    %uw = arith.extf %u : bf16 to f32
    %m = arith.subf %uw, %eight : f32
    %v = arith.truncf %m {fuse.implicit} : f32 to bf16
    %vw = arith.extf %v : bf16 to f32
    %g = "fuse.load"(%s, %true, %zero) {at = ["d1", "d2"]} : (tensor<1024x8xbf16>, i1, bf16) -> bf16
    %gw = arith.extf %g : bf16 to f32
    %p = arith.mulf %vw, %gw : f32
    %q = arith.truncf %p : f32 to bf16
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d2*128 + d3"]} : (tensor<4x1024xbf16>, i1, bf16) -> bf16
    %y = "fuse.dot"(%a, %q) {over = ["d2", "d3"]} : (bf16, bf16) -> f32
    %r = "fuse.store"(%o, %y, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<4x1024xf32>, f32, i1) -> tensor<4x1024xf32>
    return %r : tensor<4x1024xf32>
  }
}

// -----

// Must not fire: 65 rows.
// CHECK-LABEL: func.func private @many_rows
// CHECK: "fuse.dot"(%{{.*}}) {over = [{{.*}}]} : (bf16, bf16) -> f32
// CHECK-NOT: fuse.dot
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<65x1024xbf16>, %w: tensor<1024x512xui8>, %s: tensor<1024x8xbf16>, %t: tensor<16xbf16>) -> tensor<65x1024xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<65x1024xf32>
    %y = call @many_rows(%x, %w, %s, %t, %o) : (tensor<65x1024xbf16>, tensor<1024x512xui8>, tensor<1024x8xbf16>, tensor<16xbf16>, tensor<65x1024xf32>) -> tensor<65x1024xf32>
    return %y : tensor<65x1024xf32>
  }
  func.func private @many_rows(%x: tensor<65x1024xbf16>, %w: tensor<1024x512xui8>, %s: tensor<1024x8xbf16>, %t: tensor<16xbf16>, %o: tensor<65x1024xf32>) -> tensor<65x1024xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "65", d1 = "1024", d2 = "8", d3 = "128"}, fuse.ties = array<i64: 4>} {
    %true = arith.constant true
    %none = arith.constant 0 : i8
    %zero = arith.constant 0.0 : bf16
    %eight = arith.constant 8.0 : f32
    %four = arith.constant 4 : i8
    %low = arith.constant 15 : i8
    %b = "fuse.load"(%w, %true, %none) {at = ["d1", "d2*64 + d3 floordiv 2"]} : (tensor<1024x512xui8>, i1, i8) -> i8
    %h = arith.shrui %b, %four : i8
    %l = arith.andi %b, %low : i8
    %i = "fuse.index"() {expr = "d3 mod 2"} : () -> i64
    %nought = arith.constant 0 : i64
    %first = arith.cmpi eq, %i, %nought : i64
    %c = arith.select %first, %l, %h : i8
    %u = arith.uitofp %c : i8 to bf16
    %uw = arith.extf %u : bf16 to f32
    %m = arith.subf %uw, %eight : f32
    %v = arith.truncf %m {fuse.implicit} : f32 to bf16
    %vw = arith.extf %v : bf16 to f32
    %g = "fuse.load"(%s, %true, %zero) {at = ["d1", "d2"]} : (tensor<1024x8xbf16>, i1, bf16) -> bf16
    %gw = arith.extf %g : bf16 to f32
    %p = arith.mulf %vw, %gw : f32
    %q = arith.truncf %p {fuse.implicit} : f32 to bf16
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d2*128 + d3"]} : (tensor<65x1024xbf16>, i1, bf16) -> bf16
    %y = "fuse.dot"(%a, %q) {over = ["d2", "d3"]} : (bf16, bf16) -> f32
    %r = "fuse.store"(%o, %y, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<65x1024xf32>, f32, i1) -> tensor<65x1024xf32>
    return %r : tensor<65x1024xf32>
  }
}

// -----

// Must not fire: 1000 rows of weights.
// CHECK-LABEL: func.func private @few_weights
// CHECK: "fuse.dot"(%{{.*}}) {over = [{{.*}}]} : (bf16, bf16) -> f32
// CHECK-NOT: fuse.dot
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<4x1024xbf16>, %w: tensor<1000x512xui8>, %s: tensor<1000x8xbf16>, %t: tensor<16xbf16>) -> tensor<4x1000xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<4x1000xf32>
    %y = call @few_weights(%x, %w, %s, %t, %o) : (tensor<4x1024xbf16>, tensor<1000x512xui8>, tensor<1000x8xbf16>, tensor<16xbf16>, tensor<4x1000xf32>) -> tensor<4x1000xf32>
    return %y : tensor<4x1000xf32>
  }
  func.func private @few_weights(%x: tensor<4x1024xbf16>, %w: tensor<1000x512xui8>, %s: tensor<1000x8xbf16>, %t: tensor<16xbf16>, %o: tensor<4x1000xf32>) -> tensor<4x1000xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "4", d1 = "1000", d2 = "8", d3 = "128"}, fuse.ties = array<i64: 4>} {
    %true = arith.constant true
    %none = arith.constant 0 : i8
    %zero = arith.constant 0.0 : bf16
    %eight = arith.constant 8.0 : f32
    %four = arith.constant 4 : i8
    %low = arith.constant 15 : i8
    %b = "fuse.load"(%w, %true, %none) {at = ["d1", "d2*64 + d3 floordiv 2"]} : (tensor<1000x512xui8>, i1, i8) -> i8
    %h = arith.shrui %b, %four : i8
    %l = arith.andi %b, %low : i8
    %i = "fuse.index"() {expr = "d3 mod 2"} : () -> i64
    %nought = arith.constant 0 : i64
    %first = arith.cmpi eq, %i, %nought : i64
    %c = arith.select %first, %l, %h : i8
    %u = arith.uitofp %c : i8 to bf16
    %uw = arith.extf %u : bf16 to f32
    %m = arith.subf %uw, %eight : f32
    %v = arith.truncf %m {fuse.implicit} : f32 to bf16
    %vw = arith.extf %v : bf16 to f32
    %g = "fuse.load"(%s, %true, %zero) {at = ["d1", "d2"]} : (tensor<1000x8xbf16>, i1, bf16) -> bf16
    %gw = arith.extf %g : bf16 to f32
    %p = arith.mulf %vw, %gw : f32
    %q = arith.truncf %p {fuse.implicit} : f32 to bf16
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d2*128 + d3"]} : (tensor<4x1024xbf16>, i1, bf16) -> bf16
    %y = "fuse.dot"(%a, %q) {over = ["d2", "d3"]} : (bf16, bf16) -> f32
    %r = "fuse.store"(%o, %y, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<4x1000xf32>, f32, i1) -> tensor<4x1000xf32>
    return %r : tensor<4x1000xf32>
  }
}

// -----

// Must not fire: weights are looked up in a table of more entries than a warp has lanes.
// CHECK-LABEL: func.func private @by_table
// CHECK: "fuse.dot"(%{{.*}}) {over = [{{.*}}]} : (bf16, bf16) -> f32
// CHECK-NOT: fuse.dot
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<4x1024xbf16>, %w: tensor<1024x512xui8>, %s: tensor<1024x8xbf16>, %t: tensor<64xbf16>) -> tensor<4x1024xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<4x1024xf32>
    %y = call @by_table(%x, %w, %s, %t, %o) : (tensor<4x1024xbf16>, tensor<1024x512xui8>, tensor<1024x8xbf16>, tensor<64xbf16>, tensor<4x1024xf32>) -> tensor<4x1024xf32>
    return %y : tensor<4x1024xf32>
  }
  func.func private @by_table(%x: tensor<4x1024xbf16>, %w: tensor<1024x512xui8>, %s: tensor<1024x8xbf16>, %t: tensor<64xbf16>, %o: tensor<4x1024xf32>) -> tensor<4x1024xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "4", d1 = "1024", d2 = "8", d3 = "128"}, fuse.ties = array<i64: 4>} {
    %true = arith.constant true
    %none = arith.constant 0 : i8
    %zero = arith.constant 0.0 : bf16
    %eight = arith.constant 8.0 : f32
    %four = arith.constant 4 : i8
    %low = arith.constant 15 : i8
    %b = "fuse.load"(%w, %true, %none) {at = ["d1", "d2*64 + d3 floordiv 2"]} : (tensor<1024x512xui8>, i1, i8) -> i8
    %h = arith.shrui %b, %four : i8
    %l = arith.andi %b, %low : i8
    %i = "fuse.index"() {expr = "d3 mod 2"} : () -> i64
    %nought = arith.constant 0 : i64
    %first = arith.cmpi eq, %i, %nought : i64
    %c = arith.select %first, %l, %h : i8
    %at = arith.extui %c : i8 to i64
    %v = "fuse.load"(%t, %true, %zero, %at) {at = ["i0"]} : (tensor<64xbf16>, i1, bf16, i64) -> bf16
    %vw = arith.extf %v : bf16 to f32
    %g = "fuse.load"(%s, %true, %zero) {at = ["d1", "d2"]} : (tensor<1024x8xbf16>, i1, bf16) -> bf16
    %gw = arith.extf %g : bf16 to f32
    %p = arith.mulf %vw, %gw : f32
    %q = arith.truncf %p {fuse.implicit} : f32 to bf16
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d2*128 + d3"]} : (tensor<4x1024xbf16>, i1, bf16) -> bf16
    %y = "fuse.dot"(%a, %q) {over = ["d2", "d3"]} : (bf16, bf16) -> f32
    %r = "fuse.store"(%o, %y, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<4x1024xf32>, f32, i1) -> tensor<4x1024xf32>
    return %r : tensor<4x1024xf32>
  }
}

// -----

// Must not fire: something else is reduced, too.
// CHECK-LABEL: func.func private @reduces
// CHECK: "fuse.dot"(%{{.*}}) {over = [{{.*}}]} : (bf16, bf16) -> f32
// CHECK-NOT: fuse.dot
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<4x1024xbf16>, %w: tensor<1024x512xui8>, %s: tensor<1024x8xbf16>, %t: tensor<16xbf16>) -> tensor<4x1024xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<4x1024xf32>
    %y = call @reduces(%x, %w, %s, %t, %o) : (tensor<4x1024xbf16>, tensor<1024x512xui8>, tensor<1024x8xbf16>, tensor<16xbf16>, tensor<4x1024xf32>) -> tensor<4x1024xf32>
    return %y : tensor<4x1024xf32>
  }
  func.func private @reduces(%x: tensor<4x1024xbf16>, %w: tensor<1024x512xui8>, %s: tensor<1024x8xbf16>, %t: tensor<16xbf16>, %o: tensor<4x1024xf32>) -> tensor<4x1024xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "4", d1 = "1024", d2 = "8", d3 = "128"}, fuse.ties = array<i64: 4>} {
    %true = arith.constant true
    %none = arith.constant 0 : i8
    %zero = arith.constant 0.0 : bf16
    %eight = arith.constant 8.0 : f32
    %four = arith.constant 4 : i8
    %low = arith.constant 15 : i8
    %b = "fuse.load"(%w, %true, %none) {at = ["d1", "d2*64 + d3 floordiv 2"]} : (tensor<1024x512xui8>, i1, i8) -> i8
    %h = arith.shrui %b, %four : i8
    %l = arith.andi %b, %low : i8
    %i = "fuse.index"() {expr = "d3 mod 2"} : () -> i64
    %nought = arith.constant 0 : i64
    %first = arith.cmpi eq, %i, %nought : i64
    %c = arith.select %first, %l, %h : i8
    %u = arith.uitofp %c : i8 to bf16
    %uw = arith.extf %u : bf16 to f32
    %m = arith.subf %uw, %eight : f32
    %v = arith.truncf %m {fuse.implicit} : f32 to bf16
    %vw = arith.extf %v : bf16 to f32
    %g = "fuse.load"(%s, %true, %zero) {at = ["d1", "d2"]} : (tensor<1024x8xbf16>, i1, bf16) -> bf16
    %gw = arith.extf %g : bf16 to f32
    %p = arith.mulf %vw, %gw : f32
    %q = arith.truncf %p {fuse.implicit} : f32 to bf16
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d2*128 + d3"]} : (tensor<4x1024xbf16>, i1, bf16) -> bf16
    %y = "fuse.dot"(%a, %q) {over = ["d2", "d3"]} : (bf16, bf16) -> f32
    %mx = "fuse.reduce"(%y) {kind = "max", over = ["d1"]} : (f32) -> f32
    %z = arith.subf %y, %mx : f32
    %r = "fuse.store"(%o, %z, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<4x1024xf32>, f32, i1) -> tensor<4x1024xf32>
    return %r : tensor<4x1024xf32>
  }
}

// -----

// Must not fire: the tile is chosen already.
// CHECK-LABEL: func.func private @tiled
// CHECK: "fuse.dot"(%{{.*}}) {over = ["d2", "d3"]} : (bf16, bf16) -> f32
// CHECK-NOT: fuse.dot
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<4x1024xbf16>, %w: tensor<1024x512xui8>, %s: tensor<1024x8xbf16>, %t: tensor<16xbf16>) -> tensor<4x1024xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<4x1024xf32>
    %y = call @tiled(%x, %w, %s, %t, %o) : (tensor<4x1024xbf16>, tensor<1024x512xui8>, tensor<1024x8xbf16>, tensor<16xbf16>, tensor<4x1024xf32>) -> tensor<4x1024xf32>
    return %y : tensor<4x1024xf32>
  }
  func.func private @tiled(%x: tensor<4x1024xbf16>, %w: tensor<1024x512xui8>, %s: tensor<1024x8xbf16>, %t: tensor<16xbf16>, %o: tensor<4x1024xf32>) -> tensor<4x1024xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "4", d1 = "1024", d2 = "8", d3 = "128"}, fuse.ties = array<i64: 4>, fuse.tile = {axes = [{dims = ["d1"], block = 16 : i64, kind = "grid"}, {dims = ["d0"], block = 8 : i64, kind = "grid"}, {dims = ["d2", "d3"], block = 64 : i64, kind = "looped"}], num_stages = 1 : i64, num_warps = 1 : i64}} {
    %true = arith.constant true
    %none = arith.constant 0 : i8
    %zero = arith.constant 0.0 : bf16
    %eight = arith.constant 8.0 : f32
    %four = arith.constant 4 : i8
    %low = arith.constant 15 : i8
    %b = "fuse.load"(%w, %true, %none) {at = ["d1", "d2*64 + d3 floordiv 2"]} : (tensor<1024x512xui8>, i1, i8) -> i8
    %h = arith.shrui %b, %four : i8
    %l = arith.andi %b, %low : i8
    %i = "fuse.index"() {expr = "d3 mod 2"} : () -> i64
    %nought = arith.constant 0 : i64
    %first = arith.cmpi eq, %i, %nought : i64
    %c = arith.select %first, %l, %h : i8
    %u = arith.uitofp %c : i8 to bf16
    %uw = arith.extf %u : bf16 to f32
    %m = arith.subf %uw, %eight : f32
    %v = arith.truncf %m {fuse.implicit} : f32 to bf16
    %vw = arith.extf %v : bf16 to f32
    %g = "fuse.load"(%s, %true, %zero) {at = ["d1", "d2"]} : (tensor<1024x8xbf16>, i1, bf16) -> bf16
    %gw = arith.extf %g : bf16 to f32
    %p = arith.mulf %vw, %gw : f32
    %q = arith.truncf %p {fuse.implicit} : f32 to bf16
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d2*128 + d3"]} : (tensor<4x1024xbf16>, i1, bf16) -> bf16
    %y = "fuse.dot"(%a, %q) {over = ["d2", "d3"]} : (bf16, bf16) -> f32
    %r = "fuse.store"(%o, %y, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<4x1024xf32>, f32, i1) -> tensor<4x1024xf32>
    return %r : tensor<4x1024xf32>
  }
}

// -----

// Words of eight numbers, which are neighbours across the sum, minus a zero point in words: GPTQ's layout.
// CHECK-LABEL: func.func private @words
// CHECK-SAME: fuse.dims = {d0 = "2", d1 = "128", d2 = "8", d3 = "4", d4 = "16"}
// CHECK: %[[B:.*]] = "fuse.load"(%{{.*}}) {at = ["d3*16 + d4", "d1*8 + d2"]}
// CHECK: arith.shrsi %[[B]],
// CHECK: "fuse.load"(%{{.*}}) {at = ["d0", "d3*128 + d4*8"]}
// CHECK: "fuse.load"(%{{.*}}) {at = ["d0", "d3*128 + d4*8 + 7"]}
// CHECK-COUNT-8: "fuse.dot"(%{{.*}}) {over = ["d4"]} : (bf16, bf16) -> f32
// CHECK: %[[U:.*]] = arith.mulf
// CHECK: "fuse.reduce"(%[[U]]) {kind = "sum", over = ["d3"]} : (f32) -> f32
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<2x512xbf16>, %w: tensor<64x1024xi32>, %s: tensor<4x1024xbf16>, %z: tensor<4x128xi32>) -> tensor<2x1024xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<2x1024xf32>
    %y = call @words(%x, %w, %s, %z, %o) : (tensor<2x512xbf16>, tensor<64x1024xi32>, tensor<4x1024xbf16>, tensor<4x128xi32>, tensor<2x1024xf32>) -> tensor<2x1024xf32>
    return %y : tensor<2x1024xf32>
  }
  func.func private @words(%x: tensor<2x512xbf16>, %w: tensor<64x1024xi32>, %s: tensor<4x1024xbf16>, %z: tensor<4x128xi32>, %o: tensor<2x1024xf32>) -> tensor<2x1024xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "2", d1 = "128", d2 = "8", d3 = "4", d4 = "128"}, fuse.ties = array<i64: 4>} {
    %true = arith.constant true
    %none = arith.constant 0 : i32
    %zero = arith.constant 0.0 : bf16
    %low = arith.constant 15 : i32
    %b = "fuse.load"(%w, %true, %none) {at = ["d3*16 + d4 floordiv 8", "d1*8 + d2"]} : (tensor<64x1024xi32>, i1, i32) -> i32
    %i = "fuse.index"() {expr = "(d4 mod 8)*4"} : () -> i64
    %by = arith.trunci %i : i64 to i32
    %h = arith.shrsi %b, %by : i32
    %n = arith.andi %h, %low : i32
    %c = "fuse.load"(%z, %true, %none) {at = ["d3", "d1"]} : (tensor<4x128xi32>, i1, i32) -> i32
    %j = "fuse.index"() {expr = "d2*4"} : () -> i64
    %of = arith.trunci %j : i64 to i32
    %k = arith.shrsi %c, %of : i32
    %l = arith.andi %k, %low : i32
    %m = arith.subi %n, %l : i32
    %v = arith.sitofp %m : i32 to bf16
    %vw = arith.extf %v : bf16 to f32
    %g = "fuse.load"(%s, %true, %zero) {at = ["d3", "d1*8 + d2"]} : (tensor<4x1024xbf16>, i1, bf16) -> bf16
    %gw = arith.extf %g : bf16 to f32
    %p = arith.mulf %vw, %gw : f32
    %q = arith.truncf %p {fuse.implicit} : f32 to bf16
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d3*128 + d4"]} : (tensor<2x512xbf16>, i1, bf16) -> bf16
    %y = "fuse.dot"(%a, %q) {over = ["d3", "d4"]} : (bf16, bf16) -> f32
    %r = "fuse.store"(%o, %y, %true) {at = ["d0", "d1*8 + d2"], mode = "set"} : (tensor<2x1024xf32>, f32, i1) -> tensor<2x1024xf32>
    return %r : tensor<2x1024xf32>
  }
}

// -----

// Groups of 8 words suit no tiles: the numbers are apart, and each weight is scaled.
// CHECK-LABEL: func.func private @few_words
// CHECK-COUNT-8: "fuse.dot"(%{{.*}}) {over = ["d3", "d4"]} : (bf16, bf16) -> f32
// CHECK-NOT: fuse.reduce
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<2x512xbf16>, %w: tensor<64x1024xi32>, %s: tensor<8x1024xbf16>, %z: tensor<8x128xi32>) -> tensor<2x1024xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<2x1024xf32>
    %y = call @few_words(%x, %w, %s, %z, %o) : (tensor<2x512xbf16>, tensor<64x1024xi32>, tensor<8x1024xbf16>, tensor<8x128xi32>, tensor<2x1024xf32>) -> tensor<2x1024xf32>
    return %y : tensor<2x1024xf32>
  }
  func.func private @few_words(%x: tensor<2x512xbf16>, %w: tensor<64x1024xi32>, %s: tensor<8x1024xbf16>, %z: tensor<8x128xi32>, %o: tensor<2x1024xf32>) -> tensor<2x1024xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "2", d1 = "128", d2 = "8", d3 = "8", d4 = "64"}, fuse.ties = array<i64: 4>} {
    %true = arith.constant true
    %none = arith.constant 0 : i32
    %zero = arith.constant 0.0 : bf16
    %low = arith.constant 15 : i32
    %b = "fuse.load"(%w, %true, %none) {at = ["d3*8 + d4 floordiv 8", "d1*8 + d2"]} : (tensor<64x1024xi32>, i1, i32) -> i32
    %i = "fuse.index"() {expr = "(d4 mod 8)*4"} : () -> i64
    %by = arith.trunci %i : i64 to i32
    %h = arith.shrsi %b, %by : i32
    %n = arith.andi %h, %low : i32
    %c = "fuse.load"(%z, %true, %none) {at = ["d3", "d1"]} : (tensor<8x128xi32>, i1, i32) -> i32
    %j = "fuse.index"() {expr = "d2*4"} : () -> i64
    %of = arith.trunci %j : i64 to i32
    %k = arith.shrsi %c, %of : i32
    %l = arith.andi %k, %low : i32
    %m = arith.subi %n, %l : i32
    %v = arith.sitofp %m : i32 to bf16
    %vw = arith.extf %v : bf16 to f32
    %g = "fuse.load"(%s, %true, %zero) {at = ["d3", "d1*8 + d2"]} : (tensor<8x1024xbf16>, i1, bf16) -> bf16
    %gw = arith.extf %g : bf16 to f32
    %p = arith.mulf %vw, %gw : f32
    %q = arith.truncf %p {fuse.implicit} : f32 to bf16
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d3*64 + d4"]} : (tensor<2x512xbf16>, i1, bf16) -> bf16
    %y = "fuse.dot"(%a, %q) {over = ["d3", "d4"]} : (bf16, bf16) -> f32
    %r = "fuse.store"(%o, %y, %true) {at = ["d0", "d1*8 + d2"], mode = "set"} : (tensor<2x1024xf32>, f32, i1) -> tensor<2x1024xf32>
    return %r : tensor<2x1024xf32>
  }
}

// -----

// Must not fire: sixteen numbers of 2 bits in a word.
// CHECK-LABEL: func.func private @many_numbers
// CHECK: "fuse.dot"(%{{.*}}) {over = ["d3", "d4", "d5"]} : (bf16, bf16) -> f32
// CHECK-NOT: fuse.dot
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<2x1024xbf16>, %w: tensor<64x1024xi32>, %s: tensor<4x1024xbf16>, %z: tensor<4x128xi32>) -> tensor<2x1024xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<2x1024xf32>
    %y = call @many_numbers(%x, %w, %s, %z, %o) : (tensor<2x1024xbf16>, tensor<64x1024xi32>, tensor<4x1024xbf16>, tensor<4x128xi32>, tensor<2x1024xf32>) -> tensor<2x1024xf32>
    return %y : tensor<2x1024xf32>
  }
  func.func private @many_numbers(%x: tensor<2x1024xbf16>, %w: tensor<64x1024xi32>, %s: tensor<4x1024xbf16>, %z: tensor<4x128xi32>, %o: tensor<2x1024xf32>) -> tensor<2x1024xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "2", d1 = "128", d2 = "8", d3 = "4", d4 = "256"}, fuse.ties = array<i64: 4>} {
    %true = arith.constant true
    %none = arith.constant 0 : i32
    %zero = arith.constant 0.0 : bf16
    %low = arith.constant 15 : i32
    %b = "fuse.load"(%w, %true, %none) {at = ["d3*16 + d4 floordiv 16", "d1*8 + d2"]} : (tensor<64x1024xi32>, i1, i32) -> i32
    %i = "fuse.index"() {expr = "(d4 mod 16)*2"} : () -> i64
    %by = arith.trunci %i : i64 to i32
    %h = arith.shrsi %b, %by : i32
    %n = arith.andi %h, %low : i32
    %c = "fuse.load"(%z, %true, %none) {at = ["d3", "d1"]} : (tensor<4x128xi32>, i1, i32) -> i32
    %j = "fuse.index"() {expr = "d2*4"} : () -> i64
    %of = arith.trunci %j : i64 to i32
    %k = arith.shrsi %c, %of : i32
    %l = arith.andi %k, %low : i32
    %m = arith.subi %n, %l : i32
    %v = arith.sitofp %m : i32 to bf16
    %vw = arith.extf %v : bf16 to f32
    %g = "fuse.load"(%s, %true, %zero) {at = ["d3", "d1*8 + d2"]} : (tensor<4x1024xbf16>, i1, bf16) -> bf16
    %gw = arith.extf %g : bf16 to f32
    %p = arith.mulf %vw, %gw : f32
    %q = arith.truncf %p {fuse.implicit} : f32 to bf16
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d3*256 + d4"]} : (tensor<2x1024xbf16>, i1, bf16) -> bf16
    %y = "fuse.dot"(%a, %q) {over = ["d3", "d4"]} : (bf16, bf16) -> f32
    %r = "fuse.store"(%o, %y, %true) {at = ["d0", "d1*8 + d2"], mode = "set"} : (tensor<2x1024xf32>, f32, i1) -> tensor<2x1024xf32>
    return %r : tensor<2x1024xf32>
  }
}
