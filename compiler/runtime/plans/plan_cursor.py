"""A place in the text of a launch plan, and what can be read there: words, names, numbers, lists, index
expressions, types.  Each mistake is a ``PlanError`` that names line and column.
"""

import json
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import field
from functools import lru_cache
from typing import NoReturn, TypeVar

from ...base.dataclass import dataclass
from ...base.launch import Line
from ...index import Expr, parse
from ..errors import PlanError
from .externs import Extern
from .steps import NUMBERS, Operand, Origin, TensorType, Type, Value

_Item = TypeVar("_Item")

#: Numbers are 64 bits wide; a float has 17 digits, a sign, a point and an exponent.
_LONGEST_NUMBER = 32
_CONSTANTS: dict[str, bool | float] = {
    "true": True, "false": False, "inf": math.inf,
    "nan": math.nan,  # one object: plans that hold it are equal
}  # fmt: skip
_ELEMENTS = frozenset(
    ("f64", "f32", "f16", "bf16", "f8E4M3FN", "f8E5M2", "i64", "i32", "i16", "i8", "i1")
    + ("ui64", "ui32", "ui16", "ui8", "complex<f32>", "complex<f64>")
)


def _token(pattern: str) -> re.Pattern[str]:
    """Group 1 is what is read; the blanks behind it are read, too."""
    return re.compile(f"({pattern})[ \\t]*")


_WORD = _token(r"[A-Za-z_][\w.]*")
_STRING = _token(r'"(?:[^"\\]|\\.)*"')
_NUMBER = _token(r"-?(?:\d+(?:\.\d+)?(?:e[-+]?\d+)?|inf)(?![\w.])")
_DEVICE = _token(r"[a-z]+(?::\d{1,4})?")
_ELEMENT = _token(r"[A-Za-z]\w*(?:<\w+>)?")
_LIST = _token(r"\[[^\[\]]*\]")
_NAMED = _token(r"<(?:[^<>\\\"]|\\.)*>")
_TYPE = re.compile(rf"{_ELEMENT.pattern}(?:{_LIST.pattern}(?:on[ \t]+{_DEVICE.pattern})?)?")


@dataclass
class Context:
    """What the lines of one text share.

    name: of the text.  device: of types that name none.  moved: what every device that is named becomes, if
    given.  types, lines, externs: what was read, by its text, since a plan repeats few texts often: types;
    the lines of origins; declarations of extern ops behind the name.
    """

    name: str
    moved: str | None
    device: str = "cpu"
    types: dict[str, Type] = field(default_factory=dict)
    lines: dict[str, tuple[Line, ...]] = field(default_factory=dict)
    externs: dict[str, Extern] = field(default_factory=dict)


class Cursor:
    """A place in one line, which neither begins nor ends with blanks.  ``number``: of the line, from 1."""

    __slots__ = ("at", "number", "of", "text")

    def __init__(self, text: str, number: int, of: Context) -> None:
        self.text, self.number, self.of = text, number, of
        self.at = 0

    def fail(self, message: str, at: int | None = None) -> NoReturn:
        """Raises PlanError for this place, or for another one in the line."""
        column = (self.at if at is None else at) + 1
        raise PlanError(message, f"{self.of.name}:{self.number}:{column}")

    def _match(self, token: re.Pattern[str]) -> str | None:
        """The text of a token that stands here, which is read then."""
        found = token.match(self.text, self.at)
        if found is None:
            return None
        self.at = found.end()
        return found[1]

    def _found(self) -> str:
        """What stands here, as a message says it."""
        rest = self.text[self.at : self.at + 20].strip()
        return f"got '{rest}'" if rest else "got the end of the line"

    # --- marks and words

    def take(self, mark: str) -> bool:
        """Whether ``mark`` stands here, which is read then; a word is read only whole."""
        text = self.text
        if not text.startswith(mark, self.at):
            return False
        end = self.at + len(mark)
        after = text[end : end + 1]
        if mark[-1].isalnum() and (after.isalnum() or (after and after in "_.")):
            return False
        while after == " " or after == "\t":
            end += 1
            after = text[end : end + 1]
        self.at = end
        return True

    def take_one(self, words: Mapping[str, _Item]) -> _Item | None:
        """What ``words`` has for the word that stands here, which is read then."""
        found = _WORD.match(self.text, self.at)
        if found is None or found[1] not in words:
            return None
        self.at = found.end()
        return words[found[1]]

    def expect(self, mark: str) -> None:
        if not self.take(mark):
            self.fail(f"expected '{mark}', {self._found()}")

    def end(self) -> None:
        if self.at < len(self.text):
            self.fail(f"expected the end of the line, {self._found()}")

    def word(self, what: str) -> str:
        """A name without quotes."""
        found = self._match(_WORD)
        if found is None:
            self.fail(f"expected {what}, {self._found()}")
        return found

    def any_name(self, what: str) -> str:
        """A name, which may stand in quotes."""
        return self.string(what) if self.text.startswith('"', self.at) else self.word(what)

    def string(self, what: str) -> str:
        start = self.at
        found = self._match(_STRING)
        if found is None:
            self.fail(f"expected {what} in quotes, {self._found()}")
        return self._unquoted(found, start)

    def _unquoted(self, text: str, start: int) -> str:
        try:
            return _unquoted(text)
        except ValueError:
            self.fail("the text in quotes has an escape that means nothing", start)

    def named(self) -> str:
        """What stands between angle brackets: ``dtype:float32``."""
        start = self.at
        found = self._match(_NAMED)
        if found is None:
            self.fail(f"expected '<kind:name>', {self._found()}")
        return self._unquoted(f'"{found[1:-1]}"', start)

    # --- numbers

    def integer(self, what: str) -> int:
        start = self.at
        value = self.number_here()
        if not isinstance(value, int) or isinstance(value, bool):
            self.fail(f"expected {what}, a whole number, got {'nothing' if value is None else value}", start)
        return value

    def number_here(self) -> int | float | None:
        """The constant that stands here, if one does."""
        known = self.take_one(_CONSTANTS)
        return self._digits() if known is None else known

    def _digits(self) -> int | float | None:
        start = self.at
        found = self._match(_NUMBER)
        if found is None:
            return None
        if len(found) > _LONGEST_NUMBER:
            self.fail("a number has too many digits", start)
        return int(found) if found.lstrip("-").isdecimal() else float(found)

    def integers(self, what: str) -> tuple[int, ...]:
        """``[0, 2]``."""
        return self.listed("[", "]", lambda: self.integer(what))

    def operand(self) -> Operand:
        word = self._match(_WORD)
        if word is not None:
            return _CONSTANTS.get(word, word)
        value = self._digits()
        return self.word("a variable or a number") if value is None else value

    def operands(self) -> tuple[Operand, ...]:
        """``(a0, 3)``."""
        return self.listed("(", ")", self.operand)

    def names(self) -> tuple[str, ...]:
        """``(a0, t1)``."""
        return self.listed("(", ")", lambda: self.word("a variable"))

    def listed(self, opening: str, closing: str, item: Callable[[], _Item]) -> tuple[_Item, ...]:
        """Items between two marks, with commas between them."""
        self.expect(opening)
        if self.take(closing):
            return ()
        items = [item()]
        while self.take(","):
            items.append(item())
        self.expect(closing)
        return tuple(items)

    def rest(self, item: Callable[[], _Item]) -> tuple[_Item, ...]:
        """Items to the end of the line, or none."""
        if self.at == len(self.text):
            return ()
        items = [item()]
        while self.take(","):
            items.append(item())
        return tuple(items)

    # --- sizes and types

    def expressions(self) -> tuple[Expr | None, ...]:
        """``[s0*4, ?]``: index expressions; a question mark is None."""
        start = self.at
        found = self._match(_LIST)
        if found is None:
            self.fail(f"expected a list of sizes in brackets, {self._found()}")
        return self._expressions(found[1:-1], start + 1)

    def known(self) -> tuple[Expr, ...]:
        """Index expressions without question marks."""
        start = self.at
        return self._known(self.expressions(), start)

    def _known(self, parts: tuple[Expr | None, ...], at: int) -> tuple[Expr, ...]:
        if any(e is None for e in parts):
            self.fail("every size has to be known here", at)
        return parts  # type: ignore[return-value]

    def _expressions(self, text: str, at: int) -> tuple[Expr | None, ...]:
        try:
            return _expressions(text)
        except ValueError as error:
            self.fail(str(error), at)

    def type(self) -> Type:
        start = self.at
        whole = _TYPE.match(self.text, start)
        known = self.of.types.get(whole[0]) if whole is not None else None
        if whole is None or known is None:
            known = self._type(start)
            self.of.types[self.text[start : self.at]] = known
        else:
            self.at = whole.end()
        return known

    def _type(self, start: int) -> Type:
        found = _ELEMENT.match(self.text, self.at)
        if found is None:
            self.fail(f"expected a type, {self._found()}")
        element, self.at = found[1], found.end()
        if not self.text.startswith("[", found.end(1)):
            if element not in NUMBERS:
                self.fail(f"'{element}' is no type of a number", start)
            return element
        if element not in _ELEMENTS:
            self.fail(f"'{element}' is no type of elements", start)
        listed = self._match(_LIST)
        if listed is None:
            self.fail("the sizes of a type do not end", start)
        sizes, colon, strides = listed[1:-1].partition(":")
        lengths = self._known(self._expressions(sizes, start), start)
        device = self.device_name() if self.take("on") else self.of.device
        if not colon:
            return TensorType.row_major(element, lengths, device)
        steps = self._known(self._expressions(strides, start), start)
        if len(steps) != len(lengths):
            self.fail(f"a type has {len(lengths)} sizes and {len(steps)} strides", start)
        return TensorType(element, lengths, steps, device)

    def device_name(self) -> str:
        found = self._match(_DEVICE)
        if found is None:
            self.fail(f"expected a device, {self._found()}")
        return self.of.moved or found

    def value(self) -> Value:
        """``t1: f32[4]``."""
        name = self.word("a variable")
        self.expect(":")
        return Value(name, self.type())

    # --- where things come from

    def lines(self) -> tuple[Line, ...]:
        """``at "model.py":12``, if it stands here, to the end of the line."""
        rest = self.text[self.at :]
        known = self.of.lines.get(rest)
        if known is not None:
            self.at = len(self.text)
            return known
        if not self.take("at"):
            return ()
        found = [self._line()]
        while self.take(","):
            found.append(self._line())
        self.end()
        self.of.lines[rest] = tuple(found)
        return self.of.lines[rest]

    def _line(self) -> Line:
        file = self.string("a file")
        self.expect(":")
        return file, self.integer("a line")

    def origin(self) -> Origin:
        nodes = [self.any_name("a node")] if self.take("from") else []
        while nodes and self.take(","):
            nodes.append(self.any_name("a node"))
        return Origin(tuple(nodes), self.lines())


@lru_cache(maxsize=4096)
def _unquoted(text: str) -> str:
    """What a text in quotes says.  Raises ValueError."""
    value = json.loads(text)
    assert isinstance(value, str)
    return value


@lru_cache(maxsize=4096)
def _expressions(text: str) -> tuple[Expr | None, ...]:
    """Index expressions with commas between them.  Raises ValueError."""
    if not text.strip():
        return ()
    return tuple(None if part.strip() == "?" else parse(part.strip()) for part in text.split(","))
