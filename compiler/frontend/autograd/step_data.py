"""What a stored training step gives, as data, from which its stand-in is made (``stand_in.py``)."""

from typing import Any

import torch
from torch import Tensor

from ...base.dataclass import dataclass


@dataclass(frozen=True)
class Look:
    """Sizes, strides in elements, dtype ("float32") and device ("cuda:0") of a tensor."""

    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: str
    device: str

    @staticmethod
    def of(value: Any) -> "Look | None":
        """None for what is no strided tensor of known sizes."""
        if not isinstance(value, Tensor) or value.layout is not torch.strided:
            return None
        if any(type(n) is not int for n in (*value.shape, *value.stride())):
            return None
        dtype = str(value.dtype).removeprefix("torch.")
        return Look(tuple(value.shape), tuple(value.stride()), dtype, str(value.device))

    def empty(self) -> Tensor:
        dtype = getattr(torch, self.dtype)
        return torch.empty_strided(self.sizes, self.strides, dtype=dtype, device=self.device)


@dataclass(frozen=True)
class TrainingStep:
    """The outputs of a forward graph, ``(*results, *saved)``, and of its backward graph, one for each input.

    saved: what each saved tensor is: ("input", its number), ("result", its number) or ("made", its number in
    ``made``).  made: tensors that are saved and are neither.  differentiable: whether each result has a
    gradient.  gradients: None for an input without one.
    """

    results: tuple[Look, ...]
    differentiable: tuple[bool, ...]
    saved: tuple[tuple[str, int], ...]
    made: tuple[Look, ...]
    gradients: tuple[Look | None, ...]

    @property
    def forward(self) -> list[Tensor]:
        """Tensors like what the op of the forward graph gives."""
        return [look.empty() for look in (*self.results, *self.made)]

    @property
    def backward(self) -> list[Tensor]:
        """Tensors like what the op of the backward graph gives: the gradients that there are."""
        return [look.empty() for look in self.gradients if look is not None]
