// RUN: fuse-opt %s --pass-pipeline="builtin.module(choose-tiling,apply-tiling,combine-launches{hardware=h200})" --split-input-file | FileCheck %s
// RUN: fuse-opt %s --pass-pipeline="builtin.module(choose-tiling,apply-tiling,combine-launches{hardware=h200})" --split-input-file --remarks=text -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: fuse-opt %s --pass-pipeline="builtin.module(choose-tiling,apply-tiling,combine-launches{hardware=h200})" --split-input-file --remarks=text --sort=cost -o %t 2>&1 | FileCheck %s --check-prefix=COST
// RUN: not fuse-opt %s --pass-pipeline="builtin.module(combine-launches{hardware=abacus})" --split-input-file 2>&1 | FileCheck %s --check-prefix=BAD
// RUN: not fuse-opt %s --pass-pipeline="builtin.module(choose-tiling,apply-tiling,plan-memory,combine-launches)" --split-input-file 2>&1 | FileCheck %s --check-prefix=LATE
// RUN: fuse-opt %s --pass-pipeline="builtin.module(choose-tiling,combine-launches{hardware=h200})" --split-input-file | FileCheck %s --check-prefix=SCALAR

// COST: 2.00 us, 0 bytes: missed: combine-launches: peak-memory

// BAD: combine-launches: unknown hardware 'abacus': expected one of a100,
// LATE: combine-launches: memory is planned already: found fuse.alloc

// Two calls of one kernel and one of another: the code of each kernel is there once.
// CHECK-LABEL: func.func @main
// CHECK: %[[R:.*]]:3 = call @combined_scale(%[[X:.*]], %[[A:.*]], %[[O:.*]], %[[P:.*]], %[[C:.*]], %[[Q:.*]]) :
// CHECK-NEXT: return %[[R]]#0, %[[R]]#1, %[[R]]#2
// CHECK: func.func private @combined_scale(%[[X:.*]]: tensor<1000xf32>, %[[A:.*]]: tensor<1000xf32>, %[[O:.*]]: tensor<1000xf32>, %[[P:.*]]: tensor<1000xf32>, %[[C:.*]]: tensor<300xf32>, %[[Q:.*]]: tensor<300xf32>)
// CHECK-SAME: fuse.grid = ["19"]
// CHECK-SAME: fuse.ties = array<i64: 2, 3, 5>
// CHECK-SAME: fuse.tile = {axes = [], num_stages = 1 : i64, num_warps = 4 : i64}
// CHECK-DAG: %[[CB:.*]] = "fuse.base"(%[[C]])
// CHECK-DAG: %[[QB:.*]] = "fuse.base"(%[[Q]])
// CHECK: %[[N:.*]] = "tt.get_program_id"() {axis = 0 : i32}
// CHECK: %[[END:.*]] = arith.constant 16 : i32
// CHECK: %[[FIRST:.*]] = arith.cmpi slt, %[[N]], %[[END]]
// CHECK: scf.if %[[FIRST]]
// CHECK: %[[EIGHT:.*]] = arith.constant 8 : i32
// CHECK: %[[WHO:.*]] = arith.divsi %[[N]], %[[EIGHT]]
// CHECK: %[[ID:.*]] = arith.remsi %[[N]], %[[EIGHT]]
// CHECK: "fuse.base_of"(%[[WHO]], %[[X]], %[[A]])
// CHECK: "fuse.base_of"(%[[WHO]], %[[O]], %[[P]])
// CHECK: arith.mulf %{{.*}} : tensor<128xf32>
// CHECK-NOT: arith.mulf
// CHECK: } else {
// CHECK: arith.subi %[[N]], %[[END]]
// CHECK: "tt.addptr"(%[[CB]],
// CHECK: arith.addf
// CHECK: "tt.addptr"(%[[QB]],
// CHECK: return %[[O]], %[[P]], %[[Q]]
// CHECK-NOT: @scale
// Scalar code that has a tile is no tile code yet.
// SCALAR-LABEL: func.func @main
// SCALAR: call @scale
// SCALAR: call @scale
// SCALAR: call @shift
// SCALAR-NOT: combined
// REMARK: passed: combine-launches: combined, kernels=2, programs=19: one launch instead of 3 [scale + scale + shift]
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<1000xf32>, %a: tensor<1000xf32>, %c: tensor<300xf32>) -> (tensor<1000xf32>, tensor<1000xf32>, tensor<300xf32>) {
    %o = "fuse.empty"() {syms = []} : () -> tensor<1000xf32>
    %y = call @scale(%x, %o) : (tensor<1000xf32>, tensor<1000xf32>) -> tensor<1000xf32>
    %p = "fuse.empty"() {syms = []} : () -> tensor<1000xf32>
    %b = call @scale(%a, %p) : (tensor<1000xf32>, tensor<1000xf32>) -> tensor<1000xf32>
    %q = "fuse.empty"() {syms = []} : () -> tensor<300xf32>
    %d = call @shift(%c, %q) : (tensor<300xf32>, tensor<300xf32>) -> tensor<300xf32>
    return %y, %b, %d : tensor<1000xf32>, tensor<1000xf32>, tensor<300xf32>
  }
  func.func private @scale(%x: tensor<1000xf32>, %o: tensor<1000xf32>) -> tensor<1000xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "1000"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<1000xf32>, i1, f32) -> f32
    %w = arith.mulf %v, %v : f32
    %r = "fuse.store"(%o, %w, %true) {at = ["d0"], mode = "set"} : (tensor<1000xf32>, f32, i1) -> tensor<1000xf32>
    return %r : tensor<1000xf32>
  }
  func.func private @shift(%x: tensor<300xf32>, %o: tensor<300xf32>) -> tensor<300xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "300"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<300xf32>, i1, f32) -> f32
    %w = arith.addf %v, %v : f32
    %r = "fuse.store"(%o, %w, %true) {at = ["d0"], mode = "set"} : (tensor<300xf32>, f32, i1) -> tensor<300xf32>
    return %r : tensor<300xf32>
  }
}

// -----

// Must not fire: one reads what the other made.
// CHECK-LABEL: func.func @main
// CHECK: call @link
// CHECK: call @link
// CHECK-NOT: combined
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<1000xf32>) -> tensor<1000xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<1000xf32>
    %y = call @link(%x, %o) : (tensor<1000xf32>, tensor<1000xf32>) -> tensor<1000xf32>
    %p = "fuse.empty"() {syms = []} : () -> tensor<1000xf32>
    %z = call @link(%y, %p) : (tensor<1000xf32>, tensor<1000xf32>) -> tensor<1000xf32>
    return %z : tensor<1000xf32>
  }
  func.func private @link(%x: tensor<1000xf32>, %o: tensor<1000xf32>) -> tensor<1000xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "1000"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<1000xf32>, i1, f32) -> f32
    %w = arith.mulf %v, %v : f32
    %r = "fuse.store"(%o, %w, %true) {at = ["d0"], mode = "set"} : (tensor<1000xf32>, f32, i1) -> tensor<1000xf32>
    return %r : tensor<1000xf32>
  }
}

// -----

// Must not fire: the second overwrites what the first reads.
// CHECK-LABEL: func.func @main
// CHECK: call @reader
// CHECK: call @writer
// CHECK-NOT: combined
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<1000xf32>) -> (tensor<1000xf32>, tensor<1000xf32>) {
    %o = "fuse.empty"() {syms = []} : () -> tensor<1000xf32>
    %y = call @reader(%x, %o) : (tensor<1000xf32>, tensor<1000xf32>) -> tensor<1000xf32>
    %z = call @writer(%x) : (tensor<1000xf32>) -> tensor<1000xf32>
    return {fuse.mutates = {"1" = 0 : i64}} %y, %z : tensor<1000xf32>, tensor<1000xf32>
  }
  func.func private @reader(%x: tensor<1000xf32>, %o: tensor<1000xf32>) -> tensor<1000xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "1000"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<1000xf32>, i1, f32) -> f32
    %w = arith.mulf %v, %v : f32
    %r = "fuse.store"(%o, %w, %true) {at = ["d0"], mode = "set"} : (tensor<1000xf32>, f32, i1) -> tensor<1000xf32>
    return %r : tensor<1000xf32>
  }
  func.func private @writer(%x: tensor<1000xf32>) -> tensor<1000xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "1000"}, fuse.ties = array<i64: 0>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<1000xf32>, i1, f32) -> f32
    %w = arith.addf %v, %v : f32
    %r = "fuse.store"(%x, %w, %true) {at = ["d0"], mode = "set"} : (tensor<1000xf32>, f32, i1) -> tensor<1000xf32>
    return %r : tensor<1000xf32>
  }
}

// -----

// Must not fire: each works longer than 32 launches cost: so they stay alone.
// CHECK-LABEL: func.func @main
// CHECK: call @long
// CHECK: call @long
// CHECK-NOT: combined
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<268435456xf32>, %a: tensor<268435456xf32>) -> (tensor<268435456xf32>, tensor<268435456xf32>) {
    %o = "fuse.empty"() {syms = []} : () -> tensor<268435456xf32>
    %y = call @long(%x, %o) : (tensor<268435456xf32>, tensor<268435456xf32>) -> tensor<268435456xf32>
    %p = "fuse.empty"() {syms = []} : () -> tensor<268435456xf32>
    %b = call @long(%a, %p) : (tensor<268435456xf32>, tensor<268435456xf32>) -> tensor<268435456xf32>
    return %y, %b : tensor<268435456xf32>, tensor<268435456xf32>
  }
  func.func private @long(%x: tensor<268435456xf32>, %o: tensor<268435456xf32>) -> tensor<268435456xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "268435456"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<268435456xf32>, i1, f32) -> f32
    %w = arith.mulf %v, %v : f32
    %r = "fuse.store"(%o, %w, %true) {at = ["d0"], mode = "set"} : (tensor<268435456xf32>, f32, i1) -> tensor<268435456xf32>
    return %r : tensor<268435456xf32>
  }
}

// -----

// The same chain for two tensors: like joins like, though the end of the first chain is nearer to the start of
// the second; so there are as many launches as links.
// CHECK-LABEL: func.func @main
// CHECK: %[[S:.*]]:2 = call @combined_head
// CHECK: call @combined_tail(%[[S]]#0, %[[S]]#1,
// CHECK-NOT: call @
// REMARK: passed: combine-launches: combined, kernels=1, programs=16: one launch instead of 2 [head + head]
// REMARK-NEXT: passed: combine-launches: combined, kernels=1, programs=16: one launch instead of 2 [tail + tail]
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<1000xf32>, %a: tensor<1000xf32>) -> (tensor<1000xf32>, tensor<1000xf32>) {
    %o = "fuse.empty"() {syms = []} : () -> tensor<1000xf32>
    %y = call @head(%x, %o) : (tensor<1000xf32>, tensor<1000xf32>) -> tensor<1000xf32>
    %p = "fuse.empty"() {syms = []} : () -> tensor<1000xf32>
    %z = call @tail(%y, %p) : (tensor<1000xf32>, tensor<1000xf32>) -> tensor<1000xf32>
    %q = "fuse.empty"() {syms = []} : () -> tensor<1000xf32>
    %b = call @head(%a, %q) : (tensor<1000xf32>, tensor<1000xf32>) -> tensor<1000xf32>
    %r = "fuse.empty"() {syms = []} : () -> tensor<1000xf32>
    %c = call @tail(%b, %r) : (tensor<1000xf32>, tensor<1000xf32>) -> tensor<1000xf32>
    return %z, %c : tensor<1000xf32>, tensor<1000xf32>
  }
  func.func private @head(%x: tensor<1000xf32>, %o: tensor<1000xf32>) -> tensor<1000xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "1000"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<1000xf32>, i1, f32) -> f32
    %w = arith.mulf %v, %v : f32
    %r = "fuse.store"(%o, %w, %true) {at = ["d0"], mode = "set"} : (tensor<1000xf32>, f32, i1) -> tensor<1000xf32>
    return %r : tensor<1000xf32>
  }
  func.func private @tail(%x: tensor<1000xf32>, %o: tensor<1000xf32>) -> tensor<1000xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "1000"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<1000xf32>, i1, f32) -> f32
    %w = arith.addf %v, %v : f32
    %r = "fuse.store"(%o, %w, %true) {at = ["d0"], mode = "set"} : (tensor<1000xf32>, f32, i1) -> tensor<1000xf32>
    return %r : tensor<1000xf32>
  }
}

// -----

// A call rises to an earlier launch past what does not concern it.  The torch op stays where it is.
// CHECK-LABEL: func.func @main
// CHECK: %[[R:.*]]:2 = call @combined_rising
// CHECK: call @torch(%[[R]]#0)
// CHECK: return %{{.*}}, %[[R]]#1
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<1000xf32>, %a: tensor<1000xf32>) -> (tensor<f32>, tensor<1000xf32>) {
    %o = "fuse.empty"() {syms = []} : () -> tensor<1000xf32>
    %y = call @rising(%x, %o) : (tensor<1000xf32>, tensor<1000xf32>) -> tensor<1000xf32>
    %s = call @torch(%y) : (tensor<1000xf32>) -> tensor<f32>
    %p = "fuse.empty"() {syms = []} : () -> tensor<1000xf32>
    %b = call @rising(%a, %p) : (tensor<1000xf32>, tensor<1000xf32>) -> tensor<1000xf32>
    return %s, %b : tensor<f32>, tensor<1000xf32>
  }
  func.func private @rising(%x: tensor<1000xf32>, %o: tensor<1000xf32>) -> tensor<1000xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "1000"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<1000xf32>, i1, f32) -> f32
    %w = arith.mulf %v, %v : f32
    %r = "fuse.store"(%o, %w, %true) {at = ["d0"], mode = "set"} : (tensor<1000xf32>, f32, i1) -> tensor<1000xf32>
    return %r : tensor<1000xf32>
  }
  func.func private @torch(tensor<1000xf32>) -> tensor<f32> attributes {fuse.extern = "aten.sum.default", fuse.args = [#fuse.arg<0 : i64>], fuse.kwargs = {}}
}

// -----

// The second needs the torch op, so the first sinks to it: nothing uses its result before.
// CHECK-LABEL: func.func @main
// CHECK: %[[T:.*]] = call @torch
// CHECK: call @combined_sinking(%{{.*}}, %[[T]],
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<1000xf32>, %a: tensor<1000xf32>) -> (tensor<1000xf32>, tensor<1000xf32>) {
    %o = "fuse.empty"() {syms = []} : () -> tensor<1000xf32>
    %y = call @sinking(%x, %o) : (tensor<1000xf32>, tensor<1000xf32>) -> tensor<1000xf32>
    %s = call @torch(%a) : (tensor<1000xf32>) -> tensor<1000xf32>
    %p = "fuse.empty"() {syms = []} : () -> tensor<1000xf32>
    %b = call @sinking(%s, %p) : (tensor<1000xf32>, tensor<1000xf32>) -> tensor<1000xf32>
    return %y, %b : tensor<1000xf32>, tensor<1000xf32>
  }
  func.func private @sinking(%x: tensor<1000xf32>, %o: tensor<1000xf32>) -> tensor<1000xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "1000"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<1000xf32>, i1, f32) -> f32
    %w = arith.mulf %v, %v : f32
    %r = "fuse.store"(%o, %w, %true) {at = ["d0"], mode = "set"} : (tensor<1000xf32>, f32, i1) -> tensor<1000xf32>
    return %r : tensor<1000xf32>
  }
  func.func private @torch(tensor<1000xf32>) -> tensor<1000xf32> attributes {fuse.extern = "aten.neg.default", fuse.args = [#fuse.arg<0 : i64>], fuse.kwargs = {}}
}

// -----

// Must not fire: the first runs beside a collective, and would have to wait for it.
// CHECK-LABEL: func.func @main
// CHECK: call @beside(%
// CHECK: %[[T:.*]] = call @wait
// CHECK: call @beside(%[[T]],
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<1000xf32>, %a: tensor<1000xf32>) -> (tensor<1000xf32>, tensor<1000xf32>) {
    %t = call @start(%a) : (tensor<1000xf32>) -> tensor<1000xf32>
    %o = "fuse.empty"() {syms = []} : () -> tensor<1000xf32>
    %y = call @beside(%x, %o) : (tensor<1000xf32>, tensor<1000xf32>) -> tensor<1000xf32>
    %s = call @wait(%t, %a) : (tensor<1000xf32>, tensor<1000xf32>) -> tensor<1000xf32>
    %p = "fuse.empty"() {syms = []} : () -> tensor<1000xf32>
    %b = call @beside(%s, %p) : (tensor<1000xf32>, tensor<1000xf32>) -> tensor<1000xf32>
    return %y, %b : tensor<1000xf32>, tensor<1000xf32>
  }
  func.func private @beside(%x: tensor<1000xf32>, %o: tensor<1000xf32>) -> tensor<1000xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "1000"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<1000xf32>, i1, f32) -> f32
    %w = arith.mulf %v, %v : f32
    %r = "fuse.store"(%o, %w, %true) {at = ["d0"], mode = "set"} : (tensor<1000xf32>, f32, i1) -> tensor<1000xf32>
    return %r : tensor<1000xf32>
  }
  func.func private @start(tensor<1000xf32>) -> tensor<1000xf32> attributes {fuse.extern = "_c10d_functional.all_reduce.default",
    fuse.args = [#fuse.arg<0 : i64>, "sum", "0"], fuse.kwargs = {}, fuse.effect}
  func.func private @wait(tensor<1000xf32>, tensor<1000xf32>) -> tensor<1000xf32> attributes {fuse.extern = "_c10d_functional.wait_tensor.default",
    fuse.args = [#fuse.arg<0 : i64>], fuse.kwargs = {}, fuse.held = array<i64: 1>, fuse.mutated = array<i64: 0>, fuse.aliases = {"0" = 0 : i64}}
}

// -----

// Must not fire, as neither can move: the torch op needs the one, and the other needs the torch op.
// CHECK-LABEL: func.func @main
// CHECK: call @fixed
// CHECK: call @torch
// CHECK: call @fixed
// CHECK-NOT: combined
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<1000xf32>) -> (tensor<1000xf32>, tensor<1000xf32>) {
    %o = "fuse.empty"() {syms = []} : () -> tensor<1000xf32>
    %y = call @fixed(%x, %o) : (tensor<1000xf32>, tensor<1000xf32>) -> tensor<1000xf32>
    %s = call @torch(%y) : (tensor<1000xf32>) -> tensor<1000xf32>
    %p = "fuse.empty"() {syms = []} : () -> tensor<1000xf32>
    %b = call @fixed(%s, %p) : (tensor<1000xf32>, tensor<1000xf32>) -> tensor<1000xf32>
    return %y, %b : tensor<1000xf32>, tensor<1000xf32>
  }
  func.func private @fixed(%x: tensor<1000xf32>, %o: tensor<1000xf32>) -> tensor<1000xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "1000"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<1000xf32>, i1, f32) -> f32
    %w = arith.mulf %v, %v : f32
    %r = "fuse.store"(%o, %w, %true) {at = ["d0"], mode = "set"} : (tensor<1000xf32>, f32, i1) -> tensor<1000xf32>
    return %r : tensor<1000xf32>
  }
  func.func private @torch(tensor<1000xf32>) -> tensor<1000xf32> attributes {fuse.extern = "aten.neg.default", fuse.args = [#fuse.arg<0 : i64>], fuse.kwargs = {}}
}

// -----

// Together, both results of 16 MB would live at once, where one was gone before the other was made.
// CHECK-LABEL: func.func @main
// CHECK: call @heavy
// CHECK: call @torch
// CHECK: call @heavy
// CHECK: call @torch
// REMARK: missed: combine-launches: peak-memory: sharing a launch would keep more bytes alive than the peak [heavy + heavy]
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<4194304xf32>, %a: tensor<4194304xf32>) -> (tensor<f32>, tensor<f32>) {
    %o = "fuse.empty"() {syms = []} : () -> tensor<4194304xf32>
    %y = call @heavy(%x, %o) : (tensor<4194304xf32>, tensor<4194304xf32>) -> tensor<4194304xf32>
    %s = call @torch(%y) : (tensor<4194304xf32>) -> tensor<f32>
    %p = "fuse.empty"() {syms = []} : () -> tensor<4194304xf32>
    %b = call @heavy(%a, %p) : (tensor<4194304xf32>, tensor<4194304xf32>) -> tensor<4194304xf32>
    %t = call @torch(%b) : (tensor<4194304xf32>) -> tensor<f32>
    return %s, %t : tensor<f32>, tensor<f32>
  }
  func.func private @heavy(%x: tensor<4194304xf32>, %o: tensor<4194304xf32>) -> tensor<4194304xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "4194304"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<4194304xf32>, i1, f32) -> f32
    %w = arith.mulf %v, %v : f32
    %r = "fuse.store"(%o, %w, %true) {at = ["d0"], mode = "set"} : (tensor<4194304xf32>, f32, i1) -> tensor<4194304xf32>
    return %r : tensor<4194304xf32>
  }
  func.func private @torch(tensor<4194304xf32>) -> tensor<f32> attributes {fuse.extern = "aten.sum.default", fuse.args = [#fuse.arg<0 : i64>], fuse.kwargs = {}}
}

// -----

// Results that are returned live to the end, and so do arguments: nothing is freed between the calls.
// CHECK-LABEL: func.func @main
// CHECK: call @combined_heavy
// CHECK-NOT: call @heavy
// REMARK: passed: combine-launches: combined, kernels=1, {{.*}}: one launch instead of 3 [heavy + heavy + heavy]
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<4194304xf32>, %a: tensor<4194304xf32>, %c: tensor<4194304xf32>) -> (tensor<4194304xf32>, tensor<4194304xf32>, tensor<4194304xf32>) {
    %o = "fuse.empty"() {syms = []} : () -> tensor<4194304xf32>
    %y = call @heavy(%x, %o) : (tensor<4194304xf32>, tensor<4194304xf32>) -> tensor<4194304xf32>
    %p = "fuse.empty"() {syms = []} : () -> tensor<4194304xf32>
    %b = call @heavy(%a, %p) : (tensor<4194304xf32>, tensor<4194304xf32>) -> tensor<4194304xf32>
    %q = "fuse.empty"() {syms = []} : () -> tensor<4194304xf32>
    %d = call @heavy(%c, %q) : (tensor<4194304xf32>, tensor<4194304xf32>) -> tensor<4194304xf32>
    return %y, %b, %d : tensor<4194304xf32>, tensor<4194304xf32>, tensor<4194304xf32>
  }
  func.func private @heavy(%x: tensor<4194304xf32>, %o: tensor<4194304xf32>) -> tensor<4194304xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "4194304"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<4194304xf32>, i1, f32) -> f32
    %w = arith.mulf %v, %v : f32
    %r = "fuse.store"(%o, %w, %true) {at = ["d0"], mode = "set"} : (tensor<4194304xf32>, f32, i1) -> tensor<4194304xf32>
    return %r : tensor<4194304xf32>
  }
}

// -----

// Must not fire: what a backward graph was given is freed after its last use, before the next result is made.
// CHECK-LABEL: func.func @main
// CHECK-COUNT-3: call @heavy
// REMARK: missed: combine-launches: peak-memory: sharing a launch would keep more bytes alive than the peak [heavy + heavy]
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<4194304xf32>, %a: tensor<4194304xf32>, %c: tensor<4194304xf32>) -> (tensor<4194304xf32>, tensor<4194304xf32>, tensor<4194304xf32>)
      attributes {fuse.given} {
    %o = "fuse.empty"() {syms = []} : () -> tensor<4194304xf32>
    %y = call @heavy(%x, %o) : (tensor<4194304xf32>, tensor<4194304xf32>) -> tensor<4194304xf32>
    %p = "fuse.empty"() {syms = []} : () -> tensor<4194304xf32>
    %b = call @heavy(%a, %p) : (tensor<4194304xf32>, tensor<4194304xf32>) -> tensor<4194304xf32>
    %q = "fuse.empty"() {syms = []} : () -> tensor<4194304xf32>
    %d = call @heavy(%c, %q) : (tensor<4194304xf32>, tensor<4194304xf32>) -> tensor<4194304xf32>
    return %y, %b, %d : tensor<4194304xf32>, tensor<4194304xf32>, tensor<4194304xf32>
  }
  func.func private @heavy(%x: tensor<4194304xf32>, %o: tensor<4194304xf32>) -> tensor<4194304xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "4194304"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<4194304xf32>, i1, f32) -> f32
    %w = arith.mulf %v, %v : f32
    %r = "fuse.store"(%o, %w, %true) {at = ["d0"], mode = "set"} : (tensor<4194304xf32>, f32, i1) -> tensor<4194304xf32>
    return %r : tensor<4194304xf32>
  }
}

// -----

// A reduction that fills the chip does not lend its registers to pointwise code; both ask for four warps.
// CHECK-LABEL: func.func @main
// CHECK: call @rows
// CHECK: call @points
// REMARK: missed: combine-launches: unlike: {{.*}} [rows + points]
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<1024x1024xf32>, %a: tensor<1048576xf32>) -> (tensor<1024xf32>, tensor<1048576xf32>) {
    %o = "fuse.empty"() {syms = []} : () -> tensor<1024xf32>
    %y = call @rows(%x, %o) : (tensor<1024x1024xf32>, tensor<1024xf32>) -> tensor<1024xf32>
    %p = "fuse.empty"() {syms = []} : () -> tensor<1048576xf32>
    %b = call @points(%a, %p) : (tensor<1048576xf32>, tensor<1048576xf32>) -> tensor<1048576xf32>
    return %y, %b : tensor<1024xf32>, tensor<1048576xf32>
  }
  func.func private @rows(%x: tensor<1024x1024xf32>, %o: tensor<1024xf32>) -> tensor<1024xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "1024", d1 = "1024"}, fuse.ties = array<i64: 1>,
        fuse.tile = {axes = [{dims = ["d0"], block = 1 : i64, kind = "grid"}, {dims = ["d1"], block = 1024 : i64, kind = "resident"}], num_warps = 4 : i64, num_stages = 1 : i64}} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<1024x1024xf32>, i1, f32) -> f32
    %s = "fuse.reduce"(%v) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d0"], mode = "set"} : (tensor<1024xf32>, f32, i1) -> tensor<1024xf32>
    return %r : tensor<1024xf32>
  }
  func.func private @points(%x: tensor<1048576xf32>, %o: tensor<1048576xf32>) -> tensor<1048576xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "1048576"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<1048576xf32>, i1, f32) -> f32
    %w = arith.mulf %v, %v : f32
    %r = "fuse.store"(%o, %w, %true) {at = ["d0"], mode = "set"} : (tensor<1048576xf32>, f32, i1) -> tensor<1048576xf32>
    return %r : tensor<1048576xf32>
  }
}

// -----

// Small parts take the warps of the largest.
// CHECK-LABEL: func.func @main
// CHECK: call @combined_narrow
// CHECK: func.func private @combined_narrow
// CHECK-SAME: num_warps = 4
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<1000xf32>, %a: tensor<1000xf32>) -> (tensor<1000xf32>, tensor<1000xf32>) {
    %o = "fuse.empty"() {syms = []} : () -> tensor<1000xf32>
    %y = call @narrow(%x, %o) : (tensor<1000xf32>, tensor<1000xf32>) -> tensor<1000xf32>
    %p = "fuse.empty"() {syms = []} : () -> tensor<1000xf32>
    %b = call @wide(%a, %p) : (tensor<1000xf32>, tensor<1000xf32>) -> tensor<1000xf32>
    return %y, %b : tensor<1000xf32>, tensor<1000xf32>
  }
  func.func private @narrow(%x: tensor<1000xf32>, %o: tensor<1000xf32>) -> tensor<1000xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "1000"}, fuse.ties = array<i64: 1>,
        fuse.tile = {axes = [{dims = ["d0"], block = 128 : i64, kind = "grid"}], num_warps = 2 : i64, num_stages = 1 : i64}} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<1000xf32>, i1, f32) -> f32
    %w = arith.mulf %v, %v : f32
    %r = "fuse.store"(%o, %w, %true) {at = ["d0"], mode = "set"} : (tensor<1000xf32>, f32, i1) -> tensor<1000xf32>
    return %r : tensor<1000xf32>
  }
  func.func private @wide(%x: tensor<1000xf32>, %o: tensor<1000xf32>) -> tensor<1000xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "1000"}, fuse.ties = array<i64: 1>,
        fuse.tile = {axes = [{dims = ["d0"], block = 128 : i64, kind = "grid"}], num_warps = 4 : i64, num_stages = 1 : i64}} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<1000xf32>, i1, f32) -> f32
    %w = arith.mulf %v, %v : f32
    %r = "fuse.store"(%o, %w, %true) {at = ["d0"], mode = "set"} : (tensor<1000xf32>, f32, i1) -> tensor<1000xf32>
    return %r : tensor<1000xf32>
  }
}

// -----

// Must not fire: a part that fills the chip keeps the warps that it asked for.
// CHECK-LABEL: func.func @main
// CHECK: call @crowd2
// CHECK: call @crowd4
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<1048576xf32>, %a: tensor<1048576xf32>) -> (tensor<1048576xf32>, tensor<1048576xf32>) {
    %o = "fuse.empty"() {syms = []} : () -> tensor<1048576xf32>
    %y = call @crowd2(%x, %o) : (tensor<1048576xf32>, tensor<1048576xf32>) -> tensor<1048576xf32>
    %p = "fuse.empty"() {syms = []} : () -> tensor<1048576xf32>
    %b = call @crowd4(%a, %p) : (tensor<1048576xf32>, tensor<1048576xf32>) -> tensor<1048576xf32>
    return %y, %b : tensor<1048576xf32>, tensor<1048576xf32>
  }
  func.func private @crowd2(%x: tensor<1048576xf32>, %o: tensor<1048576xf32>) -> tensor<1048576xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "1048576"}, fuse.ties = array<i64: 1>,
        fuse.tile = {axes = [{dims = ["d0"], block = 128 : i64, kind = "grid"}], num_warps = 2 : i64, num_stages = 1 : i64}} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<1048576xf32>, i1, f32) -> f32
    %w = arith.mulf %v, %v : f32
    %r = "fuse.store"(%o, %w, %true) {at = ["d0"], mode = "set"} : (tensor<1048576xf32>, f32, i1) -> tensor<1048576xf32>
    return %r : tensor<1048576xf32>
  }
  func.func private @crowd4(%x: tensor<1048576xf32>, %o: tensor<1048576xf32>) -> tensor<1048576xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "1048576"}, fuse.ties = array<i64: 1>,
        fuse.tile = {axes = [{dims = ["d0"], block = 128 : i64, kind = "grid"}], num_warps = 4 : i64, num_stages = 1 : i64}} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<1048576xf32>, i1, f32) -> f32
    %w = arith.mulf %v, %v : f32
    %r = "fuse.store"(%o, %w, %true) {at = ["d0"], mode = "set"} : (tensor<1048576xf32>, f32, i1) -> tensor<1048576xf32>
    return %r : tensor<1048576xf32>
  }
}

// -----

// Sizes: the ranges of programs are expressions over them, and no size makes a division by zero.  A launch waits for all
// that its parts wait for.
// CHECK-LABEL: func.func @main
// CHECK: call @torch
// CHECK: %[[T:.*]] = "fuse.after"
// CHECK: call @combined_any(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %[[T]])
// CHECK: func.func private @combined_any
// CHECK-SAME: fuse.grid = ["((s0 + 127) floordiv 128)*2"]
// CHECK: %[[S:.*]] = arith.index_cast
// CHECK: %[[ONE:.*]] = arith.constant 1 : i32
// CHECK: %[[LEN:.*]] = arith.maxsi %{{.*}}, %[[ONE]]
// CHECK: arith.divsi %{{.*}}, %[[LEN]]
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<?xf32, #fuse.layout<"s0", "1", "0", "">>, %a: tensor<?xf32, #fuse.layout<"s0", "1", "0", "">>, %s0: index {fuse.sym = "s0", fuse.min = 0 : i64, fuse.hint = 1000 : i64}, %w: tensor<16xf32>)
      -> (tensor<?xf32, #fuse.layout<"s0", "1", "0", "">>, tensor<?xf32, #fuse.layout<"s0", "1", "0", "">>, tensor<16xf32>) {
    %n = call @torch(%w) : (tensor<16xf32>) -> tensor<16xf32>
    %t = "fuse.after"(%n) : (tensor<16xf32>) -> !fuse.token
    %o = "fuse.empty"(%s0) {syms = ["s0"]} : (index) -> tensor<?xf32, #fuse.layout<"s0", "1", "0", "">>
    %y = call @any(%x, %o, %s0, %t) : (tensor<?xf32, #fuse.layout<"s0", "1", "0", "">>, tensor<?xf32, #fuse.layout<"s0", "1", "0", "">>, index, !fuse.token) -> tensor<?xf32, #fuse.layout<"s0", "1", "0", "">>
    %p = "fuse.empty"(%s0) {syms = ["s0"]} : (index) -> tensor<?xf32, #fuse.layout<"s0", "1", "0", "">>
    %b = call @any(%a, %p, %s0, %t) : (tensor<?xf32, #fuse.layout<"s0", "1", "0", "">>, tensor<?xf32, #fuse.layout<"s0", "1", "0", "">>, index, !fuse.token) -> tensor<?xf32, #fuse.layout<"s0", "1", "0", "">>
    return %y, %b, %n : tensor<?xf32, #fuse.layout<"s0", "1", "0", "">>, tensor<?xf32, #fuse.layout<"s0", "1", "0", "">>, tensor<16xf32>
  }
  func.func private @any(%x: tensor<?xf32, #fuse.layout<"s0", "1", "0", "">>, %o: tensor<?xf32, #fuse.layout<"s0", "1", "0", "">>, %s0: index {fuse.sym = "s0", fuse.min = 0 : i64, fuse.hint = 1000 : i64}, %t: !fuse.token)
      -> tensor<?xf32, #fuse.layout<"s0", "1", "0", "">>
      attributes {fuse.kernel, fuse.dims = {d0 = "s0"}, fuse.ties = array<i64: 1>,
        fuse.tile = {axes = [{dims = ["d0"], block = 128 : i64, kind = "grid"}], num_warps = 4 : i64, num_stages = 1 : i64}} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<?xf32, #fuse.layout<"s0", "1", "0", "">>, i1, f32) -> f32
    %w = arith.mulf %v, %v : f32
    %r = "fuse.store"(%o, %w, %true) {at = ["d0"], mode = "set"} : (tensor<?xf32, #fuse.layout<"s0", "1", "0", "">>, f32, i1) -> tensor<?xf32, #fuse.layout<"s0", "1", "0", "">>
    return %r : tensor<?xf32, #fuse.layout<"s0", "1", "0", "">>
  }
  func.func private @torch(tensor<16xf32>) -> tensor<16xf32> attributes {fuse.extern = "aten.neg.default", fuse.args = [#fuse.arg<0 : i64>], fuse.kwargs = {}}
}

// -----

// What asserts keeps its place among effects; what does not may pass them.
// CHECK-LABEL: func.func @main
// CHECK: call @checked
// CHECK: call @torch
// CHECK: call @combined_checked(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) :
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<1000xf32>, %a: tensor<1000xf32>) -> (tensor<1000xf32>, tensor<f32>, tensor<1000xf32>, tensor<1000xf32>) {
    %o = "fuse.empty"() {syms = []} : () -> tensor<1000xf32>
    %y = call @checked(%x, %o) : (tensor<1000xf32>, tensor<1000xf32>) -> tensor<1000xf32>
    %s = call @torch(%x) : (tensor<1000xf32>) -> tensor<f32>
    %p = "fuse.empty"() {syms = []} : () -> tensor<1000xf32>
    %b = call @checked(%a, %p) : (tensor<1000xf32>, tensor<1000xf32>) -> tensor<1000xf32>
    %q = "fuse.empty"() {syms = []} : () -> tensor<1000xf32>
    %c = call @free(%x, %q) : (tensor<1000xf32>, tensor<1000xf32>) -> tensor<1000xf32>
    return %y, %s, %b, %c : tensor<1000xf32>, tensor<f32>, tensor<1000xf32>, tensor<1000xf32>
  }
  func.func private @checked(%x: tensor<1000xf32>, %o: tensor<1000xf32>) -> tensor<1000xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "1000"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<1000xf32>, i1, f32) -> f32
    %w = arith.mulf %v, %v : f32
    %big = arith.constant 100.0 : f32
    %ok = arith.cmpf olt, %v, %big : f32
    "fuse.device_assert"(%ok, %true) {message = "too large"} : (i1, i1) -> ()
    %r = "fuse.store"(%o, %w, %true) {at = ["d0"], mode = "set"} : (tensor<1000xf32>, f32, i1) -> tensor<1000xf32>
    return %r : tensor<1000xf32>
  }
  func.func private @free(%x: tensor<1000xf32>, %o: tensor<1000xf32>) -> tensor<1000xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "1000"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<1000xf32>, i1, f32) -> f32
    %w = arith.mulf %v, %v : f32
    %r = "fuse.store"(%o, %w, %true) {at = ["d0"], mode = "set"} : (tensor<1000xf32>, f32, i1) -> tensor<1000xf32>
    return %r : tensor<1000xf32>
  }
  func.func private @torch(tensor<1000xf32>) -> tensor<f32> attributes {fuse.extern = "aten.sum.default", fuse.args = [#fuse.arg<0 : i64>], fuse.kwargs = {}, fuse.effect}
}

// -----

// A kernel that asks for the number of programs means its own.
// CHECK-LABEL: func.func @main
// CHECK: call @counting
// CHECK: call @counting
// CHECK-NOT: combined
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<128xf32>, %a: tensor<128xf32>) -> (tensor<128xf32>, tensor<128xf32>) {
    %o = "fuse.empty"() {syms = []} : () -> tensor<128xf32>
    %y = call @counting(%x, %o) : (tensor<128xf32>, tensor<128xf32>) -> tensor<128xf32>
    %p = "fuse.empty"() {syms = []} : () -> tensor<128xf32>
    %b = call @counting(%a, %p) : (tensor<128xf32>, tensor<128xf32>) -> tensor<128xf32>
    return %y, %b : tensor<128xf32>, tensor<128xf32>
  }
  func.func private @counting(%x: tensor<128xf32>, %o: tensor<128xf32>) -> tensor<128xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "128"}, fuse.ties = array<i64: 1>, fuse.grid = ["1"],
        fuse.tile = {axes = [{dims = ["d0"], block = 128 : i64, kind = "grid"}], num_warps = 4 : i64, num_stages = 1 : i64}} {
    %in = "fuse.base"(%x) : (tensor<128xf32>) -> !tt.ptr<f32>
    %out = "fuse.base"(%o) : (tensor<128xf32>) -> !tt.ptr<f32>
    %n = "tt.get_num_programs"() {axis = 0 : i32} : () -> i32
    %from = "tt.addptr"(%in, %n) : (!tt.ptr<f32>, i32) -> !tt.ptr<f32>
    %v = "tt.load"(%from) {operandSegmentSizes = array<i32: 1, 0, 0>} : (!tt.ptr<f32>) -> f32
    "tt.store"(%out, %v) {operandSegmentSizes = array<i32: 1, 1, 0>} : (!tt.ptr<f32>, f32) -> ()
    return %o : tensor<128xf32>
  }
}

// -----

// Products of one row with several matrices share a launch, though they fill the chip: sums of tiles of one size.  A
// kernel without a loop has no stages that could differ.
// CHECK-LABEL: func.func @main
// CHECK: call @combined_in_a_loop
// CHECK-NOT: call @held
// CHECK: func.func private @combined_in_a_loop
// CHECK-SAME: num_stages = 3
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<1024xf32>, %w: tensor<2048x1024xf32>, %v: tensor<1024x1024xf32>) -> (tensor<2048xf32>, tensor<1024xf32>) {
    %o = "fuse.empty"() {syms = []} : () -> tensor<2048xf32>
    %y = call @in_a_loop(%x, %w, %o) : (tensor<1024xf32>, tensor<2048x1024xf32>, tensor<2048xf32>) -> tensor<2048xf32>
    %p = "fuse.empty"() {syms = []} : () -> tensor<1024xf32>
    %b = call @held(%x, %v, %p) : (tensor<1024xf32>, tensor<1024x1024xf32>, tensor<1024xf32>) -> tensor<1024xf32>
    return %y, %b : tensor<2048xf32>, tensor<1024xf32>
  }
  func.func private @in_a_loop(%x: tensor<1024xf32>, %w: tensor<2048x1024xf32>, %o: tensor<2048xf32>) -> tensor<2048xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "2048", d1 = "1024"}, fuse.ties = array<i64: 2>,
        fuse.tile = {axes = [{dims = ["d0"], block = 2 : i64, kind = "grid"}, {dims = ["d1"], block = 512 : i64, kind = "looped"}], num_warps = 2 : i64, num_stages = 3 : i64}} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d1"]} : (tensor<1024xf32>, i1, f32) -> f32
    %b = "fuse.load"(%w, %true, %zero) {at = ["d0", "d1"]} : (tensor<2048x1024xf32>, i1, f32) -> f32
    %p = arith.mulf %v, %b : f32
    %s = "fuse.reduce"(%p) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d0"], mode = "set"} : (tensor<2048xf32>, f32, i1) -> tensor<2048xf32>
    return %r : tensor<2048xf32>
  }
  func.func private @held(%x: tensor<1024xf32>, %w: tensor<1024x1024xf32>, %o: tensor<1024xf32>) -> tensor<1024xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "1024", d1 = "1024"}, fuse.ties = array<i64: 2>,
        fuse.tile = {axes = [{dims = ["d0"], block = 1 : i64, kind = "grid"}, {dims = ["d1"], block = 1024 : i64, kind = "resident"}], num_warps = 2 : i64, num_stages = 1 : i64}} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d1"]} : (tensor<1024xf32>, i1, f32) -> f32
    %b = "fuse.load"(%w, %true, %zero) {at = ["d0", "d1"]} : (tensor<1024x1024xf32>, i1, f32) -> f32
    %p = arith.mulf %v, %b : f32
    %s = "fuse.reduce"(%p) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d0"], mode = "set"} : (tensor<1024xf32>, f32, i1) -> tensor<1024xf32>
    return %r : tensor<1024xf32>
  }
}

// -----

// Must not fire: the first would work for longer than eight launches cost.
// CHECK-LABEL: func.func @main
// CHECK: call @large
// CHECK: call @small
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<1024xf32>, %w: tensor<65536x1024xf32>, %v: tensor<1024x1024xf32>) -> (tensor<65536xf32>, tensor<1024xf32>) {
    %o = "fuse.empty"() {syms = []} : () -> tensor<65536xf32>
    %y = call @large(%x, %w, %o) : (tensor<1024xf32>, tensor<65536x1024xf32>, tensor<65536xf32>) -> tensor<65536xf32>
    %p = "fuse.empty"() {syms = []} : () -> tensor<1024xf32>
    %b = call @small(%x, %v, %p) : (tensor<1024xf32>, tensor<1024x1024xf32>, tensor<1024xf32>) -> tensor<1024xf32>
    return %y, %b : tensor<65536xf32>, tensor<1024xf32>
  }
  func.func private @large(%x: tensor<1024xf32>, %w: tensor<65536x1024xf32>, %o: tensor<65536xf32>) -> tensor<65536xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "65536", d1 = "1024"}, fuse.ties = array<i64: 2>,
        fuse.tile = {axes = [{dims = ["d0"], block = 2 : i64, kind = "grid"}, {dims = ["d1"], block = 512 : i64, kind = "looped"}], num_warps = 2 : i64, num_stages = 3 : i64}} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d1"]} : (tensor<1024xf32>, i1, f32) -> f32
    %b = "fuse.load"(%w, %true, %zero) {at = ["d0", "d1"]} : (tensor<65536x1024xf32>, i1, f32) -> f32
    %p = arith.mulf %v, %b : f32
    %s = "fuse.reduce"(%p) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d0"], mode = "set"} : (tensor<65536xf32>, f32, i1) -> tensor<65536xf32>
    return %r : tensor<65536xf32>
  }
  func.func private @small(%x: tensor<1024xf32>, %w: tensor<1024x1024xf32>, %o: tensor<1024xf32>) -> tensor<1024xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "1024", d1 = "1024"}, fuse.ties = array<i64: 2>,
        fuse.tile = {axes = [{dims = ["d0"], block = 1 : i64, kind = "grid"}, {dims = ["d1"], block = 1024 : i64, kind = "resident"}], num_warps = 2 : i64, num_stages = 1 : i64}} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d1"]} : (tensor<1024xf32>, i1, f32) -> f32
    %b = "fuse.load"(%w, %true, %zero) {at = ["d0", "d1"]} : (tensor<1024x1024xf32>, i1, f32) -> f32
    %p = arith.mulf %v, %b : f32
    %s = "fuse.reduce"(%p) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d0"], mode = "set"} : (tensor<1024xf32>, f32, i1) -> tensor<1024xf32>
    return %r : tensor<1024xf32>
  }
}

// -----

// Must not fire: they read no row in common.
// CHECK-LABEL: func.func @main
// CHECK: call @in_a_loop
// CHECK: call @held
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<1024xf32>, %w: tensor<2048x1024xf32>, %v: tensor<1024x1024xf32>, %z: tensor<1024xf32>) -> (tensor<2048xf32>, tensor<1024xf32>) {
    %o = "fuse.empty"() {syms = []} : () -> tensor<2048xf32>
    %y = call @in_a_loop(%x, %w, %o) : (tensor<1024xf32>, tensor<2048x1024xf32>, tensor<2048xf32>) -> tensor<2048xf32>
    %p = "fuse.empty"() {syms = []} : () -> tensor<1024xf32>
    %b = call @held(%z, %v, %p) : (tensor<1024xf32>, tensor<1024x1024xf32>, tensor<1024xf32>) -> tensor<1024xf32>
    return %y, %b : tensor<2048xf32>, tensor<1024xf32>
  }
  func.func private @in_a_loop(%x: tensor<1024xf32>, %w: tensor<2048x1024xf32>, %o: tensor<2048xf32>) -> tensor<2048xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "2048", d1 = "1024"}, fuse.ties = array<i64: 2>,
        fuse.tile = {axes = [{dims = ["d0"], block = 2 : i64, kind = "grid"}, {dims = ["d1"], block = 512 : i64, kind = "looped"}], num_warps = 2 : i64, num_stages = 3 : i64}} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d1"]} : (tensor<1024xf32>, i1, f32) -> f32
    %b = "fuse.load"(%w, %true, %zero) {at = ["d0", "d1"]} : (tensor<2048x1024xf32>, i1, f32) -> f32
    %p = arith.mulf %v, %b : f32
    %s = "fuse.reduce"(%p) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d0"], mode = "set"} : (tensor<2048xf32>, f32, i1) -> tensor<2048xf32>
    return %r : tensor<2048xf32>
  }
  func.func private @held(%x: tensor<1024xf32>, %w: tensor<1024x1024xf32>, %o: tensor<1024xf32>) -> tensor<1024xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "1024", d1 = "1024"}, fuse.ties = array<i64: 2>,
        fuse.tile = {axes = [{dims = ["d0"], block = 1 : i64, kind = "grid"}, {dims = ["d1"], block = 1024 : i64, kind = "resident"}], num_warps = 2 : i64, num_stages = 1 : i64}} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d1"]} : (tensor<1024xf32>, i1, f32) -> f32
    %b = "fuse.load"(%w, %true, %zero) {at = ["d0", "d1"]} : (tensor<1024x1024xf32>, i1, f32) -> f32
    %p = arith.mulf %v, %b : f32
    %s = "fuse.reduce"(%p) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d0"], mode = "set"} : (tensor<1024xf32>, f32, i1) -> tensor<1024xf32>
    return %r : tensor<1024xf32>
  }
}
