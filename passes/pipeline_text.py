"""Pipelines as text: ``builtin.module(fold-views,choose-tiling{hardware=h200},canonicalize)``.

Names of the registry become its passes, with options typed by their dataclass fields; any other name is handed to upstream's pass manager
(``canonicalize``, ``cse``, ``func.func(cse)``), which cannot parse passes written in Python.
"""

import dataclasses
import difflib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

from ..compiler.analysis.remarks import Remarks
from ..compiler.mlir import ir, passmanager
from .pass_base import Pass
from .registry import all_passes


class PipelineError(ValueError):
    """A pipeline text that cannot be understood; the message names the part."""


@dataclass(frozen=True)
class Upstream(Pass):
    """A pass of MLIR itself, by its text."""

    name: ClassVar[str] = "upstream"
    text: str = ""

    def run(self, module: ir.Module, remarks: Remarks) -> None:
        passmanager.PassManager.parse(f"builtin.module({self.text})", module.context).run(module.operation)


def parse_pipeline(text: str, passes: dict[str, type[Pass]] | None = None) -> list[Pass]:
    """The passes that ``text`` names, in order.  Raises ``PipelineError``."""
    known = all_passes() if passes is None else passes
    text = text.strip()
    if text.startswith("builtin.module(") and text.endswith(")"):
        text = text[len("builtin.module(") : -1]
    return [_parse_pass(item, known) for item in _split(text) if item]


def pipeline_text(passes: list[Pass]) -> str:
    """The text that ``parse_pipeline`` reads back to the same passes."""
    return "builtin.module(" + ",".join(_pass_text(p) for p in passes) + ")"


def _pass_text(p: Pass) -> str:
    if isinstance(p, Upstream):
        return p.text
    given = [(f.name, getattr(p, f.name)) for f in dataclasses.fields(p) if getattr(p, f.name) != f.default]
    if not given:
        return p.name
    return p.name + "{" + " ".join(f"{n.replace('_', '-')}={_option_text(v)}" for n, v in given) + "}"


def _option_text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _split(text: str) -> Iterator[str]:
    depth, start = 0, 0
    for i, c in enumerate(text):
        if c in "({":
            depth += 1
        elif c in ")}":
            depth -= 1
            if depth < 0:
                raise PipelineError(f"unbalanced '{c}' at character {i} of the pipeline '{text}'")
        elif c == "," and depth == 0:
            yield text[start:i].strip()
            start = i + 1
    if depth:
        raise PipelineError(f"unclosed parenthesis or brace in the pipeline '{text}'")
    yield text[start:].strip()


def _parse_pass(text: str, known: dict[str, type[Pass]]) -> Pass:
    name, brace, rest = text.partition("{")
    cls = known.get(name.strip())
    if cls is None:
        try:
            passmanager.PassManager.parse(f"builtin.module({text})", ir.Context())
        except (ValueError, ir.MLIRError):
            close = difflib.get_close_matches(name, known, 1)
            hint = f"; did you mean '{close[0]}'?" if close else ""
            raise PipelineError(f"unknown pass '{name}'{hint}") from None
        return Upstream(text)
    fields = {f.name.replace("_", "-"): f for f in dataclasses.fields(cls)}
    options: dict[str, Any] = {}
    for item in rest.removesuffix("}").split() if brace else ():
        key, equals, value = item.partition("=")
        if key not in fields:
            close = difflib.get_close_matches(key, fields, 1)
            hint = f"; did you mean '{close[0]}'?" if close else f"; it has {', '.join(fields) or 'none'}"
            raise PipelineError(f"pass '{name}' has no option '{key}'{hint}")
        options[fields[key].name] = _parse_option(name, key, value if equals else "true", fields[key].type)
    return cls(**options)


def _parse_option(name: str, key: str, value: str, type_: Any) -> Any:
    kind = type_ if isinstance(type_, str) else getattr(type_, "__name__", str(type_))
    try:
        if kind == "bool":
            return {"true": True, "false": False}[value]
        return {"int": int, "float": float, "str": str}[kind](value)
    except (KeyError, ValueError):
        raise PipelineError(f"option '{key}' of pass '{name}' takes a {kind}, got '{value}'") from None
