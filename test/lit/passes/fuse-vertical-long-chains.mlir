// RUN: fuse-opt %s --pass-pipeline="builtin.module(fuse-vertical{long-chain=3 max-ops=3})" --split-input-file | FileCheck %s
// RUN: fuse-opt %s --pass-pipeline="builtin.module(fuse-vertical{long-chain=3 max-ops=3})" --split-input-file --remarks=text -o %t 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: not fuse-opt %s --pass-pipeline="builtin.module(fuse-vertical{long-chain=few})" -o %t 2>&1 | FileCheck %s --check-prefix=INVALID
// INVALID: long-chain

// A recurrence of six steps is cut in halves where a kernel has three operations.  The search by pairs would
// begin with pairs, and end with groups of two and three.
// CHECK-LABEL: func.func @main
// CHECK-COUNT-3: call @step{{.*}}fuse.group = 0
// CHECK-COUNT-3: call @step{{.*}}fuse.group = 1
// CHECK: return
// REMARK: missed: fuse-vertical: size,{{.*}} scalar_ops=6, max_ops=3
// REMARK: passed: fuse-vertical: fused,{{.*}}: 3 kernels become one
// REMARK: passed: fuse-vertical: fused,{{.*}}: 3 kernels become one
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<64xf32>, %h0: tensor<64xf32>) -> (tensor<64xf32>) {
    %o1 = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %h1 = call @step(%x, %h0, %o1) : (tensor<64xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    %o2 = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %h2 = call @step(%x, %h1, %o2) : (tensor<64xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    %o3 = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %h3 = call @step(%x, %h2, %o3) : (tensor<64xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    %o4 = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %h4 = call @step(%x, %h3, %o4) : (tensor<64xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    %o5 = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %h5 = call @step(%x, %h4, %o5) : (tensor<64xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    %o6 = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %h6 = call @step(%x, %h5, %o6) : (tensor<64xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    return %h6 : tensor<64xf32>
  }
  func.func private @step(%x: tensor<64xf32>, %h: tensor<64xf32>, %o: tensor<64xf32>) -> tensor<64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<64xf32>, i1, f32) -> f32
    %b = "fuse.load"(%h, %true, %zero) {at = ["d0"]} : (tensor<64xf32>, i1, f32) -> f32
    %s = arith.addf %a, %b : f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d0"], mode = "set"} : (tensor<64xf32>, f32, i1) -> tensor<64xf32>
    return %r : tensor<64xf32>
  }
}

// -----

// What each step gives is stored, and one step reads two of those before it.
// CHECK-LABEL: func.func @main
// CHECK-COUNT-3: call @step{{.*}}fuse.group = 0
// CHECK: return
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<64xf32>, %h0: tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>, tensor<64xf32>) {
    %o1 = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %h1 = call @step(%x, %h0, %o1) : (tensor<64xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    %o2 = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %h2 = call @step(%x, %h1, %o2) : (tensor<64xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    %o3 = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %h3 = call @step(%h1, %h2, %o3) : (tensor<64xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    return %h1, %h2, %h3 : tensor<64xf32>, tensor<64xf32>, tensor<64xf32>
  }
  func.func private @step(%x: tensor<64xf32>, %h: tensor<64xf32>, %o: tensor<64xf32>) -> tensor<64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<64xf32>, i1, f32) -> f32
    %b = "fuse.load"(%h, %true, %zero) {at = ["d0"]} : (tensor<64xf32>, i1, f32) -> f32
    %s = arith.addf %a, %b : f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d0"], mode = "set"} : (tensor<64xf32>, f32, i1) -> tensor<64xf32>
    return %r : tensor<64xf32>
  }
}

// -----

// Must not fire: A step reads the state of other points.  The steps on each side of it are chains of three.
// CHECK-LABEL: func.func @main
// CHECK-COUNT-3: call @step{{.*}}fuse.group = 0
// CHECK-COUNT-1: call @flipped{{.*}}fuse.group = 1
// CHECK-COUNT-2: call @step{{.*}}fuse.group = 1
// CHECK: return
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<64xf32>, %h0: tensor<64xf32>) -> (tensor<64xf32>) {
    %o1 = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %h1 = call @step(%x, %h0, %o1) : (tensor<64xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    %o2 = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %h2 = call @step(%x, %h1, %o2) : (tensor<64xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    %o3 = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %h3 = call @step(%x, %h2, %o3) : (tensor<64xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    %o4 = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %h4 = call @flipped(%x, %h3, %o4) : (tensor<64xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    %o5 = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %h5 = call @step(%x, %h4, %o5) : (tensor<64xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    %o6 = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %h6 = call @step(%x, %h5, %o6) : (tensor<64xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    return %h6 : tensor<64xf32>
  }
  func.func private @step(%x: tensor<64xf32>, %h: tensor<64xf32>, %o: tensor<64xf32>) -> tensor<64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<64xf32>, i1, f32) -> f32
    %b = "fuse.load"(%h, %true, %zero) {at = ["d0"]} : (tensor<64xf32>, i1, f32) -> f32
    %s = arith.addf %a, %b : f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d0"], mode = "set"} : (tensor<64xf32>, f32, i1) -> tensor<64xf32>
    return %r : tensor<64xf32>
  }
  func.func private @flipped(%x: tensor<64xf32>, %h: tensor<64xf32>, %o: tensor<64xf32>) -> tensor<64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<64xf32>, i1, f32) -> f32
    %b = "fuse.load"(%h, %true, %zero) {at = ["63 - d0"]} : (tensor<64xf32>, i1, f32) -> f32
    %s = arith.addf %a, %b : f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d0"], mode = "set"} : (tensor<64xf32>, f32, i1) -> tensor<64xf32>
    return %r : tensor<64xf32>
  }
}

// -----

// Must not fire: A sum of the state runs between the steps: they are two chains.
// CHECK-LABEL: func.func @main
// CHECK-COUNT-3: call @step{{.*}}fuse.group = 0
// CHECK: call @total
// CHECK-NOT: fuse.group = 0
// CHECK: return
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<64xf32>, %h0: tensor<64xf32>) -> (tensor<64xf32>) {
    %o1 = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %h1 = call @step(%x, %h0, %o1) : (tensor<64xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    %o2 = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %h2 = call @step(%x, %h1, %o2) : (tensor<64xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    %o3 = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %h3 = call @step(%x, %h2, %o3) : (tensor<64xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    %o4 = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %h4 = call @total(%h3, %o4) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    %o5 = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %h5 = call @step(%h4, %h3, %o5) : (tensor<64xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    %o6 = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %h6 = call @step(%x, %h5, %o6) : (tensor<64xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    %o7 = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %h7 = call @step(%x, %h6, %o7) : (tensor<64xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    return %h7 : tensor<64xf32>
  }
  func.func private @step(%x: tensor<64xf32>, %h: tensor<64xf32>, %o: tensor<64xf32>) -> tensor<64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<64xf32>, i1, f32) -> f32
    %b = "fuse.load"(%h, %true, %zero) {at = ["d0"]} : (tensor<64xf32>, i1, f32) -> f32
    %s = arith.addf %a, %b : f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d0"], mode = "set"} : (tensor<64xf32>, f32, i1) -> tensor<64xf32>
    return %r : tensor<64xf32>
  }
  func.func private @total(%x: tensor<64xf32>, %o: tensor<64xf32>) -> tensor<64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64", d1 = "64"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %a = "fuse.load"(%x, %true, %zero) {at = ["d1"]} : (tensor<64xf32>, i1, f32) -> f32
    %s = "fuse.reduce"(%a) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %i = "fuse.index"() {expr = "d0"} : () -> i64
    %f = arith.sitofp %i : i64 to f32
    %p = arith.mulf %s, %f : f32
    %r = "fuse.store"(%o, %p, %true) {at = ["d0"], mode = "set"} : (tensor<64xf32>, f32, i1) -> tensor<64xf32>
    return %r : tensor<64xf32>
  }
}

// -----

// Must not fire: A step adds to what an argument of the program holds.  The others are a chain of three.
// CHECK-LABEL: func.func @main
// CHECK: call @step{{.*}}fuse.group = 0
// CHECK: call @added(%arg0, %1, %arg2) :
// CHECK-COUNT-2: call @step{{.*}}fuse.group = 0
// CHECK: return
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<64xf32>, %h0: tensor<64xf32>, %y: tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>) {
    %o1 = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %h1 = call @step(%x, %h0, %o1) : (tensor<64xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    %h2 = call @added(%x, %h1, %y) : (tensor<64xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    %o3 = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %h3 = call @step(%x, %h1, %o3) : (tensor<64xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    %o4 = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %h4 = call @step(%x, %h3, %o4) : (tensor<64xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    return %h2, %h4 : tensor<64xf32>, tensor<64xf32>
  }
  func.func private @step(%x: tensor<64xf32>, %h: tensor<64xf32>, %o: tensor<64xf32>) -> tensor<64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<64xf32>, i1, f32) -> f32
    %b = "fuse.load"(%h, %true, %zero) {at = ["d0"]} : (tensor<64xf32>, i1, f32) -> f32
    %s = arith.addf %a, %b : f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d0"], mode = "set"} : (tensor<64xf32>, f32, i1) -> tensor<64xf32>
    return %r : tensor<64xf32>
  }
  func.func private @added(%x: tensor<64xf32>, %h: tensor<64xf32>, %o: tensor<64xf32>) -> tensor<64xf32> attributes {fuse.kernel, fuse.dims = {d0 = "64"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<64xf32>, i1, f32) -> f32
    %b = "fuse.load"(%h, %true, %zero) {at = ["d0"]} : (tensor<64xf32>, i1, f32) -> f32
    %s = arith.addf %a, %b : f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d0"], mode = "add"} : (tensor<64xf32>, f32, i1) -> tensor<64xf32>
    return %r : tensor<64xf32>
  }
}
