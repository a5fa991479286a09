// RUN: fuse-opt %s --pass-pipeline="builtin.module(fuse-vertical{hardware=h200})" --split-input-file | FileCheck %s
// RUN: fuse-opt %s --pass-pipeline="builtin.module(fuse-vertical{hardware=h200})" --split-input-file --remarks=text -o %t 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: fuse-opt %s --pass-pipeline="builtin.module(fuse-vertical{hardware=h200})" --split-input-file --remarks=text --sort=cost -o %t 2>&1 | FileCheck %s --check-prefix=COST

// A merge that the estimate calls slower would save nothing.
// COST: 0.00 us, {{[0-9]+}} bytes: missed: fuse-vertical: slower, {{.*}}: shifted and pairs stay apart
// REMARK: missed: fuse-vertical: slower, saved_us=-{{[0-9.]+}}, us_together={{[0-9.]+}}, us_apart={{[0-9.]+}}: shifted and pairs stay apart: what would run again takes longer than the merge saves
// REMARK: passed: fuse-vertical: fused, saved_bytes=4096, saved_launches=1, recomputed_slots=523264, saved_us=

// Must not fire: a product and a sum for each of 2^32 points instead of 2^16; half a megabyte is not worth that.
// CHECK-LABEL: func.func @main
// CHECK-NOT: fuse.group
// CHECK: return
module attributes {fuse.device = "cpu"} {
  func.func @main(%a: tensor<65536xf32>, %b: tensor<65536xf32>) -> tensor<65536xf32> {
    %o0 = "fuse.empty"() {syms = []} : () -> tensor<65536xf32>
    %s = call @shifted(%b, %o0) : (tensor<65536xf32>, tensor<65536xf32>) -> tensor<65536xf32>
    %o1 = "fuse.empty"() {syms = []} : () -> tensor<65536xf32>
    %t = call @pairs(%a, %s, %o1) : (tensor<65536xf32>, tensor<65536xf32>, tensor<65536xf32>) -> tensor<65536xf32>
    return %t : tensor<65536xf32>
  }
  func.func private @shifted(%x: tensor<65536xf32>, %o: tensor<65536xf32>) -> tensor<65536xf32> attributes {fuse.kernel, fuse.dims = {d0 = "65536"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %one = arith.constant 1.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<65536xf32>, i1, f32) -> f32
    %s = arith.mulf %v, %v : f32
    %t = arith.addf %s, %one : f32
    %r = "fuse.store"(%o, %t, %true) {at = ["d0"], mode = "set"} : (tensor<65536xf32>, f32, i1) -> tensor<65536xf32>
    return %r : tensor<65536xf32>
  }
  func.func private @pairs(%x: tensor<65536xf32>, %y: tensor<65536xf32>, %o: tensor<65536xf32>) -> tensor<65536xf32> attributes {fuse.kernel, fuse.dims = {d0 = "65536", d1 = "65536"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<65536xf32>, i1, f32) -> f32
    %b = "fuse.load"(%y, %true, %zero) {at = ["d1"]} : (tensor<65536xf32>, i1, f32) -> f32
    %m = arith.maximumf %a, %b : f32
    %s = "fuse.reduce"(%m) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d0"], mode = "set"} : (tensor<65536xf32>, f32, i1) -> tensor<65536xf32>
    return %r : tensor<65536xf32>
  }
}

// -----

// The same for 2^18 points takes less time than a launch.
// CHECK-LABEL: func.func @main
// CHECK-COUNT-2: fuse.group = 0
// CHECK: return
module attributes {fuse.device = "cpu"} {
  func.func @main(%a: tensor<512xf32>, %b: tensor<512xf32>) -> tensor<512xf32> {
    %o0 = "fuse.empty"() {syms = []} : () -> tensor<512xf32>
    %s = call @shifted(%b, %o0) : (tensor<512xf32>, tensor<512xf32>) -> tensor<512xf32>
    %o1 = "fuse.empty"() {syms = []} : () -> tensor<512xf32>
    %t = call @pairs(%a, %s, %o1) : (tensor<512xf32>, tensor<512xf32>, tensor<512xf32>) -> tensor<512xf32>
    return %t : tensor<512xf32>
  }
  func.func private @shifted(%x: tensor<512xf32>, %o: tensor<512xf32>) -> tensor<512xf32> attributes {fuse.kernel, fuse.dims = {d0 = "512"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %one = arith.constant 1.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<512xf32>, i1, f32) -> f32
    %s = arith.mulf %v, %v : f32
    %t = arith.addf %s, %one : f32
    %r = "fuse.store"(%o, %t, %true) {at = ["d0"], mode = "set"} : (tensor<512xf32>, f32, i1) -> tensor<512xf32>
    return %r : tensor<512xf32>
  }
  func.func private @pairs(%x: tensor<512xf32>, %y: tensor<512xf32>, %o: tensor<512xf32>) -> tensor<512xf32> attributes {fuse.kernel, fuse.dims = {d0 = "512", d1 = "512"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<512xf32>, i1, f32) -> f32
    %b = "fuse.load"(%y, %true, %zero) {at = ["d1"]} : (tensor<512xf32>, i1, f32) -> f32
    %m = arith.maximumf %a, %b : f32
    %s = "fuse.reduce"(%m) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d0"], mode = "set"} : (tensor<512xf32>, f32, i1) -> tensor<512xf32>
    return %r : tensor<512xf32>
  }
}
