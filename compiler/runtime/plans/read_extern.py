"""Reads the declaration of an extern op in the text of a launch plan (``plan_text.py``)."""

import re
from dataclasses import replace

from .externs import Arg, Argument, Dict, Extern, List, Named, Tuple
from .plan_cursor import Cursor

#: How deep the arguments of an op may nest.
_DEEPEST = 16
_KEYWORD = re.compile(r"[A-Za-z_]\w*\s*=")


def read_extern(line: Cursor) -> Extern:
    """The declaration of an extern op, behind the word ``extern``."""
    name = line.any_name("an extern op")
    rest = line.text[line.at :]
    known = line.of.externs.get(rest)
    if known is None:
        known = line.of.externs[rest] = _declared(name, line)
    return known if known.name == name else replace(known, name=name)


def _declared(name: str, line: Cursor) -> Extern:
    """The declaration behind the name."""
    line.expect("(")
    operands = line.integer("the number of operands")
    line.expect(")")
    line.expect("->")
    results = line.integer("the number of results")
    line.expect("=")
    op = line.any_name("an operator")
    arguments: list[Argument] = []
    keywords: list[tuple[str, Argument]] = []

    def given() -> None:
        if _KEYWORD.match(line.text, line.at):
            word = line.word("an argument")
            line.expect("=")
            keywords.append((word, _argument(line, 0)))
        else:
            arguments.append(_argument(line, 0))

    line.listed("(", ")", given)
    leaves = line.integers("a leaf") if line.take("leaves") else None
    mutated = line.integers("an operand") if line.take("writes") else ()
    aliases = line.listed("[", "]", lambda: _alias(line)) if line.take("aliases") else ()
    effect = line.take("effect")
    line.end()
    return Extern(
        name, op, operands, tuple(arguments), tuple(keywords), results, leaves, mutated, aliases, effect
    )


def _alias(line: Cursor) -> tuple[int, int]:
    result = line.integer("a result")
    line.expect(":")
    return result, line.integer("an operand")


def _argument(line: Cursor, depth: int) -> Argument:
    """An argument inside ``depth`` others."""
    if depth > _DEEPEST:
        line.fail(f"arguments nest deeper than {_DEEPEST}")

    def inner() -> Argument:
        return _argument(line, depth + 1)

    def entry() -> tuple[str, Argument]:
        key = line.string("a key")
        line.expect(":")
        return key, inner()

    match line.text[line.at : line.at + 1]:
        case "$":
            line.expect("$")
            return Arg(line.integer("the number of an operand"))
        case "<":
            return Named(line.named())
        case "[":
            return List(line.listed("[", "]", inner))
        case "(":
            return Tuple(line.listed("(", ")", inner))
        case "{":
            return Dict(line.listed("{", "}", entry))
        case '"':
            return line.string("a text")
    if line.take("none"):
        return None
    value = line.number_here()
    if value is None:
        line.fail("expected an argument")
    return value
