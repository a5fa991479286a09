"""A place in the text of a launch plan, and what can be read there: words, names, numbers, lists, index
expressions, types.  Each mistake is a ``PlanError`` that names line and column.
"""

import json
import math
import re
from collections.abc import Callable, Mapping
from typing import NoReturn, TypeVar

from ...base.launch import Line
from ...index import Expr, parse
from ..errors import PlanError
from .steps import NUMBERS, Operand, Origin, TensorType, Type, Value

_Item = TypeVar("_Item")

#: Numbers are 64 bits wide; a float has 17 digits, a sign, a point and an exponent.
_LONGEST_NUMBER = 32
_WORD = re.compile(r"[A-Za-z_][\w.]*")
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
_NUMBER = re.compile(r"-?(?:\d+(?:\.\d+)?(?:e[-+]?\d+)?|inf)(?![\w.])|nan(?![\w.])")
_DEVICE = re.compile(r"[a-z]+(?::\d{1,4})?")
_ELEMENT = re.compile(r"[A-Za-z]\w*(?:<\w+>)?")
_LIST = re.compile(r"\[([^\[\]]*)\]")
_NAMED = re.compile(r"<((?:[^<>\\\"]|\\.)*)>")
_CONSTANTS: dict[str, bool] = {"true": True, "false": False}
_ELEMENTS = frozenset(
    ("f64", "f32", "f16", "bf16", "f8E4M3FN", "f8E5M2", "i64", "i32", "i16", "i8", "i1")
    + ("ui64", "ui32", "ui16", "ui8", "complex<f32>", "complex<f64>")
)


class Cursor:
    """A place in one line.  ``name``: of the text; ``number``: of the line, from 1; ``device``: of types that
    name none; ``moved``: what every device that is named becomes, if given.
    """

    def __init__(self, text: str, name: str, number: int, device: str, moved: str | None) -> None:
        self.text, self.name, self.number = text, name, number
        self.device, self.moved = device, moved
        self.at = 0
        self._space()

    def fail(self, message: str, at: int | None = None) -> NoReturn:
        """Raises PlanError for this place, or for another one in the line."""
        column = (self.at if at is None else at) + 1
        raise PlanError(message, f"{self.name}:{self.number}:{column}")

    def _space(self) -> None:
        text, at = self.text, self.at
        while text[at : at + 1] in (" ", "\t"):
            at += 1
        self.at = at

    def _match(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        found = pattern.match(self.text, self.at)
        if found is not None:
            self.at = found.end()
            self._space()
        return found

    def _found(self) -> str:
        """What stands here, as a message says it."""
        rest = self.text[self.at : self.at + 20].strip()
        return f"got '{rest}'" if rest else "got the end of the line"

    # --- marks and words

    def take(self, mark: str) -> bool:
        """Whether ``mark`` stands here, which is read then; a word is read only whole."""
        if not self.text.startswith(mark, self.at):
            return False
        end = self.at + len(mark)
        if mark[-1].isalnum():
            after = self.text[end : end + 1]
            if after.isalnum() or (after and after in "_."):
                return False
        self.at = end
        self._space()
        return True

    def take_one(self, words: Mapping[str, _Item]) -> _Item | None:
        """What ``words`` has for the word that stands here, which is read then."""
        found = _WORD.match(self.text, self.at)
        if found is None or found[0] not in words:
            return None
        self.at = found.end()
        self._space()
        return words[found[0]]

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
        return found[0]

    def any_name(self, what: str) -> str:
        """A name, which may stand in quotes."""
        return self.string(what) if self.text.startswith('"', self.at) else self.word(what)

    def string(self, what: str) -> str:
        start = self.at
        found = self._match(_STRING)
        if found is None:
            self.fail(f"expected {what} in quotes, {self._found()}")
        return self._unquoted(found[0], start)

    def _unquoted(self, text: str, start: int) -> str:
        try:
            value = json.loads(text)
        except ValueError:
            self.fail("the text in quotes has an escape that means nothing", start)
        assert isinstance(value, str)
        return value

    def named(self) -> str:
        """What stands between angle brackets: ``dtype:float32``."""
        start = self.at
        found = self._match(_NAMED)
        if found is None:
            self.fail(f"expected '<kind:name>', {self._found()}")
        return self._unquoted(f'"{found[1]}"', start)

    # --- numbers

    def integer(self, what: str) -> int:
        start = self.at
        value = self.number_here()
        if not isinstance(value, int) or isinstance(value, bool):
            self.fail(f"expected {what}, a whole number, got {'nothing' if value is None else value}", start)
        return value

    def number_here(self) -> int | float | None:
        """The constant that stands here, if one does."""
        start = self.at
        known = self.take_one(_CONSTANTS)
        if known is not None:
            return known
        found = self._match(_NUMBER)
        if found is None:
            return None
        if len(found[0]) > _LONGEST_NUMBER:
            self.fail("a number has too many digits", start)
        if found[0] == "nan":
            return math.nan  # one object: plans that hold it are equal
        return int(found[0]) if found[0].lstrip("-").isdecimal() else float(found[0])

    def integers(self, what: str) -> tuple[int, ...]:
        """``[0, 2]``."""
        return self.listed("[", "]", lambda: self.integer(what))

    def operand(self) -> Operand:
        value = self.number_here()
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
        return self._expressions(found[1], start + 1)

    def known(self) -> tuple[Expr, ...]:
        """Index expressions without question marks."""
        start = self.at
        return self._known(self.expressions(), start)

    def _known(self, parts: tuple[Expr | None, ...], at: int) -> tuple[Expr, ...]:
        found = tuple(e for e in parts if e is not None)
        if len(found) != len(parts):
            self.fail("every size has to be known here", at)
        return found

    def _expressions(self, text: str, at: int) -> tuple[Expr | None, ...]:
        if not text.strip():
            return ()
        try:
            return tuple(None if part.strip() == "?" else parse(part.strip()) for part in text.split(","))
        except ValueError as error:
            self.fail(str(error), at)

    def type(self) -> Type:
        start = self.at
        found = _ELEMENT.match(self.text, self.at)
        if found is None:
            self.fail(f"expected a type, {self._found()}")
        element, self.at = found[0], found.end()
        if not self.text.startswith("[", self.at):
            self._space()
            if element not in NUMBERS:
                self.fail(f"'{element}' is no type of a number", start)
            return element
        if element not in _ELEMENTS:
            self.fail(f"'{element}' is no type of elements", start)
        listed = self._match(_LIST)
        if listed is None:
            self.fail("the sizes of a type do not end", start)
        sizes, colon, strides = listed[1].partition(":")
        lengths = self._known(self._expressions(sizes, start), start)
        device = self.device_name() if self.take("on") else self.device
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
        return self.moved or found[0]

    def value(self) -> Value:
        """``t1: f32[4]``."""
        name = self.word("a variable")
        self.expect(":")
        return Value(name, self.type())

    # --- where things come from

    def lines(self) -> tuple[Line, ...]:
        """``at "model.py":12``, if it stands here."""
        if not self.take("at"):
            return ()
        found = [self._line()]
        while self.take(","):
            found.append(self._line())
        return tuple(found)

    def _line(self) -> Line:
        file = self.string("a file")
        self.expect(":")
        return file, self.integer("a line")

    def origin(self) -> Origin:
        nodes = [self.any_name("a node")] if self.take("from") else []
        while nodes and self.take(","):
            nodes.append(self.any_name("a node"))
        return Origin(tuple(nodes), self.lines())
