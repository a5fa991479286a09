"""What is said of versions: once, in one sentence, and the same in the package's metadata and pages."""

import logging
import re
import tomllib

import pytest
from repository import ROOT

from fuse_mlir.compiler.base import versions
from fuse_mlir.compiler.base.versions import SUPPORTED, note_versions, outside


@pytest.mark.parametrize(
    "name, version, said",
    [
        (
            "torch",
            "2.16.0+cu132",
            "torch 2.16.0+cu132 is newer than 2.15, the newest that was tested: going on",
        ),
        ("torch", "3.0.0", "torch 3.0.0 is newer than 2.15, the newest that was tested: going on"),
        ("torch", "2.9.1", "torch 2.9.1 is older than 2.11, the oldest that was tested: going on"),
        ("Triton", "3.10.0", "Triton 3.10.0 is newer than 3.9, the newest that was tested: going on"),
        ("Python", "3.14.0rc1", "Python 3.14.0rc1 is newer than 3.13, the newest that was tested: going on"),
        ("torch", "2.11.0", None),
        ("torch", "2.15.3a0+git1234", None),
        ("Triton", "3.9.0", None),
        ("torch", "unknown", None),
    ],
)
def test_a_version_outside_is_named(name: str, version: str, said: str | None) -> None:
    assert list(outside(name, version)) == ([] if said is None else [said])


def test_it_is_said_once(monkeypatch, caplog) -> None:
    monkeypatch.setitem(SUPPORTED, "torch", ((1, 0), (1, 1)))
    note_versions.cache_clear()
    try:
        with caplog.at_level(logging.WARNING, versions.__name__):
            note_versions()
            note_versions()
    finally:
        note_versions.cache_clear()
    assert len([r for r in caplog.records if r.getMessage().startswith("torch ")]) == 1


def test_the_backend_says_it(monkeypatch) -> None:
    import torch

    import fuse_mlir
    from fuse_mlir.compiler import backend

    called = []
    monkeypatch.setattr(backend, "note_versions", lambda: called.append(True))
    assert torch.compile(lambda x: x + 1, backend=fuse_mlir.backend)(torch.zeros(2)).tolist() == [1, 1]
    assert called


def test_pages_and_metadata_say_the_same() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    (first, oldest), (last, newest) = SUPPORTED["Python"]
    assert (first, last) == (3, 3) and project["requires-python"] == f">=3.{oldest}"
    wanted = [f"Programming Language :: Python :: 3.{minor}" for minor in range(oldest, newest + 1)]
    assert [c for c in project["classifiers"] if re.search(r"Python :: 3\.", c)] == wanted
    for package, name in (("torch", "torch"), ("triton", "Triton")):
        lowest = ".".join(map(str, SUPPORTED[name][0]))
        assert any(d.startswith(f"{package}>={lowest}") for d in project["dependencies"])
    for page in ("README.md", "docs/versions.md"):
        rows: dict[str, str] = {}
        for line in (ROOT / page).read_text(encoding="utf-8").splitlines():
            name, _, cells = line.strip("|").partition("|")
            rows.setdefault(name.strip(), cells)
        for name, bounds in SUPPORTED.items():
            said = " ".join(re.findall(r"\d+\.\d+", rows[name])[:2])
            assert said == " ".join(".".join(map(str, version)) for version in bounds), f"{page}: {name}"
