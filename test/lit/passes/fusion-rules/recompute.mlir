// RUN: fuse-opt %s --pass-pipeline="builtin.module(fold-views,fuse-vertical{hardware=h200})" --split-input-file | FileCheck %s
// RUN: fuse-opt %s --pass-pipeline="builtin.module(fold-views,fuse-vertical{hardware=h200})" --split-input-file --remarks=text -o %t 2>&1 | FileCheck %s --check-prefix=REMARK

// REMARK: missed: fuse-vertical: recompute, points_before=4, points_after=240, slots=17, saved_bytes=32: exp_0 and mul_3 stay apart
// REMARK: passed: fuse-vertical: fused
// REMARK: missed: fuse-vertical: slower, saved_us=-{{.*}}, us_together={{.*}}, us_apart={{.*}}: step and near stay apart: what would run again takes longer than the merge saves

// Must not fire: A sine and an exponential for each of 240 points instead of four.
// CHECK-LABEL: func.func @main
// CHECK-NOT: fuse.group
// CHECK: return
module attributes {fuse.device = "cpu"} {
  func.func @main(%a0: tensor<60x4xf32>, %a1: tensor<4xf32>) -> (tensor<60x4xf32>) {
    %o2 = "fuse.empty"() {syms = []} : () -> tensor<4xf32>
    %t1 = call @exp_0(%a1, %o2) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %o5 = "fuse.empty"() {syms = []} : () -> tensor<60x4xf32>
    %t4 = call @mul_3(%a0, %t1, %o5) : (tensor<60x4xf32>, tensor<4xf32>, tensor<60x4xf32>) -> tensor<60x4xf32>
    return %t4 : tensor<60x4xf32>
  }
  func.func private @exp_0(%x0: tensor<4xf32>, %dest: tensor<4xf32>) -> tensor<4xf32> attributes {fuse.kernel, fuse.dims = {d0 = "4"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v0 = "fuse.load"(%x0, %true, %zero) {at = ["d0"]} : (tensor<4xf32>, i1, f32) -> f32
    %h = arith.constant 0.125 : f32
    %s = arith.mulf %v0, %h : f32
    %q = math.sin %s : f32
    %r = math.exp %q : f32
    %out = "fuse.store"(%dest, %r, %true) {at = ["d0"], mode = "set"} : (tensor<4xf32>, f32, i1) -> tensor<4xf32>
    return %out : tensor<4xf32>
  }
  func.func private @mul_3(%x0: tensor<60x4xf32>, %x1: tensor<4xf32>, %dest: tensor<60x4xf32>) -> tensor<60x4xf32> attributes {fuse.kernel, fuse.dims = {d0 = "60", d1 = "4"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v0 = "fuse.load"(%x0, %true, %zero) {at = ["d0", "d1"]} : (tensor<60x4xf32>, i1, f32) -> f32
    %v1 = "fuse.load"(%x1, %true, %zero) {at = ["d1"]} : (tensor<4xf32>, i1, f32) -> f32
    %r = arith.mulf %v0, %v1 : f32
    %out = "fuse.store"(%dest, %r, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<60x4xf32>, f32, i1) -> tensor<60x4xf32>
    return %out : tensor<60x4xf32>
  }
}

// -----

// A product and a sum are computed again.
// CHECK-LABEL: func.func @main
// CHECK-COUNT-2: fuse.group = 0
// CHECK: return
module attributes {fuse.device = "cpu"} {
  func.func @main(%a0: tensor<60x4xf32>, %a1: tensor<4xf32>) -> (tensor<60x4xf32>) {
    %o2 = "fuse.empty"() {syms = []} : () -> tensor<4xf32>
    %t1 = call @square_plus_0(%a1, %o2) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %o5 = "fuse.empty"() {syms = []} : () -> tensor<60x4xf32>
    %t4 = call @mul_3(%a0, %t1, %o5) : (tensor<60x4xf32>, tensor<4xf32>, tensor<60x4xf32>) -> tensor<60x4xf32>
    return %t4 : tensor<60x4xf32>
  }
  func.func private @square_plus_0(%x0: tensor<4xf32>, %dest: tensor<4xf32>) -> tensor<4xf32> attributes {fuse.kernel, fuse.dims = {d0 = "4"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v0 = "fuse.load"(%x0, %true, %zero) {at = ["d0"]} : (tensor<4xf32>, i1, f32) -> f32
    %o = arith.constant 1.0 : f32
    %s = arith.mulf %v0, %v0 : f32
    %r = arith.addf %s, %o : f32
    %out = "fuse.store"(%dest, %r, %true) {at = ["d0"], mode = "set"} : (tensor<4xf32>, f32, i1) -> tensor<4xf32>
    return %out : tensor<4xf32>
  }
  func.func private @mul_3(%x0: tensor<60x4xf32>, %x1: tensor<4xf32>, %dest: tensor<60x4xf32>) -> tensor<60x4xf32> attributes {fuse.kernel, fuse.dims = {d0 = "60", d1 = "4"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v0 = "fuse.load"(%x0, %true, %zero) {at = ["d0", "d1"]} : (tensor<60x4xf32>, i1, f32) -> f32
    %v1 = "fuse.load"(%x1, %true, %zero) {at = ["d1"]} : (tensor<4xf32>, i1, f32) -> f32
    %r = arith.mulf %v0, %v1 : f32
    %out = "fuse.store"(%dest, %r, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<60x4xf32>, f32, i1) -> tensor<60x4xf32>
    return %out : tensor<60x4xf32>
  }
}

// -----

// Two steps of a stencil load 13 elements for a point, and compute the first step at five.
// CHECK-LABEL: func.func @main
// CHECK-COUNT-4: fuse.group = 0
// CHECK: return
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<4096x4096xf32>) -> tensor<4096x4096xf32> {
    %o0 = "fuse.empty"() {syms = []} : () -> tensor<4096x4096xf32>
    %n0 = call @near(%x, %o0) : (tensor<4096x4096xf32>, tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
    %p0 = "fuse.empty"() {syms = []} : () -> tensor<4096x4096xf32>
    %v0 = call @step(%n0, %x, %p0) : (tensor<4096x4096xf32>, tensor<4096x4096xf32>, tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
    %o1 = "fuse.empty"() {syms = []} : () -> tensor<4096x4096xf32>
    %n1 = call @near(%v0, %o1) : (tensor<4096x4096xf32>, tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
    %p1 = "fuse.empty"() {syms = []} : () -> tensor<4096x4096xf32>
    %v1 = call @step(%n1, %v0, %p1) : (tensor<4096x4096xf32>, tensor<4096x4096xf32>, tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
    return %v1 : tensor<4096x4096xf32>
  }
  func.func private @near(%x: tensor<4096x4096xf32>, %o: tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "4096", d1 = "4096"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %n = "fuse.load"(%x, %true, %zero) {at = ["(d0 + 4095) mod 4096", "d1"]} : (tensor<4096x4096xf32>, i1, f32) -> f32
    %s = "fuse.load"(%x, %true, %zero) {at = ["(d0 + 1) mod 4096", "d1"]} : (tensor<4096x4096xf32>, i1, f32) -> f32
    %w = "fuse.load"(%x, %true, %zero) {at = ["d0", "(d1 + 4095) mod 4096"]} : (tensor<4096x4096xf32>, i1, f32) -> f32
    %e = "fuse.load"(%x, %true, %zero) {at = ["d0", "(d1 + 1) mod 4096"]} : (tensor<4096x4096xf32>, i1, f32) -> f32
    %ns = arith.addf %n, %s : f32
    %we = arith.addf %w, %e : f32
    %all = arith.addf %ns, %we : f32
    %r = "fuse.store"(%o, %all, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<4096x4096xf32>, f32, i1) -> tensor<4096x4096xf32>
    return %r : tensor<4096x4096xf32>
  }
  func.func private @step(%n: tensor<4096x4096xf32>, %x: tensor<4096x4096xf32>, %o: tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "4096", d1 = "4096"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %a = "fuse.load"(%n, %true, %zero) {at = ["d0", "d1"]} : (tensor<4096x4096xf32>, i1, f32) -> f32
    %b = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<4096x4096xf32>, i1, f32) -> f32
    %d = arith.subf %a, %b : f32
    %r = "fuse.store"(%o, %d, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<4096x4096xf32>, f32, i1) -> tensor<4096x4096xf32>
    return %r : tensor<4096x4096xf32>
  }
}

// -----

// Must not fire: three steps would load 25 elements for a point and compute 19 steps: what two of them make is
// stored.
// CHECK-LABEL: func.func @main
// CHECK-COUNT-4: fuse.group = 0
// CHECK-COUNT-2: fuse.group = 1
// CHECK: return
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<4096x4096xf32>) -> tensor<4096x4096xf32> {
    %o0 = "fuse.empty"() {syms = []} : () -> tensor<4096x4096xf32>
    %n0 = call @near(%x, %o0) : (tensor<4096x4096xf32>, tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
    %p0 = "fuse.empty"() {syms = []} : () -> tensor<4096x4096xf32>
    %v0 = call @step(%n0, %x, %p0) : (tensor<4096x4096xf32>, tensor<4096x4096xf32>, tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
    %o1 = "fuse.empty"() {syms = []} : () -> tensor<4096x4096xf32>
    %n1 = call @near(%v0, %o1) : (tensor<4096x4096xf32>, tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
    %p1 = "fuse.empty"() {syms = []} : () -> tensor<4096x4096xf32>
    %v1 = call @step(%n1, %v0, %p1) : (tensor<4096x4096xf32>, tensor<4096x4096xf32>, tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
    %o2 = "fuse.empty"() {syms = []} : () -> tensor<4096x4096xf32>
    %n2 = call @near(%v1, %o2) : (tensor<4096x4096xf32>, tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
    %p2 = "fuse.empty"() {syms = []} : () -> tensor<4096x4096xf32>
    %v2 = call @step(%n2, %v1, %p2) : (tensor<4096x4096xf32>, tensor<4096x4096xf32>, tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
    return %v2 : tensor<4096x4096xf32>
  }
  func.func private @near(%x: tensor<4096x4096xf32>, %o: tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "4096", d1 = "4096"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %n = "fuse.load"(%x, %true, %zero) {at = ["(d0 + 4095) mod 4096", "d1"]} : (tensor<4096x4096xf32>, i1, f32) -> f32
    %s = "fuse.load"(%x, %true, %zero) {at = ["(d0 + 1) mod 4096", "d1"]} : (tensor<4096x4096xf32>, i1, f32) -> f32
    %w = "fuse.load"(%x, %true, %zero) {at = ["d0", "(d1 + 4095) mod 4096"]} : (tensor<4096x4096xf32>, i1, f32) -> f32
    %e = "fuse.load"(%x, %true, %zero) {at = ["d0", "(d1 + 1) mod 4096"]} : (tensor<4096x4096xf32>, i1, f32) -> f32
    %ns = arith.addf %n, %s : f32
    %we = arith.addf %w, %e : f32
    %all = arith.addf %ns, %we : f32
    %r = "fuse.store"(%o, %all, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<4096x4096xf32>, f32, i1) -> tensor<4096x4096xf32>
    return %r : tensor<4096x4096xf32>
  }
  func.func private @step(%n: tensor<4096x4096xf32>, %x: tensor<4096x4096xf32>, %o: tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "4096", d1 = "4096"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %a = "fuse.load"(%n, %true, %zero) {at = ["d0", "d1"]} : (tensor<4096x4096xf32>, i1, f32) -> f32
    %b = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<4096x4096xf32>, i1, f32) -> f32
    %d = arith.subf %a, %b : f32
    %r = "fuse.store"(%o, %d, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<4096x4096xf32>, f32, i1) -> tensor<4096x4096xf32>
    return %r : tensor<4096x4096xf32>
  }
}

// -----

// Must not fire: A concatenation of seven is looked up at 9 points.
// REMARK: missed: fuse-vertical: recompute, points_before=7, points_after=9: cat and look_up stay apart
// CHECK-LABEL: func.func @main
// CHECK-NOT: fuse.group
// CHECK: return
module attributes {fuse.device = "cpu"} {
  func.func @main(%y: tensor<3xf32>, %x: tensor<4xf32>, %rows: tensor<9xi64>) -> tensor<9xf32> {
    %e = "fuse.empty"() {syms = []} : () -> tensor<7xf32>
    %a = call @cat(%y, %x, %e) : (tensor<3xf32>, tensor<4xf32>, tensor<7xf32>) -> tensor<7xf32>
    %o = "fuse.empty"() {syms = []} : () -> tensor<9xf32>
    %r = call @look_up(%a, %rows, %o) : (tensor<7xf32>, tensor<9xi64>, tensor<9xf32>) -> tensor<9xf32>
    return %r : tensor<9xf32>
  }
  func.func private @cat(%y: tensor<3xf32>, %x: tensor<4xf32>, %o: tensor<7xf32>) -> tensor<7xf32> attributes {fuse.kernel, fuse.dims = {d0 = "7"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %c0 = arith.constant 0 : i64
    %i = "fuse.index"() {expr = "d0 - 3"} : () -> i64
    %low = arith.cmpi slt, %i, %c0 : i64
    %high = arith.cmpi sge, %i, %c0 : i64
    %v = "fuse.load"(%y, %low, %zero) {at = ["d0"]} : (tensor<3xf32>, i1, f32) -> f32
    %w = "fuse.load"(%x, %high, %zero) {at = ["d0 - 3"]} : (tensor<4xf32>, i1, f32) -> f32
    %s = arith.select %low, %v, %w : f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d0"], mode = "set"} : (tensor<7xf32>, f32, i1) -> tensor<7xf32>
    return %r : tensor<7xf32>
  }
  func.func private @look_up(%x: tensor<7xf32>, %rows: tensor<9xi64>, %o: tensor<9xf32>) -> tensor<9xf32> attributes {fuse.kernel, fuse.dims = {d0 = "9"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %none = arith.constant 0 : i64
    %seven = arith.constant 7 : i64
    %i = "fuse.load"(%rows, %true, %none) {at = ["d0"]} : (tensor<9xi64>, i1, i64) -> i64
    %c = arith.cmpi ult, %i, %seven : i64
    "fuse.device_assert"(%c, %true) {message = "no row"} : (i1, i1) -> ()
    %v = "fuse.load"(%x, %c, %zero, %i) {at = ["i0"]} : (tensor<7xf32>, i1, f32, i64) -> f32
    %r = "fuse.store"(%o, %v, %true) {at = ["d0"], mode = "set"} : (tensor<9xf32>, f32, i1) -> tensor<9xf32>
    return %r : tensor<9xf32>
  }
}

// -----

// It is looked up at 5 points.
// CHECK-LABEL: func.func @main
// CHECK: call @cat({{.*}} {fuse.group = [[G:.*]] : i64}
// CHECK: call @look_up({{.*}} {fuse.group = [[G]] : i64}
module attributes {fuse.device = "cpu"} {
  func.func @main(%y: tensor<3xf32>, %x: tensor<4xf32>, %rows: tensor<5xi64>) -> tensor<5xf32> {
    %e = "fuse.empty"() {syms = []} : () -> tensor<7xf32>
    %a = call @cat(%y, %x, %e) : (tensor<3xf32>, tensor<4xf32>, tensor<7xf32>) -> tensor<7xf32>
    %o = "fuse.empty"() {syms = []} : () -> tensor<5xf32>
    %r = call @look_up(%a, %rows, %o) : (tensor<7xf32>, tensor<5xi64>, tensor<5xf32>) -> tensor<5xf32>
    return %r : tensor<5xf32>
  }
  func.func private @cat(%y: tensor<3xf32>, %x: tensor<4xf32>, %o: tensor<7xf32>) -> tensor<7xf32> attributes {fuse.kernel, fuse.dims = {d0 = "7"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %c0 = arith.constant 0 : i64
    %i = "fuse.index"() {expr = "d0 - 3"} : () -> i64
    %low = arith.cmpi slt, %i, %c0 : i64
    %high = arith.cmpi sge, %i, %c0 : i64
    %v = "fuse.load"(%y, %low, %zero) {at = ["d0"]} : (tensor<3xf32>, i1, f32) -> f32
    %w = "fuse.load"(%x, %high, %zero) {at = ["d0 - 3"]} : (tensor<4xf32>, i1, f32) -> f32
    %s = arith.select %low, %v, %w : f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d0"], mode = "set"} : (tensor<7xf32>, f32, i1) -> tensor<7xf32>
    return %r : tensor<7xf32>
  }
  func.func private @look_up(%x: tensor<7xf32>, %rows: tensor<5xi64>, %o: tensor<5xf32>) -> tensor<5xf32> attributes {fuse.kernel, fuse.dims = {d0 = "5"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %none = arith.constant 0 : i64
    %seven = arith.constant 7 : i64
    %i = "fuse.load"(%rows, %true, %none) {at = ["d0"]} : (tensor<5xi64>, i1, i64) -> i64
    %c = arith.cmpi ult, %i, %seven : i64
    "fuse.device_assert"(%c, %true) {message = "no row"} : (i1, i1) -> ()
    %v = "fuse.load"(%x, %c, %zero, %i) {at = ["i0"]} : (tensor<7xf32>, i1, f32, i64) -> f32
    %r = "fuse.store"(%o, %v, %true) {at = ["d0"], mode = "set"} : (tensor<5xf32>, f32, i1) -> tensor<5xf32>
    return %r : tensor<5xf32>
  }
}

// -----

// Must not fire: Eight sines of each of three parts for each of three results of a point, instead of once for each part.
// REMARK: missed: fuse-vertical: recompute, points_before=49152, points_after=147456, slots=64, saved_bytes=393216: waves and mixed stay apart
// CHECK-LABEL: func.func @main
// CHECK-NOT: fuse.group
// CHECK: return
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<3x16384xf32>) -> tensor<3x16384xf32> {
    %e = "fuse.empty"() {syms = []} : () -> tensor<3x16384xf32>
    %t = call @waves(%x, %e) : (tensor<3x16384xf32>, tensor<3x16384xf32>) -> tensor<3x16384xf32>
    %f = "fuse.empty"() {syms = []} : () -> tensor<3x16384xf32>
    %y = call @mixed(%t, %f) : (tensor<3x16384xf32>, tensor<3x16384xf32>) -> tensor<3x16384xf32>
    return %y : tensor<3x16384xf32>
  }
  func.func private @waves(%x: tensor<3x16384xf32>, %o: tensor<3x16384xf32>) -> tensor<3x16384xf32> attributes {fuse.kernel, fuse.dims = {d0 = "3", d1 = "16384"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<3x16384xf32>, i1, f32) -> f32
    %p0 = math.sin %v : f32
    %p1 = math.sin %p0 : f32
    %p2 = math.sin %p1 : f32
    %p3 = math.sin %p2 : f32
    %p4 = math.sin %p3 : f32
    %p5 = math.sin %p4 : f32
    %p6 = math.sin %p5 : f32
    %p = math.sin %p6 : f32
    %r = "fuse.store"(%o, %p, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<3x16384xf32>, f32, i1) -> tensor<3x16384xf32>
    return %r : tensor<3x16384xf32>
  }
  func.func private @mixed(%x: tensor<3x16384xf32>, %o: tensor<3x16384xf32>) -> tensor<3x16384xf32> attributes {fuse.kernel, fuse.dims = {d0 = "3", d1 = "16384"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %i = "fuse.index"() {expr = "d0"} : () -> i64
    %w = arith.sitofp %i : i64 to f32
    %a = "fuse.load"(%x, %true, %zero) {at = ["0", "d1"]} : (tensor<3x16384xf32>, i1, f32) -> f32
    %b = "fuse.load"(%x, %true, %zero) {at = ["1", "d1"]} : (tensor<3x16384xf32>, i1, f32) -> f32
    %c = "fuse.load"(%x, %true, %zero) {at = ["2", "d1"]} : (tensor<3x16384xf32>, i1, f32) -> f32
    %ab = arith.addf %a, %b : f32
    %abc = arith.addf %ab, %c : f32
    %m = arith.mulf %abc, %w : f32
    %r = "fuse.store"(%o, %m, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<3x16384xf32>, f32, i1) -> tensor<3x16384xf32>
    return %r : tensor<3x16384xf32>
  }
}
