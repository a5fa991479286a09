// RUN: fuse-opt %s --pass-pipeline="builtin.module(choose-libraries{hardware=h200 tensor-cores=none})" --split-input-file | FileCheck %s
// RUN: fuse-opt %s --pass-pipeline="builtin.module(choose-libraries{hardware=h200 tensor-cores=none})" --split-input-file --remarks=text 2>&1 >/dev/null | FileCheck %s --check-prefix=SAID
// RUN: fuse-opt %s --pass-pipeline="builtin.module(choose-libraries{hardware=h200 products=library})" --split-input-file | FileCheck %s --check-prefix=LIBRARY
// RUN: fuse-opt %s --pass-pipeline="builtin.module(choose-libraries{hardware=h200 products=generated})" --split-input-file | FileCheck %s --check-prefix=GENERATED
// RUN: fuse-opt %s --pass-pipeline="builtin.module(choose-libraries{hardware=h200 tensor-cores=all})" --split-input-file --remarks=text 2>&1 >/dev/null | FileCheck %s --check-prefix=CORES

// One row: both read the weights once, and the kernel nearer to the bandwidth.
// CHECK-LABEL: func.func @main
// CHECK: %[[E:.*]] = "fuse.empty"
// CHECK: call @one_row_kernel(%{{.*}}, %{{.*}}, %[[E]])
// CHECK: func.func private @one_row_kernel
// CHECK-SAME: fuse.dims = {d0 = "14336", d1 = "4096"}, fuse.instead = @one_row, fuse.kernel, fuse.ties = array<i64: 2>
// CHECK: %[[A:.*]] = "fuse.load"(%arg0, %true, %{{.*}}) {at = ["0", "d1"]}
// CHECK: %[[B:.*]] = "fuse.load"(%arg1, %true, %{{.*}}) {at = ["d1", "d0"]}
// CHECK: %[[S:.*]] = "fuse.dot"(%[[A]], %[[B]]) {over = ["d1"]} : (bf16, bf16) -> f32
// CHECK: %[[R:.*]] = arith.truncf %[[S]] : f32 to bf16
// CHECK: "fuse.store"(%arg2, %[[R]], %true) {at = ["0", "d0"], mode = "set"}
// CHECK: func.func private @one_row(
// SAID: passed: choose-libraries: kernel, kernel_us={{[0-9.]+}}, call_us={{[0-9.]+}}, rows=1: @one_row becomes a kernel [one_row]
// LIBRARY-LABEL: func.func @main
// LIBRARY: call @one_row(
// GENERATED-LABEL: func.func @main
// GENERATED: call @one_row_kernel(
// GENERATED-NOT: fuse.instead
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<1x4096xbf16>, %w: tensor<4096x14336xbf16, #fuse.layout<"4096,14336", "1,4096", "0", "">>) -> tensor<1x14336xbf16> {
    %y = call @one_row(%x, %w) : (tensor<1x4096xbf16>, tensor<4096x14336xbf16, #fuse.layout<"4096,14336", "1,4096", "0", "">>) -> tensor<1x14336xbf16>
    return %y : tensor<1x14336xbf16>
  }
  func.func private @one_row(tensor<1x4096xbf16>, tensor<4096x14336xbf16, #fuse.layout<"4096,14336", "1,4096", "0", "">>) -> tensor<1x14336xbf16> attributes {fuse.extern = "aten.mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
}

// -----

// A row that is added is part of the product of one row.
// CHECK: call @row_added_kernel(
// SAID: passed: choose-libraries: kernel, kernel_us={{[0-9.]+}}, call_us={{[0-9.]+}}, rows=1: @row_added becomes a kernel
// LIBRARY: call @row_added(
// GENERATED: call @row_added_kernel(
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%c: tensor<14336xbf16>, %x: tensor<1x4096xbf16>, %w: tensor<4096x14336xbf16, #fuse.layout<"4096,14336", "1,4096", "0", "">>) -> tensor<1x14336xbf16> {
    %y = call @row_added(%c, %x, %w) : (tensor<14336xbf16>, tensor<1x4096xbf16>, tensor<4096x14336xbf16, #fuse.layout<"4096,14336", "1,4096", "0", "">>) -> tensor<1x14336xbf16>
    return %y : tensor<1x14336xbf16>
  }
  func.func private @row_added(tensor<14336xbf16>, tensor<1x4096xbf16>, tensor<4096x14336xbf16, #fuse.layout<"4096,14336", "1,4096", "0", "">>) -> tensor<1x14336xbf16> attributes {fuse.extern = "aten.addmm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>, #fuse.arg<2 : i64>], fuse.kwargs = {}}
}

// -----

// Torch ops that are no products write an operand and read the result: no kernel computes them with the product.
// CHECK: call @between_kernel(
// SAID: passed: choose-libraries: kernel, {{.*}}@between becomes a kernel
// LIBRARY: call @between(
// GENERATED: call @between_kernel(
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<1x4096xbf16>, %w: tensor<4096x14336xbf16, #fuse.layout<"4096,14336", "1,4096", "0", "">>) -> tensor<1x14336xbf16> {
    %s = call @cumsum(%x) : (tensor<1x4096xbf16>) -> tensor<1x4096xbf16>
    %y = call @between(%s, %w) : (tensor<1x4096xbf16>, tensor<4096x14336xbf16, #fuse.layout<"4096,14336", "1,4096", "0", "">>) -> tensor<1x14336xbf16>
    %z = call @cumsum_1(%y) : (tensor<1x14336xbf16>) -> tensor<1x14336xbf16>
    return %z : tensor<1x14336xbf16>
  }
  func.func private @cumsum(tensor<1x4096xbf16>) -> tensor<1x4096xbf16> attributes {fuse.extern = "aten.cumsum.default", fuse.args = [#fuse.arg<0 : i64>, 1 : i64], fuse.kwargs = {}}
  func.func private @cumsum_1(tensor<1x14336xbf16>) -> tensor<1x14336xbf16> attributes {fuse.extern = "aten.cumsum.default", fuse.args = [#fuse.arg<0 : i64>, 1 : i64], fuse.kwargs = {}}
  func.func private @between(tensor<1x4096xbf16>, tensor<4096x14336xbf16, #fuse.layout<"4096,14336", "1,4096", "0", "">>) -> tensor<1x14336xbf16> attributes {fuse.extern = "aten.mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
}

// -----

// Must not fire: four rows of float32 alone take a kernel longer than the library.
// CHECK: call @four_rows(
// SAID: missed: choose-libraries: library, kernel_us={{[0-9.]+}}, call_us={{[0-9.]+}}, rows=4: @four_rows is the library's: a kernel is estimated to take longer [four_rows]
// LIBRARY: call @four_rows(
// GENERATED: call @four_rows_kernel(
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<4x4096xf32>, %w: tensor<4096x14336xf32, #fuse.layout<"4096,14336", "1,4096", "0", "">>) -> tensor<4x14336xf32> {
    %y = call @four_rows(%x, %w) : (tensor<4x4096xf32>, tensor<4096x14336xf32, #fuse.layout<"4096,14336", "1,4096", "0", "">>) -> tensor<4x14336xf32>
    return %y : tensor<4x14336xf32>
  }
  func.func private @four_rows(tensor<4x4096xf32>, tensor<4096x14336xf32, #fuse.layout<"4096,14336", "1,4096", "0", "">>) -> tensor<4x14336xf32> attributes {fuse.extern = "aten.mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
}

// -----

// Must not fire: more rows than kernels multiply.
// CHECK: call @many_rows(
// SAID: missed: choose-libraries: rows, kernel_us={{[0-9.]+}}, call_us={{[0-9.]+}}: @many_rows is the library's: 64 rows and 256 columns: kernels multiply 1 to 4 of one of them [many_rows]
// LIBRARY: call @many_rows(
// GENERATED: call @many_rows_kernel(
// CORES: missed: choose-libraries: library, {{.*}}@many_rows is the library's
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<64x4096xbf16>, %w: tensor<4096x256xbf16, #fuse.layout<"4096,256", "1,4096", "0", "">>) -> tensor<64x256xbf16> {
    %y = call @many_rows(%x, %w) : (tensor<64x4096xbf16>, tensor<4096x256xbf16, #fuse.layout<"4096,256", "1,4096", "0", "">>) -> tensor<64x256xbf16>
    return %y : tensor<64x256xbf16>
  }
  func.func private @many_rows(tensor<64x4096xbf16>, tensor<4096x256xbf16, #fuse.layout<"4096,256", "1,4096", "0", "">>) -> tensor<64x256xbf16> attributes {fuse.extern = "aten.mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
}

// -----

// Must not fire: neighbours in memory are different columns of the weights.
// CHECK: call @across(
// SAID: missed: choose-libraries: strides, kernel_us={{[0-9.]+}}, call_us={{[0-9.]+}}: @across is the library's: the weights do not lie along the dim that is summed [across]
// LIBRARY: call @across(
// GENERATED: call @across_kernel(
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<1x4096xbf16>, %w: tensor<4096x14336xbf16>) -> tensor<1x14336xbf16> {
    %y = call @across(%x, %w) : (tensor<1x4096xbf16>, tensor<4096x14336xbf16>) -> tensor<1x14336xbf16>
    return %y : tensor<1x14336xbf16>
  }
  func.func private @across(tensor<1x4096xbf16>, tensor<4096x14336xbf16>) -> tensor<1x14336xbf16> attributes {fuse.extern = "aten.mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
}

// -----

// What makes the weights, and reads them alone, is counted in favour of the kernel: four rows of int8 weights.
// CHECK: call @rows_of_int8_kernel(
// SAID: passed: choose-libraries: kernel, {{.*}}rows=4: @rows_of_int8 becomes a kernel
// LIBRARY: call @rows_of_int8(
// GENERATED: call @rows_of_int8_kernel(
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<4x4096xbf16>, %q: tensor<14336x4096xi8>) -> tensor<4x14336xbf16> {
    %e = "fuse.empty"() {syms = []} : () -> tensor<14336x4096xbf16>
    %w = call @widen(%q, %e) : (tensor<14336x4096xi8>, tensor<14336x4096xbf16>) -> tensor<14336x4096xbf16>
    %t = "fuse.view"(%w) {map = ["v1", "v0"], syms = []} : (tensor<14336x4096xbf16>) -> tensor<4096x14336xbf16, #fuse.layout<"4096,14336", "1,4096", "0", "">>
    %y = call @rows_of_int8(%x, %t) : (tensor<4x4096xbf16>, tensor<4096x14336xbf16, #fuse.layout<"4096,14336", "1,4096", "0", "">>) -> tensor<4x14336xbf16>
    return %y : tensor<4x14336xbf16>
  }
  func.func private @widen(%x: tensor<14336x4096xi8>, %o: tensor<14336x4096xbf16>) -> tensor<14336x4096xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "14336", d1 = "4096"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0 : i8
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<14336x4096xi8>, i1, i8) -> i8
    %w = arith.sitofp %v : i8 to bf16
    %r = "fuse.store"(%o, %w, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<14336x4096xbf16>, bf16, i1) -> tensor<14336x4096xbf16>
    return %r : tensor<14336x4096xbf16>
  }
  func.func private @rows_of_int8(tensor<4x4096xbf16>, tensor<4096x14336xbf16, #fuse.layout<"4096,14336", "1,4096", "0", "">>) -> tensor<4x14336xbf16> attributes {fuse.extern = "aten.mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
}

// -----

// What is added broadcasts, and both sides have their factor.
// CHECK: call @added_kernel(
// CHECK: func.func private @added_kernel
// CHECK: %[[S:.*]] = "fuse.dot"
// CHECK: %[[A:.*]] = arith.mulf %[[S]], %{{.*}} : f32
// CHECK: %[[C:.*]] = "fuse.load"(%arg0, %true, %{{.*}}) {at = ["d0"]}
// CHECK: %[[W:.*]] = arith.extf %[[C]] : bf16 to f32
// CHECK: arith.addf %[[A]], %[[W]] : f32
// SAID: passed: choose-libraries: kernel
// LIBRARY: call @added(
// GENERATED: call @added_kernel(
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%c: tensor<4096xbf16>, %x: tensor<1x4096xbf16>, %w: tensor<4096x4096xbf16, #fuse.layout<"4096,4096", "1,4096", "0", "">>) -> tensor<1x4096xbf16> {
    %y = call @added(%c, %x, %w) : (tensor<4096xbf16>, tensor<1x4096xbf16>, tensor<4096x4096xbf16, #fuse.layout<"4096,4096", "1,4096", "0", "">>) -> tensor<1x4096xbf16>
    return %y : tensor<1x4096xbf16>
  }
  func.func private @added(tensor<4096xbf16>, tensor<1x4096xbf16>, tensor<4096x4096xbf16, #fuse.layout<"4096,4096", "1,4096", "0", "">>) -> tensor<1x4096xbf16> attributes {fuse.extern = "aten.addmm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>, #fuse.arg<2 : i64>], fuse.kwargs = {alpha = 2 : i64}}
}

// -----

// Must not fire: the tensors are on another device than the module's kernels.
// CHECK: call @on_the_host(
// SAID: missed: choose-libraries: device: @on_the_host is the library's: a tensor is on cpu, not on the module's device [on_the_host]
// LIBRARY: call @on_the_host(
// GENERATED: call @on_the_host(
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<1x64xf32, #fuse.layout<"1,64", "64,1", "0", "cpu">>, %w: tensor<64x8xf32, #fuse.layout<"64,8", "1,64", "0", "cpu">>) -> tensor<1x8xf32, #fuse.layout<"1,8", "8,1", "0", "cpu">> {
    %y = call @on_the_host(%x, %w) : (tensor<1x64xf32, #fuse.layout<"1,64", "64,1", "0", "cpu">>, tensor<64x8xf32, #fuse.layout<"64,8", "1,64", "0", "cpu">>) -> tensor<1x8xf32, #fuse.layout<"1,8", "8,1", "0", "cpu">>
    return %y : tensor<1x8xf32, #fuse.layout<"1,8", "8,1", "0", "cpu">>
  }
  func.func private @on_the_host(tensor<1x64xf32, #fuse.layout<"1,64", "64,1", "0", "cpu">>, tensor<64x8xf32, #fuse.layout<"64,8", "1,64", "0", "cpu">>) -> tensor<1x8xf32, #fuse.layout<"1,8", "8,1", "0", "cpu">> attributes {fuse.extern = "aten.mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
}

// -----

// What torch's switch allows goes to the kernel.  Many rows: only where all products are generated.
// CHECK: call @in_tf32(
// CORES: missed: choose-libraries: dtype, {{.*}}@in_tf32 is the library's: kernels that multiply f32 were not measured
// SAID: missed: choose-libraries: rows, {{.*}}: @in_tf32 is the library's: 64 rows and 48 columns
// LIBRARY: call @in_tf32(
// GENERATED: call @in_tf32_kernel(
// GENERATED: "fuse.dot"(%{{.*}}, %{{.*}}) {over = ["d2"], precision = "tf32"} : (f32, f32) -> f32
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<64x32xf32>, %w: tensor<32x48xf32>) -> tensor<64x48xf32> {
    %y = call @in_tf32(%x, %w) : (tensor<64x32xf32>, tensor<32x48xf32>) -> tensor<64x48xf32>
    return %y : tensor<64x48xf32>
  }
  func.func private @in_tf32(tensor<64x32xf32>, tensor<32x48xf32>) -> tensor<64x48xf32> attributes {fuse.extern = "aten.mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}, fuse.precision = "tf32"}
}

// -----

// A batch is one more dim, and both dims that the result lacks are summed.
// CHECK: call @batches(
// CORES: missed: choose-libraries: strides, {{.*}}@batches is the library's: rows of a factor do not start at multiples of 16 bytes
// SAID: missed: choose-libraries: form, kernel_us={{[0-9.]+}}, call_us={{[0-9.]+}}: @batches is the library's: kernels of other products than that of two matrices were not measured
// LIBRARY: call @batches(
// GENERATED: call @batches_kernel(
// GENERATED: func.func private @batches_kernel
// GENERATED-SAME: fuse.dims = {d0 = "4", d1 = "5", d2 = "3", d3 = "8"}
// GENERATED: "fuse.load"(%arg1, %true, %{{.*}}) {at = ["d2", "d0", "d3"]}
// GENERATED: "fuse.load"(%arg2, %true, %{{.*}}) {at = ["d2", "d3", "d1"]}
// GENERATED: "fuse.dot"(%{{.*}}, %{{.*}}) {over = ["d2", "d3"]} : (f16, f16) -> f32
// GENERATED: "fuse.load"(%arg0, %true, %{{.*}}) {at = ["d1"]}
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%c: tensor<5xf16>, %x: tensor<3x4x8xf16>, %w: tensor<3x8x5xf16>) -> tensor<4x5xf16> {
    %y = call @batches(%c, %x, %w) : (tensor<5xf16>, tensor<3x4x8xf16>, tensor<3x8x5xf16>) -> tensor<4x5xf16>
    return %y : tensor<4x5xf16>
  }
  func.func private @batches(tensor<5xf16>, tensor<3x4x8xf16>, tensor<3x8x5xf16>) -> tensor<4x5xf16> attributes {fuse.extern = "aten.addbmm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>, #fuse.arg<2 : i64>], fuse.kwargs = {beta = 2.0 : f64}}
}

// -----

// A convolution of 1x1 sums over the channels.
// CHECK: call @pixels(
// CORES: missed: choose-libraries: strides, {{.*}}@pixels is the library's: rows of a factor do not start at multiples of 16 bytes
// SAID: missed: choose-libraries: form, {{.*}}@pixels is the library's
// LIBRARY: call @pixels(
// GENERATED: call @pixels_kernel(
// GENERATED: "fuse.load"(%arg0, %true, %{{.*}}) {at = ["d0", "d4", "d2", "d3"]}
// GENERATED: "fuse.load"(%arg1, %true, %{{.*}}) {at = ["d1", "d4", "0", "0"]}
// GENERATED: "fuse.dot"(%{{.*}}, %{{.*}}) {over = ["d4"]}
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<2x16x7x9xbf16>, %w: tensor<8x16x1x1xbf16>) -> tensor<2x8x7x9xbf16> {
    %y = call @pixels(%x, %w) : (tensor<2x16x7x9xbf16>, tensor<8x16x1x1xbf16>) -> tensor<2x8x7x9xbf16>
    return %y : tensor<2x8x7x9xbf16>
  }
  func.func private @pixels(tensor<2x16x7x9xbf16>, tensor<8x16x1x1xbf16>) -> tensor<2x8x7x9xbf16> attributes {fuse.extern = "aten.convolution.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>, unit, [1 : i64, 1 : i64], [0 : i64, 0 : i64], [1 : i64, 1 : i64], false, [0 : i64, 0 : i64], 1 : i64], fuse.kwargs = {}}
}

// -----

// Must not fire: products of 16 bits are added up in 32, and the call stores 16.
// CHECK: call @integers_of_16(
// SAID: missed: choose-libraries: dtype: @integers_of_16 is the library's: i16 and i16 are not multiplied to i16 by kernels
// LIBRARY: call @integers_of_16(
// GENERATED: call @integers_of_16(
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<4x8xi16>, %w: tensor<8x5xi16>) -> tensor<4x5xi16> {
    %y = call @integers_of_16(%x, %w) : (tensor<4x8xi16>, tensor<8x5xi16>) -> tensor<4x5xi16>
    return %y : tensor<4x5xi16>
  }
  func.func private @integers_of_16(tensor<4x8xi16>, tensor<8x5xi16>) -> tensor<4x5xi16> attributes {fuse.extern = "aten.mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
}

// -----

// On tensor cores, 64 rows of int8 weights: the kernel reads a byte for each weight, the call and what is in front of
// it five.
// CHECK: call @mm(
// LIBRARY: call @mm(
// GENERATED: call @mm_kernel(
// CORES: passed: choose-libraries: kernel, kernel_us={{[0-9.]+}}, call_us={{[0-9.]+}}: @mm becomes a kernel
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<64x4096xbf16>, %q: tensor<4096x8192xi8>) -> tensor<64x8192xbf16> {
    %e = "fuse.empty"() {syms = []} : () -> tensor<4096x8192xbf16>
    %w = call @widen(%q, %e) : (tensor<4096x8192xi8>, tensor<4096x8192xbf16>) -> tensor<4096x8192xbf16>
    %y = call @mm(%x, %w) : (tensor<64x4096xbf16>, tensor<4096x8192xbf16>) -> tensor<64x8192xbf16>
    return %y : tensor<64x8192xbf16>
  }
  func.func private @widen(%x: tensor<4096x8192xi8>, %o: tensor<4096x8192xbf16>) -> tensor<4096x8192xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "4096", d1 = "8192"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0 : i8
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<4096x8192xi8>, i1, i8) -> i8
    %w = arith.sitofp %v : i8 to bf16
    %r = "fuse.store"(%o, %w, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<4096x8192xbf16>, bf16, i1) -> tensor<4096x8192xbf16>
    return %r : tensor<4096x8192xbf16>
  }
  func.func private @mm(tensor<64x4096xbf16>, tensor<4096x8192xbf16>) -> tensor<64x8192xbf16> attributes {fuse.extern = "aten.mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
}

// -----

// Must not fire: 4096 rows of the same weights take so long to multiply that the widened weights cost little.
// CHECK: call @mm(
// LIBRARY: call @mm(
// GENERATED: call @mm_kernel(
// CORES: missed: choose-libraries: library, kernel_us={{[0-9.]+}}, call_us={{[0-9.]+}}: @mm is the library's: a kernel is estimated to take longer
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<4096x4096xbf16>, %q: tensor<4096x8192xi8>) -> tensor<4096x8192xbf16> {
    %e = "fuse.empty"() {syms = []} : () -> tensor<4096x8192xbf16>
    %w = call @widen(%q, %e) : (tensor<4096x8192xi8>, tensor<4096x8192xbf16>) -> tensor<4096x8192xbf16>
    %y = call @mm(%x, %w) : (tensor<4096x4096xbf16>, tensor<4096x8192xbf16>) -> tensor<4096x8192xbf16>
    return %y : tensor<4096x8192xbf16>
  }
  func.func private @widen(%x: tensor<4096x8192xi8>, %o: tensor<4096x8192xbf16>) -> tensor<4096x8192xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "4096", d1 = "8192"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0 : i8
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<4096x8192xi8>, i1, i8) -> i8
    %w = arith.sitofp %v : i8 to bf16
    %r = "fuse.store"(%o, %w, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<4096x8192xbf16>, bf16, i1) -> tensor<4096x8192xbf16>
    return %r : tensor<4096x8192xbf16>
  }
  func.func private @mm(tensor<4096x4096xbf16>, tensor<4096x8192xbf16>) -> tensor<4096x8192xbf16> attributes {fuse.extern = "aten.mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
}

// -----

// The library's GELU on a GPU is the one by tanh, of the sum in f32.
// CHECK: call @activated(
// LIBRARY: call @activated(
// GENERATED: call @activated_kernel(
// GENERATED: "fuse.dot"
// GENERATED: %[[S:.*]] = arith.addf
// GENERATED: math.tanh
// GENERATED-NOT: math.erf
// GENERATED: %[[R:.*]] = arith.truncf %{{.*}} : f32 to bf16
// GENERATED: "fuse.store"(%arg3, %[[R]], %true)
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%c: tensor<48xbf16>, %x: tensor<64x32xbf16>, %w: tensor<32x48xbf16>) -> tensor<64x48xbf16> {
    %y = call @activated(%c, %x, %w) : (tensor<48xbf16>, tensor<64x32xbf16>, tensor<32x48xbf16>) -> tensor<64x48xbf16>
    return %y : tensor<64x48xbf16>
  }
  func.func private @activated(tensor<48xbf16>, tensor<64x32xbf16>, tensor<32x48xbf16>) -> tensor<64x48xbf16> attributes {fuse.extern = "aten._addmm_activation.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>, #fuse.arg<2 : i64>], fuse.kwargs = {use_gelu = true}}
}

// -----

// Without GELU it is ReLU.
// CHECK: call @rectified(
// LIBRARY: call @rectified(
// GENERATED: call @rectified_kernel(
// GENERATED-NOT: math.tanh
// GENERATED: arith.maximumf
// GENERATED-NOT: math.tanh
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%c: tensor<48xbf16>, %x: tensor<64x32xbf16>, %w: tensor<32x48xbf16>) -> tensor<64x48xbf16> {
    %y = call @rectified(%c, %x, %w) : (tensor<48xbf16>, tensor<64x32xbf16>, tensor<32x48xbf16>) -> tensor<64x48xbf16>
    return %y : tensor<64x48xbf16>
  }
  func.func private @rectified(tensor<48xbf16>, tensor<64x32xbf16>, tensor<32x48xbf16>) -> tensor<64x48xbf16> attributes {fuse.extern = "aten._addmm_activation.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>, #fuse.arg<2 : i64>], fuse.kwargs = {use_gelu = false}}
}

// -----

// Must not fire: rows of weights so short that most of a warp would idle.
// CHECK: call @short_sums(
// SAID: missed: choose-libraries: short, kernel_us={{.*}}, call_us={{.*}}: @short_sums is the library's: sums of 255 elements: a kernel is worth it from 256 on [short_sums]
// LIBRARY: call @short_sums(
// GENERATED: call @short_sums_kernel(
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<800000x255xf32>, %w: tensor<255x4xf32, #fuse.layout<"255,4", "1,255", "0", "">>) -> tensor<800000x4xf32> {
    %y = call @short_sums(%x, %w) : (tensor<800000x255xf32>, tensor<255x4xf32, #fuse.layout<"255,4", "1,255", "0", "">>) -> tensor<800000x4xf32>
    return %y : tensor<800000x4xf32>
  }
  func.func private @short_sums(tensor<800000x255xf32>, tensor<255x4xf32, #fuse.layout<"255,4", "1,255", "0", "">>) -> tensor<800000x4xf32> attributes {fuse.extern = "aten.mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
}

// -----

// Must not fire: the number of rows is not known when compiling.
// CHECK: call @some_rows(
// SAID: missed: choose-libraries: sizes, kernel_us={{.*}}, call_us={{.*}}: @some_rows is the library's: sizes that are known when compiling only, but for rows of weights [some_rows]
// LIBRARY: call @some_rows(
// GENERATED: call @some_rows_kernel(
// CORES: missed: choose-libraries: sizes, kernel_us={{.*}}, call_us={{.*}}: @some_rows is the library's: sizes that are known when compiling only [some_rows]
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%s: index {fuse.sym = "s0", fuse.hint = 2 : i64}, %x: tensor<?x4096xbf16, #fuse.layout<"s0,4096", "4096,1", "0", "">>, %w: tensor<4096x14336xbf16, #fuse.layout<"4096,14336", "1,4096", "0", "">>) -> tensor<?x14336xbf16, #fuse.layout<"s0,14336", "14336,1", "0", "">> {
    %y = call @some_rows(%x, %w, %s) : (tensor<?x4096xbf16, #fuse.layout<"s0,4096", "4096,1", "0", "">>, tensor<4096x14336xbf16, #fuse.layout<"4096,14336", "1,4096", "0", "">>, index) -> tensor<?x14336xbf16, #fuse.layout<"s0,14336", "14336,1", "0", "">>
    return %y : tensor<?x14336xbf16, #fuse.layout<"s0,14336", "14336,1", "0", "">>
  }
  func.func private @some_rows(tensor<?x4096xbf16, #fuse.layout<"s0,4096", "4096,1", "0", "">>, tensor<4096x14336xbf16, #fuse.layout<"4096,14336", "1,4096", "0", "">>, index) -> tensor<?x14336xbf16, #fuse.layout<"s0,14336", "14336,1", "0", "">> attributes {fuse.extern = "aten.mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}, fuse.held = array<i64: 2>}
}
