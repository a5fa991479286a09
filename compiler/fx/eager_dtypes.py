"""What eager refuses for a dtype: numbers that it cannot hold, and ops that have no kernel for it.

Metadata does not say it: a fake softmax of uint8 is one.  AOTAutograd decomposes ops before anybody can ask,
and checks less than eager.  So each call of the graph that Dynamo captured, which is a call of the program,
is tried on the CPU with a few elements.  A refusal there means that torch runs the graph: it raises where
eager does, or has a kernel on the device of the program.
"""

import contextlib
import math
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.fx import GraphModule, Node
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import _disable_current_modes

from ..base.dataclass import dataclass
from ..base.errors import CallRefused
from ..base.launch import line_text
from .frames import user_line


def computed_in(x: Tensor) -> torch.dtype:
    """The dtype that eager computes in, for floats: float32 for narrower ones."""
    return torch.float64 if x.dtype == torch.float64 else torch.float32


def rounded(number: float, dtype: torch.dtype) -> float:
    """A number of the program as eager converts it to a float ``dtype``."""
    with _disable_current_modes():
        return torch.tensor(number, dtype=dtype, device="cpu").item()


def require_kernels(gm: GraphModule, on_cpu: bool) -> None:
    """Raises ``CallRefused`` for the first call of a captured graph that eager refuses for its dtypes.

    on_cpu: the graph runs there.  Elsewhere, and under autocast, float32 stands for all floats, as a GPU has
    other kernels for narrow ones.  Not asked about are calls of float32 and float64 alone, but for ops of
    integers; whether eager has a kernel for unsigned integers of more than 8 bits, as this compiler has more;
    functions that are not torch's, or not public; and what is large for all that.
    """
    nodes = [n for m in gm.modules() if isinstance(m, GraphModule) for n in m.graph.nodes]
    autocast = torch._C._is_any_autocast_enabled() or any("autocast" in str(n.target) for n in nodes)
    known: dict[Any, str | None] = {}
    with _apart():
        for node in nodes:
            function = _function_of_torch(node)
            call = None if function is None else _small_call(node, exact=on_cpu and not autocast)
            if function is None or call is None:
                continue
            key = (function, *map(str, call))
            if key not in known:
                known[key] = _refusal(function, *call)
            reason, line = known[key], user_line(node)
            if reason is not None:
                raise CallRefused(
                    name=node.name, reason=reason, location=line_text(line) if line is not None else None
                )


@contextlib.contextmanager
def _apart() -> Iterator[None]:
    """What is called inside leaves no trace: no mode sees it, and no generator moves."""
    with (
        _disable_current_modes(),
        torch._C.DisableTorchFunction(),
        torch.no_grad(),
        torch.random.fork_rng(devices=[]),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")
        yield


#: What the packages of torch's own functions are called.
_OF_TORCH = ("torch", "_operator")


def _function_of_torch(node: Node) -> Callable[..., Any] | None:
    """What a node calls, if torch's tensors have it, or its packages; not what begins with an underscore."""
    if node.op == "call_method":
        return None if node.target in _NOT_TRIED else getattr(Tensor, str(node.target), None)
    target: Any = node.target
    if node.op != "call_function" or isinstance(target, torch._ops.HigherOrderOperator):
        return None
    name = getattr(target, "__name__", "_")
    if isinstance(target, torch._ops.OpOverload | torch._ops.OpOverloadPacket):
        known = str(target).startswith("aten.") and not str(target).startswith("aten._")
    else:
        module = getattr(target, "__module__", None) or ""
        known = module.partition(".")[0] in _OF_TORCH and (name.startswith("__") or not name.startswith("_"))
    return target if known else None


#: What functions, methods and operators of integers are called, in place and reversed ones as well.
_OF_INTEGERS = re.compile(r"_*[ir]?(bitwise_\w+|gcd|lcm|and|or|xor|lshift|rshift|invert)_*")
#: Methods that take a tensor elsewhere, or give no tensor.
_NOT_TRIED = frozenset({"to", "cuda", "cpu", "pin_memory", "item", "tolist", "numpy", "backward", "set_"})
#: Dtypes that eager has a kernel for in nearly every op, and such for which it has hardly any.
_COMMON = frozenset({torch.float32, torch.float64})
_WIDE = frozenset({torch.uint16, torch.uint32, torch.uint64})
#: Where tensors have more elements than the first, each dim is tried with at most the second.  Where a
#: result has more than the third and than what it is made of, as that of ``repeat`` may, nothing is tried.
_SMALL, _FEW, _MOST = 4096, 8, 1 << 20


@dataclass(frozen=True)
class _Ones:
    """Stands for a tensor until a call is tried."""

    shape: tuple[int, ...]
    dtype: torch.dtype


def _small_call(node: Node, exact: bool) -> tuple[Any, Any] | None:
    """args and kwargs of a call, with few elements; None where it is not asked about.  exact: floats keep
    their width.
    """
    given = pytree.tree_map_only(Node, _value, (node.args, node.kwargs))
    leaves = pytree.tree_leaves(given)
    tensors = [value for value in leaves if isinstance(value, Tensor)]
    asked = {t.dtype for t in tensors} or {value for value in leaves if isinstance(value, torch.dtype)}
    narrow = any(d not in _COMMON and (exact or not d.is_floating_point) for d in asked)
    if not (narrow or (asked and _is_of_integers(node))):
        return None
    results = [_sizes(v) for v in pytree.tree_leaves(_value(node)) if isinstance(v, Tensor)]
    made, read = (sum(map(math.prod, group)) for group in (results, map(_sizes, tensors)))
    most = _FEW if made + read > _SMALL else _SMALL

    def is_result(value: Any) -> bool:
        numbers = isinstance(value, tuple | list) and all(type(n) is int for n in value)
        return numbers and tuple(value) in results

    def small(value: Any) -> Any:
        if isinstance(value, Tensor):
            wider = value.dtype.is_floating_point and not exact and value.dtype not in _COMMON
            dtype = torch.float32 if wider else value.dtype
            number = _number(value)
            return _Ones(_fewer(_sizes(value), most), dtype) if number is None else number.to(dtype)
        if is_result(value):
            return _fewer(value, most)
        return torch.device("cpu") if isinstance(value, torch.device) else value

    given = pytree.tree_map_only((torch.SymInt, torch.SymFloat, torch.SymBool), _hint, given)
    if made > max(_MOST, read) and not any(map(is_result, (*given[0], *given[1].values()))):
        return None
    args, kwargs = pytree.tree_map(small, given, is_leaf=is_result)
    return args, kwargs


def _is_of_integers(node: Node) -> bool:
    return _OF_INTEGERS.fullmatch(str(getattr(node.target, "__name__", node.target))) is not None


def _value(node: Node) -> Any:
    """What Dynamo computed a node with; None for functions and graphs."""
    return node.meta.get("example_value")


def _number(tensor: Tensor) -> Tensor | None:
    """A copy of a tensor of no dims whose number the program says, as ``torch.tensor(-1e9)``."""
    known = getattr(tensor, "constant", None)
    return known.clone() if isinstance(known, Tensor) and known.ndim == 0 else None


def _sizes(tensor: Tensor) -> tuple[int, ...]:
    return tuple(map(_hint, tensor.shape))


def _hint(number: Any) -> Any:
    """The number that a symbol stands for where it is traced; 2 for one that data decides."""
    if isinstance(number, int | float):
        return number
    return 2 if number.node.hint is None else number.node.hint


def _fewer(shape: Sequence[int], most: int) -> tuple[int, ...]:
    return tuple(min(n, most) for n in shape)


def _refusal(function: Callable[..., Any], args: Any, kwargs: Any) -> str | None:
    """What eager says where it refuses the dtypes of a call; None where it takes them, or says no other."""
    try:
        args, kwargs = pytree.tree_map_only(_Ones, _make, (args, kwargs))
        function(*args, **kwargs)
    except (NotImplementedError, RuntimeError, TypeError) as error:
        said = str(error).partition("\n")[0]
        if said.startswith("Could not run "):  # the op has kernels on other devices only
            return None
        dtypes = [getattr(leaf, "dtype", leaf) for leaf in pytree.tree_leaves((args, kwargs))]
        words = (_OVERFLOW,) if any(dtype in dtypes for dtype in _WIDE) else _WORDS
        return said if any(word in said for word in words) else None
    except Exception:
        return None
    return None


def _make(ones: _Ones) -> Tensor:
    return torch.ones(ones.shape, dtype=ones.dtype, device="cpu")


#: What torch says where a call is refused for a dtype, and not for its sizes.
_OVERFLOW = "without overflow"
_WORDS = (
    "not implemented for", "not supported", "not allowed", "only supports", "does not support", "dtype",
    "must not be", _OVERFLOW, "Boolean alpha", "can't be cast",
)  # fmt: skip

__all__ = ["computed_in", "require_kernels", "rounded"]
