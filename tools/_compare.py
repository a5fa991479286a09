"""``python -m fuse_mlir.report compare A B -o OUT``: a page on what differs between two reports."""

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..compiler.base.options import OptionError
from ..compiler.report.page.comparison import comparison
from ..compiler.report.page.page_file import place_of, read_graphs, write_comparison
from ._exit import FAILED, OK, USAGE, ended, say, write_out

#: In the order in which they are printed; ``totals`` says what they mean.
_SUMS = ("launches", "us", "bytes", "peak")


def main(arguments: list[str] | None = None) -> int:
    """Runs the tool.  The exit code is 0, 1 where the page cannot be written, 2 where a report cannot be read
    or something else is where the page is to be.
    """
    parser = argparse.ArgumentParser(
        prog="python -m fuse_mlir.report", description="Works on pages that option 'report' has written."
    )
    compare = parser.add_subparsers(required=True, metavar="compare").add_parser(
        "compare", help="a page on what differs between two reports, and its sums on stdout"
    )
    compare.add_argument("before", help="a report")
    compare.add_argument("after", help="another one: of another version, or with other options")
    compare.add_argument("-o", dest="output", required=True, metavar="FILE", help="the page to write")
    options = parser.parse_args(arguments)
    return ended("fuse_mlir.report", lambda: _compare(options))


def _compare(options: argparse.Namespace) -> int:
    graphs = []
    for name in (options.before, options.after):
        if Path(name).resolve() == Path(options.output).resolve():
            return _error(f"-o: '{options.output}' is one of the reports to compare", USAGE)
        try:
            graphs.append(read_graphs(Path(name).read_text(encoding="utf-8")))
        except OSError as error:
            return _error(f"cannot read '{name}': {error.strerror}", USAGE)
        except ValueError as error:
            return _error(f"cannot read '{name}': {error}", USAGE)
    try:
        place = place_of(options.output, "-o")
    except OptionError as error:
        return _error(str(error), USAGE)
    found = comparison(*graphs)
    try:
        write_comparison(place, [options.before, options.after], found)
    except OptionError as error:
        return _error(str(error), FAILED)
    write_out("".join(f"{line}\n" for line in _lines(found)))
    return OK


def _lines(found: Sequence[Mapping[str, Any]]) -> list[str]:
    """The sums of each pair of graphs."""
    lines = []
    for graph in found:
        before, after = graph["before"] or {}, graph["after"] or {}
        sums = [f"{name} {_number(before, name)} -> {_number(after, name)}" for name in _SUMS]
        changes = [launch["change"] for launch in graph["launches"]]
        counts = [f"{changes.count(change)} {change}" for change in ("added", "removed", "changed")]
        lines.append(f"{graph['name']}: {', '.join(sums)}; launches: {', '.join(counts)}")
    return lines


def _number(sums: Mapping[str, float], name: str) -> str:
    return f"{sums[name]:.10g}" if name in sums else "none"


def _error(text: str, code: int) -> int:
    return say(f"fuse_mlir.report: error: {text}", code)
