"""``python -m fuse_mlir.cache prove script.py``: changes every input of a key, one at a time.

The keys are those of the graphs that the script compiles: of what Dynamo captured, and of the graphs that
AOTAutograd makes of it.  Each option, switch of torch, version, variable of the environment, property of the
device and part of the graph is given another value.  A key that stays as it was would make a hit of a program
that was compiled for something else.  Without a GPU, the keys are those for one that is made up.
"""

import argparse
import contextlib
import copy
import dataclasses
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, get_args

import torch

from ..compiler import backend
from ..compiler.base.dataclass import dataclass
from ..compiler.base.options import IN_NO_KEY, Options
from ..compiler.base.triton_environment import COUNTED
from ..compiler.driver import captured_compilation, program_cache
from ..compiler.driver.program_cache import captured_key, program_key
from ..compiler.driver.request import where_it_runs
from ..compiler.fx.graph_text import NotCacheable
from ._exit import FAILED, OK, ended, say
from ._script import ScriptError, imports_of, replaced, run_script

#: A device for keys where there is no GPU, by its properties.
_MADE_UP = {
    "name": "NVIDIA H200",
    "major": 9,
    "minor": 0,
    "multi_processor_count": 132,
    "shared_memory_per_block_optin": 227 << 10,
    "regs_per_multiprocessor": 65536,
    "L2_cache_size": 50 << 20,
    "clock_rate": 1_980_000,
    "memory_clock_rate": 3_201_000,
    "memory_bus_width": 6144,
}
#: What only decides the figures of a GPU that no model is named after, which are in its key then.
_FIGURES = ("clock_rate", "memory_clock_rate", "memory_bus_width")
#: Other values of options that are neither a bool, a number nor one of several words.
_OTHER = {"hardware": "h100", "pipeline": "builtin.module()"}


def main(arguments: list[str]) -> int:
    """Runs the tool.  The exit code is 0 where each change is a miss, 1 where one is a hit or the script
    fails.
    """
    parser = argparse.ArgumentParser(
        "python -m fuse_mlir.cache prove", description="Shows that every input of a key makes another key."
    )
    parser.add_argument("--all", action="store_true", help="print a line for each change, not only for hits")
    parser.add_argument("script", help="a Python script that compiles with this backend")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="the script's own arguments")
    options = parser.parse_args(arguments)
    with imports_of(options.script):
        return ended("fuse_mlir.cache", lambda: _main(options))


def _main(options: argparse.Namespace) -> int:
    proof = Proof()
    compile_graph, hit_of_captured = captured_compilation.compile_graph, backend.hit_of_captured

    def compiling(gm: Any, inputs: Any, chosen: Options, **rest: Any) -> Any:
        proof.prove(Subject(rest.get("name", "graph"), gm, tuple(inputs), chosen, program_key))
        return compile_graph(gm, inputs, chosen, **rest)

    def captured(gm: Any, inputs: Any, chosen: Options) -> Any:
        proof.prove(Subject("captured", gm, tuple(inputs), chosen, captured_key))
        return hit_of_captured(gm, inputs, chosen)

    try:
        with (
            replaced(captured_compilation, "compile_graph", compiling),
            replaced(backend, "hit_of_captured", captured),
        ):
            run_script(options.script, options.arguments)
    except ScriptError as error:
        return say(f"fuse_mlir.cache: error: {error}", FAILED)
    for line in proof.lines if options.all else proof.hits:
        print(line)
    for (graph, group), count in proof.counted.items():
        print(f"{graph}: {group}: {count} changes, one at a time")
    if proof.hits:
        return say(f"{len(proof.hits)} changes make a hit: the key lacks what they change", FAILED)
    print("each is a miss" if proof.counted else "the script compiles no graph that the cache knows")
    return OK


@dataclass(frozen=True)
class Subject:
    """A graph and what gives its key: ``key(gm, inputs, options, device)``."""

    name: str
    gm: torch.fx.GraphModule
    inputs: tuple[Any, ...]
    options: Options
    key: Callable[..., str]

    def key_with(self, change: "Change", device: str) -> str | None:
        """The key after a change; None where nothing is looked up then."""
        gm, inputs = (self.gm, self.inputs) if change.graph is None else change.graph
        with change.context():
            try:
                return self.key(gm, inputs, change.options or self.options, change.device or device)
            except NotCacheable:
                return None


@dataclass(frozen=True)
class Change:
    """One input of a key with another value.  What is None stays.  graph: with its inputs."""

    group: str
    name: str
    context: Callable[[], AbstractContextManager[Any]] = nullcontext
    options: Options | None = None
    device: str | None = None
    graph: tuple[torch.fx.GraphModule, tuple[Any, ...]] | None = None


class Proof:
    """lines: what each change makes.  hits: those that make a hit.  counted: changes by graph and group."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.hits: list[str] = []
        self.counted: Counter[tuple[str, str]] = Counter()

    def prove(self, subject: Subject) -> None:
        """Changes everything that the key of one graph should hold."""
        device, on_gpu = where_it_runs(subject.gm, subject.options)
        device = device if on_gpu else "cuda:0"
        with nullcontext() if on_gpu else _device(_MADE_UP):
            nothing = Change("nothing", "")
            key = subject.key_with(nothing, device)
            if key is None:  # the cache is passed by
                return
            if subject.key_with(nothing, device) != key:
                self._tell(subject, "HIT ", Change("nothing", "the key is another each time"))
            properties = _properties(device) if on_gpu else _MADE_UP
            for change in (
                *_options(subject.options),
                *_surroundings(subject, properties),
                *_graphs(subject),
            ):
                self.counted[subject.name, change.group] += 1
                self._tell(subject, "HIT " if subject.key_with(change, device) == key else "miss", change)

    def _tell(self, subject: Subject, verdict: str, change: Change) -> None:
        line = f"{verdict} {subject.name}: {change.group}: {change.name}"
        self.lines.append(line)
        if verdict == "HIT ":
            self.hits.append(line)


def _options(options: Options) -> Iterator[Change]:
    for field in dataclasses.fields(options):
        if field.name in IN_NO_KEY and field.name != "autotune_seconds":
            continue
        other = dataclasses.replace(options, **{field.name: _other(options, field.name)})
        yield Change("options", field.name, options=other)


def _other(options: Options, name: str) -> Any:
    value, choices = getattr(options, name), get_args(Options.__annotations__[name])
    if name in _OTHER:
        return _OTHER[name] if value != _OTHER[name] else f"{value} "
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value + 1
    return next((choice for choice in choices if isinstance(choice, str) and choice != value), "/tmp/other")


def _surroundings(subject: Subject, properties: dict[str, Any]) -> Iterator[Change]:
    """torch's switches, versions, the environment, the device."""
    matmul, conv = torch.backends.cuda.matmul, torch.backends.cudnn.conv
    switches: list[tuple[str, Any, str]] = [("cudnn.conv", conv, "fp32_precision")]
    switches += [
        ("cuda.matmul", matmul, name)
        for name in (
            "fp32_precision",
            "allow_fp16_reduced_precision_reduction",
            "allow_bf16_reduced_precision_reduction",
            "allow_fp16_accumulation",
        )
        if hasattr(matmul, name)
    ]
    if subject.key is captured_key:
        cudnn = torch.backends.cudnn
        switches += [("cudnn", cudnn, name) for name in ("enabled", "benchmark", "deterministic")]
        switches += [("deterministic", torch.utils.deterministic, "fill_uninitialized_memory")]
        yield Change("torch's switches", "grad mode", _other_grad_mode)
        yield Change("torch's switches", "default dtype", _other_default_dtype)
        for name in ("flash", "mem_efficient", "math", "cudnn"):
            yield Change("torch's switches", f"cuda.{name}_sdp", partial(_other_sdp, name))
    for where, owner, name in switches:
        yield Change("torch's switches", f"{where}.{name}", partial(_flipped, owner, name))
    yield Change("torch's switches", "deterministic algorithms", _other_determinism)
    versions: tuple[tuple[str, Any, str, Any], ...] = (
        ("Python", sys, "version", "other"),
        ("torch", torch, "__version__", "other"),
        ("torch's commit", torch.version, "git_version", "other"),
        ("MLIR's bindings", program_cache, "bindings", lambda: "other"),
        ("Triton", program_cache, "triton_fingerprint", lambda: "other"),
        ("the compiler's sources", Path, "read_bytes", lambda path: b"other"),
    )
    for what, owner, name, value in versions:
        yield Change("versions", what, partial(_version, owner, name, value))
    for name in (*sorted(COUNTED), "TRITON_OF_TOMORROW"):
        yield Change("environment", name, partial(_variable, name))
    for name, value in properties.items():
        if name in _FIGURES:
            continue
        changed = f"{value} other" if isinstance(value, str) else value + 1
        yield Change("device", name, partial(_device, {**properties, name: changed}))
    yield Change("device", "its number", device="cuda:1")


def _graphs(subject: Subject) -> Iterator[Change]:
    """Each node of the graph with another op or other numbers, each argument with another type."""
    nodes = list(subject.gm.graph.nodes)
    for number, node in enumerate(nodes):
        gm = copy.deepcopy(subject.gm)
        other = list(gm.graph.nodes)[number]
        if node.op == "call_function":
            neg, relu = torch.ops.aten.neg.default, torch.ops.aten.relu.default
            other.target = neg if node.target is not neg else relu
        elif node.op == "call_method":
            other.target = "neg" if node.target != "neg" else "relu"
        else:
            continue
        yield Change("graph", f"the op of {node.name}", graph=(gm, subject.inputs))
    for number, node in enumerate(nodes):
        where = next((n for n, arg in enumerate(node.args) if type(arg) in (int, float)), None)
        if node.op in ("call_function", "call_method") and where is not None:
            gm = copy.deepcopy(subject.gm)
            list(gm.graph.nodes)[number].update_arg(where, node.args[where] + 1)
            yield Change("graph", f"the number {node.args[where]} of {node.name}", graph=(gm, subject.inputs))
    for number, node in enumerate(subject.gm.graph.find_nodes(op="placeholder")):
        for what, value in _other_tensors(node.meta.get("val", node.meta.get("example_value"))):
            gm = copy.deepcopy(subject.gm)
            other = gm.graph.find_nodes(op="placeholder")[number]
            other.meta = {k: value if k in ("val", "example_value") else v for k, v in node.meta.items()}
            inputs = tuple(value if n == number else given for n, given in enumerate(subject.inputs))
            yield Change("graph", f"the {what} of {node.name}", graph=(gm, inputs))


def _other_tensors(value: Any) -> Iterator[tuple[str, torch.Tensor]]:
    """A fake tensor with another dtype, other sizes and other strides."""
    mode = getattr(value, "fake_mode", None)
    if mode is None or not all(isinstance(size, int) for size in (*value.size(), *value.stride())):
        return
    sizes, strides, dtype = list(value.size()), list(value.stride()), value.dtype
    other = torch.float64 if dtype != torch.float64 else torch.float32
    with mode:
        yield "dtype", torch.empty_strided(sizes, strides, dtype=other, device=value.device)
        if sizes:
            longer = [sizes[0] + 1, *sizes[1:]]
            yield "size", torch.empty_strided(longer, strides, dtype=dtype, device=value.device)
            wider = [strides[0] * 2 + 1, *strides[1:]]
            yield "stride", torch.empty_strided(sizes, wider, dtype=dtype, device=value.device)


# ---- contexts: inside, one thing has another value
@contextlib.contextmanager
def _device(properties: dict[str, Any]) -> Iterator[None]:
    of = SimpleNamespace(**properties)
    with (
        replaced(torch.cuda, "get_device_name", lambda device=None: of.name),
        replaced(torch.cuda, "get_device_capability", lambda device=None: (of.major, of.minor)),
        replaced(torch.cuda, "get_device_properties", lambda device=None: of),
    ):
        yield


def _properties(device: str) -> dict[str, Any]:
    found = torch.cuda.get_device_properties(device)
    return {name: getattr(found, name) for name in _MADE_UP}


def _flipped(owner: Any, name: str) -> AbstractContextManager[None]:
    value = getattr(owner, name)
    other: Any = ("ieee" if value == "tf32" else "tf32") if isinstance(value, str) else not value
    return replaced(owner, name, other)


def _other_grad_mode() -> AbstractContextManager[None]:
    context: AbstractContextManager[None] = torch.set_grad_enabled(not torch.is_grad_enabled())
    return context


@contextlib.contextmanager
def _other_default_dtype() -> Iterator[None]:
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64 if before != torch.float64 else torch.float32)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


@contextlib.contextmanager
def _other_determinism() -> Iterator[None]:
    before = torch.are_deterministic_algorithms_enabled()
    torch.use_deterministic_algorithms(not before)
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(before)


@contextlib.contextmanager
def _other_sdp(name: str) -> Iterator[None]:
    cuda = torch.backends.cuda
    enable, before = getattr(cuda, f"enable_{name}_sdp"), getattr(cuda, f"{name}_sdp_enabled")()
    enable(not before)
    try:
        yield
    finally:
        enable(before)


@contextlib.contextmanager
def _version(owner: Any, name: str, value: Any) -> Iterator[None]:
    """Versions are read once in a process."""
    try:
        with replaced(owner, name, value):
            program_cache._versions.cache_clear()
            yield
    finally:
        program_cache._versions.cache_clear()


@contextlib.contextmanager
def _variable(name: str) -> Iterator[None]:
    before = os.environ.get(name)
    os.environ[name] = f"{before or ''}1"
    try:
        yield
    finally:
        if before is None:
            del os.environ[name]
        else:
            os.environ[name] = before
