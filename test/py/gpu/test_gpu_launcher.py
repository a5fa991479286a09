"""Launches through the driver on a device."""

import contextlib
import math
import time

import pytest
from ttir_kernels import BLOCK, add_kernel, scalars_kernel, softmax_kernel, transpose_kernel

from fuse_mlir.compiler.runtime.gpu.cuda_driver import CudaDriver, CudaError
from fuse_mlir.compiler.runtime.gpu.launcher import Launcher, LaunchError
from fuse_mlir.compiler.runtime.kernels.cubin import Target


def on_device(text: str, signature: list[str], num_warps: int = 4, num_ctas: int = 1):
    """(torch, launch function, stream) for a kernel compiled for the current device."""
    torch = pytest.importorskip("torch")
    from fuse_mlir.compiler.runtime.kernels.triton_compile import compile_ttir

    torch.cuda.init()
    device = torch.cuda.current_device()
    torch.empty(1, device="cuda")
    major, minor = torch.cuda.get_device_capability(device)
    cubin = compile_ttir(text, target=Target(10 * major + minor), num_warps=num_warps, num_ctas=num_ctas)
    return torch, Launcher(cubin, signature).on(device), torch.cuda.current_stream().cuda_stream


@pytest.mark.gpu
@pytest.mark.parametrize("n", [1, 255, 256, 100_003])
def test_add_on_a_device(n):
    torch, launch, stream = on_device(add_kernel(), ["ptr", "ptr", "ptr", "i32"])
    x, y = torch.randn(n, device="cuda"), torch.randn(n, device="cuda")
    out = torch.full((n + 7,), math.nan, device="cuda")
    launch(stream, -(-n // BLOCK), 1, 1, x.data_ptr(), y.data_ptr(), out.data_ptr(), n)
    torch.cuda.synchronize()
    assert torch.equal(out[:n], x + y)
    assert out[n:].isnan().all()


@pytest.mark.gpu
def test_softmax_on_a_device():
    torch, launch, stream = on_device(softmax_kernel(256), ["ptr", "ptr"])
    x = torch.randn(37, 256, device="cuda")
    out = torch.empty_like(x)
    launch(stream, 37, 1, 1, x.data_ptr(), out.data_ptr())
    torch.testing.assert_close(out.double(), x.double().softmax(-1), rtol=1e-5, atol=1e-7)


@pytest.mark.gpu
@pytest.mark.parametrize("num_ctas", [2, 8, 16])
def test_clusters_on_a_device(num_ctas):
    """16 blocks are more than every device with clusters takes unasked."""
    torch = pytest.importorskip("torch")
    if torch.cuda.get_device_capability() < (9, 0):
        pytest.skip("needs a device with clusters")
    _, launch, stream = on_device(add_kernel(), ["ptr", "ptr", "ptr", "i32"], num_warps=1, num_ctas=num_ctas)
    n = 100_003
    x, y = torch.randn(n, device="cuda"), torch.randn(n, device="cuda")
    out = torch.full_like(x, math.nan)
    launch(stream, -(-n // BLOCK), 1, 1, x.data_ptr(), y.data_ptr(), out.data_ptr(), n)
    assert torch.equal(out, x + y)


@pytest.mark.gpu
@pytest.mark.parametrize("n", [64, 128])
def test_shared_memory_above_the_default_on_a_device(n):
    torch, launch, stream = on_device(transpose_kernel(n), ["ptr", "ptr"], num_warps=8)
    x = torch.randn(n, n, device="cuda")
    out = torch.empty_like(x)
    launch(stream, 1, 1, 1, x.data_ptr(), out.data_ptr())
    assert torch.equal(out, x.T)


@pytest.mark.gpu
def test_more_shared_memory_than_a_device_has_is_refused():
    torch = pytest.importorskip("torch")
    torch.empty(1, device="cuda")
    driver = CudaDriver.load()
    with pytest.raises(
        CudaError, match=r"kernel 'k' needs 1048576 bytes of shared memory: device 0 allows \d+"
    ):
        driver.allow_shared(_loaded_add(driver), 1 << 20, 0, "k")


def _loaded_add(driver: CudaDriver) -> int:
    """The function of an add kernel, loaded into the current context."""
    from fuse_mlir.compiler.runtime.kernels.triton_compile import compile_ttir

    torch = pytest.importorskip("torch")
    major, minor = torch.cuda.get_device_capability(driver.current_device("add_kernel"))
    cubin = compile_ttir(add_kernel(), target=Target(10 * major + minor), num_warps=4).cubin
    return driver.load_function(cubin, "add_kernel")[1]


@pytest.mark.gpu
def test_every_scalar_type_arrives_on_a_device():
    types = ["i8", "f64", "i1", "i16", "f16", "i32", "bf16", "i64", "f32"]
    values = [-5, 0.1, True, -300, 1.5, -70000, -2.25, -(1 << 50), 0.75]
    text = scalars_kernel(types)
    torch, launch, stream = on_device(text, types + ["ptr"] * len(types), num_warps=1)
    named = {"i1": torch.int8, "i8": torch.int8, "i16": torch.int16, "i32": torch.int32, "i64": torch.int64,
             "f16": torch.float16, "bf16": torch.bfloat16,
             "f32": torch.float32, "f64": torch.float64}  # fmt: skip
    out = [torch.zeros(1, dtype=named[t], device="cuda") for t in types]
    launch(stream, 1, 1, 1, *values, *[o.data_ptr() for o in out])
    assert [o.item() for o in out] == values


@pytest.mark.gpu
def test_a_refused_launch_on_a_device_names_the_kernel():
    _, launch, stream = on_device(add_kernel(), ["ptr", "ptr", "ptr", "i32"])
    with pytest.raises(LaunchError, match=r"'add_kernel' on grid .*CUDA_ERROR_INVALID_VALUE"):
        launch(stream, 1, 1 << 20, 1, 0, 0, 0, 0)


@pytest.mark.gpu
def test_microseconds_of_a_launch_on_a_device(record_property, capsys):
    torch, launch, stream = on_device(add_kernel(), ["ptr", "ptr", "ptr", "i32"])
    x = torch.randn(BLOCK, device="cuda")
    address, best = x.data_ptr(), math.inf
    for _ in range(20):
        torch.cuda.synchronize()
        started = time.perf_counter()
        for _ in range(500):
            launch(stream, 1, 1, 1, address, address, address, 0)
        best = min(best, (time.perf_counter() - started) / 500 * 1e6)
    torch.cuda.synchronize()
    record_property("launch_us", best)
    with capsys.disabled(), contextlib.suppress(OSError):
        print(f"\nlaunch: {best:.2f} us")
    assert best < 50
