"""Makes parallel processes take turns when Inductor's max-autotune times candidates during compilation."""

import contextlib
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

from .turns import Turns

_TIMES = "benchmark_gpu"


@contextlib.contextmanager
def inductor_searches_in_turns(turns: Turns) -> Iterator[None]:
    """Inside, every measurement of Inductor's benchmarkers waits until no other process makes one."""
    from torch._inductor.runtime import benchmarking

    classes = [
        found for found in vars(benchmarking).values() if isinstance(found, type) and _TIMES in vars(found)
    ]
    with contextlib.ExitStack() as stack:
        for found in classes:
            stack.enter_context(mock.patch.object(found, _TIMES, _in_turns(vars(found)[_TIMES], turns)))
        yield


def _in_turns(measure: Callable[..., Any], turns: Turns) -> Callable[..., Any]:
    def measured(*args: Any, **kwargs: Any) -> Any:
        with turns.searching():
            return measure(*args, **kwargs)

    return measured
