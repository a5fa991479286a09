"""The generated pages: docs/passes.md from the docstrings of passes, docs/dialect.md from those of dialects,
docs/rewrites.md from those of rewrites of FX graphs (``_rewrite_docs.py``).
"""

import dataclasses
import inspect
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..compiler.ir.dialects import fuse, tt
from ..passes import pipeline
from ..passes.pass_base import Pass
from ..passes.pipeline_text import option_name, option_text, option_types
from ..passes.registry import PASSES
from ._listing import dialect_classes, summary
from ._markdown import markdown, table
from ._rewrite_docs import rewrites_page

_HEADER = "<!-- Written by `python -m fuse_mlir.tools.gen_docs` from docstrings: edit those. -->\n\n"
#: A line of passes/pipeline.py: the class and the reason why it stands there.
_STEP = re.compile(r"^\s+(?:\*\(\()?(?P<cls>[A-Z]\w*)\(.*\),\s+#\s*(?P<reason>.*)$", re.MULTILINE)
#: What the page says of all passes.
_SHARED = (
    "A pass refuses IR by a `PassError`: one sentence and the location of the op that it is about. A section",
    "names the pass's own sentences. These are raised by several passes:",
    "",
    "- `the module has no function @main`, `expected @main to be a graph, got a kernel or a declaration`,",
    "  `a call of @f, which the module does not define`: by those that read the calls of `@main`;",
    "- `@k is tile code: schedule before tiling`: by those of the scheduled level that rewrite kernels;",
    "- `PASS: unknown hardware 'x': expected one of ..`: by those with the option `hardware`.",
    "",
    "A remark has a kind (`passed`: the pass did something; `missed`: a rule refused; `analysis`: what was",
    "found out) and the name of a rule. A section names the rules of the pass's remarks, if it makes any.",
)
_STAGE = re.compile(r'^\s+"(?P<level>\w+)": \(', re.MULTILINE)


def documents(folder: Path) -> dict[Path, str]:
    """The pages that are generated into ``folder``."""
    return {
        folder / "passes.md": passes_page(),
        folder / "dialect.md": dialect_page(),
        folder / "rewrites.md": rewrites_page(_HEADER),
    }


# --- text ---------------------------------------------------------------------------------------------------


def _paragraphs_after_first(docstring: str | None) -> str:
    text = inspect.cleandoc(docstring or "")
    return text.partition("\n\n")[2]


# --- passes -------------------------------------------------------------------------------------------------


def passes_page() -> str:
    """Every pass of the registry; first the default pipeline with the reasons that pipeline.py gives."""
    steps = _steps()
    lines = [
        "# Passes",
        "",
        "`fuse-opt --list-passes` lists them; options are written `name{option=value}` in a pipeline.",
        "",
        *_SHARED,
        "",
        "The default pipeline (`passes/pipeline.py`), level by level:",
        "",
    ]
    rows = [(level, f"[`{cls.name}`](#{cls.name})", reason) for level, cls, reason in steps]
    lines += [*table(("to level", "pass", "reason"), rows), ""]
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
    kept = " and ".join(f"`{analysis.__name__}`" for analysis in cls.preserves)
    preserved = f" Preserves {kept} (`passes/analysis_manager.py`)." if kept else ""
    yield f"{changes[cls.numerics]}{preserved} Source: `passes/{cls.name.replace('-', '_')}.py`."
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
        yield from table(("option", "takes", "default"), rows)


# --- dialects -----------------------------------------------------------------------------------------------


def dialect_page() -> str:
    """Every op, type and attribute of both dialects."""
    lines = ["# Dialects", ""]
    for module, dialect in ((fuse, fuse.Fuse), (tt, tt.TT)):
        kinds = dialect_classes(dialect)
        lines += [f"## {dialect.DIALECT_NAMESPACE}", "", markdown(inspect.cleandoc(module.__doc__ or "")), ""]
        for kind, sigil in (("types", "!"), ("attributes", "#")):
            for name, cls in kinds[kind].items():
                lines += [f"### {sigil}{name}", "", _parameters(sigil + name, cls), ""]
                lines += [markdown(inspect.cleandoc(cls.__doc__ or "")), ""]
        for name, cls in kinds["ops"].items():
            lines += [f"### {name}", "", markdown(inspect.cleandoc(cls.__doc__ or "")), ""]
            lines += [*_op_table(cls), ""]
    return _HEADER + "\n".join(lines).rstrip() + "\n"


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
        yield ""
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
