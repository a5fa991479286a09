"""Tiles of products that take more registers than a thread has, found when Triton has compiled them.

What spills goes through memory at each step of a product's loop, which costs more than any other tile would.
No pass can know it: registers are given by ptxas.  So a graph is lowered with the tiles that
``choose-tiling`` ranks first, and again with the next ones where a kernel spills.  The kernels that stay as
they are come from the cache of kernels then.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

#: Tiles of a kernel that are compiled at most.
MOST_TILES = 4


@dataclass
class SpilledTiles:
    """``stacks``: of each kernel with products that has spilled, the bytes of local memory that a thread took
    with each tile in turn.  ``taken``: the number of the tile that it keeps, where that is settled.
    """

    stacks: dict[str, list[int]] = field(default_factory=dict)
    taken: dict[str, int] = field(default_factory=dict)

    def learn(self, found: Mapping[str, int]) -> bool:
        """Takes in the bytes of local memory of each kernel with products; whether to lower again.

        A kernel keeps the first tile that spills nothing.  Where a smaller tile takes as much memory as the
        one before, that memory is no spilled registers but the array of a function (``sin`` has one), and
        the kernel keeps the larger tile.
        """
        return any([self._learn(name, stack) for name, stack in found.items()])

    def _learn(self, name: str, stack: int) -> bool:
        if name in self.taken or (not stack and name not in self.stacks):
            return False
        tried = self.stacks.setdefault(name, [])
        tried.append(stack)
        last = len(tried) - 1
        if stack and last + 1 < MOST_TILES and (not last or stack < tried[last - 1]):
            return True
        self.taken[name] = tried.index(min(tried))
        return self.taken[name] != last

    @property
    def names(self) -> tuple[str, ...]:
        """As ``choose-tiling`` takes them: each kernel once for every tile that it is not to have."""
        counts = {name: self.taken.get(name, len(tried)) for name, tried in self.stacks.items()}
        return tuple(name for name, count in counts.items() for _ in range(count))
