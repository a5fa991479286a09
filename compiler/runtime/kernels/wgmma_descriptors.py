"""Descriptors of blocks in shared memory, some of which ptxas adds up wrongly.

``wgmma`` takes a block of shared memory as a descriptor of 64 bits: the address in the low word, the layout
in the high one, with the width of the swizzle in its upper two bits.  The descriptors of a block's further
parts are the address plus a constant.  ptxas (12.8 of Triton 3.6.0, and 13.0) adds the address, or a register
that nothing wrote, to the high word of some of these: where rows have 32 bytes, so that both bits are set,
and where blocks of several widths lie at one address after each other
(``findings/ptxas-descriptors-of-narrow-rows.sh``).  The product then reads other elements, or beyond shared
memory.  Added in halves, they are right.
"""

import re
from collections import defaultdict

#: A descriptor: how it is made, the result, the address, and the layout with the distance of the part.
_DESCRIPTOR = re.compile(r"(add\.s64|or\.b64)\s+(%rd\d+), (%rd\d+), (-\d{11,}|\d{11,});")
#: The swizzle of rows of 32 bytes.
_NARROW = 3


def added_in_halves(ptx: str) -> str:
    """PTX in which the descriptors of such parts are added as two words of 32 bits; the rest stays."""
    if "wgmma.mma_async" not in ptx:
        return ptx
    swizzles = defaultdict[str, set[int]](set)
    for _, _, address, constant in _DESCRIPTOR.findall(ptx):
        swizzles[address].add(_words(constant)[0] >> 30)
    wrong = {address for address, found in swizzles.items() if len(found) > 1 or _NARROW in found}
    return _DESCRIPTOR.sub(lambda m: _halves(m) if m[1] == "add.s64" and m[3] in wrong else m[0], ptx)


def _words(constant: str) -> tuple[int, int]:
    """The high and the low word."""
    return divmod(int(constant) % (1 << 64), 1 << 32)


def _halves(found: re.Match[str]) -> str:
    _, result, address, constant = found.groups()
    high, low = _words(constant)
    return (
        f"{{ .reg .b32 low, high; mov.b64 {{low, high}}, {address}; add.cc.u32 low, low, {low}; "
        f"addc.u32 high, high, {high}; mov.b64 {result}, {{low, high}}; }}"
    )


__all__ = ["added_in_halves"]
