"""The generated pages: docs/passes.md from the docstrings of passes, docs/dialect.md from those of dialects.

The examples of ops are taken from test/lit/dialect, whose files are verified and read back.

A docstring's ``code`` becomes Markdown's; what is indented below a line that ends in ``::`` a fenced block.
"""

import dataclasses
import inspect
import re
import sys
import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from ..compiler.ir.dialects import fuse, tt
from ..compiler.ir.dialects.attributes import ATTRIBUTES
from ..passes import pipeline
from ..passes.pass_base import Pass
from ..passes.pipeline_text import option_name, option_text, option_types
from ..passes.registry import PASSES
from ._listing import dialect_classes, summary

_HEADER = "<!-- Written by `python -m fuse_mlir.tools.gen_docs` from docstrings: edit those. -->\n\n"
#: A line of passes/pipeline.py: the class and the reason why it stands there.
_STEP = re.compile(r"^\s+(?:\*\(\()?(?P<cls>[A-Z]\w*)\(.*\),\s+#\s*(?P<reason>.*)$", re.MULTILINE)
_STAGE = re.compile(r'^\s+"(?P<level>\w+)": \(', re.MULTILINE)


def documents(folder: Path) -> dict[Path, str]:
    """The pages that are generated into ``folder``."""
    return {folder / "passes.md": passes_page(), folder / "dialect.md": dialect_page(folder.parent)}


# --- text ---------------------------------------------------------------------------------------------------


def markdown(docstring: str) -> str:
    """The Markdown of a docstring that was cleaned of its indentation."""
    lines: list[str] = []
    block: list[str] = []

    def close() -> None:
        while block and not block[-1].strip():
            block.pop()
        if block:
            lines.extend(["```mlir", *textwrap.dedent("\n".join(block)).splitlines(), "```", ""])
        block.clear()

    inside = False
    for line in docstring.splitlines():
        if inside and (not line.strip() or line.startswith("    ")):
            if block or line.strip():
                block.append(line)
            continue
        if inside:
            close()
        inside = line.rstrip().endswith("::")
        text = line.rstrip().removesuffix("::") + ":" if inside else line
        lines.append(re.sub(r"``(.+?)``", r"`\1`", text))
        if inside:
            lines.append("")
    close()
    return "\n".join(lines).strip()


def _paragraphs_after_first(docstring: str | None) -> str:
    text = inspect.cleandoc(docstring or "")
    return text.partition("\n\n")[2]


def _table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> Iterator[str]:
    yield "| " + " | ".join(head) + " |"
    yield "|" + "---|" * len(head)
    for row in rows:
        yield "| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |"


# --- passes -------------------------------------------------------------------------------------------------


def passes_page() -> str:
    """Every pass of the registry; first the default pipeline with the reasons that pipeline.py gives."""
    steps = _steps()
    lines = [
        "# Passes",
        "",
        "`fuse-opt --list-passes` lists them; options are written `name{option=value}` in a pipeline.",
        "The default pipeline (`passes/pipeline.py`), level by level:",
        "",
    ]
    rows = [(level, f"[`{cls.name}`](#{cls.name})", reason) for level, cls, reason in steps]
    lines += [*_table(("to level", "pass", "reason"), rows), ""]
    in_order = dict.fromkeys(cls.name for _, cls, _ in steps)
    others = [name for name in PASSES if name not in in_order]
    for name in (*in_order, *others):
        lines += [*_pass_section(PASSES[name]), ""]
    return _HEADER + "\n".join(lines).rstrip() + "\n"


def _steps() -> list[tuple[str, type[Pass], str]]:
    """(level, pass, reason) for every line of the default pipeline."""
    source = inspect.getsource(pipeline)
    classes = {cls.__name__: cls for cls in PASSES.values()}
    marks = sorted([*_STAGE.finditer(source), *_STEP.finditer(source)], key=lambda m: m.start())
    level, found = "", []
    for mark in marks:
        if mark.re is _STAGE:
            level = mark["level"]
        else:
            found.append((level, classes[mark["cls"]], mark["reason"]))
    every = pipeline.default_pipeline(tiles="tiles.json", rounding="float32")
    written, run = [cls for _, cls, _ in found], [type(p) for p in every]
    assert written == run, f"a line of pipeline.py gives no reason: {written} is not {run}"
    return found


def _pass_section(cls: type[Pass]) -> Iterator[str]:
    yield f"## {cls.name}"
    yield ""
    yield markdown(summary(cls))
    yield ""
    changes = {
        "bitwise": "Changes no number.",
        "reassociates": "May reorder sums.",
        "precision": "May compute in another precision.",
    }
    yield f"{changes[cls.numerics]} Source: `passes/{cls.name.replace('-', '_')}.py`."
    for docstring in (sys.modules[cls.__module__].__doc__, cls.__doc__):
        text = markdown(_paragraphs_after_first(docstring))
        if text:
            yield ""
            yield text
    types = option_types(cls)
    rows = [
        (f"`{option_name(f.name)}`", types[f.name], f"`{option_text(f.default)}`")
        for f in dataclasses.fields(cls)
    ]
    if rows:
        yield ""
        yield from _table(("option", "takes", "default"), rows)


#: Lines of an example, and characters of a line, that a page shows whole.
_LONGEST, _WIDEST = 8, 118


# --- dialects -----------------------------------------------------------------------------------------------


def dialect_page(root: Path) -> str:
    """Every op, type and attribute of both dialects, and the attributes of upstream's ops.  ``root``: of the
    repository.
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
    return _HEADER + "\n".join([*lines, *_attributes()]).rstrip() + "\n"


def op_example(name: str, text: str) -> list[str]:
    """The first use of an op in the text of a module, without comments, to the end of its regions; the middle
    of a long one is left out.  Raises ValueError where there is none.
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
    """What ``compiler/ir/dialects/attributes.py`` holds, by what carries an attribute."""
    yield from ("## Attributes", "")
    yield "The attributes that this project gives to upstream's ops: to modules, functions, arguments, calls"
    yield "and scalar ops. The verifier checks their form. A pass keeps a decision that a file has, so"
    yield "one can be written by hand."
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
    """An attribute on lines of a page's width."""
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
        yield from _table(("name", "what", "type"), rows)
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
