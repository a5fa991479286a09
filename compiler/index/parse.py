"""Text to `Expr`: `d0*64 + d1`, `(d0*s1 + d1) mod s1`; also `//`, `%`, `ceildiv` and small powers `**`."""

import re
from functools import lru_cache

from .expr import ONE, Expr, const, sym

_TOKEN = re.compile(r"\s*(?:(\d+)|([A-Za-z_$][A-Za-z0-9_$.']*)|(\*\*|//|[-+*%()]))")
_WORDS = {"floordiv": "//", "mod": "%", "ceildiv": "ceildiv"}
_MAX_POWER = 16
#: The greatest depth of parentheses and signs. Python's stack ends at about ten times that.
_MAX_DEPTH = 50
#: The largest number: offsets and sizes are 64-bit.
_MAX_NUMBER = (1 << 63) - 1


class _Parser:
    def __init__(self, text: str):
        self.text = text
        self.tokens: list[tuple[str, str, int]] = []
        at = 0
        end = len(text.rstrip())
        while at < end:
            match = _TOKEN.match(text, at)
            if match is None:
                at += len(text[at:]) - len(text[at:].lstrip())
                raise self.error(f"unexpected {text[at]!r}", at)
            number, name, mark = match.groups()
            start = match.start(match.lastindex or 0)
            if number is not None:
                self.tokens.append(("number", number, start))
            elif name is not None and name not in _WORDS:
                self.tokens.append(("name", name, start))
            else:
                self.tokens.append(("mark", mark or _WORDS[name or ""], start))
            at = match.end()
        self.tokens.append(("end", "", end))
        self.next = 0
        self.depth = 0

    def error(self, why: str, at: int) -> ValueError:
        return ValueError(f"bad index expression {self.text!r}: {why} at position {at}")

    def take(self, *marks: str) -> str | None:
        kind, text, _ = self.tokens[self.next]
        if kind == "mark" and text in marks:
            self.next += 1
            return text
        return None

    def whole(self) -> Expr:
        result = self.sum()
        kind, text, at = self.tokens[self.next]
        if kind != "end":
            raise self.error(f"unexpected {text!r}", at)
        return result

    def sum(self) -> Expr:
        total = self.product()
        while mark := self.take("+", "-"):
            right = self.product()
            total = total + right if mark == "+" else total - right
        return total

    def product(self) -> Expr:
        value = self.unary()
        while True:
            at = self.tokens[self.next][2]
            mark = self.take("*", "//", "%", "ceildiv")
            if mark is None:
                return value
            right = self.unary()
            if mark == "*":
                value = value * right
                continue
            n = right.constant
            if n is not None and n < 1:
                raise self.error(f"the denominator {right} is not positive", at)
            if mark == "//":
                value = value.floordiv(right)
            elif mark == "%":
                value = value.mod(right)
            else:
                value = (value + right - 1).floordiv(right)

    def unary(self) -> Expr:
        self.depth += 1
        if self.depth > _MAX_DEPTH:
            raise self.error(f"it nests deeper than {_MAX_DEPTH}", self.tokens[self.next][2])
        if self.take("-"):
            value = -self.unary()
        else:
            value = self.unary() if self.take("+") else self.power()
        self.depth -= 1
        return value

    def power(self) -> Expr:
        base = self.primary()
        if not self.take("**"):
            return base
        kind, text, at = self.tokens[self.next]
        if kind != "number" or len(text) > 2 or int(text) > _MAX_POWER:
            raise self.error(f"a power must be a number of at most {_MAX_POWER}", at)
        self.next += 1
        value = ONE
        for _ in range(int(text)):
            value = value * base
        return value

    def primary(self) -> Expr:
        kind, text, at = self.tokens[self.next]
        self.next += 1
        if kind == "number":
            if len(text) > len(str(_MAX_NUMBER)) or int(text) > _MAX_NUMBER:
                raise self.error(f"the number is larger than {_MAX_NUMBER}", at)
            return const(int(text))
        if kind == "name":
            return sym(text)
        if text == "(":
            inner = self.sum()
            if not self.take(")"):
                raise self.error("expected ')'", self.tokens[self.next][2])
            return inner
        got = f"got {text!r}" if text else "got the end"
        raise self.error(f"expected a number, a name or '(', {got}", at)


@lru_cache(maxsize=1 << 15)
def parse(text: str) -> Expr:
    """The expression that `text` spells; raises ValueError naming the position of the first mistake."""
    return _Parser(text).whole()
