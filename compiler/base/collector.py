"""Python's cyclic garbage collector, which a compilation has no use for.

A compilation, AOTAutograd's tracing included, makes many small objects that live until it ends, and every
full collection visits all of them and all of the process (a model, torch, Dynamo's caches): a tenth of the
time.  Nearly all that it makes is freed by reference counts; cycles that it leaves, by the first collection
afterwards.  (Moving what is left to the oldest generation would save that collection, but nothing would count
it there: each compilation's cycles would stay.)
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def collector_paused() -> Iterator[None]:
    """No collections inside; afterwards the collector is as it was before, also where an error is raised."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
