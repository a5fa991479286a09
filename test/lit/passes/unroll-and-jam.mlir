// RUN: fuse-opt %s --pass-pipeline="builtin.module(unroll-and-jam{hardware=generic:sm_count=1 least-loads=3 most-rows=4})" --split-input-file --verify-diagnostics | FileCheck %s
// RUN: fuse-opt %s --pass-pipeline="builtin.module(unroll-and-jam{hardware=generic:sm_count=1 least-loads=4})" --split-input-file --verify-diagnostics | FileCheck %s --check-prefix=FEW
// RUN: fuse-opt %s --pass-pipeline="builtin.module(unroll-and-jam{hardware=generic:sm_count=1 least-loads=3 most-rows=4})" --split-input-file --verify-diagnostics --remarks=text 2>&1 >/dev/null | FileCheck %s --check-prefix=SAID
// SAID: passed: unroll-and-jam: jammed

// Four rows are computed together, from six rows that are read once each.  What the first needs comes first.
// CHECK-LABEL: func.func private @stencil
// CHECK-SAME: fuse.dims = {d0 = "16", d1 = "256"}
// CHECK: %[[A:.*]] = "fuse.load"{{.*}}{at = ["d0*4", "d1"]}
// CHECK-NEXT: %[[B:.*]] = "fuse.load"{{.*}}{at = ["d0*4 + 1", "d1"]}
// CHECK-NEXT: %[[S:.*]] = arith.addf %[[A]], %[[B]]
// CHECK-NEXT: %[[C:.*]] = "fuse.load"{{.*}}{at = ["d0*4 + 2", "d1"]}
// CHECK-NEXT: %[[T:.*]] = arith.addf %[[B]], %[[C]]
// CHECK-NEXT: %[[U:.*]] = arith.addf %[[S]], %[[C]]
// CHECK-NEXT: %[[FIRST:.*]] = "fuse.store"(%arg1, %[[U]], %true) {at = ["d0*4", "d1"], mode = "set"}
// CHECK-NEXT: "fuse.load"{{.*}}{at = ["d0*4 + 3", "d1"]}
// CHECK: "fuse.store"(%[[FIRST]], {{.*}}) {at = ["d0*4 + 1", "d1"], mode = "set"}
// CHECK: {at = ["d0*4 + 5", "d1"]}
// CHECK-NOT: "fuse.load"
// CHECK: %[[LAST:.*]] = "fuse.store"({{.*}}) {at = ["d0*4 + 3", "d1"], mode = "set"}
// CHECK-NEXT: return %[[LAST]]
// FEW-LABEL: func.func private @stencil
// FEW-SAME: fuse.dims = {d0 = "64", d1 = "256"}
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<66x256xf32>) -> tensor<64x256xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<64x256xf32>
    %y = call @stencil(%x, %o) : (tensor<66x256xf32>, tensor<64x256xf32>) -> tensor<64x256xf32>
    return %y : tensor<64x256xf32>
  }
  func.func private @stencil(%x: tensor<66x256xf32>, %o: tensor<64x256xf32>) -> tensor<64x256xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64", d1 = "256"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<66x256xf32>, i1, f32) -> f32
    %b = "fuse.load"(%x, %true, %zero) {at = ["d0 + 1", "d1"]} : (tensor<66x256xf32>, i1, f32) -> f32
    %s = arith.addf %a, %b : f32
    %c = "fuse.load"(%x, %true, %zero) {at = ["d0 + 2", "d1"]} : (tensor<66x256xf32>, i1, f32) -> f32
    %t = arith.addf %s, %c : f32
    %r = "fuse.store"(%o, %t, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<64x256xf32>, f32, i1) -> tensor<64x256xf32>
    return %r : tensor<64x256xf32>
  }
}

// -----

// Beyond its edges the image is zero.  The middle row needs no guard in the kernel, and shares the loads of
// those that do: where a row of a strip is inside for certain, its guard asks nothing.
// CHECK-LABEL: func.func private @padded
// CHECK-SAME: fuse.dims = {d0 = "16", d1 = "256"}
// CHECK-COUNT-6: "fuse.load"
// CHECK-NOT: "fuse.load"
// CHECK: return
// FEW-LABEL: func.func private @padded
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<64x256xf32>) -> tensor<64x256xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<64x256xf32>
    %y = call @padded(%x, %o) : (tensor<64x256xf32>, tensor<64x256xf32>) -> tensor<64x256xf32>
    return %y : tensor<64x256xf32>
  }
  func.func private @padded(%x: tensor<64x256xf32>, %o: tensor<64x256xf32>) -> tensor<64x256xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64", d1 = "256"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %c0 = arith.constant 0 : i64
    %above = "fuse.index"() {expr = "d0 - 1"} : () -> i64
    %g = arith.cmpi sge, %above, %c0 : i64
    %a = "fuse.load"(%x, %g, %zero) {at = ["d0 - 1", "d1"]} : (tensor<64x256xf32>, i1, f32) -> f32
    %b = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<64x256xf32>, i1, f32) -> f32
    %s = arith.addf %a, %b : f32
    %below = "fuse.index"() {expr = "d0 - 63"} : () -> i64
    %h = arith.cmpi slt, %below, %c0 : i64
    %c = "fuse.load"(%x, %h, %zero) {at = ["d0 + 1", "d1"]} : (tensor<64x256xf32>, i1, f32) -> f32
    %t = arith.addf %s, %c : f32
    %r = "fuse.store"(%o, %t, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<64x256xf32>, f32, i1) -> tensor<64x256xf32>
    return %r : tensor<64x256xf32>
  }
}

// -----

// Must not fire: each row is read once, and strips share nothing.
// CHECK-LABEL: func.func private @apart
// CHECK-SAME: fuse.dims = {d0 = "64", d1 = "256"}
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<192x256xf32>) -> tensor<64x256xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<64x256xf32>
    %y = call @apart(%x, %o) : (tensor<192x256xf32>, tensor<64x256xf32>) -> tensor<64x256xf32>
    return %y : tensor<64x256xf32>
  }
  func.func private @apart(%x: tensor<192x256xf32>, %o: tensor<64x256xf32>) -> tensor<64x256xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64", d1 = "256"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %a = "fuse.load"(%x, %true, %zero) {at = ["3*d0", "d1"]} : (tensor<192x256xf32>, i1, f32) -> f32
    %b = "fuse.load"(%x, %true, %zero) {at = ["3*d0 + 1", "d1"]} : (tensor<192x256xf32>, i1, f32) -> f32
    %s = arith.addf %a, %b : f32
    %c = "fuse.load"(%x, %true, %zero) {at = ["3*d0 + 2", "d1"]} : (tensor<192x256xf32>, i1, f32) -> f32
    %t = arith.addf %s, %c : f32
    %r = "fuse.store"(%o, %t, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<64x256xf32>, f32, i1) -> tensor<64x256xf32>
    return %r : tensor<64x256xf32>
  }
}

// -----

// Neighbours along memory: a thread computes two points, half a vector, and reads each number once.  Vectors
// are read and written by codegen.
// CHECK-LABEL: func.func private @neighbours
// CHECK-SAME: fuse.dims = {d0 = "8192"}
// CHECK-SAME: fuse.vectors
// CHECK: %[[A:.*]] = "fuse.load"{{.*}}{at = ["d0*2"]}
// CHECK-NEXT: %[[B:.*]] = "fuse.load"{{.*}}{at = ["d0*2 + 1"]}
// CHECK-NEXT: %[[S:.*]] = arith.addf %[[A]], %[[B]]
// CHECK-NEXT: %[[C:.*]] = "fuse.load"{{.*}}{at = ["d0*2 + 2"]}
// CHECK: %[[FIRST:.*]] = "fuse.store"(%arg1, {{.*}}) {at = ["d0*2"], mode = "set"}
// CHECK-NEXT: "fuse.load"{{.*}}{at = ["d0*2 + 3"]}
// CHECK-NOT: "fuse.load"
// CHECK: "fuse.store"(%[[FIRST]], {{.*}}) {at = ["d0*2 + 1"], mode = "set"}
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<16386xf32>) -> tensor<16384xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<16384xf32>
    %y = call @neighbours(%x, %o) : (tensor<16386xf32>, tensor<16384xf32>) -> tensor<16384xf32>
    return %y : tensor<16384xf32>
  }
  func.func private @neighbours(%x: tensor<16386xf32>, %o: tensor<16384xf32>) -> tensor<16384xf32> attributes {fuse.kernel, fuse.dims = {d0 = "16384"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<16386xf32>, i1, f32) -> f32
    %b = "fuse.load"(%x, %true, %zero) {at = ["d0 + 1"]} : (tensor<16386xf32>, i1, f32) -> f32
    %s = arith.addf %a, %b : f32
    %c = "fuse.load"(%x, %true, %zero) {at = ["d0 + 2"]} : (tensor<16386xf32>, i1, f32) -> f32
    %t = arith.addf %s, %c : f32
    %r = "fuse.store"(%o, %t, %true) {at = ["d0"], mode = "set"} : (tensor<16384xf32>, f32, i1) -> tensor<16384xf32>
    return %r : tensor<16384xf32>
  }
}

// -----

// In front of its row a tensor is zero.  The guards of neighbours in one vector become one.
// CHECK-LABEL: func.func private @causal
// CHECK-SAME: fuse.dims = {d0 = "4", d1 = "512"}
// CHECK: %[[D:.*]] = "fuse.index"() {expr = "d1"}
// CHECK: %[[INSIDE:.*]] = arith.cmpi sge, %[[D]], %c1_i64
// CHECK-NEXT: "fuse.load"(%arg0, %[[INSIDE]], {{.*}}) {at = ["d0", "d1*4 - 2"]}
// CHECK-NEXT: "fuse.load"(%arg0, %[[INSIDE]], {{.*}}) {at = ["d0", "d1*4 - 1"]}
// CHECK-NOT: arith.cmpi
// CHECK: return
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<4x2048xf32>) -> tensor<4x2048xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<4x2048xf32>
    %y = call @causal(%x, %o) : (tensor<4x2048xf32>, tensor<4x2048xf32>) -> tensor<4x2048xf32>
    return %y : tensor<4x2048xf32>
  }
  func.func private @causal(%x: tensor<4x2048xf32>, %o: tensor<4x2048xf32>) -> tensor<4x2048xf32> attributes {fuse.kernel, fuse.dims = {d0 = "4", d1 = "2048"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %least = arith.constant 0 : i64
    %i = "fuse.index"() {expr = "d1 - 2"} : () -> i64
    %j = "fuse.index"() {expr = "d1 - 1"} : () -> i64
    %inside = arith.cmpi sge, %i, %least : i64
    %near = arith.cmpi sge, %j, %least : i64
    %a = "fuse.load"(%x, %inside, %zero) {at = ["d0", "d1 - 2"]} : (tensor<4x2048xf32>, i1, f32) -> f32
    %b = "fuse.load"(%x, %near, %zero) {at = ["d0", "d1 - 1"]} : (tensor<4x2048xf32>, i1, f32) -> f32
    %s = arith.addf %a, %b : f32
    %c = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<4x2048xf32>, i1, f32) -> f32
    %t = arith.addf %s, %c : f32
    %r = "fuse.store"(%o, %t, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<4x2048xf32>, f32, i1) -> tensor<4x2048xf32>
    return %r : tensor<4x2048xf32>
  }
}

// -----

// Must not fire: rows of 2047 elements begin anywhere in a vector.
// CHECK-LABEL: func.func private @odd_rows
// CHECK-SAME: fuse.dims = {d0 = "8", d1 = "2044"}
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<8x2047xf32>) -> tensor<8x2044xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<8x2044xf32>
    %y = call @odd_rows(%x, %o) : (tensor<8x2047xf32>, tensor<8x2044xf32>) -> tensor<8x2044xf32>
    return %y : tensor<8x2044xf32>
  }
  func.func private @odd_rows(%x: tensor<8x2047xf32>, %o: tensor<8x2044xf32>) -> tensor<8x2044xf32> attributes {fuse.kernel, fuse.dims = {d0 = "8", d1 = "2044"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<8x2047xf32>, i1, f32) -> f32
    %b = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1 + 1"]} : (tensor<8x2047xf32>, i1, f32) -> f32
    %s = arith.addf %a, %b : f32
    %c = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1 + 3"]} : (tensor<8x2047xf32>, i1, f32) -> f32
    %t = arith.addf %s, %c : f32
    %r = "fuse.store"(%o, %t, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<8x2044xf32>, f32, i1) -> tensor<8x2044xf32>
    return %r : tensor<8x2044xf32>
  }
}

// -----

// Must not fire: how many rows there are is known only when the program runs.
// CHECK-LABEL: func.func private @any_rows
// CHECK-SAME: fuse.dims = {d0 = "s0", d1 = "256"}
module attributes {fuse.device = "cpu"} {
  func.func @main(%s0: index {fuse.sym = "s0", fuse.hint = 64 : i64}, %x: tensor<?x256xf32, #fuse.layout<"s0 + 2,256", "256,1", "0", "">>) -> tensor<?x256xf32, #fuse.layout<"s0,256", "256,1", "0", "">> {
    %o = "fuse.empty"(%s0) {syms = ["s0"]} : (index) -> tensor<?x256xf32, #fuse.layout<"s0,256", "256,1", "0", "">>
    %y = call @any_rows(%x, %o, %s0) : (tensor<?x256xf32, #fuse.layout<"s0 + 2,256", "256,1", "0", "">>, tensor<?x256xf32, #fuse.layout<"s0,256", "256,1", "0", "">>, index) -> tensor<?x256xf32, #fuse.layout<"s0,256", "256,1", "0", "">>
    return %y : tensor<?x256xf32, #fuse.layout<"s0,256", "256,1", "0", "">>
  }
  func.func private @any_rows(%x: tensor<?x256xf32, #fuse.layout<"s0 + 2,256", "256,1", "0", "">>, %o: tensor<?x256xf32, #fuse.layout<"s0,256", "256,1", "0", "">>, %s0: index {fuse.sym = "s0"}) -> tensor<?x256xf32, #fuse.layout<"s0,256", "256,1", "0", "">> attributes {fuse.kernel, fuse.dims = {d0 = "s0", d1 = "256"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<?x256xf32, #fuse.layout<"s0 + 2,256", "256,1", "0", "">>, i1, f32) -> f32
    %b = "fuse.load"(%x, %true, %zero) {at = ["d0 + 1", "d1"]} : (tensor<?x256xf32, #fuse.layout<"s0 + 2,256", "256,1", "0", "">>, i1, f32) -> f32
    %s = arith.addf %a, %b : f32
    %c = "fuse.load"(%x, %true, %zero) {at = ["d0 + 2", "d1"]} : (tensor<?x256xf32, #fuse.layout<"s0 + 2,256", "256,1", "0", "">>, i1, f32) -> f32
    %t = arith.addf %s, %c : f32
    %r = "fuse.store"(%o, %t, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<?x256xf32, #fuse.layout<"s0,256", "256,1", "0", "">>, f32, i1) -> tensor<?x256xf32, #fuse.layout<"s0,256", "256,1", "0", "">>
    return %r : tensor<?x256xf32, #fuse.layout<"s0,256", "256,1", "0", "">>
  }
}

// -----

// Must not fire: the second store may write over what the first wrote, so their order matters.
// CHECK-LABEL: func.func private @twice
// CHECK-SAME: fuse.dims = {d0 = "64", d1 = "256"}
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<66x256xf32>) -> tensor<65x256xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<65x256xf32>
    %y = call @twice(%x, %o) : (tensor<66x256xf32>, tensor<65x256xf32>) -> tensor<65x256xf32>
    return %y : tensor<65x256xf32>
  }
  func.func private @twice(%x: tensor<66x256xf32>, %o: tensor<65x256xf32>) -> tensor<65x256xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64", d1 = "256"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<66x256xf32>, i1, f32) -> f32
    %b = "fuse.load"(%x, %true, %zero) {at = ["d0 + 1", "d1"]} : (tensor<66x256xf32>, i1, f32) -> f32
    %s = arith.addf %a, %b : f32
    %c = "fuse.load"(%x, %true, %zero) {at = ["d0 + 2", "d1"]} : (tensor<66x256xf32>, i1, f32) -> f32
    %t = arith.addf %s, %c : f32
    %r = "fuse.store"(%o, %t, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<65x256xf32>, f32, i1) -> tensor<65x256xf32>
    %q = "fuse.store"(%r, %s, %true) {at = ["d0 + 1", "d1"], mode = "set"} : (tensor<65x256xf32>, f32, i1) -> tensor<65x256xf32>
    return %q : tensor<65x256xf32>
  }
}

// -----

// expected-error@+1 {{the module has no function @main}}
module attributes {fuse.device = "cpu"} {
}

// -----

// Must not fire: rows are read at indices that are computed, so that no two points are known to share one.
// CHECK-LABEL: func.func private @edges
// CHECK-SAME: d0 = "64"
// FEW-LABEL: func.func private @edges
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<64x256xf32>) -> tensor<64x256xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<64x256xf32>
    %y = call @edges(%x, %o) : (tensor<64x256xf32>, tensor<64x256xf32>) -> tensor<64x256xf32>
    return %y : tensor<64x256xf32>
  }
  func.func private @edges(%x: tensor<64x256xf32>, %o: tensor<64x256xf32>) -> tensor<64x256xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64", d1 = "256"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %c0 = arith.constant 0 : i64
    %c63 = arith.constant 63 : i64
    %up = "fuse.index"() {expr = "d0 - 1"} : () -> i64
    %above = arith.maxsi %up, %c0 : i64
    %a = "fuse.load"(%x, %true, %zero, %above) {at = ["i0", "d1"]} : (tensor<64x256xf32>, i1, f32, i64) -> f32
    %b = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<64x256xf32>, i1, f32) -> f32
    %s = arith.addf %a, %b : f32
    %down = "fuse.index"() {expr = "d0 + 1"} : () -> i64
    %below = arith.minsi %down, %c63 : i64
    %c = "fuse.load"(%x, %true, %zero, %below) {at = ["i0", "d1"]} : (tensor<64x256xf32>, i1, f32, i64) -> f32
    %t = arith.addf %s, %c : f32
    %r = "fuse.store"(%o, %t, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<64x256xf32>, f32, i1) -> tensor<64x256xf32>
    return %r : tensor<64x256xf32>
  }
}

// -----

// Rows of a view, whose places are divided by a size: that is nowhere taken for a number.
// CHECK-LABEL: func.func private @viewed
// CHECK-SAME: fuse.dims = {d0 = "16", d1 = "256"}
// CHECK-COUNT-6: "fuse.load"
// CHECK-NOT: "fuse.load"
// CHECK: return
// FEW-LABEL: func.func private @viewed
module attributes {fuse.device = "cpu"} {
  func.func @main(%s0: index {fuse.sym = "s0", fuse.hint = 9 : i64}, %x: tensor<?x?xf32, #fuse.layout<"s1,s0", "s0,1", "0", "">>, %s1: index {fuse.sym = "s1", fuse.hint = 2112 : i64}) -> tensor<64x256xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<64x256xf32>
    %y = call @viewed(%x, %o, %s0, %s1) : (tensor<?x?xf32, #fuse.layout<"s1,s0", "s0,1", "0", "">>, tensor<64x256xf32>, index, index) -> tensor<64x256xf32>
    return %y : tensor<64x256xf32>
  }
  func.func private @viewed(%x: tensor<?x?xf32, #fuse.layout<"s1,s0", "s0,1", "0", "">>, %o: tensor<64x256xf32>, %s0: index {fuse.sym = "s0"}, %s1: index {fuse.sym = "s1"}) -> tensor<64x256xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64", d1 = "256"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %a = "fuse.load"(%x, %true, %zero) {at = ["(d0*256 + d1) floordiv s0", "(d0*256 + d1) mod s0"]} : (tensor<?x?xf32, #fuse.layout<"s1,s0", "s0,1", "0", "">>, i1, f32) -> f32
    %b = "fuse.load"(%x, %true, %zero) {at = ["(d0*256 + d1 + 256) floordiv s0", "(d0*256 + d1 + 256) mod s0"]} : (tensor<?x?xf32, #fuse.layout<"s1,s0", "s0,1", "0", "">>, i1, f32) -> f32
    %s = arith.addf %a, %b : f32
    %c = "fuse.load"(%x, %true, %zero) {at = ["(d0*256 + d1 + 512) floordiv s0", "(d0*256 + d1 + 512) mod s0"]} : (tensor<?x?xf32, #fuse.layout<"s1,s0", "s0,1", "0", "">>, i1, f32) -> f32
    %t = arith.addf %s, %c : f32
    %r = "fuse.store"(%o, %t, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<64x256xf32>, f32, i1) -> tensor<64x256xf32>
    return %r : tensor<64x256xf32>
  }
}

// -----

// Must not fire: one result has no row for each point of the dim, and every program writes all of it.
// CHECK-LABEL: func.func private @row_for_all
// CHECK-SAME: fuse.dims = {d0 = "64", d1 = "256"}
// FEW-LABEL: func.func private @row_for_all
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<66x256xf32>, %w: tensor<256xf32>) -> (tensor<64x256xf32>, tensor<256xf32>) {
    %o = "fuse.empty"() {syms = []} : () -> tensor<64x256xf32>
    %p = "fuse.empty"() {syms = []} : () -> tensor<256xf32>
    %y:2 = call @row_for_all(%x, %w, %o, %p) : (tensor<66x256xf32>, tensor<256xf32>, tensor<64x256xf32>, tensor<256xf32>) -> (tensor<64x256xf32>, tensor<256xf32>)
    return %y#0, %y#1 : tensor<64x256xf32>, tensor<256xf32>
  }
  func.func private @row_for_all(%x: tensor<66x256xf32>, %w: tensor<256xf32>, %o: tensor<64x256xf32>, %p: tensor<256xf32>) -> (tensor<64x256xf32>, tensor<256xf32>) attributes {fuse.kernel, fuse.dims = {d0 = "64", d1 = "256"}, fuse.ties = array<i64: 2, 3>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<66x256xf32>, i1, f32) -> f32
    %b = "fuse.load"(%x, %true, %zero) {at = ["d0 + 1", "d1"]} : (tensor<66x256xf32>, i1, f32) -> f32
    %s = arith.addf %a, %b : f32
    %c = "fuse.load"(%x, %true, %zero) {at = ["d0 + 2", "d1"]} : (tensor<66x256xf32>, i1, f32) -> f32
    %t = arith.addf %s, %c : f32
    %v = "fuse.load"(%w, %true, %zero) {at = ["d1"]} : (tensor<256xf32>, i1, f32) -> f32
    %half = arith.mulf %v, %v : f32
    %r = "fuse.store"(%o, %t, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<64x256xf32>, f32, i1) -> tensor<64x256xf32>
    %q = "fuse.store"(%p, %half, %true) {at = ["d1"], mode = "set"} : (tensor<256xf32>, f32, i1) -> tensor<256xf32>
    return %r, %q : tensor<64x256xf32>, tensor<256xf32>
  }
}
