"""What pages say of files, passes, options and dumps is so; `test_examples.py` runs the README's code."""

import dataclasses
import inspect
import re
import runpy
from pathlib import Path

import pytest
from pages import fences, written_file
from repository import ROOT

from fuse_mlir.compiler.base.options import Options
from fuse_mlir.passes.pipeline import default_pipeline
from fuse_mlir.passes.registry import PASSES, all_passes

PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
SITE = runpy.run_path(str(ROOT / "docs" / "site" / "conf.py"))
FOLDERS = ("compiler", "integrations", "passes", "tools", "test", "bench", "examples", "docs")
#: What a dump folder holds, a user's file, and names that stand for any.
NOT_FILES = frozenset(
    {
        "plan.py",
        "model.py",
        "mine.mlir",
        "fuse_bisect/before.mlir",
        "passes/kernels/exp_to_exp2.py",
        "path/to/test_file.py",
        "path/to/file.mlir",
    }
)


def files_that_a_reader_writes(text: str) -> set[str]:
    """Their paths."""
    return {file[0] for _, block in fences(text) if (file := written_file(block)) is not None}


def missing_files(text: str, files: set[str]) -> list[str]:
    """The paths in `text` that end no path of `files`, and that no reader writes."""
    named = set(re.findall(r"(?<![\w/<.-])[\w/]+\.(?:py|md|mlir)\b(?!\w)", text)) - NOT_FILES
    files = files | files_that_a_reader_writes(text)
    return sorted(n for n in named if not any(f == n or f.endswith("/" + n) for f in files))


@pytest.fixture(scope="module")
def files() -> set[str]:
    found = {p.relative_to(ROOT).as_posix() for folder in FOLDERS for p in (ROOT / folder).rglob("*.*")}
    return found | {p.name for p in ROOT.glob("*.*")}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_files_that_a_page_names_exist(page: Path, files: set[str]) -> None:
    assert missing_files(page.read_text(encoding="utf-8"), files) == []


def test_a_missing_file_is_found(files: set[str]) -> None:
    text = "`ir/layout.py`, `passes/fold_viws.py`, `ask.py`\n```python\n# ask.py\nimport torch\n```\n"
    assert missing_files(text, files) == ["passes/fold_viws.py"]


def anchors(text: str) -> set[str]:
    """The anchors that a page's headings have, as GitHub makes them."""
    titles = re.findall(r"^#+ (.*)$", re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S), re.M)
    return {re.sub(r"[^\w -]", "", title.strip().lower()).replace(" ", "-") for title in titles}


def broken_links(page: Path, text: str) -> list[str]:
    """The links of a page to files that do not exist, or to headings that their page does not have."""
    found = []
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        file, _, anchor = link.partition("#")
        target = page.parent / file if file else page
        if "://" in link:
            continue
        if not target.exists() or (anchor and anchor not in anchors(target.read_text(encoding="utf-8"))):
            found.append(link)
    return found


@pytest.mark.parametrize(
    "page", [*PAGES, ROOT / "bench" / "README.md"], ids=lambda page: page.parent.name + page.name
)
def test_links_lead_somewhere(page: Path) -> None:
    assert broken_links(page, page.read_text(encoding="utf-8")) == []


def test_a_broken_link_is_found() -> None:
    text = (
        "[a](docs/passes.md#no-such-pass) [b](docs/none.md) [c](docs/passes.md#fuse-vertical) [d](http://x)"
    )
    assert broken_links(PAGES[0], text) == ["docs/passes.md#no-such-pass", "docs/none.md"]


def test_each_page_is_in_the_navigation_of_the_site_once() -> None:
    """A new page gets its place in NAVIGATION of docs/site/conf.py."""
    shown = [f"{page}.md" for pages in SITE["NAVIGATION"].values() for page in pages]
    pages = [page.relative_to(ROOT).as_posix() for page in PAGES if page.name != "README.md"]
    assert sorted(shown) == sorted([*pages, "bench/README.md"])


def test_what_the_site_would_fetch_over_a_network_is_found() -> None:
    """Links that a reader follows are not, nor what lies beside the page."""
    own = '<script src="_static/a.js"></script><a href="https://x.org">x</a><img src="data:image/svg+xml,http://w3">'
    html = '<link rel="stylesheet" href="https://fonts.example/a.css"><script defer src="//cdn.example/m.js">'
    css = '@import "https://b.example/b.css"; body { src: url(https://c.example/c.woff2) }'
    assert SITE["loaded_from_elsewhere"](own) == []
    assert SITE["loaded_from_elsewhere"](html) == ["https://fonts.example/a.css", "//cdn.example/m.js"]
    assert SITE["loaded_from_elsewhere"](css) == ["https://b.example/b.css", "https://c.example/c.woff2"]


def test_each_term_of_the_glossary_is_used_and_explained_once() -> None:
    text = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
    terms = [
        t.strip("`")
        for line in text.splitlines()
        if line.startswith("- ")
        for t in re.findall(r"\*\*(.+?)\*\*", line)
    ]
    assert len(terms) == len(set(terms))
    sources = [
        p.read_text(encoding="utf-8") for top in ("compiler", "passes") for p in (ROOT / top).rglob("*.py")
    ]
    written = "\n".join(
        [*sources, *(page.read_text(encoding="utf-8") for page in PAGES if page.name != "glossary.md")]
    )
    words = " ".join(written.lower().split())
    assert [term for term in terms if term.lower() not in words] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_lines_of_prose_are_short(page: Path) -> None:
    """At most 120 characters, but in tables, code and what a tool writes."""
    if page.name in ("passes.md", "dialect.md", "rewrites.md"):
        pytest.skip("written from docstrings")
    text = page.read_text(encoding="utf-8")
    text = re.sub(r"^<!-- bench:([\w-]+) -->.*?^<!-- /bench:\1 -->|^```.*?^```$", "", text, flags=re.M | re.S)
    assert [line for line in text.splitlines() if len(line) > 120 and not line.startswith("|")] == []


def test_each_decision_that_is_no_pass_has_a_place_a_reason_tests_and_a_switch() -> None:
    """What the list in architecture.md says of each, and that its switches are options or modes."""
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    chapter = text.partition("\n## Decisions that are not MLIR passes\n")[2].partition("\n## ")[0]
    decisions = re.findall(r"^\*\*.+?(?=^\*\*|^### |\Z)", chapter, re.M | re.S)
    assert len(decisions) > 20
    options = {f.name for f in dataclasses.fields(Options)} | {"mode"}
    for body in decisions:
        parts = re.findall(r"^- (Where|Why|Tests|Switch): .", body, re.M)
        assert [p for p in parts if p != "Why"] == ["Where", "Tests", "Switch"], body
        named = re.findall(r"`([a-z_]+)(?:=[^`]*)?`", body.partition("- Switch:")[2])
        assert set(named) <= options, body


def test_the_dump_that_a_page_replays_is_the_pipelines() -> None:
    """`NN-PASS.mlir` and the pass that gives the next dump have their numbers and order in the pipeline."""
    text = (ROOT / "docs" / "development.md").read_text(encoding="utf-8")
    names = ["input", *(p.name for p in default_pipeline("scheduled"))]
    shown = re.findall(r"fuse-opt \S*/(\d\d)-([\w-]+)\.mlir --pass-pipeline='builtin\.module\((.*?)\)'", text)
    assert shown
    for number, name, following in shown:
        assert names[int(number)] == name and names[int(number) + 1] == following


def unsaid(source: str, section: str) -> list[str]:
    """The rules of the remarks that a pass's source makes, and that it raises errors, where its section of
    docs/passes.md does not name them.
    """
    rules = re.findall(r'"(?:passed|missed|analysis)",\s*"([\w-]+)"', source)
    errors = ["PassError"] if "raise PassError(" in source else []
    return [name for name in (*rules, *errors) if name not in section]


def test_what_a_pass_says_and_raises_is_on_the_page() -> None:
    page = (ROOT / "docs" / "passes.md").read_text(encoding="utf-8")
    sections = {section.partition("\n")[0]: section for section in page.split("\n## ")[1:]}
    assert set(sections) == set(PASSES)
    for name, section in sections.items():
        [path] = (ROOT / "passes").glob(f"*/{name.replace('-', '_')}.py")
        source = path.read_text(encoding="utf-8")
        assert unsaid(source, section) == [], name
    assert unsaid('add(self.name, "missed", "other-rule")\nraise PassError(x)', "") == [
        "other-rule",
        "PassError",
    ]


def test_every_option_is_described_and_every_described_one_exists() -> None:
    described = re.findall(r"^(\w+): ", inspect.cleandoc(Options.__doc__), re.MULTILINE)
    assert sorted(described) == sorted(f.name for f in dataclasses.fields(Options))
    text = (ROOT / "docs" / "options.md").read_text(encoding="utf-8")
    first = re.search(r"Those to know first:\n\n(.*?)\n\n", text, re.DOTALL)[1]
    names = {
        n for line in re.findall(r"^- (.*?): ", first, re.MULTILINE) for n in re.findall(r"`(\w+)", line)
    }
    assert "dump" in names and names <= set(described)


def test_pipelines_that_pages_show_name_passes() -> None:
    known = {*all_passes(), "exp-to-exp2", "cse", "canonicalize"}
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        written = {Path(file).stem.replace("_", "-") for file in files_that_a_reader_writes(text)}
        for inside in re.findall(r"builtin\.module\(([\w,-]+)\)", text):
            assert set(inside.split(",")) <= known | written, f"{page.name}: {inside}"
