"""NVIDIA GeForce RTX 4090, by its architecture paper.  Derived: nothing was measured on it.

Products are summed in float32, at half of the rate of those in float16.
"""

from ..hardware import PCIE4, Hardware
from . import h100

GPU = Hardware(
    "rtx4090",
    128,
    h100.RATES,
    shared_bytes=99 * 1024,
    l2_bytes=72 << 20,
    bandwidth=1008,
    clock=2.5,
    tensor_tflops=165,
    link=PCIE4,
    words=("4090",),
    capability=(8, 9),
    rates_of="h100",
)
