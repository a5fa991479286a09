"""Optimiser steps over several tensors."""

import torch

from .graph import floats, graph

parameters = (floats(4, 5), floats(5), floats(3, 2))
gradients = tuple(floats(*p.shape, seed=7) for p in parameters)
first = tuple(floats(*p.shape, seed=8) for p in parameters)
second = tuple(floats(*p.shape, seed=9) for p in parameters)


@graph(*parameters, *gradients)
def sgd(*tensors):
    for p, g in zip(tensors[:3], tensors[3:], strict=True):
        p.sub_(g, alpha=0.1)


@graph(*parameters, *gradients, *first)
def momentum(*tensors):
    for p, g, m in zip(tensors[:3], tensors[3:6], tensors[6:], strict=True):
        m.mul_(0.9).add_(g)
        p.sub_(m * 0.1)


@graph(*parameters, *gradients, *first, *second)
def adam(*tensors):
    for p, g, m, v in zip(tensors[:3], tensors[3:6], tensors[6:9], tensors[9:], strict=True):
        m.lerp_(g, 0.1)
        v.mul_(0.99).addcmul_(g, g, value=0.01)
        p.addcdiv_(m, v.abs().sqrt() + 1e-3, value=-0.1)


@graph(*parameters, *gradients, *first, *second)
def adam_foreach(*tensors):
    p, g, m, v = (list(tensors[i : i + 3]) for i in (0, 3, 6, 9))
    torch._foreach_lerp_(m, g, 0.1)
    torch._foreach_mul_(v, 0.99)
    torch._foreach_addcmul_(v, g, g, 0.01)
    root = torch._foreach_add(torch._foreach_sqrt(torch._foreach_abs(v)), 1e-3)
    torch._foreach_addcdiv_(p, m, root, -0.1)


@graph(*gradients)
def clipped(*grads):
    norm = torch.stack([g.square().sum() for g in grads]).sum().sqrt()
    return [g * (1.0 / (norm + 1e-6)).clamp(max=1.0) for g in grads]
