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
    "tt.elementwise_inline_asm": {1: "", 2: "_2"},  # operands of one name have one type
    "tt.make_tensor_descriptor": {1 + 2 * rank: ending for rank, ending in _FOLDED.items()},
}


def mirror_name(op: str, operands: int) -> str:
    """The mirror's name of Triton's ``op`` with so many operands."""
    return op.replace(".return", "_return") + FAMILIES.get(op, {}).get(operands, "")


_RENAMED = {mirror_name(op, n): op for op, endings in FAMILIES.items() for n in endings}
_OF_MIRROR = re.compile('"(' + "|".join(sorted(map(re.escape, _RENAMED), key=len, reverse=True)) + r')"\(')
_OF_TRITON = re.compile('"(' + "|".join(sorted(map(re.escape, FAMILIES), key=len, reverse=True)) + r')"\(')
#: Values of ``cache`` and ``evict`` on loads and stores.
CACHE = {"none": 1, "ca": 2, "cg": 3, "wb": 4, "cs": 5, "wt": 6, "cv": 7}
EVICT = {"normal": 1, "first": 2, "last": 3}
#: Both, as Triton 3.9 spells them.
_POLICY = re.compile(
    r"cachePolicy = #tt\.cache_policy<cache_modifier = (\w+), eviction_policy = evict_(\w+)>"
)

#: A barrier of Triton 3.8 and later.  It names the memory that it is about; one of the mirror is about all.
_BARRIER = re.compile(r'"ttg\.barrier"\(\) (?:<\{.*?\}>|\{.*?\}) :')
_DESCRIPTOR = re.compile(r"!tt\.tensordesc<(?!tensor<)([^>]*)>")
_SPACE = re.compile(r"(!tt\.ptr<[^<>,]*), \d+>")
#: The dictionaries of an op, behind its operands: its properties, then its other attributes.
_DICTIONARIES = re.compile(r" <\{(.*)\}>( \{)?(?= : \(|.*\} : \()")
#: The same where a region begins, and where it ends: there the other attributes are.
_OPENED = re.compile(r" <\{(.*)\}> \(\{$")
_CLOSED = re.compile(r"^ *\}\)( \{)?")


def of_triton(text: str) -> str:
    """TTIR as Triton spells its ops, from generic text of the mirror."""
    return _OF_MIRROR.sub(lambda m: f'"{_RENAMED[m[1]]}"(', text)


def mirrored(text: str) -> str:
    """Generic TTIR of any of Triton's versions, with the mirror's ops, types and dictionaries."""
    made: list[str] = []
    opened: list[str] = []  # the properties of the ops whose regions are open: they come after the regions
    for line in text.split("\n"):
        if line.endswith("({"):
            found = _OPENED.search(line) if '"tt.' in line else None
            opened.append(found[1] if found else "")
            made.append(_line(line[: found.start()] + " ({" if found else line))
        elif _CLOSED.match(line):
            made.append(_line(_closed(line, opened.pop())))
        else:
            made.append(_line(line))
    return "\n".join(made)


def _line(line: str) -> str:
    """A line with the mirror's ops and types."""
    if "!tt." in line:
        line = _SPACE.sub(r"\1>", _DESCRIPTOR.sub(r"!tt.tensordesc<tensor<\1>>", line))
    if '"ttg.barrier"' in line:
        line = _BARRIER.sub('"gpu.barrier"() :', line)
    if '"tt.' in line:
        line = _POLICY.sub(lambda m: f"cache = {CACHE[m[1]]} : i32, evict = {EVICT[m[2]]} : i32", line)
        line = _DICTIONARIES.sub(lambda m: f" {{{m[1]}{', ' if m[2] else '}'}", line, count=1)
        line = _OF_TRITON.sub(lambda m: f'"{mirror_name(m[1], _operands(m.string, m.end()))}"(', line)
    return line


def _closed(line: str, properties: str) -> str:
    """A line that ends a region, with the properties of its op."""
    if not properties:
        return line
    found = _CLOSED.match(line)
    assert found is not None
    rest = f", {line[found.end() :]}" if found[1] else f"}}{line[found.end() :]}"
    return f"{line[: line.index('})')]}}}) {{{properties}{rest}"


def _operands(line: str, start: int) -> int:
    inside = line[start : line.index(")", start)]
    return inside.count(",") + 1 if inside else 0
