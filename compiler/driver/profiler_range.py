"""Dynamo's range for profilers is left out of the code that it writes around a graph.

In front of a graph and behind it, that code calls ``record_pregraph_bytecode_enter`` and ``.._exit``, which
give a profile the range "Pregraph bytecode".  Both are Python functions under ``torch._dynamo.disable``.
They take about a tenth of a call of one kernel, also where no profiler listens.

Dynamo asks its configuration ``record_runtime_overhead`` whether to write them, after the backend has
returned.  So the backend changes it, until the compilation ends.
"""

from contextlib import ExitStack
from typing import Any

import torch
from torch._dynamo import config
from torch._dynamo.callback import callback_handler

_NAME = "record_runtime_overhead"
#: What the end of the compilation puts back.
_changed = ExitStack()


def leave_out_range() -> None:
    """Leaves the range out of the graph that Dynamo is compiling.  Call it inside the backend.

    Does nothing where no compilation would end, or where the range is off already.
    """
    inside = torch._guards.CompileContext.try_get() is not None
    if not inside or not getattr(config, _NAME, False):
        return
    if _put_back not in callback_handler.end_callbacks:  # torch._dynamo.reset forgets it
        callback_handler.register_end_callback(_put_back)
    _changed.enter_context(config.patch(_NAME, False))


def _put_back(_: Any) -> None:
    _changed.close()
