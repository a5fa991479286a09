"""Tiles of products that take more registers than a thread has, or more shared memory than a multiprocessor,
found when Triton has compiled them.

What spills goes through memory at each step of a product's loop, which costs more than any other tile would
(but for a few registers of kernels that ``ChosenTile.spare`` names), and what does not fit into shared memory
cannot be launched.  No pass can know either: ptxas gives registers,
and Triton shared memory.  So a graph is lowered with the tiles that ``choose-tiling`` ranks first, and again
with the next ones where a kernel takes too much.  Kernels that stay as they are come from the cache then.
Where each tile takes too much, the product is the library's again, if ``review-libraries`` could have made it
that by its estimate.
"""

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import field
from types import MappingProxyType

from ...passes.pipeline import Spills
from ..base.dataclass import dataclass
from ..base.remarks import Remark
from ..ir.chosen_tiles import ChosenTile
from ..runtime.kernels.cubin import ARRAY_BYTES, CompiledCubin

#: Tiles of a kernel that are compiled at most.
MOST_TILES = 4


@dataclass(frozen=True)
class TriedTile:
    """What a kernel took with one tile.  ``stack``: bytes of local memory of a thread.  ``beyond``: bytes of
    shared memory beyond what a program can have.  ``chosen``: the tile; None where no pass chose one.
    """

    stack: int
    beyond: int
    chosen: ChosenTile | None = None

    @property
    def excess(self) -> int:
        return (self.stack if self.stack > self.spare else 0) + self.beyond

    @property
    def spare(self) -> int:
        """Bytes of the stack that are worth it."""
        return 0 if self.chosen is None else self.chosen.spare

    @property
    def is_last(self) -> bool:
        """Whether no other tile would be chosen."""
        return self.chosen is not None and self.chosen.last


@dataclass
class SpilledTiles:
    """``shared``: bytes of shared memory that a program can have.

    ``tried``: of each kernel with products whose first tile took too much, what it took with each tile in
    turn.  ``taken``: the number of the tile that it keeps, where that is settled.  ``products``: FX nodes of
    those that are the library's.  ``their_remarks``: of what their kernels took.
    """

    shared: int
    tried: dict[str, list[TriedTile]] = field(default_factory=dict)
    taken: dict[str, int] = field(default_factory=dict)
    products: tuple[str, ...] = ()
    their_remarks: list[Remark] = field(default_factory=list)

    def learn(
        self,
        found: Iterable[tuple[str, CompiledCubin]],
        tiles: Mapping[str, ChosenTile] = MappingProxyType({}),
        products: Mapping[str, Set[str]] = MappingProxyType({}),
    ) -> bool:
        """Takes in what was compiled of kernels with products, by their names; whether to lower again.
        ``tiles``: those that passes chose.  ``products``: the FX nodes of a kernel's products that may be the
        library's after all (``ProductChoice.revocable``).

        A launch that combines calls of a kernel has its tile, too: what takes most counts.  A kernel keeps
        the first tile that does not take too much.  Where a tile of which a thread holds less takes as much
        as the one before, that is no spilled registers but the array of a function (``sin`` has one), and the
        kernel keeps the larger tile.
        """
        most: dict[str, TriedTile] = {}
        for name, cubin in found:
            tile = TriedTile(cubin.stack, max(0, cubin.shared - self.shared), tiles.get(name))
            most[name] = max(most.get(name, tile), tile, key=lambda tried: tried.excess)
        other_tile = [self._learn(name, tile) for name, tile in most.items()]
        lost = {n: products.get(n, set()) - {*self.products} for n in most if self._takes_too_much(n)}
        return self._give_back({name: nodes for name, nodes in lost.items() if nodes}) or any(other_tile)

    def _learn(self, name: str, tile: TriedTile) -> bool:
        if name in self.taken or (not tile.excess and name not in self.tried):
            return False
        tried = self.tried.setdefault(name, [])
        tried.append(tile)
        excess = [each.excess for each in tried]
        another = len(tried) < MOST_TILES and not tile.is_last and excess[-1] not in excess[-2:-1]
        if tile.excess and another:
            return True
        self.taken[name] = excess.index(min(excess))
        return self.taken[name] != len(tried) - 1

    def _give_back(self, products: Mapping[str, Set[str]]) -> bool:
        """Makes products of kernels the library's.  What was learnt of other kernels is forgotten, since they
        may be named, or fused, in another way then.
        """
        self.products = (*self.products, *sorted(set().union(*products.values())))
        self.their_remarks += [r for name in products for r in _remarks(name, self.tried[name], None)]
        if products:
            self.tried.clear()
            self.taken.clear()
        return bool(products)

    def _takes_too_much(self, name: str) -> bool:
        """Whether no tile is left with which a kernel neither spills nor needs more shared memory than there
        is.
        """
        if name not in self.taken:
            return False
        tried = self.tried[name]
        kept = tried[self.taken[name]]
        is_array = len(tried) > 1 and tried[-1].excess == tried[-2].excess
        return kept.beyond > 0 or (kept.stack > max(ARRAY_BYTES, kept.spare) and not is_array)

    @property
    def spills(self) -> Spills:
        """As passes take it: of a kernel, the tiles that it is not to have."""
        counts = {name: self.taken.get(name, len(tried)) for name, tried in self.tried.items()}
        return Spills(tuple(name for name, count in counts.items() for _ in range(count)), self.products)

    @property
    def remarks(self) -> list[Remark]:
        """One for each tile that took too much: ``missed`` where the kernel did not keep it."""
        kept = [r for name, tried in self.tried.items() for r in _remarks(name, tried, self.taken.get(name))]
        return [*self.their_remarks, *kept]


def _remarks(name: str, tried: Sequence[TriedTile], taken: int | None) -> list[Remark]:
    return [_remark(name, tile, number == taken) for number, tile in enumerate(tried) if tile.excess]


def _remark(name: str, tile: TriedTile, kept: bool) -> Remark:
    text = "a tile" if tile.chosen is None else tile.chosen.text
    takes = f"a thread takes {tile.stack} bytes of local memory"
    if tile.beyond:
        takes += f", a program {tile.beyond} bytes more of shared memory than there is"
    message = f"@{name} {'keeps' if kept else 'does not keep'} {text}: {takes}"
    numbers = (("stack", tile.stack), *((("beyond", tile.beyond),) if tile.beyond else ()))
    locations = () if tile.chosen is None else (tile.chosen.location,)
    kind = "analysis" if kept else "missed"
    return Remark("choose-tiling", kind, "spilled", message, (name,), locations, numbers)
