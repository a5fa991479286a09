"""What the names in a module mean in torch: operators, and objects behind ``#fuse.torch<"kind:name">``."""

import importlib
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import torch

from ..base.products import default_overloads
from .errors import RunError

if TYPE_CHECKING:
    from ..mlir import ir

#: Python modules whose functions an extern op may name (arithmetic on sizes and scalars).
_MODULES = {"math": "math", "operator": "operator", "_operator": "operator", "torch": "torch"}


def _run_after(dependences: Any, subgraph: Callable[..., Any], *args: Any) -> Any:
    """``control_deps``: in a program that runs in order, operands are complete when it begins."""
    return subgraph(*args)


#: Ops whose meaning is a line of Python, and the one built-in function that torch's sizes use.  torch has
#: ``control_deps`` only once Inductor's module was imported, and torch 2.11 has no kernel of it for tensors
#: that autograd may follow.
_DEFINED_HERE: dict[str, Callable[..., Any]] = {
    "higher_order.control_deps": _run_after,
    "builtins.round": round,
}


def resolve(name: str, location: "ir.Location | None" = None) -> Callable[..., Any]:
    """``aten.mm.default``, ``higher_order.cond``, ``mylib.op.overload``, ``math.sqrt`` -> what to call.
    Raises RunError."""
    if name in _DEFINED_HERE:
        return _DEFINED_HERE[name]
    head, _, rest = name.partition(".")
    if head in _MODULES:
        found: Any = importlib.import_module(_MODULES[head])
        parts = rest.split(".")
    else:
        found, parts = torch.ops, name.split(".")
    for part in parts:
        found = getattr(found, part, None)
        if found is None:
            raise RunError(f"no operator is called {name!r}", location)
    return found


#: Ops that torch also gives as functions whose arguments C++ reads without boxing them first; the signature
#: is the op's.  A convolution is called in 5 us less, a product in 2.
_UNBOXED = default_overloads(lambda op: op.unboxed)


def fastest(name: str) -> Callable[..., Any]:
    """``resolve`` for one who calls the op often: the same op by the shortest way there is from Python."""
    found: Any = resolve(name)
    if name in _UNBOXED:
        short = name.split(".")[1]
        method = getattr(torch._C.TensorBase, short, found)  # torch has ops that write in place as methods
        return getattr(torch._C._VariableFunctions, short, method)
    return found._op if type(found) is torch._ops.OpOverload else found  # what its `__call__` would call


def torch_object(
    text: str, objects: Mapping[str, Any], device: str | None, location: "ir.Location | None" = None
) -> Any:
    """The object behind ``#fuse.torch<"kind:name">``.  ``device``, if given, replaces every device."""
    kind, _, name = text.partition(":")
    if kind == "device":
        return torch.device(device or name)
    if kind == "object":
        if name not in objects:
            raise RunError(
                f"the module names the object {name!r}, which was not handed over with it", location
            )
        return objects[name]
    if kind in ("dtype", "layout", "memory_format"):
        found = getattr(torch, name, None)
        if isinstance(found, (torch.dtype, torch.layout, torch.memory_format)):
            return found
    raise RunError(f"#fuse.torch<{text!r}> is no device, dtype, layout, memory format or object", location)


def flatten(result: Any) -> list[Any]:
    """The leaves of what an operator returns, in order: tuples, lists and dicts opened, None kept.

    A dict is opened in the order of its keys: an op that returns one named after its arguments has them in
    the order of the call, which a module does not keep.
    """
    if isinstance(result, dict):
        result = [result[key] for key in sorted(result)]
    if isinstance(result, (tuple, list)):
        return [leaf for part in result for leaf in flatten(part)]
    return [result]
