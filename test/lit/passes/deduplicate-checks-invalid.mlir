// RUN: not fuse-opt %s --pass-pipeline="builtin.module(deduplicate-checks)" 2>&1 | FileCheck %s

// CHECK: the module has no function @main
module attributes {fuse.device = "cuda:0"} {
}
