"""``fuse_mlir.package``: exported programs compiled ahead of time, for one or several targets, into one file.

Each program goes the way of a graph that Dynamo captured (``driver/captured_compilation.py``), once for each
target.  What would be stored in the program cache is written to the archive, with its kernels and weights.
"""

import copy
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch._guards import TracingContext, detect_fake_mode, tracing
from torch.export import ExportedProgram

from ...base.errors import PackageError
from ...base.options import Options
from ...base.target import compiling_for
from ...fx.torch_state import capability_of, with_torch_switches
from ...runtime.kernels.cubin import OLDEST_ARCH
from ..captured_compilation import CapturedCompilation, CapturedFacts
from ..portable.stored_graph import graph_bytes, to_bytes
from ..program import WHOLE_GRAPH, CompiledGraph
from ..request import algorithms_of, where_it_runs
from .archive import digest_of, weights_beside
from .contents import (
    CPU,
    Manifest,
    PackagedProgram,
    StoredPart,
    StoredWeight,
    TargetProgram,
)
from .exported import ExportedGraph, exported_graph
from .signature import CallSignature
from .write_archive import check_place, write_archive

#: The name of a program that is packaged alone.
ONLY = "model"
_TARGET = re.compile(r"sm_(\d{2,3})")
_NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}")


def package(
    programs: ExportedProgram | Mapping[str, ExportedProgram],
    path: str | Path,
    *,
    targets: Sequence[str] = (),
    options: Mapping[str, Any] | None = None,
    mode: str | None = None,
    weights: str = "inside",
    overwrite: bool = False,
) -> Path:
    """Compiles exported programs into ``path`` (``.pt2``), which ``fuse_mlir.load`` runs.

    programs: one, or several by name, which share weights that lie in one storage.  targets: architectures
    ("sm_90"), by default that of the program's GPU; a program on a CPU has the target "cpu", which the
    interpreter runs.  options, mode: as for the backend; what watches a run is not packaged.  weights:
    "inside", "beside" (in ``<path>.weights``), or "none", where ``load`` is given them.  overwrite: a package
    that is there is replaced; any other file is not.

    Raises ``PackageError`` for what no package can hold, ``OptionError`` and what compiling raises.
    """
    path = Path(path)
    named = dict(programs) if isinstance(programs, Mapping) else {ONLY: programs}
    _check(named, path, targets, weights)
    for place in (path, weights_beside(path)) if weights == "beside" else (path,):
        check_place(place, overwrite=overwrite)
    chosen = with_torch_switches(Options.of(options, mode))
    graphs = {name: exported_graph(program, path) for name, program in named.items()}
    parts, apart = _Parts(), _Parts()
    storages = _Storages(parts if weights == "inside" else apart)
    packaged = {}
    for name, graph in graphs.items():
        made = _Packaging(name, graph, chosen, path, parts)
        compiled = {target: made.program(target) for target in made.targets(targets)}
        stored = {weight: storages.stored(tensor) for weight, tensor in graph.weights.items()}
        packaged[name] = PackagedProgram(made.signature, stored, compiled)
    held = () if weights == "none" else tuple(storages.found)
    manifest = to_bytes(
        Manifest(torch.__version__, chosen.deterministic, packaged, held, weights == "beside")
    )
    if weights == "beside":
        write_archive(weights_beside(path), manifest, apart.data, overwrite=overwrite)
    write_archive(path, manifest, parts.data, overwrite=overwrite)
    return path


def _check(named: Mapping[str, Any], path: Path, targets: Sequence[str], weights: str) -> None:
    for name, program in named.items():
        if not _NAME.fullmatch(name) or not isinstance(program, ExportedProgram):
            reason = f"{name!r} is {type(program).__name__}: expected exported programs by plain names"
            raise PackageError(path=path, reason=reason)
    if not named:
        raise PackageError(path=path, reason="there is no program to package")
    if weights not in ("inside", "beside", "none"):
        raise PackageError(path=path, reason=f"weights is {weights!r}: expected inside, beside or none")
    if isinstance(targets, str):
        reason = f"targets is the text {targets!r}: expected a list, such as [{targets!r}]"
        raise PackageError(path=path, reason=reason)
    for target in targets:
        found = _TARGET.fullmatch(target)
        if target != CPU and (found is None or int(found[1]) < OLDEST_ARCH):
            reason = f"{target!r} is no target: expected cpu or sm_{OLDEST_ARCH} and later"
            raise PackageError(path=path, reason=reason)


class _Parts:
    """Parts of the archive, each set of bytes once."""

    def __init__(self) -> None:
        self.data: dict[str, bytes] = {}

    def add(self, folder: str, data: bytes) -> StoredPart:
        digest = digest_of(data)
        name = f"{folder}/{digest[:32]}"
        self.data[name] = data
        return StoredPart(name, digest)


class _Storages:
    """What weights lie in, as ``parts``; tensors that share a storage still do when they are loaded."""

    def __init__(self, parts: _Parts) -> None:
        self._parts = parts
        self._numbers: dict[int, int] = {}
        self._kept: list[torch.UntypedStorage] = []  # while their addresses are their names
        self.found: list[StoredPart] = []

    def stored(self, tensor: torch.Tensor) -> StoredWeight:
        storage = tensor.untyped_storage()
        number = self._numbers.setdefault(storage._cdata, len(self.found))
        if number == len(self.found):
            self._kept.append(storage)
            self.found.append(self._parts.add("weights", _bytes(storage)))
        return StoredWeight(
            number, str(tensor.dtype), tuple(tensor.shape), tensor.stride(), tensor.storage_offset()
        )


def _bytes(storage: torch.UntypedStorage) -> bytes:
    return torch.tensor([], dtype=torch.uint8).set_(storage.cpu()).numpy().tobytes()


class _Packaging:
    """One exported program, compiled for its targets."""

    def __init__(self, name: str, graph: ExportedGraph, options: Options, path: Path, parts: _Parts) -> None:
        self._name, self._graph, self._path, self._parts = name, graph, path, parts
        self._options = replace(options, program_cache=False, output="plan", on_compiled=None)
        self.signature: CallSignature = graph.signature
        self._device, self._on_gpu = where_it_runs(graph.gm, self._options)

    def targets(self, asked: Sequence[str]) -> tuple[str, ...]:
        """The targets asked for, or the one of the program's device.  Raises ``PackageError`` where the
        program is on another kind of device.
        """
        if not self._on_gpu:
            if any(target != CPU for target in asked):
                raise self._refused(
                    f"the program {self._name} is on a CPU: export it on a GPU for {asked[0]}"
                )
            return (CPU,)
        if CPU in asked:
            raise self._refused(
                f"the program {self._name} is on a GPU: export it on a CPU for the target cpu"
            )
        return tuple(dict.fromkeys(asked)) or (f"sm_{capability_of(self._device)}",)

    def program(self, target: str) -> TargetProgram:
        """The program for one target, as parts."""
        capability = None if target == CPU else int(target.removeprefix("sm_"))
        with compiling_for(capability):
            graph = self._compiled()
            kernels = {} if graph.load_kernels is None else graph.load_kernels()
        try:
            data = graph_bytes(graph)
        except ValueError as error:  # an object of this process, for example
            raise self._refused(f"the program {self._name}: {error}") from None
        cubins = {name: self._parts.add("kernels", k.cubin.to_bytes()) for name, k in kernels.items()}
        return TargetProgram(self._parts.add("programs", data), cubins)

    def _compiled(self) -> CompiledGraph:
        graphs: list[CompiledGraph] = []
        options = replace(self._options, on_compiled=graphs.append)
        graph = self._graph
        facts = CapturedFacts.of(graph.inputs, self._on_gpu)
        compilation = CapturedCompilation(replace(facts, shared=False), options, None)
        context = TracingContext(detect_fake_mode(graph.inputs))
        with torch.no_grad(), algorithms_of(options), tracing(context):
            compilation.compile(copy.deepcopy(graph.gm), graph.inputs)
        if compilation.plain is None:
            reason = (
                "a result is an argument or a view of one, an input that is written shares memory with "
                "another, or a tensor is no plain one: AOTAutograd would handle these at each call"
            )
            raise self._refused(f"the program {self._name} needs what a package does not have: {reason}")
        [compiled] = graphs
        if compiled.interface.constants:
            made = ", ".join(compiled.interface.constants)
            raise self._refused(f"the program {self._name} holds tensors that the exported one lacks: {made}")
        for fallback in compiled.fallbacks:
            if fallback.target == WHOLE_GRAPH:
                raise self._refused(f"torch runs the whole program {self._name}: {fallback.reason}")
        self.signature = replace(self.signature, written=compilation.plain)
        return compiled

    def _refused(self, reason: str) -> PackageError:
        return PackageError(path=self._path, reason=reason)
