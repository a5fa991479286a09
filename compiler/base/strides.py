"""Places of a strided tensor, as plain numbers."""

from collections.abc import Sequence


def span(sizes: Sequence[int], strides: Sequence[int]) -> int:
    """How many elements of memory lie from the first to the last of a tensor with such sizes and strides,
    both included; 0 where it has none.
    """
    return 0 if 0 in sizes else 1 + sum((n - 1) * s for n, s in zip(sizes, strides, strict=True))


__all__ = ["span"]
