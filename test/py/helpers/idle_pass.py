"""A pass that changes nothing and says so: shared by tests, no test itself."""

from dataclasses import dataclass
from typing import ClassVar

from fuse_mlir.compiler.base.remarks import Remarks
from fuse_mlir.compiler.mlir import ir
from fuse_mlir.passes.pass_base import Pass


@dataclass(frozen=True)
class Nothing(Pass):
    """Does nothing."""

    name: ClassVar[str] = "nothing"

    def run(self, module: ir.Module, remarks: Remarks) -> None:
        remarks.add(self.name, "missed", "idle", "did nothing", locations=('loc("model.mlir":3:3)',), cost=3)
