// Buckets are judged by the schedule of the whole program.
// RUN: fuse-opt %s --pass-pipeline="builtin.module(bucket-collectives{hardware=h200 memory=100 share=3})" --split-input-file | FileCheck %s
// RUN: fuse-opt %s --pass-pipeline="builtin.module(bucket-collectives{hardware=h200 memory=100 share=3})" --split-input-file --remarks=text -o %t 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: fuse-opt %s --pass-pipeline="builtin.module(bucket-collectives{hardware=h200 memory=100 share=3})" --split-input-file --remarks=text --sort=cost -o %t 2>&1 | FileCheck %s --check-prefix=COST
// RUN: not fuse-opt %s --pass-pipeline="builtin.module(bucket-collectives{hardware=abacus})" --split-input-file 2>&1 | FileCheck %s --check-prefix=BAD

// COST: 0.00 us, 0 bytes: missed: bucket-collectives: slower, collectives=2
// BAD: bucket-collectives: unknown hardware 'abacus'

// Must not fire: the second all-reduce reads a product, beside which the first one can run.
// CHECK-LABEL: func.func @main
// CHECK-NEXT: call @reduce
// CHECK: call @reduce
// REMARK: missed: bucket-collectives: slower, collectives=2: calls would wait longer for a bucket than its starts cost one by one
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<4096x4096xf32>, %w: tensor<4096x4096xf32>) -> tensor<4096x4096xf32> {
    %a = call @reduce(%x) : (tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
    %b = call @wait(%a, %x) : (tensor<4096x4096xf32>, tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
    %p = call @mm(%w, %w) : (tensor<4096x4096xf32>, tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
    %c = call @reduce(%p) : (tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
    %d = call @wait(%c, %p) : (tensor<4096x4096xf32>, tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
    %e = call @mm(%b, %w) : (tensor<4096x4096xf32>, tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
    %f = call @mm(%e, %d) : (tensor<4096x4096xf32>, tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
    return %f : tensor<4096x4096xf32>
  }
  func.func private @mm(tensor<4096x4096xf32>, tensor<4096x4096xf32>) -> tensor<4096x4096xf32> attributes {fuse.extern = "aten.mm.default",
      fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
  func.func private @reduce(tensor<4096x4096xf32>) -> tensor<4096x4096xf32> attributes {fuse.effect, fuse.ranks = 2 : i64,
      fuse.extern = "_c10d_functional.all_reduce.default", fuse.args = [#fuse.arg<0 : i64>, "sum", "0"], fuse.kwargs = {}}
  func.func private @wait(tensor<4096x4096xf32>, tensor<4096x4096xf32>) -> tensor<4096x4096xf32> attributes {fuse.mutated = array<i64: 0>, fuse.aliases = {"0" = 0 : i64},
      fuse.extern = "_c10d_functional.wait_tensor.default", fuse.args = [#fuse.arg<0 : i64>], fuse.kwargs = {}, fuse.held = array<i64: 1>}
}

// -----

// Of four, which would wait for all products, two start as one and run beside the products that the others read, and these beside products that read the first two.
// CHECK-LABEL: func.func @main
// CHECK-NEXT: %[[A:.*]]:2 = call @all_reduce_bucket(%arg0, %arg1)
// CHECK: %[[P:.*]] = call @mm(%arg2, %arg2)
// CHECK-NEXT: %[[O:.*]] = call @mm(%[[P]], %arg2)
// CHECK-NEXT: %[[U:.*]] = call @mm(%[[O]], %arg2)
// CHECK-NEXT: %[[Q:.*]] = call @mm(%[[U]], %arg2)
// CHECK: call @all_reduce_bucket{{.*}}(%[[P]], %[[Q]])
// REMARK-NOT: missed
// REMARK-COUNT-2: passed: bucket-collectives: bucketed, collectives=2
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<4096x4096xf32>, %y: tensor<4096x4096xf32>, %w: tensor<4096x4096xf32>) -> tensor<4096x4096xf32> {
    %a = call @reduce(%x) : (tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
    %b = call @wait(%a, %x) : (tensor<4096x4096xf32>, tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
    %c = call @reduce(%y) : (tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
    %d = call @wait(%c, %y) : (tensor<4096x4096xf32>, tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
    %p = call @mm(%w, %w) : (tensor<4096x4096xf32>, tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
    %o = call @mm(%p, %w) : (tensor<4096x4096xf32>, tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
    %u = call @mm(%o, %w) : (tensor<4096x4096xf32>, tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
    %q = call @mm(%u, %w) : (tensor<4096x4096xf32>, tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
    %e = call @reduce(%p) : (tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
    %f = call @wait(%e, %p) : (tensor<4096x4096xf32>, tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
    %g = call @reduce(%q) : (tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
    %h = call @wait(%g, %q) : (tensor<4096x4096xf32>, tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
    %i = call @mm(%b, %w) : (tensor<4096x4096xf32>, tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
    %j = call @mm(%d, %i) : (tensor<4096x4096xf32>, tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
    %m = call @mm(%j, %w) : (tensor<4096x4096xf32>, tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
    %n = call @mm(%m, %w) : (tensor<4096x4096xf32>, tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
    %k = call @mm(%f, %n) : (tensor<4096x4096xf32>, tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
    %l = call @mm(%h, %k) : (tensor<4096x4096xf32>, tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
    return %l : tensor<4096x4096xf32>
  }
  func.func private @mm(tensor<4096x4096xf32>, tensor<4096x4096xf32>) -> tensor<4096x4096xf32> attributes {fuse.extern = "aten.mm.default",
      fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {}}
  func.func private @reduce(tensor<4096x4096xf32>) -> tensor<4096x4096xf32> attributes {fuse.effect, fuse.ranks = 2 : i64,
      fuse.extern = "_c10d_functional.all_reduce.default", fuse.args = [#fuse.arg<0 : i64>, "sum", "0"], fuse.kwargs = {}}
  func.func private @wait(tensor<4096x4096xf32>, tensor<4096x4096xf32>) -> tensor<4096x4096xf32> attributes {fuse.mutated = array<i64: 0>, fuse.aliases = {"0" = 0 : i64},
      fuse.extern = "_c10d_functional.wait_tensor.default", fuse.args = [#fuse.arg<0 : i64>], fuse.kwargs = {}, fuse.held = array<i64: 1>}
}
