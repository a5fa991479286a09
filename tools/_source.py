"""Input of the tools: reading, splitting at ``// -----``, parsing with the locations of the file."""

import contextlib
import errno
import io
import os
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from ..compiler.base.dataclass import dataclass
from ..compiler.base.diagnostics import Diagnostic, Diagnostics, Position, collecting
from ..compiler.mlir import ir
from ..compiler.verifier.verifier import VerificationError, Verifier, verify
from ._bytecode import is_bytecode, text_of
from ._nesting import too_much

#: A line that starts so separates the parts of a split input.
SEPARATOR = "// -----"
#: The parser's name for a text without a file name.
_ANONYMOUS = "-"

_CODE = re.compile(r"^[ \t]*(?!//)(\S)", re.MULTILINE)
#: The beginning of a location, or a line that defines an alias for one.
_LOCATION = re.compile(r"^#[\w$.-]+\s*=\s*loc\(|\bloc\(", re.MULTILINE)
#: An op of the project's dialects at the beginning of a line or region, without the generic form's quotes.
_CUSTOM_FORM = re.compile(r"(?:^|\{)[ \t]*(?:%[^=\n\"]*=[ \t]*)?((?:fuse|tt)\.[\w.]+)", re.MULTILINE)
#: The characters that matter for finding the end of a location; parentheses in strings do not count.
_PARENTHESIS = re.compile(r'"(?:[^"\\\n]|\\.)*"|[()]')


class ParseError(Exception):
    """The input is not a valid module.  The diagnostics say where."""


@dataclass(frozen=True)
class Source:
    """A text and the name under which locations show it.

    Parts of a split input begin with empty lines, so that lines count from the file's start.
    """

    name: str
    text: str


def read(path: str) -> Source:
    """The file ``path``, or stdin for ``-``; bytecode as the text of its module.  Raises OSError,
    UnicodeDecodeError or ``DamagedBytecode``.
    """
    if path != "-":
        return _read(path, Path(path).read_bytes())
    if sys.stdin is None:
        raise OSError(errno.EBADF, os.strerror(errno.EBADF))
    return _read("<stdin>", sys.stdin.buffer.read())


def _read(name: str, data: bytes) -> Source:
    if is_bytecode(data):
        return Source(name, text_of(data))
    with io.TextIOWrapper(io.BytesIO(data), encoding="utf-8") as text:  # which knows all ends of lines
        return Source(name, text.read())


def split(source: Source) -> Iterator[Source]:
    """The parts between separator lines, in order; a source without separators is one part."""
    part: list[str] = []
    start = 0
    lines = source.text.splitlines(keepends=True)
    for number, line in enumerate(lines):
        if line.startswith(SEPARATOR):
            yield Source(source.name, "\n" * start + "".join(part))
            part, start = [], number + 1
        else:
            part.append(line)
    yield Source(source.name, "\n" * start + "".join(part))


def parse(source: Source, context: ir.Context, diagnostics: Diagnostics) -> ir.Module:
    """The module of a source; other top-level ops are wrapped in an implicit module.  MLIR's own rules are
    checked, those of the levels are not.

    Raises ``ParseError`` after adding to ``diagnostics`` what is wrong and where.
    """
    limit = too_much(source.text)
    if limit is not None:
        message = f"this {limit.why}, the most that is read"
        diagnostics.add("error", message, Position(source.name, limit.line, limit.column))
        raise ParseError(f"{source.name} is larger than what is read")
    with collecting(context) as found:
        try:
            module = ir.Module.parse(source.text, context)
        except ir.MLIRError:
            module = None
    items = found.items if module is not None else _placed(found.items, source, context)
    if module is None and not items:
        items = _custom_form(source)
    diagnostics.items += [d.renamed(_ANONYMOUS, source.name) for d in items]
    if module is None:
        raise ParseError(f"{source.name} is not a valid module")
    _relocate(module, source)
    return module


def check(module: ir.Module, source: Source, diagnostics: Diagnostics) -> Verifier:
    """Checks the rules of the levels in a module that ``source`` was parsed to; what knows the module then.

    Raises ``VerificationError``, or MLIR's own error.  What is wrong, and where, is in ``diagnostics`` then.
    """
    verifier = Verifier()
    with collecting(module.context) as found:
        try:
            verifier.verify(module)
        finally:
            diagnostics.items += _placed(found.items, source, module.context)
    return verifier


def _placed(items: list[Diagnostic], source: Source, context: ir.Context) -> list[Diagnostic]:
    """The messages of the parser, or of the verifier, each with a position.  An op with ``loc("mul")`` has no
    line of its own, so its line is found by parsing, and verifying, the text without locations, which gives
    the same messages.
    """
    if all(item.position is not None for item in items):
        return items
    with collecting(context) as bare, contextlib.suppress(ir.MLIRError, VerificationError):
        module = ir.Module.parse(_without_locations(source.text), context)
        _relocate(module, source)
        verify(module)
    places: dict[str, list[Position | None]] = defaultdict(list)
    for item in reversed(bare.items):
        places[item.message].append(item.position)
    again = [places[item.message].pop() if places[item.message] else None for item in items]
    return [replace(item, position=item.position or place) for item, place in zip(items, again, strict=True)]


def _custom_form(source: Source) -> list[Diagnostic]:
    """What is wrong with a text of which the parser says nothing: an op in a form that its dialect lacks."""
    op = _CUSTOM_FORM.search(source.text)
    if op is None:
        return []
    message = f"'{op[1]}' has no custom form: write \"{op[1]}\"(..) with its attributes and types"
    return [Diagnostic("error", message, _position(source, op.start(1)))]


def _without_locations(text: str) -> str:
    """The text with blanks in place of its locations, so that everything else keeps its position."""
    kept: list[str] = []
    end = 0
    for location in _LOCATION.finditer(text):
        if location.start() < end:
            continue
        kept.append(text[end : location.start()])
        end, depth = location.end(), 1
        for token in _PARENTHESIS.finditer(text, location.end()):
            depth += {"(": 1, ")": -1}.get(token[0], 0)
            end = token.end()
            if depth == 0:
                break
        kept.append(re.sub(r"[^\n]", " ", text[location.start() : end]))
    return "".join((*kept, text[end:]))


def start_of(source: Source) -> Position:
    """The position of the first line that is not only a comment."""
    found = _CODE.search(source.text)
    return _position(source, found.start(1) if found else 0)


def _position(source: Source, at: int) -> Position:
    """The position of the character with number ``at``."""
    before = source.text[:at]
    return Position(source.name, before.count("\n") + 1, at - before.rfind("\n"))


def _relocate(module: ir.Module, source: Source) -> None:
    """Replaces the parser's placeholder by the file's name in all locations, and gives an implicit module the
    location of the file's start.
    """
    context, name, start = module.context, source.name, start_of(source)

    def renamed(location: ir.Location) -> ir.Location:
        if not isinstance(location, ir.FileLineColLoc) or location.filename != _ANONYMOUS:
            return location
        if location.start_line == 0:
            return ir.Location.file(name, start.line, start.column, context)
        return ir.Location.file(name, location.start_line, location.start_col, context)

    def visit(op: ir.Operation) -> ir.WalkResult:
        op.operation.location = renamed(op.location)
        for region in op.regions:
            for block in region.blocks:
                for argument in block.arguments:
                    argument.set_location(renamed(argument.location))
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit)
