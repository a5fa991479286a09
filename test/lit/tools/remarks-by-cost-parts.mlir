// What a missed fusion costs are the bytes that both kernels load, not those of the whole tensor.
// RUN: fuse-opt %s --pass-pipeline="builtin.module(fuse-horizontal{hardware=h100})" --remarks=text --sort=cost -o %t 2>&1 | FileCheck %s
// RUN: not fuse-opt %s --pass-pipeline="builtin.module(fuse-horizontal{hardware=h100})" --remarks=csv --sort=cost 2>&1 | FileCheck %s --check-prefix=BAD

// 128 rows of 64 columns; every other one of these rows; no row, which leaves a launch.
// CHECK: 2.01 us, 32768 bytes: missed: fuse-horizontal: {{.*}}: sums and first stay apart
// CHECK-NEXT: 2.01 us, 32768 bytes: missed: fuse-horizontal: {{.*}}: sums and second stay apart
// CHECK-NEXT: 2.00 us, 16384 bytes: missed: fuse-horizontal: {{.*}}: sums and across stay apart
// CHECK-NEXT: 2.00 us, 0 bytes: missed: fuse-horizontal: {{.*}}: first and second stay apart
// CHECK-NEXT: 2.00 us, 0 bytes: missed: fuse-horizontal: {{.*}}: first and across stay apart
// CHECK-NEXT: 2.00 us, 16384 bytes: missed: fuse-horizontal: {{.*}}: second and across stay apart
// BAD: argument --remarks: invalid choice: 'csv'
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<1024x64xf32>) -> (tensor<1024xf32>, tensor<128x64xf32>, tensor<64x128xf32>, tensor<64x64xf32>) {
    %0 = "fuse.empty"() {syms = []} : () -> tensor<1024xf32>
    %1 = call @sums(%x, %0) : (tensor<1024x64xf32>, tensor<1024xf32>) -> tensor<1024xf32>
    %2 = "fuse.empty"() {syms = []} : () -> tensor<128x64xf32>
    %3 = call @first(%x, %2) : (tensor<1024x64xf32>, tensor<128x64xf32>) -> tensor<128x64xf32>
    %4 = "fuse.empty"() {syms = []} : () -> tensor<64x128xf32>
    %5 = call @second(%x, %4) : (tensor<1024x64xf32>, tensor<64x128xf32>) -> tensor<64x128xf32>
    %6 = "fuse.empty"() {syms = []} : () -> tensor<64x64xf32>
    %7 = call @across(%x, %6) : (tensor<1024x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    return %1, %3, %5, %7 : tensor<1024xf32>, tensor<128x64xf32>, tensor<64x128xf32>, tensor<64x64xf32>
  }
  func.func private @sums(%x: tensor<1024x64xf32>, %o: tensor<1024xf32>) -> tensor<1024xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "1024", d1 = "64"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<1024x64xf32>, i1, f32) -> f32
    %m = "fuse.reduce"(%v) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %r = "fuse.store"(%o, %m, %true) {at = ["d0"], mode = "set"} : (tensor<1024xf32>, f32, i1) -> tensor<1024xf32>
    return %r : tensor<1024xf32>
  }
  func.func private @first(%x: tensor<1024x64xf32>, %o: tensor<128x64xf32>) -> tensor<128x64xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "128", d1 = "64"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<1024x64xf32>, i1, f32) -> f32
    %n = math.exp %v : f32
    %r = "fuse.store"(%o, %n, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<128x64xf32>, f32, i1) -> tensor<128x64xf32>
    return %r : tensor<128x64xf32>
  }
  func.func private @second(%x: tensor<1024x64xf32>, %o: tensor<64x128xf32>) -> tensor<64x128xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "64", d1 = "128"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d1 + 128", "d0"]} : (tensor<1024x64xf32>, i1, f32) -> f32
    %n = math.exp %v : f32
    %r = "fuse.store"(%o, %n, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<64x128xf32>, f32, i1) -> tensor<64x128xf32>
    return %r : tensor<64x128xf32>
  }
  func.func private @across(%x: tensor<1024x64xf32>, %o: tensor<64x64xf32>) -> tensor<64x64xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "64", d1 = "64"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0 * 2 + 128", "d1"]} : (tensor<1024x64xf32>, i1, f32) -> f32
    %n = math.exp %v : f32
    %r = "fuse.store"(%o, %n, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<64x64xf32>, f32, i1) -> tensor<64x64xf32>
    return %r : tensor<64x64xf32>
  }
}
