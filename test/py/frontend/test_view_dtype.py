"""``view(dtype)``: the same bytes as elements of another dtype, also of another width."""

import pytest
import torch
from compiling import Compiled
from import_one import capture, imported, outputs
from made_up_gpu import made_up_gpu

#: A dtype of each kind and width.
DTYPES = (
    torch.bool, torch.uint8, torch.float8_e4m3fn, torch.int16, torch.bfloat16, torch.uint32, torch.float32,
    torch.int64, torch.float64,
)  # fmt: skip


def bits(x: torch.Tensor) -> torch.Tensor:
    """The bytes of a tensor, whose NaNs are equal where their bytes are."""
    return x.contiguous().view(torch.uint8) if x.dim() else x


def given(dtype: torch.dtype, *sizes: int) -> torch.Tensor:
    torch.manual_seed(0)
    if dtype == torch.bool:
        return torch.rand(sizes) < 0.5
    *rest, last = sizes
    return torch.randint(0, 256, (*rest, last * dtype.itemsize), dtype=torch.uint8).view(dtype)


def views(x: torch.Tensor) -> list[torch.Tensor]:
    """A tensor as each dtype but bool."""
    return [x.view(dtype) for dtype in DTYPES if dtype not in (torch.bool, x.dtype)]


@pytest.mark.parametrize("symbolic", [False, True], ids=["static", "symbolic"])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_bytes(dtype: torch.dtype, symbolic: bool) -> None:
    for x in (given(dtype, 3, 16), given(dtype, 5, 2, 24)[::2, :, 8:16], given(dtype, 2, 8)[:0]):
        made = imported(capture(views, x, symbolic=symbolic), strict=True)
        for got, want in zip(outputs(made, [x]), views(x), strict=True):
            assert got.dtype == want.dtype and got.shape == want.shape
            assert torch.equal(bits(got), bits(want))


@pytest.mark.parametrize("level", ["tiled", "graph"])
def test_in_one_kernel(level: str) -> None:
    """Packing and unpacking beside arithmetic, as models of quantised weights have it."""

    def packed(x, y):
        small = (x * 2).to(torch.int8).view(torch.int32) ^ 0x01020304
        halves = (y + 1).view(torch.int16).bitwise_and(-16).view(torch.float32)
        return small.view(torch.int8) + 1, halves * 3, y.view(torch.float64).isnan()

    compiled = Compiled(packed, {"interpret_level": level})
    x, y = torch.arange(-32, 32.0).view(4, 16), torch.linspace(-3, 3, 64).view(4, 16)
    for got, want in zip(compiled(x, y), packed(x, y), strict=True):
        assert torch.equal(got, want)
    (graph,) = compiled.graphs
    assert (graph.externs, graph.fallbacks) == (0, [])


def test_what_is_written_through_a_view():
    def written(x):
        x.view(torch.uint8)[:, 0].fill_(7)
        y = x * 2
        y.view(torch.int32)[1:].bitwise_or_(1)
        return x.view(torch.int16), y

    compiled = Compiled(written, {}, dynamic=True)
    x = given(torch.int32, 3, 4).float()
    other = x.clone()
    for got, want in zip((*compiled(x), x), (*written(other), other), strict=True):
        assert got.dtype == want.dtype and torch.equal(bits(got), bits(want))
    assert not compiled.graphs[0].fallbacks


@pytest.mark.parametrize("source", [torch.uint8, torch.int8])
def test_bytes_that_are_no_bools(source):
    """Torch keeps the bytes of a bool as they are; a kernel would store 0 or 1."""
    x = torch.tensor([0, 1, 2, 127], dtype=source)
    compiled = Compiled(lambda x: (x + 0).view(torch.bool)[1:].view(torch.uint8) * 3)
    assert compiled(x).tolist() == [3, 6, 125]
    assert compiled.graphs[0].fallbacks


def test_compiles():
    with made_up_gpu():
        compiled = Compiled(lambda x, y: (x.view(torch.bfloat16) * 2, y.view(torch.int64) + 1), {})
        compiled(given(torch.uint8, 64, 64), given(torch.float16, 64, 64))
        assert compiled.graphs[0].launches_after and not compiled.graphs[0].fallbacks
