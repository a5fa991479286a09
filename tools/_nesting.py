"""How deep a text nests: MLIR's parser, verifier and printer recurse, and thousands of brackets inside each
other end the process.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

#: Brackets inside each other, counted through aliases, that a text may have.  Modules of programs have about
#: ten; MLIR's stack of 8 MB ends at some thousands of regions, Python's at some hundreds.
MOST = 150

#: Strings and comments hold no brackets; ``->`` closes none.  ``!a = ..`` and ``#a = ..`` define aliases.
_TOKEN = re.compile(
    r'"(?:[^"\\\n]|\\.)*"?|//[^\n]*|->|(?P<alias>^[!#][\w$.-]+(?=\s*=))|[!#][\w$.-]+|[(\[{<]|[)\]}>]|-(?:\s*-)+',
    re.MULTILINE,
)


@dataclass(frozen=True)
class TooDeep:
    """Where a text nests deeper than ``MOST``: line and column from 1."""

    line: int
    column: int


def too_deep(text: str) -> TooDeep | None:
    """The first place at which ``text`` nests deeper than ``MOST``; None where it never does."""
    if sum(map(text.count, "([{<-")) + text.count("\n#") + text.count("\n!") <= MOST:
        return None
    for depth, at in _depths(text):
        if depth > MOST:
            start = text.rfind("\n", 0, at) + 1
            return TooDeep(text.count("\n", 0, at) + 1, at - start + 1)
    return None


def _depths(text: str) -> Iterator[tuple[int, int]]:
    """How deep each opening bracket, row of signs and alias is, and where."""
    depth, aliases, defined, end = 0, dict[str, int](), "", 0
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
            aliases[defined] = 0
        elif first in "!#":
            inside = depth + aliases.get(word, 0)
        elif first == "-" and word != "->":
            inside = depth + word.count("-")
        else:
            continue
        if defined:
            aliases[defined] = max(aliases[defined], inside)
        yield inside, token.start()
