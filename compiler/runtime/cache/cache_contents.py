"""What the folder contains: which file names are ours, the marker of our folder, what may be deleted.

An entry is ``<2 hex>/<64 hex>.<suffix>``, the first two digits twice.  Nothing with another name is counted
or deleted, and no link is followed.  All functions take the descriptor of the folder (``owned_files.py``).
"""

import contextlib
import os
import re
import time
from collections.abc import Iterable, Iterator

from ...base.dataclass import dataclass
from .owned_files import Untrusted, open_folder, put_file, read_file

SUFFIXES = (".captured", ".facts", ".fusion", ".kernel", ".program", ".tile", ".trained")

#: Backups pass by a folder with a file of this name and first line (https://bford.info/cachedir/).
MARKER = "CACHEDIR.TAG"
_SIGNATURE = b"Signature: 8a477f597d28d172789f06886806bc55\n"
_OURS = b"# fuse-mlir: this folder holds compiled programs; what was not used for longest is deleted.\n"
_WHOLE, _NAMED = _SIGNATURE + _OURS, _SIGNATURE + b"# fuse-mlir:"

_STAMP = ".pruned"
_FOLDER = re.compile(r"[0-9a-f]{2}")
_KEY = re.compile(r"[0-9a-f]{64}")
_ENTRY = re.compile(rf"[0-9a-f]{{64}}({'|'.join(map(re.escape, SUFFIXES))})")
_TEMPORARY = re.compile(r"\.(.+)\.[0-9a-f]{16}\.tmp")

_DAY = 24 * 3600.0


@dataclass(frozen=True)
class Entry:
    """A file of ours.  bytes: its size.  used: its last read or write, in seconds since 1970."""

    folder: str
    name: str
    bytes: int
    used: float

    @property
    def suffix(self) -> str:
        """One of SUFFIXES, or ".tmp" for a file that is being written or that an interrupted writer left."""
        return os.path.splitext(self.name)[1]


def is_key(text: object) -> bool:
    """Whether an entry can have this name: 64 hexadecimal digits."""
    return isinstance(text, str) and _KEY.fullmatch(text) is not None


def entries(root: int) -> Iterator[Entry]:
    """All files of ours except those at the top, in no order.  Files that vanish meanwhile are left out, and
    folders that others may write.
    """
    for folder in os.listdir(root):
        if not _FOLDER.fullmatch(folder):
            continue
        with (
            contextlib.suppress(OSError, Untrusted),
            open_folder(folder, root) as descriptor,
            os.scandir(descriptor) as files,
        ):
            for file in files:
                if _is_ours(folder, file):
                    with contextlib.suppress(FileNotFoundError):
                        status = file.stat(follow_symlinks=False)
                        yield Entry(folder, file.name, status.st_size, status.st_mtime)


def delete(root: int, doomed: Iterable[Entry]) -> list[Entry]:
    """Deletes files of ours.  Returns those that existed."""
    deleted = []
    for entry in doomed:
        with contextlib.suppress(OSError, Untrusted), open_folder(entry.folder, root) as folder:
            os.unlink(entry.name, dir_fd=folder)
            deleted.append(entry)
    return deleted


def prune(root: int, limit: int) -> list[Entry]:
    """Deletes the least recently used entries until the rest holds at most ``limit`` bytes (all entries if it
    is negative), and temporary files that interrupted writers left more than a day ago.  Returns what was
    deleted.
    """
    found = sorted(entries(root), key=lambda entry: entry.used)
    left = [e for e in found if e.suffix == ".tmp" and time.time() - e.used > _DAY]
    stored = [e for e in found if e.suffix != ".tmp"]
    excess = sum(e.bytes for e in stored) - limit
    for entry in stored:
        if excess <= 0:
            break
        left.append(entry)
        excess -= entry.bytes
    return delete(root, left)


def prune_daily(root: int, limit: int) -> None:
    """``prune``, at most once a day for all processes together.  Raises OSError."""
    with contextlib.suppress(FileNotFoundError):
        age = time.time() - os.stat(_STAMP, dir_fd=root, follow_symlinks=False).st_mtime
        if abs(age) <= _DAY:
            return
    put_file(_STAMP, root, b"")
    prune(root, limit)


def adopt(root: int) -> str | None:
    """Makes the folder ours by writing its marker, also where one is cut.  Returns why not, if it holds a
    file that is not ours.  Raises OSError.
    """
    if _OURS in (_marker(root) or b""):
        return None
    foreign = foreigner(root)
    if foreign is not None:
        return f"it holds what the cache did not write ({foreign})"
    put_file(MARKER, root, _WHOLE)
    return None


def foreigner(root: int) -> str | None:
    """The path of a file or folder in it that shows that the folder is not ours.  None where it has the
    marker, is empty, or holds only files with our names.  Raises OSError.
    """
    if _is_marked(root):
        return None
    with os.scandir(root) as files:
        found = list(files)  # the descriptor has one position, and `_is_cut` lists the folder, too
    for file in found:
        inside = _foreigner_in(root, file.name) if _FOLDER.fullmatch(file.name) else None
        if inside is not None:
            return inside
        if not _FOLDER.fullmatch(file.name) and not _is_top(root, file):
            return file.name
    return None


def _foreigner_in(root: int, folder: str) -> str | None:
    try:
        with open_folder(folder, root) as descriptor, os.scandir(descriptor) as files:
            return next((f"{folder}/{file.name}" for file in files if not _is_ours(folder, file)), None)
    except Untrusted:
        return folder


def _is_ours(folder: str, file: "os.DirEntry[str]") -> bool:
    """Whether a file in a sub-folder is an entry, or one that is being written."""
    name = _written(file.name)
    named = _ENTRY.fullmatch(name) is not None and name.startswith(folder)
    return named and _is_file(file)


def _is_top(root: int, file: "os.DirEntry[str]") -> bool:
    """Whether a file beside the sub-folders is ours.  The marker may have appeared meanwhile."""
    if file.name == MARKER:
        return _is_marked(root) or _is_cut(root)
    return _written(file.name) in (MARKER, _STAMP) and _is_file(file)


def _is_file(file: "os.DirEntry[str]") -> bool:
    """Whether a name is ours.  A temporary file may have been renamed meanwhile, so that its kind is
    unknown.
    """
    return not file.is_symlink() and not file.is_dir(follow_symlinks=False)


def _written(name: str) -> str:
    """The final name of a temporary file; other names as they are."""
    temporary = _TEMPORARY.fullmatch(name)
    return name if temporary is None else temporary[1]


def _marker(root: int) -> bytes | None:
    """What the marker holds, without the zeros that a crash may leave at its end; None where there is none
    that only we can have written.
    """
    try:
        return read_file(MARKER, root).rstrip(b"\0")
    except (FileNotFoundError, Untrusted):
        return None


def _is_marked(root: int) -> bool:
    """Whether the marker is ours: whole, or cut so that what is left still says whose it is."""
    marker = _marker(root) or b""
    return _OURS in marker or (_WHOLE.startswith(marker) and _NAMED in marker)


def _is_cut(root: int) -> bool:
    """Whether the marker may be what a full disk or a crash left of ours: its beginning.  Its first line
    alone is also what other programs write: ours if an entry of ours is there.
    """
    marker = _marker(root)
    if marker is None:
        return False
    if marker.rstrip() == _SIGNATURE.rstrip():
        return next(entries(root), None) is not None
    return _WHOLE.startswith(marker)
