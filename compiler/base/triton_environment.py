"""Triton's settings that change what it compiles a kernel to, as text for the keys of caches.

Triton reads environment variables, and knobs that a program sets in Python, while it compiles. Its own cache
counts those that its C++ reads (``get_cache_invalidating_env_vars``), and otherwise the version of ptxas,
its options and libdevice. Here all of them are read without Triton, since a warm start does not import it.

A variable of Triton's that no table names is counted: a wrong miss costs a compilation, a wrong hit a kernel.
``test/py/base/test_triton_environment.py`` compares the tables with what the installed Triton counts.
"""

import os
import secrets
import sys
from typing import Any

COUNTED = frozenset(
    {
        "ALLOW_LHS_TMEM_LAYOUT_CONVERSION",
        "DISABLE_FAST_REDUCTION",
        "DISABLE_LLVM_OPT",
        "DISABLE_MMA_V3",
        "DISABLE_MMA_V5",
        "DISABLE_PTXAS_OPT",
        "LLVM_ENABLE_TIMING",
        "LLVM_EXTRACT_DI_LOCAL_VARIABLES",
        "LLVM_IR_ENABLE_DUMP",
        "LLVM_PASS_PLUGIN_PATH",
        "MLIR_DISABLE_MULTITHREADING",
        "MLIR_DUMP_PATH",
        "MLIR_ENABLE_DIAGNOSTICS",
        "MLIR_ENABLE_DUMP",
        "MLIR_ENABLE_TIMING",
        "NVPTX_ENABLE_DUMP",
        "PTXAS_OPTIONS",
        "USE_IR_LOC",
    }
)
"""The variables without a prefix of Triton's."""

PREFIXES = ("TRITON_", "AMDGCN_")

HARMLESS = frozenset(
    {
        "TRITON_ALWAYS_COMPILE",
        "TRITON_CACHE_AUTOTUNING",
        "TRITON_CACHE_DIR",
        "TRITON_CACHE_MANAGER",
        "TRITON_CUDACRT_PATH",
        "TRITON_CUDART_PATH",
        "TRITON_CUOBJDUMP_PATH",
        "TRITON_DUMP_DIR",
        "TRITON_DUMP_PTXAS_LOG",
        "TRITON_FRONT_END_DEBUGGING",
        "TRITON_HOME",
        "TRITON_KERNEL_DUMP",
        "TRITON_KERNEL_OVERRIDE",  # of Triton's own cache, which nothing here asks
        "TRITON_LIBCUDA_PATH",
        "TRITON_NVDISASM_PATH",
        "TRITON_OVERRIDE_DIR",
        "TRITON_PRINT_AUTOTUNING",
        "TRITON_REMOTE_CACHE_BACKEND",
        "TRITON_REPRODUCER_PATH",
        "TRITON_STORE_BINARY_ONLY",
    }
)
"""Variables with Triton's prefix that say where files lie, what is printed and what is stored."""

_HARMLESS_PREFIXES = ("TRITON_REDIS_", "TRITON_PROTON_", "TRITON_CUPTI_", "TRITON_PROFILE_")

_GROUPS = ("compilation", "language", "nvidia", "runtime")
"""Those of ``triton.knobs`` that a compilation for NVIDIA reads."""


def is_counted(name: str) -> bool:
    """Whether the variable may change a kernel."""
    if name in HARMLESS or name.startswith(_HARMLESS_PREFIXES):
        return False
    return name in COUNTED or name.startswith(PREFIXES)


def triton_environment() -> str:
    """The counted variables and knobs that are set, one line; "" where none is. Equal between processes.

    The value of a file's path comes with the file's size and time: another ptxas under one path is another
    compiler.
    """
    found = {name: value for name, value in os.environ.items() if is_counted(name)} | _knobs()
    return " ".join(f"{name}={value!r}{_files(value)}" for name, value in sorted(found.items()) if value)


def _files(value: str) -> str:
    """Size and time of each file that a value names; plugins are several, parted by colons."""
    stamps = []
    for path in {value, *value.split(os.pathsep)}:
        if os.path.isfile(path):
            status = os.stat(path)
            stamps.append(f"[{status.st_size} {status.st_mtime_ns}]")
    return "".join(sorted(stamps))


def _knobs() -> dict[str, str]:
    """By variable, what a program has set in ``triton.knobs``, or Triton has read when it was imported.

    Most knobs write their variable, but not where ``propagate_env`` is off, and some hold no text.
    """
    knobs = sys.modules.get("triton.knobs")
    if knobs is None:
        return {}
    found: dict[str, str] = {}
    for group in (getattr(knobs, name) for name in _GROUPS):
        variables = {name: knob.key for name, knob in group.knob_descriptors.items()}
        for name, value in vars(group).items():
            variable = variables.get(name)
            if variable is not None and is_counted(variable):
                found[variable] = _text(value)
    # Read at import, whatever the variable has become: the class's value stands where no program has set one.
    found["TRITON_DEBUG"] = _text(knobs.runtime.debug)
    found["TRITON_INSTRUMENTATION_MODE"] = _text(knobs.compilation.instrumentation_mode)
    hook = knobs.runtime.add_stages_inspection_hook
    if hook is not None:
        found["hook"] = _hook_key(hook)
    return found


def _hook_key(hook: Any) -> str:
    """What a hook that changes Triton's stages tells for Triton's own key; it is new each time where the hook
    tells nothing.
    """
    try:
        return str(hook()[0])
    except Exception:  # a hook is the user's code, and before Triton 3.7 it takes arguments
        return secrets.token_hex()


def _text(value: Any) -> str:
    """A value as its variable would hold it; "" for what is unset."""
    if value is None or value is False:
        return ""
    return "1" if value is True else str(value)
