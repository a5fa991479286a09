// Tensors of one element, and dims of size 1, under tiles that are wider.
// RUN: fuse-opt %s --pass-pipeline="builtin.module(fuse-user-epilogues{hardware=h200})" --split-input-file | FileCheck %s
// RUN: fuse-opt %s --pass-pipeline="builtin.module(fuse-user-epilogues{hardware=h200})" --split-input-file --remarks=text -o %t 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: not fuse-opt %s --pass-pipeline="builtin.module(fuse-user-epilogues{hardware=abacus})" --split-input-file 2>&1 | FileCheck %s --check-prefix=BAD

// BAD: fuse-user-epilogues: unknown hardware 'abacus'

// The lanes behind the only element store nothing.
// CHECK-LABEL: func.func @main(
// CHECK: call @copy_neg(
// CHECK-LABEL: func.func private @copy_neg
// CHECK: %[[IN:.*]] = arith.cmpi slt
// CHECK: %[[N:.*]] = arith.subf
// CHECK: "tt.store"(%{{.*}}, %[[N]], %[[IN]])
// CHECK-NOT: tt.store
// REMARK: passed: fuse-user-epilogues: fused
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<1xf32>) -> tensor<1xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<1xf32>
    %c = call @copy(%x, %o) : (tensor<1xf32>, tensor<1xf32>) -> tensor<1xf32>
    %q = "fuse.empty"() {syms = []} : () -> tensor<1xf32>
    %b = call @neg(%c, %q) : (tensor<1xf32>, tensor<1xf32>) -> tensor<1xf32>
    return %b : tensor<1xf32>
  }
  func.func private @copy(%x0: tensor<1xf32>, %o: tensor<1xf32>) -> tensor<1xf32>
      attributes {fuse.kernel, fuse.dims = {}, fuse.grid = ["1", "1", "1"], fuse.ties = array<i64: 1>,
                  fuse.tile = {axes = [], num_stages = 1 : i64, num_warps = 1 : i64}, fuse.user = "model.py:3 copy"} {
    %p0 = "fuse.base"(%x0) : (tensor<1xf32>) -> !tt.ptr<f32>
    %po = "fuse.base"(%o) : (tensor<1xf32>) -> !tt.ptr<f32>
    %id = "tt.get_program_id"() {axis = 0 : i32} : () -> i32
    %range = "tt.make_range"() {start = 0 : i32, end = 16 : i32} : () -> tensor<16xi32>
    %c = arith.constant 16 : i32
    %first = arith.muli %id, %c : i32
    %firsts = "tt.splat"(%first) : (i32) -> tensor<16xi32>
    %at = arith.addi %firsts, %range : tensor<16xi32>
    %bound = arith.constant dense<1> : tensor<16xi32>
    %in = arith.cmpi slt, %at, %bound : tensor<16xi32>
    %s0 = "tt.splat"(%p0) : (!tt.ptr<f32>) -> tensor<16x!tt.ptr<f32>>
    %a0 = "tt.addptr"(%s0, %at) : (tensor<16x!tt.ptr<f32>>, tensor<16xi32>) -> tensor<16x!tt.ptr<f32>>
    %v0 = "tt.load"(%a0, %in) {operandSegmentSizes = array<i32: 1, 1, 0>} : (tensor<16x!tt.ptr<f32>>, tensor<16xi1>) -> tensor<16xf32>
    %so = "tt.splat"(%po) : (!tt.ptr<f32>) -> tensor<16x!tt.ptr<f32>>
    %ao = "tt.addptr"(%so, %at) : (tensor<16x!tt.ptr<f32>>, tensor<16xi32>) -> tensor<16x!tt.ptr<f32>>
    "tt.store"(%ao, %v0, %in) {operandSegmentSizes = array<i32: 1, 1, 1>} : (tensor<16x!tt.ptr<f32>>, tensor<16xf32>, tensor<16xi1>) -> ()
    return %o : tensor<1xf32>
  }
  func.func private @neg(%x: tensor<1xf32>, %o: tensor<1xf32>) -> tensor<1xf32> attributes {fuse.kernel, fuse.dims = {d0 = "1"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<1xf32>, i1, f32) -> f32
    %n = arith.negf %v : f32
    %r = "fuse.store"(%o, %n, %true) {at = ["d0"], mode = "set"} : (tensor<1xf32>, f32, i1) -> tensor<1xf32>
    return %r : tensor<1xf32>
  }
}

// -----

// The same for a reader without dims: it names the element 0.
// CHECK-LABEL: func.func @main(
// CHECK: call @copy_neg(
// CHECK-LABEL: func.func private @copy_neg
// CHECK: %[[IN:.*]] = arith.cmpi slt
// CHECK: "tt.store"(%{{.*}}, %{{.*}}, %[[IN]])
// CHECK-NOT: tt.store
// REMARK: passed: fuse-user-epilogues: fused
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<1xf32>) -> tensor<1xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<1xf32>
    %c = call @copy(%x, %o) : (tensor<1xf32>, tensor<1xf32>) -> tensor<1xf32>
    %q = "fuse.empty"() {syms = []} : () -> tensor<1xf32>
    %b = call @neg(%c, %q) : (tensor<1xf32>, tensor<1xf32>) -> tensor<1xf32>
    return %b : tensor<1xf32>
  }
  func.func private @copy(%x0: tensor<1xf32>, %o: tensor<1xf32>) -> tensor<1xf32>
      attributes {fuse.kernel, fuse.dims = {}, fuse.grid = ["1", "1", "1"], fuse.ties = array<i64: 1>,
                  fuse.tile = {axes = [], num_stages = 1 : i64, num_warps = 1 : i64}, fuse.user = "model.py:3 copy"} {
    %p0 = "fuse.base"(%x0) : (tensor<1xf32>) -> !tt.ptr<f32>
    %po = "fuse.base"(%o) : (tensor<1xf32>) -> !tt.ptr<f32>
    %id = "tt.get_program_id"() {axis = 0 : i32} : () -> i32
    %range = "tt.make_range"() {start = 0 : i32, end = 16 : i32} : () -> tensor<16xi32>
    %c = arith.constant 16 : i32
    %first = arith.muli %id, %c : i32
    %firsts = "tt.splat"(%first) : (i32) -> tensor<16xi32>
    %at = arith.addi %firsts, %range : tensor<16xi32>
    %bound = arith.constant dense<1> : tensor<16xi32>
    %in = arith.cmpi slt, %at, %bound : tensor<16xi32>
    %s0 = "tt.splat"(%p0) : (!tt.ptr<f32>) -> tensor<16x!tt.ptr<f32>>
    %a0 = "tt.addptr"(%s0, %at) : (tensor<16x!tt.ptr<f32>>, tensor<16xi32>) -> tensor<16x!tt.ptr<f32>>
    %v0 = "tt.load"(%a0, %in) {operandSegmentSizes = array<i32: 1, 1, 0>} : (tensor<16x!tt.ptr<f32>>, tensor<16xi1>) -> tensor<16xf32>
    %so = "tt.splat"(%po) : (!tt.ptr<f32>) -> tensor<16x!tt.ptr<f32>>
    %ao = "tt.addptr"(%so, %at) : (tensor<16x!tt.ptr<f32>>, tensor<16xi32>) -> tensor<16x!tt.ptr<f32>>
    "tt.store"(%ao, %v0, %in) {operandSegmentSizes = array<i32: 1, 1, 1>} : (tensor<16x!tt.ptr<f32>>, tensor<16xf32>, tensor<16xi1>) -> ()
    return %o : tensor<1xf32>
  }
  func.func private @neg(%x: tensor<1xf32>, %o: tensor<1xf32>) -> tensor<1xf32> attributes {fuse.kernel, fuse.dims = {}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["0"]} : (tensor<1xf32>, i1, f32) -> f32
    %n = arith.negf %v : f32
    %r = "fuse.store"(%o, %n, %true) {at = ["0"], mode = "set"} : (tensor<1xf32>, f32, i1) -> tensor<1xf32>
    return %r : tensor<1xf32>
  }
}

// -----

// A column under a tile of 16 columns: lane 0 of each program has an element, which the mask says.
// CHECK-LABEL: func.func @main(
// CHECK: call @copy_neg(
// CHECK-LABEL: func.func private @copy_neg
// CHECK: %[[IN:.*]] = arith.cmpi slt
// CHECK: "tt.store"(%{{.*}}, %{{.*}}, %[[IN]])
// CHECK-NOT: tt.store
// REMARK: passed: fuse-user-epilogues: fused
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<4x1xf32>) -> tensor<4x1xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<4x1xf32>
    %c = call @copy(%x, %o) : (tensor<4x1xf32>, tensor<4x1xf32>) -> tensor<4x1xf32>
    %q = "fuse.empty"() {syms = []} : () -> tensor<4x1xf32>
    %b = call @neg(%c, %q) : (tensor<4x1xf32>, tensor<4x1xf32>) -> tensor<4x1xf32>
    return %b : tensor<4x1xf32>
  }
  func.func private @copy(%x0: tensor<4x1xf32>, %o: tensor<4x1xf32>) -> tensor<4x1xf32>
      attributes {fuse.kernel, fuse.dims = {}, fuse.grid = ["4", "1", "1"], fuse.ties = array<i64: 1>,
                  fuse.tile = {axes = [], num_stages = 1 : i64, num_warps = 1 : i64}, fuse.user = "model.py:3 copy"} {
    %p0 = "fuse.base"(%x0) : (tensor<4x1xf32>) -> !tt.ptr<f32>
    %po = "fuse.base"(%o) : (tensor<4x1xf32>) -> !tt.ptr<f32>
    %id = "tt.get_program_id"() {axis = 0 : i32} : () -> i32
    %range = "tt.make_range"() {start = 0 : i32, end = 16 : i32} : () -> tensor<16xi32>
    %ids = "tt.splat"(%id) : (i32) -> tensor<16xi32>
    %at = arith.addi %ids, %range : tensor<16xi32>
    %bound = arith.constant dense<1> : tensor<16xi32>
    %in = arith.cmpi slt, %range, %bound : tensor<16xi32>
    %s0 = "tt.splat"(%p0) : (!tt.ptr<f32>) -> tensor<16x!tt.ptr<f32>>
    %a0 = "tt.addptr"(%s0, %at) : (tensor<16x!tt.ptr<f32>>, tensor<16xi32>) -> tensor<16x!tt.ptr<f32>>
    %v0 = "tt.load"(%a0, %in) {operandSegmentSizes = array<i32: 1, 1, 0>} : (tensor<16x!tt.ptr<f32>>, tensor<16xi1>) -> tensor<16xf32>
    %so = "tt.splat"(%po) : (!tt.ptr<f32>) -> tensor<16x!tt.ptr<f32>>
    %ao = "tt.addptr"(%so, %at) : (tensor<16x!tt.ptr<f32>>, tensor<16xi32>) -> tensor<16x!tt.ptr<f32>>
    "tt.store"(%ao, %v0, %in) {operandSegmentSizes = array<i32: 1, 1, 1>} : (tensor<16x!tt.ptr<f32>>, tensor<16xf32>, tensor<16xi1>) -> ()
    return %o : tensor<4x1xf32>
  }
  func.func private @neg(%x: tensor<4x1xf32>, %o: tensor<4x1xf32>) -> tensor<4x1xf32> attributes {fuse.kernel, fuse.dims = {d0 = "4", d1 = "1"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<4x1xf32>, i1, f32) -> f32
    %n = arith.negf %v : f32
    %r = "fuse.store"(%o, %n, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<4x1xf32>, f32, i1) -> tensor<4x1xf32>
    return %r : tensor<4x1xf32>
  }
}

// -----

// A column under a tile of 16 x 16: only lane 0 of a row has an element.
// CHECK-LABEL: func.func @main(
// CHECK: call @copy_neg(
// CHECK-LABEL: func.func private @copy_neg
// CHECK: %[[IN:.*]] = arith.andi
// CHECK: "tt.store"(%{{.*}}, %{{.*}}, %[[IN]])
// CHECK-NOT: tt.store
// REMARK: passed: fuse-user-epilogues: fused
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<5x1xf32>) -> tensor<5x1xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<5x1xf32>
    %c = call @copy(%x, %o) : (tensor<5x1xf32>, tensor<5x1xf32>) -> tensor<5x1xf32>
    %q = "fuse.empty"() {syms = []} : () -> tensor<5x1xf32>
    %b = call @neg(%c, %q) : (tensor<5x1xf32>, tensor<5x1xf32>) -> tensor<5x1xf32>
    return %b : tensor<5x1xf32>
  }
  func.func private @copy(%x: tensor<5x1xf32>, %o: tensor<5x1xf32>) -> tensor<5x1xf32>
      attributes {fuse.kernel, fuse.dims = {}, fuse.grid = ["1", "1", "1"], fuse.ties = array<i64: 1>,
                  fuse.tile = {axes = [], num_stages = 1 : i64, num_warps = 1 : i64}, fuse.user = "model.py:3 copy"} {
    %px = "fuse.base"(%x) : (tensor<5x1xf32>) -> !tt.ptr<f32>
    %po = "fuse.base"(%o) : (tensor<5x1xf32>) -> !tt.ptr<f32>
    %range = "tt.make_range"() {start = 0 : i32, end = 16 : i32} : () -> tensor<16xi32>
    %column = "tt.expand_dims"(%range) {axis = 1 : i32} : (tensor<16xi32>) -> tensor<16x1xi32>
    %row = "tt.expand_dims"(%range) {axis = 0 : i32} : (tensor<16xi32>) -> tensor<1x16xi32>
    %i = "tt.broadcast"(%column) : (tensor<16x1xi32>) -> tensor<16x16xi32>
    %j = "tt.broadcast"(%row) : (tensor<1x16xi32>) -> tensor<16x16xi32>
    %rows = arith.constant dense<5> : tensor<16x16xi32>
    %columns = arith.constant dense<1> : tensor<16x16xi32>
    %ini = arith.cmpi slt, %i, %rows : tensor<16x16xi32>
    %inj = arith.cmpi slt, %j, %columns : tensor<16x16xi32>
    %in = arith.andi %ini, %inj : tensor<16x16xi1>
    %first = arith.muli %i, %columns : tensor<16x16xi32>
    %at = arith.addi %first, %j : tensor<16x16xi32>
    %sx = "tt.splat"(%px) : (!tt.ptr<f32>) -> tensor<16x16x!tt.ptr<f32>>
    %ax = "tt.addptr"(%sx, %at) : (tensor<16x16x!tt.ptr<f32>>, tensor<16x16xi32>) -> tensor<16x16x!tt.ptr<f32>>
    %v = "tt.load"(%ax, %in) {operandSegmentSizes = array<i32: 1, 1, 0>} : (tensor<16x16x!tt.ptr<f32>>, tensor<16x16xi1>) -> tensor<16x16xf32>
    %so = "tt.splat"(%po) : (!tt.ptr<f32>) -> tensor<16x16x!tt.ptr<f32>>
    %ao = "tt.addptr"(%so, %at) : (tensor<16x16x!tt.ptr<f32>>, tensor<16x16xi32>) -> tensor<16x16x!tt.ptr<f32>>
    "tt.store"(%ao, %v, %in) {operandSegmentSizes = array<i32: 1, 1, 1>} : (tensor<16x16x!tt.ptr<f32>>, tensor<16x16xf32>, tensor<16x16xi1>) -> ()
    return %o : tensor<5x1xf32>
  }
  func.func private @neg(%x: tensor<5x1xf32>, %o: tensor<5x1xf32>) -> tensor<5x1xf32> attributes {fuse.kernel, fuse.dims = {d0 = "5", d1 = "1"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<5x1xf32>, i1, f32) -> f32
    %n = arith.negf %v : f32
    %r = "fuse.store"(%o, %n, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<5x1xf32>, f32, i1) -> tensor<5x1xf32>
    return %r : tensor<5x1xf32>
  }
}

// -----

// A row under such a tile.
// CHECK-LABEL: func.func @main(
// CHECK: call @copy_neg(
// CHECK-LABEL: func.func private @copy_neg
// CHECK: %[[IN:.*]] = arith.andi
// CHECK: "tt.store"(%{{.*}}, %{{.*}}, %[[IN]])
// CHECK-NOT: tt.store
// REMARK: passed: fuse-user-epilogues: fused
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<1x5xf32>) -> tensor<1x5xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<1x5xf32>
    %c = call @copy(%x, %o) : (tensor<1x5xf32>, tensor<1x5xf32>) -> tensor<1x5xf32>
    %q = "fuse.empty"() {syms = []} : () -> tensor<1x5xf32>
    %b = call @neg(%c, %q) : (tensor<1x5xf32>, tensor<1x5xf32>) -> tensor<1x5xf32>
    return %b : tensor<1x5xf32>
  }
  func.func private @copy(%x: tensor<1x5xf32>, %o: tensor<1x5xf32>) -> tensor<1x5xf32>
      attributes {fuse.kernel, fuse.dims = {}, fuse.grid = ["1", "1", "1"], fuse.ties = array<i64: 1>,
                  fuse.tile = {axes = [], num_stages = 1 : i64, num_warps = 1 : i64}, fuse.user = "model.py:3 copy"} {
    %px = "fuse.base"(%x) : (tensor<1x5xf32>) -> !tt.ptr<f32>
    %po = "fuse.base"(%o) : (tensor<1x5xf32>) -> !tt.ptr<f32>
    %range = "tt.make_range"() {start = 0 : i32, end = 16 : i32} : () -> tensor<16xi32>
    %column = "tt.expand_dims"(%range) {axis = 1 : i32} : (tensor<16xi32>) -> tensor<16x1xi32>
    %row = "tt.expand_dims"(%range) {axis = 0 : i32} : (tensor<16xi32>) -> tensor<1x16xi32>
    %i = "tt.broadcast"(%column) : (tensor<16x1xi32>) -> tensor<16x16xi32>
    %j = "tt.broadcast"(%row) : (tensor<1x16xi32>) -> tensor<16x16xi32>
    %rows = arith.constant dense<1> : tensor<16x16xi32>
    %columns = arith.constant dense<5> : tensor<16x16xi32>
    %ini = arith.cmpi slt, %i, %rows : tensor<16x16xi32>
    %inj = arith.cmpi slt, %j, %columns : tensor<16x16xi32>
    %in = arith.andi %ini, %inj : tensor<16x16xi1>
    %first = arith.muli %i, %columns : tensor<16x16xi32>
    %at = arith.addi %first, %j : tensor<16x16xi32>
    %sx = "tt.splat"(%px) : (!tt.ptr<f32>) -> tensor<16x16x!tt.ptr<f32>>
    %ax = "tt.addptr"(%sx, %at) : (tensor<16x16x!tt.ptr<f32>>, tensor<16x16xi32>) -> tensor<16x16x!tt.ptr<f32>>
    %v = "tt.load"(%ax, %in) {operandSegmentSizes = array<i32: 1, 1, 0>} : (tensor<16x16x!tt.ptr<f32>>, tensor<16x16xi1>) -> tensor<16x16xf32>
    %so = "tt.splat"(%po) : (!tt.ptr<f32>) -> tensor<16x16x!tt.ptr<f32>>
    %ao = "tt.addptr"(%so, %at) : (tensor<16x16x!tt.ptr<f32>>, tensor<16x16xi32>) -> tensor<16x16x!tt.ptr<f32>>
    "tt.store"(%ao, %v, %in) {operandSegmentSizes = array<i32: 1, 1, 1>} : (tensor<16x16x!tt.ptr<f32>>, tensor<16x16xf32>, tensor<16x16xi1>) -> ()
    return %o : tensor<1x5xf32>
  }
  func.func private @neg(%x: tensor<1x5xf32>, %o: tensor<1x5xf32>) -> tensor<1x5xf32> attributes {fuse.kernel, fuse.dims = {d0 = "1", d1 = "5"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<1x5xf32>, i1, f32) -> f32
    %n = arith.negf %v : f32
    %r = "fuse.store"(%o, %n, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<1x5xf32>, f32, i1) -> tensor<1x5xf32>
    return %r : tensor<1x5xf32>
  }
}

// -----

// One element under such a tile.
// CHECK-LABEL: func.func @main(
// CHECK: call @copy_neg(
// CHECK-LABEL: func.func private @copy_neg
// CHECK: %[[IN:.*]] = arith.andi
// CHECK: "tt.store"(%{{.*}}, %{{.*}}, %[[IN]])
// CHECK-NOT: tt.store
// REMARK: passed: fuse-user-epilogues: fused
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<1x1xf32>) -> tensor<1x1xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<1x1xf32>
    %c = call @copy(%x, %o) : (tensor<1x1xf32>, tensor<1x1xf32>) -> tensor<1x1xf32>
    %q = "fuse.empty"() {syms = []} : () -> tensor<1x1xf32>
    %b = call @neg(%c, %q) : (tensor<1x1xf32>, tensor<1x1xf32>) -> tensor<1x1xf32>
    return %b : tensor<1x1xf32>
  }
  func.func private @copy(%x: tensor<1x1xf32>, %o: tensor<1x1xf32>) -> tensor<1x1xf32>
      attributes {fuse.kernel, fuse.dims = {}, fuse.grid = ["1", "1", "1"], fuse.ties = array<i64: 1>,
                  fuse.tile = {axes = [], num_stages = 1 : i64, num_warps = 1 : i64}, fuse.user = "model.py:3 copy"} {
    %px = "fuse.base"(%x) : (tensor<1x1xf32>) -> !tt.ptr<f32>
    %po = "fuse.base"(%o) : (tensor<1x1xf32>) -> !tt.ptr<f32>
    %range = "tt.make_range"() {start = 0 : i32, end = 16 : i32} : () -> tensor<16xi32>
    %column = "tt.expand_dims"(%range) {axis = 1 : i32} : (tensor<16xi32>) -> tensor<16x1xi32>
    %row = "tt.expand_dims"(%range) {axis = 0 : i32} : (tensor<16xi32>) -> tensor<1x16xi32>
    %i = "tt.broadcast"(%column) : (tensor<16x1xi32>) -> tensor<16x16xi32>
    %j = "tt.broadcast"(%row) : (tensor<1x16xi32>) -> tensor<16x16xi32>
    %rows = arith.constant dense<1> : tensor<16x16xi32>
    %columns = arith.constant dense<1> : tensor<16x16xi32>
    %ini = arith.cmpi slt, %i, %rows : tensor<16x16xi32>
    %inj = arith.cmpi slt, %j, %columns : tensor<16x16xi32>
    %in = arith.andi %ini, %inj : tensor<16x16xi1>
    %first = arith.muli %i, %columns : tensor<16x16xi32>
    %at = arith.addi %first, %j : tensor<16x16xi32>
    %sx = "tt.splat"(%px) : (!tt.ptr<f32>) -> tensor<16x16x!tt.ptr<f32>>
    %ax = "tt.addptr"(%sx, %at) : (tensor<16x16x!tt.ptr<f32>>, tensor<16x16xi32>) -> tensor<16x16x!tt.ptr<f32>>
    %v = "tt.load"(%ax, %in) {operandSegmentSizes = array<i32: 1, 1, 0>} : (tensor<16x16x!tt.ptr<f32>>, tensor<16x16xi1>) -> tensor<16x16xf32>
    %so = "tt.splat"(%po) : (!tt.ptr<f32>) -> tensor<16x16x!tt.ptr<f32>>
    %ao = "tt.addptr"(%so, %at) : (tensor<16x16x!tt.ptr<f32>>, tensor<16x16xi32>) -> tensor<16x16x!tt.ptr<f32>>
    "tt.store"(%ao, %v, %in) {operandSegmentSizes = array<i32: 1, 1, 1>} : (tensor<16x16x!tt.ptr<f32>>, tensor<16x16xf32>, tensor<16x16xi1>) -> ()
    return %o : tensor<1x1xf32>
  }
  func.func private @neg(%x: tensor<1x1xf32>, %o: tensor<1x1xf32>) -> tensor<1x1xf32> attributes {fuse.kernel, fuse.dims = {d0 = "1", d1 = "1"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<1x1xf32>, i1, f32) -> f32
    %n = arith.negf %v : f32
    %r = "fuse.store"(%o, %n, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<1x1xf32>, f32, i1) -> tensor<1x1xf32>
    return %r : tensor<1x1xf32>
  }
}

// -----

// Must not fire: the only element held something before, which the lanes behind it leave as it is.
// CHECK-LABEL: func.func @main(
// CHECK: call @copy(
// CHECK: call @neg(
// REMARK: missed: fuse-user-epilogues: not-empty
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<1xf32>) -> tensor<1xf32> {
    %c = call @copy(%x) : (tensor<1xf32>) -> tensor<1xf32>
    %q = "fuse.empty"() {syms = []} : () -> tensor<1xf32>
    %b = call @neg(%c, %q) : (tensor<1xf32>, tensor<1xf32>) -> tensor<1xf32>
    return %b : tensor<1xf32>
  }
  func.func private @copy(%x0: tensor<1xf32>) -> tensor<1xf32>
      attributes {fuse.kernel, fuse.dims = {}, fuse.grid = ["1", "1", "1"], fuse.ties = array<i64: 0>,
                  fuse.tile = {axes = [], num_stages = 1 : i64, num_warps = 1 : i64}, fuse.user = "model.py:3 copy"} {
    %p0 = "fuse.base"(%x0) : (tensor<1xf32>) -> !tt.ptr<f32>
    %id = "tt.get_program_id"() {axis = 0 : i32} : () -> i32
    %range = "tt.make_range"() {start = 0 : i32, end = 16 : i32} : () -> tensor<16xi32>
    %c = arith.constant 16 : i32
    %first = arith.muli %id, %c : i32
    %firsts = "tt.splat"(%first) : (i32) -> tensor<16xi32>
    %at = arith.addi %firsts, %range : tensor<16xi32>
    %bound = arith.constant dense<1> : tensor<16xi32>
    %in = arith.cmpi slt, %at, %bound : tensor<16xi32>
    %s0 = "tt.splat"(%p0) : (!tt.ptr<f32>) -> tensor<16x!tt.ptr<f32>>
    %a0 = "tt.addptr"(%s0, %at) : (tensor<16x!tt.ptr<f32>>, tensor<16xi32>) -> tensor<16x!tt.ptr<f32>>
    %v0 = "tt.load"(%a0, %in) {operandSegmentSizes = array<i32: 1, 1, 0>} : (tensor<16x!tt.ptr<f32>>, tensor<16xi1>) -> tensor<16xf32>
    "tt.store"(%a0, %v0, %in) {operandSegmentSizes = array<i32: 1, 1, 1>} : (tensor<16x!tt.ptr<f32>>, tensor<16xf32>, tensor<16xi1>) -> ()
    return %x0 : tensor<1xf32>
  }
  func.func private @neg(%x: tensor<1xf32>, %o: tensor<1xf32>) -> tensor<1xf32> attributes {fuse.kernel, fuse.dims = {d0 = "1"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<1xf32>, i1, f32) -> f32
    %n = arith.negf %v : f32
    %r = "fuse.store"(%o, %n, %true) {at = ["d0"], mode = "set"} : (tensor<1xf32>, f32, i1) -> tensor<1xf32>
    return %r : tensor<1xf32>
  }
}
