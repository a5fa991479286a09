"""Where and with what a benchmark ran."""

import platform
import subprocess
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

import torch

PACKAGES = ("torch", "triton", "torch-mlir", "transformers", "timm")
ROOT = Path(__file__).resolve().parent.parent


def describe_host(device: torch.device) -> dict[str, Any]:
    """Device, versions, date (UTC), and the commit with whether files differ from it (None without git)."""
    return {
        "device": describe_device(device),
        "versions": {"python": platform.python_version(), **versions()},
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": git("rev-parse", "HEAD"),
        "modified": None if (status := git("status", "--porcelain")) is None else bool(status),
    }


def describe_device(device: torch.device) -> dict[str, Any]:
    """Name and what limits a kernel; for the CPU its architecture."""
    if device.type != "cuda":
        return {"type": device.type, "name": platform.machine(), "threads": torch.get_num_threads()}
    found = torch.cuda.get_device_properties(device)
    return {
        "type": "cuda",
        "name": found.name,
        "capability": f"{found.major}.{found.minor}",
        "multiprocessors": found.multi_processor_count,
        "memory_bytes": found.total_memory,
        "l2_bytes": getattr(found, "L2_cache_size", None),
        "cuda": torch.version.cuda,
    }


def versions() -> dict[str, str]:
    """Versions of the packages that matter and are installed."""
    found = {}
    for package in PACKAGES:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return found


def git(*arguments: str) -> str | None:
    """Output of a git command in the repository, stripped; None if git or the repository is missing."""
    try:
        command = ["git", *arguments]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None
