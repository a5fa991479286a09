"""``autotune-tiling``: sets the tiles that a table of measured winners names.

``table`` is a JSON file that the search of ``options={"autotune": True}`` wrote: the key of a kernel
(``compiler/analysis/tiling/candidates.py``) -> its fastest ``fuse.tile`` as text.  A kernel whose key is in
the table gets that tile.  This pass measures nothing: the same table gives the same IR.

Before, with a table in which the kernel has a block of 512 and 8 warps::

    func.func private @double(...) attributes {fuse.kernel, fuse.dims = {d0 = "4096"},
        fuse.tile = {axes = [{block = 128 : i64, dims = ["d0"], kind = "grid"}], num_warps = 4 : i64, ..},
        ...}

After::

    func.func private @double(...) attributes {fuse.kernel, fuse.dims = {d0 = "4096"},
        fuse.tile = {axes = [{block = 512 : i64, dims = ["d0"], kind = "grid"}], num_warps = 8 : i64, ..},
        ...}

It does not fire on kernels that the table does not name, on kernels without ``fuse.tile`` and on tile code;
without ``table`` it does nothing.

Remarks: ``analysis: measured`` for each tile that changes.  Raises PassError on a table that cannot be read,
``autotune-tiling: FILE is no table: ..``, and on a tile that does not fit its kernel,
``autotune-tiling: kernel @k: ..``.
"""

from typing import ClassVar

from ...compiler.analysis.tiling.candidates import kernel_key
from ...compiler.base.dataclass import dataclass
from ...compiler.base.remarks import Remarks
from ...compiler.ir.chosen_tiles import ChosenTile, note_tile
from ...compiler.ir.kernel import Kernel, is_kernel, is_tiled, string
from ...compiler.ir.tile import Tile
from ...compiler.mlir import ir
from ..base.tables import read_table
from ..pass_base import Numerics, Pass, PassError, remark_on


@dataclass(frozen=True)
class AutotuneTiling(Pass):
    """Sets measured tiles; ``table`` is the file that names them."""

    name: ClassVar[str] = "autotune-tiling"
    numerics: ClassVar[Numerics] = "reassociates"
    table: str = ""

    def run(self, module: ir.Module, remarks: Remarks) -> None:
        if not self.table:
            return
        table = read_table(self.name, self.table, module)
        if not all(isinstance(text, str) for text in table.values()):
            problem = f"{self.table} is no table: expected an object of strings"
            raise PassError(f"{self.name}: {problem}", module.operation.location)
        for op in module.body.operations:
            func = op.operation
            if not is_kernel(func) or is_tiled(func) or "fuse.tile" not in func.attributes:
                continue
            text = table.get(kernel_key(func))
            if text is None:
                continue
            tile = _fitting_tile(str(text), func)
            if func.attributes["fuse.tile"] == tile.attribute():
                continue
            before = Tile.of(func.attributes["fuse.tile"])
            func.attributes["fuse.tile"] = tile.attribute()
            name, said = string(func.attributes["sym_name"]), f"{_short(before)} -> {_short(tile)}"
            if Kernel.of(func).products:
                note_tile(module, name, ChosenTile(said, str(func.location), last=True))
            numbers = {"num_warps": tile.num_warps, "elements": tile.elements}
            remark_on(func, remarks, self.name, "analysis", "measured", f"tile of @{name}: {said}", **numbers)


def _fitting_tile(text: str, func: ir.Operation) -> Tile:
    name = string(func.attributes["sym_name"])
    try:
        tile = Tile.of(ir.Attribute.parse(text))
        problem = tile.problem(Kernel.of(func).dims)
    except (ValueError, ir.MLIRError) as error:
        problem = str(error).splitlines()[0]
    if problem is not None:
        raise PassError(f"autotune-tiling: kernel @{name}: {problem}", func.location)
    return tile


def _short(tile: Tile) -> str:
    axes = ", ".join(f"{'*'.join(a.dims)} {a.kind} {a.block}" for a in tile.axes)
    return f"{axes or 'one point'}; {tile.num_warps} warps, {tile.num_stages} stages"
