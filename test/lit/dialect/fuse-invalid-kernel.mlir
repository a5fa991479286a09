// Rules about single ops of scalar kernels, each broken once. test_fuse_dialect.py counts that no op is left out.
// RUN: fuse-opt %s --split-input-file --verify-diagnostics

// load: one coordinate a dim
func.func private @k(%x: tensor<8x4xf32>, %o: tensor<8xf32>) -> tensor<8xf32>
    attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "4"}, fuse.ties = array<i64: 1>} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : f32
  // expected-error@+1 {{'fuse.load' op expected 2 coordinates, one for each dim of tensor<8x4xf32>, got 1}}
  %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<8x4xf32>, i1, f32) -> f32
  %r = "fuse.store"(%o, %zero, %true) {at = ["d0"], mode = "set"} : (tensor<8xf32>, f32, i1) -> tensor<8xf32>
  return %r : tensor<8xf32>
}

// -----

// load: an unknown dim
func.func private @k(%x: tensor<8x4xf32>, %o: tensor<8xf32>) -> tensor<8xf32>
    attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "4"}, fuse.ties = array<i64: 1>} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : f32
  // expected-error@+1 {{'fuse.load' op expected coordinates over the dims d0, d1, the sizes none and 0 indices, got d2}}
  %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d2"]} : (tensor<8x4xf32>, i1, f32) -> f32
  %r = "fuse.store"(%o, %zero, %true) {at = ["d0"], mode = "set"} : (tensor<8xf32>, f32, i1) -> tensor<8xf32>
  return %r : tensor<8xf32>
}

// -----

// load: more indices in the coordinates than operands
func.func private @k(%x: tensor<8x4xf32>, %o: tensor<8xf32>) -> tensor<8xf32>
    attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "4"}, fuse.ties = array<i64: 1>} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : f32
  %i = "fuse.index"() {expr = "d1"} : () -> i64
  // expected-error@+1 {{'fuse.load' op expected coordinates over the dims d0, d1, the sizes none and 1 indices, got i1}}
  %v = "fuse.load"(%x, %true, %zero, %i) {at = ["i0", "i1"]} : (tensor<8x4xf32>, i1, f32, i64) -> f32
  %r = "fuse.store"(%o, %zero, %true) {at = ["d0"], mode = "set"} : (tensor<8xf32>, f32, i1) -> tensor<8xf32>
  return %r : tensor<8xf32>
}

// -----

// load: another type than the elements'
func.func private @k(%x: tensor<8x4xf32>, %o: tensor<8xf32>) -> tensor<8xf32>
    attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "4"}, fuse.ties = array<i64: 1>} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : f32
  %half = arith.constant 0.0 : f16
  // expected-error@+1 {{'fuse.load' op expected a result of type f32 for elements of f32, got f16}}
  %v = "fuse.load"(%x, %true, %half) {at = ["d0", "d1"]} : (tensor<8x4xf32>, i1, f16) -> f16
  %r = "fuse.store"(%o, %zero, %true) {at = ["d0"], mode = "set"} : (tensor<8xf32>, f32, i1) -> tensor<8xf32>
  return %r : tensor<8xf32>
}

// -----

// load: no argument
func.func private @k(%x: tensor<8x4xf32>, %o: tensor<8xf32>) -> tensor<8xf32>
    attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "4"}, fuse.ties = array<i64: 1>} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : f32
  %early = "fuse.store"(%o, %zero, %true) {at = ["d0"], mode = "set"} : (tensor<8xf32>, f32, i1) -> tensor<8xf32>
  // expected-error@+1 {{'fuse.load' op expected the source to be an argument of the kernel, got another value}}
  %v = "fuse.load"(%early, %true, %zero) {at = ["d0"]} : (tensor<8xf32>, i1, f32) -> f32
  %r = "fuse.store"(%o, %zero, %true) {at = ["d0"], mode = "set"} : (tensor<8xf32>, f32, i1) -> tensor<8xf32>
  return %r : tensor<8xf32>
}

// -----

// load: elsewhere than the only store
func.func private @k(%x: tensor<8x4xf32>, %o: tensor<8xf32>) -> tensor<8xf32>
    attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "4"}, fuse.ties = array<i64: 1>} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : f32
  // expected-error@+1 {{'fuse.load' op reads argument 1, which the kernel stores: only its old contents at the coordinates of the only store may be read}}
  %v = "fuse.load"(%o, %true, %zero) {at = ["7 - d0"]} : (tensor<8xf32>, i1, f32) -> f32
  %r = "fuse.store"(%o, %zero, %true) {at = ["d0"], mode = "set"} : (tensor<8xf32>, f32, i1) -> tensor<8xf32>
  return %r : tensor<8xf32>
}

// -----

// load: at loaded indices of the same name as the only store's
func.func private @k(%i: tensor<8xi64>, %o: tensor<8xf32>) -> tensor<8xf32>
    attributes {fuse.kernel, fuse.dims = {d0 = "8"}, fuse.ties = array<i64: 1>} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : f32
  %none = arith.constant 0 : i64
  %a = "fuse.load"(%i, %true, %none) {at = ["d0"]} : (tensor<8xi64>, i1, i64) -> i64
  %b = "fuse.load"(%i, %true, %none) {at = ["7 - d0"]} : (tensor<8xi64>, i1, i64) -> i64
  // expected-error@+1 {{'fuse.load' op reads argument 1 at loaded indices, at which the kernel stores: where two are equal, one point would read what another has stored}}
  %v = "fuse.load"(%o, %true, %zero, %a) {at = ["i0"]} : (tensor<8xf32>, i1, f32, i64) -> f32
  %r = "fuse.store"(%o, %v, %true, %b) {at = ["i0"], mode = "set"} : (tensor<8xf32>, f32, i1, i64) -> tensor<8xf32>
  return %r : tensor<8xf32>
}

// -----

// store: an unknown mode
func.func private @k(%x: tensor<8x4xf32>, %o: tensor<8xf32>) -> tensor<8xf32>
    attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "4"}, fuse.ties = array<i64: 1>} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : f32
  // expected-error@+1 {{'fuse.store' op expected mode to be one of set, add, min, max, got 'mul'}}
  %w = "fuse.store"(%o, %zero, %true) {at = ["d0"], mode = "mul"} : (tensor<8xf32>, f32, i1) -> tensor<8xf32>
  %r = "fuse.store"(%o, %zero, %true) {at = ["d0"], mode = "set"} : (tensor<8xf32>, f32, i1) -> tensor<8xf32>
  return %r : tensor<8xf32>
}

// -----

// store: another type than the elements'
func.func private @k(%x: tensor<8x4xf32>, %o: tensor<8xf32>) -> tensor<8xf32>
    attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "4"}, fuse.ties = array<i64: 1>} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : f32
  %i = "fuse.index"() {expr = "d1"} : () -> i64
  // expected-error@+1 {{'fuse.store' op expected a value of type f32 for elements of f32, got i64}}
  %w = "fuse.store"(%o, %i, %true) {at = ["d0"], mode = "set"} : (tensor<8xf32>, i64, i1) -> tensor<8xf32>
  %r = "fuse.store"(%o, %zero, %true) {at = ["d0"], mode = "set"} : (tensor<8xf32>, f32, i1) -> tensor<8xf32>
  return %r : tensor<8xf32>
}

// -----

// store: the result is the destination
func.func private @k(%x: tensor<8x4xf32>, %o: tensor<8xf32>) -> tensor<8xf32>
    attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "4"}, fuse.ties = array<i64: 1>} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : f32
  // expected-error@+1 {{'fuse.store' op expected a result of the destination's type tensor<8xf32>, got tensor<4xf32>}}
  %w = "fuse.store"(%o, %zero, %true) {at = ["d0"], mode = "set"} : (tensor<8xf32>, f32, i1) -> tensor<4xf32>
  %r = "fuse.store"(%o, %zero, %true) {at = ["d0"], mode = "set"} : (tensor<8xf32>, f32, i1) -> tensor<8xf32>
  return %r : tensor<8xf32>
}

// -----

// store: an argument that no result takes over
// expected-error@+1 {{'func.func' op stores into argument 0, whose storage no result takes over (fuse.ties)}}
func.func private @k(%x: tensor<8x4xf32>, %o: tensor<8xf32>) -> tensor<8xf32>
    attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "4"}, fuse.ties = array<i64: 1>} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : f32
  %w = "fuse.store"(%x, %zero, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<8x4xf32>, f32, i1) -> tensor<8x4xf32>
  %r = "fuse.store"(%o, %zero, %true) {at = ["d0"], mode = "set"} : (tensor<8xf32>, f32, i1) -> tensor<8xf32>
  return %r : tensor<8xf32>
}

// -----

// index: an unknown size
func.func private @k(%x: tensor<8x4xf32>, %o: tensor<8xf32>) -> tensor<8xf32>
    attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "4"}, fuse.ties = array<i64: 1>} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : f32
  // expected-error@+1 {{'fuse.index' op expected an expression over the dims d0, d1, the sizes none and 0 indices, got s0}}
  %i = "fuse.index"() {expr = "d0*s0"} : () -> i64
  %r = "fuse.store"(%o, %zero, %true) {at = ["d0"], mode = "set"} : (tensor<8xf32>, f32, i1) -> tensor<8xf32>
  return %r : tensor<8xf32>
}

// -----

// reduce: an unknown kind
func.func private @k(%x: tensor<8x4xf32>, %o: tensor<8xf32>) -> tensor<8xf32>
    attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "4"}, fuse.ties = array<i64: 1>} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : f32
  %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<8x4xf32>, i1, f32) -> f32
  // expected-error@+1 {{'fuse.reduce' op expected kind to be one of sum, prod, max, min, any, all, xor, got 'mean'}}
  %m = "fuse.reduce"(%v) {kind = "mean", over = ["d1"]} : (f32) -> f32
  %r = "fuse.store"(%o, %zero, %true) {at = ["d0"], mode = "set"} : (tensor<8xf32>, f32, i1) -> tensor<8xf32>
  return %r : tensor<8xf32>
}

// -----

// reduce: a dim that the value lacks
func.func private @k(%x: tensor<8x4xf32>, %o: tensor<8xf32>) -> tensor<8xf32>
    attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "4"}, fuse.ties = array<i64: 1>} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : f32
  %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<8x4xf32>, i1, f32) -> f32
  %m = "fuse.reduce"(%v) {kind = "sum", over = ["d1"]} : (f32) -> f32
  // expected-error@+1 {{'fuse.reduce' op expected over to name dims of the operand (d0), got d1}}
  %n = "fuse.reduce"(%m) {kind = "sum", over = ["d1"]} : (f32) -> f32
  %r = "fuse.store"(%o, %zero, %true) {at = ["d0"], mode = "set"} : (tensor<8xf32>, f32, i1) -> tensor<8xf32>
  return %r : tensor<8xf32>
}

// -----

// reduce: over nothing
func.func private @k(%x: tensor<8x4xf32>, %o: tensor<8xf32>) -> tensor<8xf32>
    attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "4"}, fuse.ties = array<i64: 1>} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : f32
  %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<8x4xf32>, i1, f32) -> f32
  // expected-error@+1 {{'fuse.reduce' op expected one or more different dims in over, got []}}
  %m = "fuse.reduce"(%v) {kind = "sum", over = []} : (f32) -> f32
  %r = "fuse.store"(%o, %zero, %true) {at = ["d0"], mode = "set"} : (tensor<8xf32>, f32, i1) -> tensor<8xf32>
  return %r : tensor<8xf32>
}

// -----

// reduce: truth of numbers
func.func private @k(%x: tensor<8x4xf32>, %o: tensor<8xf32>) -> tensor<8xf32>
    attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "4"}, fuse.ties = array<i64: 1>} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : f32
  %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<8x4xf32>, i1, f32) -> f32
  // expected-error@+1 {{'fuse.reduce' op expected an i1 operand for kind 'any', got f32}}
  %m = "fuse.reduce"(%v) {kind = "any", over = ["d1"]} : (f32) -> f32
  %r = "fuse.store"(%o, %zero, %true) {at = ["d0"], mode = "set"} : (tensor<8xf32>, f32, i1) -> tensor<8xf32>
  return %r : tensor<8xf32>
}

// -----

// reduce: bits of floats
func.func private @k(%x: tensor<8x4xf32>, %o: tensor<8xf32>) -> tensor<8xf32>
    attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "4"}, fuse.ties = array<i64: 1>} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : f32
  %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<8x4xf32>, i1, f32) -> f32
  // expected-error@+1 {{'fuse.reduce' op expected an integer operand for kind 'xor', got f32}}
  %m = "fuse.reduce"(%v) {kind = "xor", over = ["d1"]} : (f32) -> f32
  %r = "fuse.store"(%o, %zero, %true) {at = ["d0"], mode = "set"} : (tensor<8xf32>, f32, i1) -> tensor<8xf32>
  return %r : tensor<8xf32>
}

// -----

// argreduce: an unknown kind
func.func private @k(%x: tensor<8x4xf32>, %o: tensor<8xf32>) -> tensor<8xf32>
    attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "4"}, fuse.ties = array<i64: 1>} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : f32
  %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<8x4xf32>, i1, f32) -> f32
  %i = "fuse.index"() {expr = "d1"} : () -> i64
  // expected-error@+1 {{'fuse.argreduce' op expected kind to be one of argmax, argmin, got 'max'}}
  %m:2 = "fuse.argreduce"(%v, %i) {kind = "max", over = ["d1"]} : (f32, i64) -> (f32, i64)
  %r = "fuse.store"(%o, %zero, %true) {at = ["d0"], mode = "set"} : (tensor<8xf32>, f32, i1) -> tensor<8xf32>
  return %r : tensor<8xf32>
}

// -----

// welford: floats only
func.func private @k(%x: tensor<8x4xf32>, %o: tensor<8xf32>) -> tensor<8xf32>
    attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "4"}, fuse.ties = array<i64: 1>} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : f32
  %i = "fuse.index"() {expr = "d1"} : () -> i64
  // expected-error@+1 {{'fuse.welford' op expected operands of a float type, got i64}}
  %m:2 = "fuse.welford"(%i) {over = ["d1"]} : (i64) -> (i64, i64)
  %r = "fuse.store"(%o, %zero, %true) {at = ["d0"], mode = "set"} : (tensor<8xf32>, f32, i1) -> tensor<8xf32>
  return %r : tensor<8xf32>
}

// -----

// welford: one weight of each value
func.func private @k(%x: tensor<8x4xf32>, %o: tensor<8xf32>) -> tensor<8xf32>
    attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "4"}, fuse.ties = array<i64: 1>} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : f32
  // expected-error@+1 {{'fuse.welford' op expected a value and at most one weight, got 3 operands}}
  %m:2 = "fuse.welford"(%zero, %zero, %zero) {over = ["d1"]} : (f32, f32, f32) -> (f32, f32)
  %r = "fuse.store"(%o, %zero, %true) {at = ["d0"], mode = "set"} : (tensor<8xf32>, f32, i1) -> tensor<8xf32>
  return %r : tensor<8xf32>
}

// -----

// welford: a weight is of the type of the values
func.func private @k(%x: tensor<8x4xf32>, %o: tensor<8xf32>) -> tensor<8xf32>
    attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "4"}, fuse.ties = array<i64: 1>} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f64
  // expected-error@+1 {{expected 'f32' but got 'f64'}}
  %m:2 = "fuse.welford"(%zero, %one) {over = ["d1"]} : (f32, f64) -> (f32, f32)
  %r = "fuse.store"(%o, %zero, %true) {at = ["d0"], mode = "set"} : (tensor<8xf32>, f32, i1) -> tensor<8xf32>
  return %r : tensor<8xf32>
}

// -----

// online_dot: a factor that exponentials are not rounded to
func.func private @k(%x: tensor<8x4xf32>, %o: tensor<8xf32>) -> tensor<8xf32>
    attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "4"}, fuse.ties = array<i64: 1>} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : f32
  %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<8x4xf32>, i1, f32) -> f32
  // expected-error@+1 {{'fuse.online_dot' op expected rhs of bf16 or f16, got f32}}
  %m:3 = "fuse.online_dot"(%v, %v) {over = ["d1"]} : (f32, f32) -> (f32, f32, f32)
  %r = "fuse.store"(%o, %zero, %true) {at = ["d0"], mode = "set"} : (tensor<8xf32>, f32, i1) -> tensor<8xf32>
  return %r : tensor<8xf32>
}

// -----

// online_dot: a factor that does not vary along what is summed
func.func private @k(%x: tensor<8x4xf32>, %o: tensor<8xf32>) -> tensor<8xf32>
    attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "4"}, fuse.ties = array<i64: 1>} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : f32
  %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<8x4xf32>, i1, f32) -> f32
  %h = arith.constant 1.0 : bf16
  // expected-error@+1 {{'fuse.online_dot' op expected rhs to have the dims of over, and it lacks d1}}
  %m:3 = "fuse.online_dot"(%v, %h) {over = ["d1"]} : (f32, bf16) -> (f32, f32, f32)
  %r = "fuse.store"(%o, %zero, %true) {at = ["d0"], mode = "set"} : (tensor<8xf32>, f32, i1) -> tensor<8xf32>
  return %r : tensor<8xf32>
}

// -----

// online_expectation: a sign that is none
func.func private @k(%x: tensor<8x4xf32>, %o: tensor<8xf32>) -> tensor<8xf32>
    attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "4"}, fuse.ties = array<i64: 1>} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : f32
  %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<8x4xf32>, i1, f32) -> f32
  // expected-error@+1 {{'fuse.online_expectation' op expected signs to be -1, 0 or 1, one at least, got [2]}}
  %m:3 = "fuse.online_expectation"(%v) {over = ["d1"], signs = array<i64: 2>} : (f32) -> (f32, f32, f32)
  %r = "fuse.store"(%o, %zero, %true) {at = ["d0"], mode = "set"} : (tensor<8xf32>, f32, i1) -> tensor<8xf32>
  return %r : tensor<8xf32>
}

// -----

// online_expectation: more signs than values
func.func private @k(%x: tensor<8x4xf32>, %o: tensor<8xf32>) -> tensor<8xf32>
    attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "4"}, fuse.ties = array<i64: 1>} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : f32
  %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<8x4xf32>, i1, f32) -> f32
  // expected-error@+1 {{'fuse.online_expectation' op expected 2 or 3 operands, got 1}}
  %m:5 = "fuse.online_expectation"(%v) {over = ["d1"], signs = array<i64: 1, 1>} : (f32) -> (f32, f32, f32, f32, f32)
  %r = "fuse.store"(%o, %zero, %true) {at = ["d0"], mode = "set"} : (tensor<8xf32>, f32, i1) -> tensor<8xf32>
  return %r : tensor<8xf32>
}

// -----

// online_expectation: results for other values
func.func private @k(%x: tensor<8x4xf32>, %o: tensor<8xf32>) -> tensor<8xf32>
    attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "4"}, fuse.ties = array<i64: 1>} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : f32
  %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<8x4xf32>, i1, f32) -> f32
  // expected-error@+1 {{'fuse.online_expectation' op expected 3 results, got 2}}
  %m:2 = "fuse.online_expectation"(%v) {over = ["d1"], signs = array<i64: 1>} : (f32) -> (f32, f32)
  %r = "fuse.store"(%o, %zero, %true) {at = ["d0"], mode = "set"} : (tensor<8xf32>, f32, i1) -> tensor<8xf32>
  return %r : tensor<8xf32>
}

// -----

// online_softmax: a dim that the value lacks
func.func private @k(%x: tensor<8x4xf32>, %o: tensor<8xf32>) -> tensor<8xf32>
    attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "4"}, fuse.ties = array<i64: 1>} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : f32
  // expected-error@+1 {{'fuse.online_softmax' op expected over to name dims of the operand (none), got d1}}
  %m:2 = "fuse.online_softmax"(%zero) {over = ["d1"]} : (f32) -> (f32, f32)
  %r = "fuse.store"(%o, %zero, %true) {at = ["d0"], mode = "set"} : (tensor<8xf32>, f32, i1) -> tensor<8xf32>
  return %r : tensor<8xf32>
}

// -----

// scan: an unknown kind
func.func private @k(%x: tensor<8x4xf32>, %o: tensor<8xf32>) -> tensor<8xf32>
    attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "4"}, fuse.ties = array<i64: 1>} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : f32
  %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<8x4xf32>, i1, f32) -> f32
  // expected-error@+1 {{'fuse.scan' op expected kind to be one of sum, prod, max, min, logsumexp, linear, got 'xor'}}
  %m = "fuse.scan"(%v) {kind = "xor", over = "d1", reverse = false} : (f32) -> f32
  %r = "fuse.store"(%o, %zero, %true) {at = ["d0"], mode = "set"} : (tensor<8xf32>, f32, i1) -> tensor<8xf32>
  return %r : tensor<8xf32>
}

// -----

// scan: logarithms are of floats
func.func private @k(%x: tensor<8x4xi32>, %o: tensor<8x4xi32>) -> tensor<8x4xi32>
    attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "4"}, fuse.ties = array<i64: 1>} {
  %true = arith.constant true
  %zero = arith.constant 0 : i32
  %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<8x4xi32>, i1, i32) -> i32
  // expected-error@+1 {{'fuse.scan' op expected a float operand for kind 'logsumexp', got i32}}
  %m = "fuse.scan"(%v) {kind = "logsumexp", over = "d1", reverse = false} : (i32) -> i32
  %r = "fuse.store"(%o, %m, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<8x4xi32>, i32, i1) -> tensor<8x4xi32>
  return %r : tensor<8x4xi32>
}

// -----

// scan: a direction is true or false
func.func private @k(%x: tensor<8x4xf32>, %o: tensor<8xf32>) -> tensor<8xf32>
    attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "4"}, fuse.ties = array<i64: 1>} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : f32
  %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<8x4xf32>, i1, f32) -> f32
  // expected-error@+1 {{'fuse.scan' op expected reverse to be true or false, got 1 : i64}}
  %m = "fuse.scan"(%v) {kind = "sum", over = "d1", reverse = 1 : i64} : (f32) -> f32
  %r = "fuse.store"(%o, %zero, %true) {at = ["d0"], mode = "set"} : (tensor<8xf32>, f32, i1) -> tensor<8xf32>
  return %r : tensor<8xf32>
}

// -----

// scan: a linear recurrence has a gate
func.func private @k(%x: tensor<8x4xf32>, %o: tensor<8xf32>) -> tensor<8xf32>
    attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "4"}, fuse.ties = array<i64: 1>} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : f32
  %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<8x4xf32>, i1, f32) -> f32
  // expected-error@+1 {{'fuse.scan' op expected a value and, of kind 'linear' alone, a gate, all of the result's type}}
  %m = "fuse.scan"(%v) {kind = "linear", over = "d1", reverse = false} : (f32) -> f32
  %r = "fuse.store"(%o, %zero, %true) {at = ["d0"], mode = "set"} : (tensor<8xf32>, f32, i1) -> tensor<8xf32>
  return %r : tensor<8xf32>
}

// -----

// scan: a sum has none
func.func private @k(%x: tensor<8x4xf32>, %o: tensor<8xf32>) -> tensor<8xf32>
    attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "4"}, fuse.ties = array<i64: 1>} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : f32
  %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<8x4xf32>, i1, f32) -> f32
  // expected-error@+1 {{'fuse.scan' op expected a value and, of kind 'linear' alone, a gate, all of the result's type}}
  %m = "fuse.scan"(%v, %v) {kind = "sum", over = "d1", reverse = false} : (f32, f32) -> f32
  %r = "fuse.store"(%o, %zero, %true) {at = ["d0"], mode = "set"} : (tensor<8xf32>, f32, i1) -> tensor<8xf32>
  return %r : tensor<8xf32>
}

// -----

// scan: a linear recurrence runs forward
func.func private @k(%x: tensor<8x4xf32>, %o: tensor<8xf32>) -> tensor<8xf32>
    attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "4"}, fuse.ties = array<i64: 1>} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : f32
  %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<8x4xf32>, i1, f32) -> f32
  // expected-error@+1 {{'fuse.scan' op expected reverse to be false for kind 'linear'}}
  %m = "fuse.scan"(%v, %v) {kind = "linear", over = "d1", reverse = true} : (f32, f32) -> f32
  %r = "fuse.store"(%o, %zero, %true) {at = ["d0"], mode = "set"} : (tensor<8xf32>, f32, i1) -> tensor<8xf32>
  return %r : tensor<8xf32>
}

// -----

// dot: a dim that the operands lack
func.func private @k(%x: tensor<8x4xf32>, %o: tensor<8xf32>) -> tensor<8xf32>
    attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "4"}, fuse.ties = array<i64: 1>} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : f32
  %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<8x4xf32>, i1, f32) -> f32
  // expected-error@+1 {{'fuse.dot' op expected over to name dims of the operand (d0, d1), got d2}}
  %m = "fuse.dot"(%v, %v) {over = ["d2"]} : (f32, f32) -> f32
  %r = "fuse.store"(%o, %zero, %true) {at = ["d0"], mode = "set"} : (tensor<8xf32>, f32, i1) -> tensor<8xf32>
  return %r : tensor<8xf32>
}

// -----

// dot: a type without a product
func.func private @k(%x: tensor<8x4xi1>, %o: tensor<8xf32>) -> tensor<8xf32>
    attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "4"}, fuse.ties = array<i64: 1>} {
  %true = arith.constant true
  %zero = arith.constant 0 : i1
  %total = arith.constant 0.0 : f32
  %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<8x4xi1>, i1, i1) -> i1
  // expected-error@+1 {{'fuse.dot' op expected operands of a type that is multiplied (bf16, f16, f32, f64, f8E4M3FN, f8E5M2, i8, i16, i32, i64), got i1}}
  %m = "fuse.dot"(%v, %v) {over = ["d1"]} : (i1, i1) -> i1
  %r = "fuse.store"(%o, %total, %true) {at = ["d0"], mode = "set"} : (tensor<8xf32>, f32, i1) -> tensor<8xf32>
  return %r : tensor<8xf32>
}

// -----

// dot: a sum that is too narrow
func.func private @k(%x: tensor<8x4xbf16>, %o: tensor<8xf32>) -> tensor<8xf32>
    attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "4"}, fuse.ties = array<i64: 1>} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : bf16
  %total = arith.constant 0.0 : f32
  %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<8x4xbf16>, i1, bf16) -> bf16
  // expected-error@+1 {{'fuse.dot' op expected operands of bf16 to add up to f32, got bf16}}
  %m = "fuse.dot"(%v, %v) {over = ["d1"]} : (bf16, bf16) -> bf16
  %r = "fuse.store"(%o, %total, %true) {at = ["d0"], mode = "set"} : (tensor<8xf32>, f32, i1) -> tensor<8xf32>
  return %r : tensor<8xf32>
}

// -----

// dot: an unknown precision
func.func private @k(%x: tensor<8x4xf32>, %o: tensor<8xf32>) -> tensor<8xf32>
    attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "4"}, fuse.ties = array<i64: 1>} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : f32
  %total = arith.constant 0.0 : f32
  %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<8x4xf32>, i1, f32) -> f32
  // expected-error@+1 {{'fuse.dot' op expected precision to be one of ieee, tf32, got 'bf16x3'}}
  %m = "fuse.dot"(%v, %v) {over = ["d1"], precision = "bf16x3"} : (f32, f32) -> f32
  %r = "fuse.store"(%o, %total, %true) {at = ["d0"], mode = "set"} : (tensor<8xf32>, f32, i1) -> tensor<8xf32>
  return %r : tensor<8xf32>
}

// -----

// dot: fewer bits of a type that has no more
func.func private @k(%x: tensor<8x4xf16>, %o: tensor<8xf32>) -> tensor<8xf32>
    attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "4"}, fuse.ties = array<i64: 1>} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : f16
  %total = arith.constant 0.0 : f32
  %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<8x4xf16>, i1, f16) -> f16
  // expected-error@+1 {{'fuse.dot' op expected precision 'tf32' on operands of f32, got f16}}
  %m = "fuse.dot"(%v, %v) {over = ["d1"], precision = "tf32"} : (f16, f16) -> f32
  %r = "fuse.store"(%o, %total, %true) {at = ["d0"], mode = "set"} : (tensor<8xf32>, f32, i1) -> tensor<8xf32>
  return %r : tensor<8xf32>
}

// -----

// dot: a fast accumulation of a type that has none
func.func private @k(%x: tensor<8x4xf16>, %o: tensor<8xf32>) -> tensor<8xf32>
    attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "4"}, fuse.ties = array<i64: 1>} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : f16
  %total = arith.constant 0.0 : f32
  %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<8x4xf16>, i1, f16) -> f16
  // expected-error@+1 {{'fuse.dot' op expected fast_accum on operands of 8-bit floats, got f16}}
  %m = "fuse.dot"(%v, %v) {fast_accum, over = ["d1"]} : (f16, f16) -> f32
  %r = "fuse.store"(%o, %total, %true) {at = ["d0"], mode = "set"} : (tensor<8xf32>, f32, i1) -> tensor<8xf32>
  return %r : tensor<8xf32>
}

// -----

// dot: a fast accumulation with a value
func.func private @k(%x: tensor<8x4xf16>, %o: tensor<8xf32>) -> tensor<8xf32>
    attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "4"}, fuse.ties = array<i64: 1>} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : f16
  %total = arith.constant 0.0 : f32
  %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<8x4xf16>, i1, f16) -> f16
  %n = arith.truncf %v : f16 to f8E5M2
  // expected-error@+1 {{'fuse.dot' op expected fast_accum to have no value, got true}}
  %m = "fuse.dot"(%n, %n) {fast_accum = true, over = ["d1"]} : (f8E5M2, f8E5M2) -> f32
  %r = "fuse.store"(%o, %total, %true) {at = ["d0"], mode = "set"} : (tensor<8xf32>, f32, i1) -> tensor<8xf32>
  return %r : tensor<8xf32>
}

// -----

// rand: an unknown distribution
func.func private @k(%x: tensor<8x4xf32>, %o: tensor<8xf32>) -> tensor<8xf32>
    attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "4"}, fuse.ties = array<i64: 1>} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : f32
  %i = "fuse.index"() {expr = "d1"} : () -> i64
  // expected-error@+1 {{'fuse.rand' op expected dist to be one of uniform, normal, got 'poisson'}}
  %m = "fuse.rand"(%i, %i, %i) {dist = "poisson"} : (i64, i64, i64) -> f32
  %r = "fuse.store"(%o, %zero, %true) {at = ["d0"], mode = "set"} : (tensor<8xf32>, f32, i1) -> tensor<8xf32>
  return %r : tensor<8xf32>
}

// -----

// libm: an unknown function
func.func private @k(%x: tensor<8x4xf32>, %o: tensor<8xf32>) -> tensor<8xf32>
    attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "4"}, fuse.ties = array<i64: 1>} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : f32
  %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<8x4xf32>, i1, f32) -> f32
  // expected-error@+1 {{'fuse.libm' op expected fn to be a function of ir/dialects/libm.py, got 'gamma'}}
  %m = "fuse.libm"(%v) {fn = "gamma"} : (f32) -> f32
  %r = "fuse.store"(%o, %zero, %true) {at = ["d0"], mode = "set"} : (tensor<8xf32>, f32, i1) -> tensor<8xf32>
  return %r : tensor<8xf32>
}

// -----

// libm: the number of arguments
func.func private @k(%x: tensor<8x4xf32>, %o: tensor<8xf32>) -> tensor<8xf32>
    attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "4"}, fuse.ties = array<i64: 1>} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : f32
  %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<8x4xf32>, i1, f32) -> f32
  // expected-error@+1 {{'fuse.libm' op expected 2 arguments for 'hypot', got 1}}
  %m = "fuse.libm"(%v) {fn = "hypot"} : (f32) -> f32
  %r = "fuse.store"(%o, %zero, %true) {at = ["d0"], mode = "set"} : (tensor<8xf32>, f32, i1) -> tensor<8xf32>
  return %r : tensor<8xf32>
}

// -----

// device_assert: conditions are i1
func.func private @k(%x: tensor<8x4xf32>, %o: tensor<8xf32>) -> tensor<8xf32>
    attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "4"}, fuse.ties = array<i64: 1>} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : f32
  %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<8x4xf32>, i1, f32) -> f32
  // expected-error@+1 {{expected 'i1' but got 'f32'}}
  "fuse.device_assert"(%v, %true) {message = "no"} : (f32, i1) -> ()
  %r = "fuse.store"(%o, %zero, %true) {at = ["d0"], mode = "set"} : (tensor<8xf32>, f32, i1) -> tensor<8xf32>
  return %r : tensor<8xf32>
}

// -----

// base: belongs to tile code
func.func private @k(%x: tensor<8x4xf32>, %o: tensor<8xf32>) -> tensor<8xf32>
    attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "4"}, fuse.ties = array<i64: 1>} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : f32
  // expected-error@+1 {{'fuse.base' op is not allowed in a kernel}}
  %p = "fuse.base"(%x) : (tensor<8x4xf32>) -> !tt.ptr<f32>
  %r = "fuse.store"(%o, %zero, %true) {at = ["d0"], mode = "set"} : (tensor<8xf32>, f32, i1) -> tensor<8xf32>
  return %r : tensor<8xf32>
}

// -----

// graph ops have no place in a kernel
func.func private @k(%x: tensor<8x4xf32>, %o: tensor<8xf32>) -> tensor<8xf32>
    attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "4"}, fuse.ties = array<i64: 1>} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : f32
  // expected-error@+1 {{'fuse.empty' op is not allowed in a kernel: expected arith, math and the fuse dialect's kernel ops}}
  %e = "fuse.empty"() {syms = []} : () -> tensor<8xf32>
  %r = "fuse.store"(%o, %zero, %true) {at = ["d0"], mode = "set"} : (tensor<8xf32>, f32, i1) -> tensor<8xf32>
  return %r : tensor<8xf32>
}

// -----

// control flow has no place in a scalar kernel
func.func private @k(%x: tensor<8x4xf32>, %o: tensor<8xf32>) -> tensor<8xf32>
    attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "4"}, fuse.ties = array<i64: 1>} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : f32
  // expected-error@+1 {{'scf.if' op is not allowed in a kernel}}
  scf.if %true {}
  %r = "fuse.store"(%o, %zero, %true) {at = ["d0"], mode = "set"} : (tensor<8xf32>, f32, i1) -> tensor<8xf32>
  return %r : tensor<8xf32>
}

// -----

// no fast math
func.func private @k(%x: tensor<8x4xf32>, %o: tensor<8xf32>) -> tensor<8xf32>
    attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "4"}, fuse.ties = array<i64: 1>} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : f32
  %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<8x4xf32>, i1, f32) -> f32
  // expected-error@+1 {{'arith.addf' op expected no fast-math flags, got #arith.fastmath<fast>}}
  %w = arith.addf %v, %v fastmath<fast> : f32
  %r = "fuse.store"(%o, %zero, %true) {at = ["d0"], mode = "set"} : (tensor<8xf32>, f32, i1) -> tensor<8xf32>
  return %r : tensor<8xf32>
}

// -----

// kernel ops have no place in the graph
func.func @main(%x: tensor<8x4xf32>) {
  // expected-error@+1 {{'fuse.index' op is only allowed in a kernel (a function with fuse.kernel)}}
  %i = "fuse.index"() {expr = "1"} : () -> i64
  return
}
