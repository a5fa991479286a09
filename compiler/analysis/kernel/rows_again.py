"""Which rows a walk holds as they were loaded, because it visits them again once they are reduced.

Fusion asks whether it may form such a walk, and the tiling rule ``wide-row-again`` whether it may cut one.
"""

from collections.abc import Sequence

from ...ir.layout import TensorSpec

#: Most tensors that are read at all points; most numbers that reductions make of each column; and most bytes
#: of each column that all rows share.
_TENSORS, _SUMS, _SHARED_BYTES = 2, 1, 2


def held_as_loaded(tensors: Sequence[TensorSpec], sums: int, shared_bytes: int) -> bool:
    """Whether registers hold rows of 16384 elements in the form in which they were loaded, beside the sums of
    their columns and what is computed of both.

    ``tensors`` are read at all points.  ``sums``: how many numbers reductions make of each column.
    ``shared_bytes``: of each column, what is loaded along the row but not at all points.  These are the
    weights of a norm, which all rows share.

    Up to two tensors of bfloat16 are held in a register for each element.  Beside them there is room for one
    sum of each column, and for weights of 16 bits in all.  With weights of float32, or two of bfloat16, a row
    of 16384 elements spills, and shared memory has no room to load the next row meanwhile.
    """
    narrow = all(spec.element == "bf16" for spec in tensors)
    return len(tensors) <= _TENSORS and narrow and sums <= _SUMS and shared_bytes <= _SHARED_BYTES
