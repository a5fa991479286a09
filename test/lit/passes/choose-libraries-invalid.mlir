// RUN: fuse-opt %s --pass-pipeline="builtin.module(choose-libraries)" --split-input-file --verify-diagnostics
// RUN: not fuse-opt %s --pass-pipeline="builtin.module(choose-libraries{products=mine})" --split-input-file 2>&1 | FileCheck %s
// CHECK: error: option 'products' of pass 'choose-libraries' takes auto or library or generated, got 'mine'
// RUN: not fuse-opt %s --pass-pipeline="builtin.module(choose-libraries{tensor-cores=mine})" --split-input-file 2>&1 | FileCheck %s --check-prefix=CORES
// CORES: error: option 'tensor-cores' of pass 'choose-libraries' takes none or all, got 'mine'

// Bad input: shapes that do not match.
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<1x8xbf16>, %w: tensor<9x4xbf16>) -> tensor<1x4xbf16> {
    // expected-error@+1 {{choose-libraries: expected m x k times k x n to be m x n, got 1 x 8 times 9 x 4 to be 1 x 4}}
    %y = call @mm(%x, %w) : (tensor<1x8xbf16>, tensor<9x4xbf16>) -> tensor<1x4xbf16>
    return %y : tensor<1x4xbf16>
  }
  func.func private @mm(tensor<1x8xbf16>, tensor<9x4xbf16>) -> tensor<1x4xbf16> attributes {fuse.extern = "aten.mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
}

// -----

// Bad input: what is added does not broadcast.
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%c: tensor<3xbf16>, %x: tensor<1x8xbf16>, %w: tensor<8x4xbf16>) -> tensor<1x4xbf16> {
    // expected-error@+1 {{choose-libraries: expected what is added to broadcast to the result, got 3}}
    %y = call @added(%c, %x, %w) : (tensor<3xbf16>, tensor<1x8xbf16>, tensor<8x4xbf16>) -> tensor<1x4xbf16>
    return %y : tensor<1x4xbf16>
  }
  func.func private @added(tensor<3xbf16>, tensor<1x8xbf16>, tensor<8x4xbf16>) -> tensor<1x4xbf16> attributes {fuse.extern = "aten.addmm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>, #fuse.arg<2 : i64>], fuse.kwargs = {}}
}

// -----

// Bad input: numbers of 16 bits have no TF32.
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<1x8xbf16>, %w: tensor<8x4xbf16>) -> tensor<1x4xbf16> {
    // expected-error@+1 {{choose-libraries: expected fuse.precision 'tf32' on f32 alone, got bf16}}
    %y = call @mm(%x, %w) : (tensor<1x8xbf16>, tensor<8x4xbf16>) -> tensor<1x4xbf16>
    return %y : tensor<1x4xbf16>
  }
  func.func private @mm(tensor<1x8xbf16>, tensor<8x4xbf16>) -> tensor<1x4xbf16> attributes {fuse.extern = "aten.mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}, fuse.precision = "tf32"}
}

// -----

// Bad input: batches of different lengths.
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<3x1x8xbf16>, %w: tensor<2x8x4xbf16>) -> tensor<3x1x4xbf16> {
    // expected-error@+1 {{choose-libraries: expected b x m x k times b x k x n to be b x m x n, got 3 x 1 x 8 times 2 x 8 x 4 to be 3 x 1 x 4}}
    %y = call @bmm(%x, %w) : (tensor<3x1x8xbf16>, tensor<2x8x4xbf16>) -> tensor<3x1x4xbf16>
    return %y : tensor<3x1x4xbf16>
  }
  func.func private @bmm(tensor<3x1x8xbf16>, tensor<2x8x4xbf16>) -> tensor<3x1x4xbf16> attributes {fuse.extern = "aten.bmm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
}

// -----

// Bad input: a factor that is no matrix.
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<8xbf16>, %w: tensor<8x4xbf16>) -> tensor<4xbf16> {
    // expected-error@+1 {{choose-libraries: expected m x k times k x n to be m x n, got 8 times 8 x 4 to be 4}}
    %y = call @mm(%x, %w) : (tensor<8xbf16>, tensor<8x4xbf16>) -> tensor<4xbf16>
    return %y : tensor<4xbf16>
  }
  func.func private @mm(tensor<8xbf16>, tensor<8x4xbf16>) -> tensor<4xbf16> attributes {fuse.extern = "aten.mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
}

// -----

// Bad input: sizes of symbols that are different whatever the symbols are.
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%s0: index {fuse.sym = "s0"}, %x: tensor<4x?xbf16, #fuse.layout<"4,s0", "s0,1", "0", "">>, %w: tensor<?x8xbf16, #fuse.layout<"s0 + 1,8", "8,1", "0", "">>) -> tensor<4x8xbf16> {
    // expected-error@+1 {{choose-libraries: expected m x k times k x n to be m x n, got 4 x s0 times s0 + 1 x 8 to be 4 x 8}}
    %y = call @mm(%x, %w) : (tensor<4x?xbf16, #fuse.layout<"4,s0", "s0,1", "0", "">>, tensor<?x8xbf16, #fuse.layout<"s0 + 1,8", "8,1", "0", "">>) -> tensor<4x8xbf16>
    return %y : tensor<4x8xbf16>
  }
  func.func private @mm(tensor<4x?xbf16, #fuse.layout<"4,s0", "s0,1", "0", "">>, tensor<?x8xbf16, #fuse.layout<"s0 + 1,8", "8,1", "0", "">>) -> tensor<4x8xbf16> attributes {fuse.extern = "aten.mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
}

// -----

// Bad input: a factor that is a text.
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%a0: tensor<48xbf16>, %a1: tensor<64x32xbf16>, %a2: tensor<32x48xbf16>) -> tensor<64x48xbf16> {
    // expected-error@+1 {{choose-libraries: expected alpha to be a number, got "two"}}
    %y = call @added(%a0, %a1, %a2) : (tensor<48xbf16>, tensor<64x32xbf16>, tensor<32x48xbf16>) -> tensor<64x48xbf16>
    return %y : tensor<64x48xbf16>
  }
  func.func private @added(tensor<48xbf16>, tensor<64x32xbf16>, tensor<32x48xbf16>) -> tensor<64x48xbf16> attributes {fuse.extern = "aten.addmm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>, #fuse.arg<2 : i64>], fuse.kwargs = {alpha = "two"}}
}

// -----

// Bad input: a truth value that is a text.
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%a0: tensor<48xbf16>, %a1: tensor<64x32xbf16>, %a2: tensor<32x48xbf16>) -> tensor<64x48xbf16> {
    // expected-error@+1 {{choose-libraries: expected use_gelu to be true or false, got "yes"}}
    %y = call @activated(%a0, %a1, %a2) : (tensor<48xbf16>, tensor<64x32xbf16>, tensor<32x48xbf16>) -> tensor<64x48xbf16>
    return %y : tensor<64x48xbf16>
  }
  func.func private @activated(tensor<48xbf16>, tensor<64x32xbf16>, tensor<32x48xbf16>) -> tensor<64x48xbf16> attributes {fuse.extern = "aten._addmm_activation.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>, #fuse.arg<2 : i64>], fuse.kwargs = {use_gelu = "yes"}}
}

// -----

// Bad input: a truth value that is a fraction.
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%a0: tensor<48xbf16>, %a1: tensor<64x32xbf16>, %a2: tensor<32x48xbf16>) -> tensor<64x48xbf16> {
    // expected-error@+1 {{choose-libraries: expected use_gelu to be true or false, got 5.000000e-01 : f64}}
    %y = call @activated(%a0, %a1, %a2) : (tensor<48xbf16>, tensor<64x32xbf16>, tensor<32x48xbf16>) -> tensor<64x48xbf16>
    return %y : tensor<64x48xbf16>
  }
  func.func private @activated(tensor<48xbf16>, tensor<64x32xbf16>, tensor<32x48xbf16>) -> tensor<64x48xbf16> attributes {fuse.extern = "aten._addmm_activation.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>, #fuse.arg<2 : i64>], fuse.kwargs = {use_gelu = 0.5 : f64}}
}

// -----

// Bad input: a number is added.
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%a0: tensor<64x32xbf16>, %a1: tensor<32x48xbf16>) -> tensor<64x48xbf16> {
    // expected-error@+1 {{choose-libraries: expected self to be a tensor, got 5 : i64}}
    %y = call @added(%a0, %a1) : (tensor<64x32xbf16>, tensor<32x48xbf16>) -> tensor<64x48xbf16>
    return %y : tensor<64x48xbf16>
  }
  func.func private @added(tensor<64x32xbf16>, tensor<32x48xbf16>) -> tensor<64x48xbf16> attributes {fuse.extern = "aten.addmm.default", fuse.args = [5 : i64, #fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
}

// -----

// Bad input: nothing is added.
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%a0: tensor<64x32xbf16>, %a1: tensor<32x48xbf16>) -> tensor<64x48xbf16> {
    // expected-error@+1 {{choose-libraries: expected aten.addmm.default to take a tensor as self, got none}}
    %y = call @added(%a0, %a1) : (tensor<64x32xbf16>, tensor<32x48xbf16>) -> tensor<64x48xbf16>
    return %y : tensor<64x48xbf16>
  }
  func.func private @added(tensor<64x32xbf16>, tensor<32x48xbf16>) -> tensor<64x48xbf16> attributes {fuse.extern = "aten.addmm.default", fuse.args = [unit, #fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
}

// -----

// Bad input: a switch that is a number.
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<64x32xf8E4M3FN>, %w: tensor<32x48xf8E4M3FN, #fuse.layout<"32,48", "1,32", "0", "">>, %a: tensor<1xf32>) -> tensor<64x48xbf16> {
    // expected-error@+1 {{choose-libraries: expected use_fast_accum to be true or false, got 5.000000e-01 : f64}}
    %y = call @fast(%x, %w, %a) : (tensor<64x32xf8E4M3FN>, tensor<32x48xf8E4M3FN, #fuse.layout<"32,48", "1,32", "0", "">>, tensor<1xf32>) -> tensor<64x48xbf16>
    return %y : tensor<64x48xbf16>
  }
  func.func private @fast(tensor<64x32xf8E4M3FN>, tensor<32x48xf8E4M3FN, #fuse.layout<"32,48", "1,32", "0", "">>, tensor<1xf32>) -> tensor<64x48xbf16> attributes {fuse.extern = "aten._scaled_mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>, #fuse.arg<2 : i64>, #fuse.arg<2 : i64>], fuse.kwargs = {use_fast_accum = 0.5 : f64}}
}

// -----

// Bad input: more matrices than ends.
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<192x64xbf16>, %w: tensor<4x64x96xbf16>, %o: tensor<3xi32>) -> tensor<192x96xbf16> {
    // expected-error@+1 {{choose-libraries: expected the ends of segments to be 4 x i32, got 3 x i32}}
    %y = call @fewer(%x, %w, %o) : (tensor<192x64xbf16>, tensor<4x64x96xbf16>, tensor<3xi32>) -> tensor<192x96xbf16>
    return %y : tensor<192x96xbf16>
  }
  func.func private @fewer(tensor<192x64xbf16>, tensor<4x64x96xbf16>, tensor<3xi32>) -> tensor<192x96xbf16> attributes {fuse.extern = "aten._grouped_mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>, #fuse.arg<2 : i64>], fuse.kwargs = {}}
}

// -----

// Bad input: ends of another type than torch takes.
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<192x64xbf16>, %w: tensor<4x64x96xbf16>, %o: tensor<4xi64>) -> tensor<192x96xbf16> {
    // expected-error@+1 {{choose-libraries: expected the ends of segments to be 4 x i32, got 4 x i64}}
    %y = call @wide(%x, %w, %o) : (tensor<192x64xbf16>, tensor<4x64x96xbf16>, tensor<4xi64>) -> tensor<192x96xbf16>
    return %y : tensor<192x96xbf16>
  }
  func.func private @wide(tensor<192x64xbf16>, tensor<4x64x96xbf16>, tensor<4xi64>) -> tensor<192x96xbf16> attributes {fuse.extern = "aten._grouped_mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>, #fuse.arg<2 : i64>], fuse.kwargs = {}}
}
