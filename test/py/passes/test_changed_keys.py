"""What is noticed in all tests of passes: an operation that is a key has changed."""

import pytest
from changed_keys import ChangedKey
from interpreted_modules import parse

from fuse_mlir.compiler.mlir import ir

MODULE = """
func.func @f(%a: i32, %b: i32) -> i32 {
  %c = arith.addi %a, %b : i32
  %d = arith.muli %c, %c : i32
  return %d : i32
}
"""


def operations(module: ir.Module) -> list[ir.Operation]:
    return [op.operation for op in module.body.operations[0].regions[0].blocks[0].operations]


@pytest.mark.parametrize("change", ["operand", "attribute"])
def test_a_key_that_has_changed_is_noticed(change: str) -> None:
    module = parse(MODULE)
    place = {op: number for number, op in enumerate(operations(module))}
    total, product, _ = operations(module)
    assert place[product] == 1
    if change == "operand":
        total.results[0].replace_all_uses_with(total.operands[0])
    else:
        product.attributes["fuse.group"] = ir.UnitAttr.get(module.context)
    assert place[total] == 0
    with pytest.raises(ChangedKey, match="has changed since it was hashed"):
        place.get(product)


def test_values_and_blocks_stay_the_keys_that_they_are() -> None:
    module = parse(MODULE)
    total, product, _ = operations(module)
    names = {total.results[0]: "total", product.results[0]: "product", total.block: "block"}
    total.results[0].replace_all_uses_with(total.operands[0])
    product.attributes["fuse.group"] = ir.UnitAttr.get(module.context)
    again, both, _ = operations(module)
    assert [names[again.results[0]], names[both.results[0]], names[again.block]] == [*names.values()]
