"""Entries that several processes share.  An entry is whole or absent; the least recently used are deleted
first.

A problem of the cache never fails a compilation.  What cannot be written, read or trusted is a miss, with a
line in the log.  A line about a whole folder is logged once for that folder.
"""

import logging
import os
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from ...base.dataclass import dataclass
from .cache_contents import SUFFIXES, adopt, foreigner, is_key, prune, prune_daily
from .entry_bytes import from_entry, to_entry
from .owned_files import Untrusted, open_folder, put_file, read_file

log = logging.getLogger(__name__)

LIMIT = 4 << 30
"""Bytes that a folder may hold; above it, the least recently used entries are deleted."""

_Decoded = TypeVar("_Decoded")

#: Entries that this process was given otherwise than by a folder, by their files' names (``mega_cache.py``).
LOADED: dict[str, bytes] = {}
#: Who is told of each entry that is read or written, with its bytes.
RECORDERS: list[Callable[[str, bytes], None]] = []

#: What this process has logged about folders: (folder, subject).
_told: set[tuple[Path, str]] = set()


@dataclass(frozen=True)
class CacheFolder:
    """The entries of one suffix in ``directory``, which is created with the first entry.  If ``directory`` is
    None, nothing is found and nothing is stored.

    shared: a second folder, which is read where ``directory`` has no entry, whoever owns it.  It is never
    written.  limit: bytes that the whole folder may hold, all suffixes together.  It is enforced once a day,
    by the first process that writes, so it may be exceeded in between.
    """

    directory: Path | None
    suffix: str = ".kernel"
    shared: Path | None = None
    limit: int = LIMIT

    def __post_init__(self) -> None:
        if self.suffix not in SUFFIXES:
            raise ValueError(f"entries end in {', '.join(SUFFIXES)}, got '{self.suffix}'")

    def path(self, key: str) -> Path:
        """The file of the entry named `key`.  Raises ValueError where nothing is stored."""
        if self.directory is None:
            raise ValueError("this cache stores nothing")
        return self.directory / key[:2] / f"{key}{self.suffix}"

    def read(self, key: str, decode: Callable[[bytes], _Decoded]) -> _Decoded | None:
        """``decode`` applied to an entry, which counts as used now.  None where there is no entry, or where
        ``decode`` raises, which is logged.
        """
        if not is_key(key):
            return None
        found = self._read(self.directory, key, decode, shared=False)
        if found is None:
            found = self._read(self.shared, key, decode, shared=True)
        if found is None and self.directory is not None and key + self.suffix in LOADED:
            found = self._decoded(key, LOADED[key + self.suffix], decode)
        return found

    def _read(
        self, directory: Path | None, key: str, decode: Callable[[bytes], _Decoded], *, shared: bool
    ) -> _Decoded | None:
        if directory is None:
            return None
        data = self._bytes(directory, key, shared)
        return None if data is None else self._decoded(key, data, decode)

    def _decoded(self, key: str, data: bytes, decode: Callable[[bytes], _Decoded]) -> _Decoded | None:
        name = key + self.suffix
        try:
            found = decode(from_entry(name, data))
        except Exception as error:  # whatever is wrong with the bytes, writing the entry again mends it
            reason = " ".join(str(error).split()) or type(error).__name__
            log.warning("the cache entry %s is unreadable and will be made again: %s", name, reason)
            return None
        for record in RECORDERS:
            record(name, data)
        return found

    def _bytes(self, directory: Path, key: str, shared: bool) -> bytes | None:
        subject = "folder"
        try:
            with open_folder(directory, anyones=shared) as root:
                subject = "entry"
                with open_folder(key[:2], root, anyones=shared) as folder:
                    return read_file(key + self.suffix, folder, anyones=shared)
        except FileNotFoundError:
            if shared and subject == "folder":
                _tell(directory, "folder", f"the shared cache {directory} does not exist")
        except OSError as error:
            _tell(directory, subject, f"the cache {directory} cannot be read: {error.strerror}")
        except Untrusted as problem:
            self._distrust(directory, subject, key, problem)
        return None

    def _distrust(self, directory: Path, subject: str, key: str, problem: Untrusted) -> None:
        if subject == "folder":
            _tell(
                directory,
                "folder",
                f"the cache {directory} {problem}: whoever writes it decides what this process runs, so it "
                "is not used; give the option cache_dir a folder of your own",
            )
        else:
            path = f"{directory}/{key[:2]}/{key}{self.suffix}"
            _tell(directory, "entry", f"the cache entry {path}, or its folder, {problem}: it is not used")

    def write(self, key: str, data: bytes) -> None:
        """Writes an entry in one atomic step."""
        directory = self.directory
        if directory is None:
            return
        subject, name = "folder", key + self.suffix
        entry = to_entry(name, data)
        for record in RECORDERS:
            record(name, entry)
        try:
            os.makedirs(directory, 0o700, exist_ok=True)
            with open_folder(directory) as root:
                problem = adopt(root)
                if problem is not None:
                    _tell(directory, "folder", f"the cache {directory} is not used: {problem}")
                    return
                subject = "entry"
                _make_folder(key[:2], root)
                with open_folder(key[:2], root) as folder:
                    put_file(name, folder, entry)
                prune_daily(root, self.limit)
        except OSError as error:
            _tell(directory, "write", f"the cache {directory} cannot be written: {error.strerror}")
        except Untrusted as problem:
            self._distrust(directory, subject, key, problem)

    def prune(self) -> int:
        """Deletes the least recently used entries until the folder is within its limit; returns how many
        files.

        Raises OSError and Untrusted.
        """
        if self.directory is None:
            return 0
        with open_folder(self.directory) as root:
            return len(prune(root, self.limit)) if foreigner(root) is None else 0


def _make_folder(name: str, root: int) -> None:
    try:
        os.mkdir(name, 0o700, dir_fd=root)
    except FileExistsError:
        return


def _tell(directory: Path, subject: str, message: str) -> None:
    """Logs a warning about a folder, once for each subject."""
    if (directory, subject) not in _told:
        _told.add((directory, subject))
        log.warning("%s", message)
