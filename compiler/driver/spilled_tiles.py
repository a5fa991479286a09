"""Tiles of products that take more registers than a thread has, or more shared memory than a multiprocessor,
found when Triton has compiled them.

What spills goes through memory at each step of a product's loop, which costs more than any other tile would,
and what does not fit into shared memory cannot be launched.  No pass can know either: ptxas gives registers,
and Triton shared memory.  So a graph is lowered with the tiles that ``choose-tiling`` ranks first, and again
with the next ones where a kernel takes too much.  Kernels that stay as they are come from the cache then.
"""

from collections.abc import Iterable
from dataclasses import field

from ..base.dataclass import dataclass
from ..runtime.kernels.cubin import CompiledCubin

#: Tiles of a kernel that are compiled at most.
MOST_TILES = 4


@dataclass
class SpilledTiles:
    """``shared``: bytes of shared memory that a program can have.

    ``excess``: of each kernel with products whose first tile took too much, the bytes that each tile in turn
    took of local memory, and of shared memory beyond that.  ``taken``: the number of the tile that it keeps,
    where that is settled.
    """

    shared: int
    excess: dict[str, list[int]] = field(default_factory=dict)
    taken: dict[str, int] = field(default_factory=dict)

    def learn(self, found: Iterable[tuple[str, CompiledCubin]]) -> bool:
        """Takes in what was compiled of kernels with products, by their names; whether to lower again.

        A launch that combines calls of a kernel has its tile, too: what takes most counts.  A kernel keeps
        the first tile that does not take too much.  Where a tile of which a thread holds less takes as much
        as the one before, that is no spilled registers but the array of a function (``sin`` has one), and the
        kernel keeps the larger tile.
        """
        most: dict[str, int] = {}
        for name, cubin in found:
            most[name] = max(self._excess(cubin), most.get(name, 0))
        return any([self._learn(name, excess) for name, excess in most.items()])

    def _excess(self, cubin: CompiledCubin) -> int:
        return cubin.stack + max(0, cubin.shared - self.shared)

    def _learn(self, name: str, excess: int) -> bool:
        if name in self.taken or (not excess and name not in self.excess):
            return False
        tried = self.excess.setdefault(name, [])
        tried.append(excess)
        last = len(tried) - 1
        if excess and last + 1 < MOST_TILES and (not last or excess != tried[last - 1]):
            return True
        self.taken[name] = tried.index(min(tried))
        return self.taken[name] != last

    @property
    def names(self) -> tuple[str, ...]:
        """As ``choose-tiling`` takes them: each kernel once for every tile that it is not to have."""
        counts = {name: self.taken.get(name, len(tried)) for name, tried in self.excess.items()}
        return tuple(name for name, count in counts.items() for _ in range(count))
