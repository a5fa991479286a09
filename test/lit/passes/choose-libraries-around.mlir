// RUN: fuse-opt %s --pass-pipeline="builtin.module(choose-libraries{hardware=h200 tensor-cores=all})" --split-input-file --remarks=text 2>&1 >/dev/null | FileCheck %s

// What lies around products of tensor cores decides, beside the products.
// A convolution of 1x1 over images whose channels lie side by side, with a ReLU behind it: one launch less, and the
// result is not written and read.
// CHECK: passed: choose-libraries: kernel, {{.*}}@images becomes a kernel
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<8x1024x16x16xbf16, #fuse.layout<"8,1024,16,16", "262144,1,16384,1024", "0", "">>, %w: tensor<256x1024x1x1xbf16>) -> tensor<8x256x16x16xbf16, #fuse.layout<"8,256,16,16", "65536,1,4096,256", "0", "">> {
    %y = call @images(%x, %w) : (tensor<8x1024x16x16xbf16, #fuse.layout<"8,1024,16,16", "262144,1,16384,1024", "0", "">>, tensor<256x1024x1x1xbf16>) -> tensor<8x256x16x16xbf16, #fuse.layout<"8,256,16,16", "65536,1,4096,256", "0", "">>
    %e = "fuse.empty"() {syms = []} : () -> tensor<8x256x16x16xbf16, #fuse.layout<"8,256,16,16", "65536,1,4096,256", "0", "">>
    %z = call @relu(%y, %e) : (tensor<8x256x16x16xbf16, #fuse.layout<"8,256,16,16", "65536,1,4096,256", "0", "">>, tensor<8x256x16x16xbf16, #fuse.layout<"8,256,16,16", "65536,1,4096,256", "0", "">>) -> tensor<8x256x16x16xbf16, #fuse.layout<"8,256,16,16", "65536,1,4096,256", "0", "">>
    return %z : tensor<8x256x16x16xbf16, #fuse.layout<"8,256,16,16", "65536,1,4096,256", "0", "">>
  }
  func.func private @relu(%x0: tensor<8x256x16x16xbf16, #fuse.layout<"8,256,16,16", "65536,1,4096,256", "0", "">>, %o: tensor<8x256x16x16xbf16, #fuse.layout<"8,256,16,16", "65536,1,4096,256", "0", "">>) -> tensor<8x256x16x16xbf16, #fuse.layout<"8,256,16,16", "65536,1,4096,256", "0", "">> attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "256", d2 = "16", d3 = "16"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %v0 = "fuse.load"(%x0, %true, %zero) {at = ["d0", "d1", "d2", "d3"]} : (tensor<8x256x16x16xbf16, #fuse.layout<"8,256,16,16", "65536,1,4096,256", "0", "">>, i1, bf16) -> bf16
    %w = arith.maximumf %v0, %zero : bf16
    %r = "fuse.store"(%o, %w, %true) {at = ["d0", "d1", "d2", "d3"], mode = "set"} : (tensor<8x256x16x16xbf16, #fuse.layout<"8,256,16,16", "65536,1,4096,256", "0", "">>, bf16, i1) -> tensor<8x256x16x16xbf16, #fuse.layout<"8,256,16,16", "65536,1,4096,256", "0", "">>
    return %r : tensor<8x256x16x16xbf16, #fuse.layout<"8,256,16,16", "65536,1,4096,256", "0", "">>
  }
  func.func private @images(tensor<8x1024x16x16xbf16, #fuse.layout<"8,1024,16,16", "262144,1,16384,1024", "0", "">>, tensor<256x1024x1x1xbf16>) -> tensor<8x256x16x16xbf16, #fuse.layout<"8,256,16,16", "65536,1,4096,256", "0", "">> attributes {fuse.extern = "aten.convolution.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>, unit, [1 : i64, 1 : i64], [0 : i64, 0 : i64], [1 : i64, 1 : i64], false, [0 : i64, 0 : i64], 1 : i64], fuse.kwargs = {}}
}

// -----

// Must not fire: the channels lie apart.
// CHECK: missed: choose-libraries: strides, {{.*}}@channels_apart is the library's: the channels of images do not lie side by side
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<8x1024x16x16xbf16>, %w: tensor<256x1024x1x1xbf16>) -> tensor<8x256x16x16xbf16> {
    %y = call @channels_apart(%x, %w) : (tensor<8x1024x16x16xbf16>, tensor<256x1024x1x1xbf16>) -> tensor<8x256x16x16xbf16>
    %e = "fuse.empty"() {syms = []} : () -> tensor<8x256x16x16xbf16>
    %z = call @relu(%y, %e) : (tensor<8x256x16x16xbf16>, tensor<8x256x16x16xbf16>) -> tensor<8x256x16x16xbf16>
    return %z : tensor<8x256x16x16xbf16>
  }
  func.func private @relu(%x0: tensor<8x256x16x16xbf16>, %o: tensor<8x256x16x16xbf16>) -> tensor<8x256x16x16xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "256", d2 = "16", d3 = "16"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %v0 = "fuse.load"(%x0, %true, %zero) {at = ["d0", "d1", "d2", "d3"]} : (tensor<8x256x16x16xbf16>, i1, bf16) -> bf16
    %w = arith.maximumf %v0, %zero : bf16
    %r = "fuse.store"(%o, %w, %true) {at = ["d0", "d1", "d2", "d3"], mode = "set"} : (tensor<8x256x16x16xbf16>, bf16, i1) -> tensor<8x256x16x16xbf16>
    return %r : tensor<8x256x16x16xbf16>
  }
  func.func private @channels_apart(tensor<8x1024x16x16xbf16>, tensor<256x1024x1x1xbf16>) -> tensor<8x256x16x16xbf16> attributes {fuse.extern = "aten.convolution.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>, unit, [1 : i64, 1 : i64], [0 : i64, 0 : i64], [1 : i64, 1 : i64], false, [0 : i64, 0 : i64], 1 : i64], fuse.kwargs = {}}
}

// -----

// A product behind which something is computed with a further tensor: a read of that tensor and a write hide behind the
// product, where two passes over memory would be a kernel of their own.
// CHECK: passed: choose-libraries: kernel, {{.*}}@multiplied becomes a kernel
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<4096x768xbf16>, %w: tensor<768x3072xbf16>, %m: tensor<4096x3072xbf16>) -> tensor<4096x3072xbf16> {
    %y = call @multiplied(%x, %w) : (tensor<4096x768xbf16>, tensor<768x3072xbf16>) -> tensor<4096x3072xbf16>
    %e1 = "fuse.empty"() {syms = []} : () -> tensor<4096x3072xbf16>
    %z = call @behind(%y, %m, %e1) : (tensor<4096x3072xbf16>, tensor<4096x3072xbf16>, tensor<4096x3072xbf16>) -> tensor<4096x3072xbf16>
    return %z : tensor<4096x3072xbf16>
  }
  func.func private @behind(%x0: tensor<4096x3072xbf16>, %x1: tensor<4096x3072xbf16>, %o: tensor<4096x3072xbf16>) -> tensor<4096x3072xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "4096", d1 = "3072"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %v0 = "fuse.load"(%x0, %true, %zero) {at = ["d0", "d1"]} : (tensor<4096x3072xbf16>, i1, bf16) -> bf16
    %v1 = "fuse.load"(%x1, %true, %zero) {at = ["d0", "d1"]} : (tensor<4096x3072xbf16>, i1, bf16) -> bf16
    %w = arith.mulf %v0, %v1 : bf16
    %r = "fuse.store"(%o, %w, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<4096x3072xbf16>, bf16, i1) -> tensor<4096x3072xbf16>
    return %r : tensor<4096x3072xbf16>
  }
  func.func private @multiplied(tensor<4096x768xbf16>, tensor<768x3072xbf16>) -> tensor<4096x3072xbf16> attributes {fuse.extern = "aten.mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
}

// -----

// Must not fire: sums of rows read what is computed behind the product.  Both are one kernel beside the library's call, so
// no launch is saved.
// CHECK: missed: choose-libraries: library, {{.*}}@summed_behind is the library's: a kernel is estimated to take longer
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<4096x768xbf16>, %w: tensor<768x768xbf16>, %m: tensor<4096x768xbf16>) -> tensor<4096xbf16> {
    %y = call @summed_behind(%x, %w) : (tensor<4096x768xbf16>, tensor<768x768xbf16>) -> tensor<4096x768xbf16>
    %e1 = "fuse.empty"() {syms = []} : () -> tensor<4096x768xbf16>
    %z = call @behind(%y, %m, %e1) : (tensor<4096x768xbf16>, tensor<4096x768xbf16>, tensor<4096x768xbf16>) -> tensor<4096x768xbf16>
    %e2 = "fuse.empty"() {syms = []} : () -> tensor<4096xbf16>
    %s = call @rows(%z, %e2) : (tensor<4096x768xbf16>, tensor<4096xbf16>) -> tensor<4096xbf16>
    return %s : tensor<4096xbf16>
  }
  func.func private @behind(%x0: tensor<4096x768xbf16>, %x1: tensor<4096x768xbf16>, %o: tensor<4096x768xbf16>) -> tensor<4096x768xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "4096", d1 = "768"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %v0 = "fuse.load"(%x0, %true, %zero) {at = ["d0", "d1"]} : (tensor<4096x768xbf16>, i1, bf16) -> bf16
    %v1 = "fuse.load"(%x1, %true, %zero) {at = ["d0", "d1"]} : (tensor<4096x768xbf16>, i1, bf16) -> bf16
    %w = arith.mulf %v0, %v1 : bf16
    %r = "fuse.store"(%o, %w, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<4096x768xbf16>, bf16, i1) -> tensor<4096x768xbf16>
    return %r : tensor<4096x768xbf16>
  }
  func.func private @rows(%x: tensor<4096x768xbf16>, %o: tensor<4096xbf16>) -> tensor<4096xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "4096", d1 = "768"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<4096x768xbf16>, i1, bf16) -> bf16
    %u = arith.extf %v : bf16 to f32
    %t = "fuse.reduce"(%u) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %w = arith.truncf %t : f32 to bf16
    %r = "fuse.store"(%o, %w, %true) {at = ["d0"], mode = "set"} : (tensor<4096xbf16>, bf16, i1) -> tensor<4096xbf16>
    return %r : tensor<4096xbf16>
  }
  func.func private @summed_behind(tensor<4096x768xbf16>, tensor<768x768xbf16>) -> tensor<4096x768xbf16> attributes {fuse.extern = "aten.mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
}

// -----

// Must not fire: the function in front of the product would be computed once for each block of columns.
// CHECK: missed: choose-libraries: library, {{.*}}@function_in_front is the library's: a kernel is estimated to take longer
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<1536x3072xbf16>, %w: tensor<3072x768xbf16>) -> tensor<1536x768xbf16> {
    %e0 = "fuse.empty"() {syms = []} : () -> tensor<1536x3072xbf16>
    %g = call @front(%x, %e0) : (tensor<1536x3072xbf16>, tensor<1536x3072xbf16>) -> tensor<1536x3072xbf16>
    %y = call @function_in_front(%g, %w) : (tensor<1536x3072xbf16>, tensor<3072x768xbf16>) -> tensor<1536x768xbf16>
    return %y : tensor<1536x768xbf16>
  }
  func.func private @front(%x0: tensor<1536x3072xbf16>, %o: tensor<1536x3072xbf16>) -> tensor<1536x3072xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "1536", d1 = "3072"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %v0 = "fuse.load"(%x0, %true, %zero) {at = ["d0", "d1"]} : (tensor<1536x3072xbf16>, i1, bf16) -> bf16
    %f = arith.extf %v0 : bf16 to f32
    %g = math.erf %f : f32
    %w = arith.truncf %g : f32 to bf16
    %r = "fuse.store"(%o, %w, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<1536x3072xbf16>, bf16, i1) -> tensor<1536x3072xbf16>
    return %r : tensor<1536x3072xbf16>
  }
  func.func private @function_in_front(tensor<1536x3072xbf16>, tensor<3072x768xbf16>) -> tensor<1536x768xbf16> attributes {fuse.extern = "aten.mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
}

// -----

// The same with a cheap operation in front.
// CHECK: passed: choose-libraries: kernel, {{.*}}@maximum_in_front becomes a kernel
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<25088x128xbf16>, %w: tensor<128x128xbf16>) -> tensor<25088x128xbf16> {
    %e0 = "fuse.empty"() {syms = []} : () -> tensor<25088x128xbf16>
    %g = call @front(%x, %e0) : (tensor<25088x128xbf16>, tensor<25088x128xbf16>) -> tensor<25088x128xbf16>
    %y = call @maximum_in_front(%g, %w) : (tensor<25088x128xbf16>, tensor<128x128xbf16>) -> tensor<25088x128xbf16>
    return %y : tensor<25088x128xbf16>
  }
  func.func private @front(%x0: tensor<25088x128xbf16>, %o: tensor<25088x128xbf16>) -> tensor<25088x128xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "25088", d1 = "128"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %v0 = "fuse.load"(%x0, %true, %zero) {at = ["d0", "d1"]} : (tensor<25088x128xbf16>, i1, bf16) -> bf16
    %w = arith.maximumf %v0, %zero : bf16
    %r = "fuse.store"(%o, %w, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<25088x128xbf16>, bf16, i1) -> tensor<25088x128xbf16>
    return %r : tensor<25088x128xbf16>
  }
  func.func private @maximum_in_front(tensor<25088x128xbf16>, tensor<128x128xbf16>) -> tensor<25088x128xbf16> attributes {fuse.extern = "aten.mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
}

// -----

// Must not fire: both products read a view of the weights that @widen makes, which are stored for them.
// CHECK: missed: choose-libraries: library, {{.*}}@read_by_two is the library's
// CHECK: missed: choose-libraries: library, {{.*}}@read_by_two is the library's
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<64x4096xbf16>, %q: tensor<2x2048x4096xi8>) -> (tensor<64x4096xbf16>, tensor<64x4096xbf16>) {
    %e = "fuse.empty"() {syms = []} : () -> tensor<2x2048x4096xbf16>
    %w = call @widen(%q, %e) : (tensor<2x2048x4096xi8>, tensor<2x2048x4096xbf16>) -> tensor<2x2048x4096xbf16>
    %v = "fuse.view"(%w) {map = ["v0 floordiv 2048", "v0 mod 2048", "v1"], syms = []} : (tensor<2x2048x4096xbf16>) -> tensor<4096x4096xbf16>
    %y = call @read_by_two(%x, %v) : (tensor<64x4096xbf16>, tensor<4096x4096xbf16>) -> tensor<64x4096xbf16>
    %z = call @read_by_two(%y, %v) : (tensor<64x4096xbf16>, tensor<4096x4096xbf16>) -> tensor<64x4096xbf16>
    return %y, %z : tensor<64x4096xbf16>, tensor<64x4096xbf16>
  }
  func.func private @widen(%q: tensor<2x2048x4096xi8>, %o: tensor<2x2048x4096xbf16>) -> tensor<2x2048x4096xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "2", d1 = "2048", d2 = "4096"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0 : i8
    %a = "fuse.load"(%q, %true, %zero) {at = ["d0", "d1", "d2"]} : (tensor<2x2048x4096xi8>, i1, i8) -> i8
    %b = arith.sitofp %a : i8 to bf16
    %r = "fuse.store"(%o, %b, %true) {at = ["d0", "d1", "d2"], mode = "set"} : (tensor<2x2048x4096xbf16>, bf16, i1) -> tensor<2x2048x4096xbf16>
    return %r : tensor<2x2048x4096xbf16>
  }
  func.func private @read_by_two(tensor<64x4096xbf16>, tensor<4096x4096xbf16>) -> tensor<64x4096xbf16> attributes {fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.extern = "aten.mm.default", fuse.kwargs = {}}
}

// -----

// Two tensors side by side, each a multiple of a block: the kernel reads them where they are.
// CHECK: passed: choose-libraries: kernel, {{.*}}@side_by_side becomes a kernel
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<16384x1024xbf16>, %y: tensor<16384x512xbf16>, %w: tensor<1536x1024xbf16>) -> tensor<16384x1024xbf16> {
    %e = "fuse.empty"() {syms = []} : () -> tensor<16384x1536xbf16>
    %c = call @cat(%x, %y, %e) : (tensor<16384x1024xbf16>, tensor<16384x512xbf16>, tensor<16384x1536xbf16>) -> tensor<16384x1536xbf16>
    %z = call @side_by_side(%c, %w) : (tensor<16384x1536xbf16>, tensor<1536x1024xbf16>) -> tensor<16384x1024xbf16>
    return %z : tensor<16384x1024xbf16>
  }
  func.func private @cat(%x0: tensor<16384x1024xbf16>, %x1: tensor<16384x512xbf16>, %o: tensor<16384x1536xbf16>) -> tensor<16384x1536xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "16384", d1 = "1536"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %c0 = arith.constant 0 : i64
    %i = "fuse.index"() {expr = "d1 - 1024"} : () -> i64
    %below = arith.cmpi slt, %i, %c0 : i64
    %above = arith.cmpi sge, %i, %c0 : i64
    %a = "fuse.load"(%x0, %below, %zero) {at = ["d0", "d1"]} : (tensor<16384x1024xbf16>, i1, bf16) -> bf16
    %b = "fuse.load"(%x1, %above, %zero) {at = ["d0", "d1 - 1024"]} : (tensor<16384x512xbf16>, i1, bf16) -> bf16
    %v = arith.select %below, %a, %b : bf16
    %r = "fuse.store"(%o, %v, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<16384x1536xbf16>, bf16, i1) -> tensor<16384x1536xbf16>
    return %r : tensor<16384x1536xbf16>
  }
  func.func private @side_by_side(tensor<16384x1536xbf16>, tensor<1536x1024xbf16>) -> tensor<16384x1024xbf16> attributes {fuse.extern = "aten.mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
}

// -----

// Must not fire: a block of what is summed would read both tensors.
// CHECK: missed: choose-libraries: pieces, {{.*}}@cut_in_a_block is the library's: what is concatenated in front of the product is computed, or no multiple of blocks
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<16384x1000xbf16>, %y: tensor<16384x536xbf16>, %w: tensor<1536x1024xbf16>) -> tensor<16384x1024xbf16> {
    %e = "fuse.empty"() {syms = []} : () -> tensor<16384x1536xbf16>
    %c = call @cat(%x, %y, %e) : (tensor<16384x1000xbf16>, tensor<16384x536xbf16>, tensor<16384x1536xbf16>) -> tensor<16384x1536xbf16>
    %z = call @cut_in_a_block(%c, %w) : (tensor<16384x1536xbf16>, tensor<1536x1024xbf16>) -> tensor<16384x1024xbf16>
    return %z : tensor<16384x1024xbf16>
  }
  func.func private @cat(%x0: tensor<16384x1000xbf16>, %x1: tensor<16384x536xbf16>, %o: tensor<16384x1536xbf16>) -> tensor<16384x1536xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "16384", d1 = "1536"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %c0 = arith.constant 0 : i64
    %i = "fuse.index"() {expr = "d1 - 1000"} : () -> i64
    %below = arith.cmpi slt, %i, %c0 : i64
    %above = arith.cmpi sge, %i, %c0 : i64
    %a = "fuse.load"(%x0, %below, %zero) {at = ["d0", "d1"]} : (tensor<16384x1000xbf16>, i1, bf16) -> bf16
    %b = "fuse.load"(%x1, %above, %zero) {at = ["d0", "d1 - 1000"]} : (tensor<16384x536xbf16>, i1, bf16) -> bf16
    %v = arith.select %below, %a, %b : bf16
    %r = "fuse.store"(%o, %v, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<16384x1536xbf16>, bf16, i1) -> tensor<16384x1536xbf16>
    return %r : tensor<16384x1536xbf16>
  }
  func.func private @cut_in_a_block(tensor<16384x1536xbf16>, tensor<1536x1024xbf16>) -> tensor<16384x1024xbf16> attributes {fuse.extern = "aten.mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
}

// -----

// Must not fire: one of the tensors is computed, so that values would be selected and not addresses.
// CHECK: missed: choose-libraries: pieces, {{.*}}@one_computed is the library's: what is concatenated
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<16384x1024xbf16>, %y: tensor<16384x512xbf16>, %w: tensor<1536x1024xbf16>) -> tensor<16384x1024xbf16> {
    %f = "fuse.empty"() {syms = []} : () -> tensor<16384x1024xbf16>
    %x1 = call @relu(%x, %f) : (tensor<16384x1024xbf16>, tensor<16384x1024xbf16>) -> tensor<16384x1024xbf16>
    %e = "fuse.empty"() {syms = []} : () -> tensor<16384x1536xbf16>
    %c = call @cat(%x1, %y, %e) : (tensor<16384x1024xbf16>, tensor<16384x512xbf16>, tensor<16384x1536xbf16>) -> tensor<16384x1536xbf16>
    %z = call @one_computed(%c, %w) : (tensor<16384x1536xbf16>, tensor<1536x1024xbf16>) -> tensor<16384x1024xbf16>
    return %z : tensor<16384x1024xbf16>
  }
  func.func private @relu(%x0: tensor<16384x1024xbf16>, %o: tensor<16384x1024xbf16>) -> tensor<16384x1024xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "16384", d1 = "1024"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %v = "fuse.load"(%x0, %true, %zero) {at = ["d0", "d1"]} : (tensor<16384x1024xbf16>, i1, bf16) -> bf16
    %w = arith.maximumf %v, %zero : bf16
    %r = "fuse.store"(%o, %w, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<16384x1024xbf16>, bf16, i1) -> tensor<16384x1024xbf16>
    return %r : tensor<16384x1024xbf16>
  }
  func.func private @cat(%x0: tensor<16384x1024xbf16>, %x1: tensor<16384x512xbf16>, %o: tensor<16384x1536xbf16>) -> tensor<16384x1536xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "16384", d1 = "1536"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %c0 = arith.constant 0 : i64
    %i = "fuse.index"() {expr = "d1 - 1024"} : () -> i64
    %below = arith.cmpi slt, %i, %c0 : i64
    %above = arith.cmpi sge, %i, %c0 : i64
    %a = "fuse.load"(%x0, %below, %zero) {at = ["d0", "d1"]} : (tensor<16384x1024xbf16>, i1, bf16) -> bf16
    %b = "fuse.load"(%x1, %above, %zero) {at = ["d0", "d1 - 1024"]} : (tensor<16384x512xbf16>, i1, bf16) -> bf16
    %v = arith.select %below, %a, %b : bf16
    %r = "fuse.store"(%o, %v, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<16384x1536xbf16>, bf16, i1) -> tensor<16384x1536xbf16>
    return %r : tensor<16384x1536xbf16>
  }
  func.func private @one_computed(tensor<16384x1536xbf16>, tensor<1536x1024xbf16>) -> tensor<16384x1024xbf16> attributes {fuse.extern = "aten.mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
}

// -----

// Two tensors as large as the result are read behind a short sum.
// CHECK: passed: choose-libraries: kernel, {{.*}}@short_sum becomes a kernel
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<131072x256xbf16>, %w: tensor<256x64xbf16>, %m: tensor<131072x64xbf16>, %n: tensor<131072x64xbf16>) -> tensor<131072x64xbf16> {
    %y = call @short_sum(%x, %w) : (tensor<131072x256xbf16>, tensor<256x64xbf16>) -> tensor<131072x64xbf16>
    %e1 = "fuse.empty"() {syms = []} : () -> tensor<131072x64xbf16>
    %z = call @behind(%y, %m, %n, %e1) : (tensor<131072x64xbf16>, tensor<131072x64xbf16>, tensor<131072x64xbf16>, tensor<131072x64xbf16>) -> tensor<131072x64xbf16>
    return %z : tensor<131072x64xbf16>
  }
  func.func private @behind(%x0: tensor<131072x64xbf16>, %x1: tensor<131072x64xbf16>, %x2: tensor<131072x64xbf16>, %o: tensor<131072x64xbf16>) -> tensor<131072x64xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "131072", d1 = "64"}, fuse.ties = array<i64: 3>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %v0 = "fuse.load"(%x0, %true, %zero) {at = ["d0", "d1"]} : (tensor<131072x64xbf16>, i1, bf16) -> bf16
    %v1 = "fuse.load"(%x1, %true, %zero) {at = ["d0", "d1"]} : (tensor<131072x64xbf16>, i1, bf16) -> bf16
    %v2 = "fuse.load"(%x2, %true, %zero) {at = ["d0", "d1"]} : (tensor<131072x64xbf16>, i1, bf16) -> bf16
    %p = arith.mulf %v0, %v1 : bf16
    %s = arith.addf %p, %v2 : bf16
    %r = "fuse.store"(%o, %s, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<131072x64xbf16>, bf16, i1) -> tensor<131072x64xbf16>
    return %r : tensor<131072x64xbf16>
  }
  func.func private @short_sum(tensor<131072x256xbf16>, tensor<256x64xbf16>) -> tensor<131072x64xbf16> attributes {fuse.extern = "aten.mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
}

// -----

// Must not fire: behind a longer sum.
// CHECK: missed: choose-libraries: beside, {{.*}}@longer_sum is the library's: more than one tensor as large as the result is read behind the product
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<131072x1024xbf16>, %w: tensor<1024x64xbf16>, %m: tensor<131072x64xbf16>, %n: tensor<131072x64xbf16>) -> tensor<131072x64xbf16> {
    %y = call @longer_sum(%x, %w) : (tensor<131072x1024xbf16>, tensor<1024x64xbf16>) -> tensor<131072x64xbf16>
    %e1 = "fuse.empty"() {syms = []} : () -> tensor<131072x64xbf16>
    %z = call @behind(%y, %m, %n, %e1) : (tensor<131072x64xbf16>, tensor<131072x64xbf16>, tensor<131072x64xbf16>, tensor<131072x64xbf16>) -> tensor<131072x64xbf16>
    return %z : tensor<131072x64xbf16>
  }
  func.func private @behind(%x0: tensor<131072x64xbf16>, %x1: tensor<131072x64xbf16>, %x2: tensor<131072x64xbf16>, %o: tensor<131072x64xbf16>) -> tensor<131072x64xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "131072", d1 = "64"}, fuse.ties = array<i64: 3>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %v0 = "fuse.load"(%x0, %true, %zero) {at = ["d0", "d1"]} : (tensor<131072x64xbf16>, i1, bf16) -> bf16
    %v1 = "fuse.load"(%x1, %true, %zero) {at = ["d0", "d1"]} : (tensor<131072x64xbf16>, i1, bf16) -> bf16
    %v2 = "fuse.load"(%x2, %true, %zero) {at = ["d0", "d1"]} : (tensor<131072x64xbf16>, i1, bf16) -> bf16
    %p = arith.mulf %v0, %v1 : bf16
    %s = arith.addf %p, %v2 : bf16
    %r = "fuse.store"(%o, %s, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<131072x64xbf16>, bf16, i1) -> tensor<131072x64xbf16>
    return %r : tensor<131072x64xbf16>
  }
  func.func private @longer_sum(tensor<131072x1024xbf16>, tensor<1024x64xbf16>) -> tensor<131072x64xbf16> attributes {fuse.extern = "aten.mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
}
