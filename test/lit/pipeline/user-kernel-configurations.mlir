// A user's kernel with further configurations: each is a kernel of its own, and @main calls the first.
// RUN: fuse-opt %s --default-pipeline=planned --split-input-file | FileCheck %s --check-prefix=PLANNED
// RUN: fuse-opt %s --pass-pipeline="builtin.module(deduplicate-kernels)" --split-input-file | FileCheck %s --check-prefix=SAME
// RUN: fuse-opt %s --default-pipeline=planned -o %t.mlir --fuse-print-plan 2> %t.plan && FileCheck %s --check-prefix=PLAN < %t.plan

// Fires: each configuration becomes a launch, and the plan has a step that chooses.  Equal kernels share functions.
// Must not: a kernel with other configurations stays apart.

// PLANNED-LABEL: func.func @main
// PLANNED: call @fill(
// PLANNED: call @fill(
// PLANNED: call @other(
// PLANNED: func.func private @fill(
// PLANNED-SAME: fuse.configs = [@fill_1]
// PLANNED-SAME: fuse.launch = @fill_tt
// PLANNED-SAME: fuse.tuned_by = ["s0"]
// PLANNED: func.func private @fill_1(
// PLANNED-SAME: fuse.launch = @fill_1_tt
// PLANNED: func.func private @other(

// SAME-LABEL: func.func @main
// SAME: call @fill(
// SAME: call @fill(
// SAME: call @other(
// SAME-LABEL: func.func private @fill(
// SAME-SAME: fuse.configs = [@fill_1]
// SAME-LABEL: func.func private @fill_1(
// SAME-NOT: func.func private @again
// SAME: func.func private @other(
// SAME-SAME: fuse.configs = [@other_1]

// PLAN: tune by [s0] fill grid [s0, 1, 1] ({{.*}}) writes [0] or fill_1 grid [(s0 + 1) floordiv 2, 1, 1]
module attributes {fuse.device = "cpu"} {
  func.func @main(%s0: index {fuse.sym = "s0", fuse.min = 1 : i64, fuse.hint = 8 : i64}) -> (tensor<?xf32, #fuse.layout<"s0", "1", "0", "cpu">>, tensor<?xf32, #fuse.layout<"s0", "1", "0", "cpu">>, tensor<?xf32, #fuse.layout<"s0", "1", "0", "cpu">>) {
    %o = "fuse.empty"(%s0) {syms = ["s0"]} : (index) -> tensor<?xf32, #fuse.layout<"s0", "1", "0", "cpu">>
    %p = "fuse.empty"(%s0) {syms = ["s0"]} : (index) -> tensor<?xf32, #fuse.layout<"s0", "1", "0", "cpu">>
    %q = "fuse.empty"(%s0) {syms = ["s0"]} : (index) -> tensor<?xf32, #fuse.layout<"s0", "1", "0", "cpu">>
    %a = call @fill(%o, %s0) : (tensor<?xf32, #fuse.layout<"s0", "1", "0", "cpu">>, index) -> tensor<?xf32, #fuse.layout<"s0", "1", "0", "cpu">>
    %b = call @again(%p, %s0) : (tensor<?xf32, #fuse.layout<"s0", "1", "0", "cpu">>, index) -> tensor<?xf32, #fuse.layout<"s0", "1", "0", "cpu">>
    %c = call @other(%q, %s0) : (tensor<?xf32, #fuse.layout<"s0", "1", "0", "cpu">>, index) -> tensor<?xf32, #fuse.layout<"s0", "1", "0", "cpu">>
    return %a, %b, %c : tensor<?xf32, #fuse.layout<"s0", "1", "0", "cpu">>, tensor<?xf32, #fuse.layout<"s0", "1", "0", "cpu">>, tensor<?xf32, #fuse.layout<"s0", "1", "0", "cpu">>
  }
  func.func private @fill(%o: tensor<?xf32, #fuse.layout<"s0", "1", "0", "cpu">>, %s0: index {fuse.sym = "s0", fuse.min = 1 : i64}) -> tensor<?xf32, #fuse.layout<"s0", "1", "0", "cpu">>
      attributes {fuse.kernel, fuse.dims = {}, fuse.grid = ["s0"], fuse.ties = array<i64: 0>, fuse.configs = [@fill_1], fuse.tuned_by = ["s0"],
                  fuse.tile = {axes = [], num_stages = 1 : i64, num_warps = 1 : i64}, fuse.user = "model.py:3 fill"} {
    %p = "fuse.base"(%o) : (tensor<?xf32, #fuse.layout<"s0", "1", "0", "cpu">>) -> !tt.ptr<f32>
    %id = "tt.get_program_id"() {axis = 0 : i32} : () -> i32
    %one = arith.constant 1.0 : f32
    %a = "tt.addptr"(%p, %id) : (!tt.ptr<f32>, i32) -> !tt.ptr<f32>
    "tt.store"(%a, %one) {operandSegmentSizes = array<i32: 1, 1, 0>} : (!tt.ptr<f32>, f32) -> ()
    return %o : tensor<?xf32, #fuse.layout<"s0", "1", "0", "cpu">>
  }
  func.func private @fill_1(%o: tensor<?xf32, #fuse.layout<"s0", "1", "0", "cpu">>, %s0: index {fuse.sym = "s0", fuse.min = 1 : i64}) -> tensor<?xf32, #fuse.layout<"s0", "1", "0", "cpu">>
      attributes {fuse.kernel, fuse.dims = {}, fuse.grid = ["(s0 + 1) floordiv 2"], fuse.ties = array<i64: 0>, 
                  fuse.tile = {axes = [], num_stages = 1 : i64, num_warps = 2 : i64}, fuse.user = "model.py:3 fill"} {
    %p = "fuse.base"(%o) : (tensor<?xf32, #fuse.layout<"s0", "1", "0", "cpu">>) -> !tt.ptr<f32>
    %id = "tt.get_program_id"() {axis = 0 : i32} : () -> i32
    %one = arith.constant 1.0 : f32
    %a = "tt.addptr"(%p, %id) : (!tt.ptr<f32>, i32) -> !tt.ptr<f32>
    "tt.store"(%a, %one) {operandSegmentSizes = array<i32: 1, 1, 0>} : (!tt.ptr<f32>, f32) -> ()
    return %o : tensor<?xf32, #fuse.layout<"s0", "1", "0", "cpu">>
  }
  func.func private @again(%o: tensor<?xf32, #fuse.layout<"s0", "1", "0", "cpu">>, %s0: index {fuse.sym = "s0", fuse.min = 1 : i64}) -> tensor<?xf32, #fuse.layout<"s0", "1", "0", "cpu">>
      attributes {fuse.kernel, fuse.dims = {}, fuse.grid = ["s0"], fuse.ties = array<i64: 0>, fuse.configs = [@again_1], fuse.tuned_by = ["s0"],
                  fuse.tile = {axes = [], num_stages = 1 : i64, num_warps = 1 : i64}, fuse.user = "model.py:3 fill"} {
    %p = "fuse.base"(%o) : (tensor<?xf32, #fuse.layout<"s0", "1", "0", "cpu">>) -> !tt.ptr<f32>
    %id = "tt.get_program_id"() {axis = 0 : i32} : () -> i32
    %one = arith.constant 1.0 : f32
    %a = "tt.addptr"(%p, %id) : (!tt.ptr<f32>, i32) -> !tt.ptr<f32>
    "tt.store"(%a, %one) {operandSegmentSizes = array<i32: 1, 1, 0>} : (!tt.ptr<f32>, f32) -> ()
    return %o : tensor<?xf32, #fuse.layout<"s0", "1", "0", "cpu">>
  }
  func.func private @again_1(%o: tensor<?xf32, #fuse.layout<"s0", "1", "0", "cpu">>, %s0: index {fuse.sym = "s0", fuse.min = 1 : i64}) -> tensor<?xf32, #fuse.layout<"s0", "1", "0", "cpu">>
      attributes {fuse.kernel, fuse.dims = {}, fuse.grid = ["(s0 + 1) floordiv 2"], fuse.ties = array<i64: 0>, 
                  fuse.tile = {axes = [], num_stages = 1 : i64, num_warps = 2 : i64}, fuse.user = "model.py:3 fill"} {
    %p = "fuse.base"(%o) : (tensor<?xf32, #fuse.layout<"s0", "1", "0", "cpu">>) -> !tt.ptr<f32>
    %id = "tt.get_program_id"() {axis = 0 : i32} : () -> i32
    %one = arith.constant 1.0 : f32
    %a = "tt.addptr"(%p, %id) : (!tt.ptr<f32>, i32) -> !tt.ptr<f32>
    "tt.store"(%a, %one) {operandSegmentSizes = array<i32: 1, 1, 0>} : (!tt.ptr<f32>, f32) -> ()
    return %o : tensor<?xf32, #fuse.layout<"s0", "1", "0", "cpu">>
  }
  func.func private @other(%o: tensor<?xf32, #fuse.layout<"s0", "1", "0", "cpu">>, %s0: index {fuse.sym = "s0", fuse.min = 1 : i64}) -> tensor<?xf32, #fuse.layout<"s0", "1", "0", "cpu">>
      attributes {fuse.kernel, fuse.dims = {}, fuse.grid = ["s0"], fuse.ties = array<i64: 0>, fuse.configs = [@other_1], fuse.tuned_by = ["s0"],
                  fuse.tile = {axes = [], num_stages = 1 : i64, num_warps = 1 : i64}, fuse.user = "model.py:3 fill"} {
    %p = "fuse.base"(%o) : (tensor<?xf32, #fuse.layout<"s0", "1", "0", "cpu">>) -> !tt.ptr<f32>
    %id = "tt.get_program_id"() {axis = 0 : i32} : () -> i32
    %one = arith.constant 1.0 : f32
    %a = "tt.addptr"(%p, %id) : (!tt.ptr<f32>, i32) -> !tt.ptr<f32>
    "tt.store"(%a, %one) {operandSegmentSizes = array<i32: 1, 1, 0>} : (!tt.ptr<f32>, f32) -> ()
    return %o : tensor<?xf32, #fuse.layout<"s0", "1", "0", "cpu">>
  }
  func.func private @other_1(%o: tensor<?xf32, #fuse.layout<"s0", "1", "0", "cpu">>, %s0: index {fuse.sym = "s0", fuse.min = 1 : i64}) -> tensor<?xf32, #fuse.layout<"s0", "1", "0", "cpu">>
      attributes {fuse.kernel, fuse.dims = {}, fuse.grid = ["s0"], fuse.ties = array<i64: 0>, 
                  fuse.tile = {axes = [], num_stages = 1 : i64, num_warps = 1 : i64}, fuse.user = "model.py:3 fill"} {
    %p = "fuse.base"(%o) : (tensor<?xf32, #fuse.layout<"s0", "1", "0", "cpu">>) -> !tt.ptr<f32>
    %id = "tt.get_program_id"() {axis = 0 : i32} : () -> i32
    %one = arith.constant 1.0 : f32
    %a = "tt.addptr"(%p, %id) : (!tt.ptr<f32>, i32) -> !tt.ptr<f32>
    "tt.store"(%a, %one) {operandSegmentSizes = array<i32: 1, 1, 0>} : (!tt.ptr<f32>, f32) -> ()
    return %o : tensor<?xf32, #fuse.layout<"s0", "1", "0", "cpu">>
  }
}
