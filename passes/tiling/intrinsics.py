"""Functions that are one instruction of the GPU: LLVM's intrinsic instead of libdevice's function.

Triton parses libdevice, 450 KB of bitcode, for each kernel that names one of its functions: 25 ms, up to half
of the kernel's compile time.  LLVM knows an intrinsic by its name and needs no library.
"""

from collections.abc import Mapping

from ...compiler.codegen.nvidia import CEIL, EXP2, FLOOR, INTRINSICS, RSQRT
from ...compiler.codegen.tile_builder import TileBuilder
from ...compiler.ir.dialects import tt
from ...compiler.mlir import ir

#: Ops that Triton lowers to one of these functions, where their elements are f32.
_OPS: Mapping[str, str] = {"math.exp2": EXP2, "math.rsqrt": RSQRT, "math.floor": FLOOR, "math.ceil": CEIL}


def intrinsic_of(op: ir.Operation) -> str | None:
    """The intrinsic that is what ``op``, a tile op, computes; None where there is none."""
    if op.name == "tt.extern_elementwise":
        return INTRINSICS.get(ir.StringAttr(op.attributes["symbol"]).value)
    if op.name in _OPS and str(tt.element_of(op.results[0].type)) == "f32":
        return INTRINSICS[_OPS[op.name]]
    return None


def call_intrinsic(op: ir.Operation, intrinsic: str) -> None:
    """Replaces ``op`` by a call of ``intrinsic``."""
    if op.name == "tt.extern_elementwise":
        op.attributes["symbol"] = ir.StringAttr.get(intrinsic, op.context)
        return
    with ir.InsertionPoint(op), op.location:
        called = TileBuilder().extern(intrinsic, list(op.operands))
    op.results[0].replace_all_uses_with(called)
    op.erase()
