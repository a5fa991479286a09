"""A float64 run of code that asks for lower precision by name."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import TorchDispatchMode

_LOW = frozenset((torch.float16, torch.bfloat16, torch.float32))


class AllFloat64(TorchDispatchMode):
    """Replace every floating dtype that an operator is given by float64.

    Models compute statistics with `x.float()` or `softmax(dtype=torch.float32)`. A reference that obeyed
    would carry float32 rounding, correlated with eager's and not with a compiler's. Works below autograd, so
    the backward pass is float64 too. New tensors without a dtype follow the default dtype: use
    `float64_reference`.
    """

    def __torch_dispatch__(self, func: Any, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        args, kwargs = pytree.tree_map_only(torch.dtype, _widen, (args, kwargs or {}))
        return func(*args, **kwargs)


def _widen(dtype: torch.dtype) -> torch.dtype:
    return torch.float64 if dtype in _LOW else dtype


@contextmanager
def float64_reference() -> Iterator[None]:
    """Context: `AllFloat64` and a default dtype of float64; the default dtype is restored on exit."""
    default = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        with AllFloat64():
            yield
    finally:
        torch.set_default_dtype(default)
