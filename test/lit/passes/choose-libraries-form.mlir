// Calls of ops that may be products, with arguments with which they are no sum of products of two tensors, or which
// the op does not have: torch may take them, so they stay calls, and a remark says why.
// RUN: fuse-opt %s --pass-pipeline="builtin.module(choose-libraries{hardware=h200 products=generated})" --split-input-file | FileCheck %s
// RUN: fuse-opt %s --pass-pipeline="builtin.module(choose-libraries{hardware=h200})" --split-input-file --remarks=text 2>&1 >/dev/null | FileCheck %s --check-prefix=SAID

// Must not fire: a convolution with strides leaves out points.
// CHECK: call @strided(
// SAID: missed: choose-libraries: form: @strided is the library's: expected stride to be ones, got [2, 2] [strided]
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<2x16x7x9xbf16>, %w: tensor<8x16x1x1xbf16>) -> tensor<2x8x4x5xbf16> {
    %y = call @strided(%x, %w) : (tensor<2x16x7x9xbf16>, tensor<8x16x1x1xbf16>) -> tensor<2x8x4x5xbf16>
    return %y : tensor<2x8x4x5xbf16>
  }
  func.func private @strided(tensor<2x16x7x9xbf16>, tensor<8x16x1x1xbf16>) -> tensor<2x8x4x5xbf16> attributes {fuse.extern = "aten.convolution.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>, unit, [2 : i64, 2 : i64], [0 : i64, 0 : i64], [1 : i64, 1 : i64], false, [0 : i64, 0 : i64], 1 : i64], fuse.kwargs = {}}
}


// -----

// Must not fire: one of 3x3 sums over points of the image, too.
// CHECK: call @around(
// SAID: missed: choose-libraries: form: @around is the library's: expected a right factor of n x k x 1 x 1, got 8 x 16 x 3 x 3 [around]
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%a0: tensor<2x16x7x9xbf16>, %a1: tensor<8x16x3x3xbf16>) -> tensor<2x8x5x7xbf16> {
    %y = call @around(%a0, %a1) : (tensor<2x16x7x9xbf16>, tensor<8x16x3x3xbf16>) -> tensor<2x8x5x7xbf16>
    return %y : tensor<2x8x5x7xbf16>
  }
  func.func private @around(tensor<2x16x7x9xbf16>, tensor<8x16x3x3xbf16>) -> tensor<2x8x5x7xbf16> attributes {fuse.extern = "aten.convolution.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>, unit, [1, 1], [0, 0], [1, 1], false, [0, 0], 1 : i64], fuse.kwargs = {}}
}

// -----

// Must not fire: each group sums over its own channels.
// CHECK: call @grouped(
// SAID: missed: choose-libraries: form: @grouped is the library's: expected groups to be 1, got 2 : i64 [grouped]
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%a0: tensor<2x16x7x9xbf16>, %a1: tensor<8x8x1x1xbf16>) -> tensor<2x8x7x9xbf16> {
    %y = call @grouped(%a0, %a1) : (tensor<2x16x7x9xbf16>, tensor<8x8x1x1xbf16>) -> tensor<2x8x7x9xbf16>
    return %y : tensor<2x8x7x9xbf16>
  }
  func.func private @grouped(tensor<2x16x7x9xbf16>, tensor<8x8x1x1xbf16>) -> tensor<2x8x7x9xbf16> attributes {fuse.extern = "aten.convolution.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>, unit, [1, 1], [0, 0], [1, 1], false, [0, 0], 2 : i64], fuse.kwargs = {}}
}

// -----

// Must not fire: a factor that is not known when compiling.
// CHECK: call @unknown(
// SAID: missed: choose-libraries: form: @unknown is the library's: expected alpha to be a number when compiling, got an operand [unknown]
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%a0: tensor<48xbf16>, %a1: tensor<64x32xbf16>, %a2: tensor<32x48xbf16>, %a3: index) -> tensor<64x48xbf16> {
    %y = call @unknown(%a0, %a1, %a2, %a3) : (tensor<48xbf16>, tensor<64x32xbf16>, tensor<32x48xbf16>, index) -> tensor<64x48xbf16>
    return %y : tensor<64x48xbf16>
  }
  func.func private @unknown(tensor<48xbf16>, tensor<64x32xbf16>, tensor<32x48xbf16>, index) -> tensor<64x48xbf16> attributes {fuse.extern = "aten.addmm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>, #fuse.arg<2 : i64>], fuse.kwargs = {alpha = #fuse.arg<3 : i64>}}
}

// -----

// Must not fire: an argument that the op does not have, in this version of torch.
// CHECK: call @other_name(
// SAID: missed: choose-libraries: form: @other_name is the library's: expected further arguments of aten.addmm.default to be beta, alpha, got gamma [other_name]
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%a0: tensor<48xbf16>, %a1: tensor<64x32xbf16>, %a2: tensor<32x48xbf16>) -> tensor<64x48xbf16> {
    %y = call @other_name(%a0, %a1, %a2) : (tensor<48xbf16>, tensor<64x32xbf16>, tensor<32x48xbf16>) -> tensor<64x48xbf16>
    return %y : tensor<64x48xbf16>
  }
  func.func private @other_name(tensor<48xbf16>, tensor<64x32xbf16>, tensor<32x48xbf16>) -> tensor<64x48xbf16> attributes {fuse.extern = "aten.addmm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>, #fuse.arg<2 : i64>], fuse.kwargs = {gamma = 2.0 : f64}}
}

// -----

// Must not fire: an argument that is there twice.
// CHECK: call @twice(
// SAID: missed: choose-libraries: form: @twice is the library's: expected further arguments of aten.mm.default to be none, got mat2 [twice]
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%a0: tensor<64x32xbf16>, %a1: tensor<32x48xbf16>) -> tensor<64x48xbf16> {
    %y = call @twice(%a0, %a1) : (tensor<64x32xbf16>, tensor<32x48xbf16>) -> tensor<64x48xbf16>
    return %y : tensor<64x48xbf16>
  }
  func.func private @twice(tensor<64x32xbf16>, tensor<32x48xbf16>) -> tensor<64x48xbf16> attributes {fuse.extern = "aten.mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {mat2 = #fuse.arg<1 : i64>}}
}

// -----

// Must not fire: one factor more than the op takes.
// CHECK: call @three(
// SAID: missed: choose-libraries: form: @three is the library's: expected aten.mm.default to take at most 2 arguments, got 3 [three]
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%a0: tensor<64x32xbf16>, %a1: tensor<32x48xbf16>, %a2: tensor<48xbf16>) -> tensor<64x48xbf16> {
    %y = call @three(%a0, %a1, %a2) : (tensor<64x32xbf16>, tensor<32x48xbf16>, tensor<48xbf16>) -> tensor<64x48xbf16>
    return %y : tensor<64x48xbf16>
  }
  func.func private @three(tensor<64x32xbf16>, tensor<32x48xbf16>, tensor<48xbf16>) -> tensor<64x48xbf16> attributes {fuse.extern = "aten.mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>, #fuse.arg<2 : i64>], fuse.kwargs = {}}
}

// -----

// Must not fire: scales of blocks along the sum.
// CHECK: call @blocks(
// SAID: missed: choose-libraries: form: @blocks is the library's: expected scale_a to have one f32, or one for each row or column, got 64 x 2 x f32 [blocks]
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%a0: tensor<64x32xf8E4M3FN>, %a1: tensor<32x48xf8E4M3FN, #fuse.layout<"32,48", "1,32", "0", "">>, %a2: tensor<64x2xf32>, %a3: tensor<2x48xf32>) -> tensor<64x48xbf16> {
    %y = call @blocks(%a0, %a1, %a2, %a3) : (tensor<64x32xf8E4M3FN>, tensor<32x48xf8E4M3FN, #fuse.layout<"32,48", "1,32", "0", "">>, tensor<64x2xf32>, tensor<2x48xf32>) -> tensor<64x48xbf16>
    return %y : tensor<64x48xbf16>
  }
  func.func private @blocks(tensor<64x32xf8E4M3FN>, tensor<32x48xf8E4M3FN, #fuse.layout<"32,48", "1,32", "0", "">>, tensor<64x2xf32>, tensor<2x48xf32>) -> tensor<64x48xbf16> attributes {fuse.extern = "aten._scaled_mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>, #fuse.arg<2 : i64>, #fuse.arg<3 : i64>], fuse.kwargs = {}}
}

// -----

// Must not fire: a scale for every second row.
// CHECK: call @second_rows(
// SAID: missed: choose-libraries: form: @second_rows is the library's: expected scale_a to have one f32, or one for each row or column, got 32 x 1 x f32 [second_rows]
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%a0: tensor<64x32xf8E4M3FN>, %a1: tensor<32x48xf8E4M3FN, #fuse.layout<"32,48", "1,32", "0", "">>, %a2: tensor<32x1xf32>, %a3: tensor<1xf32>) -> tensor<64x48xbf16> {
    %y = call @second_rows(%a0, %a1, %a2, %a3) : (tensor<64x32xf8E4M3FN>, tensor<32x48xf8E4M3FN, #fuse.layout<"32,48", "1,32", "0", "">>, tensor<32x1xf32>, tensor<1xf32>) -> tensor<64x48xbf16>
    return %y : tensor<64x48xbf16>
  }
  func.func private @second_rows(tensor<64x32xf8E4M3FN>, tensor<32x48xf8E4M3FN, #fuse.layout<"32,48", "1,32", "0", "">>, tensor<32x1xf32>, tensor<1xf32>) -> tensor<64x48xbf16> attributes {fuse.extern = "aten._scaled_mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>, #fuse.arg<2 : i64>, #fuse.arg<3 : i64>], fuse.kwargs = {}}
}

// -----

// Must not fire: a scale for each element of the sum.
// CHECK: call @summed(
// SAID: missed: choose-libraries: form: @summed is the library's: expected scale_a to have one f32, or one for each row or column, got 1 x 32 x f32 [summed]
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%a0: tensor<64x32xf8E4M3FN>, %a1: tensor<32x48xf8E4M3FN, #fuse.layout<"32,48", "1,32", "0", "">>, %a2: tensor<1x32xf32>, %a3: tensor<1xf32>) -> tensor<64x48xbf16> {
    %y = call @summed(%a0, %a1, %a2, %a3) : (tensor<64x32xf8E4M3FN>, tensor<32x48xf8E4M3FN, #fuse.layout<"32,48", "1,32", "0", "">>, tensor<1x32xf32>, tensor<1xf32>) -> tensor<64x48xbf16>
    return %y : tensor<64x48xbf16>
  }
  func.func private @summed(tensor<64x32xf8E4M3FN>, tensor<32x48xf8E4M3FN, #fuse.layout<"32,48", "1,32", "0", "">>, tensor<1x32xf32>, tensor<1xf32>) -> tensor<64x48xbf16> attributes {fuse.extern = "aten._scaled_mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>, #fuse.arg<2 : i64>, #fuse.arg<3 : i64>], fuse.kwargs = {}}
}

// -----

// Must not fire: scales of another type.
// CHECK: call @half(
// SAID: missed: choose-libraries: form: @half is the library's: expected scale_b to have one f32, or one for each row or column, got 1 x f16 [half]
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%a0: tensor<64x32xf8E4M3FN>, %a1: tensor<32x48xf8E4M3FN, #fuse.layout<"32,48", "1,32", "0", "">>, %a2: tensor<1xf32>, %a3: tensor<1xf16>) -> tensor<64x48xbf16> {
    %y = call @half(%a0, %a1, %a2, %a3) : (tensor<64x32xf8E4M3FN>, tensor<32x48xf8E4M3FN, #fuse.layout<"32,48", "1,32", "0", "">>, tensor<1xf32>, tensor<1xf16>) -> tensor<64x48xbf16>
    return %y : tensor<64x48xbf16>
  }
  func.func private @half(tensor<64x32xf8E4M3FN>, tensor<32x48xf8E4M3FN, #fuse.layout<"32,48", "1,32", "0", "">>, tensor<1xf32>, tensor<1xf16>) -> tensor<64x48xbf16> attributes {fuse.extern = "aten._scaled_mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>, #fuse.arg<2 : i64>, #fuse.arg<3 : i64>], fuse.kwargs = {}}
}

// -----

// Must not fire: a result that is scaled.
// CHECK: call @result(
// SAID: missed: choose-libraries: form: @result is the library's: expected scale_result to be None, got #fuse.arg<4 : i64> [result]
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%a0: tensor<64x32xf8E4M3FN>, %a1: tensor<32x48xf8E4M3FN, #fuse.layout<"32,48", "1,32", "0", "">>, %a2: tensor<1xf32>, %a3: tensor<1xf32>, %a4: tensor<1xf32>) -> tensor<64x48xbf16> {
    %y = call @result(%a0, %a1, %a2, %a3, %a4) : (tensor<64x32xf8E4M3FN>, tensor<32x48xf8E4M3FN, #fuse.layout<"32,48", "1,32", "0", "">>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<64x48xbf16>
    return %y : tensor<64x48xbf16>
  }
  func.func private @result(tensor<64x32xf8E4M3FN>, tensor<32x48xf8E4M3FN, #fuse.layout<"32,48", "1,32", "0", "">>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<64x48xbf16> attributes {fuse.extern = "aten._scaled_mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>, #fuse.arg<2 : i64>, #fuse.arg<3 : i64>, unit, #fuse.arg<4 : i64>], fuse.kwargs = {}}
}

// -----

// Must not fire: torch refuses a factor that the elements do not hold, when it runs.
// CHECK: call @large(
// SAID: missed: choose-libraries: number: @large is the library's: alpha is 3000000000, which is no number of i32 [large]
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%a0: tensor<48xi32>, %a1: tensor<64x32xi32>, %a2: tensor<32x48xi32>) -> tensor<64x48xi32> {
    %y = call @large(%a0, %a1, %a2) : (tensor<48xi32>, tensor<64x32xi32>, tensor<32x48xi32>) -> tensor<64x48xi32>
    return %y : tensor<64x48xi32>
  }
  func.func private @large(tensor<48xi32>, tensor<64x32xi32>, tensor<32x48xi32>) -> tensor<64x48xi32> attributes {fuse.extern = "aten.addmm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>, #fuse.arg<2 : i64>], fuse.kwargs = {alpha = 3000000000 : i64}}
}

// -----

// Must not fire: nor an infinite one.
// CHECK: call @endless(
// SAID: missed: choose-libraries: number: @endless is the library's: beta is inf, which is no number of i32 [endless]
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%a0: tensor<48xi32>, %a1: tensor<64x32xi32>, %a2: tensor<32x48xi32>) -> tensor<64x48xi32> {
    %y = call @endless(%a0, %a1, %a2) : (tensor<48xi32>, tensor<64x32xi32>, tensor<32x48xi32>) -> tensor<64x48xi32>
    return %y : tensor<64x48xi32>
  }
  func.func private @endless(tensor<48xi32>, tensor<64x32xi32>, tensor<32x48xi32>) -> tensor<64x48xi32> attributes {fuse.extern = "aten.addmm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>, #fuse.arg<2 : i64>], fuse.kwargs = {beta = 0x7FF0000000000000 : f64}}
}

// -----

// A number in place of a truth value is one, and a truth value in place of a number.
// CHECK: call @one_kernel(
// CHECK: func.func private @one_kernel
// CHECK: math.tanh
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%a0: tensor<48xbf16>, %a1: tensor<64x32xbf16>, %a2: tensor<32x48xbf16>) -> tensor<64x48xbf16> {
    %y = call @one(%a0, %a1, %a2) : (tensor<48xbf16>, tensor<64x32xbf16>, tensor<32x48xbf16>) -> tensor<64x48xbf16>
    return %y : tensor<64x48xbf16>
  }
  func.func private @one(tensor<48xbf16>, tensor<64x32xbf16>, tensor<32x48xbf16>) -> tensor<64x48xbf16> attributes {fuse.extern = "aten._addmm_activation.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>, #fuse.arg<2 : i64>], fuse.kwargs = {alpha = true, use_gelu = 1 : i64}}
}
