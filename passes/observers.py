"""Watchers of a pipeline run: what ``--dump-dir`` and ``options={"dump": ...}`` write."""

from dataclasses import field
from pathlib import Path

from ..compiler.base.dataclass import dataclass
from ..compiler.mlir import ir
from .pass_base import Pass


@dataclass
class DumpIR:
    """Writes the module before the first pass and after every pass: ``00-input.mlir``,
    ``01-fold-views.mlir``, ..; each parses back to the same bytes.
    """

    folder: Path
    written: list[Path] = field(default_factory=list)

    def before_any(self, module: ir.Module) -> None:
        """Writes the module that the first pass gets, or that runs as it is where there is no pass."""
        self._write(0, "input", module)

    def before_pass(self, number: int, p: Pass, module: ir.Module) -> None:
        if number == 0:
            self.before_any(module)

    def after_pass(self, number: int, p: Pass, module: ir.Module) -> None:
        self._write(number + 1, p.name, module)

    def _write(self, number: int, name: str, module: ir.Module) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.folder / f"{number:02d}-{name}.mlir"
        path.write_text(
            module.operation.get_asm(enable_debug_info=True).rstrip("\n") + "\n", encoding="utf-8"
        )
        self.written.append(path)
