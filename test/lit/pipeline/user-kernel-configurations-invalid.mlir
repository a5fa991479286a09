// RUN: fuse-opt %s --split-input-file --verify-diagnostics

// What fuse.configs may name.
module attributes {fuse.device = "cpu"} {
  // expected-error @+1 {{expected fuse.configs beside fuse.user and fuse.tuned_by}}
  func.func private @k(%o: tensor<8xf32>) -> tensor<8xf32>
      attributes {fuse.kernel, fuse.dims = {}, fuse.grid = ["8"], fuse.ties = array<i64: 0>, fuse.configs = [@k_1], fuse.user = "model.py:3 k"} {
    return %o : tensor<8xf32>
  }
  func.func private @k_1(%o: tensor<8xf32>) -> tensor<8xf32>
      attributes {fuse.kernel, fuse.dims = {}, fuse.grid = ["8"], fuse.ties = array<i64: 0>, fuse.user = "model.py:3 k"} {
    return %o : tensor<8xf32>
  }
}

// -----

module attributes {fuse.device = "cpu"} {
  // expected-error @+1 {{expected fuse.configs to be symbols}}
  func.func private @k(%o: tensor<8xf32>) -> tensor<8xf32>
      attributes {fuse.kernel, fuse.dims = {}, fuse.grid = ["8"], fuse.ties = array<i64: 0>, fuse.configs = ["k_1"], fuse.tuned_by = [], fuse.user = "model.py:3 k"} {
    return %o : tensor<8xf32>
  }
  func.func private @k_1(%o: tensor<8xf32>) -> tensor<8xf32>
      attributes {fuse.kernel, fuse.dims = {}, fuse.grid = ["8"], fuse.ties = array<i64: 0>, fuse.user = "model.py:3 k"} {
    return %o : tensor<8xf32>
  }
}

// -----

module attributes {fuse.device = "cpu"} {
  // expected-error @+1 {{has the configuration @missing, which is no kernel of a user's}}
  func.func private @k(%o: tensor<8xf32>) -> tensor<8xf32>
      attributes {fuse.kernel, fuse.dims = {}, fuse.grid = ["8"], fuse.ties = array<i64: 0>, fuse.configs = [@missing], fuse.tuned_by = [], fuse.user = "model.py:3 k"} {
    return %o : tensor<8xf32>
  }
}

// -----

module attributes {fuse.device = "cpu"} {
  // expected-error @+1 {{has the configuration @k_1, which is no kernel of a user's}}
  func.func private @k(%o: tensor<8xf32>) -> tensor<8xf32>
      attributes {fuse.kernel, fuse.dims = {}, fuse.grid = ["8"], fuse.ties = array<i64: 0>, fuse.configs = [@k_1], fuse.tuned_by = [], fuse.user = "model.py:3 k"} {
    return %o : tensor<8xf32>
  }
  func.func private @k_1(%o: tensor<8xf32>) -> tensor<8xf32>
      attributes {fuse.kernel, fuse.dims = {}, fuse.grid = ["8"], fuse.ties = array<i64: 0>} {
    return %o : tensor<8xf32>
  }
}

// -----

module attributes {fuse.device = "cpu"} {
  // expected-error @+1 {{has the configuration @k_1, which has configurations itself}}
  func.func private @k(%o: tensor<8xf32>) -> tensor<8xf32>
      attributes {fuse.kernel, fuse.dims = {}, fuse.grid = ["8"], fuse.ties = array<i64: 0>, fuse.configs = [@k_1], fuse.tuned_by = [], fuse.user = "model.py:3 k"} {
    return %o : tensor<8xf32>
  }
  func.func private @k_1(%o: tensor<8xf32>) -> tensor<8xf32>
      attributes {fuse.kernel, fuse.dims = {}, fuse.grid = ["8"], fuse.ties = array<i64: 0>, fuse.configs = [@k_2], fuse.tuned_by = [], fuse.user = "model.py:3 k"} {
    return %o : tensor<8xf32>
  }
  func.func private @k_2(%o: tensor<8xf32>) -> tensor<8xf32>
      attributes {fuse.kernel, fuse.dims = {}, fuse.grid = ["8"], fuse.ties = array<i64: 0>, fuse.user = "model.py:3 k"} {
    return %o : tensor<8xf32>
  }
}

// -----

module attributes {fuse.device = "cpu"} {
  // expected-error @+1 {{has the configuration @k_1, whose function_type is}}
  func.func private @k(%o: tensor<8xf32>) -> tensor<8xf32>
      attributes {fuse.kernel, fuse.dims = {}, fuse.grid = ["8"], fuse.ties = array<i64: 0>, fuse.configs = [@k_1], fuse.tuned_by = [], fuse.user = "model.py:3 k"} {
    return %o : tensor<8xf32>
  }
  func.func private @k_1(%o: tensor<9xf32>) -> tensor<9xf32>
      attributes {fuse.kernel, fuse.dims = {}, fuse.grid = ["8"], fuse.ties = array<i64: 0>, fuse.user = "model.py:3 k"} {
    return %o : tensor<9xf32>
  }
}

// -----

module attributes {fuse.device = "cpu"} {
  // expected-error @+1 {{fuse.tuned_by needs the size s0, which is no argument}}
  func.func private @k(%o: tensor<8xf32>) -> tensor<8xf32>
      attributes {fuse.kernel, fuse.dims = {}, fuse.grid = ["8"], fuse.ties = array<i64: 0>, fuse.configs = [@k_1], fuse.tuned_by = ["s0"], fuse.user = "model.py:3 k"} {
    return %o : tensor<8xf32>
  }
  func.func private @k_1(%o: tensor<8xf32>) -> tensor<8xf32>
      attributes {fuse.kernel, fuse.dims = {}, fuse.grid = ["8"], fuse.ties = array<i64: 0>, fuse.user = "model.py:3 k"} {
    return %o : tensor<8xf32>
  }
}
