"""The choice of layouts for one graph: see the modules beside this one for each rule and its reason."""

from collections.abc import Sequence
from typing import Any

from torch.fx import GraphModule, Node

from ...base.remarks import Remarks
from ...fx.saved_strides import ALL_KEPT, KeptStrides, moved_inputs
from ..rewriting import Rewriting
from .convolutions import lay_out_convolution, split_bias
from .gaps import close_gaps
from .pad_products import pad_products
from .patches import multiply_patches
from .relayout import Relayout


def choose_layouts(
    gm: GraphModule,
    example_inputs: Sequence[Any] = (),
    *,
    free: bool = True,
    kept: KeptStrides = ALL_KEPT,
    remarks: Remarks | None = None,
) -> list[Node]:
    """Rewrites a functional graph with ``meta["val"]`` in place; the results whose rows are further apart
    than its metadata said.

    free: whether layouts may be chosen; else gaps are closed and those of ``example_inputs`` (saved by
    another graph) are taken over, no more.  kept: which results must have the strides of their metadata.
    remarks: get which ops were rewritten.
    """
    layouts = Relayout(gm)
    for node, strides in moved_inputs(gm, example_inputs).items():
        layouts.set_strides(node, strides)
    close_gaps(layouts)
    if free:
        rewriting = Rewriting(gm, Remarks() if remarks is None else remarks)
        for rewrite in (multiply_patches, split_bias, pad_products):
            rewriting.run(rewrite, layouts)

    def visit(node: Node) -> None:
        if free:
            lay_out_convolution(layouts, node)

    if free or layouts.eager:
        layouts.spread(visit, kept)
    return layouts.padded


__all__ = ["choose_layouts"]
