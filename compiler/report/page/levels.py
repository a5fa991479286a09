"""The IR of each level as text, with locations, which lead to the lines of the program."""

from collections.abc import Mapping
from dataclasses import field
from typing import Any

from ...base.dataclass import dataclass
from ...ir.dialects import tt
from ...ir.kernel import string
from ...ir.nesting import modules_in
from ...ir.storage import functions_of
from ...mlir import ir


@dataclass(frozen=True)
class LevelTexts:
    """Watches a run of passes: keeps the functions before the first, and where a level is reached.

    first: the name of what there is before the first pass.  ends: the level by the number of the pass that
    ends it.  texts: by level, then as ``function_texts``.
    """

    first: str
    ends: Mapping[int, str]
    texts: dict[str, dict[str, str]] = field(default_factory=dict)

    def before_pass(self, number: int, p: Any, module: ir.Module) -> None:
        if number == 0:
            self._keep(self.first, module)

    def after_pass(self, number: int, p: Any, module: ir.Module) -> None:
        if number in self.ends:
            self._keep(self.ends[number], module)

    def _keep(self, level: str, module: ir.Module) -> None:
        self.texts[level] = function_texts(module, locations=True)


def function_texts(module: ir.Module, prefix: str = "", *, locations: bool = False) -> dict[str, str]:
    """The text of each function, with the tile code that it launches.  The names are those of launches: what
    is in a sub-graph begins with its name and a dot.
    """
    tiled = {
        string(op.attributes["sym_name"]): op.operation
        for op in module.body.operations
        if isinstance(op, tt.Func)
    }
    texts = {}
    for name, function in functions_of(module).items():
        parts = [function]
        if "fuse.launch" in function.attributes:
            parts.append(tiled[ir.FlatSymbolRefAttr(function.attributes["fuse.launch"]).value])
        # in local scope: else each text takes a walk over the whole module
        texts[prefix + name] = "\n".join(
            part.get_asm(enable_debug_info=locations, use_local_scope=True) for part in parts
        )
    for name, inner in modules_in(module).items():
        texts |= function_texts(inner, f"{prefix}{name}.", locations=locations)
    return texts
