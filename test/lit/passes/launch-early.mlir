// RUN: fuse-opt %s --pass-pipeline="builtin.module(choose-tiling{hardware=h200},apply-tiling,launch-early{hardware=h200})" --split-input-file | FileCheck %s
// RUN: fuse-opt %s --pass-pipeline="builtin.module(choose-tiling{hardware=h200},apply-tiling,launch-early{hardware=h200})" --split-input-file --remarks=text 2>&1 >/dev/null | FileCheck %s --check-prefix=SAID
// RUN: fuse-opt %s --pass-pipeline="builtin.module(choose-tiling{hardware=h200},apply-tiling,launch-early{hardware=a100})" --split-input-file | FileCheck %s --check-prefix=OLDER
// RUN: not fuse-opt %s --pass-pipeline="builtin.module(launch-early{hardware=h201})" --split-input-file 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// UNKNOWN: unknown hardware 'h201'

// A kernel in front of a product and the product wait for what is before them, before they do anything.  The kernel
// further in front is as it was.
// CHECK-LABEL: func.func private @scale(
// CHECK-NEXT: %[[NONE:.*]] = arith.constant 0 : i32
// CHECK-NEXT: "tt.elementwise_inline_asm"(%[[NONE]]) {asm_string = "griddepcontrol.launch_dependents; griddepcontrol.wait;
// CHECK-SAME: pure = false
// CHECK-LABEL: func.func private @product(
// CHECK-NEXT: arith.constant
// CHECK-NEXT: griddepcontrol.wait
// CHECK-LABEL: func.func private @far(
// CHECK-NOT: griddepcontrol
// CHECK: return
// OLDER-LABEL: func.func private @scale(
// OLDER-NOT: griddepcontrol
// OLDER: return
// SAID: passed: launch-early: early, kernels=2: kernels beside products of few rows are launched early [scale + product]
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<1x1024xbf16>, %w: tensor<1024x1024xbf16>, %z: tensor<2x1024xbf16>) -> (tensor<1x1024xbf16>, tensor<2x1024xbf16>) {
    %e = "fuse.empty"() {syms = []} : () -> tensor<2x1024xbf16>
    %f = call @far(%z, %e) : (tensor<2x1024xbf16>, tensor<2x1024xbf16>) -> tensor<2x1024xbf16>
    %o = "fuse.empty"() {syms = []} : () -> tensor<1x1024xbf16>
    %s = call @scale(%x, %o) : (tensor<1x1024xbf16>, tensor<1x1024xbf16>) -> tensor<1x1024xbf16>
    %p = "fuse.empty"() {syms = []} : () -> tensor<1x1024xbf16>
    %y = call @product(%s, %w, %p) {fuse.choice = [{nodes = ["mm"], rule = "kernel"}]} : (tensor<1x1024xbf16>, tensor<1024x1024xbf16>, tensor<1x1024xbf16>) -> tensor<1x1024xbf16>
    return %y, %f : tensor<1x1024xbf16>, tensor<2x1024xbf16>
  }
  func.func private @scale(%x: tensor<1x1024xbf16>, %o: tensor<1x1024xbf16>) -> tensor<1x1024xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "1024"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %h = "fuse.load"(%x, %true, %zero) {at = ["0", "d0"]} : (tensor<1x1024xbf16>, i1, bf16) -> bf16
    %v = arith.extf %h : bf16 to f32
    %n = arith.negf %v : f32
    %b = arith.truncf %n : f32 to bf16
    %r = "fuse.store"(%o, %b, %true) {at = ["0", "d0"], mode = "set"} : (tensor<1x1024xbf16>, bf16, i1) -> tensor<1x1024xbf16>
    return %r : tensor<1x1024xbf16>
  }
  func.func private @product(%x: tensor<1x1024xbf16>, %w: tensor<1024x1024xbf16>, %o: tensor<1x1024xbf16>) -> tensor<1x1024xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "1024", d1 = "1024"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %a = "fuse.load"(%x, %true, %zero) {at = ["0", "d1"]} : (tensor<1x1024xbf16>, i1, bf16) -> bf16
    %b = "fuse.load"(%w, %true, %zero) {at = ["d0", "d1"]} : (tensor<1024x1024xbf16>, i1, bf16) -> bf16
    %u = arith.extf %a : bf16 to f32
    %v = arith.extf %b : bf16 to f32
    %p = arith.mulf %u, %v : f32
    %s = "fuse.reduce"(%p) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %h = arith.truncf %s : f32 to bf16
    %r = "fuse.store"(%o, %h, %true) {at = ["0", "d0"], mode = "set"} : (tensor<1x1024xbf16>, bf16, i1) -> tensor<1x1024xbf16>
    return %r : tensor<1x1024xbf16>
  }
  func.func private @far(%x: tensor<2x1024xbf16>, %o: tensor<2x1024xbf16>) -> tensor<2x1024xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "1024", d1 = "2"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %h = "fuse.load"(%x, %true, %zero) {at = ["d1", "d0"]} : (tensor<2x1024xbf16>, i1, bf16) -> bf16
    %v = arith.extf %h : bf16 to f32
    %n = arith.negf %v : f32
    %b = arith.truncf %n : f32 to bf16
    %r = "fuse.store"(%o, %b, %true) {at = ["d1", "d0"], mode = "set"} : (tensor<2x1024xbf16>, bf16, i1) -> tensor<2x1024xbf16>
    return %r : tensor<2x1024xbf16>
  }
}

// -----

// Must not fire: no pass has said that it is a product.
// CHECK-LABEL: func.func @main(
// CHECK-NOT: griddepcontrol
// SAID-NOT: early [scale
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<1x1024xbf16>, %w: tensor<1024x1024xbf16>) -> (tensor<1x1024xbf16>) {
    %o = "fuse.empty"() {syms = []} : () -> tensor<1x1024xbf16>
    %s = call @scale(%x, %o) : (tensor<1x1024xbf16>, tensor<1x1024xbf16>) -> tensor<1x1024xbf16>
    %p = "fuse.empty"() {syms = []} : () -> tensor<1x1024xbf16>
    %y = call @product(%s, %w, %p) : (tensor<1x1024xbf16>, tensor<1024x1024xbf16>, tensor<1x1024xbf16>) -> tensor<1x1024xbf16>
    return %y : tensor<1x1024xbf16>
  }
  func.func private @scale(%x: tensor<1x1024xbf16>, %o: tensor<1x1024xbf16>) -> tensor<1x1024xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "1024"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %h = "fuse.load"(%x, %true, %zero) {at = ["0", "d0"]} : (tensor<1x1024xbf16>, i1, bf16) -> bf16
    %v = arith.extf %h : bf16 to f32
    %n = arith.negf %v : f32
    %b = arith.truncf %n : f32 to bf16
    %r = "fuse.store"(%o, %b, %true) {at = ["0", "d0"], mode = "set"} : (tensor<1x1024xbf16>, bf16, i1) -> tensor<1x1024xbf16>
    return %r : tensor<1x1024xbf16>
  }
  func.func private @product(%x: tensor<1x1024xbf16>, %w: tensor<1024x1024xbf16>, %o: tensor<1x1024xbf16>) -> tensor<1x1024xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "1024", d1 = "1024"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %a = "fuse.load"(%x, %true, %zero) {at = ["0", "d1"]} : (tensor<1x1024xbf16>, i1, bf16) -> bf16
    %b = "fuse.load"(%w, %true, %zero) {at = ["d0", "d1"]} : (tensor<1024x1024xbf16>, i1, bf16) -> bf16
    %u = arith.extf %a : bf16 to f32
    %v = arith.extf %b : bf16 to f32
    %p = arith.mulf %u, %v : f32
    %s = "fuse.reduce"(%p) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %h = arith.truncf %s : f32 to bf16
    %r = "fuse.store"(%o, %h, %true) {at = ["0", "d0"], mode = "set"} : (tensor<1x1024xbf16>, bf16, i1) -> tensor<1x1024xbf16>
    return %r : tensor<1x1024xbf16>
  }
}

// -----

// Must not fire: the product takes as long as a launch.
// CHECK-LABEL: func.func @main(
// CHECK-NOT: griddepcontrol
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<1x1024xbf16>, %w: tensor<256x1024xbf16>) -> (tensor<1x256xbf16>) {
    %o = "fuse.empty"() {syms = []} : () -> tensor<1x1024xbf16>
    %s = call @scale(%x, %o) : (tensor<1x1024xbf16>, tensor<1x1024xbf16>) -> tensor<1x1024xbf16>
    %p = "fuse.empty"() {syms = []} : () -> tensor<1x256xbf16>
    %y = call @product(%s, %w, %p) {fuse.choice = [{nodes = ["mm"], rule = "kernel"}]} : (tensor<1x1024xbf16>, tensor<256x1024xbf16>, tensor<1x256xbf16>) -> tensor<1x256xbf16>
    return %y : tensor<1x256xbf16>
  }
  func.func private @scale(%x: tensor<1x1024xbf16>, %o: tensor<1x1024xbf16>) -> tensor<1x1024xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "1024"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %h = "fuse.load"(%x, %true, %zero) {at = ["0", "d0"]} : (tensor<1x1024xbf16>, i1, bf16) -> bf16
    %v = arith.extf %h : bf16 to f32
    %n = arith.negf %v : f32
    %b = arith.truncf %n : f32 to bf16
    %r = "fuse.store"(%o, %b, %true) {at = ["0", "d0"], mode = "set"} : (tensor<1x1024xbf16>, bf16, i1) -> tensor<1x1024xbf16>
    return %r : tensor<1x1024xbf16>
  }
  func.func private @product(%x: tensor<1x1024xbf16>, %w: tensor<256x1024xbf16>, %o: tensor<1x256xbf16>) -> tensor<1x256xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "256", d1 = "1024"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %a = "fuse.load"(%x, %true, %zero) {at = ["0", "d1"]} : (tensor<1x1024xbf16>, i1, bf16) -> bf16
    %b = "fuse.load"(%w, %true, %zero) {at = ["d0", "d1"]} : (tensor<256x1024xbf16>, i1, bf16) -> bf16
    %u = arith.extf %a : bf16 to f32
    %v = arith.extf %b : bf16 to f32
    %p = arith.mulf %u, %v : f32
    %s = "fuse.reduce"(%p) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %h = arith.truncf %s : f32 to bf16
    %r = "fuse.store"(%o, %h, %true) {at = ["0", "d0"], mode = "set"} : (tensor<1x256xbf16>, bf16, i1) -> tensor<1x256xbf16>
    return %r : tensor<1x256xbf16>
  }
}

// -----

// A kernel behind a product waits for it.  A user's kernel beside it is as the user wrote it.
// CHECK-LABEL: func.func @main(
// SAID: passed: launch-early: early, kernels=2: kernels beside products of few rows are launched early [product + behind]
// CHECK-LABEL: func.func private @scale(
// CHECK-NOT: griddepcontrol
// CHECK: return
// CHECK-LABEL: func.func private @product(
// CHECK-NEXT: arith.constant
// CHECK-NEXT: griddepcontrol.wait
// CHECK-LABEL: func.func private @theirs(
// CHECK-NOT: griddepcontrol
// CHECK: return
// CHECK-LABEL: func.func private @behind(
// CHECK-NEXT: arith.constant
// CHECK-NEXT: griddepcontrol.wait
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<1x1024xbf16>, %w: tensor<1024x1024xbf16>) -> (tensor<1x1024xbf16>) {
    %o = "fuse.empty"() {syms = []} : () -> tensor<1x1024xbf16>
    %s = call @scale(%x, %o) : (tensor<1x1024xbf16>, tensor<1x1024xbf16>) -> tensor<1x1024xbf16>
    %e = "fuse.empty"() {syms = []} : () -> tensor<1x1024xbf16>
    %t = call @theirs(%s, %e) : (tensor<1x1024xbf16>, tensor<1x1024xbf16>) -> tensor<1x1024xbf16>
    %p = "fuse.empty"() {syms = []} : () -> tensor<1x1024xbf16>
    %y = call @product(%t, %w, %p) {fuse.choice = [{nodes = ["mm"], rule = "kernel"}]} : (tensor<1x1024xbf16>, tensor<1024x1024xbf16>, tensor<1x1024xbf16>) -> tensor<1x1024xbf16>
    %g = "fuse.empty"() {syms = []} : () -> tensor<1x1024xbf16>
    %h = call @behind(%y, %g) : (tensor<1x1024xbf16>, tensor<1x1024xbf16>) -> tensor<1x1024xbf16>
    return %h : tensor<1x1024xbf16>
  }
  func.func private @scale(%x: tensor<1x1024xbf16>, %o: tensor<1x1024xbf16>) -> tensor<1x1024xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "1024"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %h = "fuse.load"(%x, %true, %zero) {at = ["0", "d0"]} : (tensor<1x1024xbf16>, i1, bf16) -> bf16
    %v = arith.extf %h : bf16 to f32
    %n = arith.negf %v : f32
    %b = arith.truncf %n : f32 to bf16
    %r = "fuse.store"(%o, %b, %true) {at = ["0", "d0"], mode = "set"} : (tensor<1x1024xbf16>, bf16, i1) -> tensor<1x1024xbf16>
    return %r : tensor<1x1024xbf16>
  }
  func.func private @product(%x: tensor<1x1024xbf16>, %w: tensor<1024x1024xbf16>, %o: tensor<1x1024xbf16>) -> tensor<1x1024xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "1024", d1 = "1024"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %a = "fuse.load"(%x, %true, %zero) {at = ["0", "d1"]} : (tensor<1x1024xbf16>, i1, bf16) -> bf16
    %b = "fuse.load"(%w, %true, %zero) {at = ["d0", "d1"]} : (tensor<1024x1024xbf16>, i1, bf16) -> bf16
    %u = arith.extf %a : bf16 to f32
    %v = arith.extf %b : bf16 to f32
    %p = arith.mulf %u, %v : f32
    %s = "fuse.reduce"(%p) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %h = arith.truncf %s : f32 to bf16
    %r = "fuse.store"(%o, %h, %true) {at = ["0", "d0"], mode = "set"} : (tensor<1x1024xbf16>, bf16, i1) -> tensor<1x1024xbf16>
    return %r : tensor<1x1024xbf16>
  }
  func.func private @theirs(%x: tensor<1x1024xbf16>, %o: tensor<1x1024xbf16>) -> tensor<1x1024xbf16> attributes {fuse.kernel, fuse.dims = {}, fuse.grid = ["8"], fuse.ties = array<i64: 1>, fuse.tile = {axes = [], num_stages = 3 : i64, num_warps = 4 : i64}, fuse.user = "model.py:12 theirs"} {
    %p = "fuse.base"(%x) : (tensor<1x1024xbf16>) -> !tt.ptr<bf16>
    return %o : tensor<1x1024xbf16>
  }
  func.func private @behind(%x: tensor<1x1024xbf16>, %o: tensor<1x1024xbf16>) -> tensor<1x1024xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "1024"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %h = "fuse.load"(%x, %true, %zero) {at = ["0", "d0"]} : (tensor<1x1024xbf16>, i1, bf16) -> bf16
    %v = arith.extf %h : bf16 to f32
    %n = arith.negf %v : f32
    %b = arith.truncf %n : f32 to bf16
    %r = "fuse.store"(%o, %b, %true) {at = ["0", "d0"], mode = "set"} : (tensor<1x1024xbf16>, bf16, i1) -> tensor<1x1024xbf16>
    return %r : tensor<1x1024xbf16>
  }
}

// -----

// Must not fire: tensor cores multiply sixteen rows.
// CHECK-LABEL: func.func @main(
// CHECK-NOT: griddepcontrol
// CHECK: func.func private @dot(
// CHECK-NOT: griddepcontrol
// CHECK: return
module attributes {fuse.device = "cuda:0"} {
  func.func @main(%x: tensor<1x1024xbf16>, %w: tensor<1024x1024xbf16>, %z: tensor<16x1024xbf16>) -> (tensor<1x1024xbf16>, tensor<16x1024xbf16>) {
    %o = "fuse.empty"() {syms = []} : () -> tensor<1x1024xbf16>
    %s = call @scale(%x, %o) : (tensor<1x1024xbf16>, tensor<1x1024xbf16>) -> tensor<1x1024xbf16>
    %p = "fuse.empty"() {syms = []} : () -> tensor<16x1024xbf16>
    %y = call @dot(%z, %w, %p) {fuse.choice = [{nodes = ["mm"], rule = "kernel"}]} : (tensor<16x1024xbf16>, tensor<1024x1024xbf16>, tensor<16x1024xbf16>) -> tensor<16x1024xbf16>
    return %s, %y : tensor<1x1024xbf16>, tensor<16x1024xbf16>
  }
  func.func private @scale(%x: tensor<1x1024xbf16>, %o: tensor<1x1024xbf16>) -> tensor<1x1024xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "1024"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %h = "fuse.load"(%x, %true, %zero) {at = ["0", "d0"]} : (tensor<1x1024xbf16>, i1, bf16) -> bf16
    %v = arith.extf %h : bf16 to f32
    %n = arith.negf %v : f32
    %b = arith.truncf %n : f32 to bf16
    %r = "fuse.store"(%o, %b, %true) {at = ["0", "d0"], mode = "set"} : (tensor<1x1024xbf16>, bf16, i1) -> tensor<1x1024xbf16>
    return %r : tensor<1x1024xbf16>
  }
  func.func private @dot(%x: tensor<16x1024xbf16>, %w: tensor<1024x1024xbf16>, %o: tensor<16x1024xbf16>) -> tensor<16x1024xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "16", d1 = "1024", d2 = "1024"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d2"]} : (tensor<16x1024xbf16>, i1, bf16) -> bf16
    %b = "fuse.load"(%w, %true, %zero) {at = ["d1", "d2"]} : (tensor<1024x1024xbf16>, i1, bf16) -> bf16
    %s = "fuse.dot"(%a, %b) {over = ["d2"]} : (bf16, bf16) -> f32
    %h = arith.truncf %s : f32 to bf16
    %r = "fuse.store"(%o, %h, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<16x1024xbf16>, bf16, i1) -> tensor<16x1024xbf16>
    return %r : tensor<16x1024xbf16>
  }
}
