"""What is rounded to 16 bits next may be computed with a few units of float32's last place of error: results
against float64, over all numbers of bfloat16 where a function has one argument.
"""

import pytest
import torch
from tiling_cases import Case, axis, lowered, run, tensor, tile

from fuse_mlir.passes.tiling.apply_tiling import ApplyTiling
from fuse_mlir.passes.tiling.choose_tiling import ChooseTiling

GELU = """load x[d0] -> v
%w = arith.extf %v : bf16 to f32
%h = arith.constant 0.5 : f32
%one = arith.constant 1.0 : f32
%c = arith.constant 0.707106769 : f32
%s = arith.mulf %w, %c : f32
%e = math.erf %s : f32
%p = arith.addf %e, %one : f32
%g = arith.mulf %p, %h : f32
%y = arith.mulf %w, %g : f32
%t = arith.truncf %y : f32 to bf16
store t -> o[d0]"""
SIGMOID = """load x[d0] -> v
%w = arith.extf %v : bf16 to f32
%one = arith.constant 1.0 : f32
%n = arith.negf %w : f32
%e = math.exp %n : f32
%p = arith.addf %e, %one : f32
%q = arith.divf %one, %p : f32
%t = arith.truncf %q : f32 to bf16
store t -> o[d0]"""
TANH = """load x[d0] -> v
%w = arith.extf %v : bf16 to f32
%e = math.tanh %w : f32
%t = arith.truncf %e : f32 to bf16
store t -> o[d0]"""
GELU_TANH = """load x[d0] -> v
%w = arith.extf %v : bf16 to f32
%h = arith.constant 0.5 : f32
%one = arith.constant 1.0 : f32
%e = math.tanh %w : f32
%p = arith.addf %e, %one : f32
%g = arith.mulf %p, %h : f32
%y = arith.mulf %w, %g : f32
%t = arith.truncf %y : f32 to bf16
store t -> o[d0]"""
ERF = TANH.replace("math.tanh", "math.erf")
GELU_GRADIENT = """load x[d0] -> v
%w = arith.extf %v : bf16 to f32
%half = arith.constant 0.5 : f32
%one = arith.constant 1.0 : f32
%c = arith.constant 0.707106769 : f32
%d = arith.constant 0.398942292 : f32
%m = arith.constant -0.5 : f32
%x2 = arith.mulf %w, %w : f32
%x3 = arith.mulf %x2, %m : f32
%x4 = math.exp %x3 : f32
%density = arith.mulf %x4, %d : f32
%s = arith.mulf %w, %c : f32
%e = math.erf %s : f32
%p = arith.addf %e, %one : f32
%share = arith.mulf %p, %half : f32
%r = arith.mulf %w, %density : f32
%g = arith.addf %share, %r : f32
%t = arith.truncf %g : f32 to bf16
store t -> o[d0]"""
SILU = """load x[d0] -> v
%one = arith.constant 1.0 : f32
%n = arith.negf %v : f32
%e = math.exp %n : f32
%p = arith.addf %e, %one : f32
%q = arith.divf %v, %p : f32
store q -> o[d0]"""
ROW_QUOTIENT = """load x[d0, d1] -> v
load b[d0] -> d
%q = arith.divf %v, %d : f32
store q -> o[d0, d1]"""
BY_CONSTANT = """load x[d0] -> v
%d = arith.constant DIVISOR : f32
%q = arith.divf %v, %d : f32
store q -> o[d0]"""
ROOT = """load x[d0] -> v
%q = math.sqrt %v : f32
store q -> o[d0]"""
OWN_QUOTIENT = """load x[d0] -> v
load b[d0] -> d
%q = arith.divf %v, %d : f32
store q -> o[d0]"""
BY_ROOT = """load x[d0] -> v
load b[d0] -> d
%s = math.sqrt %d : f32
%q = arith.divf %v, %s : f32
store q -> o[d0]"""
BY_POWER = """load x[d0] -> v
%d = arith.constant DIVISOR : f32
%q = arith.remf %v, %d : f32
store q -> o[d0]"""
OF_CONSTANT = """load b[d0] -> d
%c = arith.constant NUMBER : f32
%q = arith.divf %c, %d : f32
store q -> o[d0]"""
QUOTIENT = """load x[d0, d1] -> v
load b[d0] -> d
%w = arith.extf %v : bf16 to f32
%q = arith.divf %w, %d : f32
%t = arith.truncf %q : f32 to bf16
store t -> o[d0, d1]"""

BYTES = """load x[d0] -> v
%low = arith.constant -127.0 : f32
%high = arith.constant 126.0 : f32
%n = math.roundeven %v : f32
%a = arith.maximumf %n, %low : f32
%b = arith.minimumf %a, %high : f32
%i = arith.fptosi %b : f32 to i32
%t = arith.trunci %i : i32 to i8
store t -> o[d0]"""
FP8 = """load x[d0] -> v
%t = arith.truncf %v : f32 to f8E4M3FN
store t -> o[d0]"""


def every_finite() -> torch.Tensor:
    """All finite numbers of bfloat16, padded with ones."""
    numbers = torch.arange(1 << 16, dtype=torch.int32).to(torch.int16).view(torch.bfloat16)
    return torch.where(numbers.isfinite(), numbers, 1.0)


def tiled(case: Case, *inputs: torch.Tensor) -> torch.Tensor:
    module = lowered(case.text(), ChooseTiling(), ApplyTiling())
    assert "tt.precise_divf" not in str(module)
    [got] = run(module, list(inputs))
    return got


def one_argument(body: str, x: torch.Tensor) -> torch.Tensor:
    element = {"x": tensor(x.numel(), element="bf16")}, {"o": tensor(x.numel(), element="bf16")}
    return tiled(Case({"d0": str(x.numel())}, *element, body), x)


def test_sigmoid_of_every_number() -> None:
    """Half a unit in the last place of bfloat16, and a hundredth for the arithmetic before the rounding;
    below 2**-126 the exponential overflows in float32.
    """
    x = every_finite()
    exact = torch.sigmoid(x.double())
    error = (one_argument(SIGMOID, x).double() - exact).abs()
    assert (error <= exact * 2**-8 * 1.01 + 2.0**-126).all()


def test_gelu_of_every_number() -> None:
    """As above; where 1 + erf cancels, the error stays below four roundings of a float32 of 1."""
    x = every_finite()
    exact = x.double() * 0.5 * torch.special.erfc(-x.double() / 2**0.5)
    error = (one_argument(GELU, x).double() - exact).abs()
    cancelled = x.double().abs() * 4 * 2**-24 * (x < 0) * (x > -20)
    assert (error <= exact.abs() * 2**-8 * 1.01 + cancelled + 2.0**-133).all()


def test_tanh_of_every_number() -> None:
    """Half a unit in the last place of bfloat16, and a hundredth for the arithmetic before the rounding."""
    x = every_finite()
    exact = torch.tanh(x.double())
    error = (one_argument(TANH, x).double() - exact).abs()
    assert (error <= exact.abs() * 2**-8 * 1.01 + 2.0**-133).all()


def test_one_plus_tanh_of_every_number() -> None:
    """As above; where 1 + tanh cancels, the error stays below four roundings of a float32 of 1, as eager's
    does.
    """
    x = every_finite()
    exact = x.double() / (1 + torch.exp(-2 * x.double()))
    error = (one_argument(GELU_TANH, x).double() - exact).abs()
    cancelled = x.double().abs() * 4 * 2**-24 * (x < 0) * (x > -60)
    assert (error <= exact.abs() * 2**-8 * 1.01 + cancelled + 2.0**-133).all()


def test_erf_of_every_number() -> None:
    """Rounded at once, it is as exact for small arguments as for large ones."""
    x = every_finite()
    exact = torch.erf(x.double())
    error = (one_argument(ERF, x).double() - exact).abs()
    assert (error <= exact.abs() * 2**-8 * 1.01 + 2.0**-133).all()


def test_gradient_of_gelu_of_every_number() -> None:
    """The share below x plus x times the density: 1 + erf brings four roundings of a float32 of 1."""
    x = every_finite()
    wide = x.double()
    density = torch.exp(-wide * wide / 2) / (2 * torch.pi) ** 0.5
    exact = torch.special.ndtr(wide) + torch.where(density > 0, wide * density, 0.0)
    error = (one_argument(GELU_GRADIENT, x).double() - exact).abs()
    assert (error <= exact.abs() * 2**-8 * 1.01 + 4 * 2**-24).all()


def test_quotient_by_what_is_at_least_one() -> None:
    """Float32: as IEEE has it up to the exponential's error; below 2**-126 of the dividend it is 0."""
    ends = [0.0, -0.0, 1.0, -1.0, 87.0, -87.5, -88.6, -89.0, -150.0, 1e30, -1e30, float("inf"), float("nan")]
    x = torch.cat([torch.tensor(ends), torch.linspace(-80, 80, 499)])
    case = Case({"d0": "512"}, {"x": tensor(512)}, {"o": tensor(512)}, SILU)
    [got] = run(lowered(case.text(), ChooseTiling(), ApplyTiling()), [x])
    exact = x.double() / (1 + torch.exp(-x.double()))
    finite = exact.isfinite()
    error = (got.double() - exact).abs()[finite]
    allowed = (
        exact.abs()[finite] * (2 + x.double().abs()[finite]) * 2**-23 + x.double().abs()[finite] * 2**-126
    )
    assert (error <= allowed).all()
    assert torch.equal(got[~finite].isnan(), exact[~finite].isnan())
    assert got[ends.index(float("inf"))] == float("inf") and got[ends.index(-1e30)] == 0
    assert got[:2].signbit().tolist() == [False, True]


@pytest.mark.parametrize(
    "divisor",
    [1.0, 3.0, -7.0, 1e-12, -1e-31, 2.0**-140, 2.0**-149, 1e38, -3e38, 3e38, 0.0, -0.0, float("inf")],
)
def test_one_float32_divisor_for_a_row(divisor: float) -> None:
    """The product with a reciprocal, corrected: as exact as IEEE's for every divisor, the sign of 0 too."""
    values = [0.0, -0.0, -1.0, 3.0, 1 / 3, 1e-30, -2e-38, 1e-41, 1e30, 3e38, float("inf"), float("nan")]
    x = torch.tensor([*values, *torch.linspace(0.1, 7.9, 116).tolist()]).repeat(8, 1)
    b = torch.full((8,), divisor)
    case = Case(
        {"d0": "8", "d1": "128"},
        {"x": tensor(8, 128), "b": tensor(8)},
        {"o": tensor(8, 128)},
        ROW_QUOTIENT,
        tile=tile(axis("d0", 1, "grid"), axis("d1", 128, "grid")),
    )
    module = lowered(case.text(), ChooseTiling(), ApplyTiling())
    assert str(module).count("tt.precise_divf") == 1
    [got] = run(module, [x, b])
    exact = (x.double() / b.double()[:, None]).float()
    torch.testing.assert_close(got, exact, rtol=2**-23, atol=2.0**-149, equal_nan=True)
    zeros = (got == 0) & (exact == 0)
    assert torch.equal(got[zeros].signbit(), exact[zeros].signbit())


def own_root(x: torch.Tensor) -> torch.Tensor:
    """The square roots of x, in float32."""
    case = Case({"d0": str(x.numel())}, {"x": tensor(x.numel())}, {"o": tensor(x.numel())}, ROOT)
    module = lowered(case.text(), ChooseTiling(), ApplyTiling())
    assert "tt.precise_sqrt" not in str(module)
    [got] = run(module, [x])
    return got


def test_square_roots_are_rounded_once() -> None:
    """Every bit of 2**18 numbers of every size, and of the ends of the range; negative ones have none."""
    generator = torch.Generator().manual_seed(0)
    bits = torch.randint(0, 2**31, (1 << 18,), generator=generator).to(torch.int32)
    x = bits.view(torch.float32)
    ends = [0.0, -0.0, 2.0**-149, 1e-41, 2.0**-126, 2.0**-100, 1.0, 3.4e38, float("inf"), -1.0, float("nan")]
    x = torch.cat([x, torch.tensor([*ends, -1e-40, -float("inf")])])
    got, exact = own_root(x), x.double().sqrt().float()
    assert torch.equal(got.isnan(), exact.isnan())
    there = ~exact.isnan()
    assert torch.equal(got[there], exact[there])
    assert torch.equal(got[there].signbit(), exact[there].signbit())


def own_quotient(x: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """x / b, element by element, in float32."""
    inputs = {"x": tensor(x.numel()), "b": tensor(x.numel())}
    return tiled(Case({"d0": str(x.numel())}, inputs, {"o": tensor(x.numel())}, OWN_QUOTIENT), x, b)


def test_quotients_of_the_ends_of_the_range() -> None:
    """Every pair of numbers that IEEE's quotient treats apart; signs of zeros, too."""
    size = [0.0, 2.0**-149, 1e-41, 2.0**-126, 1e-30, 2.0**-100, 1 / 3, 1.0, 3.0, 1e30, 2.0**100, 2.0**126]
    ends = [*size, 2.0**127, 3.4e38, float("inf"), float("nan")]
    numbers = torch.tensor([*ends, *(-e for e in ends)])
    x, b = numbers.repeat_interleave(len(numbers)), numbers.repeat(len(numbers))
    got, exact = own_quotient(x, b), (x.double() / b.double()).float()
    torch.testing.assert_close(got, exact, rtol=2**-23, atol=2.0**-149, equal_nan=True)
    zeros = (got == 0) & (exact == 0)
    assert torch.equal(got[zeros].signbit(), exact[zeros].signbit())


def test_quotients_are_rounded_as_eager_rounds_them() -> None:
    """Of 2**20 pairs of each sign and size that leaves numerators above 2**-100, every bit."""
    generator = torch.Generator().manual_seed(0)
    bits = torch.randint(-(2**31), 2**31, (2, 1 << 20), generator=generator).to(torch.int32)
    x, b = bits.view(torch.float32)
    exact = x / b
    inside = (x.abs() >= 2.0**-100) & (exact.abs() >= 2.0**-126) & exact.isfinite() & (exact.abs() < 3e38)
    assert int(inside.sum()) > 1 << 18
    assert torch.equal(own_quotient(x, b)[inside], exact[inside])


def every_size() -> torch.Tensor:
    """Numbers of each sign and size, and those that IEEE's quotient treats apart."""
    generator = torch.Generator().manual_seed(0)
    bits = torch.randint(-(2**31), 2**31, (1 << 16,), generator=generator).to(torch.int32)
    ends = [0.0, 2.0**-149, 1e-41, 2.0**-126, 2.0**-100, 1.0, 3.0, 2.0**100, 2.0**126, 2.0**127, 3.4e38]
    ends += [float("inf"), float("nan")]
    return torch.cat([bits.view(torch.float32), torch.tensor([*ends, *(-e for e in ends)])])


@pytest.mark.parametrize("number", [1.0, -3.0, 1e-30, 1e30])
def test_a_constant_over_every_size(number: float) -> None:
    """Every bit, down to subnormal quotients."""
    b = every_size()
    case = Case(
        {"d0": str(b.numel())},
        {"b": tensor(b.numel())},
        {"o": tensor(b.numel())},
        OF_CONSTANT.replace("NUMBER", f"{number:.1e}"),
    )
    got, exact = tiled(case, b), torch.tensor(number) / b
    torch.testing.assert_close(got, exact, rtol=0, atol=2.0**-149, equal_nan=True)
    there = ~exact.isnan()
    assert torch.equal(got[there].signbit(), exact[there].signbit())


@pytest.mark.parametrize("divisor, short", [("1.0", True), ("8.0", True), ("0.5", False), ("3.0", False)])
def test_remainders(divisor: str, short: bool) -> None:
    """Every bit, with the signs of zeros; only what is divided by a power of two of at least 1 is short."""
    x = torch.cat([every_size(), torch.arange(-32.0, 32.0, 0.25)])
    case = Case(
        {"d0": str(len(x))},
        {"x": tensor(len(x))},
        {"o": tensor(len(x))},
        BY_POWER.replace("DIVISOR", divisor),
    )
    module = lowered(case.text(), ChooseTiling(), ApplyTiling())
    assert ("__nv_truncf" in str(module)) == short and ("__nv_fmodf" in str(module)) != short
    [got] = run(module, [x])
    exact = torch.fmod(x.double(), float(divisor)).float()
    torch.testing.assert_close(got, exact, rtol=0, atol=0, equal_nan=True)
    there = ~exact.isnan()
    assert torch.equal(got[there].signbit(), exact[there].signbit())


def test_a_divisor_that_needs_no_scale() -> None:
    """A square root, of numerators of every size; those below 2**-100 may be off by a unit."""
    b = every_size().abs()
    x = b.flip(0) * torch.where(torch.arange(len(b)) % 2 == 0, 1.0, -1.0)
    inputs = {"x": tensor(len(x)), "b": tensor(len(b))}
    case = Case({"d0": str(len(x))}, inputs, {"o": tensor(len(x))}, BY_ROOT)
    got, exact = tiled(case, x, b), x / b.double().sqrt().float()
    torch.testing.assert_close(got, exact, rtol=2**-23, atol=2.0**-149, equal_nan=True)
    inside = (x.abs() >= 2.0**-100) & (exact.abs() >= 2.0**-126) & exact.isfinite()
    assert torch.equal(got[inside], exact[inside])
    there = ~exact.isnan()
    assert torch.equal(got[there].signbit(), exact[there].signbit())


@pytest.mark.parametrize("divisor", [1.0, 3.0, 1e-12, 2.0**-140, 2.0**-149, 1e38, 3e38, 0.0, float("inf")])
def test_one_divisor_for_a_row(divisor: float) -> None:
    """Subnormal divisors, whose reciprocal is no float32, and divisors near the largest."""
    values = torch.tensor([0.0, -1.0, 3.0, 1e-30, -2e-38, 1e30, 3e38, float("inf"), float("nan")] * 16)
    x = values[:128].to(torch.bfloat16).repeat(8, 1)
    b = torch.full((8,), divisor)
    case = Case(
        {"d0": "8", "d1": "128"},
        {"x": tensor(8, 128, element="bf16"), "b": tensor(8)},
        {"o": tensor(8, 128, element="bf16")},
        QUOTIENT,
        tile=tile(axis("d0", 1, "grid"), axis("d1", 128, "grid")),
    )
    exact = (x.double() / b.double()[:, None]).to(torch.float32).to(torch.bfloat16)
    torch.testing.assert_close(tiled(case, x, b), exact, rtol=2**-8, atol=0, equal_nan=True)


def edges(*around: float) -> torch.Tensor:
    """Float32 numbers: each of ``around`` with both neighbours and both signs, and a spread of others."""
    points = torch.tensor(around)
    more = [points, points.nextafter(torch.tensor(torch.inf)), points.nextafter(torch.tensor(-torch.inf))]
    spread = torch.linspace(-600, 600, 4096 - 6 * len(around))
    return torch.cat([*more, *(-m for m in more), spread])


def test_rounded_to_bytes() -> None:
    """Halves go to even, what lies beyond the bounds to the bounds: the same integers as in float64."""
    x = edges(0.0, 0.5, 1.5, 2.5, 63.5, 125.5, 126.5, 127.5, 1e30, 2.0**-149)
    case = Case({"d0": "4096"}, {"x": tensor(4096)}, {"o": tensor(4096, element="i8")}, BYTES)
    module = lowered(case.text(), ChooseTiling(), ApplyTiling())
    assert "arith.fptosi" not in str(module)
    [got] = run(module, [x])
    assert torch.equal(got, x.double().round().clamp(-127, 126).to(torch.int8))


def test_bounds_that_are_no_integers() -> None:
    """A number beyond them is cut off towards 0, not rounded again."""
    x = edges(0.0, 0.5, 1.5, 99.5, 100.5, 126.5, 1e30)
    body = BYTES.replace("-127.0", "-99.5").replace("126.0", "100.5")
    case = Case({"d0": "4096"}, {"x": tensor(4096)}, {"o": tensor(4096, element="i8")}, body)
    [got] = run(lowered(case.text(), ChooseTiling(), ApplyTiling()), [x])
    assert torch.equal(got, x.double().round().clamp(-99, 100).to(torch.int8))


def test_fp8_ends_at_464() -> None:
    """464 is still rounded to 448, the next number is NaN; so are NaN and infinity."""
    x = edges(0.0, 448.0, 463.0, 464.0, 465.0, 1e38, torch.inf, torch.nan)
    case = Case({"d0": "4096"}, {"x": tensor(4096)}, {"o": tensor(4096, element="f8E4M3FN")}, FP8)
    got = run(lowered(case.text(), ChooseTiling(), ApplyTiling()), [x])[0].float()
    assert torch.equal(got.isnan(), (x.abs() > 464) | x.isnan())
    inside = x.abs() <= 448
    assert torch.equal(got[inside], x[inside].to(torch.float8_e4m3fn).float())


@pytest.mark.parametrize("divisor", [3.0, -7.0, 255.0, 0.225, 1e-29, -1e30, 1.9999999])
def test_a_constant_float32_divisor(divisor: float) -> None:
    """A product with two parts of the reciprocal: nearly always what IEEE has, also at both ends."""
    values = [
        0.0,
        -0.0,
        3.0,
        1e-30,
        -2e-38,
        1e-41,
        1e30,
        3.4e38,
        -3.4e38,
        *map(float, ("inf", "-inf", "nan")),
    ]
    x = torch.cat([torch.tensor(values), torch.linspace(-255, 255, 4096 - len(values))])
    body = BY_CONSTANT.replace("DIVISOR", f"{divisor:.9e}")
    case = Case({"d0": "4096"}, {"x": tensor(4096)}, {"o": tensor(4096)}, body)
    module = lowered(case.text(), ChooseTiling(), ApplyTiling())
    assert "divf" not in str(module) and str(module).count("math.fma") == 1
    [got] = run(module, [x])
    exact = x.double() / torch.tensor(divisor).double()
    rounded = exact.float()
    torch.testing.assert_close(got, rounded, rtol=2**-23, atol=2.0**-149, equal_nan=True)
    normal = rounded.abs() >= 2.0**-126
    assert (got != rounded)[normal].sum() <= 1
    zeros = (got == 0) & (rounded == 0)
    assert torch.equal(got[zeros].signbit(), rounded[zeros].signbit())
