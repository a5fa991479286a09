"""``python -m fuse_mlir.cache``: lists, sizes and deletes what is ours."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from cached_files import KEYS, files

from fuse_mlir.compiler.runtime.cache.cache_contents import MARKER
from fuse_mlir.compiler.runtime.cache.cache_folder import CacheFolder
from fuse_mlir.tools import _cache


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    """The exit code, and what was written to stdout and stderr."""
    try:
        code = _cache.main(list(arguments))
    except SystemExit as stopped:  # argparse
        code = int(str(stopped.code))
    said = capsys.readouterr()
    return code, said.out, said.err


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder that the environment names, with three entries and a file of somebody's."""
    place = tmp_path / "cache"
    CacheFolder(place).write(KEYS[0], bytes(1 << 20))
    CacheFolder(place).write(KEYS[1], bytes(5 << 19))
    CacheFolder(place, ".tile").write(KEYS[1], b"")
    for number, path in enumerate(sorted(place.glob("??/*"))):
        os.utime(path, (1e9 + number, 1e9 + number))
    (place / "thesis.tex").write_text("mine")
    monkeypatch.setenv("FUSE_MLIR_CACHE_DIR", str(place))
    return place


def test_it_says_how_much_there_is(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys)
    assert (code, err) == (0, "")
    first, *rest = out.splitlines()
    assert first == f"{folder}: 3 files, 3.5 MiB"
    assert rest == [
        "       2 .kernel       3.5 MiB  kernels",
        "       1 .tile           113 B  measured tiles and configurations",
    ]
    assert run(capsys, "size", "--cache-dir", str(folder)) == (0, out, "")


def test_it_lists_entries_the_latest_first(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "list")
    assert (code, err) == (0, "")
    assert [line.split()[-1] for line in out.splitlines()] == [
        f"01/{KEYS[1]}.tile",
        f"01/{KEYS[1]}.kernel",
        f"00/{KEYS[0]}.kernel",
    ]
    assert out.splitlines()[0].startswith("2001-09-") and " 113 01/" in out.splitlines()[0]


def test_it_clears_what_is_ours(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "00" / f"{KEYS[2]}.kernel").write_text("in the wrong folder")
    (folder / "00" / f"{KEYS[0]}.tile").touch()
    assert run(capsys, "clear") == (0, f"{folder}: deleted 4 files, 3.5 MiB\n", "")
    assert files(folder) == sorted([".pruned", f"00/{KEYS[2]}.kernel", MARKER, "thesis.tex"])
    assert run(capsys, "clear")[1].endswith("deleted 0 files, 0 B\n")


def test_it_clears_no_folder_of_others(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "data").mkdir()
    path = tmp_path / "00" / f"{KEYS[0]}.kernel"
    path.parent.mkdir()
    path.touch()
    code, out, err = run(capsys, "clear", "--cache-dir", str(tmp_path))
    assert (code, out) == (1, "") and path.exists()
    assert err == (
        f"fuse_mlir.cache: error: {tmp_path} is no folder of the cache: it holds what the cache did not "
        "write (data)\n"
    )


def test_a_folder_that_cannot_be_used(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "--cache-dir", str(tmp_path / "none")) == (
        0,
        f"{tmp_path / 'none'} does not exist: nothing was stored yet\n",
        "",
    )
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    code, out, err = run(capsys, "--cache-dir", str(tmp_path / "open"))
    assert (code, out) == (1, "") and "may be written by other users" in err
    (tmp_path / "file").touch()
    assert run(capsys, "--cache-dir", str(tmp_path / "file"))[2].endswith("file: Not a directory\n")
    assert run(capsys, "delete")[0] == 2


def test_the_environment_is_read_as_by_a_compilation(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FUSE_MLIR_CACHE", "maybe")
    assert run(capsys) == (
        2,
        "",
        "fuse_mlir.cache: error: FUSE_MLIR_CACHE is 'maybe': expected on or off\n",
    )


def test_it_is_a_module(folder: Path) -> None:
    paths = os.environ | {"PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    ran = subprocess.run(
        [sys.executable, "-m", "fuse_mlir.cache", "list"], capture_output=True, text=True, env=paths
    )
    assert (ran.returncode, len(ran.stdout.splitlines()), ran.stderr) == (0, 3, "")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["prov", "script.py"], "(choose from 'size', 'list', 'clear', 'prove')"),
        (["--cache-dir", "c", "prove"], "prove comes first, and a script behind it: prove [--all] SCRIPT"),
    ],
)
def test_what_is_misspelt_is_told_what_there_is(
    words: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, said = run(capsys, *words)
    assert (code, out) == (2, "") and sentence in said
