"""What the names in a module mean in torch: operators, and objects behind ``#fuse.torch<"kind:name">``."""

import importlib
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import torch

from ..base.products import default_overloads
from ..fx.inductor_graph import flex_attention_backward
from .errors import RunError
from .taken_over import TAKE_OVER, take_over

if TYPE_CHECKING:
    from ..mlir import ir

_OPERATORS = frozenset(
    ("abs", "add", "and_", "eq", "floordiv", "ge", "gt", "invert", "le", "lshift", "lt", "mod", "mul", "ne")
    + ("neg", "not_", "or_", "pos", "pow", "rshift", "sub", "truediv", "xor")
)
#: Functions of numbers that an extern op may name, by Python module.
_OF_NUMBERS = {
    "math": frozenset(
        ("acos", "asin", "asinh", "atan", "ceil", "cos", "cosh", "exp", "floor", "log", "log2", "pow", "sin")
        + ("sinh", "sqrt", "tan", "tanh", "trunc")
    ),
    "operator": _OPERATORS,
    "_operator": _OPERATORS,
    "torch": frozenset(
        ("sym_float", "sym_int", "sym_ite", "sym_max", "sym_min", "sym_not", "sym_sqrt", "sym_sum")
        + (
            "_sym_acos",
            "_sym_asin",
            "_sym_atan",
            "_sym_cos",
            "_sym_cosh",
            "_sym_log2",
            "_sym_sin",
            "_sym_sinh",
        )
        + ("_sym_sqrt", "_sym_tan", "_sym_tanh")
    ),
}
#: Ops that reach for files.
_OF_FILES = ("aten.from_file.",)


def _run_after(dependences: Any, subgraph: Callable[..., Any], *args: Any) -> Any:
    """``control_deps``: in a program that runs in order, operands are complete when it begins."""
    return subgraph(*args)


#: Ops whose meaning is in Python, and the one built-in function that torch's sizes use.  torch has
#: ``control_deps`` only once Inductor's module was imported, and torch 2.11 has no kernel of it for tensors
#: that autograd may follow.
_DEFINED_HERE: dict[str, Callable[..., Any]] = {
    "higher_order.control_deps": _run_after,
    "higher_order.flex_attention_backward": flex_attention_backward,
    "builtins.round": round,
    TAKE_OVER: take_over,
}


def resolve(name: str, location: "ir.Location | None" = None) -> Callable[..., Any]:
    """The operator of a name, of those that a module or a plan may call: an overload that is registered with
    torch, whoever registered it (``aten.mm.default``), a higher-order op (``higher_order.cond``), a function
    of numbers (``math.sqrt``).  Raises RunError for any other name.
    """
    if name in _DEFINED_HERE:
        return _DEFINED_HERE[name]
    head, _, rest = name.partition(".")
    if head in _OF_NUMBERS:
        found = getattr(importlib.import_module(head), rest, None) if rest in _OF_NUMBERS[head] else None
    elif head == "higher_order":
        found = getattr(torch.ops.higher_order, rest, None)
        found = found if isinstance(found, torch._ops.HigherOrderOperator) else None
    else:
        found = None if name.startswith(_OF_FILES) else _overload(name)
    if found is None:
        raise RunError(f"no operator is called {name!r}", location)
    return found  # type: ignore[no-any-return]


def _overload(name: str) -> torch._ops.OpOverload | None:
    """``aten.mm.default`` among the ops that are registered with torch."""
    found: Any = torch.ops
    kinds = (torch._ops._OpNamespace, torch._ops.OpOverloadPacket, torch._ops.OpOverload)
    parts = name.split(".")
    if len(parts) != len(kinds) or not all(map(str.isidentifier, parts)):
        return None
    for part, kind in zip(parts, kinds, strict=True):
        found = getattr(found, part, None)
        if not isinstance(found, kind):
            return None
    return found  # type: ignore[no-any-return]


def op_tags(name: str) -> frozenset[str]:
    """The names of torch's tags of an operator ("cudagraph_unsafe"); none for what is no overload.  Raises
    RunError as ``resolve`` does.
    """
    found = resolve(name)
    tags = found.tags if isinstance(found, torch._ops.OpOverload) else ()
    return frozenset(tag.name for tag in tags)


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
                f"the module names the object {name!r}, which only the process that compiled the graph has",
                location,
            )
        return objects[name]
    if kind in ("dtype", "layout", "memory_format"):
        found = getattr(torch, name, None)
        if isinstance(found, (torch.dtype, torch.layout, torch.memory_format)):
            return found
    if kind == "op":
        return resolve(name, location)
    raise RunError(
        f"#fuse.torch<{text!r}> is no device, dtype, layout, memory format, op or object", location
    )


def lists(op: Any) -> tuple[bool, ...]:
    """For each value that an operator returns whether it is a list; () where it has no schema."""
    if not isinstance(op, torch._ops.OpOverload):
        return ()
    return tuple(isinstance(returned.type, torch.ListType) for returned in op._schema.returns)


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
