"""What lies in a package, as data: the manifest, which names each part with its SHA-256."""

from ...base.dataclass import dataclass
from .signature import CallSignature

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
