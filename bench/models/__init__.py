"""The table of models: `CASES[name]` is a `ModelCase`.

Everything is built from configurations with random weights; nothing is downloaded.
"""

from collections.abc import Iterator
from typing import Any

from . import blocks, convnets, gpt2_small, optimizers, zoo
from .case import Draw, Inputs, Mode, ModelCase, Size, loss_attribute, named_tensors, projection_loss, table

CASES = table(blocks.cases(), convnets.cases(), optimizers.cases(), gpt2_small.cases(), zoo.cases())


def select(*, size: Size | None = None, mode: Mode | None = None, **fields: Any) -> Iterator[ModelCase]:
    """The cases of one size that support one mode, in table order; other fields are compared for equality."""
    for case in CASES.values():
        if size is not None and case.size != size:
            continue
        if mode is not None and mode not in case.modes:
            continue
        if all(getattr(case, name) == value for name, value in fields.items()):
            yield case


__all__ = [
    "CASES",
    "Draw",
    "Inputs",
    "Mode",
    "ModelCase",
    "Size",
    "loss_attribute",
    "named_tensors",
    "projection_loss",
    "select",
    "table",
]
