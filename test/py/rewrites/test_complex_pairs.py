"""Complex arithmetic as pairs of reals (``complex_pairs``, ``complex_formulas``): the numbers of eager, its
strides, and how much is compiled.
"""

import contextlib
import itertools
import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.utils._pytree as pytree
from compiling import Compiled
from fresh_seeds import seeds
from interpreted_gpu import interpreted_gpu
from made_up_gpu import made_up_gpu
from random_complex import program
from torch import Tensor
from torch.fx.experimental.proxy_tensor import make_fx
from torch.nn import functional as F

from fuse_mlir.compiler.frontend.autograd.decompositions import decomposition_table
from fuse_mlir.compiler.rewrites.complex.complex_pairs import compute_pairs

aten = torch.ops.aten
pytestmark = pytest.mark.usefixtures("fresh_dynamo")


def z(*shape: int, dtype: torch.dtype = torch.complex64) -> Tensor:
    return torch.randn(shape, dtype=dtype)


def copied(value: Any) -> Any:
    """A copy with the same strides, conjugated where the value is."""
    if not isinstance(value, Tensor):
        return value
    if value.is_conj():
        return copied(value.conj()).conj()
    copy = torch.empty_strided(value.shape, value.stride(), dtype=value.dtype).copy_(value.detach())
    return copy.requires_grad_(value.requires_grad)


def same(function: Callable[..., Any], *args: Any, dynamic: bool = False, **options: Any) -> Compiled:
    """Asserts that compiling changes neither results nor what is written, by value, dtype and strides."""
    compiled = Compiled(function, options, dynamic)
    given, expected = [copied(a) for a in args], [copied(a) for a in args]
    found, want = compiled(*given), function(*expected)
    if not isinstance(found, tuple):
        found, want = (found,), (want,)
    for a, b in zip((*found, *given), (*want, *expected), strict=True):
        if not isinstance(b, Tensor):
            continue
        torch.testing.assert_close(a, b, equal_nan=True)
        assert a.is_conj() == b.is_conj()
        if b.numel():
            kept = [(n, s) for n, s in zip(b.shape, b.stride(), strict=True) if n > 1]
            assert [(n, s) for n, s in zip(a.shape, a.stride(), strict=True) if n > 1] == kept
    return compiled


def rotated(x: Tensor, angles: Tensor) -> Tensor:
    turned = torch.view_as_complex(x.float().reshape(*x.shape[:-1], -1, 2)) * angles
    return torch.view_as_real(turned).flatten(3).type_as(x)


def rope(q: Tensor, k: Tensor, angles: Tensor) -> tuple[Tensor, Tensor]:
    return rotated(q, angles), rotated(k, angles)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("dynamic", [False, True])
def test_rotary_embeddings_are_one_kernel_each(dtype: torch.dtype, dynamic: bool) -> None:
    q, k = (torch.randn(2, 4, 8, 16).to(dtype) for _ in range(2))
    compiled = same(
        rope, q, k, torch.polar(torch.ones(8, 8), torch.randn(8, 8)), dynamic=dynamic, strict=True
    )
    [graph] = compiled.graphs
    assert graph.launches_after <= 2 and graph.externs == 1 and not graph.fallbacks


def test_rotary_embeddings_compile() -> None:
    """To GPU code, forward and backward."""
    q, angles = (
        torch.randn(2, 4, 8, 16).bfloat16().requires_grad_(),
        torch.polar(torch.ones(8, 8), torch.randn(8, 8)),
    )
    with made_up_gpu() as launched:
        compiled = Compiled(rotated)
        compiled(q, angles).sum().backward()
    assert len(launched) == 2 and not any(g.fallbacks for g in compiled.graphs)


def test_products_of_many_elements() -> None:
    """Torch multiplies them; few are multiplied in one kernel."""
    compiled = same(lambda a: (a * 2).prod(), z(40) / 2)
    assert [f.target for f in compiled.graphs[0].fallbacks] == ["aten.prod.default"]
    assert not same(lambda a: ((a * 2).prod(0), a[0, 0].prod()), z(32, 2) / 2).graphs[0].fallbacks


def test_gradients_of_rotary_embeddings() -> None:
    x = torch.randn(2, 4, 8, 16, requires_grad=True)
    angles = torch.polar(torch.ones(8, 8), torch.randn(8, 8))
    compiled = Compiled(lambda x: rotated(x, angles), {"strict": True})
    (found,) = torch.autograd.grad(compiled(x).square().sum() * 0.5, x)
    torch.testing.assert_close(found, x.detach())  # a rotation
    assert [g.launches_after for g in compiled.graphs] == [1, 1]


COMPILED: dict[str, tuple[Callable[..., Any], ...]] = {
    "mul": (lambda a, b: a * b,),
    "by a real tensor": (lambda a, b: a * b.real + b.imag - a,),
    "by numbers": (lambda a, b: (a * 2, a * 1j, a + (1 + 2j), 3 - a, a / (1 - 3j), a / 4, a * 2.5),),
    "alpha": (lambda a, b: (torch.add(a, b, alpha=2), torch.sub(a, b, alpha=1 + 2j)),),
    "div": (lambda a, b: (a / b, 1 / a, a.reciprocal(), a / b.real, b.real / a),),
    "conj": (lambda a, b: (a.conj() * b, a.conj().imag * 2, a.conj().conj() + b, a.conj().resolve_conj()),),
    "parts": (lambda a, b: ((a * b).real * 2, (a * b).imag, a.real + b.imag),),
    "sizes": (lambda a, b: (a.abs(), a.contiguous().angle() * 2, (b * b).abs(), a.sgn()),),
    "made": (lambda a, b: (torch.polar(a.abs(), b.real), torch.complex(a.real, b.imag) * 2),),
    "exp": (lambda a, b: (a.exp(), a.log(), a.sqrt(), (-a * a).sqrt()),),
    "angles": (lambda a, b: (a.sin(), a.cos(), a.sinh(), a.cosh()),),
    "powers": (lambda a, b: (a**2, a**3, a.square(), a**-1),),
    "in one kernel": (lambda a, b: ((a.tanh() * b**2.5).lerp(b, 0.3) / (b.norm() + 1), (a * b).prod(1)),),
    "compared": (lambda a, b: (a == b, a != a, a == 1j, (a == a.clone()).sum()),),
    "tests": (lambda a, b: (a.isnan(), (a / 0 * 0).isnan(), a.isfinite()),),
    "where": (lambda a, b: (torch.where(a.real > 0, a, b), torch.where(a.real > 0, a, 0.0)),),
    "masked": (lambda a, b: a.masked_fill(a.real > 0, 2j) * b,),
    "sums": (lambda a, b: ((a * b).sum(), (a * b).mean(0), a.sum(1, keepdim=True), a.mean()),),
    "running": (lambda a, b: (a * 2).cumsum(1),),
    "cast": (lambda a, b: ((a.real * 2).to(a.dtype) * b, a.to(torch.complex128) * 2, a.real + 1j),),
    "moved": (lambda a, b: (torch.cat([a, b]) * 2, torch.stack([a, b.conj()]) + 1, a.flip(0) * 2),),
    "read": (lambda a, b: (a[torch.tensor([1, 0, 1])] * b[:1], a.index_select(1, torch.tensor([2, 0]))),),
    "views": (lambda a, b: ((a * b).t() + 1, (a * b).reshape(-1)[1:5], (a + b)[:, None].expand(-1, 2, -1)),),
    "pieces": (lambda a, b: tuple(p * 2 for p in (a * b).split(2, 1)) + (a.unbind(0)[1] * 3,),),
    "filled": (lambda a, b: (a + torch.zeros_like(a), torch.full_like(a, 2j) * b, torch.ones_like(b)),),
    "as real": (lambda a, b: (torch.view_as_real(a * b), torch.view_as_real((a * b).t()) * 2),),
    "permuted": (lambda a, b: (a.t() * 2, a.t().exp(), (a.t() * 2).conj()),),
}  # fmt: skip
OPERANDS = {
    "plain": lambda d: (z(3, 4, dtype=d), z(3, 4, dtype=d)),
    "strided": lambda d: (z(4, 3, dtype=d).t(), z(3, 8, dtype=d)[:, ::2]),
    "conjugated": lambda d: (z(3, 4, dtype=d).conj(), z(4, 3, dtype=d).mH),
}


#: Ops whose rewritten graphs torch runs, since to compile them takes longer.
FORMULAS: dict[str, Callable[[Tensor, Tensor], tuple[Tensor, ...]]] = {
    "powers": lambda a, b: (a**0, a**1, a**-2, a**0.5, a**-0.5, a.rsqrt()),
    "other powers": lambda a, b: (a**4, a**2.5, a ** (1 + 2j), a**b, a**b.real, b.abs() ** a, 2**a),
    "curves": lambda a, b: (a.tanh(), a.tan(), a.sigmoid(), F.silu(a), (a * 9).tanh()),
    "logarithms": lambda a, b: (a.exp2(), a.expm1(), a.log2(), a.log10(), a.log1p(), (a / 99).log1p()),
    "three operands": lambda a, b: (
        torch.addcmul(a, b, a, value=2j), torch.addcdiv(a, b, a + 2, value=3), torch.lerp(a, b, 0.3),
        torch.lerp(a, b, b), torch.lerp(a, b, 0.7),
    ),
    "products": lambda a, b: (a.prod(), (a * b).prod(1), b.prod(0, keepdim=True)),
    "norms": lambda a, b: (
        a.norm(), torch.linalg.vector_norm(b, 1, dim=1), a.var(), b.std(1), b.var(0, correction=0),
        torch.linalg.vector_norm(a * 2, math.inf, dim=0), a.any(), (a * 0).any(1), a.all(), a.logical_not(),
    ),
    "bytes": lambda a, b: (
        (a * 2).contiguous().view(b.real.dtype) + 1, (a + b).contiguous().view(torch.int16),
        b.real.contiguous().view(a.dtype) * a[:, :2],
    ),
    "written at places": lambda a, b: (
        a.scatter(1, torch.tensor([[1, 0]]), b[:, :2]), F.embedding(torch.tensor([2]), a),
        a.index_add(0, torch.tensor([1, 1]), b[:2], alpha=2), torch.nan_to_num(a / 0, 1.0),
        a.scatter_add(1, torch.tensor([[1, 1]]), b[:, 2:]), F.pad(a, (1, 2), value=1.5),
        F.pad(b * 1j, (0, -1)), a.masked_fill(b.real > 0, torch.tensor(1j)),
    ),
}  # fmt: skip


def rewritten(function: Callable[..., Any], *args: Tensor) -> tuple[Any, list[str]]:
    """What a graph gives in which complex ops became real ones, and the names of those that are left."""
    table = dict(decomposition_table())
    gm = make_fx(lambda *given: function(*given), tracing_mode="fake", decomposition_table=table)(*args)
    compute_pairs(gm)
    views = (aten.view_as_complex.default, aten.view_as_real.default)
    values = [n.meta["val"] for n in gm.graph.nodes if n.op == "call_function" and n.target not in views]
    return gm(*args), [str(v) for v in values if isinstance(v, Tensor) and v.is_complex()]


@pytest.mark.parametrize("layout", ["plain", "strided"])
@pytest.mark.parametrize("case", FORMULAS)
def test_formulas(case: str, layout: str) -> None:
    torch.manual_seed(0)
    for dtype in (torch.complex64, torch.complex128):
        operands = OPERANDS[layout](dtype)
        found, left = rewritten(FORMULAS[case], *operands)
        torch.testing.assert_close(found, FORMULAS[case](*operands))
        assert not left or layout == "strided"


@pytest.mark.parametrize("case", COMPILED)
def test_ops(case: str) -> None:
    """With contiguous operands nothing is left to torch; other layouts and dtypes share one graph."""
    torch.manual_seed(0)
    [function] = COMPILED[case]
    compiled = same(function, *OPERANDS["plain"](torch.complex64))
    assert [f.target for g in compiled.graphs for f in g.fallbacks] == []
    others = (*OPERANDS["strided"](torch.complex128), *OPERANDS["conjugated"](torch.complex64))
    same(lambda a, b, c, d: tuple(pytree.tree_leaves((function(a, b), function(c, d)))), *others)


@pytest.mark.parametrize("case", ["div", "conj", "sums", "views"])
def test_sizes_that_change(case: str) -> None:
    compiled = same(COMPILED[case][0], z(3, 6), z(3, 6), dynamic=True)
    args = z(5, 7), z(5, 7)
    found, want = compiled(*args), COMPILED[case][0](*args)
    torch.testing.assert_close(found, want)


@pytest.mark.parametrize("shape", [(), (1,), (0, 3), (1, 4)])
def test_small_shapes(shape: tuple[int, ...]) -> None:
    same(
        lambda a, b: (a * b, a.conj() + b, (a / b).abs(), a.sum(), torch.view_as_real(a * 2)),
        z(*shape),
        z(*shape),
    )


def test_broadcast_operands() -> None:
    same(
        lambda a, b, c: (a * b + c, torch.complex(b.real, c.real)), z(3, 1), z(1, 4), z(()) if False else z(1)
    )


SPECIAL = [0.0, -0.0, 1.0, -2.0, math.inf, -math.inf, math.nan, 1e30, 1e-30]
GRID = torch.tensor([complex(a, b) for a, b in itertools.product(SPECIAL, SPECIAL)])


@pytest.mark.parametrize(
    ("name", "function"),
    [
        ("mul", lambda a, b: a * b),
        ("mul by a real", lambda a, b: a * b.real),
        ("add", lambda a, b: a + b),
        ("abs", lambda a, b: a.abs()),
        ("angle", lambda a, b: a.angle()),
        ("equal", lambda a, b: a == b),
        ("sgn of finite numbers", lambda a, b: torch.where(a.isfinite(), a, 1).sgn()),
        ("conj", lambda a, b: a.conj() * 1),
        ("isnan", lambda a, b: (a.isnan(), a.isinf(), a.isfinite())),
    ],
)
def test_infinities_and_missing_numbers(name: str, function: Callable[..., Any]) -> None:
    same(function, GRID[:, None].expand(-1, len(GRID)).contiguous(), GRID.expand(len(GRID), -1).contiguous())


@pytest.mark.parametrize("name", ["exp", "tanh", "log2", "log1p", "expm1", "sigmoid", "rsqrt"])
def test_infinities_in_functions(name: str) -> None:
    """Eager's log1p on a CPU loses an infinite part beside a small one."""
    given = GRID[(GRID.real != 1e-30) | GRID.imag.isfinite()] if name == "log1p" else GRID
    assert_close_parts(rewritten(getattr(torch, name), given)[0], getattr(torch, name)(given))


@pytest.mark.parametrize("exponent", [2.5, 4, -2, -2.5, 0.5, 1 + 2j, 0, 1])
def test_powers_of_infinities(exponent: complex) -> None:
    """What is infinite and missing has an infinite power for eager's vectors, and none for its rest."""
    given = GRID if exponent != 1 + 2j else GRID[~(GRID.isinf() & GRID.isnan())]
    assert_close_parts(rewritten(lambda a: a**exponent, given)[0], given**exponent)


def assert_close_parts(found: Tensor, want: Tensor) -> None:
    for a, b in zip(torch.view_as_real(found), torch.view_as_real(want), strict=True):
        torch.testing.assert_close(a, b, equal_nan=True)


def test_nothing_overflows_on_the_way() -> None:
    """Not even where eager does: its division by two numbers of this size overflows."""

    def function(a: Tensor) -> tuple[Tensor, ...]:
        return (a * 0.5).abs(), a / a, a / (2e38 + 2e38j), a.sqrt(), a / a.real

    large = torch.tensor([3e38 + 1e38j, 1e-30 + 1e-30j, 2e38 - 2e38j])
    for found, want in zip(Compiled(function)(large), function(large.to(torch.complex128)), strict=True):
        torch.testing.assert_close(found.to(want.dtype), want, rtol=1e-5, atol=1e-30)


def test_division_by_zero() -> None:
    same(
        lambda a, b: a / b, torch.tensor([1 + 1j, -1 + 0j, 0j, 2 - 3j]), torch.zeros(4, dtype=torch.complex64)
    )


def written_parts(x: Tensor) -> Tensor:
    x.real.mul_(2)
    torch.view_as_real(x)[..., 0] += 1
    x.imag.copy_(x.real)
    return x * 1j


def test_what_is_written_through_views() -> None:
    for x in (z(4), z(3, 4).t()):
        same(written_parts, x)
    same(lambda a: a.mul_(2j) * 1, z(4).conj())
    same(lambda a, b: a.mul_(b).add_(1j), z(3, 4), z(3, 4))
    same(lambda a, b: a[1:].copy_(b[1:] * 2), z(3, 4), z(3, 4))


def test_results_that_are_views() -> None:
    x = z(3, 4)
    compiled = Compiled(lambda a: (a.conj(), a.real, a.t(), a * 2))
    conjugate, real, turned, _ = compiled(x)
    x.mul_(3)
    torch.testing.assert_close(conjugate, x.conj())
    torch.testing.assert_close(real, x.real)
    torch.testing.assert_close(turned, x.t())


def test_around_what_torch_computes() -> None:
    """FFTs and products of matrices stay calls; what is before and behind them fuses."""
    compiled = same(lambda x, w: torch.fft.irfft(torch.fft.rfft(x * 2) * w * 2 + 1j), torch.randn(4, 8), z(5))
    assert {f.target.split(".")[1] for g in compiled.graphs for f in g.fallbacks} <= {"_fft_r2c", "_fft_c2r"}
    same(lambda a, b: ((a * 2) @ (b.mH + 1)).abs() + 1, z(3, 4), z(5, 4))


@pytest.mark.parametrize(
    "function",
    [
        lambda a: (a * a.conj()).real.sum(),
        lambda a: (a.exp() / (a + 2)).abs().sum(),
        lambda a: torch.view_as_real(a.sgn() * a).square().sum(),
        lambda a: torch.polar(a.abs(), a.angle()).imag.sum(),
        lambda a: (a.cos() * a.sqrt() + a.log() + a**2).real.sum(),
        lambda a: torch.fft.fft(a * 2j).abs().sum(),
        lambda a: torch.where(a.real > 0, a, a.conj() * 2j).abs().sum(),
        lambda a: torch.cat([a, a * a])[1:].imag.square().sum(),
        lambda a: (a.tanh() * a**2.5).abs().sum(),
    ],
)
def test_gradients(function: Callable[[Tensor], Tensor]) -> None:
    torch.manual_seed(0)
    x = z(3, 4).requires_grad_()
    exact = x.detach().to(torch.complex128).requires_grad_()
    (found,) = torch.autograd.grad(Compiled(function)(x), x)
    (want,) = torch.autograd.grad(function(exact), exact)
    torch.testing.assert_close(found.to(torch.complex128), want, rtol=1e-4, atol=1e-4)


def graph_of(function: Callable[..., Any], *args: Tensor) -> torch.fx.GraphModule:
    return make_fx(function, tracing_mode="fake")(*args)


@pytest.mark.parametrize(
    "function",
    [
        lambda a: aten.cumprod.default(a, 0),
        lambda a: aten.acos.default(a),
        lambda a: aten.pow.Scalar(0, a),
        lambda a: aten._fft_c2c.default(a, [0], 0, True),
        lambda a: aten.mm.default(a, a),
        lambda a: aten.view_as_real.default(aten.transpose.int(a, 0, 1)),
        lambda a: aten._conj.default(a),
        lambda a: aten.relu.default(aten.select.int(aten.view_as_real.default(a), -1, 0)),
    ],
)
def test_what_torch_computes(function: Callable[[Tensor], Tensor]) -> None:
    gm = graph_of(function, z(3, 3))
    before = [n.target for n in gm.graph.nodes]
    assert compute_pairs(gm) == 0
    assert [n.target for n in gm.graph.nodes] == before


def test_half_precision_pairs_are_left() -> None:
    gm = graph_of(lambda a: aten.mul.Tensor(a, a), torch.zeros(3, dtype=torch.complex32))
    assert compute_pairs(gm) == 0


@pytest.mark.parametrize(
    "function",
    [
        lambda a: a.conj().imag * 2,
        lambda a: torch._neg_view(a.real) + 1,
        lambda a: a.conj().imag[1:].t().exp(),
    ],
)
@pytest.mark.parametrize("conjugated", [False, True])
def test_kernels_read_no_negated_views(function: Callable[[Tensor], Tensor], conjugated: bool) -> None:
    """They read memory, where the elements are not negated."""
    x = z(4, 4).conj() if conjugated else z(4, 4)
    with interpreted_gpu():
        compiled = Compiled(function)
        torch.testing.assert_close(compiled(x), function(x))


@pytest.mark.parametrize("seed", seeds(6))
def test_drawn(seed: int) -> None:
    """On the launch plan of a GPU and on the interpreter, in three layouts, against complex128."""
    torch.manual_seed(seed)
    function, operands = program(seed), list(OPERANDS.values())[seed % 3](torch.complex64)
    want = function(*(t.to(torch.complex128) for t in operands))
    with interpreted_gpu() if seed % 2 else contextlib.nullcontext():
        found = Compiled(function, {"layouts": "free"} if seed % 4 == 1 else {})(*operands)
    for a, b in zip(found, want, strict=True):
        torch.testing.assert_close(
            a.to(b.dtype), b, rtol=1e-3, atol=1e-4, msg=lambda m: f"{function.__doc__}: {m}"
        )
