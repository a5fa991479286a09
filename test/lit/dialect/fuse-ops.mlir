// Every op, type and attribute of the dialect is printed as it was read, in the custom and in the generic form.
// RUN: fuse-opt %s | FileCheck %s
// RUN: fuse-opt %s | fuse-opt --verify-roundtrip | FileCheck %s
// RUN: fuse-opt %s --mlir-print-op-generic | fuse-opt --verify-roundtrip | FileCheck %s

!x = tensor<?x64xf32, #fuse.layout<"s0,64", "64,1", "0", "cuda:0">>
!flat = tensor<?xf32, #fuse.layout<"s1", "1", "0", "cuda:0">>
!row = tensor<?xf32, #fuse.layout<"s0", "1", "0", "cuda:0">>

// CHECK-LABEL: module attributes {fuse.device = "cuda:0"}
module attributes {fuse.device = "cuda:0"} {
  // CHECK-LABEL: func.func @main(
  // CHECK-SAME: tensor<?x64xf32, #fuse.layout<"s0,64", "64,1", "0", "cuda:0">>
  func.func @main(%x: !x, %seed: i64) -> (!row, !row, tensor<2xf32>) {
    // CHECK: %[[S0:.*]] = "fuse.size"(%arg0) {dim = 0 : i64, symbol = "s0"} : (tensor<?x64xf32, #fuse.layout<"s0,64", "64,1", "0", "cuda:0">>) -> index
    %s0 = "fuse.size"(%x) {dim = 0 : i64, symbol = "s0"} : (!x) -> index
    // CHECK: %[[S1:.*]] = "fuse.sym"(%[[S0]]) {expr = "s0*64", symbol = "s1", syms = ["s0"]} : (index) -> index
    %s1 = "fuse.sym"(%s0) {expr = "s0*64", symbol = "s1", syms = ["s0"]} : (index) -> index
    // CHECK: "fuse.view"(%arg0, %[[S0]], %[[S1]]) {map = ["v0 floordiv 64", "v0 mod 64"], syms = ["s0", "s1"]}
    %flat = "fuse.view"(%x, %s0, %s1) {map = ["v0 floordiv 64", "v0 mod 64"], syms = ["s0", "s1"]} : (!x, index, index) -> !flat
    // CHECK: "fuse.empty"(%[[S0]]) {syms = ["s0"]} : (index) -> tensor<?xf32
    %o0 = "fuse.empty"(%s0) {syms = ["s0"]} : (index) -> !row
    %o1 = "fuse.empty"(%s0) {syms = ["s0"]} : (index) -> !row
    // CHECK: call @statistics
    %mean, %deviation = call @statistics(%x, %o0, %o1, %s0) : (!x, !row, !row, index) -> (!row, !row)
    // CHECK: %[[TIME:.*]] = "fuse.after"({{.*}}) : (tensor<?xf32, {{.*}}>) -> !fuse.token
    %time = "fuse.after"(%mean) : (!row) -> !fuse.token
    // CHECK: "fuse.rng"() {count = 4 : i64, device = "cuda:0"} : () -> (i64, i64)
    %drawn, %offset = "fuse.rng"() {device = "cuda:0", count = 4 : i64} : () -> (i64, i64)
    %n = "fuse.empty"() {syms = []} : () -> tensor<2xf32>
    // CHECK: call @noise({{.*}}, %[[TIME]]) : (tensor<2xf32>, i64, i64, !fuse.token) -> tensor<2xf32>
    %noise = call @noise(%n, %drawn, %offset, %time) : (tensor<2xf32>, i64, i64, !fuse.token) -> tensor<2xf32>
    %moved = call @to(%flat) : (!flat) -> !flat
    return %mean, %deviation, %noise : !row, !row, tensor<2xf32>
  }

  // CHECK-LABEL: func.func private @statistics
  // CHECK-SAME: fuse.dims = {d0 = "s0", d1 = "64"}, fuse.kernel, fuse.ties = array<i64: 1, 2>
  func.func private @statistics(%x: !x, %o0: !row, %o1: !row, %s0: index {fuse.sym = "s0"}) -> (!row, !row)
      attributes {fuse.kernel, fuse.dims = {d0 = "s0", d1 = "64"}, fuse.ties = array<i64: 1, 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    // CHECK: "fuse.load"({{.*}}) {at = ["d0", "d1"]} : ({{.*}}, i1, f32) -> f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (!x, i1, f32) -> f32
    // CHECK: "fuse.index"() {expr = "d0*64 + d1"} : () -> i64
    %i = "fuse.index"() {expr = "d0*64 + d1"} : () -> i64
    // CHECK: %[[SUM:.*]] = "fuse.reduce"({{.*}}) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %sum = "fuse.reduce"(%v) {kind = "sum", over = ["d1"]} : (f32) -> f32
    // CHECK: "fuse.argreduce"({{.*}}) {kind = "argmax", over = ["d1"]} : (f32, i64) -> (f32, i64)
    %best, %where = "fuse.argreduce"(%v, %i) {kind = "argmax", over = ["d1"]} : (f32, i64) -> (f32, i64)
    // CHECK: "fuse.welford"({{.*}}) {over = ["d1"]} : (f32) -> (f32, f32)
    %mean, %m2 = "fuse.welford"(%v) {over = ["d1"]} : (f32) -> (f32, f32)
    // CHECK: "fuse.welford"({{.*}}, {{.*}}) {over = ["d1"]} : (f32, f32) -> (f32, f32)
    %center, %spread = "fuse.welford"(%v, %v) {over = ["d1"]} : (f32, f32) -> (f32, f32)
    // CHECK: "fuse.online_softmax"({{.*}}) {over = ["d1"]} : (f32) -> (f32, f32)
    %max, %total = "fuse.online_softmax"(%v) {over = ["d1"]} : (f32) -> (f32, f32)
    // CHECK: "fuse.online_expectation"({{.*}}) {over = ["d1"], signs = array<i64: 1>} : (f32) -> (f32, f32, f32)
    %entropy:3 = "fuse.online_expectation"(%v) {over = ["d1"], signs = array<i64: 1>} : (f32) -> (f32, f32, f32)
    // CHECK: "fuse.scan"({{.*}}) {kind = "sum", over = "d1", reverse = false} : (f32) -> f32
    %prefix = "fuse.scan"(%v) {kind = "sum", over = "d1", reverse = false} : (f32) -> f32
    // CHECK: "fuse.scan"({{.*}}, {{.*}}) {kind = "linear", over = "d1", reverse = false} : (f32, f32) -> f32
    %state = "fuse.scan"(%v, %sum) {kind = "linear", over = "d1", reverse = false} : (f32, f32) -> f32
    // CHECK: "fuse.dot"({{.*}}) {over = ["d1"], precision = "tf32"} : (f32, f32) -> f32
    %dot = "fuse.dot"(%v, %prefix) {over = ["d1"], precision = "tf32"} : (f32, f32) -> f32
    // CHECK: "fuse.dot"(%[[SUM]], {{.*}}) {over = ["d1"]} : (f32, f32) -> f32
    %repeated = "fuse.dot"(%sum, %v) {over = ["d1"]} : (f32, f32) -> f32
    %byte = arith.truncf %v : f32 to f8E4M3FN
    // CHECK: "fuse.dot"({{.*}}) {fast_accum, over = ["d1"]} : (f8E4M3FN, f8E4M3FN) -> f32
    %fast = "fuse.dot"(%byte, %byte) {fast_accum, over = ["d1"]} : (f8E4M3FN, f8E4M3FN) -> f32
    %half = arith.truncf %v : f32 to bf16
    // CHECK: "fuse.online_dot"({{.*}}) {over = ["d1"]} : (f32, bf16) -> (f32, f32, f32)
    %weighed, %top, %powers = "fuse.online_dot"(%v, %half) {over = ["d1"]} : (f32, bf16) -> (f32, f32, f32)
    // CHECK: "fuse.libm"({{.*}}) {fn = "lgamma"} : (f32) -> f32
    %lgamma = "fuse.libm"(%dot) {fn = "lgamma"} : (f32) -> f32
    // CHECK: "fuse.load"({{.*}}) {at = ["d0", "i0 mod 64"]} : ({{.*}}, i1, f32, i64) -> f32
    %again = "fuse.load"(%x, %true, %zero, %where) {at = ["d0", "i0 mod 64"]} : (!x, i1, f32, i64) -> f32
    %same = arith.cmpf oeq, %again, %best : f32
    // CHECK: "fuse.device_assert"({{.*}}) {message = "the maximum moved"} : (i1, i1) -> ()
    "fuse.device_assert"(%same, %true) {message = "the maximum moved"} : (i1, i1) -> ()
    %a = arith.addf %sum, %lgamma : f32
    %b = arith.addf %max, %total : f32
    %c = arith.addf %mean, %m2 : f32
    %d = arith.addf %a, %b : f32
    // CHECK: "fuse.store"(%arg1, {{.*}}) {at = ["d0"], mode = "set"}
    %r0 = "fuse.store"(%o0, %c, %true) {at = ["d0"], mode = "set"} : (!row, f32, i1) -> !row
    %r1 = "fuse.store"(%o1, %d, %true) {at = ["d0"], mode = "set"} : (!row, f32, i1) -> !row
    return %r0, %r1 : !row, !row
  }

  // CHECK-LABEL: func.func private @noise
  func.func private @noise(%o: tensor<2xf32>, %seed: i64, %offset: i64, %time: !fuse.token) -> tensor<2xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "2"}, fuse.ties = array<i64: 0>} {
    %true = arith.constant true
    %i = "fuse.index"() {expr = "d0"} : () -> i64
    // CHECK: "fuse.rand"({{.*}}) {dist = "normal"} : (i64, i64, i64) -> f32
    %v = "fuse.rand"(%seed, %offset, %i) {dist = "normal"} : (i64, i64, i64) -> f32
    %r = "fuse.store"(%o, %v, %true) {at = ["d0"], mode = "add"} : (tensor<2xf32>, f32, i1) -> tensor<2xf32>
    return %r : tensor<2xf32>
  }

  // CHECK: func.func private @to
  // CHECK-SAME: fuse.args = [#fuse.arg<0 : i64>]
  // CHECK-SAME: fuse.kwargs = {device = #fuse.torch<"device:cuda:0">, memory_format}
  func.func private @to(!flat) -> !flat
      attributes {fuse.extern = "aten.clone.default", fuse.args = [#fuse.arg<0 : i64>],
                  fuse.kwargs = {device = #fuse.torch<"device:cuda:0">, memory_format = unit}}

  // CHECK: func.func private @higher_order
  // CHECK-SAME: fuse.args = [#fuse.arg<0 : i64>, #fuse.tuple<[#fuse.arg<1 : i64>, [4]]>]
  func.func private @higher_order(!flat, !flat) -> !flat
      attributes {fuse.extern = "higher_order.map_impl", fuse.args = [#fuse.arg<0 : i64>, #fuse.tuple<[#fuse.arg<1 : i64>, [4]]>]}

  // CHECK-LABEL: func.func private @tiled
  // CHECK-SAME: fuse.grid = ["2"]
  // CHECK-SAME: fuse.traffic = {reads = array<i64: 0>, slots = 2 : i64, writes = array<i64: 8>}
  func.func private @tiled(%o: tensor<2xf32>) -> tensor<2xf32>
      attributes {fuse.kernel, fuse.grid = ["2"], fuse.dims = {d0 = "2"}, fuse.ties = array<i64: 0>,
                  fuse.traffic = {reads = array<i64: 0>, slots = 2 : i64, writes = array<i64: 8>}} {
    // CHECK: "fuse.base"(%arg0) : (tensor<2xf32>) -> !tt.ptr<f32>
    %p = "fuse.base"(%o) : (tensor<2xf32>) -> !tt.ptr<f32>
    return %o : tensor<2xf32>
  }

  // CHECK-LABEL: func.func private @tables
  func.func private @tables(%x: tensor<2xf32>, %o: tensor<2xf32>) -> tensor<2xf32>
      attributes {fuse.kernel, fuse.grid = ["2"], fuse.dims = {}, fuse.ties = array<i64: 1>} {
    %n = "tt.get_program_id"() {axis = 0 : i32} : () -> i32
    // CHECK: "fuse.base_of"(%{{.*}}, %arg0, %arg1) : (i32, tensor<2xf32>, tensor<2xf32>) -> !tt.ptr<f32>
    %p = "fuse.base_of"(%n, %x, %o) : (i32, tensor<2xf32>, tensor<2xf32>) -> !tt.ptr<f32>
    return %o : tensor<2xf32>
  }

  // CHECK-LABEL: func.func private @planned
  func.func private @planned(%x: tensor<8xf32>) -> tensor<8xf32> {
    // CHECK: %[[A:.*]] = "fuse.alloc"() {syms = []} : () -> tensor<8xf32>
    %a = "fuse.alloc"() {syms = []} : () -> tensor<8xf32>
    // CHECK: %[[B:.*]] = "fuse.reuse"(%[[A]]) {syms = []} : (tensor<8xf32>) -> tensor<4x2xf32>
    %b = "fuse.reuse"(%a) {syms = []} : (tensor<8xf32>) -> tensor<4x2xf32>
    // CHECK: "fuse.free"(%[[B]]) : (tensor<4x2xf32>) -> ()
    "fuse.free"(%b) : (tensor<4x2xf32>) -> ()
    return %x : tensor<8xf32>
  }

  // CHECK-LABEL: func.func private @facts
  // CHECK-SAME: tensor<8xf32> {fuse.constant = "weight", fuse.storage = array<i64: 5, 30>}
  // CHECK-SAME: index {fuse.hint = 32 : i64, fuse.max = 64 : i64, fuse.min = 16 : i64, fuse.multiple = 16 : i64, fuse.sym = "s2"}
  func.func private @facts(
      %x: tensor<8xf32> {fuse.constant = "weight", fuse.storage = array<i64: 5, 30>},
      %s2: index {fuse.sym = "s2", fuse.min = 16 : i64, fuse.max = 64 : i64, fuse.multiple = 16 : i64, fuse.hint = 32 : i64})
      -> tensor<8xf32> {
    return %x : tensor<8xf32>
  }
}
