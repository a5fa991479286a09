"""``choose-tiling``: sets ``fuse.tile`` on every kernel.

The rules of ``compiler/analysis/tiling/rules.py`` choose a tile from the kernel's dims, its accesses, the
hints of the sizes of ``@main`` and a model of the GPU (``compiler/cost/gpus``).

Before::

    func.func private @softmax(...) attributes {fuse.kernel, fuse.dims = {d0 = "4096", d1 = "1024"}, ...}

After::

    func.func private @softmax(...) attributes {fuse.kernel, fuse.dims = {d0 = "4096", d1 = "1024"},
        fuse.tile = {axes = [{dims = ["d0"], block = 1 : i64, kind = "grid"}, {dims = ["d1"], block = 1024 :
            i64, kind = "resident"}],
                     num_warps = 2 : i64, num_stages = 1 : i64}, ...}

A kernel with products (``fuse.dot``) is cut into blocks of rows and columns by an analytical ranking
(``compiler/analysis/contraction/tiles.py``).  ``group`` then says in which order programs take them.
``spilled`` lists kernels whose tile took more registers than a thread has, which is known once Triton has
compiled them: a name once for each tile that was tried.  The tile is then the best one of which a thread
holds less.

It does not fire on functions without ``fuse.kernel``, on kernels that have a ``fuse.tile`` (the choice was
made by hand or by an earlier run), nor on tile code.  ``hardware``: the name of a file of
``compiler/cost/gpus``, or ``generic``.  Calls of a kernel that follow each other and are independent fill the
chip together, as ``combine-launches`` will let them share a launch: the tile of each need not be small.

A kernel with products gets ``fuse.anywhere``, the numbers of the arguments for which a call passes what torch
laid into a storage at a place of its own, such as ``as_strided``: descriptors cannot name these.

Remarks: ``analysis`` for each kernel, with the name of the rule that chose, the tile, its warps and elements,
and ``last`` for a kernel with products whose tile would be the same if it spilled.  When Triton has compiled
the kernels, the compiler adds ``missed: spilled`` for each tile that it gave up for another one, and
``analysis: spilled`` for one that it kept, with the bytes of the stack.
Raises PassError where no tile is possible: ``choose-tiling: kernel @k: ..`` with the reason.
"""

from dataclasses import replace
from typing import ClassVar

from ...compiler.analysis.contraction.looped import spare_bytes
from ...compiler.analysis.kernel.shape import KernelShape
from ...compiler.analysis.tiling.choice import NoTiling
from ...compiler.analysis.tiling.rules import choose
from ...compiler.base.dataclass import dataclass
from ...compiler.base.remarks import Remarks
from ...compiler.ir.chosen_tiles import ChosenTile, note_tile
from ...compiler.ir.kernel import Kernel, is_kernel, is_tiled, string
from ...compiler.ir.sizes import hints_of
from ...compiler.ir.storage import functions_of
from ...compiler.mlir import func, ir
from ..pass_base import Pass, PassError, hardware_of, remark_on
from .promises import arguments_anywhere


@dataclass(frozen=True)
class ChooseTiling(Pass):
    """Chooses the tile of every kernel for ``hardware``."""

    name: ClassVar[str] = "choose-tiling"
    hardware: str = "generic"
    spilled: tuple[str, ...] = ()

    def run(self, module: ir.Module, remarks: Remarks) -> None:
        hardware = hardware_of(self.hardware, self, module)
        calls = _calls_side_by_side(module)
        main = functions_of(module).get("main")
        hints = {} if main is None else hints_of(main)
        anywhere: dict[str, set[int]] | None = None
        for op in module.body.operations:
            function = op.operation
            if (
                not is_kernel(function)
                or is_tiled(function)
                or "fuse.tile" in function.attributes
                or not function.regions[0].blocks
            ):
                continue
            kernel = Kernel.of(function)
            if kernel.products:
                anywhere = arguments_anywhere(module) if anywhere is None else anywhere
                if kernel.name in anywhere:
                    numbers = sorted(anywhere[kernel.name])
                    function.attributes["fuse.anywhere"] = ir.DenseI64ArrayAttr.get(numbers)
            try:
                spills = self.spilled.count(kernel.name)
                shape = KernelShape.of(kernel, calls.get(kernel.name, 1), hints, spills)
                choice = choose(shape, hardware)
            except NoTiling as error:
                raise PassError(f"choose-tiling: kernel @{kernel.name}: {error}", function.location) from None
            problem = choice.tile.problem(kernel.dims)
            assert problem is None, f"{choice.rule}: {problem}"
            others = replace(shape, spills=spills + 1)
            last = bool(kernel.products) and choose(others, hardware).tile == choice.tile
            function.attributes["fuse.tile"] = choice.tile.attribute()
            axes = [f"{'*'.join(a.dims)} {a.kind} {a.block}" for a in choice.tile.axes] or ["one point"]
            said = ", ".join(axes)
            if kernel.products:
                tile = ChosenTile(said, str(function.location), last, spare_bytes(kernel))
                note_tile(module, kernel.name, tile)
            told = {"num_warps": choice.tile.num_warps, "elements": choice.tile.elements}
            told |= {"last": True} if last else {}
            message = f"tile of @{kernel.name}: {said}"
            remark_on(function, remarks, self.name, "analysis", choice.rule, message, **told)


def _calls_side_by_side(module: ir.Module) -> dict[str, int]:
    """For each kernel the length of the shortest run of its calls in ``@main`` that follow each other without
    another call between them, and of which none reads what another makes.
    """
    found: dict[str, int] = {}
    for function in module.body.operations:
        if not isinstance(function, func.FuncOp) or string(function.attributes["sym_name"]) != "main":
            continue
        name, run, made = "", 0, set[ir.Value]()
        calls = [
            op.operation for op in function.regions[0].blocks[0].operations if isinstance(op, func.CallOp)
        ]
        for call in calls:
            callee = ir.FlatSymbolRefAttr(call.attributes["callee"]).value
            if callee != name or any(value in made for value in call.operands):
                found[name] = min(run, found.get(name, run))
                name, run, made = callee, 0, set()
            run += 1
            made.update(call.results)
        found[name] = min(run, found.get(name, run))
    return found
