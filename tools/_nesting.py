"""How deeply a text is nested, and how large it is once its aliases are expanded.  MLIR's parser, verifier
and printer recurse, so thousands of nested brackets crash the process.  An alias may use another one twice,
so thirty lines of aliases can expand to a text that no memory holds.
"""

import re
from collections.abc import Iterator

from ..compiler.base.dataclass import dataclass

#: Most nested brackets that a text may have, counted through aliases.  Modules of programs have about ten.
#: MLIR's stack of 8 MB overflows at some thousands of regions, Python's at some hundreds.
MOST = 150
#: Most brackets and names that an alias may expand to.
LARGEST = 2**20

#: Strings and comments contain no brackets that count; ``->`` closes none.  ``!a = ..`` and ``#a = ..``
#: define aliases.
_TOKEN = re.compile(
    r'"(?:[^"\\\n]|\\.)*"?|//[^\n]*|->|(?P<alias>^[!#][\w$.-]+(?=\s*=))|[!#][\w$.-]+|[(\[{<]|[)\]}>]|-(?:\s*-)+',
    re.MULTILINE,
)
_ALIAS = re.compile(r"^[!#]", re.MULTILINE)


@dataclass(frozen=True)
class TooMuch:
    """The place where a text is nested deeper than ``MOST``, or has an alias that expands to more than
    ``LARGEST``: line and column from 1, and which of the two.
    """

    line: int
    column: int
    why: str


def too_much(text: str) -> TooMuch | None:
    """The first place at which ``text`` exceeds a limit; None if it exceeds none."""
    if sum(map(text.count, "([{<-")) <= MOST and _ALIAS.search(text) is None:
        return None
    for depth, size, at in _depths(text):
        if depth > MOST:
            why = f"nests deeper than {MOST} brackets, signs and aliases"
        elif size > LARGEST:
            why = f"defines an alias for more than {LARGEST} brackets and names"
        else:
            continue
        start = text.rfind("\n", 0, at) + 1
        return TooMuch(text.count("\n", 0, at) + 1, at - start + 1, why)
    return None


def _depths(text: str) -> Iterator[tuple[int, int, int]]:
    """For each opening bracket, sequence of signs and alias: its depth, the size so far of the alias that is
    being defined, and its place.
    """
    depth, aliases, sizes, defined, end = 0, dict[str, int](), dict[str, int](), "", 0
    for token in _TOKEN.finditer(text):
        word, first = token[0], token[0][0]
        if defined and depth == 0 and "\n" in text[end : token.start()]:
            defined = ""
        end = token.end()
        if first in "([{<":
            depth += 1
            inside = depth
        elif first in ")]}>":
            depth = max(depth - 1, 0)
            continue
        elif token["alias"] and depth == 0:
            defined, inside = word, 0
            aliases[defined] = sizes[defined] = 0
        elif first in "!#":
            inside = depth + aliases.get(word, 0)
        elif first == "-" and word != "->":
            inside = depth + word.count("-")
        else:
            continue
        if defined:
            aliases[defined] = max(aliases[defined], inside)
            sizes[defined] += 1 + (sizes.get(word, 0) if word != defined else 0)
        yield inside, sizes.get(defined, 0), token.start()
