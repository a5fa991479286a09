"""A cautious mixture of GPUs, for a device that no file is about."""

from ..hardware import Hardware
from . import h100

GPU = Hardware("generic", 132, h100.RATES, rates_of="h100")
