"""Writes docs/dialect.md: the docstrings of the dialects' classes, an example of each op, and the attributes
of upstream ops (``compiler/ir/dialects/attributes.py``).

The examples are taken from test/lit/dialect, whose files are verified and round-tripped.
"""

import inspect
import re
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..compiler.ir.dialects import fuse, tt
from ..compiler.ir.dialects.attributes import ATTRIBUTES
from ._listing import dialect_classes
from ._markdown import markdown, table

#: How many lines of an example, and how many characters of a line, a page shows in full.
_LONGEST, _WIDEST = 8, 118


def dialect_page(header: str, root: Path) -> str:
    """Every op, type and attribute of both dialects, and the attributes of upstream ops.  ``root``: of the
    repository.  ``header``: the first lines of a generated page.
    """
    lines = ["# Dialects", "", "- [fuse](#fuse): ops of the graph, of kernels and of the lower levels"]
    lines += ["- [tt](#tt): the mirror of Triton's dialect"]
    lines += ["- [Attributes of modules, functions, arguments and calls](#attributes)", ""]
    for module, dialect in ((fuse, fuse.Fuse), (tt, tt.TT)):
        kinds = dialect_classes(dialect)
        examples = root / "test" / "lit" / "dialect" / f"{dialect.DIALECT_NAMESPACE}-ops.mlir"
        text = examples.read_text(encoding="utf-8")
        lines += [f"## {dialect.DIALECT_NAMESPACE}", "", markdown(inspect.cleandoc(module.__doc__ or "")), ""]
        lines += [f"The examples are lines of `test/lit/dialect/{examples.name}`.", ""]
        aliases = re.findall(r"^!\w+ = .*$", text, re.MULTILINE)
        lines += ["They use these types:", "", "```mlir", *aliases, "```", ""] if aliases else []
        for kind, sigil in (("types", "!"), ("attributes", "#")):
            for name, cls in kinds[kind].items():
                lines += [f"### {sigil}{name}", "", _parameters(sigil + name, cls), ""]
                lines += [markdown(inspect.cleandoc(cls.__doc__ or "")), ""]
        for name, cls in kinds["ops"].items():
            lines += [f"### {name}", "", markdown(inspect.cleandoc(cls.__doc__ or "")), ""]
            lines += [*_op_table(cls), "", "```mlir", *op_example(name, text), "```", ""]
    return header + "\n".join([*lines, *_attributes()]).rstrip() + "\n"


def op_example(name: str, text: str) -> list[str]:
    """The first use of an op in the text of a module, without comments, up to the end of its regions.  The
    middle of a long use is left out.  Raises ValueError where there is none.
    """
    source = [line.partition("//")[0].rstrip() for line in text.splitlines()]
    start = next((i for i, line in enumerate(source) if f'"{name}"(' in line), None)
    if start is None:
        raise ValueError(f"test/lit/dialect has no {name}")
    depth, found = 0, []
    for line in source[start:]:
        if line:
            found.append(line)
        depth += line.count("({") - line.count("})")
        if not depth:
            break
    if len(found) > _LONGEST:
        found = [*found[:3], "  ...", *found[-2:]]
    shown = textwrap.dedent("\n".join(found)).splitlines()
    broken = [line.replace(" : (", "\n    : (", 1) if len(line) > _WIDEST else line for line in shown]
    return "\n".join(broken).splitlines()


def _attributes() -> Iterator[str]:
    """The texts of ``compiler/ir/dialects/attributes.py``, grouped by what carries an attribute."""
    yield from ("## Attributes", "")
    yield "The attributes that this project gives to upstream's ops: to modules, functions, arguments, calls"
    yield "and scalar ops. The verifier checks their form, and refuses other names that begin with `fuse.`. A"
    yield "pass keeps decisions that a file already has, so an attribute can also be written by hand."
    for attribute in ATTRIBUTES:
        yield from (
            "",
            f"### {attribute.name} (attribute)",
            "",
            *textwrap.wrap(attribute.meaning, _WIDEST),
            "",
        )
        yield from ("```mlir", *_broken(attribute.example), "```", "")
        yield f"- On: {attribute.on}."
        yield f"- Written by: {attribute.written}."
        yield f"- Read by: {attribute.read}."


def _broken(example: str) -> list[str]:
    """An attribute in IR, broken into lines of a page's width."""
    return textwrap.wrap(example, _WIDEST, subsequent_indent="    ", break_long_words=False)


def _parameters(name: str, cls: Any) -> str:
    inner = ", ".join(f"{p.name}: {_constraint(p.constraint)}" for p in cls._fields)
    return f"`{name}<{inner}>`" if inner else f"`{name}`"


def _op_table(cls: Any) -> Iterator[str]:
    kinds = {
        "OperandDef": "operand",
        "AttributeDef": "attribute",
        "ResultDef": "result",
        "RegionDef": "region",
    }
    rows = []
    for part in cls._fields:
        many = {"variadic": " (any number)", "optional": " (optional)"}.get(part.variadicity.name, "")
        kind = kinds[type(part).__name__]
        rows.append((f"`{part.name}`", kind + many, "" if kind == "region" else _constraint(part.constraint)))
    traits = ", ".join(trait.__name__ for trait in cls._traits)
    if rows:
        yield from table(("name", "what", "type"), rows)
    if traits:
        yield from ("",) if rows else ()
        yield f"Traits: {traits}."


#: How a constraint of the bindings is spelled on the page.
_SPELLINGS = {
    "Any": "any", "IndexType": "index", "F32Type": "f32", "ArrayAttr": "array", "StringAttr": "string",
    "IntegerAttr": "integer", "TypeAttr": "type", "Token": "`!fuse.token`",
}  # fmt: skip


def _constraint(constraint: Any) -> str:
    name = str(getattr(constraint, "__name__", constraint))
    width = re.search(r"IntegerType\[(\d+)\]", str(constraint))
    if width is not None:
        return f"i{width[1]}"
    if name.startswith("~") or len(name) == 1:
        return f"type {name.removeprefix('~')}"
    return _SPELLINGS[name]
