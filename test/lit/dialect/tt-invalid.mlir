// Rules of the mirror of Triton's dialect, each broken once. They are the ops' own, so they hold in the parser too.
// RUN: fuse-opt %s --split-input-file --verify-diagnostics
// addptr: no pointer
func.func private @t(%p: !tt.ptr<f32>, %n: i32) {
  %x = arith.constant dense<1.0> : tensor<16xf32>
  %i = arith.constant dense<1> : tensor<16xi32>
  // expected-error@+1 {{'tt.addptr' op expected a pointer, got tensor<16xf32>}}
  %y = "tt.addptr"(%x, %i) : (tensor<16xf32>, tensor<16xi32>) -> tensor<16xf32>
  return
}

// -----

// addptr: offsets are integers
func.func private @t(%p: !tt.ptr<f32>, %n: i32) {
  %x = arith.constant dense<1.0> : tensor<16xf32>
  %i = arith.constant dense<1> : tensor<16xi32>
  %f = arith.constant 0.0 : f32
  // expected-error@+1 {{'tt.addptr' op expected i32 or i64 offsets, got f32}}
  %y = "tt.addptr"(%p, %f) : (!tt.ptr<f32>, f32) -> !tt.ptr<f32>
  return
}

// -----

// load: the pointee
func.func private @t(%p: !tt.ptr<f32>, %n: i32) {
  %x = arith.constant dense<1.0> : tensor<16xf32>
  %i = arith.constant dense<1> : tensor<16xi32>
  // expected-error@+1 {{'tt.load' op expected values of f32, got i32}}
  %y = "tt.load"(%p) {operandSegmentSizes = array<i32: 1, 0, 0>} : (!tt.ptr<f32>) -> i32
  return
}

// -----

// load: one shape
func.func private @t(%p: !tt.ptr<f32>, %n: i32) {
  %x = arith.constant dense<1.0> : tensor<16xf32>
  %i = arith.constant dense<1> : tensor<16xi32>
  // expected-error@+1 {{'tt.load' op expected operands and results of one shape, got !tt.ptr<f32>, tensor<16xf32>}}
  %y = "tt.load"(%p) {operandSegmentSizes = array<i32: 1, 0, 0>} : (!tt.ptr<f32>) -> tensor<16xf32>
  return
}

// -----

// store: the pointee
func.func private @t(%p: !tt.ptr<f32>, %n: i32) {
  %x = arith.constant dense<1.0> : tensor<16xf32>
  %i = arith.constant dense<1> : tensor<16xi32>
  // expected-error@+1 {{'tt.store' op expected values of f32, got i32}}
  "tt.store"(%p, %n) : (!tt.ptr<f32>, i32) -> ()
  return
}

// -----

// atomic_rmw: the pointee
func.func private @t(%p: !tt.ptr<f32>, %n: i32) {
  %x = arith.constant dense<1.0> : tensor<16xf32>
  %i = arith.constant dense<1> : tensor<16xi32>
  // expected-error@+1 {{'tt.atomic_rmw' op expected values of f32, got i32}}
  %y = "tt.atomic_rmw"(%p, %n) {atomic_rmw_op = 4 : i32, sem = 1 : i32, scope = 1 : i32} : (!tt.ptr<f32>, i32) -> i32
  return
}

// -----

// atomic_cas: the pointee
func.func private @t(%p: !tt.ptr<f32>, %n: i32) {
  %x = arith.constant dense<1.0> : tensor<16xf32>
  %i = arith.constant dense<1> : tensor<16xi32>
  // expected-error@+1 {{'tt.atomic_cas' op expected values of f32, got i32}}
  %y = "tt.atomic_cas"(%p, %n, %n) {sem = 1 : i32, scope = 1 : i32} : (!tt.ptr<f32>, i32, i32) -> i32
  return
}

// -----

// make_range: its extent
func.func private @t(%p: !tt.ptr<f32>, %n: i32) {
  %x = arith.constant dense<1.0> : tensor<16xf32>
  %i = arith.constant dense<1> : tensor<16xi32>
  // expected-error@+1 {{'tt.make_range' op expected tensor<32xi32>, got tensor<16xi32>}}
  %y = "tt.make_range"() {start = 0 : i32, end = 32 : i32} : () -> tensor<16xi32>
  return
}

// -----

// make_range: powers of two
func.func private @t(%p: !tt.ptr<f32>, %n: i32) {
  %x = arith.constant dense<1.0> : tensor<16xf32>
  %i = arith.constant dense<1> : tensor<16xi32>
  // expected-error@+1 {{'tt.make_range' op expected tile extents that are powers of two, got tensor<24xi32>}}
  %y = "tt.make_range"() {start = 0 : i32, end = 24 : i32} : () -> tensor<24xi32>
  return
}

// -----

// splat: the element type
func.func private @t(%p: !tt.ptr<f32>, %n: i32) {
  %x = arith.constant dense<1.0> : tensor<16xf32>
  %i = arith.constant dense<1> : tensor<16xi32>
  // expected-error@+1 {{'tt.splat' op expected result elements i32, got tensor<16xf32>}}
  %y = "tt.splat"(%n) : (i32) -> tensor<16xf32>
  return
}

// -----

// expand_dims: a new axis of 1
func.func private @t(%p: !tt.ptr<f32>, %n: i32) {
  %x = arith.constant dense<1.0> : tensor<16xf32>
  %i = arith.constant dense<1> : tensor<16xi32>
  // expected-error@+1 {{'tt.expand_dims' op expected a result of shape [1, 16], got tensor<16x1xf32>}}
  %y = "tt.expand_dims"(%x) {axis = 0 : i32} : (tensor<16xf32>) -> tensor<16x1xf32>
  return
}

// -----

// broadcast: only extents of 1
func.func private @t(%p: !tt.ptr<f32>, %n: i32) {
  %x = arith.constant dense<1.0> : tensor<16xf32>
  %i = arith.constant dense<1> : tensor<16xi32>
  // expected-error@+1 {{'tt.broadcast' op cannot broadcast tensor<16xf32> to tensor<32xf32>}}
  %y = "tt.broadcast"(%x) : (tensor<16xf32>) -> tensor<32xf32>
  return
}

// -----

// reshape: the element type
func.func private @t(%p: !tt.ptr<f32>, %n: i32) {
  %x = arith.constant dense<1.0> : tensor<16xf32>
  %i = arith.constant dense<1> : tensor<16xi32>
  // expected-error@+1 {{'tt.reshape' op expected result elements f32, got tensor<4x4xi32>}}
  %y = "tt.reshape"(%x) : (tensor<16xf32>) -> tensor<4x4xi32>
  return
}

// -----

// trans: the element type
func.func private @t(%p: !tt.ptr<f32>, %n: i32) {
  %x = arith.constant dense<1.0> : tensor<16xf32>
  %i = arith.constant dense<1> : tensor<16xi32>
  // expected-error@+1 {{'tt.trans' op expected result elements f32, got tensor<16xi32>}}
  %y = "tt.trans"(%x) {order = array<i32: 0>} : (tensor<16xf32>) -> tensor<16xi32>
  return
}

// -----

// extern_elementwise: one shape
func.func private @t(%p: !tt.ptr<f32>, %n: i32) {
  %x = arith.constant dense<1.0> : tensor<16xf32>
  %i = arith.constant dense<1> : tensor<16xi32>
  // expected-error@+1 {{'tt.extern_elementwise' op expected operands and results of one shape}}
  %y = "tt.extern_elementwise"(%x) {libname = "", libpath = "", pure = true, symbol = "__nv_erff"} : (tensor<16xf32>) -> tensor<8xf32>
  return
}

// -----

// elementwise_inline_asm: one shape
func.func private @t(%p: !tt.ptr<f32>, %n: i32) {
  %i = arith.constant dense<1> : tensor<16xi32>
  // expected-error@+1 {{'tt.elementwise_inline_asm' op expected operands and results of one shape}}
  %y = "tt.elementwise_inline_asm"(%i) {asm_string = "mov.b64 $0, 1;", constraints = "=l,r", packed_element = 1 : i32, pure = true} : (tensor<16xi32>) -> tensor<8xi64>
  return
}

// -----

// elementwise_inline_asm_2: one shape
func.func private @t(%p: !tt.ptr<f32>, %n: i32) {
  %i = arith.constant dense<1> : tensor<16xi32>
  // expected-error@+1 {{'tt.elementwise_inline_asm_2' op expected operands and results of one shape}}
  %y = "tt.elementwise_inline_asm_2"(%i, %i) {asm_string = "mov.b64 $0, 1;", constraints = "=l,r,r", packed_element = 1 : i32, pure = true} : (tensor<16xi32>, tensor<16xi32>) -> tensor<8xi64>
  return
}

// -----

// join: a new last axis of 2
func.func private @t(%p: !tt.ptr<f32>, %n: i32) {
  %x = arith.constant dense<1.0> : tensor<16xf32>
  // expected-error@+1 {{'tt.join' op expected two tiles of one shape and a new last axis of 2, got tensor<16xf32>, tensor<16xf32>, tensor<32xf32>}}
  %y = "tt.join"(%x, %x) : (tensor<16xf32>, tensor<16xf32>) -> tensor<32xf32>
  return
}

// -----

// split: a last axis of 2
func.func private @t(%p: !tt.ptr<f32>, %n: i32) {
  %x = arith.constant dense<1.0> : tensor<16x4xf32>
  // expected-error@+1 {{'tt.split' op expected a last axis of 2 and two tiles without it, got tensor<16x4xf32>, tensor<16xf32>, tensor<16xf32>}}
  %y, %z = "tt.split"(%x) : (tensor<16x4xf32>) -> (tensor<16xf32>, tensor<16xf32>)
  return
}

// -----

// fp_to_fp: one shape
func.func private @t(%p: !tt.ptr<f32>, %n: i32) {
  %x = arith.constant dense<1.0> : tensor<16xf32>
  %i = arith.constant dense<1> : tensor<16xi32>
  // expected-error@+1 {{'tt.fp_to_fp' op expected operands and results of one shape}}
  %y = "tt.fp_to_fp"(%x) : (tensor<16xf32>) -> tensor<8xf64>
  return
}

// -----

// bitcast: one shape
func.func private @t(%p: !tt.ptr<f32>, %n: i32) {
  %x = arith.constant dense<1.0> : tensor<16xf32>
  %i = arith.constant dense<1> : tensor<16xi32>
  // expected-error@+1 {{'tt.bitcast' op expected operands and results of one shape}}
  %y = "tt.bitcast"(%x) : (tensor<16xf32>) -> tensor<8xi32>
  return
}

// -----

// int_to_ptr: one shape
func.func private @t(%p: !tt.ptr<f32>, %n: i32) {
  %x = arith.constant dense<1.0> : tensor<16xf32>
  %i = arith.constant dense<1> : tensor<16xi32>
  // expected-error@+1 {{'tt.int_to_ptr' op expected operands and results of one shape}}
  %y = "tt.int_to_ptr"(%i) : (tensor<16xi32>) -> !tt.ptr<f32>
  return
}

// -----

// reduce: an axis of the tile
func.func private @t(%p: !tt.ptr<f32>, %n: i32) {
  %x = arith.constant dense<1.0> : tensor<16xf32>
  %i = arith.constant dense<1> : tensor<16xi32>
  // expected-error@+1 {{'tt.reduce' op axis 1 is outside tensor<16xf32>}}
  %y = "tt.reduce"(%x) ({
  ^bb0(%l: f32, %r: f32):
    "tt.reduce_return"(%l) : (f32) -> ()
  }) {axis = 1 : i32} : (tensor<16xf32>) -> f32
  return
}

// -----

// reduce: the result
func.func private @t(%p: !tt.ptr<f32>, %n: i32) {
  %x = arith.constant dense<1.0> : tensor<16xf32>
  %i = arith.constant dense<1> : tensor<16xi32>
  // expected-error@+1 {{'tt.reduce' op expected a result of type f32, got i32}}
  %y = "tt.reduce"(%x) ({
  ^bb0(%l: f32, %r: f32):
    "tt.reduce_return"(%l) : (f32) -> ()
  }) {axis = 0 : i32} : (tensor<16xf32>) -> i32
  return
}

// -----

// reduce_2: the combiner
func.func private @t(%p: !tt.ptr<f32>, %n: i32) {
  %x = arith.constant dense<1.0> : tensor<16xf32>
  %i = arith.constant dense<1> : tensor<16xi32>
  // expected-error@+1 {{'tt.reduce_2' op expected one block with 4 scalar arguments}}
  %y:2 = "tt.reduce_2"(%x, %i) ({
  ^bb0(%l: f32, %r: i32):
    "tt.reduce_return_2"(%l, %r) : (f32, i32) -> ()
  }) {axis = 0 : i32} : (tensor<16xf32>, tensor<16xi32>) -> (f32, i32)
  return
}

// -----

// func: tile code only
"tt.func"() ({
^bb0:
  // expected-error@+1 {{'fuse.rng' op is not allowed in a tiled kernel}}
  %seed, %offset = "fuse.rng"() {device = "cpu", count = 1 : i64} : () -> (i64, i64)
  "tt.return"() : () -> ()
}) {function_type = () -> (), sym_name = "k", sym_visibility = "public"} : () -> ()

// -----

// func: its type is that of its arguments
// expected-error@+1 {{'tt.func' op expected the arguments (i32) of function_type, got (i64)}}
"tt.func"() ({
^bb0(%n: i64):
  "tt.return"() : () -> ()
}) {function_type = (i32) -> (), sym_name = "k", sym_visibility = "public"} : () -> ()

// -----

// ptr: of a type
// expected-error@+1 {{expected base attribute 'builtin.type'}}
func.func private @f(!tt.ptr<1>)

// -----

// dot: extents that match
func.func private @t(%a: tensor<16x32xbf16>, %b: tensor<16x32xbf16>, %c: tensor<16x32xf32>) {
  // expected-error@+1 {{'tt.dot' op expected m x k times k x n and m x n elements, got [16, 32], [16, 32] and [16, 32]}}
  %d = "tt.dot"(%a, %b, %c) {inputPrecision = 2 : i32, maxNumImpreciseAcc = 0 : i32} : (tensor<16x32xbf16>, tensor<16x32xbf16>, tensor<16x32xf32>) -> tensor<16x32xf32>
  return
}

// -----

// dot: small extents
func.func private @t(%a: tensor<16x8xbf16>, %b: tensor<8x32xbf16>, %c: tensor<16x32xf32>) {
  // expected-error@+1 {{'tt.dot' op expected k of at least 16 for elements of bf16, got 8}}
  %d = "tt.dot"(%a, %b, %c) {inputPrecision = 2 : i32, maxNumImpreciseAcc = 0 : i32} : (tensor<16x8xbf16>, tensor<8x32xbf16>, tensor<16x32xf32>) -> tensor<16x32xf32>
  return
}

// -----

// dot: small extents of 8 bits
func.func private @t(%a: tensor<16x16xi8>, %b: tensor<16x32xi8>, %c: tensor<16x32xi32>) {
  // expected-error@+1 {{'tt.dot' op expected k of at least 32 for elements of i8, got 16}}
  %d = "tt.dot"(%a, %b, %c) {inputPrecision = 2 : i32, maxNumImpreciseAcc = 0 : i32} : (tensor<16x16xi8>, tensor<16x32xi8>, tensor<16x32xi32>) -> tensor<16x32xi32>
  return
}

// -----

// dot: one batch
func.func private @t(%a: tensor<4x16x32xbf16>, %b: tensor<2x32x8xbf16>, %c: tensor<4x16x8xf32>) {
  // expected-error@+1 {{'tt.dot' op expected m x k times k x n and m x n elements, got [4, 16, 32], [2, 32, 8] and [4, 16, 8]}}
  %d = "tt.dot"(%a, %b, %c) {inputPrecision = 2 : i32, maxNumImpreciseAcc = 0 : i32} : (tensor<4x16x32xbf16>, tensor<2x32x8xbf16>, tensor<4x16x8xf32>) -> tensor<4x16x8xf32>
  return
}

// -----

// dot: two axes
func.func private @t(%a: tensor<16xbf16>, %b: tensor<16x16xbf16>, %c: tensor<16x16xf32>) {
  // expected-error@+1 {{'tt.dot' op expected tiles of two axes, or of a batch and two axes, got [16], [16, 16] and [16, 16]}}
  %d = "tt.dot"(%a, %b, %c) {inputPrecision = 2 : i32, maxNumImpreciseAcc = 0 : i32} : (tensor<16xbf16>, tensor<16x16xbf16>, tensor<16x16xf32>) -> tensor<16x16xf32>
  return
}

// -----

// dot: few elements of 32 bits that are summed
func.func private @t(%a: tensor<16x4xf32>, %b: tensor<4x16xf32>, %c: tensor<16x16xf32>) {
  // expected-error@+1 {{'tt.dot' op expected k of at least 8 for elements of f32, got 4}}
  %d = "tt.dot"(%a, %b, %c) {inputPrecision = 2 : i32, maxNumImpreciseAcc = 0 : i32} : (tensor<16x4xf32>, tensor<4x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  return
}

// -----

// dot: few elements of 64 bits that are summed
func.func private @t(%a: tensor<16x2xf64>, %b: tensor<2x16xf64>, %c: tensor<16x16xf64>) {
  // expected-error@+1 {{'tt.dot' op expected k of at least 4 for elements of f64, got 2}}
  %d = "tt.dot"(%a, %b, %c) {inputPrecision = 2 : i32, maxNumImpreciseAcc = 0 : i32} : (tensor<16x2xf64>, tensor<2x16xf64>, tensor<16x16xf64>) -> tensor<16x16xf64>
  return
}

// -----

// dot: powers of two, of the first operand and the sum
func.func private @t(%a: tensor<24x16xbf16>, %b: tensor<16x16xbf16>, %c: tensor<24x16xf32>) {
  // expected-error@+1 {{'tt.dot' op expected tile extents that are powers of two, got tensor<24x16xbf16>}}
  %d = "tt.dot"(%a, %b, %c) {inputPrecision = 2 : i32, maxNumImpreciseAcc = 0 : i32} : (tensor<24x16xbf16>, tensor<16x16xbf16>, tensor<24x16xf32>) -> tensor<24x16xf32>
  return
}

// -----

// dot: powers of two, of the second operand
func.func private @t(%a: tensor<16x16xbf16>, %b: tensor<16x24xbf16>, %c: tensor<16x24xf32>) {
  // expected-error@+1 {{'tt.dot' op expected tile extents that are powers of two, got tensor<16x24xbf16>}}
  %d = "tt.dot"(%a, %b, %c) {inputPrecision = 2 : i32, maxNumImpreciseAcc = 0 : i32} : (tensor<16x16xbf16>, tensor<16x24xbf16>, tensor<16x24xf32>) -> tensor<16x24xf32>
  return
}

// -----

// dot: the largest tile
func.func private @t(%a: tensor<2048x16xbf16>, %b: tensor<16x1024xbf16>, %c: tensor<2048x1024xf32>) {
  // expected-error@+1 {{'tt.dot' op expected a tile of at most 1048576 elements, got tensor<2048x1024xf32>}}
  %d = "tt.dot"(%a, %b, %c) {inputPrecision = 2 : i32, maxNumImpreciseAcc = 0 : i32} : (tensor<2048x16xbf16>, tensor<16x1024xbf16>, tensor<2048x1024xf32>) -> tensor<2048x1024xf32>
  return
}

// -----

// dot: operands of two types
func.func private @t(%a: tensor<16x16xbf16>, %b: tensor<16x16xf16>, %c: tensor<16x16xf32>) {
  // expected-error@+1 {{'tt.dot' op expected operands of one type, or both of 8-bit floats, got bf16 and f16}}
  %d = "tt.dot"(%a, %b, %c) {inputPrecision = 2 : i32, maxNumImpreciseAcc = 0 : i32} : (tensor<16x16xbf16>, tensor<16x16xf16>, tensor<16x16xf32>) -> tensor<16x16xf32>
  return
}

// -----

// dot: integers and floats of 8 bits
func.func private @t(%a: tensor<32x32xf8E4M3FN>, %b: tensor<32x32xi8>, %c: tensor<32x32xf32>) {
  // expected-error@+1 {{'tt.dot' op expected operands of one type, or both of 8-bit floats, got f8E4M3FN and i8}}
  %d = "tt.dot"(%a, %b, %c) {inputPrecision = 2 : i32, maxNumImpreciseAcc = 0 : i32} : (tensor<32x32xf8E4M3FN>, tensor<32x32xi8>, tensor<32x32xf32>) -> tensor<32x32xf32>
  return
}

// -----

// dot: truth values
func.func private @t(%a: tensor<32x32xi1>, %b: tensor<32x32xi1>, %c: tensor<32x32xi32>) {
  // expected-error@+1 {{'tt.dot' op expected operands of a type that is multiplied (f64, f32, bf16, f16, f8E4M3FN, f8E5M2, i8), got i1}}
  %d = "tt.dot"(%a, %b, %c) {inputPrecision = 2 : i32, maxNumImpreciseAcc = 0 : i32} : (tensor<32x32xi1>, tensor<32x32xi1>, tensor<32x32xi32>) -> tensor<32x32xi32>
  return
}

// -----

// dot: a second operand of no product
func.func private @t(%a: tensor<16x16xf16>, %b: tensor<16x16xi16>, %c: tensor<16x16xf32>) {
  // expected-error@+1 {{'tt.dot' op expected operands of a type that is multiplied (f64, f32, bf16, f16, f8E4M3FN, f8E5M2, i8), got i16}}
  %d = "tt.dot"(%a, %b, %c) {inputPrecision = 2 : i32, maxNumImpreciseAcc = 0 : i32} : (tensor<16x16xf16>, tensor<16x16xi16>, tensor<16x16xf32>) -> tensor<16x16xf32>
  return
}

// -----

// dot: a sum of bf16
func.func private @t(%a: tensor<16x16xbf16>, %b: tensor<16x16xbf16>, %c: tensor<16x16xbf16>) {
  // expected-error@+1 {{'tt.dot' op expected operands of bf16 to add up to f32, got bf16}}
  %d = "tt.dot"(%a, %b, %c) {inputPrecision = 2 : i32, maxNumImpreciseAcc = 0 : i32} : (tensor<16x16xbf16>, tensor<16x16xbf16>, tensor<16x16xbf16>) -> tensor<16x16xbf16>
  return
}

// -----

// dot: a sum of f64 that is too narrow
func.func private @t(%a: tensor<16x16xf64>, %b: tensor<16x16xf64>, %c: tensor<16x16xf32>) {
  // expected-error@+1 {{'tt.dot' op expected operands of f64 to add up to f64, got f32}}
  %d = "tt.dot"(%a, %b, %c) {inputPrecision = 2 : i32, maxNumImpreciseAcc = 0 : i32} : (tensor<16x16xf64>, tensor<16x16xf64>, tensor<16x16xf32>) -> tensor<16x16xf32>
  return
}

// -----

// dot: a sum of f32 that is too narrow
func.func private @t(%a: tensor<16x16xf32>, %b: tensor<16x16xf32>, %c: tensor<16x16xf16>) {
  // expected-error@+1 {{'tt.dot' op expected operands of f32 to add up to f32, got f16}}
  %d = "tt.dot"(%a, %b, %c) {inputPrecision = 2 : i32, maxNumImpreciseAcc = 0 : i32} : (tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf16>) -> tensor<16x16xf16>
  return
}

// -----

// dot: a sum of f16 that is too wide
func.func private @t(%a: tensor<16x16xf16>, %b: tensor<16x16xf16>, %c: tensor<16x16xf64>) {
  // expected-error@+1 {{'tt.dot' op expected operands of f16 to add up to f32 or f16, got f64}}
  %d = "tt.dot"(%a, %b, %c) {inputPrecision = 2 : i32, maxNumImpreciseAcc = 0 : i32} : (tensor<16x16xf16>, tensor<16x16xf16>, tensor<16x16xf64>) -> tensor<16x16xf64>
  return
}

// -----

// dot: a float sum of integers
func.func private @t(%a: tensor<32x32xi8>, %b: tensor<32x32xi8>, %c: tensor<32x32xf32>) {
  // expected-error@+1 {{'tt.dot' op expected operands of i8 to add up to i32, got f32}}
  %d = "tt.dot"(%a, %b, %c) {inputPrecision = 2 : i32, maxNumImpreciseAcc = 0 : i32} : (tensor<32x32xi8>, tensor<32x32xi8>, tensor<32x32xf32>) -> tensor<32x32xf32>
  return
}

// -----

// dot: an unknown precision
func.func private @t(%a: tensor<16x16xf32>, %b: tensor<16x16xf32>, %c: tensor<16x16xf32>) {
  // expected-error@+1 {{'tt.dot' op expected inputPrecision to be one of 0 (tf32), 1 (tf32x3), 2 (ieee), 3 (bf16x3), 4 (bf16x6), got 9}}
  %d = "tt.dot"(%a, %b, %c) {inputPrecision = 9 : i32, maxNumImpreciseAcc = 0 : i32} : (tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  return
}

// -----

// dot: a precision by its name
func.func private @t(%a: tensor<16x16xf32>, %b: tensor<16x16xf32>, %c: tensor<16x16xf32>) {
  // expected-error@+1 {{'tt.dot' op expected inputPrecision to be an integer, got "ieee"}}
  %d = "tt.dot"(%a, %b, %c) {inputPrecision = "ieee", maxNumImpreciseAcc = 0 : i32} : (tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  return
}

// -----

// dot: no precision
func.func private @t(%a: tensor<16x16xf32>, %b: tensor<16x16xf32>, %c: tensor<16x16xf32>) {
  // expected-error@+1 {{'tt.dot' op expected an attribute inputPrecision}}
  %d = "tt.dot"(%a, %b, %c) {maxNumImpreciseAcc = 0 : i32} : (tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  return
}

// -----

// dot: no sum
func.func private @t(%a: tensor<16x16xf32>) {
  // expected-error@+1 {{'tt.dot' op has too few operands or results: 2 and 1}}
  %d = "tt.dot"(%a, %a) {inputPrecision = 2 : i32, maxNumImpreciseAcc = 0 : i32} : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  return
}

// -----

// expand_dims: an axis by its name
func.func private @t(%a: tensor<16x16xf32>) {
  // expected-error@+1 {{'tt.expand_dims' op expected axis to be an integer, got "x"}}
  %d = "tt.expand_dims"(%a) {axis = "x"} : (tensor<16x16xf32>) -> tensor<16x1x16xf32>
  return
}

// -----

// make_range: the largest tile
func.func private @t() {
  // expected-error@+1 {{'tt.make_range' op expected a tile of at most 1048576 elements, got tensor<2097152xi32>}}
  %y = "tt.make_range"() {start = 0 : i32, end = 2097152 : i32} : () -> tensor<2097152xi32>
  return
}

// -----

// histogram: one axis
func.func private @t(%p: !tt.ptr<f32>, %n: i32) {
  %x = arith.constant dense<1.0> : tensor<16xf32>
  %i = arith.constant dense<1> : tensor<16xi32>
  %t = arith.constant dense<1> : tensor<4x4xi32>
  // expected-error@+1 {{'tt.histogram' op expected tiles of one axis, got tensor<4x4xi32> and tensor<8xi32>}}
  %h = "tt.histogram"(%t) : (tensor<4x4xi32>) -> tensor<8xi32>
  return
}

// -----

// histogram: the mask
func.func private @t(%p: !tt.ptr<f32>, %n: i32) {
  %x = arith.constant dense<1.0> : tensor<16xf32>
  %i = arith.constant dense<1> : tensor<16xi32>
  %m = arith.constant dense<true> : tensor<8xi1>
  // expected-error@+1 {{'tt.histogram' op expected a mask for each of tensor<16xi32>, got tensor<8xi1>}}
  %h = "tt.histogram"(%i, %m) : (tensor<16xi32>, tensor<8xi1>) -> tensor<8xi32>
  return
}

// -----

// gather: the axis
func.func private @t(%p: !tt.ptr<f32>, %n: i32) {
  %x = arith.constant dense<1.0> : tensor<16xf32>
  %i = arith.constant dense<1> : tensor<16xi32>
  // expected-error@+1 {{'tt.gather' op axis 1 is outside tensor<16xf32>, or tensor<16xi32> has another rank}}
  %g = "tt.gather"(%x, %i) {axis = 1 : i32} : (tensor<16xf32>, tensor<16xi32>) -> tensor<16xf32>
  return
}

// -----

// gather: the result
func.func private @t(%p: !tt.ptr<f32>, %n: i32) {
  %x = arith.constant dense<1.0> : tensor<16xf32>
  %i = arith.constant dense<1> : tensor<16xi32>
  // expected-error@+1 {{'tt.gather' op expected a result of shape [16], got tensor<8xf32>}}
  %g = "tt.gather"(%x, %i) {axis = 0 : i32} : (tensor<16xf32>, tensor<16xi32>) -> tensor<8xf32>
  return
}

// -----

// gather: its elements
func.func private @t(%p: !tt.ptr<f32>, %n: i32) {
  %x = arith.constant dense<1.0> : tensor<16xf32>
  %i = arith.constant dense<1> : tensor<16xi32>
  // expected-error@+1 {{'tt.gather' op expected result elements f32, got tensor<16xi32>}}
  %g = "tt.gather"(%x, %i) {axis = 0 : i32} : (tensor<16xf32>, tensor<16xi32>) -> tensor<16xi32>
  return
}

// -----

// cat: as many elements
func.func private @t(%p: !tt.ptr<f32>, %n: i32) {
  %x = arith.constant dense<1.0> : tensor<16xf32>
  %i = arith.constant dense<1> : tensor<16xi32>
  // expected-error@+1 {{'tt.cat' op expected two tiles of one shape and their elements together, got tensor<16xf32>, tensor<16xf32>, tensor<16xf32>}}
  %c = "tt.cat"(%x, %x) : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
  return
}

// -----

// make_tensor_descriptor: of a pointer
func.func private @t(%p: !tt.ptr<f32>, %n: i32) {
  %x = arith.constant dense<1.0> : tensor<16xf32>
  %i = arith.constant dense<1> : tensor<16xi32>
  %one = arith.constant 1 : i64
  // expected-error@+1 {{'tt.make_tensor_descriptor' op expected a pointer and a descriptor, got i32 and !tt.tensordesc<tensor<16xf32>>}}
  %d = "tt.make_tensor_descriptor"(%n, %n, %one) {padding = 1 : i32} : (i32, i32, i64) -> !tt.tensordesc<tensor<16xf32>>
  return
}

// -----

// make_tensor_descriptor: its elements
func.func private @t(%p: !tt.ptr<f32>, %n: i32) {
  %x = arith.constant dense<1.0> : tensor<16xf32>
  %i = arith.constant dense<1> : tensor<16xi32>
  %one = arith.constant 1 : i64
  // expected-error@+1 {{'tt.make_tensor_descriptor' op expected tiles of f32, got !tt.tensordesc<tensor<16xf16>>}}
  %d = "tt.make_tensor_descriptor"(%p, %n, %one) {padding = 1 : i32} : (!tt.ptr<f32>, i32, i64) -> !tt.tensordesc<tensor<16xf16>>
  return
}

// -----

// make_tensor_descriptor: a size and a stride for each axis
func.func private @t(%p: !tt.ptr<f32>, %n: i32) {
  %x = arith.constant dense<1.0> : tensor<16xf32>
  %i = arith.constant dense<1> : tensor<16xi32>
  %one = arith.constant 1 : i64
  // expected-error@+1 {{'tt.make_tensor_descriptor' op expected 2 sizes (i32) and as many strides (i64), got i32, i64}}
  %d = "tt.make_tensor_descriptor"(%p, %n, %one) {padding = 1 : i32} : (!tt.ptr<f32>, i32, i64) -> !tt.tensordesc<tensor<4x16xf32>>
  return
}

// -----

// descriptor_load: a descriptor
func.func private @t(%p: !tt.ptr<f32>, %n: i32) {
  %x = arith.constant dense<1.0> : tensor<16xf32>
  %i = arith.constant dense<1> : tensor<16xi32>
  // expected-error@+1 {{'tt.descriptor_load' op expected a descriptor, got !tt.ptr<f32>}}
  %v = "tt.descriptor_load"(%p, %n) : (!tt.ptr<f32>, i32) -> tensor<16xf32>
  return
}

// -----

// descriptor_load: its tile
func.func private @t(%p: !tt.ptr<f32>, %n: i32) {
  %x = arith.constant dense<1.0> : tensor<16xf32>
  %i = arith.constant dense<1> : tensor<16xi32>
  %one = arith.constant 1 : i64
  %d = "tt.make_tensor_descriptor"(%p, %n, %one) {padding = 1 : i32} : (!tt.ptr<f32>, i32, i64) -> !tt.tensordesc<tensor<16xf32>>
  // expected-error@+1 {{'tt.descriptor_load' op expected a tile like tensor<16xf32>, got tensor<8xf32>}}
  %v = "tt.descriptor_load"(%d, %n) : (!tt.tensordesc<tensor<16xf32>>, i32) -> tensor<8xf32>
  return
}

// -----

// descriptor_store: an index for each axis
func.func private @t(%p: !tt.ptr<f32>, %n: i32) {
  %x = arith.constant dense<1.0> : tensor<16xf32>
  %i = arith.constant dense<1> : tensor<16xi32>
  %one = arith.constant 1 : i64
  %d = "tt.make_tensor_descriptor"(%p, %n, %one) {padding = 1 : i32} : (!tt.ptr<f32>, i32, i64) -> !tt.tensordesc<tensor<16xf32>>
  // expected-error@+1 {{'tt.descriptor_store' op expected 1 indices, got 2}}
  "tt.descriptor_store"(%d, %x, %n, %n) : (!tt.tensordesc<tensor<16xf32>>, tensor<16xf32>, i32, i32) -> ()
  return
}

// -----

// descriptor_gather: rows
func.func private @t(%p: !tt.ptr<f32>, %n: i32) {
  %x = arith.constant dense<1.0> : tensor<16xf32>
  %i = arith.constant dense<1> : tensor<16xi32>
  %one = arith.constant 1 : i64
  %d = "tt.make_tensor_descriptor"(%p, %n, %one) {padding = 1 : i32} : (!tt.ptr<f32>, i32, i64) -> !tt.tensordesc<tensor<16xf32>>
  // expected-error@+1 {{'tt.descriptor_gather' op expected a descriptor of tiles of one row, got !tt.tensordesc<tensor<16xf32>>}}
  %v = "tt.descriptor_gather"(%d, %i, %n) : (!tt.tensordesc<tensor<16xf32>>, tensor<16xi32>, i32) -> tensor<16x16xf32>
  return
}

// -----

// descriptor_gather: a row for each
func.func private @t(%p: !tt.ptr<f32>, %n: i32) {
  %x = arith.constant dense<1.0> : tensor<16xf32>
  %i = arith.constant dense<1> : tensor<16xi32>
  %one = arith.constant 1 : i64
  %d = "tt.make_tensor_descriptor_2"(%p, %n, %n, %one, %one) {padding = 1 : i32} : (!tt.ptr<f32>, i32, i32, i64, i64) -> !tt.tensordesc<tensor<1x8xf32>>
  // expected-error@+1 {{'tt.descriptor_gather' op expected a row of 8 for each of tensor<16xi32>, got tensor<16x16xf32>}}
  %v = "tt.descriptor_gather"(%d, %i, %n) : (!tt.tensordesc<tensor<1x8xf32>>, tensor<16xi32>, i32) -> tensor<16x16xf32>
  return
}

// -----

// descriptor_scatter: its elements
func.func private @t(%p: !tt.ptr<f32>, %n: i32) {
  %x = arith.constant dense<1.0> : tensor<16xf32>
  %i = arith.constant dense<1> : tensor<16xi32>
  %one = arith.constant 1 : i64
  %d = "tt.make_tensor_descriptor_2"(%p, %n, %n, %one, %one) {padding = 1 : i32} : (!tt.ptr<f32>, i32, i32, i64, i64) -> !tt.tensordesc<tensor<1x8xf32>>
  %h = arith.constant dense<0.0> : tensor<16x8xf16>
  // expected-error@+1 {{'tt.descriptor_scatter' op expected a tile of f32, got tensor<16x8xf16>}}
  "tt.descriptor_scatter"(%d, %i, %n, %h) : (!tt.tensordesc<tensor<1x8xf32>>, tensor<16xi32>, i32, tensor<16x8xf16>) -> ()
  return
}

// -----

// ptr_to_int: the shape
func.func private @t(%p: !tt.ptr<f32>, %n: i32) {
  %x = arith.constant dense<1.0> : tensor<16xf32>
  %i = arith.constant dense<1> : tensor<16xi32>
  // expected-error@+1 {{'tt.ptr_to_int' op expected operands and results of one shape, got !tt.ptr<f32>, tensor<16xi64>}}
  %a = "tt.ptr_to_int"(%p) : (!tt.ptr<f32>) -> tensor<16xi64>
  return
}

// -----

// descriptor_reduce: its elements
func.func private @t(%p: !tt.ptr<f32>, %n: i32) {
  %x = arith.constant dense<1.0> : tensor<16xf32>
  %i = arith.constant dense<1> : tensor<16xi32>
  %one = arith.constant 1 : i64
  %d = "tt.make_tensor_descriptor"(%p, %n, %one) {padding = 1 : i32} : (!tt.ptr<f32>, i32, i64) -> !tt.tensordesc<tensor<16xf32>>
  // expected-error@+1 {{'tt.descriptor_reduce' op expected a tile like tensor<16xf32>, got tensor<16xi32>}}
  "tt.descriptor_reduce"(%d, %i, %n) {kind = 1 : i32} : (!tt.tensordesc<tensor<16xf32>>, tensor<16xi32>, i32) -> ()
  return
}

// -----

// make_tensor_descriptor_2: as many axes as its tiles
func.func private @t(%p: !tt.ptr<f32>, %n: i32) {
  %x = arith.constant dense<1.0> : tensor<16xf32>
  %i = arith.constant dense<1> : tensor<16xi32>
  %one = arith.constant 1 : i64
  // expected-error@+1 {{'tt.make_tensor_descriptor_2' op expected 1 sizes (i32) and as many strides (i64), got i32, i32, i64, i64}}
  %d = "tt.make_tensor_descriptor_2"(%p, %n, %n, %one, %one) {padding = 1 : i32} : (!tt.ptr<f32>, i32, i32, i64, i64) -> !tt.tensordesc<tensor<16xf32>>
  return
}

// -----

// make_tensor_descriptor_3: as many axes as its tiles
func.func private @t(%p: !tt.ptr<f32>, %n: i32) {
  %x = arith.constant dense<1.0> : tensor<16xf32>
  %i = arith.constant dense<1> : tensor<16xi32>
  %one = arith.constant 1 : i64
  // expected-error@+1 {{'tt.make_tensor_descriptor_3' op expected 1 sizes (i32) and as many strides (i64), got i32, i32, i32, i64, i64, i64}}
  %d = "tt.make_tensor_descriptor_3"(%p, %n, %n, %n, %one, %one, %one) {padding = 1 : i32} : (!tt.ptr<f32>, i32, i32, i32, i64, i64, i64) -> !tt.tensordesc<tensor<16xf32>>
  return
}

// -----

// make_tensor_descriptor_4: as many axes as its tiles
func.func private @t(%p: !tt.ptr<f32>, %n: i32) {
  %x = arith.constant dense<1.0> : tensor<16xf32>
  %i = arith.constant dense<1> : tensor<16xi32>
  %one = arith.constant 1 : i64
  // expected-error@+1 {{'tt.make_tensor_descriptor_4' op expected 1 sizes (i32) and as many strides (i64), got i32, i32, i32, i32, i64, i64, i64, i64}}
  %d = "tt.make_tensor_descriptor_4"(%p, %n, %n, %n, %n, %one, %one, %one, %one) {padding = 1 : i32} : (!tt.ptr<f32>, i32, i32, i32, i32, i64, i64, i64, i64) -> !tt.tensordesc<tensor<16xf32>>
  return
}

// -----

// make_tensor_descriptor_5: as many axes as its tiles
func.func private @t(%p: !tt.ptr<f32>, %n: i32) {
  %x = arith.constant dense<1.0> : tensor<16xf32>
  %i = arith.constant dense<1> : tensor<16xi32>
  %one = arith.constant 1 : i64
  // expected-error@+1 {{'tt.make_tensor_descriptor_5' op expected 1 sizes (i32) and as many strides (i64), got i32, i32, i32, i32, i32, i64, i64, i64, i64, i64}}
  %d = "tt.make_tensor_descriptor_5"(%p, %n, %n, %n, %n, %n, %one, %one, %one, %one, %one) {padding = 1 : i32} : (!tt.ptr<f32>, i32, i32, i32, i32, i32, i64, i64, i64, i64, i64) -> !tt.tensordesc<tensor<16xf32>>
  return
}

// -----

// reduce_4: the combiner
func.func private @t(%p: !tt.ptr<f32>, %n: i32) {
  %x = arith.constant dense<1.0> : tensor<16xf32>
  %i = arith.constant dense<1> : tensor<16xi32>
  // expected-error@+1 {{'tt.reduce_4' op expected one block with 8 scalar arguments}}
  %y:4 = "tt.reduce_4"(%x, %x, %x, %x) ({
  ^bb0(%l: f32, %r: f32):
    "tt.reduce_return_4"(%l, %l, %l, %l) : (f32, f32, f32, f32) -> ()
  }) {axis = 0 : i32} : (tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>) -> (f32, f32, f32, f32)
  return
}

// -----

// reduce_5: the combiner
func.func private @t(%p: !tt.ptr<f32>, %n: i32) {
  %x = arith.constant dense<1.0> : tensor<16xf32>
  %i = arith.constant dense<1> : tensor<16xi32>
  // expected-error@+1 {{'tt.reduce_5' op expected one block with 10 scalar arguments}}
  %y:5 = "tt.reduce_5"(%x, %x, %x, %x, %x) ({
  ^bb0(%l: f32, %r: f32):
    "tt.reduce_return_5"(%l, %l, %l, %l, %l) : (f32, f32, f32, f32, f32) -> ()
  }) {axis = 0 : i32} : (tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>) -> (f32, f32, f32, f32, f32)
  return
}

// -----

// scan_2: the combiner
func.func private @t(%p: !tt.ptr<f32>, %n: i32) {
  %x = arith.constant dense<1.0> : tensor<16xf32>
  %i = arith.constant dense<1> : tensor<16xi32>
  // expected-error@+1 {{'tt.scan_2' op expected one block with 4 scalar arguments}}
  %y:2 = "tt.scan_2"(%x, %x) ({
  ^bb0(%l: f32, %r: f32):
    "tt.scan_return_2"(%l, %l) : (f32, f32) -> ()
  }) {axis = 0 : i32, reverse = false} : (tensor<16xf32>, tensor<16xf32>) -> (tensor<16xf32>, tensor<16xf32>)
  return
}

// -----

// scan_3: the combiner
func.func private @t(%p: !tt.ptr<f32>, %n: i32) {
  %x = arith.constant dense<1.0> : tensor<16xf32>
  %i = arith.constant dense<1> : tensor<16xi32>
  // expected-error@+1 {{'tt.scan_3' op expected one block with 6 scalar arguments}}
  %y:3 = "tt.scan_3"(%x, %x, %x) ({
  ^bb0(%l: f32, %r: f32):
    "tt.scan_return_3"(%l, %l, %l) : (f32, f32, f32) -> ()
  }) {axis = 0 : i32, reverse = false} : (tensor<16xf32>, tensor<16xf32>, tensor<16xf32>) -> (tensor<16xf32>, tensor<16xf32>, tensor<16xf32>)
  return
}

// -----

// scan_4: the combiner
func.func private @t(%p: !tt.ptr<f32>, %n: i32) {
  %x = arith.constant dense<1.0> : tensor<16xf32>
  %i = arith.constant dense<1> : tensor<16xi32>
  // expected-error@+1 {{'tt.scan_4' op expected one block with 8 scalar arguments}}
  %y:4 = "tt.scan_4"(%x, %x, %x, %x) ({
  ^bb0(%l: f32, %r: f32):
    "tt.scan_return_4"(%l, %l, %l, %l) : (f32, f32, f32, f32) -> ()
  }) {axis = 0 : i32, reverse = false} : (tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>) -> (tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>)
  return
}

// -----

// scan_5: the combiner
func.func private @t(%p: !tt.ptr<f32>, %n: i32) {
  %x = arith.constant dense<1.0> : tensor<16xf32>
  %i = arith.constant dense<1> : tensor<16xi32>
  // expected-error@+1 {{'tt.scan_5' op expected one block with 10 scalar arguments}}
  %y:5 = "tt.scan_5"(%x, %x, %x, %x, %x) ({
  ^bb0(%l: f32, %r: f32):
    "tt.scan_return_5"(%l, %l, %l, %l, %l) : (f32, f32, f32, f32, f32) -> ()
  }) {axis = 0 : i32, reverse = false} : (tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>) -> (tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>)
  return
}
