// Row and column sums of one matrix, in one walk over its rows or in two kernels, whichever is estimated to be
// faster on an H200.
// RUN: fuse-opt %s --pass-pipeline="builtin.module(fuse-horizontal{hardware=h200})" --split-input-file | FileCheck %s
// RUN: fuse-opt %s --pass-pipeline="builtin.module(fuse-horizontal{hardware=h200})" --split-input-file --remarks=text -o %t 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: not fuse-opt %s --pass-pipeline="builtin.module(fuse-horizontal{hardware=abacus})" --split-input-file 2>&1 | FileCheck %s --check-prefix=HARDWARE

// HARDWARE: fuse-horizontal: unknown hardware 'abacus': expected one of a100,

// Fewer rows than 2048, but so wide that a second read would take longer than the sums of the shares.
// CHECK-LABEL: func.func @main
// CHECK: call @rows({{.*}}) {fuse.group = 0 : i64}
// CHECK: call @columns({{.*}}) {fuse.group = 0 : i64}
// REMARK: passed: fuse-horizontal: fused, {{.*}}[rows + columns]
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<1999x12288xbf16>) -> (tensor<1999xf32>, tensor<12288xf32>) {
    %o = "fuse.empty"() {syms = []} : () -> tensor<1999xf32>
    %p = "fuse.empty"() {syms = []} : () -> tensor<12288xf32>
    %a = call @rows(%x, %o) : (tensor<1999x12288xbf16>, tensor<1999xf32>) -> tensor<1999xf32>
    %b = call @columns(%x, %p) : (tensor<1999x12288xbf16>, tensor<12288xf32>) -> tensor<12288xf32>
    return %a, %b : tensor<1999xf32>, tensor<12288xf32>
  }
  func.func private @rows(%x: tensor<1999x12288xbf16>, %o: tensor<1999xf32>) -> tensor<1999xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "1999", d1 = "12288"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<1999x12288xbf16>, i1, bf16) -> bf16
    %w = arith.extf %v : bf16 to f32
    %s = "fuse.reduce"(%w) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d0"], mode = "set"} : (tensor<1999xf32>, f32, i1) -> tensor<1999xf32>
    return %r : tensor<1999xf32>
  }
  func.func private @columns(%x: tensor<1999x12288xbf16>, %o: tensor<12288xf32>) -> tensor<12288xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "1999", d1 = "12288"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<1999x12288xbf16>, i1, bf16) -> bf16
    %w = arith.extf %v : bf16 to f32
    %s = "fuse.reduce"(%w) {kind = "sum", over = ["d0"]} : (f32) -> f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d1"], mode = "set"} : (tensor<12288xf32>, f32, i1) -> tensor<12288xf32>
    return %r : tensor<12288xf32>
  }
}

// -----

// Narrow rows of an unknown number: a warp takes eight of them at a time.
// CHECK-LABEL: func.func @main
// CHECK: call @rows({{.*}}) {fuse.group = 0 : i64}
// CHECK: call @columns({{.*}}) {fuse.group = 0 : i64}
// REMARK: passed: fuse-horizontal: fused, {{.*}}[rows + columns]
module attributes {fuse.device = "cpu"} {
  func.func @main(%s0: index {fuse.sym = "s0", fuse.hint = 262144 : i64}, %x: tensor<?x64xbf16, #fuse.layout<"s0,64", "64,1", "0", "">>) -> (tensor<?xf32, #fuse.layout<"s0", "1", "0", "">>, tensor<64xf32>) {
    %o = "fuse.empty"(%s0) {syms = ["s0"]} : (index) -> tensor<?xf32, #fuse.layout<"s0", "1", "0", "">>
    %p = "fuse.empty"() {syms = []} : () -> tensor<64xf32>
    %a = call @rows(%x, %o, %s0) : (tensor<?x64xbf16, #fuse.layout<"s0,64", "64,1", "0", "">>, tensor<?xf32, #fuse.layout<"s0", "1", "0", "">>, index) -> tensor<?xf32, #fuse.layout<"s0", "1", "0", "">>
    %b = call @columns(%x, %p, %s0) : (tensor<?x64xbf16, #fuse.layout<"s0,64", "64,1", "0", "">>, tensor<64xf32>, index) -> tensor<64xf32>
    return %a, %b : tensor<?xf32, #fuse.layout<"s0", "1", "0", "">>, tensor<64xf32>
  }
  func.func private @rows(%x: tensor<?x64xbf16, #fuse.layout<"s0,64", "64,1", "0", "">>, %o: tensor<?xf32, #fuse.layout<"s0", "1", "0", "">>, %s0: index {fuse.sym = "s0"}) -> tensor<?xf32, #fuse.layout<"s0", "1", "0", "">>
      attributes {fuse.kernel, fuse.dims = {d0 = "s0", d1 = "64"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<?x64xbf16, #fuse.layout<"s0,64", "64,1", "0", "">>, i1, bf16) -> bf16
    %w = arith.extf %v : bf16 to f32
    %s = "fuse.reduce"(%w) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d0"], mode = "set"} : (tensor<?xf32, #fuse.layout<"s0", "1", "0", "">>, f32, i1) -> tensor<?xf32, #fuse.layout<"s0", "1", "0", "">>
    return %r : tensor<?xf32, #fuse.layout<"s0", "1", "0", "">>
  }
  func.func private @columns(%x: tensor<?x64xbf16, #fuse.layout<"s0,64", "64,1", "0", "">>, %o: tensor<64xf32>, %s0: index {fuse.sym = "s0"}) -> tensor<64xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "s0", d1 = "64"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<?x64xbf16, #fuse.layout<"s0,64", "64,1", "0", "">>, i1, bf16) -> bf16
    %w = arith.extf %v : bf16 to f32
    %s = "fuse.reduce"(%w) {kind = "sum", over = ["d0"]} : (f32) -> f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d1"], mode = "set"} : (tensor<64xf32>, f32, i1) -> tensor<64xf32>
    return %r : tensor<64xf32>
  }
}

// -----

// Rows of 16384 elements, none of which is visited again.
// CHECK-LABEL: func.func @main
// CHECK: call @rows({{.*}}) {fuse.group = 0 : i64}
// CHECK: call @columns({{.*}}) {fuse.group = 0 : i64}
// REMARK: passed: fuse-horizontal: fused, {{.*}}[rows + columns]
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<4099x16384xbf16>) -> (tensor<4099xf32>, tensor<16384xf32>) {
    %o = "fuse.empty"() {syms = []} : () -> tensor<4099xf32>
    %p = "fuse.empty"() {syms = []} : () -> tensor<16384xf32>
    %a = call @rows(%x, %o) : (tensor<4099x16384xbf16>, tensor<4099xf32>) -> tensor<4099xf32>
    %b = call @columns(%x, %p) : (tensor<4099x16384xbf16>, tensor<16384xf32>) -> tensor<16384xf32>
    return %a, %b : tensor<4099xf32>, tensor<16384xf32>
  }
  func.func private @rows(%x: tensor<4099x16384xbf16>, %o: tensor<4099xf32>) -> tensor<4099xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "4099", d1 = "16384"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<4099x16384xbf16>, i1, bf16) -> bf16
    %w = arith.extf %v : bf16 to f32
    %s = "fuse.reduce"(%w) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d0"], mode = "set"} : (tensor<4099xf32>, f32, i1) -> tensor<4099xf32>
    return %r : tensor<4099xf32>
  }
  func.func private @columns(%x: tensor<4099x16384xbf16>, %o: tensor<16384xf32>) -> tensor<16384xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "4099", d1 = "16384"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<4099x16384xbf16>, i1, bf16) -> bf16
    %w = arith.extf %v : bf16 to f32
    %s = "fuse.reduce"(%w) {kind = "sum", over = ["d0"]} : (f32) -> f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d1"], mode = "set"} : (tensor<16384xf32>, f32, i1) -> tensor<16384xf32>
    return %r : tensor<16384xf32>
  }
}

// -----

// Must not fire: parts of the sums of columns would be as many bytes as the matrix has.
// CHECK-LABEL: func.func @main
// CHECK-NOT: fuse.group
// CHECK: return
// REMARK: missed: fuse-horizontal: slower, saved_us=-{{[0-9.]+}}, us_together={{[0-9.]+}}, us_apart={{[0-9.]+}}: rows and columns stay apart: one walk over rows
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<127x4096xbf16>) -> (tensor<127xf32>, tensor<4096xf32>) {
    %o = "fuse.empty"() {syms = []} : () -> tensor<127xf32>
    %p = "fuse.empty"() {syms = []} : () -> tensor<4096xf32>
    %a = call @rows(%x, %o) : (tensor<127x4096xbf16>, tensor<127xf32>) -> tensor<127xf32>
    %b = call @columns(%x, %p) : (tensor<127x4096xbf16>, tensor<4096xf32>) -> tensor<4096xf32>
    return %a, %b : tensor<127xf32>, tensor<4096xf32>
  }
  func.func private @rows(%x: tensor<127x4096xbf16>, %o: tensor<127xf32>) -> tensor<127xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "127", d1 = "4096"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<127x4096xbf16>, i1, bf16) -> bf16
    %w = arith.extf %v : bf16 to f32
    %s = "fuse.reduce"(%w) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d0"], mode = "set"} : (tensor<127xf32>, f32, i1) -> tensor<127xf32>
    return %r : tensor<127xf32>
  }
  func.func private @columns(%x: tensor<127x4096xbf16>, %o: tensor<4096xf32>) -> tensor<4096xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "127", d1 = "4096"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<127x4096xbf16>, i1, bf16) -> bf16
    %w = arith.extf %v : bf16 to f32
    %s = "fuse.reduce"(%w) {kind = "sum", over = ["d0"]} : (f32) -> f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d1"], mode = "set"} : (tensor<4096xf32>, f32, i1) -> tensor<4096xf32>
    return %r : tensor<4096xf32>
  }
}

// -----

// Must not fire: registers do not hold such a row.
// CHECK-LABEL: func.func @main
// CHECK-NOT: fuse.group
// CHECK: return
// REMARK: missed: fuse-horizontal: reduction-dims, {{.*}}no_walk=registers hold rows of at most 16384 elements, not of 32768: rows and columns stay apart
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<4096x32768xbf16>) -> (tensor<4096xf32>, tensor<32768xf32>) {
    %o = "fuse.empty"() {syms = []} : () -> tensor<4096xf32>
    %p = "fuse.empty"() {syms = []} : () -> tensor<32768xf32>
    %a = call @rows(%x, %o) : (tensor<4096x32768xbf16>, tensor<4096xf32>) -> tensor<4096xf32>
    %b = call @columns(%x, %p) : (tensor<4096x32768xbf16>, tensor<32768xf32>) -> tensor<32768xf32>
    return %a, %b : tensor<4096xf32>, tensor<32768xf32>
  }
  func.func private @rows(%x: tensor<4096x32768xbf16>, %o: tensor<4096xf32>) -> tensor<4096xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "4096", d1 = "32768"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<4096x32768xbf16>, i1, bf16) -> bf16
    %w = arith.extf %v : bf16 to f32
    %s = "fuse.reduce"(%w) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d0"], mode = "set"} : (tensor<4096xf32>, f32, i1) -> tensor<4096xf32>
    return %r : tensor<4096xf32>
  }
  func.func private @columns(%x: tensor<4096x32768xbf16>, %o: tensor<32768xf32>) -> tensor<32768xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "4096", d1 = "32768"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<4096x32768xbf16>, i1, bf16) -> bf16
    %w = arith.extf %v : bf16 to f32
    %s = "fuse.reduce"(%w) {kind = "sum", over = ["d0"]} : (f32) -> f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d1"], mode = "set"} : (tensor<32768xf32>, f32, i1) -> tensor<32768xf32>
    return %r : tensor<32768xf32>
  }
}
