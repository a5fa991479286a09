"""The driver's own launch of an empty kernel, as a baseline for ours: it is prepared once and issued by one
call of ctypes.

The ctypes call takes part of the time (about 0.6 us where the driver takes 2.8), as it does in the compiler's
own launches.
"""

import ctypes
from collections.abc import Callable

import torch

_EMPTY = """.version 8.0
.target sm_80
.address_size 64
.visible .entry empty()
{
  ret;
}
"""


def driver_launch(device: torch.device) -> Callable[[], None] | None:
    """A function that launches an empty kernel on torch's current stream; None without a GPU."""
    if device.type != "cuda":
        return None
    torch.zeros(1, device=device)  # torch creates its context and makes it current
    driver = ctypes.CDLL("libcuda.so.1")
    module, function = ctypes.c_void_p(), ctypes.c_void_p()
    _check(driver.cuModuleLoadData(ctypes.byref(module), _EMPTY.encode()), "cuModuleLoadData")
    _check(driver.cuModuleGetFunction(ctypes.byref(function), module, b"empty"), "cuModuleGetFunction")
    stream = ctypes.c_void_p(torch.cuda.current_stream(device).cuda_stream)
    one, none = ctypes.c_uint(1), ctypes.c_uint(0)
    arguments = (function, one, one, one, ctypes.c_uint(32), one, one, none, stream, None, None)
    call = driver.cuLaunchKernel

    def launch() -> None:
        _check(call(*arguments), "cuLaunchKernel")

    launch()
    return launch


def _check(code: int, name: str) -> None:
    if code:
        raise RuntimeError(f"{name} failed with CUDA error {code}")
