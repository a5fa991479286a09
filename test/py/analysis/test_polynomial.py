"""What scalar kernels compute, read as polynomials."""

import math

import pytest

from fuse_mlir.compiler.analysis.kernel.polynomial import ACTIVATIONS, X, equal, polynomial
from fuse_mlir.compiler.ir.context import make_context
from fuse_mlir.compiler.mlir import ir

KERNEL = """
func.func private @k(%x: tensor<4x8xbf16>, %o: tensor<4x8xbf16>) -> tensor<4x8xbf16>
    attributes {{fuse.kernel, fuse.dims = {{d0 = "4", d1 = "8"}}, fuse.ties = array<i64: 1>}} {{
  %true = arith.constant true
  %pad = arith.constant 0.0 : bf16
  %l = "fuse.load"(%x, %true, %pad) {{at = [{at}]}} : (tensor<4x8xbf16>, i1, bf16) -> bf16
  %a = arith.extf %l : bf16 to f32
  %zero = arith.constant 0.0 : f32
  %two = arith.constant 2.0 : f32
  {body}
  %h = arith.truncf %y : f32 to bf16
  %r = "fuse.store"(%o, %h, %true) {{at = ["d0", "d1"], mode = "{mode}"}}
      : (tensor<4x8xbf16>, bf16, i1) -> tensor<4x8xbf16>
  return %r : tensor<4x8xbf16>
}}
"""
PLAIN = '"d0", "d1"'


def read(*body, at=PLAIN, mode="set", given=X):
    """The polynomial of the kernel that computes %y of %a."""
    with make_context() as context:
        text = KERNEL.format(body="\n".join(body), at=at, mode=mode)
        module = ir.Module.parse(text, context)
        return polynomial(module.body.operations[0].operation, {0: given}, "bf16")


CUBE = ("%s = arith.mulf %a, %a : f32", "%c = arith.mulf %s, %a : f32")
READ = {
    "itself": (("%y = arith.addf %a, %zero : f32",), {(1, 0, 0): 1.0}),
    "sum": (("%y = arith.addf %a, %two : f32",), {(1, 0, 0): 1.0, (0, 0, 0): 2.0}),
    "difference": (("%y = arith.subf %two, %a : f32",), {(1, 0, 0): -1.0, (0, 0, 0): 2.0}),
    # Of infinity this is no number.
    "itself minus itself": (("%y = arith.subf %a, %a : f32",), {(1, 0, 0): 0.0}),
    "quotient": (("%y = arith.divf %a, %two : f32",), {(1, 0, 0): 0.5}),
    "negation": (("%y = arith.negf %a : f32",), {(1, 0, 0): -1.0}),
    "cube": ((*CUBE, "%y = arith.mulf %c, %two : f32"), {(3, 0, 0): 2.0}),
    "relu": (("%y = arith.maximumf %zero, %a : f32",), ACTIVATIONS["relu"]),
    "relu of relu's half": (
        ("%m = arith.maximumf %a, %zero : f32", "%y = arith.mulf %m, %a : f32"),
        {(1, 0, 1): 1.0},
    ),
}


@pytest.mark.parametrize("name", READ)
def test_a_polynomial(name):
    body, expected = READ[name]
    assert read(*body) == expected


NOT_READ = {
    "a quotient by x": ("%y = arith.divf %two, %a : f32",),
    "a quotient by x and a number": ("%d = arith.addf %a, %two : f32", "%y = arith.divf %a, %d : f32"),
    "a quotient by 0": ("%y = arith.divf %a, %zero : f32",),
    "a maximum of 2": ("%y = arith.maximumf %a, %two : f32",),
    "a minimum": ("%y = arith.minimumf %a, %zero : f32",),
    "the tanh of x": ("%y = math.tanh %a : f32",),
    "a narrower type between": (
        "%n = arith.truncf %a : f32 to f8E4M3FN",
        "%y = arith.extf %n : f8E4M3FN to f32",
    ),
    "another 16-bit type between": ("%n = arith.truncf %a : f32 to f16", "%y = arith.extf %n : f16 to f32"),
    "a high power": (*CUBE, "%y = arith.mulf %c, %c : f32"),
}


@pytest.mark.parametrize("name", NOT_READ)
def test_no_polynomial(name):
    assert read(*NOT_READ[name]) is None


def test_accesses():
    body = "%y = arith.addf %a, %two : f32"
    assert read(body) is not None
    assert read(body, mode="add") is None
    assert read(body, at='"0", "d1"') is None
    assert read(body, given=ACTIVATIONS["relu"]) == {(0, 0, 1): 1.0, (0, 0, 0): 2.0}


@pytest.mark.parametrize("variable", range(3))
def test_exponents_add_up(variable):
    once, twice = (tuple(n * (v == variable) for v in range(3)) for n in (1, 2))
    assert read("%y = arith.mulf %a, %a : f32", given={once: 3.0}) == {twice: 9.0}


def test_coefficients_are_rounded():
    assert equal({(1, 0, 0): math.pi}, {(1, 0, 0): 3.1415927410125732})
    assert not equal({(1, 0, 0): math.pi}, {(1, 0, 0): 3.1416})
    assert not equal(X, {})
