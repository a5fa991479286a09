"""Computes exp(x) as exp2(x * log2(e)): a GPU has an instruction for exp2 and none for exp.

    %e = math.exp %x : f32    ->    %y = arith.mulf %x, %log2e : f32
                                    %e = math.exp2 %y : f32

Does not fire outside kernels, in tile code, and for types other than f32.
"""

import math as libm
from dataclasses import dataclass
from typing import ClassVar

from fuse_mlir.compiler.base.remarks import Remarks
from fuse_mlir.compiler.ir.kernel import is_kernel, is_tiled, string
from fuse_mlir.compiler.mlir import arith, ir, math
from fuse_mlir.passes.pass_base import Numerics, Pass


@dataclass(frozen=True)
class ExpToExp2(Pass):
    """exp -> exp2 in scalar f32 code; one more rounding, which `numerics` tells the numeric check."""

    name: ClassVar[str] = "exp-to-exp2"
    numerics: ClassVar[Numerics] = "precision"

    def run(self, module: ir.Module, remarks: Remarks) -> None:
        for func in module.body.operations:
            if not is_kernel(func) or is_tiled(func):
                continue
            exps = [op for op in func.regions[0].blocks[0].operations if op.operation.name == "math.exp"]
            for op in exps:
                if isinstance(op.result.type, ir.F32Type):
                    rewrite(op)
                    kernel = string(func.attributes["sym_name"])
                    remarks.add(self.name, "passed", "f32", "exp is exp2 of x * log2(e)", ops=(kernel,))


def rewrite(op: ir.OpView) -> None:
    """Replaces one ``math.exp``."""
    with ir.InsertionPoint(op), op.location:
        log2e = arith.constant(op.result.type, libm.log2(libm.e))
        result = math.exp2(arith.mulf(op.operands[0], log2e))
    op.result.replace_all_uses_with(result)
    op.operation.erase()
