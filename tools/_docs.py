"""The generated pages: docs/passes.md from the docstrings of the passes; the others have a module each
(``_dialect_docs.py``, ``_options_docs.py``, ``_private_names.py``, ``_rewrite_docs.py``).
"""

import dataclasses
import inspect
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from ..passes import pipeline
from ..passes.pass_base import Pass
from ..passes.pipeline_text import option_name, option_text, option_types
from ..passes.registry import PASSES
from ._dialect_docs import dialect_page
from ._listing import summary
from ._markdown import markdown, table
from ._options_docs import options_page
from ._private_names import names_page
from ._rewrite_docs import rewrites_page

_HEADER = "<!-- Written by `python -m fuse_mlir.tools.gen_docs` from docstrings: edit those. -->\n\n"
_NAMES_HEADER = (
    "<!-- Written by `python -m fuse_mlir.tools.gen_docs` from tools/_private_names.py: edit that. -->\n\n"
)
#: A line of passes/pipeline.py: a pass' class, and the reason for its place.
_STEP = re.compile(r"^\s+(?:\*\(\()?(?P<cls>[A-Z]\w*)\(.*\),\s+#\s*(?P<reason>.*)$", re.MULTILINE)
_STAGE = re.compile(r'^\s+"(?P<level>\w+)": \(', re.MULTILINE)


def documents(folder: Path) -> dict[Path, str]:
    """The pages that are generated into ``folder``."""
    return {
        folder / "passes.md": passes_page(),
        folder / "dialect.md": dialect_page(_HEADER, folder.parent),
        folder / "rewrites.md": rewrites_page(_HEADER),
        folder / "options.md": options_page(_HEADER),
        folder / "private-names.md": names_page(_NAMES_HEADER, folder.parent),
    }


# --- text ---------------------------------------------------------------------------------------------------


def _paragraphs_after_first(docstring: str | None) -> str:
    text = inspect.cleandoc(docstring or "")
    return text.partition("\n\n")[2]


# --- passes -------------------------------------------------------------------------------------------------


def passes_page() -> str:
    """Every pass of the registry; before them the default pipeline, with the reasons in pipeline.py."""
    steps = _steps()
    lines = [
        "# Passes",
        "",
        "`fuse-opt --list-passes` lists them; options are written `name{option=value}` in a pipeline.",
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
    every = pipeline.default_pipeline(tiles="tiles.json", rounding="float32", collectives="bucket")
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
        yield from table(("option", "takes", "default"), rows)
