"""Files and folders that only their owner may write, opened without following links."""

import contextlib
import errno
import os
import stat
from collections.abc import Iterator
from pathlib import Path

_IN_PLACE = os.O_NOFOLLOW | os.O_NONBLOCK  # O_NONBLOCK: opening a named pipe would wait for a writer


class Untrusted(Exception):
    """A file or folder may have been written by another user.  The message says why, without its name."""


def distrust(status: os.stat_result, user: int) -> str | None:
    """Why another user than ``user`` (a uid) may have written a file or folder; None if none may."""
    if status.st_uid != user:
        return f"belongs to user {status.st_uid} and not to user {user}"
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return f"may be written by other users (its mode is {stat.S_IMODE(status.st_mode):04o})"
    return None


@contextlib.contextmanager
def open_folder(path: str | Path, within: int | None = None, *, anyones: bool = False) -> Iterator[int]:
    """Opens a folder and returns its descriptor.  ``within``: the descriptor of the parent folder; then the
    name must not be a link.  A folder that the user names may be reached through links, since caches are
    moved to other disks.

    anyones: accept any owner and mode.  Raises Untrusted, and OSError as ``os.open`` does.
    """
    with _opened(path, os.O_DIRECTORY | (0 if within is None else _IN_PLACE), within) as descriptor:
        _check(os.fstat(descriptor), anyones)
        yield descriptor


def read_file(name: str, within: int, *, anyones: bool = False) -> bytes:
    """Reads a file, which then counts as used now.  Links and special files are not read.

    anyones: accept any owner and mode, and do not change the time of use.  Raises Untrusted, and OSError as
    ``os.open`` does.
    """
    with _opened(name, _IN_PLACE, within) as descriptor:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise Untrusted("is no regular file")
        _check(status, anyones)
        if not anyones:
            with contextlib.suppress(OSError):  # the file system may be read-only
                os.utime(descriptor)
        with open(descriptor, "rb", buffering=0, closefd=False) as file:
            return file.read()


def put_file(name: str, within: int, data: bytes) -> None:
    """Writes a file in one atomic step, readable by its owner only.  Raises OSError."""
    temporary = f".{name}.{os.urandom(8).hex()}.tmp"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
    try:
        with open(os.open(temporary, flags, 0o600, dir_fd=within), "wb") as file:
            file.write(data)
        os.replace(temporary, name, src_dir_fd=within, dst_dir_fd=within)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary, dir_fd=within)
        raise


def _check(status: os.stat_result, anyones: bool) -> None:
    problem = None if anyones else distrust(status, os.geteuid())
    if problem is not None:
        raise Untrusted(problem)


@contextlib.contextmanager
def _opened(path: str | Path, flags: int, within: int | None) -> Iterator[int]:
    try:
        descriptor = os.open(path, os.O_RDONLY | flags, dir_fd=within)
    except OSError as error:
        if within is not None and error.errno in (errno.ELOOP, errno.ENOTDIR):
            raise Untrusted("is a link, or no folder where one belongs") from None
        raise
    try:
        yield descriptor
    finally:
        os.close(descriptor)
