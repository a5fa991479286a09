"""Watchers of a pipeline run: what ``--dump-dir`` and ``options={"dump": ...}`` write."""

import shlex
from dataclasses import field
from pathlib import Path

from ..compiler.base.dataclass import dataclass
from ..compiler.mlir import ir
from .pass_base import Pass
from .pipeline_text import pipeline_text

#: The script that makes each dump again from the one before, and says where one differs.
REPLAY = "replay.sh"
_HEAD = """\
# Runs each pass, with the options that it had, on the dump before it, and compares with the dump after it.
here=$(dirname "$0")
again() { # BEFORE AFTER PIPELINE
  ${FUSE_OPT:-fuse-opt} "$here/$1" --pass-pipeline="$3" --mlir-print-debuginfo | cmp - "$here/$2" || exit 1
}
"""


@dataclass
class DumpIR:
    """Writes the module before the first pass and after every pass: ``00-input.mlir``,
    ``01-fold-views.mlir``, ..; each parses back to the same bytes.  ``replay.sh`` has a line for each pass,
    with its options.
    """

    folder: Path
    written: list[Path] = field(default_factory=list)

    def before_any(self, module: ir.Module) -> None:
        """Writes the module that the first pass gets, or that runs as it is where there is no pass."""
        self.written.clear()
        self._write(0, "input", module)
        (self.folder / REPLAY).write_text(_HEAD, encoding="utf-8")

    def before_pass(self, number: int, p: Pass, module: ir.Module) -> None:
        if number == 0:
            self.before_any(module)

    def after_pass(self, number: int, p: Pass, module: ir.Module) -> None:
        before = self.written[-1].name
        self._write(number + 1, p.name, module)
        words = shlex.join([before, self.written[-1].name, pipeline_text([p])])
        with (self.folder / REPLAY).open("a", encoding="utf-8") as script:
            script.write(f"again {words}\n")

    def _write(self, number: int, name: str, module: ir.Module) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.folder / f"{number:02d}-{name}.mlir"
        path.write_text(
            module.operation.get_asm(enable_debug_info=True).rstrip("\n") + "\n", encoding="utf-8"
        )
        self.written.append(path)
