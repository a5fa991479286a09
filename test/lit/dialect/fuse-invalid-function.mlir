// Rules about kernel functions and tiles, each broken once. test_fuse_dialect.py counts that no op is left out.
// RUN: fuse-opt %s --split-input-file --verify-diagnostics

// dims are needed
// expected-error@+1 {{'func.func' op expected a kernel to have fuse.dims}}
func.func private @k(%o: tensor<8xf32>) -> tensor<8xf32>
    attributes {fuse.kernel, fuse.ties = array<i64: 0>} {
  return %o : tensor<8xf32>
}

// -----

// dims have names of one form
// expected-error@+1 {{'func.func' op expected dims named d0, d1, .., got 'p0'}}
func.func private @k(%o: tensor<8xf32>) -> tensor<8xf32>
    attributes {fuse.kernel, fuse.dims = {p0 = "8"}, fuse.ties = array<i64: 0>} {
  return %o : tensor<8xf32>
}

// -----

// extents over sizes that are no arguments
// expected-error@+1 {{'func.func' op the extent 's0' of d0 needs the size s0, which is no argument}}
func.func private @k(%o: tensor<8xf32>) -> tensor<8xf32>
    attributes {fuse.kernel, fuse.dims = {d0 = "s0"}, fuse.ties = array<i64: 0>} {
  return %o : tensor<8xf32>
}

// -----

// extents whose points no tile code can number
// expected-error@+1 {{'func.func' op expected the constant extents of fuse.dims to have a product of at most 4503599627370496, got 9223372036854775807}}
func.func private @k(%o: tensor<8xf32>) -> tensor<8xf32>
    attributes {fuse.kernel, fuse.dims = {d0 = "9223372036854775807"}, fuse.ties = array<i64: 0>} {
  return %o : tensor<8xf32>
}

// -----

// .. nor where they are a product of several
// expected-error@+1 {{'func.func' op expected the constant extents of fuse.dims to have a product of at most 4503599627370496, got 18014398509481984}}
func.func private @k(%o: tensor<8xf32>) -> tensor<8xf32>
    attributes {fuse.kernel, fuse.dims = {d0 = "134217728", d1 = "134217728", d2 = "0"}, fuse.ties = array<i64: 0>} {
  return %o : tensor<8xf32>
}

// -----

// .. nor where products are summed, of one of them
func.func private @k(%x: tensor<134217728xbf16>, %w: tensor<134217728xbf16>, %o: tensor<8xf32>) -> tensor<8xf32>
    attributes {fuse.kernel, fuse.dims = {d0 = "134217728", d1 = "134217728"}, fuse.ties = array<i64: 2>} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : bf16
  %a = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<134217728xbf16>, i1, bf16) -> bf16
  %b = "fuse.load"(%w, %true, %zero) {at = ["d1"]} : (tensor<134217728xbf16>, i1, bf16) -> bf16
  // expected-error@+1 {{'fuse.dot' op expected the constant extents of the dims of an op to have a product of at most 4503599627370496, got 18014398509481984}}
  %s = "fuse.dot"(%a, %b) {over = ["d0"]} : (bf16, bf16) -> f32
  return %o : tensor<8xf32>
}

// -----

// one tie a result
// expected-error@+1 {{'func.func' op expected one tie for each of 1 results, got fuse.ties of 0}}
func.func private @k(%o: tensor<8xf32>) -> tensor<8xf32>
    attributes {fuse.kernel, fuse.dims = {d0 = "8"}} {
  return %o : tensor<8xf32>
}

// -----

// ties name arguments
// expected-error@+1 {{'func.func' op expected the tie of result 0 to be one of 1 arguments, got 1}}
func.func private @k(%o: tensor<8xf32>) -> tensor<8xf32>
    attributes {fuse.kernel, fuse.dims = {d0 = "8"}, fuse.ties = array<i64: 1>} {
  return %o : tensor<8xf32>
}

// -----

// a kernel is nothing else
// expected-error@+1 {{'func.func' op expected one of fuse.kernel, fuse.extern, fuse.launch, fuse.control_deps, fuse.graph, fuse.control_flow, got fuse.kernel and fuse.extern}}
func.func private @k(%o: tensor<8xf32>) -> tensor<8xf32>
    attributes {fuse.kernel, fuse.dims = {d0 = "8"}, fuse.extern = "aten.mm.default", fuse.ties = array<i64: 0>} {
  return %o : tensor<8xf32>
}

// -----

// a tie has the result's type
// expected-error@+1 {{'func.func' op expected result 0 to have its argument's type tensor<4xf32>, got tensor<8xf32>}}
func.func private @k(%x: tensor<4xf32>, %o: tensor<8xf32>) -> tensor<8xf32>
    attributes {fuse.kernel, fuse.dims = {}, fuse.ties = array<i64: 0>} {
  return %o : tensor<8xf32>
}

// -----

// two results in one argument
// expected-error@+1 {{'func.func' op expected results that are tied to different arguments, got the ties [0, 0]}}
func.func private @k(%o: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>)
    attributes {fuse.kernel, fuse.dims = {}, fuse.ties = array<i64: 0, 0>} {
  return %o, %o : tensor<8xf32>, tensor<8xf32>
}

// -----

// a result that is another argument's store
func.func private @k(%x: tensor<8xf32>, %o: tensor<8xf32>) -> tensor<8xf32>
    attributes {fuse.kernel, fuse.dims = {}, fuse.ties = array<i64: 1>} {
  // expected-error@+1 {{'func.return' op expected result 0 to be a store into argument 1, to which it is tied}}
  return %x : tensor<8xf32>
}

// -----

// a result that is not the last store
func.func private @k(%o: tensor<8xf32>) -> tensor<8xf32>
    attributes {fuse.kernel, fuse.dims = {d0 = "4"}, fuse.ties = array<i64: 0>} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : f32
  %a = "fuse.store"(%o, %zero, %true) {at = ["d0"], mode = "set"} : (tensor<8xf32>, f32, i1) -> tensor<8xf32>
  %b = "fuse.store"(%a, %zero, %true) {at = ["d0 + 4"], mode = "set"} : (tensor<8xf32>, f32, i1) -> tensor<8xf32>
  // expected-error@+1 {{'func.return' op expected result 0 to be the last store into argument 0}}
  return %a : tensor<8xf32>
}

// -----

// a kernel is no declaration
// expected-error@+1 {{'func.func' op expected a kernel to have a body, got a declaration}}
func.func private @k(tensor<8xf32>) -> tensor<8xf32> attributes {fuse.kernel, fuse.dims = {}, fuse.ties = array<i64: 0>}

// -----

// types name sizes that are no arguments
// expected-error@+1 {{needs the size s0, which is no argument}}
func.func private @k(%o: tensor<?xf32, #fuse.layout<"s0", "1", "0", "">>) -> tensor<?xf32, #fuse.layout<"s0", "1", "0", "">>
    attributes {fuse.kernel, fuse.dims = {}, fuse.ties = array<i64: 0>} {
  return %o : tensor<?xf32, #fuse.layout<"s0", "1", "0", "">>
}

// -----

// one argument a size
// expected-error@+1 {{'func.func' op expected one argument for the size 's0', got arguments 1 and 2}}
func.func private @k(%o: tensor<8xf32>, %a: index {fuse.sym = "s0"}, %b: index {fuse.sym = "s0"}) -> tensor<8xf32>
    attributes {fuse.kernel, fuse.dims = {}, fuse.ties = array<i64: 0>} {
  return %o : tensor<8xf32>
}

// -----

// a size is an index
// expected-error@+1 {{'func.func' op expected the size 's0' to be an index, got i64 as argument 1}}
func.func private @k(%o: tensor<8xf32>, %a: i64 {fuse.sym = "s0"}) -> tensor<8xf32>
    attributes {fuse.kernel, fuse.dims = {}, fuse.ties = array<i64: 0>} {
  return %o : tensor<8xf32>
}

// -----

// tokens come last
// expected-error@+1 {{'func.func' op expected tokens after all tensors, got the tensor argument 1 after a token}}
func.func private @k(%t: !fuse.token, %o: tensor<8xf32>) -> tensor<8xf32>
    attributes {fuse.kernel, fuse.dims = {}, fuse.ties = array<i64: 1>} {
  return %o : tensor<8xf32>
}

// -----

// a tensor is no operand of arith
func.func private @k(%x: tensor<8xf32>, %o: tensor<8xf32>) -> tensor<8xf32>
// expected-error@-1 {{'func.func' op expected the tensor argument 0 to be only loaded and stored, got a use by 'arith.addf'}}
    attributes {fuse.kernel, fuse.dims = {}, fuse.ties = array<i64: 1>} {
  %y = arith.addf %x, %x : tensor<8xf32>
  return %o : tensor<8xf32>
}

// -----

// every dim in one axis
// expected-error@+1 {{'func.func' op fuse.tile: expected every dim in exactly one axis, got the dims ['d0', 'd1'] in axes of ['d0']}}
func.func private @k(%x: tensor<8x4xf32>, %o: tensor<8xf32>) -> tensor<8xf32>
    attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "4"}, fuse.ties = array<i64: 1>,
                fuse.tile = {axes = [{dims = ["d0"], block = 4 : i64, kind = "grid"}],
                             num_warps = 4 : i64, num_stages = 1 : i64}} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : f32
  %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<8x4xf32>, i1, f32) -> f32
  %s = "fuse.reduce"(%v) {kind = "sum", over = ["d1"]} : (f32) -> f32
  %r = "fuse.store"(%o, %s, %true) {at = ["d0"], mode = "set"} : (tensor<8xf32>, f32, i1) -> tensor<8xf32>
  return %r : tensor<8xf32>
}

// -----

// blocks are powers of two
// expected-error@+1 {{'func.func' op fuse.tile: expected a block that is a power of two, got 3 for the axis of ['d0']}}
func.func private @k(%x: tensor<8x4xf32>, %o: tensor<8xf32>) -> tensor<8xf32>
    attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "4"}, fuse.ties = array<i64: 1>,
                fuse.tile = {axes = [{dims = ["d0"], block = 3 : i64, kind = "grid"}, {dims = ["d1"], block = 4 : i64, kind = "resident"}],
                             num_warps = 4 : i64, num_stages = 1 : i64}} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : f32
  %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<8x4xf32>, i1, f32) -> f32
  %s = "fuse.reduce"(%v) {kind = "sum", over = ["d1"]} : (f32) -> f32
  %r = "fuse.store"(%o, %s, %true) {at = ["d0"], mode = "set"} : (tensor<8xf32>, f32, i1) -> tensor<8xf32>
  return %r : tensor<8xf32>
}

// -----

// kinds of axes
// expected-error@+1 {{'func.func' op fuse.tile: expected an axis kind of grid, resident, looped, got 'split'}}
func.func private @k(%x: tensor<8x4xf32>, %o: tensor<8xf32>) -> tensor<8xf32>
    attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "4"}, fuse.ties = array<i64: 1>,
                fuse.tile = {axes = [{dims = ["d0"], block = 4 : i64, kind = "grid"}, {dims = ["d1"], block = 4 : i64, kind = "split"}],
                             num_warps = 4 : i64, num_stages = 1 : i64}} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : f32
  %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<8x4xf32>, i1, f32) -> f32
  %s = "fuse.reduce"(%v) {kind = "sum", over = ["d1"]} : (f32) -> f32
  %r = "fuse.store"(%o, %s, %true) {at = ["d0"], mode = "set"} : (tensor<8xf32>, f32, i1) -> tensor<8xf32>
  return %r : tensor<8xf32>
}

// -----

// numbers of warps
// expected-error@+1 {{'func.func' op fuse.tile: expected 1, 2, 4, 8, 16 or 32 warps, got 3}}
func.func private @k(%x: tensor<8x4xf32>, %o: tensor<8xf32>) -> tensor<8xf32>
    attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "4"}, fuse.ties = array<i64: 1>,
                fuse.tile = {axes = [{dims = ["d0"], block = 4 : i64, kind = "grid"}, {dims = ["d1"], block = 4 : i64, kind = "resident"}],
                             num_warps = 3 : i64, num_stages = 1 : i64}} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : f32
  %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<8x4xf32>, i1, f32) -> f32
  %s = "fuse.reduce"(%v) {kind = "sum", over = ["d1"]} : (f32) -> f32
  %r = "fuse.store"(%o, %s, %true) {at = ["d0"], mode = "set"} : (tensor<8xf32>, f32, i1) -> tensor<8xf32>
  return %r : tensor<8xf32>
}

// -----

// no reduction over programs
func.func private @k(%x: tensor<8x4xf32>, %o: tensor<8xf32>) -> tensor<8xf32>
    attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "4"}, fuse.ties = array<i64: 1>,
                fuse.tile = {axes = [{dims = ["d0"], block = 4 : i64, kind = "resident"}, {dims = ["d1"], block = 4 : i64, kind = "grid"}],
                             num_warps = 4 : i64, num_stages = 1 : i64}} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : f32
  %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<8x4xf32>, i1, f32) -> f32
  // expected-error@+1 {{'fuse.reduce' op reduces over d1, which fuse.tile spreads over programs (a grid axis)}}
  %s = "fuse.reduce"(%v) {kind = "sum", over = ["d1"]} : (f32) -> f32
  %r = "fuse.store"(%o, %s, %true) {at = ["d0"], mode = "set"} : (tensor<8xf32>, f32, i1) -> tensor<8xf32>
  return %r : tensor<8xf32>
}

// -----

// tile code: only tile ops
func.func private @k(%o: tensor<8xf32>) -> tensor<8xf32>
    attributes {fuse.kernel, fuse.dims = {d0 = "8"}, fuse.grid = ["1"], fuse.ties = array<i64: 0>} {
  // expected-error@+1 {{'fuse.index' op is not allowed in a tiled kernel: expected tt, arith, math and scf ops and fuse.base}}
  %i = "fuse.index"() {expr = "0"} : () -> i64
  return %o : tensor<8xf32>
}

// -----

// base: a pointer to the elements
func.func private @k(%o: tensor<8xui8>) -> tensor<8xui8>
    attributes {fuse.kernel, fuse.dims = {d0 = "8"}, fuse.grid = ["1"], fuse.ties = array<i64: 0>} {
  // expected-error@+1 {{'fuse.base' op expected a result of type !tt.ptr<i8>, got !tt.ptr<f32>}}
  %p = "fuse.base"(%o) : (tensor<8xui8>) -> !tt.ptr<f32>
  return %o : tensor<8xui8>
}

// -----

// base_of: a pointer to the elements
func.func private @k(%o: tensor<8xui8>) -> tensor<8xui8>
    attributes {fuse.kernel, fuse.dims = {}, fuse.grid = ["1"], fuse.ties = array<i64: 0>} {
  %n = "tt.get_program_id"() {axis = 0 : i32} : () -> i32
  // expected-error@+1 {{'fuse.base_of' op expected a result of type !tt.ptr<i8>, got !tt.ptr<f32>}}
  %p = "fuse.base_of"(%n, %o, %o) : (i32, tensor<8xui8>, tensor<8xui8>) -> !tt.ptr<f32>
  return %o : tensor<8xui8>
}

// -----

// base_of: something to choose from
func.func private @k(%o: tensor<8xf32>) -> tensor<8xf32>
    attributes {fuse.kernel, fuse.dims = {}, fuse.grid = ["1"], fuse.ties = array<i64: 0>} {
  %n = "tt.get_program_id"() {axis = 0 : i32} : () -> i32
  // expected-error@+1 {{'fuse.base_of' op expected at least one source}}
  %p = "fuse.base_of"(%n) : (i32) -> !tt.ptr<f32>
  return %o : tensor<8xf32>
}

// -----

// base_of: tensors of the kernel, in regions too
func.func private @k(%o: tensor<8xf32>) -> tensor<8xf32>
    attributes {fuse.kernel, fuse.dims = {}, fuse.grid = ["1"], fuse.ties = array<i64: 0>} {
  %n = "tt.get_program_id"() {axis = 0 : i32} : () -> i32
  %c = arith.constant true
  scf.if %c {
    // expected-error@+1 {{'fuse.base_of' op expected the sources to be tensor arguments of the kernel, got another value}}
    %p = "fuse.base_of"(%n, %n) : (i32, i32) -> !tt.ptr<f32>
  }
  return %o : tensor<8xf32>
}

// -----

// a grid over sizes that are no arguments
// expected-error@+1 {{'func.func' op the extent 's0' of fuse.grid needs the size s0, which is no argument}}
func.func private @k(%o: tensor<8xf32>) -> tensor<8xf32>
    attributes {fuse.kernel, fuse.dims = {d0 = "8"}, fuse.grid = ["s0"], fuse.ties = array<i64: 0>} {
  return %o : tensor<8xf32>
}

// -----

// bounds of a size leave room
// expected-error@+1 {{'func.func' op expected fuse.min of 's0' to be at most its fuse.max, got 3 and 2}}
func.func @main(%s0: index {fuse.sym = "s0", fuse.min = 3 : i64, fuse.max = 2 : i64}) {
  return
}

// -----

// what is said of a size is a number
// expected-error@+1 {{'func.func' op expected fuse.hint to be an integer, got "eight"}}
func.func @main(%s0: index {fuse.sym = "s0", fuse.hint = "eight"}) {
  return
}

// -----

// a group of no blocks
// expected-error@+1 {{'func.func' op fuse.tile: expected a group of 1 or more blocks, got 0}}
func.func private @k(%x: tensor<8x4xf32>, %o: tensor<8xf32>) -> tensor<8xf32>
    attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "4"}, fuse.ties = array<i64: 1>,
                fuse.tile = {axes = [{dims = ["d0"], block = 4 : i64, kind = "grid"}, {dims = ["d1"], block = 4 : i64, kind = "resident"}],
                             group = 0 : i64, num_warps = 4 : i64, num_stages = 1 : i64}} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : f32
  %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<8x4xf32>, i1, f32) -> f32
  %s = "fuse.reduce"(%v) {kind = "sum", over = ["d1"]} : (f32) -> f32
  %r = "fuse.store"(%o, %s, %true) {at = ["d0"], mode = "set"} : (tensor<8xf32>, f32, i1) -> tensor<8xf32>
  return %r : tensor<8xf32>
}

// -----

// a group of the blocks of one axis
// expected-error@+1 {{'func.func' op fuse.tile: expected two grid axes for a group of 4 blocks}}
func.func private @k(%x: tensor<8x4xf32>, %o: tensor<8xf32>) -> tensor<8xf32>
    attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "4"}, fuse.ties = array<i64: 1>,
                fuse.tile = {axes = [{dims = ["d0"], block = 4 : i64, kind = "grid"}, {dims = ["d1"], block = 4 : i64, kind = "resident"}],
                             group = 4 : i64, num_warps = 4 : i64, num_stages = 1 : i64}} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : f32
  %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<8x4xf32>, i1, f32) -> f32
  %s = "fuse.reduce"(%v) {kind = "sum", over = ["d1"]} : (f32) -> f32
  %r = "fuse.store"(%o, %s, %true) {at = ["d0"], mode = "set"} : (tensor<8xf32>, f32, i1) -> tensor<8xf32>
  return %r : tensor<8xf32>
}

// -----

// a group that is no number
// expected-error@+1 {{'func.func' op expected group of fuse.tile to be an integer, got "all"}}
func.func private @k(%x: tensor<8x4xf32>, %o: tensor<8xf32>) -> tensor<8xf32>
    attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "4"}, fuse.ties = array<i64: 1>,
                fuse.tile = {axes = [{dims = ["d0"], block = 4 : i64, kind = "grid"}, {dims = ["d1"], block = 4 : i64, kind = "resident"}],
                             group = "all", num_warps = 4 : i64, num_stages = 1 : i64}} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : f32
  %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<8x4xf32>, i1, f32) -> f32
  %s = "fuse.reduce"(%v) {kind = "sum", over = ["d1"]} : (f32) -> f32
  %r = "fuse.store"(%o, %s, %true) {at = ["d0"], mode = "set"} : (tensor<8xf32>, f32, i1) -> tensor<8xf32>
  return %r : tensor<8xf32>
}

// -----

// what is no kernel is no user's
// expected-error@+1 {{'func.func' op expected fuse.user on a function with fuse.kernel or fuse.launch}}
func.func private @mm(tensor<8xf32>) -> tensor<8xf32>
    attributes {fuse.extern = "test.mm.default", fuse.args = [#fuse.arg<0 : i64>], fuse.user = "model.py:1 mm"}

// -----

// .. nor is it instead of another op
// expected-error@+1 {{'func.func' op expected fuse.instead on a function with fuse.kernel}}
func.func private @mm(tensor<8xf32>) -> tensor<8xf32>
    attributes {fuse.extern = "test.mm.default", fuse.args = [#fuse.arg<0 : i64>],
                fuse.instead = @mm}

// -----

// extents of a tiled kernel are texts, too
// expected-error@+1 {{'func.func' op expected the extent of d0 to be a string, got 1 : i64}}
func.func private @k(%o: tensor<8xf32>) -> tensor<8xf32>
    attributes {fuse.kernel, fuse.dims = {d0 = 1 : i64}, fuse.grid = ["1"], fuse.ties = array<i64: 0>} {
  return %o : tensor<8xf32>
}

// -----

// grids without an end
// expected-error@+1 {{'func.func' op expected the extents of fuse.grid to be at least 0, got -1}}
func.func private @k(%o: tensor<8xf32>) -> tensor<8xf32>
    attributes {fuse.kernel, fuse.dims = {}, fuse.grid = ["4", "-1"], fuse.ties = array<i64: 0>} {
  return %o : tensor<8xf32>
}

// -----

// arguments of which only torch knows where they begin
// expected-error@+1 {{'func.func' op expected fuse.anywhere to number tensors among the arguments, got 2}}
func.func private @k(%x: tensor<8xf32>, %o: tensor<8xf32>) -> tensor<8xf32>
    attributes {fuse.kernel, fuse.anywhere = array<i64: 0, 2>, fuse.dims = {d0 = "8"}, fuse.ties = array<i64: 1>} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : f32
  %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<8xf32>, i1, f32) -> f32
  %r = "fuse.store"(%o, %v, %true) {at = ["d0"], mode = "set"} : (tensor<8xf32>, f32, i1) -> tensor<8xf32>
  return %r : tensor<8xf32>
}

// -----

// they are numbers
// expected-error@+1 {{'func.func' op expected fuse.anywhere to be an array<i64>, got "x"}}
func.func private @k(%x: tensor<8xf32>, %o: tensor<8xf32>) -> tensor<8xf32>
    attributes {fuse.kernel, fuse.anywhere = "x", fuse.dims = {d0 = "8"}, fuse.ties = array<i64: 1>} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : f32
  %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<8xf32>, i1, f32) -> f32
  %r = "fuse.store"(%o, %v, %true) {at = ["d0"], mode = "set"} : (tensor<8xf32>, f32, i1) -> tensor<8xf32>
  return %r : tensor<8xf32>
}

// -----

// a tile is a dictionary
// expected-error@+1 {{'func.func' op expected fuse.tile to be a dictionary, got "big"}}
func.func private @k(%o: tensor<8x4xf32>) -> tensor<8x4xf32>
    attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "4"}, fuse.ties = array<i64: 0>,
                fuse.tile = "big"} {
  %true = arith.constant true
  %one = arith.constant 1.0 : f32
  %r = "fuse.store"(%o, %one, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<8x4xf32>, f32, i1) -> tensor<8x4xf32>
  return %r : tensor<8x4xf32>
}

// -----

// the axes of a tile are an array
// expected-error@+1 {{'func.func' op expected axes of fuse.tile to be an array, got "d0"}}
func.func private @k(%o: tensor<8x4xf32>) -> tensor<8x4xf32>
    attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "4"}, fuse.ties = array<i64: 0>,
                fuse.tile = {axes = "d0", num_warps = 4 : i64, num_stages = 1 : i64}} {
  %true = arith.constant true
  %one = arith.constant 1.0 : f32
  %r = "fuse.store"(%o, %one, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<8x4xf32>, f32, i1) -> tensor<8x4xf32>
  return %r : tensor<8x4xf32>
}

// -----

// an axis of a tile is a dictionary
// expected-error@+1 {{'func.func' op expected an axis of fuse.tile to be a dictionary, got 3 : i64}}
func.func private @k(%o: tensor<8x4xf32>) -> tensor<8x4xf32>
    attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "4"}, fuse.ties = array<i64: 0>,
                fuse.tile = {axes = [3 : i64], num_warps = 4 : i64, num_stages = 1 : i64}} {
  %true = arith.constant true
  %one = arith.constant 1.0 : f32
  %r = "fuse.store"(%o, %one, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<8x4xf32>, f32, i1) -> tensor<8x4xf32>
  return %r : tensor<8x4xf32>
}

// -----

// the dims of an axis are an array
// expected-error@+1 {{'func.func' op expected dims of fuse.tile to be an array of strings, got "d0"}}
func.func private @k(%o: tensor<8x4xf32>) -> tensor<8x4xf32>
    attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "4"}, fuse.ties = array<i64: 0>,
                fuse.tile = {axes = [{dims = "d0", block = 4 : i64, kind = "grid"}], num_warps = 4 : i64, num_stages = 1 : i64}} {
  %true = arith.constant true
  %one = arith.constant 1.0 : f32
  %r = "fuse.store"(%o, %one, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<8x4xf32>, f32, i1) -> tensor<8x4xf32>
  return %r : tensor<8x4xf32>
}

// -----

// a dim of an axis is a string
// expected-error@+1 {{'func.func' op expected a dim of fuse.tile to be a string, got 0 : i64}}
func.func private @k(%o: tensor<8x4xf32>) -> tensor<8x4xf32>
    attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "4"}, fuse.ties = array<i64: 0>,
                fuse.tile = {axes = [{dims = [0 : i64], block = 4 : i64, kind = "grid"}], num_warps = 4 : i64, num_stages = 1 : i64}} {
  %true = arith.constant true
  %one = arith.constant 1.0 : f32
  %r = "fuse.store"(%o, %one, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<8x4xf32>, f32, i1) -> tensor<8x4xf32>
  return %r : tensor<8x4xf32>
}

// -----

// the kind of an axis is a string
// expected-error@+1 {{'func.func' op expected kind of fuse.tile to be a string, got 1 : i64}}
func.func private @k(%o: tensor<8x4xf32>) -> tensor<8x4xf32>
    attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "4"}, fuse.ties = array<i64: 0>,
                fuse.tile = {axes = [{dims = ["d0"], block = 4 : i64, kind = 1 : i64}], num_warps = 4 : i64, num_stages = 1 : i64}} {
  %true = arith.constant true
  %one = arith.constant 1.0 : f32
  %r = "fuse.store"(%o, %one, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<8x4xf32>, f32, i1) -> tensor<8x4xf32>
  return %r : tensor<8x4xf32>
}
