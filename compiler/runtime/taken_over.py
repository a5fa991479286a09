"""The op ``fuse.take_over``: what autograd saved becomes storage that a backward graph may write to."""

import sys

import torch
from torch import Tensor

#: References that a launch plan has to a tensor while ``take_over`` looks: its own variable, the two
#: functions that it is handed to, and what counts.
_REFERENCES = 4
#: Whether a function's variables count as references.  From 3.14 on Python borrows them in many places, so a
#: count no longer tells that nobody else has a tensor.
_COUNTED = sys.version_info < (3, 14)
#: What the addresses of kernels' arguments are multiples of.
_ALIGNMENT = 16


def take_over(saved: Tensor) -> Tensor:
    """``saved`` itself where nothing needs it or can see its memory afterwards, else a copy with the same
    sizes and strides.

    Autograd keeps what it saved with ``retain_graph`` and ``create_graph``, and this counts as kept outside
    of a backward pass.  A hook of the user's may keep the tensor; a view, or a result of the program, may
    share its memory: then the tensor or the storage has another owner.
    """
    kept = torch._C._autograd._get_current_graph_task_keep_graph()
    alone = _COUNTED and not kept and _owners(saved) == _ONE_OWNER and sys.getrefcount(saved) <= _REFERENCES
    return saved if alone and not saved.data_ptr() % _ALIGNMENT else _copy(saved)


def _copy(saved: Tensor) -> Tensor:
    copy = torch.empty_strided(saved.shape, saved.stride(), dtype=saved.dtype, device=saved.device)
    return copy.copy_(saved)


def _owners(tensor: Tensor) -> int:
    """Owners of a tensor's storage, with the object that asks."""
    return torch._C._storage_Use_Count(tensor.untyped_storage()._cdata)


_ONE_OWNER = _owners(torch.empty(1))
