"""What passes decided that matters once Triton has compiled the kernels: attributes of a module.

Triton alone knows whether a tile takes more registers or shared memory than there are.  The driver then asks
for another one, for which it has to know what was decided.  It takes these attributes off the module, so that
neither a plan nor a dump of one depends on them.
"""

from collections.abc import Iterable, Mapping

from ..base.dataclass import dataclass
from ..mlir import ir
from .kernel import attribute_items, string, strings
from .nesting import nested_modules

#: The tiles of kernels with products, by the kernels' names; FX nodes of products.
_TILES, _ESTIMATED = "fuse.tiles", "fuse.estimated"


@dataclass(frozen=True)
class ChosenTile:
    """The tile of a kernel with products.  ``text``: it, in words.  ``location``: of the kernel.  ``last``:
    whether there is no other one, or no other one would be asked for, as this one was measured.
    """

    text: str
    location: str
    last: bool = False

    def attribute(self) -> ir.Attribute:
        parts: dict[str, ir.Attribute] = {
            "location": ir.StringAttr.get(self.location),
            "text": ir.StringAttr.get(self.text),
        }
        return ir.DictAttr.get(parts | ({"last": ir.UnitAttr.get()} if self.last else {}))

    @staticmethod
    def of(attribute: ir.Attribute) -> "ChosenTile":
        parts = dict(attribute_items(attribute))
        return ChosenTile(string(parts["text"]), string(parts["location"]), "last" in parts)


@dataclass(frozen=True)
class Decisions:
    """``tiles``: of kernels with products, by their names.  ``estimated``: the FX nodes of products that are
    kernels because an estimate says so.
    """

    tiles: Mapping[str, ChosenTile]
    estimated: frozenset[str]


def note_tile(module: ir.Module, kernel: str, tile: ChosenTile) -> None:
    """Keeps the tile of a kernel with products, in the place of one that was chosen before."""
    attributes = module.operation.attributes
    known = dict(attribute_items(attributes[_TILES])) if _TILES in attributes else {}
    attributes[_TILES] = ir.DictAttr.get({**known, kernel: tile.attribute()})


def note_estimated(module: ir.Module, nodes: Iterable[str]) -> None:
    """Keeps the FX nodes of products that an estimate leaves kernels."""
    found = sorted(set(nodes))
    if found:
        module.operation.attributes[_ESTIMATED] = ir.ArrayAttr.get([ir.StringAttr.get(n) for n in found])


def decisions_of(module: ir.Module) -> Decisions:
    """What the passes noted on a module.  Raises ValueError where an attribute is none that they write."""
    attributes = module.operation.attributes
    try:
        tiles = attribute_items(attributes[_TILES]) if _TILES in attributes else ()
        nodes = strings(attributes[_ESTIMATED]) if _ESTIMATED in attributes else ()
        return Decisions({name: ChosenTile.of(tile) for name, tile in tiles}, frozenset(nodes))
    except (KeyError, ValueError):
        raise ValueError(
            f"expected {_TILES} to have a text and a location for each kernel, and {_ESTIMATED} to be strings"
        ) from None


def take_decisions(module: ir.Module) -> Decisions:
    """What the passes noted on a module and on those inside of it, which lose it."""
    tiles, estimated = dict[str, ChosenTile](), frozenset[str]()
    for each in (module, *nested_modules(module)):
        found = decisions_of(each)
        tiles, estimated = {**tiles, **found.tiles}, estimated | found.estimated
        for name in (_TILES, _ESTIMATED):
            if name in each.operation.attributes:
                del each.operation.attributes[name]
    return Decisions(tiles, estimated)
