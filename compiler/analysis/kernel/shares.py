"""Into how many shares rows are cut that a kernel reduces both along rows and down columns.

Each share is a program of the kernel, which walks through its rows.  ``split-reductions`` cuts the rows;
fusion asks beforehand what that will cost.  "What tiling rules gained" in ``docs/performance/history.md`` has
figures.
"""

from ...base.hardware import Hardware

#: Fewer slices of a reduction than this gain less than the kernel that combines them costs.
FEWEST = 3
#: Programs for each multiprocessor: of one warp, which holds a row; of several warps, which share one; and of
#: so many that a second one would find no registers.
_OF_ONE_WARP, _OF_WARPS, _ALONE = 8, 2, 1
#: Elements of a row from which on a program is alone on its multiprocessor, where points are visited again
#: once their row is reduced, and where they are not.
_WIDE_AGAIN, _WIDE = 4096, 8192
#: Bytes that a share reads at least, so that its reads pay for its start: of one warp, of several.
_WARP_BYTES, _BYTES = 4 * 1024, 16 * 1024
#: Rows of a share at least, where there are shares for every multiprocessor: each writes its sums.
_ROWS = 6


def walk_shares(rows: int, width: int, read: int, *, one_warp: bool, again: bool, hardware: Hardware) -> int:
    """How many shares are wanted of ``rows`` rows of ``width`` elements.

    read: bytes of an element.  one_warp: a warp holds a row and the sums of its columns.  again: points are
    visited again once their row is reduced.
    """
    if one_warp:
        return min(_OF_ONE_WARP * hardware.sm_count, rows * width * read // _WARP_BYTES)
    programs = _ALONE if width > (_WIDE_AGAIN if again else _WIDE) else _OF_WARPS
    most = min(programs * hardware.sm_count, max(hardware.sm_count, rows // _ROWS))
    return min(most, rows * width * read // _BYTES)


def equal_shares(rows: int, most: int) -> int | None:
    """Into how many equally long shares rows can be cut, at most ``most`` and at least half as many; None
    where no such number divides them.
    """
    found = max((n for n in range(1, most + 1) if rows % n == 0), default=1)
    return found if found * 2 >= most else None
