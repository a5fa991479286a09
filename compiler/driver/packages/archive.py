"""The file of a package: a PT2 archive of torch's, a zip of uncompressed entries, with parts of ours.

    <name>/archive_format, <name>/version, ..       torch's: ``torch.export.pt2_archive`` reads the archive
    <name>/data/fuse/manifest.json                  what the parts are, with the SHA-256 of each
    <name>/data/fuse/manifest.sha256                that of the manifest
    <name>/data/fuse/<part>

Torch reads a changed byte without an error, so each part is compared with its digest before it is used.  A
digest detects damage; it does not say who wrote the archive.  Nothing in an archive is code of Python, but
kernels run on the GPU as they are stored: load only what you trust.

A file is mapped into memory, not read into it: weights of gigabytes are not copied on the way, and processes
that load the same package share its pages.  The mapping is private: what a program writes does not reach the
file.
"""

import hashlib
import mmap
import struct
import zipfile
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from io import BufferedReader
from pathlib import Path

from ...base.errors import PackageDamaged, PackageError

FOLDER = "data/fuse/"
MANIFEST, DIGEST = FOLDER + "manifest.json", FOLDER + "manifest.sha256"
_NO_PACKAGE = "it is no package of fuse_mlir.package"
#: The part of a zip entry in front of its contents, of which the last two numbers are lengths.
_LOCAL_HEADER = struct.Struct("<4s5H3I2H")


def digest_of(data: bytes | memoryview) -> str:
    """The SHA-256 of a part, in hexadecimal."""
    return hashlib.sha256(data).hexdigest()


def weights_beside(path: Path) -> Path:
    """The archive of a package's weights where they are not inside."""
    return path.with_name(path.name + ".weights")


class Archive:
    """An archive that is read.  Raises ``PackageDamaged`` for what is no whole archive of this form."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            with path.open("rb") as file:
                self._entries = self._directory(file)
                # It stays mapped while anything of it is in use.
                self._data = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY))
        except OSError as error:
            raise PackageError(path=path, reason=f"it cannot be read: {error.strerror}") from None
        self.manifest = bytes(self._part(MANIFEST))
        if self._part(DIGEST) != digest_of(self.manifest).encode():
            raise PackageDamaged(path=path, part="manifest.json")

    def part(self, name: str, digest: str) -> bytes:
        """The bytes of a part.  Raises ``PackageDamaged`` where they have another digest."""
        return bytes(self._checked(name, digest))

    def mapped(self, parts: Iterable[tuple[str, str]]) -> list[memoryview]:
        """Parts by names and digests as they lie in memory; threads compute their digests side by side.
        Raises ``PackageDamaged`` as ``part`` does.
        """
        with ThreadPoolExecutor() as pool:
            return list(pool.map(lambda part: self._checked(*part), parts))

    def _checked(self, name: str, digest: str) -> memoryview:
        data = self._part(FOLDER + name)
        if digest_of(data) != digest:
            raise PackageDamaged(path=self.path, part=name)
        return data

    def _directory(self, file: BufferedReader) -> dict[str, zipfile.ZipInfo]:
        """The entries by their names below the archive's own folder."""
        if file.peek(2)[:2] not in (b"PK", b""):  # an archive that is cut begins so, too
            raise PackageError(path=self.path, reason=_NO_PACKAGE)
        try:
            with zipfile.ZipFile(file) as archive:
                entries = archive.infolist()
        except (zipfile.BadZipFile, EOFError, struct.error, OSError, ValueError, NotImplementedError):
            raise PackageDamaged(path=self.path, part="the directory of the archive") from None
        found = {entry.filename.partition("/")[2]: entry for entry in entries}
        if MANIFEST not in found or DIGEST not in found or len(found) != len(entries):
            raise PackageError(path=self.path, reason=_NO_PACKAGE)
        return found

    def _part(self, name: str) -> memoryview:
        """An entry as it lies in the file: ``zipfile`` would compute a second checksum of gigabytes."""
        entry = self._entries.get(name)
        if entry is None or entry.compress_type != zipfile.ZIP_STORED or entry.flag_bits & 1:
            raise PackageDamaged(path=self.path, part=name.removeprefix(FOLDER))
        header = entry.header_offset
        if 0 <= header <= len(self._data) - _LOCAL_HEADER.size:
            magic, *_, named, extra = _LOCAL_HEADER.unpack_from(self._data, header)
            begin = header + _LOCAL_HEADER.size + named + extra
            data = self._data[begin : begin + max(entry.file_size, 0)]
            if magic == b"PK\x03\x04" and len(data) == entry.file_size:
                return data
        raise PackageDamaged(path=self.path, part=name.removeprefix(FOLDER))
