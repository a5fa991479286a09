"""What passes decided that matters once Triton has compiled the kernels: an attribute of a module.

Triton alone knows whether a tile takes more registers or shared memory than there are.  The driver then asks
for another one, for which it has to know what was decided.  It takes the attribute off the module, so that
neither a plan nor a dump of one depends on it.
"""

from collections.abc import Mapping

from ..base.dataclass import dataclass
from ..mlir import ir
from .kernel import attribute_items, string
from .nesting import nested_modules

#: The tiles of kernels with products, by the kernels' names.
_TILES = "fuse.tiles"


@dataclass(frozen=True)
class ChosenTile:
    """The tile of a kernel with products.  ``text``: it, in words.  ``location``: of the kernel.  ``last``:
    whether there is no other one, or no other one would be asked for, as this one was measured.  ``spare``:
    bytes of local memory of a thread that cost less than another tile would.
    """

    text: str
    location: str
    last: bool = False
    spare: int = 0

    def attribute(self) -> ir.Attribute:
        parts: dict[str, ir.Attribute] = {
            "location": ir.StringAttr.get(self.location),
            "text": ir.StringAttr.get(self.text),
        }
        if self.last:
            parts["last"] = ir.UnitAttr.get()
        if self.spare:
            parts["spare"] = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), self.spare)
        return ir.DictAttr.get(parts)

    @staticmethod
    def of(attribute: ir.Attribute) -> "ChosenTile":
        parts = dict(attribute_items(attribute))
        spare = ir.IntegerAttr(parts["spare"]).value if "spare" in parts else 0
        return ChosenTile(string(parts["text"]), string(parts["location"]), "last" in parts, spare)


def note_tile(module: ir.Module, kernel: str, tile: ChosenTile) -> None:
    """Keeps the tile of a kernel with products, in the place of one that was chosen before."""
    attributes = module.operation.attributes
    known = dict(attribute_items(attributes[_TILES])) if _TILES in attributes else {}
    attributes[_TILES] = ir.DictAttr.get({**known, kernel: tile.attribute()})


def tiles_of(module: ir.Module) -> Mapping[str, ChosenTile]:
    """The tiles that passes noted on a module.  Raises ValueError where the attribute is none that they
    write.
    """
    attributes = module.operation.attributes
    try:
        found = attribute_items(attributes[_TILES]) if _TILES in attributes else ()
        return {name: ChosenTile.of(tile) for name, tile in found}
    except (KeyError, ValueError):
        raise ValueError(f"expected {_TILES} to have a text and a location for each kernel") from None


def take_tiles(module: ir.Module) -> Mapping[str, ChosenTile]:
    """The tiles that passes noted on a module and on those inside of it, which lose them."""
    tiles = dict[str, ChosenTile]()
    for each in (module, *nested_modules(module)):
        tiles |= tiles_of(each)
        if _TILES in each.operation.attributes:
            del each.operation.attributes[_TILES]
    return tiles
