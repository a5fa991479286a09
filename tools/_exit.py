"""How the tools end: exit codes, and what is said on stderr."""

import sys

#: Exit codes: all went well (and agreed), the input or a pass failed, the command line makes no sense.
OK, FAILED, USAGE = 0, 1, 2


class UsageError(Exception):
    """The command line asks for something that cannot be done: one sentence."""


def say(text: str, code: int) -> int:
    """Writes a line to stderr; returns the exit code."""
    print(text, file=sys.stderr)
    return code
