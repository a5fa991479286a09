"""Checks of what dropout must satisfy when its mask cannot be predicted.

Statistics of one mask, and properties of a whole model in training: the same seed gives the same bits,
another seed another mask, the mean loss is eager's, and the backward pass uses the masks of the forward pass.
"""

import copy
import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from .dynamo import Backend, backend_name, counted
from .models.case import ModelCase

Z_LIMIT = 5.0
DERIVATIVE_LIMIT = 1e-5


@dataclass(frozen=True)
class MaskStatistics:
    """One dropout mask against independent draws that keep with probability 1 - p.

    kept:       fraction kept.
    z_kept:     (kept - expected) in standard deviations of a binomial.
    z_neighbours: per dim longer than one, the correlation of neighbours along it, in standard deviations.
    scale_error:  max|y - x / (1 - p)| / max|x / (1 - p)| over the kept elements.
    """

    kept: float
    z_kept: float
    z_neighbours: tuple[float, ...]
    scale_error: float
    eps: float

    @property
    def passed(self) -> bool:
        """Every z within `Z_LIMIT` (one in 1.7 million for a fair mask), kept values scaled to rounding."""
        zs = (self.z_kept, *self.z_neighbours)
        return all(abs(z) <= Z_LIMIT for z in zs) and self.scale_error <= self.eps


def mask_statistics(x: Tensor, y: Tensor, p: float) -> MaskStatistics:
    """Statistics of the mask in y = dropout(x, p).

    x, y: floating, equal shapes, x without zeros. 0 < p < 1. Raises ValueError otherwise. At least a few
    thousand elements are needed for the statistics to mean anything.
    """
    if x.shape != y.shape or not 0.0 < p < 1.0:
        raise ValueError(
            f"mask_statistics needs equal shapes and 0 < p < 1, got {x.shape}, {y.shape}, p = {p}"
        )
    if bool((x == 0).any()):
        raise ValueError("mask_statistics needs x without zeros: a kept zero looks dropped")
    keep = y != 0
    variance = p * (1 - p)
    centred = keep.double() - (1 - p)
    z_kept = float(centred.sum()) / math.sqrt(keep.numel() * variance)
    neighbours = []
    for dim, extent in enumerate(keep.shape):
        if extent > 1:
            product = centred.narrow(dim, 0, extent - 1) * centred.narrow(dim, 1, extent - 1)
            neighbours.append(float(product.sum()) / (variance * math.sqrt(product.numel())))
    expected = x.double() / (1 - p)
    error = ((y.double() - expected).abs() * keep).max() / expected.abs().max()
    kept = float(keep.double().mean())
    return MaskStatistics(kept, z_kept, tuple(neighbours), float(error), torch.finfo(y.dtype).eps)


def same_mask_in_backward(fn: Callable[[Tensor], Tensor], x: Tensor) -> bool:
    """Whether the gradient of a dropout `fn` is zero exactly where its output is. x has no zeros."""
    leaf = x.detach().clone().requires_grad_()
    y = fn(leaf)
    (gradient,) = torch.autograd.grad(y.sum(), leaf)
    return torch.equal(y != 0, gradient != 0)


@dataclass(frozen=True)
class RandomReport:
    """Properties of a random case under one backend.

    graphs:       compiled by Dynamo; none is a failure.
    reproducible: equal seeds gave equal bits, outputs and gradients.
    varies:       other seeds gave other outputs.
    z_mean:       difference of the mean losses of compiled and eager over the seeds, in standard errors.
    derivative_error: relative error of gradient . direction against central differences, in float64.
    """

    case: str
    backend: str
    graphs: int
    reproducible: bool
    varies: bool
    z_mean: float
    derivative_error: float

    @property
    def passed(self) -> bool:
        exact = self.graphs > 0 and self.reproducible and self.varies
        return exact and abs(self.z_mean) <= Z_LIMIT and self.derivative_error <= DERIVATIVE_LIMIT

    def __str__(self) -> str:
        return (
            f"{'PASS' if self.passed else 'FAIL':6} {self.case:28} {self.backend:10} "
            f"graphs {self.graphs} reproducible {self.reproducible} varies {self.varies} "
            f"z {self.z_mean:+.1f} derivative {self.derivative_error:.1e}"
        )

    def to_json(self) -> dict[str, Any]:
        return {"passed": self.passed, **asdict(self)}


def check_random_case(
    case: ModelCase,
    backend: Backend,
    device: torch.device | str = "cpu",
    *,
    batch: int = 2,
    seeds: int = 32,
    step: float = 1e-6,
    options: Mapping[str, Any] | None = None,
) -> RandomReport:
    """Check a case whose training draws random numbers; float64, so that differences resolve the gradient.

    A fixed seed fixes every mask, and the loss is then an ordinary function of the weights: its derivative
    along a random direction must be the gradient's. A backward pass that draws its masks anew fails this.
    """
    device = torch.device(device)
    module = case.new_module(device, torch.float64).train()
    inputs = case.inputs(batch, device, torch.float64)
    rng = torch.random.fork_rng(devices=[device] if device.type == "cuda" else [])

    def loss(call: Callable[..., Any], seed: int) -> Tensor:
        torch.manual_seed(seed)
        given = copy.deepcopy(inputs)
        return case.loss(call(*given.args, **given.kwargs))

    with rng, counted() as counts:
        compiled = torch.compile(module, backend=backend, options=dict(options) if options else None)
        first, again, other = (_with_gradients(module, partial(loss, compiled, seed)) for seed in (0, 0, 1))
        derivative = _derivative_error(module, first[1:], partial(loss, compiled, 0), step)
        means = ([loss(call, 100 + n).item() for n in range(seeds)] for call in (compiled, module))
        z_mean = _z_of_means(*means)
    reproducible = all(torch.equal(a, b) for a, b in zip(first, again, strict=True))
    varies = not torch.equal(first[0], other[0])
    return RandomReport(
        case.name, backend_name(backend), counts["graphs"], reproducible, varies, z_mean, derivative
    )


def _with_gradients(module: nn.Module, loss: Callable[[], Tensor]) -> list[Tensor]:
    """The loss, then the gradient of every parameter."""
    module.zero_grad(set_to_none=True)
    value = loss()
    value.backward()
    return [value.detach(), *(p.grad.detach().clone() for p in module.parameters() if p.grad is not None)]


def _z_of_means(first: list[float], second: list[float]) -> float:
    a, b = torch.tensor(first, dtype=torch.float64), torch.tensor(second, dtype=torch.float64)
    spread = math.sqrt(float(a.var() / len(a) + b.var() / len(b)))
    difference = float(a.mean() - b.mean())
    return difference / spread if spread else (0.0 if difference == 0.0 else math.inf)


def _derivative_error(
    module: nn.Module, gradients: list[Tensor], loss: Callable[[], Tensor], step: float
) -> float:
    """Relative error of gradient . direction, direction being random of unit variance per weight."""
    parameters = [p for p in module.parameters() if p.grad is not None]
    generator = torch.Generator().manual_seed(7)
    directions = [
        torch.randn(p.shape, generator=generator, dtype=torch.float64).to(p.device) for p in parameters
    ]
    expected = sum(float((g * d).sum()) for g, d in zip(gradients, directions, strict=True))
    values = []
    for sign in (1, -2):
        with torch.no_grad():
            for parameter, direction in zip(parameters, directions, strict=True):
                parameter.add_(direction, alpha=sign * step)
        values.append(float(loss().detach()))
    with torch.no_grad():
        for parameter, direction in zip(parameters, directions, strict=True):
            parameter.add_(direction, alpha=step)
    measured = (values[0] - values[1]) / (2 * step)
    return abs(measured - expected) / max(abs(expected), abs(measured))
