"""docs/features.md: every system is there, and every case of it names tests that exist."""

import re
from pathlib import Path

import pytest
from repository import ROOT

PAGE = ROOT / "docs" / "features.md"
#: By the letter of a system: how many there are.
SYSTEMS = {"F": 4, "S": 16, "C": 4, "G": 6, "U": 3, "R": 5, "N": 5}


def cases(text: str) -> dict[str, list[tuple[str, list[str]]]]:
    """For each system ("F1"), its cases: what they say, and the tests that they name."""
    found: dict[str, list[tuple[str, list[str]]]] = {}
    for section in re.split(r"^### ", text, flags=re.M)[1:]:
        system = section.partition(":")[0]
        assert system not in found, f"{system} is there twice"
        rows = re.findall(r"^\| (?!case \|)(.*?) \| (.*) \|$", section, re.M)
        found[system] = [(case.strip(), re.findall(r"`([^`]+)`", tests)) for case, tests in rows]
    return found


def defines(file: Path, name: str) -> bool:
    """Whether a file of tests defines a test."""
    text = file.read_text(encoding="utf-8")
    return name.startswith("test_") and re.search(rf"^def {name}\(", text, re.M) is not None


def missing(tests: list[str]) -> list[str]:
    """Those that are no file of lit, nor a test of a file of Python."""
    wrong = []
    for test in tests:
        path, _, name = test.partition("::")
        file = ROOT / path
        lit = path.startswith("test/lit/") and file.suffix == ".mlir" and not name
        python = path.startswith("test/py/") and file.suffix == ".py" and name
        if not (file.is_file() and (lit or (python and defines(file, name)))):
            wrong.append(test)
    return wrong


CASES = cases(PAGE.read_text(encoding="utf-8"))


def test_every_system_is_there_in_order():
    assert list(CASES) == [f"{letter}{n}" for letter, count in SYSTEMS.items() for n in range(1, count + 1)]


@pytest.mark.parametrize("system", CASES)
def test_every_case_names_tests_that_exist(system):
    assert CASES[system], f"{system} has no case"
    assert [case for case, tests in CASES[system] if not case or not tests] == []
    assert missing([test for _, tests in CASES[system] for test in tests]) == []


def test_what_is_wrong_is_found():
    here = "test/py/project/test_features.py"
    right = [f"{here}::test_what_is_wrong_is_found", "test/lit/passes/plan-memory.mlir"]
    wrong = [
        here,
        f"{here}::test_no_such_test",
        f"{here}::missing",
        f"{here}::test_what_is_wrong",
        "test/lit/passes/no-such-file.mlir",
        "test/lit/passes/plan-memory.mlir::test_x",
        "docs/features.md",
    ]
    assert missing([*right, *wrong]) == wrong
    text = "### F1: a\n| case | tests |\n|---|---|\n| one | `a`, `b` |\n| two |  |\n### F2: b\n"
    assert cases(text) == {"F1": [("one", ["a", "b"]), ("two", [])], "F2": []}
