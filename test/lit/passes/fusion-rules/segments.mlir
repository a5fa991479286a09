// RUN: fuse-opt %s --pass-pipeline="builtin.module(fold-views,fuse-horizontal{hardware=h200})" --split-input-file | FileCheck %s
// RUN: fuse-opt %s --pass-pipeline="builtin.module(fold-views,fuse-horizontal{hardware=h200})" --split-input-file --remarks=text -o %t 2>&1 | FileCheck %s --check-prefix=REMARK

// REMARK: missed: fuse-horizontal: segments, rows=d0: {{.*}} stay apart: the rows of product1 would not be those of one segment in a program

// Must not fire: the rows of two products of one matrix are in other segments for each.
// CHECK-LABEL: func.func @main
// CHECK-NOT: fuse.group
// CHECK: return
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<64x64xbf16>, %w0: tensor<4x64x64xbf16>, %w1: tensor<4x64x64xbf16>, %e0: tensor<4xi32>, %e1: tensor<4xi32>) -> (tensor<64x64xbf16>, tensor<64x64xbf16>) {
    %o0 = "fuse.empty"() {syms = []} : () -> tensor<64x64xbf16>
    %y0 = call @product0(%x, %w0, %e0, %o0) : (tensor<64x64xbf16>, tensor<4x64x64xbf16>, tensor<4xi32>, tensor<64x64xbf16>) -> tensor<64x64xbf16>
    %o1 = "fuse.empty"() {syms = []} : () -> tensor<64x64xbf16>
    %y1 = call @product1(%x, %w1, %e1, %o1) : (tensor<64x64xbf16>, tensor<4x64x64xbf16>, tensor<4xi32>, tensor<64x64xbf16>) -> tensor<64x64xbf16>
    return %y0, %y1 : tensor<64x64xbf16>, tensor<64x64xbf16>
  }
  func.func private @product0(%x: tensor<64x64xbf16>, %w: tensor<4x64x64xbf16>, %ends: tensor<4xi32>, %o: tensor<64x64xbf16>) -> tensor<64x64xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "64", d1 = "64", d2 = "64", d3 = "4"}, fuse.ties = array<i64: 3>} {
    %true = arith.constant true
    %none = arith.constant 0 : i32
    %zero = arith.constant 0.0 : bf16
    %count = arith.constant 4 : i64
    %end = "fuse.load"(%ends, %true, %none) {at = ["d3"]} : (tensor<4xi32>, i1, i32) -> i32
    %wide = arith.extsi %end : i32 to i64
    %row = "fuse.index"() {expr = "d0"} : () -> i64
    %before = arith.cmpi sle, %wide, %row : i64
    %one = arith.extui %before : i1 to i64
    %segment = "fuse.reduce"(%one) {kind = "sum", over = ["d3"]} : (i64) -> i64
    %known = arith.cmpi slt, %segment, %count : i64
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d2"]} : (tensor<64x64xbf16>, i1, bf16) -> bf16
    %b = "fuse.load"(%w, %known, %zero, %segment) {at = ["i0", "d2", "d1"]} : (tensor<4x64x64xbf16>, i1, bf16, i64) -> bf16
    %s = "fuse.dot"(%a, %b) {over = ["d2"]} : (bf16, bf16) -> f32
    %h = arith.truncf %s : f32 to bf16
    %r = "fuse.store"(%o, %h, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<64x64xbf16>, bf16, i1) -> tensor<64x64xbf16>
    return %r : tensor<64x64xbf16>
  }
  func.func private @product1(%x: tensor<64x64xbf16>, %w: tensor<4x64x64xbf16>, %ends: tensor<4xi32>, %o: tensor<64x64xbf16>) -> tensor<64x64xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "64", d1 = "64", d2 = "64", d3 = "4"}, fuse.ties = array<i64: 3>} {
    %true = arith.constant true
    %none = arith.constant 0 : i32
    %zero = arith.constant 0.0 : bf16
    %count = arith.constant 4 : i64
    %end = "fuse.load"(%ends, %true, %none) {at = ["d3"]} : (tensor<4xi32>, i1, i32) -> i32
    %wide = arith.extsi %end : i32 to i64
    %row = "fuse.index"() {expr = "d0"} : () -> i64
    %before = arith.cmpi sle, %wide, %row : i64
    %one = arith.extui %before : i1 to i64
    %segment = "fuse.reduce"(%one) {kind = "sum", over = ["d3"]} : (i64) -> i64
    %known = arith.cmpi slt, %segment, %count : i64
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d2"]} : (tensor<64x64xbf16>, i1, bf16) -> bf16
    %b = "fuse.load"(%w, %known, %zero, %segment) {at = ["i0", "d2", "d1"]} : (tensor<4x64x64xbf16>, i1, bf16, i64) -> bf16
    %s = "fuse.dot"(%a, %b) {over = ["d2"]} : (bf16, bf16) -> f32
    %h = arith.truncf %s : f32 to bf16
    %r = "fuse.store"(%o, %h, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<64x64xbf16>, bf16, i1) -> tensor<64x64xbf16>
    return %r : tensor<64x64xbf16>
  }
}

// -----

// Two products of rows in the same segments: the two matrices of a gated expert.
// CHECK-LABEL: func.func @main
// CHECK-COUNT-2: fuse.group = 0
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<64x64xbf16>, %w0: tensor<4x64x64xbf16>, %w1: tensor<4x64x64xbf16>, %e0: tensor<4xi32>, %e1: tensor<4xi32>) -> (tensor<64x64xbf16>, tensor<64x64xbf16>) {
    %o0 = "fuse.empty"() {syms = []} : () -> tensor<64x64xbf16>
    %y0 = call @product0(%x, %w0, %e0, %o0) : (tensor<64x64xbf16>, tensor<4x64x64xbf16>, tensor<4xi32>, tensor<64x64xbf16>) -> tensor<64x64xbf16>
    %o1 = "fuse.empty"() {syms = []} : () -> tensor<64x64xbf16>
    %y1 = call @product1(%x, %w1, %e0, %o1) : (tensor<64x64xbf16>, tensor<4x64x64xbf16>, tensor<4xi32>, tensor<64x64xbf16>) -> tensor<64x64xbf16>
    return %y0, %y1 : tensor<64x64xbf16>, tensor<64x64xbf16>
  }
  func.func private @product0(%x: tensor<64x64xbf16>, %w: tensor<4x64x64xbf16>, %ends: tensor<4xi32>, %o: tensor<64x64xbf16>) -> tensor<64x64xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "64", d1 = "64", d2 = "64", d3 = "4"}, fuse.ties = array<i64: 3>} {
    %true = arith.constant true
    %none = arith.constant 0 : i32
    %zero = arith.constant 0.0 : bf16
    %count = arith.constant 4 : i64
    %end = "fuse.load"(%ends, %true, %none) {at = ["d3"]} : (tensor<4xi32>, i1, i32) -> i32
    %wide = arith.extsi %end : i32 to i64
    %row = "fuse.index"() {expr = "d0"} : () -> i64
    %before = arith.cmpi sle, %wide, %row : i64
    %one = arith.extui %before : i1 to i64
    %segment = "fuse.reduce"(%one) {kind = "sum", over = ["d3"]} : (i64) -> i64
    %known = arith.cmpi slt, %segment, %count : i64
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d2"]} : (tensor<64x64xbf16>, i1, bf16) -> bf16
    %b = "fuse.load"(%w, %known, %zero, %segment) {at = ["i0", "d2", "d1"]} : (tensor<4x64x64xbf16>, i1, bf16, i64) -> bf16
    %s = "fuse.dot"(%a, %b) {over = ["d2"]} : (bf16, bf16) -> f32
    %h = arith.truncf %s : f32 to bf16
    %r = "fuse.store"(%o, %h, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<64x64xbf16>, bf16, i1) -> tensor<64x64xbf16>
    return %r : tensor<64x64xbf16>
  }
  func.func private @product1(%x: tensor<64x64xbf16>, %w: tensor<4x64x64xbf16>, %ends: tensor<4xi32>, %o: tensor<64x64xbf16>) -> tensor<64x64xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "64", d1 = "64", d2 = "64", d3 = "4"}, fuse.ties = array<i64: 3>} {
    %true = arith.constant true
    %none = arith.constant 0 : i32
    %zero = arith.constant 0.0 : bf16
    %count = arith.constant 4 : i64
    %end = "fuse.load"(%ends, %true, %none) {at = ["d3"]} : (tensor<4xi32>, i1, i32) -> i32
    %wide = arith.extsi %end : i32 to i64
    %row = "fuse.index"() {expr = "d0"} : () -> i64
    %before = arith.cmpi sle, %wide, %row : i64
    %one = arith.extui %before : i1 to i64
    %segment = "fuse.reduce"(%one) {kind = "sum", over = ["d3"]} : (i64) -> i64
    %known = arith.cmpi slt, %segment, %count : i64
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d2"]} : (tensor<64x64xbf16>, i1, bf16) -> bf16
    %b = "fuse.load"(%w, %known, %zero, %segment) {at = ["i0", "d2", "d1"]} : (tensor<4x64x64xbf16>, i1, bf16, i64) -> bf16
    %s = "fuse.dot"(%a, %b) {over = ["d2"]} : (bf16, bf16) -> f32
    %h = arith.truncf %s : f32 to bf16
    %r = "fuse.store"(%o, %h, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<64x64xbf16>, bf16, i1) -> tensor<64x64xbf16>
    return %r : tensor<64x64xbf16>
  }
}
