"""Whole programs on disk: a graph that was compiled before runs without MLIR and without Triton.

The key is everything that decides the program: the text of the graph after AOTAutograd, the options, the
device, the versions of Python, torch, MLIR and Triton, Triton's settings, and the compiler's own sources. The
value is the launch plan, the keys of its kernels in the kernel cache, and all that ``CompiledGraph`` tells
(``program_entry.py``). An entry that is damaged, of another form or without its kernels is a miss
(``runtime/cache``).

A graph is also known by the text of what Dynamo captured. One without gradients that AOTAutograd needs no
wrappers for (``direct_call.py``) runs without it; one with gradients is wrapped by AOTAutograd as a graph of
one op (``frontend/autograd/stand_in.py``). No rewrite of FX graphs runs then.
"""

import hashlib
import logging
import sys
from collections.abc import Collection, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import torch

from ..base.options import Options
from ..base.triton_environment import triton_environment
from ..base.versions import bindings
from ..frontend.autograd.step_data import TrainingStep
from ..fx.captured_text import captured_text
from ..fx.graph_text import NotCacheable, graph_text
from ..fx.saved_strides import ALL_KEPT, KeptStrides, donated, moved_inputs
from ..fx.torch_state import product_switches, torch_state
from ..runtime.cache.places import cache_folder
from ..runtime.gpu.device_model import hardware_name
from ..runtime.gpu.load import PlanKernel, kernel_cache
from ..runtime.kernels.triton_version import triton_fingerprint
from .program import GpuProgram
from .program_entry import (
    InferenceLink,
    StoredKernel,
    TrainingLink,
    fits,
    link_bytes,
    program_bytes,
    read_inference,
    read_program,
    read_training,
)

log = logging.getLogger(__name__)


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
        str(donated(gm)),
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
        hardware_name(index),  # slices of a GPU have its name
        str(torch.are_deterministic_algorithms_enabled()),
        product_switches(),
        toolchain(),
    )


def _digest(*parts: str) -> str:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part.encode())
        digest.update(b"\0")
    return digest.hexdigest()


def toolchain() -> str:
    """Versions of all that takes part in a compilation, a digest of this package's sources, and what settings
    of Triton are in force now.
    """
    return f"{_versions()} {triton_environment()}"


@cache
def _versions() -> str:
    root = Path(__file__).parents[2]
    sources = hashlib.sha256()
    for folder in ("compiler", "passes"):
        for file in sorted((root / folder).rglob("*.py")):
            sources.update(f"{file.relative_to(root)}\0".encode())
            sources.update(file.read_bytes())
    torch_version = f"{torch.__version__} {torch.version.git_version}"
    return f"{sys.version} {torch_version} {bindings()} {triton_fingerprint()} {sources.hexdigest()}"


class ProgramCache:
    """The programs stored in the folder that the options name, beside their kernels."""

    def __init__(self, options: Options) -> None:
        self._folder = cache_folder(options, ".program")
        self._captured = cache_folder(options, ".captured")
        self._trained = cache_folder(options, ".trained")
        self._options = options

    def read_captured(self, key: str, inputs: int) -> tuple[GpuProgram, InferenceLink] | None:
        """The program that a captured graph of so many inputs became, by ``captured_key``, and the link to
        it; None as in ``read``.
        """
        entry = self._captured.read(key, read_inference)
        program = self.read(entry.program, inputs) if entry is not None else None
        if entry is None or program is None or program.interface.constants:
            return None
        return (program, entry) if max((*entry.written, *entry.mutated), default=-1) < inputs else None

    def read_training(self, key: str) -> tuple[TrainingStep, GpuProgram, GpuProgram] | None:
        """The programs, forward and backward, that a captured graph with gradients became; None as in
        ``read``.
        """
        entry = self._trained.read(key, read_training)
        if entry is None:
            return None
        step, tangents = entry.step, sum(entry.step.differentiable)
        forward = self.read(entry.forward, len(step.gradients))
        backward = self.read(entry.backward, len(step.saved) + tangents)
        if forward is None or backward is None:
            return None
        if forward.interface.constants or backward.interface.constants:
            return None
        outputs = len(step.results) + len(step.saved), len(step.gradients)
        given = len(forward.interface.outputs), len(backward.interface.outputs)
        return (step, forward, backward) if outputs == given else None

    def link_training(self, key: str, step: TrainingStep, forward: str, backward: str) -> None:
        """Says that the captured graph ``key`` becomes two programs, by their names."""
        self._trained.write(key, link_bytes(TrainingLink(step, forward, backward)))

    def link(self, key: str, link: InferenceLink) -> None:
        """Says what the captured graph ``key`` becomes."""
        self._captured.write(key, link_bytes(link))

    def read(self, key: str, placeholders: int) -> GpuProgram | None:
        """The program of that name, of a graph with so many placeholders; None where there is none or it
        cannot be used, which the log says.
        """
        found = self._folder.read(key, read_program)
        if found is None:
            return None
        program, module = found
        if not fits(program, placeholders):
            log.warning("the cached program %s takes other arguments than its graph has", key)
            return None
        kernels, stored = kernel_cache(self._options), {}
        for name, kernel in program.kernels.items():
            cubin = kernels.load(kernel.key)
            if cubin is None:
                log.info("the cached program %s lacks its kernel %s and will be compiled again", key, name)
                return None
            stored[name] = PlanKernel(kernel.key, kernel.signature, cubin)
        return GpuProgram(program.interface, program.account, program.plan, stored, module)

    def write(self, key: str, program: GpuProgram) -> None:
        """Stores a program, whose kernels are stored already.  What cannot be written is logged and left."""
        kernels = {name: StoredKernel(k.key, k.signature) for name, k in program.kernels.items()}
        try:
            data = program_bytes(program.interface, program.account, program.plan, kernels, program.module)
        except ValueError as error:  # a value that JSON cannot say, in a remark for example
            log.warning("the program %s cannot be stored: %s", key, error)
            return
        self._folder.write(key, data)
