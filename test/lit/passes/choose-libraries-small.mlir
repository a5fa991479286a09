// RUN: fuse-opt %s --pass-pipeline="builtin.module(choose-libraries{hardware=h200})" --split-input-file --remarks=text 2>&1 >/dev/null | FileCheck %s --check-prefix=SAID
// RUN: fuse-opt %s --pass-pipeline="builtin.module(choose-libraries{hardware=h200 tensor-cores=none})" --split-input-file --remarks=text 2>&1 >/dev/null | FileCheck %s --check-prefix=NONE
// RUN: fuse-opt %s --pass-pipeline="builtin.module(choose-libraries{hardware=h200},unroll-reductions,expand-dots)" --split-input-file | FileCheck %s

// A batch of dot products: rows are reduced.
// SAID: passed: choose-libraries: kernel, kernel_us={{.*}}, library_us={{.*}}: @dots becomes a kernel
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

// A batch of matrices times vectors.
// SAID: passed: choose-libraries: kernel, kernel_us={{.*}}, library_us={{.*}}: @vectors becomes a kernel
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
// SAID: missed: choose-libraries: library, kernel_us={{.*}}, library_us={{.*}}: @three is the library's
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
// SAID: passed: choose-libraries: kernel, kernel_us={{.*}}, library_us={{.*}}: @matrices becomes a kernel
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
// SAID: passed: choose-libraries: kernel, kernel_us={{.*}}, library_us={{.*}}: @rows becomes a kernel
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
// SAID: passed: choose-libraries: kernel, kernel_us={{.*}}, library_us={{.*}}: @halves becomes a kernel
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

// Must not fire: larger matrices of half precision times vectors, which the library reads at the speed of memory, too.
// SAID: missed: choose-libraries: library, kernel_us={{.*}}, library_us={{.*}}: @long is the library's: a kernel is estimated to take longer
// CHECK: call @long(
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<8192x128x128xbf16>, %w: tensor<8192x128x1xbf16>) -> tensor<8192x128x1xbf16> {
    %y = call @long(%x, %w) : (tensor<8192x128x128xbf16>, tensor<8192x128x1xbf16>) -> tensor<8192x128x1xbf16>
    return %y : tensor<8192x128x1xbf16>
  }
  func.func private @long(tensor<8192x128x128xbf16>, tensor<8192x128x1xbf16>) -> tensor<8192x128x1xbf16> attributes {fuse.extern = "aten.bmm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
}

// -----

// Must not fire: a transposed right factor of a batch, of which a thread reads no vector.
// SAID: missed: choose-libraries: strides, {{.*}}@turned is the library's: the right factor does not lie along its columns, and is read often
// CHECK: call @turned(
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<262144x8x8xf32>, %w: tensor<262144x8x8xf32, #fuse.layout<"262144,8,8", "64,1,8", "0", "">>) -> tensor<262144x8x8xf32> {
    %y = call @turned(%x, %w) : (tensor<262144x8x8xf32>, tensor<262144x8x8xf32, #fuse.layout<"262144,8,8", "64,1,8", "0", "">>) -> tensor<262144x8x8xf32>
    return %y : tensor<262144x8x8xf32>
  }
  func.func private @turned(tensor<262144x8x8xf32>, tensor<262144x8x8xf32, #fuse.layout<"262144,8,8", "64,1,8", "0", "">>) -> tensor<262144x8x8xf32> attributes {fuse.extern = "aten.bmm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
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
// SAID: passed: choose-libraries: kernel, kernel_us={{.*}}, library_us={{.*}}: @weights becomes a kernel
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

// Must not fire: nine times eight are not.
// SAID: missed: choose-libraries: strides, {{.*}}@more is the library's: the right factor does not lie along its columns, and is read often
// CHECK: call @more(
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<1000000x9xf32>, %w: tensor<9x8xf32, #fuse.layout<"9,8", "1,9", "0", "">>) -> tensor<1000000x8xf32> {
    %y = call @more(%x, %w) : (tensor<1000000x9xf32>, tensor<9x8xf32, #fuse.layout<"9,8", "1,9", "0", "">>) -> tensor<1000000x8xf32>
    return %y : tensor<1000000x8xf32>
  }
  func.func private @more(tensor<1000000x9xf32>, tensor<9x8xf32, #fuse.layout<"9,8", "1,9", "0", "">>) -> tensor<1000000x8xf32> attributes {fuse.extern = "aten.mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
}

// -----

// The library copies every second column before it multiplies: few rows, which it keeps otherwise.
// SAID: passed: choose-libraries: kernel, kernel_us={{.*}}, library_us={{.*}}: @second becomes a kernel
// CHECK: call @second_kernel(
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<20000x8xf32, #fuse.layout<"20000,8", "16,2", "0", "">>, %w: tensor<8x8xf32>) -> tensor<20000x8xf32> {
    %y = call @second(%x, %w) : (tensor<20000x8xf32, #fuse.layout<"20000,8", "16,2", "0", "">>, tensor<8x8xf32>) -> tensor<20000x8xf32>
    return %y : tensor<20000x8xf32>
  }
  func.func private @second(tensor<20000x8xf32, #fuse.layout<"20000,8", "16,2", "0", "">>, tensor<8x8xf32>) -> tensor<20000x8xf32> attributes {fuse.extern = "aten.mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
}

// -----

// Must not fire: it copies neither whole columns nor rows with a distance.
// SAID: missed: choose-libraries: library, kernel_us={{.*}}, library_us={{.*}}: @apart is the library's: a kernel is estimated to take longer
// CHECK: call @apart(
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<20000x8xf32, #fuse.layout<"20000,8", "16,1", "0", "">>, %w: tensor<8x8xf32>) -> tensor<20000x8xf32> {
    %y = call @apart(%x, %w) : (tensor<20000x8xf32, #fuse.layout<"20000,8", "16,1", "0", "">>, tensor<8x8xf32>) -> tensor<20000x8xf32>
    return %y : tensor<20000x8xf32>
  }
  func.func private @apart(tensor<20000x8xf32, #fuse.layout<"20000,8", "16,1", "0", "">>, tensor<8x8xf32>) -> tensor<20000x8xf32> attributes {fuse.extern = "aten.mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
}
