"""How much local memory and how many registers the threads of a compiled kernel take, read from its cubin.

A cubin is an ELF file.  Its section ``.nv.info`` is a list of entries, each a format, an attribute, and two
bytes that are a value or, in format 4, the length of the value behind them.  ptxas writes the frame of each
function as attribute 17: the number of its symbol, and bytes.  (``cuobjdump -res-usage`` shows them as
``STACK``.)  Attribute 47 is, in the same form, the registers of a kernel.
"""

import struct
from collections.abc import Iterator

_HEADER, _SECTION = struct.Struct("<40xQ10x3H"), struct.Struct("<IIQQQQ24x")
_ENTRY, _VALUE = struct.Struct("<BBH"), struct.Struct("<II")
#: The format of an entry with a value of its own; the attributes of a function's frame and its registers.
_SIZED, _FRAME, _REGISTERS = 4, 17, 47


def stack_bytes(cubin: bytes) -> int:
    """The largest frame of a function, in bytes; 0 where nothing spills.  Raises ValueError for what is no
    cubin.
    """
    return _most(cubin, _FRAME)


def register_count(cubin: bytes) -> int:
    """Registers a thread; 0 where the cubin does not say.  Raises ValueError for what is no cubin."""
    return _most(cubin, _REGISTERS)


def _most(cubin: bytes, attribute: int) -> int:
    """The largest value that an attribute has for a function."""
    try:
        return max(_values(_info(cubin), attribute), default=0)
    except (struct.error, OverflowError, IndexError):
        raise ValueError(f"{len(cubin)} bytes are no cubin") from None


def _info(cubin: bytes) -> bytes:
    """The section ``.nv.info``; empty where there is none."""
    if cubin[:4] != b"\x7fELF":
        raise ValueError(f"{len(cubin)} bytes are no cubin")
    table, size, count, names = _HEADER.unpack_from(cubin)
    sections = [_SECTION.unpack_from(cubin, table + number * size) for number in range(count)]
    text = sections[names][4]
    for name, _, _, _, start, length in sections:
        if cubin.startswith(b".nv.info\0", text + name):
            return cubin[start : start + length]
    return b""


def _values(info: bytes, wanted: int) -> Iterator[int]:
    at = 0
    while at < len(info):
        form, attribute, length = _ENTRY.unpack_from(info, at)
        at += _ENTRY.size
        if form == _SIZED:
            if attribute == wanted:
                yield _VALUE.unpack_from(info, at)[1]
            at += length
