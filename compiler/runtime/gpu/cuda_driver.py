"""The calls of the CUDA driver that loading and launching a kernel need, through ctypes, without a compiler
or headers.

`CudaDriver` works in the calling thread's current context, which torch has created. No library is loaded
before `CudaDriver.load()`.
"""

import ctypes
from typing import Any, Protocol

_SUCCESS = 0
INVALID_CONTEXT = 201
"""The CUresult of a call in a thread that has no current context."""

# CUfunction_attribute
_STATIC_SHARED_BYTES = 1
_MAX_DYNAMIC_SHARED_BYTES = 8
_NON_PORTABLE_CLUSTER_SIZE = 14

_DEFAULT_SHARED_LIMIT = 48 * 1024
"""Bytes of dynamic shared memory that a kernel may use without setting an attribute."""

_PORTABLE_CLUSTER = 8
"""Blocks of the largest cluster that every device with clusters accepts."""

#: CUdevice_attribute: bytes of shared memory that a block may ask for.
_SHARED_BYTES_PER_BLOCK = 97


class CudaError(RuntimeError):
    """The driver returned an error, or there is no driver. `code` is the CUresult, -1 where there is no
    driver.
    """

    def __init__(self, message: str, code: int = -1) -> None:
        super().__init__(message)
        self.code = code


class LaunchCall(Protocol):
    """`cuLaunchKernelEx`, called with a CUlaunchConfig, a CUfunction, None, and the `extra` list.

    The first two and the last are made by `byref` or `from_param`, so that ctypes passes them without
    conversion.
    """

    def __call__(self, config: Any, function: Any, params: None, extra: Any) -> int:
        """The CUresult, 0 on success."""


class Driver(Protocol):
    """The methods of a driver that a Launcher uses; tests pass a driver that records calls."""

    launch_kernel: LaunchCall

    def make_current(self, device: int) -> None: ...
    def has_context(self) -> bool: ...
    def current_device(self, kernel: str) -> int: ...
    def load_function(self, image: bytes, kernel: str) -> tuple[int, int]: ...
    def unload(self, module: int, kernel: str) -> None: ...
    def allow_shared(self, function: int, size: int, device: int, kernel: str) -> None: ...
    def allow_cluster(self, function: int, blocks: int, kernel: str) -> None: ...
    def error_string(self, code: int) -> str: ...


class CudaDriver:
    """libcuda.so.1. Each method raises CudaError with CUDA's own description and, where one is involved, the
    kernel's name.
    """

    def __init__(self, library: ctypes.CDLL) -> None:
        self._library = library
        # This library releases the GIL in a call: a launch waits while the queue is full, and other threads
        # must go on.
        launch = library.cuLaunchKernelEx
        launch.restype = ctypes.c_int
        self.launch_kernel: LaunchCall = launch
        for name in ("cuGetErrorString", "cuGetErrorName"):
            getattr(library, name).argtypes = [ctypes.c_int, ctypes.POINTER(ctypes.c_char_p)]

    @classmethod
    def load(cls) -> "CudaDriver":
        """The driver of this machine. Raises CudaError where there is none, or it is older than CUDA 12."""
        try:
            library = ctypes.CDLL("libcuda.so.1")
        except OSError as error:
            raise CudaError(f"no CUDA driver: libcuda.so.1 cannot be loaded ({error})") from error
        if not hasattr(library, "cuLaunchKernelEx"):
            raise CudaError(
                "the CUDA driver is too old: it has no cuLaunchKernelEx, CUDA 12 or newer is required"
            )
        driver = cls(library)
        driver._check(library.cuInit(0), "cuInit")
        return driver

    def device_count(self) -> int:
        """How many devices are visible to this process."""
        count = ctypes.c_int()
        self._check(self._library.cuDeviceGetCount(ctypes.byref(count)), "cuDeviceGetCount")
        return count.value

    def make_current(self, device: int) -> None:
        """Makes torch's context on device number `device` current in the calling thread.

        torch does so when a thread first needs a context, but a backward pass may launch before that.
        """
        context = ctypes.c_void_p()
        retained = self._library.cuDevicePrimaryCtxRetain(ctypes.byref(context), self._device_handle(device))
        self._check(retained, "cuDevicePrimaryCtxRetain")
        self._check(self._library.cuCtxSetCurrent(context), "cuCtxSetCurrent")

    def has_context(self) -> bool:
        """Whether the calling thread has a current context."""
        context = ctypes.c_void_p()
        self._check(self._library.cuCtxGetCurrent(ctypes.byref(context)), "cuCtxGetCurrent")
        return context.value is not None

    def current_device(self, kernel: str) -> int:
        """The number of the current context's device; the error without a context names `kernel`."""
        device = ctypes.c_int()
        self._check(self._library.cuCtxGetDevice(ctypes.byref(device)), "cuCtxGetDevice", kernel)
        return device.value

    def load_function(self, image: bytes, kernel: str) -> tuple[int, int]:
        """(module, function) of the kernel named `kernel` in the cubin `image`, loaded into the current
        context.
        """
        module, function = ctypes.c_void_p(), ctypes.c_void_p()
        self._check(self._library.cuModuleLoadData(ctypes.byref(module), image), "cuModuleLoadData", kernel)
        found = self._library.cuModuleGetFunction(ctypes.byref(function), module, kernel.encode())
        self._check(found, "cuModuleGetFunction", kernel)
        assert module.value is not None and function.value is not None
        return module.value, function.value

    def unload(self, module: int, kernel: str) -> None:
        """Unload what `load_function` loaded; its context must be current."""
        self._check(self._library.cuModuleUnload(ctypes.c_void_p(module)), "cuModuleUnload", kernel)

    def allow_shared(self, function: int, size: int, device: int, kernel: str) -> None:
        """Allows `function` to be launched with `size` bytes of dynamic shared memory on `device`."""
        if size <= _DEFAULT_SHARED_LIMIT:
            return
        limit = self._device(self._device_handle(device), _SHARED_BYTES_PER_BLOCK)
        limit -= self._function(function, _STATIC_SHARED_BYTES, kernel)
        if size > limit:
            raise CudaError(
                f"kernel '{kernel}' needs {size} bytes of shared memory: device {device} allows {limit}"
            )
        self._set_function(function, _MAX_DYNAMIC_SHARED_BYTES, size, kernel)

    def allow_cluster(self, function: int, blocks: int, kernel: str) -> None:
        """Allows `function` to be launched in clusters of `blocks` blocks."""
        if blocks > _PORTABLE_CLUSTER:
            self._set_function(function, _NON_PORTABLE_CLUSTER_SIZE, 1, kernel)

    def error_string(self, code: int) -> str:
        """CUDA's name and description of a CUresult."""
        name, text = ctypes.c_char_p(), ctypes.c_char_p()
        if self._library.cuGetErrorName(code, ctypes.byref(name)) != _SUCCESS or name.value is None:
            return f"unknown CUDA error {code}"
        self._library.cuGetErrorString(code, ctypes.byref(text))
        return f"{name.value.decode()}: {(text.value or b'').decode()}"

    def _device_handle(self, device: int) -> int:
        handle = ctypes.c_int()
        self._check(self._library.cuDeviceGet(ctypes.byref(handle), device), f"cuDeviceGet({device})")
        return handle.value

    def _device(self, handle: int, attribute: int) -> int:
        value = ctypes.c_int()
        got = self._library.cuDeviceGetAttribute(ctypes.byref(value), attribute, handle)
        self._check(got, f"cuDeviceGetAttribute({attribute})")
        return value.value

    def _function(self, function: int, attribute: int, kernel: str) -> int:
        value = ctypes.c_int()
        got = self._library.cuFuncGetAttribute(ctypes.byref(value), attribute, ctypes.c_void_p(function))
        self._check(got, f"cuFuncGetAttribute({attribute})", kernel)
        return value.value

    def _set_function(self, function: int, attribute: int, value: int, kernel: str) -> None:
        done = self._library.cuFuncSetAttribute(ctypes.c_void_p(function), attribute, value)
        self._check(done, f"cuFuncSetAttribute({attribute}, {value})", kernel)

    def _check(self, code: int, call: str, kernel: str = "") -> None:
        if code != _SUCCESS:
            of = f" for kernel '{kernel}'" if kernel else ""
            raise CudaError(f"{call} failed{of}: {self.error_string(code)}", code)
