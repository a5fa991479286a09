"""``apply-tiling``: the scalar body of a kernel becomes tile code, as ``fuse.tile`` says.

A program handles one block of each ``grid`` axis.  Values become tiles (scalars where they depend on no axis
with a block above 1), loads and stores get addresses and masks, reductions become ``tt.reduce``.  A
``looped`` axis becomes one ``scf.for`` per *stage*: the stage of a value is the number of reductions over
that axis that it depends on; each loop computes again what it needs of earlier stages.

A ``fuse.dot`` becomes ``tt.dot``, which tensor cores compute.  Then tiles differ in their axes: what is
computed for the left operand has the axes (m, k), for the right one (k, n), and for the result (m, n).  A
load for an operand reads a tile of that operand's axes, whatever the order of memory is; nothing is reshaped
or transposed between a load and the product.  Blocks of m, n and k have at least 16 points, of k in 8-bit
types 32; lanes behind the end of k are 0.

What ``fuse.tile`` does not say follows from the kernel by fixed rules of ``compiler/codegen``: eviction
hints of loads, rows of 16 bits that are cut into whole vectors and their ends, neighbours that are loaded
together, where a loop over a row begins, which short form of a function is exact enough, where stores must
be atomic.

Before::

    func.func private @double(%x: tensor<1000xf32>, %o: tensor<1000xf32>) -> tensor<1000xf32>
        attributes {fuse.kernel, fuse.dims = {d0 = "1000"}, fuse.ties = array<i64: 1>,
                    fuse.tile = {axes = [{dims = ["d0"], block = 512 : i64, kind = "grid"}], num_warps = 4 :
                        i64, num_stages = 1 : i64}} {
      %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<1000xf32>, i1, f32) -> f32
      %w = arith.addf %v, %v : f32
      %r = "fuse.store"(%o, %w, %true) {at = ["d0"], mode = "set"} : (tensor<1000xf32>, f32, i1) ->
          tensor<1000xf32>
      return %r : tensor<1000xf32>
    }

After, with ``fuse.grid = ["2"]``::

      %p = "tt.get_program_id"() {axis = 0 : i32} : () -> i32
      %lane = "tt.make_range"() {start = 0 : i32, end = 512 : i32} : () -> tensor<512xi32>
      %b = "fuse.base"(%x) : (tensor<1000xf32>) -> !tt.ptr<f32>
      ... tt.addptr, tt.load with the mask lane < 1000 - %p*512, arith.addf, tt.store ...
      return %o : tensor<1000xf32>

The program ids x, y, z are the grid axes from the last of ``fuse.tile`` to the first, so that neighbouring
programs read neighbouring memory.  Where there are more than three, or y or z could exceed 65535, x counts
all blocks, the last grid axis fastest.  With a ``group`` of g, x counts all blocks so that programs go
through g blocks of the last but one grid axis, then do so for the next block of the last one: what they read
of both operands of a product is still in the L2 cache.  With ``programs`` = p, p programs go through all
blocks in one loop, and the factors and the result of the product are copied by descriptors: rows of 16-bit
elements that start at multiples of 16 bytes, in sizes that are known.  A store or assert that does not run
over a grid axis is done by that axis' first program alone.  ``fuse.traffic`` keeps the bytes and operations
of the scalar body, for estimates only.

It does not fire on functions without ``fuse.kernel``, nor on tile code.

Raises PassError: ``apply-tiling: kernel @k has no fuse.tile``; ``apply-tiling: kernel @k: ..`` where the
tile does not fit the dims, or code generation has no code for an op;
``apply-tiling: kernel @k still has fuse.load`` where a scalar op is left.
"""

from typing import ClassVar

from ...compiler.analysis.cost.traffic import ATTRIBUTE, traffic_of
from ...compiler.base.dataclass import dataclass
from ...compiler.base.remarks import Remarks
from ...compiler.codegen.tile_kernel import TileKernel, TilingError
from ...compiler.ir.kernel import Kernel, is_kernel, is_tiled
from ...compiler.ir.tile import Tile
from ...compiler.mlir import ir
from ..pass_base import Numerics, Pass, PassError


@dataclass(frozen=True)
class ApplyTiling(Pass):
    """Makes ``fuse.tile`` explicit in every kernel."""

    name: ClassVar[str] = "apply-tiling"
    numerics: ClassVar[Numerics] = "reassociates"

    def run(self, module: ir.Module, remarks: Remarks) -> None:
        for op in list(module.body.operations):
            if is_kernel(op) and not is_tiled(op) and op.operation.regions[0].blocks:
                apply_tiling(op.operation)


def apply_tiling(func: ir.Operation) -> None:
    """Rewrites one kernel.  Raises ``PassError`` where the tile and the body do not fit together."""
    name = ir.StringAttr(func.attributes["sym_name"]).value
    if "fuse.tile" not in func.attributes:
        raise PassError(f"apply-tiling: kernel @{name} has no fuse.tile", func.location)
    try:
        kernel = Kernel.of(func)
        tile = Tile.of(func.attributes["fuse.tile"])
        problem = tile.problem(kernel.dims)
    except ValueError as error:
        raise PassError(f"apply-tiling: kernel @{name}: {error}", func.location) from None
    if problem is not None:
        raise PassError(f"apply-tiling: kernel @{name}: {problem}", func.location)
    func.attributes[ATTRIBUTE] = traffic_of(kernel).attribute()
    try:
        grid = TileKernel(kernel, tile).rewrite()
    except TilingError as error:
        raise PassError(f"apply-tiling: kernel @{name}: {error}", error.location) from None
    func.attributes["fuse.grid"] = ir.ArrayAttr.get([ir.StringAttr.get(str(e)) for e in grid])
    left = [
        op.operation.name
        for op in func.regions[0].blocks[0].operations
        if _is_scalar_level(op.operation.name)
    ]
    if left:
        raise PassError(f"apply-tiling: kernel @{name} still has {left[0]}", func.location)


def _is_scalar_level(name: str) -> bool:
    return name.startswith("fuse.") and name != "fuse.base"
