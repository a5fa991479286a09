"""The generated pages: docs/passes.md from the docstrings of the passes; the others have a module each
(``_dialect_docs.py``, ``_options_docs.py``, ``_private_names.py``, ``_rewrite_docs.py``).
"""

import dataclasses
import inspect
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
    ends = ", ".join(f"{s.reaches} with `{s.name}`" for s in pipeline.STAGES if s.reaches is not None)
    lines = [
        "# Passes",
        "",
        "`fuse-opt --list-passes` lists them; options are written `name{option=value}` in a pipeline.",
        f"The default pipeline (`passes/pipeline.py`), stage by stage. Levels end with stages: {ends}.",
        "",
    ]
    settings = pipeline.Settings()
    steps = [(stage.name, s, type(s.made(settings))) for stage in pipeline.STAGES for s in stage.steps]
    rows = [
        (name, f"[`{cls.name}`](#{cls.name})", "" if step.switch is None else step.switch.value, step.reason)
        for name, step, cls in steps
    ]
    lines += [*table(("stage", "pass", "runs", "reason"), rows), ""]
    in_order = dict.fromkeys(cls.name for _, _, cls in steps)
    others = [name for name in PASSES if name not in in_order]
    for name in (*in_order, *others):
        lines += [*_pass_section(PASSES[name]), ""]
    return _HEADER + "\n".join(lines).rstrip() + "\n"


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
    source = "/".join(cls.__module__.split(".")[1:])
    yield f"{changes[cls.numerics]} Source: `{source}.py`."
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
