// The address of a table is read from the parameters: PTX with the bits alone as operand makes operands of products
// where these are, in registers.
// RUN: fuse-opt %s --pass-pipeline="builtin.module(choose-tiling,apply-tiling,lower-to-tt)" --split-input-file | FileCheck %s
// RUN: fuse-opt %s --pass-pipeline="builtin.module(choose-tiling,apply-tiling,lower-to-tt)" --split-input-file --verify-each=numeric | FileCheck %s
// RUN: not fuse-opt %s --pass-pipeline="builtin.module(lower-to-tt{tables=1})" --split-input-file 2>&1 | FileCheck %s --check-prefix=BAD

// BAD: pass 'lower-to-tt' has no option 'tables'

// CHECK-LABEL: func.func @main
// CHECK: "tt.elementwise_inline_asm"(%{{[^,]*}}) {asm_string = "{{.*}}ld.param.b64 from, [halves_tt_param_1]; {{.*}}constraints = "=&r,=&r,=&r,=&r,r"
// CHECK-NOT: tt.splat"(%arg1)
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<4096xui8>, %t: tensor<16xf32>) -> tensor<4096xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<4096xf32>
    %y = call @halves(%x, %t, %o) : (tensor<4096xui8>, tensor<16xf32>, tensor<4096xf32>) -> tensor<4096xf32>
    return %y : tensor<4096xf32>
  }
  func.func private @halves(%x: tensor<4096xui8>, %t: tensor<16xf32>, %o: tensor<4096xf32>) -> tensor<4096xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "4096"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %none = arith.constant 0 : i8
    %zero = arith.constant 0.0 : f32
    %four = arith.constant 4 : i8
    %b = "fuse.load"(%x, %true, %none) {at = ["d0"]} : (tensor<4096xui8>, i1, i8) -> i8
    %h = arith.shrui %b, %four : i8
    %i = arith.extui %h : i8 to i64
    %v = "fuse.load"(%t, %true, %zero, %i) {at = ["i0"]} : (tensor<16xf32>, i1, f32, i64) -> f32
    %r = "fuse.store"(%o, %v, %true) {at = ["d0"], mode = "set"} : (tensor<4096xf32>, f32, i1) -> tensor<4096xf32>
    return %r : tensor<4096xf32>
  }
}

// -----

// Must not fire: the table is looked up in memory.
// CHECK-LABEL: func.func @main
// CHECK-NOT: ld.param
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<4096xui8>, %t: tensor<256xf32>) -> tensor<4096xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<4096xf32>
    %y = call @bytes(%x, %t, %o) : (tensor<4096xui8>, tensor<256xf32>, tensor<4096xf32>) -> tensor<4096xf32>
    return %y : tensor<4096xf32>
  }
  func.func private @bytes(%x: tensor<4096xui8>, %t: tensor<256xf32>, %o: tensor<4096xf32>) -> tensor<4096xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "4096"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %none = arith.constant 0 : i8
    %zero = arith.constant 0.0 : f32
    %b = "fuse.load"(%x, %true, %none) {at = ["d0"]} : (tensor<4096xui8>, i1, i8) -> i8
    %i = arith.extui %b : i8 to i64
    %v = "fuse.load"(%t, %true, %zero, %i) {at = ["i0"]} : (tensor<256xf32>, i1, f32, i64) -> f32
    %r = "fuse.store"(%o, %v, %true) {at = ["d0"], mode = "set"} : (tensor<4096xf32>, f32, i1) -> tensor<4096xf32>
    return %r : tensor<4096xf32>
  }
}
