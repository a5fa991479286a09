"""``--verify-diagnostics``: comments in the input say which diagnostics are expected.

``// expected-error {{text}}`` expects on its own line an error that contains ``text``; in the text,
``{{..}}`` nested once more is a regular expression.  ``@+2`` and ``@-1`` count lines from the comment's,
``@above`` and ``@below`` mean the nearest line without a comment of this kind, ``@unknown`` a diagnostic
without a position in the input.
"""

import re
from collections.abc import Iterable, Iterator

from ..compiler.base.dataclass import dataclass
from ..compiler.base.diagnostics import Diagnostic, Position

_EXPECTED = re.compile(
    r"expected-(?P<severity>error|warning|remark|note)(?P<re>-re)? *"
    r"(?:@(?P<designator>[+-]\d+|above|below|unknown))? *\{\{(?P<text>(?:\{\{.*?\}\}|(?!\{\{|\}\}).)*)\}\}"
)
_MISSPELLED = re.compile(r"expected-(?:error|warning|remark|note)\b")


@dataclass(frozen=True)
class ExpectedDiagnostic:
    """One comment with an expectation.

    ``line``: where the diagnostic must be, None for anywhere outside the input.  ``at``: the line of the
    comment itself.
    """

    severity: str
    pattern: re.Pattern[str]
    text: str
    line: int | None
    at: int

    def accepts(self, severity: str, message: str, line: int | None) -> bool:
        """Whether a diagnostic is the expected one."""
        return severity == self.severity and line == self.line and self.pattern.search(message) is not None


class ExpectationError(ValueError):
    """A comment looks like an expectation but is not a valid one; ``line`` is its line."""

    def __init__(self, message: str, line: int) -> None:
        super().__init__(message)
        self.line = line


def _pattern(text: str) -> re.Pattern[str]:
    """A regular expression for plain text, in which ``{{..}}`` stands for one."""
    pieces = re.split(r"\{\{(.*?)\}\}", text)
    return re.compile("".join(f"(?:{p})" if i % 2 else re.escape(p) for i, p in enumerate(pieces)), re.DOTALL)


def expectations(text: str) -> list[ExpectedDiagnostic]:
    """The expectations of an input, in order.  Raises ``ExpectationError`` on one that is misspelled."""
    lines = text.split("\n")
    return [e for number in range(1, len(lines) + 1) for e in _of_line(lines, number)]


def _of_line(lines: list[str], number: int) -> Iterator[ExpectedDiagnostic]:
    text = lines[number - 1]
    matches = list(_EXPECTED.finditer(text))
    if len(matches) != len(_MISSPELLED.findall(text)):
        raise ExpectationError("expected `expected-<severity>[@<line>] {{text}}`", number)
    for match in matches:
        try:
            pattern = re.compile(match["text"]) if match["re"] else _pattern(match["text"])
        except re.error as error:
            raise ExpectationError(f"bad regular expression: {error}", number) from None
        yield ExpectedDiagnostic(
            match["severity"], pattern, match["text"], _line(lines, number, match["designator"]), number
        )


def _line(lines: list[str], number: int, designator: str | None) -> int | None:
    match designator:
        case None:
            return number
        case "unknown":
            return None
        case "above" | "below":
            step = 1 if designator == "below" else -1
            number += step
            while 0 < number <= len(lines) and _EXPECTED.search(lines[number - 1]):
                number += step
            return number
        case _:
            return number + int(designator)


def unmet(
    expected: list[ExpectedDiagnostic],
    produced: Iterable[Diagnostic],
    file: str,
    *,
    only_expected: bool = False,
) -> list[Diagnostic]:
    """The errors: expectations without a diagnostic and, unless ``only_expected``, diagnostics that no
    comment expects.
    """
    waiting = list(expected)
    wrong: list[Diagnostic] = []
    for diagnostic in _flatten(produced):
        position = diagnostic.position
        line = position.line if position is not None and position.file == file else None
        met = next((e for e in waiting if e.accepts(diagnostic.severity, diagnostic.message, line)), None)
        if met is not None:
            waiting.remove(met)
        elif not only_expected and not _is_commentary(diagnostic):
            wrong.append(
                Diagnostic("error", f"unexpected {diagnostic.severity}: {diagnostic.message}", position)
            )
    for e in waiting:
        wrong.append(
            Diagnostic("error", f'expected {e.severity} "{e.text}" was not produced', Position(file, e.at, 1))
        )
    return wrong


def _flatten(diagnostics: Iterable[Diagnostic]) -> Iterator[Diagnostic]:
    for diagnostic in diagnostics:
        yield diagnostic
        yield from _flatten(diagnostic.notes)


def _is_commentary(diagnostic: Diagnostic) -> bool:
    """Whether a test may leave out a diagnostic: MLIR attaches a note that shows the op to most errors."""
    return diagnostic.severity == "note" and diagnostic.message.startswith("see current operation")
