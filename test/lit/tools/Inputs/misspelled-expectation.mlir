func.func private @f() -> i32 {
  return // expected-error {has 0 operands}
}
