"""Every product that has a form, as a scalar kernel (`product_kernel`): its numbers against float64."""

import pytest
import torch
from compiling import Compiled, check
from torch.nn import functional as F

pytestmark = pytest.mark.usefixtures("fresh_dynamo", "one_thread")

GENERATED = {"products": "generated", "interpret_level": "scheduled"}


def made(function, *args, **options):
    """Compiles and compares; the graphs have no call of torch's libraries."""
    compiled = check(function, *args, **GENERATED, **options)
    assert [graph.externs for graph in compiled.graphs] == [0]
    return compiled.graphs[0]


def tensors(*shapes, dtype=torch.float32):
    return [torch.randn(shape, dtype=dtype) for shape in shapes]


PRODUCTS = {
    "mm": (torch.mm, ((5, 7), (7, 6))),
    "bmm": (torch.bmm, ((3, 5, 7), (3, 7, 6))),
    "addmm": (lambda c, x, w: torch.addmm(c, x, w, beta=0.5, alpha=2), ((6,), (5, 7), (7, 6))),
    "addmm of a column": (torch.addmm, ((5, 1), (5, 7), (7, 6))),
    "baddbmm": (lambda c, x, w: torch.baddbmm(c, x, w, beta=2, alpha=0.5), ((5, 1), (3, 5, 7), (3, 7, 6))),
    "addbmm": (lambda c, x, w: torch.addbmm(c, x, w, beta=2, alpha=3), ((5, 6), (3, 5, 7), (3, 7, 6))),
    "mv": (torch.mv, ((5, 7), (7,))),
    "addmv": (lambda c, x, w: torch.addmv(c, x, w, beta=2, alpha=3), ((5,), (5, 7), (7,))),
    "dot": (torch.dot, ((7,), (7,))),
    "linear": (F.linear, ((2, 3, 7), (6, 7), (6,))),
    "einsum": (lambda x, y: torch.einsum("bik,bjk->bij", x, y), ((2, 5, 7), (2, 6, 7))),
    "of an expanded factor": (lambda x, w: x @ w, ((3, 5, 7), (7, 6))),
    "of a column that is expanded": (lambda x, w: x.expand(5, 7) @ w, ((5, 1), (7, 6))),
    "of transposed factors": (lambda x, w: x.t() @ w.t(), ((7, 5), (6, 7))),
    "of a reshaped factor": (lambda x, w: x.view(5, 7) @ w, ((35,), (7, 6))),
    "of every second row": (lambda x, w: x[::2] @ w[:, 1:], ((9, 7), (7, 6))),
    "gated": (lambda x, w: F.silu(x @ w) * (x @ w.flip(0)), ((5, 7), (7, 6))),
    "of a sum": (lambda x, w: (x + 1) @ w.relu(), ((5, 7), (7, 6))),
    "conv1d": (F.conv1d, ((2, 7, 5), (6, 7, 1), (6,))),
    "conv2d": (F.conv2d, ((2, 7, 5, 4), (6, 7, 1, 1), (6,))),
    "conv2d without a bias": (F.conv2d, ((2, 7, 5, 4), (6, 7, 1, 1))),
}


@pytest.mark.parametrize("rows", [3, 40])
def test_the_numeric_check_takes_no_order_of_a_sum_for_an_error(rows):
    """Of few rows, which are summed as all else is, and of a factor that lies otherwise than it is read."""
    x, w = tensors((rows, 40), (24, 40))
    made(lambda x, w: (x @ w.t()) @ w, x, w, verify="numeric")


def test_the_numeric_check_takes_a_broadcast_factor_for_what_it_is():
    """One that is read from a row or a number sums as one that is written out."""
    x, w = torch.randn(6, 1), torch.randn(7, 8)
    made(lambda x, w: (x.expand(6, 7) @ w, x.sum().expand(6, 7) @ w), x, w, verify="numeric")
    made(lambda x, w: x.expand(24, 23) @ w, *tensors((1, 23), (23, 24)), verify="numeric")


def test_a_broadcast_factor_is_multiplied_before_the_sum():
    """No point leaves nothing of an infinity, and points of both signs leave a NaN."""
    x, w = torch.full((6, 1), torch.inf), torch.ones(7, 8)
    w[3, 0] = -1
    signs, none = Compiled(lambda x, w: (x.expand(6, 7) @ w, x.expand(6, 0) @ w[:0]), GENERATED)(x, w)
    assert signs[:, 0].isnan().all() and (signs[:, 1:] == torch.inf).all() and (none == 0).all()


@pytest.mark.parametrize("name", PRODUCTS)
def test_numbers(name):
    """One kernel each: nothing is transposed, broadcast or copied in front of a product."""
    function, shapes = PRODUCTS[name]
    graph = made(function, *tensors(*shapes, dtype=torch.bfloat16))
    assert graph.launches_after == 1


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16], ids=str)
def test_other_types(dtype):
    """float64 is added up in float64."""
    function, shapes = PRODUCTS["addbmm"]
    given = tensors(*shapes, dtype=dtype)
    compiled = Compiled(function, GENERATED)
    found, expected = compiled(*given), function(*(t.double() for t in given))
    assert [graph.externs for graph in compiled.graphs] == [0]
    eps = torch.finfo(dtype).eps
    torch.testing.assert_close(found.double(), expected, rtol=8 * eps, atol=64 * eps)


@pytest.mark.parametrize("name", ["bmm", "addmm", "conv2d", "of a sum"])
def test_symbolic_sizes(name):
    function, shapes = PRODUCTS[name]
    made(function, *tensors(*shapes), dynamic=True)


@pytest.mark.parametrize("added", [False, True])
def test_sizes_that_torch_alone_knows_to_be_equal(added):
    """The expression of what is summed holds a symbol that the weights' size does not: a guard says more than
    the expressions do."""
    x, w, c = tensors((2, 2, 10), (5, 7), (8, 7))

    def function(x, w, c):
        y = x.view(-1, x.shape[-1] // 2)
        return torch.addmm(c, y, w) if added else y @ w

    compiled = check(function, x, w, c, dynamic=True, strict=True, **GENERATED)
    assert [graph.externs for graph in compiled.graphs] == [1]


@pytest.mark.parametrize("sizes", [(2, 0, 4, 3), (2, 2, 0, 3), (0, 2, 4, 3), (1, 2, 4, 1), (1, 1, 1, 1)])
def test_sizes_of_zero_and_one(sizes):
    batch, m, k, n = sizes
    made(PRODUCTS["addbmm"][0], *tensors((m, n), (batch, m, k), (batch, k, n)))


@pytest.mark.parametrize("rows", [1, 2, 4, 5])
def test_few_rows_that_are_added_to_an_argument(rows):
    """A kernel reads old contents where its one store writes, so rows are not unrolled into a store each."""
    out, x, w = tensors((rows, 24), (rows, 40), (40, 24))
    made(lambda out, x, w: out.addmm_(x, w), out, x, w)
    made(lambda out, x, w: out.t().add_(w.t() @ x.t()).sum(), out, x, w)
    made(lambda out, x, w: out.add_((x[:, :, None] * w).sum(1)), out, x, w)


def test_images_with_channels_last():
    x, w = torch.randn(2, 7, 5, 4).to(memory_format=torch.channels_last), torch.randn(6, 7, 1, 1)
    made(lambda x, w: F.conv2d(x, w).relu(), x, w)


@pytest.mark.parametrize(
    "options", [{"stride": 2}, {"padding": 1}, {"groups": 7}, {"size": 3}], ids=lambda o: next(iter(o))
)
def test_other_convolutions_are_the_librarys(options):
    size, groups = options.pop("size", 1), options.get("groups", 1)
    x, w = torch.randn(2, 7, 5, 4), torch.randn(7, 7 // groups, size, size)
    compiled = check(lambda x, w: F.conv2d(x, w, **options), x, w, **GENERATED)
    assert [graph.externs for graph in compiled.graphs] == [1]


@pytest.mark.parametrize("dtype", [torch.int8, torch.int32, torch.int64], ids=str)
def test_integers(dtype):
    """Sums of int8 are of int32, others wrap around as torch's."""
    info = torch.iinfo(dtype)
    x, w = (torch.randint(info.min, info.max, shape, dtype=dtype) for shape in ((32, 16), (16, 24)))
    compiled = Compiled(torch._int_mm if dtype == torch.int8 else torch.mm, GENERATED)
    found = compiled(x, w)
    assert [graph.externs for graph in compiled.graphs] == [0]
    assert torch.equal(found, (x.long() @ w.long()).to(found.dtype))


@pytest.mark.parametrize("dtype", [torch.int32, torch.int64], ids=str)
def test_integers_that_are_added(dtype):
    """What is added and scaled wraps around, too; one product of each is no ``fuse.dot``."""
    info = torch.iinfo(dtype)
    c, x, w = (torch.randint(info.min, info.max, s, dtype=dtype) for s in ((4,), (5, 7), (7, 4)))

    def function(c, x, w):
        sums = torch.addmm(c, x, w), torch.addmm(c, x, w, beta=3, alpha=-2), torch.addmm(c, x, w, beta=0)
        return *sums, torch.addmm(c, x[:, :1], w[:1], alpha=5), torch._addmm_activation(c, x, w)

    found = Compiled(function, GENERATED)
    assert all(map(torch.equal, found(c, x, w), function(c, x, w)))
    assert [graph.externs for graph in found.graphs] == [0]


@pytest.mark.parametrize("factor", [0.5, -1.5, 2.0, True, (1 << 62) + 1], ids=str)
def test_integers_are_multiplied_by_the_whole_part_of_a_number(factor):
    """As torch does on a CPU, without rounding a large one to a float."""
    c, x, w = (torch.randint(-9, 9, shape) for shape in ((4,), (5, 7), (7, 4)))

    def function(c, x, w):
        return torch.addmm(c, x, w, beta=factor), torch.addmm(c, x, w, alpha=factor)

    found = Compiled(function, GENERATED)
    assert all(map(torch.equal, found(c, x, w), function(c, x, w)))
    assert [graph.externs for graph in found.graphs] == [0]


@pytest.mark.parametrize("gelu", [False, True])
def test_activations_of_the_library(gelu):
    """On a CPU torch computes GELU by erf."""

    def function(c, x, w):
        return torch._addmm_activation(c, x, w, use_gelu=gelu, beta=2)

    made(function, *tensors((6,), (5, 7), (7, 6)))


@pytest.mark.parametrize("fast", [False, True], ids=["", "fast"])
@pytest.mark.parametrize("rows", [False, True], ids=["tensor", "rows"])
def test_scaled_bytes(rows, fast):
    """fp8 with a scale of f32 for each tensor, or for each row and column; the bias is not scaled.  The
    interpreter adds up in float32 where tensor cores may have fewer bits, too.
    """
    x, w = (torch.randn(shape).to(torch.float8_e4m3fn) for shape in ((16, 32), (16, 32)))
    a, b = (torch.rand(16, 1), torch.rand(1, 16)) if rows else (torch.rand(1), torch.rand(1))
    bias = torch.randn(16).to(torch.bfloat16)

    def function(x, w, a, b, bias):
        return torch._scaled_mm(x, w.t(), a, b, bias=bias, out_dtype=torch.bfloat16, use_fast_accum=fast)

    compiled = Compiled(function, GENERATED)
    found = compiled(x, w, a, b, bias)
    assert [graph.externs for graph in compiled.graphs] == [0]
    assert ("fast_accum" in str(compiled.graphs[0].module)) == fast
    expected = x.double() @ w.double().t() * a.double() * b.double() + bias.double()
    torch.testing.assert_close(found.double(), expected, rtol=2**-8, atol=1e-3)


def test_a_type_without_a_kernel_is_the_librarys():
    compiled = Compiled(torch.mm, GENERATED)
    x, w = (torch.randint(-9, 9, shape, dtype=torch.int16) for shape in ((5, 7), (7, 6)))
    assert torch.equal(compiled(x, w), x @ w)
    [graph] = compiled.graphs
    said = [r.message for r in graph.remarks.items if r.pass_name == "choose-libraries"]
    assert said == ["@mm is the library's: i16 and i16 are not multiplied to i16 by kernels"]


def test_products_of_training():
    def function(x, w, c):
        return F.gelu(torch.addmm(c, x, w)).square().sum()

    given = [t.requires_grad_() for t in tensors((5, 7), (7, 6), (6,))]
    compiled = check(function, *given, **GENERATED)
    assert [graph.externs for graph in compiled.graphs] == [0, 0]
