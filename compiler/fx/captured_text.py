"""A graph that Dynamo captured, as text for a cache key.  The text and torch's state (``torch_state.py``)
together decide what AOTAutograd makes of the graph.

Equal texts become equal graphs of ATen ops, with equal names and lines, so that a program can be found before
AOTAutograd and the rewrites before it run.  The graph may call torch's own functions only, because a key
cannot say what a function of another package does.  Sizes must be numbers, because a symbolic size may have
guards.
"""

import functools
import importlib
import operator
import types
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import fx
from torch._subclasses.fake_tensor import FakeTensor

from .frames import user_line
from .graph_text import NotCacheable, Writer
from .user_kernels import is_launch

_PLAIN = (torch.Tensor, torch.nn.Parameter, torch.nn.Buffer, FakeTensor)
#: What ``__self__`` is of a builtin function that is no method of some object.
_NO_OBJECT = (types.ModuleType, types.NoneType)
_TORCH = frozenset({"torch", "_operator", "builtins", "math"})


def captured_text(gm: fx.GraphModule, example_inputs: Sequence[Any]) -> str:
    """The text of ``gm``, one line per node.  ``example_inputs`` belong to its placeholders.

    Raises NotCacheable for symbolic sizes, sub-graphs, tensors that the graph holds, tensor subclasses, and
    functions that are not torch's.
    """
    if torch._C._len_torch_dispatch_stack():
        raise NotCacheable("a dispatch mode")
    if next(gm.children(), None) is not None:
        raise NotCacheable("a graph inside the graph")
    writer = Writer(gm)
    examples = iter(example_inputs)
    storages: dict[Any, str] = {}
    for node in gm.graph.nodes:
        value, kwargs = node.meta.get("example_value"), node.kwargs
        _require_static(value)
        if "recompute" in node.meta or node.meta.get("custom"):  # a budget of memory is such a note
            raise NotCacheable("a choice of what is computed again")
        if node.op == "placeholder":
            target = _placeholder(next(examples), value, node.name, storages, writer)
        elif is_launch(node):
            target, kwargs = writer.launch(node)
        elif node.op == "call_function":
            target = _function(node.target)
        elif node.op == "call_method" and _is_plain(node.args[0]):
            target = f"Tensor.{node.target}"
        elif node.op == "output":
            target = ""
        else:
            raise NotCacheable(f"a node {node.op}")
        writer.lines.append(
            f"{node.name} {node.op} {target} {writer.value(node.args)} {writer.value(kwargs)} "
            f"{user_line(node)}"
        )
    return "\n".join(writer.lines)


def _require_static(value: Any) -> None:
    for part in value if isinstance(value, (tuple, list)) else (value,):
        sizes = (*part.shape, *part.stride()) if isinstance(part, torch.Tensor) else (part,)
        if any(isinstance(size, (torch.SymInt, torch.SymFloat, torch.SymBool)) for size in sizes):
            raise NotCacheable("a size that is not known")


def _placeholder(example: Any, value: Any, name: str, storages: dict[Any, str], writer: Writer) -> str:
    """What AOTAutograd asks of an input.  ``storages``: the first input in each, for those that share one."""
    if type(example) not in _PLAIN or not isinstance(value, torch.Tensor):
        raise NotCacheable(f"an input of type {type(example).__name__}")
    if example.is_conj() or example.is_neg():
        raise NotCacheable("an input that is conjugated or negated when it is read")
    storage = storages.setdefault(example.untyped_storage()._cdata, name)
    state = f"{example.requires_grad} {example.is_leaf} {example.is_inference()}"
    return f"{writer.value(example)} {state} {storage}"


def _is_plain(node: Any) -> bool:
    value = node.meta.get("example_value") if isinstance(node, fx.Node) else None
    return type(value) in _PLAIN


@functools.cache
def _function(target: Callable[..., Any]) -> str:
    """The name of a function of torch or Python, by which every process finds the same."""
    if isinstance(target, torch._ops.OpOverload | torch._ops.OpOverloadPacket):
        # Dynamo captures `x.T` as a packet from torch 2.14 on, which chooses an overload by the arguments
        if str(target).partition(".")[0] not in ("aten", "prims"):
            raise NotCacheable(f"the operator {target}")
        return str(target)
    module, name = str(getattr(target, "__module__", None)), str(getattr(target, "__qualname__", ""))
    if module.partition(".")[0] in _TORCH:
        if isinstance(target, types.BuiltinFunctionType) and isinstance(target.__self__, _NO_OBJECT):
            return f"{module}.{name}"
        if isinstance(target, types.FunctionType):
            public = f"{target.__module__}.{name}"
            if "<" in name:  # chosen by a flag: torch.nn.functional.max_pool2d
                module, name = "torch.nn.functional", _names_of_functional().get(target, "")
                public = f"{module}.{name}"
            if name and _found(module, name) is target:
                return public
    raise NotCacheable(f"the function {module}.{name}")


@functools.cache
def _names_of_functional() -> dict[Any, str]:
    return {f: name for name, f in vars(torch.nn.functional).items() if isinstance(f, types.FunctionType)}


def _found(module: str, name: str) -> Any:
    try:
        return operator.attrgetter(name)(importlib.import_module(module))
    except (ImportError, AttributeError):
        return None


__all__ = ["captured_text"]
