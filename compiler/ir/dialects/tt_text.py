"""How TTIR is spelt as text: by the mirror of Triton's dialect (``tt.py``), and by Triton.

A Python-defined op has a fixed number of operands and a name without dots, and its attributes are in one
dictionary.  So one op of Triton may be several of the mirror, by the number of its operands.
"""

import re

#: Triton's ops that the mirror has once for each number of operands, and the most that there are.
ARITIES = {"tt.reduce": 5, "tt.scan": 5, "tt.reduce.return": 5, "tt.scan.return": 5}


def mirror_name(op: str, operands: int) -> str:
    """The mirror's name of Triton's ``op`` with so many operands."""
    name = op.replace(".return", "_return")
    return name if op not in ARITIES or operands == 1 else f"{name}_{operands}"


_RENAMED = {mirror_name(op, n): op for op, most in ARITIES.items() for n in range(1, most + 1)}
_OF_MIRROR = re.compile('"(' + "|".join(sorted(map(re.escape, _RENAMED), key=len, reverse=True)) + r')"\(')
_OF_TRITON = re.compile('"(' + "|".join(sorted(map(re.escape, ARITIES), key=len, reverse=True)) + r')"\(')
_DESCRIPTOR = re.compile(r"!tt\.tensordesc<(?!tensor<)([^>]*)>")
_SPACE = re.compile(r"(!tt\.ptr<[^<>,]*), \d+>")
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')


def of_triton(text: str) -> str:
    """TTIR as Triton spells its ops, from generic text of the mirror."""
    return _OF_MIRROR.sub(lambda m: f'"{_RENAMED[m[1]]}"(', text)


def mirrored(text: str) -> str:
    """Generic TTIR of any of Triton's versions, with the mirror's ops, types and dictionaries."""
    made: list[str] = []
    opened: list[str] = []  # dictionaries of the ops whose regions are open: they come after the regions
    for line in text.split("\n"):
        kept = _STRING.findall(line)
        if not kept and "!tt." not in line and not line.lstrip().startswith("})"):
            made.append(line)
            continue
        # A string may hold anything: an assembly text, for example.
        bare = _SPACE.sub(r"\1>", _DESCRIPTOR.sub(r"!tt.tensordesc<tensor<\1>>", _STRING.sub("\0", line)))
        of_tt = any(name.startswith('"tt.') for name in kept)
        if bare.endswith("({"):
            bare, dictionary = _without_properties(bare) if of_tt else (bare, "")
            count = dictionary.count("\0")
            strings = kept[-count:] if count else []
            opened.append(_filled(dictionary, strings))
            kept = kept[: len(kept) - count]
        elif bare.lstrip().startswith("})"):
            dictionary = opened.pop()
            before, after = bare.split("})", 1)
            if dictionary and after.startswith(" {"):
                dictionary, after = dictionary + ", ", after[2:]
            elif dictionary:
                dictionary += "}"
            line = _filled(after, kept)
            made.append(before + "})" + (f" {{{dictionary}" if dictionary else "") + line)
            continue
        elif of_tt:
            bare = bare.replace("<{", "{").replace("}> {", ", ").replace("}>", "}")
        line = _filled(bare, kept)
        made.append(_OF_TRITON.sub(lambda m: f'"{mirror_name(m[1], _operands(line, m.end()))}"(', line))  # noqa: B023
    return "\n".join(made)


def _without_properties(line: str) -> tuple[str, str]:
    """A line that opens a region without its op's properties, and what is between their braces."""
    before, opening, rest = line.partition(" <{")
    if not opening:
        return line, ""
    inside, _, after = rest.rpartition("}>")
    return before + after, inside


def _filled(bare: str, strings: list[str]) -> str:
    left = iter(strings)
    return re.sub("\0", lambda _: next(left), bare)


def _operands(line: str, start: int) -> int:
    return line[start : line.index(")", start)].count(",") + 1
