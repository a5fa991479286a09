"""The op table of random programs (`random_programs.py`): what a step may do to the tensors it meets.

An op is a function of two tensors and a number; it fits itself to their shapes and kinds (float, integer,
bool), never to the width of a float, so that the float64 reference takes the same branches. Values stay of
moderate size. An op whose result jumps (a comparison, a rounding) is in a table of its own: it may only see
*exact* values, which every precision computes alike.
"""

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional as F

Op = Callable[[Tensor, Tensor, int], Tensor]


class NotHere(Exception):
    """The op does not apply to these tensors; the step is skipped."""


def need(condition: bool) -> None:
    if not condition:
        raise NotHere


def kind(x: Tensor) -> str:
    return "float" if x.is_floating_point() else "bool" if x.dtype == torch.bool else "int"


def number(x: Tensor) -> Tensor:
    """`x`, or its integers if it is boolean."""
    return x.to(torch.int32) if kind(x) == "bool" else x


def real(x: Tensor) -> Tensor:
    """`x` as floats between -8 and 8."""
    return (x if kind(x) == "float" else x.to(torch.float32)).clamp(-8, 8)


def fitting(x: Tensor, y: Tensor) -> Tensor:
    """`y`, or a number made of it, in a shape that broadcasts with `x`."""
    pairs = zip(reversed(x.shape), reversed(y.shape), strict=False)
    fits = max(x.ndim, y.ndim) <= 4 and all(m == n or m == 1 or n == 1 for m, n in pairs)
    return y if fits else y.sum(dtype=torch.float32 if kind(y) == "float" else torch.int64).to(y.dtype)


def dim(x: Tensor, n: int) -> int:
    need(x.ndim > 0)
    return n % x.ndim


def dims(x: Tensor, n: int) -> list[int]:
    """A choice of dims, at least one; negative ones too."""
    need(x.ndim > 0)
    chosen = [d for d in range(x.ndim) if n >> d & 1] or [n % x.ndim]
    return [d - x.ndim if n & 16 else d for d in chosen]


def filled(x: Tensor) -> Tensor:
    """`x`, which has elements."""
    need(all(size > 0 for size in x.shape))
    return x


def kept(n: int) -> bool:
    return bool(n & 32)


def permuted(x: Tensor, n: int) -> Tensor:
    order = list(range(x.ndim))
    for i in range(x.ndim - 1, 0, -1):
        j = n % (i + 1)
        n //= i + 1
        order[i], order[j] = order[j], order[i]
    return x.permute(order)


def indices(y: Tensor, n: int, size: int) -> Tensor:
    """Integers of `y`'s shape (or three made of `n`) that index a dim of `size`.

    They are contiguous: see `test_indices_in_another_order_give_eagers_strides`.
    """
    need(size > 0)
    if kind(y) == "int" and 0 < y.ndim <= 2:  # a scalar index is a number, on which dynamo breaks the graph
        return y.to(torch.int64).remainder(size).contiguous()
    return some(n, size)


def some(n: int, size: int) -> Tensor:
    """Three positions below `size`."""
    need(size > 0)
    return (torch.arange(3) * (n % 7) + n) % size


# ---- rounding, hence never exact ---------------------------------------------------------------------------

SMOOTH: dict[str, Op] = {
    "sin": lambda x, y, n: real(x).sin(),
    "exp": lambda x, y, n: real(x).clamp(-3, 3).exp(),
    "sigmoid": lambda x, y, n: real(x).sigmoid(),
    "tanh": lambda x, y, n: real(x).tanh(),
    "gelu": lambda x, y, n: F.gelu(real(x), approximate="tanh" if n & 1 else "none"),
    "silu": lambda x, y, n: F.silu(real(x)),
    "erf": lambda x, y, n: real(x).erf(),
    "log1p": lambda x, y, n: real(x).abs().log1p(),
    "rsqrt": lambda x, y, n: (real(x).abs() + 1).rsqrt(),
    "sqrt": lambda x, y, n: (real(x).square() + 1).sqrt(),
    "pow": lambda x, y, n: real(x).clamp(-2, 2) ** (n % 4),
    "softplus": lambda x, y, n: F.softplus(real(x)),
    "leaky": lambda x, y, n: F.leaky_relu(real(x), 0.1),
    "elu": lambda x, y, n: F.elu(real(x)),
    "hardswish": lambda x, y, n: F.hardswish(real(x)),
    "add": lambda x, y, n: torch.add(real(x), real(fitting(x, y)), alpha=n % 3),
    "sub": lambda x, y, n: real(x) - real(fitting(x, y)),
    "mul": lambda x, y, n: real(x).clamp(-2, 2) * real(fitting(x, y)),
    "div": lambda x, y, n: real(x) / (real(fitting(x, y)).abs() + 1),
    "rsub": lambda x, y, n: (n % 5 - 2) / (real(x).abs() + 1),
    "lerp": lambda x, y, n: (lambda a: torch.lerp(a, a * 2 - 1, 0.25))(real(x)),
    "scalar": lambda x, y, n: real(x) * 0.5 + n % 7,
    "mm": lambda x, y, n: (lambda a: a @ a.T)(real(x).reshape(-1, filled(x).shape[-1] if x.ndim else 1) / 8),
    "sum": lambda x, y, n: real(x).sum(dims(x, n), keepdim=kept(n)),
    "sum_all": lambda x, y, n: real(x).sum(),
    "sum_wide": lambda x, y, n: real(x).sum(dims(x, n), dtype=torch.float32),
    "mean": lambda x, y, n: real(x).mean(dims(x, n), keepdim=kept(n)),
    "prod": lambda x, y, n: real(x).clamp(-1.25, 1.25).prod(dim(x, n), keepdim=kept(n)),
    "var": lambda x, y, n: real(x).var(dims(x, n), unbiased=bool(n & 64), keepdim=kept(n)),
    "std": lambda x, y, n: (real(x) * 2).var(dims(x, n), correction=0).add(1).sqrt(),
    "var_mean": lambda x, y, n: torch.var_mean(real(x), dims(x, n), correction=0)[n >> 7 & 1],
    "logsumexp": lambda x, y, n: torch.logsumexp(real(filled(x)), dims(x, n), keepdim=kept(n)),
    "norm": lambda x, y, n: (real(x).square().sum(dims(x, n)) + 1).sqrt(),
    "softmax": lambda x, y, n: real(x).softmax(dim(x, n)),
    "log_softmax": lambda x, y, n: real(x).log_softmax(dim(x, n)),
    "layer_norm": lambda x, y, n: F.layer_norm(real(filled(x)), x.shape[dim(x, n) :], eps=0.1),
    "normalise": lambda x, y, n: (lambda a: a / (a.abs().amax(dim(x, n), keepdim=True) + 1))(real(filled(x))),
    "cumsum": lambda x, y, n: (real(x) / 4).cumsum(dim(x, n)),
    "cumprod": lambda x, y, n: real(x).clamp(-1.25, 1.25).cumprod(dim(x, n)),
    "index_add": lambda x, y, n: real(x).index_add(
        dim(x, n), some(n, x.shape[dim(x, n)]), _three(real(x), dim(x, n))
    ),
    "scatter_add": lambda x, y, n: (lambda a, d: a.scatter_add(d, _duplicates(a, d, n), a))(
        real(x), dim(x, n)
    ),
    "in_place": lambda x, y, n: (lambda a: (a[n % 3 :: 2].mul_(0.5), a)[1])(
        real(x[None] if x.ndim == 0 else x)
    ),
}


def _three(x: Tensor, d: int) -> Tensor:
    return x.narrow(d, 0, 1).expand(*(3 if i == d else size for i, size in enumerate(x.shape)))


def _duplicates(x: Tensor, d: int, n: int) -> Tensor:
    """Positions along `d`, for every element of `x`; several elements share some."""
    need(x.shape[d] > 0)
    shape = [size if i == d else 1 for i, size in enumerate(x.shape)]
    return (torch.arange(x.shape[d]) * (n % 3) % x.shape[d]).reshape(shape).expand(x.shape)


# ---- exact: results of exact values are exact --------------------------------------------------------------

MOVES: dict[str, Op] = {
    "permute": lambda x, y, n: permuted(x, n),
    "transpose": lambda x, y, n: x.transpose(dim(x, n), dim(x, n // 4)),
    "flatten": lambda x, y, n: x.reshape(-1),
    "merge": lambda x, y, n: x.flatten(dim(x, n) // 2, -1),
    "split": lambda x, y, n: (
        (need(x.ndim < 4 and x.shape[dim(x, n)] % 2 == 0), x.unflatten(dim(x, n), (-1, 2)))[1]
        if x.ndim and x.shape[dim(x, n)]
        else x
    ),
    "narrow": lambda x, y, n: x.narrow(
        dim(x, n), x.shape[dim(x, n)] // 3, x.shape[dim(x, n)] - x.shape[dim(x, n)] // 2
    ),
    "step": lambda x, y, n: x[(slice(None),) * dim(x, n) + (slice(n % 3, None, 2),)],
    "tail": lambda x, y, n: x[..., -2:] if x.ndim else x,
    "select": lambda x, y, n: (need(x.shape[dim(x, n)] > 0), x.select(dim(x, n), -1 if n & 8 else 0))[1],
    "unsqueeze": lambda x, y, n: (need(x.ndim < 4), x.unsqueeze(n % (x.ndim + 1)))[1],
    "squeeze": lambda x, y, n: x.squeeze(),
    "expand": lambda x, y, n: (need(x.ndim < 4), x.unsqueeze(0).expand(n % 4, *x.shape))[1],
    "expand_in": lambda x, y, n: (
        need(x.ndim < 4),
        x.unsqueeze(dim(x, n)).expand(*x.shape[: dim(x, n)], 3, *x.shape[dim(x, n) :]),
    )[1],
    "diagonal": lambda x, y, n: (need(x.ndim >= 2), x.diagonal(n % 3 - 1))[1],
    "unfold": lambda x, y, n: (
        need(x.ndim in (1, 2, 3) and x.shape[dim(x, n)] >= 3),
        x.unfold(dim(x, n), 3, 1 + n // 8 % 2),
    )[1],
    "contiguous": lambda x, y, n: x.contiguous(),
    "clone": lambda x, y, n: x.clone(),
    "flip": lambda x, y, n: x.flip(dims(x, n)),
    "roll": lambda x, y, n: x.roll(n % 5, dim(x, n)),
    "repeat": lambda x, y, n: x.repeat(*(1 + (n >> i & 1) for i in range(x.ndim))),
    "pad": lambda x, y, n: (
        need(x.ndim > 0),
        F.pad(x, (n % 3, n // 3 % 3), value=0 if kind(x) == "bool" else 1),
    )[1],
    "crop": lambda x, y, n: (
        need(x.ndim > 1 and all(s > 2 for s in x.shape[-2:])),
        F.pad(x, (-1, n % 2, 2, -1)),
    )[1],
    "tril": lambda x, y, n: (need(x.ndim >= 2), x.tril(n % 4 - 2))[1],
    "triu": lambda x, y, n: (need(x.ndim >= 2), x.triu(n % 4 - 2))[1],
    "cat_self": lambda x, y, n: torch.cat([x, x.flip(dim(x, n)), x], dim(x, n)),
    "cat": lambda x, y, n: torch.cat(
        [x, y.to(x.dtype).expand_as(x) if y.ndim == 0 else _like(x, y, n)], dim(x, n)
    ),
    "stack": lambda x, y, n: (need(x.ndim < 4), torch.stack([x, x.flip(dim(x, n))], n % (x.ndim + 1)))[1],
    "index": lambda x, y, n: (need(x.ndim < 3 and x.ndim > 0), x[indices(y, n, x.shape[0])])[1],
    "index_two": lambda x, y, n: (need(x.ndim >= 2), x[:, some(n, x.shape[1])][:1])[1],
    "index_pair": lambda x, y, n: (
        need(x.ndim >= 2),
        x[some(n, x.shape[0]), some(n + 1, x.shape[1])],
    )[1],
    "index_negative": lambda x, y, n: (need(x.ndim > 0 and x.shape[0] > 0), x[torch.tensor([-1, 0, -1])])[1],
    "index_select": lambda x, y, n: x.index_select(dim(x, n), some(n, x.shape[dim(x, n)])),
    "gather": lambda x, y, n: x.gather(dim(x, n), _duplicates(x, dim(x, n), n)),
    "embedding": lambda x, y, n: (
        need(x.ndim == 2 and kind(y) == "int"),
        F.embedding(indices(y, n, x.shape[0]), x),
    )[1],
    "where_index": lambda x, y, n: torch.where(
        torch.arange(x.shape[dim(x, -1)]) % 3 == n % 3, x, torch.zeros_like(x)
    ),
    "masked_fill": lambda x, y, n: x.masked_fill((torch.arange(x.shape[dim(x, -1)]) + n) % 2 == 0, n % 2),
    "index_put": lambda x, y, n: (
        need(x.ndim > 0 and x.shape[0] > 1),
        x.index_put((torch.tensor([1, 0]),), x[:2].flip(0)[..., :] if x.ndim > 1 else x[:2].flip(0)),
    )[1],
    "slice_scatter": lambda x, y, n: (lambda a: (a[1:].copy_(x[:-1]), a)[1])(x.clone()) if x.ndim else x,
    "set_row": lambda x, y, n: (lambda a: (a.select(dim(x, n), 0).fill_(1), a)[1])(filled(x).clone()),
}


def _like(x: Tensor, y: Tensor, n: int) -> Tensor:
    """`y`, if it may be concatenated with `x`, else half of `x`."""
    d = dim(x, n)
    same = x.ndim == y.ndim and all(
        a == b for i, (a, b) in enumerate(zip(x.shape, y.shape, strict=True)) if i != d
    )
    return y if same else x.narrow(d, 0, x.shape[d] // 2)


CHOICES: dict[str, Op] = {
    "neg": lambda x, y, n: -number(x),
    "abs": lambda x, y, n: number(x).abs(),
    "relu": lambda x, y, n: number(x).relu(),
    "clamp": lambda x, y, n: number(x).clamp(-(n % 4), n % 5),
    "clamp_min": lambda x, y, n: number(x).clamp_min(n % 3 - 1),
    "maximum": lambda x, y, n: torch.maximum(number(x), number(fitting(x, y)).to(number(x).dtype)),
    "minimum": lambda x, y, n: torch.minimum(number(x), number(fitting(x, y)).to(number(x).dtype)),
    "amax": lambda x, y, n: filled(x).amax(dims(x, n), keepdim=kept(n)),
    "amin": lambda x, y, n: filled(x).amin(dims(x, n), keepdim=kept(n)),
    "max_values": lambda x, y, n: filled(x).max(dim(x, n)).values,
    "zeros_like": lambda x, y, n: torch.zeros_like(x),
    "full_like": lambda x, y, n: torch.full_like(x, n % 2),
    "int_add": lambda x, y, n: integers(x) + integers(fitting(x, y)),
    "int_sub": lambda x, y, n: integers(x) - integers(fitting(x, y)),
    "int_mul": lambda x, y, n: integers(x) * integers(fitting(x, y)),
    "int_scalar": lambda x, y, n: integers(x) * 37 + n % 100,
    "int_and": lambda x, y, n: integers(x) & integers(fitting(x, y)),
    "int_xor": lambda x, y, n: integers(x) ^ integers(fitting(x, y)),
    "int_not": lambda x, y, n: ~integers(x, True),
    "int_floor": lambda x, y, n: (
        integers(x) // (n % 5 + 1 if n & 8 or x.dtype == torch.uint8 else -(n % 5) - 1)
    ),
    "int_floor_by": lambda x, y, n: integers(x) // (integers(fitting(x, y)) | 1),
    "int_trunc_by": lambda x, y, n: torch.div(
        integers(x), integers(fitting(x, y)) | 1, rounding_mode="trunc"
    ),
    "int_rem_by": lambda x, y, n: integers(x) % (integers(fitting(x, y)) | 1),
    "int_fmod_by": lambda x, y, n: torch.fmod(integers(x), integers(fitting(x, y)) | 1),
    "int_shift_left": lambda x, y, n: integers(x) << n % 5,
    "int_shift_right": lambda x, y, n: integers(x) >> n % 5,
    "int_sum": lambda x, y, n: integers(x, True).sum(dims(x, n), keepdim=kept(n)),
    "int_sum_narrow": lambda x, y, n: integers(x, True).sum(dims(x, n), dtype=torch.int32),
    "int_prod": lambda x, y, n: integers(x, True).prod(dim(x, n)),
    "int_cumsum": lambda x, y, n: integers(x, True).cumsum(dim(x, n)),
}


def integers(x: Tensor, bools: bool = False) -> Tensor:
    need(kind(x) == "int" or (bools and kind(x) == "bool"))
    return x


JUMPS: dict[str, Op] = {
    "less": lambda x, y, n: x < fitting(x, y),
    "equal": lambda x, y, n: x == fitting(x, y),
    "greater_scalar": lambda x, y, n: x >= n % 3,
    "where": lambda x, y, n: torch.where(x > 0, x, fitting(x, y).to(x.dtype)),
    "floor": lambda x, y, n: (number(x) if kind(x) != "float" else x * 0.5).floor(),
    "round": lambda x, y, n: (number(x) if kind(x) != "float" else x * 0.5).round(),
    "trunc": lambda x, y, n: x.trunc() if kind(x) == "float" else x,
    "sign": lambda x, y, n: number(x).sign(),
    "remainder": lambda x, y, n: number(x).remainder(n % 3 + 1),
    "fmod": lambda x, y, n: number(x).fmod(n % 3 + 1),
    "argmax": lambda x, y, n: number(filled(x)).argmax(dim(x, n), keepdim=kept(n)),
    "argmin": lambda x, y, n: number(filled(x)).argmin(dim(x, n), keepdim=kept(n)),
    "argmax_all": lambda x, y, n: number(filled(x)).argmax(),
    "max_index": lambda x, y, n: filled(x).max(dim(x, n)).indices,
    "any": lambda x, y, n: x.any(dim(x, n)) if n & 1 else x.any(),
    "all": lambda x, y, n: x.all(dim(x, n), keepdim=kept(n)),
    "count": lambda x, y, n: x.count_nonzero(dim(x, n)),
    "not": lambda x, y, n: x.logical_not(),
    "and": lambda x, y, n: torch.logical_and(x, fitting(x, y)),
    "sort": lambda x, y, n: number(x).sort(dim=dim(x, n), stable=True).values,
    "to_int8": lambda x, y, n: (x.clamp(-9, 9) if kind(x) == "float" else x).to(torch.int8),
    "to_int32": lambda x, y, n: (x.clamp(-9, 9) if kind(x) == "float" else x).to(torch.int32),
    "to_int64": lambda x, y, n: (x.clamp(-9, 9) if kind(x) == "float" else x).to(torch.int64),
    "to_uint8": lambda x, y, n: (x.clamp(0, 9) if kind(x) == "float" else x).to(torch.uint8),
    "to_bool": lambda x, y, n: x.bool(),
    "isnan": lambda x, y, n: x.isnan(),
}

CASTS: dict[str, Op] = {
    "to_half": lambda x, y, n: real(x).to(torch.float16),
    "to_bfloat16": lambda x, y, n: real(x).to(torch.bfloat16),
    "to_float": lambda x, y, n: real(x).to(torch.float32),
    "to_double": lambda x, y, n: real(x).to(torch.float64),
}

TABLES = (SMOOTH, MOVES, CHOICES, JUMPS, CASTS)
OPS: dict[str, Op] = {name: op for table in TABLES for name, op in table.items()}
assert len(OPS) == sum(len(table) for table in TABLES), "two ops have one name"
EXACT = frozenset((*MOVES, *CHOICES, *JUMPS))
