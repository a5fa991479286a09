"""``python -m fuse_mlir.minify script.py``: the smallest part of a graph that still fails, by functorch.

It keeps the script's options, and writes ``minified.py``, which fails as the script does, beside the
tensors that it needs.
"""

import argparse
import contextlib
import io
import sys
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import torch
from functorch.compile import minifier
from torch.fx.experimental.proxy_tensor import make_fx

from ..compiler.base.options import Options
from ._exit import FAILED, OK, USAGE, ended, say
from ._failing_graph import Failure, alone, first_failure, what_fails
from ._script import ScriptError, imports_of, make_folder, parser, taken_folder

_NAME, _TENSORS = "minified.py", "tensors.pt"


def main(arguments: list[str] | None = None) -> int:
    """Runs the tool.  The exit code is 0 where every graph is right, 1 where one fails, or the script does,
    2 for a bad command line.
    """
    options = parser("minify", "Finds the smallest graph of a script that fails.").parse_args(arguments)
    with imports_of(options.script):
        return ended("fuse_mlir.minify", lambda: _main(options))


def _main(options: argparse.Namespace) -> int:
    if (wrong := taken_folder(options.out)) is not None:
        return say(f"fuse_mlir.minify: error: {wrong}", USAGE)
    try:
        failure = first_failure(options.script, options.arguments)
    except ScriptError as error:
        return say(f"fuse_mlir.minify: error: {error}", FAILED)
    if failure is None:
        return say("every graph of the script compiles, and computes what eager does", OK)
    print(f"the {failure.name} graph of {len(failure.gm.graph.nodes)} nodes {failure.what}", flush=True)
    small = minified(failure)
    if small is None:
        return say("alone, the graph does not fail: what is around it matters", FAILED)
    path = write(small, make_folder("minify", options.out))
    nodes = [node.name for node in small.gm.graph.nodes if node.op == "call_function"]
    print(f"of {', '.join(nodes)} it still {small.what}\nwrote {path}")
    return FAILED


def minified(failure: Failure) -> Failure | None:
    """The smallest graph that fails in the same way; None where the graph alone, with static sizes, does
    not.
    """
    fixed, given = _with_tensors_only(failure.gm, failure.inputs)

    def fails(gm: torch.fx.GraphModule, inputs: Sequence[Any]) -> bool:
        found = _failure(gm, inputs, failure)
        return found is not None and found.kind == failure.kind

    if not fails(fixed, given):
        return None
    said = io.StringIO()  # functorch tells of each step
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        gm, inputs = minifier(fixed, given, fails, dump_state=lambda *_: None)
    return _failure(gm, inputs, failure)


def _failure(gm: torch.fx.GraphModule, inputs: Sequence[Any], like: Failure) -> Failure | None:
    traced = _traced(gm, inputs)
    what = what_fails(traced, inputs, like.options, like.name)
    return None if what is None else Failure(traced, tuple(inputs), like.options, like.name, what)


def _traced(gm: Any, inputs: Sequence[Any]) -> torch.fx.GraphModule:
    """The graph with metadata, which the minifier drops."""
    with torch.no_grad():
        return make_fx(gm, tracing_mode="fake", _allow_non_fake_inputs=True)(*inputs)


def _with_tensors_only(
    gm: torch.fx.GraphModule, inputs: Sequence[Any]
) -> tuple[torch.fx.GraphModule, list[Any]]:
    """The graph of the tensors among its arguments; sizes become numbers."""
    tensors = [each for each in inputs if isinstance(each, torch.Tensor)]

    def run(*given: Any) -> Any:
        left = iter(given)
        return gm(*(next(left) if isinstance(each, torch.Tensor) else each for each in inputs))

    return _traced(run, tensors), tensors


def write(failure: Failure, folder: Path) -> Path:
    """Writes the script and its tensors into the folder; the script's path."""
    held = {
        name: getattr(failure.gm, name)
        for name in {n.target for n in failure.gm.graph.find_nodes(op="get_attr")}
    }
    torch.save({"inputs": list(failure.inputs), "held": held}, folder / _TENSORS)
    code = "\n".join(f"    {line}" if line else "" for line in failure.gm.code.strip().splitlines())
    text = _SCRIPT.format(
        what=failure.what,
        paths="" if failure.options.pipeline is None else _PATHS.format(sys.path[0]),
        code=code,
        options=_options_text(failure.options),
        tensors=_TENSORS,
    )
    (folder / _NAME).write_text(text, encoding="utf-8")
    return folder / _NAME


def _options_text(options: Options) -> str:
    """The options that are not as they are by default, as Python.  Functions cannot be written."""
    default, lines = alone(Options()), []
    for field in fields(options):
        value = getattr(options, field.name)
        if value == getattr(default, field.name):
            continue
        lines.append(
            f'    "{field.name}": {value!r},' if not callable(value) else f"    # {field.name}: a function"
        )
    return "\n".join(["{", *lines, "}"]) if lines else "{}"


#: Where the script finds passes of its own.
_PATHS = "\nsys.path.insert(0, {!r})\n"
_SCRIPT = '''"""Made by `python -m fuse_mlir.minify`: the graph {what}."""

import sys
from math import inf, nan
from pathlib import Path

import torch
from torch import device

import fuse_mlir
{paths}

class Minified(torch.nn.Module):
{code}


OPTIONS = {options}
tensors = torch.load(Path(__file__).with_name("{tensors}"), weights_only=True)
model = Minified()
for name, tensor in tensors["held"].items():
    setattr(model, name, tensor)
OPTIONS |= {{"cache": False, "verify": "on"}}  # which raises errors of the compiler
compiled = torch.compile(model, backend=fuse_mlir.backend, options=OPTIONS)
with torch.no_grad():
    expected = model(*(tensor.clone() for tensor in tensors["inputs"]))
    torch.testing.assert_close(compiled(*(tensor.clone() for tensor in tensors["inputs"])), expected)
print("compiled, it computes what eager does")
'''


if __name__ == "__main__":
    sys.exit(main())
