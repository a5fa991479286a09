"""What watchers of a compilation are told of its stages."""

import contextlib
from collections.abc import Iterator
from unittest import mock

from fuse_mlir.compiler.base import timing
from fuse_mlir.compiler.base.timing import StageKind


class Told(list[tuple[str, str]]):
    """A watcher: the kind and the name of each stage that began."""

    def began(self, kind: StageKind, name: str) -> None:
        self.append((kind, name))

    def ended(self, kind: StageKind, name: str) -> None:
        """Nothing is asked of ends."""

    def expected(self, kind: StageKind, count: int) -> None:
        """Nothing is asked of what is expected."""


@contextlib.contextmanager
def watched() -> Iterator[Told]:
    """Yields what is told inside."""
    told = Told()
    with mock.patch.object(timing, "WATCHERS", [told]):
        yield told
