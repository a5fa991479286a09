"""What is wrong in the machine code of a compiled kernel that no PTX shows."""

import re

_INSTRUCTION = re.compile(r"/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P\w+\s+)?([A-Za-z0-9_.]+)\s*(.*?);")
_REGISTER = re.compile(r"(gdesc\[|desc\[)?UR(\d+)\b")
#: Instructions that write a uniform register, beside those whose names begin with U.
_WRITING = ("S2UR", "R2UR", "VOTEU", "REDUX", "CREDUX")


def unwritten(text: str) -> list[str]:
    """The instructions that read a uniform register which nothing before them in the text writes."""
    wrote, found = set[int](), []
    for name, operands in _INSTRUCTION.findall(text):
        first, _, rest = operands.partition(",")
        target = re.fullmatch(r"UR(\d+)", first.strip())
        writes = target is not None and (name.startswith("U") or name.split(".")[0] in _WRITING)
        if _read(name, rest if writes else operands) - wrote:
            found.append(f"{name} {operands}".strip())
        if writes and target is not None:
            count = 4 if ".128" in name else 2 if ".64" in name or ".WIDE" in name else 1
            wrote |= {int(target[1]) + n for n in range(count)}
    return found


def _read(name: str, operands: str) -> set[int]:
    """The uniform registers that are named.  Descriptors of tensor cores are pairs: of the left factor, which
    may be in registers, and of the right one.
    """
    read = set[int]()
    for kind, number in _REGISTER.findall(operands):
        left = 2 if kind == "gdesc[" and re.match(r"R\d+, R\d+", operands) else 0
        last = 4 if kind == "gdesc[" else 2 if kind else 1
        read |= {int(number) + n for n in range(left, last)}
    return read
