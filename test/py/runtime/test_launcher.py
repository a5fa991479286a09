"""Launching: what is written into memory for the driver, read by one that only records; then a real one."""

import ctypes
import dataclasses
import math
import struct
import threading

import pytest
import torch

from fuse_mlir.compiler.codegen.nvidia import EARLY_TEXT
from fuse_mlir.compiler.runtime.gpu import launcher
from fuse_mlir.compiler.runtime.gpu.cuda_driver import CudaError
from fuse_mlir.compiler.runtime.gpu.launcher import ARG_TYPES, Launcher, LaunchError, argument_codes
from fuse_mlir.compiler.runtime.kernels.cubin import CompiledCubin


class Config(ctypes.Structure):
    """CUlaunchConfig, as cuda.h declares it."""

    _fields_ = [
        *[(name, ctypes.c_uint) for name in ("gx", "gy", "gz", "bx", "by", "bz", "shared")],
        ("stream", ctypes.c_void_p),
        ("attributes", ctypes.c_void_p),
        ("count", ctypes.c_uint),
    ]


class Attribute(ctypes.Structure):
    """CUlaunchAttribute, as cuda.h declares it: the union's members are all at offset 8."""

    _fields_ = [("id", ctypes.c_int), ("pad", ctypes.c_char * 4), ("value", ctypes.c_uint * 16)]


class RecordingDriver:
    """Records each launch as cuLaunchKernelEx would read it; `before_return` runs inside the call."""

    def __init__(self, code: int = 0, device: int = 0) -> None:
        self.calls: list[str] = []
        self.launches: list[tuple[dict, list[list[int]], bytes]] = []
        self.code = code
        self.device = device
        self.context = True
        prototype = ctypes.CFUNCTYPE(ctypes.c_int, *[ctypes.c_void_p] * 4)
        self.launch_kernel = prototype(self.launched)  # gets what the driver would get
        self.before_return = lambda: None

    def launched(self, config, function, params, extra) -> int:
        assert params is None and function == 22
        read = Config.from_address(config)
        attributes = [
            Attribute.from_address(read.attributes + i * ctypes.sizeof(Attribute)) for i in range(read.count)
        ]
        keys = (ctypes.c_uint64 * 5).from_address(extra)
        assert (keys[0], keys[2], keys[4]) == (1, 2, 0)
        self.before_return()
        size = ctypes.c_size_t.from_address(keys[3]).value
        self.launches.append(
            (
                {name: getattr(read, name) for name, _ in Config._fields_ if name != "attributes"},
                [[a.id, *a.value[:3]] for a in attributes],
                ctypes.string_at(keys[1], size),
            )
        )
        return self.code

    def has_context(self) -> bool:
        return self.context

    def make_current(self, device: int) -> None:
        self.calls.append(f"make current {device}")
        self.context, self.code = True, 0

    def current_device(self, kernel: str) -> int:
        return self.device

    def load_function(self, image: bytes, kernel: str) -> tuple[int, int]:
        self.calls.append(f"load {kernel} {image!r}")
        return 11, 22

    def unload(self, module: int, kernel: str) -> None:
        self.calls.append(f"unload {module}")

    def allow_shared(self, function: int, size: int, device: int, kernel: str) -> None:
        self.calls.append(f"shared {function} {size} {device}")

    def allow_cluster(self, function: int, blocks: int, kernel: str) -> None:
        self.calls.append(f"cluster {function} {blocks}")

    def error_string(self, code: int) -> str:
        return f"CUDA_ERROR_{code}"


def kernel(signature: list[str], **fields) -> CompiledCubin:
    params = tuple(f"u{8 * ARG_TYPES[entry].size}" for entry in signature) + ("u64", "u64")
    values = {
        "name": "k",
        "arch": 90,
        "cubin": b"bin",
        "ptx": "",
        "params": params,
        "shared": 0,
        "num_warps": 4,
    }
    return CompiledCubin(**(values | fields))


def launched(signature: list[str], *args) -> bytes:
    driver = RecordingDriver()
    Launcher(kernel(signature), signature, driver).on(0)(0, 1, 1, 1, *args)
    return driver.launches[0][2]


def test_configuration():
    driver = RecordingDriver()
    Launcher(kernel(["ptr"], num_warps=8, shared=60000), ["ptr"], driver).on(0)(0xABCD, 7, 3, 2, 1 << 40)
    config, attributes, _ = driver.launches[0]
    assert config == {
        **dict(gx=7, gy=3, gz=2, bx=256, by=1, bz=1, shared=60000, stream=0xABCD, count=0),
    }
    assert attributes == []
    assert driver.calls == ["load k b'bin'", "shared 22 60000 0", "cluster 22 1"]


def test_a_thread_without_a_context_gets_one():
    driver = RecordingDriver()
    driver.context = False
    launch = Launcher(kernel(["ptr"]), ["ptr"], driver).on(0)
    assert driver.calls[0] == "make current 0"
    driver.calls.clear()
    driver.code = 201  # another thread launches first
    launch(0, 1, 1, 1, 1 << 40)
    assert driver.calls == ["make current 0"] and len(driver.launches) == 2
    launch(0, 1, 1, 1, 1 << 40)
    assert driver.calls == ["make current 0"]


def test_a_block_follows_the_stream_and_the_grid():
    driver = RecordingDriver()
    launch = Launcher(kernel(["i32"]), ["i32"], driver).on(0)
    wheres = [
        (0, 1, 1, 1),
        (0, 1, 1, 1),
        (7, 1, 1, 1),
        (7, 2, 1, 1),
        (7, 0, 1, 1),
        (7, 2, 3, 1),
        (0, 1, 1, 1),
    ]
    for number, where in enumerate(wheres):
        launch(*where, number)
    with pytest.raises(LaunchError, match="do not fit a launch"):
        launch(0, 1, 1, 1 << 40, 9)
    launch(0, 1, 1, 1, 10)
    found = [(c["stream"] or 0, c["gx"], c["gy"], c["gz"]) for c, _, _ in driver.launches]
    assert found == [*(w for w in wheres if w[1]), (0, 1, 1, 1)]
    assert [struct.unpack_from("i", a)[0] for _, _, a in driver.launches] == [0, 1, 2, 3, 5, 6, 10]


def test_a_cluster_multiplies_the_grid():
    driver = RecordingDriver()
    Launcher(kernel(["i32"], num_ctas=4), ["i32"], driver).on(0)(0, 5, 2, 1, 9)
    config, attributes, arguments = driver.launches[0]
    assert (config["gx"], config["gy"], config["count"]) == (20, 2, 2)
    assert attributes == [[4, 4, 1, 1], [5, 1, 0, 0]]
    assert struct.unpack_from("i", arguments)[0] == 9


@pytest.mark.parametrize("ctas", [1, 2])
def test_a_kernel_that_waits_may_begin_early(ctas: int):
    """A kernel of a user's that has the same instruction has to be launched as the user says."""
    for text, early in ((EARLY_TEXT, True), ("griddepcontrol.wait;", False)):
        driver = RecordingDriver()
        Launcher(kernel([], num_ctas=ctas, ptx=f"{{ {text} }}"), [], driver).on(0)(0, 5, 2, 1)
        _, attributes, _ = driver.launches[0]
        clusters = [[4, ctas, 1, 1], [5, 1, 0, 0]] if ctas > 1 else []
        assert attributes == [*clusters, *([[6, 1, 0, 0]] if early else [])]


def test_arguments_are_laid_out_as_in_c():
    signature = [
        "i8",
        "ptr",
        "i16",
        "i32",
        "i1",
        "f64",
        "f32",
        "f16",
        "i64",
        "bf16",
        "u32",
        "u8",
        "u64",
        "u16",
    ]

    class Arguments(ctypes.Structure):
        _fields_ = [
            *zip("abcdefg", [ctypes.c_int8, ctypes.c_uint64, ctypes.c_int16, ctypes.c_int32, ctypes.c_bool,
                             ctypes.c_double, ctypes.c_float], strict=True),
            *zip("hijklmn", [ctypes.c_uint16, ctypes.c_int64, ctypes.c_uint16, ctypes.c_uint32,
                             ctypes.c_uint8, ctypes.c_uint64, ctypes.c_uint16], strict=True),
            ("scratch", ctypes.c_uint64),
            ("profile", ctypes.c_uint64),
        ]  # fmt: skip

    values = [
        -3,
        1 << 40,
        -300,
        -70000,
        True,
        0.1,
        0.5,
        1.5,
        -(1 << 50),
        1.5,
        (1 << 32) - 1,
        255,
        (1 << 64) - 1,
        65535,
    ]
    block = launched(signature, *values)
    assert argument_codes(signature, 2)[1] == len(block) == ctypes.sizeof(Arguments)
    read = Arguments.from_buffer_copy(block)
    got = [getattr(read, name) for name, _ in Arguments._fields_]
    assert got == [*values[:7], 0x3E00, values[8], 0x3FC0, *values[10:], 0, 0]


@pytest.mark.parametrize(
    ("value", "bits"),
    [
        (0.0, 0x0000), (-0.0, 0x8000), (1.0, 0x3F80), (-2.0, 0xC000),
        (1 + 2**-8, 0x3F80), (1 + 3 * 2**-8, 0x3F82), (1 + 2**-8 + 2**-40, 0x3F81),  # ties, then above one
        (2 - 2**-9, 0x4000), (2.0**-126, 0x0080), (2.0**-133, 0x0001), (2.0**-134, 0x0000),
        (1.5 * 2.0**-133, 0x0002),
        (2.0**-126 * (1 - 2**-9), 0x0080), (5e-324, 0x0000), (1e300, 0x7F80), (-1e300, 0xFF80),
        (3.3895313892515355e38, 0x7F7F), (3.4e38, 0x7F80), (math.inf, 0x7F80), (-math.inf, 0xFF80),
    ],
)  # fmt: skip
def test_bf16_is_rounded_once_to_the_nearest(value, bits):
    assert struct.unpack_from("<H", launched(["bf16"], value))[0] == bits


def test_bf16_nan_stays_nan():
    bits = struct.unpack_from("<H", launched(["bf16"], math.nan))[0]
    assert bits & 0x7F80 == 0x7F80 and bits & 0x7F


@pytest.mark.parametrize("grid", [(0, 1, 1), (1, 0, 1), (1, 1, 0)])
def test_an_empty_grid_launches_nothing(grid):
    driver = RecordingDriver()
    Launcher(kernel(["i32"]), ["i32"], driver).on(0)(0, *grid, 1)
    assert driver.launches == []


def test_a_kernel_is_loaded_once_for_each_device():
    driver = RecordingDriver()
    launcher = Launcher(kernel([]), [], driver)
    assert launcher.on(0) is launcher.on(0)
    driver.device = 1
    assert launcher.on(1) is not launcher.on(0)
    assert [call for call in driver.calls if call.startswith("load")] == ["load k b'bin'"] * 2
    launcher.unload()
    assert driver.calls[-2:] == ["unload 11"] * 2


def test_another_devices_context_is_refused():
    with pytest.raises(CudaError, match="'k': the current context is of device 0, not 1"):
        Launcher(kernel([]), [], RecordingDriver()).on(1)


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ((1, 1 << 31), "'k': argument 1 is i32, got 2147483648"),
        ((-1, 1), "'k': argument 0 is ptr, got -1"),
        ((1, 2.5), "'k': argument 1 is i32, got 2.5"),
    ],
)
def test_arguments_that_do_not_fit_are_named(args, message):
    driver = RecordingDriver()
    launch = Launcher(kernel(["ptr", "i32"]), ["ptr", "i32"], driver).on(0)
    with pytest.raises(LaunchError, match=message):
        launch(0, 1, 1, 1, *args)
    assert driver.launches == []
    launch(0, 1, 1, 1, 5, 6)  # and the memory is as good as before
    assert struct.unpack_from("Qi", driver.launches[0][2]) == (5, 6)


@pytest.mark.parametrize(("entry", "value"), [("f16", 1e6), ("f32", 1e300), ("f64", "1"), ("bf16", "1")])
def test_floats_that_do_not_fit_are_errors(entry, value):
    with pytest.raises((LaunchError, TypeError, struct.error)):
        launched([entry], value)


@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize("signature", [["ptr", "i32"], ["bf16", "i32"]])
def test_too_few_or_many_arguments_name_the_kernel(signature, count):
    driver = RecordingDriver()
    launch = Launcher(kernel(signature), signature, driver).on(0)
    with pytest.raises(TypeError, match="kernel 'k'"):
        launch(0, 1, 1, 1, *[1] * count)
    assert driver.launches == []


def test_a_bad_grid_is_an_error():
    launch = Launcher(kernel(["i32"]), ["i32"], RecordingDriver()).on(0)
    with pytest.raises(LaunchError, match="do not fit a launch"):
        launch(0, -1, 1, 1, 5)


def test_what_the_driver_refuses_names_the_kernel_and_the_reason():
    launch = Launcher(kernel(["i32"]), ["i32"], RecordingDriver(code=701)).on(0)
    with pytest.raises(LaunchError, match=r"'k' on grid \(1, 2, 3\) failed: CUDA_ERROR_701"):
        launch(0, 1, 2, 3, 5)


@pytest.mark.parametrize(
    ("signature", "fields", "error", "message"),
    [
        (
            ["ptr"],
            {"params": ("u64", "u32", "u64", "u64")},
            ValueError,
            "takes 2 arguments, but its signature has 1",
        ),
        (
            ["i64"],
            {"params": ("u32", "u64", "u64")},
            ValueError,
            r"argument 0 is i64 \(8 bytes\).*u32 \(4 bytes\)",
        ),
        (["tensor"], {"params": ("u64", "u64", "u64")}, ValueError, "unknown argument type 'tensor'"),
        (
            ["ptr"],
            {"params": ("b8[128]", "u64", "u64")},
            NotImplementedError,
            r"passed by value as b8\[128\]",
        ),
        ([], {"params": ()}, ValueError, "no scratch pointers"),
        ([], {"profile_scratch_size": 32}, NotImplementedError, "'k' needs 32 bytes of memory for profiles"),
    ],
)
def test_a_kernel_that_cannot_be_launched_is_refused_at_once(signature, fields, error, message):
    base = kernel([]) if "params" not in fields else kernel([], params=fields["params"])
    fields = {k: v for k, v in fields.items() if k != "params"}
    values = {
        name: getattr(base, name)
        for name in ("name", "arch", "cubin", "ptx", "params", "shared", "num_warps")
    }
    with pytest.raises(error, match=message):
        Launcher(CompiledCubin(**(values | fields)), signature, RecordingDriver())


@pytest.mark.parametrize("ctas", [1, 2])
def test_scratch_memory(monkeypatch, ctas):
    """A piece for each program, behind the arguments; there is none for profiles."""
    made = []

    def scratch(size, device):
        made.append(torch.empty(size, dtype=torch.uint8))
        return made[-1]

    monkeypatch.setattr(launcher, "_scratch", scratch)
    driver = RecordingDriver()
    cubin = dataclasses.replace(kernel(["ptr", "i16"]), global_scratch_size=256, num_ctas=ctas)
    launch = Launcher(cubin, ["ptr", "i16"], driver).on(0)
    for grid in ((2, 3, 4), (1, 1, 1)):
        launch(5, *grid, 1 << 40, 7)
        programs = grid[0] * grid[1] * grid[2]
        _, _, block = driver.launches[-1]
        assert struct.unpack("<Qh6xQQ", block) == (1 << 40, 7, made[-1].data_ptr(), 0)
        assert made[-1].numel() == programs * ctas * 256


def test_threads_do_not_share_memory():
    """All threads are inside the driver at once, having written their arguments: all must still be there."""
    driver, count = RecordingDriver(), 8
    inside = threading.Barrier(count, timeout=20)
    driver.before_return = inside.wait
    launch = Launcher(kernel(["i32", "i64"]), ["i32", "i64"], driver).on(0)
    threads = [threading.Thread(target=launch, args=(i, i + 1, 1, 1, i, 10 * i)) for i in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    got = sorted((c["stream"] or 0, c["gx"], *struct.unpack_from("i4xq", a)) for c, _, a in driver.launches)
    assert got == [(i, i + 1, i, 10 * i) for i in range(count)]


def test_a_launch_inside_a_launch():
    driver = RecordingDriver()
    launch = Launcher(kernel(["i32"]), ["i32"], driver).on(0)

    def again() -> None:
        driver.before_return = lambda: None
        launch(0, 1, 1, 1, 2)

    driver.before_return = again
    launch(0, 1, 1, 1, 1)
    assert [struct.unpack_from("i", a)[0] for _, _, a in driver.launches] == [2, 1]


def test_no_driver_is_a_clear_error(monkeypatch):
    def missing(name: str):
        raise OSError(f"{name}: cannot open shared object file")

    monkeypatch.setattr(ctypes, "CDLL", missing)
    with pytest.raises(CudaError, match=r"no CUDA driver: libcuda\.so\.1 cannot be loaded"):
        Launcher(kernel([]), []).on(0)
