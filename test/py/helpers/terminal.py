"""A terminal of its own (a pty) for a process.  Shared by tests, no test itself."""

import os
import pty
import sys


def on_terminal(arguments: list[str], **environment: str) -> str:
    """What a terminal gets of ``python ARGUMENTS``, which has to end well, outside of pytest and of a job."""
    found = []
    settings = {k: v for k, v in os.environ.items() if k not in ("PYTEST_VERSION", "RANK")}
    settings |= {"PYTHONPATH": os.pathsep.join(p for p in sys.path if p), "TERM": "xterm"} | environment
    process, terminal = pty.fork()
    if process == 0:
        os.execve(sys.executable, [sys.executable, *arguments], settings)
    while True:
        try:
            data = os.read(terminal, 4096)
        except OSError:  # the other side has closed it
            break
        if not data:
            break
        found.append(data)
    os.close(terminal)
    assert os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == 0, b"".join(found).decode()
    return b"".join(found).decode()
