// RUN: fuse-opt %s --pass-pipeline="builtin.module(lower-to-tt)" --split-input-file --verify-diagnostics | FileCheck %s

// Fires: tensors become addresses, the size becomes an i32, the token and the unused argument disappear, the kernel becomes a declaration.

// CHECK-LABEL: "tt.func"
// CHECK: ^bb0(%[[X:.*]]: !tt.ptr<f32>, %[[O:.*]]: !tt.ptr<f32>, %[[N:.*]]: i32):
// CHECK-NOT: fuse.base
// CHECK: "tt.splat"(%[[X]])
// CHECK: "tt.splat"(%[[N]])
// CHECK: "tt.store"
// CHECK-NOT: operandSegmentSizes
// CHECK: "tt.return"() : () -> ()
// CHECK: tt.divisibility = 16 : i32
// CHECK-NOT: passthrough
// CHECK-SAME: sym_name = "copy_tt"
// CHECK: func.func private @copy(tensor<1000xf32>, tensor<1000xf32>, tensor<1000xf32>, !fuse.token, index {fuse.sym = "s0"}) -> tensor<1000xf32>
// CHECK-SAME: fuse.launch = @copy_tt
// CHECK-SAME: fuse.params = ["0:ptr", "1:ptr", "4:i32"]
func.func private @copy(%x: tensor<1000xf32>, %o: tensor<1000xf32>, %unused: tensor<1000xf32>, %t: !fuse.token, %s0: index {fuse.sym = "s0"}) -> tensor<1000xf32>
    attributes {fuse.kernel, fuse.grid = ["(s0 + 255) floordiv 256"], fuse.dims = {d0 = "s0"}, fuse.ties = array<i64: 1>} {
  %p = "fuse.base"(%x) : (tensor<1000xf32>) -> !tt.ptr<f32>
  %q = "fuse.base"(%o) : (tensor<1000xf32>) -> !tt.ptr<f32>
  %n = arith.index_cast %s0 : index to i32
  %r = "tt.make_range"() {start = 0 : i32, end = 256 : i32} : () -> tensor<256xi32>
  %ps = "tt.splat"(%p) : (!tt.ptr<f32>) -> tensor<256x!tt.ptr<f32>>
  %qs = "tt.splat"(%q) : (!tt.ptr<f32>) -> tensor<256x!tt.ptr<f32>>
  %pr = "tt.addptr"(%ps, %r) : (tensor<256x!tt.ptr<f32>>, tensor<256xi32>) -> tensor<256x!tt.ptr<f32>>
  %qr = "tt.addptr"(%qs, %r) : (tensor<256x!tt.ptr<f32>>, tensor<256xi32>) -> tensor<256x!tt.ptr<f32>>
  %ns = "tt.splat"(%n) : (i32) -> tensor<256xi32>
  %m = arith.cmpi slt, %r, %ns : tensor<256xi32>
  %v = "tt.load"(%pr, %m) {operandSegmentSizes = array<i32: 1, 1, 0>} : (tensor<256x!tt.ptr<f32>>, tensor<256xi1>) -> tensor<256xf32>
  "tt.store"(%qr, %v, %m) {operandSegmentSizes = array<i32: 1, 1, 1>} : (tensor<256x!tt.ptr<f32>>, tensor<256xf32>, tensor<256xi1>) -> ()
  return %o : tensor<1000xf32>
}

// -----

// Must not fire: a kernel that is not tiled, and declarations.

// CHECK-LABEL: func.func private @scalar
// CHECK-SAME: fuse.kernel
// CHECK-NOT: "tt.func"
// CHECK: func.func private @torch_relu
// CHECK-SAME: fuse.extern
func.func private @scalar(%o: tensor<8xf32>) -> tensor<8xf32> attributes {fuse.kernel, fuse.dims = {d0 = "8"}, fuse.ties = array<i64: 0>} {
  %true = arith.constant true
  %one = arith.constant 1.0 : f32
  %r = "fuse.store"(%o, %one, %true) {at = ["d0"], mode = "set"} : (tensor<8xf32>, f32, i1) -> tensor<8xf32>
  return %r : tensor<8xf32>
}
func.func private @torch_relu(tensor<64xf32>) -> tensor<64xf32> attributes {fuse.extern = "aten.relu.default", fuse.args = [#fuse.arg<0 : i64>], fuse.kwargs = {}}

// -----

// Fires: functions that are one instruction become intrinsics.  Not others, nor those of f64.

// CHECK-LABEL: "tt.func"
// CHECK: "tt.load"
// CHECK-NEXT: "tt.extern_elementwise"({{.*}}symbol = "llvm.nvvm.rsqrt.approx.ftz.f"}{{.*}} : (tensor<256xf32>) -> tensor<256xf32>
// CHECK-NEXT: "tt.extern_elementwise"({{.*}}symbol = "llvm.nvvm.ex2.approx.ftz.f32"}{{.*}} : (tensor<256xf32>) -> tensor<256xf32>
// CHECK-NEXT: "tt.extern_elementwise"({{.*}}symbol = "llvm.nvvm.ex2.approx.ftz.f32"}{{.*}} : (tensor<256xf32>) -> tensor<256xf32>
// CHECK-NEXT: "tt.extern_elementwise"({{.*}}symbol = "llvm.nvvm.div.approx.ftz.f"}{{.*}} : (tensor<256xf32>, tensor<256xf32>) -> tensor<256xf32>
// CHECK-NEXT: "tt.extern_elementwise"({{.*}}symbol = "llvm.copysign.f32"}
// CHECK-NEXT: "tt.extern_elementwise"({{.*}}symbol = "__nv_tanhf"}
// CHECK-NEXT: arith.extf
// CHECK-NEXT: math.rsqrt {{.*}} : tensor<256xf64>
// CHECK-NEXT: "tt.extern_elementwise"({{.*}}symbol = "__nv_rsqrt"}
// CHECK: sym_name = "roots_tt"
func.func private @roots(%x: tensor<256xf32>, %o: tensor<256xf64>) -> tensor<256xf64>
    attributes {fuse.kernel, fuse.grid = ["1"], fuse.dims = {d0 = "256"}, fuse.ties = array<i64: 1>} {
  %p = "fuse.base"(%x) : (tensor<256xf32>) -> !tt.ptr<f32>
  %q = "fuse.base"(%o) : (tensor<256xf64>) -> !tt.ptr<f64>
  %r = "tt.make_range"() {start = 0 : i32, end = 256 : i32} : () -> tensor<256xi32>
  %ps = "tt.splat"(%p) : (!tt.ptr<f32>) -> tensor<256x!tt.ptr<f32>>
  %qs = "tt.splat"(%q) : (!tt.ptr<f64>) -> tensor<256x!tt.ptr<f64>>
  %pr = "tt.addptr"(%ps, %r) : (tensor<256x!tt.ptr<f32>>, tensor<256xi32>) -> tensor<256x!tt.ptr<f32>>
  %qr = "tt.addptr"(%qs, %r) : (tensor<256x!tt.ptr<f64>>, tensor<256xi32>) -> tensor<256x!tt.ptr<f64>>
  %v = "tt.load"(%pr) {operandSegmentSizes = array<i32: 1, 0, 0>} : (tensor<256x!tt.ptr<f32>>) -> tensor<256xf32>
  %a = math.rsqrt %v : tensor<256xf32>
  %b = math.exp2 %a : tensor<256xf32>
  %c = "tt.extern_elementwise"(%b) {libname = "", libpath = "", pure = true, symbol = "__nv_exp2f"} : (tensor<256xf32>) -> tensor<256xf32>
  %d = "tt.extern_elementwise"(%c, %v) {libname = "", libpath = "", pure = true, symbol = "__nv_fast_fdividef"} : (tensor<256xf32>, tensor<256xf32>) -> tensor<256xf32>
  %e = "tt.extern_elementwise"(%d, %v) {libname = "", libpath = "", pure = true, symbol = "__nv_copysignf"} : (tensor<256xf32>, tensor<256xf32>) -> tensor<256xf32>
  %f = "tt.extern_elementwise"(%e) {libname = "", libpath = "", pure = true, symbol = "__nv_tanhf"} : (tensor<256xf32>) -> tensor<256xf32>
  %w = arith.extf %f : tensor<256xf32> to tensor<256xf64>
  %g = math.rsqrt %w : tensor<256xf64>
  %h = "tt.extern_elementwise"(%g) {libname = "", libpath = "", pure = true, symbol = "__nv_rsqrt"} : (tensor<256xf64>) -> tensor<256xf64>
  "tt.store"(%qr, %h) {operandSegmentSizes = array<i32: 1, 1, 0>} : (tensor<256x!tt.ptr<f64>>, tensor<256xf64>) -> ()
  return %o : tensor<256xf64>
}

// -----

// Fires: LLVM does not look for vectors in a function that multiplies tiles.

// CHECK-LABEL: "tt.func"
// CHECK: "tt.dot"
// CHECK: passthrough = ["noimplicitfloat"]
// CHECK-SAME: sym_name = "product_tt"
func.func private @product(%o: tensor<16x16xf32>) -> tensor<16x16xf32>
    attributes {fuse.kernel, fuse.grid = ["1"], fuse.dims = {d0 = "16", d1 = "16"}, fuse.ties = array<i64: 0>} {
  %q = "fuse.base"(%o) : (tensor<16x16xf32>) -> !tt.ptr<f32>
  %a = arith.constant dense<1.0> : tensor<16x16xbf16>
  %zero = arith.constant dense<0.0> : tensor<16x16xf32>
  %s = "tt.dot"(%a, %a, %zero) {inputPrecision = 2 : i32, maxNumImpreciseAcc = 0 : i32} : (tensor<16x16xbf16>, tensor<16x16xbf16>, tensor<16x16xf32>) -> tensor<16x16xf32>
  %qs = "tt.splat"(%q) : (!tt.ptr<f32>) -> tensor<16x16x!tt.ptr<f32>>
  "tt.store"(%qs, %s) {operandSegmentSizes = array<i32: 1, 1, 0>} : (tensor<16x16x!tt.ptr<f32>>, tensor<16x16xf32>) -> ()
  return %o : tensor<16x16xf32>
}

// -----

// A size that is a multiple of 16 says so; one without a name, or a multiple of 8, says nothing.

// CHECK-LABEL: "tt.func"
// CHECK: arg_attrs = [{tt.divisibility = 16 : i32}, {tt.divisibility = 16 : i32}, {}, {}]
// CHECK-SAME: sym_name = "sizes_tt"
func.func private @sizes(%o: tensor<8xi32>, %s0: index {fuse.sym = "s0", fuse.multiple = 32 : i64}, %s1: index {fuse.sym = "s1", fuse.multiple = 8 : i64}, %n: index) -> tensor<8xi32>
    attributes {fuse.kernel, fuse.grid = ["1"], fuse.dims = {d0 = "8"}, fuse.ties = array<i64: 0>} {
  %q = "fuse.base"(%o) : (tensor<8xi32>) -> !tt.ptr<i32>
  %a = arith.index_cast %s0 : index to i32
  %b = arith.index_cast %s1 : index to i32
  %c = arith.index_cast %n : index to i32
  %ab = arith.addi %a, %b : i32
  %abc = arith.addi %ab, %c : i32
  "tt.store"(%q, %abc) {operandSegmentSizes = array<i32: 1, 1, 0>} : (!tt.ptr<i32>, i32) -> ()
  return %o : tensor<8xi32>
}

// -----

// Fires: a loop of four or eight steps around a product stays a loop.  Not one around a sum, of nine steps, of
// one, or of a number that the launch says: ptxas does not write those out.

// CHECK-LABEL: "tt.func"
// CHECK: scf.for
// CHECK: } {llvm.loop_annotation = #[[STAYS:.*]], tt.num_stages = 3 : i32}
// CHECK: scf.for
// CHECK: } {llvm.loop_annotation = #[[STAYS]], tt.num_stages = 3 : i32}
// CHECK: scf.for
// CHECK: } {tt.num_stages = 3 : i32}
// CHECK: scf.for
// CHECK: } {tt.num_stages = 3 : i32}
// CHECK: scf.for
// CHECK: } {tt.num_stages = 3 : i32}
// CHECK: scf.for
// CHECK: arith.addf
// CHECK-NEXT: scf.yield
// CHECK-NEXT: }{{$}}
// CHECK: sym_name = "in_steps_tt"
func.func private @in_steps(%o: tensor<16x16xf32>, %s0: index {fuse.sym = "s0"}) -> tensor<16x16xf32>
    attributes {fuse.kernel, fuse.grid = ["1"], fuse.dims = {d0 = "16", d1 = "16"}, fuse.ties = array<i64: 0>} {
  %q = "fuse.base"(%o) : (tensor<16x16xf32>) -> !tt.ptr<f32>
  %count = arith.index_cast %s0 : index to i32
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c2 = arith.constant 2 : i32
  %c4 = arith.constant 4 : i32
  %c15 = arith.constant 15 : i32
  %c18 = arith.constant 18 : i32
  %a = arith.constant dense<1.0> : tensor<16x16xbf16>
  %zero = arith.constant dense<0.0> : tensor<16x16xf32>
  %four = scf.for %i = %c0 to %c4 step %c1 iter_args(%sum = %zero) -> (tensor<16x16xf32>) : i32 {
    %d = "tt.dot"(%a, %a, %sum) {inputPrecision = 2 : i32, maxNumImpreciseAcc = 0 : i32} : (tensor<16x16xbf16>, tensor<16x16xbf16>, tensor<16x16xf32>) -> tensor<16x16xf32>
    scf.yield %d : tensor<16x16xf32>
  } {tt.num_stages = 3 : i32}
  %eight = scf.for %i = %c0 to %c15 step %c2 iter_args(%sum = %four) -> (tensor<16x16xf32>) : i32 {
    %d = "tt.dot"(%a, %a, %sum) {inputPrecision = 2 : i32, maxNumImpreciseAcc = 0 : i32} : (tensor<16x16xbf16>, tensor<16x16xbf16>, tensor<16x16xf32>) -> tensor<16x16xf32>
    scf.yield %d : tensor<16x16xf32>
  } {tt.num_stages = 3 : i32}
  %nine = scf.for %i = %c0 to %c18 step %c2 iter_args(%sum = %eight) -> (tensor<16x16xf32>) : i32 {
    %d = "tt.dot"(%a, %a, %sum) {inputPrecision = 2 : i32, maxNumImpreciseAcc = 0 : i32} : (tensor<16x16xbf16>, tensor<16x16xbf16>, tensor<16x16xf32>) -> tensor<16x16xf32>
    scf.yield %d : tensor<16x16xf32>
  } {tt.num_stages = 3 : i32}
  %one = scf.for %i = %c0 to %c1 step %c1 iter_args(%sum = %nine) -> (tensor<16x16xf32>) : i32 {
    %d = "tt.dot"(%a, %a, %sum) {inputPrecision = 2 : i32, maxNumImpreciseAcc = 0 : i32} : (tensor<16x16xbf16>, tensor<16x16xbf16>, tensor<16x16xf32>) -> tensor<16x16xf32>
    scf.yield %d : tensor<16x16xf32>
  } {tt.num_stages = 3 : i32}
  %any = scf.for %i = %c0 to %count step %c1 iter_args(%sum = %one) -> (tensor<16x16xf32>) : i32 {
    %d = "tt.dot"(%a, %a, %sum) {inputPrecision = 2 : i32, maxNumImpreciseAcc = 0 : i32} : (tensor<16x16xbf16>, tensor<16x16xbf16>, tensor<16x16xf32>) -> tensor<16x16xf32>
    scf.yield %d : tensor<16x16xf32>
  } {tt.num_stages = 3 : i32}
  %r = scf.for %i = %c0 to %c4 step %c1 iter_args(%sum = %any) -> (tensor<16x16xf32>) : i32 {
    %d = arith.addf %sum, %sum : tensor<16x16xf32>
    scf.yield %d : tensor<16x16xf32>
  }
  %qs = "tt.splat"(%q) : (!tt.ptr<f32>) -> tensor<16x16x!tt.ptr<f32>>
  "tt.store"(%qs, %r) {operandSegmentSizes = array<i32: 1, 1, 0>} : (tensor<16x16x!tt.ptr<f32>>, tensor<16x16xf32>) -> ()
  return %o : tensor<16x16xf32>
}

// -----

// Must not fire: a user's kernel is compiled as Triton would compile it.

// CHECK-LABEL: "tt.func"
// CHECK: "tt.dot"
// CHECK-NOT: passthrough
// CHECK: sym_name = "theirs_tt"
func.func private @theirs(%o: tensor<16x16xf32>) -> tensor<16x16xf32>
    attributes {fuse.kernel, fuse.grid = ["1"], fuse.dims = {d0 = "16", d1 = "16"}, fuse.ties = array<i64: 0>, fuse.user = "model.py:3 theirs"} {
  %q = "fuse.base"(%o) : (tensor<16x16xf32>) -> !tt.ptr<f32>
  %a = arith.constant dense<1.0> : tensor<16x16xbf16>
  %zero = arith.constant dense<0.0> : tensor<16x16xf32>
  %s = "tt.dot"(%a, %a, %zero) {inputPrecision = 2 : i32, maxNumImpreciseAcc = 0 : i32} : (tensor<16x16xbf16>, tensor<16x16xbf16>, tensor<16x16xf32>) -> tensor<16x16xf32>
  %qs = "tt.splat"(%q) : (!tt.ptr<f32>) -> tensor<16x16x!tt.ptr<f32>>
  "tt.store"(%qs, %s) {operandSegmentSizes = array<i32: 1, 1, 0>} : (tensor<16x16x!tt.ptr<f32>>, tensor<16x16xf32>) -> ()
  return %o : tensor<16x16xf32>
}

// -----

// Bad input: a size that reaches the body as an index; the GPU has no such type.

// expected-error @+1 {{lower-to-tt: size argument 1 of a tiled kernel is used without arith.index_cast}}
func.func private @index(%o: tensor<8xf32>, %s0: index {fuse.sym = "s0"}) -> tensor<8xf32> attributes {fuse.kernel, fuse.grid = ["1"], fuse.dims = {d0 = "8"}, fuse.ties = array<i64: 0>} {
  %p = "fuse.base"(%o) : (tensor<8xf32>) -> !tt.ptr<f32>
  %two = arith.addi %s0, %s0 : index
  return %o : tensor<8xf32>
}

// -----

// Bad input: a tensor that reaches the body as a tensor; on the GPU it is an address.

// expected-error @+1 {{lower-to-tt: argument 0 of a tiled kernel is used as a tensor}}
func.func private @tensor(%o: tensor<8xf32>) -> tensor<8xf32> attributes {fuse.kernel, fuse.grid = ["1"], fuse.dims = {d0 = "8"}, fuse.ties = array<i64: 0>} {
  %p = "fuse.base"(%o) : (tensor<8xf32>) -> !tt.ptr<f32>
  %two = arith.addf %o, %o : tensor<8xf32>
  return %o : tensor<8xf32>
}

// -----

// Fires: one of several tensors is found among the launch's parameters, whose place is known: the unused one is none.

// CHECK-LABEL: "tt.func"
// CHECK: ^bb0(%{{.*}}: !tt.ptr<f32>, %{{.*}}: !tt.ptr<f32>, %{{.*}}: !tt.ptr<f32>):
// CHECK: %[[N:.*]] = "tt.get_program_id"
// CHECK: %[[A:.*]] = "tt.elementwise_inline_asm"(%[[N]]) {asm_string = "{ .reg .b64 at; mov.b64 at, pick_tt_param_1; mad.wide.u32 at, $1, 8, at; ld.param.b64 $0, [at]; }", constraints = "=l,r", packed_element = 1 : i32, pure = true} : (i32) -> i64
// CHECK: %[[P:.*]] = "tt.int_to_ptr"(%[[A]]) {tt.divisibility = dense<16> : tensor<1xi32>} : (i64) -> !tt.ptr<f32>
// CHECK: "tt.store"(%[[P]],
// CHECK: func.func private @pick
// CHECK-SAME: fuse.params = ["0:ptr", "2:ptr", "3:ptr"]
func.func private @pick(%x: tensor<8xf32>, %unused: tensor<8xf32>, %o: tensor<8xf32>, %q: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>)
    attributes {fuse.kernel, fuse.grid = ["2"], fuse.dims = {}, fuse.ties = array<i64: 2, 3>} {
  %n = "tt.get_program_id"() {axis = 0 : i32} : () -> i32
  %b = "fuse.base"(%x) : (tensor<8xf32>) -> !tt.ptr<f32>
  %v = "tt.load"(%b) {operandSegmentSizes = array<i32: 1, 0, 0>} : (!tt.ptr<f32>) -> f32
  %p = "fuse.base_of"(%n, %o, %q) : (i32, tensor<8xf32>, tensor<8xf32>) -> !tt.ptr<f32>
  "tt.store"(%p, %v) {operandSegmentSizes = array<i32: 1, 1, 0>} : (!tt.ptr<f32>, f32) -> ()
  return %o, %q : tensor<8xf32>, tensor<8xf32>
}

// -----

// Bad input: between the two tensors lies another.

func.func private @gap(%o: tensor<8xf32>, %x: tensor<8xf32>, %q: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>)
    attributes {fuse.kernel, fuse.grid = ["2"], fuse.dims = {}, fuse.ties = array<i64: 0, 2>} {
  %n = "tt.get_program_id"() {axis = 0 : i32} : () -> i32
  %b = "fuse.base"(%x) : (tensor<8xf32>) -> !tt.ptr<f32>
  // expected-error @+1 {{lower-to-tt: the sources of fuse.base_of must be consecutive, behind other tensors only}}
  %p = "fuse.base_of"(%n, %o, %q) : (i32, tensor<8xf32>, tensor<8xf32>) -> !tt.ptr<f32>
  return %o, %q : tensor<8xf32>, tensor<8xf32>
}

// -----

// A mask beside bfloat16 is promised 8 bytes: eight elements a thread, as of the wider tensor.

// CHECK-LABEL: "tt.func"
// CHECK: tt.divisibility = 8 : i32}, {tt.divisibility = 16 : i32}
// CHECK-SAME: sym_name = "mask_tt"
func.func private @mask(%x: tensor<256xi8>, %o: tensor<256xbf16>) -> tensor<256xbf16>
    attributes {fuse.kernel, fuse.grid = ["1"], fuse.dims = {d0 = "256"}, fuse.ties = array<i64: 1>} {
  %p = "fuse.base"(%x) : (tensor<256xi8>) -> !tt.ptr<i8>
  %q = "fuse.base"(%o) : (tensor<256xbf16>) -> !tt.ptr<bf16>
  %r = "tt.make_range"() {start = 0 : i32, end = 256 : i32} : () -> tensor<256xi32>
  %ps = "tt.splat"(%p) : (!tt.ptr<i8>) -> tensor<256x!tt.ptr<i8>>
  %qs = "tt.splat"(%q) : (!tt.ptr<bf16>) -> tensor<256x!tt.ptr<bf16>>
  %pr = "tt.addptr"(%ps, %r) : (tensor<256x!tt.ptr<i8>>, tensor<256xi32>) -> tensor<256x!tt.ptr<i8>>
  %qr = "tt.addptr"(%qs, %r) : (tensor<256x!tt.ptr<bf16>>, tensor<256xi32>) -> tensor<256x!tt.ptr<bf16>>
  %v = "tt.load"(%pr) {operandSegmentSizes = array<i32: 1, 0, 0>} : (tensor<256x!tt.ptr<i8>>) -> tensor<256xi8>
  %w = arith.sitofp %v : tensor<256xi8> to tensor<256xbf16>
  "tt.store"(%qr, %w) {operandSegmentSizes = array<i32: 1, 1, 0>} : (tensor<256x!tt.ptr<bf16>>, tensor<256xbf16>) -> ()
  return %o : tensor<256xbf16>
}

// -----

// 4097 elements are masked one by one, so no vector is promised, though the tensor is aligned; of 4100, four at a time.

// CHECK-LABEL: "tt.func"
// CHECK: arg_attrs = [{tt.divisibility = 2 : i32}, {tt.divisibility = 8 : i32}]
// CHECK-SAME: sym_name = "odd_tt"
func.func private @odd(%x: tensor<4097xbf16>, %o: tensor<4100xbf16>) -> tensor<4100xbf16>
    attributes {fuse.kernel, fuse.grid = ["1"], fuse.dims = {d0 = "4097"}, fuse.ties = array<i64: 1>} {
  %p = "fuse.base"(%x) : (tensor<4097xbf16>) -> !tt.ptr<bf16>
  %q = "fuse.base"(%o) : (tensor<4100xbf16>) -> !tt.ptr<bf16>
  %r = "tt.make_range"() {start = 0 : i32, end = 8192 : i32} : () -> tensor<8192xi32>
  %c = arith.constant dense<4097> : tensor<8192xi32>
  %e = arith.constant dense<4100> : tensor<8192xi32>
  %m = arith.cmpi slt, %r, %c : tensor<8192xi32>
  %n = arith.cmpi slt, %r, %e : tensor<8192xi32>
  %ps = "tt.splat"(%p) : (!tt.ptr<bf16>) -> tensor<8192x!tt.ptr<bf16>>
  %qs = "tt.splat"(%q) : (!tt.ptr<bf16>) -> tensor<8192x!tt.ptr<bf16>>
  %pr = "tt.addptr"(%ps, %r) : (tensor<8192x!tt.ptr<bf16>>, tensor<8192xi32>) -> tensor<8192x!tt.ptr<bf16>>
  %qr = "tt.addptr"(%qs, %r) : (tensor<8192x!tt.ptr<bf16>>, tensor<8192xi32>) -> tensor<8192x!tt.ptr<bf16>>
  %v = "tt.load"(%pr, %m) {operandSegmentSizes = array<i32: 1, 1, 0>} : (tensor<8192x!tt.ptr<bf16>>, tensor<8192xi1>) -> tensor<8192xbf16>
  "tt.store"(%qr, %v, %n) {operandSegmentSizes = array<i32: 1, 1, 1>} : (tensor<8192x!tt.ptr<bf16>>, tensor<8192xbf16>, tensor<8192xi1>) -> ()
  return %o : tensor<4100xbf16>
}

// -----

// Addresses that a loop carries say nothing of the axis that lies together: it is taken for the last one.

// CHECK-LABEL: "tt.func"
// CHECK: arg_attrs = [{tt.divisibility = 2 : i32}, {tt.divisibility = 16 : i32}]
// CHECK-SAME: sym_name = "carried_tt"
func.func private @carried(%x: tensor<64x3xbf16>, %o: tensor<8xbf16>) -> tensor<8xbf16>
    attributes {fuse.kernel, fuse.grid = ["1"], fuse.dims = {d0 = "64", d1 = "3"}, fuse.ties = array<i64: 1>} {
  %p = "fuse.base"(%x) : (tensor<64x3xbf16>) -> !tt.ptr<bf16>
  %q = "fuse.base"(%o) : (tensor<8xbf16>) -> !tt.ptr<bf16>
  %r = "tt.make_range"() {start = 0 : i32, end = 8 : i32} : () -> tensor<8xi32>
  %three = arith.constant dense<3> : tensor<8xi32>
  %in = arith.cmpi slt, %r, %three : tensor<8xi32>
  %zero = arith.constant dense<0.0> : tensor<8xbf16>
  %first = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %rows = arith.constant 64 : i32
  %ps = "tt.splat"(%p) : (!tt.ptr<bf16>) -> tensor<8x!tt.ptr<bf16>>
  %sum, %last = scf.for %i = %first to %rows step %one iter_args(%s = %zero, %at = %r) -> (tensor<8xbf16>, tensor<8xi32>) : i32 {
    %a = "tt.addptr"(%ps, %at) : (tensor<8x!tt.ptr<bf16>>, tensor<8xi32>) -> tensor<8x!tt.ptr<bf16>>
    %v = "tt.load"(%a, %in, %zero) {operandSegmentSizes = array<i32: 1, 1, 1>} : (tensor<8x!tt.ptr<bf16>>, tensor<8xi1>, tensor<8xbf16>) -> tensor<8xbf16>
    %t = arith.addf %s, %v : tensor<8xbf16>
    %next = arith.addi %at, %three : tensor<8xi32>
    scf.yield %t, %next : tensor<8xbf16>, tensor<8xi32>
  }
  %qs = "tt.splat"(%q) : (!tt.ptr<bf16>) -> tensor<8x!tt.ptr<bf16>>
  %qr = "tt.addptr"(%qs, %r) : (tensor<8x!tt.ptr<bf16>>, tensor<8xi32>) -> tensor<8x!tt.ptr<bf16>>
  "tt.store"(%qr, %sum) {operandSegmentSizes = array<i32: 1, 1, 0>} : (tensor<8x!tt.ptr<bf16>>, tensor<8xbf16>) -> ()
  return %o : tensor<8xbf16>
}

// -----

// Three columns of which each lies together: the mask keeps whole vectors of a column, and 16 bytes are promised.  Of
// rows of three, each element is masked by itself.

// CHECK-LABEL: "tt.func"
// CHECK: arg_attrs = [{tt.divisibility = 16 : i32}, {tt.divisibility = 2 : i32}]
// CHECK-SAME: sym_name = "columns_tt"
func.func private @columns(%x: tensor<128x3xbf16, #fuse.layout<"128,3", "1,128", "0", "">>, %o: tensor<128x3xbf16>) -> tensor<128x3xbf16>
    attributes {fuse.kernel, fuse.grid = ["1"], fuse.dims = {d0 = "128", d1 = "3"}, fuse.ties = array<i64: 1>} {
  %p = "fuse.base"(%x) : (tensor<128x3xbf16, #fuse.layout<"128,3", "1,128", "0", "">>) -> !tt.ptr<bf16>
  %q = "fuse.base"(%o) : (tensor<128x3xbf16>) -> !tt.ptr<bf16>
  %r = "tt.make_range"() {start = 0 : i32, end = 128 : i32} : () -> tensor<128xi32>
  %c = "tt.make_range"() {start = 0 : i32, end = 8 : i32} : () -> tensor<8xi32>
  %re = "tt.expand_dims"(%r) {axis = 1 : i32} : (tensor<128xi32>) -> tensor<128x1xi32>
  %ce = "tt.expand_dims"(%c) {axis = 0 : i32} : (tensor<8xi32>) -> tensor<1x8xi32>
  %three = arith.constant dense<3> : tensor<1x8xi32>
  %many = arith.constant dense<128> : tensor<1x8xi32>
  %rows = arith.constant dense<3> : tensor<128x1xi32>
  %in = arith.cmpi slt, %ce, %three : tensor<1x8xi32>
  %mask = "tt.broadcast"(%in) : (tensor<1x8xi1>) -> tensor<128x8xi1>
  %cm = arith.muli %ce, %many : tensor<1x8xi32>
  %rm = arith.muli %re, %rows : tensor<128x1xi32>
  %rb = "tt.broadcast"(%re) : (tensor<128x1xi32>) -> tensor<128x8xi32>
  %cb = "tt.broadcast"(%cm) : (tensor<1x8xi32>) -> tensor<128x8xi32>
  %at = arith.addi %rb, %cb : tensor<128x8xi32>
  %rmb = "tt.broadcast"(%rm) : (tensor<128x1xi32>) -> tensor<128x8xi32>
  %ceb = "tt.broadcast"(%ce) : (tensor<1x8xi32>) -> tensor<128x8xi32>
  %to = arith.addi %rmb, %ceb : tensor<128x8xi32>
  %ps = "tt.splat"(%p) : (!tt.ptr<bf16>) -> tensor<128x8x!tt.ptr<bf16>>
  %qs = "tt.splat"(%q) : (!tt.ptr<bf16>) -> tensor<128x8x!tt.ptr<bf16>>
  %pr = "tt.addptr"(%ps, %at) : (tensor<128x8x!tt.ptr<bf16>>, tensor<128x8xi32>) -> tensor<128x8x!tt.ptr<bf16>>
  %qr = "tt.addptr"(%qs, %to) : (tensor<128x8x!tt.ptr<bf16>>, tensor<128x8xi32>) -> tensor<128x8x!tt.ptr<bf16>>
  %v = "tt.load"(%pr, %mask) {operandSegmentSizes = array<i32: 1, 1, 0>} : (tensor<128x8x!tt.ptr<bf16>>, tensor<128x8xi1>) -> tensor<128x8xbf16>
  "tt.store"(%qr, %v, %mask) {operandSegmentSizes = array<i32: 1, 1, 1>} : (tensor<128x8x!tt.ptr<bf16>>, tensor<128x8xbf16>, tensor<128x8xi1>) -> ()
  return %o : tensor<128x3xbf16>
}

// -----

// Only torch knows where a part of a storage begins. Bytes of a tensor begin where it does, as do a view and what
// torch has written.

// CHECK-LABEL: func.func @main
// CHECK: arg_attrs = [{}, {tt.divisibility = 16 : i32}], {{.*}}sym_name = "anywhere_tt"
// CHECK: arg_attrs = [{tt.divisibility = 16 : i32}, {tt.divisibility = 16 : i32}], {{.*}}sym_name = "alike_tt"
// CHECK: arg_attrs = [{}, {tt.divisibility = 16 : i32}], {{.*}}sym_name = "bytes_tt"
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<80xf32>, %y: tensor<64xi32>) -> (tensor<64xf32>, tensor<64xf32>, tensor<64xf32>) {
    %p = call @part(%x) : (tensor<80xf32>) -> tensor<64xf32>
    %a = "fuse.alloc"() {syms = []} : () -> tensor<64xf32>
    %b = call @anywhere(%p, %a) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    %n = call @bytes_of(%y) : (tensor<64xi32>) -> tensor<64xf32>
    %w = call @write(%n) : (tensor<64xf32>) -> tensor<64xf32>
    %c = "fuse.alloc"() {syms = []} : () -> tensor<64xf32>
    %d = call @alike(%w, %c) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    %m = call @write(%p) : (tensor<64xf32>) -> tensor<64xf32>
    %e = "fuse.alloc"() {syms = []} : () -> tensor<64xf32>
    %f = call @bytes(%m, %e) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    return %b, %d, %f : tensor<64xf32>, tensor<64xf32>, tensor<64xf32>
  }
  func.func private @part(tensor<80xf32>) -> tensor<64xf32> attributes {fuse.aliases = {"0" = 0 : i64}, fuse.args = [#fuse.arg<0 : i64>, [64], [1], 3], fuse.extern = "aten.as_strided.default", fuse.kwargs = {}}
  func.func private @bytes_of(tensor<64xi32>) -> tensor<64xf32> attributes {fuse.aliases = {"0" = 0 : i64}, fuse.args = [#fuse.arg<0 : i64>], fuse.extern = "aten.view.dtype", fuse.kwargs = {}}
  func.func private @write(tensor<64xf32>) -> tensor<64xf32> attributes {fuse.aliases = {"0" = 0 : i64}, fuse.mutated = array<i64: 0>, fuse.args = [#fuse.arg<0 : i64>], fuse.extern = "aten.relu_.default", fuse.kwargs = {}}
  func.func private @anywhere(%x: tensor<64xf32>, %o: tensor<64xf32>) -> tensor<64xf32> attributes {fuse.kernel, fuse.grid = ["1"], fuse.dims = {d0 = "64"}, fuse.ties = array<i64: 1>} {
    %p = "fuse.base"(%x) : (tensor<64xf32>) -> !tt.ptr<f32>
    %q = "fuse.base"(%o) : (tensor<64xf32>) -> !tt.ptr<f32>
    %r = "tt.make_range"() {start = 0 : i32, end = 64 : i32} : () -> tensor<64xi32>
    %ps = "tt.splat"(%p) : (!tt.ptr<f32>) -> tensor<64x!tt.ptr<f32>>
    %qs = "tt.splat"(%q) : (!tt.ptr<f32>) -> tensor<64x!tt.ptr<f32>>
    %pr = "tt.addptr"(%ps, %r) : (tensor<64x!tt.ptr<f32>>, tensor<64xi32>) -> tensor<64x!tt.ptr<f32>>
    %qr = "tt.addptr"(%qs, %r) : (tensor<64x!tt.ptr<f32>>, tensor<64xi32>) -> tensor<64x!tt.ptr<f32>>
    %v = "tt.load"(%pr) {operandSegmentSizes = array<i32: 1, 0, 0>} : (tensor<64x!tt.ptr<f32>>) -> tensor<64xf32>
    "tt.store"(%qr, %v) {operandSegmentSizes = array<i32: 1, 1, 0>} : (tensor<64x!tt.ptr<f32>>, tensor<64xf32>) -> ()
    return %o : tensor<64xf32>
  }
  func.func private @alike(%x: tensor<64xf32>, %o: tensor<64xf32>) -> tensor<64xf32> attributes {fuse.kernel, fuse.grid = ["1"], fuse.dims = {d0 = "64"}, fuse.ties = array<i64: 1>} {
    %p = "fuse.base"(%x) : (tensor<64xf32>) -> !tt.ptr<f32>
    %q = "fuse.base"(%o) : (tensor<64xf32>) -> !tt.ptr<f32>
    %r = "tt.make_range"() {start = 0 : i32, end = 64 : i32} : () -> tensor<64xi32>
    %ps = "tt.splat"(%p) : (!tt.ptr<f32>) -> tensor<64x!tt.ptr<f32>>
    %qs = "tt.splat"(%q) : (!tt.ptr<f32>) -> tensor<64x!tt.ptr<f32>>
    %pr = "tt.addptr"(%ps, %r) : (tensor<64x!tt.ptr<f32>>, tensor<64xi32>) -> tensor<64x!tt.ptr<f32>>
    %qr = "tt.addptr"(%qs, %r) : (tensor<64x!tt.ptr<f32>>, tensor<64xi32>) -> tensor<64x!tt.ptr<f32>>
    %v = "tt.load"(%pr) {operandSegmentSizes = array<i32: 1, 0, 0>} : (tensor<64x!tt.ptr<f32>>) -> tensor<64xf32>
    "tt.store"(%qr, %v) {operandSegmentSizes = array<i32: 1, 1, 0>} : (tensor<64x!tt.ptr<f32>>, tensor<64xf32>) -> ()
    return %o : tensor<64xf32>
  }
  func.func private @bytes(%x: tensor<64xf32>, %o: tensor<64xf32>) -> tensor<64xf32> attributes {fuse.kernel, fuse.grid = ["1"], fuse.dims = {d0 = "64"}, fuse.ties = array<i64: 1>} {
    %p = "fuse.base"(%x) : (tensor<64xf32>) -> !tt.ptr<f32>
    %q = "fuse.base"(%o) : (tensor<64xf32>) -> !tt.ptr<f32>
    %r = "tt.make_range"() {start = 0 : i32, end = 64 : i32} : () -> tensor<64xi32>
    %ps = "tt.splat"(%p) : (!tt.ptr<f32>) -> tensor<64x!tt.ptr<f32>>
    %qs = "tt.splat"(%q) : (!tt.ptr<f32>) -> tensor<64x!tt.ptr<f32>>
    %pr = "tt.addptr"(%ps, %r) : (tensor<64x!tt.ptr<f32>>, tensor<64xi32>) -> tensor<64x!tt.ptr<f32>>
    %qr = "tt.addptr"(%qs, %r) : (tensor<64x!tt.ptr<f32>>, tensor<64xi32>) -> tensor<64x!tt.ptr<f32>>
    %v = "tt.load"(%pr) {operandSegmentSizes = array<i32: 1, 0, 0>} : (tensor<64x!tt.ptr<f32>>) -> tensor<64xf32>
    "tt.store"(%qr, %v) {operandSegmentSizes = array<i32: 1, 1, 0>} : (tensor<64x!tt.ptr<f32>>, tensor<64xf32>) -> ()
    return %o : tensor<64xf32>
  }
}
