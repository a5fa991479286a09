// Calls of an ordered group wait for tokens; so do the users' kernels that they are fused with.
// RUN: fuse-opt %s --pass-pipeline="builtin.module(fuse-user-epilogues{hardware=h200},fuse-user-prologues{hardware=h200})" --split-input-file | FileCheck %s
// RUN: fuse-opt %s --pass-pipeline="builtin.module(fuse-user-epilogues{hardware=h200})" --split-input-file --remarks=text -o %t 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: not fuse-opt %s --pass-pipeline="builtin.module(fuse-user-prologues{hardware=abacus})" --split-input-file 2>&1 | FileCheck %s --check-prefix=BAD

// BAD: fuse-user-prologues: unknown hardware 'abacus'

// The user's kernel waits for @a. What it takes besides comes before the token.
// CHECK-LABEL: func.func @main(
// CHECK-SAME: %[[X:[^:]*]]: tensor<64xf32>, %[[Y:[^:]*]]: tensor<64xf32>
// CHECK: %[[A:.*]] = call @a(
// CHECK: %[[T:.*]] = "fuse.after"(%[[A]])
// CHECK: call @copy_sum(%[[X]], %[[Y]], %{{.*}}, %[[T]])
// CHECK: func.func private @copy_sum(%{{.*}}: tensor<64xf32>, %{{.*}}: tensor<64xf32>, %{{.*}}: tensor<64xf32>, %{{.*}}: !fuse.token)
// CHECK-SAME: fuse.ties = array<i64: 2>
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<64xf32>, %y: tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>) {
    %p = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %o = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %q = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %a = call @a(%x, %p) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    %t = "fuse.after"(%a) : (tensor<64xf32>) -> !fuse.token
    %c = call @copy(%x, %o, %t) : (tensor<64xf32>, tensor<64xf32>, !fuse.token) -> tensor<64xf32>
    %b = call @sum(%c, %y, %q) : (tensor<64xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    return %a, %b : tensor<64xf32>, tensor<64xf32>
  }
  func.func private @copy(%x: tensor<64xf32>, %o: tensor<64xf32>, %t: !fuse.token) -> tensor<64xf32>
      attributes {fuse.kernel, fuse.dims = {}, fuse.grid = ["4", "1", "1"], fuse.ties = array<i64: 1>,
                  fuse.tile = {axes = [], num_stages = 1 : i64, num_warps = 1 : i64}, fuse.user = "model.py:3 copy"} {
    %px = "fuse.base"(%x) : (tensor<64xf32>) -> !tt.ptr<f32>
    %po = "fuse.base"(%o) : (tensor<64xf32>) -> !tt.ptr<f32>
    %id = "tt.get_program_id"() {axis = 0 : i32} : () -> i32
    %c16 = arith.constant 16 : i32
    %first = arith.muli %id, %c16 : i32
    %range = "tt.make_range"() {start = 0 : i32, end = 16 : i32} : () -> tensor<16xi32>
    %firsts = "tt.splat"(%first) : (i32) -> tensor<16xi32>
    %at = arith.addi %firsts, %range : tensor<16xi32>
    %sax = "tt.splat"(%px) : (!tt.ptr<f32>) -> tensor<16x!tt.ptr<f32>>
    %ax = "tt.addptr"(%sax, %at) : (tensor<16x!tt.ptr<f32>>, tensor<16xi32>) -> tensor<16x!tt.ptr<f32>>
    %v = "tt.load"(%ax) {operandSegmentSizes = array<i32: 1, 0, 0>} : (tensor<16x!tt.ptr<f32>>) -> tensor<16xf32>
    %sao = "tt.splat"(%po) : (!tt.ptr<f32>) -> tensor<16x!tt.ptr<f32>>
    %ao = "tt.addptr"(%sao, %at) : (tensor<16x!tt.ptr<f32>>, tensor<16xi32>) -> tensor<16x!tt.ptr<f32>>
    "tt.store"(%ao, %v) {operandSegmentSizes = array<i32: 1, 1, 0>} : (tensor<16x!tt.ptr<f32>>, tensor<16xf32>) -> ()
    return %o : tensor<64xf32>
  }
  func.func private @a(%x0: tensor<64xf32>, %o: tensor<64xf32>) -> tensor<64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v0 = "fuse.load"(%x0, %true, %zero) {at = ["d0"]} : (tensor<64xf32>, i1, f32) -> f32
    %n = arith.negf %v0 : f32
    %r = "fuse.store"(%o, %n, %true) {at = ["d0"], mode = "set"} : (tensor<64xf32>, f32, i1) -> tensor<64xf32>
    return %r : tensor<64xf32>
  }
  func.func private @sum(%x0: tensor<64xf32>, %x1: tensor<64xf32>, %o: tensor<64xf32>) -> tensor<64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v0 = "fuse.load"(%x0, %true, %zero) {at = ["d0"]} : (tensor<64xf32>, i1, f32) -> f32
    %v1 = "fuse.load"(%x1, %true, %zero) {at = ["d0"]} : (tensor<64xf32>, i1, f32) -> f32
    %n = arith.addf %v0, %v1 : f32
    %r = "fuse.store"(%o, %n, %true) {at = ["d0"], mode = "set"} : (tensor<64xf32>, f32, i1) -> tensor<64xf32>
    return %r : tensor<64xf32>
  }
}

// -----

// What waits for @a is the reader, and the kernel of which it becomes a part; @a moves in front of that.
// CHECK-LABEL: func.func @main(
// CHECK: %[[A:.*]] = call @a(
// CHECK: %[[T:.*]] = "fuse.after"(%[[A]])
// CHECK: call @copy_b(%arg0, %{{.*}}, %[[T]])
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<64xf32>, %y: tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>) {
    %p = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %o = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %q = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %c = call @copy(%x, %o) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    %a = call @a(%y, %p) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    %t = "fuse.after"(%a) : (tensor<64xf32>) -> !fuse.token
    %b = call @b(%c, %q, %t) : (tensor<64xf32>, tensor<64xf32>, !fuse.token) -> tensor<64xf32>
    return %a, %b : tensor<64xf32>, tensor<64xf32>
  }
  func.func private @copy(%x: tensor<64xf32>, %o: tensor<64xf32>) -> tensor<64xf32>
      attributes {fuse.kernel, fuse.dims = {}, fuse.grid = ["4", "1", "1"], fuse.ties = array<i64: 1>,
                  fuse.tile = {axes = [], num_stages = 1 : i64, num_warps = 1 : i64}, fuse.user = "model.py:3 copy"} {
    %px = "fuse.base"(%x) : (tensor<64xf32>) -> !tt.ptr<f32>
    %po = "fuse.base"(%o) : (tensor<64xf32>) -> !tt.ptr<f32>
    %id = "tt.get_program_id"() {axis = 0 : i32} : () -> i32
    %c16 = arith.constant 16 : i32
    %first = arith.muli %id, %c16 : i32
    %range = "tt.make_range"() {start = 0 : i32, end = 16 : i32} : () -> tensor<16xi32>
    %firsts = "tt.splat"(%first) : (i32) -> tensor<16xi32>
    %at = arith.addi %firsts, %range : tensor<16xi32>
    %sax = "tt.splat"(%px) : (!tt.ptr<f32>) -> tensor<16x!tt.ptr<f32>>
    %ax = "tt.addptr"(%sax, %at) : (tensor<16x!tt.ptr<f32>>, tensor<16xi32>) -> tensor<16x!tt.ptr<f32>>
    %v = "tt.load"(%ax) {operandSegmentSizes = array<i32: 1, 0, 0>} : (tensor<16x!tt.ptr<f32>>) -> tensor<16xf32>
    %sao = "tt.splat"(%po) : (!tt.ptr<f32>) -> tensor<16x!tt.ptr<f32>>
    %ao = "tt.addptr"(%sao, %at) : (tensor<16x!tt.ptr<f32>>, tensor<16xi32>) -> tensor<16x!tt.ptr<f32>>
    "tt.store"(%ao, %v) {operandSegmentSizes = array<i32: 1, 1, 0>} : (tensor<16x!tt.ptr<f32>>, tensor<16xf32>) -> ()
    return %o : tensor<64xf32>
  }
  func.func private @a(%x0: tensor<64xf32>, %o: tensor<64xf32>) -> tensor<64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v0 = "fuse.load"(%x0, %true, %zero) {at = ["d0"]} : (tensor<64xf32>, i1, f32) -> f32
    %n = arith.negf %v0 : f32
    %r = "fuse.store"(%o, %n, %true) {at = ["d0"], mode = "set"} : (tensor<64xf32>, f32, i1) -> tensor<64xf32>
    return %r : tensor<64xf32>
  }
  func.func private @b(%x0: tensor<64xf32>, %o: tensor<64xf32>, %t: !fuse.token) -> tensor<64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v0 = "fuse.load"(%x0, %true, %zero) {at = ["d0"]} : (tensor<64xf32>, i1, f32) -> f32
    %n = arith.negf %v0 : f32
    %r = "fuse.store"(%o, %n, %true) {at = ["d0"], mode = "set"} : (tensor<64xf32>, f32, i1) -> tensor<64xf32>
    return %r : tensor<64xf32>
  }
}

// -----

// Must not fire: the reader waits for what the user's kernel computes already.
// CHECK-LABEL: func.func @main(
// CHECK: %[[A:.*]]:2 = call @copy_a(
// CHECK: "fuse.after"(%[[A]]#1)
// CHECK: call @b(
// REMARK: missed: fuse-user-epilogues: order, between=fuse.after: b stays apart from the user's kernel copy_a: fuse.after must run after the user's kernel and before it
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<64xf32>, %y: tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>) {
    %p = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %o = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %q = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %c = call @copy(%x, %o) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    %a = call @a(%c, %c, %p) : (tensor<64xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    %t = "fuse.after"(%a) : (tensor<64xf32>) -> !fuse.token
    %b = call @b(%c, %q, %t) : (tensor<64xf32>, tensor<64xf32>, !fuse.token) -> tensor<64xf32>
    return %a, %b : tensor<64xf32>, tensor<64xf32>
  }
  func.func private @copy(%x: tensor<64xf32>, %o: tensor<64xf32>) -> tensor<64xf32>
      attributes {fuse.kernel, fuse.dims = {}, fuse.grid = ["4", "1", "1"], fuse.ties = array<i64: 1>,
                  fuse.tile = {axes = [], num_stages = 1 : i64, num_warps = 1 : i64}, fuse.user = "model.py:3 copy"} {
    %px = "fuse.base"(%x) : (tensor<64xf32>) -> !tt.ptr<f32>
    %po = "fuse.base"(%o) : (tensor<64xf32>) -> !tt.ptr<f32>
    %id = "tt.get_program_id"() {axis = 0 : i32} : () -> i32
    %c16 = arith.constant 16 : i32
    %first = arith.muli %id, %c16 : i32
    %range = "tt.make_range"() {start = 0 : i32, end = 16 : i32} : () -> tensor<16xi32>
    %firsts = "tt.splat"(%first) : (i32) -> tensor<16xi32>
    %at = arith.addi %firsts, %range : tensor<16xi32>
    %sax = "tt.splat"(%px) : (!tt.ptr<f32>) -> tensor<16x!tt.ptr<f32>>
    %ax = "tt.addptr"(%sax, %at) : (tensor<16x!tt.ptr<f32>>, tensor<16xi32>) -> tensor<16x!tt.ptr<f32>>
    %v = "tt.load"(%ax) {operandSegmentSizes = array<i32: 1, 0, 0>} : (tensor<16x!tt.ptr<f32>>) -> tensor<16xf32>
    %sao = "tt.splat"(%po) : (!tt.ptr<f32>) -> tensor<16x!tt.ptr<f32>>
    %ao = "tt.addptr"(%sao, %at) : (tensor<16x!tt.ptr<f32>>, tensor<16xi32>) -> tensor<16x!tt.ptr<f32>>
    "tt.store"(%ao, %v) {operandSegmentSizes = array<i32: 1, 1, 0>} : (tensor<16x!tt.ptr<f32>>, tensor<16xf32>) -> ()
    return %o : tensor<64xf32>
  }
  func.func private @a(%x0: tensor<64xf32>, %x1: tensor<64xf32>, %o: tensor<64xf32>) -> tensor<64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v0 = "fuse.load"(%x0, %true, %zero) {at = ["d0"]} : (tensor<64xf32>, i1, f32) -> f32
    %v1 = "fuse.load"(%x1, %true, %zero) {at = ["d0"]} : (tensor<64xf32>, i1, f32) -> f32
    %n = arith.mulf %v0, %v1 : f32
    %r = "fuse.store"(%o, %n, %true) {at = ["d0"], mode = "set"} : (tensor<64xf32>, f32, i1) -> tensor<64xf32>
    return %r : tensor<64xf32>
  }
  func.func private @b(%x0: tensor<64xf32>, %o: tensor<64xf32>, %t: !fuse.token) -> tensor<64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v0 = "fuse.load"(%x0, %true, %zero) {at = ["d0"]} : (tensor<64xf32>, i1, f32) -> f32
    %n = arith.negf %v0 : f32
    %r = "fuse.store"(%o, %n, %true) {at = ["d0"], mode = "set"} : (tensor<64xf32>, f32, i1) -> tensor<64xf32>
    return %r : tensor<64xf32>
  }
}

// -----

// The producer waits for @a, and so does the user's kernel that computes it.
// CHECK-LABEL: func.func @main(
// CHECK: %[[A:.*]] = call @a(
// CHECK: %[[T:.*]] = "fuse.after"(%[[A]])
// CHECK: call @fused_b_copy(%{{.*}}, %arg0, %[[T]])
// CHECK: func.func private @fused_b_copy(%{{.*}}: tensor<64xf32>, %{{.*}}: tensor<64xf32>, %{{.*}}: !fuse.token)
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<64xf32>, %y: tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>) {
    %p = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %o = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %q = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %a = call @a(%y, %p) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    %t = "fuse.after"(%a) : (tensor<64xf32>) -> !fuse.token
    %b = call @b(%x, %q, %t) : (tensor<64xf32>, tensor<64xf32>, !fuse.token) -> tensor<64xf32>
    %c = call @copy(%b, %o) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    return %a, %c : tensor<64xf32>, tensor<64xf32>
  }
  func.func private @copy(%x: tensor<64xf32>, %o: tensor<64xf32>) -> tensor<64xf32>
      attributes {fuse.kernel, fuse.dims = {}, fuse.grid = ["4", "1", "1"], fuse.ties = array<i64: 1>,
                  fuse.tile = {axes = [], num_stages = 1 : i64, num_warps = 1 : i64}, fuse.user = "model.py:3 copy"} {
    %px = "fuse.base"(%x) : (tensor<64xf32>) -> !tt.ptr<f32>
    %po = "fuse.base"(%o) : (tensor<64xf32>) -> !tt.ptr<f32>
    %id = "tt.get_program_id"() {axis = 0 : i32} : () -> i32
    %c16 = arith.constant 16 : i32
    %first = arith.muli %id, %c16 : i32
    %range = "tt.make_range"() {start = 0 : i32, end = 16 : i32} : () -> tensor<16xi32>
    %firsts = "tt.splat"(%first) : (i32) -> tensor<16xi32>
    %at = arith.addi %firsts, %range : tensor<16xi32>
    %sax = "tt.splat"(%px) : (!tt.ptr<f32>) -> tensor<16x!tt.ptr<f32>>
    %ax = "tt.addptr"(%sax, %at) : (tensor<16x!tt.ptr<f32>>, tensor<16xi32>) -> tensor<16x!tt.ptr<f32>>
    %v = "tt.load"(%ax) {operandSegmentSizes = array<i32: 1, 0, 0>} : (tensor<16x!tt.ptr<f32>>) -> tensor<16xf32>
    %sao = "tt.splat"(%po) : (!tt.ptr<f32>) -> tensor<16x!tt.ptr<f32>>
    %ao = "tt.addptr"(%sao, %at) : (tensor<16x!tt.ptr<f32>>, tensor<16xi32>) -> tensor<16x!tt.ptr<f32>>
    "tt.store"(%ao, %v) {operandSegmentSizes = array<i32: 1, 1, 0>} : (tensor<16x!tt.ptr<f32>>, tensor<16xf32>) -> ()
    return %o : tensor<64xf32>
  }
  func.func private @a(%x0: tensor<64xf32>, %o: tensor<64xf32>) -> tensor<64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v0 = "fuse.load"(%x0, %true, %zero) {at = ["d0"]} : (tensor<64xf32>, i1, f32) -> f32
    %n = arith.negf %v0 : f32
    %r = "fuse.store"(%o, %n, %true) {at = ["d0"], mode = "set"} : (tensor<64xf32>, f32, i1) -> tensor<64xf32>
    return %r : tensor<64xf32>
  }
  func.func private @b(%x0: tensor<64xf32>, %o: tensor<64xf32>, %t: !fuse.token) -> tensor<64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v0 = "fuse.load"(%x0, %true, %zero) {at = ["d0"]} : (tensor<64xf32>, i1, f32) -> f32
    %n = arith.negf %v0 : f32
    %r = "fuse.store"(%o, %n, %true) {at = ["d0"], mode = "set"} : (tensor<64xf32>, f32, i1) -> tensor<64xf32>
    return %r : tensor<64xf32>
  }
}
