"""Whole programs on disk: a graph that was compiled before runs without MLIR and without Triton.

The key is everything that decides the program: the text of the graph after AOTAutograd, the options, the
device, the versions of Python, torch, MLIR and Triton, and the compiler's own sources.  The value is the
launch plan, the keys of its kernels in the kernel cache, and all that ``CompiledGraph`` tells.  An entry that
is damaged, of another form or without its kernels is a miss (``runtime/cache``).

A graph is also known by the text of what Dynamo captured. One without gradients that AOTAutograd needs no
wrappers for (``direct_call.py``) runs without it; one with gradients is wrapped by AOTAutograd as a graph of
one op (``frontend/autograd/stand_in.py``). No rewrite of FX graphs runs then.
"""

import hashlib
import io
import logging
import pickle
import sys
from collections.abc import Collection, Sequence
from dataclasses import dataclass, fields
from functools import cache, partial
from importlib import metadata
from pathlib import Path
from typing import Any, TypeVar

import torch

from ..base.options import Options
from ..frontend.autograd.stand_in import TrainingStep
from ..fx.captured_text import captured_text
from ..fx.graph_text import NotCacheable, graph_text
from ..fx.saved_strides import ALL_KEPT, KeptStrides, moved_inputs
from ..fx.torch_state import torch_state
from ..runtime.cache.cache_folder import CacheFolder
from ..runtime.cache.places import cache_folder
from ..runtime.gpu.load import PlanKernel, kernel_cache
from ..runtime.kernels.triton_version import triton_fingerprint
from ..runtime.plans.plan import Plan
from .program import Account, GpuProgram, Interface

log = logging.getLogger(__name__)

_Kind = TypeVar("_Kind")
_PACKAGE = __name__.partition(".")[0]


@dataclass(frozen=True)
class _Entry:
    """A ``GpuProgram`` whose kernels are in the kernel cache: name -> (key, signature)."""

    interface: Interface
    account: Account
    plan: Plan
    kernels: dict[str, tuple[str, tuple[str, ...]]]
    module: bytes


@dataclass(frozen=True)
class _Inference:
    """What a captured graph without gradients became: the name of a program, and the inputs it writes to."""

    program: str
    written: tuple[int, ...]


@dataclass(frozen=True)
class _Training:
    """What a captured graph with gradients became: the names of two programs."""

    step: TrainingStep
    forward: str
    backward: str


def program_key(
    gm: torch.fx.GraphModule,
    example_inputs: Sequence[Any],
    options: Options,
    device: str,
    static: Collection[int] = (),
    kept: KeptStrides = ALL_KEPT,
) -> str:
    """The name of the program of ``gm`` for ``device`` ("cuda:0") in the cache.  ``static``: placeholders
    whose address a CUDA graph may keep.  ``kept``: as in ``compile_graph``.

    Raises NotCacheable where the options or the graph hold what no key can say.
    """
    return _digest(
        graph_text(gm, example_inputs),
        *_surroundings(options, device),
        str(sorted(static)),
        f"{kept} {[(node.name, strides) for node, strides in moved_inputs(gm, example_inputs).items()]}",
    )


def captured_key(
    gm: torch.fx.GraphModule, example_inputs: Sequence[Any], options: Options, device: str
) -> str:
    """The name under which the cache knows what becomes of a graph that Dynamo captured.

    Raises NotCacheable where the options or the graph hold what no key can say, under autocast, and for CUDA
    graphs, whose static inputs AOTAutograd names.
    """
    if options.fx_pass is not None or options.cudagraphs:
        raise NotCacheable("an option that asks what AOTAutograd makes of the graph")
    if torch._C._is_any_autocast_enabled():
        raise NotCacheable("autocast")
    surroundings = _surroundings(options, device)
    return _digest("captured", captured_text(gm, example_inputs), *surroundings, torch_state())


def _surroundings(options: Options, device: str) -> tuple[str, ...]:
    """What besides the graph decides what it is compiled to."""
    for option in ("cache", "program_cache"):
        if not getattr(options, option):
            raise NotCacheable(f"the option {option}")
    if options.verify == "numeric" or options.dump is not None:
        raise NotCacheable("an option that watches the passes")
    if options.pipeline is not None:
        raise NotCacheable("a pipeline that may hold passes of other packages")
    index = torch.device(device).index or 0
    return (
        f"{options.text()} autotune_seconds={options.autotune_seconds}",  # more time, another search
        f"{device} {torch.cuda.get_device_name(index)} {torch.cuda.get_device_capability(index)}",
        str(torch.are_deterministic_algorithms_enabled()),
        toolchain(),
    )


def _digest(*parts: str) -> str:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part.encode())
        digest.update(b"\0")
    return digest.hexdigest()


@cache
def toolchain() -> str:
    """Versions of all that takes part in a compilation, and a digest of this package's sources."""
    root = Path(__file__).parents[1]
    sources = hashlib.sha256()
    for folder in ("compiler", "passes"):
        for file in sorted((root / folder).rglob("*.py")):
            sources.update(f"{file.relative_to(root)}\0".encode())
            sources.update(file.read_bytes())
    torch_version = f"{torch.__version__} {torch.version.git_version}"
    return f"{sys.version} {torch_version} {_bindings()} {triton_fingerprint()} {sources.hexdigest()}"


def _bindings() -> str:
    for name in ("mlir-python-bindings", "torch-mlir"):
        try:
            return f"{name} {metadata.version(name)}"
        except metadata.PackageNotFoundError:
            continue
    return "mlir"


class ProgramCache:
    """The programs stored in the folder that the options name, beside their kernels."""

    def __init__(self, options: Options) -> None:
        self._folder = cache_folder(options, ".program")
        self._captured = cache_folder(options, ".captured")
        self._trained = cache_folder(options, ".trained")
        self._options = options

    def read_captured(self, key: str) -> tuple[GpuProgram, tuple[int, ...]] | None:
        """The program that a captured graph became, by ``captured_key``, and the inputs that it writes to;
        None as in ``read``.
        """
        entry = self._entry(self._captured, key, _Inference)
        program = self.read(entry.program) if entry is not None else None
        if entry is None or program is None or program.interface.constants:
            return None
        return program, entry.written

    def read_training(self, key: str) -> tuple[TrainingStep, GpuProgram, GpuProgram] | None:
        """The programs, forward and backward, that a captured graph with gradients became; None as in
        ``read``.
        """
        entry = self._entry(self._trained, key, _Training)
        if entry is None:
            return None
        forward, backward = self.read(entry.forward), self.read(entry.backward)
        if forward is None or backward is None:
            return None
        held = forward.interface.constants or backward.interface.constants
        return None if held else (entry.step, forward, backward)

    def link_training(self, key: str, step: TrainingStep, forward: str, backward: str) -> None:
        """Says that the captured graph ``key`` becomes two programs, by their names."""
        self._trained.write(key, _to_bytes(_Training(step, forward, backward)))

    def link(self, key: str, program: str, written: tuple[int, ...]) -> None:
        """Says that the captured graph ``key`` becomes the program of the name ``program``, which writes to
        the inputs ``written``.
        """
        self._captured.write(key, _to_bytes(_Inference(program, written)))

    def read(self, key: str) -> GpuProgram | None:
        """The program of that name; None where there is none or it cannot be used, which the log says."""
        entry = self._entry(self._folder, key, _Entry)
        if entry is None:
            return None
        kernels, stored = kernel_cache(self._options), {}
        for name, (kernel, signature) in entry.kernels.items():
            cubin = kernels.load(kernel)
            if cubin is None:
                log.info("the cached program %s lacks its kernel %s and will be compiled again", key, name)
                return None
            stored[name] = PlanKernel(kernel, signature, cubin)
        return GpuProgram(entry.interface, entry.account, entry.plan, stored, entry.module)

    def _entry(self, folder: CacheFolder, key: str, kind: type[_Kind]) -> _Kind | None:
        return folder.read(key, partial(_from_bytes, kind=kind))

    def write(self, key: str, program: GpuProgram) -> None:
        """Stores a program, whose kernels are stored already.  What cannot be written is logged and left."""
        kernels = {name: (k.key, k.signature) for name, k in program.kernels.items()}
        entry = _Entry(program.interface, program.account, program.plan, kernels, program.module)
        try:
            data = _to_bytes(entry)
        except Exception as error:  # a value that cannot be pickled, in a remark for example
            log.warning("the program %s cannot be stored: %s", key, error)
            return
        self._folder.write(key, data)


def _to_bytes(entry: _Entry | _Inference | _Training) -> bytes:
    body = pickle.dumps(entry, protocol=5)
    _from_bytes(body, type(entry))  # what may not be read may not be written
    return body


def _from_bytes(body: bytes, kind: type[_Kind]) -> _Kind:
    entry = _Unpickler(io.BytesIO(body)).load()
    if not isinstance(entry, kind):
        raise ValueError(f"it holds a {type(entry).__name__}")
    if set(vars(entry)) != {field.name for field in fields(kind)}:  # type: ignore[arg-type]
        raise ValueError(f"it holds a {kind.__name__} of the fields {', '.join(sorted(vars(entry)))}")
    return entry


class _Unpickler(pickle.Unpickler):
    """Makes objects of the classes that this package defines and of Python's plain types, and calls nothing
    else.
    """

    def find_class(self, module: str, name: str) -> Any:
        # Pickle looks a dotted name up in what a module imports: "pathlib.Path", "os.system".
        if "." not in name and (module.partition(".")[0] == _PACKAGE or (module, name) in _PLAIN):
            found = super().find_class(module, name)
            if isinstance(found, type) and (found.__module__, found.__qualname__) == (module, name):
                return found
        raise pickle.UnpicklingError(f"a stored program may not hold {module}.{name}")


_PLAIN = {("builtins", "set"), ("builtins", "frozenset"), ("builtins", "complex"), ("fractions", "Fraction")}
