// What a function of tile code reads and writes, for each pointer and for each access.
// RUN: fuse-opt %s --fuse-print-user-kernels --split-input-file -o %t 2>&1 | FileCheck %s

// A masked load and a store in a loop that moves its pointer.
// CHECK: @walk
// CHECK-NEXT: argument 0: read
// CHECK-NEXT: argument 1: written
// CHECK-NEXT: tt.load 0 at l0 + p0*64 over 64: where l0 + p0*64 < a2
// CHECK-NEXT: tt.store 1 at a2*t0 + l0 over 64, for t0: 0 to a2 by 1: all
"tt.func"() ({
^bb0(%x: !tt.ptr<f32>, %y: !tt.ptr<f32>, %n: i32):
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %block = arith.constant 64 : i32
  %pid = "tt.get_program_id"() {axis = 0 : i32} : () -> i32
  %begin = arith.muli %pid, %block : i32
  %begins = "tt.splat"(%begin) : (i32) -> tensor<64xi32>
  %range = "tt.make_range"() {start = 0 : i32, end = 64 : i32} : () -> tensor<64xi32>
  %i = arith.addi %begins, %range : tensor<64xi32>
  %limit = "tt.splat"(%n) : (i32) -> tensor<64xi32>
  %mask = arith.cmpi slt, %i, %limit : tensor<64xi32>
  %xs = "tt.splat"(%x) : (!tt.ptr<f32>) -> tensor<64x!tt.ptr<f32>>
  %from = "tt.addptr"(%xs, %i) : (tensor<64x!tt.ptr<f32>>, tensor<64xi32>) -> tensor<64x!tt.ptr<f32>>
  %v = "tt.load"(%from, %mask) {operandSegmentSizes = array<i32: 1, 1, 0>} : (tensor<64x!tt.ptr<f32>>, tensor<64xi1>) -> tensor<64xf32>
  %ys = "tt.splat"(%y) : (!tt.ptr<f32>) -> tensor<64x!tt.ptr<f32>>
  %to = "tt.addptr"(%ys, %range) : (tensor<64x!tt.ptr<f32>>, tensor<64xi32>) -> tensor<64x!tt.ptr<f32>>
  %end = scf.for %k = %zero to %n step %one iter_args(%at = %to) -> (tensor<64x!tt.ptr<f32>>) : i32 {
    "tt.store"(%at, %v) : (tensor<64x!tt.ptr<f32>>, tensor<64xf32>) -> ()
    %next = "tt.addptr"(%at, %limit) : (tensor<64x!tt.ptr<f32>>, tensor<64xi32>) -> tensor<64x!tt.ptr<f32>>
    scf.yield %next : tensor<64x!tt.ptr<f32>>
  }
  "tt.return"() : () -> ()
}) {function_type = (!tt.ptr<f32>, !tt.ptr<f32>, i32) -> (), sym_name = "walk", sym_visibility = "public", arg_attrs = []} : () -> ()

// -----

// Two pointers that change places in each turn are both read and written.  Where is not known.
// CHECK: @swap
// CHECK-NEXT: argument 0: read, written
// CHECK-NEXT: argument 1: read, written
// CHECK-NEXT: tt.load 0 or 1 at unknown elements, for t0: 0 to a2 by 1: all
// CHECK-NEXT: tt.store 0 or 1 at unknown elements, for t0: 0 to a2 by 1: all
"tt.func"() ({
^bb0(%x: !tt.ptr<f32>, %y: !tt.ptr<f32>, %n: i32):
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %end:2 = scf.for %k = %zero to %n step %one iter_args(%a = %x, %b = %y) -> (!tt.ptr<f32>, !tt.ptr<f32>) : i32 {
    %v = "tt.load"(%a) {operandSegmentSizes = array<i32: 1, 0, 0>} : (!tt.ptr<f32>) -> f32
    "tt.store"(%b, %v) : (!tt.ptr<f32>, f32) -> ()
    scf.yield %b, %a : !tt.ptr<f32>, !tt.ptr<f32>
  }
  "tt.return"() : () -> ()
}) {function_type = (!tt.ptr<f32>, !tt.ptr<f32>, i32) -> (), sym_name = "swap", sym_visibility = "public", arg_attrs = []} : () -> ()

// -----

// A select, a branch, and a comparison of addresses, which reads nothing.
// CHECK: @chosen
// CHECK-NEXT: argument 0: written
// CHECK-NEXT: argument 1: written
// CHECK-NEXT: argument 2: not accessed
// CHECK-NEXT: tt.store 0 or 1 at unknown elements, in a branch: all
"tt.func"() ({
^bb0(%x: !tt.ptr<f32>, %y: !tt.ptr<f32>, %z: !tt.ptr<f32>):
  %one = arith.constant 1.0 : f32
  %a = "tt.ptr_to_int"(%x) : (!tt.ptr<f32>) -> i64
  %c = "tt.ptr_to_int"(%z) : (!tt.ptr<f32>) -> i64
  %less = arith.cmpi slt, %a, %c : i64
  %p = arith.select %less, %x, %y : !tt.ptr<f32>
  scf.if %less {
    "tt.store"(%p, %one) : (!tt.ptr<f32>, f32) -> ()
  }
  "tt.return"() : () -> ()
}) {function_type = (!tt.ptr<f32>, !tt.ptr<f32>, !tt.ptr<f32>) -> (), sym_name = "chosen", sym_visibility = "public", arg_attrs = []} : () -> ()

// -----

// An address that becomes an integer and an address again is followed.
// CHECK: @cast
// CHECK-NEXT: argument 0: read, written, atomic
// CHECK-NEXT: tt.atomic_rmw 0 at unknown elements: all
"tt.func"() ({
^bb0(%x: !tt.ptr<i32>, %n: i32):
  %eight = arith.constant 8 : i64
  %a = "tt.ptr_to_int"(%x) : (!tt.ptr<i32>) -> i64
  %b = arith.addi %a, %eight : i64
  %p = "tt.int_to_ptr"(%b) : (i64) -> !tt.ptr<i32>
  %true = arith.constant true
  %old = "tt.atomic_rmw"(%p, %n, %true) {atomic_rmw_op = 4 : i32, sem = 4 : i32, scope = 1 : i32} : (!tt.ptr<i32>, i32, i1) -> i32
  "tt.return"() : () -> ()
}) {function_type = (!tt.ptr<i32>, i32) -> (), sym_name = "cast", sym_visibility = "public", arg_attrs = []} : () -> ()

// -----

// A loaded address may be anybody's: what is written there may be what the other argument points to.
// CHECK: @table
// CHECK-NEXT: argument 0: read, written, unknown
// CHECK-NEXT: argument 1: read, written, unknown
// CHECK-NEXT: effects: writes unknown memory
// CHECK-NEXT: unknown: it accesses addresses that it loads or computes
// CHECK-NEXT: tt.load 0 at 0: all
// CHECK-NEXT: tt.store unknown memory: all
"tt.func"() ({
^bb0(%table: !tt.ptr<i64>, %y: !tt.ptr<f32>):
  %one = arith.constant 1.0 : f32
  %a = "tt.load"(%table) {operandSegmentSizes = array<i32: 1, 0, 0>} : (!tt.ptr<i64>) -> i64
  %p = "tt.int_to_ptr"(%a) : (i64) -> !tt.ptr<f32>
  "tt.store"(%p, %one) : (!tt.ptr<f32>, f32) -> ()
  "tt.return"() : () -> ()
}) {function_type = (!tt.ptr<i64>, !tt.ptr<f32>) -> (), sym_name = "table", sym_visibility = "public", arg_attrs = []} : () -> ()

// -----

// An address that is stored escapes.
// CHECK: @escape
// CHECK-NEXT: argument 0: escapes
// CHECK-NEXT: argument 1: written
// CHECK-NEXT: tt.store 1 at 0: all
"tt.func"() ({
^bb0(%x: !tt.ptr<f32>, %out: !tt.ptr<i64>):
  %a = "tt.ptr_to_int"(%x) : (!tt.ptr<f32>) -> i64
  "tt.store"(%out, %a) : (!tt.ptr<i64>, i64) -> ()
  "tt.return"() : () -> ()
}) {function_type = (!tt.ptr<f32>, !tt.ptr<i64>) -> (), sym_name = "escape", sym_visibility = "public", arg_attrs = []} : () -> ()

// -----

// Making a descriptor writes nothing; what is done through it is done to its tensor.
// CHECK: @described
// CHECK-NEXT: argument 0: read
// CHECK-NEXT: argument 1: read, written, atomic
// CHECK-NEXT: tt.descriptor_load 0 at a2*l0 + a2*p0*16 + l1 over 16 x 32: where l0 + p0*16 >= 0 and l0 + p0*16 < a2 and l1 >= 0 and l1 < a2
// CHECK-NEXT: tt.descriptor_reduce 1 at
"tt.func"() ({
^bb0(%x: !tt.ptr<f32>, %y: !tt.ptr<f32>, %n: i32):
  %zero = arith.constant 0 : i32
  %rows = arith.constant 16 : i32
  %unit = arith.constant 1 : i64
  %stride = arith.extsi %n : i32 to i64
  %pid = "tt.get_program_id"() {axis = 0 : i32} : () -> i32
  %row = arith.muli %pid, %rows : i32
  %from = "tt.make_tensor_descriptor_2"(%x, %n, %n, %stride, %unit) {padding = 1 : i32} : (!tt.ptr<f32>, i32, i32, i64, i64) -> !tt.tensordesc<tensor<16x32xf32>>
  %to = "tt.make_tensor_descriptor_2"(%y, %n, %n, %stride, %unit) {padding = 1 : i32} : (!tt.ptr<f32>, i32, i32, i64, i64) -> !tt.tensordesc<tensor<16x32xf32>>
  %v = "tt.descriptor_load"(%from, %row, %zero) : (!tt.tensordesc<tensor<16x32xf32>>, i32, i32) -> tensor<16x32xf32>
  "tt.descriptor_reduce"(%to, %v, %row, %zero) {kind = 1 : i32} : (!tt.tensordesc<tensor<16x32xf32>>, tensor<16x32xf32>, i32, i32) -> ()
  "tt.return"() : () -> ()
}) {function_type = (!tt.ptr<f32>, !tt.ptr<f32>, i32) -> (), sym_name = "described", sym_visibility = "public", arg_attrs = []} : () -> ()

// -----

// Must not fire: text that computes is no effect; nobody's memory is written.
// CHECK: @pure_text
// CHECK-NEXT: argument 0: read
// CHECK-NEXT: argument 1: written
// CHECK-NEXT: tt.load 0 at 0: all
// CHECK-NEXT: tt.store 1 at 0: all
"tt.func"() ({
^bb0(%x: !tt.ptr<f32>, %y: !tt.ptr<f32>):
  %v = "tt.load"(%x) {operandSegmentSizes = array<i32: 1, 0, 0>} : (!tt.ptr<f32>) -> f32
  %w = "tt.elementwise_inline_asm"(%v) {asm_string = "ex2.approx.f32 $0, $1;", constraints = "=r,r", packed_element = 1 : i32, pure = true} : (f32) -> f32
  "tt.store"(%y, %w) : (!tt.ptr<f32>, f32) -> ()
  "tt.return"() : () -> ()
}) {function_type = (!tt.ptr<f32>, !tt.ptr<f32>) -> (), sym_name = "pure_text", sym_visibility = "public", arg_attrs = []} : () -> ()

// -----

// Text that is not pure may do anything, and so may text with an instruction on memory.
// CHECK: @other_text
// CHECK-NEXT: argument 0: read, written, unknown
// CHECK-NEXT: effects: assert, print, writes unknown memory
// CHECK-NEXT: unknown: what 'tt.elementwise_inline_asm' does is not known
"tt.func"() ({
^bb0(%x: !tt.ptr<f32>, %n: i64):
  %w = "tt.elementwise_inline_asm"(%n) {asm_string = "st.global.b64 [$1], $1; mov.b64 $0, $1;", constraints = "=l,l", packed_element = 1 : i32, pure = true} : (i64) -> i64
  %true = arith.constant true
  "tt.assert"(%true) {message = "never"} : (i1) -> ()
  "tt.print_2"(%n, %true) {prefix = " n: ", hex = false, isSigned = array<i32: 1, 0>} : (i64, i1) -> ()
  "tt.return"() : () -> ()
}) {function_type = (!tt.ptr<f32>, i64) -> (), sym_name = "other_text", sym_visibility = "public", arg_attrs = []} : () -> ()
