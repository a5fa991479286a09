"""Into how many shares rows are cut that a kernel reduces both along rows and down columns.

Each share is a program of the kernel, which walks through its rows one by one.  ``split-reductions`` cuts the
rows; fusion asks beforehand what that will cost.
"""

from ...base.hardware import Hardware

#: A share reads at least so many bytes, so that its reads pay for its start.
SHARE_BYTES = 16 * 1024
#: Fewer shares than this gain less than the kernel that combines them costs.
FEWEST = 3
#: Programs for each multiprocessor: of several warps, which share a row, and of one warp, which holds it.
OF_WARPS, OF_ONE_WARP = 2, 8


def most_shares(read: int, one_warp: bool, hardware: Hardware) -> int:
    """How many shares are wanted of rows of ``read`` bytes in all.  one_warp: a warp holds a row."""
    programs = (OF_ONE_WARP if one_warp else OF_WARPS) * hardware.sm_count
    return min(programs, read // SHARE_BYTES)


def equal_shares(rows: int, most: int) -> int | None:
    """Into how many equally long shares rows can be cut, at most ``most`` and at least half as many; None where
    no such number divides them.
    """
    found = max((n for n in range(1, most + 1) if rows % n == 0), default=1)
    return found if found * 2 >= most else None
