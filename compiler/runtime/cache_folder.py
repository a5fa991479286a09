"""A folder of small files that several processes share: whole or absent, never half; the oldest leave first.

What cannot be written makes the cache useless, not the compilation.
"""

import contextlib
import os
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

LIMIT = 4 << 30
"""Bytes that a folder may hold; what was not used for longest is deleted above it."""

_DAY = 24 * 3600.0


def default_directory() -> Path:
    """Where everything is stored unless the caller says otherwise: `~/.cache/fuse_mlir`."""
    return Path.home() / ".cache" / "fuse_mlir"


@dataclass
class CacheFolder:
    """The files of `directory`, which is made when the first one is written.

    suffix: of the files that this object reads and writes. limit: bytes that the whole folder may hold, all
    suffixes together; it is enforced once a day, by whoever writes first, so that it may be exceeded between.
    """

    directory: Path = field(default_factory=default_directory)
    suffix: str = ".kernel"
    limit: int = LIMIT

    def __post_init__(self) -> None:
        self.directory = Path(self.directory)

    def path(self, key: str) -> Path:
        """The file of the entry named `key`."""
        return self.directory / key[:2] / f"{key}{self.suffix}"

    def read(self, key: str) -> bytes | None:
        """The bytes of an entry, which counts as used now; None where there is none."""
        path = self.path(key)
        try:
            data = path.read_bytes()
        except OSError:
            return None
        with contextlib.suppress(OSError):  # a folder that others own can be read all the same
            os.utime(path)
        return data

    def write(self, key: str, data: bytes) -> None:
        """Puts an entry in its place in one step."""
        path, temporary = self.path(key), ""
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.NamedTemporaryFile(
                dir=path.parent, prefix=".", suffix=".tmp", delete=False
            ) as file:
                temporary = file.name
                file.write(data)
            os.replace(temporary, path)
        except OSError:
            if temporary:
                with contextlib.suppress(OSError):
                    os.unlink(temporary)
            return
        self._prune_daily()

    def _prune_daily(self) -> None:
        stamp = self.directory / ".pruned"
        try:
            due = time.time() - stamp.stat().st_mtime > _DAY
        except OSError:
            due = True
        if due:
            with contextlib.suppress(OSError):
                stamp.touch()
                self.prune()

    def prune(self) -> int:
        """Deletes what was not used for longest until the folder is within its limit; how many files went."""
        found: list[tuple[float, int, str]] = []
        for folder in self.directory.iterdir():
            if not folder.is_dir():
                continue
            for entry in os.scandir(folder):
                with contextlib.suppress(OSError):  # another process may delete it meanwhile
                    status = entry.stat(follow_symlinks=False)
                    found.append((status.st_mtime, status.st_size, entry.path))
        excess = sum(size for _, size, _ in found) - self.limit
        deleted = 0
        for _, size, path in sorted(found):
            if excess <= 0:
                break
            with contextlib.suppress(OSError):
                os.unlink(path)
                deleted += 1
            excess -= size
        return deleted
