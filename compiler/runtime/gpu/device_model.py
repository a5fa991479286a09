"""The hardware model of a CUDA device: figures by its name, limits from the device itself.

Figures that were measured belong to one model of GPU, which its name and its compute capability tell.  Of any
other the vendor's peaks are derived from the clocks and widths that the driver reports.  What a kernel may
have (shared memory, registers, multiprocessors) is always what the device says: a slice of a GPU has its
name, too, and so has a card with fewer multiprocessors.
"""

import re
from typing import Any

import torch

from ...base.errors import UnsupportedDevice
from ...base.hardware import PRESETS, with_settings
from ..kernels.cubin import OLDEST_ARCH, Target

#: A word of the name of a device, its capability, and the model whose figures it has.
_MODELS = (
    ("h200", (9, 0), "h200"),
    ("h100", (9, 0), "h100"),
    ("h800", (9, 0), "h100"),
    ("a100", (8, 0), "a100"),
    ("a800", (8, 0), "a100"),
)

#: Multiplications and additions of half-precision products that a multiprocessor does in a clock, by
#: capability, from NVIDIA's architecture papers; of others as in the small ones, whose cards for games sum in
#: float32 at half of it.
_PRODUCTS = {(8, 0): 2048, (9, 0): 4096, (10, 0): 8192, (10, 3): 8192}
_OTHER_PRODUCTS = 1024

#: Properties of torch that are limits: the field of the model that each one is.
_LIMITS = {
    "multi_processor_count": "sm_count",
    "shared_memory_per_block_optin": "shared_bytes",
    "regs_per_multiprocessor": "registers",
    "L2_cache_size": "l2_bytes",
}


def target_of(device: int) -> Target:
    """The compilation target of a CUDA device.  Raises ``UnsupportedDevice``."""
    check_device(device)
    major, minor = torch.cuda.get_device_capability(device)
    return Target(arch=major * 10 + minor)


def check_device(device: int | None = None) -> None:
    """Raises ``UnsupportedDevice`` where no kernel can be compiled for it: it is not NVIDIA's, or too old."""
    if torch.version.hip is not None:
        reason = f"this torch is made for ROCm {torch.version.hip}, not for CUDA"
        raise UnsupportedDevice(device=torch.cuda.get_device_name(device), reason=reason)
    major, minor = torch.cuda.get_device_capability(device)
    if major * 10 + minor < OLDEST_ARCH:
        reason = f"its compute capability is {major}.{minor}, less than 8.0 (Ampere)"
        raise UnsupportedDevice(device=torch.cuda.get_device_name(device), reason=reason)


def hardware_name(device: int | None = None, model: str | None = None) -> str:
    """The hardware model of a CUDA device, as ``hardware_named`` takes it.

    ``device``: its number, by default the current one.  ``model``: the one whose figures to take, instead of
    that which the device's name tells.
    """
    properties = torch.cuda.get_device_properties(device)
    name = model or _model(properties)
    figures = _derived(properties) if name == "generic" and model is None else {}
    limits = {
        ours: found for theirs, ours in _LIMITS.items() if (found := getattr(properties, theirs, 0)) > 0
    }
    copies = properties.major >= 9  # Hopper's tensor memory accelerator
    return with_settings(PRESETS[name], {**figures, **limits, "descriptors": copies}).name


def _model(properties: Any) -> str:
    capability = (properties.major, properties.minor)
    words = re.findall(r"[a-z0-9]+", properties.name.lower())
    return next((model for word, of, model in _MODELS if word in words and of == capability), "generic")


def _derived(properties: Any) -> dict[str, int | float]:
    """The peaks of a GPU without figures.  A driver that does not tell a clock leaves the generic figure."""
    figures: dict[str, int | float] = {}
    clock = getattr(properties, "clock_rate", 0) / 1e6  # kHz
    memory = getattr(properties, "memory_clock_rate", 0) / 1e6
    width = getattr(properties, "memory_bus_width", 0)
    if memory > 0 and width > 0:
        figures["bandwidth"] = round(2 * memory * width / 8)
    if clock > 0:
        per_clock = _PRODUCTS.get((properties.major, properties.minor), _OTHER_PRODUCTS)
        figures["clock"] = round(clock, 2)
        figures["tensor_tflops"] = max(1, round(properties.multi_processor_count * per_clock * clock / 1e3))
    return figures


__all__ = ["check_device", "hardware_name", "target_of"]
