// RUN: fuse-opt %s --pass-pipeline="builtin.module(fold-views)" --split-input-file --verify-diagnostics | FileCheck %s

// A transposed operand is read through its source.
// CHECK-LABEL: func.func @main
// CHECK: call @copy(%arg0, %{{.*}}) : (tensor<8x64xf32>, tensor<64x8xf32>)
// CHECK: "fuse.load"({{.*}}) {at = ["d1", "d0"]}
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<8x64xf32>) -> tensor<64x8xf32> {
    %v = "fuse.view"(%x) {map = ["v1", "v0"], syms = []} : (tensor<8x64xf32>) -> tensor<64x8xf32, #fuse.layout<"64,8", "1,64", "0", "">>
    %o = "fuse.empty"() {syms = []} : () -> tensor<64x8xf32>
    %y = call @copy(%v, %o) : (tensor<64x8xf32, #fuse.layout<"64,8", "1,64", "0", "">>, tensor<64x8xf32>) -> tensor<64x8xf32>
    return %y : tensor<64x8xf32>
  }
  func.func private @copy(%x: tensor<64x8xf32, #fuse.layout<"64,8", "1,64", "0", "">>, %o: tensor<64x8xf32>) -> tensor<64x8xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "64", d1 = "8"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<64x8xf32, #fuse.layout<"64,8", "1,64", "0", "">>, i1, f32) -> f32
    %r = "fuse.store"(%o, %v, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<64x8xf32>, f32, i1) -> tensor<64x8xf32>
    return %r : tensor<64x8xf32>
  }
}

// -----

// A chain folds to its root: rows 2.. of a reshape.  The kernel's other call, of a plain tensor, keeps the old kernel.
// CHECK-LABEL: func.func @main
// CHECK-SAME: %[[X:arg0]]: tensor<512xf32>
// CHECK: call @copy_1(%[[X]],
// CHECK: call @copy(%arg1,
// CHECK-LABEL: func.func private @copy(
// CHECK: at = ["d0", "d1"]
// CHECK-LABEL: func.func private @copy_1(
// CHECK: "fuse.load"({{.*}}) {at = ["d0*64 + d1 + 128"]}
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<512xf32>, %z: tensor<6x64xf32, #fuse.layout<"6,64", "64,1", "128", "">>) -> (tensor<6x64xf32>, tensor<6x64xf32>) {
    %v = "fuse.view"(%x) {map = ["v0*64 + v1"], syms = []} : (tensor<512xf32>) -> tensor<8x64xf32>
    %w = "fuse.view"(%v) {map = ["v0 + 2", "v1"], syms = []} : (tensor<8x64xf32>) -> tensor<6x64xf32, #fuse.layout<"6,64", "64,1", "128", "">>
    %o = "fuse.empty"() {syms = []} : () -> tensor<6x64xf32>
    %y = call @copy(%w, %o) : (tensor<6x64xf32, #fuse.layout<"6,64", "64,1", "128", "">>, tensor<6x64xf32>) -> tensor<6x64xf32>
    %p = "fuse.empty"() {syms = []} : () -> tensor<6x64xf32>
    %q = call @copy(%z, %p) : (tensor<6x64xf32, #fuse.layout<"6,64", "64,1", "128", "">>, tensor<6x64xf32>) -> tensor<6x64xf32>
    return %y, %q : tensor<6x64xf32>, tensor<6x64xf32>
  }
  func.func private @copy(%x: tensor<6x64xf32, #fuse.layout<"6,64", "64,1", "128", "">>, %o: tensor<6x64xf32>) -> tensor<6x64xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "6", d1 = "64"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<6x64xf32, #fuse.layout<"6,64", "64,1", "128", "">>, i1, f32) -> f32
    %r = "fuse.store"(%o, %v, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<6x64xf32>, f32, i1) -> tensor<6x64xf32>
    return %r : tensor<6x64xf32>
  }
}

// -----

// The symbol that the new type and coordinate name becomes an argument.
// CHECK-LABEL: func.func @main
// CHECK: call @copy(%arg0, %{{.*}}, %arg1) : (tensor<?x64xf32, #fuse.layout<"s0,64", "64,1", "0", "">>, tensor<64xf32>, index)
// CHECK-LABEL: func.func private @copy
// CHECK-SAME: index {fuse.sym = "s0"}
// CHECK: "fuse.load"({{.*}}) {at = ["s0 - 1", "d0"]}
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<?x64xf32, #fuse.layout<"s0,64", "64,1", "0", "">>, %s0: index {fuse.sym = "s0", fuse.min = 1 : i64}) -> tensor<64xf32> {
    %v = "fuse.view"(%x, %s0) {map = ["s0 - 1", "v0"], syms = ["s0"]} : (tensor<?x64xf32, #fuse.layout<"s0,64", "64,1", "0", "">>, index) -> tensor<64xf32, #fuse.layout<"64", "1", "s0*64 - 64", "">>
    %o = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %y = call @copy(%v, %o, %s0) : (tensor<64xf32, #fuse.layout<"64", "1", "s0*64 - 64", "">>, tensor<64xf32>, index) -> tensor<64xf32>
    return %y : tensor<64xf32>
  }
  func.func private @copy(%x: tensor<64xf32, #fuse.layout<"64", "1", "s0*64 - 64", "">>, %o: tensor<64xf32>, %s0: index {fuse.sym = "s0"}) -> tensor<64xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "64"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<64xf32, #fuse.layout<"64", "1", "s0*64 - 64", "">>, i1, f32) -> f32
    %r = "fuse.store"(%o, %v, %true) {at = ["d0"], mode = "set"} : (tensor<64xf32>, f32, i1) -> tensor<64xf32>
    return %r : tensor<64xf32>
  }
}

// -----

// So do the bounds that @main has for it, as it may be negative.
// CHECK-LABEL: func.func @main
// CHECK: call @copy(%arg0, %{{.*}}, %arg1)
// CHECK-LABEL: func.func private @copy
// CHECK-SAME: index {fuse.max = 63 : i64, fuse.min = -8 : i64, fuse.sym = "s0"}
// CHECK: "fuse.load"({{.*}}) {at = ["1", "d0"]}
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<?x8xf32, #fuse.layout<"s0 + 64,8", "8,1", "0", "">>, %n: index {fuse.sym = "s0", fuse.min = -8 : i64, fuse.max = 63 : i64, fuse.hint = 4 : i64}) -> tensor<8xf32> {
    %v = "fuse.view"(%x) {map = ["1", "v0"], syms = []} : (tensor<?x8xf32, #fuse.layout<"s0 + 64,8", "8,1", "0", "">>) -> tensor<8xf32, #fuse.layout<"8", "1", "8", "">>
    %o = "fuse.empty"() {syms = []} : () -> tensor<8xf32>
    %y = call @copy(%v, %o) : (tensor<8xf32, #fuse.layout<"8", "1", "8", "">>, tensor<8xf32>) -> tensor<8xf32>
    return %y : tensor<8xf32>
  }
  func.func private @copy(%x: tensor<8xf32, #fuse.layout<"8", "1", "8", "">>, %o: tensor<8xf32>) -> tensor<8xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "8"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<8xf32, #fuse.layout<"8", "1", "8", "">>, i1, f32) -> f32
    %r = "fuse.store"(%o, %v, %true) {at = ["d0"], mode = "set"} : (tensor<8xf32>, f32, i1) -> tensor<8xf32>
    return %r : tensor<8xf32>
  }
}

// -----

// Must not fire: of a size that has no bounds there are none to copy, and its hint is none.
// CHECK-LABEL: func.func private @copy
// CHECK-SAME: index {fuse.sym = "s0"}
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<?x8xf32, #fuse.layout<"s0 + 2,8", "8,1", "0", "">>, %n: index {fuse.sym = "s0", fuse.hint = 4 : i64}) -> tensor<8xf32> {
    %v = "fuse.view"(%x) {map = ["1", "v0"], syms = []} : (tensor<?x8xf32, #fuse.layout<"s0 + 2,8", "8,1", "0", "">>) -> tensor<8xf32, #fuse.layout<"8", "1", "8", "">>
    %o = "fuse.empty"() {syms = []} : () -> tensor<8xf32>
    %y = call @copy(%v, %o) : (tensor<8xf32, #fuse.layout<"8", "1", "8", "">>, tensor<8xf32>) -> tensor<8xf32>
    return %y : tensor<8xf32>
  }
  func.func private @copy(%x: tensor<8xf32, #fuse.layout<"8", "1", "8", "">>, %o: tensor<8xf32>) -> tensor<8xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "8"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<8xf32, #fuse.layout<"8", "1", "8", "">>, i1, f32) -> f32
    %r = "fuse.store"(%o, %v, %true) {at = ["d0"], mode = "set"} : (tensor<8xf32>, f32, i1) -> tensor<8xf32>
    return %r : tensor<8xf32>
  }
}

// -----

// A store into an injective view of an argument becomes a store into the argument; its users get a view of the new value.
// CHECK-LABEL: func.func @main
// CHECK: %[[NEW:.*]] = call @fill(%arg0) : (tensor<8x64xf32>) -> tensor<8x64xf32>
// CHECK: %[[V:.*]] = "fuse.view"(%[[NEW]]) {map = ["v0*2", "v1"], syms = []}
// CHECK: return %[[V]]
// CHECK: "fuse.store"({{.*}}) {at = ["d0*2", "d1"], mode = "set"}
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<8x64xf32>) -> tensor<4x64xf32, #fuse.layout<"4,64", "128,1", "0", "">> {
    %v = "fuse.view"(%x) {map = ["v0*2", "v1"], syms = []} : (tensor<8x64xf32>) -> tensor<4x64xf32, #fuse.layout<"4,64", "128,1", "0", "">>
    %y = call @fill(%v) : (tensor<4x64xf32, #fuse.layout<"4,64", "128,1", "0", "">>) -> tensor<4x64xf32, #fuse.layout<"4,64", "128,1", "0", "">>
    return %y : tensor<4x64xf32, #fuse.layout<"4,64", "128,1", "0", "">>
  }
  func.func private @fill(%o: tensor<4x64xf32, #fuse.layout<"4,64", "128,1", "0", "">>) -> tensor<4x64xf32, #fuse.layout<"4,64", "128,1", "0", "">>
      attributes {fuse.kernel, fuse.dims = {d0 = "4", d1 = "64"}, fuse.ties = array<i64: 0>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %r = "fuse.store"(%o, %zero, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<4x64xf32, #fuse.layout<"4,64", "128,1", "0", "">>, f32, i1) -> tensor<4x64xf32, #fuse.layout<"4,64", "128,1", "0", "">>
    return %r : tensor<4x64xf32, #fuse.layout<"4,64", "128,1", "0", "">>
  }
}

// -----

// Must not fire: an expanded view is not injective, so the store stays where it is; an extern op keeps its view.
// CHECK-LABEL: func.func @main
// CHECK: %[[V:.*]] = "fuse.view"
// CHECK: call @extern_neg(%[[V]])
// CHECK: call @fill(%[[V]])
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<1x64xf32>) -> (tensor<4x64xf32, #fuse.layout<"4,64", "0,1", "0", "">>, tensor<4x64xf32>) {
    %v = "fuse.view"(%x) {map = ["0", "v1"], syms = []} : (tensor<1x64xf32>) -> tensor<4x64xf32, #fuse.layout<"4,64", "0,1", "0", "">>
    %z = call @extern_neg(%v) : (tensor<4x64xf32, #fuse.layout<"4,64", "0,1", "0", "">>) -> tensor<4x64xf32>
    %y = call @fill(%v) : (tensor<4x64xf32, #fuse.layout<"4,64", "0,1", "0", "">>) -> tensor<4x64xf32, #fuse.layout<"4,64", "0,1", "0", "">>
    return %y, %z : tensor<4x64xf32, #fuse.layout<"4,64", "0,1", "0", "">>, tensor<4x64xf32>
  }
  func.func private @extern_neg(tensor<4x64xf32, #fuse.layout<"4,64", "0,1", "0", "">>) -> tensor<4x64xf32> attributes {fuse.extern = "aten.neg.default", fuse.args = [#fuse.arg<0 : i64>], fuse.kwargs = {}}
  func.func private @fill(%o: tensor<4x64xf32, #fuse.layout<"4,64", "0,1", "0", "">>) -> tensor<4x64xf32, #fuse.layout<"4,64", "0,1", "0", "">>
      attributes {fuse.kernel, fuse.dims = {d0 = "4", d1 = "64"}, fuse.ties = array<i64: 0>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %r = "fuse.store"(%o, %zero, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<4x64xf32, #fuse.layout<"4,64", "0,1", "0", "">>, f32, i1) -> tensor<4x64xf32, #fuse.layout<"4,64", "0,1", "0", "">>
    return %r : tensor<4x64xf32, #fuse.layout<"4,64", "0,1", "0", "">>
  }
}

// -----

// Must not fire: windows overlap, so that one element of the source is two of the view.
// CHECK-LABEL: func.func @main
// CHECK: %[[V:.*]] = "fuse.view"
// CHECK: call @fill(%[[V]])
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<8xf32>) -> tensor<7x2xf32, #fuse.layout<"7,2", "1,1", "0", "">> {
    %v = "fuse.view"(%x) {map = ["v0 + v1"], syms = []} : (tensor<8xf32>) -> tensor<7x2xf32, #fuse.layout<"7,2", "1,1", "0", "">>
    %y = call @fill(%v) : (tensor<7x2xf32, #fuse.layout<"7,2", "1,1", "0", "">>) -> tensor<7x2xf32, #fuse.layout<"7,2", "1,1", "0", "">>
    return %y : tensor<7x2xf32, #fuse.layout<"7,2", "1,1", "0", "">>
  }
  func.func private @fill(%o: tensor<7x2xf32, #fuse.layout<"7,2", "1,1", "0", "">>) -> tensor<7x2xf32, #fuse.layout<"7,2", "1,1", "0", "">> attributes {fuse.kernel, fuse.dims = {d0 = "7", d1 = "2"}, fuse.ties = array<i64: 0>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %r = "fuse.store"(%o, %zero, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<7x2xf32, #fuse.layout<"7,2", "1,1", "0", "">>, f32, i1) -> tensor<7x2xf32, #fuse.layout<"7,2", "1,1", "0", "">>
    return %r : tensor<7x2xf32, #fuse.layout<"7,2", "1,1", "0", "">>
  }
}

// -----

// Bad input: a map with too few coordinates.
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<8x64xf32>) -> tensor<64xf32> {
    // expected-error @+1 {{expected 2 coordinates, one a dim of tensor<8x64xf32>, got 1}}
    %v = "fuse.view"(%x) {map = ["v0"], syms = []} : (tensor<8x64xf32>) -> tensor<64xf32>
    %o = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %y = call @copy(%v, %o) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    return %y : tensor<64xf32>
  }
  func.func private @copy(%x: tensor<64xf32>, %o: tensor<64xf32>) -> tensor<64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<64xf32>, i1, f32) -> f32
    %r = "fuse.store"(%o, %v, %true) {at = ["d0"], mode = "set"} : (tensor<64xf32>, f32, i1) -> tensor<64xf32>
    return %r : tensor<64xf32>
  }
}

// -----

// A factor that is expanded along the sum: its element is the same at all points of d2, which the product repeats.
// CHECK-LABEL: func.func private @product
// CHECK: %[[A:.*]] = "fuse.load"(%arg0, {{.*}}) {at = ["d0", "0"]}
// CHECK: %[[B:.*]] = "fuse.load"(%arg1, {{.*}}) {at = ["d2", "d1"]}
// CHECK: "fuse.dot"(%[[A]], %[[B]]) {over = ["d2"]} : (f32, f32) -> f32
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<8x1xf32>, %w: tensor<64x4xf32>) -> tensor<8x4xf32> {
    %v = "fuse.view"(%x) {map = ["v0", "0"], syms = []} : (tensor<8x1xf32>) -> tensor<8x64xf32, #fuse.layout<"8,64", "1,0", "0", "">>
    %o = "fuse.empty"() {syms = []} : () -> tensor<8x4xf32>
    %y = call @product(%v, %w, %o) : (tensor<8x64xf32, #fuse.layout<"8,64", "1,0", "0", "">>, tensor<64x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
    return %y : tensor<8x4xf32>
  }
  func.func private @product(%x: tensor<8x64xf32, #fuse.layout<"8,64", "1,0", "0", "">>, %w: tensor<64x4xf32>, %o: tensor<8x4xf32>) -> tensor<8x4xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "4", d2 = "64"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d2"]} : (tensor<8x64xf32, #fuse.layout<"8,64", "1,0", "0", "">>, i1, f32) -> f32
    %b = "fuse.load"(%w, %true, %zero) {at = ["d2", "d1"]} : (tensor<64x4xf32>, i1, f32) -> f32
    %s = "fuse.dot"(%a, %b) {over = ["d2"]} : (f32, f32) -> f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<8x4xf32>, f32, i1) -> tensor<8x4xf32>
    return %r : tensor<8x4xf32>
  }
}
