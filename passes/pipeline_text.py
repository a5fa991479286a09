"""Pipelines as text: ``builtin.module(fold-views,choose-tiling{hardware=h200},canonicalize)``.

Names of the registry become its passes, with options typed by their dataclass fields; any other name is
handed to upstream's pass manager (``canonicalize``, ``cse``, ``func.func(cse)``), which cannot parse passes
written in Python.
"""

import dataclasses
import difflib
import re
import types
import typing
from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, Any, ClassVar, Literal

from ..compiler.base.dataclass import dataclass
from ..compiler.base.remarks import Remarks
from ..compiler.mlir import ir, new_context, passmanager
from .pass_base import Count, Pass
from .registry import PASSES, all_passes

#: Upstream passes that are worth suggesting; any other is accepted too.
UPSTREAM_NAMES = (
    "canonicalize",
    "cse",
    "inline",
    "loop-invariant-code-motion",
    "sccp",
    "strip-debuginfo",
    "symbol-dce",
)


class PipelineError(ValueError):
    """A pipeline text that cannot be understood; the message names the part."""


class UnknownPass(PipelineError):
    """A name that is neither a pass of the registry nor one of upstream's."""


@dataclass(frozen=True)
class Upstream(Pass):
    """A pass of MLIR itself, by its text.  ``name`` is the text without options."""

    name: ClassVar[str] = "upstream"
    text: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", re.sub(r"\{[^{}]*\}", "", self.text))

    def run(self, module: ir.Module, remarks: Remarks) -> None:
        passmanager.PassManager.parse(f"builtin.module({self.text})", module.context).run(module.operation)


def parse_pipeline(text: str, passes: Mapping[str, type[Pass]] | None = None) -> list[Pass]:
    """The passes that ``text`` names, in order;

    ``passes`` are those of the registry by default.  Raises ``PipelineError``.
    """
    text = text.strip()
    if text.startswith("builtin.module(") and text.endswith(")"):
        text = text[len("builtin.module(") : -1]
    if not text.strip():
        return []
    items = list(_split(text))
    known = passes if passes is not None else _registered(items)
    return [_parse_pass(item, known) for item in items]


def _registered(items: Iterable[str]) -> Mapping[str, type[Pass]]:
    """The project's passes, and those of other packages if one of ``items`` may be among them."""
    names = (item.partition("{")[0].strip() for item in items)
    return PASSES if all(n in PASSES or n in UPSTREAM_NAMES for n in names) else all_passes()


def pipeline_text(passes: Iterable[Pass]) -> str:
    """The text that ``parse_pipeline`` reads back to the same passes."""
    return "builtin.module(" + ",".join(_pass_text(p) for p in passes) + ")"


def option_name(field: str) -> str:
    """``max_ops`` -> ``max-ops``."""
    return field.replace("_", "-")


def option_text(value: Any) -> str:
    """An option's value as a pipeline spells it."""
    if isinstance(value, bool):
        return str(value).lower()
    return ",".join(map(option_text, value)) if isinstance(value, tuple) else str(value)


def option_types(cls: type[Pass]) -> dict[str, str]:
    """Field -> what its option takes, in words."""
    hints = typing.get_type_hints(cls, include_extras=True)
    return {f.name: _describe(hints[f.name]) for f in dataclasses.fields(cls)}


def _pass_text(p: Pass) -> str:
    if isinstance(p, Upstream):
        return p.text
    given = [(f.name, getattr(p, f.name)) for f in dataclasses.fields(p) if getattr(p, f.name) != f.default]
    if not given:
        return p.name
    return p.name + "{" + " ".join(f"{option_name(n)}={option_text(v)}" for n, v in given) + "}"


def _split(text: str) -> Iterator[str]:
    """The items between commas that are in no bracket; each bracket is closed by its own kind."""
    closers: list[str] = []
    start = 0
    for i, c in enumerate(text):
        if c in "({":
            closers.append(")" if c == "(" else "}")
        elif c in ")}":
            if not closers or closers.pop() != c:
                raise PipelineError(f"unbalanced '{c}' at character {i} of the pipeline '{text}'")
        elif c == "," and not closers:
            yield text[start:i].strip()
            start = i + 1
    if closers:
        raise PipelineError(f"the pipeline '{text}' ends before a '{closers[-1]}'")
    yield text[start:].strip()


def _parse_pass(text: str, known: Mapping[str, type[Pass]]) -> Pass:
    if not text:
        raise PipelineError("the pipeline has an empty item: a comma too many")
    name, brace, rest = text.partition("{")
    name = name.strip()
    if name not in known:
        return _upstream(text, name, known)
    if brace and not rest.endswith("}"):
        raise PipelineError(f"expected ',' after the options of pass '{name}', got '{text}'")
    return _make(known, name, rest[:-1].split())


def _make(known: Mapping[str, type[Pass]], name: str, items: list[str]) -> Pass:
    cls = known[name]
    hints = typing.get_type_hints(cls, include_extras=True)
    fields = {option_name(f.name): f for f in dataclasses.fields(cls)}
    options: dict[str, Any] = {}
    for item in items:
        key, equals, value = item.partition("=")
        if key not in fields:
            choices = f"; it has {', '.join(fields)}" if fields else "; it has none"
            raise PipelineError(f"pass '{name}' has no option '{key}'{_suggestion(key, fields) or choices}")
        field = fields[key].name
        if field in options:
            raise PipelineError(f"option '{key}' of pass '{name}' is given twice")
        try:
            options[field] = _value(value if equals else "true", hints[field])
        except ValueError:
            what = f"'{value}'" if equals else "nothing"
            raise PipelineError(
                f"option '{key}' of pass '{name}' takes {_describe(hints[field])}, got {what}"
            ) from None
    try:
        return cls(**options)
    except (TypeError, ValueError) as error:  # an option without a default, or values that do not go together
        raise PipelineError(f"pass '{name}' refuses its options: {error}") from None


def _upstream(text: str, name: str, known: Mapping[str, type[Pass]]) -> Upstream:
    try:
        passmanager.PassManager.parse(f"builtin.module({text})", new_context())
    except (ValueError, ir.MLIRError):
        nested = re.match(r"[\w.]+\((.*)\)$", text, re.DOTALL)
        inner = [i.partition("{")[0] for i in _split(nested[1])] if nested else []
        if own := [i for i in inner if i in known]:
            raise PipelineError(f"pass '{own[0]}' runs on the module: write it outside '{text}'") from None
        wrong = next((i for i in inner if i not in UPSTREAM_NAMES), name)
        if name in UPSTREAM_NAMES and not nested:
            raise PipelineError(f"upstream's pass '{name}' does not take the options of '{text}'") from None
        raise UnknownPass(f"unknown pass '{wrong}'{_suggestion(wrong, (*known, *UPSTREAM_NAMES))}") from None
    return Upstream(text)


def _suggestion(name: str, known: Iterable[str]) -> str:
    close = difflib.get_close_matches(name, list(known), 1)
    return f"; did you mean '{close[0]}'?" if close else ""


# --- values of options --------------------------------------------------------------------------------------

_BOOLS = {"true": True, "false": False}


def _value(text: str, hint: Any) -> Any:
    """``text`` as a value of the type ``hint``.  Raises ValueError."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is Annotated:
        count = _value(text, arguments[0])
        if hint == Count and count < 0:
            raise ValueError(text)
        return count
    if origin is Literal:
        found = next((a for a in arguments if option_text(a) == text), None)
        if found is None:
            raise ValueError(text)
        return found
    if origin in (typing.Union, types.UnionType):
        if text == "None" and type(None) in arguments:
            return None
        return _value(text, next(a for a in arguments if a is not type(None)))
    if origin is tuple:
        return tuple(_value(part, arguments[0]) for part in text.split(",")) if text else ()
    if hint is bool:
        if text not in _BOOLS:
            raise ValueError(text)
        return _BOOLS[text]
    if hint not in (int, float, str):
        raise PipelineError(f"options of type {hint} cannot be written in a pipeline")
    return hint(text)


def _describe(hint: Any) -> str:
    """What an option of the type ``hint`` takes."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is Annotated:
        return f"{_describe(arguments[0])} {arguments[1]}"
    if origin is Literal:
        return " or ".join(option_text(a) for a in arguments)
    if origin in (typing.Union, types.UnionType):
        return " or ".join(_describe(a) for a in arguments)
    if origin is tuple:
        return f"{_describe(arguments[0])}, .."
    return "None" if hint is type(None) else str(getattr(hint, "__name__", hint))
