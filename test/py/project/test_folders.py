"""A folder of tests is named after the package that it tests; the others are named here."""

from repository import ROOT

TESTS = ROOT / "test" / "py"
#: helpers: what tests import; programs: whole programs, all levels; gpu: what needs a device; project: docs,
#: layout and rules for files.
OTHERS = {"helpers", "programs", "gpu", "project"}


def test_folders_mirror_the_packages():
    folders = {
        path.parent.relative_to(TESTS).as_posix()
        for path in TESTS.rglob("*.py")
        if not path.is_relative_to(TESTS / "helpers") and path.parent != TESTS
    }
    unknown = {
        name
        for name in folders - OTHERS
        if not any((ROOT / top / name / "__init__.py").is_file() for top in ("", "compiler"))
    }
    assert not unknown
    assert [p.name for p in TESTS.glob("*.py")] == ["conftest.py"]
