"""What is moved around a product: with what was there before fusion, and with what its group holds."""

from typing import Any

import pytest

from fuse_mlir.compiler.analysis.contraction.product import Product
from fuse_mlir.compiler.analysis.contraction.surroundings import (
    Behind,
    GroupSurroundings,
    Moved,
    Surroundings,
)
from fuse_mlir.compiler.ir.context import make_context
from fuse_mlir.compiler.ir.storage import functions_of
from fuse_mlir.compiler.mlir import ir

#: ``@mm`` of what ``@widen`` makes of bytes; ``@twice`` reads its result.  Each matrix has 64 elements, and
#: ``@widen`` and ``@twice`` compute one thing of each.
TEXT = """
func.func @main(%q: tensor<8x8xi8>, %x: tensor<8x8xbf16>) -> ({results}) {{
  %e = "fuse.empty"() {{syms = []}} : () -> tensor<8x8xbf16>
  %w = call @widen(%q, %e) {{fuse.group = 0 : i64}} : (tensor<8x8xi8>, tensor<8x8xbf16>) -> tensor<8x8xbf16>
  %v = "fuse.view"(%w) {{map = ["v1", "v0"], syms = []}}
      : (tensor<8x8xbf16>) -> tensor<8x8xbf16, #fuse.layout<"8,8", "1,8", "0", "">>
  %y = call @mm(%x, %v)
      : (tensor<8x8xbf16>, tensor<8x8xbf16, #fuse.layout<"8,8", "1,8", "0", "">>) -> tensor<8x8xbf16>
  %f = "fuse.empty"() {{syms = []}} : () -> tensor<8x8xbf16>
  %z = call @twice(%y, %f) {{fuse.group = 1 : i64}} : (tensor<8x8xbf16>, tensor<8x8xbf16>) -> tensor<8x8xbf16>
  {more}
  return {values} : {results}
}}
func.func private @mm(tensor<8x8xbf16>, tensor<8x8xbf16, #fuse.layout<"8,8", "1,8", "0", "">>)
    -> tensor<8x8xbf16>
    attributes {{fuse.extern = "aten.mm.default", fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>],
                fuse.kwargs = {{}}}}
func.func private @widen(%x: tensor<8x8xi8>, %o: tensor<8x8xbf16>) -> tensor<8x8xbf16>
    attributes {{fuse.kernel, fuse.dims = {{d0 = "8", d1 = "8"}}, fuse.ties = array<i64: 1>}} {{
  %c = arith.constant 1.0 : bf16
  %s = {widen}
  return %o : tensor<8x8xbf16>
}}
func.func private @twice(%x: tensor<8x8xbf16>, %o: tensor<8x8xbf16>) -> tensor<8x8xbf16>
    attributes {{fuse.kernel, fuse.dims = {{d0 = "8", d1 = "8"}}, fuse.ties = array<i64: 1>}} {{
  %c = arith.constant 1.0 : bf16
  %s = arith.addf %c, %c : bf16
  return %o : tensor<8x8xbf16>
}}
func.func private @sum(%x: tensor<8x8xbf16>, %y: tensor<8x8xbf16>, %o: tensor<8x8xbf16>) -> tensor<8x8xbf16>
    attributes {{fuse.kernel, fuse.dims = {{d0 = "8", d1 = "8"}}, fuse.ties = array<i64: 2>}} {{
  %c = arith.constant 1.0 : bf16
  %s = arith.addf %c, %c : bf16
  return %o : tensor<8x8xbf16>
}}
func.func private @rows(%x: tensor<8x8xbf16>, %o: tensor<8x8xbf16>) -> tensor<8x8xbf16>
    attributes {{fuse.kernel, fuse.dims = {{d0 = "8", d1 = "8"}}, fuse.ties = array<i64: 1>}} {{
  %c = arith.constant 1.0 : bf16
  %s = "fuse.reduce"(%c) {{kind = "max", over = ["d1"]}} : (bf16) -> bf16
  return %o : tensor<8x8xbf16>
}}
"""

M = 64 * 2  #: bytes of a matrix in bf16
ADDS, REDUCES = "arith.addf %c, %c : bf16", '"fuse.reduce"(%c) {kind = "max", over = ["d1"]} : (bf16) -> bf16'
#: ``@rows``, a reduction, reads the result as well.
ROWS = """%g = "fuse.empty"() {syms = []} : () -> tensor<8x8xbf16>
  %r = call @rows(%y, %g) {fuse.group = 2 : i64} : (tensor<8x8xbf16>, tensor<8x8xbf16>) -> tensor<8x8xbf16>"""

#: Two calls of ``@sum`` read the result as well: one of them ``%x`` beside it, the other what that one makes.
SUMS = """%p = "fuse.empty"() {syms = []} : () -> tensor<8x8xbf16>
  %t = call @sum(%y, %x, %p) : (tensor<8x8xbf16>, tensor<8x8xbf16>, tensor<8x8xbf16>) -> tensor<8x8xbf16>
  %h = "fuse.empty"() {syms = []} : () -> tensor<8x8xbf16>
  %u = call @sum(%y, %t, %h) : (tensor<8x8xbf16>, tensor<8x8xbf16>, tensor<8x8xbf16>) -> tensor<8x8xbf16>"""


def widened(slots: int = 1) -> dict[str, Any]:
    """What ``@widen`` is in front."""
    return {"widened": True, "packed": "numbers", "slots": {"right": slots}, "front_bytes": 64 + M}


def behind(slots: int = 1, kept: bool = False, beside: int = 0) -> dict[str, Any]:
    """What ``@twice`` and others are behind.  What reads the results of several readers is left out."""
    return {"behind": Behind(slots, beside, absorbed=False, shared=slots < 2, stored=kept)}


#: By what the program returns, what ``@widen`` computes, and the group of the product: what is moved.
CASES = {
    ("z", ADDS, "any"): Moved(64 + M + M, 3 * M + (64 + M) + 2 * M, 3, 3 * M, **widened(), **behind()),
    ("zy", ADDS, "any"): Moved(
        64 + M + 2 * M, 3 * M + (64 + M) + 2 * M, 3, 3 * M, **widened(), **behind(kept=True)
    ),
    ("zw", ADDS, "any"): Moved(3 * M, 3 * M + 2 * M, 2, 3 * M, **behind()),
    ("z", ADDS, None): Moved(3 * M, 3 * M, 1, 3 * M),
    ("z", ADDS, 0): Moved(64 + 2 * M, 3 * M + 64 + M, 2, 3 * M, **widened()),
    ("zw", ADDS, 0): Moved(64 + 3 * M, 3 * M + 64 + M, 2, 3 * M, **widened()),
    ("z", ADDS, 1): Moved(3 * M, 3 * M + 2 * M, 2, 3 * M, **behind()),
    ("zy", ADDS, 1): Moved(4 * M, 3 * M + 2 * M, 2, 3 * M, **behind(kept=True)),
    # a reduction is one with the product in the group that holds both, and only there
    ("z", REDUCES, "any"): Moved(3 * M, 3 * M + 2 * M, 2, 3 * M, **behind()),
    ("z", REDUCES, 0): Moved(64 + 2 * M, 3 * M + 64 + M, 2, 3 * M, **widened(0)),
    ("zr", ADDS, "any"): Moved(
        64 + M + 2 * M, 3 * M + (64 + M) + 2 * M, 3, 3 * M, **widened(), **behind(kept=True)
    ),
    # several kernels read the result: what they read beside it counts, but for what another of them makes
    ("zu", ADDS, "any"): Moved(
        64 + M + M, 3 * M + (64 + M) + M + 2 * M, 3, 3 * M, **widened(), **behind(3, beside=1)
    ),
    ("zr", ADDS, 2): Moved(4 * M, 3 * M + 2 * M, 2, 3 * M, **behind(0, kept=True)),
}


@pytest.mark.parametrize("case", CASES, ids=str)
def test_what_is_moved(case):
    values, widen, group = case
    types = ", ".join("tensor<8x8xbf16>" for _ in values)
    returned, more = (
        ", ".join(f"%{v}" for v in values),
        ROWS if "r" in values else SUMS if "u" in values else "",
    )
    text = TEXT.format(results=types, values=returned, widen=widen, more=more)
    with make_context() as context:
        module = ir.Module.parse(text, context)
        functions = functions_of(module)
        calls = [o.operation for o in functions["main"].regions[0].blocks[0].operations]
        [call] = [op for op in calls if op.name == "func.call" and "@mm" in str(op)]
        product = Product.of(call, functions["mm"])
        assert product is not None
        if group == "any":
            around = Surroundings(functions, {})
        else:
            given = None
            if group is not None:
                given = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), group)
                call.attributes["fuse.group"] = given
            around = GroupSurroundings(functions, {}, given)
        assert around.cost(product) == CASES[case]


def test_a_factor_that_is_made_of_nothing_is_not_packed():
    """A matrix of zeros, as the state before the first chunk of a sequence."""
    text = TEXT.replace("%w = call @widen(%q, %e)", "%w = call @nothing(%e)").replace(
        "(tensor<8x8xi8>, tensor<8x8xbf16>) -> tensor<8x8xbf16>\n  %v",
        "(tensor<8x8xbf16>) -> tensor<8x8xbf16>\n  %v",
    )
    text += """
func.func private @nothing(%o: tensor<8x8xbf16>) -> tensor<8x8xbf16>
    attributes {{fuse.kernel, fuse.dims = {{d0 = "8", d1 = "8"}}, fuse.ties = array<i64: 0>}} {{
  %c = arith.constant 0.0 : bf16
  return %o : tensor<8x8xbf16>
}}
"""
    with make_context() as context:
        module = ir.Module.parse(
            text.format(results="tensor<8x8xbf16>", values="%z", widen=ADDS, more=""), context
        )
        functions = functions_of(module)
        calls = [o.operation for o in functions["main"].regions[0].blocks[0].operations]
        [call] = [op for op in calls if op.name == "func.call" and "@mm" in str(op)]
        product = Product.of(call, functions["mm"])
        assert product is not None
        moved = Surroundings(functions, {}).cost(product)
    assert not moved.packed
    assert moved.fused_bytes == 2 * M  # the other factor and the result
