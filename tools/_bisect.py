"""``python -m fuse_mlir.bisect script.py``: the first decision that breaks an answer.

Decisions are asked in the order in which they are taken: rewrites of FX graphs, passes, and within a pass
that carries out many decisions, each of them alone: a fusion, a tile.  A rewrite is asked by running the
graph before and after it with torch; a pass by running the module with the interpreter, on the arguments of
the call that failed.  What is found is written as a module that replays.
"""

import argparse
import contextlib
import copy
import dataclasses
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch._subclasses.fake_tensor import unset_fake_temporarily

from ..compiler.analysis.program.provenance import lines
from ..compiler.base.dataclass import dataclass
from ..compiler.base.launch import line_text
from ..compiler.driver import compilation
from ..compiler.driver.graph_compilation import compile_graph
from ..compiler.frontend.importer.importer import ImportedGraph
from ..compiler.ir.context import make_context
from ..compiler.ir.kernel import is_tiled, string
from ..compiler.ir.storage import callee_name, functions_of
from ..compiler.mlir import ir
from ..compiler.rewrites.rewriting import Rewriting
from ..compiler.runtime.checks import numeric_check
from ..compiler.runtime.checks.outcomes import NumericMismatch
from ..compiler.runtime.errors import RunError
from ..passes.manager import PassManager
from ..passes.observers import import_folder
from ..passes.pass_base import Pass
from ..passes.pipeline_text import pipeline_text
from ..passes.tiling import apply_tiling
from ._bad_values import first_bad_value
from ._exit import FAILED, OK, USAGE, ended, kind_and_text, say
from ._failing_graph import Failure, difference, first_failure, made_inputs, results_of
from ._script import ScriptError, imports_of, make_folder, parser, replaced, taken_folder


def main(arguments: list[str] | None = None) -> int:
    """Runs the tool.  The exit code is 0 where every graph is right, 1 where one is wrong, or the script
    fails, 2 for a bad command line.
    """
    made = parser("bisect", "Names the first decision that breaks an answer.")
    made.add_argument(
        "--check-values",
        choices=("nan", "finite"),
        help="names instead the launch and the op that made the first NaN (or infinity)",
    )
    options = made.parse_args(arguments)
    with imports_of(options.script):
        return ended("fuse_mlir.bisect", lambda: _main(options))


def _main(options: argparse.Namespace) -> int:
    if (wrong := taken_folder(options.out)) is not None:
        return say(f"fuse_mlir.bisect: error: {wrong}", USAGE)
    try:
        if options.check_values is not None:
            return first_bad_value(options.script, options.arguments, options.check_values)
        with _checked_rewrites():
            failure = first_failure(options.script, options.arguments)
    except _WrongRewrite as found:
        return _told_rewrite(found, options.out)
    except ScriptError as error:
        return say(f"fuse_mlir.bisect: error: {error}", FAILED)
    if failure is None:
        return say("every graph of the script compiles, and computes what eager does", OK)
    print(f"the {failure.name} graph {failure.what}", flush=True)
    try:
        culprit = first_culprit(failure)
    except _WrongRewrite as found:
        return _told_rewrite(found, options.out)
    except _Elsewhere as error:
        return say(f"compiling it raises where no pass runs: {error}", FAILED)
    if culprit is None:
        return say(
            "no rewrite and no pass changes it: what is left is the launch plan and the compiled code", FAILED
        )
    print(culprit.text)
    print(f"wrote {write_module(culprit, make_folder('bisect', options.out))}")
    return FAILED


def _told_rewrite(found: "_WrongRewrite", out: str | None) -> int:
    print(f"the rewrite {found.name} breaks the answer: the graph then {found.what}")
    print(f"wrote {write_graphs(found, make_folder('bisect', out))}")
    return FAILED


class _WrongRewrite(BaseException):
    """A rewrite changed what a graph computes."""

    def __init__(
        self, name: str, before: torch.fx.GraphModule, after: torch.fx.GraphModule, what: str
    ) -> None:
        self.name, self.before, self.after, self.what = name, before, after, what


class _Elsewhere(Exception):
    """Compiling the graph raises where neither a rewrite nor a pass runs."""


@contextlib.contextmanager
def _checked_rewrites(inputs: Sequence[Any] | None = None) -> Iterator[None]:
    """Inside, each rewrite that fires is checked, with the graph's arguments or with made ones."""
    run = Rewriting.run

    def checked(self: Rewriting, rewrite: Any, subject: Any) -> None:
        gm, told = self._gm, len(self._remarks.items)
        before = copy.deepcopy(gm)
        run(self, rewrite, subject)
        if len(self._remarks.items) == told:
            return
        placeholders = len(gm.graph.find_nodes(op="placeholder"))
        given = inputs if inputs is not None and len(inputs) == placeholders else made_inputs(before)
        after = copy.deepcopy(gm)
        after.recompile()
        with unset_fake_temporarily(), torch.no_grad():
            try:
                what = difference(before, given, *results_of(after, given))
            except Exception:  # what torch cannot run on such arguments says nothing of the rewrite
                return
        if what is not None:
            raise _WrongRewrite(rewrite.name, before, after, what)

    with replaced(Rewriting, "run", checked):
        yield


@dataclass(frozen=True)
class Culprit:
    """text: what is told.  before: the module that the pass gets, as text; only what breaks the answer is
    decided in it.  inputs: of ``@main``.
    """

    text: str
    step: Pass
    before: str
    inputs: tuple[Any, ...]
    objects: Mapping[str, Any]

    def broken_by(self, before: str, change: Callable[[ir.Module], None]) -> bool:
        """Whether the answer of a module, as text, is another after a change."""
        module = parsed(before)
        verifier = numeric_check.NumericVerifier(self.inputs, objects=self.objects)
        with module.context, ir.Location.unknown(module.context):
            verifier.before_pass(0, self.step, module)
            change(module)
            try:
                verifier.after_pass(0, self.step, module)
            except (NumericMismatch, RunError):
                return True
        return False


class _Verifier(numeric_check.NumericVerifier):
    """Runs the module on the arguments of the call that failed, and knows which pass runs."""

    given: Sequence[Any] | None = None
    latest: "_Verifier | None" = None

    def __init__(self, **settings: Any) -> None:
        super().__init__(_Verifier.given, **settings)
        _Verifier.latest, self.running = self, None

    def before_pass(self, number: int, p: Any, module: ir.Module) -> None:
        super().before_pass(number, p, module)
        self.running = p

    def after_pass(self, number: int, p: Any, module: ir.Module) -> None:
        super().after_pass(number, p, module)
        self.running = None

    def culprit(self, error: Exception) -> Culprit | None:
        """The pass that runs, where one does, and the module before it."""
        if self.running is None or self.inputs is None:
            return None
        what = "breaks the answer" if isinstance(error, NumericMismatch | RunError) else "raises"
        text = f"the pass {self.running.name} {what}: {type(error).__name__}: {error}"
        before = ir.Module.parse(self._code, make_context())
        asm = before.operation.get_asm(enable_debug_info=True)
        return Culprit(text, self.running, asm, tuple(self.inputs), self._objects or {})


def first_culprit(failure: Failure) -> Culprit | None:
    """The first decision that breaks the answer of a graph; None where neither a rewrite nor a pass does.
    Raises ``_WrongRewrite``, and ``_Elsewhere`` where compiling it raises outside of the passes.
    """
    import_ = compilation._import

    def importing(request: Any) -> ImportedGraph:
        imported = import_(request)
        _Verifier.given = [*(failure.inputs[i] for i in imported.inputs), *imported.constants.values()]
        return imported

    _Verifier.latest = None
    with (
        replaced(numeric_check, "NumericVerifier", _Verifier),
        replaced(compilation, "_import", importing),
        _checked_rewrites(failure.inputs),
    ):
        options = dataclasses.replace(failure.options, verify="numeric")
        try:
            compile_graph(copy.deepcopy(failure.gm), failure.inputs, options, name=failure.name)
        except Exception as error:
            culprit = None if _Verifier.latest is None else _Verifier.latest.culprit(error)
            if culprit is None:
                raise _Elsewhere(kind_and_text(error)) from error
        else:
            return None
    return _single(culprit)


def _single(whole: Culprit) -> Culprit:
    """The one decision of a pass that breaks the answer alone, where there is one."""
    decisions = {"materialize-fusion": _fusions, "apply-tiling": _tiles}.get(whole.step.name)
    for text, before, change in decisions(whole) if decisions is not None else ():
        if whole.broken_by(before, change):
            return dataclasses.replace(
                whole, text=f"{text} breaks the answer (pass {whole.step.name})", before=before
            )
    return dataclasses.replace(whole, text=whole.text + _changed(whole))


def _changed(whole: Culprit) -> str:
    """What of the module a pass changes, with the user's lines; "" where it raises."""
    before, after = parsed(whole.before), parsed(whole.before)
    try:
        PassManager([whole.step], verify_each=False).run(after)
    except Exception:
        return ""
    known = {name: str(func) for name, func in functions_of(before).items()}
    changed = [n for n, func in functions_of(after).items() if known.get(n) != str(func) and n != "main"]
    if not changed:
        return ""
    where = dict.fromkeys(
        line_text(line)
        for call in _calls(after)
        if callee_name(call) in changed
        for line in lines(call.location)
    )
    shown = ", ".join(f"@{name}" for name in changed[:3]) + (" and others" if len(changed) > 3 else "")
    return f"; it changes {shown}" + (f" at {', '.join(where)}" if where else "")


#: What is told of a decision, the module in which it is taken, and what carries it out.
_Decision = tuple[str, str, Callable[[ir.Module], None]]


def _fusions(whole: Culprit) -> Iterator[_Decision]:
    """Each group of kernels, alone in its module."""

    def carry_out(module: ir.Module) -> None:
        PassManager([whole.step], verify_each=False).run(module)

    known = parsed(whole.before)  # its operations do not keep it
    groups = {str(call.attributes[_GROUP]) for call in _calls(known) if _GROUP in call.attributes}
    for chosen in sorted(groups):
        module = parsed(whole.before)
        names, where = [], dict[str, None]()
        for call in _calls(module):
            if _GROUP not in call.attributes:
                continue
            if str(call.attributes[_GROUP]) == chosen:
                names.append(callee_name(call))
                where.update(dict.fromkeys(map(line_text, lines(call.location))))
            else:
                del call.attributes[_GROUP]
        at = f" at {', '.join(where)}" if where else ""
        text = module.operation.get_asm(enable_debug_info=True)
        yield f"the fusion of {' + '.join(names)}{at}", text, carry_out


def _tiles(whole: Culprit) -> Iterator[_Decision]:
    """The tile of each kernel.  The module has all tiles, as the pass wants."""
    module = parsed(whole.before)  # its operations do not keep it
    for kernel in functions_of(module).values():
        if _TILE not in kernel.attributes or is_tiled(kernel):
            continue
        name, tile = string(kernel.attributes["sym_name"]), kernel.attributes[_TILE]

        def carry_out(module: ir.Module, name: str = name) -> None:
            apply_tiling.apply_tiling(functions_of(module)[name])

        yield f"the tile of kernel @{name}, {tile},", whole.before, carry_out


_GROUP, _TILE = "fuse.group", "fuse.tile"


def _calls(module: ir.Module) -> Iterator[ir.Operation]:
    for op in functions_of(module)["main"].regions[0].blocks[0].operations:
        if op.operation.name == "func.call":
            yield op.operation


def parsed(text: str) -> ir.Module:
    return ir.Module.parse(text, make_context())


def write_module(culprit: Culprit, folder: Path) -> Path:
    """Writes the module before the pass, its arguments, and a script that replays both into the folder; the
    script's path.
    """
    (folder / "before.mlir").write_text(culprit.before, encoding="utf-8")
    given = []
    for number, value in enumerate(culprit.inputs):
        given.append(str(value))
        if isinstance(value, torch.Tensor):
            given[-1] = f"input-{number}.pt"
            torch.save(value, folder / given[-1])
    inputs = " ".join(f"--input {each}" for each in given)
    pipeline = shlex.quote(pipeline_text([culprit.step]))
    paths = dict.fromkeys([import_folder(culprit.step), str(Path(__file__).absolute().parents[2])])
    path, python = shlex.quote(":".join(paths)), shlex.quote(sys.executable)
    (folder / "replay.sh").write_text(
        _REPLAY.format(text=culprit.text, inputs=inputs, pipeline=pipeline, path=path, python=python),
        encoding="utf-8",
    )
    return folder / "replay.sh"


#: The Python that runs the tools.  Its import path has this package, and the script's own passes.
_REPLAY = """\
# Made by `python -m fuse_mlir.bisect`: {text}
# Runs the module before and after the pass, and compares.
cd "$(dirname "$0")" || exit 2
export PYTHONPATH={path}${{PYTHONPATH:+:$PYTHONPATH}}
fuse_run() {{ ${{FUSE_RUN:-{python} -m fuse_mlir.tools.fuse_run}} "$@"; }}
fuse_opt() {{ ${{FUSE_OPT:-{python} -m fuse_mlir.tools.fuse_opt}} "$@"; }}
fuse_run before.mlir {inputs} --save before.pt &&
  fuse_opt before.mlir --pass-pipeline={pipeline} --mlir-print-debuginfo -o after.mlir &&
  fuse_run after.mlir {inputs} --compare before.pt
"""


def write_graphs(wrong: _WrongRewrite, folder: Path) -> Path:
    """Writes the graph before and after a rewrite, as Python that one can read; their folder."""
    for name, gm in (("before.py", wrong.before), ("after.py", wrong.after)):
        (folder / name).write_text(gm.print_readable(print_output=False), encoding="utf-8")
    return folder


if __name__ == "__main__":
    sys.exit(main())
