// expected-error@+1 {{of something else}}
func.func private @f() -> i32 {
  return
}
