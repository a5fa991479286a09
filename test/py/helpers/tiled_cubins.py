"""Kernels of ``tiling_cases``, tiled for an H200 and compiled by Triton without a GPU."""

from tiling_cases import Case, lowered

from fuse_mlir.compiler.codegen.launches import ttir_text
from fuse_mlir.compiler.ir.tile import Tile
from fuse_mlir.compiler.runtime.kernels.cubin import CompiledCubin, Target
from fuse_mlir.compiler.runtime.kernels.triton_compile import compile_ttir
from fuse_mlir.passes.kernels.combine_reductions import CombineReductions
from fuse_mlir.passes.tiling.apply_tiling import ApplyTiling
from fuse_mlir.passes.tiling.choose_tiling import ChooseTiling
from fuse_mlir.passes.tiling.lower_to_tt import LowerToTt


def compiled(case: Case) -> CompiledCubin:
    """The kernel of a case, tiled and compiled for sm_90."""
    module = lowered(
        case.text(), CombineReductions(), ChooseTiling(hardware="h200"), ApplyTiling(), LowerToTt()
    )
    declaration = next(op for op in module.body.operations if "fuse.launch" in op.operation.attributes)
    function = next(op.operation for op in module.body.operations if op.operation.name == "tt.func")
    chosen = Tile.of(declaration.operation.attributes["fuse.tile"])
    return compile_ttir(
        ttir_text(function),
        target=Target(90),
        num_warps=chosen.num_warps,
        num_stages=max(1, chosen.num_stages),
    )
