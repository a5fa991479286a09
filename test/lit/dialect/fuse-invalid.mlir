// Rules about graph functions: sizes, storage, lifetimes, each broken once. test_fuse_dialect.py counts that no op is left out.
// RUN: fuse-opt %s --split-input-file --verify-diagnostics

// empty: a size of the type is no operand
func.func @main(%x: tensor<8x4xf32>) {
  // expected-error@+1 {{'fuse.empty' op needs the size s0, which is not among its operands (syms: none)}}
  %e = "fuse.empty"() {syms = []} : () -> tensor<?xf32, #fuse.layout<"s0", "1", "0", "">>
  return
}

// -----

// empty: one name for each operand
func.func @main(%s0: index {fuse.sym = "s0"}) {
  // expected-error@+1 {{'fuse.empty' op expected syms to name 1 index operands, got 2 names}}
  %e = "fuse.empty"(%s0) {syms = ["s0", "s1"]} : (index) -> tensor<?xf32, #fuse.layout<"s0", "1", "0", "">>
  return
}

// -----

// empty: a name that is not the operand's
func.func @main(%s0: index {fuse.sym = "s0"}, %s1: index {fuse.sym = "s1"}) {
  // expected-error@+1 {{'fuse.empty' op expected the operand for 's0' to be that size, got s1}}
  %e = "fuse.empty"(%s1) {syms = ["s0"]} : (index) -> tensor<?xf32, #fuse.layout<"s0", "1", "0", "">>
  return
}

// -----

// empty: no tensor
func.func @main(%x: tensor<8x4xf32>) {
  // expected-error@+1 {{'fuse.empty' op expected the result to be a ranked tensor, got f32}}
  %e = "fuse.empty"() {syms = []} : () -> f32
  return
}

// -----

// empty: an attribute of the wrong kind
func.func @main(%x: tensor<8x4xf32>) {
  // expected-error@+1 {{'fuse.empty' op expected syms to be a string, got 1 : i64}}
  %e = "fuse.empty"() {syms = [1 : i64]} : () -> tensor<8xf32>
  return
}

// -----

// view: rank of the map
func.func @main(%x: tensor<8x4xf32>) {
  // expected-error@+1 {{'fuse.view' op expected 2 coordinates, one a dim of tensor<8x4xf32>, got 1}}
  %y = "fuse.view"(%x) {map = ["v0"], syms = []} : (tensor<8x4xf32>) -> tensor<8x4xf32>
  return
}

// -----

// view: a dim that the result lacks
func.func @main(%x: tensor<8x4xf32>) {
  // expected-error@+1 {{'fuse.view' op expected a map over the dims v0 of the result, got v1}}
  %y = "fuse.view"(%x) {map = ["v0", "v1"], syms = []} : (tensor<8x4xf32>) -> tensor<8xf32, #fuse.layout<"8", "4", "0", "">>
  return
}

// -----

// view: a size in the map that is no operand
func.func @main(%x: tensor<8x4xf32>) {
  // expected-error@+1 {{'fuse.view' op needs the size s0}}
  %y = "fuse.view"(%x) {map = ["v0", "s0"], syms = []} : (tensor<8x4xf32>) -> tensor<8xf32, #fuse.layout<"8", "4", "0", "">>
  return
}

// -----

// view: a remainder that changes no coordinate of the result is right
func.func @main(%x: tensor<8xf32>) {
  %y = "fuse.view"(%x) {map = ["(v0*4 + v1) mod 8"], syms = []} : (tensor<8xf32>) -> tensor<2x4xf32>
  return
}

// -----

// view: a division by a coordinate, which may be 0
func.func @main(%x: tensor<8xf32>) {
  // expected-error@+1 {{'fuse.view' op the map addresses (v0*4) mod v1, which divides by 0 at a point of the result}}
  %y = "fuse.view"(%x) {map = ["v0*4 mod v1"], syms = []} : (tensor<8xf32>) -> tensor<2x4xf32>
  return
}

// -----

// view: another element type
func.func @main(%x: tensor<8x4xf32>) {
  // expected-error@+1 {{'fuse.view' op expected the element type and device of tensor<8x4xf32>, got tensor<8x4xi32>}}
  %y = "fuse.view"(%x) {map = ["v0", "v1"], syms = []} : (tensor<8x4xf32>) -> tensor<8x4xi32>
  return
}

// -----

// view: a transposition whose layout says otherwise
func.func @main(%x: tensor<8x4xf32>) {
  // expected-error@+1 {{'fuse.view' op the layout addresses element v0*8 + v1 of the storage where the map addresses v0 + v1*4}}
  %y = "fuse.view"(%x) {map = ["v1", "v0"], syms = []} : (tensor<8x4xf32>) -> tensor<4x8xf32>
  return
}

// -----

// view: a flattening in the wrong order
func.func @main(%x: tensor<8x4xf32>) {
  // expected-error@+1 {{'fuse.view' op the layout addresses element v0 of the storage}}
  %y = "fuse.view"(%x) {map = ["v0 mod 8", "v0 floordiv 8"], syms = []} : (tensor<8x4xf32>) -> tensor<32xf32>
  return
}

// -----

// view: one of the rows, by a size that its layout leaves out
func.func @main(%x: tensor<64x8xf32>, %s0: index {fuse.sym = "s0"}) {
  // expected-error@+1 {{'fuse.view' op the layout addresses element v0 of the storage where the map addresses}}
  %y = "fuse.view"(%x, %s0) {map = ["s0 mod 64", "v0"], syms = ["s0"]} : (tensor<64x8xf32>, index) -> tensor<8xf32>
  return
}

// -----

// sym: an expression over sizes that are no operands
func.func @main(%s0: index {fuse.sym = "s0"}) {
  // expected-error@+1 {{'fuse.sym' op needs the size s1}}
  %t = "fuse.sym"(%s0) {expr = "s0 + s1", symbol = "s2", syms = ["s0"]} : (index) -> index
  return
}

// -----

// sym: a malformed expression
func.func @main(%s0: index {fuse.sym = "s0"}) {
  // expected-error@+1 {{'fuse.sym' op bad index expression}}
  %t = "fuse.sym"(%s0) {expr = "s0 +", symbol = "s2", syms = ["s0"]} : (index) -> index
  return
}

// -----

// sym: a size that exists
func.func @main(%s0: index {fuse.sym = "s0"}) {
  // expected-error@+1 {{'fuse.sym' op defines the size 's0' a second time}}
  %t = "fuse.sym"() {expr = "3", symbol = "s0", syms = []} : () -> index
  return
}

// -----

// size: a dim that the tensor lacks
func.func @main(%x: tensor<8x4xf32>) {
  // expected-error@+1 {{'fuse.size' op expected dim to be below the rank of tensor<8x4xf32>, got 2}}
  %s0 = "fuse.size"(%x) {dim = 2 : i64, symbol = "s0"} : (tensor<8x4xf32>) -> index
  return
}

// -----

// size: another extent
func.func @main(%x: tensor<8x4xf32>) {
  // expected-error@+1 {{'fuse.size' op expected dim 0 of tensor<8x4xf32> to have the extent s0, got 8}}
  %s0 = "fuse.size"(%x) {dim = 0 : i64, symbol = "s0"} : (tensor<8x4xf32>) -> index
  return
}

// -----

// after: the result is a time
func.func @main(%x: tensor<8x4xf32>) {
  // expected-error@+1 {{expected base type 'fuse.token' but got 'builtin.integer'}}
  %t = "fuse.after"(%x) : (tensor<8x4xf32>) -> i64
  return
}

// -----

// rng: a count of draws is a number
func.func @main(%x: tensor<8x4xf32>) {
  // expected-error@+1 {{expected base attribute 'builtin.integer' but got 'builtin.string'}}
  %s, %o = "fuse.rng"() {device = "cpu", count = "four"} : () -> (i64, i64)
  return
}

// -----

// alloc: never given back
func.func @main(%x: tensor<8x4xf32>) {
  // expected-error@+1 {{'fuse.alloc' op takes storage that is neither given back (fuse.free, fuse.reuse) nor returned}}
  %a = "fuse.alloc"() {syms = []} : () -> tensor<8xf32>
  return
}

// -----

// alloc: beside fuse.empty
func.func @main(%x: tensor<8x4xf32>) {
  %a = "fuse.alloc"() {syms = []} : () -> tensor<8xf32>
  "fuse.free"(%a) : (tensor<8xf32>) -> ()
  // expected-error@+1 {{'fuse.empty' op is not allowed beside fuse.alloc}}
  %e = "fuse.empty"() {syms = []} : () -> tensor<8xf32>
  %t = "fuse.after"(%e) : (tensor<8xf32>) -> !fuse.token
  return
}

// -----

// reuse: less storage than needed
func.func @main(%x: tensor<8x4xf32>) {
  %a = "fuse.alloc"() {syms = []} : () -> tensor<8xf16>
  // expected-error@+1 {{'fuse.reuse' op expected storage of at least 32 bytes, got 16}}
  %b = "fuse.reuse"(%a) {syms = []} : (tensor<8xf16>) -> tensor<8xf32>
  "fuse.free"(%a) : (tensor<8xf16>) -> ()
  return
}

// -----

// reuse: of another device
func.func @main(%x: tensor<8x4xf32>) {
  %a = "fuse.alloc"() {syms = []} : () -> tensor<8xf32>
  // expected-error@+1 {{'fuse.reuse' op expected storage on the device 'cuda:1', got ''}}
  %b = "fuse.reuse"(%a) {syms = []} : (tensor<8xf32>) -> tensor<8xf32, #fuse.layout<"8", "1", "0", "cuda:1">>
  "fuse.free"(%a) : (tensor<8xf32>) -> ()
  return
}

// -----

// reuse: used after it was taken over
func.func @main(%x: tensor<8x4xf32>) {
  %a = "fuse.alloc"() {syms = []} : () -> tensor<8xf32>
  %b = "fuse.reuse"(%a) {syms = []} : (tensor<8xf32>) -> tensor<4x2xf32>
  // expected-error@+1 {{'fuse.free' op uses storage that was taken over by a fuse.reuse}}
  "fuse.free"(%a) : (tensor<8xf32>) -> ()
  "fuse.free"(%b) : (tensor<4x2xf32>) -> ()
  return
}

// -----

// free: twice, through a view
func.func @main(%x: tensor<8x4xf32>) {
  %a = "fuse.alloc"() {syms = []} : () -> tensor<8xf32>
  %b = "fuse.view"(%a) {map = ["v0*2 + v1"], syms = []} : (tensor<8xf32>) -> tensor<4x2xf32>
  "fuse.free"(%a) : (tensor<8xf32>) -> ()
  // expected-error@+1 {{'fuse.free' op uses storage that was given back by a fuse.free}}
  "fuse.free"(%b) : (tensor<4x2xf32>) -> ()
  return
}

// -----

// free: of an argument
func.func @main(%x: tensor<8x4xf32>) {
  // expected-error@+1 {{'fuse.free' op expected storage of the function's own, got that of an argument}}
  "fuse.free"(%x) : (tensor<8x4xf32>) -> ()
  return
}
