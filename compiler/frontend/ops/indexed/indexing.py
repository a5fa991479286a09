"""Reads at loaded indices: one kernel that loads an index, checks it and loads the element.

Every index is asserted on the device to be in range, with eager's wording, but for ``aten._unsafe_index``,
with which torch says that the indices need no check.  The same condition guards the load that uses it, so no
kernel reads out of bounds, even before the assertion stops the program.
"""

from collections.abc import Callable, Sequence
from typing import Any

import torch

from ....base.dataclass import dataclass
from ....fx.table import lowers
from ....index import Expr, const, sym
from ...importer.arithmetic import Scalar
from ...importer.builder import KernelBuilder
from ...importer.call import Call
from ...importer.values import Tensor

#: Dtypes of an index.  bool and uint8 are masks, whose number of selected elements depends on the data.
INDEX_DTYPES = (torch.int64, torch.int32, torch.int16, torch.int8)


@dataclass(frozen=True)
class IndexedElement:
    """An element of a tensor at loaded indices: its coordinates (over ``i0``..), the indices, and whether all
    are in range.
    """

    at: tuple[Expr, ...]
    indices: tuple[Scalar, ...]
    valid: Scalar | None

    def load(self, k: KernelBuilder, tensor: Tensor) -> Scalar:
        """The element in the dtype of the tensor."""
        return k.load_raw(tensor, self.at, self.valid, 0, self.indices)


def out_of_bounds(dim: int, size: Expr) -> str:
    """Eager's message for an index that is out of range, without the value."""
    extent = f" with size {size}" if size.is_constant else ""
    return f"index out of bounds for dimension {dim}{extent}"


def checked(
    k: KernelBuilder, index: Scalar, size: Expr, message: str | None, wrap: bool = False
) -> tuple[Scalar, Scalar]:
    """(``index`` as an int64, whether it is in range); the latter is asserted, unless ``message`` is None.
    ``wrap``: negative indices count from the end.
    """
    index = k.cast(index, torch.int64)
    extent = k.constant(size.constant, torch.int64) if size.constant is not None else k.index(size)
    if wrap:
        index = k.select(k.compare("lt", index, 0), k.add(index, extent), index)
    valid = k.bit_and(k.compare("ge", index, 0), k.compare("lt", index, extent))
    if message is not None:
        k.assert_(valid, message, is_index=True)
    return index, valid


def at_index(
    k: KernelBuilder, tensor: Tensor, at: Sequence[Expr], dim: int, index: Scalar, message: str | None = None
) -> IndexedElement:
    """The point ``at`` of ``tensor`` with coordinate ``dim`` replaced by ``index``.  A 0-d tensor counts as
    one element of one dim.
    """
    size = tensor.sizes[dim] if tensor.rank else const(1)
    index, valid = checked(k, index, size, message or out_of_bounds(dim, size))
    if not tensor.rank:
        return IndexedElement((), (), valid)
    return IndexedElement((*at[:dim], sym("i0"), *at[dim + 1 :]), (index,), valid)


def require_indices(call: Call, *indices: Tensor) -> None:
    """Refuses masks."""
    for index in indices:
        if index.dtype not in INDEX_DTYPES:
            call.refuse(
                f"an index of {index.dtype} is a mask: how many elements it selects depends on the data"
            )


@dataclass(frozen=True)
class Advanced:
    """How ``x[indices]`` maps points of the result to elements of ``x`` (NumPy's advanced indexing).

    The indices broadcast to ``rank`` dims, which begin at dim ``start`` of the result: in the place of the
    indexed dims if these are neighbours in ``x``, else at 0.
    """

    tensor: Tensor
    indices: tuple[Tensor | None, ...]
    rank: int
    start: int

    @staticmethod
    def of(call: Call, tensor: Tensor, indices: Sequence[Tensor | None]) -> "Advanced":
        given = [d for d, i in enumerate(indices) if i is not None]
        padded = (*indices, *[None] * (tensor.rank - len(indices)))
        tensors = [i for i in indices if i is not None]
        require_indices(call, *tensors)
        if not tensors:
            call.refuse("there is no index")
        neighbours = given == list(range(given[0], given[0] + len(given)))
        return Advanced(tensor, padded, max(t.rank for t in tensors), given[0] if neighbours else 0)

    @property
    def tensors(self) -> list[Tensor]:
        """The index tensors."""
        return [i for i in self.indices if i is not None]

    def place(self, k: KernelBuilder, at: Sequence[Expr], asserted: bool = True) -> IndexedElement:
        """The element for the point ``at`` of the result; negative indices count from the end.  ``asserted``:
        whether the kernel asserts that each index is in range.
        """
        common = at[self.start : self.start + self.rank]
        others = [*at[: self.start], *at[self.start + self.rank :]]
        coordinates: list[Expr] = []
        loaded: list[Scalar] = []
        valid: Scalar | None = None
        for dim, index in enumerate(self.indices):
            if index is None:
                coordinates.append(others.pop(0))
                continue
            size = self.tensor.sizes[dim]
            value = k.load_raw(index, k.broadcast(index, common))
            message = out_of_bounds(dim, size) if asserted else None
            position, inside = checked(k, value, size, message, wrap=True)
            coordinates.append(sym(f"i{len(loaded)}"))
            loaded.append(position)
            valid = inside if valid is None else k.bit_and(valid, inside)
        return IndexedElement(tuple(coordinates), tuple(loaded), valid)


@lowers("aten.index.Tensor")
def index(call: Call) -> Any:
    return _indexed(call, asserted=True)


@lowers("aten._unsafe_index.Tensor")
def unsafe_index(call: Call) -> Any:
    """What torch's decompositions of other ops, such as interpolation, read with: it marks indices that need
    no check of their bounds.
    """
    return _indexed(call, asserted=False)


def _indexed(call: Call, asserted: bool) -> Any:
    source = call.tensor("self")
    advanced = Advanced.of(call, source, call["indices"])
    kernel = call.kernel([source, *advanced.tensors])
    at = kernel.iterate(call.result.sizes)
    kernel.store(0, at, advanced.place(kernel, at, asserted).load(kernel, source))
    return call.finish(kernel)


@lowers("aten.gather.default")
def gather(call: Call) -> Any:
    """The result has the index's shape; its other coordinates are the point's own."""
    return _along_dim(call, lambda at, dim: at)


@lowers("aten.index_select.default")
def index_select(call: Call) -> Any:
    """Each place along the dim has one index."""
    source, index_ = call.tensor("self"), call.tensor("index")

    def position(at: tuple[Expr, ...], dim: int) -> tuple[Expr, ...]:
        return (at[dim],) if index_.rank and source.rank else (const(0),) * index_.rank

    return _along_dim(call, position, "index out of range in self")


def _along_dim(
    call: Call, position: Callable[[tuple[Expr, ...], int], tuple[Expr, ...]], *message: str
) -> Any:
    """``self`` at an index along ``dim``, which is read at ``position`` of a point and of ``dim``."""
    source, index_ = call.tensor("self"), call.tensor("index")
    require_indices(call, index_)
    dim = call["dim"] % max(source.rank, 1)
    kernel = call.kernel([source, index_])
    at = kernel.iterate(call.result.sizes)
    place = at_index(kernel, source, at, dim, kernel.load_raw(index_, position(at, dim)), *message)
    kernel.store(0, at, place.load(kernel, source))
    return call.finish(kernel)


@lowers("aten.embedding.default")
def embedding(call: Call) -> Any:
    """Rows of the weight.  ``padding_idx`` does not matter here: it concerns the gradient only."""
    weight, indices = call.tensor("weight"), call.tensor("indices")
    require_indices(call, indices)
    kernel = call.kernel([weight, indices])
    at = kernel.iterate(call.result.sizes)
    row = kernel.load_raw(indices, at[: indices.rank])
    place = at_index(kernel, weight, (const(0), *at[indices.rank :]), 0, row, "index out of range in self")
    kernel.store(0, at, place.load(kernel, weight))
    return call.finish(kernel)
