// Rules of fuse-user-epilogues: what the reader does that keeps the two apart. Where a kernel is alike but for that, it fires.
// RUN: fuse-opt %s --pass-pipeline="builtin.module(fuse-user-epilogues{hardware=h200})" --split-input-file | FileCheck %s
// RUN: fuse-opt %s --pass-pipeline="builtin.module(fuse-user-epilogues{hardware=h200})" --split-input-file --remarks=text -o %t 2>&1 | FileCheck %s --check-prefix=REMARK

// REMARK: missed: fuse-user-epilogues: several-maps
// REMARK: missed: fuse-user-epilogues: other-points
// REMARK: missed: fuse-user-epilogues: reduction
// REMARK-NEXT: passed: fuse-user-epilogues: fused
// REMARK: missed: fuse-user-epilogues: destination
// REMARK: missed: fuse-user-epilogues: assert
// REMARK: missed: fuse-user-epilogues: device
// REMARK: missed: fuse-user-epilogues: order
// REMARK-NEXT: passed: fuse-user-epilogues: fused
// REMARK: missed: fuse-user-epilogues: slower
// REMARK-NEXT: passed: fuse-user-epilogues: fused
// REMARK: missed: fuse-user-epilogues: no-form

// Rule several-maps.
// Must not fire: Each result needs two elements, which two programs store.
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
    "tt.store"(%ao, %v) {operandSegmentSizes = array<i32: 1, 1, 0>} : (tensor<16x!tt.ptr<f32>>, tensor<16xf32>) -> ()
    return %o : tensor<64xf32>
  }
  func.func private @neg(%x: tensor<64xf32>, %o: tensor<64xf32>) -> tensor<64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<64xf32>, i1, f32) -> f32
    %w = "fuse.load"(%x, %true, %zero) {at = ["63 - d0"]} : (tensor<64xf32>, i1, f32) -> f32
    %n = arith.addf %v, %w : f32
    %r = "fuse.store"(%o, %n, %true) {at = ["d0"], mode = "set"} : (tensor<64xf32>, f32, i1) -> tensor<64xf32>
    return %r : tensor<64xf32>
  }
}

// -----

// Rule other-points.
// Must not fire: Each element is stored eight times: the tile has no axis for that.
// CHECK-LABEL: func.func @main
// CHECK: call @copy(
// CHECK: call @neg(
// CHECK: return
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<64xf32>) -> tensor<64x8xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %c = call @copy(%x, %o) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    %q = "fuse.empty"() {syms = []} : () -> tensor<64x8xf32>
    %b = call @neg(%c, %q) : (tensor<64xf32>, tensor<64x8xf32>) -> tensor<64x8xf32>
    return %b : tensor<64x8xf32>
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
  func.func private @neg(%x: tensor<64xf32>, %o: tensor<64x8xf32>) -> tensor<64x8xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64", d1 = "8"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<64xf32>, i1, f32) -> f32
    %n = arith.negf %v : f32
    %r = "fuse.store"(%o, %n, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<64x8xf32>, f32, i1) -> tensor<64x8xf32>
    return %r : tensor<64x8xf32>
  }
}

// -----

// Rule reduction.
// Must not fire: A program has 16 of the 64 elements that the reader adds.
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

// Fires: one tile holds them all.
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

// Rule destination.
// Must not fire: The reader writes to an argument, which the program may read until then.
// CHECK-LABEL: func.func @main
// CHECK: call @copy(
// CHECK: call @neg(
// CHECK: return
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<64xf32>, %q: tensor<64xf32>) -> tensor<64xf32> attributes {} {
    %o = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %c = call @copy(%x, %o) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    %b = call @neg(%c, %q) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    return {fuse.mutates = {"0" = 1 : i64}} %b : tensor<64xf32>
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

// Rule assert.
// Must not fire: The assertion names the line of the reader.
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
    "tt.store"(%ao, %v) {operandSegmentSizes = array<i32: 1, 1, 0>} : (tensor<16x!tt.ptr<f32>>, tensor<16xf32>) -> ()
    return %o : tensor<64xf32>
  }
  func.func private @neg(%x: tensor<64xf32>, %o: tensor<64xf32>) -> tensor<64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<64xf32>, i1, f32) -> f32
    %ok = arith.cmpf oge, %v, %zero : f32
    "fuse.device_assert"(%ok, %true) {message = "negative"} : (i1, i1) -> ()
    %n = arith.negf %v : f32
    %r = "fuse.store"(%o, %n, %true) {at = ["d0"], mode = "set"} : (tensor<64xf32>, f32, i1) -> tensor<64xf32>
    return %r : tensor<64xf32>
  }
}

// -----

// Rule device.
// Must not fire: The reader writes to the memory of another device.
// CHECK-LABEL: func.func @main
// CHECK: call @copy(
// CHECK: call @neg(
// CHECK: return
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<64xf32>) -> tensor<64xf32, #fuse.layout<"64", "1", "0", "cuda:1">> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %c = call @copy(%x, %o) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    %q = "fuse.empty"() {syms = []} : () -> tensor<64xf32, #fuse.layout<"64", "1", "0", "cuda:1">>
    %b = call @neg(%c, %q) : (tensor<64xf32>, tensor<64xf32, #fuse.layout<"64", "1", "0", "cuda:1">>) -> tensor<64xf32, #fuse.layout<"64", "1", "0", "cuda:1">>
    return %b : tensor<64xf32, #fuse.layout<"64", "1", "0", "cuda:1">>
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
  func.func private @neg(%x: tensor<64xf32>, %o: tensor<64xf32, #fuse.layout<"64", "1", "0", "cuda:1">>) -> tensor<64xf32, #fuse.layout<"64", "1", "0", "cuda:1">> attributes {fuse.kernel, fuse.dims = {d0 = "64"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<64xf32>, i1, f32) -> f32
    %n = arith.negf %v : f32
    %r = "fuse.store"(%o, %n, %true) {at = ["d0"], mode = "set"} : (tensor<64xf32, #fuse.layout<"64", "1", "0", "cuda:1">>, f32, i1) -> tensor<64xf32, #fuse.layout<"64", "1", "0", "cuda:1">>
    return %r : tensor<64xf32, #fuse.layout<"64", "1", "0", "cuda:1">>
  }
}

// -----

// Rule order.
// Must not fire: The reader needs what a library makes of the result.
// CHECK-LABEL: func.func @main
// CHECK: call @copy(
// CHECK: call @sort(
// CHECK: call @neg(
// CHECK: return
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<64xf32>) -> tensor<64xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %c = call @copy(%x, %o) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    %s = call @sort(%c) : (tensor<64xf32>) -> tensor<64xf32>
    %q = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %b = call @neg(%c, %s, %q) : (tensor<64xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    return %b : tensor<64xf32>
  }
  func.func private @sort(tensor<64xf32>) -> tensor<64xf32> attributes {fuse.extern = "aten.relu.default", fuse.args = [#fuse.arg<0 : i64>], fuse.kwargs = {}}
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
  func.func private @neg(%x: tensor<64xf32>, %y: tensor<64xf32>, %o: tensor<64xf32>) -> tensor<64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<64xf32>, i1, f32) -> f32
    %w = "fuse.load"(%y, %true, %zero) {at = ["d0"]} : (tensor<64xf32>, i1, f32) -> f32
    %n = arith.addf %v, %w : f32
    %r = "fuse.store"(%o, %n, %true) {at = ["d0"], mode = "set"} : (tensor<64xf32>, f32, i1) -> tensor<64xf32>
    return %r : tensor<64xf32>
  }
}

// -----

// Fires: what the library makes does not depend on the result, and moves in front of the kernel.
// CHECK-LABEL: func.func @main
// CHECK: call @sort(
// CHECK: call @copy_neg(
// CHECK-NOT: call
// CHECK: return
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<64xf32>) -> tensor<64xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %c = call @copy(%x, %o) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    %s = call @sort(%x) : (tensor<64xf32>) -> tensor<64xf32>
    %q = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %b = call @neg(%c, %s, %q) : (tensor<64xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    return %b : tensor<64xf32>
  }
  func.func private @sort(tensor<64xf32>) -> tensor<64xf32> attributes {fuse.extern = "aten.relu.default", fuse.args = [#fuse.arg<0 : i64>], fuse.kwargs = {}}
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
  func.func private @neg(%x: tensor<64xf32>, %y: tensor<64xf32>, %o: tensor<64xf32>) -> tensor<64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<64xf32>, i1, f32) -> f32
    %w = "fuse.load"(%y, %true, %zero) {at = ["d0"]} : (tensor<64xf32>, i1, f32) -> f32
    %n = arith.addf %v, %w : f32
    %r = "fuse.store"(%o, %n, %true) {at = ["d0"], mode = "set"} : (tensor<64xf32>, f32, i1) -> tensor<64xf32>
    return %r : tensor<64xf32>
  }
}

// -----

// Rule slower.
// Must not fire: Neighbours of a tile would be written to different rows.
// CHECK-LABEL: func.func @main
// CHECK: call @copy(
// CHECK: call @neg(
// CHECK: return
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<4096x4096xf32>) -> tensor<4096x4096xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<4096x4096xf32>
    %c = call @copy(%x, %o) : (tensor<4096x4096xf32>, tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
    %q = "fuse.empty"() {syms = []} : () -> tensor<4096x4096xf32>
    %b = call @neg(%c, %q) : (tensor<4096x4096xf32>, tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
    return %b : tensor<4096x4096xf32>
  }
  func.func private @copy(%x: tensor<4096x4096xf32>, %o: tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
      attributes {fuse.kernel, fuse.dims = {}, fuse.grid = ["1048576", "1", "1"], fuse.ties = array<i64: 1>,
                  fuse.tile = {axes = [], num_stages = 1 : i64, num_warps = 1 : i64}, fuse.user = "model.py:3 copy"} {
    %px = "fuse.base"(%x) : (tensor<4096x4096xf32>) -> !tt.ptr<f32>
    %po = "fuse.base"(%o) : (tensor<4096x4096xf32>) -> !tt.ptr<f32>
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
    return %o : tensor<4096x4096xf32>
  }
  func.func private @neg(%x: tensor<4096x4096xf32>, %o: tensor<4096x4096xf32>) -> tensor<4096x4096xf32> attributes {fuse.kernel, fuse.dims = {d0 = "4096", d1 = "4096"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<4096x4096xf32>, i1, f32) -> f32
    %n = arith.negf %v : f32
    %r = "fuse.store"(%o, %n, %true) {at = ["d1", "d0"], mode = "set"} : (tensor<4096x4096xf32>, f32, i1) -> tensor<4096x4096xf32>
    return %r : tensor<4096x4096xf32>
  }
}

// -----

// Fires: they are neighbours in the result, too.
// CHECK-LABEL: func.func @main
// CHECK: call @copy_neg(
// CHECK-NOT: call
// CHECK: return
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<4096x4096xf32>) -> tensor<4096x4096xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<4096x4096xf32>
    %c = call @copy(%x, %o) : (tensor<4096x4096xf32>, tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
    %q = "fuse.empty"() {syms = []} : () -> tensor<4096x4096xf32>
    %b = call @neg(%c, %q) : (tensor<4096x4096xf32>, tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
    return %b : tensor<4096x4096xf32>
  }
  func.func private @copy(%x: tensor<4096x4096xf32>, %o: tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
      attributes {fuse.kernel, fuse.dims = {}, fuse.grid = ["1048576", "1", "1"], fuse.ties = array<i64: 1>,
                  fuse.tile = {axes = [], num_stages = 1 : i64, num_warps = 1 : i64}, fuse.user = "model.py:3 copy"} {
    %px = "fuse.base"(%x) : (tensor<4096x4096xf32>) -> !tt.ptr<f32>
    %po = "fuse.base"(%o) : (tensor<4096x4096xf32>) -> !tt.ptr<f32>
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
    return %o : tensor<4096x4096xf32>
  }
  func.func private @neg(%x: tensor<4096x4096xf32>, %o: tensor<4096x4096xf32>) -> tensor<4096x4096xf32> attributes {fuse.kernel, fuse.dims = {d0 = "4096", d1 = "4096"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<4096x4096xf32>, i1, f32) -> f32
    %n = arith.negf %v : f32
    %r = "fuse.store"(%o, %n, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<4096x4096xf32>, f32, i1) -> tensor<4096x4096xf32>
    return %r : tensor<4096x4096xf32>
  }
}

// -----

// Rule no-form.
// Must not fire: There is no power by 64-bit integers on tiles.
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
    "tt.store"(%ao, %v) {operandSegmentSizes = array<i32: 1, 1, 0>} : (tensor<16x!tt.ptr<f32>>, tensor<16xf32>) -> ()
    return %o : tensor<64xf32>
  }
  func.func private @neg(%x: tensor<64xf32>, %o: tensor<64xf32>) -> tensor<64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<64xf32>, i1, f32) -> f32
    %k = arith.constant 3 : i64
    %n = math.fpowi %v, %k : f32, i64
    %r = "fuse.store"(%o, %n, %true) {at = ["d0"], mode = "set"} : (tensor<64xf32>, f32, i1) -> tensor<64xf32>
    return %r : tensor<64xf32>
  }
}
