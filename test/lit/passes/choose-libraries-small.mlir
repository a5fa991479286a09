// RUN: fuse-opt %s --pass-pipeline="builtin.module(choose-libraries{hardware=h200})" --split-input-file --remarks=text 2>&1 >/dev/null | FileCheck %s --check-prefix=SAID
// RUN: fuse-opt %s --pass-pipeline="builtin.module(choose-libraries{hardware=h200 tensor-cores=none})" --split-input-file --remarks=text 2>&1 >/dev/null | FileCheck %s --check-prefix=NONE
// RUN: fuse-opt %s --pass-pipeline="builtin.module(choose-libraries{hardware=h200},unroll-reductions,expand-dots)" --split-input-file | FileCheck %s

// A batch of dot products: rows are reduced.
// SAID: passed: choose-libraries: kernel, kernel_us={{.*}}, call_us={{.*}}: @dots becomes a kernel
// NONE: @dots becomes a kernel
// CHECK: func.func private @dots_kernel
// CHECK: "fuse.reduce"({{.*}}kind = "sum", over = ["d1"]
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<262144x1x64xf32>, %w: tensor<262144x64x1xf32>) -> tensor<262144x1x1xf32> {
    %y = call @dots(%x, %w) : (tensor<262144x1x64xf32>, tensor<262144x64x1xf32>) -> tensor<262144x1x1xf32>
    return %y : tensor<262144x1x1xf32>
  }
  func.func private @dots(tensor<262144x1x64xf32>, tensor<262144x64x1xf32>) -> tensor<262144x1x1xf32> attributes {fuse.extern = "aten.bmm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
}

// -----

// A row of each matrix in 16 bits with a float32 result, as scores of one query: rows are reduced, nothing is rounded.
// SAID: passed: choose-libraries: kernel, kernel_us={{.*}}, call_us={{.*}}: @scores becomes a kernel
// NONE: @scores becomes a kernel
// CHECK: func.func private @scores_kernel
// CHECK: "fuse.reduce"({{.*}}kind = "sum", over = ["d2"]
// CHECK-NOT: arith.truncf
// CHECK: return
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%q: tensor<4096x1x128xbf16>, %k: tensor<4096x128x256xbf16, #fuse.layout<"4096,128,256", "32768,1,128", "0", "">>) -> tensor<4096x1x256xf32> {
    %y = call @scores(%q, %k) : (tensor<4096x1x128xbf16>, tensor<4096x128x256xbf16, #fuse.layout<"4096,128,256", "32768,1,128", "0", "">>) -> tensor<4096x1x256xf32>
    return %y : tensor<4096x1x256xf32>
  }
  func.func private @scores(tensor<4096x1x128xbf16>, tensor<4096x128x256xbf16, #fuse.layout<"4096,128,256", "32768,1,128", "0", "">>) -> tensor<4096x1x256xf32> attributes {fuse.extern = "aten.bmm.dtype", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>, #fuse.torch<"dtype:float32">], fuse.kwargs = {}}
}

// -----

// A batch of matrices times vectors.
// SAID: passed: choose-libraries: kernel, kernel_us={{.*}}, call_us={{.*}}: @vectors becomes a kernel
// NONE: @vectors becomes a kernel
// CHECK: func.func private @vectors_kernel
// CHECK: "fuse.reduce"({{.*}}kind = "sum", over = ["d2"]
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<16384x64x64xf32>, %w: tensor<16384x64x1xf32>) -> tensor<16384x64x1xf32> {
    %y = call @vectors(%x, %w) : (tensor<16384x64x64xf32>, tensor<16384x64x1xf32>) -> tensor<16384x64x1xf32>
    return %y : tensor<16384x64x1xf32>
  }
  func.func private @vectors(tensor<16384x64x64xf32>, tensor<16384x64x1xf32>) -> tensor<16384x64x1xf32> attributes {fuse.extern = "aten.bmm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
}

// -----

// Must not fire: as many elements in three matrices, which give most of a GPU nothing to do.
// SAID: missed: choose-libraries: library, kernel_us={{.*}}, call_us={{.*}}: @three is the library's
// CHECK: call @three(
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<3x1x16777216xf32>, %w: tensor<3x16777216x1xf32>) -> tensor<3x1x1xf32> {
    %y = call @three(%x, %w) : (tensor<3x1x16777216xf32>, tensor<3x16777216x1xf32>) -> tensor<3x1x1xf32>
    return %y : tensor<3x1x1xf32>
  }
  func.func private @three(tensor<3x1x16777216xf32>, tensor<3x16777216x1xf32>) -> tensor<3x1x1xf32> attributes {fuse.extern = "aten.bmm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
}

// -----

// Must not fire: sums of unknown length.
// SAID: missed: choose-libraries: sizes, {{.*}}@unknown is the library's: how many elements are summed is not known when compiling
// CHECK: call @unknown(
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<262144x1x?xf32, #fuse.layout<"262144,1,s0", "s0,s0,1", "0", "">>, %w: tensor<262144x?x1xf32, #fuse.layout<"262144,s0,1", "s0,1,1", "0", "">>, %s: index {fuse.sym = "s0", fuse.hint = 64 : i64}) -> tensor<262144x1x1xf32> {
    %y = call @unknown(%x, %w) : (tensor<262144x1x?xf32, #fuse.layout<"262144,1,s0", "s0,s0,1", "0", "">>, tensor<262144x?x1xf32, #fuse.layout<"262144,s0,1", "s0,1,1", "0", "">>) -> tensor<262144x1x1xf32>
    return %y : tensor<262144x1x1xf32>
  }
  func.func private @unknown(tensor<262144x1x?xf32, #fuse.layout<"262144,1,s0", "s0,s0,1", "0", "">>, tensor<262144x?x1xf32, #fuse.layout<"262144,s0,1", "s0,1,1", "0", "">>) -> tensor<262144x1x1xf32> attributes {fuse.extern = "aten.bmm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
}

// -----

// A batch of small matrices, in half precision: multiplied one by one, added up in float32.
// SAID: passed: choose-libraries: kernel, kernel_us={{.*}}, call_us={{.*}}: @matrices becomes a kernel
// NONE: @matrices becomes a kernel
// CHECK: func.func private @matrices_kernel
// CHECK-SAME: fuse.dims = {d0 = "262144", d1 = "8", d2 = "8"}
// CHECK-COUNT-8: arith.mulf %{{.*}} : f32
// CHECK-NOT: fuse.dot
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<262144x8x8xbf16>, %w: tensor<262144x8x8xbf16>) -> tensor<262144x8x8xbf16> {
    %y = call @matrices(%x, %w) : (tensor<262144x8x8xbf16>, tensor<262144x8x8xbf16>) -> tensor<262144x8x8xbf16>
    return %y : tensor<262144x8x8xbf16>
  }
  func.func private @matrices(tensor<262144x8x8xbf16>, tensor<262144x8x8xbf16>) -> tensor<262144x8x8xbf16> attributes {fuse.extern = "aten.bmm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
}

// -----

// Many rows times a small matrix, in float32.  How many does not matter.
// SAID: passed: choose-libraries: kernel, kernel_us={{.*}}, call_us={{.*}}: @rows becomes a kernel
// NONE: @rows becomes a kernel
// CHECK: func.func private @rows_kernel
// CHECK-SAME: fuse.dims = {d0 = "s0", d1 = "8"}
// CHECK-COUNT-8: arith.mulf
// CHECK-NOT: fuse.dot
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<?x8xf32, #fuse.layout<"s0,8", "8,1", "0", "">>, %w: tensor<8x8xf32>, %s: index {fuse.sym = "s0", fuse.hint = 1000000 : i64}) -> tensor<?x8xf32, #fuse.layout<"s0,8", "8,1", "0", "">> {
    %y = call @rows(%x, %w) : (tensor<?x8xf32, #fuse.layout<"s0,8", "8,1", "0", "">>, tensor<8x8xf32>) -> tensor<?x8xf32, #fuse.layout<"s0,8", "8,1", "0", "">>
    return %y : tensor<?x8xf32, #fuse.layout<"s0,8", "8,1", "0", "">>
  }
  func.func private @rows(tensor<?x8xf32, #fuse.layout<"s0,8", "8,1", "0", "">>, tensor<8x8xf32>) -> tensor<?x8xf32, #fuse.layout<"s0,8", "8,1", "0", "">> attributes {fuse.extern = "aten.mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
}

// -----

// The same in half precision, which tensor cores multiply.
// SAID: passed: choose-libraries: kernel, kernel_us={{.*}}, call_us={{.*}}: @halves becomes a kernel
// NONE: missed: choose-libraries: rows, {{.*}}@halves is the library's: 1000000 rows and 8 columns: kernels multiply 1 to 4
// CHECK: func.func private @halves_kernel
// CHECK: "fuse.dot"
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<1000000x8xf16>, %w: tensor<8x8xf16>) -> tensor<1000000x8xf16> {
    %y = call @halves(%x, %w) : (tensor<1000000x8xf16>, tensor<8x8xf16>) -> tensor<1000000x8xf16>
    return %y : tensor<1000000x8xf16>
  }
  func.func private @halves(tensor<1000000x8xf16>, tensor<8x8xf16>) -> tensor<1000000x8xf16> attributes {fuse.extern = "aten.mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
}

// -----

// Larger matrices of half precision times vectors: both read at the speed of memory, and the kernel is ahead.
// SAID: passed: choose-libraries: kernel, kernel_us={{.*}}, call_us={{.*}}: @long becomes a kernel
// CHECK: call @long_kernel(
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<8192x128x128xbf16>, %w: tensor<8192x128x1xbf16>) -> tensor<8192x128x1xbf16> {
    %y = call @long(%x, %w) : (tensor<8192x128x128xbf16>, tensor<8192x128x1xbf16>) -> tensor<8192x128x1xbf16>
    return %y : tensor<8192x128x1xbf16>
  }
  func.func private @long(tensor<8192x128x128xbf16>, tensor<8192x128x1xbf16>) -> tensor<8192x128x1xbf16> attributes {fuse.extern = "aten.bmm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
}

// -----

// Must not fire: shorter ones, of which launches are a larger part.
// SAID: missed: choose-libraries: library, {{.*}}@shorter is the library's: a kernel is estimated to take longer
// CHECK: call @shorter(
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<1024x128x128xbf16>, %w: tensor<1024x128x1xbf16>) -> tensor<1024x128x1xbf16> {
    %y = call @shorter(%x, %w) : (tensor<1024x128x128xbf16>, tensor<1024x128x1xbf16>) -> tensor<1024x128x1xbf16>
    return %y : tensor<1024x128x1xbf16>
  }
  func.func private @shorter(tensor<1024x128x128xbf16>, tensor<1024x128x1xbf16>) -> tensor<1024x128x1xbf16> attributes {fuse.extern = "aten.bmm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
}

// -----

// Must not fire: rows that start at any multiple of 2 bytes.
// SAID: missed: choose-libraries: library, {{.*}}@odd is the library's: a kernel is estimated to take longer
// CHECK: call @odd(
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<8192x129x129xbf16>, %w: tensor<8192x129x1xbf16>) -> tensor<8192x129x1xbf16> {
    %y = call @odd(%x, %w) : (tensor<8192x129x129xbf16>, tensor<8192x129x1xbf16>) -> tensor<8192x129x1xbf16>
    return %y : tensor<8192x129x1xbf16>
  }
  func.func private @odd(tensor<8192x129x129xbf16>, tensor<8192x129x1xbf16>) -> tensor<8192x129x1xbf16> attributes {fuse.extern = "aten.bmm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
}

// -----

// A transposed right factor of a batch, of which a thread reads no vector.
// SAID: passed: choose-libraries: kernel, kernel_us={{.*}}, call_us={{.*}}: @turned becomes a kernel
// CHECK: call @turned_kernel(
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<262144x8x8xf32>, %w: tensor<262144x8x8xf32, #fuse.layout<"262144,8,8", "64,1,8", "0", "">>) -> tensor<262144x8x8xf32> {
    %y = call @turned(%x, %w) : (tensor<262144x8x8xf32>, tensor<262144x8x8xf32, #fuse.layout<"262144,8,8", "64,1,8", "0", "">>) -> tensor<262144x8x8xf32>
    return %y : tensor<262144x8x8xf32>
  }
  func.func private @turned(tensor<262144x8x8xf32>, tensor<262144x8x8xf32, #fuse.layout<"262144,8,8", "64,1,8", "0", "">>) -> tensor<262144x8x8xf32> attributes {fuse.extern = "aten.bmm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
}

// -----

// Must not fire: larger ones, which fill no block.
// SAID: missed: choose-libraries: strides, {{.*}}@turned_more is the library's: the right factor does not lie along its columns, and is read often
// CHECK: call @turned_more(
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<262144x12x12xf32>, %w: tensor<262144x12x12xf32, #fuse.layout<"262144,12,12", "144,1,12", "0", "">>) -> tensor<262144x12x12xf32> {
    %y = call @turned_more(%x, %w) : (tensor<262144x12x12xf32>, tensor<262144x12x12xf32, #fuse.layout<"262144,12,12", "144,1,12", "0", "">>) -> tensor<262144x12x12xf32>
    return %y : tensor<262144x12x12xf32>
  }
  func.func private @turned_more(tensor<262144x12x12xf32>, tensor<262144x12x12xf32, #fuse.layout<"262144,12,12", "144,1,12", "0", "">>) -> tensor<262144x12x12xf32> attributes {fuse.extern = "aten.bmm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
}

// -----

// Must not fire: every second column of a right factor of a batch.
// SAID: missed: choose-libraries: strides, {{.*}}@seconds is the library's: the right factor does not lie along its columns, and is read often
// CHECK: call @seconds(
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<262144x8x8xf32>, %w: tensor<262144x8x8xf32, #fuse.layout<"262144,8,8", "128,16,2", "0", "">>) -> tensor<262144x8x8xf32> {
    %y = call @seconds(%x, %w) : (tensor<262144x8x8xf32>, tensor<262144x8x8xf32, #fuse.layout<"262144,8,8", "128,16,2", "0", "">>) -> tensor<262144x8x8xf32>
    return %y : tensor<262144x8x8xf32>
  }
  func.func private @seconds(tensor<262144x8x8xf32>, tensor<262144x8x8xf32, #fuse.layout<"262144,8,8", "128,16,2", "0", "">>) -> tensor<262144x8x8xf32> attributes {fuse.extern = "aten.bmm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
}

// -----

// Transposed right factors that fill a block: a program multiplies a matrix.
// SAID: passed: choose-libraries: kernel, kernel_us={{.*}}, call_us={{.*}}: @turned_block becomes a kernel
// CHECK: func.func private @turned_block_kernel
// CHECK: "fuse.dot"
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<65536x16x16xbf16>, %w: tensor<65536x16x16xbf16, #fuse.layout<"65536,16,16", "256,1,16", "0", "">>) -> tensor<65536x16x16xbf16> {
    %y = call @turned_block(%x, %w) : (tensor<65536x16x16xbf16>, tensor<65536x16x16xbf16, #fuse.layout<"65536,16,16", "256,1,16", "0", "">>) -> tensor<65536x16x16xbf16>
    return %y : tensor<65536x16x16xbf16>
  }
  func.func private @turned_block(tensor<65536x16x16xbf16>, tensor<65536x16x16xbf16, #fuse.layout<"65536,16,16", "256,1,16", "0", "">>) -> tensor<65536x16x16xbf16> attributes {fuse.extern = "aten.bmm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
}

// -----

// The same in float32, which no tensor core rounds.
// SAID: passed: choose-libraries: kernel, kernel_us={{.*}}, call_us={{.*}}: @turned_single becomes a kernel
// CHECK: call @turned_single_kernel(
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<65536x16x16xf32>, %w: tensor<65536x16x16xf32, #fuse.layout<"65536,16,16", "256,1,16", "0", "">>) -> tensor<65536x16x16xf32> {
    %y = call @turned_single(%x, %w) : (tensor<65536x16x16xf32>, tensor<65536x16x16xf32, #fuse.layout<"65536,16,16", "256,1,16", "0", "">>) -> tensor<65536x16x16xf32>
    return %y : tensor<65536x16x16xf32>
  }
  func.func private @turned_single(tensor<65536x16x16xf32>, tensor<65536x16x16xf32, #fuse.layout<"65536,16,16", "256,1,16", "0", "">>) -> tensor<65536x16x16xf32> attributes {fuse.extern = "aten.bmm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
}

// -----

// Factors that are multiplied one by one may have any strides: every second column.
// SAID: passed: choose-libraries: kernel, kernel_us={{.*}}, call_us={{.*}}: @strided becomes a kernel
// CHECK: func.func private @strided_kernel
// CHECK-COUNT-16: arith.mulf
// CHECK-NOT: "fuse.dot"
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<65536x16x16xf32, #fuse.layout<"65536,16,16", "512,32,2", "0", "">>, %w: tensor<65536x16x16xf32>) -> tensor<65536x16x16xf32> {
    %y = call @strided(%x, %w) : (tensor<65536x16x16xf32, #fuse.layout<"65536,16,16", "512,32,2", "0", "">>, tensor<65536x16x16xf32>) -> tensor<65536x16x16xf32>
    return %y : tensor<65536x16x16xf32>
  }
  func.func private @strided(tensor<65536x16x16xf32, #fuse.layout<"65536,16,16", "512,32,2", "0", "">>, tensor<65536x16x16xf32>) -> tensor<65536x16x16xf32> attributes {fuse.extern = "aten.bmm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
}

// -----

// Larger matrices that one block holds.
// SAID: passed: choose-libraries: kernel, kernel_us={{.*}}, call_us={{.*}}: @block becomes a kernel
// NONE: missed: choose-libraries: form, {{.*}}@block is the library's
// CHECK: call @block_kernel(
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<16384x32x32xbf16>, %w: tensor<16384x32x32xbf16>) -> tensor<16384x32x32xbf16> {
    %y = call @block(%x, %w) : (tensor<16384x32x32xbf16>, tensor<16384x32x32xbf16>) -> tensor<16384x32x32xbf16>
    return %y : tensor<16384x32x32xbf16>
  }
  func.func private @block(tensor<16384x32x32xbf16>, tensor<16384x32x32xbf16>) -> tensor<16384x32x32xbf16> attributes {fuse.extern = "aten.bmm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
}

// -----

// One with a tensor that is added behind it.
// SAID: passed: choose-libraries: kernel, kernel_us={{.*}}, call_us={{.*}}: @residual becomes a kernel
// CHECK: call @residual_kernel(
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<16384x32x32xbf16>, %w: tensor<16384x32x32xbf16>, %r0: tensor<16384x32x32xbf16>) -> tensor<16384x32x32xbf16> {
    %y = call @residual(%x, %w) : (tensor<16384x32x32xbf16>, tensor<16384x32x32xbf16>) -> tensor<16384x32x32xbf16>
    %e = "fuse.empty"() {syms = []} : () -> tensor<16384x32x32xbf16>
    %z = call @sum(%y, %r0, %e) : (tensor<16384x32x32xbf16>, tensor<16384x32x32xbf16>, tensor<16384x32x32xbf16>) -> tensor<16384x32x32xbf16>
    return %z : tensor<16384x32x32xbf16>
  }
  func.func private @sum(%y: tensor<16384x32x32xbf16>, %r0: tensor<16384x32x32xbf16>, %o: tensor<16384x32x32xbf16>) -> tensor<16384x32x32xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "16384", d1 = "32", d2 = "32"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %s0 = "fuse.load"(%y, %true, %zero) {at = ["d0", "d1", "d2"]} : (tensor<16384x32x32xbf16>, i1, bf16) -> bf16
    %v0 = "fuse.load"(%r0, %true, %zero) {at = ["d0", "d1", "d2"]} : (tensor<16384x32x32xbf16>, i1, bf16) -> bf16
    %s1 = arith.addf %s0, %v0 : bf16
    %r = "fuse.store"(%o, %s1, %true) {at = ["d0", "d1", "d2"], mode = "set"} : (tensor<16384x32x32xbf16>, bf16, i1) -> tensor<16384x32x32xbf16>
    return %r : tensor<16384x32x32xbf16>
  }
  func.func private @residual(tensor<16384x32x32xbf16>, tensor<16384x32x32xbf16>) -> tensor<16384x32x32xbf16> attributes {fuse.extern = "aten.bmm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
}

// -----

// Must not fire: with two, as for other products of blocks.
// SAID: missed: choose-libraries: beside, {{.*}}@residuals is the library's: more than one tensor as large as the result is read behind the product
// CHECK: call @residuals(
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<16384x32x32xbf16>, %w: tensor<16384x32x32xbf16>, %r0: tensor<16384x32x32xbf16>, %r1: tensor<16384x32x32xbf16>) -> tensor<16384x32x32xbf16> {
    %y = call @residuals(%x, %w) : (tensor<16384x32x32xbf16>, tensor<16384x32x32xbf16>) -> tensor<16384x32x32xbf16>
    %e = "fuse.empty"() {syms = []} : () -> tensor<16384x32x32xbf16>
    %z = call @sum(%y, %r0, %r1, %e) : (tensor<16384x32x32xbf16>, tensor<16384x32x32xbf16>, tensor<16384x32x32xbf16>, tensor<16384x32x32xbf16>) -> tensor<16384x32x32xbf16>
    return %z : tensor<16384x32x32xbf16>
  }
  func.func private @sum(%y: tensor<16384x32x32xbf16>, %r0: tensor<16384x32x32xbf16>, %r1: tensor<16384x32x32xbf16>, %o: tensor<16384x32x32xbf16>) -> tensor<16384x32x32xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "16384", d1 = "32", d2 = "32"}, fuse.ties = array<i64: 3>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %s0 = "fuse.load"(%y, %true, %zero) {at = ["d0", "d1", "d2"]} : (tensor<16384x32x32xbf16>, i1, bf16) -> bf16
    %v0 = "fuse.load"(%r0, %true, %zero) {at = ["d0", "d1", "d2"]} : (tensor<16384x32x32xbf16>, i1, bf16) -> bf16
    %s1 = arith.addf %s0, %v0 : bf16
    %v1 = "fuse.load"(%r1, %true, %zero) {at = ["d0", "d1", "d2"]} : (tensor<16384x32x32xbf16>, i1, bf16) -> bf16
    %s2 = arith.addf %s1, %v1 : bf16
    %r = "fuse.store"(%o, %s2, %true) {at = ["d0", "d1", "d2"], mode = "set"} : (tensor<16384x32x32xbf16>, bf16, i1) -> tensor<16384x32x32xbf16>
    return %r : tensor<16384x32x32xbf16>
  }
  func.func private @residuals(tensor<16384x32x32xbf16>, tensor<16384x32x32xbf16>) -> tensor<16384x32x32xbf16> attributes {fuse.extern = "aten.bmm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
}

// -----

// Larger matrices in float32.
// SAID: passed: choose-libraries: kernel, kernel_us={{.*}}, call_us={{.*}}: @block_single becomes a kernel
// NONE: @block_single becomes a kernel
// CHECK: call @block_single_kernel(
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<16384x32x32xf32>, %w: tensor<16384x32x32xf32>) -> tensor<16384x32x32xf32> {
    %y = call @block_single(%x, %w) : (tensor<16384x32x32xf32>, tensor<16384x32x32xf32>) -> tensor<16384x32x32xf32>
    return %y : tensor<16384x32x32xf32>
  }
  func.func private @block_single(tensor<16384x32x32xf32>, tensor<16384x32x32xf32>) -> tensor<16384x32x32xf32> attributes {fuse.extern = "aten.bmm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
}

// -----

// Must not fire: in float32 and transposed, what multiplies them takes longer.
// SAID: missed: choose-libraries: library, {{.*}}@block_turned is the library's: a kernel is estimated to take longer
// CHECK: call @block_turned(
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<16384x32x32xf32>, %w: tensor<16384x32x32xf32, #fuse.layout<"16384,32,32", "1024,1,32", "0", "">>) -> tensor<16384x32x32xf32> {
    %y = call @block_turned(%x, %w) : (tensor<16384x32x32xf32>, tensor<16384x32x32xf32, #fuse.layout<"16384,32,32", "1024,1,32", "0", "">>) -> tensor<16384x32x32xf32>
    return %y : tensor<16384x32x32xf32>
  }
  func.func private @block_turned(tensor<16384x32x32xf32>, tensor<16384x32x32xf32, #fuse.layout<"16384,32,32", "1024,1,32", "0", "">>) -> tensor<16384x32x32xf32> attributes {fuse.extern = "aten.bmm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
}

// -----

// Must not fire: rows of blocks that start at any multiple of 2 bytes.
// SAID: missed: choose-libraries: strides, {{.*}}@block_odd is the library's: rows of a factor do not start at multiples of 16 bytes
// CHECK: call @block_odd(
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<16384x32x32xbf16, #fuse.layout<"16384,32,32", "1056,33,1", "0", "">>, %w: tensor<16384x32x32xbf16>) -> tensor<16384x32x32xbf16> {
    %y = call @block_odd(%x, %w) : (tensor<16384x32x32xbf16, #fuse.layout<"16384,32,32", "1056,33,1", "0", "">>, tensor<16384x32x32xbf16>) -> tensor<16384x32x32xbf16>
    return %y : tensor<16384x32x32xbf16>
  }
  func.func private @block_odd(tensor<16384x32x32xbf16, #fuse.layout<"16384,32,32", "1056,33,1", "0", "">>, tensor<16384x32x32xbf16>) -> tensor<16384x32x32xbf16> attributes {fuse.extern = "aten.bmm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
}

// -----

// Must not fire: every second row and column of matrices that a block would hold.
// SAID: missed: choose-libraries: strides, {{.*}}@block_apart is the library's: rows of a factor do not start at multiples of 16 bytes
// CHECK: call @block_apart(
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<16384x32x32xbf16, #fuse.layout<"16384,32,32", "4096,128,2", "0", "">>, %w: tensor<16384x32x32xbf16>) -> tensor<16384x32x32xbf16> {
    %y = call @block_apart(%x, %w) : (tensor<16384x32x32xbf16, #fuse.layout<"16384,32,32", "4096,128,2", "0", "">>, tensor<16384x32x32xbf16>) -> tensor<16384x32x32xbf16>
    return %y : tensor<16384x32x32xbf16>
  }
  func.func private @block_apart(tensor<16384x32x32xbf16, #fuse.layout<"16384,32,32", "4096,128,2", "0", "">>, tensor<16384x32x32xbf16>) -> tensor<16384x32x32xbf16> attributes {fuse.extern = "aten.bmm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
}

// -----

// Must not fire: matrices whose number of rows is 32 by a hint alone.
// SAID: missed: choose-libraries: sizes, {{.*}}@block_rows is the library's: matrices whose sizes are not known when compiling
// CHECK: call @block_rows(
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<16384x?x32xbf16, #fuse.layout<"16384,s0,32", "s0*32,32,1", "0", "">>, %w: tensor<16384x32x32xbf16>, %s: index {fuse.sym = "s0", fuse.hint = 32 : i64}) -> tensor<16384x?x32xbf16, #fuse.layout<"16384,s0,32", "s0*32,32,1", "0", "">> {
    %y = call @block_rows(%x, %w) : (tensor<16384x?x32xbf16, #fuse.layout<"16384,s0,32", "s0*32,32,1", "0", "">>, tensor<16384x32x32xbf16>) -> tensor<16384x?x32xbf16, #fuse.layout<"16384,s0,32", "s0*32,32,1", "0", "">>
    return %y : tensor<16384x?x32xbf16, #fuse.layout<"16384,s0,32", "s0*32,32,1", "0", "">>
  }
  func.func private @block_rows(tensor<16384x?x32xbf16, #fuse.layout<"16384,s0,32", "s0*32,32,1", "0", "">>, tensor<16384x32x32xbf16>) -> tensor<16384x?x32xbf16, #fuse.layout<"16384,s0,32", "s0*32,32,1", "0", "">> attributes {fuse.extern = "aten.bmm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
}

// -----

// Must not fire: products of matrices that a block holds, rounded to tf32.
// SAID: missed: choose-libraries: dtype, {{.*}}@rounded is the library's: kernels that multiply f32 were not measured
// CHECK: call @rounded(
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<16384x32x32xf32>, %w: tensor<16384x32x32xf32>) -> tensor<16384x32x32xf32> {
    %y = call @rounded(%x, %w) : (tensor<16384x32x32xf32>, tensor<16384x32x32xf32>) -> tensor<16384x32x32xf32>
    return %y : tensor<16384x32x32xf32>
  }
  func.func private @rounded(tensor<16384x32x32xf32>, tensor<16384x32x32xf32>) -> tensor<16384x32x32xf32> attributes {fuse.extern = "aten.bmm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}, fuse.precision = "tf32"}
}

// -----

// Vectors times a matrix each, whose columns are summed.
// SAID: passed: choose-libraries: kernel, kernel_us={{.*}}, call_us={{.*}}: @vector becomes a kernel
// CHECK: func.func private @vector_kernel
// CHECK: "fuse.reduce"({{.*}}kind = "sum", over = ["d2"]
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<16384x1x64xbf16>, %w: tensor<16384x64x64xbf16>) -> tensor<16384x1x64xbf16> {
    %y = call @vector(%x, %w) : (tensor<16384x1x64xbf16>, tensor<16384x64x64xbf16>) -> tensor<16384x1x64xbf16>
    return %y : tensor<16384x1x64xbf16>
  }
  func.func private @vector(tensor<16384x1x64xbf16>, tensor<16384x64x64xbf16>) -> tensor<16384x1x64xbf16> attributes {fuse.extern = "aten.bmm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
}

// -----

// Transposed matrices times a vector each: their columns are summed, too.
// SAID: passed: choose-libraries: kernel, kernel_us={{.*}}, call_us={{.*}}: @vector_behind becomes a kernel
// CHECK: call @vector_behind_kernel(
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<16384x64x64xbf16, #fuse.layout<"16384,64,64", "4096,1,64", "0", "">>, %w: tensor<16384x64x1xbf16>) -> tensor<16384x64x1xbf16> {
    %y = call @vector_behind(%x, %w) : (tensor<16384x64x64xbf16, #fuse.layout<"16384,64,64", "4096,1,64", "0", "">>, tensor<16384x64x1xbf16>) -> tensor<16384x64x1xbf16>
    return %y : tensor<16384x64x1xbf16>
  }
  func.func private @vector_behind(tensor<16384x64x64xbf16, #fuse.layout<"16384,64,64", "4096,1,64", "0", "">>, tensor<16384x64x1xbf16>) -> tensor<16384x64x1xbf16> attributes {fuse.extern = "aten.bmm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
}

// -----

// Must not fire: programs that leave most of a GPU idle.
// SAID: missed: choose-libraries: library, {{.*}}@vector_few is the library's: a kernel is estimated to take longer
// CHECK: call @vector_few(
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<256x1x4096xbf16>, %w: tensor<256x4096x128xbf16>) -> tensor<256x1x128xbf16> {
    %y = call @vector_few(%x, %w) : (tensor<256x1x4096xbf16>, tensor<256x4096x128xbf16>) -> tensor<256x1x128xbf16>
    return %y : tensor<256x1x128xbf16>
  }
  func.func private @vector_few(tensor<256x1x4096xbf16>, tensor<256x4096x128xbf16>) -> tensor<256x1x128xbf16> attributes {fuse.extern = "aten.bmm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
}

// -----

// Must not fire: rows of such matrices that start at any multiple of 2 bytes.
// SAID: missed: choose-libraries: strides, {{.*}}@vector_odd is the library's: rows of the matrix do not start at multiples of 16 bytes
// CHECK: call @vector_odd(
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<16384x1x64xbf16>, %w: tensor<16384x64x65xbf16>) -> tensor<16384x1x65xbf16> {
    %y = call @vector_odd(%x, %w) : (tensor<16384x1x64xbf16>, tensor<16384x64x65xbf16>) -> tensor<16384x1x65xbf16>
    return %y : tensor<16384x1x65xbf16>
  }
  func.func private @vector_odd(tensor<16384x1x64xbf16>, tensor<16384x64x65xbf16>) -> tensor<16384x1x65xbf16> attributes {fuse.extern = "aten.bmm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
}

// -----

// Must not fire: every second element of them.
// SAID: missed: choose-libraries: strides, {{.*}}@vector_apart is the library's: neither rows nor columns of the matrix lie together
// CHECK: call @vector_apart(
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<16384x1x64xbf16>, %w: tensor<16384x64x64xbf16, #fuse.layout<"16384,64,64", "8192,128,2", "0", "">>) -> tensor<16384x1x64xbf16> {
    %y = call @vector_apart(%x, %w) : (tensor<16384x1x64xbf16>, tensor<16384x64x64xbf16, #fuse.layout<"16384,64,64", "8192,128,2", "0", "">>) -> tensor<16384x1x64xbf16>
    return %y : tensor<16384x1x64xbf16>
  }
  func.func private @vector_apart(tensor<16384x1x64xbf16>, tensor<16384x64x64xbf16, #fuse.layout<"16384,64,64", "8192,128,2", "0", "">>) -> tensor<16384x1x64xbf16> attributes {fuse.extern = "aten.bmm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
}

// -----

// Must not fire: nobody knows how many rows there are to be summed.
// SAID: missed: choose-libraries: sizes, {{.*}}@vector_any is the library's: how many elements are summed is not known when compiling
// CHECK: call @vector_any(
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<16384x1x?xbf16, #fuse.layout<"16384,1,s0", "s0,s0,1", "0", "">>, %w: tensor<16384x?x64xbf16, #fuse.layout<"16384,s0,64", "s0*64,64,1", "0", "">>, %s: index {fuse.sym = "s0", fuse.hint = 64 : i64}) -> tensor<16384x1x64xbf16> {
    %y = call @vector_any(%x, %w) : (tensor<16384x1x?xbf16, #fuse.layout<"16384,1,s0", "s0,s0,1", "0", "">>, tensor<16384x?x64xbf16, #fuse.layout<"16384,s0,64", "s0*64,64,1", "0", "">>) -> tensor<16384x1x64xbf16>
    return %y : tensor<16384x1x64xbf16>
  }
  func.func private @vector_any(tensor<16384x1x?xbf16, #fuse.layout<"16384,1,s0", "s0,s0,1", "0", "">>, tensor<16384x?x64xbf16, #fuse.layout<"16384,s0,64", "s0*64,64,1", "0", "">>) -> tensor<16384x1x64xbf16> attributes {fuse.extern = "aten.bmm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
}

// -----

// Must not fire: the distance between rows is unknown.
// SAID: missed: choose-libraries: strides, {{.*}}@vector_any_apart is the library's: rows of the matrix do not start at multiples of 16 bytes
// CHECK: call @vector_any_apart(
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<16384x1x64xbf16>, %w: tensor<16384x64x64xbf16, #fuse.layout<"16384,64,64", "64*s0,s0,1", "0", "">>, %s: index {fuse.sym = "s0", fuse.hint = 64 : i64}) -> tensor<16384x1x64xbf16> {
    %y = call @vector_any_apart(%x, %w) : (tensor<16384x1x64xbf16>, tensor<16384x64x64xbf16, #fuse.layout<"16384,64,64", "64*s0,s0,1", "0", "">>) -> tensor<16384x1x64xbf16>
    return %y : tensor<16384x1x64xbf16>
  }
  func.func private @vector_any_apart(tensor<16384x1x64xbf16>, tensor<16384x64x64xbf16, #fuse.layout<"16384,64,64", "64*s0,s0,1", "0", "">>) -> tensor<16384x1x64xbf16> attributes {fuse.extern = "aten.bmm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
}

// -----

// Must not fire: few rows of many columns.
// SAID: missed: choose-libraries: sizes, {{.*}}@wide is the library's: at most 16 columns, and known when compiling
// CHECK: call @wide(
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<8x8xf32>, %w: tensor<8x1000000xf32>) -> tensor<8x1000000xf32> {
    %y = call @wide(%x, %w) : (tensor<8x8xf32>, tensor<8x1000000xf32>) -> tensor<8x1000000xf32>
    return %y : tensor<8x1000000xf32>
  }
  func.func private @wide(tensor<8x8xf32>, tensor<8x1000000xf32>) -> tensor<8x1000000xf32> attributes {fuse.extern = "aten.mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
}

// -----

// Must not fire: factors of dot products that lie along the batch.
// SAID: missed: choose-libraries: strides, {{.*}}@across is the library's: the factors do not lie along the dim that is summed
// CHECK: call @across(
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<262144x1x64xf32, #fuse.layout<"262144,1,64", "1,1,262144", "0", "">>, %w: tensor<262144x64x1xf32>) -> tensor<262144x1x1xf32> {
    %y = call @across(%x, %w) : (tensor<262144x1x64xf32, #fuse.layout<"262144,1,64", "1,1,262144", "0", "">>, tensor<262144x64x1xf32>) -> tensor<262144x1x1xf32>
    return %y : tensor<262144x1x1xf32>
  }
  func.func private @across(tensor<262144x1x64xf32, #fuse.layout<"262144,1,64", "1,1,262144", "0", "">>, tensor<262144x64x1xf32>) -> tensor<262144x1x1xf32> attributes {fuse.extern = "aten.bmm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
}

// -----

// Must not fire: types that were not measured.
// SAID: missed: choose-libraries: dtype, {{.*}}@doubles is the library's: kernels that multiply f64 were not measured
// CHECK: call @doubles(
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<262144x8x8xf64>, %w: tensor<262144x8x8xf64>) -> tensor<262144x8x8xf64> {
    %y = call @doubles(%x, %w) : (tensor<262144x8x8xf64>, tensor<262144x8x8xf64>) -> tensor<262144x8x8xf64>
    return %y : tensor<262144x8x8xf64>
  }
  func.func private @doubles(tensor<262144x8x8xf64>, tensor<262144x8x8xf64>) -> tensor<262144x8x8xf64> attributes {fuse.extern = "aten.bmm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
}

// -----

// Must not fire: sums of 17 elements are no small product.
// SAID: missed: choose-libraries: dtype, {{.*}}@longer is the library's
// CHECK: call @longer(
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<1000000x17xf32>, %w: tensor<17x8xf32>) -> tensor<1000000x8xf32> {
    %y = call @longer(%x, %w) : (tensor<1000000x17xf32>, tensor<17x8xf32>) -> tensor<1000000x8xf32>
    return %y : tensor<1000000x8xf32>
  }
  func.func private @longer(tensor<1000000x17xf32>, tensor<17x8xf32>) -> tensor<1000000x8xf32> attributes {fuse.extern = "aten.mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
}

// -----

// Must not fire: columns of unknown number.
// SAID: missed: choose-libraries: sizes, {{.*}}@columns is the library's: at most 16 columns, and known when compiling
// CHECK: call @columns(
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<1000000x8xf32>, %w: tensor<8x?xf32, #fuse.layout<"8,s0", "s0,1", "0", "">>, %s: index {fuse.sym = "s0", fuse.hint = 8 : i64}) -> tensor<1000000x?xf32, #fuse.layout<"1000000,s0", "s0,1", "0", "">> {
    %y = call @columns(%x, %w) : (tensor<1000000x8xf32>, tensor<8x?xf32, #fuse.layout<"8,s0", "s0,1", "0", "">>) -> tensor<1000000x?xf32, #fuse.layout<"1000000,s0", "s0,1", "0", "">>
    return %y : tensor<1000000x?xf32, #fuse.layout<"1000000,s0", "s0,1", "0", "">>
  }
  func.func private @columns(tensor<1000000x8xf32>, tensor<8x?xf32, #fuse.layout<"8,s0", "s0,1", "0", "">>) -> tensor<1000000x?xf32, #fuse.layout<"1000000,s0", "s0,1", "0", "">> attributes {fuse.extern = "aten.mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
}

// -----

// Eight times eight weights that lie along the sum are few enough to be read one by one.
// SAID: passed: choose-libraries: kernel, kernel_us={{.*}}, call_us={{.*}}: @weights becomes a kernel
// NONE: @weights becomes a kernel
// CHECK: call @weights_kernel(
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<1000000x8xf32>, %w: tensor<8x8xf32, #fuse.layout<"8,8", "1,8", "0", "">>) -> tensor<1000000x8xf32> {
    %y = call @weights(%x, %w) : (tensor<1000000x8xf32>, tensor<8x8xf32, #fuse.layout<"8,8", "1,8", "0", "">>) -> tensor<1000000x8xf32>
    return %y : tensor<1000000x8xf32>
  }
  func.func private @weights(tensor<1000000x8xf32>, tensor<8x8xf32, #fuse.layout<"8,8", "1,8", "0", "">>) -> tensor<1000000x8xf32> attributes {fuse.extern = "aten.mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
}

// -----

// Must not fire: sixteen times sixteen are not.
// SAID: missed: choose-libraries: library, {{.*}}@more is the library's: a kernel is estimated to take longer
// CHECK: call @more(
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<1000000x16xf32>, %w: tensor<16x16xf32, #fuse.layout<"16,16", "1,16", "0", "">>) -> tensor<1000000x16xf32> {
    %y = call @more(%x, %w) : (tensor<1000000x16xf32>, tensor<16x16xf32, #fuse.layout<"16,16", "1,16", "0", "">>) -> tensor<1000000x16xf32>
    return %y : tensor<1000000x16xf32>
  }
  func.func private @more(tensor<1000000x16xf32>, tensor<16x16xf32, #fuse.layout<"16,16", "1,16", "0", "">>) -> tensor<1000000x16xf32> attributes {fuse.extern = "aten.mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
}

// -----

// Sixteen that lie along their columns are: a thread reads them for two rows.
// SAID: passed: choose-libraries: kernel, kernel_us={{.*}}, call_us={{.*}}: @sixteen becomes a kernel
// CHECK: call @sixteen_kernel(
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<1000000x16xf32>, %w: tensor<16x16xf32>) -> tensor<1000000x16xf32> {
    %y = call @sixteen(%x, %w) : (tensor<1000000x16xf32>, tensor<16x16xf32>) -> tensor<1000000x16xf32>
    return %y : tensor<1000000x16xf32>
  }
  func.func private @sixteen(tensor<1000000x16xf32>, tensor<16x16xf32>) -> tensor<1000000x16xf32> attributes {fuse.extern = "aten.mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
}

// -----

// The library copies every second column before it multiplies: few rows, which it keeps otherwise.
// SAID: passed: choose-libraries: kernel, kernel_us={{.*}}, call_us={{.*}}: @second becomes a kernel
// CHECK: call @second_kernel(
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<10000x8xf32, #fuse.layout<"10000,8", "16,2", "0", "">>, %w: tensor<8x8xf32>) -> tensor<10000x8xf32> {
    %y = call @second(%x, %w) : (tensor<10000x8xf32, #fuse.layout<"10000,8", "16,2", "0", "">>, tensor<8x8xf32>) -> tensor<10000x8xf32>
    return %y : tensor<10000x8xf32>
  }
  func.func private @second(tensor<10000x8xf32, #fuse.layout<"10000,8", "16,2", "0", "">>, tensor<8x8xf32>) -> tensor<10000x8xf32> attributes {fuse.extern = "aten.mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
}

// -----

// Must not fire: it copies neither whole columns nor rows with a distance.
// SAID: missed: choose-libraries: library, kernel_us={{.*}}, call_us={{.*}}: @apart is the library's: a kernel is estimated to take longer
// CHECK: call @apart(
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<10000x8xf32, #fuse.layout<"10000,8", "16,1", "0", "">>, %w: tensor<8x8xf32>) -> tensor<10000x8xf32> {
    %y = call @apart(%x, %w) : (tensor<10000x8xf32, #fuse.layout<"10000,8", "16,1", "0", "">>, tensor<8x8xf32>) -> tensor<10000x8xf32>
    return %y : tensor<10000x8xf32>
  }
  func.func private @apart(tensor<10000x8xf32, #fuse.layout<"10000,8", "16,1", "0", "">>, tensor<8x8xf32>) -> tensor<10000x8xf32> attributes {fuse.extern = "aten.mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
}
