"""The errors of sums, moments and normalisations on rows that are hard to add up, beside eager's.

Rows of one value, of a mean far from zero, alternating, denormal, ramps, with an outlier.  The interpreter
runs tile code with Triton's order of additions.
"""

import math

import pytest
import torch
from compiling import Compiled
from torch import Tensor
from torch.nn import functional as F

pytestmark = pytest.mark.usefixtures("fresh_dynamo")

#: Half a unit in the last place of 1, in f32.
U = 2.0**-24
#: How many of eager's own errors are forgiven, and how many units besides (of f32 arithmetic, then of the
#: result's type).
FACTOR, UNITS, ROUNDINGS = 4, 32, 2
#: What squares of denormal numbers lose.
LEAST = 2.0**-126

CONSTANT = (0.0, 1e-3, 0.1, 0.77773, 1e4, -7.3)


def hard_rows(length: int, dtype: torch.dtype) -> Tensor:
    """[14, length]: the first six are constant."""
    at = torch.arange(length, dtype=torch.float64)
    noise = torch.randn(length, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    alternating = 1 - 2 * (at % 2)
    far, denormal = (1e6, 1e-40) if dtype != torch.float16 else (3e4, 1e-7)
    rows = [torch.full_like(at, value) for value in CONSTANT]
    rows += [noise, 1e4 + noise, far + noise, 3.3 * alternating, 1e4 + 0.5 * alternating, denormal * noise]
    rows += [at / length, torch.where(at == 0, far, 0.1)]
    return torch.stack(rows).to(dtype)


def folds(x: Tensor) -> dict[str, Tensor]:
    """[rows, length] -> a number for each row."""
    variance, mean = torch.var_mean(x, 1, correction=0)
    return {"sum": x.sum(1), "mean": x.mean(1), "var": variance, "centre": mean,
            "std": x.std(1, correction=0)}  # fmt: skip


def normalised(x: Tensor) -> dict[str, Tensor]:
    """[rows, length] -> the same."""
    return {
        "layer norm": F.layer_norm(x, x.shape[1:]),
        "group norm": F.group_norm(x, 1),
        "batch norm": F.batch_norm(x.t(), None, None, None, None, True).t() if x.shape[1] > 1 else x * 0.0,
        "spelled out": (x - x.mean(1, True)) * (x.var(1, correction=0, keepdim=True) + 1e-5).rsqrt(),
    }


def others(x: Tensor) -> dict[str, Tensor]:
    """[rows, length] -> the same."""
    return {
        "rms norm": F.rms_norm(x, x.shape[1:], eps=1e-5),
        "softmax": x.softmax(1),
        "log softmax": x.log_softmax(1),
        "prefix sums": x.cumsum(1),
        "prefix logsumexp": x.logcumsumexp(1),
    }


def scales(x: Tensor, updated: bool) -> dict[str, Tensor]:
    """[rows, 1] each: what a result of exact rows ``x`` may be off by, in ``UNITS`` roundings of f32, by the
    error bounds of the folds (``codegen/folds/moments.py``).  ``updated``: means are kept and moved in
    f32, for each block of a loop or slice of a row, so that deviations are off by half a unit of them.
    """
    variance, mean = torch.var_mean(x, 1, correction=0, keepdim=True)
    size, std, largest = x.abs().mean(1, True), variance.sqrt(), x.abs().amax(1, True)
    far = mean.abs() / UNITS if updated else 0.0
    normal = largest * (variance + 1e-5).rsqrt()
    return {
        "sum": size * x.shape[1], "mean": size, "var": variance + far * std, "centre": size, "std": std + far,
        "layer norm": normal, "group norm": normal, "batch norm": normal, "spelled out": normal,
        "rms norm": largest * (x.square().mean(1, True) + 1e-5).rsqrt(),
        "softmax": x.softmax(1).amax(1, True) * (1 + largest), "log softmax": 1 + largest,
        "prefix logsumexp": 1 + largest,
        "prefix sums": x.abs().sum(1, True),
    }  # fmt: skip


def judge(function, x: Tensor, updated: bool = False, dynamic: bool = False, **options) -> None:
    """Asserts that no result is further from float64 than eager's, but for a factor and a few roundings; that
    equal elements have no spread, and are their mean.
    """
    found, eager = Compiled(function, options, dynamic)(x), function(x)
    exact, worth = function(x.double()), scales(x.double(), updated)
    for name, result in found.items():
        ours, theirs, want = (t.double().reshape(len(x), -1) for t in (result, eager[name], exact[name]))
        allowed = FACTOR * (theirs - want).abs().amax(1, True) + UNITS * U * worth[name]
        allowed = allowed + ROUNDINGS * torch.finfo(x.dtype).eps * want.abs()
        allowed = allowed + (math.sqrt(LEAST) if name == "std" else LEAST)
        wrong = ((ours - want).abs() > allowed).any(1).nonzero().flatten().tolist()
        assert not wrong, (name, [(i, ours[i], want[i], theirs[i]) for i in wrong])
        constant = ours[: len(CONSTANT)]
        if name in ("var", "std", "layer norm", "group norm", "batch norm"):
            assert (constant == 0).all(), (name, constant.abs().amax(1))
        if name == "centre":
            assert torch.equal(constant[:, 0], x[: len(CONSTANT), 0].double()), (name, constant)


FUNCTIONS = {"folds": folds, "normalised": normalised, "others": others}
#: Rows of these lengths; the longest are cut into slices.
LENGTHS = {
    ("folds", "planned"): (1, 2, 3, 768, 4097, 4190, 32000, 131072),
    ("normalised", "planned"): (3, 768, 4097, 32000),
    ("others", "planned"): (3, 4097, 4190),
    ("folds", "scheduled"): (3, 4190),
    ("normalised", "scheduled"): (1, 4190),
    ("others", "scheduled"): (4190,),
}
CASES = [(*which, length) for which, lengths in LENGTHS.items() for length in lengths]


@pytest.mark.parametrize(("name", "level", "length"), CASES)
def test_hard_rows(name, level, length):
    x = hard_rows(length, torch.float32)
    judge(FUNCTIONS[name], x, length > 8192, interpret_level=level, hardware="h200")


@pytest.mark.parametrize(
    ("dtype", "length"), [(torch.bfloat16, 4190), (torch.float16, 768), (torch.float16, 32000)]
)
def test_hard_rows_of_16_bits(dtype, length):
    """Of f16, sums of 32000 equal elements need 26 bits."""
    x = hard_rows(length, dtype)
    for name in ("folds", "normalised"):
        judge(FUNCTIONS[name], x, length > 8192, interpret_level="planned", hardware="h200")


@pytest.mark.parametrize("name", ["folds", "normalised"])
def test_hard_rows_in_loops(name):
    """Rows of an unknown length are folded in a loop."""
    x = hard_rows(4190, torch.float32)
    judge(FUNCTIONS[name], x, True, dynamic=True, interpret_level="planned", hardware="h200")


def test_many_long_rows():
    """As many rows as keep the chip busy: none is cut."""
    x = hard_rows(20000, torch.float32).repeat(22, 1)
    judge(lambda x: dict(zip(("var", "centre"), torch.var_mean(x, 1, correction=0), strict=True)), x, True,
          interpret_level="planned", hardware="h200")  # fmt: skip


@pytest.mark.parametrize("level", ["scheduled", "planned"])
def test_the_mean_of_an_infinite_sum_is_infinite(level):
    """Of an infinite element, of a sum that is too large for f32; a variance that is no number is not 0."""
    x = torch.randn(3, 768)
    x[0, 7], x[1], x[2, 5] = math.inf, -3e38, math.nan
    variance, mean = Compiled(lambda x: torch.var_mean(x, 1), {"interpret_level": level}, False)(x)
    assert mean[:2].tolist() == [math.inf, -math.inf] and mean[2].isnan()
    assert not variance.isfinite().any()


@pytest.mark.parametrize(("length", "dynamic"), [(3000, False), (8192, False), (32000, False), (4190, True)])
def test_means_of_noise(length, dynamic):
    """Means near 0 of elements near 1, beside their own size: deviations from a mean lose its last bits."""
    x = torch.randn(64, length, generator=torch.Generator().manual_seed(0))

    def function(x: Tensor) -> tuple[Tensor, Tensor]:
        return torch.var_mean(x, 1)[1], x.mean(1)

    options = {"interpret_level": "planned", "hardware": "h200"}
    exact = function(x.double())
    for ours, theirs, want in zip(Compiled(function, options, dynamic)(x), function(x), exact, strict=True):
        found, eager = ((t.double() - want).norm() / want.norm() for t in (ours, theirs))
        assert found <= FACTOR * (eager + U), (found, eager)


#: Rows whose elements are equal, and those whose sum of squared deviations is infinite in f32 though the
#: deviations are not.
EQUAL, INFINITE = (1e30, -2e33, 1e26, 1.9e25, 3e19, 7.7e15), slice(6, 9)


def large_rows(length: int) -> Tensor:
    """[16, length] of f32: elements that are too large to be squared, or whose rounding is; the last rows are
    ordinary.
    """
    at = torch.arange(length)
    third, sign = at % 3 == 0, 1.0 - 2.0 * (at % 2)
    noise = torch.randn(length, generator=torch.Generator().manual_seed(0))
    rows = [torch.full((length,), value) for value in EQUAL]
    rows += [torch.where(third, 1e30, 1.0000001e30), 1e30 * sign, torch.where(at == 5, 1e30, noise)]
    rows += [1e20 * (1 + 1e-4 * noise), torch.where(third, 1e17, 1.0), 1e4 + noise, noise]
    rows += [torch.where(at == length // 2, value, 1e30) for value in (math.inf, -math.inf, math.nan)]
    return torch.stack(rows)


@pytest.mark.parametrize(
    ("length", "level", "dynamic", "columns"),
    [
        (1064, "planned", False, False), (1064, "planned", True, False), (40009, "planned", False, False),
        (1064, "scheduled", False, False), (1064, "planned", False, True), (5003, "planned", False, True),
    ],
    ids=["whole", "looped", "unequal slices", "scheduled", "columns", "columns in slices"],
)  # fmt: skip
def test_elements_that_are_too_large_to_be_squared(length, level, dynamic, columns):
    """The square of what the first mean is wrong by is infinite: equal elements have no variance all the
    same.  Others have an infinite one, as in eager on a GPU.  That of missing and infinite elements is NaN.
    """
    x = large_rows(length)

    def function(x: Tensor) -> tuple[Tensor, Tensor]:
        return torch.var_mean(x, 0 if columns else 1, correction=0)

    options = {"interpret_level": level, "hardware": "h200"}
    variance, mean = Compiled(function, options, dynamic)(x.t().contiguous() if columns else x)
    equal = slice(len(EQUAL))
    assert torch.equal(variance[equal], torch.zeros(len(EQUAL))) and torch.equal(mean[equal], x[equal, 0])
    assert (variance[INFINITE] == math.inf).all() and mean[INFINITE].isfinite().all()
    assert variance[13:].isnan().all() and not mean[13:].isfinite().any()
    want, centre = torch.var_mean(x.double(), 1, correction=0)
    allowed = UNITS * U * (want + centre.abs() / UNITS * want.sqrt())
    assert ((variance.double() - want).abs() <= allowed)[9:13].all(), (variance, want)
    size = x.double().abs().mean(1)
    assert ((mean.double() - centre).abs() <= UNITS * U * size)[:13].all(), (mean, centre)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float64])
def test_large_elements_of_other_types(dtype):
    value = 1e30 if dtype == torch.bfloat16 else 1e250
    x = torch.full((2, 1064), value, dtype=dtype)
    x[1, ::2] *= -1

    def function(x: Tensor) -> tuple[Tensor, ...]:
        return *torch.var_mean(x, 1), F.layer_norm(x, x.shape[1:])

    variance, mean, norm = Compiled(function, {"interpret_level": "planned", "hardware": "h200"}, False)(x)
    assert variance.tolist() == [0.0, math.inf] and mean[0] == x[0, 0] and not norm.any()
