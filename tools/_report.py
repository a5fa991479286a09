"""``fuse-opt --report FILE``: the page of option ``report`` for the modules of a file."""

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..compiler.base.options import OptionError
from ._command_line import hardware_of
from ._exit import UsageError
from ._session import PartOutcome

if TYPE_CHECKING:  # a report alone needs it
    from ..compiler.report.page.levels import LevelTexts


def check_report(options: argparse.Namespace) -> None:
    """Raises ``UsageError`` where no report can be written, or where another file would be lost."""
    from ..compiler.report.page.page_file import place_of

    for name, what in ((options.input, "input"), (options.output, "output")):
        if name != "-" and Path(options.report).resolve() == Path(name).resolve():
            raise UsageError(f"cannot write the report to '{options.report}': it is the {what}")
    try:
        place_of(options.report, "--report")
    except OptionError as error:
        raise UsageError(str(error)) from None


def level_texts(options: argparse.Namespace, passes: int) -> "LevelTexts":
    """What keeps the IR of one part: before the first pass, after the last, and at the levels between."""
    from ..compiler.report.page.levels import LevelTexts
    from ..passes.pipeline import Settings, levels_reached

    level = options.default_pipeline
    reached = (
        {} if level is None else levels_reached(level, Settings(options.hardware, rounding=options.rounding))
    )
    return LevelTexts("input", reached or {passes - 1: "result"})


def write_report(
    options: argparse.Namespace,
    name: str,
    outcomes: Sequence[PartOutcome],
    levels: Mapping[int, "LevelTexts"],
) -> None:
    """Writes the results of all parts, one graph each.  ``name``: of the input.  levels: of the parts, by
    their numbers.  Raises ``OptionError``.
    """
    from ..compiler.report.page.data import graph_data
    from ..compiler.report.page.page_file import place_of, write_page

    hardware = hardware_of(options.hardware)
    graphs = []
    for number, outcome in enumerate(outcomes):
        assert outcome.module is not None, "a report is written where all parts are good"
        part = f"{name}, part {number}" if len(outcomes) > 1 else name
        timing = outcome.timing.tree()
        texts = levels[number].texts
        graphs.append(graph_data(part, outcome.module, outcome.remarks, timing, hardware, levels=texts))
    write_page(place_of(options.report, "--report"), graphs)
