"""Conditions that each variant of attention is tested under: shared by tests, no test itself."""

import math
from collections.abc import Callable

import torch
from attention_variants import Sizes, Variant
from compiling import Compiled
from torch import Tensor


def samples(variant: Variant, sizes: Sizes) -> dict[str, list[Tensor]]:
    """Name -> operands of which some numbers are special; other heads have none."""
    made = {name: variant.operands(sizes) for name in ("finite", "NaN", "infinite", "infinite values")}
    made["NaN"][0][0, 0, -1], made["NaN"][1][1, -1, 0] = math.nan, math.nan
    made["infinite"][0][0, 0, 0, 0], made["infinite"][1][1, -1, -1, 0] = math.inf, -math.inf
    made["infinite values"][2][1, 0, -1, 1] = math.inf
    return made


def seen_by(sizes: Sizes) -> dict[str, Tensor]:
    """Name -> a mask ``[rows, keys]``: of rows that see no key, that see one, and that see all."""
    rows, keys = torch.arange(sizes.rows)[:, None], torch.arange(sizes.keys)
    return {
        "all": (rows >= 0) & (keys >= 0),
        "one key": keys == rows % sizes.keys,
        "empty rows": (rows % 5 != 2) & ((rows + keys) % 3 != 0),
        "nothing": (rows < 0) & (keys < 0),
    }


def in_float64(tensors: list[Tensor]) -> list[Tensor]:
    """Floats of 8 bits stay what they are: a cache."""
    return [t.double() if t.is_floating_point() and t.itemsize > 1 else t for t in tensors]


def plain(variant: Variant) -> Callable[..., Tensor]:
    return lambda *args: variant.attend(lambda s: s, *args)


def masked(variant: Variant) -> Callable[..., Tensor]:
    """Of a mask ``[rows, keys]`` and the variant's operands."""
    return lambda seen, *args: variant.attend(lambda s: s.masked_fill(~seen, -torch.inf), *args)


def noise_of(result: Tensor, mask: str) -> float:
    """Of gradients of a result: they are 0 where a row sees one key, the difference of two numbers of which
    one is rounded to 16 bits.
    """
    return 2**-8 * result.numel() ** 0.5 if mask == "one key" else 1e-5


def gradients(function: Callable[..., Tensor], args: list[Tensor], learned: bool) -> list[Tensor]:
    """A result and its gradients, of a loss whose gradient differs from number to number."""
    count = len(args) if learned else 3
    args = [a.detach().requires_grad_(place < count) for place, a in enumerate(args)]
    result = function(*args)
    draw = torch.Generator().manual_seed(result.numel())
    given = torch.randn(result.shape, generator=draw).to(torch.bfloat16).to(result)
    found = torch.autograd.grad(result, args[:count], given, allow_unused=True)
    return [result.detach(), *(x for x in found if x is not None)]


def derived(compiled: Compiled) -> list[list[str]]:
    """What ``derive-cascades`` says of the chains of each graph."""
    return [[r.rule for r in g.remarks.items if r.pass_name == "derive-cascades"] for g in compiled.graphs]


def assert_as_eager(
    found: Tensor, eager: Tensor, exact: Tensor, *, times: float = 1.05, noise: float = 1e-5
) -> None:
    """NaN and infinite where float64 is, and at most ``times`` as far from it as eager, but for ``noise``."""
    assert (found.dtype, found.shape, found.stride()) == (eager.dtype, eager.shape, eager.stride())
    assert torch.equal(found.isnan(), exact.isnan())
    infinite = exact.isinf()
    assert torch.equal(found[infinite].double(), exact[infinite])
    error, allowed, size = (
        torch.where(infinite, 0, x).nan_to_num().norm()
        for x in (found.double() - exact, eager.double() - exact, exact)
    )
    assert error <= times * allowed + 1e-3 * size + noise
