// RUN: fuse-opt %s --pass-pipeline="builtin.module(choose-tiling)" --split-input-file | FileCheck %s
// RUN: fuse-opt %s --pass-pipeline="builtin.module(choose-tiling,choose-tiling)" --split-input-file | FileCheck %s

// A flat pointwise kernel: one axis; 8 elements a thread in two 16-byte accesses.
// CHECK-LABEL: @flat
// CHECK-SAME: fuse.tile = {axes = [{block = 1024 : i64, dims = ["d0"], kind = "grid"}], num_stages = 1 : i64, num_warps = 4 : i64}
module attributes {fuse.device = "cpu"} {
  func.func private @flat(%x: tensor<1048576xf32>, %o: tensor<1048576xf32>) -> tensor<1048576xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "1048576"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<1048576xf32>, i1, f32) -> f32
    %w = arith.addf %v, %v : f32
    %r = "fuse.store"(%o, %w, %true) {at = ["d0"], mode = "set"} : (tensor<1048576xf32>, f32, i1) -> tensor<1048576xf32>
    return %r : tensor<1048576xf32>
  }
}

// -----

// A small tensor: the block is halved while there are fewer programs than two for each multiprocessor.
// CHECK-LABEL: @small
// CHECK-SAME: fuse.tile = {axes = [{block = 128 : i64, dims = ["d0"], kind = "grid"}]
module attributes {fuse.device = "cpu"} {
  func.func private @small(%x: tensor<4096xf32>, %o: tensor<4096xf32>) -> tensor<4096xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "4096"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<4096xf32>, i1, f32) -> f32
    %r = "fuse.store"(%o, %v, %true) {at = ["d0"], mode = "set"} : (tensor<4096xf32>, f32, i1) -> tensor<4096xf32>
    return %r : tensor<4096xf32>
  }
}

// -----

// Eight calls that follow each other, and are independent, fill the chip together: combine-launches will let
// them share a launch.
// CHECK-LABEL: func private @beside
// CHECK-SAME: fuse.tile = {axes = [{block = 1024 : i64, dims = ["d0"], kind = "grid"}]
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<65536xf32>) -> (tensor<65536xf32>, tensor<65536xf32>, tensor<65536xf32>, tensor<65536xf32>, tensor<65536xf32>, tensor<65536xf32>, tensor<65536xf32>, tensor<65536xf32>) {
    %o0 = "fuse.empty"() {syms = []} : () -> tensor<65536xf32>
    %y0 = call @beside(%x, %o0) : (tensor<65536xf32>, tensor<65536xf32>) -> tensor<65536xf32>
    %o1 = "fuse.empty"() {syms = []} : () -> tensor<65536xf32>
    %y1 = call @beside(%x, %o1) : (tensor<65536xf32>, tensor<65536xf32>) -> tensor<65536xf32>
    %o2 = "fuse.empty"() {syms = []} : () -> tensor<65536xf32>
    %y2 = call @beside(%x, %o2) : (tensor<65536xf32>, tensor<65536xf32>) -> tensor<65536xf32>
    %o3 = "fuse.empty"() {syms = []} : () -> tensor<65536xf32>
    %y3 = call @beside(%x, %o3) : (tensor<65536xf32>, tensor<65536xf32>) -> tensor<65536xf32>
    %o4 = "fuse.empty"() {syms = []} : () -> tensor<65536xf32>
    %y4 = call @beside(%x, %o4) : (tensor<65536xf32>, tensor<65536xf32>) -> tensor<65536xf32>
    %o5 = "fuse.empty"() {syms = []} : () -> tensor<65536xf32>
    %y5 = call @beside(%x, %o5) : (tensor<65536xf32>, tensor<65536xf32>) -> tensor<65536xf32>
    %o6 = "fuse.empty"() {syms = []} : () -> tensor<65536xf32>
    %y6 = call @beside(%x, %o6) : (tensor<65536xf32>, tensor<65536xf32>) -> tensor<65536xf32>
    %o7 = "fuse.empty"() {syms = []} : () -> tensor<65536xf32>
    %y7 = call @beside(%x, %o7) : (tensor<65536xf32>, tensor<65536xf32>) -> tensor<65536xf32>
    return %y0, %y1, %y2, %y3, %y4, %y5, %y6, %y7 : tensor<65536xf32>, tensor<65536xf32>, tensor<65536xf32>, tensor<65536xf32>, tensor<65536xf32>, tensor<65536xf32>, tensor<65536xf32>, tensor<65536xf32>
  }
  func.func private @beside(%x: tensor<65536xf32>, %o: tensor<65536xf32>) -> tensor<65536xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "65536"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<65536xf32>, i1, f32) -> f32
    %r = "fuse.store"(%o, %v, %true) {at = ["d0"], mode = "set"} : (tensor<65536xf32>, f32, i1) -> tensor<65536xf32>
    return %r : tensor<65536xf32>
  }
}

// -----

// Each reads what the one before made: one call fills the chip, or none.
// CHECK-LABEL: func private @behind
// CHECK-SAME: fuse.tile = {axes = [{block = 128 : i64, dims = ["d0"], kind = "grid"}]
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<65536xf32>) -> (tensor<65536xf32>, tensor<65536xf32>, tensor<65536xf32>, tensor<65536xf32>, tensor<65536xf32>, tensor<65536xf32>, tensor<65536xf32>, tensor<65536xf32>) {
    %o0 = "fuse.empty"() {syms = []} : () -> tensor<65536xf32>
    %y0 = call @behind(%x, %o0) : (tensor<65536xf32>, tensor<65536xf32>) -> tensor<65536xf32>
    %o1 = "fuse.empty"() {syms = []} : () -> tensor<65536xf32>
    %y1 = call @behind(%y0, %o1) : (tensor<65536xf32>, tensor<65536xf32>) -> tensor<65536xf32>
    %o2 = "fuse.empty"() {syms = []} : () -> tensor<65536xf32>
    %y2 = call @behind(%y1, %o2) : (tensor<65536xf32>, tensor<65536xf32>) -> tensor<65536xf32>
    %o3 = "fuse.empty"() {syms = []} : () -> tensor<65536xf32>
    %y3 = call @behind(%y2, %o3) : (tensor<65536xf32>, tensor<65536xf32>) -> tensor<65536xf32>
    %o4 = "fuse.empty"() {syms = []} : () -> tensor<65536xf32>
    %y4 = call @behind(%y3, %o4) : (tensor<65536xf32>, tensor<65536xf32>) -> tensor<65536xf32>
    %o5 = "fuse.empty"() {syms = []} : () -> tensor<65536xf32>
    %y5 = call @behind(%y4, %o5) : (tensor<65536xf32>, tensor<65536xf32>) -> tensor<65536xf32>
    %o6 = "fuse.empty"() {syms = []} : () -> tensor<65536xf32>
    %y6 = call @behind(%y5, %o6) : (tensor<65536xf32>, tensor<65536xf32>) -> tensor<65536xf32>
    %o7 = "fuse.empty"() {syms = []} : () -> tensor<65536xf32>
    %y7 = call @behind(%y6, %o7) : (tensor<65536xf32>, tensor<65536xf32>) -> tensor<65536xf32>
    return %y0, %y1, %y2, %y3, %y4, %y5, %y6, %y7 : tensor<65536xf32>, tensor<65536xf32>, tensor<65536xf32>, tensor<65536xf32>, tensor<65536xf32>, tensor<65536xf32>, tensor<65536xf32>, tensor<65536xf32>
  }
  func.func private @behind(%x: tensor<65536xf32>, %o: tensor<65536xf32>) -> tensor<65536xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "65536"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<65536xf32>, i1, f32) -> f32
    %r = "fuse.store"(%o, %v, %true) {at = ["d0"], mode = "set"} : (tensor<65536xf32>, f32, i1) -> tensor<65536xf32>
    return %r : tensor<65536xf32>
  }
}

// -----

// A bias along the columns: two axes, so that no lane divides.  768 columns are three blocks of 256.
// CHECK-LABEL: @bias
// CHECK-SAME: fuse.tile = {axes = [{block = 4 : i64, dims = ["d0"], kind = "grid"}, {block = 256 : i64, dims = ["d1"], kind = "grid"}]
module attributes {fuse.device = "cpu"} {
  func.func private @bias(%x: tensor<4096x768xf32>, %b: tensor<768xf32>, %o: tensor<4096x768xf32>) -> tensor<4096x768xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "4096", d1 = "768"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<4096x768xf32>, i1, f32) -> f32
    %c = "fuse.load"(%b, %true, %zero) {at = ["d1"]} : (tensor<768xf32>, i1, f32) -> f32
    %w = arith.addf %v, %c : f32
    %r = "fuse.store"(%o, %w, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<4096x768xf32>, f32, i1) -> tensor<4096x768xf32>
    return %r : tensor<4096x768xf32>
  }
}

// -----

// A transpose: tiles of 256 bytes a side, whole lines for load and store.
// CHECK-LABEL: @transpose
// CHECK-SAME: fuse.tile = {axes = [{block = 128 : i64, dims = ["d0"], kind = "grid"}, {block = 128 : i64, dims = ["d1"], kind = "grid"}], num_stages = 1 : i64, num_warps = 8 : i64}
module attributes {fuse.device = "cpu"} {
  func.func private @transpose(%x: tensor<4096x8192xbf16>, %o: tensor<8192x4096xbf16>) -> tensor<8192x4096xbf16>
      attributes {fuse.kernel, fuse.dims = {d0 = "8192", d1 = "4096"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %v = "fuse.load"(%x, %true, %zero) {at = ["d1", "d0"]} : (tensor<4096x8192xbf16>, i1, bf16) -> bf16
    %r = "fuse.store"(%o, %v, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<8192x4096xbf16>, bf16, i1) -> tensor<8192x4096xbf16>
    return %r : tensor<8192x4096xbf16>
  }
}

// -----

// Rows that fit in registers; the block covers the row, a warp for 2 KB.
// CHECK-LABEL: @rows
// CHECK-SAME: fuse.tile = {axes = [{block = 1 : i64, dims = ["d0"], kind = "grid"}, {block = 2048 : i64, dims = ["d1"], kind = "resident"}], num_stages = 1 : i64, num_warps = 4 : i64}
module attributes {fuse.device = "cpu"} {
  func.func private @rows(%x: tensor<4096x2000xf32>, %o: tensor<4096xf32>) -> tensor<4096xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "4096", d1 = "2000"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<4096x2000xf32>, i1, f32) -> f32
    %s = "fuse.reduce"(%v) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d0"], mode = "set"} : (tensor<4096xf32>, f32, i1) -> tensor<4096xf32>
    return %r : tensor<4096xf32>
  }
}

// -----

// Short rows share a program, alone, each would read too little; a warp for 2 KB of them.
// CHECK-LABEL: @short_rows
// CHECK-SAME: {block = 16 : i64, dims = ["d0"], kind = "grid"}, {block = 64 : i64, dims = ["d1"], kind = "resident"}], num_stages = 1 : i64, num_warps = 2 : i64}
module attributes {fuse.device = "cpu"} {
  func.func private @short_rows(%x: tensor<65536x64xf32>, %o: tensor<65536x64xf32>) -> tensor<65536x64xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "65536", d1 = "64"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<65536x64xf32>, i1, f32) -> f32
    %s = "fuse.reduce"(%v) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %y = arith.subf %v, %s : f32
    %r = "fuse.store"(%o, %y, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<65536x64xf32>, f32, i1) -> tensor<65536x64xf32>
    return %r : tensor<65536x64xf32>
  }
}

// -----

// A long row that is used again stays in registers, spread over 32 warps.
// CHECK-LABEL: @long_rows
// CHECK-SAME: {block = 1 : i64, dims = ["d0"], kind = "grid"}, {block = 32768 : i64, dims = ["d1"], kind = "resident"}], num_stages = 1 : i64, num_warps = 32 : i64}
module attributes {fuse.device = "cpu"} {
  func.func private @long_rows(%x: tensor<65536x32768xf32>, %o: tensor<65536x32768xf32>) -> tensor<65536x32768xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "65536", d1 = "32768"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<65536x32768xf32>, i1, f32) -> f32
    %s = "fuse.reduce"(%v) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %y = arith.subf %v, %s : f32
    %r = "fuse.store"(%o, %y, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<65536x32768xf32>, f32, i1) -> tensor<65536x32768xf32>
    return %r : tensor<65536x32768xf32>
  }
}

// -----

// A long row of 16 bits is read again from the cache, as several programs of an SM can do at once.
// CHECK-LABEL: @long_rows_of_16_bits
// CHECK-SAME: {block = 8192 : i64, dims = ["d1"], kind = "looped"}], num_stages = 1 : i64, num_warps = 16 : i64}
module attributes {fuse.device = "cpu"} {
  func.func private @long_rows_of_16_bits(%x: tensor<65536x32000xbf16>, %o: tensor<65536x32000xbf16>) -> tensor<65536x32000xbf16>
      attributes {fuse.kernel, fuse.dims = {d0 = "65536", d1 = "32000"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<65536x32000xbf16>, i1, bf16) -> bf16
    %s = "fuse.reduce"(%v) {kind = "max", over = ["d1"]} : (bf16) -> bf16
    %y = arith.subf %v, %s : bf16
    %r = "fuse.store"(%o, %y, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<65536x32000xbf16>, bf16, i1) -> tensor<65536x32000xbf16>
    return %r : tensor<65536x32000xbf16>
  }
}

// -----

// With one program for each SM it stays in registers, as do rows that start anywhere.
// CHECK-LABEL: @few_long_rows_of_16_bits
// CHECK-SAME: {block = 32768 : i64, dims = ["d1"], kind = "resident"}], num_stages = 1 : i64, num_warps = 32 : i64}
module attributes {fuse.device = "cpu"} {
  func.func private @few_long_rows_of_16_bits(%x: tensor<200x32000xbf16>, %o: tensor<200x32000xbf16>) -> tensor<200x32000xbf16>
      attributes {fuse.kernel, fuse.dims = {d0 = "200", d1 = "32000"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<200x32000xbf16>, i1, bf16) -> bf16
    %s = "fuse.reduce"(%v) {kind = "max", over = ["d1"]} : (bf16) -> bf16
    %y = arith.subf %v, %s : bf16
    %r = "fuse.store"(%o, %y, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<200x32000xbf16>, bf16, i1) -> tensor<200x32000xbf16>
    return %r : tensor<200x32000xbf16>
  }
}

// -----

// CHECK-LABEL: @odd_long_rows_of_16_bits
// CHECK-SAME: {block = 32768 : i64, dims = ["d1"], kind = "resident"}], num_stages = 1 : i64, num_warps = 32 : i64}
module attributes {fuse.device = "cpu"} {
  func.func private @odd_long_rows_of_16_bits(%x: tensor<65536x32001xbf16>, %o: tensor<65536x32001xbf16>) -> tensor<65536x32001xbf16>
      attributes {fuse.kernel, fuse.dims = {d0 = "65536", d1 = "32001"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<65536x32001xbf16>, i1, bf16) -> bf16
    %s = "fuse.reduce"(%v) {kind = "max", over = ["d1"]} : (bf16) -> bf16
    %y = arith.subf %v, %s : bf16
    %r = "fuse.store"(%o, %y, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<65536x32001xbf16>, bf16, i1) -> tensor<65536x32001xbf16>
    return %r : tensor<65536x32001xbf16>
  }
}

// -----

// A window with a stride: two elements for each thread, whose reads lie apart.
// CHECK-LABEL: @every_second
// CHECK-SAME: {axes = [{block = 256 : i64, dims = ["d0"], kind = "grid"}], num_stages = 1 : i64, num_warps = 4 : i64}
// CHECK-LABEL: @neighbours
// CHECK-SAME: {axes = [{block = 2048 : i64, dims = ["d0"], kind = "grid"}]
module attributes {fuse.device = "cpu"} {
  func.func private @every_second(%x: tensor<8388608xbf16>, %o: tensor<4194304xbf16>) -> tensor<4194304xbf16>
      attributes {fuse.kernel, fuse.dims = {d0 = "4194304"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0*2"]} : (tensor<8388608xbf16>, i1, bf16) -> bf16
    %b = "fuse.load"(%x, %true, %zero) {at = ["d0*2 + 1"]} : (tensor<8388608xbf16>, i1, bf16) -> bf16
    %y = arith.maximumf %a, %b : bf16
    %r = "fuse.store"(%o, %y, %true) {at = ["d0"], mode = "set"} : (tensor<4194304xbf16>, bf16, i1) -> tensor<4194304xbf16>
    return %r : tensor<4194304xbf16>
  }
  func.func private @neighbours(%x: tensor<4194305xbf16>, %o: tensor<4194304xbf16>) -> tensor<4194304xbf16>
      attributes {fuse.kernel, fuse.dims = {d0 = "4194304"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<4194305xbf16>, i1, bf16) -> bf16
    %b = "fuse.load"(%x, %true, %zero) {at = ["d0 + 1"]} : (tensor<4194305xbf16>, i1, bf16) -> bf16
    %y = arith.maximumf %a, %b : bf16
    %r = "fuse.store"(%o, %y, %true) {at = ["d0"], mode = "set"} : (tensor<4194304xbf16>, bf16, i1) -> tensor<4194304xbf16>
    return %r : tensor<4194304xbf16>
  }
}

// -----

// A search in whole rows of 16 bits: programs of four warps.
// CHECK-LABEL: @rows_searched
// CHECK-SAME: {block = 1024 : i64, dims = ["d1"], kind = "looped"}], num_stages = 1 : i64, num_warps = 4 : i64}
module attributes {fuse.device = "cpu"} {
  func.func private @rows_searched(%x: tensor<1024x128256xbf16>, %o: tensor<1024xi64>) -> tensor<1024xi64>
      attributes {fuse.kernel, fuse.dims = {d0 = "1024", d1 = "128256"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<1024x128256xbf16>, i1, bf16) -> bf16
    %i = "fuse.index"() {expr = "d1"} : () -> i64
    %m:2 = "fuse.argreduce"(%v, %i) {kind = "argmax", over = ["d1"]} : (bf16, i64) -> (bf16, i64)
    %r = "fuse.store"(%o, %m#1, %true) {at = ["d0"], mode = "set"} : (tensor<1024xi64>, i64, i1) -> tensor<1024xi64>
    return %r : tensor<1024xi64>
  }
}

// -----

// A long row that is read once is streamed.
// CHECK-LABEL: @long_sums
// CHECK-SAME: {block = 1024 : i64, dims = ["d1"], kind = "looped"}], num_stages = 1 : i64, num_warps = 8 : i64}
module attributes {fuse.device = "cpu"} {
  func.func private @long_sums(%x: tensor<65536x32768xf32>, %o: tensor<65536xf32>) -> tensor<65536xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "65536", d1 = "32768"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<65536x32768xf32>, i1, f32) -> f32
    %s = "fuse.reduce"(%v) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %y = arith.negf %s : f32
    %r = "fuse.store"(%o, %y, %true) {at = ["d0"], mode = "set"} : (tensor<65536xf32>, f32, i1) -> tensor<65536xf32>
    return %r : tensor<65536xf32>
  }
}

// -----

// Rows that no program holds are read twice: two programs an SM, whose rows fit in the cache, read 64 KB at a
// time between them.
// CHECK-LABEL: @rows_read_again
// CHECK-SAME: {block = 1 : i64, dims = ["d0"], kind = "grid"}, {block = 16384 : i64, dims = ["d1"], kind = "looped"}], num_stages = 1 : i64, num_warps = 16 : i64}
module attributes {fuse.device = "cpu"} {
  func.func private @rows_read_again(%x: tensor<1024x49152xbf16>, %o: tensor<1024x49152xbf16>) -> tensor<1024x49152xbf16>
      attributes {fuse.kernel, fuse.dims = {d0 = "1024", d1 = "49152"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %h = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<1024x49152xbf16>, i1, bf16) -> bf16
    %v = arith.extf %h : bf16 to f32
    %s = "fuse.reduce"(%v) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %y = arith.subf %v, %s : f32
    %w = arith.truncf %y : f32 to bf16
    %r = "fuse.store"(%o, %w, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<1024x49152xbf16>, bf16, i1) -> tensor<1024x49152xbf16>
    return %r : tensor<1024x49152xbf16>
  }
}

// -----

// In float32 a row takes twice the room: one program of 32 warps.
// CHECK-LABEL: @wide_rows_read_again
// CHECK-SAME: {block = 1 : i64, dims = ["d0"], kind = "grid"}, {block = 16384 : i64, dims = ["d1"], kind = "looped"}], num_stages = 1 : i64, num_warps = 32 : i64}
module attributes {fuse.device = "cpu"} {
  func.func private @wide_rows_read_again(%x: tensor<1024x65536xf32>, %o: tensor<1024x65536xf32>) -> tensor<1024x65536xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "1024", d1 = "65536"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<1024x65536xf32>, i1, f32) -> f32
    %s = "fuse.reduce"(%v) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %y = arith.subf %v, %s : f32
    %r = "fuse.store"(%o, %y, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<1024x65536xf32>, f32, i1) -> tensor<1024x65536xf32>
    return %r : tensor<1024x65536xf32>
  }
}

// -----

// A fold that counts 49 * 1024 points: seven blocks of 8192, an eighth of whose lanes is idle, and no part of a
// vector; in the four of 16384 a quarter would be.
// CHECK-LABEL: @counted_rows_read_again
// CHECK-SAME: {block = 8192 : i64, dims = ["d1"], kind = "looped"}], num_stages = 1 : i64, num_warps = 16 : i64}
module attributes {fuse.device = "cpu"} {
  func.func private @counted_rows_read_again(%x: tensor<1024x50176xbf16>, %o: tensor<1024x50176xbf16>) -> tensor<1024x50176xbf16>
      attributes {fuse.kernel, fuse.dims = {d0 = "1024", d1 = "50176"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %h = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<1024x50176xbf16>, i1, bf16) -> bf16
    %v = arith.extf %h : bf16 to f32
    %s:2 = "fuse.welford"(%v) {over = ["d1"]} : (f32) -> (f32, f32)
    %y = arith.mulf %v, %s#1 : f32
    %w = arith.truncf %y : f32 to bf16
    %r = "fuse.store"(%o, %w, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<1024x50176xbf16>, bf16, i1) -> tensor<1024x50176xbf16>
    return %r : tensor<1024x50176xbf16>
  }
}

// -----

// A search for a position in odd rows: 32 bytes for each thread.
// CHECK-LABEL: @odd_rows_searched
// CHECK-SAME: {block = 4096 : i64, dims = ["d1"], kind = "looped"}], num_stages = 1 : i64, num_warps = 8 : i64}
module attributes {fuse.device = "cpu"} {
  func.func private @odd_rows_searched(%x: tensor<4096x50257xbf16>, %o: tensor<4096xi64>) -> tensor<4096xi64>
      attributes {fuse.kernel, fuse.dims = {d0 = "4096", d1 = "50257"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<4096x50257xbf16>, i1, bf16) -> bf16
    %i = "fuse.index"() {expr = "d1"} : () -> i64
    %m:2 = "fuse.argreduce"(%v, %i) {kind = "argmax", over = ["d1"]} : (bf16, i64) -> (bf16, i64)
    %r = "fuse.store"(%o, %m#1, %true) {at = ["d0"], mode = "set"} : (tensor<4096xi64>, i64, i1) -> tensor<4096xi64>
    return %r : tensor<4096xi64>
  }
}

// -----

// Half the warps for a row in registers that is accessed in whole vectors wherever it starts: with eight, most of
// the third round of 2048 elements would be idle.
// CHECK-LABEL: @odd_rows_held
// CHECK-SAME: {block = 8192 : i64, dims = ["d1"], kind = "resident"}], num_stages = 1 : i64, num_warps = 4 : i64}
module attributes {fuse.device = "cpu"} {
  func.func private @odd_rows_held(%x: tensor<8192x4097xbf16>, %o: tensor<8192x4097xbf16>) -> tensor<8192x4097xbf16>
      attributes {fuse.kernel, fuse.dims = {d0 = "8192", d1 = "4097"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<8192x4097xbf16>, i1, bf16) -> bf16
    %m = "fuse.reduce"(%v) {kind = "max", over = ["d1"]} : (bf16) -> bf16
    %s = arith.subf %v, %m : bf16
    %r = "fuse.store"(%o, %s, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<8192x4097xbf16>, bf16, i1) -> tensor<8192x4097xbf16>
    return %r : tensor<8192x4097xbf16>
  }
}

// -----

// The length of a row is not known: the axis is looped over, whatever the hint.
// CHECK-LABEL: @unknown_rows
// CHECK-SAME: {block = 1 : i64, dims = ["d0"], kind = "grid"}, {block = 512 : i64, dims = ["d1"], kind = "looped"}
module attributes {fuse.device = "cpu"} {
  func.func private @unknown_rows(%x: tensor<4096x?xf32, #fuse.layout<"4096,s0", "s0,1", "0", "">>, %o: tensor<4096xf32>, %s0: index {fuse.sym = "s0", fuse.hint = 500 : i64}) -> tensor<4096xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "4096", d1 = "s0"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<4096x?xf32, #fuse.layout<"4096,s0", "s0,1", "0", "">>, i1, f32) -> f32
    %s = "fuse.reduce"(%v) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d0"], mode = "set"} : (tensor<4096xf32>, f32, i1) -> tensor<4096xf32>
    return %r : tensor<4096xf32>
  }
}

// -----

// The hint of a size of @main counts for its kernels, too: whole blocks, not those of a tensor of 1024 elements.
// CHECK-LABEL: func.func private @known_by_main
// CHECK-SAME: fuse.tile = {axes = [{block = 1024 : i64, dims = ["d0"], kind = "grid"}]
module attributes {fuse.device = "cpu"} {
  func.func @main(%s0: index {fuse.sym = "s0", fuse.hint = 16777216 : i64}, %x: tensor<?xf32, #fuse.layout<"s0", "1", "0", "">>, %o: tensor<?xf32, #fuse.layout<"s0", "1", "0", "">>) -> tensor<?xf32, #fuse.layout<"s0", "1", "0", "">> {
    %y = call @known_by_main(%x, %o, %s0) : (tensor<?xf32, #fuse.layout<"s0", "1", "0", "">>, tensor<?xf32, #fuse.layout<"s0", "1", "0", "">>, index) -> tensor<?xf32, #fuse.layout<"s0", "1", "0", "">>
    return %y : tensor<?xf32, #fuse.layout<"s0", "1", "0", "">>
  }
  func.func private @known_by_main(%x: tensor<?xf32, #fuse.layout<"s0", "1", "0", "">>, %o: tensor<?xf32, #fuse.layout<"s0", "1", "0", "">>, %s0: index {fuse.sym = "s0"}) -> tensor<?xf32, #fuse.layout<"s0", "1", "0", "">>
      attributes {fuse.kernel, fuse.dims = {d0 = "s0"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<?xf32, #fuse.layout<"s0", "1", "0", "">>, i1, f32) -> f32
    %s = math.exp %v : f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d0"], mode = "set"} : (tensor<?xf32, #fuse.layout<"s0", "1", "0", "">>, f32, i1) -> tensor<?xf32, #fuse.layout<"s0", "1", "0", "">>
    return %r : tensor<?xf32, #fuse.layout<"s0", "1", "0", "">>
  }
}

// -----

// Columns are reduced: memory is contiguous along d1, which stays innermost.
// CHECK-LABEL: @columns
// CHECK-SAME: {block = 64 : i64, dims = ["d0"], kind = "looped"}, {block = 32 : i64, dims = ["d1"], kind = "grid"}
module attributes {fuse.device = "cpu"} {
  func.func private @columns(%x: tensor<4096x1024xf32>, %o: tensor<1024xf32>) -> tensor<1024xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "4096", d1 = "1024"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<4096x1024xf32>, i1, f32) -> f32
    %s = "fuse.reduce"(%v) {kind = "sum", over = ["d0"]} : (f32) -> f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d1"], mode = "set"} : (tensor<1024xf32>, f32, i1) -> tensor<1024xf32>
    return %r : tensor<1024xf32>
  }
}

// -----

// A few rows: every thread holds 16 bytes of all eight, four warps side by side along the columns.
// CHECK-LABEL: @few_rows
// CHECK-SAME: {block = 8 : i64, dims = ["d1"], kind = "resident"}, {block = 1024 : i64, dims = ["d2"], kind = "grid"}], num_stages = 1 : i64, num_warps = 4 : i64}
module attributes {fuse.device = "cpu"} {
  func.func private @few_rows(%x: tensor<8192x8x2048xbf16>, %w: tensor<8192x8xbf16>, %o: tensor<8192x2048xbf16>) -> tensor<8192x2048xbf16>
      attributes {fuse.kernel, fuse.dims = {d0 = "8192", d1 = "8", d2 = "2048"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1", "d2"]} : (tensor<8192x8x2048xbf16>, i1, bf16) -> bf16
    %b = "fuse.load"(%w, %true, %zero) {at = ["d0", "d1"]} : (tensor<8192x8xbf16>, i1, bf16) -> bf16
    %ax = arith.extf %a : bf16 to f32
    %bx = arith.extf %b : bf16 to f32
    %p = arith.mulf %ax, %bx : f32
    %s = "fuse.reduce"(%p) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %t = arith.truncf %s : f32 to bf16
    %r = "fuse.store"(%o, %t, %true) {at = ["d0", "d2"], mode = "set"} : (tensor<8192x2048xbf16>, bf16, i1) -> tensor<8192x2048xbf16>
    return %r : tensor<8192x2048xbf16>
  }
}

// -----

// 768 columns are three blocks of 256, of one warp each; six rows take the place of eight.
// CHECK-LABEL: @few_rows_of_768
// CHECK-SAME: {block = 8 : i64, dims = ["d1"], kind = "resident"}, {block = 256 : i64, dims = ["d2"], kind = "grid"}], num_stages = 1 : i64, num_warps = 1 : i64}
module attributes {fuse.device = "cpu"} {
  func.func private @few_rows_of_768(%x: tensor<8192x6x768xbf16>, %w: tensor<8192x6xbf16>, %o: tensor<8192x768xbf16>) -> tensor<8192x768xbf16>
      attributes {fuse.kernel, fuse.dims = {d0 = "8192", d1 = "6", d2 = "768"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1", "d2"]} : (tensor<8192x6x768xbf16>, i1, bf16) -> bf16
    %b = "fuse.load"(%w, %true, %zero) {at = ["d0", "d1"]} : (tensor<8192x6xbf16>, i1, bf16) -> bf16
    %ax = arith.extf %a : bf16 to f32
    %bx = arith.extf %b : bf16 to f32
    %p = arith.mulf %ax, %bx : f32
    %s = "fuse.reduce"(%p) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %t = arith.truncf %s : f32 to bf16
    %r = "fuse.store"(%o, %t, %true) {at = ["d0", "d2"], mode = "set"} : (tensor<8192x768xbf16>, bf16, i1) -> tensor<8192x768xbf16>
    return %r : tensor<8192x768xbf16>
  }
}

// -----

// Must not fire: rows shorter than 16 bytes for each thread of a warp.
// CHECK-LABEL: @few_short_rows
// CHECK-SAME: {block = 8 : i64, dims = ["d1"], kind = "resident"}, {block = 128 : i64, dims = ["d2"], kind = "grid"}]
module attributes {fuse.device = "cpu"} {
  func.func private @few_short_rows(%x: tensor<8192x8x128xbf16>, %w: tensor<8192x8xbf16>, %o: tensor<8192x128xbf16>) -> tensor<8192x128xbf16>
      attributes {fuse.kernel, fuse.dims = {d0 = "8192", d1 = "8", d2 = "128"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1", "d2"]} : (tensor<8192x8x128xbf16>, i1, bf16) -> bf16
    %b = "fuse.load"(%w, %true, %zero) {at = ["d0", "d1"]} : (tensor<8192x8xbf16>, i1, bf16) -> bf16
    %ax = arith.extf %a : bf16 to f32
    %bx = arith.extf %b : bf16 to f32
    %p = arith.mulf %ax, %bx : f32
    %s = "fuse.reduce"(%p) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %t = arith.truncf %s : f32 to bf16
    %r = "fuse.store"(%o, %t, %true) {at = ["d0", "d2"], mode = "set"} : (tensor<8192x128xbf16>, bf16, i1) -> tensor<8192x128xbf16>
    return %r : tensor<8192x128xbf16>
  }
}

// -----

// Must not fire: more rows than a thread can hold.
// CHECK-LABEL: @more_rows
// CHECK-SAME: {block = 16 : i64, dims = ["d1"], kind = "looped"}, {block = 128 : i64, dims = ["d2"], kind = "grid"}]
module attributes {fuse.device = "cpu"} {
  func.func private @more_rows(%x: tensor<8192x32x2048xbf16>, %w: tensor<8192x32xbf16>, %o: tensor<8192x2048xbf16>) -> tensor<8192x2048xbf16>
      attributes {fuse.kernel, fuse.dims = {d0 = "8192", d1 = "32", d2 = "2048"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1", "d2"]} : (tensor<8192x32x2048xbf16>, i1, bf16) -> bf16
    %b = "fuse.load"(%w, %true, %zero) {at = ["d0", "d1"]} : (tensor<8192x32xbf16>, i1, bf16) -> bf16
    %ax = arith.extf %a : bf16 to f32
    %bx = arith.extf %b : bf16 to f32
    %p = arith.mulf %ax, %bx : f32
    %s = "fuse.reduce"(%p) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %t = arith.truncf %s : f32 to bf16
    %r = "fuse.store"(%o, %t, %true) {at = ["d0", "d2"], mode = "set"} : (tensor<8192x2048xbf16>, bf16, i1) -> tensor<8192x2048xbf16>
    return %r : tensor<8192x2048xbf16>
  }
}

// -----

// Must not fire: programs of whole warps would leave most of the chip idle.
// CHECK-LABEL: @few_programs
// CHECK-SAME: {block = 8 : i64, dims = ["d1"], kind = "resident"}, {block = 32 : i64, dims = ["d2"], kind = "grid"}]
module attributes {fuse.device = "cpu"} {
  func.func private @few_programs(%x: tensor<16x8x1024xbf16>, %w: tensor<16x8xbf16>, %o: tensor<16x1024xbf16>) -> tensor<16x1024xbf16>
      attributes {fuse.kernel, fuse.dims = {d0 = "16", d1 = "8", d2 = "1024"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1", "d2"]} : (tensor<16x8x1024xbf16>, i1, bf16) -> bf16
    %b = "fuse.load"(%w, %true, %zero) {at = ["d0", "d1"]} : (tensor<16x8xbf16>, i1, bf16) -> bf16
    %ax = arith.extf %a : bf16 to f32
    %bx = arith.extf %b : bf16 to f32
    %p = arith.mulf %ax, %bx : f32
    %s = "fuse.reduce"(%p) {kind = "sum", over = ["d1"]} : (f32) -> f32
    %t = arith.truncf %s : f32 to bf16
    %r = "fuse.store"(%o, %t, %true) {at = ["d0", "d2"], mode = "set"} : (tensor<16x1024xbf16>, bf16, i1) -> tensor<16x1024xbf16>
    return %r : tensor<16x1024xbf16>
  }
}

// -----

// Must not fire: somebody chose already, and @main is no kernel.
// CHECK-LABEL: @main
// CHECK-NOT: fuse.tile
// CHECK-LABEL: @chosen
// CHECK-SAME: fuse.tile = {axes = [{block = 8 : i64, dims = ["d0"], kind = "grid"}], num_stages = 1 : i64, num_warps = 1 : i64}
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<64xf32>) -> tensor<64xf32> {
    return %x : tensor<64xf32>
  }
  func.func private @chosen(%x: tensor<64xf32>, %o: tensor<64xf32>) -> tensor<64xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "64"}, fuse.ties = array<i64: 1>,
                  fuse.tile = {axes = [{dims = ["d0"], block = 8 : i64, kind = "grid"}], num_warps = 1 : i64, num_stages = 1 : i64}} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<64xf32>, i1, f32) -> f32
    %r = "fuse.store"(%o, %v, %true) {at = ["d0"], mode = "set"} : (tensor<64xf32>, f32, i1) -> tensor<64xf32>
    return %r : tensor<64xf32>
  }
}

// -----

// Rows are reduced on the way down the columns: rows are held, the walk is the loop, and the next rows are loaded meanwhile
// by two programs of 8 warps for each multiprocessor.
// CHECK-LABEL: func.func private @rows_and_columns
// CHECK-SAME: fuse.tile = {axes = [{block = 1 : i64, dims = ["d2"], kind = "grid"}, {block = 1 : i64, dims = ["d0"], kind = "looped"}, {block = 4096 : i64, dims = ["d1"], kind = "resident"}], num_stages = 3 : i64, num_warps = 8 : i64}
func.func private @rows_and_columns(%x: tensor<16384x4096xf32>, %o: tensor<16384xf32>, %p: tensor<256x4096xf32>) -> (tensor<16384xf32>, tensor<256x4096xf32>)
    attributes {fuse.kernel, fuse.dims = {d0 = "64", d1 = "4096", d2 = "256"}, fuse.ties = array<i64: 1, 2>} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : f32
  %v = "fuse.load"(%x, %true, %zero) {at = ["d0 + d2*64", "d1"]} : (tensor<16384x4096xf32>, i1, f32) -> f32
  %s = "fuse.reduce"(%v) {kind = "sum", over = ["d1"]} : (f32) -> f32
  %t = "fuse.reduce"(%v) {kind = "sum", over = ["d0"]} : (f32) -> f32
  %r = "fuse.store"(%o, %s, %true) {at = ["d0 + d2*64"], mode = "set"} : (tensor<16384xf32>, f32, i1) -> tensor<16384xf32>
  %q = "fuse.store"(%p, %t, %true) {at = ["d2", "d1"], mode = "set"} : (tensor<256x4096xf32>, f32, i1) -> tensor<256x4096xf32>
  return %r, %q : tensor<16384xf32>, tensor<256x4096xf32>
}

// -----

// Rows of 4097 start at odd addresses: flat, so that the whole tensors are read and written 16 bytes at a time.
// CHECK-LABEL: func.func private @odd_rows
// CHECK-SAME: fuse.tile = {axes = [{block = 1024 : i64, dims = ["d0", "d1"], kind = "grid"}], num_stages = 1 : i64, num_warps = 4 : i64}
func.func private @odd_rows(%x: tensor<8192x4097xf32>, %b: tensor<4097xf32>, %o: tensor<8192x4097xf32>) -> tensor<8192x4097xf32>
    attributes {fuse.kernel, fuse.dims = {d0 = "8192", d1 = "4097"}, fuse.ties = array<i64: 2>} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : f32
  %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<8192x4097xf32>, i1, f32) -> f32
  %c = "fuse.load"(%b, %true, %zero) {at = ["d1"]} : (tensor<4097xf32>, i1, f32) -> f32
  %w = arith.addf %v, %c : f32
  %r = "fuse.store"(%o, %w, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<8192x4097xf32>, f32, i1) -> tensor<8192x4097xf32>
  return %r : tensor<8192x4097xf32>
}

// -----

// Not flat: the rows of %x lie apart, so nothing is gained by joining the dims.
// CHECK-LABEL: func.func private @odd_rows_apart
// CHECK-SAME: dims = ["d0"], kind = "grid"}, {block = {{[0-9]+}} : i64, dims = ["d1"], kind = "grid"}
func.func private @odd_rows_apart(%x: tensor<8192x4097xf32, #fuse.layout<"8192,4097", "4100,1", "0", "">>, %b: tensor<4097xf32>, %o: tensor<8192x4097xf32>) -> tensor<8192x4097xf32>
    attributes {fuse.kernel, fuse.dims = {d0 = "8192", d1 = "4097"}, fuse.ties = array<i64: 2>} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : f32
  %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<8192x4097xf32, #fuse.layout<"8192,4097", "4100,1", "0", "">>, i1, f32) -> f32
  %c = "fuse.load"(%b, %true, %zero) {at = ["d1"]} : (tensor<4097xf32>, i1, f32) -> f32
  %w = arith.addf %v, %c : f32
  %r = "fuse.store"(%o, %w, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<8192x4097xf32>, f32, i1) -> tensor<8192x4097xf32>
  return %r : tensor<8192x4097xf32>
}

// -----

// Channels are reduced, pixels are contiguous: 32 rows a program, and a warp for 8 KB of them.
// CHECK-LABEL: func.func private @channels
// CHECK-SAME: fuse.tile = {axes = [{block = 32 : i64, dims = ["d0", "d1"], kind = "grid"}, {block = 256 : i64, dims = ["d2"], kind = "resident"}], num_stages = 1 : i64, num_warps = 4 : i64}
func.func private @channels(%x: tensor<64x256x3136xf32>, %o: tensor<64x3136x256xf32>) -> tensor<64x3136x256xf32>
    attributes {fuse.kernel, fuse.dims = {d0 = "64", d1 = "3136", d2 = "256"}, fuse.ties = array<i64: 1>} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : f32
  %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d2", "d1"]} : (tensor<64x256x3136xf32>, i1, f32) -> f32
  %s = "fuse.reduce"(%v) {kind = "sum", over = ["d2"]} : (f32) -> f32
  %w = arith.subf %v, %s : f32
  %r = "fuse.store"(%o, %w, %true) {at = ["d0", "d1", "d2"], mode = "set"} : (tensor<64x3136x256xf32>, f32, i1) -> tensor<64x3136x256xf32>
  return %r : tensor<64x3136x256xf32>
}

// -----

// CHECK-LABEL: func.func private @channels_of_16_bits
// CHECK-SAME: fuse.tile = {axes = [{block = 32 : i64, dims = ["d0", "d1"], kind = "grid"}, {block = 256 : i64, dims = ["d2"], kind = "resident"}], num_stages = 1 : i64, num_warps = 2 : i64}
func.func private @channels_of_16_bits(%x: tensor<64x256x3136xbf16>, %o: tensor<64x3136x256xbf16>) -> tensor<64x3136x256xbf16>
    attributes {fuse.kernel, fuse.dims = {d0 = "64", d1 = "3136", d2 = "256"}, fuse.ties = array<i64: 1>} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : bf16
  %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d2", "d1"]} : (tensor<64x256x3136xbf16>, i1, bf16) -> bf16
  %s = "fuse.reduce"(%v) {kind = "sum", over = ["d2"]} : (bf16) -> bf16
  %w = arith.subf %v, %s : bf16
  %r = "fuse.store"(%o, %w, %true) {at = ["d0", "d1", "d2"], mode = "set"} : (tensor<64x3136x256xbf16>, bf16, i1) -> tensor<64x3136x256xbf16>
  return %r : tensor<64x3136x256xbf16>
}

// -----

// A number for each group of a row does not make its elements wide: bf16, a warp for 1024 of them.
// CHECK-LABEL: func.func private @groups
// CHECK-SAME: {block = 32 : i64, dims = ["d1"], kind = "resident"}, {block = 128 : i64, dims = ["d2"], kind = "resident"}], num_stages = 1 : i64, num_warps = 4 : i64}
func.func private @groups(%x: tensor<16384x4096xbf16>, %o: tensor<16384x32xf32>, %p: tensor<16384xf32>) -> (tensor<16384x32xf32>, tensor<16384xf32>)
    attributes {fuse.kernel, fuse.dims = {d0 = "16384", d1 = "32", d2 = "128"}, fuse.ties = array<i64: 1, 2>} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : bf16
  %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1*128 + d2"]} : (tensor<16384x4096xbf16>, i1, bf16) -> bf16
  %w = arith.extf %v : bf16 to f32
  %g = "fuse.reduce"(%w) {kind = "max", over = ["d2"]} : (f32) -> f32
  %s = "fuse.reduce"(%w) {kind = "sum", over = ["d1", "d2"]} : (f32) -> f32
  %q = "fuse.store"(%o, %g, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<16384x32xf32>, f32, i1) -> tensor<16384x32xf32>
  %r = "fuse.store"(%p, %s, %true) {at = ["d0"], mode = "set"} : (tensor<16384xf32>, f32, i1) -> tensor<16384xf32>
  return %q, %r : tensor<16384x32xf32>, tensor<16384xf32>
}

// -----

// Three meetings of the warps: in float32, 32 elements a thread and half the warps that layer norm alone takes.
// CHECK-LABEL: func.func private @norm_and_largest
// CHECK-SAME: {block = 4096 : i64, dims = ["d1"], kind = "resident"}], num_stages = 1 : i64, num_warps = 4 : i64}
func.func private @norm_and_largest(%x: tensor<16384x4096xf32>, %o: tensor<16384xf32>) -> tensor<16384xf32>
    attributes {fuse.kernel, fuse.dims = {d0 = "16384", d1 = "4096"}, fuse.ties = array<i64: 1>} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : f32
  %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<16384x4096xf32>, i1, f32) -> f32
  %m, %m2 = "fuse.welford"(%v) {over = ["d1"]} : (f32) -> (f32, f32)
  %d = arith.subf %v, %m : f32
  %w = arith.mulf %d, %m2 : f32
  %a = "fuse.reduce"(%w) {kind = "max", over = ["d1"]} : (f32) -> f32
  %r = "fuse.store"(%o, %a, %true) {at = ["d0"], mode = "set"} : (tensor<16384xf32>, f32, i1) -> tensor<16384xf32>
  return %r : tensor<16384xf32>
}

// -----

// As many meetings, over 6400 elements: 6 warps of 32 elements a thread would be no power of two.
// CHECK-LABEL: func.func private @norm_and_total_of_6400
// CHECK-SAME: {block = 8192 : i64, dims = ["d1"], kind = "resident"}], num_stages = 1 : i64, num_warps = 4 : i64}
func.func private @norm_and_total_of_6400(%x: tensor<70x6400xf32>, %o: tensor<70xf32>) -> tensor<70xf32>
    attributes {fuse.kernel, fuse.dims = {d0 = "70", d1 = "6400"}, fuse.ties = array<i64: 1>} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : f32
  %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<70x6400xf32>, i1, f32) -> f32
  %m, %m2 = "fuse.welford"(%v) {over = ["d1"]} : (f32) -> (f32, f32)
  %a = "fuse.reduce"(%v) {kind = "sum", over = ["d1"]} : (f32) -> f32
  %y = arith.mulf %a, %m2 : f32
  %r = "fuse.store"(%o, %y, %true) {at = ["d0"], mode = "set"} : (tensor<70xf32>, f32, i1) -> tensor<70xf32>
  return %r : tensor<70xf32>
}

// -----

// A search for the largest keeps a position beside each value: a long row of 16 bits is looped over.
// CHECK-LABEL: func.func private @largest
// CHECK-SAME: {block = 1024 : i64, dims = ["d1"], kind = "looped"}], num_stages = 1 : i64, num_warps = 4 : i64}
func.func private @largest(%x: tensor<16384x8192xbf16>, %o: tensor<16384xi64>) -> tensor<16384xi64>
    attributes {fuse.kernel, fuse.dims = {d0 = "16384", d1 = "8192"}, fuse.ties = array<i64: 1>} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : bf16
  %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<16384x8192xbf16>, i1, bf16) -> bf16
  %w = arith.extf %v : bf16 to f32
  %i = "fuse.index"() {expr = "d1"} : () -> i64
  %t, %at = "fuse.argreduce"(%w, %i) {kind = "argmax", over = ["d1"]} : (f32, i64) -> (f32, i64)
  %r = "fuse.store"(%o, %at, %true) {at = ["d0"], mode = "set"} : (tensor<16384xi64>, i64, i1) -> tensor<16384xi64>
  return %r : tensor<16384xi64>
}

// -----

// A fold that counts its points runs without a mask: blocks of 1024 divide 50176, those of 2048 do not.
// CHECK-LABEL: func.func private @spread
// CHECK-SAME: {block = 1024 : i64, dims = ["d1"], kind = "looped"}], num_stages = 1 : i64, num_warps = 4 : i64}
func.func private @spread(%x: tensor<1024x50176xbf16>, %o: tensor<1024xf32>) -> tensor<1024xf32>
    attributes {fuse.kernel, fuse.dims = {d0 = "1024", d1 = "50176"}, fuse.ties = array<i64: 1>} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : bf16
  %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<1024x50176xbf16>, i1, bf16) -> bf16
  %w = arith.extf %v : bf16 to f32
  %m, %m2 = "fuse.welford"(%w) {over = ["d1"]} : (f32) -> (f32, f32)
  %r = "fuse.store"(%o, %m2, %true) {at = ["d0"], mode = "set"} : (tensor<1024xf32>, f32, i1) -> tensor<1024xf32>
  return %r : tensor<1024xf32>
}

// -----

// 50184 points leave a mask in any case.
// CHECK-LABEL: func.func private @odd_spread
// CHECK-SAME: {block = 2048 : i64, dims = ["d1"], kind = "looped"}]
func.func private @odd_spread(%x: tensor<1024x50184xbf16>, %o: tensor<1024xf32>) -> tensor<1024xf32>
    attributes {fuse.kernel, fuse.dims = {d0 = "1024", d1 = "50184"}, fuse.ties = array<i64: 1>} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : bf16
  %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<1024x50184xbf16>, i1, bf16) -> bf16
  %w = arith.extf %v : bf16 to f32
  %m, %m2 = "fuse.welford"(%w) {over = ["d1"]} : (f32) -> (f32, f32)
  %r = "fuse.store"(%o, %m2, %true) {at = ["d0"], mode = "set"} : (tensor<1024xf32>, f32, i1) -> tensor<1024xf32>
  return %r : tensor<1024xf32>
}

// -----

// Lanes that are idle in all threads cost nothing: warps for 12288 columns, not for 16384.
// CHECK-LABEL: func.func private @three_quarters_of_a_block
// CHECK-SAME: {block = 16384 : i64, dims = ["d1"], kind = "resident"}], num_stages = 1 : i64, num_warps = 8 : i64}
func.func private @three_quarters_of_a_block(%x: tensor<4096x12288xbf16>, %o: tensor<4096x12288xbf16>) -> tensor<4096x12288xbf16>
    attributes {fuse.kernel, fuse.dims = {d0 = "4096", d1 = "12288"}, fuse.ties = array<i64: 1>} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : bf16
  %h = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<4096x12288xbf16>, i1, bf16) -> bf16
  %v = arith.extf %h : bf16 to f32
  %s = "fuse.reduce"(%v) {kind = "sum", over = ["d1"]} : (f32) -> f32
  %y = arith.subf %v, %s : f32
  %w = arith.truncf %y : f32 to bf16
  %r = "fuse.store"(%o, %w, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<4096x12288xbf16>, bf16, i1) -> tensor<4096x12288xbf16>
  return %r : tensor<4096x12288xbf16>
}

// -----

// Must not fire: seven eighths of a block keep the warps of the whole one.
// CHECK-LABEL: func.func private @seven_eighths_of_a_block
// CHECK-SAME: {block = 8192 : i64, dims = ["d1"], kind = "resident"}], num_stages = 1 : i64, num_warps = 8 : i64}
func.func private @seven_eighths_of_a_block(%x: tensor<4096x7168xbf16>, %o: tensor<4096x7168xbf16>) -> tensor<4096x7168xbf16>
    attributes {fuse.kernel, fuse.dims = {d0 = "4096", d1 = "7168"}, fuse.ties = array<i64: 1>} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : bf16
  %h = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<4096x7168xbf16>, i1, bf16) -> bf16
  %v = arith.extf %h : bf16 to f32
  %s = "fuse.reduce"(%v) {kind = "sum", over = ["d1"]} : (f32) -> f32
  %y = arith.subf %v, %s : f32
  %w = arith.truncf %y : f32 to bf16
  %r = "fuse.store"(%o, %w, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<4096x7168xbf16>, bf16, i1) -> tensor<4096x7168xbf16>
  return %r : tensor<4096x7168xbf16>
}

// -----

// A warp holds a row of 768 and the sums of its columns: each walks over rows of its own and waits for no other.
// CHECK-LABEL: func.func private @warps_walk
// CHECK-SAME: {axes = [{block = 1 : i64, dims = ["d2"], kind = "grid"}, {block = 1 : i64, dims = ["d0"], kind = "looped"}, {block = 1024 : i64, dims = ["d1"], kind = "resident"}], num_stages = 3 : i64, num_warps = 1 : i64}
func.func private @warps_walk(%x: tensor<16384x768xf32>, %o: tensor<16384xf32>, %p: tensor<1024x768xf32>) -> (tensor<16384xf32>, tensor<1024x768xf32>)
    attributes {fuse.kernel, fuse.dims = {d0 = "16", d1 = "768", d2 = "1024"}, fuse.ties = array<i64: 1, 2>} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : f32
  %v = "fuse.load"(%x, %true, %zero) {at = ["d0 + d2*16", "d1"]} : (tensor<16384x768xf32>, i1, f32) -> f32
  %s = "fuse.reduce"(%v) {kind = "sum", over = ["d1"]} : (f32) -> f32
  %t = "fuse.reduce"(%v) {kind = "sum", over = ["d0"]} : (f32) -> f32
  %r = "fuse.store"(%o, %s, %true) {at = ["d0 + d2*16"], mode = "set"} : (tensor<16384xf32>, f32, i1) -> tensor<16384xf32>
  %q = "fuse.store"(%p, %t, %true) {at = ["d2", "d1"], mode = "set"} : (tensor<1024x768xf32>, f32, i1) -> tensor<1024x768xf32>
  return %r, %q : tensor<16384xf32>, tensor<1024x768xf32>
}

// -----

// Must not fire: warps for less than all multiprocessors.
// CHECK-LABEL: func.func private @few_walks
// CHECK-SAME: {axes = [{block = 1 : i64, dims = ["d2"], kind = "grid"}, {block = 4 : i64, dims = ["d0"], kind = "looped"}, {block = 1024 : i64, dims = ["d1"], kind = "resident"}], num_stages = 3 : i64, num_warps = 8 : i64}
func.func private @few_walks(%x: tensor<8192x768xf32>, %o: tensor<8192xf32>, %p: tensor<64x768xf32>) -> (tensor<8192xf32>, tensor<64x768xf32>)
    attributes {fuse.kernel, fuse.dims = {d0 = "128", d1 = "768", d2 = "64"}, fuse.ties = array<i64: 1, 2>} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : f32
  %v = "fuse.load"(%x, %true, %zero) {at = ["d0 + d2*128", "d1"]} : (tensor<8192x768xf32>, i1, f32) -> f32
  %s = "fuse.reduce"(%v) {kind = "sum", over = ["d1"]} : (f32) -> f32
  %t = "fuse.reduce"(%v) {kind = "sum", over = ["d0"]} : (f32) -> f32
  %r = "fuse.store"(%o, %s, %true) {at = ["d0 + d2*128"], mode = "set"} : (tensor<8192xf32>, f32, i1) -> tensor<8192xf32>
  %q = "fuse.store"(%p, %t, %true) {at = ["d2", "d1"], mode = "set"} : (tensor<64x768xf32>, f32, i1) -> tensor<64x768xf32>
  return %r, %q : tensor<8192xf32>, tensor<64x768xf32>
}

// -----

// Must not fire: a warp would not hold the row.
// CHECK-LABEL: func.func private @wider_walks
// CHECK-SAME: {axes = [{block = 1 : i64, dims = ["d2"], kind = "grid"}, {block = 2 : i64, dims = ["d0"], kind = "looped"}, {block = 2048 : i64, dims = ["d1"], kind = "resident"}], num_stages = 3 : i64, num_warps = 8 : i64}
func.func private @wider_walks(%x: tensor<16384x2048xf32>, %o: tensor<16384xf32>, %p: tensor<1024x2048xf32>) -> (tensor<16384xf32>, tensor<1024x2048xf32>)
    attributes {fuse.kernel, fuse.dims = {d0 = "16", d1 = "2048", d2 = "1024"}, fuse.ties = array<i64: 1, 2>} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : f32
  %v = "fuse.load"(%x, %true, %zero) {at = ["d0 + d2*16", "d1"]} : (tensor<16384x2048xf32>, i1, f32) -> f32
  %s = "fuse.reduce"(%v) {kind = "sum", over = ["d1"]} : (f32) -> f32
  %t = "fuse.reduce"(%v) {kind = "sum", over = ["d0"]} : (f32) -> f32
  %r = "fuse.store"(%o, %s, %true) {at = ["d0 + d2*16"], mode = "set"} : (tensor<16384xf32>, f32, i1) -> tensor<16384xf32>
  %q = "fuse.store"(%p, %t, %true) {at = ["d2", "d1"], mode = "set"} : (tensor<1024x2048xf32>, f32, i1) -> tensor<1024x2048xf32>
  return %r, %q : tensor<16384xf32>, tensor<1024x2048xf32>
}

// -----

// Must not fire: a reduction crosses rows and columns.
// CHECK-LABEL: func.func private @sums_of_both
// CHECK-SAME: {block = 16 : i64, dims = ["d0"], kind = "resident"}
func.func private @sums_of_both(%x: tensor<16384x768xf32>, %o: tensor<16384xf32>, %p: tensor<1024xf32>) -> (tensor<16384xf32>, tensor<1024xf32>)
    attributes {fuse.kernel, fuse.dims = {d0 = "16", d1 = "768", d2 = "1024"}, fuse.ties = array<i64: 1, 2>} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : f32
  %v = "fuse.load"(%x, %true, %zero) {at = ["d0 + d2*16", "d1"]} : (tensor<16384x768xf32>, i1, f32) -> f32
  %s = "fuse.reduce"(%v) {kind = "sum", over = ["d1"]} : (f32) -> f32
  %t = "fuse.reduce"(%v) {kind = "sum", over = ["d0", "d1"]} : (f32) -> f32
  %r = "fuse.store"(%o, %s, %true) {at = ["d0 + d2*16"], mode = "set"} : (tensor<16384xf32>, f32, i1) -> tensor<16384xf32>
  %q = "fuse.store"(%p, %t, %true) {at = ["d2"], mode = "set"} : (tensor<1024xf32>, f32, i1) -> tensor<1024xf32>
  return %r, %q : tensor<16384xf32>, tensor<1024xf32>
}

// -----

// Rows that leave room for one program alone: three stages all the same.
// CHECK-LABEL: func.func private @one_walk_of_three_stages
// CHECK-SAME: {axes = [{block = 1 : i64, dims = ["d2"], kind = "grid"}, {block = 1 : i64, dims = ["d0"], kind = "looped"}, {block = 8192 : i64, dims = ["d1"], kind = "resident"}], num_stages = 3 : i64, num_warps = 8 : i64}
func.func private @one_walk_of_three_stages(%x: tensor<16384x8192xf32>, %o: tensor<16384xf32>, %p: tensor<256x8192xf32>) -> (tensor<16384xf32>, tensor<256x8192xf32>)
    attributes {fuse.kernel, fuse.dims = {d0 = "64", d1 = "8192", d2 = "256"}, fuse.ties = array<i64: 1, 2>} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : f32
  %v = "fuse.load"(%x, %true, %zero) {at = ["d0 + d2*64", "d1"]} : (tensor<16384x8192xf32>, i1, f32) -> f32
  %s = "fuse.reduce"(%v) {kind = "sum", over = ["d1"]} : (f32) -> f32
  %t = "fuse.reduce"(%v) {kind = "sum", over = ["d0"]} : (f32) -> f32
  %r = "fuse.store"(%o, %s, %true) {at = ["d0 + d2*64"], mode = "set"} : (tensor<16384xf32>, f32, i1) -> tensor<16384xf32>
  %q = "fuse.store"(%p, %t, %true) {at = ["d2", "d1"], mode = "set"} : (tensor<256x8192xf32>, f32, i1) -> tensor<256x8192xf32>
  return %r, %q : tensor<16384xf32>, tensor<256x8192xf32>
}

// -----

// Heads in front of tokens: two lines of what is read together, of 16 tokens, which are written together.
// CHECK-LABEL: func.func private @heads_first(
// CHECK-SAME: fuse.tile = {axes = [{block = 1 : i64, dims = ["d0"], kind = "grid"}, {block = 16 : i64, dims = ["d2"], kind = "grid"}, {block = 128 : i64, dims = ["d1", "d3"], kind = "grid"}], num_stages = 1 : i64, num_warps = 4 : i64}
func.func private @heads_first(%x: tensor<16x2048x16x64xbf16>, %o: tensor<16x16x2048x64xbf16>) -> tensor<16x16x2048x64xbf16>
    attributes {fuse.kernel, fuse.dims = {d0 = "16", d1 = "16", d2 = "2048", d3 = "64"}, fuse.ties = array<i64: 1>} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : bf16
  %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d2", "d1", "d3"]} : (tensor<16x2048x16x64xbf16>, i1, bf16) -> bf16
  %w = arith.negf %v : bf16
  %r = "fuse.store"(%o, %w, %true) {at = ["d0", "d1", "d2", "d3"], mode = "set"} : (tensor<16x16x2048x64xbf16>, bf16, i1) -> tensor<16x16x2048x64xbf16>
  return %r : tensor<16x16x2048x64xbf16>
}

// -----

// Must not fire: what is added lies in the order of the result.
// CHECK-LABEL: func.func private @heads_first_of_two(
// CHECK-SAME: fuse.tile = {axes = [{block = 2048 : i64, dims = ["d0", "d1", "d2", "d3"], kind = "grid"}], num_stages = 1 : i64, num_warps = 4 : i64}
func.func private @heads_first_of_two(%x: tensor<16x2048x16x64xbf16>, %o: tensor<16x16x2048x64xbf16>, %z: tensor<16x16x2048x64xbf16>) -> tensor<16x16x2048x64xbf16>
    attributes {fuse.kernel, fuse.dims = {d0 = "16", d1 = "16", d2 = "2048", d3 = "64"}, fuse.ties = array<i64: 1>} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : bf16
  %v = "fuse.load"(%x, %true, %zero) {at = ["d0", "d2", "d1", "d3"]} : (tensor<16x2048x16x64xbf16>, i1, bf16) -> bf16
  %z1 = "fuse.load"(%z, %true, %zero) {at = ["d0", "d1", "d2", "d3"]} : (tensor<16x16x2048x64xbf16>, i1, bf16) -> bf16
  %w = arith.addf %v, %z1 : bf16
  %r = "fuse.store"(%o, %w, %true) {at = ["d0", "d1", "d2", "d3"], mode = "set"} : (tensor<16x16x2048x64xbf16>, bf16, i1) -> tensor<16x16x2048x64xbf16>
  return %r : tensor<16x16x2048x64xbf16>
}

// -----

// A product: blocks of rows and columns, in groups that share operands, and a software pipelined loop over what is summed.
// CHECK-LABEL: func.func private @product
// CHECK-SAME: fuse.tile = {axes = [{block = 128 : i64, dims = ["d0"], kind = "grid"}, {block = 256 : i64, dims = ["d1"], kind = "grid"}, {block = 64 : i64, dims = ["d2"], kind = "looped"}], group = 16 : i64, num_stages = 3 : i64, num_warps = 8 : i64}
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<4096x4096xbf16>, %w: tensor<4096x4096xbf16>) -> tensor<4096x4096xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<4096x4096xf32>
    %y = call @product(%x, %w, %o) : (tensor<4096x4096xbf16>, tensor<4096x4096xbf16>, tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
    return %y : tensor<4096x4096xf32>
  }
  func.func private @product(%x: tensor<4096x4096xbf16>, %w: tensor<4096x4096xbf16>, %o: tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "4096", d1 = "4096", d2 = "4096"}, fuse.ties = array<i64: 2>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d2"]} : (tensor<4096x4096xbf16>, i1, bf16) -> bf16
    %b = "fuse.load"(%w, %true, %zero) {at = ["d2", "d1"]} : (tensor<4096x4096xbf16>, i1, bf16) -> bf16
    %s = "fuse.dot"(%a, %b) {over = ["d2"]} : (bf16, bf16) -> f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<4096x4096xf32>, f32, i1) -> tensor<4096x4096xf32>
    return %r : tensor<4096x4096xf32>
  }
}

// -----

// Must not fire: a tile that is there is kept.
// CHECK-LABEL: func.func private @by_hand
// CHECK-SAME: fuse.tile = {axes = [{block = 32 : i64, dims = ["d0"], kind = "grid"}, {block = 16 : i64, dims = ["d1"], kind = "grid"}, {block = 64 : i64, dims = ["d2"], kind = "resident"}], group = 2 : i64, num_stages = 1 : i64, num_warps = 4 : i64}
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<64x64xbf16>, %w: tensor<64x64xbf16>) -> tensor<64x64xf32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<64x64xf32>
    %y = call @by_hand(%x, %w, %o) : (tensor<64x64xbf16>, tensor<64x64xbf16>, tensor<64x64xf32>) -> tensor<64x64xf32>
    return %y : tensor<64x64xf32>
  }
  func.func private @by_hand(%x: tensor<64x64xbf16>, %w: tensor<64x64xbf16>, %o: tensor<64x64xf32>) -> tensor<64x64xf32>
      attributes {fuse.kernel, fuse.dims = {d0 = "64", d1 = "64", d2 = "64"}, fuse.ties = array<i64: 2>,
                  fuse.tile = {axes = [{block = 32 : i64, dims = ["d0"], kind = "grid"}, {block = 16 : i64, dims = ["d1"], kind = "grid"}, {block = 64 : i64, dims = ["d2"], kind = "resident"}], group = 2 : i64, num_stages = 1 : i64, num_warps = 4 : i64}} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : bf16
    %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d2"]} : (tensor<64x64xbf16>, i1, bf16) -> bf16
    %b = "fuse.load"(%w, %true, %zero) {at = ["d2", "d1"]} : (tensor<64x64xbf16>, i1, bf16) -> bf16
    %s = "fuse.dot"(%a, %b) {over = ["d2"]} : (bf16, bf16) -> f32
    %r = "fuse.store"(%o, %s, %true) {at = ["d0", "d1"], mode = "set"} : (tensor<64x64xf32>, f32, i1) -> tensor<64x64xf32>
    return %r : tensor<64x64xf32>
  }
}
