"""Parallel processes that take turns at timing: all prepare at the same time, each times alone.

There are three lock files in a folder.  `work` is held shared by a process that prepares and exclusively by
one that times.  A process that wants to time holds `gate` shared meanwhile, and one that wants to prepare
must take `gate` exclusively for a moment.  So no process begins to prepare while another waits to time, and
the processes fall into rounds.  `search` is held by a process that times candidates while it prepares.
"""

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path


class Turns:
    """The turns of the processes that share `folder`; with None there are no others.

    preparing: False from when this process wants to time until its next task.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._files: tuple[int, int, int] | None = None
        self._searching = False
        self.preparing = True
        if folder is not None:
            work, gate, search = (
                os.open(folder / name, os.O_RDWR | os.O_CREAT, 0o600) for name in ("work", "gate", "search")
            )
            self._files = work, gate, search

    @contextlib.contextmanager
    def together(self) -> Iterator[None]:
        """Inside, others may prepare too and nobody times."""
        if self._files is None:
            yield
            return
        work, gate, _ = self._files
        self._begin_together()
        try:
            yield
        finally:
            fcntl.flock(work, fcntl.LOCK_UN)
            fcntl.flock(gate, fcntl.LOCK_UN)

    @contextlib.contextmanager
    def alone(self) -> Iterator[None]:
        """Use inside `together`, as its last part: while in this context, no other process prepares or times.
        Behind it this process does not prepare, so that it can write down at once what it found.
        """
        if self._files is None:
            yield
            return
        work, gate, _ = self._files
        self.preparing = False
        fcntl.flock(gate, fcntl.LOCK_SH)
        fcntl.flock(work, fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.flock(work, fcntl.LOCK_UN)
            fcntl.flock(gate, fcntl.LOCK_UN)

    @contextlib.contextmanager
    def searching(self) -> Iterator[None]:
        """Use inside `together`: other processes may prepare, but none of them times candidates. May be
        nested.
        """
        if self._files is None or self._searching:
            yield
            return
        fcntl.flock(self._files[2], fcntl.LOCK_EX)
        self._searching = True
        try:
            yield
        finally:
            self._searching = False
            fcntl.flock(self._files[2], fcntl.LOCK_UN)

    def _begin_together(self) -> None:
        assert self._files is not None
        work, gate, _ = self._files
        self.preparing = True
        fcntl.flock(gate, fcntl.LOCK_EX)
        fcntl.flock(work, fcntl.LOCK_SH)
        fcntl.flock(gate, fcntl.LOCK_UN)
