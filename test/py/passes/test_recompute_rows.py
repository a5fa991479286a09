"""``recompute-rows``: norms in front of products of one row, against float64, and where there are more."""

import contextlib
import re
from unittest import mock

import pytest
import torch
from cubins import dumped, usage
from interpreted_gpu import interpreted_gpu
from ledger import AS_ON_A_GPU, OF_A_DEVICE
from torch import Tensor
from torch.nn import functional as F

import fuse_mlir
from fuse_mlir.compiler.codegen.launches import KernelSource, kernel_sources
from fuse_mlir.compiler.driver import compilation
from fuse_mlir.compiler.runtime.kernels.cubin import Target
from fuse_mlir.compiler.runtime.kernels.triton_compile import compile_ttir


def normal(*shape: int, scale: float = 1.0, dtype: torch.dtype = torch.bfloat16) -> Tensor:
    return (torch.randn(shape) * scale).to(dtype)


def rms(x: Tensor, g: Tensor) -> Tensor:
    """As models spell it: the norm in float32, rounded before it is scaled."""
    wide = x.float() if x.dtype == torch.bfloat16 else x
    return (wide * torch.rsqrt(wide.square().mean(-1, keepdim=True) + 1e-5)).to(x.dtype) * g


def three(x: Tensor, g: Tensor, *weights: Tensor) -> tuple[Tensor, ...]:
    y = rms(x, g)
    return tuple(F.linear(y, w) for w in weights)


def gated(x: Tensor, g: Tensor, one: Tensor, other: Tensor) -> Tensor:
    y = rms(x, g)
    return F.silu(F.linear(y, one)) * F.linear(y, other)


def layer_norm(x: Tensor, g: Tensor, b: Tensor, w: Tensor, bias: Tensor) -> Tensor:
    return F.linear(F.layer_norm(x, (x.shape[-1],), g, b), w, bias)


def computed(function, *args: Tensor, **options) -> tuple[list[Tensor], list[str]]:
    """The results on an interpreted GPU, and the names of the kernels."""
    torch._dynamo.reset()
    with contextlib.ExitStack() as patches, interpreted_gpu() as plans, torch.no_grad():
        for asking in OF_A_DEVICE:
            patches.enter_context(mock.patch.object(asking, "device_of", lambda module: "cuda:0"))
        options = {"cache": False, "hardware": "h200", **options}
        compiled = torch.compile(function, fullgraph=True, backend=fuse_mlir.backend, options=options)
        found = compiled(*args)
    [plan] = plans
    return list(found if isinstance(found, tuple) else (found,)), [kernel.name for kernel in plan.kernels]


def args_of(function, width: int, dtype: torch.dtype) -> tuple[Tensor, ...]:
    torch.manual_seed(width)
    row, g, b = (normal(1, 1, width, dtype=dtype) for _ in range(3))
    weights = [normal(n, width, scale=width**-0.5, dtype=dtype) for n in (2048, 1024, 1024, 2048)]
    return {
        three: (row, g[0, 0], *weights[:3]),
        gated: (row, g[0, 0], weights[0], weights[3]),
        layer_norm: (row + 1, g[0, 0], b[0, 0], weights[0], normal(2048, dtype=dtype)),
    }[function]


FORMS = [three, gated, layer_norm]


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32], ids=["bf16", "f32"])
@pytest.mark.parametrize("width", [512, 768, 1000])
@pytest.mark.parametrize("function", FORMS)
def test_rows_are_computed_in_one_launch(function, width: int, dtype: torch.dtype) -> None:
    """Of the row, its reductions and the products."""
    args = args_of(function, width, dtype)
    found, kernels = computed(function, *args)
    assert len(kernels) == 1, kernels
    exact = function(*[a.double() for a in args])
    eager = function(*args)
    for one, wanted, known in zip(
        found, *[t if isinstance(t, tuple) else (t,) for t in (exact, eager)], strict=True
    ):
        error, before = ((t.double() - wanted).norm() / wanted.norm() for t in (one, known))
        assert error <= 1.2 * before + 1e-7, (error, before)


def test_rounding_as_eager_rounds_multiplies_what_eager_does() -> None:
    """The row is rounded twice, as the program says and as eager does."""
    x, g, *weights = args_of(three, 2048, torch.bfloat16)
    found, kernels = computed(three, x, g, *weights, rounding="eager")
    assert len(kernels) == 1
    row = rms(x, g).double()
    for one, w in zip(found, weights, strict=True):
        wanted = F.linear(row, w.double())
        assert ((one.double() - wanted).abs() <= wanted.abs() * 2**-8 + 1e-3).all()


def test_nothing_is_used_before_all_is_loaded(tmp_path) -> None:
    """Of the step of a decoder: both weights are on their way while the row is reduced."""
    pytest.importorskip("triton")
    sources = dict[str, KernelSource]()

    def taken(module, *args, **kwargs):
        sources.update(kernel_sources(module))
        return compilation.Executable(lambda args: [args[0]])

    torch.manual_seed(0)
    weights = [normal(8192, 2048) for _ in range(2)]
    with contextlib.ExitStack() as patches, torch.no_grad():
        patches.enter_context(mock.patch.object(compilation, "executable", taken))
        for asking in OF_A_DEVICE:
            patches.enter_context(mock.patch.object(asking, "device_of", lambda module: "cuda:0"))
        torch._dynamo.reset()
        options = {**AS_ON_A_GPU, "cache": False, "hardware": "h200"}
        torch.compile(gated, backend=fuse_mlir.backend, options=options)(
            normal(1, 2048), normal(2048), *weights
        )
    [kernel] = sources.values()
    cubin = compile_ttir(kernel.text, target=Target(), num_warps=kernel.num_warps)
    used = usage(cubin, tmp_path)
    assert used.registers <= 128 and not used.spilled
    ops = re.findall(r"/\*[0-9a-f]{4}\*/ +(?:@!?\w+ )?(\w+)", dumped(cubin, "-sass", tmp_path))
    assert ops.count("LDG") == 20 and "LDG" not in ops[ops.index("FFMA") :]


def test_products_follow_each_other() -> None:
    """Each computes the row of the one before; none overwrites what others still read."""

    def chain(x: Tensor, g: Tensor, *weights: Tensor) -> Tensor:
        for w in weights:
            x = F.linear(rms(x, g), w)
        return x

    torch.manual_seed(0)
    args = normal(1, 2048), normal(2048), *(normal(2048, 2048, scale=2048**-0.5) for _ in range(3))
    [found], kernels = computed(chain, *args)
    assert len(kernels) == 1, "three launches of one kernel"
    exact, eager = chain(*[a.double() for a in args]), chain(*args)
    assert (found.double() - exact).norm() <= 1.2 * (eager.double() - exact).norm()


def twice(x: Tensor, g: Tensor, w: Tensor) -> tuple[Tensor, Tensor]:
    y = rms(x, g)
    return y, F.linear(y, w)


def one(x: Tensor, g: Tensor, w: Tensor) -> Tensor:
    return F.linear(rms(x, g), w)


def across(x: Tensor, g: Tensor, w: Tensor) -> Tensor:
    return rms(x, g) @ w


def behind_a_sum(x: Tensor, g: Tensor, w: Tensor) -> tuple[Tensor, Tensor]:
    """The launch of the sum stays, and has the norm's numbers, too."""
    x = x + g * 2
    return x, F.linear(rms(x, g), w)


@pytest.mark.parametrize(
    ("function", "rows", "width"),
    [(twice, 1, 512), (behind_a_sum, 1, 512), (one, 2, 512), (one, 1, 16384), (across, 1, 2048)],
    ids=["needed", "sum", "rows", "long", "across"],
)
def test_a_row_stays_in_memory(function, rows: int, width: int) -> None:
    torch.manual_seed(rows * width)
    args = normal(rows, width), normal(width), normal(2048, width, scale=width**-0.5)
    found, kernels = computed(function, *args)
    assert kernels[0].startswith("fused_") and "mm" not in kernels[0], kernels
    exact = function(*[a.double() for a in args])
    for got, wanted in zip(found, exact if isinstance(exact, tuple) else (exact,), strict=True):
        assert (got.double() - wanted).norm() <= 0.01 * wanted.norm()
