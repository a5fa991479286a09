"""Dataclasses as JSON and back, by the types of their fields.

A dataclass is an object of its fields; where a field may hold one of several dataclasses, an object of one
entry, the class's name.  An index expression is its text.  A field of type ``Any`` holds None, a bool, a
number, a text, or a list or tuple of these.  Reading checks every type: what is read is what was written, or
a ``ValueError`` of one sentence says where in the data the mistake is.  No class is found by a name in the
data, and nothing is called but the dataclasses that the types name, and ``index.parse``.
"""

import math
import types
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from functools import cache, lru_cache
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from ..index import Expr, parse

_Kind = TypeVar("_Kind")
#: From data to a value.  Raises ``_Mismatch``.
_Read = Callable[[Any], Any]
#: Types whose values are the data itself.
_CONSTANTS = (bool, int, str, bytes, types.NoneType)
#: The same, and floats, whose data may be an integer.
_SCALARS = frozenset((*_CONSTANTS, float))
#: How lists and tuples may nest in a field of type ``Any``.
_DEEPEST = 8


def to_json(value: Any) -> Any:
    """The data of a dataclass or of what one holds.  Raises ValueError for what no field may hold.

    Unions are told apart by the reader's types, so ``value`` must be of the type that ``from_json`` gets.
    """
    kind: Any = type(value)
    return _writer(kind)(value) if _is_stored(kind) else _plain(value, 0)


def from_json(kind: type[_Kind], data: Any, where: str = "") -> _Kind:
    """The value of type ``kind`` that ``to_json`` wrote.  Raises ValueError for any other data."""
    of: Any = kind
    try:
        return _reader(of)(data)  # type: ignore[no-any-return]
    except _Mismatch as wrong:
        place = ".".join([where or kind.__name__, *reversed(wrong.way)])
        raise ValueError(f"{place[:200]}: {wrong}") from None
    except RecursionError:
        raise ValueError(f"{where or kind.__name__}: the data nests too deep") from None


def _is_stored(kind: Any) -> bool:
    """Whether a type is a dataclass."""
    return isinstance(kind, type) and is_dataclass(kind)


# --- writing


@cache
def _writer(kind: Any) -> Callable[[Any], Any]:
    """What writes a value of a type."""
    if kind is Any:
        return lambda value: _plain(value, 0)
    if _is_stored(kind):
        return _dataclass_writer(kind)
    if kind is Expr:
        return str
    origin, arguments = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        return _union_writer(arguments)
    if origin in (tuple, list):
        if origin is tuple and arguments[-1:] != (...,):
            each = [_writer(a) for a in arguments]
            return lambda value: [write(item) for write, item in zip(each, value, strict=True)]
        item = _writer(arguments[0])
        return lambda value: [item(v) for v in value]
    if isinstance(origin, type) and issubclass(origin, Mapping):
        item = _writer(arguments[1])
        return lambda value: {name: item(v) for name, v in value.items()}
    return lambda value: value


def _dataclass_writer(kind: Any) -> Callable[[Any], Any]:
    parts: list[tuple[str, Callable[[Any], Any]]] = []  # filled when needed: dataclasses may hold themselves

    def write(value: Any) -> Any:
        if not parts:
            parts.extend((name, _writer(of)) for name, of in _fields(kind).items())
        return {name: part(getattr(value, name)) for name, part in parts}

    return write


def _union_writer(choices: tuple[Any, ...]) -> Callable[[Any], Any]:
    classes, other = _choices(choices)
    if len(classes) > 1:
        named = {c: (c.__name__, _writer(c)) for c in classes}

        def write(value: Any) -> Any:
            if type(value) not in named:
                return value
            name, part = named[type(value)]
            return {name: part(value)}

        return write
    if other is None:
        return lambda value: value
    part = _writer(other)
    return lambda value: value if type(value) in _SCALARS else part(value)


def _choices(choices: tuple[Any, ...]) -> tuple[list[Any], Any]:
    """Of the types of a union: the dataclasses, and the only type that is no scalar, None where all are.
    Several dataclasses may stand beside scalars alone, and an index expression beside None alone.
    """
    classes = [c for c in choices if _is_stored(c)]
    others = [c for c in choices if c not in _SCALARS]
    several = len(others) > 1 and others != classes
    if several or (Expr in choices and {*choices} != {Expr, types.NoneType}):
        raise TypeError(f"{choices} are no types of a field that is stored")
    return classes, others[0] if others else None


def _plain(value: Any, depth: int) -> Any:
    if value is None or type(value) in (bool, int, float, str):
        return value
    if type(value) in (list, tuple) and depth < _DEEPEST:
        return {type(value).__name__: [_plain(item, depth + 1) for item in value]}
    raise ValueError(f"a {type(value).__name__} cannot be stored")


# --- reading


class _Mismatch(Exception):
    """Data is not of the type of its field.  ``way``: from there out to the whole data."""

    def __init__(self, wanted: str, data: Any) -> None:
        super().__init__(f"expected {wanted[:200]}, got {type(data).__name__}")
        self.way: list[str] = []


def _fields(kind: Any) -> dict[str, Any]:
    """The fields of a dataclass and their types."""
    hints = get_type_hints(kind)
    return {field.name: hints[field.name] for field in fields(kind)}


@cache
def _reader(kind: Any) -> _Read:
    """What reads a value of a type."""
    if kind is Any:
        return lambda data: _read_plain(data, 0)
    if _is_stored(kind):
        return _dataclass_reader(kind)
    if kind in _CONSTANTS:
        return lambda data: data if type(data) is kind else _fail(kind.__name__, data)
    if kind is float:
        return _read_float
    if kind is Expr:
        return _read_expression
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is Literal:
        return lambda data: data if data in arguments else _fail(str(arguments), data)
    if origin in (Union, types.UnionType):
        return _union_reader(arguments)
    if origin in (tuple, list):
        return _sequence_reader(origin, arguments)
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return _mapping_reader(arguments[1])
    raise TypeError(f"{kind} is no type of a field that is stored")


def _part(kind: Any) -> tuple[Any, _Read]:
    """For one that reads many values: the type of data that is the value itself, and what reads any other.

    Most values are texts and numbers, for which a call would cost more than the check.
    """
    return (kind if kind in _CONSTANTS else _Mismatch), _reader(kind)


def _read_float(data: Any) -> float:
    """A number as it was written: a field of floats may hold an integer, which stays one."""
    try:
        if type(data) in (int, float):
            is_nan = math.isnan(data)  # raises for an integer that no float holds
            return math.nan if is_nan else data  # one object: what holds it is equal to what was written
    except OverflowError:
        pass
    return _fail("float", data)  # type: ignore[no-any-return]


def _read_expression(data: Any) -> Expr:
    if type(data) is not str:
        _fail("index expression", data)
    try:
        return _parsed(data)
    except ValueError as error:
        raise _Mismatch(f"index expression ({error})", data) from None


@lru_cache(maxsize=4096)
def _parsed(text: str) -> Expr:
    return parse(text)


def _dataclass_reader(kind: Any) -> _Read:
    parts: list[tuple[str, Any, _Read]] = []  # filled when needed: dataclasses may hold themselves
    names = {field.name for field in fields(kind)}

    def read(data: Any) -> Any:
        if type(data) is not dict or data.keys() != names:
            _fail(f"object of {', '.join(field.name for field in fields(kind))}", data)
        if not parts:
            parts.extend((name, *_part(of)) for name, of in _fields(kind).items())
        found = {}
        name = ""
        try:
            for name, constant, part in parts:
                value = data[name]
                found[name] = value if type(value) is constant else part(value)
        except _Mismatch as wrong:
            wrong.way.append(name)
            raise
        return kind(**found)

    return read


def _union_reader(choices: tuple[Any, ...]) -> _Read:
    classes, other = _choices(choices)
    scalars = _SCALARS.intersection(choices)
    wanted = " or ".join(c.__name__ for c in choices if c in classes or c in scalars)

    def read_scalar(data: Any) -> Any:
        if type(data) is float or (type(data) is int and int not in scalars):
            return _read_float(data) if float in scalars else _fail(wanted, data)
        return data if type(data) in scalars else _fail(wanted, data)

    if len(classes) > 1:
        named = {c.__name__: _reader(c) for c in classes}

        def read_one(data: Any) -> Any:
            if type(data) is not dict or len(data) != 1 or not named.keys() >= data.keys():
                return read_scalar(data)
            ((name, held),) = data.items()
            return named[name](held)

        return read_one
    if other is not None:
        item = _reader(other)
        return lambda data: data if type(data) in scalars else item(data)
    return read_scalar


def _sequence_reader(origin: Any, arguments: tuple[Any, ...]) -> _Read:
    if origin is tuple and arguments[-1:] != (...,):
        each = [_part(a) for a in arguments]

        def read_each(data: Any) -> Any:
            if type(data) is not list or len(data) != len(each):
                _fail(f"list of {len(each)}", data)
            return tuple(
                [
                    item if type(item) is constant else read(item)
                    for (constant, read), item in zip(each, data, strict=True)
                ]
            )

        return read_each
    constant, item = _part(arguments[0])

    def read(data: Any) -> Any:
        if type(data) is not list:
            _fail("list", data)
        return origin([d if type(d) is constant else item(d) for d in data])

    return read


def _mapping_reader(kind: Any) -> _Read:
    item = _reader(kind)

    def read(data: Any) -> Any:
        if type(data) is not dict:
            _fail("object", data)
        found = {}
        name = ""
        try:
            for name, held in data.items():
                found[name] = item(held)
        except _Mismatch as wrong:
            wrong.way.append(name)
            raise
        return found

    return read


def _read_plain(data: Any, depth: int) -> Any:
    if type(data) is dict and len(data) == 1 and depth < _DEEPEST:
        ((kind, items),) = data.items()
        if kind in ("list", "tuple") and type(items) is list:
            values = [_read_plain(item, depth + 1) for item in items]
            return values if kind == "list" else tuple(values)
    if type(data) in (dict, list):
        _fail("number or text", data)
    return data


def _fail(wanted: str, data: Any) -> Any:
    raise _Mismatch(wanted, data)
