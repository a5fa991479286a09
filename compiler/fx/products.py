"""Overloads of the ops that multiply matrices, by what ``base/products.py`` says about them."""

from collections.abc import Callable
from typing import Any

import torch

from ..base.products import PRODUCTS, ProductOp


def overloads(wanted: Callable[[ProductOp], object]) -> dict[Any, ProductOp]:
    """The ``default`` overloads of the ops that answer a question with yes, each with its entry."""
    return {getattr(torch.ops.aten, op.name).default: op for op in PRODUCTS if wanted(op)}
