// RUN: fuse-run %s | FileCheck %s
// RUN: fuse-run %s --save %t.pt && fuse-run %s --compare %t.pt | FileCheck %s --check-prefix=SAME
// RUN: not fuse-run %s --seed 1 --compare %t.pt | FileCheck %s --check-prefix=OTHER
// RUN: fuse-run %s --size s0=2 | FileCheck %s --check-prefix=SIZE
// RUN: not fuse-run %s --input nowhere.txt 2>&1 | FileCheck %s --check-prefix=BAD

// CHECK: result 0: float32[5] strides [1] min 0 max
// SAME: result 0: agrees
// OTHER: result 0: differs
// SIZE: result 0: float32[2]
// BAD: fuse-run: error: --input takes a .pt or .npy file or a number, got 'nowhere.txt'

func.func @main(%x: tensor<?xf32, #fuse.layout<"s0", "1", "0", "">>, %s0: index {fuse.sym = "s0", fuse.hint = 5 : i64}) -> tensor<?xf32, #fuse.layout<"s0", "1", "0", "">> {
  %o = "fuse.empty"(%s0) {syms = ["s0"]} : (index) -> tensor<?xf32, #fuse.layout<"s0", "1", "0", "">>
  %y = call @relu(%x, %o, %s0) : (tensor<?xf32, #fuse.layout<"s0", "1", "0", "">>, tensor<?xf32, #fuse.layout<"s0", "1", "0", "">>, index) -> tensor<?xf32, #fuse.layout<"s0", "1", "0", "">>
  return %y : tensor<?xf32, #fuse.layout<"s0", "1", "0", "">>
}
func.func private @relu(%x: tensor<?xf32, #fuse.layout<"s0", "1", "0", "">>, %o: tensor<?xf32, #fuse.layout<"s0", "1", "0", "">>, %s0: index {fuse.sym = "s0"})
    -> tensor<?xf32, #fuse.layout<"s0", "1", "0", "">> attributes {fuse.kernel, fuse.dims = {d0 = "s0"}, fuse.ties = array<i64: 1>} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : f32
  %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<?xf32, #fuse.layout<"s0", "1", "0", "">>, i1, f32) -> f32
  %m = arith.maximumf %v, %zero : f32
  %r = "fuse.store"(%o, %m, %true) {at = ["d0"], mode = "set"} : (tensor<?xf32, #fuse.layout<"s0", "1", "0", "">>, f32, i1) -> tensor<?xf32, #fuse.layout<"s0", "1", "0", "">>
  return %r : tensor<?xf32, #fuse.layout<"s0", "1", "0", "">>
}
