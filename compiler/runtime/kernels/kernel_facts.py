"""What option ``report`` says of compiled kernels: what they take, their PTX and SASS."""

import os
import subprocess
import tempfile
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from .cubin import CompiledCubin
from .cubin_stack import register_count


def kernel_facts(kernels: Mapping[str, CompiledCubin]) -> dict[str, dict[str, Any]]:
    """By name: warps, bytes of shared memory, registers and bytes of stack a thread, PTX, SASS."""
    with ThreadPoolExecutor(os.cpu_count()) as threads:
        return dict(zip(kernels, threads.map(_facts, kernels.values()), strict=True))


def _facts(kernel: CompiledCubin) -> dict[str, Any]:
    return {
        "warps": kernel.num_warps,
        "shared": kernel.shared,
        "registers": register_count(kernel.cubin),
        "stack": kernel.stack,
        "ptx": kernel.ptx,
        "sass": sass_text(kernel.cubin),
    }


def sass_text(cubin: bytes) -> str:
    """The machine code of a cubin, by the disassembler that Triton brings; "" where there is none, or it does
    not know the architecture.
    """
    from triton import knobs

    try:
        tool = knobs.nvidia.nvdisasm.path
    except RuntimeError:  # Triton's word for a tool that is not there
        return ""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "kernel.cubin"
        path.write_bytes(cubin)
        done = subprocess.run([tool, "-c", str(path)], capture_output=True, text=True)
    return done.stdout if done.returncode == 0 else ""
