// Rules of fuse-user-epilogues: what the user's kernel does that keeps the two apart. Where a kernel is alike but for that, it fires.
// RUN: fuse-opt %s --pass-pipeline="builtin.module(fuse-user-epilogues{hardware=h200})" --split-input-file | FileCheck %s
// RUN: fuse-opt %s --pass-pipeline="builtin.module(fuse-user-epilogues{hardware=h200})" --split-input-file --remarks=text -o %t 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: fuse-opt %s --pass-pipeline="builtin.module(fuse-user-epilogues{hardware=h200})" --split-input-file --remarks=text --sort=cost -o %t 2>&1 | FileCheck %s --check-prefix=COST

// COST: 2.00 us, 512 bytes: missed: fuse-user-epilogues: not-empty

// REMARK: missed: fuse-user-epilogues: not-empty
// REMARK: missed: fuse-user-epilogues: read
// REMARK: missed: fuse-user-epilogues: unknown-memory
// REMARK: missed: fuse-user-epilogues: descriptor
// REMARK: missed: fuse-user-epilogues: element
// REMARK: missed: fuse-user-epilogues: unknown-map
// REMARK-NEXT: missed: fuse-user-epilogues: unknown-map: neg stays apart from the user's kernel copy
// REMARK: missed: fuse-user-epilogues: loop
// REMARK-NEXT: passed: fuse-user-epilogues: fused
// REMARK: missed: fuse-user-epilogues: stored-twice
// REMARK-NEXT: passed: fuse-user-epilogues: fused
// REMARK: missed: fuse-user-epilogues: partly-written
// REMARK-NEXT: passed: fuse-user-epilogues: fused

// Rule not-empty.
// Must not fire: The kernel overwrites what another one has made: what it leaves out keeps that.
// CHECK-LABEL: func.func @main
// CHECK: call @copy(
// CHECK: call @neg(
// CHECK: return
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<64xf32>) -> tensor<64xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %a = call @neg(%x, %o) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    %c = call @copy(%x, %a) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    %q = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %b = call @neg(%c, %q) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    return %b : tensor<64xf32>
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
  func.func private @neg(%x: tensor<64xf32>, %o: tensor<64xf32>) -> tensor<64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<64xf32>, i1, f32) -> f32
    %n = arith.negf %v : f32
    %r = "fuse.store"(%o, %n, %true) {at = ["d0"], mode = "set"} : (tensor<64xf32>, f32, i1) -> tensor<64xf32>
    return %r : tensor<64xf32>
  }
}

// -----

// Rule read.
// Must not fire: The kernel adds to what is there, so the sum must be there.
// CHECK-LABEL: func.func @main
// CHECK: call @copy(
// CHECK: call @neg(
// CHECK: return
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<64xf32>) -> tensor<64xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %c = call @copy(%x, %o) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    %q = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %b = call @neg(%c, %q) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    return %b : tensor<64xf32>
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
    %old = "tt.load"(%ao) {operandSegmentSizes = array<i32: 1, 0, 0>} : (tensor<16x!tt.ptr<f32>>) -> tensor<16xf32>
    %w = arith.addf %v, %old : tensor<16xf32>
    "tt.store"(%ao, %w) {operandSegmentSizes = array<i32: 1, 1, 0>} : (tensor<16x!tt.ptr<f32>>, tensor<16xf32>) -> ()
    return %o : tensor<64xf32>
  }
  func.func private @neg(%x: tensor<64xf32>, %o: tensor<64xf32>) -> tensor<64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<64xf32>, i1, f32) -> f32
    %n = arith.negf %v : f32
    %r = "fuse.store"(%o, %n, %true) {at = ["d0"], mode = "set"} : (tensor<64xf32>, f32, i1) -> tensor<64xf32>
    return %r : tensor<64xf32>
  }
}

// -----

// Rule unknown-memory.
// Must not fire: The kernel stores to an address that it makes of a number, which may be anywhere.
// CHECK-LABEL: func.func @main
// CHECK: call @copy(
// CHECK: call @neg(
// CHECK: return
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<64xf32>) -> tensor<64xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %c = call @copy(%x, %o) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    %q = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %b = call @neg(%c, %q) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    return %b : tensor<64xf32>
  }
  func.func private @copy(%x: tensor<64xf32>, %o: tensor<64xf32>) -> tensor<64xf32>
      attributes {fuse.kernel, fuse.dims = {}, fuse.grid = ["4", "1", "1"], fuse.ties = array<i64: 1>, fuse.effect,
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
    %n = arith.constant 4096 : i64
    %p = "tt.int_to_ptr"(%n) : (i64) -> !tt.ptr<f32>
    %f = arith.constant 1.0 : f32
    "tt.store"(%p, %f) {operandSegmentSizes = array<i32: 1, 1, 0>} : (!tt.ptr<f32>, f32) -> ()
    return %o : tensor<64xf32>
  }
  func.func private @neg(%x: tensor<64xf32>, %o: tensor<64xf32>) -> tensor<64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<64xf32>, i1, f32) -> f32
    %n = arith.negf %v : f32
    %r = "fuse.store"(%o, %n, %true) {at = ["d0"], mode = "set"} : (tensor<64xf32>, f32, i1) -> tensor<64xf32>
    return %r : tensor<64xf32>
  }
}

// -----

// Rule descriptor.
// Must not fire: A descriptor has the type of the elements and the size of the box.
// CHECK-LABEL: func.func @main
// CHECK: call @copy(
// CHECK: call @neg(
// CHECK: return
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<64xf32>) -> tensor<64xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %c = call @copy(%x, %o) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    %q = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %b = call @neg(%c, %q) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    return %b : tensor<64xf32>
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
    %n = arith.constant 64 : i32
    %one = arith.constant 1 : i64
    %d = "tt.make_tensor_descriptor"(%po, %n, %one) {padding = 1 : i32} : (!tt.ptr<f32>, i32, i64) -> !tt.tensordesc<tensor<16xf32>>
    "tt.descriptor_store"(%d, %v, %first) : (!tt.tensordesc<tensor<16xf32>>, tensor<16xf32>, i32) -> ()
    return %o : tensor<64xf32>
  }
  func.func private @neg(%x: tensor<64xf32>, %o: tensor<64xf32>) -> tensor<64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<64xf32>, i1, f32) -> f32
    %n = arith.negf %v : f32
    %r = "fuse.store"(%o, %n, %true) {at = ["d0"], mode = "set"} : (tensor<64xf32>, f32, i1) -> tensor<64xf32>
    return %r : tensor<64xf32>
  }
}

// -----

// Rule element.
// Must not fire: The kernel stores the bits of its numbers as integers.
// CHECK-LABEL: func.func @main
// CHECK: call @copy(
// CHECK: call @neg(
// CHECK: return
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<64xf32>) -> tensor<64xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %c = call @copy(%x, %o) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    %q = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %b = call @neg(%c, %q) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    return %b : tensor<64xf32>
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
    %pi = "tt.bitcast"(%po) : (!tt.ptr<f32>) -> !tt.ptr<i32>
    %sao = "tt.splat"(%pi) : (!tt.ptr<i32>) -> tensor<16x!tt.ptr<i32>>
    %ao = "tt.addptr"(%sao, %at) : (tensor<16x!tt.ptr<i32>>, tensor<16xi32>) -> tensor<16x!tt.ptr<i32>>
    %w = "tt.bitcast"(%v) : (tensor<16xf32>) -> tensor<16xi32>
    "tt.store"(%ao, %w) {operandSegmentSizes = array<i32: 1, 1, 0>} : (tensor<16x!tt.ptr<i32>>, tensor<16xi32>) -> ()
    return %o : tensor<64xf32>
  }
  func.func private @neg(%x: tensor<64xf32>, %o: tensor<64xf32>) -> tensor<64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<64xf32>, i1, f32) -> f32
    %n = arith.negf %v : f32
    %r = "fuse.store"(%o, %n, %true) {at = ["d0"], mode = "set"} : (tensor<64xf32>, f32, i1) -> tensor<64xf32>
    return %r : tensor<64xf32>
  }
}

// -----

// Rule unknown-map.
// Must not fire: The kernel stores at places that it has loaded.
// CHECK-LABEL: func.func @main
// CHECK: call @copy(
// CHECK: call @neg(
// CHECK: return
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<64xf32>) -> tensor<64xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %c = call @copy(%x, %o) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    %q = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %b = call @neg(%c, %q) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    return %b : tensor<64xf32>
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
    %where = arith.fptosi %v : tensor<16xf32> to tensor<16xi32>
    %sao = "tt.splat"(%po) : (!tt.ptr<f32>) -> tensor<16x!tt.ptr<f32>>
    %ao = "tt.addptr"(%sao, %where) : (tensor<16x!tt.ptr<f32>>, tensor<16xi32>) -> tensor<16x!tt.ptr<f32>>
    "tt.store"(%ao, %v) {operandSegmentSizes = array<i32: 1, 1, 0>} : (tensor<16x!tt.ptr<f32>>, tensor<16xf32>) -> ()
    return %o : tensor<64xf32>
  }
  func.func private @neg(%x: tensor<64xf32>, %o: tensor<64xf32>) -> tensor<64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<64xf32>, i1, f32) -> f32
    %n = arith.negf %v : f32
    %r = "fuse.store"(%o, %n, %true) {at = ["d0"], mode = "set"} : (tensor<64xf32>, f32, i1) -> tensor<64xf32>
    return %r : tensor<64xf32>
  }
}

// -----

// Must not fire: The kernel stores from a number on that it is given.
// CHECK-LABEL: func.func @main
// CHECK: call @copy(
// CHECK: call @neg(
// CHECK: return
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<64xf32>, %n: i64) -> tensor<64xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %c = call @copy(%x, %o, %n) : (tensor<64xf32>, tensor<64xf32>, i64) -> tensor<64xf32>
    %q = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %b = call @neg(%c, %q) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    return %b : tensor<64xf32>
  }
  func.func private @copy(%x: tensor<64xf32>, %o: tensor<64xf32>, %n: i64) -> tensor<64xf32>
      attributes {fuse.kernel, fuse.dims = {}, fuse.grid = ["4", "1", "1"], fuse.ties = array<i64: 1>,
                  fuse.tile = {axes = [], num_stages = 1 : i64, num_warps = 1 : i64}, fuse.user = "model.py:3 copy"} {
    %px = "fuse.base"(%x) : (tensor<64xf32>) -> !tt.ptr<f32>
    %po = "fuse.base"(%o) : (tensor<64xf32>) -> !tt.ptr<f32>
    %id = "tt.get_program_id"() {axis = 0 : i32} : () -> i32
    %c16 = arith.constant 16 : i32
    %more = arith.trunci %n : i64 to i32
    %begin = arith.muli %id, %c16 : i32
    %first = arith.addi %begin, %more : i32
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
  func.func private @neg(%x: tensor<64xf32>, %o: tensor<64xf32>) -> tensor<64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<64xf32>, i1, f32) -> f32
    %n = arith.negf %v : f32
    %r = "fuse.store"(%o, %n, %true) {at = ["d0"], mode = "set"} : (tensor<64xf32>, f32, i1) -> tensor<64xf32>
    return %r : tensor<64xf32>
  }
}

// -----

// Rule loop.
// Must not fire: Each turn of the loop stores to the same elements.
// CHECK-LABEL: func.func @main
// CHECK: call @copy(
// CHECK: call @neg(
// CHECK: return
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<64xf32>) -> tensor<64xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %c = call @copy(%x, %o) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    %q = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %b = call @neg(%c, %q) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    return %b : tensor<64xf32>
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
    %lower = arith.constant 0 : i32
    %turns = arith.constant 3 : i32
    %step = arith.constant 1 : i32
    %c64 = arith.constant 16 : i32
    scf.for %t = %lower to %turns step %step : i32 {
      %far = arith.muli %t, %c64 : i32
      %fars = "tt.splat"(%far) : (i32) -> tensor<16xi32>
      %al = arith.addi %firsts, %range : tensor<16xi32>
    %sao = "tt.splat"(%po) : (!tt.ptr<f32>) -> tensor<16x!tt.ptr<f32>>
    %ao = "tt.addptr"(%sao, %al) : (tensor<16x!tt.ptr<f32>>, tensor<16xi32>) -> tensor<16x!tt.ptr<f32>>
    "tt.store"(%ao, %v) {operandSegmentSizes = array<i32: 1, 1, 0>} : (tensor<16x!tt.ptr<f32>>, tensor<16xf32>) -> ()
    }
    return %o : tensor<64xf32>
  }
  func.func private @neg(%x: tensor<64xf32>, %o: tensor<64xf32>) -> tensor<64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<64xf32>, i1, f32) -> f32
    %n = arith.negf %v : f32
    %r = "fuse.store"(%o, %n, %true) {at = ["d0"], mode = "set"} : (tensor<64xf32>, f32, i1) -> tensor<64xf32>
    return %r : tensor<64xf32>
  }
}

// -----

// Fires: each turn stores to elements of its own, and together these are all.
// CHECK-LABEL: func.func @main
// CHECK: call @copy_neg(
// CHECK-NOT: call
// CHECK: return
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<64xf32>) -> tensor<64xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %c = call @copy(%x, %o) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    %q = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %b = call @neg(%c, %q) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    return %b : tensor<64xf32>
  }
  func.func private @copy(%x: tensor<64xf32>, %o: tensor<64xf32>) -> tensor<64xf32>
      attributes {fuse.kernel, fuse.dims = {}, fuse.grid = ["1", "1", "1"], fuse.ties = array<i64: 1>,
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
    %lower = arith.constant 0 : i32
    %turns = arith.constant 4 : i32
    %step = arith.constant 1 : i32
    %c64 = arith.constant 16 : i32
    scf.for %t = %lower to %turns step %step : i32 {
      %far = arith.muli %t, %c64 : i32
      %fars = "tt.splat"(%far) : (i32) -> tensor<16xi32>
      %al = arith.addi %fars, %range : tensor<16xi32>
    %sao = "tt.splat"(%po) : (!tt.ptr<f32>) -> tensor<16x!tt.ptr<f32>>
    %ao = "tt.addptr"(%sao, %al) : (tensor<16x!tt.ptr<f32>>, tensor<16xi32>) -> tensor<16x!tt.ptr<f32>>
    "tt.store"(%ao, %v) {operandSegmentSizes = array<i32: 1, 1, 0>} : (tensor<16x!tt.ptr<f32>>, tensor<16xf32>) -> ()
    }
    return %o : tensor<64xf32>
  }
  func.func private @neg(%x: tensor<64xf32>, %o: tensor<64xf32>) -> tensor<64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<64xf32>, i1, f32) -> f32
    %n = arith.negf %v : f32
    %r = "fuse.store"(%o, %n, %true) {at = ["d0"], mode = "set"} : (tensor<64xf32>, f32, i1) -> tensor<64xf32>
    return %r : tensor<64xf32>
  }
}

// -----

// Rule stored-twice.
// Must not fire: Two programs store the same elements: which of their sums is meant?
// CHECK-LABEL: func.func @main
// CHECK: call @copy(
// CHECK: call @neg(
// CHECK: return
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<64xf32>) -> tensor<1xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %c = call @copy(%x, %o) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    %q = "fuse.empty"() {syms = []} : () -> tensor<1xf32>
    %b = call @neg(%c, %q) : (tensor<64xf32>, tensor<1xf32>) -> tensor<1xf32>
    return %b : tensor<1xf32>
  }
  func.func private @copy(%x: tensor<64xf32>, %o: tensor<64xf32>) -> tensor<64xf32>
      attributes {fuse.kernel, fuse.dims = {}, fuse.grid = ["2", "1", "1"], fuse.ties = array<i64: 1>,
                  fuse.tile = {axes = [], num_stages = 1 : i64, num_warps = 1 : i64}, fuse.user = "model.py:3 copy"} {
    %px = "fuse.base"(%x) : (tensor<64xf32>) -> !tt.ptr<f32>
    %po = "fuse.base"(%o) : (tensor<64xf32>) -> !tt.ptr<f32>
    %id = "tt.get_program_id"() {axis = 0 : i32} : () -> i32
    %c16 = arith.constant 0 : i32
    %first = arith.muli %id, %c16 : i32
    %range = "tt.make_range"() {start = 0 : i32, end = 64 : i32} : () -> tensor<64xi32>
    %firsts = "tt.splat"(%first) : (i32) -> tensor<64xi32>
    %at = arith.addi %firsts, %range : tensor<64xi32>
    %sax = "tt.splat"(%px) : (!tt.ptr<f32>) -> tensor<64x!tt.ptr<f32>>
    %ax = "tt.addptr"(%sax, %at) : (tensor<64x!tt.ptr<f32>>, tensor<64xi32>) -> tensor<64x!tt.ptr<f32>>
    %v = "tt.load"(%ax) {operandSegmentSizes = array<i32: 1, 0, 0>} : (tensor<64x!tt.ptr<f32>>) -> tensor<64xf32>
    %sao = "tt.splat"(%po) : (!tt.ptr<f32>) -> tensor<64x!tt.ptr<f32>>
    %ao = "tt.addptr"(%sao, %at) : (tensor<64x!tt.ptr<f32>>, tensor<64xi32>) -> tensor<64x!tt.ptr<f32>>
    "tt.store"(%ao, %v) {operandSegmentSizes = array<i32: 1, 1, 0>} : (tensor<64x!tt.ptr<f32>>, tensor<64xf32>) -> ()
    return %o : tensor<64xf32>
  }
  func.func private @neg(%x: tensor<64xf32>, %o: tensor<1xf32>) -> tensor<1xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<64xf32>, i1, f32) -> f32
    %n = "fuse.reduce"(%v) {kind = "sum", over = ["d0"]} : (f32) -> f32
    %r = "fuse.store"(%o, %n, %true) {at = ["0"], mode = "set"} : (tensor<1xf32>, f32, i1) -> tensor<1xf32>
    return %r : tensor<1xf32>
  }
}

// -----

// Fires: one program stores them all.
// CHECK-LABEL: func.func @main
// CHECK: call @copy_neg(
// CHECK-NOT: call
// CHECK: return
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<64xf32>) -> tensor<1xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %c = call @copy(%x, %o) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    %q = "fuse.empty"() {syms = []} : () -> tensor<1xf32>
    %b = call @neg(%c, %q) : (tensor<64xf32>, tensor<1xf32>) -> tensor<1xf32>
    return %b : tensor<1xf32>
  }
  func.func private @copy(%x: tensor<64xf32>, %o: tensor<64xf32>) -> tensor<64xf32>
      attributes {fuse.kernel, fuse.dims = {}, fuse.grid = ["1", "1", "1"], fuse.ties = array<i64: 1>,
                  fuse.tile = {axes = [], num_stages = 1 : i64, num_warps = 1 : i64}, fuse.user = "model.py:3 copy"} {
    %px = "fuse.base"(%x) : (tensor<64xf32>) -> !tt.ptr<f32>
    %po = "fuse.base"(%o) : (tensor<64xf32>) -> !tt.ptr<f32>
    %id = "tt.get_program_id"() {axis = 0 : i32} : () -> i32
    %c16 = arith.constant 0 : i32
    %first = arith.muli %id, %c16 : i32
    %range = "tt.make_range"() {start = 0 : i32, end = 64 : i32} : () -> tensor<64xi32>
    %firsts = "tt.splat"(%first) : (i32) -> tensor<64xi32>
    %at = arith.addi %firsts, %range : tensor<64xi32>
    %sax = "tt.splat"(%px) : (!tt.ptr<f32>) -> tensor<64x!tt.ptr<f32>>
    %ax = "tt.addptr"(%sax, %at) : (tensor<64x!tt.ptr<f32>>, tensor<64xi32>) -> tensor<64x!tt.ptr<f32>>
    %v = "tt.load"(%ax) {operandSegmentSizes = array<i32: 1, 0, 0>} : (tensor<64x!tt.ptr<f32>>) -> tensor<64xf32>
    %sao = "tt.splat"(%po) : (!tt.ptr<f32>) -> tensor<64x!tt.ptr<f32>>
    %ao = "tt.addptr"(%sao, %at) : (tensor<64x!tt.ptr<f32>>, tensor<64xi32>) -> tensor<64x!tt.ptr<f32>>
    "tt.store"(%ao, %v) {operandSegmentSizes = array<i32: 1, 1, 0>} : (tensor<64x!tt.ptr<f32>>, tensor<64xf32>) -> ()
    return %o : tensor<64xf32>
  }
  func.func private @neg(%x: tensor<64xf32>, %o: tensor<1xf32>) -> tensor<1xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<64xf32>, i1, f32) -> f32
    %n = "fuse.reduce"(%v) {kind = "sum", over = ["d0"]} : (f32) -> f32
    %r = "fuse.store"(%o, %n, %true) {at = ["0"], mode = "set"} : (tensor<1xf32>, f32, i1) -> tensor<1xf32>
    return %r : tensor<1xf32>
  }
}

// -----

// Rule partly-written.
// Must not fire: The kernel writes 48 elements; the reader says that the others are 0.
// CHECK-LABEL: func.func @main
// CHECK: call @copy(
// CHECK: call @neg(
// CHECK: return
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<64xf32>) -> tensor<64xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %c = call @copy(%x, %o) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    %q = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %b = call @neg(%c, %q) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    return %b : tensor<64xf32>
  }
  func.func private @copy(%x: tensor<64xf32>, %o: tensor<64xf32>) -> tensor<64xf32>
      attributes {fuse.kernel, fuse.dims = {}, fuse.grid = ["3", "1", "1"], fuse.ties = array<i64: 1>,
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
  func.func private @neg(%x: tensor<64xf32>, %o: tensor<64xf32>) -> tensor<64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<64xf32>, i1, f32) -> f32
    %i = "fuse.index"() {expr = "d0"} : () -> i64
    %half = arith.constant 48 : i64
    %low = arith.cmpi slt, %i, %half : i64
    %n = arith.select %low, %v, %zero : f32
    %r = "fuse.store"(%o, %n, %true) {at = ["d0"], mode = "set"} : (tensor<64xf32>, f32, i1) -> tensor<64xf32>
    return %r : tensor<64xf32>
  }
}

// -----

// Fires: the kernel writes all elements.
// CHECK-LABEL: func.func @main
// CHECK: call @copy_neg(
// CHECK-NOT: call
// CHECK: return
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<64xf32>) -> tensor<64xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %c = call @copy(%x, %o) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    %q = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %b = call @neg(%c, %q) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    return %b : tensor<64xf32>
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
  func.func private @neg(%x: tensor<64xf32>, %o: tensor<64xf32>) -> tensor<64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<64xf32>, i1, f32) -> f32
    %i = "fuse.index"() {expr = "d0"} : () -> i64
    %half = arith.constant 48 : i64
    %low = arith.cmpi slt, %i, %half : i64
    %n = arith.select %low, %v, %zero : f32
    %r = "fuse.store"(%o, %n, %true) {at = ["d0"], mode = "set"} : (tensor<64xf32>, f32, i1) -> tensor<64xf32>
    return %r : tensor<64xf32>
  }
}
