// Remarks are printed when asked for, and are diagnostics that a test can expect.
// RUN: fuse-opt %s --choose-tiling --remarks=text -o %t 2>&1 | FileCheck %s --check-prefix=TEXT
// RUN: fuse-opt %s --choose-tiling --remarks=yaml -o %t 2>&1 | FileCheck %s --check-prefix=YAML
// RUN: fuse-opt %s --choose-tiling --verify-diagnostics | FileCheck %s
// RUN: not fuse-opt %s --verify-diagnostics 2>&1 | FileCheck %s --check-prefix=ABSENT
// RUN: not fuse-opt %s --choose-tiling --reproducer=%t.none/file 2>&1 | FileCheck %s --check-prefix=FOLDER

// TEXT: analysis: choose-tiling: {{.*}}tile of @fill
// YAML: --- !Analysis
// YAML-NEXT: Pass: choose-tiling
// CHECK: fuse.tile
// ABSENT: error: expected remark "tile of @fill" was not produced
// FOLDER: fuse-opt: error: cannot write '{{.*}}file': there is no such folder
func.func @main(%o: tensor<8xf32>) -> tensor<8xf32> {
  %y = call @fill(%o) : (tensor<8xf32>) -> tensor<8xf32>
  return {fuse.mutates = {"0" = 0 : i64}} %y : tensor<8xf32>
}
// expected-remark@+1 {{tile of @fill}}
func.func private @fill(%o: tensor<8xf32>) -> tensor<8xf32>
    attributes {fuse.kernel, fuse.dims = {d0 = "8"}, fuse.ties = array<i64: 0>} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : f32
  %r = "fuse.store"(%o, %zero, %true) {at = ["d0"], mode = "set"} : (tensor<8xf32>, f32, i1) -> tensor<8xf32>
  return %r : tensor<8xf32>
}
