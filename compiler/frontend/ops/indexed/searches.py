"""``searchsorted`` and ``bucketize``: a place in a sorted table, by bisection in registers.

Each point of the result halves the table so many times as its length has bits.  The steps are those of torch,
so tables with NaN or out of order give eager's answers.  What computes the values, and what reads the places,
fuses with the steps.

A longer table, one of unknown length, and one with a ``sorter`` stay calls of the library, which bisects in a
kernel of its own.
"""

from typing import Any

import torch

from ....fx.table import lowers
from ....index import sym
from ...importer.arithmetic import Scalar
from ...importer.builder import KernelBuilder
from ...importer.call import Call
from ...importer.values import Tensor

#: The longest table that is searched in registers: a step more for each doubling, and a miss of the cache.
LONGEST = 1 << 16


@lowers("aten.bucketize.Tensor")
def bucketize(call: Call) -> Any:
    return _searched(call, call.tensor("boundaries"), call["right"])


@lowers("aten.searchsorted.Tensor")
def searchsorted(call: Call) -> Any:
    if call["sorter"] is not None:
        call.refuse("a sorter gives the order of the table")
    right = call["right"] if call["side"] is None else call["side"] == "right"
    return _searched(call, call.tensor("sorted_sequence"), right)


def _searched(call: Call, table: Tensor, right: bool) -> Any:
    values = call.tensor("self")
    length = table.sizes[-1].constant if table.rank else None
    if length is None:
        call.refuse("the number of steps depends on the length of the table")
    if length > LONGEST:
        call.refuse(f"a table of {length} is longer than {LONGEST}")
    if values.dtype != table.dtype:
        call.refuse(f"values of {values.dtype} are searched in a table of {table.dtype}")
    kernel = call.kernel([table, values])
    at = kernel.iterate(call.result.sizes)
    value = kernel.load(values, at)
    rows = at[:-1] if table.rank > 1 else ()
    kernel.store(0, at, _place(kernel, table, (*rows, sym("i0")), value, length, right))
    return call.finish(kernel)


def _place(
    k: KernelBuilder, table: Tensor, at: tuple[Any, ...], value: Scalar, length: int, right: bool
) -> Scalar:
    """How many of ``length`` entries are below the value, or not above it with ``right``: an int32.  A NaN is
    above all.
    """
    low, high = k.constant(0, torch.int32), k.constant(length, torch.int32)
    for _ in range(length.bit_length()):
        going = k.compare("lt", low, high)
        middle = k.shift_right(k.add(low, high), 1)
        entry = k.load(table, at, going, 0, (k.cast(middle, torch.int64),))
        stays = k.compare("gt" if right else "ge", entry, value)
        high = k.select(stays, middle, high)
        low = k.select(k.bit_or(stays, k.bit_not(going)), low, k.add(middle, 1))
    return low
