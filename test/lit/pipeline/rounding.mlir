// Two ops of bfloat16 that become one kernel: eager rounds between them, float32 does not; both round what is stored.
// RUN: fuse-opt %s --default-pipeline=scheduled --rounding=eager | FileCheck %s --check-prefix=EAGER
// RUN: fuse-opt %s --default-pipeline=scheduled --rounding=float32 | FileCheck %s --check-prefix=FLOAT32
// RUN: fuse-opt %s --default-pipeline=planned --rounding=float32 | FileCheck %s --check-prefix=PLANNED
// RUN: not fuse-opt %s --default-pipeline --rounding=float16 2>&1 | FileCheck %s --check-prefix=UNKNOWN

// EAGER-LABEL: func.func private @fused_mul_exp_0
// EAGER: %[[P:.*]] = arith.mulf
// EAGER: %[[Q:.*]] = arith.truncf %[[P]]
// EAGER: %[[W:.*]] = arith.extf %[[Q]]
// EAGER: %[[E:.*]] = math.exp %[[W]]
// EAGER: arith.truncf %[[E]]
// FLOAT32-LABEL: func.func private @fused_mul_exp_0
// FLOAT32: %[[P:.*]] = arith.mulf
// FLOAT32: %[[E:.*]] = math.exp %[[P]]
// FLOAT32: arith.truncf %[[E]]
// FLOAT32-NOT: arith.truncf
// PLANNED-LABEL: tt.func
// PLANNED-COUNT-1: arith.truncf
// PLANNED-NOT: arith.truncf
// UNKNOWN: argument --rounding: invalid choice: 'float16'
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<8xbf16>) -> tensor<8xbf16> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<8xbf16>
    %o2 = "fuse.empty"() {syms = []} : () -> tensor<8xbf16>
    %y = call @mul(%x, %o) : (tensor<8xbf16>, tensor<8xbf16>) -> tensor<8xbf16>
    %z = call @exp(%y, %o2) : (tensor<8xbf16>, tensor<8xbf16>) -> tensor<8xbf16>
    return %z : tensor<8xbf16>
  }
  func.func private @mul(%x: tensor<8xbf16>, %o: tensor<8xbf16>) -> tensor<8xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "8"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %n = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<8xbf16>, i1, bf16) -> bf16
    %v = arith.extf %n : bf16 to f32
    %p = arith.mulf %v, %v : f32
    %q = arith.truncf %p {fuse.implicit} : f32 to bf16
    %r = "fuse.store"(%o, %q, %true) {at = ["d0"], mode = "set"} : (tensor<8xbf16>, bf16, i1) -> tensor<8xbf16>
    return %r : tensor<8xbf16>
  }
  func.func private @exp(%x: tensor<8xbf16>, %o: tensor<8xbf16>) -> tensor<8xbf16> attributes {fuse.kernel, fuse.dims = {d0 = "8"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %n = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<8xbf16>, i1, bf16) -> bf16
    %v = arith.extf %n : bf16 to f32
    %e = math.exp %v : f32
    %q = arith.truncf %e {fuse.implicit} : f32 to bf16
    %r = "fuse.store"(%o, %q, %true) {at = ["d0"], mode = "set"} : (tensor<8xbf16>, bf16, i1) -> tensor<8xbf16>
    return %r : tensor<8xbf16>
  }
}
