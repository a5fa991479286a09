"""A long running sum that few programs would compute is cut into slices, which run in parallel.

A kernel of a running sum has a program for each row, or for a few columns, which goes through all that is
summed.  Where a tensor has few rows or columns, most of the GPU is idle meanwhile: the places that tokens
take at their experts (``one_hot(experts).cumsum(0)``) are 32768 steps of 64 columns.

Before::

    y = cumsum(x, 0)                                           # x: [32768, 64], int64

After::

    slices = x.view(128, 256, 64)
    totals = slices.sum(1)
    before = cumsum(constant_pad_nd(totals[:-1], front=1), 0)  # of the slices in front of each
    y = (cumsum(slices, 1) + before[:, None]).view(32768, 64)

What computes x fuses with both readers.  Sums are added up in another order, always the same one; floats of
16 bits in float32.

It fires where a quarter of the multiprocessors or fewer would have a program, which would go through 32768
points of a row or more, or 4096 of columns.

It does not fire where a size is a symbol, where a tensor does not lie as its sizes say, or where the length
has no divisor near the length of a slice.

Why not an MLIR pass: the slices, their totals and what is in front of them are each an op of torch's.
"""

import math
from collections.abc import Iterator

import torch
from torch import Tensor
from torch.fx import GraphModule, Node

from ...cost.hardware import Hardware
from ...fx.new_node import computed_node, replace_nodes
from ...ir.sizes import ceil_power
from ..captured.attention_splits import hardware_of
from ..rewriting import rewrite

_aten = torch.ops.aten
#: Bytes of a row of columns that a program sums down, as the rule ``scan-looped`` of tiling has it.
_COLUMN_BYTES = 64
#: Points of a slice: of a row, and of columns; so long, a block of a program holds it.
_ROW, _COLUMN = 1024, 256
#: Points from which slices pay for two more kernels.  On an H200, one row of 16384 takes 6.0 us as one
#: program, which holds it, and 7.5 in slices; 8 rows of 65536 37 and 9; a row of 1048576 543 and 10.6; 8192
#: steps of 8 columns 89 and 12, 32768 of 64 345 and 29.
_LONG_ROW, _LONG_COLUMN = 32768, 4096
#: Slices that one block adds up.
_MOST = 4096
#: The part of the multiprocessors that has a program.
_BUSY = 4
#: The part of a block of a power of two that a slice is to fill.
_FILLED = 0.75


@rewrite("running-sums", "a long running sum that few programs would compute is cut into slices")
def slice_running_sums(gm: GraphModule) -> int:
    """Rewrites a functional graph with ``meta["val"]`` in place; how many running sums were cut.

    Fires on ``cumsum`` of numbers that are not complex, of static sizes, without gaps.
    """
    return replace_nodes(gm, _sliced)


def _sliced(node: Node) -> Node | None:
    if node.target is not _aten.cumsum.default:
        return None
    source, made = node.args[0], node.meta["val"]
    assert isinstance(source, Node)
    x = source.meta["val"]
    if made.dtype.is_complex or made.dtype is torch.bool or not _is_plain(x) or not _is_plain(made):
        return None
    dim = int(node.args[1]) % max(x.dim(), 1)  # type: ignore[call-overload]
    hardware = hardware_of(made.device)
    length = slice_length(tuple(x.shape), dim, made.element_size(), hardware) if x.dim() else None
    if length is None:
        return None
    narrow = made.dtype in (torch.float16, torch.bfloat16)
    wide = torch.float32 if narrow else made.dtype
    shape = list(x.shape)
    cut = [*shape[:dim], shape[dim] // length, length, *shape[dim + 1 :]]
    pads = [0, 0] * (len(shape) - 1 - dim) + [1, 0]
    with node.graph.inserting_before(node):
        if x.dtype != wide:
            source = computed_node(node, _aten._to_copy.default, source, dtype=wide)
        slices = computed_node(node, _aten.view.default, source, cut)
        totals = computed_node(node, _aten.sum.dim_IntList, slices, [dim + 1], dtype=wide)
        others = computed_node(node, _aten.slice.Tensor, totals, dim, 0, cut[dim] - 1)
        shifted = computed_node(node, _aten.constant_pad_nd.default, others, pads, 0)
        before = computed_node(node, _aten.cumsum.default, shifted, dim, dtype=wide)
        inside = computed_node(node, _aten.cumsum.default, slices, dim + 1, dtype=wide)
        line = computed_node(node, _aten.unsqueeze.default, before, dim + 1)
        whole = computed_node(
            node, _aten.view.default, computed_node(node, _aten.add.Tensor, inside, line), shape
        )
        return computed_node(node, _aten._to_copy.default, whole, dtype=made.dtype) if narrow else whole


def _is_plain(value: Tensor) -> bool:
    """Whether sizes are numbers, and elements lie as these say."""
    return all(type(n) is int for n in value.shape) and value.is_contiguous()


def slice_length(shape: tuple[int, ...], dim: int, size: int, hardware: Hardware) -> int | None:
    """How many points of ``dim`` a slice has, of a running sum of elements of ``size`` bytes; None where it
    is not cut.
    """
    columns, rows, length = math.prod(shape[dim + 1 :]), math.prod(shape[:dim]), shape[dim]
    least, enough = (_ROW, _LONG_ROW) if columns == 1 else (_COLUMN, _LONG_COLUMN)
    programs = rows if columns == 1 else rows * -(-columns * size // _COLUMN_BYTES)
    if not 0 < programs * _BUSY <= hardware.sm_count or length < enough:
        return None
    least = max(least, -(-length // _MOST))
    return next((n for n in _divisors(length, least) if n >= _FILLED * ceil_power(n)), None)


def _divisors(whole: int, least: int) -> Iterator[int]:
    """Those that are at least ``least``, and less than four times as large, the smallest first."""
    return (n for n in range(least, min(4 * least, whole)) if whole % n == 0)


__all__ = ["slice_length", "slice_running_sums"]
