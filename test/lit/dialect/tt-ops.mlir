// Every op of the mirror of Triton's dialect is printed as it was read.
// RUN: fuse-opt %s | FileCheck %s
// RUN: fuse-opt %s | fuse-opt --verify-roundtrip | FileCheck %s

// CHECK: "tt.func"() ({
// CHECK-NEXT: ^bb0(%{{.*}}: !tt.ptr<f32>, %{{.*}}: i32):
"tt.func"() ({
^bb0(%p: !tt.ptr<f32>, %n: i32):
  // CHECK: "tt.get_program_id"() {axis = 0 : i32} : () -> i32
  %pid = "tt.get_program_id"() {axis = 0 : i32} : () -> i32
  // CHECK: "tt.get_num_programs"() {axis = 1 : i32} : () -> i32
  %programs = "tt.get_num_programs"() {axis = 1 : i32} : () -> i32
  // CHECK: "tt.make_range"() {end = 64 : i32, start = 0 : i32} : () -> tensor<64xi32>
  %range = "tt.make_range"() {start = 0 : i32, end = 64 : i32} : () -> tensor<64xi32>
  // CHECK: "tt.splat"(%{{.*}}) : (i32) -> tensor<64xi32>
  %limit = "tt.splat"(%n) : (i32) -> tensor<64xi32>
  %mask = arith.cmpi slt, %range, %limit : tensor<64xi32>
  %base = "tt.splat"(%p) : (!tt.ptr<f32>) -> tensor<64x!tt.ptr<f32>>
  // CHECK: "tt.addptr"(%{{.*}}) : (tensor<64x!tt.ptr<f32>>, tensor<64xi32>) -> tensor<64x!tt.ptr<f32>>
  %at = "tt.addptr"(%base, %range) : (tensor<64x!tt.ptr<f32>>, tensor<64xi32>) -> tensor<64x!tt.ptr<f32>>
  %zero = arith.constant dense<0.0> : tensor<64xf32>
  // CHECK: "tt.load"(%{{.*}}) {operandSegmentSizes = array<i32: 1, 1, 1>} : (tensor<64x!tt.ptr<f32>>, tensor<64xi1>, tensor<64xf32>) -> tensor<64xf32>
  %v = "tt.load"(%at, %mask, %zero) {operandSegmentSizes = array<i32: 1, 1, 1>} : (tensor<64x!tt.ptr<f32>>, tensor<64xi1>, tensor<64xf32>) -> tensor<64xf32>
  // CHECK: "tt.load"(%{{.*}}) {{{.*}}cache = 3 : i32, evict = 2 : i32{{.*}}} : (!tt.ptr<f32>) -> f32
  %s = "tt.load"(%p) {cache = 3 : i32, evict = 2 : i32, operandSegmentSizes = array<i32: 1, 0, 0>} : (!tt.ptr<f32>) -> f32
  // CHECK: "tt.store"(%{{.*}}) : (tensor<64x!tt.ptr<f32>>, tensor<64xf32>, tensor<64xi1>) -> ()
  "tt.store"(%at, %v, %mask) : (tensor<64x!tt.ptr<f32>>, tensor<64xf32>, tensor<64xi1>) -> ()
  // CHECK: "tt.atomic_rmw"(%{{.*}}) {atomic_rmw_op = 5 : i32, scope = 1 : i32, sem = 1 : i32}
  %old = "tt.atomic_rmw"(%at, %v, %mask) {atomic_rmw_op = 5 : i32, sem = 1 : i32, scope = 1 : i32} : (tensor<64x!tt.ptr<f32>>, tensor<64xf32>, tensor<64xi1>) -> tensor<64xf32>
  // CHECK: "tt.bitcast"(%{{.*}}) : (!tt.ptr<f32>) -> !tt.ptr<i32>
  %q = "tt.bitcast"(%p) : (!tt.ptr<f32>) -> !tt.ptr<i32>
  // CHECK: "tt.atomic_cas"(%{{.*}}) {scope = 1 : i32, sem = 4 : i32} : (!tt.ptr<i32>, i32, i32) -> i32
  %won = "tt.atomic_cas"(%q, %pid, %programs) {sem = 4 : i32, scope = 1 : i32} : (!tt.ptr<i32>, i32, i32) -> i32
  %address = arith.constant 0 : i64
  // CHECK: "tt.int_to_ptr"(%{{.*}}) : (i64) -> !tt.ptr<f32>
  %from = "tt.int_to_ptr"(%address) : (i64) -> !tt.ptr<f32>
  // CHECK: "tt.assert"(%{{.*}}) {message = "in range"} : (tensor<64xi1>) -> ()
  "tt.assert"(%mask) {message = "in range"} : (tensor<64xi1>) -> ()
  // CHECK: "tt.return"() : () -> ()
  "tt.return"() : () -> ()
}) {function_type = (!tt.ptr<f32>, i32) -> (), sym_name = "memory", sym_visibility = "public", arg_attrs = [{tt.divisibility = 16 : i32}, {}]} : () -> ()

// CHECK: }) {arg_attrs = [{tt.divisibility = 16 : i32}, {}], function_type = (!tt.ptr<f32>, i32) -> (), sym_name = "memory", sym_visibility = "public"} : () -> ()
// CHECK: "tt.func"() ({
"tt.func"() ({
^bb0:
  %a = arith.constant dense<1.0> : tensor<16x32xf32>
  %x = arith.constant dense<1.0> : tensor<16xf32>
  %i = arith.constant dense<1> : tensor<16xi32>
  // CHECK: "tt.expand_dims"(%{{.*}}) {axis = 1 : i32} : (tensor<16xf32>) -> tensor<16x1xf32>
  %column = "tt.expand_dims"(%x) {axis = 1 : i32} : (tensor<16xf32>) -> tensor<16x1xf32>
  // CHECK: "tt.broadcast"(%{{.*}}) : (tensor<16x1xf32>) -> tensor<16x32xf32>
  %wide = "tt.broadcast"(%column) : (tensor<16x1xf32>) -> tensor<16x32xf32>
  // CHECK: "tt.trans"(%{{.*}}) {order = array<i32: 1, 0>} : (tensor<16x32xf32>) -> tensor<32x16xf32>
  %b = "tt.trans"(%wide) {order = array<i32: 1, 0>} : (tensor<16x32xf32>) -> tensor<32x16xf32>
  // CHECK: "tt.reshape"(%{{.*}}) : (tensor<16x32xf32>) -> tensor<512xf32>
  %flat = "tt.reshape"(%a) : (tensor<16x32xf32>) -> tensor<512xf32>
  %c = arith.constant dense<0.0> : tensor<16x16xf32>
  // CHECK: "tt.dot"(%{{.*}}) {inputPrecision = 2 : i32, maxNumImpreciseAcc = 0 : i32}
  %d = "tt.dot"(%a, %b, %c) {inputPrecision = 2 : i32, maxNumImpreciseAcc = 0 : i32} : (tensor<16x32xf32>, tensor<32x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  // CHECK: "tt.reduce"(%{{.*}}) ({
  // CHECK: "tt.reduce_return"(%{{.*}}) : (f32) -> ()
  // CHECK-NEXT: }) {axis = 1 : i32} : (tensor<16x32xf32>) -> tensor<16xf32>
  %sum = "tt.reduce"(%a) ({
  ^bb0(%l: f32, %r: f32):
    %s = arith.addf %l, %r : f32
    "tt.reduce_return"(%s) : (f32) -> ()
  }) {axis = 1 : i32} : (tensor<16x32xf32>) -> tensor<16xf32>
  // CHECK: "tt.reduce_2"(%{{.*}})
  // CHECK: "tt.reduce_return_2"(%{{.*}}) : (f32, i32) -> ()
  %best, %where = "tt.reduce_2"(%x, %i) ({
  ^bb0(%l: f32, %li: i32, %r: f32, %ri: i32):
    "tt.reduce_return_2"(%l, %li) : (f32, i32) -> ()
  }) {axis = 0 : i32} : (tensor<16xf32>, tensor<16xi32>) -> (f32, i32)
  // CHECK: "tt.reduce_3"(%{{.*}})
  // CHECK: "tt.reduce_return_3"(%{{.*}}) : (f32, f32, f32) -> ()
  %mean, %m2, %count = "tt.reduce_3"(%x, %x, %x) ({
  ^bb0(%l0: f32, %l1: f32, %l2: f32, %r0: f32, %r1: f32, %r2: f32):
    "tt.reduce_return_3"(%l0, %l1, %r2) : (f32, f32, f32) -> ()
  }) {axis = 0 : i32} : (tensor<16xf32>, tensor<16xf32>, tensor<16xf32>) -> (f32, f32, f32)
  // CHECK: "tt.scan"(%{{.*}}) ({
  // CHECK: "tt.scan_return"(%{{.*}}) : (f32) -> ()
  // CHECK-NEXT: }) {axis = 0 : i32, reverse = false} : (tensor<16xf32>) -> tensor<16xf32>
  %prefix = "tt.scan"(%x) ({
  ^bb0(%l: f32, %r: f32):
    "tt.scan_return"(%r) : (f32) -> ()
  }) {axis = 0 : i32, reverse = false} : (tensor<16xf32>) -> tensor<16xf32>
  // CHECK: "tt.extern_elementwise"(%{{.*}}) {libname = "", libpath = "", pure = true, symbol = "__nv_erff"} : (tensor<16xf32>) -> tensor<16xf32>
  %erf = "tt.extern_elementwise"(%x) {libname = "", libpath = "", pure = true, symbol = "__nv_erff"} : (tensor<16xf32>) -> tensor<16xf32>
  // CHECK: "tt.clampf"(%{{.*}}) {propagateNan = 65535 : i32}
  %clamped = "tt.clampf"(%x, %sum, %erf) {propagateNan = 65535 : i32} : (tensor<16xf32>, tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
  // CHECK: "tt.fp_to_fp"(%{{.*}}) {rounding = 1 : i32} : (tensor<16xf32>) -> tensor<16xf8E4M3FN>
  %narrow = "tt.fp_to_fp"(%x) {rounding = 1 : i32} : (tensor<16xf32>) -> tensor<16xf8E4M3FN>
  // CHECK: "tt.precise_sqrt"(%{{.*}}) : (tensor<16xf32>) -> tensor<16xf32>
  %root = "tt.precise_sqrt"(%x) : (tensor<16xf32>) -> tensor<16xf32>
  // CHECK: "tt.precise_divf"(%{{.*}}) : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
  %ratio = "tt.precise_divf"(%x, %root) : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
  // CHECK: "tt.mulhiui"(%{{.*}}) : (tensor<16xi32>, tensor<16xi32>) -> tensor<16xi32>
  %high = "tt.mulhiui"(%i, %i) : (tensor<16xi32>, tensor<16xi32>) -> tensor<16xi32>
  // CHECK: "tt.join"(%{{.*}}) : (tensor<16xf32>, tensor<16xf32>) -> tensor<16x2xf32>
  %pairs = "tt.join"(%x, %root) : (tensor<16xf32>, tensor<16xf32>) -> tensor<16x2xf32>
  // CHECK: "tt.split"(%{{.*}}) : (tensor<16x2xf32>) -> (tensor<16xf32>, tensor<16xf32>)
  %left, %right = "tt.split"(%pairs) : (tensor<16x2xf32>) -> (tensor<16xf32>, tensor<16xf32>)
  %three = arith.constant 3 : i32
  // CHECK: "tt.elementwise_inline_asm"(%{{.*}}) {asm_string = "mov.b64 $0, 1;", constraints = "=l,r", packed_element = 1 : i32, pure = true} : (i32) -> i64
  %asm = "tt.elementwise_inline_asm"(%three) {asm_string = "mov.b64 $0, 1;", constraints = "=l,r", packed_element = 1 : i32, pure = true} : (i32) -> i64
  // CHECK: "tt.elementwise_inline_asm_2"(%{{.*}}, %{{.*}}) {asm_string = "mov.b64 $0, $2;", constraints = "=l,r,l", packed_element = 1 : i32, pure = true} : (i32, i64) -> i64
  %asm2 = "tt.elementwise_inline_asm_2"(%three, %asm) {asm_string = "mov.b64 $0, $2;", constraints = "=l,r,l", packed_element = 1 : i32, pure = true} : (i32, i64) -> i64
  "tt.return"() : () -> ()
}) {function_type = () -> (), sym_name = "arithmetic", sym_visibility = "public"} : () -> ()

// What users' kernels have, and this compiler does not emit.
// CHECK: "tt.func"() ({
"tt.func"() ({
^bb0(%p: !tt.ptr<f32>, %n: i32):
  %x = arith.constant dense<1.0> : tensor<16xf32>
  %i = arith.constant dense<1> : tensor<16xi32>
  %one = arith.constant 1 : i64
  // CHECK: "tt.reduce_4"(%{{.*}})
  // CHECK: "tt.reduce_return_4"(%{{.*}}) : (f32, f32, f32, f32) -> ()
  %reduce4:4 = "tt.reduce_4"(%x, %x, %x, %x) ({
  ^bb0(%l0: f32, %l1: f32, %l2: f32, %l3: f32, %r0: f32, %r1: f32, %r2: f32, %r3: f32):
    "tt.reduce_return_4"(%l0, %l1, %l2, %l3) : (f32, f32, f32, f32) -> ()
  }) {axis = 0 : i32} : (tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>) -> (f32, f32, f32, f32)
  // CHECK: "tt.reduce_5"(%{{.*}})
  // CHECK: "tt.reduce_return_5"(%{{.*}}) : (f32, f32, f32, f32, f32) -> ()
  %reduce5:5 = "tt.reduce_5"(%x, %x, %x, %x, %x) ({
  ^bb0(%l0: f32, %l1: f32, %l2: f32, %l3: f32, %l4: f32, %r0: f32, %r1: f32, %r2: f32, %r3: f32, %r4: f32):
    "tt.reduce_return_5"(%l0, %l1, %l2, %l3, %l4) : (f32, f32, f32, f32, f32) -> ()
  }) {axis = 0 : i32} : (tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>) -> (f32, f32, f32, f32, f32)
  // CHECK: "tt.scan_2"(%{{.*}})
  // CHECK: "tt.scan_return_2"(%{{.*}}) : (f32, f32) -> ()
  %scan2:2 = "tt.scan_2"(%x, %x) ({
  ^bb0(%l0: f32, %l1: f32, %r0: f32, %r1: f32):
    "tt.scan_return_2"(%l0, %l1) : (f32, f32) -> ()
  }) {axis = 0 : i32, reverse = false} : (tensor<16xf32>, tensor<16xf32>) -> (tensor<16xf32>, tensor<16xf32>)
  // CHECK: "tt.scan_3"(%{{.*}})
  // CHECK: "tt.scan_return_3"(%{{.*}}) : (f32, f32, f32) -> ()
  %scan3:3 = "tt.scan_3"(%x, %x, %x) ({
  ^bb0(%l0: f32, %l1: f32, %l2: f32, %r0: f32, %r1: f32, %r2: f32):
    "tt.scan_return_3"(%l0, %l1, %l2) : (f32, f32, f32) -> ()
  }) {axis = 0 : i32, reverse = false} : (tensor<16xf32>, tensor<16xf32>, tensor<16xf32>) -> (tensor<16xf32>, tensor<16xf32>, tensor<16xf32>)
  // CHECK: "tt.scan_4"(%{{.*}})
  // CHECK: "tt.scan_return_4"(%{{.*}}) : (f32, f32, f32, f32) -> ()
  %scan4:4 = "tt.scan_4"(%x, %x, %x, %x) ({
  ^bb0(%l0: f32, %l1: f32, %l2: f32, %l3: f32, %r0: f32, %r1: f32, %r2: f32, %r3: f32):
    "tt.scan_return_4"(%l0, %l1, %l2, %l3) : (f32, f32, f32, f32) -> ()
  }) {axis = 0 : i32, reverse = false} : (tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>) -> (tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>)
  // CHECK: "tt.scan_5"(%{{.*}})
  // CHECK: "tt.scan_return_5"(%{{.*}}) : (f32, f32, f32, f32, f32) -> ()
  %scan5:5 = "tt.scan_5"(%x, %x, %x, %x, %x) ({
  ^bb0(%l0: f32, %l1: f32, %l2: f32, %l3: f32, %l4: f32, %r0: f32, %r1: f32, %r2: f32, %r3: f32, %r4: f32):
    "tt.scan_return_5"(%l0, %l1, %l2, %l3, %l4) : (f32, f32, f32, f32, f32) -> ()
  }) {axis = 0 : i32, reverse = false} : (tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>) -> (tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>)
  // CHECK: "tt.histogram"(%{{.*}}) : (tensor<16xi32>) -> tensor<8xi32>
  %bins = "tt.histogram"(%i) : (tensor<16xi32>) -> tensor<8xi32>
  // CHECK: "tt.gather"(%{{.*}}) {axis = 0 : i32} : (tensor<16xf32>, tensor<16xi32>) -> tensor<16xf32>
  %taken = "tt.gather"(%x, %i) {axis = 0 : i32} : (tensor<16xf32>, tensor<16xi32>) -> tensor<16xf32>
  // CHECK: "tt.cat"(%{{.*}}) : (tensor<16xf32>, tensor<16xf32>) -> tensor<32xf32>
  %both = "tt.cat"(%x, %taken) : (tensor<16xf32>, tensor<16xf32>) -> tensor<32xf32>
  // CHECK: "tt.ptr_to_int"(%{{.*}}) : (!tt.ptr<f32>) -> i64
  %address = "tt.ptr_to_int"(%p) : (!tt.ptr<f32>) -> i64
  %a = arith.constant dense<1> : tensor<32x32xi8>
  %scale = arith.constant dense<127> : tensor<32x1xi8>
  %sums = arith.constant dense<0.0> : tensor<32x32xf32>
  // CHECK: "tt.dot_scaled"(%{{.*}}) {a_elem_type = 0 : i32
  %scaled = "tt.dot_scaled"(%a, %a, %sums, %scale, %scale) {a_elem_type = 0 : i32, b_elem_type = 0 : i32, fastMath = false, lhs_k_pack = true, rhs_k_pack = true, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1>} : (tensor<32x32xi8>, tensor<32x32xi8>, tensor<32x32xf32>, tensor<32x1xi8>, tensor<32x1xi8>) -> tensor<32x32xf32>
  // CHECK: "tt.print_0"() {hex = false
  "tt.print_0"() {prefix = " n: ", hex = false, isSigned = array<i32>} : () -> ()
  // CHECK: "tt.print"(%{{.*}}) {hex = false
  "tt.print"(%n) {prefix = " n: ", hex = false, isSigned = array<i32: 1>} : (i32) -> ()
  // CHECK: "tt.print_2"(%{{.*}}) {hex = false
  "tt.print_2"(%n, %x) {prefix = " n: ", hex = false, isSigned = array<i32: 1, 1>} : (i32, tensor<16xf32>) -> ()
  // CHECK: "tt.print_3"(%{{.*}}) {hex = false
  "tt.print_3"(%n, %x, %i) {prefix = " n: ", hex = false, isSigned = array<i32: 1, 1, 1>} : (i32, tensor<16xf32>, tensor<16xi32>) -> ()
  // CHECK: "tt.print_4"(%{{.*}}) {hex = false
  "tt.print_4"(%n, %x, %i, %one) {prefix = " n: ", hex = false, isSigned = array<i32: 1, 1, 1, 1>} : (i32, tensor<16xf32>, tensor<16xi32>, i64) -> ()
  // CHECK: "tt.print_5"(%{{.*}}) {hex = false
  "tt.print_5"(%n, %x, %i, %one, %p) {prefix = " n: ", hex = false, isSigned = array<i32: 1, 1, 1, 1, 1>} : (i32, tensor<16xf32>, tensor<16xi32>, i64, !tt.ptr<f32>) -> ()
  // CHECK: "tt.make_tensor_descriptor"(%{{.*}}) {padding = 1 : i32}
  %d1 = "tt.make_tensor_descriptor"(%p, %n, %one) {padding = 1 : i32} : (!tt.ptr<f32>, i32, i64) -> !tt.tensordesc<tensor<16xf32>>
  // CHECK: "tt.make_tensor_descriptor_2"(%{{.*}}) {padding = 1 : i32}
  %d2 = "tt.make_tensor_descriptor_2"(%p, %n, %n, %one, %one) {padding = 1 : i32} : (!tt.ptr<f32>, i32, i32, i64, i64) -> !tt.tensordesc<tensor<1x16xf32>>
  // CHECK: "tt.make_tensor_descriptor_3"(%{{.*}}) {padding = 1 : i32}
  %d3 = "tt.make_tensor_descriptor_3"(%p, %n, %n, %n, %one, %one, %one) {padding = 1 : i32} : (!tt.ptr<f32>, i32, i32, i32, i64, i64, i64) -> !tt.tensordesc<tensor<1x1x16xf32>>
  // CHECK: "tt.make_tensor_descriptor_4"(%{{.*}}) {padding = 1 : i32}
  %d4 = "tt.make_tensor_descriptor_4"(%p, %n, %n, %n, %n, %one, %one, %one, %one) {padding = 1 : i32} : (!tt.ptr<f32>, i32, i32, i32, i32, i64, i64, i64, i64) -> !tt.tensordesc<tensor<1x1x1x16xf32>>
  // CHECK: "tt.make_tensor_descriptor_5"(%{{.*}}) {padding = 1 : i32}
  %d5 = "tt.make_tensor_descriptor_5"(%p, %n, %n, %n, %n, %n, %one, %one, %one, %one, %one) {padding = 1 : i32} : (!tt.ptr<f32>, i32, i32, i32, i32, i32, i64, i64, i64, i64, i64) -> !tt.tensordesc<tensor<1x1x1x1x16xf32>>
  // CHECK: "tt.descriptor_load"(%{{.*}}) : (!tt.tensordesc<tensor<16xf32>>, i32) -> tensor<16xf32>
  %tile = "tt.descriptor_load"(%d1, %n) : (!tt.tensordesc<tensor<16xf32>>, i32) -> tensor<16xf32>
  // CHECK: "tt.descriptor_store"(%{{.*}}) : (!tt.tensordesc<tensor<16xf32>>, tensor<16xf32>, i32) -> ()
  "tt.descriptor_store"(%d1, %tile, %n) : (!tt.tensordesc<tensor<16xf32>>, tensor<16xf32>, i32) -> ()
  // CHECK: "tt.descriptor_reduce"(%{{.*}}) {kind = 1 : i32} : (!tt.tensordesc<tensor<16xf32>>, tensor<16xf32>, i32) -> ()
  "tt.descriptor_reduce"(%d1, %tile, %n) {kind = 1 : i32} : (!tt.tensordesc<tensor<16xf32>>, tensor<16xf32>, i32) -> ()
  // CHECK: "tt.descriptor_gather"(%{{.*}}) : (!tt.tensordesc<tensor<1x16xf32>>, tensor<16xi32>, i32) -> tensor<16x16xf32>
  %rows = "tt.descriptor_gather"(%d2, %i, %n) : (!tt.tensordesc<tensor<1x16xf32>>, tensor<16xi32>, i32) -> tensor<16x16xf32>
  // CHECK: "tt.descriptor_scatter"(%{{.*}}) : (!tt.tensordesc<tensor<1x16xf32>>, tensor<16xi32>, i32, tensor<16x16xf32>) -> ()
  "tt.descriptor_scatter"(%d2, %i, %n, %rows) : (!tt.tensordesc<tensor<1x16xf32>>, tensor<16xi32>, i32, tensor<16x16xf32>) -> ()
  "tt.return"() : () -> ()
}) {function_type = (!tt.ptr<f32>, i32) -> (), sym_name = "of_users", sym_visibility = "public"} : () -> ()

// Products that Triton takes from its users: one row and column, sums of f16, 8-bit floats of two kinds, few
// elements of 32 and 64 bits that are summed.
// CHECK-LABEL: func.func private @products
func.func private @products(
    %a0: tensor<1x16xbf16>, %b0: tensor<16x1xbf16>, %c0: tensor<1x1xf32>,
    %a1: tensor<16x16xf16>, %b1: tensor<16x16xf16>, %c1: tensor<16x16xf16>,
    %a2: tensor<32x32xf8E4M3FN>, %b2: tensor<32x32xf8E5M2>, %c2: tensor<32x32xf16>,
    %a3: tensor<16x32xi8>, %b3: tensor<32x16xi8>, %c3: tensor<16x16xi32>,
    %a4: tensor<16x8xf32>, %b4: tensor<8x16xf32>, %c4: tensor<16x16xf32>,
    %a5: tensor<16x4xf64>, %b5: tensor<4x16xf64>, %c5: tensor<16x16xf64>) {
  // CHECK: "tt.dot"({{.*}}) {inputPrecision = 2 : i32, maxNumImpreciseAcc = 0 : i32} : (tensor<1x16xbf16>, tensor<16x1xbf16>, tensor<1x1xf32>) -> tensor<1x1xf32>
  %d0 = "tt.dot"(%a0, %b0, %c0) {inputPrecision = 2 : i32, maxNumImpreciseAcc = 0 : i32} : (tensor<1x16xbf16>, tensor<16x1xbf16>, tensor<1x1xf32>) -> tensor<1x1xf32>
  // CHECK: "tt.dot"({{.*}}) {inputPrecision = 2 : i32, maxNumImpreciseAcc = 0 : i32} : (tensor<16x16xf16>, tensor<16x16xf16>, tensor<16x16xf16>) -> tensor<16x16xf16>
  %d1 = "tt.dot"(%a1, %b1, %c1) {inputPrecision = 2 : i32, maxNumImpreciseAcc = 0 : i32} : (tensor<16x16xf16>, tensor<16x16xf16>, tensor<16x16xf16>) -> tensor<16x16xf16>
  // CHECK: "tt.dot"({{.*}}) {inputPrecision = 2 : i32, maxNumImpreciseAcc = 0 : i32} : (tensor<32x32xf8E4M3FN>, tensor<32x32xf8E5M2>, tensor<32x32xf16>) -> tensor<32x32xf16>
  %d2 = "tt.dot"(%a2, %b2, %c2) {inputPrecision = 2 : i32, maxNumImpreciseAcc = 0 : i32} : (tensor<32x32xf8E4M3FN>, tensor<32x32xf8E5M2>, tensor<32x32xf16>) -> tensor<32x32xf16>
  // CHECK: "tt.dot"({{.*}}) {inputPrecision = 2 : i32, maxNumImpreciseAcc = 0 : i32} : (tensor<16x32xi8>, tensor<32x16xi8>, tensor<16x16xi32>) -> tensor<16x16xi32>
  %d3 = "tt.dot"(%a3, %b3, %c3) {inputPrecision = 2 : i32, maxNumImpreciseAcc = 0 : i32} : (tensor<16x32xi8>, tensor<32x16xi8>, tensor<16x16xi32>) -> tensor<16x16xi32>
  // CHECK: "tt.dot"({{.*}}) {inputPrecision = 4 : i32, maxNumImpreciseAcc = 0 : i32} : (tensor<16x8xf32>, tensor<8x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  %d4 = "tt.dot"(%a4, %b4, %c4) {inputPrecision = 4 : i32, maxNumImpreciseAcc = 0 : i32} : (tensor<16x8xf32>, tensor<8x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  // CHECK: "tt.dot"({{.*}}) {inputPrecision = 0 : i32, maxNumImpreciseAcc = 0 : i32} : (tensor<16x4xf64>, tensor<4x16xf64>, tensor<16x16xf64>) -> tensor<16x16xf64>
  %d5 = "tt.dot"(%a5, %b5, %c5) {inputPrecision = 0 : i32, maxNumImpreciseAcc = 0 : i32} : (tensor<16x4xf64>, tensor<4x16xf64>, tensor<16x16xf64>) -> tensor<16x16xf64>
  return
}
