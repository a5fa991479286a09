"""NVIDIA H100, 80 GB, SXM.  Its rates are the H200's, but for what was found to differ."""

from ..hardware import NVLINK4, Hardware
from ..rates import Rate, RateSource
from . import h200

#: Half of a SwiGLU of 4096 cubed is estimated at 0.914 of the call's time, and took 1.09.
_PRODUCTS = RateSource("suite products", "H100", "2026-11-27")

RATES = h200.RATES.but({"margins.long": Rate(0.91, "x", _PRODUCTS)})
GPU = Hardware(
    "h100",
    132,
    RATES,
    shared_bytes=227 * 1024,
    l2_bytes=50 << 20,
    bandwidth=3350,
    clock=1.7,
    tensor_tflops=990,
    link=NVLINK4,
    descriptors=True,
    words=("h100", "h800"),
    capability=(9, 0),
    rates_of="h200",
)
