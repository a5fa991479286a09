"""Reductions: imported, verified, run by the interpreter, compared with eager and with float64."""

import math

import pytest
import torch
from import_one import outputs
from lowering import check as check_with
from lowering import check_training, externs, kernels, lower, run, trace

from fuse_mlir.compiler.base.errors import UnsupportedOp
from fuse_mlir.compiler.frontend.autograd.decompositions import decomposition_table
from fuse_mlir.compiler.fx.table import KEPT_WHOLE, LOWERINGS
from fuse_mlir.compiler.runtime.errors import DeviceAssertError

TABLE = decomposition_table()


def check(function, *inputs, **options):
    """Compares with the decompositions that the backend uses."""
    return check_with(function, *inputs, table=TABLE, **options)


pytestmark = pytest.mark.filterwarnings("ignore:.*degrees of freedom")

FLOATS = (torch.float32, torch.float64, torch.float16, torch.bfloat16)
INTEGERS = (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8)

#: Name -> reduction of one tensor over a dim, or over everything where dim is None.
OVER = {
    "sum": lambda x, dim, keep: x.sum() if dim is None else x.sum(dim, keep),
    "mean": lambda x, dim, keep: x.mean() if dim is None else x.mean(dim, keep),
    "prod": lambda x, dim, keep: x.prod() if dim is None else x.prod(dim, keep),
    "amax": lambda x, dim, keep: torch.amax(x, () if dim is None else dim, keep),
    "amin": lambda x, dim, keep: torch.amin(x, () if dim is None else dim, keep),
    "max": lambda x, dim, keep: x.max() if dim is None else tuple(x.max(dim, keep)),
    "min": lambda x, dim, keep: x.min() if dim is None else tuple(x.min(dim, keep)),
    "aminmax": lambda x, dim, keep: tuple(torch.aminmax(x, dim=dim, keepdim=keep)),
    "argmax": lambda x, dim, keep: x.argmax(dim, keep),
    "argmin": lambda x, dim, keep: x.argmin(dim, keep),
    "any": lambda x, dim, keep: x.any() if dim is None else x.any(dim, keep),
    "all": lambda x, dim, keep: x.all() if dim is None else x.all(dim, keep),
    "var": lambda x, dim, keep: x.var(dim, keepdim=keep),
    "std": lambda x, dim, keep: x.std(dim, correction=0, keepdim=keep),
    "var_mean": lambda x, dim, keep: torch.var_mean(x, dim, keepdim=keep),
    "std_mean": lambda x, dim, keep: torch.std_mean(x, dim, correction=2, keepdim=keep),
    "logsumexp": lambda x, dim, keep: torch.logsumexp(x, tuple(range(x.dim())) if dim is None else dim, keep),
    "norm": lambda x, dim, keep: torch.linalg.vector_norm(x, 2, dim, keep),
    "count_nonzero": lambda x, dim, keep: torch.ops.aten.count_nonzero.default(x, dim),
    "nansum": lambda x, dim, keep: x.nansum() if dim is None else x.nansum(dim, keep),
}
FLOAT_ONLY = ("mean", "var", "std", "var_mean", "std_mean", "norm")
#: Values that no reduction confuses by rounding: all different, small.
SHAPES = ((), (1,), (2, 1, 3))
#: Dims of tensors of so many, but for the first.
DIMS = {0: (-1,), 1: (-1,), 3: (-1, 1, 2)}


def numbers(shape: tuple[int, ...], dtype: torch.dtype, seed: int = 0) -> torch.Tensor:
    """Different small numbers, exact in every dtype: no two roundings decide an index."""
    generator = torch.Generator().manual_seed(seed)
    size = math.prod(shape)
    order = torch.randperm(max(size, 1), generator=generator)[:size].reshape(shape)
    if dtype == torch.bool:
        return order % 2 == 0
    if dtype.is_floating_point:
        return ((order - size // 2).double() / 4 + 0.25).to(dtype)
    return (order + (0 if dtype == torch.uint8 else -size // 2)).to(dtype)


@pytest.mark.parametrize("name", OVER)
def test_shapes(name):
    """Every dim, keepdim, 0-d, one element, static and dynamic."""
    for shape in SHAPES:
        x = numbers(shape, torch.float32)
        keep = len(shape) == 1
        check(lambda x, k=keep: [OVER[name](x, d, k or bool(d)) for d in (None, *DIMS[x.dim()])], x)
        if shape:
            check(lambda x, k=keep: OVER[name](x, 0, k), x, dynamic=True)


@pytest.mark.parametrize("name", OVER)
def test_dtypes(name):
    """All in one graph."""
    dtypes = [*FLOATS, *(() if name in FLOAT_ONLY else INTEGERS)]
    if name not in (*FLOAT_ONLY, "logsumexp", "argmax", "argmin"):
        dtypes.append(torch.bool)

    def reduced(*xs):
        halved = [x[:2] if name == "prod" and x.dtype == torch.float16 else x for x in xs]  # in its range
        return [OVER[name](x, d, False) for d, given in ((None, halved), (0, xs)) for x in given]

    check(reduced, *(numbers((4, 3), dtype) for dtype in dtypes))


@pytest.mark.parametrize("name", OVER)
def test_layouts(name):
    """Transposed, sliced and expanded operands."""
    function = OVER[name]
    whole = numbers((4, 6), torch.float32)
    views = (lambda x: x.t(), lambda x: x[1:3, ::2], lambda x: x[:1].expand(3, 6))
    check(lambda x, t: [*(function(v(x), 0, False) for v in views), function(t, 1, True)], whole, whole.t())


SEVERAL = {
    "sum": lambda x, d: x.sum(d),
    "mean": lambda x, d: x.mean(d, keepdim=True),
    "amax": lambda x, d: x.amax(d),
    "var": lambda x, d: x.var(d),
    "var_mean": lambda x, d: torch.var_mean(x, d, correction=0),
    "logsumexp": lambda x, d: torch.logsumexp(x, d),
    "norm": lambda x, d: torch.linalg.vector_norm(x, 3, d),
    "any": lambda x, d: torch.any(x, d),
    "all": lambda x, d: torch.all(x, d),
    "count_nonzero": lambda x, d: torch.count_nonzero(x, d),
    "nansum": lambda x, d: x.nansum(d),
}


@pytest.mark.parametrize("name", SEVERAL)
@pytest.mark.parametrize("dynamic", (False, True))
def test_several_dims(name, dynamic):
    x = numbers((2, 3, 4), torch.float32)
    dims = [(0, 2), (1, -1), (0, 1, 2)]
    if name not in ("logsumexp", "nansum"):  # eager has no such logsumexp, and fake tensors get nansum wrong
        dims.append(())
    check(lambda x: [SEVERAL[name](x, d) for d in dims], x, dynamic=dynamic)


@pytest.mark.parametrize("dtype", (torch.float32, torch.float64, torch.int64, torch.bfloat16))
def test_dtype_argument(dtype):
    """``dtype=`` converts before the sum."""
    for source in (torch.float32, torch.int32, torch.bool, torch.float16):
        x = numbers((3, 5), source)
        check(lambda x: (x.sum(dtype=dtype), x.sum(1, dtype=dtype), x.prod(0, dtype=dtype)), x)
        if dtype.is_floating_point:
            check(lambda x: x.mean(1, dtype=dtype), x)
    x = torch.tensor([0.7, 0.7, 0.7])
    assert run(lambda x: x.sum(dtype=torch.int64), x).item() == 0


def test_integers_wrap():
    x = torch.full((4,), 2**62)
    check(lambda x: x.sum(), x)
    check(lambda x: x.prod(), x)
    check(lambda x: x.sum(dtype=torch.int32), torch.full((3,), 2**31 - 1, dtype=torch.int32))
    check(lambda x: x.sum(dtype=torch.int8), torch.full((3,), 127, dtype=torch.int8))


def test_half_accumulates_in_float32():
    """The sum of many ones is exact in float32 and would stop at 2048 in float16; so is a mean beyond its
    range.
    """
    ones = torch.ones(4096, dtype=torch.float16)
    assert run(lambda x: x.sum(), ones).item() == 4096
    assert run(lambda x: x.mean(), torch.full((8,), 60000.0, dtype=torch.float16)).item() == 60000
    assert run(lambda x: x.sum(), torch.ones(1024, dtype=torch.bfloat16)).item() == 1024


def test_float64_stays_float64():
    x = torch.tensor([1.0, 2.0**-40, -1.0], dtype=torch.float64)
    assert run(lambda x: x.sum(), x).item() == 2.0**-40


NAN = torch.tensor([[1.0, math.nan, 3.0, math.nan], [math.inf, -math.inf, 0.0, -0.0], [2.0, 2.0, -5.0, -5.0]])


@pytest.mark.parametrize("name", OVER)
def test_special_values(name):
    """NaN wins every extreme; of equals the first counts; infinities."""
    if name == "norm":
        pytest.skip("its own test")
    for row in (NAN, NAN[1:], NAN[2:]):
        check(lambda x: [OVER[name](x, d, False) for d in (None, 1)], row)


@pytest.mark.parametrize("order", (0, 1, 2, 3.5, -1, -2.5, math.inf, -math.inf))
def test_norms(order):
    x = numbers((3, 4), torch.float32)
    check(lambda x: torch.linalg.vector_norm(x, order), x)
    check(lambda x: torch.linalg.vector_norm(x, order, 1, True), x, dynamic=True)
    check(lambda x: torch.linalg.vector_norm(x, order, 0, dtype=torch.float64), x)
    check(lambda x: torch.linalg.vector_norm(x, order, 0), NAN)
    check(lambda x: torch.linalg.vector_norm(x, order), torch.tensor(-2.0))


EMPTY = {
    "sum": lambda x: (x.sum(), x.sum(1), x.sum(0)),
    "integer sum": lambda x: (x.int().sum(), x.bool().sum(1)),
    "prod": lambda x: (x.prod(), x.prod(1)),
    "mean": lambda x: (x.mean(), x.mean(1)),
    "any": lambda x: (x.any(), x.any(1)),
    "all": lambda x: (x.all(), x.all(1)),
    "var": lambda x: (x.var(), x.var(1), *torch.var_mean(x, 1), *torch.std_mean(x, 0)),
    "logsumexp": lambda x: torch.logsumexp(x, 1),
    "norm": lambda x: (torch.linalg.vector_norm(x), torch.linalg.vector_norm(x, 0, 1)),
    "count_nonzero": lambda x: torch.count_nonzero(x, 1),
    "extremes of rows": lambda x: (*x.t().max(1), *torch.aminmax(x, dim=0), x.amax(0), x.argmin(0)),
}


@pytest.mark.parametrize("name", EMPTY)
def test_no_elements(name):
    x = torch.empty(3, 0)
    if name == "extremes of rows":
        x = torch.empty(3, 0)
        check(lambda x: (*x.max(0), *torch.aminmax(x, dim=0), x.amax(0), x.argmin(0)), x)
        return
    check(EMPTY[name], x)


def test_too_few_degrees_of_freedom():
    check(lambda x: x.var(1), torch.ones(2, 1))
    check(lambda x: x.var(1, correction=5), numbers((2, 3), torch.float32))
    check(lambda x: x.var(1, correction=0.5), numbers((2, 3), torch.float32), dynamic=True)


def test_unsigned_extremes():
    """200 is larger than 100, also where a signed byte would say otherwise; 64 bits fall back."""
    x = torch.tensor([[100, 200], [3, 255]], dtype=torch.uint8)
    check(lambda x: (x.max(), x.min(), *x.max(1), x.amin(0), x.argmax()), x)
    with pytest.raises(UnsupportedOp, match="64-bit unsigned"):
        lower(trace(lambda x: torch.ops.aten.amax.default(x), [x.to(torch.uint64)]))


def test_one_kernel_each():
    """A reduction is one kernel, with one load, whatever it returns."""
    for function in (
        lambda x: x.sum(1),
        lambda x: tuple(x.max(1)),
        lambda x: torch.var_mean(x, 1),
        lambda x: torch.logsumexp(x, 1),
    ):
        imported = lower(trace(function, [numbers((3, 4), torch.float32)]))
        assert len(kernels(imported)) == 1
        assert str(imported.module).count('"fuse.load"') == 1


def test_welford_is_stable():
    """A variance far from zero, where the difference of two sums would have no digit left."""
    x = torch.linspace(0, 1, 64) + 10000
    got = run(lambda x: x.var(), x)
    torch.testing.assert_close(got.double(), x.double().var(), rtol=1e-4, atol=0)


def test_a_size_that_may_be_zero_is_asserted():
    """The extreme over a data-dependent number of elements."""
    x = torch.tensor([0, 1, 1])
    gm = trace(lambda x: torch.amax(torch.nonzero(x), (0,)), [x], dynamic=True)
    imported = lower(gm)
    assert externs(imported) == ["aten.nonzero.default"]
    assert outputs(imported, [x]).tolist() == [2]
    with pytest.raises(DeviceAssertError, match="non-zero size"):
        outputs(imported, [torch.tensor([0, 0, 0])])


aten = torch.ops.aten


F = torch.nn.functional
ROW, IMAGE = numbers((3, 5), torch.float32), numbers((2, 4, 3, 2), torch.float32) / 4
WEIGHT, BIAS = numbers((4,), torch.float32, 1), numbers((4,), torch.float32, 2)
CLASSES = torch.tensor([1, 4, -100])
NORMALISATIONS = {
    "softmax": (lambda x: x.softmax(-1), ROW),
    "softmax of the first dim": (lambda x: x.softmax(0), ROW),
    "log_softmax": (lambda x: x.log_softmax(-1), ROW),
    "softmax of half": (lambda x: x.softmax(-1), ROW.half()),
    "softmax to float": (lambda x: aten._softmax.default(x, -1, False), ROW.bfloat16()),
    "logsumexp": (lambda x: torch.logsumexp(x, -1), ROW),
    "layer_norm": (lambda x, w, b: F.layer_norm(x.transpose(1, 3), (4,), w, b), IMAGE, WEIGHT, BIAS),
    "layer_norm of bfloat16": (
        lambda x, w, b: F.layer_norm(x.transpose(1, 3), (4,), w, b),
        IMAGE.bfloat16(),
        WEIGHT.bfloat16(),
        BIAS.bfloat16(),
    ),
    "rms_norm": (lambda x, w: F.rms_norm(x.transpose(1, 3), (4,), w, 1e-5), IMAGE, WEIGHT),
    "group_norm": (lambda x, w, b: F.group_norm(x, 2, w, b), IMAGE, WEIGHT, BIAS),
    "batch_norm": (
        lambda x, w, b: aten._native_batch_norm_legit_functional(x, w, b, w.abs(), b.abs(), True, 0.1, 1e-5),
        IMAGE,
        WEIGHT,
        BIAS,
    ),
    "batch_norm for inference": (
        lambda x, w, b: aten._native_batch_norm_legit_no_training(x, w, b, w.abs(), b.abs(), 0.1, 1e-5)[0],
        IMAGE,
        WEIGHT,
        BIAS,
    ),
    "mse": (lambda x, y: F.mse_loss(x, y), ROW, ROW * 2),
    "smooth_l1": (lambda x, y: F.smooth_l1_loss(x, y), ROW, ROW * 2),
    "upsample": (lambda x: F.interpolate(x, scale_factor=2), IMAGE),
}
GRADIENTS = ("softmax", "log_softmax", "layer_norm", "group_norm", "rms_norm", "mse", "smooth_l1")


@pytest.mark.parametrize("name", NORMALISATIONS)
def test_decomposed_into_reductions(name):
    """Nothing falls back."""
    check_training(*NORMALISATIONS[name], table=TABLE, gradients=False)


@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients(name):
    check_training(*NORMALISATIONS[name], table=TABLE)


@pytest.mark.parametrize("options", ({}, {"label_smoothing": 0.1}, {"reduction": "sum"}))
def test_cross_entropy(options):
    """The ignored class counts for nothing, forward and backward."""
    check_training(lambda x, t: F.cross_entropy(x, t, **options), ROW, CLASSES, table=TABLE)


def test_batch_norm_gradient():
    def function(g, x, w):
        mean, rstd = x.mean((0, 2, 3)), (x.var((0, 2, 3), correction=0) + 1e-5).rsqrt()
        return aten.native_batch_norm_backward(
            g, x, w, w, w.abs(), mean, rstd, True, 1e-5, [True, True, True]
        )

    check(function, IMAGE.flip(0), IMAGE, WEIGHT)


def test_dynamic_softmax_and_layer_norm():
    check_training(lambda x: x.softmax(-1), ROW, table=TABLE, dynamic=True)
    check_training(lambda x: F.layer_norm(x, (x.shape[1],)), ROW, table=TABLE, dynamic=True)
    check_training(lambda x: x.log_softmax(-1), ROW, table=TABLE, dynamic=True)


@pytest.mark.parametrize("dynamic", (False, True))
@pytest.mark.parametrize("name", ("cumsum", "cumprod", "logcumsumexp"))
def test_scans(name, dynamic):
    function = getattr(torch, name)
    for dim in range(-1, 2):
        check(lambda x, d=dim: function(x, d), IMAGE[0, :, :, 0], dynamic=dynamic)
        check(lambda x, d=dim: function(x.t(), d), IMAGE[0, :, :, 0], dynamic=dynamic)
    check(lambda x: function(x, 0), torch.tensor(2.0))
    check(lambda x: function(x, 1), torch.ones(3, 1))
    check(lambda x: function(x, 1), torch.empty(3, 0))


@pytest.mark.parametrize(
    "dtype", (torch.float16, torch.bfloat16, torch.float64, torch.int32, torch.uint8, torch.bool)
)
def test_scan_dtypes(dtype):
    x = numbers((7,), dtype)
    check(lambda x: x.cumsum(0), x)
    check(lambda x: x.cumsum(0, dtype=torch.int32), x)
    check(lambda x: x.cumprod(0, dtype=torch.float64), x)


@pytest.mark.parametrize("name", ("cummax", "cummin"))
def test_running_extremes(name):
    """Of equal elements the last counts, and a NaN stays; places and values; of rows and columns."""
    function = getattr(torch, name)
    x = torch.tensor([[1.0, 3, 3, 2, float("nan"), 7, 1], [0, -1, 0, -1, -float("inf"), 5, 5]])
    for given, dims in ((x, (0, 1)), (x[1:].to(torch.int32), (1,)), (x[:, :4].bfloat16(), (0, 1, -1))):
        for dim in dims:
            check(lambda x, d=dim: tuple(function(x, d)), given)
            check(lambda x, d=dim: function(x.t(), d)[0], given, dynamic=True)
    for given in (torch.tensor(2.0), torch.ones(1, 4), torch.empty(3, 0), torch.tensor([False, True, False])):
        check(lambda x: tuple(function(x, 0)), given)
    check(lambda x: tuple(function(x, 0)), torch.tensor([200, 3, 255, 255, 0], dtype=torch.uint8))
    check_training(lambda x: function(x, 1)[0], ROW, table=TABLE)


def test_a_scan_is_one_kernel():
    imported = lower(trace(lambda x: x.cumsum(1), [ROW]))
    assert len(kernels(imported)) == 1 and '"fuse.scan"' in str(imported.module)
    check_training(lambda x: x.cumsum(1), ROW, table=TABLE)


def test_a_running_logsumexp_of_infinities_and_nan():
    """Of equal infinities no difference is taken; what comes behind a NaN is NaN."""
    inf, nan = float("inf"), float("nan")
    rows = [[-inf, -inf, 1.0, 2.0, inf, -inf], [3.0, nan, 1.0, inf, 2.0, 0.0], [-inf] * 6, [inf] * 6]
    check(lambda x: x.logcumsumexp(1), torch.tensor(rows))
    check_training(lambda x: x.logcumsumexp(0), ROW, table=TABLE)


#: Reductions of core ATen and their kin that are not lowered, and why.
EXCEPTIONS = {
    "aten.median.default": "sorting: the vendor's library runs it",
    "aten.median.dim": "sorting: the vendor's library runs it",
    "aten.mode.default": "sorting: the vendor's library runs it",
    "aten.kthvalue.default": "sorting: the vendor's library runs it",
    "aten.topk.default": "sorting: the vendor's library runs it",
    "aten.sort.default": "sorting: the vendor's library runs it",
}
CORE = [
    "aten.sum.default",
    "aten.sum.dim_IntList",
    "aten.mean.default",
    "aten.mean.dim",
    "aten.prod.default",
    "aten.prod.dim_int",
    "aten.amax.default",
    "aten.amin.default",
    "aten.max.default",
    "aten.min.default",
    "aten.max.dim",
    "aten.min.dim",
    "aten.argmax.default",
    "aten.argmin.default",
    "aten.any.default",
    "aten.any.dim",
    "aten.any.dims",
    "aten.all.default",
    "aten.all.dim",
    "aten.all.dims",
    "aten.var.default",
    "aten.var.dim",
    "aten.var.correction",
    "aten.std.default",
    "aten.std.dim",
    "aten.std.correction",
    "aten.var_mean.default",
    "aten.var_mean.dim",
    "aten.var_mean.correction",
    "aten.std_mean.default",
    "aten.std_mean.dim",
    "aten.std_mean.correction",
    "aten.logsumexp.default",
    "aten.linalg_vector_norm.default",
    "aten.aminmax.default",
    "aten.count_nonzero.default",
    "aten.count_nonzero.dim_IntList",
    "aten.nansum.default",
    "aten.cumsum.default",
    "aten.cumprod.default",
    "aten.logcumsumexp.default",
    "prims.sum.default",
    "prims.prod.default",
    "prims.amax.default",
    "prims.amin.default",
    "prims.var.default",
]


def test_every_reduction_is_accounted_for():
    for overload in CORE:
        assert overload in LOWERINGS, f"{overload} is a reduction without lowering or exception"
    for overload, reason in EXCEPTIONS.items():
        assert KEPT_WHOLE[overload] == reason


def test_core_aten_tags_name_no_other_reduction():
    """Every overload that torch tags both core and reduction is in the lists above."""
    tag = getattr(torch.Tag, "reduction", None)
    if tag is None:
        pytest.skip("this torch has no tag for reductions")
    missing = []
    for name in dir(torch.ops.aten):
        packet = getattr(torch.ops.aten, name)
        if not isinstance(packet, torch._ops.OpOverloadPacket):
            continue
        for overload in packet.overloads():
            op = getattr(packet, overload)
            if torch.Tag.core in op.tags and tag in op.tags and str(op) not in (*CORE, *EXCEPTIONS):
                missing.append(str(op))
    assert not missing
