"""The site: README.md, CONTRIBUTING.md and docs/, as Sphinx builds them for a browser (``./run site``).

The pages are those that one reads in the repository. What is added here is the navigation, colours for IR,
and a check that no page loads anything over a network. Sphinx itself finds broken links, and pages without a
place in the navigation.
"""

import re
import shutil
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

#: The navigation: the title of a part, and its pages, as paths from the repository's root without ``.md``.
NAVIGATION = {
    "Tutorials": [
        "docs/tutorials/script-to-server",
        "docs/tutorials/missed-fusion",
        "docs/tutorials/first-pass",
    ],
    "To use it": [
        "docs/options",
        "docs/report",
        "docs/debugging",
        "docs/packages",
        "docs/cache",
        "docs/distributed",
        "docs/templates",
        "docs/user-kernels",
        "docs/attention",
        "docs/experts",
        "docs/versions",
    ],
    "How it works": [
        "docs/architecture",
        "docs/passes",
        "docs/rewrites",
        "docs/dialect",
        "docs/glossary",
    ],
    "How fast it is": [
        "docs/performance",
        "docs/performance/tables",
        "docs/performance/method",
        "docs/performance/estimates",
        "docs/performance/history",
        "bench/README",
    ],
    "To work on it": [
        "CONTRIBUTING",
        "docs/development",
        "docs/features",
        "docs/private-names",
    ],
}

# ---- Sphinx's settings -------------------------------------------------------------------------------------

project = "fuse-mlir"
extensions = ["myst_parser"]
root_doc = "README"
include_patterns = ["README.md", "CONTRIBUTING.md", "bench/README.md", "docs/**.md"]
exclude_patterns = ["docs/site"]
myst_heading_anchors = 6  # links name headings as on GitHub
html_theme = "furo"
html_title = "fuse-mlir"
html_show_sphinx = False
html_copy_source = False
html_use_index = False

# ---- what the pages need beyond Markdown -------------------------------------------------------------------


def with_navigation(app, name: str, source: list[str]) -> None:
    """Adds the navigation to the first page; on GitHub it has none."""
    if name == root_doc:
        for title, pages in NAVIGATION.items():
            entries = "\n".join(f"/{page}" for page in pages)
            source[0] += f"\n```{{toctree}}\n:hidden:\n:caption: {title}\n\n{entries}\n```\n"


def folders_without_links(app, doctree) -> None:
    """A link to a folder of the repository becomes its text: the site has pages and files only."""
    from sphinx.addnodes import pending_xref

    here = Path(app.env.doc2path(app.env.docname)).parent
    for link in list(doctree.findall(pending_xref)):
        if link["reftarget"] and (here / link["reftarget"]).is_dir():
            link.replace_self(link.children)


def loaded_from_elsewhere(html: str) -> list[str]:
    """The addresses that a browser would fetch by itself, over a network, to show a page or style sheet."""
    tags = re.findall(r"<(?:script|img|iframe|link|source|video)\b[^>]*>", html)
    by_tags = [url for tag in tags for url in re.findall(r'(?:src|href|srcset)="((?:https?:)?//[^"]*)"', tag)]
    return by_tags + re.findall(r"""(?:@import\s*|url\()\s*["']?((?:https?:)?//[^"')]*)""", html)


def finish(app, error) -> None:
    """Checks what was built, and makes the first page the one that a folder opens with."""
    from sphinx.util.logging import getLogger

    if error is not None:
        return
    built = Path(app.outdir)
    for page in [*built.rglob("*.html"), *built.rglob("*.css")]:
        for url in loaded_from_elsewhere(page.read_text(encoding="utf-8")):
            getLogger(__name__).warning("%s would fetch %s over a network", page.relative_to(built), url)
    shutil.copyfile(built / f"{root_doc}.html", built / "index.html")


def mlir_lexer():
    """Colours for MLIR, which Pygments lacks."""
    from pygments import token
    from pygments.lexer import RegexLexer

    class MlirLexer(RegexLexer):
        name = "MLIR"
        tokens = {
            "root": [
                (r"//.*?$", token.Comment.Single),
                (r'"[^"\n]*"', token.String),
                (r"[%@^][\w$.#-]+", token.Name.Variable),
                (r"[#!][\w$.]+", token.Name.Decorator),
                (r"\b(?:[su]?i\d+|bf16|f\d\w*|index|none|tensor|memref|vector)\b", token.Keyword.Type),
                (r"\b[a-z_]\w*\.[\w.]+", token.Keyword),
                (r"-?\b\d[\w.+]*", token.Number),
                (r"\w+", token.Name),
                (r"\s+", token.Whitespace),
                (r".", token.Punctuation),
            ]
        }

    return MlirLexer


def setup(app) -> dict:
    app.connect("source-read", with_navigation)
    app.connect("doctree-read", folders_without_links)
    app.connect("build-finished", finish)
    app.add_lexer("mlir", mlir_lexer())
    return {"parallel_read_safe": True, "parallel_write_safe": True}
