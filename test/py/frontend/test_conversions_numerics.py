"""Conversions, creation and integer corner cases against eager."""

import itertools
import math
from typing import Any

import pytest
import torch
from compiling import Compiled
from import_one import capture, imported, run_one
from torch.nn import functional as F

from fuse_mlir.compiler.frontend.importer.dtypes import BY_TORCH
from fuse_mlir.compiler.frontend.ops.pointwise import pointwise

aten = torch.ops.aten
DTYPES = [dtype for dtype, row in BY_TORCH.items() if row.generated]
INTEGERS = [d for d in DTYPES if BY_TORCH[d].kind in ("signed", "unsigned")]


def equal(a: torch.Tensor, b: torch.Tensor) -> bool:
    """Bit equality, but that any NaN equals any."""
    assert a.dtype == b.dtype and a.shape == b.shape
    if a.dtype.is_floating_point:
        a, b = a.double(), b.double()
        return bool(((a == b) & (a.signbit() == b.signbit()) | a.isnan() & b.isnan()).all())
    return a.tolist() == b.tolist()


def values(source: torch.dtype, target: torch.dtype) -> torch.Tensor:
    """Values whose conversion eager defines: floats only within the range of an integer target."""
    from_row, to_row = BY_TORCH[source], BY_TORCH[target]
    if from_row.kind == "bool":
        return torch.tensor([True, False])
    if from_row.kind != "float":
        limits = torch.iinfo(source)
        numbers = [0, 1, 2, 3, 7, 100, 127, limits.max, limits.min, limits.max // 3, limits.max - 1]
        return torch.tensor(
            [n for n in numbers if n < 2**63] if source == torch.uint64 else numbers, dtype=source
        )
    numbers = [0.0, -0.0, 1.0, 0.5, 1.5, 2.5, 3.99, 0.1, 1e-3, 100.0]
    if to_row.kind == "float" or to_row.kind == "bool":
        numbers += [
            math.inf,
            -math.inf,
            math.nan,
            -1.0,
            -0.3,
            447.0,
            448.0,
            463.0,
            464.0,
            465.0,
            480.0,
            1000.0,
        ]
        numbers += [
            57344.0,
            61439.0,
            61440.0,
            65504.0,
            65519.0,
            65520.0,
            1e-5,
            1e-8,
            2**-9,
            2**-10,
            2**-16,
            2**-17,
            1e30,
        ]
        numbers += [1.0009765625, 1.00048828125, 1.00390625, 1.001953125, 2049.0, 1.0 + 2**-8 + 2**-30]
    elif to_row.kind == "signed":
        numbers += [-1.0, -2.5, -100.0]
    elif target == torch.uint8:
        numbers += [-1.0, -2.5]
    return torch.tensor(numbers, dtype=torch.float64).to(source)


@pytest.mark.parametrize(("source", "target"), itertools.product(DTYPES, DTYPES), ids=lambda d: str(d)[6:])
def test_every_pair_of_dtypes(source: torch.dtype, target: torch.dtype) -> None:
    x = values(source, target)
    assert equal(run_one(aten._to_copy.default, [x], {"dtype": target}), x.to(target))


@pytest.mark.parametrize("middle", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("target", [torch.float32, torch.bfloat16, torch.float16], ids=str)
@pytest.mark.parametrize("source", [torch.int32, torch.int64, torch.uint8], ids=str)
def test_integers_are_rounded_as_often_as_in_eager(
    source: torch.dtype, middle: torch.dtype, target: torch.dtype
) -> None:
    """Each number rounds to a tie of the narrower type, behind which a digit is lost."""
    limits = torch.iinfo(source)
    ties = [2**k + 2 ** (k - digits) + 1 for k in range(12, 63) for digits in (8, 11, 24)]
    x = torch.tensor([n for t in ties for n in (t, -t) if limits.min <= n <= limits.max] or [3], dtype=source)

    def convert(i: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return i.to(middle).to(target), i.to(target)

    for ours, theirs in zip(Compiled(convert)(x), convert(x), strict=True):
        assert equal(ours, theirs)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float8_e4m3fn, torch.float8_e5m2])
def test_a_copy_converts_nothing(dtype: torch.dtype) -> None:
    every = torch.arange(256, dtype=torch.uint8)
    bits = torch.stack([every, every.flip(0)], -1).flatten().view(dtype)

    module = imported(capture(torch.clone, bits)).module
    assert "truncf" not in str(module) and "extf" not in str(module)
    assert equal(run_one(aten.clone.default, [bits]), bits)


def test_angles_of_two_constants() -> None:
    """Upstream's fold of ``math.atan2`` gives NaN for two zeros."""

    def angles(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        zero = torch.zeros_like(x)
        return (
            torch.atan2(zero, zero),
            torch.atan2(-zero, zero),
            torch.atan2(zero, -zero),
            torch.atan2(-zero, -zero),
        )

    x = torch.ones(3)
    for ours, theirs in zip(Compiled(angles)(x), angles(x), strict=True):
        assert equal(ours, theirs)


IOTA = {"device": "cpu", "requires_grad": False}
MASK = torch.tensor([True, False, True])
CREATION: list[tuple[Any, list[Any], dict[str, Any]]] = [
    (aten.full.default, [[2, 3], 1.5], {"dtype": torch.float16}),
    (aten.full.default, [[2, 3], -1], {"dtype": torch.int8}),
    (aten.full.default, [[2, 0], 3], {}),
    (aten.full.default, [[], True], {}),
    (aten.full_like.default, [torch.ones(3, 2, dtype=torch.uint8), 255], {}),
    (aten.scalar_tensor.default, [2.5], {"dtype": torch.bfloat16}),
    (aten.scalar_tensor.default, [-math.inf], {"dtype": torch.float8_e4m3fn}),
    (aten.scalar_tensor.default, [1e9], {"dtype": torch.float8_e5m2}),
    (aten.scalar_tensor.default, [math.nan], {"dtype": torch.float8_e4m3fn}),
    (aten.where.ScalarOther, [MASK, torch.ones(3).to(torch.float8_e4m3fn), 465.0], {}),
    (aten.fill.Scalar, [torch.ones(2, 3), math.nan], {}),
    (aten.zero.default, [torch.ones(2, 3)], {}),
    (aten.fill.Tensor, [torch.ones(2, 3), torch.tensor(7)], {}),
    (aten.zeros.default, [[3]], {"dtype": torch.bool}),
    (aten.ones.default, [[3]], {"dtype": torch.float8_e5m2}),
    (aten.arange.start_step, [3, -7, -2], {}),
    (aten.arange.start_step, [0, 1, 0.1], {}),
    (aten.arange.start_step, [0, 5, 1], {"dtype": torch.float16}),
    (aten.arange.start_step, [2**24 - 3, 2**24 + 9, 1], {"dtype": torch.float32}),
    (aten.arange.start_step, [-0.0, -9.0, -3.0], {"dtype": torch.float64}),
    (aten.arange.start_step, [2.0**33, 2.0**33 + 9000, 4000], {"dtype": torch.float32}),
    (aten.arange.start, [2, 9], {"dtype": torch.uint8}),
    (aten.arange.default, [2.5], {}),
    (torch.ops.prims.iota.default, [5], {"start": 3, "step": -2, "dtype": torch.int32, **IOTA}),
    (aten.eye.default, [4], {}),
    (aten.eye.m, [3, 5], {"dtype": torch.int64}),
    (aten.tril.default, [torch.arange(24.0).reshape(2, 3, 4), 1], {}),
    (aten.tril.default, [torch.full((3, 4), math.nan), -1], {}),
    (aten.triu.default, [torch.arange(24).reshape(2, 3, 4), -1], {}),
    (aten.triu.default, [torch.ones(3, 3, dtype=torch.bool)], {}),
]  # fmt: skip


@pytest.mark.parametrize(
    ("op", "args", "kwargs"), CREATION, ids=[f"{op}-{i}" for i, (op, _, _) in enumerate(CREATION)]
)
def test_creation(op: Any, args: list[Any], kwargs: dict[str, Any]) -> None:
    ours, theirs = run_one(op, args, kwargs), op(*args, **kwargs)
    if theirs.is_floating_point():
        torch.testing.assert_close(ours.double(), theirs.double(), rtol=1e-6, atol=1e-7, equal_nan=True)
    assert ours.dtype == theirs.dtype and (theirs.is_floating_point() or equal(ours, theirs))


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
def test_integer_division_never_traps(dtype: torch.dtype, monkeypatch: pytest.MonkeyPatch) -> None:
    """By zero on a GPU: all bits set, and the dividend as remainder; the smallest number by -1 wraps."""
    monkeypatch.setattr(pointwise, "_assert_divisor", lambda k, x, divisor: None)
    limits = torch.iinfo(dtype)
    x = torch.tensor([0, 7, limits.max if dtype != torch.uint64 else 9, limits.min], dtype=dtype)
    zero = torch.zeros(4, dtype=dtype)
    quotient = run_one(aten.div.Tensor_mode, [x, zero], {"rounding_mode": "trunc"})
    assert quotient.tolist() == [-1 if limits.min < 0 else limits.max] * 4
    assert run_one(aten.div.Tensor_mode, [x, zero], {"rounding_mode": "floor"}).tolist() == quotient.tolist()
    assert run_one(aten.remainder.Tensor, [x, zero]).tolist() == x.tolist()
    assert run_one(aten.fmod.Tensor, [x, zero]).tolist() == x.tolist()
    if limits.min < 0:
        smallest, minus = torch.tensor([limits.min], dtype=dtype), torch.tensor([-1], dtype=dtype)
        assert run_one(aten.div.Tensor_mode, [smallest, minus], {"rounding_mode": "floor"}).tolist() == [
            limits.min
        ]
        assert run_one(aten.remainder.Tensor, [smallest, minus]).tolist() == [0]


@pytest.mark.parametrize("dtype", [torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8], ids=str)
def test_shifts_out_of_range_shift_everything_out(dtype: torch.dtype) -> None:
    bits = torch.iinfo(dtype).bits
    amounts = [0, 1, bits - 1, bits, bits + 1, 100] + ([-1] if dtype.is_signed else [])
    x = torch.tensor([5, 5, 1, 5, 5, 5] + ([-5] if dtype.is_signed else []), dtype=dtype)
    by = torch.tensor(amounts, dtype=dtype)
    left = run_one(aten.bitwise_left_shift.Tensor, [x, by]).tolist()
    right = run_one(aten.bitwise_right_shift.Tensor, [x, by]).tolist()
    wrapped = torch.tensor([1], dtype=dtype).bitwise_left_shift(bits - 1).item()
    assert left == [5, 10, wrapped, 0, 0, 0] + ([0] if dtype.is_signed else [])
    assert right == [5, 2, 0, 0, 0, 0] + ([-1] if dtype.is_signed else [])
    # MLIR says nothing of a shift by the width: by one bit less, the sign is left
    module = imported(capture(aten.bitwise_right_shift.Tensor, x, by)).module
    assert f"arith.constant {bits - 1} : i{bits}" in str(module)


def test_mixed_operands_round_to_the_common_dtype_as_eager_does() -> None:
    """A float32 number beside a bfloat16 tensor is rounded to bfloat16; a comparison rounds its number
    too.
    """
    x = torch.tensor([0.1, 0.10009765625, 0.2]).bfloat16()
    assert equal(run_one(aten.eq.Scalar, [x, 0.1]), x == 0.1)
    wide = torch.tensor(0.1)
    assert equal(run_one(aten.mul.Tensor, [x, wide]), x * wide)
    assert equal(run_one(aten.add.Tensor, [x, torch.tensor([300])]), x + torch.tensor([300]))


def test_broadcasting() -> None:
    a, b, c = torch.randn(3, 1, 4), torch.randn(5, 1), torch.tensor(2.0)
    assert equal(run_one(aten.add.Tensor, [a, b]), a + b)
    assert equal(run_one(aten.where.self, [a > 0, b, c]), torch.where(a > 0, b, c))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_roundings_left_out_keep_bits(dtype):
    """Of sums and products, also beyond the type's range, next to zero and NaN."""

    def clamped(x, y):
        return F.relu(x + y), F.relu6(x * y), torch.maximum(-(x * y), x).abs(), torch.clamp(x * y, -0.1, 0.3)

    x, y = torch.randn(2, 4096)
    x[:8] = torch.tensor([math.nan, math.inf, -math.inf, 3e38, -3e38, 6e4, 1e-40, -1e-40])
    y[:8] = torch.tensor([1.0, 1.0, 1.0, 3e38, 3e38, 2.0, 1e-3, 1e-3])
    x, y = x.to(dtype), y.to(dtype)
    tiled, scalar = (Compiled(clamped, {"interpret_level": level}) for level in ("tiled", "graph"))
    for got, want, eager in zip(tiled(x, y), scalar(x, y), clamped(x, y), strict=True):
        torch.testing.assert_close(got, eager, rtol=0, atol=0, equal_nan=True)
        assert torch.equal(got.signbit()[~got.isnan()], want.signbit()[~want.isnan()])
