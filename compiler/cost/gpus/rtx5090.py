"""NVIDIA GeForce RTX 5090, by its architecture paper.  Derived: nothing was measured on it.

Products are summed in float32, at half of the rate of those in float16.
"""

from ..hardware import PCIE5, Hardware
from . import h100

GPU = Hardware(
    "rtx5090",
    170,
    h100.RATES,
    shared_bytes=99 * 1024,
    l2_bytes=96 << 20,
    bandwidth=1792,
    clock=2.4,
    tensor_tflops=210,
    descriptors=True,
    link=PCIE5,
    words=("5090",),
    capability=(12, 0),
    rates_of="h100",
)
