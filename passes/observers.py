"""Watchers of a pipeline run: what ``--dump-dir`` and ``options={"dump": ...}`` write."""

import shlex
import sys
from dataclasses import field
from pathlib import Path

from ..compiler.base.dataclass import dataclass
from ..compiler.mlir import ir
from .pass_base import Pass
from .pipeline_text import pipeline_text

#: The folder on Python's import path that has this package.
_OURS = str(Path(__file__).absolute().parents[2])
#: The script that makes each dump again from the one before, and says where one differs.
REPLAY = "replay.sh"
_HEAD = """\
# Runs each pass, with the options that it had, on the dump before it, and compares with the dump after it.
here=$(dirname "$0")
export PYTHONPATH={path}${{PYTHONPATH:+:$PYTHONPATH}}
again() {{ # BEFORE AFTER PIPELINE
  ${{FUSE_OPT:-{python} -m fuse_mlir.tools.fuse_opt}} "$here/$1" --pass-pipeline="$3" --mlir-print-debuginfo |
    cmp - "$here/$2" || exit 1
}}
"""


def import_folder(p: Pass) -> str:
    """The folder on Python's import path where the class of a pass was found."""
    module = sys.modules[type(p).__module__]
    return str(Path(str(module.__file__)).absolute().parents[module.__name__.count(".")])


@dataclass
class DumpIR:
    """Writes the module before the first pass and after every pass: ``00-input.mlir``,
    ``01-fold-views.mlir``, ..; each parses back to the same bytes.  ``replay.sh`` has a line for each pass,
    with its options, and imports each pass from where it was found.
    """

    folder: Path
    written: list[Path] = field(default_factory=list)
    _imported: set[str] = field(default_factory=set)  #: folders that ``replay.sh`` imports from

    def before_any(self, module: ir.Module) -> None:
        """Writes the module that the first pass gets, or that runs as it is where there is no pass."""
        self.written.clear()
        self._imported = {_OURS}
        self._write(0, "input", module)
        text = _HEAD.format(path=shlex.quote(_OURS), python=shlex.quote(sys.executable))
        (self.folder / REPLAY).write_text(text, encoding="utf-8")

    def before_pass(self, number: int, p: Pass, module: ir.Module) -> None:
        if number == 0:
            self.before_any(module)

    def after_pass(self, number: int, p: Pass, module: ir.Module) -> None:
        before = self.written[-1].name
        self._write(number + 1, p.name, module)
        words = shlex.join([before, self.written[-1].name, pipeline_text([p])])
        folder = import_folder(p)
        with (self.folder / REPLAY).open("a", encoding="utf-8") as script:
            if folder not in self._imported:
                script.write(f"PYTHONPATH={shlex.quote(folder)}:$PYTHONPATH\n")
            script.write(f"again {words}\n")
        self._imported.add(folder)

    def _write(self, number: int, name: str, module: ir.Module) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.folder / f"{number:02d}-{name}.mlir"
        path.write_text(
            module.operation.get_asm(enable_debug_info=True).rstrip("\n") + "\n", encoding="utf-8"
        )
        self.written.append(path)
