"""Which GPUs are compiled for, where it is not this machine's: packages have programs for several."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_TARGET: ContextVar[int | None] = ContextVar("target", default=None)


@contextmanager
def compiling_for(capability: int | None) -> Iterator[None]:
    """Compiles for GPUs of a compute capability, 90 for 9.0.  None: for this machine's."""
    before = _TARGET.set(capability)
    try:
        yield
    finally:
        _TARGET.reset(before)


def other_target() -> int | None:
    """The capability that ``compiling_for`` asks for; None where this machine's counts."""
    return _TARGET.get()


__all__ = ["compiling_for", "other_target"]
