// What CUDA graphs hold of a planned program, and why the rest runs between them.
// RUN: fuse-opt %s --fuse-print-graph-regions -o %t.mlir 2>&1 | FileCheck %s
// RUN: fuse-opt %s --fuse-print-graph-regions=2 -o %t.mlir 2>&1 | FileCheck %s --check-prefix=STATIC
// RUN: not fuse-opt %s --fuse-print-graph-regions=x -o %t.mlir 2>&1 | FileCheck %s --check-prefix=BAD

// A product is recorded with the kernels around it.  Must not be recorded: positions of what is not zero, whose
// number the host learns when the program runs, what takes that number, and a write into an argument that may
// lie elsewhere in the next call.
// CHECK: recorded: ops 0 to 3: @double, aten.mm.default
// CHECK-NEXT: between: ops 4 to 7: aten.nonzero.default, @fill, @double
// CHECK-NEXT: aten.nonzero.default: the size of its result depends on data ({{.*}}print-graph-regions.mlir:{{[0-9]+}})
// CHECK-NEXT: @fill: it takes a number that the host learns only when the program runs (
// CHECK-NEXT: @double: it writes into an argument that is no parameter or buffer (
// CHECK-NEXT: recorded: ops 8 to 9: @double
// CHECK-NEXT: between: ops 10 to 10{{$}}
// STATIC: between: ops 4 to 6: aten.nonzero.default, @fill
// STATIC: recorded: ops 7 to 9: @double, @double
// BAD: fuse-opt: error: --fuse-print-graph-regions takes numbers of arguments, got 'x'

!t = tensor<4x4xf32, #fuse.layout<"4,4", "4,1", "0", "cuda:0">>
!n = tensor<?x2xi64, #fuse.layout<"u0,2", "2,1", "0", "cuda:0">>
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: !t, %w: !t, %state: !t) -> (!n, !t, !t) {
    %a = "fuse.alloc"() {syms = []} : () -> !t
    %1 = call @double(%x, %a) : (!t, !t) -> !t
    %2 = call @mm(%1, %w) : (!t, !t) -> !t
    "fuse.free"(%1) : (!t) -> ()
    %3 = call @nonzero(%2) : (!t) -> !n
    %u0 = "fuse.size"(%3) {dim = 0 : i64, symbol = "u0"} : (!n) -> index
    %4 = call @fill(%3, %u0) : (!n, index) -> !n
    %5 = call @double(%state, %state) : (!t, !t) -> !t
    %b = "fuse.alloc"() {syms = []} : () -> !t
    %6 = call @double(%2, %b) : (!t, !t) -> !t
    return %4, %5, %6 : !n, !t, !t
  }
  func.func private @double(!t, !t) -> !t
      attributes {fuse.launch = @double_tt, fuse.grid = ["1"], fuse.params = ["0:ptr", "1:ptr"], fuse.ties = array<i64: 1>}
  func.func private @fill(!n, index {fuse.sym = "u0"}) -> !n
      attributes {fuse.launch = @fill_tt, fuse.grid = ["u0"], fuse.params = ["0:ptr", "1:i64"], fuse.ties = array<i64: 0>}
  "tt.func"() ({
  ^bb0(%x: !tt.ptr<f32>, %o: !tt.ptr<f32>):
    "tt.return"() : () -> ()
  }) {function_type = (!tt.ptr<f32>, !tt.ptr<f32>) -> (), sym_name = "double_tt", sym_visibility = "public"} : () -> ()
  "tt.func"() ({
  ^bb0(%x: !tt.ptr<i64>, %n: i64):
    "tt.return"() : () -> ()
  }) {function_type = (!tt.ptr<i64>, i64) -> (), sym_name = "fill_tt", sym_visibility = "public"} : () -> ()
  func.func private @mm(!t, !t) -> !t
      attributes {fuse.extern = "aten.mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
  func.func private @nonzero(!t) -> !n
      attributes {fuse.extern = "aten.nonzero.default", fuse.args = [#fuse.arg<0 : i64>], fuse.kwargs = {}}
}
