// RUN: fuse-opt %s --split-input-file --verify-diagnostics

// a dynamic size without layout
// expected-error@+1 {{a dynamic size needs a #fuse.layout encoding: tensor<?xf32>}}
func.func private @e(tensor<?xf32>)
    attributes {fuse.extern = "aten.relu_.default", fuse.args = [#fuse.arg<0 : i64>]}

// -----

// another encoding
// expected-error@+1 {{the encoding of a tensor is a #fuse.layout, not "rows"}}
func.func private @e(tensor<8xf32, "rows">)
    attributes {fuse.extern = "aten.relu_.default", fuse.args = [#fuse.arg<0 : i64>]}

// -----

// ranks that differ
// expected-error@+1 {{the layout has 2 sizes and 1 strides, the type has rank 1}}
func.func private @e(tensor<8xf32, #fuse.layout<"8,1", "1", "0", "">>)
    attributes {fuse.extern = "aten.relu_.default", fuse.args = [#fuse.arg<0 : i64>]}

// -----

// a static size that differs
// expected-error@+1 {{dim 0 is 8 in the type and 9 in the layout}}
func.func private @e(tensor<8xf32, #fuse.layout<"9", "1", "0", "">>)
    attributes {fuse.extern = "aten.relu_.default", fuse.args = [#fuse.arg<0 : i64>]}

// -----

// a size that is dynamic in one only
// expected-error@+1 {{dim 0 is dynamic in the type and 8 in the layout}}
func.func private @e(tensor<?xf32, #fuse.layout<"8", "1", "0", "">>)
    attributes {fuse.extern = "aten.relu_.default", fuse.args = [#fuse.arg<0 : i64>]}

// -----

// a malformed expression
// expected-error@+1 {{bad index expression 's0 +'}}
func.func private @e(tensor<?xf32, #fuse.layout<"s0 +", "1", "0", "">>)
    attributes {fuse.extern = "aten.relu_.default", fuse.args = [#fuse.arg<0 : i64>]}

// -----

// an element type of no dtype
// expected-error@+1 {{expected an element type of f64, f32, f16, bf16}}
func.func private @e(tensor<8xi4>)
    attributes {fuse.extern = "aten.relu_.default", fuse.args = [#fuse.arg<0 : i64>]}

// -----

// a parameter of the wrong kind
// expected-error@+1 {{expected base attribute 'builtin.string'}}
func.func private @e(tensor<8xf32, #fuse.layout<8, "1", "0", "">>)

// -----

// more bytes than an address can tell apart
// expected-error@+1 {{expected a tensor whose bytes 64-bit integers can number, got tensor<4611686018427387904x2xf32>}}
func.func private @f(tensor<4611686018427387904x2xf32>) attributes {fuse.extern = "test.f.default", fuse.args = [#fuse.arg<0 : i64>], fuse.effect}
