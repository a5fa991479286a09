"""Into how many shares rows are cut that a kernel reduces both along rows and down columns.

Each share is a program of the kernel, which walks through its rows.  ``split-reductions`` cuts the rows;
fusion asks beforehand what that will cost.  "What tiling rules gained" in ``docs/performance/history.md`` has
figures.
"""

from ...cost.hardware import Hardware

#: Fewer slices of a reduction than this gain less than the kernel that combines them costs.
FEWEST = 3
#: Programs for each multiprocessor: of one warp, which holds a row; of several warps, which share one; and of
#: as many warps as leave no registers for a second program.
_OF_ONE_WARP, _OF_WARPS, _ALONE = 8, 2, 1
#: A row with more elements takes so many warps.
_WIDE = 8192
#: Bytes that a share reads at least, so that its reads pay for its start; fewer of a warp where there would
#: not be two for each multiprocessor.
_BYTES, _FEW_BYTES = 16 * 1024, 4 * 1024
#: Rows of a share at least: each share writes a sum of every column.  Of a warp; and of several warps, where
#: a row has at most so many elements.
_WARP_ROWS, _ROWS, _NARROW = 4, 6, 4096


def walk_shares(rows: int, width: int, read: int, *, one_warp: bool, hardware: Hardware) -> int:
    """How many shares are wanted of ``rows`` rows of ``width`` elements.

    read: bytes of an element.  one_warp: a warp holds a row and the sums of its columns.
    """
    bytes_ = rows * width * read
    if one_warp:
        shares = bytes_ // _BYTES
        if shares < hardware.full_grid:
            shares = max(shares, min(bytes_ // _FEW_BYTES, rows // _WARP_ROWS))
        return min(_OF_ONE_WARP * hardware.sm_count, shares)
    most = _OF_WARPS * hardware.sm_count
    if width > _WIDE or rows < _ROWS * most * max(1, width // _NARROW):
        most = _ALONE * hardware.sm_count
    return min(most, bytes_ // _BYTES)


def equal_shares(rows: int, most: int) -> int | None:
    """Into how many equally long shares rows can be cut, at most ``most`` and at least half as many; None
    where no such number divides them.
    """
    found = max((n for n in range(1, most + 1) if rows % n == 0), default=1)
    return found if found * 2 >= most else None
