"""PTX that makes one of the two numbers of a byte a float, together with the other one."""

import re

from ...base.dataclass import dataclass
from ..nvidia import OF_HALF, BytesText, half_text


@dataclass(frozen=True)
class HalfText:
    """PTX that makes two numbers of a byte, ``byte >> shift & mask`` at two shifts, the halves of a register,
    and takes one of these, a float of 16 bits minus an integer as ``of`` says.

    ``shifts``: of the lower half, then of the upper one.  ``second``: whether the upper one is taken.  Where
    both halves are wanted, ptxas does once what both texts do, and the two are in one register already.  The
    upper bits of a register of a byte may be anything.
    """

    of: BytesText
    shifts: tuple[int, int]
    second: bool

    #: Bytes that are taken at once.
    count = 1

    @staticmethod
    def pair(first: BytesText, second: BytesText) -> "tuple[HalfText, HalfText] | None":
        """The numbers of a byte that ``first`` and ``second`` make of several at once; None of those that are
        no two parts of a byte, are more than these, or from which a tile is subtracted."""
        alike = (first.mask, first.less, first.element) == (second.mask, second.less, second.element)
        fits = first.pairs and second.pairs and not first.signed and not second.signed
        apart = abs(first.shift - second.shift) >= first.mask.bit_length()
        if not alike or not fits or not apart or first.less is None or first.mask >= 1 << 7:
            return None
        shifts = first.shift, second.shift
        return HalfText(first, shifts, False), HalfText(second, shifts, True)

    @property
    def text(self) -> str:
        """The PTX."""
        return half_text(self.of, *self.shifts, self.second)

    @property
    def constraints(self) -> str:
        """Of the registers that it writes and reads."""
        return "=h,h"

    @staticmethod
    def read(text: str) -> "HalfText | None":
        """The one with this PTX; None for any other PTX."""
        found = OF_HALF.search(text)
        if found is None:
            return None
        low = int(found["shift"])
        high = 16 + low - (int(found["factor"], 16).bit_length() - 1)
        second = found["first"] == "other"
        mask, element = int(found["mask"], 16), found["type"]
        pairs = BytesText(False, 0, 0, mask, element, True)
        of = BytesText.read(
            re.sub(r"less, 0x\w{8}", f"less, 0x{found['less']}", pairs.text).replace(
                "shr.b32 all, all, 0", f"shr.b32 all, all, {high if second else low}"
            )
        )
        made = None if of is None else HalfText(of, (low, high), second)
        return made if made is not None and made.text == text else None
