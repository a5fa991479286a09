"""What a user's Triton kernel reads and writes, whichever of its configurations runs, by parameter.

Facts are remembered in this process, and stored on disk with the programs, so that a warm start needs neither
MLIR nor Triton's front end for them.  ``analysed_facts.py`` finds those that are not known.
"""

import hashlib
import json
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import field
from functools import cached_property
from typing import Any, Protocol, TypeVar

import torch

from ...base.dataclass import dataclass
from ...base.json_data import from_json, to_json
from ...base.pointer_effects import PointerEffects
from ...fx.torch_state import capability_of
from ...fx.user_kernels import Opaque, constant_text
from .argument_kinds import DescriptorKind, NumberKind, PointerKind, debugging, described

_Decoded = TypeVar("_Decoded")


@dataclass(frozen=True)
class UserKernelFacts:
    """What a kernel does, as the union over its configurations.

    parameters: for each parameter that is a tensor or a descriptor what is done to its memory.  effect: it
    must run though nobody reads what it writes.  why: why parameters are taken as read and written; None
    where none is.
    """

    parameters: dict[str, PointerEffects] = field(hash=False)
    effect: bool
    why: str | None = None

    @property
    def written(self) -> list[str]:
        """The parameters whose memory is written, in the order of the kernel."""
        return [name for name, effects in self.parameters.items() if effects.written]


@dataclass(frozen=True)
class Question:
    """A launch that is asked about.

    kernel: a ``triton.JITFunction`` or an autotuner of one.  tensors: the parameters that are given tensors.
    given: what is known of each argument.  capability: that of the GPU, 90 for 9.0.
    """

    kernel: Any
    tensors: tuple[str, ...]
    given: Mapping[str, Any]
    capability: int

    @staticmethod
    def of(kernel: Any, arguments: Mapping[str, Any], descriptors: Mapping[str, Any]) -> "Question":
        """arguments: what is given for each parameter: tensors (fake ones, too), numbers, symbols, constants.
        descriptors: torch's metadata of tensors that are given as descriptors.
        """
        tensors = tuple(name for name, value in arguments.items() if isinstance(value, torch.Tensor))
        given = {name: _described(value, descriptors.get(name)) for name, value in arguments.items()}
        return Question(kernel, tensors, given, _capability(arguments))

    @property
    def jitted(self) -> Any:
        """The ``JITFunction``."""
        return getattr(self.kernel, "fn", self.kernel) if hasattr(self.kernel, "configs") else self.kernel

    def configured(self) -> Iterator[dict[str, Any]]:
        """What is given, with the values of each configuration of an autotuner."""
        for values in self._configurations():
            yield {**self.given, **values}

    def _configurations(self) -> list[dict[str, Any]]:
        return [config.all_kwargs() for config in getattr(self.kernel, "configs", None) or ()] or [{}]

    @cached_property
    def key(self) -> Any:
        """What the facts depend on in this process; None where an argument cannot be compared."""
        try:
            configs = tuple(str(config) for config in getattr(self.kernel, "configs", ()))
            values = tuple((n, type(self.given[n]).__name__, self.given[n]) for n in sorted(self.given))
            key = (self.jitted.cache_key, debugging(), self.capability, configs, self.tensors, values)
            hash(key)
        except (AttributeError, TypeError):
            return None
        return key

    @cached_property
    def text(self) -> str | None:
        """The same as text that is equal in every process; None where an argument has none."""
        try:
            given = {name: _text(value) for name, value in sorted(self.given.items())}
            configs = [
                {name: _text(value) for name, value in sorted(values.items())}
                for values in self._configurations()
            ]
            parts = (self.jitted.cache_key, debugging(), self.capability, configs, self.tensors, given)
        except (AttributeError, Opaque):
            return None
        return repr(parts)


def _text(value: Any) -> str:
    if isinstance(value, PointerKind | NumberKind | DescriptorKind):
        return repr(value)
    if isinstance(value, torch.dtype):
        return str(value)
    return constant_text(value)


def _described(value: Any, metadata: Any) -> Any:
    if metadata is not None and metadata[0] == "stable":
        pointer = described(value)
        return DescriptorKind(pointer.dtype, tuple(int(n) for n in metadata[1][0]))
    return described(value)


def _capability(arguments: Mapping[str, Any]) -> int:
    """That of the GPU of the tensors; sm_90 where they are on none."""
    tensors = (value for value in arguments.values() if isinstance(value, torch.Tensor))
    return next((capability_of(each.device) for each in tensors if each.device.type == "cuda"), 90)


class Entries(Protocol):
    """Where facts are stored: ``runtime/cache``'s folder."""

    def read(self, key: str, decode: Callable[[bytes], _Decoded]) -> _Decoded | None: ...
    def write(self, key: str, data: bytes) -> None: ...


@dataclass(frozen=True)
class FactsStore:
    """Facts on disk.  toolchain: gives the versions of all that finds facts."""

    entries: Entries
    toolchain: Callable[[], str]

    def read(self, text: str) -> UserKernelFacts | None:
        """The facts of a question's text."""
        return self.entries.read(self._name(text), read_facts)

    def write(self, text: str, facts: UserKernelFacts) -> None:
        """Stores the facts of a question's text."""
        self.entries.write(self._name(text), facts_bytes(facts))

    def _name(self, text: str) -> str:
        return hashlib.sha256(f"facts\0{self.toolchain()}\0{text}".encode()).hexdigest()


def facts_bytes(facts: UserKernelFacts) -> bytes:
    """Facts as an entry."""
    return json.dumps(to_json(facts), separators=(",", ":")).encode()


def read_facts(data: bytes) -> UserKernelFacts:
    """The facts that ``facts_bytes`` wrote.  Raises ValueError for any other bytes."""
    try:
        found = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"it holds no JSON: {error}") from None
    return from_json(UserKernelFacts, found)


_FACTS: dict[Any, UserKernelFacts] = {}
_LOCK = threading.Lock()


def known_facts(question: Question, store: FactsStore | None = None) -> UserKernelFacts | None:
    """The facts that were found before, in this process or by one that stored them."""
    with _LOCK:
        if question.key is not None and question.key in _FACTS:
            return _FACTS[question.key]
    if store is None or question.text is None:
        return None
    facts = store.read(question.text)
    if facts is None or set(facts.parameters) != set(question.tensors):
        return None
    _remember(question, facts)
    return facts


def remember(question: Question, facts: UserKernelFacts, store: FactsStore | None = None) -> None:
    """Keeps facts for this process, and stores those of kernels that are understood."""
    _remember(question, facts)
    if store is not None and question.text is not None and facts.why is None:
        store.write(question.text, facts)


def _remember(question: Question, facts: UserKernelFacts) -> None:
    if question.key is not None:
        with _LOCK:
            _FACTS[question.key] = facts


__all__ = [
    "FactsStore",
    "Question",
    "UserKernelFacts",
    "facts_bytes",
    "known_facts",
    "read_facts",
    "remember",
]
