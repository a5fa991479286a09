// RUN: fuse-opt %s --fuse-print-dependences --split-input-file -o %t 2>&1 | FileCheck %s

// A kernel says at which points it reads and writes; a view has the version that it views; the write into an
// argument makes a new version of it, after the reads of the old one, here through a view.
// CHECK: 0: fuse.view
// CHECK-NEXT:   view a0.0
// CHECK-NEXT: 1: fuse.empty
// CHECK-NEXT:   make b0.0: whole
// CHECK-NEXT: 2: @copy
// CHECK-NEXT:   read a0.0 [d0, d1] over d0 = 8, d1 = 4: exact
// CHECK-NEXT:   write b0.1 [d0, d1] over d0 = 8, d1 = 4: exact
// CHECK-NEXT:   after 0: data, whole
// CHECK-NEXT:   after 1: data, whole
// CHECK-NEXT: 3: @neg
// CHECK-NEXT:   write a0.1 [d0, d1] over d0 = 4, d1 = 8: exact
// CHECK-NEXT:   after 2: war of a0, order
// CHECK-NEXT: 4: func.return
// CHECK-NEXT:   read b0.1: whole
// CHECK-NEXT:   after 2: data, whole
module attributes {fuse.device = "cpu"} {
  func.func @main(%p: tensor<4x8xf32>) -> tensor<8x4xf32> {
    %t = "fuse.view"(%p) {map = ["v1", "v0"], syms = []} : (tensor<4x8xf32>) -> tensor<8x4xf32, #fuse.layout<"8,4", "1,8", "0", "">>
    %o = "fuse.empty"() {syms = []} : () -> tensor<8x4xf32>
    %a = call @copy(%t, %o) : (tensor<8x4xf32, #fuse.layout<"8,4", "1,8", "0", "">>, tensor<8x4xf32>) -> tensor<8x4xf32>
    %n = call @neg(%p) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    return %a : tensor<8x4xf32>
  }
  func.func private @copy(%x: tensor<8x4xf32, #fuse.layout<"8,4", "1,8", "0", "">>, %o: tensor<8x4xf32>) -> tensor<8x4xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "4"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<8x4xf32, #fuse.layout<"8,4", "1,8", "0", "">>, i1, f32) -> f32
    %r = "fuse.store"(%o, %v, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<8x4xf32>, f32, i1) -> tensor<8x4xf32>
    return %r : tensor<8x4xf32>
  }
  func.func private @neg(%x: tensor<4x8xf32>) -> tensor<4x8xf32> attributes {fuse.kernel, fuse.dims = {d0 = "4", d1 = "8"}, fuse.ties = array<i64: 0>} {
    %true = arith.constant true
    %one = arith.constant 1.0 : f32
    %r = "fuse.store"(%x, %one, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<4x8xf32>, f32, i1) -> tensor<4x8xf32>
    return %r : tensor<4x8xf32>
  }
}

// -----

// An extern op reads all of its operands; what it writes in place is a new version for everybody, and a later
// read comes after it; a result that shares storage is a view.
// CHECK: 0: @add_
// CHECK-NEXT:   read a0.0: whole
// CHECK-NEXT:   read a1.0: whole
// CHECK-NEXT:   write a0.1: whole
// CHECK-NEXT: 1: @alias
// CHECK-NEXT:   read a0.1: whole
// CHECK-NEXT:   view a0.1
// CHECK-NEXT:   after 0: raw of a0, order
// CHECK-NEXT: 2: @relu
// CHECK-NEXT:   read a0.1: whole
// CHECK-NEXT:   write b0.0: whole
// CHECK-NEXT:   after 0: raw of a0, order
// CHECK-NEXT: 3: func.return
// CHECK-NEXT:   read a0.1: whole
// CHECK-NEXT:   read b0.0: whole
// CHECK-NEXT:   after 0: raw of a0, order
// CHECK-NEXT:   after 1: data, whole
// CHECK-NEXT:   after 2: data, whole
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<8xf32>, %y: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
    call @add_(%x, %y) : (tensor<8xf32>, tensor<8xf32>) -> ()
    %v = call @alias(%x) : (tensor<8xf32>) -> tensor<8xf32>
    %r = call @relu(%x) : (tensor<8xf32>) -> tensor<8xf32>
    return %v, %r : tensor<8xf32>, tensor<8xf32>
  }
  func.func private @add_(tensor<8xf32>, tensor<8xf32>) attributes {fuse.extern = "aten.add_.Tensor", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}, fuse.mutated = array<i64: 0>}
  func.func private @alias(tensor<8xf32>) -> tensor<8xf32> attributes {fuse.extern = "aten.alias.default", fuse.args = [#fuse.arg<0 : i64>], fuse.kwargs = {}, fuse.aliases = {"0" = 0 : i64}}
  func.func private @relu(tensor<8xf32>) -> tensor<8xf32> attributes {fuse.extern = "aten.relu.default", fuse.args = [#fuse.arg<0 : i64>], fuse.kwargs = {}}
}

// -----

// A size that depends on data: the op that finds it defines it; memory, views, kernels, other sizes, extern ops
// and predicates that use it come after.
// CHECK: 0: @masked
// CHECK-NEXT:   read a0.0: whole
// CHECK-NEXT:   write b0.0: whole
// CHECK-NEXT:   defines u0
// CHECK-NEXT: 1: fuse.sym
// CHECK-NEXT:   defines u1
// CHECK-NEXT:   uses u0, s0
// CHECK-NEXT:   after 0: size, whole
// CHECK-NEXT: 2: fuse.view
// CHECK-NEXT:   view b0.0
// CHECK-NEXT:   uses u0
// CHECK-NEXT:   after 0: data, whole
// CHECK-NEXT:   after 0: size, whole
// CHECK-NEXT: 3: fuse.empty
// CHECK-NEXT:   make b1.0: whole
// CHECK-NEXT:   uses u0
// CHECK-NEXT:   after 0: size, whole
// CHECK-NEXT: 4: @fill
// CHECK-NEXT:   write b1.1 [d0] over d0 = u0: exact
// CHECK-NEXT:   uses u0
// CHECK-NEXT:   after 0: size, whole
// CHECK-NEXT:   after 3: data, whole
// CHECK-NEXT: 5: @positive
// CHECK-NEXT:   defines n8
// CHECK-NEXT:   uses u1
// CHECK-NEXT:   after 1: size, whole
// CHECK-NEXT: 6: @choose
// CHECK-NEXT:   read b1.1: whole
// CHECK-NEXT:   read b0.0: whole
// CHECK-NEXT:   write b2.0: whole
// CHECK-NEXT:   uses n8
// CHECK-NEXT:   after 2: data, whole
// CHECK-NEXT:   after 4: data, whole
// CHECK-NEXT:   after 5: size, whole
// CHECK-NEXT: 7: func.return
// CHECK-NEXT:   read b2.0: whole
// CHECK-NEXT:   after 6: data, whole
!u = tensor<?xf32, #fuse.layout<"u0", "1", "0", "">>

module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<8xf32>, %s0: index {fuse.sym = "s0"}) -> !u {
    %m, %u0 = call @masked(%x) : (tensor<8xf32>) -> (!u, index)
    %u1 = "fuse.sym"(%u0, %s0) {expr = "u0 + s0", symbol = "u1", syms = ["u0", "s0"]} : (index, index) -> index
    %f = "fuse.view"(%m, %u0) {map = ["v0"], syms = ["u0"]} : (!u, index) -> !u
    %o = "fuse.empty"(%u0) {syms = ["u0"]} : (index) -> !u
    %k = call @fill(%o, %u0) : (!u, index) -> !u
    %c = call @positive(%u1) : (index) -> i1
    %r = call @choose(%c, %k, %f) : (i1, !u, !u) -> !u
    return %r : !u
  }
  func.func private @masked(tensor<8xf32>) -> (!u, index {fuse.sym = "u0"}) attributes {fuse.extern = "aten.nonzero.default", fuse.args = [#fuse.arg<0 : i64>], fuse.kwargs = {}}
  func.func private @positive(index) -> i1 attributes {fuse.extern = "operator.gt", fuse.args = [#fuse.arg<0 : i64>, 0 : i64], fuse.kwargs = {}}
  func.func private @choose(i1, !u, !u) -> !u attributes {fuse.extern = "aten.where.self", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>, #fuse.arg<2 : i64>], fuse.kwargs = {}}
  func.func private @fill(%o: !u, %u0: index {fuse.sym = "u0"}) -> !u attributes {fuse.kernel, fuse.dims = {d0 = "u0"}, fuse.ties = array<i64: 0>} {
    %true = arith.constant true
    %one = arith.constant 1.0 : f32
    %r = "fuse.store"(%o, %one, %true) {at = ["d0"], mode = "set"} : (!u, f32, i1) -> !u
    return %r : !u
  }
}

// -----

// A loaded index may name any row; a token orders and carries nothing.
// CHECK: 0: fuse.empty
// CHECK-NEXT:   make b0.0: whole
// CHECK-NEXT: 1: @rows
// CHECK-NEXT:   read a1.0 [d0] over d0 = 2: exact
// CHECK-NEXT:   read a0.0 [i0, d1] over d0 = 2, d1 = 8: whole
// CHECK-NEXT:   write b0.1 [d0, d1] over d0 = 2, d1 = 8: exact
// CHECK-NEXT:   after 0: data, whole
// CHECK-NEXT: 2: fuse.after
// CHECK-NEXT:   after 1: token, order
// CHECK-NEXT: 3: @relu
// CHECK-NEXT:   read a0.0: whole
// CHECK-NEXT:   write b1.0: whole
// CHECK-NEXT:   after 2: token, order
// CHECK-NEXT: 4: func.return
// CHECK-NEXT:   read b0.1: whole
// CHECK-NEXT:   read b1.0: whole
// CHECK-NEXT:   after 1: data, whole
// CHECK-NEXT:   after 3: data, whole
module attributes {fuse.device = "cpu"} {
  func.func @main(%w: tensor<4x8xf32>, %i: tensor<2xi64>) -> (tensor<2x8xf32>, tensor<4x8xf32>) {
    %o = "fuse.empty"() {syms = []} : () -> tensor<2x8xf32>
    %a = call @rows(%w, %i, %o) : (tensor<4x8xf32>, tensor<2xi64>, tensor<2x8xf32>) -> tensor<2x8xf32>
    %t = "fuse.after"(%a) : (tensor<2x8xf32>) -> !fuse.token
    %b = call @relu(%w, %t) : (tensor<4x8xf32>, !fuse.token) -> tensor<4x8xf32>
    return %a, %b : tensor<2x8xf32>, tensor<4x8xf32>
  }
  func.func private @relu(tensor<4x8xf32>, !fuse.token) -> tensor<4x8xf32> attributes {fuse.extern = "aten.relu.default", fuse.args = [#fuse.arg<0 : i64>], fuse.kwargs = {}}
  func.func private @rows(%w: tensor<4x8xf32>, %i: tensor<2xi64>, %o: tensor<2x8xf32>) -> tensor<2x8xf32> attributes {fuse.kernel, fuse.dims = {d0 = "2", d1 = "8"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %none = arith.constant 0 : i64
    %at = "fuse.load"(%i, %true, %none) {at = ["d0"]} : (tensor<2xi64>, i1, i64) -> i64
    %v = "fuse.load"(%w, %true, %zero, %at) {at = ["i0", "d1"]} : (tensor<4x8xf32>, i1, f32, i64) -> f32
    %r = "fuse.store"(%o, %v, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<2x8xf32>, f32, i1) -> tensor<2x8xf32>
    return %r : tensor<2x8xf32>
  }
}
