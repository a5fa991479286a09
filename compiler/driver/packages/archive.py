"""The file of a package: a PT2 archive of torch's, a zip of uncompressed entries, with parts of ours.

    <name>/archive_format, <name>/version, ..       torch's: ``torch.export.pt2_archive`` reads the archive
    <name>/data/fuse/manifest.json                  what the parts are, with the SHA-256 of each
    <name>/data/fuse/manifest.sha256                that of the manifest
    <name>/data/fuse/<part>

Torch reads a changed byte without an error, so each part is compared with its digest before it is used.  A
digest detects damage; it does not say who wrote the archive.  Nothing in an archive is code of Python, but
kernels run on the GPU as they are stored: load only what you trust.
"""

import hashlib
import os
import struct
import zipfile
from pathlib import Path
from typing import BinaryIO

from ...base.errors import PackageDamaged, PackageError

FOLDER = "data/fuse/"
MANIFEST, DIGEST = FOLDER + "manifest.json", FOLDER + "manifest.sha256"
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
            self._file: BinaryIO = path.open("rb")
        except OSError as error:
            raise PackageError(path=path, reason=f"it cannot be read: {error.strerror}") from None
        try:
            self._entries = self._directory()
            self.manifest = self._read(MANIFEST)
            if self._read(DIGEST) != digest_of(self.manifest).encode():
                raise PackageDamaged(path=path, part="manifest.json")
        except BaseException:
            self._file.close()
            raise

    def __enter__(self) -> "Archive":
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def part(self, name: str, digest: str) -> bytes:
        """The bytes of a part.  Raises ``PackageDamaged`` where they have another digest."""
        data = self._read(FOLDER + name)
        if digest_of(data) != digest:
            raise PackageDamaged(path=self.path, part=name)
        return data

    def _directory(self) -> dict[str, zipfile.ZipInfo]:
        """The entries by their names below the archive's own folder."""
        try:
            with zipfile.ZipFile(self._file) as archive:
                entries = archive.infolist()
        except (zipfile.BadZipFile, EOFError, struct.error, OSError, ValueError, NotImplementedError):
            raise PackageDamaged(path=self.path, part="the directory of the archive") from None
        found = {entry.filename.partition("/")[2]: entry for entry in entries}
        if MANIFEST not in found or DIGEST not in found or len(found) != len(entries):
            raise PackageError(path=self.path, reason="it is no package of fuse_mlir.package")
        return found

    def _read(self, name: str) -> bytes:
        """An entry as it lies in the file: ``zipfile`` would compute a second checksum of gigabytes."""
        entry = self._entries.get(name)
        if entry is None or entry.compress_type != zipfile.ZIP_STORED or entry.flag_bits & 1:
            raise PackageDamaged(path=self.path, part=name.removeprefix(FOLDER))
        size = os.fstat(self._file.fileno()).st_size
        if 0 <= entry.header_offset <= size and 0 <= entry.file_size <= size:
            self._file.seek(entry.header_offset)
            header = self._file.read(_LOCAL_HEADER.size)
            if len(header) == _LOCAL_HEADER.size:
                magic, *_, named, extra = _LOCAL_HEADER.unpack(header)
                self._file.seek(named + extra, os.SEEK_CUR)
                data = self._file.read(entry.file_size) if magic == b"PK\x03\x04" else b""
                if len(data) == entry.file_size:
                    return data
        raise PackageDamaged(path=self.path, part=name.removeprefix(FOLDER))
