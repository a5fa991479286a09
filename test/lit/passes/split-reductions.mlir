// RUN: fuse-opt %s --pass-pipeline="builtin.module(split-reductions{hardware=h200})" --split-input-file | FileCheck %s
// RUN: fuse-opt %s --pass-pipeline="builtin.module(split-reductions{hardware=h200})" --split-input-file --remarks=text -o %t 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: not fuse-opt %s --pass-pipeline="builtin.module(split-reductions{hardware=abacus})" --split-input-file 2>&1 | FileCheck %s --check-prefix=BAD

// BAD: split-reductions: unknown hardware 'abacus': expected one of a100,

// A whole tensor: 256 slices of 16 KB, then one kernel that adds them in order.
// CHECK-LABEL: func.func @main
// CHECK: %[[W:.*]] = "fuse.empty"() {syms = []} : () -> tensor<256xf32>
// CHECK: %[[P:.*]] = call @total_slices(%{{.*}}, %[[W]])
// CHECK: call @total_rest(%[[O:.*]], %[[P]])
// CHECK: func.func private @total_slices
// CHECK-SAME: fuse.dims = {d0 = "4096", d1 = "256"}
// CHECK: "fuse.load"(%{{.*}}) {at = ["d0 + d1*4096"]}
// CHECK: "fuse.reduce"(%{{.*}}) {kind = "sum", over = ["d0"]}
// CHECK: "fuse.store"(%{{.*}}) {at = ["d1"], mode = "set"}
// CHECK: func.func private @total_rest
// CHECK-SAME: fuse.dims = {d1 = "256"}
// CHECK: "fuse.reduce"(%{{.*}}) {kind = "sum", over = ["d1"]}
// CHECK-NOT: @total(
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<1048576xf32>) -> tensor<f32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<f32>
    %y = call @total(%x, %o) : (tensor<1048576xf32>, tensor<f32>) -> tensor<f32>
    return %y : tensor<f32>
  }
  func.func private @total(%x: tensor<1048576xf32>, %o: tensor<f32>) -> tensor<f32>
      attributes {fuse.kernel, fuse.dims = {d0 = "1048576"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<1048576xf32>, i1, f32) -> f32
    %s = "fuse.reduce"(%v) {kind = "sum", over = ["d0"]} : (f32) -> f32
    %r = "fuse.store"(%o, %s, %true) {at = [], mode = "set"} : (tensor<f32>, f32, i1) -> tensor<f32>
    return %r : tensor<f32>
  }
}

// -----

// The result is used along the reduced dim again: slices, their combination, the rest.  A length without a divisor near is guarded.
// CHECK-LABEL: func.func @main
// CHECK: call @centre_slices
// CHECK: call @centre_combine
// CHECK: call @centre_rest
// CHECK: func.func private @centre_slices
// CHECK: %[[I:.*]] = arith.cmpi slt
// CHECK: %[[G:.*]] = arith.andi %{{.*}}, %[[I]]
// CHECK: "fuse.load"(%{{.*}}, %[[G]],
// CHECK: %[[V:.*]] = arith.select %[[I]]
// CHECK: "fuse.reduce"(%[[V]])
// CHECK: func.func private @centre_combine
// CHECK: func.func private @centre_rest
// CHECK-SAME: fuse.dims = {d0 = "65537"}
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<65537xf32>) -> tensor<65537xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<65537xf32>
    %y = call @centre(%x, %o) : (tensor<65537xf32>, tensor<65537xf32>) -> tensor<65537xf32>
    return %y : tensor<65537xf32>
  }
  func.func private @centre(%x: tensor<65537xf32>, %o: tensor<65537xf32>) -> tensor<65537xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "65537"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<65537xf32>, i1, f32) -> f32
    %s = "fuse.reduce"(%v) {kind = "sum", over = ["d0"]} : (f32) -> f32
    %d = arith.subf %v, %s : f32
    %r = "fuse.store"(%o, %d, %true) {at = ["d0"], mode = "set"} : (tensor<65537xf32>, f32, i1) -> tensor<65537xf32>
    return %r : tensor<65537xf32>
  }
}

// -----

// The slices store the sum of two tensors: the rest reads the sum, where both were read again.
// CHECK-LABEL: func.func @main
// CHECK: %[[S:[0-9]+]]:2 = call @sums_slices
// CHECK: call @sums_rest(%[[S]]#0
// CHECK: func.func private @sums_slices
// CHECK: %[[G:.*]] = arith.addf
// CHECK: "fuse.store"(%{{.*}}, %[[G]],
// CHECK: func.func private @sums_rest
// CHECK: "fuse.load"(%{{.*}}) {at = []}
// CHECK: "fuse.load"(%{{.*}}) {at = ["d0"]}
// CHECK-NOT: "fuse.load"
// CHECK: arith.subf
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<65536xf32>, %z: tensor<65536xf32>) -> (tensor<65536xf32>, tensor<65536xf32>) {
    %p = "fuse.empty"() {syms = []} : () -> tensor<65536xf32>
    %o = "fuse.empty"() {syms = []} : () -> tensor<65536xf32>
    %r:2 = call @sums(%x, %z, %p, %o) : (tensor<65536xf32>, tensor<65536xf32>, tensor<65536xf32>, tensor<65536xf32>) -> (tensor<65536xf32>, tensor<65536xf32>)
    return %r#0, %r#1 : tensor<65536xf32>, tensor<65536xf32>
  }
  func.func private @sums(%x: tensor<65536xf32>, %z: tensor<65536xf32>, %p: tensor<65536xf32>, %o: tensor<65536xf32>) -> (tensor<65536xf32>, tensor<65536xf32>)
      attributes {fuse.kernel, fuse.dims = {d0 = "65536"}, fuse.ties = array<i64: 2, 3>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<65536xf32>, i1, f32) -> f32
    %w = "fuse.load"(%z, %true, %zero) {at = ["d0"]} : (tensor<65536xf32>, i1, f32) -> f32
    %g = arith.addf %v, %w : f32
    %a = "fuse.store"(%p, %g, %true) {at = ["d0"], mode = "set"} : (tensor<65536xf32>, f32, i1) -> tensor<65536xf32>
    %s = "fuse.reduce"(%g) {kind = "sum", over = ["d0"]} : (f32) -> f32
    %d = arith.subf %g, %s : f32
    %b = "fuse.store"(%o, %d, %true) {at = ["d0"], mode = "set"} : (tensor<65536xf32>, f32, i1) -> tensor<65536xf32>
    return %a, %b : tensor<65536xf32>, tensor<65536xf32>
  }
}

// -----

// Must not fire: 4096 rows are programs enough.
// CHECK-LABEL: func.func @main
// CHECK: call @rows(
// CHECK-NOT: _slices
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<4096x65536xf32>) -> tensor<4096xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<4096xf32>
    %y = call @rows(%x, %o) : (tensor<4096x65536xf32>, tensor<4096xf32>) -> tensor<4096xf32>
    return %y : tensor<4096xf32>
  }
  func.func private @rows(%x: tensor<4096x65536xf32>, %o: tensor<4096xf32>) -> tensor<4096xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "4096", d1 = "65536"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<4096x65536xf32>, i1, f32) -> f32
    %s = "fuse.reduce"(%v) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d0"], mode = "set"} : (tensor<4096xf32>, f32, i1) -> tensor<4096xf32>
    return %r : tensor<4096xf32>
  }
}

// -----

// Must not fire: each multiprocessor has one of 160 rows, and the second visit finds all of them in the cache.
// CHECK-LABEL: func.func @main
// CHECK: call @cached(
// CHECK-NOT: _slices
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<160x40960xf32>) -> tensor<160x40960xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<160x40960xf32>
    %y = call @cached(%x, %o) : (tensor<160x40960xf32>, tensor<160x40960xf32>) -> tensor<160x40960xf32>
    return %y : tensor<160x40960xf32>
  }
  func.func private @cached(%x: tensor<160x40960xf32>, %o: tensor<160x40960xf32>) -> tensor<160x40960xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "160", d1 = "40960"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<160x40960xf32>, i1, f32) -> f32
    %s = "fuse.reduce"(%v) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %w = arith.divf %v, %s : f32
    %r = "fuse.store"(%o, %w, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<160x40960xf32>, f32, i1) -> tensor<160x40960xf32>
    return %r : tensor<160x40960xf32>
  }
}

// -----

// 160 rows of 80 MB are not in the cache when they are visited again.
// CHECK-LABEL: func.func @main
// CHECK: call @beyond_slices
// CHECK: call @beyond_rest
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<160x131072xf32>) -> tensor<160x131072xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<160x131072xf32>
    %y = call @beyond(%x, %o) : (tensor<160x131072xf32>, tensor<160x131072xf32>) -> tensor<160x131072xf32>
    return %y : tensor<160x131072xf32>
  }
  func.func private @beyond(%x: tensor<160x131072xf32>, %o: tensor<160x131072xf32>) -> tensor<160x131072xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "160", d1 = "131072"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<160x131072xf32>, i1, f32) -> f32
    %s = "fuse.reduce"(%v) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %w = arith.divf %v, %s : f32
    %r = "fuse.store"(%o, %w, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<160x131072xf32>, f32, i1) -> tensor<160x131072xf32>
    return %r : tensor<160x131072xf32>
  }
}

// -----

// 100 rows leave multiprocessors without one.
// CHECK-LABEL: func.func @main
// CHECK: call @fewer_slices
// CHECK: call @fewer_rest
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<100x40960xf32>) -> tensor<100x40960xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<100x40960xf32>
    %y = call @fewer(%x, %o) : (tensor<100x40960xf32>, tensor<100x40960xf32>) -> tensor<100x40960xf32>
    return %y : tensor<100x40960xf32>
  }
  func.func private @fewer(%x: tensor<100x40960xf32>, %o: tensor<100x40960xf32>) -> tensor<100x40960xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "100", d1 = "40960"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<100x40960xf32>, i1, f32) -> f32
    %s = "fuse.reduce"(%v) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %w = arith.divf %v, %s : f32
    %r = "fuse.store"(%o, %w, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<100x40960xf32>, f32, i1) -> tensor<100x40960xf32>
    return %r : tensor<100x40960xf32>
  }
}

// -----

// The means of slices are folded as a row is: equal ones are their mean.
// CHECK-LABEL: func.func @main
// CHECK: call @spread_slices
// CHECK: call @spread_rest
// CHECK-LABEL: func.func private @spread_slices
// CHECK: "fuse.welford"(
// CHECK-LABEL: func.func private @spread_rest
// CHECK: %[[MEAN:.*]] = "fuse.load"
// CHECK: %[[M2:.*]] = "fuse.load"
// CHECK: %[[W:.*]]:2 = "fuse.welford"(%[[MEAN]])
// CHECK: %[[BETWEEN:.*]] = arith.mulf %[[W]]#1, %
// CHECK: %[[WITHIN:.*]] = "fuse.reduce"(%[[M2]])
// CHECK: arith.addf %[[WITHIN]], %[[BETWEEN]]
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<1048576xf32>) -> tensor<f32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<f32>
    %y = call @spread(%x, %o) : (tensor<1048576xf32>, tensor<f32>) -> tensor<f32>
    return %y : tensor<f32>
  }
  func.func private @spread(%x: tensor<1048576xf32>, %o: tensor<f32>) -> tensor<f32>
      attributes {fuse.kernel, fuse.dims = {d0 = "1048576"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<1048576xf32>, i1, f32) -> f32
    %w:2 = "fuse.welford"(%v) {over = ["d0"]} : (f32) -> (f32, f32)
    %t = arith.mulf %w#0, %w#1 : f32
    %r = "fuse.store"(%o, %t, %true) {at = [], mode = "set"} : (tensor<f32>, f32, i1) -> tensor<f32>
    return %r : tensor<f32>
  }
}

// -----

// Slices need not be equally long: points behind the end of a prime number of them count 0 times, and means by the
// number of their points.
// CHECK-LABEL: func.func private @prime_slices
// CHECK-SAME: fuse.dims = {d0 = "8192", d1 = "128"}
// CHECK: %[[INSIDE:.*]] = arith.cmpi slt
// CHECK: %[[COUNTS:.*]] = arith.select %[[INSIDE]], %cst{{.*}}, %cst{{.*}} : f32
// CHECK: "fuse.welford"(%{{.*}}, %[[COUNTS]]) {over = ["d0"]} : (f32, f32) -> (f32, f32)
// CHECK-LABEL: func.func private @prime_rest
// CHECK: %[[MEAN:.*]] = "fuse.load"
// CHECK: %[[M2:.*]] = "fuse.load"
// CHECK: "fuse.index"() {expr = "-d1*8192 + 1048573"} : () -> i64
// CHECK: arith.minsi
// CHECK: %[[LEFT:.*]] = arith.maxsi
// CHECK: arith.sitofp %[[LEFT]]
// CHECK: %[[POINTS:.*]] = arith.mulf
// CHECK: %[[W:.*]]:2 = "fuse.welford"(%[[MEAN]], %[[POINTS]])
// CHECK: %[[SOME:.*]] = arith.cmpf ogt, %[[POINTS]]
// CHECK: %[[KNOWN:.*]] = arith.select %[[SOME]], %[[M2]]
// CHECK: %[[WITHIN:.*]] = "fuse.reduce"(%[[KNOWN]])
// CHECK: arith.addf %[[WITHIN]], %[[W]]#1
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<1048573xf32>) -> tensor<f32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<f32>
    %y = call @prime(%x, %o) : (tensor<1048573xf32>, tensor<f32>) -> tensor<f32>
    return %y : tensor<f32>
  }
  func.func private @prime(%x: tensor<1048573xf32>, %o: tensor<f32>) -> tensor<f32>
      attributes {fuse.kernel, fuse.dims = {d0 = "1048573"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<1048573xf32>, i1, f32) -> f32
    %w:2 = "fuse.welford"(%v) {over = ["d0"]} : (f32) -> (f32, f32)
    %t = arith.mulf %w#0, %w#1 : f32
    %r = "fuse.store"(%o, %t, %true) {at = [], mode = "set"} : (tensor<f32>, f32, i1) -> tensor<f32>
    return %r : tensor<f32>
  }
}

// -----

// Must not fire: how often the points of a slice count is not stored beside its mean.
// CHECK-LABEL: func.func @main
// CHECK: call @weighted(
// CHECK-NOT: _slices
// REMARK: missed: split-reductions: weights: @weighted: the sums of the weights of slices would have to be stored beside them
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<1048576xf32>) -> tensor<f32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<f32>
    %y = call @weighted(%x, %o) : (tensor<1048576xf32>, tensor<f32>) -> tensor<f32>
    return %y : tensor<f32>
  }
  func.func private @weighted(%x: tensor<1048576xf32>, %o: tensor<f32>) -> tensor<f32>
      attributes {fuse.kernel, fuse.dims = {d0 = "1048576"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<1048576xf32>, i1, f32) -> f32
    %a = math.absf %v : f32
    %w:2 = "fuse.welford"(%v, %a) {over = ["d0"]} : (f32, f32) -> (f32, f32)
    %r = "fuse.store"(%o, %w#1, %true) {at = [], mode = "set"} : (tensor<f32>, f32, i1) -> tensor<f32>
    return %r : tensor<f32>
  }
}

// -----

// A size is known by its hint in @main alone: 1024 slices of at most 1/1024 of a vector of unknown length.
// CHECK-LABEL: func.func @main
// CHECK: call @unknown_slices
// CHECK: func.func private @unknown_slices
// CHECK-SAME: fuse.dims = {d0 = "(s0 + 1023) floordiv 1024", d1 = "1024"}
module attributes {fuse.device = "cpu"} {
  func.func @main(%s0: index {fuse.sym = "s0", fuse.hint = 134217728 : i64}, %x: tensor<?xf32, #fuse.layout<"s0", "1", "0", "">>) -> tensor<f32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<f32>
    %y = call @unknown(%x, %o, %s0) : (tensor<?xf32, #fuse.layout<"s0", "1", "0", "">>, tensor<f32>, index) -> tensor<f32>
    return %y : tensor<f32>
  }
  func.func private @unknown(%x: tensor<?xf32, #fuse.layout<"s0", "1", "0", "">>, %o: tensor<f32>, %s0: index {fuse.sym = "s0"}) -> tensor<f32>
      attributes {fuse.kernel, fuse.dims = {d0 = "s0"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<?xf32, #fuse.layout<"s0", "1", "0", "">>, i1, f32) -> f32
    %s = "fuse.reduce"(%v) {kind = "sum", over = ["d0"]} : (f32) -> f32
    %r = "fuse.store"(%o, %s, %true) {at = [], mode = "set"} : (tensor<f32>, f32, i1) -> tensor<f32>
    return %r : tensor<f32>
  }
}

// -----

// Must not fire: without a hint a size counts as 1024, which is too short for slices.
// CHECK-LABEL: func.func @main
// CHECK: call @unhinted(
// CHECK-NOT: _slices
module attributes {fuse.device = "cpu"} {
  func.func @main(%s0: index {fuse.sym = "s0"}, %x: tensor<?xf32, #fuse.layout<"s0", "1", "0", "">>) -> tensor<f32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<f32>
    %y = call @unhinted(%x, %o, %s0) : (tensor<?xf32, #fuse.layout<"s0", "1", "0", "">>, tensor<f32>, index) -> tensor<f32>
    return %y : tensor<f32>
  }
  func.func private @unhinted(%x: tensor<?xf32, #fuse.layout<"s0", "1", "0", "">>, %o: tensor<f32>, %s0: index {fuse.sym = "s0"}) -> tensor<f32>
      attributes {fuse.kernel, fuse.dims = {d0 = "s0"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<?xf32, #fuse.layout<"s0", "1", "0", "">>, i1, f32) -> f32
    %s = "fuse.reduce"(%v) {kind = "sum", over = ["d0"]} : (f32) -> f32
    %r = "fuse.store"(%o, %s, %true) {at = [], mode = "set"} : (tensor<f32>, f32, i1) -> tensor<f32>
    return %r : tensor<f32>
  }
}

// -----

// Two calls share a kernel: each gets slices of its own.
// CHECK-LABEL: func.func @main
// CHECK: call @total_1_slices(%{{.*}}, %{{.*}})
// CHECK-NEXT: call @total_1_rest(
// CHECK: call @total_slices(%{{.*}}, %{{.*}})
// CHECK-NEXT: call @total_rest(
// CHECK-NOT: @total(
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<1048576xf32>, %z: tensor<1048576xf32>) -> (tensor<f32>, tensor<f32>) {
    %o = "fuse.empty"() {syms = []} : () -> tensor<f32>
    %y = call @total(%x, %o) : (tensor<1048576xf32>, tensor<f32>) -> tensor<f32>
    %p = "fuse.empty"() {syms = []} : () -> tensor<f32>
    %w = call @total(%z, %p) : (tensor<1048576xf32>, tensor<f32>) -> tensor<f32>
    return %y, %w : tensor<f32>, tensor<f32>
  }
  func.func private @total(%x: tensor<1048576xf32>, %o: tensor<f32>) -> tensor<f32> attributes {fuse.kernel, fuse.dims = {d0 = "1048576"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<1048576xf32>, i1, f32) -> f32
    %s = "fuse.reduce"(%v) {kind = "sum", over = ["d0"]} : (f32) -> f32
    %r = "fuse.store"(%o, %s, %true) {at = [], mode = "set"} : (tensor<f32>, f32, i1) -> tensor<f32>
    return %r : tensor<f32>
  }
}
