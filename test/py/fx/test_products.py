"""The table of ops that multiply matrices says of them what torch's schemas and meta functions say."""

import pytest
import torch

from fuse_mlir.compiler.base.products import (
    PRODUCTS,
    ProductOp,
    default_overloads,
    product_op,
    whole_overloads,
)
from fuse_mlir.compiler.fx.products import overloads

aten = torch.ops.aten
MATRICES = [op for op in PRODUCTS if op.factors is not None and op.row_major]


def named(op: ProductOp) -> object:
    return getattr(aten, op.name, None)


@pytest.mark.parametrize("op", [op for op in PRODUCTS if named(op)], ids=lambda op: op.name)
def test_an_entry_agrees_with_the_schema(op: ProductOp) -> None:
    packet = named(op)
    schema = packet.default._schema
    types = [str(a.type) for a in schema.arguments]
    places = [*(op.factors or ()), *op.images, *op.writes]
    assert all(types[place] == "Tensor" for place in places)
    assert op.groups is None or schema.arguments[op.groups].name == "groups"
    written = [
        i for i, a in enumerate(schema.arguments) if a.alias_info is not None and a.alias_info.is_write
    ]
    assert written == list(op.writes)
    assert not op.out or getattr(packet, op.out)._schema.is_mutable
    assert not op.activated or hasattr(aten, op.activated)
    assert not (op.fresh and any(r.alias_info for r in schema.returns))
    short = hasattr(torch._C._VariableFunctions, op.name) or hasattr(torch._C.TensorBase, op.name)
    assert short or not op.unboxed


def operands(op: ProductOp, turned: bool) -> list[torch.Tensor]:
    """A call's tensors on no device: m, k, n are 4, 6, 8, in batches of 2 for batched products."""
    batch = [] if op.paddable or op.name == "_addmm_activation" else [2]

    def factor(rows: int, columns: int) -> torch.Tensor:
        sizes = (*batch, columns, rows) if turned else (*batch, rows, columns)
        made = torch.empty(sizes, device="meta", dtype=torch.bfloat16)
        return made.mT if turned else made

    bias = [factor(4, 8) if batch else torch.empty(8, device="meta", dtype=torch.bfloat16)]
    return [*(bias if op.factors == (1, 2) else []), factor(4, 6), factor(6, 8)]


@pytest.mark.parametrize("op", MATRICES, ids=lambda op: op.name)
def test_results_are_row_major_and_flops_are_counted(op: ProductOp) -> None:
    for turned in (False, True):
        given = operands(op, turned)
        result = named(op).default(*given)
        assert result.is_contiguous()
        batches = result.numel() // 32
        assert op.flops is not None
        assert op.flops([tuple(t.shape) for t in given], [tuple(result.shape)]) == batches * 2 * 4 * 6 * 8


def test_attention_counts_both_products_and_five_halves_backward() -> None:
    q, k, v = (2, 3, 8, 16), (2, 3, 10, 16), (2, 3, 10, 4)
    forward, backward = (
        product_op(f"aten._scaled_dot_product_flash_attention{b}.default") for b in ("", "_backward")
    )
    once = 2 * 2 * 3 * 8 * 10 * (16 + 4)
    assert forward.flops([q, k, v], []) == once
    assert backward.flops([(2, 3, 8, 4), q, k, v], []) == once * 5 // 2


def test_convolutions_count_the_weights_of_a_channel_for_each_gradient() -> None:
    image, weight, result = (2, 3, 8, 8), (5, 3, 3, 3), (2, 5, 8, 8)
    once = 2 * 2 * 5 * 8 * 8 * 27
    assert product_op("aten.convolution.default").flops([image, weight], [result]) == once
    backward = product_op("aten.convolution_backward.default").flops
    assert backward([result, image, weight], [image, weight, (5,)]) == 2 * once


def test_an_op_is_found_by_any_of_its_overloads() -> None:
    assert product_op("aten.mm.out") is product_op("aten.mm.default") is not None
    assert product_op("aten.relu.default") is None and product_op("mylib.mm.default") is None
    assert "aten.mm.dtype" in whole_overloads("product") and "aten.mv.default" not in whole_overloads(
        "product"
    )
    wanted = default_overloads(lambda op: op.out)
    assert wanted == {"aten.mm.default", "aten.addmm.default", "aten.bmm.default"}
    assert {str(o) for o in overloads(lambda op: op.out)} == wanted
