"""Runs the tools of lit tests.  Each run is a process of its own, forked from this one, which has imported
what the tool does: a new interpreter that imports it takes longer than most tests.

usage: tool_server.py FD    a listening socket, on which ``tool_client.py`` asks.  Ends when its stdin does.
"""

import gc
import importlib
import marshal
import os
import runpy
import select
import signal
import socket
import sys
from typing import Any

#: What is imported before a module runs for the first time; not the module itself: it runs as ``__main__``.
IMPORTED = {
    "filecheck": ("filecheck.main",),
    "fuse_mlir.tools.fuse_opt": ("fuse_mlir.tools._opt", "fuse_mlir.passes.pipeline", "written_dialects"),
    "fuse_mlir.tools.fuse_run": ("fuse_mlir.tools._run",),
}


def serve(listener: socket.socket) -> None:
    """Answers until stdin ends."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for the processes
    while True:
        ready, _, _ = select.select([listener, sys.stdin], [], [])
        if listener not in ready:
            return
        connection, _ = listener.accept()
        (arguments, folder, environment), streams = _request(connection)
        for name in IMPORTED.get(arguments[0], ()):
            importlib.import_module(name)
        gc.freeze()
        if os.fork() == 0:
            gc.disable()  # it ends before the memory of a collection is missed
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            listener.close()
            for number, stream in enumerate(streams):
                os.dup2(stream, number)
                os.close(stream)
            os.chdir(folder)
            os.environ.clear()
            os.environ.update(environment)
            code = _run(arguments)
            connection.sendall(bytes([code]))
            os._exit(code)
        for stream in streams:
            os.close(stream)
        connection.close()


def _request(connection: socket.socket) -> tuple[Any, list[int]]:
    """(arguments, folder, environment), and the standard streams."""
    size, streams, _, _ = socket.recv_fds(connection, 8, 3)
    with connection.makefile("rb") as data:
        return marshal.loads(data.read(int.from_bytes(size, "little"))), streams


def _run(arguments: list[str]) -> int:
    """The exit code of ``python -m`` with these arguments."""
    sys.argv = arguments
    sys.stdin = open(0, closefd=False)  # noqa: SIM115  (they stay open)
    sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", 1, errors="backslashreplace", closefd=False)  # noqa: SIM115
    try:
        runpy.run_module(arguments[0], run_name="__main__", alter_sys=True)
        code: Any = 0
    except SystemExit as end:
        code = end.code or 0
        if not isinstance(code, int):
            print(code, file=sys.stderr)
            code = 1
    except BaseException:
        sys.excepthook(*sys.exc_info())
        code = 1
    sys.stdout.flush()
    return code & 255


if __name__ == "__main__":
    serve(socket.socket(fileno=int(sys.argv[1])))
