// RUN: fuse-opt %s --pass-pipeline="builtin.module(deduplicate-checks)" --split-input-file | FileCheck %s
// RUN: fuse-opt %s --pass-pipeline="builtin.module(deduplicate-checks)" --split-input-file --remarks=text 2>&1 >/dev/null | FileCheck %s --check-prefix=SAID

// A row of a table of 1024 was looked up: it is none beyond 2048, nor before its beginning.  What is looked up
// keeps its guard.
// CHECK-LABEL: func.func private @first(
// CHECK: cf.assert
// CHECK-LABEL: func.func private @second(
// CHECK-NOT: cf.assert
// CHECK: %[[IN:.*]] = arith.andi
// CHECK-NOT: cf.assert
// CHECK: "fuse.load"(%arg0, %[[IN]]
// SAID: passed: deduplicate-checks: implied, assertions=1: @second looks up what was checked before [second]
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<1024x64xf32>, %y: tensor<2048x64xf32>, %at: tensor<1xi64>) -> (tensor<64xf32>, tensor<64xf32>) {
    %o = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %a = call @first(%x, %at, %o) : (tensor<1024x64xf32>, tensor<1xi64>, tensor<64xf32>) -> tensor<64xf32>
    %p = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %b = call @second(%y, %at, %p) : (tensor<2048x64xf32>, tensor<1xi64>, tensor<64xf32>) -> tensor<64xf32>
    return %a, %b : tensor<64xf32>, tensor<64xf32>
  }
  func.func private @first(%x: tensor<1024x64xf32>, %at: tensor<1xi64>, %o: tensor<64xf32>) -> tensor<64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %none = arith.constant 0 : i64
    %least = arith.constant 0 : i64
    %most = arith.constant 1024 : i64
    %i = "fuse.load"(%at, %true, %none) {at = ["0"]} : (tensor<1xi64>, i1, i64) -> i64
    %negative = arith.cmpi slt, %i, %none : i64
    %from_end = arith.addi %i, %most : i64
    %place = arith.select %negative, %from_end, %i : i64
    %not_below = arith.cmpi sge, %place, %least : i64
    %below = arith.cmpi slt, %place, %most : i64
    %inside = arith.andi %not_below, %below : i1
    cf.assert %inside, "index out of bounds" {fuse.index_check}
    %v = "fuse.load"(%x, %inside, %zero, %place) {at = ["i0", "d0"]} : (tensor<1024x64xf32>, i1, f32, i64) -> f32
    %r = "fuse.store"(%o, %v, %true) {at = ["d0"], mode = "set"} : (tensor<64xf32>, f32, i1) -> tensor<64xf32>
    return %r : tensor<64xf32>
  }
  func.func private @second(%x: tensor<2048x64xf32>, %at: tensor<1xi64>, %o: tensor<64xf32>) -> tensor<64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %none = arith.constant 0 : i64
    %least = arith.constant 0 : i64
    %most = arith.constant 2048 : i64
    %i = "fuse.load"(%at, %true, %none) {at = ["0"]} : (tensor<1xi64>, i1, i64) -> i64
    %negative = arith.cmpi slt, %i, %none : i64
    %from_end = arith.addi %i, %most : i64
    %place = arith.select %negative, %from_end, %i : i64
    %not_below = arith.cmpi sge, %place, %least : i64
    %below = arith.cmpi slt, %place, %most : i64
    %inside = arith.andi %not_below, %below : i1
    cf.assert %inside, "index out of bounds" {fuse.index_check}
    %v = "fuse.load"(%x, %inside, %zero, %place) {at = ["i0", "d0"]} : (tensor<2048x64xf32>, i1, f32, i64) -> f32
    %r = "fuse.store"(%o, %v, %true) {at = ["d0"], mode = "set"} : (tensor<64xf32>, f32, i1) -> tensor<64xf32>
    return %r : tensor<64xf32>
  }
}

// -----

// Each element of a matrix of indices was checked, whatever the order of the dims; a second call of the kernel that
// checks has a copy that does not.
// CHECK-LABEL: func.func @main
// CHECK: call @first(
// CHECK: call @first_1(
// CHECK-LABEL: func.func private @first(
// CHECK: cf.assert
// CHECK-LABEL: func.func private @first_1(
// CHECK-NOT: cf.assert
// CHECK: return
// SAID: implied, assertions=1: @first_1 looks up
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<1024x64xf32>, %y: tensor<1024x64xf32>, %at: tensor<4x2xi64>) -> (tensor<8x64xf32>, tensor<8x64xf32>) {
    %o = "fuse.empty"() {syms = []} : () -> tensor<8x64xf32>
    %a = call @first(%x, %at, %o) : (tensor<1024x64xf32>, tensor<4x2xi64>, tensor<8x64xf32>) -> tensor<8x64xf32>
    %p = "fuse.empty"() {syms = []} : () -> tensor<8x64xf32>
    %b = call @first(%y, %at, %p) : (tensor<1024x64xf32>, tensor<4x2xi64>, tensor<8x64xf32>) -> tensor<8x64xf32>
    return %a, %b : tensor<8x64xf32>, tensor<8x64xf32>
  }
  func.func private @first(%x: tensor<1024x64xf32>, %at: tensor<4x2xi64>, %o: tensor<8x64xf32>) -> tensor<8x64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64", d1 = "8"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %none = arith.constant 0 : i64
    %least = arith.constant 0 : i64
    %most = arith.constant 1024 : i64
    %i = "fuse.load"(%at, %true, %none) {at = ["d1 mod 4", "d1 floordiv 4"]} : (tensor<4x2xi64>, i1, i64) -> i64
    %not_below = arith.cmpi sge, %i, %least : i64
    %below = arith.cmpi slt, %i, %most : i64
    %inside = arith.andi %not_below, %below : i1
    cf.assert %inside, "index out of bounds" {fuse.index_check}
    %v = "fuse.load"(%x, %inside, %zero, %i) {at = ["i0", "d0"]} : (tensor<1024x64xf32>, i1, f32, i64) -> f32
    %r = "fuse.store"(%o, %v, %true) {at = ["d1", "d0"], mode = "set"} : (tensor<8x64xf32>, f32, i1) -> tensor<8x64xf32>
    return %r : tensor<8x64xf32>
  }
}

// -----

// What passed two checks is what both let pass: of one to 1023, of the other 0 and above.  What is said in between
// keeps them apart.
// CHECK-LABEL: func.func private @first(
// CHECK: cf.assert
// CHECK-LABEL: func.func private @second(
// CHECK: cf.assert
// CHECK-LABEL: func.func private @third(
// CHECK-NOT: cf.assert
// CHECK: return
// SAID: implied, assertions=1: @third looks up
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<1024x64xf32>, %y: tensor<2048x64xf32>, %at: tensor<1xi64>) -> (tensor<64xf32>, tensor<64xf32>, tensor<64xf32>) {
    %o = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %a = call @first(%x, %at, %o) : (tensor<1024x64xf32>, tensor<1xi64>, tensor<64xf32>) -> tensor<64xf32>
    call @said(%x) : (tensor<1024x64xf32>) -> ()
    %p = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %b = call @second(%y, %at, %p) : (tensor<2048x64xf32>, tensor<1xi64>, tensor<64xf32>) -> tensor<64xf32>
    %q = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %c = call @third(%x, %at, %q) : (tensor<1024x64xf32>, tensor<1xi64>, tensor<64xf32>) -> tensor<64xf32>
    return %a, %b, %c : tensor<64xf32>, tensor<64xf32>, tensor<64xf32>
  }
  func.func private @said(tensor<1024x64xf32>) attributes {fuse.extern = "aten._print.default", fuse.args = [#fuse.arg<0>], fuse.kwargs = {}, fuse.effect}
  func.func private @first(%x: tensor<1024x64xf32>, %at: tensor<1xi64>, %o: tensor<64xf32>) -> tensor<64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %none = arith.constant 0 : i64
    %least = arith.constant 0 : i64
    %most = arith.constant 1024 : i64
    %i = "fuse.load"(%at, %true, %none) {at = ["0"]} : (tensor<1xi64>, i1, i64) -> i64
    %negative = arith.cmpi slt, %i, %none : i64
    %from_end = arith.addi %i, %most : i64
    %place = arith.select %negative, %from_end, %i : i64
    %not_below = arith.cmpi sge, %place, %least : i64
    %below = arith.cmpi slt, %place, %most : i64
    %inside = arith.andi %not_below, %below : i1
    cf.assert %inside, "index out of bounds" {fuse.index_check}
    %v = "fuse.load"(%x, %inside, %zero, %place) {at = ["i0", "d0"]} : (tensor<1024x64xf32>, i1, f32, i64) -> f32
    %r = "fuse.store"(%o, %v, %true) {at = ["d0"], mode = "set"} : (tensor<64xf32>, f32, i1) -> tensor<64xf32>
    return %r : tensor<64xf32>
  }
  func.func private @second(%x: tensor<2048x64xf32>, %at: tensor<1xi64>, %o: tensor<64xf32>) -> tensor<64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %none = arith.constant 0 : i64
    %least = arith.constant 0 : i64
    %most = arith.constant 2048 : i64
    %i = "fuse.load"(%at, %true, %none) {at = ["0"]} : (tensor<1xi64>, i1, i64) -> i64
    %not_below = arith.cmpi sge, %i, %least : i64
    %below = arith.cmpi slt, %i, %most : i64
    %inside = arith.andi %not_below, %below : i1
    cf.assert %inside, "index out of bounds" {fuse.index_check}
    %v = "fuse.load"(%x, %inside, %zero, %i) {at = ["i0", "d0"]} : (tensor<2048x64xf32>, i1, f32, i64) -> f32
    %r = "fuse.store"(%o, %v, %true) {at = ["d0"], mode = "set"} : (tensor<64xf32>, f32, i1) -> tensor<64xf32>
    return %r : tensor<64xf32>
  }
  func.func private @third(%x: tensor<1024x64xf32>, %at: tensor<1xi64>, %o: tensor<64xf32>) -> tensor<64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %none = arith.constant 0 : i64
    %least = arith.constant 0 : i64
    %most = arith.constant 1024 : i64
    %i = "fuse.load"(%at, %true, %none) {at = ["0"]} : (tensor<1xi64>, i1, i64) -> i64
    %not_below = arith.cmpi sge, %i, %least : i64
    %below = arith.cmpi slt, %i, %most : i64
    %inside = arith.andi %not_below, %below : i1
    cf.assert %inside, "index out of bounds" {fuse.index_check}
    %v = "fuse.load"(%x, %inside, %zero, %i) {at = ["i0", "d0"]} : (tensor<1024x64xf32>, i1, f32, i64) -> f32
    %r = "fuse.store"(%o, %v, %true) {at = ["d0"], mode = "set"} : (tensor<64xf32>, f32, i1) -> tensor<64xf32>
    return %r : tensor<64xf32>
  }
}

// -----

// Of two assertions of one number, the one that is no check of an index stays: its message is the user's.
// CHECK-LABEL: func.func private @second(
// CHECK-NOT: fuse.index_check
// CHECK: cf.assert %{{.*}}, "theirs"
// CHECK-NOT: fuse.index_check
// CHECK: return
// SAID: implied, assertions=1: @second looks up
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<1024x64xf32>, %y: tensor<1024x64xf32>, %at: tensor<1xi64>) -> (tensor<64xf32>, tensor<64xf32>) {
    %o = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %a = call @first(%x, %at, %o) : (tensor<1024x64xf32>, tensor<1xi64>, tensor<64xf32>) -> tensor<64xf32>
    %p = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %b = call @second(%y, %at, %p) : (tensor<1024x64xf32>, tensor<1xi64>, tensor<64xf32>) -> tensor<64xf32>
    return %a, %b : tensor<64xf32>, tensor<64xf32>
  }
  func.func private @first(%x: tensor<1024x64xf32>, %at: tensor<1xi64>, %o: tensor<64xf32>) -> tensor<64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %none = arith.constant 0 : i64
    %least = arith.constant 0 : i64
    %most = arith.constant 1024 : i64
    %i = "fuse.load"(%at, %true, %none) {at = ["0"]} : (tensor<1xi64>, i1, i64) -> i64
    %not_below = arith.cmpi sge, %i, %least : i64
    %below = arith.cmpi slt, %i, %most : i64
    %inside = arith.andi %not_below, %below : i1
    cf.assert %inside, "index out of bounds" {fuse.index_check}
    %v = "fuse.load"(%x, %inside, %zero, %i) {at = ["i0", "d0"]} : (tensor<1024x64xf32>, i1, f32, i64) -> f32
    %r = "fuse.store"(%o, %v, %true) {at = ["d0"], mode = "set"} : (tensor<64xf32>, f32, i1) -> tensor<64xf32>
    return %r : tensor<64xf32>
  }
  func.func private @second(%x: tensor<1024x64xf32>, %at: tensor<1xi64>, %o: tensor<64xf32>) -> tensor<64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %none = arith.constant 0 : i64
    %least = arith.constant 0 : i64
    %most = arith.constant 1024 : i64
    %i = "fuse.load"(%at, %true, %none) {at = ["0"]} : (tensor<1xi64>, i1, i64) -> i64
    %not_below = arith.cmpi sge, %i, %least : i64
    %below = arith.cmpi slt, %i, %most : i64
    %inside = arith.andi %not_below, %below : i1
    cf.assert %inside, "index out of bounds" {fuse.index_check}
    cf.assert %inside, "theirs"
    %v = "fuse.load"(%x, %inside, %zero, %i) {at = ["i0", "d0"]} : (tensor<1024x64xf32>, i1, f32, i64) -> f32
    %r = "fuse.store"(%o, %v, %true) {at = ["d0"], mode = "set"} : (tensor<64xf32>, f32, i1) -> tensor<64xf32>
    return %r : tensor<64xf32>
  }
}

// -----

// Must not fire: the second table has fewer rows, and what is said in between is seen before it fails.
// CHECK-LABEL: func.func private @second(
// CHECK: cf.assert
// SAID-NOT: implied
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<1024x64xf32>, %y: tensor<1023x64xf32>, %at: tensor<1xi64>) -> (tensor<64xf32>, tensor<64xf32>) {
    %o = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %a = call @first(%x, %at, %o) : (tensor<1024x64xf32>, tensor<1xi64>, tensor<64xf32>) -> tensor<64xf32>
    call @said(%x) : (tensor<1024x64xf32>) -> ()
    %p = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %b = call @second(%y, %at, %p) : (tensor<1023x64xf32>, tensor<1xi64>, tensor<64xf32>) -> tensor<64xf32>
    return %a, %b : tensor<64xf32>, tensor<64xf32>
  }
  func.func private @said(tensor<1024x64xf32>) attributes {fuse.extern = "aten._print.default", fuse.args = [#fuse.arg<0>], fuse.kwargs = {}, fuse.effect}
  func.func private @first(%x: tensor<1024x64xf32>, %at: tensor<1xi64>, %o: tensor<64xf32>) -> tensor<64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %none = arith.constant 0 : i64
    %least = arith.constant 0 : i64
    %most = arith.constant 1024 : i64
    %i = "fuse.load"(%at, %true, %none) {at = ["0"]} : (tensor<1xi64>, i1, i64) -> i64
    %not_below = arith.cmpi sge, %i, %least : i64
    %below = arith.cmpi slt, %i, %most : i64
    %inside = arith.andi %not_below, %below : i1
    cf.assert %inside, "index out of bounds" {fuse.index_check}
    %v = "fuse.load"(%x, %inside, %zero, %i) {at = ["i0", "d0"]} : (tensor<1024x64xf32>, i1, f32, i64) -> f32
    %r = "fuse.store"(%o, %v, %true) {at = ["d0"], mode = "set"} : (tensor<64xf32>, f32, i1) -> tensor<64xf32>
    return %r : tensor<64xf32>
  }
  func.func private @second(%x: tensor<1023x64xf32>, %at: tensor<1xi64>, %o: tensor<64xf32>) -> tensor<64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %none = arith.constant 0 : i64
    %least = arith.constant 0 : i64
    %most = arith.constant 1023 : i64
    %i = "fuse.load"(%at, %true, %none) {at = ["0"]} : (tensor<1xi64>, i1, i64) -> i64
    %not_below = arith.cmpi sge, %i, %least : i64
    %below = arith.cmpi slt, %i, %most : i64
    %inside = arith.andi %not_below, %below : i1
    cf.assert %inside, "index out of bounds" {fuse.index_check}
    %v = "fuse.load"(%x, %inside, %zero, %i) {at = ["i0", "d0"]} : (tensor<1023x64xf32>, i1, f32, i64) -> f32
    %r = "fuse.store"(%o, %v, %true) {at = ["d0"], mode = "set"} : (tensor<64xf32>, f32, i1) -> tensor<64xf32>
    return %r : tensor<64xf32>
  }
}

// -----

// Must not fire: numbers below 0 count from the end in the first table, and are none of the second.
// CHECK-LABEL: func.func private @second(
// CHECK: cf.assert
// SAID-NOT: implied
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<1024x64xf32>, %y: tensor<2048x64xf32>, %at: tensor<1xi64>) -> (tensor<64xf32>, tensor<64xf32>) {
    %o = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %a = call @first(%x, %at, %o) : (tensor<1024x64xf32>, tensor<1xi64>, tensor<64xf32>) -> tensor<64xf32>
    call @said(%x) : (tensor<1024x64xf32>) -> ()
    %p = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %b = call @second(%y, %at, %p) : (tensor<2048x64xf32>, tensor<1xi64>, tensor<64xf32>) -> tensor<64xf32>
    return %a, %b : tensor<64xf32>, tensor<64xf32>
  }
  func.func private @said(tensor<1024x64xf32>) attributes {fuse.extern = "aten._print.default", fuse.args = [#fuse.arg<0>], fuse.kwargs = {}, fuse.effect}
  func.func private @first(%x: tensor<1024x64xf32>, %at: tensor<1xi64>, %o: tensor<64xf32>) -> tensor<64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %none = arith.constant 0 : i64
    %least = arith.constant 0 : i64
    %most = arith.constant 1024 : i64
    %i = "fuse.load"(%at, %true, %none) {at = ["0"]} : (tensor<1xi64>, i1, i64) -> i64
    %negative = arith.cmpi slt, %i, %none : i64
    %from_end = arith.addi %i, %most : i64
    %place = arith.select %negative, %from_end, %i : i64
    %not_below = arith.cmpi sge, %place, %least : i64
    %below = arith.cmpi slt, %place, %most : i64
    %inside = arith.andi %not_below, %below : i1
    cf.assert %inside, "index out of bounds" {fuse.index_check}
    %v = "fuse.load"(%x, %inside, %zero, %place) {at = ["i0", "d0"]} : (tensor<1024x64xf32>, i1, f32, i64) -> f32
    %r = "fuse.store"(%o, %v, %true) {at = ["d0"], mode = "set"} : (tensor<64xf32>, f32, i1) -> tensor<64xf32>
    return %r : tensor<64xf32>
  }
  func.func private @second(%x: tensor<2048x64xf32>, %at: tensor<1xi64>, %o: tensor<64xf32>) -> tensor<64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %none = arith.constant 0 : i64
    %least = arith.constant 0 : i64
    %most = arith.constant 2048 : i64
    %i = "fuse.load"(%at, %true, %none) {at = ["0"]} : (tensor<1xi64>, i1, i64) -> i64
    %not_below = arith.cmpi sge, %i, %least : i64
    %below = arith.cmpi slt, %i, %most : i64
    %inside = arith.andi %not_below, %below : i1
    cf.assert %inside, "index out of bounds" {fuse.index_check}
    %v = "fuse.load"(%x, %inside, %zero, %i) {at = ["i0", "d0"]} : (tensor<2048x64xf32>, i1, f32, i64) -> f32
    %r = "fuse.store"(%o, %v, %true) {at = ["d0"], mode = "set"} : (tensor<64xf32>, f32, i1) -> tensor<64xf32>
    return %r : tensor<64xf32>
  }
}

// -----

// Must not fire: the first kernel checks half of the indices.
// CHECK-LABEL: func.func private @second(
// CHECK: cf.assert
// SAID-NOT: implied
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<1024x64xf32>, %y: tensor<1024x64xf32>, %at: tensor<16xi64>) -> (tensor<8x64xf32>, tensor<16x64xf32>) {
    %o = "fuse.empty"() {syms = []} : () -> tensor<8x64xf32>
    %a = call @first(%x, %at, %o) : (tensor<1024x64xf32>, tensor<16xi64>, tensor<8x64xf32>) -> tensor<8x64xf32>
    %p = "fuse.empty"() {syms = []} : () -> tensor<16x64xf32>
    %b = call @second(%y, %at, %p) : (tensor<1024x64xf32>, tensor<16xi64>, tensor<16x64xf32>) -> tensor<16x64xf32>
    return %a, %b : tensor<8x64xf32>, tensor<16x64xf32>
  }
  func.func private @first(%x: tensor<1024x64xf32>, %at: tensor<16xi64>, %o: tensor<8x64xf32>) -> tensor<8x64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64", d1 = "8"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %none = arith.constant 0 : i64
    %least = arith.constant 0 : i64
    %most = arith.constant 1024 : i64
    %i = "fuse.load"(%at, %true, %none) {at = ["d1"]} : (tensor<16xi64>, i1, i64) -> i64
    %not_below = arith.cmpi sge, %i, %least : i64
    %below = arith.cmpi slt, %i, %most : i64
    %inside = arith.andi %not_below, %below : i1
    cf.assert %inside, "index out of bounds" {fuse.index_check}
    %v = "fuse.load"(%x, %inside, %zero, %i) {at = ["i0", "d0"]} : (tensor<1024x64xf32>, i1, f32, i64) -> f32
    %r = "fuse.store"(%o, %v, %true) {at = ["d1", "d0"], mode = "set"} : (tensor<8x64xf32>, f32, i1) -> tensor<8x64xf32>
    return %r : tensor<8x64xf32>
  }
  func.func private @second(%x: tensor<1024x64xf32>, %at: tensor<16xi64>, %o: tensor<16x64xf32>) -> tensor<16x64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64", d1 = "16"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %none = arith.constant 0 : i64
    %least = arith.constant 0 : i64
    %most = arith.constant 1024 : i64
    %i = "fuse.load"(%at, %true, %none) {at = ["d1"]} : (tensor<16xi64>, i1, i64) -> i64
    %not_below = arith.cmpi sge, %i, %least : i64
    %below = arith.cmpi slt, %i, %most : i64
    %inside = arith.andi %not_below, %below : i1
    cf.assert %inside, "index out of bounds" {fuse.index_check}
    %v = "fuse.load"(%x, %inside, %zero, %i) {at = ["i0", "d0"]} : (tensor<1024x64xf32>, i1, f32, i64) -> f32
    %r = "fuse.store"(%o, %v, %true) {at = ["d1", "d0"], mode = "set"} : (tensor<16x64xf32>, f32, i1) -> tensor<16x64xf32>
    return %r : tensor<16x64xf32>
  }
}

// -----

// Must not fire: the first kernel has no point, and checks nothing.
// CHECK-LABEL: func.func private @second(
// CHECK: cf.assert
// SAID-NOT: implied
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<1024x64xf32>, %y: tensor<1024x64xf32>, %at: tensor<1xi64>) -> (tensor<0x64xf32>, tensor<64xf32>) {
    %o = "fuse.empty"() {syms = []} : () -> tensor<0x64xf32>
    %a = call @first(%x, %at, %o) : (tensor<1024x64xf32>, tensor<1xi64>, tensor<0x64xf32>) -> tensor<0x64xf32>
    %p = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %b = call @second(%y, %at, %p) : (tensor<1024x64xf32>, tensor<1xi64>, tensor<64xf32>) -> tensor<64xf32>
    return %a, %b : tensor<0x64xf32>, tensor<64xf32>
  }
  func.func private @first(%x: tensor<1024x64xf32>, %at: tensor<1xi64>, %o: tensor<0x64xf32>) -> tensor<0x64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64", d1 = "0"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %none = arith.constant 0 : i64
    %least = arith.constant 0 : i64
    %most = arith.constant 1024 : i64
    %i = "fuse.load"(%at, %true, %none) {at = ["0"]} : (tensor<1xi64>, i1, i64) -> i64
    %not_below = arith.cmpi sge, %i, %least : i64
    %below = arith.cmpi slt, %i, %most : i64
    %inside = arith.andi %not_below, %below : i1
    cf.assert %inside, "index out of bounds" {fuse.index_check}
    %v = "fuse.load"(%x, %inside, %zero, %i) {at = ["i0", "d0"]} : (tensor<1024x64xf32>, i1, f32, i64) -> f32
    %r = "fuse.store"(%o, %v, %true) {at = ["d1", "d0"], mode = "set"} : (tensor<0x64xf32>, f32, i1) -> tensor<0x64xf32>
    return %r : tensor<0x64xf32>
  }
  func.func private @second(%x: tensor<1024x64xf32>, %at: tensor<1xi64>, %o: tensor<64xf32>) -> tensor<64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %none = arith.constant 0 : i64
    %least = arith.constant 0 : i64
    %most = arith.constant 1024 : i64
    %i = "fuse.load"(%at, %true, %none) {at = ["0"]} : (tensor<1xi64>, i1, i64) -> i64
    %not_below = arith.cmpi sge, %i, %least : i64
    %below = arith.cmpi slt, %i, %most : i64
    %inside = arith.andi %not_below, %below : i1
    cf.assert %inside, "index out of bounds" {fuse.index_check}
    %v = "fuse.load"(%x, %inside, %zero, %i) {at = ["i0", "d0"]} : (tensor<1024x64xf32>, i1, f32, i64) -> f32
    %r = "fuse.store"(%o, %v, %true) {at = ["d0"], mode = "set"} : (tensor<64xf32>, f32, i1) -> tensor<64xf32>
    return %r : tensor<64xf32>
  }
}

// -----

// Must not fire: what the first kernel asserts is no check of an index: its message is the user's.
// CHECK-LABEL: func.func private @second(
// CHECK: cf.assert
// SAID-NOT: implied
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<1024x64xf32>, %y: tensor<1024x64xf32>, %at: tensor<1xi64>) -> (tensor<64xf32>, tensor<64xf32>) {
    %o = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %a = call @first(%x, %at, %o) : (tensor<1024x64xf32>, tensor<1xi64>, tensor<64xf32>) -> tensor<64xf32>
    %p = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %b = call @second(%y, %at, %p) : (tensor<1024x64xf32>, tensor<1xi64>, tensor<64xf32>) -> tensor<64xf32>
    return %a, %b : tensor<64xf32>, tensor<64xf32>
  }
  func.func private @first(%x: tensor<1024x64xf32>, %at: tensor<1xi64>, %o: tensor<64xf32>) -> tensor<64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %none = arith.constant 0 : i64
    %least = arith.constant 0 : i64
    %most = arith.constant 1024 : i64
    %i = "fuse.load"(%at, %true, %none) {at = ["0"]} : (tensor<1xi64>, i1, i64) -> i64
    %not_below = arith.cmpi sge, %i, %least : i64
    %below = arith.cmpi slt, %i, %most : i64
    %inside = arith.andi %not_below, %below : i1
    cf.assert %inside, "index out of bounds"
    %v = "fuse.load"(%x, %inside, %zero, %i) {at = ["i0", "d0"]} : (tensor<1024x64xf32>, i1, f32, i64) -> f32
    %r = "fuse.store"(%o, %v, %true) {at = ["d0"], mode = "set"} : (tensor<64xf32>, f32, i1) -> tensor<64xf32>
    return %r : tensor<64xf32>
  }
  func.func private @second(%x: tensor<1024x64xf32>, %at: tensor<1xi64>, %o: tensor<64xf32>) -> tensor<64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %none = arith.constant 0 : i64
    %least = arith.constant 0 : i64
    %most = arith.constant 1024 : i64
    %i = "fuse.load"(%at, %true, %none) {at = ["0"]} : (tensor<1xi64>, i1, i64) -> i64
    %not_below = arith.cmpi sge, %i, %least : i64
    %below = arith.cmpi slt, %i, %most : i64
    %inside = arith.andi %not_below, %below : i1
    cf.assert %inside, "index out of bounds" {fuse.index_check}
    %v = "fuse.load"(%x, %inside, %zero, %i) {at = ["i0", "d0"]} : (tensor<1024x64xf32>, i1, f32, i64) -> f32
    %r = "fuse.store"(%o, %v, %true) {at = ["d0"], mode = "set"} : (tensor<64xf32>, f32, i1) -> tensor<64xf32>
    return %r : tensor<64xf32>
  }
}

// -----

// Must not fire: what the second kernel asserts is no check of an index: its message is the user's.
// CHECK-LABEL: func.func private @second(
// CHECK: cf.assert
// SAID-NOT: implied
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<1024x64xf32>, %y: tensor<1024x64xf32>, %at: tensor<1xi64>) -> (tensor<64xf32>, tensor<64xf32>) {
    %o = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %a = call @first(%x, %at, %o) : (tensor<1024x64xf32>, tensor<1xi64>, tensor<64xf32>) -> tensor<64xf32>
    %p = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %b = call @second(%y, %at, %p) : (tensor<1024x64xf32>, tensor<1xi64>, tensor<64xf32>) -> tensor<64xf32>
    return %a, %b : tensor<64xf32>, tensor<64xf32>
  }
  func.func private @first(%x: tensor<1024x64xf32>, %at: tensor<1xi64>, %o: tensor<64xf32>) -> tensor<64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %none = arith.constant 0 : i64
    %least = arith.constant 0 : i64
    %most = arith.constant 1024 : i64
    %i = "fuse.load"(%at, %true, %none) {at = ["0"]} : (tensor<1xi64>, i1, i64) -> i64
    %not_below = arith.cmpi sge, %i, %least : i64
    %below = arith.cmpi slt, %i, %most : i64
    %inside = arith.andi %not_below, %below : i1
    cf.assert %inside, "index out of bounds" {fuse.index_check}
    %v = "fuse.load"(%x, %inside, %zero, %i) {at = ["i0", "d0"]} : (tensor<1024x64xf32>, i1, f32, i64) -> f32
    %r = "fuse.store"(%o, %v, %true) {at = ["d0"], mode = "set"} : (tensor<64xf32>, f32, i1) -> tensor<64xf32>
    return %r : tensor<64xf32>
  }
  func.func private @second(%x: tensor<1024x64xf32>, %at: tensor<1xi64>, %o: tensor<64xf32>) -> tensor<64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %none = arith.constant 0 : i64
    %least = arith.constant 0 : i64
    %most = arith.constant 1024 : i64
    %i = "fuse.load"(%at, %true, %none) {at = ["0"]} : (tensor<1xi64>, i1, i64) -> i64
    %not_below = arith.cmpi sge, %i, %least : i64
    %below = arith.cmpi slt, %i, %most : i64
    %inside = arith.andi %not_below, %below : i1
    cf.assert %inside, "index out of bounds"
    %v = "fuse.load"(%x, %inside, %zero, %i) {at = ["i0", "d0"]} : (tensor<1024x64xf32>, i1, f32, i64) -> f32
    %r = "fuse.store"(%o, %v, %true) {at = ["d0"], mode = "set"} : (tensor<64xf32>, f32, i1) -> tensor<64xf32>
    return %r : tensor<64xf32>
  }
}

// -----

// Must not fire: another tensor holds the second index.
// CHECK-LABEL: func.func private @second(
// CHECK: cf.assert
// SAID-NOT: implied
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<1024x64xf32>, %y: tensor<1024x64xf32>, %at: tensor<1xi64>, %to: tensor<1xi64>) -> (tensor<64xf32>, tensor<64xf32>) {
    %o = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %a = call @first(%x, %at, %o) : (tensor<1024x64xf32>, tensor<1xi64>, tensor<64xf32>) -> tensor<64xf32>
    %p = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %b = call @second(%y, %to, %p) : (tensor<1024x64xf32>, tensor<1xi64>, tensor<64xf32>) -> tensor<64xf32>
    return %a, %b : tensor<64xf32>, tensor<64xf32>
  }
  func.func private @first(%x: tensor<1024x64xf32>, %at: tensor<1xi64>, %o: tensor<64xf32>) -> tensor<64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %none = arith.constant 0 : i64
    %least = arith.constant 0 : i64
    %most = arith.constant 1024 : i64
    %i = "fuse.load"(%at, %true, %none) {at = ["0"]} : (tensor<1xi64>, i1, i64) -> i64
    %not_below = arith.cmpi sge, %i, %least : i64
    %below = arith.cmpi slt, %i, %most : i64
    %inside = arith.andi %not_below, %below : i1
    cf.assert %inside, "index out of bounds" {fuse.index_check}
    %v = "fuse.load"(%x, %inside, %zero, %i) {at = ["i0", "d0"]} : (tensor<1024x64xf32>, i1, f32, i64) -> f32
    %r = "fuse.store"(%o, %v, %true) {at = ["d0"], mode = "set"} : (tensor<64xf32>, f32, i1) -> tensor<64xf32>
    return %r : tensor<64xf32>
  }
  func.func private @second(%x: tensor<1024x64xf32>, %at: tensor<1xi64>, %o: tensor<64xf32>) -> tensor<64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %none = arith.constant 0 : i64
    %least = arith.constant 0 : i64
    %most = arith.constant 1024 : i64
    %i = "fuse.load"(%at, %true, %none) {at = ["0"]} : (tensor<1xi64>, i1, i64) -> i64
    %not_below = arith.cmpi sge, %i, %least : i64
    %below = arith.cmpi slt, %i, %most : i64
    %inside = arith.andi %not_below, %below : i1
    cf.assert %inside, "index out of bounds" {fuse.index_check}
    %v = "fuse.load"(%x, %inside, %zero, %i) {at = ["i0", "d0"]} : (tensor<1024x64xf32>, i1, f32, i64) -> f32
    %r = "fuse.store"(%o, %v, %true) {at = ["d0"], mode = "set"} : (tensor<64xf32>, f32, i1) -> tensor<64xf32>
    return %r : tensor<64xf32>
  }
}

// -----

// Must not fire: the index is written to in between.
// CHECK-LABEL: func.func private @second(
// CHECK: cf.assert
// SAID-NOT: implied
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<1024x64xf32>, %y: tensor<1024x64xf32>, %at: tensor<1xi64>) -> (tensor<64xf32>, tensor<64xf32>) {
    %o = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %a = call @first(%x, %at, %o) : (tensor<1024x64xf32>, tensor<1xi64>, tensor<64xf32>) -> tensor<64xf32>
    call @add_one(%at) : (tensor<1xi64>) -> ()
    %p = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %b = call @second(%y, %at, %p) : (tensor<1024x64xf32>, tensor<1xi64>, tensor<64xf32>) -> tensor<64xf32>
    return %a, %b : tensor<64xf32>, tensor<64xf32>
  }
  func.func private @first(%x: tensor<1024x64xf32>, %at: tensor<1xi64>, %o: tensor<64xf32>) -> tensor<64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %none = arith.constant 0 : i64
    %least = arith.constant 0 : i64
    %most = arith.constant 1024 : i64
    %i = "fuse.load"(%at, %true, %none) {at = ["0"]} : (tensor<1xi64>, i1, i64) -> i64
    %not_below = arith.cmpi sge, %i, %least : i64
    %below = arith.cmpi slt, %i, %most : i64
    %inside = arith.andi %not_below, %below : i1
    cf.assert %inside, "index out of bounds" {fuse.index_check}
    %v = "fuse.load"(%x, %inside, %zero, %i) {at = ["i0", "d0"]} : (tensor<1024x64xf32>, i1, f32, i64) -> f32
    %r = "fuse.store"(%o, %v, %true) {at = ["d0"], mode = "set"} : (tensor<64xf32>, f32, i1) -> tensor<64xf32>
    return %r : tensor<64xf32>
  }
  func.func private @add_one(tensor<1xi64>) attributes {fuse.extern = "aten.add_.Scalar", fuse.args = [#fuse.arg<0>, 1 : i64], fuse.kwargs = {}, fuse.mutated = array<i64: 0>}
  func.func private @second(%x: tensor<1024x64xf32>, %at: tensor<1xi64>, %o: tensor<64xf32>) -> tensor<64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %none = arith.constant 0 : i64
    %least = arith.constant 0 : i64
    %most = arith.constant 1024 : i64
    %i = "fuse.load"(%at, %true, %none) {at = ["0"]} : (tensor<1xi64>, i1, i64) -> i64
    %not_below = arith.cmpi sge, %i, %least : i64
    %below = arith.cmpi slt, %i, %most : i64
    %inside = arith.andi %not_below, %below : i1
    cf.assert %inside, "index out of bounds" {fuse.index_check}
    %v = "fuse.load"(%x, %inside, %zero, %i) {at = ["i0", "d0"]} : (tensor<1024x64xf32>, i1, f32, i64) -> f32
    %r = "fuse.store"(%o, %v, %true) {at = ["d0"], mode = "set"} : (tensor<64xf32>, f32, i1) -> tensor<64xf32>
    return %r : tensor<64xf32>
  }
}

// -----

// Must not fire: how many rows the second table has is a symbol.
// CHECK-LABEL: func.func private @second(
// CHECK: cf.assert
// SAID-NOT: implied
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<1024x64xf32>, %y: tensor<?x64xf32, #fuse.layout<"s0,64", "64,1", "0", "">>, %at: tensor<1xi64>, %s0: index {fuse.sym = "s0"}) -> (tensor<64xf32>, tensor<64xf32>) {
    %o = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %a = call @first(%x, %at, %o) : (tensor<1024x64xf32>, tensor<1xi64>, tensor<64xf32>) -> tensor<64xf32>
    %p = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %b = call @second(%y, %at, %p, %s0) : (tensor<?x64xf32, #fuse.layout<"s0,64", "64,1", "0", "">>, tensor<1xi64>, tensor<64xf32>, index) -> tensor<64xf32>
    return %a, %b : tensor<64xf32>, tensor<64xf32>
  }
  func.func private @first(%x: tensor<1024x64xf32>, %at: tensor<1xi64>, %o: tensor<64xf32>) -> tensor<64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %none = arith.constant 0 : i64
    %least = arith.constant 0 : i64
    %most = arith.constant 1024 : i64
    %i = "fuse.load"(%at, %true, %none) {at = ["0"]} : (tensor<1xi64>, i1, i64) -> i64
    %not_below = arith.cmpi sge, %i, %least : i64
    %below = arith.cmpi slt, %i, %most : i64
    %inside = arith.andi %not_below, %below : i1
    cf.assert %inside, "index out of bounds" {fuse.index_check}
    %v = "fuse.load"(%x, %inside, %zero, %i) {at = ["i0", "d0"]} : (tensor<1024x64xf32>, i1, f32, i64) -> f32
    %r = "fuse.store"(%o, %v, %true) {at = ["d0"], mode = "set"} : (tensor<64xf32>, f32, i1) -> tensor<64xf32>
    return %r : tensor<64xf32>
  }
  func.func private @second(%x: tensor<?x64xf32, #fuse.layout<"s0,64", "64,1", "0", "">>, %at: tensor<1xi64>, %o: tensor<64xf32>, %s0: index {fuse.sym = "s0"}) -> tensor<64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %none = arith.constant 0 : i64
    %least = arith.constant 0 : i64
    %most = "fuse.index"() {expr = "s0"} : () -> i64
    %i = "fuse.load"(%at, %true, %none) {at = ["0"]} : (tensor<1xi64>, i1, i64) -> i64
    %not_below = arith.cmpi sge, %i, %least : i64
    %below = arith.cmpi slt, %i, %most : i64
    %inside = arith.andi %not_below, %below : i1
    cf.assert %inside, "index out of bounds" {fuse.index_check}
    %v = "fuse.load"(%x, %inside, %zero, %i) {at = ["i0", "d0"]} : (tensor<?x64xf32, #fuse.layout<"s0,64", "64,1", "0", "">>, i1, f32, i64) -> f32
    %r = "fuse.store"(%o, %v, %true) {at = ["d0"], mode = "set"} : (tensor<64xf32>, f32, i1) -> tensor<64xf32>
    return %r : tensor<64xf32>
  }
}

// -----

// Must not fire: the second kernel loads its index at some points only, and takes another number at the rest.
// CHECK-LABEL: func.func private @second(
// CHECK: cf.assert
// SAID-NOT: implied
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<1024x64xf32>, %y: tensor<1024x64xf32>, %at: tensor<1xi64>) -> (tensor<64xf32>, tensor<64xf32>) {
    %o = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %a = call @first(%x, %at, %o) : (tensor<1024x64xf32>, tensor<1xi64>, tensor<64xf32>) -> tensor<64xf32>
    %p = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %b = call @second(%y, %at, %p) : (tensor<1024x64xf32>, tensor<1xi64>, tensor<64xf32>) -> tensor<64xf32>
    return %a, %b : tensor<64xf32>, tensor<64xf32>
  }
  func.func private @first(%x: tensor<1024x64xf32>, %at: tensor<1xi64>, %o: tensor<64xf32>) -> tensor<64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %none = arith.constant 0 : i64
    %least = arith.constant 0 : i64
    %most = arith.constant 1024 : i64
    %i = "fuse.load"(%at, %true, %none) {at = ["0"]} : (tensor<1xi64>, i1, i64) -> i64
    %not_below = arith.cmpi sge, %i, %least : i64
    %below = arith.cmpi slt, %i, %most : i64
    %inside = arith.andi %not_below, %below : i1
    cf.assert %inside, "index out of bounds" {fuse.index_check}
    %v = "fuse.load"(%x, %inside, %zero, %i) {at = ["i0", "d0"]} : (tensor<1024x64xf32>, i1, f32, i64) -> f32
    %r = "fuse.store"(%o, %v, %true) {at = ["d0"], mode = "set"} : (tensor<64xf32>, f32, i1) -> tensor<64xf32>
    return %r : tensor<64xf32>
  }
  func.func private @second(%x: tensor<1024x64xf32>, %at: tensor<1xi64>, %o: tensor<64xf32>) -> tensor<64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %none = arith.constant 0 : i64
    %least = arith.constant 0 : i64
    %most = arith.constant 1024 : i64
    %d = "fuse.index"() {expr = "d0"} : () -> i64
    %half = arith.constant 32 : i64
    %guarded = arith.cmpi slt, %d, %half : i64
    %i = "fuse.load"(%at, %guarded, %none) {at = ["0"]} : (tensor<1xi64>, i1, i64) -> i64
    %not_below = arith.cmpi sge, %i, %least : i64
    %below = arith.cmpi slt, %i, %most : i64
    %inside = arith.andi %not_below, %below : i1
    cf.assert %inside, "index out of bounds" {fuse.index_check}
    %v = "fuse.load"(%x, %inside, %zero, %i) {at = ["i0", "d0"]} : (tensor<1024x64xf32>, i1, f32, i64) -> f32
    %r = "fuse.store"(%o, %v, %true) {at = ["d0"], mode = "set"} : (tensor<64xf32>, f32, i1) -> tensor<64xf32>
    return %r : tensor<64xf32>
  }
}

// -----

// Must not fire: the index is computed of floats.
// CHECK-LABEL: func.func private @first(
// CHECK: cf.assert
// CHECK-LABEL: func.func private @second(
// CHECK: cf.assert
// SAID-NOT: implied
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<1024x64xf32>, %y: tensor<1024x64xf32>, %at: tensor<1xf32>) -> (tensor<64xf32>, tensor<64xf32>) {
    %o = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %a = call @first(%x, %at, %o) : (tensor<1024x64xf32>, tensor<1xf32>, tensor<64xf32>) -> tensor<64xf32>
    %p = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %b = call @second(%y, %at, %p) : (tensor<1024x64xf32>, tensor<1xf32>, tensor<64xf32>) -> tensor<64xf32>
    return %a, %b : tensor<64xf32>, tensor<64xf32>
  }
  func.func private @first(%x: tensor<1024x64xf32>, %at: tensor<1xf32>, %o: tensor<64xf32>) -> tensor<64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %least = arith.constant 0 : i64
    %most = arith.constant 1024 : i64
    %f = "fuse.load"(%at, %true, %zero) {at = ["0"]} : (tensor<1xf32>, i1, f32) -> f32
    %i = arith.fptosi %f : f32 to i64
    %not_below = arith.cmpi sge, %i, %least : i64
    %below = arith.cmpi slt, %i, %most : i64
    %inside = arith.andi %not_below, %below : i1
    cf.assert %inside, "index out of bounds" {fuse.index_check}
    %v = "fuse.load"(%x, %inside, %zero, %i) {at = ["i0", "d0"]} : (tensor<1024x64xf32>, i1, f32, i64) -> f32
    %r = "fuse.store"(%o, %v, %true) {at = ["d0"], mode = "set"} : (tensor<64xf32>, f32, i1) -> tensor<64xf32>
    return %r : tensor<64xf32>
  }
  func.func private @second(%x: tensor<1024x64xf32>, %at: tensor<1xf32>, %o: tensor<64xf32>) -> tensor<64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %least = arith.constant 0 : i64
    %most = arith.constant 1024 : i64
    %f = "fuse.load"(%at, %true, %zero) {at = ["0"]} : (tensor<1xf32>, i1, f32) -> f32
    %i = arith.fptosi %f : f32 to i64
    %not_below = arith.cmpi sge, %i, %least : i64
    %below = arith.cmpi slt, %i, %most : i64
    %inside = arith.andi %not_below, %below : i1
    cf.assert %inside, "index out of bounds" {fuse.index_check}
    %v = "fuse.load"(%x, %inside, %zero, %i) {at = ["i0", "d0"]} : (tensor<1024x64xf32>, i1, f32, i64) -> f32
    %r = "fuse.store"(%o, %v, %true) {at = ["d0"], mode = "set"} : (tensor<64xf32>, f32, i1) -> tensor<64xf32>
    return %r : tensor<64xf32>
  }
}
