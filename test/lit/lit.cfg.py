"""Configuration of lit: the tools run as modules of the interpreter that runs lit, so PATH plays no part.

A RUN line may say `fuse-opt`, `fuse-run`, `FileCheck` and `%python`; `not` is built into lit. A file under
`Inputs/` is data for tests, not a test.
"""

# ruff: noqa: F821  (lit defines `config` and `lit_config` before it runs this file)

import importlib.util
import os
import shlex
import sys

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

python = shlex.quote(sys.executable)
TOOLS = {
    "fuse-opt": f"{python} -m fuse_mlir.tools.fuse_opt",
    "fuse-run": f"{python} -m fuse_mlir.tools.fuse_run",
    "FileCheck": f"{python} -m filecheck",
}
config.substitutions.append(("%python", python))
for tool, command in TOOLS.items():
    # Only a command is replaced, not a part of a path or of a longer word, as in `%S/Inputs/fuse-opt.mlir`.
    config.substitutions.append((rf"(?<![\w./%-]){tool}(?![\w./-])", command))
