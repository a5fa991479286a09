"""``fuse-opt``: reads a module, runs passes over it, prints it; mlir-opt for this project.

``fuse-opt --help`` lists the options.
"""

import sys

from ._opt import run


def main(arguments: list[str] | None = None) -> int:
    """Runs the tool on ``arguments`` (the command line's by default); 0 when everything went as it should."""
    return run(sys.argv[1:] if arguments is None else arguments)


if __name__ == "__main__":
    sys.exit(main())
