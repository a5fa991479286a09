"""``python -m fuse_mlir.bisect --check-values nan script.py``: which launch made the first NaN, and which op.

The script runs with its own options and ``check_values``, and goes on where a launch only hands on what it
was given.  A fused launch computes many ops; its graph then runs once more, a launch for each op, with the
interpreter, on the arguments of the call.
"""

import copy
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Literal

import torch

from ..compiler.base.launch import line_text
from ..compiler.base.options import Options
from ..compiler.base.remarks import Remarks
from ..compiler.driver import compilation
from ..compiler.driver.graph_compilation import compile_graph
from ..compiler.fx.saved_strides import ALL_KEPT, KeptStrides
from ..compiler.runtime.checks.launch_watch import BadValue, LaunchWatch
from ..compiler.runtime.gpu import load
from ._exit import FAILED, OK, say
from ._failing_graph import alone, copies, scripts_graphs
from ._script import replaced, run_script

Values = Literal["nan", "finite"]


class _Recorder(LaunchWatch):
    """Keeps what it finds in ``found``, and lets the program run on."""

    found: ClassVar[list[BadValue]] = []

    def __call__(self, number: int, read: Sequence[Any], written: Sequence[Any] | None) -> None:
        try:
            super().__call__(number, read, written)
        except BadValue as bad:
            self.found.append(bad)


class _Made(BaseException):
    """Ends the script: a launch of the graph called ``name`` made a bad value.  op: the one of its ops that
    did, where it computes several.
    """

    def __init__(self, bad: BadValue, op: BadValue | None, name: str) -> None:
        self.bad, self.op, self.name = bad, op, name


def first_bad_value(script: str, arguments: Sequence[str], values: Values) -> int:
    """Runs a script and says which launch first wrote a bad value that it had not read.  The exit code is 0
    where none did.  Raises ``ScriptError``.
    """
    handed_on: list[str] = []  #: the first launch that was given such a value

    def compile_(
        gm: torch.fx.GraphModule,
        example_inputs: Sequence[Any],
        options: Options,
        *,
        name: str = "graph",
        kept: KeptStrides = ALL_KEPT,
        remarks: Remarks | None = None,
    ) -> Any:
        original = copy.deepcopy(gm)
        options = replace(alone(options), check_values=values, cudagraphs=False, output="plan")
        compiled = compile_graph(gm, example_inputs, options, name=name, kept=kept, remarks=remarks)
        run, apart = compiled.call, _OpsApart(original, options)

        def call(args: list[Any]) -> list[Any]:
            given = copies(args)
            _Recorder.found.clear()
            results = list(run(args))
            bad_launches = [*_Recorder.found]
            ops = apart.run(given) if bad_launches else []
            for bad in bad_launches:
                nodes = {*bad.launch.nodes}
                op = next((op for op in ops if op.made and nodes.issuperset(op.launch.nodes)), None)
                if bad.made or op is not None:
                    raise _Made(bad, op if len(nodes) > 1 else None, name)
                handed_on.append(f"the {name} graph was given one: {bad}")
            return results

        call._boxed_call = True  # type: ignore[attr-defined]
        compiled.call = call
        return compiled

    try:
        with (
            scripts_graphs(compile_),
            replaced(compilation, "LaunchWatch", _Recorder),
            replaced(load, "LaunchWatch", _Recorder),
        ):
            run_script(script, arguments)
    except _Made as made:
        print(f"the {made.name} graph: {made.bad}")
        if made.op is not None:
            launch = made.op.launch
            where = ", ".join(map(line_text, launch.lines))
            print(f"in it, {', '.join(launch.nodes)} of {where} makes the first {made.op.kind}")
        return FAILED
    what = {"nan": "NaN", "finite": "NaN or infinity"}[values]
    if handed_on:
        print(f"no launch made a {what}: what is in front of the graph did; {handed_on[0]}")
        return FAILED
    return say(f"no launch of the script wrote a {what}", OK)


class _OpsApart:
    """A graph with a launch for each op."""

    def __init__(self, gm: torch.fx.GraphModule, options: Options) -> None:
        self._gm = gm
        self._options = replace(options, execute="interpreter", interpret_level="graph", pipeline=None)
        self._call: Callable[[list[Any]], Any] | None = None

    def run(self, arguments: Sequence[Any]) -> list[BadValue]:
        """The ops that write a bad value."""
        if self._call is None:
            self._call = compile_graph(self._gm, arguments, self._options).call
        _Recorder.found.clear()
        self._call(copies(arguments))
        return [*_Recorder.found]
