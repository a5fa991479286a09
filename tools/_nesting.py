"""How deep a text nests, and how much its aliases stand for.  MLIR's parser, verifier and printer recurse,
and thousands of brackets inside each other end the process.  An alias may name another twice: thirty such
lines stand for a text that no memory holds.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

#: Brackets inside each other, counted through aliases, that a text may have.  Modules of programs have about
#: ten; MLIR's stack of 8 MB ends at some thousands of regions, Python's at some hundreds.
MOST = 150
#: Brackets and names that an alias may stand for.
LARGEST = 2**20

#: Strings and comments hold no brackets; ``->`` closes none.  ``!a = ..`` and ``#a = ..`` define aliases.
_TOKEN = re.compile(
    r'"(?:[^"\\\n]|\\.)*"?|//[^\n]*|->|(?P<alias>^[!#][\w$.-]+(?=\s*=))|[!#][\w$.-]+|[(\[{<]|[)\]}>]|-(?:\s*-)+',
    re.MULTILINE,
)
_ALIAS = re.compile(r"^[!#]", re.MULTILINE)


@dataclass(frozen=True)
class TooMuch:
    """Where a text nests deeper than ``MOST`` or has an alias for more than ``LARGEST``: line and column from
    1, and which of both.
    """

    line: int
    column: int
    why: str


def too_much(text: str) -> TooMuch | None:
    """The first place at which ``text`` passes a limit; None where it never does."""
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
    """Of each opening bracket, row of signs and alias: how deep it is, what the alias that is being defined
    stands for up to here, and where it is.
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
