// Processes choose buckets one by one, and hints of symbolic sizes may differ between them.
// RUN: fuse-opt %s --pass-pipeline="builtin.module(bucket-collectives{hardware=h200 memory=100})" --split-input-file | FileCheck %s
// RUN: fuse-opt %s --pass-pipeline="builtin.module(overlap-collectives{hardware=h200})" --split-input-file --remarks=text --sort=cost -o %t 2>&1 | FileCheck %s --check-prefix=OVERLAP
// RUN: fuse-opt %s --pass-pipeline="builtin.module(bucket-collectives{hardware=h200 memory=100})" --split-input-file --remarks=text --sort=cost -o %t 2>&1 | FileCheck %s --check-prefix=BUCKET
// RUN: not fuse-opt %s --pass-pipeline="builtin.module(bucket-collectives{hardware=abacus})" --split-input-file 2>&1 | FileCheck %s --check-prefix=BAD

// BAD: bucket-collectives: unknown hardware 'abacus'

// Must not fire: a size is symbolic.  The refusals say what two starts cost more than one, and how long other work could run beside them.
// BUCKET: 30.00 us, 0 bytes: missed: bucket-collectives: symbolic-sizes, collectives=2: processes may have other hints of a symbolic size
// OVERLAP: 15.86 us, 0 bytes: missed: overlap-collectives: symbolic-sizes, collectives=2: processes may have other hints of a symbolic size
// CHECK-LABEL: func.func @main
// CHECK-NEXT: call @reduce
// CHECK-NEXT: call @wait
// CHECK-NEXT: call @reduce
// CHECK-NEXT: call @wait
module attributes {fuse.device = "cpu"} {
  func.func @main(%n: index {fuse.sym = "s0", fuse.hint = 512 : i64}, %x: tensor<64x64xf32>, %y: tensor<64x64xf32>) -> (tensor<64x64xf32>, tensor<64x64xf32>) {
    %a = call @reduce(%x) : (tensor<64x64xf32>) -> tensor<64x64xf32>
    %b = call @wait(%a, %x) : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    %c = call @reduce(%y) : (tensor<64x64xf32>) -> tensor<64x64xf32>
    %d = call @wait(%c, %y) : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    return %b, %d : tensor<64x64xf32>, tensor<64x64xf32>
  }
  func.func private @reduce(tensor<64x64xf32>) -> tensor<64x64xf32> attributes {fuse.effect, fuse.ranks = 2 : i64,
      fuse.extern = "_c10d_functional.all_reduce.default", fuse.args = [#fuse.arg<0 : i64>, "sum", "0"], fuse.kwargs = {}}
  func.func private @wait(tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32> attributes {fuse.mutated = array<i64: 0>, fuse.aliases = {"0" = 0 : i64},
      fuse.extern = "_c10d_functional.wait_tensor.default", fuse.args = [#fuse.arg<0 : i64>], fuse.kwargs = {}, fuse.held = array<i64: 1>}
}

// -----

// The same with numbers alone: both start as one.
// BUCKET-NOT: missed
// OVERLAP-NOT: missed
// CHECK-LABEL: func.func @main
// CHECK-NEXT: call @all_reduce_bucket(%arg0, %arg1)
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<64x64xf32>, %y: tensor<64x64xf32>) -> (tensor<64x64xf32>, tensor<64x64xf32>) {
    %a = call @reduce(%x) : (tensor<64x64xf32>) -> tensor<64x64xf32>
    %b = call @wait(%a, %x) : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    %c = call @reduce(%y) : (tensor<64x64xf32>) -> tensor<64x64xf32>
    %d = call @wait(%c, %y) : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    return %b, %d : tensor<64x64xf32>, tensor<64x64xf32>
  }
  func.func private @reduce(tensor<64x64xf32>) -> tensor<64x64xf32> attributes {fuse.effect, fuse.ranks = 2 : i64,
      fuse.extern = "_c10d_functional.all_reduce.default", fuse.args = [#fuse.arg<0 : i64>, "sum", "0"], fuse.kwargs = {}}
  func.func private @wait(tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32> attributes {fuse.mutated = array<i64: 0>, fuse.aliases = {"0" = 0 : i64},
      fuse.extern = "_c10d_functional.wait_tensor.default", fuse.args = [#fuse.arg<0 : i64>], fuse.kwargs = {}, fuse.held = array<i64: 1>}
}
