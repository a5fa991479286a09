"""Launching a compiled kernel: arguments packed into one block of memory, and one call of the driver.

A launch writes into one block, laid out as

    CUlaunchConfig | CUlaunchAttribute... | extra | bytes of the arguments | the arguments

(`extra` points to the last two), and passes its address. The driver copies the arguments before the call
returns. A block belongs to one launch at a time: it is taken from a list and put back, both of which are
atomic, so that threads need no lock, and a launch inside another one (from a finaliser or a signal handler)
finds its own.
"""

import ctypes
import struct
import threading
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch

from ...base.dataclass import dataclass
from ...codegen.nvidia import is_early
from ..kernels.cubin import CompiledCubin
from .cuda_driver import INVALID_CONTEXT, CudaDriver, CudaError, Driver

Launch = Callable[..., None]
"""`launch(stream, gx, gy, gz, *args)`: the stream's handle, programs along each axis, the kernel's
arguments.
"""


@dataclass(frozen=True)
class ArgType:
    """How an argument is passed. code: its `struct` format, whose size is also its alignment. convert:
    applied first.
    """

    code: str
    convert: Callable[..., int] | None = None

    @property
    def size(self) -> int:
        """Bytes it occupies."""
        return struct.calcsize("=" + self.code)


def _bf16_bits(value: float) -> int:
    """The bfloat16 nearest to `value` (ties to even), as 16 bits; a value that is too large becomes
    infinite.
    """
    bits = struct.unpack("<Q", struct.pack("<d", value))[0]
    sign, exponent, fraction = bits >> 63, (bits >> 52) & 0x7FF, bits & ((1 << 52) - 1)
    if exponent == 0x7FF:
        return sign << 15 | 0x7F80 | (0x40 if fraction else 0)
    # The value is significand * 2**(exponent - 1075): shift it right to bfloat16's 8 bits, subnormals
    # further.
    significand = fraction | (1 << 52 if exponent else 0)
    biased = exponent - 1023 + 127
    shift = 45 + max(0, 1 - biased)
    kept, rest, half = significand >> shift, significand & ((1 << shift) - 1), 1 << (shift - 1)
    kept += rest > half or (rest == half and kept & 1)
    # A carry out of the fraction raises the exponent by itself; the implicit bit is already one unit of it.
    magnitude = kept + (max(biased - 1, 0) << 7)
    return sign << 15 | min(magnitude, 0x7F80)


ARG_TYPES: dict[str, ArgType] = {
    "ptr": ArgType("Q"),
    "i1": ArgType("?"),
    "i8": ArgType("b"),
    "i16": ArgType("h"),
    "i32": ArgType("i"),
    "i64": ArgType("q"),
    "u8": ArgType("B"),
    "u16": ArgType("H"),
    "u32": ArgType("I"),
    "u64": ArgType("Q"),
    "f16": ArgType("e"),
    "bf16": ArgType("H", _bf16_bits),
    "f32": ArgType("f"),
    "f64": ArgType("d"),
}
"""Entries of a signature: TTIR's argument types, "ptr" for any pointer; "u..." take the unsigned range of an
"i...".
"""

_PTX_SIZES = {f"{kind}{bits}": bits // 8 for kind in "usbf" for bits in (8, 16, 32, 64)} | {"b8[2]": 2}
"""Bytes of a PTX parameter; LLVM declares 16-bit floats as two bytes."""

# CUlaunchConfig: grid, block, shared memory; 4 bytes of padding; stream, attributes; how many; 4 bytes of
# padding.
_CONFIG = "7I4xQQI4x"
_ATTRIBUTE = "I4x4I48x"  # CUlaunchAttribute: its id, padded, and a union of 64 bytes
_EXTRA = "5Q"
_CLUSTER_DIMENSION = 4
_CLUSTER_SCHEDULING = 5
_PROGRAMMATIC_SERIALIZATION = 6  # the launch may begin before the one in front of it on the stream has ended
_SPREAD = 1
_END, _BUFFER_POINTER, _BUFFER_SIZE = 0, 1, 2


class LaunchError(RuntimeError):
    """A kernel was launched with arguments that it does not take, or the driver refused the launch."""


class Launcher:
    """Loads a kernel on each device that needs it, and launches it.

    cubin: the kernel. signature: one of ARG_TYPES for each argument, without Triton's two trailing pointers.
    driver: loads and launches; by default this machine's, which the first `on` looks up.

    Raises ValueError where the signature is not the kernel's, by number or by size, and NotImplementedError
    for a kernel that writes profiles or takes a descriptor by value.  A kernel that needs scratch memory gets
    it from torch at each launch.
    """

    def __init__(self, cubin: CompiledCubin, signature: Sequence[str], driver: Driver | None = None) -> None:
        self.cubin = cubin
        self.signature = tuple(signature)
        _check_signature(cubin, self.signature)
        if cubin.profile_scratch_size:
            raise NotImplementedError(
                f"kernel '{cubin.name}' needs {cubin.profile_scratch_size} bytes of memory for profiles a "
                "program"
            )
        self._driver = driver
        self._loaded: dict[int, tuple[int, Launch]] = {}
        self._lock = threading.Lock()

    def on(self, device: int) -> Launch:
        """The function that launches this kernel on `device`, whose context must be current in the calling
        thread.

        The kernel is loaded at the first call for each device; the result may be kept and called from any
        thread in which that context is current. A grid of no programs launches nothing. It raises
        LaunchError, with the kernel's name, for arguments that do not fit the signature, and for what the
        driver refuses; TypeError, with it too, for another number of arguments.
        """
        loaded = self._loaded.get(device)
        if loaded is not None:
            return loaded[1]
        with self._lock:
            if device not in self._loaded:
                self._loaded[device] = self._load(device)
            return self._loaded[device][1]

    def unload(self) -> None:
        """Unload the kernel everywhere; no function from `on` may be called afterwards. Contexts must be
        alive.
        """
        with self._lock:
            for module, _ in self._loaded.values():
                self._require_driver().unload(module, self.cubin.name)
            self._loaded.clear()

    def _require_driver(self) -> Driver:
        if self._driver is None:
            self._driver = CudaDriver.load()
        return self._driver

    def _load(self, device: int) -> tuple[int, Launch]:
        driver, cubin = self._require_driver(), self.cubin
        if not driver.has_context():
            driver.make_current(device)
        current = driver.current_device(cubin.name)
        if current != device:
            raise CudaError(
                f"kernel '{cubin.name}': the current context is of device {current}, not {device}"
            )
        module, function = driver.load_function(cubin.cubin, cubin.name)
        driver.allow_shared(function, cubin.shared, device, cubin.name)
        driver.allow_cluster(function, cubin.num_ctas, cubin.name)
        if not cubin.global_scratch_size:
            return module, _launch_function(cubin, self.signature, driver, function, device)
        launch = _launch_function(cubin, (*self.signature, "ptr"), driver, function, device, nulls=1)
        return module, _with_scratch(launch, cubin.global_scratch_size * cubin.num_ctas, device)


def _with_scratch(launch: Launch, size: int, device: int) -> Launch:
    """``launch`` without its last argument, the address of ``size`` bytes for each program.

    The memory is torch's: it goes back after the launch, and what takes it next on this stream runs later.
    Where the launch is recorded, it belongs to the memory of the recording.
    """

    def run(stream: int, gx: int, gy: int, gz: int, *args: Any) -> None:
        scratch = _scratch(gx * gy * gz * size, device)
        launch(stream, gx, gy, gz, *args, scratch.data_ptr())

    return run


def _scratch(size: int, device: int) -> torch.Tensor:
    return torch.empty(size, dtype=torch.uint8, device=torch.device("cuda", device))


def _check_signature(cubin: CompiledCubin, signature: tuple[str, ...]) -> None:
    unknown = [entry for entry in signature if entry not in ARG_TYPES]
    if unknown:
        expected = ", ".join(ARG_TYPES)
        raise ValueError(
            f"kernel '{cubin.name}': unknown argument type '{unknown[0]}', expected one of {expected}"
        )
    if cubin.params[-2:] != ("u64", "u64"):
        raise ValueError(f"kernel '{cubin.name}' has no scratch pointers at the end of its parameters")
    params = cubin.params[:-2]
    if len(params) != len(signature):
        raise ValueError(
            f"kernel '{cubin.name}' takes {len(params)} arguments, but its signature has {len(signature)}"
        )
    for index, (param, entry) in enumerate(zip(params, signature, strict=True)):
        size = ARG_TYPES[entry].size
        if param not in _PTX_SIZES:
            raise NotImplementedError(
                f"kernel '{cubin.name}': argument {index} is passed by value as {param}"
            )
        if _PTX_SIZES[param] != size:
            raise ValueError(
                f"kernel '{cubin.name}': argument {index} is {entry} ({size} bytes) in the signature, "
                f"but {param} ({_PTX_SIZES[param]} bytes) in the kernel"
            )


def argument_codes(signature: Sequence[str], nulls: int) -> tuple[list[str], int]:
    """(`struct` format of each argument, its padding before it; bytes of all) as C lays arguments out: each
    at a multiple of its size.

    Triton's two scratch pointers are part of it, of which the last `nulls` are not in the signature. The
    formats have no byte-order mark.
    """
    codes, at = [], 0
    for kind in [ARG_TYPES[entry] for entry in signature] + [ARG_TYPES["ptr"]] * nulls:
        padding = -at % kind.size
        codes.append(f"{padding}x{kind.code}" if padding else kind.code)
        at += padding + kind.size
    return codes, at


_Block = list[Any]
"""Memory for one launch; where its configuration and `extra` lie; the (stream, grid) that it was written
for.
"""

#: The Python source of a launch. Each kernel gets its own, as positional arguments are cheaper than a tuple.
_SOURCE = """
def launch(stream, gx, gy, gz{parameters}):
    try:
        item = take()
    except IndexError:
        item = new_block()
    block, config, extra, where = item
    try:
        if where != (stream, gx, gy, gz) and not move(item, stream, gx, gy, gz):
            return
        pack_arguments(block, {at}{arguments})
    except (struct_error, OverflowError) as error:
        put(item)
        raise unfit((stream, gx, gy, gz), ({given}), error) from None
    if code := call(config, handle, None, extra):
        repeat(code, item, gx, gy, gz)
    put(item)
"""


def _launch_function(
    cubin: CompiledCubin,
    signature: tuple[str, ...],
    driver: Driver,
    function: int,
    device: int,
    nulls: int = 2,
) -> Launch:
    """The `Launch` of a loaded function. Everything that a launch does not change is computed here. `nulls`:
    how many of Triton's two scratch pointers are not in the signature; they are null.

    A block keeps what the last launch wrote: one on the same stream and grid, the usual case, writes nothing
    but the arguments.
    """
    ctas = cubin.num_ctas
    attributes: tuple[int, ...] = ()
    if ctas > 1:
        attributes = (_CLUSTER_DIMENSION, ctas, 1, 1, 0, _CLUSTER_SCHEDULING, _SPREAD, 0, 0, 0)
    if is_early(cubin.ptx):
        attributes += (_PROGRAMMATIC_SERIALIZATION, 1, 0, 0, 0)
    count = len(attributes) // 5
    codes, size = argument_codes(signature, nulls)
    head = "=" + _CONFIG + _ATTRIBUTE * count
    extra_at = struct.calcsize(head)
    size_at = extra_at + struct.calcsize("=" + _EXTRA)
    arguments_at = size_at + 8
    whole = struct.Struct(head + _EXTRA + "Q")
    assert whole.size == arguments_at and not extra_at % 8, "the parts must touch, aligned"
    threads, shared = 32 * cubin.num_warps, cubin.shared

    def new_block() -> _Block:
        # zeroed: Triton's scratch pointers, the last arguments, stay null; of words, so aligned to 8 bytes
        block = (ctypes.c_uint64 * (-(-(arguments_at + size) // 8)))()
        base = ctypes.addressof(block)
        tail = (_BUFFER_POINTER, base + arguments_at, _BUFFER_SIZE, base + size_at, _END, size)
        attributes_at = base + struct.calcsize("=" + _CONFIG) if count else 0
        start = (0, 0, 0, threads, 1, 1, shared, 0, attributes_at, count, *attributes)
        whole.pack_into(block, 0, *start, *tail)
        return [block, ctypes.byref(block), ctypes.byref(block, extra_at), None]

    pack_grid, pack_stream = struct.Struct("=3I").pack_into, struct.Struct("=Q").pack_into
    stream_at = struct.calcsize("=7I4x")
    call = driver.launch_kernel
    handle = ctypes.c_void_p.from_param(function)  # ctypes passes this on unconverted, as `byref` above
    free = [new_block()]

    def move(item: _Block, stream: int, gx: int, gy: int, gz: int) -> bool:
        """Writes another stream and grid; False, with the block put back, for a grid of no programs."""
        if not (gx and gy and gz):
            free.append(item)
            return False
        item[3] = None
        pack_grid(item[0], 0, gx * ctas, gy, gz)
        pack_stream(item[0], stream_at, stream)
        item[3] = (stream, gx, gy, gz)
        return True

    def repeat(code: int, item: _Block, gx: int, gy: int, gz: int) -> None:
        """Handles a launch that the driver rejected with `code`."""
        if code == INVALID_CONTEXT:  # the first call of this thread
            driver.make_current(device)
            code = call(item[1], handle, None, item[2])
        if code:
            free.append(item)
            why = driver.error_string(code)
            raise LaunchError(f"launching kernel '{cubin.name}' on grid ({gx}, {gy}, {gz}) failed: {why}")

    source, scope = _launch_source(signature, arguments_at)
    scope |= {
        "call": call,
        "handle": handle,
        "move": move,
        "new_block": new_block,
        "pack_arguments": struct.Struct("=" + "".join(codes[:-nulls])).pack_into,
        "put": free.append,
        "repeat": repeat,
        "struct_error": struct.error,
        "take": free.pop,
        "unfit": partial(_argument_error, cubin.name, signature),
    }
    exec(compile(source, f"<launch of {cubin.name}>", "exec"), scope)
    launch: Launch = scope["launch"]
    launch.__qualname__ = f"kernel '{cubin.name}'"  # Python's error for a wrong number of arguments shows it
    return launch


def _launch_source(signature: tuple[str, ...], arguments_at: int) -> tuple[str, dict[str, Any]]:
    """The text of `launch` for a signature, and the conversions that it calls, by name."""
    names = [f"a{number}" for number in range(len(signature))]
    converts = {entry: ARG_TYPES[entry].convert for entry in signature if ARG_TYPES[entry].convert}
    packed = [f"convert_{e}({n})" if e in converts else n for n, e in zip(names, signature, strict=True)]
    source = _SOURCE.format(
        parameters="".join(f", {name}" for name in names),
        at=arguments_at,
        arguments="".join(f", {text}" for text in packed),
        given="".join(f"{name}, " for name in names),
    )
    return source, {f"convert_{entry}": convert for entry, convert in converts.items()}


def _argument_error(
    kernel: str,
    signature: tuple[str, ...],
    launch: tuple[int, ...],
    args: tuple[object, ...],
    error: Exception,
) -> LaunchError:
    """The error for a launch whose arguments could not be packed."""
    for index, (entry, value) in enumerate(zip(signature, args, strict=True)):
        try:
            struct.pack(ARG_TYPES[entry].code, value)
        except (struct.error, OverflowError) as why:
            return LaunchError(f"kernel '{kernel}': argument {index} is {entry}, got {value!r} ({why})")
    return LaunchError(f"kernel '{kernel}': stream and grid {launch} do not fit a launch ({error})")
