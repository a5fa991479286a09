"""The observers with which ``fuse-opt`` watches a pipeline.

They print IR before and after passes, and write the reproducer of a crash.
"""

from collections.abc import Callable
from dataclasses import field
from itertools import count
from pathlib import Path

from ..compiler.base.dataclass import dataclass
from ..compiler.mlir import ir
from ..passes.pass_base import Pass
from ..passes.pipeline_text import pipeline_text
from ._reproducer import reproducer_text


class Watcher:
    """An observer that is also told of failures; by default it does nothing."""

    def before_pass(self, number: int, p: Pass, module: ir.Module) -> None:
        """Called before pass ``number`` (from 0) runs."""

    def after_pass(self, number: int, p: Pass, module: ir.Module) -> None:
        """Called after the pass ran and the module was verified."""

    def failed(self, p: Pass, module: ir.Module) -> None:
        """Called when the pass, or a check after it, failed.  The module may be partly changed."""

    def finished(self) -> None:
        """Called after the last pass when none failed."""


@dataclass
class Progress(Watcher):
    """Records which pass is running."""

    running: Pass | None = None

    def before_pass(self, number: int, p: Pass, module: ir.Module) -> None:
        self.running = p


@dataclass
class PrintIR(Watcher):
    """Prints the module around passes, under mlir-opt's banners.

    ``before`` and ``after`` are names of passes.
    """

    text: Callable[[ir.Module], str]
    write: Callable[[str], object]
    before: frozenset[str] = frozenset()
    after: frozenset[str] = frozenset()
    before_all: bool = False
    after_all: bool = False
    after_failure: bool = False

    def before_pass(self, number: int, p: Pass, module: ir.Module) -> None:
        if self.before_all or p.name in self.before:
            self._print("Before", p, module)

    def after_pass(self, number: int, p: Pass, module: ir.Module) -> None:
        if self.after_all or p.name in self.after:
            self._print("After", p, module)

    def failed(self, p: Pass, module: ir.Module) -> None:
        if self.after_all or self.after_failure or p.name in self.after:
            self._print("After", p, module, " Failed")

    def _print(self, when: str, p: Pass, module: ir.Module, how: str = "") -> None:
        banner = f"// -----// IR Dump {when} {type(p).__name__}{how} ({p.name}) //----- //"
        self.write(f"{banner}\n{self.text(module)}\n\n")


@dataclass
class WriteReproducer(Watcher):
    """Writes to ``path`` the module before the pass that failed, and the passes from that one on.

    Until a pass fails, this text is in a new file beside it, ``path.running``.  It is written before each
    pass, so that it exists even if the process dies in the pass.  A file at ``path`` is left alone unless a
    pass fails.
    """

    path: Path
    passes: list[Pass]
    verify_each: bool
    kept: bool = field(default=False, init=False)
    running: Path | None = field(default=None, init=False)

    def before_pass(self, number: int, p: Pass, module: ir.Module) -> None:
        if self.running is None:
            self.running = _new_file(self.path.with_name(f"{self.path.name}.running"))
        text = module.operation.get_asm(enable_debug_info=True)
        rest = pipeline_text(self.passes[number:])
        self.running.write_text(reproducer_text(text, rest, verify_each=self.verify_each), encoding="utf-8")

    def failed(self, p: Pass, module: ir.Module) -> None:
        if self.running is not None:
            self.running.replace(self.path)
            self.kept = True

    def finished(self) -> None:
        if self.running is not None:
            self.running.unlink()


def _new_file(path: Path) -> Path:
    """Creates an empty file with a name that was not taken: ``path``, or ``path-1``, ``path-2``, .."""
    for number in count():
        candidate = path.with_name(f"{path.name}-{number}") if number else path
        try:
            candidate.touch(exist_ok=False)
        except FileExistsError:
            continue
        return candidate
    raise AssertionError("count() has no end")
