"""Runs the rewrites that choose layouts, and says which results lie otherwise in memory than eager's."""

from collections.abc import Collection, Sequence
from typing import Any

from torch.fx import GraphModule

from ...base.launch import line_text
from ...base.remarks import Remarks
from ...fx.frames import user_line
from ...fx.saved_strides import ALL_KEPT, KeptStrides, moved_inputs
from ..stages import LAYOUTS, Switch
from .relayout import Relayout


def choose_layouts(
    gm: GraphModule,
    example_inputs: Sequence[Any] = (),
    *,
    on: Collection[Switch] = (Switch.ALWAYS, Switch.LAYOUTS),
    kept: KeptStrides = ALL_KEPT,
    remarks: Remarks | None = None,
) -> None:
    """Rewrites a functional graph with ``meta["val"]`` in place.

    The strides of ``example_inputs`` that another graph chose, of saved tensors, are taken over.  on: as in
    ``Stage.run``.  kept: which results must have the strides of their metadata.  remarks: get what was
    rewritten, and which results keep the padding behind their rows.
    """
    remarks = Remarks() if remarks is None else remarks
    layouts = Relayout(gm, kept)
    for node, strides in moved_inputs(gm, example_inputs).items():
        layouts.set_strides(node, strides)
    LAYOUTS.run(gm, on, remarks, layouts)
    if Switch.LAYOUTS not in on and layouts.eager:  # else the last rewrite has spread them
        layouts.spread()
    _report_padded(layouts, remarks)


def _report_padded(layouts: Relayout, remarks: Remarks) -> None:
    """Leaves a remark of each result whose rows are further apart than eager's."""
    for node in layouts.padded:
        value = node.meta["val"]
        line = user_line(node)
        remarks.add(
            "layouts", "passed", "padded-rows", "a result keeps the padding behind its rows: no copy is made",
            ops=(node.name,),
            locations=() if line is None else (line_text(line),),
            row=value.shape[-1],
            stride=value.stride(-2),
        )  # fmt: skip


__all__ = ["choose_layouts"]
