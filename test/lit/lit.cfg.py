"""Configuration of lit: the tools run as modules of the interpreter that runs lit, so PATH plays no part.

A RUN line may say `fuse-opt`, `fuse-run`, `FileCheck` and `%python`; `not` is built into lit. A file under
`Inputs/` is data for tests, not a test.
"""

# ruff: noqa: F821  (lit defines `config` and `lit_config` before it runs this file)

import atexit
import importlib.util
import os
import shlex
import shutil
import socket
import subprocess
import sys
import tempfile

import lit.formats

config.name = "fuse-mlir"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".py"]
config.excludes = ["Inputs", "lit.cfg.py"]
config.test_source_root = os.path.dirname(os.path.abspath(__file__))
config.test_exec_root = os.path.join(config.test_source_root, "..", "..", "build", "lit")

for module in ("fuse_mlir", "filecheck"):
    if importlib.util.find_spec(module) is None:
        lit_config.fatal(f"{sys.executable} cannot import {module}: use `./run lit`")

# lit starts tests from a bare environment.
config.environment["PYTHONPATH"] = os.environ.get("PYTHONPATH", "")
config.environment["OMP_NUM_THREADS"] = "1"


def start_server() -> str:
    """Starts what runs the tools; the address at which it is asked.  It ends with this process, which holds
    the other end of its stdin.
    """
    folder = tempfile.mkdtemp(prefix="fuse-lit-")
    atexit.register(shutil.rmtree, folder)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(os.path.join(folder, "tools"))
    listener.listen(128)
    command = [sys.executable, os.path.join(INPUTS, "tool_server.py"), str(listener.fileno())]
    server = subprocess.Popen(
        command, stdin=subprocess.PIPE, env=config.environment, pass_fds=[listener.fileno()]
    )
    atexit.register(server.communicate)
    return listener.getsockname()


INPUTS = os.path.join(config.test_source_root, "Inputs")
python = shlex.quote(sys.executable)
client = f"{python} -I -S {shlex.quote(os.path.join(INPUTS, 'tool_client.py'))} {shlex.quote(start_server())}"
TOOLS = {
    "fuse-opt": f"{client} fuse_mlir.tools.fuse_opt",
    "fuse-run": f"{client} fuse_mlir.tools.fuse_run",
    "FileCheck": f"{client} filecheck",
}
config.substitutions.append(("%python", python))
for tool, command in TOOLS.items():
    # Only a command is replaced, not a part of a path or of a longer word, as in `%S/Inputs/fuse-opt.mlir`.
    config.substitutions.append((rf"(?<![\w./%-]){tool}(?![\w./-])", command))
