// RUN: fuse-opt %s --pass-pipeline="builtin.module(fuse-vertical)" --split-input-file | FileCheck %s
// RUN: fuse-opt %s --pass-pipeline="builtin.module(fuse-vertical)" --split-input-file --remarks=text -o %t 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: fuse-opt %s --pass-pipeline="builtin.module(fuse-vertical,materialize-fusion,choose-tiling{hardware=h200})" --split-input-file | FileCheck %s --check-prefix=TILED

// Three layers of a network of equal widths are one kernel, whose programs hold all columns of 128 rows.
// CHECK-LABEL: func.func @main
// CHECK-COUNT-5: fuse.group = 0
// TILED: func.func private @fused{{.*}}fuse.dims = {d0 = "8192", d1 = "64", d2 = "64", d3 = "64", d4 = "64"}
// TILED-SAME: block = 128 : i64, dims = ["d0"], kind = "grid"
// TILED-SAME: block = 64 : i64, dims = ["d2"], kind = "resident"
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<8192x64xbf16>, %w0: tensor<64x64xbf16>, %w1: tensor<64x64xbf16>, %w2: tensor<64x64xbf16>) -> tensor<8192x64xbf16> {
    %e0 = "fuse.empty"() {syms = []} : () -> tensor<8192x64xbf16>
    %y0 = call @product0(%x, %w0, %e0) : (tensor<8192x64xbf16>, tensor<64x64xbf16>, tensor<8192x64xbf16>) -> tensor<8192x64xbf16>
    %f0 = "fuse.empty"() {syms = []} : () -> tensor<8192x64xbf16>
    %z0 = call @relu0(%y0, %f0) : (tensor<8192x64xbf16>, tensor<8192x64xbf16>) -> tensor<8192x64xbf16>
    %e1 = "fuse.empty"() {syms = []} : () -> tensor<8192x64xbf16>
    %y1 = call @product1(%z0, %w1, %e1) : (tensor<8192x64xbf16>, tensor<64x64xbf16>, tensor<8192x64xbf16>) -> tensor<8192x64xbf16>
    %f1 = "fuse.empty"() {syms = []} : () -> tensor<8192x64xbf16>
    %z1 = call @relu1(%y1, %f1) : (tensor<8192x64xbf16>, tensor<8192x64xbf16>) -> tensor<8192x64xbf16>
    %e2 = "fuse.empty"() {syms = []} : () -> tensor<8192x64xbf16>
    %y2 = call @product2(%z1, %w2, %e2) : (tensor<8192x64xbf16>, tensor<64x64xbf16>, tensor<8192x64xbf16>) -> tensor<8192x64xbf16>
    return %y2 : tensor<8192x64xbf16>
  }
  func.func private @product0(%x: tensor<8192x64xbf16>, %w: tensor<64x64xbf16>, %o: tensor<8192x64xbf16>) -> tensor<8192x64xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "8192", d1 = "64", d2 = "64"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d2"]} : (tensor<8192x64xbf16>, i1, bf16) -> bf16
    %b = "fuse.load"(%w, %true, %zero) {at = ["d2", "d1"]} : (tensor<64x64xbf16>, i1, bf16) -> bf16
    %s = "fuse.dot"(%a, %b) {over = ["d2"]} : (bf16, bf16) -> f32
    %t = arith.truncf %s : f32 to bf16
    %r = "fuse.store"(%o, %t, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<8192x64xbf16>, bf16, i1) -> tensor<8192x64xbf16>
    return %r : tensor<8192x64xbf16>
  }
  func.func private @relu0(%x: tensor<8192x64xbf16>, %o: tensor<8192x64xbf16>) -> tensor<8192x64xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "8192", d1 = "64"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<8192x64xbf16>, i1, bf16) -> bf16
    %s = arith.maximumf %a, %zero : bf16
    %r = "fuse.store"(%o, %s, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<8192x64xbf16>, bf16, i1) -> tensor<8192x64xbf16>
    return %r : tensor<8192x64xbf16>
  }
  func.func private @product1(%x: tensor<8192x64xbf16>, %w: tensor<64x64xbf16>, %o: tensor<8192x64xbf16>) -> tensor<8192x64xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "8192", d1 = "64", d2 = "64"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d2"]} : (tensor<8192x64xbf16>, i1, bf16) -> bf16
    %b = "fuse.load"(%w, %true, %zero) {at = ["d2", "d1"]} : (tensor<64x64xbf16>, i1, bf16) -> bf16
    %s = "fuse.dot"(%a, %b) {over = ["d2"]} : (bf16, bf16) -> f32
    %t = arith.truncf %s : f32 to bf16
    %r = "fuse.store"(%o, %t, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<8192x64xbf16>, bf16, i1) -> tensor<8192x64xbf16>
    return %r : tensor<8192x64xbf16>
  }
  func.func private @relu1(%x: tensor<8192x64xbf16>, %o: tensor<8192x64xbf16>) -> tensor<8192x64xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "8192", d1 = "64"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<8192x64xbf16>, i1, bf16) -> bf16
    %s = arith.maximumf %a, %zero : bf16
    %r = "fuse.store"(%o, %s, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<8192x64xbf16>, bf16, i1) -> tensor<8192x64xbf16>
    return %r : tensor<8192x64xbf16>
  }
  func.func private @product2(%x: tensor<8192x64xbf16>, %w: tensor<64x64xbf16>, %o: tensor<8192x64xbf16>) -> tensor<8192x64xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "8192", d1 = "64", d2 = "64"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d2"]} : (tensor<8192x64xbf16>, i1, bf16) -> bf16
    %b = "fuse.load"(%w, %true, %zero) {at = ["d2", "d1"]} : (tensor<64x64xbf16>, i1, bf16) -> bf16
    %s = "fuse.dot"(%a, %b) {over = ["d2"]} : (bf16, bf16) -> f32
    %t = arith.truncf %s : f32 to bf16
    %r = "fuse.store"(%o, %t, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<8192x64xbf16>, bf16, i1) -> tensor<8192x64xbf16>
    return %r : tensor<8192x64xbf16>
  }
}

// -----

// Must not fire: so many columns that reading all weights in each program takes longer than the traffic saved.
// CHECK-LABEL: func.func @main
// CHECK-NOT: fuse.group
// CHECK: return
// REMARK: missed: fuse-vertical: reduction-dims, over=product0 over d3; product1 over d2, no_walk={{.*}}: product0 and product1 stay apart
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<8192x64xbf16>, %w0: tensor<64x192xbf16>, %w1: tensor<192x64xbf16>) -> tensor<8192x64xbf16> {
    %e0 = "fuse.empty"() {syms = []} : () -> tensor<8192x192xbf16>
    %y0 = call @product0(%x, %w0, %e0) : (tensor<8192x64xbf16>, tensor<64x192xbf16>, tensor<8192x192xbf16>) -> tensor<8192x192xbf16>
    %e1 = "fuse.empty"() {syms = []} : () -> tensor<8192x64xbf16>
    %y1 = call @product1(%y0, %w1, %e1) : (tensor<8192x192xbf16>, tensor<192x64xbf16>, tensor<8192x64xbf16>) -> tensor<8192x64xbf16>
    return %y1 : tensor<8192x64xbf16>
  }
  func.func private @product0(%x: tensor<8192x64xbf16>, %w: tensor<64x192xbf16>, %o: tensor<8192x192xbf16>) -> tensor<8192x192xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "8192", d1 = "192", d2 = "64"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d2"]} : (tensor<8192x64xbf16>, i1, bf16) -> bf16
    %b = "fuse.load"(%w, %true, %zero) {at = ["d2", "d1"]} : (tensor<64x192xbf16>, i1, bf16) -> bf16
    %s = "fuse.dot"(%a, %b) {over = ["d2"]} : (bf16, bf16) -> f32
    %t = arith.truncf %s : f32 to bf16
    %r = "fuse.store"(%o, %t, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<8192x192xbf16>, bf16, i1) -> tensor<8192x192xbf16>
    return %r : tensor<8192x192xbf16>
  }
  func.func private @product1(%x: tensor<8192x192xbf16>, %w: tensor<192x64xbf16>, %o: tensor<8192x64xbf16>) -> tensor<8192x64xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "8192", d1 = "64", d2 = "192"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d2"]} : (tensor<8192x192xbf16>, i1, bf16) -> bf16
    %b = "fuse.load"(%w, %true, %zero) {at = ["d2", "d1"]} : (tensor<192x64xbf16>, i1, bf16) -> bf16
    %s = "fuse.dot"(%a, %b) {over = ["d2"]} : (bf16, bf16) -> f32
    %t = arith.truncf %s : f32 to bf16
    %r = "fuse.store"(%o, %t, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<8192x64xbf16>, bf16, i1) -> tensor<8192x64xbf16>
    return %r : tensor<8192x64xbf16>
  }
}

// -----

// Must not fire: so many columns of the last product that no program holds them.
// CHECK-LABEL: func.func @main
// CHECK-NOT: fuse.group
// CHECK: return
// REMARK: missed: fuse-vertical: reduction-dims, {{.*}}: product0 and product1 stay apart
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<8192x64xbf16>, %w0: tensor<64x64xbf16>, %w1: tensor<64x512xbf16>) -> tensor<8192x512xbf16> {
    %e0 = "fuse.empty"() {syms = []} : () -> tensor<8192x64xbf16>
    %y0 = call @product0(%x, %w0, %e0) : (tensor<8192x64xbf16>, tensor<64x64xbf16>, tensor<8192x64xbf16>) -> tensor<8192x64xbf16>
    %e1 = "fuse.empty"() {syms = []} : () -> tensor<8192x512xbf16>
    %y1 = call @product1(%y0, %w1, %e1) : (tensor<8192x64xbf16>, tensor<64x512xbf16>, tensor<8192x512xbf16>) -> tensor<8192x512xbf16>
    return %y1 : tensor<8192x512xbf16>
  }
  func.func private @product0(%x: tensor<8192x64xbf16>, %w: tensor<64x64xbf16>, %o: tensor<8192x64xbf16>) -> tensor<8192x64xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "8192", d1 = "64", d2 = "64"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d2"]} : (tensor<8192x64xbf16>, i1, bf16) -> bf16
    %b = "fuse.load"(%w, %true, %zero) {at = ["d2", "d1"]} : (tensor<64x64xbf16>, i1, bf16) -> bf16
    %s = "fuse.dot"(%a, %b) {over = ["d2"]} : (bf16, bf16) -> f32
    %t = arith.truncf %s : f32 to bf16
    %r = "fuse.store"(%o, %t, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<8192x64xbf16>, bf16, i1) -> tensor<8192x64xbf16>
    return %r : tensor<8192x64xbf16>
  }
  func.func private @product1(%x: tensor<8192x64xbf16>, %w: tensor<64x512xbf16>, %o: tensor<8192x512xbf16>) -> tensor<8192x512xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "8192", d1 = "512", d2 = "64"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d2"]} : (tensor<8192x64xbf16>, i1, bf16) -> bf16
    %b = "fuse.load"(%w, %true, %zero) {at = ["d2", "d1"]} : (tensor<64x512xbf16>, i1, bf16) -> bf16
    %s = "fuse.dot"(%a, %b) {over = ["d2"]} : (bf16, bf16) -> f32
    %t = arith.truncf %s : f32 to bf16
    %r = "fuse.store"(%o, %t, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<8192x512xbf16>, bf16, i1) -> tensor<8192x512xbf16>
    return %r : tensor<8192x512xbf16>
  }
}

// -----

// Must not fire: the first result is read elsewhere, and has no point for each column of the second.
// CHECK-LABEL: func.func @main
// CHECK-NOT: fuse.group
// CHECK: return
// REMARK: missed: fuse-vertical: uneven, {{.*}}: product0 and product1 stay apart
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<8192x64xbf16>, %w0: tensor<64x64xbf16>, %w1: tensor<64x64xbf16>) -> (tensor<8192x64xbf16>, tensor<8192x64xbf16>) {
    %e0 = "fuse.empty"() {syms = []} : () -> tensor<8192x64xbf16>
    %y0 = call @product0(%x, %w0, %e0) : (tensor<8192x64xbf16>, tensor<64x64xbf16>, tensor<8192x64xbf16>) -> tensor<8192x64xbf16>
    %e1 = "fuse.empty"() {syms = []} : () -> tensor<8192x64xbf16>
    %y1 = call @product1(%y0, %w1, %e1) : (tensor<8192x64xbf16>, tensor<64x64xbf16>, tensor<8192x64xbf16>) -> tensor<8192x64xbf16>
    return %y1, %y0 : tensor<8192x64xbf16>, tensor<8192x64xbf16>
  }
  func.func private @product0(%x: tensor<8192x64xbf16>, %w: tensor<64x64xbf16>, %o: tensor<8192x64xbf16>) -> tensor<8192x64xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "8192", d1 = "64", d2 = "64"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d2"]} : (tensor<8192x64xbf16>, i1, bf16) -> bf16
    %b = "fuse.load"(%w, %true, %zero) {at = ["d2", "d1"]} : (tensor<64x64xbf16>, i1, bf16) -> bf16
    %s = "fuse.dot"(%a, %b) {over = ["d2"]} : (bf16, bf16) -> f32
    %t = arith.truncf %s : f32 to bf16
    %r = "fuse.store"(%o, %t, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<8192x64xbf16>, bf16, i1) -> tensor<8192x64xbf16>
    return %r : tensor<8192x64xbf16>
  }
  func.func private @product1(%x: tensor<8192x64xbf16>, %w: tensor<64x64xbf16>, %o: tensor<8192x64xbf16>) -> tensor<8192x64xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "8192", d1 = "64", d2 = "64"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d2"]} : (tensor<8192x64xbf16>, i1, bf16) -> bf16
    %b = "fuse.load"(%w, %true, %zero) {at = ["d2", "d1"]} : (tensor<64x64xbf16>, i1, bf16) -> bf16
    %s = "fuse.dot"(%a, %b) {over = ["d2"]} : (bf16, bf16) -> f32
    %t = arith.truncf %s : f32 to bf16
    %r = "fuse.store"(%o, %t, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<8192x64xbf16>, bf16, i1) -> tensor<8192x64xbf16>
    return %r : tensor<8192x64xbf16>
  }
}

// -----

// Four layers of 2^24 rows are one kernel, though 64-bit integers do not number the points of all its dims: those of each
// product are few enough.
// CHECK-LABEL: func.func @main
// CHECK: call @product0({{.*}}) {fuse.group = 0 : i64}
// CHECK: call @product1({{.*}}) {fuse.group = 0 : i64}
// CHECK: call @product2({{.*}}) {fuse.group = 0 : i64}
// CHECK: call @product3({{.*}}) {fuse.group = 0 : i64}
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<16777216x64xbf16>, %w0: tensor<64x64xbf16>, %w1: tensor<64x64xbf16>, %w2: tensor<64x64xbf16>, %w3: tensor<64x64xbf16>) -> tensor<16777216x64xbf16> {
    %e0 = "fuse.empty"() {syms = []} : () -> tensor<16777216x64xbf16>
    %y0 = call @product0(%x, %w0, %e0) : (tensor<16777216x64xbf16>, tensor<64x64xbf16>, tensor<16777216x64xbf16>) -> tensor<16777216x64xbf16>
    %e1 = "fuse.empty"() {syms = []} : () -> tensor<16777216x64xbf16>
    %y1 = call @product1(%y0, %w1, %e1) : (tensor<16777216x64xbf16>, tensor<64x64xbf16>, tensor<16777216x64xbf16>) -> tensor<16777216x64xbf16>
    %e2 = "fuse.empty"() {syms = []} : () -> tensor<16777216x64xbf16>
    %y2 = call @product2(%y1, %w2, %e2) : (tensor<16777216x64xbf16>, tensor<64x64xbf16>, tensor<16777216x64xbf16>) -> tensor<16777216x64xbf16>
    %e3 = "fuse.empty"() {syms = []} : () -> tensor<16777216x64xbf16>
    %y3 = call @product3(%y2, %w3, %e3) : (tensor<16777216x64xbf16>, tensor<64x64xbf16>, tensor<16777216x64xbf16>) -> tensor<16777216x64xbf16>
    return %y3 : tensor<16777216x64xbf16>
  }
  func.func private @product0(%x: tensor<16777216x64xbf16>, %w: tensor<64x64xbf16>, %o: tensor<16777216x64xbf16>) -> tensor<16777216x64xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "16777216", d1 = "64", d2 = "64"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d2"]} : (tensor<16777216x64xbf16>, i1, bf16) -> bf16
    %b = "fuse.load"(%w, %true, %zero) {at = ["d2", "d1"]} : (tensor<64x64xbf16>, i1, bf16) -> bf16
    %s = "fuse.dot"(%a, %b) {over = ["d2"]} : (bf16, bf16) -> f32
    %t = arith.truncf %s : f32 to bf16
    %r = "fuse.store"(%o, %t, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<16777216x64xbf16>, bf16, i1) -> tensor<16777216x64xbf16>
    return %r : tensor<16777216x64xbf16>
  }
  func.func private @product1(%x: tensor<16777216x64xbf16>, %w: tensor<64x64xbf16>, %o: tensor<16777216x64xbf16>) -> tensor<16777216x64xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "16777216", d1 = "64", d2 = "64"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d2"]} : (tensor<16777216x64xbf16>, i1, bf16) -> bf16
    %b = "fuse.load"(%w, %true, %zero) {at = ["d2", "d1"]} : (tensor<64x64xbf16>, i1, bf16) -> bf16
    %s = "fuse.dot"(%a, %b) {over = ["d2"]} : (bf16, bf16) -> f32
    %t = arith.truncf %s : f32 to bf16
    %r = "fuse.store"(%o, %t, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<16777216x64xbf16>, bf16, i1) -> tensor<16777216x64xbf16>
    return %r : tensor<16777216x64xbf16>
  }
  func.func private @product2(%x: tensor<16777216x64xbf16>, %w: tensor<64x64xbf16>, %o: tensor<16777216x64xbf16>) -> tensor<16777216x64xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "16777216", d1 = "64", d2 = "64"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d2"]} : (tensor<16777216x64xbf16>, i1, bf16) -> bf16
    %b = "fuse.load"(%w, %true, %zero) {at = ["d2", "d1"]} : (tensor<64x64xbf16>, i1, bf16) -> bf16
    %s = "fuse.dot"(%a, %b) {over = ["d2"]} : (bf16, bf16) -> f32
    %t = arith.truncf %s : f32 to bf16
    %r = "fuse.store"(%o, %t, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<16777216x64xbf16>, bf16, i1) -> tensor<16777216x64xbf16>
    return %r : tensor<16777216x64xbf16>
  }
  func.func private @product3(%x: tensor<16777216x64xbf16>, %w: tensor<64x64xbf16>, %o: tensor<16777216x64xbf16>) -> tensor<16777216x64xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "16777216", d1 = "64", d2 = "64"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d2"]} : (tensor<16777216x64xbf16>, i1, bf16) -> bf16
    %b = "fuse.load"(%w, %true, %zero) {at = ["d2", "d1"]} : (tensor<64x64xbf16>, i1, bf16) -> bf16
    %s = "fuse.dot"(%a, %b) {over = ["d2"]} : (bf16, bf16) -> f32
    %t = arith.truncf %s : f32 to bf16
    %r = "fuse.store"(%o, %t, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<16777216x64xbf16>, bf16, i1) -> tensor<16777216x64xbf16>
    return %r : tensor<16777216x64xbf16>
  }
}
