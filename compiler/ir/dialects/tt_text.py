"""How TTIR is spelt as text: by the mirror of Triton's dialect (``tt.py``), and by Triton.

A Python-defined op has a fixed number of operands and a name without dots, and its attributes are in one
dictionary.  So one op of Triton may be several of the mirror, by the number of its operands.
"""

import re

#: Triton's ops that the mirror has several times, and by the number of operands the end of the mirror's name.
_FOLDED = {1: "", **{n: f"_{n}" for n in range(2, 6)}}
FAMILIES = {
    "tt.reduce": _FOLDED,
    "tt.scan": _FOLDED,
    "tt.reduce.return": _FOLDED,
    "tt.scan.return": _FOLDED,
    "tt.print": {0: "_0", **_FOLDED},
    "tt.make_tensor_descriptor": {1 + 2 * rank: ending for rank, ending in _FOLDED.items()},
}


def mirror_name(op: str, operands: int) -> str:
    """The mirror's name of Triton's ``op`` with so many operands."""
    return op.replace(".return", "_return") + FAMILIES.get(op, {}).get(operands, "")


_RENAMED = {mirror_name(op, n): op for op, endings in FAMILIES.items() for n in endings}
_OF_MIRROR = re.compile('"(' + "|".join(sorted(map(re.escape, _RENAMED), key=len, reverse=True)) + r')"\(')
_OF_TRITON = re.compile('"(' + "|".join(sorted(map(re.escape, FAMILIES), key=len, reverse=True)) + r')"\(')
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
    inside = line[start : line.index(")", start)]
    return inside.count(",") + 1 if inside else 0
