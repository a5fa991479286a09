// softmax(2 * x) over the rows of an 8x64 matrix, as two kernels. A kernel is a function of scalar code over named dims (`fuse.dims`);
// it stores into an argument and returns that argument's new value (`fuse.ties`). Try:
//
//     fuse-opt examples/softmax.mlir --pass-pipeline='builtin.module(fuse-vertical,materialize-fusion,eliminate-dead)'
func.func @main(%x: tensor<8x64xf32>) -> tensor<8x64xf32> {
  %0 = "fuse.empty"() {syms = []} : () -> tensor<8x64xf32>
  %1 = call @double(%x, %0) : (tensor<8x64xf32>, tensor<8x64xf32>) -> tensor<8x64xf32>
  %2 = "fuse.empty"() {syms = []} : () -> tensor<8x64xf32>
  %3 = call @softmax(%1, %2) : (tensor<8x64xf32>, tensor<8x64xf32>) -> tensor<8x64xf32>
  return %3 : tensor<8x64xf32>
}
func.func private @double(%x: tensor<8x64xf32>, %out: tensor<8x64xf32>) -> tensor<8x64xf32>
    attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "64"}, fuse.ties = array<i64: 1>} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : f32
  %two = arith.constant 2.0 : f32
  %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<8x64xf32>, i1, f32) -> f32
  %w = arith.mulf %v, %two : f32
  %r = "fuse.store"(%out, %w, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<8x64xf32>, f32, i1) -> tensor<8x64xf32>
  return %r : tensor<8x64xf32>
}
func.func private @softmax(%x: tensor<8x64xf32>, %out: tensor<8x64xf32>) -> tensor<8x64xf32>
    attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "64"}, fuse.ties = array<i64: 1>} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : f32
  %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<8x64xf32>, i1, f32) -> f32
  %max = "fuse.reduce"(%v) {kind = "max", over = ["d1"]} : (f32) -> f32
  %c = arith.subf %v, %max : f32
  %e = math.exp %c : f32
  %sum = "fuse.reduce"(%e) {kind = "sum", over = ["d1"]} : (f32) -> f32
  %q = arith.divf %e, %sum : f32
  %r = "fuse.store"(%out, %q, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<8x64xf32>, f32, i1) -> tensor<8x64xf32>
  return %r : tensor<8x64xf32>
}
