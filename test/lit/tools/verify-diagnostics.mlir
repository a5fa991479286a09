// Expectations: on the line, above, below, at a distance, without a place, with a regular expression, of each severity.
// RUN: fuse-opt %s --split-input-file --verify-diagnostics --plan-memory
// RUN: fuse-opt %s --split-input-file --verify-diagnostics=only-expected --plan-memory

func.func private @f() -> i32 {
  return // expected-error {{'func.return' op has 0 operands, but enclosing function (@f) returns 1}}
}

// -----

func.func private @g() -> i32 {
  // expected-error@below {{has 0 operands}}
  return
}

// -----

func.func private @h() -> i32 {
  return
  // expected-error@above {{has {{[0-9]+}} operands, but {{.*}}(@h)}}
}

// -----

// expected-error@+4 {{redefinition}}
// expected-note@+2 {{see existing symbol definition here}}

func.func private @f(i32)
func.func private @f(i32)

// -----

func.func @main() {
  %a = "fuse.alloc"() {syms = []} : () -> tensor<8xf32>
  // expected-error@-1 {{memory is planned already}}
  "fuse.free"(%a) : (tensor<8xf32>) -> ()
  return
}
