"""Texts that Triton's native code reads and writes: files in memory, and what it says on stderr."""

import contextlib
import fcntl
import os
import re
import sys
import threading
from collections.abc import Callable, Iterator
from typing import TextIO

_ERROR = re.compile(r"^(?:(?P<location>\S.*?):\s*)?error\s*:\s*(?P<message>.+)$", re.MULTILINE)
_LOC = re.compile(r'^loc\("([^"]*)"(?=:\d+:\d+\)$)|(?<=\d)\)$')
_MEMORY_FILE = re.compile(r"/proc/self/fd/\d+")

# The descriptor of the memory file is part of the locations of operations that have none, and so of the
# cubin. The lock is held while the file is open, so the first free number from here on is the same in every
# compile.
_FIRST_DESCRIPTOR = 1000

# The process has one file descriptor 2, so one lock, shared by all compiles, guards its redirection.
_STDERR_LOCK = threading.Lock()


@contextlib.contextmanager
def memory_file(text: str) -> Iterator[str]:
    """The path of an anonymous file in memory that holds `text` while the context is open."""
    opened = os.memfd_create("ttir")
    try:
        descriptor = fcntl.fcntl(opened, fcntl.F_DUPFD_CLOEXEC, _FIRST_DESCRIPTOR)
    except OSError:  # the process may have fewer descriptors; then any number will do
        descriptor = os.dup(opened)
    os.close(opened)
    try:
        with open(descriptor, "wb", closefd=False) as file:
            file.write(text.encode())
        yield f"/proc/self/fd/{descriptor}"
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def captured_stderr() -> Iterator[Callable[[], str]]:
    """Redirect file descriptor 2 into memory; yields a function that takes what has been written so far.

    What was written and not taken, for example by other threads, reaches the real stderr at the end.
    """
    with _STDERR_LOCK:
        if sys.stderr is not None:
            sys.stderr.flush()
        try:
            real = os.dup(2)
        except OSError:  # a daemon may have closed it: there is nothing to capture
            yield lambda: ""
            return
        memory = os.memfd_create("stderr")

        def take() -> str:
            size = os.fstat(memory).st_size
            said = os.pread(memory, size, 0)
            os.ftruncate(memory, 0)
            os.lseek(memory, 0, os.SEEK_SET)
            return said.decode(errors="replace")

        os.dup2(memory, 2)
        try:
            yield take
        finally:
            if sys.stderr is not None:
                sys.stderr.flush()
            os.dup2(real, 2)
            left = take()
            if left:
                os.write(2, left.encode())
            os.close(real)
            os.close(memory)


def real_stderr() -> TextIO:
    """A file of its own that writes to stderr, also while its descriptor is redirected."""
    with _STDERR_LOCK:
        return os.fdopen(os.dup(2), "w")


def without_file(said: str) -> str:
    """What was said, with ``ttir`` for the path of a memory file."""
    return _MEMORY_FILE.sub("ttir", said)


def first_error(said: str) -> tuple[str, str] | None:
    """The location ("ttir:LINE:COLUMN", "" where unknown) and the message of the first error of MLIR's."""
    found = _ERROR.search(said)
    return None if found is None else (_LOC.sub(r"\1", found["location"] or ""), found["message"].strip())


__all__ = ["captured_stderr", "first_error", "memory_file", "real_stderr", "without_file"]
