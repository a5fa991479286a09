"""Graph-level modules as text, for the tests of the interpreter."""

import torch
from shared_context import shared_context

from fuse_mlir.compiler.mlir import ir

V4 = "tensor<4xf32>"
#: ``@add(x, y, o)``: o = x + y; ``@twice(x)``: x = 2x in place.
KERNELS = """
func.func private @add(%x: tensor<4xf32>, %y: tensor<4xf32>, %o: tensor<4xf32>) -> tensor<4xf32>
    attributes {fuse.kernel, fuse.dims = {d0 = "4"}, fuse.ties = array<i64: 2>} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : f32
  %a = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<4xf32>, i1, f32) -> f32
  %b = "fuse.load"(%y, %true, %zero) {at = ["d0"]} : (tensor<4xf32>, i1, f32) -> f32
  %s = arith.addf %a, %b : f32
  %r = "fuse.store"(%o, %s, %true) {at = ["d0"], mode = "set"} : (tensor<4xf32>, f32, i1) -> tensor<4xf32>
  return %r : tensor<4xf32>
}
func.func private @twice(%x: tensor<4xf32>, %t: !fuse.token) -> tensor<4xf32>
    attributes {fuse.kernel, fuse.dims = {d0 = "4"}, fuse.ties = array<i64: 0>} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : f32
  %a = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<4xf32>, i1, f32) -> f32
  %s = arith.addf %a, %a : f32
  %r = "fuse.store"(%x, %s, %true) {at = ["d0"], mode = "set"} : (tensor<4xf32>, f32, i1) -> tensor<4xf32>
  return %r : tensor<4xf32>
}
"""
EMPTY = '"fuse.empty"() {syms = []} : () -> tensor<4xf32>'
ADD = "(tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>"
TWICE = "(tensor<4xf32>, !fuse.token) -> tensor<4xf32>"
TOKEN = '"fuse.after"({}) : (tensor<4xf32>) -> !fuse.token'


def parse(text: str) -> ir.Module:
    return ir.Module.parse(text, shared_context())


def main(
    body: str, arguments: str = "%x: tensor<4xf32>", results: str = V4, more: str = KERNELS
) -> ir.Module:
    return parse(f"func.func @main({arguments}) -> ({results}) {{\n{body}\n}}\n{more}")


def extern(call: str, declaration: str, arguments: str, results: str) -> ir.Module:
    return main(call, arguments, results, declaration)


X = torch.tensor([1.0, 2.0, 3.0, 4.0])
