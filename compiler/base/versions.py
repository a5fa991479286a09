"""The versions that the suite has passed with (docs/versions.md), and a word about others.

Other versions are not refused: most of what changes between them shows in an error that names it, and
``tools/_private_names.py`` lists what else may go.
"""

import logging
import platform
import re
from collections.abc import Iterator
from functools import cache
from importlib import metadata

log = logging.getLogger(__name__)

Version = tuple[int, int]

SUPPORTED: dict[str, tuple[Version, Version]] = {
    "Python": ((3, 11), (3, 13)),
    "torch": ((2, 11), (2, 15)),
    "Triton": ((3, 6), (3, 9)),
}
"""Name -> oldest and newest (major, minor)."""

_DISTRIBUTIONS = {"torch": ("torch",), "Triton": ("triton", "pytorch-triton")}


@cache
def note_versions() -> None:
    """Logs one sentence for each version that is not supported, at the first call of a process."""
    for name in SUPPORTED:
        installed = _installed(name)
        if installed is not None:
            for sentence in outside(name, installed):
                log.warning("%s", sentence)


def outside(name: str, installed: str) -> Iterator[str]:
    """The sentence about a version outside SUPPORTED; none for one within, or for one that has no numbers."""
    numbers = re.match(r"(\d+)\.(\d+)", installed)
    if numbers is None:
        return
    version, (oldest, newest) = (int(numbers[1]), int(numbers[2])), SUPPORTED[name]
    if version > newest:
        yield f"{name} {installed} is newer than {_text(newest)}, the newest that was tested: going on"
    if version < oldest:
        yield f"{name} {installed} is older than {_text(oldest)}, the oldest that was tested: going on"


def _text(version: Version) -> str:
    return ".".join(map(str, version))


def distribution(name: str) -> metadata.Distribution | None:
    """The installed package of a name in SUPPORTED; None where there is none."""
    for package in _DISTRIBUTIONS[name]:
        try:
            return metadata.distribution(package)
        except metadata.PackageNotFoundError:
            continue
    return None


def _installed(name: str) -> str | None:
    if name == "Python":
        return platform.python_version()
    found = distribution(name)
    return None if found is None else found.version


def bindings() -> str:
    """The distribution that MLIR's Python bindings come from, with its version; "mlir" where it has none."""
    for name in ("mlir-python-bindings", "torch-mlir"):
        try:
            return f"{name} {metadata.version(name)}"
        except metadata.PackageNotFoundError:
            continue
    return "mlir"
