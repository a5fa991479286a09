"""Who is told of the stages of a compilation: torch's trace, and the line on a terminal."""

from ..base.options import Options
from ..base.timing import WATCHERS, StageWatcher
from . import progress
from .torch_trace import StageEvents, tracing

_EVENTS = StageEvents()
_PROGRESS = progress.ProgressReport()


def watch_stages(options: Options) -> None:
    """Decides who watches from now on, this compilation and what its first call compiles."""
    watchers: list[StageWatcher] = [_EVENTS] if tracing() else []
    if options.progress and progress.wanted():
        watchers.append(_PROGRESS)
    WATCHERS[:] = watchers
