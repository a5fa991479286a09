"""Writes the file of a package, whole or not at all (``archive.py`` says what is in it)."""

import os
from collections.abc import Mapping
from pathlib import Path
from uuid import uuid4

from torch.export.pt2_archive._package import PT2ArchiveWriter

from ...base.errors import PackageError
from .archive import DIGEST, FOLDER, MANIFEST, Archive, digest_of


def check_place(path: Path, *, overwrite: bool) -> None:
    """Raises ``PackageError`` where there is no folder for ``path``, and where it exists, unless
    ``overwrite``; then it has to be a package, since no other file is written over.
    """
    if not path.exists():
        if not path.absolute().parent.is_dir():
            raise PackageError(path=path, reason=f"there is no folder '{path.parent}'")
        return
    if not overwrite:
        raise PackageError(path=path, reason="it exists already: name another path or pass overwrite=True")
    Archive(path)


def write_archive(path: Path, manifest: bytes, parts: Mapping[str, bytes], *, overwrite: bool) -> None:
    """Writes a whole archive or none, where ``check_place`` lets it.  ``parts``: by name."""
    beside = path.with_name(f".{path.name}.{uuid4().hex}.pt2")  # torch asks for the suffix
    try:
        with PT2ArchiveWriter(str(beside)) as writer:
            for name, data in parts.items():
                writer.write_bytes(FOLDER + name, data)
            writer.write_bytes(MANIFEST, manifest)
            writer.write_bytes(DIGEST, digest_of(manifest).encode())
        if overwrite:
            os.replace(beside, path)
        else:
            try:
                os.link(beside, path)  # fails where somebody made the file meanwhile
            except FileExistsError:
                raise PackageError(path=path, reason="it was made meanwhile by somebody else") from None
    finally:
        beside.unlink(missing_ok=True)
