"""Steps of optimizers over lists of parameters, as functions and in place."""

import torch
from torch import Tensor

from ..graph import Source
from .workload import BFLOAT16, FLOAT32, Workloads, lists

OPTIMIZERS = Workloads()


@OPTIMIZERS.add("functional_adam", (64, 256, 256), (4, 8, 8))
def _functional_adam(source: Source, tensors: int, *shape: int):
    """New parameters and moments are results."""

    def functional_adam(old: list, gradients: list, means: list, squares: list):
        means = torch._foreach_lerp(means, gradients, 0.1)
        squares = torch._foreach_addcmul(torch._foreach_mul(squares, 0.99), gradients, gradients, 0.01)
        roots = torch._foreach_add(torch._foreach_sqrt(torch._foreach_div(squares, 0.03)), 1e-8)
        steps = torch._foreach_div(torch._foreach_div(means, 0.27), roots)
        return torch._foreach_sub(old, torch._foreach_mul(steps, 1e-3)), means, squares

    old, gradients, means, squares = lists(source, 4, tensors, *shape)
    return functional_adam, (old, gradients, means, [s.square() + 0.01 for s in squares])


@OPTIMIZERS.add("foreach_lerp", (100, 512, 512), (4, 8, 8))
def _foreach_lerp(source: Source, tensors: int, *shape: int):
    """An average of weights over time."""

    def foreach_lerp(average: list, new: list) -> list:
        return torch._foreach_lerp(average, new, 0.001)

    return foreach_lerp, lists(source, 2, tensors, *shape)


@OPTIMIZERS.add("adamw_in_place", (48, 1024, 768), (4, 8, 8), mutates=True)
def _adamw_in_place(source: Source, tensors: int, *shape: int):
    def adamw_in_place(old: list, gradients: list, means: list, squares: list) -> None:
        torch._foreach_mul_(old, 1 - 1e-5)
        torch._foreach_lerp_(means, gradients, 0.1)
        torch._foreach_mul_(squares, 0.999)
        torch._foreach_addcmul_(squares, gradients, gradients, 0.001)
        roots = torch._foreach_sqrt(squares)
        torch._foreach_div_(roots, 0.03)
        torch._foreach_add_(roots, 1e-8)
        torch._foreach_addcdiv_(old, means, roots, -1e-3)

    old, gradients, means, squares = lists(source, 4, tensors, *shape)
    return adamw_in_place, (old, gradients, means, [s.square() + 0.01 for s in squares])


@OPTIMIZERS.add("lion", (48, 1024, 768), (4, 8, 8))
def _lion(source: Source, tensors: int, *shape: int):
    def lion(old: list, gradients: list, means: list):
        signs = torch._foreach_sign(torch._foreach_lerp(means, gradients, 0.1))
        new = torch._foreach_sub(torch._foreach_mul(old, 1 - 1e-4), torch._foreach_mul(signs, 1e-4))
        return new, torch._foreach_lerp(means, gradients, 0.01)

    return lion, lists(source, 3, tensors, *shape)


@OPTIMIZERS.add("adafactor", (4096, 8192), (16, 32))
def _adafactor(source: Source, rows: int, columns: int):
    """One matrix; its second moment is a row and a column."""

    def adafactor(old: Tensor, gradient: Tensor, row: Tensor, column: Tensor):
        square = gradient.square() + 1e-30
        row = row.lerp(square.mean(-1), 0.2)
        column = column.lerp(square.mean(-2), 0.2)
        factor = (row / row.mean(-1, keepdim=True)).rsqrt()[:, None] * column.rsqrt()[None, :]
        step = gradient * factor
        step = step / torch.clamp(step.square().mean().sqrt(), min=1.0)
        return old - 1e-3 * step, row, column

    moments = (source.normal(n).square() + 0.01 for n in (rows, columns))
    return adafactor, (source.normal(rows, columns), source.normal(rows, columns), *moments)


@OPTIMIZERS.add("muon", (8, 1024, 1024), (2, 16, 16), BFLOAT16, slack=8.0)
def _muon(source: Source, batch: int, *shape: int):
    """Five steps of Newton and Schulz."""

    def muon(gradient: Tensor, momentum: Tensor) -> tuple[Tensor, Tensor]:
        momentum = momentum.lerp(gradient, 0.05)
        x = momentum / (momentum.norm(dim=(-2, -1), keepdim=True) + 1e-7)
        for _ in range(5):
            a = x @ x.mT
            x = 3.4445 * x + (-4.7750 * a + 2.0315 * a @ a) @ x
        return x, momentum

    return muon, (source.normal(batch, *shape), source.normal(batch, *shape))


@OPTIMIZERS.add("clip_by_norm", (64, 512, 512), (4, 8, 8))
def _clip_by_norm(source: Source, tensors: int, *shape: int):
    def clip_by_norm(*gradients: Tensor):
        total = torch.stack(torch._foreach_norm(list(gradients))).norm()
        return torch._foreach_mul(list(gradients), torch.clamp(1.0 / (total + 1e-6), max=1.0)), total

    return clip_by_norm, tuple(source.normal(*shape) for _ in range(tensors))


@OPTIMIZERS.add("nesterov", (32, 2048, 1024), (4, 8, 8), mutates=True)
def _nesterov(source: Source, tensors: int, *shape: int):
    def nesterov(old: list, gradients: list, momenta: list) -> None:
        gradients = torch._foreach_add(gradients, old, alpha=1e-4)
        torch._foreach_mul_(momenta, 0.9)
        torch._foreach_add_(momenta, gradients)
        torch._foreach_add_(old, torch._foreach_add(gradients, momenta, alpha=0.9), alpha=-0.01)

    return nesterov, lists(source, 3, tensors, *shape)


@OPTIMIZERS.add("lamb", (24, 1024, 1024), (4, 8, 8))
def _lamb(source: Source, tensors: int, *shape: int):
    """A step as long as the norm of each tensor says."""

    def lamb(old: list, gradients: list, means: list, squares: list):
        found = []
        for w, g, m, v in zip(old, gradients, means, squares, strict=True):
            m, v = m.lerp(g, 0.1), v.lerp(g.square(), 0.001)
            step = m / (v.sqrt() + 1e-6) + 0.01 * w
            found.append((w - 1e-3 * (w.norm() / step.norm()).clamp(max=10.0) * step, m, v))
        return found

    old, gradients, means, squares = lists(source, 4, tensors, *shape)
    return lamb, (old, gradients, means, [s.square() + 0.01 for s in squares])


@OPTIMIZERS.add("weights_to_bfloat16", (200, 256, 1024), (4, 8, 8), FLOAT32)
def _weights_to_bfloat16(source: Source, tensors: int, *shape: int):
    """What a step of mixed precision copies."""

    def weights_to_bfloat16(*weights: Tensor) -> list[Tensor]:
        return [w.to(torch.bfloat16) for w in weights]

    return weights_to_bfloat16, tuple(source.normal(*shape) for _ in range(tensors))


__all__ = ["OPTIMIZERS"]
