"""NVIDIA L40S, by its data sheet.  Derived: nothing was measured on it."""

from ..hardware import PCIE4, Hardware
from . import h100

GPU = Hardware(
    "l40s",
    142,
    h100.RATES,
    shared_bytes=99 * 1024,
    l2_bytes=96 << 20,
    bandwidth=864,
    clock=2.5,
    tensor_tflops=362,
    link=PCIE4,
    words=("l40s",),
    capability=(8, 9),
    rates_of="h100",
)
