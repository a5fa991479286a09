"""Tiles of products: kernels that the rules of ``product_rules``, ``held_rules`` and ``few_row_rules`` tell
apart, and what these refuse.
"""

from dataclasses import replace

import pytest
from rule_cases import COLUMN_MAXIMA, chain, chosen, matmul, shape_of, text_of, widened
from tiling_cases import Case, tensor

from fuse_mlir.compiler.analysis.tiling.choice import NoTiling
from fuse_mlir.compiler.analysis.tiling.rules import choose
from fuse_mlir.compiler.cost.devices import hardware_named

#: Rule, kernel, tile.
PRODUCTS = {
    "a product with two tensors beside its results": (
        "blocks-of-products",
        matmul(
            4096,
            4096,
            4096,
            "load t[d0, d1] -> tv\nload u[d0, d1] -> uv\n%s = arith.addf %c, %tv : f32\n"
            "%q = arith.mulf %s, %uv : f32\nstore q -> o[d0, d1]",
            t=tensor(4096, 4096),
            u=tensor(4096, 4096),
        ),
        "d0 grid 128, d1 grid 128, d2 looped 64; 8 warps, 3 stages",
    ),
    "a product of few rows": (
        "blocks-of-products",
        matmul(16, 14336, 4096),
        "d0 grid 16, d1 grid 128, d2 looped 64; 4 warps, 6 stages",
    ),
    "a product of unknown rows": (
        "blocks-of-products",
        matmul("s0", 4096, 64, sizes={"s0": 300}),
        "d0 grid 128, d1 grid 32, d2 resident 64; 4 warps, 1 stages",
    ),
}


@pytest.mark.parametrize(("rule", "case", "tile"), PRODUCTS.values(), ids=PRODUCTS)
def test_blocks_fit_the_rows_of_a_product(rule, case, tile):
    choice = chosen(case)
    assert (choice.rule, text_of(choice.tile)) == (rule, tile)


FAST, EXACT = '{fast_accum, over = ["d2"]}', '{over = ["d2"]}'


@pytest.mark.parametrize(
    ("attributes", "columns"), [((FAST, FAST), 128), ((FAST, EXACT), 64), ((EXACT, EXACT), 64)]
)
def test_sums_of_bytes_take_fewer_registers_where_all_products_are_fast(attributes, columns):
    """Two products of one left operand share the registers."""
    body = "load x[d0, d2] -> a\n"
    for number, attribute in enumerate(attributes):
        body += f'load w{number}[d2, d1] -> b{number}\n%c{number} = "fuse.dot"(%a, %b{number}) {attribute}'
        body += " : (f8E4M3FN, f8E4M3FN) -> f32\n"
    body += "%s = arith.addf %c0, %c1 : f32\nstore s -> o[d0, d1]"
    operands = {name: tensor(4096, 4096, element="f8E4M3FN") for name in ("x", "w0", "w1")}
    dims = dict.fromkeys(("d0", "d1", "d2"), "4096")
    tile = chosen(Case(dims, operands, {"o": tensor(4096, 4096)}, body)).tile
    assert text_of(tile).startswith(f"d0 grid 128, d1 grid {columns}, d2 looped 128; 8 warps")


def test_programs_that_sum_in_a_loop_go_through_blocks_of_rows_and_columns():
    """Columns that one block holds, too: blocks are numbered along both."""
    case = matmul(262144, 256, 512, "%h = arith.truncf %c : f32 to bf16\nstore h -> o[d0, d1]")
    tile = chosen(replace(case, outputs={"o": tensor(262144, 256, element="bf16")})).tile
    assert tile.programs > 0 and [axis.kind for axis in tile.axes] == ["grid", "grid", "looped"]


def test_few_rows_of_a_chain_have_a_program_for_each_block():
    assert chosen(chain(262144)).tile.programs > 0
    choice = chosen(chain(4096))
    assert (choice.rule, choice.tile.programs) == ("held-columns", 0)


def test_a_program_holds_no_more_columns_than_its_registers():
    with pytest.raises(NoTiling, match="would hold 1024 columns of its products at once"):
        chosen(matmul(4096, 1024, 4096, COLUMN_MAXIMA))
    with pytest.raises(NoTiling, match="which have no bound"):
        chosen(matmul(4096, "s0", 4096, COLUMN_MAXIMA, sizes={"s0": 64}))


def test_a_program_computes_one_matrix_of_a_batch():
    body = 'load x[d0, d1, d3] -> a\nload w[d0, d3, d2] -> b\n%c = "fuse.dot"(%a, %b) {over = ["d3"]}'
    body += " : (f32, f32) -> f32\nfold sum c[d0, d1] -> t : f32\nstore t -> o[d2]"
    dims = {"d0": "4", "d1": "32", "d2": "64", "d3": "16"}
    case = Case(dims, {"x": tensor(4, 32, 16), "w": tensor(4, 16, 64)}, {"o": tensor(64)}, body)
    with pytest.raises(NoTiling, match=r"along \['d0'\], the matrices of a batch that is multiplied"):
        chosen(case)


def test_a_program_holds_rows_or_columns():
    body = 'load x[d0, d1, d3] -> a\nload w[d3, d2] -> b\n%c = "fuse.dot"(%a, %b) {over = ["d3"]}'
    body += " : (f32, f32) -> f32\nfold sum c[d1, d2] -> t : f32\nstore t -> o[d0]"
    dims = {"d0": "64", "d1": "4", "d2": "64", "d3": "16"}
    case = Case(dims, {"x": tensor(64, 4, 16), "w": tensor(16, 64)}, {"o": tensor(64)}, body)
    with pytest.raises(NoTiling, match="along the rows and along the columns of its products"):
        chosen(case)


def test_few_rows_have_a_stage_less_where_shared_memory_does_not_hold_them():
    shape = shape_of(widened(2))
    with shape.module.context:
        found = [choose(replace(shape, spills=n), hardware_named("h200")).tile for n in range(5)]
    assert [tile.num_stages for tile in found] == [4, 3, 2, 1, 1]
    assert len({tile.axes for tile in found}) == 1


def test_few_rows_have_as_many_stages_as_shared_memory_holds():
    """What is computed in front of a product is loaded at every point of its sum: 88 KB a stage here."""
    sums = (
        "load w[d1, d3*1024 + d2] -> n\n%b = arith.sitofp %n : i8 to bf16\n"
        "load x[d0, d3*1024 + d2] -> p\nload y[d0, d3*1024 + d2] -> q\nload z[d0, d3*1024 + d2] -> r\n"
        "%s = arith.addf %p, %q : f32\n%t = arith.truncf %s : f32 to bf16\n%a = arith.addf %t, %r : bf16\n"
        '%c = "fuse.dot"(%a, %b) {over = ["d2"]} : (bf16, bf16) -> f32\nfold sum c[d3] -> u : f32\n'
        "store u -> o[d0, d1]"
    )
    dims = {"d0": "16", "d1": "1024", "d2": "1024", "d3": "4"}
    inputs = {"w": tensor(1024, 4096, element="i8"), "z": tensor(16, 4096, element="bf16")}
    front = {"x": tensor(16, 4096), "y": tensor(16, 4096)}
    found = chosen(Case(dims, inputs | front, {"o": tensor(16, 1024)}, sums))
    assert (found.rule, found.tile.num_stages) == ("weights-in-slices", 3)


def test_products_need_rows_and_columns():
    """``expand-dots`` makes sums of those that have none."""
    body = (
        'load x[d0, d1] -> a\nload v[d1] -> b\n%c = "fuse.dot"(%a, %b) {over = ["d1"]} : (f32, f32) -> f32\n'
    )
    dims, inputs = {"d0": "64", "d1": "64"}, {"x": tensor(64, 64), "v": tensor(64)}
    with pytest.raises(NoTiling, match=r"the right operand of fuse\.dot has no dims of its own"):
        chosen(Case(dims, inputs, {"o": tensor(64)}, body + "store c -> o[d0]"))
