// Users' kernels that read what another one makes, and one producer.
// RUN: fuse-opt %s --pass-pipeline="builtin.module(fuse-user-prologues{hardware=h200})" --split-input-file | FileCheck %s
// RUN: fuse-opt %s --pass-pipeline="builtin.module(fuse-user-prologues{hardware=h200})" --split-input-file --remarks=text -o %t 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: not fuse-opt %s --pass-pipeline="builtin.module(fuse-user-prologues{hardware=abacus})" --split-input-file 2>&1 | FileCheck %s --check-prefix=BAD

// BAD: fuse-user-prologues: unknown hardware 'abacus'

// Both compute @half; the second still takes what the first makes.
// CHECK-LABEL: func.func @main(
// CHECK-SAME: %[[X:[^:]*]]: tensor<64xf32>
// CHECK-NOT: call @half
// CHECK: %[[A:.*]] = call @fused_half_first(%{{.*}}, %[[X]])
// CHECK: %[[B:.*]] = call @fused_half_second(%[[A]], %{{.*}}, %[[X]])
// CHECK: return %[[B]]
// REMARK: passed: fuse-user-prologues: fused{{.*}} first computes the result of half where it loads it
// REMARK: passed: fuse-user-prologues: fused{{.*}} second computes the result of half where it loads it
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<64xf32>) -> tensor<64xf32> {
    %h0 = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %o = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %p = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %h = call @half(%x, %h0) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    %a = call @first(%h, %o) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    %b = call @second(%h, %a, %p) : (tensor<64xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    return %b : tensor<64xf32>
  }
  func.func private @half(%x0: tensor<64xf32>, %o: tensor<64xf32>) -> tensor<64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v0 = "fuse.load"(%x0, %true, %zero) {at = ["d0"]} : (tensor<64xf32>, i1, f32) -> f32
    %n = arith.negf %v0 : f32
    %r = "fuse.store"(%o, %n, %true) {at = ["d0"], mode = "set"} : (tensor<64xf32>, f32, i1) -> tensor<64xf32>
    return %r : tensor<64xf32>
  }
  func.func private @first(%x0: tensor<64xf32>, %o: tensor<64xf32>) -> tensor<64xf32>
      attributes {fuse.kernel, fuse.dims = {}, fuse.grid = ["4", "1", "1"], fuse.ties = array<i64: 1>,
                  fuse.tile = {axes = [], num_stages = 1 : i64, num_warps = 1 : i64}, fuse.user = "model.py:3 first"} {
    %p0 = "fuse.base"(%x0) : (tensor<64xf32>) -> !tt.ptr<f32>
    %po = "fuse.base"(%o) : (tensor<64xf32>) -> !tt.ptr<f32>
    %id = "tt.get_program_id"() {axis = 0 : i32} : () -> i32
    %range = "tt.make_range"() {start = 0 : i32, end = 16 : i32} : () -> tensor<16xi32>
    %c = arith.constant 16 : i32
    %first = arith.muli %id, %c : i32
    %firsts = "tt.splat"(%first) : (i32) -> tensor<16xi32>
    %at = arith.addi %firsts, %range : tensor<16xi32>
    %s0 = "tt.splat"(%p0) : (!tt.ptr<f32>) -> tensor<16x!tt.ptr<f32>>
    %a0 = "tt.addptr"(%s0, %at) : (tensor<16x!tt.ptr<f32>>, tensor<16xi32>) -> tensor<16x!tt.ptr<f32>>
    %v0 = "tt.load"(%a0) {operandSegmentSizes = array<i32: 1, 0, 0>} : (tensor<16x!tt.ptr<f32>>) -> tensor<16xf32>
    %so = "tt.splat"(%po) : (!tt.ptr<f32>) -> tensor<16x!tt.ptr<f32>>
    %ao = "tt.addptr"(%so, %at) : (tensor<16x!tt.ptr<f32>>, tensor<16xi32>) -> tensor<16x!tt.ptr<f32>>
    "tt.store"(%ao, %v0) {operandSegmentSizes = array<i32: 1, 1, 0>} : (tensor<16x!tt.ptr<f32>>, tensor<16xf32>) -> ()
    return %o : tensor<64xf32>
  }
  func.func private @second(%x0: tensor<64xf32>, %x1: tensor<64xf32>, %o: tensor<64xf32>) -> tensor<64xf32>
      attributes {fuse.kernel, fuse.dims = {}, fuse.grid = ["4", "1", "1"], fuse.ties = array<i64: 2>,
                  fuse.tile = {axes = [], num_stages = 1 : i64, num_warps = 1 : i64}, fuse.user = "model.py:9 second"} {
    %p0 = "fuse.base"(%x0) : (tensor<64xf32>) -> !tt.ptr<f32>
    %p1 = "fuse.base"(%x1) : (tensor<64xf32>) -> !tt.ptr<f32>
    %po = "fuse.base"(%o) : (tensor<64xf32>) -> !tt.ptr<f32>
    %id = "tt.get_program_id"() {axis = 0 : i32} : () -> i32
    %range = "tt.make_range"() {start = 0 : i32, end = 16 : i32} : () -> tensor<16xi32>
    %c = arith.constant 16 : i32
    %first = arith.muli %id, %c : i32
    %firsts = "tt.splat"(%first) : (i32) -> tensor<16xi32>
    %at = arith.addi %firsts, %range : tensor<16xi32>
    %s0 = "tt.splat"(%p0) : (!tt.ptr<f32>) -> tensor<16x!tt.ptr<f32>>
    %a0 = "tt.addptr"(%s0, %at) : (tensor<16x!tt.ptr<f32>>, tensor<16xi32>) -> tensor<16x!tt.ptr<f32>>
    %v0 = "tt.load"(%a0) {operandSegmentSizes = array<i32: 1, 0, 0>} : (tensor<16x!tt.ptr<f32>>) -> tensor<16xf32>
    %s1 = "tt.splat"(%p1) : (!tt.ptr<f32>) -> tensor<16x!tt.ptr<f32>>
    %a1 = "tt.addptr"(%s1, %at) : (tensor<16x!tt.ptr<f32>>, tensor<16xi32>) -> tensor<16x!tt.ptr<f32>>
    %v1 = "tt.load"(%a1) {operandSegmentSizes = array<i32: 1, 0, 0>} : (tensor<16x!tt.ptr<f32>>) -> tensor<16xf32>
    %v = arith.addf %v0, %v1 : tensor<16xf32>
    %so = "tt.splat"(%po) : (!tt.ptr<f32>) -> tensor<16x!tt.ptr<f32>>
    %ao = "tt.addptr"(%so, %at) : (tensor<16x!tt.ptr<f32>>, tensor<16xi32>) -> tensor<16x!tt.ptr<f32>>
    "tt.store"(%ao, %v) {operandSegmentSizes = array<i32: 1, 1, 0>} : (tensor<16x!tt.ptr<f32>>, tensor<16xf32>) -> ()
    return %o : tensor<64xf32>
  }
}

// -----

// Must not fire: the first kernel writes to what the producer reads, before the second one would compute it.
// CHECK-LABEL: func.func @main(
// CHECK: %[[H:.*]] = call @half(
// CHECK: %[[A:.*]] = call @written(
// CHECK: call @second(%[[H]], %[[A]], %{{.*}})
// REMARK: missed: fuse-user-prologues: overwritten{{.*}}: half and second stay apart
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<64xf32>) -> tensor<64xf32> {
    %x0 = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %h0 = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %p = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %y = call @made(%x, %x0) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    %h = call @half(%y, %h0) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    %a = call @written(%y) : (tensor<64xf32>) -> tensor<64xf32>
    %b = call @second(%h, %a, %p) : (tensor<64xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    return %b : tensor<64xf32>
  }
  func.func private @made(%x0: tensor<64xf32>, %o: tensor<64xf32>) -> tensor<64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v0 = "fuse.load"(%x0, %true, %zero) {at = ["d0"]} : (tensor<64xf32>, i1, f32) -> f32
    %n = arith.negf %v0 : f32
    %r = "fuse.store"(%o, %n, %true) {at = ["d0"], mode = "set"} : (tensor<64xf32>, f32, i1) -> tensor<64xf32>
    return %r : tensor<64xf32>
  }
  func.func private @half(%x0: tensor<64xf32>, %o: tensor<64xf32>) -> tensor<64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v0 = "fuse.load"(%x0, %true, %zero) {at = ["d0"]} : (tensor<64xf32>, i1, f32) -> f32
    %n = arith.negf %v0 : f32
    %r = "fuse.store"(%o, %n, %true) {at = ["d0"], mode = "set"} : (tensor<64xf32>, f32, i1) -> tensor<64xf32>
    return %r : tensor<64xf32>
  }
  func.func private @written(%x0: tensor<64xf32>) -> tensor<64xf32>
      attributes {fuse.kernel, fuse.dims = {}, fuse.grid = ["4", "1", "1"], fuse.ties = array<i64: 0>,
                  fuse.tile = {axes = [], num_stages = 1 : i64, num_warps = 1 : i64}, fuse.user = "model.py:3 written"} {
    %p0 = "fuse.base"(%x0) : (tensor<64xf32>) -> !tt.ptr<f32>
    %id = "tt.get_program_id"() {axis = 0 : i32} : () -> i32
    %range = "tt.make_range"() {start = 0 : i32, end = 16 : i32} : () -> tensor<16xi32>
    %c = arith.constant 16 : i32
    %first = arith.muli %id, %c : i32
    %firsts = "tt.splat"(%first) : (i32) -> tensor<16xi32>
    %at = arith.addi %firsts, %range : tensor<16xi32>
    %s0 = "tt.splat"(%p0) : (!tt.ptr<f32>) -> tensor<16x!tt.ptr<f32>>
    %a0 = "tt.addptr"(%s0, %at) : (tensor<16x!tt.ptr<f32>>, tensor<16xi32>) -> tensor<16x!tt.ptr<f32>>
    %v0 = "tt.load"(%a0) {operandSegmentSizes = array<i32: 1, 0, 0>} : (tensor<16x!tt.ptr<f32>>) -> tensor<16xf32>
    "tt.store"(%a0, %v0) {operandSegmentSizes = array<i32: 1, 1, 0>} : (tensor<16x!tt.ptr<f32>>, tensor<16xf32>) -> ()
    return %x0 : tensor<64xf32>
  }
  func.func private @second(%x0: tensor<64xf32>, %x1: tensor<64xf32>, %o: tensor<64xf32>) -> tensor<64xf32>
      attributes {fuse.kernel, fuse.dims = {}, fuse.grid = ["4", "1", "1"], fuse.ties = array<i64: 2>,
                  fuse.tile = {axes = [], num_stages = 1 : i64, num_warps = 1 : i64}, fuse.user = "model.py:9 second"} {
    %p0 = "fuse.base"(%x0) : (tensor<64xf32>) -> !tt.ptr<f32>
    %p1 = "fuse.base"(%x1) : (tensor<64xf32>) -> !tt.ptr<f32>
    %po = "fuse.base"(%o) : (tensor<64xf32>) -> !tt.ptr<f32>
    %id = "tt.get_program_id"() {axis = 0 : i32} : () -> i32
    %range = "tt.make_range"() {start = 0 : i32, end = 16 : i32} : () -> tensor<16xi32>
    %c = arith.constant 16 : i32
    %first = arith.muli %id, %c : i32
    %firsts = "tt.splat"(%first) : (i32) -> tensor<16xi32>
    %at = arith.addi %firsts, %range : tensor<16xi32>
    %s0 = "tt.splat"(%p0) : (!tt.ptr<f32>) -> tensor<16x!tt.ptr<f32>>
    %a0 = "tt.addptr"(%s0, %at) : (tensor<16x!tt.ptr<f32>>, tensor<16xi32>) -> tensor<16x!tt.ptr<f32>>
    %v0 = "tt.load"(%a0) {operandSegmentSizes = array<i32: 1, 0, 0>} : (tensor<16x!tt.ptr<f32>>) -> tensor<16xf32>
    %s1 = "tt.splat"(%p1) : (!tt.ptr<f32>) -> tensor<16x!tt.ptr<f32>>
    %a1 = "tt.addptr"(%s1, %at) : (tensor<16x!tt.ptr<f32>>, tensor<16xi32>) -> tensor<16x!tt.ptr<f32>>
    %v1 = "tt.load"(%a1) {operandSegmentSizes = array<i32: 1, 0, 0>} : (tensor<16x!tt.ptr<f32>>) -> tensor<16xf32>
    %v = arith.addf %v0, %v1 : tensor<16xf32>
    %so = "tt.splat"(%po) : (!tt.ptr<f32>) -> tensor<16x!tt.ptr<f32>>
    %ao = "tt.addptr"(%so, %at) : (tensor<16x!tt.ptr<f32>>, tensor<16xi32>) -> tensor<16x!tt.ptr<f32>>
    "tt.store"(%ao, %v) {operandSegmentSizes = array<i32: 1, 1, 0>} : (tensor<16x!tt.ptr<f32>>, tensor<16xf32>) -> ()
    return %o : tensor<64xf32>
  }
}

// -----

// Must not fire: the kernel stores to the tensor too, so that the second one reads what it stored.
// CHECK-LABEL: func.func @main(
// CHECK: %[[H:.*]] = call @half(
// CHECK: %[[A:.*]] = call @written(%[[H]])
// CHECK: call @second(%[[A]], %arg0, %{{.*}})
// REMARK: missed: fuse-user-prologues: written{{.*}}: half and written stay apart
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<64xf32>) -> tensor<64xf32> {
    %h0 = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %p = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %h = call @half(%x, %h0) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    %a = call @written(%h) : (tensor<64xf32>) -> tensor<64xf32>
    %b = call @second(%a, %x, %p) : (tensor<64xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    return %b : tensor<64xf32>
  }
  func.func private @half(%x0: tensor<64xf32>, %o: tensor<64xf32>) -> tensor<64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v0 = "fuse.load"(%x0, %true, %zero) {at = ["d0"]} : (tensor<64xf32>, i1, f32) -> f32
    %n = arith.negf %v0 : f32
    %r = "fuse.store"(%o, %n, %true) {at = ["d0"], mode = "set"} : (tensor<64xf32>, f32, i1) -> tensor<64xf32>
    return %r : tensor<64xf32>
  }
  func.func private @written(%x0: tensor<64xf32>) -> tensor<64xf32>
      attributes {fuse.kernel, fuse.dims = {}, fuse.grid = ["4", "1", "1"], fuse.ties = array<i64: 0>,
                  fuse.tile = {axes = [], num_stages = 1 : i64, num_warps = 1 : i64}, fuse.user = "model.py:3 written"} {
    %p0 = "fuse.base"(%x0) : (tensor<64xf32>) -> !tt.ptr<f32>
    %id = "tt.get_program_id"() {axis = 0 : i32} : () -> i32
    %range = "tt.make_range"() {start = 0 : i32, end = 16 : i32} : () -> tensor<16xi32>
    %c = arith.constant 16 : i32
    %first = arith.muli %id, %c : i32
    %firsts = "tt.splat"(%first) : (i32) -> tensor<16xi32>
    %at = arith.addi %firsts, %range : tensor<16xi32>
    %s0 = "tt.splat"(%p0) : (!tt.ptr<f32>) -> tensor<16x!tt.ptr<f32>>
    %a0 = "tt.addptr"(%s0, %at) : (tensor<16x!tt.ptr<f32>>, tensor<16xi32>) -> tensor<16x!tt.ptr<f32>>
    %v0 = "tt.load"(%a0) {operandSegmentSizes = array<i32: 1, 0, 0>} : (tensor<16x!tt.ptr<f32>>) -> tensor<16xf32>
    "tt.store"(%a0, %v0) {operandSegmentSizes = array<i32: 1, 1, 0>} : (tensor<16x!tt.ptr<f32>>, tensor<16xf32>) -> ()
    return %x0 : tensor<64xf32>
  }
  func.func private @second(%x0: tensor<64xf32>, %x1: tensor<64xf32>, %o: tensor<64xf32>) -> tensor<64xf32>
      attributes {fuse.kernel, fuse.dims = {}, fuse.grid = ["4", "1", "1"], fuse.ties = array<i64: 2>,
                  fuse.tile = {axes = [], num_stages = 1 : i64, num_warps = 1 : i64}, fuse.user = "model.py:9 second"} {
    %p0 = "fuse.base"(%x0) : (tensor<64xf32>) -> !tt.ptr<f32>
    %p1 = "fuse.base"(%x1) : (tensor<64xf32>) -> !tt.ptr<f32>
    %po = "fuse.base"(%o) : (tensor<64xf32>) -> !tt.ptr<f32>
    %id = "tt.get_program_id"() {axis = 0 : i32} : () -> i32
    %range = "tt.make_range"() {start = 0 : i32, end = 16 : i32} : () -> tensor<16xi32>
    %c = arith.constant 16 : i32
    %first = arith.muli %id, %c : i32
    %firsts = "tt.splat"(%first) : (i32) -> tensor<16xi32>
    %at = arith.addi %firsts, %range : tensor<16xi32>
    %s0 = "tt.splat"(%p0) : (!tt.ptr<f32>) -> tensor<16x!tt.ptr<f32>>
    %a0 = "tt.addptr"(%s0, %at) : (tensor<16x!tt.ptr<f32>>, tensor<16xi32>) -> tensor<16x!tt.ptr<f32>>
    %v0 = "tt.load"(%a0) {operandSegmentSizes = array<i32: 1, 0, 0>} : (tensor<16x!tt.ptr<f32>>) -> tensor<16xf32>
    %s1 = "tt.splat"(%p1) : (!tt.ptr<f32>) -> tensor<16x!tt.ptr<f32>>
    %a1 = "tt.addptr"(%s1, %at) : (tensor<16x!tt.ptr<f32>>, tensor<16xi32>) -> tensor<16x!tt.ptr<f32>>
    %v1 = "tt.load"(%a1) {operandSegmentSizes = array<i32: 1, 0, 0>} : (tensor<16x!tt.ptr<f32>>) -> tensor<16xf32>
    %v = arith.addf %v0, %v1 : tensor<16xf32>
    %so = "tt.splat"(%po) : (!tt.ptr<f32>) -> tensor<16x!tt.ptr<f32>>
    %ao = "tt.addptr"(%so, %at) : (tensor<16x!tt.ptr<f32>>, tensor<16xi32>) -> tensor<16x!tt.ptr<f32>>
    "tt.store"(%ao, %v) {operandSegmentSizes = array<i32: 1, 1, 0>} : (tensor<16x!tt.ptr<f32>>, tensor<16xf32>) -> ()
    return %o : tensor<64xf32>
  }
}
