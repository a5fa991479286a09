// Bytecode is written and read with everything that the text has; what is wrong with it is one sentence.
// RUN: fuse-opt %s --emit-bytecode -o %t.mlirbc
// RUN: fuse-opt %t.mlirbc --mlir-print-debuginfo | FileCheck %s
// RUN: fuse-opt --mlir-print-debuginfo < %t.mlirbc | FileCheck %s
// RUN: fuse-opt %s --emit-bytecode | fuse-opt --default-pipeline=scheduled | FileCheck %s --check-prefix=LOWERED
// RUN: fuse-run %t.mlirbc | FileCheck %s --check-prefix=INTERPRETED
// RUN: not fuse-opt %s --emit-bytecode --split-input-file 2>&1 | FileCheck %s --check-prefix=SPLIT
// RUN: head -c 200 %t.mlirbc > %t.cut && not fuse-opt %t.cut 2>&1 | FileCheck %s --check-prefix=CUT
// RUN: not fuse-run %t.cut 2>&1 | FileCheck %s --check-prefix=CUT-TOO
// RUN: head -c 4 %t.mlirbc > %t.magic && not fuse-opt %t.magic 2>&1 | FileCheck %s --check-prefix=MAGIC

// CHECK: func.func @main(%arg0: tensor<8xf32> loc("mine.py":3:1))
// CHECK: loc("mine.py":4:1)
// LOWERED: func.func @main
// INTERPRETED: result 0: float32[8]
// SPLIT: fuse-opt: error: '--emit-bytecode' and '--split-input-file' cannot be used together
// CUT: fuse-opt: error: cannot read '{{.*}}bytecode.mlir.tmp.cut': its checksum is another than when it was written
// CUT-TOO: fuse-run: error: cannot read '{{.*}}bytecode.mlir.tmp.cut': its checksum is another than when it was written
// MAGIC: fuse-opt: error: cannot read '{{.*}}bytecode.mlir.tmp.magic': {{.+}}
func.func @main(%o: tensor<8xf32> loc("mine.py":3:1)) -> tensor<8xf32> {
  %y = call @fill(%o) : (tensor<8xf32>) -> tensor<8xf32> loc("mine.py":4:1)
  return {fuse.mutates = {"0" = 0 : i64}} %y : tensor<8xf32>
}
func.func private @fill(%o: tensor<8xf32>) -> tensor<8xf32>
    attributes {fuse.kernel, fuse.dims = {d0 = "8"}, fuse.ties = array<i64: 0>} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : f32
  %r = "fuse.store"(%o, %zero, %true) {at = ["d0"], mode = "set"} : (tensor<8xf32>, f32, i1) -> tensor<8xf32>
  return %r : tensor<8xf32>
}
