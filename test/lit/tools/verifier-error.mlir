// A broken rule is one located sentence, and the exit code says so.
// RUN: not fuse-opt %s 2>&1 | FileCheck %s

func.func @main(%x: tensor<8xf32>) {
  // CHECK: verifier-error.mlir:6:8: error: 'fuse.size' op expected dim to be below the rank of tensor<8xf32>, got 1
  %s = "fuse.size"(%x) {dim = 1 : i64, symbol = "s0"} : (tensor<8xf32>) -> index
  return
}
