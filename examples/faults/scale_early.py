"""A pass with a fault. `scale_early-0.1.dist-info` registers it, as pip would for an installed package."""

from dataclasses import dataclass
from typing import ClassVar

from fuse_mlir.compiler.base.remarks import Remarks
from fuse_mlir.compiler.ir.kernel import is_kernel, is_tiled
from fuse_mlir.compiler.mlir import arith, ir
from fuse_mlir.passes.pass_base import Numerics, Pass


@dataclass(frozen=True)
class ScaleEarly(Pass):
    """(x + y) * c -> x * c + y, which forgets to scale y."""

    name: ClassVar[str] = "scale-early"
    numerics: ClassVar[Numerics] = "reassociates"

    def run(self, module: ir.Module, remarks: Remarks) -> None:
        for func in module.body.operations:
            if is_kernel(func) and not is_tiled(func):
                for op in list(func.regions[0].blocks[0].operations):
                    scale_early(op)


def scale_early(product: ir.OpView) -> None:
    """Rewrites one product of a sum and a constant."""
    if product.operation.name != "arith.mulf":
        return
    total, factor = product.operands
    if not (made_by(total, "arith.addf") and made_by(factor, "arith.constant")):
        return
    x, y = total.owner.operands
    with ir.InsertionPoint(product), product.location:
        result = arith.addf(arith.mulf(x, factor), y)
    product.result.replace_all_uses_with(result)
    product.operation.erase()


def made_by(value: ir.Value, name: str) -> bool:
    """Whether an op of that name made the value."""
    return isinstance(value.owner, ir.Operation | ir.OpView) and value.owner.name == name
