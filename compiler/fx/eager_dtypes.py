"""What eager refuses for a dtype: numbers that it cannot hold, and ops that have no kernel for it.

Metadata does not say it: a fake softmax of uint8 is one.  So torch is asked, on the CPU with a few elements.
A refusal there only means that the op is left to torch, which then raises on the device of the program, or
has a kernel there.  Importer and decompositions ask; nobody else does.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

import torch
from torch import Tensor
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import _disable_current_modes


def computed_in(x: Tensor) -> torch.dtype:
    """The dtype that eager computes in, for floats: float32 for narrower ones."""
    return torch.float64 if x.dtype == torch.float64 else torch.float32


@cache
def holds(dtype: torch.dtype, number: int | float | bool) -> bool:
    """Whether eager converts a number that the program has as such to ``dtype`` without an error: infinity
    into half and 0.5 into int8, but not -1 into uint8.
    """
    with _disable_current_modes():
        try:
            torch.full((2,), number, dtype=dtype)
        except (RuntimeError, TypeError):
            return False
    return True


def lacks_kernel(op: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool:
    """Whether eager has no kernel of an op for integers or bools.  ``args``, ``kwargs``: of the call, fake
    tensors among them.  Not asked about are calls with floats, with symbols, without tensors, and with
    unsigned integers of more than 8 bits, for which torch has hardly a kernel and this compiler has.
    """
    if any(isinstance(a, Tensor) and (a.is_floating_point() or a.is_complex()) for a in args):
        return False  # nearly all calls: to flatten their arguments takes longer
    leaves, spec = pytree.tree_flatten((tuple(args), dict(kwargs)))
    tensors = [leaf for leaf in leaves if isinstance(leaf, Tensor)]
    if not tensors or any(t.is_floating_point() or t.is_complex() or t.dtype in _WIDE for t in tensors):
        return False
    if any(isinstance(leaf, torch.SymInt | torch.SymFloat | torch.SymBool) for leaf in leaves):
        return False  # to call an op with a symbol would make it a number
    key = tuple((t.dtype, t.dim()) if isinstance(t, Tensor) else repr(t) for t in leaves)
    known = _LACKING.get((op, key))
    if known is None:
        known = _LACKING[op, key] = _raises(op, leaves, spec)
    return known


_WIDE = (torch.uint16, torch.uint32, torch.uint64)
_LACKING: dict[Any, bool] = {}


def _raises(op: Callable[..., Any], leaves: list[Any], spec: pytree.TreeSpec) -> bool:
    with _disable_current_modes(), torch.no_grad():
        small = [torch.ones([1] * t.dim(), dtype=t.dtype) if isinstance(t, Tensor) else t for t in leaves]
        small = [torch.device("cpu") if isinstance(t, torch.device) else t for t in small]
        args, kwargs = pytree.tree_unflatten(small, spec)
        try:
            op(*args, **kwargs)
        except NotImplementedError:
            return True
        except RuntimeError as error:
            return any(word in str(error) for word in _WORDS)
        except Exception:
            return False
    return False


#: What torch says where an op is refused for a dtype, and not for its sizes.
_WORDS = (
    "not implemented for", "not supported", "not allowed", "only supports", "does not support", "dtype",
    "must not be", "without overflow", "Boolean alpha",
)  # fmt: skip

__all__ = ["computed_in", "holds", "lacks_kernel"]
