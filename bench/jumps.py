"""Numbers at a jump: where rounding alone decides between two answers that lie far apart.

The gradient of a ReLU jumps where its argument is 0.  Of ten million arguments a few are nearer to 0 than
float32 rounds the sums that they are, so two programs that round otherwise, and are equally near to float64,
differ there by the whole jump, and in all that is summed of it.  `tolerance.py` would call the one wrong and
the other right, by luck.

Such a number is right if the exact function has that answer for arguments that rounding cannot tell from the
given ones.  So the float64 reference is computed again of arguments that are moved at random, each number by
at most `UNITS` units in the last place of its dtype, and of such that are moved the same way by half of that.
A number beyond its limit counts as right if one of `DRAWS` such pairs explains it:

- It is within twice its limit of the reference of the smaller move.
- The larger move has the same answer, but for a quarter of its distance from the given arguments' reference.
  A jump is as high for small moves as for large ones.  A smooth function, however steep it is, moves twice as
  far.

Nothing is explained where more than one in `RARE` numbers of all tensors are beyond their limits.
"""

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor
from torch.utils import _pytree as pytree

#: About as many as the roundings that lie behind one number of a result.
UNITS = 8.0
DRAWS = 16
RARE = 100_000
#: How far apart the answers of a pair may be, as a part of their distance from the reference.
_APART = 0.25

#: The float64 answer of a graph for arguments: the observed tensors by name.
Reference = Callable[[tuple[Any, ...]], Mapping[str, Tensor]]


def at_jumps(
    exact: Reference,
    args: tuple[Any, ...],
    reference: Mapping[str, Tensor],
    found: Mapping[str, Tensor],
    limits: Mapping[str, float],
) -> dict[str, Tensor]:
    """Which numbers of a found answer are beyond their limits and lie at a jump: masks, by tensor.

    args: in the dtypes that are computed in.   reference: `exact` of these, of `found`'s shapes.
    limits: of the tensors that are looked at, the largest error that a number may have elsewhere, relative to
    the largest of its reference.
    """
    beyond, wanted, answers, allowed = {}, {}, {}, {}
    for name, limit in limits.items():
        ref, answer = reference[name].double(), found[name].double()
        allowed[name] = limit * float(ref.abs().max())
        beyond[name] = (answer - ref).abs() > allowed[name]
        wanted[name], answers[name] = ref[beyond[name]], answer[beyond[name]]
    explained = {name: torch.zeros_like(answer, dtype=torch.bool) for name, answer in answers.items()}
    rare = sum(map(Tensor.numel, answers.values())) * RARE <= sum(map(Tensor.numel, reference.values()))
    for draw in range(DRAWS if rare else 0):
        near, far = (exact(_moved(args, units, draw)) for units in (UNITS / 2, UNITS))
        for name, answer in answers.items():
            close, distant = near[name][beyond[name]], far[name][beyond[name]]
            same = (distant - close).abs() <= _APART * (close - wanted[name]).abs()
            explained[name] |= same & ((answer - close).abs() <= 2 * allowed[name])
        if all(bool(mask.all()) for mask in explained.values()):
            break
    return {name: mask.masked_scatter(mask, explained[name]) for name, mask in beyond.items()}


def _moved(args: tuple[Any, ...], units: float, draw: int) -> tuple[Any, ...]:
    """Arguments in float64, each number moved by at most `units` units in the last place of its dtype; of one
    draw, all by the same part of that.
    """

    def move(tensor: Tensor) -> Tensor:
        if not tensor.is_floating_point():
            return tensor
        exact, generator = tensor.double(), torch.Generator(tensor.device).manual_seed(draw)
        drawn = torch.rand(exact.shape, generator=generator, device=tensor.device, dtype=torch.float64)
        return exact * (1 + (2 * drawn - 1) * units * torch.finfo(tensor.dtype).eps / 2)

    return pytree.tree_map_only(Tensor, move, args)


__all__ = ["DRAWS", "RARE", "UNITS", "at_jumps"]
