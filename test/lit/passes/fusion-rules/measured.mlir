// RUN: fuse-opt %s --pass-pipeline="builtin.module(fuse-vertical{fusions=%S/Inputs/measured.json},fuse-horizontal{fusions=%S/Inputs/measured.json})" --split-input-file | FileCheck %s
// RUN: fuse-opt %s --pass-pipeline="builtin.module(fuse-vertical{fusions=%S/Inputs/measured.json},fuse-horizontal{fusions=%S/Inputs/measured.json})" --split-input-file --remarks=text -o %t 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: not fuse-opt %s --pass-pipeline="builtin.module(fuse-vertical{fusions=%S/Inputs/none.json},fuse-horizontal{fusions=%S/Inputs/none.json})" --split-input-file 2>&1 | FileCheck %s --check-prefix=LOST

// REMARK: missed: fuse-vertical: measured, us_together=9.5, us_apart=7.25: twice and squared stay apart: measured, one kernel takes longer than two
// REMARK: missed: fuse-vertical: measured, spilled_bytes=128, us_together=9.5, us_apart=9.5: twice and squared stay apart: measured, the first kernel spills registers
// REMARK: missed: fuse-vertical: measured, spilled_bytes=64, us_together=9.5, us_apart=9.5: twice and squared stay apart: measured, the second kernel spills registers
// REMARK: missed: fuse-vertical: measured, spilled_bytes=256, us_together=9.5, us_apart=9.5: twice and squared stay apart: measured, the fused kernel spills registers
// REMARK: missed: fuse-vertical: measured: twice and squared stay apart: Triton does not compile the fused kernel
// REMARK: missed: fuse-horizontal: measured, us_together=9.5, us_apart=7.25: twice and squared stay apart
// REMARK: passed: fuse-vertical: fused

// LOST: fuse-vertical: {{.*}}none.json is no table

// Must not fire: The table says that one kernel is slower.
// CHECK-LABEL: func.func @main
// CHECK-NOT: fuse.group
// CHECK: return
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<4096xf32>) -> tensor<4096xf32> {
    %o0 = "fuse.empty"() {syms = []} : () -> tensor<4096xf32>
    %s = call @twice(%x, %o0) : (tensor<4096xf32>, tensor<4096xf32>) -> tensor<4096xf32>
    %o1 = "fuse.empty"() {syms = []} : () -> tensor<4096xf32>
    %t = call @squared(%s, %o1) : (tensor<4096xf32>, tensor<4096xf32>) -> tensor<4096xf32>
    return %t : tensor<4096xf32>
  }
  func.func private @twice(%x: tensor<4096xf32>, %o: tensor<4096xf32>) -> tensor<4096xf32> attributes {fuse.kernel, fuse.dims = {d0 = "4096"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<4096xf32>, i1, f32) -> f32
    %s = arith.addf %v, %v : f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d0"], mode = "set"} : (tensor<4096xf32>, f32, i1) -> tensor<4096xf32>
    return %r : tensor<4096xf32>
  }
  func.func private @squared(%x: tensor<4096xf32>, %o: tensor<4096xf32>) -> tensor<4096xf32> attributes {fuse.kernel, fuse.dims = {d0 = "4096"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<4096xf32>, i1, f32) -> f32
    %s = arith.mulf %v, %v : f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d0"], mode = "set"} : (tensor<4096xf32>, f32, i1) -> tensor<4096xf32>
    return %r : tensor<4096xf32>
  }
}

// -----

// Must not fire: The first kernel spills.
// CHECK-LABEL: func.func @main
// CHECK-NOT: fuse.group
// CHECK: return
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<4097xf32>) -> tensor<4097xf32> {
    %o0 = "fuse.empty"() {syms = []} : () -> tensor<4097xf32>
    %s = call @twice(%x, %o0) : (tensor<4097xf32>, tensor<4097xf32>) -> tensor<4097xf32>
    %o1 = "fuse.empty"() {syms = []} : () -> tensor<4097xf32>
    %t = call @squared(%s, %o1) : (tensor<4097xf32>, tensor<4097xf32>) -> tensor<4097xf32>
    return %t : tensor<4097xf32>
  }
  func.func private @twice(%x: tensor<4097xf32>, %o: tensor<4097xf32>) -> tensor<4097xf32> attributes {fuse.kernel, fuse.dims = {d0 = "4097"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<4097xf32>, i1, f32) -> f32
    %s = arith.addf %v, %v : f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d0"], mode = "set"} : (tensor<4097xf32>, f32, i1) -> tensor<4097xf32>
    return %r : tensor<4097xf32>
  }
  func.func private @squared(%x: tensor<4097xf32>, %o: tensor<4097xf32>) -> tensor<4097xf32> attributes {fuse.kernel, fuse.dims = {d0 = "4097"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<4097xf32>, i1, f32) -> f32
    %s = arith.mulf %v, %v : f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d0"], mode = "set"} : (tensor<4097xf32>, f32, i1) -> tensor<4097xf32>
    return %r : tensor<4097xf32>
  }
}

// -----

// Must not fire: The second kernel spills.
// CHECK-LABEL: func.func @main
// CHECK-NOT: fuse.group
// CHECK: return
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<4098xf32>) -> tensor<4098xf32> {
    %o0 = "fuse.empty"() {syms = []} : () -> tensor<4098xf32>
    %s = call @twice(%x, %o0) : (tensor<4098xf32>, tensor<4098xf32>) -> tensor<4098xf32>
    %o1 = "fuse.empty"() {syms = []} : () -> tensor<4098xf32>
    %t = call @squared(%s, %o1) : (tensor<4098xf32>, tensor<4098xf32>) -> tensor<4098xf32>
    return %t : tensor<4098xf32>
  }
  func.func private @twice(%x: tensor<4098xf32>, %o: tensor<4098xf32>) -> tensor<4098xf32> attributes {fuse.kernel, fuse.dims = {d0 = "4098"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<4098xf32>, i1, f32) -> f32
    %s = arith.addf %v, %v : f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d0"], mode = "set"} : (tensor<4098xf32>, f32, i1) -> tensor<4098xf32>
    return %r : tensor<4098xf32>
  }
  func.func private @squared(%x: tensor<4098xf32>, %o: tensor<4098xf32>) -> tensor<4098xf32> attributes {fuse.kernel, fuse.dims = {d0 = "4098"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<4098xf32>, i1, f32) -> f32
    %s = arith.mulf %v, %v : f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d0"], mode = "set"} : (tensor<4098xf32>, f32, i1) -> tensor<4098xf32>
    return %r : tensor<4098xf32>
  }
}

// -----

// Must not fire: The fused kernel spills.
// CHECK-LABEL: func.func @main
// CHECK-NOT: fuse.group
// CHECK: return
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<4099xf32>) -> tensor<4099xf32> {
    %o0 = "fuse.empty"() {syms = []} : () -> tensor<4099xf32>
    %s = call @twice(%x, %o0) : (tensor<4099xf32>, tensor<4099xf32>) -> tensor<4099xf32>
    %o1 = "fuse.empty"() {syms = []} : () -> tensor<4099xf32>
    %t = call @squared(%s, %o1) : (tensor<4099xf32>, tensor<4099xf32>) -> tensor<4099xf32>
    return %t : tensor<4099xf32>
  }
  func.func private @twice(%x: tensor<4099xf32>, %o: tensor<4099xf32>) -> tensor<4099xf32> attributes {fuse.kernel, fuse.dims = {d0 = "4099"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<4099xf32>, i1, f32) -> f32
    %s = arith.addf %v, %v : f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d0"], mode = "set"} : (tensor<4099xf32>, f32, i1) -> tensor<4099xf32>
    return %r : tensor<4099xf32>
  }
  func.func private @squared(%x: tensor<4099xf32>, %o: tensor<4099xf32>) -> tensor<4099xf32> attributes {fuse.kernel, fuse.dims = {d0 = "4099"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<4099xf32>, i1, f32) -> f32
    %s = arith.mulf %v, %v : f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d0"], mode = "set"} : (tensor<4099xf32>, f32, i1) -> tensor<4099xf32>
    return %r : tensor<4099xf32>
  }
}

// -----

// Must not fire: Triton does not compile the fused kernel.
// CHECK-LABEL: func.func @main
// CHECK-NOT: fuse.group
// CHECK: return
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<4100xf32>) -> tensor<4100xf32> {
    %o0 = "fuse.empty"() {syms = []} : () -> tensor<4100xf32>
    %s = call @twice(%x, %o0) : (tensor<4100xf32>, tensor<4100xf32>) -> tensor<4100xf32>
    %o1 = "fuse.empty"() {syms = []} : () -> tensor<4100xf32>
    %t = call @squared(%s, %o1) : (tensor<4100xf32>, tensor<4100xf32>) -> tensor<4100xf32>
    return %t : tensor<4100xf32>
  }
  func.func private @twice(%x: tensor<4100xf32>, %o: tensor<4100xf32>) -> tensor<4100xf32> attributes {fuse.kernel, fuse.dims = {d0 = "4100"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<4100xf32>, i1, f32) -> f32
    %s = arith.addf %v, %v : f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d0"], mode = "set"} : (tensor<4100xf32>, f32, i1) -> tensor<4100xf32>
    return %r : tensor<4100xf32>
  }
  func.func private @squared(%x: tensor<4100xf32>, %o: tensor<4100xf32>) -> tensor<4100xf32> attributes {fuse.kernel, fuse.dims = {d0 = "4100"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<4100xf32>, i1, f32) -> f32
    %s = arith.mulf %v, %v : f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d0"], mode = "set"} : (tensor<4100xf32>, f32, i1) -> tensor<4100xf32>
    return %r : tensor<4100xf32>
  }
}

// -----

// Must not fire: Readers of one tensor.
// CHECK-LABEL: func.func @main
// CHECK-NOT: fuse.group
// CHECK: return
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<4101xf32>) -> (tensor<4101xf32>, tensor<4101xf32>) {
    %o0 = "fuse.empty"() {syms = []} : () -> tensor<4101xf32>
    %s = call @twice(%x, %o0) : (tensor<4101xf32>, tensor<4101xf32>) -> tensor<4101xf32>
    %o1 = "fuse.empty"() {syms = []} : () -> tensor<4101xf32>
    %t = call @squared(%x, %o1) : (tensor<4101xf32>, tensor<4101xf32>) -> tensor<4101xf32>
    return %s, %t : tensor<4101xf32>, tensor<4101xf32>
  }
  func.func private @twice(%x: tensor<4101xf32>, %o: tensor<4101xf32>) -> tensor<4101xf32> attributes {fuse.kernel, fuse.dims = {d0 = "4101"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<4101xf32>, i1, f32) -> f32
    %s = arith.addf %v, %v : f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d0"], mode = "set"} : (tensor<4101xf32>, f32, i1) -> tensor<4101xf32>
    return %r : tensor<4101xf32>
  }
  func.func private @squared(%x: tensor<4101xf32>, %o: tensor<4101xf32>) -> tensor<4101xf32> attributes {fuse.kernel, fuse.dims = {d0 = "4101"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<4101xf32>, i1, f32) -> f32
    %s = arith.mulf %v, %v : f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d0"], mode = "set"} : (tensor<4101xf32>, f32, i1) -> tensor<4101xf32>
    return %r : tensor<4101xf32>
  }
}

// -----

// One kernel was measured to be faster.
// CHECK-LABEL: func.func @main
// CHECK-COUNT-2: fuse.group = 0
// CHECK: return
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<4102xf32>) -> tensor<4102xf32> {
    %o0 = "fuse.empty"() {syms = []} : () -> tensor<4102xf32>
    %s = call @twice(%x, %o0) : (tensor<4102xf32>, tensor<4102xf32>) -> tensor<4102xf32>
    %o1 = "fuse.empty"() {syms = []} : () -> tensor<4102xf32>
    %t = call @squared(%s, %o1) : (tensor<4102xf32>, tensor<4102xf32>) -> tensor<4102xf32>
    return %t : tensor<4102xf32>
  }
  func.func private @twice(%x: tensor<4102xf32>, %o: tensor<4102xf32>) -> tensor<4102xf32> attributes {fuse.kernel, fuse.dims = {d0 = "4102"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<4102xf32>, i1, f32) -> f32
    %s = arith.addf %v, %v : f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d0"], mode = "set"} : (tensor<4102xf32>, f32, i1) -> tensor<4102xf32>
    return %r : tensor<4102xf32>
  }
  func.func private @squared(%x: tensor<4102xf32>, %o: tensor<4102xf32>) -> tensor<4102xf32> attributes {fuse.kernel, fuse.dims = {d0 = "4102"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<4102xf32>, i1, f32) -> f32
    %s = arith.mulf %v, %v : f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d0"], mode = "set"} : (tensor<4102xf32>, f32, i1) -> tensor<4102xf32>
    return %r : tensor<4102xf32>
  }
}

// -----

// The table has other sizes: what was measured of these says nothing about this pair.
// CHECK-LABEL: func.func @main
// CHECK-COUNT-2: fuse.group = 0
// CHECK: return
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<4103xf32>) -> tensor<4103xf32> {
    %o0 = "fuse.empty"() {syms = []} : () -> tensor<4103xf32>
    %s = call @twice(%x, %o0) : (tensor<4103xf32>, tensor<4103xf32>) -> tensor<4103xf32>
    %o1 = "fuse.empty"() {syms = []} : () -> tensor<4103xf32>
    %t = call @squared(%s, %o1) : (tensor<4103xf32>, tensor<4103xf32>) -> tensor<4103xf32>
    return %t : tensor<4103xf32>
  }
  func.func private @twice(%x: tensor<4103xf32>, %o: tensor<4103xf32>) -> tensor<4103xf32> attributes {fuse.kernel, fuse.dims = {d0 = "4103"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<4103xf32>, i1, f32) -> f32
    %s = arith.addf %v, %v : f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d0"], mode = "set"} : (tensor<4103xf32>, f32, i1) -> tensor<4103xf32>
    return %r : tensor<4103xf32>
  }
  func.func private @squared(%x: tensor<4103xf32>, %o: tensor<4103xf32>) -> tensor<4103xf32> attributes {fuse.kernel, fuse.dims = {d0 = "4103"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<4103xf32>, i1, f32) -> f32
    %s = arith.mulf %v, %v : f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d0"], mode = "set"} : (tensor<4103xf32>, f32, i1) -> tensor<4103xf32>
    return %r : tensor<4103xf32>
  }
}
