// RUN: fuse-opt %s --pass-pipeline="builtin.module(fold-views,fuse-horizontal{hardware=h200})" --split-input-file | FileCheck %s
// RUN: fuse-opt %s --pass-pipeline="builtin.module(fold-views,fuse-horizontal{hardware=h200})" --split-input-file --remarks=text -o %t 2>&1 | FileCheck %s --check-prefix=REMARK

// REMARK: missed: fuse-horizontal: products, products=3, max_products=2: {{.*}} stay apart: so many products over the same dims in a kernel would leave each a small tile

// Must not fire: three products of one matrix; two of them share a kernel.
// CHECK-LABEL: func.func @main
// CHECK-COUNT-2: fuse.group = 0
// CHECK-NOT: fuse.group
// CHECK: return
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<64x64xbf16>, %w0: tensor<64x64xbf16>, %w1: tensor<64x64xbf16>, %w2: tensor<64x64xbf16>) -> (tensor<64x64xbf16>, tensor<64x64xbf16>, tensor<64x64xbf16>) {
    %o0 = "fuse.empty"() {syms = []} : () -> tensor<64x64xbf16>
    %y0 = call @product0(%x, %w0, %o0) : (tensor<64x64xbf16>, tensor<64x64xbf16>, tensor<64x64xbf16>) -> tensor<64x64xbf16>
    %o1 = "fuse.empty"() {syms = []} : () -> tensor<64x64xbf16>
    %y1 = call @product1(%x, %w1, %o1) : (tensor<64x64xbf16>, tensor<64x64xbf16>, tensor<64x64xbf16>) -> tensor<64x64xbf16>
    %o2 = "fuse.empty"() {syms = []} : () -> tensor<64x64xbf16>
    %y2 = call @product2(%x, %w2, %o2) : (tensor<64x64xbf16>, tensor<64x64xbf16>, tensor<64x64xbf16>) -> tensor<64x64xbf16>
    return %y0, %y1, %y2 : tensor<64x64xbf16>, tensor<64x64xbf16>, tensor<64x64xbf16>
  }
  func.func private @product0(%x: tensor<64x64xbf16>, %w: tensor<64x64xbf16>, %o: tensor<64x64xbf16>) -> tensor<64x64xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "64", d1 = "64", d2 = "64"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d2"]} : (tensor<64x64xbf16>, i1, bf16) -> bf16
    %b = "fuse.load"(%w, %true, %zero) {at = ["d2", "d1"]} : (tensor<64x64xbf16>, i1, bf16) -> bf16
    %s = "fuse.dot"(%a, %b) {over = ["d2"]} : (bf16, bf16) -> f32
    %h = arith.truncf %s : f32 to bf16
    %r = "fuse.store"(%o, %h, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<64x64xbf16>, bf16, i1) -> tensor<64x64xbf16>
    return %r : tensor<64x64xbf16>
  }
  func.func private @product1(%x: tensor<64x64xbf16>, %w: tensor<64x64xbf16>, %o: tensor<64x64xbf16>) -> tensor<64x64xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "64", d1 = "64", d2 = "64"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d2"]} : (tensor<64x64xbf16>, i1, bf16) -> bf16
    %b = "fuse.load"(%w, %true, %zero) {at = ["d2", "d1"]} : (tensor<64x64xbf16>, i1, bf16) -> bf16
    %s = "fuse.dot"(%a, %b) {over = ["d2"]} : (bf16, bf16) -> f32
    %h = arith.truncf %s : f32 to bf16
    %r = "fuse.store"(%o, %h, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<64x64xbf16>, bf16, i1) -> tensor<64x64xbf16>
    return %r : tensor<64x64xbf16>
  }
  func.func private @product2(%x: tensor<64x64xbf16>, %w: tensor<64x64xbf16>, %o: tensor<64x64xbf16>) -> tensor<64x64xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "64", d1 = "64", d2 = "64"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d2"]} : (tensor<64x64xbf16>, i1, bf16) -> bf16
    %b = "fuse.load"(%w, %true, %zero) {at = ["d2", "d1"]} : (tensor<64x64xbf16>, i1, bf16) -> bf16
    %s = "fuse.dot"(%a, %b) {over = ["d2"]} : (bf16, bf16) -> f32
    %h = arith.truncf %s : f32 to bf16
    %r = "fuse.store"(%o, %h, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<64x64xbf16>, bf16, i1) -> tensor<64x64xbf16>
    return %r : tensor<64x64xbf16>
  }
}

// -----

// Two products of one matrix.
// CHECK-LABEL: func.func @main
// CHECK-COUNT-2: fuse.group = 0
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<64x64xbf16>, %w0: tensor<64x64xbf16>, %w1: tensor<64x64xbf16>) -> (tensor<64x64xbf16>, tensor<64x64xbf16>) {
    %o0 = "fuse.empty"() {syms = []} : () -> tensor<64x64xbf16>
    %y0 = call @product0(%x, %w0, %o0) : (tensor<64x64xbf16>, tensor<64x64xbf16>, tensor<64x64xbf16>) -> tensor<64x64xbf16>
    %o1 = "fuse.empty"() {syms = []} : () -> tensor<64x64xbf16>
    %y1 = call @product1(%x, %w1, %o1) : (tensor<64x64xbf16>, tensor<64x64xbf16>, tensor<64x64xbf16>) -> tensor<64x64xbf16>
    return %y0, %y1 : tensor<64x64xbf16>, tensor<64x64xbf16>
  }
  func.func private @product0(%x: tensor<64x64xbf16>, %w: tensor<64x64xbf16>, %o: tensor<64x64xbf16>) -> tensor<64x64xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "64", d1 = "64", d2 = "64"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d2"]} : (tensor<64x64xbf16>, i1, bf16) -> bf16
    %b = "fuse.load"(%w, %true, %zero) {at = ["d2", "d1"]} : (tensor<64x64xbf16>, i1, bf16) -> bf16
    %s = "fuse.dot"(%a, %b) {over = ["d2"]} : (bf16, bf16) -> f32
    %h = arith.truncf %s : f32 to bf16
    %r = "fuse.store"(%o, %h, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<64x64xbf16>, bf16, i1) -> tensor<64x64xbf16>
    return %r : tensor<64x64xbf16>
  }
  func.func private @product1(%x: tensor<64x64xbf16>, %w: tensor<64x64xbf16>, %o: tensor<64x64xbf16>) -> tensor<64x64xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "64", d1 = "64", d2 = "64"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d2"]} : (tensor<64x64xbf16>, i1, bf16) -> bf16
    %b = "fuse.load"(%w, %true, %zero) {at = ["d2", "d1"]} : (tensor<64x64xbf16>, i1, bf16) -> bf16
    %s = "fuse.dot"(%a, %b) {over = ["d2"]} : (bf16, bf16) -> f32
    %h = arith.truncf %s : f32 to bf16
    %r = "fuse.store"(%o, %h, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<64x64xbf16>, bf16, i1) -> tensor<64x64xbf16>
    return %r : tensor<64x64xbf16>
  }
}

// -----

// Must not fire: the rows of each product are matrices of the other one's batch.
// CHECK-LABEL: func.func @main
// CHECK-NOT: fuse.group
// CHECK: return
// REMARK: missed: fuse-horizontal: products: {{.*}} stay apart: the products share no row dim and column dim
module attributes {fuse.device = "cpu"} {
  func.func @main(%q: tensor<16x24x64xbf16>, %k: tensor<16x24x64xbf16>, %w: tensor<24x24x64xbf16>) -> (tensor<16x24x24xbf16>, tensor<16x24x24xbf16>) {
    %o0 = "fuse.empty"() {syms = []} : () -> tensor<16x24x24xbf16>
    %y0 = call @keys(%q, %k, %o0) : (tensor<16x24x64xbf16>, tensor<16x24x64xbf16>, tensor<16x24x24xbf16>) -> tensor<16x24x24xbf16>
    %o1 = "fuse.empty"() {syms = []} : () -> tensor<16x24x24xbf16>
    %y1 = call @places(%q, %w, %o1) : (tensor<16x24x64xbf16>, tensor<24x24x64xbf16>, tensor<16x24x24xbf16>) -> tensor<16x24x24xbf16>
    return %y0, %y1 : tensor<16x24x24xbf16>, tensor<16x24x24xbf16>
  }
  func.func private @keys(%q: tensor<16x24x64xbf16>, %k: tensor<16x24x64xbf16>, %o: tensor<16x24x24xbf16>) -> tensor<16x24x24xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "16", d1 = "24", d2 = "24", d3 = "64"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %a = "fuse.load"(%q, %true, %zero) {at = ["d0", "d1", "d3"]} : (tensor<16x24x64xbf16>, i1, bf16) -> bf16
    %b = "fuse.load"(%k, %true, %zero) {at = ["d0", "d2", "d3"]} : (tensor<16x24x64xbf16>, i1, bf16) -> bf16
    %s = "fuse.dot"(%a, %b) {over = ["d3"]} : (bf16, bf16) -> f32
    %h = arith.truncf %s : f32 to bf16
    %r = "fuse.store"(%o, %h, %true) {at = ["d0", "d1", "d2"], mode = "set"} : (tensor<16x24x24xbf16>, bf16, i1) -> tensor<16x24x24xbf16>
    return %r : tensor<16x24x24xbf16>
  }
  func.func private @places(%q: tensor<16x24x64xbf16>, %w: tensor<24x24x64xbf16>, %o: tensor<16x24x24xbf16>) -> tensor<16x24x24xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "16", d1 = "24", d2 = "24", d3 = "64"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %a = "fuse.load"(%q, %true, %zero) {at = ["d0", "d1", "d3"]} : (tensor<16x24x64xbf16>, i1, bf16) -> bf16
    %b = "fuse.load"(%w, %true, %zero) {at = ["d1", "d2", "d3"]} : (tensor<24x24x64xbf16>, i1, bf16) -> bf16
    %s = "fuse.dot"(%a, %b) {over = ["d3"]} : (bf16, bf16) -> f32
    %h = arith.truncf %s : f32 to bf16
    %r = "fuse.store"(%o, %h, %true) {at = ["d0", "d1", "d2"], mode = "set"} : (tensor<16x24x24xbf16>, bf16, i1) -> tensor<16x24x24xbf16>
    return %r : tensor<16x24x24xbf16>
  }
}
