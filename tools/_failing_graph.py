"""The first graph of a script that fails to compile, to run, or to compute what eager does.

The script runs as it is, with its own options.  Each graph of AOTAutograd is compiled anew, not taken from
the cache; each of its calls is compared with torch, which runs the same graph on copies of the arguments.
"""

import contextlib
import copy
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import torch
from torch._dynamo.debug_utils import cast_to_fp64
from torch._dynamo.utils import clone_inputs, same
from torch._subclasses.fake_tensor import unset_fake_temporarily

from ..compiler import backend
from ..compiler.base.dataclass import dataclass
from ..compiler.base.options import Options
from ..compiler.base.remarks import Remarks
from ..compiler.driver import captured_compilation
from ..compiler.driver.cache_hit import CapturedLookup
from ..compiler.driver.graph_compilation import compile_graph
from ..compiler.fx.saved_strides import ALL_KEPT, KeptStrides
from ._script import ScriptError, replaced, run_script


@dataclass(frozen=True)
class Failure:
    """gm: as AOTAutograd gave it.  inputs: its arguments.  name: "forward", for example.  what: "raises
    TypeError: ..", "gives result 1 otherwise than eager".
    """

    gm: torch.fx.GraphModule
    inputs: tuple[Any, ...]
    options: Options
    name: str
    what: str

    @property
    def kind(self) -> str:
        """What another failure has in common with this one: the exception's type, or a wrong answer."""
        return self.what.partition(":")[0] if self.what.startswith("raises") else "gives"


class _Found(BaseException):
    """Ends the script.  lost: the device takes no more work, as after an illegal access."""

    def __init__(self, failure: Failure, lost: bool = False) -> None:
        self.failure, self.lost = failure, lost


def first_failure(script: str, arguments: Sequence[str]) -> Failure | None:
    """Runs a script; None where all its graphs are right.  Raises ``ScriptError``, also where a graph made
    the device unusable: nothing can be tried on it in this process.
    """
    with scripts_graphs(_compile):
        try:
            run_script(script, arguments)
        except _Found as found:
            if found.lost:
                raise ScriptError(_lost(found.failure)) from found
            return found.failure
    return None


def _lost(failure: Failure) -> str:
    graph = f"the {failure.name} graph of {len(failure.gm.graph.nodes)} nodes"
    return (
        f"{graph} {failure.what}; the device takes no more work from this process, so no part of it can be "
        "tried: run the script under NVIDIA's compute-sanitizer, which names the kernel and the access"
    )


@contextlib.contextmanager
def scripts_graphs(compile_: Callable[..., Any]) -> Iterator[None]:
    """Inside, graphs of AOTAutograd are compiled by ``compile_`` in place of ``compile_graph``, and none is
    taken from the cache.
    """
    with (
        replaced(backend, "hit_of_captured", lambda *_: CapturedLookup(None)),
        replaced(captured_compilation, "compile_graph", compile_),
    ):
        yield


def _compile(
    gm: torch.fx.GraphModule,
    example_inputs: Sequence[Any],
    options: Options,
    *,
    name: str = "graph",
    kept: KeptStrides = ALL_KEPT,
    remarks: Remarks | None = None,
) -> Any:
    """``compile_graph``, whose graph is watched."""
    original = copy.deepcopy(gm)
    options = alone(options)
    try:
        compiled = compile_graph(gm, example_inputs, options, name=name, kept=kept, remarks=remarks)
    except Exception as error:
        raise _Found(Failure(original, made_inputs(original), options, name, _raises(error))) from error
    run = compiled.call

    def call(args: list[Any]) -> list[Any]:
        given, left = tuple(copies(args)), [*args]
        try:
            found = list(run(args))
            _wait()
        except Exception as error:
            raise _Found(Failure(original, given, options, name, _raises(error)), _is_lost()) from error
        wrong = difference(original, given, found, left)
        if wrong is not None:
            raise _Found(Failure(original, given, options, name, wrong))
        return found

    call._boxed_call = True  # type: ignore[attr-defined]
    compiled.call = call
    return compiled


def _wait() -> None:
    """Until the device is done: an error of a kernel is raised by a later call, and here by this one."""
    if torch.accelerator.is_available():
        torch.accelerator.synchronize()


def _is_lost() -> bool:
    try:
        _wait()
    except Exception:
        return True
    return False


def alone(options: Options) -> Options:
    """The options without caches, files and the script's function, and with errors of the compiler."""
    verify = "on" if options.verify in ("levels", "off") else options.verify
    return replace(options, cache=False, dump=None, report=None, on_compiled=None, verify=verify)


def what_fails(gm: torch.fx.GraphModule, inputs: Sequence[Any], options: Options, name: str) -> str | None:
    """Compiles a copy of a graph and runs it; ``Failure.what``, None where it is right."""
    try:
        with torch.no_grad():
            compiled = compile_graph(copy.deepcopy(gm), inputs, options, name=name)
        left = copies(inputs)
        found = list(compiled.call([*left]))
        _wait()
    except Exception as error:
        return _raises(error)
    return difference(gm, inputs, found, left)


def difference(
    gm: torch.fx.GraphModule, inputs: Sequence[Any], found: Sequence[Any], left: Sequence[Any]
) -> str | None:
    """How results, and what is left in the arguments, differ from those of the graph as torch runs it; None
    where they do not, and where the graph draws random numbers.  Where float64 can be computed, they may be
    about twice as far from it as torch's.
    """
    if _draws(gm):
        return None
    with torch.no_grad():
        expected = _run(gm, copies(inputs))
        try:
            truth = _run(*cast_to_fp64(copy.deepcopy(gm), copies(inputs)))
        except Exception:  # some ops take no float64
            truth = expected
    results = len(expected) - len(inputs)
    if len(found) != results:
        return f"gives {len(found)} results and not {results}"
    for number, one in enumerate([*found, *left]):
        if not _equal(one, expected[number], truth[number]):
            what = f"result {number}" if number < results else f"argument {number - results}"
            return f"gives {what} otherwise than eager"
    return None


def results_of(gm: torch.fx.GraphModule, inputs: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    """The results of a graph on copies of its arguments, and what is left in these."""
    run = _run(gm, copies(inputs))
    return run[: len(run) - len(inputs)], run[len(run) - len(inputs) :]


def _run(gm: torch.fx.GraphModule, inputs: list[Any]) -> list[Any]:
    """The results, and what is left in the arguments."""
    results = gm(*inputs)
    return [*(results if isinstance(results, list | tuple) else (results,)), *inputs]


def _equal(one: Any, other: Any, exact: Any) -> bool:
    if not isinstance(other, torch.Tensor):
        return bool(one == other)
    if not isinstance(one, torch.Tensor) or one.shape != other.shape:
        return False
    return bool(same(other, one, exact, equal_nan=True, log_error=_say_nothing))


def _say_nothing(*_: object, **__: object) -> None:
    """torch would log what differs."""


def _draws(gm: torch.fx.GraphModule) -> bool:
    tag = torch.Tag.nondeterministic_seeded
    return any(tag in getattr(node.target, "tags", ()) for node in gm.graph.nodes)


def copies(inputs: Sequence[Any]) -> list[Any]:
    """Arguments of the same values and strides, which autograd does not know."""
    found = clone_inputs(inputs)
    return [each.detach() if isinstance(each, torch.Tensor) else each for each in found]


@unset_fake_temporarily()
def made_inputs(gm: torch.fx.GraphModule) -> tuple[Any, ...]:
    """Arguments for a graph by its metadata: numbers of a normal distribution, integers 0 and 1, sizes as
    their hints say.
    """
    generator = torch.Generator().manual_seed(0)
    return tuple(_made(_value(node), generator) for node in gm.graph.find_nodes(op="placeholder"))


def _value(node: torch.fx.Node) -> Any:
    return node.meta.get("val", node.meta.get("example_value"))


def _made(value: Any, generator: torch.Generator) -> Any:
    if isinstance(value, torch.SymInt):
        return value.node.hint
    if not isinstance(value, torch.Tensor):
        return value
    sizes = [_hint(size) for size in value.size()]
    made = torch.empty_strided(sizes, [_hint(stride) for stride in value.stride()], dtype=value.dtype)
    if value.dtype.is_floating_point or value.dtype.is_complex:
        numbers = torch.randn(sizes, generator=generator).to(value.dtype)
    else:
        numbers = torch.randint(0, 2, sizes, generator=generator).to(value.dtype)
    return made.copy_(numbers).to(value.device)


def _hint(size: Any) -> int:
    return int(size.node.hint) if isinstance(size, torch.SymInt) else int(size)


def _raises(error: BaseException) -> str:
    return f"raises {type(error).__name__}: {' '.join(str(error).split())[:300]}"
