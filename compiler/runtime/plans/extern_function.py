"""An extern op as plain data: the operator's name and the Python text of the call, bound where it runs."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ..torch_names import fastest, flatten, torch_object


@dataclass(frozen=True)
class ExternFunction:
    """What a launch plan calls for one extern declaration.

    op: the operator (``aten.mm.default``).  source: a lambda of the call's operands in which ``op`` is the
    operator; empty where the operator itself takes them as they are.  constants: names in ``source`` and what
    they are, as ``#fuse.torch`` says it (``dtype:float32``, ``object:true_graph_0``).
    """

    op: str
    source: str = ""
    constants: tuple[tuple[str, str], ...] = ()

    def bind(self, objects: Mapping[str, Any]) -> Callable[..., Any]:
        """A function of the operands: gives the result where there is one, else the tuple of the results.

        ``objects``: the host objects that the module names.  Raises RunError on an operator or an object that
        does not exist.
        """
        function = fastest(self.op)
        if not self.source:
            return function
        scope: dict[str, Any] = {"op": function, "flatten": flatten}
        scope.update({name: torch_object(text, objects, None) for name, text in self.constants})
        return eval(compile(self.source, f"<{self.op}>", "eval"), scope)
