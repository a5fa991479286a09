"""What the modules of this package import, read from their sources: nothing is imported, and a broken module
is still read.
"""

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

from repository import ROOT

PACKAGE = "fuse_mlir"
#: Folders of Python files: the packages.
PACKAGES = {PACKAGE} | {
    ".".join((PACKAGE, *folder.relative_to(ROOT).parts))
    for top in ("bisect", "compiler", "integrations", "logs", "passes", "tools")
    for folder in {file.parent for file in (ROOT / top).rglob("*.py")}
}

#: When an import runs: as its module is loaded, for a type checker only, or in a function.
When = Literal["loading", "typing", "running"]


@dataclass(frozen=True)
class Import:
    """One imported module, and when the importer imports it."""

    target: str
    when: When
    line: int
    relative: bool

    @property
    def eager(self) -> bool:
        """Whether loading the importer loads it."""
        return self.when == "loading"


def read_package(root: Path) -> dict[str, str]:
    """Module name -> source of every module of the package that lies at `root`."""
    files = sorted(root.glob("*.py"))
    for folder in ("bisect", "compiler", "integrations", "logs", "passes", "tools"):
        files += sorted((root / folder).rglob("*.py"))
    sources: dict[str, str] = {}
    for file in files:
        parts = file.relative_to(root).with_suffix("").parts
        name = ".".join((PACKAGE, *parts)).removesuffix(".__init__")
        sources[name] = file.read_text(encoding="utf-8")
    return sources


def imports_of(module: str, sources: dict[str, str]) -> Iterator[Import]:
    """The imports of a module, as full names; `from p import m` is p.m where that is a module, else p."""
    for base, name, when, line, level in import_statements(sources[module]):
        if level:
            here = module.split(".") + ([""] if module in PACKAGES else [])
            base = ".".join(here[: len(here) - level] + ([base] if base else []))
        submodule = f"{base}.{name}"
        yield Import(submodule if name and submodule in sources else base, when, line, level > 0)


@cache
def import_statements(source: str) -> tuple[tuple[str, str, When, int, int], ...]:
    """What a source imports, in order: the module as written, the name that is taken from it ("" for the
    module itself), when, the line, and the number of leading dots.
    """

    def visit(node: ast.AST, when: When) -> Iterator[tuple[str, str, When, int, int]]:
        match node:
            case ast.Import(names=names):
                yield from ((alias.name, "", when, node.lineno, 0) for alias in names)
            case ast.ImportFrom(module=base, names=names, level=level):
                yield from ((base or "", alias.name, when, node.lineno, level) for alias in names)
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.Lambda():
                for child in ast.iter_child_nodes(node):
                    yield from visit(child, "running")
            case ast.If(test=ast.Name(id="TYPE_CHECKING") | ast.Attribute(attr="TYPE_CHECKING")):
                for child in node.body:
                    yield from visit(child, "typing")
                for child in node.orelse:
                    yield from visit(child, when)
            case _:
                for child in ast.iter_child_nodes(node):
                    yield from visit(child, when)

    return tuple(visit(ast.parse(source), "loading"))


def package_of(modules: dict[str, str], others: Iterable[str] = ()) -> dict[str, str]:
    """A made-up package: the given sources under their names, "" for the root, and as empty files the
    `__init__` files and `others`.
    """
    empty = dict.fromkeys([*PACKAGES, *others], "")
    return empty | {f"{PACKAGE}.{name}".removesuffix("."): source for name, source in modules.items()}
