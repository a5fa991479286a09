"""What Markdown pages show: fenced blocks, and whether a program printed what a block shows."""

import re


def fences(text: str) -> list[tuple[str, str]]:
    """The fenced blocks of a page, in order: the language, and the lines between the fences."""
    return re.findall(r"^```(\w*)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def blocks(text: str, language: str) -> list[str]:
    """Those in one language."""
    return [block for found, block in fences(text) if found == language]


def written_file(block: str) -> tuple[str, str] | None:
    """The path that a block of Python or IR begins with, as a comment, and the rest: a file that a reader
    writes.
    """
    found = re.match(r"(?:#|//) ([\w./-]+\.(?:py|mlir))\n", block)
    return None if found is None else (found[1], block[found.end() :])


def first_missing(shown: str, printed: str) -> str | None:
    """None where a program printed what a block shows: the parts between lines of ``...``, in order, whatever
    is between and around them; lines may be broken elsewhere.  Else the first part that it did not print.
    """
    rest = " ".join(printed.split())
    parts = [" ".join(part.split()) for part in re.split(r"^ *\.\.\.\n", shown, flags=re.MULTILINE)]
    for wanted in filter(None, parts):
        found = re.search(rf"(?<!\w){re.escape(wanted)}(?!\w)", rest)  # whole words
        if found is None:
            return wanted
        rest = rest[found.end() :]
    return None
