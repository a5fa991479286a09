"""Whose files the cache reads: of their user alone, but for a folder that the user calls shared."""

import os
import stat
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from cached_files import KEYS, files, read

from fuse_mlir.compiler.runtime.cache.cache_contents import MARKER
from fuse_mlir.compiler.runtime.cache.cache_folder import CacheFolder
from fuse_mlir.compiler.runtime.cache.owned_files import distrust


@pytest.mark.parametrize(
    ("owner", "mode", "problem"),
    [
        (7, 0o700, None),
        (7, 0o755, None),
        (7, 0o1755, None),
        (7, 0o720, "may be written by other users (its mode is 0720)"),
        (7, 0o702, "may be written by other users (its mode is 0702)"),
        (7, 0o1777, "may be written by other users (its mode is 1777)"),
        (8, 0o700, "belongs to user 8 and not to user 7"),
        (0, 0o700, "belongs to user 0 and not to user 7"),
    ],
)
def test_who_may_have_written_a_file(owner: int, mode: int, problem: str | None) -> None:
    status: Any = SimpleNamespace(st_uid=owner, st_mode=stat.S_IFREG | mode)
    assert distrust(status, 7) == problem


def test_what_is_made_is_the_users_alone(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        folder = CacheFolder(tmp_path / "a" / "cache")
        folder.write(KEYS[0], b"abc")
    finally:
        os.umask(before)
    modes = {p.name: stat.S_IMODE(p.stat().st_mode) for p in (tmp_path / "a" / "cache").rglob("*")}
    assert stat.S_IMODE((tmp_path / "a" / "cache").stat().st_mode) == 0o700
    assert modes == {"00": 0o700, f"{KEYS[0]}.kernel": 0o600, MARKER: 0o600, ".pruned": 0o600}


@pytest.mark.parametrize("mode", [0o777, 0o770, 0o722, 0o707, 0o1777])
def test_a_folder_that_others_may_write_is_not_used(mode: int, tmp_path: Path, told: Any) -> None:
    folder = CacheFolder(tmp_path)
    folder.write(KEYS[0], b"abc")
    before = files(tmp_path)
    tmp_path.chmod(mode)
    assert read(folder, KEYS[0]) is None
    folder.write(KEYS[1], b"abc")
    assert read(folder, KEYS[1]) is None
    tmp_path.chmod(0o755)
    assert files(tmp_path) == before and read(folder, KEYS[0]) == b"abc"
    [line] = told()
    assert f"the cache {tmp_path} may be written by other users (its mode is {mode:04o})" in line
    assert "give the option cache_dir a folder of your own" in line


def test_a_folder_of_another_user_is_not_used(tmp_path: Path, monkeypatch: Any, told: Any) -> None:
    folder = CacheFolder(tmp_path)
    folder.write(KEYS[0], b"abc")
    before = files(tmp_path)
    me = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: me + 1)
    assert read(folder, KEYS[0]) is None
    folder.write(KEYS[1], b"abc")
    assert files(tmp_path) == before
    [line] = told()
    assert f"belongs to user {me} and not to user {me + 1}" in line


@pytest.mark.parametrize("what", ["the entry", "its folder"])
def test_an_entry_that_others_may_write_is_made_again(what: str, tmp_path: Path, told: Any) -> None:
    folder = CacheFolder(tmp_path)
    folder.write(KEYS[0], b"abc")
    path = folder.path(KEYS[0])
    (path if what == "the entry" else path.parent).chmod(0o770)
    assert read(folder, KEYS[0]) is None and read(folder, KEYS[0]) is None
    [line] = told()
    assert f"{path}, or its folder, may be written by other users (its mode is 0770): it is not used" in line
    folder.write(KEYS[0], b"new")
    assert read(folder, KEYS[0]) == (b"new" if what == "the entry" else None)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give files away")
def test_an_entry_of_another_user_is_made_again(tmp_path: Path, told: Any) -> None:
    folder = CacheFolder(tmp_path)
    folder.write(KEYS[0], b"abc")
    os.chown(folder.path(KEYS[0]), 12345, -1)
    assert read(folder, KEYS[0]) is None and "belongs to user 12345 and not to user 0" in told()[0]


# ---- what cannot be used -----------------------------------------------------------------------------------


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written_is_left_alone(tmp_path: Path, told: Any) -> None:
    folder = CacheFolder(tmp_path)
    tmp_path.chmod(stat.S_IRUSR | stat.S_IXUSR)
    folder.write(KEYS[0], b"abc")
    tmp_path.chmod(stat.S_IRWXU)
    assert read(folder, KEYS[0]) is None and list(tmp_path.iterdir()) == []
    assert told() == [f"the cache {tmp_path} cannot be written: Permission denied"]


def test_a_full_disk_is_told_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, told: Any) -> None:
    folder = CacheFolder(tmp_path)
    folder.write(KEYS[0], b"abc")
    before = files(tmp_path)

    def full(*_: Any, **__: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    folder.write(KEYS[1], b"abc")
    folder.write(KEYS[2], b"abc")
    assert files(tmp_path) == before and read(folder, KEYS[0]) == b"abc"
    assert told() == [f"the cache {tmp_path} cannot be written: No space left on device"]


def test_a_file_where_the_folder_should_be_is_left_alone(tmp_path: Path, told: Any) -> None:
    (tmp_path / "file").write_text("mine")
    folder = CacheFolder(tmp_path / "file")
    folder.write(KEYS[0], b"abc")
    assert read(folder, KEYS[0]) is None and (tmp_path / "file").read_text() == "mine"
    assert any("cannot be written: File exists" in line for line in told()) and len(told()) == 2


def test_a_folder_where_an_entry_should_be_is_a_miss(tmp_path: Path, told: Any) -> None:
    folder = CacheFolder(tmp_path)
    folder.path(KEYS[0]).mkdir(parents=True)
    (tmp_path / MARKER).write_bytes(b"# fuse-mlir: this folder holds compiled programs;")
    assert read(folder, KEYS[0]) is None
    folder.write(KEYS[0], b"abc")
    assert len(told()) == 2 and folder.path(KEYS[0]).is_dir()


# ---- a second folder, to read ------------------------------------------------------------------------------


def test_a_shared_folder_is_read_whoever_owns_it_and_never_written(tmp_path: Path, told: Any) -> None:
    shared = CacheFolder(tmp_path / "shared")
    shared.write(KEYS[0], b"shared")
    shared.write(KEYS[1], b"shared")
    for path in (tmp_path / "shared").rglob("*"):
        os.utime(path, (1000.0, 1000.0))
        path.chmod(0o777)
    (tmp_path / "shared").chmod(0o777)
    folder = CacheFolder(tmp_path / "own", shared=tmp_path / "shared", limit=1)
    folder.write(KEYS[1], b"own")
    folder = CacheFolder(tmp_path / "own", shared=tmp_path / "shared")
    folder.write(KEYS[1], b"own")
    assert [read(folder, key) for key in KEYS[:3]] == [b"shared", b"own", None]
    folder.prune()
    assert {p.stat().st_mtime for p in (tmp_path / "shared").rglob("*")} == {1000.0} and told() == []
    assert files(tmp_path / "own") == sorted([f"01/{KEYS[1]}.kernel", MARKER, ".pruned"])


def test_a_shared_folder_is_read_without_following_links(tmp_path: Path, told: Any) -> None:
    CacheFolder(tmp_path / "elsewhere").write(KEYS[0], b"abc")
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared" / "00").symlink_to(tmp_path / "elsewhere" / "00")
    assert read(CacheFolder(None, shared=tmp_path / "shared"), KEYS[0]) is None
    assert "is a link" in told()[0]


def test_a_shared_folder_that_is_gone_is_told_once(tmp_path: Path, told: Any) -> None:
    folder = CacheFolder(tmp_path / "own", shared=tmp_path / "gone")
    assert read(folder, KEYS[0]) is None and read(folder, KEYS[1]) is None
    assert told() == [f"the shared cache {tmp_path / 'gone'} does not exist"]
    assert not (tmp_path / "gone").exists()
