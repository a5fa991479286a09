"""``fuse-run FILE.mlir``: executes ``@main`` of a module of any level, on the CPU interpreter or on a GPU,
and prints or compares its results.  ``fuse-run --help`` lists the options.
"""

import argparse
import re
import sys

from ._bytecode import DamagedBytecode
from ._completion import complete
from ._exit import FAILED, ended, say
from ._source import read
from ._version import Version


def main(arguments: list[str] | None = None) -> int:
    """Runs the tool.  The exit code is 0 when the module ran and, with ``--compare``, agreed; 1 when it did
    not; 2 for a bad command line.
    """
    parser = _parser()
    complete(parser)
    options = parser.parse_args(arguments)
    return ended("fuse-run", lambda: _main(options), debug=options.debug)


def _main(options: argparse.Namespace) -> int:
    try:
        source = read(options.file)
    except (OSError, UnicodeDecodeError, DamagedBytecode) as error:
        return say(f"fuse-run: error: cannot read '{options.file}': {error}", FAILED)
    from ._run import run  # imported late: torch takes seconds to load, which --help does not need

    return run(source, options)


def _device(text: str) -> str:
    if text != "cpu" and not re.fullmatch(r"cuda(:\d+)?", text):
        raise argparse.ArgumentTypeError(f"expected cpu, cuda or cuda:N, got '{text}'")
    return text


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "fuse-run", description="Executes a module and prints or compares its results."
    )
    parser.add_argument("file", help="a file of text or bytecode, '-' for stdin")
    parser.add_argument("--version", action=Version)
    parser.add_argument(
        "--device", type=_device, default="cpu", help="cpu (the interpreter, the default), cuda or cuda:N"
    )
    parser.add_argument(
        "--input",
        action="append",
        default=[],
        metavar="FILE|NUMBER",
        help="an argument of @main, in order: .pt, .npy or a number",
    )
    parser.add_argument(
        "--plan", action="store_true", help="run the launch plan of a planned module instead of its @main"
    )
    parser.add_argument("--seed", type=int, default=0, help="seed of the inputs that are made")
    parser.add_argument(
        "--size",
        action="append",
        default=[],
        metavar="NAME=N",
        help="the size that made inputs have for a symbol",
    )
    parser.add_argument("--save", metavar="FILE.pt", help="write the list of results")
    parser.add_argument(
        "--compare", metavar="FILE.pt", help="compare the results with a list that --save wrote"
    )
    parser.add_argument(
        "--rtol", type=float, default=1e-5, help="relative tolerance of --compare (float results)"
    )
    parser.add_argument(
        "--atol", type=float, default=1e-6, help="absolute tolerance of --compare (float results)"
    )
    parser.add_argument("--full", action="store_true", help="print every element")
    parser.add_argument("--debug", action="store_true", help="print tracebacks of exceptions")
    return parser


if __name__ == "__main__":
    sys.exit(main())
