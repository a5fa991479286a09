"""Checks every launch while a program runs: ``options={"check_values": ..., "synchronous": True}``.

A program that is compiled without these options contains none of this.
"""

from collections.abc import Sequence
from dataclasses import field
from typing import Any, Literal

import torch
from torch import Tensor

from ...base.dataclass import dataclass
from ...base.launch import Launch


class BadValue(ArithmeticError):
    """A launch wrote a NaN (or an infinity).  ``number``: of the launch, from 0; ``launch``: its description;
    ``kind``: of the first bad element, "NaN" or "infinity"; ``made``: whether nothing that it read, or wrote
    over, had such a value.
    """

    def __init__(self, number: int, launch: Launch, kind: str, what: str, made: bool) -> None:
        self.number, self.launch, self.kind, self.made = number, launch, kind, made
        super().__init__(f"launch {number} wrote {what}: {launch}")


class LaunchFailed(RuntimeError):
    """The GPU reported an error while a launch ran.  ``number``, ``launch`` as in ``BadValue``."""

    def __init__(self, number: int, launch: Launch, error: Exception) -> None:
        self.number, self.launch = number, launch
        super().__init__(f"launch {number} failed: {launch}: {error}")


@dataclass(frozen=True)
class LaunchWatch:
    """Called after every launch with its number and the tensors that it read and wrote.  A launch that may
    write over what it reads is shown before it, too, with these tensors, and None as written.

    values: "nan" raises ``BadValue`` at the first launch that wrote a NaN, "finite" at an infinity too.
    synchronous: waits for the GPU after every launch and raises ``LaunchFailed`` at the first that failed.
    """

    launches: Sequence[Launch]
    values: Literal["any", "nan", "finite"] = "any"
    synchronous: bool = False
    _before: set[int] = field(default_factory=set)  #: storages that were bad before the launch

    def __call__(self, number: int, read: Sequence[Any], written: Sequence[Any] | None) -> None:
        if written is None:
            if self.values != "any":
                found = (t.untyped_storage()._cdata for t in read if self._bad(t) is not None)
                self._before.update(found)
            return
        before = {*self._before}
        self._before.clear()
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
            if bad is None:
                continue
            kind = "NaN" if bool(tensor[bad][0].isnan()) else "infinity"
            inputs = [n for n, other in enumerate(read) if self._bad(other) is not None]
            over = any(isinstance(t, Tensor) and t.untyped_storage()._cdata in before for t in written)
            what = self._told(position, tensor, bad, inputs, over)
            raise BadValue(number, launch, kind, what, made=not inputs and not over)

    def _bad(self, tensor: Any) -> Tensor | None:
        """A mask of the bad elements; None if there are none."""
        if not isinstance(tensor, Tensor) or not (tensor.is_floating_point() or tensor.is_complex()):
            return None
        values = tensor.float() if tensor.element_size() == 1 else tensor
        bad = values.isnan() if self.values == "nan" else ~values.isfinite()
        return bad if bool(bad.any()) else None

    def _told(self, position: int, tensor: Tensor, bad: Tensor, inputs: Sequence[int], over: bool) -> str:
        """inputs: the positions of tensors that were read and have bad values.  over: the launch wrote over
        a tensor that had some.
        """
        first = tuple(bad.nonzero()[0].tolist())
        value = tensor[first].item()
        before = "its inputs had no such value"
        if inputs or over:
            who = f"its inputs {inputs}" if inputs else "what it wrote over"
            before = f"{who} had such values already"
        return (
            f"{value} (result {position}, {int(bad.sum())} of {tensor.numel()} elements, the first at "
            f"{list(first)}; {before})"
        )
