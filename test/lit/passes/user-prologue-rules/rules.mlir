// Each rule of fuse-user-prologues (compiler/analysis/user_fusion/user_prologues.py) refuses.
// RUN: fuse-opt %s --pass-pipeline="builtin.module(fuse-user-prologues{hardware=h200},eliminate-dead)" --split-input-file | FileCheck %s
// RUN: fuse-opt %s --pass-pipeline="builtin.module(fuse-user-prologues{hardware=h200})" --split-input-file --remarks=text 2>&1 >/dev/null | FileCheck %s --check-prefix=SAID
// RUN: fuse-opt %s --pass-pipeline="builtin.module(fuse-user-prologues{hardware=h200})" --split-input-file --remarks=text --sort=cost -o %t 2>&1 | FileCheck %s --check-prefix=COST

// COST: 2.00 us, 3840 bytes: missed: fuse-user-prologues: written
// COST: 2.00 us, 512 bytes: missed: fuse-user-prologues: unknown-map

// Must not fire: the kernel also updates the tensor atomically.
// CHECK-LABEL: func.func @main(
// CHECK: call @scaled
// CHECK: call @row_kernel
// SAID: missed: fuse-user-prologues: written{{.*}}: scaled and row_kernel stay apart:
module attributes {fuse.device = "cpu"} {
  func.func @main(%a: tensor<8x60xf32>, %b: tensor<60xf32>) -> tensor<8x60xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<8x60xf32>
    %p = "fuse.empty"() {syms = []} : () -> tensor<8x60xf32>
    %h = call @scaled(%a, %b, %o) : (tensor<8x60xf32>, tensor<60xf32>, tensor<8x60xf32>) -> tensor<8x60xf32>
    %n = call @row_kernel(%h, %p) : (tensor<8x60xf32>, tensor<8x60xf32>) -> tensor<8x60xf32>
    return %n : tensor<8x60xf32>
  }
  func.func private @scaled(%a: tensor<8x60xf32>, %b: tensor<60xf32>, %o: tensor<8x60xf32>) -> tensor<8x60xf32> attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "60"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %x = "fuse.load"(%a, %true, %zero) {at = ["d0", "d1"]} : (tensor<8x60xf32>, i1, f32) -> f32
    %y = "fuse.load"(%b, %true, %zero) {at = ["d1"]} : (tensor<60xf32>, i1, f32) -> f32
    %r = arith.mulf %x, %y : f32
    %s = "fuse.store"(%o, %r, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<8x60xf32>, f32, i1) -> tensor<8x60xf32>
    return %s : tensor<8x60xf32>
  }
  func.func private @row_kernel(%x: tensor<8x60xf32>, %o: tensor<8x60xf32>) -> tensor<8x60xf32> attributes {fuse.kernel, fuse.dims = {}, fuse.grid = ["8"], fuse.ties = array<i64: 1>, fuse.tile = {axes = [], num_stages = 1 : i64, num_warps = 4 : i64}, fuse.user = "model.py:7 row_kernel"} {
    %px = "fuse.base"(%x) : (tensor<8x60xf32>) -> !tt.ptr<f32>
    %po = "fuse.base"(%o) : (tensor<8x60xf32>) -> !tt.ptr<f32>
    %p = "tt.get_program_id"() {axis = 0 : i32} : () -> i32
    %columns = arith.constant 60 : i32
    %at = arith.muli %p, %columns : i32
    %j = "tt.make_range"() {start = 0 : i32, end = 64 : i32} : () -> tensor<64xi32>
    %bounds = "tt.splat"(%columns) : (i32) -> tensor<64xi32>
    %in = arith.cmpi slt, %j, %bounds : tensor<64xi32>
    %axr = "tt.addptr"(%px, %at) : (!tt.ptr<f32>, i32) -> !tt.ptr<f32>
    %axs = "tt.splat"(%axr) : (!tt.ptr<f32>) -> tensor<64x!tt.ptr<f32>>
    %ax = "tt.addptr"(%axs, %j) : (tensor<64x!tt.ptr<f32>>, tensor<64xi32>) -> tensor<64x!tt.ptr<f32>>
    %low = arith.constant dense<0xFF800000> : tensor<64xf32>
    %v = "tt.load"(%ax, %in, %low) {operandSegmentSizes = array<i32: 1, 1, 1>} : (tensor<64x!tt.ptr<f32>>, tensor<64xi1>, tensor<64xf32>) -> tensor<64xf32>
    %one = arith.constant dense<1.0> : tensor<64xf32>
    %old = "tt.atomic_rmw"(%ax, %one, %in) {atomic_rmw_op = 5 : i32, sem = 4 : i32, scope = 1 : i32} : (tensor<64x!tt.ptr<f32>>, tensor<64xf32>, tensor<64xi1>) -> tensor<64xf32>
    %aor = "tt.addptr"(%po, %at) : (!tt.ptr<f32>, i32) -> !tt.ptr<f32>
    %aos = "tt.splat"(%aor) : (!tt.ptr<f32>) -> tensor<64x!tt.ptr<f32>>
    %ao = "tt.addptr"(%aos, %j) : (tensor<64x!tt.ptr<f32>>, tensor<64xi32>) -> tensor<64x!tt.ptr<f32>>
    "tt.store"(%ao, %v, %in) {operandSegmentSizes = array<i32: 1, 1, 1>} : (tensor<64x!tt.ptr<f32>>, tensor<64xf32>, tensor<64xi1>) -> ()
    return %o : tensor<8x60xf32>
  }
}

// -----

// Must not fire: the kernel stores to the tensor that it loads.
// CHECK-LABEL: func.func @main(
// CHECK: call @scaled
// CHECK: call @row_kernel
// SAID: missed: fuse-user-prologues: written{{.*}}: scaled and row_kernel stay apart:
module attributes {fuse.device = "cpu"} {
  func.func @main(%a: tensor<8x60xf32>, %b: tensor<60xf32>) -> tensor<8x60xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<8x60xf32>
    %h = call @scaled(%a, %b, %o) : (tensor<8x60xf32>, tensor<60xf32>, tensor<8x60xf32>) -> tensor<8x60xf32>
    %n = call @row_kernel(%h) : (tensor<8x60xf32>) -> tensor<8x60xf32>
    return %n : tensor<8x60xf32>
  }
  func.func private @scaled(%a: tensor<8x60xf32>, %b: tensor<60xf32>, %o: tensor<8x60xf32>) -> tensor<8x60xf32> attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "60"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %x = "fuse.load"(%a, %true, %zero) {at = ["d0", "d1"]} : (tensor<8x60xf32>, i1, f32) -> f32
    %y = "fuse.load"(%b, %true, %zero) {at = ["d1"]} : (tensor<60xf32>, i1, f32) -> f32
    %r = arith.mulf %x, %y : f32
    %s = "fuse.store"(%o, %r, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<8x60xf32>, f32, i1) -> tensor<8x60xf32>
    return %s : tensor<8x60xf32>
  }
  func.func private @row_kernel(%x: tensor<8x60xf32>) -> tensor<8x60xf32> attributes {fuse.kernel, fuse.dims = {}, fuse.grid = ["8"], fuse.ties = array<i64: 0>, fuse.tile = {axes = [], num_stages = 1 : i64, num_warps = 4 : i64}, fuse.user = "model.py:7 row_kernel"} {
    %px = "fuse.base"(%x) : (tensor<8x60xf32>) -> !tt.ptr<f32>
    %p = "tt.get_program_id"() {axis = 0 : i32} : () -> i32
    %columns = arith.constant 60 : i32
    %at = arith.muli %p, %columns : i32
    %j = "tt.make_range"() {start = 0 : i32, end = 64 : i32} : () -> tensor<64xi32>
    %bounds = "tt.splat"(%columns) : (i32) -> tensor<64xi32>
    %in = arith.cmpi slt, %j, %bounds : tensor<64xi32>
    %axr = "tt.addptr"(%px, %at) : (!tt.ptr<f32>, i32) -> !tt.ptr<f32>
    %axs = "tt.splat"(%axr) : (!tt.ptr<f32>) -> tensor<64x!tt.ptr<f32>>
    %ax = "tt.addptr"(%axs, %j) : (tensor<64x!tt.ptr<f32>>, tensor<64xi32>) -> tensor<64x!tt.ptr<f32>>
    %v = "tt.load"(%ax, %in) {operandSegmentSizes = array<i32: 1, 1, 0>} : (tensor<64x!tt.ptr<f32>>, tensor<64xi1>) -> tensor<64xf32>
    %w = arith.addf %v, %v : tensor<64xf32>
    "tt.store"(%ax, %w, %in) {operandSegmentSizes = array<i32: 1, 1, 1>} : (tensor<64x!tt.ptr<f32>>, tensor<64xf32>, tensor<64xi1>) -> ()
    return %x : tensor<8x60xf32>
  }
}

// -----

// Must not fire: which element a lane loads is loaded itself.
// CHECK-LABEL: func.func @main(
// CHECK: call @scaled
// CHECK: call @gather_kernel
// SAID: missed: fuse-user-prologues: unknown-map{{.*}}: scaled and gather_kernel stay apart:
module attributes {fuse.device = "cpu"} {
  func.func @main(%a: tensor<8x60xf32>, %b: tensor<60xf32>, %ids: tensor<64xi32>) -> tensor<64xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<8x60xf32>
    %p = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %h = call @scaled(%a, %b, %o) : (tensor<8x60xf32>, tensor<60xf32>, tensor<8x60xf32>) -> tensor<8x60xf32>
    %n = call @gather_kernel(%h, %ids, %p) : (tensor<8x60xf32>, tensor<64xi32>, tensor<64xf32>) -> tensor<64xf32>
    return %n : tensor<64xf32>
  }
  func.func private @scaled(%a: tensor<8x60xf32>, %b: tensor<60xf32>, %o: tensor<8x60xf32>) -> tensor<8x60xf32> attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "60"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %x = "fuse.load"(%a, %true, %zero) {at = ["d0", "d1"]} : (tensor<8x60xf32>, i1, f32) -> f32
    %y = "fuse.load"(%b, %true, %zero) {at = ["d1"]} : (tensor<60xf32>, i1, f32) -> f32
    %r = arith.mulf %x, %y : f32
    %s = "fuse.store"(%o, %r, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<8x60xf32>, f32, i1) -> tensor<8x60xf32>
    return %s : tensor<8x60xf32>
  }
  func.func private @gather_kernel(%t: tensor<8x60xf32>, %ids: tensor<64xi32>, %o: tensor<64xf32>) -> tensor<64xf32> attributes {fuse.kernel, fuse.dims = {}, fuse.grid = ["1"], fuse.ties = array<i64: 2>, fuse.tile = {axes = [], num_stages = 1 : i64, num_warps = 4 : i64}, fuse.user = "model.py:7 gather_kernel"} {
    %pt = "fuse.base"(%t) : (tensor<8x60xf32>) -> !tt.ptr<f32>
    %pi = "fuse.base"(%ids) : (tensor<64xi32>) -> !tt.ptr<i32>
    %po = "fuse.base"(%o) : (tensor<64xf32>) -> !tt.ptr<f32>
    %j = "tt.make_range"() {start = 0 : i32, end = 64 : i32} : () -> tensor<64xi32>
    %si = "tt.splat"(%pi) : (!tt.ptr<i32>) -> tensor<64x!tt.ptr<i32>>
    %ai = "tt.addptr"(%si, %j) : (tensor<64x!tt.ptr<i32>>, tensor<64xi32>) -> tensor<64x!tt.ptr<i32>>
    %i = "tt.load"(%ai) {operandSegmentSizes = array<i32: 1, 0, 0>} : (tensor<64x!tt.ptr<i32>>) -> tensor<64xi32>
    %st = "tt.splat"(%pt) : (!tt.ptr<f32>) -> tensor<64x!tt.ptr<f32>>
    %at = "tt.addptr"(%st, %i) : (tensor<64x!tt.ptr<f32>>, tensor<64xi32>) -> tensor<64x!tt.ptr<f32>>
    %v = "tt.load"(%at) {operandSegmentSizes = array<i32: 1, 0, 0>} : (tensor<64x!tt.ptr<f32>>) -> tensor<64xf32>
    %so = "tt.splat"(%po) : (!tt.ptr<f32>) -> tensor<64x!tt.ptr<f32>>
    %ao = "tt.addptr"(%so, %j) : (tensor<64x!tt.ptr<f32>>, tensor<64xi32>) -> tensor<64x!tt.ptr<f32>>
    "tt.store"(%ao, %v) {operandSegmentSizes = array<i32: 1, 1, 0>} : (tensor<64x!tt.ptr<f32>>, tensor<64xf32>) -> ()
    return %o : tensor<64xf32>
  }
}

// -----

// Must not fire: the kernel loads from a number on that it is given.
// CHECK-LABEL: func.func @main(
// CHECK: call @scaled
// CHECK: call @shifted_kernel
// SAID: missed: fuse-user-prologues: unknown-map{{.*}}: scaled and shifted_kernel stay apart:
module attributes {fuse.device = "cpu"} {
  func.func @main(%a: tensor<64xf32>, %n: i64) -> tensor<64xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %p = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %h = call @scaled(%a, %o) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    %r = call @shifted_kernel(%h, %p, %n) : (tensor<64xf32>, tensor<64xf32>, i64) -> tensor<64xf32>
    return %r : tensor<64xf32>
  }
  func.func private @scaled(%a: tensor<64xf32>, %o: tensor<64xf32>) -> tensor<64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %x = "fuse.load"(%a, %true, %zero) {at = ["d0"]} : (tensor<64xf32>, i1, f32) -> f32
    %r = arith.mulf %x, %x : f32
    %s = "fuse.store"(%o, %r, %true) {at = ["d0"], mode = "set"} : (tensor<64xf32>, f32, i1) -> tensor<64xf32>
    return %s : tensor<64xf32>
  }
  func.func private @shifted_kernel(%x: tensor<64xf32>, %o: tensor<64xf32>, %n: i64) -> tensor<64xf32> attributes {fuse.kernel, fuse.dims = {}, fuse.grid = ["1"], fuse.ties = array<i64: 1>, fuse.tile = {axes = [], num_stages = 1 : i64, num_warps = 4 : i64}, fuse.user = "model.py:7 shifted_kernel"} {
    %px = "fuse.base"(%x) : (tensor<64xf32>) -> !tt.ptr<f32>
    %po = "fuse.base"(%o) : (tensor<64xf32>) -> !tt.ptr<f32>
    %j = "tt.make_range"() {start = 0 : i32, end = 32 : i32} : () -> tensor<32xi32>
    %more = arith.trunci %n : i64 to i32
    %first = "tt.splat"(%more) : (i32) -> tensor<32xi32>
    %i = arith.addi %j, %first : tensor<32xi32>
    %sx = "tt.splat"(%px) : (!tt.ptr<f32>) -> tensor<32x!tt.ptr<f32>>
    %ax = "tt.addptr"(%sx, %i) : (tensor<32x!tt.ptr<f32>>, tensor<32xi32>) -> tensor<32x!tt.ptr<f32>>
    %v = "tt.load"(%ax) {operandSegmentSizes = array<i32: 1, 0, 0>} : (tensor<32x!tt.ptr<f32>>) -> tensor<32xf32>
    %so = "tt.splat"(%po) : (!tt.ptr<f32>) -> tensor<32x!tt.ptr<f32>>
    %ao = "tt.addptr"(%so, %j) : (tensor<32x!tt.ptr<f32>>, tensor<32xi32>) -> tensor<32x!tt.ptr<f32>>
    "tt.store"(%ao, %v) {operandSegmentSizes = array<i32: 1, 1, 0>} : (tensor<32x!tt.ptr<f32>>, tensor<32xf32>) -> ()
    return %o : tensor<64xf32>
  }
}

// -----

// Must not fire: an element is made of a row of the producer.
// CHECK-LABEL: func.func @main(
// CHECK: call @summed
// CHECK: call @row_kernel
// SAID: missed: fuse-user-prologues: reduction{{.*}}: summed and row_kernel stay apart:
module attributes {fuse.device = "cpu"} {
  func.func @main(%a: tensor<8x60xf32>, %b: tensor<60xf32>) -> tensor<8x60xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<8x60xf32>
    %p = "fuse.empty"() {syms = []} : () -> tensor<8x60xf32>
    %h = call @summed(%a, %b, %o) : (tensor<8x60xf32>, tensor<60xf32>, tensor<8x60xf32>) -> tensor<8x60xf32>
    %n = call @row_kernel(%h, %p) : (tensor<8x60xf32>, tensor<8x60xf32>) -> tensor<8x60xf32>
    return %n : tensor<8x60xf32>
  }
  func.func private @summed(%a: tensor<8x60xf32>, %b: tensor<60xf32>, %o: tensor<8x60xf32>) -> tensor<8x60xf32> attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "60"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %x = "fuse.load"(%a, %true, %zero) {at = ["d0", "d1"]} : (tensor<8x60xf32>, i1, f32) -> f32
    %t = "fuse.reduce"(%x) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %y = "fuse.load"(%a, %true, %zero) {at = ["d0", "d1"]} : (tensor<8x60xf32>, i1, f32) -> f32
    %r = arith.mulf %y, %t : f32
    %s = "fuse.store"(%o, %r, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<8x60xf32>, f32, i1) -> tensor<8x60xf32>
    return %s : tensor<8x60xf32>
  }
  func.func private @row_kernel(%x: tensor<8x60xf32>, %o: tensor<8x60xf32>) -> tensor<8x60xf32> attributes {fuse.kernel, fuse.dims = {}, fuse.grid = ["8"], fuse.ties = array<i64: 1>, fuse.tile = {axes = [], num_stages = 1 : i64, num_warps = 4 : i64}, fuse.user = "model.py:7 row_kernel"} {
    %px = "fuse.base"(%x) : (tensor<8x60xf32>) -> !tt.ptr<f32>
    %po = "fuse.base"(%o) : (tensor<8x60xf32>) -> !tt.ptr<f32>
    %p = "tt.get_program_id"() {axis = 0 : i32} : () -> i32
    %columns = arith.constant 60 : i32
    %at = arith.muli %p, %columns : i32
    %j = "tt.make_range"() {start = 0 : i32, end = 64 : i32} : () -> tensor<64xi32>
    %bounds = "tt.splat"(%columns) : (i32) -> tensor<64xi32>
    %in = arith.cmpi slt, %j, %bounds : tensor<64xi32>
    %axr = "tt.addptr"(%px, %at) : (!tt.ptr<f32>, i32) -> !tt.ptr<f32>
    %axs = "tt.splat"(%axr) : (!tt.ptr<f32>) -> tensor<64x!tt.ptr<f32>>
    %ax = "tt.addptr"(%axs, %j) : (tensor<64x!tt.ptr<f32>>, tensor<64xi32>) -> tensor<64x!tt.ptr<f32>>
    %low = arith.constant dense<0xFF800000> : tensor<64xf32>
    %v = "tt.load"(%ax, %in, %low) {operandSegmentSizes = array<i32: 1, 1, 1>} : (tensor<64x!tt.ptr<f32>>, tensor<64xi1>, tensor<64xf32>) -> tensor<64xf32>
    %aor = "tt.addptr"(%po, %at) : (!tt.ptr<f32>, i32) -> !tt.ptr<f32>
    %aos = "tt.splat"(%aor) : (!tt.ptr<f32>) -> tensor<64x!tt.ptr<f32>>
    %ao = "tt.addptr"(%aos, %j) : (tensor<64x!tt.ptr<f32>>, tensor<64xi32>) -> tensor<64x!tt.ptr<f32>>
    "tt.store"(%ao, %v, %in) {operandSegmentSizes = array<i32: 1, 1, 1>} : (tensor<64x!tt.ptr<f32>>, tensor<64xf32>, tensor<64xi1>) -> ()
    return %o : tensor<8x60xf32>
  }
}

// -----

// Must not fire: the producer stores four of the eight rows that the kernel loads.
// CHECK-LABEL: func.func @main(
// CHECK: call @half
// CHECK: call @row_kernel
// SAID: missed: fuse-user-prologues: other-points{{.*}}: half and row_kernel stay apart:
module attributes {fuse.device = "cpu"} {
  func.func @main(%a: tensor<8x60xf32>, %b: tensor<60xf32>) -> tensor<8x60xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<8x60xf32>
    %p = "fuse.empty"() {syms = []} : () -> tensor<8x60xf32>
    %h = call @half(%a, %b, %o) : (tensor<8x60xf32>, tensor<60xf32>, tensor<8x60xf32>) -> tensor<8x60xf32>
    %n = call @row_kernel(%h, %p) : (tensor<8x60xf32>, tensor<8x60xf32>) -> tensor<8x60xf32>
    return %n : tensor<8x60xf32>
  }
  func.func private @half(%a: tensor<8x60xf32>, %b: tensor<60xf32>, %o: tensor<8x60xf32>) -> tensor<8x60xf32> attributes {fuse.kernel, fuse.dims = {d0 = "4", d1 = "60"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %x = "fuse.load"(%a, %true, %zero) {at = ["d0", "d1"]} : (tensor<8x60xf32>, i1, f32) -> f32
    %r = arith.addf %x, %x : f32
    %s = "fuse.store"(%o, %r, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<8x60xf32>, f32, i1) -> tensor<8x60xf32>
    return %s : tensor<8x60xf32>
  }
  func.func private @row_kernel(%x: tensor<8x60xf32>, %o: tensor<8x60xf32>) -> tensor<8x60xf32> attributes {fuse.kernel, fuse.dims = {}, fuse.grid = ["8"], fuse.ties = array<i64: 1>, fuse.tile = {axes = [], num_stages = 1 : i64, num_warps = 4 : i64}, fuse.user = "model.py:7 row_kernel"} {
    %px = "fuse.base"(%x) : (tensor<8x60xf32>) -> !tt.ptr<f32>
    %po = "fuse.base"(%o) : (tensor<8x60xf32>) -> !tt.ptr<f32>
    %p = "tt.get_program_id"() {axis = 0 : i32} : () -> i32
    %columns = arith.constant 60 : i32
    %at = arith.muli %p, %columns : i32
    %j = "tt.make_range"() {start = 0 : i32, end = 64 : i32} : () -> tensor<64xi32>
    %bounds = "tt.splat"(%columns) : (i32) -> tensor<64xi32>
    %in = arith.cmpi slt, %j, %bounds : tensor<64xi32>
    %axr = "tt.addptr"(%px, %at) : (!tt.ptr<f32>, i32) -> !tt.ptr<f32>
    %axs = "tt.splat"(%axr) : (!tt.ptr<f32>) -> tensor<64x!tt.ptr<f32>>
    %ax = "tt.addptr"(%axs, %j) : (tensor<64x!tt.ptr<f32>>, tensor<64xi32>) -> tensor<64x!tt.ptr<f32>>
    %low = arith.constant dense<0xFF800000> : tensor<64xf32>
    %v = "tt.load"(%ax, %in, %low) {operandSegmentSizes = array<i32: 1, 1, 1>} : (tensor<64x!tt.ptr<f32>>, tensor<64xi1>, tensor<64xf32>) -> tensor<64xf32>
    %aor = "tt.addptr"(%po, %at) : (!tt.ptr<f32>, i32) -> !tt.ptr<f32>
    %aos = "tt.splat"(%aor) : (!tt.ptr<f32>) -> tensor<64x!tt.ptr<f32>>
    %ao = "tt.addptr"(%aos, %j) : (tensor<64x!tt.ptr<f32>>, tensor<64xi32>) -> tensor<64x!tt.ptr<f32>>
    "tt.store"(%ao, %v, %in) {operandSegmentSizes = array<i32: 1, 1, 1>} : (tensor<64x!tt.ptr<f32>>, tensor<64xf32>, tensor<64xi1>) -> ()
    return %o : tensor<8x60xf32>
  }
}

// -----

// Must not fire: the producer checks a condition.
// CHECK-LABEL: func.func @main(
// CHECK: call @checked
// CHECK: call @row_kernel
// SAID: missed: fuse-user-prologues: assert{{.*}}: checked and row_kernel stay apart:
module attributes {fuse.device = "cpu"} {
  func.func @main(%a: tensor<8x60xf32>, %b: tensor<60xf32>) -> tensor<8x60xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<8x60xf32>
    %p = "fuse.empty"() {syms = []} : () -> tensor<8x60xf32>
    %h = call @checked(%a, %b, %o) : (tensor<8x60xf32>, tensor<60xf32>, tensor<8x60xf32>) -> tensor<8x60xf32>
    %n = call @row_kernel(%h, %p) : (tensor<8x60xf32>, tensor<8x60xf32>) -> tensor<8x60xf32>
    return %n : tensor<8x60xf32>
  }
  func.func private @checked(%a: tensor<8x60xf32>, %b: tensor<60xf32>, %o: tensor<8x60xf32>) -> tensor<8x60xf32> attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "60"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %x = "fuse.load"(%a, %true, %zero) {at = ["d0", "d1"]} : (tensor<8x60xf32>, i1, f32) -> f32
    %ok = arith.cmpf ogt, %x, %zero : f32
    cf.assert %ok, "not positive"
    %r = arith.addf %x, %x : f32
    %s = "fuse.store"(%o, %r, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<8x60xf32>, f32, i1) -> tensor<8x60xf32>
    return %s : tensor<8x60xf32>
  }
  func.func private @row_kernel(%x: tensor<8x60xf32>, %o: tensor<8x60xf32>) -> tensor<8x60xf32> attributes {fuse.kernel, fuse.dims = {}, fuse.grid = ["8"], fuse.ties = array<i64: 1>, fuse.tile = {axes = [], num_stages = 1 : i64, num_warps = 4 : i64}, fuse.user = "model.py:7 row_kernel"} {
    %px = "fuse.base"(%x) : (tensor<8x60xf32>) -> !tt.ptr<f32>
    %po = "fuse.base"(%o) : (tensor<8x60xf32>) -> !tt.ptr<f32>
    %p = "tt.get_program_id"() {axis = 0 : i32} : () -> i32
    %columns = arith.constant 60 : i32
    %at = arith.muli %p, %columns : i32
    %j = "tt.make_range"() {start = 0 : i32, end = 64 : i32} : () -> tensor<64xi32>
    %bounds = "tt.splat"(%columns) : (i32) -> tensor<64xi32>
    %in = arith.cmpi slt, %j, %bounds : tensor<64xi32>
    %axr = "tt.addptr"(%px, %at) : (!tt.ptr<f32>, i32) -> !tt.ptr<f32>
    %axs = "tt.splat"(%axr) : (!tt.ptr<f32>) -> tensor<64x!tt.ptr<f32>>
    %ax = "tt.addptr"(%axs, %j) : (tensor<64x!tt.ptr<f32>>, tensor<64xi32>) -> tensor<64x!tt.ptr<f32>>
    %low = arith.constant dense<0xFF800000> : tensor<64xf32>
    %v = "tt.load"(%ax, %in, %low) {operandSegmentSizes = array<i32: 1, 1, 1>} : (tensor<64x!tt.ptr<f32>>, tensor<64xi1>, tensor<64xf32>) -> tensor<64xf32>
    %aor = "tt.addptr"(%po, %at) : (!tt.ptr<f32>, i32) -> !tt.ptr<f32>
    %aos = "tt.splat"(%aor) : (!tt.ptr<f32>) -> tensor<64x!tt.ptr<f32>>
    %ao = "tt.addptr"(%aos, %j) : (tensor<64x!tt.ptr<f32>>, tensor<64xi32>) -> tensor<64x!tt.ptr<f32>>
    "tt.store"(%ao, %v, %in) {operandSegmentSizes = array<i32: 1, 1, 1>} : (tensor<64x!tt.ptr<f32>>, tensor<64xf32>, tensor<64xi1>) -> ()
    return %o : tensor<8x60xf32>
  }
}

// -----

// Must not fire: the kernel overwrites what the tensor was made of.
// CHECK-LABEL: func.func @main(
// CHECK: call @scaled
// CHECK: call @row_kernel
// SAID: missed: fuse-user-prologues: overwritten{{.*}}: scaled and row_kernel stay apart:
module attributes {fuse.device = "cpu"} {
  func.func @main(%a: tensor<8x60xf32>, %b: tensor<60xf32>) -> tensor<8x60xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<8x60xf32>
    %h = call @scaled(%a, %b, %o) : (tensor<8x60xf32>, tensor<60xf32>, tensor<8x60xf32>) -> tensor<8x60xf32>
    %n = call @row_kernel(%h, %a) : (tensor<8x60xf32>, tensor<8x60xf32>) -> tensor<8x60xf32>
    return %n : tensor<8x60xf32>
  }
  func.func private @scaled(%a: tensor<8x60xf32>, %b: tensor<60xf32>, %o: tensor<8x60xf32>) -> tensor<8x60xf32> attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "60"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %x = "fuse.load"(%a, %true, %zero) {at = ["d0", "d1"]} : (tensor<8x60xf32>, i1, f32) -> f32
    %y = "fuse.load"(%b, %true, %zero) {at = ["d1"]} : (tensor<60xf32>, i1, f32) -> f32
    %r = arith.mulf %x, %y : f32
    %s = "fuse.store"(%o, %r, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<8x60xf32>, f32, i1) -> tensor<8x60xf32>
    return %s : tensor<8x60xf32>
  }
  func.func private @row_kernel(%x: tensor<8x60xf32>, %o: tensor<8x60xf32>) -> tensor<8x60xf32> attributes {fuse.kernel, fuse.dims = {}, fuse.grid = ["8"], fuse.ties = array<i64: 1>, fuse.tile = {axes = [], num_stages = 1 : i64, num_warps = 4 : i64}, fuse.user = "model.py:7 row_kernel"} {
    %px = "fuse.base"(%x) : (tensor<8x60xf32>) -> !tt.ptr<f32>
    %po = "fuse.base"(%o) : (tensor<8x60xf32>) -> !tt.ptr<f32>
    %p = "tt.get_program_id"() {axis = 0 : i32} : () -> i32
    %columns = arith.constant 60 : i32
    %at = arith.muli %p, %columns : i32
    %j = "tt.make_range"() {start = 0 : i32, end = 64 : i32} : () -> tensor<64xi32>
    %bounds = "tt.splat"(%columns) : (i32) -> tensor<64xi32>
    %in = arith.cmpi slt, %j, %bounds : tensor<64xi32>
    %axr = "tt.addptr"(%px, %at) : (!tt.ptr<f32>, i32) -> !tt.ptr<f32>
    %axs = "tt.splat"(%axr) : (!tt.ptr<f32>) -> tensor<64x!tt.ptr<f32>>
    %ax = "tt.addptr"(%axs, %j) : (tensor<64x!tt.ptr<f32>>, tensor<64xi32>) -> tensor<64x!tt.ptr<f32>>
    %low = arith.constant dense<0xFF800000> : tensor<64xf32>
    %v = "tt.load"(%ax, %in, %low) {operandSegmentSizes = array<i32: 1, 1, 1>} : (tensor<64x!tt.ptr<f32>>, tensor<64xi1>, tensor<64xf32>) -> tensor<64xf32>
    %aor = "tt.addptr"(%po, %at) : (!tt.ptr<f32>, i32) -> !tt.ptr<f32>
    %aos = "tt.splat"(%aor) : (!tt.ptr<f32>) -> tensor<64x!tt.ptr<f32>>
    %ao = "tt.addptr"(%aos, %j) : (tensor<64x!tt.ptr<f32>>, tensor<64xi32>) -> tensor<64x!tt.ptr<f32>>
    "tt.store"(%ao, %v, %in) {operandSegmentSizes = array<i32: 1, 1, 1>} : (tensor<64x!tt.ptr<f32>>, tensor<64xf32>, tensor<64xi1>) -> ()
    return %o : tensor<8x60xf32>
  }
}

// -----

// Must not fire: the tensor has gaps between its rows.
// CHECK-LABEL: func.func @main(
// CHECK: call @scaled
// CHECK: call @row_kernel
// SAID: missed: fuse-user-prologues: unknown-map{{.*}}: scaled and row_kernel stay apart:
module attributes {fuse.device = "cpu"} {
  func.func @main(%a: tensor<8x60xf32>, %b: tensor<60xf32>) -> tensor<8x60xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<8x60xf32, #fuse.layout<"8,60", "64,1", "0", "">>
    %p = "fuse.empty"() {syms = []} : () -> tensor<8x60xf32>
    %h = call @scaled(%a, %b, %o) : (tensor<8x60xf32>, tensor<60xf32>, tensor<8x60xf32, #fuse.layout<"8,60", "64,1", "0", "">>) -> tensor<8x60xf32, #fuse.layout<"8,60", "64,1", "0", "">>
    %n = call @row_kernel(%h, %p) : (tensor<8x60xf32, #fuse.layout<"8,60", "64,1", "0", "">>, tensor<8x60xf32>) -> tensor<8x60xf32>
    return %n : tensor<8x60xf32>
  }
  func.func private @scaled(%a: tensor<8x60xf32>, %b: tensor<60xf32>, %o: tensor<8x60xf32, #fuse.layout<"8,60", "64,1", "0", "">>) -> tensor<8x60xf32, #fuse.layout<"8,60", "64,1", "0", "">> attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "60"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %x = "fuse.load"(%a, %true, %zero) {at = ["d0", "d1"]} : (tensor<8x60xf32>, i1, f32) -> f32
    %y = "fuse.load"(%b, %true, %zero) {at = ["d1"]} : (tensor<60xf32>, i1, f32) -> f32
    %r = arith.mulf %x, %y : f32
    %s = "fuse.store"(%o, %r, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<8x60xf32, #fuse.layout<"8,60", "64,1", "0", "">>, f32, i1) -> tensor<8x60xf32, #fuse.layout<"8,60", "64,1", "0", "">>
    return %s : tensor<8x60xf32, #fuse.layout<"8,60", "64,1", "0", "">>
  }
  func.func private @row_kernel(%x: tensor<8x60xf32, #fuse.layout<"8,60", "64,1", "0", "">>, %o: tensor<8x60xf32>) -> tensor<8x60xf32> attributes {fuse.kernel, fuse.dims = {}, fuse.grid = ["8"], fuse.ties = array<i64: 1>, fuse.tile = {axes = [], num_stages = 1 : i64, num_warps = 4 : i64}, fuse.user = "model.py:7 row_kernel"} {
    %px = "fuse.base"(%x) : (tensor<8x60xf32, #fuse.layout<"8,60", "64,1", "0", "">>) -> !tt.ptr<f32>
    %po = "fuse.base"(%o) : (tensor<8x60xf32>) -> !tt.ptr<f32>
    %p = "tt.get_program_id"() {axis = 0 : i32} : () -> i32
    %columns = arith.constant 60 : i32
    %at = arith.muli %p, %columns : i32
    %j = "tt.make_range"() {start = 0 : i32, end = 64 : i32} : () -> tensor<64xi32>
    %bounds = "tt.splat"(%columns) : (i32) -> tensor<64xi32>
    %in = arith.cmpi slt, %j, %bounds : tensor<64xi32>
    %axr = "tt.addptr"(%px, %at) : (!tt.ptr<f32>, i32) -> !tt.ptr<f32>
    %axs = "tt.splat"(%axr) : (!tt.ptr<f32>) -> tensor<64x!tt.ptr<f32>>
    %ax = "tt.addptr"(%axs, %j) : (tensor<64x!tt.ptr<f32>>, tensor<64xi32>) -> tensor<64x!tt.ptr<f32>>
    %low = arith.constant dense<0xFF800000> : tensor<64xf32>
    %v = "tt.load"(%ax, %in, %low) {operandSegmentSizes = array<i32: 1, 1, 1>} : (tensor<64x!tt.ptr<f32>>, tensor<64xi1>, tensor<64xf32>) -> tensor<64xf32>
    %aor = "tt.addptr"(%po, %at) : (!tt.ptr<f32>, i32) -> !tt.ptr<f32>
    %aos = "tt.splat"(%aor) : (!tt.ptr<f32>) -> tensor<64x!tt.ptr<f32>>
    %ao = "tt.addptr"(%aos, %j) : (tensor<64x!tt.ptr<f32>>, tensor<64xi32>) -> tensor<64x!tt.ptr<f32>>
    "tt.store"(%ao, %v, %in) {operandSegmentSizes = array<i32: 1, 1, 1>} : (tensor<64x!tt.ptr<f32>>, tensor<64xf32>, tensor<64xi1>) -> ()
    return %o : tensor<8x60xf32>
  }
}

// -----

// Must not fire: the producer stores some elements only.
// CHECK-LABEL: func.func @main(
// CHECK: call @scaled
// CHECK: call @row_kernel
// SAID: missed: fuse-user-prologues: other-points{{.*}}: scaled and row_kernel stay apart:
module attributes {fuse.device = "cpu"} {
  func.func @main(%a: tensor<8x60xf32>, %b: tensor<60xf32>) -> tensor<8x60xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<8x60xf32>
    %p = "fuse.empty"() {syms = []} : () -> tensor<8x60xf32>
    %h = call @scaled(%a, %b, %o) : (tensor<8x60xf32>, tensor<60xf32>, tensor<8x60xf32>) -> tensor<8x60xf32>
    %n = call @row_kernel(%h, %p) : (tensor<8x60xf32>, tensor<8x60xf32>) -> tensor<8x60xf32>
    return %n : tensor<8x60xf32>
  }
  func.func private @scaled(%a: tensor<8x60xf32>, %b: tensor<60xf32>, %o: tensor<8x60xf32>) -> tensor<8x60xf32> attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "60"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %x = "fuse.load"(%a, %true, %zero) {at = ["d0", "d1"]} : (tensor<8x60xf32>, i1, f32) -> f32
    %y = "fuse.load"(%b, %true, %zero) {at = ["d1"]} : (tensor<60xf32>, i1, f32) -> f32
    %ok = arith.cmpf ogt, %x, %zero : f32
    %r = arith.mulf %x, %y : f32
    %s = "fuse.store"(%o, %r, %ok) {at = ["d0", "d1"], mode = "set"} : (tensor<8x60xf32>, f32, i1) -> tensor<8x60xf32>
    return %s : tensor<8x60xf32>
  }
  func.func private @row_kernel(%x: tensor<8x60xf32>, %o: tensor<8x60xf32>) -> tensor<8x60xf32> attributes {fuse.kernel, fuse.dims = {}, fuse.grid = ["8"], fuse.ties = array<i64: 1>, fuse.tile = {axes = [], num_stages = 1 : i64, num_warps = 4 : i64}, fuse.user = "model.py:7 row_kernel"} {
    %px = "fuse.base"(%x) : (tensor<8x60xf32>) -> !tt.ptr<f32>
    %po = "fuse.base"(%o) : (tensor<8x60xf32>) -> !tt.ptr<f32>
    %p = "tt.get_program_id"() {axis = 0 : i32} : () -> i32
    %columns = arith.constant 60 : i32
    %at = arith.muli %p, %columns : i32
    %j = "tt.make_range"() {start = 0 : i32, end = 64 : i32} : () -> tensor<64xi32>
    %bounds = "tt.splat"(%columns) : (i32) -> tensor<64xi32>
    %in = arith.cmpi slt, %j, %bounds : tensor<64xi32>
    %axr = "tt.addptr"(%px, %at) : (!tt.ptr<f32>, i32) -> !tt.ptr<f32>
    %axs = "tt.splat"(%axr) : (!tt.ptr<f32>) -> tensor<64x!tt.ptr<f32>>
    %ax = "tt.addptr"(%axs, %j) : (tensor<64x!tt.ptr<f32>>, tensor<64xi32>) -> tensor<64x!tt.ptr<f32>>
    %low = arith.constant dense<0xFF800000> : tensor<64xf32>
    %v = "tt.load"(%ax, %in, %low) {operandSegmentSizes = array<i32: 1, 1, 1>} : (tensor<64x!tt.ptr<f32>>, tensor<64xi1>, tensor<64xf32>) -> tensor<64xf32>
    %aor = "tt.addptr"(%po, %at) : (!tt.ptr<f32>, i32) -> !tt.ptr<f32>
    %aos = "tt.splat"(%aor) : (!tt.ptr<f32>) -> tensor<64x!tt.ptr<f32>>
    %ao = "tt.addptr"(%aos, %j) : (tensor<64x!tt.ptr<f32>>, tensor<64xi32>) -> tensor<64x!tt.ptr<f32>>
    "tt.store"(%ao, %v, %in) {operandSegmentSizes = array<i32: 1, 1, 1>} : (tensor<64x!tt.ptr<f32>>, tensor<64xf32>, tensor<64xi1>) -> ()
    return %o : tensor<8x60xf32>
  }
}

// -----

// Must not fire: the producer writes into a tensor of the caller.
// CHECK-LABEL: func.func @main(
// CHECK: call @scaled
// CHECK: call @row_kernel
// SAID: missed: fuse-user-prologues: destination{{.*}}: scaled and row_kernel stay apart:
module attributes {fuse.device = "cpu"} {
  func.func @main(%a: tensor<8x60xf32>, %b: tensor<60xf32>, %o: tensor<8x60xf32>) -> tensor<8x60xf32> {
    %p = "fuse.empty"() {syms = []} : () -> tensor<8x60xf32>
    %h = call @scaled(%a, %b, %o) : (tensor<8x60xf32>, tensor<60xf32>, tensor<8x60xf32>) -> tensor<8x60xf32>
    %n = call @row_kernel(%h, %p) : (tensor<8x60xf32>, tensor<8x60xf32>) -> tensor<8x60xf32>
    return %n : tensor<8x60xf32>
  }
  func.func private @scaled(%a: tensor<8x60xf32>, %b: tensor<60xf32>, %o: tensor<8x60xf32>) -> tensor<8x60xf32> attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "60"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %x = "fuse.load"(%a, %true, %zero) {at = ["d0", "d1"]} : (tensor<8x60xf32>, i1, f32) -> f32
    %y = "fuse.load"(%b, %true, %zero) {at = ["d1"]} : (tensor<60xf32>, i1, f32) -> f32
    %r = arith.mulf %x, %y : f32
    %s = "fuse.store"(%o, %r, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<8x60xf32>, f32, i1) -> tensor<8x60xf32>
    return %s : tensor<8x60xf32>
  }
  func.func private @row_kernel(%x: tensor<8x60xf32>, %o: tensor<8x60xf32>) -> tensor<8x60xf32> attributes {fuse.kernel, fuse.dims = {}, fuse.grid = ["8"], fuse.ties = array<i64: 1>, fuse.tile = {axes = [], num_stages = 1 : i64, num_warps = 4 : i64}, fuse.user = "model.py:7 row_kernel"} {
    %px = "fuse.base"(%x) : (tensor<8x60xf32>) -> !tt.ptr<f32>
    %po = "fuse.base"(%o) : (tensor<8x60xf32>) -> !tt.ptr<f32>
    %p = "tt.get_program_id"() {axis = 0 : i32} : () -> i32
    %columns = arith.constant 60 : i32
    %at = arith.muli %p, %columns : i32
    %j = "tt.make_range"() {start = 0 : i32, end = 64 : i32} : () -> tensor<64xi32>
    %bounds = "tt.splat"(%columns) : (i32) -> tensor<64xi32>
    %in = arith.cmpi slt, %j, %bounds : tensor<64xi32>
    %axr = "tt.addptr"(%px, %at) : (!tt.ptr<f32>, i32) -> !tt.ptr<f32>
    %axs = "tt.splat"(%axr) : (!tt.ptr<f32>) -> tensor<64x!tt.ptr<f32>>
    %ax = "tt.addptr"(%axs, %j) : (tensor<64x!tt.ptr<f32>>, tensor<64xi32>) -> tensor<64x!tt.ptr<f32>>
    %low = arith.constant dense<0xFF800000> : tensor<64xf32>
    %v = "tt.load"(%ax, %in, %low) {operandSegmentSizes = array<i32: 1, 1, 1>} : (tensor<64x!tt.ptr<f32>>, tensor<64xi1>, tensor<64xf32>) -> tensor<64xf32>
    %aor = "tt.addptr"(%po, %at) : (!tt.ptr<f32>, i32) -> !tt.ptr<f32>
    %aos = "tt.splat"(%aor) : (!tt.ptr<f32>) -> tensor<64x!tt.ptr<f32>>
    %ao = "tt.addptr"(%aos, %j) : (tensor<64x!tt.ptr<f32>>, tensor<64xi32>) -> tensor<64x!tt.ptr<f32>>
    "tt.store"(%ao, %v, %in) {operandSegmentSizes = array<i32: 1, 1, 1>} : (tensor<64x!tt.ptr<f32>>, tensor<64xf32>, tensor<64xi1>) -> ()
    return %o : tensor<8x60xf32>
  }
}

// -----

// Must not fire: the power has no form on tiles.
// CHECK-LABEL: func.func @main(
// CHECK: call @power
// CHECK: call @row_kernel
// SAID: missed: fuse-user-prologues: no-form{{.*}}: power and row_kernel stay apart:
module attributes {fuse.device = "cpu"} {
  func.func @main(%a: tensor<8x60xf32>, %b: tensor<60xf32>) -> tensor<8x60xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<8x60xf32>
    %p = "fuse.empty"() {syms = []} : () -> tensor<8x60xf32>
    %h = call @power(%a, %b, %o) : (tensor<8x60xf32>, tensor<60xf32>, tensor<8x60xf32>) -> tensor<8x60xf32>
    %n = call @row_kernel(%h, %p) : (tensor<8x60xf32>, tensor<8x60xf32>) -> tensor<8x60xf32>
    return %n : tensor<8x60xf32>
  }
  func.func private @power(%a: tensor<8x60xf32>, %b: tensor<60xf32>, %o: tensor<8x60xf32>) -> tensor<8x60xf32> attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "60"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %x = "fuse.load"(%a, %true, %zero) {at = ["d0", "d1"]} : (tensor<8x60xf32>, i1, f32) -> f32
    %n = arith.constant 3 : i64
    %r = math.fpowi %x, %n : f32, i64
    %s = "fuse.store"(%o, %r, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<8x60xf32>, f32, i1) -> tensor<8x60xf32>
    return %s : tensor<8x60xf32>
  }
  func.func private @row_kernel(%x: tensor<8x60xf32>, %o: tensor<8x60xf32>) -> tensor<8x60xf32> attributes {fuse.kernel, fuse.dims = {}, fuse.grid = ["8"], fuse.ties = array<i64: 1>, fuse.tile = {axes = [], num_stages = 1 : i64, num_warps = 4 : i64}, fuse.user = "model.py:7 row_kernel"} {
    %px = "fuse.base"(%x) : (tensor<8x60xf32>) -> !tt.ptr<f32>
    %po = "fuse.base"(%o) : (tensor<8x60xf32>) -> !tt.ptr<f32>
    %p = "tt.get_program_id"() {axis = 0 : i32} : () -> i32
    %columns = arith.constant 60 : i32
    %at = arith.muli %p, %columns : i32
    %j = "tt.make_range"() {start = 0 : i32, end = 64 : i32} : () -> tensor<64xi32>
    %bounds = "tt.splat"(%columns) : (i32) -> tensor<64xi32>
    %in = arith.cmpi slt, %j, %bounds : tensor<64xi32>
    %axr = "tt.addptr"(%px, %at) : (!tt.ptr<f32>, i32) -> !tt.ptr<f32>
    %axs = "tt.splat"(%axr) : (!tt.ptr<f32>) -> tensor<64x!tt.ptr<f32>>
    %ax = "tt.addptr"(%axs, %j) : (tensor<64x!tt.ptr<f32>>, tensor<64xi32>) -> tensor<64x!tt.ptr<f32>>
    %low = arith.constant dense<0xFF800000> : tensor<64xf32>
    %v = "tt.load"(%ax, %in, %low) {operandSegmentSizes = array<i32: 1, 1, 1>} : (tensor<64x!tt.ptr<f32>>, tensor<64xi1>, tensor<64xf32>) -> tensor<64xf32>
    %aor = "tt.addptr"(%po, %at) : (!tt.ptr<f32>, i32) -> !tt.ptr<f32>
    %aos = "tt.splat"(%aor) : (!tt.ptr<f32>) -> tensor<64x!tt.ptr<f32>>
    %ao = "tt.addptr"(%aos, %j) : (tensor<64x!tt.ptr<f32>>, tensor<64xi32>) -> tensor<64x!tt.ptr<f32>>
    "tt.store"(%ao, %v, %in) {operandSegmentSizes = array<i32: 1, 1, 1>} : (tensor<64x!tt.ptr<f32>>, tensor<64xf32>, tensor<64xi1>) -> ()
    return %o : tensor<8x60xf32>
  }
}

// -----

// Must not fire: the address is given to PTX text that may do anything with it.
// CHECK-LABEL: func.func @main(
// CHECK: call @scaled
// CHECK: call @row_kernel
// SAID: missed: fuse-user-prologues: unknown-memory{{.*}}: scaled and row_kernel stay apart:
module attributes {fuse.device = "cpu"} {
  func.func @main(%a: tensor<8x60xf32>, %b: tensor<60xf32>) -> tensor<8x60xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<8x60xf32>
    %p = "fuse.empty"() {syms = []} : () -> tensor<8x60xf32>
    %h = call @scaled(%a, %b, %o) : (tensor<8x60xf32>, tensor<60xf32>, tensor<8x60xf32>) -> tensor<8x60xf32>
    %n = call @row_kernel(%h, %p) : (tensor<8x60xf32>, tensor<8x60xf32>) -> tensor<8x60xf32>
    return %n : tensor<8x60xf32>
  }
  func.func private @scaled(%a: tensor<8x60xf32>, %b: tensor<60xf32>, %o: tensor<8x60xf32>) -> tensor<8x60xf32> attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "60"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %x = "fuse.load"(%a, %true, %zero) {at = ["d0", "d1"]} : (tensor<8x60xf32>, i1, f32) -> f32
    %y = "fuse.load"(%b, %true, %zero) {at = ["d1"]} : (tensor<60xf32>, i1, f32) -> f32
    %r = arith.mulf %x, %y : f32
    %s = "fuse.store"(%o, %r, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<8x60xf32>, f32, i1) -> tensor<8x60xf32>
    return %s : tensor<8x60xf32>
  }
  func.func private @row_kernel(%x: tensor<8x60xf32>, %o: tensor<8x60xf32>) -> tensor<8x60xf32> attributes {fuse.kernel, fuse.dims = {}, fuse.grid = ["8"], fuse.ties = array<i64: 1>, fuse.tile = {axes = [], num_stages = 1 : i64, num_warps = 4 : i64}, fuse.user = "model.py:7 row_kernel"} {
    %px = "fuse.base"(%x) : (tensor<8x60xf32>) -> !tt.ptr<f32>
    %po = "fuse.base"(%o) : (tensor<8x60xf32>) -> !tt.ptr<f32>
    %p = "tt.get_program_id"() {axis = 0 : i32} : () -> i32
    %columns = arith.constant 60 : i32
    %at = arith.muli %p, %columns : i32
    %j = "tt.make_range"() {start = 0 : i32, end = 64 : i32} : () -> tensor<64xi32>
    %bounds = "tt.splat"(%columns) : (i32) -> tensor<64xi32>
    %in = arith.cmpi slt, %j, %bounds : tensor<64xi32>
    %axr = "tt.addptr"(%px, %at) : (!tt.ptr<f32>, i32) -> !tt.ptr<f32>
    %axs = "tt.splat"(%axr) : (!tt.ptr<f32>) -> tensor<64x!tt.ptr<f32>>
    %ax = "tt.addptr"(%axs, %j) : (tensor<64x!tt.ptr<f32>>, tensor<64xi32>) -> tensor<64x!tt.ptr<f32>>
    %low = arith.constant dense<0xFF800000> : tensor<64xf32>
    %v = "tt.load"(%ax, %in, %low) {operandSegmentSizes = array<i32: 1, 1, 1>} : (tensor<64x!tt.ptr<f32>>, tensor<64xi1>, tensor<64xf32>) -> tensor<64xf32>
    %y = "tt.elementwise_inline_asm"(%ax) {asm_string = "st.global.f32 [$1], 0f00000000;", constraints = "=r,l", packed_element = 1 : i32, pure = false} : (tensor<64x!tt.ptr<f32>>) -> tensor<64xi32>
    %aor = "tt.addptr"(%po, %at) : (!tt.ptr<f32>, i32) -> !tt.ptr<f32>
    %aos = "tt.splat"(%aor) : (!tt.ptr<f32>) -> tensor<64x!tt.ptr<f32>>
    %ao = "tt.addptr"(%aos, %j) : (tensor<64x!tt.ptr<f32>>, tensor<64xi32>) -> tensor<64x!tt.ptr<f32>>
    "tt.store"(%ao, %v, %in) {operandSegmentSizes = array<i32: 1, 1, 1>} : (tensor<64x!tt.ptr<f32>>, tensor<64xf32>, tensor<64xi1>) -> ()
    return %o : tensor<8x60xf32>
  }
}

// -----

// Must not fire: the kernel stores the address of the tensor.
// CHECK-LABEL: func.func @main(
// CHECK: call @scaled
// CHECK: call @row_kernel
// SAID: missed: fuse-user-prologues: unknown-memory{{.*}}: scaled and row_kernel stay apart:
module attributes {fuse.device = "cpu"} {
  func.func @main(%a: tensor<8x60xf32>, %b: tensor<60xf32>, %l: tensor<64xi64>) -> tensor<8x60xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<8x60xf32>
    %p = "fuse.empty"() {syms = []} : () -> tensor<8x60xf32>
    %h = call @scaled(%a, %b, %o) : (tensor<8x60xf32>, tensor<60xf32>, tensor<8x60xf32>) -> tensor<8x60xf32>
    %n:2 = call @row_kernel(%h, %p, %l) : (tensor<8x60xf32>, tensor<8x60xf32>, tensor<64xi64>) -> (tensor<8x60xf32>, tensor<64xi64>)
    return %n#0 : tensor<8x60xf32>
  }
  func.func private @scaled(%a: tensor<8x60xf32>, %b: tensor<60xf32>, %o: tensor<8x60xf32>) -> tensor<8x60xf32> attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "60"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %x = "fuse.load"(%a, %true, %zero) {at = ["d0", "d1"]} : (tensor<8x60xf32>, i1, f32) -> f32
    %y = "fuse.load"(%b, %true, %zero) {at = ["d1"]} : (tensor<60xf32>, i1, f32) -> f32
    %r = arith.mulf %x, %y : f32
    %s = "fuse.store"(%o, %r, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<8x60xf32>, f32, i1) -> tensor<8x60xf32>
    return %s : tensor<8x60xf32>
  }
  func.func private @row_kernel(%x: tensor<8x60xf32>, %o: tensor<8x60xf32>, %l: tensor<64xi64>) -> (tensor<8x60xf32>, tensor<64xi64>) attributes {fuse.kernel, fuse.dims = {}, fuse.grid = ["8"], fuse.ties = array<i64: 1, 2>, fuse.tile = {axes = [], num_stages = 1 : i64, num_warps = 4 : i64}, fuse.user = "model.py:7 row_kernel"} {
    %px = "fuse.base"(%x) : (tensor<8x60xf32>) -> !tt.ptr<f32>
    %po = "fuse.base"(%o) : (tensor<8x60xf32>) -> !tt.ptr<f32>
    %p = "tt.get_program_id"() {axis = 0 : i32} : () -> i32
    %columns = arith.constant 60 : i32
    %at = arith.muli %p, %columns : i32
    %j = "tt.make_range"() {start = 0 : i32, end = 64 : i32} : () -> tensor<64xi32>
    %bounds = "tt.splat"(%columns) : (i32) -> tensor<64xi32>
    %in = arith.cmpi slt, %j, %bounds : tensor<64xi32>
    %axr = "tt.addptr"(%px, %at) : (!tt.ptr<f32>, i32) -> !tt.ptr<f32>
    %axs = "tt.splat"(%axr) : (!tt.ptr<f32>) -> tensor<64x!tt.ptr<f32>>
    %ax = "tt.addptr"(%axs, %j) : (tensor<64x!tt.ptr<f32>>, tensor<64xi32>) -> tensor<64x!tt.ptr<f32>>
    %low = arith.constant dense<0xFF800000> : tensor<64xf32>
    %v = "tt.load"(%ax, %in, %low) {operandSegmentSizes = array<i32: 1, 1, 1>} : (tensor<64x!tt.ptr<f32>>, tensor<64xi1>, tensor<64xf32>) -> tensor<64xf32>
    %pl = "fuse.base"(%l) : (tensor<64xi64>) -> !tt.ptr<i64>
    %sl = "tt.splat"(%pl) : (!tt.ptr<i64>) -> tensor<64x!tt.ptr<i64>>
    %al = "tt.addptr"(%sl, %j) : (tensor<64x!tt.ptr<i64>>, tensor<64xi32>) -> tensor<64x!tt.ptr<i64>>
    %number = "tt.ptr_to_int"(%ax) : (tensor<64x!tt.ptr<f32>>) -> tensor<64xi64>
    "tt.store"(%al, %number) {operandSegmentSizes = array<i32: 1, 1, 0>} : (tensor<64x!tt.ptr<i64>>, tensor<64xi64>) -> ()
    %aor = "tt.addptr"(%po, %at) : (!tt.ptr<f32>, i32) -> !tt.ptr<f32>
    %aos = "tt.splat"(%aor) : (!tt.ptr<f32>) -> tensor<64x!tt.ptr<f32>>
    %ao = "tt.addptr"(%aos, %j) : (tensor<64x!tt.ptr<f32>>, tensor<64xi32>) -> tensor<64x!tt.ptr<f32>>
    "tt.store"(%ao, %v, %in) {operandSegmentSizes = array<i32: 1, 1, 1>} : (tensor<64x!tt.ptr<f32>>, tensor<64xf32>, tensor<64xi1>) -> ()
    return %o, %l : tensor<8x60xf32>, tensor<64xi64>
  }
}
