"""Python's cyclic garbage collector, which a compilation has no use for.

A compilation, AOTAutograd's tracing included, makes many small objects that live until it ends, and every
full collection visits all of them and all of the process (a model, torch, Dynamo's caches): a tenth of the
time.  What it makes is freed by reference counts.  What is left joins the oldest generation, as if it had
lived through collections: else the first allocation afterwards would visit all of it.
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
            if not gc.get_freeze_count():  # what somebody has frozen stays so
                gc.freeze()
                gc.unfreeze()
            gc.enable()
