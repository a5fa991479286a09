"""Kernels of several blocks as one block of structured code: ``early_returns.py``."""

import pytest

from fuse_mlir.compiler.frontend.ops.user_kernels.early_returns import make_one_block
from fuse_mlir.compiler.fx.user_kernels import Opaque
from fuse_mlir.compiler.ir.context import make_context
from fuse_mlir.compiler.mlir import ir

CHOICE = (
    '"cf.cond_br"(%c{values})[^{then}, ^{other}] {{operandSegmentSizes = array<i32: 1, {counts}>}}'
    " : (i1{types}) -> ()"
)


def choice(then, other, values="", counts="0, 0", types=""):
    return CHOICE.format(then=then, other=other, values=values, counts=counts, types=types)


def told(number):
    """An op by which one sees where code went."""
    return f'"tt.assert"(%c) {{message = "{number}"}} : (i1) -> ()'


RETURN = '"tt.return"() : () -> ()'


def structured(*blocks):
    """The one block that a function of blocks becomes, as text without names of values."""
    lines = "\n".join(line for block in blocks for line in block)
    text = (
        f'"tt.func"() ({{\n^bb0(%c: i1, %n: i32):\n{lines}\n}}) {{sym_name = "k", sym_visibility = "public", '
        "function_type = (i1, i32) -> ()} : () -> ()"
    )
    module = ir.Module.parse(text, make_context())
    block = make_one_block(module.body.operations[0].operation)
    words = []

    def visit(op):
        words.append(ir.StringAttr(op.attributes["message"]).value if op.name == "tt.assert" else op.name)
        for region in op.regions:
            words.append("(")
            for inner in region.blocks:
                for each in inner.operations:
                    visit(each.operation)
            words.append(")")

    for op in block.operations:
        visit(op.operation)
    return " ".join(words)


def test_one_block_stays():
    assert structured([told(1), RETURN]) == "1 tt.return"


def test_the_rest_runs_where_nothing_returned():
    blocks = [told(1), choice("a", "b")], ["^a:", RETURN], ["^b:", told(2), RETURN]
    assert structured(*blocks) == "1 arith.constant arith.xori scf.if ( 2 scf.yield ) ( ) tt.return"


def test_the_condition_is_kept_where_the_other_way_returns():
    blocks = [told(1), choice("b", "a")], ["^a:", RETURN], ["^b:", told(2), RETURN]
    assert structured(*blocks) == "1 scf.if ( 2 scf.yield ) ( ) tt.return"


def test_both_ways_do_something():
    blocks = [choice("a", "b")], ["^a:", told(1), RETURN], ["^b:", told(2), RETURN]
    assert structured(*blocks) == "scf.if ( 1 scf.yield ) ( 2 scf.yield ) tt.return"


def test_ways_that_end_in_one_return():
    end = '"cf.br"()[^r] : () -> ()'
    blocks = [choice("a", "b")], ["^a:", told(1), end], ["^b:", told(2), end], ["^r:", RETURN]
    assert structured(*blocks) == "scf.if ( 1 scf.yield ) ( 2 scf.yield ) tt.return"


def test_both_ways_return():
    assert structured([told(1), choice("a", "b")], ["^a:", RETURN], ["^b:", RETURN]) == "1 tt.return"


def test_branches_nest_and_pass_values_on():
    blocks = (
        [choice("a", "b", ", %n", "0, 1", ", i32")],
        ["^a:", RETURN],
        ["^b(%m: i32):", '%s = "tt.splat"(%m) : (i32) -> tensor<4xi32>', '"cf.br"()[^d] : () -> ()'],
        ["^d:", told(1), choice("e", "a")],
        ["^e:", told(2), '"cf.br"()[^a] : () -> ()'],
    )
    found = structured(*blocks)
    inside = "tt.splat 1 scf.if ( 2 scf.yield ) ( ) scf.yield"
    assert found == f"arith.constant arith.xori scf.if ( {inside} ) ( ) tt.return"


@pytest.mark.parametrize("back", [False, True])
def test_ways_that_meet_again_are_opaque(back):
    end = '"cf.br"()[^d] : () -> ()'
    blocks = [choice("a", "d")], ["^a:", told(1), end], ["^d:", told(2), end if back else RETURN]
    with pytest.raises(Opaque, match="its branches meet again"):
        structured(*blocks)


def test_another_end_of_a_block_is_opaque():
    segments = "case_operand_segments = array<i32>, operandSegmentSizes = array<i32: 1, 0, 0>"
    last = f'"cf.switch"(%n)[^a] {{{segments}}} : (i32) -> ()'
    with pytest.raises(Opaque, match=r"the op cf\.switch is not known"):
        structured([last], ["^a:", told(1), RETURN])
