"""Docstrings and tables as Markdown, for the generated pages.

``code`` in a docstring becomes Markdown's.  Lines indented below one that ends in ``::`` become a fenced
block.
"""

import re
import textwrap
from collections.abc import Iterator, Sequence


def markdown(docstring: str, language: str = "mlir") -> str:
    """The Markdown of a docstring without its indentation.  ``language``: that of its code blocks."""
    lines: list[str] = []
    block: list[str] = []

    def close() -> None:
        while block and not block[-1].strip():
            block.pop()
        if block:
            lines.extend([f"```{language}", *textwrap.dedent("\n".join(block)).splitlines(), "```", ""])
        block.clear()

    inside = False
    for line in docstring.splitlines():
        if inside and (not line.strip() or line.startswith("    ")):
            if block or line.strip():
                block.append(line)
            continue
        if inside:
            close()
        inside = line.rstrip().endswith("::")
        text = line.rstrip().removesuffix("::") + ":" if inside else line
        lines.append(re.sub(r"``(.+?)``", r"`\1`", text))
        if inside:
            lines.append("")
    close()
    return "\n".join(lines).strip()


def table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> Iterator[str]:
    """The lines of a table; bars in cells are escaped."""
    yield "| " + " | ".join(head) + " |"
    yield "|" + "---|" * len(head)
    for row in rows:
        yield "| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |"


__all__ = ["markdown", "table"]
