"""NVIDIA L4, by its data sheet.  Derived: nothing was measured on it."""

from ..hardware import PCIE4, Hardware
from . import h100

GPU = Hardware(
    "l4",
    58,
    h100.RATES,
    shared_bytes=99 * 1024,
    l2_bytes=48 << 20,
    bandwidth=300,
    clock=2.0,
    tensor_tflops=121,
    link=PCIE4,
    words=("l4",),
    capability=(8, 9),
    rates_of="h100",
)
