"""What can be compiled for a CUDA device: the target, the hardware model, and which devices are refused."""

import torch

from ...base.errors import UnsupportedDevice
from ...base.target import other_target
from ...cost.devices import capability_hardware, device_hardware
from ..kernels.cubin import OLDEST_ARCH, Target


def target_of(device: int) -> Target:
    """The compilation target of a CUDA device, or the one of ``compiling_for``.  Raises
    ``UnsupportedDevice``.
    """
    if (asked := other_target()) is not None:
        return Target(arch=asked)
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
    that which the device's name tells.  Under ``compiling_for``, a model of GPUs of that capability.
    """
    if (asked := other_target()) is not None:
        return capability_hardware(asked).name if model is None else model
    return device_hardware(torch.cuda.get_device_properties(device), model).name


__all__ = ["check_device", "hardware_name", "target_of"]
