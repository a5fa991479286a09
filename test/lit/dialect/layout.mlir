// Layouts are canonical text: what is printed is what was read.
// RUN: fuse-opt %s | FileCheck %s
// RUN: fuse-opt %s --mlir-print-op-generic | fuse-opt --verify-roundtrip | FileCheck %s

// CHECK: @scalar(tensor<f32>)
func.func private @scalar(tensor<f32>)
// CHECK: @empty(tensor<0x4xf32>)
func.func private @empty(tensor<0x4xf32>)
// CHECK: @empty_with_large_strides(tensor<0x2147483648x2147483648xf32>)
func.func private @empty_with_large_strides(tensor<0x2147483648x2147483648xf32>) attributes {fuse.extern = "test.f.default", fuse.args = [#fuse.arg<0 : i64>], fuse.effect}
// CHECK: @transposed(tensor<4x8xf32, #fuse.layout<"4,8", "1,4", "0", "">>)
func.func private @transposed(tensor<4x8xf32, #fuse.layout<"4,8", "1,4", "0", "">>)
// CHECK: @expanded(tensor<4x8xbf16, #fuse.layout<"4,8", "0,1", "0", "">>)
func.func private @expanded(tensor<4x8xbf16, #fuse.layout<"4,8", "0,1", "0", "">>)
// CHECK: @flipped(tensor<8xui8, #fuse.layout<"8", "-1", "7", "cuda:1">>)
func.func private @flipped(tensor<8xui8, #fuse.layout<"8", "-1", "7", "cuda:1">>)
// CHECK: @sliced(tensor<?x?xi1, #fuse.layout<"s0 - 2,s1", "s1,1", "s1*2", "cpu">>, index {fuse.sym = "s0"}, index {fuse.sym = "s1"})
func.func private @sliced(tensor<?x?xi1, #fuse.layout<"s0 - 2,s1", "s1,1", "s1*2", "cpu">>, index {fuse.sym = "s0"}, index {fuse.sym = "s1"})
// CHECK: @halved(tensor<?xcomplex<f32>, #fuse.layout<"s0 floordiv 2", "2", "0", "">>)
func.func private @halved(tensor<?xcomplex<f32>, #fuse.layout<"s0 floordiv 2", "2", "0", "">>)
