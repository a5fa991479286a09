// RUN: fuse-opt %s --split-input-file --verify-diagnostics

// fuse.traffic of tiled kernels and of launches.

// Bad input: what a kernel writes is missing.
// expected-error@+1 {{fuse.traffic has no 'writes'}}
func.func private @half(%o: tensor<8xf32>) -> tensor<8xf32> attributes {fuse.kernel, fuse.grid = ["1"], fuse.dims = {d0 = "8"}, fuse.ties = array<i64: 0>, fuse.traffic = {reads = array<i64: 0>, slots = 8 : i64}} {
  return %o : tensor<8xf32>
}

// -----

// Bad input: a part of another type.
// expected-error@+1 {{expected the reads of fuse.traffic to be an array<i64>, got [0]}}
func.func private @typed(%o: tensor<8xf32>) -> tensor<8xf32> attributes {fuse.kernel, fuse.grid = ["1"], fuse.dims = {d0 = "8"}, fuse.ties = array<i64: 0>, fuse.traffic = {reads = [0], slots = 8 : i64, writes = array<i64: 32>}} {
  return %o : tensor<8xf32>
}

// -----

// Bad input: no dictionary.
// expected-error@+1 {{expected fuse.traffic to be a dictionary, got 8 : i64}}
func.func private @nodict(%o: tensor<8xf32>) -> tensor<8xf32> attributes {fuse.kernel, fuse.grid = ["1"], fuse.dims = {d0 = "8"}, fuse.ties = array<i64: 0>, fuse.traffic = 8 : i64} {
  return %o : tensor<8xf32>
}

// -----

// Bad input: the same of a launch.
// expected-error@+1 {{expected the writes of fuse.traffic to be an array<i64>, got 7 : i64}}
func.func private @launch(tensor<8xf32>) -> tensor<8xf32> attributes {fuse.grid = ["1"], fuse.launch = @k_tt, fuse.params = ["0:ptr"], fuse.tile = {axes = [], num_stages = 1 : i64, num_warps = 4 : i64}, fuse.ties = array<i64: 0>, fuse.traffic = {reads = array<i64: 0>, slots = 8 : i64, writes = 7 : i64}}
"tt.func"() ({
^bb0(%p: !tt.ptr<f32>):
  "tt.return"() : () -> ()
}) {function_type = (!tt.ptr<f32>) -> (), sym_name = "k_tt", sym_visibility = "public"} : () -> ()
