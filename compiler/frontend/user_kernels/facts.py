"""What a user's Triton kernel reads and writes, whichever of its configurations runs, by parameter."""

import functools
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch

from ...analysis.user_kernel.effects import UNKNOWN, KernelEffects, PointerEffects, kernel_effects
from ...base.diagnostics import collecting
from ...ir.context import make_context
from ...mlir import ir
from .ttir_of import (
    DescriptorKind,
    KernelTtir,
    StaticAssertFailed,
    UserKernelError,
    debugging,
    described,
    ttir_of,
)


@dataclass(frozen=True)
class UserKernelFacts:
    """What a kernel does, as the union over its configurations.

    parameters: for each parameter that is a tensor or a descriptor what is done to its memory.  effect: it
    must run though nobody reads what it writes.  why: why parameters are taken as read and written; None
    where none is.
    """

    parameters: Mapping[str, PointerEffects] = field(hash=False)
    effect: bool
    why: str | None = None

    @property
    def written(self) -> list[str]:
        """The parameters whose memory is written, in the order of the kernel."""
        return [name for name, effects in self.parameters.items() if effects.written]


_FACTS: dict[Any, UserKernelFacts] = {}
_LOCK = threading.Lock()
_ANALYSIS = threading.Lock()  #: a context belongs to one thread at a time


def facts_of(kernel: Any, arguments: Mapping[str, Any], descriptors: Mapping[str, Any]) -> UserKernelFacts:
    """The facts of ``kernel``, a ``triton.JITFunction`` or an autotuner of one, for one launch.

    arguments: what is given for each parameter: tensors (fake ones, too), numbers, symbols, constants.
    descriptors: torch's metadata of tensors that are given as descriptors.  A kernel that Triton or the
    analysis refuses may read and write all of its tensors, and has an effect.
    """
    given = {name: _described(value, descriptors.get(name)) for name, value in arguments.items()}
    jitted = getattr(kernel, "fn", kernel) if hasattr(kernel, "configs") else kernel
    capability = _capability(arguments)
    key = _key(kernel, jitted, given, capability)
    with _LOCK:
        if key is not None and key in _FACTS:
            return _FACTS[key]
    facts = _union(kernel, jitted, arguments, given, capability)
    if key is not None:
        with _LOCK:
            _FACTS[key] = facts
    return facts


def _described(value: Any, metadata: Any) -> Any:
    if metadata is not None and metadata[0] == "stable":
        pointer = described(value)
        return DescriptorKind(pointer.dtype, tuple(int(n) for n in metadata[1][0]))
    return described(value)


def _key(kernel: Any, jitted: Any, given: Mapping[str, Any], capability: int) -> Any:
    """What the facts depend on; None where an argument cannot be compared."""
    try:
        configs = tuple(str(config) for config in getattr(kernel, "configs", ()))
        values = tuple((name, type(given[name]).__name__, given[name]) for name in sorted(given))
        key = (jitted.cache_key, debugging(), capability, configs, values)
        hash(key)
    except (AttributeError, TypeError):
        return None
    return key


def _capability(arguments: Mapping[str, Any]) -> int:
    """That of the GPU of the tensors; sm_90 where they are on none."""
    for value in arguments.values():
        if isinstance(value, torch.Tensor) and value.device.type == "cuda" and torch.cuda.is_available():
            major, minor = torch.cuda.get_device_capability(value.device)
            return 10 * major + minor
    return 90


def _union(
    kernel: Any, jitted: Any, arguments: Mapping[str, Any], given: Mapping[str, Any], capability: int
) -> UserKernelFacts:
    tensors = [name for name, value in arguments.items() if isinstance(value, torch.Tensor)]
    parameters = {name: PointerEffects() for name in tensors}
    effect, why = False, None
    try:
        for ttir in _forms(kernel, jitted, given, capability):
            effects = effects_of(ttir)
            if len(effects.arguments) != len(ttir.arguments):
                raise UserKernelError(f"kernel '{ttir.name}' takes other arguments than it is given")
            for name, found in zip(ttir.arguments, effects.arguments, strict=True):
                if found is not None and name in parameters:
                    parameters[name] |= found
            effect |= effects.has_effect
            why = why or effects.why
    except UserKernelError as error:
        return UserKernelFacts(dict.fromkeys(tensors, UNKNOWN), True, str(error))
    return UserKernelFacts(parameters, effect, why)


def _forms(kernel: Any, jitted: Any, given: Mapping[str, Any], capability: int) -> Iterator[KernelTtir]:
    """The TTIR with each configuration, without those that a ``tl.static_assert`` of the kernel excludes.
    Raises UserKernelError, also where it excludes all.
    """
    excluded, found = None, False
    for configured in configurations(kernel, given):
        try:
            ttir = ttir_of(jitted, configured, capability=capability)
        except StaticAssertFailed as error:
            excluded = error
            continue
        found = True
        yield ttir
    if excluded is not None and not found:
        raise excluded


def configurations(kernel: Any, given: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """``given`` with the values of each configuration of an autotuner; alone where ``kernel`` has none."""
    configs = getattr(kernel, "configs", None)
    if not configs:
        yield dict(given)
        return
    for config in configs:
        yield {**given, **config.all_kwargs()}


@functools.cache
def _context() -> ir.Context:
    """One for all kernels, since making it takes longer than analysing most of them."""
    context = make_context()
    context.allow_unregistered_dialects = True  # of ``llvm`` and others only the names of ops matter
    return context


def effects_of(ttir: KernelTtir) -> KernelEffects:
    """What a kernel's TTIR does.  Raises UserKernelError for an op that the mirror does not have."""
    with _ANALYSIS, _context() as context:
        with collecting(context) as said:
            try:
                module = ir.Module.parse(ttir.text)
            except ir.MLIRError:
                first = next(said.items[0].lines(), "") if said.items else "its TTIR does not parse"
                raise UserKernelError(f"kernel '{ttir.name}': {first}") from None
        function = next(op for op in module.body.operations if op.operation.name == "tt.func")
        return kernel_effects(function.operation)


__all__ = ["UserKernelFacts", "configurations", "effects_of", "facts_of"]
