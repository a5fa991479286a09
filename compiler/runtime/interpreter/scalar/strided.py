"""Accesses as strides: coordinates that are affine in the *digits* of the dims become a strided view of a
storage.

A kernel's dims are often flattened: a row-major tensor of 6 columns is read at ``[d0 floordiv 6, d0 mod 6]``.
The divisions define a mixed radix, here d0 = 6*a + b.  In the digits a and b every coordinate is affine, so
the access is a view with one axis for each digit.  These axes are then folded back into one axis for each
dim.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise

import torch
from torch import Tensor

from ....base.dataclass import dataclass
from ....index import Expr, FloorDiv, Mod


@dataclass(frozen=True)
class Digit:
    """One digit of a dim: its weight, the number of its values here, and the first of them."""

    weight: int
    count: int
    first: int = 0


@dataclass(frozen=True)
class Strided:
    """An access that stays in bounds.  For each digit of each axis it has a count and a step (in elements),
    the most significant digit first.

    ``start``: storage offset of the element where all digits are at their first value.
    """

    start: int
    counts: tuple[tuple[int, ...], ...]
    steps: tuple[tuple[int, ...], ...]

    @property
    def _flat(self) -> list[tuple[int, int]]:
        return [p for c, s in zip(self.counts, self.steps, strict=True) for p in zip(c, s, strict=True)]

    @property
    def _reversed(self) -> list[int]:
        return [axis for axis, (_, step) in enumerate(self._flat) if step < 0]

    @property
    def shape(self) -> tuple[int, ...]:
        """Points along each axis."""
        return tuple(int(torch.Size(c).numel()) for c in self.counts)

    @property
    def is_injective(self) -> bool:
        """Whether no two points access one element: every step exceeds the sum of all smaller ranges."""
        reach = 0
        for step, count in sorted((abs(s), n) for n, s in self._flat if n > 1):
            if step <= reach:
                return False
            reach += step * (count - 1)
        return True

    def _view(self, tensor: Tensor) -> Tensor:
        """A view with one axis for each digit.  torch has no negative strides: such axes are reversed."""
        start = self.start + sum(s * (n - 1) for n, s in self._flat if s < 0)
        return torch.as_strided(
            tensor, [n for n, _ in self._flat], [abs(s) for _, s in self._flat], max(start, 0)
        )

    def read(self, tensor: Tensor) -> Tensor:
        """The elements, with one axis for each dim: a view of ``tensor``'s storage where torch can express
        it, else a copy.
        """
        return self.digits(tensor).reshape(self.shape)

    def write(self, tensor: Tensor, value: Tensor, guard: Tensor | None) -> None:
        """Stores ``value`` where ``guard`` is true; both have extents of ``shape`` or 1."""
        view, value = self._view(tensor), self._split(value)
        view.copy_(value if guard is None else torch.where(self._split(guard), value, view))

    def takes(self, shape: Sequence[int]) -> bool:
        """Whether a value of ``shape`` has no points besides these."""
        return all(n in (1, m) for n, m in zip(shape, self.shape, strict=True))

    def _split(self, value: Tensor) -> Tensor:
        digits = split(value, self.counts)
        return digits.flip(self._reversed) if self._reversed else digits

    def digits(self, tensor: Tensor) -> Tensor:
        """The elements, with one axis for each digit."""
        view = self._view(tensor)
        return view.flip(self._reversed) if self._reversed else view


@dataclass(frozen=True)
class Clipped:
    """An access that is in bounds only in a box of digits.  ``inside`` is the access in that box, which
    begins at ``firsts``; ``counts`` are the numbers of values of all digits, per axis.
    """

    inside: Strided
    firsts: tuple[tuple[int, ...], ...]
    counts: tuple[tuple[int, ...], ...]

    def read(self, tensor: Tensor, guard: Tensor, other: Tensor) -> Tensor | None:
        """The elements where ``guard`` is true, else ``other``.  None if it is true at a point that is out of
        bounds.
        """
        wide, full = split(guard, self.counts), [n for c in self.counts for n in c]
        boxed = [axis for axis, (_, first, n) in enumerate(self._flat) if (first, n) != (0, full[axis])]
        outside = wide.expand([full[a] if a in boxed else n for a, n in enumerate(wide.shape)]).clone()
        self._box(outside, boxed).fill_(False)
        if outside.any():
            return None
        value = torch.empty(full, dtype=tensor.dtype)
        value.copy_(
            other.reshape([1] * len(full)) if other.numel() == 1 else torch.zeros((), dtype=tensor.dtype)
        )
        self._box(value, range(len(full))).copy_(self.inside.digits(tensor))
        return torch.where(guard, value.reshape([int(torch.Size(c).numel()) for c in self.counts]), other)

    @property
    def _flat(self) -> list[tuple[int, int, int]]:
        counts = [n for c in self.inside.counts for n in c]
        firsts = [n for f in self.firsts for n in f]
        return [(axis, first, n) for axis, (first, n) in enumerate(zip(firsts, counts, strict=True))]

    def _box(self, value: Tensor, axes: Sequence[int]) -> Tensor:
        for axis, first, n in self._flat:
            if axis in axes:
                value = value.narrow(axis, first, n)
        return value


def split(value: Tensor, counts: Sequence[Sequence[int]]) -> Tensor:
    """``value`` with one axis for each digit; an axis that ``counts`` does not describe stays as it is."""
    sizes: list[int] = []
    for extent, digits in zip(value.shape, counts, strict=True):
        if extent == 1:
            sizes += [1] * len(digits)
        else:
            sizes += digits if extent == int(torch.Size(digits).numel()) else [extent]
    return value.reshape(sizes)


def strided(
    coordinates: Sequence[Expr],
    tensor: Tensor,
    names: Sequence[str],
    starts: Sequence[int],
    counts: Sequence[int],
) -> Strided | None:
    """The access as strides.  None if a coordinate is not affine in digits, or lies outside ``tensor`` at
    some point.

    ``coordinates`` are over the dims ``names`` alone (sizes are numbers by now); dim i runs over counts[i]
    values from starts[i].
    """
    radix = _radix(coordinates, dict(zip(names, zip(starts, counts, strict=True), strict=True)))
    used = {n for c in coordinates for n in c.symbols()}
    # a kernel without points may still load at those of fewer dims: nothing is in bounds of an empty tensor
    empty = 0 in (count for n, count in zip(names, counts, strict=True) if n in used or not tensor.numel())
    return None if radix is None else _placed(coordinates, tensor, names, radix, empty)


def clipped(
    coordinates: Sequence[Expr],
    tensor: Tensor,
    names: Sequence[str],
    starts: Sequence[int],
    counts: Sequence[int],
) -> Clipped | None:
    """The part of an access that is in bounds, if that is a box of digits; None if it is not, or is empty."""
    radix = _radix(coordinates, dict(zip(names, zip(starts, counts, strict=True), strict=True)))
    if radix is None or 0 in counts:
        return None
    box = dict(radix)
    for coordinate, size in zip(coordinates, tensor.shape, strict=True):
        factors = _factors(coordinate, radix)
        if len(factors) != 1:
            continue  # _placed decides whether it is in bounds
        ((name, weight), factor), low, high = *factors.items(), -coordinate.shift, size - 1 - coordinate.shift
        low, high = (-(-low // factor), high // factor) if factor > 0 else (-(-high // factor), low // factor)
        box[name] = tuple(_between(d, low, high) if d.weight == weight else d for d in box[name])
    if any(d.count <= 0 for ds in box.values() for d in ds):
        return None
    inside = _placed(coordinates, tensor, names, box, False)
    if inside is None:
        return None
    used = {n for c in coordinates for n in c.symbols()}
    firsts = tuple(
        tuple(b.first - d.first for b, d in zip(box[n], radix[n], strict=True)) if n in used else (0,)
        for n in names
    )
    return Clipped(
        inside, firsts, tuple(tuple(d.count for d in radix[n]) if n in used else (1,) for n in names)
    )


def _between(digit: Digit, low: int, high: int) -> Digit:
    """The digit's values in [low, high]."""
    first, last = max(digit.first, low), min(digit.first + digit.count - 1, high)
    return Digit(digit.weight, last - first + 1, first)


def _placed(
    coordinates: Sequence[Expr],
    tensor: Tensor,
    names: Sequence[str],
    radix: Mapping[str, tuple[Digit, ...]],
    empty: bool,
) -> Strided | None:
    """The access over the digits of ``radix`` as strides; None if it is out of ``tensor``'s bounds
    somewhere.
    """
    used = {n for c in coordinates for n in c.symbols()}
    steps = {(name, digit.weight): 0 for name in used for digit in radix[name]}
    start = tensor.storage_offset()
    for coordinate, size, stride in zip(coordinates, tensor.shape, tensor.stride(), strict=True):
        low = high = coordinate.shift
        for (name, weight), factor in _factors(coordinate, radix).items():
            digit = next(d for d in radix[name] if d.weight == weight)
            start += factor * digit.first * stride
            steps[name, weight] += factor * stride
            ends = (factor * digit.first, factor * (digit.first + digit.count - 1))
            low, high = low + min(ends), high + max(ends)
        start += coordinate.shift * stride
        if not empty and (low < 0 or high >= size):
            return None
    digits = [radix[n] if n in used else () for n in names]
    return Strided(
        start,
        tuple(tuple(d.count for d in ds) or (1,) for ds in digits),
        tuple(tuple(steps[n, d.weight] for d in ds) or (0,) for n, ds in zip(names, digits, strict=True)),
    )


def _lone(expr: Expr) -> object | None:
    """The atom that ``expr`` is, if it is one atom."""
    if len(expr.terms) != 1:
        return None
    monomial, factor = expr.terms[0]
    return monomial[0] if len(monomial) == 1 and factor == 1 else None


def _window(atom: object) -> tuple[str, int, int | None] | None:
    """(dim, from, to) of an atom that equals the digits of ``dim`` with weights in [from, to), divided by
    ``from``.  None for other atoms.
    """
    if isinstance(atom, str):
        return atom, 1, None
    if not isinstance(atom, FloorDiv | Mod) or atom.den.constant is None:
        return None
    inner = _window(_lone(atom.num))
    if inner is None:
        return None
    name, low, high = inner
    edge = low * atom.den.constant
    if high is not None and high % edge:  # (d mod 9) mod 6 is not d mod 6: digits are cut in two
        return None
    return (name, edge, high) if isinstance(atom, FloorDiv) else (name, low, edge)


def _radix(
    coordinates: Sequence[Expr], ranges: Mapping[str, tuple[int, int]]
) -> dict[str, tuple[Digit, ...]] | None:
    """The digits of every dim, most significant first, cut such that each division separates whole digits."""
    edges: dict[str, set[int]] = {name: {1} for name in ranges}
    for coordinate in coordinates:
        for monomial, _ in coordinate.terms:
            if not monomial:
                continue
            window = _window(monomial[0]) if len(monomial) == 1 else None
            if window is None or window[0] not in ranges:
                return None
            edges[window[0]].update(e for e in window[1:] if e is not None)
    radix = {}
    for name, (start, count) in ranges.items():
        weights = sorted(e for e in edges[name] if e == 1 or e < start + count)
        if any(b % a for a, b in pairwise(weights)) or start % weights[-1] or count % weights[-1]:
            return None
        top = Digit(weights[-1], count // weights[-1], start // weights[-1])
        rest = [Digit(a, b // a) for a, b in pairwise(weights)]
        radix[name] = (top, *reversed(rest))
    return radix


def _factors(coordinate: Expr, radix: Mapping[str, tuple[Digit, ...]]) -> dict[tuple[str, int], int]:
    """(dim, weight of a digit) -> the factor of that digit in a coordinate."""
    factors: dict[tuple[str, int], int] = {}
    for monomial, coefficient in coordinate.terms:
        if not monomial:
            continue
        window = _window(monomial[0])
        assert window is not None, "the radix was made from these coordinates"
        name, low, high = window
        for digit in radix[name]:
            if low <= digit.weight and (high is None or digit.weight < high):
                key = (name, digit.weight)
                factors[key] = factors.get(key, 0) + coefficient * (digit.weight // low)
    return factors
