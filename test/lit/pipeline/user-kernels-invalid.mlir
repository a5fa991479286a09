// RUN: fuse-opt %s --split-input-file --verify-diagnostics

// A user's kernel is tile code.
module attributes {fuse.device = "cpu"} {
  // expected-error @+1 {{expected a user's kernel (fuse.user) to be tile code with fuse.grid, got a scalar kernel}}
  func.func private @k(%o: tensor<8xf32>) -> tensor<8xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "8"}, fuse.ties = array<i64: 0>, fuse.user = "model.py:3 k"} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %r = "fuse.store"(%o, %zero, %true) {at = ["d0"], mode = "set"} : (tensor<8xf32>, f32, i1) -> tensor<8xf32>
    return %r : tensor<8xf32>
  }
}

// -----

// fuse.user is text.
module attributes {fuse.device = "cpu"} {
  // expected-error @+1 {{fuse.user}}
  func.func private @k(%o: tensor<8xf32>) -> tensor<8xf32>
      attributes {fuse.kernel, fuse.dims = {}, fuse.grid = ["8"], fuse.ties = array<i64: 0>, fuse.user} {
    %p = "fuse.base"(%o) : (tensor<8xf32>) -> !tt.ptr<f32>
    return %o : tensor<8xf32>
  }
}

// -----

// fuse.apart is about a tensor.
module attributes {fuse.device = "cpu"} {
  // expected-error @+1 {{expected fuse.apart on a tensor of a user's kernel (fuse.user), got it on argument 1}}
  func.func private @k(%o: tensor<8xf32>, %n: f64 {fuse.apart}) -> tensor<8xf32>
      attributes {fuse.kernel, fuse.dims = {}, fuse.grid = ["8"], fuse.ties = array<i64: 0>, fuse.user = "model.py:3 k"} {
    %p = "fuse.base"(%o) : (tensor<8xf32>) -> !tt.ptr<f32>
    return %o : tensor<8xf32>
  }
}

// -----

// fuse.apart is about a user's kernel.
module attributes {fuse.device = "cpu"} {
  // expected-error @+1 {{expected fuse.apart on a tensor of a user's kernel (fuse.user), got it on argument 0}}
  func.func private @k(%o: tensor<8xf32> {fuse.apart}) -> tensor<8xf32>
      attributes {fuse.kernel, fuse.dims = {}, fuse.grid = ["8"], fuse.ties = array<i64: 0>} {
    %p = "fuse.base"(%o) : (tensor<8xf32>) -> !tt.ptr<f32>
    return %o : tensor<8xf32>
  }
}
