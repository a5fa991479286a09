"""What is compiled, for which target, and the compiled kernel: plain data, which needs neither Triton nor
MLIR nor CUDA.
"""

import hashlib
import json
import re
import struct
from collections.abc import Mapping
from dataclasses import asdict, field, fields
from typing import Protocol

from ...base.dataclass import dataclass
from ...base.json_data import from_json
from .cubin_stack import stack_bytes

STAGES = ("parse", "ttir", "ttgir", "llir", "ptx", "cubin")
"""Triton's stages in order. `parse` reads and verifies the text; each other stage is named after its
output.
"""

ARRAY_BYTES = 40
"""Local memory of a thread that the array of a function takes; ten spilled registers take as much."""

KEEPABLE = ("ttir", "ttgir", "llir")
"""Intermediate texts that `CompileRequest.keep` may name."""

_LENGTHS = struct.Struct("<3Q")


OLDEST_ARCH = 80
"""Ampere: the first that copies to shared memory while it computes, which all tiles of products rely on."""


@dataclass(frozen=True)
class Target:
    """The machine compiled for. `arch` is the compute capability times ten (90 for Hopper)."""

    arch: int = 90
    warp_size: int = 32
    backend: str = "cuda"

    def __post_init__(self) -> None:
        if self.backend != "cuda":
            raise ValueError(f"unknown Triton backend '{self.backend}': only 'cuda' is supported")
        if self.warp_size != 32:
            raise ValueError(f"warp_size is {self.warp_size}: CUDA has 32")
        if self.arch < OLDEST_ARCH:
            raise ValueError(f"arch is {self.arch}: {OLDEST_ARCH} (Ampere) or newer is required")


@dataclass(frozen=True)
class CompileOptions:
    """Triton's options, all spelt out, so that none is decided by a default of Triton's version or
    environment.

    num_warps: warps a program, a power of two. num_stages: depth of software pipelining. num_ctas: blocks a
    cluster.
    maxnreg: registers a thread at most, None for no limit. enable_fp_fusion: contract a*b+c into one
    rounding.
    """

    num_warps: int = 4
    num_stages: int = 3
    num_ctas: int = 1
    maxnreg: int | None = None
    enable_fp_fusion: bool = True

    def __post_init__(self) -> None:
        if not 1 <= self.num_warps <= 32 or self.num_warps & (self.num_warps - 1):
            raise ValueError(f"num_warps is {self.num_warps}: a power of two from 1 to 32 is required")
        if not 1 <= self.num_ctas <= 16 or self.num_ctas & (self.num_ctas - 1):
            raise ValueError(f"num_ctas is {self.num_ctas}: a power of two from 1 to 16 is required")
        if self.num_stages < 1:
            raise ValueError(f"num_stages is {self.num_stages}: at least 1 is required")
        if self.maxnreg is not None and not 1 <= self.maxnreg <= 255:
            raise ValueError(f"maxnreg is {self.maxnreg}: 1 to 255, or None, is required")


class CompileSource(Protocol):
    """A kernel to compile (``codegen.launches.KernelSource``)."""

    @property
    def name(self) -> str: ...

    @property
    def text(self) -> str: ...

    @property
    def signature(self) -> tuple[str, ...]: ...

    @property
    def num_warps(self) -> int: ...

    @property
    def num_stages(self) -> int: ...


@dataclass(frozen=True)
class CompileRequest:
    """One kernel to compile: a module of TTIR text with one public function, and how to compile it.

    keep: the intermediate texts to return, of KEEPABLE; this does not change what is compiled.
    """

    text: str
    target: Target = Target()
    options: CompileOptions = CompileOptions()
    keep: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        unknown = [stage for stage in self.keep if stage not in KEEPABLE]
        if unknown:
            raise ValueError(f"cannot keep '{unknown[0]}': expected one of {', '.join(KEEPABLE)}")
        if self.options.num_ctas > 1 and self.target.arch < 90:
            raise ValueError(
                f"num_ctas is {self.options.num_ctas}: clusters need arch 90, got {self.target.arch}"
            )

    @staticmethod
    def of(source: CompileSource, target: Target, fp_fusion: bool = True) -> "CompileRequest":
        """The request for a kernel, with the options of its tile."""
        options = CompileOptions(source.num_warps, source.num_stages, enable_fp_fusion=fp_fusion)
        return CompileRequest(source.text, target, options)

    def key(self, toolchain: str) -> str:
        """The sha256, in hexadecimal, of everything that decides the cubin; `toolchain` identifies the
        compiler.
        """
        content = {"toolchain": toolchain, "target": asdict(self.target), "options": asdict(self.options)}
        digest = hashlib.sha256(json.dumps(content, sort_keys=True).encode())
        digest.update(b"\0")
        digest.update(self.text.encode())
        return digest.hexdigest()


@dataclass(frozen=True)
class CompiledCubin:
    """A compiled kernel and what is needed to launch it.

    params: PTX types of the kernel's parameters in order ("u64", "u32", "f32", ...; "b8[128]" for one passed
    by value),
        with the two scratch pointers that Triton appends at the end.
    shared: bytes of dynamic shared memory. num_warps: warps a block; warp specialisation may raise it over
    the request's.
    global_scratch_size, profile_scratch_size: bytes a program needs behind the two trailing pointers.
    timings_ms: wall time of each of STAGES where it was compiled, in milliseconds; not part of equality.
    texts: what `CompileRequest.keep` asked for, by stage.
    """

    name: str
    arch: int
    cubin: bytes = field(repr=False)
    ptx: str = field(repr=False)
    params: tuple[str, ...]
    shared: int
    num_warps: int
    num_ctas: int = 1
    global_scratch_size: int = 0
    profile_scratch_size: int = 0
    timings_ms: Mapping[str, float] = field(default_factory=dict, compare=False, repr=False)
    texts: Mapping[str, str] = field(default_factory=dict, compare=False, repr=False)

    @property
    def stack(self) -> int:
        """Bytes of local memory of a thread: registers that spill, and arrays of its functions."""
        return stack_bytes(self.cubin)

    @property
    def spilled(self) -> int:
        """The same, 0 where an array of a function (``sin`` has one) may be all."""
        return self.stack if self.stack > ARRAY_BYTES else 0

    def to_bytes(self) -> bytes:
        """Three lengths, JSON of the small fields, PTX, cubin."""
        small = {name: getattr(self, name) for name in self._small()}
        head, ptx = json.dumps(small, sort_keys=True).encode(), self.ptx.encode()
        return _LENGTHS.pack(len(head), len(ptx), len(self.cubin)) + head + ptx + self.cubin

    @classmethod
    def from_bytes(cls, data: bytes) -> "CompiledCubin":
        """The inverse of `to_bytes`. Raises ValueError where the length or the fields do not match."""
        start = _LENGTHS.size
        head, ptx, cubin = _LENGTHS.unpack_from(data) if len(data) >= start else (0, 0, 0)
        if len(data) != start + head + ptx + cubin:
            raise ValueError(f"a kernel of {len(data)} bytes does not have the lengths that it begins with")
        try:
            small = json.loads(data[start : start + head])
        except RecursionError:
            small = None
        if not isinstance(small, dict) or set(small) != set(cls._small()):
            raise ValueError(f"a kernel is stored with the fields {', '.join(cls._small())}")
        text = data[start + head : start + head + ptx].decode()
        read = from_json(cls, {**small, "cubin": data[start + head + ptx :], "ptx": text})
        numbers = (read.shared, read.num_warps, read.num_ctas, read.global_scratch_size)
        if not all(0 <= number < 1 << 31 for number in (*numbers, read.profile_scratch_size)):
            raise ValueError("a kernel is stored with a number that no kernel has")
        return read

    @classmethod
    def _small(cls) -> list[str]:
        return [f.name for f in fields(cls) if f.name not in ("cubin", "ptx")]


_PTX_ENTRY = re.compile(r"\.visible\s+\.entry\s+([\w$]+)\s*\(([^)]*)\)")
_PTX_PARAM = re.compile(r"\.param\s+(?:\.align\s+\d+\s+)?\.(\w+)\b[^,\[]*(\[\d+\])?")


def ptx_params(ptx: str) -> tuple[str, ...]:
    """The parameter types of the first entry point in `ptx`, as in `CompiledCubin.params`. Raises ValueError
    without one.
    """
    entry = _PTX_ENTRY.search(ptx)
    if entry is None:
        raise ValueError("the PTX has no '.visible .entry'")
    params = [_PTX_PARAM.search(line) for line in entry[2].split(",") if line.strip()]
    return tuple(f"{match[1]}{match[2] or ''}" for match in params if match is not None)
