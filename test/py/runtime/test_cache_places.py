"""Where the cache is: options, the environment, a user without a home; a folder of others is an error."""

import os
import pwd
from pathlib import Path
from typing import Any

import pytest
import torch
from cached_files import KEYS, damage, files
from made_up_gpu import made_up_gpu
from stored_programs import compiled, entries

import fuse_mlir
from fuse_mlir.compiler.base.options import OptionError, Options
from fuse_mlir.compiler.runtime.cache import places
from fuse_mlir.compiler.runtime.cache.cache_folder import CacheFolder
from fuse_mlir.compiler.runtime.cache.places import (
    cache_directory,
    cache_folder,
    check_cache_dir,
    default_directory,
)

VARIABLES = ("FUSE_MLIR_CACHE", "FUSE_MLIR_CACHE_DIR", "XDG_CACHE_HOME", "HOME", "TMPDIR")


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """One that says nothing of folders, of a user that the system does not know."""
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)

    def unknown(user: int) -> Any:
        raise KeyError(f"getpwuid(): uid not found: {user}")

    monkeypatch.setattr(pwd, "getpwuid", unknown)
    return monkeypatch


# ---- where it is -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("variables", "place"),
    [
        ({"HOME": "/home/me"}, "/home/me/.cache/fuse_mlir"),
        ({"HOME": "/home/me", "XDG_CACHE_HOME": "/fast"}, "/fast/fuse_mlir"),
        ({"HOME": "/home/me", "XDG_CACHE_HOME": ""}, "/home/me/.cache/fuse_mlir"),
        ({"HOME": "/home/me", "XDG_CACHE_HOME": "here"}, "/home/me/.cache/fuse_mlir"),
        ({"XDG_CACHE_HOME": "/fast"}, "/fast/fuse_mlir"),
        ({"TMPDIR": "/scratch"}, f"/scratch/fuse_mlir-{os.geteuid()}"),
        ({}, f"/tmp/fuse_mlir-{os.geteuid()}"),
        ({"HOME": "me"}, f"/tmp/fuse_mlir-{os.geteuid()}"),
    ],
)
def test_the_default_folder(variables: dict[str, str], place: str, environment: pytest.MonkeyPatch) -> None:
    for name, value in variables.items():
        environment.setenv(name, value)
    assert default_directory() == Path(place) == cache_directory(Options.of({}))


def test_an_option_goes_before_the_environment(environment: pytest.MonkeyPatch) -> None:
    environment.setenv("XDG_CACHE_HOME", "/fast")
    environment.setenv("FUSE_MLIR_CACHE_DIR", "/named")
    assert cache_directory(Options.of({})) == Path("/named")
    assert cache_directory(Options.of({"cache_dir": "/given"})) == Path("/given")
    assert cache_directory(Options.of({"cache_dir": None})) == Path("/fast/fuse_mlir")
    environment.setenv("FUSE_MLIR_CACHE_DIR", "")
    assert cache_directory(Options.of({})) == Path("/fast/fuse_mlir")


def test_caches_are_switched_off_by_an_option_or_the_environment(environment: pytest.MonkeyPatch) -> None:
    environment.setenv("XDG_CACHE_HOME", "/fast")
    on = cache_folder(Options.of({"shared_cache_dir": "/all"}), ".tile")
    assert (on.directory, on.suffix, on.shared) == (Path("/fast/fuse_mlir"), ".tile", Path("/all"))
    off = cache_folder(Options.of({"cache": False, "shared_cache_dir": "/all"}), ".tile")
    assert (off.directory, off.suffix, off.shared) == (None, ".tile", None)
    environment.setenv("FUSE_MLIR_CACHE", "off")
    assert not Options.of({}).cache and Options.of({"cache": True}).cache
    environment.setenv("FUSE_MLIR_CACHE", "on")
    assert Options.of({}).cache
    environment.setenv("FUSE_MLIR_CACHE", "0")
    with pytest.raises(OptionError, match="FUSE_MLIR_CACHE is '0': expected on or off"):
        Options.of({})


@pytest.mark.parametrize("option", ["cache", "cache_dir", "shared_cache_dir"])
def test_where_programs_are_stored_changes_none(option: str) -> None:
    value = False if option == "cache" else "/elsewhere"
    assert Options.of({option: value}).text() == Options.of({}).text()


# ---- a folder of others ------------------------------------------------------------------------------------


def double(x: torch.Tensor) -> torch.Tensor:
    return x * 2


def test_the_current_folder_with_a_thesis_is_no_cache(tmp_path: Path, monkeypatch: Any) -> None:
    """The error comes before anything is compiled, also where nothing would be stored."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "thesis.tex").write_text("mine")
    torch._dynamo.reset()
    call = torch.compile(double, backend=fuse_mlir.backend, options={"cache_dir": "."})
    with pytest.raises(Exception, match="option 'cache_dir'") as raised:
        call(torch.ones(3))
    told = f"option 'cache_dir': {tmp_path} holds what the cache did not write (data): name a folder that is"
    assert told in str(raised.value)
    assert files(tmp_path) == ["data/thesis.tex"]


@pytest.mark.parametrize("name", [".", "", "file"])
def test_what_is_no_folder_for_the_cache_is_an_error(name: str, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("mine")
    with pytest.raises(OptionError, match=r"\(file\)|file is no folder"):
        check_cache_dir(Options(cache_dir=name))
    check_cache_dir(Options(cache_dir=name, cache=False))
    monkeypatch.setenv("FUSE_MLIR_CACHE_DIR", name or ".")
    with pytest.raises(OptionError, match="option 'cache_dir'"):
        check_cache_dir(Options())
    assert files(tmp_path) == ["file"]


def test_a_folder_for_the_cache_is_none(tmp_path: Path) -> None:
    check_cache_dir(Options(cache_dir=tmp_path))
    check_cache_dir(Options(cache_dir=tmp_path / "new"))
    CacheFolder(tmp_path).write(KEYS[0], b"abc")
    (tmp_path / "notes.txt").write_text("beside a marker")
    check_cache_dir(Options(cache_dir=tmp_path))
    (tmp_path / "open").mkdir()
    (tmp_path / "open" / "file").touch()
    (tmp_path / "open").chmod(0o777)
    check_cache_dir(Options(cache_dir=tmp_path / "open"))  # a line in the log says so when it is used
    assert sorted(os.listdir(tmp_path / "open")) == ["file"]


# ---- compilations ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("why", ["files of others", "writable by others", "no folder"])
def test_a_default_folder_of_no_use_breaks_nothing(
    why: str, tmp_path: Path, environment: pytest.MonkeyPatch, told: Any
) -> None:
    environment.setenv("XDG_CACHE_HOME", str(tmp_path))
    place = tmp_path / "fuse_mlir"
    if why == "no folder":
        place.write_text("mine")
    else:
        place.mkdir()
        (place / "thesis.tex").write_text("mine")
        place.chmod(0o777 if why == "writable by others" else 0o700)
    before = files(tmp_path)
    for _ in range(2):
        assert not compiled(tmp_path, cache_dir=None).cached
    assert files(tmp_path) == before
    lines = [line for line in told() if "the cache" in line]
    assert len(lines) == (2 if why == "no folder" else 1), lines  # it cannot be read, it cannot be written


def test_without_caches_nothing_is_read_or_stored(tmp_path: Path, monkeypatch: Any) -> None:
    compiled(tmp_path)
    before = files(tmp_path)
    for path in entries(tmp_path, ".kernel"):
        damage(path)  # whoever read it would say so
    monkeypatch.setattr(places.CacheFolder, "_bytes", None)  # and nobody does
    assert not compiled(tmp_path, cache=False).cached
    assert files(tmp_path) == before


def test_a_program_comes_from_a_shared_folder(tmp_path: Path, told: Any) -> None:
    shared, own = tmp_path / "shared", tmp_path / "own"
    compiled(shared)
    shared.chmod(0o777)
    before = {p: p.stat().st_mtime_ns for p in shared.rglob("*")}
    assert compiled(own, shared_cache_dir=str(shared)).cached
    assert {p: p.stat().st_mtime_ns for p in shared.rglob("*")} == before and not own.exists()
    assert told() == []
    assert not compiled(own).cached


def test_the_folder_of_a_compilation_is_the_users_alone(tmp_path: Path) -> None:
    with made_up_gpu():
        compiled(tmp_path / "cache")
    modes = {oct(p.stat().st_mode & 0o777) for p in [tmp_path / "cache", *(tmp_path / "cache").rglob("*")]}
    assert modes == {"0o700", "0o600"}
