"""Random products of few rows with weights that are packed: in bytes of 2, 4 and 8 bits, or in words of 4 and
8 as GPTQ has them, along rows or across them, or as AWQ does, across outputs; in any order, with zero points,
which may be packed, too, and scales of groups and rows, or groups in any order; and numbers of tables, as
NF4, with scales that may be quantised.  In both roundings, against float64.

``FUSE_MLIR_RANDOM=n`` draws ``n`` programs; each is a test of its own, so that workers share them.
"""

import random
from collections.abc import Callable

import pytest
import torch
from compiling import Compiled
from fresh_seeds import seeds
from torch import Tensor
from torch.nn import functional as F

OPTIONS = {"hardware": "h200", "interpret_level": "planned", "products": "generated"}


def drawn(seed: int) -> tuple[Callable[..., Tensor], list[Tensor], str]:
    """A product, its inputs (rows, bytes, scales, zero points, a bias), and how it is rounded."""
    torch.manual_seed(seed)
    pick = random.Random(seed).choice
    bits, rows, outputs = pick([2, 4, 4, 8]), pick([1, 1, 2, 3, 5, 8, 16, 40, 64]), pick([1024, 1027, 1100])
    dtype, groups, length = pick([torch.bfloat16, torch.float16]), pick([8, 12]), pick([16, 32, 48, 64])
    downwards, signed, after = pick([True, False]), bits == 8 and pick([True, False]), pick([True, False])
    scaled, moved = pick(["group", "group", "row", "none"]), pick(["group", "constant", "none"])

    def product(x: Tensor, w: Tensor, scale: Tensor, zero: Tensor, bias: Tensor) -> Tensor:
        parts = [w >> at & 2**bits - 1 for at in range(0, 8, bits)] if bits < 8 else [w]
        numbers = torch.stack(parts[::-1] if downwards else parts, -1).to(x.dtype).view(outputs, groups, -1)
        if moved != "none":
            numbers = numbers - (zero[:, :, None].to(x.dtype) if moved == "group" else 2 ** (bits - 1))
        if scaled != "none":
            numbers = numbers * (scale if scaled == "group" else scale[:, :1])[:, :, None]
        result = F.linear(x, numbers.flatten(1))
        return F.silu(result + bias) if after else result

    w = torch.randint(0, 256, (outputs, groups * length), dtype=torch.uint8)
    x = torch.randn(rows, groups * length * 8 // bits).mul(0.25).to(dtype)
    scale, zero = torch.rand(outputs, groups) + 0.125, torch.randint(0, 2**bits, (outputs, groups)).byte()
    inputs = [x, w.view(torch.int8) if signed else w, scale.to(dtype), zero, torch.randn(outputs).to(dtype)]
    return product, inputs, pick(["float32", "float32", "eager"])


def drawn_words(seed: int) -> tuple[Callable[..., Tensor], list[Tensor], str]:
    """The same of words: rows, words, scales of groups, zero points in words, a bias."""
    torch.manual_seed(seed)
    draw = random.Random(seed)
    pick = draw.choice
    bits, rows, outputs = pick([4, 4, 4, 8]), pick([1, 1, 2, 3, 5, 8, 16, 40, 64]), pick([1024, 1032, 1104])
    parts, dtype, groups = 32 // bits, pick([torch.bfloat16, torch.float16]), pick([2, 4, 6])
    length, across, after = pick([8, 16, 16, 32, 12]), pick([True, True, False]), pick([True, False])
    order = pick(
        [list(range(parts)), [*range(0, parts, 2), *range(1, parts, 2)], draw.sample(range(parts), parts)]
    )
    moved, more = pick(["words", "words", "constant", "none", "numbers"]), pick([0, 1])
    if bits == 8:
        more = 0

    def numbers(w: Tensor, dim: int) -> Tensor:
        """The numbers of words, along ``dim``."""
        if order == list(range(parts)):
            at = torch.arange(0, 32, bits, dtype=torch.int32)
            return (w.unsqueeze(dim + 1) >> (at if dim else at[:, None]) & 2**bits - 1).flatten(dim, dim + 1)
        return torch.stack([w >> bits * at & 2**bits - 1 for at in order], dim + 1).flatten(dim, dim + 1)

    def product(x: Tensor, w: Tensor, scale: Tensor, zero: Tensor, bias: Tensor) -> Tensor:
        """``scale``: [groups, outputs]; ``zero``: [groups, outputs / parts]."""
        held = numbers(w, 0) if across else numbers(w, 1).t()  # [summed, outputs]
        weights = held.reshape(groups, -1, outputs)
        if moved == "words":
            weights = (weights - (numbers(zero, 1) + more)[:, None]).to(x.dtype)
        elif moved == "numbers":
            weights = weights.to(x.dtype) - (numbers(zero, 1) + more)[:, None].to(x.dtype)
        else:
            weights = weights.to(x.dtype) - (2 ** (bits - 1) if moved == "constant" else 0)
        result = x @ (weights * scale[:, None]).flatten(0, 1)
        return F.silu(result + bias) if after else result

    def words(*shape: int) -> Tensor:
        return torch.randint(-(2**31), 2**31, shape).to(torch.int32)

    summed = groups * length
    w = words(summed, outputs) if across else words(outputs, summed)
    x = torch.randn(rows, summed * parts).mul(0.25).to(dtype)
    scale = (torch.rand(groups, outputs) + 0.125).to(dtype)
    inputs = [x, w, scale, words(groups, outputs // parts), torch.randn(outputs).to(dtype)]
    return product, inputs, pick(["float32", "float32", "eager"])


def drawn_tables(seed: int) -> tuple[Callable[..., Tensor], list[Tensor], str]:
    """Numbers of a table, as NF4 and FP4: rows, bytes or words, scales of groups, tables of both, a bias."""
    torch.manual_seed(seed)
    pick = random.Random(seed).choice
    bits, rows, outputs = pick([2, 4, 4, 4]), pick([1, 1, 2, 3, 5, 8, 16, 40, 64]), pick([1024, 1027, 1104])
    dtype, groups, words = pick([torch.bfloat16, torch.float16]), pick([4, 8, 12]), pick([False, False, True])
    length, downwards = pick([16, 32, 32, 64, 48]), pick([True, True, False])
    table_type, quantised, after = pick([torch.float32, dtype]), pick([True, False]), pick([True, False])
    word = 32 if words else 8

    def product(x: Tensor, w: Tensor, scale: Tensor, table: Tensor, scales: Tensor, bias: Tensor) -> Tensor:
        parts = [w >> at & 2**bits - 1 for at in range(0, word, bits)]
        numbers = table[torch.stack(parts[::-1] if downwards else parts, -1).flatten(1).int()]
        widths = scales[scale.int()] if quantised else scale
        result = F.linear(x, (numbers.view(*scale.shape, -1) * widths[:, :, None]).flatten(1).to(x.dtype))
        return F.silu(result + bias) if after else result

    summed = groups * length // (4 if words else 1)
    low, high = (-(2**31), 2**31) if words else (0, 256)
    w = torch.randint(low, high, (outputs, summed)).to(torch.int32 if words else torch.uint8)
    x = torch.randn(rows, summed * word // bits).mul(0.25).to(dtype)
    scale, table = torch.rand(outputs, groups) + 0.125, torch.randn(2**bits).to(table_type)
    held = torch.randint(0, 256, (outputs, groups)).byte() if quantised else scale.to(table_type)
    inputs = [x, w, held, table, (torch.rand(256) + 0.125).to(table_type), torch.randn(outputs).to(dtype)]
    return product, inputs, pick(["float32", "float32", "eager"])


def drawn_columns(seed: int) -> tuple[Callable[..., Tensor], list[Tensor], str]:
    """Words whose numbers are of neighbouring outputs (AWQ), of groups that may lie in any order."""
    torch.manual_seed(seed)
    pick = random.Random(seed).choice
    rows, outputs, groups = pick([1, 1, 2, 4, 8, 16, 64]), pick([1024, 1104]), pick([2, 4])
    dtype, length, mixed = (
        pick([torch.bfloat16, torch.float16]),
        pick([64, 128, 48]),
        pick([False, False, True]),
    )
    order, after = pick([(0, 4, 1, 5, 2, 6, 3, 7), tuple(range(8))]), pick([True, False])

    def product(x: Tensor, w: Tensor, scale: Tensor, zero: Tensor, group: Tensor, bias: Tensor) -> Tensor:
        """``w``: [summed, outputs / 8]; ``scale``: [groups, outputs]; ``zero``: [groups, outputs / 8]."""
        at = torch.tensor([4 * place for place in order], dtype=torch.int32)
        numbers, less = ((v[:, :, None] >> at & 15).flatten(1) for v in (w, zero))
        if mixed:
            weights = (numbers - less[group]).to(x.dtype) * scale[group]
        else:
            in_groups = (numbers.view(groups, -1, outputs) - less[:, None]).to(x.dtype)
            weights = (in_groups * scale[:, None]).flatten(0, 1)
        result = x @ weights
        return F.silu(result + bias) if after else result

    def words(*shape: int) -> Tensor:
        return torch.randint(-(2**31), 2**31, shape).to(torch.int32)

    summed = groups * length
    scale = (torch.rand(groups, outputs) + 0.125).to(dtype)
    of_groups = torch.randperm(summed).int() // length
    x, bias = torch.randn(rows, summed).mul(0.25).to(dtype), torch.randn(outputs).to(dtype)
    inputs = [x, words(summed, outputs // 8), scale, words(groups, outputs // 8), of_groups, bias]
    return product, inputs, pick(["float32", "float32", "eager"])


Draw = Callable[[int], tuple[Callable[..., Tensor], list[Tensor], str]]


#: How many programs of each kind are drawn, where the environment does not say.
_SHARES = {drawn: 2, drawn_words: 1, drawn_tables: 1, drawn_columns: 1}


@pytest.mark.parametrize(
    ("draw", "seed"),
    [(draw, n) for draw, share in _SHARES.items() for n in seeds(share)],
)
def test_drawn(draw: Draw, seed: int) -> None:
    product, inputs, rounding = draw(seed)
    got = Compiled(product, {**OPTIONS, "rounding": rounding}, None)(*inputs)
    wanted = product(*(v.double() if v.is_floating_point() else v for v in inputs))
    wrong, eager = ((made.double() - wanted).norm() for made in (got, product(*inputs)))
    assert wrong <= 1.25 * eager + 2**-10 * wanted.norm()
