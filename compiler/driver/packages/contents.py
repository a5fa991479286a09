"""What lies in a package, as data: the manifest, which names each part with its SHA-256."""

import json
from typing import Any

from ...base.dataclass import dataclass
from ...base.json_data import from_json, to_json
from ..program import Account, Interface
from .signature import CallSignature

#: Raise it when the stored form changes.
SCHEMA = 1
#: The target whose programs the interpreter runs.
CPU = "cpu"


@dataclass(frozen=True)
class StoredPart:
    """A part of the archive by its name, and its SHA-256 in hexadecimal."""

    name: str
    digest: str


@dataclass(frozen=True)
class StoredWeight:
    """A tensor of ``storage``, a number of ``Manifest.storages``; sizes, strides, offset in elements."""

    storage: int
    dtype: str
    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int


@dataclass(frozen=True)
class TargetProgram:
    """A program compiled for one target.  program: ``program_bytes`` for a GPU, ``InterpretedProgramData`` on
    a CPU.  kernels: cubins by the names that the plan has for them.
    """

    program: StoredPart
    kernels: dict[str, StoredPart]


@dataclass(frozen=True)
class PackagedProgram:
    """An exported program.  weights: the stored tensor of each ``Weight``.  targets: by "sm_90" or "cpu"."""

    signature: CallSignature
    weights: dict[str, StoredWeight]
    targets: dict[str, TargetProgram]


@dataclass(frozen=True)
class Manifest:
    """torch: the version that compiled.  deterministic: as the option.  storages: the bytes that weights lie
    in.  beside: whether these are in the file next to the package, ``<path>.weights``.
    """

    torch: str
    deterministic: bool
    programs: dict[str, PackagedProgram]
    storages: tuple[StoredPart, ...]
    beside: bool


@dataclass(frozen=True)
class InterpretedProgramData:
    """A program that the interpreter runs: its module as text."""

    interface: Interface
    account: Account
    module: str


def to_bytes(value: Any) -> bytes:
    """A dataclass of this file as JSON.  Raises ValueError for what JSON cannot say."""
    return json.dumps({"schema": SCHEMA, "data": to_json(value)}, separators=(",", ":")).encode()


def from_bytes(kind: type[Any], data: bytes) -> Any:
    """What ``to_bytes`` wrote.  Raises ValueError for any other bytes."""
    try:
        content = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"it holds no JSON: {error}") from None
    if not isinstance(content, dict) or content.get("schema") != SCHEMA:
        raise ValueError(f"it is not of schema {SCHEMA}")
    return from_json(kind, content.get("data"))
