"""NVIDIA B200, 180 GB, by its data sheet.  Derived: nothing was measured on it."""

from ..hardware import NVLINK5, Hardware
from . import h100

GPU = Hardware(
    "b200",
    148,
    h100.RATES,
    shared_bytes=227 * 1024,
    l2_bytes=126 << 20,
    bandwidth=8000,
    clock=1.85,
    tensor_tflops=2250,
    descriptors=True,
    link=NVLINK5,
    words=("b200", "gb200"),
    capability=(10, 0),
    rates_of="h100",
)
