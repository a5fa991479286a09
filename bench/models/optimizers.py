"""Optimiser steps as modules: all state comes in as arguments and is updated in place, without gradients."""

from collections.abc import Iterator
from functools import partial
from typing import NoReturn

import torch
from torch import Tensor, nn

from .case import Draw, Inputs, ModelCase

SHAPES = ((64, 64), (64,), (128, 64), (128,), (), (3, 5, 7))


class AdamStep(nn.Module):
    """One step of Adam (Kingma and Ba, 2015, algorithm 1) on lists of tensors of equal shapes.

    `foreach` writes it with horizontally fused list operations, otherwise with a loop over the parameters.
    forward(params, grads, exp_avgs, exp_avg_sqs, step): `step` is a float32 0-d tensor counting the steps
    done; params, exp_avgs, exp_avg_sqs and step are mutated; returns nothing.
    """

    def __init__(self, *, foreach: bool, rate: float = 1e-2, betas=(0.9, 0.999), eps: float = 1e-8) -> None:
        super().__init__()
        self.foreach, self.rate, self.betas, self.eps = foreach, rate, betas, eps

    def forward(
        self,
        params: list[Tensor],
        grads: list[Tensor],
        exp_avgs: list[Tensor],
        exp_avg_sqs: list[Tensor],
        step: Tensor,
    ) -> None:
        with torch.no_grad():
            step.add_(1)
            update = self._listed if self.foreach else self._looped
            update(params, grads, exp_avgs, exp_avg_sqs, step)

    def _corrections(self, step: Tensor) -> tuple[Tensor, Tensor]:
        """The step size with the first moment's bias removed; the root of the second moment's bias."""
        first, second = self.betas
        return self.rate / (1 - first**step), (1 - second**step).sqrt()

    def _looped(self, params, grads, exp_avgs, exp_avg_sqs, step) -> None:
        first, second = self.betas
        rate, root = self._corrections(step)
        for param, grad, average, square in zip(params, grads, exp_avgs, exp_avg_sqs, strict=True):
            average.lerp_(grad, 1 - first)
            square.mul_(second).addcmul_(grad, grad, value=1 - second)
            param.sub_(rate * average / (square.sqrt() / root + self.eps))

    def _listed(self, params, grads, exp_avgs, exp_avg_sqs, step) -> None:
        first, second = self.betas
        rate, root = self._corrections(step)
        torch._foreach_lerp_(exp_avgs, grads, 1 - first)
        torch._foreach_mul_(exp_avg_sqs, second)
        torch._foreach_addcmul_(exp_avg_sqs, grads, grads, 1 - second)
        scale = torch._foreach_sqrt(exp_avg_sqs)
        torch._foreach_div_(scale, root)
        torch._foreach_add_(scale, self.eps)
        change = torch._foreach_div(exp_avgs, scale)
        torch._foreach_mul_(change, rate)
        torch._foreach_sub_(params, change)


def _state(batch: int, device: torch.device, dtype: torch.dtype) -> Inputs:
    """The state after three steps: the leading extent of the first parameter follows `batch`."""
    draw = Draw(device, dtype)
    shapes = ((batch, 64), *SHAPES[1:])
    params, grads, averages = ([draw.normal(*shape) for shape in shapes] for _ in range(3))
    squares = [draw.normal(*shape).square() + 0.01 for shape in shapes]
    return Inputs((params, grads, averages, squares, torch.tensor(3.0, device=device)))


def _no_loss(outputs: object) -> NoReturn:
    raise ValueError("an optimiser step has no loss: it runs in inference mode only")


def cases() -> Iterator[ModelCase]:
    """Adam, looped and with list operations."""
    dims = {f"{group}.0": (0,) for group in range(4)}
    for name, foreach in (("adam_step", False), ("adam_step_foreach", True)):
        yield ModelCase(
            name,
            partial(AdamStep, foreach=foreach),
            _state,
            _no_loss,
            dims,
            modes=("inference",),
        )
