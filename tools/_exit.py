"""How the tools end: exit codes, and messages on stderr."""

import errno
import os
import sys
import traceback
from collections.abc import Callable

#: Exit codes: success (results agreed), failure of the input or of a pass, wrong command line.
OK, FAILED, USAGE = 0, 1, 2
#: The exit code that shells expect of a program that Ctrl-C ended.
INTERRUPTED = 130


class UsageError(Exception):
    """The command line asks for something that cannot be done.  The message is one sentence."""


def say(text: str, code: int) -> int:
    """Writes a line to stderr; returns the exit code."""
    print(text, file=sys.stderr)
    return code


class StdoutError(Exception):
    """Stdout is closed, full, or no longer read; ``__cause__`` is the error."""


def write_out(text: str | bytes) -> None:
    """Writes to stdout at once.  Raises ``StdoutError``."""
    try:
        if sys.stdout is None:  # closed by the shell
            raise OSError(errno.EBADF, os.strerror(errno.EBADF))
        if isinstance(text, bytes):
            sys.stdout.flush()
            sys.stdout.buffer.write(text)
        else:
            sys.stdout.write(text)
        sys.stdout.flush()
    except OSError as error:
        raise StdoutError(error.strerror or str(error)) from error


def ended(tool: str, body: Callable[[], int], *, debug: bool = False) -> int:
    """The exit code of ``body()``.  An exception that it raises becomes one sentence on stderr.

    A reader that closes the pipe (``| head``) is no error.  ``debug`` also prints the traceback.
    """
    if sys.stderr is None:  # closed by the shell: `print` would take stdout instead
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115  (it stays open)
    try:
        return body()
    except KeyboardInterrupt:
        return INTERRUPTED
    except StdoutError as error:
        if sys.stdout is not None:  # so that unwritten output is not tried again when the process ends
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(error.__cause__, BrokenPipeError):
            return OK
        return say(f"{tool}: error: cannot write to stdout: {error}", FAILED)
    except Exception as error:
        if debug:
            traceback.print_exception(error)
        return say(f"{tool}: error: {kind_and_text(error)}; this is a bug of {tool}", FAILED)


def kind_and_text(error: Exception) -> str:
    """The type and the text of an exception on one line: ``KeyError: 'd7'``."""
    return " ".join(f"{type(error).__name__}: {error}".split())
