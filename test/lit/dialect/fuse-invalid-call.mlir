// Rules about extern ops, launches, calls, mutation and order, each broken once. test_fuse_dialect.py counts that no op is left out.
// RUN: fuse-opt %s --split-input-file --verify-diagnostics

// arg: a position that is no operand
// expected-error@+1 {{'func.func' op expected #fuse.arg to name one of 1 operands, got 1}}
func.func private @e(tensor<8xf32>) -> tensor<8xf32>
    attributes {fuse.extern = "aten.clone.default", fuse.args = [[#fuse.arg<1 : i64>]]}

// -----

// arg: an operand that nothing names
// expected-error@+1 {{'func.func' op takes operand 1, which none of fuse.args, fuse.kwargs and fuse.held names}}
func.func private @e(tensor<8xf32>, index) -> tensor<8xf32>
    attributes {fuse.extern = "aten.clone.default", fuse.args = [#fuse.arg<0 : i64>]}

// -----

// tuple: of something that is no array
func.func private @e(tensor<8xf32>) -> tensor<8xf32>
    // expected-error@+1 {{expected base attribute 'builtin.array' but got 'builtin.integer'}}
    attributes {fuse.extern = "higher_order.map_impl", fuse.args = [#fuse.arg<0 : i64>, #fuse.tuple<4 : i64>]}

// -----

// tuple: an operand that does not exist
// expected-error@+1 {{'func.func' op expected #fuse.arg to name one of 1 operands, got 1}}
func.func private @e(tensor<8xf32>) -> tensor<8xf32>
    attributes {fuse.extern = "higher_order.map_impl", fuse.args = [#fuse.arg<0 : i64>, #fuse.tuple<[#fuse.arg<1 : i64>]>]}

// -----

// extern: an empty name
// expected-error@+1 {{'func.func' op expected fuse.extern to name an op, got an empty name}}
func.func private @e(tensor<8xf32>) -> tensor<8xf32>
    attributes {fuse.extern = "", fuse.args = [#fuse.arg<0 : i64>]}

// -----

// torch: an unknown kind
// expected-error@+1 {{'func.func' op expected #fuse.torch of 'kind:name' with a kind of device, layout, memory_format, dtype, op, object, got 'stream:0'}}
func.func private @e(tensor<8xf32>) -> tensor<8xf32>
    attributes {fuse.extern = "aten.clone.default", fuse.args = [#fuse.arg<0 : i64>], fuse.kwargs = {s = #fuse.torch<"stream:0">}}

// -----

// args: an attribute that is no argument
// expected-error@+1 {{'func.func' op expected arguments made of literals, lists, types, #fuse.arg, #fuse.tuple and #fuse.torch, got dense<1> : tensor<2xi64>}}
func.func private @e(tensor<8xf32>) -> tensor<8xf32>
    attributes {fuse.extern = "aten.clone.default", fuse.args = [#fuse.arg<0 : i64>, [dense<1> : tensor<2xi64>]]}

// -----

// mutated names operands
// expected-error@+1 {{'func.func' op expected fuse.mutated to name tensor operands, got 1}}
func.func private @e(tensor<8xf32>) -> tensor<8xf32>
    attributes {fuse.extern = "aten.clone.default", fuse.args = [#fuse.arg<0 : i64>], fuse.mutated = array<i64: 1>}

// -----

// ranks: nobody
// expected-error@+1 {{'func.func' op expected fuse.ranks to be at least 1, got 0}}
func.func private @e(tensor<8xf32>) -> tensor<8xf32>
    attributes {fuse.extern = "_c10d_functional.all_reduce.default", fuse.args = [#fuse.arg<0 : i64>, "sum", "0"], fuse.ranks = 0 : i64}

// -----

// precision: an unknown one
// expected-error@+1 {{'func.func' op expected fuse.precision to be one of ieee, tf32, got 'fast'}}
func.func private @e(tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    attributes {fuse.extern = "aten.mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.precision = "fast"}

// -----

// instead: no symbol; the ops of the kernel have no errors of their own
// expected-error@+1 {{'func.func' op expected fuse.instead to be a symbol, got "mm"}}
func.func private @k(%o: tensor<8xf32>) -> tensor<8xf32>
    attributes {fuse.kernel, fuse.dims = {d0 = "8"}, fuse.ties = array<i64: 0>, fuse.instead = "mm"} {
  %true = arith.constant true
  %one = arith.constant 1.0 : f32
  %r = "fuse.store"(%o, %one, %true) {at = ["d0"], mode = "set"} : (tensor<8xf32>, f32, i1) -> tensor<8xf32>
  return %r : tensor<8xf32>
}

// -----

// instead: nothing of this name
// expected-error@+1 {{'func.func' op expected fuse.instead to name an extern op, got @mm}}
func.func private @k(%o: tensor<8xf32>) -> tensor<8xf32>
    attributes {fuse.kernel, fuse.dims = {d0 = "8"}, fuse.ties = array<i64: 0>, fuse.instead = @mm} {
  %true = arith.constant true
  %one = arith.constant 1.0 : f32
  %r = "fuse.store"(%o, %one, %true) {at = ["d0"], mode = "set"} : (tensor<8xf32>, f32, i1) -> tensor<8xf32>
  return %r : tensor<8xf32>
}

// -----

// instead: a kernel, which is no extern op
// expected-error@+1 {{'func.func' op expected fuse.instead to name an extern op, got @k}}
func.func private @k(%o: tensor<8xf32>) -> tensor<8xf32>
    attributes {fuse.kernel, fuse.dims = {d0 = "8"}, fuse.ties = array<i64: 0>, fuse.instead = @k} {
  %true = arith.constant true
  %one = arith.constant 1.0 : f32
  %r = "fuse.store"(%o, %one, %true) {at = ["d0"], mode = "set"} : (tensor<8xf32>, f32, i1) -> tensor<8xf32>
  return %r : tensor<8xf32>
}

// -----

// held: an operand that the op takes
// expected-error@+1 {{'func.func' op expected fuse.held to name operands that are no arguments, got 0}}
func.func private @e(tensor<8xf32>) -> tensor<8xf32>
    attributes {fuse.extern = "aten.clone.default", fuse.args = [#fuse.arg<0 : i64>], fuse.held = array<i64: 0>}

// -----

// held: an operand that does not exist
// expected-error@+1 {{'func.func' op expected fuse.held to name operands that are no arguments, got 2}}
func.func private @e(tensor<8xf32>) -> tensor<8xf32>
    attributes {fuse.extern = "aten.clone.default", fuse.args = [#fuse.arg<0 : i64>], fuse.held = array<i64: 2>}

// -----

// aliases name results
// expected-error@+1 {{'func.func' op expected fuse.aliases to name tensor results, got '1'}}
func.func private @e(tensor<8xf32>) -> tensor<8xf32>
    attributes {fuse.extern = "aten.clone.default", fuse.args = [#fuse.arg<0 : i64>], fuse.aliases = {"1" = 0 : i64}}

// -----

// a launch needs its tt.func
// expected-error@+1 {{'func.func' op launches @k_tt, and the module has no such tt.func}}
func.func private @e(tensor<8xf32>) -> tensor<8xf32>
    attributes {fuse.launch = @k_tt, fuse.grid = ["1"], fuse.params = ["0:ptr"], fuse.ties = array<i64: 0>}

// -----

// parameters are those of the tt.func
// expected-error@+1 {{'func.func' op expected the parameter '0:ptr' for an argument of type !tt.ptr<f32>, got '0:i32'}}
func.func private @k(tensor<8xf32>) -> tensor<8xf32>
    attributes {fuse.launch = @k_tt, fuse.grid = ["1"], fuse.params = ["0:i32"], fuse.ties = array<i64: 0>}
"tt.func"() ({
^bb0(%p: !tt.ptr<f32>):
  "tt.return"() : () -> ()
}) {function_type = (!tt.ptr<f32>) -> (), sym_name = "k_tt", sym_visibility = "public"} : () -> ()

// -----

// the kernel of a combined launch has a name
// expected-error@+1 {{'func.func' op expected fuse.part to be a string, got 1 : i64}}
func.func private @k(tensor<8xf32>) -> tensor<8xf32>
    attributes {fuse.launch = @k_tt, fuse.grid = ["1"], fuse.params = ["0:ptr"], fuse.part = 1 : i64, fuse.ties = array<i64: 0>}
"tt.func"() ({
^bb0(%p: !tt.ptr<f32>):
  "tt.return"() : () -> ()
}) {function_type = (!tt.ptr<f32>) -> (), sym_name = "k_tt", sym_visibility = "public"} : () -> ()

// -----

// a callee that is nothing of ours
func.func @main(%x: tensor<8xf32>) {
  // expected-error@+1 {{'func.call' op calls @plain, which is no kernel, extern, launch, ordered group, sub-graph, control flow}}
  call @plain(%x) : (tensor<8xf32>) -> ()
  return
}
func.func private @plain(tensor<8xf32>)

// -----

// a size of the callee's types is that size here
func.func @main(%x: tensor<?xf32, #fuse.layout<"s0", "1", "0", "">>, %s0: index {fuse.sym = "s0"}, %s1: index {fuse.sym = "s1"}) {
  // expected-error@+1 {{'func.call' op expected operand 1 to be the size 's0' of the callee's types, got s1}}
  %y = call @k(%x, %s1) : (tensor<?xf32, #fuse.layout<"s0", "1", "0", "">>, index) -> tensor<?xf32, #fuse.layout<"s0", "1", "0", "">>
  return
}
func.func private @k(%o: tensor<?xf32, #fuse.layout<"s0", "1", "0", "">>, %s0: index {fuse.sym = "s0"}) -> tensor<?xf32, #fuse.layout<"s0", "1", "0", "">>
    attributes {fuse.kernel, fuse.dims = {}, fuse.ties = array<i64: 0>} {
  return %o : tensor<?xf32, #fuse.layout<"s0", "1", "0", "">>
}

// -----

// a type whose size nothing defines
// expected-error@+1 {{needs the size s0, which nothing in the function defines}}
func.func @main(%x: tensor<?xf32, #fuse.layout<"s0", "1", "0", "">>) {
  return
}

// -----

// reading a destination's storage elsewhere
func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error@+1 {{'func.call' op operand 0 shares the storage of destination 1, and the kernel may read it at other elements than each point writes}}
  %y = call @copy(%x, %x) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return %y : tensor<8xf32>
}
func.func private @copy(%x: tensor<8xf32>, %o: tensor<8xf32>) -> tensor<8xf32>
    attributes {fuse.kernel, fuse.dims = {d0 = "8"}, fuse.ties = array<i64: 1>} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : f32
  %v = "fuse.load"(%x, %true, %zero) {at = ["7 - d0"]} : (tensor<8xf32>, i1, f32) -> f32
  %r = "fuse.store"(%o, %v, %true) {at = ["d0"], mode = "set"} : (tensor<8xf32>, f32, i1) -> tensor<8xf32>
  return %r : tensor<8xf32>
}

// -----

// reading a destination's storage at loaded indices of the same name
func.func @main(%x: tensor<8xf32>, %i: tensor<8xi64>) -> tensor<8xf32> {
  // expected-error@+1 {{'func.call' op operand 0 shares the storage of destination 2, and the kernel may read it at other elements than each point writes}}
  %y = call @move(%x, %i, %x) : (tensor<8xf32>, tensor<8xi64>, tensor<8xf32>) -> tensor<8xf32>
  return %y : tensor<8xf32>
}
func.func private @move(%x: tensor<8xf32>, %i: tensor<8xi64>, %o: tensor<8xf32>) -> tensor<8xf32>
    attributes {fuse.kernel, fuse.dims = {d0 = "8"}, fuse.ties = array<i64: 2>} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : f32
  %none = arith.constant 0 : i64
  %a = "fuse.load"(%i, %true, %none) {at = ["d0"]} : (tensor<8xi64>, i1, i64) -> i64
  %b = "fuse.load"(%i, %true, %none) {at = ["7 - d0"]} : (tensor<8xi64>, i1, i64) -> i64
  %v = "fuse.load"(%x, %true, %zero, %a) {at = ["i0"]} : (tensor<8xf32>, i1, f32, i64) -> f32
  %r = "fuse.store"(%o, %v, %true, %b) {at = ["i0"], mode = "set"} : (tensor<8xf32>, f32, i1, i64) -> tensor<8xf32>
  return %r : tensor<8xf32>
}

// -----

// a value that was overwritten
func.func @main(%x: tensor<8xf32>, %o: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %y = call @fill(%x) : (tensor<8xf32>) -> tensor<8xf32>
  // expected-error@+1 {{'func.call' op copy uses a value whose storage fill}}
  %z = call @copy(%x, %o) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return %y, %z : tensor<8xf32>, tensor<8xf32>
}
func.func private @fill(%o: tensor<8xf32>) -> tensor<8xf32>
    attributes {fuse.kernel, fuse.dims = {d0 = "8"}, fuse.ties = array<i64: 0>} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : f32
  %r = "fuse.store"(%o, %zero, %true) {at = ["d0"], mode = "set"} : (tensor<8xf32>, f32, i1) -> tensor<8xf32>
  return %r : tensor<8xf32>
}
func.func private @copy(%x: tensor<8xf32>, %o: tensor<8xf32>) -> tensor<8xf32>
    attributes {fuse.kernel, fuse.dims = {d0 = "8"}, fuse.ties = array<i64: 1>} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : f32
  %v = "fuse.load"(%x, %true, %zero) {at = ["7 - d0"]} : (tensor<8xf32>, i1, f32) -> f32
  %r = "fuse.store"(%o, %v, %true) {at = ["d0"], mode = "set"} : (tensor<8xf32>, f32, i1) -> tensor<8xf32>
  return %r : tensor<8xf32>
}

// -----

// mutates: a result that is not there
func.func @main(%x: tensor<8xf32>, %o: tensor<8xf32>) -> tensor<8xf32> {
  %y = call @fill(%x) : (tensor<8xf32>) -> tensor<8xf32>
  // expected-error@+1 {{'func.return' op expected fuse.mutates to name one of 1 results, got '1'}}
  return {fuse.mutates = {"1" = 0 : i64}} %y : tensor<8xf32>
}
func.func private @fill(%o: tensor<8xf32>) -> tensor<8xf32>
    attributes {fuse.kernel, fuse.dims = {d0 = "8"}, fuse.ties = array<i64: 0>} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : f32
  %r = "fuse.store"(%o, %zero, %true) {at = ["d0"], mode = "set"} : (tensor<8xf32>, f32, i1) -> tensor<8xf32>
  return %r : tensor<8xf32>
}

// -----

// mutates: an argument that is not there
func.func @main(%x: tensor<8xf32>, %o: tensor<8xf32>) -> tensor<8xf32> {
  %y = call @fill(%x) : (tensor<8xf32>) -> tensor<8xf32>
  // expected-error@+1 {{'func.return' op expected fuse.mutates to name one of 2 arguments, got 2}}
  return {fuse.mutates = {"0" = 2 : i64}} %y : tensor<8xf32>
}
func.func private @fill(%o: tensor<8xf32>) -> tensor<8xf32>
    attributes {fuse.kernel, fuse.dims = {d0 = "8"}, fuse.ties = array<i64: 0>} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : f32
  %r = "fuse.store"(%o, %zero, %true) {at = ["d0"], mode = "set"} : (tensor<8xf32>, f32, i1) -> tensor<8xf32>
  return %r : tensor<8xf32>
}

// -----

// mutates: storage of another argument
func.func @main(%x: tensor<8xf32>, %o: tensor<8xf32>) -> tensor<8xf32> {
  %y = call @fill(%x) : (tensor<8xf32>) -> tensor<8xf32>
  // expected-error@+1 {{'func.return' op expected result 0 to be in the storage of argument 1, whose new value it is}}
  return {fuse.mutates = {"0" = 1 : i64}} %y : tensor<8xf32>
}
func.func private @fill(%o: tensor<8xf32>) -> tensor<8xf32>
    attributes {fuse.kernel, fuse.dims = {d0 = "8"}, fuse.ties = array<i64: 0>} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : f32
  %r = "fuse.store"(%o, %zero, %true) {at = ["d0"], mode = "set"} : (tensor<8xf32>, f32, i1) -> tensor<8xf32>
  return %r : tensor<8xf32>
}

// -----

// ops of other dialects have no place in a module
// expected-error@+1 {{'arith.constant' op is not allowed at the top of a module: expected func.func and tt.func}}
%zero = arith.constant 0.0 : f32

// -----

// a product without a result, or of one factor
// expected-error@+1 {{'func.func' op expected aten.mm.default to take two tensors at least and to give one}}
func.func private @mm(tensor<8x8xf32>, tensor<8x8xf32>)
    attributes {fuse.extern = "aten.mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.effect}

// -----

// expected-error@+1 {{'func.func' op expected aten.mm.default to take two tensors at least and to give one}}
func.func private @mm(tensor<8x8xf32>) -> tensor<8x8xf32>
    attributes {fuse.extern = "aten.mm.default", fuse.args = [#fuse.arg<0 : i64>]}

// -----

// expected-error@+1 {{'func.func' op expected aten.mm.default to take two tensors at least and to give one}}
func.func private @mm(tensor<8x8xf32>, i64) -> tensor<8x8xf32>
    attributes {fuse.extern = "aten.mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>]}
