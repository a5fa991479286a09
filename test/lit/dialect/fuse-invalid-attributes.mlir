// Rules about names of attributes, each broken once: of the ops of the dialect, and of the dialect's on other ops.
// RUN: fuse-opt %s --split-input-file --verify-diagnostics

// an op of a kernel: a precision that nothing would read
func.func private @k(%x: tensor<8x4xf32>, %o: tensor<8xf32>) -> tensor<8xf32>
    attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "4"}, fuse.ties = array<i64: 1>} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : f32
  %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<8x4xf32>, i1, f32) -> f32
  // expected-error@+1 {{'fuse.dot' op expected no attributes but over, precision, fast_accum, got presision}}
  %m = "fuse.dot"(%v, %v) {over = ["d1"], presision = "tf32"} : (f32, f32) -> f32
  %r = "fuse.store"(%o, %m, %true) {at = ["d0"], mode = "set"} : (tensor<8xf32>, f32, i1) -> tensor<8xf32>
  return %r : tensor<8xf32>
}

// -----

// an op of a kernel: a rounding where nothing is rounded
func.func private @k(%x: tensor<8x4xf32>, %o: tensor<8xf32>) -> tensor<8xf32>
    attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "4"}, fuse.ties = array<i64: 1>} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : f32
  %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<8x4xf32>, i1, f32) -> f32
  // expected-error@+1 {{'fuse.dot' op expected fuse.implicit on an arith.truncf, got fuse.dot}}
  %m = "fuse.dot"(%v, %v) {fuse.implicit, over = ["d1"]} : (f32, f32) -> f32
  %r = "fuse.store"(%o, %m, %true) {at = ["d0"], mode = "set"} : (tensor<8xf32>, f32, i1) -> tensor<8xf32>
  return %r : tensor<8xf32>
}

// -----

// an op of a graph
func.func @main(%x: tensor<8xf32>) {
  // expected-error@+1 {{'fuse.view' op expected no attributes but map, syms, got strides}}
  %v = "fuse.view"(%x) {map = ["v0*4 + v1"], strides = [4, 1], syms = []} : (tensor<8xf32>) -> tensor<2x4xf32>
  return
}

// -----

// an op without attributes
func.func @main(%x: tensor<8xf32>) {
  // expected-error@+1 {{'fuse.after' op expected no attributes, got kind}}
  %t = "fuse.after"(%x) {kind = "late"} : (tensor<8xf32>) -> !fuse.token
  return
}

// -----

// attributes of other dialects are theirs
func.func @main(%x: tensor<8xf32>) {
  %t = "fuse.after"(%x) {tt.note = "late"} : (tensor<8xf32>) -> !fuse.token
  return
}

// -----

// a function
// expected-error@+1 {{'func.func' op expected attributes of fuse that docs/dialect.md describes, got fuse.presision}}
func.func private @mm(tensor<8x4xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
    attributes {fuse.extern = "aten.mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.presision = "tf32"}

// -----

// what is there or not has no value
// expected-error@+1 {{'func.func' op expected fuse.wide to have no value, got "no"}}
func.func private @k(%o: tensor<8xf32>) -> tensor<8xf32>
    attributes {fuse.kernel, fuse.dims = {d0 = "8"}, fuse.ties = array<i64: 0>, fuse.wide = "no"} {
  %true = arith.constant true
  %one = arith.constant 1.0 : f32
  %r = "fuse.store"(%o, %one, %true) {at = ["d0"], mode = "set"} : (tensor<8xf32>, f32, i1) -> tensor<8xf32>
  return %r : tensor<8xf32>
}

// -----

// nor on an argument
// expected-error@+1 {{'func.func' op expected fuse.apart to have no value, got false}}
func.func private @k(%o: tensor<8xf32> {fuse.apart = false}) -> tensor<8xf32>
    attributes {fuse.kernel, fuse.user = "k", fuse.grid = ["1"], fuse.dims = {}, fuse.ties = array<i64: 0>} {
  return %o : tensor<8xf32>
}

// -----

// an argument
// expected-error@+1 {{'func.func' op expected attributes of fuse that docs/dialect.md describes, got fuse.maximum}}
func.func @main(%s0: index {fuse.maximum = 8 : i64, fuse.sym = "s0"}) {
  return
}

// -----

// a result
// expected-error@+1 {{'func.func' op expected attributes of fuse that docs/dialect.md describes, got fuse.symbol}}
func.func private @item(tensor<i64>) -> (index {fuse.symbol = "u0"})
    attributes {fuse.extern = "aten.item.default", fuse.args = [#fuse.arg<0 : i64>]}

// -----

// a call
func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error@+1 {{'func.call' op expected attributes of fuse that docs/dialect.md describes, got fuse.groups}}
  %y = call @clone(%x) {fuse.groups = 0 : i64} : (tensor<8xf32>) -> tensor<8xf32>
  return %y : tensor<8xf32>
}
func.func private @clone(tensor<8xf32>) -> tensor<8xf32>
    attributes {fuse.extern = "aten.clone.default", fuse.args = [#fuse.arg<0 : i64>]}

// -----

// what passes note on a module
// expected-error@+1 {{expected fuse.tiles to have a text and a location for each kernel}}
module attributes {fuse.tiles = {mm = {text = "d0 grid 128", last}}} {
  func.func @main(%x: tensor<8xf32>) {
    return
  }
}

// -----

// what they note on a call: no list, no rule, and a time that is no number
module {
  func.func @main(%x: tensor<8x8xf32>) {
    // expected-error@+1 {{expected fuse.choice to be a list of a rule, FX nodes and times, got "kernel"}}
    %0 = call @mm(%x, %x) {fuse.choice = "kernel"} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    // expected-error@+1 {{expected fuse.choice to be a list of a rule, FX nodes and times, got [{nodes = ["mm"]}]}}
    %1 = call @mm(%x, %x) {fuse.choice = [{nodes = ["mm"]}]} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    // expected-error@+1 {{expected fuse.choice to be a list of a rule, FX nodes and times}}
    %2 = call @mm(%x, %x) {fuse.choice = [{call_us = "3", nodes = ["mm"], rule = "kernel"}]} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    return
  }
  func.func private @mm(tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
      attributes {fuse.extern = "aten.mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>]}
}

// -----

// a module
// expected-error@+1 {{'builtin.module' op expected attributes of fuse that docs/dialect.md describes, got fuse.devices}}
module attributes {fuse.devices = "cuda:0"} {
  func.func @main(%x: tensor<8xf32>) {
    return
  }
}
