"""A pass has one name, spelled four ways, and the registry holds exactly the passes that have a file.

`passes/fusion/fuse_vertical.py`, `fuse-vertical`, `FuseVertical` and `test/lit/passes/fuse-vertical.mlir`.
The files are read as source, so a pass that cannot be imported is still named; only the registry is imported.
"""

import ast
import importlib
from pathlib import Path

import pytest
from repository import ROOT

PASSES = ROOT / "passes"


def pass_files(folder: Path) -> list[Path]:
    """The files in folders of `folder` that hold a pass."""
    return sorted(p for p in folder.glob("*/*.py") if pass_classes(p.read_text(encoding="utf-8")))


def pass_classes(source: str) -> dict[str, str]:
    """Class name -> pass argument name, for each class that is derived from another one, of a module, whose
    body gives `name` a literal.
    """
    found: dict[str, str] = {}
    for statement in ast.parse(source).body:
        if not isinstance(statement, ast.ClassDef) or not statement.bases:
            continue
        for line in statement.body:
            match line:
                case ast.AnnAssign(target=ast.Name(id="name"), value=ast.Constant(value=str(name))):
                    found[statement.name] = name
                case ast.Assign(targets=[ast.Name(id="name")], value=ast.Constant(value=str(name))):
                    found[statement.name] = name
    return found


def kebab(stem: str) -> str:
    """`fuse_vertical` -> `fuse-vertical`."""
    return stem.replace("_", "-")


def camel(stem: str) -> str:
    """`fuse_vertical` -> `FuseVertical`."""
    return "".join(word.capitalize() for word in stem.split("_"))


def disagreements(stem: str, source: str, lit_tests: set[str]) -> list[str]:
    """What is wrong with the names in `passes/<stem>.py`, given the stems of test/lit/passes/*.mlir."""
    classes = pass_classes(source)
    if len(classes) != 1:
        return [
            f"passes/{stem}.py defines {len(classes)} pass classes {sorted(classes)}; a pass file defines one"
        ]
    [(class_name, argument)] = classes.items()
    found: list[str] = []
    if argument != kebab(stem):
        found.append(f"passes/{stem}.py: the pass is named {argument!r}, its file says {kebab(stem)!r}")
    if class_name != camel(stem):
        found.append(f"passes/{stem}.py: the class is named {class_name}, its file says {camel(stem)}")
    if kebab(stem) not in lit_tests:
        found.append(f"passes/{stem}.py has no test/lit/passes/{kebab(stem)}.mlir")
    return found


@pytest.mark.parametrize("path", pass_files(PASSES), ids=lambda path: path.stem)
def test_four_names_agree(path: Path) -> None:
    lit_tests = {test.stem for test in (ROOT / "test" / "lit" / "passes").glob("*.mlir")}
    assert disagreements(path.stem, path.read_text(encoding="utf-8"), lit_tests) == []


def test_registry_holds_exactly_the_pass_files() -> None:
    if not (PASSES / "registry.py").exists():
        assert pass_files(PASSES) == [], "there are passes and no passes/registry.py"
        return
    registry = importlib.import_module("fuse_mlir.passes.registry")
    own = {name: cls for name, cls in registry.PASSES.items() if cls.__module__.startswith("fuse_mlir.")}
    assert sorted(own) == sorted(kebab(path.stem) for path in pass_files(PASSES))
    for name, cls in own.items():
        assert cls.name == name
        assert cls.__module__.rpartition(".")[2] == name.replace("-", "_")


GOOD = 'class FuseVertical(Pass):\n    name: ClassVar[str] = "fuse-vertical"\n'


def test_checker_accepts_a_pass_whose_names_agree() -> None:
    assert disagreements("fuse_vertical", GOOD, {"fuse-vertical"}) == []
    assert disagreements("fuse_vertical", GOOD.replace(": ClassVar[str]", ""), {"fuse-vertical"}) == []


@pytest.mark.parametrize(
    ("source", "lit_tests", "reason"),
    [
        (
            GOOD.replace('"fuse-vertical"', '"fuse_vertical"'),
            {"fuse-vertical"},
            "the pass is named 'fuse_vertical'",
        ),
        (
            GOOD.replace("FuseVertical", "VerticalFusion"),
            {"fuse-vertical"},
            "the class is named VerticalFusion",
        ),
        (GOOD, {"fuse-horizontal"}, "has no test/lit/passes/fuse-vertical.mlir"),
        ("def fuse(): ...", {"fuse-vertical"}, "defines 0 pass classes"),
        (GOOD + GOOD.replace("FuseVertical", "Other"), {"fuse-vertical"}, "defines 2 pass classes"),
    ],
    ids=["argument", "class", "lit", "none", "two"],
)
def test_checker_rejects(source: str, lit_tests: set[str], reason: str) -> None:
    assert any(reason in problem for problem in disagreements("fuse_vertical", source, lit_tests))


def test_what_names_no_pass_is_none(tmp_path: Path) -> None:
    (tmp_path / "fusion").mkdir()
    for stem, text in (("manager", ""), ("fusion/names", 'NAME = "names"'), ("fusion/fuse_vertical", GOOD)):
        (tmp_path / f"{stem}.py").write_text(text)
    assert [path.stem for path in pass_files(tmp_path)] == ["fuse_vertical"]
