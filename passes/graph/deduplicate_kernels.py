"""``deduplicate-kernels``: equal kernels become one function, compiled once."""

from collections.abc import Mapping
from typing import ClassVar

from ...compiler.base.dataclass import dataclass
from ...compiler.base.remarks import Remarks
from ...compiler.ir.kernel import code_of, further_configurations
from ...compiler.mlir import ir
from ..analysis_manager import AnalysisManager
from ..base.program import Program
from ..pass_base import AnalysisPass


@dataclass(frozen=True)
class DeduplicateKernels(AnalysisPass):
    """Calls of kernels that differ in nothing but their name and locations call the first of them.

    Before::

        call @relu(%a, %o)
        call @relu_1(%b, %p)            // same types, attributes and body as @relu

    After::

        call @relu(%a, %o)
        call @relu(%b, %p)

    Each call keeps its own location.  The further configurations of a user's kernel are compared, too.  Does
    not fire on kernels that differ in any attribute, constant, order of operations or name of a size symbol,
    nor on extern declarations.
    """

    name: ClassVar[str] = "deduplicate-kernels"

    def run_with(self, module: ir.Module, remarks: Remarks, analyses: AnalysisManager) -> None:
        program = analyses.get(Program)
        first: dict[bytes, str] = {}
        chosen: dict[str, str] = {}
        kernels = {
            name: function
            for name, function in program.functions.items()
            if "fuse.kernel" in function.attributes and function.regions[0].blocks
        }
        # a kernel that names further configurations comes after them, since its code has their names
        for name, function in sorted(kernels.items(), key=lambda item: "fuse.configs" in item[1].attributes):
            if "fuse.configs" in function.attributes:
                _name_configurations(function, chosen)
            chosen[name] = first.setdefault(code_of(function), name)
        for call in program.calls():
            name = ir.FlatSymbolRefAttr(call.attributes["callee"]).value
            if chosen.get(name, name) != name:
                program.redirect(call, chosen[name])
        program.erase_unused()


def _name_configurations(function: ir.Operation, chosen: Mapping[str, str]) -> None:
    """Makes ``fuse.configs`` name the first of equal kernels."""
    names = [chosen[name] for name in further_configurations(function)]
    function.attributes["fuse.configs"] = ir.ArrayAttr.get([ir.FlatSymbolRefAttr.get(n) for n in names])
