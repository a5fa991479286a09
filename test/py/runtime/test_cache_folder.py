"""Folders of cached files: whole entries, what is deleted when there are too many, what is never touched."""

import os
import threading
from pathlib import Path
from typing import Any

import pytest
from cached_files import KEYS, files, read

from fuse_mlir.compiler.base.options import Options
from fuse_mlir.compiler.runtime.cache.cache_contents import MARKER, SUFFIXES
from fuse_mlir.compiler.runtime.cache.cache_folder import CacheFolder
from fuse_mlir.compiler.runtime.cache.entry_bytes import to_entry
from fuse_mlir.compiler.runtime.cache.places import check_cache_dir

ENTRY_BYTES = len(to_entry(f"{KEYS[0]}.kernel", b""))


# ---- entries -----------------------------------------------------------------------------------------------


def test_what_is_written_is_read(tmp_path: Path) -> None:
    folder = CacheFolder(tmp_path / "made")
    assert read(folder, KEYS[0]) is None
    folder.write(KEYS[0], b"abc")
    folder.write(KEYS[0], b"abcd")
    assert read(folder, KEYS[0]) == b"abcd"
    assert read(CacheFolder(tmp_path / "made", ".tile"), KEYS[0]) is None


def test_only_known_suffixes_are_stored(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"entries end in \.captured, \.facts, \.fusion, \.kernel"):
        CacheFolder(tmp_path, ".other")


@pytest.mark.parametrize("key", ["ab", "../" + "0" * 61, "AB" + "0" * 62, "0" * 65, "0" * 63 + "\n"])
def test_a_name_that_no_entry_has_is_not_looked_up(key: str, tmp_path: Path, told: Any) -> None:
    folder = CacheFolder(tmp_path / "cache")
    (tmp_path / "cache").mkdir()
    folder.path(key).parent.mkdir(exist_ok=True, mode=0o700)
    folder.path(key).write_bytes(to_entry(f"{key}.kernel", b"abc"))
    assert read(folder, key) is None and read(folder, None) is None and told() == []  # type: ignore[arg-type]


def test_readers_see_whole_entries(tmp_path: Path) -> None:
    folder = CacheFolder(tmp_path)
    contents = {bytes([n]) * 100_000 for n in range(4)}
    writers = [
        threading.Thread(target=lambda c=c: [folder.write(KEYS[0], c) for _ in range(20)]) for c in contents
    ]
    for writer in writers:
        writer.start()
    seen = {read(folder, KEYS[0]) for _ in range(200)} - {None}
    for writer in writers:
        writer.join()
    assert seen <= contents and read(folder, KEYS[0]) in contents
    assert [p.name for p in tmp_path.rglob("*.tmp")] == []


def test_reading_writing_and_deleting_at_once(tmp_path: Path, told: Any) -> None:
    """Entries are whole or absent, whoever deletes meanwhile; several find the folder empty and adopt it."""
    folder = CacheFolder(tmp_path, limit=1000)
    body = {key: key.encode() * 4 for key in KEYS}
    wrong: list[Any] = []

    def work(turn: int) -> None:
        try:
            for number in range(40):
                key = KEYS[(number + turn) % 4]
                if turn % 3 == 0:
                    folder.prune()
                elif turn % 3 == 1:
                    folder.write(key, body[key])
                found = read(folder, key)
                if found not in (None, body[key]):
                    wrong.append(found)
        except BaseException as error:
            wrong.append(error)

    workers = [threading.Thread(target=work, args=(turn,)) for turn in range(6)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert wrong == [] and told() == []
    left = files(tmp_path)
    assert MARKER in left and not any(name.endswith(".tmp") for name in left)


def test_an_interrupted_writer_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = CacheFolder(tmp_path)
    folder.write(KEYS[0], b"abc")
    before = files(tmp_path)

    def interrupt(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", interrupt)
    with pytest.raises(KeyboardInterrupt):
        folder.write(KEYS[0], b"def")
    assert files(tmp_path) == before and read(folder, KEYS[0]) == b"abc"


def test_a_folder_that_is_none_stores_nothing(tmp_path: Path) -> None:
    folder = CacheFolder(None)
    folder.write(KEYS[0], b"abc")
    assert read(folder, KEYS[0]) is None and folder.prune() == 0
    with pytest.raises(ValueError, match="stores nothing"):
        folder.path(KEYS[0])


# ---- what is deleted ---------------------------------------------------------------------------------------


def test_what_was_not_used_for_longest_is_deleted(tmp_path: Path) -> None:
    folder = CacheFolder(tmp_path, limit=250 + 2 * ENTRY_BYTES)
    for age, key in enumerate(reversed(KEYS)):
        folder.write(key, bytes(100))
        os.utime(folder.path(key), (1000.0 - age, 1000.0 - age))
    read(folder, KEYS[3])  # the youngest is used, and so is this, the oldest
    os.utime(folder.path(KEYS[0]), (2000.0, 2000.0))
    assert folder.prune() == 2
    assert [read(folder, key) is not None for key in KEYS] == [True, False, False, True]
    assert folder.prune() == 0


def test_what_fits_exactly_stays(tmp_path: Path) -> None:
    folder = CacheFolder(tmp_path, limit=2 * (100 + ENTRY_BYTES))
    for key in KEYS[:2]:
        folder.write(key, bytes(100))
    assert folder.prune() == 0


def test_pruning_is_due_once_a_day(tmp_path: Path) -> None:
    folder = CacheFolder(tmp_path, limit=50)
    folder.write(KEYS[0], bytes(100))  # the first write finds the folder too large
    assert read(folder, KEYS[0]) is None
    folder.write(KEYS[1], bytes(100))
    assert read(folder, KEYS[1]) is not None
    os.utime(tmp_path / ".pruned", (1000.0, 1000.0))
    folder.write(KEYS[2], bytes(100))
    assert read(folder, KEYS[2]) is None


def almost_ours(folder: Path) -> list[Path]:
    """Files whose names differ from those of ours in one thing each."""
    hex64 = "ab" + "0" * 62
    names = [
        f"ab/{hex64}.pt",
        f"ab/{hex64}.kernels",
        f"ab/{hex64}",
        f"ab/{hex64[:-1]}.kernel",
        f"ab/{hex64}0.kernel",
        f"ab/cd{hex64[2:]}.kernel",
        f"ab/{hex64[:-1]}g.kernel",
        f"ab/.{hex64}.kernel.tmp",
        f"ab/.{hex64}.pt.0123456789abcdef.tmp",
        f"ab/nested/{hex64}.kernel",
        f"a/{hex64}.kernel",
        f"ab0/{hex64}.kernel",
        f"xy/xy{hex64[2:]}.kernel",
        f"cd/cd{hex64[2:]}.kernel/data",
        f"{hex64}.kernel",
        "thesis.tex",
        "data/train.bin",
    ]
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(bytes(1000))
        os.utime(folder / name, (1000.0, 1000.0))
    return [folder / name for name in names]


def test_nothing_with_another_name_is_deleted(tmp_path: Path) -> None:
    folder = CacheFolder(tmp_path, limit=1)
    folder.write(KEYS[0], b"abc")  # ours from now on
    foreign = almost_ours(tmp_path)
    folder.write(KEYS[1], b"abc")
    assert folder.prune() == 1
    assert all(path.stat().st_size == 1000 for path in foreign)


@pytest.mark.parametrize("number", range(17))
def test_a_folder_with_a_file_of_others_is_refused(number: int, tmp_path: Path, told: Any) -> None:
    path = almost_ours(tmp_path / "elsewhere")[number]
    path = tmp_path / "cache" / path.relative_to(tmp_path / "elsewhere")
    path.parent.mkdir(parents=True)
    path.write_text("mine")
    folder = CacheFolder(tmp_path / "cache", limit=1)
    folder.write(KEYS[0], b"abc")
    folder.write(KEYS[1], b"abc")
    assert folder.prune() == 0 and read(folder, KEYS[0]) is None
    assert [tmp_path / "cache" / name for name in files(tmp_path / "cache")] == [path]
    assert path.read_text() == "mine"
    [line] = told()
    assert f"the cache {tmp_path / 'cache'} is not used: it holds what the cache did not write (" in line


def test_where_somebody_has_a_file_not_even_our_names_are_deleted(tmp_path: Path) -> None:
    folder = CacheFolder(tmp_path, limit=-1)
    folder.path(KEYS[0]).parent.mkdir()
    folder.path(KEYS[0]).write_text("mine")
    (tmp_path / "thesis.tex").write_text("mine")
    assert folder.prune() == 0
    (tmp_path / "thesis.tex").unlink()
    assert folder.prune() == 1


def test_a_folder_of_files_with_our_names_is_adopted(tmp_path: Path, told: Any) -> None:
    for suffix in SUFFIXES:
        for key in KEYS:
            path = tmp_path / key[:2] / f"{key}{suffix}"
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(b"old")
    (tmp_path / ".pruned").touch()
    (tmp_path / "00" / f".{KEYS[0]}.tile.0123456789abcdef.tmp").touch()
    (tmp_path / f".{MARKER}.0123456789abcdef.tmp").touch()
    (tmp_path / "ff").mkdir()
    CacheFolder(tmp_path).write(KEYS[0], b"abc")
    assert MARKER in files(tmp_path) and told() == []


def test_a_marker_is_written_once(tmp_path: Path) -> None:
    CacheFolder(tmp_path).write(KEYS[0], b"abc")
    first = (tmp_path / MARKER).stat().st_ino
    CacheFolder(tmp_path).write(KEYS[1], b"abc")
    assert (tmp_path / MARKER).stat().st_ino == first


def test_a_marker_of_others_is_none(tmp_path: Path, told: Any) -> None:
    (tmp_path / MARKER).write_text("Signature: 8a477f597d28d172789f06886806bc55\n# a build folder\n")
    CacheFolder(tmp_path).write(KEYS[0], b"abc")
    assert files(tmp_path) == [MARKER] and f"({MARKER})" in told()[0]


def test_a_cut_marker_is_written_again(tmp_path: Path, told: Any) -> None:
    """Wherever it was cut, and with zeros in place of its end; entries stay."""
    folder, marker = CacheFolder(tmp_path), tmp_path / MARKER
    folder.write(KEYS[0], b"abc")
    whole = marker.read_bytes()
    for length in range(len(whole)):
        marker.write_bytes(whole[:length] + bytes(length % 3))
        check_cache_dir(Options.of({"cache_dir": str(tmp_path)}))
        folder.write(KEYS[1], b"abc")
        assert marker.read_bytes() == whole and told() == []
    assert read(folder, KEYS[0]) == b"abc"


@pytest.mark.parametrize("length", (0, 10, 43, 44, 50, 56, 80))
def test_a_cut_marker_beside_files_of_others(tmp_path: Path, told: Any, length: int) -> None:
    """Ours only where it still says so; nothing of the others is touched."""
    CacheFolder(tmp_path / "ours").write(KEYS[0], b"abc")
    left = (tmp_path / "ours" / MARKER).read_bytes()[:length]
    (tmp_path / "others").mkdir()
    (tmp_path / "others" / MARKER).write_bytes(left)
    (tmp_path / "others" / "thesis.tex").write_text("mine")
    CacheFolder(tmp_path / "others").write(KEYS[0], b"abc")
    is_ours = b"# fuse-mlir:" in left
    assert (tmp_path / "others" / "thesis.tex").read_text() == "mine"
    assert len(files(tmp_path / "others")) == (4 if is_ours else 2) and bool(told()) != is_ours
    if not is_ours:
        assert (tmp_path / "others" / MARKER).read_bytes() == left


@pytest.mark.parametrize("end", ("", "\n"))
def test_the_bare_marker_of_others_stays(tmp_path: Path, told: Any, end: str) -> None:
    (tmp_path / MARKER).write_text("Signature: 8a477f597d28d172789f06886806bc55" + end)
    CacheFolder(tmp_path).write(KEYS[0], b"abc")
    assert files(tmp_path) == [MARKER] and f"({MARKER})" in told()[0]


def test_what_interrupted_writers_left_is_deleted_a_day_later(tmp_path: Path) -> None:
    folder = CacheFolder(tmp_path)
    folder.write(KEYS[0], b"abc")
    left = [tmp_path / "00" / f".{KEYS[0]}.tile.{n}123456789abcdef.tmp" for n in range(2)]
    for path in left:
        path.write_bytes(b"ha")
    os.utime(left[0], (1000.0, 1000.0))
    assert folder.prune() == 1
    assert not left[0].exists() and left[1].exists() and read(folder, KEYS[0]) == b"abc"


# ---- links -------------------------------------------------------------------------------------------------


def test_no_linked_folder_is_pruned_or_written(tmp_path: Path, told: Any) -> None:
    cache, outside = tmp_path / "cache", tmp_path / "outside"
    outside.mkdir()
    folder = CacheFolder(cache, limit=1)
    folder.write(KEYS[0], b"abc")
    (outside / f"{KEYS[1]}.kernel").write_bytes(to_entry(f"{KEYS[1]}.kernel", b"planted"))
    (cache / "01").symlink_to(outside)
    assert folder.prune() == 0 and read(folder, KEYS[1]) is None  # the first write pruned its own entry
    folder.write(KEYS[1], b"abc")
    assert files(outside) == [f"{KEYS[1]}.kernel"]
    [line] = told()
    assert str(folder.path(KEYS[1])) in line and "is a link" in line


def test_a_folder_with_a_linked_folder_is_not_adopted(tmp_path: Path, told: Any) -> None:
    cache, outside = tmp_path / "cache", tmp_path / "outside"
    outside.mkdir()
    cache.mkdir()
    (cache / "01").symlink_to(outside)
    CacheFolder(cache).write(KEYS[0], b"abc")
    assert os.listdir(cache) == ["01"] and "did not write (01)" in told()[0]


def test_no_linked_entry_is_read_or_deleted(tmp_path: Path, told: Any) -> None:
    folder = CacheFolder(tmp_path / "cache", limit=1 << 20)
    folder.write(KEYS[0], b"abc")
    target = tmp_path / "target"
    target.write_bytes(to_entry(f"{KEYS[0]}.kernel", b"planted"))
    folder.path(KEYS[0]).unlink()
    folder.path(KEYS[0]).symlink_to(target)
    assert read(folder, KEYS[0]) is None and "is a link" in told()[0]
    assert CacheFolder(folder.directory, limit=-1).prune() == 0 and folder.path(KEYS[0]).is_symlink()
    folder.write(KEYS[0], b"new")  # takes the link's place
    assert read(folder, KEYS[0]) == b"new" and b"planted" in target.read_bytes()


def test_a_folder_may_be_reached_by_a_link(tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir(mode=0o700)
    (tmp_path / "cache").symlink_to(tmp_path / "disk")
    folder = CacheFolder(tmp_path / "cache")
    folder.write(KEYS[0], b"abc")
    assert read(folder, KEYS[0]) == b"abc"


def test_a_named_pipe_is_no_entry(tmp_path: Path, told: Any) -> None:
    folder = CacheFolder(tmp_path)
    folder.write(KEYS[0], b"abc")
    folder.path(KEYS[0]).unlink()
    os.mkfifo(folder.path(KEYS[0]), 0o600)
    assert read(folder, KEYS[0]) is None and "is no regular file" in told()[0]


# ---- bytes -------------------------------------------------------------------------------------------------


def test_an_entry_in_anothers_place_is_a_miss(tmp_path: Path, told: Any) -> None:
    folder, tiles = CacheFolder(tmp_path), CacheFolder(tmp_path, ".tile")
    folder.write(KEYS[0], b"abc")
    for place in (folder.path(KEYS[1]), tiles.path(KEYS[0])):
        place.parent.mkdir(exist_ok=True, mode=0o700)
        place.write_bytes(folder.path(KEYS[0]).read_bytes())
        place.chmod(0o600)
    assert read(folder, KEYS[1]) is None and read(tiles, KEYS[0]) is None
    assert [line.partition(": ")[2] for line in told()] == ["it was stored under another name"] * 2


def test_what_decoding_raises_is_one_line(tmp_path: Path, told: Any) -> None:
    folder = CacheFolder(tmp_path)
    folder.write(KEYS[0], b"abc")
    for error in (KeyError("params"), ValueError("two\n lines"), RecursionError(), MemoryError()):

        def fails(data: bytes, error: Exception = error) -> None:
            raise error

        assert folder.read(KEYS[0], fails) is None
    start = f"the cache entry {KEYS[0]}.kernel is unreadable and will be made again: "
    assert told() == [start + reason for reason in ("'params'", "two lines", "RecursionError", "MemoryError")]
