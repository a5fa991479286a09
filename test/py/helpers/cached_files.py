"""What tests of the cache share: keys, reading, listing and damaging a folder."""

from pathlib import Path

from fuse_mlir.compiler.runtime.cache.cache_folder import CacheFolder

KEYS = [f"{i:02x}{'0' * 62}" for i in range(4)]


def read(folder: CacheFolder, key: str) -> bytes | None:
    return folder.read(key, bytes)


def files(folder: Path) -> list[str]:
    return sorted(p.relative_to(folder).as_posix() for p in folder.rglob("*") if not p.is_dir())


def damage(path: Path) -> None:
    """Changes a byte of an entry."""
    data = bytearray(path.read_bytes())
    data[-9] ^= 1
    path.write_bytes(data)
