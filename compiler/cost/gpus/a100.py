"""NVIDIA A100, 80 GB, SXM.  Its rates are those of the H100."""

from ..hardware import NVLINK3, Hardware
from . import h100

GPU = Hardware(
    "a100",
    108,
    h100.RATES,
    shared_bytes=163 * 1024,
    l2_bytes=40 << 20,
    bandwidth=2039,
    clock=1.4,
    tensor_tflops=312,
    link=NVLINK3,
    words=("a100", "a800"),
    capability=(8, 0),
    rates_of="h100",
)
