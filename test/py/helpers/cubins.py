"""What a compiled kernel uses and how it accesses memory, read from its cubin and its PTX."""

import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from fuse_mlir.compiler.runtime.kernels.cubin import CompiledCubin


@dataclass(frozen=True)
class Usage:
    """What ptxas says of a kernel."""

    registers: int
    spilled: int  #: bytes of local memory


def usage(cubin: CompiledCubin, folder: Path) -> Usage:
    """Registers a thread and local bytes, read from the cubin by cuobjdump."""
    text = dumped(cubin, "-res-usage", folder)
    return Usage(
        int(re.search(r"REG:(\d+)", text)[1]),
        int(re.search(r"LOCAL:(\d+)", text)[1]) + int(re.search(r"STACK:(\d+)", text)[1]),
    )


def dumped(cubin: CompiledCubin, what: str, folder: Path) -> str:
    """What cuobjdump says of a cubin, with an option such as ``-sass``; skips the test where it is not."""
    found = tool("cuobjdump")
    if found is None:
        pytest.skip("cuobjdump is not installed")
    path = folder / "k.cubin"
    path.write_bytes(cubin.cubin)
    return subprocess.run([found, what, str(path)], capture_output=True, text=True, check=True).stdout


def tool(name: str) -> str | None:
    """Where a tool of CUDA is that comes with Triton, or that is installed; None where it is not."""
    import triton

    bundled = Path(triton.__file__).parent / "backends" / "nvidia" / "bin" / name
    return str(bundled) if bundled.exists() else shutil.which(name)


def widths(cubin: CompiledCubin) -> set[str]:
    """The shapes of global accesses in the PTX: v4.b32, b32, .."""
    return set(re.findall(r"(?:ld|st)\.global(?:\.[\w:]+)*?\.((?:v[248]\.)?b\d+)", cubin.ptx))
