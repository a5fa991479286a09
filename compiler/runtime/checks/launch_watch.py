"""Checks every launch while a program runs: ``options={"check_values": ..., "synchronous": True}``.

A program that is compiled without these options contains none of this.
"""

from collections.abc import Sequence
from typing import Any, Literal

import torch
from torch import Tensor

from ...base.dataclass import dataclass
from ...base.launch import Launch


class BadValue(ArithmeticError):
    """A launch wrote a NaN (or an infinity).  ``number``: of the launch; ``launch``: its description."""

    def __init__(self, number: int, launch: Launch, what: str) -> None:
        self.number, self.launch = number, launch
        super().__init__(f"launch {number} wrote {what}: {launch}")


class LaunchFailed(RuntimeError):
    """The GPU reported an error while a launch ran.  ``number``, ``launch`` as in ``BadValue``."""

    def __init__(self, number: int, launch: Launch, error: Exception) -> None:
        self.number, self.launch = number, launch
        super().__init__(f"launch {number} failed: {launch}: {error}")


@dataclass(frozen=True)
class LaunchWatch:
    """Called after every launch with its number and the tensors that it read and wrote.

    values: "nan" raises ``BadValue`` at the first launch that wrote a NaN, "finite" at an infinity too.
    synchronous: waits for the GPU after every launch and raises ``LaunchFailed`` at the first that failed.
    """

    launches: Sequence[Launch]
    values: Literal["any", "nan", "finite"] = "any"
    synchronous: bool = False

    def __call__(self, number: int, read: Sequence[Any], written: Sequence[Any]) -> None:
        launch = self.launches[number]
        if self.synchronous and torch.cuda.is_initialized():
            try:
                torch.cuda.synchronize()
            except RuntimeError as error:
                raise LaunchFailed(number, launch, error) from error
        if self.values == "any":
            return
        for position, tensor in enumerate(written):
            bad = self._bad(tensor)
            if bad is not None:
                raise BadValue(number, launch, self._told(position, tensor, bad, read))

    def _bad(self, tensor: Any) -> Tensor | None:
        """A mask of the bad elements; None if there are none."""
        if not isinstance(tensor, Tensor) or not (tensor.is_floating_point() or tensor.is_complex()):
            return None
        values = tensor.float() if tensor.element_size() == 1 else tensor
        bad = values.isnan() if self.values == "nan" else ~values.isfinite()
        return bad if bool(bad.any()) else None

    def _told(self, position: int, tensor: Tensor, bad: Tensor, read: Sequence[Any]) -> str:
        first = tuple(bad.nonzero()[0].tolist())
        value = tensor[first].item()
        inputs = [n for n, other in enumerate(read) if self._bad(other) is not None]
        before = f"its inputs {inputs} had such values already" if inputs else "its inputs had no such value"
        return (
            f"{value} (result {position}, {int(bad.sum())} of {tensor.numel()} elements, the first at "
            f"{list(first)}; {before})"
        )
