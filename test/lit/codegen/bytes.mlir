// An integer that is subtracted from bytes, or added to them, is part of their conversion to float32.
// RUN: fuse-opt %s --pass-pipeline="builtin.module(choose-tiling,apply-tiling)" --split-input-file | FileCheck %s

// 2**23 + 8.
// CHECK-LABEL: @subtracted
// CHECK: 0fCB000008
// CHECK-NOT: arith.subf
func.func private @subtracted(%x: tensor<4096xui8>, %o: tensor<4096xf32>) -> tensor<4096xf32>
    attributes {fuse.kernel, fuse.dims = {d0 = "4096"}, fuse.ties = array<i64: 1>} {
  %true = arith.constant true
  %zero = arith.constant 0 : i8
  %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<4096xui8>, i1, i8) -> i8
  %w = arith.uitofp %v : i8 to f32
  %c = arith.constant 8.0 : f32
  %t = arith.subf %w, %c : f32
  %r = "fuse.store"(%o, %t, %true) {at = ["d0"], mode = "set"} : (tensor<4096xf32>, f32, i1) -> tensor<4096xf32>
  return %r : tensor<4096xf32>
}

// -----

// 2**23 + 128 - 100.
// CHECK-LABEL: @added_to_signed
// CHECK: 0fCB00001C
// CHECK-NOT: arith.addf
func.func private @added_to_signed(%x: tensor<4096xi8>, %o: tensor<4096xf32>) -> tensor<4096xf32>
    attributes {fuse.kernel, fuse.dims = {d0 = "4096"}, fuse.ties = array<i64: 1>} {
  %true = arith.constant true
  %zero = arith.constant 0 : i8
  %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<4096xi8>, i1, i8) -> i8
  %w = arith.sitofp %v : i8 to f32
  %c = arith.constant 100.0 : f32
  %t = arith.addf %w, %c : f32
  %r = "fuse.store"(%o, %t, %true) {at = ["d0"], mode = "set"} : (tensor<4096xf32>, f32, i1) -> tensor<4096xf32>
  return %r : tensor<4096xf32>
}

// -----

// Must not fire: 2**23 + 0.5 is rounded.
// CHECK-LABEL: @fraction
// CHECK: 0fCB000080
// CHECK: arith.subf
func.func private @fraction(%x: tensor<4096xi8>, %o: tensor<4096xf32>) -> tensor<4096xf32>
    attributes {fuse.kernel, fuse.dims = {d0 = "4096"}, fuse.ties = array<i64: 1>} {
  %true = arith.constant true
  %zero = arith.constant 0 : i8
  %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<4096xi8>, i1, i8) -> i8
  %w = arith.sitofp %v : i8 to f32
  %c = arith.constant 0.5 : f32
  %t = arith.subf %w, %c : f32
  %r = "fuse.store"(%o, %t, %true) {at = ["d0"], mode = "set"} : (tensor<4096xf32>, f32, i1) -> tensor<4096xf32>
  return %r : tensor<4096xf32>
}

// -----

// Must not fire: 2**23 and a number of more than 2**22 may have more digits than float32.
// CHECK-LABEL: @large
// CHECK: 0fCB000080
// CHECK: arith.addf
func.func private @large(%x: tensor<4096xi8>, %o: tensor<4096xf32>) -> tensor<4096xf32>
    attributes {fuse.kernel, fuse.dims = {d0 = "4096"}, fuse.ties = array<i64: 1>} {
  %true = arith.constant true
  %zero = arith.constant 0 : i8
  %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<4096xi8>, i1, i8) -> i8
  %w = arith.sitofp %v : i8 to f32
  %c = arith.constant 8388608.0 : f32
  %t = arith.addf %w, %c : f32
  %r = "fuse.store"(%o, %t, %true) {at = ["d0"], mode = "set"} : (tensor<4096xf32>, f32, i1) -> tensor<4096xf32>
  return %r : tensor<4096xf32>
}

// -----

// Must not fire: the bytes are converted for another use, too.
// CHECK-LABEL: @used_twice
// CHECK: 0fCB000080
// CHECK: arith.subf
func.func private @used_twice(%x: tensor<4096xi8>, %o: tensor<4096xf32>) -> tensor<4096xf32>
    attributes {fuse.kernel, fuse.dims = {d0 = "4096"}, fuse.ties = array<i64: 1>} {
  %true = arith.constant true
  %zero = arith.constant 0 : i8
  %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<4096xi8>, i1, i8) -> i8
  %w = arith.sitofp %v : i8 to f32
  %c = arith.constant 8.0 : f32
  %d = arith.subf %w, %c : f32
  %t = arith.mulf %w, %d : f32
  %r = "fuse.store"(%o, %t, %true) {at = ["d0"], mode = "set"} : (tensor<4096xf32>, f32, i1) -> tensor<4096xf32>
  return %r : tensor<4096xf32>
}

// -----

// Must not fire: bytes are subtracted from an integer.
// CHECK-LABEL: @from_integer
// CHECK: 0fCB000080
// CHECK: arith.subf
func.func private @from_integer(%x: tensor<4096xi8>, %o: tensor<4096xf32>) -> tensor<4096xf32>
    attributes {fuse.kernel, fuse.dims = {d0 = "4096"}, fuse.ties = array<i64: 1>} {
  %true = arith.constant true
  %zero = arith.constant 0 : i8
  %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<4096xi8>, i1, i8) -> i8
  %w = arith.sitofp %v : i8 to f32
  %c = arith.constant 8.0 : f32
  %t = arith.subf %c, %w : f32
  %r = "fuse.store"(%o, %t, %true) {at = ["d0"], mode = "set"} : (tensor<4096xf32>, f32, i1) -> tensor<4096xf32>
  return %r : tensor<4096xf32>
}

// -----

// Half of each byte: four bytes are shifted at once.
// CHECK-LABEL: @upper_half
// CHECK: shr.b32 all, $4, 4; and.b32 all, all, 0x0F0F0F0F;
func.func private @upper_half(%x: tensor<4096xui8>, %o: tensor<4096xf32>) -> tensor<4096xf32>
    attributes {fuse.kernel, fuse.dims = {d0 = "4096"}, fuse.ties = array<i64: 1>} {
  %true = arith.constant true
  %zero = arith.constant 0 : i8
  %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<4096xui8>, i1, i8) -> i8
  %four = arith.constant 4 : i8
  %mask = arith.constant 15 : i8
  %h = arith.shrui %v, %four : i8
  %m = arith.andi %h, %mask : i8
  %t = arith.uitofp %m : i8 to f32
  %r = "fuse.store"(%o, %t, %true) {at = ["d0"], mode = "set"} : (tensor<4096xf32>, f32, i1) -> tensor<4096xf32>
  return %r : tensor<4096xf32>
}

// -----

// The mask keeps no bit that the shift copies the sign into.
// CHECK-LABEL: @signed_upper_half
// CHECK: shr.b32 all, $4, 4; and.b32 all, all, 0x0F0F0F0F;
func.func private @signed_upper_half(%x: tensor<4096xi8>, %o: tensor<4096xf32>) -> tensor<4096xf32>
    attributes {fuse.kernel, fuse.dims = {d0 = "4096"}, fuse.ties = array<i64: 1>} {
  %true = arith.constant true
  %zero = arith.constant 0 : i8
  %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<4096xi8>, i1, i8) -> i8
  %four = arith.constant 4 : i8
  %mask = arith.constant 15 : i8
  %h = arith.shrsi %v, %four : i8
  %m = arith.andi %h, %mask : i8
  %t = arith.uitofp %m : i8 to f32
  %r = "fuse.store"(%o, %t, %true) {at = ["d0"], mode = "set"} : (tensor<4096xf32>, f32, i1) -> tensor<4096xf32>
  return %r : tensor<4096xf32>
}

// -----

// Must not fire: a shift copies the sign into bits that the mask keeps.  The mask fires alone.
// CHECK-LABEL: @signed_shift
// CHECK: arith.shrsi
// CHECK: shr.b32 all, $4, 0; and.b32 all, all, 0x1F1F1F1F;
func.func private @signed_shift(%x: tensor<4096xi8>, %o: tensor<4096xf32>) -> tensor<4096xf32>
    attributes {fuse.kernel, fuse.dims = {d0 = "4096"}, fuse.ties = array<i64: 1>} {
  %true = arith.constant true
  %zero = arith.constant 0 : i8
  %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<4096xi8>, i1, i8) -> i8
  %four = arith.constant 4 : i8
  %mask = arith.constant 31 : i8
  %h = arith.shrsi %v, %four : i8
  %m = arith.andi %h, %mask : i8
  %t = arith.uitofp %m : i8 to f32
  %r = "fuse.store"(%o, %t, %true) {at = ["d0"], mode = "set"} : (tensor<4096xf32>, f32, i1) -> tensor<4096xf32>
  return %r : tensor<4096xf32>
}
