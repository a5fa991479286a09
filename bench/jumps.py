"""Numbers at a jump: where rounding alone decides between two answers that lie far apart.

The gradient of a ReLU jumps where its argument is 0.  Of ten million arguments a few are nearer to 0 than
float32 rounds the sums that they are, so two programs that round otherwise, and are equally near to
float64, differ there by the whole jump.  `tolerance.py` would call the one wrong and the other right, by
luck.

Such a number is right if the exact function has that answer for arguments that rounding cannot tell from
the given ones.  So the float64 reference is computed again of arguments that are moved at random, each
number by at most `UNITS` units in the last place of its dtype, and by at most half of that.  A number beyond
its limit counts as right if all of these hold:

- It lies in the range of these references.
- The range of the smaller moves is as wide as that of the larger ones.  A jump is as high for small moves as
  for large ones; what a smooth function does shrinks with the moves, however steep it is.
- At most one in `RARE` numbers of its tensor is such a number.

Nothing is asked of a tensor that is within its limits.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.utils import _pytree as pytree

#: About as many as the roundings that lie behind one number of a result.
UNITS = 8.0
DRAWS = 16
RARE = 100_000
#: How much of the range of the larger moves that of the smaller ones has at a jump.
_AS_WIDE = 0.9

#: The float64 answer of a graph for arguments: the observed tensors by name.
Reference = Callable[[tuple[Any, ...]], Mapping[str, Tensor]]
_Range = tuple[Tensor, Tensor]


@dataclass(frozen=True)
class Jumps:
    """The least and the most of the float64 references of moved arguments, by tensor: of the larger moves and
    of the smaller ones.
    """

    large: Mapping[str, _Range]
    small: Mapping[str, _Range]

    @staticmethod
    def of(reference: Reference, args: tuple[Any, ...]) -> "Jumps":
        """Computes the reference 2 * `DRAWS` times.  args: in the dtypes that are computed in."""
        return Jumps(*(_range(reference, args, units) for units in (UNITS, UNITS / 2)))

    def settled(self, name: str, reference: Tensor, found: Tensor, limit: float) -> tuple[Tensor, int]:
        """A tensor of `reference`'s shape, in float64, in which numbers at a jump are the reference's, and
        how many these are; `found` itself and 0 where they are too many.

        limit: the largest error that a number may have elsewhere, relative to the largest of the reference.
        """
        exact, answer = reference.double(), found.double()
        (low, high), (least, most) = self.large[name], self.small[name]
        allowed = limit * float(exact.abs().max())
        beyond = (answer - exact).abs() > allowed
        within = (answer >= low - allowed) & (answer <= high + allowed)
        jumps = beyond & within & (most - least >= _AS_WIDE * (high - low))
        count = int(jumps.sum())
        if count * RARE > found.numel():
            return found, 0
        return torch.where(jumps, exact, answer), count


def _range(reference: Reference, args: tuple[Any, ...], units: float) -> dict[str, _Range]:
    ranges: dict[str, _Range] = {}
    for draw in range(DRAWS):
        for name, tensor in reference(_moved(args, units, draw)).items():
            value = tensor.double()
            low, high = ranges.get(name, (value, value))
            ranges[name] = torch.minimum(low, value), torch.maximum(high, value)
    return ranges


def _moved(args: tuple[Any, ...], units: float, draw: int) -> tuple[Any, ...]:
    """Arguments in float64, each number moved by at most `units` units in the last place of its dtype."""

    def move(tensor: Tensor) -> Tensor:
        if not tensor.is_floating_point():
            return tensor
        exact, generator = tensor.double(), torch.Generator(tensor.device).manual_seed(draw)
        drawn = torch.rand(exact.shape, generator=generator, device=tensor.device, dtype=torch.float64)
        return exact * (1 + (2 * drawn - 1) * units * torch.finfo(tensor.dtype).eps / 2)

    return pytree.tree_map_only(Tensor, move, args)


__all__ = ["DRAWS", "RARE", "UNITS", "Jumps"]
