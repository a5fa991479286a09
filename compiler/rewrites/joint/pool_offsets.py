"""Max pooling saves one byte for each result for the backward pass, instead of an int64 and the image.

torch's op returns where in the image each maximum is, in eight bytes, and its backward op also takes the
image, of which it needs the sizes alone.  The byte says where in its window the maximum is.

Before, in the joint graph::

    y, places = aten.max_pool2d_with_indices(x, [3, 3], [2, 2], [1, 1])
    gx = aten.max_pool2d_with_indices_backward(gy, x, [3, 3], [2, 2], [1, 1], [1, 1], False, places)

After::

    y, offsets = fuse_mlir.max_pool2d_offsets(x, [3, 3], [2, 2], [1, 1])
    gx = fuse_mlir.max_pool2d_offsets_backward(gy, offsets, [3, 3], [2, 2], [1, 1], [1, 1], sizes of x)

It does not fire where anything but the backward op reads the places; for sizes that are unknown while
compiling; nor for dilated windows or windows of more than ``LARGEST_WINDOW`` pixels, which keep torch's op.

Why not an MLIR pass: it changes what the forward graph saves for the backward graph, so it must see both.
"""

import operator
from collections.abc import Sequence

import torch
from torch import Tensor
from torch.fx import GraphModule, Node

from ..rewriting import rewrite

_aten = torch.ops.aten

#: More pixels in a window make too long a kernel, unless it folds over them.
LARGEST_WINDOW = 25

_ops = torch.library.Library("fuse_mlir", "DEF")
_WINDOW = "int[2] kernel_size, int[2] stride=[], int[2] padding=0, int[2] dilation=1"
_ops.define(f"max_pool2d_offsets(Tensor self, {_WINDOW}, bool ceil_mode=False) -> (Tensor, Tensor)")
_ops.define(
    f"max_pool2d_offsets_backward(Tensor grad_output, Tensor offsets, {_WINDOW}, *, int[] sizes) -> Tensor"
)


def _offsets(
    x: Tensor,
    kernel_size: Sequence[int],
    stride: Sequence[int] = (),
    padding: Sequence[int] = (0,),
    dilation: Sequence[int] = (1,),
    ceil_mode: bool = False,
) -> tuple[Tensor, Tensor]:
    values, places = _aten.max_pool2d_with_indices(x, kernel_size, stride, padding, dilation, ceil_mode)
    top, left = _first_pixels(places, kernel_size, stride, padding)
    row, column = places // x.shape[-1] - top, places % x.shape[-1] - left
    return values, (row * kernel_size[-1] + column).to(torch.int8)


def _offsets_backward(
    grad_output: Tensor,
    offsets: Tensor,
    kernel_size: Sequence[int],
    stride: Sequence[int] = (),
    padding: Sequence[int] = (0,),
    dilation: Sequence[int] = (1,),
    *,
    sizes: Sequence[int],
) -> Tensor:
    top, left = _first_pixels(offsets, kernel_size, stride, padding)
    wide = offsets.long()
    places = (wide // kernel_size[-1] + top) * sizes[-1] + wide % kernel_size[-1] + left
    result = grad_output.new_zeros((*sizes[:-2], sizes[-2] * sizes[-1]))
    result.scatter_add_(-1, places.flatten(-2), grad_output.flatten(-2))
    return result.view(*sizes).contiguous(memory_format=_format(offsets))


def _first_pixels(
    like: Tensor, kernel_size: Sequence[int], stride: Sequence[int], padding: Sequence[int]
) -> tuple[Tensor, Tensor]:
    """The row and the column where each window begins; in front of the image they are negative."""
    steps = stride or kernel_size
    rows, columns = (torch.arange(n, device=like.device) for n in like.shape[-2:])
    return (rows * steps[0] - padding[0])[:, None], columns * steps[-1] - padding[-1]


def _format(like: Tensor) -> torch.memory_format:
    last = like.dim() == 4 and like.is_contiguous(memory_format=torch.channels_last)
    return torch.channels_last if last and not like.is_contiguous() else torch.contiguous_format


def _offsets_like(x, kernel_size, stride=(), padding=(0,), dilation=(1,), ceil_mode=False):  # type: ignore[no-untyped-def]
    values, places = _aten.max_pool2d_with_indices(x, kernel_size, stride, padding, dilation, ceil_mode)
    return values, torch.empty_like(places, dtype=torch.int8)


def _gradient_like(grad_output, offsets, kernel_size, stride=(), padding=(0,), dilation=(1,), *, sizes):  # type: ignore[no-untyped-def]
    return grad_output.new_empty(sizes).contiguous(memory_format=_format(offsets))


for _name, _run, _like in (
    ("max_pool2d_offsets", _offsets, _offsets_like),
    ("max_pool2d_offsets_backward", _offsets_backward, _gradient_like),
):
    _ops.impl(_name, _run, "CompositeExplicitAutograd")
    _ops.impl(_name, _like, "Meta")  # `register_fake` looks for the caller's source: 20 ms


@rewrite(
    "pool-offsets",
    "max pooling saves one byte for each result for the backward pass, instead of an int64 and the image",
)
def save_offsets(joint: GraphModule) -> int:
    """Rewrites a joint graph of AOTAutograd's in place; how many poolings keep a byte for each result."""
    count = 0
    for node in list(joint.graph.nodes):
        if node.target is _aten.max_pool2d_with_indices.default and _is_simple(node):
            places = [u for u in node.users if u.args[1] == 1]
            readers = [u for p in places for u in p.users]
            if readers and all(_is_its_backward(r, node) for r in readers):
                _replace(node, readers)
                count += 1
    return count


def _is_simple(node: Node) -> bool:
    x = node.args[0].meta["val"]  # type: ignore[union-attr]
    window = node.args[1:]
    dilation = window[3] if len(window) > 3 else 1
    size = list(window[0]) * (2 // len(window[0]))  # type: ignore[arg-type]
    return (
        not node.kwargs
        and all(u.target is operator.getitem for u in node.users)
        and all(type(n) is int for n in (*x.shape, *size))
        and x.dtype.is_floating_point
        and size[0] * size[1] <= LARGEST_WINDOW
        and set(dilation if isinstance(dilation, (list, tuple)) else [dilation]) == {1}
    )


def _is_its_backward(reader: Node, node: Node) -> bool:
    """Whether a reader of the places is the backward op of this pooling and reads them as such."""
    return (
        reader.target is _aten.max_pool2d_with_indices_backward.default
        and reader.args[1] is node.args[0]
        and reader.args[7] in node.users
        and reader.args[0] is not reader.args[7]
    )


def _replace(node: Node, readers: list[Node]) -> None:
    ops = torch.ops.fuse_mlir
    value, places = node.meta["val"]
    node.target = ops.max_pool2d_offsets.default
    node.meta["val"] = (value, torch.empty_like(places, dtype=torch.int8))
    for user in node.users:
        user.meta["val"] = node.meta["val"][user.args[1]]
    sizes = list(node.args[0].meta["val"].shape)  # type: ignore[union-attr]
    for reader in readers:
        gradient, _, *window, _, offsets = reader.args
        reader.target = ops.max_pool2d_offsets_backward.default
        reader.args, reader.kwargs = (gradient, offsets, *window), {"sizes": sizes}


__all__ = ["LARGEST_WINDOW", "save_offsets"]
