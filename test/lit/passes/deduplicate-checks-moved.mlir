// RUN: fuse-opt %s --pass-pipeline="builtin.module(deduplicate-checks,deduplicate-checks)" --split-input-file | FileCheck %s
// RUN: fuse-opt %s --pass-pipeline="builtin.module(deduplicate-checks)" --split-input-file --remarks=text 2>&1 >/dev/null | FileCheck %s --check-prefix=SAID

// A row below 0 counts from the end of the table, and is none of the caches: what the first write asserts is asserted
// where the row is looked up, behind what is asserted there.  The second write's follows from it.
// CHECK-LABEL: func.func private @first(
// CHECK: %[[INDEX:.*]] = "fuse.load"(%arg1
// CHECK: cf.assert %{{.*}}, "index out of bounds" {fuse.index_check}
// CHECK: %[[LEAST:.*]] = arith.cmpi sge, %[[INDEX]], %c0_i64
// CHECK: %[[MOST:.*]] = arith.cmpi slt, %[[INDEX]], %c2048_i64
// CHECK: %[[BOTH:.*]] = arith.andi %[[LEAST]], %[[MOST]]
// CHECK: cf.assert %[[BOTH]], "written out of bounds" {fuse.index_check}
// CHECK: "fuse.load"(%arg0
// CHECK-LABEL: func.func private @second(
// CHECK-NOT: cf.assert
// CHECK: %[[IN:.*]] = arith.andi
// CHECK-NOT: cf.assert
// CHECK: "fuse.store"(%arg1, %{{.*}}, %[[IN]]
// CHECK-LABEL: func.func private @third(
// CHECK-NOT: cf.assert
// CHECK: return
// SAID: passed: deduplicate-checks: moved, assertions=1: what @second looks up is checked by @first [second]
// SAID: passed: deduplicate-checks: implied, assertions=1: @third looks up what was checked before [third]
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<1024x64xf32>, %cache: tensor<2048x64xf32>, %other: tensor<2048x64xf32>, %at: tensor<1xi64>) -> (tensor<64xf32>, tensor<2048x64xf32>, tensor<2048x64xf32>) {
    %o = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %a = call @first(%x, %at, %o) : (tensor<1024x64xf32>, tensor<1xi64>, tensor<64xf32>) -> tensor<64xf32>
    %b = call @second(%at, %cache) : (tensor<1xi64>, tensor<2048x64xf32>) -> tensor<2048x64xf32>
    %c = call @third(%at, %other) : (tensor<1xi64>, tensor<2048x64xf32>) -> tensor<2048x64xf32>
    return %a, %b, %c : tensor<64xf32>, tensor<2048x64xf32>, tensor<2048x64xf32>
  }
  func.func private @first(%x: tensor<1024x64xf32>, %at: tensor<1xi64>, %o: tensor<64xf32>) -> tensor<64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %least = arith.constant 0 : i64
    %most = arith.constant 1024 : i64
    %i = "fuse.load"(%at, %true, %least) {at = ["0"]} : (tensor<1xi64>, i1, i64) -> i64
    %negative = arith.cmpi slt, %i, %least : i64
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
  func.func private @second(%at: tensor<1xi64>, %cache: tensor<2048x64xf32>) -> tensor<2048x64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %one = arith.constant 1.0 : f32
    %least = arith.constant 0 : i64
    %most = arith.constant 2048 : i64
    %i = "fuse.load"(%at, %true, %least) {at = ["0"]} : (tensor<1xi64>, i1, i64) -> i64
    %not_below = arith.cmpi sge, %i, %least : i64
    %below = arith.cmpi slt, %i, %most : i64
    %inside = arith.andi %not_below, %below : i1
    cf.assert %inside, "written out of bounds" {fuse.index_check}
    %r = "fuse.store"(%cache, %one, %inside, %i) {at = ["i0", "d0"], mode = "set"} : (tensor<2048x64xf32>, f32, i1, i64) -> tensor<2048x64xf32>
    return %r : tensor<2048x64xf32>
  }
  func.func private @third(%at: tensor<1xi64>, %cache: tensor<2048x64xf32>) -> tensor<2048x64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %one = arith.constant 1.0 : f32
    %least = arith.constant 0 : i64
    %most = arith.constant 2048 : i64
    %i = "fuse.load"(%at, %true, %least) {at = ["0"]} : (tensor<1xi64>, i1, i64) -> i64
    %not_below = arith.cmpi sge, %i, %least : i64
    %below = arith.cmpi slt, %i, %most : i64
    %inside = arith.andi %not_below, %below : i1
    cf.assert %inside, "another" {fuse.index_check}
    %r = "fuse.store"(%cache, %one, %inside, %i) {at = ["i0", "d0"], mode = "set"} : (tensor<2048x64xf32>, f32, i1, i64) -> tensor<2048x64xf32>
    return %r : tensor<2048x64xf32>
  }
}

// -----

// The second table has fewer rows; a copy of the first kernel asserts it, as another call looks up another index.
// CHECK-LABEL: func.func @main
// CHECK: call @first_1(%arg0, %arg2
// CHECK: call @first(%arg0, %arg3
// CHECK-LABEL: func.func private @first(
// CHECK: cf.assert
// CHECK-NOT: cf.assert
// CHECK: return
// CHECK-LABEL: func.func private @first_1(
// CHECK: cf.assert %{{.*}}, "index out of bounds"
// CHECK: arith.cmpi slt, %{{.*}}, %c1023_i64
// CHECK: cf.assert %{{.*}}, "of the second"
// CHECK-LABEL: func.func private @second(
// CHECK-NOT: cf.assert
// CHECK: return
// SAID: moved, assertions=1: what @second looks up is checked by @first_1
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<1024x64xf32>, %y: tensor<1023x64xf32>, %at: tensor<1xi64>, %to: tensor<1xi64>) -> (tensor<64xf32>, tensor<64xf32>, tensor<64xf32>) {
    %o = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %a = call @first(%x, %at, %o) : (tensor<1024x64xf32>, tensor<1xi64>, tensor<64xf32>) -> tensor<64xf32>
    %ob = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %b = call @second(%y, %at, %ob) : (tensor<1023x64xf32>, tensor<1xi64>, tensor<64xf32>) -> tensor<64xf32>
    %p = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %c = call @first(%x, %to, %p) : (tensor<1024x64xf32>, tensor<1xi64>, tensor<64xf32>) -> tensor<64xf32>
    return %a, %b, %c : tensor<64xf32>, tensor<64xf32>, tensor<64xf32>
  }
  func.func private @first(%x: tensor<1024x64xf32>, %at: tensor<1xi64>, %o: tensor<64xf32>) -> tensor<64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %least = arith.constant 0 : i64
    %most = arith.constant 1024 : i64
    %i = "fuse.load"(%at, %true, %least) {at = ["0"]} : (tensor<1xi64>, i1, i64) -> i64
    %negative = arith.cmpi slt, %i, %least : i64
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
  func.func private @second(%x: tensor<1023x64xf32>, %at: tensor<1xi64>, %o: tensor<64xf32>) -> tensor<64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %least = arith.constant 0 : i64
    %most = arith.constant 1023 : i64
    %i = "fuse.load"(%at, %true, %least) {at = ["0"]} : (tensor<1xi64>, i1, i64) -> i64
    %not_below = arith.cmpi sge, %i, %least : i64
    %below = arith.cmpi slt, %i, %most : i64
    %inside = arith.andi %not_below, %below : i1
    cf.assert %inside, "of the second" {fuse.index_check}
    %v = "fuse.load"(%x, %inside, %zero, %i) {at = ["i0", "d0"]} : (tensor<1023x64xf32>, i1, f32, i64) -> f32
    %r = "fuse.store"(%o, %v, %true) {at = ["d0"], mode = "set"} : (tensor<64xf32>, f32, i1) -> tensor<64xf32>
    return %r : tensor<64xf32>
  }
}

// -----

// Must not fire: what the program says in between is seen, whether it fails then or not.
// CHECK-LABEL: func.func private @first(
// CHECK: cf.assert
// CHECK-NOT: cf.assert
// CHECK: return
// CHECK-LABEL: func.func private @second(
// CHECK: cf.assert %{{.*}}, "written out of bounds"
// SAID-NOT: moved, assertions
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<1024x64xf32>, %cache: tensor<2048x64xf32>, %at: tensor<1xi64>) -> (tensor<64xf32>, tensor<2048x64xf32>) {
    %o = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %a = call @first(%x, %at, %o) : (tensor<1024x64xf32>, tensor<1xi64>, tensor<64xf32>) -> tensor<64xf32>
    call @said(%x) : (tensor<1024x64xf32>) -> ()
    %b = call @second(%at, %cache) : (tensor<1xi64>, tensor<2048x64xf32>) -> tensor<2048x64xf32>
    return %a, %b : tensor<64xf32>, tensor<2048x64xf32>
  }
  func.func private @first(%x: tensor<1024x64xf32>, %at: tensor<1xi64>, %o: tensor<64xf32>) -> tensor<64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %least = arith.constant 0 : i64
    %most = arith.constant 1024 : i64
    %i = "fuse.load"(%at, %true, %least) {at = ["0"]} : (tensor<1xi64>, i1, i64) -> i64
    %negative = arith.cmpi slt, %i, %least : i64
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
  func.func private @said(tensor<1024x64xf32>) attributes {fuse.extern = "aten._print.default", fuse.args = [#fuse.arg<0>], fuse.kwargs = {}, fuse.effect}
  func.func private @second(%at: tensor<1xi64>, %cache: tensor<2048x64xf32>) -> tensor<2048x64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %one = arith.constant 1.0 : f32
    %least = arith.constant 0 : i64
    %most = arith.constant 2048 : i64
    %i = "fuse.load"(%at, %true, %least) {at = ["0"]} : (tensor<1xi64>, i1, i64) -> i64
    %not_below = arith.cmpi sge, %i, %least : i64
    %below = arith.cmpi slt, %i, %most : i64
    %inside = arith.andi %not_below, %below : i1
    cf.assert %inside, "written out of bounds" {fuse.index_check}
    %r = "fuse.store"(%cache, %one, %inside, %i) {at = ["i0", "d0"], mode = "set"} : (tensor<2048x64xf32>, f32, i1, i64) -> tensor<2048x64xf32>
    return %r : tensor<2048x64xf32>
  }
}

// -----

// Must not fire: the caller's memory is written to in between.
// CHECK-LABEL: func.func private @first(
// CHECK: cf.assert
// CHECK-NOT: cf.assert
// CHECK: return
// CHECK-LABEL: func.func private @second(
// CHECK: cf.assert %{{.*}}, "written out of bounds"
// SAID-NOT: moved, assertions
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<1024x64xf32>, %cache: tensor<2048x64xf32>, %other: tensor<1024x64xf32>, %at: tensor<1xi64>) -> (tensor<64xf32>, tensor<2048x64xf32>, tensor<1024x64xf32>) {
    %o = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %a = call @first(%x, %at, %o) : (tensor<1024x64xf32>, tensor<1xi64>, tensor<64xf32>) -> tensor<64xf32>
    %w = call @fill(%other) : (tensor<1024x64xf32>) -> tensor<1024x64xf32>
    %b = call @second(%at, %cache) : (tensor<1xi64>, tensor<2048x64xf32>) -> tensor<2048x64xf32>
    return %a, %b, %w : tensor<64xf32>, tensor<2048x64xf32>, tensor<1024x64xf32>
  }
  func.func private @first(%x: tensor<1024x64xf32>, %at: tensor<1xi64>, %o: tensor<64xf32>) -> tensor<64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %least = arith.constant 0 : i64
    %most = arith.constant 1024 : i64
    %i = "fuse.load"(%at, %true, %least) {at = ["0"]} : (tensor<1xi64>, i1, i64) -> i64
    %negative = arith.cmpi slt, %i, %least : i64
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
  func.func private @fill(%x: tensor<1024x64xf32>) -> tensor<1024x64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64", d1 = "1024"}, fuse.ties = array<i64: 0>} {
    %true = arith.constant true
    %one = arith.constant 1.0 : f32
    %r = "fuse.store"(%x, %one, %true) {at = ["d1", "d0"], mode = "set"} : (tensor<1024x64xf32>, f32, i1) -> tensor<1024x64xf32>
    return %r : tensor<1024x64xf32>
  }
  func.func private @second(%at: tensor<1xi64>, %cache: tensor<2048x64xf32>) -> tensor<2048x64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %one = arith.constant 1.0 : f32
    %least = arith.constant 0 : i64
    %most = arith.constant 2048 : i64
    %i = "fuse.load"(%at, %true, %least) {at = ["0"]} : (tensor<1xi64>, i1, i64) -> i64
    %not_below = arith.cmpi sge, %i, %least : i64
    %below = arith.cmpi slt, %i, %most : i64
    %inside = arith.andi %not_below, %below : i1
    cf.assert %inside, "written out of bounds" {fuse.index_check}
    %r = "fuse.store"(%cache, %one, %inside, %i) {at = ["i0", "d0"], mode = "set"} : (tensor<2048x64xf32>, f32, i1, i64) -> tensor<2048x64xf32>
    return %r : tensor<2048x64xf32>
  }
}

// -----

// Must not fire: a program of which something else is wrong, too, says that first.
// CHECK-LABEL: func.func private @first(
// CHECK: cf.assert
// CHECK-NOT: cf.assert
// CHECK: return
// CHECK-LABEL: func.func private @second(
// CHECK: cf.assert %{{.*}}, "written out of bounds"
// SAID-NOT: moved, assertions
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<1024x64xf32>, %cache: tensor<2048x64xf32>, %at: tensor<1xi64>) -> (tensor<64xf32>, tensor<2048x64xf32>, tensor<1024x64xf32>) {
    %o = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %a = call @first(%x, %at, %o) : (tensor<1024x64xf32>, tensor<1xi64>, tensor<64xf32>) -> tensor<64xf32>
    %e = "fuse.empty"() {syms = []} : () -> tensor<1024x64xf32>
    %w = call @theirs(%e) : (tensor<1024x64xf32>) -> tensor<1024x64xf32>
    %b = call @second(%at, %cache) : (tensor<1xi64>, tensor<2048x64xf32>) -> tensor<2048x64xf32>
    return %a, %b, %w : tensor<64xf32>, tensor<2048x64xf32>, tensor<1024x64xf32>
  }
  func.func private @first(%x: tensor<1024x64xf32>, %at: tensor<1xi64>, %o: tensor<64xf32>) -> tensor<64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %least = arith.constant 0 : i64
    %most = arith.constant 1024 : i64
    %i = "fuse.load"(%at, %true, %least) {at = ["0"]} : (tensor<1xi64>, i1, i64) -> i64
    %negative = arith.cmpi slt, %i, %least : i64
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
  func.func private @theirs(%x: tensor<1024x64xf32>) -> tensor<1024x64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64", d1 = "1024"}, fuse.ties = array<i64: 0>} {
    %true = arith.constant true
    %one = arith.constant 1.0 : f32
    %f = "fuse.load"(%x, %true, %one) {at = ["d1", "d0"]} : (tensor<1024x64xf32>, i1, f32) -> f32
    %c = arith.cmpf oge, %f, %one : f32
    cf.assert %c, "theirs"
    %r = "fuse.store"(%x, %one, %true) {at = ["d1", "d0"], mode = "set"} : (tensor<1024x64xf32>, f32, i1) -> tensor<1024x64xf32>
    return %r : tensor<1024x64xf32>
  }
  func.func private @second(%at: tensor<1xi64>, %cache: tensor<2048x64xf32>) -> tensor<2048x64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %one = arith.constant 1.0 : f32
    %least = arith.constant 0 : i64
    %most = arith.constant 2048 : i64
    %i = "fuse.load"(%at, %true, %least) {at = ["0"]} : (tensor<1xi64>, i1, i64) -> i64
    %not_below = arith.cmpi sge, %i, %least : i64
    %below = arith.cmpi slt, %i, %most : i64
    %inside = arith.andi %not_below, %below : i1
    cf.assert %inside, "written out of bounds" {fuse.index_check}
    %r = "fuse.store"(%cache, %one, %inside, %i) {at = ["i0", "d0"], mode = "set"} : (tensor<2048x64xf32>, f32, i1, i64) -> tensor<2048x64xf32>
    return %r : tensor<2048x64xf32>
  }
}

// -----

// Must not fire: the second kernel asserts something else first.
// CHECK-LABEL: func.func private @first(
// CHECK: cf.assert
// CHECK-NOT: cf.assert
// CHECK: return
// CHECK-LABEL: func.func private @second(
// CHECK: cf.assert %{{.*}}, "written out of bounds"
// SAID-NOT: moved, assertions
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<1024x64xf32>, %cache: tensor<2048x64xf32>, %at: tensor<1xi64>) -> (tensor<64xf32>, tensor<2048x64xf32>) {
    %o = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %a = call @first(%x, %at, %o) : (tensor<1024x64xf32>, tensor<1xi64>, tensor<64xf32>) -> tensor<64xf32>
    %b = call @second(%at, %cache) : (tensor<1xi64>, tensor<2048x64xf32>) -> tensor<2048x64xf32>
    return %a, %b : tensor<64xf32>, tensor<2048x64xf32>
  }
  func.func private @first(%x: tensor<1024x64xf32>, %at: tensor<1xi64>, %o: tensor<64xf32>) -> tensor<64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %least = arith.constant 0 : i64
    %most = arith.constant 1024 : i64
    %i = "fuse.load"(%at, %true, %least) {at = ["0"]} : (tensor<1xi64>, i1, i64) -> i64
    %negative = arith.cmpi slt, %i, %least : i64
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
  func.func private @second(%at: tensor<1xi64>, %cache: tensor<2048x64xf32>) -> tensor<2048x64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %one = arith.constant 1.0 : f32
    %least = arith.constant 0 : i64
    %most = arith.constant 2048 : i64
    %i = "fuse.load"(%at, %true, %least) {at = ["0"]} : (tensor<1xi64>, i1, i64) -> i64
    %not_below = arith.cmpi sge, %i, %least : i64
    %below = arith.cmpi slt, %i, %most : i64
    %inside = arith.andi %not_below, %below : i1
    cf.assert %below, "theirs"
    cf.assert %inside, "written out of bounds" {fuse.index_check}
    %r = "fuse.store"(%cache, %one, %inside, %i) {at = ["i0", "d0"], mode = "set"} : (tensor<2048x64xf32>, f32, i1, i64) -> tensor<2048x64xf32>
    return %r : tensor<2048x64xf32>
  }
}

// -----

// Must not fire: the second kernel checks half of the indices: the others may be below 0.
// CHECK-LABEL: func.func private @first(
// CHECK: cf.assert
// CHECK-NOT: cf.assert
// CHECK: return
// CHECK-LABEL: func.func private @second(
// CHECK: cf.assert %{{.*}}, "written out of bounds"
// SAID-NOT: moved, assertions
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<1024x64xf32>, %y: tensor<2048x64xf32>, %at: tensor<16xi64>) -> (tensor<16x64xf32>, tensor<8x64xf32>) {
    %o = "fuse.empty"() {syms = []} : () -> tensor<16x64xf32>
    %a = call @first(%x, %at, %o) : (tensor<1024x64xf32>, tensor<16xi64>, tensor<16x64xf32>) -> tensor<16x64xf32>
    %p = "fuse.empty"() {syms = []} : () -> tensor<8x64xf32>
    %b = call @second(%y, %at, %p) : (tensor<2048x64xf32>, tensor<16xi64>, tensor<8x64xf32>) -> tensor<8x64xf32>
    return %a, %b : tensor<16x64xf32>, tensor<8x64xf32>
  }
  func.func private @first(%x: tensor<1024x64xf32>, %at: tensor<16xi64>, %o: tensor<16x64xf32>) -> tensor<16x64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64", d1 = "16"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %least = arith.constant 0 : i64
    %most = arith.constant 1024 : i64
    %i = "fuse.load"(%at, %true, %least) {at = ["d1"]} : (tensor<16xi64>, i1, i64) -> i64
    %negative = arith.cmpi slt, %i, %least : i64
    %from_end = arith.addi %i, %most : i64
    %place = arith.select %negative, %from_end, %i : i64
    %not_below = arith.cmpi sge, %place, %least : i64
    %below = arith.cmpi slt, %place, %most : i64
    %inside = arith.andi %not_below, %below : i1
    cf.assert %inside, "index out of bounds" {fuse.index_check}
    %v = "fuse.load"(%x, %inside, %zero, %place) {at = ["i0", "d0"]} : (tensor<1024x64xf32>, i1, f32, i64) -> f32
    %r = "fuse.store"(%o, %v, %true) {at = ["d1", "d0"], mode = "set"} : (tensor<16x64xf32>, f32, i1) -> tensor<16x64xf32>
    return %r : tensor<16x64xf32>
  }
  func.func private @second(%x: tensor<2048x64xf32>, %at: tensor<16xi64>, %o: tensor<8x64xf32>) -> tensor<8x64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64", d1 = "8"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %least = arith.constant 0 : i64
    %most = arith.constant 2048 : i64
    %i = "fuse.load"(%at, %true, %least) {at = ["d1"]} : (tensor<16xi64>, i1, i64) -> i64
    %not_below = arith.cmpi sge, %i, %least : i64
    %below = arith.cmpi slt, %i, %most : i64
    %inside = arith.andi %not_below, %below : i1
    cf.assert %inside, "written out of bounds" {fuse.index_check}
    %v = "fuse.load"(%x, %inside, %zero, %i) {at = ["i0", "d0"]} : (tensor<2048x64xf32>, i1, f32, i64) -> f32
    %r = "fuse.store"(%o, %v, %true) {at = ["d1", "d0"], mode = "set"} : (tensor<8x64xf32>, f32, i1) -> tensor<8x64xf32>
    return %r : tensor<8x64xf32>
  }
}
