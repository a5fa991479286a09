// An op that is written without the quotes of the generic form is named with its place: MLIR's parser says nothing of it.
// RUN: fuse-opt %s --split-input-file --verify-diagnostics | FileCheck %s

module {
  // fuse.load in a comment is no op.
  // expected-error @+1 {{'fuse.empty' has no custom form: write "fuse.empty"(..) with its attributes and types}}
  fuse.empty
}

// -----

func.func @main() {
  // expected-error @+1 {{'tt.make_range' has no custom form}}
  %x, %y = tt.make_range {start = 0 : i32}
  return
}

// -----

// expected-error @+1 {{'fuse.empty' has no custom form}}
module { fuse.empty }

// -----

// The generic form is read.
// CHECK: "fuse.empty"() {syms = []} : () -> tensor<f32>
func.func @main() -> tensor<f32> {
  %o = "fuse.empty"() {syms = []} : () -> tensor<f32>
  return %o : tensor<f32>
}
