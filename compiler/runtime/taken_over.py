"""The op ``fuse.take_over``: what autograd saved becomes storage that a backward graph may write to."""

import sys

import torch
from torch import Tensor

#: The op's name in modules and plans.
TAKE_OVER = "fuse.take_over"
#: What the addresses of kernels' arguments are multiples of.
_ALIGNMENT = 16


def take_over(saved: Tensor) -> Tensor:
    """A copy with the same sizes and strides: the op, for one who goes on holding ``saved``."""
    copy = torch.empty_strided(saved.shape, saved.stride(), dtype=saved.dtype, device=saved.device)
    return copy.copy_(saved)


def take_over_last(box: list[Tensor]) -> Tensor:
    """The memory of the one tensor in ``box``, which is emptied, where nothing else can see it, else a copy
    with the same sizes and strides.

    Autograd keeps what it saved with ``retain_graph`` and ``create_graph``; a hook of the user's may keep the
    tensor, a view, a NumPy array or a storage of it; a frame of Python may not have let it go.  Each of them
    owns the tensor, and so its storage, which has one owner more then.  How many references Python has to the
    tensor is not asked: it differs between the ways in which Python calls a function.  Memory that torch did
    not take itself, such as a buffer that a custom op wraps, has owners that nobody counts: it is copied.
    """
    alias = box.pop().detach()  # from here on the tensor is gone, unless something has it
    alone = _owners(alias) == _ONE_OWNER and not alias.data_ptr() % _ALIGNMENT
    return alias if alone else take_over(alias)


def _owners(tensor: Tensor) -> tuple[bool, int, int]:
    """Whether torch took a tensor's memory and gave no array of it, owners of its storage, of which Python's
    object for it is one, and references to this object, with those of this function, always as many.
    """
    storage = tensor.untyped_storage()
    return storage.resizable(), torch._C._storage_Use_Count(storage._cdata), sys.getrefcount(storage)


_ONE_OWNER = _owners(torch.empty(1))
