"""AMD Instinct MI300X, by its data sheet.  Derived: nothing was measured on it.

For estimates alone: no kernels are made for such devices.
"""

from ..hardware import XGMI, Hardware
from . import h100

GPU = Hardware(
    "mi300x",
    304,
    h100.RATES,
    registers=131072,
    shared_bytes=64 * 1024,
    l2_bytes=256 << 20,
    warp=64,
    bandwidth=5300,
    clock=2.1,
    tensor_tflops=1307,
    link=XGMI,
    words=("mi300x",),
    capability=(9, 4),
    rates_of="h100",
)
