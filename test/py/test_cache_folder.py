"""Folders of cached files: whole entries, what is deleted when there are too many, folders of others."""

import os
import stat
import threading
from pathlib import Path

import pytest

from fuse_mlir.compiler.runtime.cache_folder import CacheFolder

KEYS = [f"{i:02x}{'0' * 62}" for i in range(4)]


def test_what_is_written_is_read(tmp_path: Path) -> None:
    folder = CacheFolder(tmp_path / "made")
    assert folder.read(KEYS[0]) is None
    folder.write(KEYS[0], b"abc")
    folder.write(KEYS[0], b"abcd")
    assert folder.read(KEYS[0]) == b"abcd"
    assert CacheFolder(tmp_path / "made", ".other").read(KEYS[0]) is None


def test_readers_see_whole_entries(tmp_path: Path) -> None:
    folder = CacheFolder(tmp_path)
    contents = {bytes([n]) * 100_000 for n in range(4)}
    writers = [
        threading.Thread(target=lambda c=c: [folder.write(KEYS[0], c) for _ in range(20)]) for c in contents
    ]
    for writer in writers:
        writer.start()
    seen = {folder.read(KEYS[0]) for _ in range(200)} - {None}
    for writer in writers:
        writer.join()
    assert seen <= contents and folder.read(KEYS[0]) in contents
    assert [p.name for p in tmp_path.rglob("*.tmp")] == []


def test_what_was_not_used_for_longest_is_deleted(tmp_path: Path) -> None:
    folder = CacheFolder(tmp_path, limit=250)
    for age, key in enumerate(reversed(KEYS)):
        folder.write(key, bytes(100))
        os.utime(folder.path(key), (1000.0 - age, 1000.0 - age))
    folder.read(KEYS[3])  # the youngest is used, and so is this, the oldest
    os.utime(folder.path(KEYS[0]), (2000.0, 2000.0))
    assert folder.prune() == 2
    assert [folder.read(key) is not None for key in KEYS] == [True, False, False, True]
    assert folder.prune() == 0


def test_pruning_is_due_once_a_day(tmp_path: Path) -> None:
    folder = CacheFolder(tmp_path, limit=50)
    folder.write(KEYS[0], bytes(100))  # the first write finds the folder too large
    assert folder.read(KEYS[0]) is None
    folder.write(KEYS[1], bytes(100))
    assert folder.read(KEYS[1]) is not None
    os.utime(tmp_path / ".pruned", (1000.0, 1000.0))
    folder.write(KEYS[2], bytes(100))
    assert folder.read(KEYS[2]) is None


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_of_others_is_left_alone(tmp_path: Path) -> None:
    folder = CacheFolder(tmp_path)
    tmp_path.chmod(stat.S_IRUSR | stat.S_IXUSR)
    folder.write(KEYS[0], b"abc")
    tmp_path.chmod(stat.S_IRWXU)
    assert folder.read(KEYS[0]) is None and list(tmp_path.iterdir()) == []


def test_a_file_where_the_folder_should_be_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    folder = CacheFolder(tmp_path / "file")
    folder.write(KEYS[0], b"abc")
    assert folder.read(KEYS[0]) is None and (tmp_path / "file").read_text() == "mine"
