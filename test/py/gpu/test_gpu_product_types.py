"""Products of every element type as kernels on a CUDA device, and what stands in front of them and behind."""

from collections.abc import Callable, Iterator

import pytest
import torch
from compiling import Compiled
from torch import Tensor
from torch.nn import functional as F

pytestmark = [pytest.mark.gpu, pytest.mark.usefixtures("fresh_dynamo")]

DEVICE = "cuda"
#: Rows, summed elements and columns: no multiples of blocks.
M, K, N = 130, 333, 201
#: Those that torch takes in products of bytes.
BYTES_M, BYTES_K, BYTES_N = 144, 320, 208
#: So few summed elements that the rows of a product are reduced in its kernel.
SHORT = 200
MATMUL = torch.backends.cuda.matmul


@pytest.fixture(autouse=True)
def exact_float32() -> Iterator[None]:
    before = MATMUL.fp32_precision
    MATMUL.fp32_precision = "ieee"
    yield
    MATMUL.fp32_precision = before


def drawn(*sizes: int, dtype: torch.dtype = torch.float32, seed: int = 0) -> Tensor:
    generator = torch.Generator(DEVICE).manual_seed(seed)
    return torch.randn(sizes, generator=generator, device=DEVICE).to(dtype)


def whole(*sizes: int, below: int = 128, dtype: torch.dtype = torch.int8, seed: int = 0) -> Tensor:
    """Integers from ``-below`` on for int8, else from 0 on."""
    generator = torch.Generator(DEVICE).manual_seed(seed)
    least = -below if dtype == torch.int8 else 0
    return torch.randint(least, below, sizes, generator=generator, device=DEVICE, dtype=dtype)


def compiled(function: Callable[..., Tensor], *args: Tensor, tiles: bool = True) -> tuple[Tensor, str]:
    """The result, and the module.  tiles: whether its kernels multiply tiles."""
    made = Compiled(function, {"products": "generated", "interpret_level": "planned"})
    found = made(*args)
    [graph] = made.graphs
    text = str(graph.module)
    assert graph.externs == 0 and ('"tt.dot"' in text) == tiles
    return found, text


def wide(x: Tensor) -> Tensor:
    return x.double() if x.is_floating_point() else x


def assert_near(found: Tensor, exact: Tensor, eager: Tensor | None = None) -> None:
    """As near to float64 as twice what eager is, and eight units in the last place."""
    assert found.shape == exact.shape
    error = (found.double() - exact).norm()
    other = (eager.double() - exact).norm() if eager is not None else 0
    assert error <= 2 * other + 8 * torch.finfo(found.dtype).eps * exact.norm()


# ---- element types -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32, torch.float64], ids=str)
def test_floats(dtype: torch.dtype) -> None:
    x, w = drawn(M, K, dtype=dtype), drawn(K, N, dtype=dtype, seed=1)
    found, text = compiled(torch.mm, x, w)
    assert "inputPrecision = 2" in text
    assert_near(found, x.double() @ w.double(), x @ w)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
@pytest.mark.parametrize("rows", [1, M])
def test_results_in_float32(rows: int, dtype: torch.dtype) -> None:
    def product(x: Tensor, w: Tensor) -> Tensor:
        return torch.bmm(x, w, out_dtype=torch.float32)

    x, w = drawn(8, rows, K, dtype=dtype), drawn(8, K, N, dtype=dtype, seed=1)
    found, _ = compiled(product, x, w, tiles=rows > 1)
    assert found.dtype == torch.float32
    assert_near(found, x.double() @ w.double(), product(x, w))


@pytest.mark.parametrize("turned", [False, True], ids=["row-major", "transposed"])
def test_tf32(turned: bool) -> None:
    """Factors lose 13 bits of 23, sums none."""
    x, w = drawn(M, K), drawn(K, N, seed=1)
    w = w.t().contiguous().t() if turned else w
    MATMUL.fp32_precision = "tf32"
    found, text = compiled(torch.mm, x, w)
    exact = x.double() @ w.double()
    assert "inputPrecision = 0" in text
    assert (found.double() - exact).norm() <= 2**-10 * exact.norm()


@pytest.mark.parametrize("dtype", [torch.float8_e4m3fn, torch.float8_e5m2], ids=str)
@pytest.mark.parametrize("rows", [False, True], ids=["tensor", "rows"])
def test_fp8(dtype: torch.dtype, rows: bool) -> None:
    """Scaled as a whole, or by row and column.  torch has no product of two factors in e5m2 on a GPU."""
    x, w = drawn(BYTES_M, BYTES_K, dtype=dtype), drawn(BYTES_N, BYTES_K, dtype=dtype, seed=1)
    sizes = ((BYTES_M, 1), (1, BYTES_N)) if rows else ((), ())
    a, b = (drawn(*size, seed=n).abs() + 0.5 for n, size in enumerate(sizes, 2))

    def function(x: Tensor, w: Tensor, a: Tensor, b: Tensor) -> Tensor:
        return torch._scaled_mm(x, w.t(), a, b, out_dtype=torch.bfloat16)

    found, _ = compiled(function, x, w, a, b)
    assert_near(found, x.double() @ w.double().t() * a.double() * b.double())


@pytest.mark.parametrize("turned", [False, True], ids=["row-major", "transposed"])
def test_int8(turned: bool) -> None:
    x, w = whole(BYTES_M, BYTES_K), whole(BYTES_K, BYTES_N, seed=1)
    w = w.t().contiguous().t() if turned else w
    found, _ = compiled(torch._int_mm, x, w)
    assert found.dtype == torch.int32
    assert torch.equal(found.double(), x.double() @ w.double())


def test_int8_that_is_scaled_behind() -> None:
    x, w, scale = whole(BYTES_M, BYTES_K), whole(BYTES_K, BYTES_N, seed=1), drawn(BYTES_N, seed=2)
    found, _ = compiled(lambda x, w, s: torch._int_mm(x, w) * s, x, w, scale)
    assert_near(found, x.double() @ w.double() * scale.double())


# ---- what stands in front and behind -----------------------------------------------------------------------


def weights_of_8_bits(x: Tensor, q: Tensor, s: Tensor) -> Tensor:
    return x @ (q.to(x.dtype) * s)


def gathered_rows(table: Tensor, i: Tensor, w: Tensor) -> Tensor:
    return F.embedding(i, table) @ w


def joined(x: Tensor, y: Tensor, w: Tensor) -> Tensor:
    return torch.cat([x, y], 1) @ w


def swiglu(x: Tensor, w: Tensor, v: Tensor) -> Tensor:
    return F.silu(x @ w) * (x @ v)


def softmax(x: Tensor, w: Tensor) -> Tensor:
    return (x @ w).softmax(-1)


def largest(x: Tensor, w: Tensor) -> Tensor:
    return (x @ w).amax(-1)


#: By name: the function, and its arguments of a floating type.
AROUND: dict[str, tuple[Callable[..., Tensor], Callable[[torch.dtype], tuple[Tensor, ...]]]] = {
    "weights of 8 bits": (
        weights_of_8_bits,
        lambda t: (drawn(M, K, dtype=t), whole(K, N), drawn(N, dtype=t, seed=1) / 64),
    ),
    "gathered rows": (
        gathered_rows,
        lambda t: (
            drawn(50, K, dtype=t),
            whole(M, below=50, dtype=torch.int64),
            drawn(K, N, dtype=t, seed=1),
        ),
    ),
    "joined at an odd column": (
        joined,
        lambda t: (
            drawn(M, 113, dtype=t),
            drawn(M, K - 113, dtype=t, seed=1),
            drawn(K, N, dtype=t, seed=2),
        ),
    ),
    "two products and a gate": (
        swiglu,
        lambda t: (drawn(M, K, dtype=t), drawn(K, N, dtype=t, seed=1) / 16, drawn(K, N, dtype=t, seed=2)),
    ),
    "softmax behind": (softmax, lambda t: (drawn(M, SHORT, dtype=t), drawn(SHORT, N, dtype=t, seed=1) / 8)),
    "the largest of each row": (
        largest,
        lambda t: (drawn(M, SHORT, dtype=t), drawn(SHORT, N, dtype=t, seed=1)),
    ),
}


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32], ids=str)
@pytest.mark.parametrize("name", AROUND)
def test_neighbours(name: str, dtype: torch.dtype) -> None:
    function, arguments = AROUND[name]
    given = arguments(dtype)
    found, _ = compiled(function, *given)
    assert_near(found, function(*map(wide, given)), function(*given))
