"""What the checks need of Dynamo: a clean start, and proof that something was compiled."""

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import torch

Backend = str | Callable[..., Any]


def backend_name(backend: Backend) -> str:
    """The name under which a backend is reported."""
    return backend if isinstance(backend, str) else getattr(backend, "__name__", type(backend).__name__)


@contextlib.contextmanager
def counted() -> Iterator[dict[str, int]]:
    """Resets Dynamo before and after; on exit the dict holds the numbers of "graphs" and graph "breaks"."""
    counters = torch._dynamo.utils.counters
    counts = {"graphs": 0, "breaks": 0}
    torch._dynamo.reset()
    counters.clear()
    try:
        yield counts
    finally:
        counts["graphs"] = counters["stats"]["unique_graphs"]
        counts["breaks"] = sum(counters["graph_break"].values())
        torch._dynamo.reset()
